//! Subscriptions to events of an AMF, its status, and Namf_MT: requests of other functions, and what they are told.

use serde_json::{Value, json};
use sluice_ids::{NrCellIdentity, Tac, Tai};
use sluice_sbi::{
    AmfStatusSubscribed, Done, Message, Nf, NotifyAmfStatus, QueryUe, ReachUe, UeInfo,
};

use super::*;
use crate::exchange::{Outgoing, To};
use crate::judge::faults_of_type;
use crate::tests::through::{
    self, answered, asked, guami, instance, memory, nobody, plmn, refusal, request, response, supi,
};

const FILE: &str = "TS29518_Namf_EventExposure.yaml";
const SUBSCRIPTIONS: &str = "/namf-evts/v1/subscriptions";
const UE: &str = "imsi-001010000000001";

fn said(of: &Value) -> Value {
    let mut subscription = json!({
        "eventList": [
            { "type": "REGISTRATION_STATE_REPORT", "immediateFlag": true, "refId": 7 },
            { "type": "LOCATION_REPORT", "locationFilterList": ["TAI"] },
            { "type": "UES_IN_AREA_REPORT" },
        ],
        "eventNotifyUri": "http://127.0.0.9:8000/events",
        "notifyCorrelationId": "one",
        "nfId": instance(9).to_string(),
    });
    for (name, value) in of.as_object().expect("members") {
        subscription[name] = value.clone();
    }
    json!({ "subscription": subscription })
}

fn judged(
    line: (&str, &str),
    body: &Value,
    memory: &mut Memory,
    function: impl FnMut(Nf, Message) -> Message,
) -> Response {
    through::judged(line, "application/json-patch+json", body, memory, function)
}

fn place() -> (sluice_ids::Plmn, NrCellIdentity, Tai) {
    let tac = Tac([0, 0, 7]);
    let plmn = plmn();
    (plmn, NrCellIdentity([0, 0, 1, 2, 0x30]), Tai { plmn, tac })
}

fn registered() -> UeState {
    let mut state = UeState::default().at(place());
    (state.is_registered, state.is_reachable) = (true, true);
    state
}

fn subscribed(immediate: u8, is_active: bool) -> AmfEventsSubscribed {
    AmfEventsSubscribed {
        id: 5.into(),
        until_unix_s: 1_795_823_564.into(),
        immediate,
        state: registered(),
        unix_s: 1_795_820_000.into(),
        is_active,
    }
}

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(response.body()).expect("JSON")
}

#[test]
fn a_subscription_is_taken_as_far_as_it_is_served() {
    let mut memory = memory(7777);
    let mut messages = Vec::new();
    let options =
        json!({ "trigger": "CONTINUOUS", "maxReports": 4, "expiry": "2026-11-28T00:00:00Z" });
    let body = said(&json!({ "supi": UE, "options": options }));
    let response = judged(
        ("POST", SUBSCRIPTIONS),
        &body,
        &mut memory,
        |nf, message| {
            assert_eq!(nf, Nf::Amf);
            messages.push(message);
            subscribed(AmfEvent::Registration.bit(), true).into()
        },
    );
    let expected = SubscribeAmfEvents {
        id: 0.into(),
        subscription: AmfEventSubscription {
            of: supi().into(),
            events: AmfEvent::Registration.bit() | AmfEvent::Location.bit(),
            immediate: AmfEvent::Registration.bit(),
            by_cell: false,
            most: 4.into(),
            until_unix_s: date_time("2026-11-28T00:00:00Z").expect("a time").into(),
        },
    };
    assert!(messages == [expected.into()]);
    let uri = "http://127.0.0.1:7777/namf-evts/v1/subscriptions/0000000000000005";
    assert_eq!(response.headers()[http::header::LOCATION], uri);
    let told = json_of(&response);
    assert_eq!(told["subscriptionId"], uri);
    let list = &told["subscription"]["eventList"];
    assert_eq!(list.as_array().map(Vec::len), Some(2), "{list}");
    assert_eq!(
        told["subscription"]["options"]["expiry"],
        "2026-11-27T23:52:44Z"
    );
    let report = &told["reportList"][0];
    assert_eq!(report["rmInfoList"][0]["rmState"], "REGISTERED");
    assert_eq!((&report["refId"], &report["supi"]), (&7.into(), &UE.into()));
}

