//! Usage of a URR and its reports (TS 29.244, 7.5.5.2, 8.2.40 to 8.2.44).

use sluice_wire::ids::UrrId;
use sluice_wire::pfcp::group::{CreateUrr, UpdateUrr, UsageReport};
use sluice_wire::pfcp::value::{
    MeasurementInformation, MeasurementMethod, NtpTime, UsageReportTrigger, VolumeMeasurement,
};

/// Volume of one direction.
#[derive(Clone, Copy, Default, Debug)]
struct Volume {
    bytes: u64,
    packets: u64,
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
        }
    }

    /// As updated; measuring goes on.
    pub fn update(&mut self, ie: &UpdateUrr<'_>) {
        if let Some(method) = ie.measurement_method {
            self.method = method;
        }
        if let Some(edit) = &ie.measurement_information {
            self.information = edit.value().copied().unwrap_or_default();
        }
    }

    /// A packet of `bytes` (the inner IP packet) left.
    pub fn count(&mut self, uplink: bool, bytes: usize) {
        if self.information.contains(MeasurementInformation::INAM) {
            return;
        }
        let volume = if uplink {
            &mut self.uplink
        } else {
            &mut self.downlink
        };
        volume.bytes += bytes as u64;
        volume.packets += 1;
    }

    /// The report of what was measured since the last one.
    pub fn report(&mut self, trigger: UsageReportTrigger, now: NtpTime) -> UsageReport<'static> {
        let (up, down) = (self.uplink, self.downlink);
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
        let measures_volume = self.method.contains(MeasurementMethod::VOLUM);
        let report = UsageReport {
            urr_id: self.id,
            ur_seqn: self.reports,
            usage_report_trigger: trigger,
            start_time: Some(self.since),
            end_time: Some(now),
            volume_measurement: measures_volume.then_some(volume),
            ..UsageReport::default()
        };
        self.reports += 1;
        self.since = now;
        (self.uplink, self.downlink) = Default::default();
        report
    }
}
