//! Simulation of the core, events by lot: what UEs, gNBs, operators and the UPF may do at any time.

use std::net::Ipv4Addr;

use sluice_n1::{RegistrationKind, SessionType};
use sluice_n2::RanUeId;
use sluice_sbi::Nf;
use sluice_ue::UeState;

use super::network::{Event, GNBS, MS, Simulation, UES, core};
use crate::flows::{to_ue, voice};
use crate::harness::wanted;
use crate::kit::frames;
use crate::modification::{asks, own_flow, own_rule};
use crate::world::supi;

/// For how long it goes on.
const CHAOS_MS: u64 = 60_000;

impl Simulation {
    /// gNBs set up, the UPF associates, UEs register.
    pub fn begin(&mut self) {
        let now = self.time();
        self.core.time(now);
        self.drain();
        self.later(500, Event::Tick);
        for gnb in 0..GNBS {
            self.set_up(gnb);
        }
        while self.step(1_000 * MS) {}
        for phone in 0..self.ues.len() {
            self.register(phone, RegistrationKind::Initial);
        }
        while self.step(3_000 * MS) {}
    }

    pub fn chaos(&mut self) {
        self.later(1, Event::Act);
        let end = self.now + CHAOS_MS * MS;
        while self.step(end) {}
    }

    pub fn act(&mut self) {
        if self.is_quiet {
            return;
        }
        let phone = self.random.below(u64::from(UES)) as usize;
        match self.random.below(61) {
            0..=5 => self.come_or_register(phone),
            6..=9 => self.come(phone),
            10..=12 => self.go_idle(phone),
            13..=21 => self.establish(phone),
            22 | 23 => self.release(phone),
            24..=26 => self.ask_for_flow(phone),
            27..=32 => self.go_by_n2(phone),
            33..=35 => self.go_by_xn(phone),
            36 | 37 => self.cancel(phone),
            38 => self.register_if_registered(phone),
            39 | 40 => self.begin_anew(phone),
            41 => {
                self.note(format!("UE {phone} is out of reach"));
                self.leave(phone);
            }
            42 => self.deregister(phone),
            43..=50 => self.operate(phone),
            51 => self.repeat(phone),
            52 => self.lose_gnb(),
            53 if self.faults.upf => self.lose_upf(),
            54 => self.take_away(phone),
            55 if self.faults.nrf => self.lose_nrf(),
            56 if self.faults.core => self.kill_core(),
            _ => self.send_down(phone),
        }
        self.drain();
        let after = match self.random.percent(70) {
            true => self.random.between(1, 60),
            false => self.random.between(60, 600),
        };
        self.later(after, Event::Act);
    }

    fn is_registered(&self, phone: usize) -> bool {
        self.ues[phone].ue.state() == UeState::Registered
    }

    fn come_or_register(&mut self, phone: usize) {
        match self.is_registered(phone) {
            true => self.come(phone),
            false if self.ues[phone].waits => {}
            false => self.register(phone, RegistrationKind::Initial),
        }
    }

    fn come(&mut self, phone: usize) {
        let is_idle = self.ues[phone].at.is_none() && !self.ues[phone].waits;
        // Now and then a UE comes again though it is connected.
        if self.is_registered(phone) && (is_idle || self.random.percent(10)) {
            self.request_service(phone);
        } else if !self.ues[phone].waits && !self.is_registered(phone) {
            self.register(phone, RegistrationKind::Initial);
        }
    }

    fn go_idle(&mut self, phone: usize) {
        if let Some((gnb, ran)) = self.ues[phone].at
            && let Some(octets) = self.gnbs[gnb].gnb.ask_release(ran)
        {
            self.note(format!("gNB {gnb} wants UE {phone} released"));
            self.tell_amf(gnb, octets);
        }
    }

    /// One that the UE has, or any.
    fn session(&mut self, phone: usize) -> u8 {
        let any = self.random.between(1, 3) as u8;
        let status = self.ues[phone].ue.sessions().status();
        let there: Vec<u8> = (1..=3).filter(|one| status & 1 << one != 0).collect();
        match there.is_empty() || self.random.percent(20) {
            true => any,
            false => there[self.random.below(there.len() as u64) as usize],
        }
    }

    fn establish(&mut self, phone: usize) {
        let session = self.random.between(1, 3) as u8;
        if self.is_registered(phone) && self.ues[phone].at.is_some() {
            let nas = self.ues[phone]
                .ue
                .establish(session, &wanted(SessionType::Ipv4));
            self.note(format!("UE {phone} asks for session {session}"));
            self.say(phone, nas);
        }
    }

