//! Testbed: the measured UPF and its sessions.

use super::clock::Away;
use super::load::{Lap, Log, Pace, Wire, drive};
use super::n4_transport::Door;
use super::port::N4Port;
use super::script::Script;
use super::subscribers::{Armed, Subscribers, Variety};
use super::turns::{Spent, spend, turn, turn_or_rest};
use crate::Failure;
use crate::memory;
use crate::path::io::{BenchIo, Pool};
use crate::path::rules::Filters;
use crate::path::testbed::{Size, Testbed as PathTestbed, alone, start};
use crate::path::topology::N4_SMF;
use crate::path::traffic::Frames;
use sluice_control::core::{Env, UpfControl};
use sluice_datapath::worker::Worker;
use sluice_host::{clock, thread};
use sluice_port::Packet;
use sluice_testbed::upf::time;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Establishments of one series at the start.
const SERIES: u32 = 100_000;
/// TEIDs of ours at the least.
const ENDPOINTS_MIN: u32 = 1 << 22;
/// As if a session with a flow had so many PDRs beside the default one in each direction: two blocks of rules. Some
/// dialects have more tunnels than one.
const LIVE_PDRS: u16 = 9;
/// Requests under way at a time while sessions are established and connected.
const WINDOW: usize = 256;

/// CPUs: the N4 loop's, and that of the worker and the generator.
#[derive(Clone, Copy, Debug)]
pub struct Cpus {
    pub n4: usize,
    /// Of the worker and the generator.
    pub worker: usize,
}

pub struct Testbed<P: Packet> {
    pub core: UpfControl<P>,
    worker: Worker<BenchIo<P>>,
    pub subscribers: Subscribers,
    cpus: Cpus,
    /// How often the measured thread did not have its CPU.
    pub away: Arc<Away>,
    pub memory: memory::Grown,
}

/// Treatment of a datagram by the measured loop.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Loop {
    /// All that the daemon does.
    N4,
    /// The same, and it sleeps when nothing comes, as the daemon does: its CPU may be the worker's.
    Housekeeping,
    /// The cheapest that could answer.
    Limit,
}

impl<P: Packet> Testbed<P> {
    /// Starts a UPF for `sessions` sessions of such a variety; none is established yet.
    pub fn build(
        sessions: u32,
        variety: Variety,
        mut pool: Pool<P>,
        n4: N4Port<P>,
        cpus: Cpus,
    ) -> Result<Self, Failure> {
        let subscribers = Subscribers::new(sessions, variety, N4_SMF, time().wall);
        let mut io = BenchIo::new(Frames::of(variety.peers), &mut pool)?;
        io.set_pool(pool);
        io.set_n4(n4);
        // Open5GS takes two TEIDs for a session, and those given back rest for a minute, in which
        // more sessions come and go here than in any network.
        let is_live = variety.armed() == Armed::Live;
        let size = Size {
            endpoints: sessions
                .saturating_mul(4)
                .next_power_of_two()
                .max(ENDPOINTS_MIN),
            peers: variety.peers,
            filters: match is_live {
                true => Filters::shared(LIVE_PDRS, 1),
                false => Filters::NONE,
            },
            has_ipv6: is_live,
            ..Size::of(sessions)
        };
        let (core, worker) = alone(start(size, [io])?)?;
        Ok(Self {
            core,
            worker,
            subscribers,
            cpus,
            away: Arc::default(),
            memory: memory::Grown::UNKNOWN,
        })
    }

    /// Source address of the SMF's datagrams.
    pub fn smf(&self) -> SocketAddr {
        self.subscribers.cp.address()
    }

    /// Sets up the association and establishes and connects all sessions.
    pub fn populate(
        &mut self,
        door: &mut impl Door<Around: Env<Packet = P>>,
        wire: &mut (impl Wire + Send),
    ) -> Result<(), Failure> {
        let mut request = [0; 512];
        let Subscribers { cp, recovery, .. } = &mut self.subscribers;
        let written = cp.associate(&mut request, *recovery);
        let len = written.map_err(|_| "the association set-up is too long")?;
        let from = self.smf();
        self.core
            .datagram(time(), from, &request[..len], door.around());
        door.flush();
        wire.receive(|_| ());
        let count = self.subscribers.all.len() as u32;
        let mut log = Log::new(SERIES as usize);
        let mut script = Script::default();
        let before_bytes = memory::used_bytes();
        for first in (0..count).step_by(SERIES as usize) {
            script.establishing(&mut self.subscribers, first, SERIES.min(count - first));
            self.serve(door, wire, &script, &mut log)?;
        }
        self.memory = memory::Grown::since(before_bytes, &self.core, count);
        self.connect_all(door, wire)
    }

