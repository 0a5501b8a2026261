//! Unified data repository (TS 23.501, 6.2.11): subscribers, their sequence numbers and where they are.
//!
//! It answers from memory at once; what it changes is committed before the answer leaves.
#![forbid(unsafe_code)]

use std::collections::BTreeMap;

use sluice_ids::{Guami, Snssai, Supi};
use sluice_sbi::{
    AccessAndMobility, AuthenticationSubscription, CommitId, Done, Effect, Input, Instant, Message,
    NetworkFunction, Now, Problem, RequestId,
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
            Input::Reply { .. } | Input::N2 { .. } | Input::AssociationLost(_) | Input::Time => {}
        }
    }

    fn next_deadline(&self) -> Instant {
        Instant::NEVER
    }
}

#[cfg(test)]
mod tests;
