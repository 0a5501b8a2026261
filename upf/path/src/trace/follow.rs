//! The worker's side: which packets are followed, and what becomes of them.

use crate::drop::DropReason;
use crate::ledger::WorkerStats;
use crate::limits::FRAGMENTS_PER_PACKET;
use crate::message::{Handover, ToControl};
use crate::meta::{Entry, Meta};
use crate::path::Path;
use crate::rule::{Body, Head};
use crate::stage::parse::Class;
use crate::stage::{far, pdr, session};
use crate::tables::InterfaceId;
use crate::trace::{Came, Fate, Filter, Key, Record, RuleSeen, Sent, Snap, TraceOrder, Tracing};
use crate::worker::{Batch, Worker, WorkerId};
use arrayvec::ArrayVec;
use core::net::Ipv4Addr;
use sluice_port::{Packet, PortId, PortIo, QueueId};
use sluice_wire::gtpu::{GPdu, PORT};
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::udp::Udp;

/// A worker's eye.
pub(crate) struct Tracer {
    worker: WorkerId,
    /// What packets are followed with.
    on: Option<Box<Tracing>>,
    /// What they will be followed with; other workers may have begun to.
    next: Option<Box<Tracing>>,
    /// No more packets are followed from their beginning with `on`.
    is_ending: bool,
    /// Other workers of whom that is known.
    ended: usize,
    /// How the packets at hand came.
    came: Came,
}

impl Tracer {
    /// One that is closed.
    pub fn new(worker: WorkerId) -> Self {
        Self {
            worker,
            on: None,
            next: None,
            is_ending: false,
            ended: 0,
            came: Came::Control,
        }
    }

    /// True while somebody looks.
    #[inline(always)]
    pub fn is_on(&self) -> bool {
        self.on.is_some() || self.next.is_some()
    }

    /// The packets from here on came so.
    #[inline(always)]
    pub fn came(&mut self, came: Came) {
        if self.is_on() {
            self.came = came;
        }
    }

    /// The mark of packets that are parsed here.
    fn mark(&self) -> u8 {
        self.beginning().map_or(0, |tracing| tracing.mark)
    }

    /// What packets are followed with from their beginning.
    fn beginning(&self) -> Option<&Tracing> {
        self.on.as_deref().filter(|_| !self.is_ending)
    }

    /// Another worker marks no packets any more, and all that it had marked have come.
    #[cold]
    pub fn other_ended(&mut self) {
        self.ended += 1;
    }

    /// What was followed with, once nothing that is to be followed can come from the `others`.
    fn over(&mut self, others: usize) -> Option<Box<Tracing>> {
        if !self.is_ending || self.ended < others {
            return None;
        }
        (self.is_ending, self.ended) = (false, 0);
        self.on.take()
    }

    /// What a packet is followed with, if the worker who parsed it followed any.
    #[inline]
    fn tracing_of(&self, meta: &Meta) -> Option<&Tracing> {
        let next = self.next.as_deref();
        match meta.traced {
            0 => None,
            mark => next.filter(|next| next.mark == mark).or(self.on.as_deref()),
        }
    }

    /// True if a packet is followed by what it is placed by, or by its sender.
    #[inline]
    fn follows(&self, meta: &Meta) -> bool {
        let Some(tracing) = self.tracing_of(meta) else {
            return false;
        };
        let filter = &tracing.filter;
        let plain = meta.entry == Entry::Plain;
        let is = |key: &Key| match key {
            Key::Ue(address) => plain && u32::from(*address) == meta.key,
            Key::Teid { local, teid } => !plain && (*local, *teid) == (meta.local, meta.key),
        };
        let sends = |peer: Ipv4Addr| !plain && u32::from(peer) == meta.outer_src;
        filter.keys.iter().any(is) || filter.peer.is_some_and(sends)
    }

    /// A quick look at a batch: false if none of its packets is followed.
    #[inline(never)]
    fn may_follow(&self, metas: &[Meta]) -> bool {
        if self.asks_rules() {
            return true;
        }
        // One key after the other over all packets: loops without a branch.
        self.filters().flat_map(|filter| &filter.keys).any(|key| {
            let sought = match key {
                Key::Ue(address) => u32::from(*address),
                Key::Teid { teid, .. } => *teid,
            };
            let met = metas.iter().map(|meta| u32::from(meta.key == sought));
            met.sum::<u32>() > 0
        })
    }

