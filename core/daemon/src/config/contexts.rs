//! `contexts` of core.yaml: where UE and session contexts are stored, so that they outlive the core.

use super::kinds;
use sluice_program::config::fields::{At, Fields};
use sluice_program::config::kind::{boolean, number};
use std::path::PathBuf;

/// Where contexts of UEs and sessions are stored.
#[derive(Clone, PartialEq, Debug)]
pub struct ContextsSection {
    /// The folder.
    pub folder: At<PathBuf>,
    /// The most that they may take, in units of 1,048,576 octets.
    pub most_mib: u32,
    /// Whether the folder may be on a disk.
    pub on_disk: bool,
}

impl ContextsSection {
    pub(super) fn read(fields: &mut Fields<'_, '_>) -> Option<Self> {
        let folder = fields.required("folder", &kinds::file());
        let most = number(16, 65_536, "MiB");
        let most_mib = fields.or("most_mib", "1024", &most).value;
        let on_disk = fields.or("on_disk", "false", &boolean()).value;
        Some(Self {
            folder: folder?,
            most_mib,
            on_disk,
        })
    }
}
