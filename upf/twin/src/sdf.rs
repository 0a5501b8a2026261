//! SDF filters (TS 29.244, 8.2.5), met packet by packet.

use crate::config::contains;
use crate::flow_description::{End, FlowDescription};
use crate::ip::{Packet, Upper};
use std::net::IpAddr;

const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const ESP: u8 = 50;
const AH: u8 = 51;
const SCTP: u8 = 132;
const UDP_LITE: u8 = 136;

/// A packet meets it if it meets all that is there.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct SdfFilter {
    pub flow: Option<FlowDescription>,
    /// Type of Service or Traffic Class, and the mask of the bits that count.
    pub traffic_class: Option<(u8, u8)>,
    pub security_parameter_index: Option<u32>,
    pub flow_label: Option<u32>,
}

impl SdfFilter {
    /// True if packets of an IP version may meet it.
    pub fn is_for_version(&self, is_ipv6: bool) -> bool {
        let ends = self
            .flow
            .iter()
            .flat_map(|flow| [&flow.remote, &flow.local]);
        let mut addresses = ends.filter_map(|end| end.addresses);
        addresses.all(|(address, _)| address.is_ipv6() == is_ipv6)
            && (is_ipv6 || self.flow_label.is_none())
    }

    /// How many pairs of port ranges it has.
    pub fn port_pairs(&self) -> usize {
        let ends = self.flow.iter();
        let pairs = ends.map(|f| f.remote.ports.len().max(1) * f.local.ports.len().max(1));
        pairs.max().unwrap_or(1)
    }

    /// True if every packet of an IP version meets it, whatever else it carries.
    pub fn is_met_by_all_of_version(&self, is_ipv6: bool) -> bool {
        let is_all = |end: &End| {
            let is_whole = end.addresses.is_none_or(|(_, len)| len == 0);
            is_whole && end.ports.is_empty()
        };
        let flow = self.flow.as_ref();
        let says_more = self.traffic_class.is_some()
            || self.security_parameter_index.is_some()
            || self.flow_label.is_some();
        self.is_for_version(is_ipv6)
            && !says_more
            && flow.is_some_and(|f| f.protocol.is_none() && is_all(&f.remote) && is_all(&f.local))
    }

    /// A flow description is written for the downlink; `is_uplink` turns it round.
    pub fn is_met_by(&self, packet: &Packet<'_>, is_uplink: bool) -> bool {
        let upper = packet.upper();
        let flow = self.flow.as_ref();
        let class = packet.traffic_class();
        flow.is_none_or(|f| has_flow(f, packet, &upper, is_uplink))
            && (self.traffic_class).is_none_or(|(value, mask)| class & mask == value & mask)
            && (self.security_parameter_index).is_none_or(|index| spi(&upper) == Some(index))
            && (self.flow_label).is_none_or(|label| packet.flow_label() == Some(label))
    }
}

fn has_flow(
    flow: &FlowDescription,
    packet: &Packet<'_>,
    upper: &Upper<'_>,
    is_uplink: bool,
) -> bool {
    let (source, destination) = (packet.source(), packet.destination());
    let ports = ports(upper);
    let (from, to) = (ports.map(|p| p.0), ports.map(|p| p.1));
    let (remote, local) = match is_uplink {
        true => ((destination, to), (source, from)),
        false => ((source, from), (destination, to)),
    };
    let has_protocol = flow.protocol.is_none() || flow.protocol == upper.protocol;
    has_protocol && is_at(&flow.remote, remote) && is_at(&flow.local, local)
}

fn is_at(end: &End, (address, port): (IpAddr, Option<u16>)) -> bool {
    let is_one_of = |port| {
        let mut ranges = end.ports.iter();
        ranges.any(|(low, high)| (*low..=*high).contains(&port))
    };
    let has_address = end.addresses.is_none_or(|prefix| contains(prefix, address));
    has_address && (end.ports.is_empty() || port.is_some_and(is_one_of))
}

