//! An emulated UE: it registers, proves who it is, and keeps what it is told.

use sluice_ids::{Guti, Imeisv, Plmn, Snssai};
use sluice_n1::{
    Cause, ConfigurationUpdate, DeregistrationRequest, Downlink, Envelope, Header, IdentityKind,
    MobileIdentity, NO_KEY, Protected, RegistrationAccept, RegistrationKind, RegistrationRequest,
    SecurityContext, SecurityModeCommand, ServiceRequest, Uplink,
};
use sluice_security::eap::Peer;
use sluice_security::{Kamf, NasCount, SecurityCapability};

use crate::sessions::{Sessions, WantedSession};
use crate::sim::Sim;

mod authentication;
mod behaviour;

use authentication::Fresh;
pub use behaviour::Behaviour;

/// Names of messages that are kept.
const RECEIVED: usize = 64;

/// How a UE stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UeState {
    /// Not registered.
    Deregistered,
    /// The UE has requested its registration.
    Registering,
    Registered,
}

/// Keys and counts, and what KgNB is derived from.
#[derive(Debug)]
struct Security {
    context: SecurityContext,
    kamf: Kamf,
    last_uplink: NasCount,
}

#[derive(Debug)]
pub struct Ue {
    sim: Sim,
    network: Plmn,
    pub capability: SecurityCapability,
    /// Slices that it wants; none if it names none.
    pub requested_nssai: Option<Vec<Snssai>>,
    /// Further IEs of its registration requests, as they are on the wire.
    pub wishes: Vec<u8>,
    /// Whether the UE has more signalling after a registration.
    pub follow_on: bool,
    /// Whether the radio capability has changed.
    pub has_new_radio: bool,
    /// Faults of the UE.
    pub behaviour: Behaviour,
    /// Ephemeral keys of its concealments follow from this and from [`Ue::random`].
    pub seed: u8,
    /// Of the caller, for a UE whose concealments nobody shall foresee.
    pub random: [u8; 32],
    /// Whether the UE answers a paging.
    pub is_paged: bool,
    imeisv: Option<Imeisv>,
    state: UeState,
    guti: Option<Guti>,
    security: Option<Security>,
    /// After an authentication, until a Security Mode Command.
    fresh: Option<Fresh>,
    /// EAP-AKA' peer of the UE.
    peer: Peer,
    /// The last Registration Request, whole.
    request: Option<RegistrationRequest>,
    accept: Option<RegistrationAccept>,
    refused: Option<Downlink>,
    /// Deregistration by the network: whether the UE shall register again, and why.
    sent_away: Option<(bool, Option<Cause>)>,
    /// Names of the last messages that it was sent.
    received: Vec<&'static str>,
    /// The last Configuration Update Command.
    pub told: Option<ConfigurationUpdate>,
    /// Service requests that were accepted.
    services: u64,
    /// PDU sessions of the UE.
    sessions: Sessions,
}

impl Ue {
    /// With all algorithms, for a serving network.
    pub fn new(sim: Sim, network: Plmn) -> Option<Self> {
        Some(Self {
            sim,
            network,
            capability: SecurityCapability::from_octets(&[0xf0, 0x70])?,
            requested_nssai: None,
            wishes: Vec::new(),
            follow_on: false,
            has_new_radio: false,
            behaviour: Behaviour::default(),
            seed: 1,
            random: [0; 32],
            is_paged: false,
            services: 0,
            imeisv: Imeisv::from_digits("3534900698733190"),
            state: UeState::Deregistered,
            guti: None,
            security: None,
            fresh: None,
            peer: Peer::default(),
            request: None,
            accept: None,
            refused: None,
            sent_away: None,
            told: None,
            received: Vec::new(),
            sessions: Sessions::default(),
        })
    }

    pub fn state(&self) -> UeState {
        self.state
    }

    pub fn network(&self) -> Plmn {
        self.network
    }

    /// 5G-GUTI of the UE.
    pub fn guti(&self) -> Option<Guti> {
        self.guti
    }

    pub fn accept(&self) -> Option<&RegistrationAccept> {
        self.accept.as_ref()
    }

    /// Message that refused the UE's last request.
    pub fn refused(&self) -> Option<&Downlink> {
        self.refused.as_ref()
    }

    /// Last deregistration by the network: whether the UE must register again, and the cause.
    pub fn sent_away(&self) -> Option<(bool, Option<Cause>)> {
        self.sent_away
    }

    /// Service requests that were accepted.
    pub fn services(&self) -> u64 {
        self.services
    }

    /// Names of the last messages that it was sent; some more than of any one procedure.
    pub fn received(&self) -> &[&'static str] {
        &self.received
    }

