//! Per-packet checks of both workers: order and latency of each packet that leaves.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::Relaxed};

/// A worker that was away longer than this has met somebody else on its CPU.
pub const HICCUP_NS: u64 = 50_000;
/// No turn full of packets takes as long: then others had the CPU for certain.
const AWAY_NS: u64 = 1_000_000;
/// No shard is watched.
const NOBODY: u32 = u32::MAX;

/// Shared by both workers and the one who measures.
#[derive(Debug)]
pub struct Watch {
    /// The number last seen of each flow and direction.
    last: Box<[AtomicU32]>,
    shard: AtomicU32,
    /// Whether latencies of all packets are written down.
    sampling: AtomicBool,
    pub eyes: Vec<Eye>,
}

/// Observations of one worker: only the worker writes them, except that the measuring thread resets some.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct Eye {
    pub made: AtomicU64,
    /// Packets that came while their queue was full, or that no buffer was free for.
    pub missed: AtomicU64,
    pub left: AtomicU64,
    /// Packets behind a later one of their flow.
    pub reordered: AtomicU64,
    /// The longest time of a packet of the watched shard.
    pub longest_ns: AtomicU64,
    /// The longest time of any packet looked at, since it was set back.
    pub slowest_ns: AtomicU64,
    /// When the worker was last away for longer than [`HICCUP_NS`].
    pub hiccup_ns: AtomicU64,
    /// The longest time between two looks at its ports, since it was set back.
    pub gap_ns: AtomicU64,
    /// All times longer than `AWAY_NS` together, since they were set back.
    pub away_ns: AtomicU64,
}

impl Eye {
    /// The worker looks at its ports, and looked before.
    pub fn looked(&self, before_ns: u64, now_ns: u64) {
        let gap_ns = now_ns.saturating_sub(before_ns);
        if gap_ns > HICCUP_NS {
            self.hiccup_ns.store(now_ns, Relaxed);
            self.gap_ns.fetch_max(gap_ns, Relaxed);
        }
        if gap_ns > AWAY_NS {
            self.away_ns.fetch_add(gap_ns, Relaxed);
        }
    }
}

impl Watch {
    /// For flows of both directions, and two workers.
    pub fn new(flows: usize) -> Self {
        Self {
            last: (0..2 * flows).map(|_| AtomicU32::new(0)).collect(),
            shard: AtomicU32::new(NOBODY),
            sampling: AtomicBool::new(false),
            eyes: vec![Eye::default(), Eye::default()],
        }
    }

    /// From now on the packets of this shard are looked at, and one in four is of it.
    pub fn watch(&self, shard: u32) {
        self.eyes
            .iter()
            .for_each(|eye| eye.longest_ns.store(0, Relaxed));
        self.shard.store(shard, Relaxed);
    }

    /// From now on those of no shard.
    pub fn watch_none(&self) {
        self.shard.store(NOBODY, Relaxed);
    }

    pub fn watched(&self) -> Option<u32> {
        Some(self.shard.load(Relaxed)).filter(|shard| *shard != NOBODY)
    }

    /// The longest time since [`watch`](Self::watch).
    pub fn longest_ns(&self) -> u64 {
        let longest = self.eyes.iter().map(|eye| eye.longest_ns.load(Relaxed));
        longest.max().unwrap_or(0)
    }

    /// Whether a worker was away since `since_ns`.
    pub fn hiccup_since(&self, since_ns: u64) -> bool {
        self.eyes
            .iter()
            .any(|eye| eye.hiccup_ns.load(Relaxed) >= since_ns)
    }

    /// The greatest of both workers since the last question: `gap_ns` is 0 if it was never longer than
    /// [`HICCUP_NS`].
    pub fn take(&self, of: impl Fn(&Eye) -> &AtomicU64) -> u64 {
        let all = self.eyes.iter().map(|eye| of(eye).swap(0, Relaxed));
        all.max().unwrap_or(0)
    }

    /// Latencies of all packets are written down, or not.
    pub fn sample(&self, on: bool) {
        self.sampling.store(on, Relaxed);
    }

    pub fn is_sampling(&self) -> bool {
        self.sampling.load(Relaxed)
    }

    /// The number last seen of each flow and direction.
    pub fn numbers(&self) -> Vec<u32> {
        self.last.iter().map(|last| last.load(Relaxed)).collect()
    }

    /// A sum over both workers.
    pub fn sum(&self, of: impl Fn(&Eye) -> &AtomicU64) -> u64 {
        self.eyes.iter().map(|eye| of(eye).load(Relaxed)).sum()
    }

    /// A packet has left; `worker` sent it.
    #[inline]
    pub fn left(&self, worker: usize, stamp: Stamp, shard: u32, now_ns: u64) -> u64 {
        let eye = &self.eyes[worker];
        let took_ns = now_ns.saturating_sub(stamp.due_ns);
        if let Some(last) = self.last.get(stamp.flow as usize) {
            if last.load(Relaxed) >= stamp.number {
                eye.reordered
                    .store(eye.reordered.load(Relaxed) + 1, Relaxed);
            }
            last.store(stamp.number, Relaxed);
        }
        if took_ns > eye.slowest_ns.load(Relaxed) {
            eye.slowest_ns.store(took_ns, Relaxed);
        }
        if shard == self.shard.load(Relaxed) && took_ns > eye.longest_ns.load(Relaxed) {
            eye.longest_ns.store(took_ns, Relaxed);
        }
        took_ns
    }
}

/// The last 16 octets of a packet's payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// Twice the flow's place, plus one for downlink.
    pub flow: u32,
    /// Sequence number in flow and direction, from 1.
    pub number: u32,
    pub due_ns: u64,
}

impl Stamp {
    /// Over the end of `frame`.
    pub fn write(&self, frame: &mut [u8]) {
        if let Some(end) = frame.last_chunk_mut::<16>() {
            end[..4].copy_from_slice(&self.flow.to_be_bytes());
            end[4..8].copy_from_slice(&self.number.to_be_bytes());
            end[8..].copy_from_slice(&self.due_ns.to_be_bytes());
        }
    }

    /// From the end of `frame`.
    pub fn read(frame: &[u8]) -> Option<Self> {
        let end = frame.last_chunk::<16>()?;
        let word = |at: usize| u32::from_be_bytes([end[at], end[at + 1], end[at + 2], end[at + 3]]);
        Some(Self {
            flow: word(0),
            number: word(4),
            due_ns: u64::from(word(8)) << 32 | u64::from(word(12)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stamp_is_read_as_it_was_written() {
        let stamp = Stamp {
            flow: 7,
            number: 0x0102_0304,
            due_ns: 0x0506_0708_090a_0b0c,
        };
        let mut frame = [0; 78];
        stamp.write(&mut frame);
        assert_eq!(Stamp::read(&frame), Some(stamp));
        assert_eq!(Stamp::read(&frame[..15]), None);
    }

    #[test]
    fn what_comes_late_is_seen() {
        let watch = Watch::new(1);
        let stamp = |number, due_ns| Stamp {
            flow: 1,
            number,
            due_ns,
        };
        watch.watch(3);
        watch.left(0, stamp(1, 100), 3, 150);
        watch.left(1, stamp(3, 200), 3, 290);
        watch.left(1, stamp(2, 200), 4, 999);
        assert_eq!(watch.longest_ns(), 90);
        assert_eq!(watch.sum(|eye| &eye.reordered), 1);
    }
}
