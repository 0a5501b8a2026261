//! Where the layers of a frame begin, which fields they have, and how lengths and checksums are
//! made right again. Walks leniently: mutants are often broken.

use sluice_wire::checksum::checksum;
use sluice_wire::ipv4::Protocol;
use sluice_wire::udp::pseudo_header_sum;
use std::net::Ipv4Addr;

/// A protocol of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layer {
    Ethernet,
    Arp,
    Ip,
    Udp,
    Icmp,
    Gtpu,
}

/// A layer and where it begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Found {
    pub layer: Layer,
    pub at: usize,
}

/// Layers in each other at most.
const DEPTH: usize = 8;

/// Offset and width of the fields of each layer.
pub(super) fn fields(layer: Layer) -> &'static [(usize, usize)] {
    match layer {
        Layer::Ethernet => &[(0, 6), (6, 6), (12, 2), (14, 2), (16, 2)],
        Layer::Arp => &[
            (0, 2),
            (2, 2),
            (4, 1),
            (5, 1),
            (6, 2),
            (8, 6),
            (14, 4),
            (18, 6),
            (24, 4),
        ],
        Layer::Ip => &[
            (0, 1),
            (1, 1),
            (2, 2),
            (4, 2),
            (6, 2),
            (8, 1),
            (9, 1),
            (10, 2),
            (12, 4),
            (16, 4),
            (20, 4),
        ],
        Layer::Udp => &[(0, 2), (2, 2), (4, 2), (6, 2)],
        Layer::Icmp => &[(0, 1), (1, 1), (2, 2), (4, 2), (6, 2)],
        Layer::Gtpu => &[
            (0, 1),
            (1, 1),
            (2, 2),
            (4, 4),
            (8, 2),
            (10, 1),
            (11, 1),
            (12, 1),
            (13, 1),
            (14, 1),
            (15, 1),
        ],
    }
}

/// The layers of `data`, of which the first is known.
pub(super) fn layers(data: &[u8], first: Layer) -> Vec<Found> {
    let mut found = vec![Found {
        layer: first,
        at: 0,
    }];
    while found.len() < DEPTH {
        let next = found.last().and_then(|last| inside(data, *last));
        match next.filter(|next| next.at < data.len()) {
            Some(next) => found.push(next),
            None => break,
        }
    }
    found
}

/// The layer in a layer.
fn inside(data: &[u8], outer: Found) -> Option<Found> {
    let bytes = data.get(outer.at..)?;
    let (layer, len) = match outer.layer {
        Layer::Arp => return None,
        Layer::Ethernet => match (bytes.get(12..14)?, bytes.get(16..18)) {
            ([8, 0], _) => (Layer::Ip, 14),
            ([8, 6], _) => (Layer::Arp, 14),
            ([0x81, 0], Some([8, 0])) => (Layer::Ip, 18),
            ([0x81, 0], Some([8, 6])) => (Layer::Arp, 18),
            _ => return None,
        },
        Layer::Ip => {
            let len = usize::from(bytes.first()? & 15) * 4;
            match (bytes.get(9)?, bytes.get(6..8)?) {
                (17, [flags, 0]) if flags & 0x1f == 0 => (Layer::Udp, len),
                (1, [flags, 0]) if flags & 0x1f == 0 => (Layer::Icmp, len),
                _ => return None,
            }
        }
        Layer::Udp => match bytes.get(2..4)? {
            [0x08, 0x68] => (Layer::Gtpu, 8),
            _ => return None,
        },
        Layer::Icmp => match bytes.first()? {
            3 | 4 | 5 | 11 | 12 => (Layer::Ip, 8),
            _ => return None,
        },
        Layer::Gtpu => match bytes.get(1)? {
            254 | 255 => (Layer::Ip, gtpu_len(bytes)?),
            _ => return None,
        },
    };
    Some(Found {
        layer,
        at: outer.at + len,
    })
}

