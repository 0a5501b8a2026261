//! Procedures as operators count them.

use sluice_sbi::tally::{Begun, PANICKED, SUCCESS};
use sluice_sbi::{Poll, Tally, TaskId};

use crate::Smf;
use crate::context::session::SessionId;

impl Smf {
    /// How procedures ended, and how long they took.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn began(&mut self, task: TaskId, id: SessionId, procedure: &'static str) {
        let state = &mut *self.state.borrow_mut();
        let slice = state.sessions.get(id.0).map(|session| session.slice);
        let begun = Begun {
            procedure,
            at: state.now.instant,
            slice: slice.map(|slice| slice.to_string()).unwrap_or_default(),
            gnb: String::new(),
        };
        self.begun.insert(task, begun);
    }

    /// Without a failure it did what it was for.
    pub(crate) fn ended(&mut self, task: TaskId, polled: Poll, failure: Option<String>) {
        let Some(begun) = self.begun.remove(&task) else {
            return;
        };
        let cause = match polled {
            Poll::Panicked => PANICKED.to_owned(),
            _ => failure.unwrap_or_else(|| SUCCESS.to_owned()),
        };
        let now = self.state.borrow().now.instant;
        self.tally.add(begun, cause, now);
    }
}
