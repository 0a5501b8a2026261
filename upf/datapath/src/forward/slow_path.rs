//! Why a packet did not take the fast path: found out once more for such packets alone, so that the fast
//! path keeps no account.

use crate::forward::path::Path;
use crate::forward::slow_reason::SlowReason;
use crate::meta::{Entry, Meta};
use crate::rx::header_match::sums_up;
use crate::session::entry::SessionEntry;
use crate::session::rule::Flags;
use sluice_port::{Packet, PortIo};
use sluice_wire::layout::ipv4::VERSION_4_NO_OPTIONS;
use sluice_wire::layout::{be16, be32, ipv4};

impl<I: PortIo> Path<'_, I> {
    /// Why the fast path did not take a packet.
    #[cold]
    pub(super) fn slow_reason(&self, packet: &I::Packet, meta: &Meta) -> SlowReason {
        if !meta.fast_path || meta.entry == Entry::EndMarker {
            return SlowReason::Headers;
        }
        let line = self.state.line(meta.line.0);
        let same = |line: &&SessionEntry| line.key == meta.key && line.local() == meta.local;
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
        let is_ues = !is_tunnel || line.ue_ip == 0 || line.ue_ip == be32(inner, ipv4::SOURCE);
        let is_sound = inner[ipv4::VERSION_IHL] == VERSION_4_NO_OPTIONS
            && be16(inner, ipv4::TOTAL_LEN) == meta.inner_len
            && sums_up(inner);
        if !is_ues || !is_sound {
            return SlowReason::Inner;
        }
        if inner[ipv4::TTL] <= 1 {
            return SlowReason::Ttl;
        }
        let (adjacency, outer_len) = match is_tunnel {
            true => (
                self.tables
                    .adjacency_to(line.body.egress(), be32(inner, ipv4::DESTINATION)),
                0,
            ),
            false => {
                let peer = self.tables.tunnel_adjacency(line.body.peer());
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
