//! Start-up: from a checked configuration to a core with its doors open.

use crate::config::CoreConfig;
use crate::daemon::{Daemon, InForce};
use crate::needs::{self, StartError, problem};
use crate::operators::request::Ctl;
use crate::parts::charging::Charging;
use crate::parts::contexts;
use crate::parts::programs::Programs;
use crate::parts::store::{self, Opened};
use crate::parts::subscriber_sync::{OfDatabase, SubscriberSync};
use crate::{api, config, convert};
use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_core_runtime::charging::Records;
use sluice_core_runtime::{N2, N4, Runtime, system};
use sluice_host::datagram_ring::RingEnd;
use sluice_host::netns::Ns;
use sluice_host::signal::Shutdown;
use sluice_pcf::Pcf;
use sluice_program::config::problem::Problem;
use sluice_sbi::Nf;
use sluice_sctp::OpeningError;
use sluice_smf::Smf;
use sluice_udm::Udm;
use sluice_udr::{Provisioned, Udr};
use sluice_wiring::{Apart, Core};
use std::path::Path;

/// Opens everything; `rings` lead to UPFs of this process. What was opened closes again if a later step fails.
pub(crate) fn boot(
    file: &Path,
    config: &CoreConfig,
    shutdown: &Shutdown,
    rings: Vec<RingEnd>,
) -> Result<Daemon, Vec<StartError>> {
    let one = |lack| vec![lack];
    let step = |doing: &str, why: &dyn std::fmt::Display| vec![StartError::from(step(doing, why))];
    let opened = config.database.as_ref().map(store::open).transpose();
    let opened = opened.map_err(one)?;
    let is_given = || shutdown.is_requested();
    let contexts = config.contexts.as_ref();
    let contexts = contexts
        .map(|section| contexts::open(section, &config.wiring, &is_given))
        .transpose();
    let contexts = contexts.map_err(one)?;
    let begun_unix_s = contexts.as_ref().map(contexts::Opened::begun_unix_s);
    let (core, of_database) = functions(config, opened.as_ref(), begun_unix_s)?;
    let apart = Apart::ALL.into_iter();
    let apart: Vec<Nf> = apart.filter(|nf| config.wiring.is_apart(*nf)).collect();
    let mut core = core.without(&apart);
    core.identify(&config.wiring.further_instances(), &mut system::random);
    let Doors { n2, n4, records } = doors(config, rings).map_err(one)?;
    let mut runtime = Runtime::new(core, n2, n4).map_err(|e| step("event loop", &e))?;
    if let Some(contexts) = contexts {
        let waker = runtime.waker();
        let resumed = contexts.resume(runtime.core_mut(), move || waker.wake());
        resumed.map_err(|e| step("a thread", &e))?;
    }
    runtime.set_overload_automatic(config.overload.automatic);
    let waker = runtime.waker();
    let subscribers = opened
        .map(|opened| opened.serve(move || waker.wake()))
        .transpose();
    let subscribers = subscribers.map_err(|e| step("a thread", &e))?;
    if let Some(subscribers) = &subscribers {
        runtime
            .core_mut()
            .write_journal_with(subscribers.journal_writer());
    }
    let programs = Programs::listen(&config.wiring, &config.control_socket, file);
    let mut programs = programs.map_err(one)?;
    if let Some(programs) = &mut programs {
        programs.start(&mut runtime, &is_given).map_err(one)?;
    }
    // Network functions register.
    runtime.core_mut().time(system::now());
    let waker = runtime.waker();
    let ctl = Ctl::listen(&config.control_socket, move || waker.wake()).map_err(|e| {
        let what = format!("{} cannot be used: {e}", config.control_socket.display());
        let expected = "a path of its own for each core, in a folder that it may write to";
        one(StartError::of(
            problem(0, "control_socket", what, expected),
            &e,
        ))
    })?;
    needs::api(config, |listener, access| {
        api::Server::start(listener, access, ctl.questions())
    })
    .map_err(one)?;
    let in_force = InForce {
        file: file.to_owned(),
        running: config.clone(),
    };
    let daemon = Daemon::new(
        runtime,
        ctl,
        Charging::new(records),
        SubscriberSync::new(subscribers, of_database),
        programs,
        in_force,
    );
    daemon.watch(shutdown).map_err(|e| step("signals", &e))?;
    Ok(daemon)
}

/// N2, of a core whose AMF is its own, N4 and charging records, of one whose SMF is.
struct Doors {
    n2: Option<N2>,
    n4: Option<N4>,
    records: Option<Records>,
}

fn doors(config: &CoreConfig, rings: Vec<RingEnd>) -> Result<Doors, StartError> {
    let ns = Ns::current().map_err(|e| StartError::from(step("network namespace", &e)))?;
    let has_amf = !config.wiring.is_apart(Nf::Amf);
    let n2 = has_amf.then(|| n2(config, &ns)).transpose()?;
    if !config.wiring.is_apart(Nf::Smf) {
        let n4 = n4(config, &ns)?.map(|n4| n4.with_rings(rings));
        let records = records(config)?;
        return Ok(Doors { n2, n4, records });
    }
    if !rings.is_empty() {
        let what = "the SMF has a program, and the UPF is of this process";
        let expected = "none of smf: such a UPF is reached from its own process alone";
        return Err(problem(0, "wiring.programs", what, expected).into());
    }
    Ok(Doors {
        n2,
        n4: None,
        records: None,
    })
}

