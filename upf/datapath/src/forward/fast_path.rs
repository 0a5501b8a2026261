//! Fast path: common packets of sessions with one forwarding rule, checked and rewritten in one go.
//!
//! All is looked at first, without a write; then it is written at once.
//!
//! What is otherwise takes [`Path::pass`], from the beginning, and finds everything as it came. So
//! this file adds no behaviour: it is `pass` for the case that nothing is in the way.

use crate::drop::DropReason;
use crate::forward::outer_header_creation::{self, FromInner};
use crate::forward::outer_header_removal;
use crate::forward::path::Path;
use crate::forward::qer;
use crate::meta::{Arrival, Meta};
use crate::rx::header_match::sums_up;
use crate::session::entry::Identity;
use crate::session::rule::{Body, Flags, Head};
use crate::session::token_bucket::Lead;
use crate::tables::Tables;
use crate::tx::encap::{Encap, Templates};
use sluice_port::{Packet, PortIo};
use sluice_wire::gtpu::{
    OUTER_IPV4_LEN, OUTER_IPV4_PLAIN_LEN, OuterFields, OuterIpv4, ShortContainer,
};
use sluice_wire::ids::{Qfi, Teid};
use sluice_wire::ipv4::decrement_ttl;
use sluice_wire::layout::ipv4::VERSION_4_NO_OPTIONS;
use sluice_wire::layout::{be16, be32, ipv4};

/// Flags of a rule out of a tunnel, towards a data network: those looked at, and those set.
const UPLINK: [Flags; 2] = [
    EVER.with(Flags::CREATE_OUTER),
    Flags::FORWARD.with(Flags::TUNNEL),
];
/// The same for a rule from a data network into a tunnel.
const DOWNLINK: [Flags; 2] = {
    let outer = Flags::CREATE_OUTER;
    let looked_at = EVER.with(outer).with(Flags::UPLINK).with(Flags::MATCH_QFI);
    [looked_at, Flags::FORWARD.with(outer)]
};
/// Looked at in either.
const EVER: Flags = Flags::EXTENDED
    .with(Flags::FORWARD)
    .with(Flags::GATE_CLOSED)
    .with(Flags::HOLD)
    .with(Flags::TUNNEL);

/// The same flags where packets of a family are not the rule's.
const fn but_for(flags: [Flags; 2], other_family: Flags) -> [Flags; 2] {
    [flags[0].with(other_family), flags[1]]
}
pub(super) const UPLINK_IPV6: [Flags; 2] = but_for(UPLINK, Flags::MATCH_IPV4);
pub(super) const DOWNLINK_IPV6: [Flags; 2] = but_for(DOWNLINK, Flags::MATCH_IPV4);
pub(super) const UPLINK_IPV4: [Flags; 2] = but_for(UPLINK, Flags::MATCH_IPV6);
pub(super) const DOWNLINK_IPV4: [Flags; 2] = but_for(DOWNLINK, Flags::MATCH_IPV6);

/// Where a packet leaves and how many inner bytes count for its entry's own rule.
///
/// No more than that, so that it stays in registers: a whole [`crate::tx::transmit::UsageRef`] went through memory,
/// written in pieces and read at once, where a processor waits for the writes.
pub(crate) struct FastTx {
    pub tx_buffer: u16,
    pub bytes: u32,
}

/// What an outer header is made of.
pub(super) struct Outer {
    constant: OuterIpv4,
    fields: OuterFields,
    /// None where the rule marks no QFI.
    container: Option<ShortContainer>,
}

impl Outer {
    /// Octets of the header.
    #[inline(always)]
    fn len(&self) -> usize {
        match self.container {
            Some(_) => OUTER_IPV4_LEN,
            None => OUTER_IPV4_PLAIN_LEN,
        }
    }
}

impl<I: PortIo> Path<'_, I> {
    /// The whole way of a common packet; none if it is not one, and then nothing was done.
    #[inline(always)]
    pub fn fast_path(
        &mut self,
        packet: &mut I::Packet,
        meta: &Meta,
    ) -> Option<Result<FastTx, DropReason>> {
        let from = usize::from(meta.inner_at);
        let data = packet.data().get(from..)?;
        let inner: &[u8; 20] = data.first_chunk()?;
        if inner[ipv4::VERSION_IHL] != VERSION_4_NO_OPTIONS {
            return self.fast_path_ipv6(packet, meta);
        }
        let entry = self.state.entry_mut(meta.entry.0)?;
        let of = entry.identity();
        let (head, body) = (entry.head, &mut entry.body);
        let now = (self.now_ns, self.burst);
        forward(packet, meta, (of, head, body), self.tables, now)
    }
}

/// The whole way of an IPv4 packet by the rule that it meets.
#[inline(always)]
pub(super) fn forward<P: Packet>(
    packet: &mut P,
    meta: &Meta,
    (of, head, body): (Identity, Head, &mut Body),
    tables: &Tables,
    now: (u64, Lead),
) -> Option<Result<FastTx, DropReason>> {
    let data = packet.data().get(usize::from(meta.inner_at)..)?;
    let inner: &[u8; 20] = data.first_chunk()?;
    if of.key != meta.key || of.local != meta.local || inner[ipv4::TTL] <= 1 {
        return None;
    }
    let way = match meta.arrival {
        Arrival::Tunnel => (uplink((of, head, body), meta, inner, tables)?, None),
        Arrival::Plain => downlink((head, body), meta, data, tables)?,
        Arrival::EndMarker | Arrival::PlainIpv6 | Arrival::Public => return None,
    };
    // It lives: its TTL was looked at.
    let age = |inner: &mut [u8]| _ = inner.first_chunk_mut().map(decrement_ttl);
    leave(packet, (head, body), meta, (way, tables), now, age)
}

