//! Responses of gNBs that cannot be used: what they were to end ends at once (TS 38.413, 10.3.5 and 10.6), and UEs that
//! leave before they have proved who they are.

use sluice_n2::RanUeId;

use crate::ngap_faults::assert_in_words;
use crate::world::{GNB, TestNetwork};

/// An IE that names a UE, as the response of a gNB has it (criticality "ignore").
fn name(ie: u8, value: u32) -> Vec<u8> {
    vec![0, ie, 0x40, 2, 0, value as u8]
}

const AMF: u8 = 10;
const RAN: u8 = 85;

/// The outcome of a procedure of the AMF with these IEs.
fn outcome(code: u8, ies: &[Vec<u8>]) -> Vec<u8> {
    let all = ies.concat();
    let head = [0x20, code, 0, all.len() as u8 + 3, 0, 0, ies.len() as u8];
    [&head[..], &all].concat()
}

/// One UE, connected, and its names.
fn connected() -> (TestNetwork, u32, RanUeId) {
    let mut world = TestNetwork::new(&[1]);
    world.ue_mut(0).follow_on = true;
    world.register(0);
    world.core.take_refused();
    let at = world.ues[0].at.expect("connected");
    let amf = world.gnb.amf_id(at).expect("known").0 as u32;
    (world, amf, at)
}

/// UERANSIM's (without AMF UE NGAP ID) is one of them.
#[test]
fn a_release_complete_that_names_its_ue_by_one_name_ends_the_release() {
    for known in ["both", "RAN", "AMF", "AMF, and another RAN"] {
        let (mut world, amf, ran) = connected();
        let begin = world.now.instant;
        world.gnb.no_releases = true;
        let ask = world.gnb.ask_release(ran).expect("known");
        world.tell_amf(&ask);
        world.run();
        assert_eq!(world.amf().procedures(), ["release"]);
        // One that names somebody else ends nothing.
        world.tell_amf(&outcome(41, &[name(RAN, ran.0 + 5)]));
        world.run();
        assert_eq!(world.amf().procedures(), ["release"]);
        world.core.take_refused();
        let ies = match known {
            "both" => vec![name(AMF, amf), name(RAN, ran.0)],
            "RAN" => vec![name(RAN, ran.0)],
            "AMF" => vec![name(AMF, amf)],
            _ => vec![name(AMF, amf), name(RAN, ran.0 + 5)],
        };
        world.tell_amf(&outcome(41, &ies));
        world.run();
        assert!(world.amf().procedures().is_empty(), "{known}");
        let amf = world.amf();
        assert_eq!((amf.connected(), amf.registered()), (0, 1), "{known}");
        assert_eq!(world.now.instant, begin, "no timer");
        // What is at fault is told to operators, and not to the gNB.
        assert!(world.gnb.indications().is_empty(), "{known}");
        let refusals = world.core.take_refused();
        let is_readable = known == "both" || known.contains("and");
        assert_eq!(refusals.len(), usize::from(!is_readable), "{known}");
        for told in &refusals {
            assert_eq!(told.supi, world.ue(0).supi());
            assert!(told.why.contains("is missing"), "{told}");
            assert_in_words(told);
        }
    }
}

/// A complete that nobody has asked for, by half a name, releases no UE.
#[test]
fn a_release_complete_of_half_a_name_releases_no_ue_that_is_to_stay() {
    let (mut world, amf, ran) = connected();
    for ies in [vec![name(RAN, ran.0)], vec![name(AMF, amf)]] {
        world.tell_amf(&outcome(41, &ies));
        world.run();
        assert_eq!(world.amf().connected(), 1);
    }
}

/// Initial Context Setup Response with a name twice: as a failure, and not after the UE's timers.
#[test]
fn a_context_setup_whose_response_cannot_be_used_has_failed() {
    let mut world = TestNetwork::new(&[1]);
    let begin = world.now.instant;
    world.lose_n2 = |octets| octets.starts_with(&[0x20, 14]);
    world.ue_mut(0).behaviour.no_complete = true;
    world.register(0);
    assert_eq!(world.amf().procedures(), ["22"]);
    let ran = world.ues[0].at.expect("connected");
    let amf = world.gnb.amf_id(ran).expect("known").0 as u32;
    let twice = [name(AMF, amf), name(RAN, ran.0), name(RAN, ran.0)];
    world.tell_amf(&outcome(14, &twice));
    world.run();
    assert!(world.amf().procedures().is_empty());
    assert_eq!(world.amf().connected(), 0);
    assert_eq!(world.now.instant, begin, "no timer");
    let refusals = world.core.take_refused();
    let of_gnb = refusals
        .iter()
        .find(|one| one.request == "Initial Context Setup");
    assert!(of_gnb.is_some_and(|one| one.why.contains("stands twice")));
    refusals.iter().for_each(assert_in_words);
}

/// By its gNB's wish, with its gNB, and by another message of its gNB.
#[test]
fn a_phone_that_leaves_instead_of_answering_its_challenge_stands_in_the_refusals() {
    for how in ["a release", "a lost gNB", "a reset"] {
        let mut world = TestNetwork::new(&[1]);
        world.ue_mut(0).behaviour.silent = true;
        world.register(0);
        assert_eq!(world.amf().procedures(), ["9b"]);
        let at = world.ues[0].at.expect("connected");
        match how {
            "a release" => {
                let ask = world.gnb.ask_release(at).expect("known");
                world.tell_amf(&ask);
            }
            "a lost gNB" => world.core.association_lost(world.now, GNB),
            _ => {
                let reset = world.gnb.reset();
                world.tell_amf(&reset);
            }
        }
        world.run();
        let refusals = world.core.take_refused();
        let [told] = &refusals[..] else {
            panic!("{how}: {refusals:?}");
        };
        assert_eq!(told.request, "Registration");
        let expected = "the UE has left instead of answering its challenge";
        assert!(told.why.starts_with(expected), "{told}");
        let subscriber = world.ue(0).supi().expect("digits");
        let shown = subscriber.imsi().to_owned();
        assert!(told.who.contains(&shown[5..]), "{told}");
        assert_in_words(told);
    }
    // Who is registered may leave as it likes.
    let (mut world, _, at) = connected();
    let ask = world.gnb.ask_release(at).expect("known");
    world.tell_amf(&ask);
    world.run();
    assert!(world.core.take_refused().is_empty());
}
