//! PFCP out of packets and back: what is checked, put together, cut, and kept for a station.
#![allow(clippy::unwrap_used)]

use crate::control::Nobody;
use proptest::prelude::*;
use sluice_control::config::{ControlConfig, InterfaceConfig, Role};
use sluice_control::frame::Frames;
use sluice_control::n4_port::{Arrival, PortN4, PortN4Counters};
use sluice_control::signalling::Control;
use sluice_datapath::meta::Meta;
use sluice_datapath::tables::{InterfaceId, Prefix};
use sluice_port::{Packet, PortId};
use sluice_port_sim::{HeapPacket, HeapPool, PoolConfig};
use sluice_wire::arp::Arp;
use sluice_wire::eth::{Eth, EthHeader, EtherType, MacAddr, VlanId};
use sluice_wire::ipv4::{Fragments, Ipv4, Ipv4Header, MAX_HEADER_LEN, Protocol};
use sluice_wire::pfcp::PORT;
use sluice_wire::udp::{Udp, UdpHeader};
use std::net::{Ipv4Addr, SocketAddr};

const N4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const SECOND: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);
const SMF: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 20);
const GATEWAY: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 254);
const FAR_SMF: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 20);
const OUR_MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 4]);
const SMF_MAC: MacAddr = MacAddr([2, 0, 0, 0, 1, 4]);
const GATEWAY_MAC: MacAddr = MacAddr([2, 0, 0, 0, 2, 4]);
const S: u64 = 1_000_000_000;

/// Questions of the control core.
#[derive(Default)]
struct Asked(Vec<(InterfaceId, Vec<u8>)>);

impl Frames for Asked {
    fn transmit(&mut self, interface: InterfaceId, frame: &[u8]) {
        self.0.push((interface, frame.to_vec()));
    }
    fn receive(&mut self, _: PortId, _: &[u8]) {}
    fn to_ue(&mut self, _: &[u8], _: Meta) {}
}

struct Rig {
    control: Control,
    n4: PortN4<HeapPacket>,
    pool: HeapPool,
}

impl Rig {
    fn new(verifies_udp: bool) -> Self {
        Self::with_segments(verifies_udp, usize::MAX)
    }

    fn with_segments(verifies_udp: bool, segments: usize) -> Self {
        let everywhere = Prefix::new(Ipv4Addr::UNSPECIFIED, 0).unwrap();
        let interface = InterfaceConfig {
            vlan: VlanId::new(40),
            mtu_bytes: 600,
            addresses: vec![(N4, 24), (SECOND, 24)],
            roles: [N4, SECOND].map(|address| Role::N4 { address }).to_vec(),
            routes: vec![(everywhere, GATEWAY)],
            neighbours: vec![(GATEWAY.into(), GATEWAY_MAC)],
            verifies_udp,
            ..InterfaceConfig::new("n4", PortId(0), OUR_MAC)
        };
        let mut control = Control::new(ControlConfig {
            interfaces: vec![interface],
            ..ControlConfig::default()
        })
        .unwrap();
        control.take_tables().unwrap();
        let pool = HeapPool::new(PoolConfig {
            segments,
            ..PoolConfig::default()
        });
        Self {
            n4: PortN4::new(&control.directory),
            control,
            pool,
        }
    }

    fn counters(&self) -> PortN4Counters {
        self.n4.counters()
    }

    fn hears(&mut self, peer: Ipv4Addr, local: Ipv4Addr) {
        self.n4.hear(peer, local, &self.control.directory);
    }

    fn sends(&mut self, to: Ipv4Addr, bytes: &[u8]) -> bool {
        let pool = self.pool.clone();
        self.n4
            .send(SocketAddr::from((to, 9999)), bytes, || pool.alloc())
    }

    /// ARP for what waits; gives how many questions were put.
    fn settles(&mut self, now_ns: u64) -> usize {
        let (mut asked, pool) = (Asked::default(), self.pool.clone());
        let mut alloc = || pool.alloc();
        self.n4
            .settle(now_ns, &mut self.control, &mut alloc, &mut asked);
        if self.control.directory.take_stations_changed() {
            self.n4.stations_changed();
        }
        asked.0.len()
    }

    /// The SMF's station tells its address.
    fn smf_answers(&mut self, now_ns: u64) {
        self.smf_answers_from(SMF_MAC, now_ns);
    }

    fn smf_answers_from(&mut self, station: MacAddr, now_ns: u64) {
        let arp = Arp::request(OUR_MAC, N4, SMF).reply_from(station);
        let header = EthHeader {
            destination: OUR_MAC,
            source: station,
            ethertype: EtherType::ARP,
        };
        let frame = [&header.to_bytes()[..], &arp.to_bytes()].concat();
        self.control.frame(
            now_ns,
            InterfaceId(0),
            &frame,
            &Nobody,
            &mut Asked::default(),
        );
        assert!(self.control.directory.take_stations_changed());
        self.n4.stations_changed();
    }

