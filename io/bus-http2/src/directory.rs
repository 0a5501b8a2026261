//! Directory: instances of functions as the NRF knows them, and which of them are reached.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use sluice_bus::Event;
use sluice_sbi::{INSTANCES, Instance, Nf, Place};
use sluice_services::directory::{Found, FoundInstance};

/// Time between two questions while nobody is found, and between two looks at a server that was not reached.
const AGAIN: Duration = Duration::from_millis(100);

/// Longest time between two questions: whoever came or went meanwhile is noticed then, whatever the NRF's validity is.
const LONGEST: Duration = Duration::from_secs(10);

/// How long a function may take to come after the start: what it is asked meanwhile waits.
const BEGINS_WITHIN: Duration = Duration::from_secs(10);

/// State of what is known of a kind of function.
struct Known {
    /// Function that asks it, and whose type the NRF hears.
    consumer: Nf,
    instances: Vec<Seen>,
    /// Some instance was known, since the start.
    has_come: bool,
    /// When the NRF is asked next.
    due: Instant,
    is_asked: bool,
}

/// An instance.
struct Seen {
    number: u8,
    found: FoundInstance,
    /// The NRF's last answer did not have it: an NRF that was started again hears of all a moment later.
    is_missing: bool,
}

/// Instances of the functions that a host reaches by HTTP.
pub struct Directory {
    begun: Instant,
    nrf: String,
    has_nrf: bool,
    by_nf: BTreeMap<Nf, Known>,
    /// Places of instances of the core, by their identities: what operators name them by.
    own: BTreeMap<String, Place>,
    /// API roots that were not reached, and when they are looked at again; none while one is being looked at.
    down: BTreeMap<String, Option<Instant>>,
}

impl Directory {
    /// Of these functions, each with one that asks it; the NRF at this API root knows them.
    pub fn new(nrf: &str, functions: &BTreeMap<Nf, Nf>, now: Instant) -> Self {
        let known = |(nf, consumer): (&Nf, &Nf)| {
            let known = Known {
                consumer: *consumer,
                instances: Vec::new(),
                has_come: false,
                due: now,
                is_asked: false,
            };
            (*nf, known)
        };
        let others = functions.iter().filter(|(nf, _)| **nf != Nf::Nrf);
        Self {
            begun: now,
            nrf: nrf.to_owned(),
            has_nrf: functions.contains_key(&Nf::Nrf),
            by_nf: others.map(known).collect(),
            own: BTreeMap::new(),
            // Nobody has seen it yet.
            down: BTreeMap::from([(nrf.to_owned(), Some(now))]),
        }
    }

    /// Instances of the core have these places.
    pub fn set_own(&mut self, own: BTreeMap<String, Place>) {
        self.own = own;
    }

    /// API root of the NRF.
    pub fn nrf(&self) -> &str {
        &self.nrf
    }

    /// API root of a service of an instance; none if the instance is not known, or not reached.
    pub fn root(&self, place: Place, service: &str) -> Option<String> {
        let root = match place.nf {
            Nf::Nrf => self.nrf.as_str(),
            nf => {
                let mut instances = self.by_nf.get(&nf)?.instances.iter();
                let seen = instances.find(|one| one.number == place.instance())?;
                seen.found.root(service)?
            }
        };
        (!self.down.contains_key(root)).then(|| root.to_owned())
    }

    /// Function that asks for instances of a kind.
    pub fn consumer(&self, nf: Nf) -> Option<Nf> {
        self.by_nf.get(&nf).map(|known| known.consumer)
    }

    /// Whether a function has not come yet, and may do so.
    pub fn may_come(&self, nf: Nf, now: Instant) -> bool {
        let known = self.by_nf.get(&nf);
        now < self.begun + BEGINS_WITHIN && known.is_some_and(|known| !known.has_come)
    }

