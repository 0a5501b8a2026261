//! Shaping on the path, in virtual time: rate, order and bounds of what waits, and what becomes of it when
//! rules change.

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, PeerId, WorkerId};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::{Body, BucketRef, Flags, Rule, SharedBucket};
use sluice_datapath::session::token_bucket::Shaping;
use sluice_datapath::session::token_bucket::{Lead, Rate};
use sluice_datapath::session::txn::{Clock, EndMarker, HeldOrder, Op};
use sluice_mem::shard::ShardId;
use std::net::Ipv4Addr;

const MS: u64 = 1_000_000;

fn shaping() -> Shaping {
    Shaping {
        burst: Lead::from_ns(MS),
        delay: Lead::from_ns(100 * MS),
        session_packets: 16_384,
        worker_packets: 32_768,
    }
}

/// A path that shapes.
fn kit_with(shaping: Shaping) -> Kit {
    let mut kit = Kit::new();
    kit.tables.shaping = shaping;
    publish(&mut kit);
    kit
}

fn publish(kit: &mut Kit) {
    kit.control.publish(kit.tables.clone());
}

fn shaped(rate_bps: u64) -> Rate {
    Rate::from_bps(rate_bps).unwrap().shaped()
}

/// The downlink of the default session at a shaped rate.
fn limited(rate_bps: u64) -> SessionEntry {
    let mut entry = downlink();
    entry.body.rate0 = shaped(rate_bps);
    entry
}

fn limit(kit: &mut Kit, s: Session, rate_bps: u64) {
    let op = Op::Entry {
        at: EntryId(s.dl),
        image: limited(rate_bps),
        clocks: [Clock::Entry(s.dl, 0), Clock::Full],
    };
    kit.apply(s.dl, &[op], &[]);
}

/// A downlink packet of `len` octets with a number of its own, of one of 1,000 flows.
fn numbered(number: u32, len: usize) -> Vec<u8> {
    numbered_to(UE, number, len)
}

fn numbered_to(ue: Ipv4Addr, number: u32, len: usize) -> Vec<u8> {
    let mut payload = vec![0; len - 28];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    udp_packet(SERVER, ue, (1_000 + (number % 1_000) as u16, 9), &payload)
}

/// The number of a packet that left, downlink.
fn number(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14 + 44 + 28..][..4].try_into().unwrap())
}

/// Arrivals and departures of one session's downlink, turn by turn.
struct Run {
    kit: Kit,
    /// Times and numbers of what left.
    left: Vec<(u64, u32)>,
}

impl Run {
    /// Lets time pass to `at_ns`, by every time at which a packet is due.
    fn pass(&mut self, at_ns: u64) {
        while let Some(due_ns) = self.kit.workers[0]
            .next_due_ns()
            .filter(|due| *due <= at_ns)
        {
            self.turn(due_ns.max(self.kit.now_ns));
        }
        self.turn(at_ns);
    }

    fn turn(&mut self, at_ns: u64) {
        self.kit.now_ns = at_ns;
        self.kit.net.advance_to(at_ns);
        self.kit.workers[0].turn(at_ns);
        let frames = output(&self.kit.n3);
        self.left
            .extend(frames.iter().map(|frame| (at_ns, number(frame))));
    }

    fn send(&mut self, number: u32, len: usize) {
        let frame = frame(
            N6_MAC,
            DN_MAC,
            sluice_wire::eth::EtherType::IPV4,
            &numbered(number, len),
        );
        self.kit.n6.inject(&frame);
    }
}

/// Sends `packets` at `offered` times the rate, `burst` at a time, and says how far the rate of what left is
/// from the wanted one, once the first burst is through.
fn rate_error(rate_bps: u64, len: usize, offered: f64, burst: u32, packets: u32) -> f64 {
    let mut kit = kit_with(shaping());
    let s = kit.default_session();
    limit(&mut kit, s, rate_bps);
    let mut run = Run { kit, left: vec![] };
    let start_ns = run.kit.now_ns;
    let packet_ns = len as f64 * 8e9 / rate_bps as f64;
    let mut sent = 0;
    // Packets that had left when the first had to wait: from then on the bucket is empty.
    let mut at_once = None;
    while at_once.is_none_or(|n| run.left.len() < n + packets as usize) {
        let at_ns = start_ns + (f64::from(sent) * packet_ns / offered) as u64;
        run.pass(at_ns);
        for _ in 0..burst {
            run.send(sent, len);
            sent += 1;
        }
        run.turn(at_ns);
        if run.kit.control.stats()[0].shaped.get() > 0 {
            at_once.get_or_insert(run.left.len());
        }
    }
    assert!(
        run.left.is_sorted_by_key(|(_, number)| *number),
        "out of order"
    );
    let (steady, last) = (&run.left[at_once.unwrap()..], run.left.last().unwrap());
    let took_ns = (last.0 - steady[0].0) as f64;
    let got_bps = (steady.len() - 1) as f64 * len as f64 * 8e9 / took_ns;
    run.kit.close();
    got_bps / rate_bps as f64 - 1.0
}

