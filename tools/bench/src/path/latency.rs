//! Open-loop latency at a share of what the path, or the limit, can do at the most; mixed traffic,
//! both directions alike.

use super::arrivals::{Arrivals, Histogram};
use super::disturbance;
use super::fifo::Check;
use super::measure::{self, Bench, STAGES};
use super::testbed::{Failure, Testbed};
use super::traffic::Direction;
use crate::report::{Effort, HugePages};
use crate::stats::Summary;
use sluice_mem::ticks;
use sluice_port::Packet;
use std::time::{Duration, Instant};

/// As results are named, with the load behind it.
pub const NAME: &str = "path/latency";
/// Loads, in percent of what each can do at the most.
pub const LOADS_PERCENT: [u32; 2] = [10, 80];
/// Both directions.
const BOTH: [Direction; 2] = [Direction::Uplink, Direction::Downlink];
/// Packets that the limit takes at a time, as many as the path.
const STAGE: usize = STAGES[2];
/// A full turn takes 15 us; who is away for longer than this has lost the CPU.
const HICCUP_NS: f64 = 50_000.0;

/// Times in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// The median.
    pub p50: Summary,
    /// 99 of 100 are shorter.
    pub p99: Summary,
    /// 999 of 1000 are shorter.
    pub p999: Summary,
    /// Packets per second that came, in millions.
    pub mpps: Summary,
}

/// Figures of one load.
#[derive(Clone, Debug)]
pub struct Latency {
    /// Sessions.
    pub sessions: u32,
    /// Of what each can do at the most.
    pub load_percent: u32,
    /// The path's.
    pub path: Times,
    /// The limit's, at the same share of its own.
    pub limit: Times,
    /// Medians, the one by the other, by repetition.
    pub ratio: Summary,
    /// Medians and times that 99 of 100 stay below, the one by the other, by repetition.
    pub ratios: [Vec<f64>; 2],
    /// Repetitions.
    pub reps: usize,
    /// Share of the time in which others had the CPU.
    pub preempted: f64,
    /// Share of the time in which the loop was away from the clock for more than 50 us at a time:
    /// packets due then came afterwards.
    pub away: f64,
    /// Packets under way then: they are not in the times.
    pub untimed: u64,
    /// What lies on huge pages.
    pub huge_pages: HugePages,
}

/// Who turns.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Path,
    Limit,
}

/// One repetition of one load: percentiles in nanoseconds.
#[derive(Clone, Copy)]
struct Lap {
    percentiles: [f64; 3],
    untimed: u64,
    away_ns: f64,
    turned: measure::Lap,
}

impl Lap {
    fn mpps(&self) -> f64 {
        self.turned.packets * 1000.0 / (self.turned.wall_ns - self.away_ns)
    }
}

/// Measures all loads.
pub fn measure<P: Packet>(
    bench: &mut Bench,
    world: &mut Testbed<P>,
    effort: Effort,
    huge_pages: HugePages,
) -> Result<Vec<Latency>, Failure> {
    let ticks_per_ns = ticks_per_ns();
    let mut laps: Vec<[Vec<Lap>; 2]> = vec![Default::default(); LOADS_PERCENT.len()];
    let share = effort.each / 2;
    for rep in 0..=effort.reps {
        for (at, who) in [Who::Path, Who::Limit].into_iter().enumerate() {
            world.open(&BOTH, Check::Sampled);
            // Packets that are all due already: the clock is read as often, so that what it costs
            // is part of what can be done at the most.
            set_arrivals(world, (0.0, ticks_per_ns), 1);
            let ns_at_most = lap(bench, world, who, (share, ticks_per_ns))?.turned.ns();
            for (load, laps) in LOADS_PERCENT.into_iter().zip(&mut laps) {
                // Each direction has half of the packets.
                let apart_ns = 2.0 * ns_at_most * 100.0 / f64::from(load);
                set_arrivals(world, (apart_ns, ticks_per_ns), rep as u64 + 1);
                let lap = lap(bench, world, who, (effort.each, ticks_per_ns))?;
                // The first one warms caches and tables up.
                if rep > 0 {
                    laps[at].push(lap);
                }
            }
        }
        world.verdict()?;
    }
    let loads = LOADS_PERCENT.into_iter().zip(&laps);
    let sum_up = |(load_percent, [path, limit]): (u32, &[Vec<Lap>; 2])| {
        let ratios = [0, 1].map(|at| -> Vec<f64> {
            let pairs = path.iter().zip(limit);
            pairs
                .map(|(p, l)| p.percentiles[at] / l.percentiles[at])
                .collect()
        });
        let both = || path.iter().chain(limit);
        let sum = |of: fn(&Lap) -> f64| both().map(of).sum::<f64>();
        Latency {
            sessions: world.flows.len() as u32,
            load_percent,
            path: Times::of(path),
            limit: Times::of(limit),
            ratio: Summary::of(ratios[0].iter().copied()),
            ratios,
            reps: effort.reps,
            preempted: 1.0 - sum(|lap| lap.turned.cpu_ns) / sum(|lap| lap.turned.wall_ns),
            away: sum(|lap| lap.away_ns) / sum(|lap| lap.turned.wall_ns),
            untimed: both().map(|lap| lap.untimed).sum(),
            huge_pages,
        }
    };
    Ok(loads.map(sum_up).collect())
}

impl Latency {
    /// Why the figures cannot be trusted, if so.
    pub fn disturbed(&self) -> Option<String> {
        let spread = self.path.p50.spread().max(self.limit.p50.spread());
        disturbance(spread, self.preempted)
    }
}

impl Times {
    fn of(laps: &[Lap]) -> Self {
        let each = |at: usize| Summary::of(laps.iter().map(|lap| lap.percentiles[at]));
        Self {
            p50: each(0),
            p99: each(1),
            p999: each(2),
            mpps: Summary::of(laps.iter().map(Lap::mpps)),
        }
    }
}

/// Packets come so far apart from now on, in each direction.
fn set_arrivals<P: Packet>(
    world: &mut Testbed<P>,
    (apart_ns, ticks_per_ns): (f64, f64),
    seed: u64,
) {
    let hiccup = (HICCUP_NS * ticks_per_ns) as u64;
    for (seed, fifo) in (2 * seed..).zip(world.worker.io().fifos()) {
        let arrivals = Arrivals::new(apart_ns * ticks_per_ns, hiccup, seed);
        fifo.set_arrivals(Some(arrivals));
    }
}

/// One repetition; packets come as set. None come by themselves afterwards.
fn lap<P: Packet>(
    bench: &mut Bench,
    world: &mut Testbed<P>,
    who: Who,
    (time, ticks_per_ns): (Duration, f64),
) -> Result<Lap, Failure> {
    let turned = measure::lap(world, time, |world| turn(bench, world, who))?;
    let packets = turned.packets as u64;
    let (mut took, mut untimed, mut away) = (Histogram::default(), 0, 0);
    for fifo in world.worker.io().fifos() {
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
fn turn<P: Packet>(bench: &mut Bench, world: &mut Testbed<P>, who: Who) -> Result<(), Failure> {
    match who {
        Who::Path => {
            world.turn();
            Ok(())
        }
        Who::Limit => BOTH
            .iter()
            .try_for_each(|way| bench.limit(world, *way, STAGE)),
    }
}

/// The rate of the processor's own clock.
fn ticks_per_ns() -> f64 {
    let (began, began_ticks) = (Instant::now(), ticks::now());
    std::thread::sleep(Duration::from_millis(50));
    let ticks = ticks::now() - began_ticks;
    ticks as f64 / began.elapsed().as_nanos() as f64
}
