//! Programs of functions that are not the core's own: started, watched, told what they are to know, and ended.

mod beginning;
mod ues;

use crate::config::{CoreConfig, ProgramSection};
use crate::needs::{PROGRAM, StartError, problem};
use crate::operators::part::Part;
use crate::operators::request::{Ask, Request, not_reached};
use crate::parts::home_keys::HomeKeys;
use crate::parts::news::{
    Comparison, Followed, Presence, Report, Settings, Traced, UdmSettings, read_keys, supis,
};
use crate::parts::refusals::Kept;
use crate::parts::{identities, services};
use sluice_bus_http2::SharedServices;
use sluice_bus_local::{BackOff, Carrier, Manager, News};
use sluice_core_runtime::system;
use sluice_host::process::Process;
use sluice_program::control::{Asked, Question as _};
use sluice_program::exit::Exit;
use sluice_program::tool::beside;
use sluice_sbi::{Nf, NfInstance, Place, TracedMessage};
use sluice_security::suci::HomeKey;
use sluice_subscribers::Operation;
use sluice_wiring::Core;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long programs have to answer a question of an operator.
const ANSWER_WITHIN: Duration = Duration::from_millis(500);
/// Time between two looks whether programs run.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// A program, and how it is with it.
pub(super) struct Program {
    pub(super) section: ProgramSection,
    pub(super) process: Option<Process>,
    /// An operator has taken it out.
    pub(super) drains: bool,
    /// The file has it no more: it is forgotten once it has ended.
    pub(super) leaves: bool,
    /// When it is started again.
    pub(super) due: Instant,
    /// The program has ended with the word that its file or command line is wrong.
    is_refused: bool,
    back_off: BackOff,
}

impl Program {
    /// One that is to be started now.
    pub(super) fn new(section: &ProgramSection, now: Instant) -> Self {
        Self {
            section: section.clone(),
            process: None,
            drains: false,
            leaves: false,
            due: now,
            is_refused: false,
            back_off: BackOff::new(now),
        }
    }
}

/// A question of an operator that programs have not all answered.
struct Waiting {
    asked: Asked<Ask>,
    request: Request,
    part: Part,
    id: u64,
    missing: usize,
    until: Instant,
}

/// Programs of a core.
pub(crate) struct Programs {
    manager: Manager,
    /// Services by HTTP of the core's own functions.
    services: Option<SharedServices>,
    file: PathBuf,
    pub(super) programs: Vec<Program>,
    /// Functions of other cores.
    others: Vec<Nf>,
    waiting: Vec<Waiting>,
    /// Operations on subscribers that operators wait for, by the numbers of the questions to the program of the UDR, and until when.
    operations: BTreeMap<u64, (Instant, Asked<Ask>)>,
    /// Keys of the database that the program of the UDR has told.
    home_keys: Option<BTreeMap<u8, HomeKey>>,
    /// Whether those are not known: a UDM would refuse SUCIs.
    lacks_home_keys: bool,
    refused: Vec<Kept>,
    traced: Vec<(u64, TracedMessage)>,
    followed: Followed,
    /// Functions of programs that have joined.
    pub(super) joined: BTreeSet<Place>,
    comparison: Comparison,
    presence: Presence,
    /// Subscribers that were removed while nobody served their UEs, by their IMSIs.
    withdrawn: Vec<String>,
    /// Whether the core ends, and if so whether sessions are released.
    ends: Option<bool>,
    leaves_gnbs: bool,
    /// How often functions are to register anew.
    registrations: u64,
    /// How often core.yaml was read again.
    pub(super) reloads: u64,
    /// Identities that the certificate of the core names.
    pub(super) named: Vec<NfInstance>,
    next_look: Instant,
}

