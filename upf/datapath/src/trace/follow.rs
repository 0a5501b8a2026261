//! Traced packets in a worker, executed apart from their burst.

use super::execute::{CounterDelta, inner_of};
use super::{Came, Fate, Sent};
use crate::batch::Batch;
use crate::ids::NO_WORKER;
use crate::rx::parse::Class;
use crate::tables::InterfaceId;
use crate::worker::Worker;
use sluice_port::{Packet, PortId, PortIo, QueueId};

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
}
