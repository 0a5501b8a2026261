//! The frames of the benchmarks: what each session sends and receives, and what must come out.
//!
//! A frame is a template with the few fields that differ from session to session written over it,
//! so that filling one costs a copy and a handful of stores. The tests build every frame anew
//! with an independent library and compare.

pub use super::form::{Direction, Form, INNER_LEN, OUTER_LEN, UE_PORT};
use super::numbered;
use super::public;
use super::topology::{
    DN_MAC, GNBS, N3_MAC, N6_MAC, Peers, QFI, ROUTER_MAC, SERVER, SERVER_IPV6, SERVER_PORT,
    Servers, UPF_N3, gnb_address, gnb_mac, station, ue_ipv6,
};
use sluice_wire::checksum::{Sum, update_u16, update_u32};
use sluice_wire::eth::{EthHeader, EtherType, MacAddr};
use sluice_wire::gtpu::{PORT, ShortContainer, g_pdu_header, g_pdu_header_with_container};
use sluice_wire::ids::Teid;
use sluice_wire::ipv4::{Ipv4Header, Protocol};
use sluice_wire::ipv6::Ipv6Header;
use sluice_wire::layout::{eth, gtpu, ipv4, ipv6, udp};
use sluice_wire::udp::{UdpHeader, not_zero};
use std::net::Ipv4Addr;

/// Octets of the usual plain frame, and of a frame with the usual outer header.
pub const PLAIN_LEN: usize = eth::LEN + INNER_LEN;
pub const TUNNEL_LEN: usize = eth::LEN + OUTER_LEN + INNER_LEN;
const FRAME_MAX: usize = 2_048;

const UDP_AT: usize = eth::LEN + ipv4::LEN;
pub const TEID_AT: usize = UDP_AT + udp::LEN + gtpu::TEID;
/// Outer source port, the sender's choice (TS 29.281, 4.4.2.3).
const SOURCE_PORT_AT: usize = UDP_AT + udp::SOURCE_PORT;

const INNER_TTL: u8 = 64;

/// Traffic of one session in 16 bytes: four sessions share a cache line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flow {
    pub teid: u32,
    /// The gNB's TEID, which tells the [number](Peers::number) of the gNB.
    pub gnb_teid: u32,
    /// The UE's IPv4 address, which its IPv6 prefix has a copy of.
    pub ue: u32,
    /// Checksum of the usual inner IPv4 header. Both directions have the same, for a sum does not
    /// depend on the order of its words.
    ip_sum: u16,
    /// Checksum of the usual inner UDP datagram over IPv4, in both directions.
    udp_sum: u16,
}

impl Flow {
    /// Of a session whose UE talks to [`SERVER`].
    pub fn new(teid: u32, gnb_teid: u32, ue: Ipv4Addr) -> Self {
        Self::to(SERVER, teid, gnb_teid, ue)
    }

    /// Of a session whose UE talks to `server`.
    pub fn to(server: Ipv4Addr, teid: u32, gnb_teid: u32, ue: Ipv4Addr) -> Self {
        let packet = inner(Form::USUAL, [ue, server], Direction::Uplink, INNER_TTL);
        let word = |at: usize| u16::from_be_bytes([packet[at], packet[at + 1]]);
        Self {
            teid,
            gnb_teid,
            ue: ue.into(),
            ip_sum: word(ipv4::CHECKSUM),
            udp_sum: word(ipv4::LEN + udp::CHECKSUM),
        }
    }

    /// Octets from which another process makes the same flow.
    pub fn to_bytes(self) -> [u8; 12] {
        let mut out = [0; 12];
        put(&mut out, 0, &self.teid.to_be_bytes());
        put(&mut out, 4, &self.gnb_teid.to_be_bytes());
        put(&mut out, 8, &self.ue.to_be_bytes());
        out
    }

    pub fn from_bytes(bytes: [u8; 12]) -> Self {
        let [a, b, c, d, e, f, g, h, ue @ ..] = bytes;
        let [teid, gnb_teid] = [[a, b, c, d], [e, f, g, h]].map(u32::from_be_bytes);
        Self::new(teid, gnb_teid, ue.into())
    }

