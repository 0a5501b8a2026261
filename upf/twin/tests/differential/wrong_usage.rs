//! Twins that read URRs or the inactivity timer of a session wrongly.

use crate::run::Falsify;
use sluice_wire::pfcp::group::CreateUrr;
use sluice_wire::pfcp::message::SessionEstablishmentRequest;
use sluice_wire::pfcp::value::{MeasurementInformation, ReportingTriggers, Seconds};

/// All of them, with what they do.
pub fn all() -> Vec<(&'static str, Box<dyn Falsify>)> {
    let of_urrs: [(&'static str, ReadsUrr); 16] = [
        ("knows no time threshold", |u| u.time_threshold = None),
        ("adds a second to quotas of time", |u| {
            u.time_quota = u.time_quota.map(|time| Seconds(time.0 + 1));
        }),
        ("knows no validity", |u| u.quota_validity_time = None),
        ("knows no monitoring time", |u| u.monitoring_time = None),
        ("keeps thresholds after the monitoring time", |u| {
            u.subsequent_volume_threshold = None;
        }),
        ("keeps quotas after the monitoring time", |u| {
            u.subsequent_volume_quota = None;
        }),
        ("keeps time thresholds after the monitoring time", |u| {
            u.subsequent_time_threshold = None;
        }),
        ("keeps time quotas after the monitoring time", |u| {
            u.subsequent_time_quota = None;
        }),
        ("knows no holding", |u| u.quota_holding_time = None),
        ("measures time without a pause", |u| {
            u.inactivity_detection_time = None;
        }),
        ("tells of no stop", |u| {
            u.reporting_triggers.0 &= !ReportingTriggers::STOPT.0;
        }),
        ("waits for the first packet", |u| {
            if let Some(information) = &mut u.measurement_information {
                information.0 &= !MeasurementInformation::ISTM.0;
            }
        }),
        ("counts after QoS enforcement alone", |u| {
            if let Some(information) = &mut u.measurement_information {
                information.0 &= !MeasurementInformation::MBQE.0;
            }
        }),
        ("tells of one lost packet more", |u| {
            if let Some(lost) = &mut u.dropped_dl_traffic_threshold {
                lost.downlink_packets = lost.downlink_packets.map(|n| n.saturating_add(1));
            }
        }),
        ("counts no lost octets", |u| {
            if let Some(lost) = &mut u.dropped_dl_traffic_threshold {
                lost.downlink_octets = None;
            }
        }),
        ("adds an octet to thresholds", |u| {
            if let Some(volume) = &mut u.volume_threshold {
                let parts = [&mut volume.total, &mut volume.uplink, &mut volume.downlink];
                parts.into_iter().flatten().for_each(|octets| *octets += 1);
            }
        }),
    ];
    let mut all: Vec<(_, Box<dyn Falsify>)> = Vec::new();
    for (name, reads) in of_urrs {
        all.push((name, Box::new(Urrs(reads))));
    }
    all.push(("knows no inactivity timer", Box::new(NoTimer)));
    all
}

/// How a URR is changed before the twin reads it.
type ReadsUrr = fn(&mut CreateUrr<'_>);

struct Urrs(ReadsUrr);

impl Falsify for Urrs {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        request.create_urr.iter_mut().for_each(self.0);
    }
}

struct NoTimer;

impl Falsify for NoTimer {
    fn establishment(&mut self, request: &mut SessionEstablishmentRequest<'_>) {
        request.user_plane_inactivity_timer = None;
    }
}