    fn release(&mut self, phone: usize) {
        let session = self.session(phone);
        if self.ues[phone].ue.sessions().get(session).is_some() {
            let nas = self.ues[phone].ue.release(session);
            self.note(format!("UE {phone} releases session {session}"));
            self.say(phone, nas);
        }
    }

    fn ask_for_flow(&mut self, phone: usize) {
        let session = self.session(phone);
        if self.ues[phone].ue.sessions().get(session).is_some() {
            let wanted = asks(own_rule(7_000), own_flow(64_000));
            let nas = self.ues[phone].ue.modify(session, wanted);
            self.note(format!("UE {phone} asks for a flow of session {session}"));
            self.say(phone, nas);
        }
    }

    fn go_by_n2(&mut self, phone: usize) {
        let Some((gnb, ran)) = self.ues[phone].at else {
            return;
        };
        if !self.gnbs[gnb].gnb.has_sessions(ran) {
            return;
        }
        let to = (gnb + 1 + self.random.below(GNBS as u64 - 1) as usize) % GNBS;
        let is_direct = self.random.percent(30);
        let target = &self.gnbs[to].gnb;
        let octets = self.gnbs[gnb].gnb.require_handover(ran, target, is_direct);
        if let Some(octets) = octets {
            self.note(format!("gNB {gnb} wants UE {phone} to go to gNB {to}"));
            self.tell_amf(gnb, octets);
        }
    }

    fn go_by_xn(&mut self, phone: usize) {
        let Some((gnb, ran)) = self.ues[phone].at else {
            return;
        };
        let to = (gnb + 1) % GNBS;
        let has_sessions = self.gnbs[gnb].gnb.has_sessions(ran);
        if !has_sessions || self.gnbs[to].at.is_none() {
            return;
        }
        let Some(leaving) = self.gnbs[gnb].gnb.hand_out(ran) else {
            return;
        };
        self.note(format!("UE {phone} goes by Xn from gNB {gnb} to gNB {to}"));
        let (there, octets) = self.gnbs[to].gnb.take_in(leaving);
        self.ues[phone].at = Some((to, there));
        self.tell_amf(to, octets);
    }

    fn cancel(&mut self, phone: usize) {
        if let Some((gnb, ran)) = self.ues[phone].at
            && let Some(octets) = self.gnbs[gnb].gnb.cancel_handover(ran)
        {
            self.note(format!("gNB {gnb} cancels the handover of UE {phone}"));
            self.tell_amf(gnb, octets);
        }
    }

    /// A gNB has flows of a session no more, or none of it.
    fn take_away(&mut self, phone: usize) {
        let Some((gnb, ran)) = self.ues[phone].at else {
            return;
        };
        let (session, flow) = (self.session(phone), self.random.between(1, 3) as u8);
        let is_whole = self.random.percent(30);
        let gnb_of_it = &mut self.gnbs[gnb].gnb;
        let notify = match is_whole {
            true => gnb_of_it.take_session_away(ran, session),
            false => gnb_of_it.take_flows_away(ran, session, &[flow]),
        };
        if let Some(octets) = notify {
            self.note(format!(
                "gNB {gnb} takes from UE {phone} session {session}, all of it: {is_whole}"
            ));
            self.tell_amf(gnb, octets);
        }
    }

    fn register_if_registered(&mut self, phone: usize) {
        if self.is_registered(phone) && !self.ues[phone].waits {
            self.register(phone, RegistrationKind::Mobility);
        }
    }

    fn begin_anew(&mut self, phone: usize) {
        if self.random.percent(50) {
            self.ues[phone].ue.forget_keys();
        }
        self.register(phone, RegistrationKind::Initial);
    }

    fn deregister(&mut self, phone: usize) {
        let (is_off, is_connected) = (self.random.percent(50), self.ues[phone].at.is_some());
        let nas = self.ues[phone].ue.deregister(is_off, is_connected);
        let Some(nas) = nas else {
            return;
        };
        self.note(format!("UE {phone} deregisters, off: {is_off}"));
        match is_connected {
            true => self.say(phone, nas),
            false => self.connect(phone, nas),
        }
        // T3521: it is deregistered, whatever it hears.
        self.ues[phone].ue.deregister_locally();
        self.ues[phone].waits = false;
    }

