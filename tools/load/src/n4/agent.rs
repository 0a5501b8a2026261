//! A polled SMF with its sessions: nothing happens between two calls, so a run calls it often
//! enough for its heartbeats.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use sluice_host::clock;
use sluice_host::udp::RecvBatch;
use sluice_n4::Instant;
use sluice_smf_emulator::dialect::profile::BeforeGnb;
use sluice_smf_emulator::{
    Change, Dialect, Done, Machine, Peer, SessionPlan, SmfConfig, SmfError, Ticket, Tunnel, Wire,
};
use sluice_wire::ids::Seid;

use super::report::{N4Report, Procedure, Tallies};
use crate::LoadError;

/// How long a wait for datagrams is at most, so that a stop is seen.
const WAIT: Duration = Duration::from_millis(20);

pub type Plans = Arc<dyn Fn(u32) -> SessionPlan + Send + Sync>;

#[derive(Clone)]
pub struct AgentConfig {
    pub smf: SmfConfig,
    pub plans: Plans,
    /// How many there are, established or not.
    pub sessions: u32,
    /// Requests without answer at a time, where nothing is paced.
    pub window: usize,
}

/// An SMF and its sessions.
pub struct Agent {
    machine: Machine,
    wire: Wire,
    incoming: RecvBatch,
    plans: Plans,
    dialect: Dialect,
    window: usize,
    pub(super) sessions: Vec<Session>,
    asked: HashMap<Ticket, SentRequest>,
    pub(super) tallies: Tallies,
}

/// A session, as far as it is known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Session {
    pub(super) seid: Option<Seid>,
    uplink: Option<Tunnel>,
    /// Waits for an answer.
    pub(super) is_busy: bool,
    /// Which of two downlink TEIDs it has.
    is_moved: bool,
}

/// Request that waits for its answer.
#[derive(Clone, Copy, Debug)]
struct SentRequest {
    procedure: Procedure,
    session: u32,
    due_ns: u64,
    sent_ns: u64,
    /// An establishment that some dialects do in two messages.
    connects: bool,
}

/// Something that has ended; the session's state tells how.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) procedure: Procedure,
    pub(super) session: u32,
}

impl Agent {
    /// Binds N4. Nothing is sent yet.
    ///
    /// # Errors
    /// If the address is not ours, or taken.
    pub fn bind(config: &AgentConfig) -> Result<Self, LoadError> {
        let (machine, socket) = config.smf.build()?;
        Ok(Self {
            machine,
            wire: Wire::new(socket),
            incoming: Wire::room(),
            plans: config.plans.clone(),
            dialect: config.smf.dialect,
            window: config.window.max(1),
            sessions: vec![Session::default(); config.sessions as usize],
            asked: HashMap::new(),
            tallies: Tallies::default(),
        })
    }

    /// Sets up the association.
    ///
    /// # Errors
    /// If the UPF refuses or does not answer.
    pub fn associate(&mut self) -> Result<Peer, LoadError> {
        let ticket = self.machine.associate(now(), &mut self.wire);
        match self.wait_for(ticket)? {
            Done::Associated(peer) => Ok(peer),
            _ => Err(SmfError::NotAssociated.into()),
        }
    }

    /// Establishes sessions `0..count`, a window at a time; `tell` hears how many have ended and
    /// says whether to go on. Failures are counted, not given up at.
    pub fn establish(&mut self, count: u32, mut tell: impl FnMut(u32) -> bool) -> N4Report {
        let all = 0..count.min(self.sessions.len() as u32);
        self.bulk(Procedure::Establish, all, &mut tell)
    }

    /// Deletes all sessions that there are, in the same way.
    pub fn delete_all(&mut self, mut tell: impl FnMut(u32) -> bool) -> N4Report {
        let there = |session: &u32| self.seid(*session).is_some();
        let all: Vec<u32> = (0..self.sessions.len() as u32).filter(there).collect();
        self.bulk(Procedure::Delete, all.into_iter(), &mut tell)
    }

    /// Answers and sends heartbeats until `stop` says so.
    pub fn idle(&mut self, mut stop: impl FnMut() -> bool) {
        while !stop() {
            self.pump(WAIT);
        }
    }

    /// Ends the association, and with it whatever is left of sessions.
    ///
    /// # Errors
    /// If the UPF refuses or does not answer.
    pub fn release(&mut self) -> Result<(), LoadError> {
        let ticket = self.machine.release(now(), &mut self.wire);
        self.wait_for(ticket).map(|_| ())
    }

    /// The UPF's end of a session's tunnel, if it is established.
    pub fn uplink(&self, session: u32) -> Option<Tunnel> {
        let session = self.sessions.get(session as usize)?;
        session.seid.and(session.uplink)
    }

    pub fn established(&self) -> usize {
        self.sessions.iter().filter(|s| s.seid.is_some()).count()
    }

    fn seid(&self, session: u32) -> Option<Seid> {
        self.sessions.get(session as usize)?.seid
    }

    fn bulk(
        &mut self,
        procedure: Procedure,
        mut sessions: impl Iterator<Item = u32>,
        tell: &mut dyn FnMut(u32) -> bool,
    ) -> N4Report {
        self.tallies = Tallies::default();
        let began_ns = clock::monotonic_ns();
        let (mut ended, mut goes_on) = (0, true);
        loop {
            while goes_on && self.asked.len() < self.window {
                let Some(session) = sessions.next() else {
                    break;
                };
                self.ask(procedure, session, clock::monotonic_ns());
            }
            if self.asked.is_empty() {
                break;
            }
            ended += self.pump(WAIT).len() as u32;
            goes_on &= tell(ended);
        }
        self.report(began_ns)
    }

