//! Loss, duplicate and reordering detection per flow.
//!
//! Definitions: a packet is *lost* that was sent and did not arrive; *duplicate* when its sequence
//! has arrived before; *reordered* when it is no duplicate and its sequence is below the highest
//! that has arrived of its flow (RFC 4737, 3.3: Type-P-Reordered).
//!
//! Of each flow the last sequences are known by a bit each, 64 to 4096 of them as there are fewer
//! flows. A packet from before those could be either late or a duplicate: it is counted as
//! *undecided* and as neither. Where nothing is undecided, loss and duplicates are exact.

use crate::stamp::SEQUENCES;

/// Octets that the bits of all flows take, if that is possible.
const WINDOW_BUDGET_BYTES: usize = 32 << 20;
const WINDOW_BITS: std::ops::RangeInclusive<usize> = 64..=4096;
const WORD_BITS: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arrival {
    /// In order, whatever was skipped.
    InOrder,
    /// Overtaken by others of its flow.
    Reordered,
    /// Not the first time.
    Duplicate,
    /// Too old to be told.
    Undecided,
}

/// Arrivals of every flow of a lane: 40 octets each, and its window.
#[derive(Debug)]
pub(crate) struct Tracker {
    flows: Vec<FlowState>,
    /// `words` for each flow: bit `sequence % window` of those of the window that have arrived.
    seen: Vec<u64>,
    words: usize,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FlowState {
    /// The sequence behind the highest that has arrived; 0 before the first.
    next: u64,
    /// Different packets that have arrived.
    pub(crate) unique: u64,
    /// How long the last one was on its way, in nanoseconds.
    transit_ns: i64,
    /// Interarrival jitter, in nanoseconds (RFC 3550, 6.4.1), times 16 as in its appendix A.8.
    jitter_16_ns: u64,
}

impl FlowState {
    /// RFC 3550's estimate of jitter, in nanoseconds.
    pub(crate) fn jitter_ns(&self) -> f64 {
        self.jitter_16_ns as f64 / 16.0
    }
}

impl Tracker {
    pub(crate) fn new(flows: u32) -> Self {
        let flows = flows as usize;
        let bits = WINDOW_BUDGET_BYTES * 8 / flows.max(1);
        let power = match bits.checked_ilog2() {
            Some(log) => 1 << log,
            None => 0,
        };
        let words = power.clamp(*WINDOW_BITS.start(), *WINDOW_BITS.end()) / WORD_BITS;
        Self {
            flows: vec![FlowState::default(); flows],
            seen: vec![0; flows * words],
            words,
        }
    }

    /// Bits of each flow.
    pub(crate) fn window_packets(&self) -> usize {
        self.words * WORD_BITS
    }

    pub(crate) fn flows(&self) -> &[FlowState] {
        &self.flows
    }

