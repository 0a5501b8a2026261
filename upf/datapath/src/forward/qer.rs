//! QER: gate and maximum bit rate.

use crate::drop::DropReason;
use crate::limits::RULE_QERS;
use crate::session::SessionState;
use crate::session::rule::{Body, BucketRef, Flags, Head, SharedBucket};
use crate::session::token_bucket::{Rate, Tat};

/// The gate (TS 29.244, 5.4.3: a closed gate discards).
#[inline(always)]
pub fn gate(head: Head) -> Result<(), DropReason> {
    if head.flags.has(Flags::GATE_CLOSED) {
        return Err(DropReason::GateClosed);
    }
    Ok(())
}

/// The rule's own two buckets. Both must have room, then both pay.
#[inline(always)]
pub fn police(body: &mut Body, now_ns: u64, bytes: u32) -> Result<(), DropReason> {
    (body.tat0, body.tat1) = rates(body, now_ns, bytes)?;
    Ok(())
}

/// The clocks of the rule's own two buckets behind the packet, if both have room.
#[inline(always)]
pub fn rates(body: &Body, now_ns: u64, bytes: u32) -> Result<(Tat, Tat), DropReason> {
    let first = admit(body.tat0, body.rate0, now_ns, bytes)?;
    let second = admit(body.tat1, body.rate1, now_ns, bytes)?;
    Ok((first, second))
}

/// Buckets that several rules share. All must have room, then all pay.
#[cold]
pub fn police_shared(
    state: &mut SessionState,
    buckets: &[BucketRef; RULE_QERS],
    now_ns: u64,
    bytes: u32,
) -> Result<(), DropReason> {
    let mut next = [Tat::default(); RULE_QERS];
    for (bucket, next) in buckets.iter().zip(&mut next) {
        if let Some(b) = shared(state, *bucket) {
            *next = admit(b.tat, b.rate, now_ns, bytes)?;
        }
    }
    for (bucket, next) in buckets.iter().zip(next) {
        if let Some(b) = shared(state, *bucket) {
            b.tat = next;
        }
    }
    Ok(())
}

fn shared(state: &mut SessionState, bucket: BucketRef) -> Option<&mut SharedBucket> {
    let (block, at) = bucket.get()?;
    state.ext_mut(block.0)?.buckets.get_mut(at)
}

/// The bucket's clock after the packet, or the reason for dropping it.
#[inline(always)]
pub fn admit(tat: Tat, rate: Rate, now_ns: u64, bytes: u32) -> Result<Tat, DropReason> {
    if !rate.is_limited() {
        return Ok(tat);
    }
    tat.after(now_ns, rate, bytes)
        .ok_or(DropReason::MbrExceeded)
}
