//! Answers of drivers to steering, and their ways to wait.

#![allow(clippy::unwrap_used)]

mod common;

use common::*;
use sluice_port::QueueId;
use sluice_port::steer::*;
use sluice_port_dpdk::*;

const TUNNELS: Traffic = Traffic {
    field: Field::Teid,
    value: 1 << 31,
    mask: 1 << 31,
    vlan: None,
};
const POOL: Traffic = Traffic {
    field: Field::Destination,
    value: 0x0a2d_0000,
    mask: 0xffff_0000,
    vlan: Some(100),
};

fn open(pool: &MbufPool, devargs: String, queues: u16) -> Port {
    let config = PortConfig {
        rx_queues: queues,
        tx_queues: queues,
        ..PortConfig::new("steered", devargs)
    };
    Port::open(pool, &config).unwrap()
}

fn probe(port: &Port, traffic: &[Traffic]) -> Steering<PortSteer> {
    Steering::probe(PortSteer::new(port), traffic, &[8, 7], Method::ALL)
}

fn refusals(steering: &Steering<PortSteer>) -> Vec<(Method, String)> {
    let refused = steering.refused().iter();
    refused.map(|(way, why)| (*way, why.to_string())).collect()
}

#[test]
fn a_driver_with_a_table_spreads_ues_by_it_and_is_changed_group_by_group() {
    let pool = pool(4095);
    let port = open(&pool, devargs::null(70, 122, false), 2);
    let mut steering = probe(&port, &[POOL]);
    let [(Method::FlowRules, why)] = &refusals(&steering)[..] else {
        panic!("{:?}", steering.refused());
    };
    assert_eq!(why, "Function not implemented (os error 38)");
    assert_eq!(
        (steering.method(), steering.group_bits()),
        (Method::Hash, 7),
        "a table of 128 has no room for more groups"
    );
    let group_of = |entry| entry_group(entry, 7, 7);
    let is_as_wanted = |steering: &Steering<PortSteer>| {
        let table = steering.port().table().unwrap();
        let wanted = (0..128).map(|entry| steering.queues()[group_of(entry) as usize]);
        wanted.eq(table)
    };
    assert!(is_as_wanted(&steering));
    assert_eq!(steering.queues()[5], QueueId(1));
    steering.steer(5, QueueId(0)).unwrap();
    assert!(is_as_wanted(&steering));
    let table = steering.port().table().unwrap();
    let entry = (0..128).find(|entry| group_of(*entry) == 5).unwrap();
    assert_eq!(table[entry], QueueId(0));
    assert!(steering.steer(128, QueueId(0)).is_err());
}

#[test]
fn a_driver_that_cannot_look_into_tunnels_is_not_taken_to_do_so() {
    let pool = pool(4095);
    let port = open(&pool, devargs::null(71, 122, false), 2);
    let steering = probe(&port, &[TUNNELS]);
    assert_eq!(steering.method(), Method::Software);
    let unsupported = "Operation not supported (os error 95)".to_owned();
    assert_eq!(refusals(&steering)[1], (Method::Hash, unsupported));
    // Nor is one that carries both kinds of packets.
    let steering = probe(&port, &[TUNNELS, POOL]);
    assert_eq!(steering.method(), Method::Software);
    let [_, (Method::Hash, why)] = &refusals(&steering)[..] else {
        panic!("{:?}", steering.refused());
    };
    assert!(why.contains("one key cannot serve both"), "{why}");
}

#[test]
fn a_driver_without_rules_and_tables_leaves_all_to_software() {
    let pool = pool(4095);
    let port = open(&pool, devargs::ring(72), 2);
    let steering = probe(&port, &[TUNNELS]);
    assert_eq!(steering.method(), Method::Software);
    let [(_, rules), (_, hash)] = &refusals(&steering)[..] else {
        panic!("{:?}", steering.refused());
    };
    assert_eq!(rules, "Function not implemented (os error 38)");
    assert_eq!(hash, "its table of queues has 0 entries");
    let one = open(&pool, devargs::ring(73), 1);
    for (_, why) in refusals(&probe(&one, &[TUNNELS])) {
        assert_eq!(why, "it has one receive queue");
    }
}

/// failsafe keeps rules for devices that are plugged in later: without a device it takes any, so
/// that rules are validated, made, replaced and destroyed by a real driver here, though none of
/// them ever sees a packet.
#[test]
fn a_driver_with_flow_rules_gets_one_for_each_group_and_new_ones_before_the_old_go() {
    let pool = pool(4095);
    let port = open(&pool, "net_failsafe74,exec(true)".to_owned(), 4);
    let mut steering = probe(&port, &[TUNNELS, POOL]);
    assert_eq!(
        (steering.method(), steering.group_bits()),
        (Method::FlowRules, 8)
    );
    assert_eq!(refusals(&steering), []);
    assert!(steering.is_fixed().is_none());
    for group in 0..256 {
        steering.steer(group, QueueId(3)).unwrap();
    }
    assert!(steering.queues().iter().all(|queue| *queue == QueueId(3)));
    steering.end();
    assert_eq!(steering.method(), Method::Software);
}

#[test]
fn a_rule_that_the_kernel_refuses_is_told_in_the_driver_s_words() {
    let pool = pool(4095);
    let config = PortConfig {
        rx_queues: 2,
        tx_queues: 2,
        ..PortConfig::new("tap", "net_tap75,iface=sluicestp75")
    };
    let Ok(port) = Port::open(&pool, &config) else {
        return println!("skipped: needs root");
    };
    let refused = refusals(&probe(&port, &[TUNNELS]));
    assert_eq!(
        refused[0].1,
        "item not supported (Operation not supported (os error 95))"
    );
    // The driver knows masks of addresses: whether it works is the kernel's to say.
    let steering = probe(&port, &[POOL]);
    match steering.method() {
        Method::FlowRules => assert_eq!(refusals(&steering), []),
        _ => assert!(!refusals(&steering)[0].1.contains("item not supported")),
    }
}

#[test]
fn drivers_tell_how_their_packets_can_be_waited_for() {
    let pool = pool(4095);
    let null = open(&pool, devargs::null(76, 122, false), 1);
    let none = Err(Errno(95));
    assert_eq!(null.has_rx_interrupt(0), none);
    assert_eq!(null.has_monitor_address(0), none);
    let ring = open(&pool, devargs::ring(77), 1);
    assert_eq!(ring.has_rx_interrupt(0), none);
    assert_eq!(ring.has_monitor_address(0), Ok(()));
    assert!(ring.has_monitor_address(1).is_err(), "no such queue");
    let cpu = CpuWaits::of_this_machine();
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap();
    assert_eq!(cpu.pause, info.contains(" waitpkg"), "{cpu:?}");
}
