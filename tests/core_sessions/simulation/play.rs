//! Simulation of the core, protocol ends: what UEs and gNBs do because the network says something, or nothing.

use sluice_n1::RegistrationKind;
use sluice_n2::RanUeId;
use sluice_ue::{FromGnb, UeState};

use super::network::{Event, Simulation, Way};

/// T3510, T3517 and T3521 (TS 24.501, 10.2).
const GIVE_UP_MS: u64 = 15_000;

impl Simulation {
    /// A gNB does what it was told.
    pub fn carry_out(&mut self, gnb: usize, done: Vec<FromGnb>) {
        for done in done {
            match done {
                FromGnb::ToAmf(octets) => self.tell_amf(gnb, octets),
                FromGnb::ToUe(ran, nas) => {
                    let is_lost = !self.is_quiet && self.random.percent(3);
                    if !is_lost {
                        let event = Event::ToUe(gnb, ran, nas);
                        self.send(Way::Radio(gnb, ran, false), 30, event);
                    }
                }
                FromGnb::Released(ran) => {
                    // After what it was told before.
                    self.send(Way::Radio(gnb, ran, false), 30, Event::Gone(gnb, ran));
                }
            }
        }
        self.gnbs[gnb].gnb.take_answers();
        for page in self.gnbs[gnb].gnb.take_paged() {
            self.page(gnb, page.s_tmsi);
        }
        for ran in self.gnbs[gnb].gnb.take_commanded() {
            self.commanded(gnb, ran);
        }
    }

    pub fn phone_at(&self, gnb: usize, ran: RanUeId) -> Option<usize> {
        self.ues
            .iter()
            .position(|phone| phone.at == Some((gnb, ran)))
    }

    pub fn released(&mut self, gnb: usize, ran: RanUeId) {
        let Some(phone) = self.phone_at(gnb, ran) else {
            return;
        };
        self.note(format!("UE {phone} is released by gNB {gnb}"));
        self.ues[phone].at = None;
        // What it waited for will not come (TS 24.501, 5.5.1.2.7 and 5.6.1.7).
        if std::mem::take(&mut self.ues[phone].waits) {
            let is_registering = self.ues[phone].ue.state() == UeState::Registering;
            if is_registering {
                self.ues[phone].ue.deregister_locally();
            }
        }
    }

    /// A UE hears its gNB.
    pub fn hear(&mut self, gnb: usize, ran: RanUeId, nas: &[u8]) {
        let Some(phone) = self.phone_at(gnb, ran) else {
            return;
        };
        let services = self.ues[phone].ue.services();
        let answers = self.ues[phone].ue.receive(nas);
        let ue = &self.ues[phone].ue;
        let is_served = ue.services() > services;
        let is_done = ue.state() != UeState::Registering && self.ues[phone].waits;
        if is_served || is_done {
            self.ues[phone].waits = false;
        }
        for answer in answers {
            self.say(phone, answer);
        }
    }

    /// A UE says something where it is.
    pub fn say(&mut self, phone: usize, nas: Vec<u8>) {
        let Some((gnb, ran)) = self.ues[phone].at else {
            return;
        };
        self.ues[phone].last.clone_from(&nas);
        let is_lost = !self.is_quiet && self.random.percent(3);
        if !is_lost && !nas.is_empty() {
            let event = Event::FromUe(gnb, ran, nas);
            self.send(Way::Radio(gnb, ran, true), 30, event);
        }
    }

    /// A UE comes to a gNB with its first message; what it had before is gone for it.
    pub fn connect(&mut self, phone: usize, nas: Vec<u8>) {
        let there: Vec<usize> = (0..self.gnbs.len())
            .filter(|gnb| self.gnbs[*gnb].at.is_some())
            .collect();
        if there.is_empty() || nas.is_empty() {
            return;
        }
        let gnb = there[self.random.below(there.len() as u64) as usize];
        self.leave(phone);
        let s_tmsi = self.ues[phone].ue.guti().map(sluice_ids::Guti::s_tmsi);
        let (ran, octets) = self.gnbs[gnb].gnb.connect(nas, s_tmsi);
        self.ues[phone].at = Some((gnb, ran));
        self.tell_amf(gnb, octets);
    }

