//! Sessions of applications: requests of applications, and what they are told.

use serde_json::{Value, json};
use sluice_sbi::{AppSessionStored, Message, Nf};

use super::*;
use crate::exchange::To;
use crate::judge::faults_of_type;
use crate::tests::through::{self, answered, asked, memory, nobody, refusal, request, response};

const FILE: &str = "TS29514_Npcf_PolicyAuthorization.yaml";
const PATH: &str = "/npcf-policyauthorization/v1/app-sessions";

fn judged(
    line: (&str, &str),
    body: &Value,
    memory: &mut Memory,
    function: impl FnMut(Nf, Message) -> Message,
) -> Response {
    through::judged(line, "application/merge-patch+json", body, memory, function)
}

/// An AF asks for speech, as an IMS does (TS 29.513, 7.2).
fn said() -> Value {
    json!({ "ascReqData": {
        "afAppId": "voice",
        "ueIpv4": "10.45.0.2",
        "dnn": "internet",
        "notifUri": "http://127.0.0.9:8000/app/1",
        "suppFeat": "4",
        "servUrn": "left out",
        "evSubsc": { "events": [
            { "event": "FAILED_RESOURCES_ALLOCATION" }, { "event": "PLMN_CHG" },
        ] },
        "medComponents": { "7": {
            "medCompN": 7, "medType": "AUDIO", "fStatus": "ENABLED",
            "marBwDl": "64 Kbps", "marBwUl": "64 Kbps", "codecs": ["left out"],
            "medSubComps": { "1": { "fNum": 1, "fDescs": [
                "permit out 17 from 203.0.113.7 5000 to any",
            ] } },
        } },
    } })
}

/// A PCF that takes all, and the requests that it has got.
fn pcf(told: &mut Vec<Value>) -> impl FnMut(Nf, Message) -> Message {
    |nf, message| {
        assert_eq!(nf, Nf::Pcf);
        let text = match &message {
            Message::CreateAppSession(request) => &request.request,
            Message::UpdateAppSession(request) => {
                assert_eq!(request.app.get(), 3);
                &request.request
            }
            Message::DeleteAppSession(_) => return Done::ALL.into(),
            other => panic!("{other}"),
        };
        told.push(serde_json::from_slice(text.get()).expect("JSON"));
        AppSessionStored { app: 3.into() }.into()
    }
}

fn json_of(response: &Response) -> Value {
    serde_json::from_slice(response.body()).expect("JSON")
}

#[test]
fn an_application_asks_changes_and_ends() {
    let (mut memory, mut told) = (memory(7777), Vec::new());
    let response = judged(("POST", PATH), &said(), &mut memory, pcf(&mut told));
    let own = format!("{PATH}/0000000000000003");
    let location = response.headers()[http::header::LOCATION]
        .to_str()
        .expect("a URI");
    assert_eq!(location, format!("http://127.0.0.1:7777{own}"));
    let data = &json_of(&response)["ascReqData"];
    assert_eq!(data["evSubsc"]["events"].as_array().map(Vec::len), Some(1));
    let mut media = said()["ascReqData"]["medComponents"].clone();
    media["7"]
        .as_object_mut()
        .expect("members")
        .remove("codecs");
    let expected = json!({
        "afAppId": "voice", "ueIpv4": "10.45.0.2", "dnn": "internet", "medComponents": media,
    });
    assert_eq!(told, [expected]);
    let read = judged(("GET", &own), &Value::Null, &mut memory, nobody);
    assert_eq!(json_of(&read), json_of(&response));
    let patch = json!({ "ascReqData": { "medComponents": {
        "7": { "medCompN": 7, "marBwDl": "96 Kbps" },
        "8": { "medCompN": 8, "medType": "VIDEO" },
    } } });
    told.clear();
    judged(("PATCH", &own), &patch, &mut memory, pcf(&mut told));
    assert_eq!(told[0]["medComponents"]["7"]["marBwDl"], "96 Kbps");
    assert_eq!(told[0]["medComponents"]["7"]["marBwUl"], "64 Kbps");
    assert_eq!(told[0]["medComponents"]["8"]["medType"], "VIDEO");
    let less = json!({ "ascReqData": { "medComponents": { "7": null } } });
    // The description has no null there, RFC 7396 has it.
    let response = asked(&request("PATCH", &own, &less), &mut memory, pcf(&mut told));
    assert_eq!(response.status(), 200);
    assert!(told[1]["medComponents"].get("7").is_none());
    let delete = format!("{own}/delete");
    let events = json!({ "events": [{ "event": FAILED }] });
    let response = judged(("POST", &delete), &events, &mut memory, pcf(&mut told));
    assert_eq!(response.status(), 204);
    for (method, path) in [("GET", &own), ("POST", &delete)] {
        let response = asked(&request(method, path, &Value::Null), &mut memory, nobody);
        let cause = "APPLICATION_SESSION_CONTEXT_NOT_FOUND".to_owned();
        assert_eq!(refusal(&response), (404, cause));
    }
}

fn notice(news: AppSessionNews, numbers: &[u32]) -> NotifyAppSession {
    let mut medium = [0.into(); RULES];
    for (into, number) in medium.iter_mut().zip(numbers) {
        *into = (*number).into();
    }
    NotifyAppSession {
        app: 3.into(),
        news,
        media: numbers.len() as u8,
        medium,
    }
}

