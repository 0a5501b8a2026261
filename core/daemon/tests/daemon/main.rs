//! The program as operators run it: SCTP over UDP on the loopback interface, an emulated gNB and its
//! UEs at the other end, `sluice ctl`'s requests, HTTP, signals and exit codes.

#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod alerts;
mod api;
mod causes;
mod contexts;
mod ending;
mod front;
mod http2;
mod instances;
mod metrics;
mod place;
mod qos;
mod reload;
mod repository;
mod schema;
mod screen;
mod server;
mod stores;
mod tokens;
mod upf;
mod wirings;

use std::fs;
use std::net::UdpSocket;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use place::{Core, KEY, LIMIT, OPC, Place, Ran, run, ue, with_database};
use serde_json::{Value, json};
use sluice_subscribers::{Access, Store, StoreKey};

fn all_functions_are_registered(core: &Core) {
    let nfs = core.ask("nfs");
    let kinds: Vec<_> = nfs["nfs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["type"].as_str().unwrap())
        .collect();
    assert_eq!(
        kinds,
        ["AMF", "AUSF", "UDM", "UDR", "SMF", "NSSF", "PCF"],
        "{nfs}"
    );
    for one in nfs["nfs"].as_array().unwrap() {
        assert_eq!(one["status"], "REGISTERED", "{one}");
    }
    let smf = &nfs["nfs"][4]["serves"];
    assert_eq!(smf[0]["data_networks"], json!(["internet"]), "{nfs}");
    assert_eq!(smf[0]["slices"], json!(["1"]), "{nfs}");
}

fn shows_its_authentication(ue: &Value) {
    let last = &ue["authentication"];
    let network = "5G:mnc001.mcc001.3gppnetwork.org";
    assert_eq!(
        (&last["success"], &last["method"], &last["serving_network"]),
        (&json!(true), &json!("5G_AKA"), &json!(network)),
        "{ue}"
    );
    assert!(last["unix_s"].as_u64().unwrap() > 1_700_000_000, "{ue}");
}

#[test]
fn ues_register_and_operators_see_them() {
    let place = Place::new();
    let upf = UdpSocket::bind((place.ip(3).as_str(), 8805)).unwrap();
    upf.set_read_timeout(Some(LIMIT)).unwrap();
    let core = Core::start(&place);
    // N4: an Association Setup Request (TS 29.244, 7.3: type 5) of the core's address.
    let mut room = [0; 1500];
    let (_, from) = upf.recv_from(&mut room).unwrap();
    assert_eq!((from.ip().to_string(), room[1]), (place.ip(1), 5));
    let mut first = ue("0000000001", KEY);
    first.follow_on = true;
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![first, ue("0000000002", KEY)]);
    ran.register(0);
    ran.register(1);
    all_functions_are_registered(&core);
    let gnbs = core.ask("gnbs");
    assert_eq!(gnbs["gnbs"][0]["name"], "gnb-5", "{gnbs}");
    assert_eq!(gnbs["gnbs"][0]["address"], place.ip(2), "{gnbs}");
    assert_eq!(gnbs["gnbs"][0]["areas"], "001-01 000007 slices 1", "{gnbs}");
    let ues = core.ask("ues");
    assert_eq!(
        (&ues["registered"], &ues["connected"]),
        (&json!(2), &json!(1)),
        "{ues}"
    );
    assert_eq!(ues["ues"][0]["state"], "connected", "{ues}");
    assert_eq!(ues["ues"][1]["state"], "idle", "{ues}");
    let one = core.ask_of("ue", "imsi-001010000000001");
    assert_eq!(one["ue"]["connected"]["gnb"], "gnb-5", "{one}");
    assert_eq!(one["ue"]["allowed_slices"], json!(["1"]), "{one}");
    shows_its_authentication(&one["ue"]);
    let flow = core.ask_of("flow", "001010000000001");
    let said: Vec<_> = flow["lines"].as_array().unwrap().iter().collect();
    let what = |line: &&Value| line["what"].as_str().unwrap().to_owned();
    // From the first message on, when nobody knew yet whose it was.
    assert!(what(&said[0]).starts_with("Registration Request"), "{flow}");
    let last = said
        .iter()
        .map(what)
        .any(|what| what == "Registration Complete");
    assert!(last, "{flow}");
    assert_eq!(core.ask("procedures")["procedures"], json!([]));
    let status = core.ask("status");
    assert_eq!(status["upfs"][0]["associated"], false, "{status}");
    let counters = core.ask("counters");
    assert_eq!(counters["amf"]["registrations"], 2, "{counters}");
    let told = core.ask_of("deregister", "001010000000001");
    assert_eq!(told["deregistering"], "001010000000001", "{told}");
    ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
    // The gNB may be told before the sessions are gone.
    let end = Instant::now() + LIMIT;
    let gone = loop {
        let told = core.ask_of("ue", "001010000000001");
        if told.get("error").is_some() || Instant::now() > end {
            break told;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(
        gone["error"].as_str().unwrap().contains("not registered"),
        "{gone}"
    );
    let unknown = core.ask_of("ue", "001010000000009");
    assert!(
        unknown["error"].as_str().unwrap().contains("no subscriber"),
        "{unknown}"
    );
    let socket = place.socket();
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(!socket.exists(), "the socket is left behind");
    ran.wait("the gNB hears of the end", |ran| ran.is_lost);
    assert!(!log.contains("46464646"), "keys are not logged");
}

#[test]
fn a_database_of_subscribers_is_served_and_its_changes_act_at_once() {
    let place = Place::new();
    let config = with_database(&place);
    let file = place.file(&config.replace("/db}", "/none}"));
    let refused = run(&file, &["--check"]);
    assert_eq!(refused.status.code(), Some(3));
    let told = String::from_utf8(refused.stderr).unwrap();
    assert!(told.contains("subscriber_database.key_file"), "{told}");
    let core = Core::start_with(&place, &config);
    let ask = |request: Value| core.try_ask(request).expect("an answer");
    let mut ran = Ran::connect(
        &place,
        [0, 0, 7],
        vec![ue("0000000003", KEY), ue("0000000004", KEY)],
    );
    ran.register(0);
    let imsi = "001010000000003";
    let change =
        |set: Value| json!({ "cmd": "subscriber_change", "imsi": imsi, "change": { "set": set } });
    // Barred: it is deregistered, and may not come back.
    let told = ask(change(json!({ "barred": true })));
    assert_eq!(told["barred"], true, "{told}");
    let is_gone = || core.ask_of("ue", imsi).get("error").is_some();
    ran.wait("the barred UE is gone", |_| is_gone());
    let refused = ask(change(json!({ "ue_ambr_up_bps": "x" })));
    assert_eq!(refused["kind"], "problems", "{refused}");
    assert!(
        ask(change(json!({ "barred": false })))
            .get("error")
            .is_none()
    );
    // A new one registers as soon as it is there.
    let hex = |octets: [u8; 16]| octets.map(|o| format!("{o:02x}")).concat();
    let text = format!("imsi,k,opc\n001010000000004,{},{}\n", hex(KEY), hex(OPC));
    let told = ask(json!({ "cmd": "subscriber_import", "format": "csv", "text": text }));
    assert_eq!(told, json!({ "added": 1, "replaced": 0 }));
    ran.register(1);
    let told = ask(json!({ "cmd": "subscriber_remove", "imsi": "001010000000004" }));
    assert_eq!(told["removed"], "001010000000004", "{told}");
    let is_gone = || core.ask_of("ue", "001010000000004").get("error").is_some();
    ran.wait("the removed UE is gone", |_| is_gone());
    let key = ask(json!({ "cmd": "home_key_new", "profile": "a" }));
    assert_eq!(key["id"], 1, "{key}");
    let missing = ask(json!({ "cmd": "subscriber_show", "imsi": "001010000000004" }));
    assert_eq!(missing["kind"], "failed", "{missing}");
    // Nobody else changes it meanwhile.
    let at = |name: &str| place.folder.path().join(name);
    let key = StoreKey::read(&at("db.key")).unwrap();
    let busy = Store::open(&at("db"), &key, Access::Change).unwrap_err();
    assert!(busy.to_string().contains("in use"), "{busy}");
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    let store = Store::open(&at("db"), &key, Access::Read).unwrap();
    assert_eq!(
        (store.number().unwrap(), store.home_keys().unwrap().len()),
        (1, 1)
    );
    // The second of the start is told by nobody: its sequence number was stored.
    let supi = sluice_ids::Supi::from_imsi(imsi).unwrap();
    let sqn = store.get(&supi).unwrap().unwrap().sqn;
    assert_eq!(sqn.difference_s, -1_790_000_000);
    assert!(sqn.last.sequence() > 0, "{sqn:?}");
    let hex = hex(KEY);
    assert!(!log.contains(&hex[..8]), "keys are not logged");
}

#[test]
fn each_refusal_says_why_and_what_to_do() {
    let place = Place::new();
    let core = Core::start(&place);
    let ran = Ran::connect(&place, [0, 0, 9], Vec::new());
    assert!(ran.gnb.refused().is_some());
    ran.node.close();
    let ues = vec![ue("0000000009", KEY), ue("0000000001", [0x47; 16])];
    let mut ran = Ran::connect(&place, [0, 0, 7], ues);
    ran.register(0);
    ran.register(1);
    let refusals = core.ask("refusals");
    assert_eq!(refusals["total"], 3, "{refusals}");
    let rows: Vec<String> = refusals["refusals"]
        .as_array()
        .unwrap()
        .iter()
        .map(ToString::to_string)
        .collect();
    // The newest first.
    assert!(
        rows[0].contains("compare K and OPc of the subscriber"),
        "{refusals}"
    );
    assert!(
        rows[1].contains("there is no subscriber of this identity"),
        "{refusals}"
    );
    assert!(rows[1].contains("#3 (illegal UE)"), "{refusals}");
    assert!(
        rows[2].contains("NG Setup") && rows[2].contains("gnb-5"),
        "{refusals}"
    );
    assert!(
        rows[2].contains("add the area to tracking_areas"),
        "{refusals}"
    );
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    let told = "there is no subscriber of this identity";
    assert!(log.contains(told), "the log tells it, too: {log}");
}

#[test]
fn exit_codes_tell_files_from_machines() {
    let place = Place::new();
    let good = place.file(&place.config());
    let checked = run(&good, &["--check", "--json"]);
    let told: Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert_eq!(
        (checked.status.code(), &told["ok"]),
        (Some(0), &json!(true)),
        "{told}"
    );
    assert_eq!(told["summary"]["subscribers"], 2, "{told}");
    assert!(
        !String::from_utf8_lossy(&checked.stdout).contains("46464646"),
        "no keys"
    );
    // What the file says is wrong.
    let bad = place.file(&place.config().replace("tac: 7", "tac: x"));
    let refused = run(&bad, &[]);
    let error = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2), "{error}");
    assert!(
        error.contains("core.yaml:2: tracking_areas.tac: got 'x'; expected a number"),
        "{error}"
    );
    // What the machine lacks: an address, a key.
    let key = "home_network_keys: {id: 1, profile: a, file: /nowhere/key}\n";
    let text = place.config().replace(&place.ip(1), "192.0.2.77");
    let lacking = place.file(&format!("{key}{text}"));
    assert_eq!(run(&lacking, &["--check=file"]).status.code(), Some(0));
    for arguments in [&["--check"][..], &[]] {
        let lacking = run(&lacking, arguments);
        let error = String::from_utf8_lossy(&lacking.stderr).into_owned();
        assert_eq!(lacking.status.code(), Some(3), "{error}");
        assert!(
            error.contains("core.yaml:1: home_network_keys[0].file: /nowhere/key cannot be read"),
            "{error}"
        );
    }
    let lacking = place.file(&text);
    let lacking = run(&lacking, &[]);
    let error = String::from_utf8_lossy(&lacking.stderr).into_owned();
    assert_eq!(lacking.status.code(), Some(3), "{error}");
    assert!(
        error.contains("n2.listen") && error.contains("192.0.2.77"),
        "{error}"
    );
}

