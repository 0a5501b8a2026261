//! `sluice upf --check`: validation of a configuration file against this machine.

use crate::config::{Loaded, Machine, Problem, UpfConfig};
use crate::needs;
use serde_json::json;
use sluice_program::args::{CheckScope, DaemonArgs};
use sluice_program::exit::Exit;
use sluice_program::logging::{self, Verbosity};
use std::path::Path;

pub use sluice_program::check::{problems_json, refused_json, show_warnings, write_out};

/// Checks the file, and, unless told not to, whether this machine has what it names; nothing of that is
/// opened for good.
pub fn run(args: &DaemonArgs, scope: CheckScope, verbosity: Verbosity) -> Exit {
    logging::start(verbosity, "info");
    let file = &args.config;
    match UpfConfig::load(file, &Machine::this()) {
        Ok(mut loaded) => {
            let problems = match scope {
                CheckScope::File => Vec::new(),
                CheckScope::Machine => {
                    let found = needs::of_machine(&loaded.config);
                    loaded.warnings.extend(found.warnings);
                    found.problems
                }
            };
            show_warnings(file, &loaded.warnings);
            for problem in &problems {
                eprintln!("{}", problem.in_file(file));
            }
            match args.json {
                true => write_out(&read_json(file, &loaded, &problems)),
                false if problems.is_empty() => write_out(&accepted(file, &loaded)),
                false => {}
            }
            match problems.is_empty() {
                true => Exit::Done,
                false => Exit::Lacking,
            }
        }
        Err(refused) => {
            eprintln!("{refused}");
            if args.json {
                write_out(&refused_json(&refused));
            }
            Exit::Usage
        }
    }
}

fn accepted(file: &Path, loaded: &Loaded) -> String {
    format!("{}: ok\n{}", file.display(), loaded.config.summary())
}

fn read_json(file: &Path, loaded: &Loaded, problems: &[Problem]) -> String {
    let object = json!({
        "file": file.display().to_string(),
        "ok": problems.is_empty(),
        "problems": problems_json(problems),
        "warnings": problems_json(&loaded.warnings),
        "summary": loaded.config.summary_json(),
    });
    format!("{object:#}\n")
}
