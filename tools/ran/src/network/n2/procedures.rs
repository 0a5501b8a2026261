//! Procedures of UEs with SIMs: begun by the script, carried on by messages, counted when they end.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sluice_host::clock;
use sluice_ids::{AmfId, Guami, Guti, Tmsi};
use sluice_n1::RegistrationKind;
use sluice_sctp::Loss;
use sluice_security::Sqn;
use sluice_ue::{Behaviour, Ended, Procedure};

use super::super::Network;
use super::Signalling;
use crate::scenario::{By, SignalKind, Wrong};

/// How long deregistrations at the end may take, all together.
const END_LIMIT: Duration = Duration::from_secs(10);
/// How long procedures that are under way at the end may take before that.
const UNDER_WAY_LIMIT: Duration = Duration::from_secs(2);
/// A sequence number that no network has come to.
const FAR_AHEAD: u64 = 1 << 40;
/// Of UEs that have more data than a radio bearer for it.
const SERVICE_LIMIT: Duration = Duration::from_secs(15);

impl Network {
    pub fn has_sim(&self, ue: usize) -> bool {
        let n2 = self.n2.as_ref();
        n2.is_some_and(|n2| n2.fleet_ue_of.contains_key(&ue))
    }

    /// Takes messages of AMFs, at most for so long, and does all that follows. Without N2, sleeps.
    pub fn turn(&mut self, patience: Duration) {
        let Some(mut n2) = self.n2.take() else {
            return std::thread::sleep(patience);
        };
        if let Err(error) = n2.wait(patience) {
            self.fail(format!("N2: {error}"));
            std::thread::sleep(patience);
        }
        self.n2 = Some(n2);
        self.follow();
        self.send_pages();
    }

    /// Starts the next procedures, after messages or steps of the script.
    fn follow(&mut self) {
        // Tunnels first: the network may send packets as soon as it is told of them.
        self.keep_bearers();
        let paged = self.n2.as_mut().map(|n2| n2.fleet.take_paged());
        for fleet_ue in paged.unwrap_or_default() {
            self.wake(fleet_ue, true);
        }
        let ended = self.n2.as_mut().map(|n2| n2.fleet.take_ended());
        for one in ended.unwrap_or_default() {
            self.take_ended(&one);
        }
        self.keep_bearers();
        if let Some(n2) = &mut self.n2 {
            n2.flush();
        }
    }

    fn take_ended(&mut self, ended: &Ended) {
        let Some(n2) = &mut self.n2 else { return };
        let why = n2.tally.add(ended);
        if why.is_some() || ended.procedure == Procedure::Paged {
            n2.pages.end(ended.ue);
        }
        let ue = n2.ue_of.get(ended.ue).copied().unwrap_or(0);
        if let Some(why) = why {
            n2.chains.remove(&ended.ue);
            self.fail_for(ended.procedure.name(), ue, &why);
        } else {
            n2.last_done = Some((ue, Duration::from_nanos(ended.took_ns)));
            self.begin_next(ended.ue);
        }
    }

    /// Begins what a UE does next.
    fn begin_next(&mut self, fleet_ue: usize) {
        let Some(n2) = &mut self.n2 else { return };
        let Some((chain, limit)) = n2.chains.get_mut(&fleet_ue) else {
            return;
        };
        let (next, limit) = (chain.pop_front(), *limit);
        match next {
            Some(procedure) => {
                let now = clock::monotonic_ns();
                let deadline = now + limit.as_nanos() as u64;
                n2.fleet.begin(fleet_ue, procedure, now, deadline);
                if procedure == Procedure::Paged {
                    n2.pages.begin(fleet_ue, Instant::now());
                }
            }
            None => {
                n2.chains.remove(&fleet_ue);
            }
        }
    }

