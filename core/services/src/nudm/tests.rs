use http::header::LOCATION;
use serde_json::{Value, json};
use sluice_ids::{Dnn, Snssai, UpProtection, UpSecurity};
use sluice_sbi::{
    AccessAndMobility, AuthMethod, AuthenticationData, AuthenticationOutcome, Done,
    GetAccessAndMobility, GetAuthenticationData, GetSessionManagement, GetSmfSelection, Message,
    Problem, Resynchronisation, SdmSubscribed, SessionManagement, SmfSelection, SubscribeSdm,
    UnsubscribeSdm,
};

use crate::deviations::Deviation;
use crate::exchange::To;
use crate::tests::through::{
    Two, answered, asked, assert_members, bare, created, internet, memory, network, nobody,
    refusal, request, response, slice, supi,
};
use context::{register, subscriptions};

mod context;

fn get(wanted: bool) -> GetAuthenticationData {
    GetAuthenticationData {
        identity: crate::values::identity("suci-0-001-01-0000-0-0-0000000001").expect("a SUCI"),
        network: network(),
        resynchronisation: Resynchronisation {
            wanted,
            rand: [if wanted { 5 } else { 0 }; 16],
            auts: [if wanted { 6 } else { 0 }; 14],
        },
    }
}

fn aka() -> AuthenticationData {
    AuthenticationData {
        supi: supi(),
        rand: [1; 16],
        autn: [2; 16],
        method: AuthMethod::FiveGAka,
        xres_star: [3; 16],
        kausf: [4; 32],
        xres: [0; 8],
        prime_keys: [0; 32],
    }
}

fn prime() -> AuthenticationData {
    AuthenticationData {
        method: AuthMethod::EapAkaPrime,
        xres_star: [0; 16],
        kausf: [0; 32],
        xres: [5; 8],
        prime_keys: std::array::from_fn(|at| at as u8),
        ..aka()
    }
}

#[test]
fn vectors_of_both_methods_are_carried() {
    let mut two = Two::new();
    for (wanted, vector) in [(false, aka()), (true, aka()), (false, prime())] {
        assert_eq!(two.carry(get(wanted), get(wanted), vector), vector.into());
        let (sent, told) = (two.last().sent(), two.last().told());
        assert_members(&sent, &["/servingNetworkName", "/ausfInstanceId"]);
        assert_members(&told, &["/authType", "/supi"]);
        let vector = ["avType", "rand", "autn"].map(|name| format!("/authenticationVector/{name}"));
        assert_members(&told, &vector.each_ref().map(String::as_str));
    }
    let path = "/nudm-ueau/v1/suci-0-001-01-0000-0-0-0000000001/security-information";
    assert_eq!(two.last().line(), format!("POST {path}/generate-auth-data"));
    for (wanted, problem) in [
        (true, Problem::AuthenticationRejected),
        (false, Problem::IdentityUnreadable),
        (false, Problem::UserNotFound),
    ] {
        assert_eq!(two.carry(get(wanted), get(wanted), problem), problem.into());
    }
}

#[test]
fn outcomes_are_carried_with_their_time() {
    let mut two = Two::new();
    for (success, method) in [
        (true, AuthMethod::FiveGAka),
        (false, AuthMethod::EapAkaPrime),
    ] {
        let outcome = AuthenticationOutcome {
            supi: supi(),
            network: network(),
            method,
            success,
            unix_s: 1_795_823_564.into(),
        };
        assert_eq!(two.carry(outcome, outcome, Done::ALL), Done::ALL.into());
        let required = [
            "/nfInstanceId",
            "/success",
            "/timeStamp",
            "/authType",
            "/servingNetworkName",
        ];
        assert_members(&two.last().sent(), &required);
        assert_eq!(two.last().sent()["timeStamp"], "2026-11-27T23:52:44Z");
        assert!(two.last().response.headers().contains_key(LOCATION));
    }
}

fn slices() -> Vec<(Snssai, bool)> {
    vec![
        (slice(), true),
        (Snssai::new(2, None), true),
        (Snssai::new(3, None), false),
    ]
}

#[test]
fn access_and_mobility_is_carried() {
    let mut two = Two::new();
    let supi = supi();
    let get = GetAccessAndMobility { supi };
    for access in [
        AccessAndMobility::new((1_000_000_000, 2_500_000), &slices()),
        AccessAndMobility::new((7, 0), &[]),
    ] {
        assert_eq!(two.carry(get, get, access), access.into());
    }
    let line = "GET /nudm-sdm/v2/imsi-001010000000001/am-data\
        ?plmn-id=%7B%22mcc%22%3A%22001%22%2C%22mnc%22%3A%2201%22%7D";
    assert_eq!(two.last().line(), line);
    for problem in [Problem::UserNotFound, Problem::ServiceNotAllowed] {
        assert_eq!(two.carry(get, get, problem), problem.into());
    }
}

