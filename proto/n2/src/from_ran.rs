//! What a gNB says to the AMF (TS 38.413, 9.2).

use oxirush_ngap::ngap::{self, NGAP_PDU, NgapPduKind as Kind};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};
use sluice_ids::STmsi;

use crate::cause::Cause;
use crate::configuration_of_ran as configuration;
use crate::faulty::{self, Faulty};
use crate::handover::HandoverFromRan;
use crate::handover_of_ran as handover;
use crate::paging::PagingCapability;
use crate::procedures;
use crate::session::{self, Transfers};
use crate::sessions_of_ran as sessions;
use crate::value::{
    self, AmfUeId, Connection, Gnb, Location, RadioCapability, RanUeId, SupportedArea,
};

/// A message from a gNB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FromRan {
    /// 9.2.6.1
    NgSetupRequest(NgSetupRequest),
    /// 9.2.5.1
    InitialUeMessage(InitialUeMessage),
    /// 9.2.5.3
    UplinkNasTransport {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// The NAS message.
        nas: Vec<u8>,
        /// Where the UE is.
        location: Option<Location>,
    },
    /// 9.2.5.4
    NasNonDelivery {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// The NAS message.
        nas: Vec<u8>,
        /// Why.
        cause: Cause,
    },
    /// 9.2.2.2
    InitialContextSetupResponse {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// What became of sessions.
        sessions: SessionResults,
    },
    /// 9.2.1.2
    PduSessionSetupResponse {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// What became of sessions.
        sessions: SessionResults,
    },
    /// 9.2.1.6
    PduSessionModifyResponse {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// What became of them.
        sessions: SessionResults,
    },
    /// 9.2.1.4
    PduSessionReleaseResponse {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// Those that are released.
        sessions: Transfers,
    },
    /// 9.2.1.7
    PduSessionNotify {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// Sessions that stay, each with a [`Notified`](crate::notify::Notified).
        sessions: Transfers,
        /// Sessions that the gNB has released, each with why.
        released: Transfers,
    },
    /// 9.2.1.8
    PduSessionModifyIndication {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// At least one, each with a [`ModifyIndication`](crate::ModifyIndication).
        sessions: Transfers,
    },
    /// 9.2.2.3
    InitialContextSetupFailure {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// Why.
        cause: Cause,
    },
    /// 9.2.2.4
    UeContextReleaseRequest {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// Why.
        cause: Cause,
    },
    /// 9.2.2.6
    UeContextReleaseComplete {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
    },
    /// 9.2.13.1
    UeRadioCapability {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// Unread by the AMF.
        capability: RadioCapability,
        /// What a gNB needs of it to call the UE.
        for_paging: Option<PagingCapability>,
    },
    /// 9.2.2.8
    UeContextModificationResponse {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
    },
    /// 9.2.2.9
    UeContextModificationFailure {
        /// Both names of the connection.
        ids: (AmfUeId, RanUeId),
        /// Why.
        cause: Cause,
    },
    /// 9.2.6.4
    RanConfigurationUpdate {
        /// What it is called; none if that has not changed.
        name: Option<String>,
        /// Where it serves UEs; none if that has not changed.
        areas: Option<Vec<SupportedArea>>,
    },
    /// 9.2.6.8
    AmfConfigurationUpdateAcknowledge,
    /// 9.2.6.9
    AmfConfigurationUpdateFailure {
        /// Why.
        cause: Cause,
    },
    /// 9.2.6.11: all connections, or these.
    NgReset {
        /// Why.
        cause: Cause,
        /// Those connections; none are all.
        connections: Option<Vec<Connection>>,
    },
    /// 9.2.7.1: for another gNB, of which the AMF reads nothing else.
    ConfigurationTransfer {
        /// That gNB; none of a node that is none.
        target: Option<Gnb>,
        /// SON Configuration Transfer (9.3.3.6).
        transfer: Vec<u8>,
    },
    /// 9.2.3
    Handover(HandoverFromRan),
    /// 9.2.6.13
    ErrorIndication {
        /// Whose, as far as it is known.
        connection: Connection,
        /// Why.
        cause: Option<Cause>,
    },
}

/// What became of sessions that a gNB was to set up.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SessionResults {
    /// Those that are up, each with a [`SetupResponse`](crate::SetupResponse).
    pub done: Transfers,
    /// Those that are not, each with why.
    pub failed: Transfers,
}

/// NG Setup Request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NgSetupRequest {
    /// Who it is.
    pub gnb: Gnb,
    /// What it is called.
    pub name: Option<String>,
    /// Where it serves UEs.
    pub areas: Vec<SupportedArea>,
    /// It has the contexts of its UEs still, and wants to keep them (UE Retention Information, 9.3.1.117).
    pub retains_ues: bool,
}

