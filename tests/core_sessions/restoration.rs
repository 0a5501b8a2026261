//! UPFs that are gone or restarted (TS 23.527, 4.3; TS 23.502, 4.3.4.2).

use sluice_n1::{SessionCause, SessionType};
use sluice_smf::Smf;

use crate::harness::*;
use crate::world::{self, TestNetwork, Upf, supi};

fn smf(world: &TestNetwork) -> &Smf {
    world.core.smf().unwrap()
}

/// Until the SMF has noticed, by its heartbeats.
fn wait_until(world: &mut TestNetwork, is_so: impl Fn(&TestNetwork) -> bool) {
    for _ in 0..100 {
        if is_so(world) {
            return;
        }
        assert!(world.wait());
    }
    panic!("it does not come to pass: {}", world.call_flow);
}

#[test]
fn a_restarted_upf_gets_its_sessions_again_with_the_tunnels_and_addresses_that_they_had() {
    let mut world = world(&[1, 2, 3]);
    for (phone, kind) in [SessionType::Ipv4, SessionType::Ipv4v6, SessionType::Ipv4]
        .into_iter()
        .enumerate()
    {
        establish(&mut world, phone, 5, &wanted(kind));
        assert!(goes_up(&mut world, phone, 5));
    }
    let before: Vec<_> = (0..2).map(|phone| radio(&world, phone, 5)).collect();
    let addresses: Vec<_> = (0..3).map(|phone| address(&world, phone, 5)).collect();
    go_idle(&mut world, 2);
    upf(&mut world).restart();
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 0);
    world.call_flow.0.clear();
    wait_until(&mut world, |world| smf(world).counters().restored == 3);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 3);
    // Nobody but the UPF has noticed.
    let call_flow = world.call_flow.to_string();
    assert!(!call_flow.contains("gNB"), "{call_flow}");
    for phone in 0..2 {
        assert_eq!(radio(&world, phone, 5), before[phone]);
        assert!(goes_up(&mut world, phone, 5), "by the old tunnel");
        let tunnel = before[phone].as_ref().unwrap().downlink.teid;
        assert_eq!(goes_down(&mut world, addresses[phone]), Some(tunnel));
    }
    // The idle one is paged as ever.
    goes_down(&mut world, addresses[2]);
    assert_eq!(world.pages.len(), 1);
    assert!(goes_up(&mut world, 2, 5));
    // All can be released.
    for phone in 0..3 {
        let nas = world.ue_mut(phone).release(5);
        world.say(phone, nas);
    }
    assert_no_session(&mut world);
}

#[test]
fn sessions_of_a_upf_that_is_gone_are_released_and_asked_for_anew() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let gone = world.upf.take();
    wait_until(&mut world, |world| smf(world).sessions() == 0);
    let received = world.ue(0).sessions().received();
    let expected = format!(
        "PDU Session Release Command {}",
        SessionCause::REACTIVATION_REQUESTED
    );
    assert!(received.contains(&expected), "{received:?}");
    assert_eq!(world.ue(0).sessions().status(), 0);
    assert_eq!(radio(&world, 0, 5), None);
    // It is back, and has the session still, until the SMF has noticed.
    world.upf = gone;
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    for _ in 0..100 {
        if upf(&mut world).upf.core.up.session_count() == 0 {
            break;
        }
        assert!(world.wait());
    }
    assert_no_session(&mut world);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5));
}

/// The UPF has lost one session, by whatever fault: it says so when it is asked to change it.
#[test]
fn a_session_that_the_upf_does_not_know_is_given_to_it_again() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 5);
    let known = world.core.smf().unwrap().sessions_of(&supi(1));
    let (seid, _) = known[0].at_upf.unwrap();
    let deletion = [
        &[0x21, DELETION, 0, 12][..],
        &seid.to_be_bytes(),
        &[0xff, 0xff, 0, 0],
    ];
    upf(&mut world).take(&deletion.concat());
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 0);
    go_idle(&mut world, 0);
    assert_eq!(world.core.smf().unwrap().counters().restored, 1);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    goes_down(&mut world, ue);
    let tunnel = radio(&world, 0, 5).map(|radio| radio.downlink.teid);
    assert!(tunnel.is_some(), "{}", world.call_flow);
    settle_upf(&mut world);
    assert_eq!(goes_down(&mut world, ue), tunnel);
    assert!(goes_up(&mut world, 0, 5));
}

#[test]
fn a_session_that_cannot_be_restored_is_counted_as_such() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    upf(&mut world).restart();
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Refused));
    wait_until(&mut world, |world| smf(world).sessions() == 0);
    let of = ("SMF", "restoration");
    let cause = "the UPF refused it, or did not answer";
    assert_ended(&world, of, cause, 1);
    assert_ended(&world, of, "success", 0);
    upf(&mut world).all = None;
    assert_no_session(&mut world);
}

/// SIGTERM: the UPF asks for the release of the association, and reports the last usage (EPFAR).
#[test]
fn a_upf_that_stops_in_order_gets_its_sessions_again_and_each_octet_is_charged_once() {
    let mut world = world(&[1, 2]);
    for phone in 0..2 {
        establish(&mut world, phone, 5, &wanted(SessionType::Ipv4));
    }
    let before = radio(&world, 0, 5);
    assert!(goes_up(&mut world, 0, 5));
    world.call_flow.0.clear();
    for octets in upf(&mut world).stop() {
        world.core.n4(world.now, world::N4, &octets);
    }
    world.run();
    wait_until(&mut world, |world| !smf(world).upfs()[0].is_associated);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 0);
    assert_eq!(smf(&world).sessions(), 2);
    let used = |world: &TestNetwork| smf(world).sessions_of(&supi(1))[0].usage.uplink_octets;
    let once = used(&world);
    assert!(once > 0, "what no threshold had reported");
    upf(&mut world).restart();
    wait_until(&mut world, |world| smf(world).counters().restored == 2);
    let call_flow = world.call_flow.to_string();
    assert!(!call_flow.contains("gNB"), "{call_flow}");
    assert_eq!(radio(&world, 0, 5), before);
    assert!(goes_up(&mut world, 0, 5), "by the old tunnel");
    world.core.sessions().take_records();
    for phone in 0..2 {
        let nas = world.ue_mut(phone).release(5);
        world.say(phone, nas);
    }
    assert_no_session(&mut world);
    let records = world.core.sessions().take_records();
    let its = records
        .iter()
        .find(|one| one.supi == supi(1) && one.is_last);
    assert_eq!(its.map(|one| one.usage.uplink_octets), Some(2 * once));
}

#[test]
fn sessions_of_a_upf_that_stopped_and_stays_away_are_released() {
    let mut world = world(&[1]);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    for octets in upf(&mut world).stop() {
        world.core.n4(world.now, world::N4, &octets);
    }
    world.run();
    wait_until(&mut world, |world| !smf(world).upfs()[0].is_associated);
    world.upf = None;
    assert_eq!(smf(&world).sessions(), 1);
    wait_until(&mut world, |world| smf(world).sessions() == 0);
    let received = world.ue(0).sessions().received();
    let expected = format!(
        "PDU Session Release Command {}",
        SessionCause::REACTIVATION_REQUESTED
    );
    assert!(received.contains(&expected), "{received:?}");
}
