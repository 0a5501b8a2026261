//! GTP-U signalling over IPv6 on N3: echo both ways, Error Indications both ways, and who hears nothing.

use crate::control::*;
use sluice_control::config::{ControlConfig, Role};
use sluice_control::paths::{EchoConfig, Health};
use sluice_control::signalling::{Control, Event};
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::message::UnknownTeid;
use sluice_datapath::tables::InterfaceId;
use sluice_session::network::{Network, PeerError, Side, TunnelAddresses};
use sluice_wire::eth::{Eth, EtherType, MacAddr};
use sluice_wire::gtpu::{
    ErrorIndication, Message, PORT, echo_request, echo_response, write_error_indication,
};
use sluice_wire::ids::Teid;
use sluice_wire::ipv4::Protocol;
use sluice_wire::ipv6::{Ipv6, Ipv6Header};
use sluice_wire::udp::{Udp, UdpHeader};
use std::net::{IpAddr, Ipv6Addr};

const OUR: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 1);
const PEER: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 3, 0, 0, 0, 0, 0x50);
const ACCESS: InterfaceId = InterfaceId(0);
const STATION: MacAddr = MacAddr([2, 0, 0, 0, 1, 0x56]);

/// N3 with both families; the gNB's MAC address is given.
fn dual() -> Control {
    let mut config = ControlConfig {
        echo: EchoConfig {
            interval_s: 60,
            t3_ms: 1000,
            n3: 3,
        },
        ..config()
    };
    let n3 = &mut config.interfaces[0];
    n3.addresses_ipv6 = vec![(OUR, 64)];
    n3.neighbours = vec![(PEER.into(), STATION)];
    n3.roles = vec![Role::Tunnels {
        side: Side::Access,
        instance: "access".to_owned(),
        addresses: TunnelAddresses {
            ipv4: Some(N3),
            ipv6: Some(OUR),
        },
    }];
    let mut control = Control::new(config).unwrap();
    control.take_tables().expect("the first tables");
    control
}

/// Sends a message of the gNB to the GTP-U port, its checksum exclusive-or `wrong`.
fn says(control: &mut Control, payload: &[u8], wrong: u8) -> (Sent, Option<Event>) {
    let ports = UdpHeader {
        source_port: 40_000,
        destination_port: PORT,
    };
    let mut header = ports.to_bytes_ipv6(PEER, OUR, payload).unwrap();
    header[7] ^= wrong;
    let datagram = [&header[..], payload].concat();
    let ip = Ipv6Header::new(Protocol::UDP, PEER, OUR);
    let packet = [&ip.to_bytes(datagram.len()).unwrap()[..], &datagram].concat();
    let bytes = frame(N3_MAC, STATION, EtherType::IPV6, &packet);
    let mut sent = Sent::default();
    let event = control.frame(0, ACCESS, &bytes, &crate::ipv6::OneUe, &mut sent);
    (sent, event)
}

/// The only message that was sent to the gNB, and to which port.
fn read(sent: &Sent) -> (u16, Vec<u8>) {
    let (id, eth) = sent.only();
    assert_eq!(
        (id, eth.destination(), eth.source()),
        (ACCESS, STATION, N3_MAC)
    );
    payload_of(&eth)
}

fn payload_of(eth: &Eth<'_>) -> (u16, Vec<u8>) {
    assert_eq!(eth.ethertype(), EtherType::IPV6);
    let ip = Ipv6::parse(eth.payload()).unwrap();
    assert_eq!((ip.source(), ip.destination()), (OUR, PEER));
    let udp = Udp::parse(ip.payload()).unwrap();
    assert!(udp.verify_ipv6(OUR, PEER) && udp.source_port() == PORT);
    (udp.destination_port(), udp.payload().to_vec())
}

#[test]
fn an_echo_over_ipv6_is_answered_and_a_damaged_one_is_not() {
    let mut control = dual();
    let (sent, _) = says(&mut control, &echo_request(7), 0);
    let (port, payload) = read(&sent);
    assert_eq!((port, payload.as_slice()), (40_000, &echo_response(7)[..]));
    let (sent, _) = says(&mut control, &echo_request(7), 1);
    assert!(sent.out.is_empty());
    assert_eq!(control.counters().gtpu_echo_responses, 1);
}

#[test]
fn a_peer_over_ipv6_is_asked_and_its_answer_counts() {
    let mut control = dual();
    let peer = control
        .directory
        .hold_peer(Side::Access, None, PEER.into(), Marking::default());
    let peer = peer.expect("room");
    assert!(peer.is_ipv6());
    assert_eq!(control.directory.peer_address(peer), Some(PEER.into()));
    let mut sent = Sent::default();
    // The first request is due an interval and an eighth after the start at the latest.
    control.tick(70_000_000_000, &crate::ipv6::OneUe, &mut sent);
    let echo = sent.out.iter().find_map(|(_, bytes)| {
        let eth = Eth::parse(bytes).unwrap();
        (eth.ethertype() == EtherType::IPV6 && eth.destination() == STATION)
            .then(|| payload_of(&eth).1)
    });
    let echo = echo.expect("an echo");
    let Ok(Message::EchoRequest { sequence }) = Message::parse(&echo) else {
        panic!("{echo:02x?}");
    };
    says(&mut control, &echo_response(sequence), 0);
    let healths: Vec<Health> = control
        .directory
        .paths()
        .views()
        .map(|p| p.health)
        .collect();
    assert_eq!(healths, [Health::Answers]);
    control.directory.release_peer(peer);
    assert_eq!(control.directory.peers().count(), 0);
}

#[test]
fn an_error_indication_over_ipv6_counts_from_the_peer_that_it_names() {
    let mut control = dual();
    for (named, is_believed) in [(IpAddr::V6(PEER), true), (IpAddr::V4(GNB), false)] {
        let indication = ErrorIndication {
            teid: 0xd007,
            peer: named,
            udp_source_port: None,
        };
        let mut message = [0; 64];
        let len = write_error_indication(&mut message, 1, &indication).unwrap();
        let (_, event) = says(&mut control, &message[..len], 0);
        let expected = Event::ErrorIndication {
            peer: PEER.into(),
            teid: Teid::new(0xd007).unwrap(),
        };
        assert_eq!(event, is_believed.then_some(expected));
    }
}

#[test]
fn an_unknown_teid_is_indicated_over_ipv6() {
    let mut control = dual();
    let notice = UnknownTeid {
        interface: ACCESS,
        peer: PEER.into(),
        local: OUR.into(),
        teid: 0x77,
    };
    let mut sent = Sent::default();
    control.unknown_teid(0, notice, &mut sent);
    let (port, payload) = read(&sent);
    let Ok(Message::ErrorIndication(told)) = Message::parse(&payload) else {
        panic!("{payload:02x?}");
    };
    assert_eq!((port, told.teid, told.peer), (PORT, 0x77, IpAddr::V6(OUR)));
}

#[test]
fn n9_and_n3_without_ipv6_lead_to_no_ipv6_peer() {
    let mut control = dual();
    let none = Err(PeerError::NoInterface);
    assert_eq!(
        control
            .directory
            .hold_peer(Side::Core, None, PEER.into(), Marking::default()),
        none
    );
    let mut plain = crate::control::control();
    assert_eq!(
        plain
            .directory
            .hold_peer(Side::Access, None, PEER.into(), Marking::default()),
        none
    );
}
