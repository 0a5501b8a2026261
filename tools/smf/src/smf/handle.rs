//! Thread-safe handle of an SMF; each call waits for the UPF's response.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};

use sluice_host::poll::Waker;
use sluice_n4::Counters;
use sluice_wire::ids::Seid;

use super::worker::{Command, Outcomes, Work};
use crate::{
    Change, Changed, Dialect, Done, Established, Machine, Peer, Report, SessionPlan, SmfError,
    Tunnel, Usage,
};

/// Brings commands to the SMF's thread and wakes it.
#[derive(Clone, Debug)]
pub(super) struct Control {
    pub commands: Sender<Command>,
    pub waker: Waker,
}

/// Controls an SMF; clones control the same one.
#[derive(Clone, Debug)]
pub struct SmfHandle {
    dialect: Dialect,
    n4: SocketAddr,
    control: Control,
}

impl SmfHandle {
    pub(super) fn new(dialect: Dialect, n4: SocketAddr, control: Control) -> Self {
        Self {
            dialect,
            n4,
            control,
        }
    }

    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Address of the SMF on N4.
    pub fn n4(&self) -> SocketAddr {
        self.n4
    }

    /// Sets up the association with the UPF; if there is one already, it stays.
    pub fn associate(&self) -> Result<Peer, SmfError> {
        match self.perform(Work::Associate)? {
            Done::Associated(peer) => Ok(peer),
            other => unreachable!("an association gave {other:?}"),
        }
    }

    /// Releases the association; all sessions end with it.
    pub fn release(&self) -> Result<(), SmfError> {
        self.perform(Work::Release).map(|_| ())
    }

    /// Has the UPF report the last usage of all sessions, and then releases the association; the
    /// reports are among [`SmfHandle::take_reports`].
    pub fn release_after_reports(&self) -> Result<(), SmfError> {
        self.perform(Work::ReleaseAfterReports).map(|_| ())
    }

    pub fn establish(&self, plan: SessionPlan) -> Result<Established, SmfError> {
        self.perform(Work::Establish(Box::new(plan)))
            .map(established)
    }

