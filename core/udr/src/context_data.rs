//! Context data of UEs (TS 29.505, 5.2.5 to 5.2.9): which SMFs have PDU sessions of a UE, and which AMF and SMFs have
//! subscribed to changes of its subscription, for as long as an AMF has the UE.
//!
//! AMF and SMFs take back what they have told. One that has ended without a word does not: what is left of it goes when
//! the UE deregisters, and nothing is stored of a UE that no AMF has, however late it comes.

use std::collections::BTreeMap;

use sluice_ids::{Guami, Supi};
use sluice_sbi::context_store::{Reader, Writer};
use sluice_sbi::{
    CommitId, ContextData, Effect, Message, Problem, QuerySdm, QuerySmf, RequestId, SdmData,
    SdmSubscription, SmfRegistration, StoredSdm, StoredSmf,
};
use zerocopy::FromZeros;

use crate::{Pending, Udr, failure};

/// Version of the stored form.
const VERSION: u8 = 1;

/// Before the digits of a subscriber, and the identity of a session.
const SMF: &str = "udr/smf/";

/// Before the digits of a subscriber, and the identity of a subscription.
const SDM: &str = "udr/sdm/";

/// Of all UEs.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    smfs: BTreeMap<(Supi, u8), SmfRegistration>,
    subscriptions: BTreeMap<(Supi, u64), SdmSubscription>,
}

impl Contexts {
    /// Of a UE that this AMF has.
    pub fn of(&self, supi: &Supi, amf: Option<&Guami>) -> ContextData {
        let bit = |session: u8| 1_u16.checked_shl(session.into()).unwrap_or_default();
        let sessions = self.sessions(supi).fold(0, |all, id| all | bit(id));
        let has = |data| self.subscriptions(supi).any(|(_, one)| one.data == data);
        ContextData {
            has_amf: amf.is_some(),
            sessions: sessions.into(),
            tells_amf: has(SdmData::AccessAndMobility),
            tells_smf: has(SdmData::SessionManagement),
            guami: amf.copied().unwrap_or_else(Guami::new_zeroed),
            subscriptions: self
                .subscriptions(supi)
                .count()
                .try_into()
                .unwrap_or(u8::MAX),
        }
    }

    fn subscriptions<'a>(
        &'a self,
        supi: &Supi,
    ) -> impl Iterator<Item = (u64, &'a SdmSubscription)> + use<'a> {
        let its = (*supi, 0)..=(*supi, u64::MAX);
        self.subscriptions
            .range(its)
            .map(|((_, id), one)| (*id, one))
    }

    fn sessions(&self, supi: &Supi) -> impl Iterator<Item = u8> {
        let its = (*supi, 0)..=(*supi, u8::MAX);
        self.smfs.range(its).map(|((_, session), _)| *session)
    }
}

fn smf_key(supi: &Supi, session: u8) -> Vec<u8> {
    format!("{SMF}{}/{session}", supi.imsi()).into_bytes()
}

fn sdm_key(supi: &Supi, id: u64) -> Vec<u8> {
    format!("{SDM}{}/{id:016x}", supi.imsi()).into_bytes()
}

fn stored(write: impl FnOnce(&mut Writer)) -> Vec<u8> {
    let mut w = Writer::new(VERSION);
    write(&mut w);
    w.finish()
}

