//! The packet type of DPDK ports: an mbuf.

use std::fmt;
use std::ptr::NonNull;
use std::slice;

use arrayvec::ArrayVec;
use sluice_port::{BURST_MAX, Packet, PacketError};

use crate::sys::{self, rte_mbuf};

/// A packet in DPDK's memory, one segment or several. See [`Packet`] for how packets end.
///
/// It has no destructor. A packet that is lost keeps its pool's memory mapped until the process
/// ends, so it can never point to memory that is gone.
#[repr(transparent)]
pub struct Mbuf(NonNull<rte_mbuf>);

// SAFETY: an mbuf belongs to whoever holds the value; nothing in it is bound to a thread.
unsafe impl Send for Mbuf {}

impl Mbuf {
    /// # Safety
    /// `mbuf` must be a live packet (head of its chain) that nobody else refers to.
    pub(crate) unsafe fn from_raw(mbuf: NonNull<rte_mbuf>) -> Self {
        Self(mbuf)
    }

    /// Adds the segments of `tail` at the end.
    ///
    /// # Errors
    /// Gives `tail` back if there would be too many segments.
    pub fn chain(&mut self, tail: Self) -> Result<(), Self> {
        // SAFETY: both are live chains of ours; on success, `tail` is part of `self`.
        let rc = unsafe { sys::sdp_chain(self.0.as_ptr(), tail.0.as_ptr()) };
        if rc == 0 { Ok(()) } else { Err(tail) }
    }

    #[inline(always)]
    fn head(&self) -> &rte_mbuf {
        // SAFETY: the packet is live and ours (`from_raw`).
        unsafe { self.0.as_ref() }
    }

    #[inline(always)]
    fn head_mut(&mut self) -> &mut rte_mbuf {
        // SAFETY: the packet is live and ours (`from_raw`).
        unsafe { self.0.as_mut() }
    }

    fn segments(&self) -> impl Iterator<Item = &rte_mbuf> {
        // SAFETY: `next` is null or a live segment of this packet.
        std::iter::successors(Some(self.head()), |segment| unsafe {
            segment.next.as_ref()
        })
    }
}

#[inline(always)]
fn bytes(segment: &rte_mbuf) -> &[u8] {
    // SAFETY: DPDK and this file keep data_off + data_len within the segment's buffer.
    unsafe {
        let data = segment.buf_addr.add(usize::from(segment.data_off));
        slice::from_raw_parts(data, usize::from(segment.data_len))
    }
}

#[inline(always)]
fn tailroom(segment: &rte_mbuf) -> usize {
    usize::from(segment.buf_len) - usize::from(segment.data_off) - usize::from(segment.data_len)
}

impl Packet for Mbuf {
    #[inline(always)]
    fn data(&self) -> &[u8] {
        bytes(self.head())
    }

    #[inline(always)]
    fn data_mut(&mut self) -> &mut [u8] {
        let head = self.head_mut();
        // SAFETY: as in `bytes`; the packet is borrowed mutably and shared with nobody.
        unsafe {
            let data = head.buf_addr.add(usize::from(head.data_off));
            slice::from_raw_parts_mut(data, usize::from(head.data_len))
        }
    }

    #[inline(always)]
    fn len(&self) -> usize {
        usize::from(self.head().data_len)
    }

    #[inline(always)]
    fn total_len(&self) -> usize {
        self.head().pkt_len as usize
    }

    #[inline(always)]
    fn segments(&self) -> usize {
        usize::from(self.head().nb_segs)
    }

    fn segment(&self, index: usize) -> Option<&[u8]> {
        self.segments().nth(index).map(bytes)
    }

    #[inline(always)]
    fn headroom(&self) -> usize {
        usize::from(self.head().data_off)
    }

    fn tailroom(&self) -> usize {
        self.segments().last().map_or(0, tailroom)
    }

    #[inline(always)]
    fn pull_front(&mut self, n: usize) -> Result<(), PacketError> {
        let head = self.head_mut();
        if n > usize::from(head.data_len) {
            return Err(PacketError::Short);
        }
        head.data_off += n as u16;
        head.data_len -= n as u16;
        head.pkt_len -= n as u32;
        Ok(())
    }

