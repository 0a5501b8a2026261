//! How many UEs there may be, and are, that have not proved who they are: of a gNB, and in all.

use std::collections::BTreeMap;

use sluice_sbi::{AssociationId, Instant};

use crate::limits;

/// How many UEs may be connected at a time that have not proved who they are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// By way of one gNB.
    pub of_gnb: usize,
    /// In all.
    pub in_all: usize,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            of_gnb: limits::UNAUTHENTICATED_OF_GNB,
            in_all: limits::UNAUTHENTICATED,
        }
    }
}

impl Bounds {
    /// Whether they make sense.
    pub(crate) fn are_sound(self) -> bool {
        (1..=self.in_all).contains(&self.of_gnb) && self.in_all <= limits::CONNECTIONS
    }
}

/// How many there are now.
#[derive(Debug, Default)]
pub(crate) struct Unauthenticated {
    by_gnb: BTreeMap<AssociationId, usize>,
    in_all: usize,
    /// Until when operators need not be told again that UEs are shed.
    pub told_until: Instant,
}

impl Unauthenticated {
    /// In all.
    pub fn len(&self) -> usize {
        self.in_all
    }

    /// By way of a gNB.
    pub fn of_gnb(&self, gnb: AssociationId) -> usize {
        self.by_gnb.get(&gnb).copied().unwrap_or_default()
    }

    /// One more.
    pub fn add(&mut self, gnb: AssociationId) {
        *self.by_gnb.entry(gnb).or_default() += 1;
        self.in_all += 1;
    }

    /// One fewer.
    pub fn take(&mut self, gnb: AssociationId) {
        self.in_all -= 1;
        if let Some(count) = self.by_gnb.get_mut(&gnb) {
            *count -= 1;
            if *count == 0 {
                self.by_gnb.remove(&gnb);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gnb_has_no_more_than_all_have() {
        let sound = |of_gnb, in_all| Bounds { of_gnb, in_all }.are_sound();
        assert!(Bounds::default().are_sound());
        assert!(sound(1, 1) && sound(7, 8));
        assert!(!sound(0, 8) && !sound(9, 8) && !sound(1, limits::CONNECTIONS + 1));
    }

    #[test]
    fn what_is_taken_was_added() {
        let mut all = Unauthenticated::default();
        let (one, other) = (AssociationId(1), AssociationId(2));
        all.add(one);
        all.add(one);
        all.add(other);
        assert_eq!((all.of_gnb(one), all.of_gnb(other), all.len()), (2, 1, 3));
        for gnb in [one, other, one] {
            all.take(gnb);
        }
        assert_eq!((all.of_gnb(one), all.len()), (0, 0));
        assert!(all.by_gnb.is_empty());
    }
}
