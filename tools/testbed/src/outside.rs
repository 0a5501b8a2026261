//! Functions that are no part of a core, as a carrier of services stands for them: they ask its functions, and are told by
//! them.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;

use sluice_bus::{Envelope, Event, Kind, Transport, Unsent};
use sluice_sbi::{CallId, Done, Instant, Key, Message, Nf, Place, Slot};

use crate::network::TestNetwork;

/// Others of a core. Whatever they are told they confirm.
#[derive(Clone, Default)]
pub struct Outside(Rc<RefCell<Messages>>);

#[derive(Default)]
struct Messages {
    to_core: VecDeque<Event>,
    answers: Vec<(CallId, Message)>,
    told: Vec<Message>,
    asked: u32,
    /// Answer to what they are told next, in place of a confirmation.
    refuses: Option<Message>,
}

impl Outside {
    /// Others that the functions of a core reach from now on.
    pub fn of(world: &mut TestNetwork) -> Self {
        let outside = Self::default();
        world.core.connect(Box::new(outside.clone()), &[]);
        outside
    }

    /// Asks a function, and gives what it has answered when nothing is left to do; none if it has not.
    pub fn ask(
        &self,
        world: &mut TestNetwork,
        nf: Nf,
        message: impl Into<Message>,
    ) -> Option<Message> {
        let call = self.begin(world, nf, message);
        self.answer(call)
    }

    /// Asks a function; the answer may come later.
    pub fn begin(&self, world: &mut TestNetwork, nf: Nf, message: impl Into<Message>) -> CallId {
        let call = {
            let messages = &mut *self.0.borrow_mut();
            messages.asked += 1;
            let slot = messages.asked;
            let call = CallId(Key {
                slot,
                generation: 0,
            });
            messages.to_core.push_back(Event::Came(Envelope {
                from: Place::outside(nf),
                to: nf.into(),
                call,
                kind: Kind::Request,
                load: 0,
                deadline: Instant::NEVER,
                message: Slot::from(message),
            }));
            call
        };
        world.core.receive(world.now);
        world.run();
        call
    }

    /// Answer to what was asked, if it has come.
    pub fn answer(&self, call: CallId) -> Option<Message> {
        let answers = &self.0.borrow().answers;
        let mut its = answers.iter().filter(|(one, _)| *one == call);
        its.next().map(|(_, message)| *message)
    }

    /// Refuses what they are told next.
    pub fn refuse(&self, message: impl Into<Message>) {
        self.0.borrow_mut().refuses = Some(message.into());
    }

    /// Notifications since the last call.
    pub fn take_told(&self, world: &mut TestNetwork) -> Vec<Message> {
        world.core.send(world.now);
        world.core.receive(world.now);
        std::mem::take(&mut self.0.borrow_mut().told)
    }
}

impl Transport for Outside {
    fn send(&mut self, envelope: Envelope) -> Result<(), Unsent> {
        if !envelope.to.is_outside() {
            return Err(Unsent::Unreachable(envelope));
        }
        let messages = &mut *self.0.borrow_mut();
        let Envelope {
            call,
            kind,
            message,
            ..
        } = envelope.clone();
        match kind {
            Kind::Reply => messages.answers.push((call, *message)),
            Kind::Request => {
                messages.told.push(*message);
                let answer = messages.refuses.take().unwrap_or(Done::ALL.into());
                messages.to_core.push_back(Event::Came(Envelope {
                    from: envelope.to,
                    to: envelope.from,
                    kind: Kind::Reply,
                    message: answer.into(),
                    ..envelope
                }));
            }
        }
        Ok(())
    }

    fn flush(&mut self) {}

    fn receive(&mut self) -> Option<Event> {
        self.0.borrow_mut().to_core.pop_front()
    }

    fn may_sleep(&mut self) -> bool {
        self.0.borrow().to_core.is_empty()
    }
}
