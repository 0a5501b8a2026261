//! PDU sessions on N2 (TS 38.413, 8.2): lists that an AMF and a gNB exchange, and the transfers in
//! them, which an SMF and a gNB write and the AMF passes on unread.

pub mod up_security;

use core::net::{Ipv4Addr, Ipv6Addr};

use oxirush_ngap::aper::BitString;
use oxirush_ngap::ngap::{self, decode_open_type, encode_open_type};
use oxirush_ngap::{Error, build_ngap_ie, extract_ngap_ies};
use sluice_ids::Snssai;

use crate::cause::Cause;
use crate::qos_flow::{self, QosFlow};
use crate::value;
use up_security::{SecurityIndication, SecurityResult};

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

/// Sessions, each with the transfer of its SMF or gNB.
pub type Transfers = Vec<(u8, Vec<u8>)>;

/// A GTP-U tunnel endpoint; it has an address at least.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tunnel {
    /// Its IPv4 address.
    pub ipv4: Option<Ipv4Addr>,
    /// Its IPv6 address.
    pub ipv6: Option<Ipv6Addr>,
    /// TEID.
    pub teid: u32,
}

/// What packets of a session are (TS 38.413, 9.3.1.52).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketType {
    /// IPv4 alone.
    Ipv4,
    /// IPv6 alone.
    Ipv6,
    /// Both.
    Ipv4v6,
}

/// PDU Session Resource Setup Request Transfer (9.3.4.1).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SetupRequest {
    /// Session AMBR, bits per second, down and up.
    pub ambr_bps: (u64, u64),
    /// The UPF's endpoint.
    pub uplink: Tunnel,
    /// What the packets are.
    pub packets: PacketType,
    /// Security Indication; none leaves the protection to the gNB.
    pub security: Option<SecurityIndication>,
    /// Flows, the default one first.
    pub flows: Vec<QosFlow>,
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

#[allow(clippy::expect_used)]
pub(crate) fn written<T: oxirush_ngap::aper::Encode>(value: &T) -> Vec<u8> {
    // As in messages: our values are of checked types.
    encode_open_type(value)
        .expect("our values are in their ranges")
        .to_vec()
}

impl Tunnel {
    pub(crate) fn write(&self) -> ngap::UPTransportLayerInformation<'static> {
        let mut address = Vec::new();
        address.extend(self.ipv4.iter().flat_map(Ipv4Addr::octets));
        address.extend(self.ipv6.iter().flat_map(Ipv6Addr::octets));
        let address = ngap::TransportLayerAddress(BitString::from_octets(address));
        let teid = ngap::GTPTEID(self.teid.to_be_bytes());
        ngap::UPTransportLayerInformation::gTPTunnel(ngap::GTPTunnel::new(address, teid, None))
    }

    /// None of what is no tunnel, or has no address (TS 38.414, 5.1: 4, 16 or 20 octets).
    pub(crate) fn read(value: &ngap::UPTransportLayerInformation<'_>) -> Option<Self> {
        let ngap::UPTransportLayerInformation::gTPTunnel(tunnel) = value else {
            return None;
        };
        let octets = tunnel.transport_layer_address.0.as_octets();
        let (ipv4, ipv6) = match octets.len() {
            4 => (octets.first_chunk::<4>(), None),
            16 => (None, octets.first_chunk::<16>()),
            20 => (octets.first_chunk::<4>(), octets.last_chunk::<16>()),
            _ => return None,
        };
        Some(Self {
            ipv4: ipv4.map(|octets| Ipv4Addr::from(*octets)),
            ipv6: ipv6.map(|octets| Ipv6Addr::from(*octets)),
            teid: u32::from_be_bytes(tunnel.gtp_teid.0),
        })
    }
}

impl SetupRequest {
    /// The octets.
    #[allow(clippy::expect_used)]
    pub fn encode(&self) -> Vec<u8> {
        let ies = self.ies().expect("our values are in their ranges");
        written(&ngap::PDUSessionResourceSetupRequestTransfer::new(
            ngap::ProtocolIEContainer(ies),
        ))
    }