impl Udr {
    /// Subscriptions to changes of a subscriber's data.
    pub fn subscriptions_of<'a>(
        &'a self,
        supi: &Supi,
    ) -> impl Iterator<Item = &'a SdmSubscription> + use<'a> {
        self.contexts.subscriptions(supi).map(|(_, one)| one)
    }

    /// The SMF that has a PDU session.
    pub fn smf_of(&self, supi: &Supi, session: u8) -> Option<&SmfRegistration> {
        self.contexts.smfs.get(&(*supi, session))
    }

    /// How much context data there is, by what it is: all of it is nothing when there are no UEs.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        let Contexts {
            smfs,
            subscriptions,
        } = &self.contexts;
        vec![
            ("UDR: registrations of SMFs", smfs.len()),
            ("UDR: SDM subscriptions", subscriptions.len()),
        ]
    }

    /// Nudr_DM_Query of an SMF registration.
    pub(crate) fn query_smf(&self, query: &QuerySmf) -> Message {
        let found = self.smf_of(&query.supi, query.session);
        found.map_or(Problem::ContextNotFound.into(), |one| {
            StoredSmf { registration: *one }.into()
        })
    }

    /// Nudr_DM_Query of a subscription.
    pub(crate) fn query_sdm(&self, query: &QuerySdm) -> Message {
        let found = self.subscriptions_of(&query.supi).nth(query.number.into());
        found.map_or(Problem::ContextNotFound.into(), |one| {
            StoredSdm { subscription: *one }.into()
        })
    }

    /// Nudr_DM_Create and Nudr_DM_Delete of context data. What is deleted need not be there.
    pub(crate) fn store_context(
        &mut self,
        id: RequestId,
        message: &Message,
        effects: &mut Vec<Effect>,
    ) {
        let (key, value) = match message {
            Message::StoreSmf(store) => {
                let one = store.registration;
                let (supi, session) = (one.supi, one.session);
                if let Some(problem) = self.has_no_contexts(&supi) {
                    return effects.push(failure(id, problem));
                }
                // A session of this identity that there was is replaced (TS 29.503, 5.3.2.2.3).
                self.contexts.smfs.insert((supi, session), one);
                (smf_key(&supi, session), Some(stored(|w| w.flat(&one))))
            }
            Message::StoreSdm(store) => {
                let one = store.subscription;
                let (supi, id_of_one) = (one.supi, one.id());
                if let Some(problem) = self.has_no_contexts(&supi) {
                    return effects.push(failure(id, problem));
                }
                self.contexts.subscriptions.insert((supi, id_of_one), one);
                (sdm_key(&supi, id_of_one), Some(stored(|w| w.flat(&one))))
            }
            Message::DeleteSdm(delete) => {
                let name = (delete.supi, delete.id.get());
                self.contexts.subscriptions.remove(&name);
                (sdm_key(&name.0, name.1), None)
            }
            Message::DeleteSmf(delete) => {
                let name = (delete.supi, delete.session);
                self.contexts.smfs.remove(&name);
                (smf_key(&delete.supi, delete.session), None)
            }
            _ => return effects.push(failure(id, Problem::Protocol)),
        };
        self.commit(Pending::done(id), key, value, effects);
    }

    /// Why a UE can have no context data, if it cannot.
    fn has_no_contexts(&self, supi: &Supi) -> Option<Problem> {
        if !self.subscribers.contains_key(supi) {
            return Some(Problem::UserNotFound);
        }
        let has_amf = self.amfs.contains_key(supi);
        (!has_amf).then_some(Problem::ContextNotFound)
    }

    /// No AMF has the UE any more.
    pub(crate) fn forget_contexts(&mut self, supi: &Supi, effects: &mut Vec<Effect>) {
        let sessions: Vec<u8> = self.contexts.sessions(supi).collect();
        let subscriptions: Vec<u64> = self
            .contexts
            .subscriptions(supi)
            .map(|(id, _)| id)
            .collect();
        let mut keys = Vec::new();
        for session in sessions {
            self.contexts.smfs.remove(&(*supi, session));
            keys.push(smf_key(supi, session));
        }
        for id in subscriptions {
            self.contexts.subscriptions.remove(&(*supi, id));
            keys.push(sdm_key(supi, id));
        }
        for key in keys {
            self.commits += 1;
            let (id, value) = (CommitId(self.commits), None);
            effects.push(Effect::Commit { id, key, value });
        }
    }

    /// Goes on with context data that a repository before this one has stored, of UEs that AMFs have
    /// ([`Udr::resume_amf`]). Gives keys of what it does not go on with.
    pub fn resume_contexts<'a>(
        &mut self,
        contexts: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Vec<Vec<u8>> {
        let mut over = Vec::new();
        for (key, value) in contexts {
            let is_resumed = if key.starts_with(SMF.as_bytes()) {
                self.resume_smf(key, value)
            } else if key.starts_with(SDM.as_bytes()) {
                self.resume_subscription(key, value)
            } else {
                continue;
            };
            if is_resumed.is_none() {
                over.push(key.to_vec());
            }
        }
        over
    }

    fn resume_smf(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let one: SmfRegistration = read(value, |r| r.flat())?;
        let (supi, session) = (one.supi, one.session);
        let is_its = self.amfs.contains_key(&supi) && smf_key(&supi, session) == key;
        is_its.then(|| _ = self.contexts.smfs.insert((supi, session), one))
    }

    fn resume_subscription(&mut self, key: &[u8], value: &[u8]) -> Option<()> {
        let one: SdmSubscription = read(value, |r| r.flat())?;
        let (supi, id) = (one.supi, one.id());
        let is_its = self.amfs.contains_key(&supi) && sdm_key(&supi, id) == key;
        is_its.then(|| _ = self.contexts.subscriptions.insert((supi, id), one))
    }
}

fn read<T>(octets: &[u8], take: impl FnOnce(&mut Reader<'_>) -> Option<T>) -> Option<T> {
    let r = &mut Reader::new(VERSION, octets)?;
    let one = take(r)?;
    r.end().map(|()| one)
}
