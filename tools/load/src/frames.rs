//! Frame templates of generated packets.

use std::net::Ipv4Addr;

use sluice_wire::checksum::Sum;
use sluice_wire::eth::{EthHeader, EtherType, MacAddr};
use sluice_wire::gtpu::{
    OUTER_IPV4_LEN, OUTER_IPV4_PLAIN_LEN, OuterFields, OuterIpv4, ShortContainer,
};
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::udp::UdpHeader;

use crate::flows::{Flow, TunnelEnds};
use crate::stamp::{STAMP_BYTES, Stamp};

const ETH: usize = sluice_wire::eth::HEADER_LEN;
const IPV4: usize = sluice_wire::ipv4::HEADER_LEN;
const UDP: usize = sluice_wire::udp::HEADER_LEN;
/// Offset of a stamp in the UE's IP packet.
pub(crate) const STAMP_AT: usize = IPV4 + UDP;

/// UDP ports of the UE and of the server.
pub(crate) const UE_PORT: u16 = 40_000;
pub(crate) const SERVER_PORT: u16 = 40_001;

const TTL: u8 = 64;
/// Outer source ports are dynamic (RFC 6335) and differ by flow, for whoever spreads load by them.
const SOURCE_PORTS: u16 = 0xc000;

/// Ethernet addresses of one hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    pub from: MacAddr,
    pub to: MacAddr,
}

/// Templates of all frames.
#[derive(Debug)]
pub(crate) struct Frames {
    uplink: Vec<UplinkFrame>,
    downlink_eth: [u8; ETH],
    to_server: Inner,
    to_ue: Inner,
}

#[derive(Debug)]
struct UplinkFrame {
    eth: [u8; ETH],
    outer: OuterIpv4,
}

impl Frames {
    /// Uplink frames by tunnel, each with its hop; downlink frames with theirs.
    pub(crate) fn new(
        uplink: impl Iterator<Item = (TunnelEnds, Hop)>,
        downlink: Hop,
        server: Ipv4Addr,
    ) -> Self {
        let frame = |(ends, hop): (TunnelEnds, Hop)| UplinkFrame {
            eth: ethernet(hop),
            outer: OuterIpv4::new(ends.gnb, ends.upf, TTL, true),
        };
        let nobody = Ipv4Addr::UNSPECIFIED;
        Self {
            uplink: uplink.map(frame).collect(),
            downlink_eth: ethernet(downlink),
            to_server: Inner::new(nobody, server, UE_PORT, SERVER_PORT),
            to_ue: Inner::new(server, nobody, SERVER_PORT, UE_PORT),
        }
    }

    /// Octets of an uplink frame before the UE's packet.
    #[inline]
    pub(crate) fn uplink_front(flow: &Flow) -> usize {
        match flow.qfi {
            Some(_) => ETH + OUTER_IPV4_LEN,
            None => ETH + OUTER_IPV4_PLAIN_LEN,
        }
    }

    /// Octets of a downlink frame before the UE's packet.
    pub(crate) const DOWNLINK_FRONT: usize = ETH;

    /// Writes an uplink frame, whose length is that of its front and of the UE's packet. None if
    /// that cannot be.
    #[inline]
    pub(crate) fn fill_uplink(&self, flow: &Flow, stamp: &Stamp, out: &mut [u8]) -> Option<()> {
        let template = self.uplink.get(usize::from(flow.tunnel))?;
        let (front, packet) = out.split_at_mut_checked(Self::uplink_front(flow))?;
        let (eth, outer) = front.split_first_chunk_mut::<ETH>()?;
        *eth = template.eth;
        let fields = OuterFields {
            tos: 0,
            identification: 0,
            source_port: SOURCE_PORTS | (stamp.flow as u16 & !SOURCE_PORTS),
            teid: flow.uplink,
        };
        match flow.qfi {
            Some(qfi) => {
                let outer = outer.first_chunk_mut()?;
                let container = ShortContainer::uplink(qfi);
                template
                    .outer
                    .write(outer, &fields, container, packet.len())
                    .ok()?;
            }
            None => {
                let outer = outer.first_chunk_mut()?;
                template
                    .outer
                    .write_plain(outer, &fields, packet.len())
                    .ok()?;
            }
        }
        self.to_server.fill(SOURCE_AT, flow.ue, stamp, packet)
    }

