//! QoS flows of a session: rules of the PCF bound to flows (TS 23.503, 6.1.3.2.4), and what UE and gNB
//! are told of them.

use std::collections::BTreeMap;

use sluice_n1::{
    Ambr, FilterDirection, FlowDescription, FlowOperation, ModificationCommand, PacketFilter,
    QosRule, RuleOperation,
};
use sluice_n2::{FlowRates, ModifyRequest, QosFlow};
use sluice_sbi::{Filter, FlowDirection, Instant, PccRule};

use crate::context::session::{QFI, Qos, Usage};
use crate::procedure::unheard::Unheard;

/// A rule that is bound to a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Bound {
    pub pcc: PccRule,
    pub qfi: u8,
    /// The UE has it, or may have it.
    pub is_told: bool,
    /// The UPF has its part for packets from the UE.
    pub is_at_upf: bool,
    /// The UPF has its part for packets to the UE: that comes once the gNB has the flow.
    pub has_downlink: bool,
}

/// Rules and flows of a session beside the default flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flows {
    /// Policy association at the PCF.
    pub policy: Option<u64>,
    /// Rules at the UPF.
    pub rules: Vec<Bound>,
    /// Rules that there are to be: those of the PCF for which there is room.
    pub wanted: Vec<PccRule>,
    /// The session AMBR that there is to be, where it is another.
    pub wanted_ambr: Option<(u64, u64)>,
    /// Flows that the gNB has, a bit for each.
    pub at_gnb: u64,
    /// The UPF and the data network by their places in the configuration, once they are chosen.
    pub place: Option<(usize, usize)>,
    /// Guaranteed bit rates of the session, bits per second down and up.
    pub guaranteed_bps: (u64, u64),
    /// The subscription is to be looked at again.
    pub is_stale: bool,
    /// The UE was called for what is new.
    pub is_called: bool,
    /// Whether a connected UE could not be reached with a change: it gets the change when its user plane changes.
    pub is_out_of_reach: bool,
    /// No change is begun before then: the UE is being handed over, or the last one did not succeed.
    pub postponed: Option<Instant>,
    /// Changes in a row that somebody has not taken.
    pub failures: u8,
    /// The transaction of the command that the UE has not answered.
    pub command: Option<u8>,
    /// Rules, flows and AMBR that the UE may have otherwise, by commands that it has not answered.
    pub unheard: Unheard,
    /// Rules that the UPF may have otherwise than is written here, a bit for each: the process before this one was
    /// about to change them.
    pub in_doubt: u16,
    /// Usage by rating group; the rest of the session's has none.
    pub groups: Vec<(u32, Usage)>,
}

/// Wanted change of flows; none by default.
#[derive(Clone, Debug, Default)]
pub(crate) struct Change {
    pub added: Vec<Bound>,
    pub removed: Vec<Bound>,
    pub ambr: Option<(u64, u64)>,
    before: Vec<Bound>,
    at_gnb: u64,
    unheard: Unheard,
}

/// Flows by their numbers, without the default one.
type ByQfi = BTreeMap<u8, QosFlow>;

/// Flows of rules; what is guaranteed to a flow is guaranteed to its rules together.
fn by_qfi<'a>(rules: impl Iterator<Item = &'a Bound>) -> ByQfi {
    let mut flows = ByQfi::new();
    for rule in rules.filter(|rule| rule.qfi != QFI) {
        let pcc = &rule.pcc;
        let flow = flows.entry(rule.qfi).or_insert(QosFlow {
            may_preempt: pcc.may_preempt,
            is_preemptable: pcc.is_preemptable,
            ..QosFlow::new(rule.qfi, pcc.five_qi, pcc.priority)
        });
        let Some((down, up)) = pcc.guaranteed_bps() else {
            continue;
        };
        let (most_down, most_up) = pcc.maximum_bps();
        let rates = flow.rates.get_or_insert(FlowRates {
            guaranteed_bps: (0, 0),
            maximum_bps: (0, 0),
        });
        let add = |(a, b): (u64, u64), (c, d)| (a.saturating_add(c), b.saturating_add(d));
        rates.guaranteed_bps = add(rates.guaranteed_bps, (down, up));
        // What has no limit of its own has that of what is guaranteed.
        let most = (
            if most_down == 0 { down } else { most_down },
            if most_up == 0 { up } else { most_up },
        );
        rates.maximum_bps = add(rates.maximum_bps, most);
    }
    flows
}

