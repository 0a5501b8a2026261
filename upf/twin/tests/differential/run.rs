//! One case on both sides, step by step, and what differs.

use crate::compare::{Difference, Flows, name, same_books, same_reports};
use crate::encode::{establishment, modification, read_establishment, read_modification};
use crate::frames::{self, Lookup};
use crate::real::{Model, Real};
use crate::show;
use crate::spec::{Case, Change, PacketSpec, Rules, Slot, Step};
use crate::world;
use sluice_twin::{Modified, Outcome, Refused, SessionId, Twin, TwinConfig};
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::value::OffendingIe;
use sluice_wire::pfcp::{Cause, Header, IeType, MessageType, Reject, Writer};
use std::collections::BTreeMap;
use std::net::Ipv4Addr;

/// A twin whose answers may be falsified, to see that the comparison sees it.
pub trait Falsify {
    /// Changes what the twin said of a frame.
    fn outcomes(&mut self, _outcomes: &mut Vec<Outcome>) {}
    /// Changes what the twin reports.
    fn reports(&mut self, _reports: &mut Vec<UsageReport<'static>>) {}
}

/// The twin as it is.
pub struct Honest;

impl Falsify for Honest {}

/// Both sides, and what binds them. It is used for one case after the other.
pub struct Pair {
    workers: usize,
    world: TwinConfig,
    real: Real,
    twin: Twin,
    sessions: BTreeMap<Slot, SessionId>,
    ues: BTreeMap<Slot, Ipv4Addr>,
    cp_seids: u64,
    flows: Flows,
    /// What happened, if it is to be told.
    pub diary: Option<Vec<String>>,
    /// Frames that left on both sides, since the beginning.
    pub forwarded: u64,
    /// Steps by what became of them.
    pub counts: BTreeMap<&'static str, u64>,
}

impl Pair {
    pub fn new(workers: usize, model: Model) -> Self {
        let world = world::world(workers == 1);
        Self {
            workers,
            real: Real::new(workers, model, &world),
            twin: Twin::new(world.clone()),
            world,
            sessions: BTreeMap::new(),
            ues: BTreeMap::new(),
            cp_seids: 0,
            flows: Flows::default(),
            diary: None,
            forwarded: 0,
            counts: BTreeMap::new(),
        }
    }

    /// Runs a case, and deletes what it leaves.
    pub fn run(&mut self, case: &Case, falsify: &mut dyn Falsify) -> Result<(), Difference> {
        self.flows = Flows::default();
        self.ues.clear();
        for step in &case.steps {
            self.note(|| show::step(step));
            self.step(step, falsify)?;
        }
        self.finish(falsify)
    }

    fn step(&mut self, step: &Step, falsify: &mut dyn Falsify) -> Result<(), Difference> {
        match step {
            Step::Establish(slot, rules) => self.establish(*slot, rules),
            Step::Modify(slot, change) => self.modify(*slot, change, falsify),
            Step::Delete(slot) => self.delete(*slot, falsify),
            Step::Advance(ns) => self.advance(*ns),
            Step::Packets(packets) => self.packets(packets, falsify),
        }
    }

    /// Everything goes, nothing stays; TEIDs have their rest before the next case.
    fn finish(&mut self, falsify: &mut dyn Falsify) -> Result<(), Difference> {
        let slots: Vec<Slot> = self.sessions.keys().copied().collect();
        for slot in slots {
            self.note(|| format!("in the end: delete session {slot}"));
            self.delete(slot, falsify)?;
        }
        self.advance(100_000_000_000)?;
        self.real.check_empty()
    }

