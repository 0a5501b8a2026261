//! Handover Preparation and Handover Cancel (TS 38.413, 8.4.1 and 8.4.5): the source asks for a handover, is commanded,
//! or gives it up.

use oxirush_ngap::ngap::{self, decode_open_type};
use oxirush_ngap::{Error, ie};
use sluice_ids::Tai;

use crate::cause::Cause;
use crate::session::tunnel::Tunnel;
use crate::table::{Element, causes, lists, message};
use crate::value::{self, Gnb, Transfers, written};

message! {
    /// Handover Required (9.2.3.1).
    pub struct HandoverRequired = HandoverRequired, "Handover Required", of ids {
        /// Within 5GS, by the Handover Type.
        required is_within_5gs: bool = HandoverType,
        /// Why.
        expected cause: Cause = Cause,
        /// The gNB where the UE is to go; none of a node that is none.
        required target: Option<(Gnb, Tai)> = TargetID,
        /// The source reaches the target: packets are forwarded without the UPF.
        default is_direct: bool = DirectForwardingPathAvailability,
        /// Sessions, each with a [`handover_required`](crate::mobility::handover_required).
        required sessions: Transfers = PDUSessionResourceListHORqd,
        /// For the target, unread by the AMF.
        required container: Vec<u8> = SourceToTarget_TransparentContainer,
    }
    then = target_within_5gs;
}

message! {
    /// Handover Command (9.2.3.2).
    pub struct HandoverCommand = HandoverCommand, "Handover Command", of ids {
        [HandoverType = ngap::HandoverType::intra5gs]
        /// Sessions that go along, each with where packets are forwarded to.
        default sessions: Transfers = PDUSessionResourceHandoverList,
        /// Sessions that do not, each with why.
        default released: Transfers = PDUSessionResourceToReleaseListHOCmd,
        /// Of the target, unread by the AMF.
        required container: Vec<u8> = TargetToSource_TransparentContainer,
    }
}

message! {
    /// Handover Preparation Failure (9.2.3.3).
    pub struct HandoverPreparationFailure =
        HandoverPreparationFailure, "Handover Preparation Failure", of ids
    {
        /// Why.
        expected cause: Cause = Cause,
    }
}

message! {
    /// Handover Cancel (9.2.3.11).
    pub struct HandoverCancel = HandoverCancel, "Handover Cancel", of ids {
        /// Why.
        expected cause: Cause = Cause,
    }
}

message! {
    /// Handover Cancel Acknowledge (9.2.3.12).
    pub struct HandoverCancelAcknowledge =
        HandoverCancelAcknowledge, "Handover Cancel Acknowledge", of ids {}
}

lists! {
    PDUSessionResourceListHORqd of PDUSessionResourceItemHORqd, handover_required_transfer;
    PDUSessionResourceHandoverList of PDUSessionResourceHandoverItem, handover_command_transfer;
    PDUSessionResourceToReleaseListHOCmd of PDUSessionResourceToReleaseItemHOCmd,
        handover_preparation_unsuccessful_transfer;
}

/// The target of another system is none that the AMF knows.
fn target_within_5gs(
    _: &ngap::NGAP_PDU,
    mut required: HandoverRequired,
) -> Option<HandoverRequired> {
    required.target = required.target.filter(|_| required.is_within_5gs);
    Some(required)
}

/// Whether a handover is within 5GS.
impl Element<ie::HandoverType> for bool {
    fn read(kind: ngap::HandoverType) -> Option<Self> {
        Some(kind == ngap::HandoverType::intra5gs)
    }

    fn write(&self) -> Result<ngap::HandoverType, Error> {
        Ok(match self {
            true => ngap::HandoverType::intra5gs,
            false => ngap::HandoverType::fivegs_to_eps,
        })
    }
}

impl Element<ie::TargetID> for Option<(Gnb, Tai)> {
    /// None of a target that is no gNB.
    fn read(value: ngap::TargetID) -> Option<Self> {
        let ngap::TargetID::targetRANNodeID(node) = value else {
            return Some(None);
        };
        let gnb = value::read_gnb(&node.global_ran_node_id);
        Some(gnb.zip(value::read_tai(&node.selected_tai)))
    }

    fn write(&self) -> Result<ngap::TargetID, Error> {
        let (gnb, tai) = self.as_ref().ok_or_else(|| Error::argument("no target"))?;
        let node = ngap::TargetRANNodeID::new(value::gnb(gnb), value::tai(tai), None);
        Ok(ngap::TargetID::targetRANNodeID(node))
    }
}

causes! {
    HandoverPreparationUnsuccessfulTransfer(None):
        /// Handover Preparation Unsuccessful Transfer (9.3.4.18): the session does not go along.
        not_prepared;
}

/// Handover Required Transfer (9.3.4.14): whether the source reaches the target.
pub fn handover_required(is_direct: bool) -> Vec<u8> {
    let direct = ngap::DirectForwardingPathAvailability::direct_path_available;
    written(&ngap::HandoverRequiredTransfer::new(
        is_direct.then_some(direct),
        None,
    ))
}

/// Whether the source reaches the target; none of octets that are none.
pub fn read_handover_required(octets: &[u8]) -> Option<bool> {
    let transfer: ngap::HandoverRequiredTransfer = decode_open_type(octets).ok()?;
    Some(transfer.direct_forwarding_path_availability.is_some())
}

/// Handover Command Transfer (9.3.4.10): where packets of these flows are forwarded to, if anywhere.
pub fn handover_command(forwarding: Option<Tunnel>, qfis: &[u8]) -> Vec<u8> {
    let flow = |qfi: &u8| {
        ngap::QosFlowToBeForwardedItem::new(ngap::QosFlowIdentifier((*qfi).into()), None)
    };
    let flows = ngap::QosFlowToBeForwardedList(qfis.iter().map(flow).collect());
    written(&ngap::HandoverCommandTransfer::new(
        forwarding.map(|tunnel| tunnel.as_asn1()),
        Some(flows).filter(|flows| forwarding.is_some() && !flows.0.is_empty()),
        None,
        None,
    ))
}

/// Tunnel for forwarded packets, if there is one; none for octets that cannot be read.
pub fn read_handover_command(octets: &[u8]) -> Option<Option<Tunnel>> {
    let transfer: ngap::HandoverCommandTransfer<'_> = decode_open_type(octets).ok()?;
    let forwarding = transfer.dl_forwarding_up_tnl_information.as_ref();
    Some(forwarding.and_then(Tunnel::of_asn1))
}
