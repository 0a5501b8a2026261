//! Benchmark ports of one worker: a source for half of all packets, and a sink.

mod make;

use super::nic_model::{HOLDS, Slots, Steering};
use super::packet_template::PacketTemplate;
use super::watch::{Stamp, Watch};
use crate::path::topology::{self, N3, N6};
use crate::path::traffic::Flow;
use make::FlowSets;
use sluice_datapath::limits::SHARDS;
use sluice_host::clock;
use sluice_port::{
    Burst, LinkState, Packet, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress,
};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

pub use make::Flows;

/// Packets that come together where each must not cost more than at full load.
const TOGETHER: u64 = 32;

/// How fast packets come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// None.
    Still,
    /// Nanoseconds from packet to packet, both directions together, from each source; and which share of
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

impl<P: Packet> PortIo for Source<P> {
    type Packet = P;

    fn ports(&self) -> &[PortInfo] {
        &self.infos
    }

    fn rx(&mut self, port: PortId, queue: QueueId, burst: &mut Burst<P>, max: usize) -> usize {
        let Some((queue, direction)) = place(port, queue) else {
            return 0;
        };
        let max = max.min(burst.remaining());
        let n = self.slots.take(queue, direction, max, |packet| {
            if let Err(packet) = burst.push(packet) {
                packet.free();
            }
        });
        self.polled += n as u64;
        n
    }

    fn take_rx(&mut self, port: PortId, queue: QueueId) -> bool {
        place(port, queue).is_some_and(|(queue, direction)| self.slots.adopt(queue, direction))
    }

    fn leave_rx(&mut self, port: PortId, queue: QueueId) {
        if let Some((queue, direction)) = place(port, queue) {
            self.slots.leave(queue, direction);
        }
    }

    fn tx(&mut self, _: PortId, _: QueueId, burst: &mut Burst<P>) -> usize {
        let n = burst.len();
        let now_ns = clock::monotonic_ns();
        self.sink.take(&self.flows, burst, now_ns);
        self.spent_ns += clock::monotonic_ns() - now_ns;
        n
    }

    /// Accepted packets count as sent.
    fn tx_progress(&mut self, _: PortId, _: QueueId) -> Option<TxProgress> {
        None
    }

    fn alloc(&mut self) -> Option<P> {
        None
    }

    fn stats(&mut self, _: PortId) -> Option<PortStats> {
        None
    }

    fn link(&mut self, _: PortId) -> LinkState {
        LinkState::Up
    }
}

/// Queue and direction of a port's queue in the card.
fn place(port: PortId, queue: QueueId) -> Option<(usize, usize)> {
    let direction = [N3, N6].iter().position(|of| *of == port)?;
    (queue.0 < 2).then_some((queue.0.into(), direction))
}

/// The sink looks at all packets, or at one in so many where throughput is measured.
const LOOK: u64 = 64;
/// Latencies written down at the most.
const SAMPLES: usize = 4 << 20;

pub(super) struct Sink {
    worker: usize,
    watch: Arc<Watch>,
    /// Distance of packets that are checked.
    look: u64,
    left: u64,
    samples: Vec<u32>,
}

impl Sink {
    pub fn new(worker: usize, watch: Arc<Watch>) -> Self {
        Self {
            worker,
            watch,
            look: 1,
            left: 0,
            samples: touched(SAMPLES),
        }
    }

    /// From now on it looks at as many packets as this pace lets it.
    pub fn set_pace(&mut self, pace: Pace) {
        self.look = match pace {
            Pace::Bursts(_) => LOOK,
            _ => 1,
        };
    }

    /// From now on it looks at as few packets as at full load.
    pub fn look_at_few(&mut self) {
        self.look = LOOK;
    }

    /// Takes the latencies written down, in nanoseconds.
    pub fn take_samples(&mut self) -> Vec<u32> {
        let taken = self.samples.clone();
        self.samples.clear();
        taken
    }

    /// Packets of these flows leave.
    pub fn take<P: Packet>(&mut self, flows: &[Flow], burst: &mut Burst<P>, now_ns: u64) {
        let sampling = self.watch.is_sampling();
        for packet in burst.as_mut_slice() {
            self.left += 1;
            if !self.left.is_multiple_of(self.look) {
                continue;
            }
            let Some(stamp) = Stamp::read(packet.data()) else {
                continue;
            };
            let flow = flows.get(stamp.flow as usize / 2);
            let shard = flow.map_or(u32::MAX, |flow| flow.ue % SHARDS);
            let took_ns = self.watch.left(self.worker, stamp, shard, now_ns);
            if sampling && self.samples.len() < SAMPLES {
                self.samples.push(took_ns.min(u32::MAX.into()) as u32);
            }
        }
        add(&self.watch.eyes[self.worker].left, burst.len() as u64);
        burst.free();
    }
}

/// An empty vector whose memory is there: no packet waits until the kernel gives it.
fn touched(capacity: usize) -> Vec<u32> {
    let mut touched = vec![1; capacity];
    touched.clear();
    touched
}
