//! Putting the path together: memory, shards, rings and counters for a number of workers and the
//! control core.

use crate::foreign::{self, ForeignWriter};
use crate::late::Outbox;
use crate::layout::Layout;
use crate::ledger::{Ledger, WorkerStats};
use crate::limits::{
    CONTROL_RING, HANDOVER_RING, MOVES, N4_RING, PORTS_TOGETHER, RESERVED, TOKENS, TRACE_TOKENS,
    TRACES, WORKERS,
};
use crate::line::Line;
use crate::message::{ControlRings, Drain, Handover, Queues, ToControl, ToWorker, WorkerRings};
use crate::mover::{Begin, Mover, Resteer, Resteers};
use crate::moves::{Switch, Turn};
use crate::requeue::Fence;
use crate::rule::Block;
use crate::stage::place::Places;
use crate::tables::{InterfaceId, Polled, Tables, Usual};
use crate::trace::end::TraceEnd;
use crate::trace::{Filter, Record, TraceOrder};
use crate::txn::Txn;
use crate::wake::Wake;
use crate::worker::{OwnerTable, Parts, Worker, WorkerId};
use arrayvec::ArrayVec;
use core::fmt;
use core::time::Duration;
use sluice_mem::arena::{Arena, ArenaError};
use sluice_mem::publish::{Published, Reader};
use sluice_mem::ring::{Consumer, Producer, spsc};
use sluice_mem::shard::{self, Owned, ShardCount, ShardId};
use sluice_port::{PortId, PortIo, QueueId};
use std::collections::VecDeque;
use std::sync::Arc;

/// Orders that a worker sees at once.
const ORDERS: usize = 32;

/// What a path is made for.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where lines lie.
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
pub struct Seed<P> {
    id: WorkerId,
    places: Places,
    tables: Reader<Tables>,
    state: Owned<Line, Block>,
    owners: OwnerTable,
    rings: WorkerRings<P>,
    stats: Arc<WorkerStats>,
}

impl<P: sluice_port::Packet> Seed<P> {
    /// Its number.
    pub fn id(&self) -> WorkerId {
        self.id
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
            owners: self.owners,
            rings: self.rings,
            stats: self.stats,
        })
    }
}

/// What is sent to a worker in this order.
enum Order {
    Txn(Box<Txn>),
    Turn(Turn),
    Expect(ShardId, WorkerId),
    Drain(Drain),
    Leave(Fence),
    Trace(TraceOrder),
}

impl<P> From<Order> for ToWorker<P> {
    fn from(order: Order) -> Self {
        match order {
            Order::Txn(txn) => Self::Txn(txn),
            Order::Turn(turn) => Self::Turn(turn),
            Order::Expect(shard, producer) => Self::Expect(shard, producer),
            Order::Drain(drain) => Self::Drain(drain),
            Order::Leave(fence) => Self::Leave(fence),
            Order::Trace(order) => Self::Trace(order),
        }
    }
}

/// The control core's end of the path.
pub struct ControlEnd<P> {
    rings: Vec<ControlRings<P>>,
    backlog: Vec<VecDeque<Order>>,
    under_way: Vec<usize>,
    mover: Mover,
    resteers: Resteers,
    trace: TraceEnd,
    wakes: Arc<[Wake]>,
    n4_next: usize,
    tables: Published<Tables>,
    stats: Vec<Arc<WorkerStats>>,
}

/// A path: seeds of its workers, the control core's end, and the writer of foreign identifiers.
pub type Assembled<P> = (Vec<Seed<P>>, ControlEnd<P>, ForeignWriter);

