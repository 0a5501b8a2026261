//! PFCP dialect of the OpenAirInterface SMF 2.
//!
//! - The establishment has uplink rules only; the downlink rules are created when the gNB's
//!   tunnel is known.
//! - CHOOSE with CHOOSE ID 42.
//! - Network instances differ by side and are plain text; the 3GPP Interface Type is N3 on the
//!   uplink PDI and 0 (S1-U) on the downlink PDI, where nobody fills it in. Apply Action has one
//!   octet. There is no PDN Type.
//! - A QER for each direction whose MBR is 0 in the other one; without an MBR of its own the flow
//!   has the session AMBR.
//! - A URR for the uplink PDR only: volume and duration; every 10 s, every 1000 octets of
//!   downlink, every 5 s of use.
//! - A path switch repeats the downlink PDR and does not ask for End Markers.
//! - Idle removes PDRs, FARs and QERs of both directions; the next service request makes the
//!   uplink rules anew (with CHOOSE, and a precedence one higher), then the downlink rules.

use sluice_wire::ids::Precedence;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, DestinationInterface, InterfaceType, MeasurementMethod, OuterHeaderRemoval,
    OuterHeaderRemovalDescription, ReportingTriggers, Volume,
};

use super::profile::*;

/// See the module's page.
pub static PROFILE: Profile = Profile {
    name: "oai",
    source: "OAI SMF 2: src/smf_app/smf_procedure.cpp (pfcp_create_*, pfcp_update_*), \
             src/smf_app/smf_qos_upf_edge.cpp, src/smf_app/smf_n4.cpp",
    cp_function_features: Some(CpFunctionFeatures::LOAD.union(CpFunctionFeatures::OVRL)),
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
        pdn_type: false,
        user_id: UserIdStyle::Absent,
        apn_dnn: false,
        s_nssai: false,
    },
    network_instance: NetworkInstanceStyle {
        coding: NameCoding::Text,
        names: NamedBy::Side,
    },
    numbering: Numbering::PerSession,
    downlink_first: false,
    f_teid: FTeidStyle {
        chosen_by_cp: false,
        choose_ipv6: false,
        choose_id: Some(42),
    },
    pdr: PdrStyle {
        precedence: Precedence(0),
        uplink_ue_address: true,
        interface_identifier: false,
        destination_flag: true,
        uplink_qfi: true,
        outer_header_removal: OuterHeaderRemoval {
            description: OuterHeaderRemovalDescription::GTPU_UDP_IPV4,
            gtpu_extension_header_deletion: None,
        },
        uplink_type: Some(InterfaceType::N3_3GPP_ACCESS),
        downlink_type: Some(InterfaceType::S1_U),
        flow_description: None,
    },
    far: FarStyle {
        two_octet_action: false,
        uplink_destination: DestinationInterface::CORE,
        uplink_type: None,
        downlink_type: None,
        before_gnb: BeforeGnb::Absent,
        dscp: &[],
    },
    qer: QerStyle::PerDirection,
    urr: &[UrrStyle {
        method: MeasurementMethod::DURAT.union(MeasurementMethod::VOLUM),
        triggers: ReportingTriggers::PERIO
            .union(ReportingTriggers::VOLTH)
            .union(ReportingTriggers::TIMTH),
        two_octet_triggers: true,
        period_s: Some(10),
        volume_threshold: Some(Volume {
            total: None,
            uplink: None,
            downlink: Some(1000),
        }),
        time_threshold_s: Some(5),
        information: None,
        of_uplink: true,
        of_downlink: false,
    }],
    bar: None,
    cp_channels: false,
    flow: None,
    change: ChangeStyle {
        first_gnb: FirstGnb::CreateRules,
        path_switch: PathSwitch::UpdatePdrToo,
        idle: Idle::Remove,
        network_instance: false,
        flags_always: false,
        parameters_ie: IeType::UPDATE_FORWARDING_PARAMETERS,
    },
    report_response_flags: false,
};