#[test]
fn reports_are_those_of_the_ts() {
    let mut memory = memory(7777);
    let body = said(&json!({ "supi": UE }));
    let function = |_, _| subscribed(0, true).into();
    judged(("POST", SUBSCRIPTIONS), &body, &mut memory, function);
    let mut state = registered();
    state.is_connected = true;
    let notice = NotifyAmfEvents {
        id: 5.into(),
        events: 0b1111,
        supi: supi(),
        state,
        unix_s: 1_795_820_000.into(),
        is_active: false,
        left: 3.into(),
    };
    let no_content = response_of(204);
    let (answer, sent) = answered(notice, &mut memory, &[no_content]);
    assert_eq!(answer, Done::ALL.into());
    let Outgoing { to, request } = &sent[0];
    assert_eq!(*to, To::Root("http://127.0.0.9:8000".to_owned()));
    assert_eq!(request.uri(), "/events");
    assert_eq!(
        faults_of_type(request.body(), FILE, "AmfEventNotification"),
        [""; 0]
    );
    let told: Value = serde_json::from_slice(request.body()).expect("JSON");
    assert_eq!(told["notifyCorrelationId"], "one");
    let cell = "/reportList/0/location/nrLocation/ncgi/nrCellId";
    assert_eq!(told.pointer(cell), Some(&"000001023".into()));
    let tac = "/reportList/0/location/nrLocation/tai/tac";
    assert_eq!(told.pointer(tac), Some(&"000007".into()));
    let state = "/reportList/2/cmInfoList/0/cmState";
    assert_eq!(told.pointer(state), Some(&"CONNECTED".into()));
    assert_eq!(told["reportList"][3]["reachability"], "REACHABLE");
    let left = &told["reportList"][0]["state"];
    assert_eq!(*left, json!({ "active": false, "remainReports": 3 }));
    // That was the last one: whatever follows finds nobody.
    let (answer, sent) = answered(notice, &mut memory, &[]);
    assert_eq!((answer, sent.len()), (Problem::ContextNotFound.into(), 0));
}

fn response_of(status: u16) -> Response {
    response(status, &Value::Null)
}

#[test]
fn all_ues_are_subscribed_to_and_a_subscriber_that_does_not_know_it_is_forgotten() {
    let mut memory = memory(7777);
    let body = said(&json!({ "anyUE": true, "options": { "trigger": "ONE_TIME" } }));
    let response = judged(("POST", SUBSCRIPTIONS), &body, &mut memory, |_, message| {
        let Message::SubscribeAmfEvents(request) = message else {
            panic!("{message}");
        };
        assert_eq!(request.subscription.of, ForUe::any());
        assert_eq!(request.subscription.most.get(), 1);
        subscribed(0, true).into()
    });
    assert!(json_of(&response).get("reportList").is_none());
    let notice = NotifyAmfEvents {
        id: 5.into(),
        events: AmfEvent::Reachability.bit(),
        supi: supi(),
        state: UeState::default(),
        unix_s: 0.into(),
        is_active: true,
        left: 0.into(),
    };
    let (answer, sent) = answered(notice, &mut memory, &[response_of(503)]);
    assert_eq!(answer, Problem::Overload.into());
    let told: Value = serde_json::from_slice(sent[0].request.body()).expect("JSON");
    assert_eq!(told["reportList"][0]["anyUe"], true);
    assert_eq!(told["reportList"][0]["reachability"], "UNREACHABLE");
    let (answer, _) = answered(notice, &mut memory, &[response_of(404)]);
    assert_eq!(answer, Problem::ContextNotFound.into());
    let (_, sent) = answered(notice, &mut memory, &[]);
    assert_eq!(sent.len(), 0);
}

