//! `sluice core`: the 5G core as a daemon.
//!
//! | module | what it gives |
//! |---|---|
//! | [`config`] | `core.yaml` |
//! | [`convert`] | what the functions of the core are told of it |
//! | `needs` | what it needs of the machine |
//! | `boot`, `daemon`, `serve`, `ending` | start, the core with its parts, the loop, the end |
//! | [`nf`] | a program of some functions, beside the core's |
//! | `parts` | a concern each: charging, contexts, the database of subscribers, flow, refusals, trace |
//! | [`operators`] | what operators ask, the answers, and who gives them; metrics |
//! | [`api`] | the same by HTTP |
//! | `reload` | core.yaml, read again while the core runs |
#![forbid(unsafe_code)]

pub mod api;
mod boot;
pub mod config;
pub mod convert;
mod daemon;
mod ending;
mod needs;
pub mod nf;
pub mod operators;
mod parts;
mod reload;
mod serve;

use config::{CoreConfig, Loaded};
use needs::StartError;
use parts::{identities, tokens};
use serde_json::json;
use sluice_host::datagram_ring::RingEnd;
use sluice_host::signal::Shutdown;
use sluice_program::args::{CheckScope, DaemonArgs};
use sluice_program::check::{self, problems_json, refused_json, write_out};
use sluice_program::config::problem::Problem;
use sluice_program::exit::Exit;
use sluice_program::logging::{self, Verbosity};
use std::path::Path;

/// Runs until SIGTERM or SIGINT, or checks.
pub fn run(args: &DaemonArgs, verbosity: Verbosity) -> Exit {
    let file = &args.config;
    let loaded = CoreConfig::load(file);
    let configured = loaded.as_ref().map_or("info", |loaded| &loaded.config.log);
    logging::start(verbosity, configured);
    let mut loaded = match loaded {
        Ok(loaded) => loaded,
        Err(refused) => {
            eprintln!("{refused}");
            if args.json {
                write_out(&refused_json(&refused));
            }
            return Exit::Usage;
        }
    };
    let exposed = needs::of_file(file, &loaded.config);
    match args.check {
        Some(CheckScope::File) => loaded.warnings.extend(exposed.clone()),
        Some(CheckScope::Machine) => loaded.warnings.extend(needs::other_core(&loaded.config)),
        None => {}
    }
    check::show_warnings(file, &loaded.warnings);
    match (args.check, exposed) {
        (Some(CheckScope::File), _) => look(args, &loaded, &[]),
        (Some(CheckScope::Machine), exposed) => {
            let exposed = exposed.into_iter().map(StartError::from);
            let config = &loaded.config;
            let lacks = exposed.chain(needs::of_machine(config));
            let keys = tokens::check(config).into_iter();
            let keys = keys.chain(identities::of_core(config).err());
            look(args, &loaded, &lacks.chain(keys).collect::<Vec<_>>())
        }
        (None, Some(exposed)) => {
            tell(file, &[exposed]);
            Exit::Lacking
        }
        (None, None) => serve(file, &loaded.config),
    }
}

/// `--check`: whether it would start, for all that is lacking.
fn look(args: &DaemonArgs, loaded: &Loaded, lacks: &[StartError]) -> Exit {
    let file = &args.config;
    let problems: Vec<Problem> = lacks.iter().map(|lack| lack.problem.clone()).collect();
    tell(file, &problems);
    if args.json {
        let object = json!({
            "file": file.display().to_string(),
            "ok": problems.is_empty(),
            "problems": problems_json(&problems),
            "warnings": problems_json(&loaded.warnings),
            "summary": loaded.config.summary_json(),
        });
        write_out(&format!("{object:#}\n"));
    } else if problems.is_empty() {
        write_out(&format!(
            "{}: ok\n{}",
            file.display(),
            loaded.config.summary()
        ));
    }
    match lacks {
        [] => Exit::Done,
        lacks => exit_of(lacks),
    }
}

/// Whether to start again may help is told by the exit code, and whether the file is wrong.
fn exit_of(lacks: &[StartError]) -> Exit {
    let are = |exit| lacks.iter().filter(|lack| lack.exit == exit).count();
    match (are(Exit::Usage), are(Exit::Later)) {
        (1.., _) => Exit::Usage,
        (0, later) if later == lacks.len() => Exit::Later,
        _ => Exit::Lacking,
    }
}

fn tell(file: &Path, problems: &[Problem]) {
    for problem in problems {
        eprintln!("{}", problem.in_file(file));
    }
}

fn serve(file: &Path, config: &CoreConfig) -> Exit {
    match Shutdown::install() {
        Ok(shutdown) => serve_until(&shutdown, file, config, Vec::new()),
        Err(e) => {
            eprintln!("sluice core: {e}");
            Exit::Lacking
        }
    }
}

/// Whether keys of the file may be read by others, which is told: then no core starts with it.
pub fn is_exposed(file: &Path, config: &CoreConfig) -> bool {
    let exposed = needs::of_file(file, config);
    tell(file, exposed.as_slice());
    exposed.is_some()
}

/// Serves until `shutdown` asks for the end; N4 to UPFs of this process goes over `rings`.
pub fn serve_until(
    shutdown: &Shutdown,
    file: &Path,
    config: &CoreConfig,
    rings: Vec<RingEnd>,
) -> Exit {
    match boot::boot(file, config, shutdown, rings) {
        Ok(daemon) => {
            tracing::info!("ready");
            match serve::run(daemon, shutdown) {
                Ok(()) => Exit::Done,
                Err(e) => {
                    tracing::error!("SCTP's socket has failed: {e}");
                    Exit::Failed
                }
            }
        }
        Err(lacks) => {
            for lack in &lacks {
                tell(file, std::slice::from_ref(&lack.problem));
            }
            exit_of(&lacks)
        }
    }
}
