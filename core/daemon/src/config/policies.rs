//! Policies: which QoS flows the sessions of a data network have beside the default one, and which RFSP index UEs have.

use super::access::none_or;
use super::kinds;
use sluice_ids::{Dnn, Snssai};
use sluice_pcf::{AccessPolicy, Policy, Subscribers, UeRequests, check, check_rule, filter};
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{Kind, boolean, number};
use sluice_sbi::{Filter, PccRule, RuleName};

/// Rules of the sessions of a data network.
#[derive(Clone, Debug)]
pub struct PolicySection {
    /// What operators call it.
    pub name: At<String>,
    /// For sessions in this data network.
    pub dnn: At<Dnn>,
    /// For sessions in this slice; none: in any.
    pub slice: Option<At<Snssai>>,
    /// For these subscribers; none: for all.
    pub subscribers: Vec<Subscribers>,
    /// Rules from the session's beginning.
    pub rules: Vec<PccRule>,
    /// Flows that UEs may ask for; none: they may not.
    pub ue_requests: Option<UeRequests>,
}

/// RFSP index of UEs, and its line.
pub(super) fn read_access(fields: &mut Fields<'_, '_>) -> Option<At<AccessPolicy>> {
    let line = fields.line();
    let subscribers = fields.list("subscribers", &subscribers());
    let rfsp = fields.required("rfsp", &number(1, 256, ""))?;
    let value = AccessPolicy {
        subscribers: subscribers.into_iter().map(|at| at.value).collect(),
        rfsp: rfsp.value as u16,
    };
    Some(At { value, line })
}

fn name() -> Kind<String> {
    Kind::new("1 to 24 letters, digits and - _ .", |text| {
        RuleName::new(text).map(|name| name.text().to_owned())
    })
}

fn rule_name() -> Kind<RuleName> {
    Kind::new("1 to 24 letters, digits and - _ .", RuleName::new)
}

fn subscribers() -> Kind<Subscribers> {
    let expected = "an IMSI, or its first digits with * behind them, such as 00101*";
    Kind::new(expected, Subscribers::new)
}

fn five_qi() -> Kind<u8> {
    Kind::new("a 5QI from 1 to 255", |text| {
        text.parse().ok().filter(|number| *number != 0)
    })
}

fn text() -> Kind<String> {
    Kind::new("a packet filter", |text| Some(text.to_owned()))
}

impl PolicySection {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let name = fields.required("name", &name());
        let dnn = fields.required("data_network", &kinds::dnn());
        let slice = fields.optional("slice", &kinds::slice());
        let subscribers = fields.list("subscribers", &subscribers());
        let ue_requests = fields.optional_section("ue_requests", read_ue_requests);
        let (line, key) = (fields.line(), fields.key("rules"));
        let rules: Vec<Option<PccRule>> = fields.sections("rules", |f| Some(read_rule(f)));
        let rules: Option<Vec<PccRule>> = rules.into_iter().collect();
        let rules = rules.unwrap_or_default();
        // What is wrong with one of them was said.
        if rules.iter().all(|rule| check_rule(rule).is_ok())
            && let Err(what) = check(&rules)
        {
            let expected = "rules that go together in one session";
            fields.report().problem(line, key, what, expected);
        }
        Some(Self {
            name: name?,
            dnn: dnn?,
            slice,
            subscribers: subscribers.into_iter().map(|at| at.value).collect(),
            rules,
            ue_requests,
        })
    }

    /// For the PCF.
    pub fn policy(&self) -> Policy {
        Policy {
            name: self.name.value.clone(),
            dnn: self.dnn.value,
            slice: self.slice.map(|at| at.value),
            subscribers: self.subscribers.clone(),
            rules: self.rules.clone(),
            ue_requests: self.ue_requests.clone(),
        }
    }
}

fn read_ue_requests(fields: &mut Fields<'_, '_>) -> Option<UeRequests> {
    let five_qis = fields.list("five_qis", &five_qi());
    let down = fields.required("most_down", &kinds::bit_rate());
    let up = fields.required("most_up", &kinds::bit_rate());
    Some(UeRequests {
        five_qis: five_qis.into_iter().map(|at| at.value).collect(),
        most_bps: (down?.value, up?.value),
    })
}

/// None if something is wrong with it, which is said.
fn read_rule(fields: &mut Fields<'_, '_>) -> Option<PccRule> {
    let line = fields.line();
    let name = fields.required("name", &rule_name());
    let precedence = fields.required("precedence", &number(1, 254, ""));
    let five_qi = fields.required("five_qi", &five_qi());
    let priority = fields.or("priority", "8", &number(1, 15, ""));
    let may_preempt = fields.or("may_preempt", "false", &boolean());
    let is_preemptable = fields.or("is_preemptable", "false", &boolean());
    let open = fields.or("open", "true", &boolean());
    let mut rate = |key| fields.or(key, "none", &none_or(kinds::bit_rate())).value;
    let [most_down, most_up, least_down, least_up] =
        ["most_down", "most_up", "guaranteed_down", "guaranteed_up"].map(&mut rate);
    let group = none_or(number(0, u64::from(u32::MAX), ""));
    let group = fields.or("rating_group", "none", &group).value;
    let filters = read_filters(fields)?;
    let key = fields.key("filters");
    let (name, precedence, five_qi) = (name?, precedence?, five_qi?);
    let rule = PccRule::new(name.value, precedence.value, five_qi.value, &filters);
    let Some(rule) = rule else {
        let what = format!("{} are given", filters.len());
        let report = fields.report();
        report.problem(line, key, what, "4 filters of a rule at the most");
        return None;
    };
    let bps = |rate: Option<u64>| rate.unwrap_or(0).into();
    let rule = PccRule {
        priority: priority.value,
        may_preempt: may_preempt.value,
        is_preemptable: is_preemptable.value,
        is_open_down: open.value,
        is_open_up: open.value,
        maximum_down_bps: bps(most_down),
        maximum_up_bps: bps(most_up),
        guaranteed_down_bps: bps(least_down),
        guaranteed_up_bps: bps(least_up),
        has_rating_group: group.is_some(),
        rating_group: (group.unwrap_or(0) as u32).into(),
        ..rule
    };
    if let Err(what) = check_rule(&rule) {
        let key = fields.key("five_qi");
        let expected = "a rule that can be carried out";
        fields.report().problem(five_qi.line, key, what, expected);
        return None;
    }
    Some(rule)
}

/// None if one is none.
fn read_filters(fields: &mut Fields<'_, '_>) -> Option<Vec<Filter>> {
    let texts = fields.list("filters", &text());
    let (line, key) = (fields.line(), fields.key("filters"));
    let expected = "such as permit out udp from 203.0.113.0/24 5000-5100 to assigned";
    if texts.is_empty() {
        fields.report().problem(line, key, "missing", expected);
        return None;
    }
    let mut filters = Vec::new();
    let number = texts.len();
    for at in texts {
        match filter::read(&at.value) {
            Ok(filter) => filters.push(filter),
            Err(error) => {
                let what = format!("'{}': {error}", at.value);
                fields
                    .report()
                    .problem(at.line, key.clone(), what, expected);
            }
        }
    }
    (filters.len() == number).then_some(filters)
}
