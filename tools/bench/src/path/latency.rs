//! Open-loop latency at a share of what the path, or the limit, can do at the most; mixed traffic,
//! both directions alike.

use super::arrivals::{Arrivals, Histogram};
use super::fifo::Check;
use super::limit::Limit;
use super::testbed::Testbed;
use super::traffic::Direction;
use crate::Failure;
use crate::measure::{self, Conditions, Effort, STAGES, disturbance, preempted};
use crate::report::{HugePages, Outcome, join, of};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::{Value, json};
use sluice_mem::ticks;
use sluice_port::Packet;
use std::time::{Duration, Instant};

/// As results are named, with the load behind it.
pub const NAME: &str = "path/latency";
/// Loads, in percent of what each can do at the most.
pub const LOADS_PERCENT: [u32; 2] = [10, 80];
/// Goal for the ratio of the path's median to the limit's.
const RATIO_GOAL: f64 = 2.0;
/// Packets that the limit takes at a time, as many as the path.
const STAGE: usize = STAGES[2];
/// A full turn takes 15 us; who is away for longer than this has lost the CPU.
const HICCUP_NS: f64 = 50_000.0;

/// Loop that is measured.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Path,
    Limit,
}

/// One repetition of one load.
#[derive(Clone, Copy)]
struct Lap {
    /// The median, 99 and 99.9 %, in nanoseconds.
    percentiles: [f64; 3],
    /// Packets that were under way when others had the CPU.
    untimed: u64,
    /// How long the loop was away from the clock for more than 50 us at a time: packets due then came
    /// afterwards.
    away_ns: f64,
    turned: measure::Lap,
}

impl Lap {
    fn mpps(&self) -> f64 {
        self.turned.packets * 1000.0 / (self.turned.wall_ns - self.away_ns)
    }
}

pub fn measure<P: Packet>(
    limit: &mut Limit,
    testbed: &mut Testbed<P>,
    effort: Effort,
    huge_pages: HugePages,
) -> Result<Vec<Outcome>, Failure> {
    let ticks_per_ns = ticks_per_ns();
    let share = effort.each / 2;
    // Of each repetition and load: path and limit.
    let laps = effort.repeat(|rep| {
        let mut both = [[None; 2]; LOADS_PERCENT.len()];
        for (at, who) in [Who::Path, Who::Limit].into_iter().enumerate() {
            testbed.open(&Direction::BOTH, Check::Sampled);
            // Packets that are all due already: the clock is read as often, so that what it costs
            // is part of what can be done at the most.
            set_arrivals(testbed, (0.0, ticks_per_ns), 1);
            let ns_at_most = lap(limit, testbed, who, (share, ticks_per_ns))?.turned.ns();
            for (load, laps) in LOADS_PERCENT.into_iter().zip(&mut both) {
                // Each direction has half of the packets.
                let apart_ns = 2.0 * ns_at_most * 100.0 / f64::from(load);
                set_arrivals(testbed, (apart_ns, ticks_per_ns), rep as u64 + 1);
                laps[at] = Some(lap(limit, testbed, who, (effort.each, ticks_per_ns))?);
            }
        }
        testbed.verdict()?;
        Ok(both)
    })?;
    let sessions = testbed.flows.len() as u32;
    let outcomes = LOADS_PERCENT.into_iter().enumerate().map(|(at, load)| {
        let of = |who: usize| laps.iter().filter_map(move |both| both[at][who]).collect();
        outcome((load, sessions), &[of(0), of(1)], huge_pages)
    });
    Ok(outcomes.collect())
}

