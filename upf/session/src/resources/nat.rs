//! Port blocks of translation on N6: each UE's public address and ports, allotted at establishment, more on
//! demand, and the record of who had them.

use super::Exhausted;
use crate::index::partitions::PartitionedVec;
use crate::index::slot_allocator::SlotAllocator;
use arrayvec::ArrayVec;
use core::net::Ipv4Addr;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::{NAT_UNIT_PORTS, SHARDS};
use sluice_datapath::lookup::layout::{InstanceId, Layout};
use sluice_datapath::nat::pool::{NatPool, NatPools, NatUnits, PublicPort, Unit};
use sluice_datapath::session::txn::Op;
use sluice_mem::slots::Slots;
use std::collections::VecDeque;

/// Records that wait to be written down: those of one turn of the control core, in which no more sessions come
/// and go than there are transactions.
const RECORDS: usize = 65_536;

/// Units of the largest block.
const BLOCK_UNITS: usize = 1024 / NAT_UNIT_PORTS;

/// No block.
const NONE: u32 = u32::MAX;

/// Who had a block of public ports, when it was given or taken back (RFC 7422's aim: who had this port then).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NatRecord {
    /// True when the UE got it, false when it was taken back.
    pub given: bool,
    /// The network instance.
    pub instance: InstanceId,
    /// The UE.
    pub ue: Ipv4Addr,
    /// The public address.
    pub address: Ipv4Addr,
    /// The first port.
    pub first_port: u16,
    /// The last port.
    pub last_port: u16,
}

/// Blocks given out and refused.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct NatCounters {
    /// Blocks in all.
    pub blocks: usize,
    /// Blocks that UEs have.
    pub used: usize,
    /// Sessions, or UEs without a free port, that got none.
    pub refused: u64,
    /// Records that were lost, since too many came at a time.
    pub records_lost: u64,
}

#[derive(Clone, Copy)]
struct Block {
    entry: u32,
    ue: u32,
    /// An older block of the same UE, or the next free one.
    next: u32,
}

/// Free blocks of a public address, the one that was given back first at its head: so that packets to who had
/// it last have time to end (RFC 6888, REQ-8).
#[derive(Clone, Copy)]
struct FreeBlocks {
    head: u32,
    tail: u32,
}

struct PoolBlocks {
    inside: InstanceId,
    first_block: u32,
    first_unit: u32,
    block_units: u32,
    address_blocks: u32,
    per_ue: usize,
    addresses: Vec<FreeBlocks>,
    next_address: usize,
    free: usize,
}

/// The blocks of all pools.
pub struct NatBlocks {
    pools: Vec<PoolBlocks>,
    numbers: NatPools,
    blocks: Vec<Block>,
    /// By entry: a UE's newest block, and one; 0 is none.
    newest: PartitionedVec<u32>,
    units: Slots<1>,
    words: NatUnits,
    chunks: SlotAllocator,
    records: VecDeque<NatRecord>,
    counters: NatCounters,
}

impl NatBlocks {
    /// All free.
    pub fn new(layout: &Layout) -> Self {
        let nat = layout.nat();
        let mut blocks = Vec::new();
        let pools: Vec<PoolBlocks> = nat
            .pools()
            .map(|pool| PoolBlocks::new(pool, nat, &mut blocks))
            .collect();
        let (entries, chunks, records) = if nat.is_empty() {
            (0, 0, 0)
        } else {
            (layout.entries(), nat.chunks(), RECORDS)
        };
        let units = Slots::new(nat.units() as usize);
        let words = NatUnits(units.reader());
        Self {
            counters: NatCounters {
                blocks: blocks.len(),
                ..NatCounters::default()
            },
            pools,
            numbers: nat.clone(),
            blocks,
            newest: PartitionedVec::new(&0, entries),
            units,
            words,
            chunks: SlotAllocator::new(0, chunks, 0, true),
            records: VecDeque::with_capacity(records),
        }
    }

    /// For the path.
    pub fn reader(&self) -> NatUnits {
        self.words.clone()
    }

    /// Counts.
    pub fn counters(&self) -> NatCounters {
        self.counters
    }

    /// True if sessions of a network instance are translated.
    pub fn translates(&self, inside: InstanceId) -> bool {
        self.pools.iter().any(|pool| pool.inside == inside)
    }

    /// One more block for the UE with this entry: on the public address of its others (RFC 4787, REQ-2), or
    /// for the first the next address that has one.
    pub fn allot(&mut self, inside: InstanceId, entry: EntryId, ue: u32) -> Result<(), Exhausted> {
        let allotted = self.try_allot(inside, entry, ue);
        self.counters.refused += u64::from(allotted.is_none());
        allotted.ok_or(Exhausted)
    }

