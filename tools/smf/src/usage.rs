//! Usage as the UPF reports it (TS 29.244, 7.5.5.2, 7.5.7.2, 7.5.8.3).

use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::value::{UsageReportTrigger, VolumeMeasurement};

/// Usage reports in the order in which they stood in the message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Usage {
    /// One for each URR that had something to tell.
    pub urrs: Vec<UrrUsage>,
}

/// Usage of one URR since its last report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UrrUsage {
    pub urr_id: UrrId,
    /// Counts the URR's reports from 0 (UR-SEQN).
    pub sequence: u32,
    /// Why the report was made.
    pub trigger: UsageReportTrigger,
    /// Volume, octets of inner packets; packet counts if they were asked for and are supported.
    pub volume: VolumeMeasurement,
    /// Duration, seconds.
    pub duration_s: Option<u32>,
}

/// Octets and packets of one URR in numbers; what was not reported is 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Traffic {
    pub uplink_octets: u64,
    pub downlink_octets: u64,
    /// Octets of both directions, as reported.
    pub total_octets: u64,
    pub uplink_packets: u64,
    pub downlink_packets: u64,
    /// Packets of both directions, as reported.
    pub total_packets: u64,
}

impl Usage {
    pub(crate) fn read(reports: &[UsageReport<'_>]) -> Self {
        Self {
            urrs: reports.iter().map(UrrUsage::read).collect(),
        }
    }

    /// The report of a URR; of several in one message the last.
    pub fn of(&self, urr_id: UrrId) -> Option<&UrrUsage> {
        self.urrs.iter().rev().find(|urr| urr.urr_id == urr_id)
    }

    /// The traffic that a URR reported in this message, all its reports together.
    pub fn traffic(&self, urr_id: UrrId) -> Traffic {
        let reports = self.urrs.iter().filter(|urr| urr.urr_id == urr_id);
        reports.fold(Traffic::default(), |sum, urr| sum.plus(urr.traffic()))
    }
}

impl UrrUsage {
    fn read(report: &UsageReport<'_>) -> Self {
        Self {
            urr_id: report.urr_id,
            sequence: report.ur_seqn,
            trigger: report.usage_report_trigger,
            volume: report.volume_measurement.unwrap_or_default(),
            duration_s: report.duration_measurement.map(|duration| duration.0),
        }
    }

    /// The volume in numbers.
    pub fn traffic(&self) -> Traffic {
        let VolumeMeasurement {
            total,
            uplink,
            downlink,
            total_packets,
            uplink_packets,
            downlink_packets,
        } = self.volume;
        Traffic {
            uplink_octets: uplink.unwrap_or(0),
            downlink_octets: downlink.unwrap_or(0),
            total_octets: total.unwrap_or(0),
            uplink_packets: uplink_packets.unwrap_or(0),
            downlink_packets: downlink_packets.unwrap_or(0),
            total_packets: total_packets.unwrap_or(0),
        }
    }
}

impl Traffic {
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            uplink_octets: self.uplink_octets.saturating_add(other.uplink_octets),
            downlink_octets: self.downlink_octets.saturating_add(other.downlink_octets),
            total_octets: self.total_octets.saturating_add(other.total_octets),
            uplink_packets: self.uplink_packets.saturating_add(other.uplink_packets),
            downlink_packets: self.downlink_packets.saturating_add(other.downlink_packets),
            total_packets: self.total_packets.saturating_add(other.total_packets),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(urr: u32, sequence: u32, uplink: u64) -> UsageReport<'static> {
        UsageReport {
            urr_id: UrrId(urr),
            ur_seqn: sequence,
            volume_measurement: Some(VolumeMeasurement {
                uplink: Some(uplink),
                ..VolumeMeasurement::default()
            }),
            ..UsageReport::default()
        }
    }

    #[test]
    fn several_reports_of_a_urr_are_added() {
        let usage = Usage::read(&[report(1, 0, 100), report(2, 0, 7), report(1, 1, 20)]);
        assert_eq!(usage.traffic(UrrId(1)).uplink_octets, 120);
        assert_eq!(usage.of(UrrId(1)).map(|urr| urr.sequence), Some(1));
        assert_eq!(usage.traffic(UrrId(3)), Traffic::default());
        assert_eq!(usage.of(UrrId(3)), None);
    }
}
