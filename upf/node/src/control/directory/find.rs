//! What N4 rules name, looked up: by interface side and Network Instance.

use super::{Directory, Plain, Tunnels};
use crate::network::{Network, PeerError, Side, TunnelEndpoint};
use core::net::Ipv4Addr;
use sluice_path::layout::InstanceId;
use sluice_path::tables::{EgressId, InterfaceId, Peer, PeerId};

impl Directory {
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
        local: Ipv4Addr,
        remote: Ipv4Addr,
    ) -> Result<PeerId, PeerError> {
        if self.peers.is_full() {
            return Err(PeerError::Full);
        }
        let station = self
            .station_towards(interface, remote)
            .ok_or(PeerError::NoRoute)?;
        let hop = self
            .neighbours
            .hold(interface, station)
            .ok_or(PeerError::Full)?;
        self.changed = true;
        Ok(self.peers.add(Peer::new(remote, local, hop)))
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
        match self.peers.hold(local, remote) {
            Some(id) => Ok(id),
            None => self.add_peer(interface, local, remote),
        }
    }

    fn release_peer(&mut self, peer: PeerId) {
        if let Some(gone) = self.peers.release(peer) {
            self.neighbours.release(gone.next_hop);
            self.changed = true;
        }
    }

    fn peer_address(&self, peer: PeerId) -> Option<Ipv4Addr> {
        self.peers.get(peer).map(|p| p.address)
    }
}
