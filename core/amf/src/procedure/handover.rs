//! Handover by N2: the UE goes to another gNB of ours (TS 23.502, 4.9.1.3; TS 38.413, 8.4.1 to 8.4.3).

use std::collections::BTreeSet;

use sluice_n2::mobility::not_prepared;
use sluice_n2::{
    Cause, FromAmf, HandoverCommand, HandoverFromAmf, HandoverRequest, HandoverRequestAcknowledge,
    HandoverRequired, SessionSetup, Transfers, UeContextReleaseCommand, first_twice,
};
use sluice_sbi::{AssociationId, N2Sm, SmChange, Wake};

use crate::Amf;
use crate::context::handover_state::{Handover, Stage};
use crate::context::state::State;
use crate::context::ue::{ConnectionId, UeId};
use crate::limits;
use crate::messages::collisions::{self, Decision, Input as Collision, Running};
use crate::procedure::path_switch::update;
use crate::procedure::{Event, Kind, Procedure};

/// Resources that the target gNB has prepared.
struct Prepared {
    sessions: Transfers,
    released: Transfers,
    /// Why it has none for the others.
    failed: Transfers,
    container: Vec<u8>,
}

/// 1: Handover Required. What cannot be is refused at once.
pub(crate) fn begin(amf: &mut Amf, ue: UeId, required: HandoverRequired) {
    let expects = amf.expects(ue);
    let found = {
        let state = &mut *amf.state.borrow_mut();
        // The UE has gone on before its last source was released; not before its packets come to where it is.
        if state.on_its_way(ue, Collision::HandoverRequired) == Decision::Begin {
            state.end_handover(ue, Cause::SUCCESSFUL_HANDOVER);
        }
        // 2: the target is a gNB of this AMF
        find_target(state, ue, expects, &required)
    };
    let (target, other) = match found {
        Ok(found) => found,
        Err(cause) => {
            let state = &mut *amf.state.borrow_mut();
            state.counters.handover_failures += 1;
            return state.refuse_handover(ue, "12", cause);
        }
    };
    let handover = Handover {
        stage: Stage::Preparing,
        task: None,
        other: Some(other),
        is_source_lost: false,
        is_completed: false,
        is_new_context: false,
    };
    if !amf.start_handover(ue, handover, |p| run(p, required, target, other)) {
        let state = &mut *amf.state.borrow_mut();
        state.forget_connection(other);
        state.refuse_handover(ue, "12", Cause::HANDOVER_FAILED);
    }
}

/// The target and a connection there, or why the UE does not go there.
fn find_target(
    state: &mut State,
    id: UeId,
    expects: Option<Kind>,
    required: &HandoverRequired,
) -> Result<(AssociationId, ConnectionId), Cause> {
    let input = Collision::HandoverRequired;
    let decision = collisions::decide(input, Running::of(expects));
    let is_going = state.on_its_way(id, input) == Decision::Refuse;
    let (_, connection) = state.connection(id).ok_or(Cause::UNKNOWN_LOCAL_ID)?;
    let ue = state.ues.get(id.0).ok_or(Cause::UNKNOWN_LOCAL_ID)?;
    let security = ue.security.as_ref().filter(|_| ue.registered.is_some());
    // The key that it is told is not that of the target.
    let is_renewing = security.is_none_or(|security| security.is_renewing);
    let is_busy = decision == Decision::Refuse || is_renewing;
    if is_busy || is_going || !connection.has_context {
        return Err(Cause::INTERACTION);
    }
    // A list that contradicts itself (10.4).
    if first_twice(&[&required.sessions]).is_some() {
        return Err(Cause::SESSION_TWICE);
    }
    let (gnb, tai) = required.target.ok_or(Cause::UNKNOWN_TARGET)?;
    let is_it = |(_, known): &(&AssociationId, &crate::context::state::Gnb)| known.identity == gnb;
    let found = state.gnbs.iter().find(is_it);
    let (target, known) = found.ok_or(Cause::UNKNOWN_TARGET)?;
    let serves = known.areas.iter().any(|area| area.tac == tai.tac);
    if !serves || !state.config.areas.contains(&tai) {
        return Err(Cause::UNKNOWN_TARGET);
    }
    let target = *target;
    if target == connection.association {
        return Err(Cause::UNKNOWN_TARGET);
    }
    let other = state.prepare(id, target).ok_or(Cause::HANDOVER_FAILED)?;
    Ok((target, other))
}

