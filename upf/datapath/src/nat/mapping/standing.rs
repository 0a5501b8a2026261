//! Mappings that stand: a packet by one changes nothing but how long it lasts, so the fast path may ask for it.
//!
//! All is looked at first; [`Standing::passed`] writes.

use super::{Cell, Clock, NatChunk, NatOwned, NatRemotes, TCP_FIN, TCP_RST, TCP_SYN, find, key};
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
#[inline(always)]
pub fn outbound<'o>(
    owned: &'o mut NatOwned,
    user: EntryId,
    ends: &Ends,
    rules: Rules<'_>,
) -> Option<Standing<'o>> {
    let key = key(ends.protocol, ends.own_port);
    let at = usual_place(ends.own_port);
    let (first, unit) = owned.entry(user.0).map(|user| (user.first, user.unit))?;
    let (chunk, number) = if owned.ext(first)?.cells[at].key == key {
        (first, PublicPort::at(Unit(unit), at))
    } else {
        elsewhere(owned, user, key)?
    };
    let own = (ends.own_address, ends.own_port);
    standing(owned, chunk, (number, own), ends, (Side::Source, rules))
}

#[cold]
fn elsewhere(owned: &NatOwned, user: EntryId, key: u32) -> Option<(u32, PublicPort)> {
    find(owned, user, key).map(|place| (place.chunk, place.number))
}

/// The mapping of a packet that came for a public port of the UE with this entry, whose mappings are in `chunk`;
/// none where it does not pass, or has news.
#[inline(always)]
pub fn inbound<'o>(
    owned: &'o mut NatOwned,
    (user, chunk): (EntryId, u32),
    number: PublicPort,
    ends: &Ends,
    rules: Rules<'_>,
) -> Option<Standing<'o>> {
    let (user_now, units) = (owned.entry(user.0)?, owned.ext(chunk)?);
    // The unit may have gone to another UE since the packet was placed. Unit and user change by one transaction.
    let is_newest = user_now.first == chunk && user_now.unit == number.unit().0;
    let is_its = is_newest || units.owner == user.0 && units.unit == number.unit().0;
    let key = units.cells[number.place()].key;
    if !is_its || user_now.address == 0 || key >> 16 != u32::from(ends.protocol) {
        return None;
    }
    let own = (user_now.address, key as u16);
    standing(
        owned,
        chunk,
        (number, own),
        ends,
        (Side::Destination, rules),
    )
}

#[inline(always)]
fn standing<'o>(
    owned: &'o mut NatOwned,
    chunk: u32,
    (number, own): (PublicPort, (u32, u16)),
    ends: &Ends,
    (side, (clock, is_filtered)): (Side, Rules<'_>),
) -> Option<Standing<'o>> {
    let at = number.place();
    let now_until_s = owned.ext(chunk)?.cells[at].until_s;
    if now_until_s <= clock.now_s {
        return None;
    }
    let remotes = || owned.record(chunk);
    let until_s = match (ends.kind, side) {
        (Kind::Error, _) => return None,
        (Kind::Segment(flags), _) => {
            let has_news = flags & (TCP_FIN | TCP_SYN | TCP_RST) != 0;
            if has_news || !remotes()?.is_established(at, ends) {
                return None;
            }
            clock.now_s.saturating_add(clock.timeouts.tcp_established_s)
        }
        // Whom a UE sends datagrams to matters to none but a filter.
        (Kind::Datagram, _) if is_filtered && !remotes()?.sent_to(at, ends.remote_address) => {
            return None;
        }
        (Kind::Datagram, Side::Destination) => now_until_s,
        (Kind::Datagram, Side::Source) => clock.now_s.saturating_add(clock.timeouts.udp_s),
    };
    Some(Standing {
        number,
        own,
        cell: &mut owned.ext_mut(chunk)?.cells[at],
        until_s,
    })
}

impl NatRemotes {
    #[inline]
    fn is_established(&self, at: usize, ends: &Ends) -> bool {
        let to = (ends.remote_address, ends.remote_port);
        let mut remotes = self.remotes[at].iter();
        remotes.any(|remote| (remote.address, remote.port) == to && remote.is_established())
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
        let remotes = offset_of!(NatRemotes, remotes);
        owned.prefetch_record_line(chunk, remotes + at * size_of::<super::Remotes>());
    }
}
