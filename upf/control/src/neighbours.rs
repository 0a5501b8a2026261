//! Neighbour table: stations by ARP (RFC 826) and Neighbour Discovery (RFC 4861), asked again before entries
//! are forgotten.

use core::net::IpAddr;
use sluice_datapath::tables::{InterfaceId, NextHop, NextHopId, NextHopSlots, NextHops};
use sluice_datapath::tx::encap::InterfaceEncap;
use sluice_wire::eth::MacAddr;
use std::collections::HashMap;

/// Between two questions for a station.
const ASK_EVERY_NS: u64 = 1_000_000_000;
/// Questions before a station counts as absent.
const ASK_TIMES: u32 = 3;
/// After that long an answer is confirmed by a new question.
const CONFIRM_AFTER_NS: u64 = 30_000_000_000;
/// Stations that may be known: as many as there may be gNBs, all of them on links, and a /20 beside.
pub const STATIONS_MAX: usize = 36_864;

/// State of a neighbour.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum NeighbourState {
    /// Configured.
    Static,
    /// Being asked for: questions so far, time of the last.
    Asking { times: u32, at_ns: u64 },
    /// Answered.
    Known { at_ns: u64 },
    /// Did not answer; asked again when somebody wants it.
    Absent,
}

#[derive(Debug)]
struct Station {
    state: NeighbourState,
    /// Held by gateways and peers; without holders it goes when it does not answer.
    holders: u32,
}

/// A question to be put on the link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Question {
    /// Interface of the request.
    pub interface: InterfaceId,
    /// Address that is sought.
    pub target: IpAddr,
}

/// All stations. What the path reads of them stands in slots beside.
#[derive(Debug)]
pub struct Neighbours {
    hops: Vec<NextHop>,
    slots: NextHopSlots,
    /// By interface.
    encaps: Vec<InterfaceEncap>,
    stations: Vec<Station>,
    by_address: HashMap<(InterfaceId, IpAddr), NextHopId>,
    free: Vec<NextHopId>,
    changed: bool,
    /// Links on which stations came or went.
    changed_links: Vec<InterfaceId>,
    /// A MAC address has become known that was not.
    has_found: bool,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self {
            hops: Vec::new(),
            slots: NextHopSlots::new(STATIONS_MAX),
            encaps: Vec::new(),
            stations: Vec::new(),
            by_address: HashMap::new(),
            free: Vec::new(),
            changed: false,
            changed_links: Vec::new(),
            has_found: false,
        }
    }
}

impl Neighbours {
    /// Sets the headers of frames that leave by these interfaces. Before the first neighbour.
    pub fn set_encaps(&mut self, encaps: Vec<InterfaceEncap>) {
        self.encaps = encaps;
    }

    fn write_slot(&mut self, id: NextHopId) {
        let hop = &self.hops[usize::from(id)];
        if let Some(encap) = self.encaps.get(usize::from(hop.interface)) {
            self.slots.set(id, hop, encap);
        }
    }

    /// The next hops as the path reads them.
    pub fn hops(&self) -> NextHops {
        self.slots.reader()
    }

    /// A station by its number.
    pub fn get(&self, id: NextHopId) -> Option<&NextHop> {
        self.hops.get(usize::from(id))
    }

    /// True once after any change.
    pub fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    /// True once after a station's MAC address has become known that was not.
    pub fn take_found(&mut self) -> bool {
        core::mem::take(&mut self.has_found)
    }

    /// Links on which stations came or went since the last call.
    pub fn take_changed_links(&mut self) -> Vec<InterfaceId> {
        core::mem::take(&mut self.changed_links)
    }

    /// A configured station.
    pub fn add_static(&mut self, interface: InterfaceId, address: IpAddr, mac: MacAddr) {
        if let Some(id) = self.entry(interface, address) {
            self.set(id, NeighbourState::Static, Some(mac));
        }
    }

    /// A station that is configured no more: it is asked for, like any other.
    pub fn remove_static(&mut self, interface: InterfaceId, address: IpAddr) {
        if let Some(id) = self.by_address.get(&(interface, address)).copied()
            && self.stations[usize::from(id)].state == NeighbourState::Static
        {
            self.give_up(id);
        }
    }

    /// The station's number, for somebody who will use it until [`Self::release`]. `None` if
    /// there is no room.
    pub fn hold(&mut self, interface: InterfaceId, address: IpAddr) -> Option<NextHopId> {
        let id = self.entry(interface, address)?;
        self.stations[usize::from(id)].holders += 1;
        Some(id)
    }

    /// Gives a held station back.
    pub fn release(&mut self, id: NextHopId) {
        if let Some(s) = self.stations.get_mut(usize::from(id)) {
            s.holders = s.holders.saturating_sub(1);
        }
    }

    /// Somebody wants to send to a station: asks, unless it is being asked for or known.
    pub fn want(
        &mut self,
        interface: InterfaceId,
        address: IpAddr,
        now_ns: u64,
    ) -> Option<Question> {
        let id = self.entry(interface, address)?;
        self.ask(id, now_ns)
    }

    /// As [`Self::want`], for a station with a number. Workers look at old tables for a moment
    /// longer: a number that was given back is nobody's, and asking for it would give it back
    /// again.
    pub fn want_hop(&mut self, id: NextHopId, now_ns: u64) -> Option<Question> {
        let hop = self.hops.get(usize::from(id))?;
        let owner = self.by_address.get(&(hop.interface, hop.address));
        if owner != Some(&id) {
            return None;
        }
        self.ask(id, now_ns)
    }

