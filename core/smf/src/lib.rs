//! Session management function (TS 23.501, 6.2.2): PDU sessions, from the UE's request to rules at
//! a UPF.
//!
//! [`Smf`] takes requests of an AMF and PFCP of UPFs, and gives answers, calls and PFCP. Each procedure is an `async fn`
//! in a file of its own with the step numbers of TS 23.502; a session has one at a time, and others wait for its end.
#![forbid(unsafe_code)]

mod admission;
mod back_off;
mod config;
mod context;
mod ending;
mod exposure;
mod limits;
mod metrics;
mod procedure;
mod refusal_text;
mod requests;
mod upf;
pub mod view;

use core::net::SocketAddr;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::rc::Rc;

use sluice_ids::{Dnn, Snssai, Supi};
use sluice_n1::{PduAddress, SessionCause};
use sluice_sbi::{
    Effect, Followed, Input, Instant, NetworkFunction, NfInstance, Now, Poll, Problem, RequestId,
    Served, Slot, TaskId, Tasks,
};

pub use config::{BACK_OFF_S, Config, NetworkConfig, UPF_RETURN_MS, UpfConfig};
pub use context::session::Usage;
pub use context::state::{ChargingId, ChargingRecord, Counters};
pub use sluice_n1::options::Settings;

use context::session::{Loss, SessionId};
use context::state::State;
use procedure::{Event, Kind, Procedure};
use sluice_sbi::Tally;
use sluice_sbi::tally::{Begun, procedure_name};
use upf::n4::Answer;

/// The function.
pub struct Smf {
    state: Rc<RefCell<State>>,
    tasks: Tasks<Event, Kind>,
    owners: BTreeMap<TaskId, SessionId>,
    begun: BTreeMap<TaskId, Begun>,
    tally: Tally,
    /// Procedures that restore sessions at restarted UPFs.
    restoring: BTreeSet<TaskId>,
    /// Procedures that release sessions as the SMF ends.
    ending: BTreeSet<TaskId>,
}

