//! GTP-U paths: which tunnel peers are asked for an echo when, and which of them do not answer (TS 29.281,
//! 7.2.1; TS 23.527, 5.2).
//!
//! The machine knows neither frames nor interfaces: it names the peers to ask, takes their answers, and reports changes
//! of paths. All requests of one try have one sequence number.

use core::net::IpAddr;
use sluice_session::hash_index::Seeded;
use std::collections::{BTreeSet, HashMap};

/// Whether a peer answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Health {
    /// Nothing is known yet.
    Unknown,
    /// The peer answers.
    Answers,
    /// The peer has not answered N3 requests.
    Failed {
        /// Since when it counts as failed.
        since_ns: u64,
    },
}

impl Health {
    fn has_failed(self) -> bool {
        matches!(self, Self::Failed { .. })
    }
}

/// How peers are asked.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct EchoConfig {
    /// From one Echo Request to a peer to the next, retransmissions apart, in seconds; 0: none are sent.
    pub interval_s: u32,
    /// T3-RESPONSE: how long an answer may take, in milliseconds.
    pub t3_ms: u32,
    /// N3-REQUESTS: how often a request is sent before the path counts as failed.
    pub n3: u8,
}

/// The two ends of a path.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct PathEnds {
    /// Our address.
    pub local: IpAddr,
    /// The peer's.
    pub remote: IpAddr,
}

/// Changes of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Change {
    /// The peer did not answer N3 requests.
    Failed(PathEnds),
    /// The peer answers again.
    Recovered(PathEnds),
    /// The peer did not answer, no rule leads there any more, and it is not asked again.
    Forgotten(PathEnds),
}

/// An Echo Request to be sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// From and to whom.
    pub ends: PathEnds,
    /// Sequence number of the request.
    pub sequence: u16,
}

/// How a path is, for people.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PathView {
    /// Ends of the path.
    pub ends: PathEnds,
    /// Rules lead there.
    pub is_used: bool,
    /// Whether the peer answers.
    pub health: Health,
    /// How long the last answer took, in nanoseconds.
    pub round_trip_ns: Option<u64>,
}

/// Paths by their health.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathCounts {
    /// Not asked yet, or not answered yet.
    pub unknown: usize,
    /// Their peers answer.
    pub answering: usize,
    /// Their peers do not answer.
    pub failed: usize,
    /// Failures since the start.
    pub failures: u64,
    /// Recoveries since the start.
    pub recoveries: u64,
}

/// A path that failed is asked for so long after its last rule has gone, in nanoseconds: an hour, in which CP
/// functions may move UEs away from it and hear when it is back.
const KEPT_NS: u64 = 3600 * 1_000_000_000;
/// Paths at one time: as many as there may be peers, and as many again that failed and are kept.
const PATHS_MAX: usize = 65_536;
const NS_PER_MS: u64 = 1_000_000;
/// Numbers that stand apart for consecutive paths: 2^64 by the golden ratio.
const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;

/// A request that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct Asked {
    sequence: u16,
    /// How often it was due.
    times: u8,
    /// How often it was sent.
    sent: u8,
    /// When it was due first, and sent last.
    first_ns: u64,
    last_ns: u64,
}

#[derive(Debug)]
struct Path {
    ends: PathEnds,
    /// Peers with these ends: one for each marking of outer headers.
    users: u32,
    health: Health,
    asked: Option<Asked>,
    round_trip_ns: Option<u64>,
    /// When it is looked at next.
    due_ns: u64,
    /// When it is forgotten unless it is used again.
    kept_until_ns: Option<u64>,
}

/// All paths.
#[derive(Debug, Default)]
pub struct Paths {
    config: EchoConfig,
    places: Vec<Option<Path>>,
    free: Vec<u32>,
    numbers: HashMap<PathEnds, u32, Seeded>,
    /// By time.
    due: BTreeSet<(u64, u32)>,
    /// Paths whose last request could not be put on the link.
    unsent: BTreeSet<u32>,
    changes: Vec<Change>,
    sequence: u16,
    failures: u64,
    recoveries: u64,
}

impl Paths {
    /// None yet.
    pub fn new(config: EchoConfig) -> Self {
        Self {
            config,
            ..Self::default()
        }
    }

