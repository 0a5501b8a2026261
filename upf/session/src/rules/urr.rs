//! Usage Reporting Rules, and their octets in a session's record.

use crate::rules::octets::{Kinds, OctetReader, OctetWriter, bit8};
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

/// The record of a URR.
impl Urr {
    /// Writes the rule.
    pub fn write(&self, kinds: Kinds, pen: &mut OctetWriter<'_>) {
        kinds.put_id(pen, self.id.0);
        match self.measures().filter(|_| kinds.has(Kinds::NARROW)) {
            Some(both) => pen.u8(both),
            None => {
                pen.u8(self.method.0);
                pen.u16(self.information.0);
            }
        }
        // Few SMFs ask for a trigger of the third octet.
        let [early, more, late, _] = self.triggers.0.to_le_bytes();
        let bits = bit8(URR_THRESHOLD, self.threshold.is_some())
            | bit8(URR_QUOTA, self.quota.is_some())
            | bit8(URR_PERIOD, self.period_s != 0)
            | bit8(URR_CELL, self.cell != 0)
            | bit8(URR_TIMES, self.times != UrrTimes::default())
            | bit8(URR_MONITORING, self.is_monitored())
            | bit8(URR_LOST, self.lost.is_some())
            | bit8(URR_LATE_TRIGGERS, late != 0);
        pen.put([early, more, bits]);
        if late != 0 {
            pen.u8(late);
        }
        pen.u32(self.meter);
        for volume in [self.threshold, self.quota].into_iter().flatten() {
            write_volume(pen, volume);
        }
        for number in [self.period_s, self.cell] {
            if number != 0 {
                pen.u32(number);
            }
        }
        if self.times != UrrTimes::default() {
            write_times(pen, self.times);
        }
        if self.is_monitored() {
            write_monitoring(pen, &self.monitoring);
        }
        if let Some(lost) = self.lost {
            write_lost(pen, lost);
        }
    }

    /// Reads a rule.
    pub fn read(kinds: Kinds, eye: &mut OctetReader<'_>) -> Self {
        let id = UrrId(kinds.id(eye));
        let method = eye.u8();
        let (method, information) = if kinds.has(Kinds::NARROW) {
            (
                method & ((1 << METHOD_BITS) - 1),
                u16::from(method >> METHOD_BITS),
            )
        } else {
            (method, eye.u16())
        };
        let [early, more, bits] = eye.get();
        let has = |bit| bits & bit != 0;
        let late = if has(URR_LATE_TRIGGERS) { eye.u8() } else { 0 };
        let meter = eye.u32();
        Self {
            id,
            method: MeasurementMethod(method),
            information: MeasurementInformation(information),
            triggers: ReportingTriggers(u32::from_le_bytes([early, more, late, 0])),
            meter,
            threshold: has(URR_THRESHOLD).then(|| read_volume(eye)),
            quota: has(URR_QUOTA).then(|| read_volume(eye)),
            period_s: if has(URR_PERIOD) { eye.u32() } else { 0 },
            cell: if has(URR_CELL) { eye.u32() } else { 0 },
            times: if has(URR_TIMES) {
                read_times(eye)
            } else {
                UrrTimes::default()
            },
            monitoring: if has(URR_MONITORING) {
                read_monitoring(eye)
            } else {
                Monitoring::default()
            },
            lost: has(URR_LOST).then(|| read_lost(eye)),
            renewed: Renewed::default(),
            clock: ClockImage::default(),
        }
    }

    /// Measurement Method and Measurement Information in one octet, if they have no other flags than the usual.
    pub fn measures(&self) -> Option<u8> {
        let information = u8::try_from(self.information.0).ok()?;
        let is_usual = self.method.0 < 1 << METHOD_BITS && information < 1 << (8 - METHOD_BITS);
        is_usual.then_some(information << METHOD_BITS | self.method.0)
    }
}

/// Octets of a URR at the most.
pub const URR_MAX: usize =
    4 + 1 + 2 + 2 + 1 + 1 + 4 + 2 * (1 + 3 * 8) + 4 + 4 + (1 + 5 * 4) + (1 + 2 * 8);
/// The most octets that its Monitoring Time takes beside.
pub const MONITORING_MAX: usize = 1 + 4 + 2 * (1 + 3 * 8) + 2 * 4;

/// Bits of the Measurement Method where it shares an octet with the Measurement Information.
const METHOD_BITS: u32 = 3;

/// Bits of a URR's octet.
const URR_THRESHOLD: u8 = 1;
const URR_QUOTA: u8 = 1 << 1;
const URR_PERIOD: u8 = 1 << 2;
const URR_CELL: u8 = 1 << 3;
/// Times follow: an octet that tells which, and those.
const URR_TIMES: u8 = 1 << 4;
/// It says something of a Monitoring Time.
const URR_MONITORING: u8 = 1 << 5;
/// It says something of packets that are lost: an octet that tells what, and that.
const URR_LOST: u8 = 1 << 6;
/// Triggers take a third octet, which comes next.
const URR_LATE_TRIGGERS: u8 = 1 << 7;
/// Bits of the octet of lost packets.
const LOST_PACKETS: u8 = 1;
const LOST_OCTETS: u8 = 1 << 1;

