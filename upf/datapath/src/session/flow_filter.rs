//! Flow filters: what SDF filters (TS 29.244, 8.2.5) ask of a packet, in a table that all workers read.
//!
//! A run of filters is written before a rule that names it is sent, and written again only when no rule
//! names it any more, so nobody reads one that changes.

use crate::forward::flow::Flow;
use core::ops::Range;
use sluice_mem::slots::{Slot, SlotReader, Slots};
use sluice_mem::zeroable_struct;

/// Flow filters that one rule may have: places of a run are counted in six bits.
pub const FILTER_RUN_MAX: usize = 63;
/// Flow filters in the table at the most: a run's first place has the other 26 bits.
pub const FILTERS_MAX: usize = 1 << 26;
const WORDS: usize = 8;

zeroable_struct! {
    /// Filters of which a packet must meet one: the first place, and how many. 0 asks nothing.
    #[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
    #[repr(C)]
    pub struct FilterRun {
        bits: u32,
    }
}

impl FilterRun {
    /// No condition.
    pub const NONE: Self = Self { bits: 0 };

    /// So many filters from `first` on; none if there is no such run.
    pub fn new(first: u32, len: usize) -> Option<Self> {
        let fits = (1..=FILTER_RUN_MAX).contains(&len) && (first as usize) < FILTERS_MAX;
        fits.then_some(Self {
            bits: first << 6 | len as u32,
        })
    }

    /// As it is kept where a number of 32 bits is.
    pub const fn bits(self) -> u32 {
        self.bits
    }

    /// That which was kept so.
    pub const fn from_bits(bits: u32) -> Self {
        Self { bits }
    }

    /// True if it asks nothing.
    #[inline(always)]
    pub const fn is_none(self) -> bool {
        self.bits == 0
    }

    /// The first place.
    #[inline]
    pub const fn first(self) -> u32 {
        self.bits >> 6
    }

    /// How many there are.
    #[inline]
    pub const fn len(self) -> usize {
        (self.bits & 63) as usize
    }

    /// True if there are none.
    pub const fn is_empty(self) -> bool {
        self.is_none()
    }

    /// Their places in the table.
    #[inline(always)]
    fn places(self) -> Range<usize> {
        let first = self.first() as usize;
        first..first + self.len()
    }
}

/// Addresses that one end of a flow may have.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum AddressRange {
    /// Any of either family.
    #[default]
    Any,
    /// IPv4, with this many leading bits of the address in host order.
    Ipv4(u32, u8),
    /// The same of IPv6.
    Ipv6(u128, u8),
}

/// One filter. What is `None` asks nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct FlowFilter {
    /// IP protocol, of IPv6 that behind the extension headers.
    pub protocol: Option<u8>,
    /// The end beyond the data network.
    pub remote: AddressRange,
    /// The UE's end.
    pub local: AddressRange,
    /// Ports of the remote end, both included.
    pub remote_ports: Option<(u16, u16)>,
    /// Ports of the UE's end, both included.
    pub local_ports: Option<(u16, u16)>,
    /// ToS or traffic class: value and mask.
    pub tos: Option<(u8, u8)>,
    /// Security parameter index of ESP or AH.
    pub spi: Option<u32>,
    /// Flow label of IPv6.
    pub flow_label: Option<u32>,
    /// SDF Filter ID, where the filter has one: no condition, but its name within a session.
    pub id: Option<u32>,
}

const HAS_PROTOCOL: u64 = 1;
const HAS_REMOTE_PORTS: u64 = 1 << 1;
const HAS_LOCAL_PORTS: u64 = 1 << 2;
const HAS_TOS: u64 = 1 << 3;
const HAS_SPI: u64 = 1 << 4;
const HAS_FLOW_LABEL: u64 = 1 << 5;
const HAS_ID: u64 = 1 << 6;
/// Two bits each: 0 any, 4, 6 as 1, 2.
const REMOTE_FAMILY: u32 = 8;
const LOCAL_FAMILY: u32 = 10;
const PROTOCOL: u32 = 16;
const TOS: u32 = 24;
const REMOTE_LEN: u32 = 40;
const LOCAL_LEN: u32 = 48;

