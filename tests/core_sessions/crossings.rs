//! Procedures that cross, by real messages: each state of a UE meets each input, and afterwards it can do
//! all that it could, and leaves nothing behind when it goes. `collisions.rs` of the AMF has the table.

use sluice_n1::{Cause, Downlink, Header, RegistrationKind, SessionType};
use sluice_n2::{FromAmf, PduSessionReleaseCommand};
use sluice_sbi::DataChange;
use sluice_ue::UeState;

use crate::harness::*;
use crate::two_gnbs::Two;
use crate::world::{GNB, TestNetwork, supi};

/// A registered UE with a session that is up.
fn connected() -> TestNetwork {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world
}

fn idle() -> TestNetwork {
    let mut world = connected();
    go_idle(&mut world, 0);
    world
}

fn identified() -> TestNetwork {
    let mut world = idle();
    let mut name = world.ue(0).guti().unwrap();
    name.tmsi.0[0] ^= 1;
    world.ue_mut(0).call_itself(name);
    world.ue_mut(0).behaviour.silent = true;
    world.register(0);
    world
}

fn authenticated() -> TestNetwork {
    let mut world = idle();
    world.ue_mut(0).forget_keys();
    world.ue_mut(0).behaviour.silent = true;
    world.register(0);
    world
}

fn in_security_mode() -> TestNetwork {
    let mut world = idle();
    world.ue_mut(0).forget_keys();
    world.lose = |nas| nas.get(1) == Some(&(Header::IntegrityNew as u8));
    world.register(0);
    world
}

fn accepted() -> TestNetwork {
    let mut world = idle();
    world.ue_mut(0).behaviour.no_complete = true;
    world.register(0);
    world
}

/// It comes by service request, and its gNB says nothing of its context.
fn without_context() -> TestNetwork {
    let mut world = idle();
    let nas = world.ue_mut(0).request_service().unwrap();
    let (ran, octets) = world.gnb.connect(nas, None);
    world.ues[0].at = Some(ran);
    world.tell_amf(&octets);
    world.core.take_to_ran();
    world
}

fn releasing() -> TestNetwork {
    let mut world = connected();
    world.gnb.no_releases = true;
    let ask = world.gnb.ask_release(at(&world, 0)).unwrap();
    world.tell_amf(&ask);
    world.run();
    world
}

fn deregistering() -> TestNetwork {
    let mut world = connected();
    world.ue_mut(0).behaviour.silent = true;
    let now = world.now;
    assert!(world.core.mobility().deregister(now, &supi(1), false));
    world.run();
    world
}

fn paged() -> TestNetwork {
    let mut world = idle();
    world.answers_pages = false;
    let ue = address(&world, 0, 5);
    assert_eq!(goes_down(&mut world, ue), None);
    world
}

fn renamed() -> TestNetwork {
    let mut world = idle();
    world.ue_mut(0).behaviour.no_complete = true;
    let ue = address(&world, 0, 5);
    goes_down(&mut world, ue);
    world
}

/// By what the AMF waits for.
const STATES: [State<TestNetwork>; 10] = [
    ("", connected),
    ("6", identified),
    ("9b", authenticated),
    ("9d", in_security_mode),
    ("22", accepted),
    ("14", without_context),
    ("release", releasing),
    ("5", deregistering),
    ("2b", renamed),
    ("6", paged),
];

/// What comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Input {
    /// The gNB is lost.
    GnbLost,
    /// It has forgotten all its UEs.
    Reset,
    /// It wants the UE released.
    ReleaseRequest,
    /// The subscriber is removed, and comes back.
    Removed,
    /// An operator sends the UE away.
    SentAway,
    /// The UE registers where it is.
    Registration,
    /// The same without keys.
    StrangeRegistration,
    /// The same on another connection.
    OtherConnection,
    /// By service request on another connection.
    Service,
    /// It leaves.
    Deregistration,
    /// It is switched off.
    SwitchedOff,
    /// There is data for it.
    Downlink,
    /// A message that is no answer to anything.
    LateAnswer,
}

