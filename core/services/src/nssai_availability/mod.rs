//! Nnssf_NSSAIAvailability (TS 29.531, 6.2): slices that AMFs support in their tracking areas, and subscriptions to changes.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::{Snssai, Tai};
use sluice_sbi::{
    AREAS, AvailableSlices, ForgetAvailability, Message, Nf, NfInstance, NotifyAvailability,
    Problem, SLICES, Slot, StoreAvailability, SubscribeAvailability, UnsubscribeAvailability,
};

use crate::body::{member, optional, read, respond, respond_empty, with_location};
use crate::calls::{ask_each, ask_on};
use crate::exchange::{Consumer, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::patch;
use crate::problem::{refuse_member, tell};
use crate::resources::Collection;
use crate::route::{Route, not_allowed, unknown};
use crate::subscriber::{Subscribers, not_found, uri};
use crate::values::{date_time, date_time_text, instance, slice, slice_json, tai, tai_json};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "nnssf-nssaiavailability";

const RESOURCES: &str = "nssai-availability";
const SUPPORTED: &str = "/supportedNssaiAvailabilityData";
const EVENT: &str = "SNSSAI_STATUS_CHANGE_REPORT";

static SUBSCRIBERS: Subscribers = Subscribers(Collection(
    "/nnssf-nssaiavailability/v1/nssai-availability/subscriptions",
));

/// Most tracking areas that an AMF tells.
const AREAS_OF_AMF: usize = 64;

/// A notification of the NSSF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::NotifyAvailability(notice) => Some(notify(notice, memory)),
        _ => None,
    }
}