/// As the UE is told.
fn description(flow: &QosFlow, operation: FlowOperation) -> FlowDescription {
    FlowDescription {
        operation,
        guaranteed_bps: flow.rates.map(|rates| rates.guaranteed_bps),
        maximum_bps: flow.rates.map(|rates| rates.maximum_bps),
        ..FlowDescription::new(flow.qfi, flow.five_qi)
    }
}

/// The number of a rule in NAS; the default one has 1.
pub(crate) fn rule_id(pcc: &PccRule) -> u8 {
    pcc.id + 1
}

/// As the UE is told.
fn qos_rule(rule: &Bound) -> QosRule {
    let filter = |(at, filter): (usize, Filter)| PacketFilter {
        id: at as u8 + 1,
        direction: match filter.direction {
            FlowDirection::Downlink => FilterDirection::Downlink,
            FlowDirection::Uplink => FilterDirection::Uplink,
            FlowDirection::Both => FilterDirection::Both,
        },
        remote: filter.remote,
        protocol: filter.protocol,
        remote_ports: filter.remote_ports,
        local_ports: filter.local_ports,
        tos: filter.tos,
        has_others: false,
    };
    QosRule {
        id: rule_id(&rule.pcc),
        operation: RuleOperation::Create,
        is_default: false,
        filters: rule.pcc.filters().enumerate().map(filter).collect(),
        precedence: rule.pcc.precedence,
        qfi: rule.qfi,
    }
}

fn bits<'a>(flows: impl Iterator<Item = &'a u8>) -> u64 {
    flows.fold(0, |bits, qfi| bits | 1 << (qfi & 63))
}

impl Flows {
    /// Rules and flows for an accept.
    pub fn told(&self) -> (Vec<QosRule>, Vec<FlowDescription>) {
        let flows = by_qfi(self.rules.iter());
        let descriptions = flows
            .values()
            .map(|flow| description(flow, FlowOperation::Create));
        (
            self.rules.iter().map(qos_rule).collect(),
            descriptions.collect(),
        )
    }

    /// Flows for a gNB, the default one first.
    pub fn at_setup(&self, qos: &Qos) -> Vec<QosFlow> {
        let default = QosFlow::new(QFI, qos.five_qi, qos.priority);
        let mut flows = vec![default];
        flows.extend(by_qfi(self.rules.iter()).into_values());
        flows
    }

    /// All rules that are wanted are there from the session's beginning.
    pub fn begin(&mut self, qos: &Qos) {
        for pcc in self.wanted.clone() {
            if let Some(qfi) = bind(&self.rules, qos, &pcc) {
                self.rules.push(Bound {
                    pcc,
                    qfi,
                    is_told: false,
                    is_at_upf: true,
                    has_downlink: true,
                });
            }
        }
    }

    /// The gNB has these flows of those that it was asked for, a bit for each; rules of those that it has
    /// not, a bit for each. Of others it knows nothing yet.
    pub fn set_up(&mut self, asked: u64, qfis: &[u8]) -> u16 {
        self.at_gnb = bits(qfis.iter());
        self.failures = 0;
        self.failed(&self.rules, self.at_gnb | !asked)
    }

    /// The gNB has these flows no more, a bit for each; rules of those, a bit for each.
    pub fn taken_away(&mut self, gone: u64) -> u16 {
        let gone = gone & self.at_gnb;
        self.at_gnb &= !gone;
        self.failed(&self.rules, !gone)
    }

