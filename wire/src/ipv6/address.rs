//! IPv6 addresses of a link: link-local, solicited-node and multicast (RFC 4291, RFC 2464).

use crate::eth::MacAddr;
use core::net::Ipv6Addr;

/// All nodes of the link (RFC 4291, 2.7.1).
pub const ALL_NODES: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 1);
/// All routers of the link (RFC 4291, 2.7.1).
pub const ALL_ROUTERS: Ipv6Addr = Ipv6Addr::new(0xff02, 0, 0, 0, 0, 0, 0, 2);

/// Whether an address is of the link alone, fe80::/10: routers never forward it (RFC 4291, 2.5.6).
#[inline]
pub const fn is_link_local(address: Ipv6Addr) -> bool {
    address.is_unicast_link_local()
}

/// Whether an address names a group, ff00::/8 (RFC 4291, 2.7).
#[inline]
pub const fn is_multicast(address: Ipv6Addr) -> bool {
    address.is_multicast()
}

/// The group that a station with `address` hears Neighbour Solicitations in (RFC 4291, 2.7.1).
pub const fn solicited_node(address: Ipv6Addr) -> Ipv6Addr {
    let low = address.to_bits() & 0x00ff_ffff;
    Ipv6Addr::from_bits(0xff02_0000_0000_0000_0000_0001_ff00_0000 | low)
}

/// The MAC address that packets to `group` are sent to (RFC 2464, 7).
pub const fn multicast_mac(group: Ipv6Addr) -> MacAddr {
    let [.., a, b, c, d] = group.octets();
    MacAddr([0x33, 0x33, a, b, c, d])
}

/// The link-local address of an interface, with its modified EUI-64 (RFC 4291, 2.5.6 and appendix A).
pub const fn link_local_of(mac: MacAddr) -> Ipv6Addr {
    let [a, b, c, d, e, f] = mac.0;
    let identifier = u64::from_be_bytes([a ^ 0x02, b, c, 0xff, 0xfe, d, e, f]);
    Ipv6Addr::from_bits(0xfe80 << 112 | identifier as u128)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Ipv6Addr {
        text.parse().unwrap()
    }

    #[test]
    fn the_example_of_rfc_4291_has_its_solicited_node_address() {
        let solicited = solicited_node(address("4037::01:800:200e:8c6c"));
        assert_eq!(solicited, address("ff02::1:ff0e:8c6c"));
    }

    #[test]
    fn groups_have_their_low_32_bits_in_the_mac_address() {
        let all_nodes = multicast_mac(ALL_NODES);
        assert_eq!(all_nodes, MacAddr([0x33, 0x33, 0, 0, 0, 1]));
        let solicited = multicast_mac(address("ff02::1:ff0e:8c6c"));
        assert_eq!(solicited, MacAddr([0x33, 0x33, 0xff, 0x0e, 0x8c, 0x6c]));
    }

    /// RFC 2464, 4: 34-56-78-9A-BC-DE has the interface identifier 36-56-78-FF-FE-9A-BC-DE.
    #[test]
    fn the_example_of_rfc_2464_has_its_link_local_address() {
        let mac = MacAddr([0x34, 0x56, 0x78, 0x9a, 0xbc, 0xde]);
        let expected = address("fe80::3656:78ff:fe9a:bcde");
        assert_eq!(link_local_of(mac), expected);
        assert!(is_link_local(expected) && !is_multicast(expected));
    }

    #[test]
    fn link_local_is_ten_bits_wide() {
        assert!(is_link_local(address("febf::1")));
        assert!(!is_link_local(address("fec0::1")));
        assert!(is_multicast(ALL_ROUTERS));
    }
}
