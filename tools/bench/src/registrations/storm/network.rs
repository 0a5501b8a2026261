//! Core, gNBs and UEs of a storm, and the clock that the core's work moves.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use sluice_core_runtime::Load;
use sluice_host::clock;
use sluice_n1::RegistrationKind;
use sluice_n2::RanUeId;
use sluice_sbi::{AssociationId, Instant, Now};
use sluice_testbed::network::BEGIN_S;
use sluice_ue::{FromGnb, Gnb, Ue, UeState};
use sluice_wiring::Core;

use super::super::virtual_core::{self, Identity};
use super::{Counts, Phase, SECOND_NS, Size};
use crate::Failure;

/// Messages that the core takes before it looks at its load and its timers.
const BURST: usize = 64;
/// From the core to a UE and back, at the least and at the most. UEs that are all as fast would keep step: the core
/// would do the same thing for all of them at a time, which is less work than it has in a network.
const RADIO_NS: (u64, u64) = (10_000_000, 30_000_000);
/// Octets that wait for the core on one association: the receive buffer that Linux gives a socket by default.
const BUFFER_BYTES: usize = 212_992;
/// Overhead of a message in that buffer.
const MESSAGE_BYTES: usize = 64;
/// A UE gives up a registration after T3510 (TS 24.501, 10.2).
const T3510_NS: u64 = 15_000_000_000;

struct StormUe {
    ue: Ue,
    number: u32,
    gnb: usize,
    is_known: bool,
    at: Option<RanUeId>,
    since_ns: u64,
    /// Service requests that were accepted before.
    services: u64,
    /// The AMF has said something to it, or of it.
    is_answered: bool,
    /// When the last of its messages is there; the next one is not before it.
    last_ns: u64,
}

/// A message on its way to the core.
struct ToCore {
    ue: usize,
    octets: Vec<u8>,
    is_first: bool,
}

/// Core, gNBs, UEs and the clock.
pub struct Storm {
    core: Core,
    load: Load,
    gnbs: Vec<Gnb>,
    /// Whether gNBs do what they are asked.
    obeys: bool,
    ues: Vec<StormUe>,
    free: VecDeque<usize>,
    known: VecDeque<usize>,
    by_ran: BTreeMap<(usize, RanUeId), usize>,
    queue: VecDeque<ToCore>,
    queued_bytes: Vec<usize>,
    /// On its way by radio, by the time at which it is there.
    on_air: BTreeMap<(u64, u64), ToCore>,
    /// How many messages went by radio, which also says how long each takes.
    sent: u64,
    kept: u64,
    now_ns: u64,
    cpu_ns: u64,
    counts: Counts,
    service_ns: Vec<u64>,
    highest_percent: u8,
}

impl Storm {
    pub fn new(size: &Size, obeys: bool) -> Result<Self, Failure> {
        let all = size.strangers + size.known;
        let gnbs = (1..=size.gnbs).map(|id| virtual_core::gnb(id as u32));
        let ue = |number: u32| StormUe {
            ue: virtual_core::ue(number, Identity::Null),
            number,
            gnb: number as usize % size.gnbs,
            is_known: number > size.strangers,
            at: None,
            since_ns: 0,
            services: 0,
            is_answered: false,
            last_ns: 0,
        };
        let mut storm = Self {
            core: virtual_core::core_with(all, size.bounds),
            load: Load::default(),
            obeys,
            queued_bytes: vec![0; size.gnbs],
            gnbs: gnbs.collect(),
            ues: (1..=all).map(ue).collect(),
            free: (0..size.strangers as usize).collect(),
            known: (size.strangers as usize..all as usize).collect(),
            by_ran: BTreeMap::new(),
            queue: VecDeque::new(),
            on_air: BTreeMap::new(),
            sent: 0,
            kept: 0,
            now_ns: SECOND_NS,
            cpu_ns: 0,
            counts: Counts::default(),
            service_ns: Vec::new(),
            highest_percent: 0,
        };
        for gnb in 0..storm.gnbs.len() {
            let setup = storm.gnbs[gnb].setup();
            storm.core.n2(storm.now(), association(gnb), 0, &setup);
        }
        storm.deliver();
        match storm.gnbs.iter().all(|gnb| gnb.response().is_some()) {
            true => Ok(storm),
            false => Err("the AMF has refused NG Setup".to_owned()),
        }
    }

