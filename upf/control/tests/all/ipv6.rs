//! IPv6 on the link of N6: Neighbour Discovery (RFC 4861), echo and errors (RFC 4443). Messages are typed from
//! the RFCs; their checksums are summed here.

use crate::control::*;
use sluice_control::config::{ControlConfig, InterfaceConfig};
use sluice_control::signalling::{Control, PrefixOwners};
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::lookup::lpm::LpmIpv6;
use sluice_datapath::message::{IcmpCause, Resolve};
use sluice_datapath::tables::{InterfaceId, PrefixIpv6, Route};
use sluice_port::PortId;
use sluice_wire::eth::{Eth, EtherType, MacAddr};
use std::net::{IpAddr, Ipv6Addr};

pub const OUR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 2);
/// Of [`N6_MAC`], 02:00:00:00:00:06.
pub const OUR_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0xff, 0xfe00, 6);
const ROUTER: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1);
const HOST: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0x00ab, 0xcdef);
const FAR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xff, 0, 0, 0, 0, 9);
pub const UE_ADDRESS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x45, 7, 0, 0, 0, 1);
pub const UE_PREFIX: u64 = 0x2001_0db8_0045_0007;
pub const ENTRY: EntryId = EntryId(4711);
const N6_ID: InterfaceId = InterfaceId(1);

/// In a prefix behind the UE.
const BEHIND: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x77, 0, 0, 0, 0, 1);

/// One session has a prefix, and another one is behind its UE.
pub struct OneUe;

impl PrefixOwners for OneUe {
    fn entry_of_prefix(&self, instance: InstanceId, prefix: u64) -> Option<EntryId> {
        (instance == InstanceId(1) && prefix == UE_PREFIX).then_some(ENTRY)
    }

    fn leads_to_ue(&self, instance: InstanceId, address: IpAddr) -> bool {
        let IpAddr::V6(address) = address else {
            return false;
        };
        let prefixes = [UE_PREFIX, (BEHIND.to_bits() >> 64) as u64];
        instance == InstanceId(1) && prefixes.contains(&((address.to_bits() >> 64) as u64))
    }

    fn has_ue_in(&self, _: EntryId, _: InstanceId) -> bool {
        false
    }
}

/// The usual configuration with IPv6 on N6.
pub fn dual() -> ControlConfig {
    let mut config = config();
    let n6 = &mut config.interfaces[1];
    n6.addresses_ipv6 = vec![(OUR, 64)];
    n6.routes_ipv6 = vec![(PrefixIpv6::new(Ipv6Addr::UNSPECIFIED, 0).unwrap(), ROUTER)];
    n6.proxy_nd = vec![PrefixIpv6::new(UE_ADDRESS, 48).unwrap()];
    config
}

pub fn dual_control() -> Control {
    let mut control = Control::new(dual()).unwrap();
    control.take_tables().expect("the first tables");
    control
}

/// RFC 1071 over the pseudo header of RFC 8200, 8.1 and the message.
fn checksum(src: Ipv6Addr, dst: Ipv6Addr, next: u8, message: &[u8]) -> u16 {
    let len = (message.len() as u32).to_be_bytes();
    let covered = [
        &src.octets()[..],
        &dst.octets(),
        &len,
        &[0, 0, 0, next],
        message,
        &[0],
    ]
    .concat();
    let mut sum: u32 = covered
        .chunks_exact(2)
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(pair[1]))
        .sum();
    while sum > 0xffff {
        sum = (sum >> 16) + (sum & 0xffff);
    }
    !(sum as u16)
}

/// An IPv6 packet (RFC 8200, 3), with a message whose checksum is at `sum_at`.
pub fn packet_of(
    (src, dst): (Ipv6Addr, Ipv6Addr),
    (next, hop_limit, sum_at): (u8, u8, usize),
    message: &[u8],
) -> Vec<u8> {
    let mut message = message.to_vec();
    let sum = checksum(src, dst, next, &message);
    message[sum_at..sum_at + 2].copy_from_slice(&sum.to_be_bytes());
    let len = (message.len() as u16).to_be_bytes();
    let head = [0x60, 0, 0, 0, len[0], len[1], next, hop_limit];
    [&head[..], &src.octets(), &dst.octets(), &message].concat()
}

pub fn icmpv6(src: Ipv6Addr, dst: Ipv6Addr, hop_limit: u8, message: &[u8]) -> Vec<u8> {
    packet_of((src, dst), (58, hop_limit, 2), message)
}

