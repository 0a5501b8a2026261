//! IEs of session establishment, modification and deletion beside their rules.

use super::{Row, Status, Table, ie_tables, status};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;

ie_tables! {
    SessionEstablishmentRequest "Session Establishment Request (7.5.2)" {
        NODE_ID enforced "the association that the session belongs to" an_establishment_from_elsewhere_makes_the_address_the_peers_and_is_told_once;
        F_SEID enforced "names the session, which another request of that name replaces once it is admitted, and where our requests about it go" another_request_of_the_same_name_replaces_the_session_and_one_of_another_cp_function_is_new;
        CREATE_PDR enforced "" a_default_session_becomes_two_entries_of_one_shard;
        CREATE_FAR enforced "" a_default_session_becomes_two_entries_of_one_shard;
        CREATE_URR enforced "" deletion_reports_every_urr_once;
        CREATE_QER enforced "" packets_are_marked_with_the_first_qfi_that_is_not_zero;
        CREATE_BAR enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        CREATE_TRAFFIC_ENDPOINT refused(76) "";
        PDN_TYPE enforced "IPv4, IPv6 and IPv4v6 are served" pdn_types_are_those_of_ip;
        PDN_TYPE refused(76) "Non-IP or Ethernet" an_establishment_that_cannot_be_served_is_refused_by_name;
        FQ_CSID enforced "the sets that end together (23.007)" a_set_takes_its_sessions_along_and_no_others;
        FQ_CSID refused(75) "there are too many, of the session or in all" sets_are_bounded_and_what_is_too_much_is_refused;
        USER_PLANE_INACTIVITY_TIMER enforced "UPIR when no packet left for so long; 0: none" a_session_without_packets_is_reported_once_until_packets_come;
        USER_ID enforced "IMSI or SUPI, and MSISDN, are shown by `sluice ctl session`" views_show_rules_as_they_were_provisioned;
        TRACE_INFORMATION ignored "TRACE is not set (5.15)";
        APN_DNN ignored "no rule depends on it (Table 7.5.2.1-1)";
        CREATE_MAR refused(76) "";
        PFCPSEREQ_FLAGS enforced "RESTI: F-TEIDs of ours come back" a_restored_session_gets_its_teid_back;
        RECOVERY_TIME_STAMP ignored "an establishment belongs to the association as it is (19A.2)";
        S_NSSAI ignored "PSUPRM is not set (5.35)";
        RAT_TYPE ignored "no rule depends on it (Table 7.5.2.1-1)";
    }
    SessionEstablishmentResponse "Session Establishment Response (7.5.3)" {
        NODE_ID sent "" another_implementation_establishes_modifies_and_deletes_a_session;
        CAUSE sent "" another_implementation_establishes_modifies_and_deletes_a_session;
        OFFENDING_IE sent "" an_establishment_that_cannot_be_served_is_refused_by_name;
        F_SEID sent "" another_implementation_establishes_modifies_and_deletes_a_session;
        CREATED_PDR sent "F-TEIDs and UE addresses of our choice" one_choose_id_is_one_tunnel_with_a_chain_of_rules;
        LOAD_CONTROL_INFORMATION sent "to CP functions with LOAD, once for each value" load_is_told_once_for_each_value_to_those_who_want_it;
        OVERLOAD_CONTROL_INFORMATION sent "to CP functions with OVRL; renewed while the overload lasts" overload_is_told_renewed_and_taken_back;
        FQ_CSID unsent "no part of this UP function fails alone";
        FAILED_RULE_ID sent "" an_establishment_that_cannot_be_served_is_refused_by_name;
        CREATED_TRAFFIC_ENDPOINT unsent "PDIU is not set";
        PARTIAL_FAILURE_INFORMATION unsent "a request is carried out whole or not at all";
    }
    CreatedPdr "Created PDR (Table 7.5.3.2-1)" {
        PDR_ID sent "" one_choose_id_is_one_tunnel_with_a_chain_of_rules;
        F_TEID sent "" one_choose_id_is_one_tunnel_with_a_chain_of_rules;
        UE_IP_ADDRESS sent "of our choice" every_pdr_that_asks_is_told_the_addresses_of_its_session_and_all_is_at_home_in_one_shard;
    }
    SessionModificationRequest "Session Modification Request (7.5.4)" {
        F_SEID enforced "the session's new name at the CP function" a_session_that_has_ended_or_got_another_name_is_established_anew;
        REMOVE_PDR enforced "" the_last_rule_of_a_chain_goes_back_into_the_entry;
        REMOVE_FAR enforced "" a_modification_is_refused_whole;
        REMOVE_URR enforced "its last usage is reported" a_urr_that_goes_or_is_left_by_its_last_pdr_reports_its_end;
        REMOVE_QER enforced "" a_modification_is_refused_whole;
        REMOVE_BAR enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        REMOVE_TRAFFIC_ENDPOINT refused(76) "";
        CREATE_PDR enforced "" a_choose_id_of_an_earlier_message_gives_the_same_f_teid;
        CREATE_FAR enforced "" a_modification_is_refused_whole;
        CREATE_URR enforced "" a_modification_is_refused_whole;
        CREATE_QER enforced "" a_qer_of_the_same_name_that_replaces_another_begins_full;
        CREATE_BAR enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        CREATE_TRAFFIC_ENDPOINT refused(76) "";
        UPDATE_PDR enforced "" an_update_without_entry_keeps_the_tunnel;
        UPDATE_FAR enforced "" a_handover_moves_the_downlink_and_marks_the_end_of_the_old_tunnel;
        UPDATE_URR enforced "" inactive_measurement_adds_nothing_and_resumes;
        UPDATE_QER enforced "" a_rate_that_changes_touches_its_bucket_alone;
        UPDATE_BAR_IN_SESSION_MODIFICATION_REQUEST enforced "" a_bar_postpones_the_report_and_bounds_what_is_held;
        UPDATE_TRAFFIC_ENDPOINT refused(76) "";
        PFCPSMREQ_FLAGS enforced "QAURR: all URRs report; DROBU: held packets are dropped" a_query_takes_usage_and_leaves_the_rules_alone;
        QUERY_URR enforced "" a_query_takes_usage_and_leaves_the_rules_alone;
        FQ_CSID enforced "in place of those of the same kind of node" a_modification_moves_a_session_to_another_set_of_the_same_kind_of_node;
        USER_PLANE_INACTIVITY_TIMER enforced "begins anew with the message; 0 ends it" a_session_without_packets_is_reported_once_until_packets_come;
        QUERY_URR_REFERENCE enforced "stands in the reports" a_query_takes_usage_and_leaves_the_rules_alone;
        TRACE_INFORMATION ignored "TRACE is not set (5.15)";
        NODE_ID ignored "a session stays with its association (SSET is not set)";
        RAT_TYPE ignored "no rule depends on it";
    }
    SessionModificationResponse "Session Modification Response (7.5.5)" {
        CAUSE sent "" another_implementation_establishes_modifies_and_deletes_a_session;
        OFFENDING_IE sent "" a_modification_is_refused_whole;
        CREATED_PDR sent "" a_choose_id_of_an_earlier_message_gives_the_same_f_teid;
        LOAD_CONTROL_INFORMATION sent "to CP functions with LOAD, once for each value" changes_and_deletions_tell_it_too;
        OVERLOAD_CONTROL_INFORMATION sent "to CP functions with OVRL; renewed while the overload lasts" overload_is_told_renewed_and_taken_back;
        USAGE_REPORT_IN_SESSION_MODIFICATION_RESPONSE sent "" a_query_takes_usage_and_leaves_the_rules_alone;
        FAILED_RULE_ID sent "" a_modification_is_refused_whole;
        ADDITIONAL_USAGE_REPORTS_INFORMATION unsent "all reports of a session fit a response";
        CREATED_TRAFFIC_ENDPOINT unsent "PDIU is not set";
        UPDATED_PDR unsent "an update changes no F-TEID";
        PACKET_RATE_STATUS_REPORT_IN_SESSION_MODIFICATION_RESPONSE unsent "CIOT is not set";
        PARTIAL_FAILURE_INFORMATION unsent "a request is carried out whole or not at all";
    }
    SessionDeletionResponse "Session Deletion Response (7.5.7); the request (7.5.6) has no IE" {
        CAUSE sent "" deletion_reports_every_urr_once;
        OFFENDING_IE unsent "";
        LOAD_CONTROL_INFORMATION sent "to CP functions with LOAD, once for each value" changes_and_deletions_tell_it_too;
        OVERLOAD_CONTROL_INFORMATION sent "to CP functions with OVRL; renewed while the overload lasts" overload_is_told_renewed_and_taken_back;
        USAGE_REPORT_IN_SESSION_DELETION_RESPONSE sent "" deletion_reports_every_urr_once;
        ADDITIONAL_USAGE_REPORTS_INFORMATION unsent "all reports of a session fit a response";
        PACKET_RATE_STATUS_REPORT unsent "CIOT is not set";
        SESSION_REPORT unsent "no SRR is served";
        PFCPSDRSP_FLAGS unsent "";
    }
}
