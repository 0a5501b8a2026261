//! Transport Level Marking: the DSCP of outer headers is that of the FAR (TS 29.244, 5.4.4), on every way that a packet
//! may take.

#![allow(clippy::unwrap_used)]

use crate::kit::*;
use sluice_datapath::forward::marking::{DscpByQfi, Marking};
use sluice_datapath::ids::{NextHopId, PeerId};
use sluice_datapath::session::txn::EndMarker;
use sluice_datapath::tables::{Peer, PeerSlots, Tables};
use sluice_wire::ipv4::Ipv4;

/// What the downlink's outer headers of packets have that came with these octets.
fn outer_octets(change: impl FnOnce(&mut Tables), inner: &[u8]) -> Vec<u8> {
    let mut kit = Kit::new();
    let mut tables = tables();
    change(&mut tables);
    kit.control.publish(tables);
    let s = kit.default_session();
    for tos in inner {
        kit.dn_sends(&with_tos(&udp_packet(SERVER, UE, (80, 4000), b"x"), *tos));
    }
    let told = kit.apply(
        s.dl,
        &[],
        &[EndMarker {
            peer: PeerId(0),
            teid: GNB_TEID,
        }],
    );
    assert!(told.is_empty());
    let out = output(&kit.n3);
    kit.close();
    out.iter()
        .map(|frame| Ipv4::parse(&frame[14..]).unwrap().tos())
        .collect()
}

fn marked(tables: &mut Tables, marking: Marking) {
    let mut slots = PeerSlots::new(1);
    let peer = Peer {
        marking,
        ..Peer::new(GNB, UPF, NextHopId(0))
    };
    slots.set(PeerId(0), Some(&peer));
    tables.peers = slots.reader();
}

#[test]
fn outer_headers_are_marked_as_their_far_says() {
    // Options make a packet take the long way; both ways mark alike, and so does the End Marker behind them.
    let expedited = Marking::new(0xb8, 0xfc);
    let octets = outer_octets(|tables| marked(tables, expedited), &[0x00, 0x29]);
    assert_eq!(octets, [0xb8, 0xb9, 0xb8]);
    // It comes before the marking of the flow, but for bits that its mask leaves.
    let with_both = |mask| {
        move |tables: &mut Tables| {
            let mut dscp = DscpByQfi::default();
            assert!(dscp.set(9, 0b000_111));
            tables.dscp = dscp;
            marked(tables, Marking::new(0xe0, mask));
        }
    };
    let qfi_9 = |octets: Vec<u8>| octets[0];
    assert_eq!(qfi_9(outer_octets(with_both(0xfc), &[0])), 0xe0);
    assert_eq!(qfi_9(outer_octets(with_both(0xe0), &[0])), 0xfc);
    assert_eq!(qfi_9(outer_octets(with_both(0x00), &[0])), 0x1c);
}
