//! Service request: an idle UE is connected again (TS 23.502, 4.2.3.2; TS 24.501, 5.6.1).

use sluice_n1::{Cause, Downlink, ServiceRequest};
use sluice_sbi::Wake;

use crate::context::state::describe;
use crate::limits;
use crate::procedure::common;
use crate::procedure::initial_context;
use crate::procedure::release;
use crate::procedure::user_plane::{self, Resumed};
use crate::procedure::{Event, Kind, Procedure};
use crate::refusal::Refusal;
use crate::refusal_text;

/// The procedure; the UE's request was verified. The UE stays connected until its gNB wants it
/// released.
pub(crate) async fn run(p: Procedure, request: ServiceRequest) {
    let is_paged = p.with_ue(|ue| std::mem::take(&mut ue.is_paged));
    if let Err(refusal) = serve(&p, &request).await {
        refuse(&p, &refusal);
        return release::run(&p, refusal.release()).await;
    }
    // A name that was called over the air is used no more (TS 33.501, 6.12.3).
    if is_paged {
        common::rename(&p).await;
    }
}

/// A UE whose context cannot be stored in time is told to come later; it stays registered (5.6.1.5).
fn refuse(p: &Procedure, refusal: &Refusal) {
    let told = match refusal {
        Refusal::Registration(cause) => {
            let message = Downlink::ServiceReject((*cause).into());
            Some(p.with(|state| state.with_back_off(p.ue, message)))
        }
        _ => None,
    };
    let cause = told.as_ref().map_or("without a cause".to_owned(), describe);
    let reason = refusal_text::refusal(refusal);
    p.failed(&cause);
    p.with(|state| state.refused(p.ue, None, "Service Request", cause, reason));
    if let Some(message) = told {
        p.send("", &message);
    }
}

/// Service type of a UE that wants to make an emergency call by another system (TS 24.501, 9.11.3.50).
const EMERGENCY_FALLBACK: u8 = 4;

async fn serve(p: &Procedure, request: &ServiceRequest) -> Result<(), Refusal> {
    // There is no other system here: the UE goes on looking for one by itself (5.6.1.6).
    if request.kind == EMERGENCY_FALLBACK {
        return Err(Refusal::Registration(Cause::PROTOCOL_ERROR));
    }
    // 1 to 3: Service Request, whose MAC was right, so there is no authentication
    // 4 to 11: user planes of sessions that it has data for
    let Resumed {
        status,
        reactivation,
        setups,
    } = user_plane::resume(p, "4", request.session_status, request.uplink_data).await;
    let accept = Downlink::ServiceAccept {
        session_status: status,
        reactivation,
    };
    // The count of the request is stored with its effect, so that it is not taken again.
    p.commit().await?;
    // 12 to 14: N2 Request; sessions alone where the gNB has the UE's context
    if p.with_connection(|c| c.has_context).unwrap_or_default() {
        p.send("12", &accept);
        p.with(|state| state.ask_for_sessions(p.ue, "12", setups));
        return Ok(());
    }
    p.with(|state| initial_context::request(state, p.ue, "12", Some(&accept), setups))?;
    match p.wait("14", Kind::Context, limits::RAN_TIMER_MS).await {
        Wake::Event(Event::Context(Ok(()))) => {
            p.with(|state| state.takes_keys(p.ue));
            Ok(())
        }
        _ => Err(Refusal::Silent("the gNB cannot set up the UE's context")),
    }
}