    /// Writes a downlink frame, as above.
    #[inline]
    pub(crate) fn fill_downlink(&self, flow: &Flow, stamp: &Stamp, out: &mut [u8]) -> Option<()> {
        let (eth, packet) = out.split_first_chunk_mut::<ETH>()?;
        *eth = self.downlink_eth;
        self.to_ue.fill(DESTINATION_AT, flow.ue, stamp, packet)
    }
}

fn ethernet(hop: Hop) -> [u8; ETH] {
    EthHeader {
        destination: hop.to,
        source: hop.from,
        ethertype: EtherType::IPV4,
    }
    .to_bytes()
}

const LENGTH_AT: usize = 2;
const CHECKSUM_AT: usize = 10;
const SOURCE_AT: usize = 12;
const DESTINATION_AT: usize = 16;
const UDP_LENGTH_AT: usize = IPV4 + 4;

/// The UE's packet: IPv4 and UDP headers without lengths, UE address and checksum, and their sum.
/// UDP goes without checksum, which IPv4 allows (RFC 768).
#[derive(Debug)]
struct Inner {
    headers: [u8; STAMP_AT],
    sum: Sum,
}

impl Inner {
    fn new(source: Ipv4Addr, destination: Ipv4Addr, from: u16, to: u16) -> Self {
        let header = Ipv4Header {
            ttl: TTL,
            dont_fragment: true,
            ..Ipv4Header::new(Protocol::UDP, source, destination)
        };
        let mut headers = [0; STAMP_AT];
        // Headers of empty packets have no length that could be too large.
        if let Ok(bytes) = header.to_bytes(0) {
            headers[..IPV4].copy_from_slice(&bytes);
        }
        let ports = UdpHeader {
            source_port: from,
            destination_port: to,
        };
        if let Ok(bytes) = ports.to_bytes_unsummed(0) {
            headers[IPV4..].copy_from_slice(&bytes);
        }
        headers[LENGTH_AT..LENGTH_AT + 2].fill(0);
        headers[CHECKSUM_AT..CHECKSUM_AT + 2].fill(0);
        let sum = Sum::of(&headers[..IPV4]);
        Self { headers, sum }
    }

