//! The UDR in a program of its own: what it has is there again after a kill, and moves with the wiring.

use std::fs;

use serde_json::{Value, json};
use sluice_ids::Supi;
use sluice_n1::{Cause, Downlink};
use sluice_security::suci::HomeKey;
use sluice_security::{K, Opc};
use sluice_subscribers::draft::Text;
use sluice_subscribers::{Access, Draft, Store, StoreKey};
use sluice_ue::{Sim, Ue, UeState};

use crate::contexts::{memory, section};
use crate::ending::with_session;
use crate::place::{Core, KEY, OPC, Place, Ran, plmn, ue, with_database};
use crate::upf::Upf;
use crate::wirings::{pid_of, pid_of_any, signal, wait};

const RING: &str = "wiring: {transport: ring}\n";
const ALONE: &str = "wiring: {transport: ring, programs: {functions: [udr]}}\n";
const IMSI: &str = "001010000000001";

/// Kills the program of the UDR, and waits until another is there.
fn kill_udr(core: &Core) {
    let before = pid_of(core, "udr");
    signal(before, "-KILL");
    wait("the UDR is started again", || {
        pid_of_any(core, "udr").is_some_and(|pid| pid != before)
    });
}

/// The UDR answers: there is another subscriber, whose UE is not registered.
fn knows_the_other(core: &Core) -> bool {
    let told = core.try_ask(json!({ "cmd": "ue", "imsi": "001010000000002" }));
    let told = told.unwrap();
    let why = told["error"].as_str();
    why.is_some_and(|why| why.contains("not registered"))
}

/// core.yaml with other rates of the subscriber's session.
fn with_rates(config: &str, mbps: u32) -> String {
    let rates = format!("networks: {{name: internet, ambr_down_bps: {mbps}M}}");
    assert!(config.contains("networks: {name: internet}"), "{config}");
    config.replace("networks: {name: internet}", &rates)
}

/// core.yaml without the subscriber.
fn without(config: &str) -> String {
    let is_its = |line: &&str| line.contains(&format!("imsi: '{IMSI}'"));
    let left: Vec<_> = config.lines().filter(|line| !is_its(line)).collect();
    left.join("\n")
}

/// The SMF hears of changes of the subscriber: it has subscribed.
fn smf_hears(core: &Core) -> bool {
    let flow = core
        .try_ask(json!({ "cmd": "flow", "imsi": IMSI }))
        .unwrap();
    let is_notice = |line: &Value| {
        let is_its = line["from"] == "UDM" && line["to"] == "SMF";
        is_its && line["what"].to_string().contains("Notif")
    };
    let lines = flow["lines"].as_array();
    lines.is_some_and(|lines| lines.iter().any(is_notice))
}

fn reload(place: &Place, core: &Core, config: &str) {
    place.file(config);
    let told = core.ask("reload");
    assert_eq!(told["changed"], json!(["subscribers"]), "{told}");
}

#[test]
fn a_udr_that_was_killed_goes_on_with_subscriptions_and_sessions() {
    for wiring in [RING, ALONE] {
        let (place, memory) = (Place::new(), memory());
        let upf = Upf::start(&place, false);
        let more = format!("{}{wiring}", section(&memory));
        let (core, mut ran) = with_session(&place, &upf, &more);
        let config = fs::read_to_string(place.folder.path().join("core.yaml")).unwrap();
        kill_udr(&core);
        wait("the UDR knows the subscriber", || knows_the_other(&core));
        assert_eq!(core.ask("ues")["registered"], 1);
        reload(&place, &core, &with_rates(&config, 1));
        wait("the SMF hears of other rates", || smf_hears(&core));
        reload(&place, &core, &without(&config));
        ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
        let (code, log) = core.stop();
        assert_eq!(code, Some(0), "{log}");
    }
}

#[test]
fn a_udr_without_contexts_that_was_killed_hears_which_ues_are_registered() {
    for wiring in [RING, ALONE] {
        let place = Place::new();
        let upf = Upf::start(&place, false);
        let (core, mut ran) = with_session(&place, &upf, wiring);
        let config = fs::read_to_string(place.folder.path().join("core.yaml")).unwrap();
        kill_udr(&core);
        assert_eq!(core.ask("ues")["registered"], 1);
        wait("the UDR knows the subscriber", || knows_the_other(&core));
        // It has the AMF of the UE, which hears that the subscriber is gone.
        reload(&place, &core, &without(&config));
        ran.wait("the deregistration", |ran| ran.phones[0].1.is_none());
        assert_eq!(core.stop().0, Some(0));
    }
}

