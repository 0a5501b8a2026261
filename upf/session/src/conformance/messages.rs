//! Messages: what each is answered with, or when it is sent.

use sluice_wire::pfcp::MessageType;

/// A message, what becomes of it, and the test that proves it; none: it is for the other side.
#[derive(Clone, Copy, Debug)]
pub struct MessageRow {
    /// The message.
    pub message: MessageType,
    /// What becomes of it.
    pub note: &'static str,
    /// The test.
    pub test: &'static str,
}

macro_rules! messages {
    ($($message:ident $note:literal $($test:ident)?;)*) => {
        &[$(MessageRow {
            message: MessageType::$message,
            note: $note,
            test: concat!("" $(, stringify!($test))?),
        }),*]
    };
}

/// A row for every message that has a name.
pub const fn messages() -> &'static [MessageRow] {
    messages! {
        HEARTBEAT_REQUEST "answered; sent every `n4.heartbeat_s`" heartbeats_go_both_ways_at_their_interval;
        HEARTBEAT_RESPONSE "sent and read" heartbeats_go_both_ways_at_their_interval;
        PFD_MANAGEMENT_REQUEST "served, whole or not at all: flows are the UP function's, whichever CP function tells them" what_is_told_of_an_application_is_what_its_pdrs_match;
        PFD_MANAGEMENT_RESPONSE "sent at once; sessions have their new flows soon" sessions_have_new_flows_some_at_a_time;
        ASSOCIATION_SETUP_REQUEST "served; sent to `n4.peers` that are to be asked" the_up_function_may_set_up_too;
        ASSOCIATION_SETUP_RESPONSE "sent and read" set_ups_that_cross_make_one_association;
        ASSOCIATION_UPDATE_REQUEST "served; sent when features change and when the daemon ends" changed_features_reach_the_peer_and_later_set_ups;
        ASSOCIATION_UPDATE_RESPONSE "sent and read" changed_features_reach_the_peer_and_later_set_ups;
        ASSOCIATION_RELEASE_REQUEST "served" the_cp_function_releases_and_both_ends_are_told;
        ASSOCIATION_RELEASE_RESPONSE "sent" the_cp_function_releases_and_both_ends_are_told;
        VERSION_NOT_SUPPORTED_RESPONSE "sent to another version; ends the request that it answers" other_versions_are_answered_with_ours_but_not_without_limit;
        NODE_REPORT_REQUEST "sent to every CP function when a user plane path fails or recovers" failure_and_recovery_are_told_once;
        NODE_REPORT_RESPONSE "read" whoever_refuses_is_not_asked_again_and_whoever_is_silent_is_asked_later;
        SESSION_SET_DELETION_REQUEST "served: sessions that belong to the sets end" a_set_takes_its_sessions_along_and_no_others;
        SESSION_SET_DELETION_RESPONSE "sent at once; sessions end behind it, and no message finds them any more" deleted_sessions_are_looked_for_some_at_a_time_and_found_by_nobody;
        SESSION_SET_MODIFICATION_REQUEST "refused with cause 76: SSET is not set" messages_of_features_that_are_not_advertised_are_refused;
        SESSION_SET_MODIFICATION_RESPONSE "sent" messages_of_features_that_are_not_advertised_are_refused;
        SESSION_ESTABLISHMENT_REQUEST "served" a_default_session_becomes_two_entries_of_one_shard;
        SESSION_ESTABLISHMENT_RESPONSE "sent when the rules are in force" the_response_waits_for_the_path;
        SESSION_MODIFICATION_REQUEST "served, whole or not at all" a_modification_is_refused_whole;
        SESSION_MODIFICATION_RESPONSE "sent when the rules are in force" the_response_waits_for_the_path;
        SESSION_DELETION_REQUEST "served" deletion_reports_every_urr_once;
        SESSION_DELETION_RESPONSE "sent with the last usage" deletion_reports_every_urr_once;
        SESSION_REPORT_REQUEST "sent" an_error_indication_is_reported_once_and_only_from_the_tunnels_peer;
        SESSION_REPORT_RESPONSE "read" a_report_without_an_answer_is_given_up_and_told;
    }
}
