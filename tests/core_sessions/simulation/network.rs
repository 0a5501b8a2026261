//! Simulation of the core, its network: UEs, gNBs and the UPF that are there, and what is on its way between them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use sluice_amf::Amf;
use sluice_n2::{ErrorIndication, FromAmf, RanUeId};
use sluice_pcf::Pcf;
use sluice_sbi::{AssociationId, Instant, Now};
use sluice_smf::Smf;
use sluice_testbed::apart;
use sluice_ue::{Gnb, Ue};
use sluice_wiring::Core;
use sluice_wiring::contexts::Start;

use super::Random;
use crate::contexts::Memory;
use crate::flows::{policy, rule};
use crate::harness::{RealUpf, smf_config};
use crate::modification::allowing;
use crate::world::{self, BEGIN_S, Upf as _, setup, slice, supi, tai};

pub const MS: u64 = 1_000_000;
pub const UES: u32 = 4;
pub const GNBS: usize = 3;

/// With heart-beats that are missed within the time of a fault, and answers that do not count for long.
const NRF: sluice_nrf::Config = sluice_nrf::Config {
    heart_beat_s: 1,
    validity_s: 3,
};

/// Something that happens at its time.
#[derive(Debug)]
pub enum Event {
    ToAmf(usize, AssociationId, Vec<u8>),
    ToGnb(usize, AssociationId, Vec<u8>),
    ToUe(usize, RanUeId, Vec<u8>),
    FromUe(usize, RanUeId, Vec<u8>),
    ToUpf(Vec<u8>),
    FromUpf(Vec<u8>),
    /// A UE has waited for so long that it gives up, if it still waits for this.
    GiveUp(usize, u64),
    /// A UE hears that it is released.
    Gone(usize, RanUeId),
    /// A UE that was told to go comes to its target.
    Arrive(usize, usize, usize, RanUeId),
    /// Somebody does something.
    Act,
    /// A gNB is back.
    Back(usize),
    /// The UPF looks at its clock.
    Tick,
    /// Functions and the NRF hear each other again, unless something else was lost since.
    Heard(u64),
}

/// A UE and what it waits for.
pub struct TestUe {
    pub ue: Ue,
    /// At which gNB, by which name.
    pub at: Option<(usize, RanUeId)>,
    /// Counts up with each procedure that it begins.
    pub procedure: u64,
    pub waits: bool,
    /// Its last message.
    pub last: Vec<u8>,
}

/// A gNB and its association.
pub struct Station {
    pub gnb: Gnb,
    /// None while it is away.
    pub at: Option<AssociationId>,
}

/// What fails beside messages, gNBs and UEs.
#[derive(Clone, Copy)]
pub struct Faults {
    /// N4 falls silent, and the UPF is restarted.
    pub upf: bool,
    /// Functions tell the NRF that they are there, and it does not hear all of it, nor they what it answers.
    pub nrf: bool,
    /// The core is killed, and goes on with what it has stored.
    pub core: bool,
}

impl Faults {
    fn of(seed: u64) -> Self {
        Self {
            upf: seed.is_multiple_of(2),
            nrf: seed.is_multiple_of(3),
            core: seed.is_multiple_of(5),
        }
    }
}

/// A core that goes on with what is stored, if anything is.
pub fn core(faults: Faults, memory: Option<&Memory>, now: Now) -> Core {
    let stored = memory.map(Memory::stored).unwrap_or_default();
    let start = Start::after(&stored, now.unix_s);
    let mut core = world::core_of_start(world::config(), true, start.starts - 1);
    for number in 4..=UES {
        let subscriber = sluice_udr::Subscriber {
            credentials: world::credentials(),
            sqn: sluice_security::Sqn::default(),
            ambr_bps: (1_000_000_000, 500_000_000),
            slices: vec![(slice(1), true), (slice(2), false)],
            networks: world::networks(),
        };
        assert!(
            core.udr_mut()
                .expect("its own")
                .insert(supi(number), subscriber)
        );
    }
    let allowed = allowing().ue_requests;
    let fixed = rule("fixed", 10, 8, &["permit inout tcp from any to any"]);
    let policies = vec![sluice_pcf::Policy {
        ue_requests: allowed,
        ..policy(vec![fixed])
    }];
    let pcf = Pcf::new(sluice_pcf::Config {
        policies,
        ..Default::default()
    })
    .unwrap();
    let smf = sluice_smf::Config {
        started_unix_s: start.begun_unix_s,
        ..smf_config()
    };
    let core = core.with_smf(Smf::new(smf).unwrap()).with_pcf(pcf);
    let mut core = match faults.nrf {
        true => core.with_nrf(NRF),
        false => core,
    };
    if let Some(memory) = memory {
        core.resume(now, start, &stored, Box::new(memory.clone()));
    }
    core
}

