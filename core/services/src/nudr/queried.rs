//! Queries of context data (TS 29.505, 5.2.5 to 5.2.9): whole registrations and subscriptions, of which a UDM takes who is to
//! be told of a change.

use http::{Method, StatusCode};
use serde_json::Value;
use sluice_ids::{Guami, Supi};
use sluice_sbi::{ContextData, Message, Nf, Problem, QuerySdm, SdmData, Slot, SmfRegistration};
use zerocopy::FromZeros;

use crate::body::{respond, send_empty};
use crate::calls::{ask_each, call_on};
use crate::exchange::{Consumer, OnResponse, Producer, Refusal};
use crate::names::Memory;
use crate::nudm::sdm::found;
use crate::nudr::context::{AMF, SDM, SMFS, no_such};
use crate::nudr::path;
use crate::problem::tell;
use crate::route::unknown;
use crate::subscription::asked::{Source, Then};
use crate::subscription::context::{Sdm, session_id, smf_json};
use crate::values::guami;

/// Context data from those of an AMF, of SMFs and of subscriptions, one after the other.
pub(super) fn query(supi: Supi) -> Consumer {
    let nothing = ContextData {
        has_amf: false,
        sessions: 0.into(),
        tells_amf: false,
        tells_smf: false,
        guami: Guami::new_zeroed(),
        subscriptions: 0,
    };
    let parts: Vec<Part> = vec![(AMF, take_amf), (SMFS, take_smfs), (SDM, take_sdm)];
    query_next(supi, parts.into_iter(), nothing)
}

/// Path of context data, and how they are taken.
type Part = (&'static str, fn(&Value, &Supi, &mut ContextData));

fn query_next(supi: Supi, mut parts: std::vec::IntoIter<Part>, mut known: ContextData) -> Consumer {
    let Some((name, take)) = parts.next() else {
        return Consumer::Done(known.into());
    };
    let path = path(&supi, &format!("context-data/{name}"));
    let then: OnResponse = Box::new(move |came, _| {
        match (came.response.status(), found(&came.response)) {
            (StatusCode::NOT_FOUND, _) => {}
            (_, Ok(data)) => take(&data, &supi, &mut known),
            (_, Err(problem)) => return Consumer::Done(problem.into()),
        }
        query_next(supi, parts, known)
    });
    call_on(send_empty(Method::GET, &path), then)
}

/// Amf3GppAccessRegistration; one that is purged is none.
fn take_amf(data: &Value, _: &Supi, known: &mut ContextData) {
    let is_purged = data.get("purgeFlag").and_then(Value::as_bool) == Some(true);
    let its = data.get("guami").and_then(guami).filter(|_| !is_purged);
    known.has_amf = its.is_some();
    known.guami = its.unwrap_or_else(Guami::new_zeroed);
}

/// SmfRegList
fn take_smfs(data: &Value, _: &Supi, known: &mut ContextData) {
    let all = data.as_array().into_iter().flatten();
    let sessions = all.filter_map(|one| one.get("pduSessionId")?.as_u64());
    let bit = |session: u64| 1_u16.checked_shl(session.try_into().unwrap_or(u32::MAX));
    known.sessions = sessions
        .filter_map(bit)
        .fold(0, |all, bit| all | bit)
        .into();
}

/// SdmSubscriptions; those to other data are none here.
fn take_sdm(data: &Value, supi: &Supi, known: &mut ContextData) {
    let all = data.as_array().into_iter().flatten();
    let all = all.filter_map(|one| Sdm::read(one, *supi).ok());
    for one in all.flat_map(|sdm| sdm.subscriptions) {
        known.subscriptions = known.subscriptions.saturating_add(1);
        match one.data {
            SdmData::AccessAndMobility => known.tells_amf = true,
            SdmData::SessionManagement => known.tells_smf = true,
        }
    }
}

/// A query of context data.
pub(super) fn accept(ue: &str, rest: &[&str]) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let told: Then = Box::new(|found, _| {
        Producer::Done(match found {
            Ok(body) => respond(StatusCode::OK, &body),
            Err(Problem::ContextNotFound) => no_such(),
            Err(problem) => tell(problem),
        })
    });
    match rest {
        [AMF] => Ok(Source::Udr.amf(supi, told)),
        [SMFS, id] => {
            let session = session_id(id).ok_or_else(no_such)?;
            Ok(Source::Udr.smf(supi, session, told))
        }
        [SMFS] => {
            let on_smfs = |smfs: Result<Vec<SmfRegistration>, Problem>, memory: &mut Memory| {
                told(smfs.map(|smfs| smfs.iter().map(smf_json).collect()), memory)
            };
            Ok(Source::Udr.smfs(supi, Box::new(on_smfs)))
        }
        [SDM] => Ok(Source::Udr.known(supi, move |known, memory| match known {
            Ok(known) => each_sdm(supi, &known, memory, told),
            Err(problem) => told(Err(problem), memory),
        })),
        _ => Err(unknown().into()),
    }
}

/// SdmSubscriptions; one that has gone meanwhile is not among them.
fn each_sdm(supi: Supi, known: &ContextData, memory: &mut Memory, told: Then) -> Producer {
    let queries: Vec<Slot> = (0..known.subscriptions)
        .map(|number| QuerySdm { supi, number }.into())
        .collect();
    let on_answers = |answers: Vec<Message>, memory: &mut Memory| {
        let one = |answer: Message| match answer {
            Message::StoredSdm(stored) => Some(Sdm::known(stored.subscription, memory).json()),
            _ => None,
        };
        let list = answers.into_iter().filter_map(one).collect();
        told(Ok(list), memory)
    };
    let queries = queries.into_iter();
    ask_each(Nf::Udr, queries, Vec::new(), memory, Box::new(on_answers))
}
