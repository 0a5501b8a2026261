//! Policy and charging control rules (TS 23.503, 6.3; TS 29.512, 5.6.2.6): which packets of a session are
//! one service, what QoS they get, and under which key they are charged.

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::fmt;

use zerocopy::big_endian::{U16, U32, U64};
use zerocopy::{Immutable, IntoBytes, KnownLayout, TryFromBytes, Unaligned};

/// Most rules of a session beside its default flow.
pub const RULES: usize = 8;

/// Most packet filters of a rule.
pub const FILTERS: usize = 4;

/// Most packet filters of a session: what a UE supports that does not say more, less the default rule's
/// (TS 24.501, 9.11.4.9).
pub const FILTERS_OF_A_SESSION: usize = 15;

/// Longest name of a rule in octets.
pub const NAME_OCTETS: usize = 24;

/// The name of a rule.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct RuleName {
    length: u8,
    octets: [u8; NAME_OCTETS],
}

impl RuleName {
    /// Of 1 to 24 letters, digits, and `-`, `_` and `.`.
    pub fn new(text: &str) -> Option<Self> {
        let is_right = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if text.is_empty() || !text.chars().all(is_right) {
            return None;
        }
        let mut name = Self {
            length: text.len() as u8,
            octets: [0; NAME_OCTETS],
        };
        name.octets
            .get_mut(..text.len())?
            .copy_from_slice(text.as_bytes());
        Some(name)
    }

    /// Its characters.
    pub fn text(&self) -> &str {
        let length = usize::from(self.length).min(NAME_OCTETS);
        str::from_utf8(&self.octets[..length]).unwrap_or_default()
    }
}

impl fmt::Display for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl fmt::Debug for RuleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// Packets of which direction a filter is for.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(u8)]
pub enum FlowDirection {
    /// To the UE.
    Downlink = 1,
    /// From the UE.
    Uplink = 2,
    /// Both.
    Both = 3,
}

/// Ports from one to another, both included; all of them are no condition.
pub type Ports = (u16, u16);

/// A packet filter, flat.
#[derive(
    Clone, Copy, PartialEq, Eq, Debug, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct FlatFilter {
    direction: FlowDirection,
    /// 0, 4 or 6.
    family: u8,
    prefix_len: u8,
    remote: [u8; 16],
    has_protocol: bool,
    protocol: u8,
    remote_ports: [U16; 2],
    local_ports: [U16; 2],
    tos: [u8; 2],
}

impl FlatFilter {
    const NONE: Self = Self {
        direction: FlowDirection::Both,
        family: 0,
        prefix_len: 0,
        remote: [0; 16],
        has_protocol: false,
        protocol: 0,
        remote_ports: [U16::ZERO, U16::from_bytes([0xff; 2])],
        local_ports: [U16::ZERO, U16::from_bytes([0xff; 2])],
        tos: [0; 2],
    };
}

/// A packet filter as it is used; what is none is no condition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Filter {
    /// For packets of which direction.
    pub direction: FlowDirection,
    /// Prefix of the far end.
    pub remote: Option<(IpAddr, u8)>,
    /// Protocol, or next header.
    pub protocol: Option<u8>,
    /// Ports of the far end.
    pub remote_ports: Option<Ports>,
    /// Ports of the UE.
    pub local_ports: Option<Ports>,
    /// Type of service or traffic class, and its mask.
    pub tos: Option<(u8, u8)>,
}

impl Filter {
    /// All packets of a direction.
    pub const fn all(direction: FlowDirection) -> Self {
        Self {
            direction,
            remote: None,
            protocol: None,
            remote_ports: None,
            local_ports: None,
            tos: None,
        }
    }

    /// Octets that it takes in a QoS rule at the most (TS 24.501, 9.11.4.13).
    pub fn nas_octets(&self) -> usize {
        let remote = match self.remote {
            Some((IpAddr::V4(_), _)) => 9,
            Some((IpAddr::V6(_), _)) => 18,
            None => 1,
        };
        let ports = [self.remote_ports, self.local_ports];
        let ports = ports.iter().flatten().count() * 5;
        let protocol = usize::from(self.protocol.is_some()) * 2;
        2 + remote + protocol + ports + usize::from(self.tos.is_some()) * 3
    }
}

