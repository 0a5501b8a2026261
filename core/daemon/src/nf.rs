//! `sluice nf`: a program of some functions, beside the core's, which it reaches as `wiring.transport` says.

use crate::config::CoreConfig;
use crate::parts::flow::Flow;
use serde::{Deserialize, Serialize};
use sluice_ausf::Ausf;
use sluice_bus_local::{Member, MemberError, SharedMember, Told};
use sluice_core_host::{Home, Host};
use sluice_core_runtime::system;
use sluice_host::poll::{Poller, Ready};
use sluice_host::signal::Shutdown;
use sluice_host::thread;
use sluice_ids::{Snssai, Supi};
use sluice_program::args::{NfArgs, NfName};
use sluice_program::exit::Exit;
use sluice_program::lines::{self, PeerNames};
use sluice_program::logging::{self, Verbosity};
use sluice_sbi::{Instant, Nf};
use sluice_security::suci::HomeKey;
use sluice_udm::Udm;
use sluice_wiring::Apart;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a program waits for its core.
const JOIN_WITHIN: Duration = Duration::from_secs(5);
/// Longest wait of a turn.
const PATIENCE: Duration = Duration::from_millis(500);
/// Lines of a UE that are told to an operator, the newest: what a frame has room for.
const LINES: usize = 400;
/// Octets of them, at the most.
const ANSWER_MAX: usize = 64 << 10;

/// News of a core for its programs.
#[derive(Serialize, Deserialize)]
pub(crate) struct Settings {
    /// How often core.yaml was read again.
    pub reloads: u64,
    /// None for a program that has no UDM.
    pub udm: Option<UdmSettings>,
}

/// Settings of a UDM of another program.
#[derive(Serialize, Deserialize)]
pub(crate) struct UdmSettings {
    home_keys: Vec<Key>,
    null_scheme: bool,
}

/// A home network key on its way to the program of the UDM, which the same user runs.
#[derive(Serialize, Deserialize)]
struct Key {
    id: u8,
    is_profile_b: bool,
    secret: [u8; 32],
}

impl UdmSettings {
    pub fn of(config: &sluice_udm::Config) -> Self {
        let key = |(id, key): (&u8, &HomeKey)| Key {
            id: *id,
            is_profile_b: matches!(key, HomeKey::B(_)),
            secret: key.secret(),
        };
        Self {
            home_keys: config.home_keys.iter().map(key).collect(),
            null_scheme: config.null_scheme,
        }
    }

    fn keys(&self) -> BTreeMap<u8, HomeKey> {
        let read = |one: &Key| {
            let key = if one.is_profile_b {
                HomeKey::profile_b(one.secret)?
            } else {
                HomeKey::profile_a(one.secret)
            };
            Some((one.id, key))
        };
        self.home_keys.iter().filter_map(read).collect()
    }
}

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
    match serve((file, &config), member, &functions, &shutdown) {
        Ok(()) => Exit::Done,
        Err(e) => {
            tell(&e);
            Exit::Failed
        }
    }
}

fn nf_of(name: NfName) -> Nf {
    match name {
        NfName::Ausf => Nf::Ausf,
        NfName::Udm => Nf::Udm,
    }
}

fn program_name(functions: &[Nf]) -> String {
    let names = functions.iter().map(|nf| nf.to_string().to_lowercase());
    let names: Vec<String> = names.collect();
    format!("sluice nf {}", names.join(" "))
}

fn home(config: &CoreConfig) -> Option<Home> {
    let plmns = config.plmns.iter();
    let slices: BTreeSet<Snssai> = plmns
        .flat_map(|one| one.slices.iter().map(|at| at.value))
        .collect();
    Some(Home {
        guami: config.amf.guami?,
        plmns: config.plmns.iter().map(|one| one.plmn.value).collect(),
        slices: slices.into_iter().collect(),
    })
}

