//! Dispatch of received packets: kept here, handed over to their owner, or punted to the control
//! core.

use crate::batch::Batch;
use crate::drop::DropReason;
use crate::ids::WorkerId;
use crate::message::{Handover, ToControl};
use crate::meta::Meta;
use crate::migration::protocol::ON_HOLD;
use crate::rx::classify::Classifier;
use crate::rx::parse::Class;
use crate::tables::InterfaceId;
use crate::worker::Worker;
use sluice_port::{Packet, PortId, PortIo};

impl<I: PortIo> Worker<I> {
    /// Sorts what `batch.mine` received behind its first `from` packets, in place: as a rule all
    /// of it stays.
    pub(crate) fn dispatch_burst(&mut self, from: usize, port: PortId, now_ns: u64) {
        self.classify(from, port);
        if self.tracer.is_on() {
            self.mark_traced(from);
        }
        if !self.batch.exceptions.is_empty() {
            self.split_exceptions(from, port, now_ns);
        }
    }

    /// Sorts `batch.received`: packets that come by other ways than a receive queue.
    #[cold]
    pub(crate) fn dispatch_received(&mut self, port: PortId, now_ns: u64) {
        self.batch.received_at = port;
        while !self.batch.received.is_empty() {
            let from = self.batch.mine.len();
            if self.batch.mine.append(&mut self.batch.received) == 0 {
                while let Some(packet) = self.batch.received.pop() {
                    self.refuse(packet, DropReason::HandoverFull);
                }
            }
            self.dispatch_burst(from, self.batch.received_at, now_ns);
        }
        self.batch.dead.free();
    }

    fn classify(&mut self, from: usize, port: PortId) {
        let Batch {
            mine,
            ahead,
            metas,
            exceptions,
            ..
        } = &mut self.batch;
        let classifier = Classifier {
            tables: self.tables.enter(),
            places: &self.places,
            owners: &self.owners,
            state: &self.state,
            id: self.id,
            port,
            packets: mine.as_mut_slice().get_mut(from..).unwrap_or_default(),
            ahead,
            metas,
            exceptions,
        };
        classifier.run();
    }

    /// Takes the odd ones out. The others stay in their order.
    #[cold]
    fn split_exceptions(&mut self, from: usize, port: PortId, now_ns: u64) {
        let mut all = core::mem::take(&mut self.batch.mine);
        let mut next = 0;
        let traced = self.tracer.is_on();
        for (i, packet) in all.drain().enumerate() {
            match self.batch.exceptions.get(next) {
                Some((at, class)) if from + at == i => {
                    next += 1;
                    let class = *class;
                    if traced {
                        self.dispatch_traced(packet, class, port, now_ns)
                    } else {
                        self.dispatch(packet, class, port, now_ns)
                    }
                }
                _ => {
                    // There was room for all of them.
                    if let Err(packet) = self.batch.mine.push(packet) {
                        packet.free();
                    }
                }
            }
        }
        self.batch.exceptions.clear();
        self.batch.dead.free();
    }

    pub(crate) fn dispatch(&mut self, packet: I::Packet, class: Class, port: PortId, now_ns: u64) {
        match class {
            Class::User(meta) => self.hand_over(packet, meta),
            Class::Control(interface) => self.punt(packet, interface),
            Class::N4(interface) => self.give_n4(packet, interface),
            Class::Fragment(_) => self.fragment(packet, port, now_ns),
            Class::Drop(reason) => self.refuse(packet, reason),
        }
    }

    #[inline]
    fn hand_over(&mut self, packet: I::Packet, meta: Meta) {
        match self.owners.of_index(meta.entry.0) {
            ON_HOLD => self.hold_for_move(self.id, packet, meta),
            owner => self.pass_to(owner, packet, meta),
        }
    }

    /// Puts a packet on the ring to another worker.
    #[inline]
    pub(crate) fn pass_to(&mut self, worker: WorkerId, packet: I::Packet, meta: Meta) {
        match self.rings.hand(worker, Handover::Packet(packet, meta)) {
            Ok(()) => self.stats.handed_out.add(1),
            Err(back) => self.refuse_handover(back),
        }
    }

    #[cold]
    fn punt(&mut self, packet: I::Packet, interface: InterfaceId) {
        match self
            .rings
            .to_control
            .push(ToControl::Packet(packet, interface))
        {
            Ok(()) => self.stats.to_control.add(1),
            Err(ToControl::Packet(packet, _)) => {
                self.refuse(packet, DropReason::ControlQueueFull);
            }
            Err(_) => unreachable!("push gives back what it was given"),
        }
    }

    #[cold]
    fn give_n4(&mut self, packet: I::Packet, interface: InterfaceId) {
        match self.rings.n4.push((packet, interface)) {
            Ok(()) => {
                self.stats.to_control.add(1);
                self.rings.wake_control();
            }
            Err((packet, _)) => self.refuse(packet, DropReason::N4QueueFull),
        }
    }

    /// What a ring gave back.
    #[cold]
    pub(crate) fn refuse_handover(&mut self, back: Handover<I::Packet>) {
        for packet in back.into_packets() {
            self.refuse(packet, DropReason::HandoverFull);
        }
    }

    pub(crate) fn refuse(&mut self, packet: I::Packet, reason: DropReason) {
        self.stats.count_drop(reason);
        if let Err(packet) = self.batch.dead.push(packet) {
            packet.free();
        }
    }
}
