//! Links lose, double and reorder the same way for the same seed, and every
//! frame stays accounted for.

use crate::common::*;
use proptest::prelude::*;
use sluice_port::{Burst, PortId, PortIo, QueueId};
use sluice_port_sim::{HeapPool, LinkConfig, SimNet, SimPortConfig};

/// What arrives of 1000 frames, in order, and how many were lost.
fn over(link: LinkConfig, seed: u64) -> (Vec<u32>, u64) {
    let net = SimNet::new(seed);
    let (a, b) = (net.add_port(config("a")), net.add_port(config("b")));
    net.connect(&a, &b, link);
    let pool = HeapPool::default();
    let mut io = net.io(&[a, b], pool.clone());
    let mut arrived = Vec::new();
    for round in 0..20 {
        let mut packets = burst(&mut io, round * 50..round * 50 + 50);
        io.tx(P0, Q0, &mut packets);
        net.advance_to(u64::from(round) * 1_000);
        arrived.extend(rx(&mut io, P1, Q0));
        assert_accounted(&net, &pool);
    }
    net.advance_to(1_000_000);
    arrived.extend(rx(&mut io, P1, Q0));
    let ledger = net.ledger();
    assert_eq!((ledger.in_flight, ledger.in_tx_queues), (0, 0));
    assert_eq!(
        arrived.len() as u64,
        1_000 + ledger.duplicated - ledger.lost
    );
    (arrived, ledger.lost)
}

#[test]
fn a_bad_link_is_bad_in_the_same_way_for_the_same_seed_only() {
    let (arrived, lost) = over(BAD_LINK, 3);
    assert_eq!(over(BAD_LINK, 3), (arrived.clone(), lost));
    assert_ne!(over(BAD_LINK, 4).0, arrived);
    assert!((60..140).contains(&lost), "{lost} of about 100 lost");
    assert!(!arrived.is_sorted(), "some were overtaken");
}

#[test]
fn reordering_does_not_change_which_frames_are_lost() {
    let sorted = |link| {
        let mut arrived = over(link, 3).0;
        arrived.sort_unstable();
        arrived
    };
    assert_eq!(
        sorted(BAD_LINK),
        sorted(LinkConfig {
            reorder_ppm: 0,
            ..BAD_LINK
        })
    );
}

#[test]
fn a_good_link_delivers_everything_once_in_order() {
    let good = LinkConfig {
        delay_ns: 500,
        ..LinkConfig::default()
    };
    assert_eq!(over(good, 3), ((0..1000).collect(), 0));
}

/// One thing that is done to a net.
#[derive(Clone, Debug)]
enum Step {
    Inject { hash: u8, after_ns: u64 },
    Receive { port: u16, queue: u16, max: usize },
    Send { port: u16, queue: u16, count: u32 },
    Advance { by_ns: u64 },
    Turn { queue: u16 },
}

fn step() -> impl Strategy<Value = Step> {
    let place = || (0_u16..2, 0_u16..2);
    prop_oneof![
        (0..4_u8, 0..50_u64).prop_map(|(hash, after_ns)| Step::Inject { hash, after_ns }),
        (place(), 0..9_usize).prop_map(|((port, queue), max)| Step::Receive { port, queue, max }),
        (place(), 0..9_u32).prop_map(|((port, queue), count)| Step::Send { port, queue, count }),
        (0..100_u64).prop_map(|by_ns| Step::Advance { by_ns }),
        (0..2_u16).prop_map(|queue| Step::Turn { queue }),
    ]
}

fn small(name: &str) -> SimPortConfig {
    SimPortConfig {
        rx_queue_packets: 5,
        tx_queue_packets: 6,
        rate_bps: Some(40_000_000_000),
        steering_delay_ns: 30,
        ..config(name)
    }
}

proptest! {
    #[test]
    fn every_frame_is_somewhere_whatever_is_done(
        seed: u64,
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let net = SimNet::new(seed);
        let (a, b) = (net.add_port(small("a")), net.add_port(small("b")));
        net.connect_one_way(&a, &b, LinkConfig { delay_ns: 20, reorder_delay_ns: 70, ..BAD_LINK });
        let pool = HeapPool::default();
        let mut io = net.io(&[a.clone(), b], pool.clone());
        for step in steps {
            match step {
                Step::Inject { hash, after_ns } => {
                    a.inject_at(net.now_ns() + after_ns, &frame(0, hash));
                }
                Step::Receive { port, queue, max } => {
                    let mut packets = Burst::new();
                    let got = io.rx(PortId(port), QueueId(queue), &mut packets, max);
                    prop_assert!(got == packets.len() && got <= max);
                }
                Step::Send { port, queue, count } => {
                    let mut packets = burst(&mut io, 0..count);
                    let sent = io.tx(PortId(port), QueueId(queue), &mut packets);
                    prop_assert_eq!(sent + packets.len(), count as usize);
                }
                Step::Advance { by_ns } => net.advance_to(net.now_ns() + by_ns),
                Step::Turn { queue } => a.set_reta(&[QueueId(queue), Q0]).unwrap(),
            }
            assert_accounted(&net, &pool);
        }
    }
}
