//! Transfers of handovers (TS 38.413, 9.3.4), which an SMF and a gNB write and the AMF passes on unread,
//! and containers that one gNB writes for another (9.3.1.20 and 9.3.1.21).

use oxirush_ngap::aper::Encode;
use oxirush_ngap::ngap::{self, decode_open_type, encode_open_type};

use sluice_ids::NrCellIdentity;

use crate::cause::Cause;
use crate::qos_flow;
use crate::session::up_security::{SecurityIndication, SecurityResult, UpSecurityInformation};
use crate::session::{Transfers, Tunnel, lists};
use crate::value::{self, Location};

#[allow(clippy::expect_used)]
fn written<T: Encode>(value: &T) -> Vec<u8> {
    // As in messages: our values are of checked types.
    encode_open_type(value)
        .expect("our values are in their ranges")
        .to_vec()
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
        let tunnel = self.downlink.write();
        let security = self.security.as_ref().map(UpSecurityInformation::write);
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
            downlink: Tunnel::read(&transfer.dl_ngu_up_tnl_information)?,
            qfis: flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            security: transfer
                .user_plane_security_information
                .as_ref()
                .and_then(UpSecurityInformation::read),
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
            self.uplink.map(|tunnel| tunnel.write()),
            self.security.as_ref().map(SecurityIndication::write),
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
            uplink: tunnel.and_then(Tunnel::read),
            security: security.and_then(SecurityIndication::read),
        })
    }
}

/// Path Switch Request Setup Failed Transfer (9.3.4.15).
pub fn path_switch_failed(why: Cause) -> Vec<u8> {
    written(&ngap::PathSwitchRequestSetupFailedTransfer::new(
        why.write(),
        None,
    ))
}

/// Why the target of a handover by Xn has not taken a session; [`Cause::Unknown`] of octets that do not say.
pub fn read_path_switch_failed(octets: &[u8]) -> Cause {
    decode_open_type::<ngap::PathSwitchRequestSetupFailedTransfer>(octets)
        .map_or(Cause::Unknown, |transfer| Cause::read(&transfer.cause))
}

/// Path Switch Request Unsuccessful Transfer (9.3.4.20): the session is not there any more.
pub fn path_switch_unsuccessful(why: Cause) -> Vec<u8> {
    written(&ngap::PathSwitchRequestUnsuccessfulTransfer::new(
        why.write(),
        None,
    ))
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

/// Handover Request Acknowledge Transfer (9.3.4.11).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// The target's endpoint.
    pub downlink: Tunnel,
    /// Where it takes packets that the source forwards; none if it takes none.
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
            self.downlink.write(),
            self.forwarding.map(|tunnel| tunnel.write()),
            self.security.map(SecurityResult::write),
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
            downlink: Tunnel::read(&transfer.dl_ngu_up_tnl_information)?,
            forwarding: forwarding.and_then(Tunnel::read),
            qfis: flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            security: transfer.security_result.as_ref().map(SecurityResult::read),
        };
        let failed = transfer.qos_flow_failed_to_setup_list.as_ref();
        let failed = qos_flow::read_with_cause(failed);
        Some(read).filter(|read| !qos_flow::is_twice(&[&read.qfis, &failed]))
    }
}

/// Handover Resource Allocation Unsuccessful Transfer (9.3.4.19).
pub fn not_admitted(why: Cause) -> Vec<u8> {
    written(&ngap::HandoverResourceAllocationUnsuccessfulTransfer::new(
        why.write(),
        None,
        None,
    ))
}

/// Why the target of a handover by N2 has no room for a session; [`Cause::Unknown`] of octets that do not say.
pub fn read_not_admitted(octets: &[u8]) -> Cause {
    decode_open_type::<ngap::HandoverResourceAllocationUnsuccessfulTransfer>(octets)
        .map_or(Cause::Unknown, |transfer| Cause::read(&transfer.cause))
}

/// Handover Command Transfer (9.3.4.10): where packets of these flows are forwarded to, if anywhere.
pub fn handover_command(forwarding: Option<Tunnel>, qfis: &[u8]) -> Vec<u8> {
    let flow = |qfi: &u8| {
        ngap::QosFlowToBeForwardedItem::new(ngap::QosFlowIdentifier((*qfi).into()), None)
    };
    let flows = ngap::QosFlowToBeForwardedList(qfis.iter().map(flow).collect());
    written(&ngap::HandoverCommandTransfer::new(
        forwarding.map(|tunnel| tunnel.write()),
        Some(flows).filter(|flows| forwarding.is_some() && !flows.0.is_empty()),
        None,
        None,
    ))
}

/// Where packets are forwarded to, if anywhere; none of octets that are none.
pub fn read_handover_command(octets: &[u8]) -> Option<Option<Tunnel>> {
    let transfer: ngap::HandoverCommandTransfer<'_> = decode_open_type(octets).ok()?;
    let forwarding = transfer.dl_forwarding_up_tnl_information.as_ref();
    Some(forwarding.and_then(Tunnel::read))
}

