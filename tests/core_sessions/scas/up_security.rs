//! User plane security policy (TS 23.501, 5.10.3; TS 33.501, 6.6.1): which one counts, what gNBs say to it, and what
//! becomes of sessions that are not protected as it requires.

use sluice_ids::{UpProtection, UpSecurity};
use sluice_n1::{IntegrityRate, IntegrityRates, SessionCause, SessionType};
use sluice_n2::{
    Cause, FromAmf, HandoverFromAmf, ModifyIndication, PathSwitchAcknowledge, ProtectedRate,
    SecurityIndication, SecurityResult, Tunnel,
};
use sluice_sbi::{Now, Refused};
use sluice_smf::Smf;
use sluice_ue::{HandoverAnswer, WantedSession};
use sluice_wiring::Core;

use crate::contexts::{Memory, core_of, kill_before};
use crate::flow_mobility::{indicate, moves, refused as not_moved};
use crate::harness::*;
use crate::two_gnbs::Two;
use crate::world::{self, TestNetwork, supi};

const REQUIRED: UpSecurity = UpSecurity {
    integrity: UpProtection::Required,
    confidentiality: UpProtection::Required,
};
const PREFERRED: UpSecurity = UpSecurity {
    integrity: UpProtection::Preferred,
    confidentiality: UpProtection::NotNeeded,
};

/// As fast as the UE is, both ways.
const FULL: (ProtectedRate, ProtectedRate) =
    (ProtectedRate::MaximumUeRate, ProtectedRate::MaximumUeRate);

fn config(local: Option<UpSecurity>) -> sluice_smf::Config {
    let mut config = smf_config();
    for network in &mut config.networks {
        network.up_security = local;
    }
    config
}

/// The first subscriber's policy of the data network is this.
fn subscribe(core: &mut Core, policy: Option<UpSecurity>) {
    let mut subscriber = world::subscriber();
    for network in &mut subscriber.networks {
        network.up_security = policy;
    }
    assert!(core.udr_mut().expect("its own").insert(supi(1), subscriber));
}

/// With the data network's policy, and the subscriber's.
fn world_with(local: Option<UpSecurity>, subscribed: Option<UpSecurity>) -> TestNetwork {
    let core = world::core(world::config(), true);
    let mut core = core.with_smf(Smf::new(config(local)).unwrap());
    subscribe(&mut core, subscribed);
    let mut world = begin(core, &[1]);
    world.core.take_refused();
    world
}

fn told(world: &TestNetwork, session: u8) -> Option<SecurityIndication> {
    radio(world, 0, session).unwrap().request.security
}

