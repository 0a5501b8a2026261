//! Several instances of a function: UEs register while they are drained, added and killed.

use serde_json::{Value, json};
use sluice_ue::UeState;

use crate::api::{ask, with_api};
use crate::place::{Core, Place};
use crate::schema::asked_in_its_form;
use crate::wirings::{MANY, Storm, TWO, kill, names, of_storm, start, wait};

const TWICE: &str = "wiring: {transport: ring, programs: [{functions: [ausf, udm]}, \
                     {functions: [ausf, udm], instance: 1}]}\n";

fn drain(core: &Core, cmd: &str, function: &str, instance: u8) -> Value {
    let request = json!({ "cmd": cmd, "function": function, "instance": instance });
    core.try_ask(request).unwrap()
}

/// The row of an instance among all functions.
fn instance(core: &Core, function: &str, number: u8) -> Value {
    let nfs = core.ask("nfs");
    let mut all = nfs["instances"].as_array().unwrap().iter();
    let is_it = |row: &&Value| row["type"] == function && row["instance"] == number;
    all.find(is_it).cloned().unwrap()
}

fn answered(core: &Core, function: &str, number: u8) -> u64 {
    let row = instance(core, function, number);
    row["answered"].as_u64().unwrap_or_default()
}

fn is_reached(core: &Core, number: u8) -> bool {
    instance(core, "UDM", number)["reached"] == true
}

#[test]
fn reload_adds_an_instance_and_drains_one_that_is_gone() {
    let place = Place::new();
    let core = start(&place, TWO);
    let config = |wiring: &str| place.file(&format!("{}{wiring}", place.config()));
    config(TWICE);
    let told = core.ask("reload");
    assert_eq!(told["changed"], json!(["wiring.programs"]), "{told}");
    let udms = || {
        let nfs = core.ask("nfs");
        let all = nfs["nfs"].as_array().unwrap().iter();
        all.filter(|one| one["type"] == "UDM").count()
    };
    wait("it is added", || udms() == 2 && is_reached(&core, 1));
    config(TWO);
    let told = core.ask("reload");
    assert_eq!(told["changed"], json!(["wiring.programs"]), "{told}");
    wait("it is gone", || udms() == 1 && names(&core).len() == 1);
    let rows = core.ask("nfs")["instances"].as_array().unwrap().len();
    assert_eq!(rows, 2, "AUSF and UDM");
    // A function that would have no program needs a restart, as does a program of others.
    for wiring in [
        "wiring: {transport: ring, programs: {functions: [udm]}}\n",
        "wiring: {transport: ring, programs: [{functions: [ausf, udm]}, {functions: pcf}]}\n",
        "wiring: {transport: ring, programs: {functions: [ausf, udm], capacity: 7}}\n",
    ] {
        config(wiring);
        let told = core.ask("reload");
        assert!(told["error"].as_str().unwrap().contains("wiring"), "{told}");
    }
    assert_eq!(core.stop().0, Some(0));
}

/// Operations that are asked here, and not with all others: they need instances.
pub const OPERATIONS: [&str; 2] = ["drain", "undrain"];

#[test]
fn an_instance_is_drained_and_added_over_http() {
    let place = Place::new();
    let more = format!("{}{TWICE}", place.config());
    let core = Core::start_with(&place, &with_api(&place, &more));
    let document = ask(&place, "GET /openapi.json", "", "").json();
    let put = "PUT /v1/nfs/udm/1/drain";
    let told = asked_in_its_form(&place, &document, ("drain", put, "", ""));
    let told = told.json();
    assert_eq!(
        (&told["type"], &told["drains"]),
        (&json!("UDM"), &json!(true))
    );
    let nfs = asked_in_its_form(&place, &document, ("nfs", "GET /v1/nfs", "", "")).json();
    let drains = |row: &Value| row["drains"].as_bool().unwrap();
    let rows = nfs["instances"].as_array().unwrap().iter();
    assert_eq!(
        rows.map(drains).collect::<Vec<_>>(),
        [false, false, true, true]
    );
    for (line, status, why) in [
        (
            "PUT /v1/nfs/ausf/0/drain",
            409,
            "AUSF is the last instance of the AUSF that is reached",
        ),
        (
            "PUT /v1/nfs/udm/2/drain",
            409,
            "no program has instance 2 of UDM",
        ),
        ("PUT /v1/nfs/udm/x/drain", 400, "a number from 0 to 15"),
    ] {
        let answer = ask(&place, line, "", "");
        assert_eq!(answer.status, status, "{}", answer.body);
        assert!(answer.body.contains(why), "{}", answer.body);
    }
    wait("it has left the NRF", || {
        let nfs = core.ask("nfs");
        let mut all = nfs["nfs"].as_array().unwrap().iter();
        all.by_ref().filter(|one| one["type"] == "UDM").count() == 1
    });
    let delete = "DELETE /v1/nfs/ausf/1/drain";
    asked_in_its_form(&place, &document, ("undrain", delete, "", ""));
    wait("it is back at the NRF", || {
        let nfs = core.ask("nfs");
        let mut all = nfs["nfs"].as_array().unwrap().iter();
        all.by_ref().filter(|one| one["type"] == "UDM").count() == 2
    });
    let (code, log) = core.stop();
    assert_eq!(code, Some(0), "{log}");
    assert!(
        log.contains("the program of AUSF, UDM, instance 1 is taken out"),
        "{log}"
    );
}

