//! Time of use of a URR, second by second (TS 29.244, 5.2.2.2), and quotas that end by time.

use sluice_wire::pfcp::group::{CreateUrr, UpdateUrr};
use sluice_wire::pfcp::value::{
    Edit, MeasurementInformation, MeasurementMethod, ReportingTriggers, Seconds, UsageReportTrigger,
};

/// What a URR says of time.
#[derive(Clone, Debug, Default)]
pub struct Says {
    method: MeasurementMethod,
    information: MeasurementInformation,
    triggers: ReportingTriggers,
    threshold: Option<u32>,
    quota: Option<u32>,
    validity: Option<u32>,
    holding: Option<u32>,
    inactivity: Option<u32>,
    /// After a Monitoring Time.
    later_threshold: Option<u32>,
    later_quota: Option<u32>,
}

/// 0 says that there is none.
fn positive(time: Option<Seconds>) -> Option<u32> {
    time.map(|time| time.0).filter(|seconds| *seconds > 0)
}

impl Says {
    fn asks(&self, trigger: ReportingTriggers) -> bool {
        self.triggers.contains(trigger)
    }

    fn told_threshold(&self) -> Option<u32> {
        self.threshold
            .filter(|_| self.asks(ReportingTriggers::TIMTH))
    }

    fn is_inactive(&self) -> bool {
        self.information.contains(MeasurementInformation::INAM)
    }

    fn at_once(&self) -> bool {
        self.information.contains(MeasurementInformation::ISTM)
    }

    fn of_time(&self) -> bool {
        self.method.contains(MeasurementMethod::DURAT)
            || self.told_threshold().is_some()
            || (self.asks(ReportingTriggers::TIMTH) && self.later_threshold.is_some())
            || self.later_quota.is_some()
            || (self.asks(ReportingTriggers::STOPT) && self.inactivity.is_some())
            || self.quota.is_some()
            || self.validity.is_some()
            || self.holding.is_some()
    }
}

/// The times of a URR, in whole seconds of the clock on the wall.
#[derive(Clone, Debug, Default)]
pub struct UseTime {
    says: Says,
    now: u32,
    /// The message that it came with is being read.
    is_new: bool,
    /// Time is running: a packet came, and quotas have not ended.
    runs: bool,
    last_packet: u32,
    /// When the time without packets was set.
    watched: u32,
    granted: u32,
    used: u32,
    towards_threshold: u32,
    of_quota: u32,
    quota_ended: bool,
    validity_ended: bool,
    holding_ended: bool,
}

impl UseTime {
    /// Of a new URR.
    pub fn new(ie: &CreateUrr<'_>, now: u32) -> Self {
        let says = Says {
            method: ie.measurement_method,
            information: ie.measurement_information.unwrap_or_default(),
            triggers: ie.reporting_triggers,
            threshold: ie.time_threshold.map(|time| time.0),
            quota: ie.time_quota.map(|time| time.0),
            validity: positive(ie.quota_validity_time),
            holding: positive(ie.quota_holding_time),
            inactivity: positive(ie.inactivity_detection_time),
            later_threshold: ie.subsequent_time_threshold.map(|time| time.0),
            later_quota: ie.subsequent_time_quota.map(|time| time.0),
        };
        Self::begin(says, now)
    }

    fn begin(says: Says, now: u32) -> Self {
        Self {
            now,
            is_new: true,
            runs: says.at_once() && !says.is_inactive() && says.of_time(),
            last_packet: now,
            watched: now,
            granted: now,
            says,
            ..Self::default()
        }
    }

    /// As the URR is updated.
    pub fn update(&mut self, ie: &UpdateUrr<'_>, now: u32) {
        let before = self.says.clone();
        let says = &mut self.says;
        says.method = ie.measurement_method.unwrap_or(says.method);
        says.triggers = ie.reporting_triggers.unwrap_or(says.triggers);
        if let Some(edit) = &ie.measurement_information {
            says.information = edit.value().copied().unwrap_or_default();
        }
        let value = |edit: &Edit<Seconds>| edit.value().copied();
        if let Some(edit) = &ie.time_threshold {
            says.threshold = value(edit).map(|time| time.0);
        }
        if let Some(edit) = &ie.time_quota {
            says.quota = value(edit).map(|time| time.0);
        }
        if let Some(edit) = &ie.quota_validity_time {
            says.validity = positive(value(edit));
        }
        if let Some(edit) = &ie.quota_holding_time {
            says.holding = positive(value(edit));
        }
        if let Some(edit) = &ie.inactivity_detection_time {
            says.inactivity = positive(value(edit));
        }
        if let Some(edit) = &ie.subsequent_time_threshold {
            says.later_threshold = value(edit).map(|time| time.0);
        }
        if let Some(edit) = &ie.subsequent_time_quota {
            says.later_quota = value(edit).map(|time| time.0);
        }
        if self.is_new || !before.of_time() || !self.says.of_time() {
            *self = Self::begin(self.says.clone(), now);
            return;
        }
        if before.inactivity != self.says.inactivity {
            self.watched = now;
        }
        if ie.time_threshold.is_some() || before.told_threshold() != self.says.told_threshold() {
            self.towards_threshold = 0;
        }
        let had_ended = self.stops();
        if ie.time_quota.is_some() {
            (self.of_quota, self.quota_ended) = (0, false);
        }
        let of_quotas = ie.volume_quota.is_some() || ie.time_quota.is_some();
        if of_quotas || ie.quota_validity_time.is_some() || ie.quota_holding_time.is_some() {
            (self.validity_ended, self.holding_ended) = (false, false);
            self.granted = now;
        }
        let awakes = before.is_inactive() && !self.says.is_inactive();
        if awakes {
            self.granted = now;
        }
        let begins = (had_ended && !self.has_ended())
            || awakes
            || (!before.at_once() && self.says.at_once());
        if self.says.is_inactive() {
            self.runs = false;
        } else if begins && self.says.at_once() && !self.has_ended() && !self.runs {
            (self.runs, self.last_packet) = (true, now);
        }
    }

