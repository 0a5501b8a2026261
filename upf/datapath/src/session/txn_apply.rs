//! Application of a transaction: whole, between two bursts, returned with the closed usage.

use crate::drop::DropReason;
use crate::forward::far::{self, ForwardTo};
use crate::forward::outer_header_creation;
use crate::forward::outer_header_removal::Destination;
use crate::forward::path::Path;
use crate::forward::pdr::At;
use crate::forward::rules;
use crate::ids::{BlockId, EntryId, RecordId};
use crate::limits::BLOCK_CHAIN;
use crate::message::ToControl;
use crate::meta::{Arrival, Meta};
use crate::nat::mapping::{NatChunk, NatUser};
use crate::nat::pool::Unit;
use crate::session::filter_hint::FlowHints;
use crate::session::grant;
use crate::session::rule::{BlockRule, Body, BucketRef, Flags, Head, SharedBucket};
use crate::session::token_bucket::Tat;
use crate::session::txn::{Clock, EndMarker, HeldOrder, Op, Txn, Usage};
use crate::tables::InterfaceId;
use crate::tx::route;
use crate::tx::transmit::UsageRef;
use crate::worker::Worker;
use sluice_port::{Packet, PortIo};

impl<I: PortIo> Worker<I> {
    /// Applies `txn` and sends it back to the control core.
    pub(crate) fn transact(&mut self, mut txn: Box<Txn>, now_ns: u64) {
        // What waits of a shard that is about to leave.
        let mut leaving = self.take_leaving(txn.shard);
        let (mut path, _) = self.path_and_batch(now_ns);
        for marker in &txn.end_markers {
            path.end_marker(marker);
        }
        let Txn {
            ops, usage, marks, ..
        } = &mut *txn;
        // First what all clocks say: an operation may overwrite what a later one goes on from.
        for op in ops.iter_mut() {
            path.read_clocks(op);
        }
        for op in ops.iter() {
            match op {
                Op::Record { at, image } => {
                    let cell = path.state.record_mut(at.0);
                    let taken = cell.map(|cell| cell.become_image(image));
                    marks.push(taken.unwrap_or_default());
                }
                _ => usage.extend(path.apply(op)),
            }
        }
        if (!path.shaper.is_empty() || leaving.is_some()) && txn.writes_rules() {
            path.rules_changed(txn.shard, leaving.as_deref_mut());
        }
        self.give_leaving_back(txn.shard, leaving);
        self.stats.transactions.add(1);
        if self.stats.held_for_ues.get() != self.hold.len() as u64 {
            self.count_held();
        }
        let back = self.rings.to_control.push_reserved(ToControl::Done(txn));
        // The control core keeps no more transactions under way than places are reserved.
        debug_assert!(back.is_ok(), "no reserved place for a transaction");
    }

    /// Sends a whole frame of the control core's making.
    pub(crate) fn send_as_is(&mut self, frame: I::Packet, interface: InterfaceId, now_ns: u64) {
        self.stats.created.add(1);
        if self.tracer.is_on() {
            self.trace_own(frame.data(), interface, now_ns);
        }
        let (mut path, _) = self.path_and_batch(now_ns);
        match path.interface(interface) {
            Ok(i) => path.push(usize::from(i.port.0), frame, UsageRef::NONE),
            Err(reason) => path.discard(frame, reason),
        }
    }
}

