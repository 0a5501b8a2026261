//! Kernel UDP sockets that move datagrams in batches, for N4 (PFCP, port 8805), N3 and N9.
//!
//! IPv4 and IPv6: a socket has the family of the address that it is bound to.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd};
use std::time::Duration;

use rustix::net::sockopt;

use crate::netns::Ns;
use crate::{HostError, poll};

mod name;
mod recv;
mod send;

pub use recv::{Datagram, RecvBatch};
pub use send::{Flushed, SendBatch};

/// Most datagrams that one system call moves.
pub const BATCH_MAX: usize = 64;

/// From one slot of a batch to the next, for slots of `room` bytes: an odd number of cache lines, so
/// that the first lines of slots do not all fall on the same places of a cache.
fn apart(room: usize) -> usize {
    const LINE: usize = 64;
    (room.div_ceil(LINE) | 1) * LINE
}

/// Room of a slot for which nothing is too long, what came together as one neither.
pub const DATAGRAM_MAX: usize = 65_507;

/// Receive and send buffer that a socket asks for: at 1 Gbit/s a thread may sleep 60 ms.
const BUFFER_BYTES: usize = 8 << 20;

/// A buffer of no octets, for system calls to be filled in.
const EMPTY_VECTOR: libc::iovec = libc::iovec {
    iov_base: std::ptr::null_mut(),
    iov_len: 0,
};

/// A message without address, buffers and control data.
fn empty_header() -> libc::mmsghdr {
    // SAFETY: `mmsghdr` is plain data; null pointers with zero lengths are a legal value.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// A UDP socket that never blocks.
#[derive(Debug)]
pub struct UdpSocket {
    socket: std::net::UdpSocket,
    local: SocketAddr,
}

impl UdpSocket {
    /// Binds in `ns`; port 0 takes a free one. The buffers are raised as far as the kernel
    /// allows, and what is sent may be fragmented (DF is 0; of IPv6 by us), as TS 29.281 (4.4.2.0)
    /// lets N3 do.
    pub fn bind(ns: &Ns, address: impl Into<SocketAddr>) -> Result<Self, HostError> {
        let address = address.into();
        let socket = ns.run(|| std::net::UdpSocket::bind(address))?;
        let describe = || format!("bind UDP {address} in {}", ns.describe());
        let socket = socket.map_err(HostError::os(describe()))?;
        Self::prepare(socket).map_err(HostError::os(describe()))
    }

    fn prepare(socket: std::net::UdpSocket) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        raise_buffers(&socket)?;
        let local = socket.local_addr()?;
        match local {
            SocketAddr::V4(_) => {
                sockopt::set_ip_mtu_discover(&socket, sockopt::Ipv4PathMtuDiscovery::DONT)?;
            }
            SocketAddr::V6(_) => {
                sockopt::set_ipv6_mtu_discover(&socket, sockopt::Ipv6PathMtuDiscovery::DONT)?;
            }
        }
        recv::want_destination(&socket, local.is_ipv6())?;
        Ok(Self { socket, local })
    }

    /// Asks the kernel to hand over datagrams of one length from one peer, where they came together,
    /// as one, which [`RecvBatch`] takes apart again: most of what a short datagram costs is its way
    /// through the kernel. Batches then need room for [`DATAGRAM_MAX`]. Kernels before Linux 5.0
    /// refuse, and all stays as it was.
    pub fn receive_together(&self) -> io::Result<()> {
        recv::want_together(&self.socket)
    }

    /// The address and port that it is bound to.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    /// Takes what has arrived, replacing what `batch` held; says how many. 0: nothing now.
    pub fn recv(&self, batch: &mut RecvBatch) -> io::Result<usize> {
        batch.fill(self.socket.as_raw_fd())
    }

    /// Sends and empties `batch`, waiting at most `patience` in total for room in the send
    /// buffer. `on_failure` is told the index of each datagram that was not sent, and why.
    pub fn flush(
        &self,
        batch: &mut SendBatch,
        patience: Duration,
        on_failure: impl FnMut(usize, &io::Error),
    ) -> Flushed {
        batch.flush(self.socket.as_fd(), patience, on_failure)
    }

    /// Sends one datagram now, from `from` if given (for a socket bound to any address).
    pub fn send(
        &self,
        bytes: &[u8],
        to: impl Into<SocketAddr>,
        from: Option<IpAddr>,
    ) -> io::Result<()> {
        send::send_one(self.socket.as_fd(), bytes, to.into(), from)
    }

    /// Sleeps until a datagram is there or `timeout` is over; says whether one is.
    pub fn wait(&self, timeout: Duration) -> io::Result<bool> {
        poll::wait_readable(&self.socket, timeout)
    }

    /// Bytes of receive and send buffer that the kernel granted (it counts its overhead too).
    pub fn buffer_bytes(&self) -> io::Result<(usize, usize)> {
        let receive = sockopt::socket_recv_buffer_size(&self.socket)?;
        Ok((receive, sockopt::socket_send_buffer_size(&self.socket)?))
    }
}

