//! Usage of a URR until it is reported.

use crate::rules::Urr;
use crate::slab::Node;
use core::num::NonZeroU32;
use sluice_datapath::session::txn::Usage;
use sluice_datapath::session::usage_record::UrrState;
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::value::{
    MeasurementInformation, MeasurementMethod, NtpTime, UsageInformation, UsageReportTrigger,
    VolumeMeasurement,
};

/// What a URR wants to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportContent {
    /// What happens on the path of which a report is made.
    marks: UrrState,
    /// Measurement Method: volume.
    volume: bool,
    /// Measurement Information: numbers of packets (MNOP).
    packets: bool,
    /// Measurement Information: usage before QoS enforcement (MBQE).
    before_qos: bool,
}

impl ReportContent {
    /// As the URR says.
    pub fn of(urr: &Urr) -> Self {
        let (method, information) = (urr.method, urr.information);
        Self {
            marks: urr.told(),
            volume: method.contains(MeasurementMethod::VOLUM),
            packets: information.contains(MeasurementInformation::MNOP),
            before_qos: information.contains(MeasurementInformation::MBQE),
        }
    }

    /// The triggers of what has happened on the path.
    fn triggers(self, marks: UrrState) -> UsageReportTrigger {
        let all = [
            (UrrState::THRESHOLD, UsageReportTrigger::VOLTH),
            (UrrState::QUOTA, UsageReportTrigger::VOLQU),
            (UrrState::STARTED, UsageReportTrigger::START),
        ];
        let marks = marks.and(self.marks);
        let told = all.into_iter().filter(|(mark, _)| marks.has_any(*mark));
        told.fold(UsageReportTrigger::NONE, |all, (_, trigger)| {
            all.union(trigger)
        })
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
    /// Why a Session Report Request is due; none if it is not.
    pub due: UsageReportTrigger,
    /// When the next periodic report is due, monotonic in seconds; 0 is never.
    pub period_due_s: u32,
    /// What was sent and is not answered.
    pub sent: Option<NonZeroU32>,
}

/// What a Session Report Request told of a URR, until it is answered.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct SentMeasurement {
    sequence: u32,
    start: NtpTime,
    trigger: UsageReportTrigger,
    usage: [Usage; 2],
}

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
            due: UsageReportTrigger::NONE,
            period_due_s: 0,
            sent: None,
        }
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
        self.due = self.due.union(triggers);
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
    pub fn report(&mut self, trigger: UsageReportTrigger, end: NtpTime) -> UsageReport<'static> {
        let report = self.written(self.due.union(trigger), end);
        self.begin_next(end);
        report
    }

    /// The report that is due.
    pub fn due_report(&self) -> UsageReport<'static> {
        self.written(self.due, self.until)
    }

    /// The report that was due is on its way; the next measurement begins at zero.
    pub fn report_left(&mut self) -> SentMeasurement {
        let sent = SentMeasurement {
            sequence: self.sequence,
            start: self.start,
            trigger: self.due,
            usage: self.usage,
        };
        self.begin_next(self.until);
        sent
    }

    /// A report was not answered: what it told is due again. Where nothing was told since, it keeps its number.
    pub fn report_returned(&mut self, sent: &SentMeasurement) {
        if self.sequence == sent.sequence.wrapping_add(1) {
            self.sequence = sent.sequence;
        }
        self.start = sent.start;
        self.due = self.due.union(sent.trigger);
        for (sum, usage) in self.usage.iter_mut().zip(sent.usage) {
            sum.bytes += usage.bytes;
            sum.packets += usage.packets;
        }
    }

    fn begin_next(&mut self, at: NtpTime) {
        self.sequence = self.sequence.wrapping_add(1);
        self.usage = Default::default();
        self.start = at;
        self.due = UsageReportTrigger::NONE;
    }

    fn written(&self, trigger: UsageReportTrigger, end: NtpTime) -> UsageReport<'static> {
        let [uplink, downlink] = self.usage;
        UsageReport {
            urr_id: self.urr,
            ur_seqn: self.sequence,
            usage_report_trigger: trigger,
            start_time: Some(self.start),
            end_time: Some(end),
            volume_measurement: self.told.volume.then(|| self.volume(uplink, downlink)),
            // Usage is counted after QoS enforcement; whoever asked for the other is told.
            usage_information: self.told.before_qos.then_some(UsageInformation::UAE),
            ..UsageReport::default()
        }
    }

    /// Octets always; packets where the URR asks for them (MNOP).
    fn volume(&self, uplink: Usage, downlink: Usage) -> VolumeMeasurement {
        let packets = self.told.packets;
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

    fn usage(bytes: u64, packets: u64) -> Usage {
        Usage { bytes, packets }
    }

    fn meter(information: MeasurementInformation, start_s: u32) -> Meter {
        let told = ReportContent {
            marks: UrrState::MARKS,
            volume: true,
            packets: information.contains(MeasurementInformation::MNOP),
            before_qos: information.contains(MeasurementInformation::MBQE),
        };
        Meter::new(UrrId(3), told, NtpTime(start_s))
    }

    #[test]
    fn a_report_starts_the_next_measurement() {
        let information = MeasurementInformation::MNOP;
        let mut meter = meter(information, 100);
        meter.add(true, usage(50, 1));
        meter.add(false, usage(700, 2));
        let report = meter.report(UsageReportTrigger::IMMER, NtpTime(160));
        let volume = report.volume_measurement.unwrap();
        assert_eq!(
            (volume.total, volume.uplink, volume.downlink),
            (Some(750), Some(50), Some(700))
        );
        assert_eq!(volume.total_packets, Some(3));
        assert_eq!((report.start_time, report.ur_seqn), (Some(NtpTime(100)), 0));
        let next = meter.report(UsageReportTrigger::TERMR, NtpTime(170));
        assert_eq!(next.volume_measurement.unwrap().total, Some(0));
        assert_eq!((next.start_time, next.ur_seqn), (Some(NtpTime(160)), 1));
    }

    #[test]
    fn a_report_that_is_not_answered_is_due_again_with_its_number_and_all_usage() {
        let mut meter = meter(MeasurementInformation::default(), 100);
        meter.add(true, usage(1_000, 1));
        assert!(!meter.happened(UrrState::default(), NtpTime(105)));
        assert!(meter.happened(UrrState::THRESHOLD.with(UrrState::STARTED), NtpTime(110)));
        let due = meter.due_report();
        let both = UsageReportTrigger::VOLTH.union(UsageReportTrigger::START);
        assert_eq!((due.ur_seqn, due.usage_report_trigger), (0, both));
        let sent = meter.report_left();
        assert_eq!(meter.due, UsageReportTrigger::NONE);
        meter.add(false, usage(50, 1));
        meter.report_returned(&sent);
        let again = meter.due_report();
        assert_eq!((again.ur_seqn, again.start_time), (0, Some(NtpTime(100))));
        assert_eq!(again.volume_measurement.unwrap().total, Some(1_050));
        // A response told of the next measurement meanwhile: its number is gone.
        let sent = meter.report_left();
        assert_eq!(
            meter
                .report(UsageReportTrigger::IMMER, NtpTime(120))
                .ur_seqn,
            1
        );
        meter.report_returned(&sent);
        assert_eq!(meter.due_report().ur_seqn, 2);
    }

    #[test]
    fn a_urr_that_wants_usage_before_qos_is_told_what_it_gets() {
        let information = MeasurementInformation::MBQE;
        let mut meter = meter(information, 0);
        let report = meter.report(UsageReportTrigger::IMMER, NtpTime(1));
        assert_eq!(report.usage_information, Some(UsageInformation::UAE));
    }

    #[test]
    fn packets_are_reported_where_the_urr_asks() {
        let information = MeasurementInformation::default();
        let mut meter = meter(information, 0);
        let report = meter.report(UsageReportTrigger::IMMER, NtpTime(1));
        assert_eq!(report.volume_measurement.unwrap().total_packets, None);
    }
}
