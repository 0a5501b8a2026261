//! The database of subscribers beside the loop: a thread works on it, so that an import of many holds up no
//! UE, and the loop takes over what has changed, also by others at a server's database.

use crate::config::Database;
use crate::needs::{StartError, problem};
use serde_json::{Value, json};
use sluice_core_runtime::system;
use sluice_ids::Supi;
use sluice_program::exit::Exit;
use sluice_security::Sqn;
use sluice_security::suci::HomeKey;
use sluice_subscribers::operation::Changed;
use sluice_subscribers::store::{Claim, sqn_of_commit};
use sluice_subscribers::{Access, Error, Operation, Record, SqnState, Store, StoreKey};
use sluice_udr::Provision;
use sluice_wiring::{JournalWriter, Record as JournalRecord, Rejected, Storing};
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Sequence numbers that are stored at a time, in one transaction: more take longer than a UE should wait.
const KEPT_TOGETHER: usize = 256;

/// How often a server is asked what others have changed.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// How often one that was lost is looked for.
const SEEK_EVERY: Duration = Duration::from_secs(1);

/// A database that was opened, and its key.
pub(crate) struct Opened {
    store: Store,
    key: StoreKey,
    /// Whether it is a server's, which others use as well.
    is_shared: bool,
    is_lost: Arc<AtomicBool>,
}

/// A sequence number that is to be stored.
struct ToKeep {
    /// Its place among what was committed.
    at: usize,
    supi: Supi,
    state: SqnState,
    /// The last one before it, where several cores use the database.
    before: Option<Sqn>,
}

/// What the thread is to do.
enum Job<W> {
    Operate(Box<Operation>, W),
    /// By the number that the core is told it by.
    Keep(u64, Vec<ToKeep>),
    End,
}

/// What an operation has done, for the core to take over, and who waits for the answer: nobody for what others did.
pub(crate) struct Outcome<W> {
    pub answer: Option<(W, Value)>,
    pub taken: Taken,
    /// Sequence numbers were stored, by this number, but for these.
    pub stored: Vec<(u64, Rejected)>,
}

/// What is otherwise than before.
#[derive(Default)]
pub(crate) struct Taken {
    /// Subscribers as they are now; none is gone.
    pub subscribers: Vec<(Supi, Option<Record>)>,
    /// These are all that the database has.
    pub all: bool,
    pub home_keys: Option<BTreeMap<u8, HomeKey>>,
}

/// The thread's other end; `W` is who waits for the answer to an operation.
pub(crate) struct Subscribers<W> {
    jobs: Sender<Job<W>>,
    outcomes: Receiver<Outcome<W>>,
    thread: JoinHandle<()>,
    is_lost: Arc<AtomicBool>,
}

/// Opens the database of a configuration; nobody else may change that of a file from now on.
pub(crate) fn open(database: &Database) -> Result<Opened, StartError> {
    let key = key_of(database)?;
    let store = Store::open_at(&database.location.value, &key, Access::Serve);
    let store = store.map_err(|e| lacking(database, database.place_key(), &e))?;
    Ok(Opened {
        store,
        key,
        is_shared: database.location.value.is_shared(),
        is_lost: Arc::default(),
    })
}

/// Whether it could be opened; one that a core serves now, or that this release would bring up to date,
/// is none to complain about.
pub(crate) fn check(database: &Database) -> Option<StartError> {
    let key = match key_of(database) {
        Ok(key) => key,
        Err(lack) => return Some(lack),
    };
    match Store::open_at(&database.location.value, &key, Access::Read) {
        Ok(_) | Err(Error::Busy(_) | Error::Older(..)) => None,
        Err(error) => Some(lacking(database, database.place_key(), &error)),
    }
}

fn key_of(database: &Database) -> Result<StoreKey, StartError> {
    let key = StoreKey::read(&database.key_file);
    key.map_err(|error| lacking(database, "key_file", &error.into()))
}

