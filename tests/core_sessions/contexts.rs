//! The core is killed and begins again with the contexts that it had stored (TS 23.527, 4.2 and 6.1): no UE
//! registers anew, UPFs keep sessions, and idle UEs come back by service request or paging.

mod slow;

use std::cell::RefCell;
use std::net::Ipv4Addr;
use std::rc::Rc;

use sluice_n1::{RegistrationKind, SessionType};
use sluice_pcf::{Pcf, Policy};
use sluice_sbi::context_store::{Changes, Contexts, StoreFailure, Stored};
use sluice_sbi::{AssociationId, DataChange, Now};
use sluice_smf::Smf;
use sluice_testbed::apart::{self, Wiring};
use sluice_ue::Gnb;
use sluice_wiring::Core;
use sluice_wiring::contexts::Start;

use crate::flows::{policy, voice};
use crate::harness::*;
use crate::two_gnbs::Two;
use crate::world::{self, TestNetwork, setup, slice, supi, tai};

/// What outlives the core.
#[derive(Clone, Default)]
pub struct Memory(Rc<RefCell<(Stored, usize)>>);

impl Contexts for Memory {
    fn put(&mut self, changes: &Changes) -> Result<(), StoreFailure> {
        let (stored, puts) = &mut *self.0.borrow_mut();
        *puts += 1;
        for (key, value) in changes {
            match value {
                Some(value) => stored.insert(key.clone(), value.clone()),
                None => stored.remove(key),
            };
        }
        Ok(())
    }
}

impl Memory {
    fn puts(&self) -> usize {
        self.0.borrow().1
    }

    /// All is lost.
    pub fn clear(&self) {
        self.0.borrow_mut().0.clear();
    }

    pub fn stored(&self) -> Stored {
        self.0.borrow().0.clone()
    }

    pub fn keys(&self) -> Vec<String> {
        let text = |key: &Vec<u8>| String::from_utf8(key.clone()).unwrap();
        self.0.borrow().0.keys().map(text).collect()
    }
}

/// A core that goes on with what is stored.
pub fn core(memory: &Memory, now: Now, policies: &[Policy]) -> Core {
    core_of(memory, now, policies, world::config(), smf_config())
}

/// The same, of another configuration.
pub fn core_of(
    memory: &Memory,
    now: Now,
    policies: &[Policy],
    amf: sluice_amf::Config,
    smf: sluice_smf::Config,
) -> Core {
    let stored = memory.stored();
    let start = Start::after(&stored, now.unix_s);
    let config = sluice_smf::Config {
        started_unix_s: start.begun_unix_s,
        ..smf
    };
    let policies = policies.to_vec();
    let pcf = Pcf::new(sluice_pcf::Config {
        policies,
        ..Default::default()
    })
    .unwrap();
    let core = world::core(amf, true).with_smf(Smf::new(config).unwrap());
    let mut core = core.with_pcf(pcf);
    core.resume(now, start, &stored, Box::new(memory.clone()));
    core
}

/// UEs with a session each, and what their core has stored.
pub fn stored_world(numbers: &[u32], policies: &[Policy]) -> (TestNetwork, Memory) {
    let memory = Memory::default();
    let now = Now {
        unix_s: world::BEGIN_S,
        ..Now::default()
    };
    let mut world = begin(core(&memory, now, policies), numbers);
    for phone in 0..numbers.len() {
        establish(&mut world, phone, 5, &wanted(SessionType::Ipv4));
        assert!(goes_up(&mut world, phone, 5));
    }
    world.call_flow.0.clear();
    (world, memory)
}

/// The core is killed and begins again some seconds later; gNBs have not come back.
pub fn kill(world: &mut TestNetwork, memory: &Memory, policies: &[Policy]) {
    kill_before(world, |now| core(memory, now, policies));
}

/// The same, and this core begins.
pub fn kill_before(world: &mut TestNetwork, next: impl FnOnce(Now) -> Core) {
    world.now.instant = world.now.instant.plus_ms(2_000);
    world.now.unix_s += 2;
    world.core = next(world.now);
    world.core.time(world.now);
    world.run();
}

