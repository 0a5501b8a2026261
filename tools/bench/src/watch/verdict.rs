//! Verdict on one figure: slower, faster, no difference shown, or too little to tell.

use super::rank::{self, Tails};
use super::series::Series;
use crate::stats::Summary;

/// In a run in which nothing became slower or faster, the probability that any name is called so is
/// at most this, however many names there are.
pub const ALPHA: f64 = 0.01;
/// Less is no difference worth telling: two runs of one program lie so far apart, for its memory
/// lies elsewhere each time.
pub const MARGIN: f64 = 0.04;
/// A slowdown by this share is to be found.
pub const WORTH: f64 = 0.10;
/// With this probability, at least: what the number of samples is reckoned by.
const POWER: f64 = 0.9;
/// The interval of the change holds the truth in all but this share of runs.
const INTERVAL_ALPHA: f64 = 0.05;
/// Who needs more samples than this is told that there are none that would do.
const NEEDED_MAX: f64 = 1000.0;

/// What is said of a figure.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Verdict {
    /// By more than the margin, and chance does not do this.
    Slower,
    /// The same, the other way.
    Faster,
    /// And a slowdown by [`WORTH`] would have been seen.
    NoDifference,
    /// Samples too few, or too far apart; so many of each run would do, if any number does.
    CannotTell(Option<usize>),
}

/// How two samples of the same figure stand to each other.
#[derive(Clone, PartialEq, Debug)]
pub struct Contrast {
    /// Of the earlier run, as it was recorded.
    pub old: Summary,
    /// Of the later one.
    pub new: Summary,
    /// The shift of costs by Hodges and Lehmann, as a share: 0.1 is 10 % slower.
    pub change: f64,
    /// An interval of 95 % around it; none if the samples are too few for one.
    pub interval: Option<(f64, f64)>,
    /// What had to be exceeded.
    pub margin: f64,
    /// That chance makes a difference beyond the margin, in either direction; of this name alone.
    pub p: f64,
    /// Whether it is for the worse.
    pub worse: bool,
    samples: [usize; 2],
    /// How often a slowdown by [`WORTH`], less the margin, makes the later value the greater one.
    wins: f64,
}

impl Contrast {
    /// Of two series of the same name, each with samples. `noise`: how far runs of one and the same
    /// program were seen to lie apart, as a share.
    pub fn of(old: &Series, new: &Series, noise: f64) -> Self {
        let margin = MARGIN.max(noise);
        let (was, is) = (old.costs(), new.costs());
        let moved = |by: f64| -> Vec<f64> { is.iter().map(|v| v + by).collect() };
        let beyond = margin.ln_1p();
        let worse: Tails = rank::compare(&moved(-beyond), &was);
        let better: Tails = rank::compare(&moved(beyond), &was);
        let differences = differences(&is, &was);
        let summary = |series: &Series| Summary::of(series.samples.iter().copied());
        Self {
            old: summary(old),
            new: summary(new),
            change: Summary::of(differences.iter().copied()).median.exp_m1(),
            interval: interval(&differences, [is.len(), was.len()]),
            margin,
            p: (2.0 * worse.greater.min(better.less)).min(1.0),
            worse: worse.greater < better.less,
            samples: [is.len(), was.len()],
            wins: wins(&is, &was, (WORTH.max(2.0 * margin)).ln_1p() - beyond),
        }
    }

    /// The later median by the earlier one, as recorded.
    pub fn ratio(&self) -> f64 {
        self.new.median / self.old.median
    }

    /// `adjusted`: `p` when all names of the run are taken together; `names`: how many they are.
    pub fn verdict(&self, adjusted: f64, names: usize) -> Verdict {
        if adjusted <= ALPHA {
            return match self.worse {
                true => Verdict::Slower,
                false => Verdict::Faster,
            };
        }
        // A name that stands alone must be able to pass by itself.
        let strict = ALPHA / names.max(1) as f64;
        let [is, was] = self.samples;
        let able = 2.0 * rank::least_p(is, was) <= strict;
        let seen = self.interval.is_some_and(|(_, high)| high < WORTH);
        match able && seen {
            true => Verdict::NoDifference,
            false => Verdict::CannotTell(self.needed(strict)),
        }
    }

    /// Samples of each run by which a slowdown that is worth it is found (Noether, 1987).
    fn needed(&self, alpha: f64) -> Option<usize> {
        let reach = quantile(alpha / 2.0) + quantile(1.0 - POWER);
        let distance = self.wins - 0.5;
        let by_spread = reach * reach / (6.0 * distance * distance);
        let possible = (1..).find(|n| 2.0 * rank::least_p(*n, *n) <= alpha)?;
        let needed = by_spread.ceil();
        (distance > 0.0 && needed <= NEEDED_MAX).then(|| possible.max(needed as usize))
    }
}

/// Holm's step-down (1979): probabilities that hold for all names together.
pub fn adjust(ps: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|a, b| ps[*a].total_cmp(&ps[*b]));
    let mut adjusted = vec![0.0; ps.len()];
    let mut most: f64 = 0.0;
    for (step, at) in order.into_iter().enumerate() {
        most = most.max(ps[at] * (ps.len() - step) as f64).min(1.0);
        adjusted[at] = most;
    }
    adjusted
}

