//! Header match: common frames match, and what matches is what the parser says it is.

use super::*;
use crate::ids::InterfaceId;
use crate::lookup::layout::InstanceId;
use crate::rx::parse::{Class, classify};
use crate::tables::{CompiledTables, PortInterfaces, Tables, TunnelAddress};
use core::net::{Ipv4Addr, Ipv6Addr};
use proptest::prelude::*;
use sluice_port::PortId;
use sluice_wire::checksum::checksum;

const MAC: [u8; 6] = [2, 0, 0, 0, 1, 0];
const OUR_N3: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const OUR_N6: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);
const GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 50);
const UE: Ipv4Addr = Ipv4Addr::new(10, 45, 0, 7);
const OUR_N6_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 6, 0, 0, 0, 0, 1);
const UE_IPV6: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0xcafe, 7, 0, 0, 0, 9);

/// A port with one interface for N3 and N6.
fn tables(vlan: Option<u16>, verifies_udp: bool, lists_peers: bool) -> Tables {
    let tunnel = |(local, address): (usize, &Ipv4Addr)| TunnelAddress {
        address: *address,
        local: local as u8,
    };
    let interface = Interface {
        port: PortId(0),
        vlan,
        mac: MAC,
        template: None,
        mtu: 1500,
        addresses: vec![OUR_N6],
        addresses_ipv6: vec![OUR_N6_IPV6],
        tunnels: OUR_N3.iter().enumerate().map(tunnel).collect(),
        tunnels_ipv6: vec![],
        allowed_peers_ipv6: vec![],
        n4: vec![],
        instance: Some(InstanceId(3)),
        outside: None,
        allowed_peers: Prefix::new(GNB, 24)
            .into_iter()
            .filter(|_| lists_peers)
            .collect(),
        verifies_udp,
        mss_clamp: None,
    };
    let by_port = PortInterfaces {
        untagged: vlan.is_none().then_some(InterfaceId(0)),
        tagged: vlan.map(|v| (v, InterfaceId(0))).into_iter().collect(),
    };
    let mut tables = Tables {
        interfaces: vec![interface],
        by_port: vec![by_port],
        ..Tables::default()
    };
    tables.compiled = CompiledTables::of(&tables);
    tables
}

fn ipv4(source: Ipv4Addr, destination: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x45, 0, 0, 0, 0, 1, 0x40, 0, 64, 17, 0, 0];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(payload);
    let total = packet.len() as u16;
    packet[2..4].copy_from_slice(&total.to_be_bytes());
    sum(&mut packet);
    packet
}

fn ipv6(source: Ipv6Addr, destination: Ipv6Addr, payload: &[u8]) -> Vec<u8> {
    let mut packet = vec![0x60, 0, 0, 0, 0, payload.len() as u8, 17, 64];
    packet.extend(source.octets());
    packet.extend(destination.octets());
    packet.extend(payload);
    packet
}

/// Makes an IPv4 header's checksum right.
fn sum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let sum = checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
}

/// What gNBs do differently.
#[derive(Clone, Copy, Debug)]
struct Manner {
    container: bool,
    checksum: bool,
}

fn manner() -> impl Strategy<Value = Manner> {
    (any::<bool>(), any::<bool>()).prop_map(|(container, checksum)| Manner {
        container,
        checksum,
    })
}

fn g_pdu(local: usize, inner: &[u8], manner: Manner) -> Vec<u8> {
    let container: &[u8] = if manner.container {
        &[0, 0, 0, 0x85, 1, 0x10, 9, 0]
    } else {
        &[]
    };
    let len = (container.len() + inner.len()) as u16;
    let mut payload = vec![0xc3, 0x50, 0x08, 0x68];
    payload.extend((len + 16).to_be_bytes());
    payload.extend([0, 0, if manner.container { 0x34 } else { 0x30 }, 0xff]);
    payload.extend(len.to_be_bytes());
    payload.extend([0x80, 0, 0, 7]);
    payload.extend(container);
    payload.extend(inner);
    if manner.checksum {
        let pseudo = [&GNB.octets(), &OUR_N3[local].octets(), &[0, 17][..]];
        let of = [&pseudo.concat(), &payload[4..6], &payload].concat();
        // 0 would be none (RFC 768).
        let sum = match checksum(&of) {
            0 => 0xffff,
            sum => sum,
        };
        payload[6..8].copy_from_slice(&sum.to_be_bytes());
    }
    ipv4(GNB, OUR_N3[local], &payload)
}

fn ethernet(vlan: Option<u16>, packet: &[u8]) -> Vec<u8> {
    let mut frame = MAC.to_vec();
    frame.extend([2, 0, 0, 0, 2, 0]);
    if let Some(vlan) = vlan {
        frame.extend([0x81, 0x00]);
        frame.extend((vlan | 0x6000).to_be_bytes());
    }
    frame.extend(match packet[0] >> 4 {
        6 => [0x86, 0xdd],
        _ => [0x08, 0x00],
    });
    frame.extend(packet);
    frame
}

