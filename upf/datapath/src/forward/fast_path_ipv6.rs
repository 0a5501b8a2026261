//! Fast path for inner IPv6: as for IPv4, all is looked at first, then all is written.

use crate::drop::DropReason;
use crate::forward::fast_path::{DOWNLINK_IPV6, FastTx, UPLINK_IPV6, Way, leave, matches, tunnel};
use crate::forward::outer_header_removal::{Destination, flow_hash_of_ipv6};
use crate::forward::path::Path;
use crate::meta::{Arrival, Meta};
use crate::session::entry::Identity;
use crate::session::rule::{Body, Flags, Head};
use crate::session::token_bucket::Lead;
use crate::tables::{Route, Tables};
use crate::tx::encap::Encap;
use sluice_port::{Packet, PortIo};
use sluice_wire::ipv6::{Ipv6, decrement_hop_limit};

impl<I: PortIo> Path<'_, I> {
    /// The whole way of a common packet; none if it is not one, and then nothing was done. Not inlined: the
    /// loop's registers are for IPv4, which most packets are.
    #[inline(never)]
    pub(super) fn fast_path_ipv6(
        &mut self,
        packet: &mut I::Packet,
        meta: &Meta,
    ) -> Option<Result<FastTx, DropReason>> {
        let entry = self.state.entry_mut(meta.entry.0)?;
        let of = entry.identity();
        let (head, body) = (entry.head, &mut entry.body);
        let now = (self.now_ns, self.burst);
        forward(packet, meta, (of, head, body), self.tables, now)
    }
}

/// The whole way of an IPv6 packet by the rule that it meets.
#[inline(always)]
pub(super) fn forward<P: Packet>(
    packet: &mut P,
    meta: &Meta,
    (of, head, body): (Identity, Head, &mut Body),
    tables: &Tables,
    now: (u64, Lead),
) -> Option<Result<FastTx, DropReason>> {
    let from = usize::from(meta.inner_at);
    let carried = packet
        .data()
        .get(from..from + usize::from(meta.inner_len))?;
    let inner = Ipv6::parse(carried).ok()?;
    if of.local != meta.local || inner.hop_limit() <= 1 {
        return None;
    }
    let way = match meta.arrival {
        Arrival::Tunnel => (uplink((of, head, body), meta, &inner, tables)?, None),
        Arrival::PlainIpv6 => downlink((of, head, body), meta, &inner, tables)?,
        Arrival::Plain | Arrival::EndMarker | Arrival::Public => return None,
    };
    // What lies behind the packet, as the padding of a short frame does, is not its own.
    let meta = Meta {
        inner_len: u16::try_from(inner.total_len()).ok()?,
        ..*meta
    };
    // It lives: its hop limit was looked at.
    let age = |inner: &mut [u8]| _ = inner.first_chunk_mut().map(decrement_hop_limit);
    leave(packet, (head, body), &meta, (way, tables), now, age)
}

/// The inner packet is the UE's, stays on no link, and its route is known.
#[inline(always)]
fn uplink(
    (of, head, body): (Identity, Head, &Body),
    meta: &Meta,
    inner: &Ipv6<'_>,
    tables: &Tables,
) -> Option<Encap> {
    let is_ues = of.ue_prefix != 0 && inner.source_prefix() == of.ue_prefix;
    let of_rule = head.flags.agree(UPLINK_IPV6) && matches(head, meta);
    let of_ue = head.flags.has(Flags::FROM_UE) && is_ues && of.key == meta.key;
    if !of_rule || !of_ue || stays(inner.destination_prefix()) {
        return None;
    }
    let to = Destination::Ipv6(inner.destination().to_bits());
    match tables.route_to(body.egress(), to)? {
        Route::Via(hop) => tables.next_hops.encap(hop),
        _ => None,
    }
}

/// The peer is known, and what the outer header says.
#[inline(always)]
fn downlink(
    (of, head, body): (Identity, Head, &Body),
    meta: &Meta,
    inner: &Ipv6<'_>,
    tables: &Tables,
) -> Option<Way> {
    let is_ues = of.ue_prefix != 0 && of.ue_prefix == meta.prefix();
    if !is_ues || !head.flags.agree(DOWNLINK_IPV6) || stays(inner.source_prefix()) {
        return None;
    }
    tunnel(
        (head, body),
        (flow_hash_of_ipv6(inner), inner.traffic_class()),
        tables,
    )
}

/// True for the upper half of groups, link-local addresses and the unspecified one: whether such a packet
/// stays on its link is asked on the slow path.
#[inline(always)]
fn stays(upper_half: u64) -> bool {
    let top = (upper_half >> 48) as u16;
    top >= 0xff00 || top & 0xffc0 == 0xfe80 || upper_half == 0
}
