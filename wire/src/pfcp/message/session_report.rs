//! Session Report.

use crate::limits;
use crate::pfcp::group::{
    DownlinkDataReport, ErrorIndicationReport, UpdateBarInSessionReportResponse, UsageReport,
};
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    AdditionalUsageReportsInformation, AlternativeSmfIpAddress, FSeid, FTeid, OffendingIe, Raw,
    ReportType, SessionReportRequestFlags, SessionReportResponseFlags,
};
use crate::pfcp::{Cause, IeType, Reject};

ie_table! {
    /// Session Report Request (7.5.8), from the UP function.
    pub struct SessionReportRequest<'a> {
        /// What it reports.
        required report_type: ReportType = REPORT_TYPE,
        /// Downlink packets are buffered (DLDR).
        optional downlink_data_report: DownlinkDataReport = DOWNLINK_DATA_REPORT,
        /// Usage (USAR).
        list[limits::USAGE_REPORTS_PER_MESSAGE] usage_report: UsageReport<'a> =
            USAGE_REPORT_IN_SESSION_REPORT_REQUEST,
        /// A peer sent an Error Indication (ERIR).
        optional error_indication_report: ErrorIndicationReport = ERROR_INDICATION_REPORT,
        /// Load Control Information, uninterpreted.
        ignorable load_control_information: Raw<'a> = LOAD_CONTROL_INFORMATION,
        /// Overload Control Information, uninterpreted.
        ignorable overload_control_information: Raw<'a> = OVERLOAD_CONTROL_INFORMATION,
        /// Whether more reports follow.
        optional additional_usage_reports_information: AdditionalUsageReportsInformation =
            ADDITIONAL_USAGE_REPORTS_INFORMATION,
        /// Flags.
        optional pfcpsrreq_flags: SessionReportRequestFlags = PFCPSRREQ_FLAGS,
        /// The session at a CP function that no longer answers, when another one is told (SSET).
        optional old_cp_f_seid: FSeid = F_SEID,
        /// Packet Rate Status Reports, uninterpreted.
        list[limits::RAW_REPEATED] packet_rate_status_report: Raw<'a> = PACKET_RATE_STATUS_REPORT,
        /// Session Reports (SESR), uninterpreted.
        list[limits::RAW_REPEATED] session_report: Raw<'a> = SESSION_REPORT,
    }
    check = reports_as_announced;
}

fn reports_as_announced(request: &SessionReportRequest<'_>) -> Result<(), Reject> {
    let announced = |flag| request.report_type.contains(flag);
    let missing = if announced(ReportType::DLDR) && request.downlink_data_report.is_none() {
        IeType::DOWNLINK_DATA_REPORT
    } else if announced(ReportType::USAR) && request.usage_report.is_empty() {
        IeType::USAGE_REPORT_IN_SESSION_REPORT_REQUEST
    } else if announced(ReportType::ERIR) && request.error_indication_report.is_none() {
        IeType::ERROR_INDICATION_REPORT
    } else {
        return Ok(());
    };
    Err(Reject::conditional_missing(missing))
}

ie_table! {
    /// Session Report Response (7.5.9), from the CP function.
    pub struct SessionReportResponse {
        /// Whether the report was taken.
        required cause: Cause = CAUSE,
        /// The IE that made the request fail.
        optional offending_ie: OffendingIe = OFFENDING_IE,
        /// How buffering goes on.
        list[limits::BARS_PER_MESSAGE] update_bar: UpdateBarInSessionReportResponse =
            UPDATE_BAR_IN_SESSION_REPORT_RESPONSE,
        /// Flags.
        optional pfcpsrrsp_flags: SessionReportResponseFlags = PFCPSRRSP_FLAGS,
        /// The session at the CP function, if it changes (SSET).
        optional cp_f_seid: FSeid = F_SEID,
        /// Where buffered packets are sent, if the CP function buffers.
        optional n4_u_f_teid: FTeid = F_TEID,
        /// Where else the CP function can be reached.
        optional alternative_smf_ip_address: AlternativeSmfIpAddress = ALTERNATIVE_SMF_IP_ADDRESS,
    }
}
