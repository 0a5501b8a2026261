//! Runner `scaling`: load steps until the daemon's scaling brings the second
//! in. Every bit of time is written down.

use super::testbed::{AWAY_NS, CurrentTestbed, Load, at_mpps, bad, model, sessions, undisturbed};
use crate::experiments::point::Mark;
use crate::experiments::{Job, Measured, Problem};
use sluice_bench::elastic::models::{arrange, full_load};
use sluice_bench::elastic::source::{Pace, Source};
use sluice_bench::elastic::testbed::Testbed;
use sluice_host::clock;
use sluice_port::Packet;
use sluice_upf_daemon::config::{Decides, Scaling};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Bits of time that a run is cut into, at least a millisecond each.
const BITS: u64 = 400;
const BIT_MIN_NS: u64 = 1_000_000;
/// Time before and after a mark that is drawn.
const AROUND_NS: u64 = 20_000_000;
/// The load of one worker before the first step, and how long it may take to send the other to
/// rest.
const LIGHT: f64 = 0.03;
const REST_NS: u64 = 10_000_000_000;
/// A run that was disturbed is made again, until there were so many.
const RUNS: usize = 3;

/// Until nothing disturbs it, a few times at the most.
pub fn scaling<P: Packet + Send + 'static>(
    testbed: &mut CurrentTestbed<P>,
    job: &Job<'_>,
) -> Result<Measured, Problem> {
    let load = Load::of(job)?;
    let steers = match job.text("design")? {
        "steer" => true,
        "soft" => false,
        other => return Err(bad("design", other, "steer or soft")),
    };
    let decides = match job.text("policy")? {
        "cycles" => Decides::Cycles,
        "burst_fill" => Decides::BurstFill,
        other => return Err(bad("policy", other, "cycles or burst_fill")),
    };
    let testbed = testbed.of_sessions(sessions(job)?, &load)?;
    let scaling = Scaling::decided_by(decides, 1);
    let mut measured = run(testbed, job, scaling.clone(), steers)?;
    for _ in 1..RUNS {
        if measured.disturbed.is_none() {
            break;
        }
        measured = run(testbed, job, scaling.clone(), steers)?;
    }
    Ok(measured)
}

fn run<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    job: &Job<'_>,
    scaling: Scaling,
    steers: bool,
) -> Result<Measured, Problem> {
    let able_mpps = able(testbed, job, steers)?;
    testbed.scale_with(Some(scaling), steers);
    let ran = climb(testbed, job, able_mpps);
    testbed.scale(None);
    testbed.drain();
    arrange(testbed, model("rtc")?);
    ran
}

/// Rate of both workers in this design.
fn able<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    job: &Job<'_>,
    steers: bool,
) -> Result<f64, Problem> {
    arrange(testbed, model("rtc")?);
    if !steers {
        // All packets come to the first worker, which hands half of them over.
        testbed.set_flows(|_| 0, |place, _| place % 2, |_, _| false);
    }
    let each = Duration::from_millis(60);
    let full = undisturbed(testbed, job, |testbed| full_load(testbed, 1, each))?;
    testbed.drain();
    Ok(full.what.mpps.median)
}

fn climb<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    job: &Job<'_>,
    able_mpps: f64,
) -> Result<Measured, Problem> {
    let light = at_mpps(LIGHT * able_mpps);
    testbed.sources(move |_, source| set(source, light));
    wait_for_rest(testbed, job)?;
    let (steps, top) = (
        job.number("steps")?.max(1.0) as u64,
        job.number("top_load")?,
    );
    let step_ns = (job.number("step_seconds")? * 1e9) as u64;
    testbed.watch.take(|eye| &eye.gap_ns);
    let mut course = Course::new(testbed, step_ns * steps);
    for step in 1..=2 * steps {
        // Workers that are able to more than was thought may not have needed help yet.
        if step > steps && course.has_come_in() {
            break;
        }
        job.go_on()?;
        let mpps = top * able_mpps * step as f64 / steps as f64;
        let pace = at_mpps(mpps);
        course.step(mpps / able_mpps);
        testbed.sources(move |_, source| set(source, pace));
        let until_ns = course.began_ns + step * step_ns;
        while clock::monotonic_ns() < until_ns {
            testbed.turn();
            course.look(testbed);
        }
    }
    Ok(course.end())
}

