//! Frames of gNBs and of the data network: made, and read by their headers.

use std::net::{Ipv4Addr, Ipv6Addr};

use sluice_smf_emulator::Tunnel;
use sluice_wire::eth::{Eth, EthHeader, EtherType, MacAddr};
use sluice_wire::gtpu::{
    ErrorIndication, GPdu, Message, PORT, PduType, ShortContainer, g_pdu_header_with_container,
    write_error_indication,
};
use sluice_wire::ids::Qfi;
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::ipv6::{Ipv6, Ipv6Header, is_ipv6};
use sluice_wire::udp::{Udp, UdpHeader};

use super::{N3, N3_MAC, N6_MAC, SECOND_SERVER, SERVER, SERVER_MAC, SERVER_V6, gnb_mac, tunnel};

/// What the UPF sent on N3.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum N3Frame {
    /// A packet for a UE.
    Data {
        /// Where it goes.
        to: Tunnel,
        /// The QFI of its downlink PDU Session Container.
        qfi: Option<u8>,
        /// The DSCP of the outer header.
        dscp: u8,
        /// The inner packet.
        inner: Vec<u8>,
    },
    /// The end of what comes by this tunnel.
    EndMarker(Tunnel),
    /// There is no such tunnel at the UPF; the gNB's address, the TEID that it used.
    ErrorIndication(Ipv4Addr, u32),
}

/// A packet from the UE as its gNB sends it.
pub fn from_gnb(gnb: u8, to: Tunnel, qfi: Qfi, inner: &[u8]) -> Vec<u8> {
    let container = ShortContainer::uplink(qfi);
    let gtpu = g_pdu_header_with_container(to.teid, container, inner.len()).unwrap();
    let payload = [&gtpu[..], inner].concat();
    let outer = udp(
        super::gnb_address(gnb),
        to.ipv4().unwrap(),
        (50_000, PORT),
        &payload,
    );
    frame(N3_MAC, gnb_mac(gnb), &outer)
}

/// A packet from a station beside the gNBs without a PDU Session Container, as an SMF sends it by N4-u.
pub fn without_container(station: u8, to: Tunnel, inner: &[u8]) -> Vec<u8> {
    let head = [0x30, 0xff];
    let (len, teid) = (inner.len() as u16, to.teid.get());
    let gtpu = [&head[..], &len.to_be_bytes(), &teid.to_be_bytes(), inner].concat();
    let outer = udp(
        super::gnb_address(station),
        to.ipv4().unwrap(),
        (50_000, PORT),
        &gtpu,
    );
    frame(N3_MAC, gnb_mac(station), &outer)
}

/// A gNB's answer to a packet into a tunnel that it does not know.
pub fn error_indication(gnb: u8, tunnel: Tunnel) -> Vec<u8> {
    let indication = ErrorIndication {
        teid: tunnel.teid.get(),
        peer: tunnel.address,
        udp_source_port: None,
    };
    let mut message = [0; 64];
    let len = write_error_indication(&mut message, 0, &indication).unwrap();
    let from = super::gnb_address(gnb);
    let outer = udp(from, N3, (50_000, PORT), &message[..len]);
    frame(N3_MAC, gnb_mac(gnb), &outer)
}

/// A packet as the data network sends it.
pub fn from_network(packet: &[u8]) -> Vec<u8> {
    frame(N6_MAC, SERVER_MAC, packet)
}

/// An IPv4 packet with a UDP datagram, `len` bytes in all (28 at least).
pub fn packet(source: Ipv4Addr, destination: Ipv4Addr, len: usize, fill: u8) -> Vec<u8> {
    udp(source, destination, (4000, 4001), &vec![fill; len - 28])
}

/// An IPv6 packet with a UDP datagram, `len` bytes in all (48 at least).
pub fn packet_v6(source: Ipv6Addr, destination: Ipv6Addr, len: usize, fill: u8) -> Vec<u8> {
    let payload = vec![fill; len - 48];
    let header = UdpHeader {
        source_port: 4000,
        destination_port: 4001,
    };
    let header = header.to_bytes_ipv6(source, destination, &payload).unwrap();
    let ip = Ipv6Header::new(Protocol::UDP, source, destination);
    let ip = ip.to_bytes(8 + payload.len()).unwrap();
    [&ip[..], &header, &payload].concat()
}

