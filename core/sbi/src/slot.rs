//! Slots of messages: a message is written once, and what carries it moves its slot.
//!
//! Slots that were given back are kept by the thread and written again, so that a call costs no allocation.

use std::cell::RefCell;
use std::fmt;
use std::ops::Deref;

use crate::field::Problem;
use crate::message::{Failure, Message};

/// Slots that a thread keeps for the next messages: more than a core has under way in a turn.
const SPARE: usize = 64;

thread_local! {
    #[expect(clippy::vec_box, reason = "what moves is the slot, and the message in it does not")]
    static SPARES: RefCell<Vec<Box<Message>>> = const { RefCell::new(Vec::new()) };
}

/// The slot of a message. Who has it reads the message in it; when it is dropped, it serves another.
#[derive(PartialEq, Eq)]
pub struct Slot(Option<Box<Message>>);

impl<M: Into<Message>> From<M> for Slot {
    fn from(message: M) -> Self {
        let spare = SPARES.with_borrow_mut(Vec::pop);
        Self(Some(match spare {
            Some(mut slot) => {
                *slot = message.into();
                slot
            }
            None => Box::new(message.into()),
        }))
    }
}

impl Deref for Slot {
    type Target = Message;

    fn deref(&self) -> &Message {
        // A slot is empty while it is dropped, and not before.
        const LOST: &Message = &Message::Failure(Failure {
            problem: Problem::Protocol,
        });
        self.0.as_deref().unwrap_or(LOST)
    }
}

impl Clone for Slot {
    fn clone(&self) -> Self {
        Self::from(**self)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let Some(slot) = self.0.take() else {
            return;
        };
        // At the end of its thread there are no spares any more.
        let _ = SPARES.try_with(|spares| {
            let mut spares = spares.borrow_mut();
            if spares.len() < SPARE {
                spares.push(slot);
            }
        });
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::{Effect, Input};
    use crate::message::Done;

    #[test]
    fn a_slot_serves_one_message_after_another() {
        let at = |slot: &Slot| std::ptr::from_ref::<Message>(slot);
        let (first, second) = (Slot::from(Done::ALL), Slot::from(Done::ALL));
        let place = at(&first);
        assert_ne!(place, at(&second));
        assert!(*first == Message::from(Done::ALL) && first == second.clone());
        drop(first);
        assert_eq!(at(&Slot::from(Done::ALL)), place);
    }

    #[test]
    fn spare_slots_are_bounded() {
        let many: Vec<Slot> = (0..2 * SPARE).map(|_| Slot::from(Done::ALL)).collect();
        drop(many);
        assert_eq!(SPARES.with_borrow(Vec::len), SPARE);
    }

    /// What a turn hands on is as large as its largest member.
    #[test]
    fn effects_and_inputs_carry_no_message() {
        assert!(size_of::<Message>() > 1_024);
        assert!(size_of::<Effect>() <= 128, "{}", size_of::<Effect>());
        assert!(size_of::<Input<'_>>() <= 48, "{}", size_of::<Input<'_>>());
    }
}
