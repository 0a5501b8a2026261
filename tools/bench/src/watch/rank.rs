//! Rank-sum test of Wilcoxon (1945), Mann and Whitney (1947): do the values of one sample tend to
//! be greater than those of another? Nothing is assumed of their distribution. Small samples are
//! judged by counting, ties included: of all ways to deal the ranks that were seen to two samples,
//! which share is as extreme.

/// Together the samples may have so many values until counting gives way to the normal distribution.
const COUNTED_MAX: usize = 100;

/// Nothing can be said.
const EVEN: Tails = Tails {
    greater: 1.0,
    less: 1.0,
};

/// How likely what was seen would be if both samples came from the same distribution.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Tails {
    /// A first sample as great, or greater.
    pub greater: f64,
    pub less: f64,
}

/// Whether the values of `first` tend to be greater, or less, than those of `second`. Neither holds
/// a NaN.
pub fn compare(first: &[f64], second: &[f64]) -> Tails {
    if first.is_empty() || second.is_empty() {
        return EVEN;
    }
    let ranks = Ranks::of(first, second);
    match ranks.all.len() <= COUNTED_MAX {
        true => counted(&ranks),
        false => approximated(&ranks),
    }
}

/// The least probability that two samples of so many values can show, in one direction.
pub fn least_p(first: usize, second: usize) -> f64 {
    1.0 / ways(first + second, first.min(second))
}

/// How many of the pairwise differences, counted from either end, lie outside an interval that holds
/// the shift between both samples with at least the probability `1 - alpha`. None: no interval does.
pub fn outside(first: usize, second: usize, alpha: f64) -> Option<usize> {
    if first + second > COUNTED_MAX {
        let (mean, deviation) = moments(first, second);
        return Some((mean - quantile(alpha / 2.0) * deviation).max(0.0) as usize);
    }
    let ranks: Vec<usize> = (1..=first + second).collect();
    let dealt = deal(&ranks, first);
    let least = first * (first + 1) / 2;
    let all = ways_of(&dealt);
    let mut sum = 0.0;
    let within = dealt[least..].iter().take_while(|ways| {
        sum += *ways;
        sum / all <= alpha / 2.0
    });
    match within.count() {
        0 => None,
        n => Some(n - 1),
    }
}

/// The normal distribution beyond `z`.
fn tail(z: f64) -> f64 {
    libm::erfc(z / core::f64::consts::SQRT_2) / 2.0
}

/// Value that the normal distribution exceeds with this probability.
pub fn quantile(p: f64) -> f64 {
    let (mut low, mut high) = (-40.0, 40.0);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        match tail(middle) > p {
            true => low = middle,
            false => high = middle,
        }
    }
    low
}

/// Twice the ranks, so that those of ties, which share the mean of their places, are whole.
struct Ranks {
    all: Vec<usize>,
    first: usize,
    first_sum: usize,
}

impl Ranks {
    fn of(first: &[f64], second: &[f64]) -> Self {
        let mut values: Vec<(f64, bool)> = first.iter().map(|v| (*v, true)).collect();
        values.extend(second.iter().map(|v| (*v, false)));
        values.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut all, mut first_sum) = (Vec::with_capacity(values.len()), 0);
        for tied in values.chunk_by(|a, b| a.0 == b.0) {
            let rank = 2 * all.len() + tied.len() + 1;
            first_sum += rank * tied.iter().filter(|(_, is_first)| *is_first).count();
            all.resize(all.len() + tied.len(), rank);
        }
        Self {
            all,
            first: first.len(),
            first_sum,
        }
    }
}

fn counted(ranks: &Ranks) -> Tails {
    // Without ties of an even number of values, halves are whole as well.
    let step = 1 + usize::from(ranks.all.iter().all(|rank| rank.is_multiple_of(2)));
    let all: Vec<usize> = ranks.all.iter().map(|rank| rank / step).collect();
    let dealt = deal(&all, ranks.first);
    let seen = ranks.first_sum / step;
    let share = |ways: &[f64]| ways_of(ways) / ways_of(&dealt);
    Tails {
        greater: share(&dealt[seen..]),
        less: share(&dealt[..=seen]),
    }
}

/// In how many ways `first` of the ranks, which are sorted, make each sum.
fn deal(ranks: &[usize], first: usize) -> Vec<f64> {
    // Sums of the lowest ranks, so many of them.
    let mut lowest = vec![0];
    lowest.extend(ranks.iter().scan(0, |sum, rank| {
        *sum += rank;
        Some(*sum)
    }));
    let most = lowest[ranks.len()] - lowest[ranks.len() - first];
    let mut ways = vec![vec![0.0; most + 1]; first + 1];
    ways[0][0] = 1.0;
    for (seen, rank) in ranks.iter().enumerate() {
        let rest = ranks.len() - seen - 1;
        for taken in (first.saturating_sub(rest).max(1)..=first.min(seen + 1)).rev() {
            let least = lowest[taken - 1];
            let greatest = lowest[seen] - lowest[seen + 1 - taken];
            let (below, here) = ways.split_at_mut(taken);
            let from = &below[taken - 1][least..=greatest];
            let to = here[0][least + rank..].iter_mut();
            to.zip(from).for_each(|(to, from)| *to += from);
        }
    }
    ways.pop().unwrap_or_default()
}

fn ways_of(dealt: &[f64]) -> f64 {
    dealt.iter().sum()
}

/// In how many ways `few` are taken out of `all`.
fn ways(all: usize, few: usize) -> f64 {
    (0..few).fold(1.0, |ways, at| ways * (all - at) as f64 / (at + 1) as f64)
}

