//! Paging of a fleet's UE by an AMF that says what the test wants.

use sluice_ids::{AmfId, Guami, Guti, Plmn, Snssai, Tac, Tai, Tmsi};
use sluice_n1::{Cause, Downlink, Envelope, Header, NO_KEY, SecurityContext, Side, Uplink};
use sluice_n2::{
    AmfUeId, DownlinkNasTransport, FromAmf, FromRan, NgSetupRequest, NgSetupResponse, Paging,
    PlmnSlices, UeContextReleaseCommand,
};
use sluice_security::{Ciphering, Integrity, K, Kamf, NasKeys, Opc};

use super::*;
use crate::Sim;

const MS: u64 = 1_000_000;
const AMF: AmfUeId = AmfUeId(5);

/// A fleet of one registered and idle UE, with the AMF's end of its keys.
struct World {
    fleet: Fleet,
    guti: Guti,
    amf: SecurityContext,
}

fn keys() -> (Kamf, NasKeys) {
    let kamf = Kamf::new([7; 32]);
    let keys = NasKeys::new(&kamf, Ciphering::Nea0, Integrity::Nia2);
    (kamf, keys)
}

fn plmn() -> Plmn {
    Plmn::new("001", "01").expect("digits")
}

fn tai() -> Tai {
    Tai {
        plmn: plmn(),
        tac: Tac([0, 0, 1]),
    }
}

fn gnb() -> Gnb {
    let setup = NgSetupRequest {
        gnb: sluice_n2::Gnb {
            plmn: plmn(),
            id: 1,
            bits: 24,
        },
        name: None,
        areas: Vec::new(),
        retains_ues: false,
    };
    Gnb::new(setup, tai())
}

impl World {
    fn new() -> Self {
        let amf = AmfId::new(1, 1, 1).expect("in range");
        let guti = Guti {
            guami: Guami { plmn: plmn(), amf },
            tmsi: Tmsi([1, 2, 3, 4]),
        };
        let sim = Sim::new(plmn(), "0000000001", &K::new([1; 16]), &Opc::new([2; 16]));
        let (kamf, of_ue) = keys();
        let ue = Ue::new(sim, plmn()).expect("capabilities");
        let ue = ue.registered(guti, kamf, of_ue);
        let mut fleet = Fleet::new(vec![gnb()], vec![FleetUe::new(ue, 0)]);
        fleet.recount(0, UeState::Deregistered);
        let mut world = Self {
            fleet,
            guti,
            amf: SecurityContext::new(Side::Network, 0, keys().1),
        };
        let response = NgSetupResponse {
            name: "amf".to_owned(),
            guamis: vec![guti.guami],
            capacity: 255,
            plmns: vec![PlmnSlices {
                plmn: plmn(),
                slices: vec![Snssai::new(1, None)],
            }],
            retains_ues: false,
        };
        world.say(0, FromAmf::NgSetupResponse(response));
        assert_eq!(world.fleet.registered(), 1);
        world
    }

    fn say(&mut self, now_ns: u64, message: FromAmf) {
        self.fleet.receive(now_ns, 0, &message.encode());
    }

    /// The AMF calls the UE.
    fn page(&mut self, now_ns: u64) {
        let paging = Paging {
            s_tmsi: self.guti.s_tmsi(),
            drx: None,
            areas: vec![tai()],
            capability: None,
            attempt: (1, 1),
        };
        self.say(now_ns, FromAmf::Paging(Box::new(paging)));
        assert_eq!(self.fleet.take_paged(), [0]);
    }

    fn tell(&mut self, now_ns: u64, nas: &Downlink) {
        let (_, ran) = self.fleet.ues()[0].at().expect("connected");
        let nas = self.amf.protect(Header::Ciphered, &nas.encode());
        let message = DownlinkNasTransport {
            ids: (AMF, ran),
            nas: nas.expect("a count is left"),
        };
        self.say(now_ns, FromAmf::DownlinkNasTransport(message));
    }

    fn accept(&mut self, now_ns: u64) {
        let accept = Downlink::ServiceAccept {
            session_status: None,
            reactivation: None,
        };
        self.tell(now_ns, &accept);
    }

    fn refuse(&mut self, now_ns: u64) {
        let reject = Downlink::ServiceReject(Cause::CONGESTION.into());
        self.tell(now_ns, &reject);
    }

    fn release(&mut self, now_ns: u64) {
        let (_, ran) = self.fleet.ues()[0].at().expect("connected");
        let command = UeContextReleaseCommand {
            ue: (AMF, Some(ran)),
            cause: sluice_n2::Cause::NORMAL_RELEASE,
        };
        self.say(now_ns, FromAmf::UeContextReleaseCommand(command));
        assert_eq!(self.fleet.ues()[0].at(), None);
    }

    /// The UE's service requests since the last call: the service type of each (TS 24.501, 9.11.3.50).
    fn service_types(&mut self) -> Vec<u8> {
        let sent = self.fleet.take_to_amf();
        let types = sent.iter().filter_map(|message| {
            let FromRan::InitialUeMessage(initial) = FromRan::decode(&message.octets).ok()? else {
                return None;
            };
            let Some(Envelope::Protected(protected)) = Envelope::open(&initial.nas) else {
                return None;
            };
            match Uplink::decode(protected.readable()?) {
                Ok(Uplink::ServiceRequest(request)) if request.ngksi != NO_KEY => {
                    Some(request.kind)
                }
                _ => None,
            }
        });
        types.collect()
    }

