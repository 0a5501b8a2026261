//! DSCP and ECN of outer headers: DSCP by QFI, ECN as RFC 6040 has it (normal mode).

use crate::drop::DropReason;
use sluice_wire::checksum::update_u16;
use sluice_wire::ipv6::is_ipv6;
use sluice_wire::layout::{be16, eth, ipv4, ipv6};

/// The ECN bits of a ToS or traffic class octet (RFC 3168, 5).
const ECN_MASK: u8 = 0b11;
const NOT_ECT: u8 = 0b00;
const ECT_0: u8 = 0b10;
const ECT_1: u8 = 0b01;
const CE: u8 = 0b11;

/// DSCP of outer headers by the QFI that their packets are marked with.
#[derive(Clone, Debug)]
pub struct DscpByQfi {
    /// As the upper six bits of the octet.
    octets: [u8; 64],
}

impl Default for DscpByQfi {
    /// Best effort for all.
    fn default() -> Self {
        Self { octets: [0; 64] }
    }
}

impl DscpByQfi {
    /// Packets of a QFI get this DSCP. False if there is no such QFI or DSCP.
    pub fn set(&mut self, qfi: u8, dscp: u8) -> bool {
        match self.octets.get_mut(usize::from(qfi)) {
            Some(octet) if dscp < 64 => {
                *octet = dscp << 2;
                true
            }
            _ => false,
        }
    }

    /// The outer header's octet for a packet of a QFI, or of none: ECN goes along (RFC 6040, 4.1).
    #[inline(always)]
    pub fn outer(&self, qfi: Option<u8>, inner: u8) -> u8 {
        let dscp = qfi.map_or(0, |qfi| self.octets[usize::from(qfi & 63)]);
        dscp | inner & ECN_MASK
    }
}

/// Transport Level Marking of a FAR (TS 29.244, 5.4.4, 8.2.12): DSCP bits that outer headers have in place of those
/// of their QFI. ECN bits are not its: they tell what the packet meets on its way.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Marking {
    value: u8,
    mask: u8,
}

impl Marking {
    /// Of a ToS or traffic class octet those bits that the mask has.
    pub const fn new(octet: u8, mask: u8) -> Self {
        let mask = mask & !ECN_MASK;
        Self {
            value: octet & mask,
            mask,
        }
    }

    /// True if it changes nothing.
    pub const fn is_none(self) -> bool {
        self.mask == 0
    }

    /// An outer header's octet with this marking.
    #[inline(always)]
    pub const fn mark(self, tos: u8) -> u8 {
        tos & !self.mask | self.value
    }

    /// Value and mask.
    #[inline(always)]
    pub const fn octets(self) -> [u8; 2] {
        [self.value, self.mask]
    }
}

/// ToS or traffic class of an IP packet; 0 of none.
#[inline(always)]
pub fn tos(packet: &[u8]) -> u8 {
    match packet {
        [first, second, ..] if first >> 4 == 6 => first << 4 | second >> 4,
        [_, second, ..] => *second,
        _ => 0,
    }
}

/// The ECN bits of the outer IP header of a frame.
#[inline(always)]
pub fn outer_ecn(frame: &[u8]) -> u8 {
    let at = eth::payload_at(frame).unwrap_or(eth::LEN);
    tos(frame.get(at..).unwrap_or_default()) & ECN_MASK
}

/// Brings what the outer header's ECN bits say into the inner packet (RFC 6040, 4.2).
///
/// # Errors
/// Congestion was met on the way by a flow that cannot be told so.
#[inline(always)]
pub fn decapsulate(outer_ecn: u8, inner: &mut [u8]) -> Result<(), DropReason> {
    // ECT(0) outside changes nothing.
    if outer_ecn & ECT_1 == 0 {
        return Ok(());
    }
    bring_in(outer_ecn, inner)
}