    fn filters(&self) -> impl Iterator<Item = &Filter> {
        let tracings = self.on.iter().chain(&self.next);
        tracings.map(|tracing| &tracing.filter)
    }

    /// True if what a rule sends into a tunnel is followed.
    fn follows_into(&self, meta: &Meta, (peer, teid): (Ipv4Addr, u32)) -> bool {
        self.tracing_of(meta).is_some_and(|tracing| {
            let filter = &tracing.filter;
            filter.peer == Some(peer) || filter.tunnel == Some((peer, teid))
        })
    }

    /// True if it takes a look at a packet's rule to know whether it is followed.
    fn asks_rules(&self) -> bool {
        self.filters()
            .any(|f| f.peer.is_some() || f.tunnel.is_some())
    }

    /// True if a frame is followed that *parse* or *place* refused, or that is no user traffic.
    fn follows_frame(&self, frame: &[u8]) -> bool {
        let Some(tracing) = self.beginning() else {
            return false;
        };
        let (filter, ends) = (&tracing.filter, Ends::of(frame));
        let is = |key: &Key| match key {
            Key::Ue(address) => ends.dst == Some(*address) || ends.inner_src == Some(*address),
            Key::Teid { teid, .. } => ends.teid == Some(*teid),
        };
        let of_peer = filter
            .peer
            .is_some_and(|peer| ends.src == Some(peer) || ends.dst == Some(peer));
        filter.keys.iter().any(is) || of_peer
    }

    fn open(&self, now_ns: u64, meta: Option<Meta>, frame: &[u8]) -> Record {
        Record {
            worker: self.worker,
            at_ns: now_ns,
            came: self.came,
            meta,
            rule: None,
            fate: Fate::Ended,
            received: Some(Snap::of(frame)),
            sent: None,
        }
    }

    fn tell(&mut self, record: Record, stats: &WorkerStats) {
        if let Some(tracing) = self.on.as_mut().or(self.next.as_mut())
            && tracing.ring.push(record).is_err()
        {
            stats.trace_lost.add(1);
        }
    }
}

/// The ends of a frame, as far as it is an IPv4 packet.
#[derive(Default)]
struct Ends {
    src: Option<Ipv4Addr>,
    dst: Option<Ipv4Addr>,
    teid: Option<u32>,
    inner_src: Option<Ipv4Addr>,
}

impl Ends {
    fn of(frame: &[u8]) -> Self {
        let l3 = match frame.get(12..14) {
            Some([0x81, 0x00]) => 18,
            _ => 14,
        };
        let Some(ip) = frame.get(l3..).and_then(|l3| Ipv4::parse(l3).ok()) else {
            return Self::default();
        };
        let ends = Self {
            src: Some(ip.source()),
            dst: Some(ip.destination()),
            ..Self::default()
        };
        let whole_udp = ip.protocol() == Protocol::UDP && !ip.is_fragment();
        let udp = Udp::parse(ip.payload()).ok().filter(|_| whole_udp);
        let Some(udp) = udp.filter(|udp| udp.destination_port() == PORT) else {
            return ends;
        };
        let Ok(pdu) = GPdu::parse(udp.payload()) else {
            return ends;
        };
        let inner = udp.payload().get(usize::from(pdu.payload_offset)..);
        let inner = inner.and_then(|inner| Ipv4::parse_unsummed(inner).ok());
        Self {
            teid: Some(pdu.teid.get()),
            inner_src: inner.map(|ip| ip.source()),
            ..ends
        }
    }
}

/// Counters before a step; what grew says what became of the packet.
struct Books {
    dropped: [u64; DropReason::ALL.len()],
    to_control: u64,
    handed_out: u64,
}

impl Books {
    fn of(stats: &WorkerStats) -> Self {
        Self {
            dropped: core::array::from_fn(|i| stats.dropped[i].get()),
            to_control: stats.to_control.get(),
            handed_out: stats.handed_out.get(),
        }
    }

    fn dropped_since(&self, stats: &WorkerStats) -> Option<DropReason> {
        let all = DropReason::ALL.iter();
        all.zip(&self.dropped)
            .find(|(reason, before)| stats.dropped[**reason as usize].get() != **before)
            .map(|(reason, _)| *reason)
    }
}

