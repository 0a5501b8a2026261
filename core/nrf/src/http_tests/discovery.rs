//! Nnrf_NFDiscovery: one rule for messages and for requests (TS 29.510, 6.2.3.2.3.1).

use http::header::CACHE_CONTROL;
use sluice_ids::{Dnn, Plmn, Snssai, Tac, Tai};
use sluice_sbi::{
    Allowed, DiscoverNfs, NfInstance, NfProfile, NfQuery, RegisterNf, Requester, ServeMore, Served,
};

use super::*;

fn search(nrf: &mut Nrf, query: &str) -> Vec<String> {
    let (status, result) = get(nrf, &format!("/nnrf-disc/v1/nf-instances?{query}"));
    assert_eq!(status, StatusCode::OK, "{query}: {result}");
    let found = result["nfInstances"].as_array().unwrap().iter();
    let ids = found.map(|one| one["nfInstanceId"].as_str().unwrap().to_owned());
    ids.collect()
}

/// Query with its values encoded.
fn query(parameters: &[(&str, &str)]) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(parameters);
    query.finish()
}

const SMF_FOR_AMF: [(&str, &str); 2] = [("target-nf-type", "SMF"), ("requester-nf-type", "AMF")];

fn smf_by(parameter: &str, value: &str) -> String {
    query(&[SMF_FOR_AMF[0], SMF_FOR_AMF[1], (parameter, value)])
}

fn slice() -> Snssai {
    Snssai::new(1, Some([1, 2, 3]))
}

fn flat(slice: Snssai, dnn: &str) -> NfQuery {
    let amf = Requester::new(Nf::Amf, None, None);
    NfQuery::new(amf, Nf::Smf, Some(slice), Dnn::new(dnn), None)
}

fn found(nrf: &mut Nrf, query: NfQuery) -> Vec<String> {
    let answer = ask(nrf, at(0), DiscoverNfs { query });
    let found = answer.answer_to::<DiscoverNfs>().unwrap().found;
    found
        .all()
        .iter()
        .map(|one| one.instance.to_string())
        .collect()
}

#[test]
fn who_registers_by_http_is_found_by_messages_and_by_requests() {
    let mut nrf = nrf();
    put(&mut nrf, &free5gc_smf());
    assert_eq!(found(&mut nrf, flat(slice(), "internet")), [SMF]);
    // Each slice has its own data networks.
    assert_eq!(found(&mut nrf, flat(slice(), "ims")), [""; 0]);
    for (dnn, ids) in [
        ("internet", vec![SMF]),
        ("internet.mnc001.mcc001.gprs", vec![SMF]),
        ("ims", vec![]),
    ] {
        let query = query(&[
            SMF_FOR_AMF[0],
            SMF_FOR_AMF[1],
            ("service-names", "nsmf-pdusession"),
            ("snssais", "[{\"sst\":1,\"sd\":\"010203\"}]"),
            ("target-plmn-list", "[{\"mcc\":\"001\",\"mnc\":\"01\"}]"),
            (
                "tai",
                "{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"tac\":\"000001\"}",
            ),
            ("dnn", dnn),
        ]);
        assert_eq!(search(&mut nrf, &query), ids, "{dnn}");
    }
    for (parameter, value) in [
        ("service-names", "nsmf-event-exposure"),
        ("target-plmn-list", "[{\"mcc\":\"208\",\"mnc\":\"93\"}]"),
        ("target-nf-instance-id", AMF),
        (
            "guami",
            "{\"plmnId\":{\"mcc\":\"001\",\"mnc\":\"01\"},\"amfId\":\"020040\"}",
        ),
    ] {
        let query = smf_by(parameter, value);
        assert_eq!(search(&mut nrf, &query), [""; 0], "{parameter}");
    }
}

