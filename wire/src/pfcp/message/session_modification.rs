//! Session Modification.

use crate::limits;
use crate::pfcp::Cause;
use crate::pfcp::group::{
    CreateBar, CreateFar, CreatePdr, CreateQer, CreateTrafficEndpoint, CreateUrr, CreatedPdr,
    CreatedTrafficEndpoint, PartialFailureInformation, QueryUrr, RemoveBar, RemoveFar, RemovePdr,
    RemoveQer, RemoveTrafficEndpoint, RemoveUrr, UpdateBar, UpdateFar, UpdatePdr, UpdateQer,
    UpdateTrafficEndpoint, UpdateUrr, UpdatedPdr, UsageReport,
};
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    AdditionalUsageReportsInformation, Edit, FSeid, FailedRuleId, FqCsid, NodeId, OffendingIe, Raw,
    Seconds, SessionModificationRequestFlags,
};

ie_table! {
    /// Session Modification Request (7.5.4), from the CP function.
    pub struct SessionModificationRequest<'a> {
        /// The session at the CP function, if it changes.
        optional cp_f_seid: FSeid = F_SEID,
        /// PDRs that go.
        list[limits::PDRS_PER_MESSAGE] remove_pdr: RemovePdr = REMOVE_PDR,
        /// FARs that go.
        list[limits::FARS_PER_MESSAGE] remove_far: RemoveFar = REMOVE_FAR,
        /// URRs that go.
        list[limits::URRS_PER_MESSAGE] remove_urr: RemoveUrr = REMOVE_URR,
        /// QERs that go.
        list[limits::QERS_PER_MESSAGE] remove_qer: RemoveQer = REMOVE_QER,
        /// BARs that go.
        list[limits::BARS_PER_MESSAGE] remove_bar: RemoveBar = REMOVE_BAR,
        /// Traffic endpoints that go.
        list[limits::TRAFFIC_ENDPOINTS_PER_MESSAGE] remove_traffic_endpoint:
            RemoveTrafficEndpoint = REMOVE_TRAFFIC_ENDPOINT,
        /// PDRs that come.
        list[limits::PDRS_PER_MESSAGE] create_pdr: CreatePdr<'a> = CREATE_PDR,
        /// FARs that come.
        list[limits::FARS_PER_MESSAGE] create_far: CreateFar<'a> = CREATE_FAR,
        /// URRs that come.
        list[limits::URRS_PER_MESSAGE] create_urr: CreateUrr<'a> = CREATE_URR,
        /// QERs that come.
        list[limits::QERS_PER_MESSAGE] create_qer: CreateQer<'a> = CREATE_QER,
        /// BARs that come.
        list[limits::BARS_PER_MESSAGE] create_bar: CreateBar<'a> = CREATE_BAR,
        /// Traffic endpoints that come.
        list[limits::TRAFFIC_ENDPOINTS_PER_MESSAGE] create_traffic_endpoint:
            CreateTrafficEndpoint<'a> = CREATE_TRAFFIC_ENDPOINT,
        /// PDRs that change.
        list[limits::PDRS_PER_MESSAGE] update_pdr: UpdatePdr<'a> = UPDATE_PDR,
        /// FARs that change.
        list[limits::FARS_PER_MESSAGE] update_far: UpdateFar<'a> = UPDATE_FAR,
        /// URRs that change.
        list[limits::URRS_PER_MESSAGE] update_urr: UpdateUrr<'a> = UPDATE_URR,
        /// QERs that change.
        list[limits::QERS_PER_MESSAGE] update_qer: UpdateQer<'a> = UPDATE_QER,
        /// BARs that change.
        list[limits::BARS_PER_MESSAGE] update_bar: UpdateBar<'a> =
            UPDATE_BAR_IN_SESSION_MODIFICATION_REQUEST,
        /// Traffic endpoints that change.
        list[limits::TRAFFIC_ENDPOINTS_PER_MESSAGE] update_traffic_endpoint:
            UpdateTrafficEndpoint<'a> = UPDATE_TRAFFIC_ENDPOINT,
        /// Flags.
        optional pfcpsmreq_flags: SessionModificationRequestFlags = PFCPSMREQ_FLAGS,
        /// URRs whose usage is asked for.
        list[limits::URRS_PER_MESSAGE] query_urr: QueryUrr = QUERY_URR,
        /// Sets of CP functions that the session belongs to from now on.
        list[limits::FQ_CSIDS] fq_csid: FqCsid<'a> = FQ_CSID,
        /// The idle time after which the CP function is told.
        optional user_plane_inactivity_timer: Edit<Seconds> = USER_PLANE_INACTIVITY_TIMER,
        /// Names the query, to be repeated in the reports.
        optional query_urr_reference: u32 = QUERY_URR_REFERENCE,
        /// Trace Information, uninterpreted; empty to stop tracing.
        ignorable trace_information: Raw<'a> = TRACE_INFORMATION,
        /// The CP function that now controls the session (SSET).
        optional node_id: NodeId<'a> = NODE_ID,
        /// RAT Type, uninterpreted.
        ignorable rat_type: Raw<'a> = RAT_TYPE,
    }
}

