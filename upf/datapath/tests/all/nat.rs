//! Translation: which packets take the fast path by their mappings, and that both ways give the same frames.

use crate::kit::*;
use crate::mss_clamp::{ACK, SYN, SYN_ACK, inner, ipv4, offered};
use sluice_datapath::drop::DropReason;
use sluice_datapath::forward::mss_clamp::MssClamp;
use sluice_datapath::forward::slow_reason::SlowReason;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::InstanceId;
use sluice_datapath::nat::pool::{Filtering, NatPool, NatPools, NatTimeouts, NatUnits, Unit};
use sluice_datapath::session::txn::Op;
use sluice_datapath::tables::Prefix;
use sluice_mem::slots::Slots;
use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
use sluice_wire::udp::Udp;
use std::net::Ipv4Addr;

const OUTSIDE: InstanceId = InstanceId(200);
const PUBLIC: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 7);
const OTHER: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 81);
const FIN_ACK: u8 = 0x11;
const RST: u8 = 0x04;
/// The UE's port in [`ipv4`], and its place in the UE's two units: ports from 1024 and from 1088 on.
const TCP_PORT: u16 = 4_000;

pub struct Translated {
    pub kit: Kit,
    pub session: Session,
}

impl Translated {
    pub fn new(filtering: Filtering, clamp: Option<u16>) -> Self {
        let pool = NatPool {
            inside: INTERNET,
            outside: OUTSIDE,
            prefixes: vec![Prefix::new(PUBLIC, 32).unwrap()],
            first_port: 1_024,
            block_ports: 128,
            blocks_per_ue: 1,
            filtering,
            hairpins: true,
            timeouts: NatTimeouts::default(),
        };
        let pools = NatPools::new(vec![pool]).unwrap();
        let mut units = Slots::new(pools.units() as usize);
        let mut kit = Kit::translating(pools);
        let session = kit.default_session();
        let user = EntryId(session.dl);
        let chunks = [1, 2].map(|round| session.dl % SHARDS + round * SHARDS);
        // The first unit is the one that was got last.
        let unit = |number: u32, next| Op::NatUnit {
            user,
            chunk: chunks[number as usize],
            unit: Unit(number),
            next,
        };
        let name = Op::NatUser {
            at: user,
            address: UE.into(),
            instance: INTERNET.0,
            first: chunks[0],
        };
        kit.apply(session.ul, &[unit(0, chunks[1]), unit(1, 0), name], &[]);
        for (at, chunk) in chunks.into_iter().enumerate() {
            units.write(at, NatUnits::word(user, chunk));
        }
        let mut tables = tables();
        tables.interfaces[1].outside = Some(OUTSIDE);
        tables.interfaces[1].mss_clamp = clamp.and_then(MssClamp::of_packets);
        tables.egresses[0].translates = Some(INTERNET);
        tables.nat_units = NatUnits(units.reader());
        kit.control.publish(tables);
        kit.settle();
        Self { kit, session }
    }

    /// What a packet of the UE leaves as, and whether it took the slow path.
    pub fn up(&mut self, packet: &[u8]) -> (Vec<u8>, bool) {
        let before = self.slow();
        self.kit.gnb_sends(self.session.teid.get(), packet);
        let out = output(&self.kit.n6);
        (out[0][14..].to_vec(), self.slow() > before)
    }

    /// The outer source port that a packet to the UE leaves with, what is inside, and whether it took the slow path.
    fn down(&mut self, packet: &[u8]) -> Option<(u16, Vec<u8>, bool)> {
        let before = self.slow();
        self.kit.dn_sends(packet);
        let out = output(&self.kit.n3);
        let frame = out.first()?;
        let port = u16::from_be_bytes([frame[34], frame[35]]);
        Some((port, inner(frame), self.slow() > before))
    }

    fn slow(&self) -> u64 {
        let stats = &self.kit.control.stats()[0];
        let all = SlowReason::ALL.iter();
        all.map(|reason| stats.slow[*reason as usize].get()).sum()
    }
}

