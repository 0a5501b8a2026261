//! Key set identifiers and MACs that do not agree: a MAC that is right counts, whatever ngKSI a UE tells (TS 24.501,
//! 4.4.4.3), and a challenge has none that the UE has (5.4.1.3.2).

use sluice_ids::{Guti, Tmsi};
use sluice_n1::{Downlink, RegistrationKind};
use sluice_n2::{DownlinkNasTransport, FromAmf};

use crate::world::{TestNetwork, config};

/// A registered phone that is idle.
fn registered() -> TestNetwork {
    let mut world = TestNetwork::new(&[1]);
    world.register(0);
    world.assert_registered(0);
    world.call_flow.0.clear();
    world
}

/// ngKSI of the challenges so far.
fn challenges(world: &TestNetwork) -> Vec<u8> {
    let ngksi = |octets: &Vec<u8>| {
        let Ok(FromAmf::DownlinkNasTransport(DownlinkNasTransport { nas, .. })) =
            FromAmf::decode(octets)
        else {
            return None;
        };
        match Downlink::decode(&nas) {
            Ok(Downlink::AuthenticationRequest(request)) => Some(request.ngksi),
            _ => None,
        }
    };
    world.transcript.iter().filter_map(ngksi).collect()
}

/// As UERANSIM v3.3.0 registers periodically: ngKSI 7, and a MAC that is right by the keys of its 5G-GUTI.
#[test]
fn a_phone_that_names_no_key_is_known_by_its_mac() {
    for kind in [RegistrationKind::Periodic, RegistrationKind::Mobility] {
        let mut world = registered();
        world.ue_mut(0).behaviour.names_no_key = true;
        let nas = world.ue_mut(0).register(kind);
        world.connect(0, nas);
        world.assert_registered(0);
        let call_flow = world.call_flow.to_string();
        assert!(call_flow.contains("Registration Accept"), "{call_flow}");
        assert!(
            !call_flow.contains("Authentication"),
            "{kind:?}: {call_flow}"
        );
        assert_eq!(world.amf().counters().wrong_macs, 0);
        // The keys are those of before, and go on.
        let nas = world.ue_mut(0).request_service().expect("a name");
        world.connect(0, nas);
        assert_eq!(world.ue(0).services(), 1, "{}", world.call_flow);
        assert_eq!(world.core.take_refused(), []);
    }
}

#[test]
fn a_challenge_has_no_name_of_keys_that_are_held_or_told() {
    // The phone tells none, and the AMF has 0 for it; or it tells 0.
    for names_no_key in [true, false] {
        let mut world = registered();
        assert_eq!(challenges(&world), [0]);
        world.ue_mut(0).behaviour.names_no_key = names_no_key;
        world.ue_mut(0).behaviour.wrong_mac = true;
        let nas = world.ue_mut(0).register(RegistrationKind::Periodic);
        world.connect(0, nas);
        world.assert_registered(0);
        assert_eq!(challenges(&world), [0, 1], "{}", world.call_flow);
    }
    // It shows its SUCI: its keys are known all the same.
    let mut world = registered();
    world.ues[0].ue = crate::world::ue(1);
    world.register(0);
    world.assert_registered(0);
    assert_eq!(challenges(&world), [0, 1], "{}", world.call_flow);
}

/// TS 24.501, 5.4.1.3.7 with #71: the phone protects what need not be, by keys that the AMF has under its 5G-GUTI.
#[test]
fn an_answer_under_the_keys_of_a_name_is_understood() {
    for ngksi_in_use in [true, false] {
        let mut world = registered();
        let behaviour = &mut world.ue_mut(0).behaviour;
        (behaviour.wrong_mac, behaviour.protects_answers) = (true, true);
        behaviour.ngksi_in_use = ngksi_in_use;
        let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
        world.connect(0, nas);
        world.assert_registered(0);
        let told: &[u8] = if ngksi_in_use { &[0, 1, 2] } else { &[0, 1] };
        assert_eq!(challenges(&world), told, "{}", world.call_flow);
        assert_eq!(world.call_flow.to_string().contains("#71"), ngksi_in_use);
        assert_eq!(world.amf().counters().wrong_macs, 1);
        assert_eq!(world.amf().registered(), 1);
    }
}

#[test]
fn an_answer_under_unknown_keys_stands_in_the_refusals() {
    let mut world = registered();
    let stranger = Guti {
        guami: config().guami,
        tmsi: Tmsi([1, 2, 3, 4]),
    };
    world.ue_mut(0).call_itself(stranger);
    world.ue_mut(0).behaviour.protects_answers = true;
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.settle();
    let refused = world.core.take_refused();
    let lines: Vec<String> = refused.iter().map(ToString::to_string).collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].contains("keys that are not known here"),
        "{lines:?}"
    );
    assert!(lines[1].contains("the UE does not answer"), "{lines:?}");
    assert!(refused.iter().all(|one| one.request == "Registration"));
}
