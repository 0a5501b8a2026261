//! Flush of a send batch with as few system calls as possible.

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use super::message::{Parts, send_message, vector_of};
use super::{Queued, SendBatch};
use crate::poll;
use crate::udp::BATCH_MAX;
use crate::udp::{EMPTY_VECTOR, empty_header};

/// Longest datagram that leaves together with others: one that would be fragmented does not.
const TOGETHER_LEN_MAX: usize = 1200;

/// Octets that leave together at the most: what fits an IPv4 packet.
const TOGETHER_SUM_MAX: usize = 65_000;

/// Result of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flushed {
    /// Datagrams that the kernel took.
    pub sent: usize,
    /// Datagrams that it refused, or had no room for in time.
    pub failed: usize,
}

impl SendBatch {
    /// Sends all and empties the batch, see [`UdpSocket::flush`](crate::udp::UdpSocket::flush).
    pub(in crate::udp) fn flush(
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

impl Queued {
    /// Key of datagrams that may be sent together.
    fn kind(&self) -> (SocketAddr, Option<IpAddr>, usize) {
        (self.to, self.from, self.range.len())
    }
}

/// Whether the kernel cannot split datagrams, or not on this path: no checksums by the device, or a path of smaller
/// packets.
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

    fn pair() -> (std::net::UdpSocket, std::net::UdpSocket, SocketAddr) {
        let bind = || std::net::UdpSocket::bind("127.0.0.1:0").expect("bind");
        let (socket, peer) = (bind(), bind());
        let to = peer.local_addr().expect("address");
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
