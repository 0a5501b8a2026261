//! `sluice nf`: a program of some functions, beside the core's, which it reaches as `wiring.transport` says.

mod functions;
mod program;
mod upfs;

use crate::config::CoreConfig;
use crate::needs::StartError;
use program::Program;
use sluice_bus_local::{Member, MemberError};
use sluice_host::signal::Shutdown;
use sluice_host::thread;
use sluice_program::args::{NfArgs, NfName};
use sluice_program::exit::Exit;
use sluice_program::logging::{self, Verbosity};
use sluice_sbi::Nf;
use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;
use upfs::Upfs;

/// How long a program waits for its core.
const JOIN_WITHIN: Duration = Duration::from_secs(5);

/// Runs until its core ends, or SIGTERM or SIGINT.
pub fn run(args: &NfArgs, verbosity: Verbosity) -> Exit {
    let file = &args.config;
    let loaded = CoreConfig::load(file);
    let configured = loaded.as_ref().map_or("info", |loaded| &loaded.config.log);
    logging::start(verbosity, configured);
    let config = match loaded {
        Ok(loaded) => loaded.config,
        Err(refused) => {
            eprintln!("{refused}");
            return Exit::Usage;
        }
    };
    let functions: BTreeSet<Nf> = args.functions.iter().map(|name| nf_of(*name)).collect();
    let functions: Vec<Nf> = functions.into_iter().collect();
    let name = program_name(&functions);
    let tell = |what: &dyn std::fmt::Display| eprintln!("{name}: {what}");
    let refuse = |what: &str| {
        tell(&format!("{}: wiring: {what}", file.display()));
        Exit::Usage
    };
    let Some(carrier) = config.wiring.carrier else {
        return refuse(
            "all functions are the core's own; expected wiring.transport: ring or socket",
        );
    };
    if let Some(own) = functions.iter().find(|nf| !config.wiring.is_apart(**nf)) {
        return refuse(&format!(
            "the {own} is the core's own; expected a program that has it"
        ));
    }
    if let Some(cpu) = args.cpu
        && let Err(e) = thread::pin(&[cpu])
    {
        tell(&e);
        return Exit::Lacking;
    }
    let shutdown = match Shutdown::install() {
        Ok(shutdown) => shutdown,
        Err(e) => {
            tell(&e);
            return Exit::Lacking;
        }
    };
    let upfs = match open_upfs(file, &config, &functions, &shutdown) {
        Ok(upfs) => upfs,
        Err(exit) => return exit,
    };
    let socket = config.wiring.socket(&config.control_socket);
    let member = match Member::join(&socket, carrier, &name, &functions, JOIN_WITHIN) {
        Ok(member) => member,
        Err(MemberError::Refused(why)) => {
            tell(&why);
            return Exit::Usage;
        }
        Err(e) => {
            tell(&format!("no core is reached at {}: {e}", socket.display()));
            return Exit::Later;
        }
    };
    let served = Program::new((file, &config), member, &functions, upfs)
        .and_then(|mut program| program.serve(&shutdown));
    match served {
        Ok(()) => Exit::Done,
        Err(e) => {
            tell(&e);
            Exit::Failed
        }
    }
}

/// Opens what a program with an SMF has towards UPFs.
fn open_upfs(
    file: &Path,
    config: &CoreConfig,
    functions: &[Nf],
    shutdown: &Shutdown,
) -> Result<Option<Upfs>, Exit> {
    if !functions.contains(&Nf::Smf) {
        return Ok(None);
    }
    let opened = Upfs::open(config, &|| shutdown.is_requested());
    opened.map_err(|StartError { problem, exit }| {
        eprintln!("{}", problem.in_file(file));
        exit
    })
}

fn nf_of(name: NfName) -> Nf {
    match name {
        NfName::Ausf => Nf::Ausf,
        NfName::Udm => Nf::Udm,
        NfName::Nrf => Nf::Nrf,
        NfName::Nssf => Nf::Nssf,
        NfName::Smf => Nf::Smf,
        NfName::Pcf => Nf::Pcf,
    }
}

fn program_name(functions: &[Nf]) -> String {
    let names = functions.iter().map(|nf| nf.to_string().to_lowercase());
    let names: Vec<String> = names.collect();
    format!("sluice nf {}", names.join(" "))
}
