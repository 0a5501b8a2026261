//! Availability of slices: requests of AMFs, subscriptions, and what subscribers are told.

use serde_json::{Value, json};
use sluice_ids::Tac;
use sluice_sbi::{AvailabilityStored, AvailabilitySubscribed, Done};

use super::*;
use crate::exchange::To;
use crate::judge::{faults, faults_of_type};
use crate::tests::through::{
    answered, asked, instance, memory, nobody, plmn, refusal, request, response, typed,
};

const PATH: &str = "/nnssf-nssaiavailability/v1/nssai-availability";

fn area(number: u8) -> Tai {
    let tac = Tac([0, 0, number]);
    Tai { plmn: plmn(), tac }
}

fn judged(
    line: (&str, &str),
    body: &Value,
    memory: &mut Memory,
    function: impl FnMut(Nf, Message) -> Message,
) -> Response {
    let request = typed(line, "application/json", body);
    let response = asked(&request, memory, function);
    // The description writes the type of patches with a colon too many.
    if line.0 != "PATCH" {
        assert_eq!(faults(&request, &response), [""; 0]);
    }
    response
}

fn info() -> Value {
    json!({ "supportedNssaiAvailabilityData": [
        { "tai": tai_json(area(1)), "taiList": [tai_json(area(2))], "supportedSnssaiList": [
            { "sst": 1 }, { "sst": 2, "sd": "010203" },
        ] },
        { "tai": tai_json(area(3)), "supportedSnssaiList": [{ "sst": 9 }] },
    ] })
}

/// An NSSF that authorizes slices of the type 1.
fn nssf(told: &mut Vec<Message>) -> impl FnMut(Nf, Message) -> Message {
    |nf, message| {
        assert_eq!(nf, Nf::Nssf);
        told.push(message);
        match message {
            Message::StoreAvailability(request) => {
                let mut slices = request.slices.get().to_vec();
                slices.retain(|one| one.sst == 1);
                let authorized = AvailableSlices::new(&slices);
                AvailabilityStored { authorized }.into()
            }
            _ => Done::ALL.into(),
        }
    }
}

#[test]
fn an_amf_tells_its_slices_area_by_area_and_hears_which_are_authorized() {
    let (mut memory, mut told) = (memory(7777), Vec::new());
    let own = format!("{PATH}/{}", instance(1));
    let response = judged(("PUT", &own), &info(), &mut memory, nssf(&mut told));
    let first = Snssai::new(1, None);
    let both = [first, Snssai::new(2, Some([1, 2, 3]))];
    let stored = |number, (is_first, is_last), slices: &[Snssai]| {
        Message::from(StoreAvailability {
            amf: instance(1),
            is_first,
            is_last,
            tai: area(number),
            slices: AvailableSlices::new(slices),
        })
    };
    let third = [Snssai::new(9, None)];
    assert!(
        told == [
            stored(1, (true, false), &both),
            stored(2, (false, false), &both),
            stored(3, (false, true), &third)
        ]
    );
    let body: Value = serde_json::from_slice(response.body()).expect("JSON");
    let expected = [area(1), area(2)].map(|tai| data(tai, &[first]));
    assert_eq!(body["authorizedNssaiAvailabilityData"], json!(expected));
    // A part of it changes.
    let patch = json!([
        { "op": "remove", "path": "/supportedNssaiAvailabilityData/0" },
        { "op": "replace", "path": "/supportedNssaiAvailabilityData/0/supportedSnssaiList/0", "value": { "sst": 1 } },
    ]);
    told.clear();
    judged(("PATCH", &own), &patch, &mut memory, nssf(&mut told));
    assert!(
        told == [
            stored(2, (true, false), &[first, both[1]]),
            stored(3, (false, true), &third)
        ]
    );
    let response = judged(("DELETE", &own), &Value::Null, &mut memory, nssf(&mut told));
    assert_eq!(response.status(), 204);
    let response = asked(&request("PATCH", &own, &patch), &mut memory, nobody);
    assert_eq!(refusal(&response), (404, "CONTEXT_NOT_FOUND".to_owned()));
    // None is authorized.
    let mut none = info();
    none["supportedNssaiAvailabilityData"] = json!([info()["supportedNssaiAvailabilityData"][1]]);
    let response = judged(("PUT", &own), &none, &mut memory, nssf(&mut told));
    assert_eq!(response.status(), 204);
}

