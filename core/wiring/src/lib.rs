//! The network functions of a core on one thread, and the queue between them.
//!
//! A call goes through the queue, also between functions of one thread, so that order and stack
//! are the same in every wiring. What is to be stored is stored together when the queue is empty;
//! what follows from it leaves after that.
#![forbid(unsafe_code)]

pub mod contexts;
mod faults;
mod flows;
mod journal;
mod registrar;

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use contexts::ContextStore;
use faults::Faults;
use journal::{Journal, Settled};
pub use journal::{JournalWriter, Record, Rejected, Storing};
use registrar::Registrar;
use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_ids::Supi;
use sluice_n2::Overload;
use sluice_nrf::Nrf;
use sluice_nssf::Nssf;
use sluice_pcf::Pcf;
use sluice_sbi::{
    AssociationId, CallFlow, CallId, Effect, Followed, Input, Instant, NetworkFunction, Nf, Now,
    Place, Problem, Refused, Removal, RequestId, Slot, TracedMessage,
};
use sluice_security::suci::HomeKey;
use sluice_smf::{ChargingRecord, Smf};
use sluice_udm::Udm;
use sluice_udr::Udr;

/// Lines of the call flow that are kept: some hundred procedures.
pub const LINES: usize = 8192;

/// Refusals that wait to be taken; the oldest go.
pub const REFUSALS: usize = 1024;

/// Messages as octets that wait to be taken; the oldest go.
pub const SEEN: usize = 16_384;

/// A message for a gNB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToRan {
    /// Where to.
    pub association: AssociationId,
    /// On which stream.
    pub stream: u16,
    /// NGAP.
    pub octets: Vec<u8>,
}

/// A message for a UPF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ToUpf {
    /// Where to.
    pub to: SocketAddr,
    /// PFCP.
    pub octets: Vec<u8>,
}

/// What waits in the queue.
enum Queued {
    Request(RequestId, Slot),
    Reply(CallId, Slot),
    Settled(Settled),
}

/// The functions of a core.
pub struct Core {
    amf: Amf,
    ausf: Ausf,
    udm: Udm,
    udr: Udr,
    /// It serves the slices that the AMF serves.
    nssf: Nssf,
    nrf: Nrf,
    registrar: Registrar,
    faults: Faults,
    /// None of a core without sessions.
    smf: Option<Smf>,
    /// None of a core whose sessions have their default flows alone.
    pcf: Option<Pcf>,
    queue: VecDeque<(Place, Queued)>,
    store: BTreeMap<Vec<u8>, Vec<u8>>,
    journal: Journal,
    contexts: ContextStore,
    call_flow: CallFlow,
    refused: VecDeque<Refused>,
    seen: VecDeque<TracedMessage>,
    to_ran: Vec<ToRan>,
    to_upf: Vec<ToUpf>,
}

/// Slices that an AMF serves, as its NSSF knows them.
fn slices_of(plmns: &[sluice_n2::PlmnSlices]) -> sluice_nssf::Config {
    let plmns = plmns.iter().map(|one| (one.plmn, one.slices.clone()));
    sluice_nssf::Config {
        plmns: plmns.collect(),
    }
}

impl Core {
    /// Of its functions.
    pub fn new(amf: Amf, ausf: Ausf, udm: Udm, udr: Udr) -> Self {
        let nssf = Nssf::new(slices_of(&amf.plmns()));
        Self {
            amf,
            ausf,
            udm,
            udr,
            nssf,
            nrf: Nrf::default(),
            registrar: Registrar::default(),
            faults: Faults::default(),
            smf: None,
            pcf: None,
            queue: VecDeque::new(),
            store: BTreeMap::new(),
            journal: Journal::default(),
            contexts: ContextStore::default(),
            call_flow: CallFlow::default(),
            refused: VecDeque::new(),
            seen: VecDeque::new(),
            to_ran: Vec::new(),
            to_upf: Vec::new(),
        }
    }

    /// The same with PDU sessions.
    #[must_use]
    pub fn with_smf(mut self, smf: Smf) -> Self {
        self.smf = Some(smf);
        self
    }

    /// The same with policies: sessions may have further QoS flows.
    #[must_use]
    pub fn with_pcf(mut self, pcf: Pcf) -> Self {
        self.pcf = Some(pcf);
        self
    }

    /// Takes other keys of the home network from now on.
    pub fn set_home_keys(&mut self, keys: BTreeMap<u8, HomeKey>) {
        self.udm.set_home_keys(keys);
    }