#[test]
fn the_rate_is_kept_to_one_percent_from_64_kbps_to_10_gbps() {
    for (rate_bps, len) in [
        (64_000, 100),
        (1_000_000, 1400),
        (77_777_777, 700),
        (1_000_000_000, 1400),
        (10_000_000_000, 1400),
    ] {
        // Bursts of 1 and of up to 90 ms at the rate, which is less than a packet may wait.
        let most = (rate_bps as f64 * 0.09 / 8.0 / len as f64) as u32;
        for (offered, burst) in [
            (1.02, 1),
            (1.5, 1),
            (1.2, most.min(16)),
            (3.0, most.min(64)),
        ] {
            let error = rate_error(rate_bps, len, offered, burst, 12_000);
            println!("{rate_bps} bit/s, {offered} offered by {burst}: {error:+.5}");
            assert!(error.abs() <= 0.01, "{rate_bps} {offered} {burst}: {error}");
        }
    }
}

/// 1,000 sessions, each at a rate of its own, at the same time: 150,000 packets.
#[test]
fn the_rates_of_1_000_sessions_are_kept_to_one_percent() {
    const SESSIONS: u32 = 1_000;
    const LEN: usize = 1_000;
    let mut kit = kit_with(shaping());
    let ue = |n: u32| Ipv4Addr::from(0x0a2d_0100 + n);
    let rate_bps = |n: u32| 800_000 + 777 * u64::from(n);
    for n in 0..SESSIONS {
        let at = kit.layout.pool_entry(INTERNET, ue(n).into()).unwrap().0;
        let mut entry = limited(rate_bps(n));
        (entry.key, entry.ue_ip) = (ue(n).into(), ue(n).into());
        kit.apply(at, &[set(at, entry)], &[]);
    }
    let mut left: Vec<Vec<(u64, u32)>> = vec![vec![]; SESSIONS as usize];
    let mut sent = vec![0u32; SESSIONS as usize];
    let start_ns = kit.now_ns;
    // A tenth more than the rate, in steps of a millisecond; 3200 octets pass at once, so that 45 packets have
    // left when the last bucket is empty.
    for step in 0..1_000u64 {
        let until_ns = start_ns + step * MS;
        loop {
            let due_ns = kit.workers[0].next_due_ns().unwrap_or(u64::MAX);
            kit.now_ns = due_ns.min(until_ns).max(kit.now_ns);
            kit.net.advance_to(kit.now_ns);
            kit.workers[0].turn(kit.now_ns);
            for frame in output(&kit.n3) {
                let inner = &frame[14 + 44..];
                let ue = u32::from_be_bytes(inner[16..20].try_into().unwrap()) - 0x0a2d_0100;
                left[ue as usize].push((kit.now_ns, number(&frame)));
            }
            if due_ns > until_ns {
                break;
            }
        }
        for n in 0..SESSIONS {
            let wanted = (rate_bps(n) as f64 * 1.1 * step as f64 / 8e3 / LEN as f64) as u32;
            for number in sent[n as usize]..wanted {
                let packet = numbered_to(ue(n), number, LEN);
                let frame = frame(N6_MAC, DN_MAC, sluice_wire::eth::EtherType::IPV4, &packet);
                kit.n6.inject(&frame);
                kit.workers[0].turn(kit.now_ns);
            }
            sent[n as usize] = wanted;
        }
    }
    for n in 0..SESSIONS {
        let left = &left[n as usize];
        assert!(left.is_sorted_by_key(|(_, number)| *number), "session {n}");
        let waited = &left[45..];
        let took_ns = (waited[waited.len() - 1].0 - waited[0].0) as f64;
        let got_bps = (waited.len() - 1) as f64 * LEN as f64 * 8e9 / took_ns;
        let error = got_bps / rate_bps(n) as f64 - 1.0;
        assert!(error.abs() <= 0.01, "session {n}: {error}");
    }
    let all: usize = left.iter().map(Vec::len).sum();
    assert!(all > 100_000, "{all}");
    kit.close();
}