/// What a frame is by its shape, and whether *parse* says the same.
fn shaped(frame: &[u8], tables: &Tables) -> Option<Meta> {
    let header_matches = tables.compiled.header_matches(PortId(0));
    let meta = header_matches.iter().find_map(|shape| shape.meta(frame))?;
    let parsed = classify(frame, PortId(0), tables);
    let same = Meta {
        fast_path: false,
        ..meta
    };
    assert_eq!(parsed, Class::User(same), "{frame:02x?}");
    Some(meta)
}

fn vlans() -> impl Strategy<Value = Option<u16>> {
    prop_oneof![Just(None), Just(Some(100)), Just(Some(4094))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn usual_frames_have_a_shape(
        vlan in vlans(), local in 0usize..2, tunnelled: bool, is_ipv6: bool, verifies: bool, lists: bool,
        payload in proptest::collection::vec(any::<u8>(), 8..100), manner in manner(),
        padding in 0usize..20,
    ) {
        let tables = tables(vlan, verifies, lists);
        let packet = match (tunnelled, is_ipv6) {
            (true, true) => g_pdu(local, &ipv6(UE_IPV6, OUR_N6_IPV6, &payload), manner),
            (true, false) => g_pdu(local, &ipv4(UE, OUR_N6, &payload), manner),
            (false, true) => ipv6(OUR_N6_IPV6, UE_IPV6, &payload),
            (false, false) => ipv4(OUR_N6, UE, &payload),
        };
        let mut frame = ethernet(vlan, &packet);
        frame.resize(frame.len() + padding, 0);
        let meta = shaped(&frame, &tables).expect("a usual frame");
        let inner_len = if is_ipv6 { 40 } else { 20 } + payload.len() as u16;
        prop_assert_eq!((meta.inner_len, meta.fast_path), (inner_len, true));
    }

    /// Octets, lengths and ends are damaged, sometimes with a checksum that is right again.
    #[test]
    fn whatever_has_a_shape_is_what_parse_says(
        vlan in vlans(), tunnelled: bool, is_ipv6: bool, verifies: bool, lists: bool,
        wrongs in proptest::collection::vec((0usize..90, any::<u8>()), 0..4),
        cut in proptest::option::of(0usize..120), manner in manner(),
        sums: bool,
        address in prop_oneof![Just(UE), Just(OUR_N6), Just(OUR_N3[0]), Just(OUR_N3[1])],
    ) {
        let tables = tables(vlan, verifies, lists);
        let packet = match (tunnelled, is_ipv6) {
            (true, true) => g_pdu(0, &ipv6(UE_IPV6, OUR_N6_IPV6, &[0; 16]), manner),
            (true, false) => g_pdu(0, &ipv4(UE, address, &[0; 16]), manner),
            (false, true) if address == UE => ipv6(OUR_N6_IPV6, UE_IPV6, &[0; 16]),
            (false, true) => ipv6(UE_IPV6, OUR_N6_IPV6, &[0; 16]),
            (false, false) => ipv4(OUR_N6, address, &[0; 16]),
        };
        let mut frame = ethernet(vlan, &packet);
        for (at, octet) in wrongs {
            if let Some(place) = frame.get_mut(at) {
                *place = octet;
            }
        }
        if sums {
            sum(&mut frame[if vlan.is_some() { TAGGED } else { UNTAGGED }..]);
        }
        frame.truncate(cut.unwrap_or(frame.len()));
        shaped(&frame, &tables);
    }

    /// One octet of the headers takes each value.
    #[test]
    fn each_value_of_each_octet_of_the_headers(
        at in 0usize..66, vlan in vlans(), sums: bool, manner in manner(),
    ) {
        let tables = tables(vlan, true, true);
        let tunnelled = g_pdu(1, &ipv4(UE, OUR_N6, &[0; 16]), manner);
        let tunnelled_ipv6 = g_pdu(1, &ipv6(UE_IPV6, OUR_N6_IPV6, &[0; 16]), manner);
        let plain_ipv6 = ipv6(OUR_N6_IPV6, UE_IPV6, &[0; 16]);
        for packet in [tunnelled, tunnelled_ipv6, ipv4(OUR_N6, UE, &[0; 40]), plain_ipv6] {
            let whole = ethernet(vlan, &packet);
            for octet in 0..=255 {
                let mut frame = whole.clone();
                frame[at] = octet;
                if sums {
                    sum(&mut frame[if vlan.is_some() { TAGGED } else { UNTAGGED }..]);
                }
                shaped(&frame, &tables);
            }
        }
    }
}