impl Programs {
    /// Listens for programs, none where all functions are the core's own.
    pub fn listen(config: &CoreConfig, file: &Path) -> Result<Option<Self>, StartError> {
        let wiring = &config.wiring;
        let Some(carrier) = wiring.carrier else {
            return Ok(None);
        };
        let path = wiring.socket(&config.control_socket);
        let manager = Manager::listen(&path, carrier).map_err(|e| {
            let what = format!("{} cannot be used: {e}", path.display());
            let expected = "a path of its own for each core, in a folder that it may write to";
            StartError::of(problem(0, "wiring.socket", what, expected), &e)
        })?;
        let own = Nf::ALL.into_iter().filter(|nf| !wiring.is_apart(*nf));
        let own: Vec<Place> = own.map(Place::from).collect();
        let services = (carrier == Carrier::Http2)
            .then(|| services::open(config, config.sbi.listen.value, &own))
            .transpose()?;
        let now = Instant::now();
        let programs = wiring.programs.iter();
        let programs = programs.map(|section| Program::new(section, now));
        Ok(Some(Self {
            manager,
            services,
            file: file.to_owned(),
            programs: programs.collect(),
            others: wiring.others.iter().map(|one| one.value).collect(),
            waiting: Vec::new(),
            operations: BTreeMap::new(),
            home_keys: None,
            lacks_home_keys: wiring.has_program(Nf::Udr) && config.database.is_some(),
            refused: Vec::new(),
            traced: Vec::new(),
            followed: Followed::default(),
            joined: BTreeSet::new(),
            comparison: Comparison::default(),
            presence: Presence::default(),
            withdrawn: Vec::new(),
            ends: None,
            leaves_gnbs: false,
            registrations: 0,
            reloads: 0,
            named: identities::named(config)?,
            next_look: now,
        }))
    }

    fn is_apart(&self, nf: Nf) -> bool {
        let mut all = self.programs.iter().flat_map(|one| &one.section.functions);
        all.any(|one| one.value == nf)
    }

    fn start_one(&mut self, at: usize) -> Result<(), String> {
        let Some(program) = self.programs.get_mut(at) else {
            return Ok(());
        };
        let path = beside(PROGRAM).map_err(|e| e.to_string())?;
        let mut command = Command::new(path);
        command.arg("nf");
        for one in &program.section.functions {
            command.arg(one.value.to_string().to_lowercase());
        }
        if program.section.is_front {
            command.arg("n2");
        }
        let number = program.section.instance.number;
        if number > 0 {
            command.arg("--instance").arg(number.to_string());
        }
        command.arg("--config").arg(&self.file);
        if let Some(cpu) = &program.section.cpu {
            command.arg("--cpu").arg(cpu.value.to_string());
        }
        let process = Process::spawn(&mut command).map_err(|e| e.to_string())?;
        program.process = Some(process);
        Ok(())
    }

    /// Instances of the core; those of other cores have identities of their own.
    fn identities(&self, core: &Core) -> impl Iterator<Item = (Place, NfInstance)> {
        let all = core.instances().iter();
        all.filter(|(place, _)| !self.others.contains(&place.nf))
    }

    /// Services by HTTP of the core's own functions.
    pub fn services(&self) -> Option<&SharedServices> {
        self.services.as_ref()
    }

    /// Has the core's own NRF answer what others ask it by HTTP.
    fn serve_nrf(&mut self, core: &mut Core) {
        if let Some(services) = &self.services {
            services::serve_nrf(services, core.registry());
            self.refused.extend(services::take_refused(services));
        }
    }

    /// Takes what programs have told, and looks whether they run.
    pub fn turn(&mut self, core: &mut Core) {
        self.serve_nrf(core);
        for news in self.manager.turn() {
            self.take(news, core);
        }
        let followed = Followed::from(core.followed());
        let follows = followed != self.followed;
        self.followed = followed;
        if core.has_new_udm_settings() || follows {
            self.tell(core);
        }
        for reached in core.take_reached(system::now()) {
            match reached.lost {
                None => tracing::info!("{} is reached", reached.place),
                Some(why) => tracing::warn!("{} is not reached: {why}", reached.place),
            }
        }
        let now = Instant::now();
        if self.next_look <= now {
            self.next_look = now + LOOK_EVERY;
            self.look(now);
        }
    }

