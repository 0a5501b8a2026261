//! Answers to challenges that prove nothing, and what the home network hears of them (TS 33.501, 6.1.3.2.2; TS 24.501,
//! 5.4.1.3.5 and 5.4.1.3.7; TS 33.512, 4.2.2.1.2), and UEs without the algorithms that each must have.

use sluice_n1::{Cause, Downlink, RegistrationKind};
use sluice_sbi::{AuthMethod, Nf};
use sluice_security::{Mandatory, Method, SecurityCapability};
use sluice_udr::{AuthEvent, Subscriber, Udr};

use crate::world::{TestNetwork, config, core, credentials, plmn, subscriber, supi};

const CONFIRMATION: &str = "Nausf_UEAuthentication_Authenticate Request (confirmation)";

fn count(world: &TestNetwork, what: &str) -> usize {
    world.call_flow.to_string().matches(what).count()
}

fn received(world: &TestNetwork, name: &str) -> usize {
    let received = world.ue(0).received().iter();
    received.filter(|one| **one == name).count()
}

/// An idle phone that is registered and has lost its keys, not its name.
fn known() -> TestNetwork {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    world.assert_registered(0);
    world.ue_mut(0).forget_keys();
    world.call_flow.0.clear();
    world
}

/// TS 33.512 4.2.2.1.2 A.
#[test]
fn the_home_network_hears_of_a_wrong_answer_by_a_null_one() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).behaviour.wrong_res = true;
    world.register(0);
    assert_eq!(world.ue(0).refused(), Some(&Downlink::AuthenticationReject));
    assert_eq!(received(&world, "Identity Request"), 0);
    assert_eq!(count(&world, CONFIRMATION), 1, "{}", world.call_flow);
    assert_eq!(
        count(&world, "Nudm_UEAuthentication_ResultConfirmation Request"),
        1
    );
    assert_eq!(
        world.core.authentications(),
        0,
        "the challenge is over there, too"
    );
}

/// A phone that never answers, or does not take the challenge: the same.
#[test]
fn the_home_network_hears_of_each_challenge_that_nobody_answers() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).behaviour.silent = true;
    world.register(0);
    world.settle();
    assert_eq!(received(&world, "Authentication Request"), 5);
    assert_eq!(
        (count(&world, CONFIRMATION), world.core.authentications()),
        (1, 0)
    );
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).behaviour.refuses_5g = true;
    world.register(0);
    assert_eq!(
        (count(&world, CONFIRMATION), world.core.authentications()),
        (1, 0)
    );
    assert_eq!(world.ue(0).refused(), Some(&Downlink::AuthenticationReject));
}

/// TS 33.512 4.2.2.1.2 B, ETSI TP_5GNAS_AMF_AUT_ABN_03: the name was that of the subscriber that the phone shows.
#[test]
fn a_known_phone_with_a_wrong_answer_is_asked_who_it_is() {
    let mut world = known();
    world.ue_mut(0).behaviour.wrong_res = true;
    world.register(0);
    assert_eq!(
        received(&world, "Identity Request"),
        1,
        "{}",
        world.call_flow
    );
    assert_eq!(world.ue(0).refused(), Some(&Downlink::AuthenticationReject));
    assert_eq!(
        (count(&world, CONFIRMATION), world.core.authentications()),
        (1, 0)
    );
    assert_eq!(world.amf().registered(), 1, "as it was");
}

