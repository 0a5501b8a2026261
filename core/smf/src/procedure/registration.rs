//! Registration of a PDU session at the UDM (TS 23.502, 4.3.2.2.1, step 16c; TS 29.503, 5.3.2.2.3).

use sluice_n1::SessionCause;
use sluice_sbi::{Problem, RegisterSmf, SmfRegistration};

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
