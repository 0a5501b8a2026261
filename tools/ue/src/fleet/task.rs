//! Procedures of a fleet's UEs: what begins them, and by what they are known to have ended.

use sluice_n1::{Downlink, RegistrationKind};
use sluice_n2::RanUeId;

use super::Fleet;
use crate::ue::UeState;

/// How often a procedure begins anew when the network takes the connection away.
const TRIES: u8 = 3;

/// Procedure of a UE (TS 23.502).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Procedure {
    /// 4.2.2.2
    Register(RegistrationKind),
    /// 4.3.2.2, of a session that the UE wants.
    Establish(u8),
    /// 4.3.4.2
    Release(u8),
    /// 4.2.3.2, with all sessions.
    Service,
    /// 4.2.3.3: from a packet for an idle UE to the user plane.
    Paged,
    /// 4.2.6, by the gNB's wish.
    Idle,
    /// 4.9.1.2: to the gNB of this index, which has arranged it with the UE's own.
    PathSwitch(usize),
    /// 4.9.1.3: to the gNB of this index, by the AMF.
    Handover(usize),
    /// 4.14.1: packets of all sessions come to other tunnels of the gNB.
    MoveTunnels,
    /// 4.2.2.3.2
    Deregister {
        /// The UE does not wait for an answer.
        switch_off: bool,
    },
}

impl Procedure {
    pub fn name(self) -> &'static str {
        match self {
            Self::Register(RegistrationKind::Initial) => "registration",
            Self::Register(_) => "registration update",
            Self::Establish(_) => "session establishment",
            Self::Release(_) => "session release",
            Self::Service => "service request",
            Self::Paged => "paging",
            Self::Idle => "AN release",
            Self::PathSwitch(_) => "path switch",
            Self::Handover(_) => "handover",
            Self::MoveTunnels => "QoS flow mobility",
            Self::Deregister { .. } => "deregistration",
        }
    }
}

/// Result of a procedure.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    Done,
    /// The network has refused it, for this reason.
    Refused(String),
    /// There was no answer in time.
    TimedOut,
    Lost,
    /// Impossible in the UE's present state.
    Impossible(&'static str),
}

/// A procedure that has ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ended {
    /// Of which UE, by index.
    pub ue: usize,
    pub procedure: Procedure,
    pub outcome: Outcome,
    /// From when it was due.
    pub took_ns: u64,
}

/// A procedure that is under way.
#[derive(Clone, Copy, Debug)]
pub(super) struct Task {
    pub procedure: Procedure,
    due_ns: u64,
    deadline_ns: u64,
    /// The UE comes back first.
    is_waking: bool,
    /// Whether the message went over an existing connection, which may have been about to end.
    is_on_old: bool,
    /// Of sessions, before.
    refusals: u64,
    /// Service requests that were accepted, before.
    services: u64,
    tries: u8,
}

impl Fleet {
    /// Begins a procedure of a UE, which is given up at a time. Its duration counts from `due_ns`,
    /// when it should have begun. False if the UE is busy.
    pub fn begin(
        &mut self,
        ue: usize,
        procedure: Procedure,
        due_ns: u64,
        deadline_ns: u64,
    ) -> bool {
        let Some(one) = self.ues.get_mut(ue).filter(|one| !one.is_busy()) else {
            return false;
        };
        one.task = Some(Task {
            procedure,
            due_ns,
            deadline_ns,
            is_waking: false,
            is_on_old: false,
            refusals: one.ue.sessions().refusals(),
            services: one.ue.services(),
            tries: 0,
        });
        self.deadlines.insert((deadline_ns, ue));
        self.ask(due_ns, ue);
        true
    }

