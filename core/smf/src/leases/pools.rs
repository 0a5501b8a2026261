//! Pools of UE addresses for UPFs that give none themselves (TS 23.501, 5.8.2.2.1): IPv4 addresses, and IPv6 prefixes of 64
//! bits.

use core::fmt;
use core::net::{Ipv4Addr, Ipv6Addr};
use core::ops::Range;

use sluice_ids::Dnn;
use sluice_sbi::Instant;

use crate::leases::numbers::Numbers;

/// Addresses that UEs of a data network may be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Pool {
    /// An IPv4 prefix, with its length.
    Ipv4(Ipv4Addr, u8),
    /// An IPv6 prefix of at most 64 bits, with its length.
    Ipv6(Ipv6Addr, u8),
}

/// Family of addresses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// IPv4.
    Ipv4,
    /// IPv6.
    Ipv6,
}

/// UE address: an IPv4 address, or an IPv6 prefix of 64 bits.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum UeAddress {
    Ipv4(Ipv4Addr),
    Ipv6([u8; 8]),
}

/// Longest IPv4 prefix whose first and last addresses are left out: a longer one has few, which are meant.
const LONG_IPV4: u8 = 30;

impl Pool {
    /// The family.
    pub fn family(self) -> Family {
        match self {
            Self::Ipv4(..) => Family::Ipv4,
            Self::Ipv6(..) => Family::Ipv6,
        }
    }

    /// All addresses, as numbers.
    fn whole(self) -> Range<u64> {
        let (first, bits, len) = match self {
            Self::Ipv4(base, len) => (u64::from(base.to_bits()), 32, len),
            Self::Ipv6(base, len) => ((base.to_bits() >> 64) as u64, 64, len),
        };
        let size = 1_u128 << (bits - u32::from(len).min(bits));
        let end = u128::from(first) + size;
        first..u64::try_from(end).unwrap_or(u64::MAX)
    }

    /// The part that UEs are given: not the network's and the broadcast address, nor the first one (the first 64 bits of
    /// IPv6), which most UPFs have themselves.
    fn given(self) -> Range<u64> {
        let whole = self.whole();
        match self {
            Self::Ipv4(_, len) if len < LONG_IPV4 => whole.start + 2..whole.end - 1,
            Self::Ipv6(_, len) if len < 64 => whole.start + 1..whole.end,
            _ => whole,
        }
    }

    /// Whether both have an address.
    pub fn meets(self, other: Self) -> bool {
        let (a, b) = (self.whole(), other.whole());
        self.family() == other.family() && a.start < b.end && b.start < a.end
    }

    /// Whether an address is of it.
    pub fn contains_ipv4(self, address: Ipv4Addr) -> bool {
        self.contains(UeAddress::Ipv4(address))
    }

    /// Whether a prefix of 64 bits is of it.
    pub fn contains_ipv6(self, prefix: [u8; 8]) -> bool {
        self.contains(UeAddress::Ipv6(prefix))
    }

    fn contains(self, address: UeAddress) -> bool {
        let (family, number) = address.numbered();
        self.family() == family && self.whole().contains(&number)
    }

    /// Whether it makes sense: no host bits, and of a length that is served.
    pub(crate) fn is_sound(self) -> bool {
        match self {
            Self::Ipv4(base, len) => {
                let host = u32::MAX.checked_shr(u32::from(len)).unwrap_or(0);
                (8..=32).contains(&len) && base.to_bits() & host == 0
            }
            Self::Ipv6(base, len) => {
                let host = u128::MAX.checked_shr(u32::from(len)).unwrap_or(0);
                (32..=64).contains(&len) && base.to_bits() & host == 0 && base.to_bits() != 0
            }
        }
    }
}

impl fmt::Display for Pool {
    /// `10.45.0.0/16`, `2001:db8:45::/48`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ipv4(base, len) => write!(f, "{base}/{len}"),
            Self::Ipv6(base, len) => write!(f, "{base}/{len}"),
        }
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ipv4 => "IPv4",
            Self::Ipv6 => "IPv6",
        })
    }
}

impl UeAddress {
    fn numbered(self) -> (Family, u64) {
        match self {
            Self::Ipv4(address) => (Family::Ipv4, address.to_bits().into()),
            Self::Ipv6(prefix) => (Family::Ipv6, u64::from_be_bytes(prefix)),
        }
    }

    fn of(family: Family, number: u64) -> Self {
        match family {
            Family::Ipv4 => Self::Ipv4(Ipv4Addr::from_bits(number as u32)),
            Family::Ipv6 => Self::Ipv6(number.to_be_bytes()),
        }
    }
}

