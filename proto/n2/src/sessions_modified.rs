//! PDU Session Resource Modify (TS 38.413, 8.2.3): sessions whose flows change.

use oxirush_ngap::ngap::{self, NGAP_PDU};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};

use crate::from_amf::FromAmf;
use crate::from_ran::{FromRan, SessionResults};
use crate::session::{self, Transfers};
use crate::value::{AmfUeId, RanUeId};

/// A session to be modified at a gNB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionModification {
    /// PDU session identity.
    pub session: u8,
    /// A message for the UE.
    pub nas: Option<Vec<u8>>,
    /// Of the SMF: a [`ModifyRequest`](crate::ModifyRequest).
    pub transfer: Vec<u8>,
}

pub(crate) fn write_request(
    ids: (AmfUeId, RanUeId),
    sessions: &[SessionModification],
) -> Result<NGAP_PDU, Error> {
    let item = |one: &SessionModification| {
        ngap::PDUSessionResourceModifyItemModReq::new(
            ngap::PDUSessionID(one.session),
            one.nas.clone().map(|nas| ngap::NASPDU(nas.into())),
            one.transfer.clone().into(),
            None,
        )
    };
    let list = ngap::PDUSessionResourceModifyListModReq(sessions.iter().map(item).collect());
    build_ngap!(
        InitiatingMessage,
        PDUSessionResourceModify,
        PDUSessionResourceModifyRequest,
        AMF_UE_NGAP_ID(ids.0.0),
        RAN_UE_NGAP_ID(ids.1.0),
        PDUSessionResourceModifyListModReq(list),
    )
}

pub(crate) fn read_request(pdu: &NGAP_PDU) -> Result<FromAmf, Error> {
    let item = |one: &ngap::PDUSessionResourceModifyItemModReq<'_>| SessionModification {
        session: one.pdu_session_id.0,
        nas: one.nas_pdu.as_ref().map(|nas| nas.0.to_vec()),
        transfer: one.pdu_session_resource_modify_request_transfer.to_vec(),
    };
    extract_ngap_ies!(pdu, PDUSessionResourceModifyRequest,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        req sessions: Vec<SessionModification> =
            PDUSessionResourceModifyListModReq(list) => list.0.iter().map(item).collect(),
    );
    Ok(FromAmf::PduSessionModifyRequest {
        ids: (AmfUeId(amf), RanUeId(ran)),
        sessions,
    })
}

pub(crate) fn write_response(
    ids: (AmfUeId, RanUeId),
    sessions: &SessionResults,
) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        SuccessfulOutcome,
        PDUSessionResourceModify,
        PDUSessionResourceModifyResponse,
        AMF_UE_NGAP_ID(ids.0.0),
        RAN_UE_NGAP_ID(ids.1.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if !sessions.done.is_empty() {
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceModifyResponse,
            PDUSessionResourceModifyListModRes(session::modified(&sessions.done))
        )?);
    }
    if !sessions.failed.is_empty() {
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceModifyResponse,
            PDUSessionResourceFailedToModifyListModRes(session::unmodified(&sessions.failed))
        )?);
    }
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

pub(crate) fn read_response(pdu: &NGAP_PDU) -> Result<FromRan, Error> {
    extract_ngap_ies!(pdu, PDUSessionResourceModifyResponse,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        lax done: Transfers =
            PDUSessionResourceModifyListModRes(list) => session::read_modified(&list),
        lax failed: Transfers =
            PDUSessionResourceFailedToModifyListModRes(list) => session::read_unmodified(&list),
    );
    Ok(FromRan::PduSessionModifyResponse {
        ids: (AmfUeId(amf), RanUeId(ran)),
        sessions: SessionResults {
            done: done.unwrap_or_default(),
            failed: failed.unwrap_or_default(),
        },
    })
}
