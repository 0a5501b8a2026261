//! Context data (TS 29.505, 5.2.5 to 5.2.9): registrations of AMFs and SMFs, and subscriptions to changes.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::{Guami, Supi};
use sluice_sbi::{
    AmfStored, DeleteSdm, DeleteSmf, Done, Message, Nf, Problem, QueryContextData, Slot, StoreAmf,
    StoreSdm, StoreSmf,
};
use zerocopy::FromZeros;

use crate::body::{read, respond_empty, send, send_empty};
use crate::calls::{ask, ask_each, call, done};
use crate::exchange::{Consumer, Producer, Refusal, Request};
use crate::names::Memory;
use crate::nudr::{ROOT, path, queried};
use crate::problem::{refuse, tell};
use crate::route::{Route, not_allowed, unknown};
use crate::subscription::context::{
    AmfRegistration, Sdm, forget_sdm, forget_ue, sdm_ids, session_id, smf, smf_json,
};
use crate::subscription::sdm_resource;
use crate::values::{guami, guami_json};

pub(super) const AMF: &str = "amf-3gpp-access";
pub(super) const SMFS: &str = "smf-registrations";
pub(super) const SDM: &str = "sdm-subscriptions";

/// Begin of the paths of subscriptions, before the subscriber and after it.
const SDM_ROOT: sdm_resource::Root = (ROOT, "context-data/");

/// A request of a UDM.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::StoreAmf(store) => Some(store_amf(store, memory)),
        Message::QueryContextData(QueryContextData { supi }) => Some(queried::query(*supi)),
        Message::StoreSmf(StoreSmf { registration }) => {
            let what = format!("context-data/{SMFS}/{}", registration.session);
            let path = path(&registration.supi, &what);
            let outgoing = send(Method::PUT, &path, &smf_json(registration));
            Some(call(outgoing, |came, _| done(&came.response)))
        }
        Message::DeleteSmf(DeleteSmf { supi, session }) => {
            let path = path(supi, &format!("context-data/{SMFS}/{session}"));
            let outgoing = send_empty(Method::DELETE, &path);
            Some(call(outgoing, |came, _| match came.response.status() {
                // One that is not there is deleted.
                StatusCode::NOT_FOUND => Ok(Done::ALL.into()),
                _ => done(&came.response),
            }))
        }
        Message::StoreSdm(StoreSdm { subscription }) => {
            let sdm = Sdm::known(*subscription, memory);
            Some(sdm_resource::create(SDM_ROOT, sdm, |_| Done::ALL.into()))
        }
        Message::DeleteSdm(DeleteSdm { supi, id }) => {
            Some(sdm_resource::delete(SDM_ROOT, *supi, id.get(), memory))
        }
        _ => None,
    }
}

/// AMF of a UE; that it is there no more by its purge flag (TS 29.505, 5.2.5), with the GUAMI that it had.
///
/// Which AMF had it before is known as far as this program has stored it: the callback of another one is not known, either.
fn store_amf(store: &StoreAmf, memory: &Memory) -> Consumer {
    let path = path(&store.supi, &format!("context-data/{AMF}"));
    let outgoing = if store.registered {
        let registration = AmfRegistration::known(&store.supi, store.guami, store.network, memory);
        send(Method::PUT, &path, &registration.json())
    } else {
        let patch = json!([
            { "op": "replace", "path": "/guami", "value": guami_json(store.guami) },
            { "op": "add", "path": "/purgeFlag", "value": true },
        ]);
        let mut outgoing = send(Method::PATCH, &path, &patch);
        let json_patch = HeaderValue::from_static("application/json-patch+json");
        outgoing
            .request
            .headers_mut()
            .insert(CONTENT_TYPE, json_patch);
        outgoing
    };
    let (is_purge, guami, key) = (!store.registered, store.guami, note_key(&store.supi));
    call(outgoing, move |came, memory| {
        let noted = memory.noted(&key).and_then(|text| {
            let noted = serde_json::from_str(text).ok()?;
            crate::values::guami(&noted)
        });
        match (came.response.status(), done(&came.response)) {
            // One that is nowhere is purged. One that is found, and not as authenticated, is not registered.
            (StatusCode::NOT_FOUND, _) if is_purge => {}
            (_, Err(Problem::ContextNotFound)) if !is_purge => {
                return Err(Problem::NotAuthenticated);
            }
            (_, Err(problem)) => return Err(problem),
            (_, Ok(_)) => {}
        }
        match is_purge {
            true => memory.forget_note(&key),
            false => memory.note(&key, &guami_json(guami).to_string()),
        }
        let stored = AmfStored {
            had_amf: noted.is_some(),
            before: noted.unwrap_or_else(Guami::new_zeroed),
        };
        Ok(stored.into())
    })
}

/// Key of the AMF that a repository was told last.
fn note_key(supi: &Supi) -> String {
    format!("stored amf {supi}")
}

