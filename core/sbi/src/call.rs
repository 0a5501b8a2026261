//! Calls to other network functions: names, deadlines, and which answer fits which request.

use std::collections::VecDeque;

use crate::field::{Nf, Problem};
use crate::message::{Failure, Message};
use crate::place::Place;
use crate::slab::{Key, Slab};
use crate::time::Instant;

/// A call that waits for its answer.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CallId(pub Key);

/// A message that asks, whom, and what answers it.
pub trait Request: Into<Message> {
    /// What answers it, unless it fails.
    type Answer: Answer;
    /// Who is asked.
    const TO: Nf;
}

/// A message that answers.
pub trait Answer: Into<Message> + TryFrom<Message, Error = Message> {}

impl<M: Into<Message> + TryFrom<Message, Error = Message>> Answer for M {}

/// Calls of one network function that wait, and for whom.
#[derive(Debug)]
pub struct Calls<T> {
    waiting: Slab<T>,
    /// When calls are forgotten that nobody has given up, the first one first.
    until: VecDeque<(Instant, CallId)>,
    late: u64,
}

impl<T> Calls<T> {
    /// For `most` calls at a time.
    pub fn new(most: usize) -> Self {
        Self {
            waiting: Slab::new(most),
            until: VecDeque::new(),
            late: 0,
        }
    }

    /// Names a call; none if too many wait.
    pub fn begin(&mut self, waiter: T) -> Option<CallId> {
        self.waiting.insert(waiter).map(CallId)
    }

    /// The same until a time, which is no earlier than that of the call before. Whoever waits for it may be gone
    /// before, and say nothing, and its answer may be lost.
    pub fn begin_until(&mut self, until: Instant, waiter: T) -> Option<CallId> {
        let call = self.begin(waiter)?;
        self.until.push_back((until, call));
        Some(call)
    }

    /// Forgets calls whose time is over, and gives who has waited for them.
    pub fn expire(&mut self, now: Instant) -> Vec<T> {
        let mut over = Vec::new();
        while let Some((_, call)) = self.until.pop_front_if(|(until, _)| *until <= now) {
            over.extend(self.waiting.remove(call.0));
        }
        over
    }

    /// When the first call that waits is forgotten.
    pub fn next_deadline(&self) -> Instant {
        let mut waiting = self.until.iter();
        let first = waiting.find(|(_, call)| self.waiting.get(call.0).is_some());
        first.map_or(Instant::NEVER, |(until, _)| *until)
    }

    /// All who wait.
    pub fn waiters(&self) -> impl Iterator<Item = &T> {
        self.waiting.iter().map(|(_, waiter)| waiter)
    }

    /// Who waits for this answer; none if nobody does any more, which is counted.
    pub fn end(&mut self, call: CallId) -> Option<T> {
        let waiter = self.waiting.remove(call.0);
        self.late += u64::from(waiter.is_none());
        waiter
    }

    /// The answer is not waited for any more.
    pub fn give_up(&mut self, call: CallId) {
        self.waiting.remove(call.0);
    }

    /// How many wait.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Answers that came too late.
    pub fn late(&self) -> u64 {
        self.late
    }
}

/// The answer to a request, or why there is none.
pub(crate) fn answer<R: Request>(message: Message) -> Result<R::Answer, Problem> {
    R::Answer::try_from(message).map_err(|message| match message {
        Message::Failure(failure) => failure.problem,
        _ => Problem::Protocol,
    })
}

impl Message {
    /// Receiver of this request to a function: the instance that has what it goes on with, the AMF of another core that named
    /// a UE, else any.
    pub fn receiver(&self, nf: Nf) -> Place {
        match self {
            Self::Confirm(request) => Place::from(nf).at(request.instance),
            Self::EapResponse(request) => Place::from(nf).at(request.instance),
            Self::TransferUeContext(_) | Self::UpdateRegistration(_) => Place::outside(nf),
            _ => Place::any(nf),
        }
    }

    /// Reads this as the answer to a request of the kind `R`.
    pub fn answer_to<R: Request>(self) -> Result<R::Answer, Problem> {
        answer::<R>(self)
    }
}

impl From<Problem> for Message {
    fn from(problem: Problem) -> Self {
        Failure { problem }.into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Confirm, Done, RegisterAmf};

    #[test]
    fn an_answer_that_nobody_waits_for_is_counted() {
        let mut calls = Calls::new(1);
        let call = calls.begin('a').expect("room");
        assert_eq!(calls.begin('b'), None);
        calls.give_up(call);
        assert_eq!(calls.end(call), None);
        assert_eq!(calls.late(), 1);
        let call = calls.begin('c').expect("room");
        assert_eq!(calls.end(call), Some('c'));
        assert_eq!(calls.late(), 1);
    }

    #[test]
    fn a_call_that_nobody_gives_up_is_forgotten_when_its_time_is_over() {
        let mut calls = Calls::new(2);
        let first = calls.begin_until(Instant(10), 'a').expect("room");
        let second = calls.begin_until(Instant(20), 'b').expect("room");
        assert_eq!(calls.expire(Instant(9)), []);
        assert_eq!((calls.waiting(), calls.end(first)), (2, Some('a')));
        // Its place is another's by now.
        let third = calls.begin_until(Instant(30), 'c').expect("room");
        assert_eq!(calls.expire(Instant(20)), ['b']);
        assert_eq!((calls.end(second), calls.end(third)), (None, Some('c')));
        assert_eq!((calls.waiting(), calls.late()), (0, 1));
    }

    #[test]
    fn only_the_answer_that_fits_is_taken() {
        let done = Message::from(Done::ALL);
        assert!(done.answer_to::<RegisterAmf>().is_ok());
        assert_eq!(done.answer_to::<Confirm>().err(), Some(Problem::Protocol));
        let failure = Message::from(Failure {
            problem: Problem::UserNotFound,
        });
        assert_eq!(
            failure.answer_to::<Confirm>().err(),
            Some(Problem::UserNotFound)
        );
    }

    #[test]
    fn a_confirmation_goes_to_the_instance_that_has_the_challenge() {
        let confirm = crate::Confirm {
            context: 7.into(),
            instance: 3,
            res_star: [0; 16],
            is_null: false,
        };
        let receiver = |message: Message| message.receiver(Nf::Ausf);
        assert_eq!(receiver(confirm.into()), Place::from(Nf::Ausf).at(3));
        assert_eq!(receiver(crate::Done::ALL.into()), Place::any(Nf::Ausf));
    }
}
