//! Usage Reporting Rules.

use crate::ids::{FarId, UrrId};
use crate::limits;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    DroppedDlTrafficThreshold, Edit, MeasurementInformation, MeasurementMethod, NtpTime, Raw,
    ReportingTriggers, SdfFilter, Seconds, Text, Volume,
};

ie_table! {
    /// Create URR (7.5.2.4, Table 7.5.2.4-1).
    pub struct CreateUrr<'a> {
        /// The rule.
        required urr_id: UrrId = URR_ID,
        /// What is measured.
        required measurement_method: MeasurementMethod = MEASUREMENT_METHOD,
        /// When a report is made.
        required reporting_triggers: ReportingTriggers = REPORTING_TRIGGERS,
        /// The time between periodic reports.
        optional measurement_period: Seconds = MEASUREMENT_PERIOD,
        /// The volume after which a report is made.
        optional volume_threshold: Volume = VOLUME_THRESHOLD,
        /// The volume that may pass.
        optional volume_quota: Volume = VOLUME_QUOTA,
        /// The number of events after which a report is made.
        optional event_threshold: u32 = EVENT_THRESHOLD,
        /// The number of events that may happen.
        optional event_quota: u32 = EVENT_QUOTA,
        /// The time of use after which a report is made.
        optional time_threshold: Seconds = TIME_THRESHOLD,
        /// The time of use that is granted.
        optional time_quota: Seconds = TIME_QUOTA,
        /// The idle time after which the quota is given back.
        optional quota_holding_time: Seconds = QUOTA_HOLDING_TIME,
        /// The dropped downlink traffic after which a report is made.
        optional dropped_dl_traffic_threshold: DroppedDlTrafficThreshold =
            DROPPED_DL_TRAFFIC_THRESHOLD,
        /// How long the quota is valid.
        optional quota_validity_time: Seconds = QUOTA_VALIDITY_TIME,
        /// When thresholds and quotas change to the subsequent ones.
        optional monitoring_time: NtpTime = MONITORING_TIME,
        /// Volume threshold after the monitoring time.
        optional subsequent_volume_threshold: Volume = SUBSEQUENT_VOLUME_THRESHOLD,
        /// Time threshold after the monitoring time.
        optional subsequent_time_threshold: Seconds = SUBSEQUENT_TIME_THRESHOLD,
        /// Volume quota after the monitoring time.
        optional subsequent_volume_quota: Volume = SUBSEQUENT_VOLUME_QUOTA,
        /// Time quota after the monitoring time.
        optional subsequent_time_quota: Seconds = SUBSEQUENT_TIME_QUOTA,
        /// Event threshold after the monitoring time.
        optional subsequent_event_threshold: u32 = SUBSEQUENT_EVENT_THRESHOLD,
        /// Event quota after the monitoring time.
        optional subsequent_event_quota: u32 = SUBSEQUENT_EVENT_QUOTA,
        /// The idle time after which time of use stops.
        optional inactivity_detection_time: Seconds = INACTIVITY_DETECTION_TIME,
        /// URRs whose report makes this one report too.
        list[limits::LINKED_URRS_PER_URR] linked_urr_id: UrrId = LINKED_URR_ID,
        /// How it is measured.
        optional measurement_information: MeasurementInformation = MEASUREMENT_INFORMATION,
        /// Time Quota Mechanism, uninterpreted.
        optional time_quota_mechanism: Raw<'a> = TIME_QUOTA_MECHANISM,
        /// Aggregated URRs, uninterpreted.
        list[limits::REPEATED_PER_URR] aggregated_urrs: Raw<'a> = AGGREGATED_URRS,
        /// The FAR that applies when the quota is used up.
        optional far_id_for_quota_action: FarId = FAR_ID,
        /// The idle time after which a MAC address is reported as removed.
        optional ethernet_inactivity_timer: Seconds = ETHERNET_INACTIVITY_TIMER,
        /// Additional Monitoring Times, uninterpreted.
        list[limits::REPEATED_PER_URR] additional_monitoring_time: Raw<'a> =
            ADDITIONAL_MONITORING_TIME,
        /// How many reports are made at most.
        optional number_of_reports: u16 = NUMBER_OF_REPORTS,
        /// Applications that the quota action spares.
        list[limits::REPEATED_PER_URR] exempted_application_id_for_quota_action: Text<'a> =
            APPLICATION_ID,
        /// Flows that the quota action spares.
        list[limits::REPEATED_PER_URR] exempted_sdf_filter_for_quota_action: SdfFilter<'a> =
            SDF_FILTER,
        /// The idle time after which a report is made.
        optional user_plane_inactivity_timer: Seconds = USER_PLANE_INACTIVITY_TIMER,
    }
}

