//! Subscriptions to events of an SMF: requests of other functions, and what they are told.

use serde_json::{Value, json};
use sluice_sbi::{Done, Message, Nf, SmfEventsSubscribed};

use super::*;
use crate::exchange::{Response, To};
use crate::judge::faults_of_type;
use crate::tests::through::{
    self, answered, asked, internet, memory, nobody, refusal, request, response, slice, supi,
};

const FILE: &str = "TS29508_Nsmf_EventExposure.yaml";
const PATH: &str = "/nsmf-event-exposure/v1/subscriptions";

fn judged(
    line: (&str, &str),
    body: &Value,
    memory: &mut Memory,
    function: impl FnMut(Nf, Message) -> Message,
) -> Response {
    through::judged(line, "application/json", body, memory, function)
}

fn said() -> Value {
    json!({
        "supi": "imsi-001010000000001",
        "pduSeId": 5,
        "dnn": "internet",
        "snssai": { "sst": 1, "sd": "010203" },
        "notifId": "one",
        "notifUri": "http://127.0.0.9:8000/sessions",
        "eventSubs": [{ "event": "PDU_SES_REL" }, { "event": "QOS_MON" }],
        "notifMethod": "ON_EVENT_DETECTION",
        "maxReportNbr": 3,
        "ImmeRep": true,
        "expiry": "2026-11-28T00:00:00Z",
    })
}

fn subscribed(_: Nf, message: Message) -> Message {
    match message {
        Message::SubscribeSmfEvents(_) => SmfEventsSubscribed {
            id: 8.into(),
            until_unix_s: 1_795_823_564.into(),
        }
        .into(),
        _ => Done::ALL.into(),
    }
}

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(response.body()).expect("JSON")
}

#[test]
fn a_subscription_is_taken_as_far_as_it_is_served() {
    let mut memory = memory(7777);
    let mut messages = Vec::new();
    let response = judged(("POST", PATH), &said(), &mut memory, |nf, message| {
        messages.push(message);
        subscribed(nf, message)
    });
    let mut expected = SmfEventSubscription::new(supi().into(), SmfEvent::Released.bit());
    expected = expected.in_slice(Some(slice()));
    (expected.session, expected.dnn) = (5, internet());
    (expected.is_immediate, expected.most) = (true, 3.into());
    expected.until_unix_s = date_time("2026-11-28T00:00:00Z").expect("a time").into();
    let expected = SubscribeSmfEvents {
        id: 0.into(),
        subscription: expected,
    };
    assert!(messages == [expected.into()]);
    let own = format!("{PATH}/0000000000000008");
    let location = response.headers()[http::header::LOCATION]
        .to_str()
        .expect("a URI");
    assert_eq!(location, format!("http://127.0.0.1:7777{own}"));
    let told = json_of(&response);
    assert_eq!(told["eventSubs"], json!([{ "event": "PDU_SES_REL" }]));
    assert_eq!(
        (&told["subId"], &told["expiry"]),
        (&"0000000000000008".into(), &"2026-11-27T23:52:44Z".into())
    );
    let read = judged(("GET", &own), &Value::Null, &mut memory, nobody);
    assert_eq!(json_of(&read), told);
    let mut any = said();
    any["anyUeInd"] = true.into();
    any.as_object_mut().expect("members").remove("supi");
    any["notifMethod"] = "ONE_TIME".into();
    judged(("PUT", &own), &any, &mut memory, |nf, message| {
        let Message::SubscribeSmfEvents(request) = message else {
            panic!("{message}");
        };
        assert_eq!((request.id.get(), request.subscription.most.get()), (8, 1));
        assert_eq!(request.subscription.of, ForUe::any());
        subscribed(nf, message)
    });
    let response = judged(("DELETE", &own), &Value::Null, &mut memory, subscribed);
    assert_eq!(response.status(), 204);
    let response = asked(&request("GET", &own, &Value::Null), &mut memory, nobody);
    assert_eq!(
        refusal(&response),
        (404, "SUBSCRIPTION_NOT_FOUND".to_owned())
    );
}

#[test]
fn notifications_are_those_of_the_ts() {
    let mut memory = memory(7777);
    judged(("POST", PATH), &said(), &mut memory, subscribed);
    let notice = NotifySmfEvent {
        id: 8.into(),
        event: SmfEvent::Established,
        unix_s: 1_795_823_564.into(),
        supi: supi(),
        session: 5,
        slice: slice(),
        dnn: internet(),
        ipv4: [10, 45, 0, 2],
        ipv6_prefix: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 7],
        is_active: true,
    };
    let last = NotifySmfEvent {
        event: SmfEvent::Released,
        ipv4: [0; 4],
        ipv6_prefix: [0; 8],
        is_active: false,
        ..notice
    };
    for (notice, event) in [(notice, "PDU_SES_EST"), (last, "PDU_SES_REL")] {
        let done = response(204, &Value::Null);
        let (answer, sent) = answered(notice, &mut memory, &[done]);
        assert_eq!(answer, Done::ALL.into());
        assert_eq!(sent[0].to, To::Root("http://127.0.0.9:8000".to_owned()));
        let body = sent[0].request.body();
        assert_eq!(
            faults_of_type(body, FILE, "NsmfEventExposureNotification"),
            [""; 0]
        );
        let body: Value = serde_json::from_slice(body).expect("JSON");
        assert_eq!(body["notifId"], "one");
        assert_eq!(body["eventNotifs"][0]["event"], event);
        let prefix = body["eventNotifs"][0]["ipv6Prefixes"][0].as_str();
        assert_eq!(prefix.is_some(), event == "PDU_SES_EST");
    }
    let (answer, sent) = answered(notice, &mut memory, &[]);
    assert_eq!((answer, sent.len()), (Problem::ContextNotFound.into(), 0));
}

#[test]
fn what_is_not_served_is_refused_by_name() {
    let mut memory = memory(7777);
    for (member, value) in [
        ("notifUri", json!("sessions")),
        ("notifId", Value::Null),
        ("supi", json!("nai-user")),
        ("eventSubs", json!([{ "event": "UP_PATH_CH" }])),
        ("notifMethod", json!("PERIODIC")),
        ("pduSeId", json!(16)),
        ("expiry", json!("soon")),
    ] {
        let mut body = said();
        body[member] = value;
        let response = asked(&request("POST", PATH, &body), &mut memory, nobody);
        assert_eq!(
            json_of(&response)["invalidParams"][0]["param"],
            format!("/{member}")
        );
    }
    for (problem, status) in [(Problem::Protocol, 400), (Problem::NoResources, 500)] {
        let function = |_, _| problem.into();
        let response = judged(("POST", PATH), &said(), &mut memory, function);
        assert_eq!(response.status(), status);
    }
}