    /// Writes a packet as long as `out`, with the UE's address at `ue_at`.
    #[inline]
    fn fill(&self, ue_at: usize, ue: Ipv4Addr, stamp: &Stamp, out: &mut [u8]) -> Option<()> {
        let length = u16::try_from(out.len()).ok()?;
        let (head, rest) = out.split_first_chunk_mut::<STAMP_AT>()?;
        let (stamped, padding) = rest.split_first_chunk_mut::<STAMP_BYTES>()?;
        let sum = self.sum.add_u16(length).add_u32(ue.to_bits()).finish();
        *head = self.headers;
        head[LENGTH_AT..LENGTH_AT + 2].copy_from_slice(&length.to_be_bytes());
        head[CHECKSUM_AT..CHECKSUM_AT + 2].copy_from_slice(&sum.to_be_bytes());
        head[ue_at..ue_at + 4].copy_from_slice(&ue.octets());
        let udp_length = length - IPV4 as u16;
        head[UDP_LENGTH_AT..UDP_LENGTH_AT + 2].copy_from_slice(&udp_length.to_be_bytes());
        *stamped = stamp.to_bytes();
        padding.fill(0);
        Some(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;
    use crate::Direction;
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use sluice_wire::gtpu::{GPdu, PduType};
    use sluice_wire::ids::{Qfi, Teid};

    const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 11);
    const UPF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
    const SERVER: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 1);
    const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 3, 7);

    fn frames() -> Frames {
        let hop = |last| Hop {
            from: MacAddr([2, 0, 0, 0, 0, last]),
            to: MacAddr([2, 0, 0, 0, 1, last]),
        };
        let ends = TunnelEnds { gnb: GNB, upf: UPF };
        Frames::new([(ends, hop(1))].into_iter(), hop(2), SERVER)
    }

    fn flow(qfi: Option<Qfi>) -> Flow {
        Flow {
            ue: UE,
            uplink: Teid::new(0x8000_1234).unwrap(),
            downlink: Teid::new(77).unwrap(),
            tunnel: 0,
            qfi,
        }
    }

    fn stamp(direction: Direction) -> Stamp {
        Stamp {
            direction,
            is_mirrored: false,
            run: 1,
            flow: 5,
            sequence: 9,
            late_ns: 0,
            sent_ns: 1234,
        }
    }

    /// Checks a UE's packet by an independent library; gives its stamp.
    fn inner(packet: &[u8], from: (Ipv4Addr, u16), to: (Ipv4Addr, u16)) -> Stamp {
        let sliced = SlicedPacket::from_ip(packet).unwrap();
        let Some(NetSlice::Ipv4(ip)) = &sliced.net else {
            panic!("not IPv4");
        };
        let header = ip.header();
        assert_eq!(usize::from(header.total_len()), packet.len());
        assert_eq!(
            header.to_header().calc_header_checksum(),
            header.header_checksum()
        );
        assert_eq!(
            (header.source_addr(), header.destination_addr()),
            (from.0, to.0)
        );
        let Some(TransportSlice::Udp(udp)) = &sliced.transport else {
            panic!("not UDP");
        };
        assert_eq!((udp.source_port(), udp.destination_port()), (from.1, to.1));
        assert_eq!(usize::from(udp.length()), packet.len() - 20);
        assert!(udp.payload()[STAMP_BYTES..].iter().all(|byte| *byte == 0));
        Stamp::read(udp.payload()).unwrap()
    }

    #[test]
    fn uplink_frames_are_those_of_the_field() {
        for (qfi, front) in [(Qfi::new(9), 58), (None, 50)] {
            let flow = flow(qfi);
            assert_eq!(Frames::uplink_front(&flow), front);
            for ip_bytes in [46, 64, 1400] {
                let mut out = vec![0xaa; front + ip_bytes];
                let stamp = stamp(Direction::Uplink);
                frames().fill_uplink(&flow, &stamp, &mut out).unwrap();
                let sliced = SlicedPacket::from_ethernet(&out).unwrap();
                let Some(NetSlice::Ipv4(ip)) = &sliced.net else {
                    panic!("not IPv4");
                };
                let header = ip.header();
                assert_eq!(
                    header.to_header().calc_header_checksum(),
                    header.header_checksum()
                );
                assert_eq!(
                    (header.source_addr(), header.destination_addr()),
                    (GNB, UPF)
                );
                let Some(TransportSlice::Udp(udp)) = &sliced.transport else {
                    panic!("not UDP");
                };
                assert_eq!(udp.destination_port(), 2152);
                let g_pdu = GPdu::parse(udp.payload()).unwrap();
                assert_eq!((g_pdu.teid, g_pdu.qfi), (flow.uplink, qfi));
                assert_eq!(g_pdu.pdu_type, qfi.map(|_| PduType::Uplink));
                let packet = g_pdu.payload(udp.payload()).unwrap();
                assert_eq!(packet.len(), ip_bytes);
                assert_eq!(inner(packet, (UE, UE_PORT), (SERVER, SERVER_PORT)), stamp);
            }
        }
    }

    #[test]
    fn downlink_frames_are_bare() {
        let mut out = vec![0xaa; Frames::DOWNLINK_FRONT + 100];
        let stamp = stamp(Direction::Downlink);
        frames()
            .fill_downlink(&flow(None), &stamp, &mut out)
            .unwrap();
        assert_eq!(out[..6], [2, 0, 0, 0, 1, 2]);
        let read = inner(&out[14..], (SERVER, SERVER_PORT), (UE, UE_PORT));
        assert_eq!(read, stamp);
    }

    #[test]
    fn a_frame_without_room_is_not_written() {
        let stamp = stamp(Direction::Uplink);
        let flow = flow(None);
        for bytes in [0, 14, 50, 95] {
            let mut out = vec![0; bytes];
            assert!(frames().fill_uplink(&flow, &stamp, &mut out).is_none());
        }
    }
}
