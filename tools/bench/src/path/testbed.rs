//! The testbed of all benchmarks: a UPF as `sluice upf` assembles it, with sessions that were
//! established over N4; here with one worker between two memory FIFOs.

use super::fifo::Check;
use super::io::BenchIo;
use super::load::{self, Load, PacketClock};
use super::public;
use super::rules::{self, Filters, Usage};
use super::smf::Smf;
use super::topology::{self, N3, N6, Peers, Servers};
use super::traffic::{Direction, Flow, Form, Frames};
use super::variant::Variant;
use crate::Failure;
use crate::memory::{Grown, used_bytes};
use crate::stats::Random;
use arrayvec::ArrayVec;
use sluice_control::core::UpfControl;
use sluice_datapath::ledger::{Ledger, WorkerStats};
use sluice_datapath::limits::SHARDS;
use sluice_datapath::lookup::layout::Layout;
use sluice_datapath::nat::pool::NatPools;
use sluice_datapath::trace::Filter;
use sluice_datapath::worker::Worker;
use sluice_host::clock;
use sluice_port::{Packet, PortIo, QueueId};
use sluice_session::ShapedRates;
use sluice_testbed::upf::{self, Blueprint, polled, time};
use std::net::Ipv4Addr;
use std::sync::Arc;

/// Requests under way at a time while sessions are established.
const WINDOW: u32 = 64;
/// Turns of the worker for one of the control core, where sessions report.
const CORE_TURN: u32 = 16;
/// Octets of a request at the most; those with a hundred filters have 20,000.
const MESSAGE: usize = 32_768;
/// The UPF's address on N4.
pub const N4_ADDRESS: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// The UPF and its sessions, with one worker at these ports.
pub struct Upf<I: PortIo> {
    core: UpfControl<I::Packet>,
    pub worker: Worker<I>,
    stats: Arc<WorkerStats>,
    /// The sessions in the random order in which they send.
    pub flows: Arc<[Flow]>,
    pub memory: Grown,
    pub variant: Variant,
    /// SMF that takes the reports of armed sessions.
    smf: Option<Box<Smf<I::Packet>>>,
    /// Time as the path is told it, where packets wait for bit rates.
    clock: Option<PacketClock>,
    /// Changes of sessions that are asked for and not answered.
    changing: usize,
    /// Turns of the worker until the control core has one.
    turns: u32,
    /// Reports that were taken.
    pub reports: u64,
    /// In how many directions packets come.
    directions: usize,
}

/// The same between two memory FIFOs.
pub type Testbed<P> = Upf<BenchIo<P>>;

impl<I: PortIo> Upf<I> {
    /// Starts a UPF for `sessions` sessions and establishes them.
    pub fn start(sessions: u32, variant: Variant, io: I) -> Result<Self, Failure> {
        let mut smf = Smf::new(sessions, variant);
        let before_bytes = used_bytes();
        let mut upf = start(Size::of(sessions).with(&variant), [io])?;
        let flows = establish(&mut upf, &mut smf)?;
        let memory = Grown::since(before_bytes, &upf.core, sessions);
        let (core, worker) = alone(upf)?;
        let needs_smf = variant.usage == Usage::Armed || variant.load == Load::Idle;
        let smf = needs_smf.then(|| Box::new(smf));
        let paced = variant.load == Load::AboveRate;
        Ok(Self {
            memory,
            variant,
            smf,
            clock: paced.then(PacketClock::start),
            ..Self::of(core, worker, flows)
        })
    }

    /// Of a UPF whose sessions somebody else established; `flows` are all that there are.
    pub fn of(core: UpfControl<I::Packet>, worker: Worker<I>, flows: Arc<[Flow]>) -> Self {
        Self {
            stats: core.end().stats()[0].clone(),
            core,
            worker,
            flows,
            memory: Grown::UNKNOWN,
            variant: Variant::USUAL,
            smf: None,
            clock: None,
            changing: 0,
            turns: 0,
            reports: 0,
            directions: 1,
        }
    }

    /// One round of the worker's loop, as in `sluice upf`.
    #[inline(always)]
    pub fn turn(&mut self) -> usize {
        let work = self.worker_turn();
        if self.smf.is_some() {
            self.turn_of_core();
        }
        work
    }

