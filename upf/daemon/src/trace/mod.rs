//! `sluice ctl trace`, daemon side: follows packets, and tells a client what became of each.

mod describe;

use super::ctl::{Asker, CtlRequest, Request, error};
use describe::Scene;
use serde_json::{Value, json};
use sluice_control::core::UpfControl;
use sluice_datapath::ids::EntryId;
use sluice_datapath::ledger::WorkerStats;
use sluice_datapath::limits::{TRACE_KEYS, TRACE_RECORDS};
use sluice_datapath::trace::{Came, Fate, Filter, Key, Record, Snap};
use sluice_port::Packet;
use sluice_session::{RuleNames, TraceTarget, TracedSession};
use sluice_wire::ids::Seid;
use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;
use std::sync::mpsc::TrySendError;
use std::time::{Duration, Instant};

/// Places of sessions that one turn looks at: some 20 us, so that N4 hardly waits; a million are
/// through in 4,000 turns. So sessions that come or change are noticed while packets are followed.
const PLACES_PER_TURN: u32 = 256;
/// Lines whose sessions are known, for the names of the rules; a peer may have more.
const ENTRIES_MAX: usize = 65_536;
/// Sessions that a UE may have (TS 24.007, 11.2.3.1b), and that are followed at a time.
const SESSIONS: usize = 15;
/// How long the last packet's last steps are waited for, and what a worker made of a packet before another one: that
/// worker may have lost its CPU to somebody else before it could say so.
const LAST_STEPS: Duration = Duration::from_secs(1);
/// Packets that are on their way between two workers, or wait for their next hop.
const OPEN_MAX: usize = 1024;

/// Whose packets are followed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sought {
    /// Those of whatever session there is that fits.
    Any(TraceTarget),
    /// Those of these sessions, by our SEID and their CP function's.
    Sessions(Vec<(Seid, Seid)>),
}

/// What is being followed, if anything is.
#[derive(Default)]
pub struct Trace {
    running: Option<Running>,
}

struct Running {
    client: Asker,
    sought: Sought,
    filter: Filter,
    /// Keys that this round over all sessions has found.
    found: Vec<Key>,
    place: u32,
    sessions: HashMap<EntryId, Seid>,
    until: Option<Instant>,
    left: Option<u64>,
    /// Followed so far, and steps that the client was too slow for.
    packets: u64,
    missed: u64,
    lost_before: u64,
    open: VecDeque<Open>,
    /// Taken over by a worker, while the record of the worker that handed over is still to come; since when.
    early: Vec<(Record, Instant)>,
    ending: Option<&'static str>,
    /// All sessions that were to be followed are gone.
    is_without_sessions: bool,
}

/// A packet whose way is not over.
struct Open {
    packet: u64,
    entry: Option<EntryId>,
    frame: Option<Snap>,
    waits: bool,
}

impl Trace {
    /// Begins what is asked for, or says why not.
    pub fn begin<P: Packet>(
        &mut self,
        asked: CtlRequest,
        core: &mut UpfControl<P>,
        ports: &[String],
    ) {
        let begun = match &self.running {
            Some(_) => Err("another trace is running: one at a time".to_owned()),
            None => sought(&asked.request, core).and_then(|sought| there(sought, core)),
        };
        let sought = match begun {
            Ok(sought) => sought,
            Err(why) => return asked.answer(error(&why)),
        };
        let (count, seconds) = match asked.request {
            Request::Trace { count, seconds, .. } => (count, seconds),
            _ => (None, None),
        };
        let mut running = Running {
            client: asked.stay(),
            filter: filter(&sought),
            sought,
            found: Vec::new(),
            place: 0,
            sessions: HashMap::new(),
            until: seconds.map(|s| Instant::now() + Duration::from_secs(s.into())),
            left: count,
            packets: 0,
            missed: 0,
            lost_before: lost(core),
            open: VecDeque::new(),
            early: Vec::new(),
            ending: None,
            is_without_sessions: false,
        };
        running.look_for_sessions(core);
        core.end_mut().trace(Some(running.filter.clone()));
        running.tell(json!({ "following": describe::sought(&running.sought), "ports": ports }));
        self.running = Some(running);
    }

    /// Takes what the workers have copied, and tells the client. Returns how much there was.
    pub fn turn<P: Packet>(&mut self, core: &mut UpfControl<P>, ports: &[String]) -> usize {
        let Some(running) = &mut self.running else {
            return 0;
        };
        running.look_for_sessions(core);
        let taken = running.take(core, ports);
        if running.ending.is_none() {
            running.ending = running.is_over();
            if running.ending.is_some() {
                core.end_mut().trace(None);
            }
        }
        if let Some(why) = running.ending
            && taken == 0
            && running.early.is_empty()
            && core.end().trace_is_over()
        {
            let done = json!({
                "ended": why,
                "packets": running.packets,
                "lost": lost(core) - running.lost_before + running.missed,
            });
            running.tell(json!({ "done": done }));
            self.running = None;
        }
        taken
    }
}