    /// Begins procedures of a UE, one after the other, which were due at a time. False if it is busy.
    pub fn begin(&mut self, ue: usize, what: SignalKind, due_ns: u64, limit: Duration) -> bool {
        let Some(n2) = &mut self.n2 else { return false };
        let Some(fleet_ue) = n2.fleet_ue_of.get(&ue).copied() else {
            return false;
        };
        let Some(one) = n2.fleet.ues().get(fleet_ue) else {
            return false;
        };
        if one.is_busy() || n2.chains.contains_key(&fleet_ue) {
            return false;
        }
        let wanted = one.wanted.keys().copied();
        let there = one.ue.sessions().status();
        let there = (1..16).filter(|session| there & 1 << session != 0);
        let mut chain: VecDeque<Procedure> = match what {
            SignalKind::Register(kind) => [Procedure::Register(kind)].into(),
            SignalKind::Establish(Some(session)) => [Procedure::Establish(session)].into(),
            SignalKind::Establish(None) => wanted.map(Procedure::Establish).collect(),
            SignalKind::Release(Some(session)) => [Procedure::Release(session)].into(),
            SignalKind::Release(None) => there.map(Procedure::Release).collect(),
            SignalKind::Idle => [Procedure::Idle].into(),
            SignalKind::Service => [Procedure::Service].into(),
            SignalKind::Page => [Procedure::Idle, Procedure::Paged].into(),
            SignalKind::MoveTunnels => [Procedure::MoveTunnels].into(),
            SignalKind::HandOver(by, to) => {
                // The next of those with an AMF, or one by its name.
                let next = |at: usize| (at + 1) % n2.links.len().max(1);
                let named = |gnb: usize| n2.station_of.get(&gnb).copied();
                let here = one.at().map_or(one.gnb, |(gnb, _)| gnb);
                let to = to.map_or(Some(next(here)), named);
                let how = match by {
                    By::Xn => Procedure::PathSwitch,
                    By::N2 => Procedure::Handover,
                };
                to.map(how).into_iter().collect()
            }
            SignalKind::Deregister { switch_off } => [Procedure::Deregister { switch_off }].into(),
            SignalKind::Attach => {
                let first = Procedure::Register(RegistrationKind::Initial);
                [first]
                    .into_iter()
                    .chain(wanted.map(Procedure::Establish))
                    .collect()
            }
        };
        if chain.is_empty() && matches!(what, SignalKind::HandOver(..)) {
            let why = "there is no gNB with an AMF to go to";
            self.fail_for("handover", ue, &why.to_owned());
            return true;
        }
        if what == SignalKind::Page {
            let Some(to) = self.page_address(ue) else {
                let why = "the UE has no session with an address";
                self.fail_for("paging", ue, &why.to_owned());
                return true;
            };
            if let Some(n2) = &mut self.n2 {
                n2.pages.expect(fleet_ue, to);
            }
        }
        let Some(n2) = &mut self.n2 else { return false };
        if let Some(first) = chain.pop_front() {
            n2.chains.insert(fleet_ue, (chain, limit));
            let deadline = clock::monotonic_ns() + limit.as_nanos() as u64;
            n2.fleet.begin(fleet_ue, first, due_ns, deadline);
            self.follow();
        }
        true
    }

    /// UEs whose procedures are under way.
    pub fn busy(&self) -> usize {
        let n2 = self.n2.as_ref();
        n2.map_or(0, |n2| n2.chains.len().max(n2.fleet.busy()))
    }

    /// Whether a UE has something under way.
    pub fn is_busy(&self, ue: usize) -> bool {
        let Some(n2) = &self.n2 else { return false };
        let Some(fleet_ue) = n2.fleet_ue_of.get(&ue) else {
            return false;
        };
        n2.chains.contains_key(fleet_ue)
            || n2
                .fleet
                .ues()
                .get(*fleet_ue)
                .is_some_and(|one| one.is_busy())
    }

    /// Whether a UE with a SIM is registered.
    pub fn is_registered(&self, ue: usize) -> bool {
        let Some(n2) = &self.n2 else { return false };
        let fleet_ue = n2
            .fleet_ue_of
            .get(&ue)
            .and_then(|at| n2.fleet.ues().get(*at));
        fleet_ue.is_some_and(|one| one.ue.state() == sluice_ue::UeState::Registered)
    }

    /// A UE does something wrong from now on, or once.
    pub fn misbehave(&mut self, ue: usize, what: Wrong) {
        let Some(n2) = &mut self.n2 else { return };
        let Some(one) = n2.fleet_ue_of.get(&ue).and_then(|at| n2.fleet.ue_mut(*at)) else {
            return;
        };
        let is = |wrong| what == wrong;
        match what {
            Wrong::Sqn => one.ue.sim_mut().advance(Sqn::new(FAR_AHEAD)),
            Wrong::Keys => one.ue.forget_keys(),
            Wrong::Guti => {
                let guami = one.ue.guti().map(|guti| guti.guami);
                let nobody = |plmn| AmfId::new(255, 1023, 63).map(|amf| Guami { plmn, amf });
                let guami = guami.or_else(|| nobody(one.ue.network()));
                if let Some(guami) = guami {
                    let tmsi = Tmsi([0xde, 0xad, 0xbe, 0xef]);
                    one.ue.call_itself(Guti { guami, tmsi });
                }
            }
            _ => {
                one.ue.behaviour = Behaviour {
                    silent: is(Wrong::Silent),
                    wrong_res: is(Wrong::Res),
                    ngksi_in_use: is(Wrong::Ngksi),
                    refuse_security_mode: is(Wrong::SecurityMode),
                    wrong_mac: is(Wrong::Mac),
                    no_complete: is(Wrong::NoComplete),
                    ..Behaviour::default()
                };
            }
        }
    }

