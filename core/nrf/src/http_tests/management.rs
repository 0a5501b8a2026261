//! Nnrf_NFManagement: profiles (TS 29.510, 6.1.3.3).

use http::header::{CONTENT_TYPE, LOCATION};

use super::*;

#[test]
fn a_profile_is_registered_with_all_its_members() {
    let mut nrf = nrf();
    let mut profile = free5gc_smf();
    profile["vendor-members"] = json!({ "of": [1, null] });
    let path = instance_path(SMF);
    let response = nrf.serve(
        at(0),
        &request("PUT", &path, &profile.to_string()),
        &mut vec![],
    );
    assert_eq!(response.status(), StatusCode::CREATED);
    assert_eq!(
        response.headers()[LOCATION],
        format!("http://127.0.0.10:7777{path}")
    );
    // The NRF sets the interval (6.1.6.2.2).
    profile["heartBeatTimer"] = 10.into();
    assert_eq!(body(&response), profile);
    assert_eq!(get(&mut nrf, &path), (StatusCode::OK, profile.clone()));
    // The same again replaces it, and nothing is left of the old one.
    profile.as_object_mut().unwrap().remove("vendor-members");
    assert_eq!(put(&mut nrf, &profile), (StatusCode::OK, profile.clone()));
    assert_eq!(get(&mut nrf, &path), (StatusCode::OK, profile));
    assert_eq!(nrf.counters().registrations, 2);
}

#[test]
fn who_takes_changes_alone_gets_them_alone() {
    let mut nrf = nrf();
    let expected = json!({
        "nfInstanceId": UDR,
        "nfType": "UDR",
        "nfStatus": "REGISTERED",
        "heartBeatTimer": 10,
        "nfProfileChangesInd": true,
    });
    assert_eq!(
        put(&mut nrf, &open5gs_udr()),
        (StatusCode::CREATED, expected)
    );
    // The indication is of the request, and no member of the profile; those who read it see a list, or the map if they
    // have the feature, and not whom it is for.
    let (_, list) = get(&mut nrf, &instance_path(UDR));
    assert_eq!(list["nfServices"][0]["serviceName"], "nudr-dr");
    assert!(list["nfServices"][0]["allowedNfTypes"].is_null());
    for member in [
        "nfServiceList",
        "nfProfileChangesSupportInd",
        "allowedNfTypes",
    ] {
        assert!(list[member].is_null(), "{member}");
    }
    let (_, map) = get(
        &mut nrf,
        &format!("{}?requester-features=1", instance_path(UDR)),
    );
    let services = map["nfServiceList"].as_object().unwrap();
    assert_eq!(services.len(), 1);
    assert!(map["nfServices"].is_null());
}

#[test]
fn a_member_that_is_missing_or_wrong_is_refused_by_name() {
    let mut nrf = nrf();
    for (member, wrong, cause) in [
        ("nfInstanceId", Value::Null, "MANDATORY_IE_MISSING"),
        ("nfInstanceId", json!(AMF), "MANDATORY_IE_INCORRECT"),
        ("nfType", Value::Null, "MANDATORY_IE_MISSING"),
        ("nfType", json!("smf"), "MANDATORY_IE_INCORRECT"),
        ("nfStatus", Value::Null, "MANDATORY_IE_MISSING"),
        ("priority", json!(65_536), "MANDATORY_IE_INCORRECT"),
        (
            "plmnList",
            json!([{ "mcc": "1" }]),
            "MANDATORY_IE_INCORRECT",
        ),
    ] {
        let mut profile = free5gc_smf();
        profile[member] = wrong;
        let refused = serve(&mut nrf, "PUT", &instance_path(SMF), &profile);
        assert_eq!(refused.0, StatusCode::BAD_REQUEST, "{member}");
        assert_eq!(refused.1["cause"], cause, "{member}");
        assert_eq!(refused.1["invalidParams"][0]["param"], format!("/{member}"));
    }
    assert_eq!(nrf.profiles().count(), 0);
}

