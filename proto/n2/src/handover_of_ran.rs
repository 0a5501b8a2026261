//! Messages of handovers from gNBs (TS 38.413, 9.2.3), read and written.

use oxirush_ngap::ngap::{self, NGAP_PDU, NgapPduKind as Kind};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};
use sluice_ids::Tai;

use crate::cause::Cause;
use crate::handover::{
    HandoverFromRan, HandoverRequestAcknowledge, HandoverRequired, PathSwitchRequest,
};
use crate::handover_transfer::{self as transfer, RanStatus};
use crate::session::Transfers;
use crate::value::{self, AmfUeId, Gnb, Location, RanUeId};

/// None of another procedure, or of values that make no sense.
pub(crate) fn read(pdu: &NGAP_PDU) -> Result<Option<HandoverFromRan>, Error> {
    Ok(match pdu.kind() {
        Kind::Initiating_PathSwitchRequest => Some(read_path_switch(pdu)?),
        Kind::Initiating_HandoverPreparation => Some(read_required(pdu)?),
        Kind::Successful_HandoverResourceAllocation => Some(read_acknowledge(pdu)?),
        Kind::Unsuccessful_HandoverResourceAllocation => {
            extract_ngap_ies!(pdu, HandoverFailure,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(HandoverFromRan::Failure {
                amf: AmfUeId(amf),
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        Kind::Initiating_HandoverNotification => {
            extract_ngap_ies!(pdu, HandoverNotify,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax location: Option<Location> =
                    UserLocationInformation(value) => value::read_location(&value),
            );
            Some(HandoverFromRan::Notify {
                ids: (AmfUeId(amf), RanUeId(ran)),
                location: location.flatten(),
            })
        }
        Kind::Initiating_HandoverCancel => {
            extract_ngap_ies!(pdu, HandoverCancel,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(HandoverFromRan::Cancel {
                ids: (AmfUeId(amf), RanUeId(ran)),
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        Kind::Initiating_UplinkRANStatusTransfer => {
            extract_ngap_ies!(pdu, UplinkRANStatusTransfer,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                req status: Option<RanStatus> =
                    RANStatusTransfer_TransparentContainer(value) => RanStatus::read(&value),
            );
            status.map(|status| HandoverFromRan::UplinkStatus {
                ids: (AmfUeId(amf), RanUeId(ran)),
                status,
            })
        }
        _ => None,
    })
}

fn read_path_switch(pdu: &NGAP_PDU) -> Result<HandoverFromRan, Error> {
    extract_ngap_ies!(pdu, PathSwitchRequest,
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req source: u64 = SourceAMF_UE_NGAP_ID(id),
        lax location: Option<Location> =
            UserLocationInformation(value) => value::read_location(&value),
        lax capability: [u8; 4] =
            UESecurityCapabilities(value) => value::read_capabilities(&value),
        req switched: Transfers =
            PDUSessionResourceToBeSwitchedDLList(list) => transfer::read_to_switch(&list),
        lax failed: Transfers =
            PDUSessionResourceFailedToSetupListPSReq(list) => transfer::read_not_switched(&list),
    );
    Ok(HandoverFromRan::PathSwitchRequest(Box::new(
        PathSwitchRequest {
            ran: RanUeId(ran),
            source: AmfUeId(source),
            location: location.flatten(),
            capability: capability.unwrap_or_default(),
            switched,
            failed: failed.unwrap_or_default(),
        },
    )))
}

fn read_required(pdu: &NGAP_PDU) -> Result<HandoverFromRan, Error> {
    extract_ngap_ies!(pdu, HandoverRequired,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req kind: ngap::HandoverType = HandoverType(kind) => kind,
        lax why: Cause = Cause(cause) => Cause::read(&cause),
        req target: Option<(Gnb, Tai)> = TargetID(value) => read_target(&value),
        lax direct: bool = DirectForwardingPathAvailability(_value) => true,
        req sessions: Transfers =
            PDUSessionResourceListHORqd(list) => transfer::read_required(&list),
        req container: Vec<u8> = SourceToTarget_TransparentContainer(value) => value.0.to_vec(),
    );
    Ok(HandoverFromRan::Required(Box::new(HandoverRequired {
        ids: (AmfUeId(amf), RanUeId(ran)),
        cause: why.unwrap_or(Cause::Unknown),
        target: target.filter(|_| kind == ngap::HandoverType::intra5gs),
        is_direct: direct.unwrap_or_default(),
        sessions,
        container,
    })))
}

/// None of a target that is no gNB.
fn read_target(value: &ngap::TargetID) -> Option<(Gnb, Tai)> {
    let ngap::TargetID::targetRANNodeID(node) = value else {
        return None;
    };
    let gnb = value::read_gnb(&node.global_ran_node_id)?;
    Some((gnb, value::read_tai(&node.selected_tai)?))
}

fn read_acknowledge(pdu: &NGAP_PDU) -> Result<HandoverFromRan, Error> {
    extract_ngap_ies!(pdu, HandoverRequestAcknowledge,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        lax admitted: Transfers =
            PDUSessionResourceAdmittedList(list) => transfer::read_admitted(&list),
        lax failed: Transfers =
            PDUSessionResourceFailedToSetupListHOAck(list) => transfer::read_refused(&list),
        req container: Vec<u8> = TargetToSource_TransparentContainer(value) => value.0.to_vec(),
    );
    Ok(HandoverFromRan::RequestAcknowledge(Box::new(
        HandoverRequestAcknowledge {
            ids: (AmfUeId(amf), RanUeId(ran)),
            admitted: admitted.unwrap_or_default(),
            failed: failed.unwrap_or_default(),
            container,
        },
    )))
}

pub(crate) fn write(message: &HandoverFromRan) -> Result<NGAP_PDU, Error> {
    match message {
        HandoverFromRan::PathSwitchRequest(m) => write_path_switch(m),
        HandoverFromRan::Required(m) => write_required(m),
        HandoverFromRan::RequestAcknowledge(m) => write_acknowledge(m),
        HandoverFromRan::Failure { amf, cause } => build_ngap!(
            UnsuccessfulOutcome,
            HandoverResourceAllocation,
            HandoverFailure,
            AMF_UE_NGAP_ID(amf.0),
            Cause(cause.write()),
        ),
        HandoverFromRan::Notify { ids, location } => {
            let mut pdu = build_ngap!(
                InitiatingMessage,
                HandoverNotification,
                HandoverNotify,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
            )?;
            if let Some(location) = location {
                let mut ies = pdu.protocol_ies()?.into_owned();
                ies.0.push(build_ngap_ie!(
                    HandoverNotify,
                    UserLocationInformation(value::location(location))
                )?);
                pdu.set_protocol_ies(ies)?;
            }
            Ok(pdu)
        }
        HandoverFromRan::Cancel { ids, cause } => build_ngap!(
            InitiatingMessage,
            HandoverCancel,
            HandoverCancel,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
            Cause(cause.write()),
        ),
        HandoverFromRan::UplinkStatus { ids, status } => {
            let status = status.write().ok_or_else(|| Error::argument("no status"))?;
            build_ngap!(
                InitiatingMessage,
                UplinkRANStatusTransfer,
                UplinkRANStatusTransfer,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                RANStatusTransfer_TransparentContainer(status.into_owned()),
            )
        }
    }
}

fn write_path_switch(m: &PathSwitchRequest) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        InitiatingMessage,
        PathSwitchRequest,
        PathSwitchRequest,
        RAN_UE_NGAP_ID(m.ran.0),
        SourceAMF_UE_NGAP_ID(m.source.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if let Some(location) = &m.location {
        ies.0.push(build_ngap_ie!(
            PathSwitchRequest,
            UserLocationInformation(value::location(location))
        )?);
    }
    ies.0.push(build_ngap_ie!(
        PathSwitchRequest,
        UESecurityCapabilities(value::four_capabilities(m.capability))
    )?);
    ies.0.push(build_ngap_ie!(
        PathSwitchRequest,
        PDUSessionResourceToBeSwitchedDLList(transfer::to_switch(&m.switched))
    )?);
    if !m.failed.is_empty() {
        ies.0.push(build_ngap_ie!(
            PathSwitchRequest,
            PDUSessionResourceFailedToSetupListPSReq(transfer::not_switched(&m.failed))
        )?);
    }
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

fn write_required(m: &HandoverRequired) -> Result<NGAP_PDU, Error> {
    let (gnb, tai) = m.target.ok_or_else(|| Error::argument("no target"))?;
    let target = ngap::TargetRANNodeID::new(value::gnb(&gnb), value::tai(&tai), None);
    let mut pdu = build_ngap!(
        InitiatingMessage,
        HandoverPreparation,
        HandoverRequired,
        AMF_UE_NGAP_ID(m.ids.0.0),
        RAN_UE_NGAP_ID(m.ids.1.0),
        HandoverType(ngap::HandoverType::intra5gs),
        Cause(m.cause.write()),
        TargetID(ngap::TargetID::targetRANNodeID(target)),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if m.is_direct {
        let direct = ngap::DirectForwardingPathAvailability::direct_path_available;
        ies.0.push(build_ngap_ie!(
            HandoverRequired,
            DirectForwardingPathAvailability(direct)
        )?);
    }
    ies.0.push(build_ngap_ie!(
        HandoverRequired,
        PDUSessionResourceListHORqd(transfer::required(&m.sessions))
    )?);
    ies.0.push(build_ngap_ie!(
        HandoverRequired,
        SourceToTarget_TransparentContainer(m.container.clone())
    )?);
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

fn write_acknowledge(m: &HandoverRequestAcknowledge) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        SuccessfulOutcome,
        HandoverResourceAllocation,
        HandoverRequestAcknowledge,
        AMF_UE_NGAP_ID(m.ids.0.0),
        RAN_UE_NGAP_ID(m.ids.1.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if !m.admitted.is_empty() {
        ies.0.push(build_ngap_ie!(
            HandoverRequestAcknowledge,
            PDUSessionResourceAdmittedList(transfer::admitted(&m.admitted))
        )?);
    }
    if !m.failed.is_empty() {
        ies.0.push(build_ngap_ie!(
            HandoverRequestAcknowledge,
            PDUSessionResourceFailedToSetupListHOAck(transfer::refused(&m.failed))
        )?);
    }
    ies.0.push(build_ngap_ie!(
        HandoverRequestAcknowledge,
        TargetToSource_TransparentContainer(m.container.clone())
    )?);
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}
