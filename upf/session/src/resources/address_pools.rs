//! Pools of UE addresses that the UP function gives (TS 29.244, 5.21.3): IPv4 addresses and IPv6 prefixes by
//! network instance.
//!
//! Whoever has an address of such a pool is told here, also where the CP function chose it, so that no address is
//! given twice. What comes back rests before it is given again: packets of the data network to its last user may be
//! on their way, and peers keep connections open.

use crate::config::{AllocationPool, PoolAddresses};
use crate::resources::Exhausted;
use crate::resources::release::{Claim, Claims};
use crate::resources::resting_numbers::{Holder, RestingNumbers, TakenNumber};
use core::net::Ipv4Addr;
use core::ops::Range;

/// Addresses that are looked at before a choice gives up: the first is good unless its shard has no TEID left.
const TRIES: usize = 64;

/// An address or prefix that leads to a UE in a network instance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PoolKey {
    /// The network instance.
    pub instance: u8,
    /// The address.
    pub address: PoolAddress,
}

/// What a pool has many of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PoolAddress {
    /// An IPv4 address.
    Ipv4(u32),
    /// The upper half of IPv6 addresses.
    Ipv6(u64),
}

/// A number of a pool, as it was taken.
#[derive(Clone, Copy, Debug)]
pub struct TakenAddress {
    pool: u8,
    number: TakenNumber,
}

/// Why no address can be given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NoAddress {
    /// The network instance has no pool of the family.
    NoPool,
    /// It has none of the identities that were named.
    UnknownIdentity,
    /// All are given out, or rest.
    Occupied,
    /// Those that are free are at home where no TEID is left.
    NoTeid,
}

/// All pools.
#[derive(Debug, Default)]
pub struct AddressPools(Vec<AddressPool>);

#[derive(Debug)]
struct AddressPool {
    config: AllocationPool,
    /// The first address, and how many there are.
    base: PoolAddress,
    len: u32,
    /// The numbers that may be given: of those that came while there were sessions it is not known yet who has them.
    open: Range<u32>,
    numbers: RestingNumbers,
}

impl AddressPool {
    fn new(config: AllocationPool) -> Self {
        let (base, len) = match config.addresses {
            PoolAddresses::Ipv4 { base, prefix_len } => {
                let len = 1_u32.checked_shl(32 - u32::from(prefix_len));
                (PoolAddress::Ipv4(base.into()), len.unwrap_or(0))
            }
            PoolAddresses::Ipv6 { base, prefix_len } => {
                let len = 1_u32.checked_shl(64_u32.saturating_sub(prefix_len.into()));
                let upper = (base.to_bits() >> 64) as u64;
                (PoolAddress::Ipv6(upper), len.unwrap_or(0))
            }
        };
        Self {
            numbers: RestingNumbers::new(len, config.rest_s),
            config,
            base,
            len,
            open: 0..len,
        }
    }

    /// The same with those of its numbers in use that were of pools which it has as a whole; only what one of these,
    /// or neighbours, gave is given until it is known who has the others.
    fn grown_from(config: AllocationPool, old: &[Self], now_s: u32) -> Self {
        let mut new = Self {
            open: 0..0,
            ..Self::new(config)
        };
        let mut old: Vec<_> = old
            .iter()
            .filter_map(|old| Some((new.place_of(old)?, old)))
            .collect();
        old.sort_unstable_by_key(|(first, _)| *first);
        let mut run = 0..0;
        for (first, old) in old {
            new.take_over(old, first, now_s);
            let open = first + old.open.start..first + old.open.end;
            run = if run.end == open.start {
                run.start..open.end
            } else {
                open
            };
            if run.len() > new.open.len() {
                new.open = run.clone();
            }
        }
        new
    }

    /// Numbers of another pool from this one on are whose they were.
    fn take_over(&mut self, old: &Self, first: u32, now_s: u32) {
        for number in 0..old.len {
            for holder in [Holder::Session, Holder::Entry] {
                if old.numbers.is_held(number, holder) {
                    self.numbers.take(first + number, holder);
                }
            }
            if old.numbers.rests(number) {
                self.numbers.take(first + number, Holder::Entry);
                self.numbers.release(first + number, Holder::Entry, now_s);
            }
        }
    }

    /// Where the first number of another pool is in this one, if it has all of them.
    fn place_of(&self, other: &Self) -> Option<u32> {
        let address = other.address(0);
        let instance = other.config.instance.0;
        let first = self.number(PoolKey { instance, address })?;
        (other.len <= self.len - first).then_some(first)
    }