/// The ends of a UDP packet whose checksums are right, and its TTL.
fn udp_ends(packet: &[u8]) -> ((Ipv4Addr, u16), (Ipv4Addr, u16), u8) {
    let ip = Ipv4::parse(packet).unwrap();
    let udp = Udp::parse(ip.payload()).unwrap();
    assert!(udp.checksum().is_some() && udp.verify(ip.source(), ip.destination()));
    (
        (ip.source(), udp.source_port()),
        (ip.destination(), udp.destination_port()),
        ip.ttl(),
    )
}

#[test]
fn a_mapping_that_stands_takes_the_fast_path_to_the_same_frames() {
    for filtering in [Filtering::EndpointIndependent, Filtering::AddressDependent] {
        let mut all = Translated::new(filtering, None);
        let sent = udp_packet(UE, SERVER, (4_000, 53), b"question");
        let (first, slow) = all.up(&sent);
        // Port 4000 has the place 32.
        let public = (PUBLIC, 1_056);
        assert_eq!(udp_ends(&first), (public, (SERVER, 53), 63));
        assert!(slow, "it makes the mapping");
        assert_eq!(all.up(&sent), (first, false));
        let answer = udp_packet(SERVER, PUBLIC, (53, 1_056), b"answer");
        let (port, given, slow) = all.down(&answer).unwrap();
        assert_eq!(udp_ends(&given), ((SERVER, 53), (UE, 4_000), 63));
        assert!(!slow);
        // The same with an option takes the slow path, to a tunnel of the same flow.
        let with_option = with_no_operation(&answer);
        let (same, _, slow) = all.down(&with_option).unwrap();
        assert_eq!((same, slow), (port, true));
        all.kit.close();
    }
}

/// With four octets of options.
fn with_no_operation(packet: &[u8]) -> Vec<u8> {
    let mut longer = [&packet[..20], &[1; 4], &packet[20..]].concat();
    longer[0] = 0x46;
    let len = longer.len() as u16;
    longer[2..4].copy_from_slice(&len.to_be_bytes());
    longer[10..12].fill(0);
    let sum = sluice_wire::checksum::checksum(&longer[..24]);
    longer[10..12].copy_from_slice(&sum.to_be_bytes());
    longer
}

#[test]
fn a_mapping_in_an_older_unit_takes_the_fast_path_too() {
    let mut all = Translated::new(Filtering::EndpointIndependent, None);
    // Both have the place 32; the other parity is tried last, so 64 flows of its parity lie before the 33rd.
    let from = |port| udp_packet(UE, SERVER, (port, 53), b"question");
    let ports: Vec<u16> = (0..33).map(|n| 4_000 + 64 * n).collect();
    let made: Vec<_> = ports.iter().map(|port| all.up(&from(*port))).collect();
    let (_, public) = (udp_ends(&made[32].0).1, udp_ends(&made[32].0).0);
    assert!((1_088..1_152).contains(&public.1), "{public:?}");
    for (port, (frame, slow)) in ports.iter().zip(&made) {
        assert!(slow);
        assert_eq!(all.up(&from(*port)), (frame.clone(), false));
    }
    let answer = udp_packet(SERVER, public.0, (53, public.1), b"answer");
    let (_, given, slow) = all.down(&answer).unwrap();
    assert_eq!((udp_ends(&given).1, slow), ((UE, ports[32]), false));
    all.kit.close();
}

#[test]
fn segments_take_the_fast_path_while_their_connection_stands() {
    let mut all = Translated::new(Filtering::EndpointIndependent, None);
    let up = |flags| ipv4(UE, SERVER, flags, 1_200);
    // The ports of `ipv4`: from 4000 to 80, so what comes back is turned round here.
    let down = |flags| turned_round(&ipv4(UE, SERVER, flags, 1_200));
    assert!(all.up(&up(SYN)).1);
    assert!(all.down(&down(SYN_ACK)).unwrap().2);
    assert!(!all.up(&up(ACK)).1);
    assert!(!all.down(&down(ACK)).unwrap().2);
    // The end of a connection is news, and of one that has ended each segment is.
    assert!(all.up(&up(FIN_ACK)).1);
    assert!(!all.down(&down(ACK)).unwrap().2);
    assert!(all.down(&down(FIN_ACK)).unwrap().2);
    assert!(all.up(&up(ACK)).1);
    // One that is reset, as well.
    assert!(all.up(&up(SYN)).1);
    assert!(all.down(&down(SYN_ACK)).unwrap().2);
    assert!(all.down(&down(RST)).unwrap().2);
    assert!(all.up(&up(ACK)).1);
    all.kit.close();
}