    /// The gNB's number on the link.
    pub fn gnb(&self) -> usize {
        self.gnb_teid as usize % GNBS
    }
}

/// RFC 1624, where a sum of zeros is written as 0.
fn after_hop(ip_sum: u16) -> u16 {
    let (sum, carry) = ip_sum.overflowing_add(0x100);
    match sum + u16::from(carry) {
        0xffff => 0,
        sum => sum,
    }
}

/// Frames of one direction as they come in, or as they leave.
#[derive(Debug)]
struct Mould {
    form: Form,
    direction: Direction,
    leaves: bool,
    /// By gNB, if they are in tunnels.
    frames: Vec<Vec<u8>>,
    inner_at: usize,
    /// Sums without the fields that a flow determines: of the outer datagrams, by gNB, and of the inner one over
    /// IPv6.
    outer_sums: Vec<Sum>,
    inner_sum: Sum,
}

impl Mould {
    fn new(form: Form, direction: Direction, leaves: bool) -> Self {
        let hops = u8::from(leaves);
        let ends = [Ipv4Addr::UNSPECIFIED, SERVER];
        let inner = inner(form, ends, direction, INNER_TTL - hops);
        let up = direction == Direction::Uplink;
        let is_tunnelled = up != leaves;
        let container = form.container.then(|| match up {
            true => ShortContainer::uplink(QFI),
            false => ShortContainer::downlink(QFI, false),
        });
        let frames: Vec<Vec<u8>> = match (is_tunnelled, up) {
            (false, true) => vec![frame(DN_MAC, N6_MAC, &inner)],
            (false, false) => vec![frame(N6_MAC, DN_MAC, &inner)],
            (true, _) => (0..GNBS)
                .map(|gnb| {
                    let mut ips = (gnb_address(gnb), UPF_N3);
                    let mut macs = (N3_MAC, gnb_mac(gnb));
                    if !up {
                        (ips, macs) = ((ips.1, ips.0), (macs.1, macs.0));
                    }
                    frame(macs.0, macs.1, &outer(ips, container, &inner))
                })
                .collect(),
        };
        let inner_at = frames[0].len() - inner.len();
        let mut mould = Self {
            form,
            direction,
            leaves,
            inner_at,
            outer_sums: vec![],
            inner_sum: Sum::ZERO,
            frames,
        };
        if form.outer_sum && is_tunnelled && !leaves {
            let sums = mould.frames.iter().map(|frame| mould.datagram_sum(frame));
            mould.outer_sums = sums.collect();
        }
        if form.is_ipv6 {
            let (addresses, datagram) = (&inner[ipv6::ADDRESSES], &inner[ipv6::LEN..]);
            mould.inner_sum = udp_sum(addresses, datagram);
        }
        mould
    }

    fn is_tunnelled(&self) -> bool {
        (self.direction == Direction::Uplink) != self.leaves
    }

    /// With zeros where TEID, inner checksums and UE stand.
    fn datagram_sum(&self, frame: &[u8]) -> Sum {
        let mut frame = frame.to_vec();
        put(&mut frame, TEID_AT, &[0; 4]);
        let at = self.inner_at;
        put(&mut frame, at + ipv4::CHECKSUM, &[0; 2]);
        put(&mut frame, at + self.ue_at(), &[0; 4]);
        if self.form.inner_sum {
            put(&mut frame, at + ipv4::LEN + udp::CHECKSUM, &[0; 2]);
        }
        udp_sum(&frame[eth::LEN + ipv4::SOURCE..UDP_AT], &frame[UDP_AT..])
    }

    /// Offset of the 32 bits of the inner packet that identify the UE.
    #[inline(always)]
    fn ue_at(&self) -> usize {
        match (self.form.is_ipv6, self.direction) {
            (false, Direction::Uplink) => ipv4::SOURCE,
            (false, Direction::Downlink) => ipv4::DESTINATION,
            // Behind the first half of the /64.
            (true, Direction::Uplink) => ipv6::SOURCE + 4,
            (true, Direction::Downlink) => ipv6::DESTINATION + 4,
        }
    }

