//! Batched UDP receive by recvmmsg(2), each datagram with its destination address, and UDP GRO.
//!
//! Where a socket asks for it, those of one length from one peer that came together are taken as
//! one and told apart here (UDP_GRO, udp(7)).

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd as _, RawFd};

use super::name::{Name, UNTOLD, from_in_addr, from_in6_addr};
use super::{BATCH_MAX, Control, NO_CONTROL, apart};
use crate::udp::{EMPTY_VECTOR, empty_header};

/// Room for received datagrams, and the datagrams in it.
#[derive(Debug)]
pub struct RecvBatch {
    /// `capacity` slots of `room` bytes, one every `stride`.
    slab: Box<[u8]>,
    stride: usize,
    room: usize,
    received: Vec<Received>,
    /// The kernel or its sandbox has no recvmmsg.
    one_by_one: bool,
}

#[derive(Clone, Copy, Debug)]
struct Received {
    length: usize,
    /// Of each datagram in it but the last.
    segment: usize,
    from: SocketAddr,
    to: IpAddr,
    truncated: bool,
}

/// One received datagram.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Payload, as far as there was room.
    pub bytes: &'a [u8],
    /// Sender.
    pub from: SocketAddr,
    /// The address to which it was sent; unspecified if the kernel did not tell.
    pub to: IpAddr,
    /// Whether the datagram was longer than the buffer.
    pub truncated: bool,
}

impl RecvBatch {
    /// Room for `capacity` datagrams (1 to [`BATCH_MAX`]; others are brought into that range)
    /// of `stride` bytes each.
    pub fn new(capacity: usize, stride: usize) -> Self {
        let (capacity, room) = (capacity.clamp(1, BATCH_MAX), stride.max(1));
        let stride = apart(room);
        Self {
            slab: vec![0; capacity * stride].into_boxed_slice(),
            stride,
            room,
            received: Vec::with_capacity(capacity),
            one_by_one: false,
        }
    }

    /// The datagrams of the last receive, in order of arrival.
    pub fn iter(&self) -> impl Iterator<Item = Datagram<'_>> {
        self.slab
            .chunks_exact(self.stride)
            .zip(&self.received)
            .flat_map(|(slot, received)| received.apart(slot))
    }

    pub(super) fn fill(&mut self, fd: RawFd) -> io::Result<usize> {
        self.received.clear();
        let mut names = [Name::EMPTY; BATCH_MAX];
        let mut controls = [NO_CONTROL; BATCH_MAX];
        let mut vectors = [EMPTY_VECTOR; BATCH_MAX];
        let mut headers = [empty_header(); BATCH_MAX];
        let slots = self.slab.chunks_exact_mut(self.stride);
        let mut count = 0;
        for ((((slot, name), control), vector), header) in slots
            .zip(&mut names)
            .zip(&mut controls)
            .zip(&mut vectors)
            .zip(&mut headers)
        {
            vector.iov_base = slot.as_mut_ptr().cast();
            vector.iov_len = self.room;
            header.msg_hdr = describe(name, control, vector);
            count += 1;
        }
        let headers = headers.get_mut(..count).unwrap_or_default();
        // SAFETY: every header of the slice points to its own slot of `slab`, name, control
        // and vector; all of them outlive the calls and are touched by nothing else meanwhile.
        let arrived = match unsafe { self.receive(fd, headers) } {
            Ok(arrived) => arrived,
            Err(error) if is_nothing_now(&error) => return Ok(0),
            Err(error) => return Err(error),
        };
        for (header, name) in headers.iter().zip(&names).take(arrived) {
            let length = (header.msg_len as usize).min(self.room);
            let mut received = Received {
                length,
                segment: length.max(1),
                from: name.address(),
                to: UNTOLD,
                truncated: header.msg_hdr.msg_flags & libc::MSG_TRUNC != 0,
            };
            received.read_controls(&header.msg_hdr);
            self.received.push(received);
        }
        Ok(self.received.iter().map(Received::datagrams).sum())
    }

    /// # Safety
    /// Every header must describe memory that may be written until this returns.
    unsafe fn receive(&mut self, fd: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
        if !self.one_by_one {
            // SAFETY: as promised by the caller; the length is that of the slice.
            let arrived = unsafe {
                let count = headers.len() as libc::c_uint;
                libc::recvmmsg(fd, headers.as_mut_ptr(), count, 0, std::ptr::null_mut())
            };
            match usize::try_from(arrived) {
                Ok(arrived) => return Ok(arrived),
                Err(_) => {
                    let error = io::Error::last_os_error();
                    if error.raw_os_error() != Some(libc::ENOSYS) {
                        return Err(error);
                    }
                    self.one_by_one = true;
                }
            }
        }
        // SAFETY: as promised by the caller.
        unsafe { receive_one_by_one(fd, headers) }
    }
}

impl Received {
    /// How many datagrams it holds.
    fn datagrams(&self) -> usize {
        self.length.div_ceil(self.segment).max(1)
    }

