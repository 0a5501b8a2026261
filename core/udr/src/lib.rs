//! Unified data repository (TS 23.501, 6.2.11): subscribers, their sequence numbers and where they are.
//!
//! It answers from memory at once; what it changes is committed before the answer leaves.
#![forbid(unsafe_code)]

mod authentication_status;
mod context_data;
mod sequence_numbers;

use core::fmt;
use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use sluice_ids::{Dnn, Guami, Snssai, Supi, UpSecurity};
use sluice_sbi::{
    AccessAndMobility, AmfStored, AuthMethod, AuthenticationSubscription, CallId, CommitId,
    DataChange, Done, Effect, Input, Instant, Key, Line, Message, NetworkFunction, Nf, NotStored,
    NotifyDataChange, Now, Place, Problem, RequestId, SessionManagement, SimAlgorithm, Slot,
    SmfSelection, StoreAmf,
    server::{CALL_MS, name},
};
use sluice_security::{Algorithm, Credentials, Method, Sqn, TuakKey};

use zerocopy::FromZeros;

pub use authentication_status::AuthEvent;
use authentication_status::AuthenticationStatus;
use context_data::Contexts;
use sequence_numbers::{SqnRequest, last_and_difference};

/// Most subscribers of a box.
pub const SUBSCRIBERS: usize = 1_000_000;

/// A subscriber.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscriber {
    /// What its SIM has, and how it is authenticated.
    pub credentials: Credentials,
    /// The last sequence number that was used.
    pub sqn: Sqn,
    /// Most bits per second to and from the UE.
    pub ambr_bps: (u64, u64),
    /// Slices, and whether each is a default one.
    pub slices: Vec<(Snssai, bool)>,
    /// Data networks; the first of a slice is its default one.
    pub networks: Vec<DataNetwork>,
}

impl Subscriber {
    /// Whether another differs in the AMBRs of sessions, and in nothing else.
    fn differs_in_rates(&self, other: &Self) -> bool {
        let mut same = other.clone();
        for (network, before) in same.networks.iter_mut().zip(&self.networks) {
            network.ambr_bps = before.ambr_bps;
        }
        *self == same && self != other
    }
}

/// What a subscriber may do in a data network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DataNetwork {
    /// In which slice.
    pub slice: Snssai,
    /// Its name.
    pub dnn: Dnn,
    /// Whether sessions may be of the types IPv4, IPv6, IPv4v6.
    pub types: [bool; 3],
    /// Number of the default type (TS 24.501, 9.11.4.11).
    pub default_type: u8,
    /// Session AMBR, bits per second to and from the UE.
    pub ambr_bps: (u64, u64),
    /// 5QI of the default flow.
    pub five_qi: u8,
    /// Its allocation and retention priority, 1 to 15.
    pub priority: u8,
    /// The UE's own address.
    pub ipv4: Option<Ipv4Addr>,
    /// The UE's own /64 prefix.
    pub ipv6_prefix: Option<[u8; 8]>,
    /// How the user plane is to be protected; none leaves it to the SMF.
    pub up_security: Option<UpSecurity>,
}

impl DataNetwork {
    /// All types of sessions, IPv4v6 first, 5QI 9, addresses by the UPF.
    pub fn new(slice: Snssai, dnn: Dnn, ambr_bps: (u64, u64)) -> Self {
        Self {
            slice,
            dnn,
            types: [true; 3],
            default_type: 3,
            ambr_bps,
            five_qi: 9,
            priority: 8,
            ipv4: None,
            ipv6_prefix: None,
            up_security: None,
        }
    }

    fn answer(&self) -> SessionManagement {
        SessionManagement {
            types: self.types,
            default_type: self.default_type,
            ambr_down_bps: self.ambr_bps.0.into(),
            ambr_up_bps: self.ambr_bps.1.into(),
            five_qi: self.five_qi,
            priority: self.priority,
            ipv4: self.ipv4.map_or([0; 4], |ipv4| ipv4.octets()),
            ipv6_prefix: self.ipv6_prefix.unwrap_or_default(),
            up_security: self.up_security.into(),
        }
    }
}

