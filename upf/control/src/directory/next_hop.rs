//! Route resolution: interface and next hop of a destination.

use super::Directory;
use crate::config::{InterfaceConfig, Role};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::tables::{InterfaceId, Prefix, PrefixIpv6};
use sluice_wire::eth::MacAddr;

impl Directory {
    /// The next hop towards `destination` on `interface`: itself on the link, else a gateway.
    pub fn station_towards(&self, interface: InterfaceId, destination: IpAddr) -> Option<IpAddr> {
        let config = self.interface(interface)?;
        match destination {
            IpAddr::V4(destination) => next_hop(config, destination).map(IpAddr::V4),
            IpAddr::V6(destination) => next_hop_ipv6(config, destination).map(IpAddr::V6),
        }
    }

    /// The MAC address of the next hop towards `destination`: `Err` names a station that has
    /// to be asked for.
    pub fn mac_towards(
        &self,
        interface: InterfaceId,
        destination: IpAddr,
    ) -> Option<Result<MacAddr, IpAddr>> {
        let station = self.station_towards(interface, destination)?;
        Some(self.neighbours.mac(interface, station).ok_or(station))
    }

    /// The plain interface that leads to `destination`, with the next hop there.
    pub fn plain_towards(
        &self,
        destination: IpAddr,
        instance: Option<InstanceId>,
    ) -> Option<(InterfaceId, IpAddr)> {
        let is_meant = |role: &Role| match role {
            Role::Plain { id, .. } => instance.is_none_or(|instance| instance == *id),
            _ => false,
        };
        let plain = |c: &InterfaceConfig| c.roles.iter().any(is_meant);
        self.interfaces
            .iter()
            .enumerate()
            .filter(|(_, c)| plain(c))
            .find_map(|(id, _)| {
                let id = InterfaceId::at(id);
                Some((id, self.station_towards(id, destination)?))
            })
    }
}

fn next_hop(config: &InterfaceConfig, destination: Ipv4Addr) -> Option<Ipv4Addr> {
    let target = u32::from(destination);
    let links = config.addresses.iter();
    let links = links.filter_map(|(a, len)| Prefix::new(*a, *len));
    let link = links.filter(|p| p.contains(target)).map(|p| p.mask).max();
    let routes = config.routes.iter().filter(|(p, _)| p.contains(target));
    let routes = routes.map(|(p, gateway)| (p.mask, *gateway));
    longest(destination, link, routes)
}

fn next_hop_ipv6(config: &InterfaceConfig, destination: Ipv6Addr) -> Option<Ipv6Addr> {
    let target = destination.to_bits();
    if destination.is_unicast_link_local() {
        return (!config.addresses_ipv6.is_empty()).then_some(destination);
    }
    let links = config.addresses_ipv6.iter();
    let links = links.filter_map(|(a, len)| PrefixIpv6::new(*a, *len));
    let link = links.filter(|p| p.contains(target)).map(|p| p.len).max();
    let routes = config.routes_ipv6.iter();
    let routes = routes.filter(|(p, _)| p.contains(target));
    let routes = routes.map(|(p, gateway)| (p.len, *gateway));
    longest(destination, link, routes)
}

/// The longest match decides; of two of one length the link comes before the route, and of routes the first
/// of the file.
fn longest<A, L: Ord + Copy>(
    destination: A,
    link: Option<L>,
    routes: impl DoubleEndedIterator<Item = (L, A)>,
) -> Option<A> {
    let route = routes.rev().max_by_key(|(len, _)| *len);
    match (link, route) {
        (Some(link), Some((len, gateway))) if len > link => Some(gateway),
        (Some(_), _) => Some(destination),
        (None, route) => route.map(|(_, gateway)| gateway),
    }
}
