//! Pools of UE addresses that the UP function gives (TS 29.244, 5.21.3): IPv4 addresses and IPv6 prefixes by
//! network instance.
//!
//! Whoever has an address of such a pool is told here, also where the CP function chose it, so that no address is
//! given twice. What comes back rests before it is given again: packets of the data network to its last user may be
//! on their way, and peers keep connections open.

use super::Exhausted;
use super::claims::{Claim, Claims};
use super::resting_numbers::{Holder, RestingNumbers, TakenNumber};
use crate::config::{AllocationPool, PoolAddresses};
use core::net::Ipv4Addr;

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
        }
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

    /// An address that may be given, of an instance's pools of a family. It is not taken yet. `has_teid` tells
    /// whether a session with this address finds a TEID where it is at home.
    pub fn choose(
        &self,
        (instance, ipv4): (u8, bool),
        identities: &[&[u8]],
        now_s: u32,
        has_teid: impl Fn(PoolAddress) -> bool,
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
            let free = pool.numbers.free(now_s).filter(|n| pool.is_host(*n));
            for number in free.take(TRIES) {
                let address = pool.address(number);
                if has_teid(address) {
                    return Ok(address);
                }
                why = NoAddress::NoTeid;
            }
        }
        Err(why)
    }

    /// True if the address was given to a session, whether or not packets are looked up by it.
    pub fn is_given(&self, key: PoolKey) -> bool {
        let found = self.find(key);
        found.is_some_and(|(pool, number)| self.0[pool].numbers.is_held(number, Holder::Session))
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