    fn now(&self) -> Now {
        Now {
            instant: Instant(self.now_ns),
            unix_s: BEGIN_S + self.now_ns / SECOND_NS,
        }
    }

    /// Events since the last call.
    fn phase(&mut self, began_ns: u64) -> Phase {
        let mut service_ns = std::mem::take(&mut self.service_ns);
        service_ns.sort_unstable();
        Phase {
            counts: std::mem::take(&mut self.counts),
            cpu: Duration::from_nanos(std::mem::take(&mut self.cpu_ns)),
            lasted: Duration::from_nanos(self.now_ns - began_ns),
            service_ns,
            highest_percent: std::mem::take(&mut self.highest_percent),
        }
    }

    pub fn register_known(&mut self) -> Result<(), Failure> {
        let all: Vec<_> = self.known.iter().copied().collect();
        for ue in all {
            let nas = self.ues[ue].ue.register(RegistrationKind::Initial);
            self.come(ue, nas);
            self.settle()?;
            if self.ues[ue].ue.state() != UeState::Registered {
                return Err("a UE that is to be known did not register".to_owned());
            }
        }
        let began_ns = self.now_ns;
        self.phase(began_ns);
        Ok(())
    }

    /// `count` registrations, `window` at a time, and service requests besides, if there are any.
    pub fn closed_loop(
        &mut self,
        count: u64,
        window: usize,
        services_hz: u64,
    ) -> Result<Phase, Failure> {
        let began_ns = self.now_ns;
        let service_ns = SECOND_NS.checked_div(services_hz).unwrap_or(u64::MAX);
        let mut next_service_ns = began_ns.saturating_add(service_ns);
        let mut strangers = 0;
        while self.counts.registered < count {
            while strangers < window as u64 && self.counts.arrivals < count {
                self.arrive()?;
                strangers += 1;
            }
            while next_service_ns <= self.now_ns {
                next_service_ns += service_ns;
                self.ask_for_service();
            }
            self.turn(next_service_ns)?;
            strangers = self.counts.arrivals - self.counts.registered;
            let c = self.counts;
            if c.released + c.unanswered + c.late + c.no_services > 0 {
                return Err(format!("not all were served: {c:?}"));
            }
        }
        let phase = self.phase(began_ns);
        self.settle()?;
        let began_ns = self.now_ns;
        self.phase(began_ns);
        Ok(phase)
    }

    /// A registration each `interval_ns`, and service requests besides, for so long.
    pub fn open_loop(
        &mut self,
        interval_ns: u64,
        size: &Size,
        most_ns: u64,
    ) -> Result<Phase, Failure> {
        let began_ns = self.now_ns;
        let until_ns = began_ns + most_ns;
        let service_ns = SECOND_NS / size.services_hz.max(1);
        let (mut next_ns, mut next_service_ns) = (began_ns, began_ns);
        while self.now_ns < until_ns {
            while next_ns <= self.now_ns {
                next_ns += interval_ns;
                self.arrive()?;
            }
            while next_service_ns <= self.now_ns {
                next_service_ns += service_ns;
                self.ask_for_service();
            }
            self.turn(next_ns.min(next_service_ns).min(until_ns))?;
        }
        Ok(self.phase(began_ns))
    }

    /// Nobody comes any more: nothing is left of the storm, and gNBs keep nobody away.
    pub fn calm(&mut self) -> Result<(), Failure> {
        self.settle()?;
        // Challenges are forgotten after a minute.
        let until_ns = self.now_ns + 70 * SECOND_NS;
        while self.now_ns < until_ns {
            // As the daemon's loop, which does not sleep longer.
            self.turn(self.now_ns + SECOND_NS / 2)?;
        }
        self.closed_loop(1, 1, 0)?;
        let amf = self.core.amf().expect("its own AMF");
        let left = [
            ("unauthenticated UEs", amf.unauthenticated()),
            ("connections", amf.connected()),
            ("procedures", amf.procedures().len()),
            ("authentications", self.core.authentications()),
            (
                "gNBs that keep UEs away",
                usize::from(amf.overloaded().is_some()),
            ),
            ("UEs that wait", self.by_ran.len()),
        ];
        match left.iter().find(|(_, count)| *count > 0) {
            Some((what, count)) => Err(format!("{count} {what} are left of the storm")),
            None => Ok(()),
        }
    }

