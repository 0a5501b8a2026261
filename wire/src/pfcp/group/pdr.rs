//! Packet Detection Rules.

use super::pdi::Pdi;
use crate::ids::{FarId, PdrId, Precedence, QerId, UrrId};
use crate::limits;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    Edit, FTeid, NtpTime, OuterHeaderRemoval, Raw, Text, UeIpAddress, UeIpAddressPoolIdentity,
};

ie_table! {
    /// Create PDR (7.5.2.2, Table 7.5.2.2-1).
    pub struct CreatePdr<'a> {
        /// The rule.
        required pdr_id: PdrId = PDR_ID,
        /// Rules of lower value are tried first.
        required precedence: Precedence = PRECEDENCE,
        /// What packets it matches.
        required pdi: Pdi<'a> = PDI,
        /// The header that it takes off.
        optional outer_header_removal: OuterHeaderRemoval = OUTER_HEADER_REMOVAL,
        /// What happens to the packets; absent if a predefined rule or a MAR tells.
        optional far_id: FarId = FAR_ID,
        /// What is measured.
        list[limits::URRS_PER_PDR] urr_id: UrrId = URR_ID,
        /// How QoS is enforced.
        list[limits::QERS_PER_PDR] qer_id: QerId = QER_ID,
        /// Predefined rules that apply besides.
        list[limits::PREDEFINED_RULES_PER_PDR] activate_predefined_rules: Text<'a> =
            ACTIVATE_PREDEFINED_RULES,
        /// When the rule begins to hold.
        optional activation_time: NtpTime = ACTIVATION_TIME,
        /// When the rule ceases to hold.
        optional deactivation_time: NtpTime = DEACTIVATION_TIME,
        /// The multi-access rule instead of a FAR.
        optional mar_id: u16 = MAR_ID,
        /// Packet Replication and Detection Carry-On Information, uninterpreted.
        optional packet_replication_and_detection_carry_on_information: Raw<'a> =
            PACKET_REPLICATION_AND_DETECTION_CARRY_ON_INFORMATION,
        /// Pools from which the UP function takes the UE's address.
        list[limits::NAMES_PER_POOL] ue_ip_address_pool_identity: UeIpAddressPoolIdentity<'a> =
            UE_IP_ADDRESS_POOL_IDENTITY,
    }
}

ie_table! {
    /// Update PDR (7.5.4.2). A list that is present replaces the former one; a URR ID or QER ID
    /// of null length stops all of them (5.6.3).
    pub struct UpdatePdr<'a> {
        /// The rule.
        required pdr_id: PdrId = PDR_ID,
        /// The header that it takes off.
        optional outer_header_removal: Edit<OuterHeaderRemoval> = OUTER_HEADER_REMOVAL,
        /// Rules of lower value are tried first.
        optional precedence: Precedence = PRECEDENCE,
        /// What packets it matches: replaces the former PDI as a whole.
        optional pdi: Pdi<'a> = PDI,
        /// What happens to the packets.
        optional far_id: Edit<FarId> = FAR_ID,
        /// What is measured.
        list[limits::URRS_PER_PDR] urr_id: Edit<UrrId> = URR_ID,
        /// How QoS is enforced.
        list[limits::QERS_PER_PDR] qer_id: Edit<QerId> = QER_ID,
        /// Predefined rules that apply from now on.
        list[limits::PREDEFINED_RULES_PER_PDR] activate_predefined_rules: Text<'a> =
            ACTIVATE_PREDEFINED_RULES,
        /// Predefined rules that no longer apply.
        list[limits::PREDEFINED_RULES_PER_PDR] deactivate_predefined_rules: Text<'a> =
            DEACTIVATE_PREDEFINED_RULES,
        /// When the rule begins to hold.
        optional activation_time: Edit<NtpTime> = ACTIVATION_TIME,
        /// When the rule ceases to hold.
        optional deactivation_time: Edit<NtpTime> = DEACTIVATION_TIME,
    }
}

ie_table! {
    /// Remove PDR (7.5.4.6).
    pub struct RemovePdr {
        /// The rule.
        required pdr_id: PdrId = PDR_ID,
    }
}

ie_table! {
    /// Created PDR (7.5.3.2): what the UP function chose.
    pub struct CreatedPdr {
        /// The rule.
        required pdr_id: PdrId = PDR_ID,
        /// The F-TEIDs that it assigned: a second one is for redundant transmission.
        list[2] local_f_teid: FTeid = F_TEID,
        /// The UE addresses that it assigned.
        list[limits::UE_IP_ADDRESSES] ue_ip_address: UeIpAddress = UE_IP_ADDRESS,
    }
}

ie_table! {
    /// Updated PDR (7.5.9.3-1): what the UP function chose anew.
    pub struct UpdatedPdr {
        /// The rule.
        required pdr_id: PdrId = PDR_ID,
        /// The F-TEIDs that it assigned: a second one is for redundant transmission.
        list[2] local_f_teid: FTeid = F_TEID,
        /// The UE addresses that it assigned.
        list[limits::UE_IP_ADDRESSES] ue_ip_address: UeIpAddress = UE_IP_ADDRESS,
    }
}