fn session() -> SessionManagement {
    SessionManagement {
        types: [true, false, true],
        default_type: 3,
        ambr_down_bps: 1_000_000.into(),
        ambr_up_bps: 500_001.into(),
        five_qi: 7,
        priority: 3,
        ipv4: [10, 45, 0, 9],
        ipv6_prefix: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 9],
        up_security: Some(UpSecurity {
            integrity: UpProtection::Preferred,
            confidentiality: UpProtection::Required,
        })
        .into(),
    }
}

/// Function with a subscriber of three slices, of which the last one has no data network.
fn repository(_: sluice_sbi::Nf, message: Message) -> Message {
    let ims = Dnn::new("ims").expect("a name");
    match message {
        Message::GetAccessAndMobility(_) => AccessAndMobility::new((1, 1), &slices()).into(),
        Message::GetSmfSelection(get) if get.slice == slice() => {
            SmfSelection::new(&[internet(), ims]).into()
        }
        Message::GetSmfSelection(get) if get.slice == Snssai::new(2, None) => {
            SmfSelection::new(&[ims]).into()
        }
        Message::GetSmfSelection(_) => SmfSelection::new(&[]).into(),
        Message::GetSessionManagement(get) if get.dnn == internet() && get.slice == slice() => {
            session().into()
        }
        Message::GetSessionManagement(get) if get.dnn == ims && get.slice.sst < 3 => {
            SessionManagement {
                ipv4: [0; 4],
                ipv6_prefix: [0; 8],
                up_security: None.into(),
                ..session()
            }
            .into()
        }
        _ => Problem::DnnNotSupported.into(),
    }
}

#[test]
fn data_networks_of_a_slice_are_picked_from_those_of_all() {
    let mut two = Two::new();
    let supi = supi();
    for slice in [
        slice(),
        Snssai::new(2, None),
        Snssai::new(3, None),
        Snssai::new(9, None),
    ] {
        let get = GetSmfSelection { supi, slice };
        let expected = repository(sluice_sbi::Nf::Udm, get.into());
        assert_eq!(two.call(get, repository), expected);
    }
    let told = two.last().told();
    let infos = &told["subscribedSnssaiInfos"];
    assert_eq!(
        infos["1-010203"]["dnnInfos"][0]["defaultDnnIndicator"],
        true
    );
    assert_eq!(
        infos["1-010203"]["dnnInfos"][1]["defaultDnnIndicator"],
        false
    );
    assert_eq!(infos["2"]["dnnInfos"][0]["dnn"], "ims");
    assert!(infos.get("3").is_none());
}

#[test]
fn session_management_is_carried() {
    let mut two = Two::new();
    let (supi, slice) = (supi(), slice());
    for dnn in ["internet", "ims", "nosuch"] {
        let dnn = Dnn::new(dnn).expect("a name");
        let get = GetSessionManagement { supi, slice, dnn };
        let expected = repository(sluice_sbi::Nf::Udm, get.into());
        assert_eq!(two.carry(get, get, expected), expected);
    }
    assert_eq!(
        refusal(&two.last().response),
        (404, "DATA_NOT_FOUND".to_owned())
    );
    let told = two.exchanges[0].told();
    assert_members(&told[0], &["/singleNssai"]);
    let network = &told[0]["dnnConfigurations"]["internet"];
    assert_members(network, &["/pduSessionTypes", "/sscModes/defaultSscMode"]);
    let qos = ["priorityLevel", "preemptCap", "preemptVuln"]
        .map(|name| format!("/5gQosProfile/arp/{name}"));
    assert_members(network, &qos.each_ref().map(String::as_str));
    assert_eq!(
        network["staticIpAddress"][1]["ipv6Prefix"],
        "2001:db8:0:9::/64"
    );
    assert_eq!(
        network["upSecurity"],
        json!({ "upIntegr": "PREFERRED", "upConfid": "REQUIRED" })
    );
    let get = GetSessionManagement {
        supi,
        slice,
        dnn: internet(),
    };
    let problem = Problem::UserNotFound;
    assert_eq!(two.carry(get, get, problem), problem.into());
}

