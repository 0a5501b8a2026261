//! The control core's part in moving shards: who owns what, what is wanted, what is under way.

mod spread;
mod steer;

pub use steer::Resteer;
pub(crate) use steer::Resteers;

use crate::limits::{MOVES, RESERVED, SHARDS};
use crate::moves::{Routes, Turn};
use crate::requeue::Fence;
use crate::tables::Polled;
use crate::worker::{NOBODY, OwnerTable, WorkerId};
use sluice_mem::shard::ShardId;
use std::collections::VecDeque;

/// Wishes and moves. The last wish for a shard counts; its moves follow each other.
#[derive(Debug)]
pub struct Mover {
    owners: OwnerTable,
    workers: usize,
    /// Where each shard is wanted; [`NOBODY`]: where it is.
    wanted: Box<[WorkerId]>,
    /// Shards with a wish, oldest first.
    queue: VecDeque<ShardId>,
    moving: Vec<ShardId>,
    done: u64,
    /// Who polls which queue.
    pollers: Vec<(Polled, WorkerId)>,
    /// Queues that are to have another poller.
    requeue: VecDeque<(Polled, WorkerId)>,
    requeueing: Vec<Polled>,
}

/// What may begin now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Begin {
    /// Every worker is told.
    Shard(Turn),
    /// This worker is told.
    Queue(WorkerId, Fence),
}

impl Mover {
    pub(crate) fn new(owners: OwnerTable, workers: usize) -> Self {
        Self {
            owners,
            workers,
            wanted: vec![NOBODY; SHARDS as usize].into(),
            queue: VecDeque::new(),
            moving: Vec::with_capacity(MOVES),
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
        let wanted = wanted.copied().filter(|w| *w != NOBODY);
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
        let shards = self.moving.len() + self.queue.len();
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
        self.moving.contains(&shard)
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
        if *wanted == NOBODY {
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
        if !self.moving.is_empty() || self.requeueing.len() >= self.limit() {
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

    fn begin_shard(&mut self) -> Option<Turn> {
        let limit = self.limit();
        for _ in 0..self.queue.len() {
            if self.moving.len() >= limit {
                return None;
            }
            let shard = self.queue.pop_front()?;
            if self.moving.contains(&shard) {
                self.queue.push_back(shard);
                continue;
            }
            let to = core::mem::replace(&mut self.wanted[usize::from(shard.0)], NOBODY);
            let from = self.owners.of(shard);
            if from != to {
                self.owners.set(shard, to);
                self.moving.push(shard);
                return Some(Turn { shard, from, to });
            }
        }
        None
    }

    /// Keeps a shard where it is until [`ended`](Self::ended). False if it is moving, or too
    /// many others are.
    pub(crate) fn hold_still(&mut self, shard: ShardId) -> bool {
        let still = !self.moving.contains(&shard) && self.moving.len() < self.limit();
        if still {
            self.moving.push(shard);
        }
        still
    }

    /// Shards that may move, or stand still for a change of steering, at a time.
    pub fn moves_at_a_time(&self) -> usize {
        self.limit()
    }

    fn limit(&self) -> usize {
        MOVES.min(RESERVED / self.workers)
    }

    /// A move is over.
    pub(crate) fn ended(&mut self, shard: ShardId) {
        self.done += u64::from(self.stood_still(shard));
    }

    /// A shard that stood still may move again. False if it did not.
    pub(crate) fn stood_still(&mut self, shard: ShardId) -> bool {
        let at = self.moving.iter().position(|s| *s == shard);
        at.map(|at| self.moving.swap_remove(at)).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_wish_counts_and_moves_of_a_shard_follow_each_other() {
        let mut mover = Mover::new(OwnerTable::dealt(2), 2);
        let shard = ShardId(4);
        assert!(mover.want(shard, 1) && mover.want(shard, 0));
        assert_eq!(mover.begin_shard(), None, "it is there already");
        assert!(mover.want(shard, 1));
        let turn = |from, to| Some(Turn { shard, from, to });
        assert_eq!(mover.begin_shard(), turn(0, 1));
        assert!(mover.want(shard, 0));
        assert_eq!(mover.begin_shard(), None, "still moving");
        mover.ended(shard);
        assert_eq!(mover.begin_shard(), turn(1, 0));
        assert!(!mover.want(shard, 2) && !mover.want(ShardId(4096), 0));
    }

    #[test]
    fn moves_under_way_are_bounded() {
        let mut mover = Mover::new(OwnerTable::dealt(2), 2);
        (0..SHARDS as u16).for_each(|s| assert!(mover.want(ShardId(s), 1)));
        let begun = std::iter::from_fn(|| mover.begin_shard()).count();
        assert_eq!(begun, MOVES);
        assert_eq!(mover.owned(), [2048 - 32, 2048 + 32]);
    }
}