/// The gNB is back, and has released its UEs when it lost the core.
pub fn gnb_comes_back(world: &mut TestNetwork) {
    world.gnb.forget();
    for phone in &mut world.ues {
        phone.at = None;
    }
    world.set_up();
    assert!(world.gnb.response().is_some());
}

/// What the restart must not lead to.
#[track_caller]
pub fn assert_nobody_noticed(world: &mut TestNetwork, sessions: usize) {
    let call_flow = world.call_flow.to_string();
    for what in ["Registration", "Establishment", "PDU Session Release"] {
        assert!(!call_flow.contains(what), "{what} in {call_flow}");
    }
    assert_eq!(world.core.smf().unwrap().sessions(), sessions);
    assert_eq!(upf(world).upf.core.up.session_count(), sessions);
    assert_eq!(world.core.contexts_failed(), (0, None));
}

#[test]
fn an_idle_phone_comes_back_by_service_request_after_the_core_was_killed() {
    let (mut world, memory) = stored_world(&[1, 2], &[]);
    let (name, before) = (world.ue(0).guti(), address(&world, 0, 5));
    go_idle(&mut world, 0);
    go_idle(&mut world, 1);
    kill(&mut world, &memory, &[]);
    assert_eq!(world.amf().registered(), 2);
    gnb_comes_back(&mut world);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert_eq!((world.ue(0).refused(), world.ue(0).guti()), (None, name));
    assert!(goes_up(&mut world, 0, 5));
    let tunnel = radio(&world, 0, 5).unwrap().downlink.teid;
    assert_eq!(goes_down(&mut world, before), Some(tunnel));
    assert_nobody_noticed(&mut world, 2);
    let supi = supi(1);
    let udr = world.core.udr().expect("its own");
    assert!(udr.amf_of(&supi).is_some(), "UDM knows it");
    // It goes on as ever: a further session, idle, and off.
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 6));
    assert_ne!(address(&world, 0, 6), before);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    assert_eq!(world.amf().registered(), 1);
}

/// A UDM that has begun anew has no record of authentications, but the AMF has the UE already.
#[test]
fn a_phone_that_registers_after_the_core_was_killed_need_not_prove_again_who_it_is() {
    let (mut world, memory) = stored_world(&[1], &[]);
    go_idle(&mut world, 0);
    kill(&mut world, &memory, &[]);
    gnb_comes_back(&mut world);
    let udr = world.core.udr().expect("its own");
    assert_eq!(udr.authentication_of(&supi(1)), None);
    let nas = world.ue_mut(0).register(RegistrationKind::Mobility);
    world.connect(0, nas);
    world.assert_registered(0);
    let received = world.ue(0).received().iter();
    let challenges = received.filter(|one| **one == "Authentication Request");
    assert_eq!(challenges.count(), 1, "at its first registration");
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
}

#[test]
fn a_packet_pages_a_phone_that_was_idle_when_the_core_was_killed() {
    let (mut world, memory) = stored_world(&[1], &[]);
    let ue = address(&world, 0, 5);
    go_idle(&mut world, 0);
    for round in 1..=3 {
        kill(&mut world, &memory, &[]);
        gnb_comes_back(&mut world);
        goes_down(&mut world, ue);
        assert_eq!(world.pages.len(), round, "{}", world.call_flow);
        assert!(goes_up(&mut world, 0, 5));
        go_idle(&mut world, 0);
    }
    assert_nobody_noticed(&mut world, 1);
}

