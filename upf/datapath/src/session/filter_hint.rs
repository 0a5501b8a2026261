//! Filter hints: an octet of each rule that tells at once of most packets that they do not meet its SDF filters.
//!
//! What a rule's filters have in common (a port, an address) is hashed into the rule's octet, what a packet shows
//! into some octets. A rule is a candidate if its octet is among them, or 0, which says nothing. Candidates are asked
//! for their filters as without hints, so a hint decides nothing: it may say yes too often, never no too often.

use crate::forward::flow::Flow;
use crate::limits::BLOCK_RULES;
use crate::session::flow_filter::{AddressRange, FlowFilter};
use sluice_mem::zeroable_struct;

/// What a filter may ask for exactly, the most telling first: address and port of the remote end, each of
/// them alone, the UE's port.
const KINDS: usize = 4;
/// Octets 0x01 and 0x80 of a word of eight octets, in each of them.
const ONES: u64 = 0x0101_0101_0101_0101;
const HIGHS: u64 = 0x8080_8080_8080_8080;

/// A value of a kind as an octet from 1 to 255.
#[inline(always)]
fn octet(kind: u64, value: u64) -> u8 {
    // Fibonacci hashing: the top bits of the product are well mixed. The kind keeps equal numbers of two kinds apart.
    let mixed = (value ^ kind << 56).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
    ((mixed * 255) >> 32) as u8 + 1
}

#[inline(always)]
fn folded(address: u128) -> u64 {
    // Halves are told apart: IPv4 addresses have the lower one alone.
    (address >> 64) as u64 ^ (address as u64).rotate_left(17)
}

#[inline(always)]
fn of_end(address: u128, port: u16) -> u64 {
    (folded(address) ^ u64::from(port) << 40).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// What a flow shows, or a filter asks for, an octet for each kind; 0 where there is nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct FlowHints([u8; KINDS]);

impl FlowHints {
    /// Of a flow [towards the UE](Flow::towards_ue).
    #[inline(always)]
    pub fn of(flow: &Flow) -> Self {
        let (mut end, mut port, mut local) = (0, 0, 0);
        if let Some((from, to)) = flow.ports {
            end = octet(0, of_end(flow.source, from));
            (port, local) = (octet(2, from.into()), octet(3, to.into()));
        }
        Self([end, octet(1, folded(flow.source)), port, local])
    }

    /// What a flow has to show to meet a filter.
    fn asked(filter: &FlowFilter) -> Self {
        let exact = |ports: Option<(u16, u16)>| ports.filter(|(low, high)| low == high);
        let port = exact(filter.remote_ports).map(|(port, _)| port);
        let local = exact(filter.local_ports).map(|(port, _)| port);
        let address = match filter.remote {
            AddressRange::Ipv4(address, 32) => Some(u128::from(address)),
            AddressRange::Ipv6(address, 128) => Some(address),
            _ => None,
        };
        let end = address
            .zip(port)
            .map(|(address, port)| of_end(address, port));
        let asked = [
            end,
            address.map(folded),
            port.map(u64::from),
            local.map(u64::from),
        ];
        let mut kinds = 0..;
        Self(asked.map(|value| {
            let kind = kinds.next().unwrap_or(0);
            value.map_or(0, |value| octet(kind, value))
        }))
    }

    /// The octet of a rule whose filters these are: of the first kind in which all ask for the same.
    pub fn of_filters(filters: impl IntoIterator<Item = FlowFilter>) -> u8 {
        let mut all = filters.into_iter().map(|filter| Self::asked(&filter).0);
        let Some(mut common) = all.next() else {
            return 0;
        };
        for asked in all {
            for (common, asked) in common.iter_mut().zip(asked) {
                *common = if *common == asked { asked } else { 0 };
            }
            if common == [0; KINDS] {
                break;
            }
        }
        common.into_iter().find(|octet| *octet != 0).unwrap_or(0)
    }
}

zeroable_struct! {
    /// The octets of a block's rules.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct RuleHints {
        octets: [u8; BLOCK_RULES],
    }
}

impl RuleHints {
    /// Of one rule.
    pub fn set(&mut self, at: usize, hint: u8) {
        if let Some(octet) = self.octets.get_mut(at) {
            *octet = hint;
        }
    }

    /// True if they tell nothing of any packet.
    #[inline(always)]
    pub fn are_none(self) -> bool {
        self.octets == [0; BLOCK_RULES]
    }

    /// Which of the first `len` rules a packet with these hints may meet.
    #[inline(always)]
    pub fn candidates(self, flow: FlowHints, len: u32) -> Candidates {
        let rules = u64::from_le_bytes(self.octets);
        let met = |octet: u8| zeros(rules ^ u64::from(octet).wrapping_mul(ONES));
        let all = flow
            .0
            .iter()
            .fold(zeros(rules), |all, octet| all | met(*octet));
        Candidates(all).first(len)
    }
}