    fn ies(&self) -> Result<Vec<ngap::ProtocolIEField<'static>>, Error> {
        let (down, up) = self.ambr_bps;
        let rate = |bps: u64| ngap::BitRate(bps.min(MOST_BPS));
        let ambr = ngap::PDUSessionAggregateMaximumBitRate::new(rate(down), rate(up), None);
        let kind = match self.packets {
            PacketType::Ipv4 => ngap::PDUSessionType::ipv4,
            PacketType::Ipv6 => ngap::PDUSessionType::ipv6,
            PacketType::Ipv4v6 => ngap::PDUSessionType::ipv4v6,
        };
        let flows = qos_flow::setup_list(&self.flows);
        let mut ies = vec![
            build_ngap_ie!(
                PDUSessionResourceSetupRequestTransfer,
                PDUSessionAggregateMaximumBitRate(ambr)
            )?,
            build_ngap_ie!(
                PDUSessionResourceSetupRequestTransfer,
                UL_NGU_UP_TNLInformation(self.uplink.write())
            )?,
            build_ngap_ie!(PDUSessionResourceSetupRequestTransfer, PDUSessionType(kind))?,
        ];
        if let Some(security) = &self.security {
            ies.push(build_ngap_ie!(
                PDUSessionResourceSetupRequestTransfer,
                SecurityIndication(security.write())
            )?);
        }
        ies.push(build_ngap_ie!(
            PDUSessionResourceSetupRequestTransfer,
            QosFlowSetupRequestList(flows)
        )?);
        Ok(ies)
    }

    /// Of octets; none if they are none, or of a session with another kind of packets, protection or flow.
    pub fn decode(octets: &[u8]) -> Option<Self> {
        Self::read(octets).ok().flatten()
    }

    fn read(octets: &[u8]) -> Result<Option<Self>, Error> {
        let transfer: ngap::PDUSessionResourceSetupRequestTransfer<'_> = decode_open_type(octets)?;
        extract_ngap_ies!(transfer, PDUSessionResourceSetupRequestTransfer,
            lax ambr: ngap::PDUSessionAggregateMaximumBitRate =
                PDUSessionAggregateMaximumBitRate(value) => value,
            req uplink: Option<Tunnel> =
                UL_NGU_UP_TNLInformation(value) => Tunnel::read(&value),
            req kind: ngap::PDUSessionType = PDUSessionType(value) => value,
            opt security: ngap::SecurityIndication = SecurityIndication(value) => value,
            req flows: ngap::QosFlowSetupRequestList = QosFlowSetupRequestList(list) => list,
        );
        let security = security.as_ref().map(SecurityIndication::read);
        if security == Some(None) {
            return Ok(None);
        }
        let packets = match kind {
            ngap::PDUSessionType::ipv4 => PacketType::Ipv4,
            ngap::PDUSessionType::ipv6 => PacketType::Ipv6,
            ngap::PDUSessionType::ipv4v6 => PacketType::Ipv4v6,
            _ => return Ok(None),
        };
        let ambr_bps = ambr.map_or((0, 0), |ambr| {
            (
                ambr.pdu_session_aggregate_maximum_bit_rate_dl.0,
                ambr.pdu_session_aggregate_maximum_bit_rate_ul.0,
            )
        });
        let flows = qos_flow::read_setup_list(&flows).filter(|flows| !flows.is_empty());
        let (Some(uplink), Some(flows)) = (uplink, flows) else {
            return Ok(None);
        };
        Ok(Some(Self {
            ambr_bps,
            uplink,
            packets,
            security: security.flatten(),
            flows,
        }))
    }
}

/// The largest Bit Rate (9.3.1.4).
pub(crate) const MOST_BPS: u64 = 4_000_000_000_000;

