//! Subscriptions and notifications (TS 29.510, 5.2.2.5 and 5.2.2.6).

use http::header::LOCATION;

use super::*;

const PATH: &str = "/nnrf-nfm/v1/subscriptions";

/// Subscription as the SCP of Open5GS makes it.
fn scp(condition: &Value) -> Value {
    json!({
        "nfStatusNotificationUri": "http://127.0.0.200:7777/nnrf-nfm/v1/nf-status-notify",
        "reqNfInstanceId": AMF,
        "subscrCond": condition,
        "reqNfType": "SCP",
        "requesterFeatures": "1",
    })
}

fn subscribe(nrf: &mut Nrf, data: &Value) -> String {
    let (status, data) = serve(nrf, "POST", PATH, data);
    assert_eq!(status, StatusCode::CREATED, "{data}");
    data["subscriptionId"].as_str().unwrap().to_owned()
}

/// Events that wait, each with its profile's type of services.
fn told(nrf: &mut Nrf) -> Vec<Value> {
    let all = nrf.take_notifications().into_iter();
    all.map(|one| serde_json::from_slice(one.request.body()).unwrap())
        .collect()
}

fn events(nrf: &mut Nrf) -> Vec<String> {
    let all = told(nrf).into_iter();
    all.map(|one| one["event"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_subscription_is_made_and_ends() {
    let mut nrf = nrf();
    let data = scp(&json!({ "nfType": "UDR" }));
    let response = nrf.serve(
        at(0),
        &request("POST", PATH, &data.to_string()),
        &mut vec![],
    );
    assert_eq!(response.status(), StatusCode::CREATED);
    let answer = body(&response);
    let id = answer["subscriptionId"].as_str().unwrap();
    assert!(!id.contains('-'));
    assert_eq!(
        response.headers()[LOCATION],
        format!("http://127.0.0.10:7777{PATH}/{id}")
    );
    assert_eq!(answer["validityTime"], "2026-11-30T00:00:00Z");
    assert_eq!(answer["nrfSupportedFeatures"], "1");
    assert!(answer["requesterFeatures"].is_null());
    // It is prolonged, and not for ever.
    let path = format!("{PATH}/{id}");
    let prolong = |time: &str| json!([{ "op": "replace", "path": "/validityTime", "value": time }]);
    assert_eq!(
        serve(&mut nrf, "PATCH", &path, &prolong("2026-12-02T00:00:00Z")).0,
        StatusCode::NO_CONTENT
    );
    let (status, data) = serve(&mut nrf, "PATCH", &path, &prolong("2031-01-01T00:00:00Z"));
    assert_eq!(
        (status, &data["validityTime"]),
        (StatusCode::OK, &json!("2026-12-29T00:00:00Z"))
    );
    let other = json!([{ "op": "replace", "path": "/reqNfType", "value": "AMF" }]);
    assert_eq!(
        serve(&mut nrf, "PATCH", &path, &other).0,
        StatusCode::BAD_REQUEST
    );
    for status in [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND] {
        assert_eq!(serve(&mut nrf, "DELETE", &path, &Value::Null).0, status);
    }
    put(&mut nrf, &open5gs_udr());
    assert!(nrf.take_notifications().is_empty());
}

#[test]
fn those_that_subscribed_are_notified() {
    let mut nrf = nrf();
    subscribe(&mut nrf, &scp(&json!({ "nfType": "UDR" })));
    put(&mut nrf, &free5gc_smf());
    put(&mut nrf, &open5gs_udr());
    let mut all = nrf.take_notifications();
    let one = all.pop().unwrap();
    assert!(all.is_empty());
    assert_eq!(
        one.uri,
        "http://127.0.0.200:7777/nnrf-nfm/v1/nf-status-notify"
    );
    assert_eq!(one.request.uri(), "/nnrf-nfm/v1/nf-status-notify");
    assert_eq!(
        one.request.headers()["3gpp-sbi-callback"],
        "Nnrf_NFManagement_NFStatusNotify"
    );
    let data: Value = serde_json::from_slice(one.request.body()).unwrap();
    assert_eq!(data["event"], "NF_REGISTERED");
    assert_eq!(
        data["nfInstanceUri"],
        format!("http://127.0.0.10:7777{}", instance_path(UDR))
    );
    // It takes the map of services, and is not told whom they are for (6.1.6.2.17).
    let profile = &data["nfProfile"];
    assert!(profile["nfServiceList"].is_object() && profile["allowedNfTypes"].is_null());
    serve(&mut nrf, "DELETE", &instance_path(UDR), &Value::Null);
    let gone = told(&mut nrf).pop().unwrap();
    assert_eq!(
        (&gone["event"], &gone["nfProfile"]),
        (&json!("NF_DEREGISTERED"), &Value::Null)
    );
    assert_eq!(nrf.counters().notifications, 2);
}

#[test]
fn changes_are_told_and_loads_are_not() {
    let mut nrf = nrf();
    // As free5GC asks: what is not asked for is empty.
    subscribe(
        &mut nrf,
        &json!({
            "nfStatusNotificationUri": "http://127.0.0.18:8000/notify",
            "reqNfType": "AMF",
            "subscrCond": { "nfType": "", "guamiList": null, "serviceName": "nsmf-pdusession" },
            "reqNotifEvents": ["NF_PROFILE_CHANGED", "NF_DEREGISTERED"],
            "validityTime": "2030-01-01T00:00:00Z",
        }),
    );
    put(&mut nrf, &free5gc_smf());
    assert_eq!(events(&mut nrf), [""; 0]);
    let path = instance_path(SMF);
    let load = json!([{ "op": "replace", "path": "/load", "value": 50 }]);
    serve(&mut nrf, "PATCH", &path, &load);
    assert_eq!(events(&mut nrf), [""; 0]);
    let patch = json!([{ "op": "add", "path": "/capacity", "value": 1 }]);
    serve(&mut nrf, "PATCH", &path, &patch);
    let changed = told(&mut nrf).pop().unwrap();
    assert_eq!(
        (&changed["event"], &changed["nfProfile"]["capacity"]),
        (&json!("NF_PROFILE_CHANGED"), &json!(1))
    );
    // It has the service no more.
    serve(
        &mut nrf,
        "PATCH",
        &path,
        &json!([{ "op": "remove", "path": "/nfServices/0" }]),
    );
    assert_eq!(
        told(&mut nrf).pop().unwrap()["conditionEvent"],
        "NF_REMOVED"
    );
    put(&mut nrf, &free5gc_smf());
    assert_eq!(told(&mut nrf).pop().unwrap()["conditionEvent"], "NF_ADDED");
}

#[test]
fn heart_beats_that_are_missed_are_told() {
    let mut nrf = nrf();
    subscribe(&mut nrf, &scp(&json!({ "nfInstanceId": SMF })));
    put(&mut nrf, &free5gc_smf());
    told(&mut nrf);
    let mut effects = Vec::new();
    nrf.handle(at(25), Input::Time, &mut effects);
    let suspended = told(&mut nrf).pop().unwrap();
    assert_eq!(suspended["event"], "NF_PROFILE_CHANGED");
    assert_eq!(suspended["nfProfile"]["nfStatus"], "SUSPENDED");
    let beat = json!([{ "op": "replace", "path": "/nfStatus", "value": "REGISTERED" }]);
    serve_at(
        &mut nrf,
        at(30),
        &request("PATCH", &instance_path(SMF), &beat.to_string()),
    );
    assert_eq!(
        told(&mut nrf).pop().unwrap()["nfProfile"]["nfStatus"],
        "REGISTERED"
    );
    while nrf.next_deadline() < Instant::NEVER {
        let instant = nrf.next_deadline();
        nrf.handle(Now { instant, ..at(200) }, Input::Time, &mut effects);
    }
    assert_eq!(events(&mut nrf), ["NF_PROFILE_CHANGED", "NF_DEREGISTERED"]);
}

#[test]
fn nobody_hears_of_those_that_are_not_for_it() {
    let mut nrf = nrf();
    let mut amf = scp(&json!({ "nfType": "UDR" }));
    amf["reqNfType"] = "AMF".into();
    subscribe(&mut nrf, &amf);
    let mut nameless = scp(&Value::Null);
    nameless.as_object_mut().unwrap().remove("reqNfType");
    subscribe(&mut nrf, &nameless);
    put(&mut nrf, &open5gs_udr());
    assert_eq!(events(&mut nrf), [""; 0]);
    put(&mut nrf, &free5gc_smf());
    assert_eq!(events(&mut nrf), ["NF_REGISTERED"]);
}

#[test]
fn who_registers_by_messages_is_told_too() {
    let mut nrf = nrf();
    subscribe(&mut nrf, &scp(&json!({ "serviceName": "nudm-sdm" })));
    let served = sluice_sbi::Served::new(&[], &[], &[]);
    let instance = sluice_sbi::NfInstance::of([1; 16]);
    let profile = sluice_sbi::NfProfile::new(instance, Nf::Udm, &[], served);
    ask(&mut nrf, at(0), sluice_sbi::RegisterNf { profile });
    ask(&mut nrf, at(0), sluice_sbi::DeregisterNf { instance });
    assert_eq!(events(&mut nrf), ["NF_REGISTERED", "NF_DEREGISTERED"]);
}

#[test]
fn a_subscription_that_cannot_be_served_is_refused_by_name() {
    let mut nrf = nrf();
    for (member, value) in [
        ("nfStatusNotificationUri", Value::Null),
        ("nfStatusNotificationUri", json!("/relative")),
        ("subscrCond", json!({ "nfSetId": "set" })),
        ("reqNotifEvents", json!(["NF_ELSE"])),
        ("validityTime", json!("tomorrow")),
    ] {
        let mut data = scp(&json!({ "nfType": "UDR" }));
        data[member] = value;
        let (status, problem) = serve(&mut nrf, "POST", PATH, &data);
        assert_eq!(status, StatusCode::BAD_REQUEST, "{member}");
        assert_eq!(problem["invalidParams"][0]["param"], format!("/{member}"));
    }
}

#[test]
fn a_subscription_is_over_after_its_time() {
    let mut nrf = nrf();
    let mut data = scp(&json!({ "nfType": "UDR" }));
    data["validityTime"] = "2026-11-29T00:00:09Z".into();
    let id = subscribe(&mut nrf, &data);
    let put = request("PUT", &instance_path(UDR), &open5gs_udr().to_string());
    serve_at(&mut nrf, at(9), &put);
    assert_eq!(events(&mut nrf), [""; 0]);
    let path = format!("{PATH}/{id}");
    assert_eq!(
        serve_at(&mut nrf, at(9), &request("DELETE", &path, "")).0,
        StatusCode::NOT_FOUND
    );
}
