//! Namf_EventExposure (TS 29.518, 6.2): subscriptions to events of UEs, and notifications.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_sbi::{
    AmfEvent, AmfEventSubscription, AmfEventsSubscribed, ForUe, NotifyAmfEvents, Problem,
    SubscribeAmfEvents, UeState, UnsubscribeAmfEvents,
};

use crate::body::{member, optional, read, respond, with_location};
use crate::calls::ask_on;
use crate::exchange::{Consumer, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::patch;
use crate::problem::{refuse, refuse_member, tell};
use crate::resources::Collection;
use crate::route::{Route, not_allowed, unknown};
use crate::subscriber::{Subscribers, not_found, text, uri};
use crate::values::{date_time, date_time_text, hex, plmn_json, supi, supi_text, tai_json};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "namf-evts";

static SUBSCRIBERS: Subscribers = Subscribers(Collection("/namf-evts/v1/subscriptions"));

/// Most events of a subscription: each kind, some of them several times.
const EVENTS: usize = 16;

/// AmfEventType
fn name(event: AmfEvent) -> &'static str {
    match event {
        AmfEvent::Location => "LOCATION_REPORT",
        AmfEvent::Registration => "REGISTRATION_STATE_REPORT",
        AmfEvent::Connectivity => "CONNECTIVITY_STATE_REPORT",
        AmfEvent::Reachability => "REACHABILITY_REPORT",
    }
}

fn event_of(value: &Value) -> Option<AmfEvent> {
    let kind = value.get("type")?;
    AmfEvent::ALL.into_iter().find(|one| kind == name(*one))
}

