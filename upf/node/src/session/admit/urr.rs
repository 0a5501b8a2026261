//! Create, Update and Remove URR (TS 29.244, 7.5.2.4, 7.5.4.4, 7.5.4.8).
//!
//! What is measured is volume. A URR reports when the CP function asks, when it is removed and
//! when the session ends. Thresholds and periods only make reports come earlier; nothing is lost
//! without them, so such a URR is admitted and the operator is told that its triggers do not
//! fire. A quota is different: not enforcing it would give away what was not granted, so a URR
//! with a quota is refused, as is one that measures time alone, or events. Usage is counted after
//! QoS enforcement; a URR that wants it from before (MBQE, which free5GC always sends) is admitted,
//! and its reports say what they are (Usage Information UAE).

use super::first_present;
use crate::network::Network;
use crate::session::meter::{Meter, Told};
use crate::session::refusal::{self, Refusal, RuleId};
use crate::session::rules::Urr;
use crate::session::work::Work;
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::{CreateUrr, RemoveUrr, UpdateUrr};
use sluice_wire::pfcp::value::{Edit, MeasurementMethod, ReportingTriggers};

/// Triggers that belong to quotas.
const QUOTAS: ReportingTriggers = ReportingTriggers(
    ReportingTriggers::VOLQU.0 | ReportingTriggers::TIMQU.0 | ReportingTriggers::EVEQU.0,
);

impl<N: Network> Work<'_, N> {
    /// A new URR.
    pub fn create_urr(&mut self, ie: &CreateUrr<'_>) -> Result<(), Refusal> {
        let rule = refusal::urr(ie.urr_id);
        if self.draft.urr(ie.urr_id.0).is_some() {
            return Err(Refusal::identity(rule));
        }
        first_present(
            rule,
            &[
                (ie.volume_quota.is_some(), IeType::VOLUME_QUOTA),
                (ie.time_quota.is_some(), IeType::TIME_QUOTA),
                (ie.event_quota.is_some(), IeType::EVENT_QUOTA),
            ],
        )?;
        let information = ie.measurement_information.unwrap_or_default();
        self.check_measurement(rule, ie.measurement_method, ie.reporting_triggers)?;
        let told = Told::by(ie.measurement_method, information);
        let meter = Meter::new(ie.urr_id, told, self.wall);
        let full = Refusal::full(Some(rule), Some(IeType::CREATE_URR));
        let urr = Urr {
            id: ie.urr_id,
            method: ie.measurement_method,
            information,
            triggers: ie.reporting_triggers,
            meter: self.ground.meter(meter, self.claims).map_err(|_| full)?,
        };
        self.draft.urrs.try_push(urr).map_err(|_| full)
    }

    /// A changed URR. Its usage goes on.
    pub fn update_urr(&mut self, ie: &UpdateUrr<'_>) -> Result<(), Refusal> {
        let rule = refusal::urr(ie.urr_id);
        let at = self.urr_at(ie.urr_id)?;
        first_present(
            rule,
            &[
                (
                    matches!(ie.volume_quota, Some(Edit::Set(_))),
                    IeType::VOLUME_QUOTA,
                ),
                (
                    matches!(ie.time_quota, Some(Edit::Set(_))),
                    IeType::TIME_QUOTA,
                ),
                (
                    matches!(ie.event_quota, Some(Edit::Set(_))),
                    IeType::EVENT_QUOTA,
                ),
            ],
        )?;
        let Some(mut urr) = self.draft.urrs.get(at).copied() else {
            return Err(Refusal::identity(rule));
        };
        urr.method = ie.measurement_method.unwrap_or(urr.method);
        urr.triggers = ie.reporting_triggers.unwrap_or(urr.triggers);
        if let Some(edit) = &ie.measurement_information {
            urr.information = edit.value().copied().unwrap_or_default();
        }
        self.check_measurement(rule, urr.method, urr.triggers)?;
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

    fn check_measurement(
        &mut self,
        rule: RuleId,
        method: MeasurementMethod,
        triggers: ReportingTriggers,
    ) -> Result<(), Refusal> {
        let events = method.contains(MeasurementMethod::EVENT);
        let volume = method.contains(MeasurementMethod::VOLUM);
        first_present(
            rule,
            &[
                (events || !volume, IeType::MEASUREMENT_METHOD),
                (triggers.intersects(QUOTAS), IeType::REPORTING_TRIGGERS),
            ],
        )?;
        let untimed = method.contains(MeasurementMethod::DURAT);
        self.remarks.unserved_triggers |= untimed || triggers != ReportingTriggers::NONE;
        Ok(())
    }
}