    fn has_ended(&self) -> bool {
        self.quota_ended || self.validity_ended || self.holding_ended
    }

    /// True if nothing passes.
    pub fn stops(&self) -> bool {
        self.has_ended()
    }

    /// A packet leaves now.
    pub fn packet(&mut self) {
        if self.says.of_time() {
            (self.runs, self.last_packet) = (true, self.now);
        }
    }

    fn counts(&self, second: u32) -> bool {
        let is_near = |limit| second < self.last_packet.max(self.watched) + limit;
        self.runs && self.says.inactivity.is_none_or(is_near)
    }

    /// Time has come so far. Gives what is to be told by now.
    pub fn advance(&mut self, now: u32) -> UsageReportTrigger {
        for second in self.now..now {
            let one = u32::from(self.counts(second));
            self.used += one;
            self.towards_threshold += one;
            self.of_quota += one;
        }
        self.now = now;
        self.is_new = false;
        let stopped = self.runs && !self.counts(now);
        if stopped {
            self.runs = false;
        }
        self.judge(stopped)
    }

    fn judge(&mut self, stopped: bool) -> UsageReportTrigger {
        type Ask = ReportingTriggers;
        type Tell = UsageReportTrigger;
        if self.says.is_inactive() || !self.says.of_time() {
            return Tell::NONE;
        }
        let threshold = self.says.told_threshold();
        let reached = threshold.is_some_and(|limit| self.towards_threshold >= limit.max(1));
        let over = |since: u32, limit: Option<u32>| limit.is_some_and(|l| since + l <= self.now);
        let used_up = self.says.quota.is_some_and(|limit| self.of_quota >= limit);
        let invalid = over(self.granted, self.says.validity);
        let unused = over(self.granted.max(self.last_packet), self.says.holding);
        let happened = [
            (reached, Ask::TIMTH, Tell::TIMTH),
            (stopped, Ask::STOPT, Tell::STOPT),
            (used_up && !self.quota_ended, Ask::TIMQU, Tell::TIMQU),
            (invalid && !self.validity_ended, Ask::QUVTI, Tell::QUVTI),
            (unused && !self.holding_ended, Ask::QUHTI, Tell::QUHTI),
        ];
        self.quota_ended |= used_up;
        self.validity_ended |= invalid;
        self.holding_ended |= unused;
        if self.has_ended() {
            self.runs = false;
        }
        let mut told = Tell::NONE;
        for (_, asked, trigger) in happened.into_iter().filter(|(happened, ..)| *happened) {
            if self.says.asks(asked) {
                told = told.union(trigger);
            }
        }
        told
    }

    /// A report is made: the time of use that it tells.
    pub fn report(&mut self) -> u32 {
        self.towards_threshold = 0;
        self.split()
    }

    /// The time of use until now; the next begins.
    pub fn split(&mut self) -> u32 {
        std::mem::take(&mut self.used)
    }

    /// A Monitoring Time has come: this threshold and this quota hold now, and what was granted of octets begins.
    pub fn begin_subsequent(&mut self, grants_volume: bool, now: u32) {
        let (threshold, quota) = (
            self.says.later_threshold.take(),
            self.says.later_quota.take(),
        );
        if threshold.is_some() {
            self.says.threshold = threshold;
            self.towards_threshold = 0;
        }
        let had_ended = self.has_ended();
        if quota.is_some() {
            self.says.quota = quota;
            (self.of_quota, self.quota_ended) = (0, false);
        }
        if quota.is_some() || grants_volume {
            (self.validity_ended, self.holding_ended) = (false, false);
            self.granted = now;
        }
        let begins = had_ended && !self.has_ended() && !self.says.is_inactive();
        if begins && self.says.at_once() && !self.runs {
            (self.runs, self.last_packet) = (true, now);
        }
    }
}
