//! Traffic generator and sink at the remote end, and the balance of what they sent.

use crate::path::topology::{N3, N6};
use crate::path::traffic::{Direction, Flow, Frames};
use serde::{Deserialize, Serialize};
use sluice_datapath::ledger::Ledger;
use sluice_port::{Burst, Packet, PortId, PortIo, QueueId};
use std::sync::Arc;

/// Packets made or taken at a time.
const BURST: usize = 64;
/// What a wrong packet is shown of.
const SHOWN_BYTES: usize = 128;

/// What the far end is told.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Send. All packets of the time before have come back, or are lost.
    Start(Traffic),
    /// Send no more; tell what was, when the last has come back.
    Stop,
}

/// What is sent, and what must come back.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Traffic {
    /// Whether there is any uplink, and downlink.
    pub open: [bool; 2],
    /// What becomes of the packets.
    pub answer: Answer,
    /// One in so many that come back is compared, every byte of it.
    pub compare_one_in: u64,
    /// Packets of each direction at the most.
    pub at_most: u64,
    /// Packets of each direction on their way at a time: what the smallest ring between both
    /// holds, so that none is ever full and nobody has to drop.
    pub window: u64,
}

/// What becomes of the packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// What the packet path makes of them.
    Path,
    /// Nothing: they come back as they were sent.
    Same,
}

/// What one order to send has led to, over both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// Packets that the ports took.
    pub sent: u64,
    /// Packets that came back.
    pub returned: u64,
    /// Of those, how many were compared.
    pub compared: u64,
    /// Of those, how many were not what they should be.
    pub wrong: u64,
    /// The first of those.
    pub first_wrong: Option<String>,
    /// CPU time of the far end by the time on the clock.
    pub cpu_share: f64,
}

impl Count {
    /// Adds what another order led to.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.returned += other.returned;
        self.compared += other.compared;
        self.wrong += other.wrong;
        self.cpu_share = self.cpu_share.min(other.cpu_share);
        if self.first_wrong.is_none() {
            self.first_wrong.clone_from(&other.first_wrong);
        }
    }
}

/// Source and sink.
pub struct Peer<I: PortIo> {
    io: I,
    frames: Frames,
    flows: Arc<[Flow]>,
    lanes: [Lane<I::Packet>; 2],
    traffic: Option<Traffic>,
    first_wrong: Option<String>,
    spare: Burst<I::Packet>,
    /// Room before the data of a fresh packet.
    headroom: usize,
}

/// One direction.
struct Lane<P: Packet> {
    direction: Direction,
    sends_at: PortId,
    receives_at: PortId,
    /// Made, and not yet taken by the port.
    waiting: Burst<P>,
    next_in: usize,
    next_out: usize,
    made: u64,
    sent: u64,
    returned: u64,
    compared: u64,
    wrong: u64,
}

impl<P: Packet> Lane<P> {
    fn new(direction: Direction) -> Self {
        let (sends_at, receives_at) = match direction {
            Direction::Uplink => (N3, N6),
            Direction::Downlink => (N6, N3),
        };
        Self {
            direction,
            sends_at,
            receives_at,
            waiting: Burst::new(),
            next_in: 0,
            next_out: 0,
            made: 0,
            sent: 0,
            returned: 0,
            compared: 0,
            wrong: 0,
        }
    }
}

impl<I: PortIo> Peer<I> {
    /// At the far ends of N3 and N6, which are `io`'s first ports.
    pub fn new(io: I, flows: Arc<[Flow]>) -> Self {
        Self {
            io,
            frames: Frames::default(),
            flows,
            lanes: [Lane::new(Direction::Uplink), Lane::new(Direction::Downlink)],
            traffic: None,
            first_wrong: None,
            spare: Burst::new(),
            headroom: 0,
        }
    }

    /// Sends from now on.
    pub fn start(&mut self, traffic: Traffic) {
        for lane in &mut self.lanes {
            *lane = Lane::new(lane.direction);
        }
        self.first_wrong = None;
        self.traffic = Some(traffic);
    }

    /// Sends no more.
    pub fn stop(&mut self) {
        if let Some(traffic) = &mut self.traffic {
            traffic.at_most = 0;
        }
        for lane in &mut self.lanes {
            lane.waiting.free();
        }
    }

    /// Packets of the last order on their way.
    pub fn under_way(&self) -> u64 {
        let under_way = |lane: &Lane<I::Packet>| lane.sent.saturating_sub(lane.returned);
        self.lanes.iter().map(under_way).sum()
    }

    /// What the last order has led to so far.
    pub fn count(&self) -> Count {
        let sum = |of: fn(&Lane<I::Packet>) -> u64| self.lanes.iter().map(of).sum();
        Count {
            sent: sum(|lane| lane.sent),
            returned: sum(|lane| lane.returned),
            compared: sum(|lane| lane.compared),
            wrong: sum(|lane| lane.wrong),
            first_wrong: self.first_wrong.clone(),
            cpu_share: 1.0,
        }
    }

    /// Sends what may be sent and takes what has come. Returns how many packets came.
    pub fn turn(&mut self) -> usize {
        let Some(traffic) = self.traffic else {
            return 0;
        };
        let mut returned = 0;
        for at in 0..self.lanes.len() {
            if traffic.open[at] {
                self.send(at, &traffic);
            }
            returned += self.receive(at, &traffic);
        }
        returned
    }

