//! Rules of flows that the UPF may have otherwise than is stored: the process before this one ended between the steps
//! of a modification (TS 23.502, 4.3.3.2). They are removed there, and what is wanted of them begins anew.

use sluice_sbi::PccRule;
use sluice_wire::pfcp::{Cause, MessageType};

use crate::context::flows::{Bound, Flows};
use crate::context::session::QFI;
use crate::procedure::Procedure;
use crate::procedure::modification::answer;
use crate::upf::n4::Answer;

impl Flows {
    /// A change of them may have been under way when the process before this one ended.
    pub fn doubt(&mut self) {
        let (rules, wanted) = (&self.rules, &self.wanted);
        let is_unsure =
            |rule: &&Bound| rule.is_at_upf && !(rule.has_downlink && wanted.contains(&rule.pcc));
        let there = rules.iter().filter(is_unsure).map(|rule| rule.pcc.id);
        let is_missing = |pcc: &&PccRule| rules.iter().all(|rule| rule.pcc.id != pcc.id);
        let asked = wanted.iter().filter(is_missing).map(|pcc| pcc.id);
        self.in_doubt = there.chain(asked).fold(0, |bits, id| bits | 1 << id);
    }

    /// The rules in doubt, as the UPF may have them.
    pub fn doubtful(&self) -> Vec<Bound> {
        let is_doubtful = |id: u8| self.in_doubt & 1 << id != 0;
        let there = self.rules.iter().copied();
        let there: Vec<Bound> = there.filter(|rule| is_doubtful(rule.pcc.id)).collect();
        let is_missing = |pcc: &&PccRule| there.iter().all(|rule| rule.pcc.id != pcc.id);
        let asked = self.wanted.iter().filter(|pcc| is_doubtful(pcc.id));
        let asked = asked.filter(is_missing).map(|pcc| Bound {
            pcc: *pcc,
            qfi: QFI,
            is_told: false,
            is_at_upf: true,
            has_downlink: true,
        });
        let asked: Vec<Bound> = asked.collect();
        there.into_iter().chain(asked).collect()
    }

    /// The UPF has nothing of a rule in doubt. One that is wanted begins anew, also at the gNB and the UE, which may
    /// have it.
    pub fn is_gone_at_upf(&mut self, id: u8) {
        self.in_doubt &= !(1 << id);
        let wanted = &self.wanted;
        let of_it = self.rules.iter_mut().filter(|rule| rule.pcc.id == id);
        for rule in of_it {
            self.at_gnb |= 1 << rule.qfi;
            (rule.is_at_upf, rule.has_downlink) = (false, false);
            rule.is_told &= !wanted.contains(&rule.pcc);
        }
        self.rules.retain(|rule| rule.is_told || rule.is_at_upf);
    }

    /// The UPF has nothing of the session.
    pub fn are_gone_at_upf(&mut self) {
        for rule in self.doubtful() {
            self.is_gone_at_upf(rule.pcc.id);
        }
    }
}

/// Removes what the UPF may have of rules in doubt. False if it has not said that all of it is gone.
pub(crate) async fn clear(p: &Procedure) -> bool {
    let doubtful = p.with_session(|session| session.flows.doubtful());
    for rule in doubtful.unwrap_or_default() {
        if !is_removed(p, rule).await {
            return false;
        }
        p.with_session(|session| session.flows.is_gone_at_upf(rule.pcc.id));
    }
    true
}

/// A UPF has the rule as a whole, its part of the uplink, or nothing of it: what it has not it refuses to remove.
async fn is_removed(p: &Procedure, rule: Bound) -> bool {
    const MODIFY: MessageType = MessageType::SESSION_MODIFICATION_REQUEST;
    for has_downlink in [true, false] {
        let one = [Bound {
            has_downlink,
            ..rule
        }];
        match answer(p, "", MODIFY, |rules, w| rules.remove(w, &one)).await {
            Answer::Done => return true,
            Answer::Refused(cause) if !is_passing(cause) => {}
            _ => return false,
        }
    }
    true
}

/// Whether a UPF may serve later what it refuses for this cause (TS 29.244, 8.2.1).
fn is_passing(cause: Cause) -> bool {
    let passing = [
        Cause::NO_RESOURCES_AVAILABLE,
        Cause::PFCP_ENTITY_IN_CONGESTION,
        Cause::SYSTEM_FAILURE,
        Cause::SESSION_CONTEXT_NOT_FOUND,
    ];
    passing.contains(&cause)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_sbi::{Filter, FlowDirection, RuleName};

    fn rule(id: u8) -> PccRule {
        let name = RuleName::new(&format!("r{id}")).expect("a name");
        let all = Filter::all(FlowDirection::Both);
        let rule = PccRule::new(name, id, 7, &[all]).expect("room");
        PccRule { id, ..rule }
    }

    fn bound(id: u8, [is_told, is_at_upf, has_downlink]: [bool; 3]) -> Bound {
        Bound {
            pcc: rule(id),
            qfi: id + 1,
            is_told,
            is_at_upf,
            has_downlink,
        }
    }

    fn ids(flows: &Flows) -> Vec<u8> {
        flows.rules.iter().map(|rule| rule.pcc.id).collect()
    }

    #[test]
    fn rules_that_come_or_go_are_in_doubt_and_those_that_stay_are_not() {
        let mut flows = Flows {
            rules: vec![
                bound(1, [true, true, true]),
                bound(2, [true, true, true]),
                bound(3, [false, true, false]),
                bound(4, [true, false, false]),
            ],
            wanted: vec![rule(1), rule(3), rule(5)],
            ..Flows::default()
        };
        flows.doubt();
        assert_eq!(flows.in_doubt, 1 << 2 | 1 << 3 | 1 << 5);
        let doubtful: Vec<u8> = flows.doubtful().iter().map(|rule| rule.pcc.id).collect();
        assert_eq!(doubtful, [2, 3, 5]);
        flows.are_gone_at_upf();
        // The second is to be taken from the UE as well, and the third begins anew.
        assert_eq!((flows.in_doubt, ids(&flows)), (0, vec![1, 2, 4]));
        assert!(flows.rules[0].is_at_upf && !flows.rules[1].is_at_upf);
        let is_at_gnb = |qfi: u8| flows.at_gnb & 1 << qfi != 0;
        assert!(is_at_gnb(3) && is_at_gnb(4) && !is_at_gnb(2));
    }
}
