//! Messages of a UE to the AMF (TS 24.501, 8.2).

use oxirush_nas::nas_5gs as nas;
use oxirush_nas::nas_5gs::Nas5gmmMessage;
use sluice_ids::Snssai;
use sluice_security::{Auts, ResStar, SecurityCapability};

use crate::cause::Cause;
use crate::codec::{self, Unreadable};
use crate::identity::MobileIdentity;
use crate::lists;
use crate::session::{self, N1_SM};

/// ngKSI of a UE that has no keys.
pub const NO_KEY: u8 = 7;

/// A message from a UE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Uplink {
    /// 8.2.6
    RegistrationRequest(Box<RegistrationRequest>),
    /// 8.2.8
    RegistrationComplete,
    /// 8.2.12
    DeregistrationRequest(DeregistrationRequest),
    /// 8.2.14
    DeregistrationAccept,
    /// 8.2.16
    ServiceRequest(ServiceRequest),
    /// 8.2.2
    AuthenticationResponse(ResStar),
    /// 8.2.2, of EAP: a packet for the home network.
    EapResponse(Vec<u8>),
    /// 8.2.4
    AuthenticationFailure {
        /// Why.
        cause: Cause,
        /// With a synch failure.
        auts: Option<Auts>,
    },
    /// 8.2.22
    IdentityResponse(MobileIdentity),
    /// 8.2.26
    SecurityModeComplete {
        /// Which device it is, if that was asked.
        imeisv: Option<MobileIdentity>,
        /// The whole initial message.
        container: Option<Vec<u8>>,
    },
    /// 8.2.27
    SecurityModeReject(Cause),
    /// 8.2.20
    ConfigurationUpdateComplete,
    /// 8.2.10
    UlNasTransport(Box<UplinkPayload>),
    /// 8.2.29
    Status(Cause),
    /// A message that only a network sends, or of a service that is not offered here.
    Other,
}

/// UL NAS Transport: a payload for another function, and what says for which.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct UplinkPayload {
    /// Payload container type.
    pub kind: u8,
    /// PDU session.
    pub session: Option<u8>,
    /// Request type; none for an existing session.
    pub request: Option<RequestType>,
    /// The slice; none leaves it to the network.
    pub slice: Option<Snssai>,
    /// The data network's name, as labels; none leaves it to the network.
    pub dnn: Option<Vec<u8>>,
    /// The payload.
    pub payload: Vec<u8>,
}

impl UplinkPayload {
    /// Whether it begins a session: a Request type says so of an Establishment Request alone, and of another message
    /// inside it says nothing (TS 24.501, 5.4.5.2.2 and 6.4.1.2).
    pub fn begins_session(&self) -> bool {
        self.request == Some(RequestType::Initial) && self.is_establishment()
    }

    /// Whether a PDU Session Establishment Request is inside.
    pub fn is_establishment(&self) -> bool {
        self.kind == N1_SM && session::is_establishment_request(&self.payload)
    }
}

/// Request type (TS 24.501, 9.11.3.47).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RequestType {
    /// A new one.
    Initial = 1,
    /// One that it has over another access.
    Existing = 2,
    /// A new one for emergency calls.
    InitialEmergency = 3,
    /// One for emergency calls that it has over another access.
    ExistingEmergency = 4,
    /// A change of one that is there.
    Modification = 5,
    /// One over several accesses.
    MultiAccess = 6,
}

impl RequestType {
    /// Reserved values count as initial.
    fn from_number(number: u8) -> Self {
        match number & 7 {
            2 => Self::Existing,
            3 => Self::InitialEmergency,
            4 => Self::ExistingEmergency,
            5 => Self::Modification,
            6 => Self::MultiAccess,
            _ => Self::Initial,
        }
    }
}

/// 5GS registration type (TS 24.501, 9.11.3.7).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RegistrationKind {
    /// Initial registration.
    Initial,
    /// Mobility registration updating.
    Mobility,
    /// Periodic registration updating.
    Periodic,
    /// For emergency calls.
    Emergency,
}

impl RegistrationKind {
    /// Reserved values count as initial.
    fn from_number(number: u8) -> Self {
        match number & 7 {
            2 => Self::Mobility,
            3 => Self::Periodic,
            4 => Self::Emergency,
            _ => Self::Initial,
        }
    }

