//! Procedures as operators count them.

use sluice_sbi::tally::{Begun, SUCCESS};
use sluice_sbi::{Tally, TaskId};

use crate::Amf;
use crate::context::ue::UeId;

impl Amf {
    /// How procedures ended, and how long they took.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn began(&mut self, task: TaskId, ue: UeId, procedure: &'static str) {
        let state = &mut *self.state.borrow_mut();
        let association = state.connection(ue).map(|(_, one)| one.association);
        let gnb = association.and_then(|association| state.gnbs.get(&association));
        let gnb = gnb.map(|gnb| gnb.identity.to_string());
        let begun = Begun {
            procedure,
            at: state.now.instant,
            slice: String::new(),
            gnb: gnb.unwrap_or_default(),
        };
        self.begun.insert(task, begun);
    }

    /// Without a cause it did what it was for.
    pub(crate) fn ended(&mut self, task: TaskId, ue: UeId, cause: Option<&str>) {
        let Some(mut begun) = self.begun.remove(&task) else {
            return;
        };
        let state = &mut *self.state.borrow_mut();
        let registered = state.ues.get(ue.0).and_then(|ue| ue.registered.as_ref());
        let slice = registered.and_then(|one| one.allowed_nssai.first().copied());
        begun.slice = slice.map(|slice| slice.to_string()).unwrap_or_default();
        let cause = cause.unwrap_or(SUCCESS).to_owned();
        self.tally.add(begun, cause, state.now.instant);
    }
}
