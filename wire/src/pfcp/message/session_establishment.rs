//! Session Establishment.

use crate::limits;
use crate::pfcp::group::{
    CreateBar, CreateFar, CreatePdr, CreateQer, CreateTrafficEndpoint, CreateUrr, CreatedPdr,
    CreatedTrafficEndpoint, PartialFailureInformation,
};
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    FSeid, FailedRuleId, FqCsid, Name, NodeId, NtpTime, OffendingIe, PdnType, Raw, SNssai, Seconds,
    SessionEstablishmentRequestFlags, UserId,
};
use crate::pfcp::{Cause, IeType, Reject};

ie_table! {
    /// Session Establishment Request (7.5.2), from the CP function.
    pub struct SessionEstablishmentRequest<'a> {
        /// Who asks.
        required node_id: NodeId<'a> = NODE_ID,
        /// The session at the CP function.
        required cp_f_seid: FSeid = F_SEID,
        /// The PDRs of the session.
        some[limits::PDRS_PER_MESSAGE] create_pdr: CreatePdr<'a> = CREATE_PDR,
        /// The FARs of the session.
        some[limits::FARS_PER_MESSAGE] create_far: CreateFar<'a> = CREATE_FAR,
        /// The URRs of the session.
        list[limits::URRS_PER_MESSAGE] create_urr: CreateUrr<'a> = CREATE_URR,
        /// The QERs of the session.
        list[limits::QERS_PER_MESSAGE] create_qer: CreateQer<'a> = CREATE_QER,
        /// The BARs of the session.
        list[limits::BARS_PER_MESSAGE] create_bar: CreateBar<'a> = CREATE_BAR,
        /// The traffic endpoints of the session.
        list[limits::TRAFFIC_ENDPOINTS_PER_MESSAGE] create_traffic_endpoint:
            CreateTrafficEndpoint<'a> = CREATE_TRAFFIC_ENDPOINT,
        /// What kind of packets the session carries.
        ignorable pdn_type: PdnType = PDN_TYPE,
        /// Sets of CP functions that the session belongs to.
        list[limits::FQ_CSIDS] fq_csid: FqCsid<'a> = FQ_CSID,
        /// The idle time after which the CP function is told.
        optional user_plane_inactivity_timer: Seconds = USER_PLANE_INACTIVITY_TIMER,
        /// Who the user is.
        ignorable user_id: UserId<'a> = USER_ID,
        /// Trace Information, uninterpreted.
        ignorable trace_information: Raw<'a> = TRACE_INFORMATION,
        /// The data network.
        ignorable apn_dnn: Name<'a> = APN_DNN,
        /// Create MAR, uninterpreted.
        list[limits::RAW_REPEATED] create_mar: Raw<'a> = CREATE_MAR,
        /// Flags.
        optional pfcpsereq_flags: SessionEstablishmentRequestFlags = PFCPSEREQ_FLAGS,
        /// When the session was first created, if it is restored.
        ignorable recovery_time_stamp: NtpTime = RECOVERY_TIME_STAMP,
        /// The slice.
        ignorable s_nssai: SNssai = S_NSSAI,
        /// RAT Type, uninterpreted.
        ignorable rat_type: Raw<'a> = RAT_TYPE,
    }
}

ie_table! {
    /// What a Session Establishment Request says beside its rules. It is small: with
    /// [`groups`](crate::pfcp::ie::groups) for the rules a message is read without the 100 KiB and
    /// more that all its rules may take at once.
    pub struct SessionEstablishmentHead<'a> {
        /// Who asks.
        required node_id: NodeId<'a> = NODE_ID,
        /// The session at the CP function.
        required cp_f_seid: FSeid = F_SEID,
        /// What kind of packets the session carries.
        ignorable pdn_type: PdnType = PDN_TYPE,
        /// The idle time after which the CP function is told.
        optional user_plane_inactivity_timer: Seconds = USER_PLANE_INACTIVITY_TIMER,
        /// Who the user is.
        ignorable user_id: UserId<'a> = USER_ID,
        /// Flags.
        optional pfcpsereq_flags: SessionEstablishmentRequestFlags = PFCPSEREQ_FLAGS,
    }
}

ie_table! {
    /// Session Establishment Response (7.5.3), from the UP function.
    pub struct SessionEstablishmentResponse<'a> {
        /// Who answers.
        required node_id: NodeId<'a> = NODE_ID,
        /// Whether the session was established.
        required cause: Cause = CAUSE,
        /// The IE that made the request fail.
        optional offending_ie: OffendingIe = OFFENDING_IE,
        /// The session at the UP function, if it was established.
        optional up_f_seid: FSeid = F_SEID,
        /// What the UP function chose.
        list[limits::PDRS_PER_MESSAGE] created_pdr: CreatedPdr = CREATED_PDR,
        /// Load Control Information, uninterpreted.
        ignorable load_control_information: Raw<'a> = LOAD_CONTROL_INFORMATION,
        /// Overload Control Information, uninterpreted.
        ignorable overload_control_information: Raw<'a> = OVERLOAD_CONTROL_INFORMATION,
        /// Sets of the UP function that the session belongs to.
        list[limits::FQ_CSIDS] fq_csid: FqCsid<'a> = FQ_CSID,
        /// The rule that made the request fail.
        optional failed_rule_id: FailedRuleId = FAILED_RULE_ID,
        /// What the UP function chose.
        list[limits::TRAFFIC_ENDPOINTS_PER_MESSAGE] created_traffic_endpoint:
            CreatedTrafficEndpoint = CREATED_TRAFFIC_ENDPOINT,
        /// The rules that failed though the session was established.
        list[limits::FAILURES_PER_MESSAGE] partial_failure_information:
            PartialFailureInformation<'a> = PARTIAL_FAILURE_INFORMATION,
    }
    check = acceptance_has_f_seid;
}

fn acceptance_has_f_seid(response: &SessionEstablishmentResponse<'_>) -> Result<(), Reject> {
    if response.cause.is_acceptance() && response.up_f_seid.is_none() {
        return Err(Reject::conditional_missing(IeType::F_SEID));
    }
    Ok(())
}
