//! A UPF whose SMF is on a port of the process: the worker on a CPU with the packets, the control core and the SMF on
//! another.

use super::ledger::{Balance, Ledger};
use crate::Failure;
use crate::measure::{Lap, Stopwatch, lap};
use crate::path::fifo::Check;
use crate::path::io::{BenchIo, Pool};
use crate::path::rules::{self, STORM_THRESHOLD_BYTES, Usage};
use crate::path::smf::Smf;
use crate::path::testbed::{Size, alone, shuffled, start};
use crate::path::topology::number_of;
use crate::path::traffic::{Direction, Frames, INNER_LEN};
use crate::path::variant::Variant;
use crate::pfcp::load::Wire;
use crate::pfcp::port::{PortDoor, PortWire, pair};
use crate::pfcp::turns;
use sluice_control::core::UpfControl;
use sluice_datapath::worker::Worker;
use sluice_host::{clock, thread};
use sluice_n4::Outbox;
use sluice_port::Packet;
use sluice_testbed::upf::time;
use sluice_wire::pfcp::{Full, Header, MessageType, SequenceNumber};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Requests of the SMF under way at a time.
const WINDOW: usize = 64;
/// Packets of each session before the clock runs: with half as many all have reached their threshold.
const LEAD_PACKETS: usize = 2 * (STORM_THRESHOLD_BYTES as usize).div_ceil(INNER_LEN);
/// Turns of both threads in which nothing happens, after which nothing is under way any more.
const QUIET_TURNS: u64 = 64;
/// Longest wait for what must come.
const PATIENCE: Duration = Duration::from_secs(60);

/// CPUs of the worker, and of the control core and the SMF.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cpus {
    pub worker: usize,
    pub control: usize,
}

pub struct ReportTestbed<P: Packet> {
    core: UpfControl<P>,
    worker: Worker<BenchIo<P>>,
    door: PortDoor<P>,
    smf: PortSmf<P>,
}

pub struct PortSmf<P: Packet> {
    smf: Smf<P>,
    pub wire: PortWire<P>,
    ledger: Ledger,
    /// Reports that are not answered yet.
    unanswered: Vec<SequenceNumber>,
}

/// Time and packets of a lap.
#[derive(Clone, Copy, Debug)]
pub struct Spent {
    /// The worker's time and packets.
    pub worker: Lap,
    /// Reports that the SMF was told meanwhile.
    pub reports: u64,
    /// Time of the other thread.
    pub control: Lap,
}

/// State that both threads of a lap share.
#[derive(Default)]
struct Shared {
    reports: AtomicU64,
    /// No packet comes any more.
    has_stopped: AtomicBool,
    /// Turns of the worker since then.
    turns: AtomicU64,
    /// Nothing is under way any more.
    is_settled: AtomicBool,
}

impl<P: Packet> ReportTestbed<P> {
    /// A UPF with so many sessions, whose packets were all compared once; `pool` gives pools of fresh packets.
    pub fn build(
        sessions: u32,
        usage: Usage,
        mut pool: impl FnMut() -> Pool<P>,
    ) -> Result<Self, Failure> {
        let variant = Variant {
            usage,
            ..Variant::USUAL
        };
        let (port, wire) = pair(pool());
        let mut fresh = pool();
        let mut io = BenchIo::new(Frames::default(), &mut fresh)?;
        io.set_pool(fresh);
        io.set_n4(port);
        let (core, worker) = alone(start(Size::of(sessions), [io])?)?;
        let mut testbed = Self {
            core,
            worker,
            door: PortDoor(pool()),
            smf: PortSmf {
                smf: Smf::on_port(sessions, variant),
                wire,
                ledger: Ledger::new(sessions),
                unanswered: Vec::new(),
            },
        };
        testbed.populate(sessions)?;
        testbed.prove()?;
        Ok(testbed)
    }

    /// Sessions are established as all else goes: by the port.
    fn populate(&mut self, sessions: u32) -> Result<(), Failure> {
        let associate = |smf: &mut Smf<P>, out: &mut [u8], _| smf.cp.associate(out, time().wall);
        self.ask(1, associate, |smf| usize::from(smf.smf.associated))?;
        self.ask(sessions, Smf::establish, |smf| smf.smf.established)?;
        let flows = shuffled(self.smf.smf.flows.clone());
        self.worker.io().set_flows(&flows);
        self.worker.io().open(&Direction::BOTH);
        self.allow(0);
        Ok(())
    }

