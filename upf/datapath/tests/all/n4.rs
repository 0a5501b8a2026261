//! PFCP on a port: what goes to the control core by a ring of its own, and what a storm of it does.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::limits::N4_RING;
use sluice_datapath::message::ToControl;
use sluice_datapath::tables::InterfaceId;
use sluice_port::Packet;
use sluice_port_sim::{HeapPacket, SimPortConfig};
use sluice_wire::arp::Arp;
use sluice_wire::eth::{EtherType, MacAddr};
use std::net::Ipv4Addr;

/// Another address of N3's interface.
const N4: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 4);
const PFCP: u16 = 8805;

/// N4 is served at an address of its own, or at that of tunnels as well.
fn serving(address: Ipv4Addr) -> Kit {
    let n3 = SimPortConfig {
        rx_queue_packets: 4096,
        ..SimPortConfig::named("n3")
    };
    let mut kit = Kit::with(1, n3, SimPortConfig::named("n6"));
    let mut tables = tables();
    tables.interfaces[0].addresses = vec![UPF, N4];
    tables.interfaces[0].n4 = vec![address];
    kit.control.publish(tables);
    kit
}

fn inject(kit: &mut Kit, packet: &[u8]) {
    let frame = frame(N3_MAC, GNB_MAC, EtherType::IPV4, packet);
    kit.n3.inject(&frame);
}

fn take(kit: &mut Kit) -> Vec<(HeapPacket, InterfaceId)> {
    let mut all = Vec::new();
    let take = |packet, interface| all.push((packet, interface));
    kit.control.receive_n4(usize::MAX, take);
    all
}

fn finish(mut kit: Kit) {
    for (packet, _) in take(&mut kit) {
        packet.free();
    }
    kit.close();
}

/// A fragment of a datagram to `to`: where its payload belongs, in units of 8 octets.
fn fragment(to: Ipv4Addr, offset: u16) -> Vec<u8> {
    let mut packet = udp_packet(GNB, to, (40_000, PFCP), &[7; 64]);
    packet[6..8].copy_from_slice(&(offset | 0x2000).to_be_bytes());
    packet[10..12].fill(0);
    let sum = sluice_wire::checksum::checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn pfcp_to_an_n4_address_goes_its_own_way_and_nothing_else_does() {
    for address in [N4, UPF] {
        let mut kit = serving(address);
        let pfcp = udp_packet(GNB, address, (40_000, PFCP), b"request");
        inject(&mut kit, &pfcp);
        // Another port, another protocol, another address of ours.
        let other = if address == N4 { UPF } else { N4 };
        inject(&mut kit, &udp_packet(GNB, address, (40_000, 53), b"x"));
        inject(&mut kit, &udp_packet(GNB, other, (40_000, PFCP), b"x"));
        let mut icmp = udp_packet(GNB, address, (PFCP, PFCP), b"x");
        icmp[9] = 1;
        icmp[10..12].fill(0);
        let sum = sluice_wire::checksum::checksum(&icmp[..20]);
        icmp[10..12].copy_from_slice(&sum.to_be_bytes());
        inject(&mut kit, &icmp);
        kit.settle();
        let taken = take(&mut kit);
        let [(packet, InterfaceId(0))] = &taken[..] else {
            panic!("{address}: {}", taken.len())
        };
        assert_eq!(&packet.data()[14..], pfcp, "whole, with its headers");
        taken.into_iter().for_each(|(packet, _)| packet.free());
        assert_eq!(kit.punted.len(), 3, "{address}");
        assert_eq!(kit.control.ledger().to_control, 4);
        finish(kit);
    }
}

#[test]
fn fragments_go_with_them_unless_the_address_has_tunnels() {
    let mut kit = serving(N4);
    inject(&mut kit, &fragment(N4, 0));
    inject(&mut kit, &fragment(N4, 8));
    kit.settle();
    assert_eq!(take(&mut kit).into_iter().map(|(p, _)| p.free()).count(), 2);
    finish(kit);
    // There the worker puts them together, for they may be of tunnel packets.
    let mut kit = serving(UPF);
    inject(&mut kit, &fragment(UPF, 0));
    kit.settle();
    assert!(take(&mut kit).is_empty());
    assert_eq!(kit.control.ledger().held, 1);
    kit.now_ns += 2_000_000_000;
    kit.settle();
    assert_eq!(kit.dropped(DropReason::Reassembly), 1);
    finish(kit);
}

#[test]
fn a_storm_of_pfcp_is_dropped_by_name_and_holds_back_no_arp() {
    const STORM: usize = N4_RING + 500;
    let mut kit = serving(N4);
    for _ in 0..STORM {
        inject(&mut kit, &udp_packet(GNB, N4, (40_000, PFCP), b"storm"));
    }
    let ask = Arp::request(MacAddr(GNB_MAC), GNB, N4);
    let frame = frame([0xff; 6], GNB_MAC, EtherType::ARP, &ask.to_bytes());
    kit.n3.inject(&frame);
    kit.settle();
    assert_eq!(kit.dropped(DropReason::N4QueueFull), 500);
    assert!(matches!(
        &kit.punted[..],
        [ToControl::Packet(_, InterfaceId(0))]
    ));
    let ledger = kit.control.ledger();
    assert_eq!(ledger.to_control, N4_RING as u64 + 1);
    // What left the ring makes room.
    take(&mut kit).into_iter().for_each(|(p, _)| p.free());
    inject(&mut kit, &udp_packet(GNB, N4, (40_000, PFCP), b"after"));
    kit.settle();
    assert_eq!(kit.dropped(DropReason::N4QueueFull), 500);
    finish(kit);
}
