//! Resources of sessions: TEID slots, session entries, extension blocks, peers, meters.
//!
//! What one message takes is listed (`claims`), so that a refused one leaves everything as it was.

mod address_pools;
mod identifiers;
mod nat;
mod release;
mod resting_numbers;
mod routes;

use crate::config::AllocationPool;
use crate::flows::flow_filter_runs::FlowFilterRuns;
use crate::index::partitions::{PartitionedBits, PartitionedVec};
use crate::index::slab::Slab;
use crate::index::slot_allocator::SlotAllocator;
use crate::limits::TEID_REST_S;
use crate::random::Random;
use crate::rules::{ClockImage, Rules, UeAddresses, Urr};
use crate::usage::clock::UsageClock;
use crate::usage::inactivity::{InactivityTimer, InactivityTimers};
use crate::usage::meter::{Meter, SentMeasurement};
use core::net::Ipv4Addr;
use release::Claim;
use routes::Routes;
use sluice_datapath::ids::EntryId;
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::exact_match::{ExactKey, ExactReader, ExactWriter};
use sluice_datapath::lookup::layout::{InstanceId, Layout};
use sluice_datapath::session::flow_filter::{FilterRun, FlowFilter};
use sluice_datapath::tables::PeerId;

pub use address_pools::{AddressPools, NoAddress};
pub use identifiers::spare;
pub use nat::{NatBlocks, NatCounters, NatRecord};
pub use release::Claims;
pub use routes::filter_of;

/// The allocators.
pub struct Resources {
    /// Where entries lie.
    pub layout: Layout,
    /// Usage of all URRs.
    pub meters: Slab<Meter>,
    /// Clocks of URRs to which time matters; at most one for each meter.
    pub clocks: Slab<UsageClock>,
    /// User Plane Inactivity Timers of sessions.
    pub inactivity: InactivityTimers,
    /// What reports under way tell of URRs.
    pub sent: Slab<SentMeasurement>,
    /// Public ports of translated UEs.
    pub nat: NatBlocks,
    /// Flow filters of all SDF filters.
    pub filters: FlowFilterRuns,
    /// UE addresses that we give.
    pub addresses: AddressPools,
    routes: Routes,
    slots: SlotAllocator,
    entries: SlotAllocator,
    blocks: SlotAllocator,
    cells: SlotAllocator,
    /// By slot: the last TEID that it was given out under.
    teids: PartitionedVec<u32>,
    /// By entry: the place of its session and 1, where its rules have something to report or lead elsewhere than to the
    /// UE's data network; touched for those alone.
    sessions: PartitionedVec<u32>,
    /// One bit for each entry: a pool entry that is taken.
    pool: PartitionedBits,
    foreign: ExactWriter,
    known: ExactReader,
    random: Random,
    peers_held: usize,
}

/// An allocator has nothing left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Exhausted;

/// Why an identifier cannot be had.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Denied {
    /// Another session has it.
    InUse,
    /// Its entry belongs to another shard than the session.
    OtherShard,
    /// No entry is left.
    Exhausted,
}

impl From<Exhausted> for Denied {
    fn from(_: Exhausted) -> Self {
        Self::Exhausted
    }
}

/// How many of each are given out.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InUse {
    /// TEIDs of ours.
    pub teids: usize,
    /// Entries of UE addresses in pools.
    pub pool_entries: usize,
    /// Entries of TEIDs and addresses that others chose.
    pub foreign_entries: usize,
    /// Extension blocks.
    pub blocks: usize,
    /// Usage meters.
    pub meters: usize,
    /// Clocks of URRs.
    pub clocks: usize,
    /// User Plane Inactivity Timers.
    pub inactivity_timers: usize,
    /// Cells of usage records.
    pub usage_records: usize,
    /// Peers held.
    pub peers: usize,
    /// Flow filters.
    pub flow_filters: usize,
    /// UE addresses and prefixes of pools for allocation, whoever chose them.
    pub allocated: usize,
    /// Session sets.
    pub session_sets: usize,
    /// Blocks of public ports.
    pub nat_blocks: usize,
    /// Prefixes behind UEs.
    pub routes: usize,
}

/// A share in percent; something full is full, however little it would take.
pub fn percent(used: usize, of: usize) -> u8 {
    match of {
        0 => 0,
        of => (used.saturating_mul(100) / of).min(100) as u8,
    }
}

