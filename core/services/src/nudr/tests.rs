use http::header::CONTENT_TYPE;
use serde_json::{Value, json};
use sluice_ids::{Guami, Plmn, Snssai};
use sluice_sbi::{
    AccessAndMobility, AdvanceSqn, AmfStored, AuthMethod, AuthenticationSubscription, ContextData,
    DataChange, DeleteSdm, DeleteSmf, Done, Message, NotifyDataChange, Problem,
    QueryAccessAndMobility, QueryContextData, QuerySessionManagement, QuerySmfSelection,
    QuerySubscription, SdmSubscription, SessionManagement, SimAlgorithm, SmfRegistration,
    SmfSelection, StoreAmf, StoreAuthentication, StoreSdm, StoreSmf, StoredSdm, StoredSmf,
    UpdateSqn,
};
use zerocopy::FromZeros;

use crate::exchange::To;
use crate::tests::through::{
    Two, answered, asked, assert_members, guami, instance, internet, memory, network, nobody, plmn,
    refusal, request, response, slice, supi,
};

fn keys(algorithm: SimAlgorithm, sqn: u64) -> AuthenticationSubscription {
    let zeros_after =
        |length: usize, octet: u8| std::array::from_fn(|at| if at < length { octet } else { 0 });
    let (k, opc) = match algorithm {
        SimAlgorithm::Milenage => (16, 16),
        SimAlgorithm::Tuak128 => (16, 32),
        SimAlgorithm::Tuak256 => (32, 32),
    };
    AuthenticationSubscription {
        method: AuthMethod::EapAkaPrime,
        algorithm,
        k: zeros_after(k, 0x46),
        opc: zeros_after(opc, 0xcd),
        sqn: sqn.into(),
    }
}

#[test]
fn keys_of_all_algorithms_are_carried() {
    let mut two = Two::new();
    let query = QuerySubscription { supi: supi() };
    for algorithm in [
        SimAlgorithm::Milenage,
        SimAlgorithm::Tuak128,
        SimAlgorithm::Tuak256,
    ] {
        let keys = keys(algorithm, 0xff9b_b4d0_b607);
        assert_eq!(two.carry(query, query, keys), keys.into());
        assert_members(&two.last().told(), &["/authenticationMethod"]);
        assert_eq!(two.last().told()["sequenceNumber"]["sqn"], "ff9bb4d0b607");
    }
    let problem = Problem::UserNotFound;
    assert_eq!(two.carry(query, query, problem), problem.into());
}

/// Repository that has a sequence number, and in which others are faster a few times.
struct Repository {
    sqn: u64,
    faster: u32,
    updates: Vec<UpdateSqn>,
}

impl Repository {
    fn answer(&mut self, message: Message) -> Message {
        if let Message::UpdateSqn(update) = message {
            self.updates.push(update);
            if self.faster > 0 {
                self.faster -= 1;
                self.sqn += 32;
            }
            if update.from.get() == self.sqn {
                self.sqn = update.to.get();
            }
        }
        keys(SimAlgorithm::Milenage, self.sqn).into()
    }
}

fn advance(said: Option<u64>) -> AdvanceSqn {
    AdvanceSqn {
        supi: supi(),
        above: said.unwrap_or_default().into(),
        resynchronised: said.is_some(),
        floor: 100.into(),
    }
}

/// By the same rule as a repository counts: to the time, or above what the SIM says.
#[test]
fn a_sequence_number_is_counted_and_stored_on_a_condition() {
    for (said, expected) in [(None, 100 << 5 | 4), (Some(500 << 5), 501 << 5 | 1)] {
        let mut two = Two::new();
        let mut repository = Repository {
            sqn: 3,
            faster: 0,
            updates: Vec::new(),
        };
        let answer = two.call(advance(said), |_, message| repository.answer(message));
        assert_eq!(answer, keys(SimAlgorithm::Milenage, expected).into());
        assert_eq!(repository.sqn, expected);
        let [query, patch] = &two.exchanges[..] else {
            panic!("{} requests", two.exchanges.len());
        };
        assert_eq!(query.request.method(), "GET");
        assert_eq!(
            patch.request.headers()[CONTENT_TYPE],
            "application/json-patch+json"
        );
        let ops: Vec<Value> = (0..2).map(|at| patch.sent()[at]["op"].clone()).collect();
        assert_eq!(ops, ["test", "replace"]);
        assert_eq!(patch.response.status(), 204);
    }
}

