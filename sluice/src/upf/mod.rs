//! `sluice upf`: the user plane function as a daemon.
//!
//! `boot` puts the parts on threads: one for each worker, one for the control core (this one),
//! one that listens for `sluice ctl`, one that listens for Prometheus.

pub mod boot;
pub mod control;
mod ctl;
mod links;
mod load;
pub mod metrics;
mod migrate_cmd;
pub mod n4;
pub(crate) mod needs;
mod node_load;
mod numa;
mod ports;
mod refusals;
mod reload;
pub mod scaling;
mod steering;
mod trace;
mod view;

use crate::check;
use crate::cli::args::UpfArgs;
use crate::config::{Machine, UpfConfig};
use crate::exit::Exit;
use crate::logging::{self, Verbosity};
use control::Ended;
use sluice_host::signal::Shutdown;
use sluice_program::lines;

/// Runs until SIGTERM or SIGINT.
pub fn run(args: &UpfArgs, verbosity: Verbosity) -> Exit {
    if let Some(scope) = args.check {
        return check::run(args, scope, verbosity);
    }
    let loaded = match UpfConfig::load(&args.config, &Machine::this()) {
        Ok(loaded) => loaded,
        Err(refused) => {
            eprintln!("{refused}");
            return Exit::Usage;
        }
    };
    logging::start(verbosity, &loaded.config.log);
    check::show_warnings(&args.config, &loaded.warnings);
    let shutdown = match Shutdown::install() {
        Ok(shutdown) => shutdown,
        Err(e) => {
            eprintln!("sluice upf: {e}");
            return Exit::Lacking;
        }
    };
    match boot::boot(&loaded.config, &args.config, shutdown, None) {
        Ok(upf) => {
            tracing::info!("ready");
            match upf.run() {
                Ended::AsAsked => Exit::Done,
                Ended::WorkerDied => Exit::Failed,
            }
        }
        Err(e) => {
            eprintln!("sluice upf: {}", e.in_file(&args.config));
            Exit::Lacking
        }
    }
}
