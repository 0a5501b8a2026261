//! The directory: interfaces, peers and ways out as N4 rules name them, and the tables that the
//! packet path reads of them.

use super::config::{ControlConfig, InterfaceConfig, Role};
use super::neighbours::{Neighbours, Question};
use crate::hash::Seeded;
use crate::network::{Network, PeerError, Side, TunnelEndpoint};
use core::net::Ipv4Addr;
use sluice_path::layout::InstanceId;
use sluice_path::tables::{
    Egress, EgressId, Interface, InterfaceId, NextHop, NextHopId, Peer, PeerId, PortInterfaces,
    Prefix, Tables, TunnelAddress,
};
use sluice_wire::eth::MacAddr;
use std::collections::HashMap;

/// Tunnel peers that may be in use: a big operator's gNBs.
pub const PEERS_MAX: usize = 16_384;

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
    instance: String,
    id: InstanceId,
    egress: EgressId,
}

/// See the module.
#[derive(Debug)]
pub struct Directory {
    interfaces: Vec<InterfaceConfig>,
    tunnels: Vec<Tunnels>,
    plain: Vec<Plain>,
    egresses: Vec<EgressPlan>,
    gateways: HashMap<(InterfaceId, Ipv4Addr), NextHopId>,
    peers: Vec<Option<PeerUse>>,
    peer_ids: HashMap<(Ipv4Addr, Ipv4Addr), PeerId, Seeded>,
    free_peers: Vec<PeerId>,
    pub(super) neighbours: Neighbours,
    changed: bool,
}

/// The interfaces that a way out uses.
#[derive(Clone, Debug, Default)]
struct EgressPlan {
    interfaces: Vec<InterfaceId>,
}

#[derive(Clone, Debug)]
struct PeerUse {
    peer: Peer,
    users: u32,
}

/// What cannot be started with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DirectoryError {
    /// More than 255 interfaces.
    TooManyInterfaces(usize),
    /// A role names an address that its interface does not have.
    ForeignAddress(String, Ipv4Addr),
    /// No room for a gateway or static neighbour.
    TooManyStations(String),
}

impl core::fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::TooManyInterfaces(n) => write!(f, "{n} interfaces: expected at most 255"),
            Self::ForeignAddress(name, address) => write!(
                f,
                "interface {name}: {address}, named by a role, is none of its addresses"
            ),
            Self::TooManyStations(name) => {
                write!(f, "interface {name}: too many gateways and neighbours")
            }
        }
    }
}

impl std::error::Error for DirectoryError {}

impl Directory {
    /// From the configuration.
    pub fn new(config: &ControlConfig) -> Result<Self, DirectoryError> {
        if config.interfaces.len() > usize::from(u8::MAX) {
            return Err(DirectoryError::TooManyInterfaces(config.interfaces.len()));
        }
        let mut directory = Self {
            interfaces: config.interfaces.clone(),
            tunnels: Vec::new(),
            plain: Vec::new(),
            egresses: Vec::new(),
            gateways: HashMap::new(),
            peers: Vec::new(),
            peer_ids: HashMap::default(),
            free_peers: Vec::new(),
            neighbours: Neighbours::default(),
            changed: true,
        };
        for (id, interface) in config.interfaces.iter().enumerate() {
            directory.add_interface(id as InterfaceId, interface)?;
        }
        Ok(directory)
    }

    fn add_interface(
        &mut self,
        id: InterfaceId,
        config: &InterfaceConfig,
    ) -> Result<(), DirectoryError> {
        for (address, mac) in &config.neighbours {
            self.neighbours.add_static(id, *address, *mac);
        }
        for (_, gateway) in &config.routes {
            let hop = self
                .neighbours
                .hold(id, *gateway)
                .ok_or_else(|| DirectoryError::TooManyStations(config.name.clone()))?;
            self.gateways.insert((id, *gateway), hop);
        }
        for role in &config.roles {
            self.add_role(id, config, role)?;
        }
        Ok(())
    }

