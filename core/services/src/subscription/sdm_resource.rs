//! Subscriptions to changes as resources of a UDM, and of a UDR: made, named and deleted alike.

use http::header::LOCATION;
use http::{Method, StatusCode};
use serde_json::Value;
use sluice_ids::Supi;
use sluice_sbi::{Done, Problem, Slot};

use crate::body::{read_response, respond, send, send_empty, with_location};
use crate::calls::{at, call, subscriber_problem};
use crate::deviations::Deviation;
use crate::exchange::{Came, Consumer, Response};
use crate::names::Memory;
use crate::subscription::context::Sdm;

/// Begin of the paths of subscriptions before the subscriber, and what is between both: `/nudm-sdm/v2` and nothing.
pub(crate) type Root = (&'static str, &'static str);

/// Creates a subscription, and answers the call so by its identity. The function that has it is told the same identity by
/// all: that of a URI that is another one's is kept.
pub(crate) fn create(
    root: Root,
    sdm: Sdm,
    answer: impl FnOnce(u64) -> Slot + Send + 'static,
) -> Consumer {
    let Some(subscription) = sdm.subscriptions.first().copied() else {
        return Consumer::Done(Problem::Protocol.into());
    };
    let (supi, id) = (subscription.supi, subscription.id());
    let path = collection(root, &supi);
    call(
        send(Method::POST, &path, &sdm.json()),
        move |came, memory| {
            if !came.response.status().is_success() {
                return Err(subscriber_problem(&came.response));
            }
            if let Some(uri) = location(came, memory).filter(|uri| !uri.ends_with(&name(id))) {
                memory.keep_callback(&key(root, &supi, id), &uri);
            }
            Ok(answer(id))
        },
    )
}

/// URI of a subscription that was created; free5GC's ends without the identity, which is in the body.
fn location(came: &Came, memory: &mut Memory) -> Option<String> {
    let location = came.response.headers().get(LOCATION)?.to_str().ok()?;
    if !location.ends_with('/') {
        return Some(location.to_owned());
    }
    memory.deviations.count(Deviation::Location);
    let body = read_response(&came.response);
    let id = body.get("subscriptionId").and_then(Value::as_str)?;
    Some(format!("{location}{id}"))
}

/// Deletes a subscription.
pub(crate) fn delete(root: Root, supi: Supi, id: u64, memory: &mut Memory) -> Consumer {
    let path = format!("{}/{}", collection(root, &supi), name(id));
    let key = key(root, &supi, id);
    let outgoing = at(send_empty(Method::DELETE, &path), memory.callback(&key));
    memory.forget_callback(&key);
    let outgoing = match outgoing {
        Ok(outgoing) => outgoing,
        Err(problem) => return Consumer::Done(problem.into()),
    };
    call(outgoing, |came, _| {
        let status = came.response.status();
        // One that is not there is deleted.
        match status.is_success() || status == StatusCode::NOT_FOUND {
            true => Ok(Done::ALL.into()),
            false => Err(subscriber_problem(&came.response)),
        }
    })
}

/// Response to one that is created.
pub(crate) fn created(root: Root, sdm: &Sdm, supi: &Supi, memory: &Memory) -> Response {
    let name = sdm.name();
    let uri = format!("{}{}/{name}", memory.own.root, collection(root, supi));
    let mut body = sdm.json();
    body["subscriptionId"] = name.into();
    with_location(respond(StatusCode::CREATED, &body), &uri)
}

fn name(id: u64) -> String {
    format!("{id:016x}")
}

fn collection((root, between): Root, supi: &Supi) -> String {
    format!("{root}/{supi}/{between}sdm-subscriptions")
}

fn key(root: Root, supi: &Supi, id: u64) -> String {
    format!("{} {}", collection(root, supi), name(id))
}
