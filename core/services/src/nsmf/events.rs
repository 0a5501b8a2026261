//! Nsmf_EventExposure (TS 29.508, 5): subscriptions to events of PDU sessions, and notifications.

use core::net::{Ipv4Addr, Ipv6Addr};

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Dnn;
use sluice_sbi::{
    ForUe, NotifySmfEvent, Problem, SmfEvent, SmfEventSubscription, SubscribeSmfEvents,
    UnsubscribeSmfEvents,
};

use crate::body::{member, optional, read, respond, with_location};
use crate::calls::ask_on;
use crate::exchange::{Consumer, Producer, Refusal, Request};
use crate::names::Memory;
use crate::problem::{refuse_member, tell};
use crate::resources::Collection;
use crate::route::{Route, not_allowed, unknown};
use crate::subscriber::{Subscribers, not_found, text, uri};
use crate::values::{date_time, date_time_text, slice, slice_json, supi, supi_text};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "nsmf-event-exposure";

static SUBSCRIBERS: Subscribers = Subscribers(Collection("/nsmf-event-exposure/v1/subscriptions"));

/// SmfEvent
fn name(event: SmfEvent) -> &'static str {
    match event {
        SmfEvent::Established => "PDU_SES_EST",
        SmfEvent::Released => "PDU_SES_REL",
    }
}

