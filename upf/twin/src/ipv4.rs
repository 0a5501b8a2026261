//! IPv4 headers, read by etherparse.

use crate::ip::{Fault, Upper};
use etherparse::Ipv4HeaderSlice;

/// A sound IPv4 packet.
pub struct Packet<'a> {
    /// Its header.
    pub header: Ipv4HeaderSlice<'a>,
    /// All of it, cut at its total length.
    pub bytes: &'a [u8],
}

/// Reads the packet at the front of `bytes`.
pub fn read(bytes: &[u8]) -> Result<Packet<'_>, Fault> {
    let header = Ipv4HeaderSlice::from_slice(bytes).map_err(|_| Fault::Header)?;
    let total = usize::from(header.total_len());
    if total < header.slice().len() {
        return Err(Fault::Length);
    }
    let whole = bytes.get(..total).ok_or(Fault::Length)?;
    if sum(header.slice()) != 0xffff {
        return Err(Fault::Checksum);
    }
    Ok(Packet {
        header,
        bytes: whole,
    })
}

/// The ones-complement sum of 16-bit words (RFC 1071).
pub fn sum(bytes: &[u8]) -> u16 {
    let mut sum = 0u32;
    for pair in bytes.chunks(2) {
        let low = pair.get(1).copied().unwrap_or(0);
        sum += u32::from(pair[0]) << 8 | u32::from(low);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The packet with one hop less.
pub fn with_one_hop_less(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[8] -= 1;
    set_checksum(&mut packet);
    packet
}

/// Puts the right checksum into the header at the front.
pub fn set_checksum(packet: &mut [u8]) {
    packet[10..12].fill(0);
    let header_len = usize::from(packet[0] & 0x0f) * 4;
    let checksum = !sum(&packet[..header_len]);
    packet[10..12].copy_from_slice(&checksum.to_be_bytes());
}

impl<'a> Packet<'a> {
    /// What follows the header.
    pub fn payload(&self) -> &'a [u8] {
        &self.bytes[self.header.slice().len()..]
    }

    /// What it carries.
    pub fn upper(&self) -> Upper<'a> {
        let is_first = self.header.fragments_offset().value() == 0;
        Upper {
            protocol: Some(self.header.protocol().0),
            payload: is_first.then(|| self.payload()),
            is_whole: !self.header.is_fragmenting_payload(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> Vec<u8> {
        let mut p = vec![
            0x45, 0, 0, 24, 0, 0, 0, 0, 64, 17, 0, 0, 10, 45, 0, 7, 192, 0, 2, 1,
        ];
        p.extend([1, 2, 3, 4]);
        let c = !sum(&p[..20]);
        p[10..12].copy_from_slice(&c.to_be_bytes());
        p
    }

    #[test]
    fn faults_are_told_apart() {
        let good = packet();
        assert!(read(&good).is_ok());
        let with = |at: usize, value: u8| {
            let mut p = good.clone();
            p[at] = value;
            read(&p).err()
        };
        assert_eq!(with(0, 0x65), Some(Fault::Header));
        assert_eq!(with(0, 0x44), Some(Fault::Header));
        assert_eq!(
            with(0, 0x47),
            Some(Fault::Header),
            "28 bytes of header in 24"
        );
        assert_eq!(with(3, 25), Some(Fault::Length));
        assert_eq!(with(3, 19), Some(Fault::Length));
        assert_eq!(with(9, 6), Some(Fault::Checksum));
        assert_eq!(read(&good[..19]).err(), Some(Fault::Header));
    }

    #[test]
    fn a_hop_less_is_a_sound_packet() {
        let next = with_one_hop_less(&packet());
        assert_eq!(next[8], 63);
        assert!(read(&next).is_ok());
    }
}