    /// Report of the requests since a time.
    pub(super) fn report(&self, began_ns: u64) -> N4Report {
        let ns = clock::monotonic_ns().saturating_sub(began_ns);
        self.tallies.report(ns as f64 / 1e9)
    }

    /// Whether answers are missing.
    pub(super) fn is_waiting(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Asks the UPF; what was due at `due_ns` counts from there.
    pub(super) fn ask(&mut self, procedure: Procedure, number: u32, due_ns: u64) {
        let plan = (self.plans)(number);
        let Some(session) = self.sessions.get_mut(number as usize) else {
            return;
        };
        self.tallies.of(procedure).offered += 1;
        session.is_busy = true;
        let (now, wire) = (now(), &mut self.wire);
        let ticket = match (procedure, session.seid) {
            (Procedure::Establish, _) => self.machine.establish(now, plan, wire),
            (Procedure::Modify, Some(seid)) => {
                session.is_moved = !session.is_moved;
                let to = gnb_end(&plan, session.is_moved);
                self.machine.change(now, seid, Change::SwitchPath(to), wire)
            }
            (Procedure::Delete, Some(seid)) => self.machine.delete(now, seid, wire),
            (_, None) => {
                session.is_busy = false;
                self.tallies.of(procedure).starved += 1;
                return;
            }
        };
        self.asked.insert(
            ticket,
            SentRequest {
                procedure,
                session: number,
                due_ns,
                sent_ns: now.0,
                connects: false,
            },
        );
    }

    /// Sends, waits for datagrams at most `wait`, and deals with them. Gives what has ended.
    pub(super) fn pump(&mut self, wait: Duration) -> Vec<Ended> {
        let deadline = self.machine.next_deadline();
        let rest = deadline.map_or(wait, |at| Duration::from_nanos(at.ns_since(now())));
        self.exchange(wait.min(rest));
        let mut ended = Vec::new();
        while let Some((ticket, outcome)) = self.machine.next_outcome() {
            if let Some(asked) = self.asked.remove(&ticket) {
                ended.extend(self.settle(asked, outcome));
            }
        }
        // Reports of the UPF are answered; here nobody wants to read them.
        let _ = self.machine.take_reports();
        self.wire.flush();
        ended
    }

    /// None if the procedure goes on with another message.
    fn settle(&mut self, asked: SentRequest, outcome: Result<Done, SmfError>) -> Option<Ended> {
        let now_ns = clock::monotonic_ns();
        let session = self.sessions.get_mut(asked.session as usize)?;
        let ended = Ended {
            procedure: asked.procedure,
            session: asked.session,
        };
        if let Ok(Done::Established(established)) = &outcome {
            session.seid = Some(established.cp_seid);
            session.uplink = Some(established.uplink);
            session.is_moved = false;
            if self.dialect.profile().far.before_gnb == BeforeGnb::Absent && !asked.connects {
                let seid = established.cp_seid;
                self.connect(asked, seid);
                return None;
            }
        }
        session.is_busy = false;
        match &outcome {
            Ok(Done::Changed(changed)) => session.uplink = changed.uplink.or(session.uplink),
            Ok(Done::Deleted(_)) => (session.seid, session.uplink) = (None, None),
            _ => {}
        }
        let tally = self.tallies.of(asked.procedure);
        match outcome {
            Ok(_) => {
                tally.done += 1;
                tally.from_due.record(now_ns.saturating_sub(asked.due_ns));
                tally.from_sent.record(now_ns.saturating_sub(asked.sent_ns));
            }
            Err(error) => {
                tally.failed += 1;
                let text = || error.to_string();
                self.tallies.first_failure.get_or_insert_with(text);
            }
        }
        Some(ended)
    }

    /// Tells the gNB's tunnel in a message of its own.
    fn connect(&mut self, asked: SentRequest, seid: Seid) {
        let to = gnb_end(&(self.plans)(asked.session), false);
        let change = Change::Connect(to);
        let ticket = self.machine.change(now(), seid, change, &mut self.wire);
        self.asked.insert(
            ticket,
            SentRequest {
                connects: true,
                ..asked
            },
        );
    }

    fn wait_for(&mut self, wanted: Ticket) -> Result<Done, LoadError> {
        loop {
            while let Some((ticket, outcome)) = self.machine.next_outcome() {
                if ticket == wanted {
                    self.wire.flush();
                    return outcome.map_err(LoadError::from);
                }
            }
            self.exchange(WAIT);
        }
    }

    /// Sends, waits for datagrams at most `wait`, and hands them to the machine, where outcomes stay.
    fn exchange(&mut self, wait: Duration) {
        self.wire.flush();
        // A poll that fails is one that found nothing.
        let _ = self.wire.wait(wait);
        let came = self.wire.receive(&mut self.incoming);
        let now = now();
        for datagram in self.incoming.iter().take(came) {
            let from = datagram.from;
            self.machine
                .handle(now, from, datagram.bytes, &mut self.wire);
        }
        self.machine.tick(now, &mut self.wire);
    }
}

/// The gNB's end of a session's tunnel, or the one that it has after a path switch: another TEID
/// at the same gNB.
fn gnb_end(plan: &SessionPlan, is_moved: bool) -> Tunnel {
    let here = plan.gnb.unwrap_or(Tunnel {
        teid: sluice_wire::ids::Teid::new(1).unwrap_or_else(|| unreachable!("1 is a TEID")),
        address: std::net::Ipv4Addr::UNSPECIFIED.into(),
    });
    let other = sluice_wire::ids::Teid::new(here.teid.get() ^ (1 << 31));
    match (is_moved, other) {
        (true, Some(teid)) => Tunnel { teid, ..here },
        _ => here,
    }
}

fn now() -> Instant {
    Instant(clock::monotonic_ns())
}
