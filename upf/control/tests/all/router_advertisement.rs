//! Router Advertisements to UEs (RFC 4861, 4.2; RFC 8106; TS 29.061, 11.2.1.3).

use crate::control::*;
use crate::ipv6::*;
use sluice_control::config::RouterAdvertisementConfig;
use sluice_control::signalling::Control;
use sluice_datapath::ids::EntryId;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::message::Sender;
use sluice_datapath::meta::{Arrival, Meta};
use std::net::Ipv6Addr;

const UE_LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x77);
const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);
const DNS: Ipv6Addr = Ipv6Addr::new(0x2001, 0xdb8, 0x53, 0, 0, 0, 0, 0x53);
const S: u64 = 1_000_000_000;

/// Sender whose rule leads to the only data network.
const SENDER: Sender = Sender::Tunnelled {
    entry: EntryId(1),
    towards: Some(InstanceId(1)),
};
/// Router Solicitation (RFC 4861, 4.1).
const SOLICITATION: [u8; 8] = [133, 0, 0, 0, 0, 0, 0, 0];

fn solicits(control: &mut Control, now_ns: u64, from: Ipv6Addr, prefix: u64) -> Sent {
    let packet = icmpv6(from, ALL_ROUTERS, 255, &SOLICITATION);
    let mut sent = Sent::default();
    control.router_solicitation(now_ns, (prefix, SENDER), &packet, &OneUe, &mut sent);
    sent
}

fn control_with(lifetime_s: u16, dns: Vec<Ipv6Addr>) -> Control {
    let mut config = dual();
    config.router_advertisement = RouterAdvertisementConfig {
        lifetime_s,
        mtu_bytes: 1456,
        dns,
    };
    let mut control = Control::new(config).unwrap();
    control.take_tables();
    control
}

#[test]
fn a_ue_that_asks_for_a_router_is_told_its_prefix_as_the_rfcs_write_it() {
    let mut control = control_with(9000, vec![DNS]);
    let sent = solicits(&mut control, 0, UE_LINK_LOCAL, UE_PREFIX);
    assert!(sent.out.is_empty() && sent.to_path.is_empty());
    let [(packet, meta)] = &sent.to_ues[..] else {
        panic!("one packet");
    };
    let (src, dst, hop_limit, message) = message_in(packet);
    assert_eq!((src, dst, hop_limit), (OUR_LINK_LOCAL, UE_LINK_LOCAL, 255));
    let expected = [
        // Type, code, checksum; hop limit 64, no M and no O, 9000 s.
        &[134, 0, message[2], message[3], 64, 0, 0x23, 0x28][..],
        // Reachable time, retrans timer: unspecified.
        &[0; 8],
        // Prefix information: 64 bits, A without L, for ever.
        &[
            3, 4, 64, 0x40, 255, 255, 255, 255, 255, 255, 255, 255, 0, 0, 0, 0,
        ],
        &UE_PREFIX.to_be_bytes(),
        &[0; 8],
        // MTU 1456.
        &[5, 1, 0, 0, 0, 0, 0x05, 0xb0],
        // RDNSS for 9000 s (RFC 8106, 5.1).
        &[25, 3, 0, 0, 0, 0, 0x23, 0x28],
        &DNS.octets(),
    ];
    assert_eq!(message, expected.concat());
    assert_eq!(
        (meta.arrival, meta.prefix(), meta.local),
        (Arrival::PlainIpv6, UE_PREFIX, 1)
    );
    assert_eq!((meta.entry, meta.inner_at), (ENTRY, 0));
    assert_eq!(usize::from(meta.inner_len), packet.len());
    assert_eq!(meta.qfi, Meta::NONE.qfi);
    assert_eq!(control.counters().router_advertisements, 1);
}

#[test]
fn a_ue_without_an_address_is_answered_by_the_group_of_all_nodes() {
    let mut control = dual_control();
    let sent = solicits(&mut control, 0, Ipv6Addr::UNSPECIFIED, UE_PREFIX);
    assert_eq!(message_in(&sent.to_ues[0].0).1, ALL_NODES);
}

#[test]
fn a_ue_is_answered_three_times_in_ten_seconds_and_others_meanwhile() {
    let mut control = dual_control();
    let mut answers = |at_ns| {
        let sent = solicits(&mut control, at_ns, UE_LINK_LOCAL, UE_PREFIX);
        sent.to_ues.len()
    };
    let at_once: usize = (0..10).map(|i| answers(i * 1000)).sum();
    assert_eq!(at_once, 3);
    let later: usize = (1..=11).map(|s| answers(s * S)).sum();
    assert_eq!(later, 3);
    assert_eq!(control.counters().router_advertisements, 6);
    assert_eq!(control.counters().router_solicitations_limited, 15);
}

#[test]
fn what_is_no_solicitation_and_who_has_no_prefix_gets_no_answer() {
    let mut control = dual_control();
    let other = UE_PREFIX + 1;
    assert!(
        solicits(&mut control, 0, UE_LINK_LOCAL, other)
            .to_ues
            .is_empty()
    );
    let routed = icmpv6(UE_LINK_LOCAL, ALL_ROUTERS, 254, &SOLICITATION);
    let echo = icmpv6(UE_LINK_LOCAL, ALL_ROUTERS, 255, &[128, 0, 0, 0, 0, 0, 0, 0]);
    let mut sent = Sent::default();
    for packet in [&routed[..], &echo, &routed[..20]] {
        control.router_solicitation(0, (UE_PREFIX, SENDER), packet, &OneUe, &mut sent);
    }
    assert!(sent.to_ues.is_empty());
    assert_eq!(control.counters().ignored, 4);
}

#[test]
fn a_ue_is_told_again_before_its_router_is_too_old_while_its_session_lives() {
    let mut control = control_with(9000, vec![]);
    solicits(&mut control, 0, UE_LINK_LOCAL, UE_PREFIX);
    let mut told_s = Vec::new();
    for at_s in (0..9000).step_by(10) {
        let mut sent = Sent::default();
        control.tick(at_s * S, &OneUe, &mut sent);
        for (packet, _) in &sent.to_ues {
            assert_eq!(message_in(packet).1, ALL_NODES);
            told_s.push(at_s);
        }
    }
    assert!((2..=3).contains(&told_s.len()), "{told_s:?}");
    assert!(told_s[0] <= 3600, "{told_s:?}");
    // The session has ended.
    for at_s in (9000..30_000).step_by(10) {
        let mut sent = Sent::default();
        control.tick(at_s * S, &Nobody, &mut sent);
        assert!(sent.to_ues.is_empty());
    }
    let mut sent = Sent::default();
    control.tick(60_000 * S, &OneUe, &mut sent);
    assert!(sent.to_ues.is_empty(), "it is forgotten");
}
