//! Messages of the AMF to a UE (TS 24.501, 8.2).

use oxirush_nas::nas_5gs as nas;
use oxirush_nas::nas_5gs::Nas5gmmMessage;
use sluice_ids::{Guti, Plmn, Snssai, Tai};
use sluice_security::{Abba, Autn, Ciphering, Integrity, Rand, SecurityCapability};

use crate::back_off;
use crate::cause::Cause;
use crate::codec::{self, Unreadable};
use crate::eap::{self, EapRequest};
use crate::identity::MobileIdentity;
use crate::lists::{self, RejectedIn};
use crate::network_time::NetworkTime;
use crate::reactivation::Reactivation;
use crate::reject::Reject;

/// A message to a UE.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Downlink {
    /// 8.2.7
    RegistrationAccept(Box<RegistrationAccept>),
    /// 8.2.9
    RegistrationReject(Reject),
    /// 8.2.13
    DeregistrationAccept,
    /// 8.2.14: of the network.
    DeregistrationRequest {
        /// The UE shall register again at once.
        registers_again: bool,
        /// Why, if the UE is told.
        cause: Option<Cause>,
    },
    /// 8.2.17, with the PDU sessions that there are, a bit for each.
    ServiceAccept {
        /// None if the UE did not say which it has.
        session_status: Option<u16>,
        /// PDU Session Reactivation Result; none if the UE named no sessions with data.
        reactivation: Option<Reactivation>,
    },
    /// 8.2.18
    ServiceReject(Reject),
    /// 8.2.1
    AuthenticationRequest(AuthenticationRequest),
    /// 8.2.1, of EAP
    EapRequest(EapRequest),
    /// 8.2.3: how an authentication by EAP ended, where no other message tells it.
    AuthenticationResult(EapRequest),
    /// 8.2.5
    AuthenticationReject,
    /// 8.2.5, with EAP-Failure
    EapReject(Vec<u8>),
    /// 8.2.21
    IdentityRequest(IdentityKind),
    /// 8.2.25
    SecurityModeCommand(SecurityModeCommand),
    /// 8.2.11, with what was not passed on, and why.
    DlNasTransport {
        /// Payload container type.
        kind: u8,
        /// PDU session.
        session: Option<u8>,
        /// Why the payload comes back.
        cause: Option<Cause>,
        /// How long none like it is to come, in seconds.
        back_off_s: Option<u32>,
        /// The payload.
        payload: Vec<u8>,
    },
    /// 8.2.19
    ConfigurationUpdateCommand(ConfigurationUpdate),
    /// 8.2.29
    Status(Cause),
    /// A message that only a UE sends, or that is not known here.
    Other,
}

/// Authentication Request of 5G-AKA.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AuthenticationRequest {
    /// The keys that follow will be called so.
    pub ngksi: u8,
    /// ABBA, to which KAMF is bound.
    pub abba: Abba,
    /// The challenge.
    pub rand: Rand,
    /// The home network's proof.
    pub autn: Autn,
}

/// Which identity is asked for (TS 24.501, 9.11.3.3).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdentityKind {
    /// The concealed one.
    Suci = 1,
    /// The device and its software.
    Imeisv = 5,
}

/// Configuration Update Command: a UE's new name, and what it shows.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ConfigurationUpdate {
    /// The UE shall say that it has taken it.
    pub acknowledge: bool,
    /// The UE shall register again when it is idle.
    pub register: bool,
    /// The UE's new name.
    pub guti: Option<Guti>,
    /// Of the network.
    pub full_name: Option<String>,
    /// The same where there is little room.
    pub short_name: Option<String>,
    /// When it is; written, not read.
    pub time: Option<NetworkTime>,
}

