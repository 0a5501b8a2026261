//! The frames of the benchmark: what each session sends and receives, and what must come out.
//!
//! A frame is a template with the few fields that differ from session to session written over it,
//! so that filling one costs a copy and a handful of stores. The tests build every frame anew
//! with an independent library and compare.

use super::peers::{Peers, ROUTER_MAC, Servers, station};
use super::topology::{DN_MAC, GNBS, N3_MAC, N6_MAC, QFI, SERVER, UPF_N3, gnb_address, gnb_mac};
use serde::{Deserialize, Serialize};
use sluice_wire::checksum::{Sum, update_u16};
use sluice_wire::eth::{EthHeader, EtherType, MacAddr};
use sluice_wire::gtpu::{
    OUTER_IPV4_LEN, OUTER_IPV4_PLAIN_LEN, PORT, ShortContainer, g_pdu_header,
    g_pdu_header_with_container,
};
use sluice_wire::ids::Teid;
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::layout::{eth, gtpu, ipv4, udp};
use sluice_wire::udp::UdpHeader;
use std::net::Ipv4Addr;

/// Bytes of the inner IPv4 packet, UDP with 36 bytes of payload.
pub const INNER_LEN: usize = 64;
/// Bytes of a plain frame.
pub const PLAIN_LEN: usize = eth::LEN + INNER_LEN;
/// Bytes of a frame with an outer header: IPv4, UDP, GTP-U with a PDU Session Container.
pub const TUNNEL_LEN: usize = eth::LEN + OUTER_LEN + INNER_LEN;
/// Bytes of the outer header.
pub const OUTER_LEN: usize = OUTER_IPV4_LEN;

/// The same without a container.
const BARE_OUTER_LEN: usize = OUTER_IPV4_PLAIN_LEN;
/// Bytes of a frame without a container.
const BARE_LEN: usize = eth::LEN + BARE_OUTER_LEN + INNER_LEN;
/// Bytes of the inner packet where most of a packet is payload.
pub const LONG_INNER_LEN: usize = 1_400;
/// Where the outer UDP checksum stands.
const UDP_SUM_AT: usize = UDP_AT + udp::CHECKSUM;

/// Where the TEID stands in a frame with an outer header.
pub const TEID_AT: usize = UDP_AT + udp::LEN + gtpu::TEID;
/// Where the outer UDP header stands.
const UDP_AT: usize = eth::LEN + ipv4::LEN;
/// Where the outer UDP source port stands; which one is the sender's choice (TS 29.281, 4.4.2.3).
const SOURCE_PORT_AT: usize = UDP_AT + udp::SOURCE_PORT;

pub const INNER_TTL: u8 = 64;
pub const UE_PORT: u16 = 40_000;
pub const SERVER_PORT: u16 = 443;

/// Which way a packet goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Direction {
    /// From the gNB to the data network.
    Uplink,
    /// From the data network to the gNB.
    Downlink,
}

impl Direction {
    /// Bytes of a frame as it comes in.
    pub fn input_len(self) -> usize {
        match self {
            Self::Uplink => TUNNEL_LEN,
            Self::Downlink => PLAIN_LEN,
        }
    }
}

/// What uplink frames look like as they come in.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UplinkForm {
    /// With a PDU Session Container, without a UDP checksum.
    #[default]
    Usual,
    /// With a UDP checksum, as kernel sockets send them.
    Checksum,
    /// The same with inner packets of [`LONG_INNER_LEN`] octets.
    LongChecksum,
    /// Without a container.
    Bare,
}

impl UplinkForm {
    /// Octets of the outer header.
    pub fn outer_len(self) -> usize {
        match self {
            Self::Bare => BARE_OUTER_LEN,
            _ => OUTER_LEN,
        }
    }

    /// Octets of the inner packet.
    pub fn inner_len(self) -> usize {
        match self {
            Self::LongChecksum => LONG_INNER_LEN,
            _ => INNER_LEN,
        }
    }

    /// Octets of a frame as it comes in.
    pub fn input_len(self) -> usize {
        14 + self.outer_len() + self.inner_len()
    }
}

