//! Registrations of AMFs and SMFs, and subscriptions to changes, with the callbacks of both.

use http::header::{CONTENT_TYPE, LOCATION};
use serde_json::{Value, json};
use sluice_ids::{AmfId, Dnn, Guami, Plmn};
use sluice_sbi::{
    ContextData, DeregisterAmf, DeregisterSmf, Done, Message, Nf, NotifyAccess,
    NotifyDeregistration, NotifySubscription, Problem, RegisterAmf, RegisterSmf, Removal,
    SdmSubscribed, SdmSubscription, SmfRegistration, StoredSmf, SubscribeSdm, UnsubscribeSdm,
};

use crate::exchange::To;
use crate::subscription::context::deregistration_key;
use crate::tests::through::{
    Two, answered, asked, assert_members, bare, guami, instance, internet, judged, memory, network,
    nobody, plmn, refusal, request, slice, supi,
};
use crate::values::guami_json;

pub(super) fn subscriptions() -> [SdmSubscription; 2] {
    [
        SdmSubscription::access_and_mobility(supi(), instance(1)),
        SdmSubscription::session_management(supi(), instance(5), (slice(), internet())),
    ]
}

#[test]
fn subscriptions_to_changes_are_carried_and_their_callbacks_are_told() {
    let mut two = Two::new();
    let supi = supi();
    for subscription in subscriptions() {
        let (subscribe, id) = (SubscribeSdm { subscription }, subscription.id().into());
        let subscribed = SdmSubscribed { id };
        assert_eq!(
            two.carry(subscribe, subscribe, subscribed),
            subscribed.into()
        );
        let required = [
            "/nfInstanceId",
            "/callbackReference",
            "/monitoredResourceUris/0",
        ];
        assert_members(&two.last().sent(), &required);
        assert_members(&two.last().told(), &required);
    }
    // The UDM's program tells the program that has subscribed.
    let mut back = Two {
        consumer: two.producer,
        producer: two.consumer,
        exchanges: Vec::new(),
    };
    let access = NotifyAccess { supi };
    let sessions = NotifySubscription { supi };
    for (notify, path) in [
        (
            Message::from(access),
            "/namf-callback/v1/imsi-001010000000001/sdmsubscription-notify",
        ),
        (
            sessions.into(),
            "/nsmf-callback/v1/imsi-001010000000001/sdmsubscription-notify",
        ),
    ] {
        assert_eq!(back.carry(notify, notify, Done::ALL), Done::ALL.into());
        assert_eq!(back.last().line(), format!("POST {path}"));
        assert_eq!(back.last().to, To::Root("http://127.0.0.1:7777".to_owned()));
        let item = "/notifyItems/0";
        assert_members(
            &back.last().sent(),
            &[
                item,
                "/notifyItems/0/resourceId",
                "/notifyItems/0/changes/0/op",
            ],
        );
    }
    let mut two = Two {
        consumer: back.producer,
        producer: back.consumer,
        exchanges: Vec::new(),
    };
    for subscription in subscriptions() {
        let unsubscribe = UnsubscribeSdm {
            supi,
            id: subscription.id().into(),
        };
        assert_eq!(
            two.carry(unsubscribe, unsubscribe, Done::ALL),
            Done::ALL.into()
        );
        assert_eq!(two.last().response.status(), 204);
    }
    // Nobody has told a URI any more: the function itself is told.
    let mut back = Two {
        consumer: two.producer,
        producer: two.consumer,
        exchanges: Vec::new(),
    };
    assert_eq!(back.carry(access, access, Done::ALL), Done::ALL.into());
    assert_eq!(back.last().to, To::Function);
}

/// Several functions are told at once, and none waits for another one, which may be gone.
#[test]
fn all_who_have_subscribed_are_told() {
    let mut memory = memory(8888);
    for (at, smf) in [(1, "11"), (2, "22")] {
        let body = json!({
            "nfInstanceId": format!("{smf}111111-1111-4111-8111-111111111111"),
            "callbackReference": format!("http://127.0.0.{at}:8000/nsmf-callback/sdm"),
            "monitoredResourceUris": ["http://127.0.0.3:8000/nudm-sdm/v2/imsi-001010000000001/sm-data"],
            "singleNssai": { "sst": 1, "sd": "010203" },
            "dnn": "internet",
        });
        let path = "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions";
        let response = asked(
            &request("POST", path, &body),
            &mut memory,
            |_, message| match message {
                Message::SubscribeSdm(subscribe) => {
                    let id = subscribe.subscription.id().into();
                    SdmSubscribed { id }.into()
                }
                other => panic!("{other}"),
            },
        );
        assert_eq!(response.status(), 201);
    }
    let notify = NotifySubscription { supi: supi() };
    let (answer, sent) = answered(notify, &mut memory, &[]);
    assert_eq!(answer, Done::ALL.into());
    let to: Vec<To> = sent.into_iter().map(|one| one.to).collect();
    let root = |at| To::Root(format!("http://127.0.0.{at}:8000"));
    assert_eq!(to, [root(1), root(2)]);
    // The only one that is left answers for itself.
    let gone = "sm-data imsi-001010000000001 ";
    let id = SdmSubscription::session_management(
        supi(),
        crate::values::instance("11111111-1111-4111-8111-111111111111").expect("a UUID"),
        (slice(), internet()),
    )
    .id();
    memory.forget_callback(&format!("{gone}{id:016x}"));
    let (answer, sent) = answered(notify, &mut memory, &[bare(504)]);
    assert_eq!((answer, sent.len()), (Problem::Timeout.into(), 1));
}

