//! Usage of a URR until it is reported.

use crate::index::slab::Node;
use crate::rules::Urr;
use crate::usage::clock::UsageClock;
use crate::usage::monitoring::UsageBefore;
use core::num::{NonZeroU8, NonZeroU32};
use sluice_datapath::session::txn::Usage;
use sluice_datapath::session::usage_record::UrrState;
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::value::{
    MeasurementInformation, MeasurementMethod, NtpTime, Seconds, UsageInformation,
    UsageReportTrigger, VolumeMeasurement,
};

/// What a URR wants to know, as bits. One is always set, so that a place for none takes no room.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportContent(NonZeroU8);

impl ReportContent {
    const ALWAYS: NonZeroU8 = NonZeroU8::MIN;
    /// What happens on the path of which a report is made: threshold, quota, first packet.
    const MARKS: [(u8, UrrState, UsageReportTrigger); 3] = [
        (1 << 1, UrrState::THRESHOLD, UsageReportTrigger::VOLTH),
        (1 << 2, UrrState::QUOTA, UsageReportTrigger::VOLQU),
        (1 << 3, UrrState::STARTED, UsageReportTrigger::START),
    ];
    /// Measurement Method: volume.
    const VOLUME: u8 = 1 << 4;
    /// Measurement Method: duration.
    const DURATION: u8 = 1 << 5;
    /// Measurement Information: numbers of packets (MNOP).
    const PACKETS: u8 = 1 << 6;

    /// As the URR says.
    pub fn of(urr: &Urr) -> Self {
        let (method, information) = (urr.method, urr.information);
        let wants = [
            (Self::VOLUME, method.contains(MeasurementMethod::VOLUM)),
            (Self::DURATION, method.contains(MeasurementMethod::DURAT)),
            (
                Self::PACKETS,
                information.contains(MeasurementInformation::MNOP),
            ),
        ];
        let told = urr.told();
        let marks = Self::MARKS.map(|(bit, mark, _)| (bit, told.has_any(mark)));
        let all = wants.into_iter().chain(marks).filter(|(_, wants)| *wants);
        Self(all.fold(Self::ALWAYS, |all, (bit, _)| all | bit))
    }

    fn has(self, bit: u8) -> bool {
        self.0.get() & bit != 0
    }

    /// The triggers of what has happened on the path. Only a URR that asks for it has a threshold of lost packets there.
    fn triggers(self, marks: UrrState) -> UsageReportTrigger {
        let lost = if marks.has_any(UrrState::LOST) {
            UsageReportTrigger::DROTH
        } else {
            UsageReportTrigger::NONE
        };
        let told = Self::MARKS.into_iter();
        let told = told.filter(|(bit, mark, _)| self.has(*bit) && marks.has_any(*mark));
        told.fold(lost, |all, (.., trigger)| all.union(trigger))
    }
}

// There is one for each URR of each session.
const _: () = assert!(size_of::<Node<Meter>>() == 64);

/// Usage of one URR since its last report.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Meter {
    /// The URR.
    pub urr: UrrId,
    /// What is reported of it.
    pub told: ReportContent,
    /// UR-SEQN of the next report.
    pub sequence: u32,
    /// When this measurement began.
    pub start: NtpTime,
    /// Uplink and downlink usage.
    pub usage: [Usage; 2],
    /// When usage was taken from the path last; a report that is due ends there.
    until: NtpTime,
    /// Why a Session Report Request is due; 0 if it is not. A trigger has three octets.
    due: [u8; 3],
    /// When the next periodic report is due, monotonic in seconds; 0 is never.
    pub period_due_s: u32,
    /// What was sent and is not answered.
    pub sent: Option<NonZeroU32>,
    /// Its clock, if time matters to the URR: the place and 1.
    clock: Option<NonZeroU32>,
}

/// What a Session Report Request told of a URR, until it is answered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SentMeasurement {
    sequence: u32,
    start: NtpTime,
    trigger: UsageReportTrigger,
    usage: [Usage; 2],
    used_s: u32,
    before: Option<UsageBefore>,
}