    fn left(&mut self) -> Vec<Vec<u8>> {
        let ready: Vec<_> = self.n4.take_ready().collect();
        let bytes = ready.into_iter().map(|(packet, interface)| {
            assert_eq!(interface, InterfaceId(0));
            let bytes = packet.data().to_vec();
            packet.free();
            bytes
        });
        bytes.collect()
    }

    fn ends(mut self) {
        self.n4.expire(u64::MAX);
        drop(self.n4);
        assert_eq!((self.pool.live(), self.pool.leaked()), (0, 0));
    }
}

fn frame(packet: &[u8]) -> Vec<u8> {
    let header = EthHeader {
        destination: OUR_MAC,
        source: SMF_MAC,
        ethertype: EtherType::IPV4,
    };
    [&header.to_bytes()[..], packet].concat()
}

fn packet(to: Ipv4Addr, port: u16, payload: &[u8]) -> Vec<u8> {
    let udp = UdpHeader {
        source_port: 40_000,
        destination_port: port,
    };
    let header = udp.to_bytes(SMF, to, payload).unwrap();
    let ip = Ipv4Header {
        identification: 7,
        ..Ipv4Header::new(Protocol::UDP, SMF, to)
    };
    let ip = ip.to_bytes(header.len() + payload.len()).unwrap();
    [&ip[..], &header, payload].concat()
}

fn fragments(packet: &[u8], mtu: u16) -> Vec<Vec<u8>> {
    let ip = Ipv4::parse(packet).unwrap();
    let plan = Fragments::new(ip, mtu).unwrap();
    let one = |piece: sluice_wire::ipv4::Fragment| {
        let mut header = [0; MAX_HEADER_LEN];
        let len = plan.write_header(&piece, &mut header);
        frame(&[&header[..len], &ip.payload()[piece.payload]].concat())
    };
    plan.clone().map(one).collect()
}

#[test]
fn a_sound_datagram_is_taken_with_or_without_checksum() {
    let mut rig = Rig::new(true);
    let mut bytes = frame(&packet(SECOND, PORT, b"request"));
    let expected = Arrival::Datagram {
        from: SocketAddr::from((SMF, 40_000)),
        local: SECOND,
        bytes: b"request",
    };
    assert_eq!(rig.n4.arrive(InterfaceId(0), &bytes), expected);
    bytes[40..42].fill(0);
    assert_eq!(rig.n4.arrive(InterfaceId(0), &bytes), expected);
    assert_eq!(rig.counters().received, 2);
}

#[test]
fn what_is_damaged_or_not_for_us_is_counted_by_its_fault() {
    let mut rig = Rig::new(true);
    let good = frame(&packet(N4, PORT, b"request"));
    let mut damaged = good.clone();
    *damaged.last_mut().unwrap() ^= 1;
    assert_eq!(rig.n4.arrive(InterfaceId(0), &damaged), Arrival::Refused);
    assert_eq!(rig.counters().checksum, 1);
    let mut header = good.clone();
    header[22] ^= 1;
    let mut short = good.clone();
    short.truncate(good.len() - 1);
    let mut lying = good.clone();
    lying[39] += 1;
    let foreign = frame(&packet(SMF, PORT, b"request"));
    let port = frame(&packet(N4, 53, b"request"));
    let bad = [
        header,
        short,
        lying,
        foreign,
        port,
        vec![],
        good[..33].to_vec(),
    ];
    for bytes in &bad {
        assert_eq!(
            rig.n4.arrive(InterfaceId(0), bytes),
            Arrival::Refused,
            "{bytes:02x?}"
        );
    }
    assert_eq!(
        rig.n4.arrive(InterfaceId(1), &good),
        Arrival::Refused,
        "elsewhere"
    );
    assert_eq!(rig.counters().malformed, bad.len() as u64 + 1);
    assert_eq!(rig.counters().received, 0);
    let mut lenient = Rig::new(false);
    assert_ne!(
        lenient.n4.arrive(InterfaceId(0), &damaged),
        Arrival::Refused
    );
}

