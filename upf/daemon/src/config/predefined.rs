//! List `predefined`: rules that SMFs activate by name (TS 29.244, 5.19).

use super::fields::{At, Fields};
use super::kind::{Kind, number, word};
use sluice_session::{PREDEFINED_MAX, PredefinedError, PredefinedRule, PredefinedRules};
use sluice_wire::flow_description::FlowDescription;
use sluice_wire::pfcp::value::{BitRate, Gate, GateStatus};

/// The most that five octets say (TS 29.244, 8.2.8).
const KBPS_MAX: u64 = (1 << 40) - 1;

/// A rule, with the line of its name.
#[derive(Clone, PartialEq, Debug)]
pub struct Predefined {
    /// Its name.
    pub name: At<String>,
    /// All of it.
    pub rule: PredefinedRule,
}

impl Predefined {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let name = fields.required("name", &octets());
        let flows = fields.list("flows", &flow());
        let gate = || word(&[("open", Gate::Open), ("closed", Gate::Closed)]);
        let gate = GateStatus {
            uplink: fields.or("uplink", "open", &gate()).value,
            downlink: fields.or("downlink", "open", &gate()).value,
        };
        let mbr = fields.optional_section("mbr", |fields| {
            let uplink = fields.required("uplink_kbps", &number(1, KBPS_MAX, "kbit/s"));
            let downlink = fields.required("downlink_kbps", &number(1, KBPS_MAX, "kbit/s"));
            Some(BitRate {
                uplink_kbps: uplink?.value,
                downlink_kbps: downlink?.value,
            })
        });
        let qfi = fields.optional("qfi", &number(0, 63, ""));
        let name = name?;
        let rule = PredefinedRule {
            flows: flows.into_iter().map(|at| at.value).collect(),
            gate,
            mbr,
            qfi: qfi.map(|at| at.value),
            ..PredefinedRule::named(&name.value)
        };
        if let Err(PredefinedError::TooManyFlows(_)) =
            PredefinedRules::new(core::slice::from_ref(&rule))
        {
            let (line, path) = (fields.line(), fields.key("flows"));
            let what = "too many flows and ports";
            fields
                .report()
                .problem(line, path, what, "63 pairs of port ranges at the most");
        }
        Some(Self { name, rule })
    }

    /// No name is there twice, and there is a number for each.
    pub(super) fn apart(all: &[Self], fields: &mut Fields<'_, '_>) {
        for (at, rule) in all.iter().enumerate() {
            let (name, line) = (&rule.name.value, rule.name.line);
            let mut before = all.iter().take(at);
            let twice = before.find(|r| r.name.value == *name);
            if let Some(first) = twice {
                let what = format!("'{name}' is also in line {}", first.name.line);
                let key = format!("predefined[{at}].name");
                fields.report().problem(line, key, what, "each name once");
            }
        }
        if let Some(one_more) = all.get(PREDEFINED_MAX) {
            let what = format!("{} rules", all.len());
            let expected = format!("{PREDEFINED_MAX} at the most");
            let line = one_more.name.line;
            fields.report().problem(line, "predefined", what, expected);
        }
    }
}

/// A Predefined Rules Name: an OctetString that people can read.
pub(super) fn octets() -> Kind<String> {
    Kind::new("a name of 1 to 255 visible characters", |text| {
        let is_plain = text.bytes().all(|octet| octet.is_ascii_graphic());
        ((1..=255).contains(&text.len()) && is_plain).then(|| text.to_owned())
    })
}

/// A flow description.
pub(super) fn flow() -> Kind<String> {
    let expected = "a flow description such as permit out 17 from any 53 to assigned";
    Kind::new(expected, |text| {
        let is_one = FlowDescription::parse(text.as_bytes()).is_ok();
        is_one.then(|| text.to_owned())
    })
}