/// What the traffic of one session needs, in 16 bytes: four sessions share a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    /// The UPF's TEID.
    pub teid: u32,
    /// The gNB's TEID, which tells the [number](Peers::number) of the gNB.
    pub gnb_teid: u32,
    /// The UE's address.
    pub ue: u32,
    /// Checksum of the inner IPv4 header. Both directions have the same, for a sum does not
    /// depend on the order of its words.
    ip_sum: u16,
    /// Checksum of the inner UDP datagram, in both directions.
    udp_sum: u16,
}

impl Flow {
    /// Of a session whose UE talks to [`SERVER`].
    pub fn new(teid: u32, gnb_teid: u32, ue: Ipv4Addr) -> Self {
        Self::to(SERVER, teid, gnb_teid, ue)
    }

    /// Of a session whose UE talks to `server`.
    pub fn to(server: Ipv4Addr, teid: u32, gnb_teid: u32, ue: Ipv4Addr) -> Self {
        let ends = [(ue, UE_PORT), (server, SERVER_PORT)];
        let packet = inner(ends, INNER_TTL, INNER_LEN, true);
        let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        Self {
            teid,
            gnb_teid,
            ue: ue.into(),
            ip_sum: word(10),
            udp_sum: word(26),
        }
    }

    /// What another process needs to make the same of it.
    pub fn to_bytes(self) -> [u8; 12] {
        let mut out = [0; 12];
        out[..4].copy_from_slice(&self.teid.to_be_bytes());
        out[4..8].copy_from_slice(&self.gnb_teid.to_be_bytes());
        out[8..].copy_from_slice(&self.ue.to_be_bytes());
        out
    }

    /// The opposite.
    pub fn from_bytes(bytes: [u8; 12]) -> Self {
        let [a, b, c, d, e, f, g, h, ue @ ..] = bytes;
        let (teid, gnb_teid) = ([a, b, c, d], [e, f, g, h]);
        let ue = Ipv4Addr::from(ue);
        Self::new(u32::from_be_bytes(teid), u32::from_be_bytes(gnb_teid), ue)
    }

    /// The gNB's number on the link.
    pub fn gnb(&self) -> usize {
        self.gnb_teid as usize % GNBS
    }

    /// The checksum of the inner header after one hop: RFC 1624, where a sum of zeros is written
    /// as 0.
    fn ip_sum_after_hop(&self) -> u16 {
        after_hop(self.ip_sum)
    }

    /// The checksum of the inner header of a long packet.
    fn long_ip_sum(&self) -> u16 {
        update_u16(self.ip_sum, INNER_LEN as u16, LONG_INNER_LEN as u16)
    }
}

fn after_hop(ip_sum: u16) -> u16 {
    let (sum, carry) = ip_sum.overflowing_add(0x100);
    match sum + u16::from(carry) {
        0xffff => 0,
        sum => sum,
    }
}

/// Templates of uplink frames in other forms than the usual one, by gNB.
#[derive(Debug)]
struct OtherForms {
    /// Sums of the usual outer datagrams without the fields that a flow determines.
    sums: [Sum; GNBS],
    bare: [[u8; BARE_LEN]; GNBS],
    bare_downlink: [[u8; BARE_LEN]; GNBS],
    long: Vec<Vec<u8>>,
    long_sums: [Sum; GNBS],
    long_out: Vec<u8>,
}

