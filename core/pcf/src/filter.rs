//! Packet filters as operators and applications write them: an IPFilterRule (RFC 6733, 4.3.1) of either
//! direction, or of both.
//!
//! ```text
//! permit out PROTOCOL from REMOTE [PORTS] to LOCAL [PORTS]     packets to the UE
//! permit in PROTOCOL from LOCAL [PORTS] to REMOTE [PORTS]      packets from the UE
//! permit inout PROTOCOL from REMOTE [PORTS] to LOCAL [PORTS]   both, told as those to the UE
//! PROTOCOL  ip, icmp, tcp, udp, or 0 to 255
//! REMOTE    any | IPv4[/len] | IPv6[/len]
//! LOCAL     any | assigned
//! PORTS     a port, or a range a-b
//! ```

use core::fmt;
use core::net::IpAddr;

use sluice_sbi::{Filter, FlowDirection};
use sluice_wire::flow_description::{AddressMatch, FlowDescription, FlowDescriptionError, Ports};

/// Why a text is no filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FilterError {
    /// A word is wrong.
    Word(FlowDescriptionError),
    /// Neither `permit out`, `permit in` nor `permit inout`.
    Direction,
    /// The UE's end has an address: only `any` and `assigned` are known before it has one.
    Local,
    /// A list of ports: UEs are told one port or range of an end.
    Ports,
}

impl fmt::Display for FilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word(error) => error.fmt(f),
            Self::Direction => {
                f.write_str("it begins neither with `permit out`, `permit in` nor `permit inout`")
            }
            Self::Local => f.write_str("the UE's end is neither `any` nor `assigned`"),
            Self::Ports => {
                f.write_str("an end has a list of ports: one port or one range is expected")
            }
        }
    }
}

/// Reads a filter.
///
/// # Errors
/// [`FilterError`], with the word that is wrong.
pub fn read(text: &str) -> Result<Filter, FilterError> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (direction, rest) = match words.as_slice() {
        ["permit", "out", rest @ ..] => (FlowDirection::Downlink, rest.to_vec()),
        ["permit", "in", rest @ ..] => (FlowDirection::Uplink, exchanged(rest)),
        ["permit", "inout", rest @ ..] => (FlowDirection::Both, rest.to_vec()),
        _ => return Err(FilterError::Direction),
    };
    let protocol = rest.first().map_or("", |word| match *word {
        "icmp" => "1",
        "tcp" => "6",
        "udp" => "17",
        other => other,
    });
    let rest = rest.get(1..).unwrap_or_default().join(" ");
    let text = format!("permit out {protocol} {rest}");
    let flow = FlowDescription::parse(text.as_bytes()).map_err(FilterError::Word)?;
    let remote = match flow.remote {
        AddressMatch::Any => None,
        AddressMatch::V4 { address, len } => Some((IpAddr::V4(address), len)),
        AddressMatch::V6 { address, len } => Some((IpAddr::V6(address), len)),
    };
    if flow.local != AddressMatch::Any {
        return Err(FilterError::Local);
    }
    Ok(Filter {
        remote,
        protocol: flow.protocol,
        remote_ports: range(&flow.remote_ports)?,
        local_ports: range(&flow.local_ports)?,
        ..Filter::all(direction)
    })
}

/// `PROTOCOL from A to B` as `PROTOCOL from B to A`.
fn exchanged<'a>(words: &[&'a str]) -> Vec<&'a str> {
    let at = |word| words.iter().position(|one| *one == word);
    let (Some(from), Some(to)) = (at("from"), at("to")) else {
        return words.to_vec();
    };
    if from >= to {
        return words.to_vec();
    }
    [
        &words[..from],
        &["from"],
        &words[to + 1..],
        &["to"],
        &words[from + 1..to],
    ]
    .concat()
}

fn range(ports: &Ports) -> Result<Option<(u16, u16)>, FilterError> {
    match ports.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(*one)),
        _ => Err(FilterError::Ports),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn filters_are_of_either_direction_or_both() {
        let expected = Filter {
            remote: Some(("203.0.113.0".parse().expect("an address"), 24)),
            protocol: Some(17),
            remote_ports: Some((5_000, 5_100)),
            local_ports: Some((6_000, 6_000)),
            ..Filter::all(FlowDirection::Downlink)
        };
        let down = "permit out udp from 203.0.113.7/24 5000-5100 to assigned 6000";
        assert_eq!(read(down), Ok(expected));
        let up = "permit in 17 from assigned 6000 to 203.0.113.0/24 5000-5100";
        let direction = FlowDirection::Uplink;
        assert_eq!(
            read(up),
            Ok(Filter {
                direction,
                ..expected
            })
        );
        let both = "permit inout udp from 203.0.113.0/24 5000-5100 to any 6000";
        let direction = FlowDirection::Both;
        assert_eq!(
            read(both),
            Ok(Filter {
                direction,
                ..expected
            })
        );
        let all = Filter::all(FlowDirection::Both);
        assert_eq!(read("permit inout ip from any to assigned"), Ok(all));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, what) in [
            ("deny out ip from any to assigned", "permit in"),
            ("permit", "permit in"),
            ("permit out", "missing"),
            ("permit out sctp from any to assigned", "protocol"),
            ("permit out ip from 1.2.3 to assigned", "address"),
            ("permit out ip from any to 10.45.0.2", "UE's end"),
            ("permit in ip from 10.45.0.2 to any", "UE's end"),
            ("permit out udp from any 1,2 to assigned", "list of ports"),
            ("permit in ip to any from assigned", "from"),
        ] {
            let error = read(text).expect_err(text).to_string();
            assert!(error.contains(what), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_words_are_a_filter_or_none(text in "(permit )?(in|out|inout)?( [a-z0-9./:-]{0,12}){0,8}") {
            let _ = read(&text);
        }
    }
}