/// Checks a packet, and returns its addresses, hop limit and ICMPv6 message.
pub fn message_in(packet: &[u8]) -> (Ipv6Addr, Ipv6Addr, u8, Vec<u8>) {
    let address = |at: usize| Ipv6Addr::from(<[u8; 16]>::try_from(&packet[at..at + 16]).unwrap());
    let (src, dst) = (address(8), address(24));
    assert_eq!((packet[0] >> 4, packet[6]), (6, 58));
    let len = usize::from(u16::from_be_bytes([packet[4], packet[5]]));
    assert_eq!(packet.len(), 40 + len, "the length is that of the packet");
    let message = packet[40..].to_vec();
    assert_eq!(checksum(src, dst, 58, &message), 0, "the sum over all is 0");
    (src, dst, packet[7], message)
}

/// Neighbour Solicitation (RFC 4861, 4.3) with the sender's MAC address.
fn solicitation(target: Ipv6Addr, mac: Option<MacAddr>) -> Vec<u8> {
    let option = mac.map(|mac| [&[1, 1][..], &mac.0].concat());
    let fixed = [135, 0, 0, 0, 0, 0, 0, 0];
    [
        &fixed[..],
        &target.octets(),
        &option.unwrap_or_default()[..],
    ]
    .concat()
}

/// Neighbour Advertisement (RFC 4861, 4.4): R 0x80, S 0x40, O 0x20.
fn advertisement(flags: u8, target: Ipv6Addr, mac: Option<MacAddr>) -> Vec<u8> {
    let option = mac.map(|mac| [&[2, 1][..], &mac.0].concat());
    let fixed = [136, 0, 0, 0, flags, 0, 0, 0];
    [
        &fixed[..],
        &target.octets(),
        &option.unwrap_or_default()[..],
    ]
    .concat()
}

fn group_of(target: Ipv6Addr) -> (Ipv6Addr, MacAddr) {
    let [.., a, b, c] = target.octets();
    let low = u16::from_be_bytes([b, c]);
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 1, 0xff00 | u16::from(a), low);
    (group, MacAddr([0x33, 0x33, 0xff, a, b, c]))
}

/// A station asks for `target`, and what it hears.
fn asks(control: &mut Control, from: Ipv6Addr, target: Ipv6Addr) -> Sent {
    let mut sent = Sent::default();
    let (group, mac) = group_of(target);
    let option = (!from.is_unspecified()).then_some(GATEWAY_MAC);
    let packet = icmpv6(from, group, 255, &solicitation(target, option));
    let bytes = frame(mac, GATEWAY_MAC, EtherType::IPV6, &packet);
    control.frame(0, N6_ID, &bytes, &OneUe, &mut sent);
    sent
}

fn says(control: &mut Control, now_ns: u64, packet: &[u8]) -> Sent {
    let mut sent = Sent::default();
    let bytes = frame(N6_MAC, GATEWAY_MAC, EtherType::IPV6, packet);
    control.frame(now_ns, N6_ID, &bytes, &OneUe, &mut sent);
    sent
}

fn mac_of(control: &Control, station: Ipv6Addr) -> Option<[u8; 6]> {
    let mut known = control.directory.neighbours();
    known.find(|(hop, _)| hop.address == station)?.0.mac
}

#[test]
fn a_solicitation_for_an_address_of_ours_is_answered_and_the_asker_learned() {
    for target in [OUR, OUR_LINK_LOCAL] {
        let mut control = dual_control();
        let sent = asks(&mut control, HOST, target);
        let (id, eth) = sent.only();
        assert_eq!((id, eth.destination()), (N6_ID, GATEWAY_MAC));
        let expected = advertisement(0xe0, target, Some(N6_MAC));
        let (src, dst, hop_limit, message) = message_in(eth.payload());
        assert_eq!((src, dst, hop_limit), (target, HOST, 255));
        assert_eq!(
            (&message[..2], &message[4..]),
            (&expected[..2], &expected[4..])
        );
        assert_eq!(mac_of(&control, HOST), Some(GATEWAY_MAC.0));
        assert_eq!(control.counters().neighbour_advertisements, 1);
    }
}

#[test]
fn who_looks_for_a_duplicate_of_our_address_hears_of_us_by_the_group_of_all_nodes() {
    let mut control = dual_control();
    let sent = asks(&mut control, Ipv6Addr::UNSPECIFIED, OUR);
    let (_, eth) = sent.only();
    assert_eq!(eth.destination(), MacAddr([0x33, 0x33, 0, 0, 0, 1]));
    let (src, dst, _, message) = message_in(eth.payload());
    assert_eq!(
        (src, dst),
        (OUR, Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1))
    );
    assert_eq!(message[4], 0xa0, "router, override, not solicited");
}

