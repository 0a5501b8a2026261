//! PFCP dialect of free5GC 4.
//!
//! - The SMF chooses the uplink TEID; the UPF's N3 address comes from its configuration.
//! - Rule numbers are taken from pools for the whole UPF, so PDR numbers come again after 65535.
//! - Network Instance is the DNN as plain text (DNS labels by configuration); there is no 3GPP
//!   Interface Type; Apply Action has one octet, Outer Header Removal two (the second 0).
//! - Two QERs: the session's with the AMBR and QFI 0, the flow's with QFI and, if the flow has
//!   one, MBR. PDRs name the flow's first.
//! - While the gNB is not known, the downlink FAR says FORW to the access side without Outer
//!   Header Creation.
//! - Two URRs in both PDRs, one before and one after QoS enforcement, with a report every 10 s
//!   and every 1000 octets of either direction.
//! - The gNB's tunnel comes with an Update PDR that repeats what was. Idle keeps all forwarding
//!   parameters, so that the next tunnel replaces an old one and SNDEM is sent then too.
//! - Modifications repeat the CP F-SEID and have priority 12; establishments have 0.

use sluice_wire::ids::Precedence;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, DestinationInterface, MeasurementInformation, MeasurementMethod,
    OuterHeaderRemoval, OuterHeaderRemovalDescription, ReportingTriggers, Volume,
};

use super::profile::*;

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

/// See the module's page.
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
    downlink_first: false,
    f_teid: FTeidStyle {
        chosen_by_cp: true,
        choose_ipv6: false,
        choose_id: None,
    },
    pdr: PdrStyle {
        precedence: Precedence(255),
        destination_flag: true,
        uplink_qfi: false,
        outer_header_removal: OuterHeaderRemoval {
            description: OuterHeaderRemovalDescription::GTPU_UDP_IPV4,
            gtpu_extension_header_deletion: Some(0),
        },
        uplink_type: None,
        downlink_type: None,
        flow_description: None,
    },
    far: FarStyle {
        two_octet_action: false,
        uplink_destination: DestinationInterface::CORE,
        uplink_type: None,
        downlink_type: None,
        before_gnb: BeforeGnb::ForwardWithoutTunnel,
    },
    qer: QerStyle::SessionAndFlow {
        session_qfi_0: true,
        flow_first: true,
    },
    urr: &[
        urr(MeasurementInformation::MNOP.union(MeasurementInformation::MBQE)),
        urr(MeasurementInformation::MNOP),
    ],
    bar: None,
    cp_channels: false,
    change: ChangeStyle {
        first_gnb: FirstGnb::UpdateFarAndPdr,
        path_switch: PathSwitch::EndMarker,
        idle: Idle::Buffer {
            repeats: Repeats::Everything,
            end_marker_after: true,
        },
        network_instance: true,
        parameters_ie: IeType::UPDATE_FORWARDING_PARAMETERS,
    },
    report_response_flags: false,
};
