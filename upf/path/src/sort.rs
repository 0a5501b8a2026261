//! Sort: parse and place what was received; keep mine, hand over what is others', give the control
//! core what is no user traffic.

use crate::drop::DropReason;
use crate::message::{Handover, ToControl};
use crate::meta::Meta;
use crate::stage::parse::{self, Class};
use crate::stage::place;
use crate::tables::InterfaceId;
use crate::worker::Worker;
use sluice_port::{Packet, PortId, PortIo};

/// How many packets ahead the header is fetched: with about 20 ns a packet it covers a miss.
const PREFETCH_AHEAD: usize = 8;

/// The line of a TEID that no table knows: execution finds no line there and answers the peer.
const NOWHERE: u32 = u32::MAX;

impl<I: PortIo> Worker<I> {
    /// Empties `batch.received`. A packet put together from fragments goes round once more.
    pub(crate) fn sort(&mut self, port: PortId, now_ns: u64) {
        self.batch.received_at = port;
        while !self.batch.received.is_empty() {
            let port = self.batch.received_at;
            self.classify(port);
            self.dispatch(port, now_ns);
        }
    }

    fn classify(&mut self, port: PortId) {
        let tables = self.tables.enter();
        let received = self.batch.received.as_mut_slice();
        for packet in received.iter().take(PREFETCH_AHEAD) {
            packet.prefetch();
        }
        for i in 0..received.len() {
            if let Some(ahead) = received.get(i + PREFETCH_AHEAD) {
                ahead.prefetch();
            }
            let packet = &mut received[i];
            let class = if packet.segments() > 1 && !packet.linearize() {
                Class::Drop(DropReason::NotLinear)
            } else {
                parse::classify(packet.data(), port, tables)
            };
            let class = match class {
                Class::User(mut meta) => match place::place(&mut meta, &self.places, tables) {
                    Ok(()) => {
                        self.state.prefetch_line(meta.line);
                        Class::User(meta)
                    }
                    Err(DropReason::UnknownTeid) => {
                        meta.line = NOWHERE;
                        Class::User(meta)
                    }
                    Err(reason) => Class::Drop(reason),
                },
                other => other,
            };
            self.batch.classes.push(class);
        }
    }

    fn dispatch(&mut self, port: PortId, now_ns: u64) {
        let classes = core::mem::take(&mut self.batch.classes);
        let mut received = core::mem::take(&mut self.batch.received);
        for (packet, class) in received.drain().zip(&classes) {
            match class {
                Class::User(meta) => self.keep_or_hand_over(packet, *meta),
                Class::Control(interface) => self.punt(packet, *interface),
                Class::Fragment(_) => self.fragment(packet, port, now_ns),
                Class::Drop(reason) => self.refuse(packet, *reason),
            }
        }
        self.batch.dead.free();
    }

    #[inline]
    fn keep_or_hand_over(&mut self, packet: I::Packet, meta: Meta) {
        let owner = self.owners.of_index(meta.line);
        if owner == self.id || meta.line == NOWHERE {
            return match self.batch.mine.push(packet) {
                Ok(()) => self.batch.metas.push(meta),
                Err(packet) => self.refuse(packet, DropReason::HandoverFull),
            };
        }
        let ring = self.rings.to_workers.get_mut(usize::from(owner));
        match ring.and_then(Option::as_mut) {
            None => self.refuse(packet, DropReason::HandoverFull),
            Some(ring) => match ring.push(Handover::Packet(packet, meta)) {
                Ok(()) => self.stats.handed_out.add(1),
                Err(back) => self.refuse(back.into_packet(), DropReason::HandoverFull),
            },
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

    pub(crate) fn refuse(&mut self, packet: I::Packet, reason: DropReason) {
        self.stats.count_drop(reason);
        if let Err(packet) = self.batch.dead.push(packet) {
            packet.free();
        }
    }
}
