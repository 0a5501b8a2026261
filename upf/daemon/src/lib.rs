//! `sluice upf`: the user plane function as a daemon.
//!
//! `boot` puts the parts on threads: one for each worker, one for the control core (this one),
//! one that listens for `sluice ctl`, one that listens for Prometheus.
//!
//! | module | what it gives |
//! |---|---|
//! | [`config`] | `upf.yaml` |
//! | `check`, `needs`, `numa` | what it needs of the machine |
//! | [`boot`], [`boot_error`], [`control`] | start, and why it failed; the loop of the control core |
//! | [`n4`], `refusals` | sockets and rings of N4, and what was refused |
//! | `ctl`, `view`, `trace`, `reload`, `migrate_cmd` | what `sluice ctl` asks, and the answers |
//! | [`metrics`] | the same for Prometheus |
//! | [`devices`], `links`, `steering`, `load`, `node_load`, [`scaling`] | ports and workers |
#![forbid(unsafe_code)]

pub mod boot;
pub mod boot_error;
mod check;
pub mod config;
pub mod control;
mod ctl;
pub mod devices;
mod links;
mod load;
pub mod metrics;
mod migrate_cmd;
pub mod n4;
pub(crate) mod needs;
mod node_load;
mod numa;
mod refusals;
mod reload;
pub mod scaling;
mod steering;
mod trace;
mod view;

use config::{Machine, UpfConfig};
use control::Ended;
use devices::Dpdk;
use sluice_host::signal::Shutdown;
use sluice_program::args::DaemonArgs;
use sluice_program::exit::Exit;
use sluice_program::lines;
use sluice_program::logging::{self, Verbosity};

/// Runs until SIGTERM or SIGINT.
pub fn run(args: &DaemonArgs, verbosity: Verbosity) -> Exit {
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
    match boot::boot::<Dpdk>(&loaded.config, &args.config, shutdown, None) {
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
