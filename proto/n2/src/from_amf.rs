//! What an AMF says to a gNB (TS 38.413, 9.2).

use oxirush_ngap::ngap::{self, NGAP_PDU, NgapPduKind as Kind};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};
use sluice_ids::{Guami, Snssai};
use sluice_security::{Kgnb, SecurityCapability};

use crate::cause::Cause;
use crate::configuration::{self, ContextModification, Overload};
use crate::configuration_transfer;
use crate::faulty::{self, Faulty};
use crate::from_ran::SessionResults;
use crate::handover::HandoverFromAmf;
use crate::handover_of_amf as handover;
use crate::modify_indication;
use crate::paging::{self, Paging};
use crate::session::{self, SessionSetup, Transfers};
use crate::sessions_modified::{self, SessionModification};
use crate::value::{self, AmfUeId, Connection, PlmnSlices, RadioCapability, RanUeId};

/// A message from an AMF.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FromAmf {
    /// 9.2.6.2
    NgSetupResponse(NgSetupResponse),
    /// 9.2.6.3
    NgSetupFailure {
        /// Why.
        cause: Cause,
    },
    /// 9.2.5.2
    DownlinkNasTransport {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// The NAS message.
        nas: Vec<u8>,
    },
    /// 9.2.2.1
    InitialContextSetupRequest(Box<InitialContext>),
    /// 9.2.1.1
    PduSessionSetupRequest {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// The UE's most, down and up.
        ambr_bps: Option<(u64, u64)>,
        /// At least one.
        sessions: Vec<SessionSetup>,
    },
    /// 9.2.1.5
    PduSessionModifyRequest {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// At least one.
        sessions: Vec<SessionModification>,
    },
    /// 9.2.1.9
    PduSessionModifyConfirm {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// Sessions, each with a [`ModifyConfirm`](crate::ModifyConfirm), and those that stay as they were, with why.
        sessions: SessionResults,
    },
    /// 9.2.1.3
    PduSessionReleaseCommand {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// A message for the UE.
        nas: Option<Vec<u8>>,
        /// At least one.
        sessions: Transfers,
    },
    /// 9.2.2.5: with the gNB's name of the connection, if the AMF knows it.
    UeContextReleaseCommand {
        /// The AMF's name of the connection.
        amf: AmfUeId,
        /// The gNB's name of the connection.
        ran: Option<RanUeId>,
        /// Why.
        cause: Cause,
    },
    /// 9.2.2.7
    UeContextModificationRequest(Box<ContextModification>),
    /// 9.2.3
    Handover(HandoverFromAmf),
    /// 9.2.4.1
    Paging(Box<Paging>),
    /// 9.2.6.7: what an AMF says in its NG Setup Response, where that has changed.
    AmfConfigurationUpdate(NgSetupResponse),
    /// 9.2.6.5
    RanConfigurationUpdateAcknowledge,
    /// 9.2.6.6
    RanConfigurationUpdateFailure {
        /// Why.
        cause: Cause,
    },
    /// 9.2.6.10: this AMF is about to go (TS 23.501, 5.21.2.2.2).
    AmfStatusIndication {
        /// Who it was.
        unavailable: Vec<Guami>,
    },
    /// 9.2.6.14
    OverloadStart(Overload),
    /// 9.2.6.15
    OverloadStop,
    /// 9.2.6.12
    NgResetAcknowledge {
        /// Those connections; none are all.
        connections: Option<Vec<Connection>>,
    },
    /// 9.2.7.2: of another gNB.
    ConfigurationTransfer {
        /// SON Configuration Transfer (9.3.3.6).
        transfer: Vec<u8>,
    },
    /// 9.2.6.13
    ErrorIndication {
        /// Whose, as far as it is known.
        connection: Option<Connection>,
        /// Why.
        cause: Option<Cause>,
    },
}

/// NG Setup Response.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NgSetupResponse {
    /// What the AMF is called.
    pub name: String,
    /// Who it is.
    pub guamis: Vec<Guami>,
    /// Its weight among others.
    pub capacity: u8,
    /// What it serves.
    pub plmns: Vec<PlmnSlices>,
    /// It has the contexts of the gNB's UEs still (UE Retention Information, 9.3.1.117); never in an update.
    pub retains_ues: bool,
}

