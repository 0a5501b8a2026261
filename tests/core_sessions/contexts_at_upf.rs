//! The core is killed while it and its UPF do not know the same of a session: the core that follows comes to agree
//! with the UPF, and nothing is left there (TS 23.527, 4.2; TS 29.244, 6.2.6).

use sluice_n1::SessionType;

use crate::contexts::{Memory, assert_nobody_noticed, gnb_comes_back, kill, stored_world};
use crate::harness::*;
use crate::reconciliation::{arrive, hear};
use crate::world::{self, TestNetwork};

/// A UPF of which nothing is heard.
struct Unheard {
    upf: Box<dyn world::Upf>,
    /// It hears nothing, either.
    is_deaf: bool,
}

impl world::Upf for Unheard {
    fn take(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        if !self.is_deaf {
            self.upf.take(octets);
        }
        Vec::new()
    }

    fn as_any(&mut self) -> &mut dyn std::any::Any {
        self.upf.as_any()
    }
}

/// The path from the UPF to the SMF breaks, or both ways do.
fn cut_off_upf(world: &mut TestNetwork, is_deaf: bool) {
    let upf = world.upf.take().unwrap();
    world.upf = Some(Box::new(Unheard { upf, is_deaf }));
}

/// The UPF that was cut off is reached again.
fn reach_upf(world: &mut TestNetwork) {
    let mut cut_off = world.upf.take().unwrap();
    let upf = cut_off.as_any().downcast_mut().unwrap();
    world.upf = Some(Box::new(std::mem::replace(upf, RealUpf::new())));
}

/// The core is killed when the gNB has said where a session's packets go, and the UPF has not heard so.
#[test]
fn packets_go_to_the_gnb_of_which_the_upf_had_not_heard_when_the_core_was_killed() {
    let (mut world, memory) = stored_world(&[1], &[]);
    world.gnb.retains_ues = true;
    upf(&mut world).all = Some((MODIFICATION, Fate::Lost));
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 6);
    let tunnel = radio(&world, 0, 6).unwrap().downlink.teid;
    assert_eq!(goes_down(&mut world, ue), None);
    world.call_flow.0.clear();
    kill(&mut world, &memory, &[]);
    upf(&mut world).all = None;
    world.gnb.forget();
    world.set_up();
    pass(&mut world, 8);
    // What waited at the UPF went there, and so does the next one.
    assert_eq!(
        goes_down(&mut world, ue),
        Some(tunnel),
        "{}",
        world.call_flow
    );
    assert_nobody_noticed(&mut world, 2);
}

/// The core is killed when the UE has heard of a session, and its gNB's answer is under way.
#[test]
fn a_session_whose_gnb_had_not_answered_when_the_core_was_killed_gets_its_packets() {
    let (mut world, memory) = stored_world(&[1], &[]);
    // PDU Session Resource Setup Response (TS 38.413, 9.4.7)
    world.lose_n2 = |octets| octets.starts_with(&[0x20, 29]);
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    let ue = address(&world, 0, 6);
    world.lose_n2 = |_| false;
    // With another session it is stored that its establishment has ended.
    establish(&mut world, 0, 7, &wanted(SessionType::Ipv4));
    kill(&mut world, &memory, &[]);
    gnb_comes_back(&mut world);
    goes_down(&mut world, ue);
    settle_upf(&mut world);
    let tunnel = radio(&world, 0, 6).map(|radio| radio.downlink.teid);
    assert!(tunnel.is_some(), "{}", world.call_flow);
    assert_eq!(goes_down(&mut world, ue), tunnel);
}

/// The core is killed after its UPF has established a session, and before it hears that.
#[test]
fn a_session_that_was_asked_for_when_the_core_was_killed_is_deleted_at_the_upf() {
    let (mut world, memory) = stored_world(&[1], &[]);
    cut_off_upf(&mut world, false);
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 2);
    assert_eq!(world.core.smf().unwrap().sessions(), 2);
    reach_upf(&mut world);
    kill(&mut world, &memory, &[]);
    assert_eq!(
        world.core.smf().unwrap().sessions(),
        1,
        "{}",
        world.call_flow
    );
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    // The UE asks for it again, and is told of the other one that it has it still.
    gnb_comes_back(&mut world);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert!(goes_up(&mut world, 0, 5));
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 6), "{}", world.call_flow);
}