#[test]
fn a_subscription_changes_and_ends() {
    let mut memory = memory(7777);
    let body = said(&json!({ "supi": UE }));
    let first = |_, _| subscribed(0, true).into();
    judged(("POST", SUBSCRIPTIONS), &body, &mut memory, first);
    let own = format!("{SUBSCRIPTIONS}/0000000000000005");
    let patch = json!([
        { "op": "add", "path": "/eventList/-", "value": {
            "type": "CONNECTIVITY_STATE_REPORT", "immediateFlag": true,
        } },
        { "op": "remove", "path": "/eventList/0" },
    ]);
    let response = judged(("PATCH", &own), &patch, &mut memory, |_, message| {
        let Message::SubscribeAmfEvents(request) = message else {
            panic!("{message}");
        };
        let (location, connectivity) = (AmfEvent::Location.bit(), AmfEvent::Connectivity.bit());
        assert_eq!(request.id.get(), 5);
        assert_eq!(request.subscription.events, location | connectivity);
        assert_eq!(request.subscription.immediate, connectivity);
        subscribed(connectivity, true).into()
    });
    let told = json_of(&response);
    assert_eq!(told["reportList"][0]["cmInfoList"][0]["cmState"], "IDLE");
    let expiry =
        json!([{ "op": "replace", "path": "/options/expiry", "value": "2026-11-28T00:00:00Z" }]);
    judged(("PATCH", &own), &expiry, &mut memory, |_, message| {
        let Message::SubscribeAmfEvents(request) = message else {
            panic!("{message}");
        };
        let until = date_time("2026-11-28T00:00:00Z");
        assert_eq!(Some(request.subscription.until_unix_s.get()), until);
        subscribed(0, true).into()
    });
    for (path, status) in [("/supi", 403), ("/eventList/9", 409)] {
        let patch = json!([{ "op": "replace", "path": path, "value": {} }]);
        let refused = asked(&request("PATCH", &own, &patch), &mut memory, nobody);
        assert_eq!(refusal(&refused).0, status, "{path}");
    }
    let end = Message::from(UnsubscribeAmfEvents { id: 5.into() });
    let response = judged(("DELETE", &own), &Value::Null, &mut memory, |_, message| {
        assert!(message == end);
        Done::ALL.into()
    });
    assert_eq!(response.status(), 204);
    for method in ["DELETE", "PATCH"] {
        let gone = |_, _| Problem::ContextNotFound.into();
        let response = asked(&request(method, &own, &expiry), &mut memory, gone);
        assert_eq!(refusal(&response), (404, "SUBSCRIPTION_NOT_FOUND".into()));
    }
}

#[test]
fn what_is_not_served_is_refused_by_name() {
    let mut memory = memory(7777);
    for (of, param) in [
        (json!({}), "/subscription/supi"),
        (
            json!({ "supi": UE, "eventList": [{ "type": "TIMEZONE_REPORT" }] }),
            "/subscription/eventList",
        ),
        (
            json!({ "supi": UE, "eventList": [{}] }),
            "/subscription/eventList/0/type",
        ),
        (
            json!({ "supi": UE, "eventNotifyUri": "/events" }),
            "/subscription/eventNotifyUri",
        ),
        (
            json!({ "supi": UE, "options": { "trigger": "PERIODIC" } }),
            "/subscription/options/trigger",
        ),
        (
            json!({ "supi": UE, "eventList": [{ "type": "LOCATION_REPORT", "locationFilterList": ["N3IWF"] }] }),
            "/subscription/eventList/0/locationFilterList",
        ),
        (
            json!({ "supi": UE, "eventList": [{
                "type": "REACHABILITY_REPORT", "reachabilityFilter": "UE_REACHABLE_DL_TRAFFIC",
            }] }),
            "/subscription/eventList/0/reachabilityFilter",
        ),
    ] {
        let response = asked(
            &request("POST", SUBSCRIPTIONS, &said(&of)),
            &mut memory,
            nobody,
        );
        let told = json_of(&response);
        assert_eq!(told["invalidParams"][0]["param"], param, "{told}");
    }
    for (problem, refused) in [
        (Problem::ContextNotFound, (403, "UE_NOT_SERVED_BY_AMF")),
        (Problem::Protocol, (400, "MANDATORY_IE_INCORRECT")),
        (Problem::NoResources, (500, "INSUFFICIENT_RESOURCES")),
    ] {
        let body = said(&json!({ "supi": UE }));
        let function = |_, _| problem.into();
        let response = judged(("POST", SUBSCRIPTIONS), &body, &mut memory, function);
        assert_eq!(refusal(&response), (refused.0, refused.1.to_owned()));
    }
}