/// A request for the SMF.
pub(crate) fn accept(route: &Route, request: &Request, memory: &Memory) -> Producer {
    let taken = match (&route.method, route.parts().as_slice()) {
        (&Method::POST, ["subscriptions"]) => subscribe(0, request),
        (&Method::GET, ["subscriptions", id]) => SUBSCRIBERS
            .find(id, memory)
            .map(|(_, document)| Producer::Done(respond(StatusCode::OK, &document))),
        (&Method::PUT, ["subscriptions", id]) => SUBSCRIBERS
            .find(id, memory)
            .and_then(|(id, _)| subscribe(id, request)),
        (&Method::DELETE, ["subscriptions", id]) => {
            SUBSCRIBERS.end(id, |id| UnsubscribeSmfEvents { id: id.into() })
        }
        (_, ["subscriptions"] | ["subscriptions", _]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

/// NsmfEventExposure, as a message and as far as it is served.
fn wanted(body: &Value) -> Result<(SmfEventSubscription, Value), Refusal> {
    let mut document = json!({
        "notifId": member(body, "/notifId", "a string", text)?,
        "notifUri": member(body, "/notifUri", "a URI", uri)?,
    });
    let of = match optional(body, "/anyUeInd", "a boolean", Value::as_bool)? {
        Some(true) => ForUe::any(),
        _ => {
            let one = |value: &Value| value.as_str().and_then(supi);
            member(body, "/supi", "imsi-..., or anyUeInd that is true", one)?.into()
        }
    };
    match of.one() {
        Some(supi) => document["supi"] = supi_text(&supi).into(),
        None => document["anyUeInd"] = true.into(),
    }
    let mut message = SmfEventSubscription::new(of, 0);
    document["eventSubs"] = events(body, &mut message)?;
    let session = |value: &Value| {
        value
            .as_u64()?
            .try_into()
            .ok()
            .filter(|id| (1..=15).contains(id))
    };
    if let Some(session) = optional(body, "/pduSeId", "a number from 1 to 15", session)? {
        message.session = session;
        document["pduSeId"] = session.into();
    }
    let dnn = |value: &Value| value.as_str().and_then(Dnn::new);
    if let Some(dnn) = optional(body, "/dnn", "the name of a data network", dnn)? {
        message.dnn = dnn;
        document["dnn"] = dnn.to_string().into();
    }
    let of_slice = optional(body, "/snssai", "an S-NSSAI", slice)?;
    if let Some(slice) = of_slice {
        document["snssai"] = slice_json(slice);
    }
    bounds(body, &mut message, &mut document)?;
    Ok((message.in_slice(of_slice), document))
}

/// Events that are served. Others are left out, as the answer shows; at least one has to be.
fn events(body: &Value, message: &mut SmfEventSubscription) -> Result<Value, Refusal> {
    let pointer = "/eventSubs";
    let list = |value: &Value| value.as_array().filter(|all| !all.is_empty()).cloned();
    let all = member(body, pointer, "a list of EventSubscriptions", list)?;
    let mut served = Vec::new();
    for at in 0..all.len() {
        let event = member(body, &format!("{pointer}/{at}/event"), "an SmfEvent", text)?;
        let known = SmfEvent::ALL.into_iter().find(|one| name(*one) == event);
        if let Some(known) = known.filter(|one| message.events & one.bit() == 0) {
            message.events |= known.bit();
            served.push(json!({ "event": event }));
        }
    }
    match served.is_empty() {
        true => {
            let names = SmfEvent::ALL.map(name).join(", ");
            Err(refuse_member(false, pointer, &names).into())
        }
        false => Ok(served.into()),
    }
}

/// How often and how long events are told.
fn bounds(
    body: &Value,
    message: &mut SmfEventSubscription,
    document: &mut Value,
) -> Result<(), Refusal> {
    let known = |value: &Value| {
        let text = value.as_str()?;
        let mut all = ["ONE_TIME", "ON_EVENT_DETECTION"].into_iter();
        all.find(|one| *one == text)
    };
    let expected = "ONE_TIME or ON_EVENT_DETECTION";
    let method = optional(body, "/notifMethod", expected, known)?;
    if let Some(method) = method {
        document["notifMethod"] = method.into();
    }
    let number = |value: &Value| value.as_u64()?.try_into().ok().filter(|most| *most > 0);
    let most: Option<u32> = optional(body, "/maxReportNbr", "a number", number)?;
    if let Some(most) = most {
        document["maxReportNbr"] = most.into();
    }
    message.most = match method {
        Some("ONE_TIME") => 1,
        _ => most.unwrap_or_default(),
    }
    .into();
    let immediate = optional(body, "/ImmeRep", "a boolean", Value::as_bool)?;
    message.is_immediate = immediate.unwrap_or_default();
    if let Some(immediate) = immediate {
        document["ImmeRep"] = immediate.into();
    }
    let time = |value: &Value| value.as_str().and_then(date_time);
    let until = optional(body, "/expiry", "a DateTime", time)?;
    message.until_unix_s = until.unwrap_or_default().into();
    Ok(())
}

fn subscribe(known: u64, request: &Request) -> Result<Producer, Refusal> {
    let (subscription, mut document) = wanted(&read(request)?)?;
    let message = SubscribeSmfEvents {
        id: known.into(),
        subscription,
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
        document["expiry"] = date_time_text(subscribed.until_unix_s.get()).into();
        document["subId"] = format!("{id:016x}").into();
        SUBSCRIBERS.keep(id, &document, memory);
        Producer::Done(match known {
            0 => with_location(
                respond(StatusCode::CREATED, &document),
                &SUBSCRIBERS.uri(id, memory),
            ),
            _ => respond(StatusCode::OK, &document),
        })
    }))
}

/// NsmfEventExposureNotification
pub(super) fn notify(notice: &NotifySmfEvent, memory: &mut Memory) -> Consumer {
    let id = notice.id.get();
    let document = SUBSCRIBERS.document(id, memory).unwrap_or_default();
    let mut event = json!({
        "event": name(notice.event),
        "timeStamp": date_time_text(notice.unix_s.get()),
        "supi": supi_text(&notice.supi),
        "pduSeId": notice.session,
        "snssai": slice_json(notice.slice),
    });
    if !notice.dnn.is_none() {
        event["dnn"] = notice.dnn.to_string().into();
    }
    if notice.ipv4 != [0; 4] {
        event["ipv4Addr"] = Ipv4Addr::from(notice.ipv4).to_string().into();
    }
    if notice.ipv6_prefix != [0; 8] {
        let mut octets = [0; 16];
        octets[..8].copy_from_slice(&notice.ipv6_prefix);
        event["ipv6Prefixes"] = json!([format!("{}/64", Ipv6Addr::from(octets))]);
    }
    let body = json!({ "notifId": document.get("notifId"), "eventNotifs": [event] });
    if !notice.is_active {
        SUBSCRIBERS.forget(id, memory);
    }
    let uri = document.get("notifUri").and_then(Value::as_str);
    SUBSCRIBERS.notify(id, uri, &body)
}

#[cfg(test)]
mod tests;