    fn number(self) -> u8 {
        match self {
            Self::Initial => 1,
            Self::Mobility => 2,
            Self::Periodic => 3,
            Self::Emergency => 4,
        }
    }
}

/// Registration Request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RegistrationRequest {
    /// Which kind.
    pub kind: RegistrationKind,
    /// The UE has more to say and wants its connection kept.
    pub follow_on: bool,
    /// ngKSI of the UE's keys, or [`NO_KEY`].
    pub ngksi: u8,
    /// How it calls itself.
    pub identity: MobileIdentity,
    /// 5GMM capability (9.11.3.1): what else the UE can.
    pub mm_capability: Option<Vec<u8>>,
    /// UE security capability.
    pub capability: Option<SecurityCapability>,
    /// Slices that it wants; none if it names none.
    pub requested_nssai: Option<Vec<Snssai>>,
    /// PDU sessions that it has, a bit for each.
    pub session_status: Option<u16>,
    /// Uplink data status: sessions whose user plane is requested, a bit for each.
    pub uplink_data: Option<u16>,
    /// The DRX value that it wants.
    pub drx: Option<u8>,
    /// Whether the radio capability differs from the one that gNBs know (NG-RAN-RCU in the 5GS update type, 9.11.3.9A).
    pub has_new_radio: bool,
    /// The whole message, ciphered, where this one has only what may be shown.
    pub container: Option<Vec<u8>>,
}

impl RegistrationRequest {
    /// An initial registration with nothing but an identity and capabilities.
    pub fn initial(identity: MobileIdentity, capability: SecurityCapability) -> Self {
        Self {
            kind: RegistrationKind::Initial,
            follow_on: false,
            ngksi: NO_KEY,
            identity,
            mm_capability: None,
            capability: Some(capability),
            requested_nssai: None,
            session_status: None,
            uplink_data: None,
            drx: None,
            has_new_radio: false,
            container: None,
        }
    }
}

/// Deregistration Request of a UE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DeregistrationRequest {
    /// Whether the UE is switched off, and expects no answer.
    pub switch_off: bool,
    /// ngKSI of the UE's keys.
    pub ngksi: u8,
    /// How it calls itself.
    pub identity: MobileIdentity,
}

/// Service Request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ServiceRequest {
    /// ngKSI of the UE's keys.
    pub ngksi: u8,
    /// Service type (TS 24.501, 9.11.3.50).
    pub kind: u8,
    /// How it calls itself.
    pub identity: MobileIdentity,
    /// PDU sessions that it has, a bit for each.
    pub session_status: Option<u16>,
    /// Uplink data status: sessions with data to send, a bit for each.
    pub uplink_data: Option<u16>,
    /// The whole message, ciphered, where this one has only what may be shown.
    pub container: Option<Vec<u8>>,
}