#[test]
fn what_may_be_there_in_a_while_has_an_exit_code_of_its_own() {
    let place = Place::new();
    // A port that another program has still, as the kernel may after a crash.
    let other = Core::start(&place);
    let own = place.socket().display().to_string();
    let beside = place.config().replace(&own, &format!("{own}.beside"));
    let taken = run(&place.file(&beside), &[]);
    let error = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert_eq!(taken.status.code(), Some(4), "{error}");
    assert!(error.contains("n2.listen"), "{error}");
    assert_eq!(other.stop().0, Some(0));
    // Another daemon that is about to end.
    let socket = std::os::unix::net::UnixListener::bind(place.socket()).unwrap();
    let taken = run(&place.file(&place.config()), &[]);
    let error = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert_eq!(taken.status.code(), Some(4), "{error}");
    drop(socket);
    fs::remove_file(place.socket()).unwrap();
    // What does not come by itself, beside.
    let text = format!("charging_records: /nowhere/records\n{}", place.config());
    assert_eq!(run(&place.file(&text), &[]).status.code(), Some(3));
}

#[test]
fn systemd_starts_a_core_again_for_what_may_come() {
    let unit = fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../packaging/sluice-core.service"
    ));
    let unit = unit.unwrap();
    let line = |wanted: &str| unit.lines().any(|line| line == wanted);
    for wanted in [
        "Restart=on-failure",
        "RestartPreventExitStatus=2 3",
        "StartLimitIntervalSec=0",
        // Programs of functions end with the core, in order.
        "KillMode=mixed",
    ] {
        assert!(line(wanted), "{wanted}");
    }
    // systemd asks for the exit code of the main process alone: a check before it would be tried again for ever.
    let check = unit.lines().find(|line| line.starts_with("ExecStartPre="));
    assert!(check.is_none_or(|check| check.starts_with("ExecStartPre=-")));
}