fn outcome(
    (load, sessions): (u32, u32),
    [path, limit]: &[Vec<Lap>; 2],
    huge_pages: HugePages,
) -> Outcome {
    let name = format!("{NAME}/{load}");
    let times = |laps: &[Lap]| {
        let each = |at: usize| Summary::of(laps.iter().map(|lap| lap.percentiles[at]));
        ([0, 1, 2].map(each), Summary::of(laps.iter().map(Lap::mpps)))
    };
    let ([ours, theirs], ratios) = ([path, limit].map(|laps| times(laps)), |at: usize| {
        let pairs = path.iter().zip(limit);
        let ratios = pairs.map(|(p, l)| p.percentiles[at] / l.percentiles[at]);
        ratios.collect::<Vec<f64>>()
    });
    let both = || path.iter().chain(limit);
    let sum = |of: fn(&Lap) -> f64| both().map(of).sum::<f64>();
    let preempted = preempted(both().map(|lap| &lap.turned));
    let ratio = Summary::of(ratios(0));
    let spread = ours.0[0].spread().max(theirs.0[0].spread());
    let conditions = Conditions {
        disturbed: disturbance(spread, preempted, "the CPU"),
        attempts: 1,
        reps: path.len(),
        preempted,
    };
    let keys = |([p50, p99, p999], mpps): ([Summary; 3], Summary)| -> Value {
        json!({ "p50_ns": of(p50), "p99_ns": of(p99), "p99_9_ns": of(p999), "mpps": of(mpps) })
    };
    let json = json!({
        "name": name,
        "sessions": sessions,
        "load_percent": load,
        "path": keys(ours),
        "limit": keys(theirs),
        "p50_ratio_to_limit": of(ratio),
        "p50_ratio_goal": RATIO_GOAL,
        "away_share": round(sum(|lap| lap.away_ns) / sum(|lap| lap.turned.wall_ns)),
        "packets_untimed": both().map(|lap| lap.untimed).sum::<u64>(),
    });
    let us = |percentiles: [Summary; 3]| {
        let us = percentiles.map(|s| format!("{:.2}", s.median / 1000.0));
        us.join("/")
    };
    let line = format!(
        "{name:<18}{sessions:>10}  p50/p99/p99.9 us {}, limit {}, p50 ratio {:.2} ({:.2}-{:.2}) at {:.1} Mpps\n",
        us(ours.0),
        us(theirs.0),
        ratio.median,
        ratio.min,
        ratio.max,
        ours.1.median,
    );
    let series = [("p50", 0), ("p99", 1)].map(|(share, at)| {
        let name = format!("{name}/{sessions}/{share}");
        let series = Series::ratio(name, "ns by the limit's", ratios(at));
        huge_pages.of(series.disturbed(disturbance(0.0, preempted, "the CPU")))
    });
    Outcome {
        below: line + &conditions.line(),
        json: join(join(json, conditions.to_json()), huge_pages.to_json()),
        series: series.into(),
        ..Outcome::default()
    }
}

/// Packets come so far apart from now on, in each direction.
fn set_arrivals<P: Packet>(
    testbed: &mut Testbed<P>,
    (apart_ns, ticks_per_ns): (f64, f64),
    seed: u64,
) {
    let hiccup = (HICCUP_NS * ticks_per_ns) as u64;
    for (seed, fifo) in (2 * seed..).zip(testbed.worker.io().fifos()) {
        let arrivals = Arrivals::new(apart_ns * ticks_per_ns, hiccup, seed);
        fifo.set_arrivals(Some(arrivals));
    }
}

/// One repetition; packets come as set. None come by themselves afterwards.
fn lap<P: Packet>(
    limit: &mut Limit,
    testbed: &mut Testbed<P>,
    who: Who,
    (time, ticks_per_ns): (Duration, f64),
) -> Result<Lap, Failure> {
    let turned = measure::lap(testbed, time, Testbed::came, |testbed| {
        turn(limit, testbed, who)
    })?;
    let packets = turned.packets as u64;
    let (mut took, mut untimed, mut away) = (Histogram::default(), 0, 0);
    for fifo in testbed.worker.io().fifos() {
        if let Some(arrivals) = fifo.set_arrivals(None) {
            took.merge(arrivals.took());
            untimed += arrivals.missed().packets;
            // Both directions' clocks see the same.
            away = away.max(arrivals.missed().ticks);
        }
    }
    let timed = took.count();
    if timed + untimed != packets {
        return Err(format!(
            "{timed} of {packets} packets have a time, {untimed} need none"
        ));
    }
    let ns = |share| took.percentile(share) as f64 / ticks_per_ns;
    Ok(Lap {
        percentiles: [0.5, 0.99, 0.999].map(ns),
        untimed,
        away_ns: away as f64 / ticks_per_ns,
        turned,
    })
}

#[inline(always)]
fn turn<P: Packet>(limit: &mut Limit, testbed: &mut Testbed<P>, who: Who) -> Result<(), Failure> {
    match who {
        Who::Path => {
            testbed.turn();
            Ok(())
        }
        Who::Limit => limit.turn(testbed, &Direction::BOTH, STAGE),
    }
}

/// The rate of the processor's own clock.
fn ticks_per_ns() -> f64 {
    let (began, began_ticks) = (Instant::now(), ticks::now());
    std::thread::sleep(Duration::from_millis(50));
    let ticks = ticks::now() - began_ticks;
    ticks as f64 / began.elapsed().as_nanos() as f64
}