    /// The worker's part of it.
    #[inline(always)]
    pub fn worker_turn(&mut self) -> usize {
        let began_ns = clock::monotonic_ns();
        let now_ns = self.clock.map_or(began_ns, |clock| clock.now_ns);
        let work = self.worker.turn(now_ns);
        if work > 0 {
            self.stats.busy_turns.add(1);
            self.stats.busy_ns.add(clock::monotonic_ns() - began_ns);
        } else {
            self.stats.idle_turns.add(1);
        }
        if let Some(clock) = &mut self.clock {
            clock.tick(self.stats.received.get(), self.directions);
        }
        work
    }

    /// Asks for these UEs to be idle, or back.
    pub fn ask_for_changes(&mut self, sessions: &[u32], idle: bool) -> Result<(), Failure> {
        let mut message = [0; 512];
        for index in sessions {
            let smf = self.smf.as_deref_mut().ok_or("nobody to ask")?;
            let len = smf.change(&mut message, *index, idle);
            let len = len.map_err(|_| "a request is too long")?;
            let from = smf.cp.address();
            self.changing += 1;
            self.core.datagram(time(), from, &message[..len], smf);
            if let Some(why) = &smf.refused {
                return Err(why.clone());
            }
        }
        Ok(())
    }

    /// Whether some of them are not answered.
    pub fn is_changing(&self) -> bool {
        let smf = self.smf.as_deref();
        smf.is_some_and(|smf| smf.refused.is_none() && smf.changed < self.changing)
    }

    /// Now and then, what `sluice upf` does on another thread: sessions report, and the SMF takes it.
    fn turn_of_core(&mut self) {
        self.turns += 1;
        if self.turns < CORE_TURN {
            return;
        }
        self.turns = 0;
        self.core_turn();
    }

    /// The control core's part: sessions report, and the SMF takes it.
    pub fn core_turn(&mut self) {
        let Some(smf) = self.smf.as_deref_mut() else {
            return;
        };
        self.core.turn(time(), smf);
        let mut answer = [0; 64];
        while let Some(sequence) = smf.reports.pop() {
            self.reports += 1;
            if let Ok(len) = rules::taken(&mut answer, sequence) {
                let from = smf.cp.address();
                self.core.datagram(time(), from, &answer[..len], smf);
            }
        }
    }

    /// The worker's counters, for those who read them meanwhile.
    pub fn stats(&self) -> Vec<Arc<WorkerStats>> {
        vec![self.stats.clone()]
    }

    /// Follows packets from now on, or none. Returns how many were followed before.
    pub fn trace(&mut self, filter: Option<Filter>) -> u64 {
        self.core.end_mut().trace(filter);
        self.turn();
        while self.core.end_mut().receive_message().is_some() {}
        let end = self.core.end_mut();
        std::iter::from_fn(|| end.next_record()).count() as u64
    }

    pub fn ledger(&self) -> Ledger {
        self.core.ledger()
    }

    pub fn stop(self) {
        self.worker.stop();
    }
}

impl<P: Packet> Testbed<P> {
    /// Starts a UPF for `sessions` sessions and establishes them; `alloc` gives fresh packets.
    pub fn build(
        sessions: u32,
        variant: Variant,
        mut alloc: impl FnMut() -> Option<P> + Send + 'static,
    ) -> Result<Self, Failure> {
        let mut io = BenchIo::new(Frames::default(), &mut alloc)?;
        if variant.load != Load::Usual {
            io.set_pool(Box::new(alloc));
            io.fifos().into_iter().for_each(|fifo| fifo.expect_losses());
        }
        let mut testbed = Self::start(sessions, variant, io)?.filled();
        testbed.set_forms(variant.forms);
        Ok(testbed)
    }

    /// Packets of all sessions come from now on.
    pub fn filled(mut self) -> Self {
        let flows = self.flows.clone();
        self.worker.io().set_flows(&flows);
        self
    }

    /// Sends the packets of all sessions through both directions and compares every byte.
    pub fn prove(&mut self) -> Result<u64, Failure> {
        if self.variant.is_translated() {
            // What comes to a public port has a way when the UE has sent from it.
            let passes = self.variant.forms.len();
            self.pass(&[Direction::Uplink], passes * self.flows.len())?;
        }
        self.pass(&Direction::BOTH, self.flows.len())
    }