    fn take(&mut self, news: News, core: &mut Core) {
        match &news {
            News::Joined { functions, .. } => {
                tracing::info!("{}", news.text());
                if functions.iter().any(|one| self.is_apart(one.nf)) {
                    self.joined.extend(functions);
                    let of_sessions =
                        [Nf::Amf, Nf::Smf].map(|nf| functions.contains(&Place::from(nf)));
                    if of_sessions == [true, false] || of_sessions == [false, true] {
                        self.compare(core);
                    }
                    let of_ues = [Nf::Amf, Nf::Udr].map(|nf| functions.contains(&nf.into()));
                    if of_ues == [true, false] || of_ues == [false, true] {
                        self.ask_for_ues(core);
                    }
                    self.tell(core);
                }
            }
            News::Refused { .. } => tracing::warn!("{}", news.text()),
            News::Gone { functions, .. } => {
                tracing::warn!("{}", news.text());
                self.next_look = Instant::now();
                self.joined.retain(|one| !functions.contains(one));
                if functions.iter().any(|one| one.nf == Nf::Udr) {
                    self.presence.ues = None;
                    for (_, asked) in std::mem::take(&mut self.operations).into_values() {
                        asked.answer(not_reached(Nf::Udr));
                    }
                }
                if self.comparison.known.is_some() && self.go_on_comparing(core) {
                    self.tell(core);
                }
            }
            News::Told { text } => match serde_json::from_str(text) {
                Ok(report) => self.take_report(report, core),
                Err(e) => tracing::error!("a program tells what is not understood: {e}"),
            },
            News::Answered { id, text } => {
                let part: Part = serde_json::from_str(text).unwrap_or_default();
                if let Some((_, asked)) = self.operations.remove(id) {
                    asked.answer(part.done.unwrap_or_else(|| not_reached(Nf::Udr)));
                } else if let Some(one) = self.waiting.iter_mut().find(|one| one.id == *id) {
                    one.part = std::mem::take(&mut one.part).and(part);
                    one.missing = one.missing.saturating_sub(1);
                }
            }
        }
    }

    fn take_report(&mut self, report: Report, core: &mut Core) {
        self.refused.extend(report.refused);
        self.traced
            .extend(report.traced.into_iter().map(Traced::seen));
        if let Some(keys) = report.home_keys {
            self.home_keys = Some(read_keys(&keys));
        }
        if let Some(presence) = report.presence
            && presence.number == self.presence.number
        {
            match presence.removed {
                Some(removed) => self.have_removed(core, &supis(&removed)),
                None => self.have_ues(core, presence.ues),
            }
            self.tell(core);
        }
        if let Some(compared) = report.compared
            && compared.number == self.comparison.number
        {
            if compared.known.is_some() {
                self.comparison.known = compared.known;
            }
            if let Some(unknown) = compared.unknown {
                self.have_compared(core, unknown);
            }
            self.go_on_comparing(core);
            self.let_withdrawn_go(core);
            self.tell(core);
        }
        if report.has_new_nrf {
            // Its heart-beats may be others.
            core.register_again(system::now());
            self.registrations += 1;
            self.tell(core);
        }
    }

    /// Keys of the home network are what the program of the UDR has told since the last call.
    pub fn hand_over_home_keys(&mut self, core: &mut Core, all: &mut HomeKeys) {
        if let Some(keys) = self.home_keys.take() {
            self.lacks_home_keys = false;
            all.set_of_database(core, keys);
        }
    }

