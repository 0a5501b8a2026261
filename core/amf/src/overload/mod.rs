//! Overload as it is wanted: by the operator, or by load; and how long UEs that are refused for it stay away (T3346;
//! TS 24.501, 5.3.9).

pub(crate) mod access_barring;
pub(crate) mod admission_limits;
pub(crate) mod load_shedding;

use sluice_n1::{T3346_MOST_S, told_t3346_s};
use sluice_n2::Overload;

/// Shortest and longest T3346, in seconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BackOff {
    /// The shortest.
    pub least_s: u32,
    /// The longest.
    pub most_s: u32,
}

impl Default for BackOff {
    /// Some minutes, so that UEs that were refused together do not come back together.
    fn default() -> Self {
        Self {
            least_s: 60,
            most_s: 600,
        }
    }
}

impl BackOff {
    /// Whether UEs can be told so.
    pub(crate) fn is_sound(self) -> bool {
        (2..=self.most_s).contains(&self.least_s) && self.most_s <= T3346_MOST_S
    }

    /// A time of the range, as it is told, from a number that is as likely as any other.
    pub fn choose(self, number: u32) -> u32 {
        let chosen_s = self.least_s + number % (self.most_s - self.least_s + 1);
        told_t3346_s(chosen_s).min(self.most_told_s())
    }

    /// The longest that can be told and is not longer than the range has, or the shortest that can be told.
    fn most_told_s(self) -> u32 {
        let mut told = (self.least_s..=self.most_s).rev();
        let exact = told.find(|time_s| told_t3346_s(*time_s) == *time_s);
        exact.unwrap_or_else(|| told_t3346_s(self.least_s))
    }
}

/// Reasons for an overload of gNBs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Wishes {
    /// The operator, whose wish counts alone: to begin, or not to.
    pub operator: Option<Option<Overload>>,
    /// Load.
    pub load: Option<Overload>,
}

impl Wishes {
    /// Overload Action that results from the reasons.
    pub fn now(self) -> Option<Overload> {
        self.operator.unwrap_or(self.load)
    }

    /// An operator's stop holds until there is no more to do than can be done; then load decides again.
    pub fn settle(&mut self) {
        if self.load.is_none() && self.operator == Some(None) {
            self.operator = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_back_off_is_one_of_the_range_that_can_be_told() {
        let range = |least_s, most_s| BackOff { least_s, most_s };
        assert!(BackOff::default().is_sound());
        assert!(!range(0, 60).is_sound() && !range(61, 60).is_sound());
        assert!(!range(60, T3346_MOST_S + 1).is_sound());
        for range in [range(60, 600), range(2, 2), range(62, 119), range(61, 125)] {
            for number in 0..2_000 {
                let chosen_s = range.choose(number);
                assert_eq!(told_t3346_s(chosen_s), chosen_s, "{range:?}");
                assert!(
                    (range.least_s..=range.most_s).contains(&chosen_s),
                    "{range:?}"
                );
            }
        }
        // None can be told: the shortest that is no shorter.
        assert_eq!(range(121, 121).choose(7), 180);
    }

    #[test]
    fn an_operators_word_counts_until_load_has_passed() {
        let overload = Overload::default();
        let mut wishes = Wishes {
            load: Some(overload),
            ..Wishes::default()
        };
        assert_eq!(wishes.now(), Some(overload));
        wishes.operator = Some(None);
        wishes.settle();
        assert_eq!(wishes.now(), None);
        wishes.load = None;
        wishes.settle();
        wishes.load = Some(overload);
        assert_eq!(wishes.now(), Some(overload));
    }
}