/// A subscriber, and what follows from its use.
#[derive(Clone, Debug)]
struct Entry {
    subscriber: Subscriber,
    /// What is added to Unix time for its sequence numbers (DIF of TS 33.102, C.1.1.3).
    difference_s: i64,
    /// The counting part that was stored last.
    kept: u64,
    /// The last one that is stored, as far as is known: another core may have stored one since.
    stored: Sqn,
    is_barred: bool,
    /// How it was authenticated since the repository began.
    authentication: AuthenticationStatus,
}

/// A subscriber as a database has it.
#[derive(Clone, Debug)]
pub struct Provision {
    /// Keys, the last sequence number that was stored, and what it may do.
    pub subscriber: Subscriber,
    /// What is added to Unix time for its sequence numbers.
    pub difference_s: i64,
    /// Whether it may not register for now.
    pub is_barred: bool,
}

/// What became of a provision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Provisioned {
    /// There was no such subscriber.
    New,
    /// It was there, and may do the same as before.
    Same,
    /// It was there, and the AMBRs of its sessions are others, and nothing else.
    SessionRates,
    /// It was there, and its keys or what it may do are others.
    Changed,
    /// There are too many.
    Full,
}

/// An answer that waits until what it promises is stored.
struct Pending {
    request: RequestId,
    answer: Message,
    /// Request for the sequence number that it tells.
    sqn: Option<SqnRequest>,
}

impl Pending {
    fn done(request: RequestId) -> Self {
        Self::answered(request, Done::ALL.into())
    }

    fn answered(request: RequestId, answer: Message) -> Self {
        Self {
            request,
            answer,
            sqn: None,
        }
    }
}

impl fmt::Debug for Pending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Pending").field(&self.request).finish()
    }
}

/// The repository.
#[derive(Debug, Default)]
pub struct Udr {
    subscribers: BTreeMap<Supi, Entry>,
    amfs: BTreeMap<Supi, Guami>,
    contexts: Contexts,
    pending: BTreeMap<CommitId, Pending>,
    commits: u64,
    /// Unix time of the first sequence number since the start.
    begun_s: Option<u64>,
    /// Whether other cores use sequence numbers of the same subscribers.
    is_shared: bool,
    /// Notices that were sent: each is a call of its own.
    notices: u32,
}

impl Udr {
    /// From now on other cores may use sequence numbers of the same subscribers: each number is stored before it
    /// is told, with the last one before it, and whoever stores it compares that ([`NotStored::Instead`]).
    pub fn share_sequence_numbers(&mut self) {
        self.is_shared = true;
    }

    /// Whether they may.
    pub fn shares_sequence_numbers(&self) -> bool {
        self.is_shared
    }

    /// Adds a subscriber or replaces it; false if there are too many.
    pub fn insert(&mut self, supi: Supi, subscriber: Subscriber) -> bool {
        self.remove(&supi);
        let provision = Provision {
            subscriber,
            difference_s: 0,
            is_barred: false,
        };
        self.provision(supi, provision) != Provisioned::Full
    }

