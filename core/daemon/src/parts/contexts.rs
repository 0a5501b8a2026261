//! Contexts that outlive the core: opened before it, taken up by it, and watched while it runs.

use crate::config::{ContextsFolder, ContextsRedis, ContextsSection};
use crate::needs::{StartError, problem};
use crate::operators::answers::ContextsState;
use sluice_contexts::{self as folder, ContextError, ContextFile, is_in_memory};
use sluice_contexts_redis::{self as redis, ContextRedis, OpenError};
use sluice_core_host::{Host, StoreState};
use sluice_core_runtime::{ContextThread, system};
use sluice_program::config::problem::Problem;
use sluice_program::exit::Exit;
use sluice_program::lines::{self, Kind, Peer};
use sluice_sbi::context_store::{Changes, ContextWriter, Contexts, StoreFailure, Stored};
use sluice_seal::{KeyError, StoreKey, key_file};
use sluice_wiring::contexts::Start;
use sluice_wiring::{Apart, Core, Sessions};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the SMF of a core that was killed has to end: it hears of that by its link.
const SMF_ENDS_WITHIN: Duration = Duration::from_secs(10);
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// How long messages wait for a server that has to store the contexts that they follow from. They wait for a disk as long
/// as it takes: the mark of its folder has to tell the next core what is not stored.
const SERVER_WITHIN: Duration = Duration::from_secs(2);

/// Contexts of the core before.
pub(crate) struct Opened {
    store: Opens,
    stored: Stored,
    start: Start,
}

/// A store that is open.
enum Opens {
    /// In memory: to store takes microseconds.
    AtOnce(ContextFile),
    /// At a server or on a disk, and how long others wait for it.
    Beside(Box<dyn Contexts + Send>, Option<Duration>),
}

impl From<ContextFile> for Opens {
    fn from(file: ContextFile) -> Self {
        match file.is_on_disk() {
            true => Self::Beside(Box::new(file), None),
            false => Self::AtOnce(file),
        }
    }
}