/// One subscription to data of two kinds is two here, and one resource (TS 29.503, 6.1.6.2.3).
#[test]
fn a_subscription_to_several_data_is_one_resource() {
    let mut memory = memory(8888);
    let path = "/nudm-sdm/v2/imsi-001010000000001/sdm-subscriptions";
    let body = |uri: &str| {
        json!({
            "nfInstanceId": "11111111-1111-4111-8111-111111111111",
            "callbackReference": "http://127.0.0.18:8000/namf-callback/v1/imsi-001010000000001/sdm",
            "monitoredResourceUris": [uri, "http://127.0.0.3:8000/nudm-sdm/v2/imsi-001010000000001/am-data"],
        })
    };
    let mut asked_for = Vec::new();
    let function = |_, message: Message| {
        asked_for.push(message);
        match message {
            Message::SubscribeSdm(one) => SdmSubscribed {
                id: one.subscription.id().into(),
            }
            .into(),
            _ => Done::ALL.into(),
        }
    };
    let uri = "/nudm-sdm/v2/imsi-001010000000001/sm-data";
    let response = asked(&request("POST", path, &body(uri)), &mut memory, function);
    let location = response.headers()[LOCATION].to_str().expect("a URI");
    let of_it = location
        .strip_prefix("http://127.0.0.1:8888")
        .expect("the root");
    let response = asked(
        &request("DELETE", of_it, &Value::Null),
        &mut memory,
        |_, message| {
            asked_for.push(message);
            Done::ALL.into()
        },
    );
    assert_eq!((response.status().as_u16(), asked_for.len()), (204, 4));
    let mut none = body("/nudm-sdm/v2/imsi-001010000000001/trace-data");
    none["monitoredResourceUris"] = json!(["/nudm-sdm/v2/imsi-001010000000001/trace-data"]);
    let response = asked(&request("POST", path, &none), &mut memory, nobody);
    assert_eq!(
        refusal(&response),
        (501, "UNSUPPORTED_RESOURCE_URI".to_owned())
    );
    let response = asked(
        &request("DELETE", &format!("{path}/1"), &Value::Null),
        &mut memory,
        nobody,
    );
    assert_eq!(
        refusal(&response),
        (404, "SUBSCRIPTION_NOT_FOUND".to_owned())
    );
}

pub(super) fn register() -> RegisterAmf {
    RegisterAmf {
        supi: supi(),
        guami: guami(),
        network: network(),
        is_initial: true,
    }
}

#[test]
fn an_amf_registers_is_told_and_deregisters() {
    let mut two = Two::new();
    let supi = supi();
    for problem in [
        Problem::NotAuthenticated,
        Problem::UserNotFound,
        Problem::ServiceNotAllowed,
    ] {
        assert_eq!(two.carry(register(), register(), problem), problem.into());
        assert_eq!(
            two.producer.callbacks("dereg imsi-001010000000001"),
            [""; 0]
        );
    }
    for status in [201, 200] {
        assert_eq!(
            two.carry(register(), register(), Done::ALL),
            Done::ALL.into()
        );
        assert_eq!(two.last().response.status(), status);
        let required = ["/amfInstanceId", "/deregCallbackUri", "/guami", "/ratType"];
        assert_members(&two.last().sent(), &required);
        assert_members(&two.last().told(), &required);
    }
    // Networks share a RAN: the one in which the UE was authenticated is not the GUAMI's.
    let plmn = Plmn::new("208", "93").expect("digits");
    let guest = RegisterAmf {
        network: plmn.serving_network_name(),
        ..register()
    };
    assert_eq!(two.carry(guest, guest, Done::ALL), Done::ALL.into());
    let deregister = DeregisterAmf {
        supi,
        guami: guami(),
    };
    assert_eq!(
        two.carry(deregister, deregister, Done::ALL),
        Done::ALL.into()
    );
    assert_eq!(
        two.last().request.headers()[CONTENT_TYPE],
        "application/merge-patch+json"
    );
    assert_members(&two.last().sent(), &["/guami", "/purgeFlag"]);
    assert_eq!(
        two.producer.callbacks("dereg imsi-001010000000001"),
        [""; 0]
    );
}