const INPUTS: [Input; 13] = [
    Input::GnbLost,
    Input::Reset,
    Input::ReleaseRequest,
    Input::Removed,
    Input::SentAway,
    Input::Registration,
    Input::StrangeRegistration,
    Input::OtherConnection,
    Input::Service,
    Input::Deregistration,
    Input::SwitchedOff,
    Input::Downlink,
    Input::LateAnswer,
];

/// A connected UE says it where it is, and an idle one on a new connection.
fn say(world: &mut TestNetwork, nas: Vec<u8>) {
    let uplink = world.ues[0].at.map(|at| world.gnb.uplink(at, nas.clone()));
    match uplink {
        Some(Some(octets)) => {
            world.tell_amf(&octets);
            world.run();
        }
        // The AMF has said nothing on this one yet.
        Some(None) => {}
        None => world.connect(0, nas),
    }
}

fn comes(world: &mut TestNetwork, input: Input) {
    let now = world.now;
    match input {
        Input::GnbLost => {
            world.core.association_lost(now, GNB);
            world.gnb.forget();
            world.ues[0].at = None;
            world.set_up();
        }
        Input::Reset => {
            let octets = world.gnb.reset();
            world.ues[0].at = None;
            world.tell_amf(&octets);
        }
        Input::ReleaseRequest => {
            let asked = world.ues[0].at.and_then(|at| world.gnb.ask_release(at));
            if let Some(octets) = asked {
                world.tell_amf(&octets);
            }
        }
        Input::Removed => {
            world
                .core
                .repository()
                .changed(now, &supi(1), DataChange::Withdrawn);
        }
        Input::SentAway => {
            world.core.mobility().deregister(now, &supi(1), true);
        }
        Input::Registration => {
            let nas = world.ue_mut(0).register(RegistrationKind::Initial);
            say(world, nas);
        }
        Input::StrangeRegistration => {
            world.ue_mut(0).forget_keys();
            let nas = world.ue_mut(0).register(RegistrationKind::Initial);
            say(world, nas);
        }
        Input::OtherConnection => {
            let nas = world.ue_mut(0).register(RegistrationKind::Initial);
            world.connect(0, nas);
        }
        Input::Service => {
            if let Some(nas) = world.ue_mut(0).request_service() {
                world.connect(0, nas);
            }
        }
        Input::Deregistration | Input::SwitchedOff => {
            let (is_off, is_connected) = (input == Input::SwitchedOff, world.ues[0].at.is_some());
            if let Some(nas) = world.ue_mut(0).deregister(is_off, is_connected) {
                say(world, nas);
            }
        }
        Input::Downlink => {
            let accept = world.ue(0).sessions().get(5);
            if let Some(ue) = accept.and_then(|accept| accept.address.ipv4) {
                goes_down(world, ue);
            }
        }
        Input::LateAnswer => {
            let nas = world
                .ue_mut(0)
                .protect(&sluice_n1::Uplink::RegistrationComplete);
            say(world, nas);
        }
    }
    world.run();
}

/// What is under way comes to its end.
fn rest(world: &mut TestNetwork, pair: &str) {
    let end = world.now.instant.plus_ms(400_000);
    loop {
        let smf = world.core.smf().unwrap();
        if world.amf().procedures().is_empty() && smf.procedures().is_empty() {
            return;
        }
        assert!(world.now.instant < end, "{pair}: under way for ever");
        assert!(world.wait_long());
    }
}

/// The UE registers anew, has a session, and leaves nothing behind.
fn ends_well(world: &mut TestNetwork, pair: &str) {
    world.ue_mut(0).behaviour = sluice_ue::Behaviour::default();
    // It has not released a UE that the AMF knows of no more.
    let is_deaf = std::mem::take(&mut world.gnb.no_releases);
    world.lose = |_| false;
    world.answers_pages = true;
    rest(world, pair);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    rest(world, pair);
    assert_eq!(
        world.ue(0).state(),
        UeState::Registered,
        "{pair}: {}",
        world.call_flow
    );
    establish(world, 0, 6, &wanted(SessionType::Ipv4));
    assert!(goes_up(world, 0, 6), "{pair}: {}", world.call_flow);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    rest(world, pair);
    pass(world, 130);
    let mut left = world.amf().sizes();
    left.extend(world.core.smf().unwrap().sizes());
    left.extend(world.core.pcf().unwrap().sizes());
    left.extend(world.core.udr().expect("its own").sizes());
    left.push(("UPF", upf(world).upf.core.up.session_count()));
    let stored = world
        .core
        .stored()
        .filter(|key| key.starts_with(b"amf/ue/"));
    left.push(("store", stored.count()));
    if !is_deaf {
        left.push(("gNB", world.gnb.connections()));
    }
    left.push(("AUSF", world.core.authentications()));
    left.retain(|(_, size)| *size != 0);
    assert!(left.is_empty(), "{pair}: {left:?}\n{}", world.call_flow);
    assert_eq!(world.amf().counters().panics, 0, "{pair}");
}

