//! Another configuration while sessions are there.

use sluice_sbi::{Effect, Now};

use crate::Smf;
use crate::config::Config;
use crate::context::session::SessionId;
use crate::context::state::State;
use crate::upf::n4;

impl Smf {
    /// Goes on with another configuration: sessions stay as they are, new ones follow it. UPFs that are
    /// new are associated with, those that are gone released.
    ///
    /// # Errors
    /// Those of [`Smf::may_reconfigure`]; then nothing has changed.
    pub fn reconfigure(
        &mut self,
        now: Now,
        config: Config,
        effects: &mut Vec<Effect>,
    ) -> Result<(), String> {
        self.may_reconfigure(&config)?;
        let state = &mut *self.state.borrow_mut();
        state.now = now;
        state.take_over(config);
        state.take_effects(effects);
        Ok(())
    }

    /// Whether [`Smf::reconfigure`] would take this.
    ///
    /// # Errors
    /// If the configuration makes no sense, has another address on N4, or lacks a UPF or a data network
    /// that has sessions.
    pub fn may_reconfigure(&self, config: &Config) -> Result<(), String> {
        config.check()?;
        let state = self.state.borrow();
        if config.n4 != state.config.n4 {
            return Err("an SMF keeps its address on N4 as long as it runs".to_owned());
        }
        for upf in self.upfs() {
            let is_gone = !config.upfs.iter().any(|one| one.n4 == upf.n4);
            if is_gone && upf.sessions > 0 {
                let (n4, sessions) = (upf.n4, upf.sessions);
                return Err(format!(
                    "the UPF {n4} has {sessions} sessions; it can go when they are released"
                ));
            }
        }
        let mut sessions = state.sessions.iter();
        let lost = sessions.find(|(_, session)| config.network(&session.dnn).is_none());
        match lost {
            Some((_, session)) => {
                let dnn = session.dnn;
                Err(format!(
                    "the data network {dnn} has sessions; it can go when they are released"
                ))
            }
            None => Ok(()),
        }
    }
}

impl State {
    fn take_over(&mut self, config: Config) {
        let before = std::mem::replace(&mut self.config, config);
        self.move_places(&before);
        self.renew_pools();
        let mut known: Vec<_> = before
            .upfs
            .iter()
            .map(|upf| upf.n4)
            .zip(std::mem::take(&mut self.associations))
            .collect();
        for upf in &self.config.upfs {
            let at = known.iter().position(|(n4, _)| *n4 == upf.n4);
            let association = at.and_then(|at| known.swap_remove(at).1);
            self.associations.push(association);
        }
        let gone = known.into_iter().filter_map(|(_, association)| association);
        self.release_upfs(gone.collect());
        // Those that are new, and those whose turn has not come.
        self.associate_at = self.now.instant;
        let allowed = self.allowed_hosts();
        // One that is released still answers that.
        let ending = self.endpoint.associations();
        let ending: Vec<_> = ending
            .filter(|(id, _)| !self.associations.contains(&Some(*id)))
            .filter_map(|(_, one)| n4::host(one.primary().ip()))
            .collect();
        let allowed = allowed.into_iter().chain(ending).collect();
        self.endpoint.set_allowed_peers(allowed);
    }
}

impl State {
    /// UPFs and data networks of sessions may have other places in the configuration, and what is guaranteed
    /// is counted by those.
    fn move_places(&mut self, before: &Config) {
        self.guaranteed.clear();
        let ids: Vec<SessionId> = self
            .sessions
            .iter()
            .map(|(key, _)| SessionId(key))
            .collect();
        for id in ids {
            let Some(session) = self.sessions.get_mut(id.0) else {
                continue;
            };
            let moved = session.flows.place.and_then(|(upf, _)| {
                let n4 = before.upfs.get(upf)?.n4;
                let upf = self.config.upfs.iter().position(|one| one.n4 == n4)?;
                let mut networks = self.config.networks.iter();
                let network = networks.position(|one| one.dnn == session.dnn)?;
                Some((upf, network))
            });
            session.flows.place = moved;
            let sum = session.flows.guaranteed_bps;
            self.take(moved, sum);
        }
    }
}
