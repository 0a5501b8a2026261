//! Emulated gNBs and UEs together, and the procedure that each UE is in.
//!
//! Octets of AMFs and the time go in; octets for AMFs, and how procedures ended, come out. What a
//! procedure needs first it does by itself: an idle UE comes back by a service request before it asks
//! for a session.

mod handover;
mod task;
#[cfg(test)]
mod tests;
mod tunnels;

use std::collections::{BTreeMap, BTreeSet};

use sluice_ids::STmsi;
use sluice_n2::RanUeId;

use crate::bearers::RadioSession;
use crate::gnb::{FromGnb, Gnb};
use crate::sessions::WantedSession;
use crate::ue::{Ue, UeState};

use task::Task;
pub use task::{Ended, Outcome, Procedure};

/// A message for the AMF of a gNB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToAmf {
    /// Of which gNB, by index.
    pub gnb: usize,
    /// About which UE; none of what concerns the gNB itself, which has a stream of its own (TS
    /// 38.412, 7).
    pub ran: Option<RanUeId>,
    pub octets: Vec<u8>,
}

#[derive(Debug)]
pub struct FleetUe {
    pub ue: Ue,
    /// Index of the gNB that it uses when it connects.
    pub gnb: usize,
    /// Parameters of each session that the UE establishes, by PDU session identity.
    pub wanted: BTreeMap<u8, WantedSession>,
    at: Option<(usize, RanUeId)>,
    /// Place of the UE before its last handover.
    before: Option<(usize, RanUeId)>,
    task: Option<Task>,
    /// 5G-S-TMSI of the UE.
    name: Option<STmsi>,
}

impl FleetUe {
    /// Not connected, and not registered.
    pub fn new(ue: Ue, gnb: usize) -> Self {
        Self {
            ue,
            gnb,
            wanted: BTreeMap::new(),
            at: None,
            before: None,
            task: None,
            name: None,
        }
    }

    /// Index of its gNB, and the gNB's name of the connection; none while it is idle.
    pub fn at(&self) -> Option<(usize, RanUeId)> {
        self.at
    }

    /// Whether a procedure is under way.
    pub fn is_busy(&self) -> bool {
        self.task.is_some()
    }
}

/// gNBs and UEs.
#[derive(Debug, Default)]
pub struct Fleet {
    gnbs: Vec<Gnb>,
    ues: Vec<FleetUe>,
    connected: BTreeMap<(usize, RanUeId), usize>,
    names: BTreeMap<[u8; 6], usize>,
    /// When procedures are given up, each with its UE.
    deadlines: BTreeSet<(u64, usize)>,
    registered: usize,
    to_amf: Vec<ToAmf>,
    ended: Vec<Ended>,
    touched: BTreeSet<usize>,
    paged: Vec<usize>,
    pagings: u64,
}

impl Fleet {
    /// Nothing is set up, and nobody registered.
    pub fn new(gnbs: Vec<Gnb>, ues: Vec<FleetUe>) -> Self {
        Self {
            gnbs,
            ues,
            ..Self::default()
        }
    }

    pub fn gnbs(&self) -> &[Gnb] {
        &self.gnbs
    }

    /// A gNB, to change what it does.
    pub fn gnb_mut(&mut self, gnb: usize) -> Option<&mut Gnb> {
        self.gnbs.get_mut(gnb)
    }

    pub fn ues(&self) -> &[FleetUe] {
        &self.ues
    }

    /// A UE, to change what it wants or does. Its state is moved by messages only.
    pub fn ue_mut(&mut self, ue: usize) -> Option<&mut FleetUe> {
        self.ues.get_mut(ue)
    }

    pub fn registered(&self) -> usize {
        self.registered
    }

    pub fn connected(&self) -> usize {
        self.connected.len()
    }

    /// UEs with a procedure under way.
    pub fn busy(&self) -> usize {
        self.deadlines.len()
    }

    /// A session of a UE as its gNB has it; none while its user plane is down.
    pub fn radio(&self, ue: usize, session: u8) -> Option<RadioSession> {
        let (gnb, ran) = self.ues.get(ue)?.at?;
        self.gnbs.get(gnb)?.session(ran, session)
    }

    /// NG Setup of a gNB.
    pub fn set_up(&mut self, gnb: usize) {
        if let Some(octets) = self.gnbs.get(gnb).map(Gnb::setup) {
            self.send(gnb, None, octets);
        }
    }

    /// A gNB has lost all UEs, and says so to the AMF (NG Reset).
    pub fn reset(&mut self, gnb: usize) {
        if let Some(octets) = self.gnbs.get_mut(gnb).map(Gnb::reset) {
            self.send(gnb, None, octets);
        }
        self.strand(gnb);
    }

