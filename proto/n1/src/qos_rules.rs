//! QoS rules (TS 24.501, 9.11.4.13): which packets of a session belong to which QoS flow.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::session_cause::SessionCause;

/// Precedence of the default rule: after all others.
const LAST: u8 = 255;

/// Rules of a message that are read: no UE has more.
const MOST_RULES: usize = 64;

/// Operation code of a QoS rule.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum RuleOperation {
    /// There is a new one.
    Create = 1,
    /// Delete.
    Delete = 2,
    /// Add packet filters.
    AddFilters = 3,
    /// Replace all packet filters.
    ReplaceFilters = 4,
    /// Delete packet filters, which are named by their identifiers only.
    DeleteFilters = 5,
    /// Modify precedence or flow, with the same packet filters.
    Modify = 6,
}

/// Packets of which direction a filter is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum FilterDirection {
    /// To the UE.
    Downlink = 1,
    /// From the UE.
    Uplink = 2,
    /// Both.
    Both = 3,
}

/// A packet filter; what is none is no condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketFilter {
    /// 0 to 15, unique in its rule.
    pub id: u8,
    /// For packets of which direction.
    pub direction: FilterDirection,
    /// Prefix of the far end.
    pub remote: Option<(IpAddr, u8)>,
    /// Protocol, or next header.
    pub protocol: Option<u8>,
    /// Ports of the far end, both ends included.
    pub remote_ports: Option<(u16, u16)>,
    /// Ports of the UE, both ends included.
    pub local_ports: Option<(u16, u16)>,
    /// Type of service or traffic class, and its mask.
    pub tos: Option<(u8, u8)>,
    /// Whether the filter has further components, which are not read here.
    pub has_others: bool,
}

/// A rule, or a change of one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QosRule {
    /// 1 to 255; 0 of a rule that a UE asks for.
    pub id: u8,
    /// Operation code.
    pub operation: RuleOperation,
    /// Default QoS rule, for packets that match no other rule.
    pub is_default: bool,
    /// Filters.
    pub filters: Vec<PacketFilter>,
    /// The rule with the smallest number is tried first.
    pub precedence: u8,
    /// QFI.
    pub qfi: u8,
}

impl PacketFilter {
    /// All packets of both directions.
    pub const ALL: Self = Self {
        id: 1,
        direction: FilterDirection::Both,
        remote: None,
        protocol: None,
        remote_ports: None,
        local_ports: None,
        tos: None,
        has_others: false,
    };
}

impl QosRule {
    /// The default rule of a session, number 1, whose flow takes all packets.
    pub fn default_of(qfi: u8) -> Self {
        Self {
            id: 1,
            operation: RuleOperation::Create,
            is_default: true,
            filters: vec![PacketFilter::ALL],
            precedence: LAST,
            qfi,
        }
    }

    /// The rule is gone.
    pub fn deleted(id: u8) -> Self {
        Self {
            id,
            operation: RuleOperation::Delete,
            is_default: false,
            filters: Vec::new(),
            precedence: 0,
            qfi: 0,
        }
    }
}

/// The octets of rules.
pub(crate) fn write(rules: &[QosRule]) -> Vec<u8> {
    let mut octets = Vec::new();
    for rule in rules {
        let content = content(rule);
        octets.push(rule.id);
        octets.extend_from_slice(&(content.len() as u16).to_be_bytes());
        octets.extend_from_slice(&content);
    }
    octets
}

fn content(rule: &QosRule) -> Vec<u8> {
    let number = rule.filters.len() as u8 & 0xf;
    let default = u8::from(rule.is_default) << 4;
    let mut octets = vec![(rule.operation as u8) << 5 | default | number];
    for filter in &rule.filters {
        if rule.operation == RuleOperation::DeleteFilters {
            octets.push(filter.id & 0xf);
            continue;
        }
        let components = components(filter);
        octets.push((filter.direction as u8) << 4 | filter.id & 0xf);
        octets.push(components.len() as u8);
        octets.extend_from_slice(&components);
    }
    if rule.operation != RuleOperation::Delete {
        octets.extend_from_slice(&[rule.precedence, rule.qfi & 0x3f]);
    }
    octets
}

