//! Steering changes, control side: the owners are told before, and the old poller after.

use super::ControlEnd;
use super::send_queue::Order;
use crate::ids::WorkerId;
use crate::limits::PORTS_TOGETHER;
use crate::message::{Drain, Queues};
use crate::migration::controller::Resteer;
use crate::migration::protocol::Switch;
use sluice_mem::shard::ShardId;

impl<P> ControlEnd<P> {
    /// The port is about to steer packets of `shard` to the queues of `producer`: its owner is
    /// told, and answers with [`ToControl::Expecting`](crate::message::ToControl::Expecting). False
    /// while the shard is moving.
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
}
