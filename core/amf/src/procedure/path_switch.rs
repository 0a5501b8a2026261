//! Handover by Xn: packets go to the gNB that the UE has come to (TS 23.502, 4.9.1.2.2; TS 38.413, 8.4.4).

use std::collections::BTreeMap;

use sluice_n2::mobility::{none_switched, path_switch_unsuccessful};
use sluice_n2::{
    Cause, HandoverFromAmf, PathSwitchRequest, PathSwitchRequestAcknowledge,
    PathSwitchRequestFailure, Transfers, first_twice,
};
use sluice_sbi::{AssociationId, Container, N2Sm, SmChange, SmContextUpdated, UpdateSmContext};
use sluice_security::SecurityCapability;

use crate::Amf;
use crate::context::handover_state::{Handover, Stage};
use crate::context::state::State;
use crate::context::ue::{ConnectionId, UeId};
use crate::messages::collisions::{Decision, Input as Collision};
use crate::messages::ngap_faults;
use crate::procedure::Procedure;
use crate::refusal::Refusal;

/// Name of the request.
const REQUEST: &str = "Path Switch Request";

/// 1: the UE is there, whatever becomes of its sessions: its connection is that of the target.
pub(crate) fn begin(
    amf: &mut Amf,
    association: AssociationId,
    ue: UeId,
    source: ConnectionId,
    request: PathSwitchRequest,
) {
    // A gNB that gives a name again has forgotten whom it called so; not so one that asks again.
    let named = amf.state.borrow().find_ran(association, request.ran);
    if named.is_none_or(|(_, id)| id != source) {
        amf.forget_name(association, request.ran);
    }
    let is_served = {
        let state = &mut *amf.state.borrow_mut();
        // It goes by Xn, and not by N2, or has gone on.
        if state.on_its_way(ue, Collision::PathSwitch) == Decision::Begin {
            state.end_handover(ue, Cause::HANDOVER_CANCELLED);
        }
        // It is waited for no more, if where it was has not come back since the AMF was started.
        state.goes_on(ue);
        state.move_connection(source, association, &request);
        state.counters.path_switches += 1;
        let area = request.location.map(|location| location.tai);
        let is_ours = area.is_none_or(|tai| state.config.areas.contains(&tai));
        let has_keys = state.ues.get(ue.0).is_some_and(|ue| ue.security.is_some());
        // A gNB whose answer is still on its way has it, too.
        let connection = state.connections.get(source.0);
        let has_context = connection.is_some_and(|c| c.has_context || c.is_told);
        is_ours && has_keys && has_context
    };
    // Which of two tunnels it means nobody knows (8.4.4.4).
    let twice = first_twice(&[&request.switched, &request.failed]);
    if !is_served || twice.is_some() {
        let cause = match twice {
            Some(_) => Cause::SESSION_TWICE,
            None => Cause::HANDOVER_FAILED,
        };
        let state = &mut *amf.state.borrow_mut();
        if let Some(session) = twice {
            let why = ngap_faults::twice(session);
            state.gnb_refused(association, Some(ue), REQUEST, cause.to_string(), why);
        }
        let released = none_switched(&request.switched, cause);
        return fail(state, ue, released);
    }
    let handover = Handover {
        stage: Stage::Switching,
        task: None,
        other: None,
        is_source_lost: false,
        is_completed: false,
        is_new_context: false,
    };
    amf.start_handover(ue, handover, |p| run(p, request));
}

/// Path Switch Request Failure: no session is left, and the target releases the UE.
fn fail(state: &mut State, ue: UeId, released: Transfers) {
    state.counters.handover_failures += 1;
    let Some((id, connection)) = state.connection(ue) else {
        return;
    };
    let (association, ids) = (connection.association, (id.to_ngap(), connection.ran));
    let nothing = Transfers::new();
    state.leave_sessions(ue, "2", &[], (SmChange::NotSwitched, &nothing));
    let failure =
        HandoverFromAmf::PathSwitchRequestFailure(PathSwitchRequestFailure { ids, released });
    state.send_handover(association, ue, "7", failure);
    state.send_held(ue);
}

