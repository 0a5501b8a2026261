//! A procedure's way to its UE, to other functions and to the store.

pub(crate) mod am_policy;
pub(crate) mod authentication;
pub(crate) mod common;
pub(crate) mod configuration_update;
pub(crate) mod context_transfer;
pub(crate) mod deregistration;
pub(crate) mod flow_mobility;
pub(crate) mod handover;
pub(crate) mod initial_context;
pub(crate) mod mobility;
pub(crate) mod paging;
pub(crate) mod path_switch;
pub(crate) mod registration;
pub(crate) mod release;
pub(crate) mod security_mode;
pub(crate) mod service_request;
pub(crate) mod session_establishment;
pub(crate) mod user_plane;

use std::cell::RefCell;
use std::rc::Rc;

use sluice_n1::{Downlink, Uplink};
use sluice_n2::{self as n2};
use sluice_sbi::server;
use sluice_sbi::{CallId, CommitId, Handle, Instant, Problem, Request, Slot, Wake};

use crate::context::state::State;
use crate::context::stored_context;
use crate::context::ue::{Connection, Ue, UeId, Undo, Waiter};
use crate::limits;
use crate::refusal::Refusal;

/// Kind of input that a procedure waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The answer to a call.
    Reply(CallId),
    /// A change that is stored.
    Commit(CommitId),
    /// Identity Response.
    Identity,
    /// Authentication Response or Failure.
    Authentication,
    /// Security Mode Complete or Reject.
    SecurityMode,
    /// Registration Complete, and the answer to Initial Context Setup.
    Accept,
    /// The answer to Initial Context Setup.
    Context,
    /// UE Context Release Complete.
    Release,
    /// Deregistration Accept.
    Deregistration,
    /// Configuration Update Complete.
    Configuration,
    /// The target's answer to Handover Request.
    Preparation,
    /// Handover Notify.
    Arrival,
    /// That the source has released the UE.
    Departure,
    /// That the UE answers its paging, which begins another procedure: nothing.
    Paging,
}

/// Input of a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The answer to a call.
    Reply(CallId, Slot),
    /// A change is stored.
    Committed(CommitId),
    /// A message of the UE.
    Nas(Uplink),
    /// The UE says once more what the procedure began with.
    Again,
    /// The gNB has the UE's context, or why not.
    Context(Result<(), n2::Cause>),
    /// The gNB has released the UE.
    Released,
    /// The target has room for the UE, or why not.
    Prepared(Result<Box<n2::HandoverRequestAcknowledge>, n2::Cause>),
    /// The UE is at the target.
    Arrived,
    /// The source has released it.
    Left,
}

impl Kind {
    /// Whether this is what is waited for.
    pub fn fits(self, event: &Event) -> bool {
        match (self, event) {
            (Self::Reply(call), Event::Reply(answered, _)) => call == *answered,
            (Self::Commit(commit), Event::Committed(stored)) => commit == *stored,
            (Self::Identity, Event::Nas(Uplink::IdentityResponse(_)))
            | (
                Self::Authentication,
                Event::Nas(
                    Uplink::AuthenticationResponse(_)
                    | Uplink::EapResponse(_)
                    | Uplink::AuthenticationFailure { .. },
                ),
            )
            | (
                Self::SecurityMode,
                Event::Nas(Uplink::SecurityModeComplete { .. } | Uplink::SecurityModeReject(_)),
            )
            | (
                Self::Accept,
                Event::Nas(Uplink::RegistrationComplete) | Event::Context(_) | Event::Again,
            )
            | (Self::Context, Event::Context(_))
            | (Self::Deregistration, Event::Nas(Uplink::DeregistrationAccept))
            | (Self::Configuration, Event::Nas(Uplink::ConfigurationUpdateComplete))
            | (Self::Release, Event::Released)
            | (Self::Preparation, Event::Prepared(_))
            | (Self::Arrival, Event::Arrived)
            | (Self::Departure, Event::Left) => true,
            _ => false,
        }
    }
}

/// A procedure of a UE.
pub(crate) struct Procedure {
    state: Rc<RefCell<State>>,
    handle: Handle<Event, Kind>,
    /// UE of the procedure.
    pub ue: UeId,
    /// Receiver of the answers to its calls.
    waiter: Waiter,
}

impl Procedure {
    pub fn new(state: Rc<RefCell<State>>, handle: Handle<Event, Kind>, ue: UeId) -> Self {
        let waiter = Waiter::Ue(ue);
        Self {
            state,
            handle,
            ue,
            waiter,
        }
    }

