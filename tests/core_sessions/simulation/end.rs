//! Simulation of the core, end of a seed: what is under way comes to its end, each UE can do what it wants, and all leave.

use sluice_n1::{RegistrationKind, SessionType};
use sluice_sbi::NfStatus;
use sluice_smf::view::SessionView;
use sluice_ue::UeState;

use super::network::{GNBS, MS, Simulation, UES};
use crate::harness::wanted;
use crate::kit::{self, frames};
use crate::world::supi;

/// What is under way ends by then: the longest are commands that a UE does not answer, five times 16 s, one
/// after the other, and what a UPF is asked again for.
const REST_MS: u64 = 900_000;

impl Simulation {
    /// So long as something is under way.
    pub fn quiet(&mut self) {
        self.is_quiet = true;
        self.note("it is quiet");
        self.core.lose(&[]);
        for gnb in 0..GNBS {
            self.set_up(gnb);
        }
        let end = self.now + REST_MS * MS;
        let least = self.now + 130_000 * MS;
        while !(self.now > least && self.is_at_rest()) {
            assert!(self.step(end), "under way for ever: {:?}", self.under_way());
        }
    }

    fn is_at_rest(&self) -> bool {
        self.under_way().is_empty() && self.ues.iter().all(|phone| !phone.waits)
    }

    fn under_way(&self) -> Vec<&'static str> {
        let smf = self.core.smf().unwrap();
        let all = self.amf().procedures().into_iter();
        all.chain(smf.procedures()).collect()
    }

    fn pass(&mut self, ms: u64) {
        let end = self.now + ms * MS;
        while self.step(end) {}
    }

    /// A packet goes to the gNB that the SMF has told the UPF of; if the UE is idle the SMF hears of it.
    pub fn assert_upf_agrees(&mut self) {
        let all: Vec<SessionView> = (1..=UES)
            .flat_map(|number| self.core.smf().unwrap().sessions_of(&supi(number)))
            .filter(|session| session.at_upf.is_some())
            .collect();
        for session in all {
            // UEs of sessions before it may have gone on when they were paged.
            let smf = self.core.smf().unwrap();
            let mut now = smf.sessions_of(&session.supi).into_iter();
            let now = now.find(|one| one.seid == session.seid);
            let Some(ue) = session.address.ipv4.filter(|_| now.is_some()) else {
                continue;
            };
            let reports = smf.counters().downlink_data_reports;
            self.note(format!(
                "a packet for {}, session {}",
                session.supi, session.identity
            ));
            // What has waited for the one before has left by now.
            self.upf.upf.n3.take_output();
            let inner = frames::packet(kit::SERVER, ue, 100, 9);
            self.upf.upf.n6.inject(&frames::from_network(&inner));
            let sent = self.upf.at(1_000 * MS + self.now);
            self.upf_sends(sent);
            let left = self.upf.upf.n3.take_output();
            let mut tunnels = left
                .iter()
                .filter_map(|(_, frame)| match frames::read_n3(frame) {
                    frames::N3Frame::Data { to, .. } => Some(to.teid.get()),
                    _ => None,
                });
            let expected = now.and_then(|now| now.downlink).map(|tunnel| tunnel.teid);
            assert_eq!(tunnels.next(), expected, "where the UPF sends {session:?}");
            self.pass(10_000);
            let smf = self.core.smf().unwrap();
            let is_told = smf.counters().downlink_data_reports > reports;
            assert_eq!(
                is_told,
                expected.is_none(),
                "what the UPF reports of {session:?}"
            );
        }
        self.quiet();
    }

    /// Each UE registers anew, has a session, and leaves. Then nothing is left.
    pub fn end(&mut self) {
        for phone in 0..self.ues.len() {
            self.note(format!("UE {phone} comes for the last time"));
            self.ues[phone].ue.follow_on = true;
            let nas = self.ues[phone].ue.register(RegistrationKind::Initial);
            self.wait(phone);
            self.connect(phone, nas);
            self.pass(2_000);
            let ue = &self.ues[phone].ue;
            assert_eq!(ue.state(), UeState::Registered, "UE {phone} is stuck");
            let nas = self.ues[phone].ue.establish(1, &wanted(SessionType::Ipv4));
            self.say(phone, nas);
            self.pass(2_000);
            let has_session = self.ues[phone].ue.sessions().get(1).is_some();
            assert!(has_session, "UE {phone} gets no session");
        }
        for phone in 0..self.ues.len() {
            let nas = self.ues[phone].ue.deregister(false, true).unwrap();
            self.say(phone, nas);
            self.pass(2_000);
            let state = self.ues[phone].ue.state();
            assert_eq!(state, UeState::Deregistered, "UE {phone} cannot leave");
        }
        self.pass(200_000);
        self.assert_registered();
        self.assert_empty();
    }

    /// The NRF knows all functions, and has heard their last heart-beats.
    fn assert_registered(&self) {
        let all = self.core.nrf().unwrap().profiles();
        let there = all.filter(|one| one.status == NfStatus::Registered && one.missed == 0);
        assert_eq!(there.count(), 7, "{:?}", self.core.nrf().unwrap());
        let counters = self.core.nrf().unwrap().counters();
        assert_eq!(counters.heart_beats > 0, self.faults.nrf);
        assert_eq!(counters.no_room, 0);
    }

    fn assert_empty(&mut self) {
        let at_upf = self.upf.upf.core.up.sessions();
        self.note(format!("left at the UPF: {at_upf:?}"));
        let smf = self.core.smf().unwrap();
        let amf = self.amf();
        let mut left: Vec<(&str, usize)> = amf.sizes();
        left.extend(smf.sizes());
        left.extend(self.core.pcf().unwrap().sizes());
        left.extend(self.core.udr().expect("its own").sizes());
        left.push(("UPF: sessions", at_upf.len()));
        let stored = self.core.stored().filter(|key| key.starts_with(b"amf/ue/"));
        left.push(("store", stored.count()));
        if let Some(memory) = &self.memory {
            let of_ues = memory.keys().into_iter().filter(|key| key != "core/start");
            let of_ues: Vec<String> = of_ues.collect();
            assert!(
                of_ues.is_empty(),
                "what a later core would find: {of_ues:?}"
            );
        }
        for (number, station) in self.gnbs.iter().enumerate() {
            let connections = station.gnb.connections();
            assert_eq!(connections, 0, "UEs that gNB {number} still has");
        }
        left.retain(|(_, size)| *size != 0);
        assert!(left.is_empty(), "what is left: {left:?}");
    }
}
