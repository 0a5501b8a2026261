//! What is asked for, what is wrong with it, and what the response must say.

use super::super::bench::*;
use core::net::Ipv4Addr;
use sluice_wire::ids::{FarId, PdrId, QerId, Teid, UrrId};
use sluice_wire::pfcp::message::{SessionEstablishmentRequest, SessionModificationRequest};
use sluice_wire::pfcp::value::*;
use sluice_wire::pfcp::{Cause, IeType};

pub type Request = SessionEstablishmentRequest<'static>;
pub type Change = SessionModificationRequest<'static>;

pub const RULE: Cause = Cause::RULE_CREATION_MODIFICATION_FAILURE;

pub const fn pdr(id: u16) -> Option<FailedRuleId> {
    Some(FailedRuleId::Pdr(PdrId(id)))
}

pub const fn far(id: u32) -> Option<FailedRuleId> {
    Some(FailedRuleId::Far(FarId(id)))
}

pub const fn qer_id(id: u32) -> Option<FailedRuleId> {
    Some(FailedRuleId::Qer(QerId(id)))
}

pub const fn urr_id(id: u32) -> Option<FailedRuleId> {
    Some(FailedRuleId::Urr(UrrId(id)))
}

/// What is wrong, and the answer.
#[derive(Clone, Copy)]
pub struct Case(
    pub &'static str,
    pub fn(&mut Request),
    pub Cause,
    pub Option<IeType>,
    pub Option<FailedRuleId>,
);

pub const DETECTION: &[Case] = &[
    Case(
        "a PDR twice",
        |r| r.create_pdr[1].pdr_id = PdrId(1),
        RULE,
        None,
        pdr(1),
    ),
    Case(
        "a PDR without FAR",
        |r| r.create_pdr[0].far_id = None,
        Cause::CONDITIONAL_IE_MISSING,
        Some(IeType::FAR_ID),
        pdr(1),
    ),
    Case(
        "an unknown FAR",
        |r| r.create_pdr[1].far_id = Some(FarId(u32::MAX)),
        RULE,
        Some(IeType::FAR_ID),
        pdr(2),
    ),
    Case(
        "an unknown QER",
        |r| r.create_pdr[0].qer_id.push(QerId(7)),
        RULE,
        Some(IeType::QER_ID),
        pdr(1),
    ),
    Case(
        "an unknown URR",
        |r| r.create_pdr[0].urr_id.push(UrrId(65535)),
        RULE,
        Some(IeType::URR_ID),
        pdr(1),
    ),
    Case(
        "a predefined rule that is not there",
        |r| {
            r.create_pdr[0]
                .activate_predefined_rules
                .push(Text(b"gold"))
        },
        Cause::UNKNOWN_PREDEFINED_RULE,
        Some(IeType::ACTIVATE_PREDEFINED_RULES),
        pdr(1),
    ),
    Case(
        "a PDR for later",
        |r| r.create_pdr[0].activation_time = Some(NtpTime(9)),
        RULE,
        Some(IeType::ACTIVATION_TIME),
        pdr(1),
    ),
    Case(
        "a forwarding tunnel without Outer Header Removal",
        |r| r.create_pdr[0].outer_header_removal = None,
        RULE,
        Some(IeType::OUTER_HEADER_REMOVAL),
        pdr(1),
    ),
    Case(
        "removal of an outer header that cannot be there",
        |r| r.create_pdr[1].outer_header_removal = Some(OuterHeaderRemoval::GTPU_UDP_IP),
        RULE,
        Some(IeType::OUTER_HEADER_REMOVAL),
        pdr(2),
    ),
    Case(
        "removal of an IPv6 header where the F-TEID has no such address",
        |r| {
            r.create_pdr[0].outer_header_removal = Some(OuterHeaderRemoval {
                description: OuterHeaderRemovalDescription::GTPU_UDP_IPV6,
                ..OuterHeaderRemoval::GTPU_UDP_IP
            });
        },
        RULE,
        Some(IeType::OUTER_HEADER_REMOVAL),
        pdr(1),
    ),
];

pub const PDI: &[Case] = &[
    Case(
        "a source that is no interface",
        |r| r.create_pdr[0].pdi.source_interface = SourceInterface(9),
        Cause::MANDATORY_IE_INCORRECT,
        Some(IeType::SOURCE_INTERFACE),
        pdr(1),
    ),
    Case(
        "5G VN",
        |r| r.create_pdr[0].pdi.source_interface = SourceInterface::FIVE_G_VN_INTERNAL,
        RULE,
        Some(IeType::SOURCE_INTERFACE),
        pdr(1),
    ),
    Case(
        "a PDI that matches nowhere",
        |r| {
            for pdr in &mut r.create_pdr {
                pdr.pdi.ue_ip_address.clear();
            }
        },
        RULE,
        Some(IeType::PDI),
        pdr(2),
    ),
    Case(
        "an uplink PDR without tunnel",
        |r| r.create_pdr[0].pdi.local_f_teid = None,
        RULE,
        Some(IeType::F_TEID),
        pdr(1),
    ),
    Case(
        "an IPv6 F-TEID of N9, which has none",
        |r| {
            r.create_pdr[0].pdi.source_interface = SourceInterface::CORE;
            r.create_pdr[0].pdi.local_f_teid = Some(FTeid::Choose {
                ipv4: false,
                ipv6: true,
                choose_id: None,
            });
        },
        RULE,
        Some(IeType::F_TEID),
        pdr(1),
    ),
    Case(
        "an F-TEID that is not ours",
        |r| r.create_pdr[0].pdi.local_f_teid = Some(FTeid::v4(Teid::new(5).unwrap(), GNB)),
        RULE,
        Some(IeType::F_TEID),
        pdr(1),
    ),
    Case(
        "an F-TEID at our address of another side",
        |r| {
            let n9 = Ipv4Addr::new(192, 0, 2, 2);
            r.create_pdr[0].pdi.local_f_teid = Some(FTeid::v4(Teid::new(5).unwrap(), n9));
        },
        RULE,
        Some(IeType::F_TEID),
        pdr(1),
    ),
    Case(
        "an unknown network instance",
        |r| r.create_pdr[1].pdi.network_instance = Some(Name(b"elsewhere")),
        RULE,
        Some(IeType::NETWORK_INSTANCE),
        pdr(2),
    ),
    Case(
        "an unreadable network instance",
        |r| r.create_pdr[1].pdi.network_instance = Some(Name(&[0xff; 300])),
        RULE,
        Some(IeType::NETWORK_INSTANCE),
        pdr(2),
    ),
    Case(
        "an application",
        |r| r.create_pdr[1].pdi.application_id = Some(Text(b"web")),
        Cause::UNKNOWN_APPLICATION_ID,
        Some(IeType::APPLICATION_ID),
        pdr(2),
    ),
    Case(
        "a framed route with a pool inside",
        |r| r.create_pdr[1].pdi.framed_route.push(Text(b"10.0.0.0/8")),
        RULE,
        Some(IeType::FRAMED_ROUTE),
        pdr(2),
    ),
    Case(
        "Ethernet",
        |r| r.create_pdr[1].pdi.ethernet_packet_filter.push(&[1]),
        RULE,
        Some(IeType::ETHERNET_PACKET_FILTER),
        pdr(2),
    ),
    Case(
        "a traffic endpoint",
        |r| r.create_pdr[1].pdi.traffic_endpoint_id.push(1),
        RULE,
        Some(IeType::TRAFFIC_ENDPOINT_ID),
        pdr(2),
    ),
];
