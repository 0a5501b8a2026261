//! Why a packet did not take the fast path: found out once more for such packets alone, so that the fast
//! path keeps no account.

use crate::forward::outer_header_removal::Destination;
use crate::forward::path::Path;
use crate::forward::qer;
use crate::forward::slow_reason::SlowReason;
use crate::meta::{Arrival, Meta};
use crate::rx::header_match::sums_up;
use crate::session::entry::SessionEntry;
use crate::session::rule::Flags;
use crate::tables::Route;
use sluice_port::{Packet, PortIo};
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::ipv4::VERSION_4_NO_OPTIONS;
use sluice_wire::layout::{be16, be32, ipv4};

impl<I: PortIo> Path<'_, I> {
    /// Why the fast path did not take a packet.
    #[cold]
    pub(super) fn slow_reason(&self, packet: &I::Packet, meta: &Meta) -> SlowReason {
        if meta.arrival == Arrival::Public {
            return SlowReason::Translated;
        }
        if !meta.fast_path || meta.arrival == Arrival::EndMarker {
            return SlowReason::Headers;
        }
        let entry = self.state.entry(meta.entry.0);
        let same = |entry: &&SessionEntry| match meta.arrival {
            Arrival::PlainIpv6 => entry.ue_prefix == meta.prefix() && entry.local() == meta.local,
            _ => entry.key == meta.key && entry.local() == meta.local,
        };
        let Some(entry) = entry.filter(same) else {
            return SlowReason::NoSession;
        };
        let flags = entry.head.flags;
        if flags.has(Flags::EXTENDED) {
            return SlowReason::SeveralRules;
        }
        let is_tunnel = meta.arrival == Arrival::Tunnel;
        let other_qfi = flags.has(Flags::MATCH_QFI) && entry.head.qfi_match != meta.qfi;
        let forwards = flags.agree([Flags::FORWARD.with(Flags::GATE_CLOSED), Flags::FORWARD]);
        if !forwards || is_tunnel == flags.has(Flags::CREATE_OUTER) || other_qfi {
            return SlowReason::Rule;
        }
        if flags.has(Flags::CREATE_OUTER) && entry.body.peer().is_ipv6() {
            return SlowReason::Headers;
        }
        let egress = self.tables.egresses.get(usize::from(entry.body.egress()));
        let is_translated = is_tunnel && egress.is_some_and(|egress| egress.translates.is_some());
        let data = packet.data().get(usize::from(meta.inner_at)..);
        if is_translated && !data.is_some_and(is_ipv6) {
            return SlowReason::Translated;
        }
        if data.is_some_and(is_ipv6) {
            return self.slow_reason_ipv6(data.unwrap_or_default(), entry, meta);
        }
        let Some(inner) = data.and_then(|data| data.first_chunk::<20>()) else {
            return SlowReason::Inner;
        };
        let is_ues = !is_tunnel || entry.ue_ip == 0 || entry.ue_ip == be32(inner, ipv4::SOURCE);
        let is_sound = inner[ipv4::VERSION_IHL] == VERSION_4_NO_OPTIONS
            && be16(inner, ipv4::TOTAL_LEN) == meta.inner_len
            && sums_up(inner);
        if !is_ues || !is_sound {
            return SlowReason::Inner;
        }
        if inner[ipv4::TTL] <= 1 {
            return SlowReason::Ttl;
        }
        let (encap, outer_len) = if is_tunnel {
            (
                self.tables
                    .encap_to(entry.body.egress(), be32(inner, ipv4::DESTINATION)),
                0,
            )
        } else {
            let peer = self.tables.tunnel_encap(entry.body.peer());
            let container = if flags.has(Flags::MARK_QFI) { 8 } else { 0 };
            (peer.map(|peer| peer.encap), 36 + container)
        };
        match encap {
            None => SlowReason::NextHop,
            Some(next) if meta.inner_len + outer_len > next.mtu() => SlowReason::Size,
            Some(_) => self.at_the_end(entry, meta.inner_len.into()),
        }
    }

    /// The same of an inner IPv6 packet whose rule forwards.
    fn slow_reason_ipv6(&self, data: &[u8], entry: &SessionEntry, meta: &Meta) -> SlowReason {
        let Ok(ip) = Ipv6::parse(data) else {
            return SlowReason::Inner;
        };
        let is_tunnel = meta.arrival == Arrival::Tunnel;
        let is_passed_on = !ip.destination().is_multicast()
            && !ip.destination().is_unicast_link_local()
            && !ip.source().is_unicast_link_local();
        let is_ues = entry.ue_prefix != 0 && (!is_tunnel || ip.source_prefix() == entry.ue_prefix);
        if !is_passed_on || !is_ues {
            return SlowReason::Inner;
        }
        if ip.hop_limit() <= 1 {
            return SlowReason::Ttl;
        }
        let to = Destination::Ipv6(ip.destination().to_bits());
        let (hop, outer_len) = if is_tunnel {
            match self.tables.route_to(entry.body.egress(), to) {
                Some(Route::Via(hop)) => (Some(hop), 0),
                _ => (None, 0),
            }
        } else {
            let container = if entry.head.flags.has(Flags::MARK_QFI) {
                8
            } else {
                0
            };
            let peer = self.tables.peers.get(entry.body.peer());
            (peer.map(|peer| peer.next_hop), 36 + container)
        };
        match hop.and_then(|hop| self.tables.next_hops.encap(hop)) {
            None => SlowReason::NextHop,
            Some(next) if ip.total_len() + outer_len > usize::from(next.mtu()) => SlowReason::Size,
            Some(_) => self.at_the_end(entry, ip.total_len() as u32),
        }
    }

    /// Of a packet of this length that neither its headers nor its way keep from the fast path.
    fn at_the_end(&self, entry: &SessionEntry, len: u32) -> SlowReason {
        if !entry.body.usage.has_room(len) {
            return SlowReason::Grant;
        }
        let fits = qer::rates(&entry.body, self.now_ns, len, self.burst).is_some();
        if fits && !entry.head.flags.has(Flags::HOLD) {
            SlowReason::Other
        } else {
            SlowReason::Shaped
        }
    }
}
