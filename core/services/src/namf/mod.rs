//! Services of the AMF (TS 29.518): messages of an SMF for a UE and its gNB (Namf_Communication, 6.1) here, its other operations
//! and the other services beside it.

use http::header::RETRY_AFTER;
use http::{HeaderValue, Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_sbi::{
    Container, Message, N2Sm, Nf, NotifyTransferFailure, Problem, Slot, TransferCause,
    TransferN1N2, Transferred,
};

use crate::body::{member, optional, respond, send, send_empty, with_location};
use crate::exchange::{Came, Consumer, Producer, Refusal, Request, Response};
use crate::multipart::{Content, Writer};
use crate::names::Memory;
use crate::nsmf;
use crate::problem::{refuse, refuse_member, tell};
use crate::resources::{content, done, error, problem_in};
use crate::route::{Route, not_allowed, unknown};

mod context;
pub(crate) mod events;
pub(crate) mod mt;
mod status;
mod transfer;

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "namf-comm";

const CONTEXTS: &str = "/namf-comm/v1/ue-contexts";
const MESSAGES: &str = "n1-n2-messages";
/// Name of the callbacks by which an SMF of ours hears that a UE did not answer.
const FAILURE: &str = "n1n2-failure";

/// A request of an SMF, or a notification of an AMF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::TransferN1N2(request) => Some(transfer(request, memory)),
        Message::NotifyTransferFailure(notice) => Some(notify(notice, memory)),
        Message::NotifyAmfEvents(notice) => Some(events::notify(notice, memory)),
        Message::NotifyAmfStatus(notice) => Some(status::notify(notice, memory)),
        Message::TransferUeContext(request) => Some(transfer::begin(request, memory)),
        Message::UpdateRegistration(request) => Some(transfer::update(request, memory)),
        _ => None,
    }
}

/// Path under which an SMF of ours hears that a UE did not answer.
fn failure_path(supi: &Supi, session: u8) -> String {
    format!("/nsmf-callback/v1/{FAILURE}/{supi}/{session}")
}

/// Key of the callback of a transfer.
fn failure_key(supi: &Supi, session: u8) -> String {
    format!("{FAILURE} {supi} {session}")
}

/// N1N2MessageTransferReqData
fn transfer(request: &TransferN1N2, memory: &Memory) -> Consumer {
    let mut parts = Writer::default();
    let (supi, session) = (&request.supi, request.session);
    let n1 = parts.nas("5gnas-sm", &request.n1);
    let n1 = (!n1.is_null()).then(|| json!({ "n1MessageClass": "SM", "n1MessageContent": n1 }));
    let slice = memory.noted(&nsmf::slice_key(supi, session));
    let slice: Option<Value> = slice.and_then(|text| serde_json::from_str(text).ok());
    let n2 = nsmf::name(request.n2_kind).map(|name| {
        json!({
            "n2InformationClass": "SM",
            "smInfo": {
                "pduSessionId": session,
                "n2InfoContent": {
                    "ngapIeType": name,
                    "ngapData": parts.ngap("ngap-sm", &request.n2),
                },
                "sNssai": slice,
                "subjectToHo": (request.n2_kind == N2Sm::HandoverRequest).then_some(true),
            },
        })
    });
    let body = json!({
        "n1MessageContainer": n1,
        "n2InfoContainer": n2,
        "pduSessionId": session,
        "skipInd": request.skips_idle_ue.then_some(true),
        "n1n2FailureTxfNotifURI": format!("{}{}", memory.own.root, failure_path(supi, session)),
    });
    let path = format!("{CONTEXTS}/{supi}/{MESSAGES}");
    let outgoing = parts.send(send_empty(Method::POST, &path), body);
    Consumer::Send(
        outgoing.into(),
        Box::new(|came, memory| {
            let answer = transferred(&came, memory);
            Consumer::Done(answer.unwrap_or_else(|problem| problem.into()))
        }),
    )
}