    /// Offset of the UE's port in the inner packet.
    #[inline(always)]
    fn ue_port_at(&self) -> usize {
        match self.direction {
            Direction::Uplink => ipv4::LEN + udp::SOURCE_PORT,
            Direction::Downlink => ipv4::LEN + udp::DESTINATION_PORT,
        }
    }

    #[inline(always)]
    fn fill(&self, frames: &Frames, flow: &Flow, out: &mut [u8]) {
        let is_tunnelled = self.is_tunnelled();
        let gnb = if is_tunnelled { flow.gnb() } else { 0 };
        copy(out, &self.frames[gnb]);
        if is_tunnelled {
            if let Some(routed) = frames.routed(flow) {
                routed.put(out, self.direction);
            }
            let teid = if self.leaves {
                flow.gnb_teid
            } else {
                flow.teid
            };
            put(out, TEID_AT, &teid.to_be_bytes());
        }
        let inner = &mut out[self.inner_at..];
        put(inner, self.ue_at(), &flow.ue.to_be_bytes());
        if self.form.is_ipv6 {
            let sum = not_zero(self.inner_sum.add_u32(flow.ue).finish());
            put(inner, ipv6::LEN + udp::CHECKSUM, &sum.to_be_bytes());
            return;
        }
        let mut ip_sum = flow.ip_sum;
        if self.form.inner_len != INNER_LEN {
            ip_sum = update_u16(ip_sum, INNER_LEN as u16, self.form.inner_len as u16);
        }
        if self.leaves {
            ip_sum = after_hop(ip_sum);
        }
        put(inner, ipv4::CHECKSUM, &ip_sum.to_be_bytes());
        let mut udp_sum = 0;
        if self.form.inner_sum {
            udp_sum = flow.udp_sum;
        }
        if self.form.ue_port != UE_PORT {
            udp_sum = not_zero(update_u16(udp_sum, UE_PORT, self.form.ue_port));
        }
        if self.form.is_translated && !is_tunnelled {
            let (address, port) = public::of(flow, self.form.ue_port);
            put(inner, self.ue_at(), &address.to_be_bytes());
            put(inner, self.ue_port_at(), &port.to_be_bytes());
            let sum = update_u32(ip_sum, flow.ue, address);
            put(inner, ipv4::CHECKSUM, &sum.to_be_bytes());
            udp_sum = update_u32(udp_sum, flow.ue, address);
            udp_sum = not_zero(update_u16(udp_sum, self.form.ue_port, port));
        }
        if self.form.inner_sum {
            put(inner, ipv4::LEN + udp::CHECKSUM, &udp_sum.to_be_bytes());
        }
        if let Some(sum) = self.outer_sums.get(gnb) {
            let sum = sum.add_u16(ip_sum).add_u16(udp_sum);
            let sum = sum.add_u32(flow.teid).add_u32(flow.ue).finish();
            put(out, UDP_AT + udp::CHECKSUM, &not_zero(sum).to_be_bytes());
        }
        if frames.servers == Servers::Many {
            self.fill_server(frames, flow, out);
        }
    }

    /// The other end of the inner packet, and the station that leads there.
    fn fill_server(&self, frames: &Frames, flow: &Flow, out: &mut [u8]) {
        let at = match self.direction {
            Direction::Uplink => ipv4::DESTINATION,
            Direction::Downlink => ipv4::SOURCE,
        };
        let server = frames.servers.of(flow.ue).octets();
        put(out, self.inner_at + at, &server);
        if self.leaves && self.direction == Direction::Uplink {
            put(out, 0, &station(frames.way_out(flow)).0);
        }
    }
}