/// A request for context data.
pub(crate) fn accept(
    route: &Route,
    ue: &str,
    rest: &[&str],
    request: &Request,
    memory: &mut Memory,
) -> Result<Producer, Refusal> {
    match (route.method.as_str(), rest) {
        ("GET", [AMF | SMFS | SDM] | [SMFS, _]) => queried::accept(ue, rest),
        ("PUT", [AMF]) => accept_amf(ue, request, memory),
        ("PATCH", [AMF]) => accept_amf_patch(ue, request),
        ("PUT", [SMFS, id]) => {
            let supi = crate::subscription::supi(ue)?;
            let registration = smf(&read(request)?, supi, id)?;
            let message = StoreSmf { registration };
            Ok(ask(message, |_, _| respond_empty(StatusCode::NO_CONTENT)))
        }
        ("DELETE", [SMFS, id]) => accept_smf_gone(ue, id),
        ("POST", [SDM]) => accept_sdm(ue, request, memory),
        ("DELETE", [SDM, name]) => accept_sdm_gone(ue, name, memory),
        (_, [AMF] | [SMFS] | [SMFS, _] | [SDM] | [SDM, _]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    }
}

fn accept_amf(ue: &str, request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let registration = AmfRegistration::read(&read(request)?)?;
    if registration.is_purged {
        return Ok(purge(supi, registration.guami));
    }
    let guami = registration.guami;
    let before = registration.keep(&supi, memory);
    let message = StoreAmf {
        supi,
        guami,
        registered: true,
        network: registration.network,
    };
    Ok(crate::calls::ask_on(message, move |answer, memory| {
        Producer::Done(match answer {
            Ok(_) => respond_empty(StatusCode::NO_CONTENT),
            Err(problem) => {
                before.restore(memory);
                tell(problem)
            }
        })
    }))
}

/// Patch of a registration: that the UE is gone. Of its other members none is kept here.
fn accept_amf_patch(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let patch = read(request)?;
    let value = |path: &str| {
        let mut items = patch.as_array().into_iter().flatten();
        let is_it = |item: &&Value| item.get("path").and_then(Value::as_str) == Some(path);
        items.find(is_it).and_then(|item| item.get("value"))
    };
    if value("/purgeFlag") != Some(&Value::Bool(true)) {
        return Ok(Producer::Done(respond_empty(StatusCode::NO_CONTENT)));
    }
    // It is purged wherever it was.
    let guami = value("/guami")
        .and_then(guami)
        .unwrap_or_else(Guami::new_zeroed);
    Ok(purge(supi, guami))
}

fn purge(supi: Supi, guami: Guami) -> Producer {
    let message = StoreAmf {
        supi,
        guami,
        registered: false,
        network: guami.plmn.serving_network_name(),
    };
    ask(message, move |stored, memory| {
        forget_ue(&supi, stored.before, memory);
        respond_empty(StatusCode::NO_CONTENT)
    })
}

fn accept_smf_gone(ue: &str, id: &str) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let session = session_id(id).ok_or_else(no_such)?;
    Ok(ask(DeleteSmf { supi, session }, |_, _| {
        respond_empty(StatusCode::NO_CONTENT)
    }))
}

pub(super) fn no_such() -> crate::exchange::Response {
    let detail = "there is no such context data";
    refuse(StatusCode::NOT_FOUND, "DATA_NOT_FOUND", detail)
}

fn accept_sdm(ue: &str, request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let sdm = Sdm::read(&read(request)?, supi)?;
    let messages = sdm.subscriptions.iter();
    let messages: Vec<Slot> = messages
        .map(|one| Slot::from(StoreSdm { subscription: *one }))
        .collect();
    let on_answers = move |answers: Vec<Message>, memory: &mut Memory| {
        let mut answers = answers.iter();
        let failed = answers.find_map(|answer| answer.answer_to::<StoreSdm>().err());
        Producer::Done(match failed {
            Some(problem) => tell(problem),
            None => {
                sdm.keep(memory);
                sdm_resource::created(SDM_ROOT, &sdm, &supi, memory)
            }
        })
    };
    let messages = messages.into_iter();
    Ok(ask_each(
        Nf::Udr,
        messages,
        Vec::new(),
        memory,
        Box::new(on_answers),
    ))
}

fn accept_sdm_gone(ue: &str, name: &str, memory: &mut Memory) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let ids = sdm_ids(name).ok_or_else(no_such)?;
    let messages = ids.iter();
    let messages: Vec<Slot> = messages
        .map(|id| {
            Slot::from(DeleteSdm {
                supi,
                id: (*id).into(),
            })
        })
        .collect();
    let on_answers = move |answers: Vec<Message>, memory: &mut Memory| {
        for id in ids {
            forget_sdm(&supi, id, memory);
        }
        let mut answers = answers.iter();
        let failed = answers.find_map(|answer| answer.answer_to::<DeleteSdm>().err());
        Producer::Done(match failed {
            None => respond_empty(StatusCode::NO_CONTENT),
            Some(problem) => tell(problem),
        })
    };
    let messages = messages.into_iter();
    Ok(ask_each(
        Nf::Udr,
        messages,
        Vec::new(),
        memory,
        Box::new(on_answers),
    ))
}
