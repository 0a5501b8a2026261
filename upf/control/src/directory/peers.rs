//! GTP-U peers, reference-counted by the FARs that lead to them.

use core::net::Ipv4Addr;
use sluice_datapath::tables::{self, NextHopId, Peer, PeerId, PeerSlots};
use sluice_session::hash::Seeded;
use std::collections::HashMap;

/// Tunnel peers that may be in use: a big operator's gNBs.
const PEERS_MAX: usize = 32_768;

/// The peers by their ids. What the path reads of them stands in slots beside.
#[derive(Debug)]
pub(super) struct Peers {
    places: Vec<Option<PeerUse>>,
    slots: PeerSlots,
    /// By local and remote address.
    ids: HashMap<(Ipv4Addr, Ipv4Addr), PeerId, Seeded>,
    free: Vec<PeerId>,
}

#[derive(Clone, Debug)]
struct PeerUse {
    peer: Peer,
    users: u32,
}

impl Default for Peers {
    fn default() -> Self {
        Self {
            places: Vec::new(),
            slots: PeerSlots::new(PEERS_MAX),
            ids: HashMap::default(),
            free: Vec::new(),
        }
    }
}

impl Peers {
    /// Those in use, with the number of users of each.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Peer, u32)> {
        self.places.iter().flatten().map(|p| (&p.peer, p.users))
    }

    /// As the path reads them.
    pub(super) fn reader(&self) -> tables::Peers {
        self.slots.reader()
    }

    /// Those in use, by id.
    pub(super) fn in_use(&self) -> Vec<(PeerId, Peer)> {
        let places = self.places.iter().enumerate();
        let used = places.filter_map(|(at, p)| Some((PeerId::at(at), p.as_ref()?.peer)));
        used.collect()
    }

    /// The next hop of a peer from now on.
    pub(super) fn lead(&mut self, id: PeerId, next_hop: NextHopId) {
        if let Some(Some(used)) = self.places.get_mut(usize::from(id)) {
            used.peer.next_hop = next_hop;
            self.slots.set(id, Some(&used.peer));
        }
    }

    /// The peer of this id, if it is in use.
    pub(super) fn get(&self, id: PeerId) -> Option<&Peer> {
        let used = self.places.get(usize::from(id))?.as_ref()?;
        Some(&used.peer)
    }

    /// One more user of a peer, if it is known.
    pub(super) fn hold(&mut self, local: Ipv4Addr, remote: Ipv4Addr) -> Option<PeerId> {
        let id = *self.ids.get(&(local, remote))?;
        if let Some(Some(p)) = self.places.get_mut(usize::from(id)) {
            p.users += 1;
        }
        Some(id)
    }

    /// True if there is no room for another.
    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty() && self.places.len() >= PEERS_MAX
    }

    /// A new peer with its first user. There must be room.
    pub(super) fn add(&mut self, peer: Peer) -> PeerId {
        let used = Some(PeerUse { peer, users: 1 });
        let id = match self.free.pop() {
            Some(id) => {
                self.places[usize::from(id)] = used;
                id
            }
            None => {
                self.places.push(used);
                PeerId::at(self.places.len() - 1)
            }
        };
        self.ids.insert((peer.local, peer.address), id);
        self.slots.set(id, Some(&peer));
        id
    }

    /// One user less: the peer, if that was the last.
    pub(super) fn release(&mut self, id: PeerId) -> Option<Peer> {
        let place = self.places.get_mut(usize::from(id))?;
        let used = place.as_mut()?;
        used.users -= 1;
        if used.users > 0 {
            return None;
        }
        let gone = used.peer;
        *place = None;
        self.slots.set(id, None);
        self.ids.remove(&(gone.local, gone.address));
        self.free.push(id);
        Some(gone)
    }
}