/// Templates of all frames of a form.
#[derive(Debug)]
pub struct Frames {
    pub form: Form,
    /// As they come in, and as they leave; by direction.
    comes: [Mould; 2],
    leaves: [Mould; 2],
    servers: Servers,
    peers: Peers,
    /// By number: those behind the router; none if all are on the link.
    routed: Vec<Routed>,
}

/// Fields in the frames of a gNB behind the router that differ from others.
#[derive(Clone, Copy, Debug)]
struct Routed {
    address: [u8; 4],
    /// Of the outer header, which is the same both ways: a sum does not depend on the order of words.
    sum: [u8; 2],
}

impl Routed {
    /// Writes it over the frame of a gNB on the link, whose address and station stand there.
    fn put(&self, frame: &mut [u8], direction: Direction) {
        let (station_at, address_at) = match direction {
            Direction::Uplink => (eth::SOURCE.start, ipv4::SOURCE),
            Direction::Downlink => (eth::DESTINATION.start, ipv4::DESTINATION),
        };
        put(frame, station_at, &ROUTER_MAC.0);
        put(frame, eth::LEN + ipv4::CHECKSUM, &self.sum);
        put(frame, eth::LEN + address_at, &self.address);
    }
}

impl Default for Frames {
    fn default() -> Self {
        Self::new(Form::USUAL, Servers::One)
    }
}

impl Frames {
    pub fn new(form: Form, servers: Servers) -> Self {
        Self {
            form,
            comes: Direction::BOTH.map(|direction| Mould::new(form, direction, false)),
            leaves: Direction::BOTH.map(|direction| Mould::new(form, direction, true)),
            servers,
            peers: Peers::default(),
            routed: vec![],
        }
    }

