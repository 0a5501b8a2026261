//! A program of some functions at work: their host, its ring, and what operators ask.

mod beginning;
mod settings;

use super::drain::Drain;
use super::gnbs::Gnbs;
use super::subscribers::Subscribers;
use super::to_core::ToCore;
use super::upfs::Upfs;
use super::{Doors, functions};
use crate::config::CoreConfig;
use crate::operators::answers::ContextsState;
use crate::operators::counters::SbiPart;
use crate::operators::mobility;
use crate::operators::nfs;
use crate::operators::part::Part;
use crate::operators::qos;
use crate::operators::request::{Ask, Request, subscriber};
use crate::parts::contexts;
use crate::parts::flow::{Flow, log};
use crate::parts::news::{Report, Settings, Traced, told_keys};
use crate::parts::refusals::Kept;
use crate::parts::services;
use crate::parts::trace::unix_us;
use sluice_bus_http2::SharedServices;
use sluice_bus_local::Told;
use sluice_core_host::Host;
use sluice_core_runtime::system;
use sluice_host::poll::{Poller, Ready, Waker};
use sluice_host::signal::Shutdown;
use sluice_ids::Guami;
use sluice_program::control::refusal;
use sluice_program::lines::{self, PeerNames};
use sluice_sbi::context_store::Stored;
use sluice_sbi::{Instance, Instant, Nf, Place};
use sluice_subscribers::Operation;
use sluice_wiring::{Apart, Flows, Mobility, Repository};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest wait of a turn.
const PATIENCE: Duration = Duration::from_millis(500);
/// The same while others have sent something, and it has not begun.
const PATIENCE_BEFORE: Duration = Duration::from_millis(5);
/// The same while sessions end.
const PATIENCE_AT_END: Duration = Duration::from_millis(20);
/// Refusals and traced messages that wait until the core takes them, the newest.
const REFUSALS_KEPT: usize = 1_024;
const TRACED_KEPT: usize = 4_096;

/// Functions with their host.
pub(super) struct Program {
    host: Host<Apart>,
    /// None of a program without AMF.
    gnbs: Option<Gnbs>,
    /// None of a program without SMF.
    upfs: Option<Upfs>,
    /// None of a program without UDR.
    subscribers: Option<Subscribers>,
    contexts: contexts::Watch,
    poller: Poller,
    /// Of the thread that stores contexts.
    waker: Waker,
    to_core: ToCore,
    /// Services by HTTP; none of a program that has rings or sockets.
    services: Option<SharedServices>,
    flow: Flow,
    /// Questions of operators that wait for an SMF, by their numbers.
    asked: Vec<(u64, qos::Asked)>,
    /// News that the core has not taken yet.
    report: Report,
    /// Name of the AMF.
    guami: Option<Guami>,
    file: PathBuf,
    /// Places of its functions, in this order.
    places: Vec<Place>,
    /// Drain of the program, which takes no new calls and ends when those of before are over; none while it does not drain.
    drains: Option<Drain>,
    has_udm: bool,
    /// How long sessions have to be released at the end.
    end_within: Duration,
    /// Settings that the core has told last; none before it told anything.
    settings: Option<Settings>,
    compared: beginning::Compared,
    /// AMF and SMF know the same sessions: before that nothing is taken from anybody.
    has_begun: bool,
}