/// Security Mode Command.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SecurityModeCommand {
    /// With which messages will be ciphered.
    pub ciphering: Ciphering,
    /// With which their integrity will be protected.
    pub integrity: Integrity,
    /// Of the keys to be used.
    pub ngksi: u8,
    /// Replayed UE security capability, as it was received.
    pub capability: SecurityCapability,
    /// The UE shall tell which device it is.
    pub ask_imeisv: bool,
    /// RINMR: the UE shall send the whole initial message again, because its MAC was wrong.
    pub ask_initial_message: bool,
    /// HDP: the UE shall derive K'AMF of the key that it uses, for an AMF that was given that one (TS 33.501, A.13).
    pub derives_key: bool,
    /// ABBA after an authentication, to which KAMF is bound.
    pub abba: Option<Abba>,
    /// EAP-Success, after one by EAP.
    pub eap: Option<Vec<u8>>,
}

/// Registration Accept.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RegistrationAccept {
    /// The UE's new name.
    pub guti: Option<Guti>,
    /// PLMNs that count as this one.
    pub equivalent_plmns: Vec<Plmn>,
    /// Registration area, in which the UE moves without an update.
    pub areas: Vec<Tai>,
    /// Slices that it may use.
    pub allowed_nssai: Vec<Snssai>,
    /// Slices that it asked for and may not use, and where.
    pub rejected_nssai: Vec<(Snssai, RejectedIn)>,
    /// Slices of its subscription.
    pub configured_nssai: Vec<Snssai>,
    /// Whether there are voice calls.
    pub ims_voice: bool,
    /// PDU sessions that it has, a bit for each.
    pub session_status: Option<u16>,
    /// PDU Session Reactivation Result; none if the UE requested no user plane.
    pub reactivation: Option<Reactivation>,
    /// Seconds after which it registers again; sent as the longest time that can be told and is no
    /// longer.
    pub t3512_s: Option<u32>,
    /// Seconds after which it tries again.
    pub t3502_s: Option<u32>,
    /// The DRX value that was agreed.
    pub drx: Option<u8>,
}

impl Downlink {
    /// Reads a plain message.
    pub fn decode(octets: &[u8]) -> Result<Self, Unreadable> {
        Ok(match codec::decode(octets)? {
            Nas5gmmMessage::RegistrationAccept(m) => {
                Self::RegistrationAccept(Box::new(registration_accept(&m)))
            }
            Nas5gmmMessage::RegistrationReject(m) => {
                Self::RegistrationReject(Reject::read(&m.fgmm_cause, m.t3346_value.as_ref()))
            }
            Nas5gmmMessage::DeregistrationAcceptUeOriginating(_) => Self::DeregistrationAccept,
            Nas5gmmMessage::DeregistrationRequestUeTerminated(m) => Self::DeregistrationRequest {
                registers_again: m.de_registration_type.re_registration_required(),
                cause: m.fgmm_cause.as_ref().map(|cause| Cause(cause.value)),
            },
            Nas5gmmMessage::ServiceAccept(m) => Self::ServiceAccept {
                session_status: m
                    .pdu_session_status
                    .as_ref()
                    .and_then(|s| lists::status(&s.value)),
                reactivation: Reactivation::read(
                    m.pdu_session_reactivation_result.as_ref(),
                    m.pdu_session_reactivation_result_error_cause.as_ref(),
                ),
            },
            Nas5gmmMessage::ServiceReject(m) => {
                Self::ServiceReject(Reject::read(&m.fgmm_cause, m.t3346_value.as_ref()))
            }
            Nas5gmmMessage::AuthenticationRequest(m) => {
                eap::challenge(&m).ok_or(Unreadable::MANDATORY)?
            }
            Nas5gmmMessage::AuthenticationResult(m) => {
                Self::AuthenticationResult(EapRequest::of_result(&m))
            }
            Nas5gmmMessage::AuthenticationReject(m) => match m.eap_message.as_ref() {
                Some(eap) => Self::EapReject(eap.value.to_vec()),
                None => Self::AuthenticationReject,
            },
            Nas5gmmMessage::IdentityRequest(m) => {
                Self::IdentityRequest(match m.identity_type.value & 7 {
                    5 => IdentityKind::Imeisv,
                    // What is reserved counts as SUCI.
                    _ => IdentityKind::Suci,
                })
            }
            Nas5gmmMessage::SecurityModeCommand(m) => {
                Self::SecurityModeCommand(security_mode_command(&m).ok_or(Unreadable::MANDATORY)?)
            }
            Nas5gmmMessage::DlNasTransport(m) => Self::DlNasTransport {
                kind: m.payload_container_type.value & 15,
                session: m.pdu_session_id.as_ref().map(|id| id.value),
                cause: m.fgmm_cause.as_ref().map(|cause| Cause(cause.value)),
                back_off_s: m.back_off_timer_value.as_ref().and_then(back_off::read),
                payload: m.payload_container.value.to_vec(),
            },
            Nas5gmmMessage::ConfigurationUpdateCommand(m) => {
                let name = |name: &nas::NasNetworkName| name.name();
                let indication = m.configuration_update_indication.as_ref();
                Self::ConfigurationUpdateCommand(ConfigurationUpdate {
                    acknowledge: indication.is_some_and(|octet| octet.value & 1 != 0),
                    register: indication.is_some_and(|octet| octet.value & 2 != 0),
                    guti: m.fg_guti.as_ref().and_then(read_guti),
                    full_name: m.full_name_for_network.as_ref().and_then(name),
                    short_name: m.short_name_for_network.as_ref().and_then(name),
                    time: None,
                })
            }
            Nas5gmmMessage::FiveGmmStatus(m) => Self::Status(Cause(m.fgmm_cause.value)),
            _ => Self::Other,
        })
    }

