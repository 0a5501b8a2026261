//! The kept inputs: samples made by generators here, and regressions found by fuzzing.
//!
//! `cargo run -p sluice-fuzz` writes the samples anew; they are the same each time. Regressions
//! are kept as they were found, under a name that says the rule they once broke.

mod api;
mod config;
mod control;
mod core;
mod frames;
mod gtpu;
mod n4;
mod path;
mod pfcp;
mod rules;
mod sctp;
mod session;
mod write;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// One input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its name: what it is.
    pub name: String,
    /// Its octets.
    pub bytes: Vec<u8>,
}

impl Entry {
    fn new(name: &str, bytes: Vec<u8>) -> Self {
        Self {
            name: name.to_owned(),
            bytes,
        }
    }
}

/// The samples of a target, from its generator.
pub fn generated(target: &str) -> Vec<Entry> {
    match target {
        "pfcp_parse" => pfcp::messages(),
        "gtpu_parse" => gtpu::messages(),
        "packets" => frames::frames(),
        "n4_endpoint" => n4::scripts(),
        "packet_path" => path::scripts(),
        "config" => config::files(),
        "flow_description" => config::flow_descriptions(),
        "ngap_parse" => core::ngap(),
        "nas_parse" => core::nas(),
        "eap_parse" => core::eap(),
        "sctp_input" => sctp::scripts(),
        "api_request" => api::requests(),
        "session_machine" => session::scripts(),
        "control_core" => control::scripts(),
        _ => Vec::new(),
    }
}

/// The inputs of a target as they lie in the project: samples and regressions, by name.
pub fn kept(target: &str) -> Vec<Entry> {
    let mut entries = read(&folder("corpus", target));
    entries.extend(read(&folder("regressions", target)));
    if target == "config" {
        entries.push(config::example());
    }
    entries
}

/// Writes the samples of a target into its folder, and removes those that are no more.
pub fn rewrite(target: &str) -> io::Result<usize> {
    let folder = folder("corpus", target);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let entries = generated(target);
    for entry in &entries {
        fs::write(folder.join(&entry.name), &entry.bytes)?;
    }
    Ok(entries.len())
}

/// `fuzz/KIND/TARGET`.
pub fn folder(kind: &str, target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join(kind)
        .join(target)
}

/// The files of a folder; none if there is no folder.
fn read(folder: &Path) -> Vec<Entry> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<_> = files
        .filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            let bytes = fs::read(file.path()).ok()?;
            Some(Entry { name, bytes })
        })
        .collect();
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    entries
}
