//! From descriptions of packets to frames.

use crate::spec::*;
use crate::world::{N3, N3_6, N9, given_slot};
use sluice_twin::{Link, TwinConfig};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// What a description leaves open: the addresses of sessions.
pub trait Lookup {
    /// The F-TEID of a PDR, if it has one by now.
    fn f_teid(&self, slot: u8, pdr: u16) -> Option<(IpAddr, u32)>;
    /// The UE of a session, by an address like this one.
    fn ue(&self, slot: u8, like: IpAddr) -> IpAddr;
    /// The public address of a session's UE, and the port that its own one of a protocol has there.
    fn public(&self, slot: u8, protocol: u8, own: u16) -> Option<(Ipv4Addr, u16)>;
}

/// The frames, one unless it is cut, and the port that receives them.
pub fn build(spec: &PacketSpec, world: &TwinConfig, lookup: &impl Lookup) -> (u16, Vec<Vec<u8>>) {
    let protocol = match spec.icmp {
        Icmp::Unreachable(of, _) if spec.inner.protocol == 1 => of,
        _ => spec.inner.protocol,
    };
    let public = spec.public_of.filter(|_| spec.remote.is_ipv4());
    let public = public.and_then(|slot| lookup.public(slot, protocol, spec.ports.0));
    let (at, packet) = match spec.entry {
        Entry::Plain { ue, link } => match public {
            None => {
                let known = given_slot(ue).map(|slot| lookup.ue(slot, ue));
                (
                    link,
                    inner(spec, spec.remote, known.unwrap_or(ue), spec.ports),
                )
            }
            Some((address, port)) => {
                let ports = (spec.ports.1, port);
                (link, inner(spec, spec.remote, address.into(), ports))
            }
        },
        Entry::Tunnel {
            slot,
            pdr,
            peer,
            wrong,
            downlink,
            other_end,
        } => {
            let unknown = (world.links[0].addresses[0].0.into(), 0x0077_7777);
            let (local, teid) = lookup.f_teid(slot, pdr).unwrap_or(unknown);
            let like = match spec.remote {
                IpAddr::V4(remote) => remote.into(),
                IpAddr::V6(_) => IpAddr::V6(u128::from(spec.interface).into()),
            };
            let ue = spec.spoofed.unwrap_or_else(|| lookup.ue(slot, like));
            let remote = public.map_or(spec.remote, |(address, _)| address.into());
            let ports = (spec.ports.0, public.map_or(spec.ports.1, |(_, port)| port));
            let (source, destination) = match downlink {
                true => (remote, ue),
                false => (ue, remote),
            };
            let inner = inner(spec, source, destination, ports);
            let gtpu = gtpu(&spec.gtpu, teid ^ wrong, &inner);
            let local = match other_end {
                true if local == IpAddr::V4(N3) => N9.into(),
                true => N3.into(),
                false => local,
            };
            // By IPv6 only N3 is reached.
            let local = match (peer, local) {
                (IpAddr::V6(_), _) => N3_6.into(),
                (IpAddr::V4(_), local) => local,
            };
            let udp = udp(&spec.udp, &gtpu, peer, local);
            let serves = |l: &Link| l.tunnels.iter().any(|t| t.has(local));
            let link = world.links.iter().position(serves).unwrap_or(0);
            (link, outer(spec, peer, local, &udp))
        }
    };
    let link = &world.links[at];
    let frames = packets(spec, packet)
        .into_iter()
        .map(|p| damaged(spec, ethernet(spec, link, &p)));
    (link.port, frames.collect())
}

/// The packet, or the fragments that it is cut into.
fn packets(spec: &PacketSpec, packet: Vec<u8>) -> Vec<Vec<u8>> {
    let is_ipv6 = packet.first().is_some_and(|first| first >> 4 == 6);
    match spec.cut {
        None => vec![packet],
        Some(cut) if is_ipv6 => {
            let identification = spec.outer.identification;
            sent(pieces_ipv6(&packet, identification, cut), cut)
        }
        Some(cut) => sent(pieces(&packet, cut), cut),
    }
}

