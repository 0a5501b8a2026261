//! Stores that take their time, or refuse: the core goes on beside them, and does not start in vain.

use std::fs::{self, DirBuilder, File};
use std::os::unix::fs::DirBuilderExt as _;
use std::process::Stdio;

use sluice_host::redis::Redis;

use crate::contexts::{memory, redis_section, section};
use crate::ending::with_session;
use crate::place::{Core, Place, Ran, program, run};
use crate::upf::Upf;
use crate::wirings::wait;

/// Attempts, of which one sees an answer while the server is silent: a machine may sleep for longer than that.
const ATTEMPTS: usize = 8;

/// A UE leaves while the server does not answer; whether an operator was answered before the put was over, and before
/// the UE was.
fn goes_on_meanwhile(core: &Core, redis: &Redis, ran: &mut Ran) -> bool {
    redis.pause().unwrap();
    let (phone, at) = &mut ran.phones[0];
    let nas = phone.deregister(false, true).unwrap();
    let octets = ran.gnb.uplink(at.unwrap(), nas).unwrap();
    ran.send(1, &octets);
    let contexts = || core.ask("status")["contexts"].clone();
    let mut state = contexts();
    while state["up"] == true && state["pending"] == 0 {
        state = contexts();
    }
    // It is not known to be away: the core waits for its answer.
    let is_under_way = state["up"] == true;
    if is_under_way {
        ran.turn();
    }
    let has_heard = ran.phones[0].1.is_none();
    let is_still_so = contexts()["up"] == true;
    redis.go_on().unwrap();
    assert!(
        !has_heard || !is_still_so,
        "it was told before it was stored"
    );
    ran.wait("the UE is told", |ran| ran.phones[0].1.is_none());
    wait("all is stored", || {
        let state = contexts();
        state["up"] == true && state["pending"] == 0
    });
    is_under_way && is_still_so
}

#[test]
fn operators_are_answered_while_redis_is_silent_and_ues_wait_for_it() {
    let place = Place::new();
    let redis = match Redis::start() {
        Ok(redis) => redis,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let upf = Upf::start(&place, false);
    let (core, mut ran) = with_session(&place, &upf, &redis_section(&place, &redis));
    let mut attempts = 0;
    while !goes_on_meanwhile(&core, &redis, &mut ran) {
        attempts += 1;
        assert!(attempts < ATTEMPTS, "nobody is answered");
        ran.register(0);
    }
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
}

#[test]
fn a_core_whose_password_redis_refuses_is_not_started_again() {
    let place = Place::new();
    let redis = match Redis::start() {
        Ok(redis) => redis,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let section = redis_section(&place, &redis);
    let asks = redis.cli(&["CONFIG", "SET", "requirepass", "right"]);
    asks.unwrap();
    let with = |password: &str| {
        let url = redis.url();
        let section = section.replace(&url, &format!("{url}{password}"));
        place.file(&format!("{section}{}", place.config()))
    };
    for password in ["?pass=wrong", ""] {
        let file = with(password);
        for arguments in [&["--check"][..], &[]] {
            let refused = run(&file, arguments);
            let told = String::from_utf8(refused.stderr).unwrap();
            assert_eq!(refused.status.code(), Some(2), "{told}");
            assert!(
                told.contains("core.yaml:1: contexts.redis.url") && told.contains("password"),
                "{told}"
            );
        }
    }
    let config = fs::read_to_string(with("?pass=right")).unwrap();
    let core = Core::start_with(&place, &config);
    assert_eq!(core.stop().0, Some(0));
}

#[test]
fn a_core_whose_program_refuses_the_file_ends_with_it() {
    let (place, memory) = (Place::new(), memory());
    let wiring = "wiring: {transport: ring, programs: [{functions: [smf, pcf]}]}\n";
    let config = format!("{}{wiring}{}", section(&memory), place.config());
    // The core waits for this lock of the SMF before it, which gives the test time.
    let contexts = memory.path().join("contexts");
    let mut folders = DirBuilder::new();
    folders.recursive(true).mode(0o700);
    folders.create(contexts.join("smf")).unwrap();
    let lock = File::create(contexts.join("smf/core.lock")).unwrap();
    lock.lock().unwrap();
    let file = place.file(&config);
    let mut command = program(&["-c"]);
    let core = command.arg(&file).stderr(Stdio::piped()).spawn().unwrap();
    wait("the core has its folder", || {
        contexts.join("data.mdb").exists()
    });
    fs::write(&file, "nonsense: 1\n").unwrap();
    lock.unlock().unwrap();
    let ended = core.wait_with_output();
    let ended = ended.unwrap();
    let told = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(ended.status.code(), Some(2), "{told}");
    let expected = "the program of SMF, PCF does not start with this file";
    assert!(
        told.contains("nonsense") && told.contains(expected),
        "{told}"
    );
}