/// N1N2MessageTransferRspData, or N1N2MessageTransferError.
fn transferred(came: &Came, memory: &mut Memory) -> Result<Slot, Problem> {
    let response = &came.response;
    let content = content(response, memory);
    let body = &content.json;
    let cause = ["/cause", "/error/cause"].into_iter();
    let cause = cause.filter_map(|at| body.pointer(at)?.as_str()).next();
    let cause = cause.unwrap_or_default();
    let cause = match response.status() {
        StatusCode::OK if !cause.ends_with("_NOT_TRANSFERRED") => TransferCause::Initiated,
        StatusCode::OK => TransferCause::UeNotReachable,
        StatusCode::ACCEPTED => TransferCause::AttemptingToReachUe,
        StatusCode::CONFLICT => TransferCause::TemporaryReject,
        StatusCode::GATEWAY_TIMEOUT if cause.starts_with("UE_NOT_REACHABLE") => {
            TransferCause::UeNotReachable
        }
        _ => return Err(problem_in(response, &content)),
    };
    let seconds = ["/errInfo/retryAfter", "/errInfo/maxWaitingTime"].into_iter();
    let told = seconds.filter_map(|at| body.pointer(at)?.as_u64()).next();
    let header = || {
        response
            .headers()
            .get(RETRY_AFTER)?
            .to_str()
            .ok()?
            .parse()
            .ok()
    };
    let retry_after_s: u64 = told.or_else(header).unwrap_or_default();
    let retry_after_s = u16::try_from(retry_after_s).unwrap_or(u16::MAX).into();
    Ok(Transferred {
        cause,
        retry_after_s,
    }
    .into())
}

/// A request for the AMF.
pub(crate) fn accept(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        (method, ["subscriptions", rest @ ..]) => status::accept(method, rest, request, memory),
        ("POST", ["ue-contexts", supi, MESSAGES]) => accept_transfer(supi, request),
        ("POST", ["ue-contexts", ue, transfer::TRANSFER]) => transfer::accept(ue, request),
        ("POST", ["ue-contexts", ue, transfer::UPDATE]) => transfer::accept_update(ue, request),
        (
            _,
            [
                "ue-contexts",
                _,
                MESSAGES | transfer::TRANSFER | transfer::UPDATE,
            ],
        ) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn accept_transfer(supi: &str, request: &Request) -> Result<Producer, Refusal> {
    let supi = crate::values::supi(supi).ok_or_else(|| tell(Problem::ContextNotFound))?;
    let content = Content::of(request)?;
    let body = &content.json;
    for class in [
        "/n1MessageContainer/n1MessageClass",
        "/n2InfoContainer/n2InformationClass",
    ] {
        let container = &class[..class.rfind('/').unwrap_or_default()];
        if body.pointer(container).is_some_and(|one| !one.is_null()) {
            member(body, class, "SM", |value| (value == "SM").then_some(()))?;
        }
    }
    let session = |value: &Value| {
        value
            .as_u64()?
            .try_into()
            .ok()
            .filter(|id| (1..=15).contains(id))
    };
    let flag = |value: &Value| value.as_bool();
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let uri = |value: &Value| text(value).filter(|uri| uri.parse::<http::Uri>().is_ok());
    let (n2_kind, n2) = n2(&content)?;
    let message = TransferN1N2 {
        supi,
        session: member(body, "/pduSessionId", "a number from 1 to 15", session)?,
        skips_idle_ue: optional(body, "/skipInd", "a boolean", flag)?.unwrap_or_default(),
        n1: content.part("/n1MessageContainer/n1MessageContent")?,
        n2_kind,
        n2,
    };
    let callback = optional(body, "/n1n2FailureTxfNotifURI", "a URI", uri)?;
    if message.n1 == Container::NONE && n2_kind == N2Sm::None {
        let expected = "this or n2InfoContainer";
        return Err(refuse_member(true, "/n1MessageContainer", expected).into());
    }
    let session = message.session;
    let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
        Producer::Done(match answer {
            Message::Transferred(answer) => {
                response(answer, (&supi, session), callback.as_deref(), memory)
            }
            Message::Failure(failure) => tell(failure.problem),
            _ => tell(Problem::Protocol),
        })
    });
    Ok(Producer::Ask(Nf::Amf, message.into(), ask))
}

/// N2InfoContainer of a session.
fn n2(content: &Content) -> Result<(N2Sm, Container), Refusal> {
    const INFO: &str = "/n2InfoContainer/smInfo";
    let body = &content.json;
    if body.get("n2InfoContainer").is_none_or(Value::is_null) {
        return Ok((N2Sm::None, Container::NONE));
    }
    let of_handover = |value: &Value| value.as_bool();
    let pointer = format!("{INFO}/subjectToHo");
    let is_handover = optional(body, &pointer, "a boolean", of_handover)?.unwrap_or_default();
    let kind = |value: &Value| nsmf::kind(value.as_str()?, is_handover);
    let pointer = format!("{INFO}/n2InfoContent/ngapIeType");
    let kind = member(body, &pointer, "an NgapIeType of a session", kind)?;
    let pointer = format!("{INFO}/n2InfoContent/ngapData");
    Ok((kind, content.part(&pointer)?))
}

