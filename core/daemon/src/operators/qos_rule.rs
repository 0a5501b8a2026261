//! A rule of a QoS flow as an operator asks for it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sluice_pcf::{check_rule, filter};
use sluice_sbi::{PccRule, RuleName};

/// A rule as an operator asks for it; what is not told is as in core.yaml.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QosRule {
    /// 1 to 24 letters, digits and `-`, `_`, `.`.
    pub name: String,
    /// Rules are tried from the smallest on, 1 to 254.
    pub precedence: u8,
    /// 5QI.
    pub five_qi: u8,
    /// Packet filters, as in core.yaml.
    pub filters: Vec<String>,
    /// Allocation and retention priority, 1 to 15, 1 first.
    #[serde(default = "usual_priority")]
    pub priority: u8,
    /// Guaranteed to the UE.
    #[serde(default)]
    pub guaranteed_down_bps: u64,
    /// Guaranteed from the UE.
    #[serde(default)]
    pub guaranteed_up_bps: u64,
    /// Most to the UE; 0 is no limit.
    #[serde(default)]
    pub maximum_down_bps: u64,
    /// Most from the UE; 0 is no limit.
    #[serde(default)]
    pub maximum_up_bps: u64,
    /// The key under which usage is charged; none: with the session's.
    #[serde(default)]
    pub rating_group: Option<u32>,
}

const fn usual_priority() -> u8 {
    8
}

impl QosRule {
    /// The rule, or what is wrong with it.
    ///
    /// # Errors
    /// The field, and what was expected.
    pub(crate) fn rule(&self) -> Result<PccRule, String> {
        let within = |what: &str, value: u8, most: u8| match (1..=most).contains(&value) {
            true => Ok(()),
            false => Err(format!("{what}: expected 1 to {most}, not {value}")),
        };
        within("precedence", self.precedence, 254)?;
        within("five_qi", self.five_qi, 255)?;
        within("priority", self.priority, 15)?;
        let expected = "name: expected 1 to 24 letters, digits and - _ .";
        let name = RuleName::new(&self.name).ok_or(expected)?;
        if self.filters.is_empty() {
            return Err("filters: expected at least one".to_owned());
        }
        let read =
            |text: &String| filter::read(text).map_err(|e| format!("filters: '{text}': {e}"));
        let filters = self
            .filters
            .iter()
            .map(read)
            .collect::<Result<Vec<_>, _>>()?;
        let rule = PccRule::new(name, self.precedence, self.five_qi, &filters);
        let rule = PccRule {
            priority: self.priority,
            guaranteed_down_bps: self.guaranteed_down_bps.into(),
            guaranteed_up_bps: self.guaranteed_up_bps.into(),
            maximum_down_bps: self.maximum_down_bps.into(),
            maximum_up_bps: self.maximum_up_bps.into(),
            has_rating_group: self.rating_group.is_some(),
            rating_group: self.rating_group.unwrap_or_default().into(),
            ..rule.ok_or("filters: expected 4 at the most")?
        };
        check_rule(&rule)?;
        Ok(rule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> QosRule {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_rule_is_as_it_was_asked_for_or_told_to_be_wrong_by_its_field() {
        let right = r#"{ "name": "call", "precedence": 9, "five_qi": 1, "guaranteed_down_bps": 64000,
            "guaranteed_up_bps": 64000, "maximum_down_bps": 64000, "maximum_up_bps": 64000, "rating_group": 0,
            "filters": ["permit inout udp from 203.0.113.9 4000 to assigned"] }"#;
        let rule = read(right).rule().unwrap();
        assert_eq!(
            (rule.name.text(), rule.priority, rule.five_qi),
            ("call", 8, 1)
        );
        assert_eq!(rule.guaranteed_up_bps.get(), 64_000);
        assert!(rule.has_rating_group && rule.filters == 1);
        let wrong = [
            (
                "\"precedence\": 9",
                "\"precedence\": 0",
                "precedence: expected 1 to 254, not 0",
            ),
            ("\"call\"", "\"a b\"", "name: expected"),
            ("permit inout", "deny inout", "filters: 'deny inout"),
            ("\"five_qi\": 1,", "\"five_qi\": 9,", ""),
        ];
        for (from, to, why) in wrong {
            let told = read(&right.replace(from, to)).rule().unwrap_err();
            assert!(told.starts_with(why), "{told}");
        }
    }
}
