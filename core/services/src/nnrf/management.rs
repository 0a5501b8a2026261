//! Nnrf_NFManagement (TS 29.510, 5.2), consumer: a function registers, tells by heart-beats that it is there, and goes.

use http::header::CONTENT_TYPE;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{
    DeregisterNf, Done, HeartBeat, Nf, NfInstance, NfRegistered, Problem, RegisterNf, ServeMore,
    Slot,
};

use super::{INSTANCES, JSON_PATCH, document, more, with_roots};
use crate::body::{read_response, send, send_empty};
use crate::deviations::Deviation;
use crate::exchange::{Consumer, OnResponse, Outgoing, Response};
use crate::names::Memory;
use crate::problem::problem_of;
use crate::values::tai_json;

fn path(instance: NfInstance) -> String {
    format!("{INSTANCES}/{instance}")
}

pub(super) fn register(request: &RegisterNf, memory: &Memory) -> Consumer {
    let profile = &request.profile;
    let (own, parts) = (&memory.own, [profile.served]);
    let mut document = document(profile, &parts, Some(&own.root), Some(own.guami));
    if own.needs_tokens {
        want_tokens(&mut document);
    }
    let path = path(profile.instance);
    let outgoing = send(Method::PUT, &path, &document);
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            if !is_free5gc(&came.response) {
                return Consumer::Done(registered(&came.response));
            }
            memory.deviations.count(Deviation::ApiPrefix);
            let document = for_free5gc(document, memory);
            Consumer::Send(
                send(Method::PUT, &path, &document).into(),
                Box::new(|came, _| Consumer::Done(registered(&came.response))),
            )
        }),
    )
}

/// Whether the NRF is free5GC's: it tells so whether it wants tokens.
fn is_free5gc(response: &Response) -> bool {
    read_response(response)
        .pointer("/customInfo/oauth2")
        .is_some()
}

/// The profile for an NRF of free5GC: it finds no SMF whose areas are not listed, and its consumers know no other root than
/// that of `apiPrefix`.
fn for_free5gc(mut document: Value, memory: &Memory) -> Value {
    let areas = &memory.own.areas;
    let lists_none = document
        .get("smfInfo")
        .is_some_and(|info| info.get("taiList").is_none());
    if lists_none && !areas.is_empty() {
        let areas: Vec<Value> = areas.iter().copied().map(tai_json).collect();
        document["smfInfo"]["taiList"] = areas.into();
    }
    with_roots(document)
}

/// Services of a profile want access tokens (TS 29.510, 6.1.6.2.3).
fn want_tokens(document: &mut Value) {
    let services = document.get_mut("nfServices").and_then(Value::as_array_mut);
    for service in services.into_iter().flatten() {
        service["oauth2Required"] = true.into();
    }
}

/// NFProfile, as the NRF has it: with its interval between heart-beats, unless it wants none.
fn registered(response: &Response) -> Slot {
    if !matches!(response.status(), StatusCode::OK | StatusCode::CREATED) {
        return problem_of(response).into();
    }
    let body = read_response(response);
    let heart_beat_s = body.get("heartBeatTimer").and_then(Value::as_u64);
    let heart_beat_s = u16::try_from(heart_beat_s.unwrap_or(0)).unwrap_or(u16::MAX);
    let heart_beat_s = heart_beat_s.into();
    NfRegistered { heart_beat_s }.into()
}

/// PATCH of a profile.
fn patch(instance: NfInstance, operations: &[Value]) -> Outgoing {
    let mut outgoing = send(Method::PATCH, &path(instance), &operations.into());
    let json_patch = HeaderValue::from_static(JSON_PATCH);
    outgoing
        .request
        .headers_mut()
        .insert(CONTENT_TYPE, json_patch);
    outgoing
}

/// A further part for the lists of the profile. They are those of one of our functions that is at `memory.own`.
pub(super) fn serve_more(request: &ServeMore, memory: &Memory) -> Consumer {
    let mut own = memory.own.instances.iter();
    let nf = own.find(|(_, instance)| **instance == request.instance);
    // An instance that is not told of is one of the SMF: those alone have parts that one message has no room for.
    let nf = nf.map_or(Nf::Smf, |(nf, _)| *nf);
    let operations = more(nf, &request.served);
    if operations.is_empty() {
        return Consumer::Done(Done::ALL.into());
    }
    let outgoing = patch(request.instance, &operations);
    Consumer::Send(outgoing.into(), done())
}

/// An NRF that leaves out members that are zero refuses to replace the load: it hears of the status alone.
pub(super) fn heart_beat(request: &HeartBeat) -> Consumer {
    let HeartBeat { instance, load } = *request;
    let status = json!({ "op": "replace", "path": "/nfStatus", "value": "REGISTERED" });
    let load = json!({ "op": "replace", "path": "/load", "value": load.min(100) });
    let outgoing = patch(instance, &[status.clone(), load]);
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, _| match came.response.status() {
            StatusCode::BAD_REQUEST | StatusCode::CONFLICT => {
                Consumer::Send(patch(instance, &[status]).into(), done())
            }
            _ => Consumer::Done(done_of(&came.response)),
        }),
    )
}

pub(super) fn deregister(request: &DeregisterNf) -> Consumer {
    let outgoing = send_empty(Method::DELETE, &path(request.instance));
    Consumer::Send(outgoing.into(), done())
}

fn done() -> OnResponse {
    Box::new(|came, _| Consumer::Done(done_of(&came.response)))
}

fn done_of(response: &Response) -> Slot {
    match response.status() {
        StatusCode::OK | StatusCode::NO_CONTENT => Done::ALL.into(),
        StatusCode::NOT_FOUND => Problem::ContextNotFound.into(),
        _ => problem_of(response).into(),
    }
}
