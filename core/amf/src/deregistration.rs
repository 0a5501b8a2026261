//! Deregistration by the UE (TS 23.502, 4.2.2.3.2; TS 24.501, 5.5.2.2).

use sluice_n1::{DeregistrationRequest, Downlink};
use sluice_n2::Cause;
use sluice_sbi::{DeregisterAmf, ReleaseSmContext};

use crate::procedure::{Kind, Procedure};
use crate::release;

/// The procedure; the UE's request was verified.
pub(crate) async fn run(p: Procedure, request: DeregistrationRequest) {
    // 1: Deregistration Request
    // 2 to 6: sessions are released, and UDM is told
    forget(&p).await;
    // 7: Deregistration Accept, unless the UE is being switched off
    if !request.switch_off {
        p.send("7", &Downlink::DeregistrationAccept);
    }
    // 8: the connection is released
    release::run(&p, Cause::DEREGISTER).await;
}

/// Implicit deregistration of a UE that has not been heard of for long (TS 24.501, 5.3.7).
pub(crate) async fn implicit(p: Procedure) {
    p.with(|state| state.line("AMF", "AMF", "", "the UE is implicitly deregistered", p.ue));
    forget(&p).await;
}

/// UDM and the store forget where the UE is, whatever they answer.
async fn forget(p: &Procedure) {
    let sessions = p.with_ue(|ue| std::mem::take(&mut ue.sessions));
    for context in sessions.into_values().filter_map(|session| session.context) {
        let context = context.into();
        let _ = p.call("2", ReleaseSmContext { context }).await;
    }
    let supi = p.with_ue(|ue| ue.supi);
    let guami = p.with(|state| state.config.guami);
    if let Some(supi) = supi {
        let _ = p.call("6", DeregisterAmf { supi, guami }).await;
        // What is stored is gone before the UE hears of it.
        let commit = p.with(|state| state.commit(p.ue, &supi, None));
        p.wait("commit", Kind::Commit(commit), crate::limits::COMMIT_MS)
            .await;
    }
    p.with_ue(|ue| ue.registered = None);
}