/// Handover Preparation Unsuccessful Transfer (9.3.4.18): the session does not go along.
pub fn not_prepared(why: Cause) -> Vec<u8> {
    written(&ngap::HandoverPreparationUnsuccessfulTransfer::new(
        why.write(),
        None,
    ))
}

/// RAN Status Transfer Transparent Container (9.3.1.108), which an AMF passes on unread.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RanStatus(Vec<u8>);

/// Bits of a PDCP sequence number of 12 bits.
const SN_BITS: u32 = 12;

impl RanStatus {
    /// Counts of the next packets, up and down, of a data radio bearer, 1 to 32, whose sequence numbers
    /// have 12 bits.
    pub fn new(bearer: u8, up: u32, down: u32) -> Self {
        let count = |count: u32| {
            let number = (count & ((1 << SN_BITS) - 1)) as u16;
            ngap::COUNTValueForPDCPSN12::new(number, count >> SN_BITS, None)
        };
        let up = ngap::DRBStatusUL12::new(count(up), None, None);
        let down = ngap::DRBStatusDL12::new(count(down), None);
        let item = ngap::DRBsSubjectToStatusTransferItem::new(
            ngap::DRBID(bearer.clamp(1, 32).into()),
            ngap::DRBStatusUL::dRBStatusUL12(up),
            ngap::DRBStatusDL::dRBStatusDL12(down),
            None,
        );
        let items = ngap::DRBsSubjectToStatusTransferList(vec![item]);
        Self(written(&ngap::RANStatusTransferTransparentContainer::new(
            items, None,
        )))
    }

    /// Bearer, and counts up and down, of each bearer with sequence numbers of 12 bits.
    pub fn counts(&self) -> Vec<(u8, u32, u32)> {
        let Some(status) = self.write() else {
            return Vec::new();
        };
        let count = |count: &ngap::COUNTValueForPDCPSN12| {
            count.hfn_pdcp_sn12 << SN_BITS | u32::from(count.pdcp_sn12)
        };
        let of = |item: &ngap::DRBsSubjectToStatusTransferItem<'_>| {
            let ngap::DRBStatusUL::dRBStatusUL12(up) = &item.drb_status_ul else {
                return None;
            };
            let ngap::DRBStatusDL::dRBStatusDL12(down) = &item.drb_status_dl else {
                return None;
            };
            let (up, down) = (count(&up.ul_count_value), count(&down.dl_count_value));
            Some((item.drb_id.0 as u8, up, down))
        };
        let items = status.drbs_subject_to_status_transfer_list;
        items.0.iter().filter_map(of).collect()
    }

    /// As it came.
    pub(crate) fn read(value: &ngap::RANStatusTransferTransparentContainer<'_>) -> Option<Self> {
        encode_open_type(value)
            .ok()
            .map(|octets| Self(octets.to_vec()))
    }

    /// It was read before, or made of values in their ranges.
    pub(crate) fn write(&self) -> Option<ngap::RANStatusTransferTransparentContainer<'_>> {
        decode_open_type(&self.0).ok()
    }
}

/// HandoverPreparationInformation without capabilities and without the source's configuration (TS 38.331,
/// 11.2.2), in unaligned PER.
const PREPARATION: [u8; 2] = [0, 0];

/// HandoverCommand with an RRCReconfiguration that changes nothing (TS 38.331, 11.2.2).
const COMMAND: [u8; 4] = [0, 0x20, 0, 0];

/// Source NG-RAN Node to Target NG-RAN Node Transparent Container (9.3.1.20): to the target's cell, of a UE
/// that was in the source's for so many seconds, 4095 at the most.
pub fn source_container(target: &Location, source: &Location, stayed_s: u16) -> Vec<u8> {
    let cell = |location: &Location| ngap::NGRANCGI::nR_CGI(value::cell(location));
    let visited = ngap::LastVisitedNGRANCellInformation::new(
        cell(source),
        ngap::CellType::new(ngap::CellSize::small, None),
        ngap::TimeUEStayedInCell(stayed_s.min(4095)),
        None,
        None,
        None,
    );
    let visited = ngap::LastVisitedCellInformation::nGRANCell(visited);
    let visited = ngap::LastVisitedCellItem::new(visited, None);
    written(
        &ngap::SourceNGRANNodeToTargetNGRANNodeTransparentContainer::new(
            ngap::RRCContainer(PREPARATION.to_vec().into()),
            None,
            None,
            cell(target),
            None,
            ngap::UEHistoryInformation(vec![visited]),
            None,
        ),
    )
}

/// The cell that the UE was in last, and how long; none if it is none of NR.
pub fn read_source_container(octets: &[u8]) -> Option<(NrCellIdentity, u16)> {
    let container: ngap::SourceNGRANNodeToTargetNGRANNodeTransparentContainer<'_> =
        decode_open_type(octets).ok()?;
    let visited = container.ue_history_information.0.first()?;
    let ngap::LastVisitedCellInformation::nGRANCell(visited) =
        &visited.last_visited_cell_information
    else {
        return None;
    };
    let ngap::NGRANCGI::nR_CGI(cell) = &visited.global_cell_id else {
        return None;
    };
    let stayed_s = visited.time_ue_stayed_in_cell.0;
    Some((value::read_cell(cell), stayed_s))
}