    /// Adds a subscriber of a database, or takes over what is otherwise of one that is there: then its
    /// sequence numbers go on, unless its keys are others.
    pub fn provision(&mut self, supi: Supi, provision: Provision) -> Provisioned {
        let Provision {
            subscriber,
            difference_s,
            is_barred,
        } = provision;
        let mut entry = Entry {
            kept: subscriber.sqn.sequence(),
            stored: subscriber.sqn,
            subscriber,
            difference_s,
            is_barred,
            authentication: AuthenticationStatus::default(),
        };
        let before = self.subscribers.get(&supi);
        if before.is_none() && self.subscribers.len() >= SUBSCRIBERS {
            return Provisioned::Full;
        }
        let has_same_keys = |b: &&Entry| {
            let (b, e) = (&b.subscriber, &entry.subscriber);
            b.credentials.algorithm == e.credentials.algorithm
        };
        if let Some(before) = before.filter(has_same_keys) {
            entry.authentication = before.authentication.clone();
        }
        let is_same = |b: &&Entry| has_same_keys(b) && b.subscriber.sqn >= entry.subscriber.sqn;
        if let Some(before) = before.filter(is_same) {
            entry.subscriber.sqn = before.subscriber.sqn;
            (entry.kept, entry.difference_s) = (before.kept, before.difference_s);
        }
        // A sequence number that another core has used is nothing that the UE may or may not do.
        let may_before = before.map(|b| Subscriber {
            sqn: entry.subscriber.sqn,
            ..b.subscriber.clone()
        });
        let was_barred = before.is_some_and(|b| b.is_barred);
        let are_rates = may_before
            .as_ref()
            .is_some_and(|b| was_barred == is_barred && b.differs_in_rates(&entry.subscriber));
        let is_same = may_before.map(|b| b == entry.subscriber && was_barred == is_barred);
        self.subscribers.insert(supi, entry);
        match is_same {
            None => Provisioned::New,
            Some(true) => Provisioned::Same,
            Some(false) if are_rates => Provisioned::SessionRates,
            Some(false) => Provisioned::Changed,
        }
    }

