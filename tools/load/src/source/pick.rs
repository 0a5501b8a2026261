//! Flow selection for the next packet.

use super::alias::Alias;
use crate::LoadError;

/// How much each UE sends or gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Popularity {
    /// One after the other.
    RoundRobin,
    /// All alike, in random order.
    Uniform,
    /// The UE of rank k as much as k^-exponent; which has which rank is random.
    Zipf {
        /// 0 is uniform, 1 the classical law.
        exponent: f64,
    },
    /// Some UEs share a part of all packets; the rest goes to the others alike.
    Hot {
        ues: Vec<u32>,
        /// The part of these UEs, from 0 to 1.
        share: f64,
    },
}

#[derive(Debug)]
pub(crate) enum Pick {
    RoundRobin {
        next: u32,
        flows: u32,
    },
    Uniform {
        flows: u32,
    },
    Weighted(Alias),
    Hot {
        hot: Vec<u32>,
        cold: Vec<u32>,
        share: f64,
    },
}

impl Pick {
    /// For flows `0..flows`; ranks are given out by `seed`.
    pub(crate) fn new(popularity: &Popularity, flows: u32, seed: u64) -> Result<Self, LoadError> {
        if flows == 0 {
            return Err(LoadError::NoFlows);
        }
        match popularity {
            Popularity::RoundRobin => Ok(Self::RoundRobin { next: 0, flows }),
            Popularity::Uniform => Ok(Self::Uniform { flows }),
            Popularity::Zipf { exponent } => zipf(*exponent, flows, seed),
            Popularity::Hot { ues, share } => hot(ues, *share, flows),
        }
    }

    /// The flow of the next packet.
    #[inline]
    pub(crate) fn draw(&mut self, rng: &mut fastrand::Rng) -> u32 {
        match self {
            Self::RoundRobin { next, flows } => {
                let this = *next;
                *next = if this + 1 < *flows { this + 1 } else { 0 };
                this
            }
            Self::Uniform { flows } => rng.u32(..*flows),
            Self::Weighted(alias) => alias.draw(rng),
            Self::Hot { hot, cold, share } => {
                let is_hot = cold.is_empty() || rng.f64() < *share;
                let of = if is_hot { hot } else { cold };
                of.get(rng.usize(..of.len())).copied().unwrap_or(0)
            }
        }
    }
}

fn zipf(exponent: f64, flows: u32, seed: u64) -> Result<Pick, LoadError> {
    if !(0.0..=10.0).contains(&exponent) {
        return Err(LoadError::Exponent(exponent));
    }
    let mut weights: Vec<f64> = (1..=flows)
        .map(|rank| f64::from(rank).powf(-exponent))
        .collect();
    // Neighbours in number may be neighbours in a table; the popular ones shall not all be.
    fastrand::Rng::with_seed(seed).shuffle(&mut weights);
    Alias::new(&weights).map(Pick::Weighted)
}

fn hot(ues: &[u32], share: f64, flows: u32) -> Result<Pick, LoadError> {
    if let Some(ue) = ues.iter().find(|ue| **ue >= flows) {
        return Err(LoadError::NoSuchUe { ue: *ue, flows });
    }
    if !(0.0..=1.0).contains(&share) {
        return Err(LoadError::Share(share));
    }
    let mut is_hot = vec![false; flows as usize];
    for ue in ues {
        if let Some(flag) = is_hot.get_mut(*ue as usize) {
            *flag = true;
        }
    }
    let (hot, cold): (Vec<u32>, Vec<u32>) =
        (0..flows).partition(|ue| is_hot.get(*ue as usize) == Some(&true));
    match hot.is_empty() {
        true => Err(LoadError::NoFlows),
        false => Ok(Pick::Hot { hot, cold, share }),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;

    fn counts(popularity: &Popularity, flows: u32, draws: u32) -> Vec<u32> {
        let mut pick = Pick::new(popularity, flows, 9).unwrap();
        let mut rng = fastrand::Rng::with_seed(1);
        let mut counts = vec![0; flows as usize];
        (0..draws).for_each(|_| counts[pick.draw(&mut rng) as usize] += 1);
        counts
    }

    #[test]
    fn round_robin_takes_each_in_turn() {
        assert_eq!(counts(&Popularity::RoundRobin, 3, 7), [3, 2, 2]);
    }

    #[test]
    fn uniform_takes_all_alike() {
        let counts = counts(&Popularity::Uniform, 10, 100_000);
        assert!(
            counts.iter().all(|n| (9_500..10_500).contains(n)),
            "{counts:?}"
        );
    }

    #[test]
    fn zipf_follows_its_law() {
        let mut counts = counts(&Popularity::Zipf { exponent: 1.0 }, 100, 200_000);
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let harmonic: f64 = (1..=100).map(|k| 1.0 / f64::from(k)).sum();
        for rank in [1u32, 2, 10] {
            let want = 200_000.0 / harmonic / f64::from(rank);
            let is = f64::from(counts[rank as usize - 1]);
            assert!(
                (is / want - 1.0).abs() < 0.08,
                "rank {rank}: {is}, want {want}"
            );
        }
    }

    #[test]
    fn hot_ues_get_their_share() {
        let popularity = Popularity::Hot {
            ues: vec![3, 7],
            share: 0.8,
        };
        let counts = counts(&popularity, 10, 100_000);
        let hot = counts[3] + counts[7];
        assert!((79_000..81_000).contains(&hot), "{counts:?}");
        assert!(counts[0] > 2_000);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let hot = |ues: &[u32], share| Popularity::Hot {
            ues: ues.to_vec(),
            share,
        };
        for wrong in [
            hot(&[10], 0.5),
            hot(&[], 0.5),
            hot(&[1], 1.5),
            Popularity::Zipf { exponent: -1.0 },
            Popularity::Zipf { exponent: f64::NAN },
        ] {
            assert!(Pick::new(&wrong, 10, 0).is_err(), "{wrong:?}");
        }
        assert!(Pick::new(&Popularity::Uniform, 0, 0).is_err());
    }
}