    fn add_role(
        &mut self,
        id: InterfaceId,
        config: &InterfaceConfig,
        role: &Role,
    ) -> Result<(), DirectoryError> {
        if let Role::Tunnels { address, .. } | Role::N4 { address } = role
            && !config.addresses.iter().any(|(a, _)| a == address)
        {
            let name = config.name.clone();
            return Err(DirectoryError::ForeignAddress(name, *address));
        }
        match role {
            Role::Tunnels {
                side,
                instance,
                address,
            } => {
                let known = self.tunnels.iter().find(|t| t.endpoint.address == *address);
                let local = known.map_or(self.tunnels.len() as u8, |t| t.endpoint.local);
                self.tunnels.push(Tunnels {
                    interface: id,
                    side: *side,
                    instance: instance.clone(),
                    endpoint: TunnelEndpoint {
                        address: *address,
                        local,
                    },
                });
            }
            Role::Plain {
                side,
                instance,
                id: instance_id,
            } => self.add_plain(id, *side, instance, *instance_id),
            Role::N4 { .. } => {}
        }
        Ok(())
    }

    /// Several interfaces may serve one network instance: they share a way out.
    fn add_plain(&mut self, id: InterfaceId, side: Side, instance: &str, instance_id: InstanceId) {
        let known = self
            .plain
            .iter()
            .find(|p| p.side == side && p.instance == instance);
        let egress = match known {
            Some(p) => p.egress,
            None => {
                self.egresses.push(EgressPlan::default());
                (self.egresses.len() - 1) as EgressId
            }
        };
        self.egresses[usize::from(egress)].interfaces.push(id);
        self.plain.push(Plain {
            side,
            instance: instance.to_owned(),
            id: instance_id,
            egress,
        });
    }

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
    pub fn interface_of(&self, local: Ipv4Addr) -> Option<InterfaceId> {
        self.tunnels
            .iter()
            .find(|t| t.endpoint.address == local)
            .map(|t| t.interface)
    }

    /// The number of a tunnel address of ours.
    pub fn number_of(&self, local: Ipv4Addr) -> Option<u8> {
        let mut tunnels = self.tunnels.iter();
        let tunnel = tunnels.find(|t| t.endpoint.address == local)?;
        Some(tunnel.endpoint.local)
    }

    /// Stations with whether each was configured.
    pub fn neighbours(&self) -> impl Iterator<Item = (&NextHop, bool)> {
        self.neighbours.iter()
    }

    /// Tunnel peers in use, with the number of FARs that lead to each.
    pub fn peers(&self) -> impl Iterator<Item = (&Peer, u32)> {
        self.peers.iter().flatten().map(|p| (&p.peer, p.users))
    }

    /// Tables for the path, if anything changed since the last call.
    pub fn take_tables(&mut self) -> Option<Tables> {
        let stations_changed = self.neighbours.take_changed();
        if !self.changed && !stations_changed {
            return None;
        }
        self.changed = false;
        Some(self.tables())
    }

    fn tables(&self) -> Tables {
        let mut by_port: Vec<PortInterfaces> = Vec::new();
        for (id, config) in self.interfaces.iter().enumerate() {
            let port = usize::from(config.port.0);
            if by_port.len() <= port {
                by_port.resize_with(port + 1, PortInterfaces::default);
            }
            match config.vlan {
                None => by_port[port].untagged = Some(id as InterfaceId),
                Some(vlan) => by_port[port].tagged.push((vlan.get(), id as InterfaceId)),
            }
        }
        let ids = 0..self.interfaces.len() as u16;
        Tables {
            interfaces: ids
                .map(|id| self.path_interface(id as InterfaceId))
                .collect(),
            by_port,
            next_hops: self.neighbours.hops().to_vec(),
            peers: self.path_peers(),
            egresses: self.egresses.iter().map(|e| self.path_egress(e)).collect(),
            ..Tables::default()
        }
    }