/// Whether a report tells of traffic that starts or stops and of nothing else: it has no Start Time and End Time then
/// (TS 29.244, 7.5.8.3).
fn tells_traffic_alone(trigger: UsageReportTrigger) -> bool {
    let traffic = UsageReportTrigger::START.union(UsageReportTrigger::STOPT);
    trigger != UsageReportTrigger::NONE && traffic.contains(trigger)
}

/// Usage Reports of one URR: of what was before its Monitoring Time, if it was, and the rest.
pub type Reports = (Option<UsageReport<'static>>, UsageReport<'static>);

impl Meter {
    /// A meter at zero.
    pub fn new(urr: UrrId, told: ReportContent, start: NtpTime) -> Self {
        Self {
            urr,
            told,
            sequence: 0,
            start,
            usage: [Usage::default(); 2],
            until: start,
            due: [0; 3],
            period_due_s: 0,
            sent: None,
            clock: None,
        }
    }

    /// The place of its clock.
    pub fn clock(&self) -> Option<u32> {
        self.clock.map(|place| place.get() - 1)
    }

    /// Its clock is in that place.
    pub fn set_clock(&mut self, place: Option<u32>) {
        self.clock = place.and_then(|place| NonZeroU32::new(place + 1));
    }

    /// Why a Session Report Request is due; none if it is not.
    pub fn due(&self) -> UsageReportTrigger {
        let [a, b, c] = self.due;
        UsageReportTrigger(u32::from_le_bytes([a, b, c, 0]))
    }

    fn set_due(&mut self, triggers: UsageReportTrigger) {
        let [a, b, c, _] = triggers.0.to_le_bytes();
        self.due = [a, b, c];
    }

    /// Something happened on the path: true if a report is due for it.
    pub fn happened(&mut self, marks: UrrState, wall: NtpTime) -> bool {
        self.is_due_for(self.told.triggers(marks), wall)
    }

    /// True if a periodic report is due at this time.
    pub fn is_period_over(&self, now_s: u32) -> bool {
        self.period_due_s != 0 && self.period_due_s <= now_s
    }

    /// A periodic report is due; the next one a period after it should have been, or as many as have passed.
    pub fn begin_next_period(&mut self, period_s: u32, now_s: u32) {
        let late = now_s.saturating_sub(self.period_due_s) / period_s;
        self.period_due_s = (self.period_due_s).saturating_add(period_s.saturating_mul(late + 1));
    }

    /// A report is due for these triggers, if there are any.
    pub fn is_due_for(&mut self, triggers: UsageReportTrigger, wall: NtpTime) -> bool {
        self.until = wall;
        self.set_due(self.due().union(triggers));
        triggers != UsageReportTrigger::NONE
    }

    /// Adds usage of one direction.
    pub fn add(&mut self, uplink: bool, usage: Usage) {
        let sum = &mut self.usage[usize::from(!uplink)];
        sum.bytes += usage.bytes;
        sum.packets += usage.packets;
    }

    /// The usage since the last report (TS 29.244, 7.5.5.2) in a response; the next one begins at zero. What
    /// was due besides is told with it.
    pub fn report(
        &mut self,
        trigger: UsageReportTrigger,
        end: NtpTime,
        clock: Option<&mut UsageClock>,
    ) -> Reports {
        let reports = self.written(self.due().union(trigger), end, clock.as_deref());
        self.begin_next(end);
        if let Some(clock) = clock {
            self.count_before(clock.take_before().is_some());
            clock.begin_next();
            clock.restart_threshold();
        }
        reports
    }

    /// The report that is due.
    pub fn due_report(&self, clock: Option<&UsageClock>) -> Reports {
        self.written(self.due(), self.until, clock)
    }

    /// The Monitoring Time has come: what was measured is kept apart until it is reported.
    pub fn split(&mut self, clock: &mut UsageClock, at: NtpTime) {
        clock.keep_before(UsageBefore {
            start: self.start,
            end: at,
            usage: core::mem::take(&mut self.usage),
            used_s: clock.used_s(),
        });
        clock.begin_next();
        (self.start, self.until) = (at, at);
    }

