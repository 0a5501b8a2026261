//! Rules, flows and session AMBR that a UE may have otherwise than the network: a command named them, and nobody heard
//! whether the UE has taken it.
//!
//! The next command names them again, in the form that does no harm either way: a UE that has a rule or a flow description
//! takes "create" as its replacement, and one that has it not takes "delete" as done (TS 24.501, 6.3.2.4).

use sluice_n1::ModificationCommand;

/// Rules, flows and AMBR of a UE that are not known; nothing by default.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Unheard {
    /// Rules of NAS by their numbers, a bit for each: without the default rule there are fifteen.
    pub rules: u32,
    /// Flow descriptions by their QFIs, a bit for each.
    pub flows: u64,
    /// The session AMBR.
    pub ambr: bool,
}

impl Unheard {
    /// Of a command: all that it names.
    pub fn of(command: &ModificationCommand) -> Self {
        let rules = command.rules.iter().map(|rule| rule_bit(rule.id));
        let flows = command.flows.iter().map(|flow| flow_bit(flow.qfi));
        Self {
            rules: rules.fold(0, |bits, rule| bits | rule),
            flows: flows.fold(0, |bits, flow| bits | flow),
            ambr: command.ambr.is_some(),
        }
    }

    /// Both.
    pub fn and(self, other: Self) -> Self {
        Self {
            rules: self.rules | other.rules,
            flows: self.flows | other.flows,
            ambr: self.ambr || other.ambr,
        }
    }

    /// The rest without what is known by now.
    pub fn without(self, known: Self) -> Self {
        Self {
            rules: self.rules & !known.rules,
            flows: self.flows & !known.flows,
            ambr: self.ambr && !known.ambr,
        }
    }

    /// Whether there is anything.
    pub fn is_any(self) -> bool {
        self != Self::default()
    }

    /// Whether it is not known if the UE has this rule of NAS.
    pub fn has_rule(self, id: u8) -> bool {
        self.rules & rule_bit(id) != 0
    }

    /// Whether it is not known if the UE has this flow, and how.
    pub fn has_flow(self, qfi: u8) -> bool {
        self.flows & flow_bit(qfi) != 0
    }

    /// Numbers of its rules, without those.
    pub fn rules_without(self, known: impl Fn(u8) -> bool) -> impl Iterator<Item = u8> {
        (0..32).filter(move |id| self.has_rule(*id) && !known(*id))
    }

    /// QFIs of its flows, without those.
    pub fn flows_without(self, known: impl Fn(u8) -> bool) -> impl Iterator<Item = u8> {
        (0..64).filter(move |qfi| self.has_flow(*qfi) && !known(*qfi))
    }
}

fn rule_bit(id: u8) -> u32 {
    1_u32.checked_shl(id.into()).unwrap_or_default()
}

fn flow_bit(qfi: u8) -> u64 {
    1_u64.checked_shl(qfi.into()).unwrap_or_default()
}