/// The inner packet, or the plain one, by the version of its addresses.
fn inner(spec: &PacketSpec, source: IpAddr, destination: IpAddr, ports: (u16, u16)) -> Vec<u8> {
    let payload = match (source, destination) {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            transport(spec, (source, destination), ports)
        }
        _ => other(spec, ports),
    };
    match (source, destination) {
        (IpAddr::V6(source), IpAddr::V6(destination)) => {
            ipv6(&spec.inner6, source, destination, &payload)
        }
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            ip(&spec.inner, source, destination, &payload)
        }
        mixed => panic!("a packet between {mixed:?}"),
    }
}

/// The outer packet, by the version of the peer's address.
fn outer(spec: &PacketSpec, peer: IpAddr, local: IpAddr, udp: &[u8]) -> Vec<u8> {
    match (peer, local) {
        (IpAddr::V4(peer), IpAddr::V4(local)) => ip(&spec.outer, peer, local, udp),
        (IpAddr::V6(peer), IpAddr::V6(local)) => {
            let outer = Ipv6Spec {
                version: if spec.outer.version == 4 {
                    6
                } else {
                    spec.outer.version
                },
                class: spec.outer.tos,
                label: 0,
                payload_len_error: spec.outer.total_len_error,
                hop_limit: spec.outer.ttl,
                protocol: spec.outer.protocol,
                extensions: spec.outer_extensions.clone(),
            };
            ipv6(&outer, peer, local, udp)
        }
        mixed => panic!("an outer packet between {mixed:?}"),
    }
}

fn ipv6(spec: &Ipv6Spec, source: Ipv6Addr, destination: Ipv6Addr, payload: &[u8]) -> Vec<u8> {
    let number = |extension: Option<&Extension>| match extension {
        None => spec.protocol,
        Some(Extension::Header(number, _)) => *number,
        Some(Extension::Fragment(..)) => 44,
    };
    let mut body = Vec::new();
    for (i, extension) in spec.extensions.iter().enumerate() {
        body.push(number(spec.extensions.get(i + 1)));
        match extension {
            // Options: padding to the end (RFC 8200, 4.2). A routing header of an unknown type with no
            // segment left (4.4).
            Extension::Header(_, units) => {
                let len = 8 * usize::from((*units).max(1));
                body.extend([*units - 1, 1, (len - 4) as u8]);
                body.extend(vec![0; len - 4]);
            }
            Extension::Fragment(offset, more) => {
                body.push(0);
                body.extend((offset << 3 | u16::from(*more)).to_be_bytes());
                body.extend([0, 0, 0, 9]);
            }
        }
    }
    body.extend(payload);
    let first = u32::from(spec.version) << 28 | u32::from(spec.class) << 20 | spec.label;
    let len = (body.len() as u16).wrapping_add_signed(spec.payload_len_error);
    let mut p = first.to_be_bytes().to_vec();
    p.extend(len.to_be_bytes());
    p.extend([number(spec.extensions.first()), spec.hop_limit]);
    p.extend(source.octets());
    p.extend(destination.octets());
    p.extend(body);
    p
}

fn damaged(spec: &PacketSpec, mut frame: Vec<u8>) -> Vec<u8> {
    if let Some((at, mask)) = spec.damage.flip
        && !frame.is_empty()
    {
        let at = usize::from(at) % frame.len();
        frame[at] ^= mask;
    }
    if let Some(len) = spec.damage.cut {
        frame.truncate(usize::from(len));
    }
    frame
}

/// The fragments of a packet without options.
fn pieces(packet: &[u8], cut: Cut) -> Vec<Vec<u8>> {
    let (header, payload) = packet.split_at(20);
    if payload.is_empty() {
        return vec![packet.to_vec()];
    }
    let len = usize::from(cut.len.max(8) & !7);
    let mut pieces: Vec<Vec<u8>> = Vec::new();
    for (i, part) in payload.chunks(len).enumerate() {
        let mut piece = [header, part].concat();
        let total = piece.len() as u16;
        piece[2..4].copy_from_slice(&total.to_be_bytes());
        let more = u16::from((i + 1) * len < payload.len()) << 13;
        let offset = (i * len / 8) as u16;
        piece[6..8].copy_from_slice(&(more | offset).to_be_bytes());
        piece[10..12].fill(0);
        let checksum = !sum(&piece[..20]);
        piece[10..12].copy_from_slice(&checksum.to_be_bytes());
        pieces.push(piece);
    }
    pieces
}

