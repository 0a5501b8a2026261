//! YAML of the documents: whole files, and parts that are set into a small file that is right.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_yaml_ng::{Mapping, Value};

use super::blocks::Block;
use super::sluice;

/// A scenario that parts of scenarios are set into.
const SCENARIO: &str = "n4: {smf: 198.18.4.2, upf: 198.18.4.1}\ngnbs: {n3: 198.18.3.11}\n\
                        ues: {count: 12, address: 10.60.0.2}\nsteps: [{attach: }]";

/// The program that a file is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Upf,
    Core,
    Ran,
    Load,
    Lab,
}

/// Where it stands and what its program said, if that was no.
pub fn complaint(root: &Path, block: &Block) -> Option<String> {
    let told = match file_of(root, &block.text) {
        Ok((kind, text)) => refused(kind, &text)?,
        Err(why) => why,
    };
    Some(format!("{}: {told}", block.place()))
}

/// The whole file for a block, and whose it is.
fn file_of(root: &Path, text: &str) -> Result<(Kind, String), String> {
    let value: Value = serde_yaml_ng::from_str(text).map_err(|e| e.to_string())?;
    let keys = match &value {
        Value::Sequence(_) => {
            let steps = Mapping::from_iter([(Value::from("steps"), value)]);
            return Ok((Kind::Ran, set_into(SCENARIO, &steps)?));
        }
        Value::Mapping(map) => map,
        _ => return Err("neither a map nor a list".to_owned()),
    };
    let has = |all: &[&str]| all.iter().all(|key| keys.contains_key(*key));
    if has(&["paper", "series"]) {
        return Ok((Kind::Lab, text.to_owned()));
    }
    if has(&["gnbs", "ues", "steps"]) {
        return Ok((Kind::Ran, text.to_owned()));
    }
    if has(&["ues", "steps"]) {
        return Ok((Kind::Ran, set_into(SCENARIO, keys)?));
    }
    if has(&["n3", "n6"]) {
        return Ok((Kind::Load, text.to_owned()));
    }
    if has(&["interfaces", "ports"]) {
        return Ok((Kind::Upf, text.to_owned()));
    }
    if has(&["plmns", "n2"]) {
        return Ok((Kind::Core, text.to_owned()));
    }
    for (kind, reference, base) in [
        (Kind::Upf, "docs/upf.yaml", "docs/examples/upf.minimal.yaml"),
        (Kind::Core, "docs/core.yaml", "docs/examples/core.yaml"),
    ] {
        if are_keys_of(&read(root, reference)?, keys)? {
            return Ok((kind, set_into(&read(root, base)?, keys)?));
        }
    }
    Err("of none of the programs; mark it `<!-- not checked: REASON -->`".to_owned())
}

fn read(root: &Path, name: &str) -> Result<String, String> {
    fs::read_to_string(root.join(name)).map_err(|e| format!("{name}: {e}"))
}

/// Whether a reference file has all these keys at its top, also as `#key:` alternatives.
fn are_keys_of(reference: &str, keys: &Mapping) -> Result<bool, String> {
    let has = |key: &str| {
        let mut lines = reference.lines().map(|line| line.trim_start_matches('#'));
        lines.any(|line| line.strip_prefix(key).is_some_and(|l| l.starts_with(':')))
    };
    let names: Option<Vec<&str>> = keys.keys().map(Value::as_str).collect();
    let names = names.ok_or("a key that is no text")?;
    Ok(names.into_iter().all(has))
}

/// A file with some of its top-level keys as a part has them.
fn set_into(base: &str, part: &Mapping) -> Result<String, String> {
    let mut whole: Mapping = serde_yaml_ng::from_str(base).map_err(|e| e.to_string())?;
    whole.extend(part.clone());
    serde_yaml_ng::to_string(&whole).map_err(|e| e.to_string())
}

/// What its program says of a file that it does not take.
fn refused(kind: Kind, text: &str) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("block.yaml");
    fs::write(&path, text).expect("room for it");
    fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("our own file");
    let file = path.to_str().expect("UTF-8");
    let options;
    let words: Vec<&str> = match kind {
        Kind::Upf => vec!["upf", "-c", file, "--check=file"],
        Kind::Core => vec!["core", "-c", file, "--check=file"],
        Kind::Ran => vec!["ran", "-c", file, "--check"],
        // tools/lab/tests/documents.rs gives it to the lab.
        Kind::Lab => return None,
        Kind::Load => {
            options = load_options(text);
            // The help is shown when all before it was right.
            let options = options.iter().map(String::as_str);
            ["load"]
                .into_iter()
                .chain(options)
                .chain(["--help"])
                .collect()
        }
    };
    let output = sluice(&words);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    let is_right = output.status.success() && !said.contains("warning");
    (!is_right).then(|| format!("{words:?}:\n{said}\n{text}"))
}

/// A scenario of `sluice load` as its options (their names are the keys).
fn load_options(text: &str) -> Vec<String> {
    let map: Mapping = serde_yaml_ng::from_str(text).expect("a map, as its keys were seen");
    let option = |(key, value): (&Value, &Value)| {
        let name = key.as_str().unwrap_or_default().replace('_', "-");
        let value = serde_yaml_ng::to_string(value).unwrap_or_default();
        format!("--{name}={}", value.trim().trim_matches('\''))
    };
    map.iter().map(option).collect()
}
