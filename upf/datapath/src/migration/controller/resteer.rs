//! Steering changes in progress: ports send a group of shards to other queues of theirs.
//!
//! The owners of the shards are told to expect the new poller, whose packets they hold; then the
//! ports are changed; when all changes are in force, the old poller looks for the end of its queues,
//! and says so once. Meanwhile none of the shards moves, and no queue does.

use crate::ids::WorkerId;
use crate::limits::{PORTS_TOGETHER, SHARDS};
use crate::message::Queues;
use crate::migration::controller::MigrationController;
use crate::tables::Polled;
use arrayvec::ArrayVec;
use sluice_mem::shard::ShardId;
use sluice_port::{PortId, QueueId};

/// A group of shards that is to come by another queue of a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Resteer {
    /// The port.
    pub port: PortId,
    /// The low bits of a shard's number that are the group's.
    pub group_bits: u32,
    /// The group.
    pub group: u32,
    /// The queue that it comes by.
    pub from: QueueId,
    /// The queue that it shall come by.
    pub to: QueueId,
}

impl Resteer {
    /// The shards of the group.
    pub fn shards(self) -> impl Iterator<Item = ShardId> {
        let shards = self.group..SHARDS;
        shards
            .step_by(1 << self.group_bits)
            .map(|shard| ShardId(shard as u16))
    }

    /// Whether a shard is of the group.
    fn has(self, shard: ShardId) -> bool {
        u32::from(shard.0) % (1 << self.group_bits) == self.group
    }

    /// One of its queues.
    pub fn queue(self, queue: QueueId) -> Polled {
        let port = self.port;
        Polled { port, queue }
    }
}

/// How far a change is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ResteerStage {
    /// Owners of some shards do not expect the new poller yet.
    Asked,
    /// The ports may be changed.
    Ready {
        /// So many of them are being changed.
        changing: usize,
        /// So many of them were.
        in_force: usize,
    },
    /// Some shards still wait for the old queues' end.
    Draining,
}

#[derive(Debug)]
struct Change {
    /// Of the same group and pollers, each of another port.
    together: ArrayVec<Resteer, PORTS_TOGETHER>,
    stage: ResteerStage,
    /// The shards that the stage waits for. Others of the group may move by then, so they count by
    /// name.
    left: Vec<ShardId>,
}

/// Changes under way.
#[derive(Debug, Default)]
pub(crate) struct Resteers {
    under_way: Vec<Change>,
    done: u64,
}

impl Resteers {
    /// At most [`PORTS_TOGETHER`], of one group.
    pub fn begin(&mut self, together: &[Resteer]) {
        let shards = together.first().map(|first| first.shards());
        self.under_way.push(Change {
            together: together.iter().copied().take(PORTS_TOGETHER).collect(),
            stage: ResteerStage::Asked,
            left: shards.into_iter().flatten().collect(),
        });
    }

    /// An owner expects the new poller. False if that was asked by somebody else.
    pub fn expecting(&mut self, shard: ShardId) -> bool {
        let Some(at) = self.take(ResteerStage::Asked, shard) else {
            return false;
        };
        let change = &mut self.under_way[at];
        if change.left.is_empty() {
            change.stage = ResteerStage::Ready {
                changing: 0,
                in_force: 0,
            };
        }
        true
    }

    /// The shard has no packets left in the old queue. False if it was not steered elsewhere.
    pub fn ended(&mut self, shard: ShardId) -> bool {
        let Some(at) = self.take(ResteerStage::Draining, shard) else {
            return false;
        };
        if self.under_way[at].left.is_empty() {
            let over = self.under_way.swap_remove(at);
            self.done += over.together.len() as u64;
        }
        true
    }

    /// The change that waits for this shard in this stage; from now on it does not.
    fn take(&mut self, stage: ResteerStage, shard: ShardId) -> Option<usize> {
        let mut changes = self.under_way.iter_mut().enumerate();
        changes.find_map(|(at, change)| {
            if !change
                .together
                .first()
                .is_some_and(|first| first.has(shard))
            {
                return None;
            }
            let waits = change.left.iter().position(|s| *s == shard);
            let place = waits.filter(|_| change.stage == stage)?;
            change.left.swap_remove(place);
            Some(at)
        })
    }

    /// The next one whose port may be changed.
    pub fn next_ready(&mut self) -> Option<Resteer> {
        self.under_way.iter_mut().find_map(|change| {
            let ResteerStage::Ready { changing, .. } = &mut change.stage else {
                return None;
            };
            let next = change.together.get(*changing)?;
            *changing += 1;
            Some(*next)
        })
    }

