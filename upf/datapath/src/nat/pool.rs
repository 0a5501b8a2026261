//! Public addresses and ports of a network instance, numbered: a number tells its address and port, its unit of
//! 64 ports and its place there.

use crate::ids::EntryId;
use crate::limits::{NAT_UNIT_PORTS, SHARDS};
use crate::lookup::layout::InstanceId;
use crate::topology::Prefix;
use core::fmt;
use core::net::Ipv4Addr;
use sluice_mem::slots::SlotReader;

/// Which packets of the data network reach a mapping (RFC 4787, 5).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Filtering {
    /// All.
    #[default]
    EndpointIndependent,
    /// Those of addresses to which the UE sent by this mapping.
    AddressDependent,
}

/// How long a mapping outlives its last packet, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NatTimeouts {
    /// UDP (RFC 4787, REQ-5).
    pub udp_s: u32,
    /// An established TCP connection (RFC 5382, REQ-5).
    pub tcp_established_s: u32,
    /// One that is being opened, or was closed (RFC 5382, REQ-5).
    pub tcp_transitory_s: u32,
    /// ICMP queries (RFC 5508, REQ-2).
    pub icmp_s: u32,
}

impl Default for NatTimeouts {
    /// What the RFCs recommend, or else ask for at least.
    fn default() -> Self {
        Self {
            udp_s: 300,
            tcp_established_s: 7_440,
            tcp_transitory_s: 240,
            icmp_s: 60,
        }
    }
}

/// Translation in one network instance.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NatPool {
    /// The network instance of the sessions.
    pub inside: InstanceId,
    /// What packets from the data network arrive in: no UE has an address there.
    pub outside: InstanceId,
    /// Public addresses.
    pub prefixes: Vec<Prefix>,
    /// The first port that is given; even, so that a place in a unit has the parity of its port.
    pub first_port: u16,
    /// Ports of a block: a power of two, a whole number of units.
    pub block_ports: u16,
    /// Blocks that a UE may have at a time.
    pub blocks_per_ue: u8,
    /// Which packets from outside pass.
    pub filtering: Filtering,
    /// Packets of UEs to public addresses of the pool come back (RFC 4787, REQ-9).
    pub hairpins: bool,
    /// How long mappings last.
    pub timeouts: NatTimeouts,
}

impl NatPool {
    /// Units of a block.
    pub fn block_units(&self) -> u32 {
        u32::from(self.block_ports) / NAT_UNIT_PORTS as u32
    }

    /// Whole blocks of an address.
    pub fn address_blocks(&self) -> u32 {
        (65_536 - u32::from(self.first_port)) / u32::from(self.block_ports)
    }

    /// Public addresses.
    pub fn addresses(&self) -> u32 {
        self.prefixes.iter().map(|p| !p.mask + 1).sum()
    }

    /// Blocks in all.
    pub fn blocks(&self) -> u32 {
        self.addresses() * self.address_blocks()
    }

    fn address_units(&self) -> u32 {
        self.address_blocks() * self.block_units()
    }

    /// True for a public address of the pool.
    #[inline]
    pub fn has(&self, address: u32) -> bool {
        self.prefixes.iter().any(|p| p.contains(address))
    }

    fn address_at(&self, mut index: u32) -> Option<u32> {
        for p in &self.prefixes {
            let len = !p.mask + 1;
            if index < len {
                return Some(p.base + index);
            }
            index -= len;
        }
        None
    }

    fn index_of(&self, address: u32) -> Option<u32> {
        let mut before = 0;
        for p in &self.prefixes {
            if p.contains(address) {
                return Some(before + (address - p.base));
            }
            before += !p.mask + 1;
        }
        None
    }
}

/// A unit of 64 public ports: part of a block.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Unit(pub u32);

/// A public address and port (or ICMP identifier) in one number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PublicPort(pub u32);

impl PublicPort {
    /// The one in this place of a unit.
    pub fn at(unit: Unit, place: usize) -> Self {
        Self(unit.0 * NAT_UNIT_PORTS as u32 + place as u32)
    }

