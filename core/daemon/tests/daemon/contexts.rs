//! Contexts outlive the program: it is killed by SIGKILL and started again.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_host::redis::Redis;
use sluice_n1::RegistrationKind;
use sluice_ue::UeState;
use sluice_wire::pfcp::MessageType;
use tempfile::TempDir;

use crate::api::with_api;
use crate::ending::with_session;
use crate::metrics::metric;
use crate::place::{Core, KEY, LIMIT, Place, Ran, run, ue};
use crate::upf::Upf;
use crate::wirings::{pid_of, pid_of_any, signal, wait};

pub fn memory() -> TempDir {
    TempDir::new_in("/dev/shm").unwrap()
}

pub fn section(folder: &TempDir) -> String {
    let folder = folder.path().join("contexts");
    format!("contexts: {{folder: {}, most_mib: 64}}\n", folder.display())
}

/// SIGKILL.
fn kill(mut core: Core) {
    core.child.kill().unwrap();
    core.child.wait().unwrap();
}

#[test]
fn a_core_that_was_killed_goes_on_with_its_ues_and_sessions() {
    let (place, memory) = (Place::new(), memory());
    let refusal = ["contexts.folder", "another core"];
    goes_on(&place, &section(&memory), refusal, None);
}

#[test]
fn a_core_that_was_killed_goes_on_with_contexts_on_a_disk() {
    let (place, folder) = (
        Place::new(),
        TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap(),
    );
    let section = section(&folder).replace("most_mib", "on_disk: true, most_mib");
    goes_on(&place, &section, ["contexts.folder", "another core"], None);
}

#[test]
fn a_core_that_was_killed_goes_on_with_contexts_at_a_redis_server() {
    let place = Place::new();
    let redis = match Redis::start() {
        Ok(redis) => redis,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let section = redis_section(&place, &redis);
    goes_on(
        &place,
        &section,
        ["contexts.redis.instance", "another core"],
        None,
    );
    // Nothing tells who was there, and the next core need not wait for a lease.
    let told = redis
        .cli(&["HGETALL", "sluice:{core-23}:contexts"])
        .unwrap();
    assert!(!told.is_empty() && !told.contains("0000000001"), "{told}");
    let lease = redis.cli(&["EXISTS", "sluice:{core-23}:lease"]).unwrap();
    assert_eq!(lease.trim(), "0");
}

/// Identities of functions: UUIDs of version 4, each of its own.
fn instances_of(core: &Core) -> BTreeSet<(String, String)> {
    let nfs = core.try_ask(serde_json::json!({ "cmd": "nfs" })).unwrap();
    let nfs = nfs["nfs"].as_array().cloned().unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    let all: BTreeSet<_> = nfs
        .iter()
        .map(|nf| (text(&nf["type"]), text(&nf["instance"])))
        .collect();
    assert!(
        all.iter().all(|(_, uuid)| uuid.as_bytes()[14] == b'4'),
        "{all:?}"
    );
    all
}

/// At a server, with a key.
pub fn redis_section(place: &Place, redis: &Redis) -> String {
    let key = place.folder.path().join("contexts.key");
    std::fs::write(&key, "5a".repeat(32)).unwrap();
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    let (url, key) = (redis.url(), key.display());
    format!(
        "contexts: {{redis: {{url: '{url}', key_file: {key}, instance: core-23, lease_s: 3, timeout_ms: 1000}}}}\n"
    )
}

/// Holds a lock for half a second, as an SMF does that hears late that its core has gone.
fn held_for_a_while(lock: &Path) -> JoinHandle<()> {
    let file = std::fs::File::options().write(true).open(lock).unwrap();
    file.lock().unwrap();
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(500));
        file.unlock().unwrap();
    })
}

