//! Sending: many datagrams by one sendmmsg(2), written in place by the caller.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use super::{BATCH_MAX, Control, NO_CONTROL, to_in_addr, to_sockaddr};
use crate::poll;

/// Datagrams waiting to be sent, and room for more.
#[derive(Debug)]
pub struct SendBatch {
    /// `capacity` slots of `stride` bytes.
    slab: Box<[u8]>,
    stride: usize,
    capacity: usize,
    queued: Vec<Queued>,
    /// The kernel or its sandbox has no sendmmsg.
    one_by_one: bool,
}

#[derive(Clone, Debug)]
struct Queued {
    /// Within the slot.
    range: Range<usize>,
    to: SocketAddrV4,
    from: Option<Ipv4Addr>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Datagrams that the kernel took.
    pub sent: usize,
    /// Datagrams that it refused, or had no room for in time.
    pub failed: usize,
}

impl SendBatch {
    /// Room for `capacity` datagrams (1 to [`BATCH_MAX`]; others are brought into that range)
    /// of `stride` bytes each.
    pub fn new(capacity: usize, stride: usize) -> Self {
        let (capacity, stride) = (capacity.clamp(1, BATCH_MAX), stride.max(1));
        let slab = vec![0; capacity * stride].into_boxed_slice();
        Self {
            slab,
            stride,
            capacity,
            queued: Vec::with_capacity(capacity),
            one_by_one: false,
        }
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
        self.slab.get_mut(start..start + self.stride)
    }

    /// Queues the bytes `range` of [`SendBatch::slot`] for `to`; `from` is the source address,
    /// for a socket bound to any. `false` when full or when the range is not in the slot.
    pub fn push(&mut self, range: Range<usize>, to: SocketAddrV4, from: Option<Ipv4Addr>) -> bool {
        let fits = range.start <= range.end && range.end <= self.stride && !self.is_full();
        if fits {
            self.queued.push(Queued { range, to, from });
        }
        fits
    }

    /// Copies `bytes` into the slot and queues them. `false` when full or too long.
    pub fn push_bytes(&mut self, bytes: &[u8], to: SocketAddrV4, from: Option<Ipv4Addr>) -> bool {
        let Some(room) = self.slot().and_then(|slot| slot.get_mut(..bytes.len())) else {
            return false;
        };
        room.copy_from_slice(bytes);
        self.push(0..bytes.len(), to, from)
    }

    pub(super) fn flush(
        &mut self,
        socket: BorrowedFd<'_>,
        patience: Duration,
        mut on_failure: impl FnMut(usize, &io::Error),
    ) -> Flushed {
        let mut outcome = Flushed::default();
        let mut deadline = None;
        let mut next = 0;
        while next < self.queued.len() {
            match self.send_from(next, socket) {
                Ok(sent) => {
                    next += sent;
                    outcome.sent += sent;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if is_full(&error) && has_room(socket, patience, &mut deadline) => {}
                Err(error) => {
                    on_failure(next, &error);
                    next += 1;
                    outcome.failed += 1;
                }
            }
        }
        self.queued.clear();
        outcome
    }

    /// Sends a prefix of what is queued from index `first` on; the error is that of `first`.
    fn send_from(&mut self, first: usize, socket: BorrowedFd<'_>) -> io::Result<usize> {
        let waiting = self
            .queued
            .iter()
            .zip(self.slab.chunks_exact(self.stride))
            .skip(first);
        let mut parts = [const { MaybeUninit::<Parts>::uninit() }; BATCH_MAX];
        let mut headers = [empty_header(); BATCH_MAX];
        let mut count = 0;
        for (((queued, slot), parts), header) in waiting.zip(&mut parts).zip(&mut headers) {
            let bytes = slot.get(queued.range.clone()).unwrap_or_default();
            header.msg_hdr = parts
                .write(Parts::new(bytes, queued.to, queued.from))
                .header();
            count += 1;
        }
        let headers = headers.get_mut(..count).unwrap_or_default();
        if !self.one_by_one {
            // SAFETY: every header of the slice points to its own parts and slot, which
            // outlive the call; the kernel only reads them.
            let sent = unsafe {
                let count = headers.len() as libc::c_uint;
                libc::sendmmsg(socket.as_raw_fd(), headers.as_mut_ptr(), count, 0)
            };
            match usize::try_from(sent) {
                Ok(sent) => return Ok(sent),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.raw_os_error() != Some(libc::ENOSYS) {
                        return Err(error);
                    }
                    self.one_by_one = true;
                }
            }
        }
        headers.first().map_or(Ok(0), |header| {
            // SAFETY: as above.
            unsafe { send_message(socket, &header.msg_hdr) }.map(|()| 1)
        })
    }
}