/// What is before a packet: the next hop's frame header, and of a tunnel the outer header.
pub(super) type Way = (Encap, Option<Outer>);

/// The end of both fast ways: if the packet fits its link it pays its bit rates, gets its headers and is
/// counted; `age` takes one from what it has to live. None if it is too long, has no room below what a URR
/// granted, or exceeds a shaped rate, and then nothing was done.
#[inline(always)]
pub(super) fn leave<P: Packet>(
    packet: &mut P,
    (head, body): (Head, &mut Body),
    meta: &Meta,
    ((encap, outer), tables): (Way, &Tables),
    (now_ns, burst): (u64, Lead),
    age: impl FnOnce(&mut [u8]),
) -> Option<Result<FastTx, DropReason>> {
    let len = usize::from(meta.inner_len);
    let outer_len = outer.as_ref().map_or(0, Outer::len);
    if len + outer_len > usize::from(encap.mtu()) {
        return None;
    }
    let bytes = u32::from(meta.inner_len);
    if !body.usage.has_room(bytes) {
        return None;
    }
    let Some((tat0, tat1)) = qer::rates(body, now_ns, bytes, burst) else {
        return excess(head, burst);
    };
    let headers = encap.header_len(tables.templates())? + outer_len;
    let frame = packet
        .reframe(usize::from(meta.inner_at), len, headers)
        .ok()?;
    (body.tat0, body.tat1) = (tat0, tat1);
    body.usage.add(bytes);
    if let Some(inner) = write(frame, (encap, tables.templates()), outer, len) {
        age(inner);
    }
    let tx_buffer = encap.tx_buffer();
    Some(Ok(FastTx { tx_buffer, bytes }))
}

/// What becomes of a packet that exceeds a rate: where some rates are shaped, or its drop counts, [`Path::pass`] finds
/// out.
#[cold]
fn excess(head: Head, burst: Lead) -> Option<Result<FastTx, DropReason>> {
    let is_dropped = burst == Lead::POLICED && !head.counts_drops();
    is_dropped.then_some(Err(DropReason::MbrExceeded))
}

/// The inner packet is sound and the UE's, and its route is known.
#[inline(always)]
fn uplink(
    (of, head, body): (Identity, Head, &Body),
    meta: &Meta,
    inner: &[u8; 20],
    tables: &Tables,
) -> Option<Encap> {
    let (total, source, destination) = (
        be16(inner, ipv4::TOTAL_LEN),
        be32(inner, ipv4::SOURCE),
        be32(inner, ipv4::DESTINATION),
    );
    let sound = total == meta.inner_len && sums_up(inner);
    let is_anybodys = of.ue_ip == 0 && of.ue_prefix == 0;
    let of_ue = head.flags.has(Flags::FROM_UE) && of.ue_ip == source && source != 0;
    let of_ue = of_ue || is_anybodys;
    if !head.flags.agree(UPLINK_IPV4) || !sound || !of_ue || !matches(head, meta) {
        return None;
    }
    tables.encap_to(body.egress(), destination)
}

/// The peer is known, and what the outer header says.
#[inline(always)]
fn downlink(
    (head, body): (Head, &Body),
    meta: &Meta,
    inner: &[u8],
    tables: &Tables,
) -> Option<Way> {
    if !head.flags.agree(DOWNLINK_IPV4) {
        return None;
    }
    let flow_hash = outer_header_removal::flow_hash_of_plain(inner, meta.inner_len);
    tunnel((head, body), (flow_hash, inner[ipv4::TOS]), tables)
}

/// The way into the tunnel of a rule.
#[inline(always)]
pub(super) fn tunnel(
    (head, body): (Head, &Body),
    (flow_hash, inner_tos): (u32, u8),
    tables: &Tables,
) -> Option<Way> {
    let front = tables.tunnel_encap(body.peer())?;
    let marks = head.flags.has(Flags::MARK_QFI);
    let from = FromInner {
        flow_hash,
        tos: (tables.dscp).outer(marks.then_some(head.qfi_mark()), inner_tos),
    };
    let outer = Outer {
        constant: front.outer,
        fields: outer_header_creation::fields(Teid::new(head.teid)?, from, front.marking),
        container: if marks {
            Some(ShortContainer::downlink(Qfi::new(head.qfi_mark())?, false))
        } else {
            None
        },
    };
    Some((front.encap, Some(outer)))
}

/// The QFI is the rule's.
#[inline(always)]
pub(super) fn matches(head: Head, meta: &Meta) -> bool {
    !head.flags.has(Flags::MATCH_QFI) || head.qfi_match == meta.qfi
}

/// The headers; gives the inner packet behind them. Lengths were seen to before, so nothing is left out.
#[inline(always)]
fn write<'f>(
    frame: &'f mut [u8],
    (encap, templates): (Encap, &Templates),
    outer: Option<Outer>,
    len: usize,
) -> Option<&'f mut [u8]> {
    let rest = encap.write(frame, templates)?;
    let Some(outer) = outer else {
        return Some(rest);
    };
    // Too long for its length fields it is not: it fits the MTU.
    match outer.container {
        Some(container) => {
            let (header, inner) = rest.split_first_chunk_mut()?;
            let _ = outer.constant.write(header, &outer.fields, container, len);
            Some(inner)
        }
        None => {
            let (header, inner) = rest.split_first_chunk_mut()?;
            let _ = outer.constant.write_plain(header, &outer.fields, len);
            Some(inner)
        }
    }
}
