//! Fragments of outer packets: each goes to the worker that gathers its kind, and whole packets go on.

use crate::drop::DropReason;
use crate::ids::WorkerId;
use crate::message::Handover;
use crate::tx::reassembly::{Pieces, Reassembled};
use crate::worker::Worker;
use sluice_port::{Packet, PortId, PortIo};
use sluice_wire::ipv4::Ipv4;
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::eth;

impl<I: PortIo> Worker<I> {
    /// An outer fragment: to the worker that gathers its kind.
    #[cold]
    pub(crate) fn fragment(&mut self, frame: I::Packet, port: PortId, now_ns: u64) {
        let to = self.gatherer(&frame);
        if to == usize::from(self.id) {
            return self.gather(frame, port, now_ns);
        }
        match self
            .rings
            .hand(WorkerId::at(to), Handover::Fragment(frame, port))
        {
            Ok(()) => self.stats.handed_out.add(1),
            Err(back) => self.refuse_handover(back),
        }
    }

    /// Addresses and identification choose, so all fragments of a packet meet.
    fn gatherer(&self, frame: &I::Packet) -> usize {
        let data = frame.data();
        let packet = eth::payload_at(data).and_then(|l3| data.get(l3..));
        let mixed = packet.and_then(|packet| {
            if is_ipv6(packet) {
                mixed_ipv6(packet)
            } else {
                mixed_ipv4(packet)
            }
        });
        let hash = mixed.map_or(0, |mixed| mixed.wrapping_mul(0x9e37_79b9) >> 8);
        hash as usize % self.rings.to_workers.workers().max(1)
    }

    /// A fragment of our kind. A whole packet goes back to be sorted.
    pub(crate) fn gather(&mut self, frame: I::Packet, port: PortId, now_ns: u64) {
        let l3 = eth::payload_at(frame.data()).unwrap_or_default();
        match self.reassembler.add(frame, l3, now_ns) {
            Reassembled::Held => {}
            Reassembled::Complete(whole) => {
                let assembled = self.io.alloc().and_then(|mut out| {
                    if whole.write(&mut out) {
                        return Some(out);
                    }
                    out.free();
                    None
                });
                self.assembled(assembled, whole.into_frames(), port);
            }
            Reassembled::Refused(others, frame, reason) => {
                for other in others {
                    self.refuse(other, reason);
                }
                self.refuse(frame, reason);
            }
        }
        self.count_held();
    }

    fn assembled(&mut self, whole: Option<I::Packet>, frames: Pieces<I::Packet>, port: PortId) {
        match whole {
            Some(packet) => {
                self.stats.merged.add(frames.len() as u64 - 1);
                frames.into_iter().for_each(Packet::free);
                if let Err(packet) = self.batch.received.push(packet) {
                    self.refuse(packet, DropReason::NoBuffer);
                }
                self.batch.received_at = port;
            }
            None => {
                for frame in frames {
                    self.refuse(frame, DropReason::NoBuffer);
                }
            }
        }
    }

    /// Gives up what has waited too long.
    #[cold]
    pub(crate) fn expire_fragments(&mut self, now_ns: u64) {
        while let Some(frames) = self.reassembler.expire(now_ns) {
            for frame in frames {
                self.refuse(frame, DropReason::Reassembly);
            }
        }
        self.batch.dead.free();
        self.count_held();
    }

    pub(crate) fn count_held(&self) {
        let held = self.held.len() + self.reassembler.held() + self.moves.held() + self.hold.len();
        let shaped = self.shaper.len() + self.leaving();
        self.stats.held_for_ues.set(self.hold.len() as u64);
        self.stats.held_entries.set(self.hold.entries() as u64);
        self.stats.shaped_held.set(self.shaper.len() as u64);
        self.stats.held.set((held + shaped) as u64);
    }
}

/// Addresses and identification, mixed.
fn mixed_ipv4(packet: &[u8]) -> Option<u32> {
    let ip = Ipv4::parse(packet).ok()?;
    let ends = ip.source_u32() ^ ip.destination_u32().rotate_left(13);
    Some(ends ^ u32::from(ip.identification()))
}

/// The same of IPv6.
fn mixed_ipv6(packet: &[u8]) -> Option<u32> {
    let ip = Ipv6::parse(packet).ok()?;
    let (header, _) = ip.fragment()?;
    let ends = ip.source().to_bits() ^ ip.destination().to_bits().rotate_left(13);
    let words = (0..4).map(|word| (ends >> (32 * word)) as u32);
    Some(words.fold(header.identification, |mixed, word| mixed ^ word))
}