#[test]
fn a_sequence_number_is_counted_anew_if_somebody_was_faster_but_not_for_ever() {
    for (faster, is_stored) in [(1, true), (2, true), (3, false)] {
        let mut two = Two::new();
        let mut repository = Repository {
            sqn: 3,
            faster,
            updates: Vec::new(),
        };
        let answer = two.call(advance(None), |_, message| repository.answer(message));
        match is_stored {
            true => assert_eq!(answer, keys(SimAlgorithm::Milenage, repository.sqn).into()),
            false => assert_eq!(answer, Problem::Timeout.into()),
        }
        assert_eq!(repository.updates.len(), 3.min(faster as usize + 1));
        let refused = refusal(&two.exchanges[1].response);
        assert_eq!(refused, (403, "MODIFICATION_NOT_ALLOWED".to_owned()));
    }
}

/// free5GC replaces the object, and Open5GS the number, both without a test (TS 29.505, 5.2.2.3.2).
#[test]
fn patches_of_other_udms_are_taken() {
    let path = "/nudr-dr/v2/subscription-data/imsi-001010000000001/authentication-data\
        /authentication-subscription";
    let mut memory = memory(8888);
    for patch in [
        json!([{ "op": "replace", "path": "/sequenceNumber", "value": { "sqn": "000000000024" } }]),
        json!([{ "op": "replace", "path": "/sequenceNumber/sqn", "value": "000000000024" }]),
    ] {
        let mut repository = Repository {
            sqn: 0x23,
            faster: 0,
            updates: Vec::new(),
        };
        let request = request("PATCH", path, &patch);
        let response = asked(&request, &mut memory, |_, message| {
            repository.answer(message)
        });
        assert_eq!((response.status().as_u16(), repository.sqn), (204, 0x24));
    }
    for wrong in [
        json!([]),
        json!([{ "op": "replace", "path": "/encPermanentKey", "value": "00" }]),
        json!([{ "op": "remove", "path": "/sequenceNumber/sqn", "value": "000000000024" }]),
        json!({ "sequenceNumber": { "sqn": "000000000024" } }),
    ] {
        let response = asked(&request("PATCH", path, &wrong), &mut memory, nobody);
        assert_eq!(refusal(&response).1, "MODIFICATION_NOT_ALLOWED", "{wrong}");
    }
}

/// Keys of free5GC, with another algorithmId and a stray ueId, and of Open5GS without any.
#[test]
fn keys_of_other_repositories_are_understood() {
    let free5gc = json!({
        "algorithmId": "128-EEA0",
        "authenticationManagementField": "8000",
        "authenticationMethod": "EAP_AKA_PRIME",
        "encOpcKey": "cd".repeat(16),
        "encPermanentKey": "46".repeat(16),
        "protectionParameterId": "46".repeat(16),
        "sequenceNumber": { "sqn": "000000000023" },
        "ueId": "imsi-001010000000001",
    });
    let mut open5gs = free5gc.clone();
    let members = open5gs.as_object_mut().expect("an object");
    for name in ["algorithmId", "protectionParameterId", "ueId"] {
        members.remove(name);
    }
    for body in [free5gc, open5gs] {
        let query = QuerySubscription { supi: supi() };
        let (answer, _) = answered(query, &mut memory(7777), &[response(200, &body)]);
        assert_eq!(answer, keys(SimAlgorithm::Milenage, 0x23).into());
        // A result with a report is a patch that was not made (PatchResult).
        let report = json!({ "report": [{ "path": "/sequenceNumber/sqn" }] });
        let rounds = [response(200, &body), response(200, &report)];
        let rounds = [rounds.clone(), rounds.clone(), rounds].concat();
        let (answer, _) = answered(advance(None), &mut memory(7777), &rounds);
        assert_eq!(answer, Problem::Timeout.into());
    }
}

#[test]
fn how_an_authentication_ended_is_carried() {
    let mut two = Two::new();
    let store = StoreAuthentication {
        supi: supi(),
        network: network(),
        method: AuthMethod::FiveGAka,
        success: true,
        unix_s: 1_795_823_564.into(),
    };
    assert_eq!(two.carry(store, store, Done::ALL), Done::ALL.into());
    let required = [
        "/nfInstanceId",
        "/success",
        "/timeStamp",
        "/authType",
        "/servingNetworkName",
    ];
    assert_members(&two.last().sent(), &required);
    assert_eq!(two.last().response.status(), 204);
}

