//! N1 and N2 of a scenario: gNBs' associations, UEs with SIMs, and the procedures that they are in.

mod bearers;
mod link;
mod pages;
mod procedures;
mod tally;

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use sluice_host::clock;
use sluice_host::poll::{Poller, Ready};
use sluice_n2::{NgSetupRequest, PlmnSlices, SupportedArea};
use sluice_sctp::Loss;
use sluice_ue::{Fleet, FleetUe, Gnb, Procedure, Sim, Ue};

use self::link::{Happened, Link};
use self::pages::Pages;
pub use self::tally::Tally;
use super::Until;
use super::namespaces::Namespaces;
use crate::Failure;
use crate::scenario::{N2, Scenario, Sims, Ues};

/// How long associations and NG Setups may take at the start.
const START_LIMIT: Duration = Duration::from_secs(20);
/// How long associations that were lost meanwhile are tried again: on a busy machine an AMF may answer late.
const LOSS_PATIENCE: Duration = Duration::from_secs(5);
/// SCTP's clock moves at least so often.
const TICK: Duration = Duration::from_millis(10);
/// How long peers may take to end their associations in order.
const ENDING: Duration = Duration::from_secs(5);
/// Ready links that are told at once.
const READY_MAX: usize = 256;

/// gNBs with an AMF, and UEs with SIMs.
pub struct Signalling {
    fleet: Fleet,
    /// By index in the fleet, which has those gNBs only that have an AMF.
    links: Vec<Link>,
    /// Index of the gNB in the scenario, by index in the fleet.
    pub gnb_of: Vec<usize>,
    station_of: BTreeMap<usize, usize>,
    /// Index of the UE in the scenario, by index in the fleet.
    ue_of: Vec<usize>,
    pub fleet_ue_of: BTreeMap<usize, usize>,
    poller: Poller,
    ready: Ready,
    last_tick: Instant,
    /// Next procedures of each UE, and the time that each may take.
    chains: BTreeMap<usize, (VecDeque<Procedure>, Duration)>,
    /// Further sessions' lines among the runtime's UEs, by UE and session.
    lines: BTreeMap<(usize, u8), usize>,
    /// UEs' kernels that are to ask for a router, and when.
    solicit: Vec<(Instant, usize)>,
    /// UEs that are to be paged.
    pages: Pages,
    pub tally: Tally,
    /// The procedure that was done last: whose, and how long it took.
    pub last_done: Option<(usize, Duration)>,
    pub sent: u64,
    pub received: u64,
    /// Associations lost after they were up.
    pub lost: u64,
}

impl Signalling {
    /// Opens sockets, and makes gNBs and UEs; nothing is sent. None of a scenario without SIMs and
    /// AMFs.
    pub fn open(scenario: &Scenario, places: &mut Namespaces) -> Result<Option<Self>, Failure> {
        let (mut gnbs, mut links, mut gnb_of) = (Vec::new(), Vec::new(), Vec::new());
        let mut before = 0;
        for group in &scenario.gnbs {
            let Some(n2) = &group.n2 else {
                before += group.count;
                continue;
            };
            let place = n2.namespace.as_ref().unwrap_or(&group.namespace);
            let ns = places.existing(place)?;
            for (member, name) in group.names().iter().enumerate() {
                let number = before + member;
                let mut gnb = gnb(name, n2, member);
                gnb.address = group.n3_of(member);
                gnb.next_teid = first_teid(number);
                gnbs.push(gnb);
                links.push(Link::open(name, n2, member, &ns)?);
                gnb_of.push(number);
            }
            before += group.count;
        }
        if links.is_empty() {
            return Ok(None);
        }
        let poller = Poller::new().map_err(Failure::lacking)?;
        for (at, link) in links.iter().enumerate() {
            poller
                .add(&link.node, at as u64)
                .map_err(Failure::lacking)?;
        }
        let station_of: BTreeMap<_, _> = gnb_of
            .iter()
            .enumerate()
            .map(|(at, gnb)| (*gnb, at))
            .collect();
        let (fleet_ues, ue_of) = fleet_ues(scenario, &station_of)?;
        let fleet_ue_of = ue_of.iter().enumerate().map(|(at, ue)| (*ue, at)).collect();
        Ok(Some(Self {
            fleet: Fleet::new(gnbs, fleet_ues),
            links,
            gnb_of,
            station_of,
            ue_of,
            fleet_ue_of,
            poller,
            ready: Ready::with_capacity(READY_MAX),
            last_tick: Instant::now(),
            chains: BTreeMap::new(),
            lines: BTreeMap::new(),
            solicit: Vec::new(),
            pages: Pages::default(),
            tally: Tally::default(),
            last_done: None,
            sent: 0,
            received: 0,
            lost: 0,
        }))
    }