    /// Flows that a gNB is asked for that sets the session up.
    pub fn asked_at_setup(&self) -> u64 {
        bits(by_qfi(self.rules.iter()).keys()) | 1 << QFI
    }

    /// Whether a side has something that it should not have: rules that are not wanted, or flows that no rule
    /// has.
    pub fn has_leftovers(&self) -> bool {
        let is_wanted = |rule: &Bound| self.wanted.contains(&rule.pcc);
        !self.rules.iter().all(is_wanted) || self.strays(self.rules.iter()) != 0
    }

    /// Flows at the gNB that none of these rules has, a bit for each.
    fn strays<'a>(&self, rules: impl Iterator<Item = &'a Bound>) -> u64 {
        strays(self.at_gnb, rules)
    }

    /// Rules whose flows are not among those, a bit for each.
    fn failed(&self, rules: &[Bound], there: u64) -> u16 {
        let is_missing = |rule: &&Bound| rule.qfi != QFI && there & 1 << rule.qfi == 0;
        let missing = rules.iter().filter(is_missing);
        missing.fold(0, |bits, rule| bits | 1 << rule.pcc.id)
    }

    /// Difference between the wanted and the present flows; none if they agree.
    pub fn change(&self, qos: &Qos) -> Option<Change> {
        let is_wanted = |rule: &&Bound| self.wanted.contains(&rule.pcc);
        let (kept, removed): (Vec<Bound>, Vec<Bound>) = self
            .rules
            .iter()
            .copied()
            .partition(|rule| is_wanted(&rule));
        let mut after = kept;
        let mut added = Vec::new();
        for pcc in &self.wanted {
            // One whose number is still taken comes when that is free.
            let is_taken = self.rules.iter().any(|rule| rule.pcc.id == pcc.id);
            if is_taken {
                continue;
            }
            if let Some(qfi) = bind(&after, qos, pcc) {
                let rule = Bound {
                    pcc: *pcc,
                    qfi,
                    is_told: false,
                    is_at_upf: false,
                    has_downlink: false,
                };
                after.push(rule);
                added.push(rule);
            }
        }
        let ambr = self.wanted_ambr.filter(|ambr| *ambr != qos.ambr_bps);
        let ambr = ambr.or_else(|| self.unheard.ambr.then_some(qos.ambr_bps));
        let is_to_be_told = self.strays(after.iter()) != 0 || self.unheard.is_any();
        let is_any = !added.is_empty() || !removed.is_empty() || ambr.is_some() || is_to_be_told;
        is_any.then(|| Change {
            added,
            removed,
            ambr,
            before: self.rules.clone(),
            at_gnb: self.at_gnb,
            unheard: self.unheard,
        })
    }

    /// Usage under the rule of a URR; its rating group.
    pub fn add_usage(&mut self, id: u8, usage: Usage) -> Option<u32> {
        let rule = self.rules.iter().find(|rule| rule.pcc.id == id);
        let group = rule.and_then(|rule| rule.pcc.rating_group())?;
        match self.groups.iter_mut().find(|(one, _)| *one == group) {
            Some((_, sum)) => sum.add(usage),
            None => self.groups.push((group, usage)),
        }
        Some(group)
    }
}

fn strays<'a>(at_gnb: u64, rules: impl Iterator<Item = &'a Bound>) -> u64 {
    at_gnb & !(rules.fold(1 << QFI, |bits, rule| bits | 1 << rule.qfi))
}

