//! Registrations of AMFs and SMFs, and subscriptions to changes, with the callbacks of both.

use http::header::{CONTENT_TYPE, LOCATION};
use serde_json::{Value, json};
use sluice_ids::{Dnn, Plmn};
use sluice_sbi::{
    DeregisterAmf, DeregisterSmf, Done, Message, NotifyAccess, NotifyDeregistration,
    NotifySubscription, Problem, RegisterAmf, RegisterSmf, Removal, SdmSubscribed, SdmSubscription,
    SmfRegistration, SubscribeSdm, UnsubscribeSdm,
};

use crate::exchange::To;
use crate::tests::through::{
    Two, answered, asked, assert_members, bare, guami, instance, internet, memory, network, nobody,
    plmn, refusal, request, slice, supi,
};

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
        assert_eq!(two.producer.callback("dereg imsi-001010000000001"), None);
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
    let mut back = Two {
        consumer: two.producer,
        producer: two.consumer,
        exchanges: Vec::new(),
    };
    for removal in Removal::ALL {
        let notify = NotifyDeregistration { supi, removal };
        assert_eq!(back.carry(notify, notify, Done::ALL), Done::ALL.into());
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
    let mut two = Two {
        consumer: back.producer,
        producer: back.consumer,
        exchanges: Vec::new(),
    };
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
    assert_eq!(two.producer.callback("dereg imsi-001010000000001"), None);
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
