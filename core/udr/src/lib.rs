//! Unified data repository (TS 23.501, 6.2.11): subscribers, their sequence numbers and where they are.
//!
//! It answers from memory at once; what it changes is committed before the answer leaves.
#![forbid(unsafe_code)]

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use sluice_ids::{Dnn, Guami, Snssai, Supi};
use sluice_sbi::{
    AccessAndMobility, AuthenticationSubscription, CommitId, Done, Effect, Input, Instant, Message,
    NetworkFunction, Now, Problem, RequestId, SessionManagement, SmfSelection,
};
use sluice_security::{K, Opc, Sqn};

/// Most subscribers of a box.
pub const SUBSCRIBERS: usize = 1_000_000;

/// A subscriber.
#[derive(Clone, Debug)]
pub struct Subscriber {
    /// Long-term key.
    pub k: K,
    /// The operator's variant of Milenage.
    pub opc: Opc,
    /// The last sequence number that was used.
    pub sqn: Sqn,
    /// Most bits per second to and from the UE.
    pub ambr_bps: (u64, u64),
    /// Slices, and whether each is a default one.
    pub slices: Vec<(Snssai, bool)>,
    /// Data networks; the first of a slice is its default one.
    pub networks: Vec<DataNetwork>,
}

/// What a subscriber may do in a data network.
#[derive(Clone, Debug)]
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
        }
    }
}

/// The repository.
#[derive(Debug, Default)]
pub struct Udr {
    subscribers: BTreeMap<Supi, Subscriber>,
    amfs: BTreeMap<Supi, Guami>,
    /// Answers that wait until what they promise is stored.
    pending: BTreeMap<CommitId, (RequestId, Message)>,
    commits: u64,
}

impl Udr {
    /// Adds a subscriber or replaces it; false if there are too many.
    pub fn insert(&mut self, supi: Supi, subscriber: Subscriber) -> bool {
        let fits = self.subscribers.len() < SUBSCRIBERS || self.subscribers.contains_key(&supi);
        if fits {
            self.subscribers.insert(supi, subscriber);
        }
        fits
    }

    /// The AMF that a UE is registered with.
    pub fn amf_of(&self, supi: &Supi) -> Option<Guami> {
        self.amfs.get(supi).copied()
    }

    /// The last sequence number that a subscriber used.
    pub fn sqn_of(&self, supi: &Supi) -> Option<Sqn> {
        Some(self.subscribers.get(supi)?.sqn)
    }

    fn request(&mut self, id: RequestId, message: Message, effects: &mut Vec<Effect>) {
        let answer = match message {
            Message::QuerySubscription(query) => {
                self.subscribers.get(&query.supi).map(authentication)
            }
            Message::QueryAccessAndMobility(query) => {
                let subscription = |s: &Subscriber| AccessAndMobility::new(s.ambr_bps, &s.slices);
                self.subscribers
                    .get(&query.supi)
                    .map(|s| subscription(s).into())
            }
            Message::QuerySmfSelection(query) => self.subscribers.get(&query.supi).map(|s| {
                let here = s.networks.iter().filter(|one| one.slice == query.slice);
                let names: Vec<Dnn> = here.map(|one| one.dnn).collect();
                SmfSelection::new(&names).into()
            }),
            Message::QuerySessionManagement(query) => self.subscribers.get(&query.supi).map(|s| {
                let is_it = |one: &&DataNetwork| one.slice == query.slice && one.dnn == query.dnn;
                let found = s.networks.iter().find(is_it);
                let unknown = || Problem::DnnNotSupported.into();
                found.map_or_else(unknown, |one| one.answer().into())
            }),
            Message::AdvanceSqn(update) => {
                let Some(subscriber) = self.subscribers.get_mut(&update.supi) else {
                    effects.push(failure(id, Problem::UserNotFound));
                    return;
                };
                // What a SIM says of itself counts more than what was stored (TS 33.102, 6.3.5); a
                // time that jumps back changes nothing.
                subscriber.sqn = if update.resynchronised {
                    Sqn::new(update.above.get()).next(0)
                } else {
                    subscriber.sqn.next(update.floor.get())
                };
                let answer = authentication(subscriber);
                let value = subscriber.sqn.get().to_be_bytes().to_vec();
                self.commit(id, answer, &update.supi, "sqn", Some(value), effects);
                return;
            }
            Message::StoreAmf(update) => {
                if !self.subscribers.contains_key(&update.supi) {
                    effects.push(failure(id, Problem::UserNotFound));
                    return;
                }
                let value = self.store_amf(&update.supi, update.registered.then_some(update.guami));
                self.commit(id, Done::ALL.into(), &update.supi, "amf", value, effects);
                return;
            }
            _ => Some(Problem::Protocol.into()),
        };
        let message = answer.unwrap_or_else(|| Problem::UserNotFound.into());
        effects.push(Effect::Answer { id, message });
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
        request: RequestId,
        answer: Message,
        supi: &Supi,
        what: &str,
        value: Option<Vec<u8>>,
        effects: &mut Vec<Effect>,
    ) {
        self.commits += 1;
        let id = CommitId(self.commits);
        self.pending.insert(id, (request, answer));
        let key = format!("udr/{what}/{}", supi.imsi()).into_bytes();
        effects.push(Effect::Commit { id, key, value });
    }
}

fn failure(id: RequestId, problem: Problem) -> Effect {
    Effect::Answer {
        id,
        message: problem.into(),
    }
}

fn authentication(subscriber: &Subscriber) -> Message {
    AuthenticationSubscription {
        k: *subscriber.k.octets(),
        opc: *subscriber.opc.octets(),
        sqn: subscriber.sqn.get().into(),
    }
    .into()
}

impl NetworkFunction for Udr {
    fn handle(&mut self, _: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        match input {
            Input::Request { id, message } => self.request(id, message, effects),
            Input::Committed(commit) => {
                if let Some((id, message)) = self.pending.remove(&commit) {
                    effects.push(Effect::Answer { id, message });
                }
            }
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
