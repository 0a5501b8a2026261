//! Context data of UEs (TS 29.505, 5.2.5 and 5.2.6): which SMFs have PDU sessions of a UE, for as long as an AMF has it.
//!
//! SMFs deregister when sessions end. One that has ended without a word does not: its registrations go when the UE
//! deregisters, and none is stored of a UE that no AMF has, however late it comes.

use std::collections::BTreeMap;

use sluice_ids::Supi;
use sluice_sbi::context_store::{Reader, Writer};
use sluice_sbi::{CommitId, ContextData, Effect, Message, Problem, RequestId, SmfRegistration};

use crate::{Pending, Udr, failure};

/// Version of the stored form.
const VERSION: u8 = 1;

/// Before the digits of a subscriber, and the identity of a session.
const SMF: &str = "udr/smf/";

/// Of all UEs.
#[derive(Debug, Default)]
pub(crate) struct Contexts {
    smfs: BTreeMap<(Supi, u8), SmfRegistration>,
}

impl Contexts {
    /// Of a UE.
    pub fn of(&self, supi: &Supi, has_amf: bool) -> ContextData {
        let bit = |session: u8| 1_u16.checked_shl(session.into()).unwrap_or_default();
        let sessions = self.sessions(supi).fold(0, |all, id| all | bit(id));
        ContextData {
            has_amf,
            sessions: sessions.into(),
        }
    }

    fn sessions(&self, supi: &Supi) -> impl Iterator<Item = u8> {
        let its = (*supi, 0)..=(*supi, u8::MAX);
        self.smfs.range(its).map(|((_, session), _)| *session)
    }
}

fn smf_key(supi: &Supi, session: u8) -> Vec<u8> {
    format!("{SMF}{}/{session}", supi.imsi()).into_bytes()
}

impl Udr {
    /// The SMF that has a PDU session.
    pub fn smf_of(&self, supi: &Supi, session: u8) -> Option<&SmfRegistration> {
        self.contexts.smfs.get(&(*supi, session))
    }

    /// How much context data there is, by what it is: all of it is nothing when there are no UEs.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        vec![("UDR: registrations of SMFs", self.contexts.smfs.len())]
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
                let mut w = Writer::new(VERSION);
                w.flat(&one);
                (smf_key(&supi, session), Some(w.finish()))
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
        for session in sessions {
            self.contexts.smfs.remove(&(*supi, session));
            self.commits += 1;
            effects.push(Effect::Commit {
                id: CommitId(self.commits),
                key: smf_key(supi, session),
                value: None,
            });
        }
    }

    /// Goes on with context data that a repository before this one has stored, of UEs that AMFs have
    /// ([`Udr::resume_amf`]). Gives keys of what it does not go on with.
    pub fn resume_contexts<'a>(
        &mut self,
        contexts: impl Iterator<Item = (&'a [u8], &'a [u8])>,
    ) -> Vec<Vec<u8>> {
        let mut over = Vec::new();
        for (key, value) in contexts.filter(|(key, _)| key.starts_with(SMF.as_bytes())) {
            let known = read(value).filter(|one| {
                self.amfs.contains_key(&one.supi) && smf_key(&one.supi, one.session) == key
            });
            match known {
                Some(one) => _ = self.contexts.smfs.insert((one.supi, one.session), one),
                None => over.push(key.to_vec()),
            }
        }
        over
    }
}

fn read(octets: &[u8]) -> Option<SmfRegistration> {
    let r = &mut Reader::new(VERSION, octets)?;
    let one = r.flat()?;
    r.end().map(|()| one)
}
