//! Create SM Context (TS 29.502, 5.2.2.2).

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Dnn;
use sluice_sbi::{Container, CreateSmContext, Message, Nf, Problem, Slot, SmContextCreated};

use super::{CONTEXTS, reference_key, status_key, status_path};
use crate::body::{member, respond, send_empty, with_location};
use crate::deviations::Deviation;
use crate::exchange::{Came, Consumer, Producer, Refusal, Request, Response};
use crate::location::{area, location_json};
use crate::multipart::{Content, Writer};
use crate::names::Memory;
use crate::problem::{refuse, tell};
use crate::resources::{content, error, location, problem_in};
use crate::values::{guami_json, plmn, plmn_json, slice, slice_json, supi, supi_text};

/// SmContextCreateData
pub(super) fn create(request: &CreateSmContext, memory: &mut Memory) -> Consumer {
    let mut parts = Writer::default();
    let (supi, session) = (request.supi, request.session);
    let body = json!({
        "supi": supi_text(&supi),
        "pduSessionId": session,
        "dnn": request.dnn.to_string(),
        "sNssai": slice_json(request.slice),
        "servingNfId": memory.instance(Nf::Amf).to_string(),
        "guami": guami_json(memory.own.guami),
        "servingNetwork": plmn_json(memory.own.guami.plmn),
        "requestType": "INITIAL_REQUEST",
        "n1SmMsg": parts.nas("n1SmMsg", &request.n1),
        "anType": "3GPP_ACCESS",
        "ratType": "NR",
        "ueLocation": location_json(request.area),
        "smContextStatusUri": format!("{}{}", memory.own.root, status_path(&supi, session)),
    });
    let outgoing = parts.send(send_empty(Method::POST, CONTEXTS.0), body);
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            let key = reference_key(&supi, session);
            let answer = created(&came, &key, memory);
            Consumer::Done(answer.unwrap_or_else(|problem| problem.into()))
        }),
    )
}

fn created(came: &Came, key: &str, memory: &mut Memory) -> Result<Slot, Problem> {
    let wrapped = memory.deviations.clone();
    let content = content(&came.response, memory);
    let is_wrapped = wrapped != memory.deviations;
    if came.response.status() != StatusCode::CREATED {
        let n1 = content.part("/n1SmMsg").unwrap_or(Container::NONE);
        let refused = SmContextCreated {
            created: false,
            context: 0.into(),
            n1,
        };
        return match n1.get() {
            Some(_) => Ok(refused.into()),
            None => Err(problem_in(&came.response, &content)),
        };
    }
    let uri = location(&came.response).ok_or(Problem::Protocol)?;
    let uri = match (is_wrapped, uuid_of(uri)) {
        (true, Some((root, id))) => {
            memory.deviations.count(Deviation::Location);
            format!("{root}/urn:uuid:{id}")
        }
        _ => uri.to_owned(),
    };
    memory.note(key, &uri);
    let created = SmContextCreated {
        created: true,
        context: CONTEXTS.number(&uri, memory).into(),
        n1: Container::NONE,
    };
    Ok(created.into())
}

/// URI that ends in a bare UUID: free5GC, which wraps its body, knows the context as `urn:uuid:` of it alone.
fn uuid_of(uri: &str) -> Option<(&str, &str)> {
    let (root, id) = uri.rsplit_once('/')?;
    let is_uuid = id.len() == 36 && id.bytes().all(|c| c.is_ascii_hexdigit() || c == b'-');
    is_uuid.then_some((root, id))
}

