//! How often procedures ended in which way, and how long they took: what operators watch.

use std::any::type_name;
use std::collections::BTreeMap;

use crate::time::Instant;

/// Bounds of the times that are told apart, milliseconds: from a procedure that waits for nobody to one
/// whose UE is asked five times.
pub const BOUNDS_MS: [u64; 14] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000,
];

/// Kinds of ends that are told apart with the gNB: some hundred gNBs with a dozen of procedures and causes each.
/// Beyond them gNBs are one.
pub const ENDS: usize = 4_096;
/// Kinds that are told apart without the gNB, beyond [`ENDS`]: a dozen of procedures, causes and slices each. Beyond
/// them slices are one, too.
pub const ENDS_WITHOUT_GNB: usize = 2_048;
/// Kinds that are told apart by procedure and cause alone, beyond both. Both are words of ours, and far fewer than
/// this: the bound is there all the same, as no cause may take memory without end. Only beyond it failures are one,
/// and apart from successes at that.
pub const ENDS_BY_CAUSE: usize = 1_024;

/// How a procedure ended that did what it was for.
pub const SUCCESS: &str = "success";
/// How one ended that something else came in between of.
pub const ABORTED: &str = "aborted";
/// How one ended that panicked.
pub const PANICKED: &str = "panicked";

/// A procedure that is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Begun {
    /// Which.
    pub procedure: &'static str,
    /// When it began.
    pub at: Instant,
    /// In which slice, as far as that is known.
    pub slice: String,
    /// Over which gNB, as far as that is known.
    pub gnb: String,
}

/// What is not told apart any more.
const OTHER: &str = "other";

/// How procedures ended.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct End {
    /// Which.
    pub procedure: &'static str,
    /// [`SUCCESS`], or why not.
    pub cause: String,
    /// In which slice.
    pub slice: String,
    /// Over which gNB.
    pub gnb: String,
}

/// Procedures that ended alike.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Times {
    /// How many.
    pub count: u64,
    /// How long they took in all, nanoseconds.
    pub sum_ns: u64,
    /// How many took no longer than each of [`BOUNDS_MS`], and longer than the bound before.
    pub within: [u64; BOUNDS_MS.len()],
}

/// All that ended so far.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    ends: BTreeMap<End, Times>,
}

impl Tally {
    /// One more has ended.
    pub fn add(&mut self, begun: Begun, cause: String, now: Instant) {
        let Begun {
            procedure,
            at,
            slice,
            gnb,
        } = begun;
        let mut end = End {
            procedure,
            cause,
            slice,
            gnb,
        };
        // Where there is no room, the gNB is given up first, then the slice. The cause is what alerts ask for: a
        // success that were counted under another one would be a failure.
        for bound in [ENDS, ENDS + ENDS_WITHOUT_GNB] {
            if self.has_room(&end, bound) {
                break;
            }
            match end.gnb == OTHER {
                false => end.gnb = OTHER.to_owned(),
                true => end.slice = OTHER.to_owned(),
            }
        }
        let is_failure = ![SUCCESS, ABORTED].contains(&end.cause.as_str());
        if is_failure && !self.has_room(&end, ENDS + ENDS_WITHOUT_GNB + ENDS_BY_CAUSE) {
            end.cause = OTHER.to_owned();
        }
        self.ends
            .entry(end)
            .or_default()
            .add(now.0.saturating_sub(at.0));
    }

    fn has_room(&self, end: &End, bound: usize) -> bool {
        self.ends.len() < bound || self.ends.contains_key(end)
    }

    /// All kinds of ends, in order.
    pub fn ends(&self) -> impl Iterator<Item = (&End, &Times)> {
        self.ends.iter()
    }
}

impl Times {
    fn add(&mut self, took_ns: u64) {
        self.count += 1;
        self.sum_ns = self.sum_ns.saturating_add(took_ns);
        let took_ms = took_ns.div_ceil(1_000_000);
        let at = BOUNDS_MS.iter().position(|bound| took_ms <= *bound);
        if let Some(within) = at.and_then(|at| self.within.get_mut(at)) {
            *within += 1;
        }
    }

    /// Those of both.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        for (ours, theirs) in self.within.iter_mut().zip(other.within) {
            *ours += theirs;
        }
        self
    }
}

