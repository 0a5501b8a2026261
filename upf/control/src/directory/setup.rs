//! Directory set-up from the configuration.

use super::peers::Peers;
use super::{Directory, EgressPlan, Plain, Tunnels};
use crate::config::{ControlConfig, InterfaceConfig, Role};
use crate::neighbours::Neighbours;
use crate::paths::Paths;
use core::net::IpAddr;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::tables::{EgressId, InterfaceId};
use sluice_datapath::tx::encap::InterfaceEncap;
use sluice_session::network::{Side, TunnelAddresses, TunnelEndpoint};
use std::collections::HashMap;

/// Errors of a configuration that cannot be started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DirectoryError {
    /// More than 255 interfaces.
    TooManyInterfaces(usize),
    /// A role names an address that its interface does not have.
    ForeignAddress(String, IpAddr),
    /// A role joins addresses that are of different endpoints.
    SplitEndpoint(String),
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
            Self::SplitEndpoint(name) => write!(
                f,
                "interface {name}: a role joins addresses of tunnels that others have apart"
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
            nat: config.nat.clone(),
            tunnels: Vec::new(),
            plain: Vec::new(),
            egresses: Vec::new(),
            gateways: HashMap::new(),
            peers: Peers::default(),
            paths: Paths::new(config.echo),
            neighbours: Neighbours::default(),
            is_changed: true,
        };
        directory.answer_for_public_addresses();
        let ids = 0..config.interfaces.len();
        let encaps = ids.map(|id| {
            let interface = directory.path_interface(InterfaceId::at(id));
            InterfaceEncap::of(&interface)
        });
        let encaps = encaps.collect();
        directory.neighbours.set_encaps(encaps);
        for (id, interface) in config.interfaces.iter().enumerate() {
            directory.add_interface(InterfaceId::at(id), interface)?;
        }
        Ok(directory)
    }

    /// Public addresses are ours on the links of their data network, whether the router there has a route or
    /// takes them to be on its link.
    pub(super) fn answer_for_public_addresses(&mut self) {
        for interface in &mut self.interfaces {
            let serves = |inside| {
                let mut roles = interface.roles.iter();
                roles.any(|role| matches!(role, Role::Plain { id, .. } if *id == inside))
            };
            let pools = self.nat.pools().filter(|pool| serves(pool.inside));
            let prefixes: Vec<_> = pools.flat_map(|pool| pool.prefixes.clone()).collect();
            interface.proxy_arp.extend(prefixes);
        }
    }

    fn add_interface(
        &mut self,
        id: InterfaceId,
        config: &InterfaceConfig,
    ) -> Result<(), DirectoryError> {
        for (address, mac) in &config.neighbours {
            self.neighbours.add_static(id, *address, *mac);
        }
        for gateway in config.gateways() {
            let hop = self
                .neighbours
                .hold(id, gateway)
                .ok_or_else(|| DirectoryError::TooManyStations(config.name.clone()))?;
            self.gateways.insert((id, gateway), hop);
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
        let named = match role {
            Role::Tunnels { addresses, .. } => *addresses,
            Role::N4 { address } => IpAddr::V4(*address).into(),
            Role::Plain { .. } => TunnelAddresses::default(),
        };
        if let Some(address) = named.all().find(|address| !config.is_own(*address)) {
            let name = config.name.clone();
            return Err(DirectoryError::ForeignAddress(name, address));
        }
        match role {
            Role::Tunnels {
                side,
                instance,
                addresses,
            } => {
                let shares = |t: &&Tunnels| addresses.all().any(|a| t.endpoint.addresses.has(a));
                let known = self.tunnels.iter().find(shares);
                let local = known.map_or(self.tunnels.len() as u8, |t| t.endpoint.local);
                let mut shared = self.tunnels.iter().filter(shares);
                if shared.any(|t| t.endpoint.local != local) {
                    return Err(DirectoryError::SplitEndpoint(config.name.clone()));
                }
                self.tunnels.push(Tunnels {
                    interface: id,
                    side: *side,
                    instance: instance.clone(),
                    endpoint: TunnelEndpoint {
                        addresses: *addresses,
                        local,
                    },
                });
            }
            Role::Plain {
                side,
                instances,
                is_default,
                id: instance_id,
            } => {
                let egress = self.egress_of(id, *side, *instance_id);
                self.plain.push(Plain {
                    side: *side,
                    instances: instances.clone(),
                    is_default: *is_default,
                    id: *instance_id,
                    egress,
                });
            }
            Role::N4 { .. } => {}
        }
        Ok(())
    }

    /// Several interfaces may serve one network instance: they share a way out.
    fn egress_of(&mut self, id: InterfaceId, side: Side, instance: InstanceId) -> EgressId {
        let mut plain = self.plain.iter();
        let known = plain.find(|p| p.side == side && p.id == instance);
        let egress = match known {
            Some(p) => p.egress,
            None => {
                self.egresses.push(EgressPlan {
                    instance,
                    interfaces: Vec::new(),
                });
                EgressId::at(self.egresses.len() - 1)
            }
        };
        self.egresses[usize::from(egress)].interfaces.push(id);
        egress
    }
}
