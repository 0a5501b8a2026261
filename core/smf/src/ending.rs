//! The end of the SMF: sessions are deleted at their UPFs, so that what they used is told and nothing
//! of them stays behind.

use sluice_sbi::{Effect, Now};

use crate::Smf;
use crate::context::session::SessionId;
use crate::limits;
use crate::procedure::release;

impl Smf {
    /// Releases all sessions, a few at a time, and takes no more; UEs are not told: their gNBs are about to
    /// lose the core. It is done when [`Smf::sessions`] are none.
    pub fn end(&mut self, now: Now, effects: &mut Vec<Effect>) {
        {
            let state = &mut *self.state.borrow_mut();
            state.now = now;
            let all = state.sessions.iter().map(|(key, _)| SessionId(key));
            state.to_end = Some(all.collect());
        }
        self.go_on_ending();
        self.state.borrow_mut().take_effects(effects);
    }

    /// Releases the associations with UPFs (TS 29.244, 6.2.8), and whatever sessions they still have. It
    /// is done when [`Smf::upfs_left`] is none.
    pub fn leave_upfs(&mut self, now: Now, effects: &mut Vec<Effect>) {
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        state.to_end.get_or_insert_default();
        let all = state.endpoint.associations().map(|(id, _)| id).collect();
        state.release_upfs(all);
        state.take_effects(effects);
    }

    /// Associations with UPFs that there are, or are being begun or ended.
    pub fn upfs_left(&self) -> usize {
        self.state.borrow().endpoint.associations().count()
    }

    pub(crate) fn go_on_ending(&mut self) {
        while self.ending.len() < limits::RESTORATIONS {
            let next = {
                let state = &mut *self.state.borrow_mut();
                state.to_end.as_mut().and_then(|ids| ids.pop_front())
            };
            let Some(id) = next else {
                return;
            };
            // One that has a procedure is released when that ends.
            if self.is_free(id) {
                self.end_session(id);
            }
        }
    }

    pub(crate) fn end_session(&mut self, id: SessionId) {
        if !self.state.borrow().is_there(id) {
            return;
        }
        self.start(id, release::replaced);
        let task = self.state.borrow().sessions.get(id.0).and_then(|s| s.task);
        self.ending.extend(task);
    }
}
