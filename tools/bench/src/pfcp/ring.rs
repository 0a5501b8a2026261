//! In-process stand-in for an N4 port: a ring of datagram buffers each way, as a worker would hand
//! N4 datagrams to the control core and take its answers. There are no Ethernet, IP and UDP headers
//! on it, and no NIC.

use super::load::Wire;
use super::n4_transport::Door;
use arrayvec::ArrayVec;
use sluice_control::core::Env;
use sluice_mem::ring::{Consumer, Producer, spsc};
use sluice_n4::Outbox;
use sluice_port::Packet;
use std::marker::PhantomData;
use std::net::SocketAddr;

/// Buffers, and places in each ring.
const BUFFERS: usize = 2048;
/// Octets of a buffer.
const ROOM: usize = 2048;
/// Datagrams that the near end takes in one turn, as the daemon does from its socket.
const BATCH: usize = 32;

/// A datagram in its buffer.
pub struct Datagram {
    len: usize,
    bytes: Box<[u8; ROOM]>,
}

impl Datagram {
    fn fresh() -> Self {
        Self {
            len: 0,
            bytes: Box::new([0; ROOM]),
        }
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn fill(&mut self, bytes: &[u8]) -> bool {
        let fits = bytes.len() <= ROOM;
        if fits {
            self.bytes[..bytes.len()].copy_from_slice(bytes);
            self.len = bytes.len();
        }
        fits
    }
}

/// The N4 loop's end; it knows one peer.
pub struct RingDoor<P> {
    peer: SocketAddr,
    requests: Consumer<Datagram>,
    answers: Producer<Datagram>,
    /// On their way with the next flush.
    written: ArrayVec<Datagram, BATCH>,
    free: Vec<Datagram>,
    packets: PhantomData<fn() -> P>,
    /// Datagrams for which there was no room.
    pub lost: u64,
}

pub struct RingWire {
    requests: Producer<Datagram>,
    answers: Consumer<Datagram>,
    /// On their way with the next flush.
    written: ArrayVec<Datagram, BATCH>,
    free: Vec<Datagram>,
}

impl<P> RingDoor<P> {
    pub fn pair(peer: SocketAddr) -> (Self, RingWire) {
        let (to_near, from_far) = spsc(BUFFERS, 0);
        let (to_far, from_near) = spsc(BUFFERS, 0);
        let buffers = || {
            (0..BUFFERS / 2)
                .map(|_| Datagram::fresh())
                .collect::<Vec<_>>()
        };
        let near = Self {
            peer,
            requests: from_far,
            answers: to_far,
            written: ArrayVec::new(),
            free: buffers(),
            packets: PhantomData,
            lost: 0,
        };
        let far = RingWire {
            requests: to_near,
            answers: from_near,
            written: ArrayVec::new(),
            free: buffers(),
        };
        (near, far)
    }
}

impl<P: Packet> Door for RingDoor<P> {
    type Around = Self;

    fn receive(&mut self, mut handle: impl FnMut(&[(SocketAddr, &[u8])], &mut Self)) -> usize {
        let mut requests = ArrayVec::<Datagram, BATCH>::new();
        self.requests.pop_burst(&mut requests);
        let from = self.peer;
        let datagrams: ArrayVec<_, BATCH> = requests.iter().map(|r| (from, r.bytes())).collect();
        if !datagrams.is_empty() {
            handle(&datagrams, self);
        }
        let taken = datagrams.len();
        drop(datagrams);
        self.free.extend(requests);
        taken
    }

    fn around(&mut self) -> &mut Self {
        self
    }

    fn flush(&mut self) {
        self.send_written();
    }
}

impl<P> Outbox for RingDoor<P> {
    fn send(&mut self, _: SocketAddr, bytes: &[u8]) {
        // Reports of a slow machine take more than requests bring back; the ring is the bound.
        let mut answer = self.free.pop().unwrap_or_else(Datagram::fresh);
        if !answer.fill(bytes) {
            self.lost += 1;
            self.free.push(answer);
            return;
        }
        if self.written.is_full() {
            self.send_written();
        }
        self.written.push(answer);
    }
}

impl<P> RingDoor<P> {
    /// Sends what was written since the last time, together.
    fn send_written(&mut self) {
        self.answers.push_burst(&mut self.written);
        self.lost += self.written.len() as u64;
        self.free.extend(self.written.drain(..));
    }
}

impl<P: Packet> Env for RingDoor<P> {
    type Packet = P;

    /// All neighbours are known, so the control core sends no frames.
    fn alloc(&mut self) -> Option<P> {
        None
    }
}

impl Wire for RingWire {
    fn send(&mut self, bytes: &[u8]) -> bool {
        if self.written.is_full() {
            self.flush();
        }
        if self.written.is_full() {
            return false;
        }
        let Some(mut request) = self.free.pop() else {
            return false;
        };
        let fits = request.fill(bytes);
        debug_assert!(fits, "a request of {} octets", bytes.len());
        self.written.push(request);
        true
    }

    fn flush(&mut self) {
        self.requests.push_burst(&mut self.written);
    }

    fn receive(&mut self, mut take: impl FnMut(&[u8])) -> usize {
        let mut answers = ArrayVec::<Datagram, BATCH>::new();
        self.answers.pop_burst(&mut answers);
        answers.iter().for_each(|answer| take(answer.bytes()));
        let taken = answers.len();
        self.free.extend(answers);
        taken
    }
}