/// Data that no message asks for in one: a slice without a data network, all of them, and several data sets.
#[test]
fn whole_data_are_put_together() {
    let mut memory = memory(8888);
    let mut get = |path: &str| {
        let path = format!("/nudm-sdm/v2/imsi-001010000000001{path}");
        let response = asked(
            &request("GET", &path, &Value::Null),
            &mut memory,
            repository,
        );
        let body: Value = serde_json::from_slice(response.body()).expect("JSON");
        (response.status().as_u16(), body)
    };
    let (_, of_slice) = get("/sm-data?single-nssai=%7B%22sst%22%3A1%2C%22sd%22%3A%22010203%22%7D");
    assert_eq!(of_slice.as_array().map(Vec::len), Some(1));
    assert_members(&of_slice[0]["dnnConfigurations"], &["/internet", "/ims"]);
    let (_, all) = get("/sm-data");
    assert_eq!(all.as_array().map(Vec::len), Some(2));
    let (_, ims) = get("/sm-data?dnn=ims");
    assert_eq!(ims.as_array().map(Vec::len), Some(2));
    assert_eq!(get("/sm-data?dnn=nosuch").0, 404);
    let (_, nssai) = get("/nssai?supported-features=0");
    assert_eq!(
        nssai["defaultSingleNssais"].as_array().map(Vec::len),
        Some(2)
    );
    assert_eq!(nssai["singleNssais"], json!([{ "sst": 3 }]));
    let (status, sets) = get("?dataset-names=AM,SMF_SEL,SM,UEC_SMF");
    assert_eq!(status, 200);
    assert_members(
        &sets,
        &[
            "/amData/nssai",
            "/smfSelData/subscribedSnssaiInfos",
            "/smData/0",
        ],
    );
    assert_eq!(get("?dataset-names=TRACE").0, 404);
    assert_eq!(get("").1["cause"], "MANDATORY_QUERY_PARAM_MISSING");
    assert_eq!(get("/sm-data?single-nssai=x").0, 400);
}

#[test]
fn wrong_requests_are_refused() {
    let mut memory = memory(8888);
    let ue = "imsi-001010000000001";
    let amf = format!("/nudm-uecm/v1/{ue}/registrations/amf-3gpp-access");
    let smf = format!("/nudm-uecm/v1/{ue}/registrations/smf-registrations/5");
    let vector = format!("/nudm-ueau/v1/{ue}/security-information/generate-auth-data");
    let dereg = format!("/namf-callback/v1/{ue}/dereg-notify");
    let guami = json!({ "plmnId": { "mcc": "001", "mnc": "01" }, "amfId": "020040" });
    let id = "11111111-1111-4111-8111-111111111111";
    let session = json!({
        "smfInstanceId": id, "pduSessionId": 6, "singleNssai": { "sst": 1 }, "plmnId": {},
    });
    for (method, path, body, cause) in [
        (
            "PUT",
            &amf,
            json!({ "amfInstanceId": id }),
            "MANDATORY_IE_MISSING",
        ),
        (
            "PATCH",
            &amf,
            json!({ "purgeFlag": true }),
            "MANDATORY_IE_MISSING",
        ),
        (
            "PATCH",
            &amf,
            json!({ "guami": guami, "purgeFlag": 1 }),
            "MANDATORY_IE_INCORRECT",
        ),
        ("DELETE", &amf, Value::Null, "METHOD_NOT_ALLOWED"),
        ("PUT", &smf, session, "MANDATORY_IE_INCORRECT"),
        (
            "POST",
            &vector,
            json!({ "ausfInstanceId": id }),
            "MANDATORY_IE_MISSING",
        ),
        ("POST", &vector, Value::Null, "INVALID_MSG_FORMAT"),
        (
            "POST",
            &dereg,
            json!({ "deregReason": "UE_IS_TIRED" }),
            "MANDATORY_IE_INCORRECT",
        ),
        (
            "POST",
            &format!("/nudm-ueau/v1/{ue}/auth-events"),
            json!({ "nfInstanceId": id }),
            "MANDATORY_IE_MISSING",
        ),
        (
            "GET",
            &"/nudm-sdm/v2/msisdn-001010001/am-data".to_owned(),
            Value::Null,
            "USER_NOT_FOUND",
        ),
        (
            "GET",
            &format!("/nudm-sdm/v2/{ue}/trace-data"),
            Value::Null,
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        ),
    ] {
        let response = asked(&request(method, path, &body), &mut memory, nobody);
        assert_eq!(refusal(&response).1, cause, "{method} {path} {body}");
    }
}