/// A request for the AMF.
pub(crate) fn accept(route: &Route, request: &Request, memory: &Memory) -> Producer {
    let parts = route.parts();
    let taken = match (&route.method, parts.as_slice()) {
        (&Method::POST, ["subscriptions"]) => create(request),
        (&Method::PATCH, ["subscriptions", id]) => change(id, request, memory),
        (&Method::DELETE, ["subscriptions", id]) => {
            SUBSCRIBERS.end(id, |id| UnsubscribeAmfEvents { id: id.into() })
        }
        (_, ["subscriptions"] | ["subscriptions", _]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

/// Subscription as it was said, less what is not served.
struct Wanted {
    message: AmfEventSubscription,
    /// AmfEventSubscription
    document: Value,
}

/// AmfEventSubscription; `at` is its place in the body.
fn wanted(body: &Value, at: &str) -> Result<Wanted, Refusal> {
    let mut document = json!({});
    for (name, is_mandatory) in [
        ("eventNotifyUri", true),
        ("notifyCorrelationId", true),
        ("nfId", true),
        ("subsChangeNotifyUri", false),
        ("subsChangeNotifyCorrelationId", false),
    ] {
        let pointer = format!("{at}/{name}");
        let said = match (name.ends_with("Uri"), is_mandatory) {
            (true, true) => Some(member(body, &pointer, "a URI", uri)?),
            (true, false) => optional(body, &pointer, "a URI", uri)?,
            (false, true) => Some(member(body, &pointer, "a string", text)?),
            (false, false) => optional(body, &pointer, "a string", text)?,
        };
        if let Some(said) = said {
            document[name] = said.into();
        }
    }
    let is_any = optional(body, &format!("{at}/anyUE"), "a boolean", Value::as_bool)?;
    let of = match is_any {
        Some(true) => ForUe::any(),
        _ => {
            let one = |value: &Value| value.as_str().and_then(supi);
            let expected = "imsi-..., or anyUE that is true";
            member(body, &format!("{at}/supi"), expected, one)?.into()
        }
    };
    match of.one() {
        Some(supi) => document["supi"] = supi_text(&supi).into(),
        None => document["anyUE"] = true.into(),
    }
    let mut message = AmfEventSubscription {
        of,
        events: 0,
        immediate: 0,
        by_cell: true,
        most: 0.into(),
        until_unix_s: 0.into(),
    };
    document["eventList"] = events(body, at, &mut message)?;
    document["options"] = options(body, at, &mut message)?;
    Ok(Wanted { message, document })
}

/// Events that are served. Others are left out, as the answer shows; at least one has to be.
fn events(body: &Value, at: &str, message: &mut AmfEventSubscription) -> Result<Value, Refusal> {
    let pointer = format!("{at}/eventList");
    let list = |value: &Value| value.as_array().filter(|all| !all.is_empty()).cloned();
    let all = member(body, &pointer, "a list of AmfEvents", list)?;
    let mut served = Vec::new();
    for (number, event) in all.iter().enumerate() {
        let own = format!("{pointer}/{number}");
        member(body, &format!("{own}/type"), "an AmfEventType", text)?;
        let Some(kind) = event_of(event).filter(|_| served.len() < EVENTS) else {
            continue;
        };
        let mut said = json!({ "type": name(kind) });
        message.events |= kind.bit();
        let at = format!("{own}/immediateFlag");
        if optional(body, &at, "a boolean", Value::as_bool)? == Some(true) {
            message.immediate |= kind.bit();
        }
        let at = format!("{own}/refId");
        if let Some(id) = optional(body, &at, "a number", Value::as_u64)? {
            said["refId"] = id.into();
        }
        filters(body, &own, kind, message, &mut said)?;
        served.push(said);
    }
    if served.is_empty() {
        let names: Vec<&str> = AmfEvent::ALL.into_iter().map(name).collect();
        return Err(refuse_member(false, &pointer, &names.join(", ")).into());
    }
    Ok(served.into())
}

/// Filters of an event: how far a UE has to go, and which kind of reachability.
fn filters(
    body: &Value,
    at: &str,
    kind: AmfEvent,
    message: &mut AmfEventSubscription,
    said: &mut Value,
) -> Result<(), Refusal> {
    match kind {
        AmfEvent::Location => {
            let list = |value: &Value| {
                let has = |name: &str| {
                    value
                        .as_array()
                        .map(|all| all.iter().any(|one| one == name))
                };
                let by_cell = has("CELL_ID")?;
                (by_cell || has("TAI")?).then_some(by_cell)
            };
            let pointer = format!("{at}/locationFilterList");
            if let Some(by_cell) = optional(body, &pointer, "TAI or CELL_ID", list)? {
                message.by_cell = by_cell;
                let filter = if by_cell { "CELL_ID" } else { "TAI" };
                said["locationFilterList"] = json!([filter]);
            }
        }
        AmfEvent::Reachability => {
            const CHANGE: &str = "UE_REACHABILITY_STATUS_CHANGE";
            let is_it = |value: &Value| (value == CHANGE).then_some(());
            let pointer = format!("{at}/reachabilityFilter");
            if optional(body, &pointer, CHANGE, is_it)?.is_some() {
                said["reachabilityFilter"] = CHANGE.into();
            }
        }
        AmfEvent::Registration | AmfEvent::Connectivity => {}
    }
    Ok(())
}

/// AmfEventMode; without one events are told until the subscription is over.
fn options(body: &Value, at: &str, message: &mut AmfEventSubscription) -> Result<Value, Refusal> {
    let at = format!("{at}/options");
    let is_there = body.pointer(&at).is_some_and(|one| !one.is_null());
    let mut trigger = "CONTINUOUS";
    if is_there {
        let known = |value: &Value| {
            let text = value.as_str()?;
            ["ONE_TIME", "CONTINUOUS"]
                .into_iter()
                .find(|one| *one == text)
        };
        let expected = "ONE_TIME or CONTINUOUS";
        trigger = member(body, &format!("{at}/trigger"), expected, known)?;
    }
    let mut said = json!({ "trigger": trigger });
    let number = |value: &Value| value.as_u64()?.try_into().ok().filter(|most| *most > 0);
    let most: Option<u32> = optional(body, &format!("{at}/maxReports"), "a number", number)?;
    let most = match trigger {
        "ONE_TIME" => Some(1),
        _ => most,
    };
    if let Some(most) = most {
        message.most = most.into();
        said["maxReports"] = most.into();
    }
    let time = |value: &Value| value.as_str().and_then(date_time);
    let until = optional(body, &format!("{at}/expiry"), "a DateTime", time)?;
    message.until_unix_s = until.unwrap_or_default().into();
    Ok(said)
}

/// AmfCreateEventSubscription
fn create(request: &Request) -> Result<Producer, Refusal> {
    let wanted = wanted(&read(request)?, "/subscription")?;
    Ok(subscribe(0, wanted))
}

fn subscribe(known: u64, wanted: Wanted) -> Producer {
    let Wanted {
        message,
        mut document,
    } = wanted;
    let request = SubscribeAmfEvents {
        id: known.into(),
        subscription: message,
    };
    ask_on(request, move |answer, memory| {
        Producer::Done(match answer {
            Ok(subscribed) => {
                let until = date_time_text(subscribed.until_unix_s.get());
                document["options"]["expiry"] = until.into();
                subscribed_to(known, &subscribed, &document, &message, memory)
            }
            Err(Problem::ContextNotFound) if known == 0 => {
                let detail = "the UE is not registered here";
                refuse(StatusCode::FORBIDDEN, "UE_NOT_SERVED_BY_AMF", detail)
            }
            Err(Problem::ContextNotFound) => not_found(),
            Err(Problem::Protocol) => {
                refuse_member(false, "/subscription/options/expiry", "a time to come")
            }
            Err(problem) => tell(problem),
        })
    })
}

/// AmfCreatedEventSubscription, or AmfUpdatedEventSubscription.
fn subscribed_to(
    known: u64,
    subscribed: &AmfEventsSubscribed,
    document: &Value,
    message: &AmfEventSubscription,
    memory: &mut Memory,
) -> Response {
    let id = subscribed.id.get();
    match subscribed.is_active {
        true => SUBSCRIBERS.keep(id, document, memory),
        false => SUBSCRIBERS.forget(id, memory),
    }
    let uri = SUBSCRIBERS.uri(id, memory);
    let mut body = json!({ "subscription": document });
    if let Some(supi) = message.of.one().filter(|_| subscribed.immediate != 0) {
        let report = Report {
            events: subscribed.immediate,
            supi,
            state: &subscribed.state,
            unix_s: subscribed.unix_s.get(),
            is_active: subscribed.is_active,
            left: 0,
        };
        body["reportList"] = report.json(document);
    }
    if known != 0 {
        return respond(StatusCode::OK, &body);
    }
    body["subscriptionId"] = uri.clone().into();
    with_location(respond(StatusCode::CREATED, &body), &uri)
}

/// AmfUpdateEventSubscriptionItem or AmfUpdateEventOptionItem, several of them.
fn change(id: &str, request: &Request, memory: &Memory) -> Result<Producer, Refusal> {
    let (id, mut document) = SUBSCRIBERS.find(id, memory)?;
    let operations = read(request)?;
    let may_change = |path: &str| path.starts_with("/eventList/") || path == "/options/expiry";
    if !patch::paths(&operations).all(may_change) {
        let detail = "eventList and options/expiry can be changed";
        let cause = "MODIFICATION_NOT_ALLOWED";
        return Err(refuse(StatusCode::FORBIDDEN, cause, detail).into());
    }
    patch::apply(&mut document, &operations).map_err(patch::wrong)?;
    Ok(subscribe(id, wanted(&document, "")?))
}

/// Reports of a UE.
struct Report<'a> {
    events: u8,
    supi: Supi,
    state: &'a UeState,
    unix_s: u64,
    is_active: bool,
    /// Reports that are left; 0 without a bound.
    left: u32,
}

impl Report<'_> {
    /// AmfEventReports, one for each event.
    fn json(&self, document: &Value) -> Value {
        let told = AmfEvent::ALL.into_iter();
        let told = told.filter(|event| self.events & event.bit() != 0);
        told.map(|event| self.one(event, document)).collect()
    }

    fn one(&self, event: AmfEvent, document: &Value) -> Value {
        let mut report = json!({
            "type": name(event),
            "state": { "active": self.is_active },
            "timeStamp": date_time_text(self.unix_s),
            "supi": supi_text(&self.supi),
        });
        if self.left > 0 {
            report["state"]["remainReports"] = self.left.into();
        }
        if document.get("anyUE") == Some(&true.into()) {
            report["anyUe"] = true.into();
        }
        let wanted = document.get("eventList").and_then(Value::as_array);
        let mut wanted = wanted.into_iter().flatten();
        let own = wanted.find(|one| one.get("type") == report.get("type"));
        if let Some(id) = own.and_then(|one| one.get("refId")) {
            report["refId"] = id.clone();
        }
        let access = "3GPP_ACCESS";
        let pick = |is_so: bool, one: &'static str, other: &'static str| match is_so {
            true => one,
            false => other,
        };
        let state = self.state;
        match event {
            AmfEvent::Location => {
                if let Some(location) = location(state) {
                    report["location"] = location;
                }
            }
            AmfEvent::Registration => {
                let state = pick(state.is_registered, "REGISTERED", "DEREGISTERED");
                report["rmInfoList"] = json!([{ "rmState": state, "accessType": access }]);
            }
            AmfEvent::Connectivity => {
                let state = pick(state.is_connected, "CONNECTED", "IDLE");
                report["cmInfoList"] = json!([{ "cmState": state, "accessType": access }]);
            }
            AmfEvent::Reachability => {
                let state = pick(state.is_reachable, "REACHABLE", "UNREACHABLE");
                report["reachability"] = state.into();
            }
        }
        report
    }
}

/// UserLocation
fn location(state: &UeState) -> Option<Value> {
    let (plmn, cell, tai) = state.place()?;
    // 36 bits are nine digits.
    let digits: String = hex(&cell.0).chars().take(9).collect();
    let cell = json!({ "plmnId": plmn_json(plmn), "nrCellId": digits });
    Some(json!({ "nrLocation": { "tai": tai_json(tai), "ncgi": cell } }))
}

/// AmfEventNotification
pub(super) fn notify(notice: &NotifyAmfEvents, memory: &mut Memory) -> Consumer {
    let id = notice.id.get();
    let document = SUBSCRIBERS.document(id, memory).unwrap_or_default();
    let report = Report {
        events: notice.events,
        supi: notice.supi,
        state: &notice.state,
        unix_s: notice.unix_s.get(),
        is_active: notice.is_active,
        left: notice.left.get(),
    };
    let body = json!({
        "notifyCorrelationId": document.get("notifyCorrelationId"),
        "reportList": report.json(&document),
    });
    if !notice.is_active {
        SUBSCRIBERS.forget(id, memory);
    }
    let uri = document.get("eventNotifyUri").and_then(Value::as_str);
    SUBSCRIBERS.notify(id, uri, &body)
}

#[cfg(test)]
mod tests;