    /// All subscribers.
    pub fn supis(&self) -> impl Iterator<Item = Supi> + '_ {
        self.subscribers.keys().copied()
    }

    /// Removes a subscriber; false if there is none.
    pub fn remove(&mut self, supi: &Supi) -> bool {
        self.subscribers.remove(supi).is_some()
    }

    /// Tells the UDM that what is stored of a subscriber is otherwise (TS 23.502, 5.2.12.2.8). Its answer is waited for by
    /// nobody.
    pub fn notify(&mut self, now: Now, supi: Supi, change: DataChange, effects: &mut Vec<Effect>) {
        let message = Slot::from(NotifyDataChange { supi, change });
        self.notices = self.notices.wrapping_add(1);
        let call = CallId(Key {
            slot: self.notices,
            generation: 0,
        });
        effects.push(Effect::CallFlow(Line {
            from: name(Nf::Udr),
            to: name(Nf::Udm),
            what: message.name().to_owned(),
            step: "",
            supi: Some(supi),
            ue: None,
        }));
        effects.push(Effect::Call {
            to: Place::any(Nf::Udm),
            call,
            deadline: now.instant.plus_ms(CALL_MS),
            message,
        });
    }

    /// The AMF that a UE is registered with.
    pub fn amf_of(&self, supi: &Supi) -> Option<Guami> {
        self.amfs.get(supi).copied()
    }

    /// The UE is registered with this AMF, which was so before the repository began.
    pub fn resume_amf(&mut self, supi: &Supi, guami: Guami) {
        if self.subscribers.contains_key(supi) {
            self.amfs.insert(*supi, guami);
        }
    }

    /// Whether this is a subscriber that may register.
    pub fn may_register(&self, supi: &Supi) -> bool {
        let entry = self.subscribers.get(supi);
        entry.is_some_and(|entry| !entry.is_barred)
    }

    /// How a subscriber was authenticated last, since the repository began.
    pub fn authentication_of(&self, supi: &Supi) -> Option<&AuthEvent> {
        self.subscribers.get(supi)?.authentication.last()
    }

    /// The last sequence number that a subscriber used.
    pub fn sqn_of(&self, supi: &Supi) -> Option<Sqn> {
        Some(self.subscribers.get(supi)?.subscriber.sqn)
    }

    fn request(&mut self, id: RequestId, message: &Message, effects: &mut Vec<Effect>) {
        let answer = match *message {
            Message::QuerySubscription(query) => self.get(&query.supi).map(authentication),
            Message::QueryAccessAndMobility(query) => {
                let subscription = |s: &Subscriber| AccessAndMobility::new(s.ambr_bps, &s.slices);
                self.get(&query.supi).map(|s| subscription(s).into())
            }
            Message::QuerySmfSelection(query) => self.get(&query.supi).map(|s| {
                let here = s.networks.iter().filter(|one| one.slice == query.slice);
                let names: Vec<Dnn> = here.map(|one| one.dnn).collect();
                SmfSelection::new(&names).into()
            }),
            Message::QuerySessionManagement(query) => self.get(&query.supi).map(|s| {
                let is_it = |one: &&DataNetwork| one.slice == query.slice && one.dnn == query.dnn;
                let found = s.networks.iter().find(is_it);
                let unknown = || Problem::DnnNotSupported.into();
                found.map_or_else(unknown, |one| one.answer().into())
            }),
            Message::AdvanceSqn(update) => return self.advance(id, &update, effects),
            Message::UpdateSqn(update) => return self.update_sqn(id, &update, effects),
            Message::StoreAmf(update) => return self.register(id, &update, effects),
            Message::StoreSmf(_)
            | Message::DeleteSmf(_)
            | Message::StoreSdm(_)
            | Message::DeleteSdm(_) => {
                return self.store_context(id, message, effects);
            }
            Message::QueryContextData(query) => {
                let amf = self.amfs.get(&query.supi);
                Some(self.contexts.of(&query.supi, amf).into())
            }
            Message::QuerySmf(query) => Some(self.query_smf(&query)),
            Message::QuerySdm(query) => Some(self.query_sdm(&query)),
            Message::StoreAuthentication(update) => {
                self.subscribers.get_mut(&update.supi).map(|entry| {
                    entry.authentication.store(&update);
                    Done::ALL.into()
                })
            }
            _ => Some(Problem::Protocol.into()),
        };
        let message = answer
            .unwrap_or_else(|| Problem::UserNotFound.into())
            .into();
        effects.push(Effect::Answer { id, message });
    }

    fn get(&self, supi: &Supi) -> Option<&Subscriber> {
        self.subscribers.get(supi).map(|entry| &entry.subscriber)
    }

    fn committed(&mut self, commit: CommitId, effects: &mut Vec<Effect>) {
        if let Some(pending) = self.pending.remove(&commit) {
            effects.push(Effect::Answer {
                id: pending.request,
                message: pending.answer.into(),
            });
        }
    }

    /// A sequence number is not stored: another core has stored one since, and the next one above that is tried, or
    /// the store does not answer. One that is late is told if nobody else uses the store, and not told if others do.
    fn not_committed(&mut self, commit: CommitId, why: NotStored<'_>, effects: &mut Vec<Effect>) {
        let instead = match why {
            NotStored::Late if !self.is_shared => return self.committed(commit, effects),
            NotStored::Late | NotStored::Unanswered => None,
            NotStored::Instead(octets) => last_and_difference(octets),
        };
        let Some(pending) = self.pending.remove(&commit) else {
            return;
        };
        let (Some(request), Some((last, difference_s))) = (pending.sqn, instead) else {
            // As if the store had taken too long (TS 29.503, 6.1.7: it is not the UE's fault).
            effects.push(failure(pending.request, Problem::Timeout));
            return;
        };
        if let Some(entry) = self.subscribers.get_mut(&request.supi()) {
            entry.stored = last;
            entry.subscriber.sqn = last;
            entry.difference_s = difference_s;
        }
        match request {
            SqnRequest::Advance(advance) => self.advance(pending.request, &advance, effects),
            SqnRequest::Update(update) => self.update_sqn(pending.request, &update, effects),
        }
    }

    /// Nudr_DM_Update of the AMF of a UE. A UE that is removed or barred may leave. An AMF has the UE if it has it
    /// already, or if the UE has proved who it is in that network.
    fn register(&mut self, id: RequestId, update: &StoreAmf, effects: &mut Vec<Effect>) {
        let is_known = |entry: &Entry| {
            let is_its = self.amfs.get(&update.supi) == Some(&update.guami);
            is_its || entry.authentication.is_proved(update.network)
        };
        let problem = match self.subscribers.get(&update.supi) {
            None => Some(Problem::UserNotFound),
            Some(entry) if entry.is_barred => Some(Problem::ServiceNotAllowed),
            Some(entry) if !is_known(entry) => Some(Problem::NotAuthenticated),
            Some(_) => None,
        };
        if let Some(problem) = problem.filter(|_| update.registered) {
            effects.push(failure(id, problem));
            return;
        }
        let before = self.amfs.get(&update.supi).copied();
        let is_its = |amf: Guami| amf == update.guami || update.guami == Guami::new_zeroed();
        // Another AMF has the UE meanwhile (TS 29.503, 5.3.2.4.2).
        if !update.registered && !before.is_none_or(is_its) {
            effects.push(failure(id, Problem::ContextNotFound));
            return;
        }
        let value = self.store_amf(&update.supi, update.registered.then_some(update.guami));
        if !update.registered {
            self.forget_contexts(&update.supi, effects);
        }
        let key = key_of("amf", &update.supi);
        let answer = AmfStored {
            had_amf: before.is_some(),
            before: before.unwrap_or_else(Guami::new_zeroed),
        };
        self.commit(Pending::answered(id, answer.into()), key, value, effects);
    }

    fn store_amf(&mut self, supi: &Supi, guami: Option<Guami>) -> Option<Vec<u8>> {
        let Some(guami) = guami else {
            self.amfs.remove(supi);
            return None;
        };
        self.amfs.insert(*supi, guami);
        Some([guami.plmn.octets(), guami.amf.octets()].concat())
    }

    /// Answers when it is stored.
    fn commit(
        &mut self,
        pending: Pending,
        key: Vec<u8>,
        value: Option<Vec<u8>>,
        effects: &mut Vec<Effect>,
    ) {
        self.commits += 1;
        let id = CommitId(self.commits);
        self.pending.insert(id, pending);
        effects.push(Effect::Commit { id, key, value });
    }
}

