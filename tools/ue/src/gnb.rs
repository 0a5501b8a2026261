//! An emulated gNB: it sets up N2 and carries the messages of its UEs.

use core::net::Ipv4Addr;
use std::collections::BTreeMap;

use sluice_ids::{NrCellIdentity, STmsi, Tai};
use sluice_n2::{
    AmfUeId, Cause, Connection, FromAmf, FromRan, InitialContext, InitialUeMessage, Location,
    NgSetupRequest, NgSetupResponse, RanUeId, SessionResults, SessionSetup, SetupRequest,
    SetupResponse, Transfers, Tunnel, session,
};

/// What a gNB does with a message of the AMF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FromGnb {
    /// It sends this to the AMF.
    ToAmf(Vec<u8>),
    /// It sends this to a UE.
    ToUe(RanUeId, Vec<u8>),
    /// It has released a UE.
    Released(RanUeId),
}

/// A UE's connection as the gNB knows it.
#[derive(Debug, Default)]
struct UeContext {
    amf: Option<AmfUeId>,
    context: Option<InitialContext>,
    sessions: BTreeMap<u8, RadioSession>,
}

/// A session as the gNB has it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RadioSession {
    /// What it was told of it.
    pub request: SetupRequest,
    /// Its own end of the tunnel.
    pub downlink: Tunnel,
}

/// A gNB with one cell.
#[derive(Debug)]
pub struct Gnb {
    setup: NgSetupRequest,
    tai: Tai,
    ues: BTreeMap<RanUeId, UeContext>,
    connections: u32,
    response: Option<NgSetupResponse>,
    refused: Option<Cause>,
    indications: Vec<Cause>,
    /// It refuses to set up contexts.
    pub no_contexts: bool,
    /// It does not answer release commands.
    pub no_releases: bool,
    /// It has no room for sessions.
    pub no_sessions: bool,
    /// Its address for tunnels.
    pub address: Ipv4Addr,
    tunnels: u32,
    /// What it tells of the radio of each UE with a new context.
    pub radio_capability: Option<Vec<u8>>,
}

impl Gnb {
    /// UEs are in this area.
    pub fn new(setup: NgSetupRequest, tai: Tai) -> Self {
        Self {
            setup,
            tai,
            ues: BTreeMap::new(),
            connections: 0,
            response: None,
            refused: None,
            indications: Vec::new(),
            no_contexts: false,
            no_releases: false,
            no_sessions: false,
            address: Ipv4Addr::new(192, 0, 2, 51),
            tunnels: 0,
            radio_capability: None,
        }
    }

    /// What the AMF said to its setup.
    pub fn response(&self) -> Option<&NgSetupResponse> {
        self.response.as_ref()
    }

    /// Why the AMF refused its setup.
    pub fn refused(&self) -> Option<Cause> {
        self.refused
    }

    /// Causes of Error Indications.
    pub fn indications(&self) -> &[Cause] {
        &self.indications
    }

    /// What the AMF told of a UE.
    pub fn context(&self, ue: RanUeId) -> Option<&InitialContext> {
        self.ues.get(&ue)?.context.as_ref()
    }

    /// A session of a UE; none while its user plane is down.
    pub fn session(&self, ue: RanUeId, session: u8) -> Option<RadioSession> {
        self.ues.get(&ue)?.sessions.get(&session).copied()
    }

    /// The AMF's name of a UE's connection.
    pub fn amf_id(&self, ue: RanUeId) -> Option<AmfUeId> {
        self.ues.get(&ue)?.amf
    }

    /// Its first message.
    pub fn setup(&self) -> Vec<u8> {
        FromRan::NgSetupRequest(self.setup.clone()).encode()
    }

    /// It has lost all UEs and says so.
    pub fn reset(&mut self) -> Vec<u8> {
        self.ues.clear();
        FromRan::NgReset {
            cause: Cause::UNSPECIFIED,
            connections: None,
        }
        .encode()
    }

    /// A UE comes with its first message.
    pub fn connect(&mut self, nas: Vec<u8>, s_tmsi: Option<STmsi>) -> (RanUeId, Vec<u8>) {
        self.connections += 1;
        let ran = RanUeId(self.connections);
        self.ues.insert(ran, UeContext::default());
        let message = InitialUeMessage {
            ran,
            nas,
            location: self.location(),
            // mo-Signalling
            establishment_cause: 3,
            s_tmsi,
            context_requested: true,
        };
        (ran, FromRan::InitialUeMessage(message).encode())
    }

    /// A UE's further message; none if the AMF has not said a word of it.
    pub fn uplink(&self, ran: RanUeId, nas: Vec<u8>) -> Option<Vec<u8>> {
        let ids = (self.ues.get(&ran)?.amf?, ran);
        let location = Some(self.location());
        Some(FromRan::UplinkNasTransport { ids, nas, location }.encode())
    }

    /// The gNB wants a UE released.
    pub fn ask_release(&self, ran: RanUeId) -> Option<Vec<u8>> {
        let ids = (self.ues.get(&ran)?.amf?, ran);
        let cause = Cause::USER_INACTIVITY;
        Some(FromRan::UeContextReleaseRequest { ids, cause }.encode())
    }

    fn location(&self) -> Location {
        let cell = NrCellIdentity([0, 0, 0, 1, 0x10]);
        Location {
            plmn: self.tai.plmn,
            cell,
            tai: self.tai,
        }
    }