#[test]
fn what_the_udr_has_moves_with_it_and_back() {
    let (place, memory) = (Place::new(), memory());
    let upf = Upf::start(&place, false);
    let (mut core, ran) = with_session(&place, &upf, &section(&memory));
    drop(ran);
    let own = fs::read_to_string(place.folder.path().join("core.yaml")).unwrap();
    let of = |programs: &str| format!("wiring: {{transport: ring, programs: [{programs}]}}\n");
    let with_amf = of("{functions: [amf, udr]}");
    let with_smf = of("{functions: [smf, pcf, udr]}, {functions: [udm]}");
    let all = of("{functions: [amf, ausf, udm, udr, nrf, nssf, smf, pcf]}");
    let wirings = [ALONE, &with_amf, RING, &with_smf, "", &all, ""];
    for wiring in wirings {
        core.child.kill().unwrap();
        core.child.wait().unwrap();
        core = Core::start_with(&place, &format!("{}{wiring}", with_rates(&own, 1)));
        wait("the UE is there", || core.ask("ues")["registered"] == 1);
        wait("the session is there", || {
            core.ask("status")["sessions"] == 1
        });
        reload(&place, &core, &format!("{}{wiring}", with_rates(&own, 2)));
        wait("the SMF hears of other rates", || smf_hears(&core));
    }
    assert_eq!(
        upf.count(sluice_wire::pfcp::MessageType::SESSION_ESTABLISHMENT_REQUEST),
        1
    );
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
}

fn bar(mut store: Store, supi: &Supi) {
    let barred = store.change(supi, 1_790_000_000, |draft| {
        let barred = Text::new("yes");
        Ok(Draft { barred, ..draft })
    });
    barred.unwrap();
}

#[test]
fn the_database_is_that_of_the_udrs_program() {
    let place = Place::new();
    let config = format!("{}{RING}", with_database(&place));
    let core = Core::start_with(&place, &config);
    let ask = |request: Value| core.try_ask(request).expect("an answer");
    let hex = |octets: [u8; 16]| octets.map(|o| format!("{o:02x}")).concat();
    let text = format!("imsi,k,opc\n001010000000004,{},{}\n", hex(KEY), hex(OPC));
    let told = ask(json!({ "cmd": "subscriber_import", "format": "csv", "text": text }));
    assert_eq!(told, json!({ "added": 1, "replaced": 0 }));
    assert_eq!(core.ask("status")["subscriber_database_up"], true);
    let private = "77".repeat(32);
    let key = ask(json!({ "cmd": "home_key_new", "profile": "a", "private": private }));
    assert_eq!(key["id"], 1, "{key}");
    let concealed = {
        let mut sim = Sim::new(plmn(), "0000000004", &K::new(KEY), &Opc::new(OPC));
        sim.conceal_with(1, HomeKey::profile_a([0x77; 32]).public());
        Ue::new(sim, plmn()).unwrap()
    };
    let ues = vec![ue("0000000003", KEY), concealed];
    let mut ran = Ran::connect(&place, [0, 0, 7], ues);
    ran.register(0);
    // A UDM that begins anew has to know the key that the database has.
    let udm = pid_of(&core, "udm");
    signal(udm, "-KILL");
    wait("the UDM is started again", || {
        pid_of_any(&core, "udm").is_some_and(|pid| pid != udm)
    });
    // The UDR cannot come back meanwhile.
    let at = |name: &str| place.folder.path().join(name);
    let key = StoreKey::read(&at("db.key")).unwrap();
    fs::rename(at("db.key"), at("away")).unwrap();
    signal(pid_of(&core, "udr"), "-KILL");
    let show = || ask(json!({ "cmd": "subscriber_show", "imsi": "001010000000004" }));
    wait("questions are refused", || {
        let told = show();
        let why = told["error"].as_str();
        why.is_some_and(|why| why.contains("the UDR is not reached"))
    });
    assert_eq!(core.ask("status")["subscriber_database_up"], false);
    assert_eq!(
        core.ask_of("ue", "001010000000003")["ue"]["authentication"],
        Value::Null
    );
    let unknown = core.ask_of("ue", "001010000000009");
    assert!(
        unknown.to_string().contains("the UDR is not reached"),
        "{unknown}"
    );
    ran.register(1);
    let refused = ran.phones[1].0.refused();
    let congestion = Downlink::RegistrationReject(Cause::CONGESTION.into());
    assert_eq!(refused, Some(&congestion), "{:?}", core.ask("refusals"));
    // A subscriber that is barred meanwhile is deregistered.
    let supi = Supi::from_imsi("001010000000003").unwrap();
    bar(Store::open(&at("db"), &key, Access::Change).unwrap(), &supi);
    fs::rename(at("away"), at("db.key")).unwrap();
    wait("the subscriber that was added is there", || {
        show()["imsi"] == "001010000000004"
    });
    ran.wait("the barred UE is gone", |_| {
        core.ask("ues")["registered"] == 0
    });
    ran.register(1);
    assert_eq!(ran.phones[1].0.state(), UeState::Registered);
    let told = ask(json!({ "cmd": "subscriber_remove", "imsi": "001010000000004" }));
    assert_eq!(told["removed"], "001010000000004", "{told}");
    ran.wait("the removed UE is gone", |_| {
        core.ask("ues")["registered"] == 0
    });
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
}
