//! Nsmf_PDUSession_UpdateSMContext: what UE and gNB say of a session that is there, and its user plane
//! (TS 23.502, 4.3.2.2.1 from step 15 on, 4.2.3.2, 4.2.6).

use sluice_n1::{SessionCause, SessionDownlink, SessionUplink, transaction};
use sluice_n2::notify::Notified;
use sluice_n2::{Cause, SetupResponse, mobility, session};
use sluice_sbi::{
    Container, Message, N2Sm, Problem, Slot, SmChange, SmContextUpdated, UpdateSmContext,
};

use crate::context::session::QFI;
use crate::procedure::Procedure;
use crate::procedure::registration;
use crate::procedure::release;
use crate::procedure::status::About;
use crate::procedure::ue_request;
use crate::procedure::user_plane::{downlink, setup, unprotected};
use crate::upf::rules::Downlink;

/// The procedure of a request.
pub(crate) async fn run(p: Procedure, message: Slot) {
    match *message {
        Message::UpdateSmContext(update) => match update.change {
            SmChange::N1 => n1(&p, &update).await,
            SmChange::SetUp => set_up(&p, &update).await,
            SmChange::SetupFailed => setup_failed(&p, &update).await,
            // What the gNB says of flows when nobody asked.
            SmChange::Released | SmChange::Modified | SmChange::ModifyFailed => done(&p),
            SmChange::Notified => notified(&p, &update).await,
            SmChange::Activate => activate(&p),
            SmChange::Deactivate => deactivate(&p).await,
            SmChange::NotSwitched | SmChange::NotAdmitted => not_taken(&p, &update).await,
            // Handovers have procedures of their own.
            _ => p.with(|state| state.answer(p.session, Problem::Protocol.into())),
        },
        Message::ReleaseSmContext(_) => release::by_amf(&p).await,
        _ => p.with(|state| state.answer(p.session, Problem::Protocol.into())),
    }
}

fn done(p: &Procedure) {
    p.with(|state| state.answer(p.session, SmContextUpdated::NOTHING.into()));
}

/// A message of the UE.
async fn n1(p: &Procedure, update: &UpdateSmContext) {
    let octets = update.n1.get().unwrap_or_default();
    let of = transaction(octets);
    let procedure = of.map_or(0, |of| of.procedure);
    let answer = match SessionUplink::decode(octets) {
        Ok(SessionUplink::ReleaseRequest(_)) => {
            p.with_session(|session| session.transaction = procedure);
            return release::by_ue(p, procedure).await;
        }
        Ok(SessionUplink::Status(cause)) if is_about_session(p, octets) => {
            let what = format!("5GSM Status {cause}");
            p.with(|state| state.line("UE", "SMF", "", what, p.session));
            return release::locally(p).await;
        }
        // One that is late, or answers nothing.
        Ok(SessionUplink::ReleaseComplete | SessionUplink::Status(_)) => {
            p.with(|state| state.counters.unexpected += 1);
            return done(p);
        }
        Ok(SessionUplink::ModificationRequest(request)) => {
            return ue_request::run(p, &request, procedure).await;
        }
        // An answer to no command, or to one that was given up (7.3.1).
        Ok(SessionUplink::ModificationComplete | SessionUplink::ModificationCommandReject(_)) => {
            SessionDownlink::Status(SessionCause::PTI_MISMATCH)
        }
        Ok(SessionUplink::EstablishmentRequest(_) | SessionUplink::Other) => {
            SessionDownlink::Status(SessionCause::NOT_COMPATIBLE_WITH_STATE)
        }
        Err(cause) => SessionDownlink::Status(cause),
    };
    p.with(|state| state.counters.unexpected += 1);
    let n1 = p.n1(&answer, procedure);
    p.say("", &answer);
    let updated = SmContextUpdated {
        n1,
        ..SmContextUpdated::NOTHING
    };
    p.with(|state| state.answer(p.session, updated.into()));
}

fn is_about_session(p: &Procedure, octets: &[u8]) -> bool {
    p.with(|state| state.status_is_about(p.session, octets)) == Some(About::Session)
}

/// 15: the gNB has set the session up, and says where downlink packets go.
async fn set_up(p: &Procedure, update: &UpdateSmContext) {
    let response = update.n2.get().and_then(SetupResponse::decode);
    let qfis = response.as_ref().map(|response| response.qfis.clone());
    let security = response.as_ref().and_then(|response| response.security);
    let has_flow = |response: &SetupResponse| response.qfis.contains(&QFI);
    let tunnel = response.filter(has_flow).map(|response| response.downlink);
    let tunnel = tunnel.filter(|tunnel| tunnel.teid != 0);
    let missing = p.with_session(|session| {
        session.is_accepted = true;
        session.flows.is_called = false;
        session.security.result = security;
        let asked = session.flows.asked_at_setup();
        let qfis = qfis.filter(|_| tunnel.is_some())?;
        Some(session.flows.set_up(asked, &qfis))
    });
    // The UE is reached.
    p.with(|state| state.reach(p.session, None));
    let is_safe = p.with_session(|session| session.security.is_fulfilled_by(security));
    if is_safe == Some(false) {
        done(p);
        return unprotected::give_up(p, security).await;
    }
    // 16a and 16b: N4 Session Modification
    let is_up = match tunnel {
        Some(tunnel) => downlink(p, "16", Downlink::Forward(tunnel)).await,
        None => false,
    };
    // 16c: Nudm_UECM_Registration
    let refused = match is_up {
        true => registration::register(p).await.err(),
        false => None,
    };
    // 17: Nsmf_PDUSession_UpdateSMContext Response
    done(p);
    if let Some(cause) = refused {
        return give_up(p, cause).await;
    }
    let missing = missing.flatten().unwrap_or_default();
    if is_up && missing != 0 {
        // The session goes on without those that it has not, which the UE is told.
        p.with(|state| state.lacks_room(p.session, missing));
    }
    if !is_up {
        // 18: a session without downlink is none; the UE shall ask again.
        p.failed("the gNB has no tunnel for the session");
        give_up(p, SessionCause::REACTIVATION_REQUESTED).await;
    }
}