/// Makes a path. All memory is reserved here; pages are touched when they are used.
pub fn assemble<P: Send>(plan: &Plan) -> Result<Assembled<P>, PlanError> {
    let n = plan.workers;
    if !(1..=WORKERS).contains(&n) {
        return Err(PlanError::Workers(n));
    }
    let lines = Arena::new("sluice-lines", plan.layout.lines())?;
    let blocks = Arena::new("sluice-blocks", plan.blocks as usize)?;
    let mut states = deal(shard::create(lines, blocks, ShardCount::DEFAULT), n);
    let owners = OwnerTable::dealt(n);
    let (foreign, foreign_reader) = foreign::table(plan.layout.foreign().1 as usize * 2)?;
    let mut tables = Published::new(Tables::default());
    let mut mesh = mesh(n);
    let mut seeds = Vec::with_capacity(n);
    let mut end = ControlEnd {
        rings: Vec::with_capacity(n),
        backlog: (0..n).map(|_| VecDeque::new()).collect(),
        under_way: vec![0; n],
        mover: Mover::new(owners.clone(), n),
        resteers: Resteers::default(),
        trace: TraceEnd::default(),
        wakes: (0..=n).map(|_| Wake::default()).collect(),
        stats: (0..n).map(|_| Arc::default()).collect(),
        tables: Published::new(Tables::default()),
        n4_next: 0,
    };
    for id in 0..n {
        let (to_worker, from_control) = spsc(CONTROL_RING, RESERVED + MOVES + TRACES);
        let (to_control, from_worker) = spsc(CONTROL_RING, RESERVED + MOVES + TRACES);
        let (n4, from_n4) = spsc(N4_RING, 0);
        let (to_workers, from_workers) = mesh.remove(0);
        end.rings.push(ControlRings {
            to_worker,
            from_worker,
            n4: from_n4,
        });
        seeds.push(Seed {
            id: id as WorkerId,
            places: Places {
                layout: plan.layout.clone(),
                foreign: foreign_reader.clone(),
            },
            tables: tables.reader(),
            state: states.remove(0),
            owners: owners.clone(),
            rings: WorkerRings {
                from_control,
                to_control,
                n4,
                to_workers: Outbox::new(to_workers),
                from_workers,
                wakes: end.wakes.clone(),
            },
            stats: end.stats[id].clone(),
        });
    }
    end.tables = tables;
    Ok((seeds, end, foreign))
}

