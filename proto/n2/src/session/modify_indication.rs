//! PDU Session Resource Modify Indication (TS 38.413, 8.2.5): a gNB has downlink packets of sessions come to another end of
//! a tunnel, such as that of a node that serves the UE beside it.

use oxirush_ngap::ngap::{self, decode_open_type, encode_open_type};

use crate::cause::Cause;
use crate::session::qos_flow;
use crate::session::tunnel::Tunnel;
use crate::session::up_security::SecurityResult;
use crate::table::{causes, lists, message};
use crate::value::{SessionResults, Transfers, written};

message! {
    /// PDU Session Resource Modify Indication (9.2.1.8).
    pub struct PduSessionModifyIndication =
        PDUSessionResourceModifyIndication, "PDU Session Resource Modify Indication", of ids
    {
        /// At least one, each with a [`ModifyIndication`].
        required sessions: Transfers = PDUSessionResourceModifyListModInd,
    }
}

message! {
    /// PDU Session Resource Modify Confirm (9.2.1.9).
    pub struct PduSessionModifyConfirm =
        PDUSessionResourceModifyConfirm, "PDU Session Resource Modify Confirm", of ids
    {
        /// Sessions, each with a [`ModifyConfirm`], and those that stay as they were, with why.
        results sessions: SessionResults =
            PDUSessionResourceModifyListModCfm + PDUSessionResourceFailedToModifyListModCfm,
    }
}

lists! {
    PDUSessionResourceModifyListModInd of PDUSessionResourceModifyItemModInd,
        pdu_session_resource_modify_indication_transfer;
    PDUSessionResourceModifyListModCfm of PDUSessionResourceModifyItemModCfm,
        pdu_session_resource_modify_confirm_transfer;
    PDUSessionResourceFailedToModifyListModCfm of PDUSessionResourceFailedToModifyItemModCfm,
        pdu_session_resource_modify_indication_unsuccessful_transfer;
}

causes! {
    PDUSessionResourceModifyIndicationUnsuccessfulTransfer(None):
        /// PDU Session Resource Modify Indication Unsuccessful Transfer (9.3.4.22): packets go where they went.
        unsuccessful,
        /// Why, as far as it can be read.
        read_unsuccessful;
}

/// PDU Session Resource Modify Indication Transfer (9.3.4.6).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModifyIndication {
    /// New tunnel of these flows.
    pub first: (Tunnel, Vec<u8>),
    /// New tunnels of further flows, if they differ from the first.
    pub others: Vec<(Tunnel, Vec<u8>)>,
    /// Whether the user plane is protected there, where the gNB says so.
    pub security: Option<SecurityResult>,
}

/// PDU Session Resource Modify Confirm Transfer (9.3.4.7).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModifyConfirm {
    /// Flows whose packets go there.
    pub qfis: Vec<u8>,
    /// The UPF's endpoint.
    pub uplink: Tunnel,
    /// Flows that the session does not have.
    pub failed: Vec<u8>,
}

fn per_tunnel((tunnel, qfis): &(Tunnel, Vec<u8>)) -> ngap::QosFlowPerTNLInformation<'static> {
    let flow = |qfi: &u8| {
        ngap::AssociatedQosFlowItem::new(ngap::QosFlowIdentifier((*qfi).into()), None, None)
    };
    let flows = ngap::AssociatedQosFlowList(qfis.iter().map(flow).collect());
    ngap::QosFlowPerTNLInformation::new(tunnel.as_asn1(), flows, None)
}

fn read_per_tunnel(value: &ngap::QosFlowPerTNLInformation<'_>) -> Option<(Tunnel, Vec<u8>)> {
    let flows = value.associated_qos_flow_list.0.iter();
    Some((
        Tunnel::of_asn1(&value.up_transport_layer_information)?,
        flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
    ))
}

/// Security Result, an extension of the transfer.
const SECURITY_RESULT: u16 = 156;

fn extension(result: SecurityResult) -> Option<ngap::ProtocolExtensionContainer<'static>> {
    let value = encode_open_type(&result.as_asn1()).ok()?;
    let field =
        ngap::ProtocolExtensionField::new(SECURITY_RESULT, ngap::Criticality::ignore, value);
    Some(ngap::ProtocolExtensionContainer(vec![field]))
}

