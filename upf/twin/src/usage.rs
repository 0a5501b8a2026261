//! Usage of a URR and its reports (TS 29.244, 7.5.5.2, 8.2.40 to 8.2.44).

use crate::usage_time::UseTime;
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::group::{CreateUrr, UpdateUrr, UsageReport};
use sluice_wire::pfcp::value::{
    DroppedDlTrafficThreshold, MeasurementInformation, MeasurementMethod, NtpTime,
    ReportingTriggers, Seconds, UsageInformation, UsageReportTrigger, VolumeMeasurement,
};

/// Volume of one direction.
#[derive(Clone, Copy, Default, Debug)]
struct Volume {
    bytes: u64,
    packets: u64,
}

/// Packets and octets that were lost since a threshold began.
#[derive(Clone, Copy, Default, Debug)]
struct Lost {
    packets: u64,
    octets: u64,
}

impl Lost {
    /// One packet more: true if a threshold is reached.
    fn one_more(&mut self, bytes: usize, threshold: &DroppedDlTrafficThreshold) -> bool {
        self.packets += 1;
        self.octets += bytes as u64;
        let reached = |limit: Option<u64>, lost: u64| limit.is_some_and(|limit| lost >= limit);
        reached(threshold.downlink_packets, self.packets)
            || reached(threshold.downlink_octets, self.octets)
    }
}

/// A URR with what it measured since its last report.
#[derive(Clone, Debug)]
pub struct Urr {
    id: UrrId,
    method: MeasurementMethod,
    information: MeasurementInformation,
    reports: u32,
    since: NtpTime,
    uplink: Volume,
    downlink: Volume,
    triggers: ReportingTriggers,
    threshold: Limit,
    /// Octets of each direction since the threshold began.
    towards_threshold: [u64; 2],
    quota: Limit,
    /// Octets of each direction since the quota was granted.
    of_quota: [u64; 2],
    /// Packets to the UE that may be lost, and what was since that began.
    lost_threshold: Option<DroppedDlTrafficThreshold>,
    lost: Lost,
    /// Which of the quota's parts are told to be used up.
    told: [bool; 3],
    awaits_start: bool,
    period_s: u32,
    /// When the next period ends.
    period_ends: Option<u32>,
    time: UseTime,
    /// When its usage is split, as long as that has not come.
    monitoring: Option<NtpTime>,
    /// What holds from then on.
    subsequent: Subsequent,
    /// What was measured before, and was not reported.
    before: Option<Part>,
    /// Why a report is due.
    due: UsageReportTrigger,
}

/// Thresholds and quotas after a Monitoring Time.
#[derive(Clone, Default, Debug)]
struct Subsequent {
    threshold: Option<Limit>,
    quota: Option<Limit>,
}

/// What was measured from a time to a time.
#[derive(Clone, Debug)]
struct Part {
    since: NtpTime,
    until: NtpTime,
    uplink: Volume,
    downlink: Volume,
    used: u32,
}

impl Volume {
    fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            packets: self.packets + other.packets,
        }
    }
}

/// Uplink, downlink and total octets, where there is a limit.
type Limit = [Option<u64>; 3];

fn limit(volume: Option<&sluice_wire::pfcp::value::Volume>) -> Limit {
    volume.map_or([None; 3], |v| [v.uplink, v.downlink, v.total])
}

/// Which parts of a limit are reached.
fn reached(limit: &Limit, [uplink, downlink]: [u64; 2]) -> [bool; 3] {
    let used = [uplink, downlink, uplink + downlink];
    [0, 1, 2].map(|part| limit[part].is_some_and(|limit| used[part] >= limit))
}