#[test]
fn within_the_rate_nothing_waits_and_all_take_the_fast_path() {
    let mut kit = kit_with(shaping());
    let s = kit.default_session();
    limit(&mut kit, s, 100_000_000);
    let slow_before: u64 = slow(&kit);
    for n in 0..1_000 {
        kit.now_ns += 112_000;
        kit.dn_sends(&numbered(n, 1400));
    }
    assert_eq!(output(&kit.n3).len(), 1_000);
    assert_eq!(slow(&kit), slow_before);
    assert_eq!(kit.control.stats()[0].shaped.get(), 0);
    kit.close();
}

fn slow(kit: &Kit) -> u64 {
    kit.control.stats()[0].slow.iter().map(|c| c.get()).sum()
}

/// Twenty packets of 1000 octets at 8 Mbit/s, 1 ms of burst (3 packets, as 3200 octets always pass): one
/// leaves each millisecond.
fn twenty_wait(kit: &mut Kit) -> Session {
    let s = kit.default_session();
    limit(kit, s, 8_000_000);
    for n in 0..20 {
        kit.dn_sends(&numbered(n, 1000));
    }
    let left = output(&kit.n3);
    assert_eq!(left.len(), 3);
    assert_eq!(kit.control.ledger().held, 17);
    s
}

fn later(kit: &mut Kit, ms: u64) -> Vec<u32> {
    let mut left = vec![];
    for _ in 0..ms {
        kit.now_ns += MS;
        kit.settle();
        left.extend(output(&kit.n3).iter().map(|frame| number(frame)));
    }
    left
}

#[test]
fn what_waits_leaves_in_order_and_pays_once() {
    let mut kit = kit_with(shaping());
    let s = twenty_wait(&mut kit);
    assert_eq!(later(&mut kit, 40), (3..20).collect::<Vec<_>>());
    let usage = kit.apply(s.dl, &[Op::TakeEntry { at: EntryId(s.dl) }], &[]);
    assert_eq!((usage[0].bytes, usage[0].packets), (20_000, 20));
    // The mark is gone with the last: the fast path again.
    let before = slow(&kit);
    kit.dn_sends(&numbered(99, 1000));
    assert_eq!((output(&kit.n3).len(), slow(&kit)), (1, before));
    kit.close();
}

#[test]
fn a_rate_that_is_lifted_lets_none_overtake() {
    let mut kit = kit_with(shaping());
    let s = twenty_wait(&mut kit);
    kit.apply(s.dl, &[set(s.dl, downlink())], &[]);
    for n in 20..30 {
        kit.dn_sends(&numbered(n, 1000));
    }
    assert_eq!(output(&kit.n3).len(), 0);
    assert_eq!(later(&mut kit, 40), (3..30).collect::<Vec<_>>());
    kit.close();
}

#[test]
fn what_waits_takes_the_new_path_behind_the_end_marker() {
    let mut kit = kit_with(shaping());
    let s = twenty_wait(&mut kit);
    let mut elsewhere = limited(8_000_000);
    elsewhere.head.teid = GNB_TEID + 1;
    let op = Op::Entry {
        at: EntryId(s.dl),
        image: elsewhere,
        clocks: [Clock::Entry(s.dl, 0), Clock::Full],
    };
    let marker = EndMarker {
        peer: PeerId(0),
        teid: GNB_TEID,
    };
    kit.apply(s.dl, &[op], &[marker]);
    let markers = output(&kit.n3);
    assert_eq!(markers.len(), 1);
    assert_eq!(markers[0][14 + 28 + 1], 254);
    let mut numbers = vec![];
    for _ in 0..40 {
        kit.now_ns += MS;
        kit.settle();
        for frame in output(&kit.n3) {
            assert_eq!(frame[14 + 28 + 4..][..4], (GNB_TEID + 1).to_be_bytes());
            numbers.push(number(&frame));
        }
    }
    assert_eq!(numbers, (3..20).collect::<Vec<_>>());
    kit.close();
}

#[test]
fn what_waits_for_a_session_goes_with_it() {
    let mut kit = kit_with(shaping());
    let s = twenty_wait(&mut kit);
    kit.apply(s.dl, &[set(s.dl, SessionEntry::default())], &[]);
    assert_eq!(kit.dropped(DropReason::SessionChanged), 17);
    assert_eq!(kit.control.ledger().held, 0);
    // The next session of this address begins with nothing before it.
    kit.apply(s.dl, &[set(s.dl, downlink())], &[]);
    kit.dn_sends(&numbered(0, 1000));
    assert_eq!(output(&kit.n3).len(), 1);
    kit.close();
}

