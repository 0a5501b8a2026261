//! SmPolicyDecision (TS 29.512, 5.6.2.4): rules of a session, with what they refer to.

use serde_json::{Map, Value, json};
use sluice_sbi::{PccRule, RuleName};

use super::filter;
use crate::values::{rate_bps, rate_text};

/// Maps of a decision by the identity of what they have.
pub(super) const MAPS: [&str; 4] = ["pccRules", "qosDecs", "traffContDecs", "chgDecs"];

/// Why a rule is not carried out (FailureCode: 5.6.3.9).
pub(super) type FailureCode = &'static str;

/// Name of a rule in a decision: its number in the session, and its own name.
pub(super) fn key(rule: &PccRule) -> String {
    format!("{}-{}", rule.id, rule.name)
}

/// Number and name of a rule of a PCF of ours.
pub(super) fn parts(key: &str) -> Option<(u8, RuleName)> {
    let (id, name) = key.split_once('-')?;
    let id = id.parse().ok().filter(|id| (1..=15).contains(id))?;
    Some((id, RuleName::new(name)?))
}

/// Name of a rule of another PCF, as far as a name of ours can be the same.
pub(super) fn name(key: &str) -> Option<RuleName> {
    let letters = key.chars().take(sluice_sbi::NAME_OCTETS);
    let letters = letters.map(|c| match c.is_ascii_alphanumeric() || "-_.".contains(c) {
        true => c,
        false => '-',
    });
    RuleName::new(&letters.collect::<String>())
}

/// Decision with these rules alone.
pub(super) fn decision(rules: &[PccRule]) -> Value {
    let mut decision = json!({});
    for rule in rules {
        let key = key(rule);
        let mut told = json!({
            "pccRuleId": key,
            "precedence": rule.precedence,
            "flowInfos": flows(rule, &key),
            "refQosData": [key],
        });
        decision["qosDecs"][&key] = qos(rule, &key);
        if let Some(status) = flow_status(rule) {
            told["refTcData"] = json!([key]);
            decision["traffContDecs"][&key] = json!({ "tcId": key, "flowStatus": status });
        }
        if let Some(group) = rule.rating_group() {
            told["refChgData"] = json!([key]);
            decision["chgDecs"][&key] = json!({ "chgId": key, "ratingGroup": group });
        }
        decision["pccRules"][&key] = told;
    }
    decision
}

fn flows(rule: &PccRule, key: &str) -> Vec<Value> {
    let mut flows = filter::filters_json(rule.filters(), "flowDescription", key);
    for flow in &mut flows {
        // The UE is told it (5.6.2.14).
        flow["packetFilterUsage"] = true.into();
    }
    flows
}

/// QosData
fn qos(rule: &PccRule, key: &str) -> Value {
    let mut qos = json!({
        "qosId": key,
        "5qi": rule.five_qi,
        "arp": arp_json(rule.priority, rule.may_preempt, rule.is_preemptable),
    });
    put_rates(&mut qos, rule);
    qos
}

/// Arp (TS 29.571, 5.5.4.1).
pub(super) fn arp_json(priority: u8, may_preempt: bool, is_preemptable: bool) -> Value {
    json!({
        "priorityLevel": priority,
        "preemptCap": match may_preempt {
            true => "MAY_PREEMPT",
            false => "NOT_PREEMPT",
        },
        "preemptVuln": match is_preemptable {
            true => "PREEMPTABLE",
            false => "NOT_PREEMPTABLE",
        },
    })
}

/// Bit rates of a rule that are not 0.
pub(super) fn put_rates(into: &mut Value, rule: &PccRule) {
    for (name, rate) in [
        ("gbrDl", rule.guaranteed_down_bps),
        ("gbrUl", rule.guaranteed_up_bps),
        ("maxbrDl", rule.maximum_down_bps),
        ("maxbrUl", rule.maximum_up_bps),
    ] {
        if rate.get() > 0 {
            into[name] = rate_text(rate.get()).into();
        }
    }
}

/// Reads bit rates into a rule; none if one is none.
pub(super) fn take_rates(from: &Value, rule: &mut PccRule) -> Option<()> {
    for (name, rate) in [
        ("gbrDl", &mut rule.guaranteed_down_bps),
        ("gbrUl", &mut rule.guaranteed_up_bps),
        ("maxbrDl", &mut rule.maximum_down_bps),
        ("maxbrUl", &mut rule.maximum_up_bps),
    ] {
        *rate = match from.get(name) {
            None | Some(Value::Null) => 0,
            Some(text) if text == "" => 0,
            Some(text) => rate_bps(text.as_str()?)?,
        }
        .into();
    }
    Some(())
}

/// FlowStatus (TS 29.514, 5.6.3.12); none of a gate that is open to both sides.
fn flow_status(rule: &PccRule) -> Option<&'static str> {
    match (rule.is_open_down, rule.is_open_up) {
        (true, true) => None,
        (true, false) => Some("ENABLED-DOWNLINK"),
        (false, true) => Some("ENABLED-UPLINK"),
        (false, false) => Some("DISABLED"),
    }
}

