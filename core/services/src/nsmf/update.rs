//! Update SM Context (TS 29.502, 5.2.2.3): each change of a session as the members that tell it, and back.

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{
    Container, Message, N2Sm, Nf, Problem, Slot, SmChange, SmContextUpdated, UpdateSmContext,
};

use super::{CONTEXTS, n2};
use crate::body::{optional, respond, respond_empty};
use crate::exchange::{Came, Consumer, Producer, Refusal, Request, Response};
use crate::multipart::{Content, Writer};
use crate::names::Memory;
use crate::problem::{refuse, refuse_member, tell};
use crate::resources::{content, error, number_of, problem_in};

/// A change, the type of its N2 information, and its further members.
type Row = (
    SmChange,
    Option<&'static str>,
    &'static [(&'static str, &'static str)],
);

/// Values of members are strings, but for `true`.
const CHANGES: &[Row] = &[
    (SmChange::SetUp, Some("PDU_RES_SETUP_RSP"), &[]),
    (SmChange::SetupFailed, Some("PDU_RES_SETUP_FAIL"), &[]),
    (SmChange::Released, Some("PDU_RES_REL_RSP"), &[]),
    (SmChange::Modified, Some("PDU_RES_MOD_RSP"), &[]),
    (SmChange::ModifyFailed, Some("PDU_RES_MOD_FAIL"), &[]),
    (SmChange::Notified, Some("PDU_RES_NTY"), &[]),
    (SmChange::ModifyIndicated, Some("PDU_RES_MOD_IND"), &[]),
    (
        SmChange::PathSwitch,
        Some("PATH_SWITCH_REQ"),
        &[("toBeSwitched", "true")],
    ),
    (
        SmChange::NotSwitched,
        Some("PATH_SWITCH_SETUP_FAIL"),
        &[("failedToBeSwitched", "true")],
    ),
    (
        SmChange::HandoverRequired,
        Some("HANDOVER_REQUIRED"),
        &[("hoState", "PREPARING")],
    ),
    (
        SmChange::HandoverPrepared,
        Some("HANDOVER_REQ_ACK"),
        &[("hoState", "PREPARED")],
    ),
    (
        SmChange::NotAdmitted,
        Some("HANDOVER_RES_ALLOC_FAIL"),
        &[("hoState", "PREPARED")],
    ),
    (
        SmChange::HandoverComplete,
        None,
        &[("hoState", "COMPLETED")],
    ),
    (
        SmChange::HandoverCancelled,
        None,
        &[("hoState", "CANCELLED")],
    ),
    (
        SmChange::Activate,
        None,
        &[
            ("upCnxState", "ACTIVATING"),
            ("anType", "3GPP_ACCESS"),
            ("ratType", "NR"),
        ],
    ),
    (SmChange::Deactivate, None, &[("upCnxState", "DEACTIVATED")]),
    (SmChange::N1, None, &[]),
];

/// Type of a session that its gNB has released of itself: here, the user plane is down.
const RELEASED_BY_GNB: &str = "PDU_RES_NTY_REL";

/// SmContextUpdateData
pub(super) fn update(request: &UpdateSmContext, memory: &mut Memory) -> Consumer {
    let number = request.context.get();
    let outgoing = CONTEXTS.request(Method::POST, number, "/modify", memory);
    let Some(outgoing) = outgoing else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    let mut parts = Writer::default();
    let mut body = json!({
        "n1SmMsg": parts.nas("n1SmMsg", &request.n1),
        "n2SmInfo": parts.ngap("n2SmInfo", &request.n2),
    });
    let change = request.change;
    if let Some((_, kind, members)) = CHANGES.iter().find(|(one, ..)| *one == change) {
        body["n2SmInfoType"] = json!(kind);
        for (name, value) in *members {
            body[*name] = match *value {
                "true" => true.into(),
                value => value.into(),
            };
        }
    }
    Consumer::Send(
        parts.send(outgoing, body).into(),
        Box::new(move |came, memory| {
            let answer = updated(&came, change, memory);
            Consumer::Done(answer.unwrap_or_else(|problem| problem.into()))
        }),
    )
}

/// SmContextUpdatedData, or SmContextUpdateError with messages all the same.
fn updated(came: &Came, change: SmChange, memory: &mut Memory) -> Result<Slot, Problem> {
    let content = content(&came.response, memory);
    let text = |name| content.json.get(name).and_then(Value::as_str);
    let is_handover = change == SmChange::HandoverRequired || text("hoState") == Some("PREPARING");
    let kind = text("n2SmInfoType").map(|name| n2::kind(name, is_handover));
    let part = |pointer| content.part(pointer).map_err(|_| Problem::Protocol);
    let updated = SmContextUpdated {
        n1: part("/n1SmMsg")?,
        n2_kind: kind.flatten().unwrap_or(N2Sm::None),
        n2: part("/n2SmInfo")?,
    };
    if came.response.status().is_success() {
        let is_known = updated.n2_kind != N2Sm::None || updated.n2 == Container::NONE;
        return match is_known {
            true => Ok(updated.into()),
            false => Err(Problem::Protocol),
        };
    }
    match updated.n2_kind == N2Sm::None && updated.n1 == Container::NONE {
        true => Err(problem_in(&came.response, &content)),
        false => Ok(updated.into()),
    }
}