    fn try_allot(&mut self, inside: InstanceId, entry: EntryId, ue: u32) -> Option<()> {
        let newest = self.newest_of(entry);
        let has = self.of(newest).count();
        let pool = self.pools.iter_mut().find(|pool| pool.inside == inside)?;
        if has >= pool.per_ue || pool.free == 0 {
            return None;
        }
        let address = match newest {
            NONE => pool.next_free_address()?,
            newest => ((newest - pool.first_block) / pool.address_blocks) as usize,
        };
        let free = pool.addresses.get_mut(address)?;
        let number = free.head;
        let next = self.blocks.get(number as usize)?.next;
        let mut taken = ArrayVec::<u32, BLOCK_UNITS>::new();
        for _ in 0..pool.block_units {
            match self.chunks.take(entry.0 % SHARDS, 0) {
                Some(chunk) => taken.push(chunk.place()),
                None => {
                    taken.iter().for_each(|chunk| self.chunks.give(*chunk, 0));
                    return None;
                }
            }
        }
        free.head = next;
        if next == NONE {
            free.tail = NONE;
        }
        pool.free -= 1;
        let unit = pool.unit(number);
        for (at, chunk) in taken.iter().enumerate() {
            let word = NatUnits::word(entry, *chunk);
            self.units.write(unit.0 as usize + at, word);
        }
        if let Some(block) = self.blocks.get_mut(number as usize) {
            *block = Block {
                entry: entry.0,
                ue,
                next: newest,
            };
        }
        self.counters.used += 1;
        self.set_newest(entry, number);
        Some(())
    }

    /// One more for a UE that has all its ports in use; none if it has no block at all any more.
    pub fn allot_more(&mut self, entry: EntryId) -> Option<()> {
        let newest = self.newest_of(entry);
        let ue = self.blocks.get(newest as usize)?.ue;
        let inside = self.pool_of(newest)?.inside;
        self.allot(inside, entry, ue).ok()
    }

    /// What the path does for the UE's newest block.
    pub fn operations(&self, entry: EntryId) -> ArrayVec<Op, { BLOCK_UNITS + 1 }> {
        let mut ops = ArrayVec::new();
        let newest = self.newest_of(entry);
        let (Some(block), Some(pool)) = (self.blocks.get(newest as usize), self.pool_of(newest))
        else {
            return ops;
        };
        let chunk_of = |unit: u32| self.words.get(Unit(unit)).map_or(0, |(_, chunk)| chunk);
        let first = pool.unit(newest).0;
        let older = match block.next {
            NONE => 0,
            older => chunk_of(pool.unit(older).0),
        };
        for unit in first..first + pool.block_units {
            let is_last = unit + 1 == first + pool.block_units;
            ops.push(Op::NatUnit {
                user: entry,
                chunk: chunk_of(unit),
                unit: Unit(unit),
                next: if is_last { older } else { chunk_of(unit + 1) },
            });
        }
        ops.push(Op::NatUser {
            at: entry,
            address: block.ue,
            instance: pool.inside.0,
            first: chunk_of(first),
        });
        ops
    }

    /// What the path does when a UE with blocks goes.
    pub fn end_of(&self, entry: EntryId) -> Option<Op> {
        (self.newest_of(entry) != NONE).then_some(Op::NatUser {
            at: entry,
            address: 0,
            instance: 0,
            first: 0,
        })
    }

    /// Writes down that the UE has its newest block.
    pub fn record_newest(&mut self, entry: EntryId) {
        let newest = self.newest_of(entry);
        self.record(newest, true);
    }

    /// Takes the newest block back that a refused message took; it is the next to be given.
    pub fn undo(&mut self, entry: EntryId) {
        let newest = self.newest_of(entry);
        self.take_back(newest, true);
        let mut pools = self.pools.iter_mut();
        if let Some(pool) = pools.rfind(|p| p.first_block <= newest && newest != NONE) {
            pool.next_address = ((newest - pool.first_block) / pool.address_blocks) as usize;
        }
    }

    /// Takes all blocks of a UE back.
    pub fn release(&mut self, entry: EntryId) {
        loop {
            let newest = self.newest_of(entry);
            if newest == NONE {
                return;
            }
            self.record(newest, false);
            self.take_back(newest, false);
        }
    }

    fn take_back(&mut self, number: u32, to_front: bool) {
        let Some(block) = self.blocks.get(number as usize).copied() else {
            return;
        };
        let Some(pool) = self.pool_of(number) else {
            return;
        };
        let first = pool.unit(number).0;
        for unit in first..first + pool.block_units {
            if let Some((_, chunk)) = self.words.get(Unit(unit)) {
                self.chunks.give(chunk, 0);
            }
            self.units.write(unit as usize, [0]);
        }
        self.set_newest(EntryId(block.entry), block.next);
        self.counters.used -= 1;
        self.free(number, to_front);
    }

