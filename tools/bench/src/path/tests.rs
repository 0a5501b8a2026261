//! The benchmark without DPDK and without a clock: are its packets what it says, does it find
//! every wrong byte, and is a session made over N4 served by path and limit alike.

use super::fifo::{Check, Fifo, PACKETS};
use super::latency;
use super::measure::Bench;
use super::observe;
use super::smf::Variant;
use super::testbed::Testbed;
use super::topology;
use super::traffic::{Direction, Flow, Frames, INNER_LEN, PLAIN_LEN, TUNNEL_LEN, UplinkForm};
use crate::report::{Effort, HugePages};
use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use proptest::prelude::*;
use sluice_port::{Burst, Packet};
use sluice_port_sim::{HeapPacket, HeapPool};
use std::collections::HashSet;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

const QUICK: Effort = Effort {
    reps: 1,
    each: Duration::from_millis(40),
};
const NORMAL_PAGES: HugePages = HugePages {
    packets: false,
    sessions: false,
};

/// The inner packet as another library builds it.
fn inner(src: Ipv4Addr, dst: Ipv4Addr, ports: (u16, u16), ttl: u8) -> Vec<u8> {
    let payload: Vec<u8> = (28..INNER_LEN as u8).collect();
    let packet = PacketBuilder::ipv4(src.octets(), dst.octets(), ttl).udp(ports.0, ports.1);
    let mut out = Vec::new();
    packet.write(&mut out, &payload).unwrap();
    // It sets DF; our packets may be cut.
    out[6] = 0;
    let sum = etherparse::Ipv4HeaderSlice::from_slice(&out)
        .unwrap()
        .to_header();
    out[10..12].copy_from_slice(&sum.calc_header_checksum().to_be_bytes());
    out
}

/// A frame with GTP-U as another library builds it, its header written here by hand.
fn tunnelled(eth: ([u8; 6], [u8; 6]), ip: (Ipv4Addr, Ipv4Addr), port: u16, gtpu: &[u8]) -> Vec<u8> {
    let packet = PacketBuilder::ethernet2(eth.1, eth.0)
        .ipv4(ip.0.octets(), ip.1.octets(), 64)
        .udp(port, 2152);
    let mut out = Vec::new();
    packet.write(&mut out, gtpu).unwrap();
    // The checksum of the outer UDP datagram is left out (RFC 768).
    out[40..42].fill(0);
    out
}

fn gtpu(teid: u32, pdu_type: u8, inner: &[u8]) -> Vec<u8> {
    let mut header = vec![0x34, 255, 0, (inner.len() + 8) as u8];
    header.extend(teid.to_be_bytes());
    header.extend([0, 0, 0, 0x85, 1, pdu_type << 4, topology::QFI.get(), 0]);
    [&header, inner].concat()
}

fn plain(eth: ([u8; 6], [u8; 6]), packet: &[u8]) -> Vec<u8> {
    [&eth.0[..], &eth.1, &[8, 0], packet].concat()
}

