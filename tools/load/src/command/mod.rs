//! `sluice load`: a user-plane generator and sink, for this UPF or any other.
//!
//! | file | what it does |
//! |---|---|
//! | `args`, `units`, `scenario` | what is wanted, by options or by a file |
//! | `sessions` | sessions by PFCP, or given tunnels |
//! | `trial` | from options to the plan of a trial |
//! | `world` | ports |
//! | `drive` | runs trials and the search |
//! | `show` | what came of it, for people |

pub mod args;
pub mod cli;
mod drive;
mod run;
mod scenario;
mod sessions;
pub mod show;
mod testbed;
mod trial;
pub mod units;

use std::ffi::OsString;
use std::fmt;

use clap::Parser;

use args::LoadArgs;
use cli::Cli;
use sluice_program::exit::Exit;

/// Why there is no result.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    why: String,
}

impl Failure {
    fn usage(why: impl fmt::Display) -> Self {
        Self::new(Exit::Usage, why)
    }

    fn lacking(why: impl fmt::Display) -> Self {
        Self::new(Exit::Lacking, why)
    }

    fn failed(why: impl fmt::Display) -> Self {
        Self::new(Exit::Failed, why)
    }

    fn new(exit: Exit, why: impl fmt::Display) -> Self {
        Self {
            exit,
            why: why.to_string(),
        }
    }
}

/// Does what the options, or the file that they name, say.
pub fn run(args: &LoadArgs) -> Exit {
    let whole;
    let args = match with_file(args, std::env::args_os()) {
        Ok(None) => args,
        Ok(Some(found)) => {
            whole = found;
            &whole
        }
        Err(failure) => return end(&failure),
    };
    match run::all(args) {
        Ok(exit) => exit,
        Err(failure) => end(&failure),
    }
}

fn end(failure: &Failure) -> Exit {
    for line in failure.why.lines() {
        eprintln!("sluice load: {line}");
    }
    failure.exit
}

/// The options with those of the file before them, so that what stands on the command line wins.
fn with_file(
    args: &LoadArgs,
    line: impl Iterator<Item = OsString>,
) -> Result<Option<LoadArgs>, Failure> {
    let Some(file) = &args.config else {
        return Ok(None);
    };
    let why = |e| Failure::usage(format!("{}: {e}", file.display()));
    let text = std::fs::read_to_string(file).map_err(why)?;
    let options =
        scenario::options(file, &text).map_err(|lines| Failure::usage(lines.join("\n")))?;
    let mut line: Vec<OsString> = line.collect();
    line.splice(1..1, options);
    let parsed = Cli::try_parse_from(line);
    let together = |e: clap::Error| {
        let said = e.to_string();
        let said = said.lines().next().unwrap_or_default();
        Failure::usage(format!("{} and the command line: {said}", file.display()))
    };
    Ok(Some(parsed.map_err(together)?.load))
}
