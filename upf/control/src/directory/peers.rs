//! GTP-U peers, reference-counted by the FARs that lead to them.

use core::net::IpAddr;
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::tables::{
    self, NextHopId, PeerId, PeerSlots, PeerSlotsIpv6, PeersIpv6, TunnelPeer,
};
use sluice_session::hash_index::Seeded;
use std::collections::HashMap;

/// Tunnel peers of each family that may be in use: a big operator's gNBs.
const PEERS_MAX: usize = 32_768;
const _: () = assert!(PEERS_MAX <= PeerId::PER_FAMILY);

/// The peers by their ids. What the path reads of them stands in slots beside.
#[derive(Debug)]
pub(super) struct Peers {
    ipv4: Places,
    ipv6: Places,
    slots: PeerSlots,
    slots_ipv6: PeerSlotsIpv6,
    ids: HashMap<PeerKey, PeerId, Seeded>,
}

/// Local and remote address, and how outer headers are marked.
type PeerKey = (IpAddr, IpAddr, Marking);

fn key(peer: &TunnelPeer) -> PeerKey {
    (peer.local(), peer.address(), peer.marking())
}

/// Peers of one address family, by their slots.
#[derive(Debug, Default)]
struct Places {
    places: Vec<Option<PeerUse>>,
    free: Vec<usize>,
}

#[derive(Clone, Debug)]
struct PeerUse {
    peer: TunnelPeer,
    users: u32,
}

impl Default for Peers {
    fn default() -> Self {
        Self {
            ipv4: Places::default(),
            ipv6: Places::default(),
            slots: PeerSlots::new(PEERS_MAX),
            slots_ipv6: PeerSlotsIpv6::new(PEERS_MAX),
            ids: HashMap::default(),
        }
    }
}

impl Places {
    fn is_full(&self) -> bool {
        self.free.is_empty() && self.places.len() >= PEERS_MAX
    }

    fn add(&mut self, used: PeerUse) -> usize {
        match self.free.pop() {
            Some(slot) => {
                self.places[slot] = Some(used);
                slot
            }
            None => {
                self.places.push(Some(used));
                self.places.len() - 1
            }
        }
    }
}

impl Peers {
    /// Peers in use, with the number of users of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (TunnelPeer, u32)> {
        let all = self.ipv4.places.iter().chain(&self.ipv6.places);
        all.flatten().map(|used| (used.peer, used.users))
    }

    /// IPv4 peers as the path reads them.
    pub(super) fn reader(&self) -> tables::Peers {
        self.slots.reader()
    }

    /// IPv6 peers as the path reads them.
    pub(super) fn reader_ipv6(&self) -> PeersIpv6 {
        self.slots_ipv6.reader()
    }

    /// Peers in use, by id.
    pub(super) fn in_use(&self) -> Vec<(PeerId, TunnelPeer)> {
        let ids = self.ids.values();
        ids.filter_map(|id| Some((*id, *self.get(*id)?))).collect()
    }

    /// The next hop of a peer from now on.
    pub(super) fn lead(&mut self, id: PeerId, next_hop: NextHopId) {
        if let Some(used) = self.used(id) {
            used.peer = used.peer.led_by(next_hop);
            let peer = used.peer;
            self.publish(id, Some(peer));
        }
    }

    /// The peer of this id, if it is in use.
    pub(super) fn get(&self, id: PeerId) -> Option<&TunnelPeer> {
        let of_family = match id.is_ipv6() {
            false => &self.ipv4,
            true => &self.ipv6,
        };
        let used = of_family.places.get(id.slot())?.as_ref()?;
        Some(&used.peer)
    }

    /// One more user of a peer, if it is known.
    pub(super) fn hold(
        &mut self,
        local: IpAddr,
        remote: IpAddr,
        marking: Marking,
    ) -> Option<PeerId> {
        let id = *self.ids.get(&(local, remote, marking))?;
        if let Some(used) = self.used(id) {
            used.users += 1;
        }
        Some(id)
    }

    /// True if there is no room for another of its family.
    pub(super) fn is_full(&self, remote: IpAddr) -> bool {
        match remote {
            IpAddr::V4(_) => self.ipv4.is_full(),
            IpAddr::V6(_) => self.ipv6.is_full(),
        }
    }

    /// A new peer with its first user. There must be room.
    pub(super) fn add(&mut self, peer: TunnelPeer) -> PeerId {
        let used = PeerUse { peer, users: 1 };
        let id = match peer {
            TunnelPeer::Ipv4(_) => PeerId::at(self.ipv4.add(used)),
            TunnelPeer::Ipv6(_) => PeerId::ipv6(self.ipv6.add(used)),
        };
        self.ids.insert(key(&peer), id);
        self.publish(id, Some(peer));
        id
    }

    /// One user less: the peer, if that was the last.
    pub(super) fn release(&mut self, id: PeerId) -> Option<TunnelPeer> {
        let used = self.used(id)?;
        used.users -= 1;
        if used.users > 0 {
            return None;
        }
        let gone = used.peer;
        let places = self.places(id);
        places.places[id.slot()] = None;
        places.free.push(id.slot());
        self.publish(id, None);
        self.ids.remove(&key(&gone));
        Some(gone)
    }

    fn places(&mut self, id: PeerId) -> &mut Places {
        match id.is_ipv6() {
            false => &mut self.ipv4,
            true => &mut self.ipv6,
        }
    }

    fn used(&mut self, id: PeerId) -> Option<&mut PeerUse> {
        self.places(id).places.get_mut(id.slot())?.as_mut()
    }

    /// As the path reads it from now on.
    fn publish(&mut self, id: PeerId, peer: Option<TunnelPeer>) {
        match peer {
            Some(TunnelPeer::Ipv4(peer)) => self.slots.set(id, Some(&peer)),
            Some(TunnelPeer::Ipv6(peer)) => self.slots_ipv6.set(id, Some(&peer)),
            None if id.is_ipv6() => self.slots_ipv6.set(id, None),
            None => self.slots.set(id, None),
        }
    }
}