    /// Forgets the keys, but not the 5G-GUTI.
    pub fn forget_keys(&mut self) {
        self.security = None;
    }

    /// Sets the 5G-GUTI that the UE uses.
    pub fn call_itself(&mut self, guti: Guti) {
        self.guti = Some(guti);
    }

    pub fn sim_mut(&mut self) -> &mut Sim {
        &mut self.sim
    }

    /// The first message of a registration.
    pub fn register(&mut self, kind: RegistrationKind) -> Vec<u8> {
        self.state = UeState::Registering;
        self.refused = None;
        let identity = self.identity();
        let ngksi = self.ngksi();
        let is_back = kind != RegistrationKind::Initial;
        if !is_back {
            self.sessions.clear();
        }
        let has_data = self.sessions.wants_up();
        let request = RegistrationRequest {
            kind,
            follow_on: self.follow_on,
            has_new_radio: self.has_new_radio,
            ngksi,
            // All but periodic updates have it (TS 24.501, 5.5.1.2.2 and 5.5.1.3.2): neither S1 mode nor LCS here.
            mm_capability: (kind != RegistrationKind::Periodic).then(|| vec![0]),
            requested_nssai: self.requested_nssai.clone(),
            session_status: is_back.then(|| self.sessions.status()),
            uplink_data: (is_back && has_data != 0).then_some(has_data),
            ..RegistrationRequest::initial(identity, self.capability)
        };
        self.request = Some(request.clone());
        // What may be shown (TS 24.501, 4.4.6): without keys that is all that is sent, with keys the
        // whole message is ciphered inside.
        let shown = RegistrationRequest {
            has_new_radio: false,
            mm_capability: None,
            requested_nssai: None,
            session_status: None,
            uplink_data: None,
            ..request.clone()
        };
        let whole = self.whole(request);
        self.initial(
            |container| {
                Uplink::RegistrationRequest(Box::new(RegistrationRequest { container, ..shown }))
            },
            &whole,
        )
    }

    /// The message with which it leaves; none without a name. An idle UE does not cipher what it
    /// says first.
    pub fn deregister(&mut self, switch_off: bool, is_connected: bool) -> Option<Vec<u8>> {
        let identity = MobileIdentity::Guti(self.guti?);
        let security = self.security.as_mut()?;
        let ngksi = security.context.ngksi();
        let request = DeregistrationRequest {
            switch_off,
            ngksi,
            identity,
        };
        let plain = Uplink::DeregistrationRequest(request).encode();
        if switch_off {
            self.sessions.clear();
            self.state = UeState::Deregistered;
        }
        let header = if is_connected {
            Header::Ciphered
        } else {
            Header::Integrity
        };
        protect(security, header, &plain)
    }

    /// Deregisters the UE without a message.
    pub fn deregister_locally(&mut self) {
        self.sessions.clear();
        self.state = UeState::Deregistered;
    }

    /// The message with which an idle UE comes back; none without a name.
    pub fn request_service(&mut self) -> Option<Vec<u8>> {
        let request = self.service_request()?;
        Some(self.come_back(request))
    }

    /// The same of a UE that was called: mobile terminated services.
    pub fn answer_page(&mut self) -> Option<Vec<u8>> {
        let request = ServiceRequest {
            kind: 2,
            ..self.service_request()?
        };
        Some(self.come_back(request))
    }

    fn come_back(&mut self, request: ServiceRequest) -> Vec<u8> {
        let shown = ServiceRequest {
            session_status: None,
            uplink_data: None,
            ..request.clone()
        };
        let whole = Uplink::ServiceRequest(request).encode();
        let message = |container| Uplink::ServiceRequest(ServiceRequest { container, ..shown });
        self.initial(message, &whole)
    }

    /// The message with which a connected UE wants user planes up: ciphered whole; none without a name.
    pub fn request_user_planes(&mut self) -> Option<Vec<u8>> {
        let request = self.service_request()?;
        Some(self.protect(&Uplink::ServiceRequest(request)))
    }

    /// Key set identifier in the UE's messages.
    fn ngksi(&self) -> u8 {
        let security = self.security.as_ref();
        let security = security.filter(|_| !self.behaviour.names_no_key);
        security.map_or(NO_KEY, |security| security.context.ngksi())
    }

    fn service_request(&mut self) -> Option<ServiceRequest> {
        self.refused = None;
        let identity = MobileIdentity::STmsi(self.guti?.s_tmsi());
        let has_data = self.sessions.wants_up();
        Some(ServiceRequest {
            ngksi: self.ngksi(),
            // An answer to paging, data, or signalling alone (TS 24.501, 9.11.3.50).
            kind: if self.is_paged {
                2
            } else {
                u8::from(has_data != 0)
            },
            identity,
            session_status: Some(self.sessions.status()),
            uplink_data: (has_data != 0).then_some(has_data),
            container: None,
        })
    }

