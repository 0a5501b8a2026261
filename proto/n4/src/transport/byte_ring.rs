//! A ring of octets that holds records back to back; the oldest make room for the newest.

use crate::time::Instant;

/// Octets in front of each record: its length (4) and when it was stored (8).
const HEAD_LEN: usize = 12;
/// In place of a length: the rest of the ring up to its end is unused.
const SKIP: u32 = u32::MAX;

/// Position of a record: it counts octets from the start of the ring's life and never repeats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position(u64);

/// The ring. Its memory is taken once, in [`ByteRing::new`].
#[derive(Debug)]
pub struct ByteRing {
    bytes: Box<[u8]>,
    /// Start of the oldest record.
    tail: RingPosition,
    /// End of the newest record.
    head: RingPosition,
}

/// A position, and where it lies in the ring.
#[derive(Clone, Copy, Debug, Default)]
struct RingPosition {
    position: u64,
    at: usize,
}

impl RingPosition {
    /// Goes on by so many octets, of which the ring has `capacity`.
    fn go_on(&mut self, octets: usize, capacity: usize) {
        self.position += octets as u64;
        self.at += octets;
        if self.at >= capacity {
            self.at -= capacity;
        }
    }
}

impl ByteRing {
    /// A ring of `capacity` octets.
    pub fn new(capacity: usize) -> Self {
        Self {
            bytes: vec![0; capacity].into_boxed_slice(),
            tail: RingPosition::default(),
            head: RingPosition::default(),
        }
    }

    /// Copies `record` in. `evicted` is called with the storing time of each older record that
    /// gives way. `None` when the record is longer than the whole ring.
    pub fn push(
        &mut self,
        now: Instant,
        record: &[u8],
        mut evicted: impl FnMut(Instant),
    ) -> Option<Position> {
        let need = record.len().checked_add(HEAD_LEN)?;
        if need > self.bytes.len() {
            return None;
        }
        let capacity = self.bytes.len();
        let room = capacity - self.head.at;
        if room < need {
            self.make_room(room, &mut evicted);
            self.write_skip();
            self.head.go_on(room, capacity);
        }
        self.make_room(need, &mut evicted);
        let place = self.bytes.get_mut(self.head.at..)?;
        let (head, place) = place.split_first_chunk_mut::<HEAD_LEN>()?;
        let (len, stored) = head.split_at_mut(4);
        len.copy_from_slice(&(record.len() as u32).to_be_bytes());
        stored.copy_from_slice(&now.0.to_be_bytes());
        place.get_mut(..record.len())?.copy_from_slice(record);
        let position = self.head.position;
        self.head.go_on(need, capacity);
        Some(Position(position))
    }

    /// Octets of it that have been used so far.
    pub fn touched_bytes(&self) -> usize {
        let all = self.bytes.len();
        usize::try_from(self.head.position).map_or(all, |head| head.min(all))
    }

    /// The record at `position`, or `None` if it has given way.
    pub fn get(&self, position: Position) -> Option<&[u8]> {
        if position.0 < self.tail.position || position.0 >= self.head.position {
            return None;
        }
        let start = (position.0 % self.bytes.len().max(1) as u64) as usize;
        let len = self.u32_at(start)? as usize;
        let first = start.checked_add(HEAD_LEN)?;
        self.bytes.get(first..first.checked_add(len)?)
    }

    fn make_room(&mut self, need: usize, evicted: &mut impl FnMut(Instant)) {
        let capacity = self.bytes.len() as u64;
        while self.head.position + need as u64 - self.tail.position > capacity {
            self.drop_oldest(evicted);
        }
    }

    fn drop_oldest(&mut self, evicted: &mut impl FnMut(Instant)) {
        let (start, capacity) = (self.tail.at, self.bytes.len());
        match self.u32_at(start) {
            Some(len) if len != SKIP => {
                evicted(self.time_at(start + 4));
                self.tail.go_on(HEAD_LEN + len as usize, capacity);
            }
            _ => self.tail.go_on(capacity - start, capacity),
        }
    }

    /// Says that the ring ends here. It may have less room than that takes; its reader then finds
    /// too few octets, which means the same.
    fn write_skip(&mut self) {
        let place = self.bytes.get_mut(self.head.at..).unwrap_or_default();
        if let Some(place) = place.first_chunk_mut() {
            *place = SKIP.to_be_bytes();
        }
    }

    fn u32_at(&self, start: usize) -> Option<u32> {
        let octets = self.bytes.get(start..start.checked_add(4)?)?;
        Some(u32::from_be_bytes(octets.try_into().ok()?))
    }

    fn time_at(&self, start: usize) -> Instant {
        let octets = self.bytes.get(start..start.saturating_add(8));
        let octets = octets.and_then(|octets| octets.try_into().ok());
        Instant(octets.map_or(0, u64::from_be_bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::VecDeque;

    proptest! {
        #[test]
        fn the_newest_records_read_back_and_the_evicted_ones_are_gone(
            lengths in prop::collection::vec(0usize..90, 1..200),
            capacity in 102usize..400,
        ) {
            let mut ring = ByteRing::new(capacity);
            let mut live: VecDeque<(Position, Vec<u8>, Instant)> = VecDeque::new();
            let mut gone = Vec::new();
            for (n, len) in lengths.into_iter().enumerate() {
                let (record, now) = (vec![n as u8; len], Instant(n as u64));
                let mut evicted = Vec::new();
                let position = ring.push(now, &record, |stored| evicted.push(stored));
                for stored in evicted {
                    let (position, _, at) = live.pop_front().expect("was live");
                    prop_assert_eq!(at, stored);
                    gone.push(position);
                }
                live.push_back((position.expect("fits"), record, now));
                for (position, record, _) in &live {
                    prop_assert_eq!(ring.get(*position), Some(&record[..]));
                }
                for position in &gone {
                    prop_assert_eq!(ring.get(*position), None);
                }
            }
        }
    }

    #[test]
    fn a_record_longer_than_the_ring_is_refused() {
        let mut ring = ByteRing::new(100);
        assert!(ring.push(Instant(0), &[0; 88], |_| ()).is_some());
        assert_eq!(
            ring.push(Instant(0), &[0; 89], |_| panic!("nothing gives way")),
            None
        );
    }
}