#[test]
fn a_ue_is_asked_for_and_reached() {
    let mut memory = memory(7777);
    let path = format!("/namf-mt/v1/ue-contexts/{UE}");
    let query = format!("{path}?info-class=TADS");
    let response = judged(("GET", &query), &Value::Null, &mut memory, |_, message| {
        assert!(message == QueryUe { supi: supi() }.into());
        UeInfo {
            has_ims_voice: true,
        }
        .into()
    });
    assert_eq!(json_of(&response)["supportVoPS"], true);
    let other = format!("{path}?info-class=OTHER");
    let response = asked(&request("GET", &other, &Value::Null), &mut memory, nobody);
    assert_eq!(response.status(), 400);
    let (path, body) = (
        format!("{path}/ue-reachind"),
        json!({ "reachability": "REACHABLE" }),
    );
    let response = judged(("PUT", &path), &body, &mut memory, |_, message| {
        assert!(message == ReachUe { supi: supi() }.into());
        Done::ALL.into()
    });
    assert_eq!(json_of(&response), body);
    for (problem, refused) in [
        (Problem::NotReached, (504, "UE_NOT_REACHABLE")),
        (Problem::ContextNotFound, (404, "CONTEXT_NOT_FOUND")),
        (Problem::Overload, (503, "NF_CONGESTION")),
    ] {
        let function = |_, _| problem.into();
        let response = judged(("PUT", &path), &body, &mut memory, function);
        assert_eq!(refusal(&response), (refused.0, refused.1.to_owned()));
    }
    let body = json!({ "reachability": "UNREACHABLE" });
    let response = asked(&request("PUT", &path, &body), &mut memory, nobody);
    assert_eq!(response.status(), 400);
}

#[test]
fn whoever_wants_to_know_hears_of_the_amf() {
    let mut memory = memory(7777);
    let path = "/namf-comm/v1/subscriptions";
    let body = json!({ "amfStatusUri": "http://127.0.0.9:8000/status" });
    let subscribed = |_, message: Message| match message {
        Message::SubscribeAmfStatus(_) => AmfStatusSubscribed { id: 6.into() }.into(),
        _ => Done::ALL.into(),
    };
    let response = judged(("POST", path), &body, &mut memory, subscribed);
    assert_eq!(response.status(), 201);
    let notice = NotifyAmfStatus {
        id: 6.into(),
        guami: guami(),
        is_available: false,
    };
    let (answer, sent) = answered(notice, &mut memory, &[response_of(204)]);
    assert_eq!(answer, Done::ALL.into());
    let (file, kind) = (
        "TS29518_Namf_Communication.yaml",
        "AmfStatusChangeNotification",
    );
    assert_eq!(faults_of_type(sent[0].request.body(), file, kind), [""; 0]);
    // Of another AMF alone.
    let own = format!("{path}/0000000000000006");
    let mut other = body.clone();
    other["guamiList"] = json!([{ "plmnId": { "mcc": "001", "mnc": "01" }, "amfId": "010203" }]);
    let response = judged(("PUT", &own), &other, &mut memory, subscribed);
    assert_eq!(
        (response.status().as_u16(), json_of(&response)),
        (200, other)
    );
    let (answer, sent) = answered(notice, &mut memory, &[]);
    assert_eq!((answer, sent.len()), (Done::ALL.into(), 0));
    let response = judged(("DELETE", &own), &Value::Null, &mut memory, subscribed);
    assert_eq!(response.status(), 204);
    let response = asked(&request("PUT", &own, &body), &mut memory, nobody);
    assert_eq!(response.status(), 404);
}