    /// PDU sessions of the UE.
    pub fn sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// PDU sessions of the UE.
    pub fn sessions_mut(&mut self) -> &mut Sessions {
        &mut self.sessions
    }

    /// The message that asks for a session.
    pub fn establish(&mut self, session: u8, wanted: &WantedSession) -> Vec<u8> {
        let payload = self.sessions.establish(session, wanted);
        self.protect(&Uplink::UlNasTransport(Box::new(payload)))
    }

    /// The message that releases a session.
    pub fn release(&mut self, session: u8) -> Vec<u8> {
        let payload = self.sessions.release(session);
        self.protect(&Uplink::UlNasTransport(Box::new(payload)))
    }

    /// Any message, protected; empty without keys.
    pub fn protect(&mut self, message: &Uplink) -> Vec<u8> {
        let security = self.security.as_mut();
        security
            .and_then(|security| protect(security, Header::Ciphered, &message.encode()))
            .unwrap_or_default()
    }

    /// SUPI of the UE's SIM.
    pub fn supi(&self) -> Option<sluice_ids::Supi> {
        self.sim.supi()
    }

    fn identity(&mut self) -> MobileIdentity {
        match self.guti {
            Some(guti) => MobileIdentity::Guti(guti),
            None => self.suci(),
        }
    }

    fn suci(&mut self) -> MobileIdentity {
        self.seed = self.seed.wrapping_add(1).max(1);
        self.sim
            .suci(self.random.map(|octet| octet ^ self.seed))
            .map_or(MobileIdentity::None, MobileIdentity::Suci)
    }

    /// A registration request with all that it asks for.
    fn whole(&self, request: RegistrationRequest) -> Vec<u8> {
        let request = Uplink::RegistrationRequest(Box::new(request)).encode();
        [&request[..], &self.wishes].concat()
    }

    /// An initial message: plain without keys, else integrity protected with the whole inside.
    fn initial(
        &mut self,
        message: impl FnOnce(Option<Vec<u8>>) -> Uplink,
        whole: &[u8],
    ) -> Vec<u8> {
        let Some(security) = self.security.as_mut() else {
            return message(None).encode();
        };
        let mut container = whole.to_vec();
        let count = security.context.next_sent().unwrap_or_default();
        security.context.cipher_container(count, &mut container);
        let plain = message(Some(container)).encode();
        let mut octets = protect(security, Header::Integrity, &plain).unwrap_or_default();
        if self.behaviour.wrong_mac {
            octets[2] ^= 1;
        }
        octets
    }

    /// Takes a message, and gives those that answer it.
    pub fn receive(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        if self.received.len() >= RECEIVED {
            self.received.drain(..RECEIVED / 2);
        }
        let answer = match Envelope::open(octets) {
            Some(Envelope::Plain(plain)) => Downlink::decode(plain)
                .ok()
                .and_then(|message| self.plain(message)),
            Some(Envelope::Protected(message)) if message.header == Header::IntegrityNew => {
                self.security_mode(&message)
            }
            Some(Envelope::Protected(message)) => self.protected(&message),
            None => None,
        };
        answer
            .filter(|_| !self.behaviour.silent)
            .into_iter()
            .collect()
    }

    /// Handles a message that needs no protection.
    fn plain(&mut self, message: Downlink) -> Option<Vec<u8>> {
        self.received.push(message.name());
        match message {
            Downlink::AuthenticationRequest(request) => {
                let answer = self.authenticate(&request);
                self.answer_plain(&answer)
            }
            Downlink::EapRequest(request) => {
                let answer = self.answer_eap(&request)?;
                self.answer_plain(&answer)
            }
            Downlink::AuthenticationResult(result) => {
                self.take_eap(&result.eap);
                None
            }
            Downlink::IdentityRequest(IdentityKind::Suci) => {
                let answer = Uplink::IdentityResponse(self.suci());
                self.answer_plain(&answer)
            }
            refusal @ (Downlink::RegistrationReject(_)
            | Downlink::AuthenticationReject
            | Downlink::EapReject(_)
            | Downlink::ServiceReject(_)) => {
                self.refuse(refusal);
                None
            }
            _ => None,
        }
    }

    fn refuse(&mut self, refusal: Downlink) {
        // It stays registered, and tries again later (TS 24.501, 5.6.1.5).
        if matches!(&refusal, Downlink::ServiceReject(reject) if reject.cause == Cause::CONGESTION)
        {
            self.refused = Some(refusal);
            return;
        }
        self.state = UeState::Deregistered;
        self.security = None;
        self.guti = None;
        self.sessions.clear();
        self.refused = Some(refusal);
    }

