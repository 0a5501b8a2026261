//! A heap packet.

use core::fmt;

use arrayvec::ArrayVec;
use sluice_mem::prefetch;
use sluice_port::{BURST_MAX, Packet, PacketError};

use crate::HeapPool;

/// A packet on the heap, with the sizes of its [`HeapPool`]. It must be freed
/// like any [`Packet`]; one that is merely dropped gives its memory back too,
/// but the pool counts it as leaked.
pub struct HeapPacket(Box<Inner>);

struct Inner {
    pool: HeapPool,
    first: Segment,
    rest: Vec<Segment>,
    rss_hash: Option<u32>,
    freed: bool,
}

/// A buffer of which `start..end` is data.
struct Segment {
    buffer: Box<[u8]>,
    start: usize,
    end: usize,
}

impl HeapPacket {
    /// For a segment that the pool has counted.
    pub(crate) fn new(pool: HeapPool) -> Self {
        let first = Segment::new(&pool, pool.config().headroom_bytes);
        Self(Box::new(Inner {
            pool,
            first,
            rest: Vec::new(),
            rss_hash: None,
            freed: false,
        }))
    }

    /// Makes `bytes`, which must fit, the data of the first segment.
    pub(crate) fn fill(&mut self, bytes: &[u8]) {
        self.0.first.fill(bytes);
    }

    /// Adds a segment, which the pool has counted, of `bytes`, which must fit.
    pub(crate) fn add_segment(&mut self, bytes: &[u8]) {
        let mut segment = Segment::new(&self.0.pool, 0);
        segment.fill(bytes);
        self.0.rest.push(segment);
    }

    /// Sets what [`Packet::rss_hash`] tells.
    pub fn set_rss_hash(&mut self, hash: u32) {
        self.0.rss_hash = Some(hash);
    }

    /// The bytes of all segments.
    pub fn to_vec(&self) -> Vec<u8> {
        let mut bytes = self.data().to_vec();
        self.0
            .rest
            .iter()
            .for_each(|segment| bytes.extend_from_slice(segment.data()));
        bytes
    }

    fn last(&self) -> &Segment {
        self.0.rest.last().unwrap_or(&self.0.first)
    }

    /// Gives the segments behind the first `keep` of the rest back to the pool.
    fn drop_rest(&mut self, keep: usize) {
        let before = self.0.rest.len();
        self.0.rest.truncate(keep);
        self.0.pool.give_segments(before - self.0.rest.len());
    }
}

impl Packet for HeapPacket {
    fn data(&self) -> &[u8] {
        self.0.first.data()
    }

    fn data_mut(&mut self) -> &mut [u8] {
        let Segment { buffer, start, end } = &mut self.0.first;
        &mut buffer[*start..*end]
    }

    fn total_len(&self) -> usize {
        self.0
            .rest
            .iter()
            .fold(self.len(), |sum, segment| sum + segment.data().len())
    }

    fn segments(&self) -> usize {
        1 + self.0.rest.len()
    }

    fn segment(&self, index: usize) -> Option<&[u8]> {
        match index.checked_sub(1) {
            None => Some(self.data()),
            Some(behind_first) => self.0.rest.get(behind_first).map(Segment::data),
        }
    }

    fn headroom(&self) -> usize {
        self.0.first.start
    }

    fn tailroom(&self) -> usize {
        self.last().tailroom()
    }

    fn pull_front(&mut self, n: usize) -> Result<(), PacketError> {
        if n > self.len() {
            return Err(PacketError::Short);
        }
        self.0.first.start += n;
        Ok(())
    }

    fn push_front(&mut self, n: usize) -> Result<&mut [u8], PacketError> {
        let first = &mut self.0.first;
        first.start = first.start.checked_sub(n).ok_or(PacketError::Headroom)?;
        Ok(&mut first.buffer[first.start..][..n])
    }

    fn truncate(&mut self, n: usize) {
        let mut left = n.saturating_sub(self.len());
        self.0.first.truncate(n);
        let mut keep = 0;
        for segment in &mut self.0.rest {
            if left == 0 {
                break;
            }
            let length = segment.data().len();
            segment.truncate(left);
            left = left.saturating_sub(length);
            keep += 1;
        }
        self.drop_rest(keep);
    }

    fn append(&mut self, n: usize) -> Result<&mut [u8], PacketError> {
        if !self.0.rest.is_empty() {
            return Err(PacketError::Segmented);
        }
        let first = &mut self.0.first;
        if n > first.tailroom() {
            return Err(PacketError::Tailroom);
        }
        let old_end = first.end;
        first.end += n;
        Ok(&mut first.buffer[old_end..first.end])
    }

    fn linearize(&mut self) -> bool {
        let more: usize = self.0.rest.iter().map(|segment| segment.data().len()).sum();
        if more > self.0.first.tailroom() {
            return false;
        }
        let Inner { first, rest, .. } = &mut *self.0;
        for segment in rest {
            let bytes = segment.data();
            first.buffer[first.end..][..bytes.len()].copy_from_slice(bytes);
            first.end += bytes.len();
        }
        self.drop_rest(0);
        true
    }

    fn prefetch(&self) {
        prefetch::read_bytes(self.data());
    }

    fn rss_hash(&self) -> Option<u32> {
        self.0.rss_hash
    }

    fn free_bulk(packets: &mut ArrayVec<Self, BURST_MAX>) {
        packets.drain(..).for_each(Packet::free);
    }

    fn free(mut self) {
        self.0.freed = true;
    }
}

