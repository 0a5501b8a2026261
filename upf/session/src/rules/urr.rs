//! Usage Reporting Rules.

use sluice_datapath::session::usage_record::{
    AwaitsPacket, DOWNLINK, LostRests, NEVER, Rests, TOTAL, UPLINK, UrrState,
};
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::value::{
    DroppedDlTrafficThreshold, MeasurementInformation, MeasurementMethod, ReportingTriggers, Volume,
};

/// A Usage Reporting Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Urr {
    /// URR ID.
    pub id: UrrId,
    /// Measurement Method.
    pub method: MeasurementMethod,
    /// Measurement Information.
    pub information: MeasurementInformation,
    /// Reporting Triggers.
    pub triggers: ReportingTriggers,
    /// Where its usage adds up.
    pub meter: u32,
    /// Volume Threshold.
    pub threshold: Option<Volume>,
    /// Volume Quota.
    pub quota: Option<Volume>,
    /// Dropped DL Traffic Threshold.
    pub lost: Option<DroppedDlTrafficThreshold>,
    /// Measurement Period in seconds; 0 is none.
    pub period_s: u32,
    /// What it says of time.
    pub times: UrrTimes,
    /// Its Monitoring Time, and what holds from then on.
    pub monitoring: Monitoring,
    /// Its cell in the session's usage record; 0 is none.
    pub cell: u32,
    /// What begins anew with the message at hand.
    pub renewed: Renewed,
    /// What the path is told of its clock with the transaction at hand.
    pub clock: ClockImage,
}

/// What a URR says of time, in seconds. Of inactivity, holding and validity 0 is none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UrrTimes {
    /// Time Threshold.
    pub threshold_s: Option<u32>,
    /// Time Quota.
    pub quota_s: Option<u32>,
    /// Quota Validity Time.
    pub validity_s: Option<u32>,
    /// Quota Holding Time.
    pub holding_s: Option<u32>,
    /// Inactivity Detection Time.
    pub inactivity_s: Option<u32>,
}

impl UrrTimes {
    /// In the order of their bits in a record.
    pub fn all(&mut self) -> [&mut Option<u32>; 5] {
        [
            &mut self.threshold_s,
            &mut self.quota_s,
            &mut self.validity_s,
            &mut self.holding_s,
            &mut self.inactivity_s,
        ]
    }
}

/// The Monitoring Time of a URR, and the thresholds and quotas that hold from then on, where they change.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Monitoring {
    /// When it is.
    pub time: MonitoringTime,
    /// Subsequent Volume Threshold.
    pub threshold: Option<Volume>,
    /// Subsequent Volume Quota.
    pub quota: Option<Volume>,
    /// Subsequent Time Threshold, in seconds.
    pub threshold_s: Option<u32>,
    /// Subsequent Time Quota, in seconds.
    pub quota_s: Option<u32>,
}

/// A Monitoring Time.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum MonitoringTime {
    /// None.
    #[default]
    None,
    /// Then, monotonic, in whole seconds.
    At(u32),
    /// It has passed. What was measured before may still be kept apart.
    Passed,
}

impl MonitoringTime {
    /// Without a Monitoring Time from now on; one that has passed has passed.
    pub fn removed(self) -> Self {
        match self {
            Self::None | Self::At(_) => Self::None,
            Self::Passed => Self::Passed,
        }
    }
}

/// What the path is told of a URR's clock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ClockImage {
    /// Whether it tells of the next packet.
    pub awaits_packet: AwaitsPacket,
    /// Nothing passes.
    pub stops: bool,
}

impl Default for ClockImage {
    fn default() -> Self {
        Self {
            awaits_packet: AwaitsPacket::NEVER,
            stops: false,
        }
    }
}

/// What of a URR a message begins anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Renewed {
    /// The threshold is another, or the measurement is reported.
    pub threshold: bool,
    /// A quota was granted, or taken away.
    pub quota: bool,
    /// The threshold of lost packets is another.
    pub lost: bool,
    /// It waits for the first packet, or does no more.
    pub start: bool,
    /// The first period.
    pub period: bool,
    /// The time threshold is another.
    pub time_threshold: bool,
    /// A quota of time was granted, or taken away.
    pub time_quota: bool,
    /// A quota of any kind was granted or taken away, or how long it is valid or held.
    pub grant: bool,
}

impl Renewed {
    /// All: the URR is new.
    pub const ALL: Self = Self {
        threshold: true,
        quota: true,
        lost: true,
        start: true,
        period: true,
        time_threshold: true,
        time_quota: true,
        grant: true,
    };

    /// What one of both renews.
    pub fn or(self, other: Self) -> Self {
        Self {
            threshold: self.threshold || other.threshold,
            quota: self.quota || other.quota,
            lost: self.lost || other.lost,
            start: self.start || other.start,
            period: self.period || other.period,
            time_threshold: self.time_threshold || other.time_threshold,
            time_quota: self.time_quota || other.time_quota,
            grant: self.grant || other.grant,
        }
    }
}

impl Urr {
    /// One that measures nothing yet.
    pub fn new(id: UrrId) -> Self {
        Self {
            id,
            method: MeasurementMethod::NONE,
            information: MeasurementInformation::NONE,
            triggers: ReportingTriggers::NONE,
            meter: 0,
            threshold: None,
            quota: None,
            lost: None,
            period_s: 0,
            times: UrrTimes::default(),
            monitoring: Monitoring::default(),
            cell: 0,
            renewed: Renewed::ALL,
            clock: ClockImage::default(),
        }
    }

