//! What is stored for good before anything follows from it: sequence numbers, in a database beside the core. The core
//! goes on with everything else meanwhile.

use std::collections::BTreeMap;

use sluice_sbi::{CommitId, Instant, Nf, Now};
use sluice_security::Sqn;

use crate::{Core, Queued};

/// How long it is waited for what is being stored. What a UE waits for then is longer than it takes a server.
const KEEP_MS: u64 = 2_000;

/// Keys and values that are to be stored for good; no value takes a key away.
pub type Kept = Vec<(Vec<u8>, Option<Vec<u8>>)>;

/// What of it was not stored, by its place: none where the store does not answer, else what somebody else has stored
/// since (a sequence number and its difference to time, as the repository writes them).
pub type NotKept = Vec<(usize, Option<Vec<u8>>)>;

/// What has become of what is to be stored.
#[derive(Debug)]
pub enum Keeping {
    /// It is stored but for this.
    Done(NotKept),
    /// What is at these places is being stored, and [`Core::kept`] tells of it by this number, which none before it
    /// had; all else is done.
    Later(u64, Vec<usize>),
}

/// Begins to store for good what functions have committed, and does not wait for it.
pub type Keeper = Box<dyn FnMut(Kept) -> Keeping>;

/// What is being stored.
struct Waiting {
    until: Instant,
    /// By their places.
    commits: Vec<(usize, CommitId)>,
}

/// Who stores, and what.
#[derive(Default)]
pub(crate) struct Keep {
    keeper: Option<Keeper>,
    to_keep: Kept,
    waiting: BTreeMap<u64, Waiting>,
    late: u64,
}

impl Keep {
    /// It is committed.
    pub fn add(&mut self, key: &[u8], value: Option<&Vec<u8>>) {
        if self.keeper.is_some() {
            self.to_keep.push((key.to_vec(), value.cloned()));
        }
    }

    /// When it is waited for no longer.
    pub fn next_deadline(&self) -> Instant {
        // What began first ends first.
        let first = self.waiting.first_key_value();
        first.map_or(Instant::NEVER, |(_, one)| one.until)
    }
}

impl Core {
    /// Has `keeper` called with what was committed, once for all that happens at a time.
    pub fn keep_with(&mut self, keeper: Keeper) {
        self.keep.keeper = Some(keeper);
    }

    /// What was being stored by this number is, but for this. Nothing happens when it was waited for too long.
    pub fn kept(&mut self, now: Now, number: u64, not_kept: &NotKept) {
        let Some(waiting) = self.keep.waiting.remove(&number) else {
            return;
        };
        for (place, commit) in waiting.commits {
            match not_kept.iter().find(|(at, _)| *at == place) {
                Some((_, instead)) => self.not_stored(commit, instead.as_deref()),
                None => self.queue.push_back((Nf::Udr, Queued::Committed(commit))),
            }
        }
        self.go_on(now);
    }

    /// How often it was waited for too long.
    pub fn kept_late(&self) -> u64 {
        self.keep.late
    }

    /// How much is being stored.
    pub fn keeping(&self) -> usize {
        self.keep.waiting.len()
    }

    /// What was committed is stored, or begins to be.
    pub(crate) fn commit(&mut self, now: Now) {
        let to_keep = std::mem::take(&mut self.keep.to_keep);
        let mut done = std::mem::take(&mut self.commits);
        let keeping = match &mut self.keep.keeper {
            Some(keeper) => keeper(to_keep),
            None => Keeping::Done(NotKept::new()),
        };
        match keeping {
            Keeping::Done(not_kept) => {
                // From the last one on, so that places stay.
                for (at, instead) in not_kept.into_iter().rev() {
                    if done.get(at).is_some_and(|(nf, _)| *nf == Nf::Udr) {
                        self.not_stored(done.remove(at).1, instead.as_deref());
                    }
                }
            }
            Keeping::Later(number, places) => {
                let mut commits = Vec::new();
                for at in places.into_iter().rev() {
                    if done.get(at).is_some_and(|(nf, _)| *nf == Nf::Udr) {
                        commits.push((at, done.remove(at).1));
                    }
                }
                let until = now.instant.plus_ms(KEEP_MS);
                self.keep.waiting.insert(number, Waiting { until, commits });
            }
        }
        self.queue
            .extend(done.into_iter().map(|(nf, id)| (nf, Queued::Committed(id))));
    }

    /// What has taken too long: the number of a core alone is told before it is stored, one that others might use as
    /// well is not told.
    pub(crate) fn keep_no_longer(&mut self, now: Now) {
        while self.keep.next_deadline() <= now.instant
            && let Some((_, waiting)) = self.keep.waiting.pop_first()
        {
            self.keep.late += 1;
            for (_, commit) in waiting.commits {
                match self.udr.shares_sequence_numbers() {
                    true => self.not_stored(commit, None),
                    false => self.queue.push_back((Nf::Udr, Queued::Committed(commit))),
                }
            }
        }
    }

    /// A sequence number that is not stored.
    fn not_stored(&mut self, commit: CommitId, instead: Option<&[u8]>) {
        let read = |octets: &[u8]| {
            let (last, difference) = octets.split_first_chunk::<8>()?;
            let difference = i64::from_be_bytes(difference.try_into().ok()?);
            Some((Sqn::new(u64::from_be_bytes(*last)), difference))
        };
        let mut effects = Vec::new();
        let instead = instead.and_then(read);
        self.udr.not_stored(commit, instead, &mut effects);
        for effect in effects {
            self.carry_out(Nf::Udr, effect);
        }
    }
}
