//! Which QoS flow an uplink packet belongs to: the UE tries its QoS rules in the order of their
//! precedence (TS 24.501, 6.2.5.1.1.4).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use sluice_n1::{EstablishmentAccept, FilterDirection, PacketFilter, QosRule};

/// Header fields that filters compare.
struct Packet {
    remote: IpAddr,
    protocol: u8,
    /// Of the UE and of the far end; none of other protocols and of fragments behind the first.
    ports: Option<(u16, u16)>,
    tos: u8,
}

/// The flow of a packet from the UE; the default one of what no rule knows.
pub fn qfi_of(accept: &EstablishmentAccept, packet: &[u8]) -> u8 {
    qfi_by_rules(&accept.rules, packet).unwrap_or(accept.qfi)
}

/// The flow that these rules, in the order of their precedence, have for a packet from the UE.
pub fn qfi_by_rules(rules: &[QosRule], packet: &[u8]) -> Option<u8> {
    rule_of(rules, packet).map(|rule| rule.qfi)
}

/// The rule of a packet from the UE: rules are in the order of their precedence.
fn rule_of<'a>(rules: &'a [QosRule], packet: &[u8]) -> Option<&'a QosRule> {
    let packet = read(packet)?;
    let knows = |filter: &PacketFilter| {
        filter.direction != FilterDirection::Downlink && knows(filter, &packet)
    };
    rules.iter().find(|rule| rule.filters.iter().any(knows))
}

fn read(packet: &[u8]) -> Option<Packet> {
    let ports = |octets: Option<&[u8]>| {
        let [a, b, c, d] = *octets?.first_chunk::<4>()?;
        Some((u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])))
    };
    let has_ports = |protocol: u8| matches!(protocol, 6 | 17 | 33 | 132 | 136);
    match packet.first()? >> 4 {
        4 => {
            let length = usize::from(packet.first()? & 0xf) * 4;
            let protocol = *packet.get(9)?;
            let is_first = packet.get(6)? & 0x1f == 0 && *packet.get(7)? == 0;
            Some(Packet {
                remote: Ipv4Addr::from(*packet.get(16..20)?.first_chunk::<4>()?).into(),
                protocol,
                ports: ports(
                    packet
                        .get(length..)
                        .filter(|_| is_first && has_ports(protocol)),
                ),
                tos: *packet.get(1)?,
            })
        }
        6 => {
            let protocol = *packet.get(6)?;
            let [high, low] = *packet.first_chunk::<2>()?;
            Some(Packet {
                remote: Ipv6Addr::from(*packet.get(24..40)?.first_chunk::<16>()?).into(),
                protocol,
                ports: ports(packet.get(40..).filter(|_| has_ports(protocol))),
                tos: high << 4 | low >> 4,
            })
        }
        _ => None,
    }
}

fn knows(filter: &PacketFilter, packet: &Packet) -> bool {
    let is_in = |range: Option<(u16, u16)>, port: Option<u16>| match (range, port) {
        (None, _) => true,
        (Some((first, last)), Some(port)) => (first..=last).contains(&port),
        (Some(_), None) => false,
    };
    let (local, remote) = packet.ports.unzip();
    !filter.has_others
        && filter
            .remote
            .is_none_or(|prefix| is_of(prefix, packet.remote))
        && filter
            .protocol
            .is_none_or(|protocol| protocol == packet.protocol)
        && is_in(filter.local_ports, local)
        && is_in(filter.remote_ports, remote)
        && filter
            .tos
            .is_none_or(|(value, mask)| packet.tos & mask == value & mask)
}

fn is_of((prefix, len): (IpAddr, u8), address: IpAddr) -> bool {
    match (prefix, address) {
        (IpAddr::V4(prefix), IpAddr::V4(address)) => {
            let differ = prefix.to_bits() ^ address.to_bits();
            differ.leading_zeros() >= len.into()
        }
        (IpAddr::V6(prefix), IpAddr::V6(address)) => {
            let differ = prefix.to_bits() ^ address.to_bits();
            differ.leading_zeros() >= len.into()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// UDP from port 1000 to 5000 of 203.0.113.7, DSCP 46.
    fn packet() -> Vec<u8> {
        let mut packet = vec![0; 28];
        (packet[0], packet[1], packet[9]) = (0x45, 0xb8, 17);
        packet[16..20].copy_from_slice(&[203, 0, 113, 7]);
        packet[20..24].copy_from_slice(&[0x03, 0xe8, 0x13, 0x88]);
        packet
    }

    fn is_known(filter: PacketFilter) -> bool {
        let rule = QosRule {
            filters: vec![filter],
            ..QosRule::default_of(2)
        };
        rule_of(&[rule], &packet()).is_some()
    }

    #[test]
    fn a_packet_is_of_a_rule_whose_filter_it_meets_in_all() {
        let all = PacketFilter::ALL;
        let remote = Some(("203.0.113.0".parse().expect("an address"), 24));
        let whole = PacketFilter {
            remote,
            protocol: Some(17),
            local_ports: Some((1_000, 1_000)),
            remote_ports: Some((4_000, 5_000)),
            tos: Some((0xb8, 0xfc)),
            ..all
        };
        assert!(is_known(all) && is_known(whole));
        let other = Some(("203.0.112.0".parse().expect("an address"), 24));
        for wrong in [
            PacketFilter {
                remote: other,
                ..whole
            },
            PacketFilter {
                protocol: Some(6),
                ..whole
            },
            PacketFilter {
                local_ports: Some((1, 999)),
                ..whole
            },
            PacketFilter {
                remote_ports: Some((5_001, 5_002)),
                ..whole
            },
            PacketFilter {
                tos: Some((0, 0xfc)),
                ..whole
            },
            PacketFilter {
                direction: FilterDirection::Downlink,
                ..all
            },
            PacketFilter {
                has_others: true,
                ..all
            },
        ] {
            assert!(!is_known(wrong), "{wrong:?}");
        }
    }

    #[test]
    fn a_fragment_has_no_ports_and_octets_may_be_no_packet() {
        let ports = PacketFilter {
            remote_ports: Some((0, 65_535)),
            ..PacketFilter::ALL
        };
        let rule = QosRule {
            filters: vec![ports],
            ..QosRule::default_of(2)
        };
        let rules = [rule];
        assert!(rule_of(&rules, &packet()).is_some());
        let mut fragment = packet();
        fragment[7] = 9;
        assert!(rule_of(&rules, &fragment).is_none());
        for octets in [&[][..], &[0x45; 10], &[0x60; 30], &[0; 40]] {
            assert!(rule_of(&rules, octets).is_none());
        }
    }
}
