//! Create, Update and Remove URR (TS 29.244, 7.5.2.4, 7.5.4.4, 7.5.4.8).
//!
//! What is measured is volume and time; what a URR asks for beyond is dealt with in `unserved`. What gates and
//! bit rates drop counts for URRs that measure before QoS enforcement (MBQE, which free5GC always sends).

use crate::admission::Admission;
use crate::limits::URRS;
use crate::network::Network;
use crate::refusal::{self, Refusal, RuleId};
use crate::rules::{Monitoring, MonitoringTime, Renewed, Urr, UrrTimes};
use crate::usage::meter::{Meter, ReportContent};
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::group::{CreateUrr, RemoveUrr, UpdateUrr};
use sluice_wire::pfcp::value::{Edit, NtpTime, Seconds};

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
        let times = UrrTimes {
            threshold_s: ie.time_threshold.map(|time| time.0),
            quota_s: ie.time_quota.map(|time| time.0),
            validity_s: some(ie.quota_validity_time),
            holding_s: some(ie.quota_holding_time),
            inactivity_s: some(ie.inactivity_detection_time),
        };
        let mut urr = Urr {
            method: ie.measurement_method,
            information,
            triggers: ie.reporting_triggers,
            threshold: ie.volume_threshold,
            quota: ie.volume_quota,
            lost: ie.dropped_dl_traffic_threshold,
            period_s: ie.measurement_period.map_or(0, |period| period.0),
            times,
            monitoring: Monitoring {
                time: ie
                    .monitoring_time
                    .map_or(MonitoringTime::None, |time| self.monitored(time)),
                threshold: ie.subsequent_volume_threshold,
                quota: ie.subsequent_volume_quota,
                threshold_s: ie.subsequent_time_threshold.map(|time| time.0),
                quota_s: ie.subsequent_time_quota.map(|time| time.0),
            },
            ..Urr::new(ie.urr_id)
        };
        let meter = Meter::new(ie.urr_id, ReportContent::of(&urr), self.at.wall);
        urr.meter = self.resources.meter(meter, self.claims).map_err(|_| full)?;
        self.draft.urrs.try_push(urr).map_err(|_| full)?;
        self.check_reports(rule)
    }

    /// One with a Monitoring Time, which may be told in two reports, counts as two: all that a session has to tell must find room in the
    /// message that ends it.
    fn check_reports(&self, rule: RuleId) -> Result<(), Refusal> {
        let monitored = self.draft.urrs.iter().filter(|urr| urr.is_monitored());
        if self.draft.urrs.len() + monitored.count() > URRS {
            Err(Refusal::full(Some(rule), Some(IeType::MONITORING_TIME)))
        } else {
            Ok(())
        }
    }

    /// A time of the calendar as monotonic seconds. One that is past is now.
    fn monitored(&self, time: NtpTime) -> MonitoringTime {
        // The nearer of the two: NTP's seconds begin anew in 2036 (RFC 5905, 6).
        let ahead_s = time.0.wrapping_sub(self.at.wall.0) as i32;
        MonitoringTime::At(self.at.seconds().saturating_add(ahead_s.max(0) as u32))
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
        if let Some(edit) = ie.dropped_dl_traffic_threshold {
            edit.apply_to(&mut urr.lost);
        }
        if let Some(edit) = &ie.measurement_period {
            urr.period_s = edit.value().map_or(0, |period| period.0);
        }
        update_times(&mut urr.times, ie);
        self.update_monitoring(&mut urr.monitoring, ie);
        if let Some(edit) = &ie.measurement_information {
            urr.information = edit.value().copied().unwrap_or_default();
        }
        let renewed = Renewed {
            period: urr.period_s() != before.period_s(),
            threshold: ie.volume_threshold.is_some() || urr.thresholds() != before.thresholds(),
            quota: ie.volume_quota.is_some(),
            lost: ie.dropped_dl_traffic_threshold.is_some()
                || urr.lost_rests() != before.lost_rests(),
            start: urr.awaits_start() != before.awaits_start(),
            time_threshold: ie.time_threshold.is_some(),
            time_quota: ie.time_quota.is_some(),
            grant: [
                ie.volume_quota.is_some(),
                ie.time_quota.is_some(),
                ie.quota_validity_time.is_some(),
                ie.quota_holding_time.is_some(),
            ]
            .contains(&true),
        };
        // The message may have created it.
        urr.renewed = before.renewed.or(renewed);
        self.check_updated(rule, ie, &urr)?;
        if let Some(place) = self.draft.urrs.get_mut(at) {
            *place = urr;
        }
        self.check_reports(rule)
    }

    fn update_monitoring(&self, monitoring: &mut Monitoring, ie: &UpdateUrr<'_>) {
        match ie.monitoring_time {
            Some(Edit::Set(time)) => monitoring.time = self.monitored(time),
            Some(Edit::Remove) => monitoring.time = monitoring.time.removed(),
            None => {}
        }
        if let Some(edit) = ie.subsequent_volume_threshold {
            edit.apply_to(&mut monitoring.threshold);
        }
        if let Some(edit) = ie.subsequent_volume_quota {
            edit.apply_to(&mut monitoring.quota);
        }
        let given = |edit: &Edit<Seconds>| edit.value().map(|time| time.0);
        if let Some(edit) = &ie.subsequent_time_threshold {
            monitoring.threshold_s = given(edit);
        }
        if let Some(edit) = &ie.subsequent_time_quota {
            monitoring.quota_s = given(edit);
        }
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

/// A time that 0 says there is none of.
fn some(time: Option<Seconds>) -> Option<u32> {
    time.map(|time| time.0).filter(|time_s| *time_s > 0)
}

fn update_times(times: &mut UrrTimes, ie: &UpdateUrr<'_>) {
    let given = |edit: &Edit<Seconds>| edit.value().copied();
    if let Some(edit) = &ie.time_threshold {
        times.threshold_s = given(edit).map(|time| time.0);
    }
    if let Some(edit) = &ie.time_quota {
        times.quota_s = given(edit).map(|time| time.0);
    }
    if let Some(edit) = &ie.quota_validity_time {
        times.validity_s = some(given(edit));
    }
    if let Some(edit) = &ie.quota_holding_time {
        times.holding_s = some(given(edit));
    }
    if let Some(edit) = &ie.inactivity_detection_time {
        times.inactivity_s = some(given(edit));
    }
}
