//! The sink: flow, loss and latency of received test packets.

mod latency;
mod read;
mod tracker;

pub use latency::{TimeSummary, Times};

pub(crate) use read::{Seen, Stamped, read};
pub(crate) use tracker::{Arrival, Tracker};

use crate::stamp::Stamp;

/// All that arrives of one lane.
#[derive(Debug)]
pub(crate) struct Sink {
    pub(crate) tracker: Tracker,
    /// From when packets were due, and from when they were sent.
    pub(crate) from_due: Times,
    pub(crate) from_sent: Times,
    /// Latencies from due time since the last interval.
    pub(crate) interval: Times,
    pub(crate) counts: Counts,
}

/// Packets by what they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) arrived: u64,
    /// Octets of the UEs' packets, duplicates not counted.
    pub(crate) ip_bytes: u64,
    pub(crate) unique: u64,
    pub(crate) reordered: u64,
    pub(crate) duplicates: u64,
    pub(crate) undecided: u64,
}

impl Sink {
    pub(crate) fn new(flows: u32) -> Self {
        Self {
            tracker: Tracker::new(flows),
            from_due: Times::new(),
            from_sent: Times::new(),
            interval: Times::new(),
            counts: Counts::default(),
        }
    }

    /// A packet of this lane and run has come. False if its flow does not exist.
    #[inline]
    pub(crate) fn take(&mut self, stamp: &Stamp, ip_bytes: u16, now_ns: u64) -> bool {
        let age_ns = stamp.age_ns(now_ns);
        let Some(arrival) = self.tracker.arrive(stamp.flow, stamp.sequence, age_ns) else {
            return false;
        };
        let counts = &mut self.counts;
        counts.arrived += 1;
        match arrival {
            Arrival::InOrder => {}
            Arrival::Reordered => counts.reordered += 1,
            Arrival::Duplicate => counts.duplicates += 1,
            Arrival::Undecided => counts.undecided += 1,
        }
        if matches!(arrival, Arrival::InOrder | Arrival::Reordered) {
            counts.unique += 1;
            counts.ip_bytes += u64::from(ip_bytes);
            self.from_sent.record(age_ns);
            self.interval.record(age_ns + stamp.late_ns);
        }
        true
    }

    /// Ends an interval: what it held goes to the whole. Gives it.
    pub(crate) fn end_interval(&mut self) -> TimeSummary {
        let summary = self.interval.summary();
        self.from_due.add(&self.interval);
        self.interval.clear();
        summary
    }

    /// Mean and highest jitter of all flows that got two packets at least, in nanoseconds.
    pub(crate) fn jitter_ns(&self) -> (f64, f64) {
        let flows = self.tracker.flows().iter();
        let all = flows.filter(|f| f.unique > 1).map(|f| f.jitter_ns());
        let (sum, max, count) = all.fold((0.0, 0.0, 0u64), |(sum, max, count), jitter| {
            (sum + jitter, f64::max(max, jitter), count + 1)
        });
        (sum / count.max(1) as f64, max)
    }
}
