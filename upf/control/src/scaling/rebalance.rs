//! Load balancing: which shards move between which workers.

use sluice_datapath::ids::WorkerId;
use sluice_datapath::limits::{SHARDS, STEERED_GROUP_BITS};
use sluice_mem::shard::ShardId;

/// A shard's owner and how much came for it lately, in any unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShardLoad {
    /// The shard.
    pub shard: ShardId,
    /// Owner of the shard.
    pub owner: WorkerId,
    /// How much.
    pub heat: u64,
}

/// Moves that even out the load.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Rebalance {
    /// These shards to these workers.
    pub moves: Vec<(ShardId, WorkerId)>,
    /// Load that the moves carry, in the unit of the loads.
    pub carried: u64,
    /// Shards that alone have far more than a worker's even share: all else goes from their
    /// workers to others.
    pub giants: Vec<ShardId>,
}

/// A shard with so much more than a worker's even share exceeds it.
const GIANT: f64 = 1.25;
/// Moves of one levelling: what is left is levelled the next time. Load that is spread over a
/// worker's thousands of shards takes hundreds of moves; at a microsecond or two each they are over
/// before the next look.
const MOVES_MAX: usize = 1024;
/// All moves of a levelling, of shards as hot as its next one, have to carry at least one in so many
/// of the gap.
const WORTH: u64 = 8;

/// Levels the loads of the workers that work: what each has to do, of which `heats` (in the same
/// unit) can go to others. Differences below `tolerance`, as a share of the mean and on either side of
/// it, are left alone.
pub fn level(shard_loads: &[ShardLoad], loads: &[(WorkerId, u64)], tolerance: f64) -> Rebalance {
    let mut levelling = Rebalance::default();
    let total: u64 = loads.iter().map(|(_, load)| load).sum();
    if loads.len() < 2 || total == 0 {
        return levelling;
    }
    let even = total / loads.len() as u64;
    let giant = even as f64 * GIANT;
    let giants = shard_loads.iter().filter(|h| h.heat as f64 > giant);
    levelling.giants = giants.map(|h| h.shard).collect();
    let mut loads: Vec<WorkerLoad> = loads.iter().map(|l| WorkerLoad::of(*l)).collect();
    for heat in shard_loads.iter().filter(|h| h.heat > 0) {
        if let Some(load) = loads.iter_mut().find(|l| l.worker == heat.owner) {
            load.shards.push(rank(heat));
        }
    }
    let tolerance = (even as f64 * tolerance) as u64;
    let mut last = None;
    while levelling.moves.len() < MOVES_MAX {
        let Some((from, to, gap)) = extremes(&loads).filter(|(.., gap)| *gap > 2 * tolerance)
        else {
            break;
        };
        // With shards so cool all moves together would be for next to nothing.
        let pick = loads[from].next(gap / 2);
        let Some(pick) = pick.filter(|h| h.heat * WORTH * MOVES_MAX as u64 > gap) else {
            break;
        };
        let to = along(last, pick, from, &loads).unwrap_or(to);
        last = Some((group(pick.shard), to));
        levelling.moves.push((pick.shard, loads[to].worker));
        levelling.carried += pick.heat;
        loads[from].sum = loads[from].sum.saturating_sub(pick.heat);
        loads[to].sum += pick.heat;
    }
    levelling
}

/// Shards that a port steers together.
fn group(shard: ShardId) -> u16 {
    shard.0 % (1 << STEERED_GROUP_BITS[0])
}

/// Worker of the last moved shard, if this one is of its group: a port steers a group only to the worker that has most
/// of its shards. None if that worker had more load then than the one that gives up the shard.
fn along(
    last: Option<(u16, usize)>,
    pick: ShardLoad,
    from: usize,
    loads: &[WorkerLoad],
) -> Option<usize> {
    let (_, to) = last.filter(|(of, _)| *of == group(pick.shard))?;
    let fits = loads[to].sum + pick.heat <= loads[from].sum.saturating_sub(pick.heat);
    (to != from && fits).then_some(to)
}

/// Load of one worker.
struct WorkerLoad {
    worker: WorkerId,
    sum: u64,
    /// Shards by [`rank`] that may still move.
    shards: Vec<u64>,
    is_sorted: bool,
}

/// Bits of a group's number and of a shard's.
const NUMBER_BITS: u32 = SHARDS.trailing_zeros();
/// Heat as far as it counts for the order.
const HEAT_MOST: u64 = u64::MAX >> (2 * NUMBER_BITS);

/// Coolest first. Of those with the same load whole groups go, for a port can steer such elsewhere. One
/// number, for thousands are put in order while a worker waits for relief.
fn rank(heat: &ShardLoad) -> u64 {
    let last = (1 << NUMBER_BITS) - 1;
    let [group, shard] = [group(heat.shard), heat.shard.0].map(u64::from);
    let place = (last - group.min(last)) << NUMBER_BITS | (last - shard.min(last));
    heat.heat.min(HEAT_MOST) << (2 * NUMBER_BITS) | place
}

/// The shard that has this rank.
fn ranked(rank: u64, owner: WorkerId) -> ShardLoad {
    let last = (1 << NUMBER_BITS) - 1;
    ShardLoad {
        shard: ShardId((last - (rank & last)) as u16),
        owner,
        heat: rank >> (2 * NUMBER_BITS),
    }
}

impl WorkerLoad {
    fn of((worker, sum): (WorkerId, u64)) -> Self {
        Self {
            worker,
            sum,
            shards: Vec::new(),
            is_sorted: false,
        }
    }

