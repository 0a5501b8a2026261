//! Messages of UEs: whether they are who they say, and what they begin (TS 24.501, 4.4.4.3).

use sluice_ids::{Dnn, Guti, Snssai};
use sluice_n1::{
    Cause, Downlink, Envelope, Header, MobileIdentity, N1_SM, Protected, RegistrationKind,
    RegistrationRequest, RequestType, Uplink, UplinkPayload,
};
use sluice_sbi::SmChange;
use sluice_security::NasCount;

use crate::Amf;
use crate::context::state::State;
use crate::context::ue::{ConnectionId, SmContext, Ue, UeId};
use crate::messages::collisions::{Decision, Input};
use crate::messages::n2::number;
use crate::procedure::Event;
use crate::procedure::deregistration;
use crate::procedure::registration::{self, Request};
use crate::procedure::service_request;
use crate::refusal_text;
use crate::sessions;

/// A message and how much it is to be trusted.
struct Opened {
    message: Uplink,
    /// The count with which its MAC was right.
    verified: Option<NasCount>,
    /// The message had a wrong MAC, or one of unknown keys.
    is_suspect: bool,
    /// Octets of a message that another AMF may know the keys of; none of others.
    nas: Vec<u8>,
}

impl Opened {
    /// Whether it begins with an authentication.
    fn is_strange_registration(&self) -> bool {
        let is_registration = matches!(self.message, Uplink::RegistrationRequest(_));
        is_registration && self.verified.is_none()
    }
}

impl Amf {
    /// The first message on a connection, of a UE that may be one that we know.
    pub(crate) fn initial_nas(&mut self, new: UeId, octets: &[u8]) {
        let Some(envelope) = Envelope::open(octets) else {
            self.state.borrow_mut().counters.unreadable_nas += 1;
            return;
        };
        let (plain, protected) = match envelope {
            Envelope::Plain(plain) => (Some(plain), None),
            // An initial message is never ciphered as a whole.
            Envelope::Protected(protected) => (protected.readable(), Some(protected)),
        };
        let Some(message) = plain.and_then(|plain| self.read(new, plain, true)) else {
            return;
        };
        let known = protected.and_then(|message_of| {
            let state = &mut *self.state.borrow_mut();
            verify_initial(state, &message, &message_of)
        });
        match known {
            Some((ue, count)) => {
                // It is that UE: the connection is its own, and what it did before is over.
                self.lose_ue_for(ue, new);
                self.state.borrow_mut().see_as(new, ue);
                let message = self.decipher(ue, count, message);
                self.of_ue_nas(
                    ue,
                    Opened {
                        message,
                        verified: Some(count),
                        is_suspect: false,
                        nas: Vec::new(),
                    },
                );
            }
            None => {
                let is_suspect = protected.is_some();
                {
                    let state = &mut *self.state.borrow_mut();
                    // Keys of a name of another AMF are not known here, but there.
                    let is_wrong = is_suspect && !is_of_other_amf(state, &message);
                    state.counters.wrong_macs += u64::from(is_wrong);
                }
                self.of_ue_nas(
                    new,
                    Opened {
                        message,
                        verified: None,
                        is_suspect,
                        nas: octets.to_vec(),
                    },
                );
            }
        }
    }

    /// A further message on a connection.
    pub(crate) fn nas(&mut self, ue: UeId, octets: &[u8]) {
        let Some(envelope) = Envelope::open(octets) else {
            self.state.borrow_mut().counters.unreadable_nas += 1;
            return;
        };
        let opened = match envelope {
            Envelope::Plain(plain) => {
                let message = self.read(ue, plain, false);
                message.map(|message| Opened {
                    message,
                    verified: None,
                    is_suspect: false,
                    nas: Vec::new(),
                })
            }
            Envelope::Protected(protected) => self.open(ue, &protected),
        };
        match opened {
            // What begins anew on the way to another gNB waits until the UE is there.
            Some(opened) if opened.is_strange_registration() && self.defers(ue) => {
                let state = &mut *self.state.borrow_mut();
                state.counters.deferred += 1;
                if let Some(ue) = state.ues.get_mut(ue.0) {
                    ue.deferred = Some(octets.to_vec());
                }
            }
            Some(opened) => self.of_ue_nas(ue, opened),
            None => {}
        }
    }

