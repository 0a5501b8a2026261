//! Batched PFCP session procedures.

use crate::{FTeid, Flow};
use sluice_smf_emulator::{Change, Established, SmfError, Tunnel, Usage};

use super::Network;
use super::ues::Session;

/// Requests that wait for answers at one time.
const WINDOW: usize = 64;

/// The UPF's end as the gNB wants it.
pub fn f_teid(tunnel: Tunnel) -> FTeid {
    FTeid {
        address: tunnel.address,
        teid: tunnel.teid,
    }
}

impl Network {
    /// Whether the UE's session is ours to make.
    pub(super) fn has_session_of_ours(&self, ue: usize) -> bool {
        let group = self.ues.get(ue).map_or(0, |ue| ue.group);
        let group = self.scenario.ues.get(group);
        self.core.is_some()
            && group.is_some_and(|group| group.tunnels.is_none() && group.sims.is_none())
    }

    /// Establishes sessions of these UEs; gives what came of each. Failures are counted.
    pub(super) fn establish(&mut self, ues: &[usize]) -> Vec<(usize, Established)> {
        let Some(core) = &self.core else {
            return Vec::new();
        };
        let plans: Vec<_> = ues
            .iter()
            .filter_map(|index| {
                let ue = self.ues.get(*index)?;
                let group = self.scenario.ues.get(ue.group)?;
                Some(core.plan(ue, group))
            })
            .collect();
        let outcomes = core.smf().establish_many(plans, WINDOW);
        let outcomes = ues.iter().copied().zip(self.all_or_none(outcomes));
        let mut done = Vec::new();
        for (ue, outcome) in outcomes {
            match outcome {
                Ok(established) => done.push((ue, established)),
                Err(error) => self.fail_for("session", ue, &error),
            }
        }
        done
    }

    /// Changes the sessions of these UEs; gives those that are changed. Usage that came along is
    /// added, and another uplink told to the gNB.
    pub(super) fn change(&mut self, what: &str, changes: &[(usize, Change)]) -> Vec<usize> {
        let Some(core) = &self.core else {
            return Vec::new();
        };
        let seid = |ue: usize| self.ues.get(ue)?.session().map(|session| session.cp_seid);
        let (ues, works): (Vec<_>, Vec<_>) = changes
            .iter()
            .filter_map(|(ue, change)| Some((*ue, (seid(*ue)?, *change))))
            .unzip();
        let outcomes = core.smf().change_many(works, WINDOW);
        let mut done = Vec::new();
        for (ue, outcome) in ues.into_iter().zip(self.all_or_none(outcomes)) {
            match outcome {
                Ok(changed) => {
                    self.add_usage(ue, &changed.usage);
                    if let Some(uplink) = changed.uplink {
                        self.set_uplink(ue, uplink);
                    }
                    done.push(ue);
                }
                // A dialect without URRs has nothing to tell.
                Err(SmfError::NotMeasured(_)) => {}
                Err(error) => self.fail_for(what, ue, &error),
            }
        }
        done
    }

    /// Deletes sessions; each comes with what its gNB counted in the end.
    pub(super) fn delete(&mut self, sessions: Vec<(usize, Session, [Flow; 2])>) {
        let Some(core) = &self.core else { return };
        if sessions.is_empty() {
            return;
        }
        if !core.is_up() {
            let count = sessions.len();
            return self.fail(format!(
                "{count} sessions were not deleted: the UPF does not answer"
            ));
        }
        let seids: Vec<_> = sessions.iter().map(|(_, s, _)| s.cp_seid).collect();
        let outcomes = core.smf().delete_many(seids, WINDOW);
        let outcomes = self.all_or_none(outcomes);
        for ((ue, mut session, counted), outcome) in sessions.into_iter().zip(outcomes) {
            match outcome {
                Ok(usage) => {
                    self.totals.usage_reports += session.add(&usage);
                    if self.is_measured(ue) {
                        self.totals.usage_difference += session.difference(counted);
                    }
                }
                Err(error) => self.fail_for("deletion", ue, &error),
            }
        }
    }

    /// Has the UPF tell the usage of all sessions up to now.
    pub fn ask_usage(&mut self) {
        let asked = |ue: &usize| {
            let has = self.ues.get(*ue).is_some_and(|ue| ue.session().is_some());
            has && self.is_measured(*ue)
        };
        let queries: Vec<_> = (0..self.ues.len())
            .filter(asked)
            .map(|ue| (ue, Change::Query))
            .collect();
        self.change("usage", &queries);
    }

    pub(super) fn is_measured(&self, ue: usize) -> bool {
        let group = self.ues.get(ue).map_or(0, |ue| ue.group);
        let group = self.scenario.ues.get(group);
        let has_urrs = self
            .core
            .as_ref()
            .is_some_and(|core| !core.smf().dialect().profile().urr.is_empty());
        has_urrs && group.is_some_and(|group| group.measured)
    }

    pub(super) fn add_usage(&mut self, ue: usize, usage: &Usage) {
        let session = self.ues.get_mut(ue).and_then(super::Ue::session_mut);
        match session.and_then(Option::as_mut) {
            Some(session) => self.totals.usage_reports += session.add(usage),
            None => self.totals.unknown_reports += 1,
        }
    }

    pub(super) fn set_uplink(&mut self, ue: usize, uplink: Tunnel) {
        let Some(served) = self.ues.get_mut(ue).and_then(super::Ue::served_mut) else {
            return;
        };
        if served.uplink == uplink {
            return;
        }
        served.uplink = uplink;
        let (gnb, id) = (served.gnb, served.id);
        let told = self
            .stations
            .get(gnb)
            .map(|station| station.handle().set_uplink(id, f_teid(uplink)));
        if let Some(Err(error)) = told {
            self.fail(error);
        }
    }

    /// Counts a procedure of a UE that failed.
    pub fn fail_for(&mut self, what: &str, ue: usize, error: &dyn std::fmt::Display) {
        let name = self.ues.get(ue).map(super::Ue::name).unwrap_or_default();
        self.fail(format!("{what} of {name}: {error}"));
    }

    /// The outcomes, or a failure of our own thread in place of all.
    fn all_or_none<T>(
        &mut self,
        outcomes: Result<Vec<Result<T, SmfError>>, SmfError>,
    ) -> Vec<Result<T, SmfError>> {
        outcomes.unwrap_or_else(|error| {
            self.fail(error);
            Vec::new()
        })
    }
}