impl Smf {
    /// None if the configuration makes no sense.
    pub fn new(config: Config) -> Result<Self, &'static str> {
        config.check()?;
        Ok(Self {
            state: Rc::new(RefCell::new(State::new(config))),
            tasks: Tasks::new(limits::PROCEDURES),
            owners: BTreeMap::new(),
            begun: BTreeMap::new(),
            tally: Tally::default(),
            restoring: BTreeSet::new(),
            ending: BTreeSet::new(),
        })
    }

    /// Event counters since the start.
    pub fn counters(&self) -> Counters {
        self.state.borrow().counters
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.state.borrow().sessions.len()
    }

    /// How much is kept of sessions, by what it is: all of it is nothing when there are none.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        let mut sizes = self.state.borrow().sizes();
        sizes.push(("SMF: procedures", self.tasks.len()));
        sizes.push(("SMF: procedures by session", self.owners.len()));
        sizes.push(("SMF: procedures that are counted", self.begun.len()));
        sizes.push(("SMF: restorations", self.restoring.len()));
        sizes
    }

    /// Whether a session's user plane is up, and its address; none if there is no such session.
    pub fn session(&self, supi: &Supi, identity: u8) -> Option<(bool, PduAddress)> {
        let state = self.state.borrow();
        let id = state.by_identity.get(&(*supi, identity))?;
        let session = state.sessions.get(id.0)?;
        Some((session.downlink.is_some(), session.address))
    }

    /// Sets the UEs whose messages about sessions are traced as octets ([`Effect::TracedMessage`]).
    pub fn follow(&mut self, followed: Followed) {
        self.state.borrow_mut().followed = followed;
    }

    /// Charging records since the last call, oldest first.
    pub fn take_records(&mut self) -> Vec<ChargingRecord> {
        self.state.borrow_mut().records.drain(..).collect()
    }

    /// Procedures under way, by the step at which they wait.
    pub fn procedures(&self) -> Vec<&'static str> {
        let steps = self.owners.keys().filter_map(|task| self.tasks.step(*task));
        steps.collect()
    }

    /// Releases a session for the operator; false if there is none, or if it is busy.
    pub fn release(
        &mut self,
        now: Now,
        supi: &Supi,
        identity: u8,
        effects: &mut Vec<Effect>,
    ) -> bool {
        self.state.borrow_mut().now = now;
        let id = self
            .state
            .borrow()
            .by_identity
            .get(&(*supi, identity))
            .copied();
        let Some(id) = id.filter(|id| self.is_free(*id)) else {
            return false;
        };
        self.start(id, |p| {
            procedure::release::by_network(p, SessionCause::REGULAR_DEACTIVATION)
        });
        self.state.borrow_mut().take_effects(effects);
        true
    }

    fn is_free(&self, id: SessionId) -> bool {
        let state = self.state.borrow();
        let session = state.sessions.get(id.0);
        session.is_some_and(|session| session.task.is_none())
    }

    /// Begins a procedure for a session that has none.
    fn start<F: Future<Output = ()> + 'static>(
        &mut self,
        id: SessionId,
        procedure: impl FnOnce(Procedure) -> F,
    ) {
        let state = Rc::clone(&self.state);
        let spawned = self
            .tasks
            .spawn(|handle| procedure(Procedure::new(state, handle, id)));
        let Some(task) = spawned else {
            let state = &mut *self.state.borrow_mut();
            state.counters.no_room += 1;
            state.answer(id, Problem::Overload.into());
            return;
        };
        if let Some(session) = self.state.borrow_mut().sessions.get_mut(id.0) {
            session.task = Some(task);
        }
        self.owners.insert(task, id);
        self.began(task, id, procedure_name::<F>());
        let polled = self.tasks.begin(task);
        self.after(task, polled);
    }

    /// Tells a session's procedure what it waits for; false if it waits for nothing of the kind.
    fn tell(&mut self, id: SessionId, event: Event) -> bool {
        let tasks = {
            let state = self.state.borrow();
            let session = state.sessions.get(id.0);
            session.map(|session| [session.task, session.mobility.task])
        };
        let waits = |task: &TaskId| {
            let expects = self.tasks.expects(*task);
            expects.is_some_and(|kind| kind.fits(&event))
        };
        let tasks = tasks.into_iter().flatten().flatten();
        let Some(task) = tasks.into_iter().find(waits) else {
            return false;
        };
        let polled = self.tasks.wake(task, event);
        self.after(task, polled);
        true
    }

    fn after(&mut self, task: TaskId, polled: Poll) {
        if polled == Poll::Waiting {
            return;
        }
        let Some(id) = self.owners.remove(&task) else {
            return;
        };
        self.restoring.remove(&task);
        self.ending.remove(&task);
        let failure = self.tasks.take_failure(task);
        self.ended(task, polled, failure);
        {
            let state = &mut *self.state.borrow_mut();
            if let Some(session) = state.sessions.get_mut(id.0) {
                let tasks = [&mut session.task, &mut session.mobility.task];
                for one in tasks {
                    *one = one.filter(|one| *one != task);
                }
            }
            if polled == Poll::Panicked {
                state.counters.panics += 1;
                let session = state.sessions.get(id.0);
                let (upf, asks) = session.map_or((None, None), |one| (one.upf, one.asks));
                let upfs = &mut state.config.upfs.iter();
                if let Some(upf) = upf {
                    state.forget_at_upf(upf);
                } else if let Some(upf) = upfs.position(|upf| Some(upf.n4) == asks) {
                    state.give_up_establishment(id, upf);
                }
                state.notify(id, "");
                state.remove(id);
            }
        }
        self.next_handover(id);
        if self.is_free(id) {
            self.next(id);
        }
    }

    /// A change that a handover makes: beside the session's other procedure, one after the other.
    fn hand_over(&mut self, id: RequestId, session: SessionId, message: Slot) {
        let has_room = {
            let state = &mut *self.state.borrow_mut();
            let session = state.sessions.get_mut(session.0);
            session.map(|session| {
                let pending = &mut session.mobility.pending;
                let has_room = pending.len() < limits::PENDING;
                if has_room {
                    pending.push_back((id, message));
                }
                has_room
            })
        };
        match has_room {
            Some(true) => self.next_handover(session),
            Some(false) => {
                self.state.borrow_mut().counters.no_room += 1;
                self.refuse(id, Problem::Overload);
            }
            None => self.refuse(id, Problem::ContextNotFound),
        }
    }

    /// Starts work that waited for the end of a handover's procedure.
    fn next_handover(&mut self, id: SessionId) {
        let next = {
            let state = &mut *self.state.borrow_mut();
            let session = state.sessions.get_mut(id.0);
            let free = session.filter(|session| session.mobility.task.is_none());
            free.and_then(|session| {
                let (request, message) = session.mobility.pending.pop_front()?;
                session.mobility.request = Some(request);
                Some(message)
            })
        };
        if let Some(message) = next {
            self.start_handover(id, |p| procedure::mobility::run(p, message));
        }
    }

    fn start_handover<F: Future<Output = ()> + 'static>(
        &mut self,
        id: SessionId,
        procedure: impl FnOnce(Procedure) -> F,
    ) {
        let state = Rc::clone(&self.state);
        let spawned = self
            .tasks
            .spawn(|handle| procedure(Procedure::new(state, handle, id)));
        let Some(task) = spawned else {
            let state = &mut *self.state.borrow_mut();
            state.counters.no_room += 1;
            state.answer_mobility(id, Problem::Overload.into());
            return;
        };
        if let Some(session) = self.state.borrow_mut().sessions.get_mut(id.0) {
            session.mobility.task = Some(task);
        }
        self.owners.insert(task, id);
        let polled = self.tasks.begin(task);
        self.after(task, polled);
    }

    /// Sessions whose packets have been forwarded for long enough. One that is handed over again ends it
    /// by itself.
    fn end_forwarding(&mut self) {
        loop {
            let next = self.state.borrow_mut().next_forwarded();
            let Some(id) = next else {
                return;
            };
            let is_free = self
                .state
                .borrow()
                .sessions
                .get(id.0)
                .is_some_and(|session| session.mobility.task.is_none());
            if is_free {
                self.start_handover(id, procedure::mobility::forwarding_is_over);
            }
        }
    }

    /// Starts work that waited for the end of a session's procedure.
    fn next(&mut self, id: SessionId) {
        if self.state.borrow().to_end.is_some() {
            return self.end_session(id);
        }
        let is_forgotten = {
            let state = self.state.borrow();
            let session = state.sessions.get(id.0);
            session.is_some_and(|session| session.is_forgotten && session.pending.is_empty())
        };
        // It was counted and recorded when it was over. Without an association it waits until there is one.
        if self.state.borrow().is_left_over(id) {
            if self.state.borrow().can_undo(id) {
                self.start(id, context::resumption::undo);
            }
            return;
        }
        if is_forgotten {
            return self.start(id, procedure::release::replaced);
        }
        // Without it nothing else can be done at the UPF.
        if self.state.borrow().is_restorable(id) {
            return self.start_restoration(id);
        }
        if self.state.borrow().is_to_settle(id) {
            return self.start(id, context::resumption::settle);
        }
        let (next, is_lost, has_packets, is_due, loses_tunnel) = {
            let state = &mut *self.state.borrow_mut();
            let is_due = state.is_due(id);
            let Some(session) = state.sessions.get_mut(id.0) else {
                return;
            };
            let next = session.pending.pop_front();
            session.request = next.as_ref().map(|(id, _)| *id);
            let waits = session.downlink.is_none() && session.reaching.is_none();
            let has_packets = next.is_none() && std::mem::take(&mut session.has_packets);
            let is_gone = session.loss == Loss::Gone;
            let is_lost = next.is_none() && !is_gone && std::mem::take(&mut session.is_tunnel_lost);
            // The UE may have come elsewhere meanwhile.
            let loses_tunnel = is_lost && session.downlink.is_some();
            (next, is_gone, has_packets && waits, is_due, loses_tunnel)
        };
        let is_to_be_modified = self.state.borrow().is_to_be_modified(id);
        match next {
            Some((_, message)) => self.start(id, |p| procedure::update::run(p, message)),
            None if is_lost => self.start(id, |p| {
                procedure::release::by_network(p, SessionCause::REACTIVATION_REQUESTED)
            }),
            None if loses_tunnel => self.start(id, procedure::paging::tunnel_lost),
            None if is_due => self.start(id, procedure::paging::due),
            None if has_packets => self.start(id, |p| procedure::paging::run(p, 1)),
            None if is_to_be_modified => self.start(id, procedure::modification::by_network),
            None if self.state.borrow().is_beyond_repair(id) => self.start(id, |p| {
                procedure::release::by_network(p, SessionCause::REACTIVATION_REQUESTED)
            }),
            None => {}
        }
    }

    /// Restarted UPFs get their sessions again, a few at a time.
    fn restore(&mut self) {
        // Those of which a late answer is waited for hold up no others.
        let tasks = &self.tasks;
        self.restoring
            .retain(|task| tasks.step(*task) != Some(procedure::establishment::CLEAN_UP));
        loop {
            if self.restoring.len() >= limits::RESTORATIONS {
                return;
            }
            let next = self.state.borrow_mut().to_restore.pop_front();
            let Some(id) = next else {
                return;
            };
            // One that has a procedure is restored when that ends.
            let is_restorable = self.state.borrow().is_restorable(id);
            if is_restorable && self.is_free(id) {
                self.start_restoration(id);
            }
        }
    }

    /// UPFs that have retained sessions are told anew how these are, where that is not known; a few at a
    /// time.
    fn settle(&mut self) {
        while self.restoring.len() < limits::RESTORATIONS {
            let next = self.state.borrow_mut().next_unsettled();
            let Some(id) = next else {
                return;
            };
            if self.state.borrow().is_to_undo(id) {
                self.start(id, context::resumption::undo);
                let task = self.state.borrow().sessions.get(id.0).and_then(|s| s.task);
                self.restoring.extend(task);
                continue;
            }
            // One that has a procedure is settled when that ends.
            let is_to_settle = self.state.borrow().is_to_settle(id);
            if is_to_settle && self.is_free(id) {
                self.start(id, context::resumption::settle);
                let task = self.state.borrow().sessions.get(id.0).and_then(|s| s.task);
                self.restoring.extend(task);
            }
        }
    }

    fn start_restoration(&mut self, id: SessionId) {
        self.start(id, upf::restoration::run);
        let task = self.state.borrow().sessions.get(id.0).and_then(|s| s.task);
        self.restoring.extend(task);
    }

    /// Sessions for which packets have come, and those for which a time has come.
    fn reach(&mut self) {
        let with_packets = std::mem::take(&mut self.state.borrow_mut().with_packets);
        for id in with_packets {
            if let Some(session) = self.state.borrow_mut().sessions.get_mut(id.0) {
                session.has_packets = true;
            }
            if self.is_free(id) {
                self.next(id);
            }
        }
        loop {
            let due = self.state.borrow_mut().next_due();
            let Some(id) = due else {
                return;
            };
            // One that has a procedure is looked at when that ends.
            if self.is_free(id) {
                self.next(id);
            }
        }
    }

    /// Sessions whose flows are to be looked at again.
    fn look_again(&mut self) {
        loop {
            let next = self.state.borrow_mut().next_postponed();
            let Some(id) = next else {
                return;
            };
            // One that has a procedure is looked at when that ends.
            if self.is_free(id) {
                self.next(id);
            }
        }
    }

    fn n4(&mut self, from: SocketAddr, octets: &[u8]) {
        let answers = self.state.borrow_mut().n4_input(from, octets);
        for (tag, answer) in answers {
            self.answered(tag, answer);
        }
    }

    fn answered(&mut self, tag: u64, answer: Answer) {
        if self.state.borrow_mut().is_deleted(tag, answer) {
            return;
        }
        let session = self.state.borrow_mut().asked.remove(&tag);
        let told = session.is_some_and(|session| self.tell(session, Event::N4(tag, answer)));
        // Nobody waits for this session any more.
        if let (false, Answer::Established(upf, _)) = (told, answer) {
            self.state.borrow_mut().forget_at_upf(upf);
        }
    }

    /// Handles events of the N4 endpoint.
    fn n4_events(&mut self) {
        loop {
            let (failed, lost) = self.state.borrow_mut().n4_events();
            if failed.is_empty() && lost.is_empty() {
                return;
            }
            for tag in failed {
                self.answered(tag, Answer::Nothing);
            }
            for id in lost {
                if self.is_free(id) {
                    self.next(id);
                }
            }
        }
    }
}