    /// A message of a UPF.
    pub fn n4(&mut self, now: Now, from: SocketAddr, octets: &[u8]) {
        self.turn(now, Nf::Smf, Input::N4 { from, octets });
    }

    /// A message of a gNB.
    pub fn n2(&mut self, now: Now, association: AssociationId, stream: u16, octets: &[u8]) {
        self.turn(
            now,
            Nf::Amf,
            Input::N2 {
                association,
                stream,
                octets,
            },
        );
    }

    /// An association has come up with this address.
    pub fn association_up(&mut self, association: AssociationId, address: core::net::IpAddr) {
        self.amf.association_up(association, address);
    }

    /// A gNB is gone.
    pub fn association_lost(&mut self, now: Now, association: AssociationId) {
        self.turn(now, Nf::Amf, Input::AssociationLost(association));
    }

    /// Deadlines may have come.
    pub fn time(&mut self, now: Now) {
        let late = self.journal.expire(now);
        self.tell_settled(late);
        // Heart-beats come before the NRF misses them.
        self.go_on(now);
        let functions: Vec<Nf> = self.functions().map(|(nf, _)| nf).collect();
        for nf in functions {
            self.turn(now, nf, Input::Time);
        }
    }

    /// When [`Core::time`] is due at the latest.
    pub fn next_deadline(&self) -> Instant {
        let functions = self.functions().map(|(_, one)| one.next_deadline());
        let own = [self.registrar.next_deadline(), self.journal.next_deadline()];
        functions.chain(own).min().unwrap_or(Instant::NEVER)
    }

    /// Functions that there are, in the order in which time is told.
    fn functions(&self) -> impl Iterator<Item = (Nf, &dyn NetworkFunction)> {
        let always: [(Nf, &dyn NetworkFunction); 6] = [
            (Nf::Amf, &self.amf),
            (Nf::Ausf, &self.ausf),
            (Nf::Udm, &self.udm),
            (Nf::Udr, &self.udr),
            (Nf::Nrf, &self.nrf),
            (Nf::Nssf, &self.nssf),
        ];
        let smf = self.smf.as_ref().map(|smf| smf as &dyn NetworkFunction);
        let pcf = self.pcf.as_ref().map(|pcf| pcf as &dyn NetworkFunction);
        let some = [(Nf::Smf, smf), (Nf::Pcf, pcf)].into_iter();
        let some = some.filter_map(|(nf, function)| Some((nf, function?)));
        always.into_iter().chain(some)
    }

    /// The function at a place; none if nobody is there.
    fn function(&mut self, place: Place) -> Option<&mut dyn NetworkFunction> {
        if place.number > 0 {
            return None;
        }
        Some(match place.nf {
            Nf::Amf => &mut self.amf,
            Nf::Ausf => &mut self.ausf,
            Nf::Udm => &mut self.udm,
            Nf::Udr => &mut self.udr,
            Nf::Nssf => &mut self.nssf,
            Nf::Nrf => &mut self.nrf,
            Nf::Smf => self.smf.as_mut()?,
            Nf::Pcf => self.pcf.as_mut()?,
        })
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

    /// Messages for gNBs since the last call; contexts that they follow from are stored before.
    pub fn take_to_ran(&mut self) -> Vec<ToRan> {
        self.contexts.flush();
        std::mem::take(&mut self.to_ran)
    }

    /// Messages for UPFs since the last call; contexts that they follow from are stored before.
    pub fn take_to_upf(&mut self) -> Vec<ToUpf> {
        self.contexts.flush();
        std::mem::take(&mut self.to_upf)
    }

    /// Slice selection, for operators.
    pub fn nssf(&self) -> &Nssf {
        &self.nssf
    }

    /// Session management, for operators; none of a core without sessions.
    pub fn smf(&self) -> Option<&Smf> {
        self.smf.as_ref()
    }

    /// Charging records since the last call.
    pub fn take_records(&mut self) -> Vec<ChargingRecord> {
        self.smf.as_mut().map(Smf::take_records).unwrap_or_default()
    }

    /// Releases a session for the operator; false if there is none, or if it is busy.
    pub fn release_session(&mut self, now: Now, supi: &Supi, session: u8) -> bool {
        let mut effects = Vec::new();
        let smf = self.smf.as_mut();
        let begun = smf.is_some_and(|smf| smf.release(now, supi, session, &mut effects));
        self.follow(now, Nf::Smf, effects);
        begun
    }

    /// Deregisters a UE for the operator (TS 23.502, 4.2.2.3.3); it may be told to register again at
    /// once. False if it is not registered.
    pub fn deregister(&mut self, now: Now, supi: &Supi, registers_again: bool) -> bool {
        let mut effects = Vec::new();
        let begun = self
            .amf
            .deregister(now, supi, registers_again, &mut effects);
        self.follow(now, Nf::Amf, effects);
        begun
    }

    /// The AMF goes on with another configuration; gNBs are told.
    ///
    /// # Errors
    /// Those of [`Amf::reconfigure`].
    pub fn reconfigure_amf(
        &mut self,
        now: Now,
        config: sluice_amf::Config,
    ) -> Result<(), &'static str> {
        let mut effects = Vec::new();
        let slices = slices_of(&config.plmns);
        self.amf.reconfigure(now, config, &mut effects)?;
        self.nssf.reconfigure(slices);
        self.update_registrations();
        self.follow(now, Nf::Amf, effects);
        Ok(())
    }

