//! Headers longer than Ethernet with one tag, on the fast and the slow path: VXLAN, GRE and double tags are templates.

use crate::fast::with_options;
use crate::kit::*;
use sluice_datapath::ids::EntryId;
use sluice_datapath::session::txn::{Op, Usage};
use sluice_datapath::tables::CompiledTables;
use sluice_datapath::tx::template::{LengthField, PerPacket, Template};
use sluice_wire::eth::EtherType;
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::udp::{Udp, UdpHeader};
use std::net::Ipv4Addr;

const ROUTER_MAC: [u8; 6] = [2, 0, 0, 0, 7, 7];
const VTEPS: [Ipv4Addr; 2] = [Ipv4Addr::new(10, 9, 9, 1), Ipv4Addr::new(10, 9, 9, 2)];
const VNI: [u8; 8] = [8, 0, 0, 0, 0, 0x12, 0x34, 0];

/// Ethernet, IPv4, UDP, VXLAN (RFC 7348) and the inner Ethernet header: 64 octets.
fn vxlan() -> Template {
    let ports = UdpHeader {
        source_port: 50_000,
        destination_port: 4789,
    };
    let udp = &ports.to_bytes(VTEPS[0], VTEPS[1], &[]).unwrap()[..6];
    let ip = Ipv4Header::new(Protocol::UDP, VTEPS[0], VTEPS[1]);
    let ip = &ip.to_bytes(0).unwrap()[..];
    let ethernet = frame(ROUTER_MAC, N6_MAC, EtherType::IPV4, &[]);
    let inner = frame([0; 6], N6_MAC, EtherType(0), &[]);
    let headers = [&ethernet, ip, udp, &[0; 2], &VNI, &inner].concat();
    let per_packet = PerPacket {
        mac_at: 50,
        lengths: [(16, 14), (38, 34)].map(|(at, from)| Some(LengthField { at, from })),
        ipv4_at: Some(14),
    };
    Template::new(&headers, per_packet).unwrap()
}

/// Ethernet, IPv4 and GRE (RFC 2784) without options: 38 octets.
fn gre() -> Template {
    let ip = Ipv4Header::new(Protocol(47), VTEPS[0], VTEPS[1]);
    let ip = &ip.to_bytes(0).unwrap()[..];
    let ethernet = frame([0; 6], N6_MAC, EtherType::IPV4, &[]);
    let per_packet = PerPacket {
        lengths: [Some(LengthField { at: 16, from: 14 }), None],
        ipv4_at: Some(14),
        ..PerPacket::default()
    };
    Template::new(&[&ethernet, ip, &[0; 4]].concat(), per_packet).unwrap()
}

/// A service tag of 5 and a tag of 6 (IEEE 802.1Q): 22 octets.
fn double_tags() -> Template {
    let tags = [0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 0, 0];
    let headers = [&[0; 6], &N3_MAC[..], &tags].concat();
    Template::new(&headers, PerPacket::default()).unwrap()
}

/// N3 has double tags, and N6 this template.
fn kit(n6: Template) -> (Kit, Session) {
    let mut kit = Kit::new();
    let mut tables = tables();
    tables.interfaces[0].template = Some(double_tags());
    tables.interfaces[1].template = Some(n6);
    set_server_known(&mut tables, true);
    kit.control.publish(tables);
    let s = kit.default_session();
    (kit, s)
}

fn used(kit: &mut Kit, entry: u32) -> Usage {
    let at = EntryId(entry);
    kit.apply(entry, &[Op::TakeEntry { at }], &[])[0]
}

fn slow(kit: &Kit) -> u64 {
    let stats = kit.control.stats().iter();
    let all = stats.flat_map(|worker| &worker.slow);
    all.map(|count| count.get()).sum()
}

/// The same packet one hop on, as it comes behind its headers.
fn aged(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    let header = packet.first_chunk_mut().unwrap();
    sluice_wire::ipv4::decrement_ttl(header).unwrap();
    packet
}

/// Packets of both ways: without options on the fast path, with options on the slow one.
fn packets(of: fn(&[u8]) -> Vec<u8>) -> [(Vec<u8>, u64); 2] {
    let plain = of(b"an odd one.");
    let options = with_options(&plain);
    [(plain, 0), (options, 1)]
}