    /// A gNB loses its UEs, and tells the AMF (NG Reset).
    pub fn reset_n2(&mut self, gnb: usize) {
        if let Some(n2) = &mut self.n2
            && let Some(at) = n2.station_of.get(&gnb)
        {
            n2.fleet.reset(*at);
            self.follow();
        }
    }

    /// A gNB starts anew: its association is aborted, and another one follows.
    pub(in crate::network) fn restart_n2(&mut self, gnb: usize) {
        let Some(n2) = &mut self.n2 else { return };
        let Some(at) = n2.station_of.get(&gnb).copied() else {
            return;
        };
        n2.fleet.restart(at);
        if let Some(link) = n2.links.get_mut(at) {
            link.abort();
            link.connect();
        }
        self.follow();
    }

    /// A UE whose device has packets while it is idle comes back, as does one that is paged: once its gNB has
    /// an AMF. Only a paging wakes one that waits for it.
    pub(super) fn wake(&mut self, fleet_ue: usize, is_paged: bool) {
        let Some(n2) = &mut self.n2 else { return };
        let gnb = n2.fleet.ues().get(fleet_ue).map(|one| one.gnb);
        if !gnb.is_some_and(|gnb| n2.is_up(gnb)) {
            return;
        }
        let is_answered = is_paged && n2.answer_paging(fleet_ue);
        let is_begun = is_answered || n2.request_service(fleet_ue, is_paged);
        let ue = n2.ue_of.get(fleet_ue).and_then(|ue| self.ues.get_mut(*ue));
        if let Some(ue) = ue.filter(|_| is_paged && is_begun) {
            ue.pages_answered += 1;
        }
    }

    /// Deregisters all UEs and ends all associations; how each has ended.
    pub fn close_n2(&mut self) -> Vec<Option<Loss>> {
        if self.n2.is_none() {
            return Vec::new();
        }
        let begun = std::time::Instant::now();
        if let Some(n2) = &mut self.n2 {
            n2.chains.clear();
        }
        // A UE that is busy cannot deregister.
        while self.busy() > 0 && begun.elapsed() < UNDER_WAY_LIMIT {
            self.turn(Duration::from_millis(5));
        }
        // The deregistrations of the end are no part of the script, and take no time.
        let tally = self.n2.as_ref().map(|n2| n2.tally.clone());
        self.tally = tally.unwrap_or_default();
        let is_late = |_: &Self| begun.elapsed() >= END_LIMIT;
        for ue in 0..self.ues.len() {
            while self.busy() >= 64 && !is_late(self) {
                self.turn(Duration::from_millis(5));
            }
            if self.is_registered(ue) && !is_late(self) {
                let what = SignalKind::Deregister { switch_off: true };
                self.begin(ue, what, clock::monotonic_ns(), Duration::from_secs(3));
            }
        }
        while self.busy() > 0 && !is_late(self) {
            self.turn(Duration::from_millis(5));
        }
        let left = self.n2.as_ref().map_or(0, |n2| n2.fleet.registered());
        if left > 0 {
            self.fail(format!("{left} UEs could not deregister at the end"));
        }
        self.n2.take().map_or_else(Vec::new, Signalling::end)
    }
}

impl Signalling {
    /// A UE that waits for its paging answers it. False if it does not wait.
    fn answer_paging(&mut self, fleet_ue: usize) -> bool {
        let is_answered = self.fleet.answer_paging(clock::monotonic_ns(), fleet_ue);
        if is_answered {
            self.pages.end(fleet_ue);
        }
        is_answered
    }

    /// An idle UE comes back by itself. False if it is busy or connected.
    fn request_service(&mut self, fleet_ue: usize, is_paged: bool) -> bool {
        let Some(one) = self.fleet.ue_mut(fleet_ue) else {
            return false;
        };
        if one.is_busy() || one.at().is_some() {
            return false;
        }
        one.ue.is_paged = is_paged;
        let now = clock::monotonic_ns();
        let deadline = now + SERVICE_LIMIT.as_nanos() as u64;
        let is_begun = self
            .fleet
            .begin(fleet_ue, Procedure::Service, now, deadline);
        if let Some(one) = self.fleet.ue_mut(fleet_ue) {
            one.ue.is_paged = false;
        }
        is_begun
    }
}