    /// The datagrams in its slot.
    fn apart(self, slot: &[u8]) -> impl Iterator<Item = Datagram<'_>> {
        (0..self.datagrams()).map(move |at| {
            let start = at * self.segment;
            let end = self.length.min(start + self.segment);
            Datagram {
                bytes: slot.get(start..end).unwrap_or_default(),
                from: self.from,
                to: self.to,
                truncated: self.truncated,
            }
        })
    }

    /// Reads the kernel's control messages of a datagram.
    fn read_controls(&mut self, header: &libc::msghdr) {
        // SAFETY: the kernel filled `msg_control` and set its length; both describe live memory.
        let mut next = unsafe { libc::CMSG_FIRSTHDR(header) };
        // SAFETY: a message that the kernel wrote, aligned as it aligns them, or null.
        while let Some(message) = unsafe { next.as_ref() } {
            match (message.cmsg_level, message.cmsg_type) {
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    // SAFETY: a message of that type carries an `in_pktinfo`.
                    let info: libc::in_pktinfo = unsafe { value_of(message) };
                    self.to = from_in_addr(info.ipi_addr).into();
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    // SAFETY: a message of that type carries an `in6_pktinfo`.
                    let info: libc::in6_pktinfo = unsafe { value_of(message) };
                    self.to = from_in6_addr(info.ipi6_addr).into();
                }
                (libc::SOL_UDP, libc::UDP_GRO) => {
                    // SAFETY: a message of that type carries a `c_int`.
                    let segment: libc::c_int = unsafe { value_of(message) };
                    self.segment = usize::try_from(segment).map_or(self.segment, |s| s.max(1));
                }
                _ => {}
            }
            // SAFETY: header and message are those that the kernel wrote.
            next = unsafe { libc::CMSG_NXTHDR(header, message) };
        }
    }
}

/// # Safety
/// The message must carry a `T`.
unsafe fn value_of<T: Copy>(message: &libc::cmsghdr) -> T {
    // SAFETY: as promised by the caller; the read needs no alignment.
    unsafe { libc::CMSG_DATA(message).cast::<T>().read_unaligned() }
}

/// # Safety
/// Every header must describe memory that may be written until this returns.
unsafe fn receive_one_by_one(fd: RawFd, headers: &mut [libc::mmsghdr]) -> io::Result<usize> {
    for (arrived, header) in headers.iter_mut().enumerate() {
        // SAFETY: as promised by the caller.
        let length = unsafe { libc::recvmsg(fd, &mut header.msg_hdr, 0) };
        match libc::c_uint::try_from(length) {
            Ok(length) => header.msg_len = length,
            Err(_) if arrived > 0 => return Ok(arrived),
            Err(_) => return Err(io::Error::last_os_error()),
        }
    }
    Ok(headers.len())
}

/// Asks the kernel to tell the destination address of each datagram (ip(7), IP_PKTINFO; ipv6(7),
/// IPV6_RECVPKTINFO).
pub(super) fn want_destination(socket: &std::net::UdpSocket, is_ipv6: bool) -> io::Result<()> {
    match is_ipv6 {
        false => turn_on(socket, libc::IPPROTO_IP, libc::IP_PKTINFO),
        true => turn_on(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO),
    }
}

/// Asks the kernel to give datagrams of one length that came together as one (udp(7), UDP_GRO).
pub(super) fn want_together(socket: &std::net::UdpSocket) -> io::Result<()> {
    turn_on(socket, libc::SOL_UDP, libc::UDP_GRO)
}

fn turn_on(
    socket: &std::net::UdpSocket,
    level: libc::c_int,
    option: libc::c_int,
) -> io::Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the option takes a c_int, and gets the address and size of one.
    let outcome = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const on).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if outcome < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn describe(name: &mut Name, control: &mut Control, vector: &mut libc::iovec) -> libc::msghdr {
    let mut header = empty_header().msg_hdr;
    header.msg_name = (&raw mut *name).cast();
    header.msg_namelen = size_of::<Name>() as libc::socklen_t;
    header.msg_iov = vector;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    header
}

fn is_nothing_now(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::time::Duration;

    use super::super::{DATAGRAM_MAX, SendBatch, UdpSocket};
    use super::*;
    use crate::netns::Ns;

    const LOCALHOST: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

    #[test]
    fn without_recvmmsg_the_same_arrives() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
        socket.set_nonblocking(true).expect("nonblocking");
        want_destination(&socket, false).expect("option");
        let to = socket.local_addr().expect("address");
        for text in ["one", "two", "three"] {
            socket.send_to(text.as_bytes(), to).expect("send");
        }
        let mut batch = RecvBatch::new(8, 16);
        batch.one_by_one = true;
        assert_eq!(batch.fill(socket.as_raw_fd()).expect("recv"), 3);
        let texts: Vec<_> = batch.iter().map(|d| (d.bytes, d.to)).collect();
        assert_eq!(texts.first(), Some(&(&b"one"[..], LOCALHOST)));
        assert_eq!(texts.get(2), Some(&(&b"three"[..], LOCALHOST)));
        assert_eq!(batch.fill(socket.as_raw_fd()).expect("recv"), 0);
    }

    #[test]
    fn what_comes_as_one_is_told_apart() {
        let bind = || {
            let any = (Ipv4Addr::LOCALHOST, 0);
            UdpSocket::bind(&Ns::current().expect("namespace"), any).expect("bind")
        };
        let (a, b) = (bind(), bind());
        b.receive_together().expect("Linux 5.0");
        let mut sending = SendBatch::new(BATCH_MAX, 64).in_any_order();
        for text in [&b"one"[..], b"", b"four", b"two", b"six", b"five"] {
            assert!(sending.push_bytes(text, b.local(), None));
        }
        a.flush(&mut sending, Duration::ZERO, |i, e| panic!("{i}: {e}"));
        let mut batch = RecvBatch::new(BATCH_MAX, DATAGRAM_MAX);
        assert!(b.wait(Duration::from_secs(5)).expect("poll"));
        assert_eq!(b.recv(&mut batch).expect("recv"), 6, "all that left");
        assert_eq!(batch.received.len(), 3, "those of one length are one");
        let all: Vec<_> = batch.iter().map(|d| (d.bytes, d.from, d.to)).collect();
        let whence = |bytes| (bytes, a.local(), LOCALHOST);
        let texts: [&[u8]; 6] = [b"", b"one", b"two", b"six", b"four", b"five"];
        assert_eq!(all, texts.map(whence));
        assert!(batch.iter().all(|d| !d.truncated));
    }
}
