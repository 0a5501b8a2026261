//! The core is killed between any two messages of a procedure of a session: the core that follows has the session whole
//! at UPF, gNB and UE, with packets either way, or nobody has it (TS 23.527, 4.2).

use std::any::Any;
use std::cell::Cell;

use sluice_n1::SessionType;
use sluice_testbed::apart;

use crate::contexts::{Memory, gnb_comes_back, kill, stored_world};
use crate::flows::{VOICE_PORT, goes_up_marked, voice};
use crate::harness::*;
use crate::modification::{flows, mark_down, start, stop};
use crate::world::{self, TestNetwork, supi};

/// Most messages of a procedure that get lost here.
const MESSAGES: usize = 16;

thread_local! {
    /// Messages that arrive before all get lost.
    static LEFT: Cell<usize> = const { Cell::new(0) };
}

fn is_lost(_: &[u8]) -> bool {
    let left = LEFT.get();
    LEFT.set(left.saturating_sub(1));
    left == 0
}

/// A UPF whose messages, and those to it, are counted.
struct Counted(Box<dyn world::Upf>);

impl world::Upf for Counted {
    fn take(&mut self, octets: &[u8]) -> Vec<Vec<u8>> {
        if is_lost(octets) {
            return Vec::new();
        }
        let answers = self.0.take(octets).into_iter();
        answers.filter(|octets| !is_lost(octets)).collect()
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self.0.as_any()
    }
}

/// Behaviour of gNB and UPF when the core is killed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Meanwhile {
    /// The gNB releases its UEs.
    Released,
    /// The gNB keeps its UEs (TS 38.413, 8.7.1.2).
    Retained,
    /// The gNB releases its UEs, and the UPF is restarted.
    Restarted,
}

const MEANWHILE: [Meanwhile; 3] = [
    Meanwhile::Released,
    Meanwhile::Retained,
    Meanwhile::Restarted,
];

/// A procedure of which so many messages arrive, and then the core is killed; the UE comes back to the one that follows,
/// and time passes. Returns whether all messages had arrived.
fn killed_after(
    messages: usize,
    (world, memory): (&mut TestNetwork, &Memory),
    meanwhile: Meanwhile,
    act: fn(&mut TestNetwork),
) -> bool {
    let upf = world.upf.take().unwrap();
    world.upf = Some(Box::new(Counted(upf)));
    (world.lose, world.lose_n2) = (is_lost, is_lost);
    LEFT.set(messages);
    act(world);
    let is_whole = LEFT.replace(usize::MAX) > 0;
    world.lose = |_| false;
    world.lose_n2 = |_| false;
    if meanwhile == Meanwhile::Restarted {
        self::upf(world).restart();
    }
    world.gnb.retains_ues = meanwhile == Meanwhile::Retained;
    kill(world, memory, &[]);
    match meanwhile {
        Meanwhile::Retained => {
            world.gnb.forget();
            world.set_up();
        }
        _ => gnb_comes_back(world),
    }
    pass(world, 30);
    if world.ues[0].at.is_none() {
        world.ue_mut(0).sessions_mut().set_data(1 << 5);
        come_back(world, 0);
    }
    pass(world, 90);
    is_whole
}

/// Each cut of a procedure, until all of it arrives.
fn each_cut(
    prepare: fn(&mut TestNetwork),
    act: fn(&mut TestNetwork),
    ends_well: fn(&mut TestNetwork, &str),
) {
    for meanwhile in MEANWHILE {
        let cut = |messages: &usize| {
            let (mut world, memory) = stored_world(&[1], &[]);
            prepare(&mut world);
            world.call_flow.0.clear();
            let of = (&mut world, &memory);
            let is_whole = killed_after(*messages, of, meanwhile, act);
            ends_well(&mut world, &format!("{messages} messages, {meanwhile:?}"));
            is_whole
        };
        let is_over = (0..MESSAGES).find(cut);
        assert!(is_over.is_some_and(|messages| messages > 2), "{is_over:?}");
    }
}