/// A core with these contexts is killed and goes on; another is refused meanwhile with these words.
fn goes_on(place: &Place, section: &str, refusal: [&str; 2], smf_lock: Option<&Path>) {
    let upf = Upf::start(place, false);
    let (core, ran) = with_session(place, &upf, section);
    let before = core.ask_of("ue", "001010000000001");
    let instances = instances_of(&core);
    let config = std::fs::read_to_string(place.folder.path().join("core.yaml")).unwrap();
    let (phones, registrations) = (ran.phones, ran.gnb);
    drop((ran.node, registrations));
    kill(core);
    let lock = smf_lock.map(held_for_a_while);
    let core = Core::start_with(place, &config);
    lock.into_iter().for_each(|thread| thread.join().unwrap());
    let ues = core.ask("ues");
    assert_eq!(ues["registered"], 1, "{ues}");
    wait("functions register with the same identities", || {
        instances_of(&core) == instances
    });
    let ues: Vec<_> = phones.into_iter().map(|(ue, _)| ue).collect();
    let mut ran = Ran::connect(place, [0, 0, 7], ues);
    let (phone, _) = &mut ran.phones[0];
    phone.sessions_mut().set_data(1 << 5);
    let (name, request) = (phone.guti(), phone.request_service().unwrap());
    let s_tmsi = name.map(sluice_ids::Guti::s_tmsi);
    let (at, octets) = ran.gnb.connect(request, s_tmsi);
    ran.phones[0].1 = Some(at);
    ran.send(1, &octets);
    ran.wait("the user plane", |ran| ran.gnb.session(at, 5).is_some());
    assert_eq!(ran.phones[0].0.state(), UeState::Registered);
    assert_eq!(ran.phones[0].0.guti(), name, "it has not registered anew");
    // The SMF may still wait for the UPF's answer.
    let mut after = serde_json::Value::Null;
    wait("the session is resumed", || {
        after = core.ask_of("ue", "001010000000001");
        after["ue"]["sessions"][0]["waits_at"].is_null()
    });
    for key in ["addresses", "upf_tunnel", "dnn"] {
        let of = |told: &serde_json::Value| told["ue"]["sessions"][0][key].clone();
        assert!(!of(&before).is_null(), "{key} in {before}");
        assert_eq!(of(&before), of(&after), "{key} in {after}");
    }
    assert_eq!(core.ask("counters")["amf"]["registrations"], 0);
    // The UPF was asked to associate again, and to establish no session again.
    assert!(upf.came(MessageType::ASSOCIATION_SETUP_REQUEST) >= 2);
    assert_eq!(upf.count(MessageType::SESSION_ESTABLISHMENT_REQUEST), 1);
    // Nobody else may have them meanwhile.
    let other = place.folder.path().join("other.yaml");
    std::fs::copy(place.folder.path().join("core.yaml"), &other).unwrap();
    let refused = run(&other, &[]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert_eq!(refused.status.code(), Some(4), "{told}");
    assert!(refusal.iter().all(|word| told.contains(word)), "{told}");
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    // Programs of AMF and SMF tell of what is theirs.
    let together = log.contains("goes on with 1 UEs and 1 sessions;");
    let apart = log.contains("goes on with 1 UEs;") && log.contains("goes on with 1 sessions;");
    assert!(together || apart, "{log}");
    assert_eq!(upf.count(MessageType::SESSION_DELETION_REQUEST), 1);
}

const RING: &str = "wiring: {transport: ring}\n";

#[test]
fn a_core_that_was_killed_goes_on_with_sessions_of_an_smf_of_another_program() {
    let (place, memory) = (Place::new(), memory());
    let section = format!("{}{RING}", section(&memory));
    let lock = memory.path().join("contexts/smf/core.lock");
    let refusal = ["contexts.folder", "another core"];
    goes_on(&place, &section, refusal, Some(&lock));
}

#[test]
fn a_core_that_was_killed_goes_on_with_sessions_at_redis_of_an_smf_of_another_program() {
    let place = Place::new();
    let redis = match Redis::start() {
        Ok(redis) => redis,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let section = format!("{}{RING}", redis_section(&place, &redis));
    let refusal = ["contexts.redis.instance", "another core"];
    goes_on(&place, &section, refusal, None);
    // Each program has had a lease of its own, and none is left.
    for (instance, has_any) in [("core-23", true), ("core-23:smf", false)] {
        let key = |name: &str| format!("sluice:{{{instance}}}:{name}");
        assert_eq!(redis.cli(&["EXISTS", &key("state")]).unwrap().trim(), "1");
        assert_eq!(redis.cli(&["EXISTS", &key("lease")]).unwrap().trim(), "0");
        let number = redis.cli(&["HLEN", &key("contexts")]).unwrap();
        assert!(number.trim() != "0" || !has_any, "{instance}: {number}");
    }
}

#[test]
fn an_smf_that_was_killed_goes_on_with_its_sessions() {
    let (place, memory) = (Place::new(), memory());
    let upf = Upf::start(&place, false);
    let section = format!("{}{RING}", section(&memory));
    let (core, ran) = with_session(&place, &upf, &section);
    let session = || core.ask_of("ue", "001010000000001")["ue"]["sessions"][0].clone();
    let before = session();
    assert!(!before["upf_seid"].is_null(), "{before}");
    let smf = pid_of(&core, "smf pcf");
    signal(smf, "-KILL");
    wait("the SMF is there again", || {
        pid_of_any(&core, "smf pcf").is_some_and(|pid| pid != smf)
    });
    wait("it goes on with the session", || session() == before);
    assert_eq!(upf.count(MessageType::SESSION_ESTABLISHMENT_REQUEST), 1);
    assert_eq!(upf.count(MessageType::SESSION_DELETION_REQUEST), 0);
    // It is not only shown: the SMF releases it at the UPF as the UE goes.
    let mut ran = ran;
    core.ask_of("deregister", "001010000000001");
    ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
    wait("the UPF has no session", || {
        upf.count(MessageType::SESSION_DELETION_REQUEST) == 1
    });
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("goes on with 1 sessions"), "{log}");
}

#[test]
fn an_amf_forgets_sessions_that_an_smf_without_contexts_has_lost() {
    let place = Place::new();
    let upf = Upf::start(&place, false);
    let (core, _ran) = with_session(&place, &upf, RING);
    let sessions = || core.ask_of("ue", "001010000000001")["ue"]["sessions"].clone();
    assert_eq!(sessions().as_array().unwrap().len(), 1);
    signal(pid_of(&core, "smf"), "-KILL");
    wait("the AMF forgets it", || {
        sessions().as_array().unwrap().is_empty()
    });
    assert_eq!(core.stop().0, Some(0));
}

#[test]
fn contexts_are_taken_up_after_a_change_of_the_wiring_and_back() {
    let memory = memory();
    move_with_the_smf(&Place::new(), &section(&memory));
}

#[test]
fn contexts_at_redis_are_taken_up_after_a_change_of_the_wiring_and_back() {
    let place = Place::new();
    let redis = match Redis::start() {
        Ok(redis) => redis,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    move_with_the_smf(&place, &redis_section(&place, &redis));
    let of_sessions = redis.cli(&["HLEN", "sluice:{core-23:smf}:contexts"]);
    assert_eq!(of_sessions.unwrap().trim(), "1", "its start alone");
}

/// A core whose SMF goes to a program of its own and back goes on with its session.
fn move_with_the_smf(place: &Place, section: &str) {
    let upf = Upf::start(place, false);
    let (mut core, ran) = with_session(place, &upf, section);
    let session = |core: &Core| {
        let ue = core.try_ask(serde_json::json!({ "cmd": "ue", "imsi": "001010000000001" }));
        ue.unwrap()["ue"]["sessions"][0].clone()
    };
    let own = std::fs::read_to_string(place.folder.path().join("core.yaml")).unwrap();
    let before = session(&core);
    drop(ran);
    for config in [&format!("{own}{RING}"), &own, &format!("{own}{RING}"), &own] {
        kill(core);
        core = Core::start_with(place, config);
        wait("the SMF is there", || {
            session(&core)["seid"] == before["seid"]
        });
        let after = session(&core);
        for key in ["addresses", "upf_seid", "upf_tunnel"] {
            assert_eq!(after[key], before[key], "{key} in {after}");
        }
    }
    assert_eq!(core.ask("ues")["registered"], 1);
    assert_eq!(upf.count(MessageType::SESSION_ESTABLISHMENT_REQUEST), 1);
    assert_eq!(upf.count(MessageType::SESSION_DELETION_REQUEST), 0);
    assert_eq!(core.stop().0, Some(0));
}

#[test]
fn ues_of_a_core_without_contexts_register_anew() {
    let place = Place::new();
    let core = Core::start(&place);
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![ue("0000000001", KEY)]);
    ran.register(0);
    let phones = ran.phones;
    drop(ran.node);
    kill(core);
    let core = Core::start(&place);
    assert_eq!(core.ask("ues")["registered"], 0);
    let ues: Vec<_> = phones.into_iter().map(|(ue, _)| ue).collect();
    let mut ran = Ran::connect(&place, [0, 0, 7], ues);
    let (phone, _) = &mut ran.phones[0];
    let request = phone.register(RegistrationKind::Periodic);
    let s_tmsi = phone.guti().map(sluice_ids::Guti::s_tmsi);
    let (at, octets) = ran.gnb.connect(request, s_tmsi);
    ran.phones[0].1 = Some(at);
    ran.send(1, &octets);
    ran.wait("the registration", |ran| ran.phones[0].1.is_none());
    assert_eq!(core.ask("counters")["amf"]["registrations"], 1);
}

#[test]
fn ues_of_a_core_that_could_not_store_all_register_anew() {
    let (place, memory) = (Place::new(), memory());
    let config = format!("{}{}", section(&memory), place.config());
    let core = Core::start_with(&place, &config);
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![ue("0000000001", KEY)]);
    ran.register(0);
    assert_eq!(core.ask("status")["contexts"]["up"], true);
    kill(core);
    // As a core leaves it whose folder is full.
    let folder = memory.path().join("contexts");
    std::fs::rename(folder.join("current"), folder.join("behind")).unwrap();
    let core = Core::start_with(&place, &config);
    assert_eq!(core.ask("ues")["registered"], 0);
    assert!(folder.join("current").exists() && !folder.join("behind").exists());
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("could not store all contexts"), "{log}");
    assert!(log.contains("this is start 1"), "{log}");
}

