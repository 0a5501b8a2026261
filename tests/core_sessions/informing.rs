//! Modification Requests that ask for no QoS (TS 24.501, 6.4.2.1 and 6.4.2.2; ellanetworks/core#1693): what only tells the
//! SMF something is accepted, with what else was asked; and sessions that are wanted always on (6.4.1.3).

use sluice_n1::{ModificationRequest, RequestType, SessionCause, SessionType, options};
use sluice_ue::WantedSession;

use crate::harness::*;
use crate::modification::{allowing, asks, flows, modify, own_flow, own_rule, with};
use crate::request_types::say;
use crate::world::TestNetwork;

const COMMAND: &str = "PDU Session Modification Command";

fn last(world: &TestNetwork) -> Option<&str> {
    let received = world.ue(0).sessions().received();
    received.last().map(String::as_str)
}

#[test]
fn what_only_informs_the_smf_is_accepted() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let servers = settings().servers_ipv4;
    for (ies, always_on, asks_for_servers) in [
        // 5GSM capability, most packet filters, integrity protection maximum data rate, #83.
        (&[0x28, 1, 0][..], None, false),
        (&[0x55, 0, 0x11], None, false),
        (&[0x13, 0xff, 0xff], None, false),
        (&[0x59, 0x53], None, false),
        // PS data off in the PCO, which nothing answers.
        (&[0x7b, 0, 5, 0x80, 0, 0x17, 1, 2], None, false),
        // Name servers.
        (&[0x7b, 0, 4, 0x80, 0, 0x0d, 0], None, true),
        // An always-on session is requested.
        (&[0xb1], Some(false), false),
        (&[0xb1, 0x7b, 0, 4, 0x80, 0, 0x0d, 0], Some(false), true),
    ] {
        let before = world.ue(0).sessions().received().len();
        world.call_flow.0.clear();
        let request = [&[0x2e, 5, 9, 0xc9][..], ies].concat();
        say(&mut world, 5, None, &request);
        assert_eq!(
            last(&world),
            Some(COMMAND),
            "{ies:02x?}: {}",
            world.call_flow
        );
        assert_eq!(world.ue(0).sessions().received().len(), before + 1);
        let accept = world.ue(0).sessions().get(5).unwrap();
        if always_on.is_some() {
            assert_eq!(accept.always_on, always_on, "{ies:02x?}");
        }
        if asks_for_servers {
            let told = options::read(accept.options.as_ref().unwrap());
            assert_eq!((&told.servers_ipv4, told.mtu_octets), (&servers, None));
        }
        // The UE's complete, of the same transaction, was understood: nothing waits for T3591.
        assert!(world.core.smf().unwrap().procedures().is_empty());
        let call_flow = world.call_flow.to_string();
        assert!(
            !call_flow.contains("N4") && !call_flow.contains("Modify Request"),
            "{call_flow}"
        );
        assert!(goes_up(&mut world, 0, 5));
    }
}

#[test]
fn a_command_that_informs_alone_is_sent_five_times() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.ue_mut(0).sessions_mut().no_complete = true;
    say(&mut world, 5, None, &[0x2e, 5, 9, 0xc9, 0x28, 1, 0]);
    pass(&mut world, 100);
    let received = world.ue(0).sessions().received().iter();
    assert_eq!(received.filter(|one| *one == COMMAND).count(), 5);
    assert!(world.core.smf().unwrap().procedures().is_empty());
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn what_is_asked_beside_a_flow_is_answered_with_it() {
    let mut world = with(vec![allowing()]);
    let request = ModificationRequest {
        always_on: true,
        options: Some(vec![0x80, 0, 0x0d, 0]),
        ..asks(own_rule(7_000), own_flow(64_000))
    };
    modify(&mut world, request);
    assert_eq!(flows(&world), (2, 2, 2), "{}", world.call_flow);
    let accept = world.ue(0).sessions().get(5).unwrap();
    assert_eq!(accept.always_on, Some(false));
    let told = options::read(accept.options.as_ref().unwrap());
    assert_eq!(told.servers_ipv4, settings().servers_ipv4);
}

#[test]
fn what_is_not_offered_is_rejected_though_it_is_no_flow() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    for ies in [
        // Authorization of the service level, and header compression.
        &[0x72, 0, 3, 0x10, 1, 0x41][..],
        &[0x66, 3, 1, 0, 1],
    ] {
        let request = [&[0x2e, 5, 9, 0xc9][..], ies].concat();
        say(&mut world, 5, None, &request);
        assert_refused(&world, None, Some(SessionCause::NOT_SUPPORTED));
    }
}

/// Requested MBS container (9.11.4.30): multicast is not offered, and the session is one without it.
#[test]
fn a_session_that_asks_for_multicast_is_established_without_it() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    world.call_flow.0.clear();
    // To join a session by its TMGI.
    let join = [0x70, 0, 7, 9, 0, 0, 1, 0, 0xf1, 0x10];
    let request = [&[0x2e, 6, 9, 0xc1, 0xff, 0xff, 0x91][..], &join].concat();
    say(&mut world, 6, Some(RequestType::Initial), &request);
    let call_flow = world.call_flow.to_string();
    assert!(
        call_flow.contains("PDU Session Establishment Accept"),
        "{call_flow}"
    );
    assert!(radio(&world, 0, 6).is_some(), "{call_flow}");
    assert_eq!(world.core.smf().unwrap().sessions(), 2);
    // Nothing in the accept is about it (Received MBS container, IEI 71).
    let accept = world.ue(0).sessions().get(6);
    assert!(accept.is_some(), "{call_flow}");
    assert!(goes_up(&mut world, 0, 6), "{call_flow}");
}

/// Osmocom C5G TC_pdu_sess_est_always_on.
#[test]
fn a_session_that_is_wanted_always_on_is_told_that_it_is_not() {
    let mut world = world(&[1]);
    for (session, always_on) in [(5, true), (6, false)] {
        let wanted = WantedSession {
            always_on,
            ..wanted(SessionType::Ipv4)
        };
        establish(&mut world, 0, session, &wanted);
        let accept = world.ue(0).sessions().get(session).unwrap();
        assert_eq!(accept.always_on, always_on.then_some(false));
    }
}
