//! What a gNB says of sessions when nobody has asked: PDU Session Resource Notify (TS 38.413, 8.2.4).

use oxirush_ngap::ngap::{self, NGAP_PDU, decode_open_type};
use oxirush_ngap::{Error, build_ngap, build_ngap_ie, extract_ngap_ies};

use crate::cause::Cause;
use crate::from_ran::FromRan;
use crate::qos_flow;
use crate::session::{Transfers, written};
use crate::value::{AmfUeId, RanUeId};

/// PDU Session Resource Notify Transfer (9.3.4.5): flows of a session that stays.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Notified {
    /// Flows that the gNB has released.
    pub released: Vec<u8>,
    /// Flows whose guaranteed rates it cannot give, for now.
    pub unfulfilled: Vec<u8>,
    /// Flows whose guaranteed rates it gives again.
    pub fulfilled: Vec<u8>,
}

impl Notified {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        use ngap::NotificationCause as Is;
        let item = |qfi: &u8, is| {
            ngap::QosFlowNotifyItem::new(ngap::QosFlowIdentifier((*qfi).into()), is, None)
        };
        let unfulfilled = self
            .unfulfilled
            .iter()
            .map(|qfi| item(qfi, Is::not_fulfilled));
        let fulfilled = self.fulfilled.iter().map(|qfi| item(qfi, Is::fulfilled));
        let told = ngap::QosFlowNotifyList(unfulfilled.chain(fulfilled).collect());
        written(&ngap::PDUSessionResourceNotifyTransfer::new(
            (!told.0.is_empty()).then_some(told),
            qos_flow::with_cause(&self.released, || Cause::RADIO_LOST),
            None,
        ))
    }

    /// Of octets; none if they are none, or name a flow twice.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::PDUSessionResourceNotifyTransfer = decode_open_type(octets).ok()?;
        let mut notified = Self {
            released: qos_flow::read_with_cause(transfer.qos_flow_released_list.as_ref()),
            ..Self::default()
        };
        let told = transfer
            .qos_flow_notify_list
            .into_iter()
            .flat_map(|list| list.0);
        for one in told {
            let flows = match one.notification_cause {
                ngap::NotificationCause::fulfilled => &mut notified.fulfilled,
                _ => &mut notified.unfulfilled,
            };
            flows.push(one.qos_flow_identifier.0 as u8);
        }
        let Self {
            released,
            unfulfilled,
            fulfilled,
        } = &notified;
        let is_twice = qos_flow::is_twice(&[released, unfulfilled, fulfilled]);
        (!is_twice).then_some(notified)
    }
}

/// PDU Session Resource Notify Released Transfer (9.3.4.13): a session that the gNB has released.
pub fn notify_released(why: Cause) -> Vec<u8> {
    written(&ngap::PDUSessionResourceNotifyReleasedTransfer::new(
        why.write(),
        None,
    ))
}

/// Why, as far as it can be read.
pub fn read_notify_released(octets: &[u8]) -> Cause {
    decode_open_type::<ngap::PDUSessionResourceNotifyReleasedTransfer>(octets)
        .map_or(Cause::Unknown, |transfer| Cause::read(&transfer.cause))
}

pub(crate) fn read(pdu: &NGAP_PDU) -> Result<FromRan, Error> {
    let notified = |one: &ngap::PDUSessionResourceNotifyItem<'_>| {
        let transfer = one.pdu_session_resource_notify_transfer.to_vec();
        (one.pdu_session_id.0, transfer)
    };
    let released = |one: &ngap::PDUSessionResourceReleasedItemNot<'_>| {
        let transfer = one.pdu_session_resource_notify_released_transfer.to_vec();
        (one.pdu_session_id.0, transfer)
    };
    extract_ngap_ies!(pdu, PDUSessionResourceNotify,
        req amf: u64 = AMF_UE_NGAP_ID(id),
        req ran: u32 = RAN_UE_NGAP_ID(id),
        lax flows: Transfers =
            PDUSessionResourceNotifyList(list) => list.0.iter().map(notified).collect(),
        lax gone: Transfers =
            PDUSessionResourceReleasedListNot(list) => list.0.iter().map(released).collect(),
    );
    Ok(FromRan::PduSessionNotify {
        ids: (AmfUeId(amf), RanUeId(ran)),
        sessions: flows.unwrap_or_default(),
        released: gone.unwrap_or_default(),
    })
}

pub(crate) fn write(
    ids: (AmfUeId, RanUeId),
    sessions: &Transfers,
    released: &Transfers,
) -> Result<NGAP_PDU, Error> {
    let mut pdu = build_ngap!(
        InitiatingMessage,
        PDUSessionResourceNotify,
        PDUSessionResourceNotify,
        AMF_UE_NGAP_ID(ids.0.0),
        RAN_UE_NGAP_ID(ids.1.0),
    )?;
    let mut ies = pdu.protocol_ies()?.into_owned();
    if !sessions.is_empty() {
        let item = |(session, transfer): &(u8, Vec<u8>)| {
            let session = ngap::PDUSessionID(*session);
            ngap::PDUSessionResourceNotifyItem::new(session, transfer.clone().into(), None)
        };
        let list = ngap::PDUSessionResourceNotifyList(sessions.iter().map(item).collect());
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceNotify,
            PDUSessionResourceNotifyList(list)
        )?);
    }
    if !released.is_empty() {
        let item = |(session, transfer): &(u8, Vec<u8>)| {
            let session = ngap::PDUSessionID(*session);
            ngap::PDUSessionResourceReleasedItemNot::new(session, transfer.clone().into(), None)
        };
        let list = ngap::PDUSessionResourceReleasedListNot(released.iter().map(item).collect());
        ies.0.push(build_ngap_ie!(
            PDUSessionResourceNotify,
            PDUSessionResourceReleasedListNot(list)
        )?);
    }
    pdu.set_protocol_ies(ies)?;
    Ok(pdu)
}
