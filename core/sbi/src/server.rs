//! A network function whose procedures wait for nothing but answers: AUSF and UDM.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;

use sluice_ids::Supi;

use crate::call::{CallId, Calls, Request};
use crate::call_flow::Line;
use crate::effect::{Effect, Input, NetworkFunction, RequestId};
use crate::executor::{Handle, Poll, TaskId, Tasks, Wake};
use crate::field::{Nf, Problem};
use crate::message::Message;
use crate::place::Place;
use crate::slot::Slot;
use crate::time::{Instant, Now};

/// How long an answer is waited for.
pub const CALL_MS: u64 = 3_000;

struct Inner<S> {
    state: S,
    nf: &'static str,
    now: Now,
    calls: Calls<Option<TaskId>>,
    effects: Vec<Effect>,
}

/// A procedure's way to its network function.
pub struct Procedure<S> {
    inner: Rc<RefCell<Inner<S>>>,
    handle: Handle<Slot, CallId>,
    task: Rc<RefCell<Option<TaskId>>>,
}

impl<S> Procedure<S> {
    /// Uses the function's state; no borrow of it lives across a wait.
    pub fn with<T>(&self, f: impl FnOnce(&mut S, Now) -> T) -> T {
        let inner = &mut *self.inner.borrow_mut();
        f(&mut inner.state, inner.now)
    }

    /// Asks another function. `step` names the call in the call flow.
    pub async fn call<R: Request>(
        &self,
        step: &'static str,
        supi: Option<Supi>,
        request: R,
    ) -> Result<R::Answer, Problem> {
        let task = *self.task.borrow();
        let (call, deadline) = self.begin(task, step, supi, R::TO, request)?;
        match self.handle.wait(step, call, deadline).await {
            Wake::Event(message) => {
                self.line(step, supi, R::TO, &message);
                message.answer_to::<R>()
            }
            Wake::Deadline => {
                self.inner.borrow_mut().calls.give_up(call);
                Err(Problem::Timeout)
            }
        }
    }

    /// Tells another function something; its answer is waited for by nobody.
    ///
    /// # Errors
    /// Too much is under way.
    pub fn tell<R: Request>(
        &self,
        step: &'static str,
        supi: Option<Supi>,
        request: R,
    ) -> Result<(), Problem> {
        self.begin(None, step, supi, R::TO, request).map(drop)
    }

    fn begin(
        &self,
        task: Option<TaskId>,
        step: &'static str,
        supi: Option<Supi>,
        to: Nf,
        request: impl Into<Message>,
    ) -> Result<(CallId, Instant), Problem> {
        let message: Slot = request.into().into();
        let inner = &mut *self.inner.borrow_mut();
        let call = inner.calls.begin(task).ok_or(Problem::Overload)?;
        let deadline = inner.now.instant.plus_ms(CALL_MS);
        inner.effects.push(Effect::CallFlow(Line {
            from: inner.nf,
            to: name(to),
            what: message.name().to_owned(),
            step,
            supi,
            ue: None,
        }));
        inner.effects.push(Effect::Call {
            to: Place::any(to),
            call,
            deadline,
            message,
        });
        Ok((call, deadline))
    }

    fn line(&self, step: &'static str, supi: Option<Supi>, from: Nf, message: &Message) {
        let inner = &mut *self.inner.borrow_mut();
        let (from, to, what) = (name(from), inner.nf, message.to_string());
        inner.effects.push(Effect::CallFlow(Line {
            from,
            to,
            what,
            step,
            supi,
            ue: None,
        }));
    }
}

/// The name of a function in a call flow.
pub fn name(nf: Nf) -> &'static str {
    match nf {
        Nf::Amf => "AMF",
        Nf::Ausf => "AUSF",
        Nf::Udm => "UDM",
        Nf::Udr => "UDR",
        Nf::Smf => "SMF",
        Nf::Pcf => "PCF",
        Nf::Nssf => "NSSF",
        Nf::Nrf => "NRF",
    }
}

type Answering = Pin<Box<dyn Future<Output = Slot>>>;

/// The function: a procedure for each request.
pub struct Server<S> {
    inner: Rc<RefCell<Inner<S>>>,
    tasks: Tasks<Slot, CallId>,
    most: usize,
    /// The procedure of a request; what it returns is the answer.
    procedure: fn(Procedure<S>, Slot) -> Answering,
}

impl<S: 'static> Server<S> {
    /// With room for `most` procedures at a time.
    pub fn new(
        nf: Nf,
        most: usize,
        state: S,
        procedure: fn(Procedure<S>, Slot) -> Answering,
    ) -> Self {
        let calls = Calls::new(most);
        let (nf, now, effects) = (name(nf), Now::default(), Vec::new());
        let inner = Rc::new(RefCell::new(Inner {
            state,
            nf,
            now,
            calls,
            effects,
        }));
        Self {
            inner,
            tasks: Tasks::new(most),
            most,
            procedure,
        }
    }

    /// Uses the state, for operators and tests.
    pub fn with<T>(&self, f: impl FnOnce(&mut S) -> T) -> T {
        f(&mut self.inner.borrow_mut().state)
    }

    fn request(&mut self, id: RequestId, message: Slot) {
        let task = Rc::new(RefCell::new(None));
        let (inner, own, procedure) = (Rc::clone(&self.inner), Rc::clone(&task), self.procedure);
        let spawned = self.tasks.spawn(|handle| async move {
            let (state, guard) = (Rc::clone(&inner), Rc::clone(&inner));
            let mut unanswered = Unanswered {
                inner: guard,
                id,
                problem: Some(Problem::Protocol),
            };
            let message = procedure(
                Procedure {
                    inner: state,
                    handle,
                    task: own,
                },
                message,
            )
            .await;
            unanswered.problem = None;
            inner
                .borrow_mut()
                .effects
                .push(Effect::Answer { id, message });
        });
        let Some(spawned) = spawned else {
            let message = Problem::Overload.into();
            self.inner
                .borrow_mut()
                .effects
                .push(Effect::Answer { id, message });
            return;
        };
        *task.borrow_mut() = Some(spawned);
        self.tasks.begin(spawned);
    }
}

