//! Npcf_PolicyAuthorization (TS 29.514, 5): sessions of applications, and what applications are told.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{
    AppSessionNews, AppSessionText, CreateAppSession, DeleteAppSession, Done, NotifyAppSession,
    Problem, RULES, UpdateAppSession,
};

use crate::body::{member, optional, read, respond, respond_empty, with_location};
use crate::calls::ask_on;
use crate::exchange::{Consumer, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::problem::{refuse, refuse_member, tell};
use crate::resources::Collection;
use crate::route::{Route, not_allowed, unknown};
use crate::subscriber::{Subscribers, text, uri};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "npcf-policyauthorization";

static APPLICATIONS: Subscribers =
    Subscribers(Collection("/npcf-policyauthorization/v1/app-sessions"));

/// Event that is served: others are not known here.
const FAILED: &str = "FAILED_RESOURCES_ALLOCATION";
const EVENTS: &str = "events-subscription";
/// Member of what is kept that says that the PCF has ended the session: the application deletes it.
const IS_OVER: &str = "isOver";

/// Members of AppSessionContextReqData that act.
const MEMBERS: [&str; 5] = ["afAppId", "supi", "dnn", "ueIpv4", "ueIpv6"];
/// Members of MediaComponent that act, but for its sub-components.
const MEDIA: [&str; 7] = [
    "medCompN", "medType", "fStatus", "marBwDl", "marBwUl", "mirBwDl", "mirBwUl",
];

/// A request for the PCF.
pub(crate) fn accept(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match (&route.method, route.parts().as_slice()) {
        (&Method::POST, ["app-sessions"]) => create(request),
        (&Method::GET, ["app-sessions", id]) => find(id, memory)
            .map(|(_, kept)| Producer::Done(respond(StatusCode::OK, &context(&kept)))),
        (&Method::PATCH, ["app-sessions", id]) => change(id, request, memory),
        (&Method::POST, ["app-sessions", id, "delete"]) => delete(id, memory),
        (&Method::PUT, ["app-sessions", id, EVENTS]) => subscribe(id, request, memory),
        (&Method::DELETE, ["app-sessions", id, EVENTS]) => unsubscribe(id, memory),
        (_, ["app-sessions"] | ["app-sessions", _] | ["app-sessions", _, "delete" | EVENTS]) => {
            Err(not_allowed().into())
        }
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn not_found() -> Response {
    let detail = "there is no session of this name";
    let cause = "APPLICATION_SESSION_CONTEXT_NOT_FOUND";
    refuse(StatusCode::NOT_FOUND, cause, detail)
}

/// Session of an application, and what was said of it.
fn find(id: &str, memory: &Memory) -> Result<(u64, Value), Refusal> {
    let known = APPLICATIONS.find(id, memory);
    known.map_err(|_| not_found().into())
}

/// AppSessionContext of what is kept.
fn context(kept: &Value) -> Value {
    let mut data = kept.clone();
    if let Some(members) = data.as_object_mut() {
        members.remove(IS_OVER);
    }
    json!({ "ascReqData": data, "ascRespData": { "suppFeat": "0" } })
}

/// AppSessionContextReqData as far as it acts; `/ascReqData` of the body.
fn data(body: &Value) -> Result<Value, Refusal> {
    let at = |name: &str| format!("/ascReqData/{name}");
    let mut data = json!({
        "notifUri": member(body, &at("notifUri"), "a URI", uri)?,
        "suppFeat": member(body, &at("suppFeat"), "hexadecimal digits", text)?,
    });
    // No optional feature is supported.
    data["suppFeat"] = "0".into();
    for name in MEMBERS {
        if let Some(value) = optional(body, &at(name), "a string", text)? {
            data[name] = value.into();
        }
    }
    if data.get("ueIpv4").or(data.get("ueIpv6")).is_none() {
        return Err(refuse_member(true, &at("ueIpv4"), "this or ueIpv6").into());
    }
    let media = |value: &Value| value.as_object().filter(|all| !all.is_empty()).cloned();
    let all = member(body, &at("medComponents"), "media components", media)?;
    if all.len() > RULES {
        return Err(refuse_member(false, &at("medComponents"), "8 at the most").into());
    }
    let mut components = json!({});
    for (name, one) in &all {
        let own = format!("{}/{name}", at("medComponents"));
        components[name] = component(body, one, &own)?;
    }
    data["medComponents"] = components;
    if let Some(events) = events(body, &at("evSubsc"))? {
        data["evSubsc"] = events;
    }
    Ok(data)
}

/// MediaComponent
fn component(body: &Value, one: &Value, at: &str) -> Result<Value, Refusal> {
    let number = |value: &Value| {
        value
            .as_u64()
            .filter(|number| *number <= u64::from(u16::MAX))
    };
    member(body, &format!("{at}/medCompN"), "a number", number)?;
    let is_known = |(name, value): (&str, &Value)| {
        let is_text = value.as_str().is_some_and(|text| text.len() <= 64);
        name == "medCompN" || is_text
    };
    let mut said = json!({});
    for name in MEDIA {
        if let Some(value) = one.get(name).filter(|value| !value.is_null()) {
            if !is_known((name, value)) {
                return Err(refuse_member(false, &format!("{at}/{name}"), "a string").into());
            }
            said[name] = value.clone();
        }
    }
    let subs = one.get("medSubComps").and_then(Value::as_object);
    for name in subs.into_iter().flat_map(|subs| subs.keys()) {
        let own = format!("{at}/medSubComps/{name}");
        let number = member(body, &format!("{own}/fNum"), "a number", Value::as_u64)?;
        let list = |value: &Value| {
            value
                .as_array()?
                .iter()
                .map(text)
                .collect::<Option<Vec<_>>>()
        };
        let flows = optional(body, &format!("{own}/fDescs"), "a list of strings", list)?;
        said["medSubComps"][name] = json!({ "fNum": number, "fDescs": flows.unwrap_or_default() });
    }
    Ok(said)
}

/// EventsSubscReqData as far as it is served; none where it is not there, or has none of the events.
fn events(body: &Value, at: &str) -> Result<Option<Value>, Refusal> {
    if body.pointer(at).is_none_or(Value::is_null) {
        return Ok(None);
    }
    let list = |value: &Value| {
        let all = value.as_array()?.iter();
        let names: Option<Vec<&str>> = all.map(|one| one.get("event")?.as_str()).collect();
        names.map(|names| names.contains(&FAILED))
    };
    let is_served = member(body, &format!("{at}/events"), "a list of events", list)?;
    let own = optional(body, &format!("{at}/notifUri"), "a URI", uri)?;
    let name = optional(body, &format!("{at}/notifCorreId"), "a string", text)?;
    let mut events = json!({ "events": [{ "event": FAILED, "notifMethod": "EVENT_DETECTION" }] });
    if let Some(own) = own {
        events["notifUri"] = own.into();
    }
    if let Some(name) = name {
        events["notifCorreId"] = name.into();
    }
    Ok(is_served.then_some(events))
}

/// Request for the PCF of what was said.
fn request_of(data: &Value) -> Result<AppSessionText, Refusal> {
    let mut request = data.clone();
    if let Some(members) = request.as_object_mut() {
        members.retain(|name, _| MEMBERS.contains(&name.as_str()) || name == "medComponents");
    }
    let too_long = || {
        let status = StatusCode::PAYLOAD_TOO_LARGE;
        refuse(
            status,
            "INVALID_SERVICE_INFORMATION",
            "the media take more than 1900 octets",
        )
    };
    let text = AppSessionText::new(&request.to_string());
    text.ok_or_else(|| too_long().into())
}

fn refusal_of(problem: Problem) -> Response {
    let status = match problem {
        Problem::ContextNotFound => return not_found(),
        Problem::UserNotFound => {
            let detail = "no session of such a UE is there";
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return refuse(status, "PDU_SESSION_NOT_AVAILABLE", detail);
        }
        Problem::Protocol => StatusCode::BAD_REQUEST,
        problem => return tell(problem),
    };
    let detail = "a rate, a filter or another member of the media is wrong, or they have no room in the session";
    refuse(status, "INVALID_SERVICE_INFORMATION", detail)
}

/// AppSessionContext
fn create(request: &Request) -> Result<Producer, Refusal> {
    let data = data(&read(request)?)?;
    let message = CreateAppSession {
        request: request_of(&data)?,
    };
    Ok(ask_on(message, move |answer, memory| {
        Producer::Done(match answer {
            Ok(stored) => {
                let app = stored.app.get();
                APPLICATIONS.keep(app, &data, memory);
                let created = respond(StatusCode::CREATED, &context(&data));
                with_location(created, &APPLICATIONS.uri(app, memory))
            }
            Err(problem) => refusal_of(problem),
        })
    }))
}

/// AppSessionContextUpdateDataPatch: members take the place of those of before, and null takes them away (RFC 7396).
fn change(id: &str, request: &Request, memory: &Memory) -> Result<Producer, Refusal> {
    let (app, kept) = find(id, memory)?;
    let patch = read(request)?;
    let mut body = json!({ "ascReqData": kept });
    merge(&mut body, &patch, 0);
    let data = data(&body)?;
    let message = UpdateAppSession {
        app: app.into(),
        request: request_of(&data)?,
    };
    Ok(ask_on(message, move |answer, memory| {
        Producer::Done(match answer {
            Ok(_) => {
                APPLICATIONS.keep(app, &data, memory);
                respond(StatusCode::OK, &context(&data))
            }
            Err(problem) => refusal_of(problem),
        })
    }))
}

/// Deepest member of a patch: that of a sub-component.
const DEPTH: usize = 8;

fn merge(target: &mut Value, patch: &Value, depth: usize) {
    let Value::Object(members) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (name, value) in members {
        match value {
            Value::Null => {
                target.as_object_mut().and_then(|own| own.remove(name));
            }
            value if depth < DEPTH => merge(&mut target[name], value, depth + 1),
            _ => {}
        }
    }
}

fn delete(id: &str, memory: &mut Memory) -> Result<Producer, Refusal> {
    let (app, kept) = find(id, memory)?;
    if kept.get(IS_OVER).is_some() {
        APPLICATIONS.forget(app, memory);
        return Ok(Producer::Done(respond_empty(StatusCode::NO_CONTENT)));
    }
    Ok(ask_on(
        DeleteAppSession { app: app.into() },
        move |answer, memory| {
            APPLICATIONS.forget(app, memory);
            Producer::Done(match answer {
                Ok(_) => respond_empty(StatusCode::NO_CONTENT),
                Err(problem) => refusal_of(problem),
            })
        },
    ))
}

/// EventsSubscReqData
fn subscribe(id: &str, request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    let (app, mut kept) = find(id, memory)?;
    let body = json!({ "evSubsc": read(request)? });
    let events = events(&body, "/evSubsc")?;
    let events = events.ok_or_else(|| refuse_member(false, "/events", FAILED))?;
    let is_new = kept.get("evSubsc").is_none();
    kept["evSubsc"] = events.clone();
    APPLICATIONS.keep(app, &kept, memory);
    let uri = format!("{}/{EVENTS}", APPLICATIONS.uri(app, memory));
    Ok(Producer::Done(match is_new {
        true => with_location(respond(StatusCode::CREATED, &events), &uri),
        false => respond(StatusCode::OK, &events),
    }))
}

fn unsubscribe(id: &str, memory: &mut Memory) -> Result<Producer, Refusal> {
    let (app, mut kept) = find(id, memory)?;
    let removed = kept.as_object_mut().and_then(|all| all.remove("evSubsc"));
    removed.ok_or_else(not_found)?;
    APPLICATIONS.keep(app, &kept, memory);
    Ok(Producer::Done(respond_empty(StatusCode::NO_CONTENT)))
}

/// TerminationInfo, or EventsNotification for an application that has subscribed.
pub(super) fn notify(notice: &NotifyAppSession, memory: &mut Memory) -> Consumer {
    let app = notice.app.get();
    let Some(mut kept) = APPLICATIONS.document(app, memory) else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    let own = APPLICATIONS.uri(app, memory);
    let cause = match notice.news {
        AppSessionNews::SessionOver => "PDU_SESSION_TERMINATION",
        AppSessionNews::FlowsOver => "ALL_SDF_DEACTIVATION",
        AppSessionNews::Failed => return notify_event(notice, &kept, &own),
    };
    kept[IS_OVER] = true.into();
    APPLICATIONS.keep(app, &kept, memory);
    let body = json!({ "termCause": cause, "resUri": own });
    let uri = kept.get("notifUri").and_then(Value::as_str);
    let uri = uri.map(|uri| format!("{}/terminate", uri.trim_end_matches('/')));
    APPLICATIONS.notify(app, uri.as_deref(), &body)
}

/// EventsNotification
fn notify_event(notice: &NotifyAppSession, kept: &Value, own: &str) -> Consumer {
    let Some(wanted) = kept.get("evSubsc") else {
        return Consumer::Done(Done::ALL.into());
    };
    let media = notice.medium.iter().take(notice.media.into());
    let flows: Value = media.map(|one| json!({ "medCompN": one.get() })).collect();
    let body = json!({
        "evSubsUri": format!("{own}/{EVENTS}"),
        "evNotifs": [{ "event": FAILED, "flows": flows }],
        "failedResourcAllocReports": [{ "mcResourcStatus": "INACTIVE", "flows": flows }],
    });
    let uri = wanted.get("notifUri").or(kept.get("notifUri"));
    let uri = uri.and_then(Value::as_str);
    let uri = uri.map(|uri| format!("{}/notify", uri.trim_end_matches('/')));
    APPLICATIONS.notify(notice.app.get(), uri.as_deref(), &body)
}

#[cfg(test)]
mod tests;