fn has(bit: u64, on: bool) -> u64 {
    if on { bit } else { 0 }
}

impl AddressRange {
    fn parts(self) -> (u64, u64, u128) {
        match self {
            Self::Any => (0, 0, 0),
            Self::Ipv4(address, len) => (1, len.into(), address.into()),
            Self::Ipv6(address, len) => (2, len.into(), address),
        }
    }

    fn of_parts(family: u64, len: u64, address: u128) -> Self {
        match family & 3 {
            1 => Self::Ipv4(address as u32, len as u8),
            2 => Self::Ipv6(address, len as u8),
            _ => Self::Any,
        }
    }

    /// True if the family alone is asked for.
    pub fn is_whole_family(self) -> bool {
        matches!(self, Self::Any | Self::Ipv4(_, 0) | Self::Ipv6(_, 0))
    }
}

impl FlowFilter {
    fn to_words(self) -> [u64; WORDS] {
        let (remote_family, remote_len, remote) = self.remote.parts();
        let (local_family, local_len, local) = self.local.parts();
        let (tos, mask) = self.tos.unwrap_or_default();
        let ports = |ports: Option<(u16, u16)>| {
            let (low, high) = ports.unwrap_or_default();
            u64::from(high) << 16 | u64::from(low)
        };
        let first = has(HAS_PROTOCOL, self.protocol.is_some())
            | has(HAS_REMOTE_PORTS, self.remote_ports.is_some())
            | has(HAS_LOCAL_PORTS, self.local_ports.is_some())
            | has(HAS_TOS, self.tos.is_some())
            | has(HAS_SPI, self.spi.is_some())
            | has(HAS_FLOW_LABEL, self.flow_label.is_some())
            | has(HAS_ID, self.id.is_some())
            | remote_family << REMOTE_FAMILY
            | local_family << LOCAL_FAMILY
            | u64::from(self.protocol.unwrap_or(0)) << PROTOCOL
            | u64::from(u16::from_be_bytes([tos, mask])) << TOS
            | remote_len << REMOTE_LEN
            | local_len << LOCAL_LEN;
        [
            first,
            (remote >> 64) as u64,
            remote as u64,
            (local >> 64) as u64,
            local as u64,
            ports(self.remote_ports) << 32 | ports(self.local_ports),
            u64::from(self.spi.unwrap_or(0)) << 32 | u64::from(self.flow_label.unwrap_or(0)),
            self.id.unwrap_or(0).into(),
        ]
    }

    fn of_words(words: [u64; WORDS]) -> Self {
        let [first, r1, r0, l1, l0, ports, marks, id] = words;
        let wide = |high: u64, low: u64| u128::from(high) << 64 | u128::from(low);
        let range = |bits: u64| (bits as u16, (bits >> 16) as u16);
        let [tos, mask] = ((first >> TOS) as u16).to_be_bytes();
        let there = |bit: u64| first & bit != 0;
        Self {
            protocol: there(HAS_PROTOCOL).then_some((first >> PROTOCOL) as u8),
            remote: AddressRange::of_parts(
                first >> REMOTE_FAMILY,
                first >> REMOTE_LEN & 0xff,
                wide(r1, r0),
            ),
            local: AddressRange::of_parts(
                first >> LOCAL_FAMILY,
                first >> LOCAL_LEN & 0xff,
                wide(l1, l0),
            ),
            remote_ports: there(HAS_REMOTE_PORTS).then(|| range(ports >> 32)),
            local_ports: there(HAS_LOCAL_PORTS).then(|| range(ports)),
            tos: there(HAS_TOS).then_some((tos, mask)),
            spi: there(HAS_SPI).then_some((marks >> 32) as u32),
            flow_label: there(HAS_FLOW_LABEL).then_some(marks as u32),
            id: there(HAS_ID).then_some(id as u32),
        }
    }
}

