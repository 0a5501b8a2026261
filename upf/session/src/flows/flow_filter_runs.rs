//! Runs of flow filters that the PDRs of all sessions share: equal ones are one, counted; and the walk over places of
//! sessions, some at a time, for flows that have changed and addresses of new pools.
//!
//! A run is written when the first PDR asks for it, before a rule that names it is sent. Who no longer needs
//! it gives it back when the transaction that took the rule away has come back, so that a place is written
//! again only when nobody reads it. Nothing is allocated after the start.

use crate::index::hash_index::{HashIndex, Seeded};
use crate::store::span_alloc::{Span, SpanAllocator};
use core::hash::BuildHasher;
use sluice_datapath::session::flow_filter::{
    FILTERS_MAX, FilterRun, FlowFilter, FlowFilterSlots, FlowFilters,
};

/// The table's writer with what it knows of each run.
pub struct FlowFilterRuns {
    slots: FlowFilterSlots,
    reader: FlowFilters,
    spans: SpanAllocator,
    /// By first place: how many PDRs have the run.
    users: Vec<u32>,
    /// By first place: its length.
    lens: Vec<u8>,
    /// First places by what stands there.
    index: HashIndex,
    hash: Seeded,
}

impl FlowFilterRuns {
    /// Room for so many filters.
    pub fn new(filters: usize, hash: Seeded) -> Self {
        let filters = filters.min(FILTERS_MAX);
        let slots = FlowFilterSlots::new(filters);
        Self {
            reader: slots.reader(),
            slots,
            spans: SpanAllocator::new(filters),
            users: vec![0; filters],
            lens: vec![0; filters],
            index: HashIndex::new(filters),
            hash,
        }
    }

    /// For the path.
    pub fn reader(&self) -> FlowFilters {
        self.reader.clone()
    }

    /// The filters of a run.
    pub fn run(&self, run: FilterRun) -> impl Iterator<Item = FlowFilter> {
        self.reader.run(run)
    }

    /// Places taken.
    pub fn used(&self) -> usize {
        self.spans.used()
    }

    /// The run of these filters for one more PDR; `None` if the table is full.
    pub fn hold(&mut self, filters: &[FlowFilter]) -> Option<FilterRun> {
        let mark = self.mark(filters);
        let run = match self.find(mark, filters) {
            Some(run) => run,
            None => self.write(mark, filters)?,
        };
        *self.users.get_mut(run.first() as usize)? += 1;
        Some(run)
    }

    /// One PDR has it no longer, and no rule of that PDR is left on the path.
    pub fn release(&mut self, run: FilterRun) {
        let first = run.first();
        let Some(users) = self.users.get_mut(first as usize) else {
            return;
        };
        *users = users.saturating_sub(1);
        if *users > 0 {
            return;
        }
        let filters: arrayvec::ArrayVec<FlowFilter, { super::sdf::FILTERS }> =
            self.reader.run(run).collect();
        let was_there = self.index.remove(self.mark(&filters), first);
        debug_assert!(was_there, "a run that is held");
        if was_there {
            self.spans.give(Span::of(first, run.len() as u16));
        }
    }

    fn mark(&self, filters: &[FlowFilter]) -> u32 {
        (self.hash.hash_one(filters) >> 32) as u32
    }

    fn find(&self, mark: u32, filters: &[FlowFilter]) -> Option<FilterRun> {
        let run_at = |first: u32| {
            let len = self.lens.get(first as usize)?;
            FilterRun::new(first, (*len).into())
        };
        let is_it = |first: u32| {
            run_at(first).is_some_and(|run| {
                run.len() == filters.len() && self.reader.run(run).eq(filters.iter().copied())
            })
        };
        run_at(self.index.find(mark, is_it)?)
    }

    fn write(&mut self, mark: u32, filters: &[FlowFilter]) -> Option<FilterRun> {
        if !self.spans.has_room(filters.len()) {
            return None;
        }
        let (first, len) = self.spans.take(filters.len())?.parts();
        let run = FilterRun::new(first, len.into())?;
        for (at, filter) in (first..).zip(filters) {
            self.slots.set(at, filter);
        }
        *self.lens.get_mut(first as usize)? = run.len() as u8;
        self.index.insert(mark, first);
        Some(run)
    }
}

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
    use proptest::prelude::*;

    fn filters(of: &[u8]) -> Vec<FlowFilter> {
        let protocol = |p: &u8| FlowFilter {
            protocol: Some(*p),
            ..FlowFilter::default()
        };
        of.iter().map(protocol).collect()
    }

    #[test]
    fn a_full_table_gives_no_run_and_an_equal_one_needs_no_room() {
        let mut runs = FlowFilterRuns::new(4, Seeded(1));
        let first = runs.hold(&filters(&[1, 2, 3])).unwrap();
        assert_eq!(runs.hold(&filters(&[1, 2])), None);
        assert_eq!(runs.hold(&filters(&[1, 2, 3])), Some(first));
        runs.release(first);
        assert_eq!(runs.hold(&filters(&[1, 2])), None, "one PDR has it still");
        runs.release(first);
        assert_eq!(runs.used(), 0);
        assert!(runs.hold(&filters(&[1, 2])).is_some());
    }

    proptest! {
        /// Who holds a run reads its filters, whatever others take and give back.
        #[test]
        fn a_run_stays_as_it_is_while_somebody_has_it(
            steps in prop::collection::vec((prop::collection::vec(0..3u8, 1..4), any::<prop::sample::Index>(), any::<bool>()), 1..200)
        ) {
            let mut runs = FlowFilterRuns::new(40, Seeded(7));
            let mut held: Vec<(FilterRun, Vec<FlowFilter>)> = Vec::new();
            for (of, which, gives) in steps {
                if gives && !held.is_empty() {
                    let (run, _) = held.swap_remove(which.index(held.len()));
                    runs.release(run);
                } else if let Some(run) = runs.hold(&filters(&of)) {
                    held.push((run, filters(&of)));
                }
                for (run, is) in &held {
                    prop_assert_eq!(&runs.run(*run).collect::<Vec<_>>(), is);
                }
                for (one, a) in &held {
                    prop_assert!(held.iter().all(|(other, b)| (one == other) == (a == b)));
                }
            }
            held.iter().for_each(|(run, _)| runs.release(*run));
            prop_assert_eq!(runs.used(), 0);
            prop_assert!(runs.index.is_empty());
        }
    }
}

#[cfg(test)]
mod flow_walk_tests {
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