    /// Its unit.
    #[inline]
    pub fn unit(self) -> Unit {
        Unit(self.0 / NAT_UNIT_PORTS as u32)
    }

    /// Its place there.
    #[inline]
    pub fn place(self) -> usize {
        self.0 as usize % NAT_UNIT_PORTS
    }
}

/// What translation cannot be laid out for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NatPoolError {
    /// Ports of a block: a power of two from 64 to 1024.
    BlockPorts(u16),
    /// The first port is odd, or leaves no room for a block.
    FirstPort(u16),
    /// No block for a UE, or more than [`NAT_UE_UNITS`](crate::limits::NAT_UE_UNITS) units.
    BlocksPerUe(u8),
    /// No public address, or more than [`NAT_ADDRESSES`](crate::limits::NAT_ADDRESSES) in all.
    Addresses(u32),
    /// Two prefixes share an address.
    Overlap(Ipv4Addr),
    /// More than [`NAT_POOLS`](crate::limits::NAT_POOLS).
    TooMany(usize),
}

impl fmt::Display for NatPoolError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BlockPorts(n) => {
                write!(
                    f,
                    "blocks of {n} ports: expected a power of two from 64 to 1024"
                )
            }
            Self::FirstPort(port) => write!(
                f,
                "first port {port}: expected an even one that leaves room for a block"
            ),
            Self::BlocksPerUe(n) => write!(
                f,
                "{n} blocks for a UE: expected at least one, and at most {} ports in all",
                crate::limits::NAT_UE_UNITS as usize * NAT_UNIT_PORTS
            ),
            Self::Addresses(n) => write!(
                f,
                "{n} public addresses: expected 1 to {} in all pools",
                crate::limits::NAT_ADDRESSES
            ),
            Self::Overlap(address) => write!(f, "{address} is in two public prefixes"),
            Self::TooMany(n) => write!(
                f,
                "translation in {n} network instances: expected at most {}",
                crate::limits::NAT_POOLS
            ),
        }
    }
}

impl std::error::Error for NatPoolError {}

#[derive(Clone, PartialEq, Eq, Debug)]
struct PlacedNatPool {
    pool: NatPool,
    first_unit: u32,
    /// Of each address; known, so that no packet divides for it.
    address_units: u32,
}

/// Translation in all network instances that have it. Read by every worker; never changes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct NatPools {
    pools: Vec<PlacedNatPool>,
    units: u32,
    chunk_rounds: u32,
}

impl NatPools {
    /// Numbers the ports of these pools.
    ///
    /// # Errors
    /// If a pool's values are out of range, or public addresses occur twice.
    pub fn new(pools: Vec<NatPool>) -> Result<Self, NatPoolError> {
        if pools.len() > crate::limits::NAT_POOLS {
            return Err(NatPoolError::TooMany(pools.len()));
        }
        let mut placed = Self::default();
        let mut prefixes: Vec<Prefix> = Vec::new();
        let mut addresses = 0u32;
        for pool in pools {
            check(&pool, &mut prefixes)?;
            addresses += pool.addresses();
            if addresses > crate::limits::NAT_ADDRESSES {
                return Err(NatPoolError::Addresses(addresses));
            }
            let first_unit = placed.units;
            let of_ue = u32::from(pool.blocks_per_ue) * pool.block_units();
            let units = pool.addresses() * pool.address_units();
            placed.units += units;
            // Addresses of UEs are dealt to shards evenly, but for chance.
            placed.chunk_rounds += (2 * units).div_ceil(SHARDS) + of_ue;
            placed.pools.push(PlacedNatPool {
                address_units: pool.address_units(),
                pool,
                first_unit,
            });
        }
        Ok(placed)
    }

