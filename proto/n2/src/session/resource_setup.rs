//! PDU Session Resource Setup (TS 38.413, 8.2.1), and the transfers of a session that is set up.

use oxirush_ngap::ngap::{self, decode_open_type};
use oxirush_ngap::{Error, ie};
use sluice_ids::Snssai;

use crate::cause::Cause;
use crate::session::qos_flow::{self, MOST_BPS, QosFlow};
use crate::session::tunnel::Tunnel;
use crate::session::up_security::{SecurityIndication, SecurityResult};
use crate::table::{Element, causes, ie_transfer, lists, message};
use crate::value::{self, SessionResults, Transfers, written};

message! {
    /// PDU Session Resource Setup Request (9.2.1.1).
    pub struct PduSessionSetupRequest =
        PDUSessionResourceSetupRequest, "PDU Session Resource Setup Request", of ids
    {
        /// At least one.
        required sessions: Vec<SessionSetup> = PDUSessionResourceSetupListSUReq,
        /// UE Aggregate Maximum Bit Rate, down and up.
        ignorable ambr_bps: (u64, u64) = UEAggregateMaximumBitRate,
    }
}

message! {
    /// PDU Session Resource Setup Response (9.2.1.2).
    pub struct PduSessionSetupResponse =
        PDUSessionResourceSetupResponse, "PDU Session Resource Setup Response", of ids
    {
        /// Sessions that are up, each with a [`SetupResponse`], and those that are not.
        results sessions: SessionResults =
            PDUSessionResourceSetupListSURes + PDUSessionResourceFailedToSetupListSURes,
    }
}

lists! {
    PDUSessionResourceSetupListSURes of PDUSessionResourceSetupItemSURes,
        pdu_session_resource_setup_response_transfer;
    PDUSessionResourceFailedToSetupListSURes of PDUSessionResourceFailedToSetupItemSURes,
        pdu_session_resource_setup_unsuccessful_transfer;
}

/// A session to be set up at a gNB.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SessionSetup {
    /// PDU session identity.
    pub session: u8,
    /// A message for the UE, sent if the session is set up.
    pub nas: Option<Vec<u8>>,
    /// The slice.
    pub slice: Snssai,
    /// Of the SMF: a [`SetupRequest`].
    pub transfer: Vec<u8>,
}

/// Lists of sessions to be set up differ in the names of their types, and of the NAS message.
macro_rules! setups {
    ($($list:ident of $item:ident, $nas:ident;)*) => {
        $(
            impl Element<ie::$list> for Vec<SessionSetup> {
                fn read(list: ngap::$list<'_>) -> Option<Self> {
                    let item = |one: &ngap::$item<'_>| SessionSetup {
                        session: one.pdu_session_id.0,
                        nas: one.$nas.as_ref().map(|nas| nas.0.to_vec()),
                        slice: value::read_slice(&one.s_nssai),
                        transfer: one.pdu_session_resource_setup_request_transfer.to_vec(),
                    };
                    Some(list.0.iter().map(item).collect())
                }

                fn write(&self) -> Result<ngap::$list<'static>, Error> {
                    let item = |one: &SessionSetup| {
                        ngap::$item::new(
                            ngap::PDUSessionID(one.session),
                            one.nas.clone().map(|nas| ngap::NASPDU(nas.into())),
                            value::slice(&one.slice),
                            one.transfer.clone().into(),
                            None,
                        )
                    };
                    Ok(ngap::$list(self.iter().map(item).collect()))
                }
            }
        )*
    };
}

setups! {
    PDUSessionResourceSetupListSUReq of PDUSessionResourceSetupItemSUReq, pdu_session_nas_pdu;
    PDUSessionResourceSetupListCxtReq of PDUSessionResourceSetupItemCxtReq, nas_pdu;
}

ie_transfer! {
    /// PDU Session Resource Setup Request Transfer (9.3.4.1).
    pub struct SetupRequest = PDUSessionResourceSetupRequestTransfer {
        /// Session AMBR, bits per second, down and up.
        expected ambr_bps: (u64, u64) = PDUSessionAggregateMaximumBitRate,
        /// The UPF's endpoint.
        required uplink: Tunnel = UL_NGU_UP_TNLInformation,
        /// Kind of packets.
        required packets: PacketType = PDUSessionType,
        /// Security Indication; none leaves the protection to the gNB.
        optional security: SecurityIndication = SecurityIndication,
        /// Flows, at least one, the default one first.
        required flows: Vec<QosFlow> = QosFlowSetupRequestList,
    }
}

/// PDU Session Type, of packets that a gNB and a UPF exchange (9.3.1.52).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketType {
    /// IPv4 alone.
    Ipv4,
    /// IPv6 alone.
    Ipv6,
    /// Both.
    Ipv4v6,
}

impl Element<ie::PDUSessionType> for PacketType {
    /// None of a session with other packets.
    fn read(kind: ngap::PDUSessionType) -> Option<Self> {
        match kind {
            ngap::PDUSessionType::ipv4 => Some(Self::Ipv4),
            ngap::PDUSessionType::ipv6 => Some(Self::Ipv6),
            ngap::PDUSessionType::ipv4v6 => Some(Self::Ipv4v6),
            _ => None,
        }
    }