#[test]
fn an_amf_is_told_for_each_reason_that_a_ue_is_gone() {
    let (mut back, supi) = (Two::new(), supi());
    let own = back.producer.own.guami;
    for removal in Removal::ALL {
        let (amf, key) = (guami(), deregistration_key(&supi, guami()));
        // An AMF is told once that another one has the UE.
        let uri = "http://127.0.0.1:7777/namf-callback/v1/imsi-001010000000001/dereg-notify";
        back.consumer.keep_callback(&key, uri);
        let notify = NotifyDeregistration { supi, removal, amf };
        let taken = NotifyDeregistration { amf: own, ..notify };
        assert_eq!(back.carry(notify, taken, Done::ALL), Done::ALL.into());
        assert_eq!(back.last().to, To::Root("http://127.0.0.1:7777".to_owned()));
        let line = "POST /namf-callback/v1/imsi-001010000000001/dereg-notify";
        assert_eq!(back.last().line(), line);
        let (file, kind) = ("TS29503_Nudm_UECM.yaml", "DeregistrationData");
        let sent = back.last().request.body();
        assert_eq!(crate::judge::faults_of_type(sent, file, kind), [""; 0]);
    }
    let unknown = json!({ "deregReason": "TIRED", "accessType": "3GPP_ACCESS" });
    let path = "/namf-callback/v1/imsi-001010000000001/dereg-notify";
    let response = asked(&request("POST", path, &unknown), &mut back.producer, nobody);
    assert_eq!(
        refusal(&response),
        (400, "MANDATORY_IE_INCORRECT".to_owned())
    );
}

/// TS 23.502, 4.2.2.2.2, step 14d.
#[test]
fn the_amf_of_before_is_told_by_its_own_callback_and_nobody_for_it() {
    let mut memory = memory(8888);
    let before = Guami {
        amf: AmfId::from_octets([2, 0, 0x80]),
        ..guami()
    };
    let path = "/nudm-uecm/v1/imsi-001010000000001/registrations/amf-3gpp-access";
    for (amf, root) in [
        (before, "http://127.0.0.18:8000"),
        (guami(), "http://127.0.0.19:8000"),
    ] {
        let body = json!({
            "amfInstanceId": "11111111-1111-4111-8111-111111111111",
            "deregCallbackUri": format!("{root}/told"),
            "guami": guami_json(amf),
            "ratType": "NR",
            "initialRegistrationInd": amf == before,
        });
        let request = request("PUT", path, &body);
        let response = asked(&request, &mut memory, |_, came| match came {
            Message::RegisterAmf(came) if came.is_initial == (amf == before) => Done::ALL.into(),
            other => panic!("{other}"),
        });
        assert_eq!(response.status(), if amf == before { 201 } else { 200 });
    }
    let supi = supi();
    let removal = Removal::AreaChange;
    let notify = |amf| NotifyDeregistration { supi, removal, amf };
    let (answer, sent) = answered(notify(before), &mut memory, &[bare(204)]);
    assert_eq!(answer, Done::ALL.into());
    assert_eq!(sent[0].to, To::Root("http://127.0.0.18:8000".to_owned()));
    assert_eq!(sent[0].request.uri().path(), "/told");
    // It is told once; the one that has the UE now is never told in its place.
    let (answer, sent) = answered(notify(before), &mut memory, &[]);
    assert_eq!(answer, Problem::ContextNotFound.into());
    assert!(sent.is_empty());
    // It says that the UE has left, when another one has it.
    let body = json!({ "guami": guami_json(before), "purgeFlag": true });
    let purge = request("PATCH", path, &body);
    let response = asked(&purge, &mut memory, |_, _| Problem::ContextNotFound.into());
    assert_eq!(refusal(&response), (403, "INVALID_GUAMI".to_owned()));
    let withdrawn = NotifyDeregistration {
        removal: Removal::SubscriptionWithdrawn,
        ..notify(guami())
    };
    let (_, sent) = answered(withdrawn, &mut memory, &[bare(204)]);
    assert_eq!(sent[0].to, To::Root("http://127.0.0.19:8000".to_owned()));
}