/// Path and body of the only notification, which is of a type.
fn told(notice: NotifyAppSession, memory: &mut Memory, kind: &str) -> (String, Value) {
    let done = response(204, &Value::Null);
    let (answer, sent) = answered(notice, memory, &[done]);
    assert_eq!((answer, sent.len()), (Done::ALL.into(), 1));
    assert_eq!(sent[0].to, To::Root("http://127.0.0.9:8000".to_owned()));
    let body = sent[0].request.body();
    assert_eq!(faults_of_type(body, FILE, kind), [""; 0]);
    let path = sent[0].request.uri().to_string();
    (path, serde_json::from_slice(body).expect("JSON"))
}

#[test]
fn an_application_is_told_of_flows_that_it_has_lost_and_of_its_end() {
    let mut memory = memory(7777);
    judged(("POST", PATH), &said(), &mut memory, pcf(&mut Vec::new()));
    let failed = notice(AppSessionNews::Failed, &[7, 8]);
    let (path, body) = told(failed, &mut memory, "EventsNotification");
    assert_eq!(path, "/app/1/notify");
    let flows = json!([{ "medCompN": 7 }, { "medCompN": 8 }]);
    assert_eq!(body["failedResourcAllocReports"][0]["flows"], flows);
    let own = format!("{PATH}/0000000000000003");
    let events = format!("{own}/events-subscription");
    let response = judged(("DELETE", &events), &Value::Null, &mut memory, nobody);
    assert_eq!(response.status(), 204);
    let (answer, sent) = answered(failed, &mut memory, &[]);
    assert_eq!((answer, sent.len()), (Done::ALL.into(), 0));
    let wanted = json!({
        "events": [{ "event": FAILED }], "notifUri": "http://127.0.0.9:8000/other",
    });
    for status in [201, 200] {
        let response = judged(("PUT", &events), &wanted, &mut memory, nobody);
        assert_eq!(response.status(), status);
    }
    let (path, _) = told(failed, &mut memory, "EventsNotification");
    assert_eq!(path, "/other/notify");
    let other = json!({ "events": [{ "event": "QOS_NOTIF" }] });
    let response = asked(&request("PUT", &events, &other), &mut memory, nobody);
    assert_eq!(response.status(), 400);
    let over = notice(AppSessionNews::SessionOver, &[]);
    let (path, body) = told(over, &mut memory, "TerminationInfo");
    assert_eq!(path, "/app/1/terminate");
    assert_eq!(body["termCause"], "PDU_SESSION_TERMINATION");
    assert_eq!(body["resUri"], format!("http://127.0.0.1:7777{own}"));
    // The application deletes it, and the PCF has it no more.
    let delete = format!("{own}/delete");
    let response = judged(("POST", &delete), &wanted, &mut memory, nobody);
    assert_eq!(response.status(), 204);
    let (answer, sent) = answered(over, &mut memory, &[]);
    assert_eq!((answer, sent.len()), (Problem::ContextNotFound.into(), 0));
}

#[test]
fn what_is_wrong_is_refused_by_name_or_by_the_cause_of_the_ts() {
    let mut memory = memory(7777);
    let media = "/ascReqData/medComponents";
    for (pointer, value, param) in [
        ("/ascReqData/notifUri", json!("app"), "/ascReqData/notifUri"),
        ("/ascReqData/suppFeat", Value::Null, "/ascReqData/suppFeat"),
        ("/ascReqData/ueIpv4", Value::Null, "/ascReqData/ueIpv4"),
        (media, json!({}), media),
        (
            media,
            json!({ "1": {} }),
            "/ascReqData/medComponents/1/medCompN",
        ),
        (
            "/ascReqData/medComponents/7/marBwDl",
            json!(64_000),
            "/ascReqData/medComponents/7/marBwDl",
        ),
    ] {
        let mut body = said();
        *body.pointer_mut(pointer).expect("a member") = value;
        let response = asked(&request("POST", PATH, &body), &mut memory, nobody);
        assert_eq!(json_of(&response)["invalidParams"][0]["param"], param);
    }
    let mut long = said();
    let flow =
        |n| json!({ "fNum": n, "fDescs": [format!("permit out 17 from 203.0.113.7 {n} to any")] });
    let subs: serde_json::Map<String, Value> = (0..40).map(|n| (n.to_string(), flow(n))).collect();
    long["ascReqData"]["medComponents"]["7"]["medSubComps"] = subs.into();
    let response = judged(("POST", PATH), &long, &mut memory, nobody);
    assert_eq!(response.status(), 413);
    for (problem, refused) in [
        (Problem::UserNotFound, (500, "PDU_SESSION_NOT_AVAILABLE")),
        (
            Problem::QosNotAuthorized,
            (403, "REQUESTED_SERVICE_NOT_AUTHORIZED"),
        ),
        (Problem::Protocol, (400, "INVALID_SERVICE_INFORMATION")),
        (Problem::Overload, (503, "NF_CONGESTION")),
    ] {
        let function = |_, _| problem.into();
        let response = judged(("POST", PATH), &said(), &mut memory, function);
        assert_eq!(refusal(&response), (refused.0, refused.1.to_owned()));
    }
}
