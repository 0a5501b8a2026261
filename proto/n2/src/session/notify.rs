//! PDU Session Resource Notify (TS 38.413, 8.2.4): a gNB tells of sessions when nobody has asked.

use oxirush_ngap::ngap::{self, decode_open_type};

use crate::cause::Cause;
use crate::session::qos_flow;
use crate::table::{causes, lists, message};
use crate::value::{Transfers, written};

message! {
    /// PDU Session Resource Notify (9.2.1.7).
    pub struct PduSessionNotify =
        PDUSessionResourceNotify, "PDU Session Resource Notify", of ids
    {
        /// Sessions that stay, each with a [`Notified`].
        default sessions: Transfers = PDUSessionResourceNotifyList,
        /// Sessions that the gNB has released, each with why.
        default released: Transfers = PDUSessionResourceReleasedListNot,
    }
}

lists! {
    PDUSessionResourceNotifyList of PDUSessionResourceNotifyItem,
        pdu_session_resource_notify_transfer;
    PDUSessionResourceReleasedListNot of PDUSessionResourceReleasedItemNot,
        pdu_session_resource_notify_released_transfer;
}

causes! {
    PDUSessionResourceNotifyReleasedTransfer(None):
        /// PDU Session Resource Notify Released Transfer (9.3.4.13): a session that the gNB has released.
        notify_released,
        /// Why, as far as it can be read.
        read_notify_released;
}

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
