//! Another address and port in a packet; each checksum follows word by word, right or wrong (RFC 1624).

use std::net::Ipv4Addr;

const ICMP: u8 = 1;
const UDP: u8 = 17;

/// The packet with another source, or destination.
pub fn rewrite(packet: &[u8], source: bool, to: (Ipv4Addr, u16)) -> Vec<u8> {
    let mut packet = packet.to_vec();
    end(&mut packet, source, to, true);
    packet
}

/// The packet at the front of `bytes`, which may be cut short behind its header.
fn end(bytes: &mut [u8], source: bool, (address, port): (Ipv4Addr, u16), is_whole: bool) {
    let transport = usize::from(bytes[0] & 15) * 4;
    let protocol = bytes[9];
    let is_later = u16::from_be_bytes([bytes[6], bytes[7]]) & 0x1fff != 0;
    let [a, b, c, d] = address.octets();
    let at = if source { 12 } else { 16 };
    let of_transport = match protocol {
        ICMP => None,
        UDP => Some(transport + 6),
        _ => Some(transport + 16),
    };
    let has_sum = |bytes: &[u8], at: &usize| {
        let there = bytes.len() >= at + 2;
        there && !(protocol == UDP && bytes[*at..at + 2] == [0, 0]) && !is_later
    };
    let of_transport = of_transport.filter(|at| has_sum(bytes, at));
    for (at, new) in [(at, [a, b]), (at + 2, [c, d])] {
        // The header's checksum, and that which covers the addresses.
        let sums: Vec<usize> = [10].into_iter().chain(of_transport).collect();
        replace(bytes, at, new, &sums);
    }
    if is_later {
        return;
    }
    let new = port.to_be_bytes();
    match (protocol, bytes[transport]) {
        (ICMP, 0 | 8) => replace(bytes, transport + 4, new, &[transport + 2]),
        (ICMP, _) if is_whole => {
            let before = bytes[transport + 8..].to_vec();
            end(&mut bytes[transport + 8..], !source, (address, port), false);
            // What changed is taken out and put in again, by the sum of the message.
            let after = bytes[transport + 8..].to_vec();
            for (i, (old, new)) in before.chunks(2).zip(after.chunks(2)).enumerate() {
                if old != new {
                    let at = transport + 8 + 2 * i;
                    bytes[at..at + old.len()].copy_from_slice(old);
                    replace(bytes, at, [new[0], new[1]], &[transport + 2]);
                }
            }
        }
        (ICMP, _) => {}
        _ => {
            let at = transport + if source { 0 } else { 2 };
            replace(bytes, at, new, of_transport.as_slice());
        }
    }
    if protocol == UDP
        && let Some(at) = of_transport
        && bytes[at..at + 2] == [0, 0]
    {
        bytes[at..at + 2].fill(0xff);
    }
}

/// Another word at `at`, and what that does to the checksums at `sums`.
fn replace(bytes: &mut [u8], at: usize, new: [u8; 2], sums: &[usize]) {
    let old = [bytes[at], bytes[at + 1]];
    bytes[at..at + 2].copy_from_slice(&new);
    for at in sums {
        let [old, new, sum] =
            [old, new, [bytes[*at], bytes[at + 1]]].map(|w| u32::from(u16::from_be_bytes(w)));
        let mut total = (sum ^ 0xffff) + (old ^ 0xffff) + new;
        while total > 0xffff {
            total = (total & 0xffff) + (total >> 16);
        }
        bytes[*at..at + 2].copy_from_slice(&(!(total as u16)).to_be_bytes());
    }
}
