//! How two samples of one figure stand to each other, and the verdict on it.

use super::history::Series;
use super::rank;
use crate::stats::Summary;
use serde::Serialize;

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
/// More samples than this are told as none that would do.
const NEEDED_MAX: f64 = 1000.0;

/// Judgement on a name.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
pub enum Verdict {
    /// By more than the margin, and chance does not do this.
    #[serde(rename = "slower")]
    Slower,
    /// The same, the other way.
    #[serde(rename = "faster")]
    Faster,
    /// And a slowdown by [`WORTH`] would have been seen.
    #[serde(rename = "no difference shown")]
    NoDifference,
    /// Samples too few, or too far apart.
    #[serde(rename = "cannot tell")]
    CannotTell,
    /// Both runs have it, but it was not divided by a limit.
    #[serde(rename = "shown")]
    Shown,
    /// No comparable run has it.
    #[serde(rename = "new")]
    New,
    /// The last comparable run with these arguments has it, this one has not.
    #[serde(rename = "gone")]
    Gone,
}

/// Two samples of the same figure, both divided by a limit; as the JSON report has it.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Contrast {
    /// The later median by the earlier one, as recorded.
    pub ratio: f64,
    /// The shift of costs by Hodges and Lehmann.
    pub slower_by_percent: f64,
    /// An interval of 95 % around it; none if the samples are too few for one.
    pub interval_percent: Option<[f64; 2]>,
    /// Margin that had to be exceeded.
    pub margin_percent: f64,
    /// That chance makes a difference beyond the margin, in either direction, with all names of the run
    /// taken together; until that is known, of this name alone.
    pub p: f64,
    pub p_alone: f64,
    /// Repetitions of each run that would do, if any number does, where nothing can be told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repetitions_needed: Option<Option<usize>>,
    #[serde(skip)]
    worse: bool,
    #[serde(skip)]
    samples: [usize; 2],
    /// How often a slowdown by [`WORTH`], less the margin, makes the later value the greater one.
    #[serde(skip)]
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
        let worse = rank::compare(&moved(-beyond), &was).greater;
        let better = rank::compare(&moved(beyond), &was).less;
        let differences = differences(&is, &was);
        let median = |values: &[f64]| Summary::of(values.iter().copied()).median;
        let percent = |log: f64| log.exp_m1() * 100.0;
        let p = (2.0 * worse.min(better)).min(1.0);
        // If the only difference between both samples were a shift by what is to be found.
        let shift = (WORTH.max(2.0 * margin)).ln_1p() - beyond;
        let apart = shift + median(&was) - median(&is);
        let won = differences.iter().filter(|d| **d + apart > 0.0).count();
        Self {
            ratio: median(&new.samples) / median(&old.samples),
            slower_by_percent: percent(median(&differences)),
            interval_percent: interval(&differences, [is.len(), was.len()])
                .map(|ends| ends.map(percent)),
            margin_percent: margin * 100.0,
            p,
            p_alone: p,
            repetitions_needed: None,
            worse: worse < better,
            samples: [is.len(), was.len()],
            // One pair more, half won: none is ever sure to win.
            wins: (won as f64 + 0.5) / (differences.len() as f64 + 1.0),
        }
    }

    /// `adjusted`: `p` when all names of the run are taken together; `names`: how many they are.
    pub fn judge(&mut self, adjusted: f64, names: usize) -> Verdict {
        self.p = adjusted;
        if self.differs() {
            return match self.worse {
                true => Verdict::Slower,
                false => Verdict::Faster,
            };
        }
        // A name that stands alone must be able to pass by itself.
        let strict = ALPHA / names.max(1) as f64;
        let [is, was] = self.samples;
        let able = 2.0 * rank::least_p(is, was) <= strict;
        let seen = self
            .interval_percent
            .is_some_and(|[_, high]| high < WORTH * 100.0);
        if able && seen {
            return Verdict::NoDifference;
        }
        self.repetitions_needed = Some(self.needed(strict));
        Verdict::CannotTell
    }

    /// Whether chance is ruled out, for the better or the worse.
    pub fn differs(&self) -> bool {
        self.p <= ALPHA
    }

    /// Samples of each run by which a slowdown that is worth it is found (Noether, 1987).
    fn needed(&self, alpha: f64) -> Option<usize> {
        let reach = rank::quantile(alpha / 2.0) + rank::quantile(1.0 - POWER);
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

fn interval(differences: &[f64], [is, was]: [usize; 2]) -> Option<[f64; 2]> {
    let outside = rank::outside(is, was, INTERVAL_ALPHA)?;
    let low = differences.get(outside)?;
    let high = differences.get(differences.len().checked_sub(outside + 1)?)?;
    Some([*low, *high])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(from: f64, apart: f64, n: usize) -> Series {
        let each = (0..n).map(|i| from * (1.0 + apart * (i as f64 * 0.618_034).fract()));
        Series::ratio("x".into(), "", each)
    }

    /// The verdict of a name that stands alone.
    fn alone(contrast: &mut Contrast) -> Verdict {
        contrast.judge(contrast.p_alone, 1)
    }

    #[test]
    fn what_is_beyond_the_margin_is_told_and_what_is_within_is_not() {
        let old = series(1.2, 0.03, 11);
        let of = |by: f64, noise| Contrast::of(&old, &series(1.2 * by, 0.03, 11), noise);
        let mut slower = of(1.10, 0.0);
        assert_eq!(alone(&mut slower), Verdict::Slower);
        let change = slower.slower_by_percent;
        assert!((change - 10.0).abs() < 1.0, "{slower:?}");
        let [low, high] = slower.interval_percent.unwrap();
        assert!(low > 7.0 && high < 13.0 && low < change && change < high);
        let mut faster = of(0.90, 0.0);
        assert_eq!(alone(&mut faster), Verdict::Faster);
        assert!(faster.p < 1e-5, "{faster:?}");
        let mut within = of(1.02, 0.0);
        assert_eq!(within.p, 1.0);
        assert_eq!(within.judge(1.0, 20), Verdict::NoDifference);
        // Runs of one program lay as far apart: nothing is told.
        let noisy = of(1.10, 0.12);
        assert!(noisy.p > 0.9 && noisy.margin_percent == 12.0, "{noisy:?}");
        // A rate that fell is a slowdown.
        let rate = |from| series(from, 0.02, 11).higher();
        let mut fell = Contrast::of(&rate(0.9), &rate(0.8), 0.0);
        assert_eq!(alone(&mut fell), Verdict::Slower);
        assert!((fell.slower_by_percent - 12.5).abs() < 1.0, "{fell:?}");
        assert!((fell.ratio - 8.0 / 9.0).abs() < 0.01);
    }

    #[test]
    fn too_few_samples_or_such_as_lie_far_apart_are_said_to_be_so() {
        let needed = |mut contrast: Contrast, p: f64, names| {
            assert_eq!(contrast.judge(p, names), Verdict::CannotTell);
            contrast.repetitions_needed.unwrap()
        };
        let mut few = Contrast::of(&series(1.2, 0.02, 5), &series(1.32, 0.02, 5), 0.0);
        assert!((few.p - 2.0 / 252.0).abs() < 1e-12, "{}", few.p);
        // Alone it passes; among ten it cannot, whatever the samples are.
        assert_eq!(alone(&mut few), Verdict::Slower);
        let ten = needed(few.clone(), 10.0 * few.p, 10).unwrap();
        assert!((7..=20).contains(&ten), "{ten}");
        let one = Contrast::of(&series(1.0, 0.0, 1), &series(2.0, 0.0, 1), 0.0);
        assert!(one.interval_percent.is_none() && one.p == 1.0, "{one:?}");
        assert!(needed(one, 1.0, 1).is_some());
        let wild = Contrast::of(&series(1.0, 0.5, 11), &series(1.0, 0.5, 11), 0.0);
        let more = needed(wild.clone(), wild.p, 8).unwrap();
        assert!((40..=400).contains(&more), "{more}");
    }

    #[test]
    fn holm_is_as_in_his_example() {
        // Holm (1979), section 3: the smallest is multiplied by all, the next by one fewer.
        let adjusted = adjust(&[0.04, 0.01, 0.03, 0.005]);
        let want = [0.06, 0.03, 0.06, 0.02];
        let mut both = adjusted.iter().zip(want);
        assert!(both.all(|(a, w)| (a - w).abs() < 1e-12), "{adjusted:?}");
        assert!(adjust(&[]).is_empty());
    }
}