    /// True if nothing is translated.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pools.is_empty()
    }

    /// All.
    pub fn pools(&self) -> impl Iterator<Item = &NatPool> {
        self.pools.iter().map(|placed| &placed.pool)
    }

    /// Units of all pools.
    pub fn units(&self) -> u32 {
        self.units
    }

    /// Chunks of the arena, a whole round of shards at least.
    pub fn chunks(&self) -> u32 {
        self.chunk_rounds.max(1) * SHARDS
    }

    /// That of the sessions of a network instance.
    #[inline]
    pub fn inside(&self, instance: InstanceId) -> Option<&NatPool> {
        self.pools().find(|pool| pool.inside == instance)
    }

    /// That whose data network is this.
    #[inline]
    pub fn outside(&self, instance: InstanceId) -> Option<&NatPool> {
        self.pools().find(|pool| pool.outside == instance)
    }

    /// The number of an address and port of a pool.
    #[inline(always)]
    pub fn number(&self, inside: InstanceId, address: u32, port: u16) -> Option<PublicPort> {
        let placed = self.pools.iter().find(|p| p.pool.inside == inside)?;
        let from_first = u32::from(port.checked_sub(placed.pool.first_port)?);
        let units = placed.address_units;
        let of_address = placed.pool.index_of(address)? * units;
        let within = from_first / NAT_UNIT_PORTS as u32;
        let unit = Unit(placed.first_unit + of_address + within);
        (within < units).then(|| PublicPort::at(unit, from_first as usize % NAT_UNIT_PORTS))
    }

    /// Address and port of a number.
    #[inline(always)]
    pub fn address_and_port(&self, number: PublicPort) -> Option<(u32, u16)> {
        let unit = number.unit().0;
        let placed = self.pools.iter().rfind(|p| p.first_unit <= unit)?;
        let unit = unit - placed.first_unit;
        let units = placed.address_units;
        let address = placed.pool.address_at(unit / units)?;
        let port = u32::from(placed.pool.first_port)
            + unit % units * NAT_UNIT_PORTS as u32
            + number.place() as u32;
        Some((address, port as u16))
    }

    /// The first unit of a network instance's pool; its units follow, address by address.
    pub fn first_unit(&self, inside: InstanceId) -> Option<Unit> {
        let placed = self.pools.iter().find(|p| p.pool.inside == inside)?;
        Some(Unit(placed.first_unit))
    }
}

fn check(pool: &NatPool, prefixes: &mut Vec<Prefix>) -> Result<(), NatPoolError> {
    let ports = pool.block_ports;
    if !ports.is_power_of_two() || !(64..=1024).contains(&ports) {
        return Err(NatPoolError::BlockPorts(ports));
    }
    if !pool.first_port.is_multiple_of(2) || pool.first_port == 0 || pool.address_blocks() == 0 {
        return Err(NatPoolError::FirstPort(pool.first_port));
    }
    let units = u32::from(pool.blocks_per_ue) * pool.block_units();
    if !(1..=crate::limits::NAT_UE_UNITS).contains(&units) {
        return Err(NatPoolError::BlocksPerUe(pool.blocks_per_ue));
    }
    for prefix in &pool.prefixes {
        if prefix.mask == 0 || !prefix.mask + 1 > crate::limits::NAT_ADDRESSES {
            return Err(NatPoolError::Addresses(!prefix.mask));
        }
        let meets = |q: &&Prefix| (prefix.base ^ q.base) & prefix.mask & q.mask == 0;
        if prefixes.iter().any(|q| meets(&q)) {
            return Err(NatPoolError::Overlap(prefix.base.into()));
        }
        prefixes.push(*prefix);
    }
    if pool.prefixes.is_empty() {
        Err(NatPoolError::Addresses(0))
    } else {
        Ok(())
    }
}

/// Who has the units: read by all pollers, written by the control core, one word for each.
#[derive(Clone, Debug, Default)]
pub struct NatUnits(pub SlotReader<1>);

impl NatUnits {
    /// The word of a unit that an entry has, its mappings in this chunk.
    pub const fn word(entry: EntryId, chunk: u32) -> [u64; 1] {
        [(entry.0 as u64) << 32 | chunk as u64]
    }