/// Addresses of a family in a data network, as a UPF leads to them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wanted<'a> {
    pub dnn: &'a Dnn,
    pub family: Family,
    /// Pools of the UPF; none are all of the data network.
    pub at: &'a [Pool],
}

impl Wanted<'_> {
    fn fits(&self, dnn: &Dnn, pool: Pool) -> bool {
        let is_there = self.at.is_empty() || self.at.contains(&pool);
        dnn == self.dnn && pool.family() == self.family && is_there
    }
}

/// The pools of all data networks, and their addresses in use.
#[derive(Debug, Default)]
pub(crate) struct AddressPools(Vec<(Dnn, Pool, Numbers)>);

impl AddressPools {
    /// Nothing is given of pools that these data networks have.
    pub fn new(pools: impl Iterator<Item = (Dnn, Pool)>) -> Self {
        let pools = pools.map(|(dnn, pool)| {
            let range = pool.given();
            let first = range.start;
            (dnn, pool, Numbers::new(range, first))
        });
        Self(pools.collect())
    }

    /// Addresses that rest in pools of before rest in these.
    pub fn rest_as(&mut self, before: &Self) {
        for (_, pool, numbers) in &before.0 {
            for (until, number) in numbers.resting() {
                let address = UeAddress::of(pool.family(), number);
                if let Some((numbers, number)) = self.of(address) {
                    numbers.rest_free(number, until);
                }
            }
        }
    }

    fn of(&mut self, address: UeAddress) -> Option<(&mut Numbers, u64)> {
        let its = self
            .0
            .iter_mut()
            .find(|(_, pool, _)| pool.contains(address));
        its.map(|(_, _, numbers)| (numbers, address.numbered().1))
    }

    fn fitting<'a>(&'a self, wanted: Wanted<'a>) -> impl Iterator<Item = &'a Numbers> {
        let its = self.0.iter();
        let its = its.filter(move |(dnn, pool, _)| wanted.fits(dnn, *pool));
        its.map(|(_, _, numbers)| numbers)
    }

    /// Whether there is a pool of such addresses.
    pub fn has(&self, wanted: Wanted<'_>) -> bool {
        self.fitting(wanted).next().is_some()
    }

    /// Whether such an address may be left.
    pub fn has_room(&self, wanted: Wanted<'_>, now: Instant) -> bool {
        self.fitting(wanted).any(|numbers| numbers.has_room(now))
    }

    /// An address for a new session; none if all are held, or rest.
    pub fn give(&mut self, wanted: Wanted<'_>, now: Instant) -> Option<UeAddress> {
        let its = self.0.iter_mut();
        let mut its = its.filter(|(dnn, pool, _)| wanted.fits(dnn, *pool));
        let number = its.find_map(|(_, _, numbers)| numbers.give(now))?;
        Some(UeAddress::of(wanted.family, number))
    }

    /// Whether a session has it; never of one that is of no pool.
    pub fn is_held(&mut self, address: UeAddress) -> bool {
        self.of(address)
            .is_some_and(|(numbers, number)| numbers.is_held(number))
    }

    /// A session has it. One that is of no pool is nobody else's anyway.
    pub fn hold(&mut self, address: UeAddress) {
        if let Some((numbers, number)) = self.of(address) {
            numbers.hold(number);
        }
    }

    /// A session has it no more.
    pub fn give_back(&mut self, address: UeAddress, until: Instant) {
        if let Some((numbers, number)) = self.of(address) {
            numbers.give_back(number, until);
        }
    }

    /// How many addresses sessions have.
    pub fn held(&self) -> usize {
        self.0.iter().map(|(_, _, numbers)| numbers.held()).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ipv4(base: [u8; 4], len: u8) -> Pool {
        Pool::Ipv4(base.into(), len)
    }

    fn ipv6(base: &str, len: u8) -> Pool {
        Pool::Ipv6(base.parse().expect("an address"), len)
    }

    fn dnn(name: &str) -> Dnn {
        Dnn::new(name).expect("a name")
    }

    fn pools(of: &[(&str, Pool)]) -> AddressPools {
        AddressPools::new(of.iter().map(|(name, pool)| (dnn(name), *pool)))
    }

    fn of(dnn: &Dnn, family: Family) -> Wanted<'_> {
        let at = &[];
        Wanted { dnn, family, at }
    }

