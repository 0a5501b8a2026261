//! What a gNB says of PDU sessions (TS 38.413, 9.2.1).

use oxirush_ngap::ngap::{NGAP_PDU, NgapPduKind as Kind};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};

use crate::from_ran::{FromRan, SessionResults};
use crate::modify_indication;
use crate::notify;
use crate::session::{self, Transfers};
use crate::sessions_modified;
use crate::value::{AmfUeId, RanUeId};

/// None of a procedure that is not offered.
pub(crate) fn read(pdu: &NGAP_PDU) -> Result<Option<FromRan>, Error> {
    Ok(match pdu.kind() {
        Kind::Successful_PDUSessionResourceSetup => {
            extract_ngap_ies!(pdu, PDUSessionResourceSetupResponse,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax done: Transfers =
                    PDUSessionResourceSetupListSURes(list) => session::read_done(&list),
                lax failed: Transfers =
                    PDUSessionResourceFailedToSetupListSURes(list) => session::read_failed(&list),
            );
            Some(FromRan::PduSessionSetupResponse {
                ids: (AmfUeId(amf), RanUeId(ran)),
                sessions: SessionResults {
                    done: done.unwrap_or_default(),
                    failed: failed.unwrap_or_default(),
                },
            })
        }
        Kind::Successful_PDUSessionResourceModify => Some(sessions_modified::read_response(pdu)?),
        Kind::Successful_PDUSessionResourceRelease => {
            extract_ngap_ies!(pdu, PDUSessionResourceReleaseResponse,
                req amf: u64 = AMF_UE_NGAP_ID(id),
                req ran: u32 = RAN_UE_NGAP_ID(id),
                lax released: Transfers =
                    PDUSessionResourceReleasedListRelRes(list) => session::read_released(&list),
            );
            Some(FromRan::PduSessionReleaseResponse {
                ids: (AmfUeId(amf), RanUeId(ran)),
                sessions: released.unwrap_or_default(),
            })
        }
        Kind::Initiating_PDUSessionResourceNotify => Some(notify::read(pdu)?),
        Kind::Initiating_PDUSessionResourceModifyIndication => Some(modify_indication::read(pdu)?),
        _ => None,
    })
}

pub(crate) fn write_context_response(
    ids: (AmfUeId, RanUeId),
    sessions: &SessionResults,
) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        SuccessfulOutcome,
        InitialContextSetup,
        InitialContextSetupResponse,
        AMF_UE_NGAP_ID(ids.0.0),
        RAN_UE_NGAP_ID(ids.1.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if !sessions.done.is_empty() {
        ies.0.push(build_ngap_ie!(
            InitialContextSetupResponse,
            PDUSessionResourceSetupListCxtRes(session::context_done(&sessions.done))
        )?);
    }
    if !sessions.failed.is_empty() {
        ies.0.push(build_ngap_ie!(
            InitialContextSetupResponse,
            PDUSessionResourceFailedToSetupListCxtRes(session::context_failed(&sessions.failed))
        )?);
    }
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

fn write_session_response(
    ids: (AmfUeId, RanUeId),
    sessions: &SessionResults,
) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        SuccessfulOutcome,
        PDUSessionResourceSetup,
        PDUSessionResourceSetupResponse,
        AMF_UE_NGAP_ID(ids.0.0),
        RAN_UE_NGAP_ID(ids.1.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if !sessions.done.is_empty() {
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceSetupResponse,
            PDUSessionResourceSetupListSURes(session::done(&sessions.done))
        )?);
    }
    if !sessions.failed.is_empty() {
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceSetupResponse,
            PDUSessionResourceFailedToSetupListSURes(session::failed(&sessions.failed))
        )?);
    }
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}

/// Messages about sessions; others are written where they are read.
pub(crate) fn write(message: &FromRan) -> Result<NGAP_PDU, Error> {
    match message {
        FromRan::PduSessionSetupResponse { ids, sessions } => {
            write_session_response(*ids, sessions)
        }
        FromRan::PduSessionModifyResponse { ids, sessions } => {
            sessions_modified::write_response(*ids, sessions)
        }
        FromRan::PduSessionNotify {
            ids,
            sessions,
            released,
        } => notify::write(*ids, sessions, released),
        FromRan::PduSessionModifyIndication { ids, sessions } => {
            modify_indication::write(*ids, sessions)
        }
        FromRan::PduSessionReleaseResponse { ids, sessions } => build_ngap!(
            SuccessfulOutcome,
            PDUSessionResourceRelease,
            PDUSessionResourceReleaseResponse,
            AMF_UE_NGAP_ID(ids.0.0),
            RAN_UE_NGAP_ID(ids.1.0),
            PDUSessionResourceReleasedListRelRes(session::released(sessions)),
        ),
        _ => Err(Error::argument("written by the function before this one")),
    }
}
