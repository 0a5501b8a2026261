//! AN release: a UE becomes idle (TS 23.502, 4.2.6).

use sluice_n2::{Cause, FromAmf, UeContextReleaseCommand};

use crate::context::state::State;
use crate::context::ue::UeId;
use crate::limits;
use crate::procedure::{Kind, Procedure};

/// To so many gNBs a UE is followed that is to be released.
const MOVES: usize = 3;

/// Has the gNB release a UE and waits until it has.
pub(crate) async fn run(p: &Procedure, cause: Cause) {
    // 2 to 4: N2 UE Context Release Command and Complete
    let mut told = None;
    for _ in 0..MOVES {
        let at = p.with(|state| {
            let (_, connection) = state.connection(p.ue)?;
            Some((connection.association, connection.ran))
        });
        // A UE that has gone on to another gNB meanwhile is released there, too.
        if at.is_none() || at == told || !p.with(|state| command(state, p.ue, cause)) {
            break;
        }
        told = at;
        p.wait("release", Kind::Release, limits::RAN_TIMER_MS).await;
    }
    if told.is_some() {
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
    let command = FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
        ue: (amf, ran),
        cause,
    });
    state.line("AMF", "gNB", "", command.name(), ue);
    state.send_n2(association, Some(ue), &command);
    true
}