/// The voice flow is everywhere, or nowhere.
#[track_caller]
fn is_whole(world: &mut TestNetwork, what: &str) -> bool {
    let (at_ue, at_gnb, at_pcf) = flows(world);
    let call_flow = world.call_flow.to_string();
    assert_eq!((at_ue, at_gnb), (at_pcf, at_pcf), "{what}: {call_flow}");
    let qfi = 1 + at_pcf as u8;
    assert_eq!(
        mark_down(world, VOICE_PORT),
        Some(qfi),
        "{what}: {call_flow}"
    );
    let marked = goes_up_marked(world, (6_000, VOICE_PORT));
    assert_eq!(marked, (qfi, true), "{what}: {call_flow}");
    let ue = address(world, 0, 5);
    let up = &upf(world).upf.core.up;
    let at_upf = up.session(up.seid_of_ue(ue).unwrap()).unwrap();
    assert_eq!(at_upf.pdr.len(), 2 + 2 * at_pcf, "{what}: {call_flow}");
    assert_eq!(at_upf.qer.len(), 2 + at_pcf, "{what}: {call_flow}");
    at_pcf == 1
}

/// The flow is whole or gone, and can be stopped and started.
fn flow_ends_well(world: &mut TestNetwork, what: &str) {
    if is_whole(world, what) {
        stop(world, "voice").unwrap();
        assert!(!is_whole(world, what));
    }
    start(world, voice(64_000)).unwrap();
    assert!(is_whole(world, what));
    assert!(world.core.smf().unwrap().procedures().is_empty());
}

fn starts(world: &mut TestNetwork) {
    start(world, voice(64_000)).unwrap();
}

fn stops(world: &mut TestNetwork) {
    stop(world, "voice").unwrap();
}

#[test]
fn a_flow_that_was_about_to_begin_is_whole_or_gone() {
    each_cut(|_| {}, starts, flow_ends_well);
}

#[test]
fn a_flow_that_was_about_to_end_is_gone_or_whole() {
    each_cut(starts, stops, flow_ends_well);
}

/// The one of before has the number that the new one has then.
#[test]
fn a_flow_that_took_the_place_of_another_is_whole_or_gone() {
    if apart::wanted() == Some(apart::Wiring::Http2) {
        return eprintln!("skipped: by HTTP the SMF hears of both before it has done the first");
    }
    let replaces = |world: &mut TestNetwork| {
        let now = world.now;
        world
            .core
            .flows()
            .stop(now, &supi(1), None, "voice")
            .unwrap();
        let other = voice(128_000);
        sluice_testbed::flows::start(&mut world.core, now, &supi(1), Some(5), other).unwrap();
        world.run();
    };
    each_cut(starts, replaces, flow_ends_well);
}

/// Packets go either way, or neither SMF nor UPF has the session, and the UE gets another.
fn packets_go(world: &mut TestNetwork, what: &str) {
    let sessions = world.core.smf().unwrap().sessions();
    let call_flow = world.call_flow.to_string();
    let at_upf = upf(world).upf.core.up.session_count();
    assert_eq!(at_upf, sessions, "{what}: {call_flow}");
    if sessions == 0 {
        establish(world, 0, 5, &wanted(SessionType::Ipv4));
    }
    let ue = address(world, 0, 5);
    assert!(goes_up(world, 0, 5), "{what}: {call_flow}");
    let tunnel = radio(world, 0, 5).unwrap().downlink.teid;
    // What was held may have left before the kill.
    upf(world).upf.n3.take_output();
    assert_eq!(goes_down(world, ue), Some(tunnel), "{what}: {call_flow}");
    assert!(world.core.smf().unwrap().procedures().is_empty());
}

fn goes_idle(world: &mut TestNetwork) {
    let ask = world.gnb.ask_release(at(world, 0)).unwrap();
    world.tell_amf(&ask);
    world.run();
}

fn comes_back(world: &mut TestNetwork) {
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(world, 0);
}

fn is_called(world: &mut TestNetwork) {
    let ue = address(world, 0, 5);
    goes_down(world, ue);
}

#[test]
fn a_session_that_was_about_to_be_idle_gets_its_packets() {
    each_cut(|_| {}, goes_idle, packets_go);
}

#[test]
fn a_session_whose_ue_was_about_to_come_back_gets_its_packets() {
    each_cut(goes_idle, comes_back, packets_go);
}

#[test]
fn a_session_whose_ue_was_about_to_be_paged_gets_its_packets() {
    each_cut(goes_idle, is_called, packets_go);
}

#[test]
fn a_session_that_was_about_to_be_released_is_gone_or_gets_its_packets() {
    let releases = |world: &mut TestNetwork| {
        let now = world.now;
        assert!(world.core.sessions().release(now, &supi(1), 5));
        world.run();
    };
    each_cut(|_| {}, releases, packets_go);
}
