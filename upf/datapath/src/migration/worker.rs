//! Shard migration, worker side, and packets handed over by other workers ([`crate::migration::protocol`]).
//!
//! The old poller leaves the queue and puts a [`Fence`] on its ring to every other worker, behind
//! all that it ever handed over from it. Each passes the fence on to the new poller, who begins when
//! all are in: by then everything polled before has been executed, so nothing can overtake it. The
//! port keeps what arrives meanwhile. No shard moves at the same time ([`crate::migration::controller`]), so every
//! packet handed over is with its owner one ring further.

use crate::drop::DropReason;
use crate::ids::WorkerId;
use crate::limits::{BURST, GIVE_WITHIN_NS, PORTS_TOGETHER};
use crate::message::{Drain, Fence, Handover, Queues, ToControl};
use crate::meta::Meta;
use crate::migration::protocol::{Disposition, MoveAction, MoveShard, Switch};
use crate::nat::NatShardOwner;
use crate::session::txn::Txn;
use crate::session::{SessionShard, SessionState};
use crate::stage_timer::Stage;
use crate::tables::Polled;
use crate::trace::Came;
use crate::tx::arp_queue::WaitingPacket;
use crate::tx::shaper::ShardWaiting;
use crate::worker::Worker;
use arrayvec::ArrayVec;
use sluice_mem::ring::Consumer;
use sluice_mem::shard::ShardId;
use sluice_port::{Packet, PortIo};

/// Packets that a driver is asked for at the least, so that none means that it has none.
const ASK: usize = 32;

/// A shard that will be given away when its last packets have left.
pub(crate) struct ShardRelease<P> {
    shard: ShardId,
    to: WorkerId,
    /// How many packets each TX buffer's queue has to have sent; none where a port cannot tell.
    marks: Box<[Option<u64>]>,
    until_ns: u64,
    /// What waits for its bit rates: none of it leaves here any more.
    pub(crate) waiting: Option<Box<ShardWaiting<P>>>,
}

/// Receive queues that are polled until all that lay in them has been taken.
#[derive(Debug)]
pub(crate) struct QueueDrain {
    queues: Queues,
    /// Packets that those of them may hold still that were not seen empty.
    left: ArrayVec<(Polled, u32), PORTS_TOGETHER>,
    /// None of them was polled since: what is to be drained from now on ends with this.
    is_new: bool,
    /// What owners hear then.
    switches: Vec<Switch>,
}

impl QueueDrain {
    /// So many packets were polled from a queue, and it was found empty or not.
    fn polled(&mut self, at: Polled, n: u32, is_empty: bool) {
        let Some(place) = self.left.iter().position(|(queue, _)| *queue == at) else {
            return;
        };
        self.is_new = false;
        let left = &mut self.left[place].1;
        *left = left.saturating_sub(n);
        if is_empty || *left == 0 {
            self.left.swap_remove(place);
        }
    }
}

impl<I: PortIo> Worker<I> {
    /// Executes what other workers handed over, as much as fits into a batch. Returns how much
    /// there was.
    pub(crate) fn take_handovers(&mut self, now_ns: u64) -> usize {
        let waiting = self.rings.waiting();
        if waiting != self.stats.waiting.get() {
            self.stats.waiting.set(waiting);
        }
        if waiting == 0 {
            return 0;
        }
        let mut taken = 0;
        self.tracer.came(Came::Workers);
        for from in 0..self.rings.from_workers.len() {
            while !self.batch.mine.is_full() {
                let ring = self.rings.from_workers[from].as_mut();
                let Some(message) = ring.and_then(Consumer::pop) else {
                    break;
                };
                taken += 1;
                self.take(WorkerId::at(from), message, now_ns);
            }
        }
        self.probe
            .end_stage(&self.stats.stages, Stage::Handover, taken);
        if taken > 0 {
            self.execute(now_ns);
            self.batch.dead.free();
        }
        taken
    }