/// A request for the NSSF.
pub(crate) fn accept(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match (&route.method, route.parts().as_slice()) {
        (&Method::POST, [RESOURCES, "subscriptions"]) => create(request),
        (&Method::PATCH, [RESOURCES, "subscriptions", id]) => change(id, request, memory),
        (&Method::DELETE, [RESOURCES, "subscriptions", id]) => {
            SUBSCRIBERS.end(id, |id| UnsubscribeAvailability { id: id.into() })
        }
        (&Method::PUT, [RESOURCES, amf]) => put(amf, request, memory),
        (&Method::PATCH, [RESOURCES, amf]) => patch_of(amf, request, memory),
        (&Method::DELETE, [RESOURCES, amf]) => delete(amf),
        (_, [RESOURCES, _] | [RESOURCES, "subscriptions", _]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

/// Key of what an AMF has said.
fn key(amf: NfInstance) -> String {
    format!("{RESOURCES} {amf}")
}

fn find(amf: &str) -> Result<NfInstance, Refusal> {
    instance(amf).ok_or_else(|| tell(Problem::ContextNotFound).into())
}

/// NssaiAvailabilityInfo
fn put(amf: &str, request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    store(find(amf)?, read(request)?, memory)
}

/// PatchDocument of a NssaiAvailabilityInfo.
fn patch_of(amf: &str, request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    let amf = find(amf)?;
    let kept = memory.subscriber(&key(amf));
    let kept = kept.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let mut document = kept.ok_or_else(|| tell(Problem::ContextNotFound))?;
    patch::apply(&mut document, &read(request)?).map_err(patch::wrong)?;
    store(amf, document, memory)
}

/// Stores what an AMF has said, one tracking area after the other.
fn store(amf: NfInstance, body: Value, memory: &mut Memory) -> Result<Producer, Refusal> {
    let areas = areas(&body)?;
    let message = |(at, (tai, slices)): (usize, &(Tai, Vec<Snssai>))| {
        Slot::from(StoreAvailability {
            amf,
            is_first: at == 0,
            is_last: at + 1 == areas.len(),
            tai: *tai,
            slices: AvailableSlices::new(slices),
        })
    };
    let messages: Vec<Slot> = areas.iter().enumerate().map(message).collect();
    let kept = document(&areas).to_string();
    let stored = move |answers: Vec<Message>, memory: &mut Memory| {
        let failure = answers.iter().find_map(|answer| match answer {
            Message::AvailabilityStored(_) => None,
            Message::Failure(failure) => Some(failure.problem),
            _ => Some(Problem::Protocol),
        });
        Producer::Done(match failure {
            Some(problem) => tell(problem),
            None => {
                memory.keep_subscriber(&key(amf), &kept);
                authorized(&areas, &answers)
            }
        })
    };
    Ok(ask_each(
        Nf::Nssf,
        messages.into_iter(),
        Vec::new(),
        memory,
        Box::new(stored),
    ))
}

/// NssaiAvailabilityInfo of what is known of it.
fn document(areas: &[(Tai, Vec<Snssai>)]) -> Value {
    let data = |(tai, slices): &(Tai, Vec<Snssai>)| data(*tai, slices);
    json!({ SUPPORTED[1..]: areas.iter().map(data).collect::<Value>() })
}

/// SupportedNssaiAvailabilityData and AuthorizedNssaiAvailabilityData, as far as they have members in common.
fn data(tai: Tai, slices: &[Snssai]) -> Value {
    let slices: Value = slices.iter().map(|one| slice_json(*one)).collect();
    json!({ "tai": tai_json(tai), "supportedSnssaiList": slices })
}

/// Tracking areas with their slices. Ranges of areas are not served.
fn areas(body: &Value) -> Result<Vec<(Tai, Vec<Snssai>)>, Refusal> {
    let list = |value: &Value| value.as_array().map(Vec::len).filter(|number| *number > 0);
    let number = member(body, SUPPORTED, "a list of areas", list)?;
    let mut areas = Vec::new();
    for at in 0..number {
        let own = format!("{SUPPORTED}/{at}");
        let slices = |value: &Value| {
            let all: Option<Vec<Snssai>> = value.as_array()?.iter().map(slice).collect();
            all.filter(|all| (1..=SLICES).contains(&all.len()))
        };
        let expected = "a list of 1 to 16 S-NSSAIs";
        let slices = member(
            body,
            &format!("{own}/supportedSnssaiList"),
            expected,
            slices,
        )?;
        let range = format!("{own}/taiRangeList");
        if body.pointer(&range).is_some_and(|one| !one.is_null()) {
            return Err(refuse_member(false, &range, "nothing: areas are named in taiList").into());
        }
        let more = |value: &Value| {
            value
                .as_array()?
                .iter()
                .map(tai)
                .collect::<Option<Vec<Tai>>>()
        };
        let more = optional(body, &format!("{own}/taiList"), "a list of Tais", more)?;
        areas.push((
            member(body, &format!("{own}/tai"), "a Tai", tai)?,
            slices.clone(),
        ));
        areas.extend(more.into_iter().flatten().map(|tai| (tai, slices.clone())));
    }
    if areas.len() > AREAS_OF_AMF {
        return Err(refuse_member(false, SUPPORTED, "64 areas at the most").into());
    }
    Ok(areas)
}

/// AuthorizedNssaiAvailabilityInfo; nothing where no slice is authorized.
fn authorized(areas: &[(Tai, Vec<Snssai>)], answers: &[Message]) -> Response {
    let of = |((tai, _), answer): (&(Tai, Vec<Snssai>), &Message)| match answer {
        Message::AvailabilityStored(stored) if !stored.authorized.get().is_empty() => {
            Some(data(*tai, stored.authorized.get()))
        }
        _ => None,
    };
    let all: Vec<Value> = areas.iter().zip(answers).filter_map(of).collect();
    match all.is_empty() {
        true => respond_empty(StatusCode::NO_CONTENT),
        false => respond(
            StatusCode::OK,
            &json!({ "authorizedNssaiAvailabilityData": all }),
        ),
    }
}

fn delete(amf: &str) -> Result<Producer, Refusal> {
    let amf = find(amf)?;
    Ok(ask_on(ForgetAvailability { amf }, move |answer, memory| {
        memory.forget_subscriber(&key(amf));
        Producer::Done(match answer {
            Ok(_) => respond_empty(StatusCode::NO_CONTENT),
            Err(problem) => tell(problem),
        })
    }))
}

/// NssfEventSubscriptionCreateData
fn create(request: &Request) -> Result<Producer, Refusal> {
    subscribe(0, &read(request)?)
}

fn change(id: &str, request: &Request, memory: &Memory) -> Result<Producer, Refusal> {
    let (id, mut document) = SUBSCRIBERS.find(id, memory)?;
    patch::apply(&mut document, &read(request)?).map_err(patch::wrong)?;
    subscribe(id, &document)
}

fn subscribe(known: u64, body: &Value) -> Result<Producer, Refusal> {
    let uri = member(body, "/nfNssaiAvailabilityUri", "a URI", uri)?;
    let is_it = |value: &Value| (value == EVENT).then_some(());
    member(body, "/event", EVENT, is_it)?;
    let list = |value: &Value| {
        let all: Option<Vec<Tai>> = value.as_array()?.iter().map(tai).collect();
        all.filter(|all| (1..=AREAS).contains(&all.len()))
    };
    let areas = member(body, "/taiList", "a list of 1 to 16 Tais", list)?;
    let time = |value: &Value| value.as_str().and_then(date_time);
    let until = optional(body, "/expiry", "a DateTime", time)?;
    let mut area = [areas[0]; AREAS];
    area[..areas.len()].copy_from_slice(&areas);
    let message = SubscribeAvailability {
        id: known.into(),
        areas: areas.len() as u8,
        area,
        until_unix_s: until.unwrap_or_default().into(),
    };
    Ok(ask_on(message, move |answer, memory| {
        let subscribed = match answer {
            Ok(subscribed) => subscribed,
            Err(Problem::ContextNotFound) => return Producer::Done(not_found()),
            Err(Problem::Protocol) => {
                return Producer::Done(refuse_member(false, "/expiry", "a time to come"));
            }
            Err(problem) => return Producer::Done(tell(problem)),
        };
        let id = subscribed.id.get();
        let until = date_time_text(subscribed.until_unix_s.get());
        let document = json!({
            "nfNssaiAvailabilityUri": uri,
            "taiList": areas.iter().map(|tai| tai_json(*tai)).collect::<Value>(),
            "event": EVENT,
            "expiry": until,
        });
        SUBSCRIBERS.keep(id, &document, memory);
        let created = json!({ "subscriptionId": format!("{id:016x}"), "expiry": until });
        Producer::Done(match known {
            0 => with_location(
                respond(StatusCode::CREATED, &created),
                &SUBSCRIBERS.uri(id, memory),
            ),
            _ => respond(StatusCode::OK, &created),
        })
    }))
}

/// NssfEventNotification. An area without a slice is none.
fn notify(notice: &NotifyAvailability, memory: &mut Memory) -> Consumer {
    let id = notice.id.get();
    let document = SUBSCRIBERS.document(id, memory).unwrap_or_default();
    let slices = notice.authorized.get();
    let data: Vec<Value> = match slices.is_empty() {
        true => Vec::new(),
        false => vec![data(notice.tai, slices)],
    };
    let body = json!({
        "subscriptionId": format!("{id:016x}"),
        "authorizedNssaiAvailabilityData": data,
    });
    let uri = document
        .get("nfNssaiAvailabilityUri")
        .and_then(Value::as_str);
    SUBSCRIBERS.notify(id, uri, &body)
}

#[cfg(test)]
mod tests;