#[test]
fn who_registers_by_messages_is_found_by_requests_at_the_nrfs_own_root() {
    let mut nrf = nrf();
    let plmn = Plmn::new("001", "01").unwrap();
    let tac = |tac| Tai {
        plmn,
        tac: Tac([0, 0, tac]),
    };
    let served = Served::new(&[slice()], &[Dnn::new("internet").unwrap()], &[tac(1)]);
    let instance = NfInstance::of([7; 16]);
    let profile = NfProfile::new(instance, Nf::Smf, &[plmn], served);
    let allowed = Allowed::new(&[Nf::Amf], &[], &[]).unwrap();
    let profile = profile.with_allowed(allowed);
    ask(&mut nrf, at(0), RegisterNf { profile });
    let served = Served::new(&[Snssai::new(2, None)], &[], &[tac(2)]);
    ask(&mut nrf, at(0), ServeMore { instance, served });
    let path = instance_path(&instance.to_string());
    let (_, document) = get(&mut nrf, &path);
    assert_eq!(document["nfType"], "SMF");
    assert_eq!(
        document["smfInfo"]["sNssaiSmfInfoList"][0]["dnnSmfInfoList"][0]["dnn"],
        "internet"
    );
    assert_eq!(document["smfInfoList"]["1"]["taiList"][0]["tac"], "000002");
    assert_eq!(document["nfServices"][0]["serviceName"], "nsmf-pdusession");
    let end_point = &document["nfServices"][0]["ipEndPoints"][0];
    assert_eq!(
        (&end_point["ipv4Address"], &end_point["port"]),
        (&json!("127.0.0.10"), &json!(7777))
    );
    let by = smf_by("snssais", "[{\"sst\":2}]");
    assert_eq!(search(&mut nrf, &by), [instance.to_string()]);
    // The document is read as the messages are: registered again it is found by the same questions.
    let mut again = super::nrf();
    put(&mut again, &document);
    for nrf in [&mut nrf, &mut again] {
        assert_eq!(found(nrf, flat(slice(), "internet")).len(), 1);
        assert_eq!(found(nrf, flat(slice(), "ims")).len(), 0);
        assert_eq!(found(nrf, flat(Snssai::new(2, None), "ims")).len(), 1);
    }
    let parts = |nrf: &Nrf| nrf.profiles().next().unwrap().parts().to_vec();
    assert_eq!(parts(&nrf), parts(&again));
    // Nobody but AMFs may discover it.
    let path = "/nnrf-disc/v1/nf-instances?target-nf-type=SMF&requester-nf-type=UDM";
    assert_eq!(get(&mut nrf, path).0, StatusCode::FORBIDDEN);
}

#[test]
fn services_are_shown_to_those_alone_that_they_are_for() {
    let mut nrf = nrf();
    put(&mut nrf, &open5gs_udr());
    let services = |nrf: &mut Nrf, requester: &str, more: &str| {
        let path = format!(
            "/nnrf-disc/v1/nf-instances?target-nf-type=UDR&requester-nf-type={requester}{more}"
        );
        let (status, result) = get(nrf, &path);
        assert_eq!(status, StatusCode::OK);
        result["nfInstances"][0].clone()
    };
    let udm = services(&mut nrf, "UDM", "&service-names=nudr-dr,nudr-group-id-map");
    assert_eq!(udm["nfServices"][0]["serviceName"], "nudr-dr");
    assert!(udm["allowedNfTypes"].is_null());
    // The SCP may know the instance, and none of its services.
    let scp = services(&mut nrf, "SCP", "");
    assert_eq!(
        (&scp["nfInstanceId"], &scp["nfServices"]),
        (&json!(UDR), &Value::Null)
    );
    let map = services(&mut nrf, "PCF", "&requester-features=20");
    assert_eq!(map["nfServiceList"].as_object().unwrap().len(), 1);
}

#[test]
fn results_hold_for_their_time_and_say_why_there_are_none() {
    let mut nrf = nrf();
    let path = "/nnrf-disc/v1/nf-instances?target-nf-type=SMF&requester-nf-type=AMF";
    let response = nrf.serve(at(0), &request("GET", path, ""), &mut vec![]);
    assert_eq!(response.headers()[CACHE_CONTROL], "max-age=60");
    assert_eq!(
        body(&response),
        json!({
            "validityPeriod": 60,
            "nfInstances": [],
            "noProfileMatchInfo": { "reason": "UNSPECIFIED" },
        })
    );
    put(&mut nrf, &free5gc_smf());
    let reason = |nrf: &mut Nrf, seconds, path: &str| {
        let (_, result) = serve_at(nrf, at(seconds), &request("GET", path, ""));
        result["noProfileMatchInfo"]["reason"].clone()
    };
    let other = format!("{path}&dnn=other");
    assert_eq!(
        reason(&mut nrf, 0, &other),
        "QUERY_PARAMS_COMBINATION_NO_MATCH"
    );
    assert_eq!(reason(&mut nrf, 30, path), "TARGET_NF_SUSPENDED");
    assert_eq!(nrf.counters().none[&Nf::Smf], 3);
}

