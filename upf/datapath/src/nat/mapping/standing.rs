//! Mappings that stand: a packet by one changes nothing but how long it lasts, so the fast path may ask for it.
//!
//! All is looked at first; [`Standing::passed`] writes.

use super::{Cell, Clock, NatChunk, NatOwned, Place, TCP_FIN, TCP_RST, TCP_SYN, find, key};
use crate::ids::EntryId;
use crate::limits::NAT_UNIT_PORTS;
use crate::nat::ends::{Ends, Kind, Side};
use crate::nat::pool::{PublicPort, Unit};
use core::mem::offset_of;

/// A mapping by which a packet passes.
pub struct Standing<'o> {
    /// Its public port.
    pub number: PublicPort,
    /// Address and port of the UE.
    pub own: (u32, u16),
    cell: &'o mut Cell,
    until_s: u32,
}

impl Standing<'_> {
    /// The packet has left.
    #[inline]
    pub fn passed(self) {
        // A line that is not written stays clean: most packets come in the second of another.
        if self.cell.until_s != self.until_s {
            self.cell.until_s = self.until_s;
        }
    }
}

/// What mappings do at a time, and whether packets from outside are filtered by their addresses.
type Rules<'a> = (Clock<'a>, bool);

/// The mapping of a packet of a UE that leaves; none where it has none, or has news for it.
///
/// Of the newest unit the user knows number and chunk, and a mapping is at its usual place there as a rule: then
/// the user and one line of the chunk are all that is asked for.
#[inline]
pub fn outbound<'o>(
    owned: &'o mut NatOwned,
    user: EntryId,
    ends: &Ends,
    rules: Rules<'_>,
) -> Option<Standing<'o>> {
    let key = key(ends.protocol, ends.own_port);
    let at = usual_place(ends.own_port);
    let (first, unit) = owned.entry(user.0).map(|user| (user.first, user.unit))?;
    let place = match owned.ext(first)?.cells[at].key == key {
        true => Place {
            chunk: first,
            at,
            number: PublicPort::at(Unit(unit), at),
        },
        false => find(owned, user, key)?,
    };
    let own = (ends.own_address, ends.own_port);
    let chunk = owned.ext_mut(place.chunk)?;
    chunk.standing((place.number, own), ends, Side::Source, rules)
}

/// The mapping of a packet that came for a public port of the UE with this entry, whose mappings are in `chunk`;
/// none where it does not pass, or has news.
#[inline]
pub fn inbound<'o>(
    owned: &'o mut NatOwned,
    (user, chunk): (EntryId, u32),
    number: PublicPort,
    ends: &Ends,
    rules: Rules<'_>,
) -> Option<Standing<'o>> {
    let (user_now, units) = owned.entry_and_ext_mut(user.0, chunk)?;
    // The unit may have gone to another UE since the packet was placed. Unit and user change by one transaction.
    let is_newest = user_now.first == chunk && user_now.unit == number.unit().0;
    let is_its = is_newest || units.owner == user.0 && units.unit == number.unit().0;
    let key = units.cells[number.place()].key;
    if !is_its || user_now.address == 0 || key >> 16 != u32::from(ends.protocol) {
        return None;
    }
    let own = (user_now.address, key as u16);
    units.standing((number, own), ends, Side::Destination, rules)
}

impl NatChunk {
    #[inline]
    fn standing(
        &mut self,
        (number, own): (PublicPort, (u32, u16)),
        ends: &Ends,
        side: Side,
        rules: Rules<'_>,
    ) -> Option<Standing<'_>> {
        let at = number.place();
        let until_s = self.until_behind(at, ends, side, rules)?;
        Some(Standing {
            number,
            own,
            cell: &mut self.cells[at],
            until_s,
        })
    }

    /// When a mapping that lives ends behind such a packet, if nothing else changes; else none. Whom a UE sends
    /// datagrams to matters to none but a filter.
    #[inline]
    fn until_behind(
        &self,
        at: usize,
        ends: &Ends,
        side: Side,
        (clock, is_filtered): Rules<'_>,
    ) -> Option<u32> {
        let Clock { now_s, timeouts } = clock;
        let now_until_s = self.cells[at].until_s;
        if now_until_s <= now_s {
            return None;
        }
        let lasts_s = match (ends.kind, side) {
            (Kind::Error, _) => return None,
            (Kind::Segment(flags), _) => {
                let has_news = flags & (TCP_FIN | TCP_SYN | TCP_RST) != 0;
                let stands = self.remotes[at].iter().any(|remote| {
                    let same = (remote.address, remote.port);
                    same == (ends.remote_address, ends.remote_port) && remote.is_established()
                });
                (stands && !has_news).then_some(timeouts.tcp_established_s)?
            }
            (Kind::Datagram, Side::Destination) => {
                let passes = !is_filtered || self.sent_to(at, ends.remote_address);
                return passes.then_some(now_until_s);
            }
            (Kind::Datagram, Side::Source) => {
                let mut remotes = self.remotes[at].iter();
                let known = !is_filtered || remotes.any(|r| r.address == ends.remote_address);
                known.then_some(timeouts.udp_s)?
            }
        };
        Some(now_s.saturating_add(lasts_s))
    }
}

#[inline]
fn usual_place(port: u16) -> usize {
    usize::from(port) % NAT_UNIT_PORTS
}

/// Fetches what [`outbound`] will ask of the chunk of a user whose line is there; the connections, too, if
/// `with_remotes`.
#[inline]
pub fn prefetch_outbound(owned: &NatOwned, user: EntryId, port: u16, with_remotes: bool) {
    if let Some(user) = owned.entry(user.0) {
        prefetch_cell(owned, user.first, usual_place(port), with_remotes);
    }
}

/// Fetches what is asked of a place of a chunk.
#[inline]
pub fn prefetch_cell(owned: &NatOwned, chunk: u32, at: usize, with_remotes: bool) {
    let cell = offset_of!(NatChunk, cells) + at * size_of::<Cell>();
    owned.prefetch_ext_line(chunk, cell);
    if with_remotes {
        let remotes = offset_of!(NatChunk, remotes);
        owned.prefetch_ext_line(chunk, remotes + at * size_of::<super::Remotes>());
    }
}
