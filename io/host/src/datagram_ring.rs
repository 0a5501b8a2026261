//! Datagrams between two threads of one process: a ring each way in place of two UDP sockets.
//!
//! As on a network, a datagram is whole, comes in order or not at all (the ring was full), and has the
//! address of who sent it.

use crate::poll::Waker;
use sluice_mem::ring::{Consumer, Producer, spsc};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

/// One end of a pair.
pub struct RingEnd {
    peer: SocketAddr,
    leaves: Producer<Box<[u8]>>,
    came: Consumer<Box<[u8]>>,
    waker: Waker,
    wakes_peer: Waker,
    /// Something was put on the ring since the peer was woken.
    is_unseen: bool,
}

/// Makes both ends, by their addresses: what one sends comes from its own. Each direction has room for
/// `places` datagrams.
///
/// # Errors
/// The kernel has no more descriptors.
///
/// # Panics
/// If `places` is 0.
pub fn pair(addresses: [SocketAddr; 2], places: usize) -> io::Result<[RingEnd; 2]> {
    let [one, other] = addresses;
    let (to_other, from_one) = spsc(places, 0);
    let (to_one, from_other) = spsc(places, 0);
    let (wakes_one, wakes_other) = (Waker::new()?, Waker::new()?);
    let end = |peer, leaves, came, waker: &Waker, wakes_peer: &Waker| RingEnd {
        peer,
        leaves,
        came,
        waker: waker.clone(),
        wakes_peer: wakes_peer.clone(),
        is_unseen: false,
    };
    Ok([
        end(other, to_other, from_other, &wakes_one, &wakes_other),
        end(one, to_one, from_one, &wakes_other, &wakes_one),
    ])
}

impl RingEnd {
    /// The address of the other end.
    pub fn peer(&self) -> SocketAddr {
        self.peer
    }

    /// Puts a datagram on the ring; the other end hears of it after [`flush`](Self::flush). False if there
    /// is no room: then it is lost.
    pub fn send(&mut self, octets: &[u8]) -> bool {
        let is_sent = self.leaves.push(octets.into()).is_ok();
        self.is_unseen |= is_sent;
        is_sent
    }

    /// Wakes the other end if there is something new for it.
    pub fn flush(&mut self) {
        if std::mem::take(&mut self.is_unseen) {
            self.wakes_peer.wake();
        }
    }

    /// The next datagram of the other end.
    pub fn take(&mut self) -> Option<Box<[u8]>> {
        if let Some(octets) = self.came.pop() {
            return Some(octets);
        }
        // First this, then one more look: what comes between them wakes us again.
        self.waker.clear();
        self.came.pop()
    }
}

/// Readable when there is something to take.
impl AsFd for RingEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.waker.as_fd()
    }
}

impl std::fmt::Debug for RingEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RingEnd").field("peer", &self.peer).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::poll::wait_readable;
    use std::thread;
    use std::time::Duration;

    const LONG: Duration = Duration::from_secs(60);

    fn ends(places: usize) -> [RingEnd; 2] {
        let address = |last| SocketAddr::from(([127, 0, 0, last], 8805));
        pair([address(1), address(2)], places).expect("two wakers")
    }

    #[test]
    fn datagrams_come_whole_in_order_and_wake_who_waits() {
        let [mut one, mut other] = ends(4);
        assert_eq!(one.peer(), SocketAddr::from(([127, 0, 0, 2], 8805)));
        let answers = thread::spawn(move || {
            let mut taken = 0_u32;
            while taken < 1_000 {
                assert!(wait_readable(&other, LONG).expect("poll"));
                while let Some(octets) = other.take() {
                    assert_eq!(*octets, taken.to_be_bytes());
                    taken += 1;
                    while !other.send(&octets) {
                        thread::yield_now();
                    }
                    other.flush();
                }
            }
        });
        let (mut sent, mut back) = (0_u32, 0_u32);
        while back < 1_000 {
            while sent < 1_000 && one.send(&sent.to_be_bytes()) {
                sent += 1;
            }
            one.flush();
            assert!(wait_readable(&one, LONG).expect("poll"));
            while let Some(octets) = one.take() {
                assert_eq!(*octets, back.to_be_bytes());
                back += 1;
            }
        }
        answers.join().expect("the other end");
    }

    #[test]
    fn what_finds_no_room_is_lost_and_nobody_is_woken_for_nothing() {
        let [mut one, mut other] = ends(2);
        one.flush();
        assert!(!wait_readable(&other, Duration::ZERO).expect("poll"));
        assert!(one.send(b"a") && one.send(b"b") && !one.send(b"c"));
        one.flush();
        assert!(wait_readable(&other, Duration::ZERO).expect("poll"));
        assert_eq!(other.take().as_deref(), Some(&b"a"[..]));
        assert_eq!(other.take().as_deref(), Some(&b"b"[..]));
        assert_eq!(other.take(), None);
        assert!(!wait_readable(&other, Duration::ZERO).expect("poll"));
        assert!(one.send(b"d"));
    }
}