/// ETSI TP_5GNAS_AMF_AUT_ABN_02: the name was another's, so the phone is challenged as who it shows itself to be.
#[test]
fn a_phone_with_anothers_name_and_a_wrong_answer_is_challenged_as_itself() {
    let mut world = TestNetwork::new(&[1, 2]);
    world.register(0);
    let name = world.ue(0).guti().expect("a name");
    world.ue_mut(1).call_itself(name);
    world.ue_mut(1).behaviour.wrong_res = true;
    let nas = world.ue_mut(1).register(RegistrationKind::Initial);
    world.connect(1, nas);
    let asked = [
        "Authentication Request",
        "Identity Request",
        "Authentication Request",
    ];
    assert_eq!(world.ue(1).received()[..3], asked, "{}", world.call_flow);
    assert_eq!(world.ue(1).refused(), Some(&Downlink::AuthenticationReject));
    // One whose answers are right is that one, whatever name it came by.
    world.ue_mut(1).call_itself(name);
    world.ue_mut(1).behaviour.wrong_res = false;
    world.ue_mut(1).behaviour.refuses_5g = true;
    let nas = world.ue_mut(1).register(RegistrationKind::Initial);
    world.connect(1, nas);
    world.assert_registered(0);
    assert_eq!(world.amf().registered(), 1);
}

/// ETSI TP_5GNAS_AMF_AUT_ABN_01: #26.
#[test]
fn a_known_phone_that_takes_no_challenge_for_one_of_5g_is_asked_who_it_is() {
    let mut world = known();
    world.ue_mut(0).behaviour.refuses_5g = true;
    world.register(0);
    assert_eq!(
        received(&world, "Identity Request"),
        1,
        "{}",
        world.call_flow
    );
    assert!(
        world.call_flow.to_string().contains("#26"),
        "{}",
        world.call_flow
    );
    assert_eq!(world.ue(0).refused(), Some(&Downlink::AuthenticationReject));
    assert_eq!(world.amf().registered(), 1, "as it was");
}

/// TS 33.512 4.2.2.1.2 E and F: the AUSF never says whether the answer was right. The phone is asked who it is, and
/// challenged once more; it is no fault of its own, so that a second silence is congestion.
#[test]
fn a_phone_whose_answer_is_not_confirmed_is_asked_who_it_is() {
    for is_known in [false, true] {
        let mut world = if is_known {
            known()
        } else {
            TestNetwork::new(&[1])
        };
        // The first challenge is lost; when it comes again, the AUSF hears nothing any more.
        world.lose = |nas| nas.get(..3) == Some(&[0x7e, 0, 0x56]);
        world.register(0);
        world.lose = |_| false;
        world.core.lose(&[(Nf::Amf, Nf::Ausf)]);
        while received(&world, "Identity Request") == 0 {
            assert!(world.wait(), "{}", world.call_flow);
            assert_eq!(world.ue(0).refused(), None, "{}", world.call_flow);
        }
        world.core.lose(&[]);
        world.settle();
        if is_known {
            // It was challenged again before the AUSF was back.
            assert_eq!(world.amf().registered(), 1);
        }
        let congestion = Downlink::RegistrationReject(Cause::CONGESTION.into());
        assert_eq!(
            world.ue(0).refused(),
            Some(&congestion),
            "{}",
            world.call_flow
        );
    }
}

/// TS 24.501, 5.4.2.5; ETSI, 5.4.2: what began it ends, and the phone need not wait for T3510.
#[test]
fn a_phone_that_rejects_the_security_mode_is_told_that_its_registration_ends() {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).behaviour.refuse_security_mode = true;
    world.register(0);
    let reject = Downlink::RegistrationReject(Cause::SECURITY_CAPABILITIES_MISMATCH.into());
    assert_eq!(world.ue(0).refused(), Some(&reject), "{}", world.call_flow);
    let refused = world.core.take_refused();
    assert!(
        refused[0].why.contains("rejects the security mode"),
        "{refused:?}"
    );
}