    /// Functions that are looked for.
    pub fn functions(&self) -> impl Iterator<Item = Nf> {
        let nrf = self.has_nrf.then_some(Nf::Nrf);
        self.by_nf.keys().copied().chain(nrf)
    }

    /// Kinds of functions of which the NRF is to be asked now, each with the one that asks; they count as asked.
    pub fn take_due(&mut self, now: Instant) -> Vec<(Nf, Nf)> {
        if self.down.contains_key(&self.nrf) {
            return Vec::new();
        }
        let due = self.by_nf.iter_mut();
        let due = due.filter(|(_, known)| !known.is_asked && known.due <= now);
        let taken = due.map(|(nf, known)| {
            known.is_asked = true;
            (*nf, known.consumer)
        });
        taken.collect()
    }

    /// API roots that are to be looked at now; they count as being looked at.
    pub fn take_probes(&mut self, now: Instant) -> Vec<String> {
        let due = self.down.iter_mut();
        let due = due.filter(|(_, at)| at.is_some_and(|at| at <= now));
        let taken = due.map(|(root, at)| {
            *at = None;
            root.clone()
        });
        taken.collect()
    }

    /// When the next question or look is due.
    pub fn next_due(&self) -> Option<Instant> {
        let is_up = !self.down.contains_key(&self.nrf);
        let questions = self.by_nf.values().filter(|one| is_up && !one.is_asked);
        let questions = questions.map(|one| one.due);
        questions.chain(self.down.values().copied().flatten()).min()
    }

    /// The NRF has answered, or has not.
    pub fn heard(&mut self, nf: Nf, found: Option<Found>, now: Instant) -> Vec<Event> {
        let own = &self.own;
        let Some(known) = self.by_nf.get_mut(&nf) else {
            return Vec::new();
        };
        known.is_asked = false;
        let Some(found) = found else {
            // What was known before goes on: an NRF that is gone is no reason to stop.
            known.due = now + AGAIN;
            return Vec::new();
        };
        let validity = Duration::from_secs(found.validity_s.into());
        known.due = match found.instances.is_empty() {
            true => now + AGAIN,
            false => now + validity.clamp(AGAIN, LONGEST),
        };
        let mut events = Vec::new();
        let before = std::mem::take(&mut known.instances);
        let mut free = free_numbers(nf, own, &before);
        for one in found.instances {
            let same = before.iter().find(|seen| seen.found.id == one.id);
            let number = own.get(&one.id).map(|place| place.instance());
            let number = number.or(same.map(|seen| seen.number));
            let Some(number) = number.or_else(|| free.pop()) else {
                continue;
            };
            // Loads change all the time, and come with answers.
            let is_same = |seen: &Seen| {
                let found = &seen.found;
                seen.number == number
                    && (found.priority, found.capacity) == (one.priority, one.capacity)
                    && found.roots == one.roots
            };
            let is_known = same.is_some_and(is_same);
            let is_up = one
                .any_root()
                .is_some_and(|root| !self.down.contains_key(root));
            if !is_known && is_up {
                events.push(up(nf, number, &one));
            }
            known.has_come = true;
            known.instances.push(Seen {
                number,
                found: one,
                is_missing: false,
            });
        }
        let is_there =
            |all: &[Seen], one: &Seen| all.iter().any(|other| other.number == one.number);
        let mut gone = Vec::new();
        for one in before {
            if is_there(&known.instances, &one) {
                continue;
            }
            if one.is_missing {
                gone.push(lost(nf, one.number, "the NRF knows it no more"));
            } else {
                let is_missing = true;
                known.instances.push(Seen { is_missing, ..one });
            }
        }
        events.splice(..0, gone);
        events
    }

    /// A server was not reached: so are its functions.
    pub fn lose(&mut self, root: &str, why: &'static str, now: Instant) -> Vec<Event> {
        let is_known = self.down.contains_key(root);
        self.down.insert(root.to_owned(), Some(now + AGAIN));
        let places = match is_known {
            true => Vec::new(),
            false => self.places(root),
        };
        let lost = |place: Place| lost(place.nf, place.instance(), why);
        places.into_iter().map(lost).collect()
    }

