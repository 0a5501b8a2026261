//! Path builder: memory, shards, rings and counters for a number of workers and the control core.

use crate::bells::LateBells;
use crate::control::ControlEnd;
use crate::hold::HoldLimits;
use crate::ids::WorkerId;
use crate::ledger::WorkerStats;
use crate::limits::{
    CONTROL_RING, HANDOVER_RING, MOVES, N4_RING, RESERVED, SHARDS, TOKENS, TRACE_TOKENS, TRACES,
    WORKERS,
};
use crate::lookup::exact_match;
use crate::lookup::exact_match::{ExactReader, ExactWriter};
use crate::lookup::layout::Layout;
use crate::lookup::session_lookup::{OwnerTable, SessionLookup};
use crate::message::Handover;
use crate::nat::mapping::NatOwned;
use crate::ring_backlog::RingBacklog;
use crate::rings::{ControlRings, WorkerRings};
use crate::session::SessionState;
use crate::tables::{Polled, Tables};
use crate::wake::Wake;
use crate::worker::{Parts, Worker};
use core::fmt;
use sluice_mem::arena::{Arena, ArenaError};
use sluice_mem::publish::{Published, Reader};
use sluice_mem::ring::{Consumer, Producer, spsc};
use sluice_mem::shard::{Owned, ShardCount};
use sluice_mem::{Zeroable, shard};
use sluice_port::{Packet, PortIo, QueueId};
use std::sync::Arc;

/// A path: seeds of its workers, the control core's end, and the writer of CP-chosen identifiers.
pub type Assembled<P> = (Vec<WorkerBuilder<P>>, ControlEnd<P>, ExactWriter);

/// The table of TEIDs and addresses that others chose, and of the prefix that each UE of a pool may have besides.
fn identifiers(layout: &Layout) -> Result<(ExactWriter, ExactReader), PlanError> {
    let (_, foreign_entries) = layout.foreign();
    let in_pools = layout.entries() - layout.endpoints() as usize;
    let capacity = foreign_entries as usize + in_pools;
    Ok(exact_match::table(capacity, layout.prefixes())?)
}

/// Makes a path. All memory is reserved here; pages are touched when they are used.
pub fn assemble<P: Send>(plan: &Plan) -> Result<Assembled<P>, PlanError> {
    let n = plan.workers;
    if !(1..=WORKERS).contains(&n) {
        return Err(PlanError::Workers(n));
    }
    let entries = Arena::new("sluice-entries", plan.layout.entries())?;
    let blocks = Arena::new("sluice-blocks", plan.blocks as usize)?;
    let records = Arena::new("sluice-usage-records", plan.layout.usage_records() as usize)?;
    let numbers = Arena::new("sluice-usage-record-numbers", plan.layout.entries())?;
    let state = shard::create(entries, blocks, (records, numbers), ShardCount::DEFAULT);
    let mut states = deal(state, n);
    let nat = plan.layout.nat();
    // Without translation there is one of each in a shard, and none is touched.
    let users = if nat.is_empty() {
        SHARDS as usize
    } else {
        plan.layout.entries()
    };
    let users = Arena::new("sluice-nat-users", users)?;
    let chunks = Arena::new("sluice-nat", nat.chunks() as usize)?;
    // They have the numbers of their chunks; no user has one.
    let remotes = (
        Arena::new("sluice-nat-remotes", nat.chunks() as usize)?,
        Arena::new("sluice-nat-none", SHARDS as usize)?,
    );
    let mut nat = deal(
        shard::create(users, chunks, remotes, ShardCount::DEFAULT),
        n,
    );
    let owners = OwnerTable::dealt(n);
    let (foreign, foreign_reader) = identifiers(&plan.layout)?;
    let mut tables = Published::new(Tables::default());
    let mut mesh = mesh(n);
    let mut seeds = Vec::with_capacity(n);
    let mut rings = Vec::with_capacity(n);
    let stats: Vec<Arc<WorkerStats>> = (0..n).map(|_| Arc::default()).collect();
    // The last is the control core's.
    let wakes: Arc<[Wake]> = (0..=n).map(|_| Wake::default()).collect();
    for (id, stats) in stats.iter().enumerate() {
        let (to_worker, from_control) = spsc(CONTROL_RING, RESERVED + MOVES + TRACES);
        let (to_control, from_worker) = spsc(CONTROL_RING, RESERVED + MOVES + TRACES);
        let (n4, from_n4) = spsc(N4_RING, 0);
        let (to_workers, from_workers) = mesh.remove(0);
        rings.push(ControlRings {
            to_worker,
            from_worker,
            n4: from_n4,
        });
        seeds.push(WorkerBuilder {
            id: WorkerId::at(id),
            places: SessionLookup {
                layout: plan.layout.clone(),
                foreign: foreign_reader.clone(),
            },
            tables: tables.reader(),
            state: states.remove(0),
            nat: nat.remove(0),
            owners: owners.clone(),
            rings: WorkerRings {
                from_control,
                to_control,
                n4,
                to_workers: RingBacklog::new(to_workers),
                from_workers,
                late_bells: LateBells::default(),
                wakes: wakes.clone(),
            },
            stats: stats.clone(),
            hold: HoldLimits::default(),
        });
    }
    let end = ControlEnd::new(rings, owners, tables, stats, wakes);
    Ok((seeds, end, foreign))
}

