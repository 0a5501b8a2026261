//! Subscriptions to events: bounded in number, in reports and in time.

use std::collections::{BTreeMap, BTreeSet};

use sluice_ids::Supi;

use crate::exposure::ForUe;
use crate::field::Problem;
use crate::time::{Instant, Now};

/// How long a subscription lasts at most: a day.
pub const SUBSCRIPTION_S: u64 = 86_400;

struct Subscription<W> {
    of: ForUe,
    wanted: W,
    /// Most reports; 0 is no bound.
    most: u32,
    /// Reports that are left; none without a bound.
    left: Option<u32>,
    until: Instant,
}

/// Subscriptions of a function, each with what is wanted by it.
pub struct Subscriptions<W> {
    all: BTreeMap<u64, Subscription<W>>,
    by_ue: BTreeSet<(Supi, u64)>,
    of_any: BTreeSet<u64>,
    ends: BTreeSet<(Instant, u64)>,
    bounds: (usize, usize),
}

/// End of a subscription as it is wanted, at the latest when all end; 0 is as late as possible.
///
/// # Errors
/// The end has passed already.
pub fn end_of_subscription(now: Now, wanted_unix_s: u64) -> Result<(Instant, u64), Problem> {
    let latest = now.unix_s.saturating_add(SUBSCRIPTION_S);
    let until_unix_s = match wanted_unix_s {
        0 => latest,
        wanted => wanted.min(latest),
    };
    let left_s = until_unix_s.checked_sub(now.unix_s).filter(|s| *s > 0);
    let left_s = left_s.ok_or(Problem::Protocol)?;
    Ok((now.instant.plus_ms(left_s * 1000), until_unix_s))
}

impl<W> Subscriptions<W> {
    /// For so many in all, and so many of all UEs.
    pub fn new(most: usize, most_of_any: usize) -> Self {
        Self {
            all: BTreeMap::new(),
            by_ue: BTreeSet::new(),
            of_any: BTreeSet::new(),
            ends: BTreeSet::new(),
            bounds: (most, most_of_any),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether there is room for one more.
    pub fn has_room(&self, of: ForUe) -> bool {
        let (most, most_of_any) = self.bounds;
        let is_any = of.one().is_none();
        self.all.len() < most && !(is_any && self.of_any.len() >= most_of_any)
    }

    /// Whether there is one of this name.
    pub fn has(&self, id: u64) -> bool {
        self.all.contains_key(&id)
    }

    /// Puts one, or another in its place, whose reports go on to be counted if they have the same bound.
    pub fn insert(&mut self, id: u64, of: ForUe, (wanted, most): (W, u32), until: Instant) {
        let before = self.all.get(&id);
        let left = match before.filter(|before| before.most == most) {
            Some(before) => before.left,
            None => (most > 0).then_some(most),
        };
        self.remove(id);
        match of.one() {
            Some(supi) => self.by_ue.insert((supi, id)),
            None => self.of_any.insert(id),
        };
        self.ends.insert((until, id));
        self.all.insert(
            id,
            Subscription {
                of,
                wanted,
                most,
                left,
                until,
            },
        );
    }

    /// Ends one; false if there is none of this name.
    pub fn remove(&mut self, id: u64) -> bool {
        let Some(subscription) = self.all.remove(&id) else {
            return false;
        };
        match subscription.of.one() {
            Some(supi) => self.by_ue.remove(&(supi, id)),
            None => self.of_any.remove(&id),
        };
        self.ends.remove(&(subscription.until, id));
        true
    }

    /// Part that is wanted by one, and whether it is of one UE alone.
    pub fn get(&self, id: u64) -> Option<(&W, bool)> {
        let subscription = self.all.get(&id)?;
        Some((&subscription.wanted, subscription.of.one().is_some()))
    }

    /// Subscriptions of one UE alone.
    pub fn of_ue(&self, supi: Supi) -> Vec<u64> {
        let its = self.by_ue.range((supi, 0)..=(supi, u64::MAX));
        its.map(|(_, id)| *id).collect()
    }

    /// Subscriptions that tell of a UE.
    pub fn about(&self, supi: Supi) -> Vec<u64> {
        let of_any = self.of_any.iter().copied();
        self.of_ue(supi).into_iter().chain(of_any).collect()
    }

    /// Takes a report from those that are left; false if there are none, or no such subscription.
    pub fn spend(&mut self, id: u64) -> bool {
        let Some(subscription) = self.all.get_mut(&id) else {
            return false;
        };
        match &mut subscription.left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        }
    }

    /// Reports that are left; none without a bound.
    pub fn left(&self, id: u64) -> Option<u32> {
        self.all.get(&id)?.left
    }

    /// When the first one is over.
    pub fn next_end(&self) -> Instant {
        self.ends
            .first()
            .map_or(Instant::NEVER, |(until, _)| *until)
    }

    /// Ends those whose time is over.
    pub fn expire(&mut self, now: Instant) {
        while let Some((_, id)) = self
            .ends
            .first()
            .copied()
            .filter(|(until, _)| *until <= now)
        {
            self.remove(id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn supi(number: u8) -> Supi {
        Supi::from_imsi(&format!("00101000000000{number}")).expect("digits")
    }

    #[test]
    fn subscriptions_are_bounded_in_number_and_found_by_their_ues() {
        let mut all = Subscriptions::new(3, 1);
        let (one, other) = (supi(1).into(), supi(2).into());
        for (id, of) in [(1, one), (2, ForUe::any()), (3, other)] {
            assert!(all.has_room(of));
            all.insert(id, of, ("", 0), Instant(id));
        }
        assert!(!all.has_room(one));
        assert_eq!(
            (all.about(supi(1)), all.about(supi(3))),
            (vec![1, 2], vec![2])
        );
        assert!(all.remove(1) && !all.remove(1));
        assert!(all.has_room(one) && !all.has_room(ForUe::any()));
        assert_eq!(all.get(3), Some((&"", true)));
        assert_eq!(all.next_end(), Instant(2));
        all.expire(Instant(3));
        assert!(all.is_empty() && all.next_end() == Instant::NEVER);
    }

    #[test]
    fn reports_are_counted_on_when_a_subscription_changes() {
        let mut all = Subscriptions::new(1, 1);
        all.insert(1, ForUe::any(), ((), 2), Instant(9));
        assert!(all.spend(1));
        all.insert(1, supi(1).into(), ((), 2), Instant(9));
        assert!(all.spend(1) && !all.spend(1));
        assert_eq!(all.left(1), Some(0));
        all.insert(1, supi(1).into(), ((), 3), Instant(9));
        assert_eq!(all.left(1), Some(3));
        all.insert(1, supi(1).into(), ((), 0), Instant(9));
        assert!(all.spend(1) && all.left(1).is_none() && !all.spend(2));
    }

    #[test]
    fn a_subscription_ends_within_a_day_and_not_before_now() {
        let now = Now {
            instant: Instant(0),
            unix_s: 100,
        };
        let day = Instant(0).plus_ms(SUBSCRIPTION_S * 1000);
        for wanted in [0, u64::MAX] {
            assert_eq!(end_of_subscription(now, wanted), Ok((day, 86_500)));
        }
        let soon = Instant(0).plus_ms(7_000);
        assert_eq!(end_of_subscription(now, 107), Ok((soon, 107)));
        for over in [1, 100] {
            assert_eq!(end_of_subscription(now, over), Err(Problem::Protocol));
        }
    }
}
