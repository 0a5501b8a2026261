//! Host: inputs of its functions, the effects that they have, and what follows from them.

use core::net::SocketAddr;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sluice_bus::{Envelope, Kind, Transport};
use sluice_sbi::{
    AssociationId, CallId, Effect, Input, Instance, Instant, NetworkFunction, Nf, Now, Place,
    Problem, RequestId, Served, Slot, server::CALL_MS,
};

use crate::context_store::ContextStore;
use crate::faults::Faults;
use crate::held::Held;
use crate::journal::{Journal, JournalWriter, Rejected, Settled};
use crate::log::Log;
use crate::registrar::{Home, Instances, Registrar};
use crate::remote::{Came, Counters, Reached, Remote};

/// Types of Heartbeat Request and Response (TS 29.244, 7.3), in the second octet of a message.
const HEARTBEATS: [u8; 2] = [1, 2];

/// A message for a gNB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToRan {
    /// Receiver.
    pub association: AssociationId,
    /// On which stream.
    pub stream: u16,
    /// NGAP.
    pub octets: Vec<u8>,
}

/// A message for a UPF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToUpf {
    /// Receiver.
    pub to: SocketAddr,
    /// PFCP.
    pub octets: Vec<u8>,
}

/// Functions of a host.
pub trait Functions {
    /// The function at a place; none if it is not of this host.
    fn at(&mut self, place: Place) -> Option<&mut dyn NetworkFunction>;

    /// Tells each of them, in the order in which time is told.
    fn each(&self, tell: &mut dyn FnMut(Nf, &dyn NetworkFunction));
}

/// A message, or the outcome of a commit, that waits in the queue.
enum Queued {
    Request(RequestId, Slot),
    Reply(CallId, Slot),
    Settled(Settled),
}

/// Network functions of one thread.
pub struct Host<F> {
    /// The functions; what operators have them do goes on with [`Host::follow`].
    pub functions: F,
    /// Contexts that outlive the process.
    pub contexts: ContextStore,
    /// Call flow, refusals and traced messages.
    pub log: Log,
    /// Ways on which messages are lost, for tests.
    pub faults: Faults,
    /// Identities with which functions register.
    pub instances: Instances,
    home: Home,
    /// Instance of its functions.
    own: Instance,
    /// Answers that its functions gave other hosts.
    answered: BTreeMap<Nf, u64>,
    registrar: Registrar,
    queue: VecDeque<(Place, Queued)>,
    store: BTreeMap<Vec<u8>, Vec<u8>>,
    journal: Journal,
    remote: Remote,
    to_ran: Held<ToRan>,
    to_upf: Held<ToUpf>,
    /// Heartbeats follow from no context: while others wait, they do not.
    heartbeats: Vec<ToUpf>,
}

impl<F: Functions> Host<F> {
    /// Of its functions; `home` is what their profiles have in common.
    pub fn new(functions: F, home: Home) -> Self {
        Self {
            functions,
            contexts: ContextStore::default(),
            log: Log::default(),
            faults: Faults::default(),
            instances: Instances::default(),
            home,
            own: Instance::default(),
            answered: BTreeMap::new(),
            registrar: Registrar::default(),
            queue: VecDeque::new(),
            store: BTreeMap::new(),
            journal: Journal::default(),
            remote: Remote::default(),
            to_ran: Held::default(),
            to_upf: Held::default(),
            heartbeats: Vec::new(),
        }
    }

    /// This instance of its functions.
    #[must_use]
    pub fn as_instance(mut self, own: Instance) -> Self {
        self.own = own;
        self
    }

    /// Place of a function of this host.
    fn own(&self, nf: Nf) -> Place {
        Place::from(nf).at(self.own.number)
    }

    /// Whether a message for this place stays here.
    fn is_here(&self, place: Place) -> bool {
        let is_own = place.is_any() || place.instance() == self.own.number;
        !self.remote.is_used() || is_own && !self.remote.has(place.nf)
    }

    /// Calls go to these instances of other hosts only where there is no other from now on.
    pub fn drain(&mut self, draining: BTreeSet<Place>) {
        self.remote.drain(draining);
    }

    /// Functions that have procedures under way, or others that a caller comes back to.
    pub fn open(&self) -> usize {
        self.all(|_, one| one.open()).into_iter().sum()
    }

