//! A procedure's way to its session, to other functions and to the UPF.

pub(crate) mod establishment;
pub(crate) mod flow_mobility;
pub(crate) mod mobility;
pub(crate) mod modification;
pub(crate) mod paging;
pub(crate) mod reconfiguration;
pub(crate) mod registration;
pub(crate) mod release;
pub(crate) mod selection;
pub(crate) mod status;
pub(crate) mod ue_request;
pub(crate) mod unheard;
pub(crate) mod update;
pub(crate) mod user_plane;

use std::cell::RefCell;
use std::rc::Rc;

use sluice_n1::{SessionCause, SessionDownlink, Transaction};
use sluice_n2::ModifyResponse;
use sluice_sbi::{
    CallId, Container, Handle, Instant, N2Sm, Problem, Request, Slot, TransferCause, TransferN1N2,
    Transferred, Wake, server,
};
use sluice_wire::pfcp::{Cause, Full, MessageType, Writer};

use crate::context::session::{Session, SessionId};
use crate::context::state::State;
use crate::limits;
use crate::upf::n4::Answer;

/// Kind of input that a procedure waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    /// The answer to a call.
    Reply(CallId),
    /// The answer of the UPF.
    N4(u64),
    /// PDU Session Release Complete, or that nobody waits for it any more.
    ReleaseComplete,
    /// Answers of UE and gNB to a change of flows, or an event that takes precedence.
    Modification,
}

/// Input of a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// The answer to a call.
    Reply(CallId, Slot),
    /// The answer of the UPF.
    N4(u64, Answer),
    /// The UE has released the session, or is gone.
    ReleaseComplete,
    /// The UE has taken a change of flows, or refused it.
    ModificationAnswer(Result<(), SessionCause>),
    /// Result at the gNB; none if nothing changed.
    AtGnb(Option<ModifyResponse>),
    /// The gNB changes nothing now: the UE is about to move to another one.
    Moving,
    /// The session ends, or the UE is idle.
    Interrupted,
}

impl Kind {
    /// Whether this is what is waited for.
    pub fn fits(self, event: &Event) -> bool {
        match (self, event) {
            (Self::Reply(call), Event::Reply(answered, _)) => call == *answered,
            (Self::N4(tag), Event::N4(answered, _)) => tag == *answered,
            (Self::ReleaseComplete, Event::ReleaseComplete)
            | (
                Self::Modification,
                Event::ModificationAnswer(_) | Event::AtGnb(_) | Event::Moving | Event::Interrupted,
            ) => true,
            _ => false,
        }
    }
}

/// A procedure of a session.
pub(crate) struct Procedure {
    state: Rc<RefCell<State>>,
    handle: Handle<Event, Kind>,
    /// Session of the procedure.
    pub session: SessionId,
}

impl Procedure {
    pub fn new(state: Rc<RefCell<State>>, handle: Handle<Event, Kind>, session: SessionId) -> Self {
        Self {
            state,
            handle,
            session,
        }
    }

    /// Uses what the SMF knows; no borrow of it lives across a wait.
    pub fn with<T>(&self, f: impl FnOnce(&mut State) -> T) -> T {
        f(&mut self.state.borrow_mut())
    }

    /// Uses the session; a procedure is gone before its session is.
    pub fn with_session<T>(&self, f: impl FnOnce(&mut Session) -> T) -> Option<T> {
        self.with(|state| state.sessions.get_mut(self.session.0).map(f))
    }

    /// Notes why the procedure does not do what it is for: it is counted with that cause. The first one counts.
    pub fn failed(&self, cause: impl ToString) {
        self.handle.failed(cause);
    }

    async fn wait(&self, step: &'static str, kind: Kind, most_ms: u64) -> Wake<Event> {
        let deadline = self.with(|state| state.now.instant.plus_ms(most_ms));
        self.handle.wait(step, kind, deadline).await
    }

    /// Asks another function.
    pub async fn call<R: Request>(
        &self,
        step: &'static str,
        request: R,
    ) -> Result<R::Answer, Problem> {
        let (message, to) = (request.into(), server::name(R::TO));
        let call = self.with(|state| {
            state.line("SMF", to, step, message.name(), self.session);
            state.call(Some(self.session), R::TO, message)
        });
        let call = call.ok_or(Problem::Overload)?;
        match self.wait(step, Kind::Reply(call), limits::CALL_MS).await {
            Wake::Event(Event::Reply(_, message)) => {
                let what = message.to_string();
                self.with(|state| state.line(to, "SMF", step, what, self.session));
                message.answer_to::<R>()
            }
            _ => {
                self.with(|state| state.calls.give_up(call));
                Err(Problem::Timeout)
            }
        }
    }

