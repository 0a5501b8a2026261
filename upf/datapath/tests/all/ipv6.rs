//! IPv6 of UEs on the path: both ways, its own link, its limits.

use crate::kit::*;
use sluice_datapath::drop::DropReason;
use sluice_datapath::ids::{EntryId, PeerId};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::exact_match::ExactKey;
use sluice_datapath::message::{IcmpCause, Sender, ToControl};
use sluice_datapath::session::entry::SessionEntry;
use sluice_datapath::session::rule::{Body, Flags, Head};
use sluice_datapath::session::token_bucket::Rate;
use sluice_datapath::session::txn::{Op, Usage};
use sluice_port::Packet;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::GPdu;
use sluice_wire::ids::Teid;
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::ipv6::{Ipv6, Ipv6Header};
use sluice_wire::udp::Udp;
use std::net::Ipv6Addr;

const LINK_LOCAL: Ipv6Addr = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0x99);
const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

fn packet(from: Ipv6Addr, to: Ipv6Addr, protocol: Protocol, payload: &[u8]) -> Vec<u8> {
    let header = Ipv6Header::new(protocol, from, to);
    [&header.to_bytes(payload.len()).unwrap()[..], payload].concat()
}

pub fn udp(from: Ipv6Addr, to: Ipv6Addr) -> Vec<u8> {
    packet(
        from,
        to,
        Protocol::UDP,
        &[0x0f, 0xa0, 0, 80, 0, 12, 0x12, 0x34, 1, 2, 3, 4],
    )
}

/// The default session with a prefix beside its IPv4 address.
pub fn dual_session(kit: &mut Kit) -> Session {
    let s = kit.default_session();
    let mut up = uplink(s.teid);
    let mut down = downlink();
    (up.ue_prefix, down.ue_prefix) = (UE_PREFIX, UE_PREFIX);
    kit.apply(s.ul, &[set(s.ul, up), set(s.dl, down)], &[]);
    let key = kit.foreign.reader().ue_prefix(INTERNET.0, UE_PREFIX);
    kit.foreign.insert(key, EntryId(s.dl)).unwrap();
    s
}

fn dn_sends(kit: &mut Kit, packet: &[u8]) {
    kit.n6
        .inject(&frame(N6_MAC, DN_MAC, EtherType::IPV6, packet));
    kit.settle();
}

fn slow_packets(kit: &Kit) -> u64 {
    kit.control
        .stats()
        .iter()
        .flat_map(|s| &s.slow)
        .map(|c| c.get())
        .sum()
}

#[test]
fn both_families_of_a_ue_take_the_fast_path_both_ways() {
    let mut kit = Kit::new();
    let s = dual_session(&mut kit);
    let inner = udp(UE_IPV6, SERVER_IPV6);
    kit.gnb_sends(s.teid.get(), &inner);
    let out = output(&kit.n6);
    assert_eq!(
        out[0][..14],
        frame(DN_MAC, N6_MAC, EtherType::IPV6, &[])[..]
    );
    let ip = Ipv6::parse(&out[0][14..]).unwrap();
    assert_eq!((ip.hop_limit(), ip.payload()), (63, &inner[40..]));

    let answer = udp(SERVER_IPV6, UE_IPV6);
    dn_sends(&mut kit, &answer);
    let out = output(&kit.n3);
    let outer = Ipv4::parse(&out[0][14..]).unwrap();
    let datagram = Udp::parse(outer.payload()).unwrap();
    let pdu = GPdu::parse(datagram.payload()).unwrap();
    assert_eq!(
        (pdu.teid.get(), pdu.qfi.map(|q| q.get())),
        (GNB_TEID, Some(9))
    );
    let carried = Ipv6::parse(pdu.payload(datagram.payload()).unwrap()).unwrap();
    assert_eq!(
        (carried.hop_limit(), carried.payload()),
        (63, &answer[40..])
    );

    kit.gnb_sends(s.teid.get(), &udp_packet(UE, SERVER, (1, 2), b"four"));
    kit.dn_sends(&udp_packet(SERVER, UE, (2, 1), b"four"));
    assert_eq!((output(&kit.n6).len(), output(&kit.n3).len()), (1, 1));
    assert_eq!(slow_packets(&kit), 0);
    let takes = [s.ul, s.dl].map(|at| Op::TakeEntry { at: EntryId(at) });
    let both = Usage {
        bytes: inner.len() as u64 + 32,
        packets: 2,
    };
    assert_eq!(kit.apply(s.ul, &takes, &[]), [both, both]);
    kit.close();
}