    fn number(&self, key: PoolKey) -> Option<u32> {
        if key.instance != self.config.instance.0 {
            return None;
        }
        let distance = match (key.address, self.base) {
            (PoolAddress::Ipv4(address), PoolAddress::Ipv4(base)) => {
                address.checked_sub(base).map(u64::from)
            }
            (PoolAddress::Ipv6(prefix), PoolAddress::Ipv6(base)) => prefix.checked_sub(base),
            _ => None,
        };
        let number = u32::try_from(distance?).ok()?;
        (number < self.len).then_some(number)
    }

    fn address(&self, number: u32) -> PoolAddress {
        match self.base {
            PoolAddress::Ipv4(base) => PoolAddress::Ipv4(base.wrapping_add(number)),
            PoolAddress::Ipv6(base) => PoolAddress::Ipv6(base.wrapping_add(number.into())),
        }
    }

    /// The first and the last IPv4 address of a subnet are no hosts' (RFC 1122, 3.2.1.3).
    fn is_host(&self, number: u32) -> bool {
        match self.base {
            PoolAddress::Ipv4(_) if self.len > 2 => number != 0 && number != self.len - 1,
            _ => true,
        }
    }

    fn is_ipv4(&self) -> bool {
        matches!(self.base, PoolAddress::Ipv4(_))
    }

    fn is_called(&self, identities: &[&[u8]]) -> bool {
        let own = self.config.identity.as_deref().map(str::as_bytes);
        identities.is_empty() || own.is_some_and(|own| identities.contains(&own))
    }
}

/// What a pool spans.
struct Span {
    instance: u8,
    addresses: PoolAddresses,
}

impl Span {
    fn new(config: AllocationPool) -> Self {
        Self {
            instance: config.instance.0,
            addresses: config.addresses,
        }
    }

    /// True if it has all addresses of a pool.
    fn has(&self, pool: &AddressPool) -> bool {
        let is_within = match (self.addresses, pool.config.addresses) {
            (
                PoolAddresses::Ipv4 { base, prefix_len },
                PoolAddresses::Ipv4 {
                    base: inner,
                    prefix_len: len,
                },
            ) => {
                let differ = u32::from(base) ^ u32::from(inner);
                len >= prefix_len && differ.leading_zeros() >= prefix_len.into()
            }
            (
                PoolAddresses::Ipv6 { base, prefix_len },
                PoolAddresses::Ipv6 {
                    base: inner,
                    prefix_len: len,
                },
            ) => {
                let differ = base.to_bits() ^ inner.to_bits();
                len >= prefix_len && differ.leading_zeros() >= prefix_len.into()
            }
            _ => false,
        };
        is_within && self.instance == pool.config.instance.0
    }
}

impl AddressPools {
    /// Of which all addresses are free.
    pub fn new(pools: &[AllocationPool]) -> Self {
        Self(pools.iter().cloned().map(AddressPool::new).collect())
    }

    /// True if no address is ever given.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Addresses that are somebody's.
    pub fn used(&self) -> usize {
        self.0.iter().map(|pool| pool.numbers.used()).sum()
    }

    /// An address that may be given, of an instance's pools of a family. It is not taken yet. `is_own` tells whether
    /// it lies behind no UE, `has_teid` whether a session with this address finds a TEID where it is at home.
    pub fn choose(
        &self,
        (instance, ipv4): (u8, bool),
        identities: &[&[u8]],
        now_s: u32,
        (is_own, has_teid): (impl Fn(PoolAddress) -> bool, impl Fn(PoolAddress) -> bool),
    ) -> Result<PoolAddress, NoAddress> {
        let pools = self.0.iter();
        let of_family = pools.filter(|p| p.config.instance.0 == instance && p.is_ipv4() == ipv4);
        let mut why = NoAddress::NoPool;
        for pool in of_family {
            if !pool.is_called(identities) {
                if why == NoAddress::NoPool {
                    why = NoAddress::UnknownIdentity;
                }
                continue;
            }
            if why != NoAddress::NoTeid {
                why = NoAddress::Occupied;
            }
            let free = pool.numbers.free(&pool.open, now_s);
            let free = free.filter(|n| pool.is_host(*n)).map(|n| pool.address(n));
            for address in free.filter(|address| is_own(*address)).take(TRIES) {
                if has_teid(address) {
                    return Ok(address);
                }
                why = NoAddress::NoTeid;
            }
        }
        Err(why)
    }

    /// Names a pool that could not go, as addresses of it are in use.
    pub fn in_use_without(&self, new: &[AllocationPool]) -> Option<(String, usize)> {
        let new: Vec<_> = new.iter().cloned().map(Span::new).collect();
        let is_left =
            |pool: &&AddressPool| pool.numbers.used() > 0 && new.iter().all(|span| !span.has(pool));
        let pool = self.0.iter().find(is_left)?;
        Some((pool.config.addresses.to_string(), pool.numbers.used()))
    }

