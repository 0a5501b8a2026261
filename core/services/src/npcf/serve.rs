//! Npcf_SMPolicyControl (TS 29.512, 4.2) of a PCF: requests of SMFs as messages, and decisions of the PCF.

use core::net::{Ipv4Addr, Ipv6Addr};
use std::collections::VecDeque;

use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_ids::Dnn;
use sluice_sbi::{
    CreateSmPolicy, DeleteSmPolicy, FILTERS, Filter, Message, Nf, NotifySmPolicy, PccRule,
    PolicyTrigger, Problem, RuleName, SmPolicy, SmPolicyNotified, UpdateSmPolicy,
};

use super::known::Told;
use super::{FIVE_QI, NOTIFICATIONS, POLICIES, filter, rules};
use crate::body::{member, optional, read, respond, send, with_json, with_location};
use crate::exchange::{Came, Consumer, OnAnswer, Producer, Refusal, Request, Response};
use crate::names::Memory;
use crate::problem::{refuse_member, tell};
use crate::resources::{content, done, number_of, problem_in};
use crate::values::{rate_bps, slice, supi};

/// Key of the notification URI of a policy.
fn callback_key(policy: u64) -> String {
    format!("sm-policy {policy:016x}")
}

/// SmPolicyContextData
pub(super) fn create(request: &Request, memory: &mut Memory) -> Result<Producer, Refusal> {
    let body = read(request)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let uri = |value: &Value| text(value).filter(|uri| uri.parse::<http::Uri>().is_ok());
    let uri = member(&body, "/notificationUri", "a URI", uri)?;
    let supi = |value: &Value| value.as_str().and_then(supi);
    let session = |value: &Value| {
        value
            .as_u64()?
            .try_into()
            .ok()
            .filter(|id| (1..=15).contains(id))
    };
    let dnn = |value: &Value| value.as_str().and_then(Dnn::new);
    let kind = |value: &Value| super::type_number(value.as_str()?);
    let rate = |name: &str| {
        let rate = |value: &Value| value.as_str().and_then(rate_bps);
        optional(&body, &format!("/subsSessAmbr/{name}"), "a BitRate", rate)
    };
    let small = |name: &str| {
        let small = |value: &Value| value.as_u64()?.try_into().ok();
        optional(
            &body,
            &format!("/subsDefQos/{name}"),
            "a number up to 255",
            small,
        )
    };
    let message = CreateSmPolicy {
        supi: member(&body, "/supi", "imsi-...", supi)?,
        session: member(&body, "/pduSessionId", "a number from 1 to 15", session)?,
        slice: member(&body, "/sliceInfo", "an Snssai", slice)?,
        dnn: member(&body, "/dnn", "the name of a data network", dnn)?,
        session_type: member(&body, "/pduSessionType", "a PduSessionType", kind)?,
        ambr_down_bps: rate("downlink")?.unwrap_or_default().into(),
        ambr_up_bps: rate("uplink")?.unwrap_or_default().into(),
        five_qi: small("5qi")?.unwrap_or_default(),
        priority: small("arp/priorityLevel")?.unwrap_or_default(),
        context: NOTIFICATIONS.number(&uri, memory).into(),
    };
    let mut told = Told::default();
    let has_address = take_addresses(&body, &mut told)?;
    let session_rule = session_rule(&body);
    let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
        let policy = match answer {
            Message::SmPolicy(policy) => *policy,
            Message::Failure(failure) => return Producer::Done(tell(failure.problem)),
            _ => return Producer::Done(tell(Problem::Protocol)),
        };
        memory.keep_callback(&callback_key(policy.policy.get()), &uri);
        if !has_address {
            return Producer::Done(created(&policy, told, session_rule, memory));
        }
        // An SMF that has the address already says so at once.
        let message = addresses(policy.policy.get(), &told);
        let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
            let policy = match answer {
                Message::SmPolicy(policy) => *policy,
                _ => policy,
            };
            Producer::Done(created(&policy, told, session_rule, memory))
        });
        Producer::Ask(Nf::Pcf, message.into(), ask)
    });
    Ok(Producer::Ask(Nf::Pcf, message.into(), ask))
}