#[test]
fn one_rate_holds_for_both_families_together() {
    let mut kit = Kit::new();
    let s = dual_session(&mut kit);
    let mut down = downlink();
    down.ue_prefix = UE_PREFIX;
    down.body.rate0 = Rate::from_bps(64_000).unwrap();
    kit.apply(s.dl, &[set(s.dl, down)], &[]);
    for _ in 0..40 {
        kit.dn_sends(&udp_packet(SERVER, UE, (2, 1), &[0; 100]));
        dn_sends(&mut kit, &udp(SERVER_IPV6, UE_IPV6));
    }
    let passed = output(&kit.n3).len() as u64;
    assert_eq!(passed + kit.dropped(DropReason::MbrExceeded), 80);
    // 3,200 bytes at once: pairs of 128 and 52.
    assert!((34..=37).contains(&passed), "{passed}");
    kit.close();
}

#[test]
fn what_is_not_the_ues_is_dropped_by_name() {
    let mut kit = Kit::new();
    let s = dual_session(&mut kit);
    let other = Ipv6Addr::new(0x2001, 0xdb8, 0xcafe, 8, 0, 0, 0, 1);
    kit.gnb_sends(s.teid.get(), &udp(other, SERVER_IPV6));
    assert_eq!(kit.dropped(DropReason::UeSource), 1);
    dn_sends(&mut kit, &udp(SERVER_IPV6, other));
    assert_eq!(kit.dropped(DropReason::UnknownUe), 1);
    for inner in [
        udp(LINK_LOCAL, SERVER_IPV6),
        udp(UE_IPV6, LINK_LOCAL),
        udp(Ipv6Addr::UNSPECIFIED, ALL_ROUTERS),
    ] {
        kit.gnb_sends(s.teid.get(), &inner);
    }
    assert_eq!(kit.dropped(DropReason::LinkLocal), 3);
    let cut = &udp(UE_IPV6, SERVER_IPV6)[..48];
    kit.gnb_sends(s.teid.get(), cut);
    assert_eq!(kit.dropped(DropReason::InnerLength), 1);
    kit.gnb_sends(s.teid.get(), &cut[..39]);
    assert_eq!(kit.dropped(DropReason::InnerHeader), 1);
    dn_sends(&mut kit, cut);
    assert_eq!(kit.dropped(DropReason::Ipv6Length), 1);
    dn_sends(&mut kit, &cut[..20]);
    assert_eq!(kit.dropped(DropReason::Ipv6Header), 1);
    assert!(output(&kit.n6).is_empty() && output(&kit.n3).is_empty());
    kit.close();
}

#[test]
fn a_session_without_a_prefix_has_no_ipv6() {
    let mut kit = Kit::new();
    let s = kit.default_session();
    kit.gnb_sends(s.teid.get(), &udp(UE_IPV6, SERVER_IPV6));
    assert_eq!(kit.dropped(DropReason::UeSource), 1);
    kit.close();
}

#[test]
fn a_router_solicitation_goes_to_the_control_core_with_prefix_and_session() {
    let mut kit = Kit::new();
    let s = dual_session(&mut kit);
    let sender = Sender::Tunnelled {
        entry: EntryId(s.ul),
        towards: Some(INTERNET),
    };
    for from in [LINK_LOCAL, Ipv6Addr::UNSPECIFIED] {
        let solicitation = [133, 0, 0, 0, 0, 0, 0, 0];
        kit.gnb_sends(
            s.teid.get(),
            &packet(from, ALL_ROUTERS, Protocol::ICMPV6, &solicitation),
        );
        let mut asked = kit.punted.iter().rev().filter_map(|m| match m {
            ToControl::RouterSolicitation(p, prefix, sender) => {
                Some((p.data().to_vec(), (*prefix, *sender)))
            }
            _ => None,
        });
        let (solicited, of) = asked.next().expect("it arrives");
        assert_eq!(
            (Ipv6::parse(&solicited).unwrap().source(), of),
            (from, (UE_PREFIX, sender))
        );
    }
    kit.close();
}

/// N4-u: a rule for the UE's own link leads to the CP function, and what that sends reaches the UE.
#[test]
fn the_cp_function_may_answer_a_ue_on_its_link() {
    let mut kit = Kit::new();
    let s = dual_session(&mut kit);
    let mut up = uplink(s.teid);
    up.ue_prefix = UE_PREFIX;
    let to_cp = [Flags::CREATE_OUTER, Flags::N4U];
    up.head.flags = to_cp.into_iter().fold(up.head.flags, Flags::with);
    up.head.teid = 0x5e5e;
    up.body = Body::to_peer(PeerId(0));
    let mut from_cp = relay_entry(Teid::new(77).unwrap());
    let entry = kit.layout.foreign().0 + s.ul;
    kit.foreign
        .insert(ExactKey::teid(0, 77), EntryId(entry))
        .unwrap();
    from_cp.head.teid = GNB_TEID;
    from_cp.head.flags = from_cp.head.flags.with(Flags::N4U);
    kit.apply(s.ul, &[set(s.ul, up), set(entry, from_cp)], &[]);
    let solicitation = packet(
        LINK_LOCAL,
        ALL_ROUTERS,
        Protocol::ICMPV6,
        &[133, 0, 0, 0, 0, 0, 0, 0],
    );
    kit.gnb_sends(s.teid.get(), &solicitation);
    kit.gnb_sends(
        from_cp.key,
        &packet(LINK_LOCAL, LINK_LOCAL, Protocol::ICMPV6, &[134; 16]),
    );
    let out = output(&kit.n3);
    let teids: Vec<_> = out
        .iter()
        .map(|frame| {
            let outer = Ipv4::parse(&frame[14..]).unwrap();
            let datagram = Udp::parse(outer.payload()).unwrap();
            let pdu = GPdu::parse(datagram.payload()).unwrap();
            let inner = Ipv6::parse(pdu.payload(datagram.payload()).unwrap()).unwrap();
            assert_eq!(inner.hop_limit(), 64, "no hop is counted");
            let container = pdu.container(datagram.payload()).unwrap();
            assert_eq!(container, None, "it is of N3 and N9");
            pdu.teid.get()
        })
        .collect();
    assert_eq!(teids, [0x5e5e, GNB_TEID]);
    kit.close();
}

