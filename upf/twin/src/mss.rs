//! Segment sizes that TCP SYNs offer (RFC 9293, 3.7.1), lowered to what links allow.

use crate::ip::{self, Packet};

const TCP: u8 = 6;
const HEADER: usize = 20;
const SYN: u8 = 0x02;

/// A packet whose SYN offers segments that make no longer packets than this; nothing if it is none that offers more.
pub fn clamped(packet: &[u8], packet_bytes: u16) -> Option<Vec<u8>> {
    let packet = ip::read(packet).ok()?;
    let upper = packet.upper();
    let segment = upper.payload.filter(|_| upper.protocol == Some(TCP))?;
    let before = packet.bytes().len() - segment.len();
    let ip_header = match packet {
        Packet::V4(_) => 20,
        Packet::V6(_) => 40,
    };
    let most = packet_bytes - ip_header - HEADER as u16;
    let header = segment.get(..header_len(segment)?)?;
    if header[13] & SYN == 0 {
        return None;
    }
    let mut lowered = header.to_vec();
    for at in sizes(header) {
        if word(header, at) > most {
            lowered[at..at + 2].copy_from_slice(&most.to_be_bytes());
        }
    }
    if lowered == header {
        return None;
    }
    let sum = changed_sum(header, &lowered);
    lowered[16..18].copy_from_slice(&sum.to_be_bytes());
    let mut all = packet.bytes().to_vec();
    all[before..before + lowered.len()].copy_from_slice(&lowered);
    Some(all)
}

fn header_len(segment: &[u8]) -> Option<usize> {
    let len = usize::from(segment.get(12)? / 16) * 4;
    (len >= HEADER).then_some(len)
}

/// Where Maximum Segment Sizes stand: up to the end of options, or to one that cannot be.
fn sizes(header: &[u8]) -> Vec<usize> {
    let mut sizes = Vec::new();
    let mut at = HEADER;
    loop {
        at += match header[at..] {
            [1, ..] => 1,
            [2, 4, _, _, ..] => {
                sizes.push(at + 2);
                4
            }
            [kind, len, ..] if kind != 0 && len >= 2 && at + usize::from(len) <= header.len() => {
                usize::from(len)
            }
            _ => return sizes,
        };
    }
}

/// The checksum of what was not seen whole: the old one, less what stood there, with what stands there now.
fn changed_sum(old: &[u8], new: &[u8]) -> u16 {
    let mut sum = u32::from(!word(old, 16));
    for at in (0..old.len()).step_by(2) {
        sum += u32::from(!word(old, at)) + u32::from(word(new, at));
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(options: &[u8]) -> Vec<u8> {
        let mut segment = vec![0; HEADER];
        segment[12] = ((HEADER + options.len()) as u8 / 4) << 4;
        segment[13] = SYN;
        segment.extend(options);
        let mut packet = vec![0x60, 0, 0, 0, 0, segment.len() as u8, TCP, 64];
        packet.extend([0x20; 32]);
        packet.extend(segment);
        packet
    }

    #[test]
    fn larger_sizes_are_lowered() {
        let offers = packet(&[1, 2, 4, 5, 0xb4, 1, 1, 0]);
        let lowered = clamped(&offers, 1300).expect("it offers more");
        assert_eq!(lowered[60..68], [1, 2, 4, 0x04, 0xd8, 1, 1, 0]);
        assert_eq!(clamped(&lowered, 1300), None);
        // From 0x05b4 to 0x04d8, in other halves of their words.
        let sum = u32::from(!word(&offers, 56)) + 0xffff - 0xb405 + 0xd804;
        assert_eq!(word(&lowered, 56), !((sum & 0xffff) + (sum >> 16)) as u16);
    }

    #[test]
    fn others_are_left_alone() {
        for options in [
            &[0, 1, 2, 4, 5, 0xb4, 1, 1][..],
            &[9, 0, 2, 4],
            &[2, 4, 4, 0],
            &[],
        ] {
            assert_eq!(clamped(&packet(options), 1300), None);
        }
        let mut no_syn = packet(&[2, 4, 5, 0xb4]);
        no_syn[40 + 13] = 0x10;
        assert_eq!(clamped(&no_syn, 1300), None);
    }
}
