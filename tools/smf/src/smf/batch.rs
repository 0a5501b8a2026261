//! Windowed batches of procedures.

use std::collections::VecDeque;
use std::sync::mpsc::Sender;

use super::worker::{Outcomes, Work};
use crate::{Done, SmfError};

/// Work that is not all begun, or not all done.
pub(super) struct Batch {
    waiting: VecDeque<(usize, Work)>,
    window: usize,
    on_their_way: usize,
    outcomes: Vec<Option<Result<Done, SmfError>>>,
    missing: usize,
    reply: Sender<Outcomes>,
}

impl Batch {
    pub fn new(works: Vec<Work>, window: usize, reply: Sender<Outcomes>) -> Self {
        let missing = works.len();
        Self {
            outcomes: std::iter::repeat_with(|| None).take(missing).collect(),
            waiting: works.into_iter().enumerate().collect(),
            window: window.max(1),
            on_their_way: 0,
            missing,
            reply,
        }
    }

    /// The next piece to begin and its index, if the window allows one.
    pub fn begin(&mut self) -> Option<(usize, Work)> {
        if self.on_their_way >= self.window {
            return None;
        }
        let next = self.waiting.pop_front()?;
        self.on_their_way += 1;
        Some(next)
    }

    pub fn end(&mut self, index: usize, outcome: Result<Done, SmfError>) {
        if let Some(place) = self.outcomes.get_mut(index) {
            self.on_their_way -= 1;
            self.missing -= 1;
            *place = Some(outcome);
        }
    }

    pub fn is_done(&self) -> bool {
        self.missing == 0
    }

    /// Gives all outcomes to whoever waits for them.
    pub fn reply(self) {
        // Whoever asked may have gone.
        let _ = self
            .reply
            .send(self.outcomes.into_iter().flatten().collect());
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use sluice_wire::ids::Seid;

    use super::*;
    use crate::Usage;

    #[test]
    fn the_window_bounds_what_is_on_its_way_and_order_is_kept() {
        let (sender, replies) = channel();
        let works = (1..=3).map(|seid| Work::Delete(Seid(seid))).collect();
        let mut batch = Batch::new(works, 2, sender);
        assert_eq!(batch.begin().map(|(index, _)| index), Some(0));
        assert_eq!(batch.begin().map(|(index, _)| index), Some(1));
        assert!(batch.begin().is_none());
        batch.end(1, Err(SmfError::Stopped));
        assert_eq!(batch.begin().map(|(index, _)| index), Some(2));
        batch.end(2, Ok(Done::Deleted(Usage::default())));
        assert!(!batch.is_done());
        batch.end(0, Ok(Done::Released));
        assert!(batch.is_done());
        batch.reply();
        let outcomes = replies.recv().unwrap();
        assert!(matches!(
            outcomes.as_slice(),
            [
                Ok(Done::Released),
                Err(SmfError::Stopped),
                Ok(Done::Deleted(_))
            ]
        ));
    }
}
