//! SDF filters, as far as this path has use for them (TS 29.244, 5.2.1A.2A, 8.2.5).
//!
//! Flow descriptions are IPFilterRules (RFC 6733, 4.3.1) restricted to `permit out`. Matching on
//! flows comes with the classifier; until then a filter that singles out a flow is refused.
//! Two kinds need no classifier: those that match everything, which SMFs send for the default
//! flow, and those that name IPv6 addresses or ICMPv6, such as the Router Solicitation filter
//! `permit out 58 from ff02::2/128 to assigned`: on an IPv4 path they match nothing.

use crate::rules::Filter;
use sluice_wire::pfcp::value::SdfFilter;

/// The filter tells flows apart, which this path cannot yet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unsupported;

/// What one filter lets through.
pub fn read(sdf: &SdfFilter<'_>) -> Result<Filter, Unsupported> {
    let narrowed = sdf.tos_traffic_class.is_some()
        || sdf.security_parameter_index.is_some()
        || sdf.flow_label.is_some();
    if narrowed {
        return Err(Unsupported);
    }
    let text = sdf.flow_description.ok_or(Unsupported)?;
    let text = core::str::from_utf8(text).map_err(|_| Unsupported)?;
    flow(text)
}

/// What several filters let through: a packet must match one of them.
pub fn any(filters: &[SdfFilter<'_>]) -> Result<Filter, Unsupported> {
    let mut all = if filters.is_empty() {
        Filter::All
    } else {
        Filter::Nothing
    };
    for filter in filters {
        if read(filter)? == Filter::All {
            all = Filter::All;
        }
    }
    Ok(all)
}

/// ICMPv6, which IPv4 packets do not carry.
const ICMPV6: &str = "58";

fn flow(text: &str) -> Result<Filter, Unsupported> {
    let mut words = text.split_ascii_whitespace();
    let mut expect = |word: &str| words.next().filter(|w| *w == word).ok_or(Unsupported);
    expect("permit")?;
    expect("out")?;
    let protocol = words.next().ok_or(Unsupported)?;
    let mut expect = |word: &str| words.next().filter(|w| *w == word).ok_or(Unsupported);
    expect("from")?;
    let source = words.next().ok_or(Unsupported)?;
    let mut destination = words.next().ok_or(Unsupported)?;
    let ports = destination != "to";
    if ports {
        words.next().filter(|w| *w == "to").ok_or(Unsupported)?;
    }
    destination = words.next().ok_or(Unsupported)?;
    if protocol == ICMPV6 || is_ipv6(source) || is_ipv6(destination) {
        return Ok(Filter::Nothing);
    }
    let all = protocol == "ip" && !ports && is_any(source) && is_any(destination);
    match words.next() {
        None if all => Ok(Filter::All),
        _ => Err(Unsupported),
    }
}

fn is_any(address: &str) -> bool {
    matches!(address, "any" | "assigned" | "0.0.0.0/0")
}

fn is_ipv6(address: &str) -> bool {
    let host = address.split('/').next().unwrap_or(address);
    host.parse::<core::net::Ipv6Addr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(text: &str) -> Result<Filter, Unsupported> {
        read(&SdfFilter::flow(text.as_bytes()))
    }

    #[test]
    fn filters_that_match_everything_are_taken() {
        for all in [
            "permit out ip from any to assigned",
            "permit out ip from any to any",
            "permit out ip from 0.0.0.0/0 to assigned",
        ] {
            assert_eq!(text(all), Ok(Filter::All), "{all}");
        }
    }

    #[test]
    fn filters_for_ipv6_match_no_packet_of_this_path() {
        assert_eq!(
            text("permit out 58 from ff02::2/128 to assigned"),
            Ok(Filter::Nothing)
        );
        assert_eq!(
            text("permit out 17 from any 53 to 2001:db8::/32"),
            Ok(Filter::Nothing)
        );
        assert_eq!(
            text("permit out 58 from any to assigned"),
            Ok(Filter::Nothing)
        );
    }

    #[test]
    fn filters_that_single_out_a_flow_are_refused() {
        for one in [
            "permit out 17 from any to assigned",
            "permit out ip from 192.0.2.1 to assigned",
            "permit out ip from any 80 to assigned",
            "permit out ip from any to assigned 80",
            "deny out ip from any to any",
            "permit out",
            "",
            "permit out ip from any",
        ] {
            assert_eq!(text(one), Err(Unsupported), "{one}");
        }
        assert_eq!(
            read(&SdfFilter {
                sdf_filter_id: Some(1),
                ..Default::default()
            }),
            Err(Unsupported)
        );
        assert_eq!(read(&SdfFilter::flow(&[0xff])), Err(Unsupported));
    }

    #[test]
    fn one_matching_filter_is_enough() {
        let all = SdfFilter::flow(b"permit out ip from any to any");
        let none = SdfFilter::flow(b"permit out 58 from ff02::2/128 to assigned");
        assert_eq!(any(&[none, all]), Ok(Filter::All));
        assert_eq!(any(&[none]), Ok(Filter::Nothing));
        assert_eq!(any(&[]), Ok(Filter::All));
    }
}