/// Octets of a GTP-U header with its chain of extension headers.
fn gtpu_len(bytes: &[u8]) -> Option<usize> {
    if bytes.first()? & 7 == 0 {
        return Some(8);
    }
    let mut at = 12;
    let mut next = *bytes.get(11)?;
    for _ in 0..16 {
        if next == 0 || bytes.first()? & 4 == 0 {
            break;
        }
        at += usize::from(*bytes.get(at)?).max(1) * 4;
        next = *bytes.get(at.checked_sub(1)?)?;
    }
    Some(at)
}

/// States the lengths that the octets have.
pub(super) fn repair_lengths(data: &mut [u8], first: Layer) {
    for Found { layer, at } in layers(data, first) {
        let len = data.len() - at;
        let (field, stated) = match layer {
            Layer::Ip => (at + 2, len),
            Layer::Udp => (at + 4, len),
            Layer::Gtpu => (at + 2, len.saturating_sub(8)),
            _ => continue,
        };
        put_u16(data, field, stated as u16);
    }
}

/// Makes all checksums right, the inner ones first.
pub(super) fn repair_sums(data: &mut [u8], first: Layer) {
    let found = layers(data, first);
    for (i, Found { layer, at }) in found.iter().copied().enumerate().rev() {
        match layer {
            Layer::Ip => {
                let len = data.get(at).map_or(0, |b| usize::from(b & 15) * 4);
                sum_over(data, at, len, 10, 0);
            }
            Layer::Icmp => sum_over(data, at, data.len() - at, 2, 0),
            Layer::Udp => {
                let pseudo = i.checked_sub(1).and_then(|i| pseudo(data, found[i].at, at));
                sum_over(data, at, data.len() - at, 6, pseudo.unwrap_or(0));
            }
            _ => {}
        }
    }
}

/// The folded sum of a UDP pseudo header (RFC 768).
fn pseudo(data: &[u8], ip_at: usize, at: usize) -> Option<u16> {
    let address = |from: usize| {
        let octets = data.get(ip_at + from..)?.first_chunk::<4>()?;
        Some(Ipv4Addr::from(*octets))
    };
    let len = (data.len() - at) as u16;
    let sum = pseudo_header_sum(address(12)?, address(16)?, Protocol::UDP, len);
    Some(!sum.finish())
}

/// Writes the checksum over `len` octets from `at` into the field `field` behind `at`.
fn sum_over(data: &mut [u8], at: usize, len: usize, field: usize, start: u16) {
    if len < field + 2 || at + len > data.len() {
        return;
    }
    put_u16(data, at + field, 0);
    let mut bytes = start.to_be_bytes().to_vec();
    bytes.extend(&data[at..at + len]);
    put_u16(data, at + field, checksum(&bytes));
}

/// Writes two octets, as far as there are any.
pub(super) fn put_u16(data: &mut [u8], at: usize, value: u16) {
    super::bytes::put(data, at, 2, value.into());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus;
    use sluice_wire::eth::Eth;
    use sluice_wire::ipv4::Ipv4;
    use sluice_wire::udp::Udp;

    #[test]
    fn the_layers_of_a_tunnelled_packet_are_found() {
        let entry = corpus::kept("packets");
        let frame = entry.iter().find(|e| e.name == "uplink").expect("an entry");
        let names: Vec<_> = layers(&frame.bytes, Layer::Ethernet)
            .iter()
            .map(|f| f.layer)
            .collect();
        let inner = [Layer::Ip, Layer::Udp];
        let outer = [Layer::Ethernet, Layer::Ip, Layer::Udp, Layer::Gtpu];
        assert_eq!(names, [&outer[..], &inner].concat());
    }

    #[test]
    fn what_is_repaired_verifies() {
        let entry = corpus::kept("packets");
        let mut frame = entry
            .iter()
            .find(|e| e.name == "uplink")
            .expect("an entry")
            .bytes
            .clone();
        frame.extend([7; 9]);
        frame[30] ^= 1;
        repair_lengths(&mut frame, Layer::Ethernet);
        repair_sums(&mut frame, Layer::Ethernet);
        let ip = Ipv4::parse(Eth::parse(&frame).unwrap().payload()).unwrap();
        let udp = Udp::parse(ip.payload()).unwrap();
        assert!(udp.verify(ip.source(), ip.destination()));
        assert_eq!(usize::from(ip.total_len()), frame.len() - 14);
    }
}