    fn establish(&mut self, slot: Slot, rules: &Rules) -> Result<(), Difference> {
        if self.sessions.contains_key(&slot) {
            return Ok(());
        }
        self.cp_seids += 1;
        let cp_seid = self.cp_seids;
        let message = MessageType::SESSION_ESTABLISHMENT_REQUEST;
        let response = self
            .real
            .request(message, Some(0), |w| establishment(w, cp_seid, rules))
            .ok_or("no answer to the establishment")?;
        let (_, body) = Header::parse(&response).map_err(|e| e.to_string())?;
        let mut answer = SessionEstablishmentResponse::default();
        answer.parse_into(body).map_err(unreadable)?;
        let mut bytes = vec![0; 16_384];
        let mut out = Writer::new(&mut bytes);
        establishment(&mut out, cp_seid, rules).map_err(|e| e.to_string())?;
        let mut request = SessionEstablishmentRequest::default();
        read_establishment(&mut request, out.written());
        let id = answer.up_f_seid.map_or(0, |f| f.seid.0);
        let wall = self.real.wall();
        let granted = answer.cause.is_acceptance();
        let agreed = self.twin.establish(id, &request, &answer.created_pdr, wall);
        self.note(|| format!("  {:?} {:?}", answer.cause, answer.created_pdr));
        self.agree(
            granted,
            &agreed.map(drop),
            &format!("{:?}", answer.offending_ie),
        )?;
        if granted {
            self.sessions.insert(slot, id);
        }
        if let Some(ue) = rules.pdrs.iter().find_map(|p| p.ue) {
            self.ues.insert(slot, ue);
        }
        self.compare(Vec::new())
    }

    fn modify(
        &mut self,
        slot: Slot,
        change: &Change,
        falsify: &mut dyn Falsify,
    ) -> Result<(), Difference> {
        let Some(id) = self.sessions.get(&slot).copied() else {
            return Ok(());
        };
        // Where the session lies was settled when it was established. Whether an address that is
        // first told now lies there, too, is nothing that the twin could know.
        let tells_ue = change.create.pdrs.iter().any(|p| p.ue.is_some());
        if tells_ue && self.twin.ue(id).is_none() {
            return Ok(());
        }
        let known: BTreeMap<u16, (Ipv4Addr, u32)> = (0..64)
            .filter_map(|pdr| Some((pdr, self.twin.teid(id, pdr)?)))
            .collect();
        let known = |pdr: u16| known.get(&pdr).copied();
        let message = MessageType::SESSION_MODIFICATION_REQUEST;
        let response = self
            .real
            .request(message, Some(id), |w| modification(w, change, &known))
            .ok_or("no answer to the modification")?;
        let (_, body) = Header::parse(&response).map_err(|e| e.to_string())?;
        let mut answer = SessionModificationResponse::default();
        answer.parse_into(body).map_err(unreadable)?;
        let mut bytes = vec![0; 16_384];
        let mut out = Writer::new(&mut bytes);
        modification(&mut out, change, &known).map_err(|e| e.to_string())?;
        let mut request = SessionModificationRequest::default();
        read_modification(&mut request, out.written());
        let granted = answer.cause.is_acceptance();
        // A PDR has place for so many rates and no more; the twin knows no such limit.
        let want_of_place = answer.cause == Cause::NO_RESOURCES_AVAILABLE;
        if want_of_place && answer.offending_ie == Some(OffendingIe(IeType::QER_ID)) {
            *self.counts.entry("too many rates").or_default() += 1;
            return self.compare(Vec::new());
        }
        let wall = self.real.wall();
        let modified = self.twin.modify(id, &request, &answer.created_pdr, wall);
        self.note(|| format!("  {:?} {:?}", answer.cause, answer.created_pdr));
        let offending = format!("{:?} {:?}", answer.offending_ie, answer.failed_rule_id);
        self.agree(granted, &modified.clone().map(drop), &offending)?;
        let Modified {
            mut reports,
            end_markers,
        } = modified.unwrap_or_default();
        falsify.reports(&mut reports);
        same_reports(&reports, &answer.usage_report)?;
        self.compare(end_markers)
    }

    fn delete(&mut self, slot: Slot, falsify: &mut dyn Falsify) -> Result<(), Difference> {
        let Some(id) = self.sessions.remove(&slot) else {
            return Ok(());
        };
        let message = MessageType::SESSION_DELETION_REQUEST;
        let response = self
            .real
            .request(message, Some(id), |_| Ok(()))
            .ok_or("no answer to the deletion")?;
        let (_, body) = Header::parse(&response).map_err(|e| e.to_string())?;
        let mut answer = SessionDeletionResponse::default();
        answer.parse_into(body).map_err(unreadable)?;
        let wall = self.real.wall();
        let reports = self.twin.delete(id, wall);
        let granted = answer.cause.is_acceptance();
        self.agree(granted, &reports.clone().map(drop), "")?;
        let mut reports = reports.unwrap_or_default();
        falsify.reports(&mut reports);
        same_reports(&reports, &answer.usage_report)?;
        self.compare(Vec::new())
    }

