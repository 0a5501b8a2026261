//! Packets that meet a rule which holds, and those that leave: copies in, and the stages anew out.

use super::{Drained, Held};
use crate::bells::{Bell, BellCause};
use crate::drop::DropReason;
use crate::forward::outer_header_removal;
use crate::forward::path::{End, Path, Turn, TxDecision};
use crate::forward::pdr::{At, Detect};
use crate::forward::rules::{self, State};
use crate::forward::urr;
use crate::ids::EntryId;
use crate::limits::{DRAINED_PER_TURN, HELD_BEHIND};
use crate::meta::Meta;
use crate::session::rule::{Body, Head};
use sluice_port::{Burst, Packet, PortIo};
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::ipv4;

impl<I: PortIo> Path<'_, I> {
    /// A packet met a rule that holds: the first one rings, and all are kept as they came.
    #[cold]
    pub fn hold(&mut self, mut packet: I::Packet, meta: &Meta, at: Option<At>) {
        self.notify(meta.entry, at, dscp(packet.data()));
        let suggested = rule(self.state, meta.entry, at).and_then(|(_, body)| body.suggested());
        // What followed the inner packet was cut off.
        let inner_len = packet.len() as u16;
        let meta = &Meta { inner_len, ..*meta };
        if restore(&mut packet, meta) {
            self.keep_copy(packet, meta, suggested)
        } else {
            self.discard(packet, DropReason::Internal)
        }
    }

    /// A packet of an entry whose held ones are on their way out goes behind them, as it came.
    #[cold]
    pub fn go_behind(&mut self, packet: I::Packet, meta: &Meta) {
        self.keep_copy(packet, meta, Some(HELD_BEHIND));
    }

    /// Receive buffers are never kept: the packet is copied.
    fn keep_copy(&mut self, packet: I::Packet, meta: &Meta, suggested: Option<u16>) {
        let most = suggested.map_or(self.hold.limits().per_entry, u32::from);
        let has_room = self.hold.has_room(meta.entry, most);
        let copy = has_room.then(|| self.copy(&packet)).flatten();
        let Some(copy) = copy else {
            return self.give_up_held(packet, meta, DropReason::HoldFull);
        };
        packet.free();
        let held = Held {
            packet: copy,
            meta: Meta { traced: 0, ..*meta },
            until_ns: self.now_ns + self.hold.limits().wait_ns,
        };
        self.hold.push(meta.entry, held);
    }

    fn copy(&mut self, packet: &I::Packet) -> Option<I::Packet> {
        let mut copy = self.io.alloc_held()?;
        let data = packet.data();
        match copy.append(data.len()) {
            Ok(room) => {
                room.copy_from_slice(data);
                Some(copy)
            }
            Err(_) => {
                copy.free();
                None
            }
        }
    }

    /// The first packet that meets a rule with NOCP rings; the rule says it no more until it is written.
    fn notify(&mut self, entry: EntryId, at: Option<At>, dscp: u8) {
        let notifies = rule(self.state, entry, at).is_some_and(|(head, _)| head.notifies());
        let bell = Bell {
            entry,
            cause: BellCause::DownlinkData { at, dscp },
        };
        if notifies
            && self.rings.ring_bell(bell)
            && let Some((head, _)) = rule(self.state, entry, at)
        {
            *head = head.notifying(false);
        }
    }

    /// The rules of an entry were written: what is held meets them anew, and the fast path does not overtake it.
    #[cold]
    pub fn held_again(&mut self, entry: EntryId) {
        if self.hold.drain(entry) {
            self.mark_waiting(entry.0, true);
        }
    }

    /// An entry was written, whatever became of its rules: one without session holds nothing, and what leaves
    /// still leaves in front of new packets.
    #[cold]
    pub fn entry_written(&mut self, entry: EntryId) {
        let is_vacant = self.state.entry(entry.0).is_none_or(|e| e.is_vacant());
        if is_vacant {
            self.discard_held(entry);
        } else if self.hold.is_draining(entry) {
            self.mark_waiting(entry.0, true);
        }
    }

    /// What an entry holds is not wanted any more.
    #[cold]
    pub fn discard_held(&mut self, entry: EntryId) {
        while let Some(Held { packet, meta, .. }) = self.hold.next_discarded(entry) {
            self.give_up_held(packet, &meta, DropReason::HoldDiscarded);
        }
    }

    /// Lets packets go whose rules were written, so many at the most, of entries in turn. Gives how many.
    #[cold]
    pub fn drain_held(&mut self) -> usize {
        let mut dead = Burst::new();
        let mut drained = 0;
        while drained < DRAINED_PER_TURN
            && let Some(step) = self.hold.next_drained()
        {
            drained += 1;
            match step {
                Drained::Packet(queue, held, rings) => {
                    self.pass_again(queue, held, rings, &mut dead);
                }
                Drained::Ended(entry) => self.mark_waiting(entry.0, false),
            }
        }
        dead.free();
        drained
    }

    /// A held packet meets the rules as they are now: it pays when it leaves.
    fn pass_again(
        &mut self,
        queue: u32,
        held: Held<I::Packet>,
        rings: bool,
        dead: &mut Burst<I::Packet>,
    ) {
        let Held {
            mut packet,
            meta,
            until_ns,
        } = held;
        match self.pass(&mut packet, &meta, Turn::First) {
            Ok(TxDecision { tx_buffer, charge }) => self.push(tx_buffer, packet, charge),
            Err(End::Hold(at)) => {
                if rings {
                    self.notify(meta.entry, at, dscp(packet.data()));
                }
                restore(&mut packet, &meta);
                let held = Held {
                    packet,
                    meta,
                    until_ns,
                };
                self.hold.keep(queue, held);
            }
            Err(end) => self.end(packet, &meta, end, dead),
        }
    }

    /// Gives up what waited too long.
    #[cold]
    pub fn expire_held(&mut self) {
        while let Some(Held { packet, meta, .. }) = self.hold.next_expired(self.now_ns) {
            self.give_up_held(packet, &meta, DropReason::HoldExpired);
        }
    }

    /// A packet is not held, or no longer: it is lost by the rule that it meets now, if there is one.
    #[cold]
    fn give_up_held(&mut self, mut packet: I::Packet, meta: &Meta, reason: DropReason) {
        let filters = &self.tables.filters;
        if urr::is_measured(self.state, meta.entry)
            && let Some(entry) = self.state.entry(meta.entry.0)
            && rules::check(entry, meta, filters).is_ok()
            && let Ok(inner) = outer_header_removal::remove(&mut packet, meta, entry, filters)
        {
            let detect = Detect::of(meta, entry, packet.data(), filters);
            self.count_lost(meta, &detect, inner.len);
        }
        self.discard(packet, reason);
    }
}

/// The packet as it came: what was cut off its front lies there still.
fn restore(packet: &mut impl Packet, meta: &Meta) -> bool {
    packet.push_front(usize::from(meta.inner_at)).is_ok()
}

/// Where a rule stands.
fn rule(state: &mut State, entry: EntryId, at: Option<At>) -> Option<(&mut Head, &mut Body)> {
    match at {
        None => {
            let entry = state.entry_mut(entry.0)?;
            Some((&mut entry.head, &mut entry.body))
        }
        Some(at) => {
            let block = state.ext_mut(at.block().0)?;
            let rule = block.rules.get_mut(at.rule())?;
            Some((&mut rule.head, &mut rule.body))
        }
    }
}

/// DSCP of an IP packet.
fn dscp(inner: &[u8]) -> u8 {
    let tos = if is_ipv6(inner) {
        Ipv6::parse(inner).map_or(0, |ip| ip.traffic_class())
    } else {
        inner.get(ipv4::TOS).copied().unwrap_or(0)
    };
    tos >> 2
}