/// Under which something of a subscriber is stored.
fn key_of(what: &str, supi: &Supi) -> Vec<u8> {
    format!("udr/{what}/{}", supi.imsi()).into_bytes()
}

fn failure(id: RequestId, problem: Problem) -> Effect {
    Effect::Answer {
        id,
        message: problem.into(),
    }
}

fn authentication(subscriber: &Subscriber) -> Message {
    let Credentials { method, algorithm } = &subscriber.credentials;
    let method = match method {
        Method::FiveGAka => AuthMethod::FiveGAka,
        Method::EapAkaPrime => AuthMethod::EapAkaPrime,
    };
    let (algorithm, k, opc) = match algorithm {
        Algorithm::Milenage { k, opc } => {
            (SimAlgorithm::Milenage, &k.octets()[..], &opc.octets()[..])
        }
        Algorithm::Tuak { k, topc } => {
            let algorithm = match k {
                TuakKey::K128(_) => SimAlgorithm::Tuak128,
                TuakKey::K256(_) => SimAlgorithm::Tuak256,
            };
            (algorithm, k.octets(), &topc.octets()[..])
        }
    };
    AuthenticationSubscription {
        method,
        algorithm,
        k: padded(k),
        opc: padded(opc),
        sqn: subscriber.sqn.get().into(),
    }
    .into()
}

/// Zeros after a key that is shorter.
fn padded(key: &[u8]) -> [u8; 32] {
    std::array::from_fn(|at| key.get(at).copied().unwrap_or_default())
}

impl NetworkFunction for Udr {
    fn handle(&mut self, _: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        match input {
            Input::Request { id, message } => self.request(id, &message, effects),
            Input::Committed(commit) => self.committed(commit, effects),
            Input::NotCommitted { id, why } => self.not_committed(id, why, effects),
            Input::Reply { .. }
            | Input::N2 { .. }
            | Input::N4 { .. }
            | Input::AssociationLost(_)
            | Input::Time => {}
        }
    }

    fn next_deadline(&self) -> Instant {
        Instant::NEVER
    }
}

#[cfg(test)]
mod tests;