    /// A server has answered: its functions are reached.
    pub fn reach(&mut self, root: &str) -> Vec<Event> {
        if self.down.remove(root).is_none() {
            return Vec::new();
        }
        let mut events = Vec::new();
        if root == self.nrf && self.has_nrf {
            events.push(Event::Up {
                functions: vec![Nf::Nrf],
                instance: Instance::default(),
            });
        }
        for (nf, known) in &self.by_nf {
            let its = known
                .instances
                .iter()
                .filter(|one| one.found.any_root() == Some(root));
            events.extend(its.map(|one| up(*nf, one.number, &one.found)));
        }
        events
    }

    /// Forgets looks at servers that no instance has any more.
    pub fn tidy(&mut self) {
        let known = self.by_nf.values().flat_map(|one| &one.instances);
        let roots: BTreeSet<&str> = known.filter_map(|one| one.found.any_root()).collect();
        self.down
            .retain(|root, _| *root == self.nrf || roots.contains(root.as_str()));
    }

    /// Places of the functions of a server.
    fn places(&self, root: &str) -> Vec<Place> {
        let mut places = Vec::new();
        if root == self.nrf && self.has_nrf {
            places.push(Place::from(Nf::Nrf));
        }
        for (nf, known) in &self.by_nf {
            let its = known
                .instances
                .iter()
                .filter(|one| one.found.any_root() == Some(root));
            places.extend(its.map(|one| Place::from(*nf).at(one.number)));
        }
        places
    }
}

/// Numbers that no instance has, the lowest last.
fn free_numbers(nf: Nf, own: &BTreeMap<String, Place>, before: &[Seen]) -> Vec<u8> {
    let of_own = own.values().filter(|place| place.nf == nf);
    let mut used: BTreeSet<u8> = of_own.map(|place| place.instance()).collect();
    used.extend(before.iter().map(|seen| seen.number));
    (0..INSTANCES)
        .rev()
        .filter(|number| !used.contains(number))
        .collect()
}

fn up(nf: Nf, number: u8, found: &FoundInstance) -> Event {
    Event::Up {
        functions: vec![nf],
        instance: Instance {
            number,
            priority: found.priority,
            capacity: found.capacity,
        },
    }
}

