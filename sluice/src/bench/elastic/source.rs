//! The doors of one worker: a source of packets that come at a given rate, whoever is ready for them,
//! and a sink that looks at what leaves.

use super::watch::{HICCUP_NS, Stamp, Watch};
use crate::bench::path::scene::{self, N3, N6};
use crate::bench::path::traffic::{Direction, Flow, Frames};
use sluice_host::clock;
use sluice_path::limits::SHARDS;
use sluice_port::{
    Burst, LinkState, Packet, PortId, PortInfo, PortIo, PortStats, QueueId, TxProgress,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Packets that wait for the worker before they are missed, as in a card's queue.
const QUEUE: u64 = 4096;
/// While a shard is watched, one packet in so many is of it.
const PROBES: u64 = 4;
/// Packets under way when they come as fast as they are taken.
const IN_FLIGHT: u64 = 2048;
/// Latencies written down at the most.
const SAMPLES: usize = 4 << 20;

/// How fast packets come.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Pace {
    /// None.
    Still,
    /// So many nanoseconds apart, both directions together.
    Every(f64),
    /// As fast as they are taken.
    Full,
}

/// Source and sink of a worker.
pub struct Source<P: Packet> {
    worker: usize,
    infos: Vec<PortInfo>,
    frames: Arc<Frames>,
    flows: Arc<[Flow]>,
    watch: Arc<Watch>,
    alloc: Box<dyn FnMut() -> Option<P> + Send>,
    /// Places of its flows in `flows`, in random order, and by shard.
    own: Vec<u32>,
    by_shard: Vec<Vec<u32>>,
    next: usize,
    numbers: Vec<u32>,
    pace: Pace,
    began_ns: u64,
    /// Packets due so far that were made or missed.
    due: u64,
    /// Packets that were lost before: they are not under way.
    lost: u64,
    looked_ns: u64,
    samples: Vec<u32>,
}

impl<P: Packet> Source<P> {
    /// Nothing comes yet.
    pub fn new(
        worker: usize,
        watch: Arc<Watch>,
        alloc: Box<dyn FnMut() -> Option<P> + Send>,
    ) -> Self {
        Self {
            worker,
            infos: scene::ports(QUEUE as u16),
            frames: Arc::default(),
            flows: Arc::default(),
            watch,
            alloc,
            own: vec![],
            by_shard: vec![vec![]; SHARDS as usize],
            next: 0,
            numbers: vec![],
            pace: Pace::Still,
            began_ns: 0,
            due: 0,
            lost: 0,
            looked_ns: 0,
            samples: Vec::with_capacity(SAMPLES),
        }
    }

    /// No packet is under way. From now on those of `flows` that `is_own` says (by their shard) come in here.
    pub fn set_flows(&mut self, flows: Arc<[Flow]>, is_own: impl Fn(u32) -> bool) {
        self.own.clear();
        self.by_shard.iter_mut().for_each(Vec::clear);
        for (place, flow) in flows.iter().enumerate() {
            let shard = flow.ue % SHARDS;
            if is_own(shard) {
                self.own.push(place as u32);
                self.by_shard[shard as usize].push(place as u32);
            }
        }
        // Another source may have sent them until now.
        self.numbers = self.watch.numbers();
        self.flows = flows;
        self.next = 0;
    }

    /// Sets the pace from now on; no packet is under way.
    pub fn set_pace(&mut self, pace: Pace) {
        (self.pace, self.began_ns, self.due) = (pace, clock::monotonic_ns(), 0);
        self.looked_ns = self.began_ns;
        self.lost = self.under_way();
    }

    fn under_way(&self) -> u64 {
        self.watch.sum(|e| &e.made) - self.watch.sum(|e| &e.left)
    }

    /// Takes the latencies written down, in nanoseconds.
    pub fn take_samples(&mut self) -> Vec<u32> {
        core::mem::replace(&mut self.samples, Vec::with_capacity(SAMPLES))
    }

