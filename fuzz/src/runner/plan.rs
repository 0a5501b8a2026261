//! How much is run, and running it.

use super::caught;
use super::found::{Found, Origin, unhex};
use super::shrink::shrink;
use super::watchdog::Watchdog;
use crate::corpus::{self, Entry};
use crate::random::Rng;
use crate::targets::Target;
use core::fmt;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Changes that a mutant has at most.
const CHANGES: usize = 24;

/// The seed that every run of the tests uses beside a fresh one: its mutants show that the harness works, and
/// find nothing that the run before did not find.
pub const FIXED_SEED: u64 = 1;

/// One in so many mutants is the fixed seed's.
const FIXED_SHARE: u64 = 8;

/// What to run.
pub struct Plan {
    target: Target,
    cases: u64,
    seeds: Vec<u64>,
    /// Mutants of the last seed for this long, whatever `cases` says.
    lasting: Option<Duration>,
    given: Option<Vec<u8>>,
}

/// What was run.
#[derive(Clone, PartialEq, Debug)]
pub struct Report {
    /// The target.
    pub target: &'static str,
    /// Kept inputs.
    pub kept: usize,
    /// Mutants of all seeds.
    pub cases: u64,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// Seconds that it took.
    pub seconds: f64,
}

impl Plan {
    /// The kept inputs and `cases` mutants for each seed; no seed yet.
    pub fn new(target: Target, cases: u64) -> Self {
        Self {
            target,
            cases,
            seeds: Vec::new(),
            lasting: None,
            given: None,
        }
    }

    /// With the mutants of this seed, too.
    #[must_use]
    pub fn seeded(mut self, seed: u64) -> Self {
        self.seeds.push(seed);
        self
    }

    /// The usual plan, changed by the environment: `SLUICE_SEED` (one seed in place of the fixed
    /// and the fresh one), `SLUICE_CASES` (mutants of each seed), `SLUICE_LONG` (so many times as many as usual),
    /// `SLUICE_SECONDS` (mutants of one seed for so long), `SLUICE_INPUT` (digits or a file: this input alone).
    ///
    /// # Panics
    /// If a variable cannot be read, so that a typing error does not look like success.
    pub fn from_environment(target: Target) -> Self {
        let variable = |name| std::env::var(name).ok();
        let number = |text: String| {
            text.parse()
                .expect("a number in SLUICE_SEED, SLUICE_CASES, SLUICE_SECONDS")
        };
        let usual = target.cases * variable("SLUICE_LONG").map_or(1, number);
        let cases = variable("SLUICE_CASES").map_or(usual, number);
        let mut plan = Self::new(target, cases);
        plan.given = variable("SLUICE_INPUT").map(|text| {
            let file = || std::fs::read(&text).ok();
            unhex(&text)
                .or_else(file)
                .expect("digits or a file in SLUICE_INPUT")
        });
        plan.lasting = variable("SLUICE_SECONDS").map(|text| Duration::from_secs(number(text)));
        match variable("SLUICE_SEED") {
            Some(seed) => plan.seeded(number(seed)),
            None if plan.lasting.is_some() => plan.seeded(fresh_seed()),
            None => plan.seeded(FIXED_SEED).seeded(fresh_seed()),
        }
    }

    /// Runs all of it, up to the first failure.
    ///
    /// # Errors
    /// What was found, made smaller.
    pub fn run(&self) -> Result<Report, Box<Found>> {
        let start = Instant::now();
        let watchdog = Watchdog::new(self.target.name);
        if let Some(input) = &self.given {
            self.one(&watchdog, input, || Origin::Given)?;
            return Ok(self.report(0, start, 0));
        }
        let kept = corpus::kept(self.target.name);
        for entry in &kept {
            self.one(&watchdog, &entry.bytes, || Origin::Kept(entry.name.clone()))?;
        }
        let mut done = 0;
        for &seed in &self.seeds {
            for case in (0..).take_while(|case| self.goes_on(seed, *case, start)) {
                let input = self.mutant(&kept, seed, case);
                self.one(&watchdog, &input, || Origin::Mutant { seed, case })?;
                done += 1;
            }
        }
        Ok(self.report(kept.len(), start, done))
    }

    fn goes_on(&self, seed: u64, case: u64, start: Instant) -> bool {
        match self.lasting {
            Some(lasting) => start.elapsed() < lasting,
            // With a fresh seed beside it.
            None if seed == FIXED_SEED && self.seeds.len() > 1 => case < self.cases / FIXED_SHARE,
            None => case < self.cases,
        }
    }

    /// The mutant of a seed and number: few changes more often than many.
    fn mutant(&self, kept: &[Entry], seed: u64, case: u64) -> Vec<u8> {
        let mut rng = Rng::new(seed, case);
        let mut input = rng.pick(kept).map(|e| e.bytes.clone()).unwrap_or_default();
        let most = 1 + rng.below(CHANGES);
        for _ in 0..=rng.below(most) {
            let donor = rng.pick(kept).map_or(&[][..], |entry| &entry.bytes);
            (self.target.mutate)(&mut input, donor, &mut rng);
        }
        input
    }

    fn one(
        &self,
        watchdog: &Watchdog,
        input: &[u8],
        origin: impl Fn() -> Origin,
    ) -> Result<(), Box<Found>> {
        watchdog.begins(input);
        let Err(panic) = caught::run(self.target.run, input) else {
            return Ok(());
        };
        let fails_alike = |smaller: &[u8]| {
            watchdog.begins(smaller);
            matches!(caught::run(self.target.run, smaller), Err(p) if p.place == panic.place)
        };
        let smallest = shrink(input, self.target.parts, fails_alike);
        let message = match caught::run(self.target.run, &smallest) {
            Err(last) => last.message,
            Ok(()) => panic.message,
        };
        Err(Box::new(Found {
            target: self.target.name,
            origin: origin(),
            original_len: input.len(),
            input: smallest,
            place: panic.place,
            message,
        }))
    }

    fn report(&self, kept: usize, start: Instant, cases: u64) -> Report {
        Report {
            target: self.target.name,
            kept,
            cases,
            seeds: self.seeds.clone(),
            seconds: start.elapsed().as_secs_f64(),
        }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            target,
            kept,
            cases,
            seeds,
            seconds,
        } = self;
        write!(
            f,
            "{target}: {kept} kept inputs and {cases} mutants of the seeds {seeds:?} \
             in {seconds:.1} s"
        )
    }
}

/// A seed that no run had before.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64) ^ u64::from(std::process::id()) << 32
}