async fn run(p: Procedure, request: PathSwitchRequest) {
    // 2 to 6: Nsmf_PDUSession_UpdateSMContext, for each session that the target has
    let (mut switched, mut released) = (Transfers::new(), Transfers::new());
    let sessions: BTreeMap<_, _> = request.switched.into_iter().collect();
    for (session, transfer) in sessions {
        match update(&p, "2", session, SmChange::PathSwitch, &transfer).await {
            Some((N2Sm::PathSwitched, transfer)) => switched.push((session, transfer)),
            Some((_, transfer)) => released.push((session, transfer)),
            None => {
                let why = path_switch_unsuccessful(Cause::UNKNOWN_SESSION);
                released.push((session, why));
            }
        }
    }
    let kept: Vec<u8> = switched.iter().map(|(session, _)| *session).collect();
    p.with_ue(|ue| {
        for session in &kept {
            if let Some(one) = ue.sessions.get_mut(session) {
                (one.is_up, one.is_asked) = (true, false);
            }
        }
    });
    // The others have no user plane from now on.
    let failed = (SmChange::NotSwitched, &request.failed);
    p.with(|state| state.leave_sessions(p.ue, "2", &kept, failed));
    let answer = match kept.is_empty() {
        true => Err(Refusal::Silent("no session goes along")),
        false => acknowledge(&p, &request.capability).await,
    };
    p.with(|state| {
        let Some((id, connection)) = state.connection(p.ue) else {
            return;
        };
        let (association, ids) = (connection.association, (id.to_ngap(), connection.ran));
        if let Some(ue) = state.ues.get_mut(p.ue.0) {
            ue.handover = None;
        }
        let Ok(answer) = answer else {
            p.failed("Path Switch Request Failure");
            let lost = kept.into_iter();
            let why = path_switch_unsuccessful(Cause::HANDOVER_FAILED);
            released.extend(lost.map(|session| (session, why.clone())));
            return fail(state, p.ue, released);
        };
        // 7: N2 Path Switch Request Ack
        let answer = PathSwitchRequestAcknowledge {
            ids,
            switched,
            released,
            ..answer
        };
        let answer = HandoverFromAmf::PathSwitchRequestAcknowledge(Box::new(answer));
        state.send_handover(association, p.ue, "7", answer);
        state.switch_keys(p.ue);
        state.send_held(p.ue);
    });
}

/// The next hop, which is stored before it is told, or the first key of a new security context that the gNBs may not
/// have, and the UE's algorithms where the target was told others (TS 33.501, 6.7.3.1 and 6.9.2.3.2).
async fn acknowledge(
    p: &Procedure,
    told: &[u8; 4],
) -> Result<PathSwitchRequestAcknowledge, Refusal> {
    let known = p.with(|state| {
        let ue = state.ues.get_mut(p.ue.0)?;
        let (security, registered) = (ue.security.as_mut()?, ue.registered.as_ref()?);
        let chain = security.chain_at_gnb();
        let next_hop = chain.map(|(kamf, chain)| chain.switch(kamf).clone());
        let is_new_context = next_hop.is_none();
        let next_hop = next_hop.unwrap_or_else(|| security.first_hop());
        if is_new_context {
            security.begin_chain();
        }
        let next_hop = (next_hop, is_new_context);
        Some((next_hop, registered.allowed_nssai.clone(), ue.capability?))
    });
    let ((next_hop, is_new_context), allowed_nssai, capability) =
        known.ok_or(Refusal::Silent("no keys"))?;
    p.commit().await?;
    let is_same = is_told(&capability, told);
    if !is_same {
        p.with(|state| tell_mismatch(state, p.ue, &capability, told));
    }
    Ok(PathSwitchRequestAcknowledge {
        ids: (sluice_n2::AmfUeId(0), sluice_n2::RanUeId(0)),
        capability: Some(capability).filter(|_| !is_same),
        next_hop,
        is_new_context,
        switched: Transfers::new(),
        released: Transfers::new(),
        allowed_nssai,
    })
}

/// Tells operators that a gNB was told other algorithms than the UE has shown: it may be bidding down (TS 33.501,
/// 6.7.3.1).
fn tell_mismatch(state: &mut State, id: UeId, capability: &SecurityCapability, told: &[u8; 4]) {
    state.counters.unexpected += 1;
    let Some((_, connection)) = state.connection(id) else {
        return;
    };
    let association = connection.association;
    let (told, stored) = (algorithms(told), algorithms(&without_null(capability)));
    let why = format!("it was told that the UE has {told}; the UE has shown {stored}");
    let remedy = "look at the gNB that the UE came from: it tells other algorithms than it was told, or is attacked";
    let cause = "acknowledged, with what the UE has shown".to_owned();
    state.gnb_refused(association, Some(id), REQUEST, cause, (why, remedy));
}

