//! Store of contexts that takes its time: messages that follow from contexts wait for it, in their order, and nothing else
//! does.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use sluice_pcf::Pcf;
use sluice_sbi::Now;
use sluice_sbi::context_store::{Changes, ContextWriter, Contexts, Outcome, StoreFailure};
use sluice_smf::Smf;
use sluice_testbed::apart;
use sluice_wiring::contexts::Start;
use sluice_wiring::{Core, ToRan};

use crate::contexts::Memory;
use crate::harness::*;
use crate::world::{self, TestNetwork};

/// Milliseconds for which messages wait.
const PATIENCE_MS: u64 = 2_000;

/// A store that answers when the test says so.
#[derive(Clone, Default)]
struct Slow(Rc<RefCell<State>>);

#[derive(Default)]
struct State {
    memory: Memory,
    /// Puts that are still answered; none if all are, at once.
    answers: Option<usize>,
    failure: Option<StoreFailure>,
    under_way: Option<Arc<Changes>>,
    begun: usize,
}

impl Slow {
    fn answers(&self, puts: usize) {
        self.0.borrow_mut().answers = Some(puts);
    }

    fn fails(&self, why: &str) {
        let mut state = self.0.borrow_mut();
        state.answers = Some(1);
        state.failure = Some(StoreFailure::NotStored(why.to_owned()));
    }

    fn begun(&self) -> usize {
        self.0.borrow().begun
    }

    fn keys(&self) -> Vec<String> {
        self.0.borrow().memory.keys()
    }
}

impl ContextWriter for Slow {
    fn begin(&mut self, changes: &Arc<Changes>) -> Poll<Outcome> {
        let mut state = self.0.borrow_mut();
        assert!(state.under_way.is_none(), "one at a time");
        state.under_way = Some(changes.clone());
        state.begun += 1;
        drop(state);
        self.outcome()
    }

    fn outcome(&mut self) -> Poll<Outcome> {
        let mut state = self.0.borrow_mut();
        let left = state.answers.map(|left| left.checked_sub(1));
        if left == Some(None) || state.under_way.is_none() {
            return Poll::Pending;
        }
        state.answers = left.flatten();
        let changes = state.under_way.take().unwrap();
        Poll::Ready(match state.failure.take() {
            Some(failure) => Err(failure),
            None => state.memory.put(&changes),
        })
    }

    fn last_outcome(&mut self) -> Poll<Outcome> {
        self.outcome()
    }

    fn patience_ms(&self) -> Option<u64> {
        Some(PATIENCE_MS)
    }

    fn may_have(&self, key: &[u8]) -> bool {
        self.0.borrow().memory.stored().contains_key(key)
    }

    fn is_paused(&self) -> bool {
        false
    }

    fn tend(&mut self) -> Result<(), StoreFailure> {
        Ok(())
    }
}

/// Two registered UEs whose contexts are stored there.
fn world() -> (TestNetwork, Slow) {
    let slow = Slow::default();
    let now = Now {
        unix_s: world::BEGIN_S,
        ..Now::default()
    };
    let stored = sluice_sbi::context_store::Stored::new();
    let core = world::core(world::config(), true).with_smf(Smf::new(smf_config()).unwrap());
    let mut core = core.with_pcf(Pcf::new(sluice_pcf::Config::default()).unwrap());
    let start = Start::after(&stored, now.unix_s);
    core.resume(now, start, &stored, Box::new(slow.clone()));
    (begin(core, &[1, 2]), slow)
}

/// A UE says that it leaves; nothing is taken from the core.
fn leaves(world: &mut TestNetwork, phone: usize) {
    let nas = world.ue_mut(phone).deregister(false, true).unwrap();
    let octets = world.gnb.uplink(at(world, phone), nas).unwrap();
    world.tell_amf(&octets);
}

fn registered(world: &TestNetwork) -> usize {
    world.amf().registered()
}

/// A Heartbeat Request, and whether its response comes (TS 29.244, 7.4.2).
fn answers_heartbeat(core: &mut Core, now: Now, upf: SocketAddr) -> bool {
    let request = [0x20, 1, 0, 12, 0, 9, 9, 0, 0, 96, 0, 4, 0xe0, 0, 0, 0];
    core.n4(now, upf, &request);
    let responses = core.take_to_upf();
    responses.iter().any(|one| one.octets[1] == 2)
}

