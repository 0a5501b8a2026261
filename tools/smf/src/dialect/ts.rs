//! PFCP dialect of a 5G SMF that follows TS 29.244, Release 17, to the letter.

use sluice_wire::ids::Precedence;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, DestinationInterface, InterfaceType, MeasurementInformation,
    MeasurementMethod, OuterHeaderRemoval, OuterHeaderRemovalDescription, ReportingTriggers,
    Volume,
};

use super::profile::*;

/// 5.2.1, 5.4, 5.5.3, 5.6, 7.5.2 to 7.5.4.
pub static PROFILE: Profile = BY_THE_BOOK;

/// The same as a value, for dialects that differ from it in little.
pub(super) const BY_THE_BOOK: Profile = Profile {
    name: "ts",
    source: "3GPP TS 29.244, Release 17",
    cp_function_features: Some(CpFunctionFeatures::EPFAR),
    priority: MessagePriorities {
        establishment: None,
        modification: None,
        deletion: None,
    },
    cp_f_seid: ExtraFSeid {
        in_modification: false,
        in_deletion: false,
    },
    session: SessionIes {
        pdn_type: true,
        user_id: UserIdStyle::Supi,
        apn_dnn: true,
        s_nssai: true,
    },
    network_instance: NetworkInstanceStyle {
        coding: NameCoding::Labels,
        names: NamedBy::Side,
    },
    numbering: Numbering::PerSession,
    downlink_first: false,
    f_teid: FTeidStyle {
        chosen_by_cp: false,
        choose_ipv6: false,
        choose_id: None,
    },
    pdr: PdrStyle {
        precedence: Precedence(255),
        uplink_ue_address: true,
        interface_identifier: false,
        destination_flag: true,
        uplink_qfi: true,
        outer_header_removal: OuterHeaderRemoval {
            description: OuterHeaderRemovalDescription::GTPU_UDP_IPV4,
            gtpu_extension_header_deletion: None,
        },
        uplink_type: Some(InterfaceType::N3_3GPP_ACCESS),
        downlink_type: Some(InterfaceType::N6),
        flow_description: Some("permit out ip from any to assigned"),
    },
    far: FarStyle {
        two_octet_action: true,
        uplink_destination: DestinationInterface::CORE,
        uplink_type: Some(InterfaceType::N6),
        downlink_type: Some(InterfaceType::N3_3GPP_ACCESS),
        before_gnb: BeforeGnb::Drop,
        dscp: &[],
    },
    qer: QerStyle::SessionAndFlow {
        session_qfi: false,
        flow_first: false,
    },
    // A URR needs a trigger; the threshold is so high (1 TiB) that only queries, changes and
    // the end of the session make reports.
    urr: &[UrrStyle {
        method: MeasurementMethod::VOLUM,
        triggers: ReportingTriggers::VOLTH,
        two_octet_triggers: false,
        period_s: None,
        volume_threshold: Some(Volume {
            total: Some(1 << 40),
            uplink: None,
            downlink: None,
        }),
        time_threshold_s: None,
        information: Some(MeasurementInformation::MNOP),
        of_uplink: true,
        of_downlink: true,
    }],
    bar: None,
    cp_channels: false,
    flow: Some(FlowStyle {
        with_session: true,
        ue_address: true,
        downlink_exchanged: false,
        session_qer: true,
        own_urrs: false,
    }),
    change: ChangeStyle {
        first_gnb: FirstGnb::UpdateFar,
        path_switch: PathSwitch::EndMarker,
        idle: Idle::Buffer {
            repeats: Repeats::Nothing,
            end_marker_after: false,
        },
        network_instance: true,
        flags_always: false,
        parameters_ie: IeType::UPDATE_FORWARDING_PARAMETERS,
    },
    report_response_flags: false,
};
