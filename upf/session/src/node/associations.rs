//! Memory of associations beside the endpoint's: when a silent peer's sessions end, how far a release has come, and
//! what the operator was told. Procedures of an association write it; a session's procedure reads whether its CP
//! function leaves.

use crate::pending::SessionRemarks;
use sluice_n4::{AssociationId, Instant};

/// How far an association is on its way to its release (TS 29.244, 5.18).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum UsageBeforeRelease {
    /// Nobody releases it.
    #[default]
    None,
    /// The graceful period is over: its CP function is to be told that sessions end now.
    ToAnnounce,
    /// Sessions end; so many of them wait for the path, or for their CP function's answer.
    Reporting(usize),
    /// All is told; the CP function releases it.
    Told,
}

/// Memory of an association beside its sessions.
#[derive(Clone, Copy, Debug, Default)]
struct AssociationMemory {
    /// The association, so that the next user of the place is told apart.
    id: Option<AssociationId>,
    /// When the sessions of a silent peer end.
    gives_up: Option<Instant>,
    /// How far it is on its way to its release.
    release: UsageBeforeRelease,
    /// Remarks on its CP function that the operator was told.
    told: SessionRemarks,
}

/// The memory of all associations.
#[derive(Debug)]
pub struct Associations {
    /// By place of the association.
    memory: Vec<AssociationMemory>,
    /// Not later than the first [`AssociationMemory::gives_up`].
    gives_up_first: Instant,
    /// The UP function is about to end.
    releasing: bool,
    /// An association has sessions to end, or their reports are on the way.
    pub has_releases: bool,
}

impl Associations {
    /// Nothing yet, with places for so many.
    pub fn new(places: usize) -> Self {
        Self {
            memory: vec![AssociationMemory::default(); places],
            gives_up_first: Instant::NEVER,
            releasing: false,
            has_releases: false,
        }
    }

    /// How many places there are.
    pub fn places(&self) -> usize {
        self.memory.len()
    }

    /// The association that something is remembered of in this place.
    pub fn at(&self, place: usize) -> Option<AssociationId> {
        self.memory.get(place)?.id
    }

    /// Memory of an association; a new one begins with nothing.
    fn memory(&mut self, id: AssociationId) -> Option<&mut AssociationMemory> {
        let memory = self.memory.get_mut(id.index())?;
        if memory.id != Some(id) {
            *memory = AssociationMemory {
                id: Some(id),
                ..AssociationMemory::default()
            };
        }
        Some(memory)
    }

    /// The CP function does not answer: its sessions end then.
    pub fn lost(&mut self, id: AssociationId, gives_up: Instant) {
        if let Some(memory) = self.memory(id) {
            memory.gives_up = Some(gives_up);
            self.gives_up_first = gives_up.min(self.gives_up_first);
        }
    }

    /// The CP function answers, or has gone: its sessions do not end for its silence.
    pub fn answers_again(&mut self, id: AssociationId) {
        if let Some(memory) = self.memory(id) {
            memory.gives_up = None;
        }
    }

    /// Takes the associations whose CP functions have been silent for too long.
    pub fn take_given_up(&mut self, now: Instant) -> Vec<AssociationId> {
        if now < self.gives_up_first {
            return Vec::new();
        }
        let silent = self.memory.iter_mut().filter_map(|memory| {
            let over = memory.gives_up.take_if(|deadline| *deadline <= now);
            memory.id.filter(|_| over.is_some())
        });
        let given_up = silent.collect();
        self.gives_up_first = self.next_given_up().unwrap_or(Instant::NEVER);
        given_up
    }

    /// When the next CP function has been silent for too long.
    pub fn next_given_up(&self) -> Option<Instant> {
        self.memory.iter().filter_map(|of| of.gives_up).min()
    }

    /// A restarted CP function knows nothing of a release.
    pub fn restarted(&mut self, id: AssociationId) {
        if let Some(memory) = self.memory(id) {
            memory.release = UsageBeforeRelease::None;
        }
    }

    /// A CP function announces the release, or the time that we gave it is over.
    pub fn begin_release(&mut self, id: AssociationId, release: UsageBeforeRelease) {
        if let Some(memory) = self.memory(id)
            && memory.release == UsageBeforeRelease::None
        {
            memory.release = release;
            self.has_releases = true;
        }
    }

    /// How far an association is on its way to its release.
    pub fn release(&self, id: AssociationId) -> UsageBeforeRelease {
        let memory = self.memory.get(id.index());
        let memory = memory.filter(|m| m.id == Some(id));
        memory.map_or(UsageBeforeRelease::None, |m| m.release)
    }

    /// The release has come so far.
    pub fn set_release(&mut self, id: AssociationId, release: UsageBeforeRelease) {
        if let Some(memory) = self.memory.get_mut(id.index())
            && memory.id == Some(id)
        {
            memory.release = release;
        }
    }

    /// All CP functions are asked to release their associations.
    pub fn leave_all(&mut self) {
        self.releasing = true;
    }

    /// True if its CP function is not given new sessions any more.
    pub fn is_leaving(&self, id: AssociationId) -> bool {
        self.releasing || self.release(id) != UsageBeforeRelease::None
    }

    /// Which of these remarks the operator was not told yet of an association; from now on they are told.
    pub fn take_untold(&mut self, id: AssociationId, remarks: SessionRemarks) -> SessionRemarks {
        let Some(memory) = self.memory(id) else {
            return SessionRemarks::default();
        };
        let is_new = |remarked: bool, told: &mut bool| remarked && !core::mem::replace(told, true);
        let told = &mut memory.told;
        SessionRemarks {
            chosen_by_cp: is_new(remarks.chosen_by_cp, &mut told.chosen_by_cp),
            unserved_triggers: is_new(remarks.unserved_triggers, &mut told.unserved_triggers),
        }
    }
}
