//! Timed repetitions: limit, closed loop and open loops in turn.

use super::load::{Log, Pace, Wire};
use super::n4_transport::Door;
use super::script::Script;
use super::testbed::{Loop, Testbed};
use super::turns::Spent;
use crate::path::testbed::Failure;
use crate::stats::Summary;
use sluice_control::core::Env;
use sluice_port::Packet;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// As results are named.
    pub name: &'static str,
    /// What carries the datagrams, honestly.
    pub carried_by: &'static str,
    /// Requests of a lap.
    pub messages: usize,
    /// Requests under way in the closed loop.
    pub window: usize,
    /// Requests per second in the open loop.
    pub rate_per_s: f64,
    /// Repetitions that count; one more comes before them.
    pub reps: usize,
}

/// Round trips, in microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Trips {
    /// The median.
    pub p50: f64,
    /// 99 of 100 are shorter.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

/// All figures of a case.
#[derive(Clone, Debug)]
pub struct Figures {
    /// Answers per second, closed loop.
    pub rate_per_s: Summary,
    /// The same of the limit.
    pub limit_rate_per_s: Summary,
    /// Time of the N4 thread for a message, nanoseconds; idle turns not counted.
    pub busy_ns: Summary,
    /// The same of the limit.
    pub limit_busy_ns: Summary,
    /// Time of the N4 thread for a message by that of the limit, by repetition.
    pub ratios: Vec<f64>,
    /// Answers per second, closed loop, by those of the limit, by repetition.
    pub rate_ratios: Vec<f64>,
    /// Medians of the round trips of the open loop in microseconds, by repetition.
    pub open_p50_us: Vec<f64>,
    /// Share of its time in which the N4 thread had something to do, closed loop.
    pub busy_share: Summary,
    /// Requests by busy turns of the N4 thread, closed loop.
    pub per_turn: Summary,
    /// Round trips of the closed loop, medians over the repetitions.
    pub closed: Trips,
    /// Round trips of the open loop, likewise.
    pub open: Trips,
    /// Those of an open loop that waits when one of the threads had no CPU, likewise.
    pub undisturbed: Trips,
    /// Share of its requests that were not under way then.
    pub undisturbed_share: Summary,
    /// Answers per second in the open loop.
    pub open_rate_per_s: Summary,
    /// Share of the time in which others had one of the two CPUs.
    pub preempted: f64,
    /// Octets of a request.
    pub request_octets: f64,
    /// What part of the requests each kind is.
    pub shares: [(&'static str, f64); 5],
}

#[derive(Default)]
struct Laps {
    limit: Vec<Spent>,
    closed: Vec<(Spent, Trips)>,
    open: Vec<(Spent, Trips)>,
    undisturbed: Vec<(Spent, Trips)>,
    undisturbed_shares: Vec<f64>,
    octets: usize,
    requests: usize,
}

/// Measures a case. All answers of the N4 loop are read.
pub fn measure<P: Packet>(
    world: &mut Testbed<P>,
    (door, wire): (
        &mut impl Door<Around: Env<Packet = P>>,
        &mut (impl Wire + Send),
    ),
    case: &Case,
) -> Result<Figures, Failure> {
    let mut script = Script::default();
    let mut log = Log::new(case.messages);
    let mut laps = Laps::default();
    let mut shares = script.shares();
    for rep in 0..=case.reps {
        script.mixed(&mut world.subscribers, case.messages);
        shares = script.shares();
        let closed_pace = Pace::Closed(case.window);
        let limit = world.lap((door, wire), &script, closed_pace, Loop::Limit, &mut log)?;
        let spent = world.lap((door, wire), &script, closed_pace, Loop::N4, &mut log)?;
        world.judge(&script, &log)?;
        let closed = (spent, trips(&mut log.rtt_ns));
        laps.octets += script.octets();
        laps.requests += script.len();
        script.mixed(&mut world.subscribers, case.messages);
        let pace = Pace::Open(case.rate_per_s);
        let spent = world.lap((door, wire), &script, pace, Loop::N4, &mut log)?;
        world.judge(&script, &log)?;
        let open = (spent, trips(&mut log.rtt_ns));
        script.mixed(&mut world.subscribers, case.messages);
        let pace = Pace::Undisturbed(case.rate_per_s);
        let spent = world.lap((door, wire), &script, pace, Loop::N4, &mut log)?;
        world.judge(&script, &log)?;
        // The first one warms caches and tables up.
        if rep > 0 {
            laps.limit.push(limit);
            laps.closed.push(closed);
            laps.open.push(open);
            let share = log.rtt_ns.len() as f64 / case.messages as f64;
            laps.undisturbed_shares.push(share);
            laps.undisturbed.push((spent, trips(&mut log.rtt_ns)));
        }
    }
    Ok(sum_up(&laps, case, shares))
}

fn trips(rtt_ns: &mut [u32]) -> Trips {
    rtt_ns.sort_unstable();
    let last = rtt_ns.len().saturating_sub(1);
    let at = |share: f64| {
        let place = (last as f64 * share) as usize;
        rtt_ns
            .get(place)
            .map_or(f64::NAN, |ns| f64::from(*ns) / 1000.0)
    };
    Trips {
        p50: at(0.5),
        p99: at(0.99),
        max: at(1.0),
    }
}

fn sum_up(laps: &Laps, case: &Case, shares: [(&'static str, f64); 5]) -> Figures {
    let n = case.messages as f64;
    let rate = |s: &Spent| n * 1e9 / s.lap.wall_ns as f64;
    // By CPU time: others may have the CPU in the midst of a turn.
    let share = |s: &Spent| s.busy_ns as f64 / s.wall_ns as f64;
    let busy = |s: &Spent| s.cpu_ns as f64 * share(s) / n;
    let closed = || laps.closed.iter().map(|(spent, _)| spent);
    let open = || laps.open.iter().map(|(spent, _)| spent);
    let (mut cpu_ns, mut wall_ns) = (0, 0);
    for spent in laps.limit.iter().chain(closed()).chain(open()) {
        cpu_ns += spent.cpu_ns + spent.lap.cpu_ns;
        wall_ns += spent.wall_ns + spent.lap.wall_ns;
    }
    Figures {
        rate_per_s: Summary::of(closed().map(rate)),
        limit_rate_per_s: Summary::of(laps.limit.iter().map(rate)),
        busy_ns: Summary::of(closed().map(busy)),
        limit_busy_ns: Summary::of(laps.limit.iter().map(busy)),
        ratios: by_limit(laps, busy),
        rate_ratios: by_limit(laps, rate),
        open_p50_us: laps.open.iter().map(|(_, trips)| trips.p50).collect(),
        busy_share: Summary::of(closed().map(share)),
        per_turn: Summary::of(closed().map(|s| n / s.busy_turns.max(1) as f64)),
        closed: median_of(&laps.closed),
        open: median_of(&laps.open),
        undisturbed: median_of(&laps.undisturbed),
        undisturbed_share: Summary::of(laps.undisturbed_shares.iter().copied()),
        open_rate_per_s: Summary::of(open().map(rate)),
        preempted: 1.0 - cpu_ns as f64 / wall_ns as f64,
        request_octets: laps.octets as f64 / laps.requests as f64,
        shares,
    }
}

/// A figure of each repetition's closed loop by that of its limit.
fn by_limit(laps: &Laps, of: impl Fn(&Spent) -> f64) -> Vec<f64> {
    let pairs = laps.closed.iter().zip(&laps.limit);
    pairs
        .map(|((spent, _), limit)| of(spent) / of(limit))
        .collect()
}

fn median_of(laps: &[(Spent, Trips)]) -> Trips {
    let median = |of: fn(&Trips) -> f64| Summary::of(laps.iter().map(|(_, t)| of(t))).median;
    Trips {
        p50: median(|t| t.p50),
        p99: median(|t| t.p99),
        max: median(|t| t.max),
    }
}