    /// A gNB has lost its association with the AMF, and all UEs with it, unless it retains them.
    pub fn lost(&mut self, gnb: usize) {
        if let Some(gnb) = self.gnbs.get_mut(gnb) {
            gnb.forget();
        }
        self.strand(gnb);
    }

    /// A gNB starts anew, and has lost its UEs even if it retains them over the loss of an association.
    pub fn restart(&mut self, gnb: usize) {
        if let Some(gnb) = self.gnbs.get_mut(gnb) {
            gnb.restart();
        }
        self.strand(gnb);
    }

    /// UEs that a gNB has no more are idle, whether they know it or not.
    fn strand(&mut self, gnb: usize) {
        let here = (gnb, RanUeId(0))..=(gnb, RanUeId(u32::MAX));
        let there = self.connected.range(here).map(|(at, _)| *at);
        let has = |ran| self.gnbs.get(gnb).is_some_and(|gnb| gnb.has(ran));
        let lost: Vec<_> = there.filter(|(_, ran)| !has(*ran)).collect();
        for at in lost {
            self.released(0, at, true);
        }
    }

    /// UEs that were called since the last time that this was asked, and that shall answer by a
    /// service request.
    pub fn take_paged(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.paged)
    }

    /// Paging messages that have come.
    pub fn pagings(&self) -> u64 {
        self.pagings
    }

    /// Messages for AMFs since the last call.
    pub fn take_to_amf(&mut self) -> Vec<ToAmf> {
        std::mem::take(&mut self.to_amf)
    }

    /// Procedures that have ended since the last call.
    pub fn take_ended(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// UEs whose sessions may have changed since the last call: whoever carries their packets looks
    /// at them before [`Fleet::take_to_amf`] leaves, as the network may send packets at once then.
    pub fn take_touched(&mut self) -> BTreeSet<usize> {
        std::mem::take(&mut self.touched)
    }

    /// Takes a message of a gNB's AMF.
    pub fn receive(&mut self, now_ns: u64, gnb: usize, octets: &[u8]) {
        let Some(station) = self.gnbs.get_mut(gnb) else {
            return;
        };
        let (about, done) = station.receive_about(octets);
        for page in station.take_paged() {
            self.pagings += 1;
            self.paged
                .extend(self.names.get(&self::octets(page.s_tmsi)));
        }
        for done in done {
            match done {
                FromGnb::ToAmf(octets) => self.send(gnb, about, octets),
                FromGnb::ToUe(ran, nas) => self.deliver(now_ns, (gnb, ran), &nas),
                FromGnb::Released(ran) => self.released(now_ns, (gnb, ran), false),
            }
        }
        self.follow_tunnels(now_ns, gnb, about);
        self.follow_handovers(now_ns, gnb, about);
    }

    fn deliver(&mut self, now_ns: u64, at: (usize, RanUeId), nas: &[u8]) {
        let Some(index) = self.connected.get(&at).copied() else {
            return;
        };
        let Some(one) = self.ues.get_mut(index) else {
            return;
        };
        let before = one.ue.state();
        for answer in one.ue.receive(nas) {
            let octets = self.gnbs.get(at.0).and_then(|gnb| gnb.uplink(at.1, answer));
            if let Some(octets) = octets {
                self.to_amf.push(ToAmf {
                    gnb: at.0,
                    ran: Some(at.1),
                    octets,
                });
            }
        }
        self.recount(index, before);
        self.touched.insert(index);
        self.progress(now_ns, index);
    }

    /// Keeps what is known of all UEs up to date with one.
    fn recount(&mut self, index: usize, before: UeState) {
        let Some(one) = self.ues.get_mut(index) else {
            return;
        };
        let is = |state: UeState| usize::from(state == UeState::Registered);
        self.registered = self.registered + is(one.ue.state()) - is(before).min(self.registered);
        let name = one.ue.guti().map(|guti| guti.s_tmsi());
        if name != one.name {
            if let Some(old) = one.name {
                self.names.remove(&octets(old));
            }
            self.names.extend(name.map(|name| (octets(name), index)));
            one.name = name;
        }
    }

    fn send(&mut self, gnb: usize, ran: Option<RanUeId>, octets: Vec<u8>) {
        self.to_amf.push(ToAmf { gnb, ran, octets });
    }
}

fn octets(name: STmsi) -> [u8; 6] {
    let ([a, b], [c, d, e, f]) = (name.set_and_pointer, name.tmsi.0);
    [a, b, c, d, e, f]
}
