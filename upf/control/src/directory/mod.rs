//! The directory: interfaces, tunnel peers and routes by N4 names, and the tables that the packet
//! path reads of them.

mod find;
mod next_hop;
mod peers;
mod reload;
mod setup;
mod tables;

use super::config::{InterfaceConfig, Role};
use super::neighbours::{Neighbours, Question};
use super::paths::Paths;
use core::net::IpAddr;
use peers::Peers;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::nat::pool::NatPools;
use sluice_datapath::tables::{EgressId, InterfaceId, NextHop, NextHopId, TunnelPeer};
use sluice_session::network::{Side, TunnelEndpoint};
use std::collections::HashMap;

pub use reload::ReloadError;
pub use setup::DirectoryError;

/// One tunnel role of an interface.
#[derive(Clone, Debug)]
struct Tunnels {
    interface: InterfaceId,
    side: Side,
    instance: String,
    endpoint: TunnelEndpoint,
}

/// One plain role of an interface.
#[derive(Clone, Debug)]
struct Plain {
    side: Side,
    instances: Vec<String>,
    is_default: bool,
    id: InstanceId,
    egress: EgressId,
}

impl Plain {
    fn is_called(&self, name: &str) -> bool {
        self.instances.iter().any(|own| same_name(own, name))
    }
}

/// Network Instances are compared as DNS names are (TS 23.003, 9.1).
fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

/// See the module.
#[derive(Debug)]
pub struct Directory {
    interfaces: Vec<InterfaceConfig>,
    nat: NatPools,
    tunnels: Vec<Tunnels>,
    plain: Vec<Plain>,
    egresses: Vec<EgressPlan>,
    gateways: HashMap<(InterfaceId, IpAddr), NextHopId>,
    peers: Peers,
    pub(crate) paths: Paths,
    pub(crate) neighbours: Neighbours,
    /// The tables that were taken last are not those of now, or none were.
    is_changed: bool,
}

/// The interfaces that a way out uses.
#[derive(Clone, Debug, Default)]
struct EgressPlan {
    instance: InstanceId,
    interfaces: Vec<InterfaceId>,
}

impl Directory {
    /// The name of an interface.
    pub fn name(&self, id: InterfaceId) -> &str {
        self.interfaces
            .get(usize::from(id))
            .map_or("?", |i| i.name.as_str())
    }

    /// The configuration of an interface.
    pub fn interface(&self, id: InterfaceId) -> Option<&InterfaceConfig> {
        self.interfaces.get(usize::from(id))
    }

    /// The interface of a tunnel address.
    pub fn interface_of(&self, local: IpAddr) -> Option<InterfaceId> {
        self.tunnels
            .iter()
            .find(|t| t.endpoint.addresses.has(local))
            .map(|t| t.interface)
    }

    /// The number of a tunnel address of ours.
    pub fn number_of(&self, local: IpAddr) -> Option<u8> {
        let mut tunnels = self.tunnels.iter();
        let tunnel = tunnels.find(|t| t.endpoint.addresses.has(local))?;
        Some(tunnel.endpoint.local)
    }

    /// The network instances in which plain packets are looked up, each once.
    pub fn plain_instances(&self) -> Vec<InstanceId> {
        let mut ids = Vec::new();
        for plain in &self.plain {
            if !ids.contains(&plain.id) {
                ids.push(plain.id);
            }
        }
        ids
    }

    /// The first name of a network instance.
    pub fn instance_name(&self, id: InstanceId) -> &str {
        let of_it = self.plain.iter().find(|plain| plain.id == id);
        let name = of_it.and_then(|plain| plain.instances.first());
        name.map_or("?", String::as_str)
    }

    /// An interface of a network instance at which we have IPv6 addresses.
    pub fn ipv6_interface_of(&self, instance: InstanceId) -> Option<InterfaceId> {
        let serves = |c: &InterfaceConfig| {
            let mut roles = c.roles.iter();
            let plain = roles.any(|r| matches!(r, Role::Plain { id, .. } if *id == instance));
            plain && !c.addresses_ipv6.is_empty()
        };
        let at = self.interfaces.iter().position(serves)?;
        Some(InterfaceId::at(at))
    }

    /// Stations with whether each was configured.
    pub fn neighbours(&self) -> impl Iterator<Item = (&NextHop, bool)> {
        self.neighbours.iter()
    }

    /// A station by its number.
    pub fn next_hop(&self, id: NextHopId) -> Option<&NextHop> {
        self.neighbours.get(id)
    }

    /// Tunnel peers in use, with the number of FARs that lead to each.
    pub fn peers(&self) -> impl Iterator<Item = (TunnelPeer, u32)> {
        self.peers.iter()
    }

    /// Paths to tunnel peers, and whether these answer.
    pub fn paths(&self) -> &Paths {
        &self.paths
    }

    /// Side and network instance of a tunnel address, if it has one of each.
    pub(crate) fn place_of(&self, local: IpAddr) -> Option<(Side, Box<str>)> {
        let mut there = self
            .tunnels
            .iter()
            .filter(|t| t.endpoint.addresses.has(local));
        let first = there.next()?;
        let is_only = there.next().is_none();
        is_only.then(|| (first.side, first.instance.as_str().into()))
    }

    /// All interfaces by their ids.
    pub fn interfaces(&self) -> impl Iterator<Item = (InterfaceId, &InterfaceConfig)> {
        (0..).map(InterfaceId).zip(&self.interfaces)
    }

    /// The question for a station on the way to `destination`, if it must be asked for.
    pub fn want(
        &mut self,
        interface: InterfaceId,
        station: IpAddr,
        now_ns: u64,
    ) -> Option<Question> {
        self.neighbours.want(interface, station, now_ns)
    }
}