/// Initial UE Message.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InitialUeMessage {
    /// The gNB's name of the connection.
    pub ran: RanUeId,
    /// The first NAS message.
    pub nas: Vec<u8>,
    /// Where the UE is.
    pub location: Location,
    /// RRC Establishment Cause, its number.
    pub establishment_cause: u8,
    /// What the UE calls itself on the radio.
    pub s_tmsi: Option<STmsi>,
    /// The gNB asks for a UE context.
    pub context_requested: bool,
}

impl FromRan {
    /// Reads a message, or says what the gNB is to be told.
    pub fn decode(octets: &[u8]) -> Result<Self, Faulty> {
        Self::decode_and_notify(octets).map(|(message, _)| message)
    }

    /// The same, and what the gNB is to be told of IEs that are left out of a message that is processed all the
    /// same (criticality "notify", 10.3.4.2).
    pub fn decode_and_notify(octets: &[u8]) -> Result<(Self, Option<Faulty>), Faulty> {
        let pdu = faulty::open(octets)?;
        if !procedures::is_for_amf(&pdu) {
            return Err(faulty::not_served(&pdu));
        }
        let left_out = faulty::check(&pdu)?;
        match read(&pdu) {
            Ok(Some(message)) => Ok((message, faulty::notice(&pdu, &left_out))),
            Ok(None) => Err(faulty::refused(&pdu, Cause::ABSTRACT_SYNTAX_REJECT, &[])),
            Err(error) => {
                let deviation = oxirush_ngap::Deviation::of(&error);
                let why = deviation.as_ref().map(oxirush_ngap::Deviation::cause);
                let why = match why {
                    Some(Some(why)) => Cause::Protocol(why as u8),
                    // An IE may be missing by its criticality, but nothing can be done without it.
                    Some(None) => Cause::ABSTRACT_SYNTAX_NOTIFY,
                    None => Cause::TRANSFER_SYNTAX,
                };
                Err(faulty::refused(&pdu, why, deviation.as_slice()))
            }
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
            Self::NgSetupRequest(_) => "NG Setup Request",
            Self::InitialUeMessage(_) => "Initial UE Message",
            Self::UplinkNasTransport { .. } => "Uplink NAS Transport",
            Self::NasNonDelivery { .. } => "NAS Non Delivery Indication",
            Self::InitialContextSetupResponse { .. } => "Initial Context Setup Response",
            Self::PduSessionSetupResponse { .. } => "PDU Session Resource Setup Response",
            Self::PduSessionModifyResponse { .. } => "PDU Session Resource Modify Response",
            Self::PduSessionReleaseResponse { .. } => "PDU Session Resource Release Response",
            Self::PduSessionNotify { .. } => "PDU Session Resource Notify",
            Self::PduSessionModifyIndication { .. } => "PDU Session Resource Modify Indication",
            Self::ConfigurationTransfer { .. } => "Uplink RAN Configuration Transfer",
            Self::InitialContextSetupFailure { .. } => "Initial Context Setup Failure",
            Self::UeContextReleaseRequest { .. } => "UE Context Release Request",
            Self::UeContextReleaseComplete { .. } => "UE Context Release Complete",
            Self::UeRadioCapability { .. } => "UE Radio Capability Info Indication",
            Self::UeContextModificationResponse { .. } => "UE Context Modification Response",
            Self::UeContextModificationFailure { .. } => "UE Context Modification Failure",
            Self::RanConfigurationUpdate { .. } => "RAN Configuration Update",
            Self::AmfConfigurationUpdateAcknowledge => "AMF Configuration Update Acknowledge",
            Self::AmfConfigurationUpdateFailure { .. } => "AMF Configuration Update Failure",
            Self::NgReset { .. } => "NG Reset",
            Self::Handover(message) => message.name(),
            Self::ErrorIndication { .. } => "Error Indication",
        }
    }
}