impl Uplink {
    /// Reads a plain message.
    pub fn decode(octets: &[u8]) -> Result<Self, Unreadable> {
        Ok(match codec::decode(octets)? {
            Nas5gmmMessage::RegistrationRequest(m) => {
                Self::RegistrationRequest(Box::new(registration_request(&m)))
            }
            Nas5gmmMessage::RegistrationComplete(_) => Self::RegistrationComplete,
            Nas5gmmMessage::DeregistrationRequestUeOriginating(m) => {
                Self::DeregistrationRequest(DeregistrationRequest {
                    switch_off: m.de_registration_type.switch_off(),
                    ngksi: m.ngksi.value & 7,
                    identity: MobileIdentity::read(&m.fgs_mobile_identity.value),
                })
            }
            Nas5gmmMessage::DeregistrationAcceptUeTerminated(_) => Self::DeregistrationAccept,
            Nas5gmmMessage::ServiceRequest(m) => Self::ServiceRequest(ServiceRequest {
                ngksi: m.ngksi.value & 7,
                kind: m.service_type.value & 15,
                identity: MobileIdentity::read(&m.fg_s_tmsi.value),
                session_status: m
                    .pdu_session_status
                    .as_ref()
                    .and_then(|s| lists::status(&s.value)),
                uplink_data: m
                    .uplink_data_status
                    .as_ref()
                    .and_then(|s| lists::status(&s.value)),
                container: m.nas_message_container.as_ref().map(|c| c.value.to_vec()),
            }),
            Nas5gmmMessage::AuthenticationResponse(m) => {
                let parameter = m.authentication_response_parameter.as_ref();
                let res_star = parameter.and_then(|p| ResStar::try_from(&p.value[..]).ok());
                let eap = m.eap_message.as_ref().map(|eap| eap.value.to_vec());
                match (res_star, eap) {
                    (Some(res_star), _) => Self::AuthenticationResponse(res_star),
                    (None, Some(eap)) => Self::EapResponse(eap),
                    (None, None) => return Err(Unreadable::MANDATORY),
                }
            }
            Nas5gmmMessage::AuthenticationFailure(m) => {
                let parameter = m.authentication_failure_parameter.as_ref();
                let auts = parameter.and_then(|p| Auts::try_from(&p.value[..]).ok());
                Self::AuthenticationFailure {
                    cause: Cause(m.fgmm_cause.value),
                    auts,
                }
            }
            Nas5gmmMessage::IdentityResponse(m) => {
                Self::IdentityResponse(MobileIdentity::read(&m.mobile_identity.value))
            }
            Nas5gmmMessage::SecurityModeComplete(m) => Self::SecurityModeComplete {
                imeisv: m.imeisv.as_ref().map(|id| MobileIdentity::read(&id.value)),
                container: m.nas_message_container.as_ref().map(|c| c.value.to_vec()),
            },
            Nas5gmmMessage::SecurityModeReject(m) => {
                Self::SecurityModeReject(Cause(m.fgmm_cause.value))
            }
            Nas5gmmMessage::ConfigurationUpdateComplete(_) => Self::ConfigurationUpdateComplete,
            Nas5gmmMessage::UlNasTransport(m) => Self::UlNasTransport(Box::new(payload(&m))),
            Nas5gmmMessage::FiveGmmStatus(m) => Self::Status(Cause(m.fgmm_cause.value)),
            // Of small data on the control plane, which is not offered here (7.4).
            Nas5gmmMessage::ControlPlaneServiceRequest(_) => return Err(Unreadable::NOT_OFFERED),
            _ => Self::Other,
        })
    }

    /// The plain message's octets; none of [`Uplink::Other`].
    pub fn encode(&self) -> Vec<u8> {
        match self {
            Self::RegistrationRequest(m) => codec::encode(write_registration_request(m)),
            Self::RegistrationComplete => codec::encode(nas::NasRegistrationComplete::new()),
            Self::DeregistrationRequest(m) => {
                // Bit 4 says that it is switched off; 3GPP access is 1.
                let kind = nas::NasDeRegistrationType::new(u8::from(m.switch_off) << 3 | 1);
                let ngksi = nas::NasKeySetIdentifier::new(m.ngksi);
                let identity = nas::NasFGsMobileIdentity::new(m.identity.octets());
                codec::encode(nas::NasDeregistrationRequestUeOriginating::new(
                    kind, ngksi, identity,
                ))
            }
            Self::DeregistrationAccept => {
                codec::encode(nas::NasDeregistrationAcceptUeTerminated::new())
            }
            Self::ServiceRequest(m) => codec::encode(write_service_request(m)),
            Self::AuthenticationResponse(res_star) => {
                let parameter = nas::NasAuthenticationResponseParameter::new(res_star.to_vec());
                let message = nas::NasAuthenticationResponse::new();
                codec::encode(message.with_authentication_response_parameter(parameter))
            }
            Self::EapResponse(eap) => {
                let eap = nas::NasEapMessage::new(eap.clone());
                codec::encode(nas::NasAuthenticationResponse::new().with_eap_message(eap))
            }
            Self::AuthenticationFailure { cause, auts } => {
                let cause = nas::NasFGmmCause::new(cause.0);
                let mut message = nas::NasAuthenticationFailure::new(cause);
                if let Some(auts) = auts {
                    let auts = nas::NasAuthenticationFailureParameter::new(auts.to_vec());
                    message = message.with_authentication_failure_parameter(auts);
                }
                codec::encode(message)
            }
            Self::IdentityResponse(identity) => {
                let identity = nas::NasFGsMobileIdentity::new(identity.octets());
                codec::encode(nas::NasIdentityResponse::new(identity))
            }
            Self::SecurityModeComplete { imeisv, container } => codec::encode(
                write_security_mode_complete(imeisv.as_ref(), container.as_ref()),
            ),
            Self::SecurityModeReject(cause) => codec::encode(nas::NasSecurityModeReject::new(
                nas::NasFGmmCause::new(cause.0),
            )),
            Self::ConfigurationUpdateComplete => {
                codec::encode(nas::NasConfigurationUpdateComplete::new())
            }
            Self::UlNasTransport(m) => codec::encode(write_payload(m)),
            Self::Status(cause) => {
                codec::encode(nas::NasFGmmStatus::new(nas::NasFGmmCause::new(cause.0)))
            }
            Self::Other => Vec::new(),
        }
    }

