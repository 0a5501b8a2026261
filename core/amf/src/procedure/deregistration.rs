//! Deregistration by the UE, by the network, and of a UE that is not heard of (TS 23.502, 4.2.2.3;
//! TS 24.501, 5.3.7 and 5.5.2).

use sluice_ids::Supi;
use sluice_n1::{Cause as NasCause, DeregistrationRequest, Downlink};
use sluice_n2::Cause;
use sluice_sbi::{DeregisterAmf, ReleaseSmContext};

use crate::context::ue::Undo;
use crate::procedure::release;
use crate::procedure::{Kind, Procedure};

/// Deregistration Request of the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leave {
    /// Whether the UE must register again at once.
    pub registers_again: bool,
    /// Why; none tells it nothing.
    pub cause: Option<NasCause>,
}

/// Deregistration by the UE (4.2.2.3.2); its request was verified.
pub(crate) async fn run(p: Procedure, request: DeregistrationRequest) {
    // 1: Deregistration Request
    p.on_abort(Undo::Deregistration);
    // 2 to 6: sessions are released, and UDM is told
    forget(&p, "2", "6").await;
    // 7: Deregistration Accept, unless the UE is being switched off
    if !request.switch_off {
        p.send("7", &Downlink::DeregistrationAccept);
    }
    // 8: the connection is released
    release::run(&p, Cause::DEREGISTER).await;
}

/// Deregistration by the network (4.2.2.3.3): an operator wants it, or UDM does (1, 3).
pub(crate) async fn by_network(p: Procedure, leave: Leave) {
    // Whatever becomes of the message that tells it, the UE is gone (5.5.2.3.5 a and b).
    p.on_abort(Undo::Deregistration);
    if p.with_connection(|connection| connection.is_secured) == Some(true) {
        let Leave {
            registers_again,
            cause,
        } = leave;
        let request = Downlink::DeregistrationRequest {
            registers_again,
            cause,
        };
        // 2: Deregistration Request; 4: sessions are released meanwhile; 5: Deregistration Accept; T3522
        let told = p.ask("5", Kind::Deregistration, |p| {
            p.send("2", &request);
            p.with(|state| state.keep_sessions(p.ue, 0, "4"));
            Ok(())
        });
        if told.await.is_err() {
            p.failed("the UE does not answer");
            p.with(|state| state.line("AMF", "AMF", "5", "the UE does not answer", p.ue));
        }
    }
    if p.with_connection(|_| ()).is_none() {
        p.with(|state| state.remember_departed(p.ue));
    }
    // 4: what an idle UE has, and UDM
    forget(&p, "4", "4").await;
    // 6: the connection is released
    release::run(&p, Cause::DEREGISTER).await;
}

/// Implicit deregistration of a UE that has not been heard of for long (TS 24.501, 5.3.7).
pub(crate) async fn implicit(p: Procedure) {
    p.with(|state| state.line("AMF", "AMF", "", "the UE is implicitly deregistered", p.ue));
    p.on_abort(Undo::Deregistration);
    p.with(|state| state.remember_departed(p.ue));
    forget(&p, "2", "6").await;
}

/// Removal of a UE that another AMF or an MME serves, as UDM says (4.2.2.2.2, 14d and 14e): the UE hears nothing, and UDM
/// has forgotten that it was here. Nobody has taken its sessions over, and they are released.
pub(crate) async fn elsewhere(p: Procedure) {
    p.on_abort(Undo::Removal);
    release_sessions(&p, "14d").await;
    let supi = p.with_ue(|ue| ue.supi);
    if let Some(supi) = supi {
        p.with(|state| state.end_policy(p.ue, "14e"));
        p.with(|state| state.unsubscribe(p.ue, "14e"));
        forget_stored(&p, &supi).await;
    }
    forget_registration(&p);
    // Its gNB does not have it any more, and may not know that.
    release::run(&p, Cause::FROM_5GC).await;
}

/// Sessions are released; UDM and the store forget where the UE is, whatever they answer.
async fn forget(p: &Procedure, sessions_step: &'static str, udm_step: &'static str) {
    release_sessions(p, sessions_step).await;
    let supi = p.with_ue(|ue| ue.supi);
    let guami = p.with(|state| state.config.guami);
    if let Some(supi) = supi {
        p.with(|state| state.end_policy(p.ue, udm_step));
        p.with(|state| state.unsubscribe(p.ue, udm_step));
        let _ = p.call(udm_step, DeregisterAmf { supi, guami }).await;
        // What is stored is gone before the UE hears of it.
        forget_stored(p, &supi).await;
    }
    forget_registration(p);
}

async fn release_sessions(p: &Procedure, step: &'static str) {
    // One after the other: those that are left when this is aborted are released by what undoes it.
    while let Some((_, session)) = p.with_ue(|ue| ue.sessions.pop_first()) {
        p.with(|state| state.ended.extend(session.task));
        if let Some(context) = session.context {
            let context = context.into();
            let _ = p.call(step, ReleaseSmContext { context }).await;
        }
    }
}

async fn forget_stored(p: &Procedure, supi: &Supi) {
    let commit = p.with(|state| state.commit(p.ue, supi, None));
    p.wait("commit", Kind::Commit(commit), crate::limits::COMMIT_MS)
        .await;
}

fn forget_registration(p: &Procedure) {
    p.with_ue(|ue| {
        ue.registered = None;
        ue.paged_for.clear();
        ue.undo.clear();
    });
}