/// The fragments of an IPv6 packet (RFC 8200, 4.5), with all its extension headers in the fragmented part.
fn pieces_ipv6(packet: &[u8], identification: u16, cut: Cut) -> Vec<Vec<u8>> {
    let (header, payload) = packet.split_at(40);
    if payload.is_empty() {
        return vec![packet.to_vec()];
    }
    let len = usize::from(cut.len.max(8) & !7);
    let pieces = payload.chunks(len).enumerate().map(|(i, part)| {
        let more = u16::from((i + 1) * len < payload.len());
        let offset = ((i * len) as u16 | more).to_be_bytes();
        let [high, low] = identification.to_be_bytes();
        let fragment = [header[6], 0, offset[0], offset[1], 0, 0, high, low];
        let mut piece = [header, &fragment, part].concat();
        piece[4..6].copy_from_slice(&((8 + part.len()) as u16).to_be_bytes());
        piece[6] = 44;
        piece
    });
    pieces.collect()
}

/// In the order in which they come.
fn sent(mut pieces: Vec<Vec<u8>>, cut: Cut) -> Vec<Vec<u8>> {
    if cut.reversed {
        pieces.reverse();
    }
    let again = cut
        .twice
        .map(|i| pieces[usize::from(i) % pieces.len()].clone());
    if let Some(lost) = cut.lost {
        pieces.remove(usize::from(lost) % pieces.len());
    }
    pieces.extend(again);
    pieces
}

fn transport(
    spec: &PacketSpec,
    (source, destination): (Ipv4Addr, Ipv4Addr),
    ports: (u16, u16),
) -> Vec<u8> {
    let is_plain = matches!(spec.entry, Entry::Plain { .. });
    let identifier = if is_plain { ports.1 } else { ports.0 };
    let echo = |kind: u8| {
        let mut message = vec![kind, 0, 0, 0];
        message.extend(identifier.to_be_bytes());
        message.extend((0..spec.payload_len).map(|i| i as u8));
        message
    };
    let mut message = match spec.icmp {
        _ if spec.inner.protocol != 1 => return other(spec, ports),
        Icmp::Other => return other(spec, ports),
        Icmp::Request => echo(8),
        Icmp::Reply => echo(0),
        Icmp::Unreachable(protocol, len) => {
            let about = IpSpec {
                protocol,
                ..IpSpec::default()
            };
            let back = (ports.1, ports.0);
            let payload = match protocol {
                1 => [&[8, 0, 7, 7][..], &identifier.to_be_bytes(), &[0; 9]].concat(),
                _ => other(spec, back),
            };
            let mut quoted = ip(&about, destination, source, &payload);
            quoted.truncate(usize::from(len));
            [&[3, 3, 0, 0, 0, 0, 0, 0][..], &quoted].concat()
        }
    };
    let checksum = !sum(&message) ^ spec.checksum;
    message[2..4].copy_from_slice(&checksum.to_be_bytes());
    message
}

/// What has ports, or might have.
fn other(spec: &PacketSpec, ports: (u16, u16)) -> Vec<u8> {
    if let Some(tcp) = &spec.tcp {
        return segment(ports, tcp);
    }
    let len = usize::from(spec.payload_len);
    let mut payload = Vec::with_capacity(len + 8);
    payload.extend(ports.0.to_be_bytes());
    payload.extend(ports.1.to_be_bytes());
    payload.extend((len as u16 + 8).to_be_bytes());
    payload.extend(spec.checksum.to_be_bytes());
    payload.extend((0..len).map(|i| i as u8));
    if spec.inner.protocol == 6
        && let Some(flags) = payload.get_mut(13)
    {
        *flags = spec.flags;
    }
    payload
}

