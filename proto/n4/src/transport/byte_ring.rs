//! A ring of octets that holds records back to back; the oldest make room for the newest.

use crate::time::Instant;

/// Octets in front of each record: its length (4) and when it was stored (8).
const HEAD_LEN: usize = 12;
/// In place of a length: the rest of the ring up to its end is unused.
const SKIP: u32 = u32::MAX;

/// Where a record lies: it counts octets from the start of the ring's life and never repeats.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Position(u64);

/// The ring. Its memory is taken once, in [`ByteRing::new`].
#[derive(Debug)]
pub struct ByteRing {
    bytes: Box<[u8]>,
    /// Start of the oldest record.
    tail: u64,
    /// End of the newest record.
    head: u64,
}

impl ByteRing {
    /// A ring of `capacity` octets.
    pub fn new(capacity: usize) -> Self {
        Self {
            bytes: vec![0; capacity].into_boxed_slice(),
            tail: 0,
            head: 0,
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
        let room = self.bytes.len() - self.offset(self.head);
        if room < need {
            self.make_room(room, &mut evicted);
            self.write(self.head, &SKIP.to_be_bytes());
            self.head += room as u64;
        }
        self.make_room(need, &mut evicted);
        let position = self.head;
        self.write(position, &(record.len() as u32).to_be_bytes());
        self.write(position + 4, &now.0.to_be_bytes());
        self.write(position + HEAD_LEN as u64, record);
        self.head += need as u64;
        Some(Position(position))
    }

    /// Octets of it that have been used so far.
    pub fn touched_bytes(&self) -> usize {
        usize::try_from(self.head).map_or(self.bytes.len(), |head| head.min(self.bytes.len()))
    }

    /// The record at `position`, or `None` if it has given way.
    pub fn get(&self, position: Position) -> Option<&[u8]> {
        if position.0 < self.tail || position.0 >= self.head {
            return None;
        }
        let start = self.offset(position.0);
        let len = self.u32_at(start)? as usize;
        let first = start.checked_add(HEAD_LEN)?;
        self.bytes.get(first..first.checked_add(len)?)
    }

    fn make_room(&mut self, need: usize, evicted: &mut impl FnMut(Instant)) {
        let capacity = self.bytes.len() as u64;
        while self.head + need as u64 - self.tail > capacity {
            self.drop_oldest(evicted);
        }
    }

    fn drop_oldest(&mut self, evicted: &mut impl FnMut(Instant)) {
        let start = self.offset(self.tail);
        let to_end = self.bytes.len() - start;
        match self.u32_at(start) {
            Some(len) if len != SKIP => {
                evicted(self.time_at(start + 4));
                self.tail += HEAD_LEN as u64 + u64::from(len);
            }
            _ => self.tail += to_end as u64,
        }
    }

    fn offset(&self, position: u64) -> usize {
        (position % self.bytes.len().max(1) as u64) as usize
    }

    /// Writes as much as fits before the end of the ring (a skip mark may be cut short; its
    /// reader then finds too few octets, which means the same).
    fn write(&mut self, position: u64, octets: &[u8]) {
        let start = self.offset(position);
        if let Some(target) = self.bytes.get_mut(start..) {
            for (to, from) in target.iter_mut().zip(octets) {
                *to = *from;
            }
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