/// Reads a frame that left by N3.
pub fn read_n3(frame: &[u8]) -> N3Frame {
    let ip = ip_of(frame, N3_MAC);
    assert_eq!(ip.source(), N3);
    let to = ip.destination();
    let udp = Udp::parse(ip.payload()).unwrap();
    assert_eq!(udp.destination_port(), PORT);
    match Message::parse(udp.payload()).unwrap() {
        Message::EndMarker(marker) => N3Frame::EndMarker(tunnel(marker.teid.get(), to)),
        Message::ErrorIndication(indication) => N3Frame::ErrorIndication(to, indication.teid),
        _ => {
            let pdu = GPdu::parse(udp.payload()).unwrap();
            let kind = pdu.pdu_type;
            assert!(
                kind.is_none_or(|kind| kind == PduType::Downlink),
                "{kind:?}"
            );
            N3Frame::Data {
                to: tunnel(pdu.teid.get(), to),
                qfi: pdu.qfi.map(|qfi| qfi.get()),
                dscp: ip.dscp(),
                inner: pdu.payload(udp.payload()).unwrap().to_vec(),
            }
        }
    }
}

/// Reads a frame that left by N6: the packet.
pub fn read_n6(frame: &[u8]) -> Vec<u8> {
    if is_ipv6(&frame[14..]) {
        assert_eq!(Eth::parse(frame).unwrap().source(), MacAddr(N6_MAC));
        let ip = Ipv6::parse(&frame[14..]).expect("a valid packet");
        assert_eq!(ip.destination(), SERVER_V6);
        return frame[14..].to_vec();
    }
    let ip = ip_of(frame, N6_MAC);
    assert!([SERVER, SECOND_SERVER].contains(&ip.destination()));
    frame[14..].to_vec()
}

/// Whether `left` is `entered` after one hop: the same but for time to live and header checksum.
pub fn is_one_hop_on(entered: &[u8], left: &[u8]) -> bool {
    if let (Ok(before), Ok(after)) = (Ipv6::parse(entered), Ipv6::parse(left)) {
        const HOP_LIMIT: usize = 7;
        let mut next = entered.to_vec();
        next[HOP_LIMIT] -= 1;
        return before.hop_limit() == after.hop_limit() + 1 && next == left;
    }
    let (Ok(before), Ok(after)) = (Ipv4::parse(entered), Ipv4::parse(left)) else {
        return false;
    };
    let ends = |ip: &Ipv4<'_>| (ip.source(), ip.destination(), ip.protocol(), ip.total_len());
    ends(&before) == ends(&after)
        && before.ttl() == after.ttl() + 1
        && before.payload() == after.payload()
}

fn ip_of<'a>(frame: &'a [u8], source: [u8; 6]) -> Ipv4<'a> {
    let eth = Eth::parse(frame).unwrap();
    assert_eq!(eth.source(), MacAddr(source));
    Ipv4::parse(&frame[14..]).expect("a valid packet")
}

pub fn frame(to: [u8; 6], from: [u8; 6], packet: &[u8]) -> Vec<u8> {
    let header = EthHeader {
        destination: MacAddr(to),
        source: MacAddr(from),
        ethertype: match is_ipv6(packet) {
            true => EtherType::IPV6,
            false => EtherType::IPV4,
        },
    };
    [&header.to_bytes()[..], packet].concat()
}

pub fn udp(source: Ipv4Addr, destination: Ipv4Addr, ports: (u16, u16), payload: &[u8]) -> Vec<u8> {
    let header = UdpHeader {
        source_port: ports.0,
        destination_port: ports.1,
    };
    let header = header.to_bytes(source, destination, payload).unwrap();
    let ip = Ipv4Header::new(Protocol::UDP, source, destination);
    let ip = ip.to_bytes(8 + payload.len()).unwrap();
    [&ip[..], &header, payload].concat()
}