/// Contexts that wait for the store, and whether it is up.
fn pending(core: &Core) -> (usize, bool) {
    let state = core.contexts_state().unwrap();
    (state.pending, state.is_up)
}

#[test]
fn messages_wait_for_their_contexts_in_order_and_nothing_else_does() {
    if apart::wanted().is_some() {
        return eprintln!("skipped: questions to other hosts wait as well");
    }
    // As it is with a store that answers at once.
    let (mut at_once, _) = world();
    let mut expected: Vec<Vec<ToRan>> = Vec::new();
    for phone in 0..2 {
        leaves(&mut at_once, phone);
        expected.push(at_once.core.take_to_ran());
        assert!(!expected[phone].is_empty());
    }
    let (mut world, slow) = world();
    slow.answers(0);
    let begun = slow.begun();
    leaves(&mut world, 0);
    assert_eq!(world.core.take_to_ran(), []);
    let (first, is_up) = pending(&world.core);
    assert!(first > 0 && is_up);
    // The core goes on: with another UE, a UPF, and time.
    leaves(&mut world, 1);
    assert_eq!((registered(&world), pending(&world.core).1), (0, true));
    assert!(pending(&world.core).0 > first);
    assert!(answers_heartbeat(&mut world.core, world.now, world::N4));
    world.now.instant = world.now.instant.plus_ms(PATIENCE_MS - 1);
    world.core.time(world.now);
    assert_eq!(world.core.take_to_ran(), []);
    assert!(world.core.take_to_upf().is_empty());
    // The other's changes wait for the first put, whose answer has the first one's messages leave.
    assert_eq!(slow.begun(), begun + 1);
    slow.answers(1);
    assert_eq!(world.core.take_to_ran(), expected[0]);
    assert!(slow.keys().iter().any(|key| key.ends_with("0000000002")));
    assert_eq!(world.core.take_to_ran(), []);
    assert_eq!(slow.begun(), begun + 2);
    slow.answers(1);
    assert_eq!(world.core.take_to_ran(), expected[1]);
    assert!(!slow.keys().iter().any(|key| key.contains("00000000")));
    assert_eq!(pending(&world.core), (0, true));
    assert_eq!(world.core.contexts_failed(), (0, None));
}

#[test]
fn messages_leave_behind_a_store_that_does_not_answer_in_time_and_it_gets_all_at_last() {
    if apart::wanted().is_some() {
        return eprintln!("skipped: questions to other hosts wait as well");
    }
    let (mut world, slow) = world();
    slow.answers(0);
    leaves(&mut world, 0);
    assert_eq!(world.core.take_to_ran(), []);
    let deadline = world.core.next_deadline();
    assert_eq!(deadline, world.now.instant.plus_ms(PATIENCE_MS));
    world.now.instant = deadline;
    world.core.time(world.now);
    assert!(!world.core.take_to_ran().is_empty());
    assert_eq!(world.core.contexts_failed().0, 1);
    // Nobody waits for it until it has answered.
    leaves(&mut world, 1);
    assert!(!world.core.take_to_ran().is_empty());
    assert!(!pending(&world.core).1);
    assert!(world.core.next_deadline() > world.now.instant);
    slow.answers(1);
    world.core.take_to_ran();
    // It has what it was given, and not all.
    assert!(!pending(&world.core).1);
    slow.answers(1);
    world.core.take_to_ran();
    assert_eq!(pending(&world.core), (0, true));
    assert!(!slow.keys().iter().any(|key| key.contains("00000000")));
}

#[test]
fn messages_leave_after_a_put_that_failed_and_it_goes_with_the_next_one() {
    if apart::wanted().is_some() {
        return eprintln!("skipped: questions to other hosts wait as well");
    }
    let (mut world, slow) = world();
    slow.answers(0);
    leaves(&mut world, 0);
    leaves(&mut world, 1);
    assert_eq!(world.core.take_to_ran(), []);
    let both = pending(&world.core).0;
    slow.fails("no room");
    assert!(!world.core.take_to_ran().is_empty());
    assert_eq!(pending(&world.core), (both, false));
    assert_eq!(world.core.contexts_failed(), (1, Some("no room")));
    assert!(slow.keys().iter().any(|key| key.ends_with("0000000001")));
    slow.answers(1);
    world.core.take_to_ran();
    assert_eq!(pending(&world.core), (0, true));
    assert!(!slow.keys().iter().any(|key| key.contains("00000000")));
}
