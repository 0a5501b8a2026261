//! Timed repetitions: path and plain I/O loop in turn on one link.

use super::link::Kind;
use super::peer::{Answer, PacketBalance, Traffic, ended, since};
use super::ports::Testbed;
use super::remote_end::RemoteEnd;
use crate::Failure;
use crate::measure::{
    self, Beside, Conditions, Effort, Judged, STAGES, Stopwatch, disturbance, preempted,
};
use crate::path::fifo::Check;
use crate::report::{HugePages, Outcome, between, join, of};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::{Value, json};
use sluice_host::clock;
use sluice_port::PortIo;
use std::time::{Duration, Instant};

/// Time for the far end to fill the rings before the measured side begins: 2048 packets of each direction at 200 ns.
const FILL: Duration = Duration::from_micros(800);
/// Turns between two looks at the clock.
const TURNS: usize = 16;
/// When nothing has moved for so long, packets are lost.
const PATIENCE: Duration = Duration::from_secs(1);

/// Traffic of a case.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// As results are named, behind the link's name.
    pub name: &'static str,
    /// Whether there is uplink, and downlink.
    pub open: [bool; 2],
}

pub const CASES: [Case; 3] = [
    case("ul", [true, false]),
    case("dl", [false, true]),
    case("mix", [true, true]),
];

const fn case(name: &'static str, open: [bool; 2]) -> Case {
    Case { name, open }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Loop {
    Path,
    /// The plain loop, up to so many packets at a time.
    Io(usize),
}

/// All figures of a case.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The path beside the plain loop, while rings are deep.
    pub deep: Beside,
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
    pub balance: PacketBalance,
}

/// Rate of both sides together.
#[derive(Clone, Copy, Debug)]
pub struct Free {
    /// Millions of packets per second.
    pub mpps: Summary,
    /// Share of the time in which the measured side had packets.
    pub busy: Summary,
}

/// The measured side and the far end of one link.
pub struct Pair<'a, I: PortIo> {
    pub testbed: &'a mut Testbed<I>,
    pub far: &'a mut RemoteEnd,
    /// Packets of each direction under way at the most.
    pub window: usize,
}

/// Time and packets of a side, its turns, and its time in those that found packets.
#[derive(Clone, Copy, Default)]
struct Lap {
    spent: measure::Lap,
    turns: u64,
    busy_ns: f64,
}