proptest! {
    #[test]
    fn frames_are_those_that_another_library_builds(teid: u32, gnb_teid: u32, ue: u32, port in 0xc000u16..) {
        let (frames, ue) = (Frames::default(), Ipv4Addr::from(ue));
        let flow = Flow::new(teid, gnb_teid, ue);
        let gnb = gnb_teid as usize % topology::GNBS;
        let (gnb_ip, gnb_mac) = (topology::gnb_address(gnb), topology::gnb_mac(gnb).0);
        let (n3, n6, dn) = (topology::N3_MAC.0, topology::N6_MAC.0, topology::DN_MAC.0);
        let up = |ttl| inner(ue, topology::SERVER, (40_000, 443), ttl);
        let down = |ttl| inner(topology::SERVER, ue, (443, 40_000), ttl);

        let mut frame = [0; TUNNEL_LEN];
        frames.fill(Direction::Uplink, &flow, &mut frame);
        let want = tunnelled((n3, gnb_mac), (gnb_ip, topology::UPF_N3), 0xc000, &gtpu(teid, 1, &up(64)));
        prop_assert_eq!(&frame[..], want);
        prop_assert!(frames.is_right(Direction::Uplink, &flow, &plain((dn, n6), &up(63))));

        let mut frame = [0; PLAIN_LEN];
        frames.fill(Direction::Downlink, &flow, &mut frame);
        prop_assert_eq!(&frame[..], plain((n6, dn), &down(64)));
        let out = tunnelled((gnb_mac, n3), (topology::UPF_N3, gnb_ip), port, &gtpu(gnb_teid, 0, &down(63)));
        prop_assert!(frames.is_right(Direction::Downlink, &flow, &out));
    }

    #[test]
    fn a_single_wrong_bit_is_found(bit in 0..PLAIN_LEN * 8) {
        let (frames, flow) = (Frames::default(), Flow::new(1, 2, topology::ue_address(3)));
        let ttl = inner(topology::ue_address(3), topology::SERVER, (40_000, 443), 63);
        let mut out = plain((topology::DN_MAC.0, topology::N6_MAC.0), &ttl);
        prop_assert!(frames.is_right(Direction::Uplink, &flow, &out));
        out[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(!frames.is_right(Direction::Uplink, &flow, &out));
    }
}

fn fifo(pool: &HeapPool, flows: usize) -> Fifo<HeapPacket> {
    let mut fresh = || pool.alloc();
    let mut fifo = Fifo::new(Direction::Uplink, Arc::default(), &mut fresh).unwrap();
    let flow = |i| Flow::new(i + 1, i + 1, topology::ue_address(i));
    fifo.set_flows((0..flows as u32).map(flow).collect());
    fifo
}

#[test]
fn every_session_has_its_turn_in_the_order_given() {
    let pool = HeapPool::default();
    let mut fifo = fifo(&pool, 300);
    fifo.set_check(Check::Nothing);
    let mut burst = Burst::new();
    for round in 0..40 {
        assert_eq!(fifo.receive(&mut burst, 100), 100);
        for (i, packet) in burst.iter().enumerate() {
            let teid = u32::from_be_bytes(packet.data()[46..50].try_into().unwrap());
            assert_eq!(teid as usize, (round * 100 + i) % 300 + 1);
        }
        fifo.give_back(&mut burst);
    }
    assert_eq!((fifo.returned(), fifo.judge()), (4000, Ok(0)));
    fifo.free();
}

#[test]
fn packets_that_come_back_untouched_or_not_at_all_are_found() {
    let pool = HeapPool::default();
    let mut fifo = fifo(&pool, 10);
    let mut burst = Burst::new();
    fifo.receive(&mut burst, 64);
    fifo.give_back(&mut burst);
    assert!(
        fifo.judge()
            .unwrap_err()
            .contains("64 of 64 packets are wrong")
    );
    fifo.receive(&mut burst, 3);
    burst.free();
    assert!(
        fifo.judge()
            .unwrap_err()
            .contains("3 packets did not come back")
    );
    fifo.free();
}

#[test]
fn sessions_made_over_n4_are_served_by_path_and_limit_byte_for_byte() {
    for variant in Variant::ALL {
        served_byte_for_byte(variant);
    }
}

#[test]
fn foreign_teids_are_not_of_our_form_and_have_low_bits_of_their_own() {
    let low: HashSet<u32> = (0..4096)
        .map(|i| topology::foreign_teid(i) & 8191)
        .collect();
    assert_eq!(low.len(), 4096);
    assert!((0..4_000_000).all(|i| (1..1 << 31).contains(&topology::foreign_teid(i))));
}

fn served_byte_for_byte(variant: Variant) {
    let pool = HeapPool::default();
    let mut world = Testbed::build(100, variant, || pool.alloc()).unwrap();
    let ours = |flow: &Flow| flow.teid >> 31 == 1;
    let chosen_by_up = variant != Variant::ForeignTeids;
    assert_eq!(world.flows.iter().all(ours), chosen_by_up);
    assert_eq!(world.flows.iter().any(ours), chosen_by_up);
    let compared = world.prove().unwrap();
    assert!(compared >= 200, "{compared}");
    let ledger = world.ledger();
    assert_eq!((ledger.transmitted, ledger.dropped_total()), (compared, 0));
    let mut limit = Bench::new(&world).unwrap();
    let by_limit = if variant == Variant::Bare { 100 } else { 200 };
    assert!(limit.prove(&mut world).unwrap() >= compared + by_limit);
    world.end();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
    assert!(compared < 2 * PACKETS as u64);
}

/// In each form that gNBs send, by path and limit; each octet is compared, and one that another library
/// finds damaged is not taken.
#[test]
fn packets_of_each_form_are_served() {
    let pool = HeapPool::default();
    let mut world = Testbed::build(100, Variant::Usual, || pool.alloc()).unwrap();
    let mut bench = Bench::new(&world).unwrap();
    for case in super::measure::CASES {
        if case.variant == Variant::Usual {
            bench.measure(&mut world, case, QUICK).unwrap();
        }
    }
    let mut frame = [0; TUNNEL_LEN];
    for flow in world.flows.iter() {
        Frames::default().fill_uplink(UplinkForm::Checksum, flow, &mut frame);
        let ip = etherparse::Ipv4HeaderSlice::from_slice(&frame[14..])
            .unwrap()
            .to_header();
        let (udp, payload) = etherparse::UdpHeader::from_slice(&frame[34..]).unwrap();
        assert_eq!(udp.calc_checksum_ipv4(&ip, payload).unwrap(), udp.checksum);
    }
    world.end();
}

#[test]
fn looking_at_the_path_changes_no_byte_of_its_packets() {
    let pool = HeapPool::default();
    let mut world = Testbed::build(100, Variant::Usual, || pool.alloc()).unwrap();
    let observed = observe::measure(&mut world, QUICK, NORMAL_PAGES).unwrap();
    assert!(observed.followed > 0 && observed.pages > 0, "{observed:?}");
    assert!(world.verdict().unwrap() > 0);
    world.end();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

#[test]
fn packets_that_come_by_the_clock_are_all_timed_and_right() {
    let pool = HeapPool::default();
    let mut world = Testbed::build(100, Variant::Usual, || pool.alloc()).unwrap();
    let mut limit = Bench::new(&world).unwrap();
    let latencies = latency::measure(&mut limit, &mut world, QUICK, NORMAL_PAGES).unwrap();
    let loads: Vec<u32> = latencies.iter().map(|l| l.load_percent).collect();
    assert_eq!(loads, latency::LOADS_PERCENT);
    for l in &latencies {
        for times in [&l.path, &l.limit] {
            assert!(times.p50.min > 0.0 && times.mpps.min > 0.0, "{l:?}");
            assert!(times.p50.median <= times.p99.median && times.p99.median <= times.p999.median);
        }
    }
    // Eight times the load is more packets, whatever else the machine does.
    let [low, high] = &latencies[..] else {
        panic!("two loads");
    };
    assert!(low.path.mpps.max < high.path.mpps.max, "{low:?} {high:?}");
    world.end();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

#[test]
fn what_leaves_is_read_by_another_library() {
    let (frames, flow) = (
        Frames::default(),
        Flow::new(77, 78, topology::ue_address(9)),
    );
    let mut frame = [0; TUNNEL_LEN];
    frames.fill(Direction::Uplink, &flow, &mut frame);
    let outer = SlicedPacket::from_ethernet(&frame).unwrap();
    let Some(NetSlice::Ipv4(ip)) = outer.net else {
        panic!("no IPv4");
    };
    assert_eq!(ip.header().source_addr(), topology::gnb_address(14));
    assert_eq!(
        ip.header().to_header().calc_header_checksum(),
        ip.header().header_checksum()
    );
    let Some(TransportSlice::Udp(udp)) = outer.transport else {
        panic!("no UDP");
    };
    assert_eq!(udp.destination_port(), 2152);
}
