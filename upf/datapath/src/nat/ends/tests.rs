//! Packets rewritten and rewritten back, their checksums judged from scratch.

use super::*;
use core::net::Ipv4Addr;
use proptest::prelude::*;
use sluice_wire::checksum::checksum;
use sluice_wire::udp::pseudo_header_sum;

const UE: u32 = 0x0a2d_0007;
const SERVER: u32 = 0xc000_0201;
const PUBLIC: u32 = 0xcb00_7140;

/// An IPv4 packet with a good checksum.
fn ip(protocol: u8, source: u32, destination: u32, payload: &[u8]) -> Vec<u8> {
    let mut p = vec![0x45, 0];
    p.extend((20 + payload.len() as u16).to_be_bytes());
    p.extend([0, 7, 0x40, 0, 64, protocol, 0, 0]);
    p.extend(source.to_be_bytes());
    p.extend(destination.to_be_bytes());
    let sum = checksum(&p);
    p[10..12].copy_from_slice(&sum.to_be_bytes());
    p.extend(payload);
    p
}

/// TCP or UDP with a good checksum, or without one.
fn transport(protocol: u8, ends: [(u32, u16); 2], body: &[u8], sums: bool) -> Vec<u8> {
    let [(source, source_port), (destination, destination_port)] = ends;
    let mut p = [source_port.to_be_bytes(), destination_port.to_be_bytes()].concat();
    let at = match protocol {
        17 => {
            p.extend((8 + body.len() as u16).to_be_bytes());
            p.extend([0, 0]);
            6
        }
        _ => {
            p.extend([0, 0, 0, 1, 0, 0, 0, 2, 0x50, 0x10, 1, 0, 0, 0, 0, 0]);
            16
        }
    };
    p.extend(body);
    if sums {
        let (source, destination) = (Ipv4Addr::from(source), Ipv4Addr::from(destination));
        let pseudo = pseudo_header_sum(source, destination, Protocol(protocol), p.len() as u16);
        let sum = not_zero(pseudo.combine(Sum::of(&p)).finish());
        p[at..at + 2].copy_from_slice(&sum.to_be_bytes());
    }
    ip(protocol, source, destination, &p)
}

fn icmp(kind: u8, rest: u32, body: &[u8], source: u32, destination: u32) -> Vec<u8> {
    let mut p = vec![kind, 0, 0, 0];
    p.extend(rest.to_be_bytes());
    p.extend(body);
    let sum = checksum(&p);
    p[2..4].copy_from_slice(&sum.to_be_bytes());
    ip(1, source, destination, &p)
}

/// Every checksum that a packet has, those of a packet quoted whole included.
fn is_sound(packet: &[u8]) -> bool {
    let Ok(ip) = Ipv4::parse(packet) else {
        return false;
    };
    let payload = ip.payload();
    let len = payload.len() as u16;
    let pseudo = pseudo_header_sum(ip.source(), ip.destination(), ip.protocol(), len);
    match ip.protocol() {
        Protocol::ICMP if matches!(payload[0], 3 | 11 | 12) => {
            Sum::of(payload).verifies() && is_sound(&payload[8..])
        }
        Protocol::ICMP => Sum::of(payload).verifies(),
        Protocol::UDP if payload[6..8] == [0, 0] => true,
        _ => pseudo.combine(Sum::of(payload)).verifies(),
    }
}

/// A packet of the UE to the server, whole.
fn of_ue(kind: u8, ports: (u16, u16), body: &[u8], sums: bool) -> Vec<u8> {
    match kind {
        1 => icmp(8, u32::from(ports.0) << 16 | 3, body, UE, SERVER),
        _ => transport(kind, [(UE, ports.0), (SERVER, ports.1)], body, sums),
    }
}