impl Running {
    fn is_over(&self) -> Option<&'static str> {
        if self.client.is_gone() {
            return Some("by the client");
        }
        let late = self.until.is_some_and(|until| until <= Instant::now());
        // Of the last packets the end is still to be seen.
        let is_through = late || self.early.is_empty() && self.open.iter().all(|open| open.waits);
        if self.is_without_sessions {
            return Some("by the sessions");
        }
        match self.left {
            Some(0) => is_through.then_some("by count"),
            _ => late.then_some("by time"),
        }
    }

    /// Some more places of sessions; a new round begins when all are through.
    fn look_for_sessions<P: Packet>(&mut self, core: &mut UpfControl<P>) {
        let is_round = match self.sought.clone() {
            Sought::Any(sought) => self.look_at_places(core, sought),
            Sought::Sessions(sessions) => {
                let there = sessions.iter();
                let there = there.filter_map(|(up, cp)| core.up.followed_session(*up, *cp));
                let there: Vec<TracedSession> = there.collect();
                self.is_without_sessions = there.is_empty();
                there
                    .into_iter()
                    .for_each(|one| self.note_session(one, true));
                true
            }
        };
        let mut keys = filter(&self.sought).keys;
        // In the middle of a round those found before may come still.
        let known = self.filter.keys.iter().filter(|_| !is_round);
        for key in self.found.iter().chain(known) {
            if !keys.contains(key) && keys.len() < TRACE_KEYS {
                keys.push(*key);
            }
        }
        let is_new = keys.len() != self.filter.keys.len()
            || keys.iter().any(|key| !self.filter.keys.contains(key));
        if is_new && self.ending.is_none() {
            self.filter.keys = keys;
            core.end_mut().trace(Some(self.filter.clone()));
        }
        if is_round {
            self.place = 0;
            self.found.clear();
        }
    }

    /// True if all places were looked at since the round began.
    fn look_at_places<P: Packet>(&mut self, core: &mut UpfControl<P>, sought: TraceTarget) -> bool {
        let places = core.up.places();
        let end = places.min(self.place + PLACES_PER_TURN);
        let by_keys = matches!(sought, TraceTarget::Ue(_) | TraceTarget::UePrefix(_));
        for place in self.place..end {
            if let Some(session) = core.up.followed(place, sought) {
                self.note_session(session, by_keys);
            }
        }
        self.place = end;
        end == places
    }

    fn note_session(&mut self, session: TracedSession, by_keys: bool) {
        if by_keys {
            self.found.extend(session.keys);
        }
        for entry in session.entries {
            if self.sessions.len() < ENTRIES_MAX || self.sessions.contains_key(&entry) {
                self.sessions.insert(entry, session.seid);
            }
        }
    }

    fn take<P: Packet>(&mut self, core: &mut UpfControl<P>, ports: &[String]) -> usize {
        let mut records = core::mem::take(&mut self.early);
        let (again, now) = (records.len(), Instant::now());
        while records.len() < TRACE_RECORDS
            && let Some(record) = core.end_mut().next_record()
        {
            records.push((record, now));
        }
        let taken = records.len() - again;
        // Workers are asked one after the other: what one handed over comes before what the other
        // made of it, unless it was asked too early.
        records.sort_by_key(|(record, _)| (record.at_ns, record.came == Came::Workers));
        for (record, since) in records {
            let may_wait = self.ending.is_none() && now < since + LAST_STEPS;
            let (packet, is_new) = match self.name(&record) {
                Some(packet) => (packet, false),
                None if record.came == Came::Workers && may_wait => {
                    self.early.push((record, since));
                    continue;
                }
                None => (self.packets + 1, true),
            };
            if is_new && self.left == Some(0) {
                continue;
            }
            if is_new {
                self.packets += 1;
                self.left = self.left.map(|left| left.saturating_sub(1));
                if self.left == Some(0) {
                    let last = Instant::now() + LAST_STEPS;
                    self.until = Some(self.until.map_or(last, |until| until.min(last)));
                }
            }
            self.note(packet, &record);
            let step = self.describe(packet, &record, core, ports);
            self.tell(step);
        }
        taken
    }

    /// The number of a packet that was seen before.
    fn name(&mut self, record: &Record) -> Option<u64> {
        let entry = record.meta.map(|meta| meta.entry);
        let at = match record.came {
            Came::Workers => self
                .open
                .iter()
                .position(|o| o.frame == record.received && !o.waits),
            Came::Waited => self.open.iter().position(|o| o.entry == entry && o.waits),
            // A further piece of the packet at hand.
            _ if record.received.is_none() && record.sent.is_some() && record.meta.is_some() => {
                return Some(self.packets);
            }
            _ => None,
        }?;
        self.open.remove(at).map(|open| open.packet)
    }

    fn note(&mut self, packet: u64, record: &Record) {
        let waits = record.fate == Fate::Waits;
        if !waits && !matches!(record.fate, Fate::HandedOver(_)) {
            return;
        }
        if self.open.len() == OPEN_MAX {
            self.open.pop_front();
        }
        self.open.push_back(Open {
            packet,
            entry: record.meta.map(|meta| meta.entry),
            frame: record.received.clone(),
            waits,
        });
    }

    fn describe<P: Packet>(
        &self,
        packet: u64,
        record: &Record,
        core: &UpfControl<P>,
        ports: &[String],
    ) -> Value {
        let entry = record.meta.map(|meta| meta.entry);
        let seid = entry.and_then(|entry| self.sessions.get(&entry).copied());
        let names = record.rule.zip(seid);
        let names: Option<RuleNames> =
            names.and_then(|(rule, seid)| core.up.rule_names(seid, rule.entry, rule.at));
        let scene = Scene {
            ports,
            interfaces: &core.control.directory,
            seid,
            names,
        };
        scene.describe(packet, record)
    }

    fn tell(&mut self, value: Value) {
        match self.client.tell(value) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.missed += 1,
            Err(TrySendError::Disconnected(_)) => self.client.leave(),
        }
    }
}