impl OtherForms {
    fn new(usual: &[[u8; TUNNEL_LEN]; GNBS]) -> Self {
        let ue = Ipv4Addr::UNSPECIFIED;
        let up = |ttl, len| inner([(ue, UE_PORT), (SERVER, SERVER_PORT)], ttl, len, false);
        let down = inner(
            [(SERVER, SERVER_PORT), (ue, UE_PORT)],
            INNER_TTL - 1,
            INNER_LEN,
            true,
        );
        let from = |gnb, container, inner: &[u8]| {
            let packet = outer((gnb_address(gnb), UPF_N3), container, inner);
            frame(N3_MAC, gnb_mac(gnb), &packet)
        };
        let container = Some(ShortContainer::uplink(QFI));
        let long_inner = up(INNER_TTL, LONG_INNER_LEN);
        let long: Vec<_> = (0..GNBS)
            .map(|gnb| from(gnb, container, &long_inner))
            .collect();
        Self {
            sums: core::array::from_fn(|gnb| datagram_sum(&usual[gnb])),
            bare: core::array::from_fn(|gnb| fixed(&from(gnb, None, &up(INNER_TTL, INNER_LEN)))),
            bare_downlink: core::array::from_fn(|gnb| {
                let packet = outer((UPF_N3, gnb_address(gnb)), None, &down);
                fixed(&frame(gnb_mac(gnb), N3_MAC, &packet))
            }),
            long_sums: core::array::from_fn(|gnb| datagram_sum(&long[gnb])),
            long_out: frame(DN_MAC, N6_MAC, &up(INNER_TTL - 1, LONG_INNER_LEN)),
            long,
        }
    }
}

/// The sum of pseudo header and datagram with zeros where TEID, inner checksums and UE stand (RFC 768).
fn datagram_sum(frame: &[u8]) -> Sum {
    let mut frame = frame.to_vec();
    let inner = 14 + OUTER_LEN;
    for range in [
        TEID_AT..TEID_AT + 4,
        inner + 10..inner + 16,
        inner + 26..inner + 28,
    ] {
        frame[range].fill(0);
    }
    let datagram = &frame[34..];
    let pseudo = Sum::of(&frame[26..34])
        .add_u16(17)
        .add_u16(datagram.len() as u16);
    pseudo.add_bytes(datagram)
}

/// Templates of all frames.
#[derive(Debug)]
pub struct Frames {
    uplink_in: [[u8; TUNNEL_LEN]; GNBS],
    uplink_out: [u8; PLAIN_LEN],
    downlink_in: [u8; PLAIN_LEN],
    downlink_out: [[u8; TUNNEL_LEN]; GNBS],
    others: OtherForms,
    servers: Servers,
    peers: Peers,
    /// By number: those behind the router; none if all are on the link.
    routed: Vec<Routed>,
}

/// What in the frames of a gNB behind the router is its own.
#[derive(Clone, Copy, Debug)]
struct Routed {
    address: [u8; 4],
    /// Of the outer header, which is the same both ways: a sum does not depend on the order of words.
    sum: [u8; 2],
}

/// Where the outer header's checksum and addresses stand.
const OUTER_SUM_AT: usize = eth::LEN + ipv4::CHECKSUM;
const OUTER_SOURCE_AT: usize = eth::LEN + ipv4::SOURCE;
const OUTER_DESTINATION_AT: usize = eth::LEN + ipv4::DESTINATION;

impl Routed {
    fn new(address: Ipv4Addr) -> Self {
        let container = Some(ShortContainer::uplink(QFI));
        let packet = outer((address, UPF_N3), container, &[0; INNER_LEN]);
        Self {
            address: address.octets(),
            sum: [packet[10], packet[11]],
        }
    }

    /// Writes it over the frame of a gNB on the link, whose address and station stand there.
    fn put(&self, frame: &mut [u8], station_at: usize, address_at: usize) {
        put(frame, station_at, &ROUTER_MAC.0);
        put(frame, OUTER_SUM_AT, &self.sum);
        put(frame, address_at, &self.address);
    }
}

