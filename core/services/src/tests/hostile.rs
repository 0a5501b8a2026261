//! Bodies with each member missing or of another type: each is answered, whatever it is.

use http::StatusCode;
use serde_json::{Value, json};
use sluice_sbi::{
    AdvanceSqn, AuthMethod, AuthenticationOutcome, Confirm, Container, EapResponse,
    GetAccessAndMobility, GetAuthenticationData, GetSessionManagement, GetSmfSelection, Message,
    Problem, QueryContextData, QuerySubscription, RegisterAmf, Resynchronisation, SdmSubscription,
    SubscribeSdm,
};

use crate::begin;
use crate::exchange::{Came, Consumer, Response};
use crate::tests::through::{
    asked, created, guami, instance, internet, memory, network, request, response, slice, supi,
};

const UE: &str = "imsi-001010000000001";

/// The body with one member gone or otherwise, for each of its members.
fn variants(body: &Value) -> Vec<Value> {
    let others = [
        Value::Null,
        json!(0),
        json!(-1.5),
        json!(u64::MAX),
        json!(true),
        json!(""),
        json!("é\u{0}-:/"),
        json!([]),
        json!([null]),
        json!({}),
    ];
    let mut all = others.to_vec();
    match body {
        Value::Object(members) => {
            for (name, member) in members {
                let mut without = members.clone();
                without.remove(name);
                all.push(without.into());
                for variant in variants(member) {
                    let mut with = members.clone();
                    with.insert(name.clone(), variant);
                    all.push(with.into());
                }
            }
        }
        Value::Array(list) => {
            for (at, member) in list.iter().enumerate() {
                for variant in variants(member) {
                    let mut with = list.clone();
                    with[at] = variant;
                    all.push(with.into());
                }
            }
        }
        _ => {}
    }
    all
}

fn event() -> Value {
    json!({
        "nfInstanceId": instance(2).to_string(),
        "success": true,
        "timeStamp": "2026-11-27T23:52:44.194919088+01:00",
        "authType": "5G_AKA",
        "servingNetworkName": "5G:mnc001.mcc001.3gppnetwork.org",
    })
}

fn amf() -> Value {
    json!({
        "amfInstanceId": instance(1).to_string(),
        "deregCallbackUri": "http://127.0.0.18:8000/dereg",
        "guami": { "plmnId": { "mcc": "001", "mnc": "01" }, "amfId": "020040" },
        "ratType": "NR",
        "purgeFlag": false,
    })
}

fn smf() -> Value {
    json!({
        "smfInstanceId": instance(5).to_string(),
        "pduSessionId": 5,
        "singleNssai": { "sst": 1, "sd": "010203" },
        "dnn": "internet",
        "plmnId": { "mcc": "001", "mnc": "01" },
    })
}

fn sdm() -> Value {
    json!({
        "nfInstanceId": instance(1).to_string(),
        "callbackReference": "http://127.0.0.18:8000/sdm",
        "monitoredResourceUris": ["/nudm-sdm/v2/imsi-001010000000001/sm-data"],
        "singleNssai": { "sst": 1, "sd": "010203" },
        "dnn": "internet",
    })
}