pub struct Simulation {
    pub random: Random,
    pub core: Core,
    pub now: u64,
    pub upf: RealUpf,
    pub gnbs: Vec<Station>,
    pub ues: Vec<TestUe>,
    queue: BTreeMap<(u64, u64), Event>,
    events: u64,
    /// When the last message of a way that keeps the order arrives.
    ways: BTreeMap<(u8, u64), u64>,
    pub associations: u32,
    pub faults: Faults,
    /// What a core that is killed leaves to the next one; none where none is killed.
    pub memory: Option<Memory>,
    /// How often functions and the NRF began not to hear each other.
    pub nrf_faults: u64,
    /// N4 loses everything until then.
    pub silent_until: u64,
    /// Nothing is lost any more, and nobody does anything by itself.
    pub is_quiet: bool,
    /// What happened, for a test that fails.
    log: Vec<String>,
    /// Of all octets for gNBs and UPF, and how many messages there were.
    pub digest: (u64, u64),
}

/// Ways that keep the order of what goes on them.
#[derive(Clone, Copy)]
pub enum Way {
    FromGnb(usize),
    ToGnb(usize, u16),
    Radio(usize, RanUeId, bool),
}

impl Way {
    fn key(self) -> (u8, u64) {
        match self {
            Self::FromGnb(gnb) => (0, gnb as u64),
            Self::ToGnb(gnb, stream) => (1, (gnb as u64) << 16 | u64::from(stream)),
            Self::Radio(gnb, ran, up) => (2 + u8::from(up), (gnb as u64) << 32 | u64::from(ran.0)),
        }
    }
}

fn gnb(number: usize, retains_ues: bool) -> Gnb {
    let mut setup = setup(tai(), &[slice(1), slice(2)]);
    setup.gnb.id = number as u32 + 1;
    setup.name = Some(format!("gnb-{number}"));
    let mut gnb = Gnb::new(setup, tai());
    gnb.address = std::net::Ipv4Addr::new(192, 0, 2, 51 + number as u8).into();
    gnb.next_teid = 1 + ((number as u32) << 16);
    gnb.retains_ues = retains_ues;
    gnb
}

impl Simulation {
    pub fn new(seed: u64) -> Self {
        let faults = Faults::of(seed);
        let memory = faults.core.then(Memory::default);
        let now = Now {
            instant: Instant(0),
            unix_s: BEGIN_S,
        };
        let core = core(faults, memory.as_ref(), now);
        let phone = |number| TestUe {
            ue: world::ue(number),
            at: None,
            procedure: 0,
            waits: false,
            last: Vec::new(),
        };
        let station = |number| Station {
            gnb: gnb(number, faults.core && number == 0),
            at: None,
        };
        Self {
            random: Random(seed),
            core,
            now: 0,
            upf: RealUpf::new(),
            gnbs: (0..GNBS).map(station).collect(),
            ues: (1..=UES).map(phone).collect(),
            queue: BTreeMap::new(),
            events: 0,
            ways: BTreeMap::new(),
            associations: 0,
            faults,
            memory,
            nrf_faults: 0,
            silent_until: 0,
            is_quiet: false,
            log: Vec::new(),
            digest: (0, 0),
        }
    }

