//! Migration controller: the control core's part in moving shards.

mod resteer;
mod spread;

use crate::ids::{NO_WORKER, WorkerId};
use crate::limits::{MOVES, SHARDS, TOKENS};
use crate::lookup::session_lookup::OwnerTable;
use crate::message::Fence;
use crate::migration::protocol::{MoveShard, Routes};
use crate::tables::Polled;
use sluice_mem::shard::ShardId;
use std::collections::VecDeque;

pub use resteer::Resteer;
pub(crate) use resteer::Resteers;

/// Wishes and moves. The last wish for a shard counts; its moves follow each other.
#[derive(Debug)]
pub struct MigrationController {
    owners: OwnerTable,
    workers: usize,
    /// Where each shard is wanted; [`NO_WORKER`]: where it is.
    wanted: Box<[WorkerId]>,
    /// Shards with a wish, oldest first.
    queue: VecDeque<ShardId>,
    /// What each shard does.
    states: Box<[MoveState]>,
    /// How many move, and how many stand still.
    moving: usize,
    still: usize,
    done: u64,
    /// Who polls which queue.
    pollers: Vec<(Polled, WorkerId)>,
    /// Queues that are to have another poller.
    requeue: VecDeque<(Polled, WorkerId)>,
    requeueing: Vec<Polled>,
}

/// What a shard does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum MoveState {
    /// It is its owner's, and may begin to move.
    Quiet,
    /// It goes to its next owner.
    Moving,
    /// It may not move: its packets are being steered elsewhere.
    Still,
}

/// What may begin now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    /// Every worker is told.
    Shard(MoveShard),
    /// This worker is told.
    Queue(WorkerId, Fence),
}

impl MigrationController {
    pub(crate) fn new(owners: OwnerTable, workers: usize) -> Self {
        Self {
            owners,
            workers,
            wanted: vec![NO_WORKER; SHARDS as usize].into(),
            queue: VecDeque::new(),
            states: vec![MoveState::Quiet; SHARDS as usize].into(),
            moving: 0,
            still: 0,
            done: 0,
            pollers: Vec::new(),
            requeue: VecDeque::new(),
            requeueing: Vec::new(),
        }
    }

    /// The owner of a shard, or its next one while it moves.
    pub fn owner(&self, shard: ShardId) -> WorkerId {
        self.owners.of(shard)
    }

    /// Where a shard will be once all wishes are fulfilled.
    fn destination(&self, shard: ShardId) -> WorkerId {
        let wanted = self.wanted.get(usize::from(shard.0));
        let wanted = wanted.copied().filter(|w| *w != NO_WORKER);
        wanted.unwrap_or_else(|| self.owner(shard))
    }

    /// Shards of each worker, those on their way to it included.
    pub fn owned(&self) -> Vec<u32> {
        let mut counts = vec![0; self.workers];
        for shard in 0..SHARDS {
            if let Some(count) = counts.get_mut(usize::from(self.owners.of_index(shard))) {
                *count += 1;
            }
        }
        counts
    }

    /// Moves over (of shards and of queues), and those under way or waiting.
    pub fn progress(&self) -> (u64, usize) {
        let shards = self.under_way() + self.queue.len();
        (
            self.done,
            shards + self.requeue.len() + self.requeueing.len(),
        )
    }

    /// Receive queues and their pollers, or their next ones while they move.
    pub fn pollers(&self) -> &[(Polled, WorkerId)] {
        &self.pollers
    }

    /// From the start `worker` polls this queue.
    pub(crate) fn polls(&mut self, polled: Polled, worker: WorkerId) {
        self.pollers.push((polled, worker));
    }

    /// The queue shall be polled by `to`. False if there is no such queue or worker.
    pub fn want_queue(&mut self, polled: Polled, to: WorkerId) -> bool {
        let known = self.pollers.iter().any(|(queue, _)| *queue == polled);
        let able = known && usize::from(to) < self.workers;
        if able {
            self.requeue.push_back((polled, to));
        }
        able
    }

    /// Whether a shard is on its way, or steered elsewhere just now.
    pub fn is_moving(&self, shard: ShardId) -> bool {
        let state = self.states.get(usize::from(shard.0));
        state.is_some_and(|state| *state != MoveState::Quiet)
    }

    /// Shards that move or stand still.
    fn under_way(&self) -> usize {
        self.moving + self.still
    }

    /// Whether a shard is moving, or about to.
    pub fn is_unsettled(&self, shard: ShardId) -> bool {
        self.is_moving(shard) || self.queue.contains(&shard)
    }

    /// The shard shall go to `to`. False if there is no such shard or worker.
    pub fn want(&mut self, shard: ShardId, to: WorkerId) -> bool {
        let Some(wanted) = self.wanted.get_mut(usize::from(shard.0)) else {
            return false;
        };
        if usize::from(to) >= self.workers {
            return false;
        }
        if *wanted == NO_WORKER {
            self.queue.push_back(shard);
        }
        *wanted = to;
        true
    }

