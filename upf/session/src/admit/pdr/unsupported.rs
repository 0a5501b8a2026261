//! Refusal of unsupported PDR features, by name.

use crate::admit::first_present;
use crate::refusal::{Refusal, RuleId};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::{CreatePdr, Pdi, UpdatePdr};
use sluice_wire::pfcp::value::Edit;

pub(super) fn refuse_unsupported(rule: RuleId, ie: &CreatePdr<'_>) -> Result<(), Refusal> {
    first_present(
        rule,
        &[
            (ie.mar_id.is_some(), IeType::MAR_ID),
            (ie.activation_time.is_some(), IeType::ACTIVATION_TIME),
            (ie.deactivation_time.is_some(), IeType::DEACTIVATION_TIME),
            (
                ie.packet_replication_and_detection_carry_on_information
                    .is_some(),
                IeType::PACKET_REPLICATION_AND_DETECTION_CARRY_ON_INFORMATION,
            ),
        ],
    )
}

pub(super) fn refuse_unsupported_update(rule: RuleId, ie: &UpdatePdr<'_>) -> Result<(), Refusal> {
    let sets = |edit: &Option<Edit<_>>| matches!(edit, Some(Edit::Set(_)));
    first_present(
        rule,
        &[
            (sets(&ie.activation_time), IeType::ACTIVATION_TIME),
            (sets(&ie.deactivation_time), IeType::DEACTIVATION_TIME),
        ],
    )
}

pub(super) fn refuse_unsupported_pdi(rule: RuleId, pdi: &Pdi<'_>) -> Result<(), Refusal> {
    first_present(
        rule,
        &[
            (
                !pdi.traffic_endpoint_id.is_empty(),
                IeType::TRAFFIC_ENDPOINT_ID,
            ),
            (
                pdi.ethernet_pdu_session_information.is_some(),
                IeType::ETHERNET_PDU_SESSION_INFORMATION,
            ),
            (
                !pdi.ethernet_packet_filter.is_empty(),
                IeType::ETHERNET_PACKET_FILTER,
            ),
        ],
    )
}
