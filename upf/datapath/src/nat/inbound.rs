//! Translation of packets from the data network: placed by public address and port at the poller, given the
//! UE's address by the owner, before its rules are looked at.

use crate::drop::DropReason;
use crate::lookup::session_lookup::{self, SessionLookup};
use crate::meta::{Arrival, Meta};
use crate::nat::ends::{self, Side};
use crate::nat::mapping::{self, Clock, Inbound, NatOwned};
use crate::nat::pool::{Filtering, NatPools, NatUnits, PublicPort};
use sluice_port::Packet;
use sluice_wire::ipv4::Ipv4;
use sluice_wire::layout::ipv4;

/// What a packet is that no session's key was found for.
pub(crate) enum Placed {
    /// A packet for this UE.
    Ue(Meta),
    /// A fragment for a public address: it is put together first.
    Fragment,
    /// Nothing of that.
    No(DropReason),
}

/// Places a packet that came in the data network of a translated instance; `refused` is why it had no place.
#[cold]
pub(crate) fn place(
    data: &[u8],
    mut meta: Meta,
    places: &SessionLookup,
    units: &NatUnits,
    refused: DropReason,
) -> Placed {
    let nat = places.layout.nat();
    let outside = crate::lookup::layout::InstanceId(meta.local);
    let Some(pool) = nat.outside(outside) else {
        return Placed::No(refused);
    };
    if meta.arrival == Arrival::PlainIpv6 {
        meta.local = pool.inside.0;
        return match session_lookup::place(&mut meta, places) {
            Ok(()) => Placed::Ue(meta),
            Err(reason) => Placed::No(reason),
        };
    }
    if meta.arrival != Arrival::Plain || !pool.has(meta.key) {
        return Placed::No(refused);
    }
    let packet = data.get(usize::from(meta.inner_at)..).unwrap_or_default();
    if Ipv4::parse_unsummed(packet).is_ok_and(|ip| ip.is_fragment()) {
        return Placed::Fragment;
    }
    let ends = match ends::read(packet, Side::Destination) {
        Ok(ends) if ends.own_address == meta.key => ends,
        Ok(_) => return Placed::No(DropReason::NatNoMapping),
        Err(reason) => return Placed::No(reason),
    };
    match nat.number(pool.inside, meta.key, ends.own_port) {
        Some(number) => find(meta.translated(number), units),
        None => Placed::No(DropReason::NatNoMapping),
    }
}

/// The public port that a common packet to a translated instance came to, whose UE is fetched to be
/// [found](find) later; none if it is not whole, or has no such port.
#[inline]
pub(crate) fn prefetch(
    data: &[u8],
    meta: Meta,
    places: &SessionLookup,
    units: &NatUnits,
) -> Option<Meta> {
    let nat = places.layout.nat();
    let pool = nat.outside(crate::lookup::layout::InstanceId(meta.local))?;
    if meta.arrival != Arrival::Plain {
        return None;
    }
    let from = usize::from(meta.inner_at);
    let packet = data.get(from..from + usize::from(meta.inner_len))?;
    let ends = ends::of_flow(packet, Side::Destination)?;
    let number = nat.number(pool.inside, meta.key, ends.own_port)?;
    units.0.prefetch(number.unit().0 as usize);
    Some(meta.translated(number))
}

/// Who has the public port of a packet.
#[inline]
pub(crate) fn find(meta: Meta, units: &NatUnits) -> Placed {
    let number = meta.public_port();
    match number.and_then(|number| units.get(number.unit())) {
        Some((entry, _)) => Placed::Ue(Meta { entry, ..meta }),
        None => Placed::No(DropReason::NatNoMapping),
    }
}

impl Meta {
    /// The same of a packet to this public port.
    fn translated(self, number: PublicPort) -> Self {
        Self {
            outer_src: number.0 + 1,
            arrival: Arrival::Public,
            ..self
        }
    }

    /// The public port that a packet was sent to, if it was translated or will be.
    #[inline]
    pub(crate) fn public_port(&self) -> Option<PublicPort> {
        let is_translated = matches!(self.arrival, Arrival::Public | Arrival::Plain);
        let number = self.outer_src.checked_sub(1).filter(|_| is_translated);
        number.map(PublicPort)
    }
}

/// What becomes of a packet for a public port.
pub(crate) enum Translated {
    /// It is the UE's, who is named here.
    To(Meta),
    /// Its time to live ends here; it is as it came.
    TtlExceeded,
}

/// Gives a packet to a public port the address of the UE, if it has such a mapping and lets the packet in.
#[inline(never)]
pub(crate) fn translate<P: Packet>(
    packet: &mut P,
    meta: &Meta,
    nat: &NatPools,
    units: &NatUnits,
    (owned, now_s): (&mut NatOwned, u32),
) -> Result<Translated, DropReason> {
    let number = meta.public_port().ok_or(DropReason::Internal)?;
    let outside = crate::lookup::layout::InstanceId(meta.local);
    let pool = nat.outside(outside).ok_or(DropReason::Internal)?;
    let from = usize::from(meta.inner_at);
    // What follows it in the frame is no part of it.
    let whole = from..from + usize::from(meta.inner_len);
    let data = packet.data_mut().get_mut(whole);
    let data = data.ok_or(DropReason::InnerHeader)?;
    let ends = ends::read(data, Side::Destination)?;
    // What the poller saw may have gone to another UE.
    let found = units
        .get(number.unit())
        .filter(|(entry, _)| *entry == meta.entry);
    let (entry, chunk) = found.ok_or(DropReason::NatNoMapping)?;
    let clock = Clock {
        now_s,
        timeouts: &pool.timeouts,
    };
    let is_filtered = pool.filtering == Filtering::AddressDependent;
    let rules = (clock, is_filtered);
    let (address, port) = match mapping::inbound(owned, (entry, chunk), number, &ends, rules) {
        Inbound::To(address, port) => (address, port),
        Inbound::Unmapped => return Err(DropReason::NatNoMapping),
        Inbound::Filtered => return Err(DropReason::NatFiltered),
    };
    if data.get(ipv4::TTL).is_none_or(|ttl| *ttl <= 1) {
        return Ok(Translated::TtlExceeded);
    }
    ends::rewrite(data, Side::Destination, address, port);
    Ok(Translated::To(Meta {
        key: address,
        local: pool.inside.0,
        arrival: Arrival::Plain,
        ..*meta
    }))
}

/// Gives a packet that was translated and cannot leave the address again that it came to: its sender is
/// told of that.
#[cold]
pub(crate) fn as_it_came<P: Packet>(packet: &mut P, meta: &Meta, nat: &NatPools) {
    let number = meta.public_port();
    let public = number.and_then(|number| nat.address_and_port(number));
    if let Some((address, port)) = public {
        ends::rewrite(packet.data_mut(), Side::Destination, address, port);
    }
}