fn segment((from, to): (u16, u16), spec: &TcpSpec) -> Vec<u8> {
    let mut header = [from.to_be_bytes(), to.to_be_bytes()].concat();
    header.extend([1, 2, 3, 4, 5, 6, 7, 8]);
    let words = 5 + spec.options.len().div_ceil(4) as u8;
    let words = words.wrapping_add_signed(spec.words_error) & 0x0f;
    header.extend([words << 4, spec.flags, 0xfa, 0xf0]);
    header.extend(spec.checksum.to_be_bytes());
    header.extend([0, 0]);
    header.extend(&spec.options);
    header.resize(usize::from(spec.len), 0);
    header
}

fn ip(spec: &IpSpec, source: Ipv4Addr, destination: Ipv4Addr, payload: &[u8]) -> Vec<u8> {
    let header_len = 20 + 4 * usize::from(spec.options);
    let total = (header_len + payload.len()) as u16;
    let words = (5 + spec.options).wrapping_add_signed(spec.header_len_error) & 0x0f;
    let mut p = vec![spec.version << 4 | words, spec.tos];
    p.extend(
        total
            .wrapping_add_signed(spec.total_len_error)
            .to_be_bytes(),
    );
    p.extend(spec.identification.to_be_bytes());
    let flags = u16::from(spec.dont_fragment) << 14 | u16::from(spec.more_fragments) << 13;
    p.extend((flags | spec.offset & 0x1fff).to_be_bytes());
    p.extend([spec.ttl, spec.protocol, 0, 0]);
    p.extend(source.octets());
    p.extend(destination.octets());
    // No-operation options (RFC 791, 3.1).
    p.extend(vec![1; 4 * usize::from(spec.options)]);
    let checksum = !sum(&p);
    let checksum = match spec.checksum {
        Checksum::Good => checksum,
        Checksum::Wrong => checksum ^ 0x0100,
        Checksum::Is(wanted) => {
            // What is missing in the sum goes into the identification.
            let missing = u32::from(checksum) + u32::from(!wanted);
            let missing = (missing & 0xffff) + (missing >> 16);
            let id = u32::from(spec.identification) + missing;
            let id = ((id & 0xffff) + (id >> 16)) as u16;
            p[4..6].copy_from_slice(&id.to_be_bytes());
            !sum(&p)
        }
    };
    p[10..12].copy_from_slice(&checksum.to_be_bytes());
    p.extend(payload);
    p
}

fn sum(bytes: &[u8]) -> u16 {
    let words = bytes
        .chunks(2)
        .map(|c| u32::from(c[0]) << 8 | u32::from(*c.get(1).unwrap_or(&0)));
    words.fold(0, |sum, word| {
        let sum = u32::from(sum) + word;
        ((sum & 0xffff) + (sum >> 16)) as u16
    })
}

fn udp(spec: &UdpSpec, payload: &[u8], source: IpAddr, destination: IpAddr) -> Vec<u8> {
    let len = (8 + payload.len()) as u16;
    let mut p = spec.source_port.to_be_bytes().to_vec();
    p.extend(spec.destination_port.to_be_bytes());
    p.extend(len.wrapping_add_signed(spec.length_error).to_be_bytes());
    p.extend([0, 0]);
    p.extend(payload);
    let octets = |address: IpAddr| match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    let ends = [octets(source), octets(destination)].concat();
    // The same words of both pseudo headers (RFC 768; RFC 8200, 8.1), zeros apart.
    let pseudo = [&ends[..], &[0, 17], &p[4..6]].concat();
    let checksum = match !sum(&[&pseudo[..], &p].concat()) {
        // 0 is no checksum (RFC 768).
        0 => 0xffff,
        sum => sum,
    };
    let checksum = match spec.checksum {
        UdpSum::None => 0,
        UdpSum::Good => checksum,
        UdpSum::Wrong => checksum ^ 0x0100,
    };
    p[6..8].copy_from_slice(&checksum.to_be_bytes());
    p
}

