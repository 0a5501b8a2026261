//! Why a packet did not take the fast path: found out once more for such packets alone, so that the fast
//! path keeps no account.

use crate::forward::path::Path;
use crate::forward::slow_reason::SlowReason;
use crate::meta::{Entry, Meta};
use crate::rx::header_match::{be16, be32, sums_up};
use crate::session::entry::SessionEntry;
use crate::session::rule::Flags;
use sluice_port::{Packet, PortIo};

impl<I: PortIo> Path<'_, I> {
    /// Why the fast path did not take a packet.
    #[cold]
    pub(super) fn slow_reason(&self, packet: &I::Packet, meta: &Meta) -> SlowReason {
        if !meta.fast_path || meta.entry == Entry::EndMarker {
            return SlowReason::Headers;
        }
        let line = self.state.line(meta.line);
        let same = |line: &&SessionEntry| line.key == meta.key && line.local == meta.local;
        let Some(line) = line.filter(same) else {
            return SlowReason::NoSession;
        };
        let flags = line.head.flags;
        if flags.has(Flags::EXTENDED) {
            return SlowReason::SeveralRules;
        }
        let is_tunnel = meta.entry == Entry::Tunnel;
        let other_qfi = flags.has(Flags::MATCH_QFI) && line.head.qfi_match != meta.qfi;
        let forwards = flags.has(Flags::FORWARD) && !flags.has(Flags::GATE_CLOSED);
        if !forwards || is_tunnel == flags.has(Flags::CREATE_OUTER) || other_qfi {
            return SlowReason::Rule;
        }
        let data = packet.data().get(usize::from(meta.inner_at)..);
        let Some(inner) = data.and_then(|data| data.first_chunk::<20>()) else {
            return SlowReason::Inner;
        };
        let is_ues = !is_tunnel || line.ue_ip == 0 || line.ue_ip == be32(inner, 12);
        let is_sound = inner[0] == 0x45 && be16(inner, 2) == meta.inner_len && sums_up(inner);
        if !is_ues || !is_sound {
            return SlowReason::Inner;
        }
        if inner[8] <= 1 {
            return SlowReason::Ttl;
        }
        let (adjacency, outer_len) = match is_tunnel {
            true => (
                self.tables.adjacency_to(line.body.egress, be32(inner, 16)),
                0,
            ),
            false => {
                let peer = self.tables.tunnel_adjacency(line.body.peer);
                let container = if flags.has(Flags::MARK_QFI) { 8 } else { 0 };
                (peer.map(|peer| peer.adjacency), 36 + container)
            }
        };
        match adjacency {
            None => SlowReason::NextHop,
            Some(next) if meta.inner_len + outer_len > next.mtu() => SlowReason::Size,
            Some(_) => SlowReason::Other,
        }
    }
}
