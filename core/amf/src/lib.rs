//! Access and mobility management function (TS 23.501, 6.2.1): gNBs, registration, authentication,
//! and the security of NAS.
//!
//! [`Amf`] takes NGAP octets and answers of other functions, and gives octets, calls and commits.
//! Each procedure is an `async fn` in a file of its own that reads like the call flow of TS 23.502,
//! with its step numbers; `collisions.rs` decides what comes in between.
#![forbid(unsafe_code)]

mod authentication;
mod collisions;
mod common_procedures;
mod config;
mod deregistration;
mod initial_context;
mod limits;
mod n1;
mod n2;
mod ng_setup;
mod procedure;
mod record;
mod refusal;
mod registration;
mod release;
mod security_mode;
mod service_request;
mod session_establishment;
mod sessions;
mod state;
mod ue;
mod user_plane;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use sluice_n1::UplinkPayload;
use sluice_sbi::{
    CallId, Effect, Input, Instant, Message, NetworkFunction, Nf, Now, Poll, Random,
    ReleaseSmContext, TaskId, Tasks,
};

pub use config::Config;
pub use state::Counters;

use procedure::{Event, Kind, Procedure};
use state::State;
use ue::{UeId, Waiter};

/// The function.
pub struct Amf {
    state: Rc<RefCell<State>>,
    tasks: Tasks<Event, Kind>,
    owners: BTreeMap<TaskId, (UeId, Option<u8>)>,
}

