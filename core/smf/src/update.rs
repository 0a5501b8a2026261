//! Nsmf_PDUSession_UpdateSMContext: what UE and gNB say of a session that is there, and its user plane
//! (TS 23.502, 4.3.2.2.1 from step 15 on, 4.2.3.2, 4.2.6).

use sluice_n1::{SessionCause, SessionDownlink, SessionUplink, transaction};
use sluice_n2::{SetupResponse, Tunnel, session};
use sluice_sbi::{Container, Message, N2Sm, Problem, SmChange, SmContextUpdated, UpdateSmContext};
use sluice_wire::pfcp::MessageType;

use crate::establishment::{say, setup};
use crate::n4::Answer;
use crate::procedure::Procedure;
use crate::release;
use crate::rules;

/// The procedure of a request.
pub(crate) async fn run(p: Procedure, message: Message) {
    match message {
        Message::UpdateSmContext(update) => match update.change {
            SmChange::N1 => n1(&p, &update).await,
            SmChange::SetUp => set_up(&p, &update).await,
            SmChange::SetupFailed => setup_failed(&p, &update).await,
            SmChange::Released => done(&p),
            SmChange::Activate => activate(&p),
            SmChange::Deactivate => deactivate(&p).await,
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
        // One that is late, or answers nothing.
        Ok(SessionUplink::ReleaseComplete | SessionUplink::Status(_)) => {
            p.with(|state| state.counters.unexpected += 1);
            return done(p);
        }
        Ok(SessionUplink::ModificationRequest) => {
            SessionDownlink::ModificationReject(SessionCause::NOT_SUPPORTED)
        }
        Ok(SessionUplink::EstablishmentRequest(_) | SessionUplink::Other) => {
            SessionDownlink::Status(SessionCause::NOT_COMPATIBLE_WITH_STATE)
        }
        Err(cause) => SessionDownlink::Status(cause),
    };
    p.with(|state| state.counters.unexpected += 1);
    let n1 = p.n1(&answer, procedure);
    say(p, "", &answer);
    let updated = SmContextUpdated {
        n1,
        ..SmContextUpdated::NOTHING
    };
    p.with(|state| state.answer(p.session, updated.into()));
}

/// 15: the gNB has set the session up, and says where downlink packets go.
async fn set_up(p: &Procedure, update: &UpdateSmContext) {
    let response = update.n2.get().and_then(SetupResponse::decode);
    let has_flow = |response: &SetupResponse| response.qfis.contains(&rules::QFI);
    let tunnel = response.filter(has_flow).map(|response| response.downlink);
    let tunnel = tunnel.filter(|tunnel| tunnel.teid != 0);
    p.with_session(|session| session.is_accepted = true);
    // 16a and 16b: N4 Session Modification
    let is_up = match tunnel {
        Some(tunnel) => downlink(p, "16", Some(tunnel)).await,
        None => false,
    };
    // 17: Nsmf_PDUSession_UpdateSMContext Response
    done(p);
    if !is_up {
        // 18: a session without downlink is none; the UE shall ask again.
        give_up(p, SessionCause::REACTIVATION_REQUESTED).await;
    }
}

/// 15: the gNB has not.
async fn setup_failed(p: &Procedure, update: &UpdateSmContext) {
    let why = update.n2.get().map(session::read_setup_failure);
    let what = format!("the gNB has not set the session up: {why:?}");
    p.with(|state| state.line("gNB", "SMF", "15", what, p.session));
    done(p);
    let is_accepted = p.with_session(|session| session.is_accepted);
    // One that the UE has already stays, without user plane.
    if is_accepted == Some(false) {
        let (transaction, reject) = (
            p.with_session(|session| session.transaction),
            SessionDownlink::EstablishmentReject {
                cause: SessionCause::INSUFFICIENT_RESOURCES,
                allows_ssc_mode_1: false,
            },
        );
        release::delete(p, "").await;
        let n1 = p.n1(&reject, transaction.unwrap_or_default());
        say(p, "", &reject);
        let _ = p.transfer("", n1, N2Sm::None, Container::NONE).await;
        release::end(p, "18");
    }
}

/// The session ends though the UE has it.
async fn give_up(p: &Procedure, cause: SessionCause) {
    release::delete(p, "").await;
    let command = SessionDownlink::ReleaseCommand(cause);
    let n1 = p.n1(&command, 0);
    say(p, "18", &command);
    let _ = p.transfer("18", n1, N2Sm::None, Container::NONE).await;
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

/// 4.2.6, steps 5 to 7: the UE is idle; downlink packets wait.
async fn deactivate(p: &Procedure) {
    if p.with_session(|session| session.downlink.is_some()) == Some(true) {
        downlink(p, "6", None).await;
    }
    done(p);
}

/// N4 Session Modification: whether the downlink is what it is to be.
async fn downlink(p: &Procedure, step: &'static str, gnb: Option<Tunnel>) -> bool {
    let access = p.with(|state| {
        let session = state.sessions.get(p.session.0)?;
        let association = session.upf?.association;
        let is_its = |one: &Option<_>| *one == Some(association);
        let index = state.associations.iter().position(is_its)?;
        state.config.upfs.get(index)?.access.clone()
    });
    let kind = MessageType::SESSION_MODIFICATION_REQUEST;
    let answer = p
        .ask_upf(step, kind, |w| {
            rules::write_downlink(w, gnb, access.as_deref())
        })
        .await;
    let is_done = answer == Answer::Done;
    if is_done || gnb.is_none() {
        p.with_session(|session| session.downlink = gnb);
    }
    is_done
}
