//! Tunnels of a fleet's gNBs that move: packets of a UE's sessions come to other ends of tunnels (TS 23.502, 4.14.1).

use sluice_n2::RanUeId;
use sluice_n2::modify_indication::read_unsuccessful;

use super::{Fleet, Outcome, Procedure};

impl Fleet {
    /// The UE's gNB asks the AMF, and takes packets there from now on.
    pub(super) fn move_tunnels(&mut self, now_ns: u64, index: usize) -> Result<(), &'static str> {
        if !self.is_awake(now_ns, index)? {
            return Ok(());
        }
        let one = self.ues.get(index).ok_or("no such UE")?;
        let (gnb, ran) = one.at.ok_or("the UE is idle")?;
        let there = one.ue.sessions().status();
        let there = (1..16).filter(|session| there & 1 << session != 0);
        let station = self.gnbs.get_mut(gnb).ok_or("no such gNB")?;
        let up: Vec<u8> = there
            .filter(|session| station.session(ran, *session).is_some())
            .collect();
        if up.is_empty() {
            return Err("a UE without user plane has no tunnel");
        }
        let octets = station.move_sessions(ran, &up).ok_or("the AMF is silent")?;
        self.touched.insert(index);
        self.send(gnb, Some(ran), octets);
        Ok(())
    }

    /// Whether the AMF has not answered yet.
    pub(super) fn are_tunnels_moving(&self, index: usize) -> bool {
        let at = self.ues.get(index).and_then(|one| one.at);
        let station = at.and_then(|(gnb, ran)| Some((self.gnbs.get(gnb)?, ran)));
        station.is_some_and(|(station, ran)| station.is_moving(ran))
    }

    /// Handles the AMF's answers to moved tunnels: packets arrive at the new ones, or stay at the old ones.
    pub(super) fn follow_tunnels(&mut self, now_ns: u64, gnb: usize, about: Option<RanUeId>) {
        let Some(station) = self.gnbs.get_mut(gnb) else {
            return;
        };
        let confirms = station.take_confirms();
        let index = about.and_then(|ran| self.connected.get(&(gnb, ran)).copied());
        let Some(index) = index.filter(|_| !confirms.is_empty()) else {
            return;
        };
        self.touched.insert(index);
        let failed = confirms.iter().find_map(|one| one.failed.first());
        let task = self.task(index).map(|task| task.procedure);
        if let (Some((_, transfer)), Some(Procedure::MoveTunnels)) = (failed, task) {
            let why = read_unsuccessful(transfer).to_string();
            self.end(now_ns, index, Outcome::Refused(why));
        }
        self.progress(now_ns, index);
    }
}
