//! Timed repetitions: path and plain I/O loop in turn on one link.

use super::peer::{Answer, PacketBalance, Traffic, ended, since};
use super::ports::Testbed;
use super::remote_end::RemoteEnd;
use super::{apart_from_spread, link::Kind};
use crate::path::fifo::Check;
use crate::path::testbed::Failure;
use crate::report::{Conditions, Effort, HugePages, Outcome, between, join, of};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::{Value, json};
use sluice_host::clock;
use sluice_port::PortIo;
use std::time::{Duration, Instant};

/// Packets that the plain loop takes at a time: it tries all, the best counts.
pub const STAGES: [usize; 4] = [32, 64, 128, 256];
/// So long the measured side stays away until the far end has filled the rings: 2048 packets of
/// each direction at 200 ns.
const FILL: Duration = Duration::from_micros(800);
/// Turns between two looks at the clock.
const TURNS: usize = 16;
/// When nothing has moved for so long, packets are lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// What traffic is measured.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// As results are named, behind the link's name.
    pub name: &'static str,
    /// Whether there is uplink, and downlink.
    pub open: [bool; 2],
}

/// All of them.
pub const CASES: [Case; 3] = [
    case("ul", [true, false]),
    case("dl", [false, true]),
    case("mix", [true, true]),
];

const fn case(name: &'static str, open: [bool; 2]) -> Case {
    Case { name, open }
}

/// Who turns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loop {
    /// The worker.
    Path,
    /// The plain loop, up to so many packets at a time.
    Io(usize),
}

/// All figures of a case.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The path's time for a packet while its rings are deep, nanoseconds.
    pub path_ns: Summary,
    /// The same of the plain loop at its best stage.
    pub io_ns: Summary,
    /// Packets of that stage.
    pub io_stage: usize,
    /// The one by the other, by repetition.
    pub ratio: Summary,
    /// The same, each of them.
    pub ratios: Vec<f64>,
    /// Packets that a turn of the path found then.
    pub fill: f64,
    /// Both ends as fast as they can.
    pub path_free: Free,
    /// The same of the plain loop.
    pub io_free: Free,
    /// Share of the time in which others had the measured side's CPU.
    pub preempted: f64,
    /// The same of the far end.
    pub far_preempted: f64,
    /// What became of all packets.
    pub balance: PacketBalance,
}

/// What both sides together make.
#[derive(Clone, Copy, Debug)]
pub struct Free {
    /// Millions of packets per second.
    pub mpps: Summary,
    /// Share of the time in which the measured side had packets.
    pub busy: Summary,
}

/// The measured side and the far end of one link.
pub struct Pair<'a, I: PortIo> {
    pub world: &'a mut Testbed<I>,
    pub far: &'a mut RemoteEnd,
    /// Packets of each direction under way at the most.
    pub window: usize,
}

#[derive(Clone, Copy, Default)]
struct Lap {
    packets: u64,
    turns: u64,
    cpu_ns: f64,
    wall_ns: f64,
    busy_ns: f64,
}

impl Lap {
    fn ns(&self) -> f64 {
        self.cpu_ns / self.packets as f64
    }
}