    /// What was kept apart was a report of its own.
    fn count_before(&mut self, was_kept: bool) {
        self.sequence = self.sequence.wrapping_add(u32::from(was_kept));
    }

    /// The report that was due is on its way; the next measurement begins at zero.
    pub fn report_left(&mut self, clock: Option<&mut UsageClock>) -> SentMeasurement {
        let (used_s, before) =
            clock.map_or((0, None), |clock| (clock.begin_next(), clock.take_before()));
        let sent = SentMeasurement {
            sequence: self.sequence,
            start: self.start,
            trigger: self.due(),
            usage: self.usage,
            used_s,
            before,
        };
        self.begin_next(self.until);
        self.count_before(before.is_some());
        sent
    }

    /// A report was not answered: what it told is due again. Where nothing was told since, it keeps its number.
    pub fn report_returned(&mut self, sent: &SentMeasurement, clock: Option<&mut UsageClock>) {
        let told = 1 + u32::from(sent.before.is_some());
        if self.sequence == sent.sequence.wrapping_add(told) {
            self.sequence = sent.sequence;
        }
        self.set_due(self.due().union(sent.trigger));
        let mut all = UsageBefore {
            start: sent.start,
            end: self.start,
            usage: sent.usage,
            used_s: sent.used_s,
        };
        if let Some(clock) = clock {
            if clock.before().is_some() {
                // A Monitoring Time came meanwhile: all that was told was before it.
                if let Some(before) = &sent.before {
                    all.follow(before);
                }
                clock.precede_before(&all);
                return;
            }
            clock.returned(sent.used_s);
            sent.before.into_iter().for_each(|b| clock.keep_before(b));
        }
        self.start = sent.start;
        for (sum, usage) in self.usage.iter_mut().zip(sent.usage) {
            sum.bytes += usage.bytes;
            sum.packets += usage.packets;
        }
    }

    fn begin_next(&mut self, at: NtpTime) {
        self.sequence = self.sequence.wrapping_add(1);
        self.usage = Default::default();
        self.start = at;
        self.set_due(UsageReportTrigger::NONE);
    }

    fn written(
        &self,
        trigger: UsageReportTrigger,
        end: NtpTime,
        clock: Option<&UsageClock>,
    ) -> Reports {
        let latest = UsageBefore {
            start: self.start,
            end,
            usage: self.usage,
            used_s: clock.map_or(0, UsageClock::used_s),
        };
        let has_clock = clock.is_some();
        let Some(before) = clock.and_then(UsageClock::before) else {
            return (None, self.one(0, trigger, (&latest, has_clock), None));
        };
        let (monit, bef, aft) = (
            UsageReportTrigger::MONIT,
            UsageInformation::BEF,
            UsageInformation::AFT,
        );
        let first = self.one(0, monit, (before, has_clock), Some(bef));
        let second = self.one(1, trigger, (&latest, has_clock), Some(aft));
        (Some(first), second)
    }

