//! `sluice nf`: a program of some functions, beside the core's, which it reaches as `wiring.transport` says.

mod drain;
mod front;
mod functions;
mod gnbs;
mod program;
mod subscribers;
mod to_core;
mod upfs;

use crate::config::CoreConfig;
use crate::needs::StartError;
use crate::parts::{contexts, repository, services};
use gnbs::Gnbs;
use program::Program;
use sluice_bus_http2::SharedServices;
use sluice_bus_local::{Carrier, Member, MemberError};
use sluice_host::signal::Shutdown;
use sluice_host::thread;
use sluice_program::args::{NfArgs, NfName};
use sluice_program::exit::Exit;
use sluice_program::logging::{self, Verbosity};
use sluice_sbi::{Instance, Nf, Place};
use sluice_udr::Udr;
use std::collections::BTreeSet;
use std::time::Duration;
use to_core::{Alone, ToCore};
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
    if args.functions.contains(&NfName::N2) {
        front::run(args, &config)
    } else {
        run_functions(args, &config)
    }
}

fn run_functions(args: &NfArgs, config: &CoreConfig) -> Exit {
    let file = &args.config;
    let functions: BTreeSet<Nf> = args
        .functions
        .iter()
        .filter_map(|name| nf_of(*name))
        .collect();
    let functions: Vec<Nf> = functions.into_iter().collect();
    let name = program_name(&functions, args.instance);
    let tell = |what: &dyn std::fmt::Display| eprintln!("{name}: {what}");
    let refuse = |what: &str| {
        tell(&format!("{}: wiring: {what}", file.display()));
        Exit::Usage
    };
    let Some(carrier) = config.wiring.carrier else {
        return refuse(
            "all functions are the core's own; expected wiring.transport: ring, socket or http2",
        );
    };
    if args.alone && carrier != Carrier::Http2 {
        return refuse("the program is to be alone; expected wiring.transport: http2");
    }
    if let Some(own) = functions.iter().find(|nf| !config.wiring.is_apart(**nf)) {
        return refuse(&format!(
            "the {own} is the core's own; expected a program that has it"
        ));
    }
    let first = functions.first().copied().unwrap_or(Nf::Udm);
    let instance = config
        .wiring
        .instance_of(Place::from(first).at(args.instance));
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
    let is_given = || shutdown.is_requested();
    let opened = Doors::open(config, (&functions, instance), &is_given);
    let doors = match opened.map_err(|lack| lack.tell(file)) {
        Ok(doors) => doors,
        Err(exit) => return exit,
    };
    let hosted = (functions.as_slice(), instance);
    let to_core = match to_core((args, config, carrier), &name, hosted, &doors) {
        Ok(to_core) => to_core,
        Err(exit) => return exit,
    };
    let served = Program::new((file, config), to_core, hosted, doors)
        .and_then(|mut program| program.serve(&shutdown));
    match served {
        Ok(()) => Exit::Done,
        Err(e) => {
            tell(&e);
            Exit::Failed
        }
    }
}

/// Way of a program to its core, unless it is alone; the exit code without it, which was told.
fn to_core(
    (args, config, carrier): (&NfArgs, &CoreConfig, Carrier),
    name: &str,
    hosted: (&[Nf], Instance),
    doors: &Doors,
) -> Result<ToCore, Exit> {
    if args.alone {
        let alone = alone(config, hosted, doors);
        return alone.map_err(|lacks| {
            let told = lacks.into_iter().map(|lack| lack.tell(&args.config));
            told.fold(Exit::Lacking, |_, exit| exit)
        });
    }
    join(config, carrier, name, hosted).map_err(|(exit, why)| {
        eprintln!("{name}: {why}");
        exit
    })
}