impl<I: PortIo> Pair<'_, I> {
    /// Sends a packet of every session each way through the path and compares every byte.
    pub fn prove(&mut self) -> Result<u64, Failure> {
        let all = self.testbed.flows.len() as u64;
        let before = ended(&self.testbed.ledger());
        let traffic = self.traffic([true, true], Answer::Path, (Check::Every, all as usize));
        self.far.start(traffic)?;
        let (mut last, mut seen) = (Instant::now(), 0);
        loop {
            for _ in 0..TURNS {
                self.testbed.turn();
            }
            let done = ended(&self.testbed.ledger()) - before;
            if done >= 2 * all || last.elapsed() > PATIENCE {
                break;
            }
            if done > seen {
                (last, seen) = (Instant::now(), done);
            }
        }
        let testbed = &mut *self.testbed;
        let count = self.far.stop(|| testbed.turn())?;
        let ledger = self.testbed.ledger();
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
        let before = self.testbed.ledger();
        let mut balance = PacketBalance::default();
        balance.path.cpu_share = 1.0;
        balance.io.cpu_share = 1.0;
        let laps = effort.repeat(|_| {
            let path = self.both(case, Loop::Path, effort.each, &mut balance)?;
            let io = effort.at_each_stage(|stage, share| {
                self.both(case, Loop::Io(stage), share, &mut balance)
            })?;
            Ok((path, io))
        })?;
        balance.ledger = since(&before, &self.testbed.ledger());
        Ok(sum_up(&laps, balance))
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
        let testbed = &mut *self.testbed;
        let mut turn = || match who {
            Loop::Path => testbed.turn(),
            Loop::Io(stage) => {
                let (came, lost) = testbed.turn_io(stage);
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
        match laps.iter().all(|lap| lap.spent.packets > 0.0) {
            true => Ok(laps),
            false => Err(format!(
                "no packets flow: {count:?}, {}",
                self.testbed.ledger()
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
    past < each || lap.spent.packets == 0.0 && past < each + PATIENCE
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
        let watch = Stopwatch::start();
        let mut packets = 0;
        loop {
            let n = turn();
            packets += n;
            lap.turns += 1;
            let is_time = lap.turns.is_multiple_of(TURNS as u64) && began.elapsed() >= each;
            if n == 0 || is_time {
                break;
            }
        }
        lap.spent.add(watch.lap(packets));
    }
    lap
}

/// Both ends as fast as they can.
fn free(each: Duration, turn: &mut impl FnMut() -> usize) -> Lap {
    let mut lap = Lap::default();
    let (began, watch) = (Instant::now(), Stopwatch::start());
    let mut packets = 0;
    while goes_on(&lap, began, each) {
        for _ in 0..TURNS {
            let at_ns = clock::monotonic_ns();
            let n = turn();
            if n > 0 {
                packets += n;
                lap.turns += 1;
                lap.busy_ns += (clock::monotonic_ns() - at_ns) as f64;
            }
        }
        lap.spent.packets = packets as f64;
    }
    lap.spent = watch.lap(packets);
    lap
}

/// Of repetitions: laps of the path and of the plain loop at each stage, each with deep rings and free.
fn sum_up(laps: &[([Lap; 2], [[Lap; 2]; STAGES.len()])], balance: PacketBalance) -> Figures {
    let deep = |[deep, _]: &'_ [Lap; 2]| deep.spent;
    let spent: Vec<_> = laps
        .iter()
        .map(|(path, io)| (deep(path), io.each_ref().map(deep)))
        .collect();
    let deep = Beside::of(spent.iter().map(|(path, io)| (path, io.each_ref())));
    let best = STAGES
        .iter()
        .position(|stage| *stage == deep.stage)
        .unwrap_or_default();
    let all = laps
        .iter()
        .flat_map(|(path, io)| io.iter().chain([path]).flatten());
    let turns: u64 = laps.iter().map(|([deep, _], _)| deep.turns).sum();
    let packets: f64 = spent.iter().map(|(path, _)| path.packets).sum();
    Figures {
        deep,
        fill: packets / turns as f64,
        path_free: Free::of(laps.iter().map(|(path, _)| path[1])),
        io_free: Free::of(laps.iter().map(|(_, io)| io[best][1])),
        preempted: preempted(all.map(|lap| &lap.spent)),
        far_preempted: 1.0 - balance.path.cpu_share.min(balance.io.cpu_share),
        balance,
    }
}

impl Free {
    fn of(laps: impl Iterator<Item = Lap> + Clone) -> Self {
        let mpps = |lap: Lap| lap.spent.packets / lap.spent.wall_ns * 1000.0;
        Self {
            mpps: Summary::of(laps.clone().map(mpps)),
            busy: Summary::of(laps.map(|lap| lap.busy_ns / lap.spent.wall_ns)),
        }
    }
}

/// Goal for the ratio of the path over a port to the plain loop on the same port.
const RATIO_GOAL: f64 = 1.6;
/// A side that is busy for more of the time is what limits both.
const BUSY_MIN: f64 = 0.95;
/// Heads of the table.
pub const HEADS: &str =
    "|sessions|ns/packet (min-max)|plain ns|ratio (min-max)|Mpps|lost|Mpps limited by";

impl Figures {
    /// Whether they can be trusted.
    pub fn judge(&self) -> Judged {
        Judged {
            disturbed: self.disturbed(self.deep.spread()),
            preempted: self.preempted,
            ns: self.deep.limit.median,
        }
    }

    /// The machine's speed may change from repetition to repetition: ratios need not mind.
    fn disturbed(&self, spread: f64) -> Option<String> {
        let away = self.preempted.max(self.far_preempted);
        let lost: u64 = self.balance.lost().iter().sum();
        let lost = (lost > 0).then(|| format!("{lost} packets were lost"));
        disturbance(spread, away, "one of the CPUs").or(lost)
    }

    /// Result of a case; `proven` packets were compared before the clock ran: one of each session and direction.
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
            self.deep.ratios.clone(),
        );
        let ratio = Summary::of(self.deep.ratios.iter().copied());
        let figures = json!({
            "name": name,
            "carried_by": kind.carried_by(),
            "sessions": sessions,
            "ns": of(self.deep.subject),
            "limit_ns": of(self.deep.limit),
            "limit_stage_packets": self.deep.stage,
            "ratio_to_limit": of(ratio),
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
            between(self.deep.subject, 1),
            format!("{:.1}", self.deep.limit.median),
            between(ratio, 2),
            format!("{:.2}", self.path_free.mpps.median),
            lost.to_string(),
            self.path_free.limited_by().to_owned(),
        ];
        Outcome {
            json: join(join(figures, conditions.to_json()), pages.to_json()),
            cells,
            below: conditions.line(),
            series: vec![pages.of(series).disturbed(self.disturbed(0.0))],
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
