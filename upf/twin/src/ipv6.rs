//! IPv6 headers and extension headers (RFC 8200); addresses of the link (RFC 4291).

use crate::ip::{Fault, Upper};
use etherparse::Ipv6HeaderSlice;
use std::net::Ipv6Addr;

const HEADER: usize = 40;

const HOP_BY_HOP_OPTIONS: u8 = 0;
const ROUTING: u8 = 43;
const FRAGMENT: u8 = 44;
const ICMPV6: u8 = 58;
const DESTINATION_OPTIONS: u8 = 60;

const ROUTER_SOLICITATION: u8 = 133;
const REDIRECT: u8 = 137;

/// A sound IPv6 packet.
pub struct Packet<'a> {
    /// Its header.
    pub header: Ipv6HeaderSlice<'a>,
    /// All of it, cut at its payload length.
    pub bytes: &'a [u8],
}

/// Reads the packet at the front of `bytes`.
pub fn read(bytes: &[u8]) -> Result<Packet<'_>, Fault> {
    let header = Ipv6HeaderSlice::from_slice(bytes).map_err(|_| Fault::Header)?;
    // Nothing, yet options: a jumbogram (RFC 2675), or nonsense.
    if header.payload_length() == 0 && bytes[6] == HOP_BY_HOP_OPTIONS {
        return Err(Fault::Header);
    }
    let total = HEADER + usize::from(header.payload_length());
    let whole = bytes.get(..total).ok_or(Fault::Length)?;
    Ok(Packet {
        header,
        bytes: whole,
    })
}

/// The packet with one hop less.
pub fn with_one_hop_less(packet: &[u8]) -> Vec<u8> {
    let mut packet = packet.to_vec();
    packet[7] -= 1;
    packet
}

impl<'a> Packet<'a> {
    /// What stands behind hop-by-hop options, routing, destination options and fragment headers.
    /// In a fragment that is not the first only the type of the next header is known.
    pub fn upper(&self) -> Upper<'a> {
        let mut next = self.header.next_header().0;
        let mut rest = &self.bytes[HEADER..];
        let mut is_whole = true;
        while matches!(
            next,
            HOP_BY_HOP_OPTIONS | ROUTING | DESTINATION_OPTIONS | FRAGMENT
        ) {
            let unknown = Upper {
                protocol: None,
                payload: None,
                is_whole,
            };
            let Some(front) = rest.get(..8) else {
                return unknown;
            };
            let len = match next {
                FRAGMENT => 8,
                _ => (usize::from(front[1]) + 1) * 8,
            };
            if next == FRAGMENT {
                let word = u16::from_be_bytes([front[2], front[3]]);
                is_whole &= word & 0xfff9 == 0;
                if word & 0xfff8 != 0 {
                    return later_fragment(front[0]);
                }
            }
            next = front[0];
            let Some(behind) = rest.get(len..) else {
                return unknown;
            };
            rest = behind;
        }
        Upper {
            protocol: Some(next),
            payload: Some(rest),
            is_whole,
        }
    }

    /// From or to an address that means something on one link only.
    pub fn is_of_the_link(&self) -> bool {
        is_link_source(self.header.source_addr())
            || is_link_destination(self.header.destination_addr())
    }

    /// A Router Solicitation (RFC 4861, 4.1). Whether it is a valid one is judged by who answers it.
    pub fn is_router_solicitation(&self) -> bool {
        self.icmp_type() == Some(ROUTER_SOLICITATION)
    }

    /// A message of Neighbour Discovery (RFC 4861, 4).
    pub fn is_neighbour_discovery(&self) -> bool {
        let kind = self.icmp_type();
        kind.is_some_and(|t| (ROUTER_SOLICITATION..=REDIRECT).contains(&t))
    }

    fn icmp_type(&self) -> Option<u8> {
        let upper = self.upper();
        let is_icmp = upper.protocol == Some(ICMPV6);
        upper.payload.filter(|_| is_icmp)?.first().copied()
    }
}

