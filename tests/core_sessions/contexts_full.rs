//! The folder of contexts is full: UEs are served, what waits is bounded, and all is stored again when there is room.

use std::path::Path;
use std::time::{Duration, Instant};

use sluice_contexts::{ContextFile, Opening};
use sluice_n1::SessionType;
use sluice_pcf::Pcf;
use sluice_sbi::Now;
use sluice_sbi::context_store::{Changes, Contexts as _};
use sluice_smf::Smf;
use sluice_wiring::Core;
use sluice_wiring::StoreState;
use sluice_wiring::contexts::Start;
use tempfile::TempDir;

use crate::harness::*;
use crate::world::{self, TestNetwork};

fn open(folder: &Path) -> ContextFile {
    let opening = Opening {
        folder: folder.join("contexts"),
        most_octets: 1 << 20,
        may_be_on_disk: false,
    };
    ContextFile::open(&opening).unwrap()
}

/// Something else is stored, and leaves room for a few sessions.
fn nearly_full(folder: &Path) -> ContextFile {
    let mut file = open(folder);
    let one = |number: u32, value: Option<Vec<u8>>| {
        Changes::from([(format!("other/{number:08}").into_bytes(), value)])
    };
    let full = (0..).find(|number| file.put(&one(*number, Some(vec![7; 200]))).is_err());
    for number in 0..100 {
        file.put(&one(full.unwrap() - number, None)).unwrap();
    }
    file
}

fn core(now: Now, file: ContextFile) -> Core {
    let stored = file.all().unwrap();
    let start = Start::after(&stored, now.unix_s);
    let config = sluice_smf::Config {
        started_unix_s: start.begun_unix_s,
        ..smf_config()
    };
    let pcf = Pcf::new(sluice_pcf::Config::default()).unwrap();
    let core = world::core(world::config(), true).with_smf(Smf::new(config).unwrap());
    let mut core = core.with_pcf(pcf);
    core.resume(now, start, &stored, Box::new(file));
    core
}

fn state(world: &TestNetwork) -> StoreState {
    world.core.contexts_state().unwrap()
}

fn release(world: &mut TestNetwork, phone: usize, session: u8) {
    let nas = world.ue_mut(phone).release(session);
    world.say(phone, nas);
}

/// UEs ask for sessions until one is not stored; phones and sessions.
fn fill(world: &mut TestNetwork) -> Vec<(usize, u8)> {
    let mut established = Vec::new();
    for phone in 0..world.ues.len() {
        for session in 1..16 {
            establish(world, phone, session, &wanted(SessionType::Ipv4));
            established.push((phone, session));
            if !state(world).is_up {
                return established;
            }
        }
    }
    panic!("{} sessions have room", established.len());
}

#[test]
fn a_folder_that_is_full_is_whole_again_when_sessions_have_ended() {
    let folder = TempDir::new_in("/dev/shm").unwrap();
    let now = Now {
        unix_s: world::BEGIN_S,
        ..Now::default()
    };
    let mut world = begin(core(now, nearly_full(folder.path())), &[1, 2, 3]);
    let kind = wanted(SessionType::Ipv4);
    let mut established = fill(&mut world);
    assert!(established.len() > 3, "{established:?}");
    let before = state(&world);
    // UEs are served, and nothing of what comes and goes meanwhile is left.
    let (phone, session) = established.pop().unwrap();
    assert!(goes_up(&mut world, phone, session));
    for _ in 0..50 {
        release(&mut world, phone, session);
        establish(&mut world, phone, session, &kind);
        assert!(state(&world).pending <= before.pending + 4);
    }
    release(&mut world, phone, session);
    // There is room, and the pause will be over.
    while established.len() > 1 {
        let (phone, session) = established.pop().unwrap();
        release(&mut world, phone, session);
    }
    let until = Instant::now() + Duration::from_secs(20);
    while !state(&world).is_up {
        assert!(Instant::now() < until, "{:?}", world.core.contexts_failed());
        std::thread::sleep(Duration::from_millis(50));
        world.run();
    }
    assert_eq!(state(&world).pending, 0);
    // The next core goes on with what there is.
    let now = world.now;
    world.core = world::core(world::config(), true);
    let file = open(folder.path());
    assert!(!file.was_behind());
    let core = core(now, file);
    assert_eq!(core.amf().expect("its own AMF").registered(), 3);
    assert_eq!(core.smf().unwrap().sessions(), 1);
}

#[test]
fn a_core_that_is_killed_while_its_folder_is_full_leaves_nothing_that_is_older_than_its_ues() {
    let folder = TempDir::new_in("/dev/shm").unwrap();
    let now = Now {
        unix_s: world::BEGIN_S,
        ..Now::default()
    };
    let mut world = begin(core(now, nearly_full(folder.path())), &[1, 2, 3]);
    fill(&mut world);
    assert!(upf(&mut world).upf.core.up.session_count() > 3);
    world.core = world::core(world::config(), true);
    world.now.unix_s += 2;
    world.now.instant = world.now.instant.plus_ms(2_000);
    let file = open(folder.path());
    assert!(file.was_behind());
    world.core = core(world.now, file);
    world.core.time(world.now);
    world.run();
    assert_eq!(world.amf().registered(), 0);
    // Nobody knows its sessions any more: the UPF begins anew.
    let left = upf(&mut world).upf.core.up.session_count();
    assert_eq!(left, 0, "{}", world.call_flow);
    assert!(state(&world).is_up);
}
