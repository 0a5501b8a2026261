//! Translation of packets to the data network: behind the rules of the UE, before they leave.

use crate::drop::DropReason;
use crate::forward::far::ForwardTo;
use crate::forward::outer_header_removal::Destination;
use crate::forward::path::Path;
use crate::ids::EntryId;
use crate::limits::BURST;
use crate::lookup::layout::InstanceId;
use crate::lookup::session_lookup;
use crate::message::ToControl;
use crate::meta::Meta;
use crate::nat::ends::{self, Ends, Side};
use crate::nat::inbound::{self, Placed};
use crate::nat::mapping::{self, Clock, NoPort};
use crate::nat::pool::{NatPool, PublicPort};
use crate::tx::transmit::UsageRef;
use sluice_port::{Packet, PortIo};
use sluice_wire::ipv4::Ipv4;

impl<'a, I: PortIo> Path<'a, I> {
    /// The pool by which a packet that leaves this way is translated; none where nothing is.
    pub(crate) fn translation(&self, exit: &ForwardTo, to: Destination) -> Option<&'a NatPool> {
        let (ForwardTo::Plain(egress), Destination::Ipv4(_)) = (exit, to) else {
            return None;
        };
        let inside = self.tables.egresses.get(usize::from(*egress))?.translates?;
        self.places.layout.nat().inside(inside)
    }

    /// Gives a UE's packet a public address and port.
    pub(crate) fn translate_outbound(
        &mut self,
        packet: &mut I::Packet,
        pool: &NatPool,
        meta: &Meta,
    ) -> Result<(), DropReason> {
        let data = packet.data_mut();
        let ip = Ipv4::parse_unsummed(data).map_err(|_| DropReason::InnerHeader)?;
        let source = ip.source_u32();
        let name = (ip.destination_u32(), ip.identification(), ip.protocol().0);
        let (is_later, is_first) = (ip.fragment_offset() != 0, ip.more_fragments());
        // Of a session without address nobody knows whose packets they are.
        let sender = self.state.entry(meta.entry.0);
        if sender.is_none_or(|entry| entry.ue_ip != source) {
            return Err(DropReason::NatNoSession);
        }
        let entry = self.user(pool.inside, source)?;
        let number = if is_later {
            self.of_fragment(entry, name)?
        } else {
            let ends = ends::read(data, Side::Source)?;
            // An error tells of a packet to the UE, or of none of its own.
            if ends.own_address != source {
                return Err(DropReason::NatNoMapping);
            }
            self.public_port_of(entry, &ends, pool)?
        };
        if is_first
            && !is_later
            && let Some(user) = self.nat.owned.entry_mut(entry.0)
        {
            user.fragment_passed(name, number);
        }
        let public = self.places.layout.nat().address_and_port(number);
        let (address, port) = public.ok_or(DropReason::Internal)?;
        ends::rewrite(packet.data_mut(), Side::Source, address, port);
        Ok(())
    }

    /// The entry of a UE with an address, if it is of this shard and has ports.
    #[inline]
    pub(crate) fn user(&self, inside: InstanceId, address: u32) -> Result<EntryId, DropReason> {
        let placed = session_lookup::by_ue_address(inside, address, self.places);
        let entry = placed.map_err(|_| DropReason::NatNoSession)?;
        let user = self.nat.owned.entry(entry.0);
        let is_its = |u: &&mapping::NatUser| {
            u.address == address && u.instance == inside.0 && u.first != 0 && address != 0
        };
        match user.filter(is_its) {
            Some(_) => Ok(entry),
            None => Err(DropReason::NatNoSession),
        }
    }

    fn of_fragment(&self, entry: EntryId, name: (u32, u16, u8)) -> Result<PublicPort, DropReason> {
        let user = self.nat.owned.entry(entry.0);
        let number = user.and_then(|user| user.fragment(name));
        number.ok_or(DropReason::NatFragment)
    }

    fn public_port_of(
        &mut self,
        entry: EntryId,
        ends: &Ends,
        pool: &NatPool,
    ) -> Result<PublicPort, DropReason> {
        let clock = Clock {
            now_s: self.now_s(),
            timeouts: &pool.timeouts,
        };
        match mapping::outbound(&mut self.nat.owned, entry, ends, clock) {
            Ok(place) => Ok(place.number),
            Err(NoPort::Unmapped) => Err(DropReason::NatNoMapping),
            Err(NoPort::Full(is_first)) => {
                if is_first {
                    // A full ring loses the question; it is asked again in a second.
                    let _ = self.rings.to_control.push(ToControl::NatFull(entry));
                }
                Err(DropReason::NatNoPort)
            }
        }
    }

    /// A packet of a UE to a public address, translated once: it comes in again, for the UE that has the port.
    pub(crate) fn hairpin(&mut self, packet: I::Packet, pool: &NatPool, charge: &UsageRef) {
        let Ok(ip) = Ipv4::parse_unsummed(packet.data()) else {
            return self.discard(packet, DropReason::InnerHeader);
        };
        let meta = Meta {
            inner_len: ip.total_len(),
            ..Meta::to_address(ip.destination_u32(), pool.outside.0)
        };
        let (places, units) = (self.places, &self.tables.nat_units);
        let refused = DropReason::NatNoMapping;
        match inbound::place(packet.data(), meta, places, units, refused) {
            Placed::Ue(_) if self.nat.hairpins.len() >= BURST => {
                self.discard(packet, DropReason::HandoverFull);
            }
            Placed::Ue(meta) => {
                self.charge(charge);
                self.nat.hairpins.push_back((packet, meta));
            }
            Placed::Fragment => self.discard(packet, DropReason::NatFragment),
            Placed::No(reason) => self.discard(packet, reason),
        }
    }
}
