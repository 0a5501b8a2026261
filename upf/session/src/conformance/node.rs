//! IEs of node-related messages.

use super::{Row, Status, Table, ie_tables, status};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::*;
use sluice_wire::pfcp::message::*;

ie_tables! {
    HeartbeatRequest "Heartbeat Request (7.4.2.1)" {
        RECOVERY_TIME_STAMP enforced "a later one than before is a restart" the_heartbeat_of_a_restarted_cp_function_tells_the_up_function;
        SOURCE_IP_ADDRESS ignored "the answer goes where the request came from" a_heartbeat_of_an_unknown_peer_is_answered;
    }
    HeartbeatResponse "Heartbeat Response (7.4.2.2)" {
        RECOVERY_TIME_STAMP enforced "sent, and read: a later one than before is a restart" heartbeats_go_both_ways_at_their_interval;
    }
    PfdManagementRequest "PFD Management Request (7.4.3.1)" {
        APPLICATION_IDS_PFDS enforced "all flows of these applications; without any, none is told any more" what_is_told_of_an_application_is_what_its_pdrs_match;
        APPLICATION_IDS_PFDS refused(75) "more than 1,024 applications, or a name of more than 255 octets" pfds_that_cannot_be_had_are_refused_whole;
        NODE_ID ignored "flows are all sessions'" what_is_told_of_an_application_is_what_its_pdrs_match;
    }
    ApplicationIdsPfds "Application ID's PFDs (Table 7.4.3.1-2)" {
        APPLICATION_ID enforced "" what_is_told_of_an_application_is_what_its_pdrs_match;
        PFD_CONTEXT enforced "in place of what was told before; without any the application has the flows of upf.yaml, or none" what_is_told_of_an_application_is_what_its_pdrs_match;
        PFD_CONTEXT refused(75) "more than 32 of one application" more_pfds_than_an_application_may_have_are_refused;
    }
    PfdContext "PFD Context (Table 7.4.3.1-3)" {
        PFD_CONTENTS enforced "flow descriptions as in SDF filters, also additional ones" what_is_told_of_an_application_is_what_its_pdrs_match;
        PFD_CONTENTS refused(76) "URLs, domain names and custom contents: names are not looked for in packets" pfds_that_cannot_be_had_are_refused_whole;
        PFD_CONTENTS refused(69) "a flow description that no SDF filter could have" pfds_that_cannot_be_had_are_refused_whole;
        PFD_CONTENTS refused(69) "one that tells nothing: flows are taken back by leaving PFD Context out" pfds_that_cannot_be_had_are_refused_whole;
        PFD_CONTENTS refused(75) "more than 63 pairs of port ranges of one application" pfds_that_cannot_be_had_are_refused_whole;
        PFD_CONTENTS refused(75) "more than 4 of one context" more_pfds_than_an_application_may_have_are_refused;
    }
    AssociationSetupRequest "Association Setup Request (7.4.4.1)" {
        NODE_ID enforced "names the CP function, at one address" the_cp_function_sets_up_and_both_learn_names_and_features;
        NODE_ID refused(64) "it belongs to another address that still answers" a_set_up_from_elsewhere_is_refused_while_the_holder_answers;
        RECOVERY_TIME_STAMP enforced "" a_new_set_up_replaces_the_association_and_asks_for_its_sessions;
        UP_FUNCTION_FEATURES ignored "of a CP function it says nothing (Table 7.4.4.1-1)" the_cp_function_sets_up_and_both_learn_names_and_features;
        CP_FUNCTION_FEATURES enforced "EPFAR decides how an association ends" a_release_is_announced_only_between_functions_with_epfar;
        USER_PLANE_IP_RESOURCE_INFORMATION ignored "of a CP function it says nothing; not used since Release 16 (5.18)";
        ALTERNATIVE_SMF_IP_ADDRESS enforced "requests may come from there" ipv6_peers_and_further_addresses_are_known;
        SMF_SET_ID ignored "sessions stay with their association (SSET is not set, 5.22)";
        SESSION_RETENTION_INFORMATION enforced "these sessions are kept" a_new_association_set_up_ends_the_sessions_but_for_those_retained;
        UE_IP_ADDRESS_POOL_INFORMATION ignored "of a CP function it says nothing";
        GTPU_PATH_QOS_CONTROL_INFORMATION ignored "GPQM is not set (5.24.5)";
        NF_INSTANCE_ID ignored "of a CP function it says nothing (Table 7.4.4.1-1)";
        PFCPASREQ_FLAGS ignored "UUPSI is of the UP function (8.2.168)";
    }
    SessionRetentionInformation "PFCP Session Retention Information (Table 7.4.4.1-2)" {
        CP_PFCP_ENTITY_IP_ADDRESS enforced "only sessions of these" a_new_association_set_up_ends_the_sessions_but_for_those_retained;
    }
    AssociationSetupResponse "Association Setup Response (7.4.4.2)" {
        NODE_ID sent "" the_cp_function_sets_up_and_both_learn_names_and_features;
        CAUSE sent "" the_cp_function_sets_up_and_both_learn_names_and_features;
        RECOVERY_TIME_STAMP sent "" the_cp_function_sets_up_and_both_learn_names_and_features;
        UP_FUNCTION_FEATURES sent "" the_cp_function_sets_up_and_both_learn_names_and_features;
        CP_FUNCTION_FEATURES enforced "of a CP function that we set up" the_up_function_may_set_up_too;
        USER_PLANE_IP_RESOURCE_INFORMATION unsent "F-TEIDs are ours to give (FTUP)";
        ALTERNATIVE_SMF_IP_ADDRESS enforced "of a CP function that we set up" ipv6_peers_and_further_addresses_are_known;
        SMF_SET_ID ignored "SSET is not set" the_up_function_may_set_up_too;
        PFCPASRSP_FLAGS sent "PSREI where sessions were retained" a_new_association_set_up_ends_the_sessions_but_for_those_retained;
        UE_IP_ADDRESS_POOL_INFORMATION unsent "pools are known by their network instance and identity";
        NF_INSTANCE_ID unsent "of the 5GC's NRF, which is not asked";
    }
    AssociationUpdateRequest "Association Update Request (7.4.4.3)" {
        NODE_ID enforced "" an_update_from_elsewhere_changes_nothing;
        UP_FUNCTION_FEATURES sent "when they change" changed_features_reach_the_peer_and_later_set_ups;
        CP_FUNCTION_FEATURES enforced "" changed_features_reach_the_peer_and_later_set_ups;
        PFCP_ASSOCIATION_RELEASE_REQUEST sent "SARR when the daemon ends" the_end_of_the_up_function_is_announced_and_waited_for;
        GRACEFUL_RELEASE_PERIOD sent "`n4.graceful_release_s`" a_up_function_cannot_release_but_asks_and_is_given_its_graceful_period;
        PFCPAUREQ_FLAGS enforced "PARPS: the last usage is reported before the release" an_announced_release_brings_the_last_usage_of_each_session;
        USER_PLANE_IP_RESOURCE_INFORMATION ignored "of a CP function it says nothing";
        ALTERNATIVE_SMF_IP_ADDRESS enforced "" ipv6_peers_and_further_addresses_are_known;
        SMF_SET_ID ignored "SSET is not set";
        UE_IP_ADDRESS_POOL_INFORMATION ignored "of a CP function it says nothing";
        UE_IP_ADDRESS_USAGE_INFORMATION ignored "of a CP function it says nothing";
    }
    AssociationUpdateResponse "Association Update Response (7.4.4.4)" {
        NODE_ID sent "" changed_features_reach_the_peer_and_later_set_ups;
        CAUSE sent "" changed_features_reach_the_peer_and_later_set_ups;
        UP_FUNCTION_FEATURES unsent "the set-up has told them";
        CP_FUNCTION_FEATURES ignored "the set-up has told them" changed_features_reach_the_peer_and_later_set_ups;
    }
    AssociationReleaseRequest "Association Release Request (7.4.4.5)" {
        NODE_ID enforced "" the_cp_function_releases_and_both_ends_are_told;
        NODE_ID refused(64) "it belongs to another address" a_release_from_elsewhere_is_refused_and_names_both_addresses;
    }
    AssociationReleaseResponse "Association Release Response (7.4.4.6)" {
        NODE_ID sent "" the_cp_function_releases_and_both_ends_are_told;
        CAUSE sent "" the_cp_function_releases_and_both_ends_are_told;
    }
    SessionSetDeletionRequest "Session Set Deletion Request (7.4.6.1)" {
        NODE_ID enforced "the association whose sessions end; that of the address it comes from, if there is one" a_set_takes_its_sessions_along_and_no_others;
        FQ_CSID enforced "of CP functions and nodes behind them; a set without sessions is no fault" a_set_takes_its_sessions_along_and_no_others;
        FQ_CSID refused(67) "there is none" a_set_deletion_that_names_no_set_is_refused;
    }
}