#[test]
fn a_phone_whose_gnb_has_lost_it_with_the_core_is_idle_and_paged() {
    let (mut world, memory) = stored_world(&[1, 2], &[]);
    let ue = address(&world, 0, 5);
    kill(&mut world, &memory, &[]);
    // Nobody has said yet that the gNB has lost it: packets still go there.
    let amf = world.amf();
    assert_eq!((amf.registered(), amf.connected()), (2, 0));
    assert!(goes_down(&mut world, ue).is_some());
    gnb_comes_back(&mut world);
    goes_down(&mut world, ue);
    assert_eq!(world.pages.len(), 1, "{}", world.call_flow);
    assert!(goes_up(&mut world, 0, 5));
    assert_nobody_noticed(&mut world, 2);
}

#[test]
fn a_phone_whose_gnb_does_not_come_back_is_idle_after_a_minute_and_comes_elsewhere() {
    let (mut world, memory) = stored_world(&[1], &[]);
    let (ue, begin) = (address(&world, 0, 5), world.now.instant);
    kill(&mut world, &memory, &[]);
    let mut setup = setup(tai(), &[slice(1), slice(2)]);
    setup.gnb.id = 2;
    world.gnb = Gnb::new(setup, tai());
    world.gnb.next_teid = 0x77;
    world.at = AssociationId(world.at.0 + 1);
    world.ues[0].at = None;
    world.set_up();
    while world.now.instant.ms_since(begin) < 62_000 {
        assert!(world.wait());
    }
    goes_down(&mut world, ue);
    assert_eq!(world.pages.len(), 1, "{}", world.call_flow);
    assert!(goes_up(&mut world, 0, 5));
    assert_nobody_noticed(&mut world, 1);
}

#[test]
fn a_phone_that_comes_before_its_gnb_has_said_anything_is_where_it_comes() {
    let (mut world, memory) = stored_world(&[1], &[]);
    let ue = address(&world, 0, 5);
    kill(&mut world, &memory, &[]);
    let mut setup = setup(tai(), &[slice(1), slice(2)]);
    setup.gnb.id = 2;
    world.gnb = Gnb::new(setup, tai());
    world.gnb.next_teid = 0x77;
    world.at = AssociationId(world.at.0 + 1);
    world.set_up();
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    let tunnel = radio(&world, 0, 5).unwrap().downlink.teid;
    assert_eq!(goes_down(&mut world, ue), Some(tunnel));
    assert_nobody_noticed(&mut world, 1);
    // The gNB of before has nothing to say about it any more.
    assert_eq!(world.amf().connected(), 1);
}

#[test]
fn packets_that_came_before_the_core_was_killed_page_the_phone_after_it() {
    let (mut world, memory) = stored_world(&[1], &[]);
    let ue = address(&world, 0, 5);
    go_idle(&mut world, 0);
    world.answers_pages = false;
    goes_down(&mut world, ue);
    assert_eq!(world.pages.len(), 1);
    kill(&mut world, &memory, &[]);
    gnb_comes_back(&mut world);
    world.answers_pages = true;
    for _ in 0..100 {
        if world.pages.len() > 1 {
            break;
        }
        assert!(world.wait(), "{}", world.call_flow);
    }
    assert_eq!(world.pages.len(), 2, "{}", world.call_flow);
    assert!(radio(&world, 0, 5).is_some());
    assert!(goes_up(&mut world, 0, 5));
    assert_nobody_noticed(&mut world, 1);
}