    /// Sets up associations and N2 of all gNBs.
    pub fn set_up(&mut self, scenario: &Scenario, until: &Until) -> Result<(), Failure> {
        self.links.iter_mut().for_each(Link::connect);
        let begun = Instant::now();
        let end = begun + START_LIMIT;
        loop {
            self.wait(Duration::from_millis(20))
                .map_err(Failure::failed)?;
            self.flush();
            let waiting = (0..self.links.len()).find(|at| !self.is_up(*at));
            let Some(at) = waiting else { return Ok(()) };
            let name = self
                .gnb_of
                .get(at)
                .map_or("?", |gnb| scenario.names.gnb(*gnb));
            if let Some(why) = self.fleet.gnbs().get(at).and_then(Gnb::refused) {
                let what = format!("the AMF has refused NG Setup of {name}: {why}");
                let help = "its plmn, tac and slices must be among those that the AMF serves";
                return Err(Failure::failed(format!("{what}\n{help}")));
            }
            let why = self.links.get(at).and_then(|link| link.why);
            let is_lost = why.is_some() && begun.elapsed() >= LOSS_PATIENCE;
            if is_lost || Instant::now() >= end || until.check().is_err() {
                let why = why.map_or("no answer to NG Setup".to_owned(), |why| {
                    format!("SCTP: {why}")
                });
                let amf = scenario.gnbs.iter().find_map(|group| group.n2.as_ref());
                let amf = amf.map_or_else(String::new, |n2| format!(" with the AMF at {}", n2.amf));
                return Err(Failure::failed(format!("N2 of {name}{amf}: {why}")));
            }
        }
    }

    /// Whether a gNB has an AMF, by its index in the fleet.
    fn is_up(&self, at: usize) -> bool {
        let gnb = self.fleet.gnbs().get(at);
        gnb.is_some_and(|gnb| gnb.response().is_some())
    }

    /// gNBs that have an AMF now, and that should have one.
    pub fn gnbs_up(&self) -> (usize, usize) {
        let all = 0..self.links.len();
        (all.clone().filter(|at| self.is_up(*at)).count(), all.len())
    }

    /// All gNBs and UEs.
    pub fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Error Indications of AMFs.
    pub fn errors(&self) -> u64 {
        self.fleet.gnbs().iter().map(Gnb::indicated).sum()
    }

    /// How it is, in a few words.
    pub fn describe(&self) -> String {
        let (up, all) = self.gnbs_up();
        let (registered, connected) = (self.fleet.registered(), self.fleet.connected());
        format!("{up} of {all} gNBs set up, {registered} UEs registered, {connected} connected")
    }

    /// PDU sessions that UEs have now.
    pub fn sessions(&self) -> usize {
        let fleet_ues = self.fleet.ues().iter();
        let each = fleet_ues.map(|fleet_ue| fleet_ue.ue.sessions().status().count_ones() as usize);
        each.sum()
    }

    /// Waits for messages, at most so long, and takes what has come. What is to be sent is not yet.
    fn wait(&mut self, patience: Duration) -> std::io::Result<()> {
        let due = self.fleet.next_deadline_ns().map_or(patience, |at| {
            Duration::from_nanos(at.saturating_sub(clock::monotonic_ns()))
        });
        let patience = patience.min(TICK).min(due);
        self.poller.wait(&mut self.ready, Some(patience))?;
        let now = Instant::now();
        let is_tick = now.duration_since(self.last_tick) >= TICK;
        let mut turns: Vec<usize> = self.ready.tokens().map(|at| at as usize).collect();
        if is_tick {
            self.last_tick = now;
            turns = (0..self.links.len()).collect();
        }
        for at in turns {
            let Some(link) = self.links.get_mut(at) else {
                continue;
            };
            let happened = link.turn()?;
            link.keep(now);
            for one in happened {
                match one {
                    Happened::Up => self.fleet.set_up(at),
                    Happened::Message(octets) => {
                        self.received += 1;
                        self.fleet.receive(clock::monotonic_ns(), at, &octets);
                    }
                    Happened::Lost => {
                        self.lost += u64::from(self.is_up(at));
                        self.fleet.lost(at);
                    }
                }
            }
        }
        self.fleet.time(clock::monotonic_ns());
        Ok(())
    }

