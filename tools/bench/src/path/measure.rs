//! Timed repetitions: path, limit and source in turn.

use super::disturbance;
use super::fifo::Check;
use super::limit;
use super::memory::Grown;
use super::public;
use super::testbed::{Failure, Testbed};
use super::traffic::{Direction, Form, Frames, OUTER_LEN, UE_PORT};
use super::variant::{Load, Variant};
use super::waiting;
use crate::report::{Conditions, Effort, HugePages, Outcome, between, join, spread};
use crate::stats::{Summary, round};
use crate::watch::history::Series;
use serde_json::json;
use sluice_datapath::limits::SHARDS;
use sluice_host::clock;
use sluice_mem::arena::Arena;
use sluice_port::{Burst, Packet};
use std::time::{Duration, Instant};

/// At fewer sessions the fixed part of the memory would stand for them.
const SESSIONS_FOR_MEMORY: u32 = 100_000;

/// Packets of each stage that the limit tries.
pub const STAGES: [usize; 4] = [32, 64, 128, 256];
/// Turns between two looks at the clock.
const TURNS: usize = 32;

/// What traffic is measured.
#[derive(Clone, Debug)]
pub struct Case {
    /// As results are named.
    pub name: String,
    /// Where packets come in.
    pub directions: &'static [Direction],
    pub forms: &'static [Form],
}

const UP: &[Direction] = &[Direction::Uplink];
const DOWN: &[Direction] = &[Direction::Downlink];
const BOTH: &[Direction] = &Direction::BOTH;

/// All of the sessions that are measured where nothing is said of rules.
const CASES: [(&str, &[Direction], &[Form], Variant); 8] = [
    ("ul/default", UP, &[Form::USUAL], Variant::USUAL),
    ("dl/default", DOWN, &[Form::USUAL], Variant::USUAL),
    ("mix/default", BOTH, &[Form::USUAL], Variant::USUAL),
    ("ul/checksum", UP, &[Form::CHECKSUM], Variant::USUAL),
    (
        "ul/checksum1400",
        UP,
        &[Form::LONG_CHECKSUM],
        Variant::USUAL,
    ),
    ("ul/no-psc", UP, &[Form::BARE], Variant::BARE),
    ("ul/foreign", UP, &[Form::USUAL], Variant::FOREIGN_TEIDS),
    ("ul/routes16", UP, &[Form::USUAL], Variant::ROUTES),
];

/// What is measured of such sessions: of those of `--rules` all directions.
pub fn cases(variant: &Variant) -> Vec<Case> {
    let case = |name: &str, directions, forms| Case {
        name: format!("path/{name}"),
        directions,
        forms,
    };
    if Variant::DEFAULTS.contains(variant) {
        let of = CASES.iter().filter(|(.., of)| of == variant);
        return of
            .map(|(name, ways, forms, _)| case(name, ways, forms))
            .collect();
    }
    let mut ways = vec![("ul", UP), ("dl", DOWN), ("mix", BOTH)];
    // Nobody pages a UE that sends.
    ways.retain(|(way, _)| variant.load != Load::Idle || *way == "dl");
    let named = ways
        .into_iter()
        .map(|(way, ways)| case(&format!("{way}/{}", variant.name), ways, variant.forms));
    named.collect()
}

/// Times per packet, in nanoseconds.
#[derive(Clone, Debug)]
pub struct Figures {
    /// The path.
    pub path: Summary,
    /// The limit at its best stage.
    pub limit: Summary,
    /// Packets of that stage.
    pub limit_stage: usize,
    /// Source and sink alone.
    pub source: Summary,
    /// The path's time by that of the limit, by repetition.
    pub ratios: Vec<f64>,
    /// Share of the time in which another thread had the CPU.
    pub preempted: f64,
}