/// A step that no line stands for.
pub(crate) fn step(doing: &str, why: &dyn std::fmt::Display) -> Problem {
    problem(
        0,
        "",
        format!("{doing}: {why}"),
        "a machine with room for it",
    )
}

/// The functions of the core; for UPFs the SMF has begun at `begun_unix_s`, or now.
fn functions(
    config: &CoreConfig,
    database: Option<&Opened>,
    begun_unix_s: Option<u64>,
) -> Result<(Core, OfDatabase), Vec<StartError>> {
    let home_keys = needs::home_keys(&config.home_keys);
    let mut home_keys =
        home_keys.map_err(|all| all.into_iter().map(StartError::from).collect::<Vec<_>>())?;
    let line = config
        .database
        .as_ref()
        .map_or(0, |database| database.location.line);
    let key = config
        .database
        .as_ref()
        .map_or("file", |one| one.place_key());
    let stored = database.map(Opened::all).transpose().map_err(|e| {
        let expected = "a database that is whole, or a backup of it";
        let key = format!("subscriber_database.{key}");
        vec![StartError {
            problem: problem(line, key, e.to_string(), expected),
            exit: store::exit_of(&e),
        }]
    })?;
    let stored = stored.unwrap_or_default();
    let of_database = OfDatabase {
        subscribers: stored.subscribers.iter().map(|(supi, _)| *supi).collect(),
        home_keys: stored.home_keys.unwrap_or_default(),
    };
    let stored_keys = of_database.home_keys.iter();
    home_keys.extend(stored_keys.map(|(id, key)| (*id, key.clone())));
    // Files are checked key by key; what is left is a limit that no key stands for.
    let unfit = |why| vec![StartError::from(problem(0, "", why, "see docs/core.yaml"))];
    let amf = convert::amf(config).ok_or_else(|| unfit("the AMF has no identity"))?;
    let amf = Amf::new(amf, Box::new(system::random)).map_err(unfit)?;
    let mut udr = Udr::default();
    if database.is_some_and(Opened::is_shared) {
        udr.share_sequence_numbers();
    }
    for account in &config.subscribers {
        let taken = udr.provision(account.supi.value, convert::subscriber(account));
        if taken == Provisioned::Full {
            return Err(unfit("there are too many subscribers"));
        }
    }
    for (supi, record) in &stored.subscribers {
        let provision = record.as_ref().map(store::provision);
        let taken = provision.map(|one| udr.provision(*supi, one));
        if taken == Some(Provisioned::Full) {
            return Err(unfit("there are too many subscribers"));
        }
    }
    let mut core = Core::new(amf, udr).with_nrf(convert::nrf(config));
    if !config.wiring.is_apart(Nf::Ausf) {
        core = core.with_ausf(Ausf::default());
    }
    let udm = convert::udm(config, home_keys);
    if config.wiring.is_apart(Nf::Udm) {
        core.set_home_keys(udm.home_keys);
        core.allow_null_scheme(udm.null_scheme);
    } else {
        core = core.with_udm(Udm::new(udm, Box::new(system::random)));
    }
    match &config.sessions {
        None => Ok((core, of_database)),
        Some(sessions) => {
            let begun_unix_s = begun_unix_s.unwrap_or_else(|| system::now().unix_s);
            let smf = convert::smf(config, begun_unix_s);
            let smf = smf.ok_or_else(|| unfit("the SMF has no address"))?;
            let pcf = Pcf::new(convert::pcf(sessions)).map_err(unfit)?;
            let core = core.with_smf(Smf::new(smf).map_err(unfit)?);
            Ok((core.with_pcf(pcf), of_database))
        }
    }
}

pub(crate) fn n2(config: &CoreConfig, ns: &Ns) -> Result<N2, StartError> {
    let n2 = &config.n2;
    let no_address = || problem(0, "n2.listen", "missing", "an IP address");
    let listen = n2.listen.ok_or_else(no_address)?;
    let node = n2.opening(listen.value).open(ns);
    let node = node.map_err(|error| {
        let problem = match &error {
            OpeningError::Carrier(e) => {
                let expected = "an address of this machine whose port no other program has, and for SCTP \
                                over IP CAP_NET_RAW (root)";
                problem(listen.line, "n2.listen", e.to_string(), expected)
            }
            other => needs::no_sctp(listen.line, other),
        };
        StartError::of(problem, &error)
    })?;
    Ok(N2::new(node))
}

pub(crate) fn n4(config: &CoreConfig, ns: &Ns) -> Result<Option<N4>, StartError> {
    let Some(listen) = config.sessions.as_ref().and_then(|sessions| sessions.n4) else {
        return Ok(None);
    };
    let opened = N4::open(ns, listen.value).map_err(|e| {
        let expected = "an address of this machine whose port no other program has";
        let problem = problem(listen.line, "n4.listen", e.to_string(), expected);
        StartError::of(problem, &e)
    })?;
    Ok(Some(opened))
}

pub(crate) fn records(config: &CoreConfig) -> Result<Option<Records>, Problem> {
    match config.sessions.as_ref().map(|sessions| &sessions.charging) {
        None | Some(config::Charging::None) => Ok(None),
        Some(config::Charging::Stdout) => Records::stdout()
            .map(Some)
            .map_err(|e| step("a thread", &e)),
        Some(config::Charging::File(path)) => Records::append_to(path)
            .map(Some)
            .map_err(|e| needs::no_records(path, &e)),
    }
}
