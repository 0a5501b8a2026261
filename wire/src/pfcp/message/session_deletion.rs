//! Session Deletion.

use crate::limits;
use crate::pfcp::Cause;
use crate::pfcp::group::UsageReport;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    AdditionalUsageReportsInformation, OffendingIe, Raw, SessionDeletionResponseFlags,
};

ie_table! {
    /// Session Deletion Request (7.5.6), from the CP function: the header says it all.
    pub struct SessionDeletionRequest {
    }
}

ie_table! {
    /// Session Deletion Response (7.5.7), from the UP function.
    pub struct SessionDeletionResponse<'a> {
        /// Whether the session was deleted.
        required cause: Cause = CAUSE,
        /// The IE that made the request fail.
        optional offending_ie: OffendingIe = OFFENDING_IE,
        /// Load Control Information, uninterpreted.
        ignorable load_control_information: Raw<'a> = LOAD_CONTROL_INFORMATION,
        /// Overload Control Information, uninterpreted.
        ignorable overload_control_information: Raw<'a> = OVERLOAD_CONTROL_INFORMATION,
        /// The last usage of every URR.
        list[limits::USAGE_REPORTS_PER_MESSAGE] usage_report: UsageReport<'a> =
            USAGE_REPORT_IN_SESSION_DELETION_RESPONSE,
        /// Whether more reports follow.
        optional additional_usage_reports_information: AdditionalUsageReportsInformation =
            ADDITIONAL_USAGE_REPORTS_INFORMATION,
        /// Packet Rate Status Reports, uninterpreted.
        list[limits::RAW_REPEATED] packet_rate_status_report: Raw<'a> = PACKET_RATE_STATUS_REPORT,
        /// Session Reports, uninterpreted.
        list[limits::RAW_REPEATED] session_report: Raw<'a> = SESSION_REPORT,
        /// Flags.
        optional pfcpsdrsp_flags: SessionDeletionResponseFlags = PFCPSDRSP_FLAGS,
    }
}
