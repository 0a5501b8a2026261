//! Initial context setup: the gNB gets a UE's keys, and the UE a message (TS 38.413, 8.3.1).

use sluice_n1::Downlink;
use sluice_n2::{ContextModification, FromAmf, InitialContext, SessionSetup};

use crate::Amf;
use crate::context::state::State;
use crate::context::ue::UeId;
use crate::procedure::Event;
use crate::refusal::Refusal;

/// UE Context Modification Request: the gNB gets the key that follows from new keys of NAS (TS 38.413,
/// 8.3.4; TS 33.501, 6.9.4.2). One that the UE goes to meanwhile is told by the handover.
pub(crate) fn renew_key(state: &mut State, id: UeId, step: &'static str) -> Result<(), Refusal> {
    if state.holds_sessions(id) {
        return Ok(());
    }
    let (connection_id, connection) = state
        .connection(id)
        .ok_or(Refusal::Silent("the UE is not connected"))?;
    let association = connection.association;
    let ids = (connection_id.to_ngap(), connection.ran);
    let ue = state.ues.get_mut(id.0);
    let known = ue.and_then(|ue| Some((ue.security.as_mut()?, ue.capability?)));
    let (security, capability) = known.ok_or(Refusal::Silent("the UE has no keys"))?;
    let key = security.first_key();
    security.begin_chain();
    security.is_renewing = true;
    let request = FromAmf::UeContextModificationRequest(Box::new(ContextModification {
        ids,
        key: Some(key),
        capability: Some(capability),
    }));
    state.line("AMF", "gNB", step, request.name(), id);
    state.send_n2(association, Some(id), &request);
    Ok(())
}

/// Initial Context Setup Request with a message for the UE, if there is one, and sessions whose user
/// planes are to be up. The key of the access stratum follows from the last uplink message whose MAC
/// was right.
pub(crate) fn request(
    state: &mut State,
    id: UeId,
    step: &'static str,
    message: Option<&Downlink>,
    sessions: Vec<SessionSetup>,
) -> Result<(), Refusal> {
    let no_keys = || Refusal::Silent("the UE has no keys");
    let nas = match message {
        Some(message) => Some(state.protect(id, message).ok_or_else(no_keys)?),
        None => None,
    };
    let (connection_id, connection) = state
        .connection(id)
        .ok_or(Refusal::Silent("the UE is not connected"))?;
    let (association, ids) = (
        connection.association,
        (connection_id.to_ngap(), connection.ran),
    );
    let guami = state.config.guami;
    let ue = state.ues.get_mut(id.0).ok_or_else(no_keys)?;
    let (security, registered, capability) =
        match (ue.security.as_mut(), ue.registered.as_ref(), ue.capability) {
            (Some(security), Some(registered), Some(capability)) => {
                (security, registered, capability)
            }
            _ => return Err(no_keys()),
        };
    // KgNB of the message that made this needed (TS 33.501, A.9), and the chain that follows.
    let key = security.first_key();
    security.begin_chain();
    let request = FromAmf::InitialContextSetupRequest(Box::new(InitialContext {
        ids,
        guami,
        ambr_bps: Some(registered.ambr_bps),
        sessions,
        allowed_nssai: registered.allowed_nssai.clone(),
        capability,
        key,
        masked_imeisv: ue.imeisv.map(sluice_ids::Imeisv::masked),
        radio_capability: ue.radio_capability.clone(),
        rfsp: ue.policy.and_then(|policy| policy.rfsp),
        nas,
    }));
    state.line("AMF", "gNB", step, request.name(), id);
    if let Some(message) = message {
        state.line("AMF", "UE", step, message.name(), id);
    }
    state.send_n2(association, Some(id), &request);
    if let Some(connection) = state.connections.get_mut(connection_id.0) {
        connection.is_told = true;
    }
    if let FromAmf::InitialContextSetupRequest(request) = &request {
        state.are_asked_for(id, &request.sessions);
    }
    Ok(())
}

impl State {
    /// A path switch has told the UE's new gNB its keys, whatever the one before was told and has not answered; not so
    /// keys that came into use after that.
    pub fn switch_keys(&mut self, id: UeId) {
        let security = self.ues.get(id.0).and_then(|ue| ue.security.as_ref());
        if security.is_some_and(|security| security.chain.is_some()) {
            self.takes_keys(id);
            self.taken.push(id);
        }
    }
}

impl Amf {
    /// Procedures that wait until a gNB has keys hear that it has.
    pub(crate) fn hear_taken(&mut self) {
        loop {
            let Some(ue) = self.state.borrow_mut().taken.pop() else {
                return;
            };
            self.tell(ue, Event::Context(Ok(())));
        }
    }
}