    /// True if it has a clock: it measures time, or has a Monitoring Time.
    pub fn has_clock(&self) -> bool {
        self.measures_time() || self.monitoring.time != MonitoringTime::None
    }

    /// True if time of use matters to it, now or after its Monitoring Time.
    pub fn measures_time(&self) -> bool {
        let (times, later) = (self.times, &self.monitoring);
        let has_threshold = times.threshold_s.is_some() || later.threshold_s.is_some();
        let needs_one = [
            self.method.contains(MeasurementMethod::DURAT),
            self.has(ReportingTriggers::TIMTH) && has_threshold,
            self.has(ReportingTriggers::STOPT) && times.inactivity_s.is_some(),
            times.quota_s.is_some() || later.quota_s.is_some(),
            times.validity_s.is_some(),
            times.holding_s.is_some(),
        ];
        needs_one.contains(&true)
    }

    /// True if it says something of a Monitoring Time: its usage may be told in two reports.
    pub fn is_monitored(&self) -> bool {
        self.monitoring != Monitoring::default()
    }

    /// True if its Monitoring Time has come.
    pub fn reaches_monitoring_time(&self, now_s: u32) -> bool {
        matches!(self.monitoring.time, MonitoringTime::At(due_s) if due_s <= now_s)
    }

    /// The Monitoring Time has come: what was said for then holds as if a message brought it now.
    pub fn pass_monitoring_time(&mut self) {
        let later = core::mem::take(&mut self.monitoring);
        self.monitoring.time = MonitoringTime::Passed;
        let renewed = &mut self.renewed;
        renewed.threshold |= later.threshold.is_some();
        renewed.quota |= later.quota.is_some();
        renewed.time_threshold |= later.threshold_s.is_some();
        renewed.time_quota |= later.quota_s.is_some();
        renewed.grant |= later.quota.is_some() || later.quota_s.is_some();
        self.threshold = later.threshold.or(self.threshold);
        self.quota = later.quota.or(self.quota);
        self.times.threshold_s = later.threshold_s.or(self.times.threshold_s);
        self.times.quota_s = later.quota_s.or(self.times.quota_s);
    }

    /// True if packets of its PDRs count: its measurement is not inactive (INAM).
    pub fn is_active(&self) -> bool {
        !self.information.contains(MeasurementInformation::INAM)
    }

    /// True if what gate and bit rates drop counts as well (MBQE).
    pub fn is_before_qos(&self) -> bool {
        self.information.contains(MeasurementInformation::MBQE)
    }

    fn has(&self, trigger: ReportingTriggers) -> bool {
        self.triggers.contains(trigger)
    }

    /// Octets until the threshold is reached.
    pub fn thresholds(&self) -> Rests {
        if self.has(ReportingTriggers::VOLTH) {
            rests(self.threshold)
        } else {
            [NEVER; 3]
        }
    }

    /// Octets of the whole quota.
    pub fn quotas(&self) -> Rests {
        rests(self.quota)
    }

    /// Packets and octets to the UE that may be lost until it tells.
    pub fn lost_rests(&self) -> LostRests {
        let asked = self.lost.filter(|_| self.has(ReportingTriggers::DROTH));
        asked.map_or(LostRests::NEVER, |threshold| {
            LostRests::new(threshold.downlink_packets, threshold.downlink_octets)
        })
    }

    /// True if it waits for the first packet.
    pub fn awaits_start(&self) -> bool {
        self.has(ReportingTriggers::START)
    }

    /// True if something happens at an amount of octets, or with the first packet: it has a cell in the session's
    /// usage record, also while it is inactive: what is left of a quota is left afterwards.
    pub fn needs_cell(&self) -> bool {
        let later = &self.monitoring;
        self.measures_time()
            || self.is_before_qos()
            || self.awaits_start()
            || self.quota.is_some()
            || self.lost_rests() != LostRests::NEVER
            || later.quota.is_some()
            || self.thresholds() != [NEVER; 3]
            || later.threshold.is_some()
    }

    /// Of what happens, that of which a report is made.
    pub fn told(&self) -> UrrState {
        let told = [
            (ReportingTriggers::VOLTH, UrrState::THRESHOLD),
            (ReportingTriggers::VOLQU, UrrState::QUOTA),
            (ReportingTriggers::START, UrrState::STARTED),
            (ReportingTriggers::DROTH, UrrState::LOST),
        ];
        let told = told.into_iter().filter(|(trigger, _)| self.has(*trigger));
        told.fold(UrrState::default(), |all, (_, mark)| all.with(mark))
    }

    /// Seconds between periodic reports, if it makes some.
    pub fn period_s(&self) -> Option<u32> {
        let is_wanted = self.has(ReportingTriggers::PERIO) && self.is_active();
        (is_wanted && self.period_s > 0).then_some(self.period_s)
    }
}

fn rests(volume: Option<Volume>) -> Rests {
    let mut rests = [NEVER; 3];
    if let Some(volume) = volume {
        for (at, octets) in [
            (UPLINK, volume.uplink),
            (DOWNLINK, volume.downlink),
            (TOTAL, volume.total),
        ] {
            rests[at] = octets.map_or(NEVER, |octets| i64::try_from(octets).unwrap_or(NEVER));
            rests[at] = rests[at].min(NEVER);
        }
    }
    rests
}
