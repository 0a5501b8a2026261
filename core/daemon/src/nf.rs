//! `sluice nf`: a program of some functions, beside the core's, which it reaches by rings in shared memory.

use crate::config::{CoreConfig, Transport};
use crate::convert;
use crate::operators::control::subscriber;
use crate::operators::part::Part;
use crate::operators::qos;
use crate::operators::request::Request;
use crate::parts::flow::Flow;
use crate::parts::refusals::Kept;
use serde::{Deserialize, Serialize};
use sluice_ausf::Ausf;
use sluice_bus_ring::{Member, MemberError, SharedMember, Told};
use sluice_core_host::{Home, Host};
use sluice_core_runtime::system;
use sluice_host::poll::{Poller, Ready};
use sluice_host::signal::Shutdown;
use sluice_host::thread;
use sluice_ids::Snssai;
use sluice_nrf::Nrf;
use sluice_nssf::Nssf;
use sluice_pcf::Pcf;
use sluice_program::args::{NfArgs, NfName};
use sluice_program::exit::Exit;
use sluice_program::lines::{self, PeerNames};
use sluice_program::logging::{self, Verbosity};
use sluice_sbi::{Instant, Nf};
use sluice_security::suci::HomeKey;
use sluice_udm::Udm;
use sluice_wiring::{Apart, Flows, slices_of};
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
/// Refusals of one report, the newest.
const REFUSALS_TOLD: usize = 64;
/// Octets of an answer, at the most.
const ANSWER_MAX: usize = 64 << 10;

/// News of a core for its programs.
#[derive(Serialize, Deserialize)]
pub(crate) struct Settings {
    /// How often core.yaml was read again.
    pub reloads: u64,
    /// How often functions were to register anew.
    pub registrations: u64,
    /// None for a program that has no UDM.
    pub udm: Option<UdmSettings>,
}

/// News of a program for its core.
#[derive(Default, Serialize, Deserialize)]
pub(crate) struct Report {
    pub refused: Vec<Kept>,
    /// The NRF has another configuration, of which functions hear when they register.
    #[serde(default)]
    pub has_new_nrf: bool,
}