impl Urr {
    /// As created.
    pub fn new(ie: &CreateUrr<'_>, now: NtpTime) -> Self {
        Self {
            id: ie.urr_id,
            method: ie.measurement_method,
            information: ie.measurement_information.unwrap_or_default(),
            reports: 0,
            since: now,
            uplink: Volume::default(),
            downlink: Volume::default(),
            triggers: ie.reporting_triggers,
            threshold: limit(ie.volume_threshold.as_ref()),
            towards_threshold: [0; 2],
            quota: limit(ie.volume_quota.as_ref()),
            of_quota: [0; 2],
            lost_threshold: ie.dropped_dl_traffic_threshold,
            lost: Lost::default(),
            told: [false; 3],
            awaits_start: ie.reporting_triggers.contains(ReportingTriggers::START),
            period_s: ie.measurement_period.map_or(0, |period| period.0),
            period_ends: None,
            time: UseTime::new(ie, now.0),
            monitoring: ie.monitoring_time,
            subsequent: Subsequent {
                threshold: ie
                    .subsequent_volume_threshold
                    .as_ref()
                    .map(|v| limit(Some(v))),
                quota: ie.subsequent_volume_quota.as_ref().map(|v| limit(Some(v))),
            },
            before: None,
            due: UsageReportTrigger::NONE,
        }
        .with_period_from(now)
    }

    fn with_period_from(mut self, now: NtpTime) -> Self {
        self.period_ends = self.period().map(|period_s| now.0 + period_s);
        self
    }

    /// True if it reports that traffic starts or stops.
    pub fn tells_of_traffic(&self) -> bool {
        self.triggers.contains(ReportingTriggers::START)
            || self.triggers.contains(ReportingTriggers::STOPT)
    }

    fn is_inactive(&self) -> bool {
        self.information.contains(MeasurementInformation::INAM)
    }

    /// Of detected applications it tells the name alone.
    pub fn tells_no_flows(&self) -> bool {
        self.information.contains(MeasurementInformation::RADI)
    }

    fn period(&self) -> Option<u32> {
        let wanted = self.triggers.contains(ReportingTriggers::PERIO) && !self.is_inactive();
        (wanted && self.period_s > 0).then_some(self.period_s)
    }

    /// The threshold that is told of.
    fn told_threshold(&self) -> Limit {
        match self.triggers.contains(ReportingTriggers::VOLTH) {
            true => self.threshold,
            false => [None; 3],
        }
    }

    fn told_lost(&self) -> Option<DroppedDlTrafficThreshold> {
        let is_told = self.triggers.contains(ReportingTriggers::DROTH);
        self.lost_threshold.filter(|_| is_told)
    }

    /// A packet to the UE is lost.
    pub fn lose(&mut self, bytes: usize) {
        if let Some(threshold) = self.told_lost().filter(|_| !self.is_inactive())
            && self.lost.one_more(bytes, &threshold)
        {
            self.due = self.due.union(UsageReportTrigger::DROTH);
        }
    }

    /// As updated; measuring goes on.
    pub fn update(&mut self, ie: &UpdateUrr<'_>, now: NtpTime) {
        let (threshold, period) = (self.told_threshold(), self.period());
        let lost_threshold = self.told_lost();
        let started_by = |triggers: ReportingTriggers| triggers.contains(ReportingTriggers::START);
        let was_started_by = started_by(self.triggers);
        self.triggers = ie.reporting_triggers.unwrap_or(self.triggers);
        if let Some(edit) = &ie.volume_threshold {
            self.threshold = limit(edit.value());
            self.towards_threshold = [0; 2];
        }
        if let Some(edit) = &ie.volume_quota {
            self.quota = limit(edit.value());
            (self.of_quota, self.told) = Default::default();
        }
        if let Some(edit) = ie.dropped_dl_traffic_threshold {
            self.lost_threshold = edit.value().copied();
            self.lost = Lost::default();
        }
        if lost_threshold != self.told_lost() {
            self.lost = Lost::default();
        }
        if let Some(edit) = &ie.measurement_period {
            self.period_s = edit.value().map_or(0, |period| period.0);
        }
        if threshold != self.told_threshold() {
            self.towards_threshold = [0; 2];
        }
        if was_started_by != started_by(self.triggers) {
            self.awaits_start = !was_started_by;
        }
        if let Some(method) = ie.measurement_method {
            self.method = method;
        }
        if let Some(edit) = &ie.measurement_information {
            self.information = edit.value().copied().unwrap_or_default();
        }
        self.time.update(ie, now.0);
        self.update_subsequent(ie);
        if period != self.period() {
            self.period_ends = self.period().map(|period_s| now.0 + period_s);
        }
    }

