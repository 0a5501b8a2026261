//! UEContextTransfer and RegistrationStatusUpdate (TS 29.518, 5.2.2.2.1 and 5.2.2.2.2): an AMF finds the one that has named a UE at
//! the NRF, by its GUAMI, and asks it for the UE's context.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::{AmfId, Guami, Guti, Plmn, Tmsi};
use sluice_sbi::{
    Container, Problem, RegistrationUpdated, Slot, TransferReason, TransferUeContext, UeName,
    UpdateRegistration,
};

use super::context;
use super::{CONTEXTS, SERVICE};
use crate::body::{member, optional, read, respond, send, send_empty};
use crate::calls::ask;
use crate::directory;
use crate::exchange::{Came, Consumer, Producer, Refusal, Request, Response};
use crate::multipart::{Content, Writer};
use crate::names::Memory;
use crate::nnrf;
use crate::problem::tell;
use crate::resources::{content, problem_in};
use crate::values::{hex, octets, plmn_json, supi, supi_text};

pub(super) const TRANSFER: &str = "transfer";
pub(super) const UPDATE: &str = "transfer-update";

/// Reasons by their names.
const REASONS: [(TransferReason, &str); 3] = [
    (TransferReason::InitialRegistration, "INIT_REG"),
    (TransferReason::Mobility, "MOBI_REG"),
    (TransferReason::MobilityValidated, "MOBI_REG_UE_VALIDATED"),
];

/// ueContextId
fn name_text(name: &UeName) -> String {
    match name.get() {
        Ok(guti) => {
            let plmn = guti.guami.plmn.to_string().replace('-', "");
            let (amf, tmsi) = (hex(&guti.guami.amf.octets()), hex(&guti.tmsi.0));
            format!("5g-guti-{plmn}{amf}{tmsi}")
        }
        Err(supi) => supi_text(&supi),
    }
}

/// ueContextId; none of a PEI and others, by which no UE is known here.
fn name(text: &str) -> Option<UeName> {
    let Some(guti) = text.strip_prefix("5g-guti-") else {
        return supi(text).map(UeName::from);
    };
    let (plmn, rest) = guti.split_at_checked(guti.len().checked_sub(14)?)?;
    let (mcc, mnc) = plmn.split_at_checked(3)?;
    let rest: [u8; 7] = octets(rest)?.try_into().ok()?;
    let [a, b, c, tmsi @ ..] = rest;
    let guami = Guami {
        plmn: Plmn::new(mcc, mnc)?,
        amf: AmfId::from_octets([a, b, c]),
    };
    let tmsi = Tmsi(tmsi);
    Some(Guti { guami, tmsi }.into())
}

/// Key of the URI of a UE's context at its AMF of before.
fn key(name: &UeName) -> String {
    format!("amf-of-before {}", name_text(name))
}