#[test]
fn what_waits_is_held_in_front_of_what_comes_for_an_idle_ue() {
    let mut kit = kit_with(shaping());
    let s = twenty_wait(&mut kit);
    kit.apply(s.dl, &[set(s.dl, holding(downlink(), None))], &[]);
    for n in 20..25 {
        kit.dn_sends(&numbered(n, 1000));
    }
    assert_eq!(later(&mut kit, 40), [0; 0]);
    let stats = &kit.control.stats()[0];
    assert_eq!((stats.held_for_ues.get(), stats.shaped_held.get()), (22, 0));
    // Active again, at the same rate: they draw on it when they leave, and those that come meanwhile behind them.
    let active = set(s.dl, limited(8_000_000));
    kit.apply(s.dl, &[active, held(s.dl, HeldOrder::Again)], &[]);
    for n in 25..30 {
        kit.dn_sends(&numbered(n, 1000));
    }
    let frames = output(&kit.n3);
    let mut numbers: Vec<u32> = frames.iter().map(|frame| number(frame)).collect();
    assert_eq!(numbers.len(), 3);
    // Idle and active again while some of them wait.
    numbers.extend(later(&mut kit, 5));
    kit.apply(s.dl, &[set(s.dl, holding(downlink(), None))], &[]);
    kit.dn_sends(&numbered(30, 1000));
    let active = set(s.dl, limited(8_000_000));
    kit.apply(s.dl, &[active, held(s.dl, HeldOrder::Again)], &[]);
    numbers.extend(later(&mut kit, 60));
    assert_eq!(numbers, (3..31).collect::<Vec<_>>());
    kit.close();
}

#[test]
fn a_gate_that_closes_meanwhile_stops_what_waits() {
    let mut kit = kit_with(shaping());
    let s = twenty_wait(&mut kit);
    let mut closed = limited(8_000_000);
    closed.head.flags = closed.head.flags.with(Flags::GATE_CLOSED);
    kit.apply(s.dl, &[set(s.dl, closed)], &[]);
    assert_eq!(later(&mut kit, 40), [0; 0]);
    assert_eq!(kit.dropped(DropReason::GateClosed), 17);
    kit.close();
}

#[test]
fn delay_and_memory_are_bounded() {
    let mut kit = kit_with(Shaping {
        session_packets: 50,
        ..shaping()
    });
    let s = kit.default_session();
    limit(&mut kit, s, 8_000_000);
    for n in 0..60 {
        kit.dn_sends(&numbered(n, 1000));
    }
    assert_eq!(kit.dropped(DropReason::ShapingFull), 60 - 3 - 50);
    let first: Vec<u32> = output(&kit.n3).iter().map(|frame| number(frame)).collect();
    assert_eq!(first, [0, 1, 2]);
    assert_eq!(later(&mut kit, 60), (3..53).collect::<Vec<_>>());
    // What did not fit has paid nothing.
    kit.tables.shaping = shaping();
    publish(&mut kit);
    kit.now_ns += 100 * MS;
    for n in 0..120 {
        kit.dn_sends(&numbered(n, 1000));
    }
    // Some 0.24 ms have passed meanwhile.
    assert_eq!(kit.dropped(DropReason::ShapingDelay), 120 - 3 - 100);
    assert_eq!(output(&kit.n3).len(), 3);
    assert_eq!(later(&mut kit, 110), (3..103).collect::<Vec<_>>());
    kit.close();
}

#[test]
fn all_memory_of_a_worker_is_bounded() {
    let mut kit = kit_with(Shaping {
        worker_packets: 10,
        ..shaping()
    });
    let s = kit.default_session();
    limit(&mut kit, s, 8_000_000);
    for n in 0..20 {
        kit.dn_sends(&numbered(n, 1000));
    }
    assert_eq!(kit.dropped(DropReason::ShapingFull), 20 - 3 - 10);
    kit.close();
}

