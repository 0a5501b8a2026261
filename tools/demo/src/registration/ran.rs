//! The gNB of the demo and its UEs: N1 and N2 through SCTP, and user traffic between TUN devices and N3.

use std::time::{Duration, Instant};

use sluice_core::Node;
use sluice_host::link::{Link, LinkCounters};
use sluice_host::netns::Ns;
use sluice_host::tun::{Tun, TunConfig, TunRoute};
use sluice_ids::Snssai;
use sluice_n1::{RegistrationKind, SessionType};
use sluice_n2::{NgSetupRequest, PlmnSlices, RanUeId, SupportedArea};
use sluice_ran::{FTeid, Gnb as N3Gnb, GnbConfig, UeConfig, UeId};
use sluice_sctp::{
    AllowList, Association, Carrier, Config, Endpoint, Event, Loss, NGAP_PORT, NGAP_PPID, Peer,
    Prefix, Sctp as _,
};
use sluice_smf::UeAddresses;
use sluice_ue::{FromGnb, Gnb, Ue, UeState, WantedSession};
use sluice_wire::ids::{Qfi, Teid};

use crate::child::Stop;
use crate::error::DemoError;
use crate::host::UePlace;
use crate::plan;

/// For a procedure, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_millis(10);

/// The session of each UE.
const SESSION: u8 = 1;

/// A UE and where it is connected.
pub(super) struct Phone {
    pub(super) ue: Ue,
    pub(super) at: Option<RanUeId>,
    /// Where its programs run.
    pub(super) ns: Ns,
    pub(super) device: Device,
    /// What of its uplink stayed on its own link, in tunnels that it has no more.
    link_local_bytes: u64,
}

/// A UE's TUN device.
#[derive(Debug)]
pub(super) enum Device {
    /// There is no session yet.
    None,
    /// The UE is idle, and its packets wait in the device.
    Idle(Tun),
    /// Its packets go through a tunnel.
    Up(UeId, Link),
}

/// The gNB, its UEs and its association.
pub(super) struct Ran<'a> {
    node: Node,
    n3: N3Gnb,
    association: Association,
    /// Towards the AMF; 0 while there is no association.
    streams: u16,
    pub(super) gnb: Gnb,
    pub(super) phones: Vec<Phone>,
    pub(super) lost: Option<Loss>,
    pub(super) received: u64,
    pub(super) sent: u64,
    /// How often a UE came back as it was called.
    pub(super) answered_pages: u64,
    stop: &'a Stop,
}

impl<'a> Ran<'a> {
    /// Sets up an association with the AMF from `ns`; each UE has a namespace.
    pub(super) fn start(ns: &Ns, ues: Vec<(Ue, Ns)>, stop: &'a Stop) -> Result<Self, DemoError> {
        let allowed = Prefix::new(plan::N2_AMF.into(), 32);
        let allowed = AllowList::new(allowed.into_iter().collect());
        let endpoint = Endpoint::open(Config::new(plan::GNB_SCTP_PORT, allowed))?;
        let mut node = Node::new(endpoint, Carrier::ip(ns, plan::N2_GNB.into())?);
        let amf = Peer {
            address: plan::N2_AMF.into(),
            udp_port: 0,
        };
        let begun = node.sctp.connect(amf, NGAP_PORT);
        let association = begun.ok_or_else(|| DemoError::answer("SCTP", "no association"))?;
        let phone = |(ue, ns)| Phone {
            ue,
            at: None,
            ns,
            device: Device::None,
            link_local_bytes: 0,
        };
        let [n3, _] = plan::N3_GNBS;
        let mut ran = Self {
            node,
            n3: N3Gnb::start(&GnbConfig::new("gnb-1", ns, n3))?,
            association,
            streams: 0,
            gnb: gnb(),
            phones: ues.into_iter().map(phone).collect(),
            lost: None,
            received: 0,
            sent: 0,
            answered_pages: 0,
            stop,
        };
        ran.wait("the SCTP association", |ran| ran.streams > 0)?;
        Ok(ran)
    }