/// Packets cost what they cost at full load, which was measured first.
fn set<P: Packet>(source: &mut Source<P>, pace: Pace) {
    source.set_pace(pace);
    source.save_time();
}

/// Until one worker does all.
fn wait_for_rest<P: Packet + Send + 'static>(
    testbed: &mut Testbed<P>,
    job: &Job<'_>,
) -> Result<(), Problem> {
    let until_ns = clock::monotonic_ns() + REST_NS;
    while clock::monotonic_ns() < until_ns {
        job.go_on()?;
        testbed.turn_for(5_000_000);
        if working(testbed) == 1 && testbed.core.end().mover().progress().1 == 0 {
            return Ok(());
        }
    }
    let view = testbed.scaling().unwrap_or_default();
    Err(Problem::Failed(format!(
        "the second worker never went to rest at 3 % of the load; of their time they were busy for {}",
        view["busy"]
    )))
}

fn working<P: Packet + Send + 'static>(testbed: &Testbed<P>) -> u64 {
    let view = testbed.scaling().unwrap_or_default();
    view["working"].as_u64().unwrap_or_default()
}

/// A bit of time.
#[derive(Clone, Copy, Default)]
struct Bit {
    at_ns: u64,
    long_ns: u64,
    sent: u64,
    offered: u64,
    slowest_ns: u64,
    /// The longest time that a worker was away.
    gap_ns: u64,
}

/// Course of the measurement so far.
struct Course {
    began_ns: u64,
    bit_ns: u64,
    bits: Vec<Bit>,
    /// Counted up to the last bit.
    counted: (u64, u64),
    next_ns: u64,
    last_ns: u64,
    /// When shards began to move to the second worker, and when all had.
    moving_ns: [Option<u64>; 2],
    /// Steps of the offered load.
    steps: Vec<Mark>,
}