    /// An operator does something.
    fn operate(&mut self, phone: usize) {
        let (now, who) = (self.time(), supi(phone as u32 + 1));
        let session = self.session(phone);
        match self.random.below(10) {
            0 => {
                let again = self.random.percent(50);
                let known = self.core.mobility().deregister(now, &who, again);
                self.note(format!("UE {phone} is sent away: {known}"));
            }
            1 => {
                let known = self.core.sessions().release(now, &who, session);
                self.note(format!(
                    "session {session} of UE {phone} is released: {known}"
                ));
            }
            2..=6 => {
                let flow = sluice_sbi::PccRule {
                    precedence: 20,
                    ..voice(64_000)
                };
                let started =
                    sluice_testbed::flows::start(&mut self.core, now, &who, Some(session), flow);
                self.note(format!(
                    "a flow of UE {phone}, {session}, is started: {started:?}"
                ));
            }
            _ => {
                let stopped = self.core.flows().stop(now, &who, Some(session), "voice");
                self.note(format!(
                    "a flow of UE {phone}, {session}, is stopped: {stopped:?}"
                ));
            }
        }
    }

    /// The UE's last message once more, as a radio may do.
    fn repeat(&mut self, phone: usize) {
        let last = self.ues[phone].last.clone();
        self.say(phone, last);
    }

    fn lose_gnb(&mut self) {
        let gnb = self.random.below(GNBS as u64) as usize;
        let Some(association) = self.gnbs[gnb].at else {
            return;
        };
        let gone: Vec<usize> = (0..self.ues.len())
            .filter(|phone| self.ues[*phone].at.is_some_and(|(at, _)| at == gnb))
            .collect();
        for phone in gone {
            self.ues[phone].at = None;
        }
        if self.random.percent(30) {
            self.note(format!("gNB {gnb} says NG Reset"));
            let octets = self.gnbs[gnb].gnb.reset();
            return self.tell_amf(gnb, octets);
        }
        self.note(format!("gNB {gnb} is lost"));
        self.gnbs[gnb].gnb.forget();
        self.gnbs[gnb].at = None;
        let now = self.time();
        self.core.association_lost(now, association);
        let back = self.random.between(200, 8_000);
        self.later(back, Event::Back(gnb));
    }

    /// The core is killed and begins again; gNBs come back one after the other.
    fn kill_core(&mut self) {
        self.note("the core is killed");
        let now = self.time();
        self.core = core(self.faults, self.memory.as_ref(), now);
        self.core.time(now);
        for gnb in 0..GNBS {
            if self.gnbs[gnb].at.take().is_some() {
                self.gnbs[gnb].gnb.forget();
                let back = self.random.between(200, 8_000);
                self.later(back, Event::Back(gnb));
            }
        }
        for phone in &mut self.ues {
            let is_gone = |(gnb, ran): &(usize, RanUeId)| !self.gnbs[*gnb].gnb.has(*ran);
            phone.at = phone.at.filter(|at| !is_gone(at));
        }
    }

    /// The UPF is not heard for a while, or is restarted.
    fn lose_upf(&mut self) {
        if self.random.percent(70) {
            let ms = self.random.between(500, 40_000);
            self.note(format!("N4 is silent for {ms} ms"));
            self.silent_until = self.now + ms * MS;
        } else {
            self.note("the UPF is restarted");
            self.upf.restart();
        }
    }

    /// Some functions, or all, do not reach the NRF for a while, or do not hear it.
    fn lose_nrf(&mut self) {
        const ALL: [Nf; 7] = [
            Nf::Amf,
            Nf::Smf,
            Nf::Ausf,
            Nf::Udm,
            Nf::Udr,
            Nf::Pcf,
            Nf::Nssf,
        ];
        let all = self.random.percent(30);
        let mut ways = Vec::new();
        for nf in ALL {
            if all || self.random.percent(30) {
                ways.extend(self.random.percent(80).then_some((nf, Nf::Nrf)));
                ways.extend(self.random.percent(80).then_some((Nf::Nrf, nf)));
            }
        }
        let ms = self.random.between(500, 20_000);
        self.note(format!("lost with the NRF for {ms} ms: {ways:?}"));
        self.core.lose(&ways);
        self.nrf_faults += 1;
        self.later(ms, Event::Heard(self.nrf_faults));
    }

    /// The data network has something for a UE.
    fn send_down(&mut self, phone: usize) {
        let session = self.session(phone);
        let accept = self.ues[phone].ue.sessions().get(session);
        let address: Option<Ipv4Addr> = accept.and_then(|accept| accept.address.ipv4);
        if let Some(address) = address {
            let inner = to_ue(address, (80, 6_000), 100);
            self.upf.upf.n6.inject(&frames::from_network(&inner));
            let sent = self.upf.at(1_000 * MS + self.now);
            self.upf_sends(sent);
            self.upf.upf.n3.take_output();
            self.upf.upf.n6.take_output();
        }
    }
}