impl<I: PortIo> Path<'_, I> {
    /// An operation names only what its shard has, so a miss is a bug of the compiler; usage
    /// records keep their order even then.
    fn apply(&mut self, op: &Op) -> Option<Usage> {
        match op {
            Op::Entry { at, image, .. } => {
                let usage = self.take_entry(*at);
                if let Some(entry) = self.state.entry_mut(at.0) {
                    *entry = *image;
                    entry.body.usage.clear();
                }
                if !self.hold.is_empty() {
                    self.entry_written(*at);
                }
                Some(usage)
            }
            Op::TakeEntry { at } => Some(self.take_entry(*at)),
            Op::Rule { block, at, image } => {
                let usage = self.take_rule(*block, *at);
                // They were written before the transaction was sent.
                let hint = FlowHints::of_filters(self.tables.filters.run(image.filters));
                if let Some(block) = self.state.ext_mut(block.0) {
                    block.set(usize::from(*at), image, hint);
                }
                Some(usage)
            }
            Op::TakeRule { block, at } => Some(self.take_rule(*block, *at)),
            Op::TakeDrops { record, rule } => Some(grant::take_drops(self.state, *record, *rule)),
            Op::RecordOf { entry, record } => {
                if let Some(number) = self.state.number_mut(entry.0) {
                    *number = record.0;
                }
                None
            }
            Op::Record { .. } => None,
            Op::Chain {
                block,
                next,
                rules_len,
            } => {
                if let Some(b) = self.state.ext_mut(block.0) {
                    (b.next, b.rules_len) = (*next, u32::from(*rules_len));
                }
                None
            }
            Op::Held { at, order } => {
                match order {
                    HeldOrder::Again => self.held_again(*at),
                    HeldOrder::Discard => self.discard_held(*at),
                }
                None
            }
            Op::NatUnit { .. } | Op::NatUser { .. } => {
                self.apply_nat(op);
                None
            }
            Op::Bucket { at, image, .. } => {
                if let Some(bucket) = self.bucket(*at) {
                    *bucket = *image;
                }
                None
            }
        }
    }

    /// Which public ports are a UE's.
    fn apply_nat(&mut self, op: &Op) {
        match op {
            Op::NatUnit {
                user,
                chunk,
                unit,
                next,
            } => {
                if let Some(chunk) = self.nat.owned.ext_mut(*chunk) {
                    chunk.begin(*user, *unit, *next);
                }
            }
            Op::NatUser {
                at,
                address,
                instance,
                first,
            } => {
                let unit = self.nat.owned.ext(*first).map_or(Unit(0), NatChunk::unit);
                if let Some(user) = self.nat.owned.entry_mut(at.0) {
                    let new = NatUser::new(*address, *instance, (*first, unit));
                    *user = new.after(user);
                }
            }
            _ => {}
        }
    }

    fn take_entry(&mut self, at: EntryId) -> Usage {
        let Some(entry) = self.state.entry_mut(at.0) else {
            return Usage::default();
        };
        if entry.body.usage.is_granted() {
            let record = grant::record_of(self.state, at, None);
            if record != RecordId(0) {
                return grant::take(self.state, record, grant::name_of(at, None));
            }
        }
        let entry = self.state.entry_mut(at.0);
        entry.map_or_else(Usage::default, |entry| take(&mut entry.body))
    }

    fn take_rule(&mut self, block: BlockId, at: u8) -> Usage {
        let record = self.state.ext(block.0).map(|b| b.record(usize::from(at)));
        let Some((rule, record)) = self.rule(block, at).zip(record) else {
            return Usage::default();
        };
        let place = At::new(block, usize::from(at));
        match place {
            Some(_) if record != RecordId(0) && rule.body.usage.is_granted() => {
                grant::take(self.state, record, grant::name_of(EntryId(0), place))
            }
            _ => take(&mut rule.body),
        }
    }

    fn bucket(&mut self, at: BucketRef) -> Option<&mut SharedBucket> {
        let (block, place) = at.get()?;
        self.state.ext_mut(block.0)?.buckets.get_mut(place)
    }

    fn read_clocks(&mut self, op: &mut Op) {
        match op {
            Op::Entry { image, clocks, .. } => {
                (image.body.tat0, image.body.tat1) = (self.clock(clocks[0]), self.clock(clocks[1]));
            }
            Op::Bucket { image, clock, .. } => image.tat = self.clock(*clock),
            _ => {}
        }
    }

    fn clock(&mut self, of: Clock) -> Tat {
        let tat = match of {
            Clock::Full => None,
            Clock::Entry(at, 0) => self.state.entry(at).map(|l| l.body.tat0),
            Clock::Entry(at, _) => self.state.entry(at).map(|l| l.body.tat1),
            Clock::Shared(at) => self.bucket(at).map(|b| b.tat),
        };
        tat.unwrap_or_default()
    }

    fn rule(&mut self, block: BlockId, at: u8) -> Option<&mut BlockRule> {
        self.state.ext_mut(block.0)?.rules.get_mut(usize::from(at))
    }

    /// Goes out behind the last packet on the old path: the TX buffer keeps order.
    fn end_marker(&mut self, marker: &EndMarker) {
        let Some(packet) = self.io.alloc() else {
            return;
        };
        self.stats.created.add(1);
        self.send_end_marker(packet, marker);
    }

    /// An End Marker that came goes on where the packets before it went (TS 23.501, 6.2.3); where
    /// they leave the tunnels it is for the control core.
    #[cold]
    pub fn pass_end_marker(&mut self, mut packet: I::Packet, meta: &Meta) {
        if let Some(marker) = self.next_tunnel(meta) {
            packet.truncate(0);
            return self.send_end_marker(packet, &marker);
        }
        match self
            .rings
            .to_control
            .push(ToControl::Packet(packet, meta.interface))
        {
            Ok(()) => self.stats.to_control.add(1),
            Err(ToControl::Packet(packet, _)) => {
                self.discard(packet, DropReason::ControlQueueFull);
            }
            Err(_) => unreachable!("push gives back what it was given"),
        }
    }

    /// The tunnel into which the packets of a tunnel go, by the first rule that says so.
    fn next_tunnel(&self, meta: &Meta) -> Option<EndMarker> {
        let of_packets = Meta {
            arrival: Arrival::Tunnel,
            ..*meta
        };
        let entry = self.state.entry(meta.entry.0)?;
        rules::check(entry, &of_packets, &self.tables.filters).ok()?;
        let marker = |head: Head, body: &Body| {
            let sends = head.flags.has(Flags::FORWARD) && far::makes_tunnel(head);
            sends.then_some(EndMarker {
                peer: body.peer(),
                teid: head.teid,
            })
        };
        // Rules of the UE's link come before the entry's own.
        let link_rules = entry.head.flags.has(Flags::LINK_RULES);
        let link_rules = link_rules.then_some(BlockId(entry.head.teid));
        match entry.block() {
            Some(chain) => self.next_in(chain, marker),
            None => link_rules
                .and_then(|chain| self.next_in(chain, marker))
                .or_else(|| marker(entry.head, &entry.body)),
        }
    }

    /// The first of the rules in a chain of blocks that says where it goes on.
    fn next_in(
        &self,
        chain: BlockId,
        marker: impl Fn(Head, &Body) -> Option<EndMarker>,
    ) -> Option<EndMarker> {
        let mut number = chain;
        for _ in 0..BLOCK_CHAIN {
            let block = self.state.ext(number.0)?;
            let mut rules = block.rules.iter().take(block.rules_len as usize);
            let found = rules.find_map(|r| marker(r.head, &r.body));
            if found.is_some() || block.next == BlockId(0) {
                return found;
            }
            number = block.next;
        }
        None
    }

    fn send_end_marker(&mut self, mut packet: I::Packet, marker: &EndMarker) {
        if let Err(reason) = self.write_end_marker(&mut packet, marker) {
            return self.discard(packet, reason);
        }
        let exit = ForwardTo::Tunnel(
            outer_header_creation::Tunnel::bare(marker.teid),
            marker.peer,
        );
        match route::find(&exit, Destination::Ipv4(0), self.tables) {
            Ok(route::Hop::Ready(id, mac)) => self.send_marker(packet, id, mac),
            // A peer that never answered ARP got no packet to be marked as the last.
            Ok(route::Hop::Wait(..) | route::Hop::Own(_)) => {
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
        outer_header_creation::end_marker(packet, marker.teid, &peer)
    }

    fn send_marker(&mut self, mut packet: I::Packet, id: InterfaceId, mac: [u8; 6]) {
        match self.frame(&mut packet, id, mac) {
            Ok(tx_buffer) => self.push(tx_buffer, packet, UsageRef::NONE),
            Err(reason) => self.discard(packet, reason),
        }
    }
}

fn take(body: &mut Body) -> Usage {
    let usage = Usage {
        bytes: body.usage.bytes(),
        packets: body.usage.packets(),
    };
    body.usage.clear();
    usage
}
