//! Each cause that a UE or a session is refused for has words of its own: why, and what to do.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn core(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Sources of a function but for those that explain, as one text.
fn sources(function: &str) -> String {
    fn add(folder: &Path, text: &mut String) {
        for path in fs::read_dir(folder).unwrap().map(|one| one.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy();
            if path.is_dir() {
                add(&path, text);
            } else if name.ends_with(".rs") && name != "refusal_text.rs" {
                text.push_str(&fs::read_to_string(&path).unwrap());
            }
        }
    }
    let mut text = String::new();
    add(&core(function), &mut text);
    text
}

/// What stands behind `prefix` in capitals.
fn names<'a>(text: &'a str, prefix: &str) -> BTreeSet<&'a str> {
    let parts = text.split(prefix).skip(1);
    let name = |part: &'a str| {
        let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
        let end = part.find(|c| !is_name(c)).unwrap_or(part.len());
        part[..end].trim_end_matches('_')
    };
    parts.map(name).filter(|name| name.len() > 1).collect()
}

/// Causes by which no UE is refused: those that it tells us, and those of a message or of a session that
/// goes on without.
const NO_REFUSALS: &[&str] = &[
    "INSUFFICIENT_USER_PLANE_RESOURCES",
    "MAC_FAILURE",
    "NGKSI_IN_USE",
    "NON_5G_AUTHENTICATION",
    "NOT_COMPATIBLE_WITH_STATE",
    "SYNCH_FAILURE",
];

/// Causes that end sessions, and those that UEs tell in a STATUS.
const NO_REFUSALS_OF_SESSIONS: &[&str] = &[
    "INVALID_PTI",
    "INVALID_SESSION_IDENTITY",
    "MESSAGE_TYPE",
    "NOT_SUPPORTED",
    "PTI_MISMATCH",
    "REACTIVATION_REQUESTED",
    "REGULAR_DEACTIVATION",
];

#[test]
fn every_cause_that_refuses_has_its_reason_and_its_remedy() {
    let of_ues = fs::read_to_string(core("../proto/n1/src/cause.rs")).unwrap();
    let known: BTreeSet<_> = of_ues
        .lines()
        .filter_map(|line| line.trim().split_once(" = ").map(|(name, _)| name))
        .filter(|name| {
            name.bytes()
                .all(|c| c.is_ascii_uppercase() || c == b'_' || c.is_ascii_digit())
        })
        .collect();
    assert!(known.len() > 20, "{known:?}");
    let amf = sources("amf/src");
    let told = fs::read_to_string(core("amf/src/refusal_text.rs")).unwrap();
    let told = names(&told, "n1::Cause::");
    let used: BTreeSet<_> = names(&amf, "Cause::");
    let used: BTreeSet<_> = used.intersection(&known).copied().collect();
    assert!(used.len() > 10, "{used:?}");
    let is_silent = |name: &&&str| !told.contains(*name) && !NO_REFUSALS.contains(*name);
    let silent: Vec<_> = used.iter().filter(is_silent).collect();
    assert!(silent.is_empty(), "without words: {silent:?}");
    let smf = sources("smf/src");
    let told = fs::read_to_string(core("smf/src/refusal_text.rs")).unwrap();
    let told = names(&told, "SessionCause::");
    let used = names(&smf, "SessionCause::");
    assert!(used.len() > 8, "{used:?}");
    let is_silent =
        |name: &&&str| !told.contains(*name) && !NO_REFUSALS_OF_SESSIONS.contains(*name);
    let silent: Vec<_> = used.iter().filter(is_silent).collect();
    assert!(silent.is_empty(), "without words: {silent:?}");
}
