//! The network functions of a core on one thread, and the queue between them.
//!
//! A call goes through the queue, also between functions of one thread, so that order and stack
//! are the same in every wiring. What is to be stored is stored together when the queue is empty;
//! what follows from it leaves after that.
#![forbid(unsafe_code)]

pub mod contexts;
mod flows;
mod keeping;
mod repository;

use core::net::SocketAddr;
use std::collections::{BTreeMap, VecDeque};

use contexts::ContextStore;
use keeping::Keep;
pub use keeping::{Keeper, Keeping, Kept, NotKept};
use repository::Registrations;
use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_ids::Supi;
use sluice_n2::Overload;
use sluice_nrf::Nrf;
use sluice_nssf::Nssf;
use sluice_pcf::Pcf;
use sluice_sbi::{
    AssociationId, CallFlow, CallId, CommitId, Effect, Followed, Input, Instant, Message,
    NetworkFunction, Nf, Now, Problem, Refused, Removal, RequestId, TracedMessage,
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
    Request(RequestId, Message),
    Reply(CallId, Message),
    Committed(CommitId),
    /// The NRF's answer about a registration.
    Registered(Message),
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
    registrations: Registrations,
    /// None of a core without sessions.
    smf: Option<Smf>,
    /// None of a core whose sessions have their default flows alone.
    pcf: Option<Pcf>,
    queue: VecDeque<(Nf, Queued)>,
    commits: Vec<(Nf, CommitId)>,
    store: BTreeMap<Vec<u8>, Vec<u8>>,
    keep: Keep,
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
            registrations: Registrations::default(),
            smf: None,
            pcf: None,
            queue: VecDeque::new(),
            commits: Vec::new(),
            store: BTreeMap::new(),
            keep: Keep::default(),
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
        self.keep_no_longer(now);
        // Heart-beats come before the NRF misses them.
        self.go_on(now);
        for nf in [
            Nf::Amf,
            Nf::Ausf,
            Nf::Udm,
            Nf::Udr,
            Nf::Smf,
            Nf::Pcf,
            Nf::Nrf,
        ] {
            self.turn(now, nf, Input::Time);
        }
    }

    /// When [`Core::time`] is due at the latest.
    pub fn next_deadline(&self) -> Instant {
        [
            self.amf.next_deadline(),
            self.ausf.next_deadline(),
            self.udm.next_deadline(),
            self.udr.next_deadline(),
            self.smf.as_ref().map_or(Instant::NEVER, Smf::next_deadline),
            self.nrf.next_deadline(),
            self.registrations.next_deadline(),
            self.keep.next_deadline(),
        ]
        .into_iter()
        .min()
        .unwrap_or(Instant::NEVER)
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
        self.deregister_nf(Nf::Amf);
        if releases_sessions {
            self.deregister_nf(Nf::Smf);
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
            self.carry_out(nf, effect);
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
        self.handle(now, nf, input);
        self.go_on(now);
    }

    /// What waits longest, after what registrations have to say.
    fn next_queued(&mut self, now: Now) -> Option<(Nf, Queued)> {
        self.speak_of_registrations(now);
        self.queue.pop_front()
    }

    /// What is in the queue, and what follows from it.
    fn go_on(&mut self, now: Now) {
        loop {
            while let Some((nf, queued)) = self.next_queued(now) {
                let input = match queued {
                    Queued::Request(id, message) => Input::Request { id, message },
                    Queued::Reply(call, message) => Input::Reply { call, message },
                    Queued::Committed(id) => Input::Committed(id),
                    Queued::Registered(message) => {
                        self.registrations.heard(nf, message);
                        continue;
                    }
                };
                self.handle(now, nf, input);
            }
            if self.commits.is_empty() {
                return;
            }
            self.commit(now);
        }
    }

    fn handle(&mut self, now: Now, nf: Nf, input: Input<'_>) {
        let mut effects = Vec::new();
        let function: &mut dyn NetworkFunction = match nf {
            Nf::Amf => &mut self.amf,
            Nf::Ausf => &mut self.ausf,
            Nf::Udm => &mut self.udm,
            Nf::Udr => &mut self.udr,
            Nf::Nssf => &mut self.nssf,
            Nf::Nrf => &mut self.nrf,
            Nf::Smf => match &mut self.smf {
                Some(smf) => smf,
                None => return self.refuse(&input),
            },
            Nf::Pcf => match &mut self.pcf {
                Some(pcf) => pcf,
                None => return self.refuse(&input),
            },
        };
        function.handle(now, input, &mut effects);
        for effect in effects {
            self.carry_out(nf, effect);
        }
    }

    /// What is asked of a function that is not there.
    fn refuse(&mut self, input: &Input<'_>) {
        if let Input::Request { id, .. } = input {
            let reply = Queued::Reply(id.call, Problem::ContextNotFound.into());
            self.queue.push_back((id.from, reply));
        }
    }

    fn carry_out(&mut self, from: Nf, effect: Effect) {
        match effect {
            Effect::Call { to, .. } if self.registrations.are_apart(from, to) => {}
            Effect::Answer { id, .. } if self.registrations.are_apart(from, id.from) => {}
            Effect::Call {
                to, call, message, ..
            } => {
                self.queue
                    .push_back((to, Queued::Request(RequestId { from, call }, message)));
            }
            Effect::Answer { id, message } => {
                let queued = match repository::is_of_registration(id.call) {
                    true => Queued::Registered(message),
                    false => Queued::Reply(id.call, message),
                };
                self.queue.push_back((id.from, queued));
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
                self.keep.add(&key, value.as_ref());
                match value {
                    // What is stored elsewhere needs no memory here.
                    Some(value) if !self.contexts.is_used() => self.store.insert(key, value),
                    _ => self.store.remove(&key),
                };
                self.commits.push((from, id));
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
