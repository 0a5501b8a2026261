//! What a gNB says of its configuration, of the AMF's, and of a UE's context that changes (TS 38.413,
//! 9.2.2.8, 9.2.2.9, 9.2.6.1, 9.2.6.4, 9.2.6.8, 9.2.6.9).

use oxirush_ngap::ngap::{self, NGAP_PDU, NgapPduKind as Kind};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};

use crate::cause::Cause;
use crate::configuration_transfer;
use crate::from_ran::{FromRan, NgSetupRequest};
use crate::value::{self, AmfUeId, Gnb, RanUeId, SupportedArea};

/// None of another procedure.
pub(crate) fn read(pdu: &NGAP_PDU) -> Result<Option<FromRan>, Error> {
    Ok(match pdu.kind() {
        Kind::Initiating_RANConfigurationUpdate => {
            extract_ngap_ies!(pdu, RANConfigurationUpdate,
                lax name: String = RANNodeName(name) => name.0.into_owned(),
                opt areas: Vec<SupportedArea> = SupportedTAList(list) => value::read_areas(&list),
                lax extended: Option<String> = Extended_RANNodeName(name) => extended_name(name),
            );
            let name = extended.flatten().or(name);
            Some(FromRan::RanConfigurationUpdate { name, areas })
        }
        Kind::Initiating_UplinkRANConfigurationTransfer => Some(configuration_transfer::read(pdu)?),
        Kind::Successful_AMFConfigurationUpdate => Some(FromRan::AmfConfigurationUpdateAcknowledge),
        Kind::Unsuccessful_AMFConfigurationUpdate => {
            extract_ngap_ies!(pdu, AMFConfigurationUpdateFailure,
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(FromRan::AmfConfigurationUpdateFailure {
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        Kind::Successful_UEContextModification => {
            extract_ngap_ies!(pdu, UEContextModificationResponse,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
            );
            Some(FromRan::UeContextModificationResponse {
                ids: (AmfUeId(amf), RanUeId(ran)),
            })
        }
        Kind::Unsuccessful_UEContextModification => {
            extract_ngap_ies!(pdu, UEContextModificationFailure,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(FromRan::UeContextModificationFailure {
                ids: (AmfUeId(amf), RanUeId(ran)),
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        _ => None,
    })
}

/// Messages of these procedures; others are written where they are read.
pub(crate) fn write(message: &FromRan) -> Result<NGAP_PDU, Error> {
    match message {
        FromRan::ConfigurationTransfer { transfer, .. } => configuration_transfer::write(transfer),
        FromRan::RanConfigurationUpdate { name, areas } => {
            let mut pdu = build_ngap!(
                InitiatingMessage,
                RANConfigurationUpdate,
                RANConfigurationUpdate,
            )?;
            let mut ies = pdu.protocol_ies()?.into_owned();
            if let Some(name) = name {
                let name = name.clone();
                ies.0
                    .push(build_ngap_ie!(RANConfigurationUpdate, RANNodeName(name))?);
            }
            if let Some(areas) = areas {
                let areas = value::areas(areas);
                ies.0.push(build_ngap_ie!(
                    RANConfigurationUpdate,
                    SupportedTAList(areas)
                )?);
            }
            pdu.set_protocol_ies(ies)?;
            Ok(pdu)
        }
        FromRan::AmfConfigurationUpdateAcknowledge => build_ngap!(
            SuccessfulOutcome,
            AMFConfigurationUpdate,
            AMFConfigurationUpdateAcknowledge,
        ),
        FromRan::AmfConfigurationUpdateFailure { cause } => build_ngap!(
            UnsuccessfulOutcome,
            AMFConfigurationUpdate,
            AMFConfigurationUpdateFailure,
            Cause(cause.write()),
        ),
        FromRan::UeContextModificationResponse { ids } => build_ngap!(
            SuccessfulOutcome,
            UEContextModification,
            UEContextModificationResponse,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
        ),
        FromRan::UeContextModificationFailure { ids, cause } => build_ngap!(
            UnsuccessfulOutcome,
            UEContextModification,
            UEContextModificationFailure,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
            Cause(cause.write()),
        ),
        _ => Err(Error::argument("written by another function")),
    }
}

pub(crate) fn read_ng_setup(pdu: &NGAP_PDU) -> Result<Option<FromRan>, Error> {
    extract_ngap_ies!(pdu, NGSetupRequest,
        req gnb: Option<Gnb> = GlobalRANNodeID(id) => value::read_gnb(&id),
        lax name: String = RANNodeName(name) => name.0.into_owned(),
        req areas: Vec<SupportedArea> = SupportedTAList(list) => value::read_areas(&list),
        lax retained: bool = UERetentionInformation(_value) => true,
        lax extended: Option<String> = Extended_RANNodeName(name) => extended_name(name),
    );
    let name = extended.flatten().or(name);
    let retains_ues = retained.unwrap_or_default();
    Ok(gnb.map(|gnb| {
        FromRan::NgSetupRequest(NgSetupRequest {
            gnb,
            name,
            areas,
            retains_ues,
        })
    }))
}

/// A name that counts instead of the RAN Node Name (8.7.1.2); none that a terminal would take for commands.
fn extended_name(name: ngap::ExtendedRANNodeName<'_>) -> Option<String> {
    let visible = name.ran_node_name_visible_string.map(|name| name.0);
    let utf8 = name.ran_node_name_utf8_string.map(|name| name.0);
    let name = utf8.or(visible)?;
    (!name.chars().any(char::is_control)).then(|| name.into_owned())
}

pub(crate) fn write_ng_setup(m: &NgSetupRequest) -> Result<NGAP_PDU, Error> {
    let name = m.name.clone().unwrap_or_else(|| "gnb".to_owned());
    let mut pdu = build_ngap!(
        InitiatingMessage,
        NGSetup,
        NGSetupRequest,
        GlobalRANNodeID(value::gnb(&m.gnb)),
        RANNodeName(name),
        SupportedTAList(value::areas(&m.areas)),
        DefaultPagingDRX(ngap::PagingDRX::v128),
    )?;
    if m.retains_ues {
        let mut ies = pdu.protocol_ies()?.into_owned();
        let retained = ngap::UERetentionInformation::ues_retained;
        ies.0.push(build_ngap_ie!(
            NGSetupRequest,
            UERetentionInformation(retained)
        )?);
        pdu.set_protocol_ies(ies)?;
    }
    Ok(pdu)
}
