//! Results of a load run.

use serde::Serialize;
use sluice_port::Packet;
use sluice_wire::gtpu::Message;

use crate::engine::Lane;
use crate::flows::Direction;
use crate::sink::{Sink, TimeSummary};

/// Direction of packets that are measured together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneName {
    /// From N3 to N6.
    Uplink,
    /// From N6 to N3.
    Downlink,
    /// From N3 to a mirror on N6 and back.
    RoundTrip,
}

impl From<Direction> for LaneName {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::Uplink => Self::Uplink,
            Direction::Downlink => Self::Downlink,
        }
    }
}

impl LaneName {
    /// As people read it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Uplink => "uplink",
            Self::Downlink => "downlink",
            Self::RoundTrip => "round trip",
        }
    }
}

/// Everything about one run.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// How long was sent, in seconds.
    pub sending_s: f64,
    /// Whether somebody ended it before its plan did.
    pub stopped_early: bool,
    pub lanes: Vec<LaneReport>,
    /// Received frames that are no packets of this run.
    pub strays: Strays,
    pub timeline: Vec<Interval>,
}

/// One lane of a run. Lengths are octets of the UEs' IP packets.
#[derive(Clone, Debug, Serialize)]
pub struct LaneReport {
    pub lane: LaneName,
    /// Packets that the plan wanted: sent, refused and unsent.
    pub offered: u64,
    pub sent: u64,
    /// Packets for which the port had no room until patience ended; they are lost.
    pub refused: u64,
    /// Packets that the generator was too slow to make.
    pub unsent: u64,
    /// Sent later after their due time than allowed.
    pub late: u64,
    /// Whether arrivals could be seen here.
    pub measured: bool,
    /// Different packets that arrived.
    pub received: u64,
    /// Sent or refused, and never arrived.
    pub lost: u64,
    /// Of those sent or refused.
    pub loss_ratio: f64,
    pub duplicates: u64,
    /// Arrived below the highest sequence of their flow (RFC 4737).
    pub reordered: u64,
    /// Too old to be told from duplicates; 0 means that loss and duplicates are exact.
    pub undecided: u64,
    /// Distance in packets up to which duplicates are distinguished from late packets.
    pub window_packets: u64,
    pub flows: u64,
    /// Flows that lost a packet.
    pub flows_with_loss: u64,
    /// Per second of sending.
    pub offered_pps: f64,
    /// Per second of sending.
    pub sent_pps: f64,
    /// Per second of sending.
    pub received_pps: f64,
    /// Bits of IP packets per second of sending.
    pub sent_bps: f64,
    /// Bits of IP packets per second of sending.
    pub received_bps: f64,
    /// From the time when packets were due: what a queue before the generator's door would see.
    pub latency: TimeSummary,
    pub latency_from_sent: TimeSummary,
    /// How late they were sent.
    pub lateness: TimeSummary,
    /// RFC 3550's estimate, mean over flows.
    pub jitter_mean_ns: f64,
    /// The highest of any flow.
    pub jitter_max_ns: f64,
    /// Bars of the latency histogram: upper end in nanoseconds, and packets.
    pub latency_bars: Vec<(u64, u64)>,
}

impl LaneReport {
    pub(crate) fn new<P: Packet>(
        name: LaneName,
        lane: &Lane<P>,
        sink: Option<&Sink>,
        seconds: f64,
    ) -> Self {
        let counts = lane.counts;
        let made = counts.sent + counts.refused;
        let offered = made + counts.unsent;
        let arrived = sink.map(|sink| sink.counts).unwrap_or_default();
        let lost = match sink {
            Some(_) => made.saturating_sub(arrived.unique),
            None => counts.refused,
        };
        let per_s = |count: u64| {
            if seconds > 0.0 {
                count as f64 / seconds
            } else {
                0.0
            }
        };
        let (flows, flows_with_loss) = flows_of(&lane.made, sink);
        let (jitter_mean_ns, jitter_max_ns) = sink.map_or((0.0, 0.0), Sink::jitter_ns);
        Self {
            lane: name,
            offered,
            sent: counts.sent,
            refused: counts.refused,
            unsent: counts.unsent,
            late: counts.late,
            measured: sink.is_some(),
            received: arrived.unique,
            lost,
            loss_ratio: lost as f64 / made.max(1) as f64,
            duplicates: arrived.duplicates,
            reordered: arrived.reordered,
            undecided: arrived.undecided,
            window_packets: sink.map_or(0, |sink| sink.tracker.window_packets() as u64),
            flows,
            flows_with_loss,
            offered_pps: per_s(offered),
            sent_pps: per_s(counts.sent),
            received_pps: per_s(arrived.unique),
            sent_bps: per_s(counts.ip_bytes) * 8.0,
            received_bps: per_s(arrived.ip_bytes) * 8.0,
            latency: sink.map(|sink| sink.from_due.summary()).unwrap_or_default(),
            latency_from_sent: sink
                .map(|sink| sink.from_sent.summary())
                .unwrap_or_default(),
            lateness: lane.lateness.summary(),
            jitter_mean_ns,
            jitter_max_ns,
            latency_bars: sink.map(|sink| sink.from_due.bars()).unwrap_or_default(),
        }
    }

    /// Whether the generator could not keep up with the plan by itself: one packet in 1000 was
    /// never made.
    pub fn is_generator_bound(&self) -> bool {
        self.unsent * 1000 > self.offered
    }
}

/// How many flows sent, and how many of those lost packets.
fn flows_of(made: &[u64], sink: Option<&Sink>) -> (u64, u64) {
    let sent = made.iter().filter(|made| **made > 0).count() as u64;
    let Some(sink) = sink else {
        return (sent, 0);
    };
    let pairs = made.iter().zip(sink.tracker.flows());
    let lossy = pairs.filter(|(made, state)| state.unique < **made).count();
    (sent, lossy as u64)
}

/// Received frames that were not counted as packets of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Strays {
    /// Packets of ours, of an earlier run.
    pub stale: u64,
    /// Packets of ours at the wrong side, in the wrong tunnel or for the wrong UE.
    pub misdelivered: u64,
    /// Frames with headers that are not what they should be.
    pub malformed: u64,
    /// Parts of packets; they are not put together, and their packets count as lost.
    pub fragments: u64,
    pub arp: u64,
    /// GTP-U Echo Requests, answered.
    pub echo_requests: u64,
    /// ICMP "fragmentation needed" (RFC 792): a packet was too long for a link behind.
    pub too_big: u64,
    /// GTP-U Error Indications: the UPF does not know a tunnel.
    pub error_indications: u64,
    pub end_markers: u64,
    pub other_gtpu: u64,
    pub other: u64,
    /// Packets that the mirror's port did not take.
    pub mirror_refused: u64,
}

impl Strays {
    pub(crate) fn count_gtpu(&mut self, message: &Message<'_>) {
        match message {
            Message::EchoRequest { .. } => self.echo_requests += 1,
            Message::ErrorIndication(_) => self.error_indications += 1,
            Message::EndMarker(_) => self.end_markers += 1,
            _ => self.other_gtpu += 1,
        }
    }
}

/// A line of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// End in seconds from the beginning of the run.
    pub end_s: f64,
    pub length_s: f64,
    /// Figures of each lane in the interval.
    pub lanes: Vec<IntervalLane>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct IntervalLane {
    pub lane: LaneName,
    pub sent: u64,
    /// Packets that arrived in it, for the first time.
    pub received: u64,
    pub latency: TimeSummary,
}
