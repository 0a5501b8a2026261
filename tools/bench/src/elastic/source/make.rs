//! Packet generation of a source, and which flows it makes packets of.

use super::{Pace, Source, add};
use crate::elastic::nic_model::{QUEUE, Steering};
use crate::elastic::watch::{Stamp, Watch};
use crate::path::traffic::{Direction, Flow};
use sluice_datapath::limits::SHARDS;
use sluice_port::Packet;
use std::sync::Arc;

/// Packets made in one turn at the most.
const MAKE: u64 = 256;
/// Packets under way when they come as fast as they are taken, and how many of them may lie in one
/// of the rings that make a queue.
const IN_FLIGHT: u64 = 2048;
const IN_RING: usize = 256;

impl<P: Packet> Source<P> {
    pub(super) fn make_due(&mut self, now_ns: u64) -> u64 {
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
            let place = self.own.pick(self.made, &self.watch, lot < hot);
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
            let of_queue = self.own.of_queue(queue).len();
            for _ in 0..most {
                let (_, direction) = self.lots();
                if of_queue == 0 || left == 0 || room[queue][direction] <= least {
                    break;
                }
                let place = self.own.of_queue(queue)[self.made as usize % of_queue];
                if !self.make(place, direction, now_ns, &mut room) {
                    break;
                }
                (made, left) = (made + 1, left - 1);
            }
        }
        made
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
}

/// While a shard is watched, one packet in so many is of it.
const PROBES: u64 = 4;

/// Which flows a source makes packets of, and which of them are hot. Asked for place and flow.
pub struct Flows<'a> {
    pub all: Arc<[Flow]>,
    pub own: &'a dyn Fn(usize, &Flow) -> bool,
    pub hot: &'a dyn Fn(usize, &Flow) -> bool,
}

/// Places among all flows of those that a source makes packets of.
pub(super) struct FlowSets {
    /// In random order; by shard; by the queue that they go to; and the hot ones.
    all: Vec<u32>,
    by_shard: Vec<Vec<u32>>,
    by_queue: [Vec<u32>; 2],
    hot: Vec<u32>,
}

impl FlowSets {
    /// None yet.
    pub fn new() -> Self {
        Self {
            all: vec![],
            by_shard: vec![vec![]; SHARDS as usize],
            by_queue: [vec![], vec![]],
            hot: vec![],
        }
    }

    /// From now on these; the card steers as it will.
    pub fn set(&mut self, flows: &Flows<'_>, steering: &Steering) {
        self.all.clear();
        self.hot.clear();
        self.by_queue.iter_mut().for_each(Vec::clear);
        self.by_shard.iter_mut().for_each(Vec::clear);
        let numbered = flows.all.iter().enumerate();
        for (place, flow) in numbered.filter(|(place, flow)| (flows.own)(*place, flow)) {
            let shard = flow.ue % SHARDS;
            self.all.push(place as u32);
            self.by_shard[shard as usize].push(place as u32);
            self.by_queue[steering.queue(shard, 0)].push(place as u32);
            if (flows.hot)(place, flow) {
                self.hot.push(place as u32);
            }
        }
    }

    /// Whether the other source makes everything.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn of_queue(&self, queue: usize) -> &[u32] {
        &self.by_queue[queue]
    }

    /// The flow of the packet of this number: of the watched shard now and then, else of the hot
    /// ones or of all, one after the other. Each round begins one further on: where queues are full at the same
    /// place of each round, not always the same flows miss.
    pub fn pick(&self, number: u64, watch: &Watch, is_hot: bool) -> Option<u32> {
        if number.is_multiple_of(PROBES)
            && let Some(shard) = watch.watched()
        {
            let flows = &self.by_shard[(shard % SHARDS) as usize];
            if !flows.is_empty() {
                return Some(flows[(number / PROBES) as usize % flows.len()]);
            }
        }
        let flows = if is_hot { &self.hot } else { &self.all };
        let (round, place) = (number / len(flows), number % len(flows));
        flows.get(((round + place) % len(flows)) as usize).copied()
    }
}

fn len(flows: &[u32]) -> u64 {
    flows.len().max(1) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn a_queue_that_is_full_once_a_round_silences_no_flow() {
        let watch = Watch::new(10);
        let sets = FlowSets {
            all: (0..10).collect(),
            ..FlowSets::new()
        };
        let round = |numbers: &mut dyn Iterator<Item = u64>| -> BTreeSet<_> {
            numbers.map(|n| sets.pick(n, &watch, false)).collect()
        };
        for first in [0, 10, 170] {
            assert_eq!(round(&mut (first..first + 10)).len(), 10);
        }
        let heard = round(&mut (0..100).filter(|number| number % 10 != 7));
        assert_eq!(heard.len(), 10);
    }
}
