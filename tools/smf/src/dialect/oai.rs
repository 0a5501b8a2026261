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
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, InterfaceType, MeasurementMethod, ReportingTriggers, Volume,
};

use super::profile::*;
use super::ts::BY_THE_BOOK;

/// The differences to TS 29.244.
pub static PROFILE: Profile = Profile {
    name: "oai",
    source: "OAI SMF 2: src/smf_app/smf_procedure.cpp (pfcp_create_*, pfcp_update_*), \
             src/smf_app/smf_qos_upf_edge.cpp, src/smf_app/smf_n4.cpp",
    cp_function_features: Some(CpFunctionFeatures::LOAD.union(CpFunctionFeatures::OVRL)),
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
    f_teid: FTeidStyle {
        choose_id: Some(42),
        ..BY_THE_BOOK.f_teid
    },
    pdr: PdrStyle {
        precedence: Precedence(0),
        downlink_type: Some(InterfaceType::S1_U),
        flow_description: None,
        ..BY_THE_BOOK.pdr
    },
    far: FarStyle {
        two_octet_action: false,
        uplink_type: None,
        downlink_type: None,
        before_gnb: BeforeGnb::Absent,
        ..BY_THE_BOOK.far
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
    flow: None,
    change: ChangeStyle {
        first_gnb: FirstGnb::CreateRules,
        path_switch: PathSwitch::UpdatePdrToo,
        idle: Idle::Remove,
        network_instance: false,
        ..BY_THE_BOOK.change
    },
    ..BY_THE_BOOK
};
