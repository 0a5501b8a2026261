//! PDU Session Resource Modify (TS 38.413, 8.2.3): sessions whose flows change.

use oxirush_ngap::ngap::{self, decode_open_type};
use oxirush_ngap::{Error, ie};

use crate::cause::Cause;
use crate::session::qos_flow::{QosFlow, is_twice, read_with_cause, with_cause};
use crate::table::{Element, causes, ie_transfer, lists, message};
use crate::value::{SessionResults, written};

message! {
    /// PDU Session Resource Modify Request (9.2.1.5).
    pub struct PduSessionModifyRequest =
        PDUSessionResourceModifyRequest, "PDU Session Resource Modify Request", of ids
    {
        /// At least one.
        required sessions: Vec<SessionModification> = PDUSessionResourceModifyListModReq,
    }
}

message! {
    /// PDU Session Resource Modify Response (9.2.1.6).
    pub struct PduSessionModifyResponse =
        PDUSessionResourceModifyResponse, "PDU Session Resource Modify Response", of ids
    {
        /// Sessions that are modified, each with a [`ModifyResponse`], and those that are not.
        results sessions: SessionResults =
            PDUSessionResourceModifyListModRes + PDUSessionResourceFailedToModifyListModRes,
    }
}

lists! {
    PDUSessionResourceModifyListModRes of PDUSessionResourceModifyItemModRes,
        pdu_session_resource_modify_response_transfer;
    PDUSessionResourceFailedToModifyListModRes of PDUSessionResourceFailedToModifyItemModRes,
        pdu_session_resource_modify_unsuccessful_transfer;
}

/// A session to be modified at a gNB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionModification {
    /// PDU session identity.
    pub session: u8,
    /// A message for the UE.
    pub nas: Option<Vec<u8>>,
    /// Of the SMF: a [`ModifyRequest`].
    pub transfer: Vec<u8>,
}

impl Element<ie::PDUSessionResourceModifyListModReq> for Vec<SessionModification> {
    fn read(list: ngap::PDUSessionResourceModifyListModReq<'_>) -> Option<Self> {
        let item = |one: &ngap::PDUSessionResourceModifyItemModReq<'_>| SessionModification {
            session: one.pdu_session_id.0,
            nas: one.nas_pdu.as_ref().map(|nas| nas.0.to_vec()),
            transfer: one.pdu_session_resource_modify_request_transfer.to_vec(),
        };
        Some(list.0.iter().map(item).collect())
    }

    fn write(&self) -> Result<ngap::PDUSessionResourceModifyListModReq<'static>, Error> {
        let item = |one: &SessionModification| {
            ngap::PDUSessionResourceModifyItemModReq::new(
                ngap::PDUSessionID(one.session),
                one.nas.clone().map(|nas| ngap::NASPDU(nas.into())),
                one.transfer.clone().into(),
                None,
            )
        };
        let list = self.iter().map(item).collect();
        Ok(ngap::PDUSessionResourceModifyListModReq(list))
    }
}

ie_transfer! {
    /// PDU Session Resource Modify Request Transfer (9.3.4.3).
    #[derive(Default)]
    pub struct ModifyRequest = PDUSessionResourceModifyRequestTransfer {
        /// Another session AMBR, bits per second, down and up.
        ignorable ambr_bps: (u64, u64) = PDUSessionAggregateMaximumBitRate,
        /// Flows that are new, or otherwise.
        default flows: Vec<QosFlow> = QosFlowAddOrModifyRequestList,
        /// Flows that are gone.
        default released: Vec<u8> = QosFlowToReleaseList,
    }
}

/// PDU Session Resource Modify Response Transfer (9.3.4.4).
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ModifyResponse {
    /// Flows that are set up, or changed.
    pub done: Vec<u8>,
    /// Flows that are not.
    pub failed: Vec<u8>,
}

impl ModifyResponse {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let item = |qfi: &u8| {
            let qfi = ngap::QosFlowIdentifier((*qfi).into());
            ngap::QosFlowAddOrModifyResponseItem::new(qfi, None)
        };
        let done = ngap::QosFlowAddOrModifyResponseList(self.done.iter().map(item).collect());
        let done = (!self.done.is_empty()).then_some(done);
        let failed = with_cause(&self.failed, || Cause::RADIO_RESOURCES_NOT_AVAILABLE);
        written(&ngap::PDUSessionResourceModifyResponseTransfer::new(
            None, None, done, None, failed, None,
        ))
    }

    /// Of octets; none if they are none, or name a flow twice.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::PDUSessionResourceModifyResponseTransfer<'_> =
            decode_open_type(octets).ok()?;
        let done = transfer.qos_flow_add_or_modify_response_list.iter();
        let done = done.flat_map(|list| list.0.iter());
        let failed = transfer.qos_flow_failed_to_add_or_modify_list.as_ref();
        let read = Self {
            done: done.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            failed: read_with_cause(failed),
        };
        Some(read).filter(|read| !is_twice(&[&read.done, &read.failed]))
    }
}

causes! {
    PDUSessionResourceModifyUnsuccessfulTransfer(None, None):
        /// PDU Session Resource Modify Unsuccessful Transfer (9.3.4.17).
        modify_failure,
        /// Why a gNB did not modify a session; [`Cause::Unknown`] of octets that do not say.
        read_modify_failure;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::qos_flow::FlowRates;

    #[test]
    fn changes_of_flows_are_read_as_they_are_written() {
        let guaranteed = QosFlow {
            may_preempt: true,
            is_preemptable: true,
            rates: Some(FlowRates {
                guaranteed_bps: (128_000, 64_000),
                maximum_bps: (256_000, 128_000),
            }),
            ..QosFlow::new(2, 1, 5)
        };
        for request in [
            ModifyRequest {
                ambr_bps: Some((2_000, 1_000)),
                flows: vec![guaranteed, QosFlow::new(3, 7, 9)],
                released: vec![4, 5],
            },
            ModifyRequest {
                released: vec![4],
                ..ModifyRequest::default()
            },
        ] {
            assert_eq!(ModifyRequest::decode(&request.encode()), Some(request));
        }
        for response in [
            ModifyResponse::default(),
            ModifyResponse {
                done: vec![2],
                failed: vec![3],
            },
        ] {
            assert_eq!(ModifyResponse::decode(&response.encode()), Some(response));
        }
        let why = Cause::RADIO_RESOURCES_NOT_AVAILABLE;
        assert_eq!(read_modify_failure(&modify_failure(why)), why);
        assert_eq!(read_modify_failure(&[]), Cause::Unknown);
        assert_eq!(ModifyRequest::decode(&[0xff]), None);
        assert_eq!(ModifyResponse::decode(&[0xff]), None);
    }
}