#[test]
fn provisioned_data_are_carried() {
    let mut two = Two::new();
    let (supi, slice, dnn) = (supi(), slice(), internet());
    let access = AccessAndMobility::new(
        (1_000, 500),
        &[(slice, true), (Snssai::new(2, None), false)],
    );
    let query = QueryAccessAndMobility { supi };
    assert_eq!(two.carry(query, query, access), access.into());
    let root = "GET /nudr-dr/v2/subscription-data/imsi-001010000000001/00101/provisioned-data";
    assert_eq!(two.last().line(), format!("{root}/am-data"));
    let selection = SmfSelection::new(&[dnn]);
    let query = QuerySmfSelection { supi, slice };
    let answer = two.call(query, |_, message| match message {
        Message::QueryAccessAndMobility(_) => access.into(),
        Message::QuerySmfSelection(one) if one.slice == slice => selection.into(),
        _ => SmfSelection::new(&[]).into(),
    });
    assert_eq!(answer, selection.into());
    assert_eq!(
        two.last().line(),
        format!("{root}/smf-selection-subscription-data")
    );
    let query = QuerySessionManagement { supi, slice, dnn };
    let session = SessionManagement {
        types: [false, true, false],
        default_type: 2,
        ambr_down_bps: 1_000.into(),
        ambr_up_bps: 7.into(),
        five_qi: 5,
        priority: 1,
        ipv4: [0; 4],
        ipv6_prefix: [0x20, 1, 0xd, 0xb8, 0, 0, 0, 1],
        up_security: None.into(),
    };
    assert_eq!(two.carry(query, query, session), session.into());
    let json = crate::values::slice_json(slice).to_string();
    let json: String = form_urlencoded::byte_serialize(json.as_bytes()).collect();
    let slice_and_dnn = format!("single-nssai={json}&dnn=internet");
    let line = two.last().line();
    assert_eq!(line, format!("{root}/sm-data?{slice_and_dnn}"));
    for problem in [Problem::DnnNotSupported, Problem::UserNotFound] {
        assert_eq!(two.carry(query, query, problem), problem.into());
    }
    let path = "/nudr-dr/v2/subscription-data/imsi-001010000000001/00101/provisioned-data/sm-data";
    // free5GC's UDM reads no list.
    let mut free5gc = request("GET", &format!("{path}?{slice_and_dnn}"), &Value::Null);
    let agent = http::HeaderValue::from_static("OpenAPI-Generator/1.0.0/go");
    free5gc
        .headers_mut()
        .insert(http::header::USER_AGENT, agent);
    let told = asked(&free5gc, &mut two.producer, |_, _| session.into());
    let told: Value = serde_json::from_slice(told.body()).expect("JSON");
    assert_eq!(
        told["individualSmSubsData"].as_array().map(Vec::len),
        Some(1)
    );
    let response = asked(&request("PUT", path, &json!({})), &mut two.producer, nobody);
    assert_eq!(response.status(), 405);
}

#[test]
fn where_a_ue_is_is_carried() {
    let mut two = Two::new();
    let store = |registered| StoreAmf {
        supi: supi(),
        guami: guami(),
        registered,
        network: network(),
    };
    // A repository does not say which AMF it was: whoever tells it knows.
    let stored = |had_amf| AmfStored {
        had_amf,
        before: match had_amf {
            true => guami(),
            false => Guami::new_zeroed(),
        },
    };
    for registered in [true, false] {
        let (store, stored) = (store(registered), stored(!registered));
        assert_eq!(two.carry(store, store, stored), stored.into());
        assert_eq!(two.last().response.status(), 204);
    }
    let plmn = Plmn::new("208", "93").expect("digits");
    let guest = StoreAmf {
        network: plmn.serving_network_name(),
        ..store(true)
    };
    assert_eq!(two.carry(guest, guest, stored(false)), stored(false).into());
    let sent = two.exchanges[0].sent();
    assert_members(
        &sent,
        &["/amfInstanceId", "/deregCallbackUri", "/guami", "/ratType"],
    );
    assert_eq!(sent["amfInstanceId"], instance(1).to_string());
    for problem in [
        Problem::NotAuthenticated,
        Problem::UserNotFound,
        Problem::ServiceNotAllowed,
    ] {
        assert_eq!(two.carry(store(true), store(true), problem), problem.into());
    }
}