#[test]
fn flows_of_policies_and_operators_outlive_the_core() {
    let policies = [policy(vec![voice(64_000)])];
    let (mut world, memory) = stored_world(&[1], &policies);
    let flow = crate::flows::rule("video", 20, 7, &["permit out ip from any to assigned"]);
    let now = world.now;
    let started = sluice_testbed::flows::start(&mut world.core, now, &supi(1), Some(5), flow);
    assert_eq!(started, Ok(()));
    world.run();
    let rules = |world: &TestNetwork| {
        let view = world.core.pcf().unwrap().view(&supi(1), 5).unwrap();
        view.rules
            .iter()
            .map(|rule| rule.name.text().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(rules(&world), ["voice", "video"]);
    go_idle(&mut world, 0);
    kill(&mut world, &memory, &policies);
    gnb_comes_back(&mut world);
    assert_eq!(rules(&world), ["voice", "video"]);
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    // The gNB has all flows again.
    assert_eq!(radio(&world, 0, 5).unwrap().request.flows.len(), 3);
    // What was started before is stopped now.
    let now = world.now;
    let stopped = world.core.flows().stop(now, &supi(1), Some(5), "video");
    assert_eq!(stopped, Ok(()));
    world.run();
    assert_eq!(rules(&world), ["voice"]);
    assert_nobody_noticed(&mut world, 1);
}

#[test]
fn a_upf_that_was_restarted_meanwhile_gets_its_sessions_again() {
    let (mut world, memory) = stored_world(&[1], &[]);
    let (ue, before) = (address(&world, 0, 5), radio(&world, 0, 5).unwrap());
    upf(&mut world).restart();
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 0);
    kill(&mut world, &memory, &[]);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    assert_eq!(world.core.smf().unwrap().counters().restored, 1);
    assert_eq!(
        goes_down(&mut world, ue),
        Some(before.downlink.teid),
        "by the old tunnel"
    );
    assert!(sends_up(
        &mut world,
        &before,
        1,
        &crate::kit::frames::packet(ue, crate::kit::SERVER, 100, 7)
    ));
}

#[test]
fn who_has_left_or_was_removed_is_not_resumed() {
    let (mut world, memory) = stored_world(&[1, 2], &[]);
    let nas = world.ue_mut(0).deregister(false, true).unwrap();
    world.say(0, nas);
    let left = memory.keys();
    let its = left.iter().filter(|key| key.ends_with("0000000001"));
    assert_eq!(its.count(), 0, "{left:?}");
    kill(&mut world, &memory, &[]);
    assert_eq!(world.amf().registered(), 1);
    // The other one is removed.
    let now = world.now;
    assert!(world.core.udr_mut().expect("its own").remove(&supi(2)));
    world
        .core
        .repository()
        .changed(now, &supi(2), DataChange::Withdrawn);
    world.run();
    assert_no_session(&mut world);
    let left = memory.keys();
    assert_eq!(left, ["core/start"]);
}

#[test]
fn a_session_that_the_amf_has_forgotten_is_deleted_and_one_that_the_smf_has_not_is_forgotten() {
    let (mut world, memory) = stored_world(&[1, 2], &[]);
    go_idle(&mut world, 0);
    go_idle(&mut world, 1);
    {
        let (stored, _) = &mut *memory.0.borrow_mut();
        stored.retain(|key, _| !key.ends_with(b"0000000001"));
        let of_second = stored.keys().rfind(|key| key.starts_with(b"smf/session/"));
        let of_second = of_second.cloned().unwrap();
        stored.remove(&of_second);
    }
    kill(&mut world, &memory, &[]);
    assert_eq!(world.core.smf().unwrap().sessions(), 0);
    assert_eq!(world.amf().registered(), 1);
    gnb_comes_back(&mut world);
    come_back(&mut world, 1);
    assert_eq!(world.ue(1).sessions().status(), 0, "{}", world.call_flow);
}

#[test]
fn what_cannot_be_read_is_as_if_it_had_not_been_stored() {
    let (mut world, memory) = stored_world(&[1, 2], &[]);
    let ue = address(&world, 1, 5);
    go_idle(&mut world, 0);
    go_idle(&mut world, 1);
    {
        let (stored, _) = &mut *memory.0.borrow_mut();
        let first = stored.keys().find(|key| key.starts_with(b"smf/session/"));
        let first = first.cloned().unwrap();
        stored.get_mut(&first).unwrap()[0] = 99;
    }
    kill(&mut world, &memory, &[]);
    gnb_comes_back(&mut world);
    // Nobody can delete the one session at the UPF, so the UPF begins anew with the other.
    assert_eq!(world.core.smf().unwrap().sessions(), 1);
    assert_eq!(upf(&mut world).upf.core.up.session_count(), 1);
    goes_down(&mut world, ue);
    assert_eq!(world.pages.len(), 1);
    assert!(goes_up(&mut world, 1, 5));
}

/// What a registration and a session cost: each is stored a few times, and packets are none of them.
#[test]
fn contexts_are_stored_seldom() {
    let memory = Memory::default();
    let now = Now {
        unix_s: world::BEGIN_S,
        ..Now::default()
    };
    let mut world = begin(core(&memory, now, &[]), &[]);
    world.ues.push(world::TestUe {
        ue: world::ue(1),
        at: None,
    });
    world.ue_mut(0).requested_nssai = Some(vec![slice(1), slice(2)]);
    world.ue_mut(0).follow_on = true;
    let before = memory.puts();
    world.register(0);
    let registered = memory.puts();
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    let established = memory.puts();
    // Of a session: what is asked for, what the UPF has, where its packets are to go, and which SMF has it; and what is
    // stored before a question or an answer leaves for another program: also who has subscribed.
    let puts = (registered - before, established - registered);
    let expected = match apart::wanted() {
        None => (2, 4),
        Some(Wiring::Ring | Wiring::Socket) => (3, 6),
        Some(Wiring::Http2) => (3, 10),
    };
    assert_eq!(puts, expected);
    for _ in 0..10 {
        assert!(goes_up(&mut world, 0, 5));
    }
    let ue: Ipv4Addr = address(&world, 0, 5);
    assert!(goes_down(&mut world, ue).is_some());
    assert!(memory.puts() <= established + 1, "usage alone");
    let before = memory.puts();
    go_idle(&mut world, 0);
    let idle = memory.puts();
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    assert!(goes_up(&mut world, 0, 5));
    // That its packets wait; then the count of its message, and where its packets are to go; what is stored before a question
    // leaves by HTTP between AMF and SMF, too.
    let by_http = apart::wanted() == Some(Wiring::Http2);
    let puts = if by_http { (2, 4) } else { (1, 2) };
    assert_eq!((idle - before, memory.puts() - idle), puts);
}

#[test]
fn phones_of_a_gnb_that_retains_them_keep_connection_and_packets_throughout() {
    let (mut world, memory) = stored_world(&[1, 2], &[]);
    world.gnb.retains_ues = true;
    go_idle(&mut world, 1);
    let ue = address(&world, 0, 5);
    let tunnel = radio(&world, 0, 5).unwrap().downlink.teid;
    let names = |world: &TestNetwork| {
        let at = at(world, 0);
        (at, world.gnb.amf_id(at))
    };
    let before = names(&world);
    for _ in 0..2 {
        kill(&mut world, &memory, &[]);
        assert_eq!(goes_down(&mut world, ue), Some(tunnel));
        assert!(goes_up(&mut world, 0, 5));
        world.gnb.forget();
        world.set_up();
        assert!(world.gnb.response().unwrap().retains_ues);
        assert_eq!((world.amf().connected(), names(&world)), (1, before));
        assert_eq!(goes_down(&mut world, ue), Some(tunnel));
        assert!(goes_up(&mut world, 0, 5));
    }
    assert!(world.pages.is_empty(), "{}", world.call_flow);
    assert_nobody_noticed(&mut world, 2);
    // Both ends know the connection, its keys and its counts.
    establish(&mut world, 0, 6, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 6), "{}", world.call_flow);
    assert_eq!(world.amf().counters().wrong_macs, 0);
    go_idle(&mut world, 0);
    goes_down(&mut world, ue);
    assert_eq!(world.pages.len(), 1);
}