pub(super) fn send_one(
    socket: BorrowedFd<'_>,
    bytes: &[u8],
    to: SocketAddrV4,
    from: Option<Ipv4Addr>,
) -> io::Result<()> {
    let mut parts = Parts::new(bytes, to, from);
    let header = parts.header();
    // SAFETY: the header points to `parts` and `bytes`, which outlive the call.
    unsafe { send_message(socket, &header) }
}

/// # Safety
/// The header must describe memory that may be read until this returns.
unsafe fn send_message(socket: BorrowedFd<'_>, header: &libc::msghdr) -> io::Result<()> {
    // SAFETY: as promised by the caller.
    let sent = unsafe { libc::sendmsg(socket.as_raw_fd(), header, 0) };
    if sent < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

/// What a message header points to.
struct Parts {
    name: libc::sockaddr_in,
    vector: libc::iovec,
    control: Control,
    has_control: bool,
}

impl Parts {
    fn new(bytes: &[u8], to: SocketAddrV4, from: Option<Ipv4Addr>) -> Self {
        let base = bytes.as_ptr().cast_mut().cast();
        let mut parts = Self {
            name: to_sockaddr(to),
            vector: libc::iovec {
                iov_base: base,
                iov_len: bytes.len(),
            },
            control: NO_CONTROL,
            has_control: from.is_some(),
        };
        if let Some(from) = from {
            parts.set_source(from);
        }
        parts
    }

    fn header(&mut self) -> libc::msghdr {
        let mut header = empty_header().msg_hdr;
        header.msg_name = (&raw mut self.name).cast();
        header.msg_namelen = size_of::<libc::sockaddr_in>() as libc::socklen_t;
        header.msg_iov = &raw mut self.vector;
        header.msg_iovlen = 1;
        if self.has_control {
            header.msg_control = self.control.0.as_mut_ptr().cast();
            header.msg_controllen = self.control.0.len() as _;
        }
        header
    }

    fn set_source(&mut self, from: Ipv4Addr) {
        let info = libc::in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: to_in_addr(from),
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        let header = self.header();
        // SAFETY: the control buffer is aligned for `cmsghdr` and has CMSG_SPACE of an
        // `in_pktinfo`, so its first message fits; the write needs no alignment.
        unsafe {
            let message = libc::CMSG_FIRSTHDR(&header);
            (*message).cmsg_level = libc::IPPROTO_IP;
            (*message).cmsg_type = libc::IP_PKTINFO;
            (*message).cmsg_len = libc::CMSG_LEN(size_of_val(&info) as libc::c_uint) as _;
            libc::CMSG_DATA(message)
                .cast::<libc::in_pktinfo>()
                .write_unaligned(info);
        }
    }
}

fn empty_header() -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is plain data; null pointers with zero lengths are a legal value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

fn is_full(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock || error.raw_os_error() == Some(libc::ENOBUFS)
}

/// Waits for room until `deadline`, which begins at the first wait.
fn has_room(socket: BorrowedFd<'_>, patience: Duration, deadline: &mut Option<Instant>) -> bool {
    let deadline = *deadline.get_or_insert_with(|| Instant::now() + patience);
    let left = deadline.saturating_duration_since(Instant::now());
    !left.is_zero() && poll::wait_writable(socket, left).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use super::*;

    #[test]
    fn without_sendmmsg_the_same_is_sent() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
        let peer = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
        let std::net::SocketAddr::V4(to) = peer.local_addr().expect("address") else {
            panic!("IPv4")
        };
        let mut batch = SendBatch::new(4, 16);
        batch.one_by_one = true;
        assert!(batch.push_bytes(b"one", to, None) && batch.push_bytes(b"two", to, None));
        let flushed = batch.flush(socket.as_fd(), Duration::ZERO, |i, e| panic!("{i}: {e}"));
        assert_eq!(flushed, Flushed { sent: 2, failed: 0 });
        let mut buffer = [0; 16];
        for text in [b"one", b"two"] {
            let length = peer.recv(&mut buffer).expect("recv");
            assert_eq!(buffer.get(..length), Some(&text[..]));
        }
    }
}