impl Opens {
    fn start(
        self,
        stored: &Stored,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<Box<dyn ContextWriter>> {
        match self {
            Self::AtOnce(file) => Ok(Box::new(file)),
            Self::Beside(store, patience) => {
                let thread = ContextThread::start(store, stored, patience, wake)?;
                Ok(Box::new(thread))
            }
        }
    }
}

/// Folder of contexts of an SMF that has a program of its own, in that of the core.
const OF_SESSIONS: &str = "smf";
/// Suffix of its instance at a Redis server; no core.yaml can name another core's so.
const OF_SESSIONS_AT_REDIS: &str = ":smf";
/// Contexts that move at a time: a server has to take them within its time for an answer.
const MOVED_TOGETHER: usize = 256;

/// A store that is open, and what it has.
type Open<S> = (S, Stored);

/// Opens the store of the core's own program; no other core may have it. With `has_smf` the contexts of sessions are
/// there, else in the store of another program. `is_given` says whether this core is not to start any more.
pub(crate) fn open(
    section: &ContextsSection,
    has_smf: bool,
    is_given: &dyn Fn() -> bool,
) -> Result<Opened, StartError> {
    match section {
        ContextsSection::Folder(section) => {
            let mut own = open_folder(section).map_err(|e| no_folder(section, &e))?;
            let other = of_sessions(section);
            if !has_smf || other.folder.value.exists() {
                let opened = open_when_left(&other, is_given);
                let mut other_store = opened.map_err(|e| no_folder(&other, &e))?;
                move_sessions(has_smf, &mut own, &mut other_store)
                    .map_err(|why| no_room(section.folder.line, "folder", &why))?;
            }
            Ok(Opened::new(own.0.into(), own.1))
        }
        ContextsSection::Redis(section) => {
            let mut own = open_redis(section, is_given)?;
            move_sessions_at_redis(section, has_smf, &mut own, is_given)?;
            Ok(Opened::new(beside(own.0), own.1))
        }
    }
}

/// Opens the store of an SMF that has a program of its own.
pub(crate) fn open_sessions(
    section: &ContextsSection,
    is_given: &dyn Fn() -> bool,
) -> Result<Opened, StartError> {
    match section {
        ContextsSection::Folder(core) => {
            let section = of_sessions(core);
            let (store, stored) = open_folder(&section).map_err(|e| no_folder(&section, &e))?;
            Ok(Opened::new(store.into(), stored))
        }
        ContextsSection::Redis(core) => {
            let (store, stored) = open_redis(&of_sessions_at_redis(core), is_given)?;
            Ok(Opened::new(beside(store), stored))
        }
    }
}

fn beside(store: ContextRedis) -> Opens {
    Opens::Beside(Box::new(store), Some(SERVER_WITHIN))
}

fn of_sessions(core: &ContextsFolder) -> ContextsFolder {
    let mut section = core.clone();
    section.folder.value.push(OF_SESSIONS);
    section
}

fn of_sessions_at_redis(core: &ContextsRedis) -> ContextsRedis {
    let mut section = core.clone();
    section.instance.value.push_str(OF_SESSIONS_AT_REDIS);
    section
}

/// Moves contexts of sessions from one instance at a server to the other, which is opened only then: the core might have to
/// wait for the end of its lease.
fn move_sessions_at_redis(
    section: &ContextsRedis,
    has_smf: bool,
    own: &mut Open<ContextRedis>,
    is_given: &dyn Fn() -> bool,
) -> Result<(), StartError> {
    let other = of_sessions_at_redis(section);
    let moves = match has_smf {
        true => {
            let opening = opening(&other)?;
            ContextRedis::has_some(&opening).map_err(|e| no_redis(&other, &e))?
        }
        false => sluice_wiring::contexts::has_sessions(&own.1),
    };
    if moves {
        let mut other_store = open_redis(&other, is_given)?;
        move_sessions(has_smf, own, &mut other_store).map_err(|why| StartError {
            problem: no_room(section.url.line, "redis.url", &why),
            // The server has answered just now.
            exit: Exit::Later,
        })?;
    }
    Ok(())
}

/// A core whose SMF stands somewhere else than before: contexts of sessions move to where they are stored from now on.
fn move_sessions<S: Contexts>(
    has_smf: bool,
    own: &mut Open<S>,
    other: &mut Open<S>,
) -> Result<(), StoreFailure> {
    let (from, to) = if has_smf { (other, own) } else { (own, other) };
    let (taken, left) = sluice_wiring::contexts::move_sessions(&from.1, &to.1);
    // First there, then not here: a core that is killed meanwhile moves them once more.
    put_all(to, taken)?;
    put_all(from, left)
}

fn put_all<S: Contexts>(to: &mut Open<S>, changes: Changes) -> Result<(), StoreFailure> {
    let (store, stored) = to;
    let mut changes = changes.into_iter().peekable();
    while changes.peek().is_some() {
        let some: Changes = changes.by_ref().take(MOVED_TOGETHER).collect();
        match store.put(&some) {
            Ok(()) | Err(StoreFailure::StoredWeakly(_)) => {}
            Err(why) => return Err(why),
        }
        for (key, value) in some {
            match value {
                Some(value) => stored.insert(key, value),
                None => stored.remove(&key),
            };
        }
    }
    Ok(())
}

fn no_room(line: u32, key: &str, why: &StoreFailure) -> Problem {
    let expected = "room for the contexts of all sessions";
    problem(line, format!("contexts.{key}"), why.why(), expected)
}

/// The core's own folder is this core's, so only an SMF that its core left behind has that of sessions, and ends.
fn open_when_left(
    section: &ContextsFolder,
    is_given: &dyn Fn() -> bool,
) -> Result<(ContextFile, Stored), ContextError> {
    let until = Instant::now() + SMF_ENDS_WITHIN;
    loop {
        let opened = open_folder(section);
        let is_busy = matches!(opened, Err(ContextError::Busy(_)));
        if !is_busy || is_given() || until <= Instant::now() {
            return opened;
        }
        std::thread::sleep(LOOK_EVERY);
    }
}

fn open_folder(section: &ContextsFolder) -> Result<(ContextFile, Stored), ContextError> {
    let file = ContextFile::open(&folder::Opening {
        folder: section.folder.value.clone(),
        most_octets: (section.most_mib as usize) << 20,
        may_be_on_disk: section.on_disk,
    })?;
    if file.was_behind() {
        tracing::error!(
            "the core before could not store all contexts in {}: what is there is older than what UEs and UPFs were told, and is deleted; all begin anew",
            section.folder.value.display()
        );
    }
    let stored = file.all()?;
    Ok((file, stored))
}

fn opening(section: &ContextsRedis) -> Result<redis::Opening, StartError> {
    Ok(redis::Opening {
        address: section.url.value.clone(),
        key: key_of(section).map_err(|e| no_key(section, &e))?,
        instance: section.instance.value.clone(),
        lease: Duration::from_secs(section.lease_s.into()),
        replicas: section.replicas,
        timeout: timeout(section),
    })
}

fn open_redis(
    section: &ContextsRedis,
    is_given: &dyn Fn() -> bool,
) -> Result<Open<ContextRedis>, StartError> {
    let opening = opening(section)?;
    let refused = |e: OpenError| no_redis(section, &e);
    let mut store = ContextRedis::open(&opening, is_given).map_err(refused)?;
    let stored = store.all().map_err(refused)?;
    let (unreadable, instance) = (store.unreadable(), &opening.instance);
    if unreadable > 0 {
        tracing::warn!(
            "{unreadable} contexts of instance {instance} are damaged or sealed with another key, and are left out"
        );
    }
    tracing::info!(
        "owner {} of the contexts of instance {instance} at {}",
        store.epoch(),
        opening.address
    );
    Ok((store, stored))
}

fn timeout(section: &ContextsRedis) -> Duration {
    Duration::from_millis(section.timeout_ms.into())
}

fn key_of(section: &ContextsRedis) -> Result<StoreKey, KeyError> {
    StoreKey::read_for(key_file::CONTEXTS, &section.key_file.value)
}

/// Whether it could be opened; one that a core has now is none to complain about.
pub(crate) fn check(section: &ContextsSection) -> Option<StartError> {
    match section {
        ContextsSection::Folder(section) => check_folder(section),
        ContextsSection::Redis(section) => {
            if let Err(error) = key_of(section) {
                return Some(no_key(section, &error));
            }
            let checked = redis::check(&section.url.value, timeout(section));
            checked.err().map(|error| no_redis(section, &error))
        }
    }
}

fn check_folder(section: &ContextsFolder) -> Option<StartError> {
    let folder = &section.folder.value;
    // Folders that are missing are made.
    let there = folder.ancestors().find(|folder| folder.exists());
    let is_in_memory = is_in_memory(there.unwrap_or(Path::new("/")));
    let error = match is_in_memory {
        Ok(is_in_memory) if is_in_memory || section.on_disk => return None,
        Ok(_) => ContextError::OnDisk(folder.clone()),
        Err(error) => ContextError::Folder(folder.clone(), error),
    };
    Some(no_folder(section, &error))
}

fn no_folder(section: &ContextsFolder, error: &ContextError) -> StartError {
    let expected = match error {
        ContextError::OnDisk(_) => {
            "a folder on tmpfs or ramfs, such as one in /run, or on_disk: true"
        }
        ContextError::Busy(_) => {
            "that the other core ends before this one starts, or a folder of its own"
        }
        _ => "a folder that it may write to, with room for it",
    };
    let line = section.folder.line;
    StartError {
        problem: problem(line, "contexts.folder", error.to_string(), expected),
        exit: match error {
            ContextError::Busy(_) => Exit::Later,
            _ => Exit::Lacking,
        },
    }
}

fn no_key(section: &ContextsRedis, error: &KeyError) -> StartError {
    let expected = "a file of mode 0600 with 64 hexadecimal digits, as of `openssl rand -hex 32`";
    let line = section.key_file.line;
    problem(line, "contexts.redis.key_file", error.to_string(), expected).into()
}

/// A server that is away comes back, a replica may become the primary, and another core's lease ends with that core.
fn no_redis(section: &ContextsRedis, error: &OpenError) -> StartError {
    let (at, key, expected) = match error {
        OpenError::Busy { .. } => (
            section.instance.line,
            "instance",
            "that the other core ends before this one starts, or an instance of its own",
        ),
        OpenError::Replica(_) => (section.url.line, "url", "the address of the primary"),
        OpenError::Refused(_) => (
            section.url.line,
            "url",
            "user and password of the server, and rights for EVAL, HSCAN, PING, ROLE and WAIT",
        ),
        _ => (
            section.url.line,
            "url",
            "a Redis server that answers, with room and rights for EVAL, HSCAN and WAIT",
        ),
    };
    let key = format!("contexts.redis.{key}");
    StartError {
        problem: problem(at, key, error.to_string(), expected),
        exit: match error {
            OpenError::Refused(_) => Exit::Usage,
            OpenError::Random(_) | OpenError::Given => Exit::Lacking,
            OpenError::Busy { .. } | OpenError::Replica(_) | OpenError::Server(_) => Exit::Later,
        },
    }
}

impl Opened {
    fn new(store: Opens, stored: Stored) -> Self {
        let start = Start::after(&stored, system::now().unix_s);
        Self {
            store,
            stored,
            start,
        }
    }

