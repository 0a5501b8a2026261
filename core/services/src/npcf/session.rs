//! Npcf_SMPolicyControl (TS 29.512, 4.2) of an SMF: policies of sessions are asked for, changed and given back.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::VecDeque;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::{
    CreateSmPolicy, DeleteSmPolicy, Message, Nf, NotifySmPolicy, PccRule, PolicyTrigger, Problem,
    SmPolicy, UpdateSmPolicy,
};

use super::known::{Failed, Known};
use super::{FIVE_QI, NOTIFICATIONS, POLICIES, REPLACE, filter, policy_key, rules};
use crate::body::{member, optional, read, respond, respond_empty, send, with_json};
use crate::exchange::{Came, Consumer, Producer, Refusal, Request, Response};
use crate::multipart::Content;
use crate::names::Memory;
use crate::nsmf::is_done;
use crate::problem::{refuse, tell};
use crate::resources::{content, error, location, number_of, problem_in};
use crate::values::{plmn_json, rate_text, slice_json, supi_text};

/// SmPolicyContextData
pub(super) fn create(request: &CreateSmPolicy, memory: &Memory) -> Consumer {
    let context = request.context.get();
    let rates = json!({
        "downlink": rate_text(request.ambr_down_bps.get()),
        "uplink": rate_text(request.ambr_up_bps.get()),
    });
    let default = json!({
        "5qi": request.five_qi,
        "arp": rules::arp_json(request.priority, false, false),
        "priorityLevel": request.priority,
    });
    let body = json!({
        "supi": supi_text(&request.supi),
        "pduSessionId": request.session,
        "pduSessionType": super::type_name(request.session_type),
        "dnn": request.dnn.to_string(),
        "notificationUri": NOTIFICATIONS.uri(context, memory),
        "sliceInfo": slice_json(request.slice),
        "accessType": "3GPP_ACCESS",
        "ratType": "NR",
        "servingNetwork": plmn_json(memory.own.plmn),
        "subsSessAmbr": rates,
        "subsDefQos": default,
        "suppFeat": "0",
    });
    let outgoing = send(Method::POST, POLICIES.0, &body);
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            created(&came, context, memory).unwrap_or_else(|problem| Consumer::Done(problem.into()))
        }),
    )
}

fn created(came: &Came, context: u64, memory: &mut Memory) -> Result<Consumer, Problem> {
    let content = content(&came.response, memory);
    if came.response.status() != StatusCode::CREATED {
        return Err(problem_of(&came.response, &content));
    }
    let uri = location(&came.response).ok_or(Problem::Protocol)?;
    let policy = POLICIES.number(uri, memory);
    memory.note(&policy_key(context), uri);
    Known::forget(policy, memory);
    Ok(decided(policy, &content.json, memory))
}

/// A decision has come: the SMF has its rules, and the PCF hears of those that cannot be carried out.
fn decided(policy: u64, decision: &Value, memory: &mut Memory) -> Consumer {
    let mut known = Known::of(policy, memory);
    let (all, failed) = known.change(decision, !Memory::is_handle(policy));
    known.keep(policy, memory);
    let message = SmPolicy {
        policy: policy.into(),
        rules: all,
    };
    match failed.is_empty() {
        true => Consumer::Done(message.into()),
        false => report(message, &failed, memory),
    }
}

/// Tells the PCF of rules that are not carried out; what it answers is for the next decision.
fn report(message: SmPolicy, failed: &Failed, memory: &Memory) -> Consumer {
    let body = json!({ "ruleReports": rules::reports(failed) });
    let outgoing = POLICIES.request(Method::POST, message.policy.get(), "/update", memory);
    let Some(outgoing) = outgoing else {
        return Consumer::Done(message.into());
    };
    let outgoing = with_json(outgoing, &body);
    Consumer::Send(
        outgoing.into(),
        Box::new(move |_, _| Consumer::Done(message.into())),
    )
}