/// From tunnel to tunnel, whoever sends.
fn relay_entry(teid: Teid) -> SessionEntry {
    let flags = [
        Flags::TUNNEL,
        Flags::FORWARD,
        Flags::REMOVE_OUTER,
        Flags::CREATE_OUTER,
    ];
    SessionEntry {
        key: teid.get(),
        head: Head {
            flags: flags.into_iter().fold(Flags::none(), Flags::with),
            ..Head::default()
        },
        body: Body::to_peer(PeerId(0)),
        ..SessionEntry::default()
    }
}

#[test]
fn what_does_not_fit_or_has_lived_is_told_of() {
    let mut kit = Kit::new();
    let s = dual_session(&mut kit);
    dn_sends(
        &mut kit,
        &packet(SERVER_IPV6, UE_IPV6, Protocol::UDP, &[0; 1450]),
    );
    let mut last_hop = udp(UE_IPV6, SERVER_IPV6);
    last_hop[7] = 1;
    kit.gnb_sends(s.teid.get(), &last_hop);
    let told: Vec<_> = kit
        .punted
        .iter()
        .filter_map(|m| match m {
            ToControl::Icmp(_, notice) => Some(notice.cause),
            _ => None,
        })
        .collect();
    assert_eq!(told, [IcmpCause::TooBig(1500 - 44), IcmpCause::TtlExceeded]);
    kit.close();
}

#[test]
fn rules_of_one_family_leave_the_other_alone() {
    let mut kit = Kit::new();
    let s = dual_session(&mut kit);
    let mut up = uplink(s.teid);
    up.ue_prefix = UE_PREFIX;
    up.head.flags = up.head.flags.with(Flags::MATCH_IPV6);
    kit.apply(s.ul, &[set(s.ul, up)], &[]);
    kit.gnb_sends(s.teid.get(), &udp_packet(UE, SERVER, (1, 2), b"x"));
    assert_eq!(kit.dropped(DropReason::NoPdr), 1);
    kit.gnb_sends(s.teid.get(), &udp(UE_IPV6, SERVER_IPV6));
    assert_eq!(output(&kit.n6).len(), 1);
    kit.close();
}

#[test]
fn a_prefix_without_ipv4_is_found_by_the_whole_prefix() {
    let mut kit = Kit::new();
    let slot = (UE_PREFIX as u32) % SHARDS;
    let (first, _) = kit.layout.foreign();
    let entry = first + slot;
    let teid = kit.layout.teid(slot, 5).unwrap();
    let (mut up, mut down) = (uplink(teid), downlink());
    (up.ue_prefix, up.ue_ip) = (UE_PREFIX, 0);
    (down.ue_prefix, down.ue_ip, down.key) = (UE_PREFIX, 0, 0);
    kit.apply(slot, &[set(slot, up), set(entry, down)], &[]);
    let key = kit.foreign.reader().ue_prefix(INTERNET.0, UE_PREFIX);
    kit.foreign.insert(key, EntryId(entry)).unwrap();
    // A key that errs leads to an entry of another prefix.
    let other = kit.foreign.reader().ue_prefix(INTERNET.0, UE_PREFIX + 1);
    kit.foreign.insert(other, EntryId(entry)).unwrap();
    dn_sends(&mut kit, &udp(SERVER_IPV6, UE_IPV6));
    kit.gnb_sends(teid.get(), &udp(UE_IPV6, SERVER_IPV6));
    assert_eq!((output(&kit.n3).len(), output(&kit.n6).len()), (1, 1));
    let neighbour = Ipv6Addr::from_bits(u128::from(UE_PREFIX + 1) << 64 | 1);
    dn_sends(&mut kit, &udp(SERVER_IPV6, neighbour));
    assert_eq!(kit.dropped(DropReason::UnknownUe), 1);
    kit.gnb_sends(teid.get(), &udp_packet(UE, SERVER, (1, 2), b"x"));
    assert_eq!(kit.dropped(DropReason::UeSource), 1);
    kit.close();
}