    /// When the first of the cores began that this one goes on from.
    pub(crate) fn begun_unix_s(&self) -> u64 {
        self.start.begun_unix_s
    }

    /// The core goes on with them; `wake` ends a wait of its loop.
    pub(crate) fn resume(
        self,
        core: &mut Core,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<()> {
        let now = system::now();
        let store = self.store.start(&self.stored, wake)?;
        let resumed = core.resume(now, self.start, &self.stored, store);
        let (ues, sessions) = (resumed.ues, resumed.sessions);
        let starts = self.start.starts;
        tracing::info!("goes on with {ues} UEs and {sessions} sessions; this is start {starts}");
        Ok(())
    }

    /// The SMF of a program goes on with its sessions.
    pub(crate) fn resume_sessions(
        self,
        host: &mut Host<Apart>,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<()> {
        let store = self.store.start(&self.stored, wake)?;
        let mut sessions = Sessions::from(host);
        let resumed = sessions.resume(system::now(), self.start, &self.stored, store);
        let starts = self.start.starts;
        tracing::info!("goes on with {resumed} sessions; this is start {starts}");
        Ok(())
    }
}

/// How it is with a store of contexts.
pub(crate) fn state(state: StoreState, last_failure: Option<&str>) -> ContextsState {
    ContextsState {
        up: state.is_up,
        pending: state.pending,
        failures: state.failures,
        last_failure: last_failure.map(ToOwned::to_owned),
    }
}

/// Says when contexts could not be stored.
#[derive(Default)]
pub(crate) struct Watch(u64);

impl Watch {
    /// Looks how often that was so, and why the last time.
    pub(crate) fn look(&mut self, (failures, why): (u64, Option<&str>)) {
        if failures != self.0 {
            self.0 = failures;
            let why = why.unwrap_or_default();
            // A server that is away is so for each turn of the core.
            if lines::permits(Peer::Local, Kind::Contexts) {
                tracing::error!("contexts are not stored as they should be: {why}");
            }
        }
    }
}
