//! The gNB of the demo and its UEs, at the other end of SCTP.

use std::time::{Duration, Instant};

use sluice_core::Node;
use sluice_host::netns::Ns;
use sluice_ids::Snssai;
use sluice_n1::RegistrationKind;
use sluice_n2::{NgSetupRequest, PlmnSlices, RanUeId, SupportedArea};
use sluice_sctp::{
    AllowList, Association, Carrier, Config, Endpoint, Event, Loss, NGAP_PORT, NGAP_PPID, Peer,
    Prefix, Sctp as _,
};
use sluice_ue::{FromGnb, Gnb, Ue};

use crate::child::Stop;
use crate::error::DemoError;
use crate::plan;

/// For a procedure, on a busy machine too.
const LIMIT: Duration = Duration::from_secs(15);
const PATIENCE: Duration = Duration::from_millis(10);

/// A UE and where it is connected.
pub(super) struct Phone {
    pub(super) ue: Ue,
    pub(super) at: Option<RanUeId>,
}

/// The gNB, its UEs and its association.
pub(super) struct Ran<'a> {
    node: Node,
    association: Association,
    /// Towards the AMF; 0 while there is no association.
    streams: u16,
    pub(super) gnb: Gnb,
    pub(super) phones: Vec<Phone>,
    pub(super) lost: Option<Loss>,
    pub(super) received: u64,
    pub(super) sent: u64,
    stop: &'a Stop,
}

impl<'a> Ran<'a> {
    /// Sets up an association with the AMF from `ns`.
    pub(super) fn start(ns: &Ns, ues: Vec<Ue>, stop: &'a Stop) -> Result<Self, DemoError> {
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
        let phone = |ue| Phone { ue, at: None };
        let mut ran = Self {
            node,
            association,
            streams: 0,
            gnb: gnb(),
            phones: ues.into_iter().map(phone).collect(),
            lost: None,
            received: 0,
            sent: 0,
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

    /// A UE registers; it is idle again when this returns.
    pub(super) fn register(&mut self, phone: usize) -> Result<(), DemoError> {
        let nas = self.phones[phone].ue.register(RegistrationKind::Initial);
        self.connect(phone, nas)?;
        self.wait("a registration", |ran| ran.phones[phone].at.is_none())
    }

    /// An idle UE comes back by its name, until its gNB has its keys.
    pub(super) fn request_service(&mut self, phone: usize) -> Result<(), DemoError> {
        let nas = self.phones[phone].ue.request_service();
        self.connect(phone, nas.unwrap_or_default())?;
        self.wait("a service request", |ran| {
            let phone = &ran.phones[phone];
            phone.at.is_none_or(|at| ran.gnb.context(at).is_some())
        })
    }

    /// The gNB has seen nothing of a UE for a while; it is idle when this returns.
    pub(super) fn release(&mut self, phone: usize) -> Result<(), DemoError> {
        let at = self.phones[phone].at;
        if let Some(octets) = at.and_then(|at| self.gnb.ask_release(at)) {
            self.send(1.min(self.streams.saturating_sub(1)), &octets)?;
        }
        self.wait("a release", |ran| ran.phones[phone].at.is_none())
    }

    /// An idle UE leaves.
    pub(super) fn deregister(&mut self, phone: usize) -> Result<(), DemoError> {
        let nas = self.phones[phone].ue.deregister(false, false);
        self.connect(phone, nas.unwrap_or_default())?;
        self.wait("a deregistration", |ran| ran.phones[phone].at.is_none())
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
    };
    Gnb::new(setup, tai)
}
