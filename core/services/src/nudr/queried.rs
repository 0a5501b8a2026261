//! Queries of context data (TS 29.505, 5.2.5 to 5.2.9): whole registrations and subscriptions, of which a UDM takes who is to
//! be told of a change.

use http::{Method, StatusCode};
use serde_json::Value;
use sluice_ids::{Guami, Supi};
use sluice_sbi::{
    ContextData, Message, Nf, Problem, QueryContextData, QuerySdm, QuerySmf, SdmData, Slot,
};
use zerocopy::FromZeros;

use crate::body::{respond, send_empty};
use crate::calls::{ask, ask_each, ask_on, call_on};
use crate::exchange::{Consumer, OnResponse, Producer, Refusal};
use crate::names::Memory;
use crate::nudm::sdm::found;
use crate::nudr::context::{AMF, SDM, SMFS, no_such};
use crate::nudr::path;
use crate::route::unknown;
use crate::subscription::context::{AmfRegistration, Sdm, session_id, smf_json};
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
    if let [SMFS, id] = rest {
        let session = session_id(id).ok_or_else(no_such)?;
        return Ok(ask_on(QuerySmf { supi, session }, |found, _| {
            Producer::Done(found.map_or_else(
                |_| no_such(),
                |stored| respond(StatusCode::OK, &smf_json(&stored.registration)),
            ))
        }));
    }
    let query = QueryContextData { supi };
    match rest {
        [AMF] => Ok(ask(query, move |known, memory| match known.has_amf {
            true => {
                let network = known.guami.plmn.serving_network_name();
                let amf = AmfRegistration::known(&supi, known.guami, network, memory);
                respond(StatusCode::OK, &amf.json())
            }
            false => no_such(),
        })),
        [SMFS] => Ok(ask_on(query, move |known, memory| {
            each(known.map(|known| smf_queries(supi, &known)), memory)
        })),
        [SDM] => Ok(ask_on(query, move |known, memory| {
            each(known.map(|known| sdm_queries(supi, &known)), memory)
        })),
        _ => Err(unknown().into()),
    }
}

fn smf_queries(supi: Supi, known: &ContextData) -> Vec<Slot> {
    let sessions = known.sessions.get();
    let has = |session: &u8| sessions & 1 << session != 0;
    (0..16_u8)
        .filter(has)
        .map(|session| QuerySmf { supi, session }.into())
        .collect()
}

fn sdm_queries(supi: Supi, known: &ContextData) -> Vec<Slot> {
    (0..known.subscriptions)
        .map(|number| QuerySdm { supi, number }.into())
        .collect()
}

/// List of what each of these queries finds; something that has gone meanwhile is not in it.
fn each(queries: Result<Vec<Slot>, Problem>, memory: &mut Memory) -> Producer {
    let queries = match queries {
        Ok(queries) => queries.into_iter(),
        Err(problem) => return Producer::Done(crate::problem::tell(problem)),
    };
    let on_answers = |answers: Vec<Message>, memory: &mut Memory| {
        let one = |answer: Message| match answer {
            Message::StoredSmf(stored) => Some(smf_json(&stored.registration)),
            Message::StoredSdm(stored) => Some(Sdm::known(stored.subscription, memory).json()),
            _ => None,
        };
        let list: Value = answers.into_iter().filter_map(one).collect();
        Producer::Done(respond(StatusCode::OK, &list))
    };
    ask_each(Nf::Udr, queries, Vec::new(), memory, Box::new(on_answers))
}