/// Mean and standard deviation of the number of pairs whose first is the greater one.
fn moments(first: usize, second: usize) -> (f64, f64) {
    let (n, m) = (first as f64, second as f64);
    (n * m / 2.0, (n * m * (n + m + 1.0) / 12.0).sqrt())
}

/// By the normal distribution, corrected for ties and for steps.
fn approximated(ranks: &Ranks) -> Tails {
    let (n, all) = (ranks.first as f64, ranks.all.len() as f64);
    let m = all - n;
    let wins = ranks.first_sum as f64 / 2.0 - n * (n + 1.0) / 2.0;
    let ties = ranks.all.chunk_by(|a, b| a == b).map(|tied| {
        let t = tied.len() as f64;
        t * t * t - t
    });
    let spread = (all + 1.0) - ties.sum::<f64>() / (all * (all - 1.0));
    let deviation = (n * m / 12.0 * spread).sqrt();
    if deviation == 0.0 {
        return EVEN;
    }
    let beyond = |wins: f64| tail((wins - 0.5 - n * m / 2.0) / deviation);
    Tails {
        greater: beyond(wins),
        less: beyond(n * m - wins),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(a: f64, b: f64) -> bool {
        (a - b).abs() <= 1e-9 * b.abs().max(1e-12)
    }

    /// The number of pairs won that a sample may have at the most to be significantly less, one-sided.
    fn critical(n: usize, m: usize, alpha: f64) -> Option<usize> {
        outside(n, m, 2.0 * alpha)
    }

    #[test]
    fn critical_values_are_those_of_the_published_tables() {
        // Two-sided 5 %, one-sided 2.5 %: Milton (1964), as textbooks print it.
        let table_5 = [
            (4, 4, Some(0)),
            (5, 5, Some(2)),
            (6, 6, Some(5)),
            (7, 7, Some(8)),
            (8, 8, Some(13)),
            (9, 9, Some(17)),
            (10, 10, Some(23)),
            (12, 12, Some(37)),
            (15, 15, Some(64)),
            (20, 20, Some(127)),
            (5, 10, Some(8)),
            (3, 3, None),
        ];
        for (n, m, want) in table_5 {
            assert_eq!(critical(n, m, 0.025), want, "{n} and {m} at 5 %");
        }
        // Two-sided 1 %, one-sided 0.5 %.
        let table_1 = [
            (4, 4, None),
            (5, 5, Some(0)),
            (6, 6, Some(2)),
            (7, 7, Some(4)),
            (8, 8, Some(7)),
            (10, 10, Some(16)),
            (15, 15, Some(51)),
            (20, 20, Some(105)),
        ];
        for (n, m, want) in table_1 {
            assert_eq!(critical(n, m, 0.005), want, "{n} and {m} at 1 %");
        }
    }

    #[test]
    fn probabilities_are_those_of_mann_and_whitney() {
        // Their Table I, n = m = 4: U = 0, 1, 2, 3, 4 have 0.014, 0.029, 0.057, 0.100, 0.171.
        let second = [10.0, 20.0, 30.0, 40.0];
        let firsts = [
            ([1.0, 2.0, 3.0, 4.0], 1.0),
            ([1.0, 2.0, 3.0, 11.0], 2.0),
            ([1.0, 2.0, 3.0, 21.0], 4.0),
            ([1.0, 2.0, 3.0, 31.0], 7.0),
            ([1.0, 2.0, 3.0, 41.0], 12.0),
        ];
        for (first, ways) in firsts {
            let tails = compare(&first, &second);
            assert!(near(tails.less, ways / 70.0), "{first:?}: {tails:?}");
            let mirrored = compare(&second, &first);
            assert!(near(mirrored.greater, tails.less), "{first:?}");
        }
        assert!(near(least_p(4, 4), 1.0 / 70.0));
        assert!(near(least_p(5, 5), 1.0 / 252.0));
    }

    #[test]
    fn ties_are_counted_and_not_approximated() {
        // Ranks 1, 2.5, 2.5, 4: of six ways one gives 6.5, one 6.5 again: both tied values.
        let tails = compare(&[2.0, 3.0], &[1.0, 2.0]);
        assert!(near(tails.greater, 2.0 / 6.0), "{tails:?}");
        let same = compare(&[1.0; 5], &[1.0; 5]);
        assert_eq!((same.greater, same.less), (1.0, 1.0));
        let many = compare(&[1.0; 80], &[1.0; 80]);
        assert_eq!((many.greater, many.less), (1.0, 1.0));
    }

    #[test]
    fn many_values_are_judged_as_if_they_had_been_counted() {
        let values = |from: f64, n: usize| -> Vec<f64> {
            let wild = |i: usize| from + (i as f64 * 0.618_034).fract();
            (0..n).map(wild).collect()
        };
        let (first, second) = (values(0.08, 50), values(0.0, 50));
        let ranks = Ranks::of(&first, &second);
        let (exact, normal) = (counted(&ranks), approximated(&ranks));
        assert!((exact.greater - normal.greater).abs() < 0.002, "{exact:?}");
        assert!((exact.less - normal.less).abs() < 0.002, "{normal:?}");
        assert!(exact.greater < 0.1 && exact.less > 0.9);
        let (counted, reckoned) = (outside(50, 50, 0.05), outside(51, 50, 0.05));
        let apart = reckoned.unwrap() - counted.unwrap();
        assert!((0..=50).contains(&apart), "{counted:?} {reckoned:?}");
        assert!((quantile(0.025) - 1.959_964).abs() < 1e-5);
    }
}
