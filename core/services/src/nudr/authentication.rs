//! Authentication data (TS 29.505, 5.2.2 and 5.2.3): keys, sequence numbers that are counted on a condition, and status.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_sbi::{
    AdvanceSqn, AuthenticationSubscription, Message, Nf, Problem, QuerySubscription, Slot,
    StoreAuthentication, UpdateSqn,
};
use sluice_security::Sqn;

use crate::body::{read, respond, respond_empty, send, send_empty};
use crate::calls::{ask, ask_on, call, call_on, done, subscriber_problem};
use crate::exchange::{Came, Consumer, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::nudm::sdm::found;
use crate::nudr::path;
use crate::problem::{refuse, tell};
use crate::route::{Route, not_allowed, unknown};
use crate::subscription::authentication::{
    AuthEvent, sqn, sqn_text, subscription, subscription_json,
};

const SUBSCRIPTION: &str = "authentication-subscription";
const STATUS: &str = "authentication-status";

/// Pointer to the sequence number, and to the object that has it.
const SQN: &str = "/sequenceNumber/sqn";
const SEQUENCE_NUMBER: &str = "/sequenceNumber";

/// Attempts at a sequence number, where somebody is faster.
const TRIES: u8 = 3;

/// A request of a UDM.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::QuerySubscription(QuerySubscription { supi }) => {
            let outgoing = send_empty(Method::GET, &subscription_path(supi));
            Some(call(outgoing, |came, _| keys(came).map(Slot::from)))
        }
        Message::AdvanceSqn(request) => Some(advance(*request, TRIES)),
        Message::StoreAuthentication(store) => Some(store_status(store, memory)),
        _ => None,
    }
}

fn subscription_path(supi: &Supi) -> String {
    path(supi, &format!("authentication-data/{SUBSCRIPTION}"))
}

fn keys(came: &Came) -> Result<AuthenticationSubscription, Problem> {
    subscription(&found(&came.response)?).ok_or(Problem::Protocol)
}

/// Counts the sequence number on, and stores it if it is still the one that it was counted from.
fn advance(request: AdvanceSqn, tries: u8) -> Consumer {
    let outgoing = send_empty(Method::GET, &subscription_path(&request.supi));
    call_on(outgoing, move |came, _| match keys(&came) {
        Ok(keys) => store_sqn(request, keys, tries),
        Err(problem) => Consumer::Done(problem.into()),
    })
}

fn store_sqn(request: AdvanceSqn, mut keys: AuthenticationSubscription, tries: u8) -> Consumer {
    let last = Sqn::new(keys.sqn.get());
    let said = Sqn::new(request.above.get());
    let said = request.resynchronised.then_some(said);
    let next = last.following(said, request.floor.get());
    let patch = json!([
        { "op": "test", "path": SQN, "value": sqn_text(last.get()) },
        { "op": "replace", "path": SQN, "value": sqn_text(next.get()) },
    ]);
    let mut outgoing = send(Method::PATCH, &subscription_path(&request.supi), &patch);
    let json_patch = HeaderValue::from_static("application/json-patch+json");
    outgoing
        .request
        .headers_mut()
        .insert(CONTENT_TYPE, json_patch);
    keys.sqn = next.get().into();
    call_on(outgoing, move |came, _| {
        let response = &came.response;
        let answer = match response.status() {
            status if is_patched(response) && status.is_success() => keys.into(),
            // Of a PatchResult (200) or of a refusal: the test did not hold.
            StatusCode::OK
            | StatusCode::FORBIDDEN
            | StatusCode::CONFLICT
            | StatusCode::PRECONDITION_FAILED => match tries.checked_sub(1) {
                Some(tries) if tries > 0 => return advance(request, tries),
                _ => Problem::Timeout.into(),
            },
            _ => subscriber_problem(response).into(),
        };
        Consumer::Done(answer)
    })
}

/// Whether nothing of a patch is reported to have failed.
fn is_patched(response: &Response) -> bool {
    crate::body::read_response(response).get("report").is_none()
}

fn store_status(store: &StoreAuthentication, memory: &Memory) -> Consumer {
    let event = AuthEvent {
        network: store.network,
        method: store.method,
        success: store.success,
        unix_s: store.unix_s.get(),
    };
    let path = path(&store.supi, &format!("authentication-data/{STATUS}"));
    let event = event.json(memory.instance(Nf::Ausf));
    call(send(Method::PUT, &path, &event), |came, _| {
        done(&came.response)
    })
}

/// A request for authentication data.
pub(crate) fn accept(
    route: &Route,
    ue: &str,
    rest: &[&str],
    request: &Request,
) -> Result<Producer, Refusal> {
    match (route.method.as_str(), rest) {
        ("GET", [SUBSCRIPTION]) => {
            let supi = crate::subscription::supi(ue)?;
            Ok(ask(QuerySubscription { supi }, |keys, _| {
                respond(StatusCode::OK, &subscription_json(&keys))
            }))
        }
        ("PATCH", [SUBSCRIPTION]) => accept_patch(ue, request),
        ("PUT", [STATUS] | [STATUS, _]) => accept_status(ue, request),
        (_, [SUBSCRIPTION] | [STATUS] | [STATUS, _]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    }
}

/// Patch of the sequence number, which may be tested before. Without a test it is replaced, whatever it is: free5GC counts
/// so.
fn accept_patch(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let patch = read(request)?;
    let items = patch
        .as_array()
        .ok_or_else(|| not_patched("a list of changes is expected"))?;
    let (mut from, mut to) = (None, None);
    for item in items {
        let text = |name| item.get(name).and_then(Value::as_str);
        let value = match text("path") {
            Some(SQN) => item.get("value"),
            Some(SEQUENCE_NUMBER) => item.pointer("/value/sqn"),
            _ => None,
        };
        let value = value.and_then(sqn);
        let value =
            value.ok_or_else(|| not_patched("nothing is changed but the sequence number"))?;
        match text("op") {
            Some("test") if to.is_none() => from = Some(value),
            Some("replace" | "add") => to = Some(value),
            _ => return Err(not_patched("the number is tested and replaced").into()),
        }
    }
    let to = to.ok_or_else(|| not_patched("there is no number"))?;
    Ok(match from {
        Some(from) => update(supi, from, to),
        None => ask_on(QuerySubscription { supi }, move |keys, _| match keys {
            Ok(keys) => update(supi, keys.sqn.get(), to),
            Err(problem) => Producer::Done(tell(problem)),
        }),
    })
}

fn not_patched(detail: &str) -> Response {
    refuse(StatusCode::FORBIDDEN, "MODIFICATION_NOT_ALLOWED", detail)
}

fn update(supi: Supi, from: u64, to: u64) -> Producer {
    let message = UpdateSqn {
        supi,
        from: from.into(),
        to: to.into(),
    };
    ask(message, move |keys, _| match keys.sqn.get() == to {
        true => respond_empty(StatusCode::NO_CONTENT),
        false => not_patched("the sequence number is another one"),
    })
}

fn accept_status(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let supi = crate::subscription::supi(ue)?;
    let event = AuthEvent::read(&read(request)?)?;
    let message = StoreAuthentication {
        supi,
        network: event.network,
        method: event.method,
        success: event.success,
        unix_s: event.unix_s.into(),
    };
    Ok(ask(message, |_, _| respond_empty(StatusCode::NO_CONTENT)))
}
