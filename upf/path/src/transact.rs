//! Apply a transaction: whole, between two bursts, and back it goes with the usage that it took.

use crate::drop::DropReason;
use crate::line::Line;
use crate::message::ToControl;
use crate::path::Path;
use crate::rule::{Body, BucketRef, Rule, SharedBucket};
use crate::stage::far::Exit;
use crate::stage::transmit::{self, Charge};
use crate::stage::{ohc, route};
use crate::tables::InterfaceId;
use crate::txn::{EndMarker, Op, Txn, Usage};
use crate::worker::Worker;
use sluice_port::{Packet, PortIo};

/// GTP-U message type End Marker (TS 29.281, 7.3.2).
const END_MARKER: u8 = 254;

impl<I: PortIo> Worker<I> {
    /// Applies `txn` and sends it back to the control core.
    pub(crate) fn transact(&mut self, mut txn: Box<Txn>, now_ns: u64) {
        let (mut path, _) = self.path_and_batch(now_ns);
        for marker in &txn.end_markers {
            path.end_marker(marker);
        }
        let Txn { ops, usage, .. } = &mut *txn;
        for op in ops.iter() {
            if let Some(taken) = path.apply(op) {
                usage.push(taken);
            }
        }
        self.stats.transactions.add(1);
        let back = self.rings.to_control.push_reserved(ToControl::Done(txn));
        // The control core keeps no more transactions under way than places are reserved.
        debug_assert!(back.is_ok(), "no reserved place for a transaction");
    }

    /// Sends a whole frame of the control core's making.
    pub(crate) fn send_as_is(&mut self, frame: I::Packet, interface: InterfaceId, now_ns: u64) {
        self.stats.created.add(1);
        let (mut path, _) = self.path_and_batch(now_ns);
        match path.interface(interface) {
            Ok(i) => path.push(usize::from(i.port.0), frame, Charge::NONE),
            Err(reason) => path.discard(frame, reason),
        }
    }
}

impl<I: PortIo> Path<'_, I> {
    /// An operation names only what its shard has, so a miss is a bug of the compiler; usage
    /// records keep their order even then.
    fn apply(&mut self, op: &Op) -> Option<Usage> {
        match op {
            Op::Line { at, image, carry } => {
                let line = self.state.line_mut(*at);
                Some(line.map_or_else(Usage::default, |l| replace_line(l, image, *carry)))
            }
            Op::TakeLine { at } => {
                let line = self.state.line_mut(*at);
                Some(line.map_or_else(Usage::default, |l| take(&mut l.body)))
            }
            Op::Rule { block, at, image } => {
                let rule = self.rule(*block, *at);
                Some(rule.map_or_else(Usage::default, |r| replace_rule(r, image)))
            }
            Op::TakeRule { block, at } => {
                let rule = self.rule(*block, *at);
                Some(rule.map_or_else(Usage::default, |r| take(&mut r.body)))
            }
            Op::Chain {
                block,
                next,
                rules_len,
            } => {
                if let Some(b) = self.state.ext_mut(*block) {
                    (b.next, b.rules_len) = (*next, u32::from(*rules_len));
                }
                None
            }
            Op::Bucket { at, image, carry } => {
                self.set_bucket(*at, image, *carry);
                None
            }
        }
    }

    fn set_bucket(&mut self, at: BucketRef, image: &SharedBucket, carry: bool) {
        let bucket = at
            .get()
            .and_then(|(block, place)| self.state.ext_mut(block)?.buckets.get_mut(place));
        if let Some(bucket) = bucket {
            let tat = bucket.tat;
            *bucket = *image;
            if carry {
                bucket.tat = tat;
            }
        }
    }

    fn rule(&mut self, block: u32, at: u8) -> Option<&mut Rule> {
        self.state.ext_mut(block)?.rules.get_mut(usize::from(at))
    }

    /// Goes out behind the last packet on the old path: the lane keeps order.
    fn end_marker(&mut self, marker: &EndMarker) {
        let Some(mut packet) = self.io.alloc() else {
            return;
        };
        self.stats.created.add(1);
        if let Err(reason) = self.write_end_marker(&mut packet, marker) {
            return self.discard(packet, reason);
        }
        let exit = Exit::Tunnel(ohc::Tunnel::bare(marker.teid), marker.peer);
        match route::find(&exit, 0, self.tables) {
            Ok(route::Hop::Ready(id, mac)) => self.send_marker(packet, id, mac),
            // A peer that never answered ARP got no packet to be marked as the last.
            Ok(route::Hop::Wait(..)) => {
                self.discard(packet, DropReason::NextHopUnresolved);
            }
            Err(reason) => self.discard(packet, reason),
        }
    }

    fn write_end_marker(
        &mut self,
        packet: &mut I::Packet,
        marker: &EndMarker,
    ) -> Result<(), DropReason> {
        let peer = route::peer(marker.peer, self.tables)?;
        ohc::create(packet, &ohc::Tunnel::bare(marker.teid), peer, 0)?;
        if let Some(kind) = packet.data_mut().get_mut(29) {
            *kind = END_MARKER;
        }
        Ok(())
    }

    fn send_marker(&mut self, mut packet: I::Packet, id: InterfaceId, mac: [u8; 6]) {
        let framed = self.interface(id).and_then(|interface| {
            transmit::frame(&mut packet, interface, &mac)?;
            Ok(usize::from(interface.port.0))
        });
        match framed {
            Ok(lane) => self.push(lane, packet, Charge::NONE),
            Err(reason) => self.discard(packet, reason),
        }
    }
}

fn replace_line(line: &mut Line, image: &Line, carry: [bool; 2]) -> Usage {
    let old = core::mem::replace(line, *image);
    start(&mut line.body);
    if carry[0] {
        line.body.tat0 = old.body.tat0;
    }
    if carry[1] {
        line.body.tat1 = old.body.tat1;
    }
    taken(&old.body)
}

fn replace_rule(rule: &mut Rule, image: &Rule) -> Usage {
    let old = core::mem::replace(rule, *image);
    start(&mut rule.body);
    taken(&old.body)
}

/// A new rule has seen nothing yet.
fn start(body: &mut Body) {
    (body.bytes, body.packets) = (0, 0);
    (body.tat0, body.tat1) = Default::default();
}

fn taken(body: &Body) -> Usage {
    Usage {
        bytes: body.bytes,
        packets: body.packets,
    }
}

fn take(body: &mut Body) -> Usage {
    let usage = taken(body);
    (body.bytes, body.packets) = (0, 0);
    usage
}