/// The UDM of a UE with sessions 5 and 6, of which the last has no name.
fn known(_: Nf, came: Message) -> Message {
    let registration = |session, dnn| SmfRegistration {
        supi: supi(),
        session,
        smf: instance(5),
        slice: slice(),
        dnn,
        plmn: plmn(),
    };
    match came {
        Message::GetUeContext(_) => ContextData {
            has_amf: true,
            sessions: 0b110_0000.into(),
            tells_amf: false,
            tells_smf: false,
            guami: guami(),
            subscriptions: 0,
        }
        .into(),
        Message::GetSmfRegistration(one) if one.session == 5 => StoredSmf {
            registration: registration(5, internet()),
        }
        .into(),
        Message::GetSmfRegistration(one) if one.session == 6 => StoredSmf {
            registration: registration(6, Dnn::NONE),
        }
        .into(),
        _ => Problem::ContextNotFound.into(),
    }
}

#[test]
fn registrations_of_a_ue_are_read() {
    let mut memory = memory(8888);
    let patch = "application/json";
    let mut get = |path: &str, function: fn(Nf, Message) -> Message| {
        let line = format!("/nudm-uecm/v1/imsi-001010000000001/registrations{path}");
        let response = judged(("GET", &line), patch, &Value::Null, &mut memory, function);
        let body: Value = serde_json::from_slice(response.body()).expect("JSON");
        (response.status().as_u16(), body)
    };
    let (status, amf) = get("/amf-3gpp-access", known);
    assert_eq!((status, &amf["guami"]), (200, &guami_json(guami())));
    let (_, list) = get("/smf-registrations", known);
    let smfs = list["smfRegistrationList"].as_array().expect("a list");
    assert_eq!((smfs.len(), &smfs[0]["dnn"]), (2, &json!("internet")));
    assert_eq!(get("/smf-registrations/5", known).1, smfs[0]);
    assert_eq!(get("/smf-registrations/7", known).0, 404);
    let names = "?registration-dataset-names=AMF_3GPP,SMF_PDU_SESSIONS";
    let sets = json!({ "amf3Gpp": amf, "smfRegistration": list });
    assert_eq!(get(names, known), (200, sets));
    let nobody_has_it = |_, _| Message::from(Problem::ContextNotFound);
    assert_eq!(get("/amf-3gpp-access", nobody_has_it).0, 404);
    assert_eq!(get(names, nobody_has_it), (200, json!({})));
    assert_eq!(get("/smf-registrations", nobody_has_it).0, 404);
}

/// free5GC's AMF asks for it in each registration.
#[test]
fn sessions_of_a_ue_are_told_with_its_subscription() {
    let mut memory = memory(8888);
    let path = "/nudm-sdm/v2/imsi-001010000000001/ue-context-in-smf-data";
    let patch = "application/json";
    let response = judged(("GET", path), patch, &Value::Null, &mut memory, known);
    let told: Value = serde_json::from_slice(response.body()).expect("JSON");
    let sessions = told["pduSessions"].as_object().expect("a map");
    assert_eq!(sessions.keys().collect::<Vec<_>>(), ["5"]);
    assert_eq!(sessions["5"]["smfInstanceId"], instance(5).to_string());
    let without = |_, _| {
        ContextData {
            has_amf: false,
            sessions: 0.into(),
            tells_amf: false,
            tells_smf: false,
            guami: guami(),
            subscriptions: 0,
        }
        .into()
    };
    let response = judged(("GET", path), patch, &Value::Null, &mut memory, without);
    assert_eq!(
        (response.status().as_u16(), &response.body()[..]),
        (200, &b"{}"[..])
    );
}

#[test]
fn an_smf_registers_and_deregisters() {
    let mut two = Two::new();
    for dnn in [internet(), Dnn::NONE] {
        let registration = SmfRegistration {
            supi: supi(),
            session: 5,
            smf: instance(5),
            slice: slice(),
            dnn,
            plmn: plmn(),
        };
        let register = RegisterSmf { registration };
        assert_eq!(two.carry(register, register, Done::ALL), Done::ALL.into());
        let required = ["/smfInstanceId", "/pduSessionId", "/singleNssai", "/plmnId"];
        assert_members(&two.last().sent(), &required);
        let problem = Problem::ContextNotFound;
        assert_eq!(two.carry(register, register, problem), problem.into());
    }
    let deregister = DeregisterSmf {
        supi: supi(),
        session: 5,
    };
    assert_eq!(
        two.carry(deregister, deregister, Done::ALL),
        Done::ALL.into()
    );
    let line = "DELETE /nudm-uecm/v1/imsi-001010000000001/registrations/smf-registrations/5";
    assert_eq!(two.last().line(), line);
}
