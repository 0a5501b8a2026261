//! Sending: many datagrams by one sendmmsg(2), written in place by the caller. Where their order
//! does not matter those of one length to one peer leave as one, which the kernel or the card
//! splits again (UDP_SEGMENT, udp(7)): the way through the kernel is most of what a short datagram
//! costs.

use std::io;
use std::mem::MaybeUninit;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::ops::Range;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use super::{BATCH_MAX, Control, NO_CONTROL, apart, to_in_addr, to_sockaddr};
use crate::poll;

/// Longest datagram that leaves together with others: one that would be fragmented does not.
const TOGETHER_LEN_MAX: usize = 1200;

/// Octets that leave together at the most: what fits an IPv4 packet.
const TOGETHER_SUM_MAX: usize = 65_000;

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
    /// Those alike may leave as one.
    together: bool,
}

#[derive(Clone, Debug)]
struct Queued {
    /// Within the slab.
    range: Range<usize>,
    to: SocketAddrV4,
    from: Option<Ipv4Addr>,
}

impl Queued {
    /// What those that leave together have in common.
    fn kind(&self) -> (SocketAddrV4, Option<Ipv4Addr>, usize) {
        (self.to, self.from, self.range.len())
    }
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
    pub fn push(&mut self, range: Range<usize>, to: SocketAddrV4, from: Option<Ipv4Addr>) -> bool {
        let fits = range.start <= range.end && range.end <= self.room && !self.is_full();
        if fits {
            let start = self.queued.len() * self.stride;
            let range = start + range.start..start + range.end;
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
        if self.together {
            self.queued.sort_by_key(Queued::kind);
        }
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
        let waiting = self.queued.get(first..).unwrap_or_default();
        let mut vectors = [EMPTY_VECTOR; BATCH_MAX];
        for (queued, vector) in waiting.iter().zip(&mut vectors) {
            *vector = vector_of(self.slab.get(queued.range.clone()).unwrap_or_default());
        }
        let mut parts = [const { MaybeUninit::<Parts>::uninit() }; BATCH_MAX];
        let mut headers = [empty_header(); BATCH_MAX];
        let mut datagrams = [0; BATCH_MAX];
        let mut count = 0;
        let mut left: &mut [libc::iovec] = &mut vectors;
        let mut rest = waiting;
        for ((part, header), datagrams) in parts.iter_mut().zip(&mut headers).zip(&mut datagrams) {
            let Some(queued) = rest.first() else {
                break;
            };
            *datagrams = self.leave_together(rest);
            let (these, others) = left.split_at_mut(*datagrams);
            let part = part.write(Parts::new(these, queued.to, queued.from));
            if *datagrams > 1 {
                part.set_segment(queued.range.len() as u16);
            }
            header.msg_hdr = part.header();
            (left, rest) = (others, rest.get(*datagrams..).unwrap_or_default());
            count += 1;
        }
        let headers = headers.get_mut(..count).unwrap_or_default();
        // SAFETY: every header of the slice points to its own parts, vectors and slots, which
        // outlive the call; the kernel only reads them.
        let sent = unsafe { self.send_messages(socket, headers) };
        match sent {
            Ok(messages) => Ok(datagrams.iter().take(messages).sum()),
            Err(error) if datagrams[0] > 1 && is_unsplittable(&error) => {
                // The way there, or this kernel, does not split datagrams.
                self.together = false;
                Ok(0)
            }
            Err(error) => Err(error),
        }
    }

    /// How many of the first datagrams leave as one.
    fn leave_together(&self, waiting: &[Queued]) -> usize {
        let Some(first) = waiting.first() else {
            return 0;
        };
        let (_, from, len) = first.kind();
        let alone = from.is_some() || len == 0 || len > TOGETHER_LEN_MAX;
        if !self.together || alone {
            return 1;
        }
        let alike = waiting.iter().take_while(|q| q.kind() == first.kind());
        alike.count().min(TOGETHER_SUM_MAX / len)
    }

    /// Sends some of the first messages; the error is that of the first.
    ///
    /// # Safety
    /// Every header must describe memory that may be read until this returns.
    unsafe fn send_messages(
        &mut self,
        socket: BorrowedFd<'_>,
        headers: &mut [libc::mmsghdr],
    ) -> io::Result<usize> {
        if !self.one_by_one {
            // SAFETY: as promised by the caller; the length is that of the slice.
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
            // SAFETY: as promised by the caller.
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
    let mut vector = [vector_of(bytes)];
    let mut parts = Parts::new(&mut vector, to, from);
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
struct Parts<'v> {
    name: libc::sockaddr_in,
    vectors: &'v mut [libc::iovec],
    control: Control,
    /// Octets of `control` that are in use.
    control_len: usize,
}

impl<'v> Parts<'v> {
    fn new(vectors: &'v mut [libc::iovec], to: SocketAddrV4, from: Option<Ipv4Addr>) -> Self {
        let mut parts = Self {
            name: to_sockaddr(to),
            vectors,
            control: NO_CONTROL,
            control_len: 0,
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
        header.msg_iov = self.vectors.as_mut_ptr();
        header.msg_iovlen = self.vectors.len() as _;
        if self.control_len > 0 {
            header.msg_control = self.control.0.as_mut_ptr().cast();
            header.msg_controllen = self.control_len as _;
        }
        header
    }

    /// The datagram is to be split every `len` octets.
    fn set_segment(&mut self, len: u16) {
        self.set_control(libc::SOL_UDP, libc::UDP_SEGMENT, len);
    }

    fn set_source(&mut self, from: Ipv4Addr) {
        let info = libc::in_pktinfo {
            ipi_ifindex: 0,
            ipi_spec_dst: to_in_addr(from),
            ipi_addr: libc::in_addr { s_addr: 0 },
        };
        self.set_control(libc::IPPROTO_IP, libc::IP_PKTINFO, info);
    }

    /// The one control message. Its value is not longer than the longest that there is room for.
    fn set_control<T: Copy>(&mut self, level: libc::c_int, kind: libc::c_int, value: T) {
        const { assert!(size_of::<T>() <= size_of::<libc::in_pktinfo>()) };
        let len = size_of::<T>() as libc::c_uint;
        // SAFETY: CMSG_SPACE only computes a length.
        self.control_len = unsafe { libc::CMSG_SPACE(len) } as usize;
        let header = self.header();
        // SAFETY: the control buffer is aligned for `cmsghdr` and has CMSG_SPACE of an
        // `in_pktinfo`, so its first message fits; the write needs no alignment.
        unsafe {
            let message = libc::CMSG_FIRSTHDR(&header);
            (*message).cmsg_level = level;
            (*message).cmsg_type = kind;
            (*message).cmsg_len = libc::CMSG_LEN(len) as _;
            libc::CMSG_DATA(message).cast::<T>().write_unaligned(value);
        }
    }
}

const EMPTY_VECTOR: libc::iovec = libc::iovec {
    iov_base: std::ptr::null_mut(),
    iov_len: 0,
};

fn vector_of(bytes: &[u8]) -> libc::iovec {
    libc::iovec {
        iov_base: bytes.as_ptr().cast_mut().cast(),
        iov_len: bytes.len(),
    }
}

/// What a kernel says that cannot split datagrams, or not on this way: no checksums by the device,
/// or a path of smaller packets.
fn is_unsplittable(error: &io::Error) -> bool {
    let there = [
        libc::EIO,
        libc::EINVAL,
        libc::EMSGSIZE,
        libc::ENOPROTOOPT,
        libc::EOPNOTSUPP,
    ];
    error.raw_os_error().is_some_and(|e| there.contains(&e))
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

    fn pair() -> (std::net::UdpSocket, std::net::UdpSocket, SocketAddrV4) {
        let bind = || std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
        let (socket, peer) = (bind(), bind());
        let std::net::SocketAddr::V4(to) = peer.local_addr().expect("address") else {
            panic!("IPv4")
        };
        (socket, peer, to)
    }

    fn arrived(peer: &std::net::UdpSocket, count: usize) -> Vec<Vec<u8>> {
        let mut buffer = [0; 2048];
        let take = |_| {
            let length = peer.recv(&mut buffer).expect("recv");
            buffer.get(..length).expect("it fits").to_vec()
        };
        (0..count).map(take).collect()
    }

    #[test]
    fn what_leaves_together_arrives_one_by_one() {
        let (socket, peer, to) = pair();
        let (other_peer, other) = {
            let (_, peer, to) = pair();
            (peer, to)
        };
        let mut batch = SendBatch::new(8, 1400).in_any_order();
        let long = [7; 1300];
        for (bytes, to) in [
            (&b"one"[..], to),
            (b"longer", to),
            (b"two", to),
            (b"elsewhere", other),
            (&long, to),
            (b"", to),
            (&long, to),
            (b"six", to),
        ] {
            assert!(batch.push_bytes(bytes, to, None));
        }
        batch.queued.sort_by_key(Queued::kind);
        let mut groups = Vec::new();
        while groups.iter().sum::<usize>() < batch.len() {
            let done = groups.iter().sum::<usize>();
            groups.push(batch.leave_together(&batch.queued[done..]));
        }
        groups.sort_unstable();
        assert_eq!(groups, [1, 1, 1, 1, 1, 3], "three of the same length");
        let flushed = batch.flush(socket.as_fd(), Duration::ZERO, |i, e| panic!("{i}: {e}"));
        assert_eq!(flushed, Flushed { sent: 8, failed: 0 });
        let mut all = arrived(&peer, 7);
        all.sort();
        let expected = [&b""[..], &long, &long, b"longer", b"one", b"six", b"two"];
        assert_eq!(all, expected);
        assert_eq!(arrived(&other_peer, 1), [b"elsewhere"]);
    }

    #[test]
    fn datagrams_that_nobody_splits_leave_one_by_one() {
        let (socket, peer, to) = pair();
        let mut batch = SendBatch::new(4, 1400).in_any_order();
        for text in [b"one", b"two", b"six"] {
            assert!(batch.push_bytes(text, to, None));
        }
        // What a kernel does that does not know how.
        let error = io::Error::from_raw_os_error(libc::EIO);
        assert!(is_unsplittable(&error));
        batch.together = false;
        let flushed = batch.flush(socket.as_fd(), Duration::ZERO, |i, e| panic!("{i}: {e}"));
        assert_eq!(flushed, Flushed { sent: 3, failed: 0 });
        assert_eq!(arrived(&peer, 3), [b"one", b"two", b"six"]);
    }

    #[test]
    fn without_sendmmsg_the_same_is_sent() {
        let (socket, peer, to) = pair();
        let mut batch = SendBatch::new(4, 16);
        batch.one_by_one = true;
        assert!(batch.push_bytes(b"one", to, None) && batch.push_bytes(b"two", to, None));
        let flushed = batch.flush(socket.as_fd(), Duration::ZERO, |i, e| panic!("{i}: {e}"));
        assert_eq!(flushed, Flushed { sent: 2, failed: 0 });
        assert_eq!(arrived(&peer, 2), [b"one", b"two"]);
    }
}
