//! The doors of one worker: a source that makes half of all packets, whoever is to get them, the
//! worker's queue of the card, and a sink that looks at what leaves.

use super::card::{HOLDS, QUEUE, Slots, Steering};
use super::mould::Mould;
use super::watch::{Stamp, Watch};
use crate::bench::path::scene::{self, N3, N6};
use crate::bench::path::traffic::{Direction, Flow};
use sluice_host::clock;
use sluice_path::limits::SHARDS;
use sluice_port::{
    Burst, LinkState, Packet, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// While a shard is watched, one packet in so many is of it.
const PROBES: u64 = 4;
/// Packets made in one turn at the most.
const MAKE: u64 = 256;
/// Packets under way when they come as fast as they are taken, and how many of them may lie in one
/// of the rings that make a queue.
const IN_FLIGHT: u64 = 2048;
const IN_RING: usize = 256;
/// The sink looks at all packets, or at one in so many where throughput is measured.
const LOOK: u64 = 64;
/// Packets that come together where each must not cost more than at full load.
const TOGETHER: u64 = 32;
/// Latencies written down at the most.
const SAMPLES: usize = 4 << 20;

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
    mould: Arc<Mould>,
    /// Packets of so many in 2^32 go up.
    uplink: u64,
    flows: Arc<[Flow]>,
    watch: Arc<Watch>,
    alloc: Box<dyn FnMut() -> Option<P> + Send>,
    slots: Slots<P>,
    steering: Arc<Steering>,
    /// Places in `flows` of those that it makes packets of, in random order; by shard; by the queue
    /// that they go to; and the hot ones.
    own: Vec<u32>,
    by_shard: Vec<Vec<u32>>,
    by_queue: [Vec<u32>; 2],
    hot: Vec<u32>,
    made: u64,
    lot: u64,
    numbers: Vec<u32>,
    pace: Pace,
    /// The sink looks at one packet in so many.
    look: u64,
    /// Packets that come at the same time, at the least.
    together: u64,
    then: Option<(u64, Pace)>,
    began_ns: u64,
    /// Packets due so far that were made or missed.
    due: u64,
    /// Packets that were lost before: they are not under way.
    lost: u64,
    looked_ns: u64,
    samples: Vec<u32>,
    left: u64,
    /// Time spent on making packets and looking at them, and packets polled: for those who want to
    /// know what the engine took.
    pub spent_ns: u64,
    pub polled: u64,
}