    /// Usual ones of so many gNBs.
    pub fn of(peers: Peers) -> Self {
        let count = if peers.are_routed() { peers.count() } else { 0 };
        let container = Some(ShortContainer::uplink(QFI));
        let routed = (0..count as usize).map(|number| {
            let address = peers.address(number);
            let packet = outer((address, UPF_N3), container, &[0; INNER_LEN]);
            Routed {
                address: address.octets(),
                sum: [packet[ipv4::CHECKSUM], packet[ipv4::CHECKSUM + 1]],
            }
        });
        Self {
            peers,
            routed: routed.collect(),
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
        self.comes[direction as usize].fill(self, flow, out);
    }

    /// Whether `out` is, in every byte, what must become of the packet of `flow`; its outer source port is
    /// any dynamic one (RFC 6335).
    pub fn is_right(&self, direction: Direction, flow: &Flow, out: &[u8]) -> bool {
        let mould = &self.leaves[direction as usize];
        let want = |want: &mut [u8]| {
            mould.fill(self, flow, want);
            if mould.is_tunnelled() {
                put(want, SOURCE_PORT_AT, &out[SOURCE_PORT_AT..][..2]);
            }
            if self.form.is_numbered {
                numbered::put(want, numbered::of(out));
            }
        };
        let port = out.get(SOURCE_PORT_AT).filter(|_| mould.is_tunnelled());
        is_same(out, mould, want) && port.is_none_or(|high| *high >= 0xc0)
    }

    /// Whether `out` is, in every byte, the packet of `flow` as it was sent.
    pub fn is_sent(&self, direction: Direction, flow: &Flow, out: &[u8]) -> bool {
        let mould = &self.comes[direction as usize];
        is_same(out, mould, |want| mould.fill(self, flow, want))
    }

    /// Headers that the limit writes in front of downlink packets, by gNB: Ethernet and outer header.
    pub fn downlink_fronts(&self) -> Vec<[u8; eth::LEN + OUTER_LEN]> {
        let frames = &self.leaves[Direction::Downlink as usize].frames;
        frames.iter().map(|frame| fixed(frame)).collect()
    }

    /// Headers that the limit writes in front of uplink packets, by [`Frames::way_out`]: the first 14 bytes count.
    pub fn uplink_fronts(&self) -> Vec<[u8; eth::LEN + OUTER_LEN]> {
        let to = |number| {
            let mut front = fixed(&self.leaves[Direction::Uplink as usize].frames[0]);
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

fn is_same(out: &[u8], mould: &Mould, fill: impl FnOnce(&mut [u8])) -> bool {
    if out.len() != mould.frames[0].len() {
        return false;
    }
    let mut want = [0; FRAME_MAX];
    let want = &mut want[..out.len()];
    fill(want);
    out == want
}

/// Of pseudo header and datagram (RFC 768).
fn udp_sum(addresses: &[u8], datagram: &[u8]) -> Sum {
    let pseudo = Sum::of(addresses).add_u16(Protocol::UDP.0.into());
    pseudo.add_u16(datagram.len() as u16).add_bytes(datagram)
}

#[inline(always)]
fn put(frame: &mut [u8], at: usize, bytes: &[u8]) {
    frame[at..at + bytes.len()].copy_from_slice(bytes);
}

/// Frames of the usual lengths are copied by a few moves.
#[inline(always)]
fn copy(out: &mut [u8], from: &[u8]) {
    if !copy_fixed::<TUNNEL_LEN>(out, from) && !copy_fixed::<PLAIN_LEN>(out, from) {
        out.copy_from_slice(from);
    }
}

#[inline(always)]
fn copy_fixed<const N: usize>(out: &mut [u8], from: &[u8]) -> bool {
    match (<&mut [u8; N]>::try_from(out), <&[u8; N]>::try_from(from)) {
        (Ok(out), Ok(from)) => {
            *out = *from;
            true
        }
        _ => false,
    }
}

/// The inner packet of a form: UDP between a UE and a server.
fn inner(form: Form, [ue, server]: [Ipv4Addr; 2], direction: Direction, ttl: u8) -> Vec<u8> {
    let up = direction == Direction::Uplink;
    let ordered = |from: u16, to: u16| if up { (from, to) } else { (to, from) };
    let (source_port, destination_port) = ordered(form.ue_port, SERVER_PORT);
    let ports = UdpHeader {
        source_port,
        destination_port,
    };
    let header_len = if form.is_ipv6 { ipv6::LEN } else { ipv4::LEN };
    let payload: Vec<u8> = (header_len + udp::LEN..form.inner_len)
        .map(|i| i as u8)
        .collect();
    let unsummed = ports.to_bytes_unsummed(payload.len()).expect(SHORT);
    if form.is_ipv6 {
        let mut ends = (ue_ipv6(ue), SERVER_IPV6);
        if !up {
            ends = (ends.1, ends.0);
        }
        let header = Ipv6Header {
            hop_limit: ttl,
            ..Ipv6Header::new(Protocol::UDP, ends.0, ends.1)
        };
        let ip = header.to_bytes(udp::LEN + payload.len()).expect(SHORT);
        return [&ip[..], &unsummed, &payload].concat();
    }
    let (from, to) = if up { (ue, server) } else { (server, ue) };
    let header = Ipv4Header {
        ttl,
        ..Ipv4Header::new(Protocol::UDP, from, to)
    };
    let udp = match form.inner_sum {
        true => ports.to_bytes(from, to, &payload).expect(SHORT),
        false => unsummed,
    };
    let ip = header.to_bytes(udp::LEN + payload.len()).expect(SHORT);
    [&ip[..], &udp, &payload].concat()
}

/// The same in a tunnel; each session's TEID is written over the one that stands there.
fn outer(
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
fn frame(to: MacAddr, from: MacAddr, packet: &[u8]) -> Vec<u8> {
    let header = EthHeader {
        destination: to,
        source: from,
        ethertype: match packet.first().map(|first| first >> 4) {
            Some(6) => EtherType::IPV6,
            _ => EtherType::IPV4,
        },
    };
    [&header.to_bytes()[..], packet].concat()
}

/// The beginning of a frame.
fn fixed<const N: usize>(frame: &[u8]) -> [u8; N] {
    let first = frame.first_chunk().copied();
    first.expect("frames are longer than their headers")
}
