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

pub use leaving::ShardHeld;
pub(crate) use queues::{Drained, Held, HeldPackets};

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
