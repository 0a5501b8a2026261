//! PFD Management (TS 29.244, 6.2.5): sessions have the flows of their applications anew.

use crate::admit::{Refused, check, no_to};
use crate::outcome::Outcome;
use crate::rules::{Session, SessionId};
use crate::twin::Twin;
use sluice_wire::pfcp::IeType;
use sluice_wire::pfcp::message::PfdManagementRequest;
use sluice_wire::pfcp::value::NtpTime;

impl Twin {
    /// Sessions with a PDR of an application.
    pub fn sessions_with_applications(&self) -> usize {
        let has = |s: &&Session| s.pdrs.values().any(|p| p.application.is_some());
        self.sessions.values().filter(has).count()
    }

    /// Takes a message. Each session changes if its rules can be had with the new flows; `wrote_rules` tells whether
    /// the path got any of them. Gives what becomes of packets that were held.
    ///
    /// # Errors
    /// [`Refused`] if it tells what cannot be had; then nothing changes.
    pub fn manage_pfds(
        &mut self,
        request: &PfdManagementRequest<'_>,
        (now_ns, wall): (u64, NtpTime),
        wrote_rules: impl Fn(SessionId) -> bool,
    ) -> Result<Vec<Outcome>, Refused> {
        let names = match self.told.take(&self.config, request) {
            Ok(names) => names,
            Err((cause, why)) => return no_to(cause, IeType::PFD_CONTENTS, why),
        };
        let mut outcomes = Vec::new();
        let mut all = self.sessions.values();
        if !all.any(|session| session.names_any(&names)) {
            return Ok(outcomes);
        }
        let ids: Vec<SessionId> = self.sessions.keys().copied().collect();
        for id in ids {
            let before = &self.sessions[&id];
            let mut after = before.clone();
            after.renew_applications(|name| self.told.flows(&self.config, name));
            let is_had = check(&self.config, &self.sessions, id, &after).is_ok();
            if after.pdrs == before.pdrs || !is_had {
                continue;
            }
            if wrote_rules(id) {
                self.stand_behind(id);
            }
            after.give_up_unused_buckets();
            self.sessions.insert(id, after);
            self.advance_urrs(wall);
            outcomes.extend(self.waiting_again(now_ns, id));
            outcomes.extend(self.read_again(now_ns, id));
            outcomes.extend(self.turn_round(now_ns));
        }
        Ok(outcomes)
    }
}
