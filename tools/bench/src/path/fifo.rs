//! In-memory source and sink of one direction.
//!
//! Packets are received from the head and return to the tail when they are transmitted. Each packet is filled with the
//! bytes of the next session a while before it is received, so that its headers lie in the second-level cache, as after
//! a NIC's DMA. The limit uses the same FIFO.

use super::arrivals::Arrivals;
use super::numbered::Numbered;
use super::traffic::{Direction, Flow, Form, Frames};
use serde::{Deserialize, Serialize};
use sluice_port::{Burst, Packet};
use std::sync::Arc;

/// Packets that go round.
pub const PACKETS: usize = 2048;
/// How many packets ahead of the receiver they are filled.
const AHEAD: usize = 512;
const MASK: usize = PACKETS - 1;
/// Least number of packets, below which fresh ones are added, if packets may be late or lost.
const FEWEST: usize = 1024;
/// Octets that are shown of a wrong packet.
const SHOWN_BYTES: usize = 128;
/// In timed passes one packet in this many is compared; a power of two.
const SAMPLE: usize = 64;

pub type Pool<P> = Box<dyn FnMut() -> Option<P> + Send>;

pub struct Fifo<P: Packet> {
    ring: Box<[Option<P>; PACKETS]>,
    /// Packets received, filled and returned since the start; their remainder is the place.
    received: usize,
    filled: usize,
    returned: usize,
    direction: Direction,
    /// Frames of a flow, of each kind in turn.
    frames: Vec<Arc<Frames>>,
    /// In the order in which they send.
    flows: Arc<[Flow]>,
    next_in: Turn,
    next_out: Turn,
    /// Room before the data of a packet that is filled.
    headroom: usize,
    /// When packets are due; otherwise they always are.
    arrivals: Option<Arrivals>,
    check: Check,
    /// Packets come back as they were sent, not as they leave the path.
    as_sent: bool,
    /// Returned packets, if packets may be late or lost.
    numbered: Option<Numbered>,
    /// Fresh packets that came in the places of lost ones, less those that there was no place for.
    added: i64,
    /// How many were received when the flows began.
    began: usize,
    /// How many more may come in.
    allowed: usize,
    compared: u64,
    wrong: u64,
    first_wrong: Option<String>,
}

/// Next flow, and the number of completed rounds.
#[derive(Clone, Copy, Default)]
struct Turn {
    flow: usize,
    pass: usize,
}

impl Turn {
    /// Behind so many packets.
    fn after(packets: usize, flows: usize) -> Self {
        let flows = flows.max(1);
        Self {
            flow: packets % flows,
            pass: packets / flows,
        }
    }

    #[inline(always)]
    fn next(&mut self, flows: usize) {
        self.flow += 1;
        if self.flow == flows {
            (self.flow, self.pass) = (0, self.pass + 1);
        }
    }

    /// Neighbours have different kinds, and each flow another one in the next pass.
    #[inline(always)]
    fn of(self, frames: &[Arc<Frames>]) -> &Frames {
        match frames {
            [one] => one,
            several => &several[(self.flow + self.pass) % several.len()],
        }
    }
}