impl Drop for HeapPacket {
    fn drop(&mut self) {
        self.0.pool.give_segments(self.segments());
        if !self.0.freed {
            self.0.pool.count_leak();
        }
    }
}

impl fmt::Debug for HeapPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "HeapPacket({} B in {} segments)",
            self.total_len(),
            self.segments()
        )
    }
}

impl Segment {
    fn new(pool: &HeapPool, headroom: usize) -> Self {
        let buffer = vec![0; headroom + pool.config().room_bytes].into();
        Self {
            buffer,
            start: headroom,
            end: headroom,
        }
    }

    fn fill(&mut self, bytes: &[u8]) {
        self.end = self.start + bytes.len();
        self.buffer[self.start..self.end].copy_from_slice(bytes);
    }

    fn data(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    fn tailroom(&self) -> usize {
        self.buffer.len() - self.end
    }

    fn truncate(&mut self, n: usize) {
        self.end = self.end.min(self.start.saturating_add(n));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sluice_port::Burst;

    use super::*;
    use crate::PoolConfig;

    fn small_pool(segments: usize) -> HeapPool {
        HeapPool::new(PoolConfig {
            headroom_bytes: 16,
            room_bytes: 64,
            segments,
        })
    }

    #[test]
    fn front_and_end_grow_into_their_room_and_no_further() {
        let pool = small_pool(1);
        let mut packet = pool.packet(&[1, 2, 3]).unwrap();
        packet.push_front(2).unwrap().copy_from_slice(&[8, 9]);
        packet.append(1).unwrap()[0] = 4;
        assert_eq!(packet.data(), [8, 9, 1, 2, 3, 4]);
        assert_eq!((packet.headroom(), packet.tailroom()), (14, 60));
        assert_eq!(packet.push_front(15), Err(PacketError::Headroom));
        assert_eq!(packet.append(61), Err(PacketError::Tailroom));
        assert_eq!(packet.pull_front(7), Err(PacketError::Short));
        assert_eq!(packet.data(), [8, 9, 1, 2, 3, 4], "refusals change nothing");
        packet.pull_front(3).unwrap();
        assert_eq!(packet.data(), [2, 3, 4]);
        packet.free();
    }

    #[test]
    fn a_long_frame_gets_segments_and_linearizes_only_if_it_fits() {
        let pool = small_pool(usize::MAX);
        let frame: Vec<u8> = (0..150).collect();
        let mut packet = pool.packet(&frame).unwrap();
        assert_eq!(
            (packet.segments(), packet.len(), packet.total_len()),
            (3, 64, 150)
        );
        assert!(!packet.linearize(), "150 bytes do not fit in 64");
        assert_eq!(packet.to_vec(), frame);
        assert_eq!(packet.append(1), Err(PacketError::Segmented));
        packet.truncate(100);
        assert_eq!(
            (packet.segments(), packet.segment(1)),
            (2, Some(&frame[64..100]))
        );
        packet.pull_front(50).unwrap();
        assert!(
            !packet.linearize(),
            "what is pulled becomes headroom, not tailroom"
        );
        packet.free();
        assert_eq!((pool.live(), pool.leaked()), (0, 0));
    }

    #[test]
    fn segments_that_fit_are_joined_and_given_back() {
        let pool = small_pool(3);
        let mut packet = pool.packet_of_segments(&[&[1, 2], &[3], &[4, 5]]).unwrap();
        assert_eq!(pool.live(), 3);
        assert!(packet.linearize());
        assert_eq!(
            (packet.data(), packet.segments()),
            (&[1, 2, 3, 4, 5][..], 1)
        );
        assert_eq!(pool.live(), 1);
        packet.free();
    }

    #[test]
    fn an_exhausted_pool_gives_nothing_and_takes_nothing() {
        let pool = small_pool(2);
        assert!(pool.packet(&[0; 150]).is_none(), "needs three segments");
        assert_eq!((pool.live(), pool.leaked()), (0, 0));
        let packet = pool.packet(&[0; 100]).unwrap();
        assert!(pool.alloc().is_none());
        packet.free();
        assert_eq!(pool.live(), 0);
    }

    #[test]
    fn a_dropped_packet_is_counted_as_leaked_and_a_freed_one_is_not() {
        let pool = HeapPool::default();
        drop(pool.alloc());
        assert_eq!((pool.live(), pool.leaked()), (0, 1));
        let mut burst = Burst::new();
        burst.push(pool.alloc().unwrap()).unwrap();
        burst.push(pool.alloc().unwrap()).unwrap();
        drop(burst.drain().next());
        assert_eq!(
            (pool.live(), pool.leaked()),
            (0, 2),
            "the drain freed the other one"
        );
        burst.push(pool.alloc().unwrap()).unwrap();
        drop(burst);
        assert_eq!((pool.live(), pool.leaked()), (0, 2));
    }

    proptest! {
        #[test]
        fn truncating_keeps_the_first_bytes(
            parts in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..64), 1..5),
            n in 0_usize..300,
        ) {
            let pool = small_pool(usize::MAX);
            let parts: Vec<&[u8]> = parts.iter().map(Vec::as_slice).collect();
            let mut packet = pool.packet_of_segments(&parts).unwrap();
            let mut expected = parts.concat();
            expected.truncate(n);
            packet.truncate(n);
            prop_assert_eq!(packet.to_vec(), expected);
            prop_assert_eq!(pool.live(), packet.segments());
            packet.free();
            prop_assert_eq!((pool.live(), pool.leaked()), (0, 0));
        }
    }
}
