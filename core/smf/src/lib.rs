//! Session management function (TS 23.501, 6.2.2): PDU sessions, from the UE's request to rules at
//! a UPF.
//!
//! [`Smf`] takes requests of an AMF and PFCP of UPFs, and gives answers, calls and PFCP. Each
//! procedure is an `async fn` in a file of its own with the step numbers of TS 23.502; a session
//! has one at a time, and what comes in between waits for its end.
#![forbid(unsafe_code)]

mod config;
mod establishment;
mod limits;
mod n4;
mod procedure;
mod release;
mod rules;
mod session;
mod state;
mod update;

use core::net::SocketAddr;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use sluice_ids::Supi;
use sluice_n1::{PduAddress, SessionCause, SessionUplink};
use sluice_sbi::{
    CreateSmContext, Effect, Input, Instant, Message, NetworkFunction, Now, Poll, Problem,
    RequestId, SmChange, SmContextUpdated, TaskId, Tasks,
};

pub use config::{Config, NetworkConfig, UpfConfig};
pub use session::Usage;
pub use state::{ChargingRecord, Counters};

use n4::Answer;
use procedure::{Event, Kind, Procedure};
use session::{Session, SessionId};
use state::State;

/// The function.
pub struct Smf {
    state: Rc<RefCell<State>>,
    tasks: Tasks<Event, Kind>,
    owners: BTreeMap<TaskId, SessionId>,
}