async fn run(p: Procedure, required: HandoverRequired, target: AssociationId, other: ConnectionId) {
    let mut prepared = match prepare(&p, required, target, other).await {
        Ok(prepared) => prepared,
        // Handover Preparation Failure
        Err(cause) => return p.fail_handover(cause),
    };
    let admitted: Vec<u8> = prepared.sessions.iter().map(|(one, _)| *one).collect();
    let failed = std::mem::take(&mut prepared.failed);
    // 4.9.1.3.3, 1: Handover Command
    p.with(|state| command(state, p.ue, prepared));
    // 2 to 5: the UE goes; Handover Notify. Whoever waits too long has lost it.
    match p.wait("5", Kind::Arrival, limits::HANDOVER_MS).await {
        Wake::Event(_) => {}
        Wake::Deadline => return p.fail_handover(Cause::HANDOVER_EXPIRED),
    }
    complete(&p, admitted, failed).await;
    leave(&p).await;
}

/// 4.9.1.3.2, steps 3 to 12.
async fn prepare(
    p: &Procedure,
    required: HandoverRequired,
    target: AssociationId,
    other: ConnectionId,
) -> Result<Prepared, Cause> {
    // 4 to 7: Nsmf_PDUSession_UpdateSMContext, for each session
    let mut setups = Vec::new();
    let mut asked = BTreeSet::new();
    for (session, transfer) in &required.sessions {
        let slice = p.with_ue(|ue| ue.sessions.get(session).map(|one| one.slice));
        let (Some(slice), true) = (slice, asked.insert(*session)) else {
            continue;
        };
        let change = SmChange::HandoverRequired;
        if let Some((N2Sm::HandoverRequest, transfer)) =
            update(p, "4", *session, change, transfer).await
        {
            setups.push(SessionSetup {
                session: *session,
                nas: None,
                slice,
                transfer,
            });
        }
    }
    if setups.is_empty() {
        return Err(Cause::HANDOVER_FAILED);
    }
    // 9: Handover Request, with a next hop that is stored before it is told (TS 33.501, 6.9.2.3.3)
    let request = p.with(|state| request(state, p.ue, other, &required, setups));
    let request = request.ok_or(Cause::HANDOVER_FAILED)?;
    p.commit().await.map_err(|_| Cause::HANDOVER_FAILED)?;
    p.with(|state| state.send_handover(target, p.ue, "9", request));
    // 10: Handover Request Acknowledge
    let answer = match p.wait("10", Kind::Preparation, limits::RAN_TIMER_MS).await {
        Wake::Event(Event::Prepared(answer)) => answer?,
        _ => return Err(Cause::PREPARATION_EXPIRED),
    };
    let HandoverRequestAcknowledge {
        admitted,
        failed,
        container,
        ..
    } = *answer;
    // 11: Nsmf_PDUSession_UpdateSMContext, for each that the target takes
    let mut sessions = Transfers::new();
    for (session, transfer) in admitted {
        let change = SmChange::HandoverPrepared;
        let is_new = sessions.iter().all(|(known, _)| *known != session);
        if asked.contains(&session)
            && is_new
            && let Some((N2Sm::HandoverCommand, transfer)) =
                update(p, "11", session, change, &transfer).await
        {
            sessions.push((session, transfer));
        }
    }
    if sessions.is_empty() {
        return Err(Cause::NO_RADIO_RESOURCES);
    }
    let is_left = |session: &u8| sessions.iter().all(|(known, _)| known != session);
    let why = not_prepared(Cause::NO_RADIO_RESOURCES);
    let released = asked.into_iter().filter(is_left);
    let released = released.map(|session| (session, why.clone())).collect();
    Ok(Prepared {
        sessions,
        released,
        failed,
        container,
    })
}

