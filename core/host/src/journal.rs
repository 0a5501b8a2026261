//! The journal: what functions commit is stored for good before anything follows from it. Everything else goes on
//! meanwhile.

use std::collections::BTreeMap;

use sluice_sbi::{CommitId, Input, Instant, NotStored, Now, Place};

/// Longest wait for what is being stored. What a UE waits for then is longer than it takes a server.
const STORED_MS: u64 = 2_000;

/// A key and the value that is to be stored for good; none takes the key away.
pub type Record = (Vec<u8>, Option<Vec<u8>>);

/// Records that were not stored, by their indexes: none where the store does not answer, else what somebody else has
/// stored since, in the form of the record.
pub type Rejected = Vec<(usize, Option<Vec<u8>>)>;

/// Outcome of what was to be stored.
#[derive(Debug)]
pub enum Storing {
    /// All is stored but for these.
    Done(Rejected),
    /// Records of these indexes are being stored, and [`crate::Host::stored_for_good`] tells of them by this number,
    /// which none before it had; all else is done.
    Later(u64, Vec<usize>),
}

/// Begins to store records for good, and does not wait for it.
pub type JournalWriter = Box<dyn FnMut(Vec<Record>) -> Storing>;

/// A commit of which its function is told.
pub(crate) struct Settled {
    pub to: Place,
    id: CommitId,
    /// None if it is stored.
    why_not: Option<Why>,
}

enum Why {
    Late,
    Rejected(Option<Vec<u8>>),
}

impl Settled {
    pub fn input(&self) -> Input<'_> {
        let id = self.id;
        let why = match &self.why_not {
            None => return Input::Committed(id),
            Some(Why::Late) => NotStored::Late,
            Some(Why::Rejected(None)) => NotStored::Unanswered,
            Some(Why::Rejected(Some(instead))) => NotStored::Instead(instead),
        };
        Input::NotCommitted { id, why }
    }
}

/// Commits that are being stored, by the indexes of their records.
struct Waiting {
    until: Instant,
    commits: Vec<(usize, Place, CommitId)>,
}

/// Commits of functions, and the store that they go to.
#[derive(Default)]
pub(crate) struct Journal {
    writer: Option<JournalWriter>,
    /// One for each commit, if there is a writer.
    records: Vec<Record>,
    commits: Vec<(Place, CommitId)>,
    waiting: BTreeMap<u64, Waiting>,
    late: u64,
}

impl Journal {
    pub fn write_with(&mut self, writer: JournalWriter) {
        self.writer = Some(writer);
    }

    pub fn add(&mut self, from: Place, id: CommitId, key: &[u8], value: Option<&Vec<u8>>) {
        if self.writer.is_some() {
            self.records.push((key.to_vec(), value.cloned()));
        }
        self.commits.push((from, id));
    }

    /// Whether anything was committed that is not being stored.
    pub fn has_commits(&self) -> bool {
        !self.commits.is_empty()
    }

    /// When a wait ends.
    pub fn next_deadline(&self) -> Instant {
        // What began first ends first.
        let first = self.waiting.first_key_value();
        first.map_or(Instant::NEVER, |(_, one)| one.until)
    }

    /// Stores what was committed, or begins to.
    pub fn store(&mut self, now: Now) -> Vec<Settled> {
        let records = std::mem::take(&mut self.records);
        let commits = std::mem::take(&mut self.commits);
        let mut commits: Vec<_> = commits.into_iter().map(Some).collect();
        let storing = match &mut self.writer {
            Some(writer) => writer(records),
            None => Storing::Done(Rejected::new()),
        };
        let mut settled = Vec::new();
        match storing {
            Storing::Done(rejected) => {
                for (at, instead) in rejected {
                    let commit = commits.get_mut(at).and_then(Option::take);
                    let why = |(to, id)| settle(to, id, Some(Why::Rejected(instead)));
                    settled.extend(commit.map(why));
                }
            }
            Storing::Later(number, indexes) => {
                let wait = |at: usize| {
                    let (to, id) = commits.get_mut(at).and_then(Option::take)?;
                    Some((at, to, id))
                };
                let commits = indexes.into_iter().filter_map(wait).collect();
                let until = now.instant.plus_ms(STORED_MS);
                self.waiting.insert(number, Waiting { until, commits });
            }
        }
        let done = commits.into_iter().flatten();
        settled.extend(done.map(|(to, id)| settle(to, id, None)));
        settled
    }

    /// Commits of this number are stored, but for these; none if it was waited for too long.
    pub fn stored(&mut self, number: u64, rejected: &Rejected) -> Vec<Settled> {
        let waiting = self.waiting.remove(&number);
        let commits = waiting.into_iter().flat_map(|one| one.commits);
        let settled = commits.map(|(at, to, id)| {
            let rejected = rejected.iter().find(|(index, _)| *index == at);
            let why_not = rejected.map(|(_, instead)| Why::Rejected(instead.clone()));
            settle(to, id, why_not)
        });
        settled.collect()
    }

    /// Commits that have taken too long.
    pub fn expire(&mut self, now: Now) -> Vec<Settled> {
        let mut late = Vec::new();
        while self.next_deadline() <= now.instant
            && let Some((_, waiting)) = self.waiting.pop_first()
        {
            self.late += 1;
            let commits = waiting.commits.into_iter();
            late.extend(commits.map(|(_, to, id)| settle(to, id, Some(Why::Late))));
        }
        late
    }

    /// How often something was waited for too long.
    pub fn late(&self) -> u64 {
        self.late
    }

    /// How much is being stored.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }
}

fn settle(to: Place, id: CommitId, why_not: Option<Why>) -> Settled {
    Settled { to, id, why_not }
}
