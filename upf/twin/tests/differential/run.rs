//! One case on both sides, step by step, and what differs.

use crate::compare::{
    Difference, Flows, name, same_books, same_inactive, same_own_reports, same_paged, same_reports,
};
use crate::coverage::{self, Counts};
use crate::encode::{
    establishment, modification, pfd_management, read_establishment, read_modification,
    set_deletion,
};
use crate::frames;
use crate::names::Names;
use crate::real::{Model, Real};
use crate::refusal::{self, Said, Told, is_of_a_part};
use crate::show;
use crate::spec::{Case, Change, PacketSpec, Rules, SetSpec, Slot, Step, UeSpec};
use crate::world;
use crate::world::{Features, HOLD_OVER_NS};
use sluice_twin::{Modified, Outcome, Paged, Refused, SessionId, Twin, TwinConfig};
use sluice_wire::pfcp::group::UsageReport;
use sluice_wire::pfcp::message::*;
use sluice_wire::pfcp::{Header, MessageType, Reject, Writer};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// A twin whose answers may be falsified, to see that the comparison sees it.
pub trait Falsify {
    /// Changes a request before the twin reads it.
    fn establishment(&mut self, _request: &mut SessionEstablishmentRequest<'_>) {}
    /// As [`Self::establishment`].
    fn modification(&mut self, _request: &mut SessionModificationRequest<'_>) {}
    /// As [`Self::establishment`].
    fn pfds(&mut self, _request: &mut PfdManagementRequest<'_>) {}
    /// Changes what the twin said of a frame.
    fn outcomes(&mut self, _outcomes: &mut Vec<Outcome>) {}
    /// Changes what the twin says of packets that were held.
    fn released(&mut self, _outcomes: &mut Vec<Outcome>) {}
    /// Changes what the twin tells of idle UEs.
    fn paged(&mut self, _paged: &mut Vec<Paged>) {}
    /// Changes whether, and for what, the twin refuses.
    fn admission(&mut self, _said: &mut Result<(), Refused>) {}
    /// Changes what the twin reports.
    fn reports(&mut self, _reports: &mut Vec<UsageReport<'static>>) {}
}

/// The twin as it is.
pub struct Honest;

impl Falsify for Honest {}

/// Both sides, and what binds them. It is used for one case after the other.
pub struct Pair {
    workers: usize,
    features: Features,
    world: TwinConfig,
    real: Real,
    twin: Twin,
    sessions: BTreeMap<Slot, SessionId>,
    ues: BTreeMap<Slot, UeSpec>,
    cp_seids: u64,
    /// SEIDs of the CP function.
    cps: BTreeMap<SessionId, u64>,
    flows: Flows,
    /// What the twin says that sessions report by themselves.
    reports: Vec<(SessionId, Vec<UsageReport<'static>>)>,
    /// Sessions that the twin says are told to be inactive, as the CP function calls them.
    inactive: Vec<u64>,
    /// What the CP function calls sessions.
    cp_names: BTreeMap<u64, SessionId>,
    /// What happened, if it is to be told.
    pub diary: Option<Vec<String>>,
    /// Frames that left on both sides, since the beginning.
    pub forwarded: u64,
    /// Steps by what became of them.
    pub counts: Counts,
}

impl Pair {
    pub fn new(workers: usize, model: Model, features: Features) -> Self {
        let world = world::world(workers == 1, model.shapes(), features);
        Self {
            workers,
            features,
            real: Real::new(workers, model, &world),
            twin: Twin::new(world.clone()),
            world,
            sessions: BTreeMap::new(),
            ues: BTreeMap::new(),
            cp_seids: 0,
            cps: BTreeMap::new(),
            flows: Flows::default(),
            reports: Vec::new(),
            inactive: Vec::new(),
            cp_names: BTreeMap::new(),
            diary: None,
            forwarded: 0,
            counts: Counts::new(),
        }
    }

    /// Runs a case, and deletes what it leaves.
    pub fn run(&mut self, case: &Case, falsify: &mut dyn Falsify) -> Result<(), Difference> {
        self.flows = Flows::default();
        self.ues.clear();
        for step in &case.steps {
            self.note(|| show::step(step));
            coverage::count(&mut self.counts, step);
            self.step(step, falsify)?;
        }
        self.finish(falsify)
    }

    fn step(&mut self, step: &Step, falsify: &mut dyn Falsify) -> Result<(), Difference> {
        match step {
            Step::Establish(slot, rules) => self.establish(*slot, rules, falsify),
            Step::Modify(slot, change) => self.modify(*slot, change, falsify),
            Step::Delete(slot) => self.delete(*slot, falsify),
            Step::DeleteSets(sets) => self.delete_sets(sets, falsify),
            Step::Pfds(told) => self.manage_pfds(told, falsify),
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
        self.manage_pfds(&[], falsify)?;
        self.advance(100_000_000_000)?;
        self.real.check_empty()
    }

    fn establish(
        &mut self,
        slot: Slot,
        rules: &Rules,
        falsify: &mut dyn Falsify,
    ) -> Result<(), Difference> {
        if self.sessions.contains_key(&slot) {
            return Ok(());
        }
        self.cp_seids += 1;
        let cp_seid = self.cp_seids;
        let message = MessageType::SESSION_ESTABLISHMENT_REQUEST;
        let wall = self.real.wall();
        let response = self
            .real
            .request(message, Some(0), |w| establishment(w, cp_seid, rules, wall))
            .ok_or("no answer to the establishment")?;
        let (_, body) = Header::parse(&response).map_err(|e| e.to_string())?;
        let mut answer = SessionEstablishmentResponse::default();
        answer.parse_into(body).map_err(unreadable)?;
        let mut bytes = vec![0; 16_384];
        let mut out = Writer::new(&mut bytes);
        establishment(&mut out, cp_seid, rules, wall).map_err(|e| e.to_string())?;
        let mut request = SessionEstablishmentRequest::default();
        read_establishment(&mut request, out.written());
        let id = answer.up_f_seid.map_or(0, |f| f.seid.0);
        let said = Said {
            cause: answer.cause,
            offending_ie: answer.offending_ie,
        };
        let before = self.twin.clone();
        falsify.establishment(&mut request);
        let mut agreed = self.twin.establish(id, &request, &answer.created_pdr, wall);
        falsify.admission(&mut agreed);
        self.note(|| format!("  {:?} {:?}", answer.cause, answer.created_pdr));
        let refuse = |rules: &Rules| {
            let mut bytes = vec![0; 16_384];
            let mut out = Writer::new(&mut bytes);
            let mut request = SessionEstablishmentRequest::default();
            let written = establishment(&mut out, cp_seid, rules, wall);
            written.expect("less than before");
            read_establishment(&mut request, out.written());
            before.clone().establish(id, &request, &[], wall)
        };
        self.agree(said, &agreed, |told| is_of_a_part(rules, told, refuse))?;
        if said.cause.is_acceptance() {
            self.sessions.insert(slot, id);
            self.cps.insert(id, cp_seid);
            self.cp_names.insert(cp_seid, id);
        }
        self.ues.insert(slot, ue_of(rules));
        self.expect_reports();
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
        let tells_ue = change.create.pdrs.iter().any(|p| p.ue.ipv4.is_some());
        if tells_ue && self.twin.ue(id).is_none() && !self.features.ipv6 {
            return Ok(());
        }
        if self.twin.drains_in_no_order(id) {
            // Nobody promised an order between doors: they wait too long instead.
            self.advance(HOLD_OVER_NS)?;
        }
        let known: BTreeMap<u16, (IpAddr, u32)> = (0..64)
            .filter_map(|pdr| Some((pdr, self.twin.teid(id, pdr)?)))
            .collect();
        let known = |pdr: u16| known.get(&pdr).copied();
        self.real.took_rules();
        let has_two_doors = self.twin.downlink_has_two_doors();
        let message = MessageType::SESSION_MODIFICATION_REQUEST;
        let wall = self.real.wall();
        let response = self
            .real
            .request(message, Some(id), |w| modification(w, change, &known, wall))
            .ok_or("no answer to the modification")?;
        let (_, body) = Header::parse(&response).map_err(|e| e.to_string())?;
        let mut answer = SessionModificationResponse::default();
        answer.parse_into(body).map_err(unreadable)?;
        let mut bytes = vec![0; 16_384];
        let mut out = Writer::new(&mut bytes);
        modification(&mut out, change, &known, wall).map_err(|e| e.to_string())?;
        let mut request = SessionModificationRequest::default();
        read_modification(&mut request, out.written());
        let said = Said {
            cause: answer.cause,
            offending_ie: answer.offending_ie,
        };
        falsify.modification(&mut request);
        let before = self.twin.clone();
        // Whether a message says anything new of what packets meet is nothing that the twin could know.
        if self.real.took_rules() {
            self.twin.stand_behind(id);
        }
        let when = (self.real.now_ns(), wall);
        let modified = self.twin.modify(id, &request, &answer.created_pdr, when);
        self.note(|| format!("  {:?} {:?}", answer.cause, answer.created_pdr));
        let refuse = |change: &Change| {
            let mut bytes = vec![0; 16_384];
            let mut out = Writer::new(&mut bytes);
            let mut request = SessionModificationRequest::default();
            let written = modification(&mut out, change, &known, wall);
            written.expect("less than before");
            read_modification(&mut request, out.written());
            before.clone().modify(id, &request, &[], when).map(drop)
        };
        let mut agreed = modified.clone().map(drop);
        falsify.admission(&mut agreed);
        self.agree(said, &agreed, |told| is_of_a_part(change, told, refuse))?;
        let Modified {
            mut reports,
            end_markers,
            released,
        } = modified.unwrap_or_default();
        falsify.reports(&mut reports);
        same_reports(&reports, &answer.usage_report)?;
        coverage::count_discarded(&mut self.counts, change, &released);
        self.released(end_markers, released, falsify)?;
        // By the rules before it or behind it.
        let has_two_doors = has_two_doors || self.twin.downlink_has_two_doors();
        self.compare_paged(has_two_doors, falsify)
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
        let deleted = self.twin.delete(id, (self.real.now_ns(), wall));
        let said = Said {
            cause: answer.cause,
            offending_ie: answer.offending_ie,
        };
        self.agree(said, &deleted.clone().map(drop), |_| false)?;
        let (mut reports, released) = deleted.unwrap_or_default();
        falsify.reports(&mut reports);
        same_reports(&reports, &answer.usage_report)?;
        self.released(Vec::new(), released, falsify)
    }

    fn delete_sets(
        &mut self,
        sets: &[SetSpec],
        falsify: &mut dyn Falsify,
    ) -> Result<(), Difference> {
        let message = MessageType::SESSION_SET_DELETION_REQUEST;
        let response = self
            .real
            .request(message, None, |w| set_deletion(w, sets))
            .ok_or("no answer to the set deletion")?;
        // Its sessions are looked for from now on, some at a time.
        self.real.advance(0);
        let (_, body) = Header::parse(&response).map_err(|e| e.to_string())?;
        let answer = SessionSetDeletionResponse::parse(body).map_err(unreadable)?;
        let said = Said {
            cause: answer.cause,
            offending_ie: answer.offending_ie,
        };
        let mut bytes = vec![0; 1024];
        let mut out = Writer::new(&mut bytes);
        set_deletion(&mut out, sets).map_err(|e| e.to_string())?;
        let request = SessionSetDeletionRequest::parse(out.written()).map_err(unreadable)?;
        let when = (self.real.now_ns(), self.real.wall());
        let deleted = self.twin.delete_sets(&request, when);
        self.agree(said, &deleted.clone().map(drop), |_| false)?;
        let (ended, released) = deleted.unwrap_or_default();
        self.sessions.retain(|_, id| !ended.contains(id));
        let stand = self.real.sessions();
        *self.counts.entry("ended with a set").or_default() += ended.len() as u64;
        if stand != self.sessions.len() {
            let expected = self.sessions.len();
            return Err(format!("{stand} sessions stand, not {expected}"));
        }
        self.released(Vec::new(), released, falsify)
    }

    fn manage_pfds(
        &mut self,
        told: &[(&'static str, Vec<&'static str>)],
        falsify: &mut dyn Falsify,
    ) -> Result<(), Difference> {
        let ids: Vec<SessionId> = self.sessions.values().copied().collect();
        if ids.iter().any(|id| self.twin.drains_in_no_order(*id)) {
            self.advance(HOLD_OVER_NS)?;
        }
        self.real.took_rules();
        let has_two_doors = self.twin.downlink_has_two_doors();
        let message = MessageType::PFD_MANAGEMENT_REQUEST;
        let response = self
            .real
            .request(message, None, |w| pfd_management(w, told))
            .ok_or("no answer to PFD Management")?;
        // Its sessions are looked for from now on, some at a time.
        self.real.renew_flows();
        let (_, body) = Header::parse(&response).map_err(|e| e.to_string())?;
        let answer = PfdManagementResponse::parse(body).map_err(unreadable)?;
        let said = Said {
            cause: answer.cause,
            offending_ie: answer.offending_ie,
        };
        let mut bytes = vec![0; 4096];
        let mut out = Writer::new(&mut bytes);
        pfd_management(&mut out, told).map_err(|e| e.to_string())?;
        let mut request = PfdManagementRequest::parse(out.written()).map_err(unreadable)?;
        falsify.pfds(&mut request);
        let when = (self.real.now_ns(), self.real.wall());
        let changed = self.real.took_rules_of(ids.into_iter());
        let wrote = |id| changed.contains(&id);
        let managed = self.twin.manage_pfds(&request, when, wrote);
        *self.counts.entry("sessions with new flows").or_default() += changed.len() as u64;
        self.agree(said, &managed.clone().map(drop), |_| false)?;
        self.released(Vec::new(), managed.unwrap_or_default(), falsify)?;
        let has_two_doors = has_two_doors || self.twin.downlink_has_two_doors();
        self.compare_paged(has_two_doors, falsify)
    }

    /// What becomes of held packets when rules change, behind what was there to send before.
    fn released(
        &mut self,
        mut first: Vec<Outcome>,
        mut released: Vec<Outcome>,
        falsify: &mut dyn Falsify,
    ) -> Result<(), Difference> {
        falsify.released(&mut released);
        let sent = released.iter().filter(|o| matches!(o, Outcome::Sent(_)));
        *self.counts.entry("drained").or_default() += sent.count() as u64;
        first.extend(released);
        // What was held counts when it leaves.
        self.expect_reports();
        self.compare(first)
    }

    fn advance(&mut self, ns: u64) -> Result<(), Difference> {
        let until_ns = self.real.now_ns() + ns;
        // What waits leaves in the nanosecond in which it may, and none before.
        loop {
            let (due_ns, expiry_ns) = (self.twin.next_due_ns(), self.twin.next_expiry_ns());
            let next_ns = [due_ns, expiry_ns].into_iter().flatten().min();
            let Some(next_ns) = next_ns.filter(|next_ns| *next_ns <= until_ns) else {
                break;
            };
            self.advance_to(next_ns - 1)?;
            self.advance_to(next_ns)?;
            if due_ns == Some(next_ns) {
                *self.counts.entry("left when it was due").or_default() += 1;
            }
        }
        self.advance_to(until_ns)
    }

    fn advance_to(&mut self, now_ns: u64) -> Result<(), Difference> {
        self.real.advance_to(now_ns);
        let outcomes = self.twin.advance(self.real.now_ns());
        self.twin.advance_urrs(self.real.wall());
        self.expect_reports();
        self.compare(outcomes)
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
        // Where something happens at an amount of octets every packet has its turn.
        // Of several workers nobody promised that a packet comes before the block that another asked for.
        let lacks_ports = self.workers > 1 && self.twin.may_lack_ports(received.len());
        if self.twin.counts_packet_by_packet() || lacks_ports {
            return self.packet_by_packet(&received, falsify);
        }
        // Workers that poll different ports are bound to no order among themselves.
        let in_turn = self.workers > 1 && (self.twin.downlink_has_two_doors() || self.features.nat);
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
            // Behind all that came with them.
            let mut outcomes = self.twin.turn_round(now_ns);
            falsify.outcomes(&mut outcomes);
            expected.extend(outcomes);
        }
        self.compare(expected)?;
        let has_two_doors = self.twin.downlink_has_two_doors();
        self.compare_paged(has_two_doors, falsify)
    }

    /// Whom the CP function is told of. Where packets come to a flow by two doors either may be its first.
    fn compare_paged(
        &mut self,
        has_two_doors: bool,
        falsify: &mut dyn Falsify,
    ) -> Result<(), Difference> {
        let mut paged = self.twin.paged();
        falsify.paged(&mut paged);
        *self.counts.entry("paged").or_default() += paged.len() as u64;
        let paged: Vec<_> = paged
            .into_iter()
            .map(|told| (self.cps[&told.session], told))
            .collect();
        same_paged(&paged, &self.real.take_paged(), has_two_doors)
    }

    fn packet_by_packet(
        &mut self,
        received: &[(u16, Vec<u8>)],
        falsify: &mut dyn Falsify,
    ) -> Result<(), Difference> {
        let mut expected = Vec::new();
        for (port, frame) in received {
            self.real.receive(&[(*port, frame.clone())]);
            let mut outcomes = self.twin.packet(self.real.now_ns(), *port, frame);
            falsify.outcomes(&mut outcomes);
            self.note(|| show::received(*port, frame, &outcomes));
            expected.extend(outcomes);
            let mut outcomes = self.twin.turn_round(self.real.now_ns());
            falsify.outcomes(&mut outcomes);
            expected.extend(outcomes);
            self.expect_reports();
            self.give_ports();
        }
        self.compare(expected)
    }

    /// The path came to rest: who found no free port has a further block.
    fn give_ports(&mut self) {
        let (given, refused) = self.twin.give_ports();
        *self.counts.entry("further block").or_default() += given;
        *self.counts.entry("no further block").or_default() += refused;
    }

    /// What sessions report by themselves by now.
    fn expect_reports(&mut self) {
        let reports = self.twin.usage_reports(self.real.wall());
        for (id, reports) in &reports {
            self.note(|| format!("  session {id:#x} reports {}", show::reports(reports)));
            for report in reports {
                coverage::count_report(&mut self.counts, report);
            }
        }
        self.reports.extend(reports);
        let inactive = self.twin.inactive();
        *self.counts.entry("reported: inactivity").or_default() += inactive.len() as u64;
        let cps = inactive.iter().map(|id| self.cps[id]);
        self.inactive.extend(cps);
    }

    /// Both grant, or both refuse.
    fn agree(
        &mut self,
        said: Said,
        twin: &Result<(), Refused>,
        has_too: impl FnOnce(Told) -> bool,
    ) -> Result<(), Difference> {
        *self.counts.entry(refusal::name(twin)).or_default() += 1;
        refusal::agree(said, twin, has_too)
    }

    fn compare(&mut self, expected: Vec<Outcome>) -> Result<(), Difference> {
        self.give_ports();
        let seen = self.real.look();
        for outcome in &expected {
            *self.counts.entry(name(outcome)).or_default() += 1;
        }
        let held = self.twin.held() as u64;
        same_own_reports(
            &std::mem::take(&mut self.reports),
            &seen.reports,
            &self.cp_names,
        )?;
        same_inactive(std::mem::take(&mut self.inactive), &seen.inactive)?;
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

/// The addresses that the PDRs of a session name.
pub fn ue_of(rules: &Rules) -> UeSpec {
    UeSpec {
        ipv4: rules.pdrs.iter().find_map(|p| p.ue.ipv4),
        ipv6: rules.pdrs.iter().find_map(|p| p.ue.ipv6),
        ..UeSpec::default()
    }
}