fn lacking(database: &Database, key: &str, error: &Error) -> StartError {
    let option = match database.location.value.is_shared() {
        true => "--database URL",
        false => "--file FILE",
    };
    let expected = match error {
        Error::Refused(..) => "user and password of the server".to_owned(),
        _ => format!("a database made by `sluice ctl subscribers {option} init`"),
    };
    let key = format!("subscriber_database.{key}");
    let problem = problem(database.location.line, key, error.to_string(), expected);
    let exit = exit_of(error);
    StartError { problem, exit }
}

/// A server that is away comes back, and whoever has a file locked ends; a wrong password stays wrong.
pub(crate) fn exit_of(error: &Error) -> Exit {
    match error {
        Error::Refused(..) => Exit::Usage,
        Error::Lost(..) | Error::Busy(_) | Error::Waited(_) => Exit::Later,
        _ => Exit::Lacking,
    }
}

impl Opened {
    /// Whether other cores may use it as well.
    pub(crate) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// All subscribers and home network keys.
    pub(crate) fn all(&self) -> Result<Taken, Error> {
        let mut taken = Taken {
            all: true,
            ..Taken::default()
        };
        self.store.each(|record| {
            taken.subscribers.push((record.supi, Some(record)));
            Ok(())
        })?;
        taken.home_keys = Some(self.store.home_keys()?);
        Ok(taken)
    }

