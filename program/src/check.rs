//! Output of `--check` for a configuration file.

use crate::config::problem::{Problem, Refused};
use serde_json::{Value, json};
use std::io::Write;
use std::path::Path;

/// Writes what works but may not be meant to standard error.
pub fn show_warnings(file: &Path, warnings: &[Problem]) {
    for warning in warnings {
        eprintln!("warning: {}", warning.in_file(file));
    }
}

/// Output of `--json` for a file with errors.
pub fn refused_json(refused: &Refused) -> String {
    let object = json!({
        "file": refused.file.display().to_string(),
        "ok": false,
        "problems": problems_json(&refused.problems),
    });
    format!("{object:#}\n")
}

/// Problems or warnings, each with line, key, problem and what was expected.
pub fn problems_json(problems: &[Problem]) -> Value {
    let object = |problem: &Problem| {
        json!({
            "line": problem.line,
            "key": problem.key,
            "problem": problem.what,
            "expected": problem.expected,
        })
    };
    Value::from_iter(problems.iter().map(object))
}

/// A reader that went away, such as `head`, is no error of ours.
pub fn write_out(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