    /// Whether a UE that begins anew waits: its gNBs use the keys that it has (TS 33.501, 6.9.5.1).
    fn defers(&self, ue: UeId) -> bool {
        let state = self.state.borrow();
        state.on_its_way(ue, Input::StrangeRegistration) == Decision::Later
    }

    /// Verifies and reads a protected message.
    fn open(&mut self, ue: UeId, protected: &Protected<'_>) -> Option<Opened> {
        let verified = verify(&mut self.state.borrow_mut(), ue, protected);
        if let Some(verified) = verified {
            let message = self.read(ue, &verified.plain, true)?;
            // A connected UE ciphers the whole; one that says it as if it were idle is understood, too.
            let message = self.decipher(ue, verified.count, message);
            return Some(Opened {
                message,
                verified: Some(verified.count),
                is_suspect: false,
                nas: Vec::new(),
            });
        }
        // A UE that does not know that it is unknown here protects what need not be: it counts as unprotected.
        let named = verify_named(&mut self.state.borrow_mut(), ue, protected);
        if let Some(plain) = named {
            let message = self.read(ue, &plain, false)?;
            return Some(Opened {
                message,
                verified: None,
                is_suspect: false,
                nas: Vec::new(),
            });
        }
        self.state.borrow_mut().counters.wrong_macs += 1;
        let Some(plain) = protected.readable() else {
            self.state.borrow_mut().not_understood(ue);
            return None;
        };
        let message = self.read(ue, plain, false)?;
        Some(Opened {
            message,
            verified: None,
            is_suspect: true,
            nas: Vec::new(),
        })
    }

    fn of_ue_nas(&mut self, ue: UeId, opened: Opened) {
        let Opened {
            message,
            verified,
            is_suspect,
            nas,
        } = opened;
        let is_verified = verified.is_some();
        if !is_verified && !message.may_be_unprotected() {
            self.state.borrow_mut().counters.unprotected += 1;
            return;
        }
        let is_begin = match &message {
            Uplink::RegistrationRequest(_) | Uplink::ServiceRequest(_) => true,
            Uplink::UlNasTransport(payload) => payload.begins_session(),
            _ => false,
        };
        let step = if is_begin {
            "1"
        } else {
            number(self.step_of(ue).unwrap_or_default())
        };
        self.state
            .borrow_mut()
            .line("UE", "AMF", step, describe(&message), ue);
        // An answer after security was there must have a MAC that is right.
        let is_secured = self
            .state
            .borrow()
            .connection(ue)
            .is_some_and(|(_, c)| c.is_secured);
        let is_trusted = is_verified || !is_secured;
        if is_trusted && self.tell(ue, Event::Nas(message.clone())) {
            return;
        }
        match self.decide(ue, &message, is_verified) {
            Decision::Begin | Decision::Beside => {
                self.begin(ue, message, is_verified, (is_suspect, nas));
            }
            Decision::Repeat => {
                self.tell(ue, Event::Again);
            }
            Decision::Ignore | Decision::Refuse | Decision::Later => {
                self.state.borrow_mut().counters.unexpected += 1
            }
            Decision::NotCompatible => {
                let state = &mut *self.state.borrow_mut();
                state.counters.unexpected += 1;
                let status = Downlink::Status(Cause::NOT_COMPATIBLE_WITH_STATE);
                state.send_nas(ue, &status, "");
            }
        }
    }

