//! Held packets (BUFF; TS 29.244, 5.2.4): copies in a queue for each entry, bounded, until their rules let them
//! go or their time is over.
//!
//! A queue whose entry was written is *draining*: each of its packets meets the rules anew, and new ones of
//! the entry go behind them. `docs/developer/paging.md` has the whole.

mod deadlines;
mod leaving;
mod path;
mod queues;

use crate::limits::{HELD, HELD_NS, HELD_PER_ENTRY};
use crate::worker::Worker;
use core::time::Duration;
use sluice_port::PortIo;

pub use crate::hold::leaving::ShardHeld;
pub(crate) use crate::hold::queues::{Drained, Held, HeldPackets};

/// How many packets are held, and for how long.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct HoldLimits {
    /// Of one entry where no BAR suggests otherwise.
    pub per_entry: u32,
    /// Of all: as many as the pool that they are copied into has.
    pub packets: u32,
    /// For how long, in nanoseconds.
    pub wait_ns: u64,
}

impl Default for HoldLimits {
    fn default() -> Self {
        Self {
            per_entry: HELD_PER_ENTRY,
            packets: HELD,
            wait_ns: HELD_NS,
        }
    }
}

impl<I: PortIo> Worker<I> {
    /// Gives up what waited too long, and lets a bounded number go. Returns how many went.
    #[cold]
    pub(crate) fn look_after_held(&mut self, now_ns: u64) -> usize {
        let (mut path, _) = self.path_and_batch(now_ns);
        path.expire_held();
        let drained = path.drain_held();
        path.flush();
        self.count_held();
        drained
    }

    /// How long it may sleep from `now_ns` on with what it holds: until the first packet is given up, or may
    /// leave at its bit rate.
    pub fn may_sleep(&self, now_ns: u64, at_most: Duration) -> Duration {
        let due_ns = [self.hold.next_deadline(), self.next_due_ns()];
        let until_ns = due_ns.into_iter().flatten().min().unwrap_or(u64::MAX);
        let left = Duration::from_nanos(until_ns.saturating_sub(now_ns));
        at_most.min(left)
    }
}
