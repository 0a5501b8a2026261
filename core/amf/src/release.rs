//! AN release: a UE becomes idle (TS 23.502, 4.2.6).

use sluice_n2::{Cause, FromAmf};

use crate::limits;
use crate::procedure::{Kind, Procedure};
use crate::state::State;
use crate::ue::UeId;

/// Has the gNB release a UE and waits until it has.
pub(crate) async fn run(p: &Procedure, cause: Cause) {
    // 2 to 4: N2 UE Context Release Command and Complete
    if p.with(|state| command(state, p.ue, cause)) {
        p.wait("release", Kind::Release, limits::RAN_TIMER_MS).await;
        // A gNB that does not answer has forgotten the UE.
        p.with(|state| state.disconnect(p.ue));
    }
}

/// As a procedure of its own, which a gNB asked for.
pub(crate) async fn requested(p: Procedure, cause: Cause) {
    run(&p, cause).await;
}

/// Tells the gNB; false if the UE is not connected.
pub(crate) fn command(state: &mut State, ue: UeId, cause: Cause) -> bool {
    let Some((id, connection)) = state.connection(ue) else {
        return false;
    };
    let (association, amf, ran) = (connection.association, id.to_ngap(), Some(connection.ran));
    let command = FromAmf::UeContextReleaseCommand { amf, ran, cause };
    state.line("AMF", "gNB", "", command.name(), ue);
    state.send_n2(association, Some(ue), &command);
    true
}
