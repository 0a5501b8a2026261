//! Cases of TS 33.117 for IPv4 at our own addresses: no answer to many, none by a route of the sender's wish.

use crate::control::*;
use sluice_datapath::tables::InterfaceId;
use sluice_wire::checksum::checksum;
use sluice_wire::eth::EtherType;
use sluice_wire::icmp::{self, Echo, EchoKind};
use sluice_wire::ipv4::Protocol;
use std::net::Ipv4Addr;

fn ping() -> Vec<u8> {
    let mut echo = vec![0; 64];
    let body = Echo {
        identifier: 7,
        sequence: 9,
        data: b"sluice",
    };
    let len = icmp::write_echo(&mut echo, EchoKind::Request, &body).unwrap();
    echo.truncate(len);
    echo
}

/// A ping with these options, padded to words.
fn with_options(options: &[u8]) -> Vec<u8> {
    let mut bytes = packet(GATEWAY, N6, Protocol::ICMP, &ping());
    let payload = bytes.split_off(20);
    bytes.extend(options);
    bytes.resize(20 + options.len().div_ceil(4) * 4, 0);
    bytes[0] = 0x40 | (bytes.len() / 4) as u8;
    let total = (bytes.len() + payload.len()) as u16;
    bytes[2..4].copy_from_slice(&total.to_be_bytes());
    bytes[10..12].fill(0);
    let sum = checksum(&bytes);
    bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    [bytes, payload].concat()
}

/// Frames that leave after this packet on N6, and what was ignored.
fn answers(packet: &[u8]) -> (usize, u64) {
    let mut control = control();
    let mut sent = Sent::default();
    let bytes = frame(N6_MAC, GATEWAY_MAC, EtherType::IPV4, packet);
    control.frame(0, InterfaceId(1), &bytes, &Nobody, &mut sent);
    (sent.out.len(), control.counters().ignored)
}

/// TC_BROADCAST_ICMP_HANDLING (TS 33.117, 4.3.3.1.2): a request that seems to come from all of a link, a group or
/// ourselves would make us one of many that answer. Those to all of a link do not come here: they are no UE's
/// (`unknown_ue`).
#[test]
fn scas_33_117_4_3_3_1_2_broadcast_icmp_handling() {
    let from_many = [
        Ipv4Addr::BROADCAST,
        Ipv4Addr::new(198, 51, 100, 255),
        Ipv4Addr::new(224, 0, 0, 1),
        Ipv4Addr::UNSPECIFIED,
        Ipv4Addr::LOCALHOST,
        N6,
    ];
    for source in from_many {
        let request = packet(source, N6, Protocol::ICMP, &ping());
        assert_eq!(answers(&request), (0, 1), "{source}");
        let udp = datagram(source, N6, (1, 2), b"x");
        assert_eq!(answers(&udp), (0, 1), "{source}: no error either");
    }
    let request = packet(GATEWAY, N6, Protocol::ICMP, &ping());
    assert_eq!(answers(&request), (1, 0));
}

/// TC_HANDLING_OF_ICMP (TS 33.117, 4.2.4.1.1.2): what asks for something else than an echo, or tells us other routes, is
/// neither answered nor believed.
#[test]
fn scas_33_117_4_2_4_1_1_2_handling_of_icmp() {
    // Redirect, router advertisement and solicitation, timestamp, information, address mask.
    for kind in [5, 9, 10, 13, 15, 17] {
        let mut message = ping();
        message[0] = kind;
        message[2..4].fill(0);
        let sum = checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let told = packet(GATEWAY, N6, Protocol::ICMP, &message);
        assert_eq!(answers(&told), (0, 1), "type {kind}");
    }
}

/// TC_HANDLING_IP_OPTIONS_AND_EXTENSIONS (TS 33.117, 4.2.4.1.1.3): no answer by a route that the sender names; other
/// options are not looked at, and the answer has none.
#[test]
fn scas_33_117_4_2_4_1_1_3_ip_options() {
    let hop = SERVER.octets();
    for kind in [131, 137] {
        let route = [&[kind, 7, 4][..], &hop].concat();
        assert_eq!(answers(&with_options(&route)), (0, 1), "option {kind}");
    }
    // Record route, timestamp, router alert.
    let others: [&[u8]; 3] = [
        &[7, 7, 4, 0, 0, 0, 0],
        &[68, 8, 5, 0, 0, 0, 0, 0],
        &[148, 4, 0, 0],
    ];
    for option in others {
        let mut control = control();
        let mut sent = Sent::default();
        let bytes = frame(N6_MAC, GATEWAY_MAC, EtherType::IPV4, &with_options(option));
        control.frame(0, InterfaceId(1), &bytes, &Nobody, &mut sent);
        let (_, eth) = sent.only();
        assert_eq!(eth.payload()[0], 0x45, "no option");
    }
}
