//! Traffic generator and sink at the remote end, and the balance of what they sent.

use crate::path::fifo::{Check, Fifo};
use crate::path::topology::{N3, N6};
use crate::path::traffic::{Direction, Flow, Frames};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sluice_datapath::ledger::Ledger;
use sluice_port::{Burst, Packet, PortId, PortIo, QueueId};
use std::sync::Arc;

/// Packets made or taken at a time.
const BURST: usize = 64;

/// Order to the far end.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Order {
    /// Send. All packets of the time before have come back, or are lost.
    Start(Traffic),
    /// Send no more; tell what was, when the last has come back.
    Stop,
}

/// Sent packets, and those that must return.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Traffic {
    /// Whether there is any uplink, and downlink.
    pub open: [bool; 2],
    pub answer: Answer,
    pub check: Check,
    /// Packets of each direction at the most.
    pub at_most: usize,
    /// Packets of each direction on their way at a time: what the smallest ring between both
    /// holds, so that none is ever full and nobody has to drop.
    pub window: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The packet path's treatment.
    Path,
    /// Nothing: they come back as they were sent.
    Same,
}

/// Counters of one order to send, over both directions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Count {
    /// Packets that the ports took.
    pub sent: u64,
    /// Packets that came back.
    pub returned: u64,
    /// Of those, how many were compared, and of these, how many were not what they should be.
    pub compared: u64,
    pub wrong: u64,
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
        self.first_wrong = self
            .first_wrong
            .take()
            .or_else(|| other.first_wrong.clone());
    }
}

pub struct Peer<I: PortIo> {
    io: I,
    lanes: [Lane<I::Packet>; 2],
    traffic: Option<Traffic>,
}

struct Lane<P: Packet> {
    sends_at: PortId,
    receives_at: PortId,
    fifo: Fifo<P>,
    /// Made, and not yet taken by the port.
    waiting: Burst<P>,
    sent: u64,
}

impl<I: PortIo> Peer<I> {
    /// At the far ends of N3 and N6, which are `io`'s first ports. None if there are too few packets.
    pub fn new(mut io: I, flows: &Arc<[Flow]>) -> Option<Self> {
        let frames = Arc::new(Frames::default());
        let mut lane = |direction, sends_at, receives_at| {
            let mut fifo = Fifo::new(direction, vec![frames.clone()], &mut || io.alloc())?;
            fifo.set_flows(flows.clone());
            Some(Lane {
                sends_at,
                receives_at,
                fifo,
                waiting: Burst::new(),
                sent: 0,
            })
        };
        Some(Self {
            lanes: [
                lane(Direction::Uplink, N3, N6)?,
                lane(Direction::Downlink, N6, N3)?,
            ],
            traffic: None,
            io,
        })
    }

    /// Sends from now on.
    pub fn start(&mut self, traffic: Traffic) {
        let Self { io, lanes, .. } = self;
        for lane in lanes {
            // What is missing for want of packets is not sent, and seen so.
            lane.fifo.refill(&mut || io.alloc());
            lane.fifo.set_check(traffic.check);
            lane.fifo.expect_as_sent(traffic.answer == Answer::Same);
            lane.sent = 0;
        }
        self.traffic = Some(traffic);
    }

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
        let Count { sent, returned, .. } = self.count();
        sent.saturating_sub(returned)
    }

    /// Counters of the last order so far.
    pub fn count(&self) -> Count {
        let mut count = Count {
            cpu_share: 1.0,
            ..Count::default()
        };
        for Lane { fifo, sent, .. } in &self.lanes {
            let (compared, wrong) = fifo.compared();
            count.add(&Count {
                sent: *sent,
                returned: fifo.returned() as u64,
                compared,
                wrong,
                first_wrong: fifo.first_wrong().cloned(),
                cpu_share: 1.0,
            });
        }
        count
    }

    /// Sends what may be sent and takes what has come. Returns how many packets came.
    pub fn turn(&mut self) -> usize {
        let Some(traffic) = self.traffic else {
            return 0;
        };
        let (mut returned, mut burst) = (0, Burst::new());
        for (lane, open) in self.lanes.iter_mut().zip(traffic.open) {
            if open {
                lane.send(&mut self.io, &traffic);
            }
            returned += self.io.rx(lane.receives_at, QueueId(0), &mut burst, BURST);
            // Of an order before, that were thought to be lost.
            while burst.len() > lane.fifo.under_way() {
                burst.pop().into_iter().for_each(Packet::free);
            }
            lane.fifo.give_back(&mut burst);
        }
        returned
    }
}

impl<P: Packet> Lane<P> {
    fn send(&mut self, io: &mut impl PortIo<Packet = P>, traffic: &Traffic) {
        let room = traffic.window.saturating_sub(self.fifo.under_way());
        let left = traffic.at_most.saturating_sub(self.fifo.received());
        let free = BURST.saturating_sub(self.waiting.len());
        self.fifo
            .receive(&mut self.waiting, room.min(left).min(free));
        if !self.waiting.is_empty() {
            self.sent += io.tx(self.sends_at, QueueId(0), &mut self.waiting) as u64;
        }
    }
}

impl<I: PortIo> Drop for Peer<I> {
    /// Packets have no destructor of their own.
    fn drop(&mut self) {
        self.stop();
        self.lanes.iter_mut().for_each(|lane| lane.fifo.free());
    }
}

/// Balance of all packets: of the path's, and of the plain loop's.
#[derive(Clone, Debug, Default)]
pub struct PacketBalance {
    /// The path's, as the far end counted.
    pub path: Count,
    pub ledger: Ledger,
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

impl PacketBalance {
    /// For scripts; so many were compared before the clock ran.
    pub fn to_json(&self, compared_before: u64) -> Value {
        let [before, within, behind, limit] = self.lost();
        let dropped = self.ledger.dropped.iter();
        let dropped = dropped.map(|(reason, n)| (reason.name().to_owned(), json!(n)));
        json!({
            "path": {
                "sent_by_the_far_end": self.path.sent,
                "received": self.ledger.received,
                "transmitted": self.ledger.transmitted,
                "returned_to_the_far_end": self.path.returned,
                "lost_before_the_path": before,
                "lost_in_the_path": within,
                "dropped": dropped.collect::<Map<_, _>>(),
                "lost_behind_the_path": behind,
                "compared": self.path.compared,
                "wrong": self.path.wrong,
            },
            "limit": {
                "sent_by_the_far_end": self.io.sent,
                "returned_to_the_far_end": self.io.returned,
                "lost": limit,
                "not_taken_by_the_port": self.io_unsent,
                "compared": self.io.compared,
                "wrong": self.io.wrong,
            },
            "compared_before": compared_before,
        })
    }
}

/// Packets that have come to their end.
pub fn ended(ledger: &Ledger) -> u64 {
    ledger.transmitted + ledger.dropped_total()
}

/// Difference of two ledgers.
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
