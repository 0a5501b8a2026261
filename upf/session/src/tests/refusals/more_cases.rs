//! Further cases: FARs, QERs, URRs, the message itself, and modifications.

use super::super::bench::*;
use super::cases::{Case, Change, RULE, Request, far, pdr, qer_id, urr_id};
use core::net::Ipv4Addr;
use sluice_wire::ids::{FarId, PdrId, QerId, Qfi, Teid, UrrId};
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

fn parameters(request: &mut Request, far: usize) -> &mut ForwardingParameters<'static> {
    request.create_far[far]
        .forwarding_parameters
        .as_mut()
        .unwrap()
}

fn other_ohc(description: OuterHeaderDescription) -> OuterHeaderCreation {
    OuterHeaderCreation {
        description,
        ..OuterHeaderCreation::gtpu_v4(Teid::new(9).unwrap(), GNB)
    }
}

/// A change, and the answer.
#[derive(Clone, Copy)]
pub struct Wrong(
    pub &'static str,
    pub fn(&mut Change),
    pub Cause,
    pub Option<IeType>,
    pub Option<FailedRuleId>,
);

pub const ACTION: &[Case] = &[
    Case(
        "a FAR twice",
        |r| r.create_far[1].far_id = FarId(1),
        RULE,
        None,
        far(1),
    ),
    Case(
        "a tunnel over UDP alone",
        |r| {
            let ohc = OuterHeaderCreation {
                port: Some(9),
                teid: None,
                ..other_ohc(OuterHeaderDescription::UDP_IPV4)
            };
            parameters(r, 1).outer_header_creation = Some(ohc);
        },
        RULE,
        Some(IeType::OUTER_HEADER_CREATION),
        far(2),
    ),
    Case(
        "a tunnel over IPv6 from N9, which has none",
        |r| {
            let (teid, peer) = (Teid::new(9).unwrap(), N3_IPV6);
            let ohc = OuterHeaderCreation::gtpu_v6(teid, peer);
            parameters(r, 0).outer_header_creation = Some(ohc);
        },
        RULE,
        Some(IeType::OUTER_HEADER_CREATION),
        far(1),
    ),
    Case(
        "a tunnel to everybody",
        |r| {
            let teid = Teid::new(9).unwrap();
            let ohc = OuterHeaderCreation::gtpu_v4(teid, Ipv4Addr::UNSPECIFIED);
            parameters(r, 1).outer_header_creation = Some(ohc);
        },
        RULE,
        Some(IeType::OUTER_HEADER_CREATION),
        far(2),
    ),
];

pub const OTHER: &[Case] = &[
    Case(
        "a QER twice",
        |r| r.create_qer.push(qer(1, None, None)),
        RULE,
        None,
        qer_id(1),
    ),
    Case(
        "a URR twice",
        |r| r.create_urr.extend([urr(0), urr(0)]),
        RULE,
        None,
        urr_id(0),
    ),
    Case(
        "a URR for events",
        |r| {
            r.create_urr.push(CreateUrr {
                measurement_method: MeasurementMethod::EVENT,
                ..urr(u32::MAX)
            });
        },
        RULE,
        Some(IeType::MEASUREMENT_METHOD),
        urr_id(u32::MAX),
    ),
    Case(
        "a report when a quota of events is used up",
        |r| {
            r.create_urr.push(CreateUrr {
                reporting_triggers: ReportingTriggers::EVEQU,
                ..urr(9)
            })
        },
        RULE,
        Some(IeType::REPORTING_TRIGGERS),
        urr_id(9),
    ),
    Case(
        "a report when a threshold of events is reached",
        |r| {
            r.create_urr.push(CreateUrr {
                reporting_triggers: ReportingTriggers::EVETH,
                ..urr(9)
            })
        },
        RULE,
        Some(IeType::REPORTING_TRIGGERS),
        urr_id(9),
    ),
    Case(
        "a report when a linked URR reports",
        |r| {
            r.create_urr.push(CreateUrr {
                reporting_triggers: ReportingTriggers::LIUSA,
                ..urr(9)
            })
        },
        RULE,
        Some(IeType::REPORTING_TRIGGERS),
        urr_id(9),
    ),
    Case(
        "a linked URR",
        |r| {
            let mut linked = urr(9);
            linked.linked_urr_id.push(UrrId(1));
            r.create_urr.push(linked)
        },
        RULE,
        Some(IeType::LINKED_URR_ID),
        urr_id(9),
    ),
    Case(
        "time measured in envelopes",
        |r| {
            r.create_urr.push(CreateUrr {
                time_quota_mechanism: Some(&[0, 0, 0, 0, 10]),
                ..urr(9)
            })
        },
        RULE,
        Some(IeType::TIME_QUOTA_MECHANISM),
        urr_id(9),
    ),
    Case(
        "a quota of events",
        |r| {
            r.create_urr.push(CreateUrr {
                event_quota: Some(60),
                ..urr(9)
            })
        },
        RULE,
        Some(IeType::EVENT_QUOTA),
        urr_id(9),
    ),
    Case(
        "a FAR for packets beyond a quota",
        |r| {
            r.create_urr.push(CreateUrr {
                volume_quota: Some(Volume {
                    total: Some(5),
                    ..Default::default()
                }),
                far_id_for_quota_action: Some(FarId(1)),
                ..urr(3)
            });
        },
        RULE,
        Some(IeType::FAR_ID),
        urr_id(3),
    ),
    Case(
        "a multi-access rule",
        |r| r.create_mar.push(&[1]),
        Cause::SERVICE_NOT_SUPPORTED,
        Some(IeType::CREATE_MAR),
        None,
    ),
    Case(
        "a PDN type that is none",
        |r| r.pdn_type = Some(PdnType(7)),
        Cause::MANDATORY_IE_INCORRECT,
        Some(IeType::PDN_TYPE),
        None,
    ),
    Case(
        "an Ethernet session",
        |r| r.pdn_type = Some(PdnType::ETHERNET),
        Cause::SERVICE_NOT_SUPPORTED,
        Some(IeType::PDN_TYPE),
        None,
    ),
    Case(
        "no PDR",
        |r| r.create_pdr.clear(),
        Cause::MANDATORY_IE_MISSING,
        Some(IeType::CREATE_PDR),
        None,
    ),
];