/// True if a flow towards the UE meets a filter. Words are read as they are needed: most filters say nothing of most.
#[inline(always)]
fn is_met(filter: Slot<'_, WORDS>, flow: &Flow) -> bool {
    let first = filter.word::<0>();
    (first & HAS_PROTOCOL == 0 || (first >> PROTOCOL) as u8 == flow.protocol)
        && (first & (HAS_REMOTE_PORTS | HAS_LOCAL_PORTS) == 0
            || has_ports(first, filter.word::<5>(), flow))
        && is_remote(filter, first, flow)
        && is_local(filter, first, flow.is_ipv6, flow.destination)
        && (first & (HAS_TOS | HAS_SPI | HAS_FLOW_LABEL) == 0 || has_marks(filter, flow))
}

#[inline(always)]
fn is_remote(filter: Slot<'_, WORDS>, first: u64, flow: &Flow) -> bool {
    let address = || [filter.word::<1>(), filter.word::<2>()];
    let (family, len) = (first >> REMOTE_FAMILY, first >> REMOTE_LEN);
    is_within(family, len, address, flow.is_ipv6, flow.source)
}

#[inline(always)]
fn is_local(filter: Slot<'_, WORDS>, first: u64, is_ipv6: bool, address: u128) -> bool {
    let local = || [filter.word::<3>(), filter.word::<4>()];
    let (family, len) = (first >> LOCAL_FAMILY, first >> LOCAL_LEN);
    is_within(family, len, local, is_ipv6, address)
}

/// True if an address of the family lies within a range, of which the lowest bits of the first two say family and length.
#[inline(always)]
fn is_within(
    family: u64,
    len: u64,
    range: impl FnOnce() -> [u64; 2],
    is_ipv6: bool,
    address: u128,
) -> bool {
    if family & 3 == 0 {
        return true;
    }
    let ([high, low], len) = (range(), (len & 0xff) as u32);
    match family & 3 {
        1 => !is_ipv6 && u64::from((low ^ address as u64) as u32) >> (32 - len.min(32)) == 0,
        _ => {
            let differing = (u128::from(high) << 64 | u128::from(low)) ^ address;
            is_ipv6 && differing.checked_shr(128 - len.min(128)).unwrap_or(0) == 0
        }
    }
}

#[inline]
fn has_ports(first: u64, ports: u64, flow: &Flow) -> bool {
    let Some((remote, local)) = flow.ports else {
        return false;
    };
    let within = |range: u64, port: u16| (range as u16..=(range >> 16) as u16).contains(&port);
    (first & HAS_REMOTE_PORTS == 0 || within(ports >> 32, remote))
        && (first & HAS_LOCAL_PORTS == 0 || within(ports, local))
}

#[cold]
fn has_marks(filter: Slot<'_, WORDS>, flow: &Flow) -> bool {
    let FlowFilter {
        tos,
        spi,
        flow_label,
        ..
    } = FlowFilter::of_words(filter.words());
    tos.is_none_or(|(value, mask)| flow.tos & mask == value & mask)
        && spi.is_none_or(|spi| flow.spi == Some(spi))
        && flow_label.is_none_or(|label| flow.is_ipv6 && flow.label == label)
}

/// The writer's end of the table.
#[derive(Debug)]
pub struct FlowFilterSlots(Slots<WORDS>);

impl FlowFilterSlots {
    /// With room for so many.
    pub fn new(len: usize) -> Self {
        Self(Slots::new(len))
    }

    /// For the path.
    pub fn reader(&self) -> FlowFilters {
        FlowFilters(self.0.reader())
    }

    /// Writes a filter; false if there is no such place. No rule may name the place.
    pub fn set(&mut self, at: u32, filter: &FlowFilter) -> bool {
        self.0.write(at as usize, filter.to_words())
    }
}

/// The table as the path reads it.
#[derive(Clone, Debug, Default)]
pub struct FlowFilters(SlotReader<WORDS>);

impl FlowFilters {
    /// The filter in a place.
    pub fn get(&self, at: u32) -> Option<FlowFilter> {
        Some(FlowFilter::of_words(self.0.read(at as usize)?))
    }