/// First of those in a decision to which a rule refers; none if it refers to none of this kind.
fn referred<'a>(
    decision: &'a Value,
    rule: &Value,
    (references, map): (&str, &str),
) -> Result<Option<&'a Value>, FailureCode> {
    let first = rule.get(references).and_then(|all| all.get(0));
    let Some(id) = first.and_then(Value::as_str).filter(|id| !id.is_empty()) else {
        return Ok(None);
    };
    let found = decision.get(map).and_then(|all| all.get(id));
    found.map(Some).ok_or("UNKNOWN_REF_ID")
}

/// Reads a rule of a decision, but for its number, name and precedence.
///
/// # Errors
/// Why it cannot be carried out.
pub(super) fn read(decision: &Value, told: &Value) -> Result<PccRule, FailureCode> {
    let flows = told.get("flowInfos").filter(|flows| !flows.is_null());
    let is_of_application = told.get("appId").is_some_and(Value::is_string);
    let flows = flows.ok_or(match is_of_application {
        true => "APP_ID_ERR",
        false => "MISS_FLOW_INFO",
    })?;
    let filters = filter::filters(flows, "flowDescription").ok_or("INCOR_FLOW_INFO")?;
    let qos = referred(decision, told, ("refQosData", "qosDecs"))?.ok_or("NO_QOS_FLOW_BOUND")?;
    let five_qi = qos.get("5qi").and_then(Value::as_u64);
    let five_qi = five_qi
        .and_then(|one| u8::try_from(one).ok())
        .filter(|one| *one > 0);
    let five_qi = five_qi.ok_or("UNSUCC_QOS_VAL")?;
    let nameless = PccRule::NONE.name;
    let rule = PccRule::new(nameless, 0, five_qi, &filters).ok_or("INCOR_FLOW_INFO")?;
    let mut rule = with_arp(rule, qos);
    take_rates(qos, &mut rule).ok_or("UNSUCC_QOS_VAL")?;
    let control = referred(decision, told, ("refTcData", "traffContDecs"))?;
    let status = control.and_then(|control| control.get("flowStatus")?.as_str());
    (rule.is_open_down, rule.is_open_up) = match status {
        Some("ENABLED-DOWNLINK") => (true, false),
        Some("ENABLED-UPLINK") => (false, true),
        Some("DISABLED" | "REMOVED") => (false, false),
        _ => (true, true),
    };
    let charging = referred(decision, told, ("refChgData", "chgDecs"))?;
    let group = charging.and_then(|charging| charging.get("ratingGroup")?.as_u64());
    if let Some(group) = group {
        rule.has_rating_group = true;
        rule.rating_group = u32::try_from(group).map_err(|_| "RA_GR_ERR")?.into();
    }
    Ok(rule)
}

/// The same with the allocation and retention priority of QosData, as far as there is one.
fn with_arp(rule: PccRule, qos: &Value) -> PccRule {
    let arp = |name| qos.get("arp").and_then(|arp| arp.get(name));
    let level = arp("priorityLevel").and_then(Value::as_u64);
    let level = level.and_then(|level| u8::try_from(level).ok());
    PccRule {
        priority: level
            .filter(|level| (1..=15).contains(level))
            .unwrap_or(rule.priority),
        may_preempt: arp("preemptCap").is_some_and(|one| one == "MAY_PREEMPT"),
        is_preemptable: arp("preemptVuln").is_some_and(|one| one == "PREEMPTABLE"),
        ..rule
    }
}

/// Members of a map of a decision.
pub(super) fn members<'a>(
    decision: &'a Value,
    map: &str,
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    let all = decision.get(map).and_then(Value::as_object);
    all.into_iter().flat_map(Map::iter)
}

/// Changes a decision by another: what is null there is gone (5.6.2.4, NOTE).
pub(super) fn merge(decision: &mut Value, change: &Value) {
    for map in MAPS {
        for (key, member) in members(change, map) {
            match member {
                Value::Null => drop_member(decision, map, key),
                member => decision[map][key] = member.clone(),
            }
        }
    }
}

/// Takes a member of a map away.
pub(super) fn drop_member(decision: &mut Value, map: &str, key: &str) {
    if let Some(Value::Object(all)) = decision.get_mut(map) {
        all.remove(key);
    }
}

/// RuleReports of rules that are not carried out.
pub(super) fn reports(failed: &[(String, FailureCode)]) -> Value {
    let report = |(key, code): &(String, FailureCode)| json!({ "pccRuleIds": [key], "ruleStatus": "INACTIVE", "failureCode": code });
    failed.iter().map(report).collect()
}

/// Rules that reports of a body say are not carried out.
pub(super) fn reported(body: &Value) -> Vec<String> {
    let reports = body.get("ruleReports").and_then(Value::as_array);
    let reports = reports.into_iter().flatten();
    let inactive = reports.filter(|report| report["ruleStatus"] != "ACTIVE");
    let keys = inactive.filter_map(|report| report.get("pccRuleIds")?.as_array());
    let keys = keys.flatten().filter_map(Value::as_str);
    keys.map(str::to_owned).collect()
}

/// Bits of rules of ours by their names.
pub(super) fn bits(keys: &[String]) -> u16 {
    let ids = keys.iter().filter_map(|key| parts(key));
    ids.fold(0, |bits, (id, _)| bits | 1 << id)
}