pub const CHANGES: &[Wrong] = &[
    Wrong(
        "an update of an unknown PDR",
        |m| {
            m.update_pdr.push(UpdatePdr {
                pdr_id: PdrId(9),
                ..Default::default()
            });
        },
        RULE,
        None,
        pdr(9),
    ),
    Wrong(
        "an update of an unknown FAR",
        |m| {
            m.update_far.push(UpdateFar {
                far_id: FarId(9),
                ..Default::default()
            });
        },
        RULE,
        None,
        far(9),
    ),
    Wrong(
        "an update of an unknown QER",
        |m| {
            m.update_qer.push(UpdateQer {
                qer_id: QerId(9),
                ..Default::default()
            });
        },
        RULE,
        None,
        qer_id(9),
    ),
    Wrong(
        "a query of an unknown URR",
        |m| m.query_urr.push(QueryUrr { urr_id: UrrId(9) }),
        RULE,
        None,
        urr_id(9),
    ),
    Wrong(
        "removal of a FAR that a PDR names",
        |m| m.remove_far.push(RemoveFar { far_id: FarId(2) }),
        RULE,
        Some(IeType::FAR_ID),
        pdr(2),
    ),
    Wrong(
        "removal of a QER that a PDR names",
        |m| m.remove_qer.push(RemoveQer { qer_id: QerId(1) }),
        RULE,
        Some(IeType::QER_ID),
        pdr(1),
    ),
    Wrong(
        "a PDR that is there already",
        |m| {
            m.create_far.push(to_core(7));
            m.create_pdr.push(uplink_pdr(1, 7));
        },
        RULE,
        None,
        pdr(1),
    ),
    Wrong(
        "good changes before a bad one",
        |m| {
            m.create_far.push(to_gnb(7, 0x77));
            m.create_pdr.push(uplink_pdr(8, 7));
            m.create_urr.push(urr(4));
            m.remove_pdr.push(RemovePdr { pdr_id: PdrId(2) });
            m.update_pdr.push(UpdatePdr {
                pdr_id: PdrId(2),
                ..Default::default()
            });
        },
        RULE,
        None,
        pdr(2),
    ),
    Wrong(
        "a traffic endpoint",
        |m| m.create_traffic_endpoint.push(Default::default()),
        Cause::SERVICE_NOT_SUPPORTED,
        Some(IeType::CREATE_TRAFFIC_ENDPOINT),
        None,
    ),
    Wrong(
        "another UE address",
        |m| {
            let mut pdi = downlink_pdr(2, 2, Ipv4Addr::new(10, 45, 0, 8)).pdi;
            pdi.qfi.push(Qfi::new(1).unwrap());
            m.update_pdr.push(UpdatePdr {
                pdr_id: PdrId(2),
                pdi: Some(pdi),
                ..Default::default()
            });
        },
        RULE,
        Some(IeType::UE_IP_ADDRESS),
        pdr(2),
    ),
];
