//! Who may come in, and what has arrived: outer checksums, F-TEIDs, our own addresses.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, InterfaceId};
use sluice_datapath::message::ToControl;
use sluice_datapath::session::txn::{Op, Usage};
use sluice_datapath::tables::TunnelAddress;
use sluice_wire::ipv4::Ipv4;
use std::net::Ipv4Addr;

const OUTER_UDP: usize = 14 + 20;

#[test]
fn a_wrong_outer_checksum_is_seen_and_none_is_no_fault() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let good = gtpu_frame(
        GNB,
        s.teid.get(),
        9,
        &udp_packet(UE, SERVER, (1, 2), b"odd"),
    );
    let mut none = good.clone();
    none[OUTER_UDP + 6..OUTER_UDP + 8].fill(0);
    let mut wrong = good.clone();
    *wrong.last_mut().unwrap() ^= 1;
    for f in [&good, &none, &wrong] {
        kit.n3.inject(f);
    }
    kit.settle();
    assert_eq!(output(&kit.n6).len(), 2);
    assert_eq!(kit.dropped(DropReason::UdpChecksum), 1);

    let mut tables = tables();
    tables.interfaces[0].verifies_udp = false;
    kit.control.publish(tables);
    kit.n3.inject(&wrong);
    kit.settle();
    assert_eq!(
        output(&kit.n6).len(),
        1,
        "an interface may be told not to look"
    );
    kit.close();
}

#[test]
fn a_teid_counts_only_at_the_address_of_its_f_teid() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let mut tables = tables();
    let other = Ipv4Addr::new(192, 0, 2, 2);
    tables.interfaces[0].tunnels.push(TunnelAddress {
        address: other,
        local: 1,
    });
    kit.control.publish(tables);
    let inner = udp_packet(UE, SERVER, (1, 2), b"x");
    let gtpu = gtpu_frame(GNB, s.teid.get(), 9, &inner)[OUTER_UDP + 8..].to_vec();
    let elsewhere = udp_packet(GNB, other, (50_000, 2152), &gtpu);
    let ipv4 = sluice_wire::eth::EtherType::IPV4;
    kit.n3.inject(&frame(N3_MAC, GNB_MAC, ipv4, &elsewhere));
    kit.settle();
    assert_eq!(kit.dropped(DropReason::UnknownTeid), 1);
    let told = |m: &ToControl<_>| matches!(m, ToControl::UnknownTeid(n) if n.local == other);
    assert!(kit.punted.iter().any(told));
    kit.close();
}

#[test]
fn a_ues_packet_to_our_address_arrives_and_counts() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let mut to_us = udp_packet(UE, N6, (4000, 7), b"hello");
    // What has arrived needs no further hop.
    to_us[8] = 1;
    to_us[10..12].fill(0);
    let sum = sluice_wire::checksum::checksum(&to_us[..20]);
    to_us[10..12].copy_from_slice(&sum.to_be_bytes());
    kit.gnb_sends(s.teid.get(), &to_us);
    assert!(output(&kit.n6).is_empty(), "nobody is asked for it");
    let ledger = kit.control.ledger();
    assert_eq!((ledger.to_control, ledger.held), (1, 0));
    match &kit.punted[..] {
        [ToControl::FromUe(packet, InterfaceId(1), EntryId(entry))] if *entry == s.ul => {
            use sluice_port::Packet;
            assert_eq!(packet.data(), to_us);
            assert!(Ipv4::parse(packet.data()).is_ok());
        }
        other => panic!("{other:?}"),
    }
    let ToControl::FromUe(packet, ..) = kit.punted.remove(0) else {
        unreachable!()
    };
    sluice_port::Packet::free(packet);
    let usage = kit.apply(s.ul, &[Op::TakeEntry { at: EntryId(s.ul) }], &[]);
    let one = Usage {
        bytes: to_us.len() as u64,
        packets: 1,
    };
    assert_eq!(usage, [one]);
    kit.close();
}