/// Settings of a program without a core.
fn alone(
    config: &CoreConfig,
    (functions, instance): (&[Nf], Instance),
    doors: &Doors,
) -> Result<ToCore, Vec<StartError>> {
    let place = |nf: &Nf| Place::from(*nf).at(instance.number);
    let places: Vec<Place> = functions.iter().map(place).collect();
    let beside = doors.udr.as_ref().map(|(_, beside)| beside);
    Alone::new(config, &places, beside).map(ToCore::Alone)
}

/// Joins the core; the exit code without it, and why.
fn join(
    config: &CoreConfig,
    carrier: Carrier,
    name: &str,
    (functions, instance): (&[Nf], Instance),
) -> Result<ToCore, (Exit, String)> {
    let socket = config.wiring.socket(&config.control_socket);
    let joined = Member::join_as(instance, &socket, carrier, name, functions, JOIN_WITHIN);
    let joined = joined.map(|member| ToCore::Joined(member.into()));
    joined.map_err(|error| match error {
        MemberError::Refused(why) => (Exit::Usage, why),
        e @ MemberError::Io(_) => {
            let why = format!("no core is reached at {}: {e}", socket.display());
            (Exit::Later, why)
        }
    })
}

/// Ways of a program to the world, and what outlives it.
struct Doors {
    gnbs: Option<Gnbs>,
    upfs: Option<Upfs>,
    udr: Option<(Udr, repository::Beside)>,
    contexts: Option<contexts::Opened>,
    services: Option<SharedServices>,
}

impl Doors {
    /// Opens the doors that functions need; `is_given` says whether the program is not to start any more.
    fn open(
        config: &CoreConfig,
        (functions, instance): (&[Nf], Instance),
        is_given: &dyn Fn() -> bool,
    ) -> Result<Self, StartError> {
        let has = |nf| functions.contains(&nf);
        let section = config.contexts.as_ref();
        let store = functions.iter().find_map(|nf| config.wiring.store_of(*nf));
        let contexts = section
            .zip(store)
            .map(|(section, store)| contexts::open_of_program(section, store, is_given))
            .transpose()?;
        Ok(Self {
            gnbs: has(Nf::Amf).then(|| Gnbs::open(config)).transpose()?,
            upfs: has(Nf::Smf)
                .then(|| Upfs::open(config))
                .transpose()?
                .flatten(),
            udr: has(Nf::Udr).then(|| repository::open(config)).transpose()?,
            contexts,
            services: open_services(config, functions, instance)?,
        })
    }
}

/// Server of a program with these functions; none of one that has no HTTP.
fn open_services(
    config: &CoreConfig,
    functions: &[Nf],
    instance: Instance,
) -> Result<Option<SharedServices>, StartError> {
    if config.wiring.carrier != Some(Carrier::Http2) {
        return Ok(None);
    }
    let place = |nf: &Nf| Place::from(*nf).at(instance.number);
    let places: Vec<Place> = functions.iter().map(place).collect();
    let mut programs = config.wiring.programs.iter();
    let its = programs.find(|one| one.places().any(|place| places.contains(&place)));
    let address = its.map_or(config.sbi.listen.value, |one| config.sbi_address(one));
    services::open(config, address, &places).map(Some)
}

/// The function of a name; none of the front's.
fn nf_of(name: NfName) -> Option<Nf> {
    Some(match name {
        NfName::Amf => Nf::Amf,
        NfName::Ausf => Nf::Ausf,
        NfName::Udm => Nf::Udm,
        NfName::Udr => Nf::Udr,
        NfName::Nrf => Nf::Nrf,
        NfName::Nssf => Nf::Nssf,
        NfName::Smf => Nf::Smf,
        NfName::Pcf => Nf::Pcf,
        NfName::N2 => return None,
    })
}

fn program_name(functions: &[Nf], instance: u8) -> String {
    let names = functions.iter().map(|nf| nf.to_string().to_lowercase());
    let names: Vec<String> = names.collect();
    let numbered = match instance {
        0 => String::new(),
        number => format!(" --instance {number}"),
    };
    format!("sluice nf {}{numbered}", names.join(" "))
}