impl AsFd for UdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

fn raise_buffers(socket: &std::net::UdpSocket) -> io::Result<()> {
    // Without CAP_NET_ADMIN the system's own maximum is what we get.
    if sockopt::set_socket_recv_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        sockopt::set_socket_recv_buffer_size(socket, BUFFER_BYTES)?;
    }
    if sockopt::set_socket_send_buffer_size_force(socket, BUFFER_BYTES).is_err() {
        sockopt::set_socket_send_buffer_size(socket, BUFFER_BYTES)?;
    }
    Ok(())
}

/// Room for an IPV6_PKTINFO, which is longer than an IP_PKTINFO, and a UDP_GRO control message, aligned as the kernel wants it.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

const CONTROL_BYTES: usize = control_space::<libc::in6_pktinfo>() + control_space::<libc::c_int>();

const fn control_space<T>() -> usize {
    // SAFETY: CMSG_SPACE only computes a length.
    unsafe { libc::CMSG_SPACE(size_of::<T>() as libc::c_uint) as usize }
}

const NO_CONTROL: Control = Control([0; CONTROL_BYTES]);

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use super::*;

    fn bind(address: impl Into<IpAddr>) -> UdpSocket {
        let ns = Ns::current().expect("namespace");
        UdpSocket::bind(&ns, (address.into(), 0)).expect("bind")
    }

    fn recv_all(socket: &UdpSocket, count: usize) -> Vec<(Vec<u8>, SocketAddr, IpAddr, bool)> {
        let mut batch = RecvBatch::new(BATCH_MAX, 64);
        let mut all = Vec::new();
        while all.len() < count {
            assert!(
                socket.wait(Duration::from_secs(5)).expect("poll"),
                "{} arrived",
                all.len()
            );
            socket.recv(&mut batch).expect("recv");
            all.extend(
                batch
                    .iter()
                    .map(|d| (d.bytes.to_vec(), d.from, d.to, d.truncated)),
            );
        }
        all
    }

    #[test]
    fn a_batch_arrives_whole_in_order_with_its_addresses() {
        let (a, b) = (bind(Ipv4Addr::LOCALHOST), bind(Ipv4Addr::UNSPECIFIED));
        let asked = IpAddr::from([127, 0, 0, 5]);
        let to = SocketAddr::new(asked, b.local().port());
        let mut batch = SendBatch::new(BATCH_MAX, 64);
        for i in 0..BATCH_MAX {
            let slot = batch.slot().expect("room");
            slot[4..6].copy_from_slice(&(i as u16).to_be_bytes());
            batch.push(4..6, to, None);
        }
        assert!(batch.slot().is_none(), "full");
        let flushed = a.flush(&mut batch, Duration::from_secs(1), |i, e| {
            panic!("{i}: {e}")
        });
        assert_eq!(
            (flushed.sent, flushed.failed, batch.len()),
            (BATCH_MAX, 0, 0)
        );
        for (i, (bytes, from, to, truncated)) in recv_all(&b, BATCH_MAX).into_iter().enumerate() {
            assert_eq!(bytes, (i as u16).to_be_bytes());
            assert_eq!((from, to, truncated), (a.local(), asked, false));
        }
        assert_eq!(b.recv(&mut RecvBatch::new(4, 64)).expect("recv"), 0);
    }

    #[test]
    fn an_answer_leaves_from_the_address_that_was_asked() {
        let (a, b) = (bind(Ipv4Addr::LOCALHOST), bind(Ipv4Addr::UNSPECIFIED));
        let asked = IpAddr::from([127, 0, 0, 9]);
        b.send(b"one", a.local(), Some(asked)).expect("send");
        let mut batch = SendBatch::new(2, 64);
        batch.push_bytes(b"two", a.local(), Some(asked));
        b.flush(&mut batch, Duration::ZERO, |i, e| panic!("{i}: {e}"));
        for (_, from, _, _) in recv_all(&a, 2) {
            assert_eq!(from, SocketAddr::new(asked, b.local().port()));
        }
    }

    #[test]
    fn ipv6_arrives_with_its_addresses_and_apart_again() {
        let (a, b) = (bind(Ipv6Addr::LOCALHOST), bind(Ipv6Addr::UNSPECIFIED));
        b.receive_together().expect("Linux 5.0");
        let asked = IpAddr::from(Ipv6Addr::LOCALHOST);
        let to = SocketAddr::new(asked, b.local().port());
        let mut batch = SendBatch::new(BATCH_MAX, 64).in_any_order();
        for text in [b"one", b"two", b"six"] {
            assert!(batch.push_bytes(text, to, None));
        }
        a.flush(&mut batch, Duration::ZERO, |i, e| panic!("{i}: {e}"));
        let got = recv_all(&b, 3);
        let texts = [b"one", b"two", b"six"].map(|text| (text.to_vec(), a.local(), asked, false));
        assert_eq!(got, texts);
        b.send(b"back", a.local(), Some(asked)).expect("send");
        let back = recv_all(&a, 1);
        assert_eq!(back, [(b"back".to_vec(), to, asked, false)]);
    }

    #[test]
    fn a_datagram_that_cannot_be_sent_does_not_hold_up_the_rest() {
        let (a, b) = (bind(Ipv4Addr::LOCALHOST), bind(Ipv4Addr::LOCALHOST));
        let mut batch = SendBatch::new(3, 64);
        let nowhere = (Ipv4Addr::BROADCAST, 9);
        batch.push_bytes(b"x", b.local(), None);
        batch.push_bytes(b"y", nowhere, None);
        batch.push_bytes(b"z", b.local(), None);
        let mut failures = Vec::new();
        let flushed = a.flush(&mut batch, Duration::ZERO, |i, _| failures.push(i));
        assert_eq!((flushed.sent, flushed.failed, failures), (2, 1, vec![1]));
        let got: Vec<_> = recv_all(&b, 2)
            .into_iter()
            .map(|(bytes, ..)| bytes)
            .collect();
        assert_eq!(got, [b"x", b"z"]);
    }

    #[test]
    fn a_datagram_longer_than_the_room_is_marked() {
        let (a, b) = (bind(Ipv4Addr::LOCALHOST), bind(Ipv4Addr::LOCALHOST));
        a.send(&[1; 65], b.local(), None).expect("send");
        a.send(&[2; 64], b.local(), None).expect("send");
        a.send(&[], b.local(), None).expect("send");
        let got = recv_all(&b, 3);
        assert_eq!(
            got.iter().map(|g| (g.0.len(), g.3)).collect::<Vec<_>>(),
            [(64, true), (64, false), (0, false)]
        );
    }

    #[test]
    fn nothing_is_pushed_where_it_does_not_fit() {
        let mut batch = SendBatch::new(1, 8);
        let to = (Ipv4Addr::LOCALHOST, 9);
        assert!(!batch.push_bytes(&[0; 9], to, None));
        assert!(!batch.push(0..9, to, None));
        assert!(batch.push_bytes(&[0; 8], to, None));
        assert!(!batch.push_bytes(&[0; 1], to, None), "full");
    }

    #[test]
    fn buffers_are_raised() {
        let (receive, send) = bind(Ipv4Addr::LOCALHOST).buffer_bytes().expect("read");
        let minimum = if crate::env_check::is_network_admin() {
            BUFFER_BYTES
        } else {
            1
        };
        assert!(receive >= minimum && send >= minimum, "{receive} {send}");
    }
}
