//! UEs of a fleet that go from one of its gNBs to another.

use sluice_n2::{RanUeId, Tunnel};

use super::{Fleet, Outcome, Procedure};
use crate::handover::HandoverAnswer;

impl Fleet {
    /// The gNBs have arranged it over Xn; the AMF hears of it by the one where the UE is now.
    pub(super) fn switch_path(
        &mut self,
        now_ns: u64,
        index: usize,
        to: usize,
    ) -> Result<(), &'static str> {
        let Some((from, ran)) = self.leaves(now_ns, index, to)? else {
            return Ok(());
        };
        let station = self.gnbs.get_mut(from).ok_or("no such gNB")?;
        let leaving = station.hand_out(ran).ok_or("the AMF is silent")?;
        let target = self.gnbs.get_mut(to).ok_or("no such gNB")?;
        let (there, octets) = target.take_in(leaving);
        self.moved(index, (from, ran), (to, there));
        self.send(to, Some(there), octets);
        Ok(())
    }

    /// The UE's gNB asks the AMF.
    pub(super) fn ask_handover(
        &mut self,
        now_ns: u64,
        index: usize,
        to: usize,
    ) -> Result<(), &'static str> {
        let Some((from, ran)) = self.leaves(now_ns, index, to)? else {
            return Ok(());
        };
        let (station, target) = (self.gnbs.get(from), self.gnbs.get(to));
        let (station, target) = station.zip(target).ok_or("no such gNB")?;
        let octets = station.require_handover(ran, target, false);
        self.send(from, Some(ran), octets.ok_or("the AMF is silent")?);
        Ok(())
    }

    /// gNB of a UE that is to leave; none if it is at the target already, or becomes connected first.
    fn leaves(
        &mut self,
        now_ns: u64,
        index: usize,
        to: usize,
    ) -> Result<Option<(usize, RanUeId)>, &'static str> {
        if !self.is_awake(now_ns, index)? {
            return Ok(None);
        }
        let at = self.ues.get(index).and_then(|one| one.at);
        let has_session = at.is_some_and(|(gnb, ran)| {
            let station = self.gnbs.get(gnb);
            station.is_some_and(|station| station.has_sessions(ran))
        });
        if at.is_some_and(|(gnb, _)| gnb != to) && !has_session {
            return Err("a UE without user plane is not handed over");
        }
        Ok(at.filter(|(gnb, _)| *gnb != to))
    }

    /// A UE is elsewhere from now on.
    fn moved(&mut self, index: usize, before: (usize, RanUeId), after: (usize, RanUeId)) {
        self.connected.remove(&before);
        self.connected.insert(after, index);
        if let Some(one) = self.ues.get_mut(index) {
            (one.at, one.gnb) = (Some(after), after.0);
            one.before = Some(before);
        }
        self.touched.insert(index);
    }

    /// Whether a UE is at a gNB, and the network knows it.
    pub(super) fn is_at(&self, index: usize, to: usize) -> bool {
        let at = self.ues.get(index).and_then(|one| one.at);
        let station = self.gnbs.get(to);
        let there = at.filter(|(gnb, _)| *gnb == to).zip(station);
        there.is_some_and(|((_, ran), station)| station.is_known(ran))
    }

    /// Handles a gNB's answers to handovers: UEs move, or stay.
    pub(super) fn follow_handovers(&mut self, now_ns: u64, gnb: usize, about: Option<RanUeId>) {
        let Some(station) = self.gnbs.get_mut(gnb) else {
            return;
        };
        let (commanded, answers) = (station.take_commanded(), station.take_answers());
        for ran in commanded {
            self.goes(now_ns, (gnb, ran));
        }
        let index = about.and_then(|ran| self.connected.get(&(gnb, ran)).copied());
        let Some(index) = index else { return };
        for answer in answers {
            let why = match answer {
                HandoverAnswer::Refused(cause) => format!("{cause}"),
                HandoverAnswer::NotSwitched => "no session was switched".to_owned(),
                HandoverAnswer::Switched
                | HandoverAnswer::Commanded
                | HandoverAnswer::Cancelled => continue,
            };
            let task = self.task(index).map(|task| task.procedure);
            if let Some(Procedure::PathSwitch(_) | Procedure::Handover(_)) = task {
                self.end(now_ns, index, Outcome::Refused(why));
            }
        }
        self.progress(now_ns, index);
    }

    /// Tunnel to which the gNB that a UE has just left forwards packets of a session, and the further endpoint at its
    /// new gNB that takes them. By Xn the gNBs have arranged it between them, without a further endpoint. By N2 it is
    /// as the AMF decided, for as long as the source has the UE.
    pub fn forwarding(&self, ue: usize, session: u8) -> (Option<Tunnel>, Option<Tunnel>) {
        let one = self.ues.get(ue);
        let Some((before, at)) = one.and_then(|one| one.before.zip(one.at)) else {
            return (None, None);
        };
        let (source, target) = (self.gnbs.get(before.0), self.gnbs.get(at.0));
        let Some((source, target)) = source.zip(target) else {
            return (None, None);
        };
        match source.amf_id(before.1) {
            Some(_) => (
                source.forwards_to(before.1, session),
                target.takes_forwarded(at.1, session),
            ),
            None => {
                let there = target.session(at.1, session);
                (there.map(|there| there.downlink), None)
            }
        }
    }

    /// The UE that was told to go is at the target, which says so.
    fn goes(&mut self, now_ns: u64, before: (usize, RanUeId)) {
        let Some(index) = self.connected.get(&before).copied() else {
            return;
        };
        let Some(Procedure::Handover(to)) = self.task(index).map(|task| task.procedure) else {
            return;
        };
        let Some(source) = self.gnbs.get(before.0) else {
            return;
        };
        let there = self
            .gnbs
            .get(to)
            .and_then(|target| target.expected(source, before.1));
        let Some(there) = there else { return };
        let notify = self.gnbs.get_mut(to).and_then(|one| one.notify(there));
        self.moved(index, before, (to, there));
        if let Some(octets) = notify {
            self.send(to, Some(there), octets);
        }
        self.progress(now_ns, index);
    }
}