    /// How many packets are due and not made, and how far apart they came.
    fn waiting(&mut self, now_ns: u64, max: usize) -> (u64, f64) {
        match self.pace {
            // Everything comes to the others.
            _ if self.own.is_empty() => (0, 0.0),
            Pace::Still => (0, 0.0),
            Pace::Full => {
                let room = IN_FLIGHT.saturating_sub(self.under_way() - self.lost);
                (room.min(max as u64), 0.0)
            }
            Pace::Every(apart_ns) => {
                let all = ((now_ns - self.began_ns) as f64 / apart_ns) as u64;
                let mut waiting = all.saturating_sub(self.due);
                if waiting > QUEUE {
                    add(&self.watch.eyes[self.worker].missed, waiting - QUEUE);
                    self.due += waiting - QUEUE;
                    waiting = QUEUE;
                }
                (waiting.min(max as u64), apart_ns)
            }
        }
    }

    /// The next packet's flow: of the watched shard now and then, else one after the other.
    fn pick(&mut self) -> Option<u32> {
        self.next += 1;
        if (self.next as u64).is_multiple_of(PROBES)
            && let Some(shard) = self.watch.watched()
        {
            let flows = &self.by_shard[(shard % SHARDS) as usize];
            if !flows.is_empty() {
                return Some(flows[self.next / PROBES as usize % flows.len()]);
            }
        }
        self.own.get(self.next % self.own.len().max(1)).copied()
    }

    fn make(&mut self, direction: Direction, due_ns: u64) -> Option<P> {
        let place = self.pick()?;
        let mut packet = (self.alloc)()?;
        let Ok(frame) = packet.append(direction.input_len()) else {
            packet.free();
            return None;
        };
        self.frames
            .fill(direction, &self.flows[place as usize], frame);
        let flow = 2 * place + u32::from(direction == Direction::Downlink);
        let number = &mut self.numbers[flow as usize];
        *number += 1;
        let number = *number;
        Stamp {
            flow,
            number,
            due_ns,
        }
        .write(frame);
        Some(packet)
    }

    fn look(&mut self, now_ns: u64) {
        if now_ns.saturating_sub(self.looked_ns) > HICCUP_NS {
            self.watch.eyes[self.worker]
                .hiccup_ns
                .store(now_ns, Relaxed);
        }
        self.looked_ns = now_ns;
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

    fn rx(&mut self, port: PortId, _: QueueId, burst: &mut Burst<P>, max: usize) -> usize {
        let direction = match port {
            N3 => Direction::Uplink,
            N6 => Direction::Downlink,
            _ => return 0,
        };
        let now_ns = clock::monotonic_ns();
        self.look(now_ns);
        let (waiting, apart_ns) = self.waiting(now_ns, max.min(burst.remaining()));
        // Every other packet is of the other direction: half of those that wait now.
        let take = if direction == Direction::Uplink {
            waiting.div_ceil(2)
        } else {
            waiting
        };
        let mut made = 0;
        for _ in 0..take {
            self.due += 1;
            let due_ns = match self.pace {
                Pace::Every(_) => self.began_ns + (self.due as f64 * apart_ns) as u64,
                _ => now_ns,
            };
            match self.make(direction, due_ns) {
                Some(packet) => {
                    made += 1;
                    if let Err(packet) = burst.push(packet) {
                        packet.free();
                    }
                }
                None => add(&self.watch.eyes[self.worker].missed, 1),
            }
        }
        add(&self.watch.eyes[self.worker].made, made);
        made as usize
    }

    /// Packets come to whoever asks for them.
    fn take_rx(&mut self, _: PortId, _: QueueId) -> bool {
        true
    }

    fn leave_rx(&mut self, _: PortId, _: QueueId) {}

    fn tx(&mut self, _: PortId, _: QueueId, burst: &mut Burst<P>) -> usize {
        let now_ns = clock::monotonic_ns();
        let sampling = self.watch.is_sampling();
        for packet in burst.as_mut_slice() {
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
        let n = burst.len();
        add(&self.watch.eyes[self.worker].left, n as u64);
        burst.free();
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