    /// Sends what is to be sent.
    fn flush(&mut self) {
        for message in self.fleet.take_to_amf() {
            if let Some(link) = self.links.get_mut(message.gnb) {
                link.send(message.ran, &message.octets);
                self.sent += 1;
            }
        }
        self.links.iter_mut().for_each(|link| link.node.flush());
    }

    /// Why an association ended last, if one has.
    pub fn why_lost(&self) -> Option<Loss> {
        self.links.iter().find_map(|link| link.why)
    }

    /// Ends all associations; how each has ended, as far as is known in time.
    pub fn end(mut self) -> Vec<Option<Loss>> {
        self.links.iter_mut().for_each(Link::shut_down);
        let end = Instant::now() + ENDING;
        self.links.into_iter().map(|link| link.close(end)).collect()
    }
}

/// gNBs' TEIDs differ, so that one that went astray is seen.
fn first_teid(number: usize) -> u32 {
    ((number as u32 + 1) << 20) + 1
}

fn gnb(name: &str, n2: &N2, member: usize) -> Gnb {
    let plmns = vec![PlmnSlices {
        plmn: n2.plmn,
        slices: n2.slices.clone(),
    }];
    let setup = NgSetupRequest {
        gnb: sluice_n2::Gnb {
            plmn: n2.plmn,
            id: n2.id + member as u32,
            bits: 24,
        },
        name: Some(name.to_owned()),
        areas: vec![SupportedArea { tac: n2.tac, plmns }],
        // The gNB says it where it has any.
        retains_ues: false,
    };
    let tai = sluice_ids::Tai {
        plmn: n2.plmn,
        tac: n2.tac,
    };
    let mut gnb = Gnb::new(setup, tai);
    gnb.retains_ues = n2.retains_ues;
    gnb
}

/// UEs with SIMs, and their indices in the scenario.
fn fleet_ues(
    scenario: &Scenario,
    station_of: &BTreeMap<usize, usize>,
) -> Result<(Vec<FleetUe>, Vec<usize>), Failure> {
    let (mut fleet_ues, mut ue_of) = (Vec::new(), Vec::new());
    for (index, group) in scenario.ues.iter().enumerate() {
        let Some(sims) = &group.sims else { continue };
        for (member, ue) in scenario.names.group(index).enumerate() {
            let turn = group.gnbs.get(member % group.gnbs.len().max(1));
            let gnb = turn.and_then(|gnb| station_of.get(gnb)).copied();
            let network = scenario.serving_plmn(turn.copied().unwrap_or(0));
            let fleet_ue = network.and_then(|network| fleet_ue(group, sims, member, network, gnb?));
            let fleet_ue =
                fleet_ue.ok_or_else(|| Failure::failed("a UE without a gNB or an identity"))?;
            fleet_ues.push(fleet_ue);
            ue_of.push(ue);
        }
    }
    Ok((fleet_ues, ue_of))
}

fn fleet_ue(
    group: &Ues,
    sims: &Sims,
    member: usize,
    network: sluice_ids::Plmn,
    gnb: usize,
) -> Option<FleetUe> {
    let imsi = format!("{:015}", group.imsi + member as u64);
    let msin = imsi.get(sims.home_digits..)?;
    let mut sim = Sim::with(sims.home, msin, &sims.credentials);
    if let Some((id, key)) = &sims.home_key {
        sim.conceal_with(*id, key.clone());
    }
    let mut ue = Ue::new(sim, network)?;
    ue.capability = sims.capability;
    ue.requested_nssai.clone_from(&sims.slices);
    // Whoever has sessions to establish has more to say.
    ue.follow_on = !sims.sessions.is_empty();
    random(&mut ue.random);
    let mut fleet_ue = FleetUe::new(ue, gnb);
    fleet_ue.wanted = sims.sessions.iter().cloned().collect();
    Some(fleet_ue)
}

/// Ephemeral keys of concealments: what they hide is no secret here, but they must differ.
fn random(octets: &mut [u8]) {
    fastrand::fill(octets);
}
