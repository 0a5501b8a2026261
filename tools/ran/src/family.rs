//! Families of UEs' packets: IPv4, IPv6, and what stays on a UE's own link.

use std::net::Ipv6Addr;

use crate::Flow;

const HEADER_BYTES: usize = 40;
const ICMPV6: u8 = 58;
const ROUTER_SOLICITATION: u8 = 133;

/// Kind of an IP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// IPv4, or no IP packet.
    Ipv4,
    /// IPv6 beyond the link.
    Ipv6,
    Solicitation,
    /// Anything else of IPv6 between link-local addresses: no router passes it on.
    LinkLocal,
}

impl Family {
    pub(crate) fn of(packet: &[u8]) -> Self {
        if packet.first().is_none_or(|octet| octet >> 4 != 6) {
            return Self::Ipv4;
        }
        let address = |at: usize| {
            let octets = packet
                .get(at..)
                .and_then(|octets| octets.first_chunk::<16>());
            octets.map(|octets| Ipv6Addr::from(*octets))
        };
        let is_local = |address: Ipv6Addr| {
            let [_, scope, ..] = address.octets();
            let on_link = address.is_multicast() && scope & 0xf <= 2;
            on_link || address.is_unicast_link_local() || address.is_unspecified()
        };
        if ![8, 24].into_iter().filter_map(address).any(is_local) {
            return Self::Ipv6;
        }
        let asks = packet.get(6) == Some(&ICMPV6)
            && packet.get(HEADER_BYTES) == Some(&ROUTER_SOLICITATION);
        if asks {
            Self::Solicitation
        } else {
            Self::LinkLocal
        }
    }
}

/// IPv6 among the packets, apart from IPv4.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ByFamily {
    /// IPv6 packets sent on N3, those of the link included.
    pub ipv6_uplink: Flow,
    /// IPv6 packets given to UEs, those of the link included.
    pub ipv6_downlink: Flow,
    /// Uplink packets of the UE's own link, Router Solicitations included: no UPF passes them on.
    pub link_local_uplink: Flow,
    pub solicitations: u64,
    /// Downlink packets of the link: Router Advertisements, as a rule.
    pub link_local_downlink: Flow,
}

impl ByFamily {
    pub(crate) fn add_uplink(&mut self, family: Family, bytes: usize) {
        if family == Family::Ipv4 {
            return;
        }
        self.ipv6_uplink.add(bytes);
        if family != Family::Ipv6 {
            self.link_local_uplink.add(bytes);
        }
        self.solicitations += u64::from(family == Family::Solicitation);
    }

    pub(crate) fn add_downlink(&mut self, family: Family, bytes: usize) {
        if family == Family::Ipv4 {
            return;
        }
        self.ipv6_downlink.add(bytes);
        if family != Family::Ipv6 {
            self.link_local_downlink.add(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(source: &str, destination: &str, first: u8) -> Vec<u8> {
        let mut packet = vec![0x60, 0, 0, 0, 0, 8, ICMPV6, 255];
        for address in [source, destination] {
            let address: Ipv6Addr = address.parse().expect("address");
            packet.extend(address.octets());
        }
        packet.extend([first, 0, 0, 0, 0, 0, 0, 0]);
        packet
    }

    #[test]
    fn what_stays_on_the_link_is_told_apart() {
        let cases = [
            (
                "fe80::1",
                "ff02::2",
                ROUTER_SOLICITATION,
                Family::Solicitation,
            ),
            ("::", "ff02::16", 143, Family::LinkLocal),
            ("2001:db8::1", "fe80::1", 128, Family::LinkLocal),
            ("2001:db8::1", "2001:db8::2", 128, Family::Ipv6),
            ("2001:db8::1", "ff0e::1", 128, Family::Ipv6),
        ];
        for (source, destination, first, family) in cases {
            let packet = packet(source, destination, first);
            assert_eq!(Family::of(&packet), family, "{source} {destination}");
        }
        assert_eq!(Family::of(&[0x45; 40]), Family::Ipv4);
        assert_eq!(Family::of(&[]), Family::Ipv4);
        // Cut short.
        assert_eq!(Family::of(&[0x60; 3]), Family::Ipv6);
    }

    #[test]
    fn the_link_is_part_of_ipv6() {
        let mut counts = ByFamily::default();
        for family in [
            Family::Ipv4,
            Family::Ipv6,
            Family::Solicitation,
            Family::LinkLocal,
        ] {
            counts.add_uplink(family, 10);
            counts.add_downlink(family, 100);
        }
        let flow = |packets, bytes| Flow { packets, bytes };
        assert_eq!(counts.ipv6_uplink, flow(3, 30));
        assert_eq!(counts.link_local_uplink, flow(2, 20));
        assert_eq!(counts.solicitations, 1);
        assert_eq!(counts.link_local_downlink, flow(2, 200));
    }
}
