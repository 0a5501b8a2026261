//! Flow filters as text: the canonical flow description, and what stands beside it in an SDF Filter
//! (TS 29.244, 8.2.5).

use crate::rules::{Families, Filter};
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::session::flow_filter::{AddressRange, FlowFilter};
use sluice_wire::flow_description::{AddressMatch, FlowDescription, Ports};
use std::fmt::Write;

/// What a PDR's filters say, given those of its run; nothing if it has none.
pub fn texts(filter: Filter, run: impl Iterator<Item = FlowFilter>) -> Vec<String> {
    let family = |remote| FlowFilter {
        remote,
        ..FlowFilter::default()
    };
    match filter.families {
        _ if !filter.run.is_none() => run.map(|f| text(&f)).collect(),
        Families::IPV4 => vec![text(&family(AddressRange::Ipv4(0, 0)))],
        Families::IPV6 => vec![text(&family(AddressRange::Ipv6(0, 0)))],
        _ => Vec::new(),
    }
}

/// One flow filter.
pub fn text(filter: &FlowFilter) -> String {
    let ports = |range: Option<(u16, u16)>| Ports::from_iter(range);
    let flow = FlowDescription {
        protocol: filter.protocol,
        remote: address(filter.remote),
        remote_ports: ports(filter.remote_ports),
        local: address(filter.local),
        local_ports: ports(filter.local_ports),
    };
    let mut text = flow.to_string();
    // Writing to a string does not fail.
    if let Some((value, mask)) = filter.tos {
        let _ = write!(text, ", ToS or traffic class {value:#04x}/{mask:#04x}");
    }
    if let Some(spi) = filter.spi {
        let _ = write!(text, ", SPI {spi:#010x}");
    }
    if let Some(label) = filter.flow_label {
        let _ = write!(text, ", flow label {label:#07x}");
    }
    if let Some(id) = filter.id {
        let _ = write!(text, ", ID {id}");
    }
    text
}

fn address(range: AddressRange) -> AddressMatch {
    match range {
        AddressRange::Any => AddressMatch::Any,
        AddressRange::Ipv4(address, len) => AddressMatch::V4 {
            address: Ipv4Addr::from(address),
            len,
        },
        AddressRange::Ipv6(address, len) => AddressMatch::V6 {
            address: Ipv6Addr::from(address),
            len,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_reads_as_its_flow_description_with_what_narrows_it() {
        let filter = FlowFilter {
            protocol: Some(17),
            remote: AddressRange::Ipv4(0xc000_0200, 24),
            remote_ports: Some((53, 53)),
            tos: Some((0xb8, 0xfc)),
            spi: Some(1),
            flow_label: Some(0xabcde),
            id: Some(7),
            ..FlowFilter::default()
        };
        let says = "permit out 17 from 192.0.2.0/24 53 to assigned, ToS or traffic class 0xb8/0xfc, \
                    SPI 0x00000001, flow label 0xabcde, ID 7";
        assert_eq!(text(&filter), says);
    }

    #[test]
    fn a_family_alone_is_told_by_its_shortest_prefix() {
        let of = |families| Filter {
            families,
            ..Filter::ALL
        };
        let none = || core::iter::empty();
        assert_eq!(texts(Filter::ALL, none()), Vec::<String>::new());
        let ipv4 = "permit out ip from 0.0.0.0/0 to assigned";
        assert_eq!(texts(of(Families::IPV4), none()), [ipv4]);
        let ipv6 = "permit out ip from ::/0 to assigned";
        assert_eq!(texts(of(Families::IPV6), none()), [ipv6]);
    }
}
