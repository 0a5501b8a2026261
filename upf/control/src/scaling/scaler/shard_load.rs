//! Processing time per shard.

use super::super::rebalance::ShardLoad;
use super::ScaledWorkers;
use sluice_datapath::limits::SHARDS;
use sluice_mem::shard::ShardId;

/// A shard with fewer packets between two looks was seen by a few samples only: it cannot be told
/// apart from others of its worker that had none.
const KNOWN_PACKETS: u64 = 256;

/// The time that each shard took between two looks: a worker's, as its packets were shared out among
/// its shards. It is time that is levelled, for a worker that polls for others is busy with that too.
///
/// Packets are sampled, so those of a worker's shards that were seen by a few samples or none are
/// taken for equal: by chance alone one of them has all of a sample and its neighbour nothing, and to
/// move the first would move next to nothing.
pub fn shard_loads(
    before: &[u64],
    now: &[u64],
    busy_ns: &[u64],
    fleet: &impl ScaledWorkers,
) -> Vec<ShardLoad> {
    let seen = (0..SHARDS as u16).zip(now.iter().zip(before));
    // Where nobody ever sent anything, nothing will come.
    let seen = seen.filter(|(_, (now, _))| **now > 0);
    let mut shard_loads: Vec<ShardLoad> = seen
        .map(|(shard, (now, before))| ShardLoad {
            shard: ShardId(shard),
            owner: fleet.owner(ShardId(shard)),
            heat: now.saturating_sub(*before),
        })
        .collect();
    // Of each worker: all packets, those of unknown shards, and how many these are.
    let mut sums = vec![(0, 0, 0); busy_ns.len()];
    for heat in &shard_loads {
        let Some((all, unknown, count)) = sums.get_mut(usize::from(heat.owner)) else {
            continue;
        };
        *all += heat.heat;
        if heat.heat < KNOWN_PACKETS {
            (*unknown, *count) = (*unknown + heat.heat, *count + 1);
        }
    }
    // Of each worker: the time of an unknown shard, and for what that of others is so many times.
    let shares = sums.iter().zip(busy_ns);
    let shares: Vec<_> = shares
        .map(|((all, unknown, count), busy_ns)| {
            let each_ns = busy_ns * unknown / (all * count).max(1);
            (each_ns, busy_ns, (*all).max(1))
        })
        .collect();
    for heat in &mut shard_loads {
        let share = shares.get(usize::from(heat.owner));
        heat.heat = share.map_or(0, |(unknown_ns, busy_ns, all)| {
            match heat.heat < KNOWN_PACKETS {
                true => *unknown_ns,
                false => *busy_ns * heat.heat / all,
            }
        });
    }
    shard_loads
}