    /// Begins the thread; `wake` is called for each outcome.
    pub(crate) fn serve<W: Send + 'static>(
        self,
        wake: impl Fn() + Send + 'static,
    ) -> std::io::Result<Subscribers<W>> {
        let (jobs, queue) = channel();
        let (out, outcomes) = channel();
        let is_lost = self.is_lost.clone();
        let thread = std::thread::Builder::new().name("subscribers".to_owned());
        let thread = thread.spawn(move || self.work(&queue, &out, &wake))?;
        Ok(Subscribers {
            jobs,
            outcomes,
            thread,
            is_lost,
        })
    }

    fn work<W>(mut self, queue: &Receiver<Job<W>>, out: &Sender<Outcome<W>>, wake: &dyn Fn()) {
        let tell = |outcome| {
            let told = out.send(outcome).is_ok();
            wake();
            told
        };
        let mut next_look = Instant::now() + LOOK_EVERY;
        // What was read from the queue and is still to be done.
        let mut ahead = VecDeque::new();
        loop {
            let job = ahead.pop_front();
            let is_told = match job.or_else(|| self.next_job(queue, next_look)) {
                Some(Job::End) => return,
                Some(Job::Keep(number, wanted)) => {
                    let mut all = vec![(number, wanted)];
                    take_more(queue, &mut all, &mut ahead);
                    let kept = self.keep_all(all);
                    tell(Outcome {
                        answer: None,
                        taken: Taken::default(),
                        stored: kept,
                    })
                }
                Some(Job::Operate(operation, asked)) => {
                    let done = self.operate(*operation);
                    let (answer, taken) =
                        done.unwrap_or_else(|error| (refused(&error), Taken::default()));
                    tell(Outcome {
                        answer: Some((asked, answer)),
                        taken,
                        stored: Vec::new(),
                    })
                }
                None => true,
            };
            if !is_told {
                return;
            }
            if self.is_shared && Instant::now() >= next_look {
                if let Some(taken) = self.look() {
                    tell(Outcome {
                        answer: None,
                        taken,
                        stored: Vec::new(),
                    });
                }
                let is_lost = self.is_lost.load(Ordering::Relaxed);
                next_look = Instant::now() + if is_lost { SEEK_EVERY } else { LOOK_EVERY };
            }
        }
    }

    /// The next job; none if it is time to look at a server.
    fn next_job<W>(&self, queue: &Receiver<Job<W>>, next_look: Instant) -> Option<Job<W>> {
        if !self.is_shared {
            return Some(queue.recv().unwrap_or(Job::End));
        }
        match queue.recv_timeout(next_look.saturating_duration_since(Instant::now())) {
            Ok(job) => Some(job),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Job::End),
        }
    }

    /// Stores sequence numbers of several turns of the core together; what of each was not stored.
    fn keep_all(&mut self, all: Vec<(u64, Vec<ToKeep>)>) -> Vec<(u64, Rejected)> {
        let numbers = all
            .iter()
            .flat_map(|(number, wanted)| wanted.iter().map(|one| (*number, one.at)));
        let places: Vec<(u64, usize)> = numbers.collect();
        let mut kept: Vec<(u64, Rejected)> = all.iter().map(|(n, _)| (*n, Vec::new())).collect();
        let wanted: Vec<ToKeep> = all.into_iter().flat_map(|(_, wanted)| wanted).collect();
        for (index, instead) in self.keep(&wanted) {
            let (number, at) = places[index];
            let of_it = kept.iter_mut().find(|(one, _)| *one == number);
            if let Some((_, not_kept)) = of_it {
                not_kept.push((at, instead));
            }
        }
        kept
    }

    /// Stores sequence numbers; by their indexes those that were not stored, and what others have stored instead.
    fn keep(&mut self, wanted: &[ToKeep]) -> Rejected {
        let claim = |one: &ToKeep| {
            let (supi, state) = (one.supi, one.state);
            let before = one.before?;
            Some(Claim {
                supi,
                state,
                before,
            })
        };
        let Some(claims) = wanted.iter().map(claim).collect::<Option<Vec<_>>>() else {
            let states: Vec<_> = wanted.iter().map(|one| (one.supi, one.state)).collect();
            if let Err(error) = self.store.store_sqns(&states) {
                tracing::error!("sequence numbers are not stored: {error}");
            }
            return Rejected::new();
        };
        match self.store.claim_sqns(&claims) {
            Ok(told) => {
                let instead = |(index, instead): (usize, Option<SqnState>)| {
                    let state = instead?;
                    let octets = [
                        state.last.get().to_be_bytes(),
                        state.difference_s.to_be_bytes(),
                    ];
                    Some((index, Some(octets.concat())))
                };
                told.into_iter().enumerate().filter_map(instead).collect()
            }
            Err(error) => {
                self.failed(&error);
                (0..wanted.len()).map(|index| (index, None)).collect()
            }
        }
    }

    /// What others have changed at a server; it also finds one again that was lost.
    fn look(&mut self) -> Option<Taken> {
        let found = self.store.changes().and_then(|found| {
            let Some((number, changed)) = found else {
                return Ok(None);
            };
            let taken = self.read_back(&changed)?;
            Ok(Some((number, taken)))
        });
        match found {
            Ok(found) => {
                if self.is_lost.swap(false, Ordering::Relaxed) {
                    tracing::info!("{} answers again", self.store.path().display());
                }
                let (number, taken) = found?;
                self.store.saw(number);
                Some(taken)
            }
            Err(error) => {
                self.failed(&error);
                None
            }
        }
    }

    /// Says once that a server is lost: until it answers again, nobody waits for it.
    fn failed(&self, error: &Error) {
        if !self.is_lost.swap(true, Ordering::Relaxed) {
            tracing::error!("subscribers are not authenticated until this is mended: {error}");
        }
    }

    fn operate(&mut self, operation: Operation) -> Result<(Value, Taken), Error> {
        let now_s = system::now().unix_s;
        let done = operation.run(&mut self.store, &self.key, now_s)?;
        Ok((done.answer, self.read_back(&done.changed)?))
    }

    /// What the core has to take over.
    fn read_back(&self, changed: &Changed) -> Result<Taken, Error> {
        if changed.all {
            return self.all();
        }
        let mut taken = Taken::default();
        for supi in &changed.subscribers {
            taken.subscribers.push((*supi, self.store.get(supi)?));
        }
        let gone = changed.removed.iter().map(|supi| (*supi, None));
        taken.subscribers.extend(gone);
        if changed.home_keys {
            taken.home_keys = Some(self.store.home_keys()?);
        }
        Ok(taken)
    }
}

/// A refusal, with what scripts tell its kinds by.
pub(crate) fn refused(error: &Error) -> Value {
    let kind = match error {
        Error::Problems(_) => "problems",
        Error::NotFound(_) | Error::Full | Error::Exists(_) => "failed",
        _ => "lacking",
    };
    let reason = match error {
        Error::Problems(_) => "problems",
        Error::NotFound(_) => "not_found",
        Error::Full => "full",
        Error::Exists(_) => "exists",
        _ => "lacking",
    };
    let mut told = json!({ "error": error.to_string(), "kind": kind, "reason": reason });
    if let Error::Problems(problems) = error {
        told["problems"] = json!(problems);
    }
    told
}