#[test]
fn fragments_in_any_order_make_a_message_larger_than_a_packet_buffer() {
    let mut rig = Rig::new(true);
    let message: Vec<u8> = (0..7000u32).map(|i| i as u8).collect();
    let mut parts = fragments(&packet(N4, PORT, &message), 600);
    assert_eq!(parts.len(), 13);
    parts.rotate_left(5);
    let mut whole = None;
    for part in &parts {
        assert_eq!(whole, None);
        assert_eq!(rig.n4.arrive(InterfaceId(0), part), Arrival::Fragment);
        whole = rig.n4.gather(rig.pool.packet(part).unwrap(), 0);
    }
    let whole = whole.expect("all parts are there");
    match rig.n4.arrive(InterfaceId(0), &whole) {
        Arrival::Datagram { bytes, .. } => assert_eq!(bytes, message),
        other => panic!("{other:?}"),
    }
    assert_eq!(rig.counters().fragments, 13);
    rig.ends();
}

#[test]
fn fragments_that_overlap_or_stay_alone_are_counted() {
    let mut rig = Rig::new(true);
    let parts = fragments(&packet(N4, PORT, &[1; 1000]), 600);
    let first = rig.pool.packet(&parts[0]).unwrap();
    assert_eq!(rig.n4.gather(first, 0), None);
    let again = rig.pool.packet(&parts[0]).unwrap();
    assert_eq!(rig.n4.gather(again, 0), None);
    assert_eq!(rig.counters().reassembly, 2);
    let alone = rig.pool.packet(&parts[1]).unwrap();
    assert_eq!(rig.n4.gather(alone, 0), None);
    rig.n4.expire(S / 2);
    assert_eq!(rig.counters().reassembly, 2);
    rig.n4.expire(2 * S);
    assert_eq!(rig.counters().reassembly, 3);
    rig.ends();
}

#[test]
fn an_answer_leaves_from_the_address_that_was_written_to_by_the_next_station() {
    let mut rig = Rig::new(true);
    assert!(!rig.sends(FAR_SMF, b"report"), "nobody was heard");
    for local in [N4, SECOND, N4] {
        rig.hears(FAR_SMF, local);
        assert!(rig.sends(FAR_SMF, b"answer"));
        let left = rig.left();
        let [bytes] = &left[..] else { panic!() };
        let eth = Eth::parse(bytes).unwrap();
        assert_eq!((eth.destination(), eth.source()), (GATEWAY_MAC, OUR_MAC));
        assert_eq!(eth.vlan(), VlanId::new(40));
        let ip = Ipv4::parse(eth.payload()).unwrap();
        assert_eq!((ip.source(), ip.destination()), (local, FAR_SMF));
        let udp = Udp::parse(ip.payload()).unwrap();
        assert!(udp.checksum().is_some() && udp.verify(local, FAR_SMF));
        assert_eq!((udp.source_port(), udp.destination_port()), (PORT, 9999));
        assert_eq!(udp.payload(), b"answer");
    }
    rig.n4.forget(FAR_SMF);
    assert!(!rig.sends(FAR_SMF, b"report"), "a socket heard it since");
    assert_eq!(rig.counters().sent, 3);
    rig.ends();
}

#[test]
fn what_exceeds_the_mtu_leaves_in_fragments_or_not_at_all() {
    let mut rig = Rig::new(true);
    rig.hears(FAR_SMF, N4);
    let message: Vec<u8> = (0..2000u32).map(|i| i as u8).collect();
    for _ in 0..2 {
        assert!(rig.sends(FAR_SMF, &message));
    }
    let left = rig.left();
    assert_eq!(left.len(), 8);
    let mut ids = Vec::new();
    for half in left.chunks(4) {
        let mut payload = Vec::new();
        for bytes in half {
            let eth = Eth::parse(bytes).unwrap();
            let ip = Ipv4::parse(eth.payload()).unwrap();
            assert!(ip.total_len() <= 600 && !ip.dont_fragment());
            assert_eq!(usize::from(ip.fragment_offset()) * 8, payload.len());
            payload.extend_from_slice(ip.payload());
            ids.push(ip.identification());
        }
        let udp = Udp::parse(&payload).unwrap();
        assert!(udp.verify(N4, FAR_SMF));
        assert_eq!(udp.payload(), message);
    }
    assert!(ids[..4].iter().all(|id| *id == ids[0]) && ids[4] != ids[0]);
    assert!(rig.sends(FAR_SMF, &[0; 65_508]), "too long for UDP");
    assert_eq!((rig.counters().sent, rig.counters().unsent), (2, 1));
    rig.ends();
    // Three buffers for four fragments: none leaves, and none is lost.
    let mut rig = Rig::with_segments(true, 3);
    rig.hears(FAR_SMF, N4);
    assert!(rig.sends(FAR_SMF, &message));
    assert_eq!((rig.left().len(), rig.counters().unsent), (0, 1));
    rig.ends();
}

