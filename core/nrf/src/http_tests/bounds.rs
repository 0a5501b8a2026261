//! Bounds, and bodies of any kind.

use proptest::prelude::*;

use super::*;

#[test]
fn profiles_subscriptions_notifications_and_octets_are_bounded() {
    let mut nrf = nrf();
    let subscription = json!({ "nfStatusNotificationUri": "http://127.0.0.1/" });
    for _ in 0..SUBSCRIPTIONS {
        let (status, _) = serve(
            &mut nrf,
            "POST",
            "/nnrf-nfm/v1/subscriptions",
            &subscription,
        );
        assert_eq!(status, StatusCode::CREATED);
    }
    let (status, problem) = serve(
        &mut nrf,
        "POST",
        "/nnrf-nfm/v1/subscriptions",
        &subscription,
    );
    assert_eq!(
        (status.as_u16(), &problem["cause"]),
        (500, &json!("INSUFFICIENT_RESOURCES"))
    );
    put(&mut nrf, &free5gc_smf());
    put(&mut nrf, &open5gs_scp(AMF));
    assert_eq!(nrf.take_notifications().len(), NOTIFICATIONS);
    let counters = nrf.counters();
    assert_eq!(
        (counters.no_room, counters.notifications_lost),
        (1, SUBSCRIPTIONS as u64)
    );
    let mut long = free5gc_smf();
    long["long"] = "x".repeat(DOCUMENT_OCTETS).into();
    assert_eq!(put(&mut nrf, &long).0, StatusCode::PAYLOAD_TOO_LARGE);
    let patch = |octets| json!([{ "op": "add", "path": "/long", "value": "x".repeat(octets) }]);
    let patch = [patch(DOCUMENT_OCTETS - 100), patch(100)];
    let statuses = patch.map(|patch| serve(&mut nrf, "PATCH", &instance_path(SMF), &patch).0);
    assert_eq!(statuses, [StatusCode::PAYLOAD_TOO_LARGE, StatusCode::OK]);
    assert_eq!(nrf.counters().too_long, 2);
}

#[test]
fn a_profile_for_which_there_is_no_room_leaves_the_others() {
    let mut nrf = Nrf::default();
    let id = |n: usize| format!("11111111-1111-4111-8111-{n:012x}");
    for n in 0..PROFILES {
        assert_eq!(put(&mut nrf, &open5gs_scp(&id(n))).0, StatusCode::CREATED);
    }
    assert_eq!(
        put(&mut nrf, &open5gs_scp(SMF)).0,
        StatusCode::INTERNAL_SERVER_ERROR
    );
    assert_eq!(nrf.counters().no_room, 1);
    assert_eq!(put(&mut nrf, &open5gs_scp(&id(0))).0, StatusCode::OK);
    assert_eq!(nrf.profiles().count(), PROFILES);
}

fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~é]{0,12}".prop_map(Value::from),
        Just(json!("REGISTERED")),
        Just(json!(SMF)),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(member(), inner, 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

/// Names that are read, and others.
fn member() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "nfServices",
            "nfServiceList",
            "smfInfo",
            "smfInfoList",
            "sNssaiSmfInfoList",
            "sNssai",
            "dnnSmfInfoList",
            "dnn",
            "taiList",
            "taiRangeList",
            "tacRangeList",
            "plmnId",
            "mcc",
            "mnc",
            "tac",
            "start",
            "end",
            "sst",
            "sd",
            "serviceName",
            "allowedNfTypes",
            "allowedPlmns",
            "supiRanges",
            "guamiList",
            "amfId",
            "subscrCond",
            "nfType",
            "reqNotifEvents",
            "validityTime",
            "op",
            "path",
            "value",
        ])
        .prop_map(str::to_owned),
        "[ -~]{0,6}",
    ]
}

proptest! {
    #[test]
    fn any_member_of_a_profile_is_taken_or_refused(name in member(), value in json_value(), beat in any::<bool>()) {
        let mut nrf = nrf();
        let mut profile = free5gc_smf();
        profile[&name] = value.clone();
        let (status, _) = put(&mut nrf, &profile);
        prop_assert!(matches!(status.as_u16(), 201 | 400));
        if !beat {
            put(&mut nrf, &free5gc_smf());
            let patch = json!([{ "op": "add", "path": format!("/{name}"), "value": value }]);
            let (status, _) = serve(&mut nrf, "PATCH", &instance_path(SMF), &patch);
            prop_assert!(matches!(status.as_u16(), 200 | 204 | 400 | 403 | 409));
        }
        let search = "/nnrf-disc/v1/nf-instances?target-nf-type=SMF&requester-nf-type=AMF&dnn=a&requester-features=20";
        let (status, _) = get(&mut nrf, search);
        prop_assert!(matches!(status.as_u16(), 200 | 403));
        // What is kept can be registered again.
        for one in nrf.profiles() {
            prop_assert!(one.document("").is_object());
        }
    }

    #[test]
    fn any_body_is_answered(
        body in json_value().prop_map(|value| value.to_string()),
        method in prop::sample::select(vec!["GET", "PUT", "PATCH", "POST", "DELETE"]),
        path in prop::sample::select(vec![
            "/nnrf-nfm/v1/nf-instances/7d6a81ab-1233-4efa-ac85-386132f3da5f",
            "/nnrf-nfm/v1/subscriptions",
            "/nnrf-nfm/v1/subscriptions/6b0a0e00x1",
            "/nnrf-nfm/v1/nf-instances",
            "/oauth2/token",
        ]),
    ) {
        let mut nrf = nrf();
        put(&mut nrf, &free5gc_smf());
        let subscription = json!({ "nfStatusNotificationUri": "http://127.0.0.1/" });
        serve(&mut nrf, "POST", "/nnrf-nfm/v1/subscriptions", &subscription);
        let response = nrf.serve(at(0), &request(method, path, &body), &mut Vec::new());
        prop_assert!(response.status().as_u16() < 500);
    }

    #[test]
    fn any_query_is_answered(name in "[a-z-]{1,12}|snssais|tai|guami|dnn|limit|service-names", value in "[ -~]{0,24}") {
        let mut nrf = nrf();
        put(&mut nrf, &free5gc_smf());
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs([("target-nf-type", "SMF"), ("requester-nf-type", "AMF"), (name.as_str(), value.as_str())]);
        let path = format!("/nnrf-disc/v1/nf-instances?{}", query.finish());
        let (status, _) = get(&mut nrf, &path);
        prop_assert!(matches!(status.as_u16(), 200 | 400));
    }
}