#[test]
fn one_flow_waits_and_another_does_not() {
    let mut kit = kit_with(shaping());
    let s = kit.default_session();
    // Two rules: QFI 1 is limited, all else is not. They stand in an extension block of the shard.
    let block = sluice_datapath::ids::BlockId(SHARDS + s.ul % SHARDS);
    let bucket = BucketRef::new(block, 0);
    let entry = uplink(s.teid);
    let mut head = entry.head;
    head.flags = head.flags.with(Flags::MATCH_QFI);
    head.qfi_match = 1;
    let mut first = Rule::new(
        head,
        Default::default(),
        Default::default(),
        Body::default(),
    );
    first.buckets[0] = bucket;
    let second = Rule::new(
        entry.head,
        Default::default(),
        Default::default(),
        Body::default(),
    );
    let mut extended = entry;
    extended.head.flags = extended.head.flags.with(Flags::EXTENDED);
    extended.head.teid = block.0;
    let rule = |at, image| Op::Rule { block, at, image };
    kit.apply(
        s.ul,
        &[
            rule(0, first),
            rule(1, second),
            Op::Chain {
                block,
                next: sluice_datapath::ids::BlockId(0),
                rules_len: 2,
            },
            Op::Bucket {
                at: bucket,
                image: SharedBucket::new(shaped(8_000_000)),
                clock: Clock::Full,
            },
            set(s.ul, extended),
        ],
        &[],
    );
    let packet = |n: u32| {
        let mut payload = vec![0; 972];
        payload[..4].copy_from_slice(&n.to_be_bytes());
        udp_packet(UE, SERVER, (9, 9), &payload)
    };
    let plain = |frame: &Vec<u8>| u32::from_be_bytes(frame[14 + 28..][..4].try_into().unwrap());
    for n in 0..20 {
        kit.n3.inject(&gtpu_frame(GNB, s.teid.get(), 1, &packet(n)));
        kit.n3
            .inject(&gtpu_frame(GNB, s.teid.get(), 9, &packet(100 + n)));
    }
    kit.settle();
    let at_once: Vec<u32> = output(&kit.n6).iter().map(plain).collect();
    let (limited, free): (Vec<u32>, Vec<u32>) = at_once.iter().partition(|n| **n < 100);
    assert_eq!(limited, [0, 1, 2]);
    assert_eq!(free, (100..120).collect::<Vec<_>>());
    let mut left = vec![];
    for _ in 0..40 {
        kit.now_ns += MS;
        kit.settle();
        left.extend(output(&kit.n6).iter().map(plain));
    }
    assert_eq!(left, (3..20).collect::<Vec<_>>());
    kit.close();
}

#[test]
fn an_end_marker_goes_behind_what_waits() {
    let mut kit = kit_with(shaping());
    let s = kit.default_session();
    // From tunnel to tunnel.
    let mut relay = uplink(s.teid);
    relay.head.flags = relay.head.flags.with(Flags::CREATE_OUTER);
    relay.head.teid = GNB_TEID;
    relay.body.rate0 = shaped(8_000_000);
    kit.apply(s.ul, &[set(s.ul, relay)], &[]);
    let packet = udp_packet(UE, SERVER, (9, 9), &[0; 972]);
    for _ in 0..6 {
        kit.gnb_sends(s.teid.get(), &packet);
    }
    let mut marker = gtpu_frame(GNB, s.teid.get(), 9, &[]);
    marker[14 + 28 + 1] = 254;
    // Without a checksum, which the type has changed.
    marker[14 + 20 + 6..][..2].fill(0);
    kit.n3.inject(&marker);
    kit.settle();
    assert_eq!(output(&kit.n3).len(), 3);
    let mut kinds = vec![];
    for _ in 0..10 {
        kit.now_ns += MS;
        kit.settle();
        kinds.extend(output(&kit.n3).iter().map(|frame| frame[14 + 28 + 1]));
    }
    assert_eq!(kinds, [255, 255, 255, 254]);
    kit.close();
}

#[test]
fn what_waits_moves_with_its_shard() {
    let mut kit = Kit::with(
        2,
        sluice_port_sim::SimPortConfig::named("n3"),
        sluice_port_sim::SimPortConfig::named("n6"),
    );
    kit.tables.shaping = shaping();
    publish(&mut kit);
    let shard = ShardId((u32::from(UE) % SHARDS) as u16);
    assert!(kit.control.move_shard(shard, WorkerId(0)));
    kit.settle();
    twenty_wait(&mut kit);
    let mut numbers = vec![];
    for round in 0..40u8 {
        kit.control.move_shard(shard, WorkerId(1 - round % 2));
        kit.settle();
        assert!(kit.control.ledger().balances());
        numbers.extend(later(&mut kit, 1));
        if round < 10 {
            kit.dn_sends(&numbered(20 + u32::from(round), 1000));
        }
    }
    assert_eq!(numbers, (3..30).collect::<Vec<_>>());
    kit.close();
}

#[test]
fn a_worker_that_ends_drops_what_waits() {
    let mut kit = kit_with(shaping());
    twenty_wait(&mut kit);
    kit.close();
}
