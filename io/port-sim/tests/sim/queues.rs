//! Queues of simulated ports: order, bounds, steering.

use crate::common::*;
use sluice_port::{Burst, LinkState, Packet, PortIo, QueueId, TxProgress};
use sluice_port_sim::steer::FlowRule;
use sluice_port_sim::{HeapPool, LinkConfig, PoolConfig, SimNet, SimPortConfig};

#[test]
fn each_queue_keeps_order_from_port_to_port() {
    let net = SimNet::new(1);
    let (a, b) = (net.add_port(config("a")), net.add_port(config("b")));
    net.connect(
        &a,
        &b,
        LinkConfig {
            delay_ns: 50,
            ..LinkConfig::default()
        },
    );
    let pool = HeapPool::default();
    let mut io = net.io(&[a, b], pool.clone());
    let mut first = burst(&mut io, 0..100);
    assert_eq!(io.tx(P0, Q0, &mut first), 100);
    net.advance_to(10);
    let mut second = burst(&mut io, 100..150);
    assert_eq!(io.tx(P0, Q1, &mut second), 50);
    assert_eq!(
        net.next_event_ns(),
        Some(10),
        "the second burst leaves when the clock moves"
    );
    net.advance_to(59);
    assert_eq!(rx(&mut io, P1, Q0), (0..100).collect::<Vec<_>>());
    net.advance_to(60);
    assert_eq!(rx(&mut io, P1, Q0), (100..150).collect::<Vec<_>>());
    assert_accounted(&net, &pool);
}

#[test]
fn a_full_transmit_queue_accepts_a_prefix_until_frames_have_left() {
    let net = SimNet::new(1);
    let a = net.add_port(SimPortConfig {
        tx_queue_packets: 8,
        ..config("a")
    });
    let pool = HeapPool::default();
    let mut io = net.io(std::slice::from_ref(&a), pool.clone());
    let mut packets = burst(&mut io, 0..10);
    assert_eq!((io.tx(P0, Q0, &mut packets), packets.len()), (8, 2));
    assert_eq!(number(packets.as_slice()[0].data()), 8);
    assert_eq!(io.tx(P0, Q0, &mut packets), 0);
    assert_eq!(io.tx(P0, Q1, &mut packets), 2, "the other queue has room");
    assert_eq!(
        io.tx_progress(P0, Q0),
        Some(TxProgress {
            accepted: 8,
            sent: 0
        })
    );
    net.advance_to(1);
    assert_eq!(
        io.tx_progress(P0, Q0),
        Some(TxProgress {
            accepted: 8,
            sent: 8
        })
    );
    let sent: Vec<u32> = a
        .take_output()
        .iter()
        .map(|(_, frame)| number(frame))
        .collect();
    assert_eq!(sent, (0..10).collect::<Vec<_>>());
    assert_accounted(&net, &pool);
}

#[test]
fn frames_leave_at_the_speed_of_the_wire() {
    let net = SimNet::new(1);
    let a = net.add_port(SimPortConfig {
        rate_bps: Some(1_000_000_000),
        ..config("a")
    });
    let pool = HeapPool::default();
    let mut io = net.io(std::slice::from_ref(&a), pool.clone());
    let mut packets = burst(&mut io, 0..3);
    io.tx(P0, Q0, &mut packets);
    net.advance_to(1500);
    assert_eq!(
        io.tx_progress(P0, Q0),
        Some(TxProgress {
            accepted: 3,
            sent: 2
        })
    );
    net.advance_to(10_000);
    let times: Vec<u64> = a.take_output().iter().map(|(at_ns, _)| *at_ns).collect();
    assert_eq!(
        times,
        [704, 1408, 2112],
        "64 + 24 bytes take 704 ns at 1 Gbit/s"
    );
    assert_accounted(&net, &pool);
}

#[test]
fn a_full_receive_queue_misses_and_counts() {
    let net = SimNet::new(1);
    let a = net.add_port(SimPortConfig {
        rx_queue_packets: 4,
        ..config("a")
    });
    (0..6).for_each(|i| a.inject(&frame(i, 0)));
    (6..8).for_each(|i| a.inject(&frame(i, 1)));
    let pool = HeapPool::default();
    let mut io = net.io(std::slice::from_ref(&a), pool.clone());
    assert_eq!((a.stats().rx_missed, a.stats().rx_packets), (2, 6));
    assert_eq!((net.ledger().missed, net.ledger().in_rx_queues), (2, 6));
    assert_eq!(
        (rx(&mut io, P0, Q0), rx(&mut io, P0, Q1)),
        (vec![0, 1, 2, 3], vec![6, 7])
    );
    assert_eq!(io.stats(P0), Some(a.stats()));
    assert_accounted(&net, &pool);
}

