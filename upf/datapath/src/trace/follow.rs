//! Traced packets in a worker, executed apart from their burst.

use crate::batch::Batch;
use crate::ids::{NO_WORKER, WorkerId};
use crate::message::{Handover, ToControl};
use crate::rx::parse::Class;
use crate::tables::InterfaceId;
use crate::trace::execute::{CounterDelta, inner_of};
use crate::trace::{Came, Fate, Sent, TraceOrder};
use crate::worker::Worker;
use core::net::{IpAddr, Ipv4Addr};
use sluice_port::{Packet, PortId, PortIo, QueueId};
use sluice_wire::gtpu::{GPdu, PORT};
use sluice_wire::ipv4::{Ipv4, Protocol};
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::eth;
use sluice_wire::udp::Udp;

impl<I: PortIo> Worker<I> {
    /// What was parsed here, behind the first `from` packets of the batch.
    #[cold]
    pub(crate) fn mark_traced(&mut self, from: usize) {
        let mark = self.tracer.mark();
        let Batch {
            metas, exceptions, ..
        } = &mut self.batch;
        let mine = metas.get_mut(from..).unwrap_or_default();
        let others = exceptions.iter_mut().filter_map(|(_, class)| match class {
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
        if !may_follow || !path.follows_any(batch) {
            return path.execute(batch);
        }
        let mut packets = core::mem::take(&mut batch.mine);
        let metas = batch.metas.clone();
        batch.metas.clear();
        for (packet, meta) in packets.drain().zip(metas.iter().copied()) {
            let follows = path.follows(&meta, inner_of(packet.data(), &meta));
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
        let (before, held) = (CounterDelta::of(&self.stats), self.stats.held.get());
        self.dispatch(packet, class, port, now_ns);
        let to = meta.map(|meta| self.owners.of_index(meta.entry.0));
        record.fate = if let Some(reason) = before.dropped_since(&self.stats) {
            Fate::Dropped(reason)
        } else if self.stats.handed_out.get() != before.handed_out {
            Fate::HandedOver(to.unwrap_or(NO_WORKER))
        } else if self.stats.to_control.get() != before.to_control {
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
        let queue = self
            .tx_buffers
            .first()
            .map_or(QueueId(0), |tx_buffer| tx_buffer.queue());
        self.tracer.came(Came::Control);
        let mut record = self.tracer.open(now_ns, None, frame);
        let frame = record.received.take();
        record.fate = Fate::Sent;
        record.sent = port
            .zip(frame)
            .map(|(port, frame)| Sent { port, queue, frame });
        self.tracer.tell(record, &self.stats);
    }

    /// The control core's word about following.
    #[cold]
    pub(crate) fn trace_order(&mut self, order: TraceOrder) {
        match order {
            TraceOrder::Expect(tracing) => {
                self.tracer.expect(tracing);
                self.tell_control(ToControl::TraceExpected);
            }
            TraceOrder::Follow => {
                if let Some(old) = self.tracer.begin() {
                    self.tell_control(ToControl::Traced(old));
                }
            }
            TraceOrder::End => {
                self.tracer.end();
                for worker in 0..self.rings.to_workers.workers() {
                    let worker = WorkerId::at(worker);
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
}

/// The ends of a frame, as far as it is an IP packet.
#[derive(Default)]
pub(super) struct FrameEnds {
    pub(super) src: Option<IpAddr>,
    pub(super) dst: Option<IpAddr>,
    pub(super) teid: Option<u32>,
    pub(super) inner_src: Option<Ipv4Addr>,
}

impl FrameEnds {
    pub(super) fn of(frame: &[u8]) -> Self {
        let packet = eth::payload_at(frame).and_then(|at| frame.get(at..));
        let Some((ends, datagram)) = packet.and_then(outer) else {
            return Self::default();
        };
        let udp = datagram.and_then(|datagram| Udp::parse(datagram).ok());
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

/// The ends of an IP packet, and the whole UDP datagram in it, if there is one.
fn outer(packet: &[u8]) -> Option<(FrameEnds, Option<&[u8]>)> {
    let ends = |src: IpAddr, dst: IpAddr| FrameEnds {
        src: Some(src),
        dst: Some(dst),
        ..FrameEnds::default()
    };
    if is_ipv6(packet) {
        let ip = Ipv6::parse(packet).ok()?;
        let upper = ip.upper_layer();
        let whole_udp = upper.protocol == Protocol::UDP && !upper.is_fragment;
        let ends = ends(ip.source().into(), ip.destination().into());
        return Some((ends, whole_udp.then_some(upper.payload)));
    }
    let ip = Ipv4::parse(packet).ok()?;
    let whole_udp = ip.protocol() == Protocol::UDP && !ip.is_fragment();
    let ends = ends(ip.source().into(), ip.destination().into());
    Some((ends, whole_udp.then_some(ip.payload())))
}
