//! Control side of the path: rings and counters of all workers.
//!
//! What goes over the rings has a file for each purpose.

mod send_queue;
mod steer;

use crate::ids::WorkerId;
use crate::ledger::{Ledger, WorkerStats};
use crate::lookup::session_lookup::OwnerTable;
use crate::message::{ToControl, ToWorker};
use crate::meta::Meta;
use crate::migration::controller::{Begin, MigrationController, Resteers};
use crate::rings::ControlRings;
use crate::tables::{CompiledTables, InterfaceId, Polled, Tables};
use crate::trace::control_side::TraceControl;
use crate::trace::{Filter, Record};
use crate::wake::Wake;
use core::time::Duration;
use send_queue::Order;
use sluice_mem::publish::Published;
use sluice_mem::shard::ShardId;
use sluice_port::PortId;
use std::collections::VecDeque;
use std::sync::Arc;

/// The control core's end of the path.
pub struct ControlEnd<P> {
    rings: Vec<ControlRings<P>>,
    backlog: Vec<VecDeque<Order>>,
    under_way: Vec<usize>,
    mover: MigrationController,
    resteers: Resteers,
    trace: TraceControl,
    wakes: Arc<[Wake]>,
    n4_next: usize,
    tables: Published<Tables>,
    stats: Vec<Arc<WorkerStats>>,
}

impl<P> ControlEnd<P> {
    /// The other end of these rings; all shards are with `owners`.
    pub(crate) fn new(
        rings: Vec<ControlRings<P>>,
        owners: OwnerTable,
        tables: Published<Tables>,
        stats: Vec<Arc<WorkerStats>>,
        wakes: Arc<[Wake]>,
    ) -> Self {
        let workers = rings.len();
        Self {
            rings,
            backlog: (0..workers).map(|_| VecDeque::new()).collect(),
            under_way: vec![0; workers],
            mover: MigrationController::new(owners, workers),
            resteers: Resteers::default(),
            trace: TraceControl::default(),
            wakes,
            n4_next: 0,
            tables,
            stats,
        }
    }

    /// Workers.
    pub fn workers(&self) -> usize {
        self.rings.len()
    }

    /// Publishes new tables; what no worker looks at any more is freed.
    pub fn publish(&mut self, mut tables: Tables) {
        tables.compiled = CompiledTables::of(&tables);
        self.tables.publish(tables);
        self.tables.reclaim();
    }

    /// The control core sleeps until a worker wakes it, and for `at_most`.
    pub fn sleep(&self, at_most: Duration) {
        let is_work = || self.rings.iter().any(|r| !r.n4.is_empty());
        if let Some(wake) = self.wakes.last() {
            wake.sleep(at_most, is_work);
        }
    }

    /// The counters of all workers.
    pub fn stats(&self) -> &[Arc<WorkerStats>] {
        &self.stats
    }

    /// The ledger over all workers.
    pub fn ledger(&self) -> Ledger {
        Ledger::read(self.stats.iter().map(|s| &**s))
    }

    /// Follows packets from now on, or none; at once, or when the workers have answered to the word
    /// before.
    pub fn trace(&mut self, filter: Option<Filter>) {
        self.trace.want(filter);
        self.begin_trace();
    }

    pub(super) fn begin_trace(&mut self) {
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

    /// Gives an inner packet to a worker as if it had come for the UE that `meta` names; it comes back if the
    /// ring is full.
    pub fn to_ue(&mut self, packet: P, meta: Meta) -> Result<(), P> {
        self.wakes[0].wake();
        let ring = &mut self.rings[0].to_worker;
        match ring.push(ToWorker::ToUe(packet, meta)) {
            Err(ToWorker::ToUe(packet, _)) => Err(packet),
            _ => Ok(()),
        }
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

    /// From the start `worker` polls these queues.
    pub fn polls(&mut self, worker: WorkerId, queues: &[Polled]) {
        queues.iter().for_each(|q| self.mover.polls(*q, worker));
    }

    /// Moves a shard to worker `to`, as soon as its move before is over. False if there is no such
    /// shard or worker.
    pub fn move_shard(&mut self, shard: ShardId, to: WorkerId) -> bool {
        let known = self.mover.want(shard, to);
        self.begin_moves();
        known
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
    pub fn mover(&self) -> &MigrationController {
        &self.mover
    }

    pub(super) fn begin_moves(&mut self) {
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
}
