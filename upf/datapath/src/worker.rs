//! A worker: the state of one core, and its poll loop.

use crate::batch::Batch;
use crate::drop::DropReason;
use crate::forward::path::Path;
use crate::hold::{HeldPackets, HoldLimits};
use crate::ids::WorkerId;
use crate::ledger::WorkerStats;
use crate::limits::{BURST, HEAT_SAMPLE, MOVE_HELD, MOVES, SHAPED, SHARDS};
use crate::lookup::session_lookup;
use crate::lookup::session_lookup::{OwnerTable, SessionLookup};
use crate::message::ToWorker;
use crate::meta::Meta;
use crate::migration::protocol::Moves;
use crate::migration::worker::{ArrivingQueue, QueueDrain, ShardRelease};
use crate::nat::NatState;
use crate::nat::mapping::NatOwned;
use crate::rings::WorkerRings;
use crate::rx::parse::Class;
use crate::session::SessionState;
use crate::session::txn::Txn;
use crate::stage_timer::{Stage, StageTimer};
use crate::tables::{Polled, Tables};
use crate::trace::{Came, WorkerTrace};
use crate::tx::arp_queue::ArpQueue;
use crate::tx::reassembly::Reassembler;
use crate::tx::shaper::Shaper;
use crate::tx::transmit::TxBuffer;
use sluice_mem::publish::Reader;
use sluice_port::{PortId, PortIo, QueueId};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

/// What a worker is made of.
pub struct Parts<I: PortIo> {
    /// Its number.
    pub id: WorkerId,
    /// Its doors.
    pub io: I,
    /// The receive queues that it polls.
    pub polled: Vec<Polled>,
    /// The transmit queue that it uses on every port.
    pub tx_queue: QueueId,
    /// Where packets belong.
    pub places: SessionLookup,
    /// Interfaces, next hops, peers, routes.
    pub tables: Reader<Tables>,
    /// The shards that it owns.
    pub state: SessionState,
    /// Translations of the same shards.
    pub nat: NatOwned,
    /// Who owns the others.
    pub owners: OwnerTable,
    /// Its rings.
    pub rings: WorkerRings<I::Packet>,
    /// Its counters.
    pub stats: Arc<WorkerStats>,
    /// How many packets it may hold for idle UEs.
    pub hold: HoldLimits,
}

/// One worker of the packet path.
pub struct Worker<I: PortIo> {
    pub(crate) id: WorkerId,
    pub(crate) io: I,
    pub(crate) polled: Vec<Polled>,
    pub(crate) places: SessionLookup,
    pub(crate) tables: Reader<Tables>,
    pub(crate) state: SessionState,
    pub(crate) nat: NatState<I::Packet>,
    pub(crate) owners: OwnerTable,
    pub(crate) rings: WorkerRings<I::Packet>,
    pub(crate) stats: Arc<WorkerStats>,
    pub(crate) tx_buffers: Vec<TxBuffer<I::Packet>>,
    pub(crate) held: ArpQueue<I::Packet>,
    pub(crate) hold: HeldPackets<I::Packet>,
    pub(crate) shaper: Shaper<I::Packet>,
    pub(crate) reassembler: Reassembler<I::Packet>,
    pub(crate) batch: Batch<I::Packet>,
    pub(crate) moves: Moves<(I::Packet, Meta), Box<Txn>>,
    pub(crate) giving: VecDeque<ShardRelease<I::Packet>>,
    pub(crate) draining: Vec<QueueDrain>,
    pub(crate) arriving: Vec<ArrivingQueue>,
    pub(crate) probe: StageTimer,
    pub(crate) tracer: WorkerTrace,
    sampled: usize,
}

impl<I: PortIo> Worker<I> {
    /// Puts a worker together.
    pub fn new(parts: Parts<I>) -> Self {
        let tx_buffers = (0..parts.io.ports().len())
            .map(|port| TxBuffer::new(PortId(port as u16), parts.tx_queue))
            .collect();
        let workers = parts.rings.to_workers.workers();
        Self {
            moves: Moves::new(parts.id, workers, MOVE_HELD, MOVES, SHARDS as usize),
            giving: VecDeque::with_capacity(MOVES),
            draining: Vec::with_capacity(MOVES),
            arriving: Vec::with_capacity(MOVES),
            probe: StageTimer::default(),
            tracer: WorkerTrace::new(parts.id),
            sampled: 0,
            id: parts.id,
            io: parts.io,
            polled: parts.polled,
            places: parts.places,
            tables: parts.tables,
            state: parts.state,
            nat: NatState::new(parts.nat),
            owners: parts.owners,
            rings: parts.rings,
            stats: parts.stats,
            tx_buffers,
            held: ArpQueue::new(),
            hold: HeldPackets::new(parts.hold),
            shaper: Shaper::new(SHAPED, SHARDS as usize),
            reassembler: Reassembler::default(),
            batch: Batch::new(),
        }
    }