/// SmContextCreateData for our SMF.
pub(super) fn accept(request: &Request, _memory: &mut Memory) -> Result<Producer, Refusal> {
    let content = Content::of(request)?;
    let body = &content.json;
    let text = |value: &Value| {
        value
            .as_str()
            .filter(|text| !text.is_empty())
            .map(str::to_owned)
    };
    member(body, "/servingNfId", "the UUID of an AMF", text)?;
    let network = member(body, "/servingNetwork", "a PlmnIdNid", plmn)?;
    let access = |value: &Value| value.as_str().filter(|one| *one == "3GPP_ACCESS").map(drop);
    member(body, "/anType", "3GPP_ACCESS", access)?;
    let callback = |value: &Value| text(value).filter(|uri| uri.parse::<http::Uri>().is_ok());
    let callback = member(body, "/smContextStatusUri", "a URI", callback)?;
    let supi_of = |value: &Value| value.as_str().and_then(supi);
    let session = |value: &Value| {
        value
            .as_u64()?
            .try_into()
            .ok()
            .filter(|id| (1..=15).contains(id))
    };
    let name = match body.get("dnn") {
        None | Some(Value::Null) => "/selectedDnn",
        Some(_) => "/dnn",
    };
    let dnn = |value: &Value| value.as_str().and_then(Dnn::new);
    let message = CreateSmContext {
        supi: member(body, "/supi", "imsi-...", supi_of)?,
        session: member(body, "/pduSessionId", "a number from 1 to 15", session)?,
        slice: member(body, "/sNssai", "an Snssai", slice)?,
        dnn: member(body, name, "the name of a data network", dnn)?,
        area: area(body, "ueLocation", network)?,
        n1: content.part("/n1SmMsg")?,
    };
    let (supi, session, slice) = (message.supi, message.session, message.slice);
    let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
        Producer::Done(match answer {
            Message::SmContextCreated(answer) if answer.created => {
                let context = answer.context.get();
                memory.keep_callback(&status_key(context), &callback);
                memory.note(&slice_key(&supi, session), &slice_json(slice).to_string());
                let body = json!({ "pduSessionId": session, "sNssai": slice_json(slice) });
                let uri = CONTEXTS.uri(context, memory);
                with_location(respond(StatusCode::CREATED, &body), &uri)
            }
            Message::SmContextCreated(answer) => refused(&answer.n1),
            Message::Failure(failure) => failed(failure.problem),
            _ => failed(Problem::Protocol),
        })
    });
    Ok(Producer::Ask(Nf::Smf, message.into(), ask))
}

/// Key of the slice of a session, which the SMF tells the AMF with each N2 message.
pub(crate) fn slice_key(supi: &sluice_ids::Supi, session: u8) -> String {
    format!("slice {supi} {session}")
}

/// SmContextCreateError without N1 message.
fn failed(problem: Problem) -> Response {
    let problem = tell(problem);
    respond(problem.status(), &error(&problem))
}

/// SmContextCreateError with the SMF's message for the UE.
fn refused(n1: &Container) -> Response {
    let (status, cause) = cause_of(n1.get().unwrap_or_default());
    let mut body = error(&refuse(status, cause, "the SMF refuses the session"));
    let mut parts = Writer::default();
    body["n1SmMsg"] = parts.nas("n1SmMsg", n1);
    parts.respond(status, body)
}

/// Cause of an HTTP response (6.1.7.3) by the 5GSM cause of a PDU SESSION ESTABLISHMENT REJECT (TS 24.501, 8.3.3).
fn cause_of(reject: &[u8]) -> (StatusCode, &'static str) {
    let [0x2e, _, _, 0xc3, cause, ..] = reject else {
        return (StatusCode::FORBIDDEN, "N1_SM_ERROR");
    };
    match cause {
        26 => (
            StatusCode::INTERNAL_SERVER_ERROR,
            "INSUFFICIENT_RESOURCES_SLICE_DNN",
        ),
        27 | 70 => (StatusCode::FORBIDDEN, "DNN_NOT_SUPPORTED"),
        28 => (StatusCode::FORBIDDEN, "PDUTYPE_NOT_SUPPORTED"),
        29 | 33 => (StatusCode::FORBIDDEN, "SUBSCRIPTION_DENIED"),
        50 | 51 | 57 | 58 | 61 => (StatusCode::FORBIDDEN, "PDUTYPE_DENIED"),
        68 => (StatusCode::FORBIDDEN, "SSC_NOT_SUPPORTED"),
        _ => (StatusCode::FORBIDDEN, "N1_SM_ERROR"),
    }
}