#[test]
fn instances_are_listed_as_links() {
    let mut nrf = nrf();
    put(&mut nrf, &free5gc_smf());
    put(&mut nrf, &open5gs_scp(AMF));
    let path = "/nnrf-nfm/v1/nf-instances";
    let response = nrf.serve(at(0), &request("GET", path, ""), &mut vec![]);
    assert_eq!(response.headers()[CONTENT_TYPE], "application/3gppHal+json");
    let href = |id| json!({ "href": format!("http://127.0.0.10:7777{}", instance_path(id)) });
    let list = body(&response);
    assert_eq!(list["_links"]["item"], json!([href(AMF), href(SMF)]));
    assert_eq!(list["totalItemCount"], 2);
    let items = |nrf: &mut Nrf, query: &str| {
        get(nrf, &format!("{path}?{query}")).1["_links"]["item"].clone()
    };
    assert_eq!(items(&mut nrf, "nf-type=SMF&limit=5"), json!([href(SMF)]));
    assert_eq!(items(&mut nrf, "limit=1"), json!([href(AMF)]));
    assert_eq!(
        items(&mut nrf, "page-size=1&page-number=2"),
        json!([href(SMF)])
    );
    assert_eq!(
        get(&mut nrf, &format!("{path}?limit=0")).0,
        StatusCode::BAD_REQUEST
    );
}

#[test]
fn heart_beats_keep_an_instance_and_missed_ones_suspend_it_until_the_next() {
    let mut nrf = nrf();
    put(&mut nrf, &free5gc_smf());
    // Both cores beat so; free5GC's SMF has no load in its profile.
    let beat = json!([
        { "op": "replace", "path": "/nfStatus", "value": "REGISTERED" },
        { "op": "replace", "path": "/load", "value": 5 },
    ]);
    let beat = request("PATCH", &instance_path(SMF), &beat.to_string());
    assert_eq!(serve_at(&mut nrf, at(20), &beat).0, StatusCode::NO_CONTENT);
    let status = |nrf: &mut Nrf, seconds| {
        let request = request("GET", &instance_path(SMF), "");
        let (status, profile) = serve_at(nrf, at(seconds), &request);
        (status, profile["nfStatus"].clone(), profile["load"].clone())
    };
    assert_eq!(
        status(&mut nrf, 44),
        (StatusCode::OK, json!("REGISTERED"), json!(5))
    );
    assert_eq!(
        status(&mut nrf, 45),
        (StatusCode::OK, json!("SUSPENDED"), json!(5))
    );
    assert_eq!(serve_at(&mut nrf, at(50), &beat).0, StatusCode::NO_CONTENT);
    assert_eq!(status(&mut nrf, 50).1, "REGISTERED");
    assert_eq!(status(&mut nrf, 50 + 105).0, StatusCode::NOT_FOUND);
    assert_eq!(serve_at(&mut nrf, at(156), &beat).0, StatusCode::NOT_FOUND);
    let counters = nrf.counters();
    assert_eq!(
        (counters.suspended, counters.forgotten, counters.unknown),
        (2, 1, 1)
    );
}

