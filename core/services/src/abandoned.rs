//! Creations that nobody hears of: whoever asked has reset its stream, its connection has ended, or its time was over before
//! the answer. A consumer that cannot name a resource cannot delete it, so its producer takes it away again.

use sluice_sbi::{DeleteAmPolicy, DeleteSmPolicy, Message, ReleaseSmContext, Slot};

/// Request whose outcome is taken away again if nobody hears of it. What others create is told of once more by the next
/// request of the same consumer, or is forgotten in time.
pub fn is_creation(request: &Message) -> bool {
    matches!(
        request,
        Message::CreateSmContext(_) | Message::CreateSmPolicy(_) | Message::CreateAmPolicy(_)
    )
}

/// Message to the same function that takes away what it has created by this answer to such a request; none if that is nothing.
pub fn undo(answer: &Message) -> Option<Slot> {
    Some(match answer {
        Message::SmContextCreated(answer) if answer.created => {
            let context = answer.context;
            ReleaseSmContext { context }.into()
        }
        Message::SmPolicy(answer) => {
            let policy = answer.policy;
            DeleteSmPolicy { policy }.into()
        }
        Message::AmPolicy(answer) => {
            let policy = answer.policy;
            DeleteAmPolicy { policy }.into()
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_sbi::{AmPolicy, Container, Problem, SmContextCreated};

    #[test]
    fn what_was_created_is_taken_away_and_nothing_else() {
        let created = |created| SmContextCreated {
            created,
            context: 7.into(),
            n1: Container::NONE,
        };
        let context = 7.into();
        let release = Message::from(ReleaseSmContext { context });
        assert!(undo(&created(true).into()).is_some_and(|undo| *undo == release));
        let policy = AmPolicy {
            policy: 8.into(),
            rfsp: 1.into(),
        };
        let policy_is_over = Message::from(DeleteAmPolicy { policy: 8.into() });
        assert!(undo(&policy.into()).is_some_and(|undo| *undo == policy_is_over));
        assert!(undo(&created(false).into()).is_none());
        assert!(undo(&Problem::Timeout.into()).is_none());
        // Its answer is one of a creation, too.
        let update = sluice_sbi::UpdateSmContext {
            context,
            change: sluice_sbi::SmChange::N1,
            n1: Container::NONE,
            n2: Container::NONE,
        };
        assert!(!is_creation(&update.into()));
    }
}