    /// AMF or SMF of a program has joined: they begin with the sessions that both know.
    fn compare(&mut self, core: &mut Core) {
        let number = self.comparison.number + 1;
        let own = core.amf().is_some();
        self.comparison = Comparison {
            number,
            known: own.then(|| core.mobility().known_sessions().into_iter().collect()),
            unknown: None,
        };
        self.go_on_comparing(core);
    }

    /// Compares what the AMF knows with what the core's own SMF does; an SMF that is not there has nothing to say. Whether
    /// there is an outcome now.
    fn go_on_comparing(&mut self, core: &mut Core) -> bool {
        let Some(known) = &self.comparison.known else {
            return false;
        };
        let unknown = if core.smf().is_some() {
            let known = known.iter().copied().collect();
            core.sessions().reconcile(system::now(), &known)
        } else if self.joined.contains(&Nf::Smf.into()) {
            return false;
        } else {
            Vec::new()
        };
        self.have_compared(core, unknown);
        true
    }

    fn have_compared(&mut self, core: &mut Core, unknown: Vec<u64>) {
        core.mobility().forget_sessions(system::now(), &unknown);
        // The SMF has it, and need not hear of it again.
        self.comparison.known = None;
        self.comparison.unknown = Some(unknown);
    }

    /// Refusals of programs since the last call.
    pub fn take_refused(&mut self) -> Vec<Kept> {
        std::mem::take(&mut self.refused)
    }

    /// Messages that functions of programs have seen since the last call, with their times.
    pub fn take_traced(&mut self) -> Vec<(u64, TracedMessage)> {
        std::mem::take(&mut self.traced)
    }

    /// The core ends: programs let sessions go or not, and none is started again.
    pub fn end(&mut self, core: &Core, releases_sessions: bool) {
        self.ends = Some(releases_sessions);
        self.tell(core);
    }

    /// Nobody sends gNBs anything any more: the AMF's program leaves them, and ends.
    pub fn leave_gnbs(&mut self, core: &Core) {
        self.leaves_gnbs = true;
        self.tell(core);
    }

    /// Whether the program of a function runs.
    pub fn runs(&self, nf: Nf) -> bool {
        let has = |one: &&Program| one.section.functions.iter().any(|at| at.value == nf);
        let mut its = self.programs.iter().filter(has);
        its.any(|one| one.process.is_some())
    }

    /// Tells all programs.
    pub(super) fn tell(&mut self, core: &Core) {
        let (reloads, registrations) = (self.reloads, self.registrations);
        let (followed, ends, leaves_gnbs) = (&self.followed, self.ends, self.leaves_gnbs);
        let (comparison, withdrawn) = (&self.comparison, &self.withdrawn);
        let (presence, lacks_home_keys) = (&self.presence, self.lacks_home_keys);
        let may_release = self.may_release();
        let instances: Vec<(String, [u8; 16])> = self
            .identities(core)
            .map(|(place, instance)| (place.to_string(), instance.octets()))
            .collect();
        if let Some(services) = &self.services {
            services::identify(services, 0, self.identities(core));
        }
        let draining: Vec<String> = self.draining().iter().map(ToString::to_string).collect();
        self.manager.tell(&|functions| {
            // Keys of the home network are for the UDM alone.
            let has_udm = functions.contains(&Nf::Udm);
            let (has_amf, has_smf) = (functions.contains(&Nf::Amf), functions.contains(&Nf::Smf));
            let has_udr = functions.contains(&Nf::Udr);
            let knows_keys = has_udm && !lacks_home_keys;
            let udm = knows_keys.then(|| UdmSettings::of(core.udm_settings()));
            let settings = Settings {
                reloads,
                registrations,
                followed: followed.clone(),
                ends,
                instances: instances.clone(),
                draining: draining.clone(),
                leaves_gnbs,
                comparison: Comparison {
                    number: comparison.number,
                    known: comparison.known.clone().filter(|_| has_smf),
                    unknown: comparison.unknown.clone().filter(|_| has_amf),
                },
                presence: Presence {
                    number: presence.number,
                    ues: presence.ues.clone().filter(|_| has_udr),
                    removed: None,
                },
                withdrawn: withdrawn
                    .iter()
                    .filter(|_| has_amf && may_release)
                    .cloned()
                    .collect(),
                udm,
            };
            serde_json::to_string(&settings).unwrap_or_default()
        });
        if may_release && self.joined.contains(&Nf::Amf.into()) {
            self.withdrawn.clear();
        }
    }