    /// The one procedure that has ended.
    fn ended(&mut self) -> Option<(Procedure, Outcome, u64)> {
        let ended = self.fleet.take_ended();
        assert!(ended.len() <= 1, "{ended:?}");
        ended
            .into_iter()
            .next()
            .map(|one| (one.procedure, one.outcome, one.took_ns / MS))
    }
}

#[test]
fn an_idle_ue_waits_for_its_paging_and_its_time_counts_from_the_packet() {
    let mut world = World::new();
    assert!(world.fleet.begin(0, Procedure::Paged, 0, 10_000 * MS));
    assert_eq!((world.ended(), world.service_types()), (None, Vec::new()));
    world.fleet.packet_comes(100 * MS, 0);
    world.page(103 * MS);
    assert!(world.fleet.answer_paging(103 * MS, 0));
    assert_eq!(world.service_types(), [2], "mobile terminated services");
    assert!(!world.fleet.ues()[0].ue.is_paged);
    // A second Paging crosses the answer, and packets count no more.
    world.page(104 * MS);
    assert!(!world.fleet.answer_paging(104 * MS, 0));
    world.fleet.packet_comes(104 * MS, 0);
    assert_eq!((world.ended(), world.service_types()), (None, Vec::new()));
    world.accept(107 * MS);
    let ended = Some((Procedure::Paged, Outcome::Done, 7));
    assert_eq!(world.ended(), ended);
    assert!(!world.fleet.ues()[0].is_busy());
}

#[test]
fn a_ue_that_does_not_wait_does_not_answer_as_if_it_did() {
    let mut world = World::new();
    world.page(0);
    assert!(!world.fleet.answer_paging(0, 0));
    assert!(world.fleet.begin(0, Procedure::Service, 0, 10_000 * MS));
    assert!(!world.fleet.answer_paging(0, 0));
    assert_eq!(world.service_types(), [0], "signalling, and no paging");
}

#[test]
fn a_paging_that_does_not_come_times_out_and_the_ue_is_free_again() {
    let mut world = World::new();
    assert!(world.fleet.begin(0, Procedure::Paged, 0, 500 * MS));
    world.fleet.packet_comes(100 * MS, 0);
    assert_eq!(world.fleet.next_deadline_ns(), Some(500 * MS));
    world.fleet.time(499 * MS);
    assert_eq!(world.ended(), None);
    world.fleet.time(500 * MS);
    let ended = Some((Procedure::Paged, Outcome::TimedOut, 400));
    assert_eq!(world.ended(), ended);
    assert!(!world.fleet.answer_paging(501 * MS, 0));
    assert_eq!(world.fleet.busy(), 0);
}

#[test]
fn only_a_registered_idle_ue_waits_for_a_paging() {
    let mut world = World::new();
    let impossible = |world: &mut World| {
        assert!(world.fleet.begin(0, Procedure::Paged, 0, 500 * MS));
        world.ended().map(|(_, outcome, _)| outcome)
    };
    assert!(world.fleet.begin(0, Procedure::Service, 0, 500 * MS));
    world.accept(0);
    assert!(world.ended().is_some_and(|ended| ended.1 == Outcome::Done));
    let why = Outcome::Impossible("the UE is connected");
    assert_eq!(impossible(&mut world), Some(why));
    world.release(0);
    world.fleet.ues[0].ue.deregister_locally();
    let why = Outcome::Impossible("the UE is not registered");
    assert_eq!(impossible(&mut world), Some(why));
}

#[test]
fn a_refusal_of_before_does_not_end_the_wait_and_one_of_its_answer_does() {
    let mut world = World::new();
    assert!(world.fleet.begin(0, Procedure::Service, 0, 500 * MS));
    world.refuse(0);
    let refused = |ended: Option<(Procedure, Outcome, u64)>, of| {
        ended.is_some_and(|(procedure, outcome, _)| {
            procedure == of && matches!(outcome, Outcome::Refused(_))
        })
    };
    assert!(refused(world.ended(), Procedure::Service));
    world.release(0);
    assert!(world.fleet.begin(0, Procedure::Paged, 0, 500 * MS));
    assert_eq!(world.ended(), None);
    assert!(world.fleet.answer_paging(0, 0));
    world.refuse(0);
    assert!(refused(world.ended(), Procedure::Paged));
}

#[test]
fn a_ue_that_no_packet_can_reach_waits_no_longer() {
    let mut world = World::new();
    world.fleet.give_up_paging(0, 0, "no route");
    assert_eq!(world.ended(), None);
    assert!(world.fleet.begin(0, Procedure::Paged, 0, 500 * MS));
    world.fleet.give_up_paging(0, 0, "no route");
    let ended = world.ended().map(|(_, outcome, _)| outcome);
    assert_eq!(ended, Some(Outcome::Impossible("no route")));
}