/// 15: the gNB has not.
async fn setup_failed(p: &Procedure, update: &UpdateSmContext) {
    let cause = update.n2.get().map(session::read_setup_failure);
    let why = cause.map_or("it does not say why".to_owned(), |why| why.to_string());
    let cause = cause.unwrap_or(Cause::Unknown);
    let is_unsafe = p.with_session(|session| session.security.is_why(cause));
    let what = format!("the gNB has not set the session up: {why}");
    p.failed("the gNB has not set the session up");
    p.with(|state| state.line("gNB", "SMF", "15", what, p.session));
    done(p);
    if is_unsafe == Some(true) {
        p.with(|state| state.security_refused(p.session, unprotected::SETUP, cause.to_string()));
    }
    let is_accepted = p.with_session(|session| session.is_accepted);
    // What is required of its user plane it has nowhere here (4.2.3.2, 15).
    if (is_accepted, is_unsafe) == (Some(true), Some(true)) {
        return unprotected::release_at(p, false).await;
    }
    // One that the UE has already stays, without user plane.
    p.with(|state| state.reach_again(p.session));
    if is_accepted == Some(false) {
        let (transaction, reject) = (
            p.with_session(|session| session.transaction),
            SessionDownlink::EstablishmentReject {
                cause: SessionCause::INSUFFICIENT_RESOURCES,
                allows_ssc_mode_1: false,
                // Another cell may have room.
                back_off_s: None,
            },
        );
        release::delete(p, "").await;
        let n1 = p.n1(&reject, transaction.unwrap_or_default());
        p.say("", &reject);
        p.transfer("", n1, N2Sm::None, Container::NONE).await;
        release::end(p, "18");
    }
}

/// The session ends though the UE has it.
async fn give_up(p: &Procedure, cause: SessionCause) {
    release::delete(p, "").await;
    let command = SessionDownlink::ReleaseCommand(cause);
    let n1 = p.n1(&command, 0);
    p.say("18", &command);
    p.transfer("18", n1, N2Sm::None, Container::NONE).await;
    p.is_released("18").await;
    release::end(p, "18");
}

/// 4.2.3.2, steps 4 to 11: the UE is connected again; the UPF's end of the tunnel is what it was.
fn activate(p: &Procedure) {
    let n2 = p.with_session(|session| setup(session)).flatten();
    let message = match n2 {
        Some(n2) => SmContextUpdated {
            n1: Container::NONE,
            n2_kind: N2Sm::Setup,
            n2,
        }
        .into(),
        None => Problem::ContextNotFound.into(),
    };
    p.with(|state| state.answer(p.session, message));
}

/// 4.3.3.2, 2: the gNB has taken flows away. What rests on them is no more, as if it had had no room for them; a
/// session without its default flow has no user plane. Rates that it cannot give for now were not asked to be
/// notified of (Notification Control), and change nothing.
async fn notified(p: &Procedure, update: &UpdateSmContext) {
    let Some(told) = update.n2.get().and_then(Notified::decode) else {
        p.with(|state| state.counters.unexpected += 1);
        return done(p);
    };
    if told.released.contains(&QFI) {
        deactivate(p).await;
        let (n2_kind, n2) = release::for_gnb(true);
        p.transfer("4", Container::NONE, n2_kind, n2).await;
        return;
    }
    let bit = |qfi: &u8| 1_u64.checked_shl((*qfi).into()).unwrap_or_default();
    let gone = told.released.iter().fold(0, |all, qfi| all | bit(qfi));
    done(p);
    let failed = p.with_session(|session| session.flows.taken_away(gone));
    if let Some(failed) = failed.filter(|failed| *failed != 0) {
        p.with(|state| state.rules_failed(p.session, failed, "the gNB has released them"));
    }
}

/// 4.9.1.2.2 and 4.9.1.3.3: the gNB that the UE has come to has not taken the session: it has no user plane, or is
/// released where what is required of that cannot be had there.
async fn not_taken(p: &Procedure, update: &UpdateSmContext) {
    let said = update.n2.get().unwrap_or_default();
    let (request, why) = match update.change {
        SmChange::NotSwitched => (unprotected::SWITCH, mobility::read_path_switch_failed(said)),
        _ => (unprotected::HANDOVER, mobility::read_not_admitted(said)),
    };
    let is_unsafe = p.with_session(|session| session.security.is_why(why));
    if is_unsafe != Some(true) {
        return deactivate(p).await;
    }
    done(p);
    p.with(|state| state.security_refused(p.session, request, why.to_string()));
    unprotected::release_at(p, false).await;
}

/// 4.2.6, steps 5 to 7: the UE is idle; downlink packets wait.
async fn deactivate(p: &Procedure) {
    let waits_not = p.with_session(|session| {
        // Its gNB has not said whether the UE has heard of it, which is gone now: it may have.
        let is_new = !std::mem::replace(&mut session.is_accepted, true);
        session.downlink.is_some() || is_new
    });
    if waits_not == Some(true) {
        downlink(p, "6", Downlink::Wait).await;
    }
    // What was to be set up for packets that wait has not been.
    p.with(|state| state.reach_again(p.session));
    done(p);
}