#[test]
fn keys_are_not_stored_on_a_disk_by_accident() {
    let place = Place::new();
    // Of the build, which is on a disk wherever this runs; if it is not, nothing can be shown here.
    let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    if sluice_contexts::is_in_memory(folder.path()).unwrap() {
        return;
    }
    let file = place.file(&format!("{}{}", section(&folder), place.config()));
    for arguments in [&["--check"][..], &[]] {
        let refused = run(&file, arguments);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(3), "{told}");
        assert!(told.contains("on_disk: true"), "{told}");
    }
}

#[test]
fn while_redis_is_away_ues_are_served_and_stored_afterwards() {
    let place = Place::new();
    let redis = match Redis::start() {
        Ok(redis) => redis,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    let section = redis_section(&place, &redis);
    let config = with_api(&place, &place.config());
    let core = Core::start_with(&place, &format!("{section}{config}"));
    redis.kill().unwrap();
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![ue("0000000001", KEY)]);
    ran.register(0);
    assert_eq!(ran.phones[0].0.state(), UeState::Registered);
    let state = || core.ask("status")["contexts"].clone();
    let away = state();
    assert_eq!(away["up"], false, "{away}");
    assert!(away["pending"].as_u64() > Some(0), "{away}");
    let failures = metric(&place, "contexts_failures_total");
    assert!(failures.is_some_and(|number| number > 0.0), "{failures:?}");
    assert_eq!(metric(&place, "contexts_up"), Some(0.0));
    assert_eq!(metric(&place, "subscriber_database_up"), None);
    redis.start_again().unwrap();
    let end = Instant::now() + LIMIT;
    let number = || redis.cli(&["HLEN", "sluice:{core-23}:contexts"]).unwrap();
    while number().trim() == "0" {
        assert!(Instant::now() < end, "nothing is stored");
        std::thread::sleep(Duration::from_millis(50));
    }
    wait("the core hears of it", || {
        let back = state();
        back["up"] == true && back["pending"] == 0
    });
    assert_eq!(metric(&place, "contexts_up"), Some(1.0));
    assert_eq!(metric(&place, "contexts_pending"), Some(0.0));
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    let told = log
        .matches("contexts are not stored as they should be")
        .count();
    assert!((1..=16).contains(&told), "{log}");
    // A core that cannot reach it does not start, and a check says so.
    redis.kill().unwrap();
    let file = place.folder.path().join("core.yaml");
    for arguments in [&["--check"][..], &[]] {
        let refused = run(&file, arguments);
        let told = String::from_utf8(refused.stderr).unwrap();
        assert_eq!(refused.status.code(), Some(4), "{told}");
        assert!(told.contains("core.yaml:1: contexts.redis.url"), "{told}");
    }
    std::fs::remove_file(place.folder.path().join("contexts.key")).unwrap();
    let refused = run(&file, &["--check"]);
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(
        told.contains("contexts.redis.key_file") && told.contains("openssl rand"),
        "{told}"
    );
}

