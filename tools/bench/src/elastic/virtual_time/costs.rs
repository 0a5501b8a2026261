//! Cost model of worker turns, measured on the real workers of the same run.

use super::super::models::{Model, ModelFigures};
use super::super::turns::TurnSample;

/// Number of turns that make a size known: fewer may be turns of interrupted workers, which cost more.
const KNOWN: usize = 50;
/// Multiple of a size's median above which a turn counts as interrupted.
const OUTLIER: f32 = 4.0;
/// A turn that finds nothing, if none was seen.
const IDLE_NS: u32 = 100;

/// Batches by size, up to 2^10 packets.
const SIZES: usize = 11;

/// Nanoseconds a packet, of turns with about so many packets: not sums or means, each is a turn that
/// was.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    by_size: [Vec<f32>; SIZES],
    /// Turns that were interrupted, and left out.
    pub left_out: u64,
}

/// Measured costs of a worker's operations.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// Poll it and execute it.
    pub own: Costs,
    /// Poll it and hand it over.
    pub hand: Costs,
    /// Take it from another worker and execute it.
    pub take: Costs,
    pub idle_ns: Vec<u32>,
    /// Times of moves, from the order to the last token.
    pub moves_ns: Vec<f64>,
}

impl Measured {
    /// From the turns of the real workers, and their moves.
    pub fn of(models: &[ModelFigures], moves_ns: &[f64]) -> Self {
        let mut measured = Self {
            moves_ns: moves_ns.to_vec(),
            ..Self::default()
        };
        for figures in models {
            measured.add(figures.model, &figures.turns);
        }
        measured.settled()
    }

    /// Adds turns of both workers in this model.
    pub fn add(&mut self, model: Model, [near, far]: &[Vec<TurnSample>; 2]) {
        let idle = near.iter().chain(far).filter(|turn| turn.is_idle());
        self.idle_ns.extend(idle.map(|turn| turn.ns));
        match model {
            Model::RunToCompletion => {
                let all = near.iter().chain(far);
                all.for_each(|turn| self.own.add(turn, turn.polled));
            }
            Model::Pipeline => {
                near.iter()
                    .for_each(|turn| self.hand.add(turn, turn.polled));
                far.iter()
                    .for_each(|turn| self.take.add(turn, turn.handed_in));
            }
            Model::Mixed => {}
        }
    }

    /// All was added: without what single turns only tell.
    pub fn settled(mut self) -> Self {
        self.idle_ns.sort_unstable();
        for costs in [&mut self.own, &mut self.hand, &mut self.take] {
            costs.settle();
        }
        self
    }

    /// The median of a turn that finds nothing.
    pub fn idle_turn_ns(&self) -> f64 {
        let median = self.idle_ns.get(self.idle_ns.len() / 2);
        median.copied().unwrap_or(IDLE_NS).max(1).into()
    }

    /// Whether there is something of each kind.
    pub fn is_complete(&self) -> bool {
        let costs = [&self.own, &self.hand, &self.take];
        costs.iter().all(|c| !c.is_empty()) && !self.moves_ns.is_empty()
    }
}

#[cfg(test)]
impl Measured {
    /// A packet takes 50 ns, 20 ns to hand over and 40 ns to take over.
    pub fn fixed() -> Self {
        Self {
            own: Costs::fixed(50.0),
            hand: Costs::fixed(20.0),
            take: Costs::fixed(40.0),
            idle_ns: vec![100],
            moves_ns: vec![5_000.0],
        }
    }
}

impl Costs {
    /// All turns with as many packets take so long.
    pub fn fixed(ns: f32) -> Self {
        Self {
            by_size: core::array::from_fn(|_| vec![ns]),
            left_out: 0,
        }
    }

    /// Turns with 1, 2, 4 and so on packets take so long a packet.
    #[cfg(test)]
    pub fn by_size(ns: &[f32]) -> Self {
        let mut costs = Self::default();
        let known = costs.by_size.iter_mut().zip(ns);
        known.for_each(|(turns, ns)| turns.push(*ns));
        costs
    }

