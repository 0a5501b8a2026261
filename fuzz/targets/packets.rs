//! Ethernet, ARP, IPv4, UDP and ICMP, and IPv6 beside: reading and what is done with what was read.

use super::ipv6;
use sluice_wire::arp::Arp;
use sluice_wire::checksum::checksum;
use sluice_wire::eth::{Eth, EthHeader, EtherType};
use sluice_wire::icmp::{
    self, EchoKind, Icmp, Message, TimeExceeded, Unreachable, may_answer_with_error,
    turn_into_reply, write_destination_unreachable, write_echo, write_time_exceeded,
};
use sluice_wire::ipv4::{
    self, FragmentError, Fragments, Ipv4, Ipv4Header, MAX_HEADER_LEN, Options, Protocol,
    decrement_ttl,
};
use sluice_wire::udp::{Udp, UdpHeader};

/// Reads a frame layer by layer, and its bytes as each layer alone.
pub fn packets(data: &[u8]) {
    ethernet(data);
    arp(data);
    ip(data);
    udp(data);
    icmp_message(data);
    ipv6::ip(data);
    ipv6::icmp(data);
}

fn ethernet(data: &[u8]) {
    let eth = match Eth::parse(data) {
        Ok(eth) => eth,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(eth.header_len() + eth.payload().len(), data.len());
    let header = EthHeader {
        destination: eth.destination(),
        source: eth.source(),
        ethertype: eth.ethertype(),
    };
    let again = match eth.tag() {
        None => header.to_bytes().to_vec(),
        Some(tag) => header.to_tagged_bytes(tag).to_vec(),
    };
    let whole = [&again[..], eth.payload()].concat();
    let read = Eth::parse(&whole).expect("our own octets");
    assert_eq!((read.tag(), read.ethertype()), (eth.tag(), eth.ethertype()));
    assert_eq!(read.payload(), eth.payload());
    match eth.ethertype() {
        EtherType::ARP => arp(eth.payload()),
        EtherType::IPV4 => ip(eth.payload()),
        EtherType::IPV6 => ipv6::ip(eth.payload()),
        _ => {}
    }
}

fn arp(data: &[u8]) {
    if let Ok(arp) = Arp::parse(data) {
        assert_eq!(Arp::parse(&arp.to_bytes()), Ok(arp));
        let reply = arp.reply_from(arp.target_mac);
        assert_eq!(Arp::parse(&reply.to_bytes()), Ok(reply));
        let _ = arp.is_gratuitous();
    }
}

fn ip(data: &[u8]) {
    quoted(data);
    let packet = match Ipv4::parse(data) {
        Ok(packet) => packet,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    let total = usize::from(packet.total_len());
    assert_eq!(packet.header_len() + packet.payload().len(), total);
    assert!(total <= data.len());
    assert_eq!(
        checksum(&data[..packet.header_len()]),
        0,
        "its checksum was verified"
    );
    assert!(Options::new(packet.options()).count() <= packet.options().len());
    header_survives(&packet);
    one_hop_less(&packet, data);
    answers(&packet, &data[..total]);
    for mtu in [28, 68, 576, 1280, 1500] {
        fragments(packet, mtu);
    }
    match packet.protocol() {
        Protocol::UDP => udp(packet.payload()),
        Protocol::ICMP => icmp_message(packet.payload()),
        _ => {}
    }
}

/// What an ICMP error quotes may be cut anywhere behind its header.
fn quoted(data: &[u8]) {
    if let Ok(packet) = Ipv4::parse_quoted(data) {
        assert!(packet.header_len() + packet.payload().len() <= data.len());
    }
}

fn header_survives(packet: &Ipv4<'_>) {
    let header = Ipv4Header::from(packet);
    let bytes = header
        .to_bytes(packet.payload().len())
        .expect("it fitted before");
    let whole = [&bytes[..], packet.payload()].concat();
    let again = Ipv4::parse(&whole).expect("our own octets");
    assert_eq!(Ipv4Header::from(&again), header);
}

fn one_hop_less(packet: &Ipv4<'_>, data: &[u8]) {
    let mut copy = data[..packet.header_len()].to_vec();
    let head = copy.first_chunk_mut().expect("a header has 20 octets");
    match decrement_ttl(head) {
        Ok(()) => {
            assert_eq!(copy[8], packet.ttl() - 1);
            assert_eq!(checksum(&copy), 0, "the checksum is mended");
        }
        Err(_) => assert!(packet.ttl() <= 1 && copy == data[..packet.header_len()]),
    }
}

/// An ICMP error about the packet is short, verifies, and quotes its beginning.
fn answers(packet: &Ipv4<'_>, bytes: &[u8]) {
    if !may_answer_with_error(packet) {
        return;
    }
    let mut out = [0; 600];
    let too_big = Unreachable::FragmentationNeeded { next_hop_mtu: 1400 };
    let written = [
        write_destination_unreachable(&mut out.clone(), too_big, bytes),
        write_time_exceeded(&mut out, TimeExceeded::InTransit, bytes),
    ];
    assert_eq!(written[0], written[1]);
    let len = written[1].expect("600 octets do");
    assert!(len + ipv4::HEADER_LEN <= 576, "RFC 1812, 4.3.2.3");
    let error = Icmp::parse(&out[..len]).expect("our own octets").message();
    let original = error.original().expect("errors quote");
    assert!(bytes.starts_with(original));
    assert!(Ipv4::parse_quoted(original).is_ok());
}

/// Fragments fit, are sound, lie behind each other, and make the payload whole.
fn fragments(packet: Ipv4<'_>, mtu: u16) {
    let plan = match Fragments::new(packet, mtu) {
        Ok(plan) => plan,
        Err(FragmentError::DontFragment) => return assert!(packet.dont_fragment()),
        Err(FragmentError::MtuTooSmall) => {
            return assert!(packet.header_len() + 8 > usize::from(mtu));
        }
        Err(_) => {
            let end = usize::from(packet.fragment_offset()) * 8 + packet.payload().len();
            return assert!(end > 65_535);
        }
    };
    let mut end = 0;
    let most = packet.payload().len() / 8 + 1;
    for (n, piece) in plan.clone().enumerate() {
        assert!(n < most, "more fragments than payload");
        assert_eq!(piece.payload.start, end);
        end = piece.payload.end;
        let mut header = [0; MAX_HEADER_LEN];
        let len = plan.write_header(&piece, &mut header);
        assert_eq!(len, piece.header_len);
        let whole = [&header[..len], &packet.payload()[piece.payload.clone()]].concat();
        assert!(whole.len() <= usize::from(mtu));
        let again = Ipv4::parse(&whole).expect("our own octets");
        let last = end == packet.payload().len();
        assert_eq!(again.more_fragments(), !last || packet.more_fragments());
    }
    assert_eq!(end, packet.payload().len());
}

fn udp(data: &[u8]) {
    let Ok(udp) = Udp::parse(data) else {
        return;
    };
    assert_eq!(usize::from(udp.len()), 8 + udp.payload().len());
    let header = UdpHeader {
        source_port: udp.source_port(),
        destination_port: udp.destination_port(),
    };
    let (source, destination) = ([192, 0, 2, 1].into(), [192, 0, 2, 2].into());
    let _ = udp.verify(source, destination);
    let bytes = header.to_bytes(source, destination, udp.payload());
    let whole = [&bytes.expect("it fitted before")[..], udp.payload()].concat();
    let again = Udp::parse(&whole).expect("our own octets");
    assert!(again.checksum().is_some() && again.verify(source, destination));
    assert_eq!(again.payload(), udp.payload());
}

fn icmp_message(data: &[u8]) {
    let Ok(icmp) = Icmp::parse(data) else {
        return;
    };
    match icmp.message() {
        Message::EchoRequest(echo) => {
            let mut reply = data.to_vec();
            assert!(turn_into_reply(&mut reply));
            let answered = Icmp::parse(&reply)
                .expect("the checksum is mended")
                .message();
            assert_eq!(answered, Message::EchoReply(echo));
            let mut out = vec![0; data.len()];
            assert_eq!(
                write_echo(&mut out, EchoKind::Reply, &echo),
                Some(data.len())
            );
            assert_eq!(Icmp::parse(&out).map(|i| i.message()), Ok(answered));
        }
        other => {
            assert!(!turn_into_reply(&mut data.to_vec()));
            let is_error = icmp::is_error(icmp.kind());
            assert_eq!(other.original().is_some(), is_error, "{other:?}");
        }
    }
}
