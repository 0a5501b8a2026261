//! Network triggered service request (TS 23.502, 4.2.3.3), the SMF's part: downlink packets have come for
//! a session without user plane. The UE is paged a few times; then its packets are dropped for a
//! while, so that it never goes on without end.

use sluice_sbi::{Instant, NotifyTransferFailure, TransferCause};

use crate::context::session::{Reaching, SessionId};
use crate::context::state::State;
use crate::limits;
use crate::procedure::Procedure;
use crate::procedure::user_plane::{downlink, setup};
use crate::upf::rules::Downlink;

/// 2a: the UPF has packets for a session without user plane.
pub(crate) async fn run(p: Procedure, attempt: u8) {
    p.with(|state| state.reach(p.session, Some((Reaching::Asked, Instant::NEVER))));
    let n2 = p.with_session(|session| setup(session)).flatten();
    let Some(n2) = n2 else {
        return p.with(|state| state.reach(p.session, None));
    };
    // 3a and 3b: Namf_Communication_N1N2MessageTransfer
    let answer = p.wake("3", n2).await;
    let after = |ms| p.with(|state| state.now.instant.plus_ms(ms));
    let (cause, retry_ms) = match answer {
        Ok(answer) => {
            let retry_ms = u64::from(answer.retry_after_s.get()) * 1000;
            (answer.cause, retry_ms)
        }
        Err(_) => (TransferCause::UeNotReachable, 0),
    };
    match cause {
        TransferCause::Initiated | TransferCause::AttemptingToReachUe => {
            let until = after(limits::REACH_MS);
            let trying = Reaching::Trying(attempt);
            p.with(|state| state.reach(p.session, Some((trying, until))));
        }
        TransferCause::TemporaryReject if attempt < limits::PAGING_ATTEMPTS => {
            let at = after(retry_ms.clamp(1_000, limits::REACH_MS));
            let again = Reaching::Again(attempt);
            p.with(|state| state.reach(p.session, Some((again, at))));
        }
        _ => give_up(&p, retry_ms).await,
    }
}

/// 3c and 5: the UE cannot be reached; the UPF drops what it holds and what comes, for a while.
async fn give_up(p: &Procedure, guard_ms: u64) {
    p.failed("the UE cannot be reached");
    p.with(|state| state.counters.unreachable += 1);
    downlink(p, "5", Downlink::Drop).await;
    let guard_ms = guard_ms.clamp(limits::DROP_MS, limits::MOST_DROP_MS);
    p.with(|state| {
        let until = state.now.instant.plus_ms(guard_ms);
        state.reach(p.session, Some((Reaching::Dropping, until)));
    });
}

/// The gNB knows nothing of the tunnel: packets wait, and the next one has the gNB set the session up anew, as of an
/// idle UE (TS 23.527, 5.3.3).
pub(crate) async fn tunnel_lost(p: Procedure) {
    downlink(&p, "", Downlink::Wait).await;
}

/// The time has come until which something is done.
pub(crate) async fn due(p: Procedure) {
    let reaching = p.with_session(|session| session.reaching).flatten();
    let is_up = p.with_session(|session| session.downlink.is_some());
    match reaching {
        // It came by another way.
        Some(_) if is_up == Some(true) => p.with(|state| state.reach(p.session, None)),
        Some((Reaching::Again(attempt), _)) => run(p, attempt + 1).await,
        // Nobody said what became of it, or that it does not answer.
        Some((Reaching::Trying(_) | Reaching::Asked, _)) => {
            let guard_ms = p.with_session(|session| std::mem::take(&mut session.guard_ms));
            give_up(&p, guard_ms.unwrap_or_default()).await;
        }
        // The next packet may try again.
        Some((Reaching::Dropping, _)) => {
            downlink(&p, "", Downlink::Wait).await;
        }
        None => {}
    }
}

impl State {
    /// Sets the way to deliver waiting packets, and its deadline; none ends it.
    pub fn reach(&mut self, id: SessionId, reaching: Option<(Reaching, Instant)>) {
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        if let Some((_, before)) = std::mem::replace(&mut session.reaching, reaching) {
            self.reaching.remove(&(before, id));
        }
        if let Some((_, until)) = reaching.filter(|(_, until)| *until < Instant::NEVER) {
            self.reaching.insert((until, id));
        }
    }

    /// The UE was there, and its gNB has not set the session up: it is tried again, a few times.
    pub fn reach_again(&mut self, id: SessionId) {
        let reaching = self.sessions.get(id.0).and_then(|s| s.reaching);
        if let Some((Reaching::Trying(attempt), _)) = reaching
            && attempt < limits::PAGING_ATTEMPTS
        {
            let at = self.now.instant.plus_ms(limits::TRY_AGAIN_MS);
            self.reach(id, Some((Reaching::Again(attempt), at)));
        }
    }

    /// A session for which the time has come; its procedure does the rest.
    pub fn next_due(&mut self) -> Option<SessionId> {
        let (until, id) = *self.reaching.first()?;
        (until <= self.now.instant).then(|| {
            self.reaching.remove(&(until, id));
            id
        })
    }

    /// Whether the time has come for a session.
    pub fn is_due(&self, id: SessionId) -> bool {
        let reaching = self.sessions.get(id.0).and_then(|s| s.reaching);
        reaching.is_some_and(|(_, until)| until <= self.now.instant)
    }

    /// Namf_Communication_N1N2TransferFailureNotification: the UE does not answer (step 5).
    pub fn transfer_failed(&mut self, notice: &NotifyTransferFailure) {
        let name = (notice.supi, notice.session);
        let Some(id) = self.by_identity.get(&name).copied() else {
            return;
        };
        let Some(session) = self.sessions.get_mut(id.0) else {
            return;
        };
        // Nobody is waited for any more.
        if let Some((trying @ Reaching::Trying(_), _)) = session.reaching {
            session.guard_ms = u64::from(notice.retry_after_s.get()) * 1000;
            let now = self.now.instant;
            self.reach(id, Some((trying, now)));
        }
    }
}
