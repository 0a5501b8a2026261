//! Handover Resource Allocation and Handover Notification (TS 38.413, 8.4.2 and 8.4.3): the target makes room for a UE,
//! which comes.

use oxirush_ngap::ngap::{self, decode_open_type};
use oxirush_ngap::{Error, ie};
use sluice_ids::{Guami, Snssai};
use sluice_security::{NextHop, SecurityCapability};

use crate::cause::Cause;
use crate::session::qos_flow;
use crate::session::resource_setup::SessionSetup;
use crate::session::tunnel::Tunnel;
use crate::session::up_security::SecurityResult;
use crate::table::{Element, causes, lists, message};
use crate::value::{self, AmfUeId, Location, Transfers, written};

message! {
    /// Handover Request (9.2.3.4).
    pub struct HandoverRequest = HandoverRequest, "Handover Request" {
        /// The AMF's name of the connection at the target.
        required amf: AmfUeId = AMF_UE_NGAP_ID,
        [HandoverType = ngap::HandoverType::intra5gs]
        /// Why.
        expected cause: Cause = Cause,
        /// UE Aggregate Maximum Bit Rate, down and up.
        required ambr_bps: (u64, u64) = UEAggregateMaximumBitRate,
        /// Algorithms of the UE.
        required capability: SecurityCapability = UESecurityCapabilities,
        /// Root of the target's key.
        required next_hop: NextHop = SecurityContext,
        /// That is the first key of a new 5G NAS security context (9.3.1.55): the UE is to be told so.
        default is_new_context: bool = NewSecurityContextInd,
        /// Sessions, at least one, without messages for the UE.
        required sessions: Vec<SessionSetup> = PDUSessionResourceSetupListHOReq,
        /// Slices that the UE may use.
        required allowed_nssai: Vec<Snssai> = AllowedNSSAI,
        /// The device, without its serial number.
        ignorable masked_imeisv: [u8; 8] = MaskedIMEISV,
        /// Of the source, unread by the AMF.
        required container: Vec<u8> = SourceToTarget_TransparentContainer,
        /// The AMF that serves the UE.
        required guami: Guami = GUAMI,
    }
}

message! {
    /// Handover Request Acknowledge (9.2.3.5).
    pub struct HandoverRequestAcknowledge =
        HandoverRequestAcknowledge, "Handover Request Acknowledge", of ids
    {
        /// Sessions for which the target has room, each with an [`Admitted`].
        default admitted: Transfers = PDUSessionResourceAdmittedList,
        /// Sessions for which it has none, each with why.
        default failed: Transfers = PDUSessionResourceFailedToSetupListHOAck,
        /// For the source, unread by the AMF.
        required container: Vec<u8> = TargetToSource_TransparentContainer,
    }
}

message! {
    /// Handover Failure (9.2.3.6). Only the AMF's name is told.
    pub struct HandoverFailure = HandoverFailure, "Handover Failure" {
        /// The AMF's name of the connection.
        required amf: AmfUeId = AMF_UE_NGAP_ID,
        /// Why.
        expected cause: Cause = Cause,
    }
}

message! {
    /// Handover Notify (9.2.3.7).
    pub struct HandoverNotify = HandoverNotify, "Handover Notify", of ids {
        /// Place of the UE.
        ignorable location: Location = UserLocationInformation,
    }
}

impl Element<ie::PDUSessionResourceSetupListHOReq> for Vec<SessionSetup> {
    fn read(list: ngap::PDUSessionResourceSetupListHOReq<'_>) -> Option<Self> {
        let item = |one: &ngap::PDUSessionResourceSetupItemHOReq<'_>| SessionSetup {
            session: one.pdu_session_id.0,
            nas: None,
            slice: value::read_slice(&one.s_nssai),
            transfer: one.handover_request_transfer.to_vec(),
        };
        Some(list.0.iter().map(item).collect())
    }

    fn write(&self) -> Result<ngap::PDUSessionResourceSetupListHOReq<'static>, Error> {
        let item = |one: &SessionSetup| {
            ngap::PDUSessionResourceSetupItemHOReq::new(
                ngap::PDUSessionID(one.session),
                value::slice(&one.slice),
                one.transfer.clone().into(),
                None,
            )
        };
        let list = self.iter().map(item).collect();
        Ok(ngap::PDUSessionResourceSetupListHOReq(list))
    }
}

lists! {
    PDUSessionResourceAdmittedList of PDUSessionResourceAdmittedItem,
        handover_request_acknowledge_transfer;
    PDUSessionResourceFailedToSetupListHOAck of PDUSessionResourceFailedToSetupItemHOAck,
        handover_resource_allocation_unsuccessful_transfer;
}

causes! {
    HandoverResourceAllocationUnsuccessfulTransfer(None, None):
        /// Handover Resource Allocation Unsuccessful Transfer (9.3.4.19).
        not_admitted,
        /// Why the target of a handover by N2 has no room for a session; [`Cause::Unknown`] of octets that do not say.
        read_not_admitted;
}

/// Handover Request Acknowledge Transfer (9.3.4.11).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// The target's endpoint.
    pub downlink: Tunnel,
    /// Tunnel for packets that the source forwards, if the target accepts them.
    pub forwarding: Option<Tunnel>,
    /// Flows that it has, at least one.
    pub qfis: Vec<u8>,
    /// Whether it will protect the user plane, where it says so.
    pub security: Option<SecurityResult>,
}

impl Admitted {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let accepts = self.forwarding.is_some();
        let flow = |qfi: &u8| {
            let accepted = ngap::DataForwardingAccepted::data_forwarding_accepted;
            ngap::QosFlowItemWithDataForwarding::new(
                ngap::QosFlowIdentifier((*qfi).into()),
                accepts.then_some(accepted),
                None,
            )
        };
        let flows = ngap::QosFlowListWithDataForwarding(self.qfis.iter().map(flow).collect());
        written(&ngap::HandoverRequestAcknowledgeTransfer::new(
            self.downlink.as_asn1(),
            self.forwarding.map(|tunnel| tunnel.as_asn1()),
            self.security.map(SecurityResult::as_asn1),
            flows,
            None,
            None,
            None,
        ))
    }

    /// Of octets; none if they are none, have no tunnel, or name a flow twice.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::HandoverRequestAcknowledgeTransfer<'_> =
            decode_open_type(octets).ok()?;
        let forwarding = transfer.dl_forwarding_up_tnl_information.as_ref();
        let flows = transfer.qos_flow_setup_response_list.0.iter();
        let read = Self {
            downlink: Tunnel::of_asn1(&transfer.dl_ngu_up_tnl_information)?,
            forwarding: forwarding.and_then(Tunnel::of_asn1),
            qfis: flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            security: transfer
                .security_result
                .as_ref()
                .map(SecurityResult::of_asn1),
        };
        let failed = transfer.qos_flow_failed_to_setup_list.as_ref();
        let failed = qos_flow::read_with_cause(failed);
        Some(read).filter(|read| !qos_flow::is_twice(&[&read.qfis, &failed]))
    }
}