/// The highest bit of each octet that is 0. No octet tells on its neighbour: no sum leaves its octet.
#[inline(always)]
const fn zeros(octets: u64) -> u64 {
    !(((octets & !HIGHS) + !HIGHS) | octets) & HIGHS
}

/// Rules of a block, in their order.
#[derive(Clone, Copy, Debug)]
pub struct Candidates(u64);

impl Candidates {
    /// The first `len` of them, all.
    #[inline(always)]
    pub fn all(len: u32) -> Self {
        Self(HIGHS).first(len)
    }

    #[inline(always)]
    fn first(self, len: u32) -> Self {
        let beyond = u64::MAX.checked_shl(8 * len).unwrap_or(0);
        Self(self.0 & !beyond)
    }
}

impl Iterator for Candidates {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let at = self.0.trailing_zeros() as usize / 8;
        (self.0 != 0).then(|| {
            self.0 &= self.0 - 1;
            at
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::flow_filter::{FilterRun, FlowFilterSlots};
    use proptest::prelude::*;

    fn ports() -> impl Strategy<Value = Option<(u16, u16)>> {
        prop_oneof![
            Just(None),
            (0u16..4).prop_map(|port| Some((port, port))),
            (0u16..3).prop_map(|port| Some((port, port + 1))),
        ]
    }

    fn remotes() -> impl Strategy<Value = AddressRange> {
        prop_oneof![
            Just(AddressRange::Any),
            (0u32..3, 30u8..=32).prop_map(|(a, len)| AddressRange::Ipv4(a, len)),
            (0u128..3, 126u8..=128).prop_map(|(a, len)| AddressRange::Ipv6(a, len)),
        ]
    }

    prop_compose! {
        fn filters()(remote in remotes(), remote_ports in ports(), local_ports in ports()) -> FlowFilter {
            FlowFilter { remote, remote_ports, local_ports, ..FlowFilter::default() }
        }
    }

    prop_compose! {
        fn flows()(
            is_ipv6: bool,
            source in 0u128..3,
            ports in prop::option::of((0u16..4, 0u16..4)),
        ) -> Flow {
            Flow { is_ipv6, source, ports, ..Flow::default() }
        }
    }

    proptest! {
        #[test]
        fn a_rule_whose_filters_a_packet_meets_is_a_candidate(
            rules in prop::collection::vec(prop::collection::vec(filters(), 0..4), 1..=BLOCK_RULES),
            flow in flows(),
        ) {
            let mut hints = RuleHints::default();
            for (at, filters) in rules.iter().enumerate() {
                hints.set(at, FlowHints::of_filters(filters.iter().copied()));
            }
            let candidates = hints.candidates(FlowHints::of(&flow), rules.len() as u32);
            let candidates: Vec<usize> = candidates.collect();
            prop_assert!(candidates.is_sorted());
            for (at, filters) in rules.iter().enumerate() {
                let mut slots = FlowFilterSlots::new(filters.len());
                for (place, filter) in (0..).zip(filters) {
                    slots.set(place, filter);
                }
                let run = FilterRun::new(0, filters.len()).unwrap_or(FilterRun::NONE);
                let is_met = filters.is_empty() || slots.reader().any_met(run, &flow);
                prop_assert!(!is_met || candidates.contains(&at), "rule {}", at);
            }
        }

        #[test]
        fn octets_that_are_zero_are_found_and_no_others(octets: [u8; 8], some_zero: [bool; 8]) {
            let octets: [u8; 8] = core::array::from_fn(|i| if some_zero[i] { 0 } else { octets[i] });
            let found: Vec<usize> = Candidates(zeros(u64::from_le_bytes(octets))).collect();
            let zero: Vec<usize> = (0..8).filter(|i| octets[*i] == 0).collect();
            prop_assert_eq!(found, zero);
        }
    }

    #[test]
    fn rules_of_other_ports_are_no_candidates() {
        let mut hints = RuleHints::default();
        for at in 0..BLOCK_RULES {
            let port = 20_000 + at as u16;
            let remote_ports = Some((port, port));
            let filter = FlowFilter {
                remote_ports,
                ..FlowFilter::default()
            };
            hints.set(at, FlowHints::of_filters([filter]));
        }
        // Of 1,000 flows 8 have the port of one of the rules. Of the others, a rule in 64 is a candidate: each of four
        // octets may be its own by chance.
        let count = (0..1000u16).map(|n| {
            let ports = Some((19_500 + n, 40_000 + 7 * n));
            let source = u128::from(0x0a00_0000 + 13 * u32::from(n));
            let flow = Flow {
                source,
                ports,
                ..Flow::default()
            };
            hints
                .candidates(FlowHints::of(&flow), BLOCK_RULES as u32)
                .count()
        });
        let count: usize = count.sum();
        assert!((8..250).contains(&count), "{count} of 8,000");
        assert_eq!(Candidates::all(3).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(Candidates::all(8).count(), 8);
    }
}