    /// The plain message's octets; none of [`Downlink::Other`].
    pub fn encode(&self) -> Vec<u8> {
        let cause = |cause: &Cause| nas::NasFGmmCause::new(cause.0);
        match self {
            Self::RegistrationAccept(m) => codec::encode(write_registration_accept(m)),
            Self::RegistrationReject(reject) => {
                let message = nas::NasRegistrationReject::new(cause(&reject.cause));
                codec::encode(match reject.timer() {
                    Some(timer) => message.with_t3346_value(timer),
                    None => message,
                })
            }
            Self::DeregistrationAccept => {
                codec::encode(nas::NasDeregistrationAcceptUeOriginating::new())
            }
            Self::DeregistrationRequest {
                registers_again,
                cause: why,
            } => codec::encode(write_deregistration(*registers_again, *why)),
            Self::ServiceAccept {
                session_status,
                reactivation,
            } => codec::encode(write_service_accept(*session_status, reactivation.as_ref())),
            Self::ServiceReject(reject) => {
                let message = nas::NasServiceReject::new(cause(&reject.cause));
                codec::encode(match reject.timer() {
                    Some(timer) => message.with_t3346_value(timer),
                    None => message,
                })
            }
            Self::AuthenticationRequest(m) => codec::encode(write_authentication_request(m)),
            Self::EapRequest(m) => codec::encode(m.request()),
            Self::AuthenticationResult(m) => codec::encode(m.result()),
            Self::AuthenticationReject => codec::encode(nas::NasAuthenticationReject::new()),
            Self::EapReject(eap) => {
                let eap = nas::NasEapMessage::new(eap.clone());
                codec::encode(nas::NasAuthenticationReject::new().with_eap_message(eap))
            }
            Self::IdentityRequest(kind) => {
                let kind = nas::NasFGsIdentityType::new(*kind as u8);
                codec::encode(nas::NasIdentityRequest::new(kind))
            }
            Self::SecurityModeCommand(m) => codec::encode(write_security_mode_command(m)),
            Self::DlNasTransport {
                kind,
                session,
                cause: why,
                back_off_s,
                payload,
            } => {
                let mut message = nas::NasDlNasTransport::new(
                    nas::NasPayloadContainerType::new(*kind),
                    nas::NasPayloadContainer::new(payload.clone()),
                );
                if let Some(session) = session {
                    let session = nas::NasPduSessionIdentity2::new(*session);
                    message = message.with_pdu_session_id(session);
                }
                if let Some(why) = why {
                    message = message.with_fgmm_cause(cause(why));
                }
                if let Some(timer) = back_off_s.and_then(back_off::write) {
                    message = message.with_back_off_timer_value(timer);
                }
                codec::encode(message)
            }
            Self::ConfigurationUpdateCommand(m) => codec::encode(write_configuration_update(m)),
            Self::Status(c) => codec::encode(nas::NasFGmmStatus::new(cause(c))),
            Self::Other => Vec::new(),
        }
    }

