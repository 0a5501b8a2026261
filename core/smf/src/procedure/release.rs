//! PDU session release (TS 23.502, 4.3.4.2; TS 24.501, 6.3.3 and 6.4.3).

use sluice_n1::{SessionCause, SessionDownlink};
use sluice_n2::{Cause, session};
use sluice_sbi::{Container, Done, N2Sm, SmContextUpdated};
use sluice_wire::pfcp::MessageType;

use crate::context::session::Loss;
use crate::limits;
use crate::procedure::Procedure;
use crate::upf::n4::Answer;

/// Why a release is none in time: T3592 has run out as often as it may.
const SILENT: &str = "the UE does not answer";

/// The UE wants it, in this procedure of its own (1a).
pub(crate) async fn by_ue(p: &Procedure, transaction: u8) {
    // 2a and 2b: the UPF deletes it
    let was_up = is_up(p);
    delete(p, "2").await;
    // 3: Nsmf_PDUSession_UpdateSMContext Response
    let command = SessionDownlink::ReleaseCommand(SessionCause::REGULAR_DEACTIVATION);
    let n1 = p.n1(&command, transaction);
    p.with_session(|session| session.flows.command = Some(transaction));
    p.say("3", &command);
    let (n2_kind, n2) = for_gnb(was_up);
    p.with(|state| {
        let updated = SmContextUpdated { n1, n2_kind, n2 };
        state.answer(p.session, updated.into());
    });
    // 4 to 10: the gNB and the UE release it; T3592
    let mut is_released = p.is_released("10").await;
    for _ in 1..limits::RELEASE_SENDS {
        if is_released {
            break;
        }
        p.say("3", &command);
        p.transfer("3", n1, N2Sm::None, Container::NONE).await;
        is_released = p.is_released("10").await;
    }
    if !is_released {
        p.failed(SILENT);
    }
    // 11: Nsmf_PDUSession_SMContextStatusNotify
    end(p, "11");
}

/// The network wants it (1b to 1e): an operator, or a UPF that has lost it.
pub(crate) async fn by_network(p: Procedure, cause: SessionCause) {
    tell(&p, cause).await;
    // 11: Nsmf_PDUSession_SMContextStatusNotify
    end(&p, "11");
}

/// The UPF deletes it, gNB and UE release it.
pub(crate) async fn tell(p: &Procedure, cause: SessionCause) {
    let was_up = is_up(p);
    tell_as(p, cause, was_up).await;
}

/// The same of one that its gNB has, or has not.
pub(crate) async fn tell_as(p: &Procedure, cause: SessionCause, was_up: bool) {
    // 2a and 2b: the UPF deletes it
    delete(p, "2").await;
    // 3b: Namf_Communication_N1N2MessageTransfer
    let command = SessionDownlink::ReleaseCommand(cause);
    let n1 = p.n1(&command, 0);
    let (mut n2_kind, mut n2) = for_gnb(was_up);
    p.with_session(|session| session.flows.command = Some(0));
    for _ in 0..limits::RELEASE_SENDS {
        p.say("3", &command);
        if !p.transfer("3", n1, n2_kind, n2).await {
            // An idle UE learns it by the status of its sessions when it comes back.
            return;
        }
        (n2_kind, n2) = (N2Sm::None, Container::NONE);
        // T3592
        if p.is_released("10").await {
            return;
        }
    }
    p.failed(SILENT);
}

/// The UE says that it has no such session (TS 24.501, 6.5.3): it is told nothing, and its gNB is.
pub(crate) async fn locally(p: &Procedure) {
    // The gNB may have it and have not said so yet.
    let may_be_up = p.with_session(|session| session.downlink.is_some() || !session.is_accepted);
    delete(p, "2").await;
    let (n2_kind, n2) = for_gnb(may_be_up == Some(true));
    p.with(|state| {
        let updated = SmContextUpdated {
            n1: Container::NONE,
            n2_kind,
            n2,
        };
        state.answer(p.session, updated.into());
    });
    end(p, "11");
}

/// The AMF wants it, since the UE is gone: nobody is told.
pub(crate) async fn by_amf(p: &Procedure) {
    delete(p, "2").await;
    p.with(|state| {
        state.counters.released += 1;
        state.record_last(p.session);
        state.answer(p.session, Done::ALL.into());
        state.remove(p.session);
    });
}

/// The UE asks for a session of the same identity, and the AMF has forgotten this one.
pub(crate) async fn replaced(p: Procedure) {
    by_amf(&p).await;
}

fn is_up(p: &Procedure) -> bool {
    p.with_session(|session| session.downlink.is_some())
        .unwrap_or(false)
}

/// Release message for a gNB that has the session.
pub(crate) fn for_gnb(was_up: bool) -> (N2Sm, Container) {
    let command = session::release_command(Cause::NORMAL_RELEASE);
    match Container::new(&command) {
        Some(command) if was_up => (N2Sm::Release, command),
        _ => (N2Sm::None, Container::NONE),
    }
}

/// The UPF deletes the session. One that does not answer is asked again when nobody waits for it any more; one
/// that was restarted has none.
pub(crate) async fn delete(p: &Procedure, step: &'static str) {
    let is_there = p.with_session(|session| session.loss == Loss::None);
    let mut is_answered = false;
    if is_there == Some(true) {
        let kind = MessageType::SESSION_DELETION_REQUEST;
        is_answered = p.ask_upf(step, kind, |_| Ok(())).await != Answer::Nothing;
        if !is_answered {
            p.failed("the UPF does not answer");
        }
    }
    let given_up = p.with_session(|session| {
        let is_gone = session.loss == Loss::Gone;
        session
            .upf
            .filter(|_| is_gone || session.loss == Loss::None && !is_answered)
    });
    if let Some(upf) = given_up.flatten() {
        p.with(|state| state.forget_at_upf(Some(p.session), upf));
    }
    p.with_session(|session| {
        session.upf = None;
        session.downlink = None;
    });
}

/// The AMF is told that the session is over, and it is forgotten.
pub(crate) fn end(p: &Procedure, step: &'static str) {
    p.with(|state| {
        let was_accepted = state
            .sessions
            .get(p.session.0)
            .is_some_and(|session| session.is_accepted);
        state.counters.released += u64::from(was_accepted);
        state.record_last(p.session);
        state.notify(p.session, step);
        state.remove(p.session);
    });
}