#[test]
fn each_state_is_what_it_is_called() {
    for (step, state) in STATES {
        let world = state();
        let expected: Vec<&str> = Some(step)
            .filter(|step| !step.is_empty())
            .into_iter()
            .collect();
        assert_eq!(world.amf().procedures(), expected);
    }
}

#[test]
fn each_state_meets_each_input_and_ends_well() {
    let pairs = each_meets_each(&STATES, &INPUTS, comes, ends_well);
    assert_eq!(pairs, 130);
}

/// 5.5.1.2.8 d: the one that is under way goes on.
#[test]
fn an_identical_registration_changes_nothing_and_is_answered_again_when_it_was_accepted() {
    let mut world = world(&[]);
    world.ues.push(crate::world::TestUe {
        ue: crate::world::ue(1),
        at: None,
    });
    world.ue_mut(0).behaviour.silent = true;
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.connect(0, nas.clone());
    let challenges = |world: &TestNetwork| {
        let call_flow = world.call_flow.to_string();
        call_flow
            .matches("AMF  -> UE    Authentication Request")
            .count()
    };
    assert_eq!(challenges(&world), 1, "{}", world.call_flow);
    world.say(0, nas.clone());
    assert_eq!(
        (challenges(&world), world.amf().procedures()),
        (1, vec!["9b"])
    );
    // Another one is another registration.
    world.ue_mut(0).follow_on = true;
    let other = world.ue_mut(0).register(RegistrationKind::Initial);
    assert_ne!(other, nas);
    world.ue_mut(0).behaviour.silent = false;
    world.say(0, other);
    world.assert_registered(0);
}

#[test]
fn an_accept_is_sent_again_for_the_same_request_of_a_ue_with_keys() {
    let mut world = idle();
    // The accept is lost.
    world.lose = |_| true;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.lose = |_| false;
    let accepts = |world: &TestNetwork| {
        let received = world.ue(0).received().iter();
        received
            .filter(|name| **name == "Registration Accept")
            .count()
    };
    let before = accepts(&world);
    // With a count of its own, and otherwise the same.
    let again = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.say(0, again);
    assert_eq!(accepts(&world), before + 1, "{}", world.call_flow);
    world.assert_registered(0);
    assert!(world.amf().procedures().is_empty());
    assert_eq!(world.amf().counters().aborts, 0);
}

#[test]
fn a_service_request_of_a_ue_that_is_being_deregistered_is_refused_and_its_connection_released() {
    let mut world = deregistering();
    world.ue_mut(0).behaviour.silent = false;
    let nas = world.ue_mut(0).request_service().unwrap();
    world.connect(0, nas);
    let refused = world.ue(0).refused().cloned();
    let expected = Downlink::ServiceReject(Cause::IMPLICITLY_DEREGISTERED.into());
    assert_eq!(refused, Some(expected), "{}", world.call_flow);
    rest(&mut world, "");
    let amf = world.amf();
    assert_eq!((amf.connected(), amf.registered()), (0, 0));
}

