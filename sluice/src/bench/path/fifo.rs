//! Source and sink of one direction: a memory FIFO of packets that go round.
//!
//! What is received comes from the head, what is transmitted returns to the tail. Each packet is
//! filled with the bytes of the next session a while before it is received, so that its headers
//! lie in the second-level cache, as after a NIC's DMA. The limit uses the very same FIFO.

use super::traffic::{Direction, Flow, Frames};
use sluice_port::{Burst, Packet};
use std::sync::Arc;

/// Packets that go round.
pub const PACKETS: usize = 2048;
/// How many packets ahead of the receiver they are filled.
const AHEAD: usize = 512;
const MASK: usize = PACKETS - 1;
/// In timed passes one packet in this many is compared; a power of two.
const SAMPLE: usize = 64;

/// The FIFO.
pub struct Fifo<P: Packet> {
    ring: Box<[Option<P>; PACKETS]>,
    /// Packets received, filled and returned since the start; their remainder is the place.
    received: usize,
    filled: usize,
    returned: usize,
    direction: Direction,
    frames: Arc<Frames>,
    /// In the order in which they send.
    flows: Arc<[Flow]>,
    next_in: usize,
    next_out: usize,
    /// Room before the data of a packet that is filled.
    headroom: usize,
    check: Check,
    verdict: Verdict,
}

/// How many of the returned packets are compared, all bytes of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// All.
    Every,
    /// One in 64.
    Sampled,
}

/// What the comparison found.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Packets compared.
    pub compared: u64,
    /// Packets that were not as they must be.
    pub wrong: u64,
    /// The first of those.
    pub first_wrong: Option<(Flow, Vec<u8>)>,
}

impl<P: Packet> Fifo<P> {
    /// A FIFO of `packets`, which must be [`PACKETS`] fresh ones; `None` if they are fewer.
    pub fn new(
        direction: Direction,
        frames: Arc<Frames>,
        flows: Arc<[Flow]>,
        mut fresh: impl FnMut() -> Option<P>,
    ) -> Option<Self> {
        let mut ring: Vec<Option<P>> = Vec::with_capacity(PACKETS);
        let mut headroom = 0;
        for _ in 0..PACKETS {
            let mut packet = fresh()?;
            packet.append(direction.input_len()).ok()?;
            headroom = packet.headroom();
            ring.push(Some(packet));
        }
        Some(Self {
            ring: ring.try_into().ok()?,
            received: 0,
            filled: 0,
            returned: PACKETS,
            direction,
            frames,
            flows,
            next_in: 0,
            next_out: 0,
            headroom,
            check: Check::Every,
            verdict: Verdict::default(),
        })
    }

    /// Adds up to `max` packets to `burst`.
    #[inline]
    pub fn receive(&mut self, burst: &mut Burst<P>, max: usize) -> usize {
        let room = max.min(burst.remaining());
        let n = room.min(self.returned - self.received);
        self.fill_up_to(self.received + n + AHEAD);
        for at in self.received..self.received + n {
            if let Some(packet) = self.ring[at & MASK].take()
                && let Err(packet) = burst.push(packet)
            {
                packet.free();
            }
        }
        self.received += n;
        n
    }

    /// Takes all packets of `burst` back.
    #[inline]
    pub fn give_back(&mut self, burst: &mut Burst<P>) -> usize {
        let n = burst.len();
        for packet in burst.drain() {
            if self.check == Check::Every || self.returned % SAMPLE == 0 {
                self.compare(&packet);
            }
            self.next_out = self.after(self.next_out);
            self.ring[self.returned & MASK] = Some(packet);
            self.returned += 1;
        }
        n
    }

    /// Packets returned so far.
    pub fn returned(&self) -> usize {
        self.returned - PACKETS
    }

    /// Packets received and not returned yet: lost ones, once the path stands still.
    pub fn missing(&self) -> usize {
        PACKETS - (self.returned - self.received)
    }

    /// From now on as many packets are compared as `check` says.
    pub fn set_check(&mut self, check: Check) {
        self.check = check;
    }

    /// What the comparison found since the start.
    pub fn verdict(&self) -> &Verdict {
        &self.verdict
    }

    fn fill_up_to(&mut self, end: usize) {
        let end = end.min(self.returned);
        for at in self.filled..end {
            let flow = &self.flows[self.next_in];
            self.next_in = self.after(self.next_in);
            if let Some(packet) = &mut self.ring[at & MASK] {
                restore(packet, self.headroom);
                self.frames.fill(self.direction, flow, packet.data_mut());
            }
        }
        self.filled = end.max(self.filled);
    }

    #[inline(always)]
    fn after(&self, flow: usize) -> usize {
        let next = flow + 1;
        if next == self.flows.len() { 0 } else { next }
    }

    #[cold]
    fn compare(&mut self, packet: &P) {
        let flow = &self.flows[self.next_out];
        self.verdict.compared += 1;
        if !self.frames.is_right(self.direction, flow, packet.data()) {
            self.verdict.wrong += 1;
            let found = || (*flow, packet.data().to_vec());
            self.verdict.first_wrong.get_or_insert_with(found);
        }
    }

    /// Frees all packets that are here.
    pub fn free(mut self) {
        for packet in self.ring.iter_mut().filter_map(Option::take) {
            packet.free();
        }
    }
}

/// Undoes what the way of the packet did to its front. Its end stayed.
#[inline(always)]
fn restore<P: Packet>(packet: &mut P, headroom: usize) {
    let now = packet.headroom();
    if now > headroom {
        let _ = packet.push_front(now - headroom);
    } else {
        let _ = packet.pull_front(headroom - now);
    }
}