    /// Brings every session to the state in which packets flow.
    pub fn connect_all(
        &mut self,
        door: &mut impl Door<Around: Env<Packet = P>>,
        wire: &mut (impl Wire + Send),
    ) -> Result<(), Failure> {
        let mut script = Script::default();
        loop {
            script.connecting(&mut self.subscribers);
            if script.is_empty() {
                return Ok(());
            }
            let mut log = Log::new(script.len());
            self.serve(door, wire, &script, &mut log)?;
        }
    }

    fn serve(
        &mut self,
        door: &mut impl Door<Around: Env<Packet = P>>,
        wire: &mut (impl Wire + Send),
        script: &Script,
        log: &mut Log,
    ) -> Result<(), Failure> {
        self.lap((door, wire), script, Pace::Closed(WINDOW), Loop::N4, log)?;
        self.judge(script, log)
    }

    /// One lap: the generator and the worker on their CPU, the measured loop on its own.
    pub fn lap(
        &mut self,
        ends: (
            &mut impl Door<Around: Env<Packet = P>>,
            &mut (impl Wire + Send),
        ),
        script: &Script,
        pace: Pace,
        what: Loop,
        log: &mut Log,
    ) -> Result<Spent, Failure> {
        let turn = |worker: &mut Worker<BenchIo<P>>| {
            worker.turn(clock::monotonic_ns());
        };
        let away = Arc::clone(&self.away);
        self.lap_while(ends, what, |wire, worker| {
            drive(wire, script, pace, (log, &away), || turn(worker))
        })
    }

    /// The measured loop turns until `generate` ends, which has the other CPU and the worker.
    pub fn lap_while<W: Wire + Send>(
        &mut self,
        (door, wire): (&mut impl Door<Around: Env<Packet = P>>, &mut W),
        what: Loop,
        generate: impl FnOnce(&mut W, &mut Worker<BenchIo<P>>) -> Result<Lap, Failure> + Send,
    ) -> Result<Spent, Failure> {
        let Self {
            core,
            worker,
            cpus,
            away,
            ..
        } = self;
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let generator = scope.spawn(|| {
                let pinned = thread::pin(&[cpus.worker]).map_err(|e| e.to_string());
                let lap = pinned.and_then(|()| generate(wire, worker));
                done.store(true, Ordering::Release);
                lap
            });
            thread::pin(&[cpus.n4]).map_err(|e| e.to_string())?;
            let mut spent = match what {
                Loop::N4 => spend((&done, away), || turn(core, door)),
                Loop::Housekeeping => {
                    let mut idle = 0;
                    spend((&done, away), || turn_or_rest(core, door, &mut idle))
                }
                Loop::Limit => spend((&done, away), || door.limit(core)),
            };
            let lap = generator.join().map_err(|_| "the generator panicked")?;
            spent.lap = lap?;
            Ok(spent)
        })
    }

    /// Ports of user packets and their packets.
    pub fn io(&mut self) -> &mut BenchIo<P> {
        self.worker.io()
    }

    /// Reads all answers: each request has one, and it says yes.
    pub fn judge(&mut self, script: &Script, log: &Log) -> Result<(), Failure> {
        if log.stray > 0 {
            return Err(format!(
                "{} datagrams answer nothing that was asked",
                log.stray
            ));
        }
        for answer in log.answers() {
            script.judge(&mut self.subscribers, answer)?;
        }
        Ok(())
    }

    /// Sends a packet each way through every session that stands and compares every byte.
    pub fn prove(self) -> Result<u64, Failure> {
        let flows = self.subscribers.flows()?;
        let mut testbed = PathTestbed::of(self.core, self.worker, flows.into()).filled();
        let compared = testbed.prove();
        testbed.end();
        compared
    }
}
