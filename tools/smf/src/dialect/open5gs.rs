//! PFCP dialect of Open5GS 2.7.
//!
//! - Four PDRs in each session: downlink 1, uplink 2, CP to UE 3, UE to CP 4 (the last two carry
//!   router solicitations and advertisements and are there for IPv4 sessions too). 1 and 3 share
//!   FAR 1. Defaults have precedence 65535, the channels 255.
//! - The uplink and the UE-to-CP PDR share a TEID by CHOOSE ID 5; the CP-to-UE PDR gets its own.
//!   Both V4 and V6 are asked for.
//! - Network Instance is the DNN as DNS labels, 3GPP Interface Type stands everywhere on N3 and
//!   N6, Apply Action has two octets.
//! - Only the downlink PDI has the UE IP Address, with the interface identifier behind an IPv6
//!   prefix; PDIs of a dedicated flow have none.
//! - A dedicated flow comes by a modification: PDRs 5 (downlink) and 6, FARs 4 and 5, URR 2, QER 2;
//!   the filter is the same in both PDIs.
//! - The session AMBR is the MBR of the default flow's QER.
//! - Every session has a BAR; the downlink FAR begins with BUFF and NOCP, and idle is that again.
//! - Only the downlink PDR is measured; a report every 100 MiB, never a packet count.

use sluice_wire::ids::{BarId, Precedence};
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, MeasurementMethod, OuterHeaderRemoval, OuterHeaderRemovalDescription,
    ReportingTriggers, Volume,
};

use super::profile::*;
use super::ts::BY_THE_BOOK;

/// The differences to TS 29.244.
pub static PROFILE: Profile = Profile {
    name: "open5gs",
    source: "Open5GS 2.7: lib/pfcp/build.c, lib/pfcp/context.h, src/smf/context.c \
             (smf_qos_flow_add, smf_sess_create_cp_up_data_forwarding), src/smf/n4-build.c, \
             src/smf/npcf-handler.c",
    cp_function_features: Some(CpFunctionFeatures::NONE),
    session: SessionIes {
        user_id: UserIdStyle::Imsi,
        ..BY_THE_BOOK.session
    },
    network_instance: NetworkInstanceStyle {
        coding: NameCoding::Labels,
        names: NamedBy::Dnn,
    },
    downlink_first: true,
    f_teid: FTeidStyle {
        chosen_by_cp: false,
        choose_ipv6: true,
        choose_id: Some(5),
    },
    pdr: PdrStyle {
        precedence: Precedence(65_535),
        uplink_ue_address: false,
        interface_identifier: true,
        outer_header_removal: OuterHeaderRemoval {
            description: OuterHeaderRemovalDescription::GTPU_UDP_IP,
            gtpu_extension_header_deletion: None,
        },
        flow_description: None,
        ..BY_THE_BOOK.pdr
    },
    far: FarStyle {
        before_gnb: BeforeGnb::Buffer,
        ..BY_THE_BOOK.far
    },
    qer: QerStyle::Merged { flow_apart: false },
    urr: &[UrrStyle {
        method: MeasurementMethod::VOLUM,
        triggers: ReportingTriggers::VOLTH,
        two_octet_triggers: false,
        period_s: None,
        volume_threshold: Some(Volume {
            total: Some(100 << 20),
            uplink: None,
            downlink: None,
        }),
        time_threshold_s: None,
        information: None,
        of_uplink: false,
        of_downlink: true,
    }],
    bar: Some(BarStyle {
        bar_id: BarId(1),
        delay: None,
        named_by_far: true,
    }),
    cp_channels: true,
    flow: Some(FlowStyle {
        with_session: false,
        ue_address: false,
        downlink_exchanged: false,
        session_qer: false,
        own_urrs: true,
    }),
    ..BY_THE_BOOK
};
