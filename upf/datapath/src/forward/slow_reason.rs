//! Slow path reasons: why a packet was not of the common case, and so cost more (`ctl workers`).

use crate::forward::outer_header_removal::Destination;
use crate::forward::qer;
use crate::forward::rules::State;
use crate::meta::{Arrival, Meta};
use crate::rx::header_match::sums_up;
use crate::session::entry::SessionEntry;
use crate::session::rule::Flags;
use crate::session::token_bucket::Lead;
use crate::tables::{Route, Tables};
use sluice_port::Packet;
use sluice_wire::ipv6::{Ipv6, is_ipv6};
use sluice_wire::layout::ipv4::VERSION_4_NO_OPTIONS;
use sluice_wire::layout::{be16, be32, ipv4};

macro_rules! reasons {
    ($($(#[doc = $doc:literal])* $name:ident = $text:literal,)*) => {
        /// What kept a packet from the fast path. A packet has the first that holds.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum SlowReason { $($(#[doc = $doc])* $name,)* }

        impl SlowReason {
            /// All.
            pub const ALL: [Self; [$($text),*].len()] = [$(Self::$name,)*];

            /// The name in `ctl workers` and metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }

            /// What it means, in a sentence or two.
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),*).trim_ascii_start(),)* }
            }
        }
    };
}

reasons! {
    /// Headers that are not the usual ones: an outer IPv6 header, IPv4 options, GTP-U sequence numbers or other extension
    /// headers, an End Marker; a TCP SYN where an interface clamps segments.
    Headers = "headers",
    /// No session has this identifier.
    NoSession = "no_session",
    /// The endpoint has several rules, and the packet or the rule that it meets is not of the common case.
    SeveralRules = "several_rules",
    /// Its rule does something else than forward between N3 or N9 and N6: it drops, buffers, relays, has a
    /// closed gate, or wants another QFI.
    Rule = "rule",
    /// The inner packet has options, is damaged, or is not the UE's.
    Inner = "inner",
    /// Its TTL ends here.
    Ttl = "ttl",
    /// The next hop is not known, there is no route, or the packet is for the UPF itself.
    NextHop = "next_hop",
    /// It does not fit the MTU of the link that it leaves by.
    Size = "size",
    /// Its rule has used up the octets that a URR granted: a threshold, a quota or the first packet is near.
    Grant = "grant",
    /// It exceeds a shaped bit rate, or packets of its session wait for theirs.
    Shaped = "shaped",
    /// Its address and port are translated on N6.
    Translated = "translated",
    /// Nothing of that: no room in front of the packet.
    Other = "other",
}

/// Why the fast path did not take a packet.
#[cold]
pub(super) fn of<P: Packet>(
    packet: &P,
    meta: &Meta,
    state: &State,
    tables: &Tables,
    now: (u64, Lead),
) -> SlowReason {
    if meta.arrival == Arrival::Public {
        return SlowReason::Translated;
    }
    if !meta.fast_path || meta.arrival == Arrival::EndMarker {
        return SlowReason::Headers;
    }
    let entry = state.entry(meta.entry.0);
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
    let egress = tables.egresses.get(usize::from(entry.body.egress()));
    let is_translated = is_tunnel && egress.is_some_and(|egress| egress.translates.is_some());
    let data = packet.data().get(usize::from(meta.inner_at)..);
    if is_translated && !data.is_some_and(is_ipv6) {
        return SlowReason::Translated;
    }
    if data.is_some_and(is_ipv6) {
        return of_ipv6(data.unwrap_or_default(), entry, meta, tables, now);
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
            tables.encap_to(entry.body.egress(), be32(inner, ipv4::DESTINATION)),
            0,
        )
    } else {
        let peer = tables.tunnel_encap(entry.body.peer());
        let container = if flags.has(Flags::MARK_QFI) { 8 } else { 0 };
        (peer.map(|peer| peer.encap), 36 + container)
    };
    match encap {
        None => SlowReason::NextHop,
        Some(next) if meta.inner_len + outer_len > next.mtu() => SlowReason::Size,
        Some(_) => at_the_end(entry, meta.inner_len.into(), now),
    }
}

/// The same of an inner IPv6 packet whose rule forwards.
fn of_ipv6(
    data: &[u8],
    entry: &SessionEntry,
    meta: &Meta,
    tables: &Tables,
    now: (u64, Lead),
) -> SlowReason {
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
        match tables.route_to(entry.body.egress(), to) {
            Some(Route::Via(hop)) => (Some(hop), 0),
            _ => (None, 0),
        }
    } else {
        let container = if entry.head.flags.has(Flags::MARK_QFI) {
            8
        } else {
            0
        };
        let peer = tables.peers.get(entry.body.peer());
        (peer.map(|peer| peer.next_hop), 36 + container)
    };
    match hop.and_then(|hop| tables.next_hops.encap(hop)) {
        None => SlowReason::NextHop,
        Some(next) if ip.total_len() + outer_len > usize::from(next.mtu()) => SlowReason::Size,
        Some(_) => at_the_end(entry, ip.total_len() as u32, now),
    }
}

/// Of a packet of this length that neither its headers nor its way keep from the fast path.
fn at_the_end(entry: &SessionEntry, len: u32, (now_ns, burst): (u64, Lead)) -> SlowReason {
    if !entry.body.usage.has_room(len) {
        return SlowReason::Grant;
    }
    let fits = qer::rates(&entry.body, now_ns, len, burst).is_some();
    if fits && !entry.head.flags.has(Flags::HOLD) {
        SlowReason::Other
    } else {
        SlowReason::Shaped
    }
}