    fn write(&self) -> Result<ngap::PDUSessionType, Error> {
        Ok(match self {
            Self::Ipv4 => ngap::PDUSessionType::ipv4,
            Self::Ipv6 => ngap::PDUSessionType::ipv6,
            Self::Ipv4v6 => ngap::PDUSessionType::ipv4v6,
        })
    }
}

/// Bits per second, down and up.
impl Element<ie::PDUSessionAggregateMaximumBitRate> for (u64, u64) {
    fn read(ambr: ngap::PDUSessionAggregateMaximumBitRate) -> Option<Self> {
        let down = ambr.pdu_session_aggregate_maximum_bit_rate_dl.0;
        Some((down, ambr.pdu_session_aggregate_maximum_bit_rate_ul.0))
    }

    fn write(&self) -> Result<ngap::PDUSessionAggregateMaximumBitRate, Error> {
        let rate = |bps: u64| ngap::BitRate(bps.min(MOST_BPS));
        let (down, up) = (rate(self.0), rate(self.1));
        Ok(ngap::PDUSessionAggregateMaximumBitRate::new(down, up, None))
    }
}

/// PDU Session Resource Setup Response Transfer (9.3.4.2).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetupResponse {
    /// The gNB's endpoint.
    pub downlink: Tunnel,
    /// Flows that it has.
    pub qfis: Vec<u8>,
    /// Flows that it has not.
    pub failed: Vec<u8>,
    /// Whether it protects the user plane, where it says so.
    pub security: Option<SecurityResult>,
}

impl SetupResponse {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let flow = |qfi: &u8| {
            ngap::AssociatedQosFlowItem::new(ngap::QosFlowIdentifier((*qfi).into()), None, None)
        };
        let flows = ngap::AssociatedQosFlowList(self.qfis.iter().map(flow).collect());
        let tunnel = ngap::QosFlowPerTNLInformation::new(self.downlink.as_asn1(), flows, None);
        written(&ngap::PDUSessionResourceSetupResponseTransfer::new(
            tunnel,
            None,
            self.security.map(SecurityResult::as_asn1),
            qos_flow::with_cause(&self.failed, || Cause::RADIO_RESOURCES_NOT_AVAILABLE),
            None,
        ))
    }

    /// Of octets; none if they are none, have no tunnel, or name a flow twice.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        let transfer: ngap::PDUSessionResourceSetupResponseTransfer<'_> =
            decode_open_type(octets).ok()?;
        let tunnel = &transfer.dl_qos_flow_per_tnl_information;
        let flows = tunnel.associated_qos_flow_list.0.iter();
        let read = Self {
            downlink: Tunnel::of_asn1(&tunnel.up_transport_layer_information)?,
            qfis: flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            failed: qos_flow::read_with_cause(transfer.qos_flow_failed_to_setup_list.as_ref()),
            security: transfer
                .security_result
                .as_ref()
                .map(SecurityResult::of_asn1),
        };
        Some(read).filter(|read| !qos_flow::is_twice(&[&read.qfis, &read.failed]))
    }
}

/// The first session that these lists of one message name twice.
pub fn first_twice(lists: &[&Transfers]) -> Option<u8> {
    let mut seen = std::collections::BTreeSet::new();
    let mut sessions = lists.iter().flat_map(|list| list.iter());
    let is_twice = |(session, _): &&(u8, Vec<u8>)| !seen.insert(*session);
    sessions.find(is_twice).map(|(session, _)| *session)
}

causes! {
    PDUSessionResourceSetupUnsuccessfulTransfer(None, None):
        /// PDU Session Resource Setup Unsuccessful Transfer (9.3.4.16).
        setup_failure,
        /// Why a gNB did not set up a session; [`Cause::Unknown`] of octets that do not say.
        read_setup_failure;
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;

    fn tunnel() -> Tunnel {
        Tunnel {
            ipv4: Some(Ipv4Addr::new(192, 0, 2, 1)),
            ipv6: None,
            teid: 0x1234_5678,
        }
    }

    #[test]
    fn transfers_are_read_as_they_are_written() {
        let ipv6 = Some("2001:db8::1".parse().expect("an address"));
        for uplink in [
            tunnel(),
            Tunnel { ipv6, ..tunnel() },
            Tunnel {
                ipv4: None,
                ipv6,
                teid: 1,
            },
        ] {
            let request = SetupRequest {
                ambr_bps: (1_000_000_000, 500_000_000),
                uplink,
                packets: PacketType::Ipv4v6,
                security: None,
                flows: vec![
                    QosFlow::new(1, 9, 8),
                    QosFlow {
                        rates: Some(crate::FlowRates {
                            guaranteed_bps: (1_000, 2_000),
                            maximum_bps: (3_000, 4_000),
                        }),
                        ..QosFlow::new(2, 1, 5)
                    },
                ],
            };
            assert_eq!(SetupRequest::decode(&request.encode()), Some(request));
            let response = SetupResponse {
                downlink: uplink,
                qfis: vec![1, 2],
                failed: vec![3],
                security: None,
            };
            assert_eq!(SetupResponse::decode(&response.encode()), Some(response));
        }
        let why = Cause::RADIO_LOST;
        assert_eq!(read_setup_failure(&setup_failure(why)), why);
        assert_eq!(read_setup_failure(&[]), Cause::Unknown);
        assert_eq!(SetupRequest::decode(&[0]), None);
        assert_eq!(SetupResponse::decode(&[0xff]), None);
    }
}