    pub fn time(&self) -> Now {
        Now {
            instant: Instant(self.now),
            unix_s: BEGIN_S + self.now / (1_000 * MS),
        }
    }

    /// For whoever looks at a seed that fails.
    pub fn note(&mut self, what: impl Into<String>) {
        let (at, what) = (self.now / MS, what.into());
        self.log.push(format!("{at:>7} ms  {what}"));
    }

    /// A datagram of N4, and when each copy arrives, in milliseconds; of one that is lost there is none.
    fn note_n4(&mut self, way: &str, octets: &[u8], delays: &[u64]) {
        if let Ok((header, _)) = sluice_wire::pfcp::Header::parse(octets) {
            let (kind, seid) = (header.message_type, header.seid);
            let number = header.sequence;
            self.note(format!(
                "      {way} UPF: {kind:?} {seid:?} {number:?} in {delays:?} ms"
            ));
        }
    }

    /// The last things that happened.
    pub fn story(&self, most: usize) -> String {
        let mut text = String::new();
        let first = self.log.len().saturating_sub(most);
        for line in &self.log[first..] {
            let _ = writeln!(text, "{line}");
        }
        text
    }

    /// It happens in so many milliseconds.
    pub fn later(&mut self, after_ms: u64, event: Event) {
        self.events += 1;
        let at = self.now + after_ms * MS;
        self.queue.insert((at, self.events), event);
    }

    /// It arrives in a while, not before what went the same way.
    pub fn send(&mut self, way: Way, most_ms: u64, event: Event) {
        let delay = self.random.between(1, most_ms) * MS;
        let last = self.ways.entry(way.key()).or_default();
        let at = (self.now + delay).max(*last + 1);
        *last = at;
        self.events += 1;
        self.queue.insert((at, self.events), event);
    }

    /// The next thing happens; false if there is none until then.
    pub fn step(&mut self, until: u64) -> bool {
        let next = self.queue.first_key_value().map(|((at, _), _)| *at);
        let deadline = apart::next_deadline(&self.core).0;
        let at = next.unwrap_or(u64::MAX).min(deadline).max(self.now);
        if at > until {
            self.now = until;
            return false;
        }
        self.now = at;
        if next.is_some_and(|next| next <= deadline.max(self.now)) && next == Some(at) {
            let (_, event) = self.queue.pop_first().unwrap();
            self.happen(event);
        } else {
            let now = self.time();
            self.core.time(now);
        }
        self.drain();
        true
    }

    /// The AMF, which is the core's own.
    pub fn amf(&self) -> &Amf {
        self.core.amf().expect("its own AMF")
    }

    /// What the core sends goes on its way.
    pub fn drain(&mut self) {
        let now = self.time();
        let said = apart::exchange(&mut self.core, now);
        for message in self.core.take_to_ran() {
            self.digest(&message.octets);
            let gnb = (0..GNBS).find(|gnb| self.gnbs[*gnb].at == Some(message.association));
            if let Some(gnb) = gnb {
                let event = Event::ToGnb(gnb, message.association, message.octets);
                self.send(Way::ToGnb(gnb, message.stream), 20, event);
            }
        }
        for message in self.core.take_to_upf() {
            self.digest(&message.octets);
            let delays = self.datagram();
            self.note_n4("to", &message.octets, &delays);
            for delay in delays {
                self.later(delay, Event::ToUpf(message.octets.clone()));
            }
        }
        for line in said.0 {
            let who = line.supi.map(|supi| supi.to_string());
            let who = who.map(|who| who[who.len() - 1..].to_owned());
            self.note(format!(
                "    {} {} -> {} {}",
                who.unwrap_or_default(),
                line.from,
                line.to,
                line.what
            ));
        }
        let amf = self.amf().counters().panics;
        let smf = self.core.smf().unwrap().counters().panics;
        assert_eq!((amf, smf), (0, 0), "a procedure panicked");
    }

    fn digest(&mut self, octets: &[u8]) {
        let (hash, number) = &mut self.digest;
        for octet in octets {
            *hash = (*hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3);
        }
        *number += 1;
    }

