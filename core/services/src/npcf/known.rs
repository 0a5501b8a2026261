//! Policies of sessions as both sides remember them: decisions tell what changes, messages between functions tell all rules.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sluice_sbi::{PccRule, PccRules, RULES};

use super::rules::{self, FailureCode, MAPS};
use crate::names::Memory;

/// Highest precedence of a rule.
const LAST_PRECEDENCE: u8 = 254;
/// Highest number of a rule.
const LAST_ID: u8 = 15;

/// SMF's side: what a PCF has decided.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Known {
    decision: Value,
    /// Rules of a PCF that does not number them, by their names.
    numbers: BTreeMap<String, Number>,
    /// Number of the last new rule.
    last: u8,
}

/// Number of a rule while it stays as it is.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Number {
    id: u8,
    precedence: u8,
    /// Fingerprint of the rule.
    of: u64,
}

/// Rules that are not carried out, and why.
pub(super) type Failed = Vec<(String, FailureCode)>;

impl Known {
    fn key(policy: u64) -> String {
        format!("sm-policy {policy:016x}")
    }

    /// Of a policy; nothing of one that is new or was forgotten.
    pub(super) fn of(policy: u64, memory: &Memory) -> Self {
        let text = memory.noted(&Self::key(policy));
        let known = text.and_then(|text| serde_json::from_str(text).ok());
        known.unwrap_or_else(|| Self {
            decision: json!({}),
            ..Self::default()
        })
    }

    /// Remembers it.
    pub(super) fn keep(&self, policy: u64, memory: &mut Memory) {
        let text = serde_json::to_string(self).unwrap_or_default();
        memory.note(&Self::key(policy), &text);
    }

    /// Forgets the policy.
    pub(super) fn forget(policy: u64, memory: &mut Memory) {
        memory.forget_note(&Self::key(policy));
    }

    /// All rules after a decision, by their numbers, and those that cannot be carried out, which are forgotten.
    pub(super) fn change(&mut self, change: &Value, is_ours: bool) -> (PccRules, Failed) {
        // A PCF of ours tells all rules each time, so what was lost on the way does no harm.
        if is_ours {
            self.decision = json!({});
        }
        rules::merge(&mut self.decision, change);
        let told: Vec<(String, Value)> = rules::members(&self.decision, "pccRules")
            .map(|(key, rule)| (key.clone(), rule.clone()))
            .collect();
        self.numbers
            .retain(|key, _| told.iter().any(|(one, _)| one == key));
        let (mut all, mut failed) = (Vec::new(), Failed::new());
        for (key, rule) in &told {
            let read = rules::read(&self.decision, rule);
            let read = read.and_then(|read| self.numbered(key, rule, read, is_ours));
            match read {
                Ok(_) if all.len() == RULES => failed.push((key.clone(), "MAX_NR_QoS_FLOW")),
                Ok(read) => all.push(read),
                Err(code) => failed.push((key.clone(), code)),
            }
        }
        for (key, _) in &failed {
            self.drop_rule(key);
        }
        all.sort_by_key(|rule| rule.id);
        (PccRules::new(&all), failed)
    }

    fn numbered(
        &mut self,
        key: &str,
        told: &Value,
        rule: PccRule,
        is_ours: bool,
    ) -> Result<PccRule, FailureCode> {
        let precedence = told.get("precedence").and_then(Value::as_u64);
        let precedence = precedence.and_then(|one| u8::try_from(one).ok());
        let precedence = precedence.filter(|one| (1..=LAST_PRECEDENCE).contains(one));
        let (id, name, precedence) = match rules::parts(key).filter(|_| is_ours) {
            Some((id, name)) => (id, name, precedence.unwrap_or(LAST_PRECEDENCE)),
            None => {
                let number = self.number(key, &rule, precedence).ok_or("RES_LIM")?;
                let name = rules::name(key).ok_or("UNK_RULE_ID")?;
                (number.id, name, number.precedence)
            }
        };
        Ok(PccRule {
            id,
            name,
            precedence,
            ..rule
        })
    }

