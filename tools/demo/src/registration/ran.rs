//! The gNBs of the demo and their UEs: N1 and N2 through SCTP; [`super::devices`] carries user traffic.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use sluice_host::clock;
use sluice_host::netns::Ns;
use sluice_host::poll::{Poller, Ready};
use sluice_ids::Snssai;
use sluice_n1::{EstablishmentAccept, SessionType};
use sluice_n2::{NgSetupRequest, PlmnSlices, SupportedArea};
use sluice_ran::{Gnb as Station, GnbConfig};
use sluice_sctp::Loss;
use sluice_ue::{Ended, Fleet, Gnb, Outcome, Phone, Procedure, Ue, WantedSession};

use super::devices::Place;
use super::link::Link;
use crate::child::Stop;
use crate::error::DemoError;
use crate::plan;

/// For a procedure, on a busy machine too.
pub(super) const LIMIT: Duration = Duration::from_secs(30);
const PATIENCE: Duration = Duration::from_millis(10);

/// The session of each UE.
pub(super) const SESSION: u8 = 1;

/// The gNBs, their UEs and their associations.
pub(super) struct Ran<'a> {
    pub(super) fleet: Fleet,
    links: Vec<Link>,
    poller: Poller,
    ready: Ready,
    /// The gNBs on N3.
    pub(super) stations: Vec<Station>,
    /// Where each UE's programs run.
    pub(super) places: Vec<Place>,
    /// Procedures that have ended, by UE.
    ended: BTreeMap<usize, Ended>,
    pub(super) received: u64,
    pub(super) sent: u64,
    stop: &'a Stop,
}

impl<'a> Ran<'a> {
    /// Sets up associations with the AMF from `ns`; each UE has a namespace.
    pub(super) fn start(ns: &Ns, ues: Vec<(Ue, Ns)>, stop: &'a Stop) -> Result<Self, DemoError> {
        let poller = Poller::new().map_err(DemoError::io("watch N2"))?;
        let (mut links, mut stations, mut gnbs) = (Vec::new(), Vec::new(), Vec::new());
        for (number, address) in plan::N3_GNBS.into_iter().enumerate() {
            let link = Link::connect(ns, number)?;
            let added = poller.add(&link.node, number as u64);
            added.map_err(DemoError::io("watch N2"))?;
            links.push(link);
            let name = gnb_name(number);
            stations.push(Station::start(&GnbConfig::new(&name, ns, address))?);
            gnbs.push(gnb(number));
        }
        let (mut phones, mut places) = (Vec::new(), Vec::new());
        for (ue, ns) in ues {
            phones.push(phone(ue));
            places.push(Place::new(ns));
        }
        let mut ran = Self {
            fleet: Fleet::new(gnbs, phones),
            ready: Ready::with_capacity(links.len()),
            links,
            poller,
            stations,
            places,
            ended: BTreeMap::new(),
            received: 0,
            sent: 0,
            stop,
        };
        ran.wait("the SCTP associations", |ran| {
            ran.links.iter().all(|link| link.streams > 0)
        })?;
        Ok(ran)
    }

    /// UEs.
    pub(super) fn count(&self) -> usize {
        self.places.len()
    }

    /// A UE.
    pub(super) fn ue(&self, phone: usize) -> &Ue {
        &self.fleet.phones()[phone].ue
    }

    /// What a UE's session was accepted with.
    pub(super) fn accept(&self, phone: usize) -> Option<&EstablishmentAccept> {
        self.ue(phone).sessions().get(SESSION)
    }

    /// Index of the gNB at which a UE is connected.
    pub(super) fn gnb_of(&self, phone: usize) -> Option<usize> {
        self.fleet.phones()[phone].at().map(|(gnb, _)| gnb)
    }

    /// Why an association ended, if one has.
    pub(super) fn lost(&self) -> Option<Loss> {
        self.links.iter().find_map(|link| link.lost)
    }

    /// Lets things happen until `condition` holds.
    pub(super) fn wait(
        &mut self,
        what: &str,
        condition: impl Fn(&Self) -> bool,
    ) -> Result<(), DemoError> {
        self.wait_for(what, |ran| Ok(condition(ran)))
    }

    /// The same for what may fail to be looked at.
    pub(super) fn wait_for(
        &mut self,
        what: &str,
        condition: impl Fn(&Self) -> Result<bool, DemoError>,
    ) -> Result<(), DemoError> {
        let end = Instant::now() + LIMIT;
        while !condition(self)? {
            self.stop.check()?;
            if Instant::now() >= end {
                let what = format!("{what}: did not happen");
                return Err(DemoError::TooLate { what, limit: LIMIT });
            }
            self.turn()?;
        }
        Ok(())
    }

    /// Lets things happen while `work` goes on, on a thread of its own; gives what came of it.
    pub(super) fn meanwhile<T: Send>(
        &mut self,
        work: impl FnOnce() -> Result<T, DemoError> + Send,
    ) -> Result<T, DemoError> {
        let (done, _) = self.meanwhile_play(work, |_| Ok(()))?;
        Ok(done)
    }

    /// Plays `script` while `work` goes on; gives what came of the work, and whether it went on for the
    /// whole script.
    pub(super) fn meanwhile_play<T: Send>(
        &mut self,
        work: impl FnOnce() -> Result<T, DemoError> + Send,
        script: impl FnOnce(&mut Self) -> Result<(), DemoError>,
    ) -> Result<(T, bool), DemoError> {
        std::thread::scope(|scope| {
            let thread = scope.spawn(work);
            let mut turned = script(self);
            let is_whole = !thread.is_finished();
            while !thread.is_finished() {
                if turned.is_ok() {
                    turned = self.turn();
                } else {
                    std::thread::sleep(PATIENCE);
                }
            }
            let outcome = thread.join();
            turned?;
            let done = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            Ok((done?, is_whole))
        })
    }

