//! Usage Report.

use crate::ids::UrrId;
use crate::limits;
use crate::pfcp::group::ApplicationDetectionInformation;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    Name, NtpTime, Raw, Seconds, UeIpAddress, UsageInformation, UsageReportTrigger,
    VolumeMeasurement,
};

ie_table! {
    /// Usage Report in a Session Modification Response (7.5.5.2), a Session Deletion Response
    /// (7.5.7.2) or a Session Report Request (7.5.8.3): three IE types with these contents.
    pub struct UsageReport<'a> {
        /// The rule that measured.
        required urr_id: UrrId = URR_ID,
        /// Counts the reports of a rule from 0.
        required ur_seqn: u32 = UR_SEQN,
        /// Why the report was made.
        required usage_report_trigger: UsageReportTrigger = USAGE_REPORT_TRIGGER,
        /// When the measurement began.
        optional start_time: NtpTime = START_TIME,
        /// When the measurement ended.
        optional end_time: NtpTime = END_TIME,
        /// The volume used.
        optional volume_measurement: VolumeMeasurement = VOLUME_MEASUREMENT,
        /// The time used.
        optional duration_measurement: Seconds = DURATION_MEASUREMENT,
        /// The application whose traffic starts or stops.
        optional application_detection_information: ApplicationDetectionInformation<'a> =
            APPLICATION_DETECTION_INFORMATION,
        /// The UE address of the detected traffic.
        optional ue_ip_address: UeIpAddress = UE_IP_ADDRESS,
        /// The network instance of the detected traffic.
        optional network_instance: Name<'a> = NETWORK_INSTANCE,
        /// When the first packet came.
        optional time_of_first_packet: NtpTime = TIME_OF_FIRST_PACKET,
        /// When the last packet came.
        optional time_of_last_packet: NtpTime = TIME_OF_LAST_PACKET,
        /// Before or after the monitoring time or QoS enforcement.
        optional usage_information: UsageInformation = USAGE_INFORMATION,
        /// Which query this answers.
        optional query_urr_reference: u32 = QUERY_URR_REFERENCE,
        /// When the events happened.
        list[limits::RAW_REPEATED] event_time_stamp: NtpTime = TIME_STAMP,
        /// Ethernet Traffic Information, uninterpreted.
        optional ethernet_traffic_information: Raw<'a> = ETHERNET_TRAFFIC_INFORMATION,
    }
}