    /// Says the first message of a UE's procedure.
    fn ask(&mut self, now_ns: u64, index: usize) {
        let Some(procedure) = self.task(index).map(|task| task.procedure) else {
            return;
        };
        let asked = match procedure {
            Procedure::Register(kind) => self.register(index, kind),
            Procedure::Establish(session) => self.establish(now_ns, index, session),
            Procedure::Release(session) => self.release(now_ns, index, session),
            Procedure::Service => self.come_back(index, u16::MAX),
            Procedure::Paged => self.await_paging(index),
            Procedure::Idle => self.go_idle(index),
            Procedure::PathSwitch(to) => self.switch_path(now_ns, index, to),
            Procedure::Handover(to) => self.ask_handover(now_ns, index, to),
            Procedure::MoveTunnels => self.move_tunnels(now_ns, index),
            Procedure::Deregister { switch_off } => self.deregister(index, switch_off),
        };
        match asked {
            Ok(()) => self.progress(now_ns, index),
            Err(why) => self.end(now_ns, index, Outcome::Impossible(why)),
        }
    }

    pub(super) fn task(&mut self, index: usize) -> Option<&mut Task> {
        self.ues.get_mut(index)?.task.as_mut()
    }

    fn register(&mut self, index: usize, kind: RegistrationKind) -> Result<(), &'static str> {
        let one = self.ues.get_mut(index).ok_or("no such UE")?;
        let before = one.ue.state();
        let nas = one.ue.register(kind);
        self.recount(index, before);
        self.touched.insert(index);
        self.say(index, nas)
    }

    fn establish(&mut self, now_ns: u64, index: usize, session: u8) -> Result<(), &'static str> {
        let one = self.ues.get_mut(index).ok_or("no such UE")?;
        let wanted = one.wanted.get(&session).cloned();
        let wanted = wanted.ok_or("the UE has no session of this number")?;
        if !self.is_awake(now_ns, index)? {
            return Ok(());
        }
        let one = self.ues.get_mut(index).ok_or("no such UE")?;
        let nas = one.ue.establish(session, &wanted);
        self.say(index, nas)
    }

    fn release(&mut self, now_ns: u64, index: usize, session: u8) -> Result<(), &'static str> {
        let one = self.ues.get(index).ok_or("no such UE")?;
        if one.ue.sessions().get(session).is_none() || !self.is_awake(now_ns, index)? {
            // It is released already.
            return Ok(());
        }
        let one = self.ues.get_mut(index).ok_or("no such UE")?;
        let nas = one.ue.release(session);
        self.say(index, nas)
    }

    /// Whether a registered UE is connected; if not, it begins to come back.
    pub(super) fn is_awake(&mut self, now_ns: u64, index: usize) -> Result<bool, &'static str> {
        let one = self.ues.get(index).ok_or("no such UE")?;
        if one.ue.state() != UeState::Registered {
            return Err("the UE is not registered");
        }
        if one.at.is_some() {
            return Ok(true);
        }
        if let Some(task) = self.task(index) {
            task.is_waking = true;
        }
        self.come_back(index, 0)?;
        self.progress(now_ns, index);
        Ok(false)
    }

    /// A service request; a bit for each session whose user plane is wanted.
    fn come_back(&mut self, index: usize, sessions: u16) -> Result<(), &'static str> {
        let one = self.ues.get_mut(index).ok_or("no such UE")?;
        one.ue.sessions_mut().set_data(sessions);
        let nas = match one.at {
            Some(_) => one.ue.request_user_planes(),
            None => one.ue.request_service(),
        };
        let nas = nas.ok_or("the UE is not registered")?;
        self.say(index, nas)
    }

    /// The network says the first word.
    fn await_paging(&self, index: usize) -> Result<(), &'static str> {
        let one = self.ues.get(index).ok_or("no such UE")?;
        match (one.ue.state(), one.at) {
            (UeState::Registered, None) => Ok(()),
            (UeState::Registered, Some(_)) => Err("the UE is connected"),
            _ => Err("the UE is not registered"),
        }
    }

    /// Whether a UE waits for its paging.
    fn is_awaiting_paging(&self, index: usize) -> bool {
        let one = self.ues.get(index).filter(|one| one.at.is_none());
        let task = one.and_then(|one| one.task);
        task.is_some_and(|task| task.procedure == Procedure::Paged)
    }

    /// The first packet comes for a UE that waits for its paging, whose duration counts from now.
    pub fn packet_comes(&mut self, now_ns: u64, ue: usize) {
        if self.is_awaiting_paging(ue)
            && let Some(task) = self.task(ue)
        {
            task.due_ns = now_ns;
        }
    }

    /// No packet can come for a UE that waits for its paging.
    pub fn give_up_paging(&mut self, now_ns: u64, ue: usize, why: &'static str) {
        if self.is_awaiting_paging(ue) {
            self.end(now_ns, ue, Outcome::Impossible(why));
        }
    }

    /// A UE that waits for its paging answers it. False if it does not wait.
    pub fn answer_paging(&mut self, now_ns: u64, ue: usize) -> bool {
        if !self.is_awaiting_paging(ue) {
            return false;
        }
        self.set_paged(ue, true);
        let asked = self.come_back(ue, u16::MAX);
        self.set_paged(ue, false);
        if let Err(why) = asked {
            self.end(now_ns, ue, Outcome::Impossible(why));
        }
        true
    }

    fn set_paged(&mut self, ue: usize, is_paged: bool) {
        if let Some(one) = self.ues.get_mut(ue) {
            one.ue.is_paged = is_paged;
        }
    }

    fn go_idle(&mut self, index: usize) -> Result<(), &'static str> {
        let one = self.ues.get(index).ok_or("no such UE")?;
        let Some((gnb, ran)) = one.at else {
            return Ok(());
        };
        let station = self.gnbs.get(gnb).ok_or("no such gNB")?;
        let octets = station.ask_release(ran).ok_or("the AMF is silent")?;
        self.send(gnb, Some(ran), octets);
        Ok(())
    }

    fn deregister(&mut self, index: usize, switch_off: bool) -> Result<(), &'static str> {
        let one = self.ues.get_mut(index).ok_or("no such UE")?;
        let before = one.ue.state();
        let nas = one.ue.deregister(switch_off, one.at.is_some());
        let nas = nas.ok_or("the UE is not registered")?;
        self.recount(index, before);
        self.touched.insert(index);
        self.say(index, nas)
    }

    /// A UE's message, by its connection or a new one.
    fn say(&mut self, index: usize, nas: Vec<u8>) -> Result<(), &'static str> {
        let one = self.ues.get_mut(index).ok_or("no such UE")?;
        if let Some(task) = &mut one.task {
            task.is_on_old = one.at.is_some();
        }
        if let Some((gnb, ran)) = one.at {
            let station = self.gnbs.get(gnb).ok_or("no such gNB")?;
            let octets = station.uplink(ran, nas).ok_or("the AMF is silent")?;
            self.send(gnb, Some(ran), octets);
            return Ok(());
        }
        let gnb = one.gnb;
        let station = self.gnbs.get_mut(gnb).ok_or("no such gNB")?;
        if station.response().is_none() {
            return Err("the UE's gNB has no AMF");
        }
        let s_tmsi = one.ue.guti().map(|guti| guti.s_tmsi());
        let (ran, octets) = station.connect(nas, s_tmsi);
        one.at = Some((gnb, ran));
        self.connected.insert((gnb, ran), index);
        self.send(gnb, Some(ran), octets);
        Ok(())
    }

    /// Looks whether a UE's procedure has come further.
    pub(super) fn progress(&mut self, now_ns: u64, index: usize) {
        let Some(one) = self.ues.get(index) else {
            return;
        };
        let Some(task) = one.task else { return };
        if self.is_awaiting_paging(index) {
            return;
        }
        let is_refused = || one.ue.refused().is_some();
        if task.is_waking {
            if is_refused() {
                return self.refused(now_ns, index);
            }
            if one.ue.services() > task.services {
                let services = one.ue.services();
                if let Some(task) = self.task(index) {
                    (task.is_waking, task.services) = (false, services);
                }
                self.ask(now_ns, index);
            }
            return;
        }
        let sessions = one.ue.sessions();
        let is_done = match task.procedure {
            Procedure::Register(_) => one.ue.state() == UeState::Registered,
            Procedure::Establish(session) => {
                sessions.get(session).is_some() && self.radio(index, session).is_some()
            }
            Procedure::Release(session) => sessions.get(session).is_none(),
            Procedure::Service | Procedure::Paged => one.ue.services() > task.services,
            Procedure::Idle => one.at.is_none(),
            Procedure::PathSwitch(to) | Procedure::Handover(to) => self.is_at(index, to),
            Procedure::MoveTunnels => one.at.is_some() && !self.are_tunnels_moving(index),
            Procedure::Deregister { switch_off } => {
                one.ue.state() == UeState::Deregistered && !(switch_off && one.at.is_some())
            }
        };
        let is_session = matches!(
            task.procedure,
            Procedure::Establish(_) | Procedure::Release(_)
        );
        match is_done {
            true => self.end(now_ns, index, Outcome::Done),
            false if is_refused() => self.refused(now_ns, index),
            false if is_session && sessions.refusals() > task.refusals => {
                self.session_refused(now_ns, index);
            }
            false => {}
        }
    }

    fn refused(&mut self, now_ns: u64, index: usize) {
        let refused = self.ues.get(index).and_then(|one| one.ue.refused());
        let why = refused.map_or_else(String::new, |refusal| match refusal {
            Downlink::RegistrationReject(cause) | Downlink::ServiceReject(cause) => {
                format!("{}, {cause}", refusal.name())
            }
            _ => refusal.name().to_owned(),
        });
        self.end(now_ns, index, Outcome::Refused(why));
    }

    fn session_refused(&mut self, now_ns: u64, index: usize) {
        let sessions = self.ues.get(index).map(|one| one.ue.sessions());
        let last = sessions.and_then(|sessions| sessions.refused().last());
        let why = match last {
            Some((_, Some(cause), _)) => format!("{cause}"),
            Some((_, _, Some(cause))) => format!("{cause}"),
            _ => "no cause".to_owned(),
        };
        self.end(now_ns, index, Outcome::Refused(why));
    }

    /// A connection is gone. What a UE said on it when it was about to go is said again by a new one,
    /// unless the gNB has no AMF.
    pub(super) fn released(&mut self, now_ns: u64, at: (usize, RanUeId), is_lost: bool) {
        let Some(index) = self.connected.remove(&at) else {
            return;
        };
        let Some(one) = self.ues.get_mut(index).filter(|one| one.at == Some(at)) else {
            return;
        };
        one.at = None;
        self.touched.insert(index);
        self.progress(now_ns, index);
        let Some(task) = self.task(index) else { return };
        let due_ns = task.due_ns;
        match task.is_on_old && task.tries < TRIES && !is_lost {
            true => {
                (task.is_waking, task.tries) = (false, task.tries + 1);
                self.ask(now_ns, index);
            }
            // A UE whose deregistration was not answered is deregistered all the same (TS 24.501,
            // 5.5.2.2.6).
            false if matches!(task.procedure, Procedure::Deregister { .. }) && !is_lost => {
                self.deregister_locally(index);
                self.end(now_ns, index, Outcome::Done);
            }
            // A gNB that is lost has no time of its own.
            false => self.end(now_ns.max(due_ns), index, Outcome::Lost),
        }
    }

    fn deregister_locally(&mut self, index: usize) {
        if let Some(one) = self.ues.get_mut(index) {
            let before = one.ue.state();
            one.ue.deregister_locally();
            self.recount(index, before);
        }
    }

    pub(super) fn end(&mut self, now_ns: u64, index: usize, outcome: Outcome) {
        let Some(task) = self.ues.get_mut(index).and_then(|one| one.task.take()) else {
            return;
        };
        self.deadlines.remove(&(task.deadline_ns, index));
        self.ended.push(Ended {
            ue: index,
            procedure: task.procedure,
            outcome,
            took_ns: now_ns.saturating_sub(task.due_ns),
        });
    }

    /// Gives up what has had its time.
    pub fn time(&mut self, now_ns: u64) {
        while let Some((deadline_ns, ue)) = self.deadlines.first().copied() {
            if deadline_ns > now_ns {
                return;
            }
            self.deadlines.remove(&(deadline_ns, ue));
            self.end(now_ns, ue, Outcome::TimedOut);
        }
    }

    /// When [`Fleet::time`] is due.
    pub fn next_deadline_ns(&self) -> Option<u64> {
        self.deadlines.first().map(|(at, _)| *at)
    }
}