    /// A port has been changed. If all of its group have, these are the queues whose end is waited for.
    pub fn changed(&mut self, resteer: Resteer) -> Option<Queues> {
        let mut changes = self.under_way.iter_mut();
        let change = changes.find(|change| change.together.contains(&resteer))?;
        let ResteerStage::Ready { in_force, .. } = &mut change.stage else {
            return None;
        };
        *in_force += 1;
        if *in_force < change.together.len() {
            return None;
        }
        change.stage = ResteerStage::Draining;
        change.left = resteer.shards().collect();
        let queues = change.together.iter().map(|r| r.queue(r.from));
        Some(queues.collect())
    }

    pub fn progress(&self) -> (u64, usize) {
        (self.done, self.under_way.len())
    }
}

impl MigrationController {
    /// Who polls a queue.
    pub fn poller(&self, queue: Polled) -> Option<WorkerId> {
        let mut pollers = self.pollers.iter();
        pollers.find(|(q, _)| *q == queue).map(|(_, by)| *by)
    }

    /// Who polls the queues of a change: the one that packets come by, and the one that they shall.
    pub(crate) fn pollers_of(&self, resteer: Resteer) -> Option<(WorkerId, WorkerId)> {
        let poller = |queue| self.poller(resteer.queue(queue));
        poller(resteer.from).zip(poller(resteer.to))
    }

    /// Whether two changes, of different ports, are of the same group and pollers: then they may be made
    /// together.
    pub(crate) fn goes_along(&self, one: Resteer, other: Resteer) -> bool {
        let of = |r: Resteer| (r.group_bits, r.group);
        let pollers = [one, other].map(|r| self.pollers_of(r));
        one.port != other.port
            && of(one) == of(other)
            && pollers[0].is_some()
            && pollers[0] == pollers[1]
    }

    /// Keeps the shards of a group where they are, if all of them, and all queues, are.
    pub(crate) fn hold_group_still(&mut self, resteer: Resteer) -> bool {
        let count = resteer.shards().count();
        let is_still = self.requeue.is_empty()
            && self.requeueing.is_empty()
            && self.has_room_for(count, 1)
            && !resteer.shards().any(|shard| self.is_moving(shard));
        is_still && resteer.shards().all(|shard| self.hold_still(shard))
    }

    /// A group that would save its owner a hand-over if it came by another queue: of the groups
    /// of a port, which come by `queues`, the first from `first` on.
    pub fn misled(
        &self,
        port: PortId,
        group_bits: u32,
        queues: &[QueueId],
        first: u32,
    ) -> Option<Resteer> {
        let groups = queues.len() as u32;
        let mut all = (0..groups).map(|n| (first + n) % groups);
        all.find_map(|group| self.is_misled(port, group_bits, queues, group))
    }

    /// The same of one group.
    pub fn is_misled(
        &self,
        port: PortId,
        group_bits: u32,
        queues: &[QueueId],
        group: u32,
    ) -> Option<Resteer> {
        let from = *queues.get(group as usize)?;
        let resteer = |to| Resteer {
            port,
            group_bits,
            group,
            from,
            to,
        };
        let owner = self.owner_of_most(resteer(from))?;
        if self.poller(resteer(from).queue(from)) == Some(owner) {
            return None;
        }
        // The queues of a worker are shared out among its groups.
        let polled = self.pollers.iter();
        let polled = polled.filter(|(q, by)| q.port == port && *by == owner);
        let polled: Vec<QueueId> = polled.map(|(q, _)| q.queue).collect();
        let to = polled.get(group as usize % polled.len().max(1))?;
        Some(resteer(*to))
    }