    /// Number of a rule of another PCF: another one when the rule is otherwise.
    fn number(&mut self, key: &str, rule: &PccRule, precedence: Option<u8>) -> Option<Number> {
        let mut hasher = DefaultHasher::new();
        let told = rules::decision(&[*rule]).to_string();
        (told, precedence).hash(&mut hasher);
        let of = hasher.finish();
        if let Some(number) = self.numbers.get(key).filter(|number| number.of == of) {
            return Some(*number);
        }
        let is_free = |id: &u8| !self.numbers.values().any(|one| one.id == *id);
        let mut next = (0..LAST_ID).map(|n| (self.last + n) % LAST_ID + 1);
        let id = next.find(is_free)?;
        let is_free = |precedence: &u8| {
            let mut others = self.numbers.iter().filter(|(one, _)| *one != key);
            !others.any(|(_, one)| one.precedence == *precedence)
        };
        let free = || (1..=LAST_PRECEDENCE).rev().find(is_free);
        let precedence = precedence.or_else(free)?;
        self.last = id;
        let number = Number { id, precedence, of };
        self.numbers.insert(key.to_owned(), number);
        Some(number)
    }

    fn drop_rule(&mut self, key: &str) {
        rules::drop_member(&mut self.decision, "pccRules", key);
        self.numbers.remove(key);
    }

    /// Names of rules by their bits.
    pub(super) fn keys(&self, bits: u16) -> Vec<String> {
        let id = |key: &String| match self.numbers.get(key) {
            Some(number) => Some(number.id),
            None => rules::parts(key).map(|(id, _)| id),
        };
        let all = rules::members(&self.decision, "pccRules").map(|(key, _)| key);
        let wanted = all.filter(|key| id(key).is_some_and(|id| bits & 1 << id != 0));
        wanted.cloned().collect()
    }

    /// Filters of a rule by their identities alone; a list has one at least.
    pub(super) fn filter_ids(&self, key: &str) -> Value {
        let flows = self.decision["pccRules"][key]["flowInfos"].as_array();
        let ids = flows.into_iter().flatten();
        let ids = ids.map(|flow| flow.get("packFiltId").filter(|id| id.is_string()));
        let ids: Vec<Value> = ids
            .flatten()
            .map(|id| json!({ "packFiltId": id }))
            .collect();
        match ids.is_empty() {
            true => json!([{}]),
            false => ids.into(),
        }
    }

    /// The SMF does without these rules.
    pub(super) fn refuse(&mut self, bits: u16) -> Failed {
        let keys = self.keys(bits);
        for key in &keys {
            self.drop_rule(key);
        }
        keys.into_iter().map(|key| (key, "RES_ALLO_FAIL")).collect()
    }
}

/// PCF's side: what an SMF was told, and what it has told of addresses.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct Told {
    decision: Value,
    pub(super) ipv4: [u8; 4],
    pub(super) ipv6_prefix: [u8; 8],
}

impl Told {
    fn key(policy: u64) -> String {
        format!("sm-policy-told {policy:016x}")
    }

    /// Of a policy, if it is remembered.
    pub(super) fn of(policy: u64, memory: &Memory) -> Option<Self> {
        serde_json::from_str(memory.noted(&Self::key(policy))?).ok()
    }

    /// Remembers it.
    pub(super) fn keep(&self, policy: u64, memory: &mut Memory) {
        let text = serde_json::to_string(self).unwrap_or_default();
        memory.note(&Self::key(policy), &text);
    }

    /// Forgets the policy.
    pub(super) fn forget(policy: u64, memory: &mut Memory) {
        memory.forget_note(&Self::key(policy));
    }

    /// Decision with these rules, and null for what is not there any more.
    pub(super) fn tell(&mut self, rules: &[PccRule]) -> Value {
        let decision = rules::decision(rules);
        let mut change = decision.clone();
        for map in MAPS {
            for (key, _) in rules::members(&self.decision, map) {
                if decision.get(map).is_none_or(|all| all.get(key).is_none()) {
                    change[map][key] = Value::Null;
                }
            }
        }
        // What is gone is told again until it has come.
        rules::merge(&mut self.decision, &decision);
        change
    }

    /// The SMF has a decision: what is null there is told no more.
    pub(super) fn settle(&mut self, change: &Value) {
        for map in MAPS {
            for (key, _) in rules::members(change, map).filter(|(_, one)| one.is_null()) {
                rules::drop_member(&mut self.decision, map, key);
            }
        }
    }

    /// The SMF does without these rules.
    pub(super) fn refused(&mut self, keys: &[String]) {
        for key in keys {
            MAPS.iter()
                .for_each(|map| rules::drop_member(&mut self.decision, map, key));
        }
    }

    /// Rule of this name as the SMF was told.
    pub(super) fn rule(&self, key: &str) -> Option<PccRule> {
        let told = self.decision.get("pccRules")?.get(key)?;
        let rule = rules::read(&self.decision, told).ok()?;
        let (id, name) = rules::parts(key)?;
        let precedence = told.get("precedence")?.as_u64()?.try_into().ok()?;
        Some(PccRule {
            id,
            name,
            precedence,
            ..rule
        })
    }
}
