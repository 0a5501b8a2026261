//! What an operator tells a PCF: policies, each with the rules of the sessions that it is for.

use std::collections::BTreeSet;

use sluice_ids::{Dnn, Snssai, Supi};
use sluice_sbi::{FILTERS, FILTERS_OF_A_SESSION, PccRule, RULES};

/// What an operator tells a PCF.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Config {
    /// Policies; the first that is for a session is the session's.
    pub policies: Vec<Policy>,
    /// Policies of UEs; the first that is for a subscriber is the UE's.
    pub access_policies: Vec<AccessPolicy>,
}

/// How UEs are to be treated by their gNBs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AccessPolicy {
    /// For these subscribers; none: for all.
    pub subscribers: Vec<Subscribers>,
    /// RFSP index (TS 23.501, 5.3.4.3), from 1 to 256.
    pub rfsp: u16,
}

/// Rules of the sessions of a data network.
#[derive(Clone, PartialEq, Debug)]
pub struct Policy {
    /// What operators call it.
    pub name: String,
    /// For sessions in this data network.
    pub dnn: Dnn,
    /// For sessions in this slice; none: in any.
    pub slice: Option<Snssai>,
    /// For these subscribers; none: for all.
    pub subscribers: Vec<Subscribers>,
    /// Rules from the session's beginning.
    pub rules: Vec<PccRule>,
    /// Flows that UEs may ask for; none: they may not.
    pub ue_requests: Option<UeRequests>,
}

/// Subscribers by the first digits of their IMSIs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscribers {
    digits: String,
    is_whole: bool,
}

/// Flows that UEs may ask for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UeRequests {
    /// Of these 5QIs.
    pub five_qis: Vec<u8>,
    /// Most bits per second of a flow, down and up, guaranteed or not.
    pub most_bps: (u64, u64),
}

impl Subscribers {
    /// Of an IMSI, or of its first digits with `*` behind them.
    pub fn new(text: &str) -> Option<Self> {
        let (digits, is_whole) = match text.strip_suffix('*') {
            Some(digits) => (digits, false),
            None => (text, true),
        };
        let is_digits = digits.bytes().all(|octet| octet.is_ascii_digit());
        let fits = is_digits && (!is_whole || Supi::from_imsi(digits).is_some());
        (fits && digits.len() <= 15).then(|| Self {
            digits: digits.to_owned(),
            is_whole,
        })
    }

    fn has(&self, supi: &Supi) -> bool {
        let imsi = supi.imsi().to_string();
        match self.is_whole {
            true => imsi == self.digits,
            false => imsi.starts_with(&self.digits),
        }
    }
}

impl Policy {
    /// Whether it is for sessions of a subscriber in a data network and slice.
    pub fn is_for(&self, supi: &Supi, dnn: &Dnn, slice: &Snssai) -> bool {
        let is_its = is_for(&self.subscribers, supi);
        self.dnn == *dnn && self.slice.is_none_or(|own| own == *slice) && is_its
    }
}

/// Whether a subscriber is one of these; all are of an empty list.
fn is_for(subscribers: &[Subscribers], supi: &Supi) -> bool {
    subscribers.is_empty() || subscribers.iter().any(|one| one.has(supi))
}

impl Config {
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        if self.policies.len() > crate::POLICIES {
            return Err("256 policies at the most");
        }
        if self.access_policies.len() > crate::POLICIES {
            return Err("256 access policies at the most");
        }
        let is_index = |one: &AccessPolicy| (1..=256).contains(&one.rfsp);
        if !self.access_policies.iter().all(is_index) {
            return Err("an RFSP index is from 1 to 256");
        }
        self.policies
            .iter()
            .try_for_each(|policy| check(&policy.rules))
    }

    /// RFSP index of a subscriber's UE; 0 for none.
    pub(crate) fn rfsp(&self, supi: &Supi) -> u16 {
        let is_its = |one: &&AccessPolicy| is_for(&one.subscribers, supi);
        let found = self.access_policies.iter().find(is_its);
        found.map_or(0, |policy| policy.rfsp)
    }

    pub(crate) fn find(&self, supi: &Supi, dnn: &Dnn, slice: &Snssai) -> Option<&Policy> {
        self.policies
            .iter()
            .find(|one| one.is_for(supi, dnn, slice))
    }
}

