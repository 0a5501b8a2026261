//! Contexts that outlive the core: opened before it, taken up by it, and watched while it runs.

use crate::config::{ContextsFolder, ContextsRedis, ContextsSection};
use crate::needs::{Lack, problem};
use sluice_contexts::{self as folder, ContextError, ContextFile, is_in_memory};
use sluice_contexts_redis::{self as redis, ContextRedis, OpenError};
use sluice_core_runtime::system;
use sluice_program::lines::{self, Kind, Peer};
use sluice_sbi::context_store::{Contexts, Stored};
use sluice_seal::{KeyError, StoreKey, key_file};
use sluice_wiring::Core;
use sluice_wiring::contexts::Start;
use std::path::Path;
use std::time::Duration;

/// Contexts of the core before.
pub(crate) struct Opened {
    store: Box<dyn Contexts>,
    stored: Stored,
    start: Start,
}

/// Opens the store; no other core may have it. `is_given` says whether this one is not to start any more.
pub(crate) fn open(section: &ContextsSection, is_given: &dyn Fn() -> bool) -> Result<Opened, Lack> {
    let (store, stored): (Box<dyn Contexts>, Stored) = match section {
        ContextsSection::Folder(section) => {
            let (store, stored) = open_folder(section).map_err(|e| no_folder(section, &e))?;
            (Box::new(store), stored)
        }
        ContextsSection::Redis(section) => {
            let key = key_of(section).map_err(|e| no_key(section, &e))?;
            let (store, stored) =
                open_redis(section, key, is_given).map_err(|e| no_redis(section, &e))?;
            (Box::new(store), stored)
        }
    };
    let start = Start::after(&stored, system::now().unix_s);
    Ok(Opened {
        store,
        stored,
        start,
    })
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

fn open_redis(
    section: &ContextsRedis,
    key: StoreKey,
    is_given: &dyn Fn() -> bool,
) -> Result<(ContextRedis, Stored), OpenError> {
    let opening = redis::Opening {
        address: section.url.value.clone(),
        key,
        instance: section.instance.value.clone(),
        lease: Duration::from_secs(section.lease_s.into()),
        replicas: section.replicas,
        timeout: timeout(section),
    };
    let mut store = ContextRedis::open(&opening, is_given)?;
    let stored = store.all()?;
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
pub(crate) fn check(section: &ContextsSection) -> Option<Lack> {
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

fn check_folder(section: &ContextsFolder) -> Option<Lack> {
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

fn no_folder(section: &ContextsFolder, error: &ContextError) -> Lack {
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
    Lack {
        problem: problem(line, "contexts.folder", error.to_string(), expected),
        may_come: matches!(error, ContextError::Busy(_)),
    }
}

fn no_key(section: &ContextsRedis, error: &KeyError) -> Lack {
    let expected = "a file of mode 0600 with 64 hexadecimal digits, as of `openssl rand -hex 32`";
    let line = section.key_file.line;
    problem(line, "contexts.redis.key_file", error.to_string(), expected).into()
}

/// A server that is away comes back, a replica may become the primary, and another core's lease ends with that core.
fn no_redis(section: &ContextsRedis, error: &OpenError) -> Lack {
    let (at, key, expected) = match error {
        OpenError::Busy { .. } => (
            section.instance.line,
            "instance",
            "that the other core ends before this one starts, or an instance of its own",
        ),
        OpenError::Replica(_) => (section.url.line, "url", "the address of the primary"),
        _ => (
            section.url.line,
            "url",
            "a Redis server that answers, with room and rights for EVAL, HSCAN and WAIT",
        ),
    };
    let key = format!("contexts.redis.{key}");
    Lack {
        problem: problem(at, key, error.to_string(), expected),
        may_come: !matches!(error, OpenError::Random(_) | OpenError::Given),
    }
}

impl Opened {
    /// When the first of the cores began that this one goes on from.
    pub(crate) fn begun_unix_s(&self) -> u64 {
        self.start.begun_unix_s
    }

    /// The core goes on with them.
    pub(crate) fn resume(self, core: &mut Core) {
        let now = system::now();
        let resumed = core.resume(now, self.start, &self.stored, self.store);
        let (ues, sessions) = (resumed.ues, resumed.sessions);
        let starts = self.start.starts;
        tracing::info!("goes on with {ues} UEs and {sessions} sessions; this is start {starts}");
    }
}

/// Says when contexts could not be stored.
#[derive(Default)]
pub(crate) struct Watch(u64);

impl Watch {
    pub(crate) fn look(&mut self, core: &Core) {
        let (failures, why) = core.contexts_failed();
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
