//! A burst of packets.

use core::mem;

use arrayvec::ArrayVec;

use crate::Packet;

/// Most packets in a burst. The path is bound by memory parallelism: 128 in
/// flight per stage were measured 35 % faster than 32; twice that leaves room.
pub const BURST_MAX: usize = 256;

/// Up to [`BURST_MAX`] packets, in order. Frees what it holds when dropped.
pub struct Burst<P: Packet>(ArrayVec<P, BURST_MAX>);

impl<P: Packet> Burst<P> {
    /// An empty burst.
    pub const fn new() -> Self {
        Self(ArrayVec::new_const())
    }

    /// Adds a packet at the end.
    ///
    /// # Errors
    /// Gives the packet back if the burst is full.
    #[inline(always)]
    pub fn push(&mut self, packet: P) -> Result<(), P> {
        self.0.try_push(packet).map_err(|full| full.element())
    }

    /// Takes the last packet out.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<P> {
        self.0.pop()
    }

    /// Takes packet `index` out; those behind it move up, so order is kept (and
    /// the time taken grows with their number).
    #[inline]
    pub fn take(&mut self, index: usize) -> Option<P> {
        self.0.pop_at(index)
    }

    /// Takes packet `index` out and puts the last one in its place.
    #[inline(always)]
    pub fn swap_take(&mut self, index: usize) -> Option<P> {
        self.0.swap_pop(index)
    }

    /// Exchanges two packets.
    ///
    /// # Panics
    /// If one of them does not exist.
    #[inline(always)]
    pub fn swap(&mut self, a: usize, b: usize) {
        self.0.swap(a, b);
    }

    /// Takes all packets out, first to last. Those that the iterator has not
    /// given out when it is dropped are freed.
    #[inline(always)]
    pub fn drain(&mut self) -> Drain<'_, P> {
        self.drain_front(self.len())
    }

    /// Takes the first `n` packets (or all, if fewer) out, as [`Self::drain`].
    #[inline(always)]
    pub fn drain_front(&mut self, n: usize) -> Drain<'_, P> {
        let n = n.min(self.len());
        Drain(self.0.drain(..n))
    }

    /// Lets go of the first `n` packets (or all, if fewer) without freeing them:
    /// somebody else owns them now.
    #[inline]
    pub fn forget_front(&mut self, n: usize) {
        let n = n.min(self.len());
        self.0.drain(..n).for_each(mem::forget);
    }

    /// Moves packets from the front of `other` to the end of this burst until
    /// one is full or the other empty. Returns how many.
    pub fn append(&mut self, other: &mut Self) -> usize {
        let n = other.len().min(self.remaining());
        self.0.extend(other.0.drain(..n));
        n
    }

    /// Frees all packets.
    #[inline]
    pub fn free(&mut self) {
        if !self.0.is_empty() {
            P::free_bulk(&mut self.0);
        }
    }

    /// Number of packets.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether there is no place left.
    #[inline(always)]
    pub fn is_full(&self) -> bool {
        self.0.is_full()
    }

    /// Places left.
    #[inline(always)]
    pub fn remaining(&self) -> usize {
        self.0.remaining_capacity()
    }

    /// The packets in order.
    #[inline(always)]
    pub fn as_slice(&self) -> &[P] {
        &self.0
    }

    /// The packets in order, to be changed.
    #[inline(always)]
    pub fn as_mut_slice(&mut self) -> &mut [P] {
        &mut self.0
    }

    /// The vector inside, for ports that fill or empty it in one go. Packets
    /// taken out of it by other means than this type's are the caller's to end.
    #[inline(always)]
    pub fn as_mut_vec(&mut self) -> &mut ArrayVec<P, BURST_MAX> {
        &mut self.0
    }

    /// Packet `index`.
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<&P> {
        self.0.get(index)
    }

    /// Packet `index`, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, index: usize) -> Option<&mut P> {
        self.0.get_mut(index)
    }

    /// Over the packets in order.
    #[inline(always)]
    pub fn iter(&self) -> core::slice::Iter<'_, P> {
        self.0.iter()
    }

    /// Over the packets in order, to be changed.
    #[inline(always)]
    pub fn iter_mut(&mut self) -> core::slice::IterMut<'_, P> {
        self.0.iter_mut()
    }
}

impl<P: Packet> Default for Burst<P> {
    fn default() -> Self {
        Self::new()
    }
}

impl<P: Packet> Drop for Burst<P> {
    fn drop(&mut self) {
        self.free();
    }
}

impl<'a, P: Packet> IntoIterator for &'a Burst<P> {
    type Item = &'a P;
    type IntoIter = core::slice::Iter<'a, P>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, P: Packet> IntoIterator for &'a mut Burst<P> {
    type Item = &'a mut P;
    type IntoIter = core::slice::IterMut<'a, P>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<P: Packet> core::fmt::Debug for Burst<P> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Burst({} packets)", self.len())
    }
}

/// Iterator that takes packets out of a burst, see [`Burst::drain`].
pub struct Drain<'a, P: Packet>(arrayvec::Drain<'a, P, BURST_MAX>);

impl<P: Packet> Iterator for Drain<'_, P> {
    type Item = P;

    #[inline(always)]
    fn next(&mut self) -> Option<P> {
        self.0.next()
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<P: Packet> ExactSizeIterator for Drain<'_, P> {}

impl<P: Packet> Drop for Drain<'_, P> {
    #[inline]
    fn drop(&mut self) {
        if self.0.len() > 0 {
            let mut rest: ArrayVec<P, BURST_MAX> = self.0.by_ref().collect();
            P::free_bulk(&mut rest);
        }
    }
}