sluice_mem::zeroable_struct! {
    /// What the limit's loop keeps of a session and direction: one cache line, which does not change with the
    /// path's own entry.
    #[derive(Clone, Copy, Default, Debug)]
    #[repr(C, align(64))]
    pub struct LimitLine {
        /// TEID or UE address.
        pub key: u32,
        /// TEID of the outer header.
        pub teid: u32,
        /// Whose headers are written.
        pub peer: u64,
        /// Usage.
        pub bytes: u64,
        /// Usage.
        pub packets: u64,
        /// The UE's address on the other side, and the first port of its block there, where it is translated.
        pub address: u32,
        pub port: u32,
        rest: [u64; 3],
    }
}

/// The limit's own tables, of both directions.
pub struct Bench {
    uplink: Tables,
    downlink: Tables,
}

struct Tables {
    lines: Arena<LimitLine>,
    fronts: Vec<[u8; 14 + OUTER_LEN]>,
    /// Octets around the inner packets.
    outer_len: usize,
    is_translated: bool,
}

impl Bench {
    /// Tables for the sessions of `world`.
    pub fn new<P: Packet>(world: &Testbed<P>) -> Result<Self, Failure> {
        let len = (2 * world.flows.len() as u32)
            .next_power_of_two()
            .max(SHARDS) as usize;
        let frames = Frames::new(Form::USUAL, world.variant.servers);
        let tables = |name, fronts, outer_len| -> Result<Tables, Failure> {
            Ok(Tables {
                lines: Arena::new(name, len).map_err(|e| e.to_string())?,
                fronts,
                outer_len,
                is_translated: world.variant.is_translated(),
            })
        };
        let outer_len = world.variant.forms[0].outer_len();
        let mut bench = Self {
            uplink: tables("limit-uplink", frames.uplink_fronts(), outer_len)?,
            downlink: tables("limit-downlink", frames.downlink_fronts(), OUTER_LEN)?,
        };
        for flow in world.flows.iter() {
            let mut line = LimitLine {
                key: flow.teid,
                teid: flow.gnb_teid,
                peer: frames.way_out(flow) as u64,
                ..LimitLine::default()
            };
            let (address, first_port) = public::of(flow, 0);
            (line.address, line.port) = (address, first_port.into());
            bench.uplink.lines.as_mut_slice()[flow.teid as usize & (len - 1)] = line;
            line.key = match world.variant.is_translated() {
                true => public::session_of(address, first_port),
                false => flow.ue,
            };
            (line.address, line.port) = (flow.ue, public::in_block(UE_PORT, 0).into());
            line.peer = flow.gnb() as u64;
            bench.downlink.lines.as_mut_slice()[line.key as usize & (len - 1)] = line;
        }
        Ok(bench)
    }

    /// Sends the packets of all sessions through the limit and compares every byte.
    pub fn prove<P: Packet>(&mut self, world: &mut Testbed<P>) -> Result<u64, Failure> {
        world.open(&[], Check::Every);
        self.uplink.outer_len = world.variant.forms[0].outer_len();
        let turns = world.flows.len().div_ceil(STAGES[2]);
        for _ in 0..turns {
            self.limit(world, Direction::Uplink, STAGES[2])?;
            // It knows the usual header alone.
            if world.variant.has_container() {
                self.limit(world, Direction::Downlink, STAGES[2])?;
            }
        }
        world.verdict()
    }

    /// Measures path, limit and source in turn.
    pub fn measure<P: Packet>(
        &mut self,
        world: &mut Testbed<P>,
        case: &Case,
        effort: Effort,
    ) -> Result<Figures, Failure> {
        world.set_forms(case.forms);
        self.uplink.outer_len = case.forms[0].outer_len();
        let figures = self.measure_forms(world, case, effort);
        world.set_forms(world.variant.forms);
        figures
    }