/// SmContextUpdateData for our SMF.
pub(super) fn accept(id: &str, request: &Request) -> Result<Producer, Refusal> {
    let context = number_of(id).ok_or_else(|| failed(Problem::ContextNotFound))?;
    let content = Content::of(request)?;
    let (n1, n2) = (content.part("/n1SmMsg")?, content.part("/n2SmInfo")?);
    let Some(change) = change(&content.json, &n1)? else {
        // The rest of what an AMF tells is of no use to the SMF.
        return Ok(Producer::Done(respond_empty(StatusCode::NO_CONTENT)));
    };
    let message = UpdateSmContext {
        context: context.into(),
        change,
        n1,
        n2,
    };
    let ask = Box::new(move |answer: &Message, _: &mut Memory| {
        Producer::Done(match answer {
            Message::SmContextUpdated(answer) => response(answer, change),
            Message::Failure(failure) => failed(failure.problem),
            _ => failed(Problem::Protocol),
        })
    });
    Ok(Producer::Ask(Nf::Smf, message.into(), ask))
}

/// Change that the members tell; none if they tell nothing that changes the session.
fn change(body: &Value, n1: &Container) -> Result<Option<SmChange>, Refusal> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let kind = optional(body, "/n2SmInfoType", "an N2SmInfoType", text)?;
    let state = optional(body, "/hoState", "a HoState", text)?;
    let up = optional(body, "/upCnxState", "an UpCnxState", text)?;
    let is_flag = |value: &Value| value.as_bool();
    if optional(body, "/release", "a boolean", is_flag)? == Some(true) {
        return Err(refuse_member(
            false,
            "/release",
            "false: a context is released by /release",
        )
        .into());
    }
    if let Some(kind) = kind {
        if kind == RELEASED_BY_GNB {
            return Ok(Some(SmChange::Deactivate));
        }
        let row = CHANGES
            .iter()
            .find(|(_, one, _)| *one == Some(kind.as_str()));
        let detail = format!("{kind} is not for this SMF");
        let refusal = || refuse(StatusCode::FORBIDDEN, "N2_SM_ERROR", &detail);
        return row
            .map(|(change, ..)| Some(*change))
            .ok_or_else(|| refusal().into());
    }
    let told = [("hoState", state), ("upCnxState", up)];
    let rows = CHANGES.iter().filter(|(_, kind, _)| kind.is_none());
    let mut of_state = rows.filter(|(_, _, members)| {
        told.iter().any(|(name, value)| {
            let value = value.as_deref();
            members
                .iter()
                .any(|(one, of)| one == name && value == Some(*of))
        })
    });
    let of_n1 = n1.get().map(|_| SmChange::N1);
    Ok(of_state.next().map(|(change, ..)| *change).or(of_n1))
}

/// SmContextUpdatedData; a path that is not switched is an error with a message for the gNB (5.2.2.3.3).
fn response(answer: &SmContextUpdated, change: SmChange) -> Response {
    let mut parts = Writer::default();
    let (up, handover) = states(answer, change);
    let mut body = json!({
        "n1SmMsg": parts.nas("n1SmMsg", &answer.n1),
        "n2SmInfo": parts.ngap("n2SmInfo", &answer.n2),
        "n2SmInfoType": n2::name(answer.n2_kind),
        "upCnxState": up,
        "hoState": handover,
    });
    if answer.n2_kind == N2Sm::NotSwitched {
        let status = StatusCode::FORBIDDEN;
        let detail = "the path is not switched";
        body["error"] = error(&refuse(status, "N2_SM_ERROR", detail))["error"].take();
        return parts.respond(status, body);
    }
    let says_nothing = body
        .as_object()
        .is_some_and(|all| all.values().all(Value::is_null));
    match says_nothing {
        true => respond_empty(StatusCode::NO_CONTENT),
        false => parts.respond(StatusCode::OK, body),
    }
}

/// UpCnxState and HoState after a change.
fn states(
    answer: &SmContextUpdated,
    change: SmChange,
) -> (Option<&'static str>, Option<&'static str>) {
    match (change, answer.n2_kind) {
        (_, N2Sm::HandoverRequest) => (None, Some("PREPARING")),
        (_, N2Sm::HandoverCommand) => (None, Some("PREPARED")),
        (SmChange::Activate, N2Sm::Setup) => (Some("ACTIVATING"), None),
        (SmChange::SetUp, _) => (Some("ACTIVATED"), None),
        (SmChange::Deactivate, _) => (Some("DEACTIVATED"), None),
        (SmChange::HandoverComplete, _) => (None, Some("COMPLETED")),
        (SmChange::HandoverCancelled, _) => (None, Some("CANCELLED")),
        _ => (None, None),
    }
}

/// SmContextUpdateError
fn failed(problem: Problem) -> Response {
    let problem = tell(problem);
    respond(problem.status(), &error(&problem))
}
