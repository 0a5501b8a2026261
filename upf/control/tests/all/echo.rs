//! Echo Requests to tunnel peers on the link: from which address, to whom, how often, and what silence means.

use crate::control::*;
use sluice_control::config::ControlConfig;
use sluice_control::paths::{EchoConfig, Health, PathEnds};
use sluice_control::signalling::{Control, PrefixOwners};
use sluice_datapath::forward::marking::Marking;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::tables::InterfaceId;
use sluice_session::network::{Network, Side};
use sluice_session::{PathChange, RemotePath};
use sluice_wire::arp::{Arp, Operation};
use sluice_wire::eth::{Eth, EtherType};
use sluice_wire::gtpu::{Message, PORT, echo_response};
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::udp::{Udp, UdpHeader};
use std::net::{IpAddr, Ipv4Addr};

const N3_ID: InterfaceId = InterfaceId(0);
const MS: u64 = 1_000_000;
const ENDS: PathEnds = PathEnds {
    local: IpAddr::V4(N3),
    remote: IpAddr::V4(GNB),
};

struct Nobody;

impl PrefixOwners for Nobody {
    fn entry_of_prefix(&self, _: InstanceId, _: u64) -> Option<EntryId> {
        None
    }

    fn leads_to_ue(&self, _: InstanceId, _: IpAddr) -> bool {
        false
    }

    fn has_ue_in(&self, _: EntryId, _: InstanceId) -> bool {
        false
    }
}

fn asking() -> Control {
    let mut control = Control::new(ControlConfig {
        echo: EchoConfig {
            interval_s: 60,
            t3_ms: 1000,
            n3: 3,
        },
        ..config()
    })
    .unwrap();
    control.take_tables().expect("the first tables");
    control
}

fn tick(control: &mut Control, now_ms: u64) -> Sent {
    let mut sent = Sent::default();
    control.tick(now_ms * MS, &Nobody, &mut sent);
    sent
}

/// The numbers of the Echo Requests to the gNB, all of them well formed.
fn echoes(sent: &Sent) -> Vec<u16> {
    let mut numbers = Vec::new();
    for (id, bytes) in &sent.out {
        let eth = Eth::parse(bytes).unwrap();
        if eth.ethertype() != EtherType::IPV4 {
            continue;
        }
        assert_eq!(
            (*id, eth.destination(), eth.source()),
            (N3_ID, GNB_MAC, N3_MAC)
        );
        let ip = Ipv4::parse(eth.payload()).unwrap();
        assert_eq!((ip.source(), ip.destination()), (N3, GNB));
        let udp = Udp::parse(ip.payload()).unwrap();
        assert!(udp.verify(N3, GNB));
        assert_eq!((udp.source_port(), udp.destination_port()), (PORT, PORT));
        let Ok(Message::EchoRequest { sequence }) = Message::parse(udp.payload()) else {
            panic!("{:02x?}", udp.payload());
        };
        numbers.push(sequence);
    }
    numbers
}

fn arp(control: &mut Control, now_ms: u64) {
    let answer = Arp {
        operation: Operation::Reply,
        sender_mac: GNB_MAC,
        sender_ip: GNB,
        target_mac: N3_MAC,
        target_ip: N3,
    };
    let bytes = frame(N3_MAC, GNB_MAC, EtherType::ARP, &answer.to_bytes());
    control.frame(now_ms * MS, N3_ID, &bytes, &Nobody, &mut Sent::default());
}

fn answer(control: &mut Control, now_ms: u64, from: Ipv4Addr, sequence: u16) {
    let payload = echo_response(sequence);
    let ports = UdpHeader {
        source_port: PORT,
        destination_port: PORT,
    };
    let header = ports.to_bytes(from, N3, &payload).unwrap();
    let udp = [&header[..], &payload].concat();
    let packet = packet(from, N3, Protocol::UDP, &udp);
    let bytes = frame(N3_MAC, GNB_MAC, EtherType::IPV4, &packet);
    control.frame(now_ms * MS, N3_ID, &bytes, &Nobody, &mut Sent::default());
}

fn told() -> RemotePath {
    RemotePath {
        peer: GNB.into(),
        place: Some((Side::Access, "access".into())),
    }
}

