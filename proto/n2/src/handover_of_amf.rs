//! Messages of handovers from an AMF (TS 38.413, 9.2.3), read and written.

use oxirush_ngap::ngap::{self, NGAP_PDU, NgapPduKind as Kind};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};
use sluice_ids::{Guami, Snssai};
use sluice_security::{Kgnb, NextHop, SecurityCapability};

use crate::cause::Cause;
use crate::from_amf::ambr;
use crate::handover::{
    HandoverCommand, HandoverFromAmf, HandoverRequest, PathSwitchRequestAcknowledge,
};
use crate::handover_transfer::{self as transfer, RanStatus};
use crate::session::{SessionSetup, Transfers};
use crate::value::{self, AmfUeId, RanUeId};

/// None of another procedure, or of values that make no sense.
pub(crate) fn read(pdu: &NGAP_PDU) -> Result<Option<HandoverFromAmf>, Error> {
    Ok(match pdu.kind() {
        Kind::Successful_PathSwitchRequest => read_switched(pdu)?,
        Kind::Unsuccessful_PathSwitchRequest => {
            extract_ngap_ies!(pdu, PathSwitchRequestFailure,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax released: Transfers =
                    PDUSessionResourceReleasedListPSFail(list) => transfer::read_released_all(&list),
            );
            Some(HandoverFromAmf::PathSwitchRequestFailure {
                ids: (AmfUeId(amf), RanUeId(ran)),
                released: released.unwrap_or_default(),
            })
        }
        Kind::Initiating_HandoverResourceAllocation => read_request(pdu)?,
        Kind::Successful_HandoverPreparation => Some(read_command(pdu)?),
        Kind::Unsuccessful_HandoverPreparation => {
            extract_ngap_ies!(pdu, HandoverPreparationFailure,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax why: Cause = Cause(cause) => Cause::read(&cause),
            );
            Some(HandoverFromAmf::PreparationFailure {
                ids: (AmfUeId(amf), RanUeId(ran)),
                cause: why.unwrap_or(Cause::Unknown),
            })
        }
        Kind::Successful_HandoverCancel => {
            extract_ngap_ies!(pdu, HandoverCancelAcknowledge,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
            );
            let ids = (AmfUeId(amf), RanUeId(ran));
            Some(HandoverFromAmf::CancelAcknowledge { ids })
        }
        Kind::Initiating_DownlinkRANStatusTransfer => {
            extract_ngap_ies!(pdu, DownlinkRANStatusTransfer,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                req status: Option<RanStatus> =
                    RANStatusTransfer_TransparentContainer(value) => RanStatus::read(&value),
            );
            let ids = (AmfUeId(amf), RanUeId(ran));
            status.map(|status| HandoverFromAmf::DownlinkStatus { ids, status })
        }
        _ => None,
    })
}

/// None of a key that has not 256 bits.
fn read_next_hop(value: &ngap::SecurityContext<'_>) -> Option<NextHop> {
    let key: [u8; 32] = value.next_hop_nh.0.as_octets().try_into().ok()?;
    Some(NextHop {
        key: Kgnb::new(key),
        ncc: value.next_hop_chaining_count.0,
    })
}

fn security(next_hop: &NextHop) -> ngap::SecurityContext<'static> {
    let ncc = ngap::NextHopChainingCount(next_hop.ncc % 8);
    ngap::SecurityContext::new(ncc, (*next_hop.key.octets()).into(), None)
}

fn read_switched(pdu: &NGAP_PDU) -> Result<Option<HandoverFromAmf>, Error> {
    extract_ngap_ies!(pdu, PathSwitchRequestAcknowledge,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        lax capability: [u8; 4] =
            UESecurityCapabilities(value) => value::read_capabilities(&value),
        req next_hop: Option<NextHop> = SecurityContext(value) => read_next_hop(&value),
        lax new_context: bool = NewSecurityContextInd(_indicator) => true,
        lax switched: Transfers =
            PDUSessionResourceSwitchedList(list) => transfer::read_switched(&list),
        lax released: Transfers =
            PDUSessionResourceReleasedListPSAck(list) => transfer::read_released_with(&list),
        req allowed: Vec<Snssai> = AllowedNSSAI(list) => value::read_allowed(&list),
    );
    let Some(next_hop) = next_hop else {
        return Ok(None);
    };
    Ok(Some(HandoverFromAmf::PathSwitchRequestAcknowledge(
        Box::new(PathSwitchRequestAcknowledge {
            ids: (AmfUeId(amf), RanUeId(ran)),
            capability: capability.and_then(|four| SecurityCapability::from_octets(&four)),
            next_hop,
            is_new_context: new_context.unwrap_or_default(),
            switched: switched.unwrap_or_default(),
            released: released.unwrap_or_default(),
            allowed_nssai: allowed,
        }),
    )))
}