    /// Makes so many requests and waits until as many are `done`.
    fn ask(
        &mut self,
        requests: u32,
        mut write: impl FnMut(&mut Smf<P>, &mut [u8], u32) -> Result<usize, Full>,
        done: impl Fn(&PortSmf<P>) -> usize,
    ) -> Result<(), Failure> {
        let mut message = [0; 1400];
        let (mut asked, mut heard) = (0, Instant::now());
        let mut answered = done(&self.smf);
        while answered < requests as usize {
            while asked < requests && (asked as usize) < answered + WINDOW {
                let len = write(&mut self.smf.smf, &mut message, asked);
                let len = len.map_err(|_| "a request is too long")?;
                if !self.smf.wire.send(&message[..len]) {
                    return Err("no room on the way to the UPF".to_owned());
                }
                asked += 1;
            }
            self.step()?;
            self.smf.turn()?;
            let now_answered = done(&self.smf);
            if now_answered > answered {
                (answered, heard) = (now_answered, Instant::now());
            } else if heard.elapsed() > PATIENCE {
                return Err(format!("{answered} of {requests} requests were answered"));
            }
        }
        Ok(())
    }

    /// A turn of the worker and one of the control core, as all are on one thread.
    pub fn step(&mut self) -> Result<usize, Failure> {
        let work = self.worker.turn(clock::monotonic_ns());
        Ok(work + turns::turn(&mut self.core, &mut self.door))
    }

    /// Sends a packet of each session both ways and compares every byte.
    fn prove(&mut self) -> Result<(), Failure> {
        let flows = self.smf.smf.flows.len();
        self.check(Check::Every);
        self.pass(flows)?;
        self.check(Check::Sampled);
        Ok(())
    }

    /// Lets so many packets come in each direction, and waits until all is reported.
    pub fn pass(&mut self, packets: usize) -> Result<(), Failure> {
        self.allow(packets);
        let (mut quiet, began) = (0, Instant::now());
        while quiet < QUIET_TURNS {
            let work = self.step()? + self.smf.turn()?;
            let is_quiet = work == 0 && is_settled(&self.core);
            quiet = if is_quiet { quiet + 1 } else { 0 };
            if began.elapsed() > PATIENCE {
                return Err(unsettled(&self.core));
            }
        }
        self.verdict()
    }

    /// One lap: packets come as fast as the worker takes them, and are counted for `each`; then all is reported.
    pub fn lap(&mut self, cpus: Cpus, each: Duration) -> Result<Spent, Failure> {
        let before = thread::allowed_cpus().map_err(|e| e.to_string())?;
        let sessions = self.smf.smf.flows.len();
        let shared = Shared::default();
        shared
            .reports
            .store(self.smf.ledger.reports, Ordering::Relaxed);
        let Self {
            core,
            worker,
            door,
            smf,
        } = self;
        let spent = std::thread::scope(|scope| {
            let traffic = scope.spawn(|| {
                let pinned = thread::pin(&[cpus.worker]).map_err(|e| e.to_string());
                let lap = pinned.and_then(|()| drive(worker, sessions, each, &shared));
                settle(worker, &shared);
                lap
            });
            let pinned = thread::pin(&[cpus.control]).map_err(|e| e.to_string());
            let mut fault = pinned.err();
            let watch = Stopwatch::start();
            let mut quiet = Quiet::default();
            while !traffic.is_finished() {
                let mut work = turns::turn(core, door);
                match smf.turn() {
                    Ok(heard) => work += heard,
                    Err(why) => _ = fault.get_or_insert(why),
                }
                let told = smf.ledger.reports;
                shared.reports.store(told, Ordering::Release);
                if quiet.is_over(work == 0 && is_settled(core), &shared) {
                    shared.is_settled.store(true, Ordering::Release);
                }
            }
            let control = watch.lap(0);
            let lap = traffic.join().map_err(|_| "the worker panicked")?;
            let (worker, reports) = lap?;
            match fault {
                Some(why) => Err(why),
                None => Ok(Spent {
                    worker,
                    reports,
                    control,
                }),
            }
        });
        thread::pin(&before).map_err(|e| e.to_string())?;
        if !is_settled(&self.core) {
            return Err(unsettled(&self.core));
        }
        self.verdict()?;
        spent
    }

    fn allow(&mut self, packets: usize) {
        allow(&mut self.worker, packets);
    }

    fn check(&mut self, check: Check) {
        for fifo in self.worker.io().fifos() {
            fifo.set_check(check);
        }
    }

    /// Nothing was lost, and what was compared was right.
    fn verdict(&mut self) -> Result<(), Failure> {
        let ledger = self.core.ledger();
        if !ledger.balances() || ledger.dropped_total() > 0 {
            return Err(format!("packets were lost: {ledger}"));
        }
        for fifo in self.worker.io().fifos() {
            fifo.judge()?;
        }
        Ok(())
    }

    /// Ends all sessions, and compares what was reported of each with what it forwarded.
    pub fn close(mut self) -> Result<Balance, Failure> {
        let closed = self.balance();
        for fifo in self.worker.io().fifos() {
            fifo.free();
        }
        self.worker.stop();
        closed
    }

    fn balance(&mut self) -> Result<Balance, Failure> {
        let sessions = self.smf.smf.flows.len() as u32;
        self.ask(sessions, Smf::delete, |smf| smf.ledger.deleted)?;
        self.verdict()?;
        let [up, down] = self.worker.io().fifos();
        let octets = |packets: usize| (packets * INNER_LEN) as u64;
        let packets = up.returned_by_flow().zip(down.returned_by_flow());
        let forwarded = up.flows().iter().zip(packets);
        self.smf.ledger.balance(
            forwarded
                .map(|(flow, (up, down))| (number_of(flow.gnb_teid), [octets(up), octets(down)])),
        )
    }