#[test]
fn a_peer_is_asked_while_rules_lead_there() {
    let mut control = asking();
    assert_eq!(echoes(&tick(&mut control, 0)), []);
    let hold = |control: &mut Control| {
        control
            .directory
            .hold_peer(Side::Access, Some("access"), GNB.into(), Marking::default())
            .unwrap()
    };
    let first = hold(&mut control);
    let second = hold(&mut control);
    // It has to be found on the link first.
    let sent = tick(&mut control, 250);
    assert!(echoes(&sent).is_empty() && !sent.out.is_empty());
    arp(&mut control, 300);
    let [number] = echoes(&tick(&mut control, 500))[..] else {
        panic!("one request")
    };
    answer(&mut control, 502, GNB, number);
    let view = control.directory.paths().view(ENDS).unwrap();
    assert_eq!(
        (view.health, view.round_trip_ns),
        (Health::Answers, Some(2 * MS))
    );
    let counted = control.counters();
    assert_eq!(
        (counted.gtpu_echo_requests, counted.gtpu_echo_answers),
        (1, 1)
    );
    let later = (3..400).map(|step| {
        arp(&mut control, step * 250);
        echoes(&tick(&mut control, step * 250)).len()
    });
    let later: Vec<_> = later.collect();
    assert_eq!(
        later.iter().sum::<usize>(),
        3,
        "answered by nobody, after 60 s: {later:?}"
    );
    control.directory.release_peer(first);
    assert!(control.directory.paths().view(ENDS).is_some());
    control.directory.release_peer(second);
    // It has failed in the meantime, and is asked on.
    assert!(!control.directory.paths().view(ENDS).unwrap().is_used);
}

#[test]
fn a_request_whose_station_is_not_known_goes_out_as_soon_as_it_is() {
    let mut control = asking();
    control
        .directory
        .hold_peer(Side::Access, Some("access"), GNB.into(), Marking::default())
        .unwrap();
    // T3-RESPONSE is a second.
    for step in 0..4 {
        assert_eq!(echoes(&tick(&mut control, step * 250)), [], "{step}");
    }
    arp(&mut control, 800);
    let first = echoes(&tick(&mut control, 900));
    assert_eq!(first.len(), 1);
    // From there it waits for an answer, and asks three times in all.
    let rest: Vec<u16> = (4..15)
        .flat_map(|step| echoes(&tick(&mut control, step * 250)))
        .collect();
    assert_eq!(rest, [first[0]; 2]);
    assert_eq!(control.take_path_changes(), []);
    tick(&mut control, 4_000);
    assert_eq!(control.take_path_changes(), [PathChange::Failed(told())]);
}

#[test]
fn silence_and_return_are_told_with_side_and_instance() {
    let mut control = asking();
    arp(&mut control, 0);
    let peer = control
        .directory
        .hold_peer(Side::Access, None, GNB.into(), Marking::default())
        .unwrap();
    arp(&mut control, 0);
    let mut numbers = Vec::new();
    for step in 0..12 {
        numbers.extend(echoes(&tick(&mut control, step * 250)));
        // Strangers, and numbers that nobody asked for, change nothing.
        answer(&mut control, step * 250, SERVER, numbers[0]);
        answer(&mut control, step * 250, GNB, numbers[0].wrapping_add(1));
    }
    assert!(numbers.len() == 3 && numbers.iter().all(|n| *n == numbers[0]));
    assert_eq!(control.take_path_changes(), []);
    tick(&mut control, 3000);
    assert_eq!(control.take_path_changes(), [PathChange::Failed(told())]);
    // Nobody leads there any more: its return is told all the same.
    control.directory.release_peer(peer);
    let mut times = (13..300).map(|step| step * 250);
    let next = times.find_map(|now_ms| {
        arp(&mut control, now_ms);
        let number = *echoes(&tick(&mut control, now_ms)).first()?;
        Some((now_ms, number))
    });
    let (now_ms, next) = next.expect("it is asked on");
    assert!((60_000..68_000).contains(&now_ms), "{now_ms}");
    answer(&mut control, now_ms, GNB, next);
    assert_eq!(control.take_path_changes(), [PathChange::Recovered(told())]);
    assert_eq!(control.directory.paths().views().count(), 0);
}