    /// Name in the TS.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RegistrationRequest(_) => "Registration Request",
            Self::RegistrationComplete => "Registration Complete",
            Self::DeregistrationRequest(_) => "Deregistration Request",
            Self::DeregistrationAccept => "Deregistration Accept",
            Self::ServiceRequest(_) => "Service Request",
            Self::AuthenticationResponse(_) | Self::EapResponse(_) => "Authentication Response",
            Self::AuthenticationFailure { .. } => "Authentication Failure",
            Self::IdentityResponse(_) => "Identity Response",
            Self::SecurityModeComplete { .. } => "Security Mode Complete",
            Self::SecurityModeReject(_) => "Security Mode Reject",
            Self::ConfigurationUpdateComplete => "Configuration Update Complete",
            Self::UlNasTransport(_) => "UL NAS Transport",
            Self::Status(_) => "5GMM Status",
            Self::Other => "another message",
        }
    }

    /// Whether an AMF may process it without integrity protection (TS 24.501, 4.4.4.3).
    pub fn may_be_unprotected(&self) -> bool {
        matches!(
            self,
            Self::RegistrationRequest(_)
                | Self::IdentityResponse(MobileIdentity::Suci(_))
                | Self::AuthenticationResponse(_)
                | Self::EapResponse(_)
                | Self::AuthenticationFailure { .. }
                | Self::SecurityModeReject(_)
                | Self::DeregistrationRequest(_)
                | Self::DeregistrationAccept
                | Self::ServiceRequest(_)
        )
    }
}

fn payload(m: &nas::NasUlNasTransport) -> UplinkPayload {
    let request = m.request_type.as_ref();
    let slice = m.s_nssai.as_ref();
    UplinkPayload {
        kind: m.payload_container_type.value & 15,
        session: m.pdu_session_id.as_ref().map(|id| id.value),
        request: request.map(|request| RequestType::from_number(request.value)),
        slice: slice.and_then(|slice| lists::read_slice(&slice.value)),
        dnn: m.dnn.as_ref().map(|dnn| dnn.value.to_vec()),
        payload: m.payload_container.value.to_vec(),
    }
}

fn write_payload(m: &UplinkPayload) -> nas::NasUlNasTransport {
    let mut message = nas::NasUlNasTransport::new(
        nas::NasPayloadContainerType::new(m.kind),
        nas::NasPayloadContainer::new(m.payload.clone()),
    );
    if let Some(session) = m.session {
        message = message.with_pdu_session_id(nas::NasPduSessionIdentity2::new(session));
    }
    if let Some(request) = m.request {
        message = message.with_request_type(nas::NasRequestType::new(request as u8));
    }
    if let Some(slice) = &m.slice {
        message = message.with_s_nssai(nas::NasSNssai::new(lists::slice(slice)));
    }
    if let Some(dnn) = &m.dnn {
        message = message.with_dnn(nas::NasDnn::new(dnn.clone()));
    }
    message
}