fn components(filter: &PacketFilter) -> Vec<u8> {
    let mut octets = Vec::new();
    match filter.remote {
        Some((IpAddr::V4(address), len)) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(len.min(32)));
            octets.push(0x10);
            octets.extend_from_slice(&address.octets());
            octets.extend_from_slice(&mask.unwrap_or(0).to_be_bytes());
        }
        Some((IpAddr::V6(address), len)) => {
            octets.push(0x21);
            octets.extend_from_slice(&address.octets());
            octets.push(len);
        }
        None => {}
    }
    if let Some(protocol) = filter.protocol {
        octets.extend_from_slice(&[0x30, protocol]);
    }
    octets.extend(ports(0x40, filter.local_ports));
    octets.extend(ports(0x50, filter.remote_ports));
    if let Some((value, mask)) = filter.tos {
        octets.extend_from_slice(&[0x70, value, mask]);
    }
    if octets.is_empty() {
        // Match-all stands alone.
        octets.push(0x01);
    }
    octets
}

/// A port of the type, or a range, whose type follows it.
fn ports(kind: u8, ports: Option<(u16, u16)>) -> Vec<u8> {
    match ports {
        None => Vec::new(),
        Some((first, last)) if first == last => [&[kind], &first.to_be_bytes()[..]].concat(),
        Some((first, last)) => {
            let (first, last) = (first.to_be_bytes(), last.to_be_bytes());
            [&[kind + 1], &first[..], &last[..]].concat()
        }
    }
}

/// Rules of octets, or why they are none: #84 of a rule, #45 of a filter.
pub(crate) fn read(mut octets: &[u8]) -> Result<Vec<QosRule>, SessionCause> {
    let mut rules = Vec::new();
    while let [id, high, low, rest @ ..] = octets {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let content = rest.split_at_checked(length);
        let (content, rest) = content.ok_or(SessionCause::SYNTAX_OF_QOS)?;
        if rules.len() == MOST_RULES {
            return Err(SessionCause::SYNTAX_OF_QOS);
        }
        rules.push(read_rule(*id, content)?);
        octets = rest;
    }
    match octets {
        [] => Ok(rules),
        _ => Err(SessionCause::SYNTAX_OF_QOS),
    }
}

fn read_rule(id: u8, content: &[u8]) -> Result<QosRule, SessionCause> {
    const WRONG: SessionCause = SessionCause::SYNTAX_OF_QOS;
    let (head, mut rest) = content.split_first().ok_or(WRONG)?;
    let operation = match head >> 5 {
        1 => RuleOperation::Create,
        2 => RuleOperation::Delete,
        3 => RuleOperation::AddFilters,
        4 => RuleOperation::ReplaceFilters,
        5 => RuleOperation::DeleteFilters,
        6 => RuleOperation::Modify,
        _ => return Err(WRONG),
    };
    let mut rule = QosRule {
        id,
        operation,
        is_default: head & 0x10 != 0,
        filters: Vec::new(),
        precedence: 0,
        qfi: 0,
    };
    for _ in 0..head & 0xf {
        let (first, after) = rest.split_first().ok_or(WRONG)?;
        if operation == RuleOperation::DeleteFilters {
            let id = first & 0xf;
            rule.filters.push(PacketFilter {
                id,
                ..PacketFilter::ALL
            });
            rest = after;
            continue;
        }
        let (length, after) = after.split_first().ok_or(WRONG)?;
        let components = after.split_at_checked(usize::from(*length));
        let (components, after) = components.ok_or(SessionCause::SYNTAX_OF_FILTERS)?;
        rule.filters.push(read_filter(*first, components)?);
        rest = after;
    }
    match (operation, rest) {
        (RuleOperation::Delete, []) => Ok(rule),
        (RuleOperation::Delete, _) => Err(WRONG),
        (_, [precedence, qfi]) => {
            (rule.precedence, rule.qfi) = (*precedence, qfi & 0x3f);
            Ok(rule)
        }
        _ => Err(WRONG),
    }
}