    fn update_subsequent(&mut self, ie: &UpdateUrr<'_>) {
        if let Some(edit) = &ie.monitoring_time {
            self.monitoring = edit.value().copied();
        }
        let later = &mut self.subsequent;
        for (edit, place) in [
            (&ie.subsequent_volume_threshold, &mut later.threshold),
            (&ie.subsequent_volume_quota, &mut later.quota),
        ] {
            if let Some(edit) = edit {
                *place = edit.value().map(|volume| limit(Some(volume)));
            }
        }
    }

    /// The Monitoring Time comes: what was measured is kept apart, and other limits hold.
    fn split(&mut self, now: NtpTime) {
        let now_part = Part {
            since: self.since,
            until: now,
            uplink: std::mem::take(&mut self.uplink),
            downlink: std::mem::take(&mut self.downlink),
            used: self.time.split(),
        };
        self.before = Some(match self.before.take() {
            None => now_part,
            Some(earlier) => Part {
                since: earlier.since,
                until: now,
                uplink: earlier.uplink.and(now_part.uplink),
                downlink: earlier.downlink.and(now_part.downlink),
                used: earlier.used + now_part.used,
            },
        });
        self.since = now;
        self.monitoring = None;
        let later = std::mem::take(&mut self.subsequent);
        if let Some(threshold) = later.threshold {
            self.threshold = threshold;
            self.towards_threshold = [0; 2];
        }
        if let Some(quota) = later.quota {
            self.quota = quota;
            (self.of_quota, self.told) = Default::default();
        }
        let grants_volume = later.quota.is_some();
        self.time.begin_subsequent(grants_volume, now.0);
    }

    /// A packet of `bytes` is about to pass: false if a quota of its direction, or of both, is used up.
    pub fn lets_pass(&self, uplink: bool) -> bool {
        if self.is_inactive() {
            return true;
        }
        let [up, down, total] = reached(&self.quota, self.of_quota);
        !(total || self.time.stops() || if uplink { up } else { down })
    }

    /// That a part of a quota is used up is told once, with the packet that uses it up, or of nothing with the
    /// first that it stops.
    pub fn judge_quota(&mut self) {
        if self.is_inactive() {
            return;
        }
        let reached = reached(&self.quota, self.of_quota);
        if reached != self.told {
            self.told = reached;
            self.due_for(ReportingTriggers::VOLQU, UsageReportTrigger::VOLQU);
        }
    }

    fn due_for(&mut self, asked: ReportingTriggers, trigger: UsageReportTrigger) {
        if self.triggers.contains(asked) {
            self.due = self.due.union(trigger);
        }
    }