/// Which flows a source makes packets of, and which of them are hot. Asked for place and flow.
pub struct Flows<'a> {
    pub all: Arc<[Flow]>,
    pub own: &'a dyn Fn(usize, &Flow) -> bool,
    pub hot: &'a dyn Fn(usize, &Flow) -> bool,
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
        Self {
            worker,
            infos: scene::ports(HOLDS as u16),
            mould: Arc::default(),
            uplink: 1 << 31,
            flows: Arc::default(),
            watch,
            alloc,
            slots,
            steering,
            own: vec![],
            by_shard: vec![vec![]; SHARDS as usize],
            by_queue: [vec![], vec![]],
            hot: vec![],
            made: 0,
            lot: 0x2545_f491_4f6c_dd1d,
            numbers: vec![],
            pace: Pace::Still,
            look: 1,
            together: 1,
            then: None,
            began_ns: 0,
            due: 0,
            lost: 0,
            looked_ns: 0,
            samples: touched(SAMPLES),
            left: 0,
            spent_ns: 0,
            polled: 0,
        }
    }

    /// No packet is under way, and the card steers as it will. From now on packets of these flows
    /// are made here.
    pub fn set_flows(&mut self, flows: &Flows<'_>) {
        self.own.clear();
        self.hot.clear();
        self.by_queue.iter_mut().for_each(Vec::clear);
        self.by_shard.iter_mut().for_each(Vec::clear);
        let numbered = flows.all.iter().enumerate();
        for (place, flow) in numbered.filter(|(place, flow)| (flows.own)(*place, flow)) {
            let shard = flow.ue % SHARDS;
            self.own.push(place as u32);
            self.by_shard[shard as usize].push(place as u32);
            self.by_queue[self.steering.queue(shard, 0)].push(place as u32);
            if (flows.hot)(place, flow) {
                self.hot.push(place as u32);
            }
        }
        // Another source may have sent them until now.
        self.numbers = self.watch.numbers();
        self.flows = flows.all.clone();
    }

    /// From now on packets look like this, and this share of them goes up.
    pub fn set_mould(&mut self, mould: Arc<Mould>, uplink: f64) {
        self.mould = mould;
        self.uplink = (uplink.clamp(0.0, 1.0) * 4_294_967_296.0) as u64;
    }

    /// Sets the pace from now on; no packet is under way.
    pub fn set_pace(&mut self, pace: Pace) {
        self.then = None;
        self.looked_ns = clock::monotonic_ns();
        self.look = match pace {
            Pace::Bursts(_) => LOOK,
            _ => 1,
        };
        self.together = 1;
        self.begin(pace, self.looked_ns);
        self.lost = self.under_way();
    }

    /// Packets come some at a time, as a card writes them, and the sink looks at as few as at full load:
    /// so a packet costs what it costs there, until the next [`set_pace`](Self::set_pace).
    pub fn save_time(&mut self) {
        (self.look, self.together) = (LOOK, TOGETHER);
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
        let taken = self.samples.clone();
        self.samples.clear();
        taken
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

    /// Returns how many.
    fn make_due(&mut self, now_ns: u64) -> u64 {
        if let Some((at_ns, pace)) = self.then.filter(|(at_ns, _)| *at_ns <= now_ns) {
            self.then = None;
            self.begin(pace, at_ns);
        }
        match self.pace {
            // The other source makes everything.
            _ if self.own.is_empty() => 0,
            Pace::Still => 0,
            Pace::Bursts(most) => self.make_bursts(most, now_ns),
            Pace::Every { apart_ns, hot } => self.make_paced(now_ns, apart_ns, hot),
        }
    }

    fn make_paced(&mut self, now_ns: u64, apart_ns: f64, hot: f64) -> u64 {
        let all = (now_ns.saturating_sub(self.began_ns) as f64 / apart_ns) as u64;
        let mut waiting = all.saturating_sub(self.due);
        if waiting > QUEUE {
            self.miss(waiting - QUEUE);
            self.due += waiting - QUEUE;
            waiting = QUEUE;
        }
        if waiting < self.together {
            return 0;
        }
        let mut room = self.slots.room();
        let (mut made, hot) = (0, (hot * f64::from(u32::MAX)) as u32);
        for _ in 0..waiting.min(MAKE) {
            self.due += 1;
            let due_ns = self.began_ns + (self.due as f64 * apart_ns) as u64;
            let (lot, direction) = self.lots();
            let place = self.pick(lot < hot);
            match place.is_some_and(|p| self.make(p, direction, due_ns, &mut room)) {
                true => made += 1,
                false => self.miss(1),
            }
        }
        made
    }

    /// Each queue gets so many that the worker never waits, and no queue so many that the other
    /// gets none.
    fn make_bursts(&mut self, most: usize, now_ns: u64) -> u64 {
        let in_flight = IN_FLIGHT.saturating_sub(self.under_way().saturating_sub(self.lost));
        let mut room = self.slots.room();
        let (least, mut left) = (QUEUE as usize / 4 - IN_RING, in_flight.min(MAKE));
        let mut made = 0;
        for queue in 0..2 {
            let of_queue = self.by_queue[queue].len();
            for _ in 0..most {
                let (_, direction) = self.lots();
                if of_queue == 0 || left == 0 || room[queue][direction] <= least {
                    break;
                }
                let place = self.by_queue[queue][self.made as usize % of_queue];
                if !self.make(place, direction, now_ns, &mut room) {
                    break;
                }
                (made, left) = (made + 1, left - 1);
            }
        }
        made
    }

    /// The next packet's flow: of the watched shard now and then, of the hot ones as often as said,
    /// else one after the other.
    fn pick(&mut self, is_hot: bool) -> Option<u32> {
        if self.made.is_multiple_of(PROBES)
            && let Some(shard) = self.watch.watched()
        {
            let flows = &self.by_shard[(shard % SHARDS) as usize];
            if !flows.is_empty() {
                return Some(flows[(self.made / PROBES) as usize % flows.len()]);
            }
        }
        let flows = if is_hot { &self.hot } else { &self.own };
        flows.get(self.made as usize % flows.len().max(1)).copied()
    }

    /// A number by lot, and a direction.
    fn lots(&mut self) -> (u32, usize) {
        self.lot = self
            .lot
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        let goes_down = self.lot >> 20 & u64::from(u32::MAX) >= self.uplink;
        ((self.lot >> 32) as u32, usize::from(goes_down))
    }

    /// False if there is no room or no buffer.
    fn make(
        &mut self,
        place: u32,
        direction: usize,
        due_ns: u64,
        room: &mut [[usize; 2]; 2],
    ) -> bool {
        self.made += 1;
        let flow = &self.flows[place as usize];
        let queue = self.steering.queue(flow.ue, direction);
        if room[queue][direction] == 0 {
            return false;
        }
        let Some(mut packet) = (self.alloc)() else {
            return false;
        };
        let towards = [Direction::Uplink, Direction::Downlink][direction];
        let Ok(frame) = packet.append(self.mould.len(towards, self.made)) else {
            packet.free();
            return false;
        };
        self.mould.fill(towards, flow, self.made, frame);
        let flow = 2 * place + direction as u32;
        let number = self.numbers[flow as usize] + 1;
        let stamp = Stamp {
            flow,
            number,
            due_ns,
        };
        stamp.write(frame);
        if let Err(packet) = self.slots.put(queue, direction, packet) {
            packet.free();
            return false;
        }
        room[queue][direction] -= 1;
        self.numbers[flow as usize] = number;
        true
    }

    fn miss(&self, packets: u64) {
        add(&self.watch.eyes[self.worker].missed, packets);
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

    fn sink(&mut self, burst: &mut Burst<P>) {
        let now_ns = clock::monotonic_ns();
        let sampling = self.watch.is_sampling();
        for packet in burst.as_mut_slice() {
            self.left += 1;
            if !self.left.is_multiple_of(self.look) {
                continue;
            }
            let Some(stamp) = Stamp::read(packet.data()) else {
                continue;
            };
            let flow = self.flows.get(stamp.flow as usize / 2);
            let shard = flow.map_or(u32::MAX, |flow| flow.ue % SHARDS);
            let took_ns = self.watch.left(self.worker, stamp, shard, now_ns);
            if sampling && self.samples.len() < SAMPLES {
                self.samples.push(took_ns.min(u32::MAX.into()) as u32);
            }
        }
        add(&self.watch.eyes[self.worker].left, burst.len() as u64);
        burst.free();
        self.spent_ns += clock::monotonic_ns() - now_ns;
    }
}

/// Where the card has the packets of a port's queue: queue and direction.
fn place(port: PortId, queue: QueueId) -> Option<(usize, usize)> {
    let direction = [N3, N6].iter().position(|of| *of == port)?;
    (queue.0 < 2).then_some((queue.0.into(), direction))
}

/// An empty vector whose memory is there: no packet waits until the kernel gives it.
fn touched(capacity: usize) -> Vec<u32> {
    let mut touched = vec![1; capacity];
    touched.clear();
    touched
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
        self.sink(burst);
        n
    }

    /// What is accepted has left.
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