/// Initial Context Setup Request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitialContext {
    /// Both names of the connection.
    pub ids: (AmfUeId, RanUeId),
    /// Who serves the UE.
    pub guami: Guami,
    /// The UE's most, down and up; sent where it has sessions.
    pub ambr_bps: Option<(u64, u64)>,
    /// Sessions whose user planes are to be up.
    pub sessions: Vec<SessionSetup>,
    /// Slices that it may use.
    pub allowed_nssai: Vec<Snssai>,
    /// Algorithms that it has.
    pub capability: SecurityCapability,
    /// KgNB.
    pub key: Kgnb,
    /// Which device it is, without its serial number.
    pub masked_imeisv: Option<[u8; 8]>,
    /// What the gNB once told of it.
    pub radio_capability: Option<RadioCapability>,
    /// A message for the UE.
    pub nas: Option<Vec<u8>>,
}

impl FromAmf {
    /// Reads a message.
    pub fn decode(octets: &[u8]) -> Result<Self, Faulty> {
        let pdu = faulty::open(octets)?;
        faulty::check(&pdu)?;
        match read(&pdu) {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(faulty::refused(&pdu, Cause::ABSTRACT_SYNTAX_REJECT, &[])),
            Err(_) => Err(faulty::refused(&pdu, Cause::TRANSFER_SYNTAX, &[])),
        }
    }

    /// The message's octets.
    #[allow(clippy::expect_used)]
    pub fn encode(&self) -> Vec<u8> {
        // The codec refuses values outside of their ranges; ours are of checked types.
        write(self)
            .and_then(|pdu| pdu.encode())
            .expect("our values are in their ranges")
    }

    /// Its name in the TS.
    pub fn name(&self) -> &'static str {
        match self {
            Self::NgSetupResponse(_) => "NG Setup Response",
            Self::NgSetupFailure { .. } => "NG Setup Failure",
            Self::DownlinkNasTransport { .. } => "Downlink NAS Transport",
            Self::InitialContextSetupRequest(_) => "Initial Context Setup Request",
            Self::PduSessionSetupRequest { .. } => "PDU Session Resource Setup Request",
            Self::PduSessionModifyRequest { .. } => "PDU Session Resource Modify Request",
            Self::PduSessionModifyConfirm { .. } => "PDU Session Resource Modify Confirm",
            Self::PduSessionReleaseCommand { .. } => "PDU Session Resource Release Command",
            Self::UeContextReleaseCommand { .. } => "UE Context Release Command",
            Self::UeContextModificationRequest(_) => "UE Context Modification Request",
            Self::Handover(message) => message.name(),
            Self::Paging(_) => "Paging",
            Self::AmfConfigurationUpdate(_) => "AMF Configuration Update",
            Self::RanConfigurationUpdateAcknowledge => "RAN Configuration Update Acknowledge",
            Self::RanConfigurationUpdateFailure { .. } => "RAN Configuration Update Failure",
            Self::AmfStatusIndication { .. } => "AMF Status Indication",
            Self::OverloadStart(_) => "Overload Start",
            Self::OverloadStop => "Overload Stop",
            Self::ConfigurationTransfer { .. } => "Downlink RAN Configuration Transfer",
            Self::NgResetAcknowledge { .. } => "NG Reset Acknowledge",
            Self::ErrorIndication { .. } => "Error Indication",
        }
    }
}

