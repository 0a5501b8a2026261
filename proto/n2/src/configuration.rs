//! What an AMF says of its configuration, of its end, of overload, and of a UE's context that changes (TS
//! 38.413, 9.2.2.7, 9.2.6.5, 9.2.6.7 to 9.2.6.10, 9.2.6.14, 9.2.6.15).

use oxirush_ngap::ngap::{self, NGAP_PDU, NgapPduKind as Kind};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};
use sluice_ids::Guami;
use sluice_security::{Kgnb, SecurityCapability};

use crate::cause::Cause;
use crate::from_amf::{FromAmf, NgSetupResponse};
use crate::value::{self, AmfUeId, PlmnSlices, RanUeId};

/// UE Context Modification Request: a key of the access stratum that replaces the one before.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContextModification {
    /// Both names of the connection.
    pub ids: (AmfUeId, RanUeId),
    /// KgNB; none leaves it.
    pub key: Option<Kgnb>,
    /// Algorithms that the UE has; none leaves them.
    pub capability: Option<SecurityCapability>,
}

pub(crate) fn write_ng_setup_response(m: &NgSetupResponse) -> Result<NGAP_PDU, Error> {
    let guami = |guami| ngap::ServedGUAMIItem::new(value::guami(guami), None, None);
    let served = ngap::ServedGUAMIList(m.guamis.iter().map(guami).collect());
    let plmn = |item: &PlmnSlices| {
        let slices = value::slices(&item.slices);
        ngap::PLMNSupportItem::new(value::plmn(item.plmn), slices, None)
    };
    let plmns = ngap::PLMNSupportList(m.plmns.iter().map(plmn).collect());
    let mut pdu = build_ngap!(
        SuccessfulOutcome,
        NGSetup,
        NGSetupResponse,
        AMFName(m.name.clone()),
        ServedGUAMIList(served),
        RelativeAMFCapacity(ngap::RelativeAMFCapacity(m.capacity)),
        PLMNSupportList(plmns),
    )?;
    if m.retains_ues {
        let mut ies = pdu.protocol_ies()?.into_owned();
        let retained = ngap::UERetentionInformation::ues_retained;
        ies.0.push(build_ngap_ie!(
            NGSetupResponse,
            UERetentionInformation(retained)
        )?);
        pdu.set_protocol_ies(ies)?;
    }
    Ok(pdu)
}

pub(crate) fn read_ng_setup_response(pdu: &NGAP_PDU) -> Result<Option<FromAmf>, Error> {
    extract_ngap_ies!(pdu, NGSetupResponse,
        req name: String = AMFName(name) => name.0.into_owned(),
        req served: ngap::ServedGUAMIList<'_> = ServedGUAMIList(list) => list,
        lax capacity: ngap::RelativeAMFCapacity = RelativeAMFCapacity(value) => value,
        req plmns: ngap::PLMNSupportList = PLMNSupportList(list) => list,
        lax retained: bool = UERetentionInformation(_value) => true,
    );
    let plmn = |item: &ngap::PLMNSupportItem| {
        let slices = value::read_slices(&item.slice_support_list);
        Some(PlmnSlices {
            plmn: value::read_plmn(&item.plmn_identity)?,
            slices,
        })
    };
    let guamis = served
        .0
        .iter()
        .filter_map(|item| value::read_guami(&item.guami));
    Ok(Some(FromAmf::NgSetupResponse(NgSetupResponse {
        name,
        guamis: guamis.collect(),
        capacity: capacity.map_or(0, |value| value.0),
        plmns: plmns.0.iter().filter_map(plmn).collect(),
        retains_ues: retained.unwrap_or_default(),
    })))
}

pub(crate) fn write_update(m: &NgSetupResponse) -> Result<NGAP_PDU, Error> {
    let guami = |guami| ngap::ServedGUAMIItem::new(value::guami(guami), None, None);
    let served = ngap::ServedGUAMIList(m.guamis.iter().map(guami).collect());
    let plmn = |item: &PlmnSlices| {
        let slices = value::slices(&item.slices);
        ngap::PLMNSupportItem::new(value::plmn(item.plmn), slices, None)
    };
    let plmns = ngap::PLMNSupportList(m.plmns.iter().map(plmn).collect());
    build_ngap!(
        InitiatingMessage,
        AMFConfigurationUpdate,
        AMFConfigurationUpdate,
        AMFName(m.name.clone()),
        ServedGUAMIList(served),
        RelativeAMFCapacity(ngap::RelativeAMFCapacity(m.capacity)),
        PLMNSupportList(plmns),
    )
}

