//! Fast path for packets that are translated on N6 by a mapping that stands: as for others, all is looked at first,
//! then all is written. What makes a mapping, or tells of the end of a connection, takes the slow path.

use crate::drop::DropReason;
use crate::forward::fast_path::{DOWNLINK_IPV4, FastTx, UPLINK_IPV4, leave, matches, tunnel};
use crate::forward::outer_header_removal::{Destination, mix};
use crate::forward::path::Path;
use crate::lookup::layout::InstanceId;
use crate::meta::{Arrival, Meta};
use crate::nat::ends::{self, Side};
use crate::nat::mapping::{Clock, standing};
use crate::nat::pool::{Filtering, NatPool};
use crate::rx::header_match::sums_up;
use crate::session::rule::Flags;
use crate::tables::Route;
use sluice_port::{Packet, PortIo};
use sluice_wire::ipv4::decrement_ttl;
use sluice_wire::layout::ipv4::VERSION_4_NO_OPTIONS;
use sluice_wire::layout::{be16, be32, ipv4};

impl<'a, I: PortIo> Path<'a, I> {
    /// The whole way of a common packet, translated or not; none if it is not one, and then nothing was done.
    #[inline(always)]
    pub(super) fn fast_path_of_any(
        &mut self,
        packet: &mut I::Packet,
        meta: &Meta,
    ) -> Option<Result<FastTx, DropReason>> {
        let translated = match meta.arrival {
            Arrival::Tunnel => self.fast_path_outbound(packet, meta),
            Arrival::Public => self.fast_path_inbound(packet, meta),
            Arrival::EndMarker | Arrival::Plain | Arrival::PlainIpv6 => None,
        };
        translated.or_else(|| self.fast_path(packet, meta))
    }

    /// To the data network.
    #[inline(never)]
    fn fast_path_outbound(
        &mut self,
        packet: &mut I::Packet,
        meta: &Meta,
    ) -> Option<Result<FastTx, DropReason>> {
        let entry = self.state.entry(meta.entry.0)?;
        let (tables, nat) = (self.tables, self.places.layout.nat());
        let egress = entry.body.egress();
        let of_rule = entry.head.flags.agree(UPLINK_IPV4) && matches(entry.head, meta);
        let same = entry.key == meta.key && entry.local() == meta.local;
        let inside = tables.egresses.get(usize::from(egress))?.translates?;
        let pool = nat.inside(inside)?;
        let carried = carried(packet, meta)?;
        let inner: &[u8; ipv4::LEN] = carried.first_chunk()?;
        let (source, destination) = (be32(inner, ipv4::SOURCE), be32(inner, ipv4::DESTINATION));
        let sound = be16(inner, ipv4::TOTAL_LEN) == meta.inner_len && sums_up(inner);
        let of_ue = entry.head.flags.has(Flags::FROM_UE) && entry.ue_ip == source && source != 0;
        // To a public address a packet comes back, and the way of others is known.
        if !of_rule || !same || !sound || !of_ue || !lives(inner) || pool.has(destination) {
            return None;
        }
        let ends = ends::of_flow(carried, Side::Source)?;
        let encap = match tables.any_route_to(egress, Destination::Ipv4(destination))? {
            Route::Via(hop) => tables.next_hops.encap(hop)?,
            _ => return None,
        };
        let (user, rules) = (self.user(inside, source).ok()?, self.nat_rules(pool));
        let mapping = standing::outbound(&mut self.nat.owned, user, &ends, rules)?;
        let (address, port) = nat.address_and_port(mapping.number)?;
        let rewrite = |inner: &mut [u8]| {
            let _ = inner.first_chunk_mut().map(decrement_ttl);
            ends::rewrite(inner, Side::Source, address, port);
            mapping.passed();
        };
        let entry = self.state.entry_mut(meta.entry.0)?;
        let now = (self.now_ns, self.burst);
        leave(
            packet,
            (entry.head, &mut entry.body),
            meta,
            ((encap, None), tables),
            now,
            rewrite,
        )
    }

    /// From the data network.
    #[inline(never)]
    fn fast_path_inbound(
        &mut self,
        packet: &mut I::Packet,
        meta: &Meta,
    ) -> Option<Result<FastTx, DropReason>> {
        let (tables, nat) = (self.tables, self.places.layout.nat());
        let pool = nat.outside(InstanceId(meta.local))?;
        let number = meta.public_port()?;
        // What the poller saw may have gone to another UE.
        let found = tables.nat_units.get(number.unit())?;
        let carried = carried(packet, meta)?;
        let inner: &[u8; ipv4::LEN] = carried.first_chunk()?;
        let ends = ends::of_flow(carried, Side::Destination)?;
        if found.0 != meta.entry || !lives(inner) {
            return None;
        }
        let rules = self.nat_rules(pool);
        let mapping = standing::inbound(&mut self.nat.owned, found, number, &ends, rules)?;
        let (address, port) = mapping.own;
        let entry = self.state.entry_mut(meta.entry.0)?;
        let same = entry.key == address && entry.local() == pool.inside.0;
        if !same || !entry.head.flags.agree(DOWNLINK_IPV4) {
            return None;
        }
        // Of the packet as the UE gets it.
        let ports = (u32::from(ends.remote_port) << 16 | u32::from(port)).to_be_bytes();
        let flow_hash = mix(ends.remote_address, address, ends.protocol, Some(&ports));
        let way = tunnel(
            (entry.head, &entry.body),
            (flow_hash, inner[ipv4::TOS]),
            tables,
        )?;
        let rewrite = |inner: &mut [u8]| {
            let _ = inner.first_chunk_mut().map(decrement_ttl);
            ends::rewrite(inner, Side::Destination, address, port);
            mapping.passed();
        };
        let now = (self.now_ns, self.burst);
        leave(
            packet,
            (entry.head, &mut entry.body),
            meta,
            (way, tables),
            now,
            rewrite,
        )
    }

    /// When it is, and whether a pool lets in only whom the UE has sent to.
    fn nat_rules<'p>(&self, pool: &'p NatPool) -> (Clock<'p>, bool) {
        let clock = Clock {
            now_s: self.now_s(),
            timeouts: &pool.timeouts,
        };
        (clock, pool.filtering == Filtering::AddressDependent)
    }
}

/// The inner packet without what may lie behind it.
#[inline(always)]
fn carried<'p, P: Packet>(packet: &'p P, meta: &Meta) -> Option<&'p [u8]> {
    let from = usize::from(meta.inner_at);
    packet.data().get(from..from + usize::from(meta.inner_len))
}

/// A header without options whose time to live does not end here.
#[inline(always)]
fn lives(inner: &[u8; ipv4::LEN]) -> bool {
    inner[ipv4::VERSION_IHL] == VERSION_4_NO_OPTIONS && inner[ipv4::TTL] > 1
}