fn write(message: &FromAmf) -> Result<NGAP_PDU, Error> {
    match message {
        FromAmf::NgSetupResponse(m) => configuration::write_ng_setup_response(m),
        FromAmf::NgSetupFailure { cause } => {
            build_ngap!(
                UnsuccessfulOutcome,
                NGSetup,
                NGSetupFailure,
                Cause(cause.write())
            )
        }
        FromAmf::DownlinkNasTransport { ids, nas } => {
            build_ngap!(
                InitiatingMessage,
                DownlinkNASTransport,
                DownlinkNASTransport,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                NAS_PDU(nas.clone()),
            )
        }
        FromAmf::InitialContextSetupRequest(m) => write_initial_context(m),
        FromAmf::PduSessionSetupRequest {
            ids,
            ambr_bps,
            sessions,
        } => write_session_setup(*ids, *ambr_bps, sessions),
        FromAmf::PduSessionReleaseCommand { ids, nas, sessions } => {
            write_session_release(*ids, nas.as_ref(), sessions)
        }
        FromAmf::PduSessionModifyRequest { ids, sessions } => {
            sessions_modified::write_request(*ids, sessions)
        }
        FromAmf::PduSessionModifyConfirm { ids, sessions } => {
            modify_indication::write_confirm(*ids, sessions)
        }
        FromAmf::UeContextReleaseCommand { amf, ran, cause } => write_release(*amf, *ran, *cause),
        FromAmf::UeContextModificationRequest(m) => configuration::write_modification(m),
        FromAmf::Handover(m) => handover::write(m),
        FromAmf::Paging(m) => paging::write(m),
        FromAmf::AmfConfigurationUpdate(m) => configuration::write_update(m),
        FromAmf::RanConfigurationUpdateAcknowledge => configuration::write_ran_update_acknowledge(),
        FromAmf::RanConfigurationUpdateFailure { cause } => {
            configuration::write_ran_update_failure(*cause)
        }
        FromAmf::AmfStatusIndication { unavailable } => configuration::write_status(unavailable),
        FromAmf::OverloadStart(overload) => configuration::write_overload_start(*overload),
        FromAmf::OverloadStop => configuration::write_overload_stop(),
        FromAmf::ConfigurationTransfer { transfer } => {
            configuration_transfer::write_downlink(transfer)
        }
        FromAmf::NgResetAcknowledge { connections } => match connections {
            Some(list) => build_ngap!(
                SuccessfulOutcome,
                NGReset,
                NGResetAcknowledge,
                UE_associatedLogicalNG_connectionList(value::connections(list)),
            ),
            None => build_ngap!(SuccessfulOutcome, NGReset, NGResetAcknowledge,),
        },
        FromAmf::ErrorIndication { connection, cause } => {
            let connection = connection.unwrap_or(Connection {
                amf: None,
                ran: None,
            });
            value::error_indication(&connection, *cause)
        }
    }
}

fn write_release(amf: AmfUeId, ran: Option<RanUeId>, cause: Cause) -> Result<NGAP_PDU, Error> {
    let amf = ngap::AMFUENGAPID(amf.0);
    let ids = match ran {
        Some(ran) => {
            let ran = ngap::RANUENGAPID(ran.0);
            ngap::UENGAPIDs::uE_NGAP_ID_pair(ngap::UENGAPIDPair::new(amf, ran, None))
        }
        None => ngap::UENGAPIDs::aMF_UE_NGAP_ID(amf),
    };
    build_ngap!(
        InitiatingMessage,
        UEContextRelease,
        UEContextReleaseCommand,
        UE_NGAP_IDs(ids),
        Cause(cause.write()),
    )
}

fn write_session_setup(
    ids: (AmfUeId, RanUeId),
    ambr_bps: Option<(u64, u64)>,
    sessions: &[SessionSetup],
) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        InitiatingMessage,
        PDUSessionResourceSetup,
        PDUSessionResourceSetupRequest,
        AMF_UE_NGAP_ID(ids.0.0),
        RAN_UE_NGAP_ID(ids.1.0),
        PDUSessionResourceSetupListSUReq(session::setups(sessions)),
    )?;
    if let Some(ambr_bps) = ambr_bps {
        let mut ies = pdu.protocol_ies()?.into_owned();
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceSetupRequest,
            UEAggregateMaximumBitRate(ambr(ambr_bps))
        )?);
        pdu.set_protocol_ies(ies)?;
    }
    Ok(pdu)
}

fn write_session_release(
    ids: (AmfUeId, RanUeId),
    nas: Option<&Vec<u8>>,
    sessions: &Transfers,
) -> Result<NGAP_PDU, Error> {
    let list = session::releases(sessions);
    match nas {
        Some(nas) => build_ngap!(
            InitiatingMessage,
            PDUSessionResourceRelease,
            PDUSessionResourceReleaseCommand,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
            NAS_PDU(nas.clone()),
            PDUSessionResourceToReleaseListRelCmd(list),
        ),
        None => build_ngap!(
            InitiatingMessage,
            PDUSessionResourceRelease,
            PDUSessionResourceReleaseCommand,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
            PDUSessionResourceToReleaseListRelCmd(list),
        ),
    }
}

pub(crate) fn ambr((down, up): (u64, u64)) -> ngap::UEAggregateMaximumBitRate {
    ngap::UEAggregateMaximumBitRate::new(ngap::BitRate(down), ngap::BitRate(up), None)
}