/// The UE goes by Xn to a gNB that is back before the one where it was.
#[test]
fn a_phone_may_leave_by_xn_a_gnb_that_is_not_back_since_the_core_was_killed() {
    let memory = Memory::default();
    let now = Now {
        unix_s: world::BEGIN_S,
        ..Now::default()
    };
    let mut two = Two::of(begin(core(&memory, now, &[]), &[1]), &[5]);
    two.world.gnb.retains_ues = true;
    kill(&mut two.world, &memory, &[]);
    two.tell_other(&two.other.setup());
    two.run();
    two.by_xn();
    two.assert_flows(5);
    // Where it was has no UE any more, and says nothing of that.
    two.tell_other(&two.other.setup());
    two.run();
    two.assert_flows(5);
    assert_eq!(two.world.amf().connected(), 1);
    go_idle(&mut two.world, 0);
    let left = two.world.amf().sizes();
    let connections = left.iter().filter(|(name, _)| name.contains("connections"));
    assert!(connections.clone().count() > 0);
    assert!(
        connections.map(|(_, size)| *size).all(|size| size == 0),
        "{left:?}"
    );
}

/// The SMF has had a session deleted, and waits for the UE to say that it has heard so.
#[test]
fn nothing_is_left_of_a_session_that_was_being_released_when_the_core_was_killed() {
    let (mut world, memory) = stored_world(&[1], &[policy(vec![voice(64_000)])]);
    let now = world.now;
    assert!(world.core.sessions().release(now, &supi(1), 5));
    for message in world.core.take_to_upf() {
        for octets in world::Upf::take(upf(&mut world), &message.octets) {
            world.core.n4(world.now, world::N4, &octets);
        }
    }
    world.core.take_to_ran();
    let begins = |keys: &[String], with| keys.iter().filter(|key| key.starts_with(with)).count();
    let keys = memory.keys();
    assert_eq!(
        (begins(&keys, "smf/"), begins(&keys, "pcf/")),
        (0, 1),
        "{keys:?}"
    );
    kill(&mut world, &memory, &[policy(vec![voice(64_000)])]);
    assert_eq!(begins(&memory.keys(), "pcf/"), 0, "{:?}", memory.keys());
    let left = world.core.pcf().unwrap().sizes();
    assert!(left.iter().all(|(_, size)| *size == 0), "{left:?}");
    // The UE learns it when it comes, and asks for another.
    gnb_comes_back(&mut world);
    come_back(&mut world, 0);
    establish(&mut world, 0, 5, &wanted(SessionType::Ipv4));
    assert!(goes_up(&mut world, 0, 5), "{}", world.call_flow);
}