    fn path_interface(&self, id: InterfaceId) -> Interface {
        let config = &self.interfaces[usize::from(id)];
        let mut tunnels: Vec<TunnelAddress> = Vec::new();
        for t in self.tunnels.iter().filter(|t| t.interface == id) {
            let address = TunnelAddress {
                address: t.endpoint.address,
                local: t.endpoint.local,
            };
            if !tunnels.contains(&address) {
                tunnels.push(address);
            }
        }
        let instance = config.roles.iter().find_map(|r| match r {
            Role::Plain { id, .. } => Some(*id),
            Role::Tunnels { .. } | Role::N4 { .. } => None,
        });
        let n4 = config.roles.iter().filter_map(|r| match r {
            Role::N4 { address } => Some(*address),
            Role::Tunnels { .. } | Role::Plain { .. } => None,
        });
        Interface {
            port: config.port,
            vlan: config.vlan.map(|v| v.get()),
            mac: config.mac.0,
            mtu: config.mtu_bytes,
            addresses: config.addresses.iter().map(|(a, _)| *a).collect(),
            tunnels,
            n4: n4.collect(),
            instance,
            allowed_peers: config.allowed_peers.clone(),
            verifies_udp: config.verifies_udp,
        }
    }

    /// A free place keeps its last peer: nobody refers to it.
    fn path_peers(&self) -> Vec<Peer> {
        let nobody = Peer::new(Ipv4Addr::UNSPECIFIED, Ipv4Addr::UNSPECIFIED, NextHopId::MAX);
        self.peers
            .iter()
            .map(|p| p.as_ref().map_or(nobody, |p| p.peer))
            .collect()
    }

    fn path_egress(&self, plan: &EgressPlan) -> Egress {
        let mut egress = Egress::default();
        for id in &plan.interfaces {
            let config = &self.interfaces[usize::from(*id)];
            for (address, len) in &config.addresses {
                if let Some(prefix) = Prefix::new(*address, *len) {
                    egress.connected.push((prefix, *id));
                }
                egress.own.push((u32::from(*address), *id));
            }
            let stations = self.neighbours.on_link(*id);
            egress
                .neighbours
                .extend(stations.map(|(address, hop)| (u32::from(address), hop)));
            for (prefix, gateway) in &config.routes {
                if let Some(hop) = self.gateways.get(&(*id, *gateway)) {
                    egress.routes.push((*prefix, *hop));
                }
            }
        }
        // Nobody else's, whoever claims it on the link.
        for (address, _) in &egress.own {
            egress.neighbours.remove(address);
        }
        egress
            .routes
            .sort_by_key(|(prefix, _)| core::cmp::Reverse(prefix.mask));
        egress
    }

    /// The next station towards `destination` on `interface`: itself on the link, else a gateway.
    pub fn station_towards(
        &self,
        interface: InterfaceId,
        destination: Ipv4Addr,
    ) -> Option<Ipv4Addr> {
        let config = self.interface(interface)?;
        let target = u32::from(destination);
        let on_link = config
            .addresses
            .iter()
            .filter_map(|(a, len)| Prefix::new(*a, *len))
            .any(|p| p.contains(target));
        if on_link {
            return Some(destination);
        }
        let routes = config.routes.iter().filter(|(p, _)| p.contains(target));
        routes
            .max_by_key(|(p, _)| p.mask)
            .map(|(_, gateway)| *gateway)
    }

    /// The MAC address of the next station towards `destination`: `Err` names a station that has
    /// to be asked for.
    pub fn mac_towards(
        &self,
        interface: InterfaceId,
        destination: Ipv4Addr,
    ) -> Option<Result<MacAddr, Ipv4Addr>> {
        let station = self.station_towards(interface, destination)?;
        Some(self.neighbours.mac(interface, station).ok_or(station))
    }

    /// All interfaces by their ids.
    pub fn interfaces(&self) -> impl Iterator<Item = (InterfaceId, &InterfaceConfig)> {
        (0..).zip(&self.interfaces)
    }

    /// The plain interface that leads to `destination`, with the next station there.
    pub fn plain_towards(&self, destination: Ipv4Addr) -> Option<(InterfaceId, Ipv4Addr)> {
        let plain = |c: &InterfaceConfig| {
            let mut roles = c.roles.iter();
            roles.any(|r| matches!(r, Role::Plain { .. }))
        };
        self.interfaces
            .iter()
            .enumerate()
            .filter(|(_, c)| plain(c))
            .find_map(|(id, _)| {
                let id = id as InterfaceId;
                Some((id, self.station_towards(id, destination)?))
            })
    }

    /// The question for a station on the way to `destination`, if it must be asked for.
    pub fn want(
        &mut self,
        interface: InterfaceId,
        station: Ipv4Addr,
        now_ns: u64,
    ) -> Option<Question> {
        self.neighbours.want(interface, station, now_ns)
    }

