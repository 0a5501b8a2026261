//! Procedures as operators count them.

use sluice_sbi::tally::{Begun, SUCCESS};
use sluice_sbi::{Tally, TaskId};

use crate::Amf;
use crate::ue::UeId;

impl Amf {
    /// How procedures ended, and how long they took.
    pub fn tally(&self) -> &Tally {
        &self.tally
    }

    pub(crate) fn began(
        &mut self,
        task: TaskId,
        ue: UeId,
        session: Option<u8>,
        procedure: &'static str,
    ) {
        let state = &mut *self.state.borrow_mut();
        if let (Some(ue), None) = (state.ues.get_mut(ue.0), session) {
            ue.refused = None;
        }
        let association = state.connection(ue).map(|(_, one)| one.association);
        let gnb = association.and_then(|association| state.gnbs.get(&association));
        let gnb = gnb.map(|gnb| format!("{:?}", gnb.identity));
        let begun = Begun {
            procedure,
            at: state.now.instant,
            slice: String::new(),
            gnb: gnb.unwrap_or_default(),
        };
        self.begun.insert(task, begun);
    }

    /// Without a cause it did what it was for, unless the UE was refused.
    pub(crate) fn ended(&mut self, task: TaskId, ue: UeId, cause: Option<&str>) {
        let Some(mut begun) = self.begun.remove(&task) else {
            return;
        };
        let state = &mut *self.state.borrow_mut();
        let known = state.ues.get_mut(ue.0);
        let (mut slice, mut refused) = (None, None);
        if let Some(ue) = known {
            let registered = ue.registered.as_ref();
            slice = registered.and_then(|one| one.allowed_nssai.first().copied());
            refused = ue.refused.take();
        }
        begun.slice = slice.map(|slice| format!("{slice:?}")).unwrap_or_default();
        let cause = cause.map(str::to_owned).or(refused);
        let cause = cause.unwrap_or_else(|| SUCCESS.to_owned());
        self.tally.add(begun, cause, state.now.instant);
    }
}
