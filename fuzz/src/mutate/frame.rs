//! Changes of a frame or of a packet in it: fields, chains of extension headers, options,
//! fragments, tags; with or without lengths and checksums made right again.

use super::bytes;
pub use super::fields::Layer;
use super::fields::{Found, fields, layers, put_u16, repair_lengths, repair_sums};
use crate::random::Rng;

/// Extension header types with a meaning, and some without (TS 29.281, figure 5.2.1-3).
const EXTENSIONS: &[u8] = &[
    0x00, 0x03, 0x20, 0x40, 0x81, 0x83, 0x84, 0x85, 0xc0, 0xc9, 0xff, 0x01,
];

/// One change of `input`, which begins with a header of layer `first`.
pub(super) fn mutate(input: &mut Vec<u8>, donor: &[u8], first: Layer, rng: &mut Rng) {
    if input.is_empty() {
        input.extend(donor);
    }
    let found = layers(input, first);
    let Some(at) = rng.pick(&found).copied() else {
        return;
    };
    match rng.below(12) {
        0 => bytes::mutate(input, donor, rng),
        1 => extension(input, &found, rng),
        2 => options(input, &found, rng),
        3 => fragment(input, &found, rng),
        4 => resize(input, rng),
        5 => tag(input, first, rng),
        6 => take_over(input, donor, at, first, rng),
        _ => field(input, at, rng),
    }
    if !rng.one_in(3) {
        repair_lengths(input, first);
    }
    if !rng.one_in(6) {
        repair_sums(input, first);
    }
}

/// One field of one layer to an edge value, or to a neighbour of its own.
fn field(input: &mut [u8], Found { layer, at }: Found, rng: &mut Rng) {
    let Some((offset, width)) = rng.pick(fields(layer)).copied() else {
        return;
    };
    let place = at + offset;
    let old = input
        .iter()
        .skip(place)
        .take(width)
        .fold(0, |n: u64, o| n << 8 | u64::from(*o));
    let new = match rng.below(4) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        2 => old ^ 1 << rng.below(8 * width),
        _ => rng.edge(),
    };
    bytes::put(input, place, width, new);
}

/// One more GTP-U extension header, or many, in front of those that are there.
fn extension(input: &mut Vec<u8>, found: &[Found], rng: &mut Rng) {
    let Some(at) = find(found, Layer::Gtpu, rng) else {
        return;
    };
    for _ in 0..=rng.below(3) * rng.below(5) {
        let Some(flags) = input.get(at).copied() else {
            return;
        };
        if flags & 7 == 0 {
            let optional = (at + 8).min(input.len());
            input.splice(optional..optional, [0; 4]);
        }
        input[at] = flags | 4;
        let first = (at + 12).min(input.len());
        let next = input.get(at + 11).copied().unwrap_or(0);
        let units = if rng.one_in(8) {
            rng.octet()
        } else {
            1 + rng.below(3) as u8
        };
        let mut header = vec![units];
        header.extend(rng.octets(usize::from(units % 8) * 4));
        header.truncate((usize::from(units) * 4).saturating_sub(1).max(1));
        header.push(next);
        if let Some(ty) = input.get_mut(at + 11) {
            *ty = *rng.pick(EXTENSIONS).unwrap_or(&0x85);
        }
        input.splice(first..first, header);
    }
}

/// IPv4 options, sound or not.
fn options(input: &mut Vec<u8>, found: &[Found], rng: &mut Rng) {
    let Some(at) = find(found, Layer::Ip, rng) else {
        return;
    };
    let words = 1 + rng.below(10);
    let behind = (at + 20).min(input.len());
    let mut new = rng.octets(words * 4);
    if rng.one_in(2) {
        new[0] = *rng.pick(&[0, 1, 7, 0x44, 0x83, 0x94]).unwrap_or(&1);
        new[1] = rng.below(12) as u8;
    }
    input.splice(behind..behind, new);
    if let Some(octet) = input.get_mut(at) {
        *octet = octet.wrapping_add(words as u8);
    }
}

/// Flags and offset of a fragment.
fn fragment(input: &mut [u8], found: &[Found], rng: &mut Rng) {
    if let Some(at) = find(found, Layer::Ip, rng) {
        let flags = rng.below(8) as u16;
        let offset = [0, 1, 3, 90, 185, 0x1fff, rng.below(0x2000)][rng.below(7)] as u16;
        put_u16(input, at + 6, flags << 13 | offset);
    }
}

fn resize(input: &mut Vec<u8>, rng: &mut Rng) {
    match rng.below(3) {
        0 => {
            let len = rng.below(input.len() + 1);
            input.truncate(len);
        }
        1 => {
            let more = rng.below(64);
            input.extend(rng.octets(more));
        }
        _ => {
            let len = *rng
                .pick(&[60, 590, 1514, 1515, 2048, 2060, 4096, 9000])
                .unwrap_or(&60);
            input.resize(len, rng.octet());
        }
    }
}

/// A VLAN tag, put on or taken off.
fn tag(input: &mut Vec<u8>, first: Layer, rng: &mut Rng) {
    if first != Layer::Ethernet || input.len() < 18 {
        return;
    }
    if input[12..14] == [0x81, 0] && rng.one_in(2) {
        input.drain(12..16);
    } else {
        let vlan = *rng.pick(&[0, 30, 31, 0xfff]).unwrap_or(&30) as u8;
        input.splice(12..12, [0x81, 0, 0, vlan]);
    }
}

/// The rest of another frame from one of its layers on, behind this one's.
fn take_over(input: &mut Vec<u8>, donor: &[u8], at: Found, first: Layer, rng: &mut Rng) {
    let other = layers(donor, first);
    let same: Vec<_> = other.iter().filter(|f| f.layer == at.layer).collect();
    let from = match rng.pick(&same) {
        Some(found) => found.at,
        None => rng.pick(&other).map_or(0, |found| found.at),
    };
    input.truncate(at.at);
    input.extend(donor.get(from..).unwrap_or_default());
}

fn find(found: &[Found], layer: Layer, rng: &mut Rng) -> Option<usize> {
    let places: Vec<_> = found
        .iter()
        .filter(|f| f.layer == layer)
        .map(|f| f.at)
        .collect();
    rng.pick(&places).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus;
    use sluice_wire::eth::Eth;
    use sluice_wire::gtpu::Message;
    use sluice_wire::ipv4::Ipv4;

    #[test]
    fn most_mutants_of_frames_are_sound_packets() {
        let kept = corpus::kept("packets");
        let mut sound = 0;
        for case in 0..2000 {
            let mut rng = Rng::new(9, case);
            let mut input = rng.pick(&kept).expect("an entry").bytes.clone();
            let donor = rng.pick(&kept).expect("an entry").bytes.clone();
            mutate(&mut input, &donor, Layer::Ethernet, &mut rng);
            let ip = Eth::parse(&input)
                .ok()
                .and_then(|eth| Ipv4::parse(eth.payload()).ok());
            sound += usize::from(ip.is_some());
        }
        assert!(sound > 1000, "{sound} of 2000");
    }

    #[test]
    fn many_mutants_of_gtpu_are_messages() {
        let kept = corpus::kept("gtpu_parse");
        let mut sound = 0;
        for case in 0..2000 {
            let mut rng = Rng::new(9, case);
            let mut input = rng.pick(&kept).expect("an entry").bytes.clone();
            mutate(&mut input, &[], Layer::Gtpu, &mut rng);
            sound += usize::from(Message::parse(&input).is_ok());
        }
        assert!(sound > 700, "{sound} of 2000");
    }
}
