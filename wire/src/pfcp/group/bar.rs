//! Buffering Action Rules.

use crate::ids::BarId;
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{DlBufferingSuggestedPacketCount, NotificationDelay, Raw, Timer};

ie_table! {
    /// Create BAR (7.5.2.6).
    pub struct CreateBar<'a> {
        /// The rule.
        required bar_id: BarId = BAR_ID,
        /// How long the CP function is not told of the first packet.
        optional downlink_data_notification_delay: NotificationDelay =
            DOWNLINK_DATA_NOTIFICATION_DELAY,
        /// How many packets are to be buffered.
        optional suggested_buffering_packets_count: u8 = SUGGESTED_BUFFERING_PACKETS_COUNT,
        /// MT-EDT Control Information, uninterpreted.
        optional mt_edt_control_information: Raw<'a> = MT_EDT_CONTROL_INFORMATION,
    }
}

ie_table! {
    /// Update BAR in a Session Modification Request (7.5.4.11).
    pub struct UpdateBar<'a> {
        /// The rule.
        required bar_id: BarId = BAR_ID,
        /// How long the CP function is not told of the first packet.
        optional downlink_data_notification_delay: NotificationDelay =
            DOWNLINK_DATA_NOTIFICATION_DELAY,
        /// How many packets are to be buffered.
        optional suggested_buffering_packets_count: u8 = SUGGESTED_BUFFERING_PACKETS_COUNT,
        /// MT-EDT Control Information, uninterpreted.
        optional mt_edt_control_information: Raw<'a> = MT_EDT_CONTROL_INFORMATION,
    }
}

ie_table! {
    /// Update BAR in a Session Report Response (7.5.9.2).
    pub struct UpdateBarInSessionReportResponse {
        /// The rule.
        required bar_id: BarId = BAR_ID,
        /// How long the CP function is not told of the first packet.
        optional downlink_data_notification_delay: NotificationDelay =
            DOWNLINK_DATA_NOTIFICATION_DELAY,
        /// How long packets are to be buffered without a further notification.
        optional dl_buffering_duration: Timer = DL_BUFFERING_DURATION,
        /// How many packets are to be buffered meanwhile.
        optional dl_buffering_suggested_packet_count: DlBufferingSuggestedPacketCount =
            DL_BUFFERING_SUGGESTED_PACKET_COUNT,
        /// How many packets are to be buffered.
        optional suggested_buffering_packets_count: u8 = SUGGESTED_BUFFERING_PACKETS_COUNT,
    }
}

ie_table! {
    /// Remove BAR (7.5.4.12).
    pub struct RemoveBar {
        /// The rule.
        required bar_id: BarId = BAR_ID,
    }
}
