//! User planes of a UE that comes back: sessions that it has no more, and those that it has data for
//! (TS 23.502, 4.2.3.2, steps 4 to 11; TS 24.501, 5.6.1.4).

use sluice_n1::{Cause, Reactivation};
use sluice_n2::SessionSetup;
use sluice_sbi::{N2Sm, SmChange, SmContextUpdated, UpdateSmContext};

use crate::procedure::Procedure;

/// Resumed sessions: the statuses for the UE, and the set-ups for its gNB.
#[derive(Default)]
pub(crate) struct Resumed {
    /// Sessions that there are; none if the UE did not say which it has.
    pub status: Option<u16>,
    /// PDU Session Reactivation Result; none if the UE named no sessions with data.
    pub reactivation: Option<Reactivation>,
    /// For the gNB.
    pub setups: Vec<SessionSetup>,
}

/// Releases what the UE has no more, and asks for the user planes that it wants.
pub(crate) async fn resume(
    p: &Procedure,
    step: &'static str,
    has: Option<u16>,
    wants: Option<u16>,
) -> Resumed {
    if let Some(has) = has {
        p.with(|state| state.keep_sessions(p.ue, has, step));
    }
    let mut resumed = Resumed {
        reactivation: wants.map(|_| Reactivation::default()),
        ..Resumed::default()
    };
    let wants = wants.unwrap_or_default();
    for session in (1..16).filter(|session| wants & 1 << session != 0) {
        match activate(p, step, session).await {
            Some(setup) => resumed.setups.push(setup),
            None => {
                let failed = &mut resumed.reactivation;
                if let Some(reactivation) = failed {
                    let cause = Cause::INSUFFICIENT_USER_PLANE_RESOURCES;
                    reactivation.failed.push((session, cause));
                }
            }
        }
    }
    // What an SMF has data for: it said already where packets go.
    let paged_for = p.with_ue(|ue| std::mem::take(&mut ue.paged_for));
    for (session, transfer) in paged_for {
        let slice = p.with_ue(|ue| ue.sessions.get(&session).map(|one| one.slice));
        let is_asked_for = wants & 1 << (session & 15) != 0;
        if let (Some(slice), false) = (slice, is_asked_for) {
            resumed.setups.push(SessionSetup {
                session,
                nas: None,
                slice,
                transfer,
            });
        }
    }
    resumed.status = has.map(|_| p.with(|state| state.session_status(p.ue)));
    resumed
}

/// 4 and 11: Nsmf_PDUSession_UpdateSMContext
async fn activate(p: &Procedure, step: &'static str, session: u8) -> Option<SessionSetup> {
    let known = p.with_ue(|ue| {
        ue.sessions
            .get(&session)
            .map(|one| (one.context, one.slice))
    });
    let (context, slice) = known?;
    let request = UpdateSmContext {
        context: context?.into(),
        change: SmChange::Activate,
        n1: sluice_sbi::Container::NONE,
        n2: sluice_sbi::Container::NONE,
    };
    let SmContextUpdated { n2_kind, n2, .. } = p.call(step, request).await.ok()?;
    let transfer = n2.get().filter(|_| n2_kind == N2Sm::Setup)?;
    Some(SessionSetup {
        session,
        nas: None,
        slice,
        transfer: transfer.to_vec(),
    })
}