    fn add(&mut self, turn: &TurnSample, packets: u32) {
        if turn.was_interrupted() {
            self.left_out += 1;
        } else if packets > 0 {
            self.by_size[size(packets)].push(turn.ns as f32 / packets as f32);
        }
    }

    fn settle(&mut self) {
        let known = |turns: &Vec<f32>| turns.len() >= KNOWN;
        let keep_all = !self.by_size.iter().any(known);
        for turns in &mut self.by_size {
            if !keep_all && !known(turns) {
                turns.clear();
            }
            turns.sort_by(f32::total_cmp);
            let most = turns.get(turns.len() / 2).map_or(0.0, |ns| ns * OUTLIER);
            let kept = turns.partition_point(|ns| *ns <= most);
            self.left_out += (turns.len() - kept) as u64;
            turns.truncate(kept);
        }
    }

    fn is_empty(&self) -> bool {
        self.by_size.iter().all(Vec::is_empty)
    }

    /// Time of `packets`: that of a random turn with about as many.
    pub fn draw_ns(&self, packets: u32, lot: u64) -> f64 {
        if packets == 0 {
            return 0.0;
        }
        let at = size(packets);
        // The nearest size that was seen.
        let near = (0..SIZES).filter(|s| !self.by_size[*s].is_empty());
        let near = near.min_by_key(|s| s.abs_diff(at));
        let turns = near.map_or(&[][..], |s| &self.by_size[s]);
        let ns = turns.get((lot % turns.len().max(1) as u64) as usize);
        f64::from(ns.copied().unwrap_or_default()) * f64::from(packets)
    }

    /// The median by size, 1, 2, 4 and so on packets; none of sizes that are not known.
    pub fn medians_ns(&self) -> [Option<f64>; SIZES] {
        let sizes = self.by_size.each_ref();
        sizes.map(|turns| turns.get(turns.len() / 2).map(|ns| f64::from(*ns)))
    }

    /// The median for full batches.
    pub fn full_ns(&self) -> f64 {
        let fullest = self.by_size.iter().rev().find(|turns| turns.len() > 100);
        let fullest = fullest.or_else(|| self.by_size.iter().rev().find(|t| !t.is_empty()));
        let mut turns = fullest.cloned().unwrap_or_default();
        turns.sort_by(f32::total_cmp);
        turns
            .get(turns.len() / 2)
            .copied()
            .unwrap_or_default()
            .into()
    }
}

fn size(packets: u32) -> usize {
    (packets.max(1).ilog2() as usize).min(SIZES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_one_of_a_turn_of_about_that_size() {
        let mut costs = Costs::default();
        let turn = |polled, ns| TurnSample {
            polled,
            handed_in: 0,
            handed_out: 0,
            ns,
        };
        for (polled, ns) in [(1, 100), (128, 1_280), (200, 4_000), (128, 10_000_000)] {
            costs.add(&turn(polled, ns), polled);
        }
        assert_eq!(costs.left_out, 1);
        assert_eq!(costs.draw_ns(1, 7), 100.0);
        assert_eq!(costs.draw_ns(0, 7), 0.0);
        assert_eq!(
            (costs.draw_ns(150, 0), costs.draw_ns(150, 1)),
            (1_500.0, 3_000.0)
        );
        assert_eq!(costs.draw_ns(1_000, 0), 10_000.0);
    }

    #[test]
    fn sizes_of_single_turns_and_turns_far_from_all_others_do_not_count() {
        let mut costs = Costs::default();
        costs.by_size[3] = vec![900.0];
        costs.by_size[5] = [vec![100.0; KNOWN - 1], vec![1_000.0]].concat();
        costs.settle();
        assert_eq!(costs.left_out, 1);
        assert_eq!(
            (costs.draw_ns(8, 5), costs.draw_ns(32, KNOWN as u64 - 1)),
            (800.0, 3_200.0)
        );
        let mut few = Costs::default();
        few.by_size[3] = vec![900.0];
        few.settle();
        assert_eq!(few.draw_ns(8, 0), 7_200.0);
    }
}