fn read_request(pdu: &NGAP_PDU) -> Result<Option<HandoverFromAmf>, Error> {
    extract_ngap_ies!(pdu, HandoverRequest,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        lax why: Cause = Cause(cause) => Cause::read(&cause),
        req ambr: (u64, u64) = UEAggregateMaximumBitRate(value) => (
            value.ue_aggregate_maximum_bit_rate_dl.0,
            value.ue_aggregate_maximum_bit_rate_ul.0,
        ),
        req capability: [u8; 4] =
            UESecurityCapabilities(value) => value::read_capabilities(&value),
        req next_hop: Option<NextHop> = SecurityContext(value) => read_next_hop(&value),
        lax new_context: bool = NewSecurityContextInd(_indicator) => true,
        req sessions: Vec<SessionSetup> =
            PDUSessionResourceSetupListHOReq(list) => read_sessions(&list),
        req allowed: Vec<Snssai> = AllowedNSSAI(list) => value::read_allowed(&list),
        lax imeisv: [u8; 8] = MaskedIMEISV(value) => value.0.value().to_be_bytes(),
        req container: Vec<u8> = SourceToTarget_TransparentContainer(value) => value.0.to_vec(),
        req guami: Option<Guami> = GUAMI(value) => value::read_guami(&value),
    );
    let capability = SecurityCapability::from_octets(&capability);
    let (Some(guami), Some(capability), Some(next_hop)) = (guami, capability, next_hop) else {
        return Ok(None);
    };
    Ok(Some(HandoverFromAmf::Request(Box::new(HandoverRequest {
        amf: AmfUeId(amf),
        cause: why.unwrap_or(Cause::Unknown),
        ambr_bps: ambr,
        capability,
        next_hop,
        is_new_context: new_context.unwrap_or_default(),
        sessions,
        allowed_nssai: allowed,
        masked_imeisv: imeisv,
        container,
        guami,
    }))))
}

fn read_sessions(list: &ngap::PDUSessionResourceSetupListHOReq<'_>) -> Vec<SessionSetup> {
    let item = |one: &ngap::PDUSessionResourceSetupItemHOReq<'_>| SessionSetup {
        session: one.pdu_session_id.0,
        nas: None,
        slice: value::read_slice(&one.s_nssai),
        transfer: one.handover_request_transfer.to_vec(),
    };
    list.0.iter().map(item).collect()
}

fn sessions(sessions: &[SessionSetup]) -> ngap::PDUSessionResourceSetupListHOReq<'static> {
    let item = |one: &SessionSetup| {
        ngap::PDUSessionResourceSetupItemHOReq::new(
            ngap::PDUSessionID(one.session),
            value::slice(&one.slice),
            one.transfer.clone().into(),
            None,
        )
    };
    ngap::PDUSessionResourceSetupListHOReq(sessions.iter().map(item).collect())
}

fn read_command(pdu: &NGAP_PDU) -> Result<HandoverFromAmf, Error> {
    extract_ngap_ies!(pdu, HandoverCommand,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        lax sessions: Transfers =
            PDUSessionResourceHandoverList(list) => transfer::read_commanded(&list),
        lax released: Transfers =
            PDUSessionResourceToReleaseListHOCmd(list) => transfer::read_not_commanded(&list),
        req container: Vec<u8> = TargetToSource_TransparentContainer(value) => value.0.to_vec(),
    );
    Ok(HandoverFromAmf::Command(Box::new(HandoverCommand {
        ids: (AmfUeId(amf), RanUeId(ran)),
        sessions: sessions.unwrap_or_default(),
        released: released.unwrap_or_default(),
        container,
    })))
}

pub(crate) fn write(message: &HandoverFromAmf) -> Result<NGAP_PDU, Error> {
    match message {
        HandoverFromAmf::PathSwitchRequestAcknowledge(m) => write_switched(m),
        HandoverFromAmf::PathSwitchRequestFailure { ids, released } => build_ngap!(
            UnsuccessfulOutcome,
            PathSwitchRequest,
            PathSwitchRequestFailure,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
            PDUSessionResourceReleasedListPSFail(transfer::released_all(released)),
        ),
        HandoverFromAmf::Request(m) => write_request(m),
        HandoverFromAmf::Command(m) => write_command(m),
        HandoverFromAmf::PreparationFailure { ids, cause } => build_ngap!(
            UnsuccessfulOutcome,
            HandoverPreparation,
            HandoverPreparationFailure,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
            Cause(cause.write()),
        ),
        HandoverFromAmf::CancelAcknowledge { ids } => build_ngap!(
            SuccessfulOutcome,
            HandoverCancel,
            HandoverCancelAcknowledge,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
        ),
        HandoverFromAmf::DownlinkStatus { ids, status } => {
            let status = status.write().ok_or_else(|| Error::argument("no status"))?;
            build_ngap!(
                InitiatingMessage,
                DownlinkRANStatusTransfer,
                DownlinkRANStatusTransfer,
                AMF_UE_NGAP_ID(ids.0.0),
                RAN_UE_NGAP_ID(ids.1.0),
                RANStatusTransfer_TransparentContainer(status.into_owned()),
            )
        }
    }
}

