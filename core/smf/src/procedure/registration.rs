//! Registration of a PDU session at the UDM (TS 23.502, 4.3.2.2.1, step 16c; TS 29.503, 5.3.2.2.3), and subscription to
//! changes of what the UE may do in it (step 4; TS 29.503, 5.2.2.3.2).

use sluice_n1::SessionCause;
use sluice_sbi::{Problem, RegisterSmf, SdmSubscription, SmfRegistration, SubscribeSdm};

use crate::context::session::SessionId;
use crate::procedure::Procedure;
use crate::procedure::establishment::by_problem;

/// Registers the session, if it is not registered yet. A UDM that refuses it has no such UE: the session is released. One
/// that does not answer is asked again when the session gets its user plane next; the session goes on meanwhile, as the
/// TS does not make it wait for that.
///
/// # Errors
/// Cause for the UE.
pub(crate) async fn register(p: &Procedure) -> Result<(), SessionCause> {
    let registration = p.with(|state| {
        let smf = state.instance?;
        let session = state.sessions.get_mut(p.session.0)?;
        let wanted = !session.at_udm.has_it && !session.is_forgotten;
        let plmn = session.at_udm.plmn.filter(|_| wanted)?;
        session.at_udm.may_have_it = true;
        Some(SmfRegistration {
            supi: session.supi,
            session: session.identity,
            smf,
            slice: session.slice,
            dnn: session.dnn,
            plmn,
        })
    });
    let Some(registration) = registration else {
        return Ok(());
    };
    match p.call("16c", RegisterSmf { registration }).await {
        Ok(_) => {
            p.with_session(|session| session.at_udm.has_it = true);
            Ok(())
        }
        Err(problem @ (Problem::UserNotFound | Problem::ContextNotFound)) => {
            p.failed(problem);
            Err(by_problem(problem))
        }
        Err(problem) => {
            let what = format!("the session goes on though it is not registered: {problem}");
            p.with(|state| state.line("SMF", "SMF", "16c", what, p.session));
            Ok(())
        }
    }
}

/// Nudm_SDM_Subscribe, once for all sessions of the UE in the slice and the data network. A session whose SMF gets no answer
/// is set up all the same.
///
/// # Errors
/// Cause for the UE.
pub(crate) async fn subscribe(p: &Procedure) -> Result<(), SessionCause> {
    let subscription = p.with(|state| {
        let others = state.alike(p.session);
        let tells = |other: &SessionId| {
            let other = state.sessions.get(other.0);
            other.is_some_and(|other| other.at_udm.tells)
        };
        if others.iter().any(tells) {
            return None;
        }
        let smf = state.instance?;
        let session = state.sessions.get_mut(p.session.0)?;
        session.at_udm.may_tell = true;
        let of = (session.slice, session.dnn);
        Some(SdmSubscription::session_management(session.supi, smf, of))
    });
    let Some(subscription) = subscription else {
        return Ok(());
    };
    match p.call("4", SubscribeSdm { subscription }).await {
        Ok(_) => {
            p.with_session(|session| session.at_udm.tells = true);
            Ok(())
        }
        Err(problem @ (Problem::UserNotFound | Problem::ContextNotFound)) => {
            Err(by_problem(problem))
        }
        Err(problem) => {
            let what = format!("the session goes on without a subscription: {problem}");
            p.with(|state| state.line("SMF", "SMF", "4", what, p.session));
            Ok(())
        }
    }
}
