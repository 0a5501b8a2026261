//! UEs that leave for another AMF, which has asked for their contexts (TS 23.502, 4.2.2.2.2, steps 10 and 14d).

use sluice_sbi::{Message, Problem, RegistrationUpdated, UpdateRegistration};

use crate::Amf;
use crate::context::ue::UeId;
use crate::messages::collisions::{Decision, Input as Collision, decide};
use crate::procedure::deregistration;

impl Amf {
    /// 10: Namf_Communication_RegistrationStatusUpdate of an AMF that has asked for the context.
    pub(crate) fn registration_updated(
        &mut self,
        request: &UpdateRegistration,
    ) -> Result<RegistrationUpdated, Problem> {
        let id = {
            let state = &mut *self.state.borrow_mut();
            let id = state.find_named(&request.ue);
            let is_moving = |id: &UeId| state.ues.get(id.0).is_some_and(|ue| ue.moving.is_some());
            let id = id.filter(is_moving).ok_or(Problem::ContextNotFound)?;
            state.line("AMF", "AMF", "10", Message::from(*request).name(), id);
            if request.is_transferred {
                state.pass_sessions_on(id, request.released.get());
            }
            state.stays(id);
            id
        };
        if request.is_transferred {
            self.leave_to_other(id);
        }
        Ok(RegistrationUpdated { is_complete: true })
    }

    /// Waits for other AMFs that are over.
    pub(crate) fn end_moves(&mut self) {
        loop {
            let over = self.state.borrow_mut().end_move();
            match over {
                Some((id, true)) => self.leave_to_other(id),
                Some((_, false)) => {}
                None => return,
            }
        }
    }

    /// A UE is another AMF's: its context is removed, and sessions that are left are released.
    fn leave_to_other(&mut self, id: UeId) {
        if decide(Collision::SentAway, self.running(id)) == Decision::Ignore {
            return;
        }
        self.abort(id);
        self.start(id, deregistration::elsewhere);
    }
}
