//! Shard and queue migration, control side ([`crate::migration::controller`]).

use super::ControlEnd;
use super::send_queue::Order;
use crate::ids::WorkerId;
use crate::migration::controller::{Begin, MigrationController};
use crate::tables::Polled;
use sluice_mem::shard::ShardId;

impl<P> ControlEnd<P> {
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
}
