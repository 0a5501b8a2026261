//! PFCP dialect of free5GC 4.
//!
//! - The SMF chooses the uplink TEID; the UPF's N3 address comes from its configuration.
//! - Rule numbers are taken from pools for the whole UPF, so PDR numbers come again after 65535.
//! - Network Instance is the DNN as plain text (DNS labels by configuration); there is no 3GPP
//!   Interface Type; Apply Action and Outer Header Removal have one octet.
//! - Two QERs with the flow's QFI: the session's with the AMBR, the flow's with MBR if the flow
//!   has one. PDRs name the flow's first. A BAR with a delay of 0 that no FAR names.
//! - A subscriber's flow comes with the session, as PDRs and FARs 3 and 4. The uplink PDI has the
//!   filter as it is configured, the downlink PDI with its addresses exchanged.
//! - While the gNB is not known, the downlink FAR says FORW to the access side without Outer
//!   Header Creation.
//! - Two URRs in both PDRs, one before and one after QoS enforcement, with a report every 10 s
//!   and every 1000 octets of either direction.
//! - The gNB's tunnel comes with Update PDRs that repeat what was. Idle keeps all forwarding
//!   parameters, so that the next tunnel replaces an old one and SNDEM is sent then too.
//! - Modifications repeat the CP F-SEID and have priority 12; establishments have 0.

use sluice_wire::ids::BarId;
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, MeasurementInformation, MeasurementMethod, NotificationDelay,
    ReportingTriggers, Volume,
};

use super::profile::*;
use super::ts::BY_THE_BOOK;

const fn urr(information: MeasurementInformation) -> UrrStyle {
    UrrStyle {
        method: MeasurementMethod::VOLUM,
        triggers: ReportingTriggers::PERIO.union(ReportingTriggers::VOLTH),
        two_octet_triggers: true,
        period_s: Some(10),
        volume_threshold: Some(Volume {
            total: None,
            uplink: Some(1000),
            downlink: Some(1000),
        }),
        time_threshold_s: None,
        information: Some(information),
        of_uplink: true,
        of_downlink: true,
    }
}

/// The differences to TS 29.244.
pub static PROFILE: Profile = Profile {
    name: "free5gc",
    source: "free5GC SMF 4: internal/context/datapath.go, internal/context/pfcp_rules.go, \
             internal/pfcp/message/build_establishment.go and build_modification.go",
    cp_function_features: Some(CpFunctionFeatures::NONE),
    priority: MessagePriorities {
        establishment: Some(0),
        modification: Some(12),
        deletion: Some(12),
    },
    cp_f_seid: ExtraFSeid {
        in_modification: true,
        in_deletion: false,
    },
    session: SessionIes {
        pdn_type: true,
        user_id: UserIdStyle::Absent,
        apn_dnn: false,
        s_nssai: false,
    },
    network_instance: NetworkInstanceStyle {
        coding: NameCoding::Text,
        names: NamedBy::Dnn,
    },
    numbering: Numbering::PerUpf,
    f_teid: FTeidStyle {
        chosen_by_cp: true,
        ..BY_THE_BOOK.f_teid
    },
    pdr: PdrStyle {
        uplink_qfi: false,
        uplink_type: None,
        downlink_type: None,
        flow_description: None,
        ..BY_THE_BOOK.pdr
    },
    far: FarStyle {
        two_octet_action: false,
        uplink_type: None,
        downlink_type: None,
        before_gnb: BeforeGnb::ForwardWithoutTunnel,
        ..BY_THE_BOOK.far
    },
    qer: QerStyle::SessionAndFlow {
        session_qfi: true,
        flow_first: true,
    },
    urr: &[
        urr(MeasurementInformation::MNOP.union(MeasurementInformation::MBQE)),
        urr(MeasurementInformation::MNOP),
    ],
    bar: Some(BarStyle {
        bar_id: BarId(1),
        delay: Some(NotificationDelay(0)),
        named_by_far: false,
    }),
    flow: Some(FlowStyle {
        with_session: true,
        ue_address: true,
        downlink_exchanged: true,
        session_qer: false,
        own_urrs: false,
    }),
    change: ChangeStyle {
        first_gnb: FirstGnb::UpdateFarAndPdrs,
        idle: Idle::Buffer {
            repeats: Repeats::Everything,
            end_marker_after: true,
        },
        flags_always: true,
        ..BY_THE_BOOK.change
    },
    ..BY_THE_BOOK
};