    fn advance(&mut self, ns: u64) -> Result<(), Difference> {
        self.real.advance(ns);
        let dropped = self.twin.advance(self.real.now_ns());
        let dropped = dropped.into_iter().map(|d| Outcome::Dropped(d, None));
        self.compare(dropped.collect())
    }

    fn packets(
        &mut self,
        packets: &[PacketSpec],
        falsify: &mut dyn Falsify,
    ) -> Result<(), Difference> {
        let names = Names {
            twin: &self.twin,
            sessions: &self.sessions,
            ues: &self.ues,
        };
        let build = |p: &PacketSpec| frames::build(p, &self.world, &names);
        let mut received: Vec<(u16, Vec<u8>)> = Vec::new();
        for (port, frames) in packets.iter().map(build) {
            received.extend(frames.into_iter().map(|f| (port, f)));
        }
        // Workers that poll different ports are bound to no order among themselves.
        let in_turn = self.workers > 1 && self.twin.downlink_has_two_doors();
        match in_turn {
            true => {
                let (first, second): (Vec<_>, _) = received.iter().cloned().partition(|f| f.0 == 0);
                self.real.receive(&first);
                self.real.receive(&second);
            }
            false => self.real.receive(&received),
        }
        let now_ns = self.real.now_ns();
        let mut expected = Vec::new();
        // The path empties one port after the other.
        for port in 0..2 {
            for (_, frame) in received.iter().filter(|(p, _)| *p == port) {
                let mut outcomes = self.twin.packet(now_ns, port, frame);
                falsify.outcomes(&mut outcomes);
                self.note(|| show::received(port, frame, &outcomes));
                expected.extend(outcomes);
            }
        }
        self.compare(expected)
    }

    /// Both grant, or both refuse.
    fn agree(
        &mut self,
        granted: bool,
        twin: &Result<(), Refused>,
        offending: &str,
    ) -> Result<(), Difference> {
        *self
            .counts
            .entry(if granted { "granted" } else { "refused" })
            .or_default() += 1;
        match (granted, twin) {
            (true, Ok(())) | (false, Err(Refused::Request { .. })) => Ok(()),
            (true, Err(refused)) => Err(format!("the real thing grants, but {refused}")),
            (false, Ok(())) => Err(format!(
                "the real thing refuses ({offending}), the twin grants"
            )),
            (false, Err(refused)) => Err(format!(
                "the real thing refuses ({offending}), the twin only because {refused}"
            )),
        }
    }

    fn compare(&mut self, expected: Vec<Outcome>) -> Result<(), Difference> {
        let seen = self.real.look();
        for outcome in &expected {
            *self.counts.entry(name(outcome)).or_default() += 1;
        }
        let held = self.twin.held() as u64;
        let same = same_books(&seen, &expected, held)
            .and_then(|()| self.flows.same_frames(&seen.frames, &expected));
        if same.is_err() {
            for (port, frame) in &seen.frames {
                self.note(|| format!("  really left by port {port}: {}", show::frame(frame)));
            }
            self.note(|| format!("  really dropped: {:?}", seen.drops));
        }
        self.forwarded += same.clone().map_or(0, |()| seen.frames.len() as u64);
        same
    }

    fn note(&mut self, what: impl FnOnce() -> String) {
        if let Some(diary) = &mut self.diary {
            diary.push(what());
        }
    }
}

fn unreadable(reject: Reject) -> Difference {
    format!("an answer that cannot be read: {reject:?}")
}

/// Names of a case, resolved.
struct Names<'a> {
    twin: &'a Twin,
    sessions: &'a BTreeMap<Slot, SessionId>,
    ues: &'a BTreeMap<Slot, Ipv4Addr>,
}

impl Lookup for Names<'_> {
    fn f_teid(&self, slot: u8, pdr: u16) -> Option<(Ipv4Addr, u32)> {
        self.twin.teid(*self.sessions.get(&slot)?, pdr)
    }

    fn ue(&self, slot: u8) -> Ipv4Addr {
        let nobody = Ipv4Addr::new(10, 45, 200, 200);
        self.ues.get(&slot).copied().unwrap_or(nobody)
    }
}
