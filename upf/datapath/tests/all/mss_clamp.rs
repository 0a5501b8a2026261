//! MSS clamp: what TCP SYNs offer on their way through interfaces that clamp.

use crate::kit::*;
use sluice_datapath::forward::mss_clamp::MssClamp;
use sluice_datapath::forward::slow_reason::SlowReason;
use sluice_datapath::ids::EntryId;
use sluice_wire::checksum::Sum;
use sluice_wire::eth::EtherType;
use sluice_wire::gtpu::GPdu;
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::ipv6::{Ipv6, Ipv6Header};
use sluice_wire::udp::Udp;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub const SYN: u8 = 0x02;
pub const SYN_ACK: u8 = 0x12;
pub const ACK: u8 = 0x10;

/// A segment that offers this size, with a right checksum between these ends.
pub fn segment(flags: u8, offers: u16, pseudo: impl Fn(u16) -> Sum) -> Vec<u8> {
    let [high, low] = offers.to_be_bytes();
    let mut segment = vec![0x0f, 0xa0, 0, 80, 0, 0, 0, 1, 0, 0, 0, 0, 7 << 4, flags];
    segment.extend([0xfa, 0xf0, 0, 0, 0, 0, 1, 2, 4, high, low, 4, 2, 0]);
    let sum = pseudo(segment.len() as u16).add_bytes(&segment).finish();
    segment[16..18].copy_from_slice(&sum.to_be_bytes());
    segment
}

pub fn ipv4(from: Ipv4Addr, to: Ipv4Addr, flags: u8, offers: u16) -> Vec<u8> {
    let segment = segment(flags, offers, |len| pseudo_ipv4(from, to, len));
    let header = Ipv4Header::new(Protocol::TCP, from, to);
    [&header.to_bytes(segment.len()).unwrap()[..], &segment].concat()
}

fn pseudo_ipv4(from: Ipv4Addr, to: Ipv4Addr, len: u16) -> Sum {
    let ends = Sum::of(&from.octets()).add_bytes(&to.octets());
    ends.add_u16(Protocol::TCP.0.into()).add_u16(len)
}

fn pseudo_ipv6(from: Ipv6Addr, to: Ipv6Addr, len: u16) -> Sum {
    sluice_wire::ipv6::pseudo_header_sum(from, to, Protocol::TCP, len.into())
}

fn ipv6(from: Ipv6Addr, to: Ipv6Addr, flags: u8, offers: u16, options: bool) -> Vec<u8> {
    let mut body = segment(flags, offers, |len| pseudo_ipv6(from, to, len));
    let mut first = Protocol::TCP;
    if options {
        // Destination options: padding.
        body = [&[Protocol::TCP.0, 0, 1, 4, 0, 0, 0, 0][..], &body].concat();
        first = Protocol(60);
    }
    let header = Ipv6Header::new(first, from, to);
    [&header.to_bytes(body.len()).unwrap()[..], &body].concat()
}

/// What an inner packet offers, if its checksum is right.
pub fn offered(inner: &[u8]) -> u16 {
    let (ends, segment) = match Ipv4::parse(inner) {
        Ok(ip) => ((ip.source().into(), ip.destination().into()), ip.payload()),
        Err(_) => {
            let ip = Ipv6::parse(inner).unwrap();
            let ends = (ip.source().into(), ip.destination().into());
            (ends, ip.upper_layer().payload)
        }
    };
    let len = segment.len() as u16;
    let pseudo = match ends {
        (IpAddr::V4(from), IpAddr::V4(to)) => pseudo_ipv4(from, to, len),
        (IpAddr::V6(from), IpAddr::V6(to)) => pseudo_ipv6(from, to, len),
        _ => unreachable!(),
    };
    assert!(pseudo.add_bytes(segment).verifies());
    u16::from_be_bytes([segment[23], segment[24]])
}

/// What left by N6, and inside of tunnels by N3.
fn out(kit: &Kit) -> Vec<u16> {
    let plain = output(&kit.n6).into_iter().map(|f| offered(&f[14..]));
    let tunnelled = output(&kit.n3).into_iter().map(|f| offered(&inner(&f)));
    plain.chain(tunnelled).collect()
}

/// What a frame has in its tunnel.
pub fn inner(frame: &[u8]) -> Vec<u8> {
    let outer = Ipv4::parse(&frame[14..]).unwrap();
    let datagram = Udp::parse(outer.payload()).unwrap();
    let pdu = GPdu::parse(datagram.payload()).unwrap();
    pdu.payload(datagram.payload()).unwrap().to_vec()
}

