//! Walk over the places of sessions, some at a time, for flows that have changed and addresses of new pools.

/// How far sessions were looked at for flows that have changed, and for addresses of new pools.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FlowWalk {
    /// The next place.
    next: u32,
    /// Places that there were when it began last. Those that come later have all that is new.
    places: u32,
    /// How many are left with new flows; 0: nobody is looked for.
    left: u32,
    /// How many are left whose addresses are not known to new pools. It has a count of its own, as flows may change
    /// more often than a walk takes.
    to_learn: u32,
    /// Sessions that kept what they had, since it began.
    kept: u32,
}

impl FlowWalk {
    /// Flows have changed: the sessions in all places are looked at, those that were about to be first.
    pub fn begin(&mut self, places: u32) {
        self.grow(places);
        self.left = self.places;
    }

    /// Pools have come: the sessions in all places are looked at for addresses of them.
    pub fn begin_learning(&mut self, places: u32) {
        self.grow(places);
        self.to_learn = self.places;
    }

    /// What is under way passes the places that came meanwhile as well.
    fn grow(&mut self, places: u32) {
        let more = places.saturating_sub(self.places);
        self.places += more;
        for left in [&mut self.left, &mut self.to_learn] {
            if *left > 0 {
                *left += more;
            }
        }
    }

    /// True if there are sessions still to be looked at.
    pub fn is_under_way(&self) -> bool {
        self.has_new_flows() || self.learns()
    }

    /// True if sessions are still to be looked at for flows that have changed.
    pub fn has_new_flows(&self) -> bool {
        self.left > 0
    }

    /// True if sessions are still to be looked at for addresses of new pools.
    pub fn learns(&self) -> bool {
        self.to_learn > 0
    }

    /// The place to look at now.
    pub fn pass(&mut self) -> Option<u32> {
        if !self.is_under_way() {
            return None;
        }
        self.left = self.left.saturating_sub(1);
        self.to_learn = self.to_learn.saturating_sub(1);
        let place = if self.next < self.places {
            self.next
        } else {
            0
        };
        self.next = place + 1;
        Some(place)
    }

    /// A session keeps what it had.
    pub fn keep(&mut self) {
        self.kept += 1;
    }

    /// How many sessions kept what they had, once all were looked at.
    pub fn take_kept(&mut self) -> Option<u32> {
        let is_done = self.left == 0 && self.kept > 0;
        is_done.then(|| core::mem::take(&mut self.kept))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_passes_all_places_that_there_were() {
        let mut walk = FlowWalk::default();
        let passed = |walk: &mut FlowWalk, n: usize| -> Vec<u32> {
            core::iter::from_fn(|| walk.pass()).take(n).collect()
        };
        walk.begin(4);
        assert_eq!(passed(&mut walk, 9), [0, 1, 2, 3]);
        // It goes on where it was, among those that there were when it began.
        walk.begin(6);
        assert_eq!(passed(&mut walk, 9), [4, 5, 0, 1, 2, 3]);
        assert!(!walk.is_under_way());
        // Flows that change meanwhile leave it where it was with addresses, which has all of them in turn.
        walk.begin_learning(6);
        assert_eq!(passed(&mut walk, 4), [4, 5, 0, 1]);
        walk.begin(8);
        assert_eq!(passed(&mut walk, 3), [2, 3, 4]);
        walk.begin(8);
        assert_eq!(passed(&mut walk, 1), [5]);
        assert!(!walk.learns() && walk.has_new_flows());
        assert_eq!(passed(&mut walk, 9), [6, 7, 0, 1, 2, 3, 4]);
    }
}
