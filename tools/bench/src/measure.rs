//! Measure: a warm-up and repetitions of a subject beside its limit loop, made again while something disturbs them,
//! and the verdict on them.

use crate::Failure;
use crate::stats::{Summary, round};
use serde_json::{Value, json};
use sluice_host::clock;
use std::time::{Duration, Instant};

/// Packets that a limit loop takes at a time: it tries all, the best counts.
pub const STAGES: [usize; 4] = [32, 64, 128, 256];
/// Turns between two looks at the clock.
const TURNS: usize = 32;
/// Repetitions of a quiet machine lie closer together than this share of their median.
const SPREAD_MAX: f64 = 0.2;
/// Beyond this share of time for others the caches are theirs, too.
const PREEMPTED_MAX: f64 = 0.05;

/// How long is measured.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Repetitions that count; one more comes before them.
    pub reps: usize,
    pub each: Duration,
}

impl Effort {
    pub fn new(reps: impl Into<usize>, seconds: f64) -> Self {
        Self {
            reps: reps.into(),
            each: Duration::from_secs_f64(seconds),
        }
    }

    /// As many laps as there are repetitions, each told its number. The first one, number 0, warms caches and tables up,
    /// and does not count.
    pub fn repeat<T>(
        self,
        mut lap: impl FnMut(usize) -> Result<T, Failure>,
    ) -> Result<Vec<T>, Failure> {
        lap(0)?;
        (1..=self.reps).map(lap).collect()
    }

    /// Laps of a limit at each of its stages, which share the time of one.
    pub fn at_each_stage<T>(
        self,
        mut lap: impl FnMut(usize, Duration) -> Result<T, Failure>,
    ) -> Result<[T; STAGES.len()], Failure> {
        let share = self.each / STAGES.len() as u32;
        let laps: Result<Vec<T>, Failure> =
            STAGES.map(|stage| lap(stage, share)).into_iter().collect();
        laps?
            .try_into()
            .map_err(|_| "a lap at each stage".to_owned())
    }
}

/// Time of a thread, by its CPU and by the wall, and the packets of that time.
#[derive(Clone, Copy, Default, Debug)]
pub struct Lap {
    pub cpu_ns: f64,
    pub wall_ns: f64,
    pub packets: f64,
}

impl Lap {
    /// CPU time for a packet, so that what others get is left out.
    pub fn ns(&self) -> f64 {
        self.cpu_ns / self.packets
    }

    /// The times of both.
    pub fn add(&mut self, other: Self) {
        self.cpu_ns += other.cpu_ns;
        self.wall_ns += other.wall_ns;
        self.packets += other.packets;
    }
}

/// A stopwatch of this thread.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch {
    began: Instant,
    cpu_ns: u64,
}

impl Stopwatch {
    #[inline]
    pub fn start() -> Self {
        Self {
            began: Instant::now(),
            cpu_ns: clock::thread_cpu_ns(),
        }
    }

    #[inline]
    pub fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// The time until now, and so many packets.
    #[inline]
    pub fn lap(&self, packets: usize) -> Lap {
        Lap {
            cpu_ns: (clock::thread_cpu_ns() - self.cpu_ns) as f64,
            wall_ns: self.began.elapsed().as_nanos() as f64,
            packets: packets as f64,
        }
    }
}

/// Lets `turn` run for `time`; `came` counts packets.
pub fn lap<W>(
    testbed: &mut W,
    time: Duration,
    came: impl Fn(&mut W) -> usize,
    mut turn: impl FnMut(&mut W) -> Result<(), Failure>,
) -> Result<Lap, Failure> {
    let packets = came(testbed);
    let watch = Stopwatch::start();
    while watch.elapsed() < time {
        for _ in 0..TURNS {
            turn(testbed)?;
        }
    }
    let lap = watch.lap(0);
    Ok(Lap {
        packets: (came(testbed) - packets) as f64,
        ..lap
    })
}

/// Share of the time in which others had the CPU.
pub fn preempted<'l>(laps: impl IntoIterator<Item = &'l Lap>) -> f64 {
    let mut all = Lap::default();
    laps.into_iter().for_each(|lap| all.add(*lap));
    1.0 - all.cpu_ns / all.wall_ns
}