impl From<Filter> for FlatFilter {
    fn from(filter: Filter) -> Self {
        let (family, remote, prefix_len) = match filter.remote {
            None => (0, [0; 16], 0),
            Some((IpAddr::V4(address), len)) => {
                let mut octets = [0; 16];
                octets[..4].copy_from_slice(&address.octets());
                (4, octets, len)
            }
            Some((IpAddr::V6(address), len)) => (6, address.octets(), len),
        };
        let ports = |ports: Option<Ports>| {
            let (first, last) = ports.unwrap_or((0, u16::MAX));
            [first.into(), last.into()]
        };
        let (value, mask) = filter.tos.unwrap_or_default();
        Self {
            direction: filter.direction,
            family,
            prefix_len,
            remote,
            has_protocol: filter.protocol.is_some(),
            protocol: filter.protocol.unwrap_or_default(),
            remote_ports: ports(filter.remote_ports),
            local_ports: ports(filter.local_ports),
            tos: [value, mask],
        }
    }
}

impl From<FlatFilter> for Filter {
    fn from(flat: FlatFilter) -> Self {
        let [a, b, c, d, ..] = flat.remote;
        let ports = |[first, last]: [U16; 2]| {
            let ports = (first.get(), last.get());
            Some(ports).filter(|ports| *ports != (0, u16::MAX))
        };
        let [value, mask] = flat.tos;
        Self {
            direction: flat.direction,
            remote: match flat.family {
                4 => Some((Ipv4Addr::new(a, b, c, d).into(), flat.prefix_len.min(32))),
                6 => Some((Ipv6Addr::from(flat.remote).into(), flat.prefix_len.min(128))),
                _ => None,
            },
            protocol: flat.has_protocol.then_some(flat.protocol),
            remote_ports: ports(flat.remote_ports),
            local_ports: ports(flat.local_ports),
            tos: Some((value, mask)).filter(|(_, mask)| *mask != 0),
        }
    }
}

/// A rule.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct PccRule {
    /// 1 to 15, unique in the session while the rule is there; 0 of a rule that has none yet.
    pub id: u8,
    /// Its name.
    pub name: RuleName,
    /// Rules are tried from the smallest on, 1 to 254.
    pub precedence: u8,
    /// 5QI.
    pub five_qi: u8,
    /// Allocation and retention priority, 1 to 15, 1 first.
    pub priority: u8,
    /// It may take the room of others of a lower priority.
    pub may_preempt: bool,
    /// Others of a higher priority may take its room.
    pub is_preemptable: bool,
    /// Packets to the UE pass; else they are dropped.
    pub is_open_down: bool,
    /// Packets from the UE pass; else they are dropped.
    pub is_open_up: bool,
    /// Guaranteed bits per second to the UE; 0 guarantees nothing.
    pub guaranteed_down_bps: U64,
    /// Guaranteed bits per second from the UE; 0 guarantees nothing.
    pub guaranteed_up_bps: U64,
    /// Most bits per second to the UE; 0 is no limit.
    pub maximum_down_bps: U64,
    /// Most bits per second from the UE; 0 is no limit.
    pub maximum_up_bps: U64,
    /// Whether usage is charged under a key of its own.
    pub has_rating_group: bool,
    /// That key.
    pub rating_group: U32,
    /// How many filters follow.
    pub filters: u8,
    /// Filters, read by [`PccRule::filters`].
    pub filter: [FlatFilter; FILTERS],
}

impl PccRule {
    /// No rule, where a message has room for one.
    pub const NONE: Self = Self {
        id: 0,
        name: RuleName {
            length: 0,
            octets: [0; NAME_OCTETS],
        },
        precedence: 0,
        five_qi: 0,
        priority: 8,
        may_preempt: false,
        is_preemptable: false,
        is_open_down: true,
        is_open_up: true,
        guaranteed_down_bps: U64::ZERO,
        guaranteed_up_bps: U64::ZERO,
        maximum_down_bps: U64::ZERO,
        maximum_up_bps: U64::ZERO,
        has_rating_group: false,
        rating_group: U32::ZERO,
        filters: 0,
        filter: [FlatFilter::NONE; FILTERS],
    };