/// What a Monitoring Time says: when it is, or that it has passed, and what holds then.
const MONITORING_AT: u8 = 1;
const MONITORING_PASSED: u8 = 1 << 1;
const MONITORING_THRESHOLD: u8 = 1 << 2;
const MONITORING_QUOTA: u8 = 1 << 3;
const MONITORING_THRESHOLD_S: u8 = 1 << 4;
const MONITORING_QUOTA_S: u8 = 1 << 5;

/// Bits of a volume's octet, which tell what follows.
const VOLUME_TOTAL: u8 = 1;
const VOLUME_UPLINK: u8 = 1 << 1;
const VOLUME_DOWNLINK: u8 = 1 << 2;
/// Each of them takes eight octets; otherwise four.
const VOLUME_LONG: u8 = 1 << 3;

fn write_times(pen: &mut OctetWriter<'_>, mut times: UrrTimes) {
    let all = times.all().map(|time| *time);
    let there = (0..).zip(all).filter(|(_, time)| time.is_some());
    pen.u8(there.fold(0, |bits, (at, _)| bits | 1 << at));
    all.into_iter().flatten().for_each(|time_s| pen.u32(time_s));
}

fn write_monitoring(pen: &mut OctetWriter<'_>, monitoring: &Monitoring) {
    let at = match monitoring.time {
        MonitoringTime::At(due_s) => Some(due_s),
        MonitoringTime::None | MonitoringTime::Passed => None,
    };
    let has_passed = monitoring.time == MonitoringTime::Passed;
    let bits = bit8(MONITORING_AT, at.is_some())
        | bit8(MONITORING_PASSED, has_passed)
        | bit8(MONITORING_THRESHOLD, monitoring.threshold.is_some())
        | bit8(MONITORING_QUOTA, monitoring.quota.is_some())
        | bit8(MONITORING_THRESHOLD_S, monitoring.threshold_s.is_some())
        | bit8(MONITORING_QUOTA_S, monitoring.quota_s.is_some());
    pen.u8(bits);
    let volumes = [monitoring.threshold, monitoring.quota];
    for volume in volumes.into_iter().flatten() {
        write_volume(pen, volume);
    }
    for seconds in [at, monitoring.threshold_s, monitoring.quota_s] {
        seconds.into_iter().for_each(|seconds| pen.u32(seconds));
    }
}

fn write_lost(pen: &mut OctetWriter<'_>, threshold: DroppedDlTrafficThreshold) {
    let (packets, octets) = (threshold.downlink_packets, threshold.downlink_octets);
    pen.u8(bit8(LOST_PACKETS, packets.is_some()) | bit8(LOST_OCTETS, octets.is_some()));
    for number in [packets, octets].into_iter().flatten() {
        pen.u64(number);
    }
}

fn write_volume(pen: &mut OctetWriter<'_>, volume: Volume) {
    let parts = [
        (VOLUME_TOTAL, volume.total),
        (VOLUME_UPLINK, volume.uplink),
        (VOLUME_DOWNLINK, volume.downlink),
    ];
    let there = parts.iter().filter(|(_, octets)| octets.is_some());
    let octets = || parts.into_iter().filter_map(|(_, octets)| octets);
    let is_long = octets().any(|octets| u32::try_from(octets).is_err());
    pen.u8(there.fold(bit8(VOLUME_LONG, is_long), |bits, (bit, _)| bits | bit));
    octets().for_each(|octets| {
        if is_long {
            pen.u64(octets)
        } else {
            pen.u32(octets as u32)
        }
    });
}

fn read_times(eye: &mut OctetReader<'_>) -> UrrTimes {
    let bits = eye.u8();
    let mut times = UrrTimes::default();
    for (at, time) in (0..).zip(times.all()) {
        *time = (bits & 1 << at != 0).then(|| eye.u32());
    }
    times
}

fn read_monitoring(eye: &mut OctetReader<'_>) -> Monitoring {
    let bits = eye.u8();
    let has = |bit| bits & bit != 0;
    let threshold = has(MONITORING_THRESHOLD).then(|| read_volume(eye));
    let quota = has(MONITORING_QUOTA).then(|| read_volume(eye));
    let time = match (has(MONITORING_AT), has(MONITORING_PASSED)) {
        (true, _) => MonitoringTime::At(eye.u32()),
        (false, true) => MonitoringTime::Passed,
        (false, false) => MonitoringTime::None,
    };
    Monitoring {
        time,
        threshold,
        quota,
        threshold_s: has(MONITORING_THRESHOLD_S).then(|| eye.u32()),
        quota_s: has(MONITORING_QUOTA_S).then(|| eye.u32()),
    }
}

fn read_lost(eye: &mut OctetReader<'_>) -> DroppedDlTrafficThreshold {
    let bits = eye.u8();
    let mut part = |bit| (bits & bit != 0).then(|| eye.u64());
    DroppedDlTrafficThreshold {
        downlink_packets: part(LOST_PACKETS),
        downlink_octets: part(LOST_OCTETS),
    }
}

fn read_volume(eye: &mut OctetReader<'_>) -> Volume {
    let bits = eye.u8();
    let mut part = |bit| {
        let is_there = bits & bit != 0;
        is_there.then(|| {
            if bits & VOLUME_LONG != 0 {
                eye.u64()
            } else {
                eye.u32().into()
            }
        })
    };
    Volume {
        total: part(VOLUME_TOTAL),
        uplink: part(VOLUME_UPLINK),
        downlink: part(VOLUME_DOWNLINK),
    }
}