fn serve(
    (file, config): (&Path, &CoreConfig),
    member: Member,
    functions: &[Nf],
    shutdown: &Shutdown,
) -> io::Result<()> {
    let poller = Poller::new()?;
    poller.add(&member, 0)?;
    poller.add(shutdown, 1)?;
    let member = SharedMember::from(member);
    let mut apart = Apart::default();
    if functions.contains(&Nf::Ausf) {
        apart.ausf = Some(Ausf::default());
    }
    let home = home(config).ok_or_else(|| io::Error::other("the core has no identity"))?;
    let mut program = Program {
        host: Host::new(apart, home),
        flow: Flow::default(),
        file: file.to_owned(),
        has_udm: functions.contains(&Nf::Udm),
        reloads: None,
    };
    let others: Vec<Nf> = Nf::ALL
        .into_iter()
        .filter(|nf| !functions.contains(nf))
        .collect();
    program.host.connect(Box::new(member.clone()), &others);
    let mut ready = Ready::with_capacity(2);
    while !shutdown.is_requested() && !member.is_closed() {
        let patience = if program.host.may_sleep() {
            program.patience()
        } else {
            Duration::ZERO
        };
        poller.wait(&mut ready, Some(patience))?;
        while let Some(told) = member.take_told() {
            program.take(told, &member);
        }
        program.turn(&member);
        lines::tell_withheld(&PeerNames::default());
    }
    Ok(())
}

/// Functions with their host.
struct Program {
    host: Host<Apart>,
    flow: Flow,
    file: PathBuf,
    has_udm: bool,
    /// How often the core had read its file again; none before it told anything.
    reloads: Option<u64>,
}

impl Program {
    fn patience(&self) -> Duration {
        match self.host.next_deadline() {
            Instant::NEVER => PATIENCE,
            until => {
                let left = until.0.saturating_sub(system::now().instant.0);
                PATIENCE.min(Duration::from_nanos(left))
            }
        }
    }

    fn turn(&mut self, member: &SharedMember) {
        // A UDM without keys would refuse SUCIs: what comes for it waits on its link.
        if self.reloads.is_none() {
            return;
        }
        self.host.receive(system::now());
        let now = system::now();
        if self.host.next_deadline() <= now.instant {
            self.host.time(now);
        }
        for line in self.host.log.take_call_flow().0 {
            tracing::debug!(target: "sluice_flow", "{line}");
            self.flow.add(line);
        }
        for reached in self.host.take_reached() {
            match reached.lost {
                // It is told of functions as soon as it is there.
                None if reached.nf == Nf::Nrf => self.host.register_again(now),
                None => tracing::debug!("{} is reached", reached.nf),
                // With the core all are gone.
                Some(_) if member.is_closed() => {}
                Some(why) => tracing::warn!("{} is not reached: {why}", reached.nf),
            }
        }
        self.host.send(now);
    }

    fn take(&mut self, told: Told, member: &SharedMember) {
        match told {
            Told::News(text) => match serde_json::from_str::<Settings>(&text) {
                Ok(settings) => self.take_settings(&settings),
                Err(e) => tracing::error!("the core tells what is not understood: {e}"),
            },
            Told::Question(id, imsi) => {
                let lines = Supi::from_imsi(&imsi).map(|supi| self.flow.of(&supi));
                let mut lines = lines.unwrap_or_default();
                let old = lines.len().saturating_sub(LINES);
                lines.drain(..old);
                let mut text = serde_json::to_string(&lines).unwrap_or_default();
                // What is longer finds no room in a frame: the oldest lines go.
                while text.len() > ANSWER_MAX && !lines.is_empty() {
                    lines.drain(..lines.len().div_ceil(2));
                    text = serde_json::to_string(&lines).unwrap_or_default();
                }
                member.answer(id, text);
            }
        }
    }

    fn take_settings(&mut self, settings: &Settings) {
        if let Some(udm) = &settings.udm {
            self.set_udm(udm);
        }
        match self.reloads {
            None => tracing::info!("ready"),
            Some(before) if before != settings.reloads => self.reload(),
            Some(_) => {}
        }
        self.reloads = Some(settings.reloads);
    }

    fn set_udm(&mut self, settings: &UdmSettings) {
        let (home_keys, null_scheme) = (settings.keys(), settings.null_scheme);
        match &mut self.host.functions.udm {
            Some(udm) => {
                udm.set_home_keys(home_keys);
                udm.allow_null_scheme(null_scheme);
            }
            None if self.has_udm => {
                let config = sluice_udm::Config {
                    home_keys,
                    null_scheme,
                };
                let udm = Udm::new(config, Box::new(system::random));
                self.host.functions.udm = Some(udm);
            }
            None => {}
        }
    }

    /// The core has read its file again, and found it sound.
    fn reload(&mut self) {
        match CoreConfig::load(&self.file) {
            Ok(loaded) => {
                logging::change(&loaded.config.log);
                if let Some(home) = home(&loaded.config) {
                    self.host.update_registrations(home);
                }
                // The NRF may want heart-beats at other times.
                self.host.register_again(system::now());
            }
            Err(refused) => tracing::error!("the file was not taken: {refused}"),
        }
    }
}