    fn begin(
        &mut self,
        ue: UeId,
        message: Uplink,
        is_verified: bool,
        (is_suspect, nas): (bool, Vec<u8>),
    ) {
        match message {
            // Beyond a bound nobody begins who has to be authenticated.
            Uplink::RegistrationRequest(_) | Uplink::ServiceRequest(_)
                if !is_verified && self.sheds(ue) => {}
            // Strangers wait until there is less to do; T3346 may not be told without protection.
            Uplink::RegistrationRequest(message)
                if !is_verified
                    && message.kind == RegistrationKind::Initial
                    && self.state.borrow().is_overload_wanted() =>
            {
                let state = &mut *self.state.borrow_mut();
                let cause = Cause::CONGESTION;
                let reason = refusal_text::by_cause(cause);
                state.refused(ue, None, "Registration", cause.to_string(), reason);
                state.send_nas(ue, &Downlink::RegistrationReject(cause.into()), "");
            }
            Uplink::RegistrationRequest(message) => {
                self.abort(ue);
                let key_names = self.state.borrow().key_names(ue);
                let ue = if is_verified {
                    ue
                } else {
                    apart(&mut self.state.borrow_mut(), ue)
                };
                if let Some(ue) = self.state.borrow_mut().ues.get_mut(ue.0) {
                    ue.request = Some(message.clone());
                }
                let request = Request {
                    message: *message,
                    is_verified,
                    is_suspect,
                    nas,
                    key_names,
                };
                self.start(ue, |p| registration::run(p, request));
            }
            Uplink::DeregistrationRequest(request) => {
                self.abort(ue);
                self.start(ue, |p| deregistration::run(p, request));
            }
            Uplink::ServiceRequest(request) if is_verified && self.is_registered(ue) => {
                self.end_renaming(ue);
                self.start(ue, |p| service_request::run(p, request));
            }
            // Neither a name nor keys that are known here: the UE registers anew.
            Uplink::ServiceRequest(request) => {
                let mut state = self.state.borrow_mut();
                let cause = match request.identity {
                    // It was being deregistered.
                    _ if is_verified => Cause::IMPLICITLY_DEREGISTERED,
                    MobileIdentity::STmsi(name) if state.has_departed(name) => {
                        Cause::IMPLICITLY_DEREGISTERED
                    }
                    _ => Cause::IDENTITY_UNKNOWN,
                };
                let reject = Downlink::ServiceReject(cause.into());
                let reason = refusal_text::by_cause(cause);
                state.refused(ue, None, "Service Request", cause.to_string(), reason);
                state.send_nas(ue, &reject, "");
                drop(state);
                self.end_if_idle(ue);
            }
            Uplink::UlNasTransport(payload) => self.payload(ue, *payload),
            _ => {}
        }
    }

    fn is_registered(&self, ue: UeId) -> bool {
        let state = self.state.borrow();
        let known = state.ues.get(ue.0);
        known.is_some_and(|ue| ue.registered.is_some())
    }

    /// UL NAS Transport: a message of a UE for an SMF (TS 24.501, 5.4.5.2.3).
    fn payload(&mut self, ue: UeId, payload: UplinkPayload) {
        let is_registered = self.is_registered(ue);
        let session = payload.session.filter(|session| (1..16).contains(session));
        let (true, N1_SM, Some(session)) = (is_registered, payload.kind, session) else {
            return self.give_back(ue, payload);
        };
        let (known, is_busy) = match self.state.borrow_mut().session_mut(ue, session) {
            Some(known) => (known.context.is_some(), known.task.is_some()),
            None => (false, false),
        };
        match payload.request {
            // The SMF has not answered yet; the UE asks again if it must.
            _ if is_busy => self.state.borrow_mut().counters.unexpected += 1,
            Some(RequestType::Initial) if payload.is_establishment() => {
                self.begin_session(ue, session, payload);
            }
            // What is not about a new session is the SMF's that has it, whatever Request type it bears.
            request
                if known
                    && (matches!(request, None | Some(RequestType::Modification))
                        || !payload.is_establishment()) =>
            {
                let state = &mut *self.state.borrow_mut();
                state.update_session(ue, session, "1", SmChange::N1, &payload.payload);
            }
            _ => self.give_back(ue, payload),
        }
    }

