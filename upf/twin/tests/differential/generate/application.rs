//! Applications of PDIs, and messages that tell their flows anew.

use super::Generator;
use crate::spec::*;
use crate::world::*;

impl Generator {
    /// PDRs of a session that say nothing of flows are of an application, often of the same; now and then one with
    /// filters is as well, or one of which nobody knows flows.
    pub(super) fn applications(&mut self, rules: &mut Rules) {
        let common = self.rng.pick(&APPLICATIONS);
        let tells_traffic = rules.urrs.iter().any(|urr| {
            let limits = urr.limits.as_ref();
            limits.is_some_and(|l| l.tells_start || l.times.tells[4])
        });
        let all_are = tells_traffic && !self.rng.one_in(4);
        for pdr in &mut rules.pdrs {
            let says_nothing = pdr.filters.is_empty() && pdr.active.is_empty();
            let is_wrong = self.rng.one_in(60);
            if !all_are && !is_wrong && (!says_nothing || self.rng.one_in(2)) {
                continue;
            }
            if all_are {
                pdr.filters.clear();
                pdr.active.clear();
            }
            pdr.application = Some(match self.rng.below(4) {
                _ if all_are => common,
                0 => self.rng.pick(&APPLICATIONS),
                _ => common,
            });
            if is_wrong && says_nothing {
                pdr.application = Some("gold");
            }
        }
    }

    /// Now and then the application of a PDI that comes later.
    pub(super) fn other_application(&mut self) -> Option<&'static str> {
        let is_any = self.features.applications && self.rng.one_in(3);
        is_any.then(|| match self.rng.below(12) {
            0 => "gold",
            _ => self.rng.pick(&APPLICATIONS),
        })
    }

    /// What a message tells of a few applications; of some that they have no flows, and now and then of none.
    pub(super) fn pfds(&mut self) -> Step {
        let few = self.rng.below(4);
        let told = (0..few).map(|_| {
            let name = self.rng.pick(&APPLICATIONS);
            let flows = (0..self.rng.below(4)).map(|_| {
                let last = if self.rng.one_in(20) { 9 } else { 8 };
                APPLICATION_FLOWS[2 + self.rng.below(last) as usize]
            });
            (name, flows.collect())
        });
        Step::Pfds(told.collect())
    }
}
