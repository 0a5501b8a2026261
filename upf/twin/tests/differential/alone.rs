//! Cases on the twin alone: whether they reach all that they should, and whether a twin that is wrong in
//! one small way would be seen from outside.

use crate::coverage::{self, Counts};
use crate::encode::{
    establishment, modification, pfd_management, read_establishment, read_modification,
    set_deletion,
};
use crate::frames;
use crate::names::Names;
use crate::refusal;
use crate::run::Falsify;
use crate::spec::{Case, Change, PacketSpec, Rules, SetSpec, Slot, Step, UeSpec};
use crate::world;
use crate::world::Features;
use sluice_twin::{Outcome, SessionId, Side, Twin, TwinConfig};
use sluice_wire::ids::Teid;
use sluice_wire::pfcp::Writer;
use sluice_wire::pfcp::group::{CreatePdr, CreatedPdr, UsageReport};
use sluice_wire::pfcp::message::{
    PfdManagementRequest, SessionEstablishmentRequest, SessionModificationRequest,
    SessionSetDeletionRequest,
};
use sluice_wire::pfcp::value::{FTeid, NtpTime, UeIpAddress};
use std::collections::BTreeMap;
use std::net::IpAddr;

/// What is to be seen from outside.
#[derive(PartialEq, Debug)]
pub enum Event {
    Answer(&'static str),
    Reports(Vec<UsageReport<'static>>),
    OwnReports(Vec<(SessionId, Vec<UsageReport<'static>>)>),
    Outcomes(Vec<Outcome>),
}

/// A twin, and a UP function that chooses F-TEIDs one after the other.
pub struct Alone<'f> {
    world: TwinConfig,
    twin: Twin,
    falsify: &'f mut dyn Falsify,
    sessions: BTreeMap<Slot, SessionId>,
    ues: BTreeMap<Slot, UeSpec>,
    chosen: BTreeMap<(SessionId, u8), FTeid>,
    last: u32,
    now_ns: u64,
    events: Vec<Event>,
}

/// All that is to be seen of a case.
pub fn events(
    case: &Case,
    features: Features,
    falsify: &mut dyn Falsify,
    counts: &mut Counts,
) -> Vec<Event> {
    let world = world::world(true, true, features);
    let mut alone = Alone {
        twin: Twin::new(world.clone()),
        world,
        falsify,
        sessions: BTreeMap::new(),
        ues: BTreeMap::new(),
        chosen: BTreeMap::new(),
        last: 0,
        now_ns: 1_000_000_000,
        events: Vec::new(),
    };
    for step in &case.steps {
        coverage::count(counts, step);
        let before = alone.events.len();
        alone.step(step);
        for event in &alone.events[before..] {
            if let (Step::Modify(_, change), Event::Outcomes(all)) = (step, event) {
                coverage::count_discarded(counts, change, all);
            }
        }
    }
    alone.step(&Step::Advance(100_000_000_000));
    let wall = alone.wall();
    for id in alone.sessions.values() {
        let deleted = alone.twin.delete(*id, (0, wall));
        let (reports, released) = deleted.expect("it is there");
        alone.events.push(Event::Outcomes(released));
        alone.events.push(Event::Reports(reports));
    }
    for event in &alone.events {
        if let Event::OwnReports(reports) = event {
            for (_, report) in reports
                .iter()
                .flat_map(|(id, all)| all.iter().map(move |r| (id, r)))
            {
                coverage::count_report(counts, report);
            }
        }
        let names: Vec<&str> = match event {
            Event::Answer(name) => vec![name],
            Event::Outcomes(all) => all.iter().map(crate::compare::name).collect(),
            Event::Reports(_) | Event::OwnReports(_) => vec![],
        };
        for name in names {
            *counts.entry(name).or_default() += 1;
        }
    }
    alone.events
}

impl Alone<'_> {
    fn step(&mut self, step: &Step) {
        match step {
            Step::Establish(slot, rules) => self.establish(*slot, rules),
            Step::Modify(slot, change) => self.modify(*slot, change),
            Step::Delete(slot) => self.delete(*slot),
            Step::DeleteSets(sets) => self.delete_sets(sets),
            Step::Pfds(told) => self.manage_pfds(told),
            Step::Packets(packets) => packets.iter().for_each(|p| self.packet(p)),
            Step::Advance(ns) => self.advance(*ns),
        }
    }

    fn advance(&mut self, ns: u64) {
        self.now_ns += ns;
        let outcomes = self.twin.advance(self.now_ns);
        self.events.push(Event::Outcomes(outcomes));
        self.twin.advance_urrs(self.wall());
        self.own_reports();
    }

    fn wall(&self) -> NtpTime {
        NtpTime((self.now_ns / 1_000_000_000) as u32)
    }

    fn own_reports(&mut self) {
        let reports = self.twin.usage_reports(self.wall());
        self.events.push(Event::OwnReports(reports));
        let inactive = self.twin.inactive();
        (self.events).extend(
            inactive
                .iter()
                .map(|_| Event::Answer("reported: inactivity")),
        );
    }

    fn establish(&mut self, slot: Slot, rules: &Rules) {
        if self.sessions.contains_key(&slot) {
            return;
        }
        self.last += 1;
        let id = self.last.into();
        let mut bytes = vec![0; 16_384];
        let mut out = Writer::new(&mut bytes);
        establishment(&mut out, 1, rules, self.wall()).expect("it has room");
        let mut request = SessionEstablishmentRequest::default();
        read_establishment(&mut request, out.written());
        self.falsify.establishment(&mut request);
        let created = self.created(id, &request.create_pdr);
        let granted = self.twin.establish(id, &request, &created, self.wall());
        if granted.is_ok() {
            self.sessions.insert(slot, id);
        }
        self.ues.insert(slot, crate::run::ue_of(rules));
        self.events.push(Event::Answer(refusal::name(&granted)));
        self.own_reports();
    }

    fn modify(&mut self, slot: Slot, change: &Change) {
        let Some(id) = self.sessions.get(&slot).copied() else {
            return;
        };
        if self.twin.drains_in_no_order(id) {
            self.advance(crate::world::HOLD_OVER_NS);
        }
        let known: BTreeMap<u16, (IpAddr, u32)> = (0..64)
            .filter_map(|pdr| Some((pdr, self.twin.teid(id, pdr)?)))
            .collect();
        let mut bytes = vec![0; 16_384];
        let mut out = Writer::new(&mut bytes);
        let known = |pdr: u16| known.get(&pdr).copied();
        modification(&mut out, change, &known, self.wall()).expect("it has room");
        let mut request = SessionModificationRequest::default();
        read_modification(&mut request, out.written());
        self.falsify.modification(&mut request);
        let created = self.created(id, &request.create_pdr);
        self.twin.stand_behind(id);
        let modified = self
            .twin
            .modify(id, &request, &created, (self.now_ns, self.wall()));
        let name = refusal::name(&modified.clone().map(drop));
        self.events.push(Event::Answer(name));
        let modified = modified.unwrap_or_default();
        self.events.push(Event::Reports(modified.reports));
        self.events.push(Event::Outcomes(modified.end_markers));
        self.released(modified.released);
    }

    fn delete(&mut self, slot: Slot) {
        if let Some(id) = self.sessions.remove(&slot) {
            let deleted = self.twin.delete(id, (self.now_ns, self.wall()));
            let (reports, released) = deleted.expect("it is there");
            self.events.push(Event::Reports(reports));
            self.released(released);
        }
    }

    fn delete_sets(&mut self, sets: &[SetSpec]) {
        let mut bytes = vec![0; 1024];
        let mut out = Writer::new(&mut bytes);
        set_deletion(&mut out, sets).expect("it has room");
        let request = SessionSetDeletionRequest::parse(out.written()).expect("we wrote it");
        let when = (self.now_ns, self.wall());
        let deleted = self.twin.delete_sets(&request, when);
        self.events
            .push(Event::Answer(refusal::name(&deleted.clone().map(drop))));
        let (ended, released) = deleted.unwrap_or_default();
        self.sessions.retain(|_, id| !ended.contains(id));
        let ends = ended.iter().map(|_| Event::Answer("ended with a set"));
        self.events.extend(ends);
        self.released(released);
    }

    fn manage_pfds(&mut self, told: &[(&'static str, Vec<&'static str>)]) {
        let mut bytes = vec![0; 4096];
        let mut out = Writer::new(&mut bytes);
        pfd_management(&mut out, told).expect("it has room");
        let mut request = PfdManagementRequest::parse(out.written()).expect("we wrote it");
        self.falsify.pfds(&mut request);
        let when = (self.now_ns, self.wall());
        let of_any = self.twin.sessions_with_applications();
        let managed = self.twin.manage_pfds(&request, when, |_| true);
        let name = refusal::name(&managed.clone().map(drop));
        self.events.push(Event::Answer(name));
        if managed.is_ok() && of_any > 0 {
            self.events.push(Event::Answer("sessions with new flows"));
        }
        self.released(managed.unwrap_or_default());
    }

    fn released(&mut self, released: Vec<Outcome>) {
        if released.iter().any(|o| matches!(o, Outcome::Sent(_))) {
            self.events.push(Event::Answer("drained"));
        }
        self.events.push(Event::Outcomes(released));
    }

    fn packet(&mut self, spec: &PacketSpec) {
        let names = Names {
            twin: &self.twin,
            sessions: &self.sessions,
            ues: &self.ues,
        };
        let (port, frames) = frames::build(spec, &self.world, &names);
        for frame in frames {
            let mut outcomes = self.twin.packet(self.now_ns, port, &frame);
            self.falsify.outcomes(&mut outcomes);
            let paged = self.twin.paged().len();
            let paged = (0..paged).map(|_| Event::Answer("paged"));
            self.events.extend(paged);
            self.events.push(Event::Outcomes(outcomes));
            self.own_reports();
        }
        let turned = self.twin.turn_round(self.now_ns);
        self.events.push(Event::Outcomes(turned));
    }

    /// What the UP function answers: an F-TEID for each CHOOSE, one for each CHOOSE ID.
    fn created(&mut self, id: SessionId, pdrs: &[CreatePdr<'_>]) -> Vec<CreatedPdr> {
        let mut all = self.given(id, pdrs);
        for pdr in pdrs {
            let Some(FTeid::Choose {
                choose_id,
                ipv4,
                ipv6,
            }) = pdr.pdi.local_f_teid
            else {
                continue;
            };
            let instance = pdr.pdi.network_instance.map(|n| n.to_string());
            let side = Side::from_value(pdr.pdi.source_interface.0);
            let end = side.and_then(|s| self.world.tunnel_end(s, instance.as_deref()));
            let Some(end) = end else {
                continue;
            };
            self.last += 1;
            let teid = Teid::new(0x4000_0000 | self.last).expect("not 0");
            let new = FTeid::Assigned {
                teid,
                ipv4: end.ipv4().filter(|_| ipv4),
                ipv6: end.ipv6().filter(|_| ipv6),
            };
            let f_teid = match choose_id {
                Some(name) => *self.chosen.entry((id, name)).or_insert(new),
                None => new,
            };
            let mut created = created_of(pdr);
            created.local_f_teid.push(f_teid);
            all.push(created);
        }
        all
    }

    /// The addresses that it gives, in Created PDRs of their own.
    fn given(&self, id: SessionId, pdrs: &[CreatePdr<'_>]) -> Vec<CreatedPdr> {
        let (ipv4, ipv6) = self.twin.to_give(id, pdrs, NtpTime(9));
        let given = pdrs.iter().filter_map(|pdr| {
            let ue = pdr.pdi.ue_ip_address.first()?;
            let given = UeIpAddress {
                ipv4: ipv4.filter(|_| ue.choose_ipv4),
                ipv6: ipv6.filter(|_| ue.choose_ipv6),
                ..UeIpAddress::default()
            };
            let mut created = created_of(pdr);
            created.ue_ip_address.push(given);
            (given != UeIpAddress::default()).then_some(created)
        });
        given.collect()
    }
}

fn created_of(pdr: &CreatePdr<'_>) -> CreatedPdr {
    CreatedPdr {
        pdr_id: pdr.pdr_id,
        ..CreatedPdr::default()
    }
}