/// Splits the ownership of all shards as [`OwnerTable::dealt`] says.
fn deal<L, X, R>(mut all: Owned<L, X, R>, workers: usize) -> Vec<Owned<L, X, R>>
where
    L: Zeroable + Send,
    X: Zeroable + Send,
    R: Zeroable + Send,
{
    let mut parts: Vec<_> = (1..workers).map(|_| all.none_like()).collect();
    let owners = OwnerTable::dealt(workers);
    for shard in all.shards().all() {
        let owner = usize::from(owners.of(shard));
        if owner > 0
            && let Some(token) = all.release(shard)
            && let Err(token) = parts[owner - 1].accept(token)
        {
            // Tokens of one set fit every owner made from it.
            drop(token);
        }
    }
    parts.insert(0, all);
    parts
}

type Out<P> = Vec<Option<Producer<Handover<P>>>>;
type In<P> = Vec<Option<Consumer<Handover<P>>>>;

/// A ring from each worker to each other one.
fn mesh<P: Send>(n: usize) -> Vec<(Out<P>, In<P>)> {
    let mut ends: Vec<(Out<P>, In<P>)> = (0..n)
        .map(|_| {
            (
                (0..n).map(|_| None).collect(),
                (0..n).map(|_| None).collect(),
            )
        })
        .collect();
    for from in 0..n {
        for to in (0..n).filter(|to| *to != from) {
            let (producer, consumer) = spsc(HANDOVER_RING, TOKENS + TRACE_TOKENS);
            ends[from].0[to] = Some(producer);
            ends[to].1[from] = Some(consumer);
        }
    }
    ends
}

/// What a path is made for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where entries lie.
    pub layout: Layout,
    /// Extension blocks; block 0 of the arena is never used.
    pub blocks: u32,
    /// Workers.
    pub workers: usize,
}

/// What a path cannot be made of.
#[derive(Debug)]
pub enum PlanError {
    /// No worker, or more than [`WORKERS`].
    Workers(usize),
    /// The memory cannot be had.
    Arena(ArenaError),
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Workers(n) => write!(f, "{n} workers: expected 1 to {WORKERS}"),
            Self::Arena(e) => write!(f, "memory for sessions: {e}"),
        }
    }
}

impl std::error::Error for PlanError {}

impl From<ArenaError> for PlanError {
    fn from(e: ArenaError) -> Self {
        Self::Arena(e)
    }
}

/// All of a worker but its doors.
pub struct WorkerBuilder<P> {
    pub(super) id: WorkerId,
    pub(super) places: SessionLookup,
    pub(super) tables: Reader<Tables>,
    pub(super) state: SessionState,
    pub(super) nat: NatOwned,
    pub(super) owners: OwnerTable,
    pub(super) rings: WorkerRings<P>,
    pub(super) stats: Arc<WorkerStats>,
    pub(super) hold: HoldLimits,
}

impl<P: Packet> WorkerBuilder<P> {
    /// Its number.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// It holds so many packets for idle UEs.
    pub fn holding(mut self, limits: HoldLimits) -> Self {
        self.hold = limits;
        self
    }

    /// The worker with its doors.
    pub fn grow<I: PortIo<Packet = P>>(
        self,
        io: I,
        polled: Vec<Polled>,
        tx_queue: QueueId,
    ) -> Worker<I> {
        Worker::new(Parts {
            id: self.id,
            io,
            polled,
            tx_queue,
            places: self.places,
            tables: self.tables,
            state: self.state,
            nat: self.nat,
            owners: self.owners,
            rings: self.rings,
            stats: self.stats,
            hold: self.hold,
        })
    }
}