    /// Sends so many packets in each of these directions and compares every byte.
    fn pass(&mut self, ways: &'static [Direction], packets: usize) -> Result<u64, Failure> {
        self.open(ways, Check::Every);
        let fifos = |testbed: &mut Self| {
            let returned = |way: &Direction| testbed.worker.io().fifo(*way).returned();
            ways.iter().map(returned).collect::<ArrayVec<usize, 2>>()
        };
        let before = fifos(self);
        let until = |(at, before): (&usize, &usize)| *at < before + packets;
        let may_stand = self.variant.load == Load::AboveRate;
        while fifos(self).iter().zip(&before).any(until) {
            if self.turn() == 0 && !may_stand {
                return Err(format!("the path stands still: {}", self.ledger()));
            }
        }
        self.verdict()
    }

    /// Packets compared so far, or what was wrong with them.
    pub fn verdict(&mut self) -> Result<u64, Failure> {
        if self.variant.load == Load::AboveRate {
            self.drain()?;
            self.lost_as_told()?;
        }
        let ledger = self.ledger();
        let lossless = self.variant.load != Load::AboveRate;
        if !ledger.balances() || lossless && ledger.dropped_total() > 0 {
            return Err(format!("packets were lost: {ledger}"));
        }
        let mut compared = 0;
        for fifo in self.worker.io().fifos() {
            compared += fifo.judge()?;
        }
        Ok(compared)
    }

    /// Packets that came out so far, in both directions.
    pub fn returned(&mut self) -> usize {
        self.worker.io().fifos().iter().map(|f| f.returned()).sum()
    }

    /// Packets that were dealt with so far: of those that may be lost, all that came in.
    pub fn came(&mut self) -> usize {
        match self.variant.load {
            Load::AboveRate => self.worker.io().fifos().iter().map(|f| f.received()).sum(),
            _ => self.returned(),
        }
    }

    /// Packets come in these directions from now on, and so many of them are compared.
    pub fn open(&mut self, directions: &'static [Direction], check: Check) {
        self.directions = directions.len();
        let io = self.worker.io();
        io.open(directions);
        for fifo in io.fifos() {
            fifo.set_check(check);
        }
    }

    /// Packets have these forms in turn from now on; all must be where they came from.
    pub fn set_forms(&mut self, forms: &[Form]) {
        let servers = self.variant.servers;
        let frames = forms
            .iter()
            .map(|form| Arc::new(Frames::new(*form, servers)));
        let frames: Vec<Arc<Frames>> = frames.collect();
        for fifo in self.worker.io().fifos() {
            fifo.set_frames(&frames);
        }
    }

    /// Ends it; gives all packets back to their pool.
    pub fn end(mut self) {
        for fifo in self.worker.io().fifos() {
            fifo.free();
        }
        self.stop();
    }
}

/// Capacity of a UPF.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Sessions, each with a UE address of the pool.
    pub sessions: u32,
    pub endpoints: u32,
    /// Addresses of the gNBs.
    pub peers: Peers,
    /// Addresses of the data network's servers.
    pub servers: Servers,
    /// There is IPv6 on N6.
    pub has_ipv6: bool,
    pub filters: Filters,
    /// Addresses are translated on N6.
    pub is_translated: bool,
    pub is_shaped: bool,
}

impl Size {
    /// As upf.yaml has it by default for so many sessions.
    pub fn of(sessions: u32) -> Self {
        Self {
            sessions,
            endpoints: sessions
                .saturating_mul(2)
                .next_power_of_two()
                .max(16 * SHARDS),
            peers: Peers::default(),
            servers: Servers::One,
            has_ipv6: false,
            filters: Filters::NONE,
            is_translated: false,
            is_shaped: false,
        }
    }

    /// The same for such sessions.
    pub fn with(self, variant: &Variant) -> Self {
        Self {
            servers: variant.servers,
            has_ipv6: variant.has_ipv6(),
            filters: variant.filters,
            is_translated: variant.is_translated(),
            is_shaped: matches!(
                variant.load,
                Load::AboveRate
                    | Load::Limited {
                        is_shaped: true,
                        ..
                    }
            ),
            ..self
        }
    }
}