/// Nanoseconds for a packet: of a subject, and of its limit at the stage that is best for it.
#[derive(Clone, Debug)]
pub struct Beside {
    pub subject: Summary,
    pub limit: Summary,
    pub stage: usize,
    /// The one by the other, by repetition.
    pub ratios: Vec<f64>,
}

impl Beside {
    /// Of repetitions, each a lap of the subject and one of the limit at each stage.
    pub fn of<'l>(laps: impl Iterator<Item = (&'l Lap, [&'l Lap; STAGES.len()])> + Clone) -> Self {
        let at_stage = |at: usize| laps.clone().map(move |(_, limits)| limits[at].ns());
        let median = |at: &usize| Summary::of(at_stage(*at)).median;
        let best = (0..STAGES.len()).min_by(|a, b| median(a).total_cmp(&median(b)));
        let best = best.unwrap_or_default();
        let ratios = laps
            .clone()
            .map(|(subject, limits)| subject.ns() / limits[best].ns());
        Self {
            subject: Summary::of(laps.clone().map(|(subject, _)| subject.ns())),
            limit: Summary::of(at_stage(best)),
            stage: STAGES[best],
            ratios: ratios.collect(),
        }
    }

    /// How far repetitions lie apart, of whichever lies further.
    pub fn spread(&self) -> f64 {
        self.subject.spread().max(self.limit.spread())
    }
}

/// Verdict on an attempt to measure.
pub struct Judged {
    /// Why the figures cannot be trusted, if so.
    pub disturbed: Option<String>,
    /// Share of the time that others had the CPU.
    pub preempted: f64,
    /// Of attempts that were all disturbed the one with the least of this stands.
    pub ns: f64,
}

/// Measures again and again while it is disturbed, so often at the most, and tells people each time; the best attempt
/// stands.
pub fn quietest<T>(
    (title, most, reps): (&str, usize, usize),
    mut measure: impl FnMut() -> Result<T, Failure>,
    judge: impl Fn(&T) -> Judged,
) -> Result<(T, Conditions), Failure> {
    let mut best: Option<(T, Judged)> = None;
    let mut attempts = 0;
    while attempts < most && best.as_ref().is_none_or(|(_, j)| j.disturbed.is_some()) {
        attempts += 1;
        eprintln!("{title}");
        let figures = measure()?;
        let judged = judge(&figures);
        let better = |(_, b): &(T, Judged)| judged.disturbed.is_none() || judged.ns < b.ns;
        if best.as_ref().is_none_or(better) {
            best = Some((figures, judged));
        }
    }
    let (figures, judged) = best.ok_or("nothing was measured")?;
    let conditions = Conditions {
        disturbed: judged.disturbed,
        attempts,
        reps,
        preempted: judged.preempted,
    };
    Ok((figures, conditions))
}

/// Whether repetitions lie so far apart that their figures cannot be trusted, or others had `what` for too much of the
/// time.
pub fn disturbance(spread: f64, preempted: f64, what: &str) -> Option<String> {
    let [apart, away] = [spread, preempted].map(|share| share * 100.0);
    match (spread > SPREAD_MAX, preempted > PREEMPTED_MAX) {
        (true, _) => Some(format!("repetitions lie {apart:.0} % apart")),
        (false, true) => Some(format!("others had {what} for {away:.0} % of the time")),
        (false, false) => None,
    }
}

/// Under which conditions a figure was taken.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Conditions {
    /// Why the figures cannot be trusted.
    pub disturbed: Option<String>,
    /// Measurements until one was undisturbed, or none was.
    pub attempts: usize,
    pub reps: usize,
    /// Share of the time that others had the CPU.
    pub preempted: f64,
}

impl Conditions {
    /// As keys of the figure.
    pub fn to_json(&self) -> Value {
        json!({
            "repetitions": self.reps,
            "disturbed": self.disturbed.is_some(),
            "disturbed_because": self.disturbed,
            "attempts": self.attempts,
            "preempted_share": round(self.preempted),
        })
    }

    /// A line under the figure, if there is something to say.
    pub fn line(&self) -> String {
        let why = self.disturbed.as_ref();
        why.map_or_else(String::new, |why| format!("  disturbed: {why}\n"))
    }
}