fn registration_request(m: &nas::NasRegistrationRequest) -> RegistrationRequest {
    let capability = m.ue_security_capability.as_ref();
    let status = m.pdu_session_status.as_ref();
    RegistrationRequest {
        kind: RegistrationKind::from_number(m.fgs_registration_type.value),
        follow_on: m.fgs_registration_type.value & 8 != 0,
        ngksi: m.ngksi.value & 7,
        identity: MobileIdentity::read(&m.fgs_mobile_identity.value),
        mm_capability: m.fgmm_capability.as_ref().map(|c| c.value.to_vec()),
        capability: capability.and_then(|c| SecurityCapability::from_octets(&c.value)),
        // An optional IE that makes no sense is as if it were not there (7.7.1).
        requested_nssai: m
            .requested_nssai
            .as_ref()
            .and_then(|n| lists::read_nssai(&n.value)),
        session_status: status.and_then(|s| lists::status(&s.value)),
        uplink_data: m
            .uplink_data_status
            .as_ref()
            .and_then(|s| lists::status(&s.value)),
        drx: m
            .requested_drx_parameters
            .as_ref()
            .and_then(|d| d.value.first().copied()),
        has_new_radio: m.fgs_update_type.as_ref().is_some_and(|u| u.ng_ran_rcu()),
        container: m.nas_message_container.as_ref().map(|c| c.value.to_vec()),
    }
}

fn write_registration_request(m: &RegistrationRequest) -> nas::NasRegistrationRequest {
    let kind = m.kind.number() | u8::from(m.follow_on) << 3;
    let mut message = nas::NasRegistrationRequest::new(
        nas::NasFGsRegistrationType::new(kind),
        nas::NasKeySetIdentifier::new(m.ngksi),
        nas::NasFGsMobileIdentity::new(m.identity.octets()),
    );
    if let Some(capability) = &m.mm_capability {
        let capability = nas::NasFGmmCapability::new(capability.clone());
        message = message.with_fgmm_capability(capability);
    }
    if let Some(capability) = &m.capability {
        let capability = nas::NasUeSecurityCapability::new(capability.octets().to_vec());
        message = message.with_ue_security_capability(capability);
    }
    if let Some(slices) = &m.requested_nssai {
        message = message.with_requested_nssai(nas::NasNssai::new(lists::nssai(slices)));
    }
    if let Some(status) = m.session_status {
        let status = nas::NasPduSessionStatus::new(status.to_le_bytes().to_vec());
        message = message.with_pdu_session_status(status);
    }
    if let Some(data) = m.uplink_data {
        let data = nas::NasUplinkDataStatus::new(data.to_le_bytes().to_vec());
        message = message.with_uplink_data_status(data);
    }
    if let Some(drx) = m.drx {
        let drx = nas::NasFGsDrxParameters::new(vec![drx]);
        message = message.with_requested_drx_parameters(drx);
    }
    if m.has_new_radio {
        let update = nas::NasFGsUpdateType::new(vec![0]).with_ng_ran_rcu(true);
        message = message.with_fgs_update_type(update);
    }
    if let Some(container) = &m.container {
        let container = nas::NasMessageContainer::new(container.clone());
        message = message.with_nas_message_container(container);
    }
    message
}

fn write_security_mode_complete(
    imeisv: Option<&MobileIdentity>,
    container: Option<&Vec<u8>>,
) -> nas::NasSecurityModeComplete {
    let mut message = nas::NasSecurityModeComplete::new();
    if let Some(imeisv) = imeisv {
        message = message.with_imeisv(nas::NasFGsMobileIdentity::new(imeisv.octets()));
    }
    if let Some(container) = container {
        let container = nas::NasMessageContainer::new(container.clone());
        message = message.with_nas_message_container(container);
    }
    message
}

fn write_service_request(m: &ServiceRequest) -> nas::NasServiceRequest {
    let mut message = nas::NasServiceRequest::new(
        nas::NasKeySetIdentifier::new(m.ngksi),
        nas::NasServiceType::new(m.kind),
        nas::NasFGsMobileIdentity::new(m.identity.octets()),
    );
    if let Some(status) = m.session_status {
        let status = nas::NasPduSessionStatus::new(status.to_le_bytes().to_vec());
        message = message.with_pdu_session_status(status);
    }
    if let Some(data) = m.uplink_data {
        let data = nas::NasUplinkDataStatus::new(data.to_le_bytes().to_vec());
        message = message.with_uplink_data_status(data);
    }
    if let Some(container) = &m.container {
        let container = nas::NasMessageContainer::new(container.clone());
        message = message.with_nas_message_container(container);
    }
    message
}
