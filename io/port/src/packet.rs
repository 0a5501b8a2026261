//! The packet trait: what the packet path may do with an mbuf or a heap packet.

use core::fmt;

use arrayvec::ArrayVec;

use crate::BURST_MAX;

/// A packet: bytes from the Ethernet header on, in one or more segments, with
/// free room before and after.
///
/// # Every packet ends somewhere
/// Packets have no destructor that frees them (a DPDK mbuf is a pointer; a drop
/// flag on each would cost the path dearly). So each ends in exactly one of:
/// accepted by [`PortIo::tx`](crate::PortIo::tx); freed by [`Self::free`],
/// [`Self::free_bulk`], the drop of a [`Burst`](crate::Burst) or
/// [`PortIo::free`](crate::PortIo::free); or handed over to somebody who does
/// one of these. A packet that is merely dropped is leaked until its pool ends.
/// The heap packet of `sluice-port-sim` counts such packets, so that tests find
/// them.
///
/// # Segments
/// `data`, `len` and all that changes the front concern the first segment.
/// Received packets may have more; [`Self::linearize`] joins them.
pub trait Packet: Sized + Send {
    /// The bytes of the first segment.
    fn data(&self) -> &[u8];

    /// The bytes of the first segment, to be changed.
    fn data_mut(&mut self) -> &mut [u8];

    /// Bytes in the first segment.
    #[inline(always)]
    fn len(&self) -> usize {
        self.data().len()
    }

    /// Whether the first segment has no bytes.
    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes in all segments.
    fn total_len(&self) -> usize;

    /// Number of segments, at least 1.
    fn segments(&self) -> usize;

    /// The bytes of segment `index`, counted from 0; none past the last.
    fn segment(&self, index: usize) -> Option<&[u8]>;

    /// Free bytes before the data of the first segment.
    fn headroom(&self) -> usize;

    /// Free bytes after the data of the last segment.
    fn tailroom(&self) -> usize;

    /// Removes `n` bytes at the front; they become headroom.
    ///
    /// # Errors
    /// [`PacketError::Short`] if the first segment has fewer; nothing changes.
    fn pull_front(&mut self, n: usize) -> Result<(), PacketError>;

    /// Adds `n` bytes at the front and returns them, to be filled: they hold
    /// whatever lay there before.
    ///
    /// # Errors
    /// [`PacketError::Headroom`] if there is less headroom; nothing changes.
    fn push_front(&mut self, n: usize) -> Result<&mut [u8], PacketError>;

    /// Does all at once what a new header takes: cuts `cut` bytes off the front
    /// of a packet of one segment, keeps `keep` behind them, puts `front` bytes
    /// before, which hold whatever lay there, and returns the whole.
    ///
    /// # Errors
    /// [`PacketError::Segmented`], [`PacketError::Short`] if there are fewer
    /// than `cut + keep` bytes, [`PacketError::Headroom`]; nothing changes.
    #[inline]
    fn reframe(&mut self, cut: usize, keep: usize, front: usize) -> Result<&mut [u8], PacketError> {
        if self.segments() != 1 {
            return Err(PacketError::Segmented);
        }
        if cut + keep > self.len() {
            return Err(PacketError::Short);
        }
        if front > self.headroom() + cut {
            return Err(PacketError::Headroom);
        }
        self.pull_front(cut)?;
        self.truncate(keep);
        self.push_front(front)?;
        Ok(self.data_mut())
    }

    /// Shortens the packet to its first `n` bytes, over all segments. A packet
    /// that is not longer stays as it is.
    fn truncate(&mut self, n: usize);

    /// Adds `n` bytes at the end of a packet of one segment and returns them, to
    /// be filled: they hold whatever lay there before.
    ///
    /// # Errors
    /// [`PacketError::Tailroom`] if there is less tailroom,
    /// [`PacketError::Segmented`] if there are several segments; nothing changes.
    fn append(&mut self, n: usize) -> Result<&mut [u8], PacketError>;

    /// Joins all segments in the first. False, and the packet unchanged, if they
    /// do not fit there.
    fn linearize(&mut self) -> bool;

    /// Brings the first cache line of the data into the cache.
    fn prefetch(&self);

    /// Hash that the port computed for receive-side scaling, if it did.
    fn rss_hash(&self) -> Option<u32>;

    /// Frees all packets; the vector is empty afterwards.
    fn free_bulk(packets: &mut ArrayVec<Self, BURST_MAX>);

    /// Frees this packet. Cheaper for many: [`Self::free_bulk`].
    fn free(self);
}

/// Why a packet could not be changed. It is unchanged then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketError {
    /// The first segment has fewer bytes than were to be removed.
    Short,
    /// Too little room before the data.
    Headroom,
    /// Too little room after the data.
    Tailroom,
    /// The packet has several segments; linearize it first.
    Segmented,
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Short => "packet shorter than the bytes to remove",
            Self::Headroom => "too little headroom in the packet",
            Self::Tailroom => "too little tailroom in the packet",
            Self::Segmented => "packet has several segments",
        })
    }
}

impl std::error::Error for PacketError {}