impl Default for Frames {
    fn default() -> Self {
        let (ue, server) = ((Ipv4Addr::UNSPECIFIED, UE_PORT), (SERVER, SERVER_PORT));
        let up = |ttl| inner([ue, server], ttl, INNER_LEN, true);
        let down = |ttl| inner([server, ue], ttl, INNER_LEN, true);
        let uplink_in = core::array::from_fn(|gnb| {
            let container = Some(ShortContainer::uplink(QFI));
            let packet = outer((gnb_address(gnb), UPF_N3), container, &up(INNER_TTL));
            fixed(&frame(N3_MAC, gnb_mac(gnb), &packet))
        });
        let downlink_out = core::array::from_fn(|gnb| {
            let container = Some(ShortContainer::downlink(QFI, false));
            let packet = outer((UPF_N3, gnb_address(gnb)), container, &down(INNER_TTL - 1));
            fixed(&frame(gnb_mac(gnb), N3_MAC, &packet))
        });
        Self {
            others: OtherForms::new(&uplink_in),
            servers: Servers::One,
            uplink_in,
            uplink_out: fixed(&frame(DN_MAC, N6_MAC, &up(INNER_TTL - 1))),
            downlink_in: fixed(&frame(N6_MAC, DN_MAC, &down(INNER_TTL))),
            downlink_out,
            peers: Peers::default(),
            routed: Vec::new(),
        }
    }
}

impl Frames {
    /// Of so many gNBs.
    pub fn of(peers: Peers) -> Self {
        let count = if peers.are_routed() { peers.count() } else { 0 };
        let routed = (0..count as usize).map(|number| Routed::new(peers.address(number)));
        Self {
            peers,
            routed: routed.collect(),
            ..Self::default()
        }
    }

    /// To these servers.
    pub fn to(servers: Servers) -> Self {
        Self {
            servers,
            ..Self::default()
        }
    }

    /// The gNB of a flow, if it is behind the router.
    #[inline(always)]
    fn routed(&self, flow: &Flow) -> Option<&Routed> {
        if self.routed.is_empty() {
            return None;
        }
        self.routed.get(self.peers.number(flow.gnb_teid))
    }

    /// Writes the next packet of `flow` into `out`, which has the right length.
    #[inline]
    pub fn fill(&self, direction: Direction, flow: &Flow, out: &mut [u8]) {
        match (direction, out.len()) {
            (Direction::Uplink, TUNNEL_LEN) => {
                out.copy_from_slice(&self.uplink_in[flow.gnb()]);
                if let Some(gnb) = self.routed(flow) {
                    gnb.put(out, 6, OUTER_SOURCE_AT);
                }
                put(out, TEID_AT, &flow.teid.to_be_bytes());
                put_inner(out, 14 + OUTER_LEN, 12, flow, flow.ip_sum);
                self.put_server(out, 14 + OUTER_LEN + 16, flow);
            }
            (Direction::Downlink, PLAIN_LEN) => {
                out.copy_from_slice(&self.downlink_in);
                put_inner(out, 14, 16, flow, flow.ip_sum);
                self.put_server(out, 14 + 12, flow);
            }
            _ => {}
        }
    }

    /// Writes the next uplink packet of `flow` in any form, for gNBs on the link and one server.
    #[inline]
    pub fn fill_uplink(&self, form: UplinkForm, flow: &Flow, out: &mut [u8]) {
        let (others, gnb) = (&self.others, flow.gnb());
        match form {
            UplinkForm::Usual => self.fill(Direction::Uplink, flow, out),
            UplinkForm::Checksum => {
                self.fill(Direction::Uplink, flow, out);
                let sum = others.sums[gnb].add_u16(flow.ip_sum).add_u16(flow.udp_sum);
                put_udp_sum(out, sum, flow);
            }
            UplinkForm::Bare => {
                if let Some(out) = out.first_chunk_mut() {
                    *out = others.bare[gnb];
                }
                put(out, TEID_AT, &flow.teid.to_be_bytes());
                put_inner(out, 14 + BARE_OUTER_LEN, 12, flow, flow.ip_sum);
            }
            UplinkForm::LongChecksum => {
                let ip_sum = flow.long_ip_sum();
                out.copy_from_slice(&others.long[gnb]);
                put(out, TEID_AT, &flow.teid.to_be_bytes());
                put_long(out, 14 + OUTER_LEN, flow, ip_sum);
                put_udp_sum(out, others.long_sums[gnb].add_u16(ip_sum), flow);
            }
        }
    }