/// Target NG-RAN Node to Source NG-RAN Node Transparent Container (9.3.1.21).
pub fn target_container() -> Vec<u8> {
    written(
        &ngap::TargetNGRANNodeToSourceNGRANNodeTransparentContainer::new(
            ngap::RRCContainer(COMMAND.to_vec().into()),
            None,
        ),
    )
}

lists! {
    to_switch, read_to_switch: PDUSessionResourceToBeSwitchedDLList
        of PDUSessionResourceToBeSwitchedDLItem, path_switch_request_transfer;
    not_switched, read_not_switched: PDUSessionResourceFailedToSetupListPSReq
        of PDUSessionResourceFailedToSetupItemPSReq, path_switch_request_setup_failed_transfer;
    switched, read_switched: PDUSessionResourceSwitchedList of PDUSessionResourceSwitchedItem,
        path_switch_request_acknowledge_transfer;
    released_with, read_released_with: PDUSessionResourceReleasedListPSAck
        of PDUSessionResourceReleasedItemPSAck, path_switch_request_unsuccessful_transfer;
    released_all, read_released_all: PDUSessionResourceReleasedListPSFail
        of PDUSessionResourceReleasedItemPSFail, path_switch_request_unsuccessful_transfer;
    required, read_required: PDUSessionResourceListHORqd of PDUSessionResourceItemHORqd,
        handover_required_transfer;
    admitted, read_admitted: PDUSessionResourceAdmittedList of PDUSessionResourceAdmittedItem,
        handover_request_acknowledge_transfer;
    refused, read_refused: PDUSessionResourceFailedToSetupListHOAck
        of PDUSessionResourceFailedToSetupItemHOAck,
        handover_resource_allocation_unsuccessful_transfer;
    commanded, read_commanded: PDUSessionResourceHandoverList of PDUSessionResourceHandoverItem,
        handover_command_transfer;
    not_commanded, read_not_commanded: PDUSessionResourceToReleaseListHOCmd
        of PDUSessionResourceToReleaseItemHOCmd, handover_preparation_unsuccessful_transfer;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::up_security::ProtectedRate;
    use sluice_ids::{UpProtection, UpSecurity};

    fn tunnel(teid: u32) -> Tunnel {
        Tunnel {
            ipv4: Some([192, 0, 2, 1].into()),
            ipv6: None,
            teid,
        }
    }

    #[test]
    fn transfers_of_handovers_are_read_as_they_are_written() {
        let result = SecurityResult {
            integrity: true,
            confidentiality: false,
        };
        let indication = SecurityIndication {
            policy: UpSecurity {
                integrity: UpProtection::Required,
                confidentiality: UpProtection::Preferred,
            },
            rates: Some((ProtectedRate::MaximumUeRate, ProtectedRate::Kbps64)),
        };
        for security in [None, Some(UpSecurityInformation { result, indication })] {
            let switch = PathSwitch {
                downlink: tunnel(7),
                qfis: vec![1, 5],
                security,
            };
            assert_eq!(PathSwitch::decode(&switch.encode()), Some(switch));
        }
        for uplink in [None, Some(tunnel(9))] {
            let told = PathSwitchAcknowledge {
                uplink,
                security: uplink.map(|_| indication),
            };
            assert_eq!(PathSwitchAcknowledge::decode(&told.encode()), Some(told));
            let read = read_handover_command(&handover_command(uplink, &[1]));
            assert_eq!(read, Some(uplink));
            let admitted = Admitted {
                downlink: tunnel(7),
                forwarding: uplink,
                qfis: vec![1],
                security: uplink.map(|_| result),
            };
            assert_eq!(Admitted::decode(&admitted.encode()), Some(admitted));
        }
        for is_direct in [true, false] {
            let read = read_handover_required(&handover_required(is_direct));
            assert_eq!(read, Some(is_direct));
        }
        let why = Cause::NO_UP_INTEGRITY;
        assert_eq!(read_path_switch_failed(&path_switch_failed(why)), why);
        assert_eq!(read_not_admitted(&not_admitted(why)), why);
        assert_eq!(read_path_switch_failed(&[]), Cause::Unknown);
        assert_eq!(read_not_admitted(&[]), Cause::Unknown);
        assert_eq!(PathSwitch::decode(&[0xff; 3]), None);
        assert_eq!(Admitted::decode(&[]), None);
    }

    #[test]
    fn counts_of_bearers_are_read_as_they_are_written() {
        let status = RanStatus::new(3, 0x0012_3456, 0xffff_ffff);
        assert_eq!(status.counts(), [(3, 0x0012_3456, 0xffff_ffff)]);
    }
}