impl Report {
    fn is_empty(&self) -> bool {
        self.refused.is_empty() && !self.has_new_nrf
    }
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
    if let Some(own) = functions.iter().find(|nf| !config.wiring.is_apart(**nf)) {
        let how = match config.wiring.transport {
            Transport::Thread => "wiring.transport: ring",
            Transport::Ring => "a program that has it",
        };
        tell(&format!(
            "{}: wiring: the {own} is the core's own; expected {how}",
            file.display()
        ));
        return Exit::Usage;
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
    let member = match Member::join(&socket, &name, &functions, JOIN_WITHIN) {
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
        NfName::Nrf => Nf::Nrf,
        NfName::Nssf => Nf::Nssf,
        NfName::Pcf => Nf::Pcf,
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

/// Functions of this program as the file has them. A UDM has to hear of its keys first.
fn functions_of(config: &CoreConfig, functions: &[Nf]) -> io::Result<Apart> {
    let has = |nf| functions.contains(&nf);
    let slices = convert::amf(config).map(|amf| slices_of(&amf.plmns));
    let sessions = config.sessions.as_ref().filter(|_| has(Nf::Pcf));
    let pcf = sessions.map(|sessions| Pcf::new(convert::pcf(sessions)));
    Ok(Apart {
        ausf: has(Nf::Ausf).then(Ausf::default),
        udm: None,
        nrf: has(Nf::Nrf).then(|| Nrf::new(convert::nrf(config))),
        nssf: slices.filter(|_| has(Nf::Nssf)).map(Nssf::new),
        smf: None,
        pcf: pcf.transpose().map_err(io::Error::other)?,
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
    let home = home(config).ok_or_else(|| io::Error::other("the core has no identity"))?;
    let mut program = Program {
        host: Host::new(functions_of(config, functions)?, home),
        flow: Flow::default(),
        asked: Vec::new(),
        report: Report::default(),
        file: file.to_owned(),
        has_udm: functions.contains(&Nf::Udm),
        registrations: 0,
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
    /// Questions of operators that wait for an SMF, by their numbers.
    asked: Vec<(u64, qos::Asked)>,
    /// What the core has not been told yet.
    report: Report,
    file: PathBuf,
    has_udm: bool,
    /// How often functions were to register anew.
    registrations: u64,
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
        // A UDM without keys would refuse SUCIs: what comes for it waits on the ring.
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
        let refused = self.host.log.take_refused();
        self.report
            .refused
            .extend(refused.into_iter().map(Kept::from));
        for reached in self.host.take_reached(now) {
            match reached.lost {
                None => tracing::debug!("{} is reached", reached.nf),
                Some(why) => tracing::warn!("{} is not reached: {why}", reached.nf),
            }
        }
        self.host.send(now);
        self.answer_asked(member);
        self.tell(member);
    }

    /// Answers questions that an SMF has answered.
    fn answer_asked(&mut self, member: &SharedMember) {
        let flows = Flows::from(&mut self.host);
        self.asked.retain(|(id, asked)| match asked.answer(&flows) {
            Some(done) => {
                answer(member, *id, Part::done(done));
                false
            }
            None => true,
        });
    }

    /// Tells the core what it is to know; what finds no room now goes with what comes later.
    fn tell(&mut self, member: &SharedMember) {
        if self.report.is_empty() {
            return;
        }
        let old = self.report.refused.len().saturating_sub(REFUSALS_TOLD);
        self.report.refused.drain(..old);
        let text = serde_json::to_string(&self.report).unwrap_or_default();
        if member.tell(text) {
            self.report = Report::default();
        }
    }

    fn take(&mut self, told: Told, member: &SharedMember) {
        match told {
            Told::News(text) => match serde_json::from_str::<Settings>(&text) {
                Ok(settings) => self.take_settings(&settings),
                Err(e) => tracing::error!("the core tells what is not understood: {e}"),
            },
            Told::Question(id, text) => match serde_json::from_str::<Request>(&text) {
                Ok(request) => self.take_question(id, &request, member),
                Err(e) => {
                    tracing::error!("the core asks what is not understood: {e}");
                    answer(member, id, Part::default());
                }
            },
        }
    }

    fn take_question(&mut self, id: u64, request: &Request, member: &SharedMember) {
        let has_pcf = self.host.functions.pcf.is_some();
        let mut flows = Flows::from(&mut self.host);
        let begun = has_pcf.then(|| qos::begin(request, &mut flows)).flatten();
        match begun {
            Some(qos::Begun::Answered(done)) => answer(member, id, Part::done(done)),
            Some(qos::Begun::Asked(asked)) => self.asked.push((id, asked)),
            None => {
                let mut part = Part::of(request, &self.host.functions, system::now());
                if let Request::Flow { imsi } = request
                    && let Ok(supi) = subscriber(imsi)
                {
                    part.lines = self.flow.of(&supi);
                    let old = part.lines.len().saturating_sub(LINES);
                    part.lines.drain(..old);
                }
                answer(member, id, part);
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
        if self.registrations != settings.registrations {
            self.registrations = settings.registrations;
            self.host.register_again(system::now());
        }
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
                self.reconfigure(&loaded.config);
                if let Some(home) = home(&loaded.config) {
                    self.host.update_registrations(home);
                }
            }
            Err(refused) => tracing::error!("the file was not taken: {refused}"),
        }
    }

    fn reconfigure(&mut self, config: &CoreConfig) {
        let functions = &mut self.host.functions;
        if let Some(nrf) = &mut functions.nrf {
            let config = convert::nrf(config);
            self.report.has_new_nrf |= config != nrf.config();
            nrf.reconfigure(config);
        }
        if let Some(nssf) = &mut functions.nssf
            && let Some(amf) = convert::amf(config)
        {
            nssf.reconfigure(slices_of(&amf.plmns));
        }
        if let Some(pcf) = &mut functions.pcf
            && let Some(sessions) = &config.sessions
            && let Err(why) = pcf.reconfigure(convert::pcf(sessions))
        {
            tracing::error!("the PCF keeps its policies: {why}");
        }
    }
}

/// Answers a question; what is longer than a frame loses its oldest lines.
fn answer(member: &SharedMember, id: u64, mut part: Part) {
    let mut text = serde_json::to_string(&part).unwrap_or_default();
    while text.len() > ANSWER_MAX && !part.lines.is_empty() {
        part.lines.drain(..part.lines.len().div_ceil(2));
        text = serde_json::to_string(&part).unwrap_or_default();
    }
    member.answer(id, text);
}
