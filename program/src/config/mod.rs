//! Configuration files: from text to checked values.
//!
//! A file is parsed with line numbers ([`yaml`]), read section by section and key by key
//! ([`fields`]), each value by its [`kind`]; what is wrong is collected in a [`problem::Report`].

pub mod example;
pub mod fields;
pub mod ip;
pub mod ipv4;
pub mod ipv6;
pub mod kind;
pub mod problem;
pub mod suggest;
pub mod yaml;

use fields::Fields;
pub use problem::{KnownKey, Problem, Refused, Report};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// A file larger than this is not a configuration.
const FILE_MAX_BYTES: u64 = 1 << 20;

/// The text of a file that is small enough to be a configuration.
///
/// # Errors
/// It cannot be read, is too large, or is no text.
pub fn read_text(file: &Path) -> Result<String, Refused> {
    bounded_text(file).map_err(|what| Refused {
        file: file.to_owned(),
        problems: vec![Problem {
            line: 0,
            key: String::new(),
            what,
            expected: "a readable YAML file of at most 1 MiB".to_owned(),
        }],
    })
}

fn bounded_text(file: &Path) -> Result<String, String> {
    let cannot = |e: std::io::Error| format!("cannot be read: {e}");
    let opened = File::open(file).map_err(cannot)?;
    // Devices and pipes do not tell how much they have to say.
    let mut bytes = Vec::new();
    let mut bounded = opened.take(FILE_MAX_BYTES + 1);
    bounded.read_to_end(&mut bytes).map_err(cannot)?;
    if bytes.len() as u64 > FILE_MAX_BYTES {
        return Err(format!("has more than {FILE_MAX_BYTES} bytes"));
    }
    let text = String::from_utf8(bytes);
    text.map_err(|e| format!("is not UTF-8 from byte {} on", e.utf8_error().valid_up_to()))
}

/// A configuration, and what came to light while it was read.
#[derive(Clone, Debug)]
pub struct Loaded<C> {
    /// The configuration.
    pub config: C,
    /// Warnings by line: settings that work but may not be meant.
    pub warnings: Vec<Problem>,
    /// Every key that there is, with its default. Alternatives that the file does not use are
    /// missing, as are keys of lists that are empty.
    pub known_keys: Vec<KnownKey>,
}

/// Reads the text of a file key by key, and checks what sections must agree on.
///
/// # Errors
/// All that is wrong with it, each with line, key, problem and what was expected.
pub fn load<C>(
    file: &Path,
    text: &str,
    read: impl FnOnce(&mut Fields<'_, '_>) -> C,
    check: impl FnOnce(&C, &mut Report),
) -> Result<Loaded<C>, Refused> {
    let mut report = Report::default();
    let config = match yaml::parse(text) {
        Err(e) => {
            report.problem(e.line, "", e.what, e.expected);
            None
        }
        Ok(root) => Fields::root(&root, &mut report, read),
    };
    if let Some(config) = &config {
        check(config, &mut report);
    }
    let (problems, warnings, known_keys) = report.finish();
    match config {
        Some(config) if problems.is_empty() => Ok(Loaded {
            config,
            warnings,
            known_keys,
        }),
        _ => Err(Refused {
            file: file.to_owned(),
            problems,
        }),
    }
}
