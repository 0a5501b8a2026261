//! Reports from the UPF, and re-establishment of lost sessions.

use std::collections::HashMap;

use crate::Flow;
use sluice_smf_emulator::{Change, Report};
use sluice_wire::ids::Seid;

use super::Network;
use super::mobility::TOGETHER;
use super::ues::{Session, Ue};

impl Network {
    pub(super) fn take_reports(&mut self) {
        let Some(core) = &self.core else { return };
        let Ok((reports, lost)) = core.smf().take_reports() else {
            return;
        };
        self.totals.unknown_reports += lost;
        if reports.is_empty() {
            return;
        }
        let by_seid: HashMap<Seid, usize> = self
            .ues
            .iter()
            .enumerate()
            .filter_map(|(index, ue)| Some((ue.session()?.cp_seid, index)))
            .collect();
        for report in reports {
            let Report::Session(report) = report else {
                continue;
            };
            self.totals.error_reports += report.error_indications.len() as u64;
            let Some(ue) = by_seid.get(&report.cp_seid).copied() else {
                self.totals.unknown_reports += 1;
                continue;
            };
            if !report.usage.urrs.is_empty() {
                self.add_usage(ue, &report.usage);
            }
            if report.is_final {
                self.lose_session(ue);
            }
        }
    }

    /// Notices that the association has gone or that the UPF has started anew, and sets up
    /// sessions again that UEs need.
    pub(super) fn keep_association(&mut self) {
        let Some(core) = &mut self.core else { return };
        let peer = core.keep();
        let before = core.upf_started;
        core.upf_started = peer.map(|peer| peer.recovery_time_stamp);
        let Some(peer) = peer else {
            if before.is_some() {
                self.totals.associations_lost += 1;
                self.screen.say("  the association with the UPF has ended");
            }
            return;
        };
        let is_new = before != Some(peer.recovery_time_stamp);
        if is_new && before.is_some() {
            self.totals.associations_lost += 1;
        }
        if is_new {
            self.screen.say("  the UPF is associated again");
        }
        if peer.is_lost {
            return;
        }
        self.lose_sessions_that_went(is_new);
        self.restore();
    }

    /// With the association went the sessions, which the SMF knows.
    fn lose_sessions_that_went(&mut self, is_new: bool) {
        let Some(core) = &self.core else { return };
        let known = core.smf().session_count().unwrap_or(0);
        let ours = self.ues.iter().filter(|ue| ue.session().is_some()).count();
        if is_new || (known == 0 && ours > 0) {
            (0..self.ues.len()).for_each(|ue| self.lose_session(ue));
        }
    }

    fn lose_session(&mut self, ue: usize) {
        let session = self.ues.get_mut(ue).and_then(Ue::session_mut);
        if session.is_some_and(|session| session.take().is_some()) {
            self.totals.sessions_lost += 1;
        }
    }

    /// Sets up the sessions that served UEs should have.
    fn restore(&mut self) {
        let wants = |ue: &usize| {
            let one = self.ues.get(*ue).filter(|ue| !ue.is_given_up);
            let served = one.and_then(Ue::served);
            served.is_some_and(|served| served.session.is_none()) && self.has_session_of_ours(*ue)
        };
        let wanted: Vec<_> = (0..self.ues.len()).filter(wants).take(TOGETHER).collect();
        if wanted.is_empty() {
            return;
        }
        let established = self.establish(&wanted);
        let mut connected = Vec::new();
        for (ue, established) in established {
            let counted = self.counted(ue);
            let session = Session::new(established.cp_seid, counted);
            if let Some(served) = self.ues.get_mut(ue).and_then(Ue::served_mut) {
                served.session = Some(session);
                connected.push(ue);
            }
            self.set_uplink(ue, established.uplink);
        }
        self.totals.sessions_restored += connected.len() as u64;
        self.connect("restoration", &connected, Change::Activate);
    }

    /// Uplink and downlink that gNBs have counted for a UE since it attached.
    pub(super) fn counted(&self, ue: usize) -> [Flow; 2] {
        let served = self.ues.get(ue).and_then(Ue::served);
        let report = served.and_then(|served| {
            let station = self.stations.get(served.gnb)?;
            station.handle().ue(served.id).ok()
        });
        report.map_or([Flow::default(); 2], |report| report.counters.usage())
    }
}