    /// The radio is lost: sooner or later the gNB knows it.
    pub fn leave(&mut self, phone: usize) {
        let Some((gnb, ran)) = self.ues[phone].at.take() else {
            return;
        };
        match self.gnbs[gnb].gnb.ask_release(ran) {
            Some(octets) => self.tell_amf(gnb, octets),
            // The AMF has not said a word of it.
            None => self.gnbs[gnb].gnb.forget_ue(ran),
        }
    }

    /// From now on the UE waits for an answer, but not for ever.
    pub fn wait(&mut self, phone: usize) {
        let one = &mut self.ues[phone];
        one.procedure += 1;
        one.waits = true;
        let procedure = one.procedure;
        self.later(GIVE_UP_MS, Event::GiveUp(phone, procedure));
    }

    pub fn give_up(&mut self, phone: usize, procedure: u64) {
        let one = &mut self.ues[phone];
        if !one.waits || one.procedure != procedure {
            return;
        }
        one.waits = false;
        if one.ue.state() == UeState::Registering {
            one.ue.deregister_locally();
        }
        self.note(format!("UE {phone} gives up"));
        self.leave(phone);
    }

    pub fn register(&mut self, phone: usize, kind: RegistrationKind) {
        self.note(format!("UE {phone} registers: {kind:?}"));
        let follow_on = self.random.percent(70);
        let one = &mut self.ues[phone].ue;
        one.follow_on = follow_on;
        let nas = one.register(kind);
        self.wait(phone);
        match self.ues[phone].at.is_some() && self.random.percent(50) {
            true => self.say(phone, nas),
            false => self.connect(phone, nas),
        }
    }

    pub fn request_service(&mut self, phone: usize) {
        let data = self.random.below(16) as u16;
        let one = &mut self.ues[phone].ue;
        one.sessions_mut().set_data(data);
        let Some(nas) = one.request_service() else {
            return;
        };
        self.note(format!("UE {phone} requests service"));
        self.wait(phone);
        self.connect(phone, nas);
    }

    fn page(&mut self, gnb: usize, name: sluice_ids::STmsi) {
        let is_it = |phone: &super::network::TestUe| {
            let called = phone.ue.guti().map(sluice_ids::Guti::s_tmsi);
            phone.at.is_none() && called == Some(name)
        };
        let Some(phone) = self.ues.iter().position(is_it) else {
            return;
        };
        let is_deaf = !self.is_quiet && self.random.percent(20);
        let is_registered = self.ues[phone].ue.state() == UeState::Registered;
        if is_deaf || !is_registered || self.ues[phone].waits {
            return;
        }
        if let Some(nas) = self.ues[phone].ue.answer_page() {
            self.note(format!("UE {phone} answers its page"));
            self.wait(phone);
            let (ran, octets) = self.gnbs[gnb].gnb.connect(nas, Some(name));
            self.ues[phone].at = Some((gnb, ran));
            self.tell_amf(gnb, octets);
        }
    }

    /// A UE is told to go to where it is expected.
    fn commanded(&mut self, from: usize, ran: RanUeId) {
        let Some(phone) = self.phone_at(from, ran) else {
            return;
        };
        let source = &self.gnbs[from].gnb;
        let to = (0..self.gnbs.len())
            .find(|to| *to != from && self.gnbs[*to].gnb.expected(source, ran).is_some());
        let is_lost = !self.is_quiet && self.random.percent(10);
        if let Some(to) = to.filter(|_| !is_lost) {
            let after = self.random.between(5, 400);
            self.later(after, Event::Arrive(phone, from, to, ran));
        }
    }

    pub fn arrive(&mut self, phone: usize, from: usize, to: usize, ran: RanUeId) {
        if self.ues[phone].at != Some((from, ran)) {
            return;
        }
        let there = self.gnbs[to].gnb.expected(&self.gnbs[from].gnb, ran);
        let Some(there) = there else {
            return;
        };
        self.note(format!("UE {phone} goes from gNB {from} to gNB {to}"));
        self.ues[phone].at = Some((to, there));
        if let Some(octets) = self.gnbs[to].gnb.notify(there) {
            self.tell_amf(to, octets);
        }
    }
}