impl<I: PortIo> Pair<'_, I> {
    /// Sends a packet of every session each way through the path and compares every byte.
    pub fn prove(&mut self) -> Result<u64, Failure> {
        let all = self.world.flows.len() as u64;
        let before = ended(&self.world.ledger());
        let traffic = self.traffic([true, true], Answer::Path, (Check::Every, all as usize));
        self.far.start(traffic)?;
        let (mut last, mut seen) = (Instant::now(), 0);
        loop {
            for _ in 0..TURNS {
                self.world.turn();
            }
            let done = ended(&self.world.ledger()) - before;
            if done >= 2 * all || last.elapsed() > PATIENCE {
                break;
            }
            if done > seen {
                (last, seen) = (Instant::now(), done);
            }
        }
        let world = &mut *self.world;
        let count = self.far.stop(|| world.turn())?;
        let ledger = self.world.ledger();
        if count.returned != 2 * all || count.compared != count.returned {
            let returned = count.returned;
            return Err(format!(
                "{returned} of {} packets came back: {ledger}",
                2 * all
            ));
        }
        let balance = PacketBalance {
            path: count,
            ledger,
            ..PacketBalance::default()
        };
        balance.fault().map_or(Ok(balance.path.compared), Err)
    }

    /// Measures path and plain loop in turn.
    pub fn measure(&mut self, case: Case, effort: Effort) -> Result<Figures, Failure> {
        let before = self.world.ledger();
        let mut balance = PacketBalance::default();
        balance.path.cpu_share = 1.0;
        balance.io.cpu_share = 1.0;
        let mut laps = Laps::default();
        for rep in 0..=effort.reps {
            let path = self.both(case, Loop::Path, effort.each, &mut balance)?;
            let share = effort.each / STAGES.len() as u32;
            let mut ios = Vec::new();
            for stage in STAGES {
                ios.push(self.both(case, Loop::Io(stage), share, &mut balance)?);
            }
            // The first one warms caches and tables up.
            if rep > 0 {
                laps.path.push(path);
                laps.io
                    .iter_mut()
                    .zip(ios)
                    .for_each(|(all, lap)| all.push(lap));
            }
        }
        balance.ledger = since(&before, &self.world.ledger());
        Ok(laps.sum_up(balance))
    }

    /// With deep rings, and as fast as both ends can.
    fn both(
        &mut self,
        case: Case,
        who: Loop,
        each: Duration,
        balance: &mut PacketBalance,
    ) -> Result<[Lap; 2], Failure> {
        let answer = match who {
            Loop::Path => Answer::Path,
            Loop::Io(_) => Answer::Same,
        };
        let traffic = self.traffic(case.open, answer, (Check::Sampled, usize::MAX));
        self.far.start(traffic)?;
        let mut unsent = 0;
        let world = &mut *self.world;
        let mut turn = || match who {
            Loop::Path => world.turn(),
            Loop::Io(stage) => {
                let (came, lost) = world.turn_io(stage);
                unsent += lost as u64;
                came
            }
        };
        let laps = [deep(each, &mut turn), free(each / 2, &mut turn)];
        let count = self.far.stop(turn)?;
        match who {
            Loop::Path => balance.path.add(&count),
            Loop::Io(_) => balance.io.add(&count),
        }
        balance.io_unsent += unsent;
        match laps.iter().all(|lap| lap.packets > 0) {
            true => Ok(laps),
            false => Err(format!(
                "no packets flow: {count:?}, {}",
                self.world.ledger()
            )),
        }
    }

    fn traffic(
        &self,
        open: [bool; 2],
        answer: Answer,
        (check, at_most): (Check, usize),
    ) -> Traffic {
        Traffic {
            open,
            answer,
            check,
            at_most,
            window: self.window,
        }
    }
}

/// A lap goes on for `each`, and until a packet has come: the far end may have lost its CPU.
fn goes_on(lap: &Lap, began: Instant, each: Duration) -> bool {
    let past = began.elapsed();
    past < each || lap.packets == 0 && past < each + PATIENCE
}

/// Again and again the rings are filled and then worked off, so that the source limits nothing:
/// the time in which they are worked off counts, as CPU time.
fn deep(each: Duration, turn: &mut impl FnMut() -> usize) -> Lap {
    let mut lap = Lap::default();
    let began = Instant::now();
    while goes_on(&lap, began, each) {
        let away = Instant::now();
        while away.elapsed() < FILL {
            std::hint::spin_loop();
        }
        let (at, cpu_ns) = (Instant::now(), clock::thread_cpu_ns());
        loop {
            let n = turn();
            lap.packets += n as u64;
            lap.turns += 1;
            let is_time = lap.turns.is_multiple_of(TURNS as u64) && began.elapsed() >= each;
            if n == 0 || is_time {
                break;
            }
        }
        lap.cpu_ns += (clock::thread_cpu_ns() - cpu_ns) as f64;
        lap.wall_ns += at.elapsed().as_nanos() as f64;
    }
    lap
}

/// Both ends as fast as they can.
fn free(each: Duration, turn: &mut impl FnMut() -> usize) -> Lap {
    let mut lap = Lap::default();
    let (began, cpu_ns) = (Instant::now(), clock::thread_cpu_ns());
    while goes_on(&lap, began, each) {
        for _ in 0..TURNS {
            let at_ns = clock::monotonic_ns();
            let n = turn();
            if n > 0 {
                lap.packets += n as u64;
                lap.turns += 1;
                lap.busy_ns += (clock::monotonic_ns() - at_ns) as f64;
            }
        }
    }
    lap.cpu_ns = (clock::thread_cpu_ns() - cpu_ns) as f64;
    lap.wall_ns = began.elapsed().as_nanos() as f64;
    lap
}

#[derive(Default)]
struct Laps {
    path: Vec<[Lap; 2]>,
    io: [Vec<[Lap; 2]>; STAGES.len()],
}

