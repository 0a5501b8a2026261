//! IEs of URRs.

use super::{Row, Status, Table, ie_tables, status};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::*;

ie_tables! {
    CreateUrr "Create URR (7.5.2.4)" {
        URR_ID enforced "" the_first_and_last_identifiers_are_ordinary;
        MEASUREMENT_METHOD enforced "VOLUM" deletion_reports_every_urr_once;
        MEASUREMENT_METHOD enforced "DURAT: whole seconds, from the first packet on" time_is_measured_between_packets_that_are_not_too_far_apart;
        MEASUREMENT_METHOD refused(73) "EVENT, or neither VOLUM nor DURAT" an_establishment_that_cannot_be_served_is_refused_by_name;
        REPORTING_TRIGGERS enforced "PERIO, VOLTH, VOLQU, START" quotas_and_first_packets_are_told_of_if_the_urr_asks;
        REPORTING_TRIGGERS enforced "TIMTH, TIMQU" thresholds_and_quotas_of_time_are_told_and_what_is_used_up_stops;
        REPORTING_TRIGGERS enforced "QUVTI, QUHTI" quotas_that_are_not_valid_or_not_used_any_more_stop;
        REPORTING_TRIGGERS enforced "STOPT, with an Inactivity Detection Time" time_is_measured_between_packets_that_are_not_too_far_apart;
        REPORTING_TRIGGERS refused(73) "START or STOPT where its PDRs are of several applications, or of one and other traffic" a_urr_that_tells_of_traffic_is_of_one_application;
        REPORTING_TRIGGERS enforced "DROTH, with a Dropped DL Traffic Threshold" lost_packets_are_told_of_where_a_urr_asks;
        REPORTING_TRIGGERS ignored "UPINT, and STOPT without an Inactivity Detection Time: those reports are not made; refused with `n4.unserved: refuse`" reports_that_are_not_made_yet_are_passed_over_and_told_of_once;
        REPORTING_TRIGGERS refused(73) "EVETH, EVEQU, LIUSA" an_establishment_that_cannot_be_served_is_refused_by_name;
        MEASUREMENT_PERIOD enforced "" periods_are_reported_one_after_the_other;
        VOLUME_THRESHOLD enforced "with VOLTH, of uplink, downlink and both" a_cell_stands_for_each_urr_that_waits_for_octets;
        VOLUME_QUOTA enforced "packets pass while less is used" a_cell_stands_for_each_urr_that_waits_for_octets;
        EVENT_THRESHOLD refused(73) "";
        EVENT_QUOTA refused(73) "";
        TIME_THRESHOLD enforced "with TIMTH" thresholds_and_quotas_of_time_are_told_and_what_is_used_up_stops;
        TIME_QUOTA enforced "nothing passes when it is used up" thresholds_and_quotas_of_time_are_told_and_what_is_used_up_stops;
        QUOTA_HOLDING_TIME enforced "nothing passes after so long without packets; 0: none" quotas_that_are_not_valid_or_not_used_any_more_stop;
        DROPPED_DL_TRAFFIC_THRESHOLD enforced "with DROTH: packets and octets to the UE that a FAR drops, or that were held and given up" lost_packets_are_told_of_where_a_urr_asks;
        QUOTA_VALIDITY_TIME enforced "nothing passes when it is over; 0: none" quotas_that_are_not_valid_or_not_used_any_more_stop;
        MONITORING_TIME enforced "usage before it is told apart, with the next report; with its URRs counted twice a session has as many as a message tells" usage_is_split_at_the_monitoring_time_and_told_with_the_next_report;
        SUBSEQUENT_VOLUME_THRESHOLD enforced "without it the threshold goes on" thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones;
        SUBSEQUENT_TIME_THRESHOLD enforced "without it the threshold goes on" thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones;
        SUBSEQUENT_VOLUME_QUOTA enforced "without it the quota goes on" thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones;
        SUBSEQUENT_TIME_QUOTA enforced "without it the quota goes on" thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones;
        SUBSEQUENT_EVENT_THRESHOLD refused(73) "";
        SUBSEQUENT_EVENT_QUOTA refused(73) "";
        INACTIVITY_DETECTION_TIME enforced "time stands still after so long without packets; 0: none" time_is_measured_between_packets_that_are_not_too_far_apart;
        LINKED_URR_ID refused(73) "linked usage is not reported";
        MEASUREMENT_INFORMATION enforced "MNOP, INAM, ISTM" inactive_measurement_adds_nothing_and_resumes;
        MEASUREMENT_INFORMATION enforced "MBQE: octets and packets that gates and bit rates drop count, too" what_was_dropped_is_credited_to_urrs_that_measure_before_qos_enforcement;
        TIME_QUOTA_MECHANISM refused(73) "time is measured continuously, not in envelopes";
        AGGREGATED_URRS refused(73) "";
        FAR_ID refused(73) "packets beyond a quota are dropped; QUOAC is not set";
        ETHERNET_INACTIVITY_TIMER ignored "of Ethernet sessions";
        ADDITIONAL_MONITORING_TIME refused(73) "";
        NUMBER_OF_REPORTS ignored "NORP is not set";
        APPLICATION_ID ignored "of a quota's action; QUASF is not set";
        SDF_FILTER ignored "of a quota's action; QUASF is not set";
        USER_PLANE_INACTIVITY_TIMER ignored "that report is not made";
    }
    UpdateUrr "Update URR (7.5.4.4)" {
        URR_ID enforced "" inactive_measurement_adds_nothing_and_resumes;
        MEASUREMENT_METHOD enforced "as in Create URR" inactive_measurement_adds_nothing_and_resumes;
        REPORTING_TRIGGERS enforced "as in Create URR" a_cell_stands_for_each_urr_that_waits_for_octets;
        MEASUREMENT_PERIOD enforced "the first period begins with the message" periods_are_reported_one_after_the_other;
        VOLUME_THRESHOLD enforced "counts from the message on" a_cell_stands_for_each_urr_that_waits_for_octets;
        VOLUME_QUOTA enforced "counts from the message on" a_cell_stands_for_each_urr_that_waits_for_octets;
        TIME_THRESHOLD enforced "counts from the message on" thresholds_and_quotas_of_time_are_told_and_what_is_used_up_stops;
        TIME_QUOTA enforced "counts from the message on" thresholds_and_quotas_of_time_are_told_and_what_is_used_up_stops;
        EVENT_THRESHOLD refused(73) "";
        EVENT_QUOTA refused(73) "";
        QUOTA_HOLDING_TIME enforced "counts from the message on" quotas_that_are_not_valid_or_not_used_any_more_stop;
        DROPPED_DL_TRAFFIC_THRESHOLD enforced "counts from the message on" lost_packets_are_told_of_where_a_urr_asks;
        QUOTA_VALIDITY_TIME enforced "counts from the message on" quotas_that_are_not_valid_or_not_used_any_more_stop;
        MONITORING_TIME enforced "as in Create URR; with its URRs counted twice a session has as many as a message tells" usage_is_split_at_the_monitoring_time_and_told_with_the_next_report;
        SUBSEQUENT_VOLUME_THRESHOLD enforced "without it the threshold goes on" thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones;
        SUBSEQUENT_TIME_THRESHOLD enforced "without it the threshold goes on" thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones;
        SUBSEQUENT_VOLUME_QUOTA enforced "without it the quota goes on" thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones;
        SUBSEQUENT_TIME_QUOTA enforced "without it the quota goes on" thresholds_and_quotas_after_the_monitoring_time_are_the_subsequent_ones;
        SUBSEQUENT_EVENT_THRESHOLD refused(73) "";
        SUBSEQUENT_EVENT_QUOTA refused(73) "";
        INACTIVITY_DETECTION_TIME enforced "as in Create URR" time_is_measured_between_packets_that_are_not_too_far_apart;
        LINKED_URR_ID refused(73) "as in Create URR";
        MEASUREMENT_INFORMATION enforced "" inactive_measurement_adds_nothing_and_resumes;
        TIME_QUOTA_MECHANISM refused(73) "time is measured continuously, not in envelopes";
        AGGREGATED_URRS refused(73) "";
        FAR_ID refused(73) "packets beyond a quota are dropped; QUOAC is not set";
        ETHERNET_INACTIVITY_TIMER ignored "of Ethernet sessions";
        ADDITIONAL_MONITORING_TIME refused(73) "";
        NUMBER_OF_REPORTS ignored "NORP is not set";
        APPLICATION_ID ignored "of a quota's action; QUASF is not set";
        SDF_FILTER ignored "of a quota's action; QUASF is not set";
        USER_PLANE_INACTIVITY_TIMER ignored "that report is not made";
    }
    RemoveUrr "Remove URR (7.5.4.8)" {
        URR_ID enforced "" a_urr_that_goes_or_is_left_by_its_last_pdr_reports_its_end;
    }
    QueryUrr "Query URR (7.5.4.10)" {
        URR_ID enforced "" a_query_takes_usage_and_leaves_the_rules_alone;
        URR_ID refused(73) "unknown" a_modification_is_refused_whole;
    }
    UsageReport "Usage Report (7.5.5.2, 7.5.7.2, 7.5.8.3)" {
        URR_ID sent "" deletion_reports_every_urr_once;
        UR_SEQN sent "counts from 0, without a gap" a_query_takes_usage_and_leaves_the_rules_alone;
        USAGE_REPORT_TRIGGER sent "IMMER, TERMR, PERIO, VOLTH, VOLQU, TIMTH, TIMQU, QUVTI, QUHTI, START, STOPT, DROTH, MONIT, TEBUR" a_urr_that_goes_or_is_left_by_its_last_pdr_reports_its_end;
        START_TIME sent "but where START or STOPT is all that is told" a_report_of_traffic_that_starts_or_stops_has_no_times;
        END_TIME sent "but where START or STOPT is all that is told" a_report_of_traffic_that_starts_or_stops_has_no_times;
        VOLUME_MEASUREMENT sent "packets, too, with MNOP" deletion_reports_every_urr_once;
        DURATION_MEASUREMENT sent "with DURAT" time_is_measured_between_packets_that_are_not_too_far_apart;
        APPLICATION_DETECTION_INFORMATION sent "with START and STOPT of a URR whose PDRs are an application's" the_start_of_an_applications_traffic_names_it;
        UE_IP_ADDRESS unsent "the session has told it";
        NETWORK_INSTANCE unsent "the session has told it";
        TIME_OF_FIRST_PACKET unsent "";
        TIME_OF_LAST_PACKET unsent "";
        USAGE_INFORMATION sent "BEF and AFT of a Monitoring Time; not with MBQE alone, as a URR has usage of one place to tell" no_report_tells_apart_what_was_measured_at_one_place;
        USAGE_INFORMATION sent "each part with its own times" usage_is_split_at_the_monitoring_time_and_told_with_the_next_report;
        QUERY_URR_REFERENCE sent "with what the query asked for" a_query_takes_usage_and_leaves_the_rules_alone;
        TIME_STAMP unsent "events are not measured";
        ETHERNET_TRAFFIC_INFORMATION unsent "of Ethernet sessions";
    }
    ApplicationDetectionInformation "Application Detection Information (Table 7.5.8.3-2)" {
        APPLICATION_ID sent "" the_start_of_an_applications_traffic_names_it;
        APPLICATION_INSTANCE_ID sent "1, of an application that has one flow; not with RADI" the_only_flow_of_an_application_is_told_with_its_start;
        FLOW_INFORMATION sent "the flow description as it was told, with START, of an application that has one; not with RADI" the_only_flow_of_an_application_is_told_with_its_start;
    }
}
