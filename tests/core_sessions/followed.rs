//! Messages of a UE as octets, for whoever follows it (`sluice ctl trace IMSI`): NAS without its protection, NGAP, PFCP.

use sluice_n1::{RegistrationKind, SessionType};
use sluice_sbi::{Followed, ReferencePoint, TracedMessage};

use crate::harness::*;
use crate::world::{TestNetwork, supi};

/// Types of 5GMM messages, with their directions (TS 24.501, table 9.7.1).
fn nas(seen: &[TracedMessage]) -> Vec<(bool, u8)> {
    let nas = seen.iter().filter(|one| one.at == ReferencePoint::N1);
    // Plain: security header type 0 (TS 24.501, 9.3).
    nas.map(|one| {
        assert_eq!(one.octets[..2], [0x7e, 0], "{one:?}");
        (one.is_received, one.octets[2])
    })
    .collect()
}

fn count(seen: &[TracedMessage], at: ReferencePoint, is_received: bool) -> usize {
    let its = seen.iter().filter(|one| one.at == at);
    its.filter(|one| one.is_received == is_received).count()
}

fn follow(world: &mut TestNetwork) {
    world.core.follow_ues(Followed::All);
}

#[test]
fn whoever_follows_a_ue_sees_its_nas_without_protection_its_ngap_and_its_pfcp() {
    let mut world = world(&[1, 2]);
    assert_eq!(world.core.take_traced_messages(), [], "nobody follows");
    follow(&mut world);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let seen = world.core.take_traced_messages();
    // UL NAS Transport, DL NAS Transport with their 5GSM messages (TS 24.501, 8.3.1 and 8.3.2).
    assert_eq!(nas(&seen), [(true, 0x67), (false, 0x68)]);
    let n1 = |index: usize| {
        let mut n1 = seen.iter().filter(|one| one.at == ReferencePoint::N1);
        n1.nth(index).unwrap()
    };
    assert_eq!(n1(0).octets[6..10], [0x2e, 5, 1, 0xc1]);
    assert_eq!(n1(1).octets[6..10], [0x2e, 5, 1, 0xc2]);
    // PDU Session Resource Setup and its response, and the uplink message before.
    assert_eq!(count(&seen, ReferencePoint::N2, true), 2);
    assert_eq!(count(&seen, ReferencePoint::N2, false), 1);
    // Session establishment, and the modification with the gNB's end.
    assert_eq!(count(&seen, ReferencePoint::N4, false), 2);
    assert_eq!(count(&seen, ReferencePoint::N4, true), 2);
    assert!(seen.iter().all(|one| one.supi == Some(supi(1))), "{seen:?}");
    // What led to a message comes before it.
    let uplink = seen.iter().position(|one| one.at == ReferencePoint::N2);
    assert_eq!(uplink, Some(0));
}

#[test]
fn a_ue_that_comes_back_by_its_name_is_seen_with_its_whole_message() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    follow(&mut world);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    let request = world.ue_mut(0).request_service().unwrap();
    world.connect(0, request);
    let seen = world.core.take_traced_messages();
    assert_eq!(nas(&seen), [(true, 0x4c), (false, 0x4e)]);
    assert!(seen.iter().all(|one| one.supi == Some(supi(1))), "{seen:?}");
    // The whole of the Service Request came ciphered in a container: uplink data status (0x40) is read.
    let whole = seen.iter().find(|one| one.at == ReferencePoint::N1);
    let whole = &whole.unwrap().octets;
    assert!(
        whole.windows(3).any(|ie| ie == [0x40, 2, 1 << 5]),
        "{whole:x?}"
    );
}

#[test]
fn a_stranger_is_seen_before_and_after_it_is_known() {
    let mut world = world(&[1]);
    let nas_of_deregistration = world.ue_mut(0).deregister(true, true).unwrap();
    world.say(0, nas_of_deregistration);
    world.ue_mut(0).forget_keys();
    follow(&mut world);
    let request = world.ue_mut(0).register(RegistrationKind::Initial);
    world.connect(0, request);
    let seen = world.core.take_traced_messages();
    let types: Vec<u8> = nas(&seen).into_iter().map(|(_, kind)| kind).collect();
    for kind in [0x41, 0x56, 0x57, 0x5d, 0x5e, 0x42, 0x43] {
        assert!(types.contains(&kind), "{kind:#x} in {types:x?}");
    }
    // All are joined by the AMF's number, those in the beginning by that alone.
    let numbers: std::collections::BTreeSet<_> = seen.iter().map(|one| one.ue).collect();
    assert!(
        numbers.len() == 1 && !numbers.contains(&None),
        "{numbers:?}"
    );
    assert!(seen.iter().any(|one| one.supi.is_none()));
    assert!(seen.iter().any(|one| one.supi == Some(supi(1))));
    world.core.follow_ues(Followed::Nobody);
    let nas = world.ue_mut(0).deregister(true, true).unwrap();
    world.say(0, nas);
    assert_eq!(world.core.take_traced_messages(), []);
}

#[test]
fn of_one_who_is_followed_nothing_of_others_is_copied() {
    let mut world = world(&[1, 2]);
    world.core.follow_ues(Followed::One(supi(1)));
    establish(&mut world, 1, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 1);
    assert_eq!(world.core.take_traced_messages(), []);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    go_idle(&mut world, 0);
    let seen = world.core.take_traced_messages();
    assert!(seen.iter().all(|one| one.supi == Some(supi(1))), "{seen:?}");
    // Establishment, the gNB's end, and that packets wait.
    assert_eq!(count(&seen, ReferencePoint::N4, false), 3);
    assert_eq!(count(&seen, ReferencePoint::N4, true), 3);
    assert!(count(&seen, ReferencePoint::N2, true) >= 3);
    assert_eq!(nas(&seen), [(true, 0x67), (false, 0x68)]);
}
