//! Execution of a traced packet, from *session* to *transmit*.

use crate::batch::Batch;
use crate::drop::DropReason;
use crate::forward::path::Path;
use crate::forward::pdr::{At, Detect, FlowOf};
use crate::forward::{far, pdr, rules};
use crate::ids::BlockId;
use crate::ledger::WorkerStats;
use crate::limits::FRAGMENTS_PER_PACKET;
use crate::meta::Meta;
use crate::session::rule::{Body, Flags, Head};
use crate::tables::InterfaceId;
use crate::trace::{Came, Fate, Record, RuleSeen, Sent};
use crate::tx::arp_queue::PendingTx;
use arrayvec::ArrayVec;
use sluice_port::{Packet, PortIo};

impl<I: PortIo> Path<'_, I> {
    pub(super) fn follows(&self, meta: &Meta, flow: FlowOf<'_>) -> bool {
        if self.tracer.follows(meta) {
            return true;
        }
        let rule = self.tracer.asks_rules().then(|| self.rule_seen(meta, flow));
        let tunnel = rule.flatten().and_then(|rule| rule.tunnel);
        tunnel.is_some_and(|tunnel| self.tracer.follows_into(meta, tunnel))
    }

    pub(super) fn follows_any(&self, batch: &Batch<I::Packet>) -> bool {
        let packets = batch.mine.as_slice().iter().zip(batch.metas.iter());
        let mut follows = packets.map(|(p, meta)| self.follows(meta, inner_of(p.data(), meta)));
        follows.any(|follows| follows)
    }

    pub(super) fn record(&self, packet: &I::Packet, meta: &Meta) -> Record {
        let record = self.tracer.open(self.now_ns, Some(*meta), packet.data());
        Record {
            rule: self.rule_seen(meta, inner_of(packet.data(), meta)),
            ..record
        }
    }

    /// Executes a batch of one, whose record this is.
    pub(super) fn execute_followed(&mut self, batch: &mut Batch<I::Packet>, mut record: Record) {
        let (before, held) = (CounterDelta::of(self.stats), self.held_now());
        self.run(batch);
        // All TX buffers were empty before: what lies there is what has become of the packet.
        let tx_buffers = self.tx_buffers.iter();
        let frames = tx_buffers.flat_map(|tx_buffer| {
            tx_buffer
                .frames()
                .iter()
                .map(|frame| tx_buffer.sends(frame))
        });
        let mut frames: ArrayVec<Sent, FRAGMENTS_PER_PACKET> =
            frames.take(FRAGMENTS_PER_PACKET).collect();
        self.flush();
        record.fate = if let Some(reason) = before.dropped_since(self.stats) {
            Fate::Dropped(reason)
        } else if !frames.is_empty() {
            Fate::Sent
        } else if self.stats.to_control.get() != before.to_control {
            Fate::ToControl
        } else if self.held_now() > held {
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

    /// Packets that wait for their next hops, for idle UEs or for their bit rates.
    fn held_now(&self) -> usize {
        self.held.len() + self.hold.len() + self.shaper.len()
    }

    /// A packet that waited for its next hop has left, or has been given up.
    #[cold]
    pub fn trace_waited(&mut self, ready: &PendingTx, outcome: Result<InterfaceId, DropReason>) {
        let (meta, flow) = (&ready.meta, FlowOf::Read(&ready.flow));
        if !self.tracer.is_on() || !self.follows(meta, flow) {
            return;
        }
        // The frame is the last in its TX buffer, which is not empty.
        let interface = outcome.ok().and_then(|id| self.interface(id).ok());
        let tx_buffer = interface.and_then(|i| self.tx_buffers.get(usize::from(i.port.0)));
        let sent =
            tx_buffer.and_then(|tx_buffer| Some(tx_buffer.sends(tx_buffer.frames().last()?)));
        let record = Record {
            worker: self.tracer.worker,
            at_ns: self.now_ns,
            came: Came::Waited,
            meta: Some(*meta),
            rule: self.rule_seen(meta, flow),
            fate: outcome.map_or_else(Fate::Dropped, |_| Fate::Sent),
            received: None,
            sent,
        };
        self.tracer.tell(record, self.stats);
    }

    /// The rule that a packet meets, asked once more and apart from the stages.
    pub(super) fn rule_seen(&self, meta: &Meta, flow: FlowOf<'_>) -> Option<RuleSeen> {
        let entry = self.state.entry(meta.entry.0)?;
        rules::check(entry, meta, &self.tables.filters).ok()?;
        let detect = Detect {
            flow,
            ..Detect::of(meta, entry, &[], &self.tables.filters)
        };
        let seen = |head: Head, body: &Body, at, is_limited| {
            let peer = self.tables.tunnel_peer(body.peer());
            let peer = peer.filter(|_| far::makes_tunnel(head));
            RuleSeen {
                entry: meta.entry,
                at,
                head,
                is_limited,
                tunnel: peer.map(|peer| (peer.address(), head.teid)),
            }
        };
        let link_rules = entry.head.flags.has(Flags::LINK_RULES) && detect.is_on_link();
        let link_rules = link_rules.then_some(BlockId(entry.head.teid));
        let first = |chain| pdr::first(chain, &detect, |number| self.state.ext(number.0)).ok();
        let in_block = |at: At| {
            let rule = self.state.ext(at.block().0)?.rules.get(at.rule())?;
            let is_limited = rule.buckets.iter().any(|bucket| bucket.get().is_some());
            Some(seen(rule.head, &rule.body, Some(at), is_limited))
        };
        if let Some(at) = link_rules.and_then(first) {
            return in_block(at);
        }
        match entry.block() {
            None => {
                pdr::only(entry.head, &detect).ok()?;
                let rates = [entry.body.rate0, entry.body.rate1];
                let is_limited = rates.iter().any(|rate| rate.is_limited());
                Some(seen(entry.head, &entry.body, None, is_limited))
            }
            Some(chain) => in_block(first(chain)?),
        }
    }
}

/// Where the flow of a frame is, whose inner packet is still to be looked at.
pub(super) fn inner_of<'p>(frame: &'p [u8], meta: &Meta) -> FlowOf<'p> {
    FlowOf::Packet(frame.get(usize::from(meta.inner_at)..).unwrap_or_default())
}

/// Counters before a step; what grew says what became of the packet.
pub(super) struct CounterDelta {
    dropped: [u64; DropReason::ALL.len()],
    pub(super) to_control: u64,
    pub(super) handed_out: u64,
}

impl CounterDelta {
    pub(super) fn of(stats: &WorkerStats) -> Self {
        Self {
            dropped: core::array::from_fn(|i| stats.dropped[i].get()),
            to_control: stats.to_control.get(),
            handed_out: stats.handed_out.get(),
        }
    }

    pub(super) fn dropped_since(&self, stats: &WorkerStats) -> Option<DropReason> {
        let all = DropReason::ALL.iter();
        all.zip(&self.dropped)
            .find(|(reason, before)| stats.dropped[**reason as usize].get() != **before)
            .map(|(reason, _)| *reason)
    }
}