#[test]
fn a_proxy_answers_for_ues_without_override_and_for_nobody_else() {
    let mut control = dual_control();
    let sent = asks(&mut control, ROUTER, UE_ADDRESS);
    let (_, eth) = sent.only();
    let (src, dst, _, message) = message_in(eth.payload());
    assert_eq!((src, dst), (OUR_LINK_LOCAL, ROUTER));
    let expected = advertisement(0xc0, UE_ADDRESS, Some(N6_MAC));
    assert_eq!(&message[4..], &expected[4..]);
    // Of the proxy's prefix, and no UE has it; behind a UE, and not of that prefix; a host's own.
    let nobody = Ipv6Addr::new(0x2001, 0xdb8, 0x45, 8, 0, 0, 0, 1);
    for target in [nobody, BEHIND, HOST] {
        assert!(
            asks(&mut control, ROUTER, target).out.is_empty(),
            "{target}"
        );
    }
    assert_eq!(control.counters().ignored, 3);
}

#[test]
fn stations_off_the_link_are_not_learned_from_their_questions() {
    let mut control = dual_control();
    assert_eq!(asks(&mut control, FAR, OUR).out.len(), 1);
    assert_eq!(mac_of(&control, FAR), None);
    asks(&mut control, OUR, OUR);
    assert_eq!(mac_of(&control, OUR), None, "we are no station");
}

#[test]
fn a_station_is_solicited_in_its_group_and_its_answer_makes_a_route() {
    let mut control = dual_control();
    let mut sent = Sent::default();
    control.resolve(0, Resolve::OnLink(N6_ID, HOST.into()), &mut sent);
    let (_, eth) = sent.only();
    let (group, mac) = group_of(HOST);
    assert_eq!(eth.destination(), mac);
    let (src, dst, hop_limit, message) = message_in(eth.payload());
    assert_eq!((src, dst, hop_limit), (OUR, group, 255));
    let expected = solicitation(HOST, Some(N6_MAC));
    assert_eq!(
        (&message[..2], &message[4..]),
        (&expected[..2], &expected[4..])
    );
    let answer = icmpv6(
        HOST,
        OUR,
        255,
        &advertisement(0x60, HOST, Some(GATEWAY_MAC)),
    );
    says(&mut control, 0, &answer);
    let tables = control.take_tables().expect("a station came");
    let Route::Via(hop) = LpmIpv6::of(&tables.egresses[0]).route(HOST.to_bits()) else {
        panic!("no route");
    };
    assert_eq!(tables.next_hops.get(hop).unwrap().mac, Some(GATEWAY_MAC.0));
    assert_eq!(control.counters().neighbour_solicitations, 1);
}

#[test]
fn the_path_gets_addresses_links_and_a_gateway_that_may_be_link_local() {
    let mut control = Control::new(dual()).unwrap();
    let tables = control.take_tables().unwrap();
    let n6 = &tables.interfaces[1];
    assert_eq!(n6.addresses_ipv6, [OUR, OUR_LINK_LOCAL]);
    assert!(
        tables.interfaces[0].addresses_ipv6.is_empty(),
        "no IPv6 there"
    );
    let routes = LpmIpv6::of(&tables.egresses[0]);
    let route = |to: Ipv6Addr| routes.route(to.to_bits());
    assert_eq!(route(OUR), Route::Own(N6_ID));
    assert_eq!(route(HOST), Route::Unknown(N6_ID));
    let Route::Via(hop) = route(FAR) else {
        panic!("no route");
    };
    let mut sent = Sent::default();
    control.resolve(0, Resolve::NextHop(hop), &mut sent);
    let (_, eth) = sent.only();
    let (src, _, _, message) = message_in(eth.payload());
    assert_eq!(
        (src, &message[8..24]),
        (OUR_LINK_LOCAL, &ROUTER.octets()[..])
    );
}

