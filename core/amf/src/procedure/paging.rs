//! Paging: an idle UE is called, and what an SMF is told of that (TS 23.502, 4.2.3.3; TS 24.501, 5.6.2;
//! TS 38.413, 8.5; TS 29.518, 5.2.2.3.1).

use sluice_n2::{FromAmf, Paging};
use sluice_sbi::{
    AssociationId, Effect, Message, N2Sm, Nf, NotifyTransferFailure, Problem, RequestId,
    TransferCause, TransferN1N2, Transferred,
};

use crate::Amf;
use crate::context::state::State;
use crate::context::ue::{UeId, Waiter};
use crate::limits;
use crate::messages::collisions::{self, Decision, Input as Collision, Running};
use crate::procedure::{Kind, Procedure};

/// The procedure of an idle UE. Its answer begins another one and ends this.
pub(crate) async fn run(p: Procedure) {
    let mut is_paged = false;
    for attempt in 1..=limits::PAGING_SENDS {
        // 4b: Paging, in all cells of the areas that the UE may be in
        if !p.with(|state| state.page(p.ue, attempt)) {
            p.failed("no gNB serves the UE's areas");
            break;
        }
        is_paged = true;
        // T3513
        p.wait("6", Kind::Paging, limits::PAGING_TIMER_MS).await;
    }
    // One that answers has ended this.
    p.failed("the UE does not answer");
    p.with(|state| {
        state.counters.unanswered_pagings += u64::from(is_paged);
        state.give_up_paging(p.ue);
    });
}

fn answer(cause: TransferCause, retry_after_s: u64) -> Message {
    let retry_after_s = u16::try_from(retry_after_s).unwrap_or(u16::MAX).into();
    Transferred {
        cause,
        retry_after_s,
    }
    .into()
}

/// Way to deliver messages of an SMF.
enum Way {
    /// They leave now.
    Now,
    /// The UE is paged first, or that is under way.
    Paging,
    /// The SMF is told so, and when to try again.
    Refused(TransferCause, u64),
}

impl Amf {
    /// Namf_Communication_N1N2MessageTransfer (TS 23.502, 4.3.2.2.1, steps 11 and 12, and 4.2.3.3).
    pub(crate) fn transfer(&mut self, id: RequestId, request: &TransferN1N2) {
        let known = {
            let state = &mut *self.state.borrow_mut();
            let ue = state.find_supi(&request.supi);
            ue.filter(|ue| state.session_mut(*ue, request.session).is_some())
        };
        let Some(ue) = known else {
            return self.answer(id, Problem::ContextNotFound.into());
        };
        match self.way(ue, request) {
            Way::Now => {
                let is_delivered = self.state.borrow_mut().transferred(ue, request);
                let cause = match is_delivered {
                    true => TransferCause::Initiated,
                    false => TransferCause::UeNotReachable,
                };
                self.answer(id, answer(cause, 0));
            }
            Way::Paging => {
                // 3b comes before 4b.
                self.answer(id, answer(TransferCause::AttemptingToReachUe, 0));
                let n2 = request.n2.get().unwrap_or_default().to_vec();
                if let Some(ue) = self.state.borrow_mut().ues.get_mut(ue.0) {
                    ue.paged_for.insert(request.session, n2);
                }
                self.go_on(ue);
            }
            Way::Refused(cause, retry_after_s) => self.answer(id, answer(cause, retry_after_s)),
        }
    }

    fn answer(&mut self, id: RequestId, message: Message) {
        let effects = &mut self.state.borrow_mut().effects;
        let message = message.into();
        effects.push(Effect::Answer { id, message });
    }

    fn way(&self, ue: UeId, request: &TransferN1N2) -> Way {
        let expects = self.expects(ue);
        let state = self.state.borrow();
        let decision = collisions::decide(Collision::Downlink, Running::of(expects));
        let waits = decision == Decision::Later;
        let may_page = !request.skips_idle_ue && request.n2_kind == N2Sm::Setup;
        let not_reachable = |s| Way::Refused(TransferCause::UeNotReachable, s);
        // Its gNB may be about to come back with it.
        if may_page && state.ues.get(ue.0).is_some_and(|ue| ue.awaits.is_some()) {
            return Way::Refused(TransferCause::TemporaryReject, limits::BUSY_S);
        }
        match (state.connection(ue), expects) {
            // It is about to be idle, and is paged then.
            (Some(_), _) if may_page && waits => Way::Paging,
            // It is on its way here: what it is doing brings the gNB a context.
            (Some((_, connection)), Some(_)) if may_page && !connection.has_context => {
                Way::Refused(TransferCause::TemporaryReject, limits::BUSY_S)
            }
            (Some(_), _) => Way::Now,
            (None, None | Some(Kind::Paging)) if may_page => match state.unreachable_s(ue) {
                0 => Way::Paging,
                s => not_reachable(s),
            },
            (None, _) => not_reachable(0),
        }
    }