/// SmPolicyDecision of a new policy.
fn created(
    policy: &SmPolicy,
    mut told: Told,
    session_rule: Option<Value>,
    memory: &mut Memory,
) -> Response {
    let number = policy.policy.get();
    let mut decision = told.tell(policy.rules.get());
    told.keep(number, memory);
    if let Some(rule) = session_rule {
        decision["sessRules"] = json!({ "1": rule });
    }
    decision["policyCtrlReqTriggers"] = json!(["UE_IP_CH", "RES_MO_RE"]);
    decision["suppFeat"] = "0".into();
    let uri = POLICIES.uri(number, memory);
    with_location(respond(StatusCode::CREATED, &decision), &uri)
}

/// SessionRule that authorizes what is subscribed: the PCF has no other word about it.
fn session_rule(body: &Value) -> Option<Value> {
    let member = |name| body.get(name).filter(|one| Value::is_object(one));
    let (rates, qos) = (member("subsSessAmbr"), member("subsDefQos"));
    rates.or(qos)?;
    let mut rule = json!({ "sessRuleId": "1" });
    for (name, value) in [("authSessAmbr", rates), ("authDefQos", qos)] {
        if let Some(value) = value {
            rule[name] = value.clone();
        }
    }
    Some(rule)
}

/// Reads addresses of a UE, and whether a body says anything of them.
fn take_addresses(body: &Value, told: &mut Told) -> Result<bool, Refusal> {
    let before = (told.ipv4, told.ipv6_prefix);
    let is_there = |name: &str| body.get(name).is_some_and(|one| !one.is_null());
    if is_there("relIpv4Address") {
        told.ipv4 = [0; 4];
    }
    if is_there("relIpv6AddressPrefix") {
        told.ipv6_prefix = [0; 8];
    }
    let ipv4 = |value: &Value| value.as_str()?.parse::<Ipv4Addr>().ok();
    if let Some(ipv4) = optional(body, "/ipv4Address", "an IPv4 address", ipv4)? {
        told.ipv4 = ipv4.octets();
    }
    let prefix = |value: &Value| {
        let (address, _) = value.as_str()?.split_once('/')?;
        let octets = address.parse::<Ipv6Addr>().ok()?.octets();
        octets.first_chunk::<8>().copied()
    };
    if let Some(prefix) = optional(body, "/ipv6AddressPrefix", "an IPv6 prefix", prefix)? {
        told.ipv6_prefix = prefix;
    }
    let triggers = body
        .get("repPolicyCtrlReqTriggers")
        .and_then(Value::as_array);
    let is_told = triggers.is_some_and(|all| all.iter().any(|one| one == "UE_IP_CH"));
    Ok(is_told || before != (told.ipv4, told.ipv6_prefix))
}

fn addresses(policy: u64, told: &Told) -> UpdateSmPolicy {
    UpdateSmPolicy {
        ipv4: told.ipv4,
        ipv6_prefix: told.ipv6_prefix,
        ..update_of(policy, PolicyTrigger::UeAddress)
    }
}

fn update_of(policy: u64, trigger: PolicyTrigger) -> UpdateSmPolicy {
    UpdateSmPolicy {
        policy: policy.into(),
        trigger,
        ipv4: [0; 4],
        ipv6_prefix: [0; 8],
        rules: 0.into(),
        requested: PccRule::NONE,
    }
}

/// SmPolicyUpdateContextData: each thing that it tells is a message.
pub(super) fn update(
    id: &str,
    request: &Request,
    memory: &mut Memory,
) -> Result<Producer, Refusal> {
    let policy = number_of(id).ok_or_else(|| tell(Problem::ContextNotFound))?;
    let body = read(request)?;
    let known = Told::of(policy, memory);
    let is_known = known.is_some();
    let mut told = known.unwrap_or_default();
    let mut messages = VecDeque::new();
    if take_addresses(&body, &mut told)? {
        messages.push_back(addresses(policy, &told));
        told.keep(policy, memory);
    }
    let failed = rules::reported(&body);
    if !failed.is_empty() {
        messages.push_back(UpdateSmPolicy {
            rules: rules::bits(&failed).into(),
            ..update_of(policy, PolicyTrigger::RulesFailed)
        });
    }
    if body.get("ueInitResReq").is_some_and(Value::is_object) {
        messages.push_back(resource(policy, &body, &told)?);
    }
    match messages.is_empty() {
        false => Ok(next(policy, messages)),
        // The rest of what an SMF tells changes no rule.
        true if is_known => Ok(Producer::Done(respond(StatusCode::OK, &json!({})))),
        true => Err(tell(Problem::ContextNotFound).into()),
    }
}

