//! The table of associations, found by identifier, by address and by Node ID.

use std::net::{IpAddr, SocketAddr};

use crate::association::{ADDRESSES, Association, AssociationId};
use crate::node_id::NodeId;

/// A bounded table; all memory is taken in [`Associations::new`].
#[derive(Debug)]
pub struct Associations {
    slots: Box<[Slot]>,
    /// Known addresses in order, each with the slot of its association.
    by_address: Vec<(IpAddr, u16, u32)>,
    /// Address and association of the last look-up: messages of one peer come in sequence.
    found: Option<(SocketAddr, AssociationId)>,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    association: Option<Association>,
}

impl Associations {
    pub(crate) fn new(limit: usize) -> Self {
        let empty = || Slot {
            generation: 0,
            association: None,
        };
        Self {
            slots: (0..limit).map(|_| empty()).collect(),
            by_address: Vec::with_capacity(limit * ADDRESSES),
            found: None,
        }
    }

    /// The association, unless it has ended.
    pub fn get(&self, id: AssociationId) -> Option<&Association> {
        let slot = self.slots.get(id.slot as usize)?;
        slot.association
            .as_ref()
            .filter(|_| slot.generation == id.generation)
    }

    /// All associations in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = (AssociationId, &Association)> {
        self.slots.iter().zip(0..).filter_map(|(slot, place)| {
            let id = AssociationId {
                slot: place,
                generation: slot.generation,
            };
            slot.association
                .as_ref()
                .map(|association| (id, association))
        })
    }

    /// The association in a place, for walks that change associations.
    pub(crate) fn at(&self, place: usize) -> Option<AssociationId> {
        let slot = self.slots.get(place)?;
        slot.association.as_ref()?;
        Some(AssociationId {
            slot: place as u32,
            generation: slot.generation,
        })
    }

    /// How many places there are.
    pub(crate) fn places(&self) -> usize {
        self.slots.len()
    }

    pub(crate) fn get_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        slot.association
            .as_mut()
            .filter(|_| slot.generation == id.generation)
    }

    /// Takes the first free place; `None` when all are taken.
    pub(crate) fn insert(&mut self, association: Association) -> Option<AssociationId> {
        let place = self
            .slots
            .iter()
            .position(|slot| slot.association.is_none())?;
        let slot = self.slots.get_mut(place)?;
        slot.generation = slot.generation.wrapping_add(1);
        slot.association = Some(association);
        Some(AssociationId {
            slot: place as u32,
            generation: slot.generation,
        })
    }

    /// Frees the place and voids the identifier.
    pub(crate) fn remove(&mut self, id: AssociationId) -> Option<Association> {
        self.get(id)?;
        self.forget_addresses(id);
        self.slots.get_mut(id.slot as usize)?.association.take()
    }

    /// The same as [`by_address`](Self::by_address), without remembering what was found.
    pub(crate) fn look_up(&self, peer: SocketAddr) -> Option<AssociationId> {
        match self.found {
            Some((at, found)) if at == peer => Some(found),
            _ => self.search(peer),
        }
    }

    /// The association whose peer has this address and port, or else the only one whose peer
    /// has this address.
    pub(crate) fn by_address(&mut self, peer: SocketAddr) -> Option<AssociationId> {
        if let Some((at, found)) = self.found
            && at == peer
        {
            return Some(found);
        }
        let found = self.search(peer);
        self.found = found.map(|id| (peer, id));
        found
    }

    fn search(&self, peer: SocketAddr) -> Option<AssociationId> {
        let (ip, port) = (peer.ip().to_canonical(), peer.port());
        let place = self.place(ip, port);
        if let Some((known_ip, known_port, slot)) = self.by_address.get(place)
            && (*known_ip, *known_port) == (ip, port)
        {
            return self.at(*slot as usize);
        }
        let first = self.by_address.partition_point(|(known, _, _)| *known < ip);
        let those = self.by_address.get(first..)?;
        let mut same_ip = those.iter().take_while(|(known, _, _)| *known == ip);
        let (_, _, slot) = same_ip.next()?;
        let only = same_ip.all(|(_, _, other)| other == slot);
        only.then(|| self.at(*slot as usize))?
    }

    /// Index at which an address is stored, or would be.
    fn place(&self, ip: IpAddr, port: u16) -> usize {
        self.by_address
            .partition_point(|(i, p, _)| (*i, *p) < (ip, port))
    }

    /// The association with the function of this name.
    pub(crate) fn by_node_id(&self, node_id: &NodeId) -> Option<AssociationId> {
        let mut all = self.iter();
        all.find(|(_, association)| association.node_id() == Some(node_id))
            .map(|(id, _)| id)
    }

    /// Whether this very address and port stands with this peer already.
    pub(crate) fn has_address(&self, id: AssociationId, peer: SocketAddr) -> bool {
        let (ip, port) = (peer.ip().to_canonical(), peer.port());
        let known = self.by_address.get(self.place(ip, port));
        known.is_some_and(|known| *known == (ip, port, id.slot)) && self.get(id).is_some()
    }

    /// Whether an address (port 0: any port) is the one that another association was set up from.
    pub(crate) fn is_held_by_another(&self, id: AssociationId, peer: SocketAddr) -> bool {
        let (ip, port) = (peer.ip().to_canonical(), peer.port());
        self.iter().any(|(other, association)| {
            let held = association.primary;
            let is_there = held.ip().to_canonical() == ip && (port == 0 || held.port() == port);
            other != id && association.node_id.is_some() && is_there
        })
    }

    /// Adds an address (port 0: any port) to a peer; an address of another peer moves over.
    /// False when the peer has too many.
    pub(crate) fn learn(&mut self, id: AssociationId, peer: SocketAddr) -> bool {
        let (ip, port) = (peer.ip().to_canonical(), peer.port());
        let place = self.place(ip, port);
        let known = self
            .by_address
            .get(place)
            .filter(|(i, p, _)| (*i, *p) == (ip, port));
        let owner = known.map(|(_, _, slot)| *slot);
        if owner == Some(id.slot) {
            return true;
        }
        let address = SocketAddr::new(ip, port);
        self.found = None;
        let Some(association) = self.get_mut(id) else {
            return false;
        };
        if association.addresses.try_push(address).is_err() {
            return false;
        }
        match owner {
            None => self.by_address.insert(place, (ip, port, id.slot)),
            Some(owner) => self.move_address(owner, id.slot, place, address),
        }
        true
    }

    /// Forgets all addresses of a peer.
    pub(crate) fn forget_addresses(&mut self, id: AssociationId) {
        self.found = None;
        let Some(association) = self.get_mut(id) else {
            return;
        };
        association.addresses.clear();
        association.borrowed.clear();
        self.by_address.retain(|(_, _, slot)| *slot != id.slot);
    }

    fn move_address(&mut self, from: u32, to: u32, place: usize, address: SocketAddr) {
        if let Some(entry) = self.by_address.get_mut(place) {
            entry.2 = to;
        }
        let slot = self.slots.get_mut(from as usize);
        if let Some(association) = slot.and_then(|slot| slot.association.as_mut()) {
            association.addresses.retain(|known| *known != address);
            association.borrowed.retain(|known| *known != address.ip());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peer(n: u8, port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, n], port))
    }

    #[test]
    fn an_identifier_is_void_when_its_association_has_ended() {
        let mut table = Associations::new(1);
        let first = table.insert(Association::new(peer(1, 8805))).unwrap();
        assert_eq!(table.insert(Association::new(peer(2, 8805))), None);
        assert!(table.learn(first, peer(1, 8805)));
        assert!(table.remove(first).is_some());
        assert_eq!(table.by_address(peer(1, 8805)), None);
        let second = table.insert(Association::new(peer(2, 8805))).unwrap();
        assert_eq!(second.index(), first.index());
        assert!(table.get(first).is_none() && table.get(second).is_some());
        assert!(!table.learn(first, peer(3, 8805)));
    }

    #[test]
    fn an_exact_port_is_found_before_the_mere_address_which_must_be_unique() {
        let mut table = Associations::new(2);
        let one = table.insert(Association::new(peer(1, 0))).unwrap();
        let two = table.insert(Association::new(peer(1, 0))).unwrap();
        assert!(table.learn(two, peer(1, 9002)));
        assert!(table.learn(one, peer(1, 9001)));
        assert_eq!(table.by_address(peer(1, 9002)), Some(two));
        assert_eq!(table.by_address(peer(1, 9001)), Some(one));
        assert_eq!(table.by_address(peer(1, 4242)), None);
        table.forget_addresses(one);
        assert_eq!(table.by_address(peer(1, 4242)), Some(two));
        assert_eq!(table.by_address(peer(2, 9001)), None);
    }

    #[test]
    fn an_address_moves_to_the_peer_that_was_seen_there_last() {
        let mut table = Associations::new(2);
        let one = table.insert(Association::new(peer(1, 0))).unwrap();
        let two = table.insert(Association::new(peer(2, 0))).unwrap();
        assert!(table.learn(one, peer(1, 8805)));
        assert!(table.learn(two, peer(1, 8805)));
        assert_eq!(table.by_address(peer(1, 8805)), Some(two));
        assert!(table.get(one).unwrap().addresses().is_empty());
        table.forget_addresses(one);
        assert_eq!(table.by_address(peer(1, 8805)), Some(two));
    }

    #[test]
    fn addresses_of_one_peer_are_bounded() {
        let mut table = Associations::new(1);
        let id = table.insert(Association::new(peer(1, 0))).unwrap();
        for n in 0..ADDRESSES as u8 {
            assert!(table.learn(id, peer(n, 0)));
        }
        assert!(!table.learn(id, peer(99, 0)));
        assert!(table.learn(id, peer(0, 0)));
    }
}