    /// Turns until nothing is under way.
    fn settle(&mut self) -> Result<(), Failure> {
        let until_ns = self.now_ns + 120 * SECOND_NS;
        while !self.queue.is_empty() || !self.on_air.is_empty() || !self.by_ran.is_empty() {
            self.turn(self.now_ns + SECOND_NS / 2)?;
            if self.now_ns > until_ns {
                return Err(format!("{} UEs wait for ever", self.by_ran.len()));
            }
        }
        Ok(())
    }

    /// A stranger comes to its gNB.
    fn arrive(&mut self) -> Result<(), Failure> {
        self.counts.arrivals += 1;
        let ue = *self.free.front().ok_or("too few subscribers")?;
        let gnb = self.ues[ue].gnb;
        if self.is_kept_away(gnb) {
            self.counts.kept_away += 1;
            self.free.rotate_left(1);
            return Ok(());
        }
        if self.queued_bytes[gnb] >= BUFFER_BYTES {
            self.counts.held_back += 1;
            self.free.rotate_left(1);
            return Ok(());
        }
        self.free.pop_front();
        let nas = self.ues[ue].ue.register(RegistrationKind::Initial);
        self.come(ue, nas);
        Ok(())
    }

    /// Whether the gNB keeps this one away, as so many of a hundred.
    fn is_kept_away(&mut self, gnb: usize) -> bool {
        let percent = self.gnbs[gnb]
            .overload
            .map(|one| one.percent.unwrap_or(100));
        let Some(percent) = percent.filter(|_| self.obeys) else {
            return false;
        };
        self.kept += u64::from(percent);
        let is_kept = self.kept >= 100;
        self.kept -= if is_kept { 100 } else { 0 };
        is_kept
    }

    fn ask_for_service(&mut self) {
        let Some(ue) = self.known.pop_front() else {
            // All are under way.
            self.counts.no_services += 1;
            return;
        };
        let one = &mut self.ues[ue];
        one.services = one.ue.services();
        match one.ue.request_service() {
            Some(nas) => self.come(ue, nas),
            None => self.counts.no_services += 1,
        }
    }

    /// A UE connects with a message.
    fn come(&mut self, ue: usize, nas: Vec<u8>) {
        let one = &mut self.ues[ue];
        let s_tmsi = one.ue.guti().map(|guti| guti.s_tmsi());
        let (ran, octets) = self.gnbs[one.gnb].connect(nas, s_tmsi);
        (one.at, one.since_ns, one.is_answered) = (Some(ran), self.now_ns, false);
        self.by_ran.insert((one.gnb, ran), ue);
        self.enqueue(ToCore {
            ue,
            octets,
            is_first: true,
        });
    }

    fn enqueue(&mut self, message: ToCore) {
        let gnb = self.ues[message.ue].gnb;
        self.queued_bytes[gnb] += message.octets.len() + MESSAGE_BYTES;
        self.queue.push_back(message);
    }

    /// The core takes what has come, or sleeps until something comes, at most until then.
    fn turn(&mut self, most_ns: u64) -> Result<(), Failure> {
        while let Some(first) = self.on_air.first_entry()
            && first.key().0 <= self.now_ns
        {
            let message = first.remove();
            self.enqueue(message);
        }
        let deadline_ns = self.core.next_deadline().0;
        let mut slept_ns = 0;
        if self.queue.is_empty() && deadline_ns > self.now_ns {
            let next = self.on_air.first_key_value();
            let next_ns = next.map_or(u64::MAX, |((at_ns, _), _)| *at_ns);
            let next_ns = next_ns.min(deadline_ns).min(most_ns);
            if next_ns == u64::MAX {
                return Err("nothing will ever come".to_owned());
            }
            slept_ns = next_ns.saturating_sub(self.now_ns);
            self.now_ns = self.now_ns.max(next_ns);
        } else {
            self.work();
        }
        if self
            .load
            .turn(Instant(self.now_ns), Duration::from_nanos(slept_ns))
        {
            let overload = self.load.overload();
            self.highest_percent = self
                .highest_percent
                .max(overload.and_then(|one| one.percent).unwrap_or(0));
            let now = self.now();
            self.core.mobility().feel_load(now, overload);
            self.deliver();
        }
        Ok(())
    }