    /// Of one session of the UE.
    #[must_use]
    pub fn of_session(mut self, session: u8) -> Self {
        self.waiter = Waiter::Establishment(self.ue, session);
        self
    }

    /// Uses what the AMF knows; no borrow of it lives across a wait.
    pub fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.borrow_mut())
    }

    /// Uses the UE; a procedure is gone before its UE is.
    pub fn with_ue<T: Default>(&self, f: impl FnOnce(&mut Ue) -> T) -> T {
        self.with(|state| state.ues.get_mut(self.ue.0).map(f).unwrap_or_default())
    }

    /// Uses the UE's connection, if it has one.
    pub fn with_connection<T>(&self, f: impl FnOnce(&mut Connection) -> T) -> Option<T> {
        self.with(|state| state.connection_mut(self.ue).map(f))
    }

    /// Notes why the procedure does not do what it is for: it is counted with that cause. The first one counts.
    pub fn failed(&self, cause: impl ToString) {
        self.handle.failed(cause);
    }

    /// Registers an action to undo if the procedure is aborted.
    pub fn on_abort(&self, undo: Undo) {
        self.with_ue(|ue| ue.undo.push(undo));
    }

    /// Waits, at most so long.
    pub async fn wait(&self, step: &'static str, kind: Kind, most_ms: u64) -> Wake<Event> {
        let deadline = self.deadline(most_ms);
        self.handle.wait(step, kind, deadline).await
    }

    /// Waits until then.
    pub async fn wait_until(&self, step: &'static str, kind: Kind, at: Instant) -> Wake<Event> {
        self.handle.wait(step, kind, at).await
    }

    /// Deadline this many milliseconds from now.
    pub fn deadline(&self, most_ms: u64) -> Instant {
        self.with(|state| state.now.instant.plus_ms(most_ms))
    }

    /// Asks another function.
    pub async fn call<R: Request>(
        &self,
        step: &'static str,
        request: R,
    ) -> Result<R::Answer, Problem> {
        let (message, to) = (request.into(), server::name(R::TO));
        let call = self.with(|state| {
            state.line("AMF", to, step, message.name(), self.ue);
            state.call(self.waiter, R::TO, message)
        });
        let call = call.ok_or(Problem::Overload)?;
        match self.wait(step, Kind::Reply(call), limits::CALL_MS).await {
            Wake::Event(Event::Reply(_, message)) => {
                let what = message.to_string();
                self.with(|state| state.line(to, "AMF", step, what, self.ue));
                message.answer_to::<R>()
            }
            _ => {
                self.with(|state| state.calls.give_up(call));
                Err(Problem::Timeout)
            }
        }
    }

    /// Sends a NAS message with the protection that the connection has.
    pub fn send(&self, step: &'static str, message: &Downlink) {
        self.with(|state| state.send_nas(self.ue, message, step));
    }

    /// Sends a NAS message, and again each time that its timer runs out, until the UE answers with
    /// one of this kind. `send` is called for each, so that each has a count of its own.
    pub async fn ask(
        &self,
        step: &'static str,
        kind: Kind,
        mut send: impl FnMut(&Self) -> Result<(), Refusal>,
    ) -> Result<Uplink, Refusal> {
        for _ in 0..limits::NAS_SENDS {
            send(self)?;
            if let Wake::Event(Event::Nas(message)) =
                self.wait(step, kind, limits::NAS_TIMER_MS).await
            {
                return Ok(message);
            }
        }
        Err(Refusal::Silent("the UE does not answer"))
    }

    /// Stores the UE's context; what follows leaves after that.
    pub async fn commit(&self) -> Result<(), Refusal> {
        let commit = self.with(|state| {
            let at = state.at(self.ue);
            let ue = state.ues.get_mut(self.ue.0)?;
            let (supi, value) = (ue.supi?, stored_context::of(ue, at)?);
            Some(state.commit(self.ue, &supi, Some(value)))
        });
        let commit = commit.ok_or(Refusal::Silent("the context cannot be stored"))?;
        match self
            .wait("commit", Kind::Commit(commit), limits::COMMIT_MS)
            .await
        {
            Wake::Event(_) => Ok(()),
            Wake::Deadline => {
                self.with(|state| state.commits.remove(&commit));
                Err(Refusal::Registration(sluice_n1::Cause::CONGESTION))
            }
        }
    }
}