    fn free(&mut self, number: u32, to_front: bool) {
        let pools = &mut self.pools;
        let Some(pool) = pools.iter_mut().rfind(|p| p.first_block <= number) else {
            return;
        };
        pool.free += 1;
        let address = (number - pool.first_block) / pool.address_blocks;
        let Some(free) = pool.addresses.get_mut(address as usize) else {
            return;
        };
        let (next, before) = if to_front {
            (free.head, NONE)
        } else {
            (NONE, free.tail)
        };
        if to_front || before == NONE {
            free.head = number;
        }
        if !to_front || next == NONE {
            free.tail = number;
        }
        if let Some(before) = self.blocks.get_mut(before as usize) {
            before.next = number;
        }
        if let Some(block) = self.blocks.get_mut(number as usize) {
            block.next = next;
        }
    }

    /// The UE that has a public port.
    pub fn holder(&self, inside: InstanceId, address: Ipv4Addr, port: u16) -> Option<Ipv4Addr> {
        let number = self.numbers.number(inside, address.into(), port)?;
        let (entry, _) = self.words.get(number.unit())?;
        let block = self.blocks.get(self.newest_of(entry) as usize)?;
        Some(block.ue.into())
    }

    /// The blocks of a UE, the newest first, each as public address with first and last port.
    pub fn held(&self, entry: EntryId) -> impl Iterator<Item = (Ipv4Addr, u16, u16)> {
        let numbers = self.of(self.newest_of(entry));
        numbers.filter_map(|number| self.ports(number))
    }

    /// The oldest record that was not read.
    pub fn next_record(&mut self) -> Option<NatRecord> {
        self.records.pop_front()
    }

    fn record(&mut self, number: u32, given: bool) {
        let (Some(block), Some(pool)) = (self.blocks.get(number as usize), self.pool_of(number))
        else {
            return;
        };
        let Some((address, first_port, last_port)) = self.ports(number) else {
            return;
        };
        let record = NatRecord {
            given,
            instance: pool.inside,
            ue: block.ue.into(),
            address,
            first_port,
            last_port,
        };
        if self.records.len() < RECORDS {
            self.records.push_back(record)
        } else {
            self.counters.records_lost += 1
        }
    }

    fn ports(&self, number: u32) -> Option<(Ipv4Addr, u16, u16)> {
        let pool = self.pool_of(number)?;
        let first = PublicPort::at(pool.unit(number), 0);
        let (address, port) = self.numbers.address_and_port(first)?;
        let ports = pool.block_units as u16 * NAT_UNIT_PORTS as u16;
        Some((address.into(), port, port + (ports - 1)))
    }

    fn of(&self, newest: u32) -> impl Iterator<Item = u32> {
        let known = |number: u32| (number != NONE).then_some(number);
        core::iter::successors(known(newest), move |number| {
            known(self.blocks.get(*number as usize)?.next)
        })
    }

    fn pool_of(&self, number: u32) -> Option<&PoolBlocks> {
        let mut pools = self.pools.iter();
        pools.rfind(|p| p.first_block <= number && number != NONE)
    }

    fn newest_of(&self, entry: EntryId) -> u32 {
        let newest = self.newest.get(entry.0).copied().unwrap_or(0);
        newest.checked_sub(1).unwrap_or(NONE)
    }

    fn set_newest(&mut self, entry: EntryId, number: u32) {
        if let Some(newest) = self.newest.get_mut(entry.0) {
            *newest = number.wrapping_add(1);
        }
    }
}

impl PoolBlocks {
    fn new(pool: &NatPool, nat: &NatPools, blocks: &mut Vec<Block>) -> Self {
        let first_block = blocks.len() as u32;
        let of_address = pool.address_blocks();
        let addresses = (0..pool.addresses()).map(|address| {
            let first = first_block + address * of_address;
            let last = first + of_address - 1;
            blocks.extend((first..=last).map(|number| Block {
                entry: 0,
                ue: 0,
                next: if number == last { NONE } else { number + 1 },
            }));
            FreeBlocks {
                head: first,
                tail: last,
            }
        });
        Self {
            inside: pool.inside,
            first_block,
            first_unit: nat.first_unit(pool.inside).map_or(0, |unit| unit.0),
            block_units: pool.block_units(),
            address_blocks: of_address,
            per_ue: usize::from(pool.blocks_per_ue),
            addresses: addresses.collect(),
            next_address: 0,
            free: pool.blocks() as usize,
        }
    }

    fn unit(&self, number: u32) -> Unit {
        Unit(self.first_unit + (number - self.first_block) * self.block_units)
    }

    /// Each address in its turn that has a free block.
    fn next_free_address(&mut self) -> Option<usize> {
        let len = self.addresses.len();
        let mut turn = (0..len).map(|i| (self.next_address + i) % len);
        let found = turn.find(|at| self.addresses[*at].head != NONE)?;
        self.next_address = (found + 1) % len;
        Some(found)
    }
}
