//! FlowInformation and PacketFilterInfo (TS 29.512, 5.6.2.14 and 5.6.2.30): packet filters of rules.

use core::net::IpAddr;

use serde_json::{Value, json};
use sluice_sbi::{FILTERS, Filter, FlowDirection};
use sluice_wire::flow_description::{AddressMatch, FlowDescription, Ports};

use crate::values::{array, hex};

/// Filters as members: `text` is the name of the one with the flow description.
pub(super) fn filters_json(
    filters: impl Iterator<Item = Filter>,
    text: &str,
    rule: &str,
) -> Vec<Value> {
    let one = |(at, filter): (usize, Filter)| {
        let mut one = json!({
            text: description(&filter).to_string(),
            "packFiltId": format!("{rule}/{at}"),
            "flowDirection": match filter.direction {
                FlowDirection::Downlink => "DOWNLINK",
                FlowDirection::Uplink => "UPLINK",
                FlowDirection::Both => "BIDIRECTIONAL",
            },
        });
        if let Some((value, mask)) = filter.tos {
            one["tosTrafficClass"] = hex(&[value, mask]).into();
        }
        one
    };
    filters.enumerate().map(one).collect()
}

/// Flow description, which is told as that of packets to the UE (TS 29.512, 4.2.6.2.3).
fn description(filter: &Filter) -> FlowDescription {
    let ports = |ports: Option<(u16, u16)>| ports.into_iter().collect::<Ports>();
    FlowDescription {
        protocol: filter.protocol,
        remote: match filter.remote {
            None => AddressMatch::Any,
            Some((IpAddr::V4(address), len)) => AddressMatch::V4 { address, len },
            Some((IpAddr::V6(address), len)) => AddressMatch::V6 { address, len },
        },
        remote_ports: ports(filter.remote_ports),
        local: AddressMatch::Any,
        local_ports: ports(filter.local_ports),
    }
}

/// Filters of a list; none if one cannot be read, there is none, or there are more than a rule has.
pub(super) fn filters(list: &Value, text: &str) -> Option<Vec<Filter>> {
    let mut filters = Vec::new();
    for one in list.as_array()? {
        filters.extend(filter(one, text)?);
        if filters.len() > FILTERS {
            return None;
        }
    }
    (!filters.is_empty()).then_some(filters)
}

/// A filter; several of one with lists of ports. The UE's own address is no condition: packets of its session have it.
fn filter(one: &Value, text: &str) -> Option<Vec<Filter>> {
    let words = one.get(text)?.as_str()?;
    let (words, is_up) = match words.trim().strip_prefix("permit in ") {
        Some(rest) => (exchanged(rest)?, true),
        None => (words.trim().to_owned(), false),
    };
    let flow = FlowDescription::parse(words.as_bytes()).ok()?;
    let direction = match one.get("flowDirection").and_then(Value::as_str) {
        Some("DOWNLINK") => FlowDirection::Downlink,
        Some("UPLINK") => FlowDirection::Uplink,
        _ if is_up => FlowDirection::Uplink,
        _ => FlowDirection::Both,
    };
    let tos = match one.get("tosTrafficClass") {
        None | Some(Value::Null) => None,
        Some(tos) if tos == "" => None,
        Some(tos) => Some(array::<2>(tos)?).map(|[value, mask]| (value, mask)),
    };
    let remote = match flow.remote {
        AddressMatch::Any => None,
        AddressMatch::V4 { address, len } => Some((IpAddr::V4(address), len)),
        AddressMatch::V6 { address, len } => Some((IpAddr::V6(address), len)),
    };
    let each = |ports: &Ports| match ports.is_empty() {
        true => vec![None],
        false => ports.iter().copied().map(Some).collect(),
    };
    let mut all = Vec::new();
    for remote_ports in each(&flow.remote_ports) {
        for local_ports in each(&flow.local_ports) {
            all.push(Filter {
                direction,
                remote,
                protocol: flow.protocol,
                remote_ports,
                local_ports,
                tos,
            });
        }
    }
    Some(all)
}

/// `PROTOCOL from A to B` of packets from the UE, as that of packets to it.
fn exchanged(text: &str) -> Option<String> {
    let (protocol, ends) = text.split_once(" from ")?;
    let (local, remote) = ends.split_once(" to ")?;
    Some(format!("permit out {protocol} from {remote} to {local}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_survive() {
        let all = Filter::all(FlowDirection::Uplink);
        let remote = |text: &str, len| Some((text.parse().expect("an address"), len));
        let filters_of_a_rule = [
            all,
            Filter {
                remote: remote("203.0.113.0", 24),
                protocol: Some(0),
                remote_ports: Some((5_000, 5_100)),
                local_ports: Some((7, 7)),
                tos: Some((0xb8, 0xfc)),
                ..Filter::all(FlowDirection::Downlink)
            },
            Filter {
                remote: remote("2001:db8::1", 128),
                protocol: Some(17),
                ..Filter::all(FlowDirection::Both)
            },
        ];
        let list = filters_json(filters_of_a_rule.into_iter(), "flowDescription", "3-a");
        assert_eq!(
            list[0]["flowDescription"],
            "permit out ip from any to assigned"
        );
        assert_eq!(list[1]["tosTrafficClass"], "b8fc");
        let read = filters(&list.into(), "flowDescription");
        assert_eq!(read.as_deref(), Some(&filters_of_a_rule[..]));
    }

    /// As the PCFs of Open5GS and free5GC write them.
    #[test]
    fn flows_of_other_cores_are_read() {
        let text = "permit out 17 from 10.100.6.2 to 10.45.0.2 5004";
        let list = json!([{ "flowDescription": text, "flowDirection": "UPLINK" }]);
        let expected = Filter {
            remote: Some(("10.100.6.2".parse().expect("an address"), 32)),
            protocol: Some(17),
            local_ports: Some((5_004, 5_004)),
            ..Filter::all(FlowDirection::Uplink)
        };
        assert_eq!(filters(&list, "flowDescription"), Some(vec![expected]));
        let text = "permit in 17 from 10.45.0.2 5004 to 10.100.6.2";
        let list = json!([{ "flowDescription": text }]);
        assert_eq!(filters(&list, "flowDescription"), Some(vec![expected]));
        let text = "permit out ip from 10.100.6.2/32 1,3-4 to assigned";
        let list = json!([{ "packFiltCont": text, "flowDirection": "DOWNLINK" }]);
        let read = filters(&list, "packFiltCont").expect("filters");
        let ports: Vec<_> = read.iter().map(|filter| filter.remote_ports).collect();
        assert_eq!(ports, [Some((1, 1)), Some((3, 4))]);
    }

    #[test]
    fn what_is_no_filter_is_not_taken() {
        let list = |text: &str| json!([{ "flowDescription": text }]);
        for wrong in [
            "",
            "deny out ip from any to any",
            "permit in ip",
            "permit out ip from a to b",
        ] {
            assert_eq!(filters(&list(wrong), "flowDescription"), None, "{wrong}");
        }
        let many = "permit out ip from any 1,2,3,4,5 to any";
        assert_eq!(filters(&list(many), "flowDescription"), None);
        assert_eq!(filters(&json!([]), "flowDescription"), None);
        let tos = json!([{ "flowDescription": "permit out ip from any to any", "tosTrafficClass": "b8" }]);
        assert_eq!(filters(&tos, "flowDescription"), None);
    }
}
