//! Tables for the packet path, built from the directory.

use super::{Directory, EgressPlan};
use crate::config::{InterfaceConfig, Role};
use core::net::{IpAddr, Ipv6Addr};
use sluice_datapath::tables::{
    Egress, EgressIpv6, Interface, InterfaceId, PortInterfaces, Prefix, PrefixIpv6, Tables,
    TunnelAddress, TunnelAddressIpv6,
};
use sluice_session::network::TunnelEndpoint;

impl Directory {
    /// Tables for the path, if they changed since the last call: at the start, by a new configuration, and where a
    /// station came or went on a link of a data network. Next hops and peers change in their slots.
    pub fn take_tables(&mut self) -> Option<Tables> {
        let links = self.neighbours.take_changed_links();
        let is_way_out = |id| self.egresses.iter().any(|e| e.interfaces.contains(id));
        if !self.is_changed && !links.iter().any(is_way_out) {
            return None;
        }
        self.is_changed = false;
        Some(self.tables())
    }

    /// True once after a station's address became known, changed or was forgotten.
    pub fn take_stations_changed(&mut self) -> bool {
        self.neighbours.take_changed()
    }

    fn tables(&self) -> Tables {
        let mut by_port: Vec<PortInterfaces> = Vec::new();
        for (id, config) in self.interfaces.iter().enumerate() {
            let port = usize::from(config.port.0);
            if by_port.len() <= port {
                by_port.resize_with(port + 1, PortInterfaces::default);
            }
            match config.vlan {
                None => by_port[port].untagged = Some(InterfaceId::at(id)),
                Some(vlan) => by_port[port].tagged.push((vlan.get(), InterfaceId::at(id))),
            }
        }
        let ids = (0..self.interfaces.len()).map(InterfaceId::at);
        Tables {
            interfaces: ids.map(|id| self.path_interface(id)).collect(),
            by_port,
            next_hops: self.neighbours.hops(),
            peers: self.peers.reader(),
            peers_ipv6: self.peers.reader_ipv6(),
            egresses: self.egresses.iter().map(|e| self.path_egress(e)).collect(),
            ..Tables::default()
        }
    }

    pub(super) fn path_interface(&self, id: InterfaceId) -> Interface {
        let config = &self.interfaces[usize::from(id)];
        let (tunnels, tunnels_ipv6) = self.tunnel_addresses(id);
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
            template: None,
            mtu: config.mtu_bytes,
            addresses: config.addresses.iter().map(|(a, _)| *a).collect(),
            addresses_ipv6: own_ipv6(config).collect(),
            tunnels,
            tunnels_ipv6,
            n4: n4.collect(),
            instance,
            outside: instance.and_then(|id| Some(self.nat.inside(id)?.outside)),
            allowed_peers: config.allowed_peers.clone(),
            allowed_peers_ipv6: config.allowed_peers_ipv6.clone(),
            verifies_udp: config.verifies_udp,
            mss_clamp: config.mss_clamp,
        }
    }

    /// The addresses of an interface at which tunnels end, each once.
    fn tunnel_addresses(&self, id: InterfaceId) -> (Vec<TunnelAddress>, Vec<TunnelAddressIpv6>) {
        let (mut ipv4, mut ipv6) = (Vec::new(), Vec::new());
        for tunnels in self.tunnels.iter().filter(|t| t.interface == id) {
            let TunnelEndpoint { addresses, local } = tunnels.endpoint;
            let of_ipv4 = addresses
                .ipv4
                .map(|address| TunnelAddress { address, local });
            let of_ipv6 = addresses
                .ipv6
                .map(|address| TunnelAddressIpv6 { address, local });
            ipv4.extend(of_ipv4.filter(|of| !ipv4.contains(of)));
            ipv6.extend(of_ipv6.filter(|of| !ipv6.contains(of)));
        }
        (ipv4, ipv6)
    }

    fn path_egress(&self, plan: &EgressPlan) -> Egress {
        let mut egress = Egress {
            instance: Some(plan.instance),
            translates: self.nat.inside(plan.instance).map(|pool| pool.inside),
            ..Egress::default()
        };
        for id in &plan.interfaces {
            let config = &self.interfaces[usize::from(*id)];
            self.add_ipv4(*id, config, &mut egress);
            self.add_ipv6(*id, config, &mut egress.ipv6);
        }
        // Nobody else's, whoever claims it on the link.
        for (address, _) in &egress.own {
            egress.neighbours.remove(address);
        }
        for (address, _) in &egress.ipv6.own {
            egress.ipv6.neighbours.remove(address);
        }
        egress
            .routes
            .sort_by_key(|(prefix, _)| core::cmp::Reverse(prefix.mask));
        egress
    }

    fn add_ipv4(&self, id: InterfaceId, config: &InterfaceConfig, egress: &mut Egress) {
        for (address, len) in &config.addresses {
            if let Some(prefix) = Prefix::new(*address, *len) {
                egress.connected.push((prefix, id));
            }
            egress.own.push((u32::from(*address), id));
        }
        let stations = self.neighbours.on_link(id);
        let of_family = stations.filter_map(|(address, hop)| match address {
            IpAddr::V4(address) => Some((u32::from(address), hop)),
            IpAddr::V6(_) => None,
        });
        egress.neighbours.extend(of_family);
        for (prefix, gateway) in &config.routes {
            if let Some(hop) = self.gateways.get(&(id, (*gateway).into())) {
                egress.routes.push((*prefix, *hop));
            }
        }
    }

    /// Link-local addresses are no routes of a data network, whose links may have the same ones: gateways
    /// alone are reached by them.
    fn add_ipv6(&self, id: InterfaceId, config: &InterfaceConfig, egress: &mut EgressIpv6) {
        for (address, len) in &config.addresses_ipv6 {
            if let Some(prefix) = PrefixIpv6::new(*address, *len) {
                egress.connected.push((prefix, id));
            }
            egress.own.push((address.to_bits(), id));
        }
        let stations = self.neighbours.on_link(id);
        let of_family = stations.filter_map(|(address, hop)| match address {
            IpAddr::V6(address) if !address.is_unicast_link_local() => {
                Some((address.to_bits(), hop))
            }
            _ => None,
        });
        egress.neighbours.extend(of_family);
        for (prefix, gateway) in &config.routes_ipv6 {
            if let Some(hop) = self.gateways.get(&(id, (*gateway).into())) {
                egress.routes.push((*prefix, *hop));
            }
        }
    }
}

/// Our IPv6 addresses, the link-local one at last.
fn own_ipv6(config: &InterfaceConfig) -> impl Iterator<Item = Ipv6Addr> {
    let addresses = config.addresses_ipv6.iter().map(|(a, _)| *a);
    addresses.chain(config.link_local())
}
