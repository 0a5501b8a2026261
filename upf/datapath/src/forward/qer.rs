//! QER: gate and maximum bit rate; what exceeds a rate is dropped, or waits.

use crate::drop::DropReason;
use crate::forward::far::Stop;
use crate::limits::RULE_QERS;
use crate::session::SessionState;
use crate::session::rule::{Body, BucketRef, Flags, Head, SharedBucket};
use crate::session::token_bucket::{Lead, Rate, Shaping, Tat};

/// What a packet draws from the token buckets: its length, now.
#[derive(Clone, Copy, Debug)]
pub struct Draw<'t> {
    /// Monotonic time in nanoseconds.
    pub now_ns: u64,
    /// Length of the inner packet in bytes.
    pub len: u32,
    /// How rates are shaped.
    pub shaping: &'t Shaping,
    /// It leaves no earlier than this: behind packets that wait.
    pub not_before_ns: u64,
    /// There is room for it to wait.
    pub has_room: bool,
}

/// The gate (TS 29.244, 5.4.3: a closed gate discards).
#[inline(always)]
pub fn gate(head: Head) -> Result<(), DropReason> {
    if head.flags.has(Flags::GATE_CLOSED) {
        return Err(DropReason::GateClosed);
    }
    Ok(())
}

/// The clocks of the rule's own two buckets behind the packet, if both have room for it now: no clock runs
/// ahead by more than `within`. `None` if it is to be asked [otherwise](draw).
#[inline(always)]
pub fn rates(body: &Body, now_ns: u64, bytes: u32, within: Lead) -> Option<(Tat, Tat)> {
    let first = now(body.tat0, body.rate0, now_ns, bytes, within)?;
    let second = now(body.tat1, body.rate1, now_ns, bytes, within)?;
    Some((first, second))
}

#[inline(always)]
fn now(tat: Tat, rate: Rate, now_ns: u64, bytes: u32, within: Lead) -> Option<Tat> {
    if !rate.is_limited() {
        return Some(tat);
    }
    tat.after(now_ns, rate, bytes, within)
}

/// The same of buckets that several rules share.
#[inline]
pub fn rates_shared(
    state: &mut SessionState,
    buckets: &[BucketRef; RULE_QERS],
    now_ns: u64,
    bytes: u32,
    within: Lead,
) -> Option<[Tat; RULE_QERS]> {
    let mut next = [Tat::default(); RULE_QERS];
    for (bucket, next) in buckets.iter().zip(&mut next) {
        if let Some(b) = shared(state, *bucket) {
            *next = now(b.tat, b.rate, now_ns, bytes, within)?;
        }
    }
    Some(next)
}

/// Sets the clocks of buckets that several rules share.
#[inline]
pub fn pay_shared(
    state: &mut SessionState,
    buckets: &[BucketRef; RULE_QERS],
    clocks: [Tat; RULE_QERS],
) {
    for (bucket, clock) in buckets.iter().zip(clocks) {
        if let Some(b) = shared(state, *bucket) {
            b.tat = clock;
        }
    }
}

/// The rule's own two buckets. Both must have room now or, if they are shaped, soon; then both pay.
#[inline(always)]
pub fn draw(body: &mut Body, draw: &Draw<'_>) -> Result<(), Stop> {
    let (first, due0_ns) = draw.clock(body.tat0, body.rate0)?;
    let (second, due1_ns) = draw.clock(body.tat1, body.rate1)?;
    let when = draw.when(due0_ns.max(due1_ns))?;
    (body.tat0, body.tat1) = (first, second);
    when.at_once()
}

/// Buckets that several rules share, likewise.
#[cold]
pub fn draw_shared(
    state: &mut SessionState,
    buckets: &[BucketRef; RULE_QERS],
    draw: &Draw<'_>,
) -> Result<(), Stop> {
    let mut next = [Tat::default(); RULE_QERS];
    let mut due_ns = 0;
    for (bucket, next) in buckets.iter().zip(&mut next) {
        if let Some(b) = shared(state, *bucket) {
            let (clock, bucket_due_ns) = draw.clock(b.tat, b.rate)?;
            (*next, due_ns) = (clock, due_ns.max(bucket_due_ns));
        }
    }
    let when = draw.when(due_ns)?;
    pay_shared(state, buckets, next);
    when.at_once()
}

#[inline]
fn shared(state: &mut SessionState, bucket: BucketRef) -> Option<&mut SharedBucket> {
    let (block, at) = bucket.get()?;
    state.ext_mut(block.0)?.buckets.get_mut(at)
}

/// When a packet leaves that all buckets take.
enum When {
    Now,
    At(u64),
}

impl When {
    fn at_once(self) -> Result<(), Stop> {
        match self {
            Self::Now => Ok(()),
            Self::At(due_ns) => Err(Stop::Wait(due_ns)),
        }
    }
}

impl Draw<'_> {
    /// A bucket's clock behind the packet and the time at which the bucket has room for it (0: now), or the
    /// reason for dropping it.
    #[inline(always)]
    fn clock(&self, tat: Tat, rate: Rate) -> Result<(Tat, u64), DropReason> {
        // What a packet leaves by notes it when it leaves.
        if !rate.is_limited() || rate.is_stamp() {
            return Ok((tat, 0));
        }
        if rate.is_shaped() {
            return self.shaped_clock(tat, rate);
        }
        let next = tat.after(self.now_ns, rate, self.len, Lead::POLICED);
        Ok((next.ok_or(DropReason::MbrExceeded)?, 0))
    }

    fn shaped_clock(&self, tat: Tat, rate: Rate) -> Result<(Tat, u64), DropReason> {
        let next = tat.next(self.now_ns, rate, self.len);
        let least = Lead::least(rate);
        let due_ns = next.due_ns(self.shaping.burst.max(least));
        if due_ns <= self.now_ns + self.shaping.delay.max(least).ns() {
            Ok((next, due_ns))
        } else {
            Err(DropReason::ShapingDelay)
        }
    }

    fn when(&self, due_ns: u64) -> Result<When, DropReason> {
        let due_ns = due_ns.max(self.not_before_ns);
        if due_ns <= self.now_ns {
            Ok(When::Now)
        } else if self.has_room {
            Ok(When::At(due_ns))
        } else {
            Err(DropReason::ShapingFull)
        }
    }
}
