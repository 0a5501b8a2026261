//! Contexts that outlive the core: opened before it, taken up by it, and watched while it runs.

use crate::config::{
    ContextsFolder, ContextsRedis, ContextsSection, StoreOfProgram, WiringSection,
};
use crate::needs::{StartError, problem};
use crate::operators::answers::ContextsState;
use sluice_contexts::{self as folder, ContextError, ContextFile, is_in_memory};
use sluice_contexts_redis::{self as redis, ContextRedis, OpenError};
use sluice_core_host::{Host, StoreState};
use sluice_core_runtime::{ContextThread, system};
use sluice_program::config::problem::Problem;
use sluice_program::exit::Exit;
use sluice_program::lines::{self, Peer};
use sluice_sbi::context_store::{Changes, ContextWriter, Contexts, StoreFailure, Stored};
use sluice_seal::{KeyError, StoreKey, key_file};
use sluice_wiring::contexts::{Kind, Resumed, Start};
use sluice_wiring::{Apart, Core};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long programs of a core that was killed have to end: they hear of that by their links.
const PROGRAM_ENDS_WITHIN: Duration = Duration::from_secs(10);
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

/// Contexts that move at a time: a server has to take them within its time for an answer.
const MOVED_TOGETHER: usize = 256;

/// A store that is open, and what it has.
type Open<S> = (S, Stored);

/// Opens the store of the core's own program; no other core may have it. Contexts of functions that `wiring` has in
/// other programs are in stores of theirs. `is_given` says whether this core is not to start any more.
pub(crate) fn open(
    section: &ContextsSection,
    wiring: &WiringSection,
    is_given: &dyn Fn() -> bool,
) -> Result<Opened, StartError> {
    match section {
        ContextsSection::Folder(section) => {
            let own = open_folder(section).map_err(|e| no_folder(section, &e))?;
            let mut stores = Stores::new(InFolder { section, is_given }, own);
            // Programs that a killed core left behind end before those of this core need their stores.
            for store in StoreOfProgram::all() {
                stores.other(store, false)?;
            }
            let own = stores.moved(wiring)?;
            Ok(Opened::new(own.0.into(), own.1))
        }
        ContextsSection::Redis(section) => {
            let own = open_redis(section, is_given)?;
            let own = Stores::new(AtRedis { section, is_given }, own).moved(wiring)?;
            Ok(Opened::new(beside(own.0), own.1))
        }
    }
}

/// Opens the store of a program.
pub(crate) fn open_of_program(
    section: &ContextsSection,
    store: StoreOfProgram,
    is_given: &dyn Fn() -> bool,
) -> Result<Opened, StartError> {
    match section {
        ContextsSection::Folder(core) => {
            let section = of_program(core, store);
            let (store, stored) = open_folder(&section).map_err(|e| no_folder(&section, &e))?;
            Ok(Opened::new(store.into(), stored))
        }
        ContextsSection::Redis(core) => {
            let (store, stored) = open_redis(&of_program_at_redis(core, store), is_given)?;
            Ok(Opened::new(beside(store), stored))
        }
    }
}

fn beside(store: ContextRedis) -> Opens {
    Opens::Beside(Box::new(store), Some(SERVER_WITHIN))
}

/// A program's folder is in that of the core.
fn of_program(core: &ContextsFolder, store: StoreOfProgram) -> ContextsFolder {
    let mut section = core.clone();
    section.folder.value.push(store.name());
    section
}

/// A program's instance at a server; no core.yaml can name another core's so.
fn of_program_at_redis(core: &ContextsRedis, store: StoreOfProgram) -> ContextsRedis {
    let mut section = core.clone();
    let instance = &mut section.instance.value;
    instance.push(':');
    instance.push_str(&store.name());
    section
}

/// Place of the stores of programs, beside that of the core.
trait Beside {
    type Store: Contexts;

    fn open(&self, store: StoreOfProgram) -> Result<Open<Self::Store>, StartError>;

    /// Whether there is such a store.
    fn has(&self, store: StoreOfProgram) -> Result<bool, StartError>;

    fn no_room(&self, why: &StoreFailure) -> StartError;
}

struct InFolder<'a> {
    section: &'a ContextsFolder,
    is_given: &'a dyn Fn() -> bool,
}

impl Beside for InFolder<'_> {
    type Store = ContextFile;

    fn open(&self, store: StoreOfProgram) -> Result<Open<ContextFile>, StartError> {
        let section = of_program(self.section, store);
        open_when_left(&section, self.is_given).map_err(|e| no_folder(&section, &e))
    }

    fn has(&self, store: StoreOfProgram) -> Result<bool, StartError> {
        Ok(of_program(self.section, store).folder.value.exists())
    }

    fn no_room(&self, why: &StoreFailure) -> StartError {
        no_room(self.section.folder.line, "folder", why).into()
    }
}

struct AtRedis<'a> {
    section: &'a ContextsRedis,
    is_given: &'a dyn Fn() -> bool,
}