    /// Name in the TS.
    pub fn name(&self) -> &'static str {
        match self {
            Self::RegistrationAccept(_) => "Registration Accept",
            Self::RegistrationReject(_) => "Registration Reject",
            Self::DeregistrationAccept => "Deregistration Accept",
            Self::DeregistrationRequest { .. } => "Deregistration Request",
            Self::ServiceAccept { .. } => "Service Accept",
            Self::ServiceReject(_) => "Service Reject",
            Self::AuthenticationRequest(_) | Self::EapRequest(_) => "Authentication Request",
            Self::AuthenticationResult(_) => "Authentication Result",
            Self::AuthenticationReject | Self::EapReject(_) => "Authentication Reject",
            Self::IdentityRequest(_) => "Identity Request",
            Self::SecurityModeCommand(_) => "Security Mode Command",
            Self::DlNasTransport { .. } => "DL NAS Transport",
            Self::ConfigurationUpdateCommand(_) => "Configuration Update Command",
            Self::Status(_) => "5GMM Status",
            Self::Other => "another message",
        }
    }
}

/// Bits of Additional 5G security information (9.11.3.12).
const HDP: u8 = 1;
const RINMR: u8 = 2;

fn security_mode_command(m: &nas::NasSecurityModeCommand) -> Option<SecurityModeCommand> {
    let algorithms = m.selected_nas_security_algorithms.value;
    let additional = m.additional_5g_security_information.as_ref();
    let additional = additional.and_then(|additional| additional.value.first().copied());
    let additional = additional.unwrap_or_default();
    let abba = m.abba.as_ref();
    Some(SecurityModeCommand {
        ciphering: Ciphering::from_number(algorithms >> 4)?,
        integrity: Integrity::from_number(algorithms & 15)?,
        ngksi: m.ngksi.value & 7,
        capability: SecurityCapability::from_octets(&m.replayed_ue_security_capabilities.value)?,
        ask_imeisv: m
            .imeisv_request
            .as_ref()
            .is_some_and(|request| request.value & 7 == 1),
        ask_initial_message: additional & RINMR != 0,
        derives_key: additional & HDP != 0,
        abba: abba.and_then(|abba| Abba::try_from(&abba.value[..]).ok()),
        eap: m.eap_message.as_ref().map(|eap| eap.value.to_vec()),
    })
}

fn write_security_mode_command(m: &SecurityModeCommand) -> nas::NasSecurityModeCommand {
    let algorithms = (m.ciphering as u8) << 4 | m.integrity as u8;
    let mut message = nas::NasSecurityModeCommand::new(
        nas::NasSecurityAlgorithms::new(algorithms),
        nas::NasKeySetIdentifier::new(m.ngksi),
        nas::NasUeSecurityCapability::new(m.capability.octets().to_vec()),
    );
    if m.ask_imeisv {
        message = message.with_imeisv_request(nas::NasImeisvRequest::new(1));
    }
    let flags = [(m.ask_initial_message, RINMR), (m.derives_key, HDP)];
    let flags = flags.iter().filter(|(is_set, _)| *is_set);
    let additional = flags.fold(0, |all, (_, bit)| all | bit);
    if additional != 0 {
        let ask = nas::NasAdditional5gSecurityInformation::new(vec![additional]);
        message = message.with_additional_5g_security_information(ask);
    }
    if let Some(abba) = m.abba {
        message = message.with_abba(nas::NasAbba::new(abba.to_vec()));
    }
    if let Some(eap) = &m.eap {
        message = message.with_eap_message(nas::NasEapMessage::new(eap.clone()));
    }
    message
}

