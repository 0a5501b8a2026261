//! Session: is the line still what the packet was placed for, and may the packet come from there.

use crate::drop::DropReason;
use crate::line::Line;
use crate::meta::{Entry, Meta};
use crate::rule::Flags;

/// Checks identity and outer source.
#[inline(always)]
pub fn check(line: &Line, meta: &Meta) -> Result<(), DropReason> {
    let tunnel = meta.entry == Entry::Tunnel;
    if line.key != meta.key || line.head.flags.has(Flags::TUNNEL) != tunnel {
        return Err(missing(meta.entry));
    }
    if line.head.flags.has(Flags::CHECK_OUTER_SOURCE) && line.src_ip != meta.outer_src {
        return Err(DropReason::OuterSource);
    }
    Ok(())
}

/// The reason for a packet whose identifier belongs to no session.
#[inline(always)]
pub fn missing(entry: Entry) -> DropReason {
    match entry {
        Entry::Tunnel => DropReason::UnknownTeid,
        Entry::Plain => DropReason::UnknownUe,
    }
}
