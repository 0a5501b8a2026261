//! Ordered message queue to a worker: one behind the other, and transactions only as fast as they
//! come back.

use super::ControlEnd;
use crate::ids::WorkerId;
use crate::limits::RESERVED;
use crate::message::Fence;
use crate::message::{Drain, ToWorker};
use crate::migration::protocol::MoveShard;
use crate::session::txn::Txn;
use crate::trace::TraceOrder;
use arrayvec::ArrayVec;
use sluice_mem::shard::ShardId;

/// Orders that a worker sees at once.
const ORDERS: usize = 32;

/// What is sent to a worker in this order.
pub(super) enum Order {
    Txn(Box<Txn>),
    Turn(MoveShard),
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

impl<P> ControlEnd<P> {
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

    /// Transactions that have not come back yet.
    pub fn under_way(&self) -> usize {
        let waiting = self.backlog.iter().flatten();
        let transactions = waiting.filter(|order| matches!(order, Order::Txn(_)));
        self.under_way.iter().sum::<usize>() + transactions.count()
    }

    pub(super) fn order(&mut self, worker: usize, order: Order) {
        self.backlog[worker].push_back(order);
        self.push_backlog(worker);
    }

    /// At most as many under way as the ring back keeps places for.
    pub(super) fn push_backlog(&mut self, worker: usize) {
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
}