    fn measure_forms<P: Packet>(
        &mut self,
        world: &mut Testbed<P>,
        case: &Case,
        effort: Effort,
    ) -> Result<Figures, Failure> {
        let (mut path, mut source) = (vec![], vec![]);
        let mut limits = STAGES.map(|_| vec![]);
        let share = effort.each / STAGES.len() as u32;
        for rep in 0..=effort.reps {
            world.open(case.directions, Check::Sampled);
            let mut laps = vec![path_lap(world, effort.each)?];
            for stage in STAGES {
                laps.push(lap(world, share, |world| {
                    self.limit_all(world, case.directions, stage)
                })?);
            }
            world.verdict()?;
            world.open(case.directions, Check::Nothing);
            let idle = lap(world, share, |world| {
                turn_round(world, case);
                Ok(())
            })?;
            // The first one warms caches and tables up.
            if rep > 0 {
                source.push(idle);
                path.push(laps[0]);
                limits
                    .iter_mut()
                    .zip(&laps[1..])
                    .for_each(|(all, lap)| all.push(*lap));
            }
        }
        Ok(sum_up(&path, &limits, &source))
    }

    /// One turn of the limit in each of these directions.
    pub fn limit_all<P: Packet>(
        &mut self,
        world: &mut Testbed<P>,
        ways: &[Direction],
        stage: usize,
    ) -> Result<(), Failure> {
        ways.iter()
            .try_for_each(|way| self.limit(world, *way, stage))
    }

    #[inline(always)]
    fn limit<P: Packet>(
        &mut self,
        world: &mut Testbed<P>,
        way: Direction,
        stage: usize,
    ) -> Result<(), Failure> {
        let io = world.worker.io();
        let (tables, fifo) = match way {
            Direction::Uplink => (&mut self.uplink, &mut io.uplink),
            Direction::Downlink => (&mut self.downlink, &mut io.downlink),
        };
        let from = (way, tables.outer_len, fifo);
        let (lines, fronts) = (tables.lines.as_mut_slice(), &tables.fronts[..]);
        let done = match tables.is_translated {
            false => limit::turn::<P, false>(from, lines, fronts, stage),
            true => limit::turn::<P, true>(from, lines, fronts, stage),
        };
        done.map(drop)
            .ok_or_else(|| "the limit does not know a session".to_owned())
    }
}

/// Source and sink with nothing between them.
fn turn_round<P: Packet>(world: &mut Testbed<P>, case: &Case) {
    let mut burst = Burst::new();
    for way in case.directions {
        let fifo = world.worker.io().fifo(*way);
        fifo.receive(&mut burst, STAGES[2]);
        fifo.give_back(&mut burst);
    }
}

/// The path's time per packet, in whatever directions are open.
pub fn ns_per_packet<P: Packet>(world: &mut Testbed<P>, time: Duration) -> Result<f64, Failure> {
    path_lap(world, time).map(|lap| lap.ns())
}

fn path_lap<P: Packet>(world: &mut Testbed<P>, time: Duration) -> Result<Lap, Failure> {
    if world.variant.load == Load::Idle {
        return waiting::page(world, time);
    }
    let lap = lap(world, time, |world| {
        world.turn();
        Ok(())
    })?;
    if world.variant.load == Load::AboveRate {
        world.drain()?;
    }
    Ok(lap)
}

/// One repetition: the thread's CPU time, the time on the wall, and what came out.
#[derive(Clone, Copy, Debug)]
pub struct Lap {
    pub cpu_ns: f64,
    pub wall_ns: f64,
    pub packets: f64,
}

impl Lap {
    pub fn ns(&self) -> f64 {
        self.cpu_ns / self.packets
    }
}

/// Lets `turn` run for `time`. The thread's CPU time counts, so that what others get is left out.
pub fn lap<P: Packet>(
    world: &mut Testbed<P>,
    time: Duration,
    mut turn: impl FnMut(&mut Testbed<P>) -> Result<(), Failure>,
) -> Result<Lap, Failure> {
    let packets = world.came();
    let (began, cpu_ns) = (Instant::now(), clock::thread_cpu_ns());
    while began.elapsed() < time {
        for _ in 0..TURNS {
            turn(world)?;
        }
    }
    Ok(Lap {
        cpu_ns: (clock::thread_cpu_ns() - cpu_ns) as f64,
        wall_ns: began.elapsed().as_nanos() as f64,
        packets: (world.came() - packets) as f64,
    })
}

