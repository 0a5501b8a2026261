//! Forwarding Action Rules.

use crate::names::NameId;
use crate::network::Side;
use core::net::Ipv4Addr;
use sluice_datapath::tables::{EgressId, PeerId};
use sluice_wire::ids::FarId;

/// What a FAR does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// DROP.
    Drop,
    /// FORW.
    Forward,
    /// BUFF. Nothing is buffered yet: the packets are dropped, and counted as the FAR's.
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
    /// Forwarding Parameters.
    pub forwarding: Option<Forwarding>,
    /// The peer that is held for the outer header, if a live PDR needs one.
    pub peer: Option<PeerId>,
    /// The way out without outer header.
    pub egress: Option<EgressId>,
    /// The peer's Error Indication was reported and the FAR not changed since.
    pub reported: bool,
}

/// Forwarding Parameters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Forwarding {
    /// Destination Interface.
    pub side: Side,
    /// Network Instance.
    pub instance: NameId,
    /// Outer Header Creation GTP-U/UDP/IPv4.
    pub tunnel: Option<RemoteTunnel>,
}

impl Forwarding {
    /// True for packets to the CP function by N4-u, which this path does not have.
    pub fn is_to_cp(&self) -> bool {
        self.side == Side::Control
    }
}

/// A tunnel endpoint of a peer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RemoteTunnel {
    /// Its TEID.
    pub teid: u32,
    /// Its address.
    pub address: Ipv4Addr,
}

impl Far {
    /// The peer's tunnel, if packets go into one.
    pub fn tunnel(&self) -> Option<RemoteTunnel> {
        self.forwarding.and_then(|f| f.tunnel)
    }
}
