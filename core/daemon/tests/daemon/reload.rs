//! `reload` and what else changes while UEs are there: gNBs and UEs are told, and nobody is lost.

use std::fs;
use std::net::UdpSocket;
use std::time::Instant;

use crate::place::{Core, KEY, LIMIT, Place, Ran, ue};
use serde_json::{Value, json};
use sluice_ids::Snssai;
use sluice_n1::RegistrationKind;
use sluice_n2::{Overload, OverloadAction};
use sluice_ue::UeState;

fn changed(answer: &Value) -> Vec<&str> {
    let list = answer["changed"].as_array();
    let list = list.unwrap_or_else(|| panic!("{answer}")).iter();
    list.map(|key| key.as_str().unwrap()).collect()
}

/// Other slices, timers, bounds, UPFs, data networks, gNBs, log, and another subscriber.
fn much_else(place: &Place, config: &str) -> String {
    let text = config
        .replace("slices: 1}", "slices: [1, 2]}")
        .replace("001010000000002", "001010000000003")
        .replace(
            "data_networks: {name: internet}",
            "data_networks: [{name: internet}, {name: ims}]",
        )
        .replace(&format!("gnbs: {}", place.ip(2)), "gnbs: 127.0.0.0/8")
        .replace(
            &format!("{}}}\n", place.ip(3)),
            &format!("{}, slices: 1}}\n", place.ip(3)),
        );
    format!("timers: {{t3512_s: 600}}\noverload: {{unauthenticated: 100}}\nlog: debug\n{text}")
}

/// What the first UE is told when it registers again; it is idle then.
fn t3512_s(ran: &mut Ran, kind: RegistrationKind) -> Option<u32> {
    let nas = ran.phones[0].0.register(kind);
    let (at, octets) = ran.gnb.connect(nas, None);
    ran.phones[0].1 = Some(at);
    ran.send(1, &octets);
    ran.wait("the registration", |ran| ran.phones[0].1.is_none());
    ran.phones[0].0.accept().unwrap().t3512_s
}

#[test]
fn a_reload_changes_what_it_may_and_loses_no_ue() {
    let place = Place::new();
    let config = place.config();
    let core = Core::start(&place);
    let mut first = ue("0000000001", KEY);
    first.follow_on = true;
    let mut ran = Ran::connect(
        &place,
        [0, 0, 7],
        vec![first, ue("0000000002", KEY), ue("0000000003", KEY)],
    );
    ran.register(0);
    ran.register(1);
    // The same again changes nothing.
    assert_eq!(changed(&core.ask("reload")), Vec::<&str>::new());
    // What UEs show, alone: told to the one that is connected.
    let named = format!("network_name: {{full: Other}}\n{config}");
    place.file(&named);
    assert_eq!(changed(&core.ask("reload")), ["network_name"]);
    ran.wait("the name", |ran| ran.phones[0].0.told.is_some());
    let told = ran.phones[0].0.told.clone().unwrap();
    assert_eq!(
        (told.full_name.as_deref(), told.register),
        (Some("Other"), false)
    );
    // Slices, timers, UPFs, data networks, gNBs, the log, and who is a subscriber.
    place.file(&much_else(&place, &named));
    let answer = core.ask("reload");
    let expected = [
        "plmns",
        "timers",
        "n2.gnbs",
        "overload",
        "upfs",
        "data_networks",
        "subscribers",
        "log",
    ];
    assert_eq!(changed(&answer), expected, "{answer}");
    // The NRF knows what the SMF serves now.
    let nfs = core.ask("nfs");
    let smf = &nfs["nfs"].as_array().unwrap()[4];
    assert_eq!(smf["type"], "SMF", "{nfs}");
    let served = &smf["serves"][0]["data_networks"];
    assert_eq!(*served, json!(["internet", "ims"]), "{nfs}");
    // The gNB is told by an AMF Configuration Update.
    let slices = [Snssai::new(1, None), Snssai::new(2, None)];
    ran.wait("the update", |ran| {
        let told = ran.gnb.response().unwrap();
        told.plmns[0].slices == slices
    });
    // The UE that is connected registers again when it is idle, and was registered all the while.
    ran.wait("the UE is told", |ran| ran.phones[0].1.is_none());
    assert!(ran.phones[0].0.told.clone().unwrap().register);
    ran.wait("the AMF knows that it is idle", |_| {
        core.ask("ues")["ues"][0]["state"] == "idle"
    });
    ran.phones[0].0.follow_on = false;
    assert_eq!(t3512_s(&mut ran, RegistrationKind::Mobility), Some(600));
    // Who is gone is deregistered; who is new may come.
    let end = Instant::now() + LIMIT;
    while core.ask_of("ue", "001010000000002").get("error").is_none() {
        assert!(Instant::now() < end, "it is still there");
        ran.turn();
    }
    ran.register(2);
    assert_eq!(ran.phones[2].0.state(), UeState::Registered);
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(log.contains("changed: plmns, timers, n2.gnbs"), "{log}");
    assert!(
        log.contains("DEBUG sluice_flow"),
        "the log tells more: {log}"
    );
    assert!(!log.contains("46464646"), "keys are not logged");
}

