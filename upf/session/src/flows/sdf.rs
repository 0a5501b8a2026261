//! SDF filters of a PDI, read to flow filters and written as flow descriptions (TS 29.244, 5.2.1A.2A, 8.2.5).
//!
//! A filter with several ports at an end becomes a flow filter for each range; a packet has to meet one. What
//! asks for an address family and nothing more needs no flow filter.

use crate::rules::{Families, Filter, FilterOrigin};
use arrayvec::ArrayVec;
use core::net::{Ipv4Addr, Ipv6Addr};
use sluice_datapath::session::flow_filter::{AddressRange, FILTER_RUN_MAX, FilterRun, FlowFilter};
use sluice_wire::flow_description::{AddressMatch, FlowDescription, Ports};
use sluice_wire::pfcp::value::SdfFilter;
use std::fmt::Write;

/// Flow filters of one PDR.
pub const FILTERS: usize = FILTER_RUN_MAX;
/// All of one PDR.
pub type FlowFilterList = ArrayVec<FlowFilter, FILTERS>;

/// Why a filter is not taken.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SdfError {
    /// It says what no filter says, or names one that is not there.
    Wrong,
    /// More flow filters than a PDR has.
    TooMany,
}

/// Reads one filter. `recall` gives the flow filters that are known under an SDF Filter ID: a filter that is
/// an ID alone means those (BID, 8.2.5).
pub fn read(
    sdf: &SdfFilter<'_>,
    recall: impl FnOnce(u32, &mut FlowFilterList) -> Result<(), SdfError>,
    into: &mut FlowFilterList,
) -> Result<(), SdfError> {
    let narrowed = FlowFilter {
        tos: sdf.tos_traffic_class.map(|[value, mask]| (value, mask)),
        spi: sdf.security_parameter_index,
        flow_label: sdf.flow_label,
        id: sdf.sdf_filter_id,
        ..FlowFilter::default()
    };
    let is_id_alone =
        narrowed.tos.is_none() && narrowed.spi.is_none() && narrowed.flow_label.is_none();
    match (sdf.flow_description, sdf.sdf_filter_id) {
        (Some(text), _) => flow(text, narrowed, into),
        (None, Some(id)) if is_id_alone => recall(id, into),
        (None, None) if is_id_alone => Err(SdfError::Wrong),
        (None, _) => push(narrowed, into),
    }
}

fn flow(text: &[u8], narrowed: FlowFilter, into: &mut FlowFilterList) -> Result<(), SdfError> {
    let flow = FlowDescription::parse(text).map_err(|_| SdfError::Wrong)?;
    let filter = FlowFilter {
        protocol: flow.protocol,
        remote: range(flow.remote),
        local: range(flow.local),
        ..narrowed
    };
    for remote_ports in each(&flow.remote_ports) {
        for local_ports in each(&flow.local_ports) {
            let with_ports = FlowFilter {
                remote_ports,
                local_ports,
                ..filter
            };
            push(with_ports, into)?;
        }
    }
    Ok(())
}

/// One range after the other; once no condition where there is none.
fn each(ports: &Ports) -> impl Iterator<Item = Option<(u16, u16)>> {
    let none = ports.is_empty().then_some(None);
    none.into_iter().chain(ports.iter().copied().map(Some))
}

fn push(filter: FlowFilter, into: &mut FlowFilterList) -> Result<(), SdfError> {
    into.try_push(filter).map_err(|_| SdfError::TooMany)
}

fn range(address: AddressMatch) -> AddressRange {
    match address {
        AddressMatch::Any => AddressRange::Any,
        AddressMatch::V4 { address, len } => AddressRange::Ipv4(address.into(), len),
        AddressMatch::V6 { address, len } => AddressRange::Ipv6(address.into(), len),
    }
}

/// What flow filters let through, still without a run; true behind it if they need one. `is_from_access`
/// tells the direction of the packets.
pub fn summary(filters: &[FlowFilter], is_from_access: bool) -> (Filter, bool) {
    let all_of = |wanted: fn(&FlowFilter) -> bool| {
        let filters = filters.iter().filter(|f| wanted(f));
        filters.fold(Families::NONE, |sum, f| sum.or(families(f)))
    };
    let is_named = filters.iter().any(|f| f.id.is_some());
    let (asked, free) = (all_of(|_| true), all_of(is_free));
    let needs_run = is_named || free != asked;
    let filter = Filter {
        families: asked,
        run: FilterRun::NONE,
        is_link: filters.iter().all(|f| is_of_link(f, is_from_access)),
        origin: FilterOrigin::Pdi,
    };
    (filter, needs_run)
}

/// What flow filters that are known by a name let through, as [`summary`] has it; nothing if there are none.
pub fn named(filters: &[FlowFilter], is_from_access: bool, origin: FilterOrigin) -> (Filter, bool) {
    let (filter, needs_run) = match filters {
        [] => (Filter::NOTHING, false),
        _ => summary(filters, is_from_access),
    };
    (Filter { origin, ..filter }, needs_run)
}

