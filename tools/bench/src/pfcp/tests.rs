//! The benchmark without DPDK: five dialects' sessions live through series of requests, every
//! answer is read, and what stands in the end carries packets. Nothing is timed.

use super::flow;
use super::lifecycle::SessionProgress;
use super::load::{Log, Pace, Wire};
use super::measure::{Case, measure};
use super::port::{self, PortDoor, PortWire};
use super::ring::RingDoor;
use super::script::Script;
use super::subscribers::{Armed, Variety};
use super::testbed::{Cpus, Loop, Testbed};
use sluice_host::thread;
use sluice_port_sim::{HeapPacket, HeapPool};
use std::time::Duration;

const SESSIONS: u32 = 1_000;

fn testbed(pool: &HeapPool) -> (Testbed<HeapPacket>, PortWire<HeapPacket>) {
    world_of(pool, Variety::new(300, 17))
}

fn world_of(pool: &HeapPool, variety: Variety) -> (Testbed<HeapPacket>, PortWire<HeapPacket>) {
    let allowed = thread::allowed_cpus().unwrap();
    let cpus = Cpus {
        n4: allowed[0],
        worker: *allowed.last().unwrap(),
    };
    let (port, wire) = port::pair(fresh(pool));
    let testbed = Testbed::build(SESSIONS, variety, fresh(pool), port, cpus).unwrap();
    (testbed, wire)
}

fn fresh(pool: &HeapPool) -> Box<dyn FnMut() -> Option<HeapPacket> + Send> {
    let pool = pool.clone();
    Box::new(move || pool.alloc())
}

