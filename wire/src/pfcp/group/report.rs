//! Session, node and partial failure reports.

use crate::ids::PdrId;
use crate::limits;
use crate::pfcp::Cause;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    DataStatus, DownlinkDataServiceInformation, FTeid, FailedRuleId, Raw, RemoteGtpuPeer,
};

ie_table! {
    /// Downlink Data Report (7.5.8.2).
    pub struct DownlinkDataReport {
        /// The PDRs that the packets matched.
        list[limits::PDRS_PER_DOWNLINK_DATA_REPORT] pdr_id: PdrId = PDR_ID,
        /// What the packets were, in the order of the PDRs.
        list[limits::PDRS_PER_DOWNLINK_DATA_REPORT] downlink_data_service_information:
            DownlinkDataServiceInformation = DOWNLINK_DATA_SERVICE_INFORMATION,
        /// The octets buffered, for MT-EDT.
        optional dl_data_packets_size: u16 = DL_DATA_PACKETS_SIZE,
        /// Whether the first packet was buffered or discarded.
        optional data_status: DataStatus = DATA_STATUS,
    }
}

ie_table! {
    /// Error Indication Report (7.5.8.4).
    pub struct ErrorIndicationReport {
        /// The peer's F-TEIDs that do not exist.
        some[limits::F_TEIDS_PER_ERROR_INDICATION] remote_f_teid: FTeid = F_TEID,
    }
}

ie_table! {
    /// User Plane Path Failure Report (7.4.5.1.2).
    pub struct UserPlanePathFailureReport<'a> {
        /// The peers that no longer answer.
        some[limits::PEERS_PER_PATH_REPORT] remote_gtpu_peer: RemoteGtpuPeer<'a> =
            REMOTE_GTPU_PEER,
    }
}

ie_table! {
    /// User Plane Path Recovery Report (7.4.5.1.3).
    pub struct UserPlanePathRecoveryReport<'a> {
        /// The peers that answer again.
        some[limits::PEERS_PER_PATH_REPORT] remote_gtpu_peer: RemoteGtpuPeer<'a> =
            REMOTE_GTPU_PEER,
    }
}

ie_table! {
    /// Peer UP Restart Report (7.4.5.1.7).
    pub struct PeerUpRestartReport<'a> {
        /// The peers that were restarted.
        some[limits::PEERS_PER_PATH_REPORT] remote_gtpu_peer: RemoteGtpuPeer<'a> =
            REMOTE_GTPU_PEER,
    }
}

ie_table! {
    /// Partial Failure Information (7.5.3.1), with cause Request partially accepted.
    pub struct PartialFailureInformation<'a> {
        /// The rule that failed.
        required failed_rule_id: FailedRuleId = FAILED_RULE_ID,
        /// Why it failed.
        required failure_cause: Cause = CAUSE,
        /// Offending IE Information, uninterpreted.
        list[limits::RAW_REPEATED] offending_ie_information: Raw<'a> = OFFENDING_IE_INFORMATION,
    }
}
