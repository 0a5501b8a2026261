//! Directory: instances of functions as the NRF knows them, and which of them are reached.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use sluice_bus::Event;
use sluice_sbi::{INSTANCES, Instance, Nf, Place};
use sluice_services::directory::{Found, FoundInstance};

use crate::scp::Scp;

/// Time between two looks at a server that was not reached, and between the first two questions while nobody is found.
const AGAIN: Duration = Duration::from_millis(100);

/// Longest time between two questions while nobody is found; it doubles up to that.
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// Longest time between two questions: whoever came or went meanwhile is noticed then, whatever the NRF's validity is.
const LONGEST: Duration = Duration::from_secs(10);

/// Time after which a subscription to news is made anew; those of before end.
const RENEW_AFTER: Duration = Duration::from_secs(3_600);

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
    /// Something has become of them since it was asked.
    has_news: bool,
    /// Time until then, while nobody is found.
    pause: Duration,
    /// Whether the NRF tells who comes and goes.
    news: News,
}

/// Subscription to what becomes of the instances of a kind (Nnrf_NFManagement, TS 29.510, 5.2.2.5).
#[derive(Clone, PartialEq, Eq, Debug)]
enum News {
    /// The NRF is asked for one from then on.
    Due(Instant),
    /// The NRF has been asked.
    Asked,
    /// The NRF has one, at this URI if it told one.
    Subscribed { until: Instant, uri: Option<String> },
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
    /// SCP that all requests go to but those for the NRF; functions are reached as it is.
    scp: Option<Scp>,
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
                has_news: false,
                pause: AGAIN,
                news: News::Due(now),
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
            scp: None,
        }
    }

    /// The same by an SCP. One that discovers stands for an instance of each function, and the NRF is not asked for them.
    pub fn through(mut self, scp: Scp, now: Instant) -> Self {
        self.down.insert(scp.root.clone(), Some(now));
        if scp.discovers {
            for known in self.by_nf.values_mut() {
                (known.is_asked, known.has_come, known.news) = (true, true, News::Asked);
                known.instances = vec![Seen {
                    number: 0,
                    found: FoundInstance {
                        id: String::new(),
                        priority: 0,
                        capacity: 100,
                        load: 0,
                        roots: BTreeMap::from([(String::new(), scp.root.clone())]),
                    },
                    is_missing: false,
                }];
            }
        }
        self.scp = Some(scp);
        self
    }

    /// SCP, if there is one.
    pub fn scp(&self) -> Option<&Scp> {
        self.scp.as_ref()
    }

    /// Server to which a request for an API root goes.
    fn server<'a>(&'a self, root: &'a str) -> &'a str {
        match &self.scp {
            Some(scp) if root != self.nrf => &scp.root,
            _ => root,
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
        let is_up = !self.down.contains_key(self.server(root));
        is_up.then(|| root.to_owned())
    }

    /// Whether another instance of the function is reached.
    pub fn has_other(&self, place: Place) -> bool {
        let known = self.by_nf.get(&place.nf);
        let mut others = known.into_iter().flat_map(|known| &known.instances);
        others.any(|one| one.number != place.instance() && self.is_reached(&one.found))
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
            known.has_news = false;
            (*nf, known.consumer)
        });
        taken.collect()
    }

    /// Kinds of functions of which the NRF is to tell news, each with the one that asks and the URI of the subscription of
    /// before; they count as asked.
    pub fn take_subscriptions(&mut self, now: Instant) -> Vec<(Nf, Nf, Option<String>)> {
        if self.down.contains_key(&self.nrf) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for (nf, known) in &mut self.by_nf {
            let old = match &mut known.news {
                News::Due(at) if *at <= now => None,
                News::Subscribed { until, uri } if *until <= now => uri.take(),
                _ => continue,
            };
            known.news = News::Asked;
            taken.push((*nf, known.consumer, old));
        }
        taken
    }

    /// The NRF tells news from now on, or does not: it is asked again later.
    pub fn subscribed(&mut self, nf: Nf, uri: Option<Option<String>>, now: Instant) {
        let Some(known) = self.by_nf.get_mut(&nf) else {
            return;
        };
        known.news = match uri {
            Some(uri) => News::Subscribed {
                until: now + RENEW_AFTER,
                uri,
            },
            None => News::Due(now + LONGEST),
        };
    }

    /// Something has become of an instance of this kind: the NRF is asked what.
    pub fn has_news(&mut self, nf: Nf, now: Instant) {
        if let Some(known) = self.by_nf.get_mut(&nf) {
            known.due = now;
            known.has_news = true;
            known.pause = AGAIN;
        }
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
        let news = self.by_nf.values().filter(|_| is_up);
        let news = news.filter_map(|one| match &one.news {
            News::Due(at) | News::Subscribed { until: at, .. } => Some(*at),
            News::Asked => None,
        });
        let looks = self.down.values().copied().flatten();
        questions.chain(news).chain(looks).min()
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
            known.due = now + known.wait_longer();
            return Vec::new();
        };
        let validity = Duration::from_secs(found.validity_s.into());
        known.due = match found.instances.is_empty() {
            true => now + known.wait_longer(),
            false => {
                known.pause = AGAIN;
                now + validity.clamp(AGAIN, LONGEST)
            }
        };
        if known.has_news {
            known.due = now;
        }
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
            if !is_known && is_reached(&self.down, self.scp.as_ref(), &one) {
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

    /// A server was not reached: so are instances that have no other one.
    pub fn lose(&mut self, root: &str, why: &'static str, now: Instant) -> Vec<Event> {
        let is_known = self
            .down
            .insert(root.to_owned(), Some(now + AGAIN))
            .is_some();
        if is_known {
            return Vec::new();
        }
        let mut events = Vec::new();
        if root == self.nrf && self.has_nrf {
            events.push(lost(Nf::Nrf, 0, why));
        }
        let its = self
            .at(root)
            .filter(|(_, one)| !self.is_reached(&one.found));
        events.extend(its.map(|(nf, one)| lost(nf, one.number, why)));
        events
    }

    /// A server has answered: instances that it has are reached.
    pub fn reach(&mut self, root: &str, now: Instant) -> Vec<Event> {
        if !self.down.contains_key(root) {
            return Vec::new();
        }
        let its = self
            .at(root)
            .filter(|(_, one)| !self.is_reached(&one.found));
        let mut events: Vec<Event> = its
            .map(|(nf, one)| up(nf, one.number, &one.found))
            .collect();
        self.down.remove(root);
        if root == self.nrf {
            // One that was started again knows no subscriptions.
            let discovers = self.scp.as_ref().is_some_and(|scp| scp.discovers);
            for known in self.by_nf.values_mut().filter(|_| !discovers) {
                known.news = News::Due(now);
            }
            if self.has_nrf {
                events.push(Event::Up {
                    functions: vec![Nf::Nrf],
                    instance: Instance::default(),
                });
            }
        }
        events
    }

    /// Instances that a server has.
    fn at(&self, root: &str) -> impl Iterator<Item = (Nf, &Seen)> {
        let all = self.by_nf.iter();
        let all = all.flat_map(|(nf, known)| known.instances.iter().map(|one| (*nf, one)));
        all.filter(move |(_, one)| one.found.roots.values().any(|its| self.server(its) == root))
    }

    fn is_reached(&self, one: &FoundInstance) -> bool {
        is_reached(&self.down, self.scp.as_ref(), one)
    }

    /// Forgets looks at servers that no instance has any more.
    pub fn tidy(&mut self) {
        let known = self.by_nf.values().flat_map(|one| &one.instances);
        let roots: BTreeSet<&String> = known.flat_map(|one| one.found.roots.values()).collect();
        let scp = self.scp.as_ref().map(|scp| &scp.root);
        self.down
            .retain(|root, _| *root == self.nrf || Some(root) == scp || roots.contains(root));
    }
}

impl Known {
    /// Time until the next question while nobody is found.
    fn wait_longer(&mut self) -> Duration {
        let pause = self.pause;
        self.pause = (2 * pause).min(LONGEST_PAUSE);
        pause
    }
}

/// Whether a server of an instance is reached, or the SCP that requests for it go to.
fn is_reached(
    down: &BTreeMap<String, Option<Instant>>,
    scp: Option<&Scp>,
    one: &FoundInstance,
) -> bool {
    match scp {
        Some(scp) => !down.contains_key(&scp.root),
        None => one.roots.values().any(|root| !down.contains_key(root)),
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
mod tests;