    /// Functions with their loads in percent, and how many answers they gave other hosts.
    pub fn loads(&self) -> Vec<(Nf, u8, u64)> {
        let answered = |nf| self.answered.get(&nf).copied().unwrap_or_default();
        self.all(|nf, one| (nf, one.load(), answered(nf)))
    }

    /// Reaches these functions of other hosts by `transport`.
    pub fn connect(&mut self, transport: Box<dyn Transport>, functions: &[Nf]) {
        self.remote.connect(transport, functions);
    }

    /// Whether there are ways to other hosts.
    pub fn is_connected(&self) -> bool {
        self.remote.is_used()
    }

    /// Counts of what went to other hosts, and came from them.
    pub fn remote_counters(&self) -> Counters {
        self.remote.counters()
    }

    /// Functions of other hosts that are reached now or not any more, since the last call. An NRF that is there again
    /// knows of nobody: functions register anew.
    pub fn take_reached(&mut self, now: Now) -> Vec<Reached> {
        let changed = self.remote.take_changed();
        let is_up = |one: &Reached| one.place.nf == Nf::Nrf && one.lost.is_none();
        if changed.iter().any(is_up) {
            self.register_again(now);
        }
        changed
    }

    /// An input, and all that follows from it at once.
    pub fn turn(&mut self, now: Now, nf: Nf, input: Input<'_>) {
        self.handle(now, self.own(nf), input);
        self.go_on(now);
    }

    /// Takes what has come from other hosts, and all that follows from it.
    pub fn receive(&mut self, now: Now) {
        let came = self.remote.receive(now);
        self.queue_up(came);
        // What did not leave waits here, too.
        if !self.queue.is_empty() {
            self.go_on(now);
        }
    }

    /// Sends what is for other hosts; contexts that it follows from are stored before.
    pub fn send(&mut self, now: Now) {
        self.contexts.set_now(now.instant);
        let released = self.hold();
        if self.remote.is_used() {
            let given_up = self.remote.send(now, released);
            self.queue_up(given_up);
        }
    }

    /// Outputs until now wait for the contexts that they follow from, which the store begins with; gives the put whose
    /// outputs may leave.
    fn hold(&mut self) -> u64 {
        let put = self.contexts.put_of_now();
        self.to_ran.wait_for(put);
        self.to_upf.wait_for(put);
        self.remote.wait_for(put);
        self.contexts.released()
    }

    /// Whether messages for gNBs and UPFs wait, be it for contexts that are being stored.
    pub fn has_more_to_send(&self) -> bool {
        !self.to_ran.is_empty() || !self.to_upf.is_empty()
    }

    /// Stores what has changed at the end, and waits for that.
    pub fn finish_contexts(&mut self) {
        self.contexts.finish();
    }

    /// Announces that the host is about to sleep. False if something came meanwhile, or waits here: then it does not
    /// sleep.
    pub fn may_sleep(&mut self) -> bool {
        self.remote.may_sleep() && self.queue.is_empty()
    }

    /// Deadlines may have come.
    pub fn time(&mut self, now: Now) {
        let late = self.journal.expire(now);
        self.tell_settled(late);
        self.contexts.set_now(now.instant);
        self.contexts.advance();
        // Heart-beats come before the NRF misses them.
        self.go_on(now);
        for nf in self.all(|nf, _| nf) {
            self.turn(now, nf, Input::Time);
        }
    }

    /// When [`Host::time`] or [`Host::send`] is due at the latest.
    pub fn next_deadline(&self) -> Instant {
        let own = [
            self.registrar.next_deadline(),
            self.journal.next_deadline(),
            self.contexts.next_deadline(),
            self.remote.next_deadline(self.contexts.released()),
        ];
        let mut first = own.into_iter().min().unwrap_or(Instant::NEVER);
        self.functions
            .each(&mut |_, one| first = first.min(one.next_deadline()));
        first
    }

    fn all<T>(&self, mut of: impl FnMut(Nf, &dyn NetworkFunction) -> T) -> Vec<T> {
        let mut all = Vec::new();
        self.functions.each(&mut |nf, one| all.push(of(nf, one)));
        all
    }

    /// The function at a place; none if nobody is there.
    fn function(&mut self, place: Place) -> Option<&mut dyn NetworkFunction> {
        if place.is_registrar() {
            return None;
        }
        self.functions.at(place)
    }

    /// Has `writer` called with what was committed, once for all that happens at a time.
    pub fn write_journal_with(&mut self, writer: JournalWriter) {
        self.journal.write_with(writer);
    }

