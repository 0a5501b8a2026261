//! A second gNB beside the world's own, and UEs that go from one to the other.

use std::net::Ipv4Addr;

use sluice_ids::Tai;
use sluice_n1::SessionType;
use sluice_n2::{
    AmfUeId, FromAmf, FromRan, HandoverFromAmf, HandoverFromRan, PathSwitchRequest, RanUeId,
};
use sluice_sbi::AssociationId;
use sluice_ue::{FromGnb, Gnb, HandoverAnswer};

use crate::harness::*;
use crate::world::{TestNetwork, setup, slice, tai};

const OTHER: AssociationId = AssociationId(8);

/// The world's gNB is the one where the UE of the test is; the other one is here.
pub struct Two {
    pub world: TestNetwork,
    pub other: Gnb,
    /// The association of the other.
    pub at: AssociationId,
    /// UEs at the other gNB: the first of the world's, by its name there.
    pub away: Option<RanUeId>,
    /// The UE that is to go there, by its name here.
    pub going: Option<RanUeId>,
    /// The UE goes by itself when it is told to.
    pub goes: bool,
    /// What both gNBs were told of handovers, in order.
    pub answers: Vec<HandoverAnswer>,
}

/// Of another identity and another address.
fn second(area: Tai) -> Gnb {
    let mut setup = setup(area, &[slice(1), slice(2)]);
    setup.gnb.id = 2;
    setup.name = Some("gnb-2".to_owned());
    let mut gnb = Gnb::new(setup, area);
    gnb.address = Ipv4Addr::new(192, 0, 2, 52).into();
    gnb.next_teid = 0x0020_0001;
    gnb
}

impl Two {
    /// With a UE whose sessions of these numbers are up.
    pub fn new(sessions: &[u8]) -> Self {
        Self::of(world(&[1]), sessions)
    }

    pub fn of(world: TestNetwork, sessions: &[u8]) -> Self {
        Self::with(world, tai(), sessions)
    }

    /// The other gNB is in this area.
    pub fn with(world: TestNetwork, area: Tai, sessions: &[u8]) -> Self {
        let mut two = Self {
            world,
            other: second(area),
            at: OTHER,
            away: None,
            going: None,
            goes: true,
            answers: Vec::new(),
        };
        two.tell_other(&second(area).setup());
        two.run();
        assert!(two.other.response().is_some());
        for session in sessions {
            establish(&mut two.world, 0, *session, &wanted(SessionType::Ipv4));
        }
        two.world.call_flow.0.clear();
        two
    }

    pub fn tell_other(&mut self, octets: &[u8]) {
        self.world.transcript.push(octets.to_vec());
        self.world.core.n2(self.world.now, self.at, 0, octets);
    }

    /// Messages go back and forth at both gNBs until there are none.
    pub fn run(&mut self) {
        for _ in 0..100 {
            self.world.run();
            let answers = self.world.gnb.take_answers();
            self.answers.extend(answers);
            let is_told = self.world.gnb.take_commanded();
            self.going = is_told.last().copied().or(self.going);
            let messages = std::mem::take(&mut self.world.elsewhere);
            if messages.is_empty() {
                // What the gNBs say to each other is there before the UE is.
                if !self.goes || self.going.is_none() {
                    return;
                }
                self.arrive();
            }
            for message in messages {
                if message.association == self.at {
                    self.world.transcript.push(message.octets.clone());
                    for done in self.other.receive(&message.octets) {
                        self.carry_out(done);
                    }
                    self.answers.extend(self.other.take_answers());
                }
            }
        }
        panic!("messages go round without end");
    }

    fn carry_out(&mut self, done: FromGnb) {
        match done {
            FromGnb::ToAmf(octets) => self.tell_other(&octets),
            FromGnb::ToUe(ran, nas) if self.away == Some(ran) => {
                for answer in self.world.ue_mut(0).receive(&nas) {
                    let octets = self.other.uplink(ran, answer).unwrap();
                    self.tell_other(&octets);
                }
            }
            FromGnb::Released(ran) if self.away == Some(ran) => self.away = None,
            FromGnb::ToUe(..) | FromGnb::Released(_) => {}
        }
    }

