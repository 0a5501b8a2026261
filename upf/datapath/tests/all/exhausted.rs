//! What runs out: buffers, room in front of packets, the ring to the control core, the worker itself. Each packet that
//! ends so has a name, is charged to nobody, and holds back no other.

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::CONTROL_RING;
use sluice_datapath::session::txn::Op;
use sluice_port_sim::PoolConfig;
use sluice_wire::arp::Arp;
use sluice_wire::eth::{EtherType, MacAddr};

/// Frames that a worker takes from a queue in a turn.
const BURST: usize = 128;

fn to_ue(octets: usize) -> Vec<u8> {
    udp_packet(SERVER, UE, (80, 4000), &vec![1; octets])
}

fn from_ue(octets: usize) -> Vec<u8> {
    udp_packet(UE, SERVER, (4000, 80), &vec![1; octets])
}

/// Octets and packets of an entry.
fn used(kit: &mut Kit, entry: u32) -> (u64, u64) {
    let take = Op::TakeEntry { at: EntryId(entry) };
    let usage = kit.apply(entry, &[take], &[]);
    (usage[0].bytes, usage[0].packets)
}

#[test]
fn without_room_in_front_a_packet_gets_no_tunnel_and_others_pass() {
    // GTP-U over IPv4 takes 44 octets and Ethernet 14, of which the frame's own 14 are there: too few for the outer
    // header, enough for that but not for Ethernet, and enough.
    for (headroom_bytes, passes) in [(16, false), (40, false), (44, true)] {
        let mut kit = Kit::with_packets(PoolConfig {
            headroom_bytes,
            ..PoolConfig::default()
        });
        let s = kit.default_session();
        kit.dn_sends(&to_ue(100));
        kit.gnb_sends(s.teid.get(), &from_ue(100));
        let lost = u64::from(!passes);
        assert_eq!(
            kit.dropped(DropReason::NoHeadroom),
            lost,
            "{headroom_bytes}"
        );
        assert_eq!(output(&kit.n3).len() as u64, 1 - lost);
        assert_eq!(
            output(&kit.n6).len(),
            1,
            "an outer header that goes makes room"
        );
        assert_eq!(used(&mut kit, s.dl).1, 1 - lost);
        assert_eq!(used(&mut kit, s.ul), (128, 1));
        kit.close();
    }
}

#[test]
fn a_frame_of_several_segments_that_fits_none_is_dropped() {
    let mut kit = Kit::with_packets(PoolConfig {
        room_bytes: 256,
        ..PoolConfig::default()
    });
    let s = kit.default_session();
    kit.gnb_sends(s.teid.get(), &from_ue(300));
    kit.dn_sends(&to_ue(300));
    assert_eq!(kit.dropped(DropReason::NotLinear), 2);
    kit.gnb_sends(s.teid.get(), &from_ue(100));
    assert_eq!(output(&kit.n6).len(), 1);
    kit.close();
}

#[test]
fn a_packet_that_cannot_be_cut_for_want_of_buffers_is_not_charged() {
    // The packet itself takes a buffer, and each of its two pieces one.
    for (segments, pieces) in [(1, 0), (2, 1), (3, 2)] {
        let mut kit = Kit::with_packets(PoolConfig {
            segments,
            ..PoolConfig::default()
        });
        let s = kit.default_session();
        kit.dn_sends(&to_ue(1472));
        let lost = u64::from(pieces < 2);
        assert_eq!(kit.dropped(DropReason::NoBuffer), lost, "{segments}");
        assert_eq!(output(&kit.n3).len(), pieces);
        assert_eq!(
            used(&mut kit, s.dl).1,
            1 - lost,
            "it counts with its last piece"
        );
        kit.close();
    }
}

#[test]
fn a_flood_for_the_control_core_is_dropped_by_name_and_holds_back_no_packet() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let ask = Arp::request(MacAddr(GNB_MAC), GNB, UPF).to_bytes();
    let ask = frame([0xff; 6], GNB_MAC, EtherType::ARP, &ask);
    // Nobody takes anything from the ring meanwhile.
    let sent = CONTROL_RING + BURST;
    for _ in 0..sent / BURST {
        (0..BURST).for_each(|_| kit.n3.inject(&ask));
        kit.turn();
    }
    let ledger = kit.control.ledger();
    let full = kit.dropped(DropReason::ControlQueueFull);
    assert!(full >= BURST as u64, "{ledger}");
    assert_eq!(ledger.to_control + full, sent as u64, "{ledger}");
    // A UE that asks one of our addresses finds it full as well, and is not charged; all others pass.
    let to_us = udp_packet(UE, N6, (4000, 80), &[1; 100]);
    kit.n3.inject(&gtpu_frame(GNB, s.teid.get(), 9, &to_us));
    kit.n3
        .inject(&gtpu_frame(GNB, s.teid.get(), 9, &from_ue(100)));
    kit.turn();
    assert_eq!(kit.dropped(DropReason::ControlQueueFull), full + 1);
    kit.turn();
    assert_eq!(output(&kit.n6).len(), 1);
    kit.settle();
    assert_eq!(used(&mut kit, s.ul), (128, 1));
    // What left the ring makes room.
    kit.n3.inject(&ask);
    kit.settle();
    assert_eq!(kit.dropped(DropReason::ControlQueueFull), full + 1);
    kit.close();
}

#[test]
fn what_a_worker_has_when_it_stops_ends_by_that_name() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    // One waits for its next hop, one for an idle UE.
    let mut tables = kit.tables.clone();
    set_server_known(&mut tables, false);
    kit.control.publish(tables);
    kit.gnb_sends(s.teid.get(), &from_ue(100));
    kit.apply(s.dl, &[set(s.dl, holding(downlink(), None))], &[]);
    kit.dn_sends(&to_ue(100));
    assert_eq!(kit.control.ledger().held, 2);
    for worker in kit.workers.drain(..) {
        worker.stop();
    }
    let ledger = kit.control.ledger();
    assert_eq!((kit.dropped(DropReason::Stopped), ledger.held), (2, 0));
    kit.close();
}
