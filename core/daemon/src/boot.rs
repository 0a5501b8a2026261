//! Start-up: from a checked configuration to a core with its doors open.

use crate::config::{CoreConfig, Sessions};
use crate::daemon::{Daemon, InForce};
use crate::needs::{self, StartError, problem};
use crate::operators::request::Ctl;
use crate::parts::charging::Charging;
use crate::parts::contexts;
use crate::parts::home_keys::HomeKeys;
use crate::parts::programs::Programs;
use crate::parts::{identities, repository, tokens};
use crate::{api, config, convert};
use sluice_amf::Amf;
use sluice_ausf::Ausf;
use sluice_core_runtime::charging::Records;
use sluice_core_runtime::{N2, N4, Node, Runtime, system};
use sluice_host::datagram_ring::RingEnd;
use sluice_host::netns::Ns;
use sluice_host::signal::Shutdown;
use sluice_pcf::Pcf;
use sluice_program::config::problem::Problem;
use sluice_sbi::Nf;
use sluice_sctp::front::Remote;
use sluice_sctp::{AllowList, OpeningError};
use sluice_security::suci::HomeKey;
use sluice_smf::Smf;
use sluice_udm::Udm;
use sluice_udr::Udr;
use sluice_wiring::{Apart, Core};
use std::collections::BTreeMap;
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
    let own_udr = (!config.wiring.is_apart(Nf::Udr)).then(|| repository::open(config));
    let (udr, of_udr) = own_udr.transpose().map_err(one)?.unzip();
    let is_given = || shutdown.is_requested();
    let contexts = config.contexts.as_ref();
    let contexts = contexts
        .map(|section| contexts::open(section, &config.wiring, &is_given))
        .transpose();
    let contexts = contexts.map_err(one)?;
    let begun_unix_s = contexts.as_ref().map(contexts::Opened::begun_unix_s);
    let mut home_keys = home_keys(config, of_udr.as_ref())?;
    let udr = udr.unwrap_or_default();
    let core = functions(config, udr, home_keys.all(), begun_unix_s)?;
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
    identify(&mut runtime, config).map_err(one)?;
    runtime.set_overload_automatic(config.overload.automatic);
    let waker = runtime.waker();
    let mut repository = runtime.core_mut().repository();
    let subscribers = of_udr
        .map(|beside| beside.serve(&mut repository, move || waker.wake()))
        .transpose();
    let subscribers = subscribers.map_err(|e| step("a thread", &e))?;
    let programs = Programs::listen(config, file);
    let mut programs = programs.map_err(one)?;
    if let Some(programs) = &mut programs {
        programs.start(&mut runtime, &is_given).map_err(one)?;
        programs.hand_over_home_keys(runtime.core_mut(), &mut home_keys);
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
        subscribers,
        home_keys,
        programs,
        in_force,
    );
    daemon.watch(shutdown).map_err(|e| step("signals", &e))?;
    Ok(daemon)
}

/// Functions have the identities that the certificate names, and the core's own NRF its keys of tokens.
fn identify(runtime: &mut Runtime, config: &CoreConfig) -> Result<(), StartError> {
    let named = identities::of_core(config)?;
    let core = runtime.core_mut();
    core.identify_as(&named);
    let signer = tokens::signer(config).map_err(|e| tokens::lack(&e))?;
    core.registry()
        .give_tokens(signer, tokens::are_required(config));
    Ok(())
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
        let n4 = n4(config, &ns)?.map(|n4| n4.with_rings(rings)).transpose();
        let n4 = n4.map_err(|e| StartError::from(step("rings to UPFs", &e)))?;
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

/// Keys of the home network, of files and of the database of the core's own UDR.
fn home_keys(
    config: &CoreConfig,
    of_udr: Option<&repository::Beside>,
) -> Result<HomeKeys, Vec<StartError>> {
    let of_file = needs::home_keys(&config.home_keys);
    let refused = |all: Vec<Problem>| all.into_iter().map(StartError::from).collect::<Vec<_>>();
    let of_database = of_udr.map(|beside| beside.home_keys.clone());
    Ok(HomeKeys::new(
        of_file.map_err(refused)?,
        of_database.unwrap_or_default(),
    ))
}

/// The functions of the core; for UPFs the SMF has begun at `begun_unix_s`, or now.
fn functions(
    config: &CoreConfig,
    udr: Udr,
    home_keys: BTreeMap<u8, HomeKey>,
    begun_unix_s: Option<u64>,
) -> Result<Core, Vec<StartError>> {
    // Files are checked key by key; what is left is a limit that no key stands for.
    let unfit = |why| vec![StartError::from(problem(0, "", why, "see docs/core.yaml"))];
    let amf = convert::amf(config).ok_or_else(|| unfit("the AMF has no identity"))?;
    let amf = Amf::new(amf, Box::new(system::random)).map_err(unfit)?;
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
        None => Ok(core),
        Some(sessions) => {
            let begun_unix_s = begun_unix_s.unwrap_or_else(|| system::now().unix_s);
            let smf = convert::smf(config, begun_unix_s);
            let smf = smf.ok_or_else(|| unfit("the SMF has no address"))?;
            let pcf = Pcf::new(convert::pcf(sessions)).map_err(unfit)?;
            let core = core.with_smf(Smf::new(smf).map_err(unfit)?);
            Ok(core.with_pcf(pcf))
        }
    }
}

/// N2 of an AMF, by SCTP of its own program or of the front.
pub(crate) fn n2(config: &CoreConfig, ns: &Ns) -> Result<N2, StartError> {
    let Some(path) = config.wiring.front(&config.control_socket) else {
        return Ok(N2::new(sctp(config, ns)?));
    };
    let allowed = AllowList::new(config.n2.gnbs.clone());
    let remote = Remote::new(&path, allowed);
    let remote = remote.map_err(|e| StartError::from(step("N2", &e)))?;
    Ok(N2::new(Node::of_front(remote)))
}

/// SCTP of this program.
pub(crate) fn sctp(config: &CoreConfig, ns: &Ns) -> Result<Node, StartError> {
    let n2 = &config.n2;
    let no_address = || problem(0, "n2.listen", "missing", "an IP address");
    let listen = n2.listen.ok_or_else(no_address)?;
    n2.opening(listen.value).open(ns).map_err(|error| {
        let problem = match &error {
            OpeningError::Carrier(e) => {
                let expected = "an address of this machine whose port no other program has, and for SCTP \
                                over IP CAP_NET_RAW (root)";
                problem(listen.line, "n2.listen", e.to_string(), expected)
            }
            other => needs::no_sctp(listen.line, other),
        };
        StartError::of(problem, &error)
    })
}

pub(crate) fn n4(config: &CoreConfig, ns: &Ns) -> Result<Option<N4>, StartError> {
    let Some(listen) = config.sessions.as_ref().and_then(|sessions| sessions.n4) else {
        return Ok(None);
    };
    let mut opened = N4::open(ns, listen.value).map_err(|e| {
        let expected = "an address of this machine whose port no other program has";
        let problem = problem(listen.line, "n4.listen", e.to_string(), expected);
        StartError::of(problem, &e)
    })?;
    let rings = config.sessions.as_ref().map(Sessions::rings);
    let ways = opened.set_ways(&rings.unwrap_or_default());
    ways.map_err(|e| StartError::from(step("rings to UPFs", &e)))?;
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