fn read_filter(head: u8, mut octets: &[u8]) -> Result<PacketFilter, SessionCause> {
    const WRONG: SessionCause = SessionCause::SYNTAX_OF_FILTERS;
    let direction = match head >> 4 & 3 {
        1 => FilterDirection::Downlink,
        2 => FilterDirection::Uplink,
        3 => FilterDirection::Both,
        _ => return Err(WRONG),
    };
    let mut filter = PacketFilter {
        id: head & 0xf,
        direction,
        ..PacketFilter::ALL
    };
    if octets.is_empty() {
        return Err(WRONG);
    }
    let mut seen = Vec::new();
    while let Some((kind, rest)) = octets.split_first() {
        let length = length_of(*kind).ok_or(WRONG)?;
        let (value, rest) = rest.split_at_checked(length).ok_or(WRONG)?;
        // Each once, and match-all alone.
        if seen.contains(kind) || seen.contains(&0x01) || *kind == 0x01 && !seen.is_empty() {
            return Err(SessionCause::SEMANTICS_OF_FILTERS);
        }
        seen.push(*kind);
        read_component(&mut filter, *kind, value)?;
        octets = rest;
    }
    Ok(filter)
}

/// Octets of a component (table 9.11.4.13.1); none of a type that is reserved.
fn length_of(kind: u8) -> Option<usize> {
    Some(match kind {
        0x01 => 0,
        0x10 | 0x11 => 8,
        0x21 | 0x23 => 17,
        0x30 => 1,
        0x40 | 0x50 | 0x70 => 2,
        0x41 | 0x51 | 0x60 => 4,
        0x80 => 3,
        // Of Ethernet: addresses, VLANs and their priorities, Ethertype, ranges of addresses.
        0x81 | 0x82 => 6,
        0x83 | 0x84 | 0x87 => 2,
        0x85 | 0x86 => 1,
        0x88 | 0x89 => 12,
        _ => return None,
    })
}