pub(crate) fn write_ran_update_failure(cause: Cause) -> Result<NGAP_PDU, Error> {
    build_ngap!(
        UnsuccessfulOutcome,
        RANConfigurationUpdate,
        RANConfigurationUpdateFailure,
        Cause(cause.write()),
    )
}

pub(crate) fn write_ran_update_acknowledge() -> Result<NGAP_PDU, Error> {
    build_ngap!(
        SuccessfulOutcome,
        RANConfigurationUpdate,
        RANConfigurationUpdateAcknowledge,
    )
}

pub(crate) fn write_status(unavailable: &[Guami]) -> Result<NGAP_PDU, Error> {
    let item = |guami| ngap::UnavailableGUAMIItem::new(value::guami(guami), None, None, None);
    let list = ngap::UnavailableGUAMIList(unavailable.iter().map(item).collect());
    build_ngap!(
        InitiatingMessage,
        AMFStatusIndication,
        AMFStatusIndication,
        UnavailableGUAMIList(list),
    )
}

fn read_status(pdu: &NGAP_PDU) -> Result<FromAmf, Error> {
    extract_ngap_ies!(pdu, AMFStatusIndication,
        req list: Vec<Guami> = UnavailableGUAMIList(list) => list
            .0
            .iter()
            .filter_map(|item| value::read_guami(&item.guami))
            .collect(),
    );
    Ok(FromAmf::AmfStatusIndication { unavailable: list })
}

/// What gNBs keep away from an AMF that has too much to do (TS 38.413, 9.3.1.105).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum OverloadAction {
    /// UEs that have data and begin by themselves, but for emergencies.
    #[default]
    RejectData,
    /// UEs that have signalling alone.
    RejectSignalling,
    /// All but emergencies and those that are called.
    PermitEmergency,
    /// All but those of high priority and those that are called.
    PermitHighPriority,
}

/// Overload Start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Overload {
    /// What gNBs do.
    pub action: OverloadAction,
    /// With how many of a hundred, 1 to 99; none: with all (9.3.1.106).
    pub percent: Option<u8>,
}

pub(crate) fn write_overload_start(overload: Overload) -> Result<NGAP_PDU, Error> {
    use ngap::OverloadAction as Action;
    let action = match overload.action {
        OverloadAction::RejectData => Action::reject_non_emergency_mo_dt,
        OverloadAction::RejectSignalling => Action::reject_rrc_cr_signalling,
        OverloadAction::PermitEmergency => {
            Action::permit_emergency_sessions_and_mobile_terminated_services_only
        }
        OverloadAction::PermitHighPriority => {
            Action::permit_high_priority_sessions_and_mobile_terminated_services_only
        }
    };
    let response = ngap::OverloadResponse::overloadAction(action);
    match overload.percent {
        None => build_ngap!(
            InitiatingMessage,
            OverloadStart,
            OverloadStart,
            AMFOverloadResponse(response),
        ),
        Some(percent) => build_ngap!(
            InitiatingMessage,
            OverloadStart,
            OverloadStart,
            AMFOverloadResponse(response),
            AMFTrafficLoadReductionIndication(ngap::TrafficLoadReductionIndication(
                percent.clamp(1, 99)
            )),
        ),
    }
}

fn read_overload_start(pdu: &NGAP_PDU) -> Result<FromAmf, Error> {
    use ngap::OverloadAction as Action;
    extract_ngap_ies!(pdu, OverloadStart,
        lax response: ngap::OverloadResponse = AMFOverloadResponse(response) => response,
        lax percent: u8 = AMFTrafficLoadReductionIndication(percent) => percent.0,
    );
    let action = match response {
        Some(ngap::OverloadResponse::overloadAction(Action::reject_rrc_cr_signalling)) => {
            OverloadAction::RejectSignalling
        }
        Some(ngap::OverloadResponse::overloadAction(
            Action::permit_emergency_sessions_and_mobile_terminated_services_only,
        )) => OverloadAction::PermitEmergency,
        Some(ngap::OverloadResponse::overloadAction(
            Action::permit_high_priority_sessions_and_mobile_terminated_services_only,
        )) => OverloadAction::PermitHighPriority,
        _ => OverloadAction::RejectData,
    };
    Ok(FromAmf::OverloadStart(Overload { action, percent }))
}

