//! The benchmark without DPDK and without a clock: are its packets what it says, does it find
//! every wrong byte, and is a session made over N4 served by path and limit alike.

use super::fifo::{Check, Fifo, PACKETS};
use super::latency;
use super::limit::Limit;
use super::measure::measure;
use super::observe;
use super::testbed::Testbed;
use super::topology;
use super::topology::Servers;
use super::traffic::{Direction, Flow, Form, Frames, PLAIN_LEN};
use super::variant::Variant;
use crate::measure::Effort;
use crate::memory;
use crate::report::{HugePages, Outcome};
use etherparse::{Ipv4HeaderSlice, PacketBuilder};
use proptest::prelude::*;
use serde_json::Value;
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
fn inner(form: Form, ue: Ipv4Addr, direction: Direction, ttl: u8) -> Vec<u8> {
    inner_of(form, (ue, 40_000), direction, ttl)
}

fn inner_of(form: Form, (ue, port): (Ipv4Addr, u16), direction: Direction, ttl: u8) -> Vec<u8> {
    let up = direction == Direction::Uplink;
    let ports = if up { (port, 443) } else { (443, port) };
    let mut out = Vec::new();
    if form.is_ipv6 {
        let ends = (
            topology::ue_ipv6(ue).octets(),
            topology::SERVER_IPV6.octets(),
        );
        let (from, to) = if up { ends } else { (ends.1, ends.0) };
        let payload: Vec<u8> = (48..form.inner_len).map(|i| i as u8).collect();
        let packet = PacketBuilder::ipv6(from, to, ttl).udp(ports.0, ports.1);
        packet.write(&mut out, &payload).unwrap();
        return out;
    }
    let ends = (ue.octets(), topology::SERVER.octets());
    let (from, to) = if up { ends } else { (ends.1, ends.0) };
    let payload: Vec<u8> = (28..form.inner_len).map(|i| i as u8).collect();
    let packet = PacketBuilder::ipv4(from, to, ttl).udp(ports.0, ports.1);
    packet.write(&mut out, &payload).unwrap();
    // It sets DF; our packets may be cut.
    out[6] = 0;
    let header = Ipv4HeaderSlice::from_slice(&out).unwrap().to_header();
    out[10..12].copy_from_slice(&header.calc_header_checksum().to_be_bytes());
    if !form.inner_sum {
        out[26..28].fill(0);
    }
    out
}

/// A frame with GTP-U as another library builds it, its header written here by hand.
fn tunnelled(
    eth: ([u8; 6], [u8; 6]),
    ip: (Ipv4Addr, Ipv4Addr),
    (port, summed): (u16, bool),
    gtpu: &[u8],
) -> Vec<u8> {
    let packet = PacketBuilder::ethernet2(eth.1, eth.0)
        .ipv4(ip.0.octets(), ip.1.octets(), 64)
        .udp(port, 2152);
    let mut out = Vec::new();
    packet.write(&mut out, gtpu).unwrap();
    if !summed {
        out[40..42].fill(0);
    }
    out
}

fn gtpu(form: Form, teid: u32, pdu_type: u8, inner: &[u8]) -> Vec<u8> {
    let (flags, more) = if form.container { (0x34, 8) } else { (0x30, 0) };
    let mut header = vec![flags, 255];
    header.extend((inner.len() as u16 + more).to_be_bytes());
    header.extend(teid.to_be_bytes());
    if form.container {
        header.extend([0, 0, 0, 0x85, 1, pdu_type << 4, topology::QFI.get(), 0]);
    }
    [&header, inner].concat()
}

fn plain(form: Form, eth: ([u8; 6], [u8; 6]), packet: &[u8]) -> Vec<u8> {
    let ethertype = if form.is_ipv6 { [0x86, 0xdd] } else { [8, 0] };
    [&eth.0[..], &eth.1, &ethertype, packet].concat()
}