/// None of a procedure that is not offered, or of a value that makes no sense.
fn read(pdu: &NGAP_PDU) -> Result<Option<FromRan>, Error> {
    Ok(match pdu.kind() {
        Kind::Initiating_NGSetup => configuration::read_ng_setup(pdu)?,
        Kind::Initiating_InitialUEMessage => read_initial_ue_message(pdu)?,
        Kind::Initiating_UplinkNASTransport => {
            extract_ngap_ies!(pdu, UplinkNASTransport,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                req nas: Vec<u8> = NAS_PDU(nas) => nas.0.to_vec(),
                lax location: Option<Location> =
                    UserLocationInformation(value) => value::read_location(&value),
            );
            let ids = (AmfUeId(amf), RanUeId(ran));
            Some(FromRan::UplinkNasTransport {
                ids,
                nas,
                location: location.flatten(),
            })
        }
        Kind::Initiating_NASNonDeliveryIndication => {
            extract_ngap_ies!(pdu, NASNonDeliveryIndication,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax nas: Vec<u8> = NAS_PDU(nas) => nas.0.to_vec(),
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(FromRan::NasNonDelivery {
                ids: (AmfUeId(amf), RanUeId(ran)),
                nas: nas.unwrap_or_default(),
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        Kind::Successful_InitialContextSetup => {
            extract_ngap_ies!(pdu, InitialContextSetupResponse,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax done: Transfers =
                    PDUSessionResourceSetupListCxtRes(list) => session::read_context_done(&list),
                lax failed: Transfers = PDUSessionResourceFailedToSetupListCxtRes(list) =>
                    session::read_context_failed(&list),
            );
            Some(FromRan::InitialContextSetupResponse {
                ids: (AmfUeId(amf), RanUeId(ran)),
                sessions: SessionResults {
                    done: done.unwrap_or_default(),
                    failed: failed.unwrap_or_default(),
                },
            })
        }
        Kind::Unsuccessful_InitialContextSetup => {
            extract_ngap_ies!(pdu, InitialContextSetupFailure,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(FromRan::InitialContextSetupFailure {
                ids: (AmfUeId(amf), RanUeId(ran)),
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        _ => read_others(pdu)?,
    })
}

fn read_others(pdu: &NGAP_PDU) -> Result<Option<FromRan>, Error> {
    Ok(match pdu.kind() {
        Kind::Initiating_UEContextReleaseRequest => {
            extract_ngap_ies!(pdu, UEContextReleaseRequest,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(FromRan::UeContextReleaseRequest {
                ids: (AmfUeId(amf), RanUeId(ran)),
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        Kind::Successful_UEContextRelease => {
            extract_ngap_ies!(pdu, UEContextReleaseComplete,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
            );
            Some(FromRan::UeContextReleaseComplete {
                ids: (AmfUeId(amf), RanUeId(ran)),
            })
        }
        Kind::Initiating_UERadioCapabilityInfoIndication => {
            extract_ngap_ies!(pdu, UERadioCapabilityInfoIndication,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax capability: Vec<u8> = UERadioCapability(value) => value.0.to_vec(),
                lax paging: PagingCapability =
                    UERadioCapabilityForPaging(value) => PagingCapability::read(&value),
            );
            Some(FromRan::UeRadioCapability {
                ids: (AmfUeId(amf), RanUeId(ran)),
                capability: capability.unwrap_or_default(),
                for_paging: paging,
            })
        }
        Kind::Initiating_NGReset => read_reset(pdu)?,
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
            Some(FromRan::ErrorIndication {
                connection,
                cause: why,
            })
        }
        _ => match configuration::read(pdu)? {
            Some(message) => Some(message),
            None => match handover::read(pdu)? {
                Some(message) => Some(FromRan::Handover(message)),
                None => sessions::read(pdu)?,
            },
        },
    })
}

fn read_reset(pdu: &NGAP_PDU) -> Result<Option<FromRan>, Error> {
    extract_ngap_ies!(pdu, NGReset,
        lax why: Cause = Cause(cause) => Cause::read(&cause),
        req which: ngap::ResetType = ResetType(which) => which,
    );
    let cause = why.unwrap_or(Cause::Unknown);
    let connections = match which {
        ngap::ResetType::nG_Interface(_) => None,
        ngap::ResetType::partOfNG_Interface(list) => Some(value::read_connections(&list)),
        _ => return Ok(None),
    };
    Ok(Some(FromRan::NgReset { cause, connections }))
}

fn read_initial_ue_message(pdu: &NGAP_PDU) -> Result<Option<FromRan>, Error> {
    extract_ngap_ies!(pdu, InitialUEMessage,
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req nas: Vec<u8> = NAS_PDU(nas) => nas.0.to_vec(),
        req location: Option<Location> =
            UserLocationInformation(value) => value::read_location(&value),
        lax establishment: u8 = RRCEstablishmentCause(value) => value as u8,
        opt s_tmsi: STmsi = FiveG_S_TMSI(value) => value::read_s_tmsi(&value),
        lax context: bool = UEContextRequest(_value) => true,
    );
    Ok(location.map(|location| {
        FromRan::InitialUeMessage(InitialUeMessage {
            ran: RanUeId(ran),
            nas,
            location,
            establishment_cause: establishment.unwrap_or_default(),
            s_tmsi,
            context_requested: context.unwrap_or_default(),
        })
    }))
}

fn write(message: &FromRan) -> Result<NGAP_PDU, Error> {
    match message {
        FromRan::NgSetupRequest(m) => configuration::write_ng_setup(m),
        FromRan::InitialUeMessage(m) => write_initial_ue_message(m),
        FromRan::UplinkNasTransport { ids, nas, location } => match location {
            Some(location) => build_ngap!(
                InitiatingMessage,
                UplinkNASTransport,
                UplinkNASTransport,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                NAS_PDU(nas.clone()),
                UserLocationInformation(value::location(location)),
            ),
            None => build_ngap!(
                InitiatingMessage,
                UplinkNASTransport,
                UplinkNASTransport,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                NAS_PDU(nas.clone()),
            ),
        },
        FromRan::NasNonDelivery { ids, nas, cause } => {
            build_ngap!(
                InitiatingMessage,
                NASNonDeliveryIndication,
                NASNonDeliveryIndication,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                NAS_PDU(nas.clone()),
                Cause(cause.write()),
            )
        }
        FromRan::InitialContextSetupResponse { ids, sessions } => {
            sessions::write_context_response(*ids, sessions)
        }
        FromRan::InitialContextSetupFailure { ids, cause } => {
            build_ngap!(
                UnsuccessfulOutcome,
                InitialContextSetup,
                InitialContextSetupFailure,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                Cause(cause.write()),
            )
        }
        others => write_others(others),
    }
}

fn write_others(message: &FromRan) -> Result<NGAP_PDU, Error> {
    match message {
        FromRan::UeContextReleaseRequest { ids, cause } => {
            build_ngap!(
                InitiatingMessage,
                UEContextReleaseRequest,
                UEContextReleaseRequest,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                Cause(cause.write()),
            )
        }
        FromRan::UeContextReleaseComplete { ids } => {
            build_ngap!(
                SuccessfulOutcome,
                UEContextRelease,
                UEContextReleaseComplete,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
            )
        }
        FromRan::UeRadioCapability {
            ids,
            capability,
            for_paging,
        } => {
            let mut pdu = build_ngap!(
                InitiatingMessage,
                UERadioCapabilityInfoIndication,
                UERadioCapabilityInfoIndication,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                UERadioCapability(capability.clone()),
            )?;
            if let Some(paging) = for_paging {
                let mut ies = pdu.protocol_ies()?.into_owned();
                ies.0.push(build_ngap_ie!(
                    UERadioCapabilityInfoIndication,
                    UERadioCapabilityForPaging(paging.write())
                )?);
                pdu.set_protocol_ies(ies)?;
            }
            Ok(pdu)
        }
        FromRan::NgReset { cause, connections } => {
            let which = match connections {
                None => ngap::ResetType::nG_Interface(ngap::ResetAll::reset_all),
                Some(list) => ngap::ResetType::partOfNG_Interface(value::connections(list)),
            };
            build_ngap!(
                InitiatingMessage,
                NGReset,
                NGReset,
                Cause(cause.write()),
                ResetType(which),
            )
        }
        FromRan::ErrorIndication {
            connection,
            cause: why,
        } => value::error_indication(connection, *why),
        FromRan::UeContextModificationResponse { .. }
        | FromRan::UeContextModificationFailure { .. }
        | FromRan::RanConfigurationUpdate { .. }
        | FromRan::AmfConfigurationUpdateAcknowledge
        | FromRan::ConfigurationTransfer { .. }
        | FromRan::AmfConfigurationUpdateFailure { .. } => configuration::write(message),
        FromRan::Handover(message) => handover::write(message),
        others => sessions::write(others),
    }
}

fn write_initial_ue_message(m: &InitialUeMessage) -> Result<NGAP_PDU, Error> {
    use ngap::RRCEstablishmentCause as Why;
    let why = if m.establishment_cause == Why::mo_Data as u8 {
        Why::mo_Data
    } else {
        Why::mo_Signalling
    };
    match &m.s_tmsi {
        Some(s_tmsi) => build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(m.ran.0),
            NAS_PDU(m.nas.clone()),
            UserLocationInformation(value::location(&m.location)),
            RRCEstablishmentCause(why),
            FiveG_S_TMSI(value::s_tmsi(s_tmsi)),
            UEContextRequest(ngap::UEContextRequest::requested),
        ),
        None => build_ngap!(
            InitiatingMessage,
            InitialUEMessage,
            InitialUEMessage,
            RAN_UE_NGAP_ID(m.ran.0),
            NAS_PDU(m.nas.clone()),
            UserLocationInformation(value::location(&m.location)),
            RRCEstablishmentCause(why),
            UEContextRequest(ngap::UEContextRequest::requested),
        ),
    }
}