/// The UPF answers neither the core that was killed nor, for a while, the one after it.
#[test]
fn a_session_whose_upf_answers_only_long_after_the_core_was_killed_is_deleted() {
    for is_given_up in [false, true] {
        let (mut world, memory) = stored_world(&[1], &[]);
        upf(&mut world).all = Some((ESTABLISHMENT, Fate::Late));
        establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
        if is_given_up {
            // N4 gives it up, and asks again later.
            pass(&mut world, 9);
            assert_eq!(world.ue(0).sessions().refusals(), 1);
        }
        kill(&mut world, &memory, &[]);
        pass(&mut world, 8);
        assert_eq!(upf(&mut world).upf.core.up.session_count(), 2);
        upf(&mut world).all = None;
        pass(&mut world, 30);
        assert_eq!(
            world.core.smf().unwrap().sessions(),
            1,
            "{}",
            world.call_flow
        );
        assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
        let left = memory
            .keys()
            .into_iter()
            .filter(|key| key.starts_with("smf/"));
        assert_eq!(left.count(), 1);
    }
}

/// What the core has asked before it was killed reaches the UPF after the core that followed has cleaned up.
#[test]
fn a_session_that_was_asked_for_before_the_core_was_killed_and_comes_after_it_is_deleted() {
    let (mut world, memory) = stored_world(&[1], &[]);
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Held));
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    let held = std::mem::take(&mut upf(&mut world).held);
    upf(&mut world).all = None;
    kill(&mut world, &memory, &[]);
    assert_eq!(
        world.core.smf().unwrap().sessions(),
        1,
        "{}",
        world.call_flow
    );
    upf(&mut world).held = held;
    let answers = arrive(&mut world);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 2);
    hear(&mut world, &answers);
    assert_eq!(world.core.smf().unwrap().counters().late_establishments, 1);
    assert_eq!(
        upf(&mut world).upf.core.up.session_count(),
        1,
        "{}",
        world.call_flow
    );
}

#[test]
fn a_session_whose_deletion_the_upf_had_not_answered_is_deleted_after_the_core_was_killed() {
    let (mut world, memory) = stored_world(&[1], &[]);
    cut_off_upf(&mut world, true);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    for _ in 0..200 {
        if world.core.smf().unwrap().sessions() == 0 {
            break;
        }
        assert!(world.wait(), "{}", world.call_flow);
    }
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    let orphans = |memory: &Memory| {
        let keys = memory.keys().into_iter();
        keys.filter(|key| key.starts_with("smf/orphan/")).count()
    };
    assert_eq!(orphans(&memory), 1, "{:?}", memory.keys());
    reach_upf(&mut world);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    kill(&mut world, &memory, &[]);
    assert_eq!(
        upf(&mut world).upf.core.up.session_count(),
        0,
        "{}",
        world.call_flow
    );
    assert_eq!(memory.keys(), ["core/start"]);
}

/// A restarted UPF has a session again, which the SMF has not heard when it is killed; the UE leaves before the SMF that
/// follows hears of its UPF.
#[test]
fn a_session_that_a_restarted_upf_had_again_when_the_core_was_killed_is_deleted_when_its_ue_leaves()
{
    let (mut world, memory) = stored_world(&[1], &[]);
    upf(&mut world).restart();
    upf(&mut world).all = Some((ESTABLISHMENT, Fate::Late));
    for _ in 0..100 {
        if upf(&mut world).upf.core.up.session_count() == 1 {
            break;
        }
        assert!(world.wait());
    }
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    upf(&mut world).all = None;
    cut_off_upf(&mut world, true);
    kill(&mut world, &memory, &[]);
    gnb_comes_back(&mut world);
    let nas = world.ue_mut(0).deregister(false, false).unwrap();
    world.connect(0, nas);
    assert_eq!(world.amf().registered(), 0, "{}", world.call_flow);
    // However long that takes.
    pass(&mut world, 200);
    reach_upf(&mut world);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    pass(&mut world, 60);
    assert_eq!(
        upf(&mut world).upf.core.up.session_count(),
        0,
        "{}",
        world.call_flow
    );
    assert_eq!(
        world.core.smf().unwrap().sessions(),
        0,
        "{}",
        world.call_flow
    );
    assert_eq!(memory.keys(), ["core/start"]);
}
