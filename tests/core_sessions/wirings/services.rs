//! Functions that reach each other by HTTP alone, in virtual time: what a UE takes of each service, and requests that are
//! lost, late or served twice, or whose answers are, leave nothing behind.

use sluice_n1::SessionType;
use sluice_sbi::Instant;
use sluice_testbed::apart::{self, Wiring};
use sluice_testbed::services::{self, Fate};
use sluice_ue::UeState;

use crate::harness::*;
use crate::world::TestNetwork;

/// Times that a UE tries what has failed.
const TRIES: usize = 4;

/// Later than any function waits for an answer.
const TOO_LATE_MS: u64 = 4_000;

/// Requests that create or change something at whom they are for.
const REQUESTS: [&str; 16] = [
    "POST /nausf-auth/v1/ue-authentications",
    "PUT /nausf-auth/v1/ue-authentications/",
    "POST /nudm-ueau/",
    "GET /nudr-dr/v2/subscription-data/imsi-001010000000001/authentication-data",
    "PATCH /nudr-dr/v2/subscription-data/imsi-001010000000001/authentication-data",
    "PUT /nudm-uecm/v1/imsi-001010000000001/registrations/amf-3gpp-access",
    "PUT /nudr-dr/v2/subscription-data/imsi-001010000000001/context-data/amf-3gpp-access",
    "POST /nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions",
    "GET /nnssf-nsselection/",
    "POST /npcf-am-policy-control/v1/policies",
    "GET /nnrf-disc/",
    "POST /nsmf-pdusession/v1/sm-contexts",
    "GET /nudm-sdm/v2/imsi-001010000000001/sm-data",
    "POST /npcf-smpolicycontrol/v1/sm-policies",
    "POST /namf-comm/v1/ue-contexts/",
    "PUT /nudm-uecm/v1/imsi-001010000000001/registrations/smf-registrations",
];

/// A core that is registered at its NRF, and a UE.
fn by_http2() -> TestNetwork {
    apart::by(Wiring::Http2, || world(&[1]))
}

/// The clock goes on until nothing is under way any more, and for so long.
fn rest(world: &mut TestNetwork, seconds: u64) {
    let end = world.now.instant.plus_ms(seconds * 1_000);
    for _ in 0..10_000 {
        let next = apart::next_deadline(&world.core);
        if next == Instant::NEVER || next > end {
            return;
        }
        world.wait_long();
    }
    panic!("something is under way for ever");
}

/// The UE registers, unless it is.
fn come(world: &mut TestNetwork) {
    for _ in 0..TRIES {
        rest(world, 30);
        if world.ue(0).state() == UeState::Registered && world.ues[0].at.is_some() {
            return;
        }
        world.ues[0].at = None;
        world.register(0);
    }
    panic!("the UE cannot register:\n{}", world.call_flow);
}

/// The UE has a session, after a few attempts at the most.
fn have_session(world: &mut TestNetwork) {
    for _ in 0..TRIES {
        come(world);
        if world.ue(0).sessions().get(5).is_some() && goes_up(world, 0, 5) {
            return;
        }
        establish(world, 0, 5, &wanted(SessionType::Ipv4));
        rest(world, 30);
    }
    panic!("the UE gets no session:\n{}", world.call_flow);
}

/// Everything that functions and the UPF still have of UEs.
fn left(world: &mut TestNetwork) -> Vec<(&'static str, usize)> {
    let mut left: Vec<(&str, usize)> = world.amf().sizes();
    left.extend(world.core.smf().unwrap().sizes());
    left.extend(world.core.pcf().unwrap().sizes());
    left.extend(world.core.udr().unwrap().sizes());
    let ausf = world.core.apart().ausf.as_ref().unwrap();
    left.push(("AUSF: challenges", ausf.pending()));
    left.push(("UPF: sessions", upf(world).upf.core.up.sessions().len()));
    left.retain(|(_, size)| *size != 0);
    left
}

#[test]
fn a_ue_takes_requests_of_all_services() {
    let mut world = by_http2();
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
    let requests = services::take_requests();
    for wanted in [
        "PUT nnrf-nfm",
        "GET nnrf-disc",
        "POST nausf-auth",
        "PUT nausf-auth",
        "POST nudm-ueau",
        "GET nudm-sdm",
        "POST nudm-sdm",
        "PUT nudm-uecm",
        "GET nudr-dr",
        "PATCH nudr-dr",
        "PUT nudr-dr",
        "GET nnssf-nsselection",
        "POST npcf-am-policy-control",
        "POST npcf-smpolicycontrol",
        "POST nsmf-pdusession",
        "POST namf-comm",
    ] {
        assert!(requests.contains_key(wanted), "{wanted}: {requests:?}");
    }
}

/// The UE has a session, and leaves.
fn comes_and_goes(world: &mut TestNetwork) {
    have_session(world);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    rest(world, 200);
    assert_eq!(world.ue(0).state(), UeState::Deregistered);
}

/// Whatever becomes of a request, the UE gets what it wants in the end, and takes all with it when it leaves.
fn assert_nothing_is_left(fate: Fate) {
    for line in &REQUESTS {
        services::next(line, 0, fate);
        let mut world = by_http2();
        comes_and_goes(&mut world);
        assert!(services::is_spent(), "no {line}");
        assert_eq!(left(&mut world), [], "{fate:?} of {line}");
        let (amf, smf) = (world.amf(), world.core.smf().unwrap());
        assert_eq!((amf.counters().panics, smf.counters().panics), (0, 0));
    }
}

#[test]
fn a_request_that_is_lost_leaves_nothing_behind() {
    assert_nothing_is_left(Fate::RequestLost);
}

#[test]
fn a_request_that_comes_too_late_leaves_nothing_behind() {
    assert_nothing_is_left(Fate::RequestLate(TOO_LATE_MS));
}

#[test]
fn a_request_that_is_served_twice_leaves_nothing_behind() {
    assert_nothing_is_left(Fate::Twice);
}

#[test]
fn what_was_created_by_a_request_without_an_answer_is_released() {
    assert_nothing_is_left(Fate::AnswerLost);
}

#[test]
fn what_was_created_by_a_request_whose_answer_is_too_late_is_released() {
    assert_nothing_is_left(Fate::AnswerLate(TOO_LATE_MS));
}

#[test]
fn a_request_that_is_late_and_in_time_is_served() {
    assert_nothing_is_left(Fate::RequestLate(1_000));
}