    /// Has these pools from now on. Gives true if it has to learn who has addresses of them.
    pub fn replace(&mut self, new: &[AllocationPool], now_s: u32) -> bool {
        let mut old = core::mem::take(&mut self.0);
        for config in new {
            let pool = AddressPool::new(config.clone());
            let is_inner = |old: &AddressPool| pool.place_of(old).is_some();
            let (mut inner, others): (Vec<_>, _) = old.into_iter().partition(is_inner);
            old = others;
            let is_same = inner.first().is_some_and(|old| old.len == pool.len);
            self.0.push(match inner.pop_if(|_| is_same) {
                None => AddressPool::grown_from(config.clone(), &inner, now_s),
                Some(mut same) => {
                    same.numbers.set_rest(config.rest_s);
                    same.config = config.clone();
                    same
                }
            });
        }
        self.learns()
    }

    /// True if it is not known yet who has some of the addresses.
    pub fn learns(&self) -> bool {
        self.0.iter().any(|pool| pool.open != (0..pool.len))
    }

    /// A session has this address.
    pub fn learn(&mut self, key: PoolKey, holder: Holder) {
        if let Some((pool, number)) = self.find(key) {
            self.0[pool].numbers.take(number, holder);
        }
    }

    /// All sessions were looked at.
    pub fn learnt(&mut self) {
        self.0.iter_mut().for_each(|pool| pool.open = 0..pool.len);
    }

    /// True if the address was given to a session, whether or not packets are looked up by it.
    pub fn is_given(&self, key: PoolKey) -> bool {
        let found = self.find(key);
        found.is_some_and(|(pool, number)| self.0[pool].numbers.is_held(number, Holder::Session))
    }

    /// True if a pool has addresses from `first` to `last`.
    pub fn meets_ipv4(&self, instance: u8, first: u32, last: u32) -> bool {
        let mut pools = self.0.iter().filter(|p| p.config.instance.0 == instance);
        pools.any(|pool| match pool.base {
            PoolAddress::Ipv4(base) => {
                let end = u64::from(base) + u64::from(pool.len);
                u64::from(first) < end && base <= last
            }
            PoolAddress::Ipv6(_) => false,
        })
    }

    /// True if a pool has prefixes from `first` to `last`.
    pub fn meets_ipv6(&self, instance: u8, first: u64, last: u64) -> bool {
        let mut pools = self.0.iter().filter(|p| p.config.instance.0 == instance);
        pools.any(|pool| match pool.base {
            PoolAddress::Ipv6(base) => first < base.saturating_add(pool.len.into()) && base <= last,
            PoolAddress::Ipv4(_) => false,
        })
    }

    /// Somebody has the address from now on; one that is in no pool is nobody's business here.
    pub fn take(
        &mut self,
        key: PoolKey,
        holder: Holder,
        claims: &mut Claims,
    ) -> Result<(), Exhausted> {
        let Some((pool, number)) = self.find(key) else {
            return Ok(());
        };
        let taken = TakenAddress {
            pool: pool as u8,
            number: self.0[pool].numbers.take(number, holder),
        };
        let claimed = claims.push(Claim::Address(taken));
        claimed.inspect_err(|_| self.untake(taken))
    }

    /// Nobody has it for this reason any more.
    pub fn release(&mut self, key: PoolKey, holder: Holder, now_s: u32) {
        if let Some((pool, number)) = self.find(key) {
            self.0[pool].numbers.release(number, holder, now_s);
        }
    }

    /// As it was before it was taken; the last taken goes first.
    pub fn untake(&mut self, taken: TakenAddress) {
        if let Some(pool) = self.0.get_mut(usize::from(taken.pool)) {
            pool.numbers.untake(taken.number);
        }
    }

    /// The pool and the number in it.
    fn find(&self, key: PoolKey) -> Option<(usize, u32)> {
        let mut pools = self.0.iter().enumerate();
        pools.find_map(|(at, pool)| Some((at, pool.number(key)?)))
    }
}

impl PoolKey {
    /// An IPv4 address.
    pub fn ipv4(instance: u8, address: Ipv4Addr) -> Self {
        let address = PoolAddress::Ipv4(address.into());
        Self { instance, address }
    }

    /// An IPv6 prefix.
    pub fn ipv6(instance: u8, prefix: u64) -> Self {
        let address = PoolAddress::Ipv6(prefix);
        Self { instance, address }
    }
}
