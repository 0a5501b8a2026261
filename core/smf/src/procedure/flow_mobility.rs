//! RAN initiated QoS flow mobility, the SMF's part (TS 23.502, 4.14.1; TS 38.413, 8.2.5): a gNB has the session's packets
//! come to another end of its tunnel, such as that of a node that serves the UE beside it.

use sluice_n2::modify_indication::unsuccessful;
use sluice_n2::{Cause, ModifyConfirm, ModifyIndication, SecurityResult};
use sluice_sbi::{Container, Message, N2Sm, SmContextUpdated, UpdateSmContext};

use crate::context::session::QFI;
use crate::procedure::Procedure;
use crate::procedure::mobility::switch;
use crate::procedure::user_plane::unprotected;
use crate::upf::n4::Answer;

/// 2 and 5: Nsmf_PDUSession_UpdateSMContext
pub(crate) async fn run(p: &Procedure, update: &UpdateSmContext) -> Message {
    let told = update.n2.get().and_then(ModifyIndication::decode);
    let outcome = match told {
        Some(told) => follow(p, &told).await,
        None => Err(Cause::SEMANTIC_ERROR),
    };
    let (n2_kind, octets) = match outcome {
        Ok(confirm) => (N2Sm::ModifyConfirmed, confirm.encode()),
        Err(why) => (N2Sm::NotModified, unsuccessful(why)),
    };
    SmContextUpdated {
        n2_kind,
        n2: Container::new(&octets).unwrap_or(Container::NONE),
        ..SmContextUpdated::NOTHING
    }
    .into()
}

/// 3, 4 and 6: N4 Session Modification, with an End Marker for where packets went. All flows of a session have one
/// tunnel: a gNB that wants them at several, or leaves some where they were, is refused.
async fn follow(p: &Procedure, told: &ModifyIndication) -> Result<ModifyConfirm, Cause> {
    let (to, named) = told.as_one().ok_or(Cause::NO_USER_PLANE_RESOURCES)?;
    if to.teid == 0 {
        return Err(Cause::SEMANTIC_ERROR);
    }
    let known = p.with_session(|session| {
        let there = session.flows.at_gnb | 1 << QFI;
        Some((session.downlink?, session.upf?.uplink, there))
    });
    let (before, uplink, there) = known.flatten().ok_or(Cause::UNKNOWN_SESSION)?;
    let bit = |qfi: &u8| 1_u64.checked_shl((*qfi).into()).unwrap_or_default();
    let (qfis, failed): (Vec<u8>, Vec<u8>) = named.iter().partition(|qfi| there & bit(qfi) != 0);
    let all = qfis.iter().fold(0, |all, qfi| all | bit(qfi));
    if all != there {
        return Err(Cause::NO_USER_PLANE_RESOURCES);
    }
    protects(p, told.security)?;
    let answer = switch(p, "3", to).await;
    if answer == Answer::Done {
        p.with_session(|session| {
            let security = &mut session.security;
            security.result = told.security.or(security.result);
        });
        return Ok(ModifyConfirm {
            qfis,
            uplink,
            failed,
        });
    }
    // They go where they went, unless the UE is idle by now; a UPF that has not answered is told so anew.
    p.with_session(|session| {
        if session.downlink == Some(to) {
            session.downlink = Some(before);
            session.is_unsettled |= answer == Answer::Nothing;
        }
    });
    Err(Cause::NO_USER_PLANE_RESOURCES)
}

/// What the gNB says of the protection there is what the policy requires; else packets stay where they are protected.
fn protects(p: &Procedure, result: Option<SecurityResult>) -> Result<(), Cause> {
    let lacking = p.with_session(|session| session.security.lacks(result));
    let Some(cause) = lacking.flatten() else {
        return Ok(());
    };
    let (request, said) = (unprotected::INDICATION, unprotected::told(result));
    p.with(|state| state.security_refused(p.session, request, said));
    Err(cause)
}