fn next(policy: u64, mut messages: VecDeque<UpdateSmPolicy>) -> Producer {
    let Some(message) = messages.pop_front() else {
        return Producer::Done(tell(Problem::Protocol));
    };
    let ask: OnAnswer = Box::new(move |answer: &Message, memory: &mut Memory| {
        let rules = match answer {
            Message::SmPolicy(policy) => policy.rules,
            Message::Failure(failure) => return Producer::Done(refused(failure.problem)),
            _ => return Producer::Done(tell(Problem::Protocol)),
        };
        if !messages.is_empty() {
            return next(policy, messages);
        }
        let mut told = Told::of(policy, memory).unwrap_or_default();
        let decision = told.tell(rules.get());
        told.settle(&decision);
        told.keep(policy, memory);
        Producer::Done(respond(StatusCode::OK, &decision))
    });
    Producer::Ask(Nf::Pcf, message.into(), ask)
}

/// Problem of a request of the UE; a 5QI that is not for the subscriber is named by its member.
fn refused(problem: Problem) -> Response {
    let mut response = tell(problem);
    if problem == Problem::FiveQiNotAuthorized {
        let mut body = crate::body::read_response(&response);
        let reason = "not for the subscriber";
        body["invalidParams"] = json!([{ "param": FIVE_QI, "reason": reason }]);
        *response.body_mut() = body.to_string().into();
    }
    response
}

/// UeInitiatedResourceRequest (5.6.2.29)
fn resource(policy: u64, body: &Value, told: &Told) -> Result<UpdateSmPolicy, Refusal> {
    const REQUEST: &str = "/ueInitResReq";
    let operation = |value: &Value| Some(value.as_str()?.replace(' ', ""));
    let pointer = format!("{REQUEST}/ruleOp");
    let operation = member(body, &pointer, "a RuleOperation", operation)?;
    if operation == "CREATE_PCC_RULE" {
        let requested = wanted(body, None, wanted_filters(body)?)?;
        return Ok(UpdateSmPolicy {
            requested,
            ..update_of(policy, PolicyTrigger::ResourceRequested)
        });
    }
    let key = |value: &Value| {
        let key = value.as_str()?;
        Some((rules::parts(key)?.0, told.rule(key)))
    };
    let pointer = format!("{REQUEST}/pccRuleId");
    let (id, rule) = member(body, &pointer, "a rule of the session", key)?;
    let bit = 1_u16 << id;
    if operation == "DELETE_PCC_RULE" {
        return Ok(UpdateSmPolicy {
            rules: bit.into(),
            ..update_of(policy, PolicyTrigger::ResourceReleased)
        });
    }
    let expected = "a rule of the session";
    let rule = rule.ok_or_else(|| refuse_member(false, &pointer, expected))?;
    let filters = match operation.as_str() {
        "MODIFY_PCC_RULE_AND_REPLACE_PACKET_FILTERS" => wanted_filters(body)?,
        "MODIFY_PCC_RULE_AND_ADD_PACKET_FILTERS" => {
            rule.filters().chain(wanted_filters(body)?).collect()
        }
        "MODIFY_PCC_RULE_AND_DELETE_PACKET_FILTERS" => rest_of(&rule, body),
        "MODIFY_PCC_RULE_WITHOUT_MODIFY_PACKET_FILTERS" => rule.filters().collect(),
        _ => {
            let pointer = format!("{REQUEST}/ruleOp");
            return Err(refuse_member(false, &pointer, "a RuleOperation").into());
        }
    };
    Ok(UpdateSmPolicy {
        rules: bit.into(),
        requested: wanted(body, Some(rule), filters)?,
        ..update_of(policy, PolicyTrigger::ResourceModified)
    })
}

fn wanted_filters(body: &Value) -> Result<Vec<Filter>, Refusal> {
    let expected = "a list of packet filters, 4 at the most";
    let filters = |value: &Value| filter::filters(value, "packFiltCont");
    member(body, "/ueInitResReq/packFiltInfo", expected, filters)
}

/// Filters of a rule without those that are named.
fn rest_of(rule: &PccRule, body: &Value) -> Vec<Filter> {
    let named = body["ueInitResReq"]["packFiltInfo"].as_array();
    let named: Vec<&Value> = named.into_iter().flatten().collect();
    let key = rules::key(rule);
    let is_named = |at: usize| {
        let id = format!("{key}/{at}");
        named.iter().any(|one| one["packFiltId"] == id.as_str())
    };
    let all = rule.filters().enumerate();
    all.filter(|(at, _)| !is_named(*at))
        .map(|(_, filter)| filter)
        .collect()
}