/// SmPolicyUpdateContextData: one after another, since a request has one rule of the UE at the most.
pub(super) fn update(request: &UpdateSmPolicy, memory: &mut Memory) -> Consumer {
    let policy = request.policy.get();
    let mut known = Known::of(policy, memory);
    let bits = request.rules.get();
    let bodies = match request.trigger {
        PolicyTrigger::UeAddress => vec![addresses(request)],
        PolicyTrigger::RulesFailed => {
            let failed = known.refuse(bits);
            known.keep(policy, memory);
            let report = json!({ "ruleReports": rules::reports(&failed) });
            (!failed.is_empty()).then_some(report).into_iter().collect()
        }
        PolicyTrigger::ResourceRequested => {
            vec![resource("CREATE_PCC_RULE", None, Some(&request.requested))]
        }
        PolicyTrigger::ResourceReleased => known
            .keys(bits)
            .iter()
            .map(|key| release(&known, key))
            .collect(),
        PolicyTrigger::ResourceModified => {
            let keys = known.keys(bits);
            let mut keys = keys.iter();
            let wanted = Some(&request.requested);
            let first = keys.next().map(|key| resource(REPLACE, Some(key), wanted));
            // The rest of several gives way to the rule that is wanted.
            keys.map(|key| release(&known, key)).chain(first).collect()
        }
    };
    next(policy, bodies.into(), memory)
}

fn next(policy: u64, mut bodies: VecDeque<Value>, memory: &Memory) -> Consumer {
    let outgoing = POLICIES.request(Method::POST, policy, "/update", memory);
    let (Some(outgoing), Some(body)) = (outgoing, bodies.pop_front()) else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    let outgoing = with_json(outgoing, &body);
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            let content = content(&came.response, memory);
            if !came.response.status().is_success() {
                return Consumer::Done(problem_of(&came.response, &content).into());
            }
            let step = decided(policy, &content.json, memory);
            match bodies.is_empty() {
                true => step,
                false => next(policy, bodies, memory),
            }
        }),
    )
}

/// UE_IP_CH
fn addresses(request: &UpdateSmPolicy) -> Value {
    let mut body = json!({ "repPolicyCtrlReqTriggers": ["UE_IP_CH"] });
    if request.ipv4 != [0; 4] {
        body["ipv4Address"] = Ipv4Addr::from(request.ipv4).to_string().into();
    }
    if request.ipv6_prefix != [0; 8] {
        let mut octets = [0; 16];
        octets[..8].copy_from_slice(&request.ipv6_prefix);
        body["ipv6AddressPrefix"] = format!("{}/64", Ipv6Addr::from(octets)).into();
    }
    body
}

/// UeInitiatedResourceRequest (5.6.2.29). The most that the UE wants has no member of RequestedQos: it has those of QosData.
fn resource(operation: &str, key: Option<&String>, wanted: Option<&PccRule>) -> Value {
    let mut request = json!({ "ruleOp": operation, "packFiltInfo": [] });
    if let Some(key) = key {
        request["pccRuleId"] = json!(key);
    }
    if let Some(rule) = wanted {
        let filters = rule.filters();
        request["packFiltInfo"] = filter::filters_json(filters, "packFiltCont", "ue").into();
        request["precedence"] = rule.precedence.into();
        request["reqQos"] = json!({ "5qi": rule.five_qi });
        rules::put_rates(&mut request["reqQos"], rule);
    }
    json!({ "repPolicyCtrlReqTriggers": ["RES_MO_RE"], "ueInitResReq": request })
}

/// The UE gives up a rule with all its filters.
fn release(known: &Known, key: &String) -> Value {
    let mut body = resource("DELETE_PCC_RULE", Some(key), None);
    body["ueInitResReq"]["packFiltInfo"] = known.filter_ids(key);
    body
}

