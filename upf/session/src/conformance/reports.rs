//! IEs of session and node reports.

use super::{Row, Status, Table, ie_tables, status};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;

ie_tables! {
    SessionReportRequest "Session Report Request (7.5.8)" {
        REPORT_TYPE sent "DLDR, USAR, ERIR, UPIR" an_error_indication_is_reported_once_and_only_from_the_tunnels_peer;
        DOWNLINK_DATA_REPORT sent "the first packet of each QoS flow, until the FAR is updated" the_first_packet_of_an_idle_ue_is_reported_once_until_the_far_is_updated;
        USAGE_REPORT_IN_SESSION_REPORT_REQUEST sent "what is due by then, merged; also ahead of an association release" what_becomes_due_while_a_report_is_under_way_goes_with_the_next;
        ERROR_INDICATION_REPORT sent "" an_error_indication_is_reported_once_and_only_from_the_tunnels_peer;
        LOAD_CONTROL_INFORMATION unsent "it stands in responses";
        OVERLOAD_CONTROL_INFORMATION unsent "it stands in responses";
        ADDITIONAL_USAGE_REPORTS_INFORMATION unsent "";
        PFCPSRREQ_FLAGS sent "PSDBU: the session has ended here" an_announced_release_brings_the_last_usage_of_each_session;
        F_SEID unsent "SSET is not set";
        PACKET_RATE_STATUS_REPORT unsent "CIOT is not set";
        SESSION_REPORT unsent "no SRR is served";
    }
    ErrorIndicationReport "Error Indication Report (Table 7.5.8.4-1)" {
        F_TEID sent "" an_error_indication_is_reported_once_and_only_from_the_tunnels_peer;
    }
    DownlinkDataReport "Downlink Data Report (Table 7.5.8.2-1)" {
        PDR_ID sent "" the_first_packet_of_an_idle_ue_is_reported_once_until_the_far_is_updated;
        DOWNLINK_DATA_SERVICE_INFORMATION sent "QFI, and the DSCP as paging policy" the_first_packet_of_an_idle_ue_is_reported_once_until_the_far_is_updated;
        DL_DATA_PACKETS_SIZE unsent "MT-EDT is not set";
        DATA_STATUS unsent "DDDS is not set";
    }
    SessionReportResponse "Session Report Response (7.5.9)" {
        CAUSE enforced "65 for the third time ends the session; others let the report be made again" a_session_that_its_cp_function_knows_no_more_ends_with_the_third_answer;
        OFFENDING_IE ignored "stands in the log with the cause" a_report_without_an_answer_is_given_up_and_told;
        UPDATE_BAR_IN_SESSION_REPORT_RESPONSE enforced "" the_answer_to_a_report_changes_what_is_held;
        PFCPSRRSP_FLAGS enforced "DROBU" the_answer_to_a_report_changes_what_is_held;
        F_SEID ignored "SSET is not set" the_tables_say_what_responses_ignore;
        F_TEID ignored "SSET is not set" the_tables_say_what_responses_ignore;
        ALTERNATIVE_SMF_IP_ADDRESS ignored "SSET is not set" the_tables_say_what_responses_ignore;
    }
    UpdateBarInSessionReportResponse "Update BAR (Table 7.5.9.2-1)" {
        BAR_ID enforced "one that is not there changes nothing" the_answer_to_a_report_changes_what_is_held;
        DOWNLINK_DATA_NOTIFICATION_DELAY enforced "" the_answer_to_a_report_changes_what_is_held;
        DL_BUFFERING_DURATION ignored "DLBD is not set" the_tables_say_what_responses_ignore;
        DL_BUFFERING_SUGGESTED_PACKET_COUNT ignored "DLBD is not set" the_tables_say_what_responses_ignore;
        SUGGESTED_BUFFERING_PACKETS_COUNT enforced "" the_answer_to_a_report_changes_what_is_held;
    }
    NodeReportRequest "Node Report Request (7.4.5.1)" {
        NODE_ID sent "" failure_and_recovery_are_told_once;
        NODE_REPORT_TYPE sent "UPFR, UPRR" failure_and_recovery_are_told_once;
        USER_PLANE_PATH_FAILURE_REPORT sent "tunnel peers that do not answer Echo Requests; `echo` of upf.yaml" five_thousand_peers_are_told_of_in_few_requests_one_at_a_time;
        USER_PLANE_PATH_RECOVERY_REPORT sent "peers that answer again" failure_and_recovery_are_told_once;
        CLOCK_DRIFT_REPORT unsent "TSCU is not set";
        GTPU_PATH_QOS_REPORT unsent "GPQM is not set";
        PEER_UP_RESTART_REPORT unsent "the restart of a peer is not noticed";
    }
    UserPlanePathFailureReport "User Plane Path Failure Report (Table 7.4.5.1.2-1)" {
        REMOTE_GTPU_PEER sent "its address; side and network instance, where our address serves one alone" silence_and_return_are_told_with_side_and_instance;
    }
    UserPlanePathRecoveryReport "User Plane Path Recovery Report (Table 7.4.5.1.3-1)" {
        REMOTE_GTPU_PEER sent "as in the failure report" silence_and_return_are_told_with_side_and_instance;
    }
    NodeReportResponse "Node Report Response (7.4.5.2)" {
        NODE_ID ignored "the address tells whose answer it is" failure_and_recovery_are_told_once;
        CAUSE enforced "whoever refuses a report is not told the same again" whoever_refuses_is_not_asked_again_and_whoever_is_silent_is_asked_later;
        OFFENDING_IE ignored "the log has the cause" whoever_refuses_is_not_asked_again_and_whoever_is_silent_is_asked_later;
    }
}