    /// A packet with the sequence `sequence` modulo 2^24 has arrived after `transit_ns`. None if
    /// there is no such flow.
    #[inline]
    pub(crate) fn arrive(&mut self, flow: u32, sequence: u32, transit_ns: u64) -> Option<Arrival> {
        let place = flow as usize;
        let state = self.flows.get_mut(place)?;
        let seen = self
            .seen
            .get_mut(place * self.words..)?
            .get_mut(..self.words)?;
        let Some(sequence) = extend(state.next, sequence) else {
            return Some(Arrival::Undecided);
        };
        let arrival = if sequence >= state.next {
            forget(seen, state.next, sequence);
            state.next = sequence + 1;
            mark(seen, sequence);
            Arrival::InOrder
        } else if state.next - sequence > (seen.len() * WORD_BITS) as u64 {
            Arrival::Undecided
        } else if mark(seen, sequence) {
            Arrival::Reordered
        } else {
            Arrival::Duplicate
        };
        if matches!(arrival, Arrival::InOrder | Arrival::Reordered) {
            state.unique += 1;
            state.take_transit(transit_ns as i64);
        }
        Some(arrival)
    }
}

impl FlowState {
    /// J += (|D| - J) / 16, in whole numbers as RFC 3550, A.8.
    #[inline]
    fn take_transit(&mut self, transit_ns: i64) {
        if self.unique > 1 {
            let difference = transit_ns.abs_diff(self.transit_ns);
            self.jitter_16_ns =
                (self.jitter_16_ns + difference).saturating_sub((self.jitter_16_ns + 8) >> 4);
        }
        self.transit_ns = transit_ns;
    }
}

/// The whole sequence nearest to `next`; none if it lies before the first.
#[inline]
fn extend(next: u64, sequence: u32) -> Option<u64> {
    let modulus = u64::from(SEQUENCES);
    let ahead = u64::from(sequence).wrapping_sub(next) & (modulus - 1);
    match ahead < modulus / 2 {
        true => Some(next + ahead),
        false => (next + ahead).checked_sub(modulus),
    }
}

/// Clears the bits of sequences from `next` to `last`, which take the places of older ones.
#[inline]
fn forget(seen: &mut [u64], next: u64, last: u64) {
    let window = (seen.len() * WORD_BITS) as u64;
    if last - next >= window {
        seen.fill(0);
        return;
    }
    for sequence in next..=last {
        let bit = (sequence % window) as usize;
        if let Some(word) = seen.get_mut(bit / WORD_BITS) {
            *word &= !(1 << (bit % WORD_BITS));
        }
    }
}

/// Sets a bit; false if it was set before.
#[inline]
fn mark(seen: &mut [u64], sequence: u64) -> bool {
    let bit = (sequence % (seen.len() * WORD_BITS) as u64) as usize;
    let mask = 1 << (bit % WORD_BITS);
    match seen.get_mut(bit / WORD_BITS) {
        Some(word) => {
            let was_clear = *word & mask == 0;
            *word |= mask;
            was_clear
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn arrivals(sequences: &[u32]) -> Vec<Arrival> {
        let mut tracker = Tracker::new(1);
        let one = |sequence: &u32| tracker.arrive(0, *sequence, 0);
        sequences.iter().filter_map(one).collect()
    }

    #[test]
    fn arrivals_are_told_apart() {
        use Arrival::*;
        assert_eq!(
            arrivals(&[0, 1, 3, 2, 3, 2, 4]),
            [
                InOrder, InOrder, InOrder, Reordered, Duplicate, Duplicate, InOrder
            ]
        );
    }

    #[test]
    fn what_is_older_than_the_window_is_undecided() {
        let window = Tracker::new(1).window_packets() as u32;
        assert_eq!(window, 4096);
        let last = arrivals(&[0, window, 0]).pop();
        assert_eq!(last, Some(Arrival::Undecided));
        let last = arrivals(&[0, window, 1]).pop();
        assert_eq!(last, Some(Arrival::Reordered));
    }

    #[test]
    fn windows_shrink_with_the_number_of_flows() {
        assert_eq!(Tracker::new(1_000_000).window_packets(), 256);
        assert_eq!(Tracker::new(10_000_000).window_packets(), 64);
        assert!(Tracker::new(5).arrive(5, 0, 0).is_none());
    }

    #[test]
    fn sequences_survive_their_wrap() {
        let mut tracker = Tracker::new(1);
        for sequence in 0..u64::from(SEQUENCES) + 10 {
            let arrival = tracker.arrive(0, (sequence % u64::from(SEQUENCES)) as u32, 0);
            assert_eq!(arrival, Some(Arrival::InOrder));
        }
        assert_eq!(
            tracker.arrive(0, SEQUENCES - 1, 0),
            Some(Arrival::Duplicate)
        );
        assert_eq!(tracker.flows()[0].unique, u64::from(SEQUENCES) + 10);
    }

    #[test]
    fn jitter_is_that_of_rfc_3550() {
        let mut tracker = Tracker::new(1);
        let mut want = 0.0;
        let transits = [1000u64, 1000, 5000, 2000, 2000, 90_000];
        for (sequence, transit) in (0..).zip(transits) {
            tracker.arrive(0, sequence, transit);
        }
        for pair in transits.windows(2) {
            want += (pair[0].abs_diff(pair[1]) as f64 - want) / 16.0;
        }
        let is = tracker.flows()[0].jitter_ns();
        assert!((is - want).abs() < 1.0, "{is}, want {want}");
    }

    proptest! {
        /// Against a set that forgets nothing, within the window.
        #[test]
        fn counts_are_those_of_a_set(sequences in proptest::collection::vec(0u32..3000, 1..600)) {
            let (mut set, mut highest) = (BTreeSet::new(), None);
            let mut tracker = Tracker::new(1);
            for sequence in sequences {
                let want = if !set.insert(sequence) {
                    Arrival::Duplicate
                } else if highest > Some(sequence) {
                    Arrival::Reordered
                } else {
                    Arrival::InOrder
                };
                highest = highest.max(Some(sequence));
                prop_assert_eq!(tracker.arrive(0, sequence, 0), Some(want));
            }
            prop_assert_eq!(tracker.flows()[0].unique, set.len() as u64);
        }
    }
}