fn write_switched(m: &PathSwitchRequestAcknowledge) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        SuccessfulOutcome,
        PathSwitchRequest,
        PathSwitchRequestAcknowledge,
        AMF_UE_NGAP_ID(m.ids.0.0),
        RAN_UE_NGAP_ID(m.ids.1.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if let Some(capability) = &m.capability {
        ies.0.push(build_ngap_ie!(
            PathSwitchRequestAcknowledge,
            UESecurityCapabilities(value::capabilities(capability))
        )?);
    }
    ies.0.push(build_ngap_ie!(
        PathSwitchRequestAcknowledge,
        SecurityContext(security(&m.next_hop))
    )?);
    if m.is_new_context {
        ies.0.push(build_ngap_ie!(
            PathSwitchRequestAcknowledge,
            NewSecurityContextInd(ngap::NewSecurityContextInd::R_true)
        )?);
    }
    ies.0.push(build_ngap_ie!(
        PathSwitchRequestAcknowledge,
        PDUSessionResourceSwitchedList(transfer::switched(&m.switched))
    )?);
    if !m.released.is_empty() {
        ies.0.push(build_ngap_ie!(
            PathSwitchRequestAcknowledge,
            PDUSessionResourceReleasedListPSAck(transfer::released_with(&m.released))
        )?);
    }
    ies.0.push(build_ngap_ie!(
        PathSwitchRequestAcknowledge,
        AllowedNSSAI(value::allowed(&m.allowed_nssai))
    )?);
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

fn write_request(m: &HandoverRequest) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        InitiatingMessage,
        HandoverResourceAllocation,
        HandoverRequest,
        AMF_UE_NGAP_ID(m.amf.0),
        HandoverType(ngap::HandoverType::intra5gs),
        Cause(m.cause.write()),
        UEAggregateMaximumBitRate(ambr(m.ambr_bps)),
        UESecurityCapabilities(value::capabilities(&m.capability)),
        SecurityContext(security(&m.next_hop)),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if m.is_new_context {
        ies.0.push(build_ngap_ie!(
            HandoverRequest,
            NewSecurityContextInd(ngap::NewSecurityContextInd::R_true)
        )?);
    }
    ies.0.push(build_ngap_ie!(
        HandoverRequest,
        PDUSessionResourceSetupListHOReq(sessions(&m.sessions))
    )?);
    ies.0.push(build_ngap_ie!(
        HandoverRequest,
        AllowedNSSAI(value::allowed(&m.allowed_nssai))
    )?);
    if let Some(imeisv) = m.masked_imeisv {
        let bits = oxirush_ngap::aper::Bits::low(u64::from_be_bytes(imeisv), 64);
        ies.0.push(build_ngap_ie!(
            HandoverRequest,
            MaskedIMEISV(ngap::MaskedIMEISV(bits))
        )?);
    }
    ies.0.push(build_ngap_ie!(
        HandoverRequest,
        SourceToTarget_TransparentContainer(m.container.clone())
    )?);
    ies.0.push(build_ngap_ie!(
        HandoverRequest,
        GUAMI(value::guami(&m.guami))
    )?);
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

fn write_command(m: &HandoverCommand) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        SuccessfulOutcome,
        HandoverPreparation,
        HandoverCommand,
        AMF_UE_NGAP_ID(m.ids.0.0),
        RAN_UE_NGAP_ID(m.ids.1.0),
        HandoverType(ngap::HandoverType::intra5gs),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if !m.sessions.is_empty() {
        ies.0.push(build_ngap_ie!(
            HandoverCommand,
            PDUSessionResourceHandoverList(transfer::commanded(&m.sessions))
        )?);
    }
    if !m.released.is_empty() {
        ies.0.push(build_ngap_ie!(
            HandoverCommand,
            PDUSessionResourceToReleaseListHOCmd(transfer::not_commanded(&m.released))
        )?);
    }
    ies.0.push(build_ngap_ie!(
        HandoverCommand,
        TargetToSource_TransparentContainer(m.container.clone())
    )?);
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}
