//! Control side of the path: rings and counters of all workers.
//!
//! What goes over the rings has a file for each purpose.

mod answers;
mod migration;
mod packets;
mod send_queue;
mod steer;
mod trace;

use crate::ledger::{Ledger, WorkerStats};
use crate::lookup::owners::OwnerTable;
use crate::migration::controller::{MigrationController, Resteers};
use crate::rings::ControlRings;
use crate::tables::{CompiledTables, Tables};
use crate::trace::control_side::TraceControl;
use crate::wake::Wake;
use core::time::Duration;
use send_queue::Order;
use sluice_mem::publish::Published;
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
}