    /// One turn: transactions, each receive queue, what other workers handed over, waiting
    /// packets. Returns how many packets and transactions it found.
    ///
    /// `now_ns` is a monotonic time that never goes back.
    pub fn turn(&mut self, now_ns: u64) -> usize {
        self.probe.begin();
        let mut work = self.control(now_ns);
        self.probe
            .end_stage(&self.stats.stages, Stage::Control, work);
        if !self.shaper.is_empty() {
            work += self.release_shaped(now_ns);
        }
        for i in 0..self.polled.len() {
            work += self.poll(self.polled[i], now_ns);
        }
        work += self.take_handovers(now_ns);
        if self.rings.to_workers.late() > 0 {
            work += self.rings.flush_late();
        }
        if !self.rings.late_bells.is_empty() {
            self.rings.flush_bells();
        }
        if !self.giving.is_empty() {
            work += self.give_shards(now_ns);
        }
        if !self.held.is_empty() {
            self.path_and_batch(now_ns).0.retry_held();
            self.count_held();
        }
        if !self.hold.is_empty() {
            work += self.look_after_held(now_ns);
        }
        if self.stats.shaped_held.get() != self.shaper.len() as u64 {
            self.count_held();
        }
        // Packets that had waited for a rate, a next hop or their UE may turn round, too.
        if !self.nat.hairpins.is_empty() {
            self.turn_round(now_ns);
        }
        if !self.reassembler.is_empty() {
            self.expire_fragments(now_ns);
        }
        if self.tracer.is_on() {
            self.end_trace();
        }
        self.tables.quiescent();
        work
    }

    /// Sleeps until something is put on one of its rings, and for `at_most`: what its ports receive
    /// meanwhile waits. The control core need not wait for a sleeping worker.
    pub fn sleep(&mut self, at_most: Duration) {
        self.tables.offline();
        let rings = &self.rings;
        rings.wakes[usize::from(self.id)].sleep(at_most, || rings.is_waiting());
    }

    /// True if all that it waits for comes by its rings: it polls no queue and holds nothing that
    /// has a time.
    pub fn is_parked(&self) -> bool {
        let nothing_held =
            self.held.is_empty() && self.reassembler.is_empty() && self.hold.is_empty();
        let nothing_late = self.rings.to_workers.late() == 0 && self.rings.late_bells.is_empty();
        let nothing_held = nothing_held && nothing_late;
        let nothing_held = nothing_held && self.shaper.is_empty();
        self.polled.is_empty() && self.giving.is_empty() && nothing_held
    }

