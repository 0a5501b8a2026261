//! Load shedding: bounds on UEs that are not authenticated (TS 23.501, 5.19.5.2).
//!
//! Each connection counts from its beginning, until its UE is authenticated, proves its identity by a correct MAC, or
//! is gone. A UE beyond a bound leaves nothing in the AMF: no context, no 5G-GUTI, no challenge, no procedure.

use sluice_n1::{Cause, Envelope};
use sluice_n2::{Cause as N2Cause, FirstMessage};
use sluice_sbi::AssociationId;

use crate::Amf;
use crate::context::state::State;
use crate::context::ue::UeId;
use crate::limits;
use crate::procedure::release;
use crate::refusal_text;

/// Which bound was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Beyond {
    /// That of the gNB.
    OfGnb,
    /// That of all.
    InAll,
}

impl State {
    /// The UE's connection is that of somebody who has not proved who it is.
    pub fn count_unauthenticated(&mut self, id: UeId, gnb: AssociationId) {
        if let Some(ue) = self.ues.get_mut(id.0)
            && ue.unauthenticated_at.is_none()
        {
            let origin = self.unauthenticated.origin(gnb);
            ue.unauthenticated_at = Some(origin);
            self.unauthenticated.add(origin);
        }
    }

    /// The UE has proved who it is, or is gone.
    pub fn not_unauthenticated(&mut self, id: UeId) {
        let ue = self.ues.get_mut(id.0);
        if let Some(gnb) = ue.and_then(|ue| ue.unauthenticated_at.take()) {
            self.unauthenticated.take(gnb);
        }
    }

    /// The bound beyond which a UE is that wants to be authenticated.
    fn beyond(&self, id: UeId) -> Option<Beyond> {
        let gnb = self.connection(id)?.1.association;
        let is_counted = self.ues.get(id.0)?.unauthenticated_at.is_some();
        // One that is counted takes no more room than it has.
        self.beyond_with(gnb, usize::from(!is_counted))
    }

    /// The bound that so many more UEs by way of a gNB would be beyond.
    fn beyond_with(&self, gnb: AssociationId, more: usize) -> Option<Beyond> {
        let bounds = self.config.unauthenticated;
        let origin = self.unauthenticated.origin(gnb);
        if self.unauthenticated.of_gnb(origin) + more > bounds.of_gnb {
            Some(Beyond::OfGnb)
        } else if self.unauthenticated.len() + more > bounds.in_all {
            Some(Beyond::InAll)
        } else {
            None
        }
    }
}

impl Amf {
    /// Whether a message is the first one of a UE that is left unanswered: a stranger's, under overload, by way of a
    /// gNB that has no room for it. Nothing is made of it but a count, and no more of it is read than says so: what is
    /// shed is to cost next to nothing, or a storm takes from those that are served. What is protected may be of a UE
    /// that is known, and is read in any case. So it is while a UE is followed: a stranger that is shed is not seen,
    /// whoever it is.
    pub(crate) fn leaves_unanswered(&mut self, gnb: AssociationId, octets: &[u8]) -> bool {
        let state = &mut *self.state.borrow_mut();
        if state.overload().is_none() || !state.gnbs.contains_key(&gnb) {
            return false;
        }
        let Some(beyond) = state.beyond_with(gnb, 1) else {
            return false;
        };
        // Operators are told of one now and then, and a name that is given again is that of a UE that is gone.
        let is_untold = state.now.instant >= state.unauthenticated.told_until;
        let first = FirstMessage::peek(octets).filter(|_| !is_untold);
        let is_shed = first.is_some_and(|first| {
            Envelope::is_strange_registration(first.nas) && state.find_ran(gnb, first.ran).is_none()
        });
        if is_shed {
            count_shed(state, beyond);
            state.counters.unanswered += 1;
        }
        is_shed
    }

    /// Whether a UE is beyond a bound that wants to be authenticated, or to hear that nobody knows it; then it
    /// is shed. Without overload its gNB releases it, and it tries again some seconds later (TS 24.501, 5.5.1.2.7).
    /// Under overload it is left unanswered, which costs nothing more, and does so when T3510 has run out.
    pub(crate) fn sheds(&mut self, ue: UeId) -> bool {
        let Some(beyond) = self.state.borrow().beyond(ue) else {
            return false;
        };
        let is_secured = {
            let state = &mut *self.state.borrow_mut();
            count_shed(state, beyond);
            tell_shed(state, ue, beyond);
            state.connection(ue).is_some_and(|(_, c)| c.is_secured)
        };
        // The connection of a UE that is registered stays as it is.
        if is_secured {
            return true;
        }
        self.abort(ue);
        let state = &mut *self.state.borrow_mut();
        match state.overload() {
            Some(_) => state.counters.unanswered += 1,
            // Nothing waits for the gNB's answer, which is about nobody then.
            None => {
                release::command(state, ue, N2Cause::CONTROL_PROCESSING_OVERLOAD);
            }
        }
        state.disconnect(ue);
        state.remove(ue);
        true
    }
}

fn count_shed(state: &mut State, beyond: Beyond) {
    match beyond {
        Beyond::OfGnb => state.counters.shed_of_gnb += 1,
        Beyond::InAll => state.counters.shed_in_all += 1,
    }
}

/// Tells operators, who have counters besides, once in a while.
fn tell_shed(state: &mut State, ue: UeId, beyond: Beyond) {
    let now = state.now.instant;
    if now < state.unauthenticated.told_until {
        return;
    }
    state.unauthenticated.told_until = now.plus_ms(limits::SHED_TOLD_MS);
    let refusals = state.counters.refusals;
    let reason = match beyond {
        Beyond::OfGnb => refusal_text::TOO_MANY_OF_GNB,
        Beyond::InAll => refusal_text::TOO_MANY_IN_ALL,
    };
    let reason = (reason.0.to_owned(), reason.1);
    let cause = format!("{}, not told", Cause::CONGESTION);
    state.refused(ue, None, "Registration", cause, reason);
    // It is counted as shed.
    state.counters.refusals = refusals;
}