    /// The other end of the inner packet.
    #[inline(always)]
    fn put_server(&self, out: &mut [u8], at: usize, flow: &Flow) {
        if self.servers == Servers::Many {
            put(out, at, &self.servers.of(flow.ue).octets());
        }
    }

    /// Whether `out` is, in every byte, what must become of the packet of `flow`.
    pub fn is_right(&self, direction: Direction, flow: &Flow, out: &[u8]) -> bool {
        match direction {
            Direction::Uplink => out == self.uplink_out(flow),
            Direction::Downlink if out.len() == BARE_LEN => self.is_right_bare(flow, out),
            Direction::Downlink => self.downlink_out(flow, out).is_some_and(|want| out == want),
        }
    }

    /// The same for a downlink packet without a container.
    fn is_right_bare(&self, flow: &Flow, out: &[u8]) -> bool {
        let mut want = self.others.bare_downlink[flow.gnb()];
        put(&mut want, SOURCE_PORT_AT, &out[SOURCE_PORT_AT..][..2]);
        put(&mut want, TEID_AT, &flow.gnb_teid.to_be_bytes());
        put_inner(
            &mut want,
            14 + BARE_OUTER_LEN,
            16,
            flow,
            flow.ip_sum_after_hop(),
        );
        out == want && out[SOURCE_PORT_AT] >= 0xc0
    }

    /// Whether `out` is, in every byte, what must become of the uplink packet of `flow` in this form.
    pub fn is_right_uplink(&self, form: UplinkForm, flow: &Flow, out: &[u8]) -> bool {
        if form != UplinkForm::LongChecksum {
            return self.is_right(Direction::Uplink, flow, out);
        }
        let mut want = self.others.long_out.clone();
        put_long(&mut want, 14, flow, after_hop(flow.long_ip_sum()));
        out == want
    }

    /// Whether `out` is, in every byte, the packet of `flow` as it was sent.
    pub fn is_sent(&self, direction: Direction, flow: &Flow, out: &[u8]) -> bool {
        let mut want = [0; TUNNEL_LEN];
        let want = &mut want[..direction.input_len()];
        self.fill(direction, flow, want);
        out == want
    }

    fn uplink_out(&self, flow: &Flow) -> [u8; PLAIN_LEN] {
        let mut want = self.uplink_out;
        put_inner(&mut want, 14, 12, flow, flow.ip_sum_after_hop());
        self.put_server(&mut want, 14 + 16, flow);
        put(&mut want, 0, &station(self.servers.number(flow.ue)).0);
        want
    }

    /// The frame with the outer source port that `out` has, which must be dynamic (RFC 6335).
    fn downlink_out(&self, flow: &Flow, out: &[u8]) -> Option<[u8; TUNNEL_LEN]> {
        let port = out.get(SOURCE_PORT_AT..)?.first_chunk::<2>()?;
        let mut want = self.downlink_out[flow.gnb()];
        if let Some(gnb) = self.routed(flow) {
            gnb.put(&mut want, 0, OUTER_DESTINATION_AT);
        }
        put(&mut want, SOURCE_PORT_AT, port);
        put(&mut want, TEID_AT, &flow.gnb_teid.to_be_bytes());
        put_inner(&mut want, 14 + OUTER_LEN, 16, flow, flow.ip_sum_after_hop());
        self.put_server(&mut want, 14 + OUTER_LEN + 12, flow);
        (port[0] >= 0xc0).then_some(want)
    }

    /// What the limit writes in front of downlink packets, by gNB: Ethernet and outer header.
    pub fn downlink_fronts(&self) -> Vec<[u8; 14 + OUTER_LEN]> {
        self.downlink_out.iter().map(|frame| fixed(frame)).collect()
    }

    /// What the limit writes in front of uplink packets, by [`Frames::way_out`]: the first 14 bytes
    /// count.
    pub fn uplink_fronts(&self) -> Vec<[u8; 14 + OUTER_LEN]> {
        let to = |number| {
            let mut front = fixed(&self.uplink_out);
            put(&mut front, 0, &station(number).0);
            front
        };
        (0..GNBS).map(to).collect()
    }

