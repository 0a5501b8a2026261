//! Interface look-up by Source or Destination Interface and Network Instance.

use super::{Directory, Plain, Tunnels, same_name};
use crate::paths::PathEnds;
use core::net::IpAddr;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::tables::{EgressId, InterfaceId, NO_NEXT_HOP, PeerId, TunnelPeer};
use sluice_session::network::{Network, PeerError, Side, TunnelEndpoint};

impl Directory {
    /// Tunnels of that name, else those of an interface for all names without tunnels of their own.
    fn find_tunnels(&self, side: Side, instance: Option<&str>) -> Option<&Tunnels> {
        let mut there = self.tunnels.iter().filter(|t| t.side == side);
        let named = |t: &&Tunnels| instance.is_none_or(|i| same_name(i, &t.instance));
        let named = there.clone().find(named);
        named.or_else(|| there.find(|t| t.instance.is_empty()))
    }

    /// That of the name, else the default; without a name the default, else the first.
    fn find_plain(&self, side: Side, instance: Option<&str>) -> Option<&Plain> {
        let there = || self.plain.iter().filter(|p| p.side == side);
        let named = instance.and_then(|name| there().find(|p| p.is_called(name)));
        let default = || there().find(|p| p.is_default);
        let first = || there().next().filter(|_| instance.is_none());
        named.or_else(default).or_else(first)
    }

    fn add_peer(
        &mut self,
        interface: InterfaceId,
        (local, remote): (IpAddr, IpAddr),
        marking: Marking,
    ) -> Result<PeerId, PeerError> {
        if self.peers.is_full(remote) {
            return Err(PeerError::Full);
        }
        let hop = match self.station_towards(interface, remote) {
            Some(station) => self.neighbours.hold(interface, station),
            None => Some(NO_NEXT_HOP),
        };
        let hop = hop.ok_or(PeerError::Full)?;
        let peer = TunnelPeer::new(remote, local, hop).ok_or(PeerError::NoInterface)?;
        self.paths.begin(PathEnds { local, remote });
        Ok(self.peers.add(peer.marked(marking)))
    }
}

impl Network for Directory {
    fn tunnel_endpoint(&self, side: Side, instance: Option<&str>) -> Option<TunnelEndpoint> {
        self.find_tunnels(side, instance).map(|t| t.endpoint)
    }

    fn tunnel_endpoint_at(
        &self,
        side: Side,
        instance: Option<&str>,
        address: IpAddr,
    ) -> Option<TunnelEndpoint> {
        let serves = |t: &&Tunnels| {
            let any = t.instance.is_empty();
            t.side == side && (any || instance.is_none_or(|i| same_name(i, &t.instance)))
        };
        let there = self.tunnels.iter().filter(serves).map(|t| t.endpoint);
        there.into_iter().find(|e| e.addresses.has(address))
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
        remote: IpAddr,
        marking: Marking,
    ) -> Result<PeerId, PeerError> {
        let tunnels = self
            .find_tunnels(side, instance)
            .ok_or(PeerError::NoInterface)?;
        let interface = tunnels.interface;
        let mut ours = tunnels.endpoint.addresses.all();
        let local = ours.find(|own| own.is_ipv4() == remote.is_ipv4());
        let local = local.ok_or(PeerError::NoInterface)?;
        match self.peers.hold(local, remote, marking) {
            Some(id) => Ok(id),
            None => self.add_peer(interface, (local, remote), marking),
        }
    }

    fn release_peer(&mut self, peer: PeerId) {
        let Some(gone) = self.peers.release(peer) else {
            return;
        };
        if gone.next_hop() != NO_NEXT_HOP {
            self.neighbours.release(gone.next_hop());
        }
        self.paths.end(PathEnds {
            local: gone.local(),
            remote: gone.address(),
        });
    }

    fn peer_address(&self, peer: PeerId) -> Option<IpAddr> {
        self.peers.get(peer).map(|peer| peer.address())
    }
}