/// True if it asks for a family at the most.
fn is_free(filter: &FlowFilter) -> bool {
    let family_alone = FlowFilter {
        remote: filter.remote,
        local: filter.local,
        id: filter.id,
        ..FlowFilter::default()
    };
    let ends = [filter.remote, filter.local];
    *filter == family_alone && ends.iter().all(|end| end.is_whole_family())
}

/// The families of the packets that can meet a filter.
fn families(filter: &FlowFilter) -> Families {
    let of = |range: AddressRange| match range {
        AddressRange::Any => Families::BOTH,
        AddressRange::Ipv4(..) => Families::IPV4,
        AddressRange::Ipv6(..) => Families::IPV6,
    };
    let labelled = filter.flow_label.map_or(Families::BOTH, |_| Families::IPV6);
    of(filter.remote).and(of(filter.local)).and(labelled)
}

/// True if no packet but one of the UE's link can meet it: from or to a link-local address, or to a group.
fn is_of_link(filter: &FlowFilter, is_from_access: bool) -> bool {
    let within = |range: AddressRange, prefix: u128, bits: u8| match range {
        AddressRange::Ipv6(address, len) => {
            len >= bits && (address ^ prefix << 112).leading_zeros() >= bits.into()
        }
        _ => false,
    };
    let destination = if is_from_access {
        filter.remote
    } else {
        filter.local
    };
    let is_link_local = |range| within(range, 0xfe80, 10);
    within(destination, 0xff00, 8) || is_link_local(filter.remote) || is_link_local(filter.local)
}

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

    fn of(texts: &[&str]) -> Result<FlowFilterList, SdfError> {
        let mut list = FlowFilterList::new();
        for text in texts {
            let recall = |_, _: &mut FlowFilterList| Err(SdfError::Wrong);
            read(&SdfFilter::flow(text.as_bytes()), recall, &mut list)?;
        }
        Ok(list)
    }

    /// Families, whether a run is needed, whether the link alone is meant.
    fn says(texts: &[&str], is_from_access: bool) -> (Families, bool, bool) {
        let (filter, needs_run) = summary(&of(texts).unwrap(), is_from_access);
        (filter.families, needs_run, filter.is_link)
    }

    #[test]
    fn what_asks_for_a_family_at_the_most_needs_no_run() {
        let (all, v4, v6) = (
            "permit out ip from any to assigned",
            "permit out ip from any to 0.0.0.0/0",
            "permit out ip from ::/0 to assigned",
        );
        let flow = "permit out 17 from 192.0.2.1 to assigned";
        for (texts, families, needs_run) in [
            (&[all][..], Families::BOTH, false),
            (&[v4], Families::IPV4, false),
            (&[v6], Families::IPV6, false),
            (&[v4, v6], Families::BOTH, false),
            (&[flow], Families::IPV4, true),
            (&[flow, v4], Families::IPV4, false),
            (&[flow, v6], Families::BOTH, true),
            (&[flow, all], Families::BOTH, false),
        ] {
            assert_eq!(says(texts, true), (families, needs_run, false), "{texts:?}");
        }
    }

    #[test]
    fn packets_of_the_link_are_those_to_groups_and_of_link_local_addresses() {
        let from_ue = |remote: &str| {
            let text = format!("permit out 58 from {remote} to assigned");
            [true, false].map(|is_from_access| says(&[&text], is_from_access).2)
        };
        assert_eq!(
            from_ue("ff02::2/128"),
            [true, false],
            "no group is a source"
        );
        assert_eq!(from_ue("ff00::/8"), [true, false]);
        assert_eq!(from_ue("fe00::/7"), [false, false]);
        assert_eq!(from_ue("fe80::/10"), [true, true]);
        assert_eq!(from_ue("fe80::/9"), [false, false]);
        assert_eq!(from_ue("2001:db8::1"), [false, false]);
        assert_eq!(from_ue("any"), [false, false]);
        let both = [
            "permit out 58 from ff02::2 to any",
            "permit out 58 from any to any",
        ];
        assert!(!says(&both, true).2, "one of them is for others");
    }

    #[test]
    fn each_pair_of_ranges_is_a_flow_filter_up_to_the_most_that_a_pdr_has() {
        let list = of(&["permit out 6 from any 1,2-3 to assigned 7,8,9"]).unwrap();
        let ports: Vec<_> = list
            .iter()
            .map(|f| (f.remote_ports, f.local_ports))
            .collect();
        assert_eq!(ports.len(), 6);
        assert_eq!(ports[4], (Some((2, 3)), Some((8, 8))));
        let many = "permit out 6 from any 1,2,3,4,5,6,7,8 to assigned 1,2,3,4,5,6,7";
        assert_eq!(of(&[many]).unwrap().len(), 56);
        assert_eq!(of(&[many, many]), Err(SdfError::TooMany));
    }
}

#[cfg(test)]
mod filter_text_tests {
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