#[test]
fn where_there_are_only_ports_whoever_a_route_leads_to_is_reached_unheard() {
    let mut rig = Rig::new(true);
    rig.n4.be_only();
    assert!(rig.sends(FAR_SMF, b"associate"));
    rig.settles(0);
    let left = rig.left();
    let [bytes] = &left[..] else { panic!() };
    let eth = Eth::parse(bytes).unwrap();
    let ip = Ipv4::parse(eth.payload()).unwrap();
    assert_eq!((ip.source(), ip.destination()), (N4, FAR_SMF));
    assert!(rig.sends(SMF, b"associate"));
    assert_eq!(rig.settles(1), 1, "its station is asked for");
    rig.smf_answers(2);
    rig.settles(2);
    assert_eq!((rig.left().len(), rig.counters().sent), (1, 2));
    rig.ends();
}

#[test]
fn a_station_that_is_not_known_is_asked_for_while_its_datagrams_wait() {
    let mut rig = Rig::new(true);
    rig.hears(SMF, N4);
    assert!(rig.sends(SMF, b"one") && rig.sends(SMF, b"two"));
    assert!(rig.left().is_empty());
    assert_eq!(rig.settles(0), 1);
    assert_eq!(rig.settles(1), 0, "it is being asked for");
    rig.smf_answers(2);
    rig.settles(2);
    assert_eq!(rig.left().len(), 2);
    assert!(rig.sends(SMF, b"three"));
    assert_eq!(rig.left().len(), 1, "at once");
    // Stations change: the way is looked up anew, and found.
    rig.n4.stations_changed();
    assert!(rig.sends(SMF, b"four"));
    rig.settles(3);
    assert_eq!(rig.left().len(), 1);
    rig.ends();
}

/// Each gNB that comes or goes is such a change: a storm of answers must not wait for any of them.
#[test]
fn while_other_stations_change_datagrams_leave_at_once_and_a_new_station_is_found() {
    let mut rig = Rig::new(true);
    rig.smf_answers(0);
    rig.hears(SMF, N4);
    for round in 0..100 {
        rig.n4.stations_changed();
        for _ in 0..3 {
            assert!(rig.sends(SMF, b"answer"));
        }
        assert_eq!(rig.left().len(), 3, "round {round}");
    }
    assert_eq!((rig.counters().unresolved, rig.counters().sent), (0, 300));
    let other = MacAddr([2, 0, 0, 0, 9, 9]);
    rig.smf_answers_from(other, 1);
    assert!(rig.sends(SMF, b"it may go the old way"));
    rig.settles(2);
    rig.left();
    assert!(rig.sends(SMF, b"it goes the new way"));
    assert_eq!(rig.left()[0][..6], other.0);
    rig.ends();
}

#[test]
fn a_silent_station_costs_a_bounded_number_of_datagrams_for_a_bounded_time() {
    let mut rig = Rig::new(true);
    rig.hears(SMF, N4);
    for _ in 0..100 {
        assert!(rig.sends(SMF, b"request"));
    }
    assert_eq!(rig.counters().unresolved, 36, "64 wait");
    rig.settles(0);
    rig.settles(2 * S);
    assert!(rig.n4.has_waiting());
    rig.settles(3 * S);
    assert!(!rig.n4.has_waiting());
    assert_eq!((rig.counters().unresolved, rig.counters().sent), (100, 0));
    rig.ends();
}

proptest! {
    #[test]
    fn any_bytes_are_taken_or_refused_and_nothing_leaks(
        payload in proptest::collection::vec(any::<u8>(), 0..200),
        mtu in 68u16..300,
        flips in proptest::collection::vec((any::<u16>(), any::<u8>()), 0..6),
        cut in any::<u16>(),
        order in any::<u64>(),
    ) {
        let mut rig = Rig::new(order & 1 == 0);
        let mut parts = fragments(&packet(N4, PORT, &payload), mtu);
        let n = parts.len();
        parts.rotate_left(order as usize % n);
        for (at, bits) in flips {
            let part = &mut parts[usize::from(at) % n];
            let len = part.len();
            part[usize::from(at) % len] ^= bits;
        }
        let len = parts[0].len();
        parts[0].truncate(len.saturating_sub(usize::from(cut) % 8));
        for part in &parts {
            match rig.n4.arrive(InterfaceId(0), part) {
                Arrival::Fragment => {
                    let packet = rig.pool.packet(part).unwrap();
                    if let Some(whole) = rig.n4.gather(packet, 0) {
                        rig.n4.arrive(InterfaceId(0), &whole);
                    }
                }
                Arrival::Datagram { .. } | Arrival::Refused => {}
            }
        }
        rig.ends();
    }
}