#[test]
fn only_what_answers_us_is_learned_and_a_static_station_stays() {
    let mut config = dual();
    config.interfaces[1].neighbours = vec![(HOST.into(), GATEWAY_MAC)];
    let mut control = Control::new(config).unwrap();
    control.take_tables();
    let thief = MacAddr([6, 6, 6, 6, 6, 6]);
    for flags in [0x20, 0x60, 0xe0] {
        says(
            &mut control,
            0,
            &icmpv6(HOST, OUR, 255, &advertisement(flags, HOST, Some(thief))),
        );
        assert_eq!(mac_of(&control, HOST), Some(GATEWAY_MAC.0), "{flags:#x}");
        let stranger = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 0x99);
        let unasked = advertisement(flags, stranger, Some(thief));
        says(&mut control, 0, &icmpv6(stranger, OUR, 255, &unasked));
        assert_eq!(mac_of(&control, stranger), None, "{flags:#x}");
    }
    let told = |flags, mac| icmpv6(ROUTER, OUR, 255, &advertisement(flags, ROUTER, Some(mac)));
    says(&mut control, 0, &told(0x20, thief));
    assert_eq!(mac_of(&control, ROUTER), None, "nobody had asked");
    says(&mut control, 0, &told(0xe0, GATEWAY_MAC));
    assert_eq!(mac_of(&control, ROUTER), Some(GATEWAY_MAC.0));
    // A proxy does not replace what the station itself said.
    says(&mut control, 0, &told(0xc0, thief));
    assert_eq!(mac_of(&control, ROUTER), Some(GATEWAY_MAC.0));
    // Routed packets cannot take part: a router takes one from 255.
    let routed = icmpv6(ROUTER, OUR, 254, &advertisement(0xe0, ROUTER, Some(thief)));
    says(&mut control, 0, &routed);
    assert_eq!(mac_of(&control, ROUTER), Some(GATEWAY_MAC.0));
}

/// Echo Request (RFC 4443, 4.1).
const ECHO: [u8; 14] = *b"\x80\0\0\0\0\x07\0\x09sluice";

#[test]
fn ping_to_our_addresses_is_answered_on_the_link_and_through_the_path() {
    let mut control = dual_control();
    let sent = says(&mut control, 0, &icmpv6(HOST, OUR, 64, &ECHO));
    let (_, eth) = sent.only();
    assert_eq!(eth.destination(), GATEWAY_MAC);
    let (src, dst, _, reply) = message_in(eth.payload());
    assert_eq!((src, dst), (OUR, HOST));
    assert_eq!((reply[0], &reply[4..]), (129, &ECHO[4..]));

    let mut sent = Sent::default();
    let ping = icmpv6(UE_ADDRESS, OUR, 63, &ECHO);
    control.from_ue(0, (N6_ID, ENTRY), &ping, &OneUe, &mut sent);
    let (port, bytes) = &sent.to_path[0];
    assert_eq!((*port, sent.out.len()), (PortId(1), 0));
    let eth = Eth::parse(bytes).unwrap();
    assert_eq!(eth.destination(), N6_MAC, "as if the data network sent it");
    let (src, dst, _, reply) = message_in(eth.payload());
    assert_eq!((src, dst, reply[0]), (OUR, UE_ADDRESS, 129));
    assert_eq!(control.counters().icmpv6_echo_replies, 2);
}

#[test]
fn damaged_pings_and_those_from_nobody_are_answered_with_silence() {
    let mut control = dual_control();
    let mut damaged = icmpv6(HOST, OUR, 64, &ECHO);
    *damaged.last_mut().unwrap() ^= 1;
    let group = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
    let packets = [
        damaged,
        icmpv6(Ipv6Addr::UNSPECIFIED, OUR, 64, &ECHO),
        icmpv6(group, OUR, 64, &ECHO),
        icmpv6(HOST, HOST, 64, &ECHO),
        icmpv6(HOST, OUR, 64, &[129, 0, 0, 0, 0, 7, 0, 9]),
        vec![0x60; 40],
    ];
    for packet in &packets {
        assert!(says(&mut control, 0, packet).out.is_empty());
    }
    assert_eq!(control.counters().ignored, packets.len() as u64);
}

#[test]
fn what_we_do_not_serve_is_unreachable_at_a_bounded_rate() {
    let mut control = dual_control();
    // UDP from port 1 to port 9.
    let datagram = [0, 1, 0, 9, 0, 9, 0, 0, 7];
    let packet = packet_of((HOST, OUR), (17, 64, 6), &datagram);
    let sent = says(&mut control, 0, &packet);
    let (_, eth) = sent.only();
    let (src, dst, _, message) = message_in(eth.payload());
    assert_eq!((src, dst), (OUR, HOST));
    // Destination Unreachable, port (RFC 4443, 3.1), with the packet.
    assert_eq!((&message[..2], &message[8..]), (&[1, 4][..], &packet[..]));
    let answers = |_| says(&mut control, 0, &packet).out.len();
    let answered: usize = (0..200).map(answers).sum();
    assert!(answered < 60, "{answered}");
    let mut damaged = packet.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert!(says(&mut control, 9_000_000_000, &damaged).out.is_empty());
}

