//! PFCP dialect of the SD-Core (OMEC) SMF.
//!
//! - The SMF chooses the uplink TEID. Rule numbers are taken from pools for the whole UPF.
//! - S/D of the UE IP Address is never set, not even in the downlink PDR.
//! - Uplink packets go to the SGi-LAN or N6-LAN (2) rather than to the core (1).
//! - Network Instance is the DNN as plain text; there is no 3GPP Interface Type; Apply Action has
//!   one octet, Outer Header Removal two (the second 0).
//! - The downlink FAR begins with DROP and no parameters.
//! - One QER with QFI and the session AMBR; a flow with an MBR gets another one.
//! - An Update FAR carries its parameters in Forwarding Parameters (type 4) instead of Update
//!   Forwarding Parameters (type 11), PFCPSMReq-Flags included.
//! - No URR ever.
//! - Modifications and deletions repeat the CP F-SEID and have priority 12.

use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::value::{
    CpFunctionFeatures, DestinationInterface, OuterHeaderRemoval, OuterHeaderRemovalDescription,
};

use super::profile::*;
use super::ts::BY_THE_BOOK;

/// The differences to TS 29.244.
pub static PROFILE: Profile = Profile {
    name: "sdcore",
    source: "omec-project/smf: pfcp/message/build.go, context/datapath.go, context/upf.go, \
             producer/pdu_session.go",
    cp_function_features: Some(CpFunctionFeatures::NONE),
    priority: MessagePriorities {
        establishment: None,
        modification: Some(12),
        deletion: Some(12),
    },
    cp_f_seid: ExtraFSeid {
        in_modification: true,
        in_deletion: true,
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
        destination_flag: false,
        uplink_qfi: false,
        outer_header_removal: OuterHeaderRemoval {
            description: OuterHeaderRemovalDescription::GTPU_UDP_IPV4,
            gtpu_extension_header_deletion: Some(0),
        },
        uplink_type: None,
        downlink_type: None,
        flow_description: None,
        ..BY_THE_BOOK.pdr
    },
    far: FarStyle {
        two_octet_action: false,
        uplink_destination: DestinationInterface::SGI_LAN_N6_LAN,
        uplink_type: None,
        downlink_type: None,
        ..BY_THE_BOOK.far
    },
    qer: QerStyle::Merged { flow_apart: true },
    urr: &[],
    flow: None,
    change: ChangeStyle {
        first_gnb: FirstGnb::UpdateFarAndPdr,
        idle: Idle::Buffer {
            repeats: Repeats::WithoutTunnel,
            end_marker_after: false,
        },
        parameters_ie: IeType::FORWARDING_PARAMETERS,
        ..BY_THE_BOOK.change
    },
    report_response_flags: true,
    ..BY_THE_BOOK
};