    fn begin_session(&mut self, ue: UeId, session: u8, payload: UplinkPayload) {
        if let Some(ue) = self.state.borrow_mut().ues.get_mut(ue.0) {
            ue.sessions.entry(session).or_insert(SmContext {
                slice: Snssai::new(0, None),
                dnn: Dnn::NONE,
                context: None,
                is_up: false,
                is_asked: false,
                task: None,
            });
        }
        self.start_session(ue, session, payload);
    }

    fn give_back(&mut self, ue: UeId, payload: UplinkPayload) {
        let answer = sessions::returned(payload, Cause::PAYLOAD_NOT_FORWARDED);
        self.state.borrow_mut().send_nas(ue, &answer, "");
    }

    /// A UE that we know has come on a new connection.
    fn lose_ue_for(&mut self, known: UeId, new: UeId) {
        self.end_paging(known);
        self.abort(known);
        let state = &mut *self.state.borrow_mut();
        state.let_go(known);
        if state
            .ues
            .get(known.0)
            .is_some_and(|ue| ue.connection.is_some())
        {
            crate::procedure::release::command(state, known, sluice_n2::Cause::FROM_5GC);
            state.disconnect(known);
        }
        let connection = state.ues.get_mut(new.0).and_then(|ue| ue.connection.take());
        adopt(state, known, connection);
        state.remove(new);
    }

    /// The whole message, which a UE with keys sends ciphered inside of what may be shown.
    fn decipher(&mut self, ue: UeId, count: NasCount, message: Uplink) -> Uplink {
        let container = match &message {
            Uplink::RegistrationRequest(outer) => outer.container.clone(),
            Uplink::ServiceRequest(outer) => outer.container.clone(),
            _ => None,
        };
        let Some(mut container) = container else {
            return message;
        };
        let state = &mut *self.state.borrow_mut();
        if let Some(security) = state.ues.get(ue.0).and_then(|ue| ue.security.as_ref()) {
            security.context.cipher_container(count, &mut container);
        }
        state.see_whole(ue, &container);
        match (Uplink::decode(&container), message) {
            (Ok(Uplink::RegistrationRequest(inner)), Uplink::RegistrationRequest(outer)) => {
                let kind = outer.kind;
                Uplink::RegistrationRequest(Box::new(RegistrationRequest { kind, ..*inner }))
            }
            (Ok(Uplink::ServiceRequest(inner)), Uplink::ServiceRequest(_)) => {
                Uplink::ServiceRequest(inner)
            }
            (_, outer) => outer,
        }
    }
}

/// The connection becomes that of a UE whose MAC was right.
fn adopt(state: &mut State, ue: UeId, id: Option<ConnectionId>) {
    if let Some(connection) = id.and_then(|id| state.connections.get_mut(id.0)) {
        connection.ue = ue;
        connection.is_secured = true;
    }
    state.give_connection(ue, id);
}

/// A UE that has not proved to be the one whose connection this is gets a context of its own: the
/// registered one is idle from now on, and nothing of it is changed.
fn apart(state: &mut State, id: UeId) -> UeId {
    // Whose connection it is may not be who was to go.
    state.fail_handover(id, sluice_n2::Cause::INTERACTION);
    state.end_handover(id, sluice_n2::Cause::FROM_5GC);
    let is_known = state.ues.get(id.0).is_some_and(|ue| ue.security.is_some());
    let new = if is_known {
        state.ues.insert(Ue::default()).map(UeId)
    } else {
        None
    };
    let Some(new) = new else {
        return id;
    };
    let connection = state.ues.get_mut(id.0).and_then(|ue| ue.connection.take());
    adopt(state, new, connection);
    if let Some(connection) = state.connection_mut(new) {
        connection.is_secured = false;
        let gnb = connection.association;
        state.count_unauthenticated(new, gnb);
    }
    state.watch_idle(id);
    state.deactivate_sessions(id);
    state.forget_if_unknown(id);
    new
}

