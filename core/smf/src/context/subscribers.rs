//! Subscriptions to events of sessions, and who waits for the answer to a call.

use sluice_sbi::{Instant, SmfEventSubscription, Subscriptions};

use crate::context::session::SessionId;
use crate::limits;

/// Receiver of the answer to a call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Waiter {
    /// Nobody: it is done, or it is not.
    Nobody,
    /// The procedure of a session.
    Session(SessionId),
    /// A subscription, which ends if its subscriber does not know it.
    Subscriber(u64),
}

/// Subscriptions to events of sessions.
pub(crate) struct Exposure {
    pub subscriptions: Subscriptions<SmfEventSubscription>,
    /// Number of the next.
    pub next: u64,
}

impl Default for Exposure {
    fn default() -> Self {
        Self {
            subscriptions: Subscriptions::new(limits::SUBSCRIPTIONS, limits::SUBSCRIPTIONS_OF_ANY),
            next: 1,
        }
    }
}

impl Exposure {
    pub fn len(&self) -> usize {
        self.subscriptions.len()
    }

    /// When the first subscription is over.
    pub fn next_end(&self) -> Instant {
        self.subscriptions.next_end()
    }
}