impl Beside for AtRedis<'_> {
    type Store = ContextRedis;

    fn open(&self, store: StoreOfProgram) -> Result<Open<ContextRedis>, StartError> {
        // Its lease may have to end.
        open_redis(&of_program_at_redis(self.section, store), self.is_given)
    }

    fn has(&self, store: StoreOfProgram) -> Result<bool, StartError> {
        let other = of_program_at_redis(self.section, store);
        let opening = opening(&other)?;
        ContextRedis::has_some(&opening).map_err(|e| no_redis(&other, &e))
    }

    fn no_room(&self, why: &StoreFailure) -> StartError {
        StartError {
            problem: no_room(self.section.url.line, "redis.url", why),
            // The server has answered just now.
            exit: Exit::Later,
        }
    }
}

/// Stores of a core, the first, and of its programs, as far as they are needed.
struct Stores<P: Beside> {
    place: P,
    all: Vec<(Option<StoreOfProgram>, Open<P::Store>)>,
}

/// Index of the core's own store.
const OWN: usize = 0;

impl<P: Beside> Stores<P> {
    fn new(place: P, own: Open<P::Store>) -> Self {
        let all = vec![(None, own)];
        Self { place, all }
    }

    /// Functions may stand somewhere else than before: their contexts move to where they are stored from now on. Gives the
    /// core's own store.
    fn moved(mut self, wiring: &WiringSection) -> Result<Open<P::Store>, StartError> {
        for kind in Kind::ALL {
            let at = wiring.store_of(kind.function());
            // To the core's own first, then from there: each is there or here if the core is killed meanwhile.
            let may_have = StoreOfProgram::all();
            let may_have = may_have.filter(|one| one.may_have(kind));
            for store in may_have.filter(|store| at != Some(*store)) {
                if let Some(other) = self.other(store, false)? {
                    self.move_kind(kind, other, OWN)?;
                }
            }
            let has_some = self.all.first().is_some_and(|(_, own)| kind.is_in(&own.1));
            if let Some(store) = at.filter(|_| has_some)
                && let Some(other) = self.other(store, true)?
            {
                self.move_kind(kind, OWN, other)?;
            }
        }
        Ok(self.all.swap_remove(OWN).1)
    }

    /// Index of a store of a program; none if there is none, and none is to be.
    fn other(
        &mut self,
        store: StoreOfProgram,
        is_to_be: bool,
    ) -> Result<Option<usize>, StartError> {
        let at = self.all.iter().position(|(one, _)| *one == Some(store));
        if at.is_none() && (is_to_be || self.place.has(store)?) {
            self.all.push((Some(store), self.place.open(store)?));
            return Ok(Some(self.all.len() - 1));
        }
        Ok(at)
    }

    fn move_kind(&mut self, kind: Kind, from: usize, to: usize) -> Result<(), StartError> {
        let Ok([(_, from), (_, to)]) = self.all.get_disjoint_mut([from, to]) else {
            return Ok(());
        };
        let (taken, left) = sluice_wiring::contexts::moved(kind, &from.1, &to.1);
        // First there, then not here: a core that is killed meanwhile moves them once more.
        let moved = put_all(to, taken).and_then(|()| put_all(from, left));
        moved.map_err(|why| self.place.no_room(&why))
    }
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
    let expected = "room for the contexts of all UEs and sessions";
    problem(line, format!("contexts.{key}"), why.why(), expected)
}

/// The core's own folder is this core's, so only a program that its core left behind has its own, and ends.
fn open_when_left(
    section: &ContextsFolder,
    is_given: &dyn Fn() -> bool,
) -> Result<(ContextFile, Stored), ContextError> {
    let until = Instant::now() + PROGRAM_ENDS_WITHIN;
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
        let store = self.store.start(&self.stored, wake)?;
        let resumed = core.resume(system::now(), self.start, &self.stored, store);
        log(self.start, &resumed, core.apart());
        Ok(())
    }

    /// Functions of a program go on with them; `wake` ends a wait of its loop. Gives those of its UDR, which waits until
    /// it is known which UEs an AMF has.
    pub(crate) fn resume_program(
        self,
        host: &mut Host<Apart>,
        wake: impl Fn() + Send + 'static,
    ) -> io::Result<Stored> {
        let (now, start) = (system::now(), self.start);
        let store = self.store.start(&self.stored, wake)?;
        let resumed = sluice_wiring::contexts::resume(host, now, start, &self.stored, store);
        log(start, &resumed, &host.functions);
        Ok(sluice_wiring::contexts::of_repository(&self.stored))
    }
}

/// Tells what functions go on with.
fn log(start: Start, resumed: &Resumed, functions: &Apart) {
    let starts = start.starts;
    let ues = functions
        .amf
        .as_ref()
        .map(|_| format!("{} UEs", resumed.ues));
    let sessions = functions.smf.as_ref();
    let sessions = sessions.map(|_| format!("{} sessions", resumed.sessions));
    let all: Vec<_> = [ues, sessions].into_iter().flatten().collect();
    if !all.is_empty() {
        let all = all.join(" and ");
        tracing::info!("goes on with {all}; this is start {starts}");
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
            if lines::permits(Peer::Local, lines::Kind::Contexts) {
                tracing::error!("contexts are not stored as they should be: {why}");
            }
        }
    }
}
