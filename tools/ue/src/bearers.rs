//! PDU sessions of an emulated gNB: set up, changed and released, and how it protects their user plane.

use sluice_ids::UpProtection;
use sluice_n2::{
    AmfUeId, Cause, FromRan, ModifyRequest, ModifyResponse, PduSessionModifyResponse,
    PduSessionReleaseResponse, PduSessionSetupResponse, QosFlow, RanUeId, SecurityIndication,
    SecurityResult, SessionModification, SessionResults, SessionSetup, SetupRequest, SetupResponse,
    Transfers, Tunnel, session,
};

use crate::gnb::{FromGnb, Gnb};

/// A session as the gNB has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RadioSession {
    /// Setup Request Transfer of the session.
    pub request: SetupRequest,
    /// The gNB's end of the tunnel.
    pub downlink: Tunnel,
}

impl RadioSession {
    /// The flow of packets that no rule knows.
    pub fn default_qfi(&self) -> u8 {
        self.request.flows.first().map_or(0, |flow| flow.qfi)
    }
}

impl Gnb {
    /// Protection that the gNB performs of a policy; one that requires what the gNB cannot do is refused (TS 38.413, 8.2.1.2).
    pub(crate) fn protect(
        &self,
        told: Option<SecurityIndication>,
    ) -> Result<Option<SecurityResult>, Cause> {
        let Some(SecurityIndication { policy, .. }) = told else {
            return Ok(None);
        };
        let required = UpProtection::Required;
        if self.no_integrity && policy.integrity == required {
            return Err(Cause::NO_UP_INTEGRITY);
        }
        if self.no_confidentiality && policy.confidentiality == required {
            return Err(Cause::NO_UP_CONFIDENTIALITY);
        }
        let does = |wanted, cannot: bool| {
            wanted != UpProtection::NotNeeded && !cannot && !self.denies_protection
        };
        Ok(Some(SecurityResult {
            integrity: does(policy.integrity, self.no_integrity),
            confidentiality: does(policy.confidentiality, self.no_confidentiality),
        }))
    }

    pub(crate) fn set_up_sessions(
        &mut self,
        ids: (AmfUeId, RanUeId),
        asked: Vec<SessionSetup>,
    ) -> Vec<FromGnb> {
        // A gNB without a context of the UE takes no session.
        if self.context(ids.1).is_none() {
            return self.unknown(ids);
        }
        let (sessions, messages) = self.set_up_each(ids.1, asked);
        let response =
            FromRan::PduSessionSetupResponse(PduSessionSetupResponse { ids, sessions }).encode();
        let response = std::iter::once(FromGnb::ToAmf(response));
        response.chain(messages).collect()
    }

    /// Sets sessions up; messages for the UE go on only with those that are.
    pub(crate) fn set_up_each(
        &mut self,
        ran: RanUeId,
        asked: Vec<SessionSetup>,
    ) -> (SessionResults, Vec<FromGnb>) {
        let (mut results, mut messages) = (SessionResults::default(), Vec::new());
        let no_guaranteed = self.no_guaranteed;
        for one in asked {
            let is_free = self.session(ran, one.session).is_none() && !self.no_sessions;
            let request = SetupRequest::decode(&one.transfer).filter(|_| is_free);
            let request = request.ok_or(Cause::RADIO_LOST).and_then(|request| {
                let result = self.protect(request.security)?;
                Ok((request, result))
            });
            let downlink = self.new_tunnel();
            let (mut request, security, ue) = match (request, self.ues.get_mut(&ran)) {
                (Ok((request, security)), Some(ue)) => (request, security, ue),
                (request, _) => {
                    let why = request.err().unwrap_or(Cause::RADIO_LOST);
                    let why = session::setup_failure(why);
                    results.failed.push((one.session, why));
                    continue;
                }
            };
            let has_no_room = |flow: &mut QosFlow| no_guaranteed && flow.rates.is_some();
            let failed = request.flows.extract_if(.., has_no_room);
            let response = SetupResponse {
                downlink,
                failed: failed.map(|flow| flow.qfi).collect(),
                qfis: request.flows.iter().map(|flow| flow.qfi).collect(),
                security,
            };
            ue.sessions
                .insert(one.session, RadioSession { request, downlink });
            results.done.push((one.session, response.encode()));
            messages.extend(one.nas.map(|nas| FromGnb::ToUe(ran, nas)));
        }
        (results, messages)
    }

    /// Changes flows of sessions; messages for the UE go on in any case (TS 38.413, 8.2.3.2).
    pub(crate) fn modify_sessions(
        &mut self,
        ids: (AmfUeId, RanUeId),
        asked: Vec<SessionModification>,
    ) -> Vec<FromGnb> {
        let no_guaranteed = self.no_guaranteed;
        let refuses = self.refuses_changes;
        let Some(ue) = self.ues.get_mut(&ids.1) else {
            return self.unknown(ids);
        };
        let (mut results, mut done) = (SessionResults::default(), Vec::new());
        for one in asked {
            if let Some(why) = refuses {
                // Nor is anything told to the UE.
                results
                    .failed
                    .push((one.session, session::modify_failure(why)));
                continue;
            }
            let request = ModifyRequest::decode(&one.transfer);
            let (Some(request), Some(known)) = (request, ue.sessions.get_mut(&one.session)) else {
                let why = session::modify_failure(Cause::UNSPECIFIED);
                results.failed.push((one.session, why));
                continue;
            };
            let response = change(&mut known.request, &request, no_guaranteed);
            results.done.push((one.session, response.encode()));
            done.extend(one.nas.map(|nas| FromGnb::ToUe(ids.1, nas)));
        }
        if !self.no_modifications {
            let sessions = results;
            let response =
                FromRan::PduSessionModifyResponse(PduSessionModifyResponse { ids, sessions })
                    .encode();
            done.insert(0, FromGnb::ToAmf(response));
        }
        done
    }

    pub(crate) fn release_sessions(
        &mut self,
        ids: (AmfUeId, RanUeId),
        nas: Option<Vec<u8>>,
        sessions: &Transfers,
    ) -> Vec<FromGnb> {
        let Some(ue) = self.ues.get_mut(&ids.1) else {
            return self.unknown(ids);
        };
        let names = sessions.iter().map(|(session, _)| *session);
        names.clone().for_each(|session| {
            ue.sessions.remove(&session);
        });
        let sessions = names
            .map(|one| (one, session::release_response()))
            .collect();
        let response =
            FromRan::PduSessionReleaseResponse(PduSessionReleaseResponse { ids, sessions })
                .encode();
        let mut done = vec![FromGnb::ToAmf(response)];
        done.extend(nas.map(|nas| FromGnb::ToUe(ids.1, nas)));
        done
    }
}

/// Changes flows of a session as far as there is room.
fn change(
    session: &mut SetupRequest,
    request: &ModifyRequest,
    no_guaranteed: bool,
) -> ModifyResponse {
    let mut response = ModifyResponse::default();
    session.ambr_bps = request.ambr_bps.unwrap_or(session.ambr_bps);
    session
        .flows
        .retain(|flow| !request.released.contains(&flow.qfi));
    for flow in &request.flows {
        if no_guaranteed && flow.rates.is_some() {
            response.failed.push(flow.qfi);
            continue;
        }
        session.flows.retain(|known| known.qfi != flow.qfi);
        session.flows.push(*flow);
        response.done.push(flow.qfi);
    }
    response
}
