//! A worker's part in holding packets: what is due in a turn, and its gauges.

use crate::worker::Worker;
use core::time::Duration;
use sluice_port::PortIo;

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