    /// Commits that were being stored by this number are, but for these. Nothing happens when it was waited for too
    /// long.
    pub fn stored_for_good(&mut self, now: Now, number: u64, rejected: &Rejected) {
        let settled = self.journal.stored(number, rejected);
        self.tell_settled(settled);
        self.go_on(now);
    }

    /// How often the store was waited for too long.
    pub fn stored_late(&self) -> u64 {
        self.journal.late()
    }

    /// How much is being stored.
    pub fn being_stored(&self) -> usize {
        self.journal.waiting()
    }

    fn tell_settled(&mut self, settled: Vec<Settled>) {
        let settled = settled.into_iter();
        self.queue
            .extend(settled.map(|one| (one.to, Queued::Settled(one))));
    }

    fn queue_up(&mut self, came: Vec<Came>) {
        let queued = came.into_iter().map(|came| match came {
            Came::Request(to, id, message) => (to, Queued::Request(id, message)),
            Came::Reply(to, call, message) => (to, Queued::Reply(call, message)),
        });
        self.queue.extend(queued);
    }

    /// Messages for gNBs since the last call; contexts that they follow from are stored before.
    pub fn take_to_ran(&mut self) -> Vec<ToRan> {
        let released = self.hold();
        self.to_ran.take(released)
    }

    /// Messages for UPFs since the last call; contexts that they follow from are stored before.
    pub fn take_to_upf(&mut self) -> Vec<ToUpf> {
        let released = self.hold();
        let mut messages = std::mem::take(&mut self.heartbeats);
        messages.extend(self.to_upf.take(released));
        messages
    }

    /// Keys of what is stored.
    pub fn stored(&self) -> impl Iterator<Item = &[u8]> {
        self.store.keys().map(Vec::as_slice)
    }

    /// Effects of what an operator wants, and all that follows from them at once.
    pub fn follow(&mut self, now: Now, nf: Nf, effects: Vec<Effect>) {
        for effect in effects {
            self.carry_out(now, self.own(nf), effect);
        }
        self.go_on(now);
    }

    /// Profiles of functions have this in common from now on, or functions serve something else: the NRF is told.
    pub fn update_registrations(&mut self, home: Home) {
        self.home = home;
        self.update_served();
    }

    /// Functions serve something else: the NRF is told.
    pub fn update_served(&mut self) {
        let served = self.served();
        self.registrar
            .update(&self.home, self.own, &self.instances, served);
        self.identify();
    }

    /// Functions register anew, so that they hear of the NRF's new configuration.
    pub fn register_again(&mut self, now: Now) {
        self.registrar.begin_again();
        self.go_on(now);
    }

    /// A function tells the NRF that it goes.
    pub fn leave(&mut self, nf: Nf) {
        self.registrar.leave(nf);
    }

    /// Parts of profiles of the functions that register.
    fn served(&self) -> Vec<(Nf, Vec<Served>)> {
        let mut served = self.all(|nf, one| (nf, one.serves(&self.home.slices)));
        served.retain(|(nf, _)| *nf != Nf::Nrf);
        served
    }

    /// Tells functions who they are.
    fn identify(&mut self) {
        for nf in self.all(|nf, _| nf) {
            let place = self.own(nf);
            let instance = self.home.instance(place, &self.instances);
            if let Some(function) = self.functions.at(place) {
                function.identify(instance);
            }
        }
    }

    /// Sends what registrations have to say by now.
    fn say_to_nrf(&mut self, now: Now) {
        if !self.registrar.is_due(now) {
            return;
        }
        if !self.registrar.has_begun() {
            let served = self.served();
            self.registrar
                .begin(&self.home, self.own, &self.instances, served);
            self.identify();
        }
        let loads: BTreeMap<Nf, u8> = self.all(|nf, one| (nf, one.load())).into_iter().collect();
        let load = |nf: Nf| loads.get(&nf).copied().unwrap_or_default();
        for (mut id, message) in self.registrar.say(now, load) {
            id.from = id.from.at(self.own.number);
            if !self.faults.are_apart(id.from.nf, Nf::Nrf) {
                self.ask(
                    now,
                    id,
                    Place::any(Nf::Nrf),
                    now.instant.plus_ms(CALL_MS),
                    message.into(),
                );
            }
        }
    }

    /// Next of the queue, after what registrations have to say.
    fn next_queued(&mut self, now: Now) -> Option<(Place, Queued)> {
        self.say_to_nrf(now);
        self.queue.pop_front()
    }

