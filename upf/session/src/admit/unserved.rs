//! Reports and timers of a URR that are not served yet: what is refused, and what has no effect.
//!
//! Events, linked URRs, time measured in envelopes, and what happens to packets beyond a quota other than that they
//! stop, are refused always: a session that went on without them would give away what was not granted, or be charged
//! by other reports than its CP function counts on. The reports that are left (a UE's inactivity as a URR's, and the
//! stop of traffic where nothing says when it has stopped) tell nothing of usage; `n4.unserved` says whether a rule
//! that asks for one is admitted, and the operator told once for each association, or refused.

use super::first_present;
use crate::admission::Admission;
use crate::config::Unserved;
use crate::network::Network;
use crate::refusal::{Refusal, RuleId};
use crate::rules::Urr;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::{CreateUrr, UpdateUrr};
use sluice_wire::pfcp::value::{Edit, MeasurementMethod, ReportingTriggers};

/// Triggers of events and of linked URRs.
const REFUSED: ReportingTriggers = ReportingTriggers(
    ReportingTriggers::EVEQU.0 | ReportingTriggers::EVETH.0 | ReportingTriggers::LIUSA.0,
);

/// What is measured.
const MEASURED: MeasurementMethod =
    MeasurementMethod(MeasurementMethod::VOLUM.0 | MeasurementMethod::DURAT.0);

/// Triggers whose reports are made.
const SERVED: ReportingTriggers = ReportingTriggers(
    ReportingTriggers::PERIO.0
        | ReportingTriggers::VOLTH.0
        | ReportingTriggers::VOLQU.0
        | ReportingTriggers::START.0
        | ReportingTriggers::DROTH.0
        | ReportingTriggers::TIMTH.0
        | ReportingTriggers::TIMQU.0
        | ReportingTriggers::QUVTI.0
        | ReportingTriggers::QUHTI.0,
);

impl<N: Network> Admission<'_, N> {
    /// Looks at a new URR.
    pub(super) fn check_created(
        &mut self,
        rule: RuleId,
        ie: &CreateUrr<'_>,
    ) -> Result<(), Refusal> {
        first_present(
            rule,
            &[
                (!ie.linked_urr_id.is_empty(), IeType::LINKED_URR_ID),
                (
                    ie.time_quota_mechanism.is_some(),
                    IeType::TIME_QUOTA_MECHANISM,
                ),
                (ie.event_threshold.is_some(), IeType::EVENT_THRESHOLD),
                (
                    ie.subsequent_event_threshold.is_some(),
                    IeType::SUBSEQUENT_EVENT_THRESHOLD,
                ),
                (ie.event_quota.is_some(), IeType::EVENT_QUOTA),
                (
                    ie.subsequent_event_quota.is_some(),
                    IeType::SUBSEQUENT_EVENT_QUOTA,
                ),
                (ie.far_id_for_quota_action.is_some(), IeType::FAR_ID),
                (!ie.aggregated_urrs.is_empty(), IeType::AGGREGATED_URRS),
                (
                    !ie.additional_monitoring_time.is_empty(),
                    IeType::ADDITIONAL_MONITORING_TIME,
                ),
            ],
        )?;
        let detects_stop = ie.inactivity_detection_time.is_some_and(|time| time.0 > 0);
        self.check_measurement(
            rule,
            ie.measurement_method,
            ie.reporting_triggers,
            detects_stop,
        )?;
        let without_effect = [(
            ie.user_plane_inactivity_timer.is_some(),
            IeType::USER_PLANE_INACTIVITY_TIMER,
        )];
        self.without_effect(rule, &without_effect)
    }

    /// Looks at a change of a URR, and what it is then.
    pub(super) fn check_updated(
        &mut self,
        rule: RuleId,
        ie: &UpdateUrr<'_>,
        urr: &Urr,
    ) -> Result<(), Refusal> {
        first_present(
            rule,
            &[
                (
                    ie.linked_urr_id.iter().any(|id| id.value().is_some()),
                    IeType::LINKED_URR_ID,
                ),
                (
                    ie.time_quota_mechanism.is_some_and(|raw| !raw.is_empty()),
                    IeType::TIME_QUOTA_MECHANISM,
                ),
                (sets(&ie.event_threshold), IeType::EVENT_THRESHOLD),
                (
                    sets(&ie.subsequent_event_threshold),
                    IeType::SUBSEQUENT_EVENT_THRESHOLD,
                ),
                (sets(&ie.event_quota), IeType::EVENT_QUOTA),
                (
                    sets(&ie.subsequent_event_quota),
                    IeType::SUBSEQUENT_EVENT_QUOTA,
                ),
                (sets(&ie.far_id_for_quota_action), IeType::FAR_ID),
                (
                    ie.aggregated_urrs.iter().any(|urrs| !urrs.is_empty()),
                    IeType::AGGREGATED_URRS,
                ),
                (
                    ie.additional_monitoring_time
                        .iter()
                        .any(|times| !times.is_empty()),
                    IeType::ADDITIONAL_MONITORING_TIME,
                ),
            ],
        )?;
        let detects_stop = urr.times.inactivity_s.is_some();
        self.check_measurement(rule, urr.method, urr.triggers, detects_stop)?;
        let without_effect = [(
            sets(&ie.user_plane_inactivity_timer),
            IeType::USER_PLANE_INACTIVITY_TIMER,
        )];
        self.without_effect(rule, &without_effect)
    }

    fn check_measurement(
        &mut self,
        rule: RuleId,
        method: MeasurementMethod,
        triggers: ReportingTriggers,
        detects_stop: bool,
    ) -> Result<(), Refusal> {
        let events = method.contains(MeasurementMethod::EVENT);
        let nothing = !method.intersects(MEASURED);
        first_present(
            rule,
            &[
                (events || nothing, IeType::MEASUREMENT_METHOD),
                (triggers.intersects(REFUSED), IeType::REPORTING_TRIGGERS),
            ],
        )?;
        // Without an inactivity detection time nothing says when traffic has stopped.
        let served = if detects_stop {
            SERVED | ReportingTriggers::STOPT
        } else {
            SERVED
        };
        self.without_effect(
            rule,
            &[(!served.contains(triggers), IeType::REPORTING_TRIGGERS)],
        )
    }

    /// What is asked for and not served: refused or remarked on, as `n4.unserved` says.
    fn without_effect(&mut self, rule: RuleId, asked: &[(bool, IeType)]) -> Result<(), Refusal> {
        if self.policy.unserved == Unserved::Refuse {
            return first_present(rule, asked);
        }
        self.record.remarks.unserved_triggers |= asked.iter().any(|(is_there, _)| *is_there);
        Ok(())
    }
}

fn sets<T>(edit: &Option<Edit<T>>) -> bool {
    matches!(edit, Some(Edit::Set(_)))
}