#[test]
fn without_a_free_packet_frames_wait_in_the_queue() {
    let net = SimNet::new(1);
    let a = net.add_port(config("a"));
    (0..3).for_each(|i| a.inject(&frame(i, 0)));
    let pool = HeapPool::new(PoolConfig {
        segments: 2,
        ..PoolConfig::default()
    });
    let mut io = net.io(std::slice::from_ref(&a), pool.clone());
    let mut packets = Burst::new();
    assert_eq!(io.rx(P0, Q0, &mut packets, 32), 2);
    assert_eq!(
        (io.rx(P0, Q0, &mut packets, 32), a.stats().rx_no_buffer),
        (0, 2)
    );
    packets.free();
    assert_eq!(io.rx(P0, Q0, &mut packets, 32), 1);
    let last = &packets.as_slice()[0];
    assert_eq!((number(last.data()), last.rss_hash()), (2, Some(0)));
    drop(packets);
    assert_accounted(&net, &pool);
}

#[test]
fn a_new_table_takes_effect_late_and_leaves_what_is_queued_where_it_is() {
    let net = SimNet::new(1);
    let a = net.add_port(SimPortConfig {
        steering_delay_ns: 1_000,
        ..config("a")
    });
    let mut io = net.io(std::slice::from_ref(&a), HeapPool::default());
    a.inject(&frame(0, 0));
    a.set_reta(&[Q1, Q1]).unwrap();
    a.inject(&frame(1, 0));
    a.inject_at(999, &frame(2, 0));
    a.inject_at(1_000, &frame(3, 0));
    net.advance_to(999);
    assert!(!a.steering_is_settled());
    net.advance_to(1_000);
    assert!(a.steering_is_settled());
    assert_eq!(
        (rx(&mut io, P0, Q0), rx(&mut io, P0, Q1)),
        (vec![0, 1, 2], vec![3])
    );
}

#[test]
fn a_flow_rule_takes_effect_late_and_its_removal_too() {
    let net = SimNet::new(1);
    let a = net.add_port(SimPortConfig {
        steering_delay_ns: 100,
        ..config("a")
    });
    let mut io = net.io(std::slice::from_ref(&a), HeapPool::default());
    let (value, mask) = (vec![0x20, 0], vec![0xf0, 0]);
    let id = a
        .add_rule(FlowRule {
            priority: 0,
            offset: 4,
            value,
            mask,
            queue: Q1,
        })
        .unwrap();
    a.inject(&frame(0, 0x24));
    net.advance_to(100);
    a.inject(&frame(1, 0x24));
    a.inject(&frame(2, 0x34));
    a.remove_rule(id).unwrap();
    net.advance_to(199);
    a.inject(&frame(3, 0x2e));
    net.advance_to(200);
    a.inject(&frame(4, 0x24));
    assert_eq!(
        (rx(&mut io, P0, Q0), rx(&mut io, P0, Q1)),
        (vec![0, 2, 4], vec![1, 3])
    );
}

#[test]
fn a_port_that_is_down_loses_what_comes_and_goes() {
    let net = SimNet::new(1);
    let a = net.add_port(config("a"));
    let pool = HeapPool::default();
    let mut io = net.io(std::slice::from_ref(&a), pool.clone());
    a.set_link(LinkState::Down);
    assert_eq!(
        (io.link(P0), io.link(P1)),
        (LinkState::Down, LinkState::Down)
    );
    a.inject(&frame(0, 0));
    let mut packets = burst(&mut io, 1..3);
    io.tx(P0, Q0, &mut packets);
    net.advance_to(1);
    assert_eq!(
        (
            net.ledger().lost,
            a.stats().tx_errors,
            a.take_output().len()
        ),
        (3, 2, 0)
    );
    assert_accounted(&net, &pool);
}

#[test]
fn ports_and_queues_that_do_not_exist_carry_nothing() {
    let net = SimNet::new(1);
    let a = net.add_port(config("a"));
    let pool = HeapPool::default();
    let mut io = net.io(&[a], pool.clone());
    let mut packets = burst(&mut io, 0..2);
    for (port, queue) in [(P1, Q0), (P0, QueueId(2))] {
        assert_eq!(io.tx(port, queue, &mut packets), 0);
        assert_eq!(io.rx(port, queue, &mut packets, 9), 0);
        assert_eq!(io.tx_progress(port, queue), None);
    }
    assert_eq!((io.stats(P1), packets.len()), (None, 2));
    io.free(packets);
    assert_accounted(&net, &pool);
}

#[test]
fn packets_left_in_transmit_queues_are_freed_with_the_net() {
    let pool = HeapPool::default();
    let net = SimNet::new(1);
    let a = net.add_port(config("a"));
    let mut io = net.io(&[a], pool.clone());
    let mut packets = burst(&mut io, 0..3);
    io.tx(P0, Q0, &mut packets);
    assert_eq!(pool.live(), 3);
    drop((net, io));
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}