#[test]
fn a_gnb_retains_no_phones_that_the_amf_does_not_know() {
    let (mut world, _) = stored_world(&[1], &[]);
    world.gnb.retains_ues = true;
    kill(&mut world, &Memory::default(), &[]);
    world.gnb.forget();
    assert!(world.gnb.context(at(&world, 0)).is_some());
    world.set_up();
    assert!(!world.gnb.response().unwrap().retains_ues);
    assert_eq!(world.ues[0].at, None, "it is released");
    // It comes by a name that nobody knows any more, and registers anew.
    world.register(0);
    assert_eq!(world.amf().registered(), 1);
}

#[test]
fn a_phone_that_was_still_to_be_told_of_a_changed_configuration_is_told_after_the_core_was_killed()
{
    let (mut world, memory) = stored_world(&[1], &[]);
    go_idle(&mut world, 0);
    let mut config = world::config();
    config.t3512_s = 1_800;
    let now = world.now;
    assert_eq!(world.core.reconfigure_amf(now, config), Ok(()));
    world.run();
    kill(&mut world, &memory, &[]);
    gnb_comes_back(&mut world);
    world.call_flow.0.clear();
    world.ue_mut(0).sessions_mut().set_data(1 << 5);
    come_back(&mut world, 0);
    let call_flow = world.call_flow.to_string();
    assert!(
        call_flow.contains("Configuration Update Command"),
        "{call_flow}"
    );
    // It was told, is idle by that, and is not told again.
    assert_eq!(world.ues[0].at, None, "{call_flow}");
    kill(&mut world, &memory, &[]);
    gnb_comes_back(&mut world);
    world.call_flow.0.clear();
    come_back(&mut world, 0);
    let call_flow = world.call_flow.to_string();
    assert!(
        !call_flow.contains("Configuration Update Command"),
        "{call_flow}"
    );
}