    /// The other gNB becomes the world's, and the UE is there.
    pub fn turn(&mut self) {
        std::mem::swap(&mut self.world.gnb, &mut self.other);
        std::mem::swap(&mut self.world.at, &mut self.at);
        let here = self.world.ues[0].at.take();
        self.world.ues[0].at = self.away.take();
        self.away = here;
    }

    /// The UE goes by Xn. From now on its gNB is the world's.
    pub fn by_xn(&mut self) {
        let octets = self.leave();
        self.world.tell_amf(&octets);
        self.run();
    }

    /// The same, with a request that is changed on its way.
    pub fn by_xn_with(&mut self, change: impl FnOnce(&mut PathSwitchRequest)) {
        let octets = self.leave();
        let Ok(FromRan::Handover(HandoverFromRan::PathSwitchRequest(mut request))) =
            FromRan::decode(&octets)
        else {
            panic!("another message");
        };
        change(&mut request);
        let request = FromRan::Handover(HandoverFromRan::PathSwitchRequest(request));
        self.world.tell_amf(&request.encode());
        self.run();
    }

    /// The UE is at the other gNB, which is the world's from now on; its Path Switch Request.
    fn leave(&mut self) -> Vec<u8> {
        let ran = at(&self.world, 0);
        let leaving = self.world.gnb.hand_out(ran).unwrap();
        let (there, octets) = self.other.take_in(leaving);
        self.away = Some(there);
        self.world.ues[0].at = None;
        self.turn();
        octets
    }

    /// The AMF's name of the UE in its last Handover Request.
    pub fn asked_as(&self) -> AmfUeId {
        let decoded = |octets: &Vec<u8>| match FromAmf::decode(octets) {
            Ok(FromAmf::Handover(HandoverFromAmf::Request(request))) => Some(request.amf),
            _ => None,
        };
        let mut last = self.world.transcript.iter().rev();
        last.find_map(decoded).expect("a Handover Request")
    }

    /// Its gNB wants the UE to go by N2.
    pub fn ask_n2(&mut self, is_direct: bool) {
        let ran = at(&self.world, 0);
        let octets = self.world.gnb.require_handover(ran, &self.other, is_direct);
        self.world.tell_amf(&octets.unwrap());
        self.run();
    }

    /// The UE that was told to go is at the other gNB, which says so, and is the world's from now on.
    pub fn arrive(&mut self) {
        let ran = self.going.take().unwrap();
        let there = self.other.expected(&self.world.gnb, ran).unwrap();
        self.away = Some(there);
        self.turn();
        // The source still has its context.
        self.away = Some(ran);
        let octets = self.world.gnb.notify(there).unwrap();
        self.world.tell_amf(&octets);
        self.world.run();
    }

    /// A gNB's association is lost.
    pub fn lose(&mut self, association: AssociationId) {
        let now = self.world.now;
        self.world.core.association_lost(now, association);
        self.run();
    }

    /// The clock goes on until nothing is under way, and what has a timer is over.
    pub fn settle(&mut self) {
        let end = self.world.now.instant.plus_ms(5_000);
        for _ in 0..100 {
            let is_over = self.world.amf().procedures().is_empty();
            if is_over && self.world.now.instant >= end {
                return;
            }
            assert!(self.world.wait());
            self.run();
        }
        panic!("something is under way for ever");
    }

    /// Packets go both ways at the world's gNB.
    #[track_caller]
    pub fn assert_flows(&mut self, session: u8) {
        assert!(
            goes_up(&mut self.world, 0, session),
            "{}",
            self.world.call_flow
        );
        let ue = address(&self.world, 0, session);
        let teid = radio(&self.world, 0, session).unwrap().downlink.teid;
        assert_eq!(goes_down(&mut self.world, ue), Some(teid));
    }
}
