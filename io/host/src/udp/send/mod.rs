//! Batched UDP send by sendmmsg(2) and UDP GSO, written in place by the caller.
//!
//! Where their order does not matter those of one length to one peer leave as one, which the kernel
//! or the card splits again (UDP_SEGMENT, udp(7)): the way through the kernel is most of what a
//! short datagram costs.

use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use super::{BATCH_MAX, apart};

mod flush;
mod message;

pub use flush::Flushed;
pub(super) use message::send_one;

/// Datagrams waiting to be sent, and room for more.
#[derive(Debug)]
pub struct SendBatch {
    /// `capacity` slots of `room` bytes, one every `stride`.
    slab: Box<[u8]>,
    stride: usize,
    room: usize,
    capacity: usize,
    queued: Vec<Queued>,
    /// The kernel or its sandbox has no sendmmsg.
    one_by_one: bool,
    /// Whether datagrams of one length to one peer may leave as one.
    together: bool,
}

#[derive(Clone, Debug)]
struct Queued {
    /// Within the slab.
    range: Range<usize>,
    to: SocketAddr,
    from: Option<IpAddr>,
}

impl SendBatch {
    /// Room for `capacity` datagrams (1 to [`BATCH_MAX`]; others are brought into that range)
    /// of `stride` bytes each.
    pub fn new(capacity: usize, stride: usize) -> Self {
        let (capacity, room) = (capacity.clamp(1, BATCH_MAX), stride.max(1));
        let stride = apart(room);
        let slab = vec![0; capacity * stride].into_boxed_slice();
        Self {
            slab,
            stride,
            room,
            capacity,
            queued: Vec::with_capacity(capacity),
            one_by_one: false,
            together: false,
        }
    }

    /// The datagrams may leave in another order than they were pushed in.
    #[must_use]
    pub fn in_any_order(mut self) -> Self {
        self.together = true;
        self
    }

    /// Datagrams queued.
    pub fn len(&self) -> usize {
        self.queued.len()
    }

    /// Whether none is queued.
    pub fn is_empty(&self) -> bool {
        self.queued.is_empty()
    }

    /// Whether there is no room for one more.
    pub fn is_full(&self) -> bool {
        self.queued.len() == self.capacity
    }

    /// The room of the next datagram, to be written before [`SendBatch::push`]; `None` when
    /// full. Its content is whatever was there before.
    pub fn slot(&mut self) -> Option<&mut [u8]> {
        if self.is_full() {
            return None;
        }
        let start = self.queued.len() * self.stride;
        self.slab.get_mut(start..start + self.room)
    }

    /// Queues the bytes `range` of [`SendBatch::slot`] for `to`; `from` is the source address,
    /// for a socket bound to any. `false` when full or when the range is not in the slot.
    pub fn push(
        &mut self,
        range: Range<usize>,
        to: impl Into<SocketAddr>,
        from: Option<IpAddr>,
    ) -> bool {
        let fits = range.start <= range.end && range.end <= self.room && !self.is_full();
        if fits {
            let start = self.queued.len() * self.stride;
            let range = start + range.start..start + range.end;
            let to = to.into();
            self.queued.push(Queued { range, to, from });
        }
        fits
    }

    /// Copies `bytes` into the slot and queues them. `false` when full or too long.
    pub fn push_bytes(
        &mut self,
        bytes: &[u8],
        to: impl Into<SocketAddr>,
        from: Option<IpAddr>,
    ) -> bool {
        let Some(room) = self.slot().and_then(|slot| slot.get_mut(..bytes.len())) else {
            return false;
        };
        room.copy_from_slice(bytes);
        self.push(0..bytes.len(), to, from)
    }
}
