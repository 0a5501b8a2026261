//! Shutdown of a worker, and of the packets that it still has.

use crate::drop::DropReason;
use crate::message::ToWorker;
use crate::session::entry::SessionEntry;
use crate::session::rule::ExtBlock;
use crate::worker::Worker;
use sluice_mem::shard::Owned;
use sluice_port::{Burst, Packet, PortIo};

impl<I: PortIo> Worker<I> {
    /// Ends the worker: what it holds or what waits in its rings is dropped as `Stopped`, and
    /// its shards come back for another owner.
    pub fn stop(mut self) -> Owned<SessionEntry, ExtBlock> {
        let mut left = Burst::new();
        let mut drain = |packet: I::Packet| {
            if let Err(packet) = left.push(packet) {
                packet.free();
            }
        };
        while let Some(waiting) = self.held.take(|_| true) {
            self.stats.count_drop(DropReason::Stopped);
            drain(waiting.packet);
        }
        while let Some(held) = self.hold.next_of_any() {
            self.stats.count_drop(DropReason::Stopped);
            drain(held.packet);
        }
        let leaving = self.giving.drain(..).filter_map(|giving| giving.waiting);
        for packet in leaving.flat_map(|waiting| waiting.into_packets()) {
            self.stats.count_drop(DropReason::Stopped);
            drain(packet);
        }
        while let Some(packet) = self.shaper.drain() {
            self.stats.count_drop(DropReason::Stopped);
            drain(packet);
        }
        while let Some(frames) = self.reassembler.expire(u64::MAX) {
            for frame in frames {
                self.stats.count_drop(DropReason::Stopped);
                drain(frame);
            }
        }
        self.stats.held.set(0);
        self.stats.shaped_held.set(0);
        for from in self.rings.from_workers.iter_mut().flatten() {
            while let Some(message) = from.pop() {
                // A right to write that is on its way ends here, with the process.
                for packet in message.into_packets() {
                    self.stats.handed_in.add(1);
                    self.stats.count_drop(DropReason::Stopped);
                    drain(packet);
                }
            }
        }
        while let Some(message) = self.rings.to_workers.drain() {
            for packet in message.into_packets() {
                self.stats.handed_in.add(1);
                self.stats.count_drop(DropReason::Stopped);
                drain(packet);
            }
        }
        while let Some((packet, _)) = self.moves.drain() {
            self.stats.count_drop(DropReason::Stopped);
            drain(packet);
        }
        while let Some(message) = self.rings.from_control.pop() {
            if let ToWorker::Transmit(packet, _) | ToWorker::Receive(packet, _) = message {
                drain(packet);
            }
        }
        self.state
    }
}
