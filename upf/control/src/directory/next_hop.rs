//! Route resolution: interface and next hop of a destination.

use super::Directory;
use crate::config::{InterfaceConfig, Role};
use core::net::Ipv4Addr;
use sluice_datapath::tables::{InterfaceId, Prefix};
use sluice_wire::eth::MacAddr;

impl Directory {
    /// The next hop towards `destination` on `interface`: itself on the link, else a gateway.
    pub fn station_towards(
        &self,
        interface: InterfaceId,
        destination: Ipv4Addr,
    ) -> Option<Ipv4Addr> {
        let config = self.interface(interface)?;
        let target = u32::from(destination);
        let links = config.addresses.iter();
        let links = links.filter_map(|(a, len)| Prefix::new(*a, *len));
        let link = links.filter(|p| p.contains(target)).map(|p| p.mask).max();
        let routes = config.routes.iter().filter(|(p, _)| p.contains(target));
        // The last of equals is the first of the file.
        let route = routes.rev().max_by_key(|(p, _)| p.mask);
        match (link, route) {
            (Some(link), route) if route.is_none_or(|(p, _)| link >= p.mask) => Some(destination),
            (_, route) => route.map(|(_, gateway)| *gateway),
        }
    }

    /// The MAC address of the next hop towards `destination`: `Err` names a station that has
    /// to be asked for.
    pub fn mac_towards(
        &self,
        interface: InterfaceId,
        destination: Ipv4Addr,
    ) -> Option<Result<MacAddr, Ipv4Addr>> {
        let station = self.station_towards(interface, destination)?;
        Some(self.neighbours.mac(interface, station).ok_or(station))
    }

    /// The plain interface that leads to `destination`, with the next hop there.
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
                let id = InterfaceId::at(id);
                Some((id, self.station_towards(id, destination)?))
            })
    }
}