/// An answer from the server to the public port of the UE's segment.
fn turned_round(segment: &[u8]) -> Vec<u8> {
    let mut packet = ipv4(SERVER, PUBLIC, segment[33], 1_200);
    let ports = [80u16, 1_024 + TCP_PORT % 64];
    let before = [TCP_PORT, 80];
    let mut sum = u16::from_be_bytes([packet[36], packet[37]]);
    for (at, (old, new)) in before.into_iter().zip(ports).enumerate() {
        packet[20 + 2 * at..22 + 2 * at].copy_from_slice(&new.to_be_bytes());
        sum = sluice_wire::checksum::update_u16(sum, old, new);
    }
    packet[36..38].copy_from_slice(&sum.to_be_bytes());
    packet
}

#[test]
fn a_filter_lets_nobody_in_by_the_fast_path_whom_the_ue_did_not_send_to() {
    let mut all = Translated::new(Filtering::AddressDependent, None);
    all.up(&udp_packet(UE, SERVER, (4_000, 53), b"question"));
    let stranger = udp_packet(OTHER, PUBLIC, (53, 1_056), b"no answer");
    assert_eq!(all.down(&stranger), None);
    assert_eq!(all.kit.dropped(DropReason::NatFiltered), 1);
    // Where the UE has not sent to by this mapping is told to the filter first.
    let (_, slow) = all.up(&udp_packet(
        UE,
        Ipv4Addr::new(198, 51, 100, 80),
        (4_000, 54),
        b"q",
    ));
    assert!(!slow, "the same address");
    all.kit.close();
}

#[test]
fn a_syn_is_clamped_and_translated_with_a_right_checksum() {
    let mut all = Translated::new(Filtering::EndpointIndependent, Some(1_400));
    let (out, slow) = all.up(&ipv4(UE, SERVER, SYN, 1_460));
    // `offered` checks the checksum, which covers the public address and port.
    assert_eq!((offered(&out), slow), (1_360, true));
    assert_eq!(Ipv4::parse(&out).unwrap().source(), PUBLIC);
    let (_, given, _) = all
        .down(&turned_round(&ipv4(UE, SERVER, SYN_ACK, 1_200)))
        .unwrap();
    assert_eq!(offered(&given), 1_200);
    let stats = &all.kit.control.stats()[0];
    assert_eq!(stats.mss_clamped.get(), 1);
    all.kit.close();
}

/// What a switch has added behind a packet is no part of it: an error that quotes 14 octets of a segment has none of
/// the segment's checksum, wherever that would stand.
#[test]
fn what_follows_an_icmp_error_in_its_frame_is_no_part_of_it() {
    let mut all = Translated::new(Filtering::EndpointIndependent, None);
    let (sent, _) = all.up(&ipv4(UE, SERVER, SYN, 1_460));
    let message = |quoted: &[u8]| {
        let mut message = [&[3, 3, 0, 0, 0, 0, 0, 0], quoted].concat();
        let sum = sluice_wire::checksum::checksum(&message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        message
    };
    let message = message(&sent[..34]);
    let header = Ipv4Header::new(Protocol::ICMP, SERVER, PUBLIC);
    let error = [&header.to_bytes(message.len()).unwrap()[..], &message].concat();
    let (_, given, _) = all.down(&[&error[..], &[0xee; 19]].concat()).unwrap();
    let given = Ipv4::parse(&given).unwrap();
    assert_eq!((given.destination(), given.payload().len()), (UE, 42));
    assert_eq!(sluice_wire::checksum::checksum(given.payload()), 0);
    let quoted = &given.payload()[8..];
    assert_eq!(quoted[12..16], UE.octets());
    assert_eq!(quoted[20..22], TCP_PORT.to_be_bytes());
    all.kit.close();
}
