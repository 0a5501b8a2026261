//! Sequence numbers of subscribers (TS 33.102, C.1): the repository counts them by itself, or a UDM of another program does.

use sluice_ids::Supi;
use sluice_sbi::{AdvanceSqn, Effect, Problem, RequestId, UpdateSqn};
use sluice_security::Sqn;

use crate::{Pending, Udr, authentication, failure, key_of};

/// How far sequence numbers may run ahead of the stored one, also if time tells them: half of what is
/// made up for in one step, so that a number that was not stored is never out of reach.
const KEEP_EVERY: u64 = 1 << 26;

/// Request that changes a sequence number.
#[derive(Clone, Copy)]
pub(crate) enum SqnRequest {
    /// The UDR counts.
    Advance(AdvanceSqn),
    /// A UDM has counted.
    Update(UpdateSqn),
}

impl SqnRequest {
    /// Subscriber.
    pub fn supi(&self) -> Supi {
        match self {
            Self::Advance(advance) => advance.supi,
            Self::Update(update) => update.supi,
        }
    }
}

impl Udr {
    /// The next sequence number. It follows time, with a difference of the subscriber's own, and only
    /// what time does not tell has to be stored (TS 33.102, C.1.1.3).
    pub(crate) fn advance(
        &mut self,
        id: RequestId,
        update: &AdvanceSqn,
        effects: &mut Vec<Effect>,
    ) {
        let now_s = update.floor.get();
        // In the second of a start nobody knows what was used before it; from the next one on, time is
        // above all that it told before.
        let begun_s = *self.begun_s.get_or_insert(now_s);
        let is_shared = self.is_shared;
        let Some(entry) = self.subscribers.get_mut(&update.supi) else {
            effects.push(failure(id, Problem::UserNotFound));
            return;
        };
        let by_time = |time_s: u64, difference_s: i64| {
            let sum = (time_s as i64).saturating_add(difference_s);
            u64::try_from(sum).unwrap_or_default()
        };
        let sqn = &mut entry.subscriber.sqn;
        let has_to_be_kept = if update.resynchronised {
            *sqn = sqn.following(Some(Sqn::new(update.above.get())), 0);
            entry.difference_s = (sqn.sequence() as i64).saturating_sub(now_s as i64);
            true
        } else {
            let floor = by_time(now_s.max(begun_s.saturating_add(1)), entry.difference_s);
            // A time that jumps back changes nothing.
            *sqn = sqn.following(None, floor);
            let is_told =
                sqn.sequence() >= floor && sqn.sequence() <= by_time(now_s, entry.difference_s);
            !is_told || sqn.sequence() - entry.kept.min(sqn.sequence()) > KEEP_EVERY
        };
        if !has_to_be_kept && !is_shared {
            let message = authentication(&entry.subscriber).into();
            effects.push(Effect::Answer { id, message });
            return;
        }
        self.store_sqn(id, SqnRequest::Advance(*update), effects);
    }

    /// The number that a UDM has counted, if the last one is still what it counted from. It is stored, whatever it is.
    pub(crate) fn update_sqn(
        &mut self,
        id: RequestId,
        update: &UpdateSqn,
        effects: &mut Vec<Effect>,
    ) {
        let Some(entry) = self.subscribers.get_mut(&update.supi) else {
            effects.push(failure(id, Problem::UserNotFound));
            return;
        };
        if entry.subscriber.sqn != Sqn::new(update.from.get()) {
            let message = authentication(&entry.subscriber).into();
            effects.push(Effect::Answer { id, message });
            return;
        }
        entry.subscriber.sqn = Sqn::new(update.to.get());
        self.store_sqn(id, SqnRequest::Update(*update), effects);
    }

    /// Stores the number that a subscriber has now, and answers with it then.
    fn store_sqn(&mut self, id: RequestId, request: SqnRequest, effects: &mut Vec<Effect>) {
        let is_shared = self.is_shared;
        let supi = request.supi();
        let Some(entry) = self.subscribers.get_mut(&supi) else {
            return;
        };
        let answer = authentication(&entry.subscriber);
        let sqn = entry.subscriber.sqn;
        entry.kept = sqn.sequence();
        let mut value = [sqn.get().to_be_bytes(), entry.difference_s.to_be_bytes()].concat();
        if is_shared {
            value.extend(entry.stored.get().to_be_bytes());
        }
        entry.stored = sqn;
        let pending = Pending {
            request: id,
            answer,
            sqn: Some(request),
        };
        let key = key_of("sqn", &supi);
        self.commit(pending, key, Some(value), effects);
    }
}

/// A sequence number and its difference to time, as [`Udr::advance`] commits them.
pub(crate) fn last_and_difference(octets: &[u8]) -> Option<(Sqn, i64)> {
    let (last, difference) = octets.split_first_chunk::<8>()?;
    let difference = i64::from_be_bytes(difference.try_into().ok()?);
    Some((Sqn::new(u64::from_be_bytes(*last)), difference))
}