fn sum_up(path: &[Lap], limits: &[Vec<Lap>], source: &[Lap]) -> Figures {
    let summary = |laps: &[Lap]| Summary::of(laps.iter().map(Lap::ns));
    let by_stage = STAGES
        .into_iter()
        .zip(limits)
        .map(|(stage, laps)| (stage, summary(laps)));
    let best = by_stage.min_by(|a, b| a.1.median.total_cmp(&b.1.median));
    let (limit_stage, limit) = best.unwrap_or((0, summary(&[])));
    let at = STAGES.iter().position(|stage| *stage == limit_stage);
    let beside = at.and_then(|at| limits.get(at)).into_iter().flatten();
    let all = || path.iter().chain(limits.iter().flatten());
    let (cpu_ns, wall_ns) = all().fold((0.0, 0.0), |sum, lap| {
        (sum.0 + lap.cpu_ns, sum.1 + lap.wall_ns)
    });
    Figures {
        path: summary(path),
        limit,
        limit_stage,
        source: summary(source),
        ratios: path
            .iter()
            .zip(beside)
            .map(|(p, l)| p.ns() / l.ns())
            .collect(),
        preempted: 1.0 - cpu_ns / wall_ns,
    }
}

/// Of a UPF with so many sessions: what its memory grew by, as far as that says something.
pub fn bytes_per_session(sessions: u32, memory: &Grown) -> Option<f64> {
    (sessions >= SESSIONS_FOR_MEMORY).then_some(memory.per_session.round())
}

/// Heads of the table.
pub const HEADS: &str = "|sessions|Mpps|ns/packet (min-max)|limit ns|ratio|net|B/session|pages";

impl Figures {
    /// Why they cannot be trusted though they are ratios, if so.
    fn series(&self, name: &str) -> Series {
        let series = Series::ratio(name.to_owned(), "ns by the limit's", self.ratios.clone());
        series.disturbed(disturbance(0.0, self.preempted))
    }

    /// What is told of a case; `compared` packets were compared.
    pub fn outcome(
        &self,
        (name, sessions): (&str, u32),
        conditions: &Conditions,
        (memory, huge_pages): (&Grown, HugePages),
        compared: u64,
    ) -> Outcome {
        let (path, limit, source) = (self.path, self.limit, self.source.median);
        let ratio = path.median / limit.median;
        // Without what source and sink take, which is in both.
        let limit_net = limit.median - source;
        let net = (limit_net > 0.0).then(|| (path.median - source) / limit_net);
        let bytes = bytes_per_session(sessions, memory);
        let figures = json!({
            "name": name,
            "sessions": sessions,
            "mpps_median": round(1000.0 / path.median),
            "limit_mpps_median": round(1000.0 / limit.median),
            "limit_stage_packets": self.limit_stage,
            "ratio_to_limit": round(ratio),
            "net_ratio_to_limit": net.map(round),
            "source_ns_median": round(source),
            "bytes_per_session": bytes,
            "n4_cache_bytes": memory.n4_cache,
            "packets_compared": compared,
        });
        let more = [
            spread("ns", path),
            spread("limit_ns", limit),
            conditions.to_json(),
            huge_pages.to_json(),
        ];
        let cells = vec![
            name.to_owned(),
            sessions.to_string(),
            format!("{:.1}", 1000.0 / path.median),
            between(path, 1),
            format!("{:.1}", limit.median),
            format!("{ratio:.2}"),
            net.map_or("-".to_owned(), |net| format!("{net:.2}")),
            bytes.map_or("-".to_owned(), |b| b.to_string()),
            huge_pages.name().to_owned(),
        ];
        Outcome {
            json: more.into_iter().fold(figures, join),
            cells,
            below: conditions.line(),
            series: vec![huge_pages.of(self.series(&format!("{name}/{sessions}")))],
        }
    }
}