    /// Takes a message of the AMF.
    pub fn receive(&mut self, octets: &[u8]) -> Vec<FromGnb> {
        match FromAmf::decode(octets) {
            Ok(FromAmf::NgSetupResponse(response)) => self.response = Some(response),
            Ok(FromAmf::NgSetupFailure { cause }) => self.refused = Some(cause),
            Ok(FromAmf::DownlinkNasTransport { ids, nas }) => {
                if let Some(ue) = self.ues.get_mut(&ids.1) {
                    ue.amf = Some(ids.0);
                    return vec![FromGnb::ToUe(ids.1, nas)];
                }
                return self.unknown(ids);
            }
            Ok(FromAmf::InitialContextSetupRequest(context)) => return self.set_up(*context),
            Ok(FromAmf::PduSessionSetupRequest { ids, sessions, .. }) => {
                return self.set_up_sessions(ids, sessions);
            }
            Ok(FromAmf::PduSessionReleaseCommand { ids, nas, sessions }) => {
                return self.release_sessions(ids, nas, &sessions);
            }
            Ok(FromAmf::UeContextReleaseCommand { amf, ran, .. }) => {
                return self.release(amf, ran);
            }
            Ok(FromAmf::ErrorIndication { cause, .. }) => self.indications.extend(cause),
            Ok(FromAmf::NgResetAcknowledge { .. }) | Err(_) => {}
        }
        Vec::new()
    }

    fn unknown(&self, ids: (AmfUeId, RanUeId)) -> Vec<FromGnb> {
        let connection = Connection {
            amf: Some(ids.0),
            ran: Some(ids.1),
        };
        let cause = Some(Cause::UNKNOWN_LOCAL_ID);
        vec![FromGnb::ToAmf(
            FromRan::ErrorIndication { connection, cause }.encode(),
        )]
    }

    fn set_up(&mut self, mut context: InitialContext) -> Vec<FromGnb> {
        let (ids, nas) = (context.ids, context.nas.take());
        let asked = std::mem::take(&mut context.sessions);
        let Some(ue) = self.ues.get_mut(&ids.1) else {
            return self.unknown(ids);
        };
        ue.amf = Some(ids.0);
        if self.no_contexts {
            let cause = Cause::RADIO_LOST;
            let failure = FromRan::InitialContextSetupFailure { ids, cause };
            return vec![FromGnb::ToAmf(failure.encode())];
        }
        ue.context = Some(context);
        let (sessions, messages) = self.set_up_each(ids.1, asked);
        let response = FromRan::InitialContextSetupResponse { ids, sessions }.encode();
        let mut done = vec![FromGnb::ToAmf(response)];
        if let Some(capability) = self.radio_capability.clone() {
            let told = FromRan::UeRadioCapability { ids, capability };
            done.push(FromGnb::ToAmf(told.encode()));
        }
        done.extend(nas.map(|nas| FromGnb::ToUe(ids.1, nas)));
        done.extend(messages);
        done
    }

    fn set_up_sessions(
        &mut self,
        ids: (AmfUeId, RanUeId),
        asked: Vec<SessionSetup>,
    ) -> Vec<FromGnb> {
        // A gNB without a context of the UE takes no session.
        if self.context(ids.1).is_none() {
            return self.unknown(ids);
        }
        let (sessions, messages) = self.set_up_each(ids.1, asked);
        let response = FromRan::PduSessionSetupResponse { ids, sessions }.encode();
        let mut done = vec![FromGnb::ToAmf(response)];
        done.extend(messages);
        done
    }

    /// Sets sessions up; messages for the UE go on only with those that are.
    fn set_up_each(
        &mut self,
        ran: RanUeId,
        asked: Vec<SessionSetup>,
    ) -> (SessionResults, Vec<FromGnb>) {
        let (mut results, mut messages) = (SessionResults::default(), Vec::new());
        for one in asked {
            let request = SetupRequest::decode(&one.transfer).filter(|_| !self.no_sessions);
            let (Some(request), Some(ue)) = (request, self.ues.get_mut(&ran)) else {
                let why = session::setup_failure(Cause::RADIO_LOST);
                results.failed.push((one.session, why));
                continue;
            };
            self.tunnels += 1;
            let downlink = Tunnel {
                ipv4: Some(self.address),
                ipv6: None,
                teid: self.tunnels,
            };
            ue.sessions
                .insert(one.session, RadioSession { request, downlink });
            let response = SetupResponse {
                downlink,
                qfis: vec![request.qfi],
            };
            results.done.push((one.session, response.encode()));
            messages.extend(one.nas.map(|nas| FromGnb::ToUe(ran, nas)));
        }
        (results, messages)
    }

    fn release_sessions(
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
        let response = FromRan::PduSessionReleaseResponse { ids, sessions }.encode();
        let mut done = vec![FromGnb::ToAmf(response)];
        done.extend(nas.map(|nas| FromGnb::ToUe(ids.1, nas)));
        done
    }

    fn release(&mut self, amf: AmfUeId, ran: Option<RanUeId>) -> Vec<FromGnb> {
        let known = self
            .ues
            .iter()
            .find(|(_, ue)| ue.amf == Some(amf))
            .map(|(ran, _)| *ran);
        let Some(ran) = ran.or(known).filter(|_| !self.no_releases) else {
            return Vec::new();
        };
        self.ues.remove(&ran);
        let complete = FromRan::UeContextReleaseComplete { ids: (amf, ran) }.encode();
        vec![FromGnb::ToAmf(complete), FromGnb::Released(ran)]
    }
}
