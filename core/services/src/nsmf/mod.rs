//! Nsmf_PDUSession (TS 29.502, 6.1): contexts of sessions at their SMF, and how the AMF hears that one is over.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{Done, Message, Nf, NotifySmContext, Problem, ReleaseSmContext, Slot};

use crate::body::{member, optional, send};
use crate::deviations::Deviation;
use crate::exchange::{Came, Consumer, Producer, Refusal, Request};
use crate::multipart::{Content, Writer};
use crate::names::Memory;
use crate::problem::tell;
use crate::resources::{Collection, content, done, forget_gone, number_of, problem_in};
use crate::route::{Route, not_allowed, unknown};

mod create;
pub(crate) mod events;
mod n2;
mod update;

pub(crate) use create::slice_key;
pub(crate) use n2::{kind, name};

/// Name of the service in paths and profiles.
pub(crate) const SERVICE: &str = "nsmf-pdusession";

const CONTEXTS: Collection = Collection("/nsmf-pdusession/v1/sm-contexts");
/// Name of the callbacks by which an AMF of ours hears of the status of a context.
const STATUS: &str = "smContextStatus";

/// A request of an AMF, or a notification of an SMF.
pub(crate) fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    match message {
        Message::CreateSmContext(request) => Some(create::create(request, memory)),
        Message::UpdateSmContext(request) => Some(update::update(request, memory)),
        Message::ReleaseSmContext(request) => Some(release(request, memory)),
        Message::NotifySmContext(notice) => Some(notify(notice, memory)),
        Message::NotifySmfEvent(notice) => Some(events::notify(notice, memory)),
        _ => None,
    }
}

/// A request for the SMF.
pub(crate) fn accept(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", ["sm-contexts"]) => create::accept(request, memory),
        ("POST", ["sm-contexts", id, "modify"]) => {
            update::accept(context_name(id, memory), request)
        }
        ("POST", ["sm-contexts", id, "release"]) => {
            accept_release(context_name(id, memory), request)
        }
        (_, ["sm-contexts"] | ["sm-contexts", _, "modify" | "release"]) => {
            Err(not_allowed().into())
        }
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

/// Name of a context, before which free5GC's AMF puts what its SMF's names begin with.
fn context_name<'a>(id: &'a str, memory: &mut Memory) -> &'a str {
    match id.strip_prefix("urn:uuid:") {
        Some(id) => {
            memory.deviations.count(Deviation::Location);
            id
        }
        None => id,
    }
}

/// Key of the callback of a context.
fn status_key(context: u64) -> String {
    format!("sm-context-status {context:016x}")
}

/// SmContextReleaseData
fn release(request: &ReleaseSmContext, memory: &mut Memory) -> Consumer {
    let number = request.context.get();
    let outgoing = CONTEXTS.request(Method::POST, number, "/release", memory);
    let Some(outgoing) = outgoing else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    let body = json!({ "cause": "REL_DUE_TO_UNSPECIFIED_REASON" });
    let outgoing = Writer::default().send(outgoing, body);
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            forget_gone(number, &came.response, memory);
            Consumer::Done(is_done(&came, memory))
        }),
    )
}

/// Whether a request is done.
pub(crate) fn is_done(came: &Came, memory: &mut Memory) -> Slot {
    match came.response.status().is_success() {
        true => Done::ALL.into(),
        false => problem_in(&came.response, &content(&came.response, memory)).into(),
    }
}

fn accept_release(id: &str, request: &Request) -> Result<Producer, Refusal> {
    let context = number_of(id).ok_or_else(|| tell(Problem::ContextNotFound))?;
    Content::of_any(request)?;
    let message = ReleaseSmContext {
        context: context.into(),
    };
    let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
        memory.forget_callback(&status_key(context));
        done(answer)
    });
    Ok(Producer::Ask(Nf::Smf, message.into(), ask))
}

/// SmContextStatusNotification, to whoever asked for the session.
fn notify(notice: &NotifySmContext, memory: &mut Memory) -> Consumer {
    let context = notice.context.get();
    let body = json!({
        "statusInfo": { "resourceStatus": "RELEASED" },
        // The AMF may have another context of this session by now.
        "oldSmContextRef": CONTEXTS.uri(context, memory),
    });
    let path = status_path(&notice.supi, notice.session);
    let key = status_key(context);
    let outgoing = send(Method::POST, &path, &body);
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
        Box::new(|came, memory| Consumer::Done(is_done(&came, memory))),
    )
}

/// Path under which an AMF of ours hears of the status of a context.
fn status_path(supi: &sluice_ids::Supi, session: u8) -> String {
    format!("/namf-callback/v1/{STATUS}/{supi}/{session}")
}

/// URI of a context, for another AMF; none of one that was forgotten, or whose SMF has not told its root.
pub(crate) fn reference(context: u64, memory: &Memory) -> Option<String> {
    if !Memory::is_handle(context) {
        return Some(CONTEXTS.uri(context, memory));
    }
    let uri = memory.uri(context)?;
    uri.contains("://").then(|| uri.to_owned())
}

/// Key of the URI of a session's context, as its AMF knows it.
fn reference_key(supi: &sluice_ids::Supi, session: u8) -> String {
    format!("sm-context {supi} {session}")
}

/// Whether a callback of an AMF is of this service.
pub(crate) fn is_status(route: &Route) -> bool {
    matches!(route.parts().as_slice(), [STATUS, ..])
}

/// Notification of an SMF for the AMF.
pub(crate) fn accept_status(route: &Route, request: &Request, memory: &mut Memory) -> Producer {
    let taken = match (route.method.as_str(), route.parts().as_slice()) {
        ("POST", [_, supi, session]) => status(supi, session, request, memory),
        (_, [_, _, _]) => Err(not_allowed().into()),
        _ => Err(unknown().into()),
    };
    taken.unwrap_or_else(|refusal| Producer::Done(*refusal))
}

fn status(
    supi: &str,
    session: &str,
    request: &Request,
    memory: &mut Memory,
) -> Result<Producer, Refusal> {
    let body = Content::of(request)?.json;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let expected = "RELEASED or UNCHANGED";
    let status =
        |value: &Value| text(value).filter(|one| expected.split(" or ").any(|of| of == one));
    let status = member(&body, "/statusInfo/resourceStatus", expected, status)?;
    let reference = optional(&body, "/oldSmContextRef", "a URI", text)?;
    let subject = crate::values::supi(supi).zip(session.parse::<u8>().ok());
    let (supi, session) = subject.ok_or_else(unknown)?;
    let known = memory
        .noted(&reference_key(&supi, session))
        .map(str::to_owned);
    let uri = reference.or(known);
    let uri = uri.ok_or_else(|| tell(Problem::ContextNotFound))?;
    if status == "UNCHANGED" {
        let response = crate::body::respond_empty(StatusCode::NO_CONTENT);
        return Ok(Producer::Done(response));
    }
    let message = NotifySmContext {
        supi,
        session,
        context: CONTEXTS.number(&uri, memory).into(),
    };
    let ask = Box::new(|answer: &Message, _: &mut Memory| done(answer));
    Ok(Producer::Ask(Nf::Amf, message.into(), ask))
}

#[cfg(test)]
mod tests;