/// Problem of a response; a 5QI that is not for the subscriber is named by its member.
fn problem_of(response: &Response, content: &Content) -> Problem {
    let body = &content.json;
    let params = ["/error/invalidParams/0/param", "/invalidParams/0/param"].into_iter();
    let mut params = params.filter_map(|at| body.pointer(at)?.as_str());
    match response.status() {
        StatusCode::FORBIDDEN if params.any(|param| param == FIVE_QI) => {
            Problem::FiveQiNotAuthorized
        }
        _ => problem_in(response, content),
    }
}

/// SmPolicyDeleteData
pub(super) fn delete(request: &DeleteSmPolicy, memory: &mut Memory) -> Consumer {
    let policy = request.policy.get();
    Known::forget(policy, memory);
    let Some(outgoing) = POLICIES.request(Method::POST, policy, "/delete", memory) else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    let outgoing = with_json(outgoing, &json!({}));
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| {
            memory.forget(policy);
            Consumer::Done(is_done(&came, memory))
        }),
    )
}

/// SmPolicyNotification for our SMF.
pub(super) fn accept_notice(
    id: &str,
    request: &Request,
    memory: &mut Memory,
) -> Result<Producer, Refusal> {
    let context = number_of(id).ok_or_else(|| tell(Problem::ContextNotFound))?;
    let body = read(request)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let uri = optional(&body, "/resourceUri", "a URI", text)?;
    let object = |value: &Value| value.is_object().then(|| value.clone());
    let decision = member(&body, "/smPolicyDecision", "an SmPolicyDecision", object)?;
    let policy = policy(uri, context, memory).ok_or_else(|| tell(Problem::ContextNotFound))?;
    let mut known = Known::of(policy, memory);
    let (rules, failed) = known.change(&decision, !Memory::is_handle(policy));
    known.keep(policy, memory);
    let message = NotifySmPolicy {
        context: context.into(),
        policy: policy.into(),
        rules,
    };
    let has_rules = !rules.get().is_empty();
    let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
        let refused = match answer {
            Message::SmPolicyNotified(answer) => answer.refused.get(),
            Message::Failure(failure) => return Producer::Done(tell(failure.problem)),
            _ => return Producer::Done(tell(Problem::Protocol)),
        };
        let mut known = Known::of(policy, memory);
        let all = [failed, known.refuse(refused)].concat();
        known.keep(policy, memory);
        let is_any_left = has_rules && !known.keys(u16::MAX).is_empty();
        Producer::Done(noticed(&all, is_any_left))
    });
    Ok(Producer::Ask(Nf::Smf, message.into(), ask))
}

/// Policy of a notification: by the URI of a PCF of ours, else that of the session, since others write it otherwise.
fn policy(uri: Option<String>, context: u64, memory: &mut Memory) -> Option<u64> {
    let uri = uri.map(|uri| uri.trim_end_matches("/update").to_owned());
    let ours = uri.as_deref().and_then(|uri| {
        let (_, id) = uri.split_once(POLICIES.0)?;
        number_of(id.trim_start_matches('/'))
    });
    let noted = memory.noted(&policy_key(context)).map(str::to_owned);
    ours.or_else(|| Some(POLICIES.number(&noted.or(uri)?, memory)))
}

/// Nothing to say, a PartialSuccessReport, or an ErrorReport where no rule is carried out (4.2.3.16).
fn noticed(failed: &Failed, is_any_left: bool) -> Response {
    if failed.is_empty() {
        return respond_empty(StatusCode::NO_CONTENT);
    }
    let reports = rules::reports(failed);
    if is_any_left {
        let body = json!({ "failureCause": "PCC_RULE_EVENT", "ruleReports": reports });
        return respond(StatusCode::OK, &body);
    }
    let status = StatusCode::BAD_REQUEST;
    let detail = "no rule of the decision is carried out";
    let mut body = error(&refuse(status, "PCC_RULE_EVENT", detail));
    body["ruleReports"] = reports;
    respond(status, &body)
}