fn request(
    state: &mut State,
    id: UeId,
    other: ConnectionId,
    required: &HandoverRequired,
    sessions: Vec<SessionSetup>,
) -> Option<HandoverFromAmf> {
    let guami = state.config.guami;
    let ue = state.ues.get_mut(id.0)?;
    let (security, registered) = (ue.security.as_mut()?, ue.registered.as_ref()?);
    let chain = security.chain_at_gnb();
    let next_hop = chain.map(|(kamf, chain)| chain.advance(kamf).clone());
    let is_new_context = next_hop.is_none();
    let next_hop = next_hop.unwrap_or_else(|| security.first_hop());
    ue.handover.as_mut()?.is_new_context = is_new_context;
    Some(HandoverFromAmf::Request(Box::new(HandoverRequest {
        amf: other.to_ngap(),
        cause: required.cause,
        ambr_bps: registered.ambr_bps,
        capability: ue.capability?,
        next_hop,
        is_new_context,
        sessions,
        allowed_nssai: registered.allowed_nssai.clone(),
        masked_imeisv: ue.imeisv.map(sluice_ids::Imeisv::masked),
        container: required.container.clone(),
        guami,
    })))
}

fn command(state: &mut State, id: UeId, prepared: Prepared) {
    if let Some(handover) = state.ues.get_mut(id.0).and_then(|ue| ue.handover.as_mut()) {
        handover.stage = Stage::Commanded;
    }
    let Some((connection_id, connection)) = state.connection(id) else {
        return;
    };
    let (association, ids) = (
        connection.association,
        (connection_id.to_ngap(), connection.ran),
    );
    let command = HandoverFromAmf::Command(Box::new(HandoverCommand {
        ids,
        sessions: prepared.sessions,
        released: prepared.released,
        container: prepared.container,
    }));
    state.send_handover(association, id, "1", command);
}

/// 7 to 11: packets go to the target; sessions that it has not taken have no user plane any more.
async fn complete(p: &Procedure, admitted: Vec<u8>, failed: Transfers) {
    p.with(|state| state.counters.handovers += 1);
    let (mut kept, mut lost) = (Vec::new(), Vec::new());
    for session in admitted {
        let change = SmChange::HandoverComplete;
        match update(p, "7", session, change, &[]).await.is_some() {
            true => kept.push(session),
            false => lost.push(session),
        }
    }
    p.with(|state| {
        // The target has prepared them, and would not set them up a second time.
        state.release_at_gnb(p.ue, "7", &lost);
        state.leave_sessions(p.ue, "7", &kept, (SmChange::NotAdmitted, &failed));
    });
    p.with_ue(|ue| {
        if let Some(handover) = &mut ue.handover {
            handover.is_completed = true;
        }
    });
}

/// 14: the source is released when it has forwarded what it had.
async fn leave(p: &Procedure) {
    p.wait("14", Kind::Departure, limits::SOURCE_KEPT_MS).await;
    let source = p.with(|state| {
        let handover = state.ues.get(p.ue.0)?.handover.as_ref()?;
        let id = handover.other.filter(|_| !handover.is_source_lost)?;
        let connection = state.connections.get(id.0)?;
        let (association, ran) = (connection.association, connection.ran);
        let command = FromAmf::UeContextReleaseCommand(UeContextReleaseCommand {
            ue: (id.to_ngap(), Some(ran)),
            cause: Cause::SUCCESSFUL_HANDOVER,
        });
        state.line("AMF", "gNB", "14a", command.name(), p.ue);
        state.send_n2(association, Some(p.ue), &command);
        Some(id)
    });
    // 14b: UE Context Release Complete
    if source.is_some() {
        p.wait("14b", Kind::Departure, limits::RAN_TIMER_MS).await;
    }
    p.with(|state| {
        let known = state.ues.get_mut(p.ue.0);
        let handover = known.and_then(|ue| ue.handover.take());
        handover
            .and_then(|handover| handover.other)
            .map(|other| state.forget_connection(other));
    });
}

impl Procedure {
    /// Ends a handover by N2 that cannot be, and notes why.
    pub(crate) fn fail_handover(&self, cause: Cause) {
        self.failed(cause);
        self.with(|state| state.fail_handover(self.ue, cause));
    }
}
