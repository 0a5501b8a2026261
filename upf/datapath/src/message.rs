//! Messages between workers and the control core.

use crate::bells::Bell;
use crate::hold::ShardHeld;
use crate::ids::{EntryId, InterfaceId, WorkerId};
use crate::limits::PORTS_TOGETHER;
use crate::lookup::layout::InstanceId;
use crate::meta::Meta;
use crate::migration::protocol::{MoveShard, Switch};
use crate::nat::NatShardOwner;
use crate::session::SessionShard;
use crate::session::txn::Txn;
use crate::topology::Polled;
use crate::trace::{TraceOrder, Tracing};
use crate::tx::arp_queue::WaitingPacket;
use crate::tx::shaper::ShardWaiting;
use arrayvec::ArrayVec;
use core::net::IpAddr;
use sluice_mem::shard::ShardId;
use sluice_port::PortId;

pub use crate::tx::route::Resolve;

/// From the control core to a worker.
#[derive(Debug)]
pub enum ToWorker<P> {
    /// Apply this, then send it back.
    Txn(Box<Txn>),
    /// Send this frame by the interface. It is whole, Ethernet header included.
    Transmit(P, InterfaceId),
    /// Treat this frame as if the port had received it (an ICMP error on its way to a UE).
    Receive(P, PortId),
    /// Treat this inner packet as if it had come for the UE that its meta names: placed already, and without a
    /// frame around it (a Router Advertisement).
    ToUe(P, Meta),
    /// A shard moves to another worker.
    Turn(MoveShard),
    /// A shard of the worker's will come from another poller as well.
    Expect(ShardId, WorkerId),
    /// Ports steer a shard elsewhere: once their queues have nothing left from before, its owner is to
    /// hear of it.
    Drain(Drain),
    /// A receive queue goes to another worker.
    Leave(Fence),
    /// About following packets.
    Trace(TraceOrder),
}

/// Receive queues, of one port each.
pub type Queues = ArrayVec<Polled, PORTS_TOGETHER>;

/// Receive queues that one shard's packets do not come into any more.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Drain {
    /// Where they came.
    pub queues: Queues,
    /// What the owner hears when all of them have nothing left from before.
    pub switch: Switch,
}

/// A receive queue changes its poller: all that was polled from it before lies in front of this.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fence {
    /// The queue.
    pub polled: Polled,
    /// Its next poller.
    pub to: WorkerId,
}

/// From a worker to the control core.
#[derive(Debug)]
pub enum ToControl<P> {
    /// An applied transaction with its usage.
    Done(Box<Txn>),
    /// A packet that is not user traffic (ARP, ICMP to us, GTP-U signalling).
    Packet(P, InterfaceId),
    /// The inner packet of a UE, to an address of ours on this interface, and the entry by which it came.
    FromUe(P, InterfaceId, EntryId),
    /// A UE's Router Solicitation, its session's IPv6 prefix, and who has it.
    RouterSolicitation(P, u64, Sender),
    /// A session has something to report.
    Bell(Bell),
    /// A next hop has to be found.
    Resolve(Resolve),
    /// The UE with this entry has no public port left.
    NatFull(EntryId),
    /// A G-PDU for no tunnel arrived; an Error Indication is due (TS 29.281, 7.3.1).
    UnknownTeid(UnknownTeid),
    /// An inner packet whose sender must hear of its end by ICMP.
    Icmp(P, IcmpNotice),
    /// A shard's move to this worker is over.
    Moved(ShardId),
    /// The worker expects the shard from another poller.
    Expecting(ShardId),
    /// The worker polls this queue now.
    Requeued(Polled),
    /// The worker knows the tracing that it is about to follow with.
    TraceExpected,
    /// The worker follows with this no more.
    Traced(Box<Tracing>),
}

/// An ICMP error that is due.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IcmpNotice {
    /// Why.
    pub cause: IcmpCause,
    /// Whom it is for: an address alone may be one of several network instances.
    pub sender: Sender,
}

/// The sender of a packet, by the network instance to look for it in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sender {
    /// In this network instance: the packet came plain from there.
    DataNetwork(InstanceId),
    /// Behind a tunnel.
    Tunnelled {
        /// The entry by which the packet came: its session's addresses may be of another network instance than the
        /// one to which a FAR sends.
        entry: EntryId,
        /// The network instance to which its rule sends it, as a rule that of the UE's address; none if it leaves in
        /// another tunnel.
        towards: Option<InstanceId>,
    },
}

/// Why the sender of a packet hears from us.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IcmpCause {
    /// Time to live exceeded in transit.
    TtlExceeded,
    /// Fragmentation needed and DF set; the MTU that fits, in bytes.
    TooBig(u16),
}

/// A G-PDU that belongs to no tunnel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct UnknownTeid {
    /// Where it arrived.
    pub interface: InterfaceId,
    /// Who sent it.
    pub peer: IpAddr,
    /// To which of our addresses.
    pub local: IpAddr,
    /// The TEID.
    pub teid: u32,
}

/// Between two workers.
pub enum Handover<P> {
    /// A placed packet for a shard of the receiver.
    Packet(P, Meta),
    /// An outer fragment of a kind that the receiver gathers.
    Fragment(P, PortId),
    /// The right to write a shard: its entries and its translations; what its idle UEs have waiting, and what
    /// waits for its bit rates.
    Own(
        (SessionShard, NatShardOwner),
        Option<Box<ShardHeld<P>>>,
        Option<Box<ShardWaiting<P>>>,
    ),
    /// A packet that waits for its next hop, of a shard that was given just before.
    Waiting(Box<WaitingPacket<P>>),
    /// A producer sends a shard's packets to their next owner from now on.
    Switch(Switch),
    /// A receive queue changes its poller.
    Fence(Fence),
    /// Behind this come no more packets that the sender had marked to be followed.
    TraceEnd,
}

impl<P> Handover<P> {
    /// The packets that it carries.
    pub fn into_packets(self) -> impl Iterator<Item = P> {
        let (one, held, waiting) = match self {
            Self::Packet(packet, _) | Self::Fragment(packet, _) => (Some(packet), None, None),
            Self::Waiting(waiting) => (Some(waiting.packet), None, None),
            Self::Own(_, held, waiting) => (None, held, waiting),
            Self::Switch(_) | Self::Fence(_) | Self::TraceEnd => (None, None, None),
        };
        let held = held.into_iter().flat_map(|held| held.into_packets());
        let waiting = waiting.into_iter().flat_map(|all| all.into_packets());
        one.into_iter().chain(held).chain(waiting)
    }
}