impl<W: Send + 'static> Subscribers<W> {
    /// Has an operation done; its outcome comes with [`Subscribers::next`].
    pub(crate) fn operate(&self, operation: Box<Operation>, waits: W) {
        // The thread ends with the loop alone.
        let _ = self.jobs.send(Job::Operate(operation, waits));
    }

    /// The next outcome, if there is one.
    pub(crate) fn next(&self) -> Option<Outcome<W>> {
        self.outcomes.try_recv().ok()
    }

    /// Has sequence numbers of the repository stored; nobody waits for the database.
    pub(crate) fn journal_writer(&self) -> JournalWriter {
        let (jobs, is_lost) = (self.jobs.clone(), self.is_lost.clone());
        let mut number = 0;
        Box::new(move |records: Vec<JournalRecord>| {
            let wanted: Vec<_> = records.iter().enumerate().filter_map(sqn).collect();
            if wanted.is_empty() {
                return Storing::Done(Rejected::new());
            }
            let (none, places) = (none_of(&wanted), wanted.iter().map(|one| one.at).collect());
            if is_lost.load(Ordering::Relaxed) {
                return Storing::Done(none);
            }
            number += 1;
            match jobs.send(Job::Keep(number, wanted)) {
                Ok(()) => Storing::Later(number, places),
                Err(_) => Storing::Done(none),
            }
        })
    }

    /// The core has waited too long for sequence numbers. Of a server that others use as well nobody waits for more
    /// until it answers again; what it stores after all is a number that nobody uses.
    pub(crate) fn is_late(&self, is_shared: bool) {
        if !is_shared {
            tracing::warn!("sequence numbers are told before they are stored");
        } else if !self.is_lost.swap(true, Ordering::Relaxed) {
            tracing::error!("the database does not answer in time");
        }
    }

    /// Whether it answers, as far as is known.
    pub(crate) fn is_up(&self) -> bool {
        !self.is_lost.load(Ordering::Relaxed)
    }

    /// Ends when all jobs are done, and closes the database.
    pub(crate) fn close(self) {
        let _ = self.jobs.send(Job::End);
        let _ = self.thread.join();
    }
}

/// What waits in the queue behind sequence numbers and is such as well is stored with them.
fn take_more<W>(
    queue: &Receiver<Job<W>>,
    all: &mut Vec<(u64, Vec<ToKeep>)>,
    ahead: &mut VecDeque<Job<W>>,
) {
    let mut number_of = all.iter().map(|(_, wanted)| wanted.len()).sum::<usize>();
    while number_of < KEPT_TOGETHER && ahead.is_empty() {
        match queue.try_recv() {
            Ok(Job::Keep(number, wanted)) => {
                number_of += wanted.len();
                all.push((number, wanted));
            }
            Ok(other) => ahead.push_back(other),
            Err(_) => return,
        }
    }
}

/// What a commit says of sequence numbers, if it does.
fn sqn((at, (key, value)): (usize, &(Vec<u8>, Option<Vec<u8>>))) -> Option<ToKeep> {
    let imsi = key.strip_prefix(b"udr/sqn/")?;
    let supi = Supi::from_imsi(std::str::from_utf8(imsi).ok()?)?;
    let (state, before) = sqn_of_commit(value.as_deref()?)?;
    Some(ToKeep {
        at,
        supi,
        state,
        before,
    })
}

/// Of those that others might use as well, none is stored; a core alone goes on without.
fn none_of(wanted: &[ToKeep]) -> Rejected {
    let shared = wanted.iter().filter(|one| one.before.is_some());
    shared.map(|one| (one.at, None)).collect()
}

/// As the repository takes it.
pub(crate) fn provision(record: &Record) -> Provision {
    Provision {
        subscriber: record.to_udr(),
        difference_s: record.sqn.difference_s,
        is_barred: record.profile.barred,
    }
}