    /// An operator has gNBs keep UEs away, or not any more.
    pub fn overload(&mut self, now: Now, overload: Option<Overload>) {
        let mut effects = Vec::new();
        self.amf.overload(now, overload, &mut effects);
        self.follow(now, Nf::Amf, effects);
    }

    /// There is too much to do, and gNBs keep UEs away, or not any more; what operators want counts more.
    pub fn feel_load(&mut self, now: Now, overload: Option<Overload>) {
        let mut effects = Vec::new();
        self.amf.feel_load(now, overload, &mut effects);
        self.follow(now, Nf::Amf, effects);
    }

    /// Tells all gNBs what is served; how many there are.
    pub fn update_gnbs(&mut self, now: Now) -> usize {
        let mut effects = Vec::new();
        let told = self.amf.update_gnbs(now, &mut effects);
        self.follow(now, Nf::Amf, effects);
        told
    }

    /// The SMF, if there is one, goes on with another configuration.
    ///
    /// # Errors
    /// Those of [`Smf::reconfigure`].
    pub fn reconfigure_smf(&mut self, now: Now, config: sluice_smf::Config) -> Result<(), String> {
        let mut effects = Vec::new();
        if let Some(smf) = &mut self.smf {
            smf.reconfigure(now, config, &mut effects)?;
        }
        self.update_registrations();
        self.follow(now, Nf::Smf, effects);
        Ok(())
    }

    /// gNBs are told that the core is about to go; with `releases_sessions` sessions are deleted at their
    /// UPFs, and no new ones taken. That is done when [`Smf::sessions`] are none.
    pub fn end(&mut self, now: Now, releases_sessions: bool) {
        let mut effects = Vec::new();
        self.amf.end(now, &mut effects);
        self.registrar.leave(Nf::Amf);
        if releases_sessions {
            self.registrar.leave(Nf::Smf);
        }
        self.follow(now, Nf::Amf, effects);
        let mut effects = Vec::new();
        if let Some(smf) = self.smf.as_mut().filter(|_| releases_sessions) {
            smf.end(now, &mut effects);
        }
        self.follow(now, Nf::Smf, effects);
    }

    /// Associations with UPFs are released. That is done when [`Smf::upfs_left`] is none.
    pub fn leave_upfs(&mut self, now: Now) {
        let mut effects = Vec::new();
        if let Some(smf) = &mut self.smf {
            smf.leave_upfs(now, &mut effects);
        }
        self.follow(now, Nf::Smf, effects);
    }

    /// Whether UEs may show who they are unconcealed, from now on.
    pub fn allow_null_scheme(&mut self, is_allowed: bool) {
        self.udm.allow_null_scheme(is_allowed);
    }

    /// A subscriber was removed: its UE is deregistered, if it is registered.
    pub fn subscriber_removed(&mut self, now: Now, supi: &Supi) {
        self.notify_removal(now, supi, Removal::SubscriptionWithdrawn);
    }

    /// What a subscriber may do was changed: its UE, if it is registered, is to register again.
    pub fn subscriber_changed(&mut self, now: Now, supi: &Supi) {
        self.notify_removal(now, supi, Removal::ReregistrationRequired);
    }

