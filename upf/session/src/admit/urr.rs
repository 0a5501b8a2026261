//! Create, Update and Remove URR (TS 29.244, 7.5.2.4, 7.5.4.4, 7.5.4.8).
//!
//! What is measured is volume. A URR reports when the CP function asks, when it is removed and
//! when the session ends; what it asks for beyond is dealt with in `unserved`. Usage is counted after
//! QoS enforcement; a URR that wants it from before (MBQE, which free5GC always sends) is admitted,
//! and its reports say what they are (Usage Information UAE).

use crate::admission::Admission;
use crate::meter::{Meter, ReportContent};
use crate::network::Network;
use crate::refusal::{self, Refusal};
use crate::rules::{Renewed, Urr};
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::{CreateUrr, RemoveUrr, UpdateUrr};

impl<N: Network> Admission<'_, N> {
    /// A new URR.
    pub fn create_urr(&mut self, ie: &CreateUrr<'_>) -> Result<(), Refusal> {
        let rule = refusal::urr(ie.urr_id);
        if self.draft.urr(ie.urr_id.0).is_some() {
            return Err(Refusal::identity(rule));
        }
        self.check_created(rule, ie)?;
        let information = ie.measurement_information.unwrap_or_default();
        let full = Refusal::full(Some(rule), Some(IeType::CREATE_URR));
        let mut urr = Urr {
            id: ie.urr_id,
            method: ie.measurement_method,
            information,
            triggers: ie.reporting_triggers,
            threshold: ie.volume_threshold,
            quota: ie.volume_quota,
            period_s: ie.measurement_period.map_or(0, |period| period.0),
            cell: 0,
            renewed: Renewed::ALL,
            meter: 0,
        };
        let meter = Meter::new(ie.urr_id, ReportContent::of(&urr), self.wall);
        urr.meter = self.resources.meter(meter, self.claims).map_err(|_| full)?;
        self.draft.urrs.try_push(urr).map_err(|_| full)
    }

    /// A changed URR. Its usage goes on.
    pub fn update_urr(&mut self, ie: &UpdateUrr<'_>) -> Result<(), Refusal> {
        let rule = refusal::urr(ie.urr_id);
        let at = self.urr_at(ie.urr_id)?;
        let Some(mut urr) = self.draft.urrs.get(at).copied() else {
            return Err(Refusal::identity(rule));
        };
        let before = urr;
        urr.method = ie.measurement_method.unwrap_or(urr.method);
        urr.triggers = ie.reporting_triggers.unwrap_or(urr.triggers);
        if let Some(edit) = ie.volume_threshold {
            edit.apply_to(&mut urr.threshold);
        }
        if let Some(edit) = ie.volume_quota {
            edit.apply_to(&mut urr.quota);
        }
        if let Some(edit) = &ie.measurement_period {
            urr.period_s = edit.value().map_or(0, |period| period.0);
        }
        if let Some(edit) = &ie.measurement_information {
            urr.information = edit.value().copied().unwrap_or_default();
        }
        urr.renewed = Renewed {
            period: urr.period_s() != before.period_s(),
            threshold: ie.volume_threshold.is_some() || urr.thresholds() != before.thresholds(),
            quota: ie.volume_quota.is_some(),
            start: urr.awaits_start() != before.awaits_start(),
        };
        self.check_updated(rule, ie, urr.method, urr.triggers)?;
        if let Some(place) = self.draft.urrs.get_mut(at) {
            *place = urr;
        }
        Ok(())
    }

    /// A URR that goes; its last usage is reported.
    pub fn remove_urr(&mut self, ie: &RemoveUrr) -> Result<(), Refusal> {
        let at = self.urr_at(ie.urr_id)?;
        self.draft.urrs.swap_remove(at);
        Ok(())
    }

    fn urr_at(&self, id: UrrId) -> Result<usize, Refusal> {
        let at = self.draft.urrs.iter().position(|u| u.id == id);
        at.ok_or(Refusal::identity(refusal::urr(id)))
    }
}