impl Smf {
    /// None if the configuration makes no sense.
    pub fn new(config: Config) -> Result<Self, &'static str> {
        config.check()?;
        Ok(Self {
            state: Rc::new(RefCell::new(State::new(config))),
            tasks: Tasks::new(limits::PROCEDURES),
            owners: BTreeMap::new(),
        })
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.state.borrow().counters
    }

    /// How many sessions there are.
    pub fn sessions(&self) -> usize {
        self.state.borrow().sessions.len()
    }

    /// Whether a session's user plane is up, and its address; none if there is no such session.
    pub fn session(&self, supi: &Supi, identity: u8) -> Option<(bool, PduAddress)> {
        let state = self.state.borrow();
        let id = state.by_identity.get(&(*supi, identity))?;
        let session = state.sessions.get(id.0)?;
        Some((session.downlink.is_some(), session.address))
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
            release::by_network(p, SessionCause::REGULAR_DEACTIVATION)
        });
        effects.append(&mut self.state.borrow_mut().effects);
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
        let polled = self.tasks.begin(task);
        self.after(task, polled);
    }

    /// Tells a session's procedure what it waits for; false if it waits for nothing of the kind.
    fn tell(&mut self, id: SessionId, event: Event) -> bool {
        let task = self.state.borrow().sessions.get(id.0).and_then(|s| s.task);
        let Some(task) = task else {
            return false;
        };
        let expects = self.tasks.expects(task);
        if !expects.is_some_and(|kind| kind.fits(&event)) {
            return false;
        }
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
        {
            let state = &mut *self.state.borrow_mut();
            if let Some(session) = state.sessions.get_mut(id.0) {
                session.task = None;
            }
            if polled == Poll::Panicked {
                state.counters.panics += 1;
                let upf = state.sessions.get(id.0).and_then(|session| session.upf);
                if let Some(upf) = upf {
                    state.forget_at_upf(upf);
                }
                state.notify(id, "");
                state.remove(id);
            }
        }
        self.next(id);
    }

    /// What waited for the end of a session's procedure.
    fn next(&mut self, id: SessionId) {
        let (next, is_lost) = {
            let state = &mut *self.state.borrow_mut();
            let Some(session) = state.sessions.get_mut(id.0) else {
                return;
            };
            let next = session.pending.pop_front();
            session.request = next.as_ref().map(|(id, _)| *id);
            (next, session.is_lost)
        };
        match next {
            Some((_, message)) => self.start(id, |p| update::run(p, message)),
            None if is_lost => self.start(id, |p| {
                release::by_network(p, SessionCause::REACTIVATION_REQUESTED)
            }),
            None => {}
        }
    }

    fn request(&mut self, id: RequestId, message: Message) {
        match message {
            Message::CreateSmContext(request) => self.create(id, request),
            Message::UpdateSmContext(update) => {
                let session = SessionId::from_number(update.context.get());
                if update.change == SmChange::N1 && self.completes(session, &update.n1) {
                    let message = SmContextUpdated::NOTHING.into();
                    self.state
                        .borrow_mut()
                        .effects
                        .push(Effect::Answer { id, message });
                    return;
                }
                self.change(id, session, message);
            }
            Message::ReleaseSmContext(release) => {
                let session = SessionId::from_number(release.context.get());
                // The UE is gone: it will not say that it has released the session.
                self.change(id, session, message);
                self.tell(session, Event::ReleaseComplete);
            }
            _ => self.refuse(id, Problem::Protocol),
        }
    }

    /// Whether this is the Release Complete that a procedure waits for.
    fn completes(&mut self, id: SessionId, n1: &sluice_sbi::Container) -> bool {
        let octets = n1.get().unwrap_or_default();
        SessionUplink::decode(octets) == Ok(SessionUplink::ReleaseComplete)
            && self.tell(id, Event::ReleaseComplete)
    }

    fn refuse(&mut self, id: RequestId, problem: Problem) {
        let message = problem.into();
        let effect = Effect::Answer { id, message };
        self.state.borrow_mut().effects.push(effect);
    }

    fn create(&mut self, id: RequestId, request: CreateSmContext) {
        let name = (request.supi, request.session);
        let before = self.state.borrow().by_identity.get(&name).copied();
        let session = {
            let state = &mut *self.state.borrow_mut();
            let mut session =
                Session::new(request.supi, request.session, request.slice, request.dnn);
            session.request = Some(id);
            let session = state.sessions.insert(session).map(SessionId);
            if let Some(session) = session {
                state.by_identity.insert(name, session);
            }
            session
        };
        // One of this identity is over: the UE asks for it anew.
        if let Some(before) = before.filter(|before| self.is_free(*before)) {
            self.start(before, release::replaced);
        }
        match session {
            Some(session) => self.start(session, |p| establishment::run(p, request)),
            None => {
                self.state.borrow_mut().counters.no_room += 1;
                self.refuse(id, Problem::Overload);
            }
        }
    }

    /// A request about a session that is there; it waits while the session has a procedure.
    fn change(&mut self, id: RequestId, session: SessionId, message: Message) {
        let is_there = self.state.borrow().sessions.get(session.0).is_some();
        if !is_there {
            let is_release = matches!(message, Message::ReleaseSmContext(_));
            if is_release {
                let message = sluice_sbi::Done::ALL.into();
                let effect = Effect::Answer { id, message };
                self.state.borrow_mut().effects.push(effect);
                return;
            }
            return self.refuse(id, Problem::ContextNotFound);
        }
        let is_free = self.is_free(session);
        let has_room = {
            let state = &mut *self.state.borrow_mut();
            let Some(session) = state.sessions.get_mut(session.0) else {
                return;
            };
            let has_room = session.pending.len() < limits::PENDING;
            if is_free {
                session.request = Some(id);
            } else if has_room {
                session.pending.push_back((id, message));
            }
            is_free || has_room
        };
        if is_free {
            self.start(session, |p| update::run(p, message));
        } else if !has_room {
            self.state.borrow_mut().counters.no_room += 1;
            self.refuse(id, Problem::Overload);
        }
    }

    fn n4(&mut self, from: SocketAddr, octets: &[u8]) {
        let answers = self.state.borrow_mut().n4_input(from, octets);
        for (tag, answer) in answers {
            self.answered(tag, answer);
        }
    }

    fn answered(&mut self, tag: u64, answer: Answer) {
        let session = self.state.borrow_mut().asked.remove(&tag);
        let told = session.is_some_and(|session| self.tell(session, Event::N4(tag, answer)));
        // Nobody waits for this session any more.
        if let (false, Answer::Established(upf, _)) = (told, answer) {
            self.state.borrow_mut().forget_at_upf(upf);
        }
    }

    /// What the endpoint has noticed.
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
                if let Some(session) = self.state.borrow_mut().sessions.get_mut(id.0) {
                    session.is_lost = true;
                }
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
                let session = self.state.borrow_mut().calls.end(call).flatten();
                if let Some(session) = session {
                    self.tell(session, Event::Reply(call, Box::new(message)));
                }
            }
            Input::N4 { from, octets } => self.n4(from, octets),
            Input::Time => {
                self.state.borrow_mut().associate();
                self.state.borrow_mut().n4_time();
                while let Some((task, polled)) = self.tasks.expire(now.instant) {
                    self.after(task, polled);
                }
            }
            // N2 is the AMF's, and nothing is stored yet.
            Input::N2 { .. } | Input::AssociationLost(_) | Input::Committed(_) => {}
        }
        self.n4_events();
        effects.append(&mut self.state.borrow_mut().effects);
    }

    fn next_deadline(&self) -> Instant {
        let state = self.state.borrow();
        let waits = state.associations.iter().all(Option::is_some);
        // Associations that are not begun are begun at once.
        let begin = if waits {
            Instant::NEVER
        } else {
            state.now.instant
        };
        let n4 = state.endpoint.next_deadline();
        let n4 = n4.map_or(Instant::NEVER, |deadline| Instant(deadline.0));
        self.tasks.next_deadline().min(n4).min(begin)
    }
}

impl fmt::Debug for Smf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Smf")
    }
}