#[test]
fn errors_reach_a_ue_through_its_session_and_a_server_over_the_gateway() {
    let mut control = dual_control();
    for sender in [UE_ADDRESS, BEHIND] {
        let up = packet_of((sender, FAR), (17, 1, 6), &[0, 1, 0, 9, 0, 8, 0, 0]);
        let mut sent = Sent::default();
        control.icmp(0, &up, of_ue(IcmpCause::TtlExceeded), &OneUe, &mut sent);
        let (port, bytes) = &sent.to_path[0];
        let eth = Eth::parse(bytes).unwrap();
        assert_eq!((*port, eth.destination()), (PortId(1), N6_MAC));
        let (src, dst, _, message) = message_in(eth.payload());
        assert_eq!((src, dst), (OUR, sender));
        // Time Exceeded, hop limit (RFC 4443, 3.3).
        assert_eq!(
            (&message[..8], &message[8..]),
            (&[3, 0, message[2], message[3], 0, 0, 0, 0][..], &up[..])
        );
    }

    let long = [&[0, 1, 0, 9, 5, 0, 0, 0][..], &[0; 1472]].concat();
    let down = packet_of((FAR, UE_ADDRESS), (17, 9, 6), &long);
    let mut sent = Sent::default();
    control.icmp(
        0,
        &down,
        of_station(IcmpCause::TooBig(1456)),
        &OneUe,
        &mut sent,
    );
    let (_, eth) = sent.only();
    assert_eq!(
        message_in(eth.payload()).3[0],
        135,
        "first the gateway is asked for"
    );
    let known = advertisement(0xe0, ROUTER, Some(GATEWAY_MAC));
    says(
        &mut control,
        0,
        &icmpv6(ROUTER, OUR_LINK_LOCAL, 255, &known),
    );
    for (mtu, told) in [(1456, 1456u32), (600, 1280)] {
        let mut sent = Sent::default();
        control.icmp(
            0,
            &down,
            of_station(IcmpCause::TooBig(mtu)),
            &OneUe,
            &mut sent,
        );
        let (_, eth) = sent.only();
        assert_eq!(eth.destination(), GATEWAY_MAC);
        assert_eq!(eth.payload().len(), 1280, "no longer than every link takes");
        let (src, dst, _, message) = message_in(eth.payload());
        assert_eq!((src, dst), (OUR, FAR));
        // Packet Too Big (RFC 4443, 3.2): never below 1280 (RFC 8200, 5).
        assert_eq!(
            (&message[..2], &message[4..8]),
            (&[2, 0][..], &told.to_be_bytes()[..])
        );
        assert_eq!(&message[8..], &down[..1232]);
    }
    assert_eq!(control.counters().icmpv6_errors, 4);
}

#[test]
fn no_error_is_sent_about_an_error_to_a_group_or_to_ourselves() {
    let mut control = dual_control();
    let udp = [0, 1, 0, 9, 0, 8, 0, 0];
    let error = icmpv6(UE_ADDRESS, FAR, 1, &[1, 4, 0, 0, 0, 0, 0, 0]);
    let group = Ipv6Addr::new(0xff0e, 0, 0, 0, 0, 0, 0, 1);
    let to_group = packet_of((UE_ADDRESS, group), (17, 1, 6), &udp);
    let from_us = packet_of((OUR, UE_ADDRESS), (17, 1, 6), &udp);
    let on_link = packet_of((ROUTER, UE_ADDRESS), (17, 1, 6), &udp);
    let mut sent = Sent::default();
    for packet in [error, to_group, from_us, on_link] {
        control.icmp(0, &packet, of_ue(IcmpCause::TtlExceeded), &OneUe, &mut sent);
    }
    assert!(sent.out.is_empty() && sent.to_path.is_empty());
    assert_eq!(control.counters().ignored, 4);
}

#[test]
fn without_ipv6_addresses_nothing_of_ipv6_is_answered() {
    let mut control = control();
    assert!(asks(&mut control, HOST, OUR_LINK_LOCAL).out.is_empty());
    let mut sent = Sent::default();
    let host = Resolve::OnLink(N6_ID, HOST.into());
    control.resolve(0, host, &mut sent);
    assert!(sent.out.is_empty(), "there is no address to ask from");
    let none = InterfaceConfig {
        addresses_ipv6: vec![],
        ..dual().interfaces.remove(1)
    };
    assert_eq!(none.link_local(), None);
}