impl Course {
    fn new<P: Packet + Send + 'static>(testbed: &Testbed<P>, long_ns: u64) -> Self {
        let (began_ns, bit_ns) = (clock::monotonic_ns(), (long_ns / BITS).max(BIT_MIN_NS));
        testbed.watch.take(|eye| &eye.slowest_ns);
        Self {
            began_ns,
            bit_ns,
            bits: vec![],
            counted: counted(testbed),
            next_ns: began_ns + bit_ns,
            last_ns: began_ns,
            moving_ns: [None; 2],
            steps: vec![],
        }
    }

    /// From now on so much of what both workers are able to is offered.
    fn step(&mut self, load: f64) {
        self.steps.push(Mark {
            at: s(clock::monotonic_ns() - self.began_ns),
            says: format!("load {:.0} %", load * 100.0),
            is_step: true,
        });
    }

    fn look<P: Packet + Send + 'static>(&mut self, testbed: &Testbed<P>) {
        let now_ns = clock::monotonic_ns();
        let moving = testbed.core.end().mover().progress().1 > 0;
        match self.moving_ns {
            [None, _] if moving => self.moving_ns[0] = Some(now_ns),
            [Some(_), None] if !moving => self.moving_ns[1] = Some(now_ns),
            _ => {}
        }
        if now_ns < self.next_ns {
            return;
        }
        let (sent, offered) = counted(testbed);
        self.bits.push(Bit {
            at_ns: self.last_ns - self.began_ns,
            long_ns: now_ns - self.last_ns,
            sent: sent - self.counted.0,
            offered: offered - self.counted.1,
            slowest_ns: testbed.watch.take(|eye| &eye.slowest_ns),
            gap_ns: testbed.watch.take(|eye| &eye.gap_ns),
        });
        self.counted = (sent, offered);
        (self.last_ns, self.next_ns) = (now_ns, now_ns + self.bit_ns);
    }

    fn has_come_in(&self) -> bool {
        self.moving_ns[1].is_some()
    }

    fn end(self) -> Measured {
        let mut measured = Measured::default();
        let rate = |bit: &Bit| [s(bit.at_ns), bit.sent as f64 / bit.long_ns as f64 * 1000.0];
        let slowest = |bit: &Bit| [s(bit.at_ns), bit.slowest_ns as f64 / 1e6];
        let curves = &mut measured.curves;
        curves.insert("rate".to_owned(), self.bits.iter().map(rate).collect());
        curves.insert(
            "slowest".to_owned(),
            self.bits.iter().map(slowest).collect(),
        );
        measured.marks.clone_from(&self.steps);
        let since = |ns: Option<u64>| ns.map(|ns| ns - self.began_ns);
        let [Some(from), Some(to)] = self.moving_ns.map(since) else {
            measured.add("scale_outs", [0.0]);
            measured.disturbed = self.gone([0, u64::MAX]);
            return measured;
        };
        measured.add("scale_outs", [1.0]);
        measured.add("reconfiguration_us", [(to - from) as f64 / 1000.0]);
        let around = [from.saturating_sub(self.bit_ns), to + AROUND_NS];
        let before = [from.saturating_sub(around[1] - around[0]), around[0]];
        measured.add("around_percent", [self.percent(around)]);
        measured.add("sent_percent", [self.percent([around[1], u64::MAX])]);
        measured.add("latency_ms_around", [self.slowest_ms(around)]);
        measured.add("latency_ms_before", [self.slowest_ms(before)]);
        measured.disturbed = self.gone(around);
        let mark = |at, says| Mark {
            at: s(at),
            says,
            is_step: false,
        };
        let took_ms = (to - from) as f64 / 1e6;
        let begin = "sessions begin to move to the second worker".to_owned();
        let end = format!("all have moved, {took_ms:.1} ms later");
        measured.marks.extend([mark(from, begin), mark(to, end)]);
        measured
    }

    fn within(&self, [from, to]: [u64; 2]) -> impl Iterator<Item = &Bit> {
        let bits = self.bits.iter();
        bits.filter(move |bit| bit.at_ns + bit.long_ns > from && bit.at_ns < to)
    }

    fn percent(&self, span: [u64; 2]) -> f64 {
        let (mut sent, mut offered) = (0, 0);
        for bit in self.within(span) {
            (sent, offered) = (sent + bit.sent, offered + bit.offered);
        }
        sent as f64 / offered as f64 * 100.0
    }

    /// Whether a worker was away for long.
    fn gone(&self, span: [u64; 2]) -> Option<String> {
        let gap_ns = self.within(span).map(|bit| bit.gap_ns).max()?;
        let ms = gap_ns as f64 / 1e6;
        (gap_ns > AWAY_NS).then(|| format!("a worker was away for {ms:.1} ms"))
    }

    fn slowest_ms(&self, span: [u64; 2]) -> f64 {
        let slowest = self.within(span).map(|bit| bit.slowest_ns).max();
        slowest.map_or(f64::NAN, |ns| ns as f64 / 1e6)
    }
}

/// Packets sent, and packets offered, so far.
fn counted<P: Packet + Send + 'static>(testbed: &Testbed<P>) -> (u64, u64) {
    let of = |eye: &sluice_bench::elastic::watch::Eye| {
        (
            eye.left.load(Relaxed),
            eye.made.load(Relaxed) + eye.missed.load(Relaxed),
        )
    };
    let eyes = testbed.watch.eyes.iter().map(of);
    eyes.fold((0, 0), |sum, eye| (sum.0 + eye.0, sum.1 + eye.1))
}

fn s(ns: u64) -> f64 {
    ns as f64 / 1e9
}
