//! NIC model of the simulation.

use super::traffic::Traffic;
use super::workers::Workers;
use sluice_control::scaling::scaler::ScaledWorkers;
use sluice_datapath::limits::{MOVES, SHARDS, STEERED_GROUP_BITS};
use sluice_mem::shard::ShardId;

/// Groups of shards that it steers.
const GROUPS: u16 = 1 << STEERED_GROUP_BITS[0];

/// Groups of shards come to the queue of who owns most of their shards, as the daemon steers them; what
/// lies in a queue stays there, and that packets wait for its end does not count.
pub struct Card {
    queues: Vec<usize>,
}

impl Card {
    /// As the shards are dealt at first.
    pub fn of(owners: usize) -> Self {
        let queues = (0..GROUPS).map(|group| usize::from(group) % owners);
        Self {
            queues: queues.collect(),
        }
    }

    /// Steers groups whose shards have moved, when no shard moves any more.
    pub fn follow(&mut self, all: &Workers, traffic: &mut Traffic, now_ns: f64) {
        if all.is_moving() {
            return;
        }
        let shards_of = |group: u16| (group..SHARDS as u16).step_by(GROUPS.into());
        let mut left = MOVES / (SHARDS as usize / usize::from(GROUPS));
        for group in 0..GROUPS {
            let queue = &mut self.queues[usize::from(group)];
            let mut owned = vec![0; all.owned().len()];
            shards_of(group).for_each(|shard| owned[usize::from(all.owner(ShardId(shard)))] += 1);
            let most = owned.iter().position(|n| n * 2 > shards_of(group).count());
            if let Some(to) = most.filter(|to| to != queue && left > 0) {
                traffic.resteer(|shard| shard % GROUPS == group, [*queue, to], now_ns);
                *queue = to;
                left -= 1;
            }
        }
    }
}