ie_table! {
    /// What a Session Modification Request says beside its rules; see
    /// [`SessionEstablishmentHead`](super::SessionEstablishmentHead).
    pub struct SessionModificationHead<'a> {
        /// The session at the CP function, if it changes.
        optional cp_f_seid: FSeid = F_SEID,
        /// Flags.
        optional pfcpsmreq_flags: SessionModificationRequestFlags = PFCPSMREQ_FLAGS,
        /// The idle time after which the CP function is told.
        optional user_plane_inactivity_timer: Edit<Seconds> = USER_PLANE_INACTIVITY_TIMER,
        /// Names the query, to be repeated in the reports.
        optional query_urr_reference: u32 = QUERY_URR_REFERENCE,
        /// The CP function that now controls the session (SSET).
        optional node_id: NodeId<'a> = NODE_ID,
    }
}

ie_table! {
    /// Session Modification Response (7.5.5), from the UP function.
    pub struct SessionModificationResponse<'a> {
        /// Whether the session was modified.
        required cause: Cause = CAUSE,
        /// The IE that made the request fail.
        optional offending_ie: OffendingIe = OFFENDING_IE,
        /// What the UP function chose.
        list[limits::PDRS_PER_MESSAGE] created_pdr: CreatedPdr = CREATED_PDR,
        /// Load Control Information, uninterpreted.
        ignorable load_control_information: Raw<'a> = LOAD_CONTROL_INFORMATION,
        /// Overload Control Information, uninterpreted.
        ignorable overload_control_information: Raw<'a> = OVERLOAD_CONTROL_INFORMATION,
        /// Usage that was asked for or that ended.
        list[limits::USAGE_REPORTS_PER_MESSAGE] usage_report: UsageReport<'a> =
            USAGE_REPORT_IN_SESSION_MODIFICATION_RESPONSE,
        /// The rule that made the request fail.
        optional failed_rule_id: FailedRuleId = FAILED_RULE_ID,
        /// Whether more reports follow.
        optional additional_usage_reports_information: AdditionalUsageReportsInformation =
            ADDITIONAL_USAGE_REPORTS_INFORMATION,
        /// What the UP function chose.
        list[limits::TRAFFIC_ENDPOINTS_PER_MESSAGE] created_traffic_endpoint:
            CreatedTrafficEndpoint = CREATED_TRAFFIC_ENDPOINT,
        /// What the UP function chose anew.
        list[limits::PDRS_PER_MESSAGE] updated_pdr: UpdatedPdr = UPDATED_PDR,
        /// Packet Rate Status Reports, uninterpreted.
        list[limits::RAW_REPEATED] packet_rate_status_report: Raw<'a> =
            PACKET_RATE_STATUS_REPORT_IN_SESSION_MODIFICATION_RESPONSE,
        /// The rules that failed though the session was modified.
        list[limits::FAILURES_PER_MESSAGE] partial_failure_information:
            PartialFailureInformation<'a> = PARTIAL_FAILURE_INFORMATION,
    }
}