fn refused(world: &mut TestNetwork) -> Refused {
    let mut all = world.core.take_refused();
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

fn counters(world: &TestNetwork) -> (u64, u64) {
    let counters = world.core.smf().unwrap().counters();
    (counters.security_refused, counters.security_mismatches)
}

/// Security Indication of the last Path Switch Request Acknowledge.
fn corrected(two: &Two) -> Option<SecurityIndication> {
    let switched = |octets: &Vec<u8>| match FromAmf::decode(octets) {
        Ok(FromAmf::Handover(HandoverFromAmf::PathSwitchRequestAcknowledge(told))) => {
            PathSwitchAcknowledge::decode(&told.switched[0].1)
        }
        _ => None,
    };
    let mut last = two.world.transcript.iter().rev();
    last.find_map(switched).expect("acknowledged").security
}

#[test]
fn scas_33_515_4_2_2_1_1_the_subscribers_policy_comes_before_the_data_networks() {
    let rates = Some(FULL);
    for (local, subscribed, policy) in [
        (Some(PREFERRED), Some(REQUIRED), Some(REQUIRED)),
        (Some(REQUIRED), Some(PREFERRED), Some(PREFERRED)),
        (Some(PREFERRED), None, Some(PREFERRED)),
        (None, Some(REQUIRED), Some(REQUIRED)),
        (None, None, None),
    ] {
        let mut world = world_with(local, subscribed);
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        let indication = policy.map(|policy| SecurityIndication { policy, rates });
        assert_eq!(told(&world, 5), indication, "{local:?} {subscribed:?}");
        assert!(goes_up(&mut world, 0, 5));
        // The same when its user plane comes back.
        go_idle(&mut world, 0);
        world.ue_mut(0).sessions_mut().set_data(0b10_0000);
        come_back(&mut world, 0);
        assert_eq!(told(&world, 5), indication);
    }
}

/// Another policy of the subscriber is that of its next session alone.
#[test]
fn a_session_keeps_the_policy_that_it_was_established_with() {
    let mut two = Two::of(world_with(Some(REQUIRED), None), &[5]);
    let core = &mut two.world.core;
    let reloaded = config(Some(PREFERRED));
    let now = two.world.now;
    core.sessions().reconfigure(now, reloaded).unwrap();
    two.ask_n2(false);
    two.settle();
    two.assert_flows(5);
    assert_eq!(told(&two.world, 5).unwrap().policy, REQUIRED);
    establish(&mut two.world, 0, 6, &wanted(SessionType::Ipv4));
    assert_eq!(told(&two.world, 6).unwrap().policy, PREFERRED);
}

#[test]
fn scas_33_515_4_2_2_1_3_a_path_switch_with_another_policy_is_told_the_sessions_own() {
    let mut two = Two::of(world_with(Some(REQUIRED), None), &[5]);
    // The gNB where it was tells what it was told.
    two.by_xn();
    assert_eq!(two.answers, [HandoverAnswer::Switched]);
    assert_eq!(corrected(&two), None);
    assert_eq!(counters(&two.world), (0, 0));
    assert_eq!(two.world.core.take_refused(), []);
    // And back, of another one.
    two.world.gnb.tells_policy = Some(PREFERRED);
    two.by_xn();
    let indication = SecurityIndication {
        policy: REQUIRED,
        rates: Some(FULL),
    };
    assert_eq!(corrected(&two), Some(indication));
    assert_eq!(told(&two.world, 5), Some(indication));
    two.assert_flows(5);
    assert_eq!(counters(&two.world), (0, 1));
    let event = refused(&mut two.world);
    assert_eq!(event.request, "Path Switch Request");
    assert_eq!(event.supi, Some(supi(1)));
    for words in [
        "192.0.2.51 was told integrity preferred, confidentiality not_needed",
        "the policy is integrity required, confidentiality required",
        "(session 5, internet)",
    ] {
        assert!(event.why.contains(words), "{}", event.why);
    }
}

/// The policy outlives the core, so that there is something to compare with.
#[test]
fn scas_33_515_4_2_2_1_3_a_policy_is_compared_after_the_core_was_killed() {
    let memory = Memory::default();
    let next = |now: Now, local| core_of(&memory, now, &[], world::config(), config(local));
    let now = Now {
        unix_s: world::BEGIN_S,
        ..Now::default()
    };
    let world = begin(next(now, Some(REQUIRED)), &[1]);
    let mut two = Two::of(world, &[5]);
    two.world.gnb.retains_ues = true;
    // By now it would be another one.
    kill_before(&mut two.world, |now| next(now, Some(PREFERRED)));
    two.tell_other(&two.other.setup());
    two.run();
    two.world.gnb.tells_policy = Some(PREFERRED);
    two.by_xn();
    assert_eq!(two.answers, [HandoverAnswer::Switched]);
    assert_eq!(corrected(&two).map(|told| told.policy), Some(REQUIRED));
    assert_eq!(counters(&two.world), (0, 1));
    two.assert_flows(5);
}

/// One that says nothing of it, and one that knows the policy and does not carry it out.
#[test]
fn a_path_switch_that_does_not_show_the_policy_carried_out_is_told_it() {
    let mut two = Two::of(world_with(Some(REQUIRED), None), &[5]);
    two.by_xn_with(|request| {
        for (_, transfer) in &mut request.switched {
            let mut told = sluice_n2::PathSwitch::decode(transfer).unwrap();
            told.security = None;
            *transfer = told.encode();
        }
    });
    assert_eq!(corrected(&two).map(|told| told.policy), Some(REQUIRED));
    assert!(refused(&mut two.world).why.contains("was told nothing"));
    two.other.denies_protection = true;
    two.by_xn();
    assert_eq!(corrected(&two).map(|told| told.policy), Some(REQUIRED));
    let why = refused(&mut two.world).why;
    assert!(why.contains("integrity protection not performed"), "{why}");
    assert_eq!(counters(&two.world), (0, 2));
    // A session without a policy is not compared.
    let mut two = Two::of(world_with(None, None), &[5]);
    two.by_xn();
    assert_eq!(corrected(&two), None);
    assert_eq!(counters(&two.world), (0, 0));
}

#[test]
fn a_session_that_a_gnb_cannot_protect_as_required_is_refused() {
    let mut world = world_with(Some(REQUIRED), None);
    for (no_integrity, words) in [
        (true, "UP integrity protection not possible"),
        (false, "UP confidentiality protection not possible"),
    ] {
        world.gnb.no_integrity = no_integrity;
        world.gnb.no_confidentiality = !no_integrity;
        establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
        assert_refused(&world, None, Some(SessionCause::INSUFFICIENT_RESOURCES));
        assert_no_session(&mut world);
        let event = refused(&mut world);
        assert!(event.cause.contains(words), "{event}");
        assert!(event.why.contains("integrity required"), "{event}");
    }
    assert_eq!(counters(&world), (2, 0));
    // What is preferred is not required.
    let mut world = world_with(Some(PREFERRED), None);
    world.gnb.no_integrity = true;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
    assert_eq!(counters(&world), (0, 0));
    let view = world.core.smf().unwrap().sessions_of(&supi(1)).remove(0);
    let nothing = SecurityResult {
        integrity: false,
        confidentiality: false,
    };
    assert_eq!(view.up_security, Some((PREFERRED, Some(nothing))));
}

/// TS 23.502, 4.2.3.2, 15: the UE has the session, and comes where it cannot be protected.
#[test]
fn a_session_whose_user_plane_cannot_be_protected_when_it_comes_back_is_released() {
    let mut world = world_with(Some(REQUIRED), None);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    world.gnb.no_integrity = true;
    world.ue_mut(0).sessions_mut().set_data(0b10_0000);
    come_back(&mut world, 0);
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert_no_session(&mut world);
    assert_eq!(counters(&world), (1, 0));
    assert!(refused(&mut world).cause.contains("integrity protection"));
}

/// The gNB sets the session up without the protection, and its Security Result says so.
#[test]
fn a_gnb_that_does_not_protect_what_is_required_has_the_session_released() {
    let mut world = world_with(Some(REQUIRED), None);
    world.gnb.denies_protection = true;
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(radio(&world, 0, 5), None);
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert_no_session(&mut world);
    assert_eq!(counters(&world), (1, 0));
    let event = refused(&mut world);
    let said = "integrity protection not performed, confidentiality protection not performed";
    assert_eq!(event.cause, said);
}

/// Security Result of the first UE's session 5, as operators see it.
fn reported(world: &TestNetwork) -> Option<SecurityResult> {
    let sessions = world.core.smf().unwrap().sessions_of(&supi(1));
    sessions[0].up_security.and_then(|(_, result)| result)
}

/// Downlink packets of session 5 come to the tunnel that the gNB takes them at.
fn assert_packets(world: &mut TestNetwork) {
    let tunnel = radio(world, 0, 5).unwrap().downlink.teid;
    let ue = address(world, 0, 5);
    assert_eq!(goes_down(world, ue), Some(tunnel));
}

fn result(integrity: bool, confidentiality: bool) -> SecurityResult {
    SecurityResult {
        integrity,
        confidentiality,
    }
}

/// TS 38.413, 9.3.4.6: a node that serves the UE beside the gNB protects the session otherwise.
#[test]
fn a_gnb_tells_of_another_protection_when_it_moves_packets() {
    let mut world = world_with(Some(PREFERRED), None);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert_eq!(reported(&world), Some(result(true, false)));
    world.gnb.no_integrity = true;
    assert_eq!(moves(&mut world, 5).done.len(), 1);
    assert_eq!(reported(&world), Some(result(false, false)));
    assert_packets(&mut world);
    // One that does not say changes nothing of it.
    let indication = ModifyIndication {
        first: (radio(&world, 0, 5).unwrap().downlink, vec![1]),
        others: Vec::new(),
        security: None,
    };
    let results = indicate(&mut world, vec![(5, indication.encode())]);
    assert_eq!(results.done.len(), 1);
    assert_eq!(reported(&world), Some(result(false, false)));
    assert_eq!(counters(&world), (0, 0));
}

#[test]
fn packets_do_not_move_where_they_are_not_protected_as_required() {
    let mut world = world_with(Some(REQUIRED), None);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let before = radio(&world, 0, 5).unwrap().downlink;
    world.gnb.denies_protection = true;
    let results = moves(&mut world, 5);
    assert_eq!(not_moved(&results), [(5, Cause::NO_UP_INTEGRITY)]);
    let event = refused(&mut world);
    assert_eq!(event.request, "PDU Session Resource Modify Indication");
    assert!(event.cause.contains("not performed"), "{event}");
    let elsewhere = ModifyIndication {
        first: (
            Tunnel {
                teid: 0x501,
                ..before
            },
            vec![1],
        ),
        others: Vec::new(),
        security: Some(result(true, false)),
    };
    let results = indicate(&mut world, vec![(5, elsewhere.encode())]);
    assert_eq!(not_moved(&results), [(5, Cause::NO_UP_CONFIDENTIALITY)]);
    assert_eq!(counters(&world), (2, 0));
    // The session stays where it is protected.
    assert_eq!(radio(&world, 0, 5).unwrap().downlink, before);
    assert_eq!(reported(&world), Some(result(true, true)));
    assert_packets(&mut world);
}

#[test]
fn a_handover_by_n2_takes_no_session_along_that_is_not_protected_as_required() {
    let mut two = Two::of(world_with(Some(REQUIRED), None), &[5]);
    two.other.denies_protection = true;
    two.ask_n2(false);
    assert!(matches!(two.answers[..], [HandoverAnswer::Refused(_)]));
    assert_eq!(counters(&two.world), (1, 0));
    // It stays where it is.
    two.assert_flows(5);
}

/// TS 23.502, 4.9.1.2.2 and 4.9.1.3.3: one of two sessions cannot be protected where the UE has come.
#[test]
fn a_session_that_the_target_of_a_handover_cannot_protect_as_required_is_released() {
    for is_by_xn in [true, false] {
        let mut two = Two::of(world_with(Some(PREFERRED), None), &[5]);
        let now = two.world.now;
        let reloaded = config(Some(REQUIRED));
        two.world
            .core
            .sessions()
            .reconfigure(now, reloaded)
            .unwrap();
        establish(&mut two.world, 0, 6, &wanted(SessionType::Ipv4));
        two.other.no_integrity = true;
        match is_by_xn {
            true => two.by_xn(),
            false => two.ask_n2(false),
        }
        two.settle();
        two.assert_flows(5);
        assert_eq!(two.world.ue(0).sessions().status(), 1 << 5, "{is_by_xn}");
        assert_eq!(two.world.core.smf().unwrap().sessions(), 1);
        assert_eq!(counters(&two.world), (1, 0));
        let event = refused(&mut two.world);
        assert!(event.cause.contains("UP integrity protection not possible"));
    }
}

/// TS 24.501, 6.4.1.4: 5GSM cause 82.
#[test]
fn integrity_is_not_required_of_a_ue_that_is_too_slow() {
    let mut world = world_with(Some(REQUIRED), None);
    for slow in [IntegrityRate::Kbps64, IntegrityRate::Null] {
        let full = IntegrityRate::Full;
        for (up, down) in [(slow, full), (full, slow)] {
            let wanted = WantedSession {
                integrity: IntegrityRates { up, down },
                ..wanted(SessionType::Ipv4)
            };
            establish(&mut world, 0, 5, &wanted);
            assert_refused(&world, None, Some(SessionCause::INTEGRITY_RATE_TOO_LOW));
            let event = refused(&mut world);
            assert!(event.why.contains("less than the session AMBR"), "{event}");
        }
    }
    assert_no_session(&mut world);
    // Where it is preferred, its gNB is told how slow it is.
    let mut world = world_with(Some(PREFERRED), None);
    let slow = WantedSession {
        integrity: IntegrityRates {
            up: IntegrityRate::Kbps64,
            down: IntegrityRate::Full,
        },
        ..wanted(SessionType::Ipv4)
    };
    establish(&mut world, 0, 5, &slow);
    let rates = told(&world, 5).unwrap().rates;
    let expected = (ProtectedRate::Kbps64, ProtectedRate::MaximumUeRate);
    assert_eq!(rates, Some(expected));
}
