//! Choice among the instances of a function that are reached: by priority, then by capacity and load (NFProfile: TS 29.510,
//! 6.1.6.2.2; TS 29.500, 6.3).

use std::collections::{BTreeMap, BTreeSet};

use sluice_sbi::{Instance, Nf, Place};

/// An instance that is reached.
#[derive(Debug)]
struct Reached {
    instance: Instance,
    /// Percent, as its last answer has said.
    load: u8,
    /// Calls that it is behind its share, by weight.
    behind: i64,
}

impl Reached {
    /// Weight among those of a priority. One that is full is tried once in a while, so that its load is heard of.
    fn weight(&self) -> i64 {
        let free = 100_u8.saturating_sub(self.load);
        (i64::from(self.instance.capacity) * i64::from(free)).max(1)
    }
}

/// Instances of functions of other hosts that are reached.
#[derive(Debug, Default)]
pub(crate) struct Choice {
    reached: BTreeMap<Place, Reached>,
    draining: BTreeSet<Place>,
}

impl Choice {
    /// An instance is reached from now on.
    pub fn add(&mut self, nf: Nf, instance: Instance) {
        let reached = Reached {
            instance,
            load: 0,
            behind: 0,
        };
        self.reached
            .insert(Place::from(nf).at(instance.number), reached);
    }

    /// The instance is not reached any more.
    pub fn remove(&mut self, place: Place) {
        self.reached.remove(&place);
    }

    /// An answer came, with so much load in percent.
    pub fn hear(&mut self, place: Place, load: u8) {
        if let Some(reached) = self.reached.get_mut(&place) {
            reached.load = load.min(100);
        }
    }

    /// These are chosen only where there is no other from now on.
    pub fn drain(&mut self, draining: BTreeSet<Place>) {
        self.draining = draining;
    }

    /// Whether there is another instance of the function than this.
    pub fn has_other(&self, place: Place) -> bool {
        self.of(place.nf).any(|other| other != place)
    }

    fn of(&self, nf: Nf) -> impl Iterator<Item = Place> {
        let all = Place::from(nf)..=Place::any(nf);
        self.reached.range(all).map(|(place, _)| *place)
    }

    /// The next instance of a function for a call, but for those that were tried. The instances of a priority take turns
    /// by their weights (smooth weighted round robin).
    pub fn next(&mut self, nf: Nf, tried: &[Place]) -> Option<Place> {
        let mut able: Vec<Place> = self.of(nf).filter(|one| !tried.contains(one)).collect();
        if able.len() > 1 {
            if able.iter().any(|one| !self.draining.contains(one)) {
                able.retain(|one| !self.draining.contains(one));
            }
            let priority = |one: &Place| self.reached.get(one).map(|one| one.instance.priority);
            let least = able.iter().filter_map(priority).min();
            able.retain(|one| priority(one) == least);
        }
        if able.len() < 2 {
            return able.first().copied();
        }
        let mut total = 0;
        let mut best: Option<(i64, Place)> = None;
        for place in able {
            let Some(one) = self.reached.get_mut(&place) else {
                continue;
            };
            let weight = one.weight();
            total += weight;
            one.behind += weight;
            if best.is_none_or(|(behind, _)| behind < one.behind) {
                best = Some((one.behind, place));
            }
        }
        let (_, chosen) = best?;
        if let Some(one) = self.reached.get_mut(&chosen) {
            one.behind -= total;
        }
        Some(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn instance(number: u8, priority: u16, capacity: u16) -> Instance {
        Instance {
            number,
            priority,
            capacity,
        }
    }

    fn udm(number: u8) -> Place {
        Place::from(Nf::Udm).at(number)
    }

    /// Instances of the UDM, and one of another function.
    fn choice(instances: &[Instance]) -> Choice {
        let mut choice = Choice::default();
        for one in instances {
            choice.add(Nf::Udm, *one);
        }
        choice.add(Nf::Ausf, instance(7, 0, 1_000));
        choice
    }

    /// Numbers of the next instances.
    fn numbers(choice: &mut Choice, calls: usize) -> Vec<u8> {
        let next = (0..calls).map(|_| choice.next(Nf::Udm, &[]).expect("one is reached"));
        next.map(Place::instance).collect()
    }

    fn count(numbers: &[u8], number: u8) -> usize {
        numbers.iter().filter(|one| **one == number).count()
    }

    #[test]
    fn instances_of_a_priority_take_turns_by_their_capacities() {
        let mut choice = choice(&[
            instance(0, 0, 300),
            instance(1, 0, 100),
            instance(2, 1, 900),
        ]);
        let taken = numbers(&mut choice, 8);
        assert_eq!(taken, [0, 0, 1, 0, 0, 0, 1, 0]);
        // Of the next priority once the first is gone.
        choice.remove(udm(0));
        choice.remove(udm(1));
        assert_eq!(numbers(&mut choice, 2), [2, 2]);
        choice.remove(udm(2));
        assert_eq!(choice.next(Nf::Udm, &[]), None);
    }

    #[test]
    fn an_instance_with_load_takes_less_and_is_never_forgotten() {
        let mut choice = choice(&[instance(0, 0, 100), instance(1, 0, 100)]);
        choice.hear(udm(1), 50);
        let taken = numbers(&mut choice, 30);
        assert_eq!((count(&taken, 0), count(&taken, 1)), (20, 10));
        choice.hear(udm(1), 255);
        let taken = numbers(&mut choice, 10_001);
        assert_eq!(count(&taken, 1), 1);
        choice.hear(udm(1), 0);
        let taken = numbers(&mut choice, 20_000);
        assert!(count(&taken, 1) >= 9_999);
    }

    #[test]
    fn one_that_drains_or_was_tried_is_chosen_where_there_is_no_other() {
        let mut choice = choice(&[instance(0, 0, 100), instance(1, 0, 100)]);
        choice.drain(BTreeSet::from([udm(0)]));
        assert_eq!(numbers(&mut choice, 3), [1, 1, 1]);
        assert_eq!(choice.next(Nf::Udm, &[udm(1)]), Some(udm(0)));
        assert_eq!(choice.next(Nf::Udm, &[udm(0), udm(1)]), None);
        assert!(choice.has_other(udm(0)));
        choice.remove(udm(1));
        assert!(!choice.has_other(udm(0)));
        assert_eq!(numbers(&mut choice, 2), [0, 0]);
        choice.drain(BTreeSet::new());
        choice.add(Nf::Udm, instance(1, 0, 0));
        assert_eq!(
            count(&numbers(&mut choice, 100), 0),
            100,
            "no capacity, no share"
        );
    }
}
