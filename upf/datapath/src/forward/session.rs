//! Session check: the entry still belongs to the packet's F-TEID or UE address.

use crate::drop::DropReason;
use crate::meta::{Entry, Meta};
use crate::session::entry::SessionEntry;
use crate::session::rule::Flags;

/// Checks the identity: TEID and address of an F-TEID (TS 29.244, 8.2.3), or UE address and network
/// instance. So nobody reaches a tunnel by another interface than its own, where other peers are
/// allowed. An End Marker is no packet: it never passes, and is seen to apart.
#[inline(always)]
pub fn check(line: &SessionEntry, meta: &Meta) -> Result<(), DropReason> {
    let tunnel = meta.entry == Entry::Tunnel;
    let same = line.key == meta.key && line.local == meta.local;
    if !same || line.head.flags.has(Flags::TUNNEL) != tunnel {
        return Err(missing(meta.entry));
    }
    Ok(())
}

/// The reason for a packet whose identifier belongs to no session.
#[inline(always)]
pub fn missing(entry: Entry) -> DropReason {
    match entry {
        Entry::Tunnel | Entry::EndMarker => DropReason::UnknownTeid,
        Entry::Plain => DropReason::UnknownUe,
    }
}