impl<I: PortIo> Worker<I> {
    /// The control core's word about following.
    #[cold]
    pub(crate) fn trace_order(&mut self, order: TraceOrder) {
        let tracer = &mut self.tracer;
        match order {
            TraceOrder::Expect(tracing) => {
                tracer.next = Some(tracing);
                self.tell_control(ToControl::TraceExpected);
            }
            TraceOrder::Follow => {
                let old = core::mem::replace(&mut tracer.on, tracer.next.take());
                if let Some(old) = old {
                    self.tell_control(ToControl::Traced(old));
                }
            }
            TraceOrder::End => {
                tracer.is_ending = true;
                for worker in 0..self.rings.to_workers.workers() {
                    let worker = worker as WorkerId;
                    if worker != self.id {
                        self.send_token(worker, Handover::TraceEnd);
                    }
                }
            }
        }
    }

    /// Gives back what packets were followed with, once none is under way. Packets of shards that
    /// move may be with any worker.
    #[cold]
    pub(crate) fn end_trace(&mut self) {
        let others = self.rings.to_workers.workers() - 1;
        if self.moves.is_quiet()
            && let Some(old) = self.tracer.over(others)
        {
            self.tell_control(ToControl::Traced(old));
        }
    }

    /// What was parsed here, behind the first `from` packets of the batch.
    #[cold]
    pub(crate) fn mark_traced(&mut self, from: usize) {
        let mark = self.tracer.mark();
        let Batch { metas, odd, .. } = &mut self.batch;
        let mine = metas.get_mut(from..).unwrap_or_default();
        let others = odd.iter_mut().filter_map(|(_, class)| match class {
            Class::User(meta) => Some(meta),
            _ => None,
        });
        mine.iter_mut()
            .chain(others)
            .for_each(|meta| meta.traced = mark);
    }

    /// Executes the batch, those that are followed one by one.
    #[cold]
    pub(crate) fn execute_traced(&mut self, now_ns: u64) {
        let (mut path, batch) = self.path_and_batch(now_ns);
        let may_follow = path.tracer.may_follow(&batch.metas);
        if !may_follow || !batch.metas.iter().any(|meta| path.follows(meta)) {
            return path.execute(batch);
        }
        let mut packets = core::mem::take(&mut batch.mine);
        let metas = batch.metas.clone();
        batch.metas.clear();
        for (packet, meta) in packets.drain().zip(metas.iter().copied()) {
            let follows = path.follows(&meta);
            if follows {
                // Those before it leave before it.
                path.execute(batch);
            }
            let record = follows.then(|| path.record(&packet, &meta));
            // There was room for all of them.
            if let Err(packet) = batch.mine.push(packet) {
                packet.free();
                continue;
            }
            batch.metas.push(meta);
            if let Some(record) = record {
                path.execute_followed(batch, record);
            }
        }
        path.execute(batch);
    }

    /// Sees to a packet that is not executed here: handed over, given to the control core, refused.
    #[cold]
    pub(crate) fn dispatch_traced(
        &mut self,
        packet: I::Packet,
        class: Class,
        port: PortId,
        now_ns: u64,
    ) {
        let meta = match class {
            Class::User(meta) => Some(meta),
            _ => None,
        };
        let follows = match &meta {
            Some(meta) => self.tracer.follows(meta),
            None => self.tracer.follows_frame(packet.data()),
        };
        if !follows {
            return self.dispatch(packet, class, port, now_ns);
        }
        let mut record = self.tracer.open(now_ns, meta, packet.data());
        let (books, held) = (Books::of(&self.stats), self.stats.held.get());
        self.dispatch(packet, class, port, now_ns);
        let to = meta.map(|meta| self.owners.of_index(meta.line));
        record.fate = if let Some(reason) = books.dropped_since(&self.stats) {
            Fate::Dropped(reason)
        } else if self.stats.handed_out.get() != books.handed_out {
            Fate::HandedOver(to.unwrap_or(crate::worker::NOBODY))
        } else if self.stats.to_control.get() != books.to_control {
            Fate::ToControl
        } else if self.stats.held.get() > held {
            Fate::Waits
        } else {
            Fate::Ended
        };
        self.tracer.tell(record, &self.stats);
    }

    /// A frame of the control core's making leaves.
    #[cold]
    pub(crate) fn trace_own(&mut self, frame: &[u8], interface: InterfaceId, now_ns: u64) {
        if !self.tracer.follows_frame(frame) {
            return;
        }
        let port = self
            .tables
            .enter()
            .interfaces
            .get(usize::from(interface))
            .map(|i| i.port);
        let queue = self.lanes.first().map_or(QueueId(0), |lane| lane.queue());
        self.tracer.came = Came::Control;
        let mut record = self.tracer.open(now_ns, None, frame);
        let frame = record.received.take();
        record.fate = Fate::Sent;
        record.sent = port
            .zip(frame)
            .map(|(port, frame)| Sent { port, queue, frame });
        self.tracer.tell(record, &self.stats);
    }
}