/// One of two instances is drained and added again while UEs register, and none is refused; one that is killed is missed
/// by those alone that it has challenged.
#[test]
fn ues_register_on_while_an_instance_is_drained_and_added() {
    let place = Place::new();
    let core = Core::start_with(&place, &of_storm(&place, TWICE));
    let mut storm = Storm::connect(&place);
    storm.are_new = true;
    storm.until("the first UEs register", |storm| storm.done >= MANY);
    for (function, number) in [("AUSF", 0), ("AUSF", 1), ("UDM", 0), ("UDM", 1)] {
        assert!(answered(&core, function, number) > 0, "{function}/{number}");
    }
    let nfs = core.ask("nfs");
    let of = |kind: &str| {
        let all = nfs["nfs"].as_array().unwrap().iter();
        let ids = all.filter(|one| one["type"] == kind);
        ids.map(|one| one["instance"].clone()).collect::<Vec<_>>()
    };
    let udms = of("UDM");
    assert!(udms.len() == 2 && udms[0] != udms[1], "{nfs}");
    for number in [1, 0] {
        let told = drain(&core, "drain", "ausf", number);
        assert_eq!(told["functions"], json!(["AUSF", "UDM"]), "{told}");
        // Its callers need the other one.
        let other = 1 - number;
        let refused = drain(&core, "drain", "udm", other);
        let why = refused["error"].as_str().unwrap();
        assert!(why.contains("is the last instance of the"), "{why}");
        storm.until("it has ended", |_| {
            instance(&core, "UDM", number)["pid"].is_null()
        });
        assert!(!is_reached(&core, number));
        let (so_far, before) = (storm.done, answered(&core, "AUSF", other));
        storm.until("UEs register at the other", |storm| {
            storm.done >= so_far + MANY
        });
        assert!(answered(&core, "AUSF", other) > before);
        let told = drain(&core, "undrain", "udm", number);
        assert_eq!(told["drains"], false, "{told}");
        storm.until("it is added", |_| is_reached(&core, number));
        storm.until("it answers", |_| answered(&core, "AUSF", number) > 0);
    }
    let refusals = core.ask("refusals");
    assert_eq!(refusals["total"], 0, "{refusals}");
    assert_eq!(core.ask("counters")["amf"]["refusals"], 0);
    // One is killed.
    let pid = instance(&core, "UDM", 1)["pid"].as_u64().unwrap();
    kill(pid.try_into().unwrap());
    storm.until("it is started again", |_| {
        let row = instance(&core, "UDM", 1);
        row["reached"] == true && row["pid"] != pid
    });
    let so_far = storm.done;
    storm.until("UEs register again", |storm| storm.done >= so_far + MANY);
    storm.are_new = false;
    storm.until("all UEs are registered", |storm| {
        let mut phones = storm.ran.phones.iter();
        phones.all(|(ue, _)| ue.state() == UeState::Registered)
    });
    let refused = drain(&core, "drain", "amf", 0);
    assert!(
        refused["error"]
            .as_str()
            .unwrap()
            .contains("no program has"),
        "{refused}"
    );
    assert_eq!(core.stop().0, Some(0));
}