    /// A rule of a flow without guaranteed bit rates; none if it has more than [`FILTERS`].
    pub fn new(name: RuleName, precedence: u8, five_qi: u8, filters: &[Filter]) -> Option<Self> {
        let mut rule = Self {
            name,
            precedence,
            five_qi,
            ..Self::NONE
        };
        for (at, filter) in filters.iter().enumerate() {
            *rule.filter.get_mut(at)? = (*filter).into();
        }
        rule.filters = filters.len() as u8;
        Some(rule)
    }

    /// Its filters.
    pub fn filters(&self) -> impl Iterator<Item = Filter> + Clone + '_ {
        let number = usize::from(self.filters).min(FILTERS);
        self.filter.iter().take(number).map(|flat| (*flat).into())
    }

    /// Guaranteed bits per second, down and up; none of a flow that guarantees nothing.
    pub fn guaranteed_bps(&self) -> Option<(u64, u64)> {
        let rates = (self.guaranteed_down_bps.get(), self.guaranteed_up_bps.get());
        (rates != (0, 0)).then_some(rates)
    }

    /// Most bits per second, down and up; 0 is no limit.
    pub fn maximum_bps(&self) -> (u64, u64) {
        (self.maximum_down_bps.get(), self.maximum_up_bps.get())
    }

    /// Under which key its usage is charged.
    pub fn rating_group(&self) -> Option<u32> {
        self.has_rating_group.then(|| self.rating_group.get())
    }

    /// Octets that it takes as a QoS rule and a QoS flow description at the most (TS 24.501, 9.11.4.12 and
    /// 9.11.4.13).
    pub fn nas_octets(&self) -> usize {
        let filters: usize = self.filters().map(|filter| filter.nas_octets()).sum();
        let flow = if self.guaranteed_bps().is_some() {
            26
        } else {
            6
        };
        6 + filters + flow
    }
}

impl fmt::Debug for PccRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name, self.id)
    }
}

/// Rules of a session.
#[derive(
    Clone, Copy, PartialEq, Eq, TryFromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
pub struct PccRules {
    number: u8,
    rule: [PccRule; RULES],
}

impl PccRules {
    /// None.
    pub const NONE: Self = Self {
        number: 0,
        rule: [PccRule::NONE; RULES],
    };

    /// The first [`RULES`] of these.
    pub fn new(rules: &[PccRule]) -> Self {
        let mut this = Self::NONE;
        for (into, rule) in this.rule.iter_mut().zip(rules) {
            *into = *rule;
            this.number += 1;
        }
        this
    }

    /// The rules.
    pub fn get(&self) -> &[PccRule] {
        &self.rule[..usize::from(self.number).min(RULES)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_read_as_it_was_written() {
        let all = Filter::all(FlowDirection::Uplink);
        for filter in [
            all,
            Filter {
                remote: Some(("203.0.113.0".parse().expect("an address"), 24)),
                protocol: Some(0),
                remote_ports: Some((5_000, 5_000)),
                local_ports: Some((0, 9)),
                tos: Some((0xb8, 0xfc)),
                ..all
            },
            Filter {
                remote: Some(("2001:db8::1".parse().expect("an address"), 128)),
                ..all
            },
        ] {
            assert_eq!(Filter::from(FlatFilter::from(filter)), filter);
        }
    }

    #[test]
    fn a_name_is_short_and_of_few_characters() {
        let name = RuleName::new("video-1_a.b").expect("a name");
        assert_eq!(name.text(), "video-1_a.b");
        for bad in ["", "a b", "a/b", "1234567890123456789012345", "ü"] {
            assert_eq!(RuleName::new(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_rule_has_four_filters_and_a_session_eight_rules() {
        let name = RuleName::new("x").expect("a name");
        let all = Filter::all(FlowDirection::Both);
        assert_eq!(PccRule::new(name, 1, 9, &[all; FILTERS + 1]), None);
        let rule = PccRule::new(name, 1, 9, &[all; FILTERS]).expect("room");
        assert_eq!(rule.filters().count(), FILTERS);
        assert_eq!(PccRules::new(&[rule; RULES + 1]).get(), [rule; RULES]);
        assert_eq!(PccRules::NONE.get(), []);
    }
}