impl Resources {
    /// Allocators over `layout`, with `blocks` extension blocks, for so many sessions and meters.
    pub fn new(
        layout: Layout,
        blocks: u32,
        (sessions, meters): (usize, usize),
        filters: FlowFilterRuns,
        pools: &[AllocationPool],
        foreign: ExactWriter,
        random: Random,
    ) -> Self {
        let (first, len) = layout.foreign();
        Self {
            slots: SlotAllocator::new(0, layout.endpoints(), TEID_REST_S, false),
            entries: SlotAllocator::new(first, len, 0, false),
            blocks: SlotAllocator::new(0, blocks, 0, true),
            cells: SlotAllocator::new(0, layout.usage_records(), 0, true),
            teids: PartitionedVec::new(&0, layout.endpoints() as usize),
            sessions: PartitionedVec::new(&0, layout.entries()),
            pool: PartitionedBits::new(layout.entries()),
            meters: Slab::new(meters),
            clocks: Slab::new(meters),
            inactivity: InactivityTimers::new(sessions),
            sent: Slab::new(meters),
            nat: NatBlocks::new(&layout),
            filters,
            addresses: AddressPools::new(pools),
            routes: Routes::new(),
            known: foreign.reader(),
            foreign,
            random,
            layout,
            peers_held: 0,
        }
    }

    /// Whether a UE has this address of a pool that the path has entries for.
    pub fn is_pool_entry_used(&self, instance: InstanceId, address: u32) -> bool {
        let entry = self.layout.pool_entry(instance, address);
        entry.is_some_and(|entry| self.pool.get(entry.0))
    }

    /// How many UEs have an address of an IPv4 pool. The path has entries for those that were of pools when it began;
    /// a UE with another one is found as those are that CP functions chose.
    pub fn used_of_pool(&self, instance: InstanceId, first: Ipv4Addr, len: u64) -> usize {
        let first = u32::from(first);
        let addresses = (0..len).map(|at| first.wrapping_add(at as u32));
        let is_used = |address: &u32| match self.layout.pool_entry(instance, *address) {
            Some(entry) => self.pool.get(entry.0),
            None => self.known.knows(ExactKey::ue(instance.0, *address)),
        };
        addresses.filter(is_used).count()
    }

    /// A random number.
    pub fn random(&mut self) -> u32 {
        self.random.next_u32()
    }

    /// How many of each are given out, beside so many session sets.
    pub fn in_use(&self, session_sets: usize) -> InUse {
        InUse {
            teids: self.slots.used(),
            pool_entries: self.pool.count(),
            foreign_entries: self.entries.used(),
            blocks: self.blocks.used(),
            meters: self.meters.used(),
            clocks: self.clocks.used(),
            inactivity_timers: self.inactivity.used(),
            usage_records: self.cells.used(),
            peers: self.peers_held,
            flow_filters: self.filters.used(),
            allocated: self.addresses.used(),
            nat_blocks: self.nat.counters().used,
            routes: self.routes.len(),
            session_sets,
        }
    }

    /// How full the fullest table is that sessions take from, in percent.
    pub fn fullest_percent(&self) -> u8 {
        let teids = percent(self.slots.used(), self.layout.endpoints() as usize);
        let (_, foreign) = self.layout.foreign();
        let foreign = percent(self.entries.used(), foreign as usize);
        let blocks = percent(self.blocks.used(), self.blocks.len());
        teids.max(foreign).max(blocks)
    }

    /// True if `shard` has a TEID to give.
    pub fn has_teid(&self, shard: u32, now_s: u32) -> bool {
        self.slots.has_room(shard, now_s)
    }

    /// An extension block.
    pub fn block(&mut self, shard: u32, claims: &mut Claims) -> Result<u32, Exhausted> {
        let taken = self.blocks.take(shard, 0).ok_or(Exhausted)?;
        claims.push(Claim::Block(taken))?;
        Ok(taken.place())
    }

    /// A cell of a usage record.
    pub fn cell(&mut self, shard: u32, claims: &mut Claims) -> Result<u32, Exhausted> {
        let taken = self.cells.take(shard, 0).ok_or(Exhausted)?;
        claims.push(Claim::Cell(taken))?;
        Ok(taken.place())
    }

    /// A meter.
    pub fn meter(&mut self, meter: Meter, claims: &mut Claims) -> Result<u32, Exhausted> {
        let at = self.meters.insert(meter).ok_or(Exhausted)?;
        claims.push(Claim::Meter(at))?;
        Ok(at)
    }

    /// A meter with its clock, if it has one.
    pub fn metered(&mut self, at: u32) -> Option<(&mut Meter, Option<&mut UsageClock>)> {
        let meter = self.meters.get_mut(at)?;
        let clock = meter.clock().and_then(|at| self.clocks.get_mut(at));
        Some((meter, clock))
    }