impl Laps {
    fn sum_up(self, balance: PacketBalance) -> Figures {
        let ns = |laps: &[[Lap; 2]]| Summary::of(laps.iter().map(|[deep, _]| deep.ns()));
        let best = (0..STAGES.len()).min_by(|a, b| {
            let median = |at: usize| ns(&self.io[at]).median;
            median(*a).total_cmp(&median(*b))
        });
        let best = best.unwrap_or_default();
        let io = &self.io[best];
        let pairs = self.path.iter().zip(io);
        let ratios = pairs.map(|(path, io)| path[0].ns() / io[0].ns());
        let ratios: Vec<f64> = ratios.collect();
        let all = || self.path.iter().chain(self.io.iter().flatten()).flatten();
        let sum = |of: fn(&Lap) -> f64| all().map(of).sum::<f64>();
        let deep = |of: fn(&Lap) -> u64| self.path.iter().map(|l| of(&l[0])).sum::<u64>() as f64;
        Figures {
            path_ns: ns(&self.path),
            io_ns: ns(io),
            io_stage: STAGES[best],
            ratio: Summary::of(ratios.iter().copied()),
            ratios,
            fill: deep(|lap| lap.packets) / deep(|lap| lap.turns),
            path_free: Free::of(&self.path),
            io_free: Free::of(io),
            preempted: 1.0 - sum(|lap| lap.cpu_ns) / sum(|lap| lap.wall_ns),
            far_preempted: 1.0 - balance.path.cpu_share.min(balance.io.cpu_share),
            balance,
        }
    }
}

impl Free {
    fn of(laps: &[[Lap; 2]]) -> Self {
        let each = |of: fn(&Lap) -> f64| Summary::of(laps.iter().map(|[_, free]| of(free)));
        Self {
            mpps: each(|lap| lap.packets as f64 / lap.wall_ns * 1000.0),
            busy: each(|lap| lap.busy_ns / lap.wall_ns),
        }
    }
}

/// What the path over a port may cost, by the plain loop on the same port.
const RATIO_GOAL: f64 = 1.6;
/// A side that is busy for more of the time is what limits both.
const BUSY_MIN: f64 = 0.95;
/// Heads of the table.
pub const HEADS: &str =
    "|sessions|ns/packet (min-max)|plain ns|ratio (min-max)|Mpps|lost|Mpps limited by";

impl Figures {
    /// What is told of a case; `proven` packets were compared before the clock ran: one of each session and
    /// direction.
    pub fn outcome(
        &self,
        (kind, case, sessions): (Kind, Case, u32),
        conditions: &Conditions,
        (proven, pages): (u64, HugePages),
    ) -> Outcome {
        let name = format!("{}/{}", kind.name(), case.name);
        let series = Series::ratio(
            format!("{name}/{sessions}"),
            "ns by the plain loop's",
            self.ratios.clone(),
        );
        let figures = json!({
            "name": name,
            "carried_by": kind.carried_by(),
            "sessions": sessions,
            "ns": of(self.path_ns),
            "limit_ns": of(self.io_ns),
            "limit_stage_packets": self.io_stage,
            "ratio_to_limit": of(self.ratio),
            "ratio_goal": RATIO_GOAL,
            "packets_a_turn": round(self.fill),
            "as_fast_as_both_can": { "path": self.path_free.to_json(), "limit": self.io_free.to_json() },
            "packets": self.balance.to_json(proven),
            "far_preempted_share": round(self.far_preempted),
        });
        let lost: u64 = self.balance.lost().iter().sum();
        let cells = vec![
            name,
            sessions.to_string(),
            between(self.path_ns, 1),
            format!("{:.1}", self.io_ns.median),
            between(self.ratio, 2),
            format!("{:.2}", self.path_free.mpps.median),
            lost.to_string(),
            self.path_free.limited_by().to_owned(),
        ];
        Outcome {
            json: join(join(figures, conditions.to_json()), pages.to_json()),
            cells,
            below: conditions.line(),
            series: vec![pages.of(series).disturbed(apart_from_spread(self))],
        }
    }
}

impl Free {
    fn to_json(self) -> Value {
        json!({
            "mpps": of(self.mpps),
            "busy_share": of(self.busy),
            "limited_by": self.limited_by(),
        })
    }

    /// Which side is at its end.
    fn limited_by(&self) -> &'static str {
        match self.busy.median >= BUSY_MIN {
            true => "the measured worker",
            false => "the far end",
        }
    }
}