/// How many of the returned packets are compared, all bytes of each.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Check {
    Every,
    /// One in 64.
    Sampled,
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
        frames: Vec<Arc<Frames>>,
        fresh: &mut impl FnMut() -> Option<P>,
    ) -> Option<Self> {
        let mut fifo = Self {
            ring: Box::new([const { None }; PACKETS]),
            received: 0,
            filled: 0,
            returned: PACKETS,
            direction,
            frames,
            flows: Arc::default(),
            next_in: Turn::default(),
            next_out: Turn::default(),
            headroom: 0,
            arrivals: None,
            check: Check::Every,
            as_sent: false,
            numbered: None,
            added: 0,
            began: 0,
            allowed: usize::MAX,
            compared: 0,
            wrong: 0,
            first_wrong: None,
        };
        fifo.refill(fresh).then_some(fifo)
    }

    /// Begins anew, with fresh packets in the places of those that did not come back. False if there are fewer.
    pub fn refill(&mut self, fresh: &mut impl FnMut() -> Option<P>) -> bool {
        for place in self.ring.iter_mut().filter(|place| place.is_none()) {
            let Some(packet) = fresh() else {
                return false;
            };
            self.headroom = packet.headroom();
            *place = Some(packet);
        }
        (self.received, self.filled, self.returned) = (0, 0, PACKETS);
        (self.added, self.began) = (0, 0);
        (self.next_in, self.next_out) = Default::default();
        (self.compared, self.wrong, self.first_wrong) = (0, 0, None);
        true
    }

    /// From now on packets of these flows come in, one after the other. All packets must be here.
    pub fn set_flows(&mut self, flows: Arc<[Flow]>) {
        self.flows = flows;
        (self.filled, self.began) = (self.received, self.received);
        (self.next_in, self.next_out) = Default::default();
        if self.numbered.is_some() {
            self.numbered = Some(Numbered::new(&self.flows));
        }
    }

    /// From now on packets have numbers, may be late and get lost.
    pub fn expect_losses(&mut self) {
        self.numbered = Some(Numbered::new(&self.flows));
    }

    /// From now on so many packets come in.
    pub fn allow(&mut self, packets: usize) {
        self.allowed = packets;
    }

    /// How many more may come in.
    pub fn allowed(&self) -> usize {
        self.allowed
    }

    pub fn next_flows(&self) -> impl Iterator<Item = Flow> {
        let first = Turn::after(self.received - self.began, self.flows.len()).flow;
        self.flows.iter().cycle().skip(first).copied()
    }

    /// Puts fresh packets in the places of those that were lost, before there are too few.
    #[inline]
    pub fn top_up(&mut self, fresh: &mut impl FnMut() -> Option<P>) {
        while self.numbered.is_some() && self.returned - self.received < FEWEST {
            let Some(packet) = fresh() else {
                return;
            };
            self.ring[self.returned & MASK] = Some(packet);
            self.returned += 1;
            self.added += 1;
        }
    }

    /// From now on packets are of these kinds in turn. All packets must be here.
    pub fn set_frames(&mut self, frames: &[Arc<Frames>]) {
        self.frames = frames.to_vec();
        self.filled = self.received;
        self.next_in = Turn::after(self.received - self.began, self.flows.len());
    }

    /// The form of the first kind.
    pub fn form(&self) -> Form {
        self.frames[0].form
    }

    /// From now on packets come when they are due, or always. Returns what was before.
    pub fn set_arrivals(&mut self, arrivals: Option<Arrivals>) -> Option<Arrivals> {
        core::mem::replace(&mut self.arrivals, arrivals)
    }

    /// Packets that were received and did not come back yet.
    pub fn under_way(&self) -> usize {
        self.received - self.returned()
    }

    pub fn received(&self) -> usize {
        self.received
    }

    /// Adds up to `max` packets to `burst`.
    #[inline]
    pub fn receive(&mut self, burst: &mut Burst<P>, max: usize) -> usize {
        let room = max.min(burst.remaining()).min(self.allowed);
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
        self.allowed -= n;
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
            self.next_out.next(self.flows.len());
            self.keep(packet);
        }
        n
    }

    #[inline(always)]
    fn keep(&mut self, packet: P) {
        if self.numbered.is_some() && self.returned - self.received == PACKETS {
            // Fresh ones have taken its place.
            packet.free();
            self.added -= 1;
            return;
        }
        self.ring[self.returned & MASK] = Some(packet);
        self.returned += 1;
    }

    /// Packets returned so far.
    pub fn returned(&self) -> usize {
        (self.returned as i64 - self.added) as usize - PACKETS
    }

    /// Flows in the order in which they send.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// Packets of each flow that came back, in the order in which they send. All packets must be here.
    pub fn returned_by_flow(&self) -> impl Iterator<Item = usize> {
        let all = Turn::after(self.returned() - self.began, self.flows.len());
        (0..self.flows.len()).map(move |flow| all.pass + usize::from(flow < all.flow))
    }

    /// From now on as many packets are compared as `check` says.
    pub fn set_check(&mut self, check: Check) {
        self.check = check;
    }

    /// From now on packets must come back as they were sent, or as they leave the path.
    pub fn expect_as_sent(&mut self, as_sent: bool) {
        self.as_sent = as_sent;
    }

    /// Packets compared since the start, and how many of them were wrong.
    pub fn compared(&self) -> (u64, u64) {
        (self.compared, self.wrong)
    }

    pub fn first_wrong(&self) -> Option<&String> {
        self.first_wrong.as_ref()
    }

    /// Packets compared since the start, or what was wrong with them.
    pub fn judge(&self) -> Result<u64, String> {
        // What may be lost is not there in the end.
        let missing = match self.numbered {
            None => self.under_way(),
            Some(_) => 0,
        };
        match (missing, &self.first_wrong) {
            (0, None) => Ok(self.compared),
            (0, Some(first)) => {
                let (wrong, compared) = (self.wrong, self.compared);
                let what = format!("{wrong} of {compared} packets are wrong");
                Err(format!("{what}; the first, {first}"))
            }
            (missing, _) => Err(format!("{missing} packets did not come back")),
        }
    }

    fn fill_up_to(&mut self, end: usize) {
        let end = end.min(self.returned);
        for at in self.filled..end {
            let flow = &self.flows[self.next_in.flow];
            let frames = self.next_in.of(&self.frames);
            let pass = self.next_in.pass as u32;
            self.next_in.next(self.flows.len());
            if let Some(packet) = &mut self.ring[at & MASK] {
                restore(packet, self.headroom, frames.form.input_len(self.direction));
                frames.fill(self.direction, flow, packet.data_mut());
                if frames.form.is_numbered {
                    super::numbered::put(packet.data_mut(), pass);
                }
            }
        }
        self.filled = end.max(self.filled);
    }

    #[cold]
    fn compare(&mut self, packet: &P) {
        let frames = self.next_out.of(&self.frames);
        self.compared += 1;
        let flow = match &mut self.numbered {
            None => Some(self.next_out.flow),
            Some(numbered) => numbered.came(self.direction, packet.data()),
        };
        let Some(flow) = flow.and_then(|flow| self.flows.get(flow)) else {
            return self.note_wrong("a packet that nobody sent, or behind a later one", packet);
        };
        let is_right = match self.as_sent {
            false => frames.is_right(self.direction, flow, packet.data()),
            true => frames.is_sent(self.direction, flow, packet.data()),
        };
        if !is_right {
            let whose = format!("of {flow:x?}");
            self.note_wrong(&whose, packet);
        }
    }

    fn note_wrong(&mut self, what: &str, packet: &P) {
        self.wrong += 1;
        let shown = &packet.data()[..packet.len().min(SHOWN_BYTES)];
        let direction = self.direction;
        let first = || format!("{direction:?} {what}: {shown:02x?}");
        self.first_wrong.get_or_insert_with(first);
    }

    pub fn free(&mut self) {
        for packet in self.ring.iter_mut().filter_map(Option::take) {
            packet.free();
        }
    }
}

/// Undoes what the way of the packet did to its front, and gives it the length of the next one.
#[inline(always)]
fn restore<P: Packet>(packet: &mut P, headroom: usize, len: usize) {
    let now = packet.headroom();
    if now > headroom {
        let _ = packet.push_front(now - headroom);
    } else {
        let _ = packet.pull_front((headroom - now).min(packet.len()));
    }
    if packet.len() != len {
        packet.truncate(len);
        let _ = packet.append(len - packet.len());
    }
}