    #[inline(always)]
    fn push_front(&mut self, n: usize) -> Result<&mut [u8], PacketError> {
        let head = self.head_mut();
        if n > usize::from(head.data_off) {
            return Err(PacketError::Headroom);
        }
        head.data_off -= n as u16;
        head.data_len += n as u16;
        head.pkt_len += n as u32;
        Ok(&mut self.data_mut()[..n])
    }

    #[inline(always)]
    fn reframe(&mut self, cut: usize, keep: usize, front: usize) -> Result<&mut [u8], PacketError> {
        let head = self.head_mut();
        if head.nb_segs != 1 {
            return Err(PacketError::Segmented);
        }
        if cut + keep > usize::from(head.data_len) {
            return Err(PacketError::Short);
        }
        let start = (usize::from(head.data_off) + cut)
            .checked_sub(front)
            .ok_or(PacketError::Headroom)?;
        // The new start is not in front of the buffer, and the new end not behind the old one.
        head.data_off = start as u16;
        head.data_len = (front + keep) as u16;
        head.pkt_len = (front + keep) as u32;
        Ok(self.data_mut())
    }

    fn truncate(&mut self, n: usize) {
        if n >= self.total_len() {
            return;
        }
        let mut segment = self.0.as_ptr();
        let (mut left, mut segments) = (n, 1);
        // SAFETY: n is less than the bytes of all segments, so the walk ends at a live one.
        // What lies behind it is cut off before it is freed.
        unsafe {
            while left > usize::from((*segment).data_len) {
                left -= usize::from((*segment).data_len);
                segment = (*segment).next;
                segments += 1;
            }
            (*segment).data_len = left as u16;
            let rest = std::mem::replace(&mut (*segment).next, std::ptr::null_mut());
            let head = self.head_mut();
            head.pkt_len = n as u32;
            head.nb_segs = segments;
            if !rest.is_null() {
                sys::sdp_free(rest);
            }
        }
    }

    fn append(&mut self, n: usize) -> Result<&mut [u8], PacketError> {
        let head = self.head_mut();
        if head.nb_segs != 1 {
            return Err(PacketError::Segmented);
        }
        if n > tailroom(head) {
            return Err(PacketError::Tailroom);
        }
        let end = usize::from(head.data_len);
        head.data_len += n as u16;
        head.pkt_len += n as u32;
        Ok(&mut self.data_mut()[end..])
    }

    fn linearize(&mut self) -> bool {
        // SAFETY: the packet is live and ours; without room, DPDK leaves it as it is.
        self.head().nb_segs == 1 || unsafe { sys::sdp_linearize(self.0.as_ptr()) == 0 }
    }

    #[inline(always)]
    fn prefetch(&self) {
        let head = self.head();
        prefetch(head.buf_addr.wrapping_add(usize::from(head.data_off)));
    }

    #[inline(always)]
    fn rss_hash(&self) -> Option<u32> {
        let head = self.head();
        (head.ol_flags & u64::from(sys::SDP_RX_RSS_HASH) != 0).then_some(head.hash[0])
    }

    #[inline]
    fn free_bulk(packets: &mut ArrayVec<Self, BURST_MAX>) {
        // SAFETY: `Mbuf` is a pointer (repr(transparent)), so the vector is an array of mbufs,
        // all of them ours. It forgets them before anything else can see them.
        unsafe {
            sys::sdp_free_bulk(packets.as_mut_ptr().cast(), packets.len() as u32);
            packets.set_len(0);
        }
    }

    #[inline]
    fn free(self) {
        // SAFETY: the packet is live and ours, and gone with `self`.
        unsafe { sys::sdp_free(self.0.as_ptr()) };
    }
}

#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn prefetch(address: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch reads nothing that the program can see and never faults.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn prefetch(address: *const u8) {
    // SAFETY: a prefetch reads nothing that the program can see and never faults.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, preserves_flags));
    }
}

impl fmt::Debug for Mbuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let head = self.head();
        write!(f, "Mbuf({} bytes, {} segments)", head.pkt_len, head.nb_segs)
    }
}
