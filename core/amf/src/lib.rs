//! Access and mobility management function (TS 23.501, 6.2.1): gNBs, registration, authentication,
//! and the security of NAS.
//!
//! [`Amf`] takes NGAP octets and answers of other functions, and gives octets, calls and commits.
//! Each procedure is an `async fn` in a file of its own that reads like the call flow of TS 23.502,
//! with its step numbers; `collisions.rs` decides what comes in between.
#![forbid(unsafe_code)]

mod config;
mod context;
mod counters;
mod exposure;
mod key_names;
mod leaving;
mod limits;
mod messages;
mod metrics;
mod nrf_cache;
mod overload;
mod procedure;
mod reaching;
mod refusal;
mod refusal_text;
mod requests;
mod sessions;
mod smf_selection;
pub mod view;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;

use sluice_ids::{Snssai, Supi};
use sluice_n1::UplinkPayload;
use sluice_n2::Overload;
use sluice_sbi::{
    AssociationId, CallId, DeleteAmPolicy, Effect, Followed, Input, Instant, Message,
    NetworkFunction, Nf, NfInstance, Now, Poll, Random, ReleaseSmContext, Served, Slot, TaskId,
    Tasks,
};

pub use config::Config;
pub use context::resumption::KnownSession;
pub use counters::Counters;
pub use overload::BackOff;
pub use overload::admission_limits::Bounds;

use config::News;
use context::state::State;
use context::ue::{UeId, Waiter};
use procedure::deregistration::Leave;
use procedure::{Event, Kind, Procedure};
use sluice_sbi::Tally;
use sluice_sbi::tally::{ABORTED, Begun, PANICKED, procedure_name};

