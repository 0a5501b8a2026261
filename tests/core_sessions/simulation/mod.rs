//! The whole core in virtual time, by seeds: UEs, gNBs and the UPF do what they like, N4 loses, repeats and
//! reorders, the radio loses, N2 associations die; in every other seed N4 falls silent for up to 40 s, too, and
//! the UPF is restarted; in every third one functions tell by heart-beats that they are there, and the NRF does not
//! hear all of them, nor they its answers; in every fifth one the core is killed, again and again, and goes on with
//! what it has stored. Then it is quiet, and everything comes to rest: packets go where the SMF says they do, no UE is
//! stuck, and when all have left nothing is left of them anywhere.
//!
//! Seeds of `kept-seeds.txt` come first, then fresh ones. `SLUICE_SEEDS` says how many, from `SLUICE_FIRST_SEED` on,
//! each or each `SLUICE_SEED_STEP`th; `SLUICE_SEED` repeats one of them and tells all that happens.

mod chaos;
mod end;
mod network;
mod play;

use std::time::Instant as Clock;

use network::Simulation;
use sluice_testbed::apart::{self, Wiring};

/// Numbers that look random and follow from a seed: SplitMix64.
#[derive(Debug)]
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Less than that.
    pub fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    /// From one to the other, both included.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    /// So often in a hundred.
    pub fn percent(&mut self, often: u64) -> bool {
        self.below(100) < often
    }
}

/// Fresh seeds of a usual run: half a minute on a busy machine.
const SEEDS: u64 = 160;

/// Fresh seeds by HTTP.
const SEEDS_BY_HTTP: u64 = 8;

/// Seeds that once found a fault.
const KEPT_SEEDS: &str = include_str!("kept-seeds.txt");

fn kept_seeds() -> impl Iterator<Item = u64> {
    let lines = KEPT_SEEDS.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let seed = line
            .split_whitespace()
            .next()
            .and_then(|seed| seed.parse().ok());
        seed.unwrap_or_else(|| panic!("kept-seeds.txt: expected a seed: {line}"))
    })
}

/// How many times as long as usual (`make test-long`): `SLUICE_LONG`, or once.
fn long() -> u64 {
    number("SLUICE_LONG").unwrap_or(1)
}

/// By the time: no two runs have the same.
fn fresh_seed() -> u64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    now.expect("a clock after 1970").as_millis() as u64
}

pub fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn run(seed: u64) {
    let mut simulation = Simulation::new(seed);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        simulation.begin();
        simulation.chaos();
        simulation.quiet();
        simulation.assert_upf_agrees();
        simulation.end();
    }));
    if number("SLUICE_SEED").is_some() {
        eprintln!("{}", simulation.story(usize::MAX));
    }
    if let Err(panic) = outcome {
        eprintln!("{}", simulation.story(150));
        eprintln!("SLUICE_SEED={seed} cargo test -p sluice-tests --test core_sessions simulation");
        eprintln!(
            "To keep it: echo '{seed} # why' >>tests/core_sessions/simulation/kept-seeds.txt"
        );
        std::panic::resume_unwind(panic);
    }
}

#[test]
fn everything_comes_to_rest_after_each_seed() {
    if let Some(seed) = number("SLUICE_SEED") {
        return run(seed);
    }
    kept_seeds().for_each(run);
    let (begin, seeds) = (
        Clock::now(),
        number("SLUICE_SEEDS").unwrap_or(SEEDS * long()),
    );
    let first = number("SLUICE_FIRST_SEED").unwrap_or_else(fresh_seed);
    let step = number("SLUICE_SEED_STEP").unwrap_or(1).max(1);
    for seed in (first..).step_by(step as usize).take(seeds as usize) {
        run(seed);
    }
    eprintln!("{seeds} seeds in {:.1} s", begin.elapsed().as_secs_f64());
}

/// Digest of all octets on N2 and N4, and how many messages they were.
fn history(seed: u64) -> (u64, u64) {
    let mut simulation = Simulation::new(seed);
    simulation.begin();
    simulation.chaos();
    simulation.digest
}

/// A seed is a history: the same octets each time.
#[test]
fn a_seed_gives_the_same_history_each_time() {
    let first = history(7);
    assert!(first.1 > 200, "{first:?}");
    assert_eq!(first, history(7));
}

/// With functions at another host, which rings reach, gNBs and UPFs get the same octets. Cores that are killed may differ:
/// contexts are stored once more, before a question leaves, so that another moment comes after it.
#[test]
fn a_seed_gives_the_same_history_by_rings() {
    let seeds = (1..=15 * long()).filter(|seed| seed % 5 != 0);
    for seed in seeds {
        let by_rings = apart::by(Wiring::Ring, || history(seed));
        assert_eq!(by_rings, history(seed), "seed {seed}");
    }
}

/// By HTTP a seed has one history, too. Another than on a thread: a function waits for one elsewhere for 3 s at the most, and
/// procedures that do not wait for each other are served in another order.
#[test]
fn a_seed_gives_the_same_history_each_time_by_http() {
    for seed in [7, 10] {
        let by_http = || apart::by(Wiring::Http2, || history(seed));
        let first = by_http();
        assert!(first.1 > 200, "{first:?}");
        assert_eq!(first, by_http(), "seed {seed}");
    }
}

/// Fresh seeds whose functions reach each other by HTTP.
#[test]
fn everything_comes_to_rest_after_each_seed_by_http() {
    let first = fresh_seed();
    for seed in first..first + SEEDS_BY_HTTP * long() {
        eprintln!("SLUICE_WIRING=http2 with seed {seed}");
        apart::by(Wiring::Http2, || run(seed));
    }
}
