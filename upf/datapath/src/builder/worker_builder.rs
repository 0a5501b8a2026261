//! A worker before it has ports.

use crate::hold::HoldLimits;
use crate::ids::WorkerId;
use crate::ledger::WorkerStats;
use crate::lookup::owners::OwnerTable;
use crate::lookup::session_lookup::SessionLookup;
use crate::nat::mapping::NatOwned;
use crate::rings::WorkerRings;
use crate::session::SessionState;
use crate::tables::{Polled, Tables};
use crate::worker::{Parts, Worker};
use sluice_mem::publish::Reader;
use sluice_port::{Packet, PortIo, QueueId};
use std::sync::Arc;

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
