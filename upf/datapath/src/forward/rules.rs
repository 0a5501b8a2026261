//! Session rules: session, PDR, QERs and FAR of a packet, found alike for those that pass and those that waited.

use crate::drop::DropReason;
use crate::forward::far::{self, Stop};
use crate::forward::pdr::{self, At, Detect};
use crate::forward::qer::{self, Draw};
use crate::forward::urr;
use crate::ids::{BlockId, EntryId};
use crate::meta::{Arrival, Meta};
use crate::session::SessionState;
use crate::session::entry::SessionEntry;
use crate::session::flow_filter::FlowFilters;
use crate::session::rule::{Body, Flags, Head};

/// The entries and blocks that a worker may write.
pub(crate) type State = SessionState;

/// The rule that applies to a packet whose session was checked (TS 29.244, 5.2.1): what it says, its
/// counters, and where it stands if it is not the entry's own. A packet that waited has drawn before.
#[inline(always)]
pub(crate) fn apply<'s>(
    state: &'s mut State,
    meta: &Meta,
    detect: &Detect<'_>,
    draw: Option<Draw<'_>>,
) -> Result<(Head, &'s mut Body, Option<At>), Stop> {
    let entry = state.entry(meta.entry.0).ok_or(missing(meta.arrival))?;
    if let Some(chain) = entry.block() {
        let (head, at) = extended(state, chain, detect, draw)?;
        return Ok((head, counters(state, at)?, Some(at)));
    }
    if entry.head.flags.has(Flags::LINK_RULES) && detect.is_on_link() {
        let chain = BlockId(entry.head.teid);
        match extended(state, chain, detect, draw) {
            Ok((head, at)) => return Ok((head, counters(state, at)?, Some(at))),
            // None of the rules for such packets: the entry's own, as for any other.
            Err(Stop::Drop(DropReason::NoPdr)) => {}
            Err(stop) => return Err(stop),
        }
    }
    let entry = state.entry_mut(meta.entry.0).ok_or(DropReason::Internal)?;
    pdr::only(entry.head, detect)?;
    qer::gate(entry.head)?;
    far::decide(entry.head, None)?;
    let has_room = entry.body.usage.has_room(draw.map_or(0, |draw| draw.len));
    urr::quota(state, meta.entry, None, has_room)?;
    if let Some(draw) = draw {
        let entry = state.entry_mut(meta.entry.0).ok_or(DropReason::Internal)?;
        qer::draw(&mut entry.body, &draw)?;
    }
    let entry = state.entry_mut(meta.entry.0).ok_or(DropReason::Internal)?;
    Ok((entry.head, &mut entry.body, None))
}

/// What the rule says that a packet meets, before gate and FAR are asked, and where it stands if it is not the
/// entry's own.
#[cold]
pub(crate) fn detected(
    state: &State,
    meta: &Meta,
    detect: &Detect<'_>,
) -> Result<(Head, Option<At>), DropReason> {
    let entry = state.entry(meta.entry.0).ok_or(missing(meta.arrival))?;
    let in_chain = |chain| {
        let at = pdr::first(chain, detect, |number| state.ext(number.0))?;
        let block = state.ext(at.block().0).ok_or(DropReason::Internal)?;
        Ok((block.rules[at.rule()].head, Some(at)))
    };
    if let Some(chain) = entry.block() {
        return in_chain(chain);
    }
    if entry.head.flags.has(Flags::LINK_RULES) && detect.is_on_link() {
        match in_chain(BlockId(entry.head.teid)) {
            Err(DropReason::NoPdr) => {}
            found => return found,
        }
    }
    pdr::only(entry.head, detect)?;
    Ok((entry.head, None))
}

/// Where a rule that was [`detected`] sends, and its counters.
#[cold]
pub(crate) fn body<'s>(state: &'s State, meta: &Meta, at: Option<At>) -> Option<&'s Body> {
    match at {
        None => Some(&state.entry(meta.entry.0)?.body),
        Some(at) => Some(&state.ext(at.block().0)?.rules[at.rule()].body),
    }
}

/// Whether the rule that a packet meets lets it come to a FAR that holds, and where it stands if it is not the
/// entry's own.
#[cold]
pub(crate) fn holds(state: &State, meta: &Meta, detect: &Detect<'_>) -> Option<Option<At>> {
    let (head, at) = detected(state, meta, detect).ok()?;
    qer::gate(head).ok()?;
    let stopped = far::decide(head, at);
    matches!(stopped, Err(Stop::Hold(_))).then_some(at)
}

/// The same where the endpoint has several rules.
#[cold]
fn extended(
    state: &mut State,
    chain: BlockId,
    detect: &Detect<'_>,
    draw: Option<Draw<'_>>,
) -> Result<(Head, At), Stop> {
    let at = pdr::first(chain, detect, |number| state.ext(number.0))?;
    let block = state.ext(at.block().0).ok_or(DropReason::Internal)?;
    let rule = block.rules[at.rule()];
    qer::gate(rule.head)?;
    far::decide(rule.head, Some(at))?;
    // The record of a rule in a block is its own, whatever the entry.
    let has_room = rule.body.usage.has_room(draw.map_or(0, |draw| draw.len));
    urr::quota(state, EntryId(0), Some(at), has_room)?;
    if let Some(draw) = draw {
        qer::draw_shared(state, &rule.buckets, &draw)?;
    }
    Ok((rule.head, at))
}

/// The counters of a rule in an extension block.
#[inline]
pub(crate) fn counters(state: &mut State, at: At) -> Result<&mut Body, DropReason> {
    let block = state.ext_mut(at.block().0).ok_or(DropReason::Internal)?;
    Ok(&mut block.rules[at.rule()].body)
}

/// Checks the identity: TEID and address of an F-TEID (TS 29.244, 8.2.3), or UE address and network
/// instance. So nobody reaches a tunnel by another interface than its own, where other peers are
/// allowed. An End Marker is no packet: it never passes, and is seen to apart.
#[inline(always)]
pub fn check(entry: &SessionEntry, meta: &Meta, filters: &FlowFilters) -> Result<(), DropReason> {
    let tunnel = meta.arrival == Arrival::Tunnel;
    let same = match meta.arrival {
        Arrival::PlainIpv6 => entry.ue_prefix == meta.prefix() && entry.ue_prefix != 0,
        _ => entry.key == meta.key,
    };
    let same = same || is_behind_ue(entry, meta, filters);
    let same = same && entry.local() == meta.local;
    if !same || entry.head.flags.has(Flags::TUNNEL) != tunnel {
        return Err(missing(meta.arrival));
    }
    Ok(())
}

/// True if a plain packet goes to an address behind the UE: a framed route, or the rest of a delegated prefix.
#[inline(always)]
fn is_behind_ue(entry: &SessionEntry, meta: &Meta, filters: &FlowFilters) -> bool {
    entry.routes().is_some_and(|run| match meta.arrival {
        Arrival::Plain => filters.any_local(run, false, meta.key.into()),
        Arrival::PlainIpv6 => filters.any_local(run, true, u128::from(meta.prefix()) << 64),
        Arrival::Tunnel | Arrival::EndMarker | Arrival::Public => false,
    })
}

/// The reason for a packet whose identifier belongs to no session.
#[inline(always)]
pub fn missing(arrival: Arrival) -> DropReason {
    match arrival {
        Arrival::Tunnel | Arrival::EndMarker => DropReason::UnknownTeid,
        Arrival::Plain | Arrival::PlainIpv6 | Arrival::Public => DropReason::UnknownUe,
    }
}