/// Control plane and workers as `sluice upf` assembles them; each worker polls the queues of its number.
pub fn start<I: PortIo, const N: usize>(size: Size, ios: [I; N]) -> Result<upf::Upf<I>, Failure> {
    let Size { sessions, .. } = size;
    let pool = topology::pool(sessions);
    let foreign = sessions.saturating_mul(2);
    let layout = Layout::new(size.endpoints, &[pool], foreign).map_err(|e| e.to_string())?;
    let nat = match size.is_translated {
        true => public::pools().map_err(|e| e.to_string())?,
        false => NatPools::default(),
    };
    let blocks = size.filters.blocks(sessions);
    let layout = layout.with_nat(nat.clone()).with_blocks(blocks);
    let layout = layout.with_prefixes(vec![topology::prefix_pool(sessions)]);
    let mut interfaces = topology::control_config(pool, size.peers, size.servers);
    interfaces.nat = nat;
    if size.is_shaped {
        interfaces.shaping = load::SHAPING;
    }
    if size.has_ipv6 {
        topology::add_ipv6(&mut interfaces);
    }
    let mut ports = vec![N3, N6];
    if ios[0].ports().len() > usize::from(topology::N4.0) {
        interfaces.interfaces.push(topology::n4_interface());
        ports.push(topology::N4);
    }
    let mut plan = Blueprint::new(layout, blocks, interfaces, (N4_ADDRESS, time().wall));
    plan.session.sessions = sessions as usize;
    let places = size.filters.places(sessions);
    plan.session.flow_filters = plan.session.flow_filters.max(places);
    if size.is_shaped {
        plan.session.shaped_rates = ShapedRates::SessionAmbr;
    }
    // The SMF here answers none.
    plan.n4.heartbeat_interval_ms = 0;
    let doors = (0..).zip(ios).map(|(worker, io)| {
        let queue = QueueId(worker);
        (io, polled(ports.iter().copied(), queue), queue)
    });
    plan.build(doors.collect())
}

pub fn alone<I: PortIo>(upf: upf::Upf<I>) -> Result<(UpfControl<I::Packet>, Worker<I>), Failure> {
    let mut workers = upf.workers.into_iter();
    let worker = workers.next().ok_or("a UPF without workers")?;
    Ok((upf.core, worker))
}

/// Establishes all sessions of `smf` over N4, while nobody else has the workers; their flows in the random order in
/// which they send.
pub fn establish<I: PortIo>(
    upf: &mut upf::Upf<I>,
    smf: &mut Smf<I::Packet>,
) -> Result<Arc<[Flow]>, Failure> {
    let upf::Upf { core, workers } = upf;
    let (from, sessions) = (smf.cp.address(), smf.flows.len() as u32);
    let mut message = vec![0; MESSAGE];
    let too_long = |_| "a request is too long";
    let associated = smf.cp.associate(&mut message, time().wall);
    let len = associated.map_err(too_long)?;
    core.datagram(time(), from, &message[..len], smf);
    if !smf.associated {
        return Err("the UPF refused the association".to_owned());
    }
    for index in 0..sessions {
        let len = smf.establish(&mut message, index).map_err(too_long)?;
        core.datagram(time(), from, &message[..len], smf);
        if index % WINDOW == WINDOW - 1 || index == sessions - 1 {
            // Until all transactions have come back and their answers are out.
            while core.end().under_way() > 0 {
                for worker in &mut *workers {
                    worker.turn(clock::monotonic_ns());
                }
                core.turn(time(), smf);
            }
        }
        if let Some(why) = &smf.refused {
            return Err(format!("session {index} was refused: {why}"));
        }
    }
    match smf.established == sessions as usize {
        true => Ok(shuffled(std::mem::take(&mut smf.flows))),
        false => Err(format!(
            "{} of {sessions} sessions were established",
            smf.established
        )),
    }
}

/// Fisher and Yates, from a fixed seed: every run has the same order.
pub fn shuffled(mut flows: Vec<Flow>) -> Arc<[Flow]> {
    let mut random = Random::new(0x9e37_79b9_7f4a_7c15);
    for last in (1..flows.len()).rev() {
        flows.swap(last, random.below(last + 1));
    }
    flows.into()
}
