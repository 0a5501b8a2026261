//! Admission of guaranteed bit rates: a budget of each UPF and each data network, as core.yaml has it.

use sluice_sbi::{Message, Nf, PccRule, PolicyTrigger, UpdateSmPolicy};

use crate::context::session::SessionId;
use crate::context::state::{Budget, State};

fn plus((a, b): (u64, u64), (c, d): (u64, u64)) -> (u64, u64) {
    (a.saturating_add(c), b.saturating_add(d))
}

impl State {
    /// The session is to have these rules; those for which there is no room are left out, a bit for each.
    pub fn want(&mut self, id: SessionId, rules: &[PccRule]) -> u16 {
        self.give_back(id);
        let Some(session) = self.sessions.get(id.0) else {
            return 0;
        };
        let place = session.flows.place;
        let (mut wanted, mut refused, mut sum) = (Vec::new(), Vec::new(), (0, 0));
        for rule in rules {
            let with = plus(sum, rule.guaranteed_bps().unwrap_or_default());
            if rule.guaranteed_bps().is_none() || self.has_room(place, with) {
                sum = with;
                wanted.push(*rule);
            } else {
                refused.push(*rule);
            }
        }
        self.take(place, sum);
        if let Some(session) = self.sessions.get_mut(id.0) {
            session.flows.wanted = wanted;
            session.flows.guaranteed_bps = sum;
            session.flows.is_called = false;
            session.flows.failures = 0;
        }
        for rule in &refused {
            let why = "the guaranteed bit rates of the UPF or the data network are taken";
            self.rule_refused(id, rule, why, "raise guaranteed_down and guaranteed_up of upfs or data_networks in core.yaml, or stop flows");
        }
        refused.iter().fold(0, |bits, rule| bits | 1 << rule.id)
    }

    /// Whether there is room for a rule in the place of one that is there.
    pub fn may_change(&self, id: SessionId, before: u8, rule: &PccRule) -> bool {
        let Some(session) = self.sessions.get(id.0) else {
            return false;
        };
        let mut wanted = session.flows.wanted.iter();
        let known = wanted.find(|one| one.id == before);
        let (down, up) = known.and_then(PccRule::guaranteed_bps).unwrap_or_default();
        let (new_down, new_up) = rule.guaranteed_bps().unwrap_or_default();
        let more = (new_down.saturating_sub(down), new_up.saturating_sub(up));
        more == (0, 0) || self.has_room(session.flows.place, more)
    }

    /// Reserves guaranteed bit rates.
    pub fn take(&mut self, place: Option<(usize, usize)>, sum: (u64, u64)) {
        for budget in budgets(place) {
            let taken = self.guaranteed.entry(budget).or_default();
            *taken = plus(*taken, sum);
        }
    }

    /// Nothing is guaranteed to the session any more.
    pub fn give_back(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        let (down, up) = std::mem::take(&mut session.flows.guaranteed_bps);
        for budget in budgets(session.flows.place) {
            if let Some(taken) = self.guaranteed.get_mut(&budget) {
                *taken = (taken.0.saturating_sub(down), taken.1.saturating_sub(up));
            }
        }
    }

    fn has_room(&self, place: Option<(usize, usize)>, more: (u64, u64)) -> bool {
        budgets(place).into_iter().all(|budget| {
            let most = match budget {
                Budget::Upf(upf) => self.config.upfs.get(upf).and_then(|one| one.guaranteed_bps),
                Budget::Network(network) => {
                    let network = self.config.networks.get(network);
                    network.and_then(|one| one.guaranteed_bps)
                }
            };
            let taken = self.guaranteed.get(&budget).copied().unwrap_or_default();
            let (down, up) = plus(taken, more);
            most.is_none_or(|most| down <= most.0 && up <= most.1)
        })
    }

    /// The gNB has these flows of the session of those that it was asked for, a bit for each; what rests on the
    /// rest of those is no more.
    pub fn has_flows(&mut self, id: SessionId, asked: u64, qfis: &[u8]) {
        let session = self.sessions.get_mut(id.0);
        let failed = session.map_or(0, |session| session.flows.set_up(asked, qfis));
        if failed != 0 {
            self.lacks_room(id, failed);
        }
    }

    /// The gNB has not the flows on which these rules rest, a bit for each.
    pub fn lacks_room(&mut self, id: SessionId, rules: u16) {
        self.rules_failed(id, rules, "the gNB has no room for them");
    }

    /// The PCF and operators are told of rules that are not carried out; they are not wanted any more.
    pub fn rules_failed(&mut self, id: SessionId, rules: u16, why: &str) {
        let Some(session) = self.sessions.get(id.0) else {
            return;
        };
        let wanted = session.flows.wanted.clone();
        let is_failed = |rule: &&PccRule| rules & 1 << rule.id != 0;
        for rule in wanted.iter().filter(is_failed) {
            let remedy = "look at sluice ctl flow; ask for less, or for another flow";
            self.rule_refused(id, rule, why, remedy);
        }
        let kept: Vec<_> = wanted
            .into_iter()
            .filter(|rule| !is_failed(&rule))
            .collect();
        self.want(id, &kept);
        self.report_failed(id, rules);
    }

    /// Npcf_SMPolicyControl_Update: rules that are not carried out. The SMF does without them, whatever the
    /// PCF says.
    pub fn report_failed(&mut self, id: SessionId, rules: u16) {
        let session = self.sessions.get(id.0);
        let Some(policy) = session.and_then(|session| session.flows.policy) else {
            return;
        };
        let message = Message::from(UpdateSmPolicy {
            policy: policy.into(),
            trigger: PolicyTrigger::RulesFailed,
            ipv4: [0; 4],
            ipv6_prefix: [0; 8],
            rules: rules.into(),
            requested: PccRule::NONE,
        });
        self.line("SMF", "PCF", "1a", message.name(), id);
        self.call(None, Nf::Pcf, message);
    }

    /// Reports a rule that is not carried out to operators.
    pub fn rule_refused(&mut self, id: SessionId, rule: &PccRule, why: &str, remedy: &'static str) {
        self.counters.rules_refused += 1;
        let refused = ("QoS flow", "no such flow".to_owned());
        let of = format!("flow {} of ", rule.name);
        self.report_refused(id, refused, (why, &of), remedy);
    }
}

fn budgets(place: Option<(usize, usize)>) -> Vec<Budget> {
    let both = place.map(|(upf, network)| [Budget::Upf(upf), Budget::Network(network)]);
    both.into_iter().flatten().collect()
}
