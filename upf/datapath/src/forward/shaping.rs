//! Shaping: packets that exceed a shaped bit rate wait, and leave when its token bucket has room.

use crate::drop::DropReason;
use crate::forward::outer_header_removal;
use crate::forward::path::{Path, Turn};
use crate::forward::pdr::{At, Detect};
use crate::forward::rules;
use crate::ids::EntryId;
use crate::limits::SHAPED_LEAVE;
use crate::meta::{Arrival, Meta};
use crate::session::entry::SessionEntry;
use crate::session::rule::Flags;
use crate::tx::shaper::{ShardWaiting, Standing};
use sluice_mem::shard::ShardId;
use sluice_port::{Burst, Packet, PortIo};

impl<I: PortIo> Path<'_, I> {
    /// What a packet finds before it: packets of its entry that wait.
    #[inline(always)]
    pub(super) fn standing(&self, meta: &Meta) -> Standing {
        if self.shaper.is_empty() {
            Standing::default()
        } else {
            self.standing_behind(meta.entry)
        }
    }

    #[cold]
    fn standing_behind(&self, entry: EntryId) -> Standing {
        let shard = self.state.shard_of(entry.0);
        let standing = self.shaper.standing(shard, entry.0);
        // Those before it whose time has come are late: it leaves with the next turn at the earliest.
        let is_late = standing.packets > 0 && self.shaper.is_behind();
        let earliest_ns = if is_late { self.now_ns + 1 } else { 0 };
        Standing {
            not_before_ns: standing.not_before_ns.max(earliest_ns),
            ..standing
        }
    }

    /// True if one more packet of an entry may wait.
    #[inline]
    pub(super) fn has_room(&self, standing: Standing) -> bool {
        let shaping = &self.tables.shaping;
        standing.packets < shaping.session_packets
            && self.shaper.len() < shaping.worker_packets as usize
    }

    /// A packet that has paid waits, as it came.
    #[cold]
    pub(super) fn wait_for_rate(&mut self, mut packet: I::Packet, meta: &Meta, due_ns: u64) {
        // Its outer header was taken off, and what follows the inner packet; the header still lies before it.
        let inner_len = packet.len() as u16;
        if packet.push_front(usize::from(meta.inner_at)).is_err() {
            return self.discard(packet, DropReason::Internal);
        }
        let meta = Meta { inner_len, ..*meta };
        self.keep(packet, meta, due_ns);
    }

    fn keep(&mut self, packet: I::Packet, meta: Meta, due_ns: u64) {
        let (entry, shard) = (meta.entry.0, self.state.shard_of(meta.entry.0));
        if let Err(packet) = self.shaper.keep(shard, entry, (packet, meta), due_ns) {
            return self.discard(packet, DropReason::ShapingFull);
        }
        self.stats.shaped.add(1);
        self.mark_waiting(entry, true);
    }

    /// An End Marker is the last of its tunnel: it goes behind the packets of its tunnel that wait.
    #[cold]
    pub(super) fn end_marker_came(&mut self, packet: I::Packet, meta: &Meta) {
        let entry = self.state.entry(meta.entry.0);
        let is_of_tunnel = entry.is_some_and(|entry| {
            entry.key == meta.key
                && entry.local() == meta.local
                && entry.head.flags.has(Flags::TUNNEL)
        });
        let shard = self.state.shard_of(meta.entry.0);
        let last = self.shaper.last_due_ns(shard, meta.entry.0);
        let Some(due_ns) = last.filter(|_| is_of_tunnel) else {
            return self.pass_end_marker(packet, meta);
        };
        if self.has_room(self.standing(meta)) {
            self.keep(packet, *meta, due_ns)
        } else {
            self.discard(packet, DropReason::ShapingFull)
        }
    }

    /// Packets whose time has come leave, a bounded number: they meet their rules as these are now.
    #[cold]
    pub(crate) fn release_due(&mut self, dead: &mut Burst<I::Packet>) -> usize {
        let mut released = 0;
        while released < SHAPED_LEAVE {
            let Some((packet, meta, is_last)) = self.shaper.take_due(self.now_ns) else {
                break;
            };
            released += 1;
            if is_last {
                self.mark_waiting(meta.entry.0, false);
            }
            self.shaped_leaves(packet, &meta, dead);
        }
        self.shaper.set_behind(self.now_ns);
        dead.free();
        self.flush();
        released
    }

    fn shaped_leaves(&mut self, packet: I::Packet, meta: &Meta, dead: &mut Burst<I::Packet>) {
        match meta.arrival {
            Arrival::EndMarker => self.pass_end_marker(packet, meta),
            _ => self.one(packet, meta, Turn::Due, dead),
        }
    }

    /// Packets whose rules hold now are held, in their order: so those that come next go behind them.
    fn hold_what_waits(&mut self, shard: ShardId) {
        self.shaper.begin_change();
        while let Some(entry) = self.shaper.next_entry(shard) {
            let may_hold = self.state.entry(entry).is_some_and(|entry| {
                let flags = entry.head.flags;
                flags.has_any(Flags::EXTENDED.with(Flags::LINK_RULES)) || !flags.has(Flags::FORWARD)
            });
            let packets = if may_hold {
                self.shaper.standing(shard, entry).packets
            } else {
                0
            };
            for _ in 0..packets {
                if let Some((packet, meta, due_ns)) = self.shaper.take_first(shard, entry) {
                    self.hold_or_keep((shard, entry), packet, meta, due_ns);
                }
            }
            self.shaper.close(shard, entry);
        }
    }

    fn hold_or_keep(
        &mut self,
        (shard, entry): (ShardId, u32),
        mut packet: I::Packet,
        meta: Meta,
        due_ns: u64,
    ) {
        if let Some(at) = self.holds(&mut packet, &meta) {
            return self.hold(packet, &meta, at);
        }
        // There was room for it.
        if let Err(packet) = self.shaper.keep(shard, entry, (packet, meta), due_ns) {
            self.discard(packet, DropReason::ShapingFull);
        }
    }

    /// Whether the rule that a packet meets holds, and where it stands; then its outer header is taken off.
    fn holds(&self, packet: &mut I::Packet, meta: &Meta) -> Option<Option<At>> {
        let entry = self.state.entry(meta.entry.0)?;
        rules::check(entry, meta, &self.tables.filters).ok()?;
        let len = packet.len();
        let inner = outer_header_removal::remove(packet, meta, entry, &self.tables.filters);
        let detect = Detect::of(meta, entry, packet.data(), &self.tables.filters);
        let held = match inner {
            Ok(inner) if !inner.is_on_link => rules::holds(self.state, meta, &detect),
            _ => None,
        };
        if held.is_none() && packet.len() < len {
            // What was just pulled can be pushed.
            let _ = packet.push_front(usize::from(meta.inner_at));
        }
        held
    }

    /// The rules of a session have changed: what comes for entries with packets that wait goes behind these,
    /// whatever it may do now; what waits for an entry that is gone goes with it.
    #[cold]
    pub(crate) fn rules_changed(
        &mut self,
        shard: ShardId,
        leaving: Option<&mut ShardWaiting<I::Packet>>,
    ) {
        self.hold_what_waits(shard);
        let Self {
            shaper,
            state,
            stats,
            ..
        } = self;
        let mut is_there = |at| {
            let entry = state.entry_mut(at).filter(|entry| !entry.is_vacant());
            entry.is_some_and(|entry| {
                mark(entry, true);
                true
            })
        };
        let mut discard = |packet: I::Packet| {
            stats.count_drop(DropReason::SessionChanged);
            packet.free();
        };
        shaper.rules_changed(shard, &mut is_there, &mut discard);
        if let Some(leaving) = leaving {
            leaving.rules_changed(is_there, discard);
        }
    }

    /// Marks an entry whose packets wait for their bit rates, or leave a hold in front of new ones; or not, if
    /// neither is so any more.
    pub(crate) fn mark_waiting(&mut self, entry: u32, on: bool) {
        let shard = self.state.shard_of(entry);
        let still =
            self.hold.is_draining(EntryId(entry)) || self.shaper.standing(shard, entry).packets > 0;
        if let Some(entry) = self.state.entry_mut(entry) {
            mark(entry, on || still);
        }
    }
}

/// Marks an entry whose packets wait: then none takes the fast path. One whose rules stand in a block or do not
/// forward has no packets there.
fn mark(entry: &mut SessionEntry, on: bool) {
    const OWN: [Flags; 2] = [Flags::FORWARD.with(Flags::EXTENDED), Flags::FORWARD];
    let flags = &mut entry.head.flags;
    if flags.agree(OWN) {
        *flags = if on {
            flags.with(Flags::HOLD)
        } else {
            flags.without(Flags::HOLD)
        };
    }
}
