//! Bells: words of a worker to the control core that a session has something to report, and the list of those
//! that found the ring full.

use crate::forward::pdr::At;
use crate::ids::EntryId;
use crate::limits::LATE_BELLS;
use crate::message::ToControl;
use sluice_mem::ring::Producer;
use std::collections::VecDeque;

/// A session of the worker's has something to report. What rang does not ring again until a transaction has
/// written it, so a storm of packets is one bell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bell {
    /// The entry.
    pub entry: EntryId,
    /// Why it rings.
    pub cause: BellCause,
}

/// What there is to report.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BellCause {
    /// A URR has something to tell: its usage record has the marks.
    Usage,
    /// A packet came for a UE whose FAR says NOCP.
    DownlinkData {
        /// The rule in an extension block; none for the entry's own.
        at: Option<At>,
        /// DSCP of the packet, six bits.
        dscp: u8,
    },
}

/// Bells that wait for room in the ring, oldest first.
#[derive(Debug)]
pub(crate) struct LateBells {
    waiting: VecDeque<Bell>,
}

impl Default for LateBells {
    fn default() -> Self {
        Self {
            waiting: VecDeque::with_capacity(LATE_BELLS),
        }
    }
}

impl LateBells {
    /// True if none waits.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Rings now, or when there is room. False if even the list is full: the caller leaves the mark that
    /// makes it ring where it is, so that the next packet rings.
    #[cold]
    pub fn ring<P>(&mut self, to_control: &mut Producer<ToControl<P>>, bell: Bell) -> bool {
        if self.waiting.is_empty() && to_control.push(ToControl::Bell(bell)).is_ok() {
            return true;
        }
        let has_room = self.waiting.len() < LATE_BELLS;
        if has_room {
            self.waiting.push_back(bell);
        }
        has_room
    }

    /// Rings those for which there is room by now.
    #[cold]
    pub fn flush<P>(&mut self, to_control: &mut Producer<ToControl<P>>) {
        while let Some(bell) = self.waiting.front() {
            if to_control.push(ToControl::Bell(*bell)).is_err() {
                return;
            }
            self.waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_mem::ring::spsc;

    #[test]
    fn bells_that_find_the_ring_full_ring_later_in_their_order() {
        let (mut ring, mut control) = spsc::<ToControl<()>>(8, 0);
        let mut late = LateBells::default();
        let bell = |n| Bell {
            entry: EntryId(n),
            cause: BellCause::DownlinkData { at: None, dscp: 0 },
        };
        let mut rung = 0;
        while late.ring(&mut ring, bell(rung)) {
            rung += 1;
        }
        assert!(rung as usize > LATE_BELLS && !late.is_empty());
        let mut heard = 0;
        while heard < rung {
            while let Some(message) = control.pop() {
                assert!(matches!(message, ToControl::Bell(b) if b == bell(heard)));
                heard += 1;
            }
            late.flush(&mut ring);
        }
        assert!(late.is_empty());
    }
}