fn write_initial_context(m: &InitialContext) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        InitiatingMessage,
        InitialContextSetup,
        InitialContextSetupRequest,
        AMF_UE_NGAP_ID(m.ids.0.0),
        RAN_UE_NGAP_ID(m.ids.1.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if let Some(ambr_bps) = m.ambr_bps {
        ies.0.push(build_ngap_ie!(
            InitialContextSetupRequest,
            UEAggregateMaximumBitRate(ambr(ambr_bps))
        )?);
    }
    ies.0.push(build_ngap_ie!(
        InitialContextSetupRequest,
        GUAMI(value::guami(&m.guami))
    )?);
    if !m.sessions.is_empty() {
        ies.0.push(build_ngap_ie!(
            InitialContextSetupRequest,
            PDUSessionResourceSetupListCxtReq(session::context_setups(&m.sessions))
        )?);
    }
    let allowed = value::allowed(&m.allowed_nssai);
    ies.0.push(build_ngap_ie!(
        InitialContextSetupRequest,
        AllowedNSSAI(allowed)
    )?);
    let capabilities = value::capabilities(&m.capability);
    ies.0.push(build_ngap_ie!(
        InitialContextSetupRequest,
        UESecurityCapabilities(capabilities)
    )?);
    ies.0.push(build_ngap_ie!(
        InitialContextSetupRequest,
        SecurityKey(*m.key.octets())
    )?);
    if let Some(capability) = &m.radio_capability {
        let capability = capability.clone();
        ies.0.push(build_ngap_ie!(
            InitialContextSetupRequest,
            UERadioCapability(capability)
        )?);
    }
    if let Some(imeisv) = m.masked_imeisv {
        let bits = oxirush_ngap::aper::Bits::low(u64::from_be_bytes(imeisv), 64);
        let imeisv = ngap::MaskedIMEISV(bits);
        ies.0.push(build_ngap_ie!(
            InitialContextSetupRequest,
            MaskedIMEISV(imeisv)
        )?);
    }
    if let Some(nas) = &m.nas {
        ies.0.push(build_ngap_ie!(
            InitialContextSetupRequest,
            NAS_PDU(nas.clone())
        )?);
    }
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

/// None of a procedure that an emulated gNB does not know.
fn read(pdu: &NGAP_PDU) -> Result<Option<FromAmf>, Error> {
    Ok(match pdu.kind() {
        Kind::Successful_NGSetup => configuration::read_ng_setup_response(pdu)?,
        Kind::Unsuccessful_NGSetup => {
            extract_ngap_ies!(pdu, NGSetupFailure,
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(FromAmf::NgSetupFailure {
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        Kind::Initiating_DownlinkNASTransport => {
            extract_ngap_ies!(pdu, DownlinkNASTransport,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                req nas: Vec<u8> = NAS_PDU(nas) => nas.0.to_vec(),
            );
            Some(FromAmf::DownlinkNasTransport {
                ids: (AmfUeId(amf), RanUeId(ran)),
                nas,
            })
        }
        Kind::Initiating_InitialContextSetup => read_initial_context(pdu)?,
        Kind::Initiating_UEContextRelease => read_release(pdu)?,
        Kind::Initiating_Paging => {
            paging::read(pdu)?.map(|paging| FromAmf::Paging(Box::new(paging)))
        }
        Kind::Successful_NGReset => {
            extract_ngap_ies!(pdu, NGResetAcknowledge,
                lax connections: Vec<Connection> =
                    UE_associatedLogicalNG_connectionList(list) => value::read_connections(&list),
            );
            Some(FromAmf::NgResetAcknowledge { connections })
        }
        Kind::Initiating_ErrorIndication => {
            extract_ngap_ies!(pdu, ErrorIndication,
                lax amf: u64 = AMF_UE_NGAP_ID(id),
                lax ran: u32 = RAN_UE_NGAP_ID(id),
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            let connection = Connection {
                amf: amf.map(AmfUeId),
                ran: ran.map(RanUeId),
            };
            let is_named = connection.amf.is_some() || connection.ran.is_some();
            let connection = is_named.then_some(connection);
            Some(FromAmf::ErrorIndication {
                connection,
                cause: why,
            })
        }
        _ => match configuration::read(pdu)? {
            Some(message) => Some(message),
            None => match handover::read(pdu)? {
                Some(message) => Some(FromAmf::Handover(message)),
                None => read_others(pdu)?,
            },
        },
    })
}

fn read_others(pdu: &NGAP_PDU) -> Result<Option<FromAmf>, Error> {
    Ok(match pdu.kind() {
        Kind::Initiating_DownlinkRANConfigurationTransfer => {
            configuration_transfer::read_downlink(pdu)?
        }
        Kind::Initiating_PDUSessionResourceSetup => {
            extract_ngap_ies!(pdu, PDUSessionResourceSetupRequest,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                req sessions: Vec<SessionSetup> =
                    PDUSessionResourceSetupListSUReq(list) => session::read_setups(&list),
                lax ambr: (u64, u64) = UEAggregateMaximumBitRate(value) => (
                    value.ue_aggregate_maximum_bit_rate_dl.0,
                    value.ue_aggregate_maximum_bit_rate_ul.0,
                ),
            );
            Some(FromAmf::PduSessionSetupRequest {
                ids: (AmfUeId(amf), RanUeId(ran)),
                ambr_bps: ambr,
                sessions,
            })
        }
        Kind::Initiating_PDUSessionResourceModify => Some(sessions_modified::read_request(pdu)?),
        Kind::Successful_PDUSessionResourceModifyIndication => {
            Some(modify_indication::read_confirm(pdu)?)
        }
        Kind::Initiating_PDUSessionResourceRelease => {
            extract_ngap_ies!(pdu, PDUSessionResourceReleaseCommand,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax nas: Vec<u8> = NAS_PDU(nas) => nas.0.to_vec(),
                req sessions: Transfers =
                    PDUSessionResourceToReleaseListRelCmd(list) => session::read_releases(&list),
            );
            Some(FromAmf::PduSessionReleaseCommand {
                ids: (AmfUeId(amf), RanUeId(ran)),
                nas,
                sessions,
            })
        }
        _ => None,
    })
}

fn read_initial_context(pdu: &NGAP_PDU) -> Result<Option<FromAmf>, Error> {
    extract_ngap_ies!(pdu, InitialContextSetupRequest,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        lax ambr: (u64, u64) = UEAggregateMaximumBitRate(value) => (
            value.ue_aggregate_maximum_bit_rate_dl.0,
            value.ue_aggregate_maximum_bit_rate_ul.0,
        ),
        req guami: Option<Guami> = GUAMI(value) => value::read_guami(&value),
        lax sessions: Vec<SessionSetup> =
            PDUSessionResourceSetupListCxtReq(list) => session::read_context_setups(&list),
        req allowed: Vec<Snssai> = AllowedNSSAI(list) => value::read_allowed(&list),
        req capability: [u8; 4] =
            UESecurityCapabilities(value) => value::read_capabilities(&value),
        req key: Option<[u8; 32]> = SecurityKey(key) => key.0.as_octets().try_into().ok(),
        lax radio: Vec<u8> = UERadioCapability(value) => value.0.to_vec(),
        lax imeisv: [u8; 8] = MaskedIMEISV(value) => value.0.value().to_be_bytes(),
        lax nas: Vec<u8> = NAS_PDU(nas) => nas.0.to_vec(),
    );
    let capability = SecurityCapability::from_octets(&capability);
    let (Some(guami), Some(capability), Some(key)) = (guami, capability, key) else {
        return Ok(None);
    };
    Ok(Some(FromAmf::InitialContextSetupRequest(Box::new(
        InitialContext {
            ids: (AmfUeId(amf), RanUeId(ran)),
            guami,
            ambr_bps: ambr,
            sessions: sessions.unwrap_or_default(),
            allowed_nssai: allowed,
            capability,
            key: Kgnb::new(key),
            masked_imeisv: imeisv,
            radio_capability: radio,
            nas,
        },
    ))))
}

fn read_release(pdu: &NGAP_PDU) -> Result<Option<FromAmf>, Error> {
    extract_ngap_ies!(pdu, UEContextReleaseCommand,
        req ids: ngap::UENGAPIDs = UE_NGAP_IDs(ids) => ids,
        lax why: Cause = Cause(cause) => Cause::read(&cause),
    );
    let (amf, ran) = match ids {
        ngap::UENGAPIDs::uE_NGAP_ID_pair(pair) => {
            (pair.amf_ue_ngap_id.0, Some(RanUeId(pair.ran_ue_ngap_id.0)))
        }
        ngap::UENGAPIDs::aMF_UE_NGAP_ID(id) => (id.0, None),
        _ => return Ok(None),
    };
    let cause = why.unwrap_or(Cause::Unknown);
    Ok(Some(FromAmf::UeContextReleaseCommand {
        amf: AmfUeId(amf),
        ran,
        cause,
    }))
}