/// A UE that begins anew between two gNBs keeps its radio: it is heard when it is there.
#[test]
fn a_registration_without_keys_waits_for_the_end_of_a_handover() {
    for is_commanded in [false, true] {
        let mut two = Two::new(&[5]);
        two.goes = false;
        two.other.is_silent = !is_commanded;
        two.ask_n2(false);
        two.world.ue_mut(0).forget_keys();
        let nas = two.world.ue_mut(0).register(RegistrationKind::Initial);
        two.world.say(0, nas);
        assert_eq!(two.world.ue(0).state(), UeState::Registering);
        assert_eq!(two.world.amf().counters().deferred, 1);
        match is_commanded {
            true => two.arrive(),
            // The target never answers.
            false => assert!(two.world.wait()),
        }
        two.run();
        assert_eq!(
            two.world.ue(0).state(),
            UeState::Registered,
            "{}",
            two.world.call_flow
        );
        assert!(two.world.ues[0].at.is_some());
        two.settle();
        assert_eq!(two.world.amf().connected(), 1);
        establish(&mut two.world, 0, 6, &wanted(SessionType::Ipv4));
        two.assert_flows(6);
    }
}

/// A gNB that is about to hand a UE over takes no new key of it: it is told again, and the UE stays.
#[test]
fn a_key_that_a_gnb_does_not_take_during_a_handover_is_told_again() {
    let mut world = connected();
    world.gnb.refuses_changes = Some(sluice_n2::Cause::XN_HANDOVER_TRIGGERED);
    world.ue_mut(0).forget_keys();
    let nas = world.ue_mut(0).register(RegistrationKind::Initial);
    world.say(0, nas);
    assert_eq!(world.amf().procedures(), ["22"]);
    world.gnb.refuses_changes = None;
    assert!(world.wait());
    world.assert_registered(0);
    assert!(world.amf().procedures().is_empty());
    let key = world.gnb.context(at(&world, 0)).unwrap().key.clone();
    assert_eq!(Some(key), world.ue(0).kgnb());
}

/// A session whose number is used again while the one before is released: neither its command, nor what was
/// asked of it, touches the new one.
#[test]
fn a_number_that_is_used_again_is_another_session() {
    let mut world = connected();
    upf(&mut world).next = Some((DELETION, 0, Fate::Late));
    let now = world.now;
    assert!(world.core.sessions().release(now, &supi(1), 5));
    world.run();
    // It waits for the UPF; this waits for that.
    let nas = world.ue_mut(0).release(5);
    world.say(0, nas);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    // The AMF does not wait for ever.
    pass(&mut world, 4);
    assert!(goes_up(&mut world, 0, 5), "{}", world.call_flow);
    for octets in std::mem::take(&mut upf(&mut world).kept) {
        let now = world.now;
        world.core.n4(now, crate::world::N4, &octets);
        world.run();
    }
    pass(&mut world, 100);
    assert_eq!(
        world.ue(0).sessions().status(),
        1 << 5,
        "{}",
        world.call_flow
    );
    assert!(goes_up(&mut world, 0, 5), "{}", world.call_flow);
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    ends_well(&mut world, "");
}

/// Counts follow the order in which the UE hears: what was not delivered comes first.
#[test]
fn messages_that_wait_for_a_handover_are_heard_in_order() {
    let mut two = Two::new(&[5, 6, 7]);
    two.goes = false;
    let now = two.world.now;
    // One that is lost on the way to the UE, which leaves.
    two.world.lose = |_| true;
    assert!(two.world.core.sessions().release(now, &supi(1), 5));
    two.run();
    two.world.lose = |_| false;
    let lost = two.world.transcript.iter().rev().find_map(|octets| {
        let Ok(FromAmf::PduSessionReleaseCommand(PduSessionReleaseCommand { nas, .. })) =
            FromAmf::decode(octets)
        else {
            return None;
        };
        nas
    });
    two.ask_n2(false);
    // One that waits for the end of the handover.
    assert!(two.world.core.sessions().release(now, &supi(1), 6));
    two.run();
    let ran = at(&two.world, 0);
    let cause = sluice_n2::Cause::N2_HANDOVER_TRIGGERED;
    let told = two.world.gnb.not_delivered(ran, lost.unwrap(), cause);
    two.world.tell_amf(&told.unwrap());
    two.run();
    assert_eq!(two.world.ue(0).sessions().status(), 0b1110_0000);
    two.arrive();
    two.run();
    let status = two.world.ue(0).sessions().status();
    assert_eq!(status, 0b1000_0000, "{}", two.world.call_flow);
    two.settle();
    two.assert_flows(7);
}