impl SetupResponse {
    /// The octets.
    pub fn encode(&self) -> Vec<u8> {
        let flow = |qfi: &u8| {
            ngap::AssociatedQosFlowItem::new(ngap::QosFlowIdentifier((*qfi).into()), None, None)
        };
        let flows = ngap::AssociatedQosFlowList(self.qfis.iter().map(flow).collect());
        let tunnel = ngap::QosFlowPerTNLInformation::new(self.downlink.write(), flows, None);
        written(&ngap::PDUSessionResourceSetupResponseTransfer::new(
            tunnel,
            None,
            self.security.map(SecurityResult::write),
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
            downlink: Tunnel::read(&tunnel.up_transport_layer_information)?,
            qfis: flows.map(|flow| flow.qos_flow_identifier.0 as u8).collect(),
            failed: qos_flow::read_with_cause(transfer.qos_flow_failed_to_setup_list.as_ref()),
            security: transfer.security_result.as_ref().map(SecurityResult::read),
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

/// PDU Session Resource Setup Unsuccessful Transfer (9.3.4.16).
pub fn setup_failure(why: Cause) -> Vec<u8> {
    written(&ngap::PDUSessionResourceSetupUnsuccessfulTransfer::new(
        why.write(),
        None,
        None,
    ))
}

/// Why a gNB did not set up a session; [`Cause::Unknown`] of octets that do not say.
pub fn read_setup_failure(octets: &[u8]) -> Cause {
    decode_open_type::<ngap::PDUSessionResourceSetupUnsuccessfulTransfer>(octets)
        .map_or(Cause::Unknown, |transfer| Cause::read(&transfer.cause))
}

/// PDU Session Resource Release Command Transfer (9.3.4.12).
pub fn release_command(why: Cause) -> Vec<u8> {
    written(&ngap::PDUSessionResourceReleaseCommandTransfer::new(
        why.write(),
        None,
    ))
}

/// PDU Session Resource Release Response Transfer (9.3.4.21), which says nothing.
pub fn release_response() -> Vec<u8> {
    written(&ngap::PDUSessionResourceReleaseResponseTransfer::new(None))
}

pub(crate) fn setups(sessions: &[SessionSetup]) -> ngap::PDUSessionResourceSetupListSUReq<'static> {
    let item = |one: &SessionSetup| {
        ngap::PDUSessionResourceSetupItemSUReq::new(
            ngap::PDUSessionID(one.session),
            one.nas.clone().map(|nas| ngap::NASPDU(nas.into())),
            value::slice(&one.slice),
            one.transfer.clone().into(),
            None,
        )
    };
    ngap::PDUSessionResourceSetupListSUReq(sessions.iter().map(item).collect())
}

pub(crate) fn read_setups(list: &ngap::PDUSessionResourceSetupListSUReq<'_>) -> Vec<SessionSetup> {
    let item = |one: &ngap::PDUSessionResourceSetupItemSUReq<'_>| SessionSetup {
        session: one.pdu_session_id.0,
        nas: one.pdu_session_nas_pdu.as_ref().map(|nas| nas.0.to_vec()),
        slice: value::read_slice(&one.s_nssai),
        transfer: one.pdu_session_resource_setup_request_transfer.to_vec(),
    };
    list.0.iter().map(item).collect()
}

pub(crate) fn context_setups(
    sessions: &[SessionSetup],
) -> ngap::PDUSessionResourceSetupListCxtReq<'static> {
    let item = |one: &SessionSetup| {
        ngap::PDUSessionResourceSetupItemCxtReq::new(
            ngap::PDUSessionID(one.session),
            one.nas.clone().map(|nas| ngap::NASPDU(nas.into())),
            value::slice(&one.slice),
            one.transfer.clone().into(),
            None,
        )
    };
    ngap::PDUSessionResourceSetupListCxtReq(sessions.iter().map(item).collect())
}

pub(crate) fn read_context_setups(
    list: &ngap::PDUSessionResourceSetupListCxtReq<'_>,
) -> Vec<SessionSetup> {
    let item = |one: &ngap::PDUSessionResourceSetupItemCxtReq<'_>| SessionSetup {
        session: one.pdu_session_id.0,
        nas: one.nas_pdu.as_ref().map(|nas| nas.0.to_vec()),
        slice: value::read_slice(&one.s_nssai),
        transfer: one.pdu_session_resource_setup_request_transfer.to_vec(),
    };
    list.0.iter().map(item).collect()
}

/// Lists of sessions with a transfer each differ in nothing but the names of their types.
macro_rules! lists {
    ($($write:ident, $read:ident: $list:ident of $item:ident, $transfer:ident;)*) => {
        $(
            pub(crate) fn $write(sessions: &Transfers) -> ngap::$list<'static> {
                let item = |(session, transfer): &(u8, Vec<u8>)| {
                    ngap::$item::new(ngap::PDUSessionID(*session), transfer.clone().into(), None)
                };
                ngap::$list(sessions.iter().map(item).collect())
            }

            pub(crate) fn $read(list: &ngap::$list<'_>) -> Transfers {
                let item = |one: &ngap::$item<'_>| (one.pdu_session_id.0, one.$transfer.to_vec());
                list.0.iter().map(item).collect()
            }
        )*
    };
}
pub(crate) use lists;

lists! {
    done, read_done: PDUSessionResourceSetupListSURes of PDUSessionResourceSetupItemSURes,
        pdu_session_resource_setup_response_transfer;
    failed, read_failed: PDUSessionResourceFailedToSetupListSURes
        of PDUSessionResourceFailedToSetupItemSURes,
        pdu_session_resource_setup_unsuccessful_transfer;
    context_done, read_context_done: PDUSessionResourceSetupListCxtRes
        of PDUSessionResourceSetupItemCxtRes,
        pdu_session_resource_setup_response_transfer;
    context_failed, read_context_failed: PDUSessionResourceFailedToSetupListCxtRes
        of PDUSessionResourceFailedToSetupItemCxtRes,
        pdu_session_resource_setup_unsuccessful_transfer;
    modified, read_modified: PDUSessionResourceModifyListModRes
        of PDUSessionResourceModifyItemModRes,
        pdu_session_resource_modify_response_transfer;
    unmodified, read_unmodified: PDUSessionResourceFailedToModifyListModRes
        of PDUSessionResourceFailedToModifyItemModRes,
        pdu_session_resource_modify_unsuccessful_transfer;
    releases, read_releases: PDUSessionResourceToReleaseListRelCmd
        of PDUSessionResourceToReleaseItemRelCmd,
        pdu_session_resource_release_command_transfer;
    released, read_released: PDUSessionResourceReleasedListRelRes
        of PDUSessionResourceReleasedItemRelRes,
        pdu_session_resource_release_response_transfer;
}

#[cfg(test)]
mod tests {
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