ie_table! {
    /// Update URR (7.5.4.4); a parameter of null length is removed (5.6.3).
    pub struct UpdateUrr<'a> {
        /// The rule.
        required urr_id: UrrId = URR_ID,
        /// What is measured.
        optional measurement_method: MeasurementMethod = MEASUREMENT_METHOD,
        /// When a report is made.
        optional reporting_triggers: ReportingTriggers = REPORTING_TRIGGERS,
        /// The time between periodic reports.
        optional measurement_period: Edit<Seconds> = MEASUREMENT_PERIOD,
        /// The volume after which a report is made.
        optional volume_threshold: Edit<Volume> = VOLUME_THRESHOLD,
        /// The volume that may pass.
        optional volume_quota: Edit<Volume> = VOLUME_QUOTA,
        /// The time of use after which a report is made.
        optional time_threshold: Edit<Seconds> = TIME_THRESHOLD,
        /// The time of use that is granted.
        optional time_quota: Edit<Seconds> = TIME_QUOTA,
        /// The number of events after which a report is made.
        optional event_threshold: Edit<u32> = EVENT_THRESHOLD,
        /// The number of events that may happen.
        optional event_quota: Edit<u32> = EVENT_QUOTA,
        /// The idle time after which the quota is given back.
        optional quota_holding_time: Edit<Seconds> = QUOTA_HOLDING_TIME,
        /// The dropped downlink traffic after which a report is made.
        optional dropped_dl_traffic_threshold: Edit<DroppedDlTrafficThreshold> =
            DROPPED_DL_TRAFFIC_THRESHOLD,
        /// How long the quota is valid.
        optional quota_validity_time: Edit<Seconds> = QUOTA_VALIDITY_TIME,
        /// When thresholds and quotas change to the subsequent ones.
        optional monitoring_time: Edit<NtpTime> = MONITORING_TIME,
        /// Volume threshold after the monitoring time.
        optional subsequent_volume_threshold: Edit<Volume> = SUBSEQUENT_VOLUME_THRESHOLD,
        /// Time threshold after the monitoring time.
        optional subsequent_time_threshold: Edit<Seconds> = SUBSEQUENT_TIME_THRESHOLD,
        /// Volume quota after the monitoring time.
        optional subsequent_volume_quota: Edit<Volume> = SUBSEQUENT_VOLUME_QUOTA,
        /// Time quota after the monitoring time.
        optional subsequent_time_quota: Edit<Seconds> = SUBSEQUENT_TIME_QUOTA,
        /// Event threshold after the monitoring time.
        optional subsequent_event_threshold: Edit<u32> = SUBSEQUENT_EVENT_THRESHOLD,
        /// Event quota after the monitoring time.
        optional subsequent_event_quota: Edit<u32> = SUBSEQUENT_EVENT_QUOTA,
        /// The idle time after which time of use stops.
        optional inactivity_detection_time: Edit<Seconds> = INACTIVITY_DETECTION_TIME,
        /// URRs whose report makes this one report too; of null length: none.
        list[limits::LINKED_URRS_PER_URR] linked_urr_id: Edit<UrrId> = LINKED_URR_ID,
        /// How it is measured.
        optional measurement_information: Edit<MeasurementInformation> = MEASUREMENT_INFORMATION,
        /// Time Quota Mechanism, uninterpreted; empty if removed.
        optional time_quota_mechanism: Raw<'a> = TIME_QUOTA_MECHANISM,
        /// Aggregated URRs, uninterpreted; empty if removed.
        list[limits::REPEATED_PER_URR] aggregated_urrs: Raw<'a> = AGGREGATED_URRS,
        /// The FAR that applies when the quota is used up.
        optional far_id_for_quota_action: Edit<FarId> = FAR_ID,
        /// The idle time after which a MAC address is reported as removed.
        optional ethernet_inactivity_timer: Edit<Seconds> = ETHERNET_INACTIVITY_TIMER,
        /// Additional Monitoring Times, uninterpreted; empty if removed.
        list[limits::REPEATED_PER_URR] additional_monitoring_time: Raw<'a> =
            ADDITIONAL_MONITORING_TIME,
        /// How many reports are made at most.
        optional number_of_reports: Edit<u16> = NUMBER_OF_REPORTS,
        /// Applications that the quota action spares.
        list[limits::REPEATED_PER_URR] exempted_application_id_for_quota_action: Edit<Text<'a>> =
            APPLICATION_ID,
        /// Flows that the quota action spares.
        list[limits::REPEATED_PER_URR] exempted_sdf_filter_for_quota_action: Edit<SdfFilter<'a>> =
            SDF_FILTER,
        /// The idle time after which a report is made.
        optional user_plane_inactivity_timer: Edit<Seconds> = USER_PLANE_INACTIVITY_TIMER,
    }
}

ie_table! {
    /// Remove URR (7.5.4.8).
    pub struct RemoveUrr {
        /// The rule.
        required urr_id: UrrId = URR_ID,
    }
}

ie_table! {
    /// Query URR (7.5.4.10).
    pub struct QueryUrr {
        /// The rule whose usage is asked for.
        required urr_id: UrrId = URR_ID,
    }
}