fn read_extension(extensions: &ngap::ProtocolExtensionContainer<'_>) -> Option<SecurityResult> {
    let mut results = extensions
        .0
        .iter()
        .filter(|one| one.id.0 == SECURITY_RESULT);
    let octets = &results.next()?.extension_value;
    let result: ngap::SecurityResult = decode_open_type(octets).ok()?;
    Some(SecurityResult::of_asn1(&result))
}

impl ModifyIndication {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let item = |one| ngap::QosFlowPerTNLInformationItem::new(per_tunnel(one), None);
        let others = ngap::QosFlowPerTNLInformationList(self.others.iter().map(item).collect());
        written(&ngap::PDUSessionResourceModifyIndicationTransfer::new(
            per_tunnel(&self.first),
            Some(others).filter(|others| !others.0.is_empty()),
            self.security.and_then(extension),
        ))
    }

    /// Tunnel of all flows, if there is only one.
    pub fn as_one(&self) -> Option<(Tunnel, Vec<u8>)> {
        let (tunnel, mut qfis) = self.first.clone();
        for (other, more) in &self.others {
            if *other != tunnel {
                return None;
            }
            qfis.extend(more);
        }
        Some((tunnel, qfis))
    }

    /// Of octets; none if they are none, name an end that is no tunnel, or a flow twice.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::PDUSessionResourceModifyIndicationTransfer<'_> =
            decode_open_type(octets).ok()?;
        let others = transfer.additional_dl_qos_flow_per_tnl_information.iter();
        let others = others.flat_map(|list| &list.0);
        let others = others.map(|one| read_per_tunnel(&one.qos_flow_per_tnl_information));
        let (first, others): (_, Vec<(Tunnel, Vec<u8>)>) = (
            read_per_tunnel(&transfer.dl_qos_flow_per_tnl_information)?,
            others.collect::<Option<_>>()?,
        );
        let all = std::iter::once(&first).chain(&others);
        let lists: Vec<&[u8]> = all.map(|(_, qfis)| qfis.as_slice()).collect();
        let security = transfer.ie_extensions.as_ref().and_then(read_extension);
        (!qos_flow::is_twice(&lists)).then_some(Self {
            first,
            others,
            security,
        })
    }
}

impl ModifyConfirm {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let flow = |qfi: &u8| {
            ngap::QosFlowModifyConfirmItem::new(ngap::QosFlowIdentifier((*qfi).into()), None)
        };
        written(&ngap::PDUSessionResourceModifyConfirmTransfer::new(
            ngap::QosFlowModifyConfirmList(self.qfis.iter().map(flow).collect()),
            self.uplink.as_asn1(),
            None,
            qos_flow::with_cause(&self.failed, || Cause::UNKNOWN_FLOW),
            None,
        ))
    }

    /// Of octets; none if they are none, or have no tunnel.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::PDUSessionResourceModifyConfirmTransfer<'_> =
            decode_open_type(octets).ok()?;
        let flows = transfer.qos_flow_modify_confirm_list.0.iter();
        Some(Self {
            qfis: flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            uplink: Tunnel::of_asn1(&transfer.ul_ngu_up_tnl_information)?,
            failed: qos_flow::read_with_cause(transfer.qos_flow_failed_to_modify_list.as_ref()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transfers_of_indications_are_read_as_they_are_written() {
        let tunnel = |teid| Tunnel {
            ipv4: Some([192, 0, 2, 1].into()),
            ipv6: None,
            teid,
        };
        for others in [Vec::new(), vec![(tunnel(8), vec![2]), (tunnel(9), vec![3])]] {
            let indication = ModifyIndication {
                first: (tunnel(7), vec![1, 5]),
                security: others.first().map(|_| SecurityResult {
                    integrity: false,
                    confidentiality: true,
                }),
                others,
            };
            let is_one = indication.others.is_empty();
            assert_eq!(indication.as_one().is_some(), is_one);
            let read = ModifyIndication::decode(&indication.encode());
            assert_eq!(read, Some(indication));
        }
        for failed in [Vec::new(), vec![4]] {
            let confirm = ModifyConfirm {
                qfis: vec![1, 5],
                uplink: tunnel(1),
                failed,
            };
            assert_eq!(ModifyConfirm::decode(&confirm.encode()), Some(confirm));
        }
        let why = Cause::UNKNOWN_SESSION;
        assert_eq!(read_unsuccessful(&unsuccessful(why)), why);
        assert_eq!(ModifyIndication::decode(&[0xff; 3]), None);
        assert_eq!(ModifyConfirm::decode(&[]), None);
    }
}