    /// The number of a flow's way out of the data network's port.
    pub fn way_out(&self, flow: &Flow) -> usize {
        self.servers.number(flow.ue)
    }
}

/// Writes the fields of the inner packet that a flow determines; `ue_at` is where the UE's
/// address stands in the header.
#[inline(always)]
fn put_inner(frame: &mut [u8], at: usize, ue_at: usize, flow: &Flow, ip_sum: u16) {
    put(frame, at + 10, &ip_sum.to_be_bytes());
    put(frame, at + ue_at, &flow.ue.to_be_bytes());
    put(frame, at + 26, &flow.udp_sum.to_be_bytes());
}

/// The same for a long packet, which has no UDP checksum.
fn put_long(frame: &mut [u8], at: usize, flow: &Flow, ip_sum: u16) {
    put(frame, at + 10, &ip_sum.to_be_bytes());
    put(frame, at + 12, &flow.ue.to_be_bytes());
}

/// `sum` is of all but TEID and UE.
#[inline(always)]
fn put_udp_sum(frame: &mut [u8], sum: Sum, flow: &Flow) {
    let sum = match sum.add_u32(flow.teid).add_u32(flow.ue).finish() {
        // None would be written so (RFC 768).
        0 => 0xffff,
        sum => sum,
    };
    put(frame, UDP_SUM_AT, &sum.to_be_bytes());
}

#[inline(always)]
fn put(frame: &mut [u8], at: usize, bytes: &[u8]) {
    frame[at..at + bytes.len()].copy_from_slice(bytes);
}

/// UDP over IPv4 between these ends, of `len` octets, with a UDP checksum or none.
pub fn inner([from, to]: [(Ipv4Addr, u16); 2], ttl: u8, len: usize, summed: bool) -> Vec<u8> {
    let header = Ipv4Header {
        ttl,
        ..Ipv4Header::new(Protocol::UDP, from.0, to.0)
    };
    let ports = UdpHeader {
        source_port: from.1,
        destination_port: to.1,
    };
    let payload: Vec<u8> = (28..len).map(|i| i as u8).collect();
    let udp = match summed {
        true => ports.to_bytes(from.0, to.0, &payload),
        false => ports.to_bytes_unsummed(payload.len()),
    };
    let ip = header.to_bytes(len - 20).expect(SHORT);
    [&ip[..], &udp.expect(SHORT), &payload].concat()
}

/// The same in a tunnel; each session's TEID is written over the one that stands there.
pub fn outer(
    (src, dst): (Ipv4Addr, Ipv4Addr),
    container: Option<ShortContainer>,
    inner: &[u8],
) -> Vec<u8> {
    let (teid, len) = (Teid::new(1).expect("1 is a TEID"), inner.len());
    let gtpu = match container {
        Some(container) => {
            let header = g_pdu_header_with_container(teid, container, len);
            header.expect(SHORT).to_vec()
        }
        None => g_pdu_header(teid, len).expect(SHORT).to_vec(),
    };
    let ports = UdpHeader {
        source_port: 0xc000,
        destination_port: PORT,
    };
    let udp = ports.to_bytes_unsummed(gtpu.len() + len).expect(SHORT);
    let header = Ipv4Header {
        dont_fragment: true,
        ..Ipv4Header::new(Protocol::UDP, src, dst)
    };
    let ip = header.to_bytes(8 + gtpu.len() + len).expect(SHORT);
    [&ip[..], &udp, &gtpu, inner].concat()
}

const SHORT: &str = "a packet that fits into the MTU fits every length field";

/// The same on Ethernet.
pub fn frame(to: MacAddr, from: MacAddr, packet: &[u8]) -> Vec<u8> {
    let header = EthHeader {
        destination: to,
        source: from,
        ethertype: EtherType::IPV4,
    };
    [&header.to_bytes()[..], packet].concat()
}

/// A frame, or its beginning.
fn fixed<const N: usize>(frame: &[u8]) -> [u8; N] {
    let first = frame.first_chunk().copied();
    first.expect("frames are longer than their headers")
}