/// Finds the AMF of a 5G-GUTI, and asks it.
pub(super) fn begin(request: &TransferUeContext, memory: &Memory) -> Consumer {
    let Ok(guti) = request.ue.get() else {
        // Which AMF has a SUPI nobody here knows.
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    let request = *request;
    Consumer::Send(
        nnrf::amf_of(guti.guami, &memory.own).into(),
        Box::new(move |came, memory| match root_in(&came.response) {
            Some(root) => transfer(&request, &root, memory),
            None => Consumer::Done(Problem::NotReached.into()),
        }),
    )
}

/// API root of the first AMF of a SearchResult.
fn root_in(response: &Response) -> Option<String> {
    let found = directory::read(response)?;
    let first = found.instances.into_iter().min_by_key(|one| one.priority)?;
    first.root(SERVICE).map(str::to_owned)
}

/// UeContextTransferReqData
fn transfer(request: &TransferUeContext, root: &str, memory: &mut Memory) -> Consumer {
    let name = name_text(&request.ue);
    let uri = format!("{root}{CONTEXTS}/{name}");
    let outgoing = send_empty(Method::POST, "/").at(&format!("{uri}/{TRANSFER}"));
    let Some(outgoing) = outgoing else {
        return Consumer::Done(Problem::NotReached.into());
    };
    memory.note(&key(&request.ue), &uri);
    let mut parts = Writer::default();
    let nas = parts.nas("n1msg", &request.nas);
    let nas =
        (!nas.is_null()).then(|| json!({ "n1MessageClass": "5GMM", "n1MessageContent": nas }));
    let mut reasons = REASONS.iter();
    let reason = reasons.find(|(one, _)| *one == request.reason);
    let body = json!({
        "reason": reason.map(|(_, name)| *name),
        "accessType": context::ACCESS,
        "plmnId": plmn_json(memory.own.plmn),
        "regRequest": nas,
    });
    Consumer::Send(
        parts.send(outgoing, body).into(),
        Box::new(|came, memory| {
            let answer = transferred(&came, memory);
            Consumer::Done(answer.unwrap_or_else(|problem| problem.into()))
        }),
    )
}

/// UeContextTransferRspData
fn transferred(came: &Came, memory: &mut Memory) -> Result<Slot, Problem> {
    let content = content(&came.response, memory);
    if came.response.status() != StatusCode::OK {
        return Err(problem_in(&came.response, &content));
    }
    let context = content.json.get("ueContext");
    let context = context.and_then(|context| context::read(context, memory));
    Ok(context.ok_or(Problem::Protocol)?.into())
}

/// UeRegStatusUpdateReqData, to the AMF that has told the context.
pub(super) fn update(request: &UpdateRegistration, memory: &mut Memory) -> Consumer {
    let key = key(&request.ue);
    let uri = memory.noted(&key).map(|uri| format!("{uri}/{UPDATE}"));
    memory.forget_note(&key);
    let released = request.released.get();
    let released = (1_u8..16).filter(|session| released & 1 << session != 0);
    let released: Vec<u8> = released.collect();
    let mut body = json!({ "transferStatus": match request.is_transferred {
        true => "TRANSFERRED",
        false => "NOT_TRANSFERRED",
    } });
    if !released.is_empty() {
        body["toReleaseSessionList"] = released.into();
    }
    let outgoing = uri.and_then(|uri| send(Method::POST, "/", &body).at(&uri));
    let Some(outgoing) = outgoing else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    crate::calls::call(outgoing, updated)
}

/// UeRegStatusUpdateRspData
fn updated(came: &Came, memory: &mut Memory) -> Result<Slot, Problem> {
    let content = content(&came.response, memory);
    if !came.response.status().is_success() {
        return Err(problem_in(&came.response, &content));
    }
    let is_complete = content.json.get("regStatusTransferComplete");
    let is_complete = is_complete.and_then(Value::as_bool).unwrap_or_default();
    Ok(RegistrationUpdated { is_complete }.into())
}

fn find(text: &str) -> Result<UeName, Refusal> {
    name(text).ok_or_else(|| tell(Problem::ContextNotFound).into())
}

/// UeContextTransferReqData for our AMF.
pub(super) fn accept(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let ue = find(ue)?;
    let content = Content::of(request)?;
    let body = &content.json;
    let reason = |value: &Value| {
        let mut all = REASONS.iter();
        all.find(|(_, name)| value == name).map(|(one, _)| *one)
    };
    let reason = member(body, "/reason", "a TransferReason", reason)?;
    let access = |value: &Value| value.as_str().map(|access| access == context::ACCESS);
    if !member(body, "/accessType", "an AccessType", access)? {
        return Err(tell(Problem::ContextNotFound).into());
    }
    let mut nas = Container::NONE;
    if body.get("regRequest").is_some_and(|one| !one.is_null()) {
        let is_5gmm = |value: &Value| (value == "5GMM").then_some(());
        member(body, "/regRequest/n1MessageClass", "5GMM", is_5gmm)?;
        nas = content.part("/regRequest/n1MessageContent")?;
    }
    let message = TransferUeContext { ue, reason, nas };
    Ok(ask(message, |answer, memory| {
        let context = context::write(&answer, memory);
        respond(StatusCode::OK, &json!({ "ueContext": context }))
    }))
}

/// UeRegStatusUpdateReqData for our AMF.
pub(super) fn accept_update(ue: &str, request: &Request) -> Result<Producer, Refusal> {
    let ue = find(ue)?;
    let body = read(request)?;
    let expected = "TRANSFERRED or NOT_TRANSFERRED";
    let status = |value: &Value| match value.as_str()? {
        "TRANSFERRED" => Some(true),
        "NOT_TRANSFERRED" => Some(false),
        _ => None,
    };
    let is_transferred = member(&body, "/transferStatus", expected, status)?;
    let list = "/toReleaseSessionList";
    let mut released = optional(&body, list, "PDU session identities", sessions)?;
    let infos = optional(&body, "/toReleaseSessionInfo", "a list", |value| {
        let lists = value.as_array()?.iter();
        let mut lists = lists.map(|one| sessions(one.get("releaseSessionList")?));
        lists.try_fold(0, |bits, one| Some(bits | one?))
    })?;
    released = Some(released.unwrap_or_default() | infos.unwrap_or_default());
    let message = UpdateRegistration {
        ue,
        is_transferred,
        released: released.unwrap_or_default().into(),
    };
    Ok(ask(message, |answer, _| {
        let body = json!({ "regStatusTransferComplete": answer.is_complete });
        respond(StatusCode::OK, &body)
    }))
}

/// A bit for each PDU session of a list.
fn sessions(value: &Value) -> Option<u16> {
    let mut all = value.as_array()?.iter();
    all.try_fold(0, |bits, one| {
        let session = one.as_u64().filter(|session| *session < 16)?;
        Some(bits | 1 << session)
    })
}

#[cfg(test)]
mod tests;
