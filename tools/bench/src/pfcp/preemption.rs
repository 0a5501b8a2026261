//! Detection of preemption: moments when a measuring thread did not have its CPU.

use std::sync::atomic::{AtomicU64, Ordering};

/// A turn that takes so much longer than its work does: the thread was away.
pub const GAP_NS: u64 = 50_000;
/// What a message takes at the most, or what came back from a worker: some three times what it does.
const WORK_NS: u64 = 6_000;

/// How often the measured thread was away, told to the generator.
#[derive(Debug, Default)]
pub struct Away(AtomicU64);

impl Away {
    /// A turn of the measured thread took so long, for so many messages.
    pub fn note(&self, turn_ns: u64, work: usize) {
        if is_gap(turn_ns, work) {
            // One thread writes.
            self.0.store(self.times() + 1, Ordering::Release);
        }
    }

    /// How often it was away.
    pub fn times(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
}

/// Whether a turn with so many messages took longer than they explain.
pub fn is_gap(turn_ns: u64, work: usize) -> bool {
    turn_ns > GAP_NS + WORK_NS * work as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_work_is_no_absence() {
        let away = Away::default();
        away.note(GAP_NS, 0);
        away.note(GAP_NS + 60 * WORK_NS, 60);
        assert_eq!(away.times(), 0);
        away.note(GAP_NS + 60 * WORK_NS + 1, 60);
        assert_eq!(away.times(), 1);
    }
}