fn gtpu(spec: &GtpuSpec, teid: u32, inner: &[u8]) -> Vec<u8> {
    let container = spec.qfi.map(|qfi| (0x85, container(spec, qfi)));
    let other = |(kind, words): &(u8, u8)| (*kind, vec![0; 4 * usize::from(*words)]);
    let mut extensions: Vec<(u8, Vec<u8>)> = spec.before.iter().map(other).collect();
    extensions.extend(container);
    extensions.extend(spec.behind.iter().map(other));
    let mut body = Vec::new();
    let has_optional = spec.sequence || spec.n_pdu || !extensions.is_empty();
    if has_optional {
        let first = extensions.first().map_or(0, |(kind, _)| *kind);
        body.extend([0x12, 0x34, 7, first]);
    }
    for (i, (_, bytes)) in extensions.iter().enumerate() {
        let mut bytes = bytes.clone();
        let words = bytes.len() / 4;
        if let Some(last) = bytes.last_mut() {
            *last = extensions.get(i + 1).map_or(0, |(kind, _)| *kind);
            bytes[0] = words as u8;
        } else {
            // A header of length 0: broken, whatever follows.
            bytes = vec![0];
        }
        body.extend(bytes);
    }
    if !spec.no_payload {
        body.extend(inner);
    }
    let flags =
        u8::from(!extensions.is_empty()) << 2 | u8::from(spec.sequence) << 1 | u8::from(spec.n_pdu);
    let length = (body.len() as u16).wrapping_add_signed(spec.length_error);
    let mut p = vec![(0x30 | flags) ^ spec.flags_error, spec.message_type];
    p.extend(length.to_be_bytes());
    p.extend(teid.to_be_bytes());
    p.extend(body);
    p
}

fn container(spec: &GtpuSpec, qfi: u8) -> Vec<u8> {
    let mut bytes = vec![0; 4 * usize::from(spec.container.words.max(1))];
    bytes[1] = spec.container.pdu_type << 4;
    bytes[2] = qfi;
    bytes
}

/// The MAC address of a group of IPv6 stations (RFC 2464, 7).
fn group(spec: &PacketSpec) -> [u8; 6] {
    match spec.entry {
        Entry::Plain {
            ue: IpAddr::V6(ue), ..
        } => {
            let [.., a, b, c, d] = ue.octets();
            [0x33, 0x33, a, b, c, d]
        }
        _ => [0x33, 0x33, 0, 0, 0, 1],
    }
}

fn ethernet(spec: &PacketSpec, link: &Link, packet: &[u8]) -> Vec<u8> {
    let eth = &spec.eth;
    let to = match eth.to {
        MacSpec::Us => link.mac,
        MacSpec::Other => [2, 9, 9, 9, 9, 9],
        MacSpec::Broadcast => [0xff; 6],
        MacSpec::Group => group(spec),
    };
    let mut frame = [to, [2, 0, 9, 9, 9, 1]].concat();
    let tags: Vec<u16> = match (eth.vlan, link.vlan) {
        (VlanSpec::Right, vlan) => vlan.into_iter().collect(),
        (VlanSpec::None, _) => vec![],
        (VlanSpec::Tag(tag), _) => vec![tag],
        (VlanSpec::Twice, vlan) => vec![vlan.unwrap_or(0), 5],
    };
    for tag in tags {
        frame.extend([0x81, 0x00]);
        frame.extend(tag.to_be_bytes());
    }
    let is_plain_ipv6 = matches!(
        spec.entry,
        Entry::Plain {
            ue: IpAddr::V6(_),
            ..
        }
    );
    let is_outer_ipv6 = matches!(
        spec.entry,
        Entry::Tunnel {
            peer: IpAddr::V6(_),
            ..
        }
    );
    let ether_type = if is_plain_ipv6 || is_outer_ipv6 {
        0x86dd
    } else {
        0x0800
    };
    frame.extend(eth.ether_type.unwrap_or(ether_type).to_be_bytes());
    frame.extend(packet);
    frame.extend(&eth.padding);
    frame
}