    #[inline]
    fn take(&mut self, from: WorkerId, message: Handover<I::Packet>, now_ns: u64) {
        match message {
            Handover::Packet(packet, meta) => {
                self.stats.handed_in.add(1);
                let owned = self.state.owns(self.state.shard_of(meta.entry.0));
                if self.moves.is_quiet() && owned {
                    self.add(packet, meta);
                } else {
                    self.take_moving(from, packet, meta, owned);
                }
            }
            Handover::Fragment(frame, port) => {
                self.stats.handed_in.add(1);
                self.gather(frame, port, now_ns);
                self.dispatch_received(self.batch.received_at, now_ns);
            }
            Handover::Own(right, held, waiting) => {
                if let Some(held) = held {
                    self.stats.handed_in.add(held.packets() as u64);
                    self.hold.put_shard(*held);
                }
                if let Some(waiting) = waiting {
                    self.accept_waiting(right.0.shard(), *waiting, now_ns);
                }
                self.take_over(from, right, now_ns);
            }
            Handover::Switch(switch) => self.switch(switch, now_ns),
            Handover::Fence(fence) => self.fence(fence),
            Handover::TraceEnd => self.tracer.other_ended(),
            Handover::Waiting(waiting) => {
                self.stats.handed_in.add(1);
                if let Err(packet) = self.held.resume(*waiting) {
                    self.refuse(packet, DropReason::NextHopQueueFull);
                }
                self.count_held();
            }
        }
    }

    /// To the batch, which has room.
    #[inline]
    fn add(&mut self, packet: I::Packet, meta: Meta) {
        match self.batch.mine.push(packet) {
            Ok(()) => {
                self.state.prefetch_entry(meta.entry.0);
                self.batch.metas.push(meta);
            }
            Err(packet) => self.refuse(packet, DropReason::HandoverFull),
        }
    }

    #[cold]
    fn take_moving(&mut self, from: WorkerId, packet: I::Packet, meta: Meta, owned: bool) {
        match self
            .moves
            .way(self.state.shard_of(meta.entry.0), from, owned)
        {
            Disposition::Execute => self.add(packet, meta),
            Disposition::Hold => self.hold_for_move(from, packet, meta),
            Disposition::Pass(to) => self.pass_to(to, packet, meta),
        }
    }

    /// Keeps a packet until its shard is here.
    #[cold]
    pub(crate) fn hold_for_move(&mut self, from: WorkerId, packet: I::Packet, meta: Meta) {
        let shard = self.state.shard_of(meta.entry.0);
        if let Err((packet, _)) = self.moves.hold(shard, from, (packet, meta)) {
            self.refuse(packet, DropReason::HandoverFull);
        }
        self.count_held();
    }

    /// A transaction for a shard that is still on its way waits for it.
    pub(crate) fn transact_or_hold(&mut self, txn: Box<Txn>, now_ns: u64) {
        if self.state.owns(txn.shard) {
            self.transact(txn, now_ns);
        } else {
            self.moves.hold_transaction(txn.shard, txn);
        }
    }

    /// The control core moves a shard.
    #[cold]
    pub(crate) fn turn_shard(&mut self, turn: MoveShard, now_ns: u64) {
        match self.moves.turn(turn, &mut self.owners) {
            MoveAction::Tell(to, switch) => self.send_token(to, Handover::Switch(switch)),
            MoveAction::Give(to) => {
                self.hold.pause(turn.shard);
                let marks = self
                    .tx_buffers
                    .iter()
                    .map(|tx_buffer| tx_buffer.accepted(&mut self.io));
                self.giving.push_back(ShardRelease {
                    shard: turn.shard,
                    to,
                    marks: marks.collect(),
                    until_ns: now_ns + GIVE_WITHIN_NS,
                    waiting: self.shaper.give(turn.shard),
                });
                self.count_held();
            }
        }
    }

    /// Gives away the shards whose packets have all left. Returns how many. Who was turned later has
    /// later packets on the same TX buffers, so behind one that waits all do.
    #[cold]
    pub(crate) fn give_shards(&mut self, now_ns: u64) -> usize {
        let mut given = 0;
        while let Some(giving) = self.giving.pop_front() {
            let mut tx_buffers = self.tx_buffers.iter().zip(&giving.marks);
            let io = &mut self.io;
            let has_left = giving.until_ns <= now_ns
                || tx_buffers.all(|(tx_buffer, mark)| tx_buffer.has_sent(io, *mark));
            if !has_left {
                self.giving.push_front(giving);
                break;
            }
            self.give(giving);
            given += 1;
        }
        given
    }