/// The function.
pub struct Amf {
    state: Rc<RefCell<State>>,
    tasks: Tasks<Event, Kind>,
    owners: BTreeMap<TaskId, (UeId, Option<u8>)>,
    begun: BTreeMap<TaskId, Begun>,
    tally: Tally,
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
            begun: BTreeMap::new(),
            tally: Tally::default(),
        })
    }

    /// Event counters since the start.
    pub fn counters(&self) -> Counters {
        self.state.borrow().counters
    }

    /// PLMNs that it serves, with their slices.
    pub fn plmns(&self) -> Vec<sluice_n2::PlmnSlices> {
        self.state.borrow().config.plmns.clone()
    }

    /// How many UEs are registered.
    pub fn registered(&self) -> usize {
        self.state.borrow().registered()
    }

    /// How many UEs are connected.
    pub fn connected(&self) -> usize {
        let state = self.state.borrow();
        state.connections.len() - state.awaited()
    }

    /// How much is kept of UEs, by what it is: all of it is nothing when there are none.
    pub fn sizes(&self) -> Vec<(&'static str, usize)> {
        let mut sizes = self.state.borrow().sizes();
        sizes.push(("AMF: procedures", self.tasks.len()));
        sizes.push(("AMF: procedures by UE", self.owners.len()));
        sizes.push(("AMF: procedures that are counted", self.begun.len()));
        sizes
    }

    /// Procedures under way, by the step at which they wait.
    pub fn procedures(&self) -> Vec<&'static str> {
        self.owners
            .keys()
            .filter_map(|task| self.tasks.step(*task))
            .collect()
    }

    /// Deregisters a UE for the operator (TS 23.502, 4.2.2.3.3): one that is connected is told, and may
    /// be told to register again at once; any other is forgotten. False if it is not registered.
    pub fn deregister(
        &mut self,
        now: Now,
        supi: &Supi,
        registers_again: bool,
        effects: &mut Vec<Effect>,
    ) -> bool {
        self.state.borrow_mut().now = now;
        let leave = Leave {
            registers_again,
            cause: None,
        };
        let known = self.send_away(supi, leave);
        self.drop_ended();
        self.state.borrow_mut().take_effects(effects);
        known.is_some()
    }

    /// Goes on with another configuration; gNBs are told of what they are told at NG Setup (TS 38.413,
    /// 8.7.3), UEs of what they are told at registration (TS 23.502, 4.2.4.2): connected ones at once, idle
    /// ones when they are connected next.
    ///
    /// # Errors
    /// If the configuration makes no sense, or names another AMF; then nothing has changed.
    pub fn reconfigure(
        &mut self,
        now: Now,
        config: Config,
        effects: &mut Vec<Effect>,
    ) -> Result<(), &'static str> {
        self.may_reconfigure(&config)?;
        let news = {
            let state = &mut *self.state.borrow_mut();
            state.now = now;
            let before = std::mem::replace(&mut state.config, config);
            let is_other = |one: &Config, other: &Config| {
                (&one.name, one.capacity, &one.plmns) != (&other.name, other.capacity, &other.plmns)
            };
            if is_other(&before, &state.config) {
                messages::ng_setup::amf_update(state);
            }
            News::of(&before, &state.config)
        };
        self.tell_ues(news);
        self.state.borrow_mut().take_effects(effects);
        Ok(())
    }

    /// Whether [`Amf::reconfigure`] would take this.
    ///
    /// # Errors
    /// If the configuration makes no sense, or names another AMF.
    pub fn may_reconfigure(&self, config: &Config) -> Result<(), &'static str> {
        config.check()?;
        match config.guami == self.state.borrow().config.guami {
            true => Ok(()),
            false => Err("an AMF keeps its GUAMI as long as it runs"),
        }
    }

    /// An operator has gNBs keep UEs away, or not any more (TS 38.413, 8.7.7 and 8.7.8); such as come all the
    /// same, unauthenticated, are refused with #22. This counts more than [`Amf::feel_load`]; that decides again
    /// when an operator has ended it and there is no more to do than can be done.
    pub fn overload(&mut self, now: Now, overload: Option<Overload>, effects: &mut Vec<Effect>) {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        state.want_overload(overload);
        state.take_effects(effects);
    }

    /// There is too much to do, and gNBs keep UEs away, or not any more. UEs beyond [`Bounds`] are left unanswered
    /// meanwhile.
    pub fn feel_load(&mut self, now: Now, overload: Option<Overload>, effects: &mut Vec<Effect>) {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        state.feel_load(overload);
        state.take_effects(effects);
    }

    /// An association has come up with this address: what has a bound of each gNB has it of each address.
    pub fn association_up(&mut self, association: AssociationId, address: core::net::IpAddr) {
        let state = &mut *self.state.borrow_mut();
        state.unauthenticated.is_at(association, address);
    }

    /// UEs that are connected and have not proved who they are.
    pub fn unauthenticated(&self) -> usize {
        self.state.borrow().unauthenticated.len()
    }

    /// Tells gNBs that this AMF is about to go (TS 38.413, 8.7.6), so that they choose another one.
    pub fn end(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        messages::ng_setup::end(state);
        state.take_effects(effects);
    }

    /// Follows UEs whose messages are wanted as octets ([`Effect::TracedMessage`]), NAS without its protection. Those that are not
    /// known yet are, as long as there is anybody.
    pub fn follow(&mut self, followed: Followed) {
        self.state.borrow_mut().followed = followed;
    }

    /// Overload Action that gNBs apply now.
    pub fn overloaded(&self) -> Option<Overload> {
        self.state.borrow().overload()
    }

    /// Tells all gNBs what is served (TS 38.413, 8.7.3), as after a change; how many there are.
    pub fn update_gnbs(&mut self, now: Now, effects: &mut Vec<Effect>) -> usize {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        messages::ng_setup::amf_update(state);
        state.take_effects(effects);
        state.gnbs.len()
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
        self.began(task, ue, procedure_name::<F>());
        let polled = self.tasks.begin(task);
        self.after(task, polled);
    }

    /// Begins the establishment of a session.
    fn start_session(&mut self, ue: UeId, session: u8, payload: UplinkPayload) {
        let state = Rc::clone(&self.state);
        let spawned = self.tasks.spawn(|handle| {
            let p = Procedure::new(state, handle, ue).of_session(session);
            procedure::session_establishment::run(p, session, payload)
        });
        let Some(task) = spawned else {
            self.state.borrow_mut().counters.no_room += 1;
            return;
        };
        if let Some(session) = self.state.borrow_mut().session_mut(ue, session) {
            session.task = Some(task);
        }
        self.owners.insert(task, (ue, Some(session)));
        self.began(task, ue, "session_establishment");
        let polled = self.tasks.begin(task);
        self.after(task, polled);
    }

    /// The answer to a call.
    fn answered(&mut self, call: CallId, message: Slot) {
        let created = match &*message {
            Message::SmContextCreated(created) if created.created => Some(created.context),
            _ => None,
        };
        let decided = match &*message {
            Message::AmPolicy(decision) => Some(decision.policy),
            _ => None,
        };
        let waiter = self.state.borrow_mut().calls.end(call);
        let told = match waiter {
            Some(Waiter::Ue(ue)) => self.tell(ue, Event::Reply(call, message)),
            Some(Waiter::Establishment(ue, session)) => {
                let task = {
                    let state = &mut *self.state.borrow_mut();
                    state.session_mut(ue, session).and_then(|one| one.task)
                };
                task.is_some_and(|task| self.tell_task(task, Event::Reply(call, message)))
            }
            Some(Waiter::Session(ue, session, context, step)) => {
                let state = &mut *self.state.borrow_mut();
                state.updated(ue, (session, context), step, *message);
                true
            }
            Some(Waiter::Indication(ue, session, context)) => {
                let state = &mut *self.state.borrow_mut();
                state.flow_moved(ue, (session, context), *message);
                true
            }
            Some(Waiter::Subscriber(id)) => {
                let state = &mut *self.state.borrow_mut();
                state.subscriber_answered(id, &message);
                true
            }
            Some(Waiter::Nobody) | None => false,
        };
        if told {
            return;
        }
        let state = &mut *self.state.borrow_mut();
        // A session or a policy that nobody waits for any more.
        if let Some(context) = created {
            let message = ReleaseSmContext { context }.into();
            state.call(Waiter::Nobody, Nf::Smf, message);
        } else if let Some(policy) = decided {
            let message = DeleteAmPolicy { policy }.into();
            state.call(Waiter::Nobody, Nf::Pcf, message);
        }
    }

    /// Tells a UE's procedure what it waits for, or that of its handover; false if neither waits for
    /// anything of the kind.
    fn tell(&mut self, ue: UeId, event: Event) -> bool {
        let tasks = {
            let state = self.state.borrow();
            let ue = state.ues.get(ue.0);
            ue.map(|ue| [ue.task, ue.handover.as_ref().and_then(|one| one.task)])
        };
        let tasks = tasks.into_iter().flatten().flatten();
        let waits = |task: &TaskId| {
            let expects = self.tasks.expects(*task);
            expects.is_some_and(|kind| kind.fits(&event))
        };
        let task = tasks.into_iter().find(waits);
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
        let task = self.state.borrow_mut().ues.get_mut(ue.0).and_then(|ue| {
            ue.request = None;
            ue.task.take()
        });
        if let Some(task) = task {
            self.tasks.abort(task);
            self.owners.remove(&task);
            self.ended(task, ue, Some(ABORTED));
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
                self.start(ue, procedure::deregistration::implicit);
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
        let failure = self.tasks.take_failure(task);
        match polled {
            Poll::Panicked => self.ended(task, ue, Some(PANICKED)),
            _ => self.ended(task, ue, failure.as_deref()),
        }
        {
            let state = &mut *self.state.borrow_mut();
            if let Some(session) = session {
                if let Some(session) = state.session_mut(ue, session) {
                    session.task = None;
                }
                state.counters.panics += u64::from(polled == Poll::Panicked);
                return;
            }
            let known = state.ues.get_mut(ue.0);
            let is_handover = known.as_ref().is_some_and(|ue| ue.task != Some(task));
            if is_handover {
                if polled == Poll::Panicked {
                    state.counters.panics += 1;
                    state.end_handover(ue, sluice_n2::Cause::FROM_5GC);
                    state.send_held(ue);
                }
                return;
            }
            if let Some(ue) = known {
                ue.task = None;
                ue.request = None;
            }
            if polled == Poll::Panicked {
                state.counters.panics += 1;
                state.undo(ue);
                state.disconnect(ue);
            }
            state.forget_if_unknown(ue);
        }
        self.go_on(ue);
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
                self.state.borrow_mut().forget_calls();
                self.state.borrow_mut().stop_waiting();
                self.state.borrow_mut().end_subscriptions();
                self.deregister_gone();
                self.end_moves();
            }
            Input::Request { id, message } => self.request(id, &message),
            // N4 is the SMF's, and what is stored for good the UDR's.
            Input::N4 { .. } | Input::NotCommitted { .. } => {}
        }
        self.hear_taken();
        self.hear_deferred();
        self.drop_ended();
        self.state.borrow_mut().take_effects(effects);
    }

    fn identify(&mut self, instance: NfInstance) {
        self.state.borrow_mut().instance = Some(instance);
    }

    fn serves(&self, slices: &[Snssai]) -> Vec<Served> {
        Served::parts(slices, &[], &self.state.borrow().config.areas)
    }

    /// Percent of the UEs that there is room for.
    fn load(&self) -> u8 {
        (self.state.borrow().ues.len() * 100 / limits::UES) as u8
    }

    fn next_deadline(&self) -> Instant {
        let state = self.state.borrow();
        let waits = self.tasks.next_deadline();
        waits
            .min(state.next_gone())
            .min(state.awaited_until())
            .min(state.exposure.next_end())
            .min(state.next_move_end())
    }
}

impl fmt::Debug for Amf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Amf")
    }
}
