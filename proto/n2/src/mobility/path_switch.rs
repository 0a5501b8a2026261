//! Path Switch Request (TS 38.413, 8.4.4): a UE has come by Xn.

use oxirush_ngap::ngap::{self, decode_open_type};
use sluice_ids::Snssai;
use sluice_security::{NextHop, SecurityCapability};

use crate::cause::Cause;
use crate::session::qos_flow;
use crate::session::tunnel::Tunnel;
use crate::session::up_security::{SecurityIndication, UpSecurityInformation};
use crate::table::{causes, lists, message};
use crate::value::{AmfUeId, Location, RanUeId, Transfers, written};

message! {
    /// Path Switch Request (9.2.3.8).
    pub struct PathSwitchRequest = PathSwitchRequest, "Path Switch Request" {
        /// The target's name of the connection.
        required ran: RanUeId = RAN_UE_NGAP_ID,
        /// The AMF's name of the connection, as the source had it.
        required source: AmfUeId = SourceAMF_UE_NGAP_ID,
        /// Place of the UE.
        ignorable location: Location = UserLocationInformation,
        /// Algorithms of the UE, as the source told them: 5G-EA, 5G-IA, EEA, EIA without the null ones.
        expected capability: [u8; 4] = UESecurityCapabilities,
        /// Sessions that the target has, each with a [`PathSwitch`].
        required switched: Transfers = PDUSessionResourceToBeSwitchedDLList,
        /// Sessions that it has not, each with why.
        default failed: Transfers = PDUSessionResourceFailedToSetupListPSReq,
    }
}

message! {
    /// Path Switch Request Acknowledge (9.2.3.9).
    pub struct PathSwitchRequestAcknowledge =
        PathSwitchRequestAcknowledge, "Path Switch Request Acknowledge", of ids
    {
        /// Algorithms of the UE; told where the target was told others.
        ignorable capability: SecurityCapability = UESecurityCapabilities,
        /// For the next handover.
        required next_hop: NextHop = SecurityContext,
        /// That is the first key of a new 5G NAS security context (9.3.1.55): the UE is to be told so.
        default is_new_context: bool = NewSecurityContextInd,
        /// Sessions whose packets go to the target, at least one.
        expected switched: Transfers = PDUSessionResourceSwitchedList,
        /// Sessions that are not there any more, each with why.
        default released: Transfers = PDUSessionResourceReleasedListPSAck,
        /// Slices that the UE may use.
        required allowed_nssai: Vec<Snssai> = AllowedNSSAI,
    }
}

message! {
    /// Path Switch Request Failure (9.2.3.10).
    pub struct PathSwitchRequestFailure =
        PathSwitchRequestFailure, "Path Switch Request Failure", of ids
    {
        /// Sessions that are not there, at least one.
        expected released: Transfers = PDUSessionResourceReleasedListPSFail,
    }
}

lists! {
    PDUSessionResourceToBeSwitchedDLList of PDUSessionResourceToBeSwitchedDLItem,
        path_switch_request_transfer;
    PDUSessionResourceFailedToSetupListPSReq of PDUSessionResourceFailedToSetupItemPSReq,
        path_switch_request_setup_failed_transfer;
    PDUSessionResourceSwitchedList of PDUSessionResourceSwitchedItem,
        path_switch_request_acknowledge_transfer;
    PDUSessionResourceReleasedListPSAck of PDUSessionResourceReleasedItemPSAck,
        path_switch_request_unsuccessful_transfer;
    PDUSessionResourceReleasedListPSFail of PDUSessionResourceReleasedItemPSFail,
        path_switch_request_unsuccessful_transfer;
}

causes! {
    PathSwitchRequestSetupFailedTransfer(None):
        /// Path Switch Request Setup Failed Transfer (9.3.4.15).
        path_switch_failed,
        /// Why the target of a handover by Xn has not taken a session; [`Cause::Unknown`] of octets that do not say.
        read_path_switch_failed;
    PathSwitchRequestUnsuccessfulTransfer(None):
        /// Path Switch Request Unsuccessful Transfer (9.3.4.20): the session is not there any more.
        path_switch_unsuccessful;
}

/// Path Switch Request Transfer (9.3.4.8).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathSwitch {
    /// The target's endpoint.
    pub downlink: Tunnel,
    /// Flows that it has, at least one.
    pub qfis: Vec<u8>,
    /// User Plane Security Information: the policy that the source passed on, and whether the target carries it out.
    pub security: Option<UpSecurityInformation>,
}

impl PathSwitch {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let flow =
            |qfi: &u8| ngap::QosFlowAcceptedItem::new(ngap::QosFlowIdentifier((*qfi).into()), None);
        let flows = ngap::QosFlowAcceptedList(self.qfis.iter().map(flow).collect());
        let tunnel = self.downlink.as_asn1();
        let security = self.security.as_ref().map(UpSecurityInformation::as_asn1);
        written(&ngap::PathSwitchRequestTransfer::new(
            tunnel, None, security, flows, None,
        ))
    }

    /// Of octets; none if they are none, have no tunnel, or name a flow twice. Protection of a kind of a later release
    /// is none.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::PathSwitchRequestTransfer<'_> = decode_open_type(octets).ok()?;
        let flows = transfer.qos_flow_accepted_list.0.iter();
        let read = Self {
            downlink: Tunnel::of_asn1(&transfer.dl_ngu_up_tnl_information)?,
            qfis: flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            security: transfer
                .user_plane_security_information
                .as_ref()
                .and_then(UpSecurityInformation::of_asn1),
        };
        Some(read).filter(|read| !qos_flow::is_twice(&[&read.qfis]))
    }
}

/// Path Switch Request Acknowledge Transfer (9.3.4.9).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct PathSwitchAcknowledge {
    /// The UPF's endpoint, where that is another one.
    pub uplink: Option<Tunnel>,
    /// How the user plane is to be protected, where the target was told otherwise.
    pub security: Option<SecurityIndication>,
}

impl PathSwitchAcknowledge {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        written(&ngap::PathSwitchRequestAcknowledgeTransfer::new(
            self.uplink.map(|tunnel| tunnel.as_asn1()),
            self.security.as_ref().map(SecurityIndication::as_asn1),
            None,
        ))
    }

    /// Of octets; none of octets that are none.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::PathSwitchRequestAcknowledgeTransfer<'_> =
            decode_open_type(octets).ok()?;
        let tunnel = transfer.ul_ngu_up_tnl_information.as_ref();
        let security = transfer.security_indication.as_ref();
        Some(Self {
            uplink: tunnel.and_then(Tunnel::of_asn1),
            security: security.and_then(SecurityIndication::of_asn1),
        })
    }
}

/// None of these sessions is switched, for the same reason: each of them once.
pub fn none_switched(sessions: &Transfers, why: Cause) -> Transfers {
    let mut released = Transfers::new();
    for (session, _) in sessions {
        if released.iter().all(|(known, _)| known != session) {
            released.push((*session, path_switch_unsuccessful(why)));
        }
    }
    released
}