    /// Programs that ended are started again, after a pause that grows.
    fn look(&mut self, now: Instant) {
        for at in 0..self.programs.len() {
            let Some(program) = self.programs.get_mut(at) else {
                continue;
            };
            if let Some(status) = program.process.as_mut().and_then(Process::status) {
                if program.drains {
                    tracing::info!("{} is drained: {status}", name(&program.section));
                } else if self.ends.is_none() {
                    tracing::error!("{}: {status}", name(&program.section));
                }
                program.is_refused = status.code() == Some(Exit::Usage.code().into());
                program.process = None;
                program.due = program.back_off.next(now);
            }
            if program.process.is_none()
                && program.due <= now
                && !program.drains
                && self.ends.is_none()
                && let Err(why) = self.start_one(at)
            {
                tracing::error!("a program cannot be started: {why}");
                if let Some(program) = self.programs.get_mut(at) {
                    program.due = program.back_off.next(now);
                }
            }
        }
        let is_over = |one: &Program| one.leaves && one.process.is_none();
        self.programs.retain(|one| !is_over(one));
    }

    /// Whether programs have a part of an answer.
    pub fn have_part_of(&self, request: &Request) -> bool {
        request.asks().iter().any(|nf| self.is_apart(*nf))
    }

    /// Asks the programs that have a part of an answer; it follows.
    pub fn ask(&mut self, asked: Asked<Ask>, request: Request) {
        let apart = request.asks().iter().copied();
        let apart: Vec<Nf> = apart.filter(|nf| self.is_apart(*nf)).collect();
        let text = serde_json::to_string(&request).unwrap_or_default();
        let (id, missing) = self.manager.ask(&apart, &text);
        self.waiting.push(Waiting {
            asked,
            request,
            part: Part::default(),
            id,
            missing,
            until: Instant::now() + ANSWER_WITHIN,
        });
    }

    /// Has the program of the UDR do what an operator asks of subscribers; its answer follows.
    pub fn operate(&mut self, asked: Asked<Ask>, operation: &Operation) {
        let text = serde_json::to_string(operation).unwrap_or_default();
        let (id, missing) = self.manager.ask(&[Nf::Udr], &text);
        if missing == 0 {
            return asked.answer(not_reached(Nf::Udr));
        }
        let until = Instant::now() + Ask::ANSWER_WITHIN;
        self.operations.insert(id, (until, asked));
    }

    /// Questions that all programs have answered, or that were waited for long enough, with what was told.
    pub fn take_answered(&mut self) -> Vec<(Asked<Ask>, Request, Part)> {
        let now = Instant::now();
        let is_late = |_: &u64, one: &mut (Instant, Asked<Ask>)| one.0 <= now;
        for (_, (_, asked)) in self.operations.extract_if(.., is_late) {
            asked.answer(not_reached(Nf::Udr));
        }
        let is_over = |one: &mut Waiting| one.missing == 0 || one.until <= now;
        let over = self.waiting.extract_if(.., is_over);
        over.map(|one| (one.asked, one.request, one.part)).collect()
    }
}

pub(super) fn name(section: &ProgramSection) -> String {
    if section.is_front {
        return "the program of N2's front".to_owned();
    }
    let names = section.functions.iter().map(|one| one.value.to_string());
    let numbered = match section.instance.number {
        0 => String::new(),
        number => format!(", instance {number}"),
    };
    format!(
        "the program of {}{numbered}",
        names.collect::<Vec<_>>().join(", ")
    )
}