/// The repository is told the AMF that has registered at the UDM, also if it is another core's.
#[test]
fn the_udm_tells_the_repository_whose_amf_it_is() {
    let mut memory = memory(8888);
    let body = json!({
        "amfInstanceId": "11111111-1111-4111-8111-111111111111",
        "deregCallbackUri": "http://127.0.0.18:8000/namf-callback/v1/imsi-001010000000001/dereg-notify",
        "guami": { "plmnId": { "mcc": "001", "mnc": "01" }, "amfId": "020040" },
        "ratType": "NR",
    });
    let path = "/nudm-uecm/v1/imsi-001010000000001/registrations/amf-3gpp-access";
    asked(&request("PUT", path, &body), &mut memory, |_, _| {
        Done::ALL.into()
    });
    let store = StoreAmf {
        supi: supi(),
        guami: guami(),
        registered: true,
        network: network(),
    };
    let (_, sent) = answered(store, &mut memory, &[response(204, &Value::Null)]);
    let told: Value = serde_json::from_slice(sent[0].request.body()).expect("JSON");
    assert_eq!(told, body);
}

#[test]
fn registrations_of_smfs_and_subscriptions_are_carried() {
    let mut two = Two::new();
    let supi = supi();
    let registration = SmfRegistration {
        supi,
        session: 5,
        smf: instance(5),
        slice: slice(),
        dnn: internet(),
        plmn: plmn(),
    };
    let store = StoreSmf { registration };
    assert_eq!(two.carry(store, store, Done::ALL), Done::ALL.into());
    let delete = DeleteSmf { supi, session: 5 };
    assert_eq!(two.carry(delete, delete, Done::ALL), Done::ALL.into());
    for subscription in [
        SdmSubscription::access_and_mobility(supi, instance(1)),
        SdmSubscription::session_management(supi, instance(5), (slice(), internet())),
    ] {
        let store = StoreSdm { subscription };
        assert_eq!(two.carry(store, store, Done::ALL), Done::ALL.into());
        assert_eq!(two.last().response.status(), 201);
        let problem = Problem::ContextNotFound;
        assert_eq!(two.carry(store, store, problem), problem.into());
        let delete = DeleteSdm {
            supi,
            id: subscription.id().into(),
        };
        assert_eq!(two.carry(delete, delete, Done::ALL), Done::ALL.into());
    }
}

/// Registrations and subscriptions are read whole, as others read them.
#[test]
fn context_data_are_carried() {
    let supi = supi();
    let stored = [
        SdmSubscription::access_and_mobility(supi, instance(1)),
        SdmSubscription::session_management(supi, instance(5), (slice(), internet())),
    ];
    let known = |has_amf: bool, sessions: u16, subscriptions: u8| ContextData {
        has_amf,
        sessions: sessions.into(),
        tells_amf: subscriptions > 0,
        tells_smf: subscriptions > 1,
        guami: if has_amf {
            guami()
        } else {
            Guami::new_zeroed()
        },
        subscriptions,
    };
    for known in [
        known(true, 1 << 5 | 1 << 15, 2),
        known(true, 0, 1),
        known(false, 0, 0),
    ] {
        let mut two = Two::new();
        let answer = two.call(QueryContextData { supi }, |_, message| match message {
            Message::QuerySmf(query) => {
                let registration = SmfRegistration {
                    supi,
                    session: query.session,
                    smf: instance(5),
                    slice: slice(),
                    dnn: internet(),
                    plmn: plmn(),
                };
                StoredSmf { registration }.into()
            }
            Message::QuerySdm(query) => {
                let subscription = stored[usize::from(query.number)];
                StoredSdm { subscription }.into()
            }
            _ => known.into(),
        });
        assert_eq!(answer, known.into());
        let [amf, smfs, sdm] = &two.exchanges[..] else {
            panic!("{} requests", two.exchanges.len());
        };
        if known.has_amf {
            let required = ["/amfInstanceId", "/deregCallbackUri", "/guami", "/ratType"];
            assert_members(&amf.told(), &required);
        }
        for smf in smfs.told().as_array().expect("a list") {
            let required = ["/smfInstanceId", "/pduSessionId", "/singleNssai", "/plmnId"];
            assert_members(smf, &required);
        }
        for one in sdm.told().as_array().expect("a list") {
            assert_members(
                one,
                &[
                    "/nfInstanceId",
                    "/callbackReference",
                    "/monitoredResourceUris",
                ],
            );
        }
    }
}