    /// When copies of a datagram arrive, in milliseconds; none of one that is lost.
    fn datagram(&mut self) -> Vec<u64> {
        if self.now < self.silent_until {
            return Vec::new();
        }
        if self.is_quiet {
            return vec![1];
        }
        let copies = match self.random.below(100) {
            0..5 => 0,
            5..8 => 2,
            _ => 1,
        };
        (0..copies).map(|_| self.random.between(1, 40)).collect()
    }

    fn happen(&mut self, event: Event) {
        match event {
            Event::ToAmf(gnb, association, octets) => {
                // What was under way over an association that is gone is lost.
                if self.gnbs[gnb].at == Some(association) {
                    let now = self.time();
                    self.core.n2(now, association, 0, &octets);
                }
            }
            Event::ToGnb(gnb, association, octets) => {
                if self.gnbs[gnb].at == Some(association) {
                    self.forget_unknown(gnb, &octets);
                    let done = self.gnbs[gnb].gnb.receive(&octets);
                    self.carry_out(gnb, done);
                }
            }
            Event::ToUe(gnb, ran, octets) => self.hear(gnb, ran, &octets),
            Event::FromUe(gnb, ran, octets) => {
                if let Some(octets) = self.gnbs[gnb].gnb.uplink(ran, octets) {
                    self.tell_amf(gnb, octets);
                }
            }
            Event::ToUpf(octets) => {
                let answers = self.upf.take(&octets);
                self.upf_sends(answers);
            }
            Event::FromUpf(octets) => {
                let now = self.time();
                self.core.n4(now, world::N4, &octets);
            }
            Event::Tick => {
                let sent = self.upf.at(1_000 * MS + self.now);
                self.upf_sends(sent);
                self.later(500, Event::Tick);
            }
            Event::GiveUp(phone, procedure) => self.give_up(phone, procedure),
            Event::Arrive(phone, from, to, ran) => self.arrive(phone, from, to, ran),
            Event::Gone(gnb, ran) => self.released(gnb, ran),
            Event::Act => self.act(),
            Event::Back(gnb) => self.set_up(gnb),
            Event::Heard(fault) if fault == self.nrf_faults => self.core.lose(&[]),
            Event::Heard(_) => {}
        }
    }

    /// A gNB has a UE that the AMF does not know (TS 38.413, 8.7.5.2).
    fn forget_unknown(&mut self, gnb: usize, octets: &[u8]) {
        let Ok(FromAmf::ErrorIndication(ErrorIndication { ran, .. })) = FromAmf::decode(octets)
        else {
            return;
        };
        if let Some(ran) = ran {
            self.note(format!("gNB {gnb} forgets {ran:?}"));
            self.gnbs[gnb].gnb.forget_ue(ran);
            self.send(Way::Radio(gnb, ran, false), 30, Event::Gone(gnb, ran));
        }
    }

    pub fn upf_sends(&mut self, messages: Vec<Vec<u8>>) {
        for octets in messages {
            let delays = self.datagram();
            self.note_n4("from", &octets, &delays);
            for delay in delays {
                self.later(delay, Event::FromUpf(octets.clone()));
            }
        }
    }

    pub fn tell_amf(&mut self, gnb: usize, octets: Vec<u8>) {
        if let Some(association) = self.gnbs[gnb].at {
            let event = Event::ToAmf(gnb, association, octets);
            self.send(Way::FromGnb(gnb), 20, event);
        }
    }

    /// A gNB comes, or comes back.
    pub fn set_up(&mut self, gnb: usize) {
        if self.gnbs[gnb].at.is_some() {
            return;
        }
        self.associations += 1;
        self.gnbs[gnb].at = Some(AssociationId(100 + self.associations));
        self.note(format!("gNB {gnb} sets up"));
        let phones = &self.ues;
        let is_there = |ran| phones.iter().any(|phone| phone.at == Some((gnb, ran)));
        self.gnbs[gnb].gnb.forget_gone(is_there);
        let setup = self.gnbs[gnb].gnb.setup();
        self.tell_amf(gnb, setup);
    }
}
