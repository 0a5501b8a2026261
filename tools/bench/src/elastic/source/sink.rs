//! The sink: checks of transmitted packets.

use super::Pace;
use super::add;
use crate::elastic::watch::{Stamp, Watch};
use crate::path::traffic::Flow;
use sluice_datapath::limits::SHARDS;
use sluice_port::{Burst, Packet};
use std::sync::Arc;

/// The sink looks at all packets, or at one in so many where throughput is measured.
const LOOK: u64 = 64;
/// Latencies written down at the most.
const SAMPLES: usize = 4 << 20;

/// The sink of a worker.
pub(super) struct Sink {
    worker: usize,
    watch: Arc<Watch>,
    /// It looks at one packet in so many.
    look: u64,
    left: u64,
    samples: Vec<u32>,
}

impl Sink {
    /// It looks at all packets.
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