/// free5GC has null for an empty list (TS 29.505, 5.4.2.8 has a list).
#[test]
fn context_data_of_a_ue_that_has_none_are_none() {
    let nothing = ContextData {
        has_amf: false,
        sessions: 0.into(),
        tells_amf: false,
        tells_smf: false,
        guami: Guami::new_zeroed(),
        subscriptions: 0,
    };
    let rounds = [
        response(404, &Value::Null),
        response(200, &Value::Null),
        response(200, &json!([])),
    ];
    let query = QueryContextData { supi: supi() };
    let (answer, _) = answered(query, &mut memory(7777), &rounds);
    assert_eq!(answer, nothing.into());
}

#[test]
fn changes_are_told_to_the_udm_or_to_who_has_subscribed() {
    let mut two = Two::new();
    let notify = |change| NotifyDataChange {
        supi: supi(),
        change,
    };
    for change in [
        DataChange::Withdrawn,
        DataChange::Access,
        DataChange::SessionRates,
    ] {
        assert_eq!(
            two.carry(notify(change), notify(change), Done::ALL),
            Done::ALL.into()
        );
        assert_eq!(
            two.last().line(),
            "POST /nudm-callback/v1/data-change-notify"
        );
        assert_eq!(two.last().to, To::Function);
    }
    let root = "/nudr-dr/v2/subscription-data/subs-to-notify";
    let mut locations = Vec::new();
    for ue in [
        json!("imsi-001010000000001"),
        json!("imsi-001010000000002"),
        Value::Null,
    ] {
        let body = json!({
            "ueId": ue,
            "callbackReference": "http://127.0.0.3:8000/nudm-callback",
            "monitoredResourceUris": ["/nudr-dr/v2/subscription-data/imsi-001010000000001"],
        });
        let response = asked(&request("POST", root, &body), &mut two.consumer, nobody);
        assert_eq!(response.status(), 201);
        let location = response.headers()[http::header::LOCATION]
            .to_str()
            .expect("a URI");
        locations.push(
            location
                .strip_prefix("http://127.0.0.1:7777")
                .expect("the root")
                .to_owned(),
        );
    }
    let gone = response(204, &Value::Null);
    let access = notify(DataChange::Access);
    let (_, sent) = answered(access, &mut two.consumer, std::slice::from_ref(&gone));
    assert_eq!(sent[0].to, To::Root("http://127.0.0.3:8000".to_owned()));
    for location in &locations {
        for status in [204, 404] {
            let request = request("DELETE", location, &Value::Null);
            let response = asked(&request, &mut two.consumer, nobody);
            assert_eq!(response.status(), status);
        }
    }
    let (_, sent) = answered(access, &mut two.consumer, &[gone]);
    assert_eq!(sent[0].to, To::Function);
}

#[test]
fn wrong_requests_are_refused() {
    let mut memory = memory(8888);
    let root = "/nudr-dr/v2/subscription-data/imsi-001010000000001";
    for (method, path, body, cause) in [
        (
            "PUT",
            format!("{root}/context-data/amf-3gpp-access"),
            json!({}),
            "MANDATORY_IE_MISSING",
        ),
        (
            "PUT",
            format!("{root}/context-data/smf-registrations/5"),
            json!({}),
            "MANDATORY_IE_MISSING",
        ),
        (
            "DELETE",
            format!("{root}/context-data/smf-registrations/x"),
            Value::Null,
            "DATA_NOT_FOUND",
        ),
        (
            "PUT",
            format!("{root}/authentication-data/authentication-status"),
            json!({}),
            "MANDATORY_IE_MISSING",
        ),
        (
            "GET",
            format!("{root}/nosuch"),
            Value::Null,
            "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        ),
        (
            "POST",
            "/nudr-dr/v2/subscription-data/subs-to-notify".to_owned(),
            json!({}),
            "MANDATORY_IE_MISSING",
        ),
        (
            "POST",
            "/nudm-callback/v1/data-change-notify".to_owned(),
            json!({ "ueId": "x" }),
            "MANDATORY_IE_INCORRECT",
        ),
    ] {
        let response = asked(&request(method, &path, &body), &mut memory, nobody);
        assert_eq!(refusal(&response).1, cause, "{method} {path}");
    }
}