#[test]
fn subscribers_hear_of_changes() {
    let mut memory = memory(7777);
    let path = format!("{PATH}/subscriptions");
    let body = json!({
        "nfNssaiAvailabilityUri": "http://127.0.0.9:8000/slices",
        "taiList": [tai_json(area(1)), tai_json(area(2))],
        "event": "SNSSAI_STATUS_CHANGE_REPORT",
    });
    let mut areas = Vec::new();
    let mut subscribe = |_, message: Message| match message {
        Message::SubscribeAvailability(request) => {
            areas.push((
                request.id.get(),
                request.area[..request.areas.into()].to_vec(),
            ));
            AvailabilitySubscribed {
                id: 4.into(),
                until_unix_s: 1_795_823_564.into(),
            }
            .into()
        }
        _ => Done::ALL.into(),
    };
    let response = judged(("POST", &path), &body, &mut memory, &mut subscribe);
    let own = format!("{path}/0000000000000004");
    let location = response.headers()[http::header::LOCATION]
        .to_str()
        .expect("a URI");
    assert!(location.ends_with(&own));
    let patch = json!([{ "op": "remove", "path": "/taiList/0" }]);
    let response = judged(("PATCH", &own), &patch, &mut memory, &mut subscribe);
    assert_eq!(response.status(), 200);
    let notice = |slices: &[Snssai]| NotifyAvailability {
        id: 4.into(),
        tai: area(2),
        authorized: AvailableSlices::new(slices),
    };
    let done = response_of();
    for (slices, number) in [(&[Snssai::new(1, None)][..], 1), (&[], 0)] {
        let (answer, sent) = answered(notice(slices), &mut memory, std::slice::from_ref(&done));
        assert_eq!(answer, Done::ALL.into());
        assert_eq!(sent[0].to, To::Root("http://127.0.0.9:8000".to_owned()));
        let body = sent[0].request.body();
        let (file, kind) = (
            "TS29531_Nnssf_NSSAIAvailability.yaml",
            "NssfEventNotification",
        );
        assert_eq!(faults_of_type(body, file, kind), [""; 0]);
        let body: Value = serde_json::from_slice(body).expect("JSON");
        let data = body["authorizedNssaiAvailabilityData"].as_array();
        assert_eq!(data.map(Vec::len), Some(number));
    }
    let response = judged(("DELETE", &own), &Value::Null, &mut memory, &mut subscribe);
    assert_eq!(response.status(), 204);
    assert_eq!(areas, [(0, vec![area(1), area(2)]), (4, vec![area(2)])]);
    let (answer, _) = answered(notice(&[]), &mut memory, &[]);
    assert_eq!(answer, Problem::ContextNotFound.into());
}

fn response_of() -> Response {
    response(204, &Value::Null)
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let mut memory = memory(7777);
    let own = format!("{PATH}/{}", instance(1));
    let ranges = json!({ "supportedNssaiAvailabilityData": [
        { "tai": tai_json(area(1)), "supportedSnssaiList": [{ "sst": 1 }], "taiRangeList": [{}] },
    ] });
    let many: Vec<Value> = (0..65)
        .map(|_| data(area(1), &[Snssai::new(1, None)]))
        .collect();
    for (body, param) in [
        (json!({}), "/supportedNssaiAvailabilityData"),
        (ranges, "/supportedNssaiAvailabilityData/0/taiRangeList"),
        (
            json!({ "supportedNssaiAvailabilityData": many }),
            "/supportedNssaiAvailabilityData",
        ),
        (
            json!({ "supportedNssaiAvailabilityData": [{ "tai": tai_json(area(1)) }] }),
            "/supportedNssaiAvailabilityData/0/supportedSnssaiList",
        ),
    ] {
        let response = asked(&request("PUT", &own, &body), &mut memory, nobody);
        let told: Value = serde_json::from_slice(response.body()).expect("JSON");
        assert_eq!(told["invalidParams"][0]["param"], param);
    }
    let no_uuid = format!("{PATH}/1");
    let response = asked(&request("PUT", &no_uuid, &info()), &mut memory, nobody);
    assert_eq!(response.status(), 404);
    let full = |_, _| Problem::NoResources.into();
    let response = judged(("PUT", &own), &info(), &mut memory, full);
    assert_eq!(
        refusal(&response),
        (500, "INSUFFICIENT_RESOURCES".to_owned())
    );
}