fn from_ue(payload: &[u8]) -> Vec<u8> {
    udp_packet(UE, SERVER, (4000, 80), payload)
}

fn to_ue(payload: &[u8]) -> Vec<u8> {
    udp_packet(SERVER, UE, (80, 4000), payload)
}

#[test]
fn vxlan_headers_have_all_octets_and_their_lengths_on_either_path() {
    for (packet, is_slow) in packets(from_ue) {
        let (mut kit, s) = kit(vxlan());
        kit.gnb_sends(s.teid.get(), &packet);
        let sent = output(&kit.n6);
        assert_eq!((sent.len(), slow(&kit)), (1, is_slow));
        let ethernet = frame(ROUTER_MAC, N6_MAC, EtherType::IPV4, &[]);
        assert_eq!(sent[0][..14], ethernet[..]);
        let ip = Ipv4::parse(&sent[0][14..]).unwrap();
        assert_eq!([ip.source(), ip.destination()], VTEPS);
        assert_eq!(usize::from(ip.total_len()), 50 + packet.len());
        let udp = Udp::parse(ip.payload()).unwrap();
        assert_eq!((udp.source_port(), udp.destination_port()), (50_000, 4789));
        assert_eq!(udp.payload()[..8], VNI);
        let inner = frame(DN_MAC, N6_MAC, EtherType::IPV4, &aged(&packet));
        assert_eq!(udp.payload()[8..], inner);
        assert_eq!(sent[0].len(), 64 + packet.len(), "and nothing behind it");
        let used = used(&mut kit, s.ul);
        assert_eq!((used.bytes, used.packets), (packet.len() as u64, 1));
        kit.close();
    }
}

#[test]
fn gre_headers_have_all_octets_and_their_length_on_either_path() {
    for (packet, is_slow) in packets(from_ue) {
        let (mut kit, s) = kit(gre());
        kit.gnb_sends(s.teid.get(), &packet);
        let sent = output(&kit.n6);
        assert_eq!((sent.len(), slow(&kit)), (1, is_slow));
        let ethernet = frame(DN_MAC, N6_MAC, EtherType::IPV4, &[]);
        assert_eq!(sent[0][..14], ethernet[..]);
        let ip = Ipv4::parse(&sent[0][14..]).unwrap();
        assert_eq!((ip.protocol(), ip.destination()), (Protocol(47), VTEPS[1]));
        let inner = [&[0, 0, 8, 0], &aged(&packet)[..]].concat();
        assert_eq!(ip.payload(), inner);
        assert_eq!(sent[0].len(), 38 + packet.len());
        kit.close();
    }
}

#[test]
fn tunnels_leave_behind_double_tags_on_either_path() {
    for (packet, is_slow) in packets(to_ue) {
        let (mut kit, s) = kit(gre());
        kit.dn_sends(&packet);
        let sent = output(&kit.n3);
        assert_eq!((sent.len(), slow(&kit)), (1, is_slow));
        let tags = [0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0];
        let expected = [&GNB_MAC[..], &N3_MAC, &tags].concat();
        assert_eq!(sent[0][..22], expected);
        let outer = Ipv4::parse(&sent[0][22..]).unwrap();
        assert_eq!((outer.source(), outer.destination()), (UPF, GNB));
        assert_eq!(outer.payload()[8 + 16..], aged(&packet));
        assert_eq!(used(&mut kit, s.dl).bytes, packet.len() as u64);
        kit.close();
    }
}

#[test]
#[should_panic(expected = "headers of 192 octets in 142")]
fn headers_that_do_not_fit_before_a_packet_are_refused_with_the_tables() {
    let mut tables = tables();
    tables.interfaces[0].template = Template::new(&[0; 128], PerPacket::default());
    CompiledTables::of(&tables);
}

#[test]
#[should_panic(expected = "frames of 65536 octets")]
fn frames_longer_than_their_length_fields_say_are_refused_with_the_tables() {
    let mut tables = tables();
    tables.interfaces[1].template = Some(vxlan());
    tables.interfaces[1].mtu = u16::MAX - 63;
    CompiledTables::of(&tables);
}
