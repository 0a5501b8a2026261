//! Benchmark ports of one worker: a source for half of all packets, and a sink.

mod flows;
mod make;
mod port;
mod sink;

pub use flows::Flows;

use super::nic_model::{HOLDS, Slots, Steering};
use super::packet_template::PacketTemplate;
use super::watch::Watch;
use crate::path::topology;
use crate::path::traffic::Flow;
use flows::FlowSets;
use sink::Sink;
use sluice_host::clock;
use sluice_port::{Packet, PortInfo};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Packets that come together where each must not cost more than at full load.
const TOGETHER: u64 = 32;

/// How fast packets come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// None.
    Still,
    /// So many nanoseconds apart, both directions together, from each source; and which share of
    /// them is of the hot UEs alone.
    Every { apart_ns: f64, hot: f64 },
    /// As fast as they are taken, in bursts of so many from each source for each queue.
    Bursts(usize),
}

impl Pace {
    /// As fast as they are taken.
    pub const FULL: Self = Self::Bursts(64);

    /// Of all UEs alike.
    pub fn every(apart_ns: f64) -> Self {
        Self::Every { apart_ns, hot: 0.0 }
    }
}

/// Source and sink of a worker.
pub struct Source<P: Packet> {
    worker: usize,
    infos: Vec<PortInfo>,
    mould: Arc<PacketTemplate>,
    /// Packets of so many in 2^32 go up.
    uplink: u64,
    flows: Arc<[Flow]>,
    watch: Arc<Watch>,
    alloc: Box<dyn FnMut() -> Option<P> + Send>,
    slots: Slots<P>,
    steering: Arc<Steering>,
    own: FlowSets,
    sink: Sink,
    made: u64,
    lot: u64,
    numbers: Vec<u32>,
    pace: Pace,
    /// Packets that come at the same time, at the least.
    together: u64,
    then: Option<(u64, Pace)>,
    began_ns: u64,
    /// Packets due so far that were made or missed.
    due: u64,
    /// Packets that were lost before: they are not under way.
    lost: u64,
    looked_ns: u64,
    /// Time spent on making packets and looking at them, and packets polled: for those who want to
    /// know what the engine took.
    pub spent_ns: u64,
    pub polled: u64,
}

impl<P: Packet> Source<P> {
    /// Nothing comes yet.
    pub fn new(
        worker: usize,
        watch: Arc<Watch>,
        alloc: Box<dyn FnMut() -> Option<P> + Send>,
        slots: Slots<P>,
        steering: Arc<Steering>,
    ) -> Self {
        let sink = Sink::new(worker, watch.clone());
        Self {
            worker,
            infos: topology::ports(HOLDS as u16),
            mould: Arc::default(),
            uplink: 1 << 31,
            flows: Arc::default(),
            watch,
            alloc,
            slots,
            steering,
            own: FlowSets::new(),
            sink,
            made: 0,
            lot: 0x2545_f491_4f6c_dd1d,
            numbers: vec![],
            pace: Pace::Still,
            together: 1,
            then: None,
            began_ns: 0,
            due: 0,
            lost: 0,
            looked_ns: 0,
            spent_ns: 0,
            polled: 0,
        }
    }

    /// No packet is under way, and the card steers as it will. From now on packets of these flows
    /// are made here.
    pub fn set_flows(&mut self, flows: &Flows<'_>) {
        self.own.set(flows, &self.steering);
        // Another source may have sent them until now.
        self.numbers = self.watch.numbers();
        self.flows = flows.all.clone();
    }

    /// From now on packets look like this, and this share of them goes up.
    pub fn set_mould(&mut self, mould: Arc<PacketTemplate>, uplink: f64) {
        self.mould = mould;
        self.uplink = (uplink.clamp(0.0, 1.0) * 4_294_967_296.0) as u64;
    }

    /// Sets the pace from now on; no packet is under way.
    pub fn set_pace(&mut self, pace: Pace) {
        self.then = None;
        self.looked_ns = clock::monotonic_ns();
        self.sink.set_pace(pace);
        self.together = 1;
        self.begin(pace, self.looked_ns);
        self.lost = self.under_way();
    }

    /// Packets come some at a time, as a card writes them, and the sink looks at as few as at full load:
    /// so a packet costs what it costs there, until the next [`set_pace`](Self::set_pace).
    pub fn save_time(&mut self) {
        self.sink.look_at_few();
        self.together = TOGETHER;
    }

    /// Another pace from that moment on.
    pub fn set_next_pace(&mut self, at_ns: u64, pace: Pace) {
        self.then = Some((at_ns, pace));
    }

    fn begin(&mut self, pace: Pace, now_ns: u64) {
        (self.pace, self.began_ns, self.due) = (pace, now_ns, 0);
    }

    fn under_way(&self) -> u64 {
        // What the other source has just made may have left before it is counted.
        let left = self.watch.sum(|e| &e.left);
        self.watch.sum(|e| &e.made).saturating_sub(left)
    }

    /// Takes the latencies written down, in nanoseconds.
    pub fn take_samples(&mut self) -> Vec<u32> {
        self.sink.take_samples()
    }

    /// Looks around and makes what is due. A worker at rest, which polls nothing, makes its half as
    /// well.
    pub fn work(&mut self) {
        let now_ns = clock::monotonic_ns();
        self.look(now_ns);
        self.steering.learn(self.worker);
        let made = self.make_due(now_ns);
        self.slots.flush();
        add(&self.watch.eyes[self.worker].made, made);
        self.spent_ns += clock::monotonic_ns() - now_ns;
    }

    /// Sees whether the worker was away.
    fn look(&mut self, now_ns: u64) {
        self.watch.eyes[self.worker].looked(self.looked_ns, now_ns);
        self.looked_ns = now_ns;
    }

    /// The control core had the worker's CPU for so long: it was not away.
    pub fn excuse(&mut self, ns: u64) {
        self.looked_ns += ns;
    }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.store(counter.load(Relaxed) + n, Relaxed);
}