/// The flow of a rule: that of others with the same 5QI and priority, the default one too, else one of its
/// own. None if there are too many.
fn bind(others: &[Bound], qos: &Qos, pcc: &PccRule) -> Option<u8> {
    let has = |one: &PccRule| {
        (one.five_qi, one.priority) == (pcc.five_qi, pcc.priority)
            && (one.may_preempt, one.is_preemptable) == (pcc.may_preempt, pcc.is_preemptable)
    };
    let is_default = (pcc.five_qi, pcc.priority) == (qos.five_qi, qos.priority)
        && !pcc.may_preempt
        && !pcc.is_preemptable;
    if is_default && pcc.guaranteed_bps().is_none() {
        return Some(QFI);
    }
    let same = others.iter().find(|one| one.qfi != QFI && has(&one.pcc));
    let free = |qfi: &u8| others.iter().all(|one| one.qfi != *qfi);
    same.map(|one| one.qfi).or_else(|| (QFI + 1..64).find(free))
}

impl Change {
    fn after(&self) -> impl Iterator<Item = &Bound> {
        let is_removed = |rule: &&Bound| !self.removed.contains(rule);
        self.before.iter().filter(is_removed).chain(&self.added)
    }

    /// Rules that are new, a bit for each.
    pub fn added_ids(&self) -> u16 {
        self.added
            .iter()
            .fold(0, |bits, rule| bits | 1 << rule.pcc.id)
    }

    /// For the UE; none if it has to know of nothing. All that is not known of it is named.
    pub fn command(&self) -> Option<ModificationCommand> {
        let ambr = self
            .ambr
            .map(|(down_bps, up_bps)| Ambr { down_bps, up_bps });
        let command = ModificationCommand {
            ambr,
            rules: self.told_rules(),
            flows: self.told_flows(),
            ..ModificationCommand::default()
        };
        (command != ModificationCommand::default()).then_some(command)
    }

    fn told_rules(&self) -> Vec<QosRule> {
        let stays = |id: u8| self.after().any(|rule| rule_id(&rule.pcc) == id);
        let is_told = |rule: &&Bound| rule.is_told;
        let gone = self.removed.iter().filter(is_told);
        let gone: Vec<u8> = gone.map(|rule| rule_id(&rule.pcc)).collect();
        let unheard = self
            .unheard
            .rules_without(|id| stays(id) || gone.contains(&id));
        let deleted = gone.iter().copied().chain(unheard).map(QosRule::deleted);
        let is_added = |rule: &&Bound| self.added.contains(rule);
        let is_new = |rule: &&Bound| is_added(rule) || self.unheard.has_rule(rule_id(&rule.pcc));
        deleted
            .chain(self.after().filter(is_new).map(qos_rule))
            .collect()
    }

    fn told_flows(&self) -> Vec<FlowDescription> {
        let told = by_qfi(self.before.iter().filter(|rule| rule.is_told));
        let after = by_qfi(self.after());
        let mut flows = Vec::new();
        for (qfi, flow) in &after {
            match told.get(qfi) {
                None => flows.push(description(flow, FlowOperation::Create)),
                Some(_) if self.unheard.has_flow(*qfi) => {
                    flows.push(description(flow, FlowOperation::Create));
                }
                Some(before) if before != flow => {
                    flows.push(description(flow, FlowOperation::Modify));
                }
                Some(_) => {}
            }
        }
        let gone = told.keys().filter(|qfi| !after.contains_key(qfi)).copied();
        let unheard = self
            .unheard
            .flows_without(|qfi| after.contains_key(&qfi) || told.contains_key(&qfi));
        flows.extend(gone.chain(unheard).map(FlowDescription::deleted));
        flows
    }

    /// Whether the UE is told of nothing but what it may have otherwise already.
    pub fn only_repeats(&self, command: &ModificationCommand) -> bool {
        !Unheard::of(command).without(self.unheard).is_any()
    }