    /// The UE's entry and the chunk, if somebody has the unit. Chunk 0 is never used.
    #[inline]
    pub fn get(&self, unit: Unit) -> Option<(EntryId, u32)> {
        let [word] = self.0.read(unit.0 as usize)?;
        (word as u32 != 0).then_some((EntryId((word >> 32) as u32), word as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn pool(prefixes: &[&str]) -> NatPool {
        let prefix = |text: &&str| {
            let (address, len) = text.split_once('/').unwrap();
            Prefix::new(address.parse().unwrap(), len.parse().unwrap()).unwrap()
        };
        NatPool {
            inside: InstanceId(0),
            outside: InstanceId(255),
            prefixes: prefixes.iter().map(prefix).collect(),
            first_port: 1024,
            block_ports: 256,
            blocks_per_ue: 4,
            filtering: Filtering::EndpointIndependent,
            hairpins: true,
            timeouts: NatTimeouts::default(),
        }
    }

    #[test]
    fn each_public_port_has_a_number_of_its_own_that_leads_back() {
        let second = NatPool {
            inside: InstanceId(3),
            outside: InstanceId(254),
            first_port: 60_000,
            ..pool(&["198.51.100.8/31"])
        };
        let first = pool(&["192.0.2.4/30", "203.0.113.1/32"]);
        let pools = NatPools::new(vec![first, second]).unwrap();
        let mut seen = std::collections::HashSet::new();
        let addresses = |of: &[[u8; 4]]| of.iter().map(|a| u32::from_be_bytes(*a)).collect();
        let first: Vec<u32> = addresses(&[[192, 0, 2, 4], [192, 0, 2, 7], [203, 0, 113, 1]]);
        let second: Vec<u32> = addresses(&[[198, 51, 100, 8], [198, 51, 100, 9]]);
        for (inside, address) in first
            .iter()
            .map(|a| (0, a))
            .chain(second.iter().map(|a| (3, a)))
        {
            for port in (0..=u16::MAX).step_by(7) {
                let Some(number) = pools.number(InstanceId(inside), *address, port) else {
                    let first = if inside == 0 { 1024 } else { 60_000 };
                    // Behind the last whole block there is none.
                    assert!(port < first || (65_536 - u32::from(port)) < 256);
                    continue;
                };
                assert!(number.unit().0 < pools.units());
                assert!(seen.insert(number.0));
                assert_eq!(pools.address_and_port(number), Some((*address, port)));
            }
        }
        assert_eq!(pools.number(InstanceId(0), 0xc000_0203, 2000), None);
        assert_eq!(pools.number(InstanceId(7), first[0], 2000), None);
    }

    #[test]
    fn what_cannot_be_numbered_is_refused() {
        let base = pool(&["192.0.2.0/24"]);
        let refused = |pool: NatPool| NatPools::new(vec![pool]).unwrap_err();
        let block_ports = |block_ports| {
            refused(NatPool {
                block_ports,
                ..base.clone()
            })
        };
        assert_eq!(block_ports(96), NatPoolError::BlockPorts(96));
        assert_eq!(block_ports(32), NatPoolError::BlockPorts(32));
        let first_port = |first_port| {
            refused(NatPool {
                first_port,
                ..base.clone()
            })
        };
        assert_eq!(first_port(1025), NatPoolError::FirstPort(1025));
        assert_eq!(first_port(65_400), NatPoolError::FirstPort(65_400));
        let per_ue = |blocks_per_ue| {
            refused(NatPool {
                blocks_per_ue,
                ..base.clone()
            })
        };
        assert_eq!(per_ue(0), NatPoolError::BlocksPerUe(0));
        assert_eq!(per_ue(200), NatPoolError::BlocksPerUe(200));
        assert_eq!(
            refused(pool(&["10.0.0.0/8"])),
            NatPoolError::Addresses(0x00ff_ffff)
        );
        let twice = pool(&["192.0.2.0/24", "192.0.2.128/25"]);
        assert_eq!(
            refused(twice),
            NatPoolError::Overlap([192, 0, 2, 128].into())
        );
        assert_eq!(refused(pool(&[])), NatPoolError::Addresses(0));
    }
}