fn read_component(filter: &mut PacketFilter, kind: u8, value: &[u8]) -> Result<(), SessionCause> {
    const CONFLICT: SessionCause = SessionCause::SEMANTICS_OF_FILTERS;
    let two = |value: &[u8]| {
        let numbers = value
            .chunks_exact(2)
            .map(|two| u16::from(two[0]) << 8 | u16::from(two[1]));
        let numbers: Vec<u16> = numbers.collect();
        match numbers[..] {
            [one] => Some((one, one)),
            [first, last] if first <= last => Some((first, last)),
            _ => None,
        }
    };
    match (kind, value) {
        (0x10, _) if filter.remote.is_some() => return Err(CONFLICT),
        (0x10, value) => {
            let (address, mask) = value.split_at(4);
            let number = |octets: &[u8]| {
                let of = octets
                    .iter()
                    .fold(0, |sum, octet| sum << 8 | u32::from(*octet));
                Ipv4Addr::from_bits(of)
            };
            let (address, mask) = (number(address), number(mask).to_bits());
            let len = mask.leading_ones();
            if mask.count_ones() == len {
                let address = Ipv4Addr::from_bits(address.to_bits() & mask);
                filter.remote = Some((IpAddr::V4(address), len as u8));
            } else {
                filter.has_others = true;
            }
        }
        (0x21, value) => {
            let octets = value.first_chunk::<16>().copied().unwrap_or_default();
            let len = value.last().copied().filter(|len| *len <= 128);
            let len = len.ok_or(SessionCause::SYNTAX_OF_FILTERS)?;
            if filter.remote.is_some() {
                return Err(CONFLICT);
            }
            let mask = u128::MAX.checked_shl(128 - u32::from(len)).unwrap_or(0);
            let prefix = Ipv6Addr::from_bits(u128::from_be_bytes(octets) & mask);
            filter.remote = Some((IpAddr::V6(prefix), len));
        }
        (0x30, [protocol]) => filter.protocol = Some(*protocol),
        (0x40 | 0x41, value) if filter.local_ports.is_none() => {
            filter.local_ports = Some(two(value).ok_or(CONFLICT)?);
        }
        (0x50 | 0x51, value) if filter.remote_ports.is_none() => {
            filter.remote_ports = Some(two(value).ok_or(CONFLICT)?);
        }
        (0x40 | 0x41 | 0x50 | 0x51, _) => return Err(CONFLICT),
        (0x70, [value, mask]) => filter.tos = Some((*value, *mask)),
        (0x01, _) => {}
        _ => filter.has_others = true,
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn filter() -> PacketFilter {
        PacketFilter {
            id: 2,
            direction: FilterDirection::Uplink,
            remote: Some((IpAddr::V4(Ipv4Addr::new(203, 0, 113, 0)), 24)),
            protocol: Some(17),
            remote_ports: Some((5_000, 5_010)),
            local_ports: Some((6_000, 6_000)),
            tos: Some((0xb8, 0xfc)),
            has_others: false,
        }
    }

    #[test]
    fn the_octets_of_rules_are_those_of_the_ts() {
        let rules = [
            QosRule::default_of(1),
            QosRule {
                id: 2,
                operation: RuleOperation::Create,
                is_default: false,
                filters: vec![filter()],
                precedence: 10,
                qfi: 5,
            },
            QosRule::deleted(3),
        ];
        let expected = [
            &[1, 0, 6, 0x31, 0x31, 1, 1, 0xff, 1][..],
            &[2, 0, 27, 0x21, 0x22, 22],
            &[0x10, 203, 0, 113, 0, 255, 255, 255, 0, 0x30, 17],
            &[0x40, 0x17, 0x70, 0x51, 0x13, 0x88, 0x13, 0x92],
            &[0x70, 0xb8, 0xfc, 10, 5],
            &[3, 0, 1, 0x40],
        ]
        .concat();
        assert_eq!(write(&rules), expected);
        assert_eq!(read(&expected), Ok(rules.to_vec()));
    }

    #[test]
    fn what_is_wrong_has_its_cause() {
        // A rule that is cut short, one with an operation that is none, a filter that is cut short, a filter
        // with match-all and a protocol, ports the wrong way round.
        for (octets, cause) in [
            (&[1, 0, 9, 0x31][..], SessionCause::SYNTAX_OF_QOS),
            (&[1, 0, 3, 0xe0, 1, 1], SessionCause::SYNTAX_OF_QOS),
            (
                &[1, 0, 5, 0x21, 0x31, 9, 1, 1],
                SessionCause::SYNTAX_OF_FILTERS,
            ),
            (
                &[1, 0, 8, 0x21, 0x31, 3, 1, 0x30, 6, 1, 1],
                SessionCause::SEMANTICS_OF_FILTERS,
            ),
            (
                &[1, 0, 10, 0x21, 0x31, 5, 0x51, 0, 9, 0, 8, 1, 1],
                SessionCause::SEMANTICS_OF_FILTERS,
            ),
        ] {
            assert_eq!(read(octets), Err(cause), "{octets:?}");
        }
    }

    /// A UE may tell its peer's whole address beside the length of a prefix.
    #[test]
    fn a_prefix_is_what_its_length_says() {
        let address: Ipv6Addr = "2001:db8:1:2:3:4:5:6".parse().expect("an address");
        for (len, prefix) in [(0, "::"), (32, "2001:db8::"), (128, "2001:db8:1:2:3:4:5:6")] {
            let told = QosRule {
                filters: vec![PacketFilter {
                    remote: Some((IpAddr::V6(address), len)),
                    ..PacketFilter::ALL
                }],
                ..QosRule::default_of(1)
            };
            let rules = read(&write(&[told])).expect("rules");
            let prefix: Ipv6Addr = prefix.parse().expect("a prefix");
            assert_eq!(rules[0].filters[0].remote, Some((IpAddr::V6(prefix), len)));
        }
    }

    /// Ethernet components are skipped: a session of IP cannot check them.
    #[test]
    fn components_of_ethernet_are_known_by_their_length() {
        for (kind, length) in [
            (0x81, 6),
            (0x82, 6),
            (0x83, 2),
            (0x84, 2),
            (0x85, 1),
            (0x86, 1),
        ]
        .into_iter()
        .chain([(0x87, 2), (0x88, 12), (0x89, 12)])
        {
            let components = [&[kind][..], &vec![0; length]].concat();
            let filter = read_filter(0x31, &components).expect("a filter");
            assert!(filter.has_others, "{kind:x}");
            assert_eq!(
                read_filter(0x31, &components[..length]),
                Err(SessionCause::SYNTAX_OF_FILTERS)
            );
        }
    }

    proptest! {
        #[test]
        fn rules_are_read_as_they_are_written_and_any_octets_are_rules_or_none(
            octets in proptest::collection::vec(any::<u8>(), 0..96),
        ) {
            if let Ok(rules) = read(&octets) {
                let is_exact = rules.iter().all(|rule| rule.filters.iter().all(|f| !f.has_others));
                if is_exact {
                    prop_assert_eq!(read(&write(&rules)), Ok(rules));
                }
            }
        }
    }
}