    /// Lets things happen until `condition` holds.
    pub(super) fn wait(
        &mut self,
        what: &str,
        condition: impl Fn(&Self) -> bool,
    ) -> Result<(), DemoError> {
        let end = Instant::now() + LIMIT;
        while !condition(self) {
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
        std::thread::scope(|scope| {
            let thread = scope.spawn(work);
            let mut turned = Ok(());
            while !thread.is_finished() {
                if turned.is_ok() {
                    turned = self.turn();
                } else {
                    std::thread::sleep(PATIENCE);
                }
            }
            let outcome = thread.join();
            turned?;
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }

    /// UEs that the AMF had called come back.
    fn answer_pages(&mut self) -> Result<(), DemoError> {
        for paging in self.gnb.take_paged() {
            let is_called = |phone: &Phone| {
                let name = phone.ue.guti().map(|guti| guti.s_tmsi());
                phone.at.is_none() && name == Some(paging.s_tmsi)
            };
            let Some(phone) = self.phones.iter().position(is_called) else {
                continue;
            };
            self.answered_pages += 1;
            let nas = self.phones[phone].ue.answer_page();
            self.connect(phone, nas.unwrap_or_default())?;
        }
        Ok(())
    }

    /// UEs whose gNB has their session have a tunnel.
    fn attach_all(&mut self) -> Result<(), DemoError> {
        for phone in 0..self.phones.len() {
            let one = &self.phones[phone];
            let has_session = |at| self.gnb.session(at, SESSION).is_some();
            if matches!(one.device, Device::Idle(_)) && one.at.is_some_and(has_session) {
                self.attach(phone)?;
            }
        }
        Ok(())
    }

    /// Lets things happen for a moment.
    pub(super) fn turn(&mut self) -> Result<(), DemoError> {
        let events = self.node.turn(PATIENCE);
        for event in events.map_err(DemoError::io("receive on N2"))? {
            match event {
                Event::Up { streams, .. } => self.streams = streams,
                Event::Message {
                    stream,
                    ppid: NGAP_PPID,
                    octets,
                    ..
                } => self.receive(stream, &octets)?,
                Event::Message { .. } => {}
                Event::Lost { why, .. } => self.lost = Some(why),
            }
        }
        self.answer_pages()?;
        self.attach_all()?;
        self.node.flush();
        Ok(())
    }

    fn receive(&mut self, stream: u16, octets: &[u8]) -> Result<(), DemoError> {
        self.received += 1;
        let mut answers = Vec::new();
        for done in self.gnb.receive(octets) {
            match done {
                FromGnb::ToAmf(octets) => answers.push(octets),
                FromGnb::ToUe(ran, nas) => {
                    let phone = self.phones.iter_mut().find(|one| one.at == Some(ran));
                    let said = phone.map(|phone| phone.ue.receive(&nas));
                    for nas in said.unwrap_or_default() {
                        answers.extend(self.gnb.uplink(ran, nas));
                    }
                }
                FromGnb::Released(ran) => {
                    for phone in self.phones.iter_mut().filter(|one| one.at == Some(ran)) {
                        phone.at = None;
                    }
                }
            }
        }
        // A UE's messages stay on the stream that the AMF chose for it.
        let stream = stream.min(self.streams.saturating_sub(1));
        answers
            .iter()
            .try_for_each(|octets| self.send(stream, octets))
    }

    fn send(&mut self, stream: u16, octets: &[u8]) -> Result<(), DemoError> {
        let sent = self
            .node
            .sctp
            .send(self.association, stream, NGAP_PPID, octets);
        sent.map_err(|error| DemoError::answer("SCTP", error.to_string()))?;
        self.sent += 1;
        self.node.flush();
        Ok(())
    }

    /// NG Setup.
    pub(super) fn set_up(&mut self) -> Result<(), DemoError> {
        self.send(0, &self.gnb.setup())?;
        self.wait("NG Setup", |ran| {
            ran.gnb.response().is_some() || ran.gnb.refused().is_some()
        })
    }

    /// A UE's first message.
    fn connect(&mut self, phone: usize, nas: Vec<u8>) -> Result<(), DemoError> {
        let s_tmsi = self.phones[phone].ue.guti().map(|guti| guti.s_tmsi());
        let (ran, octets) = self.gnb.connect(nas, s_tmsi);
        self.phones[phone].at = Some(ran);
        let stream = 1.min(self.streams.saturating_sub(1));
        self.send(stream, &octets)
    }

    /// A UE registers, and stays connected, as it has more to say; it is idle if it was refused.
    pub(super) fn register(&mut self, phone: usize) -> Result<(), DemoError> {
        let ue = &mut self.phones[phone].ue;
        ue.follow_on = true;
        let nas = ue.register(RegistrationKind::Initial);
        self.connect(phone, nas)?;
        self.wait("a registration", |ran| {
            let phone = &ran.phones[phone];
            phone.at.is_none() || phone.ue.state() == UeState::Registered
        })
    }

    /// A UE has its gNB ask for a session of both families, and gets a TUN device.
    pub(super) fn establish(&mut self, phone: usize) -> Result<(), DemoError> {
        let wanted = WantedSession {
            session_type: Some(SessionType::Ipv4v6),
            ..WantedSession::default()
        };
        let nas = self.phones[phone].ue.establish(SESSION, &wanted);
        self.say(phone, nas)?;
        self.wait("a PDU session", |ran| {
            let phone = &ran.phones[phone];
            let is_accepted = phone.ue.sessions().get(SESSION).is_some();
            let is_set_up = phone
                .at
                .is_some_and(|at| ran.gnb.session(at, SESSION).is_some());
            (is_accepted && is_set_up) || !phone.ue.sessions().refused().is_empty()
        })?;
        let one = &self.phones[phone];
        let accept = one.ue.sessions().get(SESSION);
        let refused = || format!("{:?}", one.ue.sessions().refused());
        let accept = accept.ok_or_else(|| DemoError::answer("the SMF", refused()))?;
        let tun = TunConfig {
            name: "ue".to_owned(),
            address: accept.address.ipv4,
            mtu: plan::UE_MTU,
            route: TunRoute::Default,
        };
        let identifier = accept.address.interface_identifier;
        let tun = Tun::create(&one.ns, &tun)?;
        let link = tun.link().clone();
        self.phones[phone].device = Device::Idle(tun);
        self.attach_all()?;
        // Its kernel asks for a router, and makes an address of the prefix that it is told.
        if let Some(identifier) = identifier {
            link.autoconfigure_ipv6(u64::from_be_bytes(identifier))?;
        }
        Ok(())
    }

    /// From now on a UE's packets go through the tunnel that its gNB has for its session.
    fn attach(&mut self, phone: usize) -> Result<(), DemoError> {
        let one = &mut self.phones[phone];
        let no_session = || DemoError::answer("the gNB", "no session");
        let accept = one.ue.sessions().get(SESSION).ok_or_else(no_session)?;
        let radio = one.at.and_then(|at| self.gnb.session(at, SESSION));
        let radio = radio.ok_or_else(no_session)?;
        let (uplink, downlink) = (radio.request.uplink, radio.downlink);
        let ends = (
            uplink.ipv4,
            Teid::new(uplink.teid),
            Teid::new(downlink.teid),
        );
        let (Some(upf), Some(teid), Some(downlink_teid)) = ends else {
            return Err(DemoError::answer("the SMF", format!("{radio:?}")));
        };
        let qfi = Qfi::new(radio.default_qfi()).ok_or_else(no_session)?;
        let ipv4 = accept.address.ipv4.ok_or_else(no_session)?;
        let device = std::mem::replace(&mut one.device, Device::None);
        let Device::Idle(tun) = device else {
            one.device = device;
            return Ok(());
        };
        let link = tun.link().clone();
        let id = self.n3.handle().attach(UeConfig {
            addresses: UeAddresses::V4(ipv4),
            uplink: FTeid {
                address: upf.into(),
                teid,
            },
            downlink_teid,
            qfi,
            tun,
            // Its prefix is told by the UPF, to the UE alone.
            has_framed_routes: true,
        })?;
        self.phones[phone].device = Device::Up(id, link);
        Ok(())
    }

    /// The tunnel of a UE is no more; its device stays.
    fn detach(&mut self, phone: usize) -> Result<(), DemoError> {
        let one = &mut self.phones[phone];
        if let Device::Up(id, _) = one.device {
            let detached = self.n3.handle().detach(id)?;
            one.device = Device::Idle(detached.tun);
            let by_family = detached.report.counters.by_family;
            one.link_local_bytes += by_family.link_local_uplink.bytes;
        }
        Ok(())
    }

    /// An idle UE comes back by its name as it has data to send, until its gNB has its session.
    pub(super) fn request_service(&mut self, phone: usize) -> Result<(), DemoError> {
        let ue = &mut self.phones[phone].ue;
        ue.sessions_mut().set_data(1 << SESSION);
        let nas = ue.request_service();
        self.connect(phone, nas.unwrap_or_default())?;
        self.wait("a service request", |ran| {
            let phone = &ran.phones[phone];
            phone
                .at
                .is_none_or(|at| ran.gnb.session(at, SESSION).is_some())
        })
    }

    /// The gNB has seen nothing of a UE for a while; it is idle when this returns.
    pub(super) fn release(&mut self, phone: usize) -> Result<(), DemoError> {
        let at = self.phones[phone].at;
        if let Some(octets) = at.and_then(|at| self.gnb.ask_release(at)) {
            self.send(1.min(self.streams.saturating_sub(1)), &octets)?;
        }
        self.wait("a release", |ran| ran.phones[phone].at.is_none())?;
        self.detach(phone)
    }

    /// A connected UE leaves.
    pub(super) fn deregister(&mut self, phone: usize) -> Result<(), DemoError> {
        let nas = self.phones[phone].ue.deregister(false, true);
        self.say(phone, nas.unwrap_or_default())?;
        self.leave(phone)
    }

    /// A UE is sent away, or goes.
    pub(super) fn leave(&mut self, phone: usize) -> Result<(), DemoError> {
        self.wait("a deregistration", |ran| ran.phones[phone].at.is_none())?;
        self.detach(phone)
    }

    /// A connected UE's message.
    fn say(&mut self, phone: usize, nas: Vec<u8>) -> Result<(), DemoError> {
        let at = self.phones[phone].at;
        let octets = at.and_then(|at| self.gnb.uplink(at, nas));
        let octets = octets.ok_or_else(|| DemoError::answer("the gNB", "the UE is idle"))?;
        self.send(1.min(self.streams.saturating_sub(1)), &octets)
    }

    /// What a UE's device counted, and what of its uplink stayed on its own link.
    pub(super) fn counted(&self, phone: usize) -> Result<(LinkCounters, u64), DemoError> {
        let one = &self.phones[phone];
        let (link, now) = match &one.device {
            Device::None => return Err(DemoError::answer("the RAN", "no device")),
            Device::Idle(tun) => (tun.link(), 0),
            Device::Up(id, link) => {
                let counters = self.n3.handle().ue(*id)?.counters;
                (link, counters.by_family.link_local_uplink.bytes)
            }
        };
        Ok((link.counters()?, one.link_local_bytes + now))
    }

    /// The IPv6 address that a UE's kernel has made.
    pub(super) fn ipv6(&self, phone: usize) -> Result<Option<std::net::Ipv6Addr>, DemoError> {
        match &self.phones[phone].device {
            Device::Up(_, link) => Ok(link.global_ipv6()?),
            _ => Ok(None),
        }
    }

    /// The IPv4 address of a UE's session.
    pub(super) fn ipv4(&self, phone: usize) -> Option<std::net::Ipv4Addr> {
        self.phones[phone].ue.sessions().get(SESSION)?.address.ipv4
    }

    /// UEs with their devices.
    pub(super) fn places(&self) -> Vec<UePlace> {
        let place = |(number, phone): (usize, &Phone)| {
            let tun = match &phone.device {
                Device::None => return None,
                Device::Idle(tun) => tun.link().clone(),
                Device::Up(_, link) => link.clone(),
            };
            Some(UePlace {
                name: format!("ue{number}"),
                ns: phone.ns.clone(),
                tun,
            })
        };
        (1..).zip(&self.phones).filter_map(place).collect()
    }

    /// Packets that the gNB dropped.
    pub(super) fn drops(&self) -> Result<u64, DemoError> {
        let counters = self.n3.handle().counters()?;
        Ok(counters.drops.total() + counters.receive_errors)
    }

    /// Ends the association in order.
    pub(super) fn end(&mut self) -> Result<(), DemoError> {
        self.node.sctp.shutdown(self.association);
        self.node.flush();
        self.wait("the end of the association", |ran| ran.lost.is_some())
    }
}

/// A gNB that serves the demo's area.
fn gnb() -> Gnb {
    let tai = plan::tai();
    let plmns = vec![PlmnSlices {
        plmn: tai.plmn,
        slices: vec![Snssai::new(plan::SST, None)],
    }];
    let setup = NgSetupRequest {
        gnb: sluice_n2::Gnb {
            plmn: tai.plmn,
            id: 1,
            bits: 24,
        },
        name: Some("gnb-1".to_owned()),
        areas: vec![SupportedArea {
            tac: tai.tac,
            plmns,
        }],
        retains_ues: false,
    };
    let mut gnb = Gnb::new(setup, tai);
    gnb.address = plan::N3_GNBS[0].into();
    gnb
}
