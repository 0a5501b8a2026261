//! QoS Enforcement Rules.

use crate::ids::{QerId, Qfi};
use crate::pfcp::table::ie_table;
use crate::pfcp::value::{
    BitRate, Edit, GateStatus, Milliseconds, PagingPolicyIndicator, QerControlIndications,
    QerIndications, Raw, Rqi,
};

ie_table! {
    /// Create QER (7.5.2.5).
    pub struct CreateQer<'a> {
        /// The rule.
        required qer_id: QerId = QER_ID,
        /// Ties QERs of several sessions of a UE together.
        optional qer_correlation_id: u32 = QER_CORRELATION_ID,
        /// Whether packets pass.
        required gate_status: GateStatus = GATE_STATUS,
        /// The bit rate that must not be exceeded.
        optional maximum_bitrate: BitRate = MBR,
        /// The bit rate that is guaranteed.
        optional guaranteed_bitrate: BitRate = GBR,
        /// Packet Rate, uninterpreted.
        optional packet_rate: Raw<'a> = PACKET_RATE,
        /// Packet Rate Status, uninterpreted.
        optional packet_rate_status: Raw<'a> = PACKET_RATE_STATUS,
        /// DL Flow Level Marking, uninterpreted.
        optional dl_flow_level_marking: Raw<'a> = DL_FLOW_LEVEL_MARKING,
        /// The QoS flow with which packets are marked.
        optional qos_flow_identifier: Qfi = QFI,
        /// Whether reflective QoS is indicated.
        optional reflective_qos: Rqi = RQI,
        /// The paging policy with which packets are marked.
        optional paging_policy_indicator: PagingPolicyIndicator = PAGING_POLICY_INDICATOR,
        /// The window over which guaranteed rates are averaged.
        optional averaging_window: Milliseconds = AVERAGING_WINDOW,
        /// Control of packet rates.
        optional qer_control_indications: QerControlIndications = QER_CONTROL_INDICATIONS,
        /// Further indications.
        optional qer_indications: QerIndications = QER_INDICATIONS,
    }
}

ie_table! {
    /// Update QER (7.5.4.5).
    pub struct UpdateQer<'a> {
        /// The rule.
        required qer_id: QerId = QER_ID,
        /// Ties QERs of several sessions of a UE together.
        optional qer_correlation_id: Edit<u32> = QER_CORRELATION_ID,
        /// Whether packets pass.
        optional gate_status: GateStatus = GATE_STATUS,
        /// The bit rate that must not be exceeded.
        optional maximum_bitrate: Edit<BitRate> = MBR,
        /// The bit rate that is guaranteed.
        optional guaranteed_bitrate: Edit<BitRate> = GBR,
        /// Packet Rate, uninterpreted.
        optional packet_rate: Raw<'a> = PACKET_RATE,
        /// DL Flow Level Marking, uninterpreted.
        optional dl_flow_level_marking: Raw<'a> = DL_FLOW_LEVEL_MARKING,
        /// The QoS flow with which packets are marked.
        optional qos_flow_identifier: Edit<Qfi> = QFI,
        /// Whether reflective QoS is indicated.
        optional reflective_qos: Edit<Rqi> = RQI,
        /// The paging policy with which packets are marked.
        optional paging_policy_indicator: Edit<PagingPolicyIndicator> = PAGING_POLICY_INDICATOR,
        /// The window over which guaranteed rates are averaged.
        optional averaging_window: Edit<Milliseconds> = AVERAGING_WINDOW,
        /// Control of packet rates.
        optional qer_control_indications: QerControlIndications = QER_CONTROL_INDICATIONS,
        /// Further indications.
        optional qer_indications: QerIndications = QER_INDICATIONS,
    }
}

ie_table! {
    /// Remove QER (7.5.4.9).
    pub struct RemoveQer {
        /// The rule.
        required qer_id: QerId = QER_ID,
    }
}