/// Name of a procedure: the file that its `async fn` is in, in a folder of the function or beside it.
pub fn procedure_name<F>() -> &'static str {
    let path = type_name::<F>();
    let mut names = path.split("::").skip(1);
    let name = match names.next() {
        Some("procedure" | "upf") => names.next(),
        name => name,
    };
    name.unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begun(gnb: &str) -> Begun {
        Begun {
            procedure: "registration",
            at: Instant(5_000_000),
            slice: "1".to_owned(),
            gnb: gnb.to_owned(),
        }
    }

    #[test]
    fn times_fall_into_the_first_bound_that_holds_them() {
        let mut tally = Tally::default();
        for took_ns in [0, 1_000_000, 1_000_001, 31_000_000_000] {
            let now = Instant(5_000_000 + took_ns);
            tally.add(begun("a"), SUCCESS.to_owned(), now);
        }
        let (end, times) = tally.ends().next().expect("one kind");
        assert_eq!((end.gnb.as_str(), times.count), ("a", 4));
        assert_eq!(times.within[..3], [2, 1, 0]);
        assert_eq!(times.within.iter().sum::<u64>(), 3, "one took longer");
        assert_eq!(times.sum_ns, 31_002_000_001);
        assert_eq!(times.and(times).count, 8);
    }

    fn add(tally: &mut Tally, (cause, slice, gnb): (&str, &str, &str)) {
        let begun = Begun {
            slice: slice.to_owned(),
            ..begun(gnb)
        };
        tally.add(begun, cause.to_owned(), Instant(5_000_000));
    }

    fn count(tally: &Tally, (cause, slice, gnb): (&str, &str, &str)) -> u64 {
        let is_it = |end: &End| {
            (end.cause.as_str(), end.slice.as_str(), end.gnb.as_str()) == (cause, slice, gnb)
        };
        let found = tally.ends().find(|(end, _)| is_it(end));
        found.map_or(0, |(_, times)| times.count)
    }

    #[test]
    fn beyond_the_bound_gnbs_are_one_and_causes_stay() {
        let mut tally = Tally::default();
        for number in 0..ENDS + 10 {
            add(&mut tally, (SUCCESS, "1", &number.to_string()));
        }
        add(&mut tally, ("illegal UE", "1", "a new one"));
        add(&mut tally, (SUCCESS, "2", "a new one"));
        assert_eq!(count(&tally, (SUCCESS, "1", "0")), 1);
        assert_eq!(count(&tally, (SUCCESS, "1", OTHER)), 10);
        assert_eq!(count(&tally, ("illegal UE", "1", OTHER)), 1);
        assert_eq!(count(&tally, (SUCCESS, "2", OTHER)), 1);
        assert_eq!(tally.ends().count(), ENDS + 3);
        // gNBs that were known before are told apart still.
        add(&mut tally, (SUCCESS, "1", "0"));
        assert_eq!(count(&tally, (SUCCESS, "1", "0")), 2);
    }

    #[test]
    fn slices_are_given_up_next_and_a_success_is_one_whatever_there_is() {
        let mut tally = Tally::default();
        for number in 0..ENDS + ENDS_WITHOUT_GNB {
            add(&mut tally, (SUCCESS, &number.to_string(), "a"));
        }
        add(&mut tally, ("illegal UE", "new", "a"));
        add(&mut tally, (SUCCESS, "new", "a"));
        assert_eq!(count(&tally, ("illegal UE", OTHER, OTHER)), 1);
        assert_eq!(count(&tally, (SUCCESS, OTHER, OTHER)), 1);
        for number in 0..2 * ENDS_BY_CAUSE {
            add(&mut tally, (&number.to_string(), "new", "a"));
        }
        assert_eq!(count(&tally, (OTHER, OTHER, OTHER)), 1_024 + 2);
        add(&mut tally, (ABORTED, "new", "b"));
        add(&mut tally, (SUCCESS, "new", "b"));
        assert_eq!(count(&tally, (ABORTED, OTHER, OTHER)), 1);
        assert_eq!(count(&tally, (SUCCESS, OTHER, OTHER)), 2);
        assert!(tally.ends().count() <= ENDS + ENDS_WITHOUT_GNB + ENDS_BY_CAUSE + 2);
    }

    async fn some_procedure() {}

    #[test]
    fn a_procedure_is_called_as_its_file() {
        fn name<F: Future>(_: &F) -> &'static str {
            procedure_name::<F>()
        }
        assert_eq!(name(&some_procedure()), "tally");
    }
}
