//! IPv6, ICMPv6 and Neighbour Discovery: reading and what is done with what was read.

use sluice_wire::icmpv6::{
    self, Discovery, EchoKind, ErrorMessage, Icmpv6, Message, may_answer_with_error,
    turn_into_reply, write_echo, write_error,
};
use sluice_wire::ipv6::{
    HEADER_LEN, Ipv6, Ipv6Header, MIN_MTU, Protocol, decrement_hop_limit, pseudo_header_sum,
};
use std::net::Ipv6Addr;

/// A packet of IPv6, and its message if there is one.
pub(super) fn ip(data: &[u8]) {
    if let Ok(quoted) = Ipv6::parse_quoted(data) {
        assert!(HEADER_LEN + quoted.payload().len() <= data.len());
        assert!(quoted.payload().ends_with(quoted.upper_layer().payload));
    }
    let packet = match Ipv6::parse(data) {
        Ok(packet) => packet,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(packet.total_len(), HEADER_LEN + packet.payload().len());
    assert!(packet.total_len() <= data.len());
    let header = Ipv6Header::from(&packet).to_bytes(packet.payload().len());
    assert_eq!(header.as_ref(), Ok(packet.header()));
    one_hop_less(&packet);
    let upper = packet.upper_layer();
    assert!(packet.payload().ends_with(upper.payload));
    assert!(upper.is_fragment || !upper.is_later_fragment);
    answers(&packet, &data[..packet.total_len()]);
    message(&packet);
    if upper.protocol == Protocol::ICMPV6 {
        icmp(upper.payload);
    }
}

/// The octets as a message whose checksum is right.
pub(super) fn icmp(data: &[u8]) {
    let (source, destination) = (
        Ipv6Addr::LOCALHOST,
        Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1),
    );
    let mut sealed = data.to_vec();
    let Some(checksum) = sealed.get_mut(2..4) else {
        return;
    };
    checksum.fill(0);
    let sum = pseudo_header_sum(source, destination, Protocol::ICMPV6, data.len() as u32);
    let sum = sum.add_bytes(&sealed).finish();
    sealed[2..4].copy_from_slice(&sum.to_be_bytes());
    let header = Ipv6Header {
        hop_limit: icmpv6::ON_LINK_HOP_LIMIT,
        ..Ipv6Header::new(Protocol::ICMPV6, source, destination)
    };
    let Ok(header) = header.to_bytes(sealed.len()) else {
        return;
    };
    let whole = [&header[..], &sealed].concat();
    message(&Ipv6::parse(&whole).expect("our own octets"));
}

fn one_hop_less(packet: &Ipv6<'_>) {
    let mut header = *packet.header();
    match decrement_hop_limit(&mut header) {
        Ok(()) => assert_eq!(header[7], packet.hop_limit() - 1),
        Err(_) => assert!(packet.hop_limit() <= 1 && header == *packet.header()),
    }
}

/// An error about the packet is short, verifies, and quotes its beginning.
fn answers(packet: &Ipv6<'_>, bytes: &[u8]) {
    let error = ErrorMessage::PacketTooBig { mtu: 1400 };
    if !may_answer_with_error(packet, error) {
        return;
    }
    let (source, destination) = (packet.destination(), packet.source());
    let mut out = [0; MIN_MTU];
    let len = write_error(&mut out, source, destination, error, bytes).expect("1280 octets do");
    let header = Ipv6Header::new(Protocol::ICMPV6, source, destination).to_bytes(len);
    let whole = [&header.expect("it fits")[..], &out[..len]].concat();
    assert!(whole.len() <= MIN_MTU, "RFC 4443, 2.4 (c)");
    let answer = Ipv6::parse(&whole).expect("our own octets");
    let read = Icmpv6::parse(&answer).expect("our own octets").message();
    let original = read.original().expect("errors quote");
    assert!(bytes.starts_with(original));
    assert!(Ipv6::parse_quoted(original).is_ok());
    assert!(!may_answer_with_error(&answer, error));
}

fn message(packet: &Ipv6<'_>) {
    discovery(packet);
    let Ok(icmp) = Icmpv6::parse(packet) else {
        return;
    };
    let (source, destination) = (packet.source(), packet.destination());
    let octets = packet.upper_layer().payload;
    let read = icmp.message();
    assert_eq!(read.original().is_some(), icmpv6::is_error(icmp.kind()));
    let mut reply = octets.to_vec();
    let Message::EchoRequest(echo) = read else {
        return assert!(!turn_into_reply(&mut reply));
    };
    assert!(turn_into_reply(&mut reply));
    let mut out = vec![0; octets.len()];
    let len = write_echo(&mut out, destination, source, EchoKind::Reply, &echo);
    assert_eq!(len, Some(octets.len()));
    // A code other than 0 is returned as it came.
    assert!(reply == out || icmp.code() != 0);
}

/// What is read as Neighbour Discovery is written and read again.
fn discovery(packet: &Ipv6<'_>) {
    let read = match Discovery::parse(packet) {
        Ok(read) => read,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert_eq!(packet.hop_limit(), icmpv6::ON_LINK_HOP_LIMIT);
    let (source, destination) = (packet.source(), packet.destination());
    let mut out = [0; 32];
    let len = match read {
        Discovery::RouterSolicitation(it) => it.write(&mut out, source, destination),
        Discovery::NeighbourSolicitation(it) => it.write(&mut out, source, destination),
        Discovery::NeighbourAdvertisement(it) => it.write(&mut out, source, destination),
    };
    let message = &out[..len.expect("32 octets do")];
    let header = Ipv6Header {
        hop_limit: icmpv6::ON_LINK_HOP_LIMIT,
        ..Ipv6Header::new(Protocol::ICMPV6, source, destination)
    };
    let whole = [
        &header.to_bytes(message.len()).expect("it fits")[..],
        message,
    ]
    .concat();
    let again = Discovery::parse(&Ipv6::parse(&whole).expect("our own octets"));
    assert_eq!(again, Ok(read));
}