/// Algorithms by their numbers: `5G-EA 1 2 3, 5G-IA 1 2 3, EEA none, EIA none`.
fn algorithms(octets: &[u8; 4]) -> String {
    let of = |(name, octet): (&&str, &u8)| {
        let has = |number: &u32| octet & 0x80 >> number != 0;
        let all: Vec<String> = (1..8).filter(has).map(|one| one.to_string()).collect();
        match all.is_empty() {
            true => format!("{name} none"),
            false => format!("{name} {}", all.join(" ")),
        }
    };
    let names = ["5G-EA", "5G-IA", "EEA", "EIA"];
    let all: Vec<String> = names.iter().zip(octets).map(of).collect();
    all.join(", ")
}

/// 5G-EA, 5G-IA, EEA and EIA of a UE as gNBs are told them: none that are null.
fn without_null(capability: &SecurityCapability) -> [u8; 4] {
    [
        capability.ea(),
        capability.ia(),
        capability.eea(),
        capability.eia(),
    ]
    .map(|octet| octet & 0x7f)
}

/// Whether a gNB was told the algorithms that the UE has.
fn is_told(capability: &SecurityCapability, told: &[u8; 4]) -> bool {
    *told == without_null(capability)
}

/// Nsmf_PDUSession_UpdateSMContext about a handover; none if the SMF cannot.
pub(crate) async fn update(
    p: &Procedure,
    step: &'static str,
    session: u8,
    change: SmChange,
    transfer: &[u8],
) -> Option<(N2Sm, Vec<u8>)> {
    let context = p.with_ue(|ue| ue.sessions.get(&session).and_then(|one| one.context));
    let request = UpdateSmContext {
        context: context?.into(),
        change,
        n1: Container::NONE,
        n2: Container::new(transfer)?,
    };
    let SmContextUpdated { n2_kind, n2, .. } = p.call(step, request).await.ok()?;
    Some((n2_kind, n2.get().unwrap_or_default().to_vec()))
}

impl State {
    /// Sessions whose user planes are up and that a gNB has not taken over have none from now on. A target that has
    /// not taken one may have said why.
    pub fn leave_sessions(
        &mut self,
        id: UeId,
        step: &'static str,
        kept: &[u8],
        (change, failed): (SmChange, &Transfers),
    ) {
        let sessions = self.ues.get_mut(id.0).map(|ue| &mut ue.sessions);
        let is_left = |(session, one): (&u8, &mut crate::context::ue::SmContext)| {
            (!kept.contains(session) && one.leave()).then_some(*session)
        };
        let left: Vec<u8> = sessions.into_iter().flatten().filter_map(is_left).collect();
        for session in left {
            let said = failed.iter().find(|(one, _)| *one == session);
            match said.filter(|(_, transfer)| Container::new(transfer).is_some()) {
                Some((_, said)) => self.update_session(id, session, step, change, said),
                None => self.update_session(id, session, step, SmChange::Deactivate, &[]),
            }
        }
    }

    /// A connection is at another gNB from now on, by another name.
    fn move_connection(
        &mut self,
        id: ConnectionId,
        association: AssociationId,
        request: &PathSwitchRequest,
    ) {
        let Some(connection) = self.connections.get_mut(id.0) else {
            return;
        };
        let before = (connection.association, connection.ran);
        (connection.association, connection.ran) = (association, request.ran);
        connection.location = request.location.unwrap_or(connection.location);
        // Its gNB may have given the name to another UE meanwhile.
        if self.by_ran.get(&before) == Some(&id) {
            self.by_ran.remove(&before);
        }
        self.by_ran.insert((association, request.ran), id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_capability_is_compared_without_null_algorithms() {
        let capability = SecurityCapability::from_octets(&[0xf0, 0x70]).expect("two");
        assert!(is_told(&capability, &[0x70, 0x70, 0, 0]));
        assert!(!is_told(&capability, &[0x70, 0x30, 0, 0]));
        assert!(!is_told(&capability, &[0; 4]));
    }

    #[test]
    fn algorithms_are_told_by_their_numbers() {
        let told = algorithms(&[0x70, 0x20, 0, 0x40]);
        assert_eq!(told, "5G-EA 1 2 3, 5G-IA 2, EEA none, EIA 1");
    }
}