#[test]
fn members_are_changed_by_a_patch() {
    let mut nrf = nrf();
    put(&mut nrf, &free5gc_smf());
    let path = instance_path(SMF);
    let patch = json!([
        { "op": "add", "path": "/smfInfo/sNssaiSmfInfoList/-", "value":
            { "sNssai": { "sst": 9 }, "dnnSmfInfoList": [{ "dnn": "*" }] } },
        { "op": "remove", "path": "/locality" },
        { "op": "replace", "path": "/ipv4Addresses/0", "value": "127.0.0.3" },
    ]);
    let (status, profile) = serve(&mut nrf, "PATCH", &path, &patch);
    assert_eq!(status, StatusCode::OK);
    assert_eq!(profile["ipv4Addresses"], json!(["127.0.0.3"]));
    assert!(profile["locality"].is_null());
    let found = get(
        &mut nrf,
        "/nnrf-disc/v1/nf-instances?target-nf-type=SMF&requester-nf-type=AMF&dnn=any&snssais=%5B%7B%22sst%22:9%7D%5D",
    );
    assert_eq!(found.1["nfInstances"][0]["nfInstanceId"], SMF);
    for (patch, status) in [
        (
            json!([{ "op": "replace", "path": "/nfType", "value": "UDM" }]),
            StatusCode::FORBIDDEN,
        ),
        (
            json!([{ "op": "remove", "path": "/nfStatus" }]),
            StatusCode::BAD_REQUEST,
        ),
        (
            json!([{ "op": "remove", "path": "/nothing" }]),
            StatusCode::CONFLICT,
        ),
        (
            json!([{ "op": "move", "path": "/load" }]),
            StatusCode::BAD_REQUEST,
        ),
        (json!({}), StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(serve(&mut nrf, "PATCH", &path, &patch).0, status, "{patch}");
        // Nothing is left of a patch that is refused.
        assert_eq!(get(&mut nrf, &path).1, profile);
    }
}

#[test]
fn who_deregisters_is_gone() {
    let mut nrf = nrf();
    put(&mut nrf, &free5gc_smf());
    let path = instance_path(SMF);
    for status in [StatusCode::NO_CONTENT, StatusCode::NOT_FOUND] {
        assert_eq!(serve(&mut nrf, "DELETE", &path, &Value::Null).0, status);
    }
    assert_eq!(get(&mut nrf, &path).0, StatusCode::NOT_FOUND);
    assert_eq!(
        get(&mut nrf, &instance_path("no-uuid")).0,
        StatusCode::NOT_FOUND
    );
    assert_eq!(nrf.counters().deregistrations, 1);
}

#[test]
fn an_instance_may_suspend_itself() {
    let mut nrf = nrf();
    let mut profile = free5gc_smf();
    profile["nfStatus"] = "UNDISCOVERABLE".into();
    put(&mut nrf, &profile);
    let search = "/nnrf-disc/v1/nf-instances?target-nf-type=SMF&requester-nf-type=AMF";
    assert_eq!(get(&mut nrf, search).1["nfInstances"], json!([]));
    assert_eq!(
        get(&mut nrf, &instance_path(SMF)).1["nfStatus"],
        "UNDISCOVERABLE"
    );
    let patch = json!([{ "op": "replace", "path": "/nfStatus", "value": "REGISTERED" }]);
    serve(&mut nrf, "PATCH", &instance_path(SMF), &patch);
    assert_eq!(
        get(&mut nrf, search).1["nfInstances"][0]["nfInstanceId"],
        SMF
    );
}

#[test]
fn what_is_not_served_is_refused() {
    let mut nrf = nrf();
    for (method, path, status) in [
        (
            "POST",
            "/nnrf-nfm/v1/nf-instances",
            StatusCode::METHOD_NOT_ALLOWED,
        ),
        (
            "POST",
            "/nnrf-disc/v1/nf-instances",
            StatusCode::METHOD_NOT_ALLOWED,
        ),
        (
            "GET",
            "/nnrf-nfm/v1/subscriptions",
            StatusCode::METHOD_NOT_ALLOWED,
        ),
        ("DELETE", "/bootstrapping", StatusCode::METHOD_NOT_ALLOWED),
        ("GET", "/nnrf-nfm/v2/nf-instances", StatusCode::NOT_FOUND),
        ("GET", "/nnrf-nfm/v1/else", StatusCode::NOT_FOUND),
        ("GET", "/", StatusCode::NOT_FOUND),
        (
            "OPTIONS",
            "/nnrf-nfm/v1/nf-instances",
            StatusCode::NO_CONTENT,
        ),
    ] {
        assert_eq!(
            serve(&mut nrf, method, path, &Value::Null).0,
            status,
            "{method} {path}"
        );
    }
}

#[test]
fn the_document_at_the_start_has_the_services() {
    let mut nrf = nrf();
    let (status, info) = get(&mut nrf, "/bootstrapping");
    assert_eq!(
        (status, &info["status"]),
        (StatusCode::OK, &json!("OPERATIVE"))
    );
    let discover = "http://127.0.0.10:7777/nnrf-disc/v1/nf-instances";
    assert_eq!(info["_links"]["discover"]["href"], discover);
    assert_eq!(
        info["oauth2Required"],
        json!({ "nnrf-nfm": false, "nnrf-disc": false })
    );
}