/// The UE that an initial message names, if its MAC is right with that UE's keys. Whatever ngKSI it tells: one that has
/// no key to show (7) has shown it.
fn verify_initial(
    state: &mut State,
    message: &Uplink,
    protected: &Protected<'_>,
) -> Option<(UeId, NasCount)> {
    let identity = match message {
        Uplink::RegistrationRequest(m) => m.identity,
        Uplink::DeregistrationRequest(m) => m.identity,
        Uplink::ServiceRequest(m) => m.identity,
        _ => return None,
    };
    let guti = named(state, identity)?;
    let id = state.find(&guti)?;
    let security = state.ues.get_mut(id.0)?.security.as_mut()?;
    let verified = security.context.verify(protected)?;
    security.last_uplink = verified.count;
    // Who uses its new name has taken it, though the AMF did not hear so (TS 24.501, 5.4.4.6 a).
    if state.ues.get(id.0).is_some_and(|ue| ue.guti == Some(guti)) {
        state.forget_old_name(id);
    }
    Some((id, verified.count))
}

/// Whether another AMF has named the UE.
fn is_of_other_amf(state: &State, message: &Uplink) -> bool {
    let Uplink::RegistrationRequest(request) = message else {
        return false;
    };
    let own = state.config.guami;
    matches!(request.identity, MobileIdentity::Guti(guti) if guti.guami != own)
}

/// 5G-GUTI in an identity, if an AMF assigned it.
fn named(state: &State, identity: MobileIdentity) -> Option<Guti> {
    match identity {
        MobileIdentity::Guti(guti) => Some(guti),
        MobileIdentity::STmsi(s_tmsi) => {
            let (guami, tmsi) = (state.config.guami, s_tmsi.tmsi);
            Some(Guti { guami, tmsi }).filter(|guti| guti.s_tmsi() == s_tmsi)
        }
        _ => None,
    }
}

/// The plain message of one that is protected with the keys of the name that the UE gave when it began, though those
/// have not verified it then: an answer to a challenge may be (TS 24.501, 4.4.4.2 and 4.4.5).
fn verify_named(state: &mut State, id: UeId, protected: &Protected<'_>) -> Option<Vec<u8>> {
    let request = state.ues.get(id.0)?.request.as_ref()?;
    let guti = named(state, request.identity)?;
    let known = state.find(&guti).filter(|known| *known != id)?;
    let security = state.ues.get_mut(known.0)?.security.as_mut()?;
    let verified = security.context.verify(protected)?;
    Some(verified.plain)
}

/// Verifies with the keys in use, or, for what a Security Mode Command has told of, with the new
/// ones: from then on these are in use.
fn verify(
    state: &mut State,
    id: UeId,
    protected: &Protected<'_>,
) -> Option<sluice_n1::protection::Verified> {
    let ue = state.ues.get_mut(id.0)?;
    let is_new = protected.header == Header::CipheredNew;
    let security = if is_new {
        ue.new_security.as_mut()
    } else {
        ue.security.as_mut()
    }?;
    let verified = security.context.verify(protected)?;
    if is_new {
        security.last_uplink = verified.count;
        ue.security = ue.new_security.take();
        if let Some(connection) = state.connection_mut(id) {
            connection.is_secured = true;
        }
    }
    Some(verified)
}

/// A message and the cause in it.
fn describe(message: &Uplink) -> String {
    match message {
        Uplink::AuthenticationFailure { cause, .. }
        | Uplink::SecurityModeReject(cause)
        | Uplink::Status(cause) => format!("{} {cause}", message.name()),
        message => message.name().to_owned(),
    }
}
