//! Signalling of a station on N3 and N6: ARP both ways, and GTP-U echo.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

use std::net::Ipv4Addr;
use std::sync::Arc;

use crate::kit::{GNB, SERVER, UPF, config, flows, lane};
use sluice_load::LoadError;
use sluice_load::engine::{Engine, NextHop, Trial};
use sluice_load::source::{Plan, Unit};
use sluice_port_sim::{HeapPool, SimIo, SimNet, SimPort, SimPortConfig};
use sluice_wire::arp::{Arp, Operation};
use sluice_wire::eth::{Eth, EthHeader, EtherType, MacAddr};
use sluice_wire::gtpu::{self, Message};
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::udp::{Udp, UdpHeader};

const OURS: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);
const PEER: MacAddr = MacAddr([2, 0, 0, 0, 9, 9]);
const SECOND_GNB: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 12);

struct Station<C: Fn() -> u64> {
    net: SimNet,
    n3: SimPort,
    engine: Engine<SimIo, C>,
}

fn station() -> Station<impl Fn() -> u64> {
    let net = SimNet::new(1);
    let port = |name: &str, last| {
        let mut config = SimPortConfig::named(name);
        config.mac[5] = last;
        net.add_port(config)
    };
    let (n3, n6) = (port("n3", 3), port("n6", 6));
    let io = net.io(&[n3.clone(), n6], HeapPool::default());
    let mut config = config(true);
    if let Some(n3) = &mut config.n3 {
        n3.next_hop = NextHop::Direct;
        n3.addresses.push(SECOND_GNB);
    }
    let clock = net.clone();
    let mut engine = Engine::new(io, move || clock.now_ns(), &config);
    engine.set_flows(Arc::new(flows(3)));
    Station { net, n3, engine }
}

impl<C: Fn() -> u64> Station<C> {
    /// Frames that leave N3 in a turn a second later.
    fn turn(&mut self) -> Vec<Vec<u8>> {
        let later = self.net.now_ns() + 1_000_000_000;
        self.net.advance_to(later);
        self.engine.turn();
        self.net.advance_to(later + 1);
        self.n3
            .take_output()
            .into_iter()
            .map(|(_, frame)| frame)
            .collect()
    }

    fn arps(&mut self) -> Vec<Arp> {
        let arp = |frame: &Vec<u8>| Arp::parse(Eth::parse(frame).ok()?.payload()).ok();
        self.turn().iter().filter_map(arp).collect()
    }

    fn send(&self, ethertype: EtherType, payload: &[u8]) {
        let header = EthHeader {
            destination: OURS,
            source: PEER,
            ethertype,
        };
        self.n3.inject(&[&header.to_bytes()[..], payload].concat());
    }
}

#[test]
fn neighbours_are_asked_for_until_they_answer() {
    let mut station = station();
    let trial = Trial {
        uplink: Some(lane(Plan::constant(Unit::Packets, 1.0, 1_000_000_000))),
        ..Trial::default()
    };
    // Each gNB makes itself known; later questions are the first one's.
    let first: Vec<Ipv4Addr> = station.arps().iter().map(|arp| arp.sender_ip).collect();
    assert_eq!(first, [GNB, SECOND_GNB]);
    let again = station.arps();
    assert_eq!(again.len(), 1);
    assert_eq!((again[0].sender_ip, again[0].target_ip), (GNB, UPF));
    assert_eq!(again[0].operation, Operation::Request);
    let error = station.engine.start(&trial).unwrap_err();
    assert!(
        matches!(error, LoadError::NoNeighbour { address: UPF, .. }),
        "{error}"
    );
    station.send(EtherType::ARP, &again[0].reply_from(PEER).to_bytes());
    // A turn asks before it listens.
    station.turn();
    assert!(station.arps().is_empty());
    assert!(station.engine.unresolved().is_none());
    station.engine.start(&trial).unwrap();
    let frames = station.turn();
    assert_eq!(Eth::parse(&frames[0]).unwrap().destination(), PEER);
}

#[test]
fn arp_for_our_addresses_is_answered_and_no_other() {
    let mut station = station();
    station.turn();
    for (target, is_ours) in [(GNB, true), (SECOND_GNB, true), (SERVER, false)] {
        let request = Arp::request(PEER, Ipv4Addr::new(192, 0, 2, 77), target);
        station.send(EtherType::ARP, &request.to_bytes());
        let replies = station.arps();
        let replies: Vec<_> = replies
            .iter()
            .filter(|arp| arp.operation == Operation::Reply)
            .collect();
        assert_eq!(replies.len(), usize::from(is_ours), "{target}");
        for reply in replies {
            assert_eq!((reply.sender_mac, reply.sender_ip), (OURS, target));
        }
    }
}

#[test]
fn a_gtpu_echo_request_to_a_gnb_is_answered() {
    let mut station = station();
    station.turn();
    let request = gtpu::echo_request(0x1234);
    let ports = UdpHeader {
        source_port: 5000,
        destination_port: gtpu::PORT,
    };
    let udp = ports.to_bytes(UPF, SECOND_GNB, &request).unwrap();
    let ip = Ipv4Header::new(Protocol::UDP, UPF, SECOND_GNB);
    let ip = ip.to_bytes(udp.len() + request.len()).unwrap();
    station.send(EtherType::IPV4, &[&ip[..], &udp, &request].concat());
    let frames = station.turn();
    let answers: Vec<_> = frames
        .iter()
        .filter_map(|frame| {
            let eth = Eth::parse(frame).ok()?;
            let ip = Ipv4::parse(eth.payload()).ok()?;
            let udp = Udp::parse(ip.payload()).ok()?;
            assert!(udp.verify(ip.source(), ip.destination()));
            let sequence = match Message::parse(udp.payload()) {
                Ok(Message::EchoResponse { sequence }) => sequence,
                other => panic!("{other:?}"),
            };
            Some((
                eth.destination(),
                ip.source(),
                udp.destination_port(),
                sequence,
            ))
        })
        .collect();
    assert_eq!(answers, [(PEER, SECOND_GNB, 5000, 0x1234)]);
}
