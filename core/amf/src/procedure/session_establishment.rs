//! PDU session establishment (TS 23.502, 4.3.2.2.1), the AMF's part up to step 5: which SMF, for which
//! data network. What follows it passes on ([`crate::sessions`]).

use sluice_ids::{Dnn, Snssai};
use sluice_n1::{Cause, Downlink, RequestType, UplinkPayload};
use sluice_sbi::{Container, CreateSmContext, GetSmfSelection, Problem, ReleaseSmContext};

use crate::limits;
use crate::nrf_cache::Wanted;
use crate::procedure::Procedure;
use crate::refusal_text::{self, Reason};
use crate::sessions::{returned, transport};
use crate::smf_selection;

/// The procedure; the UE's message was verified.
pub(crate) async fn run(p: Procedure, session: u8, payload: UplinkPayload) {
    let answer = match establish(&p, session, &payload).await {
        Ok(None) => return,
        // The SMF has told why.
        Ok(Some(answer)) => {
            p.failed("refused by the SMF");
            p.with(|state| state.counters.refusals += 1);
            answer
        }
        Err(NoSession { cause, reason }) => {
            let request = "PDU Session Establishment";
            p.failed(cause);
            p.with(|state| state.refused(p.ue, None, request, cause.to_string(), reason));
            p.with(|state| state.with_back_off(p.ue, returned(payload, cause)))
        }
    };
    p.with_ue(|ue| {
        ue.sessions.remove(&session);
    });
    p.send("5", &answer);
}

/// Why there is no session: for the UE, and for operators.
struct NoSession {
    cause: Cause,
    reason: Reason,
}

impl From<Cause> for NoSession {
    fn from(cause: Cause) -> Self {
        let reason = refusal_text::by_cause(cause);
        Self { cause, reason }
    }
}

impl From<(Cause, Reason)> for NoSession {
    fn from((cause, reason): (Cause, Reason)) -> Self {
        Self { cause, reason }
    }
}

/// None if the SMF goes on; else what the UE is told.
async fn establish(
    p: &Procedure,
    session: u8,
    payload: &UplinkPayload,
) -> Result<Option<Downlink>, NoSession> {
    replace(p, session).await;
    // 1: PDU Session Establishment Request, of a session that is new
    if payload.request != Some(RequestType::Initial) {
        return Err(Cause::PAYLOAD_NOT_FORWARDED.into());
    }
    let n1 = Container::new(&payload.payload).ok_or(Cause::PAYLOAD_NOT_FORWARDED)?;
    if p.with_ue(|ue| ue.sessions.len()) > limits::SESSIONS_OF_A_UE {
        return Err(Cause::MAXIMUM_SESSIONS.into());
    }
    // 2: SMF selection, by slice and data network
    let supi = p
        .with_ue(|ue| ue.supi)
        .ok_or(Cause::PAYLOAD_NOT_FORWARDED)?;
    let slice = slice(p, payload).ok_or(Cause::PAYLOAD_NOT_FORWARDED)?;
    let selection = p.call("2", GetSmfSelection { supi, slice }).await;
    let selection = selection.map_err(by_problem)?;
    let dnn = match &payload.dnn {
        Some(labels) => Dnn::from_labels(labels),
        None => selection.names().first().copied(),
    };
    let dnn = dnn.filter(|dnn| selection.names().contains(dnn));
    let dnn = dnn.ok_or(Cause::DNN_NOT_SUPPORTED)?;
    p.with_ue(|ue| {
        if let Some(one) = ue.sessions.get_mut(&session) {
            (one.slice, one.dnn, one.context) = (slice, dnn, None);
            one.leave();
        }
    });
    let area = p.with(|state| {
        state
            .connection(p.ue)
            .map(|(_, connection)| connection.location.tai)
    });
    let area = area.ok_or(Cause::PAYLOAD_NOT_FORWARDED)?;
    let wanted = Wanted { slice, dnn, area };
    smf_selection::run(p, &wanted).await?;
    // 3 and 5: Nsmf_PDUSession_CreateSMContext
    let request = CreateSmContext {
        supi,
        session,
        slice,
        dnn,
        area,
        n1,
    };
    let created = p.call("3", request).await;
    if matches!(created, Err(Problem::Timeout)) {
        // The next one asks who is there now.
        p.with(|state| state.discovered.forget(&wanted));
    }
    let created = created.map_err(by_problem)?;
    if !created.created {
        let n1 = created.n1.get().unwrap_or_default();
        return Ok(Some(transport(session, n1)));
    }
    p.with_ue(|ue| {
        if let Some(one) = ue.sessions.get_mut(&session) {
            one.context = Some(created.context.get());
        }
    });
    Ok(None)
}

/// The session that the UE had under this identity is over, whatever becomes of the new one (TS 24.501, 6.4.1.7 c).
async fn replace(p: &Procedure, session: u8) {
    let old = p.with_ue(|ue| {
        let old = ue.sessions.get_mut(&session)?;
        Some((old.leave(), old.context.take()))
    });
    let Some((was_up, context)) = old else {
        return;
    };
    // A gNB that has it would not set it up a second time (TS 38.413, 8.2.1.4).
    if was_up {
        p.with(|state| state.release_at_gnb(p.ue, "3", &[session]));
    }
    if let Some(context) = context {
        let context = context.into();
        let _ = p.call("3", ReleaseSmContext { context }).await;
    }
}

/// The slice that the UE names, or the first that it may use.
fn slice(p: &Procedure, payload: &UplinkPayload) -> Option<Snssai> {
    let allowed = p.with_ue(|ue| ue.registered.as_ref().map(|r| r.allowed_nssai.clone()));
    let allowed = allowed.unwrap_or_default();
    match payload.slice {
        Some(slice) => allowed.contains(&slice).then_some(slice),
        None => allowed.first().copied(),
    }
}

fn by_problem(problem: Problem) -> Cause {
    match problem {
        // It has no room for any data network of the slice, or does not answer for this one.
        Problem::Overload => Cause::INSUFFICIENT_RESOURCES_FOR_SLICE,
        Problem::Timeout => Cause::INSUFFICIENT_RESOURCES_FOR_SLICE_AND_DNN,
        Problem::DnnNotSupported => Cause::DNN_NOT_SUPPORTED,
        _ => Cause::PAYLOAD_NOT_FORWARDED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// TS 24.501, 5.4.5.3.1.
    #[test]
    fn what_an_smf_cannot_do_has_its_cause() {
        let causes = [
            (Problem::Overload, Cause(69)),
            (Problem::Timeout, Cause(67)),
            (Problem::DnnNotSupported, Cause(91)),
            (Problem::Protocol, Cause(90)),
        ];
        for (problem, cause) in causes {
            assert_eq!(by_problem(problem), cause, "{problem:?}");
        }
    }
}