    fn give(&mut self, giving: ShardRelease<I::Packet>) {
        let ShardRelease {
            shard, to, waiting, ..
        } = giving;
        if let (Some(right), Some(nat)) = (self.state.release(shard), self.nat.release(shard)) {
            let held = self.hold.take_shard(shard);
            let packets = held.as_ref().map_or(0, |held| held.packets())
                + waiting.as_ref().map_or(0, |waiting| waiting.len());
            self.stats.handed_out.add(packets as u64);
            self.send_token(to, Handover::Own((right, nat), held, waiting));
        }
        self.moves.gave(shard);
        let of_shard = |state: &SessionState, waiting: &WaitingPacket<_>| {
            state.shard_of(waiting.ready.meta.entry.0) == shard
        };
        while let Some(waiting) = self.held.take(|w| of_shard(&self.state, w)) {
            self.pass_waiting(to, waiting);
        }
        self.batch.dead.free();
        self.count_held();
    }

    /// Packets that wait for their bit rates, of shards that are about to leave.
    pub(crate) fn leaving(&self) -> usize {
        let waiting = self
            .giving
            .iter()
            .filter_map(|giving| giving.waiting.as_ref());
        waiting.map(|waiting| waiting.len()).sum()
    }

    /// Those of one shard.
    #[inline]
    pub(crate) fn take_leaving(&mut self, shard: ShardId) -> Option<Box<ShardWaiting<I::Packet>>> {
        let mut giving = self.giving.iter_mut();
        giving.find(|giving| giving.shard == shard)?.waiting.take()
    }

    /// Puts them back.
    pub(crate) fn give_leaving_back(
        &mut self,
        shard: ShardId,
        waiting: Option<Box<ShardWaiting<I::Packet>>>,
    ) {
        let giving = self.giving.iter_mut().find(|giving| giving.shard == shard);
        if let Some(giving) = giving.filter(|_| waiting.is_some()) {
            giving.waiting = waiting;
        }
    }

    /// The packets of a shard that comes wait here from now on. The time of some has come while they were on their way;
    /// they leave with the next turn, and what this one finds goes behind them.
    #[cold]
    fn accept_waiting(&mut self, shard: ShardId, waiting: ShardWaiting<I::Packet>, now_ns: u64) {
        self.stats.handed_in.add(waiting.len() as u64);
        let Self { shaper, stats, .. } = self;
        shaper.accept(shard, waiting, |packet| {
            stats.count_drop(DropReason::ShapingFull);
            packet.free();
        });
        shaper.set_behind(now_ns);
    }

    fn pass_waiting(&mut self, to: WorkerId, waiting: WaitingPacket<I::Packet>) {
        match self.rings.hand(to, Handover::Waiting(Box::new(waiting))) {
            Ok(()) => self.stats.handed_out.add(1),
            Err(back) => self.refuse_handover(back),
        }
    }

    #[cold]
    fn take_over(
        &mut self,
        from: WorkerId,
        (right, nat): (SessionShard, NatShardOwner),
        now_ns: u64,
    ) {
        let shard = right.shard();
        let accepted = self.state.accept(right).is_ok() && self.nat.owned.accept(nat).is_ok();
        debug_assert!(accepted, "a shard of another path");
        self.moves.own(shard, from, &mut self.owners);
        self.release(shard, now_ns);
    }

    #[cold]
    fn switch(&mut self, switch: Switch, now_ns: u64) {
        match self.moves.switch(switch, &mut self.owners) {
            Some(to) => self.send_token(to, Handover::Switch(switch)),
            None => self.release(switch.shard, now_ns),
        }
    }

    /// A shard of ours will come from `producer` as well.
    #[cold]
    pub(crate) fn expect(&mut self, shard: ShardId, producer: WorkerId) {
        self.moves.expect(shard, producer, &mut self.owners);
        self.tell_control(ToControl::Expecting(shard));
    }

    #[cold]
    pub(crate) fn begin_drain(&mut self, drain: Drain) {
        let Drain { queues, switch } = drain;
        let last = self.draining.last_mut();
        if let Some(same) = last.filter(|last| last.is_new && last.queues == queues) {
            return same.switches.push(switch);
        }
        let ports = self.io.ports();
        let holds = |polled: &Polled| {
            let port = ports.get(usize::from(polled.port.0));
            (*polled, port.map_or(0, |p| u32::from(p.rx_queue_packets)))
        };
        self.draining.push(QueueDrain {
            left: queues.iter().map(holds).collect(),
            queues,
            is_new: true,
            switches: vec![switch],
        });
    }

