//! Throughput search without loss: RFC 2544, 26.1, as a binary search.

use serde::Serialize;

/// How to search. Rates are in whatever unit the trials have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Search {
    /// First rate of the search: one that is expected to be too high.
    pub highest: f64,
    /// The search ends when the highest good and the lowest bad rate are so near, as a part of
    /// the bad one.
    pub resolution: f64,
    /// The part of packets that may be lost; 0 as in the RFC.
    pub loss_tolerance: f64,
    /// How often it is repeated.
    pub repeats: u32,
}

/// Result of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct SearchResult {
    /// Packets sent, or refused by a port.
    pub sent: u64,
    pub lost: u64,
    /// The generator could not make the rate.
    pub generator_bound: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Tried {
    pub rate: f64,
    pub outcome: SearchResult,
    /// Whether the rate is good.
    pub is_good: bool,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Found {
    /// The highest good rate; 0 if there was none.
    pub rate: f64,
    /// The rate could not be raised for the generator, or there was nothing above to be tried: it
    /// is no figure of what was measured.
    pub is_generators: bool,
    /// All trials, in their order.
    pub trials: Vec<Tried>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Throughput {
    /// The lowest rate that was found.
    pub min: f64,
    /// The one in the middle; of an even number the mean of both.
    pub median: f64,
    pub max: f64,
    /// Whether any of them is the generator's own.
    pub is_generators: bool,
    pub searches: Vec<Found>,
}

/// Rates below this part of the highest are not tried: there is no good one.
const LOWEST: f64 = 1e-4;

impl Search {
    pub fn trials_at_most(&self) -> u32 {
        let halvings = |part: f64| (1.0 / part).log2().ceil() as u32;
        1 + halvings(LOWEST) + halvings(self.resolution.clamp(1e-6, 1.0))
    }

    /// Searches as often as it should; `trial` tries a rate, and gives none to end everything.
    pub fn run(&self, mut trial: impl FnMut(f64) -> Option<SearchResult>) -> Option<Throughput> {
        let searches: Option<Vec<Found>> = (0..self.repeats.max(1))
            .map(|_| self.search(&mut trial))
            .collect();
        let searches = searches?;
        let mut rates: Vec<f64> = searches.iter().map(|found| found.rate).collect();
        rates.sort_by(f64::total_cmp);
        let at = |place: usize| rates.get(place).copied().unwrap_or(0.0);
        let last = rates.len() - 1;
        Some(Throughput {
            min: at(0),
            median: f64::midpoint(at(last / 2), at(last.div_ceil(2))),
            max: at(last),
            is_generators: searches.iter().any(|found| found.is_generators),
            searches,
        })
    }

    fn search(&self, trial: &mut impl FnMut(f64) -> Option<SearchResult>) -> Option<Found> {
        let (mut good, mut bad) = (0.0, None::<(f64, bool)>);
        let mut trials = Vec::new();
        let mut rate = self.highest;
        loop {
            let outcome = trial(rate)?;
            let lost = outcome.lost as f64 / outcome.sent.max(1) as f64;
            let is_good =
                !outcome.generator_bound && outcome.sent > 0 && lost <= self.loss_tolerance;
            trials.push(Tried {
                rate,
                outcome,
                is_good,
            });
            match is_good {
                true => good = rate,
                false => bad = Some((rate, outcome.generator_bound && lost <= self.loss_tolerance)),
            }
            let Some((lowest_bad, _)) = bad else { break };
            let is_near = lowest_bad - good <= lowest_bad * self.resolution.max(1e-6);
            if is_near || lowest_bad < self.highest * LOWEST {
                break;
            }
            rate = (good + lowest_bad) / 2.0;
        }
        Some(Found {
            rate: good,
            // Nothing above was lost by what is measured.
            is_generators: bad.is_none_or(|(_, is_generators)| is_generators),
            trials,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a failed step is a failed test")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SEARCH: Search = Search {
        highest: 1e7,
        resolution: 0.01,
        loss_tolerance: 0.0,
        repeats: 1,
    };

    /// Something that carries so much, and a generator that makes so much.
    fn trial(carries: f64, makes: f64) -> impl FnMut(f64) -> Option<SearchResult> {
        move |rate| {
            let sent = rate.min(makes);
            Some(SearchResult {
                sent: sent as u64,
                lost: (sent - carries).max(0.0) as u64,
                generator_bound: rate > makes,
            })
        }
    }

    proptest! {
        #[test]
        fn what_is_found_is_within_the_resolution(carries in 1e4f64..9.9e6) {
            let found = SEARCH.run(trial(carries, 1e9)).unwrap();
            prop_assert!(found.median <= carries + 1.0);
            prop_assert!(found.median >= carries * 0.99 - 1.0, "{}", found.median);
            prop_assert!(!found.is_generators);
            let trials = found.searches[0].trials.len();
            prop_assert!(trials <= SEARCH.trials_at_most() as usize, "{trials}");
        }

        #[test]
        fn the_generators_own_limit_is_called_that(makes in 1e4f64..9e6) {
            let found = SEARCH.run(trial(1e9, makes)).unwrap();
            prop_assert!(found.is_generators);
            prop_assert!(found.median <= makes);
        }
    }

    #[test]
    fn no_loss_at_the_highest_rate_is_no_figure() {
        let found = SEARCH.run(trial(1e9, 1e9)).unwrap();
        assert!(found.is_generators && found.median == 1e7);
        assert_eq!(found.searches[0].trials.len(), 1);
    }

    #[test]
    fn nothing_that_works_is_found_as_nothing() {
        let found = SEARCH.run(trial(0.0, 1e9)).unwrap();
        assert_eq!((found.median, found.is_generators), (0.0, false));
    }

    #[test]
    fn a_tolerance_raises_what_is_found() {
        let search = Search {
            loss_tolerance: 0.1,
            ..SEARCH
        };
        let found = search.run(trial(1e6, 1e9)).unwrap();
        assert!(
            (found.median / 1.11e6 - 1.0).abs() < 0.02,
            "{}",
            found.median
        );
    }

    #[test]
    fn repeats_tell_their_spread() {
        let mut capacity = [3e6, 1e6, 2e6].into_iter().cycle();
        let (mut carries, mut last) = (0.0, f64::MAX);
        let search = Search {
            repeats: 3,
            ..SEARCH
        };
        let found = search.run(|rate| {
            if rate == 1e7 && last != 1e7 {
                carries = capacity.next().unwrap();
            }
            last = rate;
            trial(carries, 1e9)(rate)
        });
        let found = found.unwrap();
        for (is, want) in [(found.min, 1e6), (found.median, 2e6), (found.max, 3e6)] {
            assert!(is <= want && is > want * 0.98, "{is}, want {want}");
        }
    }

    #[test]
    fn the_middle_of_two_is_between_them() {
        let (mut trials, search) = (
            0,
            Search {
                repeats: 2,
                ..SEARCH
            },
        );
        let found = search.run(|rate| {
            trials += u32::from(rate == 1e7);
            trial(if trials == 1 { 1e6 } else { 3e6 }, 1e9)(rate)
        });
        let found = found.unwrap();
        assert_eq!(found.median, f64::midpoint(found.min, found.max));
        assert!(found.max > 2.9e6 && found.min < 1.1e6, "{found:?}");
    }

    #[test]
    fn a_trial_that_ends_everything_ends_everything() {
        assert!(SEARCH.run(|_| None).is_none());
    }
}