    /// The filters of a run.
    pub fn run(&self, run: FilterRun) -> impl Iterator<Item = FlowFilter> {
        self.slots(run)
            .map(|filter| FlowFilter::of_words(filter.words()))
    }

    /// True if an address is the UE's end of one of a run's filters.
    #[cold]
    pub fn any_local(&self, run: FilterRun, is_ipv6: bool, address: u128) -> bool {
        let mut filters = self.slots(run);
        filters.any(|filter| is_local(filter, filter.word::<0>(), is_ipv6, address))
    }

    /// True if a flow [towards the UE](Flow::towards_ue) meets one of a run's filters.
    #[inline(always)]
    pub fn any_met(&self, run: FilterRun, flow: &Flow) -> bool {
        // A loop, as the closure of `any` is a function of its own to the compiler, called for each filter.
        for at in run.places() {
            if self.0.slot(at).is_some_and(|filter| is_met(filter, flow)) {
                return true;
            }
        }
        false
    }

    /// Brings a run's first filter into the cache.
    #[inline(always)]
    pub fn prefetch(&self, run: FilterRun) {
        self.0.prefetch(run.first() as usize);
    }

    #[inline(always)]
    fn slots(&self, run: FilterRun) -> impl Iterator<Item = Slot<'_, WORDS>> {
        run.places().filter_map(|at| self.0.slot(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ranges() -> impl Strategy<Value = AddressRange> {
        prop_oneof![
            Just(AddressRange::Any),
            (any::<u32>(), 0u8..=32).prop_map(|(a, len)| AddressRange::Ipv4(a, len)),
            (any::<u128>(), 0u8..=128).prop_map(|(a, len)| AddressRange::Ipv6(a, len)),
        ]
    }

    fn contains(range: AddressRange, is_ipv6: bool, address: u128) -> bool {
        let (family, len, bits) = range.parts();
        let words = || [(bits >> 64) as u64, bits as u64];
        is_within(family, len, words, is_ipv6, address)
    }

    proptest! {
        #[test]
        fn the_table_gives_back_what_was_written(
            ends in (ranges(), ranges()),
            ports in any::<(Option<(u16, u16)>, Option<(u16, u16)>)>(),
            rest in any::<(Option<u8>, Option<(u8, u8)>, Option<u32>, Option<u32>, Option<u32>)>(),
        ) {
            let filter = FlowFilter {
                protocol: rest.0,
                remote: ends.0,
                local: ends.1,
                remote_ports: ports.0,
                local_ports: ports.1,
                tos: rest.1,
                spi: rest.2,
                flow_label: rest.3,
                id: rest.4,
            };
            let mut slots = FlowFilterSlots::new(3);
            prop_assert!(slots.set(2, &filter));
            prop_assert_eq!(slots.reader().get(2), Some(filter));
        }

        #[test]
        fn a_run_tells_place_and_length(first in 0u32..1 << 26, len in 1usize..64) {
            let run = FilterRun::new(first, len).unwrap();
            prop_assert_eq!((run.first(), run.len(), run.is_none()), (first, len, false));
        }
    }

    #[test]
    fn prefixes_of_all_lengths_contain_what_shares_their_bits() {
        let v4 = AddressRange::Ipv4;
        assert!(contains(v4(0x0a2d_0000, 16), false, 0x0a2d_ffff));
        assert!(!contains(v4(0x0a2d_0000, 16), false, 0x0a2e_0000));
        assert!(!contains(v4(0, 0), true, 0), "no IPv6 address");
        assert!(contains(v4(0, 0), false, u32::MAX.into()));
        assert!(contains(v4(7, 32), false, 7) && !contains(v4(7, 32), false, 6));
        let v6 = AddressRange::Ipv6;
        assert!(contains(v6(0, 0), true, u128::MAX) && !contains(v6(0, 0), false, 1));
        assert!(contains(
            v6(0xff02 << 112 | 2, 128),
            true,
            0xff02 << 112 | 2
        ));
        assert!(!contains(v6(0xff02 << 112, 127), true, 0xff02 << 112 | 2));
    }
}