/// The rule that a UE wants; it has the name of its precedence, as those of our SMF.
fn wanted(body: &Value, before: Option<PccRule>, filters: Vec<Filter>) -> Result<PccRule, Refusal> {
    const REQUEST: &str = "/ueInitResReq";
    let before_qi = before.map(|rule| rule.five_qi);
    let small = |value: &Value| value.as_u64()?.try_into().ok();
    let five_qi = match before_qi {
        Some(five_qi) => optional(body, FIVE_QI, "a 5QI", small)?.unwrap_or(five_qi),
        None => member(body, FIVE_QI, "a 5QI", small)?,
    };
    let pointer = format!("{REQUEST}/precedence");
    let precedence = optional(body, &pointer, "a number up to 255", small)?;
    let precedence = precedence
        .or(before.map(|rule| rule.precedence))
        .unwrap_or_default();
    let name = RuleName::new(&format!("ue-{precedence}")).unwrap_or(PccRule::NONE.name);
    let new = PccRule::new(name, precedence, five_qi, &filters);
    let expected = format!("up to {FILTERS} packet filters");
    let new = new.filter(|new| new.filters > 0);
    let new = new.ok_or_else(|| refuse_member(false, "/ueInitResReq/packFiltInfo", &expected))?;
    let mut rule = PccRule {
        id: 0,
        name,
        precedence,
        five_qi,
        filters: new.filters,
        filter: new.filter,
        ..before.unwrap_or(new)
    };
    if let Some(qos) = body
        .pointer("/ueInitResReq/reqQos")
        .filter(|qos| qos.is_object())
    {
        let taken = rules::take_rates(qos, &mut rule);
        taken.ok_or_else(|| refuse_member(false, "/ueInitResReq/reqQos", "bit rates"))?;
    }
    Ok(rule)
}

/// SmPolicyDeleteData
pub(super) fn delete(id: &str) -> Result<Producer, Refusal> {
    let policy = number_of(id).ok_or_else(|| tell(Problem::ContextNotFound))?;
    let message = DeleteSmPolicy {
        policy: policy.into(),
    };
    let ask = Box::new(move |answer: &Message, memory: &mut Memory| {
        memory.forget_callback(&callback_key(policy));
        Told::forget(policy, memory);
        done(answer)
    });
    Ok(Producer::Ask(Nf::Pcf, message.into(), ask))
}

/// SmPolicyNotification, to whoever asked for the policy.
pub(super) fn notify(notice: &NotifySmPolicy, memory: &mut Memory) -> Consumer {
    let policy = notice.policy.get();
    let mut told = Told::of(policy, memory).unwrap_or_default();
    let change = told.tell(notice.rules.get());
    told.keep(policy, memory);
    let body = json!({
        "resourceUri": POLICIES.uri(policy, memory),
        "smPolicyDecision": change,
    });
    let context = notice.context.get();
    let outgoing = match memory.callback(&callback_key(policy)) {
        Some(uri) => {
            let uri = format!("{}/update", uri.trim_end_matches('/'));
            send(Method::POST, "/", &body).at(&uri)
        }
        None => {
            let outgoing = NOTIFICATIONS.request(Method::POST, context, "/update", memory);
            outgoing.map(|outgoing| with_json(outgoing, &body))
        }
    };
    let Some(outgoing) = outgoing else {
        return Consumer::Done(Problem::ContextNotFound.into());
    };
    Consumer::Send(
        outgoing.into(),
        Box::new(move |came, memory| notified(&came, policy, &change, memory)),
    )
}

/// PartialSuccessReport, or ErrorReport.
fn notified(came: &Came, policy: u64, change: &Value, memory: &mut Memory) -> Consumer {
    let content = content(&came.response, memory);
    let failed = rules::reported(&content.json);
    if failed.is_empty() && !came.response.status().is_success() {
        return Consumer::Done(problem_in(&came.response, &content).into());
    }
    if let Some(mut told) = Told::of(policy, memory) {
        told.settle(change);
        told.refused(&failed);
        told.keep(policy, memory);
    }
    let refused = rules::bits(&failed).into();
    Consumer::Done(SmPolicyNotified { refused }.into())
}