    /// Hottest shard with at most this load. A hotter one would reverse the gap, and gaps may only become smaller.
    fn next(&mut self, most: u64) -> Option<ShardLoad> {
        if !self.is_sorted {
            self.shards.sort_unstable();
            self.is_sorted = true;
        }
        loop {
            let hottest = ranked(self.shards.pop()?, self.worker);
            if hottest.heat <= most {
                return Some(hottest);
            }
        }
    }
}

/// The worker with most, the one with least (their places), and how far they are apart.
fn extremes(loads: &[WorkerLoad]) -> Option<(usize, usize, u64)> {
    let numbered = || loads.iter().enumerate().map(|(at, load)| (at, load.sum));
    let most = numbered().max_by_key(|(_, sum)| *sum)?;
    let least = numbered().min_by_key(|(_, sum)| *sum)?;
    Some((most.0, least.0, most.1 - least.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shard_loads(of: &[(u8, u64)]) -> Vec<ShardLoad> {
        let numbered = of.iter().zip(0..);
        let heat = |((owner, heat), shard): (&(u8, u64), u16)| ShardLoad {
            shard: ShardId(shard),
            owner: WorkerId(*owner),
            heat: *heat,
        };
        numbered.map(heat).collect()
    }

    fn loads(shard_loads: &[ShardLoad], workers: u8) -> Vec<(WorkerId, u64)> {
        let of = |w| {
            shard_loads
                .iter()
                .filter(|h| h.owner == w)
                .map(|h| h.heat)
                .sum()
        };
        (0..workers).map(WorkerId).map(|w| (w, of(w))).collect()
    }

    fn levelled(shard_loads: &[ShardLoad], workers: u8) -> Rebalance {
        level(shard_loads, &loads(shard_loads, workers), 0.05)
    }

    fn sums(shard_loads: &[ShardLoad], levelling: &Rebalance, workers: u8) -> Vec<u64> {
        let owner = |h: &ShardLoad| {
            let moved = levelling.moves.iter().find(|(shard, _)| *shard == h.shard);
            moved.map_or(h.owner, |(_, to)| *to)
        };
        let sum = |w| {
            shard_loads
                .iter()
                .filter(|h| owner(h) == w)
                .map(|h| h.heat)
                .sum()
        };
        (0..workers).map(WorkerId).map(sum).collect()
    }

    #[test]
    fn heavy_hitters_on_one_worker_are_shared_out() {
        let mut of = vec![(0, 100); 50];
        of.extend(vec![(0, 1_000); 10]);
        of.extend(vec![(1, 100); 60]);
        let shard_loads = shard_loads(&of);
        let levelling = levelled(&shard_loads, 2);
        let sums = sums(&shard_loads, &levelling, 2);
        assert!(sums[0].abs_diff(sums[1]) <= 1_100, "{sums:?}");
        assert!(levelling.moves.len() < 10, "few moves: {levelling:?}");
        assert!(levelling.giants.is_empty());
    }

    #[test]
    fn a_worker_without_work_gets_half_of_what_is_spread_over_all_shards_of_the_other() {
        let shard_loads = shard_loads(&[(0, 10); 2048]);
        let levelling = levelled(&shard_loads, 2);
        let sums = sums(&shard_loads, &levelling, 2);
        assert!(sums[1] >= 9_500, "{sums:?}");
    }

    #[test]
    fn groups_that_a_port_steers_go_whole_whoever_has_least_meanwhile() {
        let mut of = vec![(0, 100); 4096];
        for (shard, heat) in of.iter_mut().enumerate() {
            *heat = ((shard % 4) as u8, if shard % 4 == 0 { 40 } else { 10 });
        }
        let shard_loads = shard_loads(&of);
        let levelling = levelled(&shard_loads, 4);
        let sums = sums(&shard_loads, &levelling, 4);
        assert!(
            sums.iter().all(|sum| (17_000..19_200).contains(sum)),
            "{sums:?}"
        );
        let mut split = 0;
        for of in 0..1 << STEERED_GROUP_BITS[0] {
            let moves = levelling.moves.iter();
            let to: Vec<_> = moves
                .filter(|(s, _)| group(*s) == of)
                .map(|m| m.1)
                .collect();
            split += usize::from(to.iter().any(|worker| *worker != to[0]));
        }
        assert!(split <= 3, "{split} groups are split");
    }

    #[test]
    fn a_giant_keeps_its_worker_to_itself() {
        let mut of = vec![(0, 10_000)];
        of.extend(vec![(0, 100); 20]);
        of.extend(vec![(1, 100); 20]);
        let shard_loads = shard_loads(&of);
        let levelling = levelled(&shard_loads, 2);
        assert_eq!(levelling.giants, [ShardId(0)]);
        assert!(
            levelling
                .moves
                .iter()
                .all(|(shard, to)| *shard != ShardId(0) && *to == WorkerId(1))
        );
        assert_eq!(sums(&shard_loads, &levelling, 2)[0], 10_000);
    }

    #[test]
    fn what_is_level_stays() {
        let nothing = Rebalance::default();
        assert_eq!(levelled(&shard_loads(&[(0, 100), (1, 98)]), 2), nothing);
        assert_eq!(levelled(&shard_loads(&[(0, 100), (0, 98)]), 1), nothing);
        assert_eq!(levelled(&[], 2), nothing);
    }

    #[test]
    fn who_is_busy_for_others_gets_no_shards_for_that() {
        let shard_loads = shard_loads(&vec![(1, 10); 100]);
        assert_eq!(
            level(
                &shard_loads,
                &[(WorkerId(0), 990), (WorkerId(1), 1_000)],
                0.05
            ),
            Rebalance::default()
        );
        let moves = level(
            &shard_loads,
            &[(WorkerId(0), 600), (WorkerId(1), 1_000)],
            0.05,
        )
        .moves;
        assert!((15..=20).contains(&moves.len()), "{moves:?}");
    }
}
