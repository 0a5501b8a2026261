//! QoS flows that operators and applications start: by HTTP and on the control socket, at a session with a UPF.

use crate::api::{JSON, api, ask};
use crate::ending::with_session;
use crate::place::Place;
use crate::schema::asked_in_its_form;
use crate::upf::Upf;
use serde_json::{Value, json};

/// Operations that are asked here, and not with all others: they need a session.
pub const OPERATIONS: [&str; 6] = [
    "qosStart",
    "qosStop",
    "appSessionCreate",
    "appSession",
    "appSessionUpdate",
    "appSessionDelete",
];

const IMSI: &str = "001010000000001";

fn rules(ue: &Value) -> Vec<String> {
    let rules = ue["ue"]["sessions"][0]["rules"].as_array().unwrap();
    let names = rules.iter().map(|rule| rule["name"].as_str().unwrap());
    names.map(str::to_owned).collect()
}

#[test]
fn flows_are_started_and_stopped_by_operators_and_applications() {
    flows_start_and_stop("");
}

#[test]
fn flows_are_started_and_stopped_with_smf_and_pcf_in_other_programs() {
    for programs in [
        "{functions: pcf}",
        "{functions: smf}",
        "[{functions: smf}, {functions: pcf}]",
    ] {
        flows_start_and_stop(&format!(
            "wiring: {{transport: ring, programs: {programs}}}\n"
        ));
    }
}

fn flows_start_and_stop(wiring: &str) {
    let place = Place::new();
    let upf = Upf::start(&place, false);
    let more = format!("api: {{listen: {}}}\n{wiring}", api(&place));
    let (core, _ran) = with_session(&place, &upf, &more);
    let document = ask(&place, "GET /openapi.json", "", "").json();
    let is = |name: &str, line: &str, body: &str| {
        asked_in_its_form(&place, &document, (name, line, JSON, body))
    };
    let started = is(
        "qosStart",
        &format!("POST /v1/ues/{IMSI}/qos?session=5"),
        r#"{ "name": "call", "precedence": 9, "five_qi": 2, "guaranteed_down_bps": 64000, "guaranteed_up_bps": 64000,
            "filters": ["permit inout udp from 203.0.113.9 4000 to assigned"] }"#,
    );
    assert_eq!(started.json(), json!({ "starting": "call" }));
    let ue = ask(&place, &format!("GET /v1/ues/{IMSI}"), "", "").json();
    assert_eq!(rules(&ue), ["call"], "{ue}");
    assert_eq!(ue["ue"]["sessions"][0]["rules"][0]["five_qi"], 2);
    let again = core.try_ask(json!({ "cmd": "qos_start", "imsi": IMSI, "rule": {
        "name": "call", "precedence": 9, "five_qi": 9, "filters": ["permit out ip from any to assigned"],
    }}));
    assert_eq!(again.unwrap()["reason"], "invalid", "two rules of one name");
    let stopped = is("qosStop", &format!("DELETE /v1/ues/{IMSI}/qos/call"), "");
    assert_eq!(stopped.json(), json!({ "stopping": "call" }));
    let none = core.try_ask(json!({ "cmd": "qos_stop", "imsi": IMSI, "name": "call" }));
    assert_eq!(none.unwrap()["reason"], "not_found");

    let medium = |port: u16| {
        json!({ "ascReqData": { "supi": format!("imsi-{IMSI}"), "medComponents": { "1": {
            "medCompN": 1, "medType": "AUDIO", "marBwDl": "64 Kbps", "marBwUl": "64 Kbps", "medSubComps": { "1": {
                "fNum": 1, "fDescs": [format!("permit out 17 from 203.0.113.9 {port} to assigned")],
            }},
        }}}})
        .to_string()
    };
    let made = is("appSessionCreate", "POST /v1/app-sessions", &medium(5000)).json();
    let at = format!("/v1/app-sessions/{}", made["id"]);
    let known = is("appSession", &format!("GET {at}"), "").json();
    assert_eq!(known["ascReqData"]["supi"], format!("imsi-{IMSI}"));
    is("appSessionUpdate", &format!("PUT {at}"), &medium(5002));
    assert_eq!(rules(&core.ask_of("ue", IMSI)).len(), 1);
    is("appSessionDelete", &format!("DELETE {at}"), "");
    let gone = ask(&place, &format!("GET {at}"), "", "");
    assert_eq!(
        (gone.status, &gone.json()["reason"]),
        (404, &json!("not_found"))
    );
    assert_eq!(rules(&core.ask_of("ue", IMSI)), [""; 0]);
}