fn lost(nf: Nf, number: u8, why: &'static str) -> Event {
    Event::Lost {
        functions: vec![nf],
        number,
        why,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NRF: &str = "http://127.0.0.10:8000";
    const UDM: &str = "http://127.0.0.3:8000";

    fn wanted() -> BTreeMap<Nf, Nf> {
        BTreeMap::from([(Nf::Nrf, Nf::Ausf), (Nf::Udm, Nf::Ausf)])
    }

    fn instance(id: &str, root: &str) -> FoundInstance {
        FoundInstance {
            id: id.to_owned(),
            priority: 1,
            capacity: 50,
            load: 0,
            roots: BTreeMap::from([("nudm-sdm".to_owned(), root.to_owned())]),
        }
    }

    fn found(instances: &[FoundInstance]) -> Option<Found> {
        let instances = instances.to_vec();
        Some(Found {
            instances,
            validity_s: 60,
        })
    }

    fn texts(events: &[Event]) -> Vec<String> {
        let text = |event: &Event| match event {
            Event::Up {
                functions,
                instance,
            } => format!("{:?} {} up", functions, instance.number),
            Event::Lost {
                functions, number, ..
            } => format!("{functions:?} {number} lost"),
            other => format!("{other:?}"),
        };
        events.iter().map(text).collect()
    }

    #[test]
    fn the_nrf_is_looked_for_then_asked() {
        let now = Instant::now();
        let mut directory = Directory::new(NRF, &wanted(), now);
        assert!(directory.take_due(now).is_empty());
        assert_eq!(directory.take_probes(now), [NRF]);
        // The look is under way.
        assert!(directory.take_probes(now).is_empty());
        assert_eq!(directory.next_due(), None);
        directory.lose(NRF, "refused", now);
        assert_eq!(directory.next_due(), Some(now + AGAIN));
        assert_eq!(directory.take_probes(now + AGAIN), [NRF]);
        assert_eq!(texts(&directory.reach(NRF)), ["[Nrf] 0 up"]);
        assert!(directory.may_come(Nf::Udm, now) && !directory.may_come(Nf::Udr, now));
        assert!(!directory.may_come(Nf::Udm, now + BEGINS_WITHIN));
        assert_eq!(directory.take_due(now), [(Nf::Udm, Nf::Ausf)]);
        assert!(directory.take_due(now).is_empty());
        assert!(directory.heard(Nf::Udm, found(&[]), now).is_empty());
        assert_eq!(directory.next_due(), Some(now + AGAIN));
        assert_eq!(
            directory.root(Nf::Nrf.into(), "nnrf-disc").as_deref(),
            Some(NRF)
        );
    }

    #[test]
    fn instances_of_the_core_have_their_places_and_others_free_ones() {
        let now = Instant::now();
        let mut directory = Directory::new(NRF, &wanted(), now);
        directory.reach(NRF);
        let one = Place::from(Nf::Udm).at(1);
        directory.set_own(BTreeMap::from([("own".to_owned(), one)]));
        let (own, other) = (
            instance("own", UDM),
            instance("other", "http://127.0.0.4:1"),
        );
        let events = directory.heard(Nf::Udm, found(&[own.clone(), other.clone()]), now);
        assert_eq!(texts(&events), ["[Udm] 1 up", "[Udm] 0 up"]);
        assert_eq!(directory.root(one, "nudm-sdm").as_deref(), Some(UDM));
        assert_eq!(directory.root(one.at(2), "nudm-sdm"), None);
        assert!(!directory.may_come(Nf::Udm, now));
        // The same again is nothing new, one that is gone is lost.
        assert!(
            directory
                .heard(Nf::Udm, found(&[own.clone(), other]), now)
                .is_empty()
        );
        // An NRF that was started again may know less for a while.
        let again = directory.heard(Nf::Udm, found(std::slice::from_ref(&own)), now);
        assert!(again.is_empty());
        let events = directory.heard(Nf::Udm, found(&[own]), now);
        assert_eq!(texts(&events), ["[Udm] 0 lost"]);
        // An NRF without an answer changes nothing.
        assert!(directory.heard(Nf::Udm, None, now).is_empty());
        assert_eq!(directory.root(one, "nudm-sdm").as_deref(), Some(UDM));
    }

    #[test]
    fn a_server_that_is_not_reached_is_looked_at_again() {
        let now = Instant::now();
        let mut directory = Directory::new(NRF, &wanted(), now);
        directory.reach(NRF);
        directory.heard(Nf::Udm, found(&[instance("a", UDM)]), now);
        assert_eq!(texts(&directory.lose(UDM, "gone", now)), ["[Udm] 0 lost"]);
        assert!(directory.lose(UDM, "gone", now).is_empty());
        assert_eq!(directory.root(Nf::Udm.into(), "nudm-sdm"), None);
        // The NRF still has it: that does not make it reached.
        assert!(
            directory
                .heard(Nf::Udm, found(&[instance("a", UDM)]), now)
                .is_empty()
        );
        assert_eq!(directory.take_probes(now + AGAIN), [UDM]);
        assert_eq!(texts(&directory.reach(UDM)), ["[Udm] 0 up"]);
        // Nobody looks at one that no instance has.
        directory.lose(UDM, "gone", now);
        directory.heard(Nf::Udm, found(&[]), now);
        directory.heard(Nf::Udm, found(&[]), now);
        directory.tidy();
        assert!(directory.take_probes(now + AGAIN).is_empty());
    }
}