impl NetworkFunction for Smf {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        self.state.borrow_mut().now = now;
        match input {
            Input::Request { id, message } => self.request(id, message),
            Input::Reply { call, message } => {
                let session = self.state.borrow_mut().end_call(call, &message);
                if let Some(session) = session {
                    self.tell(session, Event::Reply(call, message));
                }
            }
            Input::N4 { from, octets } => self.n4(from, octets),
            Input::Time => {
                self.state.borrow_mut().associate(false);
                self.state.borrow_mut().n4_time();
                self.state.borrow_mut().delete_orphans();
                while let Some((task, polled)) = self.tasks.expire(now.instant) {
                    self.after(task, polled);
                }
                self.state.borrow_mut().calls.expire(now.instant);
                self.state.borrow_mut().end_subscriptions();
            }
            // N2 is the AMF's, and nothing waits for what is stored.
            Input::N2 { .. }
            | Input::AssociationLost(_)
            | Input::Committed(_)
            | Input::NotCommitted { .. } => {}
        }
        self.n4_events();
        self.restore();
        self.settle();
        self.reach();
        self.end_forwarding();
        self.look_again();
        self.go_on_ending();
        self.state.borrow_mut().take_effects(effects);
    }

    /// Parts by UPF: where it has no slices of its own, those of the network.
    fn serves(&self, slices: &[Snssai]) -> Vec<Served> {
        let mut served: Vec<Served> = Vec::new();
        for (own, dnns, areas) in self.state.borrow().config.served() {
            let slices = if own.is_empty() { slices } else { &own };
            for part in Served::parts(slices, &dnns, &areas) {
                if !served.contains(&part) {
                    served.push(part);
                }
            }
        }
        // No UPF leads to any of its data networks: it serves one without a name, which is none.
        if served.is_empty() {
            served.push(Served::new(slices, &[Dnn::NONE], &[]));
        }
        served
    }

    fn identify(&mut self, instance: NfInstance) {
        self.state.borrow_mut().instance = Some(instance);
    }

    /// Percent of the sessions that there is room for.
    fn load(&self) -> u8 {
        (self.sessions() * 100 / limits::SESSIONS) as u8
    }

    fn next_deadline(&self) -> Instant {
        let state = self.state.borrow();
        let n4 = state.endpoint.next_deadline();
        let n4 = n4.map_or(Instant::NEVER, |deadline| Instant(deadline.0));
        let reaching = state.reaching.first();
        let reaching = reaching.map_or(Instant::NEVER, |(until, _)| *until);
        let forwarding = state.forwarding.first();
        let forwarding = forwarding.map_or(Instant::NEVER, |(until, _)| *until);
        let postponed = state.postponed.first();
        let postponed = postponed.map_or(Instant::NEVER, |(until, _)| *until);
        self.tasks
            .next_deadline()
            .min(n4)
            .min(state.associate_at)
            .min(reaching)
            .min(forwarding)
            .min(postponed)
            .min(state.next_given_up())
            .min(state.orphans_at)
            .min(state.exposure.next_end())
    }
}

impl fmt::Debug for Smf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Smf")
    }
}