/// Each later value less each earlier one, sorted.
fn differences(is: &[f64], was: &[f64]) -> Vec<f64> {
    let each = is.iter().flat_map(|is| was.iter().map(move |was| is - was));
    let mut all: Vec<f64> = each.collect();
    all.sort_by(f64::total_cmp);
    all
}

fn interval(differences: &[f64], [is, was]: [usize; 2]) -> Option<(f64, f64)> {
    let outside = rank::outside(is, was, INTERVAL_ALPHA)?;
    let low = differences.get(outside)?;
    let high = differences.get(differences.len().checked_sub(outside + 1)?)?;
    Some((low.exp_m1(), high.exp_m1()))
}

/// The share of pairs in which the later value is the greater one, if the only difference between
/// both samples were a shift.
fn wins(is: &[f64], was: &[f64], shift: f64) -> f64 {
    let median = |values: &[f64]| Summary::of(values.iter().copied()).median;
    let apart = shift + median(was) - median(is);
    let pairs = differences(is, was);
    let won = pairs.iter().filter(|d| **d + apart > 0.0).count();
    // One pair more, half won: none is ever sure to win.
    (won as f64 + 0.5) / (pairs.len() as f64 + 1.0)
}

/// What the normal distribution exceeds with this probability.
fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        match rank::tail(middle) > p {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(from: f64, apart: f64, n: usize) -> Series {
        let each = (0..n).map(|i| from * (1.0 + apart * (i as f64 * 0.618_034).fract()));
        Series::ratio("x".into(), "", each)
    }

    #[test]
    fn what_is_beyond_the_margin_is_told_and_what_is_within_is_not() {
        let old = series(1.2, 0.03, 11);
        let of = |by: f64, noise| Contrast::of(&old, &series(1.2 * by, 0.03, 11), noise);
        let slower = of(1.10, 0.0);
        assert_eq!(slower.verdict(slower.p, 1), Verdict::Slower);
        assert!((slower.change - 0.10).abs() < 0.01, "{slower:?}");
        let (low, high) = slower.interval.unwrap();
        assert!(low > 0.07 && high < 0.13 && low < slower.change && slower.change < high);
        let faster = of(0.90, 0.0);
        assert_eq!(faster.verdict(faster.p, 1), Verdict::Faster);
        assert!(faster.p < 1e-5 && !faster.worse, "{faster:?}");
        let within = of(1.02, 0.0);
        assert_eq!(within.p, 1.0);
        assert_eq!(within.verdict(1.0, 20), Verdict::NoDifference);
        // Runs of one program lay as far apart: nothing is told.
        let noisy = of(1.10, 0.12);
        assert!(noisy.p > 0.9 && noisy.margin == 0.12, "{noisy:?}");
    }

    #[test]
    fn a_rate_that_fell_is_a_slowdown() {
        let rate = |from| series(from, 0.02, 11).higher();
        let contrast = Contrast::of(&rate(0.9), &rate(0.8), 0.0);
        assert_eq!(contrast.verdict(contrast.p, 1), Verdict::Slower);
        assert!((contrast.change - 0.125).abs() < 0.01, "{contrast:?}");
        assert!((contrast.ratio() - 8.0 / 9.0).abs() < 0.01);
    }

    #[test]
    fn too_few_samples_are_said_to_be_so() {
        let few = Contrast::of(&series(1.2, 0.02, 5), &series(1.32, 0.02, 5), 0.0);
        assert!((few.p - 2.0 / 252.0).abs() < 1e-12, "{}", few.p);
        // Alone it passes; among ten it cannot, whatever the samples are.
        assert_eq!(few.verdict(few.p, 1), Verdict::Slower);
        let Verdict::CannotTell(Some(needed)) = few.verdict(10.0 * few.p, 10) else {
            panic!("{few:?}");
        };
        assert!((7..=20).contains(&needed), "{needed}");
        let none = Contrast::of(&series(1.0, 0.0, 1), &series(2.0, 0.0, 1), 0.0);
        assert!(none.interval.is_none() && none.p == 1.0, "{none:?}");
        assert!(matches!(none.verdict(1.0, 1), Verdict::CannotTell(Some(_))));
    }

    #[test]
    fn samples_far_apart_need_more_of_them() {
        let wild = Contrast::of(&series(1.0, 0.5, 11), &series(1.0, 0.5, 11), 0.0);
        let Verdict::CannotTell(Some(needed)) = wild.verdict(wild.p, 8) else {
            panic!("{wild:?}");
        };
        assert!((40..=400).contains(&needed), "{needed}");
        assert!((quantile(0.025) - 1.959_964).abs() < 1e-5);
    }

    #[test]
    fn holm_is_as_in_his_example() {
        // Holm (1979), section 3: the smallest is multiplied by all, the next by one fewer.
        let adjusted = adjust(&[0.04, 0.01, 0.03, 0.005]);
        let want = [0.06, 0.03, 0.06, 0.02];
        assert!(
            adjusted
                .iter()
                .zip(want)
                .all(|(a, w)| (a - w).abs() < 1e-12),
            "{adjusted:?}"
        );
        assert!(adjust(&[]).is_empty());
    }
}