    /// Those of that name, else those that serve whatever has no tunnels of its own.
    fn find_tunnels(&self, side: Side, instance: Option<&str>) -> Option<&Tunnels> {
        let mut there = self.tunnels.iter().filter(|t| t.side == side);
        let named = |t: &&Tunnels| instance.is_none_or(|i| same_name(i, &t.instance));
        let named = there.clone().find(named);
        named.or_else(|| there.find(|t| t.instance.is_empty()))
    }

    fn find_plain(&self, side: Side, instance: Option<&str>) -> Option<&Plain> {
        self.plain
            .iter()
            .find(|p| p.side == side && instance.is_none_or(|i| same_name(i, &p.instance)))
    }

    fn add_peer(
        &mut self,
        interface: InterfaceId,
        key: (Ipv4Addr, Ipv4Addr),
    ) -> Result<PeerId, PeerError> {
        let (local, remote) = key;
        if self.free_peers.is_empty() && self.peers.len() >= PEERS_MAX {
            return Err(PeerError::Full);
        }
        let station = self
            .station_towards(interface, remote)
            .ok_or(PeerError::NoRoute)?;
        let hop = self
            .neighbours
            .hold(interface, station)
            .ok_or(PeerError::Full)?;
        let used = Some(PeerUse {
            peer: Peer::new(remote, local, hop),
            users: 1,
        });
        let id = match self.free_peers.pop() {
            Some(id) => {
                self.peers[usize::from(id)] = used;
                id
            }
            None => {
                self.peers.push(used);
                (self.peers.len() - 1) as PeerId
            }
        };
        self.peer_ids.insert(key, id);
        self.changed = true;
        Ok(id)
    }
}

/// Network Instances are compared as DNS names are (TS 23.003, 9.1).
fn same_name(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

impl Network for Directory {
    fn tunnel_endpoint(&self, side: Side, instance: Option<&str>) -> Option<TunnelEndpoint> {
        self.find_tunnels(side, instance).map(|t| t.endpoint)
    }

    fn tunnel_endpoint_at(
        &self,
        side: Side,
        instance: Option<&str>,
        address: Ipv4Addr,
    ) -> Option<TunnelEndpoint> {
        let serves = |t: &&Tunnels| {
            let any = t.instance.is_empty();
            t.side == side && (any || instance.is_none_or(|i| same_name(i, &t.instance)))
        };
        let there = self.tunnels.iter().filter(serves).map(|t| t.endpoint);
        there.into_iter().find(|e| e.address == address)
    }

    fn ue_instance(&self, side: Side, instance: Option<&str>) -> Option<InstanceId> {
        self.find_plain(side, instance).map(|p| p.id)
    }

    fn egress(&self, side: Side, instance: Option<&str>) -> Option<EgressId> {
        self.find_plain(side, instance).map(|p| p.egress)
    }

    fn hold_peer(
        &mut self,
        side: Side,
        instance: Option<&str>,
        remote: Ipv4Addr,
    ) -> Result<PeerId, PeerError> {
        let tunnels = self
            .find_tunnels(side, instance)
            .ok_or(PeerError::NoInterface)?;
        let (interface, local) = (tunnels.interface, tunnels.endpoint.address);
        if let Some(id) = self.peer_ids.get(&(local, remote)) {
            if let Some(Some(p)) = self.peers.get_mut(usize::from(*id)) {
                p.users += 1;
            }
            return Ok(*id);
        }
        self.add_peer(interface, (local, remote))
    }

    fn release_peer(&mut self, peer: PeerId) {
        let Some(slot) = self.peers.get_mut(usize::from(peer)) else {
            return;
        };
        let Some(used) = slot else { return };
        used.users -= 1;
        if used.users == 0 {
            let gone = used.peer;
            *slot = None;
            self.peer_ids.remove(&(gone.local, gone.address));
            self.neighbours.release(gone.next_hop);
            self.free_peers.push(peer);
            self.changed = true;
        }
    }

    fn peer_address(&self, peer: PeerId) -> Option<Ipv4Addr> {
        let used = self.peers.get(usize::from(peer))?.as_ref()?;
        Some(used.peer.address)
    }
}
