//! IPv4 fragmentation (RFC 791, 2.3 and 3.2), without memory of its own.

use super::{HEADER_LEN, Ipv4, Ipv4Option, MAX_HEADER_LEN, Options};
use crate::checksum::checksum;
use core::fmt;
use core::ops::Range;

/// Why a packet cannot be cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FragmentError {
    /// DF is set: the sender wants to hear of the MTU instead (RFC 1191).
    DontFragment,
    /// Header and 8 octets do not fit into the MTU.
    MtuTooSmall,
    /// The packet is a fragment that reaches beyond octet 65535 of the whole: no offset field
    /// holds where its parts would begin.
    BeyondEnd,
}

impl fmt::Display for FragmentError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::DontFragment => "IPv4 packet exceeds the MTU and has DF set (RFC 1191)",
            Self::MtuTooSmall => "MTU too small for an IPv4 header and 8 octets (RFC 791, 3.2)",
            Self::BeyondEnd => "IPv4 fragment reaches beyond octet 65535 (RFC 791, 3.1)",
        })
    }
}

impl core::error::Error for FragmentError {}

/// One fragment to be sent: a header of its own and a part of the payload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// The part of the payload that it carries, in octets from the start of the payload.
    pub payload: Range<usize>,
    /// Its offset field, in units of 8 octets; counts from the start of the original packet even
    /// if the packet cut is itself a fragment.
    pub offset_units: u16,
    /// Its MF flag.
    pub more_fragments: bool,
    /// Octets of its header.
    pub header_len: usize,
    first: bool,
}

/// The fragments of one packet for one MTU, in order.
///
/// A packet that fits gives itself, unchanged.
#[derive(Clone, Debug)]
pub struct Fragments<'a> {
    packet: Ipv4<'a>,
    mtu: usize,
    later_header_len: usize,
    next: Option<usize>,
}

impl<'a> Fragments<'a> {
    /// Plans fragments of at most `mtu` octets, header included.
    ///
    /// # Errors
    /// [`FragmentError`] if the packet neither fits nor may or can be cut.
    pub fn new(packet: Ipv4<'a>, mtu: u16) -> Result<Self, FragmentError> {
        let mtu = usize::from(mtu);
        let fits = packet.header_len() + packet.payload().len() <= mtu;
        if !fits && packet.dont_fragment() {
            return Err(FragmentError::DontFragment);
        }
        if !fits && packet.header_len() + 8 > mtu {
            return Err(FragmentError::MtuTooSmall);
        }
        let end = usize::from(packet.fragment_offset()) * 8 + packet.payload().len();
        if !fits && end > usize::from(u16::MAX) {
            return Err(FragmentError::BeyondEnd);
        }
        let later_header_len = HEADER_LEN + write_copied_options(&packet, &mut [0; 40]);
        Ok(Self {
            packet,
            mtu,
            later_header_len,
            next: Some(0),
        })
    }

    /// Writes the header of `fragment`, one of this plan, into `out`; returns its length.
    ///
    /// The first fragment keeps all options, later ones those with the copied flag (RFC 791, 3.1).
    pub fn write_header(&self, fragment: &Fragment, out: &mut [u8; MAX_HEADER_LEN]) -> usize {
        out[..HEADER_LEN].copy_from_slice(self.packet.header());
        let mut options = [0; 40];
        let options_len = if fragment.first {
            let all = self.packet.options();
            options[..all.len()].copy_from_slice(all);
            all.len()
        } else {
            write_copied_options(&self.packet, &mut options)
        };
        out[HEADER_LEN..].copy_from_slice(&options);
        let header_len = HEADER_LEN + options_len;
        // The sum of both is at most the total length of the packet that was cut.
        let total_len = (header_len + fragment.payload.len()) as u16;
        let flags = u16::from(out[6] & 0xc0) << 8 | u16::from(fragment.more_fragments) << 13;
        out[0] = 0x40 | (header_len / 4) as u8;
        out[2..4].copy_from_slice(&total_len.to_be_bytes());
        out[6..8].copy_from_slice(&(flags | fragment.offset_units & 0x1fff).to_be_bytes());
        out[10..12].fill(0);
        let sum = checksum(&out[..header_len]);
        out[10..12].copy_from_slice(&sum.to_be_bytes());
        header_len
    }
}

impl Iterator for Fragments<'_> {
    type Item = Fragment;

    fn next(&mut self) -> Option<Fragment> {
        let start = self.next?;
        let first = start == 0;
        let header_len = if first {
            self.packet.header_len()
        } else {
            self.later_header_len
        };
        let left = self.packet.payload().len() - start;
        let room = self.mtu.saturating_sub(header_len);
        let len = if left <= room { left } else { room & !7 };
        let end = start + len;
        let last = len == left;
        self.next = if last { None } else { Some(end) };
        Some(Fragment {
            payload: start..end,
            offset_units: self.packet.fragment_offset() + (start / 8) as u16,
            more_fragments: !last || self.packet.more_fragments(),
            header_len,
            first,
        })
    }
}

/// Writes the options that later fragments carry, filled up with End of Options to a multiple of
/// 4; returns the length.
fn write_copied_options(packet: &Ipv4<'_>, out: &mut [u8; 40]) -> usize {
    let mut len = 0;
    for option in Options::new(packet.options()).filter(Ipv4Option::is_copied) {
        let bytes = option.bytes();
        if let Some(place) = out.get_mut(len..len + bytes.len()) {
            place.copy_from_slice(bytes);
            len += bytes.len();
        }
    }
    len.next_multiple_of(4)
}