    /// Lets things happen for a moment.
    pub(super) fn turn(&mut self) -> Result<(), DemoError> {
        let waited = self.poller.wait(&mut self.ready, Some(PATIENCE));
        waited.map_err(DemoError::io("wait for N2"))?;
        for gnb in 0..self.links.len() {
            for octets in self.links[gnb].take()? {
                self.received += 1;
                self.fleet.receive(clock::monotonic_ns(), gnb, &octets);
            }
        }
        self.fleet.time(clock::monotonic_ns());
        self.answer_pages();
        self.flush()
    }

    /// User planes follow what was said, and then it is answered.
    fn flush(&mut self) -> Result<(), DemoError> {
        self.fleet.take_touched();
        for phone in 0..self.count() {
            self.keep_device(phone)?;
        }
        for message in self.fleet.take_to_amf() {
            let link = &mut self.links[message.gnb];
            link.send(message.ran, &message.octets)?;
            self.sent += 1;
        }
        self.links.iter_mut().for_each(|link| link.node.flush());
        for ended in self.fleet.take_ended() {
            self.ended.insert(ended.phone, ended);
        }
        Ok(())
    }

    /// UEs that the AMF had called come back.
    fn answer_pages(&mut self) {
        for phone in self.fleet.take_paged() {
            let Some(one) = self.fleet.phone_mut(phone) else {
                continue;
            };
            // Each gNB of the area has called it.
            if one.at().is_some() || one.is_busy() {
                continue;
            }
            one.ue.is_paged = true;
            let now_ns = clock::monotonic_ns();
            let begun = self
                .fleet
                .begin(phone, Procedure::Service, now_ns, deadline(now_ns));
            if let Some(one) = self.fleet.phone_mut(phone) {
                one.ue.is_paged = false;
            }
            self.places[phone].answered_pages += u64::from(begun);
        }
    }

    /// Plays a procedure of a UE to its end, which must be a good one; gives the time in milliseconds.
    pub(super) fn play(&mut self, phone: usize, procedure: Procedure) -> Result<f64, DemoError> {
        self.wait("a UE's procedure", |ran| {
            !ran.fleet.phones()[phone].is_busy()
        })?;
        self.ended.remove(&phone);
        let now_ns = clock::monotonic_ns();
        self.fleet.begin(phone, procedure, now_ns, deadline(now_ns));
        self.flush()?;
        self.wait(procedure.name(), |ran| ran.ended.contains_key(&phone))?;
        match self.ended.remove(&phone) {
            Some(ended) if ended.outcome == Outcome::Done => Ok(ended.took_ns as f64 / 1e6),
            ended => {
                let why = ended.map(|ended| ended.outcome);
                let what = format!("{}: {why:?}", procedure.name());
                Err(DemoError::answer("the core", what))
            }
        }
    }

    /// NG Setup of all gNBs; how many the AMF has accepted.
    pub(super) fn set_up(&mut self) -> Result<usize, DemoError> {
        let gnbs = 0..self.links.len();
        gnbs.for_each(|gnb| self.fleet.set_up(gnb));
        self.flush()?;
        self.wait("NG Setup", |ran| {
            let is_answered = |gnb: &Gnb| gnb.response().is_some() || gnb.refused().is_some();
            ran.fleet.gnbs().iter().all(is_answered)
        })?;
        let accepted = self.fleet.gnbs().iter();
        Ok(accepted.filter(|gnb| gnb.response().is_some()).count())
    }

    /// A UE is sent away, or goes.
    pub(super) fn leave(&mut self, phone: usize) -> Result<(), DemoError> {
        self.wait("a deregistration", |ran| ran.gnb_of(phone).is_none())
    }

    /// Ends the associations in order.
    pub(super) fn end(&mut self) -> Result<(), DemoError> {
        self.links.iter_mut().for_each(Link::end);
        self.wait("the end of the associations", |ran| {
            ran.links.iter().all(|link| link.lost.is_some())
        })
    }

    /// How the associations ended.
    pub(super) fn endings(&self) -> impl Iterator<Item = Option<Loss>> {
        self.links.iter().map(|link| link.lost)
    }
}

fn deadline(now_ns: u64) -> u64 {
    now_ns + LIMIT.as_nanos() as u64
}

/// A UE that has more to say when it is registered: it wants a session of both families.
fn phone(mut ue: Ue) -> Phone {
    ue.follow_on = true;
    let wanted = WantedSession {
        session_type: Some(SessionType::Ipv4v6),
        ..WantedSession::default()
    };
    let mut phone = Phone::new(ue, 0);
    phone.wanted = BTreeMap::from([(SESSION, wanted)]);
    phone
}

/// A gNB's name, by its index.
pub(super) fn gnb_name(number: usize) -> String {
    format!("gnb-{}", number + 1)
}

/// A gNB that serves the demo's area.
fn gnb(number: usize) -> Gnb {
    let tai = plan::tai();
    let plmns = vec![PlmnSlices {
        plmn: tai.plmn,
        slices: vec![Snssai::new(plan::SST, None)],
    }];
    let setup = NgSetupRequest {
        gnb: sluice_n2::Gnb {
            plmn: tai.plmn,
            id: number as u32 + 1,
            bits: 24,
        },
        name: Some(gnb_name(number)),
        areas: vec![SupportedArea {
            tac: tai.tac,
            plmns,
        }],
        retains_ues: false,
    };
    let mut gnb = Gnb::new(setup, tai);
    gnb.address = plan::N3_GNBS[number].into();
    // Two gNBs never have the same TEID, so that a packet that went astray is seen.
    gnb.next_teid = ((number as u32 + 1) << 20) + 1;
    gnb
}
