//! 5GSM STATUS of UEs (TS 24.501, 6.5.3; magma/magma#6826): one about the accept of a session ends it at SMF, UPF and gNB,
//! one about a command ends that, any other changes nothing.

use sluice_n2::FromRan;

use crate::flows::voice;
use crate::harness::*;
use crate::modification::{flows, plain, start};
use crate::request_types::say;
use crate::world::TestNetwork;

/// Transaction of the UE's first request.
const FIRST: u8 = 1;

fn with_session() -> TestNetwork {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(sluice_n1::SessionType::Ipv4));
    assert!(radio(&world, 0, 5).is_some());
    world
}

fn status(world: &mut TestNetwork, procedure: u8, cause: u8) {
    say(world, 5, None, &[0x2e, 5, procedure, 0xd6, cause]);
}

#[test]
fn a_status_about_the_accept_ends_the_session_and_the_gnb_gives_it_up() {
    // PTI mismatch, invalid PTI, no such message; and a session that the UE does not know, in any transaction.
    for (procedure, cause) in [(FIRST, 47), (FIRST, 81), (FIRST, 97), (0, 43)] {
        let mut world = with_session();
        world.call_flow.0.clear();
        status(&mut world, procedure, cause);
        assert_no_session(&mut world);
        assert!(
            radio(&world, 0, 5).is_none(),
            "{cause}: {}",
            world.call_flow
        );
        let call_flow = world.call_flow.to_string();
        assert!(
            call_flow.contains("PDU Session Resource Release Command"),
            "{call_flow}"
        );
        // The UE is told nothing of what it does not have, and may have it anew.
        assert!(
            !call_flow.contains("PDU Session Release Command"),
            "{call_flow}"
        );
        world.ue_mut(0).sessions_mut().forget(5);
        establish(&mut world, 0, 5, &wanted(sluice_n1::SessionType::Ipv4));
        assert!(goes_up(&mut world, 0, 5));
    }
}

#[test]
fn a_status_that_comes_before_the_gnb_has_answered_ends_the_session_there_too() {
    let mut world = world(&[1]);
    world.lose_n2 = |octets| {
        matches!(
            FromRan::decode(octets),
            Ok(FromRan::PduSessionSetupResponse(_))
        )
    };
    establish(&mut world, 0, 5, &wanted(sluice_n1::SessionType::Ipv4));
    status(&mut world, FIRST, 47);
    assert_no_session(&mut world);
    assert!(radio(&world, 0, 5).is_none(), "{}", world.call_flow);
}

#[test]
fn a_status_about_something_else_changes_nothing() {
    let mut world = with_session();
    // Another transaction, none, and causes that the TS has no action for.
    for (procedure, cause) in [(77, 47), (0, 47), (0, 81), (FIRST, 96), (FIRST, 111)] {
        world.call_flow.0.clear();
        status(&mut world, procedure, cause);
        assert!(goes_up(&mut world, 0, 5), "{cause}: {}", world.call_flow);
        assert!(radio(&world, 0, 5).is_some());
    }
    // The transaction of the accept is that of a modification since.
    say(&mut world, 5, None, &[0x2e, 5, FIRST, 0xc9, 0x28, 1, 0]);
    status(&mut world, FIRST, 47);
    assert!(goes_up(&mut world, 0, 5), "{}", world.call_flow);
}

#[test]
fn a_status_about_a_command_ends_that_and_the_session_stays() {
    for cause in [47, 81, 96, 97, 111] {
        let mut world = plain();
        let before = flows(&world);
        world.ue_mut(0).sessions_mut().no_complete = true;
        let begin = world.now.instant;
        start(&mut world, voice(64_000)).unwrap();
        status(&mut world, 0, cause);
        assert_eq!(world.now.instant, begin, "T3591 is not waited for");
        assert!(
            world.core.smf().unwrap().procedures().is_empty(),
            "{}",
            world.call_flow
        );
        let (_, at_gnb, at_upf) = flows(&world);
        assert_eq!(
            (at_gnb, at_upf),
            (before.1, before.2),
            "{}",
            world.call_flow
        );
        assert!(goes_up(&mut world, 0, 5));
    }
}

/// A UE that does not take a Release Command has the session no more (6.3.3): T3592 is not waited for.
#[test]
fn a_status_about_a_release_command_ends_the_release() {
    for cause in [43, 47, 81, 96, 97] {
        let mut world = with_session();
        world.ue_mut(0).sessions_mut().no_complete = true;
        let now = world.now;
        assert!(
            world
                .core
                .sessions()
                .release(now, &crate::world::supi(1), 5)
        );
        world.run();
        assert_eq!(world.core.smf().unwrap().procedures(), ["10"]);
        status(&mut world, 0, cause);
        assert_no_session(&mut world);
        assert_eq!(world.now.instant, now.instant, "T3592 is not waited for");
    }
}

#[test]
fn a_status_about_the_accept_ends_a_modification_that_waits() {
    let mut world = plain();
    world.ue_mut(0).sessions_mut().no_complete = true;
    start(&mut world, voice(64_000)).unwrap();
    status(&mut world, FIRST, 81);
    // The other UE's stays.
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    assert!(radio(&world, 0, 5).is_none(), "{}", world.call_flow);
}