    /// Security Mode Command, protected with keys that it tells of.
    fn security_mode(&mut self, message: &Protected<'_>) -> Option<Vec<u8>> {
        let Ok(Downlink::SecurityModeCommand(command)) = Downlink::decode(message.readable()?)
        else {
            return None;
        };
        self.received.push("Security Mode Command");
        let reject = |cause| Some(Uplink::SecurityModeReject(cause).encode());
        if let Some(eap) = &command.eap {
            self.take_eap(eap);
        }
        let Some(mut security) = self.keys_of(&command, message) else {
            return reject(Cause::SECURITY_MODE_REJECTED);
        };
        if security.context.verify(message).is_none() {
            return reject(Cause::SECURITY_MODE_REJECTED);
        }
        if self.behaviour.refuse_security_mode || command.capability != self.capability {
            return reject(Cause::SECURITY_CAPABILITIES_MISMATCH);
        }
        let answer = self.complete(&command).encode();
        let octets = protect(&mut security, Header::CipheredNew, &answer);
        (self.security, self.fresh) = (Some(security), None);
        octets
    }

    fn complete(&self, command: &SecurityModeCommand) -> Uplink {
        let imeisv = self
            .imeisv
            .filter(|_| command.ask_imeisv)
            .map(MobileIdentity::Imeisv);
        // Whole, where it was sent without keys, or where the network asks for it (TS 24.501, 5.4.2.3).
        let request = self.request.clone();
        let is_wanted =
            |request: &RegistrationRequest| request.ngksi == NO_KEY || command.ask_initial_message;
        let whole = request.filter(is_wanted).map(|request| self.whole(request));
        Uplink::SecurityModeComplete {
            imeisv,
            container: whole,
        }
    }

    fn protected(&mut self, message: &Protected<'_>) -> Option<Vec<u8>> {
        let verified = self.security.as_mut()?.context.verify(message)?;
        let message = Downlink::decode(&verified.plain).ok()?;
        self.received.push(message.name());
        let answer = match message {
            Downlink::RegistrationAccept(accept) => {
                let renamed = accept.guti.is_some();
                self.guti = accept.guti.or(self.guti);
                self.sessions.keep(accept.session_status);
                self.accept = Some(*accept);
                self.state = UeState::Registered;
                let completes = renamed && !self.behaviour.no_complete;
                completes.then_some(Uplink::RegistrationComplete)?
            }
            Downlink::AuthenticationRequest(request) => self.authenticate(&request),
            Downlink::EapRequest(request) => self.answer_eap(&request)?,
            Downlink::AuthenticationResult(result) => {
                self.take_eap(&result.eap);
                return None;
            }
            Downlink::IdentityRequest(IdentityKind::Suci) => Uplink::IdentityResponse(self.suci()),
            Downlink::ServiceAccept { session_status, .. } => {
                self.sessions.keep(session_status);
                self.services += 1;
                return None;
            }
            Downlink::DlNasTransport {
                session: Some(session),
                cause,
                back_off_s,
                payload,
                ..
            } => {
                self.sessions.back_off_s = back_off_s.or(self.sessions.back_off_s);
                let answer = self.sessions.receive(session, cause, &payload)?;
                Uplink::UlNasTransport(Box::new(answer))
            }
            Downlink::ConfigurationUpdateCommand(update) => {
                self.guti = update.guti.or(self.guti);
                let completes = update.acknowledge && !self.behaviour.no_complete;
                self.told = Some(update);
                completes.then_some(Uplink::ConfigurationUpdateComplete)?
            }
            Downlink::DeregistrationRequest {
                registers_again,
                cause,
            } => {
                self.sessions.clear();
                self.state = UeState::Deregistered;
                self.sent_away = Some((registers_again, cause));
                Uplink::DeregistrationAccept
            }
            Downlink::DeregistrationAccept => {
                self.sessions.clear();
                self.state = UeState::Deregistered;
                return None;
            }
            refusal @ (Downlink::RegistrationReject(_)
            | Downlink::AuthenticationReject
            | Downlink::EapReject(_)
            | Downlink::ServiceReject(_)) => {
                self.refuse(refusal);
                return None;
            }
            _ => return None,
        };
        protect(self.security.as_mut()?, Header::Ciphered, &answer.encode())
    }
}

/// Protects a message; only what begins a context of the gNB counts for KgNB: Security Mode
/// Complete, and initial messages (TS 33.501, 6.8.1.1.2 and A.9).
fn protect(security: &mut Security, header: Header, plain: &[u8]) -> Option<Vec<u8>> {
    let count = security.context.next_sent()?;
    let octets = security.context.protect(header, plain)?;
    if header != Header::Ciphered {
        security.last_uplink = count;
    }
    Some(octets)
}