/// Who is meant: an address is a peer's if there are tunnels to it, and a UE's otherwise.
fn sought<P: Packet>(request: &Request, core: &UpfControl<P>) -> Result<Sought, String> {
    let Request::Trace {
        ue,
        peer,
        address,
        teid,
        ref sessions,
        ..
    } = *request
    else {
        return Err("not a trace".to_owned());
    };
    match (sessions, ue, peer, address, teid) {
        (None, ..) => target(core, ue, peer, address, teid).map(Sought::Any),
        (Some(sessions), None, None, None, None) if sessions.len() <= SESSIONS => {
            let seids = sessions.iter().map(|(up, cp)| (Seid(*up), Seid(*cp)));
            Ok(Sought::Sessions(seids.collect()))
        }
        _ => Err("expected some sessions alone".to_owned()),
    }
}

/// Sessions of which one is there at least.
fn there<P: Packet>(sought: Sought, core: &mut UpfControl<P>) -> Result<Sought, String> {
    let is_there = match &sought {
        Sought::Any(_) => true,
        Sought::Sessions(sessions) => sessions
            .iter()
            .any(|(up, cp)| core.up.followed_session(*up, *cp).is_some()),
    };
    match is_there {
        true => Ok(sought),
        false => Err("there is none of these sessions".to_owned()),
    }
}

fn target<P: Packet>(
    core: &UpfControl<P>,
    ue: Option<IpAddr>,
    peer: Option<IpAddr>,
    address: Option<IpAddr>,
    teid: Option<u32>,
) -> Result<TraceTarget, String> {
    let directory = &core.control.directory;
    match (ue, peer, address, teid) {
        (Some(ue), None, None, None) => Ok(target_of_ue(ue)),
        (None, Some(peer), None, None) => Ok(TraceTarget::Peer(peer)),
        (None, None, Some(address), Some(teid)) => Ok(match directory.number_of(address) {
            Some(local) => TraceTarget::Teid { local, teid },
            None => TraceTarget::Tunnel(address, teid),
        }),
        (None, None, Some(address @ IpAddr::V6(_)), None) => {
            let mut peers = directory.peers();
            Ok(match peers.any(|(peer, _)| peer.address() == address) {
                true => TraceTarget::Peer(address),
                false => target_of_ue(address),
            })
        }
        (None, None, Some(IpAddr::V4(address)), None) => {
            let mut peers = directory.peers();
            let is_peer = peers.any(|(peer, _)| peer.address() == IpAddr::V4(address));
            Ok(match is_peer {
                true => TraceTarget::Peer(address.into()),
                false => TraceTarget::Ue(address),
            })
        }
        _ => Err("expected a UE, a peer, or an address with or without a TEID".to_owned()),
    }
}

fn target_of_ue(address: IpAddr) -> TraceTarget {
    match address {
        IpAddr::V4(address) => TraceTarget::Ue(address),
        IpAddr::V6(address) => TraceTarget::UePrefix((address.to_bits() >> 64) as u64),
    }
}

fn filter(sought: &Sought) -> Filter {
    let mut filter = Filter::default();
    let Sought::Any(sought) = *sought else {
        return filter;
    };
    match sought {
        TraceTarget::Ue(address) => filter.keys.push(Key::Ue(address)),
        TraceTarget::UePrefix(prefix) => filter.keys.push(Key::UePrefix(prefix)),
        TraceTarget::Teid { local, teid } => filter.keys.push(Key::Teid { local, teid }),
        TraceTarget::Tunnel(peer, teid) => filter.tunnel = Some((peer, teid)),
        TraceTarget::Peer(peer) => filter.peer = Some(peer),
    }
    filter
}

fn lost<P: Packet>(core: &UpfControl<P>) -> u64 {
    let stats = core.end().stats().iter();
    stats
        .map(|s: &std::sync::Arc<WorkerStats>| s.trace_lost.get())
        .sum()
}