impl<I: PortIo> Path<'_, I> {
    fn follows(&self, meta: &Meta) -> bool {
        if self.tracer.follows(meta) {
            return true;
        }
        let rule = self.tracer.asks_rules().then(|| self.rule_seen(meta));
        let tunnel = rule.flatten().and_then(|rule| rule.tunnel);
        tunnel.is_some_and(|tunnel| self.tracer.follows_into(meta, tunnel))
    }

    fn record(&self, packet: &I::Packet, meta: &Meta) -> Record {
        let record = self.tracer.open(self.now_ns, Some(*meta), packet.data());
        Record {
            rule: self.rule_seen(meta),
            ..record
        }
    }

    /// Executes a batch of one, whose record this is.
    fn execute_followed(&mut self, batch: &mut Batch<I::Packet>, mut record: Record) {
        let (books, held) = (Books::of(self.stats), self.held.len());
        self.run(batch);
        // All lanes were empty before: what lies there is what has become of the packet.
        let lanes = self.lanes.iter();
        let frames = lanes.flat_map(|lane| lane.frames().iter().map(|frame| lane.sends(frame)));
        let mut frames: ArrayVec<Sent, FRAGMENTS_PER_PACKET> =
            frames.take(FRAGMENTS_PER_PACKET).collect();
        self.flush();
        record.fate = if let Some(reason) = books.dropped_since(self.stats) {
            Fate::Dropped(reason)
        } else if !frames.is_empty() {
            Fate::Sent
        } else if self.stats.to_control.get() != books.to_control {
            Fate::ToControl
        } else if self.held.len() > held {
            Fate::Waits
        } else {
            Fate::Ended
        };
        record.sent = frames.pop_at(0);
        let piece = Record {
            received: None,
            sent: None,
            ..record.clone()
        };
        self.tracer.tell(record, self.stats);
        for sent in frames {
            let sent = Some(sent);
            self.tracer.tell(
                Record {
                    sent,
                    ..piece.clone()
                },
                self.stats,
            );
        }
    }

    /// A packet that waited for its next hop has left, or has been given up.
    #[cold]
    pub fn trace_waited(&mut self, meta: &Meta, outcome: Result<InterfaceId, DropReason>) {
        if !self.tracer.is_on() || !self.follows(meta) {
            return;
        }
        // The frame is the last in its lane, which is not empty.
        let interface = outcome.ok().and_then(|id| self.interface(id).ok());
        let lane = interface.and_then(|i| self.lanes.get(usize::from(i.port.0)));
        let sent = lane.and_then(|lane| Some(lane.sends(lane.frames().last()?)));
        let record = Record {
            worker: self.tracer.worker,
            at_ns: self.now_ns,
            came: Came::Waited,
            meta: Some(*meta),
            rule: self.rule_seen(meta),
            fate: outcome.map_or_else(Fate::Dropped, |_| Fate::Sent),
            received: None,
            sent,
        };
        self.tracer.tell(record, self.stats);
    }

    /// The rule that a packet meets, asked once more and apart from the stages.
    fn rule_seen(&self, meta: &Meta) -> Option<RuleSeen> {
        let line = self.state.line(meta.line)?;
        session::check(line, meta).ok()?;
        let seen = |head: Head, body: &Body, at, is_limited| {
            let peer = self.tables.peers.get(usize::from(body.peer));
            let peer = peer.filter(|_| far::makes_tunnel(head));
            RuleSeen {
                line: meta.line,
                at,
                head,
                is_limited,
                tunnel: peer.map(|peer| (peer.address, body.teid)),
            }
        };
        match line.block() {
            None => {
                pdr::only(line.head, meta).ok()?;
                let rates = [line.body.rate0, line.body.rate1];
                let is_limited = rates.iter().any(|rate| rate.is_limited());
                Some(seen(line.head, &line.body, None, is_limited))
            }
            Some(chain) => {
                let at = pdr::first(chain, meta, |number| self.state.ext(number)).ok()?;
                let rule = self.state.ext(at.block())?.rules.get(at.rule())?;
                let is_limited = rule.buckets.iter().any(|bucket| bucket.get().is_some());
                Some(seen(rule.head, &rule.body, Some(at), is_limited))
            }
        }
    }
}
