//! Contexts that outlive the core: opened before it, taken up by it, and watched while it runs.

use crate::config::ContextsSection;
use crate::needs::problem;
use sluice_contexts::{ContextError, ContextFile, Opening, is_in_memory};
use sluice_core::system;
use sluice_program::config::problem::Problem;
use sluice_sbi::kept::Stored;
use sluice_wiring::Core;
use sluice_wiring::contexts::Start;
use std::path::Path;

/// Contexts of the core before.
pub(crate) struct Opened {
    file: ContextFile,
    stored: Stored,
    start: Start,
}

/// Opens the store; no other core may have it.
pub(crate) fn open(section: &ContextsSection) -> Result<Opened, Problem> {
    let refused = |error: ContextError| lacking(section, &error);
    let opening = Opening {
        folder: section.folder.value.clone(),
        most_octets: (section.most_mib as usize) << 20,
        may_be_on_disk: section.on_disk,
    };
    let file = ContextFile::open(&opening).map_err(refused)?;
    let stored = file.all().map_err(refused)?;
    let start = Start::after(&stored, system::now().unix_s);
    Ok(Opened {
        file,
        stored,
        start,
    })
}

/// Whether it could be opened; one that a core has now is none to complain about.
pub(crate) fn check(section: &ContextsSection) -> Option<Problem> {
    let folder = &section.folder.value;
    // Folders that are missing are made.
    let there = folder.ancestors().find(|folder| folder.exists());
    let is_in_memory = is_in_memory(there.unwrap_or(Path::new("/")));
    let error = match is_in_memory {
        Ok(is_in_memory) if is_in_memory || section.on_disk => return None,
        Ok(_) => ContextError::OnDisk(folder.clone()),
        Err(error) => ContextError::Folder(folder.clone(), error),
    };
    Some(lacking(section, &error))
}

fn lacking(section: &ContextsSection, error: &ContextError) -> Problem {
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
    problem(line, "contexts.folder", error.to_string(), expected)
}

impl Opened {
    /// When the first of the cores began that this one goes on from.
    pub(crate) fn begun_unix_s(&self) -> u64 {
        self.start.begun_unix_s
    }

    /// The core goes on with them.
    pub(crate) fn resume(self, core: &mut Core) {
        let now = system::now();
        let resumed = core.resume(now, self.start, &self.stored, Box::new(self.file));
        let (ues, sessions) = (resumed.ues, resumed.sessions);
        let starts = self.start.starts;
        tracing::info!("goes on with {ues} UEs and {sessions} sessions; this is start {starts}");
    }
}

/// Says when contexts could not be stored, once for each time.
#[derive(Default)]
pub(crate) struct Watch(u64);

impl Watch {
    pub(crate) fn look(&mut self, core: &Core) {
        let (failures, why) = core.contexts_failed();
        if failures != self.0 {
            self.0 = failures;
            let why = why.unwrap_or_default();
            tracing::error!("contexts are not stored, and are tried again: {why}");
        }
    }
}