    /// A URR's clock as a message leaves it, or none.
    fn changed_clock(&self, urr: &Urr, now_s: u32) -> Option<UsageClock> {
        if !urr.has_clock() {
            return None;
        }
        let before = self.meters.get(urr.meter).and_then(Meter::clock);
        let before = before.and_then(|at| self.clocks.get(at));
        Some(UsageClock::changed(before, urr, now_s))
    }

    /// Sets what the path is to be told of the clocks of all URRs, and of the timer of the session in this place.
    pub fn tell_clocks(&self, rules: &mut Rules, session: Option<u32>, now_s: u32) {
        let timer = self.changed_timer(rules, session, now_s);
        if let (Some(inactivity), Some(timer)) = (&mut rules.inactivity, timer) {
            inactivity.awaits_packet = timer.awaits_packet(now_s);
        }
        for urr in &mut rules.urrs {
            let clock = self.changed_clock(urr, now_s);
            let clock = clock.filter(|_| urr.measures_time());
            urr.clock = clock.map_or(ClockImage::default(), |clock| ClockImage {
                awaits_packet: clock.awaits_packet(now_s),
                stops: clock.stops(),
            });
        }
    }

    /// The timer of a session as a message leaves it, or none; `session` is its place, none if it is new.
    pub fn changed_timer(
        &self,
        rules: &Rules,
        session: Option<u32>,
        now_s: u32,
    ) -> Option<InactivityTimer> {
        let inactivity = rules.inactivity?;
        let before = session.and_then(|at| self.inactivity.get(at).copied());
        let before = before.filter(|_| !inactivity.is_renewed);
        Some(before.unwrap_or(InactivityTimer::new(inactivity.timer_s, now_s)))
    }

    /// A message was accepted: the URR's clock becomes as it says.
    pub fn set_clock(&mut self, urr: &Urr, now_s: u32) {
        let changed = self.changed_clock(urr, now_s);
        let Some(meter) = self.meters.get_mut(urr.meter) else {
            return;
        };
        match (meter.clock(), changed) {
            (Some(at), Some(clock)) => {
                if let Some(place) = self.clocks.get_mut(at) {
                    *place = clock;
                }
            }
            (Some(at), None) => {
                self.clocks.remove(at);
                meter.set_clock(None);
            }
            // There are as many places as meters.
            (None, Some(clock)) => meter.set_clock(self.clocks.insert(clock)),
            (None, None) => {}
        }
    }

    /// Frees a meter, its clock, and what it has under way.
    pub fn end_meter(&mut self, at: u32) {
        let Some(meter) = self.meters.get(at) else {
            return;
        };
        if let Some(place) = meter.sent {
            self.sent.remove(place.get() - 1);
        }
        if let Some(place) = meter.clock() {
            self.clocks.remove(place);
        }
        self.meters.remove(at);
    }

    /// A run of flow filters.
    pub fn filter_run(
        &mut self,
        filters: &[FlowFilter],
        claims: &mut Claims,
    ) -> Result<FilterRun, Exhausted> {
        let run = self.filters.hold(filters).ok_or(Exhausted)?;
        claims
            .push(Claim::Run(run))
            .inspect_err(|_| self.filters.release(run))?;
        Ok(run)
    }

    /// Remembers a peer that the caller just held.
    pub fn peer_held(&mut self, peer: PeerId, claims: &mut Claims) -> Result<(), Exhausted> {
        self.peers_held += 1;
        claims.push(Claim::Peer(peer))
    }

    /// The place of the session whose rules stand in an entry, as far as they [are traced back](Self::traces_back).
    pub fn session_of(&self, entry: EntryId) -> Option<u32> {
        self.sessions.get(entry.0)?.checked_sub(1)
    }

    /// The session in this place is found by an entry of its from now on.
    pub fn traces_back(&mut self, entry: EntryId, session: u32) {
        if let Some(place) = self.sessions.get_mut(entry.0) {
            *place = session + 1;
        }
    }

    fn set_teid(&mut self, slot: u32, teid: u32) {
        if let Some(last) = self.teids.get_mut(slot) {
            *last = teid;
        }
    }
}

/// The home shard of a session with these UE addresses: that of the IPv4 address, which a NIC can compute
/// too, else that of the prefix.
pub fn home_shard(ue: &UeAddresses) -> Option<u32> {
    let by_prefix = || {
        ue.prefix
            .map(|prefix| (prefix.get() % u64::from(SHARDS)) as u32)
    };
    ue.ipv4
        .map(|address| u32::from(address) % SHARDS)
        .or_else(by_prefix)
}