    fn work(&mut self) {
        let burst: Vec<_> = self.queue.drain(..self.queue.len().min(BURST)).collect();
        let now = self.now();
        let before = clock::thread_cpu_ns();
        for message in &burst {
            let gnb = self.ues[message.ue].gnb;
            self.core.n2(now, association(gnb), 1, &message.octets);
        }
        if self.core.next_deadline() <= now.instant {
            self.core.time(now);
        }
        let sent = self.core.take_to_ran();
        let used_ns = clock::thread_cpu_ns() - before;
        self.cpu_ns += used_ns;
        self.now_ns += used_ns.max(1);
        self.core.take_call_flow();
        self.core.take_refused();
        sent.into_iter()
            .for_each(|one| self.hear(one.association, &one.octets));
        for message in burst {
            let one = &self.ues[message.ue];
            let gnb = one.gnb;
            self.queued_bytes[gnb] -= message.octets.len() + MESSAGE_BYTES;
            if message.is_first && !one.is_answered && one.at.is_some() {
                self.counts.unanswered += 1;
                self.counts.no_services += u64::from(one.is_known);
                self.leave(message.ue);
            }
        }
    }

    fn deliver(&mut self) {
        let sent = self.core.take_to_ran();
        sent.into_iter()
            .for_each(|one| self.hear(one.association, &one.octets));
    }

    /// A gNB hears the core.
    fn hear(&mut self, at: AssociationId, octets: &[u8]) {
        let gnb = at.0 as usize - 1;
        let (about, done) = self.gnbs[gnb].receive_about(octets);
        let ue = about.and_then(|ran| self.by_ran.get(&(gnb, ran))).copied();
        let Some(ue) = ue else { return };
        self.ues[ue].is_answered = true;
        for one in done {
            match one {
                FromGnb::ToAmf(octets) => self.air(ue, octets),
                FromGnb::ToUe(ran, nas) => {
                    let said = self.ues[ue].ue.receive(&nas);
                    for nas in said {
                        let up = self.gnbs[gnb].uplink(ran, nas);
                        up.into_iter().for_each(|octets| self.air(ue, octets));
                    }
                    self.look(ue);
                }
                FromGnb::Released(_) => self.released(ue),
            }
        }
    }

    fn air(&mut self, ue: usize, octets: Vec<u8>) {
        let message = ToCore {
            ue,
            octets,
            is_first: false,
        };
        self.sent += 1;
        let (least_ns, most_ns) = RADIO_NS;
        // Numbers that are spread evenly: multiples of the golden ratio.
        let spread = self.sent.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        let takes_ns = least_ns + spread % (most_ns - least_ns);
        let one = &mut self.ues[ue];
        one.last_ns = (self.now_ns + takes_ns).max(one.last_ns + 1);
        self.on_air.insert((one.last_ns, self.sent), message);
    }

    /// A known UE that was served goes idle again.
    fn look(&mut self, ue: usize) {
        let one = &mut self.ues[ue];
        if !one.is_known || one.ue.services() == one.services {
            return;
        }
        one.services = one.ue.services();
        self.counts.services += 1;
        self.service_ns.push(self.now_ns - one.since_ns);
        let release = one.at.and_then(|ran| self.gnbs[one.gnb].ask_release(ran));
        if let Some(octets) = release {
            self.air(ue, octets);
        }
    }

    fn released(&mut self, ue: usize) {
        let one = &self.ues[ue];
        let is_registered = one.ue.state() == UeState::Registered;
        let took_ns = self.now_ns - one.since_ns;
        match (one.is_known, is_registered) {
            (true, _) => {}
            (false, true) if took_ns <= T3510_NS => self.counts.registered += 1,
            (false, true) => self.counts.late += 1,
            (false, false) => self.counts.released += 1,
        }
        self.leave(ue);
    }

    /// The UE is idle. A stranger is one again when it comes back.
    fn leave(&mut self, ue: usize) {
        let one = &mut self.ues[ue];
        if let Some(ran) = one.at.take() {
            self.gnbs[one.gnb].forget_ue(ran);
            self.by_ran.remove(&(one.gnb, ran));
        }
        if one.is_known {
            return self.known.push_back(ue);
        }
        if one.ue.state() == UeState::Registered {
            one.ue = virtual_core::ue(one.number, Identity::Null);
        }
        self.free.push_back(ue);
    }
}

fn association(gnb: usize) -> AssociationId {
    AssociationId(gnb as u32 + 1)
}
