//! Each stage of a handover and each input, by real messages: all comes to rest, and the UE can do all that it could.
//! `collisions.rs` of the AMF has the table.

use sluice_n1::{RegistrationKind, SessionType, Uplink};
use sluice_n2::{Cause, RanUeId};
use sluice_sbi::DataChange::Withdrawn;
use sluice_ue::{Behaviour, HandoverAnswer, UeState};

use crate::harness::*;
use crate::two_gnbs::Two;
use crate::world::supi;

/// A UE on its way, by the step at which its handover waits.
const STAGES: [State<Two>; 5] = [
    ("2", switching),
    ("10", preparing),
    ("5", commanded),
    ("7", completing),
    ("14", leaving),
];

fn two() -> Two {
    let mut two = Two::new(&[5]);
    two.goes = false;
    two
}

/// The UE has come by Xn, and its UPF has not answered.
fn switching() -> Two {
    let mut two = two();
    upf(&mut two.world).all = Some((MODIFICATION, Fate::Lost));
    two.by_xn();
    two
}

/// The target has not answered.
fn preparing() -> Two {
    let mut two = two();
    two.other.is_silent = true;
    two.ask_n2(false);
    two
}

/// The UE is told to go, and is not at the target yet.
fn commanded() -> Two {
    let mut two = two();
    two.ask_n2(false);
    two
}

/// The UE has come by N2, and its UPF has not answered.
fn completing() -> Two {
    let mut two = commanded();
    upf(&mut two.world).all = Some((MODIFICATION, Fate::Lost));
    two.arrive();
    two
}

/// The UE's packets have followed, and the source forwards the last of those before.
fn leaving() -> Two {
    let mut two = commanded();
    two.arrive();
    two
}

/// An input of UE, gNBs, SMF or operator.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Input {
    Registration,
    StrangeRegistration,
    OtherConnection,
    Service,
    Deregistration,
    SwitchedOff,
    LateAnswer,
    Session,
    HandoverRequired,
    PathSwitch,
    ReleaseRequest,
    GnbLost,
    OtherGnbLost,
    Reset,
    Downlink,
    SentAway,
    Removed,
}

const INPUTS: [Input; 17] = [
    Input::Registration,
    Input::StrangeRegistration,
    Input::OtherConnection,
    Input::Service,
    Input::Deregistration,
    Input::SwitchedOff,
    Input::LateAnswer,
    Input::Session,
    Input::HandoverRequired,
    Input::PathSwitch,
    Input::ReleaseRequest,
    Input::GnbLost,
    Input::OtherGnbLost,
    Input::Reset,
    Input::Downlink,
    Input::SentAway,
    Input::Removed,
];

/// A message of the UE where it is, if it has anything to say.
fn say(two: &mut Two, nas: Option<Vec<u8>>) {
    let at = at(&two.world, 0);
    let said = nas.and_then(|nas| two.world.gnb.uplink(at, nas));
    if let Some(octets) = said {
        two.world.tell_amf(&octets);
    }
}

/// The subscriber is none any more.
fn is_removed(two: &mut Two) {
    let mut repository = two.world.core.repository();
    repository.changed(two.world.now, &supi(1), Withdrawn);
}

fn comes(two: &mut Two, input: Input) {
    let (now, here, there) = (two.world.now, two.world.at, two.at);
    match input {
        Input::Registration => {
            let nas = two.world.ue_mut(0).register(RegistrationKind::Initial);
            say(two, Some(nas));
        }
        Input::StrangeRegistration => {
            two.world.ue_mut(0).forget_keys();
            let nas = two.world.ue_mut(0).register(RegistrationKind::Initial);
            say(two, Some(nas));
        }
        Input::OtherConnection => {
            let nas = two.world.ue_mut(0).register(RegistrationKind::Initial);
            two.world.connect(0, nas);
        }
        Input::Service => {
            let nas = two.world.ue_mut(0).request_service();
            say(two, nas);
        }
        Input::Deregistration | Input::SwitchedOff => {
            let is_off = input == Input::SwitchedOff;
            let nas = two.world.ue_mut(0).deregister(is_off, true);
            say(two, nas);
        }
        Input::LateAnswer => {
            let nas = two.world.ue_mut(0).protect(&Uplink::RegistrationComplete);
            say(two, Some(nas));
        }
        Input::Session => {
            let nas = two.world.ue_mut(0).establish(7, &wanted(SessionType::Ipv4));
            say(two, Some(nas));
        }
        Input::HandoverRequired => two.ask_n2(false),
        Input::PathSwitch => {
            two.other.is_silent = false;
            upf(&mut two.world).all = None;
            two.by_xn();
        }
        Input::ReleaseRequest => {
            let asked = two.world.gnb.ask_release(at(&two.world, 0));
            two.world.tell_amf(&asked.unwrap());
        }
        Input::GnbLost => {
            two.lose(here);
            two.world.gnb.forget();
            two.world.ues[0].at = None;
            two.world.set_up();
        }
        Input::OtherGnbLost => {
            two.lose(there);
            two.other.forget();
            two.away = None;
            let setup = two.other.setup();
            two.tell_other(&setup);
        }
        Input::Reset => {
            let octets = two.world.gnb.reset();
            two.world.ues[0].at = None;
            two.world.tell_amf(&octets);
        }
        Input::Downlink => {
            let ue = address(&two.world, 0, 5);
            goes_down(&mut two.world, ue);
        }
        Input::SentAway => assert!(two.world.core.mobility().deregister(now, &supi(1), true)),
        Input::Removed => is_removed(two),
    }
    two.run();
}