impl Amf {
    /// `random` makes temporary identities. None if the configuration makes no sense.
    pub fn new(config: Config, random: Box<dyn Random>) -> Result<Self, &'static str> {
        config.check()?;
        let state = Rc::new(RefCell::new(State::new(config, random)));
        Ok(Self {
            state,
            tasks: Tasks::new(limits::UES),
            owners: BTreeMap::new(),
        })
    }

    /// What happened so far.
    pub fn counters(&self) -> Counters {
        self.state.borrow().counters
    }

    /// How many UEs are registered.
    pub fn registered(&self) -> usize {
        self.state.borrow().registered()
    }

    /// How many UEs are connected.
    pub fn connected(&self) -> usize {
        self.state.borrow().connections.len()
    }

    /// Procedures under way, by the step at which they wait.
    pub fn procedures(&self) -> Vec<&'static str> {
        self.owners
            .keys()
            .filter_map(|task| self.tasks.step(*task))
            .collect()
    }

    /// Begins a procedure for a UE that has none.
    fn start<F: Future<Output = ()> + 'static>(
        &mut self,
        ue: UeId,
        procedure: impl FnOnce(Procedure) -> F,
    ) {
        let state = Rc::clone(&self.state);
        let spawned = self
            .tasks
            .spawn(|handle| procedure(Procedure::new(state, handle, ue)));
        let Some(task) = spawned else {
            self.state.borrow_mut().counters.no_room += 1;
            return;
        };
        if let Some(ue) = self.state.borrow_mut().ues.get_mut(ue.0) {
            ue.task = Some(task);
        }
        self.owners.insert(task, (ue, None));
        let polled = self.tasks.begin(task);
        self.after(task, polled);
    }

    /// Begins the establishment of a session.
    fn start_session(&mut self, ue: UeId, session: u8, payload: UplinkPayload) {
        let state = Rc::clone(&self.state);
        let spawned = self.tasks.spawn(|handle| {
            let p = Procedure::new(state, handle, ue).of_session(session);
            session_establishment::run(p, session, payload)
        });
        let Some(task) = spawned else {
            self.state.borrow_mut().counters.no_room += 1;
            return;
        };
        if let Some(session) = self.state.borrow_mut().session_mut(ue, session) {
            session.task = Some(task);
        }
        self.owners.insert(task, (ue, Some(session)));
        let polled = self.tasks.begin(task);
        self.after(task, polled);
    }

    /// The answer to a call.
    fn answered(&mut self, call: CallId, message: Message) {
        let waiter = self.state.borrow_mut().calls.end(call);
        let told = match waiter {
            Some(Waiter::Ue(ue)) => self.tell(ue, Event::Reply(call, Box::new(message))),
            Some(Waiter::Establishment(ue, session)) => {
                let task = {
                    let state = &mut *self.state.borrow_mut();
                    state.session_mut(ue, session).and_then(|one| one.task)
                };
                task.is_some_and(|task| self.tell_task(task, Event::Reply(call, Box::new(message))))
            }
            Some(Waiter::Session(ue, session, step)) => {
                self.state.borrow_mut().updated(ue, session, step, message);
                true
            }
            Some(Waiter::Nobody) | None => false,
        };
        // A session that nobody waits for any more.
        if let (false, Message::SmContextCreated(created)) = (told, message)
            && created.created
        {
            let context = created.context;
            let message = ReleaseSmContext { context }.into();
            let state = &mut *self.state.borrow_mut();
            state.call(Waiter::Nobody, Nf::Smf, message);
        }
    }

    /// Tells a UE's procedure what it waits for; false if it waits for nothing of the kind.
    fn tell(&mut self, ue: UeId, event: Event) -> bool {
        let task = self.state.borrow().ues.get(ue.0).and_then(|ue| ue.task);
        task.is_some_and(|task| self.tell_task(task, event))
    }

    fn tell_task(&mut self, task: TaskId, event: Event) -> bool {
        if !self
            .tasks
            .expects(task)
            .is_some_and(|kind| kind.fits(&event))
        {
            return false;
        }
        let polled = self.tasks.wake(task, event);
        self.after(task, polled);
        true
    }

    /// Ends a UE's procedure where it is, and undoes what it did.
    fn abort(&mut self, ue: UeId) {
        let task = self
            .state
            .borrow_mut()
            .ues
            .get_mut(ue.0)
            .and_then(|ue| ue.task.take());
        if let Some(task) = task {
            self.tasks.abort(task);
            self.owners.remove(&task);
            self.state.borrow_mut().undo(ue);
        }
    }

    /// UEs that have not been heard of for long.
    fn deregister_gone(&mut self) {
        loop {
            let gone = self.state.borrow_mut().gone();
            let Some(ue) = gone else {
                return;
            };
            // One in a procedure is there after all.
            let is_idle = self
                .state
                .borrow()
                .ues
                .get(ue.0)
                .is_some_and(|ue| ue.task.is_none());
            if is_idle {
                self.start(ue, deregistration::implicit);
            }
        }
    }

    fn after(&mut self, task: TaskId, polled: Poll) {
        if polled == Poll::Waiting {
            return;
        }
        let Some((ue, session)) = self.owners.remove(&task) else {
            return;
        };
        let state = &mut *self.state.borrow_mut();
        if let Some(session) = session {
            if let Some(session) = state.session_mut(ue, session) {
                session.task = None;
            }
            state.counters.panics += u64::from(polled == Poll::Panicked);
            return;
        }
        if let Some(ue) = state.ues.get_mut(ue.0) {
            ue.task = None;
        }
        if polled == Poll::Panicked {
            state.counters.panics += 1;
            state.undo(ue);
            state.disconnect(ue);
        }
        state.forget_if_unknown(ue);
    }
}

impl NetworkFunction for Amf {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        self.state.borrow_mut().now = now;
        match input {
            Input::N2 {
                association,
                octets,
                ..
            } => self.n2(association, octets),
            Input::AssociationLost(association) => self.association_lost(association),
            Input::Reply { call, message } => self.answered(call, message),
            Input::Committed(commit) => {
                let ue = self.state.borrow_mut().commits.remove(&commit);
                if let Some(ue) = ue {
                    self.tell(ue, Event::Committed(commit));
                }
            }
            Input::Time => {
                while let Some((task, polled)) = self.tasks.expire(now.instant) {
                    self.after(task, polled);
                }
                self.deregister_gone();
            }
            Input::Request { id, message } => self.state.borrow_mut().requested(id, message),
            // N4 is the SMF's.
            Input::N4 { .. } => {}
        }
        effects.append(&mut self.state.borrow_mut().effects);
    }

    fn next_deadline(&self) -> Instant {
        self.tasks
            .next_deadline()
            .min(self.state.borrow().next_gone())
    }
}

impl fmt::Debug for Amf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Amf")
    }
}