fn write_deregistration(
    registers_again: bool,
    why: Option<Cause>,
) -> nas::NasDeregistrationRequestUeTerminated {
    // Bit 3 says that it shall register again; 3GPP access is 1.
    let kind = nas::NasDeRegistrationType::new(u8::from(registers_again) << 2 | 1);
    let message = nas::NasDeregistrationRequestUeTerminated::new(kind);
    match why {
        Some(why) => message.with_fgmm_cause(nas::NasFGmmCause::new(why.0)),
        None => message,
    }
}

fn write_service_accept(
    session_status: Option<u16>,
    reactivation: Option<&Reactivation>,
) -> nas::NasServiceAccept {
    let mut message = nas::NasServiceAccept::new();
    if let Some(status) = session_status {
        let status = nas::NasPduSessionStatus::new(status.to_le_bytes().to_vec());
        message = message.with_pdu_session_status(status);
    }
    if let Some(reactivation) = reactivation {
        let (result, causes) = reactivation.write();
        message = message.with_pdu_session_reactivation_result(result);
        if let Some(causes) = causes {
            message = message.with_pdu_session_reactivation_result_error_cause(causes);
        }
    }
    message
}

fn write_configuration_update(m: &ConfigurationUpdate) -> nas::NasConfigurationUpdateCommand {
    let mut message = nas::NasConfigurationUpdateCommand::new();
    // TS 24.501, 9.11.3.18
    let indication = u8::from(m.acknowledge) | u8::from(m.register) << 1;
    if indication != 0 {
        let indication = nas::NasConfigurationUpdateIndication::new(indication);
        message = message.with_configuration_update_indication(indication);
    }
    if let Some(guti) = m.guti {
        let guti = nas::NasFGsMobileIdentity::new(MobileIdentity::Guti(guti).octets());
        message = message.with_fg_guti(guti);
    }
    if let Some(name) = &m.full_name {
        let name = nas::NasNetworkName::from_name(name, false);
        message = message.with_full_name_for_network(name);
    }
    if let Some(name) = &m.short_name {
        let name = nas::NasNetworkName::from_name(name, false);
        message = message.with_short_name_for_network(name);
    }
    if let Some(time) = m.time {
        let octets = time.octets();
        let zone = nas::NasTimeZone::new(octets[6]);
        let time = nas::NasTimeZoneAndTime::new(octets.to_vec());
        message = message.with_local_time_zone(zone);
        message = message.with_universal_time_and_local_time_zone(time);
    }
    message
}

fn read_guti(identity: &nas::NasFGsMobileIdentity) -> Option<Guti> {
    match MobileIdentity::read(&identity.value) {
        MobileIdentity::Guti(guti) => Some(guti),
        _ => None,
    }
}

fn registration_accept(m: &nas::NasRegistrationAccept) -> RegistrationAccept {
    let slices = |octets: &[u8]| lists::read_nssai(octets).unwrap_or_default();
    let plmns = m
        .equivalent_plmns
        .as_ref()
        .map(|list| list.value.to_vec())
        .unwrap_or_default();
    let features = m.fgs_network_feature_support.as_ref();
    let status = m.pdu_session_status.as_ref();
    let rejected = m
        .rejected_nssai
        .as_ref()
        .map(|list| list.value.to_vec())
        .unwrap_or_default();
    RegistrationAccept {
        guti: m.fg_guti.as_ref().and_then(read_guti),
        equivalent_plmns: plmns
            .chunks_exact(3)
            .filter_map(|plmn| Plmn::from_octets([plmn[0], plmn[1], plmn[2]]))
            .collect(),
        areas: m
            .tai_list
            .as_ref()
            .and_then(|list| lists::read_tai_list(&list.value))
            .unwrap_or_default(),
        allowed_nssai: m
            .allowed_nssai
            .as_ref()
            .map(|n| slices(&n.value))
            .unwrap_or_default(),
        rejected_nssai: lists::read_rejected_nssai(&rejected),
        configured_nssai: m
            .configured_nssai
            .as_ref()
            .map(|n| slices(&n.value))
            .unwrap_or_default(),
        ims_voice: features.is_some_and(nas::NasFGsNetworkFeatureSupport::ims_vops_3gpp),
        session_status: status.and_then(|s| lists::status(&s.value)),
        reactivation: Reactivation::read(
            m.pdu_session_reactivation_result.as_ref(),
            m.pdu_session_reactivation_result_error_cause.as_ref(),
        ),
        t3512_s: m
            .t3512_value
            .as_ref()
            .and_then(|t| t.to_seconds())
            .map(|s| s as u32),
        t3502_s: m
            .t3502_value
            .as_ref()
            .and_then(|t| t.to_seconds())
            .map(|s| s as u32),
        drx: m
            .negotiated_drx_parameters
            .as_ref()
            .and_then(|d| d.value.first().copied()),
    }
}

