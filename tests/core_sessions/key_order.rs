//! Keys of a UE that goes to another gNB before the one where it was is known to have its new ones (TS 33.501, 6.9.2.3.2,
//! 6.9.2.3.3 and 6.9.5.1): the target is told the first key of the new security context, as one of those (NSCI).

use sluice_n1::{RegistrationKind, SessionType};
use sluice_n2::{Cause, FromAmf, HandoverFromAmf};
use sluice_ue::HandoverAnswer;

use crate::contexts::{Memory, core, kill};
use crate::harness::*;
use crate::two_gnbs::Two;
use crate::world::{BEGIN_S, TestNetwork};

/// The UE registers without keys where it is connected, and has a session. The gNB has not taken its new key, or its
/// answer is lost.
fn renewing(two: &mut Two, is_taken: bool) {
    match is_taken {
        // The successful outcome of UE Context Modification (TS 38.413, 9.4.7).
        true => two.world.lose_n2 = |octets| octets.starts_with(&[0x20, 40]),
        false => two.world.gnb.refuses_changes = Some(Cause::XN_HANDOVER_TRIGGERED),
    }
    two.world.ue_mut(0).forget_keys();
    let nas = two.world.ue_mut(0).register(RegistrationKind::Initial);
    two.world.say(0, nas);
    two.world.assert_registered(0);
    assert_eq!(two.world.amf().procedures(), ["22"]);
    establish(&mut two.world, 0, 5, &wanted(SessionType::Ipv4));
    two.world.gnb.refuses_changes = None;
    two.world.lose_n2 = |_| false;
    two.world.call_flow.0.clear();
}

/// The gNB where the UE is has the key that the UE derives.
#[track_caller]
fn assert_same_key(world: &TestNetwork) {
    let context = world.gnb.context(at(world, 0)).unwrap();
    assert_eq!(Some(&context.key), world.ue(0).kgnb().as_ref());
}

/// Which handovers were of a new security context, in order.
fn of_new_contexts(world: &TestNetwork) -> Vec<bool> {
    let read = world.transcript.iter().filter_map(|octets| {
        let Ok(FromAmf::Handover(message)) = FromAmf::decode(octets) else {
            return None;
        };
        match message {
            HandoverFromAmf::PathSwitchRequestAcknowledge(answer) => Some(answer.is_new_context),
            HandoverFromAmf::Request(request) => Some(request.is_new_context),
            _ => None,
        }
    });
    read.collect()
}

#[test]
fn a_path_switch_before_the_answer_to_a_new_key_tells_the_target_the_new_key() {
    for is_taken in [false, true] {
        let mut two = Two::new(&[]);
        renewing(&mut two, is_taken);
        two.by_xn();
        assert_eq!(two.answers, [HandoverAnswer::Switched]);
        assert_same_key(&two.world);
        // Nothing waits for the gNB before, and the target is not told the key a second time.
        assert!(two.world.amf().procedures().is_empty());
        let call_flow = two.world.call_flow.to_string();
        assert!(
            !call_flow.contains("UE Context Modification"),
            "{call_flow}"
        );
        two.assert_flows(5);
        // The next one goes on with the chain of the new key.
        two.by_xn();
        let next_hop = two.world.gnb.next_hop(at(&two.world, 0)).cloned();
        assert_eq!(next_hop, two.world.ue(0).next_hop(1));
        assert_eq!(of_new_contexts(&two.world), [true, false]);
        two.settle();
        two.assert_flows(5);
    }
}

/// The answer of the gNB that the UE has left is still on its way, by the other association.
#[test]
fn a_path_switch_before_the_answer_to_a_context_setup_is_served() {
    let mut two = Two::new(&[5]);
    go_idle(&mut two.world, 0);
    // The successful outcome of Initial Context Setup.
    two.world.lose_n2 = |octets| octets.starts_with(&[0x20, 14]);
    two.world.ue_mut(0).sessions_mut().set_data(0b10_0000);
    come_back(&mut two.world, 0);
    two.world.lose_n2 = |_| false;
    assert_eq!(two.world.amf().procedures(), ["14"]);
    two.by_xn();
    assert_eq!(two.answers, [HandoverAnswer::Switched]);
    assert!(two.world.amf().procedures().is_empty());
    let next_hop = two.world.gnb.next_hop(at(&two.world, 0)).cloned();
    assert_eq!(next_hop, two.world.ue(0).next_hop(1));
    assert_eq!(of_new_contexts(&two.world), [false]);
    two.settle();
    two.assert_flows(5);
}

/// Nobody knows any more how the gNB would have answered.
#[test]
fn a_new_key_that_was_not_answered_before_the_core_was_killed_is_told_by_the_next_handover() {
    for is_by_n2 in [false, true] {
        let memory = Memory::default();
        let now = sluice_sbi::Now {
            unix_s: BEGIN_S,
            ..sluice_sbi::Now::default()
        };
        let mut two = Two::of(begin(core(&memory, now, &[]), &[1]), &[]);
        renewing(&mut two, false);
        two.world.gnb.retains_ues = true;
        kill(&mut two.world, &memory, &[]);
        two.world.gnb.forget();
        two.world.set_up();
        two.tell_other(&two.other.setup());
        two.run();
        match is_by_n2 {
            true => two.ask_n2(false),
            false => two.by_xn(),
        }
        two.settle();
        assert_eq!(
            of_new_contexts(&two.world),
            [true],
            "{}",
            two.world.call_flow
        );
        assert_same_key(&two.world);
        two.assert_flows(5);
        two.by_xn();
        let next_hop = two.world.gnb.next_hop(at(&two.world, 0)).cloned();
        assert_eq!(next_hop, two.world.ue(0).next_hop(1));
    }
}