proptest! {
    #[test]
    fn all_checksums_follow_and_the_way_back_leads_to_the_same_packet(
        kind in prop::sample::select(vec![1u8, 6, 17]),
        ports in any::<(u16, u16)>(),
        public in any::<u16>(),
        body in prop::collection::vec(any::<u8>(), 0..40),
        sums in any::<bool>(),
        quoted in any::<bool>(),
    ) {
        let sums = sums || kind == 6;
        let sent = of_ue(kind, ports, &body, sums);
        // A router far away quotes what it got: the packet as it was translated.
        let (mut packet, side) = if quoted { (icmp(3, 0, &sent, UE, 0x0808_0808), Side::Source) } else { (sent, Side::Source) };
        let ends = if quoted {
                // The UE quotes packets that came to it: turn the quoted one round.
                let back = match kind {
                    1 => icmp(0, u32::from(ports.0) << 16 | 3, &body, SERVER, UE),
                    _ => transport(kind, [(SERVER, ports.1), (UE, ports.0)], &body, sums),
                };
                packet = icmp(3, 0, &back, UE, SERVER);
                read(&packet, side).unwrap()
            } else { read(&packet, side).unwrap() };
        prop_assert!(is_sound(&packet));
        prop_assert_eq!((ends.own_address, ends.own_port), (UE, ports.0));
        prop_assert_eq!(ends.remote_address, SERVER);
        prop_assert_eq!(ends.kind == Kind::Error, quoted);
        let before = packet.clone();
        rewrite(&mut packet, side, PUBLIC, public);
        prop_assert!(is_sound(&packet), "{:02x?}", packet);
        let ends = read(&packet, side).unwrap();
        prop_assert_eq!((ends.own_address, ends.own_port), (PUBLIC, public));
        prop_assert_eq!(ends.remote_address, SERVER);
        rewrite(&mut packet, side, UE, ports.0);
        // A checksum of UDP may be 0 in its two notations.
        prop_assert!(is_sound(&packet));
        prop_assert_eq!(&packet[12..20], &before[12..20]);
        prop_assert_eq!(packet.len(), before.len());
    }

    #[test]
    fn no_octets_bring_it_to_a_panic(
        mut octets in prop::collection::vec(any::<u8>(), 0..90),
        shaped in any::<bool>(),
        source in any::<bool>(),
    ) {
        if shaped && octets.len() >= 20 {
            octets[0] = 0x45;
            let len = octets.len() as u16;
            octets[2..4].copy_from_slice(&len.to_be_bytes());
            octets[9] = [1, 6, 17][usize::from(octets[9]) % 3];
        }
        let side = if source { Side::Source } else { Side::Destination };
        let _ = read(&octets, side);
        rewrite(&mut octets, side, PUBLIC, 9);
    }
}

#[test]
fn what_has_no_port_or_is_damaged_is_told_by_name() {
    let refused = |packet: &[u8], side| read(packet, side).unwrap_err();
    let gre = ip(47, UE, SERVER, &[0; 20]);
    assert_eq!(refused(&gre, Side::Source), DropReason::NatProtocol);
    // A UE is asked by nobody, and answers nobody.
    let request = icmp(8, 7, &[], SERVER, PUBLIC);
    assert_eq!(
        refused(&request, Side::Destination),
        DropReason::NatProtocol
    );
    let reply = icmp(0, 7, &[], UE, SERVER);
    assert_eq!(refused(&reply, Side::Source), DropReason::NatProtocol);
    let short = ip(6, UE, SERVER, &[0; 19]);
    assert_eq!(refused(&short, Side::Source), DropReason::InnerLength);
    let quoted = of_ue(17, (1, 2), &[], true);
    let mut error = icmp(3, 0, &quoted[..28], SERVER, PUBLIC);
    assert!(
        read(&error, Side::Destination).is_ok(),
        "28 octets are enough"
    );
    error[40] ^= 1;
    assert_eq!(
        refused(&error, Side::Destination),
        DropReason::InnerChecksum
    );
    let cut = icmp(11, 0, &quoted[..27], SERVER, PUBLIC);
    assert_eq!(refused(&cut, Side::Destination), DropReason::InnerLength);
}

#[test]
fn a_damaged_checksum_stays_damaged() {
    let mut packet = of_ue(17, (5000, 53), b"what", true);
    packet[27] ^= 0x10;
    rewrite(&mut packet, Side::Source, PUBLIC, 1032);
    assert!(Ipv4::parse(&packet).is_ok());
    assert!(!is_sound(&packet));
}

#[test]
fn of_a_later_fragment_the_address_alone_changes() {
    let mut packet = ip(17, UE, SERVER, &[9; 24]);
    packet[6..8].copy_from_slice(&[0x20, 5]);
    packet[10..12].fill(0);
    let sum = checksum(&packet[..20]);
    packet[10..12].copy_from_slice(&sum.to_be_bytes());
    rewrite(&mut packet, Side::Source, PUBLIC, 1032);
    let ip = Ipv4::parse(&packet).unwrap();
    assert_eq!((ip.source_u32(), ip.payload()), (PUBLIC, &[9; 24][..]));
}