#[test]
fn sessions_of_all_dialects_live_and_carry_packets_afterwards() {
    let pool = HeapPool::default();
    let (mut testbed, mut frames) = testbed(&pool);
    let (mut door, mut wire) = RingDoor::pair(testbed.smf());
    testbed.populate(&mut door, &mut wire).unwrap();
    let all_connected = |w: &Testbed<_>| {
        let mut all = w.subscribers.all.iter();
        all.all(|s| s.state == SessionProgress::Connected && s.up_seid != 0)
    };
    assert!(all_connected(&testbed));
    let case = Case {
        name: "test".to_owned(),
        plain_name: "test".to_owned(),
        carried_by: "a ring",
        messages: 2_000,
        window: 64,
        rate_per_s: 1e6,
        reps: 3,
    };
    let figures = measure(&mut testbed, (&mut door, &mut wire), &case).unwrap();
    assert!(
        figures.shares.iter().all(|(_, share)| *share > 0.0),
        "{:?}",
        figures.shares
    );
    // The same sessions go on by a port, and come back to the ring.
    let mut port = PortDoor(fresh(&pool));
    measure(&mut testbed, (&mut port, &mut frames), &case).unwrap();
    let counted = testbed.core.n4_counters();
    assert!(
        counted.received > 8_000 && counted.received == counted.sent,
        "{counted:?}"
    );
    assert!(figures.open.p50 <= figures.open.p99 && figures.closed.p50 > 0.0);
    // Packets of one half flow while the other half is modified.
    let connected = testbed.connect_all(&mut door, &mut wire);
    assert!(connected.is_ok(), "{connected:?}, {} lost", door.lost);
    let asked = flow::FlowLoad {
        rate_per_s: flow::RATE_PER_S,
        what: Loop::Housekeeping,
        reps: 1,
    };
    let flow = flow::measure(&mut testbed, (&mut port, &mut frames), asked).unwrap();
    assert_eq!(flow.lost, 0);
    assert!(flow.packets > 0 && flow.quiet_ns.median > 0.0, "{flow:?}");
    testbed.connect_all(&mut door, &mut wire).unwrap();
    let standing = testbed.subscribers.flows().unwrap().len() as u64;
    assert!(standing > u64::from(SESSIONS) / 2 && standing < u64::from(SESSIONS));
    assert!(testbed.prove().unwrap() >= 2 * standing);
    // Answers to requests that a busy machine repeated, and reports, come when nobody waits for them any more.
    for _ in 0..30_000 {
        while frames.receive(|_| ()) > 0 {}
        if pool.live() == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

/// Loses the first requests, as a ring without room does.
struct Forgetful<W> {
    wire: W,
    loses: usize,
}

impl<W: Wire> Wire for Forgetful<W> {
    fn send(&mut self, bytes: &[u8]) -> bool {
        match self.loses.checked_sub(1) {
            Some(left) => {
                self.loses = left;
                true
            }
            None => self.wire.send(bytes),
        }
    }

    fn flush(&mut self) {
        self.wire.flush();
    }

    fn receive(&mut self, take: impl FnMut(&[u8])) -> usize {
        self.wire.receive(take)
    }
}

#[test]
fn requests_that_are_lost_go_again() {
    let pool = HeapPool::default();
    let (mut testbed, _) = testbed(&pool);
    let (mut door, wire) = RingDoor::pair(testbed.smf());
    let mut wire = Forgetful { wire, loses: 3 };
    testbed.populate(&mut door, &mut wire).unwrap();
    assert_eq!(wire.loses, 0);
    let all = &testbed.subscribers.all;
    assert!(
        all.iter()
            .all(|one| one.state == SessionProgress::Connected)
    );
}

#[test]
fn armed_sessions_of_all_dialects_live_and_carry_packets_afterwards() {
    live_and_carry_packets(Armed::Usage);
    live_and_carry_packets(Armed::Live);
}

fn live_and_carry_packets(armed: Armed) {
    let pool = HeapPool::default();
    let (mut testbed, _) = world_of(&pool, Variety::new(300, 17).with(armed));
    let (mut door, mut wire) = RingDoor::pair(testbed.smf());
    testbed.populate(&mut door, &mut wire).unwrap();
    assert!(testbed.core.up.in_use().usage_records >= SESSIONS as usize);
    for _ in 0..3 {
        let (mut script, mut log) = (Script::default(), Log::new(2_000));
        script.mixed(&mut testbed.subscribers, 2_000);
        let ends = (&mut door, &mut wire);
        let pace = Pace::Closed(64);
        testbed
            .lap(ends, &script, pace, Loop::N4, &mut log)
            .unwrap();
        testbed.judge(&script, &log).unwrap();
    }
    testbed.connect_all(&mut door, &mut wire).unwrap();
    let standing = testbed.subscribers.flows().unwrap().len() as u64;
    assert!(standing > 0 && testbed.prove().unwrap() >= 2 * standing);
    assert_eq!((pool.live(), pool.leaked()), (0, 0));
}

/// A request is sent when it is due, not an interval later: its wait would count as the UPF's.
#[test]
fn an_open_loop_sends_each_request_when_it_is_due() {
    const EACH_NS: u32 = 50_000_000;
    let pool = HeapPool::default();
    let (mut testbed, _) = testbed(&pool);
    let (mut door, mut wire) = RingDoor::pair(testbed.smf());
    testbed.populate(&mut door, &mut wire).unwrap();
    let pace = Pace::Open(1e9 / f64::from(EACH_NS));
    // A thread that waits for its CPU sends late: on a busy machine that says nothing of the loop.
    let quickest_ns = (0..20).map(|_| {
        let (mut script, mut log) = (Script::default(), Log::new(4));
        script.mixed(&mut testbed.subscribers, 4);
        let ends = (&mut door, &mut wire);
        testbed
            .lap(ends, &script, pace, Loop::N4, &mut log)
            .unwrap();
        testbed.judge(&script, &log).unwrap();
        *log.rtt_ns.iter().min().unwrap()
    });
    let is_prompt = |rtt_ns: u32| rtt_ns < EACH_NS / 2;
    assert!(quickest_ns.into_iter().any(is_prompt));
}

#[test]
fn an_answer_that_is_missing_wrong_or_given_twice_is_found() {
    let pool = HeapPool::default();
    let (mut testbed, _) = testbed(&pool);
    let (mut door, mut wire) = RingDoor::pair(testbed.smf());
    testbed.populate(&mut door, &mut wire).unwrap();
    let mut script = Script::default();
    script.mixed(&mut testbed.subscribers, 100);
    let mut log = Log::new(100);
    let pace = Pace::Closed(8);
    let ends = (&mut door, &mut wire);
    testbed
        .lap(ends, &script, pace, Loop::Limit, &mut log)
        .unwrap();
    // The limit says yes to everything and establishes nothing.
    let why = testbed.judge(&script, &log).unwrap_err();
    assert!(
        why.contains("was answered by") || why.contains("was refused"),
        "{why}"
    );
    assert_eq!(script.place(u32::MAX), None);
    assert!(script.judge(&mut testbed.subscribers, &[0; 3]).is_err());
}