/// All procedures come to their end.
fn rest(two: &mut Two, pair: &str) {
    let end = two.world.now.instant.plus_ms(400_000);
    loop {
        two.run();
        let smf = two.world.core.smf().unwrap();
        let is_over = two.world.amf().procedures().is_empty();
        if is_over && smf.procedures().is_empty() {
            return;
        }
        assert!(two.world.now.instant < end, "{pair}: under way for ever");
        assert!(two.world.wait_long());
    }
}

/// The UE registers anew, has a session, goes by N2 and by Xn, and leaves nothing behind.
fn ends_well(two: &mut Two, pair: &str) {
    two.world.ue_mut(0).behaviour = Behaviour::default();
    two.other.is_silent = false;
    upf(&mut two.world).all = None;
    rest(two, pair);
    two.world.ue_mut(0).follow_on = true;
    two.world.register(0);
    rest(two, pair);
    let call_flow = two.world.call_flow.to_string();
    assert_eq!(
        two.world.ue(0).state(),
        UeState::Registered,
        "{pair}: {call_flow}"
    );
    establish(&mut two.world, 0, 6, &wanted(SessionType::Ipv4));
    (two.goes, two.going) = (true, None);
    two.answers.clear();
    two.ask_n2(false);
    two.settle();
    two.by_xn();
    two.settle();
    let expected = [HandoverAnswer::Commanded, HandoverAnswer::Switched];
    assert_eq!(two.answers, expected, "{pair}: {}", two.world.call_flow);
    two.assert_flows(6);
    let nas = two.world.ue_mut(0).deregister(false, true);
    say(two, nas);
    rest(two, pair);
    pass(&mut two.world, 130);
    two.run();
    assert_vacant(two, pair);
}

fn assert_vacant(two: &mut Two, pair: &str) {
    let core = &two.world.core;
    let mut left = core.amf().expect("its own AMF").sizes();
    left.extend(core.smf().unwrap().sizes());
    left.extend(core.pcf().unwrap().sizes());
    left.extend(core.udr().expect("its own").sizes());
    left.push(("AUSF", core.authentications()));
    let stored = core.stored().filter(|key| key.starts_with(b"amf/ue/"));
    left.push(("store", stored.count()));
    left.push(("gNB", two.world.gnb.connections()));
    left.push(("other gNB", two.other.connections()));
    assert_eq!(
        core.amf().expect("its own AMF").counters().panics,
        0,
        "{pair}"
    );
    left.push(("UPF", upf(&mut two.world).upf.core.up.session_count()));
    left.retain(|(_, size)| *size != 0);
    assert!(left.is_empty(), "{pair}: {left:?}\n{}", two.world.call_flow);
}

#[test]
fn each_stage_of_a_handover_is_what_it_is_called() {
    for (step, stage) in STAGES {
        assert_eq!(stage().world.amf().procedures(), [step]);
    }
}

#[test]
fn each_stage_of_a_handover_meets_each_input_and_ends_well() {
    let pairs = each_meets_each(&STAGES, &INPUTS, comes, ends_well);
    assert_eq!(pairs, 85);
}

/// The target was told what the UE has, and the UE goes on with that.
#[test]
fn what_a_handover_required_and_a_path_switch_come_to_at_each_stage() {
    for (step, stage) in STAGES {
        let mut two = stage();
        two.answers.clear();
        comes(&mut two, Input::HandoverRequired);
        let expected = match step {
            "14" => HandoverAnswer::Commanded,
            _ => HandoverAnswer::Refused(Cause::INTERACTION),
        };
        assert_eq!(two.answers, [expected], "step {step}");
        let mut two = stage();
        two.answers.clear();
        comes(&mut two, Input::PathSwitch);
        two.settle();
        let last = two.answers.last();
        assert_eq!(last, Some(&HandoverAnswer::Switched), "step {step}");
        assert_eq!(two.world.amf().connected(), 1, "step {step}");
        assert_ne!(two.world.ues[0].at, None::<RanUeId>, "step {step}");
        two.assert_flows(5);
    }
}