#[cold]
fn bring_in(outer_ecn: u8, inner: &mut [u8]) -> Result<(), DropReason> {
    let found = tos(inner) & ECN_MASK;
    let ecn = match (outer_ecn, found) {
        (CE, NOT_ECT) => return Err(DropReason::CongestionMarked),
        (CE, _) => CE,
        (ECT_1, ECT_0) => ECT_1,
        _ => return Ok(()),
    };
    set_ecn(inner, found ^ ecn);
    Ok(())
}

/// Turns some of the ECN bits of a packet that is long enough for a header.
fn set_ecn(packet: &mut [u8], turned: u8) {
    if is_ipv6(packet) {
        if let Some(octet) = packet.get_mut(ipv6::TRAFFIC_CLASS_LOW) {
            *octet ^= turned << 4;
        }
        return;
    }
    let Some(header) = packet.first_chunk_mut::<{ ipv4::LEN }>() else {
        return;
    };
    let old = be16(header, ipv4::VERSION_IHL);
    header[ipv4::TOS] ^= turned;
    let new = be16(header, ipv4::VERSION_IHL);
    let sum = update_u16(be16(header, ipv4::CHECKSUM), old, new);
    header[ipv4::CHECKSUM..ipv4::CHECKSUM + 2].copy_from_slice(&sum.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_wire::ipv4::{Ipv4, Ipv4Header, Protocol};
    use sluice_wire::ipv6::{Ipv6, Ipv6Header};

    fn packets(ecn: u8) -> [Vec<u8>; 2] {
        let mut four = Ipv4Header::new(Protocol::UDP, [10, 0, 0, 1].into(), [10, 0, 0, 2].into());
        four.tos = 0xb8 | ecn;
        let ends = [1u128, 2].map(|a| (0x2001 << 112 | a).into());
        let mut six = Ipv6Header::new(Protocol::UDP, ends[0], ends[1]);
        (six.traffic_class, six.flow_label) = (0xb8 | ecn, 0xf_ffff);
        [
            four.to_bytes(0).unwrap().to_vec(),
            six.to_bytes(0).unwrap().to_vec(),
        ]
    }

    #[test]
    fn congestion_is_told_to_those_who_understand_and_drops_the_others() {
        for outer in 0..4 {
            for inner in 0..4 {
                for mut packet in packets(inner) {
                    let said = decapsulate(outer, &mut packet);
                    let expected = match (outer, inner) {
                        (CE, NOT_ECT) => {
                            assert_eq!(said, Err(DropReason::CongestionMarked));
                            continue;
                        }
                        (CE, _) => CE,
                        (ECT_1, ECT_0) => ECT_1,
                        _ => inner,
                    };
                    assert_eq!((said, tos(&packet)), (Ok(()), 0xb8 | expected));
                    let label = Ipv6::parse(&packet).map(|ip| ip.flow_label());
                    assert!(Ipv4::parse(&packet).is_ok() || label == Ok(0xf_ffff));
                }
            }
        }
    }

    #[test]
    fn a_marking_has_its_bits_and_leaves_ecn_and_the_others() {
        let expedited = Marking::new(0xb8, 0xfc);
        assert_eq!(
            [0x00, 0x29, 0xff].map(|tos| expedited.mark(tos)),
            [0xb8, 0xb9, 0xbb]
        );
        assert_eq!(Marking::new(0xff, 0xe0).mark(0x1d), 0xfd, "a class alone");
        assert_eq!(
            Marking::new(0xff, 0x03),
            Marking::default(),
            "ECN is the packet's"
        );
        assert!((0..=255).all(|tos| Marking::default().mark(tos) == tos));
        assert!(Marking::default().is_none() && !Marking::new(0, 0xfc).is_none());
    }

    #[test]
    fn the_outer_header_has_the_flows_dscp_and_the_packets_ecn() {
        let mut dscp = DscpByQfi::default();
        assert!(dscp.set(9, 46) && !dscp.set(9, 64) && !dscp.set(64, 1));
        assert_eq!(dscp.outer(Some(9), 0x03), 46 << 2 | 3);
        assert_eq!(dscp.outer(Some(8), 0xb9), 1);
        assert_eq!(dscp.outer(None, 0xb8), 0);
    }
}
