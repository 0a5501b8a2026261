//! Forwarding Action Rules.

use crate::names::NameId;
use crate::network::Side;
use core::net::IpAddr;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::tables::{EgressId, PeerId};
use sluice_wire::ids::{BarId, FarId};
use sluice_wire::pfcp::value::ApplyAction;

/// What a FAR does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// DROP.
    Drop,
    /// FORW.
    Forward,
    /// BUFF: packets are held.
    Buffer,
}

/// A Forwarding Action Rule.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Far {
    /// FAR ID.
    pub id: FarId,
    /// Apply Action.
    pub action: Action,
    /// Apply Action as received.
    pub flags: u16,
    /// BAR ID.
    pub bar: Option<BarId>,
    /// Forwarding Parameters.
    pub forwarding: Option<Forwarding>,
    /// The peer that is held for the outer header, if a live PDR needs one.
    pub peer: Option<PeerId>,
    /// The way out without outer header.
    pub egress: Option<EgressId>,
    /// Whether the CP function knows of the peer's Error Indication.
    pub indicated: Indicated,
    /// QoS flows whose packets were reported and the FAR not updated since, a bit for each QFI; 0 is of those
    /// without.
    pub paged: u64,
    /// The message at hand updates it: what stands on the path is written anew.
    pub is_updated: bool,
}

/// How far the report of an Error Indication about a FAR's tunnel is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Indicated {
    /// There was none since the FAR was changed, or its report was refused.
    #[default]
    No,
    /// A report is due.
    Due,
    /// It is under way.
    Sent,
    /// The CP function has taken it: more indications say nothing new.
    Told,
}

/// Forwarding Parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarding {
    /// Destination Interface.
    pub side: Side,
    /// Network Instance.
    pub instance: NameId,
    /// Outer Header Creation GTP-U/UDP/IPv4 or GTP-U/UDP/IPv6.
    pub tunnel: Option<RemoteTunnel>,
    /// Transport Level Marking.
    pub marking: Marking,
}

impl Forwarding {
    /// True for packets to the CP function without a tunnel (N4-u) that leads there.
    pub fn is_lost(&self) -> bool {
        self.side == Side::Control && self.tunnel.is_none()
    }
}

/// A tunnel endpoint of a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RemoteTunnel {
    /// Its TEID.
    pub teid: u32,
    /// Its address.
    pub address: IpAddr,
}

impl Far {
    /// True if the CP function wants to hear of the first packet.
    pub fn notifies(&self) -> bool {
        self.action == Action::Buffer && self.flags & ApplyAction::NOCP.flags() != 0
    }

    /// True if outer headers are marked.
    pub fn marks(&self) -> bool {
        self.forwarding.is_some_and(|f| !f.marking.is_none())
    }

    /// The peer's tunnel, if packets go into one.
    pub fn tunnel(&self) -> Option<RemoteTunnel> {
        self.forwarding.and_then(|f| f.tunnel)
    }
}