    /// A rule leads there: it is asked as soon as may be.
    pub fn begin(&mut self, ends: PathEnds) {
        if self.config.interval_s == 0 {
            return;
        }
        if let Some(path) = self.of(ends) {
            path.users += 1;
            path.kept_until_ns = None;
            return;
        }
        let path = Path {
            ends,
            users: 1,
            health: Health::Unknown,
            asked: None,
            round_trip_ns: None,
            due_ns: 0,
            kept_until_ns: None,
        };
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.places.len() < PATHS_MAX => {
                self.places.push(None);
                (self.places.len() - 1) as u32
            }
            None => return,
        };
        self.places[number as usize] = Some(path);
        self.numbers.insert(ends, number);
        self.due.insert((0, number));
    }

    /// No rule leads there any more. A peer that does not answer is asked on, so that its recovery is heard of.
    pub fn end(&mut self, ends: PathEnds) {
        let Some(number) = self.numbers.get(&ends).copied() else {
            return;
        };
        if let Some(Some(path)) = self.places.get_mut(number as usize) {
            path.users = path.users.saturating_sub(1);
            if path.users == 0 && !path.health.has_failed() {
                self.remove(number);
            }
        }
    }

    /// The next Echo Request that is due; it counts as sent.
    pub fn next_echo(&mut self, now_ns: u64) -> Option<Echo> {
        loop {
            let &(due_ns, number) = self.due.first()?;
            if due_ns > now_ns {
                return None;
            }
            if let Some(echo) = self.look_at(number, now_ns) {
                return Some(echo);
            }
        }
    }

    /// A path whose time has come: it is asked, or asked again, or has failed.
    fn look_at(&mut self, number: u32, now_ns: u64) -> Option<Echo> {
        let config = self.config;
        let path = self.places.get_mut(number as usize)?.as_mut()?;
        if path.users == 0 {
            let until_ns = *path.kept_until_ns.get_or_insert(now_ns + KEPT_NS);
            if until_ns <= now_ns {
                self.changes.push(Change::Forgotten(path.ends));
                self.remove(number);
                return None;
            }
        }
        let asked = match path.asked {
            Some(asked) if asked.times >= config.n3 => {
                // One of which a request was sent is not asked again before its interval is over.
                if asked.sent > 0 {
                    self.unsent.remove(&number);
                }
                path.asked = None;
                if !path.health.has_failed() {
                    path.health = Health::Failed { since_ns: now_ns };
                    self.failures += 1;
                    self.changes.push(Change::Failed(path.ends));
                }
                let next_ns = next_ns(config, number, asked.first_ns).max(now_ns + 1);
                self.schedule(number, next_ns);
                return None;
            }
            Some(asked) => Asked {
                times: asked.times + 1,
                sent: asked.sent.saturating_add(1),
                last_ns: now_ns,
                ..asked
            },
            None => {
                self.sequence = self.sequence.wrapping_add(1);
                Asked {
                    sequence: self.sequence,
                    times: 1,
                    sent: 1,
                    first_ns: now_ns,
                    last_ns: now_ns,
                }
            }
        };
        path.asked = Some(asked);
        let ends = path.ends;
        self.unsent.remove(&number);
        self.schedule(number, now_ns + u64::from(config.t3_ms) * NS_PER_MS);
        Some(Echo {
            ends,
            sequence: asked.sequence,
        })
    }

    /// An Echo Request could not be put on the link: its next try tells the round trip. That comes after
    /// T3-RESPONSE, or with [`Self::ask_again`].
    pub fn not_sent(&mut self, echo: Echo) {
        let Some(number) = self.numbers.get(&echo.ends).copied() else {
            return;
        };
        if let Some(path) = self.of(echo.ends)
            && let Some(asked) = &mut path.asked
        {
            asked.sent = asked.sent.saturating_sub(1);
            self.unsent.insert(number);
        }
    }

    /// Paths whose last request could not be put on the link.
    pub fn unsent(&self) -> impl Iterator<Item = PathEnds> {
        let paths = self.unsent.iter();
        paths.filter_map(|number| Some(self.places.get(*number as usize)?.as_ref()?.ends))
    }

    /// The way of a request that could not be put on the link is there: it is due now, in the place of that one.
    pub fn ask_again(&mut self, ends: PathEnds, now_ns: u64) {
        let Some(number) = self.numbers.get(&ends).copied() else {
            return;
        };
        if !self.unsent.remove(&number) {
            return;
        }
        if let Some(path) = self.of(ends)
            && let Some(asked) = &mut path.asked
        {
            asked.times = asked.times.saturating_sub(1);
        }
        self.schedule(number, now_ns);
    }

    /// An Echo Response. False if it answers no request that waits for one.
    pub fn answered(&mut self, ends: PathEnds, sequence: u16, now_ns: u64) -> bool {
        let config = self.config;
        let Some(number) = self.numbers.get(&ends).copied() else {
            return false;
        };
        let Some(Some(path)) = self.places.get_mut(number as usize) else {
            return false;
        };
        let Some(asked) = path.asked.filter(|asked| asked.sequence == sequence) else {
            return false;
        };
        path.asked = None;
        // Of a request that was sent again it is not known which one is answered.
        if asked.sent == 1 {
            path.round_trip_ns = Some(now_ns.saturating_sub(asked.last_ns));
        }
        let had_failed = path.health.has_failed();
        path.health = Health::Answers;
        let is_used = path.users > 0;
        if had_failed {
            self.recoveries += 1;
            self.changes.push(Change::Recovered(ends));
        }
        if is_used {
            self.schedule(number, next_ns(config, number, asked.first_ns));
        } else {
            self.remove(number);
        }
        true
    }

    /// Changes of paths since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        core::mem::take(&mut self.changes)
    }

    /// Something became of a path since the last [`take_changes`](Self::take_changes).
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// All paths, for people.
    pub fn views(&self) -> impl Iterator<Item = PathView> {
        self.places.iter().flatten().map(Path::view)
    }

    /// A path, for people.
    pub fn view(&self, ends: PathEnds) -> Option<PathView> {
        let number = *self.numbers.get(&ends)?;
        let path = self.places.get(number as usize)?.as_ref()?;
        Some(path.view())
    }

    /// How many there are of each kind.
    pub fn counts(&self) -> PathCounts {
        let mut counts = PathCounts {
            failures: self.failures,
            recoveries: self.recoveries,
            ..PathCounts::default()
        };
        for path in self.places.iter().flatten() {
            match path.health {
                Health::Unknown => counts.unknown += 1,
                Health::Answers => counts.answering += 1,
                Health::Failed { .. } => counts.failed += 1,
            }
        }
        counts
    }

    fn of(&mut self, ends: PathEnds) -> Option<&mut Path> {
        let number = *self.numbers.get(&ends)?;
        self.places.get_mut(number as usize)?.as_mut()
    }

    fn schedule(&mut self, number: u32, at_ns: u64) {
        if let Some(Some(path)) = self.places.get_mut(number as usize) {
            self.due.remove(&(path.due_ns, number));
            path.due_ns = at_ns;
            self.due.insert((at_ns, number));
        }
    }

    fn remove(&mut self, number: u32) {
        let place = self.places.get_mut(number as usize);
        if let Some(path) = place.and_then(Option::take) {
            self.due.remove(&(path.due_ns, number));
            self.unsent.remove(&number);
            self.numbers.remove(&path.ends);
            self.free.push(number);
        }
    }
}

impl Path {
    fn view(&self) -> PathView {
        PathView {
            ends: self.ends,
            is_used: self.users > 0,
            health: self.health,
            round_trip_ns: self.round_trip_ns,
        }
    }
}

/// When a path is asked next: never before the interval is over, and up to an eighth of it later, so that paths
/// which began together are spread out.
fn next_ns(config: EchoConfig, number: u32, first_ns: u64) -> u64 {
    let interval_ns = u64::from(config.interval_s) * 1000 * NS_PER_MS;
    let share = u64::from(number).wrapping_mul(SPREAD) >> 32;
    let later_ns = ((u128::from(interval_ns / 8) * u128::from(share)) >> 32) as u64;
    first_ns + interval_ns + later_ns
}

#[cfg(test)]
mod tests;
