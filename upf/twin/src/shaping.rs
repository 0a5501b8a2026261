//! Packets that wait for their bit rates.
//!
//! A packet that exceeds a shaped rate has paid and leaves when the bucket has room for it; all else is asked
//! again then. Packets that came before a rule of their session was changed leave before all that come for the
//! same tunnel or UE after it.

use crate::config::Shaping;
use crate::rules::SessionId;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// By what a packet comes to its session.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Door {
    /// One of its tunnels.
    Tunnel(IpAddr, u32),
    /// An address of its UE.
    Ue(SessionId),
}

/// A packet that waits.
#[derive(Clone, Debug)]
pub struct Waiting {
    pub due_ns: u64,
    number: u64,
    pub door: Door,
    pub session: SessionId,
    pub port: u16,
    pub frame: Vec<u8>,
    /// As it came, if it was translated.
    pub came: Option<Vec<u8>>,
}

/// What a new packet finds.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// It leaves no earlier.
    pub not_before_ns: u64,
    /// It may wait.
    pub has_room: bool,
}

/// All that wait.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    waiting: Vec<Waiting>,
    not_before_ns: BTreeMap<Door, u64>,
    numbers: u64,
}

impl Queue {
    /// What a packet finds that comes by a door.
    pub fn before(&self, door: Door, shaping: Option<Shaping>) -> Before {
        let there = self.at(door).count();
        let floor = self.not_before_ns.get(&door).filter(|_| there > 0);
        Before {
            not_before_ns: floor.copied().unwrap_or(0),
            has_room: there < shaping.map_or(0, |s| s.packets),
        }
    }

    /// When the last one of a door leaves.
    pub fn last_due_ns(&self, door: Door) -> Option<u64> {
        self.at(door).map(|w| w.due_ns).max()
    }

    /// One more.
    pub fn push(
        &mut self,
        due_ns: u64,
        (door, session): (Door, SessionId),
        (port, frame, came): (u16, &[u8], Option<Vec<u8>>),
    ) {
        if self.at(door).next().is_none() {
            self.not_before_ns.remove(&door);
        }
        self.numbers += 1;
        self.waiting.push(Waiting {
            due_ns,
            number: self.numbers,
            door,
            session,
            port,
            frame: frame.to_vec(),
            came,
        });
    }

    /// The next that leaves by then.
    pub fn pop(&mut self, now_ns: u64) -> Option<Waiting> {
        let all = self.waiting.iter().enumerate();
        let due = all.filter(|(_, w)| w.due_ns <= now_ns);
        let (at, _) = due.min_by_key(|(_, w)| (w.due_ns, w.number))?;
        Some(self.waiting.remove(at))
    }

    /// When the next one leaves.
    pub fn next_due_ns(&self) -> Option<u64> {
        self.waiting.iter().map(|w| w.due_ns).min()
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Rules of a session are about to change: new packets leave behind those that wait.
    pub fn stand_behind(&mut self, session: SessionId) {
        for w in self.waiting.iter().filter(|w| w.session == session) {
            let last = self.not_before_ns.entry(w.door).or_default();
            *last = (*last).max(w.due_ns);
        }
    }

    /// All packets of a session, in the order in which they came.
    pub fn take(&mut self, session: SessionId) -> Vec<Waiting> {
        let all = std::mem::take(&mut self.waiting);
        let (taken, others) = all.into_iter().partition(|w| w.session == session);
        self.waiting = others;
        taken
    }

    /// One that was taken.
    pub fn put_back(&mut self, waiting: Waiting) {
        self.waiting.push(waiting);
    }

    fn at(&self, door: Door) -> impl Iterator<Item = &Waiting> {
        self.waiting.iter().filter(move |w| w.door == door)
    }
}