/// Answers a request whose procedure panicked.
struct Unanswered<S> {
    inner: Rc<RefCell<Inner<S>>>,
    id: RequestId,
    problem: Option<Problem>,
}

impl<S> Drop for Unanswered<S> {
    fn drop(&mut self) {
        let Some(problem) = self.problem else {
            return;
        };
        // What panicked while it used the state has it no more when this is dropped.
        if let Ok(mut inner) = self.inner.try_borrow_mut() {
            inner.effects.push(Effect::Answer {
                id: self.id,
                message: problem.into(),
            });
        }
    }
}

impl<S: 'static> NetworkFunction for Server<S> {
    fn handle(&mut self, now: Now, input: Input<'_>, effects: &mut Vec<Effect>) {
        self.inner.borrow_mut().now = now;
        match input {
            Input::Request { id, message } => self.request(id, message),
            Input::Reply { call, message } => {
                let task = self.inner.borrow_mut().calls.end(call).flatten();
                if let Some(task) = task.filter(|task| self.tasks.expects(*task) == Some(call)) {
                    self.tasks.wake(task, message);
                }
            }
            Input::Time => {
                while let Some((_, Poll::Waiting | Poll::Done | Poll::Panicked)) =
                    self.tasks.expire(now.instant)
                {}
            }
            Input::N2 { .. }
            | Input::N4 { .. }
            | Input::AssociationLost(_)
            | Input::Committed(_)
            | Input::NotCommitted { .. } => {}
        }
        effects.append(&mut self.inner.borrow_mut().effects);
    }

    fn next_deadline(&self) -> Instant {
        self.tasks.next_deadline()
    }

    fn load(&self) -> u8 {
        percent(self.tasks.len(), self.most)
    }

    fn open(&self) -> usize {
        self.tasks.len()
    }
}

/// Part of what there is room for, in percent.
pub fn percent(part: usize, most: usize) -> u8 {
    let percent = part.saturating_mul(100).checked_div(most);
    percent.map_or(100, |percent| percent.min(100) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Done, QuerySubscription};
    use crate::slab::Key;

    fn supi() -> Supi {
        Supi::from_imsi("001010000000001").expect("digits")
    }

    fn procedure(p: Procedure<u32>, message: Slot) -> Answering {
        Box::pin(async move {
            if *message == Message::from(Problem::Overload) {
                p.with(|_, _| panic!("on purpose"));
            }
            let answer = p.call("1", None, QuerySubscription { supi: supi() }).await;
            p.with(|asked, _| *asked += 1);
            answer.map_or_else(Message::from, Message::from).into()
        })
    }

    fn id(slot: u32) -> RequestId {
        RequestId {
            from: Nf::Ausf.into(),
            call: CallId(Key {
                slot,
                generation: 0,
            }),
        }
    }

    fn answers(effects: &[Effect]) -> Vec<(RequestId, Message)> {
        let answer = |effect: &Effect| match effect {
            Effect::Answer { id, message } => Some((*id, **message)),
            _ => None,
        };
        effects.iter().filter_map(answer).collect()
    }

    #[test]
    fn each_request_is_answered_once() {
        let mut server = Server::new(Nf::Udm, 1, 0, procedure);
        let (mut effects, now) = (Vec::new(), Now::default());
        let message = || Slot::from(Done::ALL);
        server.handle(
            now,
            Input::Request {
                id: id(1),
                message: message(),
            },
            &mut effects,
        );
        let is_udr = |to: Place| to == Place::any(Nf::Udr);
        assert!(matches!(
            effects[..],
            [Effect::CallFlow(_), Effect::Call { to, .. }] if is_udr(to)
        ));
        // A second one finds no room.
        effects.clear();
        server.handle(
            now,
            Input::Request {
                id: id(2),
                message: message(),
            },
            &mut effects,
        );
        assert_eq!(answers(&effects), [(id(2), Problem::Overload.into())]);
        // Nobody answers.
        effects.clear();
        let later = Now {
            instant: server.next_deadline(),
            unix_s: 0,
        };
        server.handle(later, Input::Time, &mut effects);
        assert_eq!(answers(&effects), [(id(1), Problem::Timeout.into())]);
        assert_eq!(server.with(|asked| *asked), 1);
        assert_eq!(server.next_deadline(), Instant::NEVER);
    }

    #[test]
    fn a_procedure_that_panics_is_answered_by_a_failure() {
        let mut server = Server::new(Nf::Udm, 1, 0, procedure);
        let mut effects = Vec::new();
        let message = Problem::Overload.into();
        let request = Input::Request { id: id(1), message };
        server.handle(Now::default(), request, &mut effects);
        assert_eq!(answers(&effects), [(id(1), Problem::Protocol.into())]);
    }
}