    /// The reports that are due, if any are.
    pub fn due_reports(&mut self, now: NtpTime) -> Vec<UsageReport<'static>> {
        match self.due == UsageReportTrigger::NONE {
            true => Vec::new(),
            false => self.report(UsageReportTrigger::NONE, now),
        }
    }

    /// Time has come so far.
    pub fn advance(&mut self, now: NtpTime) {
        let due = self.time.advance(now.0);
        self.due = self.due.union(due);
        if due.contains(UsageReportTrigger::STOPT) {
            self.awaits_start = self.triggers.contains(ReportingTriggers::START);
        }
        self.advance_period(now);
        if self.monitoring.is_some_and(|time| time.0 <= now.0) {
            self.split(now);
        }
    }

    fn advance_period(&mut self, now: NtpTime) {
        let (Some(ends), Some(period_s)) = (self.period_ends, self.period()) else {
            return;
        };
        if ends <= now.0 {
            let periods = (now.0 - ends) / period_s + 1;
            self.period_ends = Some(ends + periods * period_s);
            self.due_for(ReportingTriggers::PERIO, UsageReportTrigger::PERIO);
        }
    }

    /// True if something happens at an amount of octets, or with a packet.
    pub fn waits_for_packets(&self) -> bool {
        let limited = |limit: &Limit| limit.iter().any(Option::is_some);
        let limits_lost = self.lost_threshold.is_some();
        limited(&self.threshold) || limited(&self.quota) || limits_lost || self.awaits_start
    }

    /// A packet of `bytes` (the inner IP packet) was dropped by a gate or a bit rate.
    pub fn count_dropped(&mut self, uplink: bool, bytes: usize) {
        let is_counted = self.information.contains(MeasurementInformation::MBQE);
        if is_counted && !self.is_inactive() {
            self.add(uplink, bytes);
        }
    }

    /// A packet of `bytes` (the inner IP packet) left.
    pub fn count(&mut self, uplink: bool, bytes: usize) {
        if self.is_inactive() {
            return;
        }
        self.time.packet();
        if core::mem::take(&mut self.awaits_start) {
            self.due_for(ReportingTriggers::START, UsageReportTrigger::START);
        }
        self.add(uplink, bytes);
    }

    fn add(&mut self, uplink: bool, bytes: usize) {
        let volume = if uplink {
            &mut self.uplink
        } else {
            &mut self.downlink
        };
        volume.bytes += bytes as u64;
        volume.packets += 1;
        let direction = usize::from(!uplink);
        self.towards_threshold[direction] += bytes as u64;
        self.of_quota[direction] += bytes as u64;
        if reached(&self.threshold, self.towards_threshold).contains(&true) {
            self.due_for(ReportingTriggers::VOLTH, UsageReportTrigger::VOLTH);
        }
        self.judge_quota();
    }

    /// The reports of what was measured since the last one: two if there was a Monitoring Time in between.
    pub fn report(
        &mut self,
        trigger: UsageReportTrigger,
        now: NtpTime,
    ) -> Vec<UsageReport<'static>> {
        let latest = Part {
            since: self.since,
            until: now,
            uplink: std::mem::take(&mut self.uplink),
            downlink: std::mem::take(&mut self.downlink),
            used: self.time.report(),
        };
        let trigger = std::mem::replace(&mut self.due, UsageReportTrigger::NONE).union(trigger);
        if trigger.contains(UsageReportTrigger::DROTH) {
            self.lost = Lost::default();
        }
        let reports = match self.before.take() {
            None => vec![self.one(&latest, trigger, None)],
            Some(before) => vec![
                self.one(
                    &before,
                    UsageReportTrigger::MONIT,
                    Some(UsageInformation::BEF),
                ),
                self.one(&latest, trigger, Some(UsageInformation::AFT)),
            ],
        };
        self.since = now;
        self.towards_threshold = [0; 2];
        reports
    }

    fn one(
        &mut self,
        part: &Part,
        trigger: UsageReportTrigger,
        information: Option<UsageInformation>,
    ) -> UsageReport<'static> {
        let (up, down) = (part.uplink, part.downlink);
        let volume = VolumeMeasurement {
            total: Some(up.bytes + down.bytes),
            uplink: Some(up.bytes),
            downlink: Some(down.bytes),
            ..VolumeMeasurement::default()
        };
        let counts_packets = self.information.contains(MeasurementInformation::MNOP);
        let volume = match counts_packets {
            true => VolumeMeasurement {
                total_packets: Some(up.packets + down.packets),
                uplink_packets: Some(up.packets),
                downlink_packets: Some(down.packets),
                ..volume
            },
            false => volume,
        };
        let traffic = UsageReportTrigger::START.union(UsageReportTrigger::STOPT);
        let others = UsageReportTrigger(trigger.0 & !traffic.0);
        let is_timed = others != UsageReportTrigger::NONE;
        let measures_volume = self.method.contains(MeasurementMethod::VOLUM);
        let measures_time = self.method.contains(MeasurementMethod::DURAT);
        let report = UsageReport {
            urr_id: self.id,
            ur_seqn: self.reports,
            usage_report_trigger: trigger,
            start_time: is_timed.then_some(part.since),
            end_time: is_timed.then_some(part.until),
            volume_measurement: measures_volume.then_some(volume),
            duration_measurement: measures_time.then_some(Seconds(part.used)),
            usage_information: information,
            ..UsageReport::default()
        };
        self.reports += 1;
        report
    }
}