impl Program {
    /// Of these functions, for the core that it has found.
    ///
    /// # Errors
    /// The configuration lacks what they need.
    pub fn new(
        (file, config): (&Path, &CoreConfig),
        to_core: ToCore,
        (functions, instance): (&[Nf], Instance),
        doors: Doors,
    ) -> io::Result<Self> {
        let home = functions::home(config);
        let home = home.ok_or_else(|| io::Error::other("the core has no identity"))?;
        let Doors {
            gnbs,
            upfs,
            udr,
            contexts,
            services,
        } = doors;
        let begun_unix_s = contexts.as_ref().map(contexts::Opened::begun_unix_s);
        let begun_unix_s = begun_unix_s.unwrap_or_else(|| system::now().unix_s);
        let its = functions::new(config, functions, instance.number, begun_unix_s)?;
        let (udr, beside) = udr.unzip();
        let its = Apart { udr, ..its };
        let mut host = Host::new(its, home).as_instance(instance);
        let (poller, waker) = (Poller::new()?, Waker::new()?);
        let mut report = Report::default();
        let mut stored = Stored::new();
        if let Some(contexts) = contexts {
            let waker = waker.clone();
            stored = contexts.resume_program(&mut host, move || waker.wake())?;
        }
        let subscribers = match beside {
            None => None,
            Some(beside) => {
                report.home_keys = Some(told_keys(&beside.home_keys));
                Some(Subscribers::begin(
                    beside,
                    &mut host,
                    waker.clone(),
                    stored,
                )?)
            }
        };
        poller.add(&waker, 4)?;
        let all = Nf::ALL.into_iter();
        let others: Vec<Nf> = all.filter(|nf| !functions.contains(nf)).collect();
        if let Some(services) = &services {
            services.with(|services| poller.add(services, 5))?;
            host.connect(Box::new(services.clone()), &others);
        }
        if let ToCore::Joined(member) = &to_core {
            member.watch(&poller, 0)?;
            host.connect(Box::new(member.clone()), &others);
        }
        let places = functions.iter();
        let places = places.map(|nf| Place::from(*nf).at(instance.number));
        Ok(Self {
            host,
            gnbs,
            upfs,
            subscribers,
            contexts: contexts::Watch::default(),
            poller,
            waker,
            to_core,
            services,
            flow: Flow::default(),
            asked: Vec::new(),
            report,
            guami: config.amf.guami,
            file: file.to_owned(),
            places: places.collect(),
            drains: None,
            has_udm: functions.contains(&Nf::Udm),
            end_within: Duration::from_secs(config.end.within_s.into()),
            settings: None,
            compared: beginning::Compared::default(),
            has_begun: false,
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
            let before = system::now().instant;
            self.poller.wait(&mut ready, Some(patience))?;
            let slept_ns = system::now().instant.0.saturating_sub(before.0);
            self.waker.clear();
            while let Some(told) = self.to_core.take_told() {
                self.take(told)?;
            }
            self.take_subscribers();
            self.turn(Duration::from_nanos(slept_ns))?;
            lines::tell_withheld(&PeerNames::default());
        }
        self.host.finish_contexts();
        // What sessions have used last.
        if let Some(upfs) = &mut self.upfs {
            upfs.turn(&mut self.host);
        }
        if let Some(gnbs) = self.gnbs.take() {
            gnbs.n2.close();
        }
        if let Some(subscribers) = self.subscribers.take() {
            subscribers.sync.close();
        }
        Ok(())
    }

    fn is_over(&self, shutdown: &Shutdown) -> bool {
        let of_upfs = self.upfs.as_ref().map(Upfs::is_over);
        let of_gnbs = self.gnbs.as_ref().map(Gnbs::is_over);
        let has_ended = match (of_upfs, of_gnbs) {
            (None, None) => false,
            (upfs, gnbs) => upfs.unwrap_or(true) && gnbs.unwrap_or(true),
        };
        let is_drained = self
            .drains
            .as_ref()
            .is_some_and(|one| one.is_over(std::time::Instant::now()));
        shutdown.is_requested() || self.to_core.is_closed() || has_ended || is_drained
    }

    /// Time that it may wait.
    fn patience(&mut self) -> Duration {
        match (self.host.may_sleep(), self.has_begun) {
            (true, true) => {}
            (false, true) => return Duration::ZERO,
            (true, false) => return PATIENCE,
            // What waits is for later, and the core may tell more meanwhile.
            (false, false) => return PATIENCE_BEFORE,
        }
        let ends = self.settings.as_ref().is_some_and(|one| one.ends.is_some());
        let most = if ends || self.drains.is_some() {
            PATIENCE_AT_END
        } else {
            PATIENCE
        };
        let of_n2 = self.gnbs.as_ref().map(|gnbs| gnbs.n2.patience());
        let most = of_n2.map_or(most, |of_n2| most.min(of_n2));
        match self.host.next_deadline() {
            Instant::NEVER => most,
            until => {
                let left = until.0.saturating_sub(system::now().instant.0);
                most.min(Duration::from_nanos(left))
            }
        }
    }

    fn turn(&mut self, slept: Duration) -> io::Result<()> {
        // A UDM without keys would refuse SUCIs: what comes for it waits on its link.
        if !self.has_begun {
            self.tell();
            return Ok(());
        }
        if let Some(gnbs) = &mut self.gnbs {
            gnbs.turn(&mut self.host, slept)?;
            self.report.refused.extend(gnbs.take_strangers());
        }
        if let Some(upfs) = &mut self.upfs {
            upfs.n4.turn(&mut self.host);
        }
        self.host.receive(system::now());
        if let Some(services) = &self.services {
            services::serve_nrf(services, (&mut self.host).into());
            self.report.refused.extend(services::take_refused(services));
        }
        let now = system::now();
        if self.host.next_deadline() <= now.instant {
            self.host.time(now);
        }
        if let Some(upfs) = &mut self.upfs {
            upfs.turn(&mut self.host);
        }
        self.leave_gnbs();
        self.host.contexts.tend();
        self.contexts.look(self.host.contexts.failed_times());
        self.take_said();
        for reached in self.host.take_reached(now) {
            match reached.lost {
                None => tracing::debug!("{} is reached", reached.place),
                // With the core all are gone.
                Some(_) if self.to_core.is_closed() => {}
                Some(why) => tracing::warn!("{} is not reached: {why}", reached.place),
            }
        }
        self.host.send(now);
        if let Some(drain) = &mut self.drains {
            drain.look(
                std::time::Instant::now(),
                self.host.open(),
                self.host.remote_counters().received,
            );
        }
        if let Some(gnbs) = &mut self.gnbs {
            gnbs.n2.send(&mut self.host);
        }
        if let Some(upfs) = &mut self.upfs {
            upfs.n4.send(&mut self.host);
        }
        self.answer_asked();
        self.tell();
        Ok(())
    }

    /// gNBs are left once nobody sends them anything more: the core says so, or sessions of this program are over.
    fn leave_gnbs(&mut self) {
        let is_told = self.settings.as_ref().is_some_and(|one| one.leaves_gnbs);
        let are_over = self.upfs.as_ref().is_some_and(Upfs::is_over);
        if let Some(gnbs) = &mut self.gnbs
            && (is_told || are_over)
            && !self.host.has_more_to_send()
        {
            gnbs.leave(&mut self.host);
        }
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
        let to_core = &self.to_core;
        self.asked.retain(|(id, asked)| {
            let done = asked.answer(&flows);
            let is_open = done.is_none();
            if let Some(done) = done {
                to_core.answer(*id, &Part::done(done));
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
        if self.to_core.tell(text) {
            self.report = Report::default();
        }
    }

    fn take(&mut self, told: Told) -> io::Result<()> {
        match told {
            Told::News(text) => match serde_json::from_str::<Settings>(&text) {
                Ok(settings) => self.take_settings(settings)?,
                Err(e) => tracing::error!("the core tells what is not understood: {e}"),
            },
            Told::Question(id, text) => match serde_json::from_str::<Ask>(&text) {
                Ok(Ask::Core(request)) => self.take_question(id, &request),
                Ok(Ask::Subscribers(operation)) => self.operate(id, operation),
                Err(e) => {
                    tracing::error!("the core asks what is not understood: {e}");
                    self.to_core.answer(id, &Part::default());
                }
            },
        }
        Ok(())
    }

    /// Has the database do what an operator asks; its answer follows.
    fn operate(&mut self, id: u64, operation: Box<Operation>) {
        let Some(subscribers) = &self.subscribers else {
            return self.to_core.answer(id, &Part::default());
        };
        if let Some((id, done)) = subscribers.sync.operate(operation, id) {
            self.to_core.answer(id, &Part::done(done));
        }
    }

    /// Takes what the database has done.
    fn take_subscribers(&mut self) {
        let Some(subscribers) = &mut self.subscribers else {
            return;
        };
        let turned = subscribers.sync.turn(&mut Repository::from(&mut self.host));
        if let Some(keys) = turned.home_keys {
            self.report.home_keys = Some(told_keys(&keys));
        }
        for (id, done) in turned.answers {
            self.to_core.answer(id, &Part::done(done));
        }
    }

    fn take_question(&mut self, id: u64, request: &Request) {
        if self.host.functions.amf.is_some()
            && let Some(done) = mobility::act(request, Mobility::from(&mut self.host))
        {
            return self.to_core.answer(id, &Part::done(done));
        }
        let has_pcf = self.host.functions.pcf.is_some();
        let mut flows = Flows::from(&mut self.host);
        let begun = has_pcf.then(|| qos::begin(request, &mut flows)).flatten();
        match begun {
            Some(qos::Begun::Answered(done)) => self.to_core.answer(id, &Part::done(done)),
            Some(qos::Begun::Asked(asked)) => self.asked.push((id, asked)),
            None => self.to_core.answer(id, &self.part(request)),
        }
    }

    /// Part of an answer that this program has.
    fn part(&self, request: &Request) -> Part {
        let functions = &self.host.functions;
        let mut part = Part::of(request, functions, system::now());
        if let Some(gnbs) = &self.gnbs {
            let (amf, n2) = (functions.amf.as_ref(), Some(&gnbs.n2));
            part = part.with_amf(request, amf, n2, &gnbs.load);
        }
        let database = self.subscribers.as_ref();
        let is_up = database.and_then(|one| one.sync.is_up());
        part = part.with_udr(request, functions.udr.as_ref(), is_up);
        match request {
            Request::Flow { imsi } => {
                let supi = subscriber(imsi).ok();
                part.lines = supi.map(|supi| self.flow.of(&supi)).unwrap_or_default();
            }
            Request::Reload => {
                let refused = self.may_reload().err();
                part.done = refused.map(|why| refusal("refused", &why));
            }
            Request::Nfs => {
                let number = |place: &Place| place.instance();
                let number = self.places.first().map_or(0, number);
                part.instances = nfs::instances(&self.host.loads(), number);
            }
            Request::Status => part.contexts = self.contexts(),
            Request::Counters | Request::Metrics => {
                part.contexts = self.contexts();
                part.sbi = self.services.as_ref().map(SbiPart::of);
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
}