/// URI of messages that wait for a UE (5.2.2.3.1.2).
fn waiting_uri(supi: &Supi, session: u8, memory: &Memory) -> String {
    let root = &memory.own.root;
    format!("{root}{CONTEXTS}/{supi}/{MESSAGES}/{session}")
}

fn response(
    answer: &Transferred,
    (supi, session): (&Supi, u8),
    callback: Option<&str>,
    memory: &mut Memory,
) -> Response {
    let retry_after_s = answer.retry_after_s.get();
    let mut response = match answer.cause {
        TransferCause::Initiated => respond(
            StatusCode::OK,
            &json!({ "cause": "N1_N2_TRANSFER_INITIATED" }),
        ),
        TransferCause::AttemptingToReachUe => {
            let key = failure_key(supi, session);
            match callback {
                Some(uri) => memory.keep_callback(&key, uri),
                None => memory.forget_callback(&key),
            }
            let body = json!({ "cause": "ATTEMPTING_TO_REACH_UE" });
            let uri = waiting_uri(supi, session, memory);
            with_location(respond(StatusCode::ACCEPTED, &body), &uri)
        }
        TransferCause::TemporaryReject => refused(
            StatusCode::CONFLICT,
            "TEMPORARY_REJECT_REGISTRATION_ONGOING",
            answer,
        ),
        TransferCause::UeNotReachable => {
            refused(StatusCode::GATEWAY_TIMEOUT, "UE_NOT_REACHABLE", answer)
        }
    };
    if retry_after_s > 0 {
        let headers = response.headers_mut();
        headers.insert(RETRY_AFTER, HeaderValue::from(retry_after_s));
    }
    response
}

/// N1N2MessageTransferError
fn refused(status: StatusCode, cause: &str, answer: &Transferred) -> Response {
    let mut body = error(&refuse(status, cause, &answer.cause.to_string()));
    let retry_after_s = answer.retry_after_s.get();
    if retry_after_s > 0 {
        body["errInfo"] = json!({ "retryAfter": retry_after_s });
    }
    respond(status, &body)
}

/// N1N2MsgTxfrFailureNotification
fn notify(notice: &NotifyTransferFailure, memory: &mut Memory) -> Consumer {
    let (supi, session) = (&notice.supi, notice.session);
    let mut body = json!({
        "cause": "UE_NOT_RESPONDING",
        "n1n2MsgDataUri": waiting_uri(supi, session, memory),
    });
    let retry_after_s = notice.retry_after_s.get();
    if retry_after_s > 0 {
        body["retryAfter"] = retry_after_s.into();
    }
    let outgoing = send(Method::POST, &failure_path(supi, session), &body);
    let key = failure_key(supi, session);
    let outgoing = match memory.callback(&key) {
        Some(uri) => outgoing.at(uri),
        None => Some(outgoing),
    };
    memory.forget_callback(&key);
    let Some(outgoing) = outgoing else {
        return Consumer::Done(Problem::NotReached.into());
    };
    Consumer::Send(
        outgoing.into(),
        Box::new(|came, memory| Consumer::Done(nsmf::is_done(&came, memory))),
    )
}

/// Whether a callback of an SMF is of this service.
pub(crate) fn is_failure(route: &Route) -> bool {
    matches!(route.parts().as_slice(), [FAILURE, ..])
}

/// Notification of an AMF for the SMF.
pub(crate) fn accept_failure(route: &Route, request: &Request) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", [_, supi, session]) => failure(supi, session, request),
        (_, [_, _, _]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn failure(supi: &str, session: &str, request: &Request) -> Result<Producer, Refusal> {
    let body = Content::of(request)?.json;
    let text = |value: &Value| value.as_str().map(drop);
    member(&body, "/cause", "an N1N2MessageTransferCause", text)?;
    member(&body, "/n1n2MsgDataUri", "a URI", text)?;
    let seconds = |value: &Value| Some(u16::try_from(value.as_u64()?).unwrap_or(u16::MAX));
    let retry_after_s = optional(&body, "/retryAfter", "a number of seconds", seconds)?;
    let subject = crate::values::supi(supi).zip(session.parse::<u8>().ok());
    let (supi, session) = subject.ok_or_else(unknown)?;
    let message = NotifyTransferFailure {
        supi,
        session,
        retry_after_s: retry_after_s.unwrap_or_default().into(),
    };
    let ask = Box::new(|answer: &Message, _: &mut Memory| done(answer));
    Ok(Producer::Ask(Nf::Smf, message.into(), ask))
}

#[cfg(test)]
mod tests;
