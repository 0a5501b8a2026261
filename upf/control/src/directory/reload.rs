//! Changes of the configuration while sessions live: routes, static neighbours, filters of peers, proxies and
//! clamps. Interfaces, their addresses and roles stay, as sessions name them by number.

use super::Directory;
use crate::config::{ControlConfig, InterfaceConfig};
use core::net::IpAddr;
use sluice_datapath::tables::{InterfaceId, NO_NEXT_HOP, NextHopId};
use std::collections::HashMap;

/// Why nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReloadError {
    /// An interface is not what it was: its port, VLAN, addresses, MTU or roles.
    Interface(String),
    /// Other interfaces than before.
    Interfaces,
    /// No room for a gateway.
    TooManyStations(String),
}

impl core::fmt::Display for ReloadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::Interface(name) => write!(
                f,
                "interface {name}: port, VLAN, addresses, MTU and roles change with a restart only"
            ),
            Self::Interfaces => write!(f, "interfaces come and go with a restart only"),
            Self::TooManyStations(name) => write!(f, "interface {name}: too many gateways"),
        }
    }
}

impl std::error::Error for ReloadError {}

type Gateways = HashMap<(InterfaceId, IpAddr), NextHopId>;

impl Directory {
    /// Takes what may change from `config`; the path gets new tables. Sessions, peers and learned stations stay.
    ///
    /// # Errors
    /// Nothing is changed if something else differs, or there is no room.
    pub fn reload(&mut self, config: &ControlConfig) -> Result<(), ReloadError> {
        self.check_interfaces(config)?;
        let gateways = self.hold_gateways(config)?;
        for (_, hop) in core::mem::replace(&mut self.gateways, gateways) {
            self.neighbours.release(hop);
        }
        let before = core::mem::replace(&mut self.interfaces, config.interfaces.clone());
        self.answer_for_public_addresses();
        for (id, (old, new)) in before.iter().zip(&config.interfaces).enumerate() {
            self.change_neighbours(InterfaceId::at(id), old, new);
        }
        self.route_peers();
        self.is_changed = true;
        Ok(())
    }

    fn check_interfaces(&self, config: &ControlConfig) -> Result<(), ReloadError> {
        if self.interfaces.len() != config.interfaces.len() {
            return Err(ReloadError::Interfaces);
        }
        let mut pairs = self.interfaces.iter().zip(&config.interfaces);
        match pairs.find(|(old, new)| !is_same(old, new)) {
            Some((old, _)) => Err(ReloadError::Interface(old.name.clone())),
            None => Ok(()),
        }
    }

    /// The gateways of all routes; all of them, or none.
    fn hold_gateways(&mut self, config: &ControlConfig) -> Result<Gateways, ReloadError> {
        let mut gateways = Gateways::new();
        for (id, interface) in config.interfaces.iter().enumerate() {
            let id = InterfaceId::at(id);
            for gateway in interface.gateways() {
                let Some(hop) = self.neighbours.hold(id, gateway) else {
                    gateways
                        .values()
                        .for_each(|hop| self.neighbours.release(*hop));
                    return Err(ReloadError::TooManyStations(interface.name.clone()));
                };
                if let Some(twice) = gateways.insert((id, gateway), hop) {
                    self.neighbours.release(twice);
                }
            }
        }
        Ok(gateways)
    }

    fn change_neighbours(&mut self, id: InterfaceId, old: &InterfaceConfig, new: &InterfaceConfig) {
        let is_new = |address: &IpAddr| new.neighbours.iter().any(|(a, _)| a == address);
        for (address, _) in old.neighbours.iter().filter(|(a, _)| !is_new(a)) {
            self.neighbours.remove_static(id, *address);
        }
        for (address, mac) in &new.neighbours {
            self.neighbours.add_static(id, *address, *mac);
        }
    }

    /// Peers are reached by the routes of now. One that lost its way keeps its sessions, whose packets are
    /// dropped as `no_route`.
    fn route_peers(&mut self) {
        for (id, peer) in self.peers.in_use() {
            let Some(interface) = self.interface_of(peer.local()) else {
                continue;
            };
            let station = self.station_towards(interface, peer.address());
            let hop = station.and_then(|station| self.neighbours.hold(interface, station));
            self.peers.lead(id, hop.unwrap_or(NO_NEXT_HOP));
            if peer.next_hop() != NO_NEXT_HOP {
                self.neighbours.release(peer.next_hop());
            }
        }
    }
}

/// Whether the parts that sessions and the path's numbers depend on are the same.
fn is_same(old: &InterfaceConfig, new: &InterfaceConfig) -> bool {
    let place = |i: &InterfaceConfig| (i.port, i.vlan, i.mac, i.mtu_bytes);
    old.name == new.name
        && place(old) == place(new)
        && old.addresses == new.addresses
        && old.addresses_ipv6 == new.addresses_ipv6
        && old.roles == new.roles
}
