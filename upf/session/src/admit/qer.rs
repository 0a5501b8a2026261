//! Create, Update and Remove QER (TS 29.244, 7.5.2.5, 7.5.4.5, 7.5.4.9).

use super::first_present;
use crate::admission::Admission;
use crate::flows::predefined;
use crate::network::Network;
use crate::refusal::{self, Refusal, RuleId};
use crate::rules::Qer;
use sluice_wire::ids::QerId;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::{CreateQer, RemoveQer, UpdateQer};
use sluice_wire::pfcp::value::{Edit, QerIndications, Rqi};

impl<N: Network> Admission<'_, N> {
    /// A new QER.
    pub fn create_qer(&mut self, ie: &CreateQer<'_>) -> Result<(), Refusal> {
        let rule = refusal::qer(ie.qer_id);
        let is_ours = predefined::of_qer(ie.qer_id).is_some();
        if is_ours || self.draft.qer(ie.qer_id.0).is_some() {
            return Err(Refusal::identity(rule));
        }
        refuse_unsupported(rule, ie)?;
        let qer = Qer {
            id: ie.qer_id,
            gate: ie.gate_status,
            mbr: ie.maximum_bitrate,
            gbr: ie.guaranteed_bitrate,
            qfi: ie.qos_flow_identifier.map(|q| q.get()),
            buckets: Default::default(),
            is_new: true,
        };
        let full = Refusal::full(Some(rule), Some(IeType::CREATE_QER));
        self.draft.qers.try_push(qer).map_err(|_| full)
    }

    /// A changed QER.
    pub fn update_qer(&mut self, ie: &UpdateQer<'_>) -> Result<(), Refusal> {
        let rule = refusal::qer(ie.qer_id);
        let at = self.qer_at(ie.qer_id)?;
        refuse_unsupported_update(rule, ie)?;
        let Some(qer) = self.draft.qers.get_mut(at) else {
            return Err(Refusal::identity(rule));
        };
        if let Some(gate) = ie.gate_status {
            qer.gate = gate;
        }
        if let Some(edit) = ie.maximum_bitrate {
            edit.apply_to(&mut qer.mbr);
        }
        if let Some(edit) = ie.guaranteed_bitrate {
            edit.apply_to(&mut qer.gbr);
        }
        if let Some(edit) = &ie.qos_flow_identifier {
            qer.qfi = edit.value().map(|q| q.get());
        }
        Ok(())
    }

    /// A QER that goes.
    pub fn remove_qer(&mut self, ie: &RemoveQer) -> Result<(), Refusal> {
        let at = self.qer_at(ie.qer_id)?;
        self.draft.qers.swap_remove(at);
        Ok(())
    }

    fn qer_at(&self, id: QerId) -> Result<usize, Refusal> {
        let mut qers = self.draft.qers.iter();
        let at = qers.position(|q| q.id == id && predefined::of_qer(id).is_none());
        at.ok_or(Refusal::identity(refusal::qer(id)))
    }
}

fn refuse_unsupported(rule: RuleId, ie: &CreateQer<'_>) -> Result<(), Refusal> {
    first_present(
        rule,
        &[
            (ie.qer_correlation_id.is_some(), IeType::QER_CORRELATION_ID),
            (ie.packet_rate.is_some(), IeType::PACKET_RATE),
            (ie.packet_rate_status.is_some(), IeType::PACKET_RATE_STATUS),
            (
                ie.dl_flow_level_marking.is_some(),
                IeType::DL_FLOW_LEVEL_MARKING,
            ),
            (ie.reflective_qos.is_some_and(indicates), IeType::RQI),
            (
                ie.paging_policy_indicator.is_some(),
                IeType::PAGING_POLICY_INDICATOR,
            ),
            (
                ie.qer_indications.is_some_and(inserts),
                IeType::QER_INDICATIONS,
            ),
        ],
    )
}

fn refuse_unsupported_update(rule: RuleId, ie: &UpdateQer<'_>) -> Result<(), Refusal> {
    let rqi = ie.reflective_qos.as_ref().and_then(Edit::value);
    let correlates = matches!(ie.qer_correlation_id, Some(Edit::Set(_)));
    let pages = matches!(ie.paging_policy_indicator, Some(Edit::Set(_)));
    first_present(
        rule,
        &[
            (correlates, IeType::QER_CORRELATION_ID),
            (
                ie.packet_rate.is_some_and(|raw| !raw.is_empty()),
                IeType::PACKET_RATE,
            ),
            (
                ie.dl_flow_level_marking.is_some_and(|raw| !raw.is_empty()),
                IeType::DL_FLOW_LEVEL_MARKING,
            ),
            (rqi.copied().is_some_and(indicates), IeType::RQI),
            (pages, IeType::PAGING_POLICY_INDICATOR),
            (
                ie.qer_indications.is_some_and(inserts),
                IeType::QER_INDICATIONS,
            ),
        ],
    )
}

fn indicates(rqi: Rqi) -> bool {
    rqi.contains(Rqi::RQI)
}

fn inserts(indications: QerIndications) -> bool {
    indications.contains(QerIndications::IQFIS)
}