/// Splits the ownership of all shards as [`OwnerTable::dealt`] says.
fn deal(mut all: Owned<Line, Block>, workers: usize) -> Vec<Owned<Line, Block>> {
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

impl<P> ControlEnd<P> {
    /// Workers.
    pub fn workers(&self) -> usize {
        self.rings.len()
    }

    /// Publishes new tables; what no worker looks at any more is freed.
    pub fn publish(&mut self, mut tables: Tables) {
        tables.usual = Usual::of(&tables);
        self.tables.publish(tables);
        self.tables.reclaim();
    }

    /// Sends a transaction to the owner of its shard, behind all sent before.
    pub fn send(&mut self, txn: Box<Txn>) {
        self.send_all([txn]);
    }

    /// The same for some: a worker sees all that are for it at once, so that its ring's index changes
    /// hands once.
    pub fn send_all(&mut self, txns: impl IntoIterator<Item = Box<Txn>>) {
        for txn in txns {
            let owner = usize::from(self.mover.owner(txn.shard));
            self.backlog[owner].push_back(Order::Txn(txn));
        }
        (0..self.backlog.len()).for_each(|worker| self.push_backlog(worker));
    }

    /// At most as many under way as the ring back keeps places for.
    fn push_backlog(&mut self, worker: usize) {
        let ring = &mut self.rings[worker].to_worker;
        let (backlog, under_way) = (&mut self.backlog[worker], &mut self.under_way[worker]);
        let mut burst = ArrayVec::<ToWorker<P>, ORDERS>::new();
        loop {
            while !burst.is_full()
                && let Some(order) = backlog.pop_front()
            {
                if matches!(order, Order::Txn(_)) {
                    if *under_way >= RESERVED {
                        backlog.push_front(order);
                        break;
                    }
                    *under_way += 1;
                }
                burst.push(order.into());
            }
            if burst.is_empty() {
                return;
            }
            ring.push_burst_reserved(&mut burst);
            debug_assert!(burst.is_empty(), "no reserved place for an order");
            self.wakes[worker].wake();
        }
    }

    /// Transactions that have not come back yet.
    pub fn under_way(&self) -> usize {
        let waiting = self.backlog.iter().flatten();
        let transactions = waiting.filter(|order| matches!(order, Order::Txn(_)));
        self.under_way.iter().sum::<usize>() + transactions.count()
    }

    /// Gives a whole frame to a worker for transmission; it comes back if the ring is full.
    pub fn transmit(&mut self, frame: P, interface: InterfaceId) -> Result<(), P> {
        self.wakes[0].wake();
        let ring = &mut self.rings[0].to_worker;
        match ring.push(ToWorker::Transmit(frame, interface)) {
            Err(ToWorker::Transmit(frame, _)) => Err(frame),
            _ => Ok(()),
        }
    }

    /// Gives a frame to a worker as if `port` had received it; it comes back if the ring is full.
    pub fn receive(&mut self, frame: P, port: PortId) -> Result<(), P> {
        self.wakes[0].wake();
        let ring = &mut self.rings[0].to_worker;
        match ring.push(ToWorker::Receive(frame, port)) {
            Err(ToWorker::Receive(frame, _)) => Err(frame),
            _ => Ok(()),
        }
    }

    /// The next message of any worker.
    pub fn receive_message(&mut self) -> Option<ToControl<P>> {
        for worker in 0..self.rings.len() {
            while let Some(message) = self.rings[worker].from_worker.pop() {
                match message {
                    ToControl::Done(_) => {
                        self.under_way[worker] -= 1;
                        self.push_backlog(worker);
                    }
                    ToControl::Moved(shard) => {
                        if self.resteers.ended(shard) {
                            self.mover.stood_still(shard);
                        } else {
                            self.mover.ended(shard);
                        }
                        self.begin_moves();
                        continue;
                    }
                    ToControl::Requeued(polled) => {
                        self.mover.requeued(polled);
                        self.begin_moves();
                        continue;
                    }
                    ToControl::Expecting(shard) if self.resteers.expecting(shard) => continue,
                    ToControl::TraceExpected => {
                        self.trace.expected();
                        self.begin_trace();
                        continue;
                    }
                    ToControl::Traced(tracing) => {
                        self.trace.returned(&tracing);
                        self.begin_trace();
                        continue;
                    }
                    _ => {}
                }
                return Some(message);
            }
        }
        None
    }

    /// Takes up to `max` PFCP packets of all workers, each with the interface that it came in by.
    pub fn receive_n4(&mut self, max: usize, mut take: impl FnMut(P, InterfaceId)) {
        // The next call begins with the next worker, so that none has precedence.
        self.n4_next = (self.n4_next + 1) % self.rings.len().max(1);
        let (before, after) = self.rings.split_at_mut(self.n4_next);
        let mut left = max;
        for rings in after.iter_mut().chain(before) {
            while left > 0
                && let Some((packet, interface)) = rings.n4.pop()
            {
                take(packet, interface);
                left -= 1;
            }
        }
    }

    /// Whether workers have taken all that was put on the rings to them.
    pub fn is_all_taken(&self) -> bool {
        self.rings.iter().all(|r| r.to_worker.is_empty())
    }

    /// The control core sleeps until a worker wakes it, and for `at_most`.
    pub fn sleep(&self, at_most: Duration) {
        let is_work = || self.rings.iter().any(|r| !r.n4.is_empty());
        if let Some(wake) = self.wakes.last() {
            wake.sleep(at_most, is_work);
        }
    }

    /// Moves a shard to worker `to`, as soon as its move before is over. False if there is no such
    /// shard or worker.
    pub fn move_shard(&mut self, shard: ShardId, to: WorkerId) -> bool {
        let known = self.mover.want(shard, to);
        self.begin_moves();
        known
    }

    /// The port is about to steer packets of `shard` to the queues of `producer`: its owner is
    /// told, and answers with [`ToControl::Expecting`]. False while the shard is moving.
    pub fn expect(&mut self, shard: ShardId, producer: WorkerId) -> bool {
        let owner = usize::from(self.mover.owner(shard));
        if !self.mover.hold_still(shard) {
            return false;
        }
        self.order(owner, Order::Expect(shard, producer));
        true
    }

    /// Ports have done so: `poller` looks when their old queues have nothing left from before.
    pub fn drain(&mut self, shard: ShardId, poller: WorkerId, queues: Queues, producer: WorkerId) {
        let to = self.mover.owner(shard);
        let switch = Switch {
            shard,
            to,
            producer,
        };
        let drain = Drain { queues, switch };
        self.order(usize::from(poller), Order::Drain(drain));
    }

    /// A group of shards shall come by other queues, of one or several ports: their owners are told to
    /// expect the poller. When all do, [`next_resteer`](Self::next_resteer) says so. `together` are
    /// changes of the same group, each of a port of its own. False while some of the shards or queues
    /// move, or unless all change the same poller for the same other one.
    pub fn begin_resteer(&mut self, together: &[Resteer]) -> bool {
        let Some((first, others)) = together.split_first() else {
            return false;
        };
        let Some((from, to)) = self.mover.pollers_of(*first) else {
            return false;
        };
        let goes_along = |other: &Resteer| self.mover.goes_along(*first, *other);
        let may = from != to && together.len() <= PORTS_TOGETHER && others.iter().all(goes_along);
        if !may || !self.mover.hold_group_still(*first) {
            return false;
        }
        self.resteers.begin(together);
        for shard in first.shards() {
            let owner = usize::from(self.mover.owner(shard));
            self.order(owner, Order::Expect(shard, to));
        }
        true
    }

    /// The next change that a port may make. Then [`resteered`](Self::resteered) is due.
    pub fn next_resteer(&mut self) -> Option<Resteer> {
        self.resteers.next_ready()
    }

    /// A port's change is in force, or was refused: nothing new comes to the old queue, or to the
    /// new one. When those that began together are, the old poller looks when it has nothing left from
    /// before.
    pub fn resteered(&mut self, resteer: Resteer) {
        // They polled when it began, and queues stand still meanwhile.
        let pollers = self.mover.pollers_of(resteer);
        let Some((queues, (from, to))) = self.resteers.changed(resteer).zip(pollers) else {
            return;
        };
        for shard in resteer.shards() {
            self.drain(shard, from, queues.clone(), to);
        }
    }

    /// Changes of steering that are over, and under way.
    pub fn resteers(&self) -> (u64, usize) {
        self.resteers.progress()
    }

    fn order(&mut self, worker: usize, order: Order) {
        self.backlog[worker].push_back(order);
        self.push_backlog(worker);
    }

    /// From the start `worker` polls these queues.
    pub fn polls(&mut self, worker: WorkerId, queues: &[Polled]) {
        queues.iter().for_each(|q| self.mover.polls(*q, worker));
    }

    /// Lets worker `to` poll a receive queue. False if there is no such queue or worker.
    pub fn move_queue(&mut self, polled: Polled, to: WorkerId) -> bool {
        let known = self.mover.want_queue(polled, to);
        self.begin_moves();
        known
    }

    /// Spreads shards and queues evenly over the active workers (a flag for each), and takes all
    /// from the others, which sleep until they are needed.
    pub fn spread(&mut self, active: &[bool]) {
        self.mover.spread(active);
        self.begin_moves();
    }

    /// Owners, pollers, and moves.
    pub fn mover(&self) -> &Mover {
        &self.mover
    }

    fn begin_moves(&mut self) {
        while let Some(begin) = self.mover.begin() {
            match begin {
                // Behind the transactions that the old owner has to apply still.
                Begin::Shard(turn) => {
                    (0..self.rings.len()).for_each(|w| self.order(w, Order::Turn(turn)));
                }
                Begin::Queue(from, fence) => self.order(from.into(), Order::Leave(fence)),
            }
        }
    }

    /// Follows packets from now on, or none; at once, or when the workers have answered to the word
    /// before.
    pub fn trace(&mut self, filter: Option<Filter>) {
        self.trace.want(filter);
        self.begin_trace();
    }

    fn begin_trace(&mut self) {
        let orders = self.trace.next_orders(self.rings.len());
        for (worker, order) in orders.into_iter().flatten().enumerate() {
            self.order(worker, Order::Trace(order));
        }
    }

    /// The next record of a followed packet.
    pub fn next_record(&mut self) -> Option<Record> {
        self.trace.next()
    }

    /// Nothing is followed, and no record will come any more.
    pub fn trace_is_over(&self) -> bool {
        self.trace.is_over()
    }

    /// The counters of all workers.
    pub fn stats(&self) -> &[Arc<WorkerStats>] {
        &self.stats
    }

    /// The ledger over all workers.
    pub fn ledger(&self) -> Ledger {
        Ledger::read(self.stats.iter().map(|s| &**s))
    }
}