/// Its headers are those of the first fragment: what follows here is data, even if the first header
/// is an extension header.
fn later_fragment<'a>(first_header: u8) -> Upper<'a> {
    let is_extension = matches!(
        first_header,
        HOP_BY_HOP_OPTIONS | ROUTING | DESTINATION_OPTIONS | FRAGMENT
    );
    Upper {
        protocol: (!is_extension).then_some(first_header),
        payload: None,
        is_whole: false,
    }
}

/// The unspecified or a link-local address (RFC 4291, 2.5.2, 2.5.6).
pub fn is_link_source(address: Ipv6Addr) -> bool {
    address.is_unspecified() || address.is_unicast_link_local()
}

/// A link-local address, or a group of no wider scope than the link (RFC 4291, 2.5.6, 2.7).
pub fn is_link_destination(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.octets();
    let is_narrow_group = first == 0xff && second & 0x0f <= 2;
    address.is_unicast_link_local() || is_narrow_group
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut p = vec![0x60, 0, 0, 0, 0, payload.len() as u8, next, 64];
        p.extend([0x20; 16]);
        p.extend([0x30; 16]);
        p.extend(payload);
        p
    }

    fn upper(bytes: &[u8]) -> (Option<u8>, Option<Vec<u8>>, bool) {
        let upper = read(bytes).expect("sound").upper();
        let payload = upper.payload.map(<[u8]>::to_vec);
        (upper.protocol, payload, upper.is_whole)
    }

    #[test]
    fn faults_are_told_apart() {
        let good = packet(17, &[1, 2, 3]);
        assert!(read(&good).is_ok());
        assert_eq!(read(&good[..39]).err(), Some(Fault::Header));
        assert_eq!(read(&good[..42]).err(), Some(Fault::Length));
        let mut ipv4 = good.clone();
        ipv4[0] = 0x45;
        assert_eq!(read(&ipv4).err(), Some(Fault::Header));
        let trailer = [&good[..], &[9, 9]].concat();
        assert_eq!(read(&trailer).expect("sound").bytes, good);
    }

    #[test]
    fn extension_headers_stand_in_front_of_the_protocol() {
        let options = [17, 0, 1, 4, 0, 0, 0, 0];
        let long = [&[17, 1][..], &[0; 14]].concat();
        let data = [7, 7];
        for (next, header) in [(0, &options[..]), (60, &options), (43, &long)] {
            let bytes = packet(next, &[header, &data].concat());
            assert_eq!(upper(&bytes), (Some(17), Some(data.to_vec()), true));
        }
        // AH, no next header and all others are protocols.
        for next in [51, 59, 135] {
            assert_eq!(upper(&packet(next, &options)).0, Some(next));
        }
        assert_eq!(upper(&packet(0, &options[..7])), (None, None, true));
        assert_eq!(upper(&packet(43, &long[..15])), (None, None, true));
    }

    #[test]
    fn only_the_first_fragment_has_a_transport_header() {
        let fragment = |word: u16, first: u8| {
            let [high, low] = word.to_be_bytes();
            packet(44, &[first, 0, high, low, 0, 0, 0, 1, 0xab])
        };
        let data = Some(vec![0xab]);
        assert_eq!(upper(&fragment(0, 17)), (Some(17), data.clone(), true));
        assert_eq!(upper(&fragment(1, 17)), (Some(17), data, false));
        assert_eq!(upper(&fragment(8, 17)), (Some(17), None, false));
        assert_eq!(upper(&fragment(8, 60)), (None, None, false));
    }

    #[test]
    fn addresses_of_the_link() {
        for (text, source, destination) in [
            ("::", true, false),
            ("::1", false, false),
            ("fe80::1", true, true),
            ("febf::1", true, true),
            ("fec0::1", false, false),
            ("ff01::1", false, true),
            ("ff02::2", false, true),
            ("ff05::2", false, false),
            ("ff0e::2", false, false),
            ("2001:db8::1", false, false),
        ] {
            let address: Ipv6Addr = text.parse().expect("an address");
            assert_eq!(is_link_source(address), source, "{text}");
            assert_eq!(is_link_destination(address), destination, "{text}");
        }
    }
}
