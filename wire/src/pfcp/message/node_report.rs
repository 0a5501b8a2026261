//! Node Report.

use crate::limits;
use crate::pfcp::group::{
    PeerUpRestartReport, UserPlanePathFailureReport, UserPlanePathRecoveryReport,
};
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{NodeId, NodeReportType, OffendingIe, Raw};
use crate::pfcp::{Cause, IeType, Reject};

ie_table! {
    /// Node Report Request (7.4.5.1), from the UP function.
    pub struct NodeReportRequest<'a> {
        /// Who reports.
        required node_id: NodeId<'a> = NODE_ID,
        /// What it reports.
        required node_report_type: NodeReportType = NODE_REPORT_TYPE,
        /// Peers that no longer answer (UPFR).
        optional user_plane_path_failure_report: UserPlanePathFailureReport<'a> =
            USER_PLANE_PATH_FAILURE_REPORT,
        /// Peers that answer again (UPRR).
        optional user_plane_path_recovery_report: UserPlanePathRecoveryReport<'a> =
            USER_PLANE_PATH_RECOVERY_REPORT,
        /// Clock Drift Reports (CKDR), uninterpreted.
        list[limits::RAW_REPEATED] clock_drift_report: Raw<'a> = CLOCK_DRIFT_REPORT,
        /// GTP-U Path QoS Reports (GPQR), uninterpreted.
        list[limits::RAW_REPEATED] gtpu_path_qos_report: Raw<'a> = GTPU_PATH_QOS_REPORT,
        /// Peers that were restarted (PURR).
        optional peer_up_restart_report: PeerUpRestartReport<'a> = PEER_UP_RESTART_REPORT,
    }
    check = reports_as_announced;
}

fn reports_as_announced(request: &NodeReportRequest<'_>) -> Result<(), Reject> {
    let announced = |flag| request.node_report_type.contains(flag);
    let missing = if announced(NodeReportType::UPFR)
        && request.user_plane_path_failure_report.is_none()
    {
        IeType::USER_PLANE_PATH_FAILURE_REPORT
    } else if announced(NodeReportType::UPRR) && request.user_plane_path_recovery_report.is_none() {
        IeType::USER_PLANE_PATH_RECOVERY_REPORT
    } else if announced(NodeReportType::PURR) && request.peer_up_restart_report.is_none() {
        IeType::PEER_UP_RESTART_REPORT
    } else {
        return Ok(());
    };
    Err(Reject::conditional_missing(missing))
}

ie_table! {
    /// Node Report Response (7.4.5.2), from the CP function.
    pub struct NodeReportResponse<'a> {
        /// Who answers.
        required node_id: NodeId<'a> = NODE_ID,
        /// Whether the report was taken.
        required cause: Cause = CAUSE,
        /// The IE that made the request fail.
        optional offending_ie: OffendingIe = OFFENDING_IE,
    }
}
