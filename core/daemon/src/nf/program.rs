//! A program of some functions at work: their host, its ring, and what operators ask.

use super::functions;
use super::upfs::Upfs;
use crate::config::CoreConfig;
use crate::operators::answers::ContextsState;

use crate::operators::part::Part;
use crate::operators::qos;
use crate::operators::request::{Request, subscriber};
use crate::parts::contexts;
use crate::parts::flow::{Flow, log};
use crate::parts::news::{Report, Settings, Traced, UdmSettings};
use crate::parts::refusals::Kept;
use crate::parts::trace::unix_us;
use sluice_bus_local::{Member, SharedMember, Told};
use sluice_core_host::Host;
use sluice_core_runtime::system;
use sluice_host::poll::{Poller, Ready, Waker};
use sluice_host::signal::Shutdown;
use sluice_program::control::refusal;
use sluice_program::lines::{self, PeerNames};
use sluice_program::logging;
use sluice_sbi::{Instant, Nf, NfInstance};
use sluice_udm::Udm;
use sluice_wiring::{Apart, Flows, Sessions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait of a turn.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same while sessions end.
const PATIENCE_AT_END: Duration = Duration::from_millis(20);
/// Refusals and traced messages that wait until the core takes them, the newest.
const REFUSALS_KEPT: usize = 1_024;
const TRACED_KEPT: usize = 4_096;

/// Functions with their host.
pub(super) struct Program {
    host: Host<Apart>,
    /// None of a program without SMF.
    upfs: Option<Upfs>,
    poller: Poller,
    /// Of the thread that stores contexts.
    waker: Waker,
    member: SharedMember,
    flow: Flow,
    /// Questions of operators that wait for an SMF, by their numbers.
    asked: Vec<(u64, qos::Asked)>,
    /// News that the core has not taken yet.
    report: Report,
    file: PathBuf,
    has_udm: bool,
    /// How long sessions have to be released at the end.
    end_within: Duration,
    /// Settings that the core has told last; none before it told anything.
    settings: Option<Settings>,
}

impl Program {
    /// Of the functions that `member` has joined with.
    ///
    /// # Errors
    /// The configuration lacks what they need.
    pub fn new(
        (file, config): (&Path, &CoreConfig),
        member: Member,
        functions: &[Nf],
        mut upfs: Option<Upfs>,
    ) -> io::Result<Self> {
        let home = functions::home(config);
        let home = home.ok_or_else(|| io::Error::other("the core has no identity"))?;
        let begun_unix_s = upfs.as_ref().and_then(Upfs::begun_unix_s);
        let begun_unix_s = begun_unix_s.unwrap_or_else(|| system::now().unix_s);
        let its = functions::new(config, functions, begun_unix_s)?;
        let mut host = Host::new(its, home);
        let (poller, waker) = (Poller::new()?, Waker::new()?);
        if let Some(upfs) = &mut upfs {
            upfs.resume(&mut host, waker.clone())?;
        }
        poller.add(&member, 0)?;
        poller.add(&waker, 3)?;
        if let Some(upfs) = &upfs {
            poller.add(&upfs.n4, 1)?;
        }
        let member = SharedMember::from(member);
        let all = Nf::ALL.into_iter();
        let others: Vec<Nf> = all.filter(|nf| !functions.contains(nf)).collect();
        host.connect(Box::new(member.clone()), &others);
        Ok(Self {
            host,
            upfs,
            poller,
            waker,
            member,
            flow: Flow::default(),
            asked: Vec::new(),
            report: Report::default(),
            file: file.to_owned(),
            has_udm: functions.contains(&Nf::Udm),
            end_within: Duration::from_secs(config.end.within_s.into()),
            settings: None,
        })
    }

    /// Works until a signal comes, or the core has gone or lets it go.
    ///
    /// # Errors
    /// The kernel's.
    pub fn serve(&mut self, shutdown: &Shutdown) -> io::Result<()> {
        self.poller.add(shutdown, 2)?;
        let mut ready = Ready::with_capacity(4);
        while !self.is_over(shutdown) {
            let patience = self.patience();
            self.poller.wait(&mut ready, Some(patience))?;
            self.waker.clear();
            while let Some(told) = self.member.take_told() {
                self.take(told);
            }
            self.turn();
            lines::tell_withheld(&PeerNames::default());
        }
        self.host.finish_contexts();
        // What sessions have used last.
        if let Some(upfs) = &mut self.upfs {
            upfs.turn(&mut self.host);
        }
        Ok(())
    }

    fn is_over(&self, shutdown: &Shutdown) -> bool {
        let has_ended = self.upfs.as_ref().is_some_and(Upfs::is_over);
        shutdown.is_requested() || self.member.is_closed() || has_ended
    }

    /// Time that it may wait.
    fn patience(&mut self) -> Duration {
        if !self.host.may_sleep() {
            return Duration::ZERO;
        }
        let ends = self.settings.as_ref().is_some_and(|one| one.ends.is_some());
        let most = if ends { PATIENCE_AT_END } else { PATIENCE };
        match self.host.next_deadline() {
            Instant::NEVER => most,
            until => {
                let left = until.0.saturating_sub(system::now().instant.0);
                most.min(Duration::from_nanos(left))
            }
        }
    }

    fn turn(&mut self) {
        // A UDM without keys would refuse SUCIs: what comes for it waits on its link.
        if self.settings.is_none() {
            return;
        }
        if let Some(upfs) = &mut self.upfs {
            upfs.n4.turn(&mut self.host);
        }
        self.host.receive(system::now());
        let now = system::now();
        if self.host.next_deadline() <= now.instant {
            self.host.time(now);
        }
        if let Some(upfs) = &mut self.upfs {
            upfs.turn(&mut self.host);
        }
        self.take_said();
        for reached in self.host.take_reached(now) {
            match reached.lost {
                None => tracing::debug!("{} is reached", reached.nf),
                // With the core all are gone.
                Some(_) if self.member.is_closed() => {}
                Some(why) => tracing::warn!("{} is not reached: {why}", reached.nf),
            }
        }
        self.host.send(now);
        if let Some(upfs) = &mut self.upfs {
            upfs.n4.send(&mut self.host);
        }
        self.answer_asked();
        self.tell();
    }

    /// Takes what functions have said, refused and sent.
    fn take_said(&mut self) {
        for line in self.host.log.take_call_flow().0 {
            log(&line);
            self.flow.add(line);
        }
        let refused = self.host.log.take_refused();
        let refused = refused.into_iter().map(Kept::from);
        self.report.refused.extend(refused);
        let now_us = unix_us();
        let traced = self.host.log.take_traced_messages().into_iter();
        let traced = traced.map(|seen| Traced::new(now_us, seen));
        self.report.traced.extend(traced);
    }

    /// Answers questions that an SMF has answered.
    fn answer_asked(&mut self) {
        let flows = Flows::from(&mut self.host);
        let member = &self.member;
        self.asked.retain(|(id, asked)| {
            let done = asked.answer(&flows);
            let is_open = done.is_none();
            if let Some(done) = done {
                answer(member, *id, &Part::done(done));
            }
            is_open
        });
    }

    /// Tells the core what it is to know; what finds no room now goes with what comes later.
    fn tell(&mut self) {
        if self.report.is_empty() {
            return;
        }
        self.report.keep(REFUSALS_KEPT, TRACED_KEPT);
        let text = serde_json::to_string(&self.report).unwrap_or_default();
        if self.member.tell(text) {
            self.report = Report::default();
        }
    }

    fn take(&mut self, told: Told) {
        match told {
            Told::News(text) => match serde_json::from_str::<Settings>(&text) {
                Ok(settings) => self.take_settings(settings),
                Err(e) => tracing::error!("the core tells what is not understood: {e}"),
            },
            Told::Question(id, text) => match serde_json::from_str::<Request>(&text) {
                Ok(request) => self.take_question(id, &request),
                Err(e) => {
                    tracing::error!("the core asks what is not understood: {e}");
                    answer(&self.member, id, &Part::default());
                }
            },
        }
    }

    fn take_question(&mut self, id: u64, request: &Request) {
        let has_pcf = self.host.functions.pcf.is_some();
        let mut flows = Flows::from(&mut self.host);
        let begun = has_pcf.then(|| qos::begin(request, &mut flows)).flatten();
        match begun {
            Some(qos::Begun::Answered(done)) => answer(&self.member, id, &Part::done(done)),
            Some(qos::Begun::Asked(asked)) => self.asked.push((id, asked)),
            None => answer(&self.member, id, &self.part(request)),
        }
    }

    /// Part of an answer that this program has.
    fn part(&self, request: &Request) -> Part {
        let mut part = Part::of(request, &self.host.functions, system::now());
        match request {
            Request::Flow { imsi } => {
                let supi = subscriber(imsi).ok();
                part.lines = supi.map(|supi| self.flow.of(&supi)).unwrap_or_default();
            }
            Request::Reload => {
                let refused = self.may_reload().err();
                part.done = refused.map(|why| refusal("refused", &why));
            }
            Request::Status => part.contexts = self.contexts(),
            Request::Counters | Request::Metrics => {
                part.contexts = self.contexts();
                if let Some(upfs) = &self.upfs {
                    part.n4 = Some(upfs.n4.counters().into());
                    part.records_lost = upfs.charging.lost();
                }
            }
            _ => {}
        }
        part
    }

    fn contexts(&self) -> Option<ContextsState> {
        let (_, last_failure) = self.host.contexts.failed_times();
        let state = self.host.contexts.state()?;
        Some(contexts::state(state, last_failure))
    }

    fn may_reload(&self) -> Result<(), String> {
        let loaded = CoreConfig::load(&self.file).map_err(|e| e.to_string())?;
        functions::may_reconfigure(&self.host.functions, &loaded.config)
    }

    fn take_settings(&mut self, settings: Settings) {
        // What is told to all may come before what is told to it: an SMF would take its sessions for unknown.
        if self.settings.is_none() && self.upfs.is_some() && settings.sessions.is_none() {
            return;
        }
        if let Some(udm) = &settings.udm {
            self.set_udm(udm);
        }
        let before = self.settings.as_ref();
        let is_new = |of: fn(&Settings) -> u64| before.is_some_and(|one| of(one) != of(&settings));
        let (reloads, registers) = (is_new(|one| one.reloads), is_new(|one| one.registrations));
        let follows = before.map(|one| &one.followed) != Some(&settings.followed);
        let ends = settings
            .ends
            .filter(|_| before.is_none_or(|one| one.ends.is_none()));
        if before.is_none() {
            self.identify(&settings);
            let known = settings.sessions.iter().flatten().copied().collect();
            let mut sessions = Sessions::from(&mut self.host);
            self.report.unknown_sessions = sessions.reconcile(system::now(), &known);
            tracing::info!("ready");
        }
        if reloads {
            self.reload();
        }
        if registers {
            self.host.register_again(system::now());
        }
        if follows {
            Sessions::from(&mut self.host).follow_ues((&settings.followed).into());
        }
        if ends == Some(true)
            && let Some(upfs) = &mut self.upfs
        {
            upfs.end(&mut self.host, self.end_within);
        }
        self.settings = Some(settings);
    }

    fn identify(&mut self, settings: &Settings) {
        for nf in Nf::ALL {
            let name = nf.to_string();
            let mut told = settings.instances.iter();
            let told = told.find(|(one, _)| *one == name);
            let instance = told.and_then(|(_, octets)| NfInstance::from_octets(*octets));
            if let Some(instance) = instance {
                self.host.instances.insert(nf, instance);
            }
        }
        // Sessions that were taken up may have had it begin.
        self.host.register_again(system::now());
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
        let config = match CoreConfig::load(&self.file) {
            Ok(loaded) => loaded.config,
            Err(refused) => return tracing::error!("the file was not taken: {refused}"),
        };
        logging::change(&config.log);
        self.end_within = Duration::from_secs(config.end.within_s.into());
        self.report.has_new_nrf |= functions::reconfigure(&mut self.host, &config);
        if let Some(upfs) = &mut self.upfs {
            upfs.reload(&mut self.host, &config);
        }
    }
}

/// Answers a question.
fn answer(member: &SharedMember, id: u64, part: &Part) {
    member.answer(id, serde_json::to_string(part).unwrap_or_default());
}