/// Vectors with empty strings for what they lack, keys of slices without a hyphen, default slices among the others, and
/// Locations without the identity, which is in the body.
#[test]
fn free5gc_is_understood() {
    let mut memory = memory(7777);
    let vector = json!({
        "authType": "5G_AKA",
        "authenticationVector": {
            "avType": "5G_HE_AKA", "rand": "01".repeat(16), "xres": "", "autn": "02".repeat(16),
            "ckPrime": "", "ikPrime": "", "xresStar": "03".repeat(16), "kausf": "04".repeat(32),
        },
        "supi": "imsi-001010000000001",
    });
    let (answer, _) = answered(get(false), &mut memory, &[response(200, &vector)]);
    assert_eq!(answer, aka().into());
    let not_found = response(404, &json!({ "status": 404, "cause": "DATA_NOT_FOUND" }));
    let (answer, _) = answered(get(false), &mut memory, &[not_found]);
    assert_eq!(answer, Problem::UserNotFound.into());
    let supi = supi();
    let access = json!({
        "gpsis": ["msisdn-001010001"],
        "subscribedUeAmbr": { "uplink": "1 Gbps", "downlink": "1 Gbps" },
        "nssai": {
            "defaultSingleNssais": [{ "sst": 1, "sd": "010203" }],
            "singleNssais": [{ "sst": 1, "sd": "010203" }],
        },
    });
    let (answer, _) = answered(
        GetAccessAndMobility { supi },
        &mut memory,
        &[response(200, &access)],
    );
    let gigabit = 1_000_000_000;
    let expected = AccessAndMobility::new((gigabit, gigabit), &[(slice(), true)]);
    assert_eq!(answer, expected.into());
    let selection = json!({ "subscribedSnssaiInfos": {
        "01010203": { "dnnInfos": [{ "dnn": "ims" }, { "dnn": "internet", "defaultDnnIndicator": true }] },
    } });
    let get = GetSmfSelection {
        supi,
        slice: slice(),
    };
    let (answer, _) = answered(get, &mut memory, &[response(200, &selection)]);
    let ims = Dnn::new("ims").expect("a name");
    assert_eq!(answer, SmfSelection::new(&[internet(), ims]).into());
    let [subscription, _] = subscriptions();
    let at = "http://127.0.0.3:8000/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions/";
    let subscribed = created(at, &json!({ "subscriptionId": "1" }));
    let (answer, _) = answered(SubscribeSdm { subscription }, &mut memory, &[subscribed]);
    let id = subscription.id().into();
    assert_eq!(answer, SdmSubscribed { id }.into());
    let gone = response(204, &Value::Null);
    let (_, sent) = answered(UnsubscribeSdm { supi, id }, &mut memory, &[gone]);
    let path = "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions/1";
    assert_eq!(sent[0].request.uri().path(), path);
    assert_eq!(sent[0].to, To::Root("http://127.0.0.3:8000".to_owned()));
    let taken: Vec<u64> = memory.deviations.all().map(|(_, count)| count).collect();
    assert_eq!(taken[Deviation::SliceKey as usize], 1);
    assert_eq!(taken[Deviation::Location as usize], 1);
}

/// Failures are 400 and 404 without a cause; session data have three SSC modes, and rates in Kbps.
#[test]
fn open5gs_is_understood() {
    let mut memory = memory(7777);
    let (answer, _) = answered(get(true), &mut memory, &[bare(400)]);
    assert_eq!(answer, Problem::AuthenticationRejected.into());
    let outcome = AuthenticationOutcome {
        supi: supi(),
        network: network(),
        method: AuthMethod::FiveGAka,
        success: false,
        unix_s: 0.into(),
    };
    let (answer, _) = answered(outcome, &mut memory, &[bare(400)]);
    assert_eq!(answer, Done::ALL.into());
    let (answer, _) = answered(register(), &mut memory, &[bare(404)]);
    assert_eq!(answer, Problem::NotAuthenticated.into());
    let sessions = json!([{
        "singleNssai": { "sst": 1, "sd": "010203" },
        "dnnConfigurations": { "internet": {
            "pduSessionTypes": { "defaultSessionType": "IPV4V6", "allowedSessionTypes": ["IPV4", "IPV4V6"] },
            "sscModes": { "defaultSscMode": "SSC_MODE_1", "allowedSscModes": ["SSC_MODE_1", "SSC_MODE_2"] },
            "5gQosProfile": {
                "5qi": 7,
                "arp": { "priorityLevel": 3, "preemptCap": "NOT_PREEMPT", "preemptVuln": "NOT_PREEMPTABLE" },
                "priorityLevel": 8,
            },
            "sessionAmbr": { "uplink": "500 Kbps", "downlink": "1000 Kbps" },
        } },
    }]);
    let get = GetSessionManagement {
        supi: supi(),
        slice: slice(),
        dnn: internet(),
    };
    let (answer, _) = answered(get, &mut memory, &[response(200, &sessions)]);
    let expected = SessionManagement {
        ambr_up_bps: 500_000.into(),
        ipv4: [0; 4],
        ipv6_prefix: [0; 8],
        up_security: None.into(),
        ..session()
    };
    assert_eq!(answer, expected.into());
    // free5GC's repository has the list in an object.
    let wrapped = json!({ "sharedSmSubsDataIds": null, "individualSmSubsData": sessions });
    let (answer, _) = answered(get, &mut memory, &[response(200, &wrapped)]);
    assert_eq!(answer, expected.into());
    let (answer, _) = answered(get, &mut memory, &[bare(404)]);
    assert_eq!(answer, Problem::DnnNotSupported.into());
}
