//! Packet tracing: packets of one UE, tunnel or peer are copied to the control core with what every
//! stage made of them, while all others pass as fast as ever.
//!
//! A worker holds a [`Tracing`] only while somebody looks, so that otherwise a batch costs one look
//! at a flag. A followed packet is executed apart from its batch, by the same code: what became of
//! it is what the ledger says when it has gone through. Its [`Record`] goes to the control core on
//! a ring; what finds no place there is counted as lost, and nothing waits.
//!
//! Whether a packet is followed is decided where it is parsed, and travels with it: so a packet that
//! is between two workers when a tracing begins is told of by both or by none. When it ends, each
//! worker says so on its rings to all others, behind its last packet, and follows on what they had
//! begun until all have said so.

pub(crate) mod control_side;
mod execute;
mod follow;
mod worker_trace;

use crate::drop::DropReason;
use crate::forward::pdr::At;
use crate::ids::{EntryId, WorkerId};
use crate::limits::{TRACE_KEYS, TRACE_SNAP};
use crate::meta::Meta;
use crate::session::rule::Head;
use crate::tables::Polled;
use arrayvec::ArrayVec;
use core::net::{IpAddr, Ipv4Addr};
use sluice_mem::ring::Producer;
use sluice_port::{PortId, QueueId};

pub(crate) use worker_trace::WorkerTrace;

/// Which packets are followed: those that one of these points at.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Filter {
    /// Packets placed by one of these.
    pub keys: ArrayVec<Key, TRACE_KEYS>,
    /// Packets that come out of tunnels from this address, or go into tunnels to it, and signalling
    /// with it.
    pub peer: Option<IpAddr>,
    /// Packets that go into this tunnel: the peer's address and TEID.
    pub tunnel: Option<(IpAddr, u32)>,
}

/// What a packet is placed by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Key {
    /// A TEID of a local tunnel address, given by its number.
    Teid {
        /// Number of the address.
        local: u8,
        /// The TEID.
        teid: u32,
    },
    /// A UE's address, in any network instance.
    Ue(Ipv4Addr),
    /// The upper half of a UE's IPv6 addresses, in any network instance.
    UePrefix(u64),
}

/// What a worker is told about following. All know of a tracing before the first packet is followed
/// by it, so that none is lost sight of between two workers.
#[derive(Debug)]
pub enum TraceOrder {
    /// Follow on what others began to follow with this, and say that you know of it.
    Expect(Box<Tracing>),
    /// All know: begin to follow with what you expect.
    Follow,
    /// Follow no packet from its beginning any more, and give back what you follow with when none can
    /// come from other workers.
    End,
}

/// What a worker needs to follow packets.
pub struct Tracing {
    pub(crate) number: u32,
    /// Of packets that are followed with it: not 0, and another than the one before.
    pub(crate) mark: u8,
    pub(crate) filter: Filter,
    pub(crate) ring: Producer<Record>,
}

impl core::fmt::Debug for Tracing {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "tracing {}: {:?}", self.number, self.filter)
    }
}

impl core::fmt::Debug for Record {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self {
            worker, came, fate, ..
        } = self;
        write!(f, "worker {worker}: {came:?}, {fate:?}")
    }
}

/// A followed packet's pass through one worker.
#[derive(Clone)]
pub struct Record {
    /// The worker.
    pub worker: WorkerId,
    /// Monotonic time of its turn.
    pub at_ns: u64,
    /// How the packet came to the worker.
    pub came: Came,
    /// What *parse* and *place* found; none of a packet that they refused.
    pub meta: Option<Meta>,
    /// The rule that *session* and *PDR* found; none if there is none, or another worker looks.
    pub rule: Option<RuleSeen>,
    /// How it ended here.
    pub fate: Fate,
    /// The frame as it came; none of a further piece of a packet that was cut.
    pub received: Option<Snap>,
    /// The frame as it left.
    pub sent: Option<Sent>,
}

/// How a packet came to a worker.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Came {
    /// From a receive queue.
    Queue(Polled),
    /// From other workers.
    Workers,
    /// From the control core.
    Control,
    /// It had waited here for its next hop.
    Waited,
}

/// How a packet's pass through a worker ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    /// A transmit queue took it.
    Sent,
    /// It was dropped.
    Dropped(DropReason),
    /// It went over to another worker.
    HandedOver(WorkerId),
    /// It went to the control core.
    ToControl,
    /// It waits: for its next hop, its shard, or other fragments.
    Waits,
    /// Nothing is left of it: an End Marker that was answered, a fragment that became part of
    /// another packet.
    Ended,
}

/// A compiled rule as the packet met it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleSeen {
    /// Its entry.
    pub entry: EntryId,
    /// Its place in an extension block, if it is there.
    pub at: Option<At>,
    /// Its decisions.
    pub head: Head,
    /// It limits the bit rate.
    pub is_limited: bool,
    /// The tunnel that it leads into: the peer's address and TEID.
    pub tunnel: Option<(IpAddr, u32)>,
}

/// A copy of a frame, or of its beginning.
#[derive(Clone, PartialEq, Eq)]
pub struct Snap {
    /// Its whole length.
    pub wire_bytes: u32,
    /// The first bytes of it.
    pub bytes: ArrayVec<u8, TRACE_SNAP>,
}

/// A frame that left.
#[derive(Clone, PartialEq, Eq)]
pub struct Sent {
    /// By which port.
    pub port: PortId,
    /// By which queue.
    pub queue: QueueId,
    /// The frame.
    pub frame: Snap,
}

impl Snap {
    /// Of a frame.
    pub fn of(frame: &[u8]) -> Self {
        let mut bytes = ArrayVec::new();
        let kept = frame.get(..TRACE_SNAP).unwrap_or(frame);
        // It is no longer than there is room.
        let _ = bytes.try_extend_from_slice(kept);
        Self {
            wire_bytes: frame.len() as u32,
            bytes,
        }
    }
}
