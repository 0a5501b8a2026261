//! Usage of a URR until it is reported.

use crate::slab::Node;
use sluice_datapath::session::txn::Usage;
use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::value::{
    MeasurementInformation, MeasurementMethod, NtpTime, UsageInformation, UsageReportTrigger,
    VolumeMeasurement,
};

/// What a URR wants to know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReportContent {
    /// Measurement Method: volume.
    volume: bool,
    /// Measurement Information: numbers of packets (MNOP).
    packets: bool,
    /// Measurement Information: usage before QoS enforcement (MBQE).
    before_qos: bool,
}

impl ReportContent {
    /// As the URR says.
    pub fn by(method: MeasurementMethod, information: MeasurementInformation) -> Self {
        Self {
            volume: method.contains(MeasurementMethod::VOLUM),
            packets: information.contains(MeasurementInformation::MNOP),
            before_qos: information.contains(MeasurementInformation::MBQE),
        }
    }
}

// There is one for each URR of each session.
const _: () = assert!(size_of::<Node<Meter>>() == 48);

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
        }
    }

    /// Adds usage of one direction.
    pub fn add(&mut self, uplink: bool, usage: Usage) {
        let sum = &mut self.usage[usize::from(!uplink)];
        sum.bytes += usage.bytes;
        sum.packets += usage.packets;
    }

    /// The usage since the last report (TS 29.244, 7.5.5.2); the next one begins at zero.
    pub fn report(&mut self, trigger: UsageReportTrigger, end: NtpTime) -> UsageReport<'static> {
        let [uplink, downlink] = core::mem::take(&mut self.usage);
        let sequence = self.sequence;
        self.sequence = sequence.wrapping_add(1);
        let start = core::mem::replace(&mut self.start, end);
        UsageReport {
            urr_id: self.urr,
            ur_seqn: sequence,
            usage_report_trigger: trigger,
            start_time: Some(start),
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
        let told = ReportContent::by(MeasurementMethod::VOLUM, information);
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