    /// Works the queue off, and what follows from it.
    fn go_on(&mut self, now: Now) {
        self.contexts.set_now(now.instant);
        loop {
            while let Some((to, queued)) = self.next_queued(now) {
                match queued {
                    Queued::Request(id, message) => {
                        self.handle(now, to, Input::Request { id, message });
                    }
                    Queued::Reply(_, message) if to.is_registrar() => {
                        self.registrar.heard(to.nf, *message);
                    }
                    Queued::Reply(call, message) => {
                        self.handle(now, to, Input::Reply { call, message });
                    }
                    Queued::Settled(settled) => self.handle(now, to, settled.input()),
                }
            }
            if !self.journal.has_commits() {
                return;
            }
            let settled = self.journal.store(now);
            self.tell_settled(settled);
        }
    }

    fn handle(&mut self, now: Now, place: Place, input: Input<'_>) {
        let mut effects = Vec::new();
        match self.function(place) {
            Some(function) => function.handle(now, input, &mut effects),
            None => return self.refuse(now, place, &input),
        }
        for effect in effects {
            self.carry_out(now, place, effect);
        }
    }

    /// Refuses what is asked of a function that is not here.
    fn refuse(&mut self, now: Now, asked: Place, input: &Input<'_>) {
        if let Input::Request { id, .. } = input {
            self.answer(now, asked, *id, Problem::ContextNotFound.into());
        }
    }

    /// A request goes to a function of this host, or to the host that has it.
    fn ask(&mut self, now: Now, id: RequestId, to: Place, deadline: Instant, message: Slot) {
        if self.is_here(to) {
            let to = self.own(to.nf);
            self.queue.push_back((to, Queued::Request(id, message)));
            return;
        }
        // A deadline that never comes is one of a core on one thread, which has no answer that is lost.
        let deadline = deadline.min(now.instant.plus_ms(CALL_MS));
        let RequestId { from, call } = id;
        let given_up = self.remote.post(Envelope {
            from,
            to,
            call,
            kind: Kind::Request,
            load: 0,
            deadline,
            message,
        });
        self.queue_up(given_up.into_iter().collect());
    }

    /// An answer goes to who asked.
    fn answer(&mut self, now: Now, from: Place, id: RequestId, message: Slot) {
        let RequestId { from: to, call } = id;
        if self.is_here(to) {
            self.queue.push_back((to, Queued::Reply(call, message)));
            return;
        }
        *self.answered.entry(from.nf).or_default() += 1;
        // Of one that was not here nothing is known.
        let load = self.functions.at(from).map_or(0, |one| one.load());
        // A reply that finds no room is counted; who asked hears of it by its deadline.
        let _ = self.remote.post(Envelope {
            from,
            to,
            call,
            kind: Kind::Reply,
            load,
            deadline: now.instant.plus_ms(CALL_MS),
            message,
        });
    }

    fn send_upf(&mut self, message: ToUpf) {
        let is_heartbeat = message
            .octets
            .get(1)
            .is_some_and(|one| HEARTBEATS.contains(one));
        match is_heartbeat && self.contexts.is_waited_for() {
            true => self.heartbeats.push(message),
            false => self.to_upf.push(message),
        }
    }

    fn carry_out(&mut self, now: Now, from: Place, effect: Effect) {
        match effect {
            Effect::Call { to, .. } if self.faults.are_apart(from.nf, to.nf) => {}
            Effect::Answer { id, .. } if self.faults.are_apart(from.nf, id.from.nf) => {}
            Effect::Call {
                to,
                call,
                deadline,
                message,
            } => self.ask(now, RequestId { from, call }, to, deadline, message),
            Effect::Answer { id, message } => self.answer(now, from, id, message),
            Effect::N2 {
                association,
                stream,
                octets,
            } => {
                self.to_ran.push(ToRan {
                    association,
                    stream,
                    octets,
                });
            }
            Effect::N4 { to, octets } => self.send_upf(ToUpf { to, octets }),
            Effect::Commit { id, key, value } => {
                self.contexts.change(&key, value.as_ref());
                self.journal.add(from, id, &key, value.as_ref());
                match value {
                    // What is stored elsewhere needs no memory here.
                    Some(value) if !self.contexts.is_used() => self.store.insert(key, value),
                    _ => self.store.remove(&key),
                };
            }
            Effect::CallFlow(line) => self.log.line(line),
            Effect::Refused(refused) => self.log.refused(*refused),
            Effect::TracedMessage(message) => self.log.traced(*message),
        }
    }
}