/// Whether flows of a 5QI have guaranteed bit rates (TS 23.501, table 5.7.4-1).
pub fn is_guaranteed(five_qi: u8) -> bool {
    matches!(five_qi, 1..=4 | 65..=67 | 71..=76 | 82..=90)
}

/// What is wrong with a rule.
///
/// # Errors
/// In words.
pub fn check_rule(rule: &PccRule) -> Result<(), &'static str> {
    let (down, up) = rule.maximum_bps();
    let guaranteed = rule.guaranteed_bps();
    let (least_down, least_up) = guaranteed.unwrap_or_default();
    let fits = |least: u64, most: u64| most == 0 || least <= most;
    let checks = [
        (
            (1..=FILTERS).contains(&rule.filters().count()),
            "a rule has 1 to 4 filters",
        ),
        (
            (1..=254).contains(&rule.precedence),
            "a precedence is from 1 to 254",
        ),
        (rule.five_qi != 0, "a 5QI is from 1 to 255"),
        (
            (1..=15).contains(&rule.priority),
            "an allocation and retention priority is from 1 to 15",
        ),
        (
            guaranteed.is_some() == is_guaranteed(rule.five_qi),
            "a rule has guaranteed bit rates if its 5QI guarantees bit rates, and only then",
        ),
        (
            fits(least_down, down) && fits(least_up, up),
            "no more is guaranteed than may be used",
        ),
    ];
    match checks.iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(what),
        None => Ok(()),
    }
}

/// What is wrong with rules of one session.
///
/// # Errors
/// In words.
pub fn check(rules: &[PccRule]) -> Result<(), &'static str> {
    rules.iter().try_for_each(check_rule)?;
    let names: BTreeSet<&str> = rules.iter().map(|rule| rule.name.text()).collect();
    let precedences: BTreeSet<u8> = rules.iter().map(|rule| rule.precedence).collect();
    let filters: usize = rules.iter().map(|rule| rule.filters().count()).sum();
    let octets: usize = rules.iter().map(PccRule::nas_octets).sum();
    let checks = [
        (rules.len() <= RULES, "a session has 8 rules at the most"),
        (
            filters <= FILTERS_OF_A_SESSION,
            "the rules of a session have 15 filters at the most, as UEs have",
        ),
        (names.len() == rules.len(), "two rules have one name"),
        (
            precedences.len() == rules.len(),
            "two rules have one precedence",
        ),
        (
            octets <= crate::NAS_OCTETS,
            "the rules of a session are too long for a message to the UE",
        ),
    ];
    match checks.iter().find(|(holds, _)| !holds) {
        Some((_, what)) => Err(what),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_sbi::{Filter, FlowDirection, RuleName};

    fn rule(name: &str, precedence: u8) -> PccRule {
        let name = RuleName::new(name).expect("a name");
        let all = Filter::all(FlowDirection::Both);
        PccRule::new(name, precedence, 9, &[all]).expect("room")
    }

    #[test]
    fn rules_of_a_session_go_together() {
        assert_eq!(check(&[rule("a", 1), rule("b", 2)]), Ok(()));
        let wrong = [
            vec![rule("a", 1), rule("a", 2)],
            vec![rule("a", 1), rule("b", 1)],
            (1..=9).map(|n| rule(&format!("r{n}"), n)).collect(),
            vec![rule("a", 0)],
            vec![PccRule {
                five_qi: 1,
                ..rule("a", 1)
            }],
            vec![PccRule {
                guaranteed_up_bps: 1_000.into(),
                ..rule("a", 1)
            }],
            vec![PccRule {
                five_qi: 1,
                guaranteed_up_bps: 2_000.into(),
                maximum_up_bps: 1_000.into(),
                ..rule("a", 1)
            }],
        ];
        for rules in wrong {
            assert!(check(&rules).is_err(), "{rules:?}");
        }
    }

    #[test]
    fn subscribers_are_named_one_by_one_or_by_their_first_digits() {
        let supi = Supi::from_imsi("001010000000012").expect("digits");
        for text in ["001010000000012", "00101*", "0010100000000*", "*"] {
            assert!(Subscribers::new(text).expect(text).has(&supi), "{text}");
        }
        for text in ["001010000000013", "00102*"] {
            assert!(!Subscribers::new(text).expect(text).has(&supi), "{text}");
        }
        for bad in ["", "x*", "1", "00101*1", "0010100000000123*"] {
            assert_eq!(Subscribers::new(bad), None, "{bad}");
        }
    }
}