    fn send(&mut self, at: usize, traffic: &Traffic) {
        let Self {
            io,
            frames,
            flows,
            lanes,
            spare,
            headroom,
            ..
        } = self;
        let lane = &mut lanes[at];
        let under_way = lane.made.saturating_sub(lane.returned);
        let room = traffic.window.saturating_sub(under_way);
        let left = traffic.at_most.saturating_sub(lane.made);
        let free = BURST.saturating_sub(lane.waiting.len()) as u64;
        for _ in 0..room.min(left).min(free) {
            let fresh = || io.alloc().inspect(|fresh| *headroom = fresh.headroom());
            let Some(mut packet) = spare.pop().or_else(fresh) else {
                break;
            };
            if !resize(&mut packet, *headroom, lane.direction.input_len()) {
                packet.free();
                break;
            }
            let flow = &flows[lane.next_in];
            frames.fill(lane.direction, flow, packet.data_mut());
            lane.next_in = after(lane.next_in, flows.len());
            lane.made += 1;
            if let Err(packet) = lane.waiting.push(packet) {
                packet.free();
            }
        }
        if !lane.waiting.is_empty() {
            lane.sent += io.tx(lane.sends_at, QueueId(0), &mut lane.waiting) as u64;
        }
    }

    fn receive(&mut self, at: usize, traffic: &Traffic) -> usize {
        let mut burst = Burst::new();
        let from = self.lanes[at].receives_at;
        let n = self.io.rx(from, QueueId(0), &mut burst, BURST);
        for packet in burst.iter() {
            let lane = &mut self.lanes[at];
            let flow = self.flows[lane.next_out];
            lane.next_out = after(lane.next_out, self.flows.len());
            lane.returned += 1;
            if lane.returned.is_multiple_of(traffic.compare_one_in) {
                self.compare(at, &flow, packet, traffic.answer);
            }
        }
        // They are used again, which is cheaper than to be freed and allocated.
        while !self.spare.is_full()
            && let Some(packet) = burst.pop()
        {
            if let Err(packet) = self.spare.push(packet) {
                packet.free();
            }
        }
        burst.free();
        n
    }

    #[cold]
    fn compare(&mut self, at: usize, flow: &Flow, packet: &I::Packet, answer: Answer) {
        let lane = &mut self.lanes[at];
        lane.compared += 1;
        let data = packet.data();
        let right = match answer {
            Answer::Path => self.frames.is_right(lane.direction, flow, data),
            Answer::Same => self.frames.is_sent(lane.direction, flow, data),
        };
        if !right {
            lane.wrong += 1;
            let shown = &data[..data.len().min(SHOWN_BYTES)];
            let direction = lane.direction;
            let text = || format!("{direction:?} of {flow:x?}: {shown:02x?}");
            self.first_wrong.get_or_insert_with(text);
        }
    }
}

impl<I: PortIo> Drop for Peer<I> {
    /// Packets have no destructor of their own; those in bursts are freed with them.
    fn drop(&mut self) {
        self.stop();
    }
}

fn after(flow: usize, flows: usize) -> usize {
    let next = flow + 1;
    if next == flows { 0 } else { next }
}

/// Makes a packet that may have been another before as long as the next one, with the room of a
/// fresh one before it.
fn resize<P: Packet>(packet: &mut P, headroom: usize, len: usize) -> bool {
    let now = packet.headroom();
    let moved = if now > headroom {
        packet.push_front(now - headroom).is_ok()
    } else {
        packet.pull_front(headroom - now).is_ok()
    };
    packet.truncate(len);
    let missing = len.saturating_sub(packet.len());
    moved && packet.append(missing).is_ok()
}

/// What became of all packets: of the path's, and of the plain loop's.
#[derive(Clone, Debug, Default)]
pub struct PacketBalance {
    /// The path's, as the far end counted.
    pub path: Count,
    /// As the path counted.
    pub ledger: Ledger,
    /// The plain loop's.
    pub io: Count,
    /// Packets that the plain loop found no room for.
    pub io_unsent: u64,
}

impl PacketBalance {
    /// Path's packets lost before it, within it, behind it; and the plain loop's.
    pub fn lost(&self) -> [u64; 4] {
        let Ledger {
            received,
            transmitted,
            ..
        } = self.ledger;
        [
            self.path.sent.saturating_sub(received),
            received.saturating_sub(transmitted),
            transmitted.saturating_sub(self.path.returned),
            self.io.sent.saturating_sub(self.io.returned),
        ]
    }

    /// Why the packets are not what they should be, if so.
    pub fn fault(&self) -> Option<String> {
        let wrong = [&self.path, &self.io].into_iter().find(|c| c.wrong > 0);
        if let Some(Count {
            wrong,
            compared,
            first_wrong,
            ..
        }) = wrong
        {
            let first = first_wrong.as_deref().unwrap_or_default();
            return Some(format!("{wrong} of {compared} packets are wrong; {first}"));
        }
        (!self.ledger.balances()).then(|| format!("the ledger does not balance: {}", self.ledger))
    }
}

/// Packets that have come to their end.
pub fn ended(ledger: &Ledger) -> u64 {
    ledger.transmitted + ledger.dropped_total()
}

/// What a ledger says of the time since another.
pub fn since(before: &Ledger, now: &Ledger) -> Ledger {
    let dropped = now.dropped.iter().map(|(reason, n)| {
        let before = before.dropped_for(*reason);
        (*reason, n - before)
    });
    Ledger {
        received: now.received - before.received,
        created: now.created - before.created,
        transmitted: now.transmitted - before.transmitted,
        to_control: now.to_control - before.to_control,
        merged: now.merged - before.merged,
        held: now.held.wrapping_sub(before.held),
        dropped: dropped.filter(|(_, n)| *n > 0).collect(),
    }
}
