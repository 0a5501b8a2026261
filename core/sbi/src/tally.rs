//! How often procedures ended in which way, and how long they took: what operators watch.

use std::any::type_name;
use std::collections::BTreeMap;

use crate::time::Instant;

/// Bounds of the times that are told apart, milliseconds: from a procedure that waits for nobody to one
/// whose UE is asked five times.
pub const BOUNDS_MS: [u64; 14] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000,
];

/// Kinds of ends that are told apart: some hundred gNBs with a dozen of procedures and causes each. Beyond
/// them all are one.
pub const ENDS: usize = 4_096;

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
        if self.ends.len() >= ENDS && !self.ends.contains_key(&end) {
            let other = || "other".to_owned();
            (end.cause, end.slice, end.gnb) = (other(), other(), other());
        }
        self.ends
            .entry(end)
            .or_default()
            .add(now.0.saturating_sub(at.0));
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

/// What a procedure is called: the file that its `async fn` is in.
pub fn procedure_name<F>() -> &'static str {
    let path = type_name::<F>();
    path.split("::").nth(1).unwrap_or(path)
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

    #[test]
    fn kinds_are_bounded() {
        let mut tally = Tally::default();
        for number in 0..ENDS + 10 {
            tally.add(
                begun(&number.to_string()),
                SUCCESS.to_owned(),
                Instant(5_000_000),
            );
        }
        assert_eq!(tally.ends().count(), ENDS + 1);
        let other = tally.ends().find(|(end, _)| end.gnb == "other");
        assert_eq!(other.expect("the others").1.count, 10);
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