/// Requests by method, path and body.
type Requests = Vec<(&'static str, String, Value)>;

fn requests_of_authentication() -> Requests {
    let authenticate = json!({
        "supiOrSuci": "suci-0-001-01-0000-0-0-0000000001",
        "servingNetworkName": "5G:mnc001.mcc001.3gppnetwork.org",
        "ausfInstanceId": instance(2).to_string(),
        "resynchronizationInfo": { "rand": "05".repeat(16), "auts": "06".repeat(14) },
    });
    let patch = json!([
        { "op": "test", "path": "/sequenceNumber/sqn", "value": "000000000023" },
        { "op": "replace", "path": "/sequenceNumber", "value": { "sqn": "000000000024" } },
    ]);
    let contexts = "/nausf-auth/v1/ue-authentications";
    let context = format!("{contexts}/0000000000000007");
    let vector = format!("/nudm-ueau/v1/{UE}/security-information/generate-auth-data");
    let data = format!("/nudr-dr/v2/subscription-data/{UE}/authentication-data");
    let res_star = json!({ "resStar": "08".repeat(16) });
    let packet = json!({ "eapPayload": "AQIABTI=" });
    vec![
        ("POST", contexts.to_owned(), authenticate.clone()),
        ("PUT", format!("{context}/5g-aka-confirmation"), res_star),
        ("POST", format!("{context}/eap-session"), packet),
        ("POST", vector, authenticate),
        ("POST", format!("/nudm-ueau/v1/{UE}/auth-events"), event()),
        (
            "PATCH",
            format!("{data}/authentication-subscription"),
            patch,
        ),
        ("PUT", format!("{data}/authentication-status"), event()),
    ]
}

fn requests_of_contexts() -> Requests {
    let registrations = format!("/nudm-uecm/v1/{UE}/registrations");
    let data = format!("/nudr-dr/v2/subscription-data/{UE}/context-data");
    let purge = json!([{ "op": "add", "path": "/purgeFlag", "value": true }]);
    let mut requests = vec![("PATCH", format!("{data}/amf-3gpp-access"), purge)];
    for root in [registrations.clone(), data.clone()] {
        requests.push(("PUT", format!("{root}/amf-3gpp-access"), amf()));
        requests.push(("PUT", format!("{root}/smf-registrations/5"), smf()));
    }
    let subs = "/nudr-dr/v2/subscription-data/subs-to-notify".to_owned();
    requests.extend([
        ("PATCH", format!("{registrations}/amf-3gpp-access"), amf()),
        (
            "POST",
            format!("/nudm-sdm/v2/{UE}/sdm-subscriptions"),
            sdm(),
        ),
        ("POST", format!("{data}/sdm-subscriptions"), sdm()),
        ("POST", subs, sdm()),
    ]);
    requests
}

fn notifications() -> Requests {
    let resource = format!("/nudr-dr/v2/subscription-data/{UE}/00101/provisioned-data/sm-data");
    let notice = json!({
        "ueId": UE,
        "deregReason": "SUBSCRIPTION_WITHDRAWN",
        "notifyItems": [{
            "resourceId": resource,
            "changes": [{ "op": "REPLACE", "path": "/sessionAmbr" }],
        }],
    });
    let paths = [
        format!("/namf-callback/v1/{UE}/dereg-notify"),
        format!("/nsmf-callback/v1/{UE}/sdmsubscription-notify"),
        "/nudm-callback/v1/data-change-notify".to_owned(),
    ];
    let one = |path| ("POST", path, notice.clone());
    paths.map(one).to_vec()
}

fn subscriptions_of_others() -> Requests {
    let events = json!({ "subscription": {
        "eventList": [
            { "type": "LOCATION_REPORT", "immediateFlag": true, "locationFilterList": ["TAI"] },
            { "type": "REACHABILITY_REPORT", "refId": 7 },
        ],
        "eventNotifyUri": "http://127.0.0.9:8000/events",
        "notifyCorrelationId": "1",
        "nfId": instance(9).to_string(),
        "supi": UE,
        "options": { "trigger": "CONTINUOUS", "maxReports": 3, "expiry": "2026-11-28T01:22:44Z" },
    } });
    let tai = json!({ "plmnId": { "mcc": "001", "mnc": "01" }, "tac": "000001" });
    let areas = json!({ "supportedNssaiAvailabilityData": [
        { "tai": tai, "supportedSnssaiList": [{ "sst": 1 }], "taiList": [tai] },
    ] });
    let changes = json!({
        "nfNssaiAvailabilityUri": "http://127.0.0.9:8000/slices",
        "taiList": [tai],
        "event": "SNSSAI_STATUS_CHANGE_REPORT",
        "expiry": "2026-11-28T01:22:44Z",
    });
    let status = json!({
        "amfStatusUri": "http://127.0.0.9:8000/status",
        "guamiList": [{ "plmnId": { "mcc": "001", "mnc": "01" }, "amfId": "020040" }],
    });
    let reach = json!({ "reachability": "REACHABLE" });
    let transfer = json!({
        "reason": "MOBI_REG",
        "accessType": "3GPP_ACCESS",
        "plmnId": { "mcc": "001", "mnc": "01" },
    });
    let transferred = json!({
        "transferStatus": "TRANSFERRED",
        "toReleaseSessionList": [5],
        "toReleaseSessionInfo": [{ "releaseSessionList": [6], "releaseCause": "REL" }],
    });
    let moving = "/namf-comm/v1/ue-contexts/5g-guti-0010101004101020304".to_owned();
    let availability = "/nnssf-nssaiavailability/v1/nssai-availability";
    vec![
        ("POST", "/namf-evts/v1/subscriptions".to_owned(), events),
        ("POST", "/namf-comm/v1/subscriptions".to_owned(), status),
        (
            "PUT",
            format!("/namf-mt/v1/ue-contexts/{UE}/ue-reachind"),
            reach,
        ),
        ("POST", format!("{moving}/transfer"), transfer),
        ("POST", format!("{moving}/transfer-update"), transferred),
        ("PUT", format!("{availability}/{}", instance(1)), areas),
        ("POST", format!("{availability}/subscriptions"), changes),
    ]
}

#[test]
fn requests_are_answered() {
    let mut memory = memory(8888);
    let busy = |_, _| Problem::Overload.into();
    let all = [
        requests_of_authentication(),
        requests_of_contexts(),
        notifications(),
        subscriptions_of_others(),
    ];
    for (method, path, body) in all.concat() {
        let whole = asked(&request(method, &path, &body), &mut memory, busy);
        // It reaches the function, or is done.
        let is_taken = whole.status() == 503 || whole.status().is_success();
        assert!(is_taken, "{path}: {whole:?}");
        for variant in variants(&body) {
            let request = request(method, &path, &variant);
            let response = asked(&request, &mut memory, busy);
            let status = response.status();
            assert_ne!(
                status,
                StatusCode::INTERNAL_SERVER_ERROR,
                "{path} {variant}"
            );
        }
    }
}

/// Calls, and bodies that they are answered with.
type Calls = Vec<(Message, Value)>;

fn calls_of_authentication() -> Calls {
    let (supi, network) = (supi(), network());
    let vector = json!({
        "authType": "EAP_AKA_PRIME",
        "authenticationVector": {
            "avType": "EAP_AKA_PRIME", "rand": "01".repeat(16), "autn": "02".repeat(16),
            "xres": "05".repeat(8), "ckPrime": "06".repeat(16), "ikPrime": "07".repeat(16),
        },
        "supi": UE,
    });
    let outcome = json!({
        "eapPayload": "AwIABA==", "authResult": "AUTHENTICATION_ONGOING", "supi": UE,
        "_links": { "eap-session": [{ "href": "http://a/eap-session" }] },
    });
    let confirmed = json!({
        "authResult": "AUTHENTICATION_SUCCESS", "supi": UE, "kseaf": "09".repeat(32),
    });
    let eap = EapResponse {
        context: 7.into(),
        instance: 0,
        eap: Container::NONE,
    };
    let confirm = Confirm {
        context: 7.into(),
        instance: 0,
        res_star: [8; 16],
        is_null: false,
    };
    let event = AuthenticationOutcome {
        supi,
        network,
        method: AuthMethod::FiveGAka,
        success: true,
        unix_s: u64::MAX.into(),
    };
    let get = GetAuthenticationData {
        identity: supi.into(),
        network,
        resynchronisation: Resynchronisation::default(),
    };
    vec![
        (get.into(), vector),
        (event.into(), Value::Null),
        (eap.into(), outcome),
        (confirm.into(), confirmed),
    ]
}

fn calls_of_data() -> Calls {
    let (supi, slice, dnn) = (supi(), slice(), internet());
    let access = json!({
        "subscribedUeAmbr": { "uplink": "1 Gbps", "downlink": "1.5 Mbps" },
        "nssai": { "defaultSingleNssais": [{ "sst": 1, "sd": "010203" }] },
    });
    let infos = json!({ "1-010203": { "dnnInfos": [{ "dnn": "internet" }] } });
    let sessions = json!([{
        "singleNssai": { "sst": 1, "sd": "010203" },
        "dnnConfigurations": { "internet": {
            "pduSessionTypes": { "defaultSessionType": "IPV4", "allowedSessionTypes": ["IPV6"] },
            "5gQosProfile": { "5qi": 7, "arp": { "priorityLevel": 3 } },
            "sessionAmbr": { "uplink": "500 Kbps", "downlink": "1000 Kbps" },
            "staticIpAddress": [{ "ipv4Addr": "10.0.0.1" }, { "ipv6Prefix": "2001:db8::/64" }],
            "upSecurity": { "upIntegr": "REQUIRED", "upConfid": "NOT_NEEDED" },
        } },
    }]);
    let selection = json!({ "subscribedSnssaiInfos": infos });
    vec![
        (GetAccessAndMobility { supi }.into(), access),
        (GetSmfSelection { supi, slice }.into(), selection),
        (GetSessionManagement { supi, slice, dnn }.into(), sessions),
    ]
}

fn calls_of_contexts() -> Calls {
    let (supi, network, guami) = (supi(), network(), guami());
    let keys = json!({
        "authenticationMethod": "5G_AKA", "algorithmId": "tuak",
        "encPermanentKey": "46".repeat(32), "encTopcKey": "cd".repeat(32),
        "sequenceNumber": { "sqn": "000000000023" },
    });
    let advance = AdvanceSqn {
        supi,
        above: u64::MAX.into(),
        resynchronised: true,
        floor: u64::MAX.into(),
    };
    let register = RegisterAmf {
        supi,
        guami,
        network,
        is_initial: true,
    };
    let subscription = SdmSubscription::access_and_mobility(supi, instance(1));
    vec![
        (QuerySubscription { supi }.into(), keys.clone()),
        (advance.into(), keys),
        (QueryContextData { supi }.into(), json!([smf(), sdm()])),
        (SubscribeSdm { subscription }.into(), sdm()),
        (register.into(), amf()),
    ]
}

#[test]
fn responses_answer_calls() {
    let all = [
        calls_of_authentication(),
        calls_of_data(),
        calls_of_contexts(),
    ];
    for (message, told) in all.concat() {
        for variant in variants(&told) {
            for status in [200, 201, 204, 400, 404] {
                let response = match status {
                    201 => created("http://127.0.0.3/x/", &variant),
                    status => response(status, &variant),
                };
                let rounds = rounds_until_answered(&message, &response);
                // As many as a sequence number that is counted anew takes.
                assert!(rounds <= 6, "{message}: {rounds} requests, {variant}");
            }
        }
    }
}

/// Requests of a call that are all answered so.
fn rounds_until_answered(message: &Message, response: &Response) -> usize {
    let mut memory = memory(7777);
    let mut rounds = 0;
    let mut step = begin(message, &mut memory).expect("a service");
    while let Consumer::Send(_, then) = step {
        rounds += 1;
        let response = response.clone();
        step = then(Came { from: 0, response }, &mut memory);
    }
    rounds
}