fn clamping(n3: Option<u16>, n6: Option<u16>) -> (Kit, Session) {
    let mut kit = Kit::new();
    let s = kit.default_session();
    let (mut up, mut down) = (uplink(s.teid), downlink());
    (up.ue_prefix, down.ue_prefix) = (UE_PREFIX, UE_PREFIX);
    kit.apply(s.ul, &[set(s.ul, up), set(s.dl, down)], &[]);
    let key = kit.foreign.reader().ue_prefix(INTERNET.0, UE_PREFIX);
    kit.foreign.insert(key, EntryId(s.dl)).unwrap();
    let mut tables = tables();
    tables.interfaces[0].mss_clamp = n3.and_then(MssClamp::of_packets);
    tables.interfaces[1].mss_clamp = n6.and_then(MssClamp::of_packets);
    kit.control.publish(tables);
    kit.settle();
    (kit, s)
}

fn dn_sends_ipv6(kit: &mut Kit, packet: &[u8]) {
    let frame = frame(N6_MAC, DN_MAC, EtherType::IPV6, packet);
    kit.n6.inject(&frame);
    kit.settle();
}

fn counted(kit: &Kit) -> (u64, u64) {
    let stats = &kit.control.stats()[0];
    let slow = stats.slow[SlowReason::Headers as usize].get();
    (stats.mss_clamped.get(), slow)
}

#[test]
fn syns_of_both_families_and_directions_offer_what_fits_an_interface_on_their_way() {
    for (n3, n6) in [
        (Some(1400), None),
        (None, Some(1400)),
        (Some(1400), Some(1401)),
    ] {
        let (mut kit, s) = clamping(n3, n6);
        let teid = s.teid.get();
        kit.gnb_sends(teid, &ipv4(UE, SERVER, SYN, 1460));
        kit.dn_sends(&ipv4(SERVER, UE, SYN_ACK, 1460));
        assert_eq!(out(&kit), [1360, 1360]);
        for options in [false, true] {
            kit.gnb_sends(teid, &ipv6(UE_IPV6, SERVER_IPV6, SYN, 1440, options));
            dn_sends_ipv6(
                &mut kit,
                &ipv6(SERVER_IPV6, UE_IPV6, SYN_ACK, 1440, options),
            );
            assert_eq!(out(&kit), [1340, 1340]);
        }
        assert_eq!(counted(&kit), (6, 6));
        kit.close();
    }
}

#[test]
fn what_offers_less_and_what_is_no_syn_goes_on_as_it_came() {
    let (mut kit, s) = clamping(Some(1400), None);
    kit.gnb_sends(s.teid.get(), &ipv4(UE, SERVER, SYN, 1360));
    assert_eq!((out(&kit), counted(&kit)), (vec![1360], (0, 1)));
    // Only SYNs leave the fast path.
    kit.gnb_sends(s.teid.get(), &ipv4(UE, SERVER, ACK, 1460));
    kit.dn_sends(&ipv4(SERVER, UE, ACK, 1460));
    kit.gnb_sends(s.teid.get(), &ipv6(UE_IPV6, SERVER_IPV6, ACK, 1460, false));
    kit.gnb_sends(s.teid.get(), &udp_packet(UE, SERVER, (1, 2), &[0xff; 30]));
    assert_eq!(output(&kit.n6).len() + output(&kit.n3).len(), 4);
    assert_eq!(counted(&kit), (0, 1));
    kit.close();
}

#[test]
fn where_nothing_clamps_syns_take_the_fast_path() {
    let (mut kit, s) = clamping(None, None);
    kit.gnb_sends(s.teid.get(), &ipv4(UE, SERVER, SYN, 1460));
    kit.dn_sends(&ipv4(SERVER, UE, SYN_ACK, 1460));
    assert_eq!((out(&kit), counted(&kit)), (vec![1460, 1460], (0, 0)));
    kit.close();
}

#[test]
fn a_syn_that_waits_for_its_next_hop_is_clamped_as_well() {
    let (mut kit, s) = clamping(None, Some(1400));
    let clamped = |mut tables: sluice_datapath::tables::Tables, is_known| {
        tables.interfaces[1].mss_clamp = MssClamp::of_packets(1400);
        set_server_known(&mut tables, is_known);
        tables
    };
    kit.control.publish(clamped(tables(), false));
    kit.settle();
    kit.gnb_sends(s.teid.get(), &ipv4(UE, SERVER, SYN, 1460));
    assert_eq!(kit.control.ledger().held, 1);
    kit.control.publish(clamped(tables(), true));
    kit.settle();
    assert_eq!(out(&kit), [1360]);
    kit.close();
}
