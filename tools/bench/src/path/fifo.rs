//! In-memory source and sink of one direction.
//!
//! What is received comes from the head, what is transmitted returns to the tail. Each packet is
//! filled with the bytes of the next session a while before it is received, so that its headers
//! lie in the second-level cache, as after a NIC's DMA. The limit uses the very same FIFO.

use super::arrivals::Arrivals;
use super::traffic::{Direction, Flow, Frames, UplinkForm};
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
    form: UplinkForm,
    frames: Arc<Frames>,
    /// In the order in which they send.
    flows: Arc<[Flow]>,
    next_in: usize,
    next_out: usize,
    /// Room before the data of a packet that is filled.
    headroom: usize,
    /// When packets are due; otherwise they always are.
    arrivals: Option<Arrivals>,
    check: Check,
    compared: u64,
    wrong: u64,
    first_wrong: Option<(Flow, Vec<u8>)>,
}

/// How many of the returned packets are compared, all bytes of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Check {
    /// All.
    Every,
    /// One in 64.
    Sampled,
    /// None.
    Nothing,
}

impl Check {
    /// A packet is compared if none of these bits of its number is set.
    fn mask(self) -> usize {
        match self {
            Self::Every => 0,
            Self::Sampled => SAMPLE - 1,
            Self::Nothing => usize::MAX,
        }
    }
}

impl<P: Packet> Fifo<P> {
    /// A FIFO of [`PACKETS`] fresh packets without flows; `None` if there are fewer.
    pub fn new(
        direction: Direction,
        frames: Arc<Frames>,
        fresh: &mut impl FnMut() -> Option<P>,
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
            form: UplinkForm::Usual,
            frames,
            flows: Arc::default(),
            next_in: 0,
            next_out: 0,
            headroom,
            arrivals: None,
            check: Check::Every,
            compared: 0,
            wrong: 0,
            first_wrong: None,
        })
    }

    /// From now on packets of these flows come in, one after the other. All packets must be here.
    pub fn set_flows(&mut self, flows: Arc<[Flow]>) {
        self.flows = flows;
        self.filled = self.received;
        (self.next_in, self.next_out) = (0, 0);
    }

    /// From now on uplink packets have this form. All packets must be here.
    pub fn set_form(&mut self, form: UplinkForm) {
        if self.direction == Direction::Downlink || form == self.form {
            return;
        }
        self.form = form;
        (self.filled, self.next_in) = (self.received, self.next_out);
        for packet in self.ring.iter_mut().flatten() {
            restore(packet, self.headroom);
            let more = form.input_len().saturating_sub(packet.len());
            packet.truncate(form.input_len());
            let _ = packet.append(more);
        }
    }

    /// From now on packets come when they are due, or always. Returns what was before.
    pub fn set_arrivals(&mut self, arrivals: Option<Arrivals>) -> Option<Arrivals> {
        core::mem::replace(&mut self.arrivals, arrivals)
    }

    /// Whether all packets are here.
    pub fn is_at_rest(&self) -> bool {
        self.returned - self.received == PACKETS
    }

    /// Adds up to `max` packets to `burst`.
    #[inline]
    pub fn receive(&mut self, burst: &mut Burst<P>, max: usize) -> usize {
        let room = max.min(burst.remaining());
        let here = room.min(self.returned - self.received);
        let n = match &mut self.arrivals {
            None => here,
            Some(arrivals) => arrivals.come(self.received, here),
        };
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
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.leave(self.returned, n);
        }
        for packet in burst.drain() {
            if self.returned & self.check.mask() == 0 {
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

    /// From now on as many packets are compared as `check` says.
    pub fn set_check(&mut self, check: Check) {
        self.check = check;
    }

    /// Packets compared since the start, or what was wrong with them.
    pub fn judge(&self) -> Result<u64, String> {
        let missing = PACKETS - (self.returned - self.received);
        if missing > 0 {
            return Err(format!("{missing} packets did not come back"));
        }
        match &self.first_wrong {
            None => Ok(self.compared),
            Some((flow, bytes)) => Err(format!(
                "{} of {} packets are wrong; the first, {:?} of {flow:x?}: {bytes:02x?}",
                self.wrong, self.compared, self.direction
            )),
        }
    }

    fn fill_up_to(&mut self, end: usize) {
        let end = end.min(self.returned);
        for at in self.filled..end {
            let flow = &self.flows[self.next_in];
            self.next_in = self.after(self.next_in);
            if let Some(packet) = &mut self.ring[at & MASK] {
                restore(packet, self.headroom);
                let out = packet.data_mut();
                match (self.direction, self.form) {
                    (Direction::Downlink, _) | (_, UplinkForm::Usual) => {
                        self.frames.fill(self.direction, flow, out);
                    }
                    (Direction::Uplink, form) => self.frames.fill_uplink(form, flow, out),
                }
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
        self.compared += 1;
        let is_right = match self.direction {
            Direction::Uplink => self.frames.is_right_uplink(self.form, flow, packet.data()),
            Direction::Downlink => self.frames.is_right(self.direction, flow, packet.data()),
        };
        if !is_right {
            self.wrong += 1;
            let found = || (*flow, packet.data().to_vec());
            self.first_wrong.get_or_insert_with(found);
        }
    }

    /// Frees all packets that are here.
    pub fn free(&mut self) {
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
