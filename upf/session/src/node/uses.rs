//! Uses: how many PDRs and sessions of a part have what all parts share: applications, predefined rules, session sets.
//!
//! Each part counts its own. Who takes something away from what is shared asks for the counts; of several parts it
//! would ask for their sums.

use crate::index::hash_index::Seeded;
use crate::limits::{APPLICATIONS, PREDEFINED, SETS_OF_ALL};
use crate::rules::{FilterOrigin, Rules};
use crate::session_sets::SetList;
use sluice_wire::pfcp::value::{MeasurementInformation, ReportingTriggers};
use std::collections::HashMap;

/// The uses of a part's sessions.
#[derive(Debug)]
pub struct Uses {
    /// PDRs by their application.
    pub applications: UseCounts,
    /// PDRs by the predefined rule that they are.
    pub predefined: UseCounts,
    /// Sessions by their sets.
    pub sets: UseCounts,
    /// By the meter of a URR that tells the start or stop of an application's traffic; true if it tells of the
    /// application alone (RADI).
    detected: HashMap<u32, (u16, bool), Seeded>,
}

impl Uses {
    /// None yet.
    pub fn new(hash: Seeded) -> Self {
        Self {
            applications: UseCounts::new(APPLICATIONS),
            predefined: UseCounts::new(PREDEFINED),
            sets: UseCounts::new(SETS_OF_ALL),
            detected: HashMap::with_hasher(hash),
        }
    }

    /// A session has other rules than before, with applications among them.
    pub fn change_applications(&mut self, old: &Rules, new: &Rules) {
        self.applications
            .change(applications(old), applications(new));
        for urr in new.urrs.iter().filter(|urr| tells_traffic(urr.triggers)) {
            match detected(new, urr.id.0) {
                Some(number) => {
                    let is_reduced = urr.information.contains(MeasurementInformation::RADI);
                    self.detected.insert(urr.meter, (number, is_reduced))
                }
                None => self.detected.remove(&urr.meter),
            };
        }
    }

    /// A session has other rules than before, with predefined ones among them.
    pub fn change_predefined(&mut self, old: &Rules, new: &Rules) {
        self.predefined.change(predefined(old), predefined(new));
    }

    /// A session has other sets than before: it leaves and joins.
    pub fn change_sets(&mut self, old: &SetList, new: &SetList) {
        let left = old.iter().filter(|id| !new.contains(id));
        let joined = new.iter().filter(|id| !old.contains(id));
        self.sets.change(left.map(|id| id.0), joined.map(|id| id.0));
    }

    /// The application whose traffic a URR with this meter tells of, and whether of that alone.
    pub fn detected_by(&self, meter: u32) -> Option<(u16, bool)> {
        self.detected.get(&meter).copied()
    }

    /// The meter's URR has gone.
    pub fn forget_meter(&mut self, meter: u32) {
        if !self.detected.is_empty() {
            self.detected.remove(&meter);
        }
    }
}

/// The applications of a session's PDRs, each as often as it is named.
pub fn applications(rules: &Rules) -> impl Iterator<Item = u16> {
    let origins = rules.pdrs.iter().map(|pdr| pdr.filter.origin);
    origins.filter_map(|origin| match origin {
        FilterOrigin::Application(number) => Some(number),
        _ => None,
    })
}

/// The predefined rules that PDRs of a session have active, each as often as one has it.
fn predefined(rules: &Rules) -> impl Iterator<Item = u16> {
    let origins = rules.pdrs.iter().map(|pdr| pdr.filter.origin);
    origins.filter_map(|origin| match origin {
        FilterOrigin::Predefined(number) => Some(number),
        _ => None,
    })
}

/// True if a URR tells that traffic starts or stops.
pub fn tells_traffic(triggers: ReportingTriggers) -> bool {
    triggers.contains(ReportingTriggers::START) || triggers.contains(ReportingTriggers::STOPT)
}

/// The application of a URR's PDRs.
fn detected(rules: &Rules, urr: u32) -> Option<u16> {
    let mut of_urr = rules.pdrs.iter().filter(|pdr| pdr.urrs.contains(urr));
    of_urr.find_map(|pdr| match pdr.filter.origin {
        FilterOrigin::Application(number) => Some(number),
        _ => None,
    })
}

/// Uses by number.
#[derive(Debug)]
pub struct UseCounts(Box<[u32]>);

impl UseCounts {
    /// None yet of so many numbers.
    pub fn new(numbers: usize) -> Self {
        Self(vec![0; numbers].into())
    }

    /// Uses of one number.
    pub fn of(&self, number: u16) -> u32 {
        self.0.get(usize::from(number)).copied().unwrap_or(0)
    }

    /// There are new ones, and others have gone.
    pub fn change(&mut self, gone: impl Iterator<Item = u16>, new: impl Iterator<Item = u16>) {
        for number in new {
            if let Some(count) = self.0.get_mut(usize::from(number)) {
                *count += 1;
            }
        }
        for number in gone {
            if let Some(count) = self.0.get_mut(usize::from(number)) {
                *count = count.saturating_sub(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uses_are_counted_as_often_as_they_come_and_go() {
        let mut counts = UseCounts::new(2);
        counts.change([].into_iter(), [0, 0, 1].into_iter());
        counts.change([0, 1].into_iter(), [1].into_iter());
        assert_eq!([counts.of(0), counts.of(1)], [1, 1]);
        // One that is not there is nobody's, and none is used less than not at all.
        counts.change([1, 1, 2].into_iter(), [2].into_iter());
        assert_eq!([counts.of(0), counts.of(1), counts.of(2)], [1, 0, 0]);
    }
}