#[test]
fn an_amf_that_was_killed_goes_on_with_its_ues() {
    let (place, memory) = (Place::new(), memory());
    let upf = Upf::start(&place, false);
    let section = format!("{}{RING}", section(&memory));
    let (core, mut ran) = with_session(&place, &upf, &section);
    let before = core.ask_of("ue", "001010000000001");
    let amf = pid_of(&core, "amf");
    signal(amf, "-KILL");
    wait("the AMF is there again", || {
        pid_of_any(&core, "amf").is_some_and(|pid| pid != amf)
    });
    // Whatever the gNB sends, the AMF aborts an association that it does not know.
    let request = ran.gnb.setup();
    ran.send(0, &request);
    ran.wait("the end of the association", |ran| ran.is_lost);
    ran.connect_again();
    let (phone, _) = &mut ran.phones[0];
    phone.sessions_mut().set_data(1 << 5);
    let (name, request) = (phone.guti(), phone.request_service().unwrap());
    let (at, octets) = ran.gnb.connect(request, name.map(sluice_ids::Guti::s_tmsi));
    ran.phones[0].1 = Some(at);
    ran.send(1, &octets);
    ran.wait("the user plane", |ran| ran.gnb.session(at, 5).is_some());
    assert_eq!(ran.phones[0].0.guti(), name, "it has not registered anew");
    // The SMF may still wait for the UPF's answer.
    let mut after = serde_json::Value::Null;
    wait("the session is resumed", || {
        after = core.ask_of("ue", "001010000000001");
        after["ue"]["sessions"][0]["waits_at"].is_null()
    });
    for key in ["addresses", "upf_tunnel", "upf_seid"] {
        let of = |told: &serde_json::Value| told["ue"]["sessions"][0][key].clone();
        assert_eq!(of(&before), of(&after), "{key} in {after}");
    }
    assert_eq!(core.ask("counters")["amf"]["registrations"], 0);
    assert_eq!(upf.count(MessageType::SESSION_ESTABLISHMENT_REQUEST), 1);
    // The UDR still has its AMF: a subscriber that is withdrawn is deregistered.
    let config = std::fs::read_to_string(place.folder.path().join("core.yaml")).unwrap();
    let (others, _) = config.split_once("  - {imsi: '001010000000001'").unwrap();
    let second = config.lines().find(|line| line.contains("001010000000002"));
    place.file(&format!("{others}{}\n", second.unwrap()));
    let told = core.ask("reload");
    assert_eq!(
        told["changed"],
        serde_json::json!(["subscribers"]),
        "{told}"
    );
    ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
    wait("the UPF has no session", || {
        upf.count(MessageType::SESSION_DELETION_REQUEST) == 1
    });
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("goes on with 1 UEs;"), "{log}");
}