    /// One Usage Report, so many behind the next number.
    fn one(
        &self,
        behind: u32,
        trigger: UsageReportTrigger,
        (measured, has_clock): (&UsageBefore, bool),
        part: Option<UsageInformation>,
    ) -> UsageReport<'static> {
        let [uplink, downlink] = measured.usage;
        let has = |bit| self.told.has(bit);
        let used_s = has_clock && has(ReportContent::DURATION);
        let has_times = !tells_traffic_alone(trigger);
        UsageReport {
            urr_id: self.urr,
            ur_seqn: self.sequence.wrapping_add(behind),
            usage_report_trigger: trigger,
            start_time: has_times.then_some(measured.start),
            end_time: has_times.then_some(measured.end),
            volume_measurement: has(ReportContent::VOLUME).then(|| self.volume(uplink, downlink)),
            duration_measurement: used_s.then_some(Seconds(measured.used_s)),
            // One URR measures before QoS enforcement or behind it, as its CP function says, never both: it has parts
            // to be told apart by the Monitoring Time alone.
            usage_information: part,
            ..UsageReport::default()
        }
    }

    /// Octets always; packets where the URR asks for them (MNOP).
    fn volume(&self, uplink: Usage, downlink: Usage) -> VolumeMeasurement {
        let packets = self.told.has(ReportContent::PACKETS);
        VolumeMeasurement {
            total: Some(uplink.bytes + downlink.bytes),
            uplink: Some(uplink.bytes),
            downlink: Some(downlink.bytes),
            total_packets: packets.then_some(uplink.packets + downlink.packets),
            uplink_packets: packets.then_some(uplink.packets),
            downlink_packets: packets.then_some(downlink.packets),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_wire::pfcp::value::ReportingTriggers;

    fn usage(bytes: u64, packets: u64) -> Usage {
        Usage { bytes, packets }
    }

    fn meter(information: MeasurementInformation, start_s: u32) -> Meter {
        let triggers = ReportingTriggers::VOLTH | ReportingTriggers::START;
        let told = ReportContent::of(&Urr {
            method: MeasurementMethod::VOLUM,
            information,
            triggers,
            ..Urr::new(UrrId(3))
        });
        Meter::new(UrrId(3), told, NtpTime(start_s))
    }

    #[test]
    fn a_report_starts_the_next_measurement() {
        let information = MeasurementInformation::MNOP;
        let mut meter = meter(information, 100);
        meter.add(true, usage(50, 1));
        meter.add(false, usage(700, 2));
        let (_, report) = meter.report(UsageReportTrigger::IMMER, NtpTime(160), None);
        let volume = report.volume_measurement.unwrap();
        assert_eq!(
            (volume.total, volume.uplink, volume.downlink),
            (Some(750), Some(50), Some(700))
        );
        assert_eq!(volume.total_packets, Some(3));
        assert_eq!((report.start_time, report.ur_seqn), (Some(NtpTime(100)), 0));
        let (_, next) = meter.report(UsageReportTrigger::TERMR, NtpTime(170), None);
        assert_eq!(next.volume_measurement.unwrap().total, Some(0));
        assert_eq!((next.start_time, next.ur_seqn), (Some(NtpTime(160)), 1));
    }

    #[test]
    fn a_report_that_is_not_answered_is_due_again_with_its_number_and_all_usage() {
        let mut meter = meter(MeasurementInformation::default(), 100);
        meter.add(true, usage(1_000, 1));
        assert!(!meter.happened(UrrState::default(), NtpTime(105)));
        assert!(meter.happened(UrrState::THRESHOLD.with(UrrState::STARTED), NtpTime(110)));
        let (_, due) = meter.due_report(None);
        let both = UsageReportTrigger::VOLTH.union(UsageReportTrigger::START);
        assert_eq!((due.ur_seqn, due.usage_report_trigger), (0, both));
        let sent = meter.report_left(None);
        assert_eq!(meter.due(), UsageReportTrigger::NONE);
        meter.add(false, usage(50, 1));
        meter.report_returned(&sent, None);
        let (_, again) = meter.due_report(None);
        assert_eq!((again.ur_seqn, again.start_time), (0, Some(NtpTime(100))));
        assert_eq!(again.volume_measurement.unwrap().total, Some(1_050));
        // A response told of the next measurement meanwhile: its number is gone.
        let sent = meter.report_left(None);
        assert_eq!(
            meter
                .report(UsageReportTrigger::IMMER, NtpTime(120), None)
                .1
                .ur_seqn,
            1
        );
        meter.report_returned(&sent, None);
        assert_eq!(meter.due_report(None).1.ur_seqn, 2);
    }

    #[test]
    fn a_urr_that_measures_at_one_place_alone_has_nothing_to_tell_apart() {
        let mut meter = meter(MeasurementInformation::MBQE, 0);
        let (_, report) = meter.report(UsageReportTrigger::IMMER, NtpTime(1), None);
        assert_eq!(report.usage_information, None);
        // With a Monitoring Time it has: before and after that.
        let mut clock = UsageClock::changed(None, &Urr::new(UrrId(3)), 0);
        meter.split(&mut clock, NtpTime(2));
        let (before, after) = meter.report(UsageReportTrigger::IMMER, NtpTime(3), Some(&mut clock));
        let told = [before.unwrap(), after].map(|report| report.usage_information);
        assert_eq!(
            told,
            [UsageInformation::BEF, UsageInformation::AFT].map(Some)
        );
    }

    #[test]
    fn a_report_of_traffic_that_starts_or_stops_has_no_times() {
        let mut meter = meter(MeasurementInformation::default(), 100);
        let both = UsageReportTrigger::START.union(UsageReportTrigger::PERIO);
        for (trigger, has_times) in [
            (UsageReportTrigger::START, false),
            (UsageReportTrigger::STOPT, false),
            (UsageReportTrigger::IMMER, true),
            (both, true),
        ] {
            let (_, report) = meter.report(trigger, NtpTime(110), None);
            let times = [report.start_time, report.end_time].map(|time| time.is_some());
            assert_eq!(times, [has_times; 2], "{trigger:?}");
        }
    }

    #[test]
    fn packets_are_reported_where_the_urr_asks() {
        let information = MeasurementInformation::default();
        let mut meter = meter(information, 0);
        let (_, report) = meter.report(UsageReportTrigger::IMMER, NtpTime(1), None);
        assert_eq!(report.volume_measurement.unwrap().total_packets, None);
    }

    /// A meter with a clock that was split at 120 with 30 octets, and has measured 5 since.
    fn split() -> (Meter, UsageClock) {
        let urr = Urr {
            method: MeasurementMethod::DURAT,
            ..Urr::new(UrrId(3))
        };
        let mut meter = meter(MeasurementInformation::NONE, 100);
        let mut clock = UsageClock::changed(None, &urr, 100);
        meter.add(true, usage(30, 1));
        meter.split(&mut clock, NtpTime(120));
        meter.add(true, usage(5, 1));
        (meter, clock)
    }

    fn parts((before, latest): Reports) -> Vec<(u32, [u32; 2], u64)> {
        let all = before.into_iter().chain([latest]);
        let part = |report: UsageReport<'_>| {
            let [start, end] = [report.start_time, report.end_time].map(|time| time.unwrap().0);
            let octets = report.volume_measurement.unwrap().total.unwrap();
            (report.ur_seqn, [start, end], octets)
        };
        all.map(part).collect()
    }

    #[test]
    fn both_parts_are_told_again_if_nobody_answers() {
        let (mut meter, mut clock) = split();
        meter.is_due_for(UsageReportTrigger::PERIO, NtpTime(140));
        let both = [(0, [100, 120], 30), (1, [120, 140], 5)];
        assert_eq!(parts(meter.due_report(Some(&clock))), both);
        let sent = meter.report_left(Some(&mut clock));
        assert_eq!((meter.sequence, clock.before()), (2, None));
        meter.add(true, usage(7, 1));
        meter.report_returned(&sent, Some(&mut clock));
        meter.is_due_for(UsageReportTrigger::PERIO, NtpTime(160));
        let again = [(0, [100, 120], 30), (1, [120, 160], 12)];
        assert_eq!(parts(meter.due_report(Some(&clock))), again);
    }

    #[test]
    fn what_was_told_before_a_monitoring_time_comes_back_before_it() {
        let (mut meter, mut clock) = split();
        meter.is_due_for(UsageReportTrigger::PERIO, NtpTime(140));
        let sent = meter.report_left(Some(&mut clock));
        meter.add(true, usage(7, 1));
        meter.split(&mut clock, NtpTime(150));
        meter.add(true, usage(2, 1));
        meter.report_returned(&sent, Some(&mut clock));
        meter.is_due_for(UsageReportTrigger::PERIO, NtpTime(160));
        // The earlier of two Monitoring Times is told no more; no octet is lost.
        let all = [(0, [100, 150], 42), (1, [150, 160], 2)];
        assert_eq!(parts(meter.due_report(Some(&clock))), all);
    }
}