#[test]
fn what_needs_a_restart_is_named_and_nothing_is_changed() {
    let place = Place::new();
    let config = place.config();
    let core = Core::start(&place);
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![ue("0000000001", KEY)]);
    ran.register(0);
    let more = "timers: {t3512_s: 600}\n";
    for (text, told) in [
        (
            config.replace("over: udp", "over: udp, port: 38413"),
            "n2.listen, more_addresses, sctp, over, port",
        ),
        (
            config.replace("over: udp", "over: udp, sctp: userspace"),
            "n2.listen, more_addresses, sctp, over, port",
        ),
        (
            format!("amf: {{pointer: 1}}\n{config}"),
            "amf.plmn, region, set and pointer",
        ),
        (config.replace("core.sock", "other.sock"), "control_socket"),
        (
            format!("api: {{listen: '127.0.0.1:9'}}\n{config}"),
            "api: changes there need a restart",
        ),
        (
            config.replace("tac: 7", "tac: x"),
            "core.yaml:3: tracking_areas.tac",
        ),
        (config.replace("plmns:", "plnms:"), "plnms"),
        (
            format!("charging_records: /nowhere/records\n{config}"),
            "charging_records",
        ),
    ] {
        place.file(&format!("{more}{text}"));
        let refused = core.ask("reload");
        let why = refused["error"]
            .as_str()
            .unwrap_or_else(|| panic!("{told}: {refused}"));
        assert!(
            why.starts_with("nothing was changed: ") && why.contains(told),
            "{why}"
        );
    }
    fs::remove_file(place.folder.path().join("core.yaml")).unwrap();
    let refused = core.ask("reload");
    assert!(
        refused["error"].as_str().unwrap().contains("core.yaml"),
        "{refused}"
    );
    // The period of before is told still.
    assert_ne!(t3512_s(&mut ran, RegistrationKind::Periodic), Some(600));
}

#[test]
fn a_gnb_that_may_not_speak_any_more_is_aborted_and_not_heard() {
    let place = Place::new();
    let core = Core::start(&place);
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![]);
    let gnbs = format!("gnbs: {}", place.ip(2));
    place.file(&place.config().replace(&gnbs, "gnbs: 192.0.2.1"));
    assert_eq!(changed(&core.ask("reload")), ["n2.gnbs"]);
    ran.wait("the abort", |ran| ran.is_lost);
    assert_eq!(core.ask("gnbs")["gnbs"], json!([]));
    // Who tries is told of, with what to do.
    drop(ran);
    let stranger = UdpSocket::bind((place.ip(2).as_str(), 9899)).unwrap();
    let mut init = [0; 32];
    init[..4].copy_from_slice(&[0x9c, 0x40, 0x96, 0x0c]);
    stranger
        .send_to(&init, (place.ip(1).as_str(), 9899))
        .unwrap();
    let end = Instant::now() + LIMIT;
    let told = loop {
        let refusals = core.ask("refusals");
        if refusals["total"] == 1 {
            break refusals["refusals"][0].clone();
        }
        assert!(Instant::now() < end, "{refusals}");
    };
    assert_eq!(told["who"], format!("SCTP of {}", place.ip(2)), "{told}");
    assert!(
        told["remedy"].as_str().unwrap().contains("n2.gnbs"),
        "{told}"
    );
    drop(stranger);
    // It may again.
    place.file(&place.config());
    assert_eq!(changed(&core.ask("reload")), ["n2.gnbs"]);
    let ran = Ran::connect(&place, [0, 0, 7], vec![]);
    assert!(ran.gnb.response().is_some());
}

#[test]
fn overload_and_updates_of_gnbs_are_the_operators_to_begin_and_to_end() {
    let place = Place::new();
    let core = Core::start(&place);
    let mut ran = Ran::connect(&place, [0, 0, 7], vec![]);
    let start = json!({ "cmd": "overload_start", "action": "permit_emergency", "percent": 40 });
    let told = core.try_ask(start).unwrap();
    assert_eq!(told["gnbs"], 1, "{told}");
    let overload = Overload {
        action: OverloadAction::PermitEmergency,
        percent: Some(40),
    };
    ran.wait("Overload Start", |ran| ran.gnb.overload == Some(overload));
    assert_eq!(core.ask("status")["overload"]["percent"], 40);
    let wrong = json!({ "cmd": "overload_start", "percent": 0 });
    assert!(
        core.try_ask(wrong).unwrap()["error"]
            .as_str()
            .unwrap()
            .contains("1 to 99")
    );
    let status = core.ask("status");
    assert!(status["busy_percent"].as_u64() <= Some(100), "{status}");
    assert_eq!(status["ues_unauthenticated"], 0);
    core.ask("overload_stop");
    ran.wait("Overload Stop", |ran| ran.gnb.overload.is_none());
    assert_eq!(core.ask("update_gnbs")["told"], 1);
    ran.wait("the acknowledgement", |_| {
        let counters = core.ask("counters");
        counters["n2"]["received"] == 2
    });
}