    /// For the gNB; none if it has to know of nothing.
    pub fn request(&self) -> Option<ModifyRequest> {
        let (before, after) = (by_qfi(self.before.iter()), by_qfi(self.after()));
        let has = |qfi: u8| self.at_gnb & 1 << qfi != 0;
        let is_news = |flow: &&QosFlow| !has(flow.qfi) || before.get(&flow.qfi) != Some(*flow);
        // Also one whose rules went before, and that the gNB did not release then.
        let gone = strays(self.at_gnb, self.after());
        let request = ModifyRequest {
            ambr_bps: self.ambr,
            flows: after.values().filter(is_news).copied().collect(),
            released: (0..64).filter(|qfi| gone & 1 << qfi != 0).collect(),
        };
        (request != ModifyRequest::default()).then_some(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_sbi::RuleName;

    fn rule(id: u8, five_qi: u8) -> PccRule {
        let name = RuleName::new(&format!("r{id}")).expect("a name");
        let all = Filter::all(FlowDirection::Both);
        let rule = PccRule::new(name, id, five_qi, &[all]).expect("room");
        PccRule { id, ..rule }
    }

    fn guaranteed(id: u8, bps: u64) -> PccRule {
        PccRule {
            guaranteed_down_bps: bps.into(),
            guaranteed_up_bps: (2 * bps).into(),
            ..rule(id, 1)
        }
    }

    const QOS: Qos = Qos {
        ambr_bps: (2_000, 1_000),
        five_qi: 9,
        priority: 8,
    };

    #[test]
    fn rules_of_one_5qi_and_priority_share_a_flow_and_what_is_guaranteed_is_added_up() {
        let mut flows = Flows {
            wanted: vec![
                rule(1, 9),
                rule(2, 7),
                rule(3, 7),
                guaranteed(4, 10),
                guaranteed(5, 5),
            ],
            ..Flows::default()
        };
        flows.begin(&QOS);
        let qfis: Vec<u8> = flows.rules.iter().map(|rule| rule.qfi).collect();
        assert_eq!(qfis, [1, 2, 2, 3, 3]);
        let at_gnb = flows.at_setup(&QOS);
        assert_eq!(at_gnb.len(), 3);
        let rates = at_gnb[2].rates.expect("guaranteed");
        assert_eq!(
            (rates.guaranteed_bps, rates.maximum_bps),
            ((15, 30), (15, 30))
        );
        assert_eq!(flows.asked_at_setup(), 1 << 1 | 1 << 2 | 1 << 3);
        assert_eq!(flows.set_up(u64::MAX, &[1, 2]), 1 << 4 | 1 << 5);
        // It was not asked for the third.
        assert_eq!(flows.set_up(1 << 1 | 1 << 2, &[1, 2]), 0);
    }

    #[test]
    fn a_change_is_told_to_whom_it_concerns() {
        let mut flows = Flows {
            wanted: vec![rule(1, 7), guaranteed(2, 10)],
            ..Flows::default()
        };
        flows.begin(&QOS);
        flows.set_up(u64::MAX, &[1, 2, 3]);
        for rule in &mut flows.rules {
            rule.is_told = true;
        }
        assert!(flows.change(&QOS).is_none());
        // One goes, one comes into a flow that is there, and the AMBR is another.
        flows.wanted = vec![guaranteed(2, 10), guaranteed(3, 1)];
        flows.wanted_ambr = Some((4_000, 1_000));
        let change = flows.change(&QOS).expect("a change");
        assert_eq!(change.added_ids(), 1 << 3);
        let command = change.command().expect("a command");
        let rules: Vec<_> = command
            .rules
            .iter()
            .map(|rule| (rule.id, rule.operation))
            .collect();
        assert_eq!(
            rules,
            [(2, RuleOperation::Delete), (4, RuleOperation::Create)]
        );
        let told: Vec<_> = command
            .flows
            .iter()
            .map(|flow| (flow.qfi, flow.operation))
            .collect();
        assert_eq!(
            told,
            [(3, FlowOperation::Modify), (2, FlowOperation::Delete)]
        );
        let request = change.request().expect("a request");
        assert_eq!(request.ambr_bps, Some((4_000, 1_000)));
        assert_eq!(request.flows.len(), 1);
        assert_eq!(request.released, [2]);
    }

    #[test]
    fn a_flow_that_the_gnb_has_kept_is_released_with_the_next_change() {
        let mut flows = Flows {
            wanted: vec![guaranteed(1, 10)],
            ..Flows::default()
        };
        flows.begin(&QOS);
        flows.set_up(u64::MAX, &[1, 2, 3]);
        assert!(flows.has_leftovers());
        let change = flows.change(&QOS).expect("a change");
        assert_eq!(change.request().expect("a request").released, [3]);
        flows.set_up(u64::MAX, &[1, 2]);
        assert!(!flows.has_leftovers());
        assert!(flows.change(&QOS).is_none());
    }

    type Operations = (Vec<(u8, RuleOperation)>, Vec<(u8, FlowOperation)>);

    fn operations(command: &ModificationCommand) -> Operations {
        let rules = command.rules.iter().map(|rule| (rule.id, rule.operation));
        let flows = command.flows.iter().map(|flow| (flow.qfi, flow.operation));
        (rules.collect(), flows.collect())
    }

    #[test]
    fn what_the_ue_may_have_is_deleted_if_it_is_not_wanted_and_created_anew_if_it_is() {
        let mut flows = Flows {
            wanted: vec![guaranteed(1, 10)],
            ..Flows::default()
        };
        // The command of a new rule, which nobody has answered; the rule is gone at the UPF.
        let first = flows.change(&QOS).and_then(|change| change.command());
        flows.unheard = Unheard::of(&first.expect("a command"));
        flows.wanted.clear();
        let change = flows.change(&QOS).expect("a change");
        let command = change.command().expect("a command");
        let expected = (
            vec![(2, RuleOperation::Delete)],
            vec![(2, FlowOperation::Delete)],
        );
        assert_eq!(operations(&command), expected);
        assert_eq!((change.added.len(), change.removed.len()), (0, 0));
        assert!(change.only_repeats(&command));
        // Another flow of the same numbers takes their place.
        flows.wanted = vec![guaranteed(1, 20)];
        let change = flows.change(&QOS).expect("a change");
        let command = change.command().expect("a command");
        let created = (
            vec![(2, RuleOperation::Create)],
            vec![(2, FlowOperation::Create)],
        );
        assert_eq!(operations(&command), created);
        // One that is there, and whose end the UE may have heard of, is told again as well.
        flows.begin(&QOS);
        flows.rules[0].is_told = true;
        let change = flows.change(&QOS).expect("a change");
        assert_eq!(operations(&change.command().expect("a command")), created);
        flows.unheard = Unheard::default();
        assert!(
            flows
                .change(&QOS)
                .and_then(|change| change.command())
                .is_none()
        );
    }

    #[test]
    fn a_session_ambr_of_which_the_ue_may_have_heard_is_told_again() {
        let mut flows = Flows {
            wanted_ambr: Some((4_000, 1_000)),
            ..Flows::default()
        };
        let first = flows.change(&QOS).and_then(|change| change.command());
        flows.unheard = Unheard::of(&first.expect("a command"));
        // It is to be what it was.
        flows.wanted_ambr = Some(QOS.ambr_bps);
        let change = flows.change(&QOS).expect("a change");
        let told = change.command().and_then(|command| command.ambr);
        assert_eq!(
            told.map(|ambr| (ambr.down_bps, ambr.up_bps)),
            Some(QOS.ambr_bps)
        );
        assert_eq!(
            change.request().and_then(|request| request.ambr_bps),
            Some(QOS.ambr_bps)
        );
    }

    #[test]
    fn a_rule_that_neither_ue_nor_gnb_has_goes_without_a_word() {
        let mut flows = Flows {
            wanted: vec![guaranteed(1, 10)],
            ..Flows::default()
        };
        flows.begin(&QOS);
        flows.set_up(u64::MAX, &[1]);
        flows.wanted.clear();
        let change = flows.change(&QOS).expect("a change");
        assert_eq!((change.command(), change.request()), (None, None));
        assert_eq!(change.removed.len(), 1);
    }
}