    /// The next move to begin, if one may. Queues wait until no shard moves, and shards until no
    /// queue does.
    pub(crate) fn begin(&mut self) -> Option<Begin> {
        if self.requeue.is_empty() && self.requeueing.is_empty() {
            return self.begin_shard().map(Begin::Shard);
        }
        if self.under_way() > 0 || self.requeueing.len() >= MOVES.min(TOKENS / self.workers) {
            return None;
        }
        self.begin_queue()
    }

    fn begin_queue(&mut self) -> Option<Begin> {
        while let Some((polled, to)) = self.requeue.pop_front() {
            if self.requeueing.contains(&polled) {
                self.requeue.push_front((polled, to));
                return None;
            }
            let at = self.pollers.iter_mut().find(|(queue, _)| *queue == polled);
            let Some((_, poller)) = at.filter(|(_, poller)| *poller != to) else {
                continue;
            };
            let from = core::mem::replace(poller, to);
            self.requeueing.push(polled);
            return Some(Begin::Queue(from, Fence { polled, to }));
        }
        None
    }

    /// A queue is polled by its next poller.
    pub(crate) fn requeued(&mut self, polled: Polled) {
        self.requeueing.retain(|queue| *queue != polled);
        self.done += 1;
    }

    fn begin_shard(&mut self) -> Option<MoveShard> {
        for _ in 0..self.queue.len() {
            if !self.has_room_for(1, self.workers) {
                return None;
            }
            let shard = self.queue.pop_front()?;
            if self.is_moving(shard) {
                self.queue.push_back(shard);
                continue;
            }
            let to = core::mem::replace(&mut self.wanted[usize::from(shard.0)], NO_WORKER);
            let from = self.owners.of(shard);
            if from != to {
                self.owners.set(shard, to);
                self.states[usize::from(shard.0)] = MoveState::Moving;
                self.moving += 1;
                return Some(MoveShard { shard, from, to });
            }
        }
        None
    }

    /// Keeps a shard where it is until [`ended`](Self::ended). False if it is moving, or too
    /// many others are.
    pub(crate) fn hold_still(&mut self, shard: ShardId) -> bool {
        let may = !self.is_moving(shard) && self.has_room_for(1, 1);
        if may {
            self.states[usize::from(shard.0)] = MoveState::Still;
            self.still += 1;
        }
        may
    }

    /// Shards that may stand still for changes of steering at a time.
    pub fn still_at_a_time(&self) -> usize {
        MOVES.min(TOKENS)
    }

    /// Whether so many shards more may be under way, each with so many tokens on a ring.
    fn has_room_for(&self, shards: usize, tokens: usize) -> bool {
        let taken = self.moving * self.workers + self.still;
        self.under_way() + shards <= MOVES && taken + shards * tokens <= TOKENS
    }

    /// A move is over, or the shard need not stand still any more.
    pub(crate) fn ended(&mut self, shard: ShardId) {
        self.done += u64::from(self.settle(shard));
    }

    /// A shard that stood still may move again.
    pub(crate) fn stood_still(&mut self, shard: ShardId) {
        self.settle(shard);
    }

    /// Whether it did anything.
    fn settle(&mut self, shard: ShardId) -> bool {
        let Some(state) = self.states.get_mut(usize::from(shard.0)) else {
            return false;
        };
        match core::mem::replace(state, MoveState::Quiet) {
            MoveState::Quiet => return false,
            MoveState::Moving => self.moving -= 1,
            MoveState::Still => self.still -= 1,
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wish_counts_and_moves_of_a_shard_follow_each_other() {
        let mut mover = MigrationController::new(OwnerTable::dealt(2), 2);
        let shard = ShardId(4);
        assert!(mover.want(shard, WorkerId(1)) && mover.want(shard, WorkerId(0)));
        assert_eq!(mover.begin_shard(), None, "it is there already");
        assert!(mover.want(shard, WorkerId(1)));
        let turn = |from, to| {
            let [from, to] = [from, to].map(WorkerId);
            Some(MoveShard { shard, from, to })
        };
        assert_eq!(mover.begin_shard(), turn(0, 1));
        assert!(mover.want(shard, WorkerId(0)));
        assert_eq!(mover.begin_shard(), None, "still moving");
        mover.ended(shard);
        assert_eq!(mover.begin_shard(), turn(1, 0));
        assert!(!mover.want(shard, WorkerId(2)) && !mover.want(ShardId(4096), WorkerId(0)));
    }

    #[test]
    fn moves_under_way_are_bounded() {
        let mut mover = MigrationController::new(OwnerTable::dealt(2), 2);
        (0..SHARDS as u16).for_each(|s| assert!(mover.want(ShardId(s), WorkerId(1))));
        let begun = std::iter::from_fn(|| mover.begin_shard()).count();
        assert_eq!(begun, TOKENS / 2, "each takes a token for each worker");
        let begun = begun as u32;
        assert_eq!(mover.owned(), [2048 - begun, 2048 + begun]);
        // There is no token left for shards that stand still, until a move is over.
        assert!(!mover.hold_still(ShardId(4095)));
        mover.ended(ShardId(0));
        mover.ended(ShardId(0));
        assert!(mover.hold_still(ShardId(4095)) && mover.hold_still(ShardId(4093)));
        assert!(!mover.hold_still(ShardId(4091)));
    }
}