const FORMS: [Form; 7] = [
    Form::USUAL,
    Form::BARE,
    Form::CHECKSUM,
    Form::LONG_CHECKSUM,
    Form::IPV6,
    sized(44, true),
    sized(1540, false),
];

/// Such as sources write into.
const fn sized(inner_len: usize, container: bool) -> Form {
    Form {
        inner_len,
        inner_sum: false,
        container,
        ..Form::USUAL
    }
}

proptest! {
    #[test]
    fn frames_are_those_that_another_library_builds(
        form in 0..FORMS.len(), teid: u32, gnb_teid: u32, ue: u32, port in 0xc000u16..,
    ) {
        let (form, ue) = (FORMS[form], Ipv4Addr::from(ue));
        let frames = Frames::new(form, Servers::One);
        let flow = Flow::new(teid, gnb_teid, ue);
        let gnb = gnb_teid as usize % topology::GNBS;
        let (gnb_ip, gnb_mac) = (topology::gnb_address(gnb), topology::gnb_mac(gnb).0);
        let (n3, n6, dn) = (topology::N3_MAC.0, topology::N6_MAC.0, topology::DN_MAC.0);
        let [up, down] = Direction::BOTH.map(|way| move |ttl| inner(form, ue, way, ttl));
        let filled = |way| {
            let mut frame = vec![0; form.input_len(way)];
            frames.fill(way, &flow, &mut frame);
            frame
        };

        let sender = (0xc000, form.outer_sum);
        let want = tunnelled((n3, gnb_mac), (gnb_ip, topology::UPF_N3), sender, &gtpu(form, teid, 1, &up(64)));
        prop_assert_eq!(filled(Direction::Uplink), want);
        prop_assert!(frames.is_right(Direction::Uplink, &flow, &plain(form, (dn, n6), &up(63))));

        prop_assert_eq!(filled(Direction::Downlink), plain(form, (n6, dn), &down(64)));
        let out = tunnelled(
            (gnb_mac, n3), (topology::UPF_N3, gnb_ip), (port, false), &gtpu(form, gnb_teid, 0, &down(63)),
        );
        prop_assert!(frames.is_right(Direction::Downlink, &flow, &out));
        prop_assert!(frames.is_sent(Direction::Downlink, &flow, &filled(Direction::Downlink)));
    }

    #[test]
    fn a_single_wrong_bit_is_found(bit in 0..PLAIN_LEN * 8) {
        let ue = topology::ue_address(3);
        let (form, way) = (Form::USUAL, Direction::Uplink);
        let (frames, flow) = (Frames::default(), Flow::new(1, 2, ue));
        let mut out = plain(form, (topology::DN_MAC.0, topology::N6_MAC.0), &inner(form, ue, way, 63));
        prop_assert!(frames.is_right(way, &flow, &out));
        out[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(!frames.is_right(way, &flow, &out));
    }
}

/// Each session has the next address, and those that have had one before it another block.
#[test]
fn translated_frames_have_public_addresses_on_one_side() {
    let (n6, dn) = (topology::N6_MAC.0, topology::DN_MAC.0);
    let form = Form::translated(3);
    let frames = Frames::new(form, Servers::One);
    for (index, address, port) in [
        (0, [198, 18, 0, 0], 1_027),
        (1_023, [198, 18, 3, 255], 1_027),
        (1_024, [198, 18, 0, 0], 1_091),
        (1_032_191, [198, 18, 3, 255], 65_475),
    ] {
        let flow = Flow::new(7, topology::gnb_teid(index), topology::ue_address(index));
        let ue = (topology::ue_address(index), 40_003);
        let public = (Ipv4Addr::from(address), port);
        let (up, down) = (Direction::Uplink, Direction::Downlink);
        let out = plain(form, (dn, n6), &inner_of(form, public, up, 63));
        assert!(frames.is_right(up, &flow, &out), "{index}");
        let mut frame = vec![0; form.input_len(up)];
        frames.fill(up, &flow, &mut frame);
        assert!(frame.ends_with(&inner_of(form, ue, up, 64)), "{index}");
        let mut frame = vec![0; form.input_len(down)];
        frames.fill(down, &flow, &mut frame);
        let want = plain(form, (n6, dn), &inner_of(form, public, down, 64));
        assert_eq!(frame, want, "{index}");
    }
}

fn fifo(pool: &HeapPool, flows: usize) -> Fifo<HeapPacket> {
    let mut fresh = || pool.alloc();
    let frames = vec![Arc::default()];
    let mut fifo = Fifo::new(Direction::Uplink, frames, &mut fresh).unwrap();
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
    let why = fifo.judge().unwrap_err();
    assert!(why.contains("64 of 64 packets are wrong"), "{why}");
    fifo.receive(&mut burst, 3);
    burst.free();
    let why = fifo.judge().unwrap_err();
    assert!(why.contains("3 packets did not come back"), "{why}");
    // In their places come others.
    assert!(fifo.refill(&mut || pool.alloc()));
    assert_eq!((fifo.under_way(), fifo.judge()), (0, Ok(0)));
    fifo.free();
}

#[test]
fn sessions_made_over_n4_are_served_by_path_and_limit_byte_for_byte() {
    let all = Variant::DEFAULTS.into_iter().chain(Variant::RULES);
    all.for_each(served_byte_for_byte);
}

#[test]
fn foreign_teids_are_not_of_our_form_and_have_low_bits_of_their_own() {
    let low: HashSet<u32> = (0..4096)
        .map(|i| topology::foreign_teid(i) & 8191)
        .collect();
    assert_eq!(low.len(), 4096);
    assert!((0..4_000_000).all(|i| (1..1 << 31).contains(&topology::foreign_teid(i))));
}

fn world_of(sessions: u32, variant: Variant, pool: &HeapPool) -> Testbed<HeapPacket> {
    let pool = pool.clone();
    Testbed::build(sessions, variant, move || pool.alloc()).unwrap()
}

fn rules(name: &str) -> Variant {
    Variant::RULES
        .into_iter()
        .find(|variant| variant.name == name)
        .unwrap()
}

fn served_byte_for_byte(variant: Variant) {
    let pool = HeapPool::default();
    let mut testbed = world_of(100, variant, &pool);
    assert!(memory::session_pages().is_some());
    let ours = |flow: &Flow| flow.teid >> 31 == 1;
    let chosen_by_up = !variant.foreign_teids;
    assert_eq!(testbed.flows.iter().all(ours), chosen_by_up);
    assert_eq!(testbed.flows.iter().any(ours), chosen_by_up);
    let compared = testbed.prove().unwrap();
    assert!(compared >= 200, "{compared}");
    let ledger = testbed.ledger();
    assert_eq!((ledger.transmitted, ledger.dropped_total()), (compared, 0));
    let mut limit = Limit::new(&testbed).unwrap();
    let by_limit = if variant == Variant::BARE { 100 } else { 200 };
    assert!(limit.prove(&mut testbed).unwrap() >= compared + by_limit);
    assert_eq!(testbed.reports, 0);
    testbed.end();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
    assert!(compared < 2 * PACKETS as u64);
}

#[test]
fn armed_sessions_report_while_they_are_measured() {
    let pool = HeapPool::default();
    let armed = Variant::RULES.into_iter().find(|v| v.name == "armed");
    let mut testbed = world_of(4, armed.unwrap(), &pool);
    testbed.open(&Direction::BOTH, Check::Every);
    // Each threshold is some 6,000 packets of a session.
    for _ in 0..10_000 {
        testbed.turn();
    }
    assert!(testbed.reports > 4, "{} reports", testbed.reports);
    testbed.verdict().unwrap();
    testbed.end();
}

#[test]
fn of_sessions_above_their_rate_packets_wait_and_the_rest_is_dropped_as_shaping() {
    let pool = HeapPool::default();
    let variant = rules("shape");
    let mut testbed = world_of(100, variant, &pool);
    for case in super::measure::cases(&variant) {
        testbed.open(case.directions, Check::Every);
        let before = testbed.ledger();
        // Queues of 10 sessions fill at a fifth of what comes for them.
        while testbed.ledger().received < before.received + 3_000_000 {
            testbed.turn();
        }
        let full = testbed.ledger();
        assert!(full.held > 1_000, "{}: {full}", case.name);
        testbed.verdict().unwrap();
        let after = testbed.ledger();
        let dropped = after.dropped_total() - before.dropped_total();
        let share = dropped as f64 / (after.received - before.received) as f64;
        // Of a tenth of the packets a fifth, less what waited until the end.
        assert!((0.005..0.021).contains(&share), "{}: {share}", case.name);
        assert_eq!(after.held, 0);
    }
    testbed.end();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

#[test]
fn idle_ues_are_paged_before_their_packets_leave() {
    let pool = HeapPool::default();
    let variant = rules("paging");
    let mut testbed = world_of(2_000, variant, &pool);
    let cases = super::measure::cases(&variant);
    assert_eq!(cases.len(), 1);
    let mut limit = Limit::new(&testbed).unwrap();
    measure(&mut limit, &mut testbed, &cases[0], QUICK).unwrap();
    assert!(testbed.reports >= 2 * 1_024, "{}", testbed.reports);
    let ledger = testbed.ledger();
    assert_eq!((ledger.held, ledger.dropped_total()), (0, 0), "{ledger}");
    testbed.end();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

/// In each form that gNBs send, by path and limit.
#[test]
fn packets_of_each_form_are_served() {
    let pool = HeapPool::default();
    let mut testbed = world_of(100, Variant::USUAL, &pool);
    let mut limit = Limit::new(&testbed).unwrap();
    for case in super::measure::cases(&Variant::USUAL) {
        measure(&mut limit, &mut testbed, &case, QUICK).unwrap();
    }
    testbed.end();
}

#[test]
fn looking_at_the_path_changes_no_byte_of_its_packets() {
    let pool = HeapPool::default();
    let mut testbed = world_of(100, Variant::USUAL, &pool);
    let observed = observe::measure(&mut testbed, QUICK, NORMAL_PAGES).unwrap();
    let counts = ["packets_followed", "pages_made"].map(|key| &observed.json[key]);
    assert!(counts.iter().all(|n| n.as_u64() > Some(0)), "{observed:?}");
    assert!(testbed.verdict().unwrap() > 0);
    testbed.end();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

#[test]
fn packets_that_come_by_the_clock_are_all_timed_and_right() {
    let pool = HeapPool::default();
    let mut testbed = world_of(100, Variant::USUAL, &pool);
    let mut limit = Limit::new(&testbed).unwrap();
    let latencies = latency::measure(&mut limit, &mut testbed, QUICK, NORMAL_PAGES).unwrap();
    let figure = |of: &Outcome, path: &str| of.json.pointer(path).and_then(Value::as_f64).unwrap();
    let loads: Vec<f64> = latencies
        .iter()
        .map(|l| figure(l, "/load_percent"))
        .collect();
    assert_eq!(loads, latency::LOADS_PERCENT.map(f64::from));
    for l in &latencies {
        for who in ["path", "limit"] {
            let [p50, p99, p999] = ["p50_ns", "p99_ns", "p99_9_ns"]
                .map(|share| figure(l, &format!("/{who}/{share}/median")));
            assert!(0.0 < p50 && p50 <= p99 && p99 <= p999, "{l:?}");
        }
    }
    // Eight times the load is more packets, whatever else the machine does.
    let [low, high] = &latencies[..] else {
        panic!("two loads");
    };
    let (least, most) = ("/path/mpps/min", "/path/mpps/max");
    assert!(figure(low, most) < figure(high, least), "{low:?} {high:?}");
    testbed.end();
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}