    /// When it has something to do even if nothing comes: packets that wait for their bit rates leave then.
    /// Monotonic time in nanoseconds.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.shaper.next_due_ns()
    }

    fn release_shaped(&mut self, now_ns: u64) -> usize {
        let (mut path, batch) = self.path_and_batch(now_ns);
        path.release_due(&mut batch.dead)
    }

    /// Its doors, for what is not of the path (port statistics).
    pub fn io(&mut self) -> &mut I {
        &mut self.io
    }

    fn poll(&mut self, at: Polled, now_ns: u64) -> usize {
        let mut n = self.io.rx(at.port, at.queue, &mut self.batch.mine, BURST);
        let is_draining = !self.draining.is_empty();
        let is_empty = is_draining && self.poll_to_the_end(at, &mut n);
        self.probe.end_stage(&self.stats.stages, Stage::Receive, n);
        if n > 0 {
            self.stats.received.add(n as u64);
            self.tracer.came(Came::Queue(at));
            self.dispatch_burst(0, at.port, now_ns);
            if !self.batch.received.is_empty() {
                self.dispatch_received(self.batch.received_at, now_ns);
            }
            self.probe.end_stage(&self.stats.stages, Stage::Sort, n);
            self.execute(now_ns);
        }
        if is_draining {
            self.drained(at, n, is_empty, now_ns);
        }
        n
    }

    fn control(&mut self, now_ns: u64) -> usize {
        let mut work = 0;
        self.tracer.came(Came::Control);
        // Bounded, so that a flood of rule changes cannot hold packets back for long.
        while work < BURST {
            let Some(message) = self.rings.from_control.pop() else {
                break;
            };
            work += 1;
            match message {
                ToWorker::Txn(txn) => self.transact_or_hold(txn, now_ns),
                ToWorker::Transmit(packet, interface) => {
                    self.send_as_is(packet, interface, now_ns);
                }
                ToWorker::Receive(packet, port) => self.receive_from_control(packet, port, now_ns),
                ToWorker::ToUe(packet, meta) => self.send_to_ue(packet, meta, now_ns),
                ToWorker::Turn(turn) => self.turn_shard(turn, now_ns),
                ToWorker::Expect(shard, producer) => self.expect(shard, producer),
                ToWorker::Drain(drain) => self.begin_drain(drain),
                ToWorker::Leave(fence) => self.leave_queue(fence),
                ToWorker::Trace(order) => self.trace_order(order),
            }
        }
        if work > 0 {
            self.path_and_batch(now_ns).0.flush();
            // Of shards that were turned all at once.
            self.give_shards(now_ns);
        }
        work
    }

    fn receive_from_control(&mut self, packet: I::Packet, port: PortId, now_ns: u64) {
        self.stats.created.add(1);
        if self.batch.received.push(packet).is_ok() {
            self.dispatch_received(port, now_ns);
            self.execute(now_ns);
        }
    }

    /// Executes it here, or hands it to the owner of the UE's shard.
    #[cold]
    fn send_to_ue(&mut self, packet: I::Packet, mut meta: Meta, now_ns: u64) {
        self.stats.created.add(1);
        // An address leads to its entry by itself.
        if meta.entry == Meta::NONE.entry
            && let Err(reason) = session_lookup::place(&mut meta, &self.places)
        {
            return self.refuse(packet, reason);
        }
        if self.owners.of_index(meta.entry.0) != self.id {
            return self.dispatch(packet, Class::User(meta), PortId(0), now_ns);
        }
        self.execute_one(packet, meta, now_ns);
    }

    /// Packets of UEs to UEs come in again, each at the owner of the UE that it is for. They go into a tunnel
    /// there, so that none comes back once more.
    #[cold]
    fn turn_round(&mut self, now_ns: u64) {
        while let Some((packet, meta)) = self.nat.hairpins.pop_front() {
            if self.owners.of_index(meta.entry.0) == self.id {
                self.execute_one(packet, meta, now_ns)
            } else {
                self.dispatch(packet, Class::User(meta), PortId(0), now_ns)
            }
        }
    }

    /// A packet of one of our shards, while no others are at hand.
    #[cold]
    fn execute_one(&mut self, packet: I::Packet, meta: Meta, now_ns: u64) {
        match self.batch.mine.push(packet) {
            Ok(()) => {
                self.batch.metas.push(meta);
                self.execute(now_ns);
            }
            Err(packet) => self.refuse(packet, DropReason::ControlQueueFull),
        }
    }

    pub(crate) fn execute(&mut self, now_ns: u64) {
        self.sample_shard_load();
        if self.tracer.is_on() {
            self.execute_traced(now_ns);
            return self.turn_round(now_ns);
        }
        let (mut path, batch) = self.path_and_batch(now_ns);
        path.execute(batch);
        if !self.nat.hairpins.is_empty() {
            self.turn_round(now_ns);
        }
    }

    /// One packet of each [`HEAT_SAMPLE`], each time another, stands for all of them.
    #[inline]
    fn sample_shard_load(&mut self) {
        self.sampled = self.sampled.wrapping_add(1);
        for metas in self.batch.metas.chunks(HEAT_SAMPLE) {
            let Some(meta) = metas.get(self.sampled % metas.len()) else {
                return;
            };
            // An unknown TEID has an entry beyond all.
            let heat = self.stats.heat.get((meta.entry.0 % SHARDS) as usize);
            if let Some(heat) = heat.filter(|_| meta.entry.0 < self.state.entry_count()) {
                heat.add(metas.len() as u64);
            }
        }
    }

    /// The worker's parts as the path wants them.
    pub(crate) fn path_and_batch(&mut self, now_ns: u64) -> (Path<'_, I>, &mut Batch<I::Packet>) {
        let tables = self.tables.enter();
        let path = Path {
            tables,
            burst: tables.shaping.burst,
            shaper: &mut self.shaper,
            state: &mut self.state,
            places: &self.places,
            nat: &mut self.nat,
            io: &mut self.io,
            tx_buffers: &mut self.tx_buffers,
            held: &mut self.held,
            hold: &mut self.hold,
            rings: &mut self.rings,
            stats: &self.stats,
            probe: &mut self.probe,
            tracer: &mut self.tracer,
            now_ns,
        };
        (path, &mut self.batch)
    }

    /// Gives up what waited too long, and lets a bounded number go. Returns how many went.
    #[cold]
    pub(crate) fn look_after_held(&mut self, now_ns: u64) -> usize {
        let (mut path, _) = self.path_and_batch(now_ns);
        path.expire_held();
        let drained = path.drain_held();
        path.flush();
        self.count_held();
        drained
    }

    /// How long it may sleep from `now_ns` on with what it holds: until the first packet is given up, or may
    /// leave at its bit rate.
    pub fn may_sleep(&self, now_ns: u64, at_most: Duration) -> Duration {
        let due_ns = [self.hold.next_deadline(), self.next_due_ns()];
        let until_ns = due_ns.into_iter().flatten().min().unwrap_or(u64::MAX);
        let left = Duration::from_nanos(until_ns.saturating_sub(now_ns));
        at_most.min(left)
    }
}