#[test]
fn a_check_looks_at_files_and_the_control_socket() {
    let place = Place::new();
    // A charging file without a folder, and keys that others may read.
    let text = format!("charging_records: /nowhere/records\n{}", place.config());
    let lacking = run(&place.file(&text), &["--check"]);
    let error = String::from_utf8_lossy(&lacking.stderr).into_owned();
    assert_eq!(lacking.status.code(), Some(3), "{error}");
    assert!(
        error.contains("charging_records: /nowhere/records cannot be written"),
        "{error}"
    );
    let shown = place.file(&place.config());
    fs::set_permissions(&shown, fs::Permissions::from_mode(0o640)).unwrap();
    for arguments in [&["--check"][..], &[]] {
        let refused = run(&shown, arguments);
        let error = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(3), "{error}");
        assert!(
            error.contains("others may read (mode 640); expected chmod 600"),
            "{error}"
        );
    }
    assert_eq!(run(&shown, &["--check=file"]).status.code(), Some(0));
    let other = std::os::unix::net::UnixListener::bind(place.socket()).unwrap();
    let beside = run(&place.file(&place.config()), &["--check"]);
    let error = String::from_utf8_lossy(&beside.stderr).into_owned();
    assert!(
        error.contains("warning") && error.contains("another core answers"),
        "{error}"
    );
    drop(other);
    fs::remove_file(place.socket()).unwrap();
    fs::write(place.socket(), "").unwrap();
    let taken = run(&place.file(&place.config()), &["--check"]);
    let error = String::from_utf8_lossy(&taken.stderr).into_owned();
    assert_eq!(taken.status.code(), Some(3), "{error}");
    assert!(error.contains("something that is no socket"), "{error}");
    fs::remove_file(place.socket()).unwrap();
}