    #[test]
    fn a_upf_gives_of_its_own_pools_where_it_has_some() {
        let (first, second) = (ipv4([10, 0, 0, 0], 32), ipv4([10, 0, 0, 1], 32));
        let mut all = pools(&[("a", first), ("a", second)]);
        let (a, now) = (dnn("a"), Instant(0));
        let at = |at| Wanted {
            at,
            ..of(&a, Family::Ipv4)
        };
        let its = [second];
        let given = all.give(at(&its), now);
        assert_eq!(given, Some(UeAddress::Ipv4([10, 0, 0, 1].into())));
        assert!(all.has(at(&its)) && !all.has_room(at(&its), now));
        assert_eq!(all.give(at(&its), now), None);
        let given = all.give(at(&[]), now);
        assert_eq!(given, Some(UeAddress::Ipv4([10, 0, 0, 0].into())));
    }

    #[test]
    fn ues_get_neither_the_networks_own_addresses_nor_the_first_one() {
        let mut all = pools(&[("a", ipv4([10, 0, 0, 0], 29))]);
        let now = Instant(0);
        let given = std::iter::from_fn(|| all.give(of(&dnn("a"), Family::Ipv4), now));
        let given: Vec<UeAddress> = given.collect();
        let expected = (2..7).map(|last| UeAddress::Ipv4([10, 0, 0, last].into()));
        assert_eq!(given, expected.collect::<Vec<_>>());
        assert!(!all.has_room(of(&dnn("a"), Family::Ipv4), now));
        let mut one = pools(&[("a", ipv4([10, 0, 0, 7], 32))]);
        let given = one.give(of(&dnn("a"), Family::Ipv4), now);
        assert_eq!(given, Some(UeAddress::Ipv4([10, 0, 0, 7].into())));
        let mut prefixes = pools(&[("a", ipv6("2001:db8::", 63))]);
        let given = prefixes.give(of(&dnn("a"), Family::Ipv6), now);
        let prefix = [0x20, 1, 0xd, 0xb8, 0, 0, 0, 1];
        assert_eq!(given, Some(UeAddress::Ipv6(prefix)));
        assert_eq!(prefixes.give(of(&dnn("a"), Family::Ipv6), now), None);
    }

    #[test]
    fn each_data_network_has_its_own_and_what_a_session_has_no_other_gets() {
        let mut all = pools(&[
            ("a", ipv4([10, 0, 0, 0], 30)),
            ("b", ipv4([10, 0, 0, 4], 30)),
        ]);
        let now = Instant(0);
        let of_a = UeAddress::Ipv4([10, 0, 0, 2].into());
        all.hold(of_a);
        assert!(all.is_held(of_a));
        let given = std::iter::from_fn(|| all.give(of(&dnn("a"), Family::Ipv4), now));
        assert_eq!(given.filter(|one| *one == of_a).count(), 0);
        assert!(all.has_room(of(&dnn("b"), Family::Ipv4), now));
        assert!(!all.has(of(&dnn("b"), Family::Ipv6)));
        assert_eq!(all.give(of(&dnn("c"), Family::Ipv4), now), None);
        assert_eq!(all.held(), 4);
        // Another configuration: what rests goes on resting.
        all.give_back(of_a, Instant(50));
        let mut grown = pools(&[("a", ipv4([10, 0, 0, 0], 28))]);
        grown.rest_as(&all);
        let given = std::iter::from_fn(|| grown.give(of(&dnn("a"), Family::Ipv4), Instant(49)));
        assert_eq!(given.filter(|one| *one == of_a).count(), 0);
        assert_eq!(
            grown.give(of(&dnn("a"), Family::Ipv4), Instant(50)),
            Some(of_a)
        );
    }

    #[test]
    fn pools_that_have_an_address_in_common_are_seen() {
        let all = ipv4([10, 0, 0, 0], 8);
        assert!(all.meets(ipv4([10, 255, 255, 255], 32)));
        assert!(!all.meets(ipv4([11, 0, 0, 0], 8)));
        assert!(!all.meets(ipv6("2001:db8::", 48)));
        assert!(ipv6("2001:db8::", 48).meets(ipv6("2001:db8:0:ffff::", 64)));
        assert!(!ipv6("2001:db8::", 48).meets(ipv6("2001:db8:1::", 48)));
        assert!(all.contains_ipv4([10, 0, 0, 1].into()));
        assert!(ipv6("2001:db8::", 48).contains_ipv6([0x20, 1, 0xd, 0xb8, 0, 0, 0, 9]));
        assert!(all.is_sound() && !ipv4([10, 0, 0, 1], 8).is_sound());
        assert!(!ipv6("2001:db8::1", 64).is_sound() && !ipv6("2001:db8::", 65).is_sound());
    }
}
