//! Masked flow rules for groups of shards.

use super::{FlowRule, Refusal, Steer, Traffic};
use crate::QueueId;

/// How a rule is replaced: the new one is in force, or about to be, before the old one goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Replace {
    /// The new one has another priority.
    ByPriority,
    /// The new one has the same priority.
    Beside,
}

/// The rules of all groups.
pub(super) struct Rules<R> {
    traffic: Vec<Traffic>,
    bits: u32,
    /// By group: one for each kind of packets that has some in it.
    by_group: Vec<Vec<Made<R>>>,
    /// Or why rules cannot be replaced without a moment in which packets go elsewhere.
    pub replace: Result<Replace, Refusal>,
}

struct Made<R> {
    rule: R,
    of: FlowRule,
}

impl<R> Rules<R> {
    /// Makes rules for `1 << bits` groups; all or none.
    pub fn make<S: Steer<Rule = R>>(
        port: &mut S,
        traffic: &[Traffic],
        bits: u32,
        queues: &[QueueId],
    ) -> Result<Self, Refusal> {
        let mut rules = Self {
            traffic: traffic.to_vec(),
            bits,
            by_group: Vec::new(),
            replace: Ok(Replace::ByPriority),
        };
        for (group, queue) in (0..).zip(queues) {
            let wanted = rules.wanted(group, *queue);
            rules.by_group.push(Vec::new());
            for rule in wanted {
                let made = port.try_rule(&rule).and_then(|()| port.add_rule(&rule));
                match made {
                    Ok(made) => rules.by_group[group as usize].push(Made {
                        rule: made,
                        of: rule,
                    }),
                    Err(refusal) => {
                        rules.remove_all(port);
                        return Err(refusal);
                    }
                }
            }
        }
        rules.replace = rules.how_to_replace(port);
        Ok(rules)
    }

    /// The rules of a group: kinds whose mask has other low bits have no packets in it.
    fn wanted(&self, group: u32, queue: QueueId) -> Vec<FlowRule> {
        let low = (1 << self.bits) - 1;
        let has_some = |t: &&Traffic| (t.value ^ group) & t.mask & low == 0;
        let rule = |t: &Traffic| FlowRule {
            traffic: Traffic {
                value: t.value & t.mask | group,
                mask: t.mask | low,
                ..*t
            },
            queue,
            priority: 0,
        };
        self.traffic.iter().filter(has_some).map(rule).collect()
    }

    /// Tries it with a rule that is there: with the same queue, so that nothing changes.
    fn how_to_replace<S: Steer<Rule = R>>(&mut self, port: &mut S) -> Result<Replace, Refusal> {
        let first = self.by_group.iter_mut().flatten().next();
        let made = first.ok_or_else(|| Refusal("there is no rule".to_owned()))?;
        let queue = made.of.queue;
        replace(port, made, queue, Replace::ByPriority)
            .map(|()| Replace::ByPriority)
            .or_else(|_| replace(port, made, queue, Replace::Beside).map(|()| Replace::Beside))
    }

    /// Sends a group elsewhere. If a rule of it cannot be replaced, those before it are put back.
    pub fn steer<S: Steer<Rule = R>>(
        &mut self,
        port: &mut S,
        group: usize,
        queue: QueueId,
    ) -> Result<(), Refusal> {
        let way = self.replace.clone()?;
        let Some(rules) = self.by_group.get_mut(group) else {
            return Err(Refusal(format!("no group {group}")));
        };
        for at in 0..rules.len() {
            let before = rules[at].of.queue;
            if let Err(refusal) = replace(port, &mut rules[at], queue, way) {
                for rule in &mut rules[..at] {
                    // What was just made can be made again; if not, software hands over.
                    let _ = replace(port, rule, before, way);
                }
                return Err(refusal);
            }
        }
        Ok(())
    }

    /// Takes all rules away, as far as the port lets them go.
    pub fn remove_all<S: Steer<Rule = R>>(&mut self, port: &mut S) {
        for made in self.by_group.drain(..).flatten() {
            // A port that keeps a rule steers by it; packets find their owner all the same.
            let _ = port.remove_rule(made.rule);
        }
    }
}

fn replace<S: Steer>(
    port: &mut S,
    made: &mut Made<S::Rule>,
    queue: QueueId,
    way: Replace,
) -> Result<(), Refusal> {
    let priority = match way {
        Replace::ByPriority => 1 - made.of.priority,
        Replace::Beside => made.of.priority,
    };
    let of = FlowRule {
        queue,
        priority,
        ..made.of
    };
    let new = port.add_rule(&of)?;
    let old = core::mem::replace(made, Made { rule: new, of });
    if let Err((rule, refusal)) = port.remove_rule(old.rule) {
        let new = core::mem::replace(made, Made { rule, of: old.of });
        // Should the port keep both, software hands over what comes to the wrong queue.
        let _ = port.remove_rule(new.rule);
        return Err(refusal);
    }
    Ok(())
}
