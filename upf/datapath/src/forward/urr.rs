//! URR: volume is counted when the packet leaves, and taken back if it did not; a quota that is used up
//! stops packets.

use crate::drop::DropReason;
use crate::forward::pdr::At;
use crate::forward::rules::State;
use crate::ids::{EntryId, RecordId};
use crate::session::grant;
use crate::session::rule::Body;
use crate::session::token_bucket::Tat;
use crate::tx::transmit::UsageRef;

/// The packet leaves: its inner length counts, and its time where some URR measures time. True if it has used up
/// what its rule was granted.
#[inline(always)]
#[must_use]
pub fn charge(body: &mut Body, bytes: u32, now_ns: u64) -> bool {
    body.usage.add(bytes);
    if body.rate1.is_stamp() {
        body.tat1 = Tat::stamped(now_ns);
    }
    !body.usage.has_room(0)
}

/// A packet passes while a quota is not used up, however long it is (TS 29.244, 5.2.2.3.1).
#[inline(always)]
pub fn quota(
    state: &mut State,
    entry: EntryId,
    at: Option<At>,
    has_room: bool,
) -> Result<(), DropReason> {
    if has_room || may_pass(state, entry, at) {
        Ok(())
    } else {
        Err(DropReason::QuotaExhausted)
    }
}

#[cold]
fn may_pass(state: &mut State, entry: EntryId, at: Option<At>) -> bool {
    let record = grant::record_of(state, entry, at);
    record == RecordId(0) || grant::may_pass(state, record, grant::name_of(entry, at))
}

/// A packet was stopped by a quota: true if the control core is to be told.
#[cold]
pub fn stopped(state: &mut State, entry: EntryId) -> bool {
    grant::stopped(state, grant::record_of(state, entry, None))
}

/// A packet was dropped by gate or bit rates: true if the control core is to be told of it.
#[cold]
pub fn dropped(state: &mut State, entry: EntryId, at: Option<At>, bytes: u32) -> bool {
    let record = grant::record_of(state, entry, at);
    record != RecordId(0) && grant::dropped(state, record, grant::name_of(entry, at), bytes)
}

/// True if a session has a usage record.
#[cold]
pub fn is_measured(state: &State, entry: EntryId) -> bool {
    grant::record_of(state, entry, None) != RecordId(0)
}

/// A packet to the UE was lost: true if the control core is to be told of it.
#[cold]
pub fn lost(state: &mut State, entry: EntryId, at: Option<At>, bytes: u32) -> bool {
    let record = grant::record_of(state, entry, at);
    record != RecordId(0) && grant::lost(state, record, grant::name_of(entry, at), bytes)
}

/// The control core could not be told: the next packet that is stopped rings again.
#[cold]
pub fn unring(state: &mut State, entry: EntryId) {
    grant::unring(state, grant::record_of(state, entry, None));
}

/// A packet has used up what its rule was granted: true if the control core is to be told.
#[cold]
pub fn passed(state: &mut State, charge: &UsageRef, now_ns: u64) -> bool {
    let UsageRef { entry, at, .. } = *charge;
    let record = grant::record_of(state, entry, at);
    record != RecordId(0) && grant::passed(state, record, grant::name_of(entry, at), now_ns)
}

/// The control core could not be told: the rule's next packet rings again.
#[cold]
pub fn not_rung(state: &mut State, charge: &UsageRef) {
    let UsageRef { entry, at, .. } = *charge;
    let record = grant::record_of(state, entry, at);
    grant::not_rung(state, record, grant::name_of(entry, at));
}

/// The packet did not leave after all.
#[inline(always)]
pub fn refund(body: &mut Body, bytes: u32) {
    body.usage.subtract(bytes);
}