pub(crate) fn write_overload_stop() -> Result<NGAP_PDU, Error> {
    build_ngap!(InitiatingMessage, OverloadStop, OverloadStop,)
}

pub(crate) fn write_modification(m: &ContextModification) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        InitiatingMessage,
        UEContextModification,
        UEContextModificationRequest,
        AMF_UE_NGAP_ID(m.ids.0.0),
        RAN_UE_NGAP_ID(m.ids.1.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if let Some(key) = &m.key {
        ies.0.push(build_ngap_ie!(
            UEContextModificationRequest,
            SecurityKey(*key.octets())
        )?);
    }
    if let Some(capability) = &m.capability {
        let capability = value::capabilities(capability);
        ies.0.push(build_ngap_ie!(
            UEContextModificationRequest,
            UESecurityCapabilities(capability)
        )?);
    }
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

/// None of another procedure, or of one whose values make no sense.
pub(crate) fn read(pdu: &NGAP_PDU) -> Result<Option<FromAmf>, Error> {
    Ok(match pdu.kind() {
        Kind::Initiating_AMFConfigurationUpdate => Some(read_update(pdu)?),
        Kind::Successful_RANConfigurationUpdate => Some(FromAmf::RanConfigurationUpdateAcknowledge),
        Kind::Unsuccessful_RANConfigurationUpdate => {
            extract_ngap_ies!(pdu, RANConfigurationUpdateFailure,
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(FromAmf::RanConfigurationUpdateFailure {
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        Kind::Initiating_AMFStatusIndication => Some(read_status(pdu)?),
        Kind::Initiating_OverloadStart => Some(read_overload_start(pdu)?),
        Kind::Initiating_OverloadStop => Some(FromAmf::OverloadStop),
        Kind::Initiating_UEContextModification => {
            extract_ngap_ies!(pdu, UEContextModificationRequest,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax key: Option<[u8; 32]> = SecurityKey(key) => key.0.as_octets().try_into().ok(),
                lax capability: [u8; 4] =
                    UESecurityCapabilities(value) => value::read_capabilities(&value),
            );
            Some(FromAmf::UeContextModificationRequest(Box::new(
                ContextModification {
                    ids: (AmfUeId(amf), RanUeId(ran)),
                    key: key.flatten().map(Kgnb::new),
                    capability: capability.and_then(|four| SecurityCapability::from_octets(&four)),
                },
            )))
        }
        _ => None,
    })
}

fn read_update(pdu: &NGAP_PDU) -> Result<FromAmf, Error> {
    extract_ngap_ies!(pdu, AMFConfigurationUpdate,
        lax name: String = AMFName(name) => name.0.into_owned(),
        lax served: Vec<Guami> = ServedGUAMIList(list) =>
            list.0.iter().filter_map(|item| value::read_guami(&item.guami)).collect(),
        lax capacity: ngap::RelativeAMFCapacity = RelativeAMFCapacity(value) => value,
        opt plmns: ngap::PLMNSupportList = PLMNSupportList(list) => list,
    );
    let plmn = |item: &ngap::PLMNSupportItem| {
        let slices = value::read_slices(&item.slice_support_list);
        Some(PlmnSlices {
            plmn: value::read_plmn(&item.plmn_identity)?,
            slices,
        })
    };
    let plmns = plmns.map(|list| list.0.iter().filter_map(plmn).collect());
    Ok(FromAmf::AmfConfigurationUpdate(NgSetupResponse {
        name: name.unwrap_or_default(),
        guamis: served.unwrap_or_default(),
        capacity: capacity.map_or(0, |value| value.0),
        plmns: plmns.unwrap_or_default(),
        retains_ues: false,
    }))
}