    fn notify_removal(&mut self, now: Now, supi: &Supi, removal: Removal) {
        let mut effects = Vec::new();
        self.udm.deregister(now, *supi, removal, &mut effects);
        self.follow(now, Nf::Udm, effects);
    }

    /// Effects of what an operator wants, and all that follows from them at once.
    fn follow(&mut self, now: Now, nf: Nf, effects: Vec<Effect>) {
        for effect in effects {
            self.carry_out(nf.into(), effect);
        }
        self.go_on(now);
    }

    /// What was said since the last call.
    pub fn take_call_flow(&mut self) -> CallFlow {
        std::mem::take(&mut self.call_flow)
    }

    /// What was refused since the last call, oldest first.
    pub fn take_refused(&mut self) -> Vec<Refused> {
        self.refused.drain(..).collect()
    }

    /// The AUSF, for operators.
    pub fn ausf(&self) -> &Ausf {
        &self.ausf
    }

    /// Whose messages are wanted as octets, NAS without its protection.
    pub fn follow_ues(&mut self, followed: Followed) {
        self.amf.follow(followed);
        if let Some(smf) = &mut self.smf {
            smf.follow(followed);
        }
        if followed == Followed::Nobody {
            self.seen.clear();
        }
    }

    /// Messages since the last call, in their order.
    pub fn take_traced_messages(&mut self) -> Vec<TracedMessage> {
        self.seen.drain(..).collect()
    }

    /// The AMF, for operators.
    pub fn amf(&self) -> &Amf {
        &self.amf
    }

    /// The repository, for operators.
    pub fn udr(&self) -> &Udr {
        &self.udr
    }

    /// The repository, for operators.
    pub fn udr_mut(&mut self) -> &mut Udr {
        &mut self.udr
    }

    /// Keys of what is stored.
    pub fn stored(&self) -> impl Iterator<Item = &[u8]> {
        self.store.keys().map(Vec::as_slice)
    }

    /// An input, and all that follows from it at once.
    fn turn(&mut self, now: Now, nf: Nf, input: Input<'_>) {
        self.handle(now, nf.into(), input);
        self.go_on(now);
    }

    /// What waits longest, after what registrations have to say.
    fn next_queued(&mut self, now: Now) -> Option<(Place, Queued)> {
        self.say_to_nrf(now);
        self.queue.pop_front()
    }

    /// What is in the queue, and what follows from it.
    fn go_on(&mut self, now: Now) {
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
            None => return self.refuse(&input),
        }
        for effect in effects {
            self.carry_out(place, effect);
        }
    }

    /// What is asked of a function that is not there.
    fn refuse(&mut self, input: &Input<'_>) {
        if let Input::Request { id, .. } = input {
            let reply = Queued::Reply(id.call, Problem::ContextNotFound.into());
            self.queue.push_back((id.from, reply));
        }
    }

    fn carry_out(&mut self, from: Place, effect: Effect) {
        match effect {
            Effect::Call { to, .. } if self.faults.are_apart(from.nf, to.nf) => {}
            Effect::Answer { id, .. } if self.faults.are_apart(from.nf, id.from.nf) => {}
            Effect::Call {
                to, call, message, ..
            } => {
                self.queue
                    .push_back((to, Queued::Request(RequestId { from, call }, message)));
            }
            Effect::Answer { id, message } => {
                self.queue
                    .push_back((id.from, Queued::Reply(id.call, message)));
            }
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
            Effect::N4 { to, octets } => self.to_upf.push(ToUpf { to, octets }),
            Effect::Commit { id, key, value } => {
                self.contexts.change(&key, value.as_ref());
                self.journal.add(from, id, &key, value.as_ref());
                match value {
                    // What is stored elsewhere needs no memory here.
                    Some(value) if !self.contexts.is_used() => self.store.insert(key, value),
                    _ => self.store.remove(&key),
                };
            }
            Effect::CallFlow(line) => {
                // The oldest go, many at a time.
                if self.call_flow.0.len() >= LINES {
                    self.call_flow.0.drain(..LINES / 2);
                }
                self.call_flow.0.push(line);
            }
            Effect::Refused(refused) => {
                if self.refused.len() >= REFUSALS {
                    self.refused.pop_front();
                }
                self.refused.push_back(*refused);
            }
            Effect::TracedMessage(seen) => {
                // Nobody took the oldest.
                if self.seen.len() >= SEEN {
                    self.seen.pop_front();
                }
                self.seen.push_back(*seen);
            }
        }
    }
}