/// Source and destination port.
fn ports(upper: &Upper<'_>) -> Option<(u16, u16)> {
    let has_ports = matches!(upper.protocol, Some(TCP | UDP | DCCP | SCTP | UDP_LITE));
    let ports = upper.payload.filter(|_| has_ports)?.get(..4)?;
    let port = |at| u16::from_be_bytes([ports[at], ports[at + 1]]);
    Some((port(0), port(2)))
}

/// The Security Parameter Index (RFC 4303, 2; RFC 4302, 2).
fn spi(upper: &Upper<'_>) -> Option<u32> {
    let payload = upper.payload?;
    let bytes = match upper.protocol? {
        ESP => payload.get(..4),
        AH => payload.get(4..8),
        _ => None,
    };
    Some(u32::from_be_bytes(bytes?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{flow_description, ip, ipv4};

    fn ipv4(protocol: u8, offset: u16, payload: &[u8]) -> Vec<u8> {
        let total = 20 + payload.len() as u8;
        let [high, low] = offset.to_be_bytes();
        let mut p = vec![0x45, 0xb8, 0, total, 0, 0, high, low, 64, protocol, 0, 0];
        p.extend([192, 0, 2, 1, 10, 45, 0, 7]);
        ipv4::set_checksum(&mut p);
        p.extend(payload);
        p
    }

    fn ipv6(next: u8, payload: &[u8]) -> Vec<u8> {
        let mut p = vec![0x6b, 0x81, 0x23, 0x45, 0, payload.len() as u8, next, 64];
        for address in ["2001:db8::1", "2001:db8:0:7::1"] {
            let address: std::net::Ipv6Addr = address.parse().expect("an address");
            p.extend(address.octets());
        }
        p.extend(payload);
        p
    }

    fn flow(text: &str) -> SdfFilter {
        SdfFilter {
            flow: Some(flow_description::read(text.as_bytes()).expect(text)),
            ..SdfFilter::default()
        }
    }

    fn meets(filter: &SdfFilter, bytes: &[u8]) -> bool {
        filter.is_met_by(&ip::read(bytes).expect("sound"), false)
    }

    /// From port 53 to port 4000.
    const PORTS: [u8; 8] = [0, 53, 0x0f, 0xa0, 0, 8, 0, 0];

    #[test]
    fn a_flow_is_turned_round_for_the_uplink() {
        let bytes = ipv4(17, 0, &PORTS);
        let packet = ip::read(&bytes).expect("sound");
        for (text, down, up) in [
            ("permit out 17 from 192.0.2.1 53 to 10.45.0.7", true, false),
            ("permit out 17 from 10.45.0.7 4000 to any", false, true),
            ("permit out 17 from any to any 4000", true, false),
            ("permit out 17 from any to any 53", false, true),
            ("permit out ip from any to assigned", true, true),
        ] {
            assert_eq!(flow(text).is_met_by(&packet, false), down, "{text}");
            assert_eq!(flow(text).is_met_by(&packet, true), up, "{text}");
        }
    }

    #[test]
    fn the_ends_of_a_range_belong_to_it() {
        let from = |port: u16| {
            let [high, low] = port.to_be_bytes();
            ipv4(6, 0, &[high, low, 0, 80])
        };
        let filter = flow("permit out 6 from any 7,100-200,300 to any");
        for (port, met) in [
            (7, true),
            (8, false),
            (99, false),
            (100, true),
            (200, true),
            (201, false),
            (300, true),
        ] {
            assert_eq!(meets(&filter, &from(port)), met, "{port}");
        }
        let every = flow("permit out 6 from any 0-65535 to any");
        assert!(meets(&every, &from(0)) && meets(&every, &from(65_535)));
    }

    #[test]
    fn ports_need_a_protocol_that_has_them_and_a_header_that_is_there() {
        let filter = flow("permit out ip from any 53 to any");
        for protocol in [6, 17, 33, 132, 136] {
            assert!(meets(&filter, &ipv4(protocol, 0, &PORTS)));
            assert!(meets(&filter, &ipv6(protocol, &PORTS)));
        }
        for protocol in [1, 47, 50, 58] {
            assert!(!meets(&filter, &ipv4(protocol, 0, &PORTS)));
        }
        assert!(meets(&filter, &ipv4(17, 0x2000, &PORTS)), "first fragment");
        assert!(!meets(&filter, &ipv4(17, 1, &PORTS)), "later fragment");
        assert!(!meets(&filter, &ipv4(17, 0, &PORTS[..3])), "cut short");
        let protocol = flow("permit out 17 from any to any");
        assert!(meets(&protocol, &ipv4(17, 1, &PORTS)), "later fragment");
    }

    #[test]
    fn versions_do_not_stand_for_each_other() {
        let (four, six) = (ipv4(17, 0, &PORTS), ipv6(17, &PORTS));
        for (text, met) in [
            ("permit out ip from any to any", (true, true)),
            ("permit out ip from 0.0.0.0/0 to any", (true, false)),
            ("permit out ip from ::/0 to any", (false, true)),
            ("permit out 17 from any to 2001:db8::/63", (false, false)),
            ("permit out 17 from any to 2001:db8:0:6::/63", (false, true)),
        ] {
            let filter = flow(text);
            assert_eq!((meets(&filter, &four), meets(&filter, &six)), met, "{text}");
        }
        let icmp = flow("permit out 1 from any to any");
        assert!(meets(&icmp, &ipv4(1, 0, &[8, 0])) && !meets(&icmp, &ipv6(58, &[128, 0])));
    }

    #[test]
    fn extension_headers_are_passed_over() {
        let options = [17, 0, 1, 4, 0, 0, 0, 0];
        let filter = flow("permit out 17 from any 53 to any");
        assert!(meets(&filter, &ipv6(0, &[options, PORTS].concat())));
        let later = [17, 0, 0, 8, 0, 0, 0, 1];
        assert!(!meets(&filter, &ipv6(44, &[later, PORTS].concat())));
        let first = [17, 0, 0, 1, 0, 0, 0, 1];
        assert!(meets(&filter, &ipv6(44, &[first, PORTS].concat())));
    }

    #[test]
    fn class_index_and_label() {
        let (four, six) = (ipv4(17, 0, &PORTS), ipv6(17, &PORTS));
        let class = |value, mask| SdfFilter {
            traffic_class: Some((value, mask)),
            ..SdfFilter::default()
        };
        for (filter, met) in [
            (class(0xb8, 0xff), true),
            (class(0xbb, 0xfc), true),
            (class(0xb9, 0xff), false),
            (class(0, 0), true),
        ] {
            assert_eq!((meets(&filter, &four), meets(&filter, &six)), (met, met));
        }
        let label = |flow_label| SdfFilter {
            flow_label: Some(flow_label),
            ..SdfFilter::default()
        };
        assert!(meets(&label(0x12345), &six));
        assert!(!meets(&label(0x12344), &six) && !meets(&label(0x12345), &four));
        let index = SdfFilter {
            security_parameter_index: Some(0x0102_0304),
            ..SdfFilter::default()
        };
        let spi = [1, 2, 3, 4, 0, 0, 0, 1];
        let ah = [17, 4, 0, 0, 1, 2, 3, 4];
        assert!(meets(&index, &ipv4(50, 0, &spi)) && meets(&index, &ipv6(50, &spi)));
        assert!(meets(&index, &ipv4(51, 0, &ah)) && meets(&index, &ipv6(51, &ah)));
        assert!(!meets(&index, &ipv4(17, 0, &spi)) && !meets(&index, &ipv4(50, 1, &spi)));
        assert!(!meets(&index, &ipv4(51, 0, &ah[..7])));
    }
}