    /// Sends a request to the session's UPF, or to the one that it is to have, and waits.
    pub async fn ask_upf(
        &self,
        step: &'static str,
        kind: MessageType,
        write: impl FnOnce(&mut Writer<'_>) -> Result<(), Full>,
    ) -> Answer {
        let upf = self.with_session(|session| session.upf).flatten();
        let Some(upf) = upf else {
            return Answer::Nothing;
        };
        let tag = self.with(|state| state.ask_upf(upf.association, upf.to, kind, upf.seid, write));
        let answer = self.wait_for_upf(step, kind, tag).await;
        let is_unknown = answer == Answer::Refused(Cause::SESSION_CONTEXT_NOT_FOUND);
        if is_unknown && kind == MessageType::SESSION_MODIFICATION_REQUEST {
            self.with(|state| state.is_lost_at(self.session, upf));
        }
        answer
    }

    /// Waits for the answer of a UPF.
    pub async fn wait_for_upf(
        &self,
        step: &'static str,
        kind: MessageType,
        tag: Option<u64>,
    ) -> Answer {
        let Some(tag) = tag else {
            return Answer::Nothing;
        };
        let (request, response) = match kind {
            MessageType::SESSION_ESTABLISHMENT_REQUEST => (
                "N4 Session Establishment Request",
                "N4 Session Establishment Response",
            ),
            MessageType::SESSION_MODIFICATION_REQUEST => (
                "N4 Session Modification Request",
                "N4 Session Modification Response",
            ),
            _ => (
                "N4 Session Deletion Request",
                "N4 Session Deletion Response",
            ),
        };
        self.with(|state| {
            state.asked.insert(tag, self.session);
            state.line("SMF", "UPF", step, request, self.session);
        });
        match self.wait(step, Kind::N4(tag), limits::N4_MS).await {
            Wake::Event(Event::N4(_, answer)) => {
                let what = match answer {
                    Answer::Refused(cause) => format!("{response} ({cause})"),
                    Answer::Nothing => "no answer".to_owned(),
                    _ => response.to_owned(),
                };
                self.with(|state| state.line("UPF", "SMF", step, what, self.session));
                answer
            }
            _ => {
                self.with(|state| state.asked.remove(&tag));
                Answer::Nothing
            }
        }
    }

    /// Waits for so long.
    pub async fn pause(&self, step: &'static str, ms: u64) {
        // No request has this number.
        self.wait(step, Kind::N4(0), ms).await;
    }

    /// Waits until the UE has released the session; false if it does not say so in time.
    pub async fn is_released(&self, step: &'static str) -> bool {
        if self.is_forgotten() {
            return true;
        }
        let woken = self
            .wait(step, Kind::ReleaseComplete, limits::RELEASE_TIMER_MS)
            .await;
        woken == Wake::Event(Event::ReleaseComplete)
    }

    /// Waits for what UE or gNB say to a change of flows; none when the time is over.
    pub async fn is_modified(&self, step: &'static str, until: Instant) -> Option<Event> {
        if self.is_forgotten() {
            return Some(Event::Interrupted);
        }
        match self.handle.wait(step, Kind::Modification, until).await {
            Wake::Event(event) => Some(event),
            _ => None,
        }
    }

    /// Whether the AMF has forgotten the session: its number may be another's by now.
    fn is_forgotten(&self) -> bool {
        self.with_session(|session| session.is_forgotten) != Some(false)
    }

    /// Adds the line of the call flow for a message to the UE that the AMF carries.
    pub fn say(&self, step: &'static str, message: &SessionDownlink) {
        let what = message.to_string();
        self.with(|state| state.line("SMF", "UE", step, what, self.session));
    }

    /// A message for the UE, as octets.
    pub fn n1(&self, message: &SessionDownlink, procedure: u8) -> Container {
        let session = self.with_session(|session| session.identity);
        let of = Transaction {
            session: session.unwrap_or_default(),
            procedure,
        };
        // Ours are far shorter than a container.
        Container::new(&message.encode(of)).unwrap_or(Container::NONE)
    }

    /// Hands messages for a connected UE and its gNB to the AMF; false if they are not on their way.
    pub async fn transfer(
        &self,
        step: &'static str,
        n1: Container,
        n2_kind: N2Sm,
        n2: Container,
    ) -> bool {
        let name = self.with_session(|session| (session.supi, session.identity));
        let name = name.filter(|_| !self.is_forgotten());
        let Some((supi, session)) = name else {
            return false;
        };
        let request = TransferN1N2 {
            supi,
            session,
            skips_idle_ue: true,
            n1,
            n2_kind,
            n2,
        };
        let answer = self.call(step, request).await;
        answer.is_ok_and(|answer| answer.cause == TransferCause::Initiated)
    }

    /// Wants the user plane of a UE up that may be idle: the AMF pages it.
    pub async fn wake(&self, step: &'static str, n2: Container) -> Result<Transferred, Problem> {
        let name = self.with_session(|session| (session.supi, session.identity));
        let name = name.filter(|_| !self.is_forgotten());
        let (supi, session) = name.ok_or(Problem::ContextNotFound)?;
        let request = TransferN1N2 {
            supi,
            session,
            skips_idle_ue: false,
            n1: Container::NONE,
            n2_kind: N2Sm::Setup,
            n2,
        };
        self.call(step, request).await
    }
}
