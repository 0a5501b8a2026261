//! Levelling: which shards go where, so that no worker has much more to do than another.

use sluice_mem::shard::ShardId;
use sluice_path::worker::WorkerId;

/// A shard's owner and how much came for it lately, in any unit.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Heat {
    /// The shard.
    pub shard: ShardId,
    /// Its owner.
    pub owner: WorkerId,
    /// How much.
    pub heat: u64,
}

/// What to do about an uneven load.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Levelling {
    /// These shards to these workers.
    pub moves: Vec<(ShardId, WorkerId)>,
    /// Shards that alone have far more than a worker's even share: all else goes from their
    /// workers to others.
    pub giants: Vec<ShardId>,
}

/// A shard with so much more than a worker's even share exceeds it.
const GIANT: f64 = 1.25;
/// Below this share of the mean, differences between workers are left alone.
const TOLERANCE: f64 = 0.05;
/// Moves of one levelling: what is left is levelled the next time.
const MOVES_MAX: usize = 64;

/// Levels `heats` over the `active` workers.
pub fn level(heats: &[Heat], active: &[WorkerId]) -> Levelling {
    let mut levelling = Levelling::default();
    let total: u64 = heats.iter().map(|h| h.heat).sum();
    if active.len() < 2 || total == 0 {
        return levelling;
    }
    let even = total / active.len() as u64;
    levelling.giants = heats
        .iter()
        .filter(|h| h.heat as f64 > even as f64 * GIANT)
        .map(|h| h.shard)
        .collect();
    let mut sums: Vec<(WorkerId, u64)> = active.iter().map(|w| (*w, 0)).collect();
    for heat in heats {
        if let Some((_, sum)) = sums.iter_mut().find(|(w, _)| *w == heat.owner) {
            *sum += heat.heat;
        }
    }
    let mut hottest_first: Vec<Heat> = heats.iter().filter(|h| h.heat > 0).copied().collect();
    hottest_first.sort_by(|a, b| b.heat.cmp(&a.heat).then(a.shard.cmp(&b.shard)));
    let tolerance = (even as f64 * TOLERANCE) as u64;
    while levelling.moves.len() < MOVES_MAX {
        let Some((from, to, gap)) = extremes(&sums).filter(|(.., gap)| *gap > 2 * tolerance) else {
            break;
        };
        // The hottest that does not turn the gap round; shards cooler than a noise would take
        // many moves for nothing.
        let pick = hottest_first
            .iter_mut()
            .find(|h| h.owner == from && h.heat <= gap / 2 && h.heat > 0);
        let Some(pick) = pick.filter(|h| h.heat * 256 > gap) else {
            break;
        };
        pick.owner = to;
        levelling.moves.push((pick.shard, to));
        for (worker, sum) in &mut sums {
            if *worker == from {
                *sum -= pick.heat;
            } else if *worker == to {
                *sum += pick.heat;
            }
        }
    }
    levelling
}

/// The worker with most, the one with least, and how far they are apart.
fn extremes(sums: &[(WorkerId, u64)]) -> Option<(WorkerId, WorkerId, u64)> {
    let most = sums.iter().max_by_key(|(_, sum)| *sum)?;
    let least = sums.iter().min_by_key(|(_, sum)| *sum)?;
    Some((most.0, least.0, most.1 - least.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn heats(of: &[(u8, u64)]) -> Vec<Heat> {
        let numbered = of.iter().zip(0..);
        let heat = |((owner, heat), shard): (&(u8, u64), u16)| Heat {
            shard: ShardId(shard),
            owner: *owner,
            heat: *heat,
        };
        numbered.map(heat).collect()
    }

    fn sums(heats: &[Heat], levelling: &Levelling, workers: u8) -> Vec<u64> {
        let owner = |h: &Heat| {
            let moved = levelling.moves.iter().find(|(shard, _)| *shard == h.shard);
            moved.map_or(h.owner, |(_, to)| *to)
        };
        let sum = |w| heats.iter().filter(|h| owner(h) == w).map(|h| h.heat).sum();
        (0..workers).map(sum).collect()
    }

    #[test]
    fn heavy_hitters_on_one_worker_are_shared_out() {
        let mut of = vec![(0, 100); 50];
        of.extend(vec![(0, 1_000); 10]);
        of.extend(vec![(1, 100); 60]);
        let heats = heats(&of);
        let levelling = level(&heats, &[0, 1]);
        let sums = sums(&heats, &levelling, 2);
        assert!(sums[0].abs_diff(sums[1]) <= 1_100, "{sums:?}");
        assert!(levelling.moves.len() < 10, "few moves: {levelling:?}");
        assert!(levelling.giants.is_empty());
    }

    #[test]
    fn a_giant_keeps_its_worker_to_itself() {
        let mut of = vec![(0, 10_000)];
        of.extend(vec![(0, 100); 20]);
        of.extend(vec![(1, 100); 20]);
        let heats = heats(&of);
        let levelling = level(&heats, &[0, 1]);
        assert_eq!(levelling.giants, [ShardId(0)]);
        assert!(
            levelling
                .moves
                .iter()
                .all(|(shard, to)| *shard != ShardId(0) && *to == 1)
        );
        assert_eq!(sums(&heats, &levelling, 2)[0], 10_000);
    }

    #[test]
    fn what_is_level_stays() {
        assert_eq!(
            level(&heats(&[(0, 100), (1, 98)]), &[0, 1]),
            Levelling::default()
        );
        assert_eq!(
            level(&heats(&[(0, 100), (0, 98)]), &[0]),
            Levelling::default()
        );
        assert_eq!(level(&[], &[0, 1]), Levelling::default());
    }
}
