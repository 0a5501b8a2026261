//! Alias method: constant-time draws from any distribution (Vose, A Linear Algorithm for Generating
//! Random Numbers with a Given Distribution, 1991.

use crate::LoadError;

/// A table of one column for each thing to be drawn: with a chance the thing itself, otherwise its
/// alias. 8 octets for each.
#[derive(Clone, Debug)]
pub(crate) struct Alias(Vec<Column>);

#[derive(Clone, Copy, Debug)]
struct Column {
    /// The thing itself is drawn when 32 random bits are below this.
    below: u32,
    alias: u32,
}

impl Alias {
    /// From weights, of which there are fewer than 2^32.
    ///
    /// # Errors
    /// If one is negative or not a number, or all are zero.
    pub(crate) fn new(weights: &[f64]) -> Result<Self, LoadError> {
        let total: f64 = weights.iter().sum();
        let is_wrong = |weight: &f64| !weight.is_finite() || *weight < 0.0;
        if weights.iter().any(is_wrong) || !total.is_finite() || total <= 0.0 {
            return Err(LoadError::Weights);
        }
        let scale = weights.len() as f64 / total;
        let mut shares: Vec<f64> = weights.iter().map(|weight| weight * scale).collect();
        let all = 0..weights.len() as u32;
        let share = |shares: &[f64], at: u32| shares.get(at as usize).copied().unwrap_or(0.0);
        let (mut small, mut large): (Vec<u32>, Vec<u32>) =
            all.clone().partition(|at| share(&shares, *at) < 1.0);
        // What is left over at the end, by rounding, is drawn itself.
        let mut columns: Vec<Column> = all
            .map(|alias| Column {
                below: u32::MAX,
                alias,
            })
            .collect();
        while let (Some(less), Some(more)) = (small.pop(), large.pop()) {
            let part = share(&shares, less);
            if let Some(column) = columns.get_mut(less as usize) {
                *column = Column {
                    below: (part * 2f64.powi(32)) as u32,
                    alias: more,
                };
            }
            let rest = share(&shares, more) - (1.0 - part);
            if let Some(share) = shares.get_mut(more as usize) {
                *share = rest;
            }
            if rest < 1.0 {
                small.push(more);
            } else {
                large.push(more);
            }
        }
        Ok(Self(columns))
    }

    /// The place of a thing.
    #[inline]
    pub(crate) fn draw(&self, rng: &mut fastrand::Rng) -> u32 {
        let place = rng.usize(..self.0.len());
        match self.0.get(place) {
            Some(column) if rng.u32(..) >= column.below => column.alias,
            _ => place as u32,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The chance of each thing by the table, exactly.
    fn chances(alias: &Alias) -> Vec<f64> {
        let n = alias.0.len() as f64;
        let mut chances = vec![0.0; alias.0.len()];
        for (place, column) in alias.0.iter().enumerate() {
            let itself = f64::from(column.below) / 2f64.powi(32);
            chances[place] += itself / n;
            chances[column.alias as usize] += (1.0 - itself) / n;
        }
        chances
    }

    proptest! {
        #[test]
        fn the_table_has_the_chances_of_the_weights(
            weights in proptest::collection::vec(0.0f64..100.0, 1..50),
        ) {
            let total: f64 = weights.iter().sum();
            prop_assume!(total > 0.1);
            let alias = Alias::new(&weights).unwrap();
            for (is, weight) in chances(&alias).iter().zip(&weights) {
                prop_assert!((is - weight / total).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn draws_follow_the_table_and_nothing_cannot_be_drawn() {
        let alias = Alias::new(&[1.0, 0.0, 3.0]).unwrap();
        let mut rng = fastrand::Rng::with_seed(3);
        let mut counts = [0; 3];
        (0..40_000).for_each(|_| counts[alias.draw(&mut rng) as usize] += 1);
        assert_eq!(counts[1], 0);
        assert!((29_000..31_000).contains(&counts[2]), "{counts:?}");
        for wrong in [&[][..], &[0.0], &[1.0, -1.0], &[f64::NAN]] {
            assert!(Alias::new(wrong).is_err());
        }
    }
}