    /// A UE that is paged answers.
    pub(crate) fn end_paging(&mut self, ue: UeId) {
        if self.expects(ue) != Some(Kind::Paging) {
            return;
        }
        if let Some(ue) = self.state.borrow_mut().ues.get_mut(ue.0) {
            ue.is_paged = true;
        }
        self.end_quietly(ue);
    }

    /// A UE that was told a new name has more to do than to acknowledge it: it has either name.
    pub(crate) fn end_renaming(&mut self, ue: UeId) {
        if self.expects(ue) == Some(Kind::Configuration) {
            self.end_quietly(ue);
        }
    }

    /// Ends a procedure that has nothing to undo.
    fn end_quietly(&mut self, ue: UeId) {
        let task = {
            let state = &mut *self.state.borrow_mut();
            state.ues.get_mut(ue.0).and_then(|ue| ue.task.take())
        };
        if let Some(task) = task {
            self.tasks.abort(task);
            self.owners.remove(&task);
            self.ended(task, ue, None);
        }
    }

    /// Starts work that is left for a UE without a procedure.
    pub(crate) fn go_on(&mut self, ue: UeId) {
        let is_to_be_paged = self.state.borrow().ues.get(ue.0).is_some_and(|ue| {
            let is_idle = ue.task.is_none() && ue.connection.is_none();
            let is_called = !ue.paged_for.is_empty() || !ue.reached_for.is_empty();
            is_idle && ue.registered.is_some() && is_called
        });
        if is_to_be_paged {
            self.start(ue, run);
        } else {
            self.tell_news(ue);
        }
    }
}

impl State {
    /// Seconds for which there is no use in paging an idle UE; 0 if it may be tried.
    pub(crate) fn unreachable_s(&self, id: UeId) -> u64 {
        let Some(ue) = self.ues.get(id.0) else {
            return 0;
        };
        let now = self.now.instant;
        if let Some(until) = ue.unreachable_until.filter(|until| *until > now) {
            return until.ms_since(now).div_ceil(1000);
        }
        // The mobile reachable timer has run out (TS 24.501, 5.3.7).
        let is_late = ue
            .gone_at
            .is_some_and(|gone_at| gone_at.ms_since(now) <= limits::IMPLICIT_DEREGISTRATION_MS);
        let has_cells = !self.cells(id).is_empty();
        if is_late || !has_cells {
            limits::UNREACHABLE_MS / 1000
        } else {
            0
        }
    }

    /// gNBs that serve an area in which the UE may be.
    fn cells(&self, _: UeId) -> Vec<AssociationId> {
        // All UEs are told all areas.
        let areas = &self.config.areas;
        let serves = |gnb: &crate::context::state::Gnb| {
            gnb.areas.iter().any(|area| {
                let of = |plmn: &sluice_n2::PlmnSlices| {
                    areas
                        .iter()
                        .any(|tai| tai.tac == area.tac && tai.plmn == plmn.plmn)
                };
                area.plmns.iter().any(of)
            })
        };
        let gnbs = self.gnbs.iter().filter(|(_, gnb)| serves(gnb));
        gnbs.map(|(association, _)| *association).collect()
    }

    /// Has all gNBs of its areas call a UE; false if there is none, or nobody to call.
    fn page(&mut self, id: UeId, attempt: u8) -> bool {
        let cells = self.cells(id);
        let Some(ue) = self.ues.get(id.0) else {
            return false;
        };
        let (Some(guti), false) = (ue.guti, cells.is_empty()) else {
            return false;
        };
        // A UE that has not acknowledged its new name may have the old one alone (TS 24.501, 5.5.1.2.8 d).
        let names = [Some(guti), ue.old_guti];
        let pagings = names.into_iter().flatten().map(|name| {
            FromAmf::Paging(Box::new(Paging {
                s_tmsi: name.s_tmsi(),
                drx: ue.drx,
                areas: self.config.areas.clone(),
                capability: ue.paging_capability.clone(),
                attempt: (attempt, limits::PAGING_SENDS),
            }))
        });
        let pagings: Vec<FromAmf> = pagings.collect();
        for paging in &pagings {
            self.line("AMF", "gNB", "4b", paging.name(), id);
            for association in &cells {
                self.send_n2(*association, None, paging);
            }
        }
        self.counters.pagings += 1;
        self.counters.paged += u64::from(attempt == 1);
        true
    }

    /// 5: the UE does not answer, which SMFs are told that wait for it.
    fn give_up_paging(&mut self, id: UeId) {
        let until = self.now.instant.plus_ms(limits::UNREACHABLE_MS);
        self.end_reaching(id, Problem::NotReached.into());
        let waiting = self.ues.get_mut(id.0).and_then(|ue| {
            ue.unreachable_until = Some(until);
            Some((ue.supi?, std::mem::take(&mut ue.paged_for)))
        });
        let Some((supi, waiting)) = waiting else {
            return;
        };
        for session in waiting.into_keys() {
            let message = Message::from(NotifyTransferFailure {
                supi,
                session,
                retry_after_s: (limits::UNREACHABLE_MS as u16 / 1000).into(),
            });
            self.line("AMF", "SMF", "5", message.name(), id);
            self.call(Waiter::Nobody, Nf::Smf, message);
        }
    }
}
