//! Activation of predefined rules (TS 29.244, 5.19, 8.2.72): they match in the place of the PDR, as PDRs of the
//! same identifier that no message names.

use crate::admission::Admission;
use crate::flows::predefined;
use crate::flows::sdf;
use crate::limits::{PDRS, PREDEFINED_OF_PDR};
use crate::network::Network;
use crate::refusal::{self, Refusal, RuleId};
use crate::rules::{Filter, FilterOrigin, Pdr, Qer};
use arrayvec::ArrayVec;
use sluice_wire::ids::{PdrId, QerId};
use sluice_wire::pfcp::value::Text;
use sluice_wire::pfcp::{Cause, IeType};

/// The predefined rules of one PDR.
type Active = ArrayVec<u16, PREDEFINED_OF_PDR>;

const ACTIVATE: IeType = IeType::ACTIVATE_PREDEFINED_RULES;
const DEACTIVATE: IeType = IeType::DEACTIVATE_PREDEFINED_RULES;

impl<N: Network> Admission<'_, N> {
    /// Puts the rules that a PDR activates in its place, anew whatever it changes.
    pub(super) fn activate(
        &mut self,
        id: PdrId,
        on: &[Text<'_>],
        off: &[Text<'_>],
    ) -> Result<(), Refusal> {
        let rule = refusal::pdr(id);
        let mut active = self.active(id);
        if active.is_empty() && on.is_empty() && off.is_empty() {
            return Ok(());
        }
        for name in off {
            let number = self.predefined_of(rule, DEACTIVATE, name)?;
            active.retain(|of| *of != number);
        }
        for name in on {
            let number = self.predefined_of(rule, ACTIVATE, name)?;
            if !active.contains(&number) {
                let full = Refusal::full(Some(rule), Some(ACTIVATE));
                active.try_push(number).map_err(|_| full)?;
            }
        }
        self.remove_predefined(id)?;
        let own = self.draft.pdrs.iter_mut().find(|p| p.id == id);
        let own = own.ok_or(Refusal::identity(rule))?;
        let is_application = matches!(own.filter.origin, FilterOrigin::Application(_));
        let is_own = is_application || own.filter.origin == FilterOrigin::Pdi;
        let has_filters = is_own && own.filter != Filter::ALL;
        if active.is_empty() {
            if !has_filters {
                own.filter = Filter::ALL;
            }
            return Ok(());
        }
        if has_filters {
            // What meets both is no list of filters.
            let ie = if is_application {
                IeType::APPLICATION_ID
            } else {
                IeType::SDF_FILTER
            };
            return Err(Refusal::rule(rule, ie));
        }
        own.filter = Filter::STANDS_BACK;
        let own = *own;
        active
            .iter()
            .try_for_each(|number| self.stand_in(&own, *number))
    }

    /// A predefined rule in the place of a PDR.
    fn stand_in(&mut self, own: &Pdr, number: u16) -> Result<(), Refusal> {
        let rule = refusal::pdr(own.id);
        let full = Refusal::full(Some(rule), Some(ACTIVATE));
        let all = &self.shared.config.predefined;
        let (told, flows) = all.get(number).ok_or(full)?;
        let mut pdr = *own;
        pdr.filter = Filter::ALL;
        if !flows.is_empty() {
            let (filter, needs_run) = sdf::summary(flows, own.is_from_access());
            pdr.filter = filter;
            if needs_run {
                let run = self.resources.filter_run(flows, self.claims);
                pdr.filter.run = run.map_err(|_| full)?;
            }
        }
        pdr.filter.origin = FilterOrigin::Predefined(number);
        if told.needs_qer() && !pdr.qers.push(predefined::qer_id(number).0) {
            return Err(full);
        }
        self.draft.pdrs.try_push(pdr).map_err(|_| full)
    }

    /// The predefined rules of a PDR go.
    pub(super) fn remove_predefined(&mut self, id: PdrId) -> Result<(), Refusal> {
        let is_it = |p: &Pdr| p.id == id && !p.is_own();
        while let Some(at) = self.draft.pdrs.iter().position(is_it) {
            let pdr = self.draft.pdrs.remove(at);
            self.drop_filters(refusal::pdr(id), pdr.filter)?;
        }
        Ok(())
    }

    /// QERs of predefined rules are those that PDRs need, whoever activated them.
    pub fn settle_predefined(&mut self) -> Result<(), Refusal> {
        let pdrs = &self.draft.pdrs;
        let is_needed = |qer: &mut Qer| {
            predefined::of_qer(qer.id).is_none() || pdrs.iter().any(|p| p.qers.contains(qer.id.0))
        };
        self.draft.qers.retain(is_needed);
        for at in 0..self.draft.pdrs.len() {
            let Some(pdr) = self.draft.pdrs.get(at) else {
                continue;
            };
            let FilterOrigin::Predefined(number) = pdr.filter.origin else {
                continue;
            };
            let id = predefined::qer_id(number);
            if !pdr.qers.contains(id.0) || self.draft.qer(id.0).is_some() {
                continue;
            }
            let full = Refusal::full(Some(refusal::pdr(pdr.id)), Some(ACTIVATE));
            let all = &self.shared.config.predefined;
            let (told, _) = all.get(number).ok_or(full)?;
            let qer = Qer {
                id,
                gate: told.gate,
                mbr: told.mbr,
                gbr: None,
                qfi: told.qfi,
                buckets: Default::default(),
                is_new: true,
            };
            self.draft.qers.try_push(qer).map_err(|_| full)?;
        }
        Ok(())
    }

    /// All active rules are what they are by now.
    pub fn renew_predefined(&mut self) -> Result<(), Refusal> {
        let mut with_active: ArrayVec<PdrId, PDRS> = ArrayVec::new();
        // All are found first: those of a PDR go and come anew at the end, and what follows them moves.
        for pdr in self.draft.pdrs.iter().filter(|pdr| !pdr.is_own()) {
            if !with_active.contains(&pdr.id) {
                with_active.push(pdr.id);
            }
        }
        for id in with_active {
            self.activate(id, &[], &[])?;
        }
        let all = &self.shared.config.predefined;
        for qer in &mut self.draft.qers {
            if let Some((told, _)) = predefined::of_qer(qer.id).and_then(|number| all.get(number)) {
                (qer.gate, qer.mbr, qer.qfi) = (told.gate, told.mbr, told.qfi);
            }
        }
        Ok(())
    }

    /// The CP function names no QER of a predefined rule.
    pub(super) fn refuse_qers_of_up_function(rule: RuleId, pdr: &Pdr) -> Result<(), Refusal> {
        let mut qers = pdr.qers.as_slice().iter();
        if qers.any(|id| predefined::of_qer(QerId(*id)).is_some()) {
            Err(Refusal::rule(rule, IeType::QER_ID))
        } else {
            Ok(())
        }
    }

    fn active(&self, id: PdrId) -> Active {
        let all = self.draft.pdrs.iter().filter(|p| p.id == id);
        let numbers = all.filter_map(|p| match p.filter.origin {
            FilterOrigin::Predefined(number) => Some(number),
            _ => None,
        });
        numbers.take(PREDEFINED_OF_PDR).collect()
    }

    fn predefined_of(&self, rule: RuleId, ie: IeType, name: &Text<'_>) -> Result<u16, Refusal> {
        let unknown = Refusal::rule(rule, ie).with(Cause::UNKNOWN_PREDEFINED_RULE);
        self.shared.config.predefined.find(name.0).ok_or(unknown)
    }
}