#[test]
fn an_smf_forgets_sessions_of_an_amf_without_contexts() {
    let place = Place::new();
    let upf = Upf::start(&place, false);
    let (core, _ran) = with_session(&place, &upf, RING);
    signal(pid_of(&core, "amf"), "-KILL");
    wait("the SMF releases it at the UPF", || {
        upf.count(MessageType::SESSION_DELETION_REQUEST) == 1
    });
    wait("no session is left", || core.ask("status")["sessions"] == 0);
    assert_eq!(core.stop().0, Some(0));
}

#[test]
fn a_subscriber_that_is_removed_while_no_core_runs_is_deregistered() {
    let joint = "wiring: {transport: ring, programs: {functions: [amf, smf, pcf]}}\n";
    let with_udr =
        "wiring: {transport: ring, programs: [{functions: [amf, udr]}, {functions: [smf, pcf]}]}\n";
    for wiring in ["", RING, joint, with_udr] {
        let (place, memory) = (Place::new(), memory());
        let upf = Upf::start(&place, false);
        let section = format!("{}{wiring}", section(&memory));
        let (core, ran) = with_session(&place, &upf, &section);
        drop(ran);
        let config = std::fs::read_to_string(place.folder.path().join("core.yaml")).unwrap();
        let is_first = |line: &&str| line.contains("imsi: '001010000000001'");
        let left: Vec<_> = config.lines().filter(|line| !is_first(line)).collect();
        kill(core);
        let core = Core::start_with(&place, &left.join("\n"));
        wait("its UE is deregistered", || {
            core.ask("ues")["registered"] == 0
        });
        wait("the UPF has no session", || {
            upf.count(MessageType::SESSION_DELETION_REQUEST) == 1
        });
        assert_eq!(core.stop().0, Some(0));
    }
}