    /// A station said who it is. `create` where it spoke to us (RFC 826: otherwise only what is
    /// known is brought up to date).
    pub fn heard(
        &mut self,
        interface: InterfaceId,
        address: IpAddr,
        mac: MacAddr,
        create: bool,
        now_ns: u64,
    ) {
        let id = match self.by_address.get(&(interface, address)) {
            Some(id) => Some(*id),
            None if create => self.entry(interface, address),
            None => None,
        };
        if let Some(id) = id
            && self.stations[usize::from(id)].state != NeighbourState::Static
        {
            self.set(id, NeighbourState::Known { at_ns: now_ns }, Some(mac));
        }
    }

    /// A station says unasked that it has another MAC address (RFC 4861, 7.2.6). That is used at once, and
    /// confirmed by a question. Nobody is learned by that.
    pub fn announced(
        &mut self,
        interface: InterfaceId,
        address: IpAddr,
        mac: MacAddr,
        now_ns: u64,
    ) {
        if self.mac(interface, address).is_some_and(|m| m != mac) {
            let to_confirm_ns = now_ns.saturating_sub(CONFIRM_AFTER_NS);
            self.heard(interface, address, mac, false, to_confirm_ns);
        }
    }

    /// The station's MAC address, if known.
    pub fn mac(&self, interface: InterfaceId, address: IpAddr) -> Option<MacAddr> {
        let id = self.by_address.get(&(interface, address))?;
        self.hops[usize::from(*id)].mac.map(MacAddr)
    }

    /// Repeats questions and confirms old answers. `ask` gets each question.
    pub fn tick(&mut self, now_ns: u64, mut ask: impl FnMut(Question)) {
        for i in 0..self.stations.len() {
            let id = NextHopId::at(i);
            match self.stations[i].state {
                NeighbourState::Asking { times, at_ns } if now_ns >= at_ns + ASK_EVERY_NS => {
                    if times >= ASK_TIMES {
                        self.give_up(id);
                    } else {
                        ask(self.question(id, times + 1, now_ns));
                    }
                }
                NeighbourState::Known { at_ns } if now_ns >= at_ns + CONFIRM_AFTER_NS => {
                    ask(self.question(id, 1, now_ns));
                }
                _ => {}
            }
        }
    }

    /// Stations with their MAC addresses, for people.
    pub fn iter(&self) -> impl Iterator<Item = (&NextHop, bool)> {
        let known = self.by_address.values().copied();
        known.map(|id| {
            let is_static = self.stations[usize::from(id)].state == NeighbourState::Static;
            (&self.hops[usize::from(id)], is_static)
        })
    }

    /// Stations on a link, for the path's table of neighbours.
    pub fn on_link(&self, interface: InterfaceId) -> impl Iterator<Item = (IpAddr, NextHopId)> {
        self.by_address
            .iter()
            .filter(move |((i, _), _)| *i == interface)
            .map(|((_, address), id)| (*address, *id))
    }

    fn entry(&mut self, interface: InterfaceId, address: IpAddr) -> Option<NextHopId> {
        if let Some(id) = self.by_address.get(&(interface, address)) {
            return Some(*id);
        }
        let hop = NextHop {
            interface,
            address,
            mac: None,
        };
        let station = Station {
            state: NeighbourState::Absent,
            holders: 0,
        };
        let id = match self.free.pop() {
            Some(id) => {
                self.hops[usize::from(id)] = hop;
                self.stations[usize::from(id)] = station;
                id
            }
            None if self.hops.len() < STATIONS_MAX => {
                self.hops.push(hop);
                self.stations.push(station);
                NextHopId::at(self.hops.len() - 1)
            }
            None => return None,
        };
        self.by_address.insert((interface, address), id);
        self.write_slot(id);
        self.link_changed(interface);
        Some(id)
    }

    fn set(&mut self, id: NextHopId, state: NeighbourState, mac: Option<MacAddr>) {
        let hop = &mut self.hops[usize::from(id)];
        let mac = mac.map(|m| m.0);
        if hop.mac != mac {
            self.has_found |= hop.mac.is_none();
            hop.mac = mac;
            self.write_slot(id);
            self.changed = true;
        }
        self.stations[usize::from(id)].state = state;
    }

    fn ask(&mut self, id: NextHopId, now_ns: u64) -> Option<Question> {
        match self.stations[usize::from(id)].state {
            NeighbourState::Absent => Some(self.question(id, 1, now_ns)),
            _ => None,
        }
    }

    fn question(&mut self, id: NextHopId, times: u32, now_ns: u64) -> Question {
        self.stations[usize::from(id)].state = NeighbourState::Asking {
            times,
            at_ns: now_ns,
        };
        let hop = &self.hops[usize::from(id)];
        Question {
            interface: hop.interface,
            target: hop.address,
        }
    }

    fn give_up(&mut self, id: NextHopId) {
        self.set(id, NeighbourState::Absent, None);
        if self.stations[usize::from(id)].holders == 0 {
            let hop = self.hops[usize::from(id)];
            self.by_address.remove(&(hop.interface, hop.address));
            self.free.push(id);
            self.link_changed(hop.interface);
        }
    }

    fn link_changed(&mut self, interface: InterfaceId) {
        self.changed = true;
        if !self.changed_links.contains(&interface) {
            self.changed_links.push(interface);
        }
    }
}

#[cfg(test)]
mod tests;