    /// Lets so many packets come in each direction.
    #[cfg(test)]
    pub fn feed(&mut self, packets: usize) {
        self.allow(packets);
    }

    #[cfg(test)]
    pub fn smf(&mut self) -> &mut PortSmf<P> {
        &mut self.smf
    }
}

impl<P: Packet> PortSmf<P> {
    /// Takes what came, and answers reports. Returns how many messages there were.
    pub fn turn(&mut self) -> Result<usize, Failure> {
        let Self {
            smf,
            wire,
            ledger,
            unanswered,
        } = self;
        let mut fault = None;
        let heard = wire.receive(|bytes| {
            if let Err(why) = hear(smf, ledger, unanswered, bytes) {
                fault.get_or_insert(why);
            }
        });
        let mut answer = [0; 64];
        while let Some(sequence) = unanswered.pop() {
            let len = rules::taken(&mut answer, sequence).map_err(|_| "an answer is too long")?;
            if !wire.send(&answer[..len]) {
                unanswered.push(sequence);
                break;
            }
        }
        match fault.or_else(|| smf.refused.clone()) {
            Some(why) => Err(why),
            None => Ok(heard),
        }
    }
}

fn hear<P>(
    smf: &mut Smf<P>,
    ledger: &mut Ledger,
    unanswered: &mut Vec<SequenceNumber>,
    bytes: &[u8],
) -> Result<(), Failure> {
    let (header, body) = Header::parse(bytes).map_err(|e| format!("{e:?}"))?;
    match header.message_type {
        MessageType::SESSION_REPORT_REQUEST => {
            unanswered.push(header.sequence);
            ledger.reported(&header, body)?;
        }
        MessageType::SESSION_DELETION_RESPONSE => ledger.ended(&header, body)?,
        _ => smf.send(SocketAddr::from(([0; 4], 0)), bytes),
    }
    Ok(())
}

/// Whether nothing is to be reported, or under way.
fn is_settled<P: Packet>(core: &UpfControl<P>) -> bool {
    core.up.reports().pending == 0 && core.end().under_way() == 0
}

fn unsettled<P: Packet>(core: &UpfControl<P>) -> Failure {
    let reports = core.up.reports();
    format!(
        "reports do not end: {} sessions have something to tell, {} requests are under way; {}",
        reports.pending,
        reports.under_way,
        core.ledger()
    )
}

fn allow<P: Packet>(worker: &mut Worker<BenchIo<P>>, packets: usize) {
    for fifo in worker.io().fifos() {
        fifo.allow(packets);
    }
}

fn came<P: Packet>(worker: &mut Worker<BenchIo<P>>) -> usize {
    worker.io().fifos().iter().map(|f| f.returned()).sum()
}

/// The worker under full load; gives its lap, and the reports meanwhile.
fn drive<P: Packet>(
    worker: &mut Worker<BenchIo<P>>,
    sessions: usize,
    each: Duration,
    shared: &Shared,
) -> Result<(Lap, u64), Failure> {
    let turn = |worker: &mut Worker<BenchIo<P>>| {
        worker.turn(clock::monotonic_ns());
        Ok(())
    };
    allow(worker, usize::MAX);
    let before = came(worker);
    while came(worker) - before < sessions * LEAD_PACKETS {
        turn(worker)?;
    }
    let told = shared.reports.load(Ordering::Acquire);
    let lap = lap(worker, each, came, turn)?;
    Ok((lap, shared.reports.load(Ordering::Acquire) - told))
}

/// No packet comes any more, and the worker turns until all is reported.
fn settle<P: Packet>(worker: &mut Worker<BenchIo<P>>, shared: &Shared) {
    allow(worker, 0);
    shared.has_stopped.store(true, Ordering::Release);
    let began = Instant::now();
    while !shared.is_settled.load(Ordering::Acquire) && began.elapsed() < PATIENCE {
        worker.turn(clock::monotonic_ns());
        shared.turns.fetch_add(1, Ordering::Release);
    }
}

/// Since when nothing happens on the control core's side.
#[derive(Default)]
struct Quiet {
    turns: u64,
    /// The worker's turns by then.
    worker_turns: u64,
}

impl Quiet {
    /// Another turn, in which nothing happened or something did; whether nothing will any more.
    fn is_over(&mut self, is_quiet: bool, shared: &Shared) -> bool {
        if !is_quiet || !shared.has_stopped.load(Ordering::Acquire) {
            *self = Self {
                turns: 0,
                worker_turns: shared.turns.load(Ordering::Acquire),
            };
            return false;
        }
        self.turns += 1;
        let worker_turns = shared.turns.load(Ordering::Acquire) - self.worker_turns;
        self.turns >= QUIET_TURNS && worker_turns >= QUIET_TURNS
    }
}
