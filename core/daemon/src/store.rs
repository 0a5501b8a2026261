//! The database of subscribers beside the loop: a thread works on it, so that an import of many holds up no
//! UE, and the loop takes over what has changed.

use crate::config::Database;
use crate::control::{Ask, Request};
use crate::needs::problem;
use serde_json::{Value, json};
use sluice_core::system;
use sluice_ids::Supi;
use sluice_program::config::problem::Problem;
use sluice_program::control::Asked;
use sluice_security::suci::HomeKey;
use sluice_subscribers::operation::Changed;
use sluice_subscribers::store::sqn_of_commit;
use sluice_subscribers::{Access, Error, Operation, Record, SqnState, Store, StoreKey};
use sluice_udr::Provision;
use sluice_wiring::{Keeper, Kept};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// How long the core waits for a sequence number to be stored. Then it goes on: what may follow is that
/// a SIM asks for another one, once.
const KEEP_WITHIN: Duration = Duration::from_secs(2);

/// A database that was opened, and its key.
pub(crate) struct Opened {
    store: Store,
    key: StoreKey,
}

/// What the thread is to do.
enum Job {
    Operate(Box<Operation>, Asked<Ask>),
    Keep(Vec<(Supi, SqnState)>, SyncSender<()>),
    End,
}

/// What an operation has done, for the core to take over, and who waits for the answer.
pub(crate) struct Outcome {
    pub asked: Asked<Ask>,
    pub answer: Value,
    pub taken: Taken,
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

/// The thread's other end.
pub(crate) struct Subscribers {
    jobs: Sender<Job>,
    outcomes: Receiver<Outcome>,
    thread: JoinHandle<()>,
}

/// Opens the database of a configuration; nobody else may change it from now on.
pub(crate) fn open(database: &Database) -> Result<Opened, Problem> {
    let key = key_of(database)?;
    let store = Store::open(&database.file.value, &key, Access::Serve);
    let store = store.map_err(|e| lacking(database, "file", &e))?;
    Ok(Opened { store, key })
}

/// Whether it could be opened; one that a core serves now, or that this release would bring up to date,
/// is none to complain about.
pub(crate) fn check(database: &Database) -> Option<Problem> {
    let key = match key_of(database) {
        Ok(key) => key,
        Err(problem) => return Some(problem),
    };
    match Store::open(&database.file.value, &key, Access::Read) {
        Ok(_) | Err(Error::Busy(_) | Error::Older(..)) => None,
        Err(error) => Some(lacking(database, "file", &error)),
    }
}

fn key_of(database: &Database) -> Result<StoreKey, Problem> {
    let key = StoreKey::read(&database.key_file);
    key.map_err(|error| lacking(database, "key_file", &error.into()))
}

fn lacking(database: &Database, key: &str, error: &Error) -> Problem {
    let expected = "a database made by `sluice ctl subscribers --file FILE init`";
    let key = format!("subscriber_database.{key}");
    problem(database.file.line, key, error.to_string(), expected)
}

impl Opened {
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
    pub(crate) fn serve(self, wake: impl Fn() + Send + 'static) -> std::io::Result<Subscribers> {
        let (jobs, queue) = channel();
        let (out, outcomes) = channel();
        let thread = std::thread::Builder::new().name("subscribers".to_owned());
        let thread = thread.spawn(move || self.work(&queue, &out, &wake))?;
        Ok(Subscribers {
            jobs,
            outcomes,
            thread,
        })
    }

    fn work(mut self, queue: &Receiver<Job>, out: &Sender<Outcome>, wake: &dyn Fn()) {
        while let Ok(job) = queue.recv() {
            match job {
                Job::End => return,
                Job::Keep(states, told) => {
                    if let Err(error) = self.store.store_sqns(&states) {
                        tracing::error!("sequence numbers are not stored: {error}");
                    }
                    let _ = told.send(());
                }
                Job::Operate(operation, asked) => {
                    let (answer, taken) = match self.operate(*operation) {
                        Ok(done) => done,
                        Err(error) => (refused(&error), Taken::default()),
                    };
                    let outcome = Outcome {
                        asked,
                        answer,
                        taken,
                    };
                    if out.send(outcome).is_err() {
                        return;
                    }
                    wake();
                }
            }
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

impl Subscribers {
    /// Has an operation done; its outcome comes with [`Subscribers::next`].
    pub(crate) fn operate(&self, mut asked: Asked<Ask>) {
        let request = std::mem::replace(&mut asked.request, Ask::Core(Request::Status));
        if let Ask::Subscribers(operation) = request {
            // The thread ends with the loop alone.
            let _ = self.jobs.send(Job::Operate(operation, asked));
        }
    }

    /// The next outcome, if there is one.
    pub(crate) fn next(&self) -> Option<Outcome> {
        self.outcomes.try_recv().ok()
    }

    /// Stores sequence numbers of the repository, and is back when they are stored.
    pub(crate) fn keeper(&self) -> Keeper {
        let jobs = self.jobs.clone();
        Box::new(move |kept: Kept| {
            let states: Vec<_> = kept.iter().filter_map(sqn).collect();
            if states.is_empty() {
                return;
            }
            let (told, stored) = sync_channel(1);
            let asked = jobs.send(Job::Keep(states, told));
            if asked.is_err() || stored.recv_timeout(KEEP_WITHIN).is_err() {
                tracing::warn!("sequence numbers are told before they are stored");
            }
        })
    }

    /// Ends when all jobs are done, and closes the database.
    pub(crate) fn close(self) {
        let _ = self.jobs.send(Job::End);
        let _ = self.thread.join();
    }
}

/// What a commit says of sequence numbers, if it does.
fn sqn((key, value): &(Vec<u8>, Option<Vec<u8>>)) -> Option<(Supi, SqnState)> {
    let imsi = key.strip_prefix(b"udr/sqn/")?;
    let supi = Supi::from_imsi(std::str::from_utf8(imsi).ok()?)?;
    Some((supi, sqn_of_commit(value.as_deref()?)?))
}

/// As the repository takes it.
pub(crate) fn provision(record: &Record) -> Provision {
    Provision {
        subscriber: record.to_udr(),
        difference_s: record.sqn.difference_s,
        is_barred: record.profile.barred,
    }
}