    /// Establishes sessions, at most `window` at a time (and at least one), and gives what came
    /// of each in the order of the plans.
    pub fn establish_many(
        &self,
        plans: impl IntoIterator<Item = SessionPlan>,
        window: usize,
    ) -> Result<Vec<Result<Established, SmfError>>, SmfError> {
        let outcomes =
            self.perform_many(plans.into_iter().map(Box::new).map(Work::Establish), window)?;
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.map(established))
            .collect())
    }

    /// Tells the gNB's tunnel for the first time: downlink packets flow.
    pub fn modify(&self, cp_seid: Seid, gnb: Tunnel) -> Result<Changed, SmfError> {
        self.change(cp_seid, Change::Connect(gnb))
    }

    /// Tells the tunnel of another gNB; End Markers are asked for if the dialect does so.
    pub fn path_switch(&self, cp_seid: Seid, gnb: Tunnel) -> Result<Changed, SmfError> {
        self.change(cp_seid, Change::SwitchPath(gnb))
    }

    /// The UE is idle: what the dialect does then.
    pub fn idle(&self, cp_seid: Seid) -> Result<Changed, SmfError> {
        self.change(cp_seid, Change::Idle)
    }

    pub fn drop_downlink(&self, cp_seid: Seid) -> Result<Changed, SmfError> {
        self.change(cp_seid, Change::DropDownlink)
    }

    /// The UE is back. The UPF's end of the tunnel may be another one now.
    pub fn activate(&self, cp_seid: Seid, gnb: Tunnel) -> Result<Changed, SmfError> {
        self.change(cp_seid, Change::Activate(gnb))
    }

    /// Asks for the usage of all URRs of a session since their last reports.
    pub fn query(&self, cp_seid: Seid) -> Result<Usage, SmfError> {
        self.change(cp_seid, Change::Query)
            .map(|changed| changed.usage)
    }

    pub fn change(&self, cp_seid: Seid, change: Change) -> Result<Changed, SmfError> {
        self.perform(Work::Change(cp_seid, change)).map(changed)
    }

    /// Changes sessions, at most `window` at a time; see [`SmfHandle::establish_many`].
    pub fn change_many(
        &self,
        changes: impl IntoIterator<Item = (Seid, Change)>,
        window: usize,
    ) -> Result<Vec<Result<Changed, SmfError>>, SmfError> {
        let works = changes
            .into_iter()
            .map(|(cp_seid, change)| Work::Change(cp_seid, change));
        let outcomes = self.perform_many(works, window)?;
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.map(changed))
            .collect())
    }

    /// Deletes a session and gives its last usage.
    pub fn delete(&self, cp_seid: Seid) -> Result<Usage, SmfError> {
        self.perform(Work::Delete(cp_seid)).map(deleted)
    }

    /// Deletes sessions, at most `window` at a time; see [`SmfHandle::establish_many`].
    pub fn delete_many(
        &self,
        cp_seids: impl IntoIterator<Item = Seid>,
        window: usize,
    ) -> Result<Vec<Result<Usage, SmfError>>, SmfError> {
        let outcomes = self.perform_many(cp_seids.into_iter().map(Work::Delete), window)?;
        Ok(outcomes
            .into_iter()
            .map(|outcome| outcome.map(deleted))
            .collect())
    }

    /// The UPF, while the association is up.
    pub fn peer(&self) -> Result<Option<Peer>, SmfError> {
        self.look(|machine| machine.peer())
    }

    /// Reports of the UPF since the last call, and the number of older reports that were lost because nobody had taken
    /// them.
    pub fn take_reports(&self) -> Result<(Vec<Report>, u64), SmfError> {
        self.look(Machine::take_reports)
    }

    pub fn session_count(&self) -> Result<usize, SmfError> {
        self.look(|machine| machine.session_count())
    }

    /// The PFCP endpoint's counters.
    pub fn counters(&self) -> Result<Counters, SmfError> {
        self.look(|machine| machine.counters())
    }

    pub(super) fn request_stop(&self) {
        // If it cannot be told, it has stopped.
        let _ = self.send(Command::Stop);
    }

    fn perform(&self, work: Work) -> Result<Done, SmfError> {
        let (sender, outcome) = channel();
        self.send(Command::Do(work, sender))?;
        wait(&outcome)?
    }

    fn perform_many(
        &self,
        works: impl Iterator<Item = Work>,
        window: usize,
    ) -> Result<Outcomes, SmfError> {
        let (sender, outcomes) = channel();
        self.send(Command::Many(works.collect(), window, sender))?;
        wait(&outcomes)
    }

    /// Has the SMF's thread look at its machine.
    fn look<T: Send + 'static>(
        &self,
        look: impl FnOnce(&mut Machine) -> T + Send + 'static,
    ) -> Result<T, SmfError> {
        let (sender, seen) = channel();
        self.send(Command::Look(Box::new(move |machine| {
            // Whoever asked may have gone.
            let _ = sender.send(look(machine));
        })))?;
        wait(&seen)
    }

    fn send(&self, command: Command) -> Result<(), SmfError> {
        self.control
            .commands
            .send(command)
            .map_err(|_| SmfError::Stopped)?;
        self.control.waker.wake();
        Ok(())
    }
}

fn wait<T>(answer: &Receiver<T>) -> Result<T, SmfError> {
    answer.recv().map_err(|_| SmfError::Stopped)
}

fn established(done: Done) -> Established {
    match done {
        Done::Established(established) => established,
        other => unreachable!("an establishment gave {other:?}"),
    }
}

fn changed(done: Done) -> Changed {
    match done {
        Done::Changed(changed) => changed,
        other => unreachable!("a change gave {other:?}"),
    }
}

fn deleted(done: Done) -> Usage {
    match done {
        Done::Deleted(usage) => usage,
        other => unreachable!("a deletion gave {other:?}"),
    }
}