    /// The worker that owns more than half of a group.
    fn owner_of_most(&self, resteer: Resteer) -> Option<WorkerId> {
        let mut owned = vec![0; self.workers];
        let mut all = 0;
        for shard in resteer.shards() {
            all += 1;
            *owned.get_mut(usize::from(self.owner(shard)))? += 1;
        }
        let most = owned.iter().position(|n| n * 2 > all)?;
        Some(WorkerId::at(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits::STEERED_GROUP_BITS;
    use crate::lookup::session_lookup::OwnerTable;
    use crate::migration::protocol::Routes;

    const BITS: u32 = STEERED_GROUP_BITS[0];

    /// Each worker polls a queue of port 0.
    fn mover(workers: usize) -> MigrationController {
        let mut mover = MigrationController::new(OwnerTable::dealt(workers), workers);
        for queue in 0..workers as u16 {
            let (port, queue) = (PortId(0), QueueId(queue));
            mover.polls(Polled { port, queue }, WorkerId(queue.0 as u8));
        }
        mover
    }

    fn dealt(workers: u16) -> Vec<QueueId> {
        let queue = |group| sluice_port::steer::dealt(group, BITS, workers.into());
        let queues = (0..1 << BITS).map(queue);
        queues.map(|queue| QueueId(queue as u16)).collect()
    }

    #[test]
    fn groups_as_they_are_dealt_out_come_to_their_owners() {
        for workers in [2, 3, 5, 8] {
            let (mover, queues) = (mover(workers.into()), dealt(workers));
            assert_eq!(mover.misled(PortId(0), BITS, &queues, 0), None);
        }
    }

    #[test]
    fn a_group_follows_most_of_its_shards_to_a_queue_of_their_owner() {
        let (mut mover, queues) = (mover(2), dealt(2));
        let wanted = Resteer {
            port: PortId(0),
            group_bits: BITS,
            group: 4,
            from: QueueId(0),
            to: QueueId(1),
        };
        let shards: Vec<ShardId> = wanted.shards().collect();
        let half = shards.len() / 2;
        for shard in &shards[..half] {
            mover.owners.set(*shard, WorkerId(1));
        }
        assert_eq!(mover.misled(PortId(0), BITS, &queues, 0), None);
        mover.owners.set(shards[half], WorkerId(1));
        assert_eq!(mover.misled(PortId(0), BITS, &queues, 9), Some(wanted));
        assert_eq!(mover.misled(PortId(1), BITS, &queues, 0), None, "no queues");
        // Its shards stand still, so others' moves begin and theirs do not.
        assert!(mover.hold_group_still(wanted));
        assert!(!mover.hold_group_still(wanted), "already");
        assert!(mover.want(shards[0], WorkerId(0)) && mover.want(ShardId(5), WorkerId(0)));
        assert!(mover.begin().is_some());
        assert_eq!(mover.begin(), None);
    }

    #[test]
    fn a_change_goes_from_stage_to_stage() {
        let change = Resteer {
            port: PortId(0),
            group_bits: 11,
            group: 7,
            from: QueueId(0),
            to: QueueId(1),
        };
        let shards: Vec<ShardId> = change.shards().collect();
        assert_eq!(shards, [ShardId(7), ShardId(2048 + 7)]);
        let mut changes = Resteers::default();
        let other = Resteer {
            port: PortId(1),
            ..change
        };
        changes.begin(&[change, other]);
        assert!(!changes.expecting(ShardId(8)), "not of the group");
        assert!(changes.expecting(shards[0]));
        assert_eq!(changes.next_ready(), None);
        assert!(changes.expecting(shards[1]));
        assert_eq!(changes.next_ready(), Some(change));
        assert_eq!(changes.changed(change), None, "the other port is not");
        assert_eq!(changes.next_ready(), Some(other));
        assert_eq!(changes.next_ready(), None, "each once");
        let queues = changes.changed(other).unwrap();
        assert_eq!(queues[..], [change, other].map(|r| r.queue(QueueId(0))));
        assert_eq!(changes.changed(other), None, "once");
        assert!(changes.ended(shards[0]));
        assert!(!changes.ended(shards[0]), "this was a move of its own");
        assert_eq!(changes.progress(), (0, 1));
        assert!(changes.ended(shards[1]));
        assert_eq!(changes.progress(), (2, 0), "each port's counts");
    }

    #[test]
    fn changes_go_along_that_are_of_one_group_and_the_same_pollers() {
        let mut mover = mover(3);
        for (queue, by) in [(0, 0), (1, 1), (2, 1)] {
            let (port, queue) = (PortId(1), QueueId(queue));
            mover.polls(Polled { port, queue }, WorkerId(by));
        }
        let change = |port, group, from, to| Resteer {
            port: PortId(port),
            group_bits: BITS,
            group,
            from: QueueId(from),
            to: QueueId(to),
        };
        let one = change(0, 4, 0, 1);
        assert!(mover.goes_along(one, change(1, 4, 0, 1)));
        assert!(mover.goes_along(one, change(1, 4, 0, 2)), "the same poller");
        assert!(!mover.goes_along(one, one), "the same port");
        assert!(!mover.goes_along(one, change(1, 5, 0, 1)), "another group");
        assert!(!mover.goes_along(one, change(1, 4, 1, 0)), "the other way");
        assert!(
            !mover.goes_along(one, change(1, 4, 0, 7)),
            "nobody polls it"
        );
        assert!(!mover.goes_along(change(0, 4, 0, 2), change(1, 4, 0, 2)));
    }
}
