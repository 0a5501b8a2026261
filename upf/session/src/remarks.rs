//! What the operator is told once for each association about how its CP function speaks.

use crate::events::SessionEvent;
use crate::pending::SessionRemarks;
use crate::sessions::Sessions;
use sluice_n4::AssociationId;

/// Tells what was not told yet.
#[inline]
pub fn tell(sessions: &mut Sessions, association: AssociationId, remarks: SessionRemarks) {
    if remarks != SessionRemarks::default() {
        tell_new(sessions, association, remarks);
    }
}

fn tell_new(sessions: &mut Sessions, association: AssociationId, remarks: SessionRemarks) {
    let Some(memory) = sessions.memory(association) else {
        return;
    };
    let is_new = |remarked: bool, told: &mut bool| remarked && !core::mem::replace(told, true);
    let teids = is_new(remarks.chosen_by_cp, &mut memory.told_teids);
    let triggers = is_new(remarks.unserved_triggers, &mut memory.told_triggers);
    let timer = is_new(remarks.inactivity_timer, &mut memory.told_timer);
    if teids {
        sessions.tell(SessionEvent::ChoosesTeids(association));
    }
    if triggers {
        sessions.tell(SessionEvent::TriggersUnserved(association));
    }
    if timer {
        sessions.tell(SessionEvent::TimerUnserved(association));
    }
}