#[test]
fn parameters_that_are_missing_or_wrong_are_refused_by_name() {
    let mut nrf = nrf();
    for (query, cause) in [
        ("requester-nf-type=AMF", "MANDATORY_QUERY_PARAM_MISSING"),
        ("target-nf-type=SMF", "MANDATORY_QUERY_PARAM_MISSING"),
        (
            "target-nf-type=s&requester-nf-type=AMF",
            "MANDATORY_QUERY_PARAM_INCORRECT",
        ),
        (
            "target-nf-type=SMF&requester-nf-type=AMF&tai=1",
            "OPTIONAL_QUERY_PARAM_INCORRECT",
        ),
        (
            "target-nf-type=SMF&requester-nf-type=AMF&snssais=%7B%7D",
            "OPTIONAL_QUERY_PARAM_INCORRECT",
        ),
        (
            "target-nf-type=SMF&requester-nf-type=AMF&limit=none",
            "OPTIONAL_QUERY_PARAM_INCORRECT",
        ),
        (
            "target-nf-type=SMF&requester-nf-type=AMF&complex-query=x",
            "OPTIONAL_QUERY_PARAM_INCORRECT",
        ),
    ] {
        let (status, problem) = get(&mut nrf, &format!("/nnrf-disc/v1/nf-instances?{query}"));
        assert_eq!(
            (status, &problem["cause"]),
            (StatusCode::BAD_REQUEST, &json!(cause)),
            "{query}"
        );
    }
}

#[test]
fn subscribers_and_names_are_matched_where_a_profile_tells_them() {
    let mut nrf = nrf();
    let udm = |id: &str, info: Value| json!({ "nfInstanceId": id, "nfType": "UDM", "nfStatus": "REGISTERED", "udmInfo": info });
    let range = json!({ "start": "001010000000001", "end": "001010000000009" });
    put(
        &mut nrf,
        &udm(
            SMF,
            json!({ "supiRanges": [range], "routingIndicators": ["12"], "groupId": "g1" }),
        ),
    );
    put(&mut nrf, &udm(UDR, json!({})));
    let by = |nrf: &mut Nrf, parameter: &str, value: &str| {
        search(
            nrf,
            &query(&[
                ("target-nf-type", "UDM"),
                ("requester-nf-type", "AUSF"),
                (parameter, value),
            ]),
        )
    };
    assert_eq!(by(&mut nrf, "supi", "imsi-001010000000009"), [UDR, SMF]);
    assert_eq!(by(&mut nrf, "supi", "imsi-001010000000010"), [UDR]);
    assert_eq!(by(&mut nrf, "routing-indicator", "13"), [UDR]);
    assert_eq!(by(&mut nrf, "group-id-list", "g1"), [SMF]);
    let preferred = by(&mut nrf, "preferred-nf-instances", SMF);
    assert_eq!(preferred, [SMF, UDR]);
    assert_eq!(by(&mut nrf, "limit", "1"), [UDR]);
}

#[test]
fn an_amf_is_found_by_its_name_and_by_ranges_of_areas() {
    let mut nrf = nrf();
    let plmn = json!({ "mcc": "001", "mnc": "01" });
    put(
        &mut nrf,
        &json!({
            "nfInstanceId": AMF, "nfType": "AMF", "nfStatus": "REGISTERED",
            "amfInfo": {
                "amfRegionId": "02", "amfSetId": "001",
                "guamiList": [{ "plmnId": plmn, "amfId": "020040" }],
                "taiRangeList": [{ "plmnId": plmn, "tacRangeList": [{ "start": "000010", "end": "00001f" }] }],
            },
        }),
    );
    let by = |nrf: &mut Nrf, parameter: &str, value: &str| {
        search(
            nrf,
            &query(&[
                ("target-nf-type", "AMF"),
                ("requester-nf-type", "AMF"),
                (parameter, value),
            ]),
        )
    };
    let guami = |id: &str| json!({ "plmnId": plmn, "amfId": id }).to_string();
    let tai = |tac: &str| json!({ "plmnId": plmn, "tac": tac }).to_string();
    assert_eq!(by(&mut nrf, "guami", &guami("020040")), [AMF]);
    assert_eq!(by(&mut nrf, "guami", &guami("020041")), [""; 0]);
    assert_eq!(by(&mut nrf, "amf-set-id", "001"), [AMF]);
    assert_eq!(by(&mut nrf, "amf-region-id", "03"), [""; 0]);
    assert_eq!(by(&mut nrf, "tai", &tai("00001f")), [AMF]);
    assert_eq!(by(&mut nrf, "tai", &tai("000020")), [""; 0]);
}

#[test]
fn types_of_other_cores_are_found_and_counted() {
    let mut nrf = nrf();
    put(&mut nrf, &open5gs_scp(AMF));
    assert_eq!(
        search(&mut nrf, "target-nf-type=SCP&requester-nf-type=NEF"),
        [AMF]
    );
    assert_eq!(
        search(&mut nrf, "target-nf-type=BSF&requester-nf-type=PCF"),
        [""; 0]
    );
    let others = nrf.counters().others;
    assert_eq!((others.found, others.none), (1, 1));
}