fn write_authentication_request(m: &AuthenticationRequest) -> nas::NasAuthenticationRequest {
    let ngksi = nas::NasKeySetIdentifier::new(m.ngksi);
    let rand = nas::NasAuthenticationParameterRand::new(m.rand.to_vec());
    let autn = nas::NasAuthenticationParameterAutn::new(m.autn.to_vec());
    let abba = nas::NasAbba::new(m.abba.to_vec());
    nas::NasAuthenticationRequest::new(ngksi, abba)
        .with_authentication_parameter_rand(rand)
        .with_authentication_parameter_autn(autn)
}

fn write_registration_accept(m: &RegistrationAccept) -> nas::NasRegistrationAccept {
    // 3GPP access; no SMS over NAS.
    let result = nas::NasFGsRegistrationResult::new(vec![1]);
    let mut accept = nas::NasRegistrationAccept::new(result);
    if let Some(guti) = m.guti {
        let guti = nas::NasFGsMobileIdentity::new(MobileIdentity::Guti(guti).octets());
        accept = accept.with_fg_guti(guti);
    }
    if !m.equivalent_plmns.is_empty() {
        let plmns = nas::NasPlmnList::new(lists::plmns(&m.equivalent_plmns));
        accept = accept.with_equivalent_plmns(plmns);
    }
    if !m.areas.is_empty() {
        let areas = nas::NasFGsTrackingAreaIdentityList::new(lists::tai_list(&m.areas));
        accept = accept.with_tai_list(areas);
    }
    if !m.allowed_nssai.is_empty() {
        accept = accept.with_allowed_nssai(nas::NasNssai::new(lists::nssai(&m.allowed_nssai)));
    }
    if !m.rejected_nssai.is_empty() {
        let rejected = lists::rejected_nssai(&m.rejected_nssai);
        accept = accept.with_rejected_nssai(nas::NasRejectedNssai::new(rejected));
    }
    if !m.configured_nssai.is_empty() {
        let slices = nas::NasNssai::new(lists::nssai(&m.configured_nssai));
        accept = accept.with_configured_nssai(slices);
    }
    // Always there, so that a UE knows that there are no voice and no emergency calls.
    let features = vec![u8::from(m.ims_voice), 0];
    let features = nas::NasFGsNetworkFeatureSupport::new(features);
    accept = accept.with_fgs_network_feature_support(features);
    if let Some(status) = m.session_status {
        let status = nas::NasPduSessionStatus::new(status.to_le_bytes().to_vec());
        accept = accept.with_pdu_session_status(status);
    }
    if let Some(reactivation) = &m.reactivation {
        let (result, causes) = reactivation.write();
        accept = accept.with_pdu_session_reactivation_result(result);
        if let Some(causes) = causes {
            accept = accept.with_pdu_session_reactivation_result_error_cause(causes);
        }
    }
    if let Some(timer_s) = m.t3512_s {
        let timer = nas::NasT3512Value::new(vec![lists::gprs_timer_3(timer_s)]);
        accept = accept.with_t3512_value(timer);
    }
    if let Some(timer) = m
        .t3502_s
        .and_then(|s| nas::NasGprsTimer2::from_seconds(s.into()).ok())
    {
        accept = accept.with_t3502_value(timer);
    }
    if let Some(drx) = m.drx {
        let drx = nas::NasFGsDrxParameters::new(vec![drx]);
        accept = accept.with_negotiated_drx_parameters(drx);
    }
    accept
}