/// TS 33.512 4.2.2.6.1 3 and 4; TS 24.501, 5.5.1.2.8.
#[test]
fn a_phone_without_mandatory_algorithms_is_refused() {
    for (capability, mandatory, is_served) in [
        ([0x10, 0x70], Mandatory::One, false),
        ([0xf0, 0x10], Mandatory::One, false),
        // As PacketRusher and Osmocom's tests have them.
        ([0xa0, 0x20], Mandatory::One, true),
        ([0xa0, 0x20], Mandatory::All, false),
        ([0xe0, 0x60], Mandatory::All, true),
    ] {
        let mut config = config();
        config.preference.mandatory = mandatory;
        let mut world = TestNetwork::of(core(config, true), &[1]);
        world.set_up();
        world.ue_mut(0).capability = SecurityCapability::from_octets(&capability).expect("two");
        world.register(0);
        let reject = Downlink::RegistrationReject(Cause::SECURITY_CAPABILITIES_MISMATCH.into());
        let refused = (!is_served).then_some(reject);
        assert_eq!(
            world.ue(0).refused(),
            refused.as_ref(),
            "{capability:02x?} {mandatory:?}"
        );
        assert_eq!(world.amf().registered(), usize::from(is_served));
    }
}

/// The UDM's record of the first phone.
fn status(world: &TestNetwork) -> Option<AuthEvent> {
    world
        .core
        .udr()
        .expect("its own")
        .authentication_of(&supi(1))
        .cloned()
}

/// TS 33.514 4.2.2.2: SUPI, result, time, serving network name and method are stored as they were.
#[test]
fn scas_33_514_4_2_2_2_authentication_status_is_stored() {
    for (method, stored) in [
        (Method::FiveGAka, AuthMethod::FiveGAka),
        (Method::EapAkaPrime, AuthMethod::EapAkaPrime),
    ] {
        for wrong_res in [false, true] {
            let mut world = TestNetwork::new(&[1]);
            let subscriber = Subscriber {
                credentials: credentials().by(method),
                ..subscriber()
            };
            assert!(
                world
                    .core
                    .udr_mut()
                    .expect("its own")
                    .insert(supi(1), subscriber)
            );
            assert_eq!(status(&world), None);
            world.ue_mut(0).behaviour.wrong_res = wrong_res;
            world.register(0);
            let expected = AuthEvent {
                success: !wrong_res,
                network: plmn().serving_network_name(),
                method: stored,
                unix_s: world.now.unix_s,
            };
            assert_eq!(status(&world), Some(expected));
            let others = (2..=3).filter_map(|n| {
                world
                    .core
                    .udr()
                    .expect("its own")
                    .authentication_of(&supi(n))
            });
            assert_eq!(others.count(), 0);
        }
    }
}

/// Whoever knows a name of the subscriber can fail: the subscriber's phone is served all the same.
#[test]
fn a_failure_of_somebody_else_takes_nothing_from_the_phone() {
    let mut world = TestNetwork::new(&[1, 1]);
    world.register(0);
    world.ue_mut(1).behaviour.wrong_res = true;
    world.register(1);
    assert!(!status(&world).expect("an event").success);
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
    assert_eq!(received(&world, "Authentication Request"), 1);
}

/// A home network without a record of it, as after a loss of its memory: a phone whose keys are good is not refused
/// but proves once more who it is, and keeps its name.
#[test]
fn a_phone_of_which_the_home_network_has_no_record_proves_once_more_who_it_is() {
    for follow_on in [false, true] {
        let mut world = TestNetwork::new(&[1]);
        world.ue_mut(0).follow_on = follow_on;
        world.register(0);
        *world.core.udr_mut().expect("its own") = Udr::default();
        assert!(
            world
                .core
                .udr_mut()
                .expect("its own")
                .insert(supi(1), subscriber())
        );
        let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
        match follow_on {
            true => world.say(0, nas),
            false => world.connect(0, nas),
        }
        world.assert_registered(0);
        // The new record of its sequence numbers may be behind its SIM, which costs a challenge more.
        let asked = received(&world, "Authentication Request");
        assert!(asked > 1, "{}", world.call_flow);
        assert_eq!(received(&world, "Registration Reject"), 0);
        assert!(status(&world).expect("an event").success);
        assert!(!world.wait(), "nothing is under way");
        // From now on its keys are good again.
        let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
        match follow_on {
            true => world.say(0, nas),
            false => world.connect(0, nas),
        }
        world.assert_registered(0);
        assert_eq!(received(&world, "Authentication Request"), asked);
    }
}