    /// Polls on after `n` packets, to see whether the queue is empty behind them: a worker whose turns
    /// are long finds some each time, and would never know. Some drivers give fewer than they have, so
    /// only none at all means that it was; and some give none to who asks for a few.
    #[cold]
    pub(crate) fn poll_to_the_end(&mut self, at: Polled, n: &mut usize) -> bool {
        let mut last = *n;
        while last > 0 && *n + ASK <= BURST {
            let room = BURST - *n;
            last = self.io.rx(at.port, at.queue, &mut self.batch.mine, room);
            *n += last;
        }
        last == 0
    }

    /// After `n` packets were polled from a queue, and it was found empty or not.
    #[cold]
    pub(crate) fn drained(&mut self, at: Polled, n: usize, is_empty: bool, now_ns: u64) {
        let mut is_over = |draining: &mut QueueDrain| {
            draining.polled(at, n as u32, is_empty);
            draining.left.is_empty()
        };
        let over: Vec<QueueDrain> = self.draining.extract_if(.., &mut is_over).collect();
        for switch in over.into_iter().flat_map(|draining| draining.switches) {
            if switch.to == self.id {
                self.switch(switch, now_ns)
            } else {
                self.send_token(switch.to, Handover::Switch(switch))
            }
        }
        if !self.batch.mine.is_empty() {
            self.execute(now_ns);
        }
    }

    /// What need not wait any more: transactions, then packets in their order.
    fn release(&mut self, shard: ShardId, now_ns: u64) {
        while let Some(txn) = self.moves.next_transaction(shard) {
            self.transact(txn, now_ns);
        }
        while let Some((packet, meta)) = self.moves.next_released(shard) {
            self.add(packet, meta);
            if self.batch.mine.is_full() {
                self.execute(now_ns);
            }
        }
        self.count_held();
        if self.moves.settle(shard) {
            self.tell_control(ToControl::Moved(shard));
        }
    }

    /// Tokens have places of their own in a ring: see `limits::MOVES`.
    pub(crate) fn send_token(&mut self, to: WorkerId, token: Handover<I::Packet>) {
        let handed = self.rings.hand_token(to, token);
        debug_assert!(handed, "no reserved place for a token");
    }

    /// What the control core waits for: see `limits::MOVES`.
    pub(crate) fn tell_control(&mut self, message: ToControl<I::Packet>) {
        let told = self.rings.to_control.push_reserved(message);
        debug_assert!(told.is_ok(), "no reserved place for the control core");
    }

    /// The control core gives a queue of ours to another worker. The batch is empty: all that was
    /// polled has been executed or handed over.
    #[cold]
    pub(crate) fn leave_queue(&mut self, fence: Fence) {
        self.polled.retain(|polled| *polled != fence.polled);
        self.io.leave_rx(fence.polled.port, fence.polled.queue);
        for worker in 0..self.rings.to_workers.workers() {
            if worker != usize::from(self.id) {
                self.send_token(WorkerId::at(worker), Handover::Fence(fence));
            }
        }
    }

    /// A fence for us, or to be passed on.
    #[cold]
    pub(crate) fn fence(&mut self, fence: Fence) {
        if fence.to != self.id {
            return self.send_token(fence.to, Handover::Fence(fence));
        }
        let others = self.rings.to_workers.workers() - 1;
        let polled = fence.polled;
        let at = self.arriving.iter().position(|a| a.polled == polled);
        let at = at.unwrap_or_else(|| {
            let left = others;
            self.arriving.push(ArrivingQueue { polled, left });
            self.arriving.len() - 1
        });
        self.arriving[at].left -= 1;
        if self.arriving[at].left == 0 {
            self.arriving.swap_remove(at);
            let taken = self.io.take_rx(polled.port, polled.queue);
            debug_assert!(taken, "a receive queue that nobody left");
            self.polled.push(polled);
            self.tell_control(ToControl::Requeued(polled));
        }
    }
}

/// A queue that will be polled here once the other workers' fences are in.
#[derive(Debug)]
pub(crate) struct ArrivingQueue {
    polled: Polled,
    left: usize,
}
