//! Rule admission: IEs to rules. QERs, BARs and session sets are admitted here, other kinds in files of their own.
//!
//! Whatever a rule asks that this path cannot do is refused by name; nothing that would change what
//! happens to packets is passed over.

mod far;
pub mod pdr;
pub mod unserved;
mod urr;

use crate::admission::Admission;
use crate::flows::predefined;
use crate::network::Network;
use crate::refusal;
use crate::refusal::{Refusal, RuleId};
use crate::rules::{Bar, Qer};
use crate::session_sets::SetName;
use sluice_n4::AssociationId;
use sluice_wire::ids::{BarId, QerId};
use sluice_wire::limits;
use sluice_wire::limits::{BARS_PER_MESSAGE as BARS, FQ_CSIDS};
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::element::Element;
use sluice_wire::pfcp::group::{CreateBar, CreateQer, RemoveBar, RemoveQer, UpdateBar, UpdateQer};
use sluice_wire::pfcp::ie::Body;
use sluice_wire::pfcp::value::{Edit, FqCsid, NotificationDelay, QerIndications, Rqi};

impl<N: Network> Admission<'_, N> {
    /// All rules that a message creates. What others refer to comes first.
    pub fn create_rules(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        let (fars, qers) = (limits::FARS_PER_MESSAGE, limits::QERS_PER_MESSAGE);
        let (urrs, pdrs) = (limits::URRS_PER_MESSAGE, limits::PDRS_PER_MESSAGE);
        each(body, IeType::CREATE_FAR, fars, |ie| self.create_far(ie))?;
        each(body, IeType::CREATE_QER, qers, |ie| self.create_qer(ie))?;
        each(body, IeType::CREATE_URR, urrs, |ie| self.create_urr(ie))?;
        each(body, IeType::CREATE_BAR, BARS, |ie| self.create_bar(ie))?;
        each(body, IeType::CREATE_PDR, pdrs, |ie| self.create_pdr(ie))
    }

    /// All rules that a message changes.
    pub fn update_rules(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        let (fars, qers) = (limits::FARS_PER_MESSAGE, limits::QERS_PER_MESSAGE);
        let (urrs, pdrs) = (limits::URRS_PER_MESSAGE, limits::PDRS_PER_MESSAGE);
        each(body, IeType::UPDATE_FAR, fars, |ie| self.update_far(ie))?;
        each(body, IeType::UPDATE_QER, qers, |ie| self.update_qer(ie))?;
        each(body, IeType::UPDATE_URR, urrs, |ie| self.update_urr(ie))?;
        let update_bar = IeType::UPDATE_BAR_IN_SESSION_MODIFICATION_REQUEST;
        each(body, update_bar, BARS, |ie| self.update_bar(ie))?;
        each(body, IeType::UPDATE_PDR, pdrs, |ie| self.update_pdr(ie))
    }

    /// All rules that a message removes.
    pub fn remove_rules(&mut self, body: &Body<'_>) -> Result<(), Refusal> {
        let (fars, qers) = (limits::FARS_PER_MESSAGE, limits::QERS_PER_MESSAGE);
        let (urrs, pdrs) = (limits::URRS_PER_MESSAGE, limits::PDRS_PER_MESSAGE);
        each(body, IeType::REMOVE_PDR, pdrs, |ie| self.remove_pdr(ie))?;
        each(body, IeType::REMOVE_FAR, fars, |ie| self.remove_far(ie))?;
        each(body, IeType::REMOVE_QER, qers, |ie| self.remove_qer(ie))?;
        each(body, IeType::REMOVE_BAR, BARS, |ie| self.remove_bar(ie))?;
        each(body, IeType::REMOVE_URR, urrs, |ie| self.remove_urr(ie))
    }
}

/// Decodes the IEs of a type one after the other, so that only one lies in memory at a time.
pub fn each<'a, T: Element<'a>>(
    body: &Body<'a>,
    ie_type: IeType,
    max: usize,
    admit: impl FnMut(&T) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    body.each_group(ie_type, max, admit)
}

/// Refuses the first IE that is there.
fn first_present(rule: RuleId, ies: &[(bool, IeType)]) -> Result<(), Refusal> {
    match ies.iter().find(|(present, _)| *present) {
        Some((_, ie)) => Err(Refusal::rule(rule, *ie)),
        None => Ok(()),
    }
}

impl<N> Admission<'_, N> {
    /// The session belongs to the sets that are told, and no longer to others of the same kind of node (TS 23.007,
    /// 23).
    pub fn take_sets(&mut self, of: AssociationId, body: &Body<'_>) -> Result<(), Refusal> {
        if !body.may_have(IeType::FQ_CSID) {
            return Ok(());
        }
        let (sets, list) = (&mut self.shared.sets, &mut self.draft.sets);
        each(body, IeType::FQ_CSID, FQ_CSIDS, |ie: &FqCsid<'_>| {
            *list = sets.of_other_types(list, ie.node_type);
            Ok(())
        })?;
        each(body, IeType::FQ_CSID, FQ_CSIDS, |ie: &FqCsid<'_>| {
            for name in SetName::all(of, ie) {
                let full = Refusal::full(None, Some(IeType::FQ_CSID));
                if list.is_full() {
                    return Err(full);
                }
                let id = sets.find_or_add(name).ok_or(full)?;
                if !list.contains(&id) {
                    list.push(id);
                }
            }
            Ok(())
        })
    }
}

impl<N: Network> Admission<'_, N> {
    /// A new BAR.
    pub fn create_bar(&mut self, ie: &CreateBar<'_>) -> Result<(), Refusal> {
        let rule = refusal::bar(ie.bar_id);
        if self.draft.bar(ie.bar_id).is_some() {
            return Err(Refusal::identity(rule));
        }
        let delay = ie.downlink_data_notification_delay;
        let bar = Bar {
            id: ie.bar_id,
            delay: delay.map_or(0, |delay| delay.0),
            packets: ie.suggested_buffering_packets_count,
        };
        let full = Refusal::full(Some(rule), Some(IeType::CREATE_BAR));
        self.draft.bars.try_push(bar).map_err(|_| full)
    }

    /// A changed BAR.
    pub fn update_bar(&mut self, ie: &UpdateBar<'_>) -> Result<(), Refusal> {
        let delay = ie.downlink_data_notification_delay;
        if self.set_bar(ie.bar_id, delay, ie.suggested_buffering_packets_count) {
            Ok(())
        } else {
            Err(Refusal::identity(refusal::bar(ie.bar_id)))
        }
    }

    /// A BAR gets what is told; false if there is none.
    pub fn set_bar(
        &mut self,
        id: BarId,
        delay: Option<NotificationDelay>,
        packets: Option<u8>,
    ) -> bool {
        let found = self.draft.bars.iter_mut().find(|bar| bar.id == id);
        let is_there = found.is_some();
        if let Some(bar) = found {
            bar.delay = delay.map_or(bar.delay, |delay| delay.0);
            bar.packets = packets.or(bar.packets);
        }
        is_there
    }

    /// A BAR that goes.
    pub fn remove_bar(&mut self, ie: &RemoveBar) -> Result<(), Refusal> {
        let at = self.draft.bars.iter().position(|bar| bar.id == ie.bar_id);
        let at = at.ok_or(Refusal::identity(refusal::bar(ie.bar_id)))?;
        self.draft.bars.swap_remove(at);
        Ok(())
    }
}

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
