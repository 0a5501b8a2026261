//! Nsmf_PDUSession: calls that go both ways, and what other cores send and answer.

use http::header::{CONTENT_TYPE, LOCATION};
use sluice_ids::{Dnn, Snssai, Supi, Tac, Tai};
use sluice_sbi::{
    Container, CreateSmContext, Failure, N2Sm, SmChange, SmContextCreated, SmContextUpdated,
    UpdateSmContext,
};

use super::*;
use crate::body::respond;
use crate::deviations::Deviation;
use crate::exchange::{Response, To};
use crate::judge::faults_of_type;
use crate::names::tests::memory;
use crate::tests::round_trip::{asks, carry, has, request, trip};

const PATH: &str = "/nsmf-pdusession/v1/sm-contexts";

fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("a SUPI")
}

fn octets(octets: &[u8]) -> Container {
    Container::new(octets).expect("room")
}

fn creation() -> CreateSmContext {
    CreateSmContext {
        supi: supi(),
        session: 5,
        slice: Snssai::new(1, Some([1, 2, 3])),
        dnn: Dnn::new("internet").expect("a name"),
        area: Tai {
            plmn: memory().own.plmn,
            tac: Tac([0, 0, 1]),
        },
        n1: octets(&[0x2e, 5, 1, 0xc1, 0xff, 0xff, 0x91]),
    }
}

fn created(context: u64) -> Message {
    let (created, n1) = (true, Container::NONE);
    SmContextCreated {
        created,
        context: context.into(),
        n1,
    }
    .into()
}

#[test]
fn a_context_is_created() {
    let (mut amf, mut smf) = (memory(), memory());
    let trip = trip(creation(), &mut amf, &mut smf, |_| created(7));
    assert_eq!(*trip.asked[0], creation().into());
    assert_eq!(*trip.answer, created(7));
    assert_eq!(trip.line(), format!("POST {PATH}"));
    // Required by SmContextCreateData, and by 6.1.6.2.2 of a session that is no emergency.
    let sent = trip.sent();
    has(
        &sent,
        &[
            "/servingNfId",
            "/servingNetwork/mcc",
            "/anType",
            "/smContextStatusUri",
        ],
    );
    has(
        &sent,
        &[
            "/supi",
            "/pduSessionId",
            "/dnn",
            "/sNssai",
            "/guami/amfId",
            "/requestType",
        ],
    );
    has(&sent, &["/n1SmMsg/contentId", "/ratType"]);
    // NrLocation has both.
    has(
        &sent,
        &[
            "/ueLocation/nrLocation/tai/tac",
            "/ueLocation/nrLocation/ncgi/nrCellId",
        ],
    );
    assert_eq!(trip.status(), StatusCode::CREATED);
    let uri = format!("http://127.0.0.1:7777{PATH}/0000000000000007");
    assert_eq!(trip.responses[0].headers()[LOCATION], uri);
    assert_eq!(trip.came()["sNssai"], json!({ "sst": 1, "sd": "010203" }));
}

#[test]
fn a_refusal_has_a_message_for_the_ue() {
    for (cause, status, name) in [
        (27, 403, "DNN_NOT_SUPPORTED"),
        (28, 403, "PDUTYPE_NOT_SUPPORTED"),
        (26, 500, "INSUFFICIENT_RESOURCES_SLICE_DNN"),
        (111, 403, "N1_SM_ERROR"),
    ] {
        let refused = SmContextCreated {
            created: false,
            context: 0.into(),
            n1: octets(&[0x2e, 5, 1, 0xc3, cause]),
        };
        let trip = trip(creation(), &mut memory(), &mut memory(), |_| refused.into());
        assert_eq!(*trip.answer, refused.into());
        assert_eq!(trip.status(), status);
        assert_eq!(trip.came()["error"]["cause"], name);
    }
    let failure = Message::from(Problem::DnnNotSupported);
    let trip = trip(creation(), &mut memory(), &mut memory(), |_| failure);
    assert_eq!(*trip.answer, failure);
    // SmContextCreateError requires it.
    has(&trip.came(), &["/error/cause"]);
}

/// Every change with messages of UE or gNB, and every answer to it, is the same on the other side.
#[test]
fn changes_and_their_answers_survive() {
    let n2 = [octets(&[0, 3, 0xe0]), Container::NONE];
    let states = [
        SmChange::HandoverComplete,
        SmChange::HandoverCancelled,
        SmChange::Activate,
        SmChange::Deactivate,
        SmChange::N1,
    ];
    let of_n2 = [
        SmChange::SetUp,
        SmChange::SetupFailed,
        SmChange::Released,
        SmChange::Modified,
        SmChange::ModifyFailed,
        SmChange::Notified,
        SmChange::NotSwitched,
        SmChange::NotAdmitted,
        SmChange::PathSwitch,
        SmChange::HandoverRequired,
        SmChange::HandoverPrepared,
        SmChange::ModifyIndicated,
    ];
    let all = of_n2.iter().flat_map(|change| n2.map(|n2| (*change, n2)));
    for (change, n2) in all.chain(states.map(|change| (change, Container::NONE))) {
        let n1 = match change {
            SmChange::N1 => octets(&[0x2e, 5, 0, 0xcc]),
            _ => Container::NONE,
        };
        let message = UpdateSmContext {
            context: 9.into(),
            change,
            n1,
            n2,
        };
        for answer in answers() {
            let trip = trip(message, &mut memory(), &mut memory(), |_| answer.into());
            assert!(*trip.asked[0] == message.into(), "{change:?}");
            let kind = answer.n2_kind;
            // A setup that answers a handover is that of the handover.
            if change == SmChange::HandoverRequired && kind == N2Sm::Setup {
                continue;
            }
            assert!(
                *trip.answer == answer.into(),
                "{change:?} {kind:?} {}",
                trip.came()
            );
            assert_eq!(trip.line(), format!("POST {PATH}/0000000000000009/modify"));
        }
    }
}

fn answers() -> Vec<SmContextUpdated> {
    let kinds = [
        N2Sm::Setup,
        N2Sm::Release,
        N2Sm::Modify,
        N2Sm::PathSwitched,
        N2Sm::NotSwitched,
        N2Sm::HandoverRequest,
        N2Sm::HandoverCommand,
        N2Sm::ModifyConfirmed,
        N2Sm::NotModified,
    ];
    let with = |n2_kind| SmContextUpdated {
        n1: octets(&[0x2e, 5, 0, 0xcb]),
        n2_kind,
        n2: octets(&[0, 0, 1]),
    };
    let mut all: Vec<_> = kinds.map(with).into();
    all.push(SmContextUpdated::NOTHING);
    let (n2_kind, n2) = (N2Sm::None, Container::NONE);
    all.push(SmContextUpdated {
        n2_kind,
        n2,
        ..with(n2_kind)
    });
    all
}

#[test]
fn members_of_a_change_are_those_of_the_ts() {
    let sent = |change, n2: &[u8]| {
        let message = UpdateSmContext {
            context: 9.into(),
            change,
            n1: Container::NONE,
            n2: octets(n2),
        };
        let answer = SmContextUpdated::NOTHING;
        let trip = trip(message, &mut memory(), &mut memory(), |_| answer.into());
        (trip.sent(), trip.status(), trip.came())
    };
    let n2 = |name: &str| json!({ "n2SmInfo": { "contentId": "n2SmInfo" }, "n2SmInfoType": name });
    let (body, status, _) = sent(SmChange::Modified, &[0]);
    assert_eq!(
        (body, status),
        (n2("PDU_RES_MOD_RSP"), StatusCode::NO_CONTENT)
    );
    // 5.2.2.3.3: Xn handover.
    let (body, ..) = sent(SmChange::PathSwitch, &[0]);
    assert_eq!(body["toBeSwitched"], true);
    let (body, ..) = sent(SmChange::NotSwitched, &[0]);
    assert_eq!(body["failedToBeSwitched"], true);
    // 5.2.2.3.4: N2 handover.
    let (body, ..) = sent(SmChange::HandoverRequired, &[0]);
    assert_eq!(body["hoState"], "PREPARING");
    let (body, _, came) = sent(SmChange::HandoverComplete, &[]);
    assert_eq!(body, json!({ "hoState": "COMPLETED" }));
    assert_eq!(came, body);
    // 5.2.2.3.2: activation and deactivation of the user plane.
    let (body, status, came) = sent(SmChange::Deactivate, &[]);
    assert_eq!(body, json!({ "upCnxState": "DEACTIVATED" }));
    assert_eq!((status, came), (StatusCode::OK, body));
}

#[test]
fn a_path_that_is_not_switched_is_an_error_with_a_message() {
    let message = UpdateSmContext {
        context: 9.into(),
        change: SmChange::PathSwitch,
        n1: Container::NONE,
        n2: octets(&[0]),
    };
    let answer = SmContextUpdated {
        n1: Container::NONE,
        n2_kind: N2Sm::NotSwitched,
        n2: octets(&[1]),
    };
    let trip = trip(message, &mut memory(), &mut memory(), |_| answer.into());
    assert_eq!(trip.status(), StatusCode::FORBIDDEN);
    has(
        &trip.came(),
        &["/error/cause", "/n2SmInfo/contentId", "/n2SmInfoType"],
    );
    assert_eq!(*trip.answer, answer.into());
}

#[test]
fn a_context_is_released_and_its_end_is_told_where_the_amf_asked() {
    let (mut amf, mut smf) = (memory(), memory());
    trip(creation(), &mut amf, &mut smf, |_| created(7));
    let notice = NotifySmContext {
        supi: supi(),
        session: 5,
        context: 7.into(),
    };
    let told = trip(notice, &mut smf, &mut amf, |_| Done::ALL.into());
    assert_eq!(*told.asked[0], notice.into());
    assert_eq!(*told.answer, Done::ALL.into());
    has(&told.sent(), &["/statusInfo/resourceStatus"]);
    let body = told.requests[0].1.body();
    let file = "TS29502_Nsmf_PDUSession.yaml";
    let faults = faults_of_type(body, file, "SmContextStatusNotification");
    assert_eq!(faults, [""; 0]);
    let to = To::Root("http://127.0.0.1:7777".into());
    assert_eq!(told.requests[0].0, to);
    let line = "POST /namf-callback/v1/smContextStatus/imsi-001010000000001/5";
    assert_eq!(
        (told.line().as_str(), told.status()),
        (line, StatusCode::NO_CONTENT)
    );
    // A program that has forgotten the callback reaches the AMF of the call all the same.
    let told = trip(notice, &mut smf, &mut amf, |_| Done::ALL.into());
    assert_eq!(
        (&told.requests[0].0, told.line().as_str()),
        (&To::Function, line)
    );
    let release = ReleaseSmContext { context: 7.into() };
    let released = trip(release, &mut amf, &mut smf, |_| Done::ALL.into());
    assert_eq!(*released.asked[0], release.into());
    assert_eq!(*released.answer, Done::ALL.into());
    assert_eq!(released.status(), StatusCode::NO_CONTENT);
    let failure = Message::from(Failure {
        problem: Problem::ContextNotFound,
    });
    let released = trip(release, &mut amf, &mut smf, |_| failure);
    assert_eq!(
        (*released.answer, released.status()),
        (failure, StatusCode::NOT_FOUND)
    );
}

/// SMF of free5GC: wrapped bodies, and a Location that lacks `urn:uuid:`.
#[test]
fn the_smf_of_free5gc_is_understood() {
    let mut amf = memory();
    let root = "http://127.0.0.2:8000/nsmf-pdusession/v1/sm-contexts";
    let id = "8396c996-c81d-4945-9198-714435320d60";
    let (answer, ..) = carry(creation(), &mut amf, |_| {
        let body = json!({ "jsonData": { "sNssai": { "sst": 1, "sd": "010203" } } });
        crate::body::with_location(respond(StatusCode::CREATED, &body), &format!("{root}/{id}"))
    });
    let Message::SmContextCreated(answer) = *answer else {
        panic!("{answer:?}");
    };
    assert!(answer.created && Memory::is_handle(answer.context.get()));
    let counted = amf.deviations.all();
    let counted: Vec<_> = counted
        .filter(|(_, count)| *count > 0)
        .map(|(one, _)| one)
        .collect();
    assert_eq!(counted, [Deviation::Location, Deviation::JsonData]);
    let activate = UpdateSmContext {
        context: answer.context,
        change: SmChange::Activate,
        n1: Container::NONE,
        n2: Container::NONE,
    };
    let (answer, requests, _) = carry(activate, &mut amf, |_| {
        let body = b"--c3\r\nContent-Type: application/json\r\n\r\n\
            {\"upCnxState\":\"ACTIVATING\",\"n2SmInfo\":{\"contentId\":\"PDUSessionResourceSetupRequestTransfer\"},\
            \"n2SmInfoType\":\"PDU_RES_SETUP_REQ\"}\r\n--c3\r\n\
            Content-Id: PDUSessionResourceSetupRequestTransfer\r\n\
            Content-Type: application/vnd.3gpp.ngap\r\n\r\n\x00\x00\r\n--c3--\r\n";
        let mut response = Response::new(body[..].into());
        let kind = "multipart/related; boundary=\"c3\""
            .parse()
            .expect("a header");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        response
    });
    let path = format!("/nsmf-pdusession/v1/sm-contexts/urn:uuid:{id}/modify");
    assert_eq!(requests[0].1.uri(), path.as_str());
    assert_eq!(requests[0].0, To::Root("http://127.0.0.2:8000".into()));
    let expected = SmContextUpdated {
        n1: Container::NONE,
        n2_kind: N2Sm::Setup,
        n2: octets(&[0, 0]),
    };
    assert_eq!(*answer, expected.into());
    let (answer, ..) = carry(activate, &mut amf, |_| {
        let error = json!({ "title": "SMContext Ref is not found", "status": 404 });
        let body = json!({ "jsonData": { "error": error, "upCnxState": "DEACTIVATED" } });
        respond(StatusCode::NOT_FOUND, &body)
    });
    assert_eq!(*answer, Problem::ContextNotFound.into());
    // Its notification has no reference: the AMF knows which context it has.
    let path = "/namf-callback/v1/smContextStatus/imsi-001010000000001/5";
    let body = json!({ "statusInfo": { "resourceStatus": "RELEASED" } });
    let asked = asks(&request(Method::POST, path, &body), &mut amf).expect("asked");
    let expected = NotifySmContext {
        supi: supi(),
        session: 5,
        context: activate.context,
    };
    assert_eq!(*asked, expected.into());
}

/// SMF of Open5GS: small numbers, and a handover whose request for the target has no state.
#[test]
fn the_smf_of_open5gs_is_understood() {
    let mut amf = memory();
    let uri = "http://127.0.0.4:7777/nsmf-pdusession/v1/sm-contexts/1";
    let (answer, ..) = carry(creation(), &mut amf, |_| {
        crate::body::with_location(respond(StatusCode::CREATED, &json!({})), uri)
    });
    let Message::SmContextCreated(answer) = *answer else {
        panic!("{answer:?}");
    };
    assert_eq!(amf.uri(answer.context.get()), Some(uri));
    let prepare = UpdateSmContext {
        context: answer.context,
        change: SmChange::HandoverRequired,
        n1: Container::NONE,
        n2: octets(&[0]),
    };
    let (answer, ..) = carry(prepare, &mut amf, |_| {
        let mut parts = Writer::default();
        let body = json!({
            "n2SmInfo": parts.ngap("ngap-sm", &octets(&[7])),
            "n2SmInfoType": "PDU_RES_SETUP_REQ",
        });
        parts.respond(StatusCode::OK, body)
    });
    let expected = SmContextUpdated {
        n1: Container::NONE,
        n2_kind: N2Sm::HandoverRequest,
        n2: octets(&[7]),
    };
    assert_eq!(*answer, expected.into());
}

/// A Location that is a path leads to the function that was asked.
#[test]
fn a_location_without_a_root_is_taken() {
    let mut amf = memory();
    let (answer, ..) = carry(creation(), &mut amf, |_| {
        let response = respond(StatusCode::CREATED, &json!({}));
        crate::body::with_location(response, "/nsmf-pdusession/v1/sm-contexts/a")
    });
    let Message::SmContextCreated(answer) = *answer else {
        panic!("{answer:?}");
    };
    let release = ReleaseSmContext {
        context: answer.context,
    };
    let response = |_: &Request| crate::body::respond_empty(StatusCode::NO_CONTENT);
    let (answer, requests, _) = carry(release, &mut amf, response);
    assert_eq!(*answer, Done::ALL.into());
    assert_eq!(requests[0].0, To::Function);
    assert_eq!(
        requests[0].1.uri(),
        "/nsmf-pdusession/v1/sm-contexts/a/release"
    );
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let param = |path: &str, body: &Value| {
        let mut smf = memory();
        let refused = asks(&request(Method::POST, path, body), &mut smf).expect_err("refused");
        let body: Value = serde_json::from_slice(refused.body()).unwrap_or_default();
        let param = body["invalidParams"][0]["param"]
            .as_str()
            .map(str::to_owned);
        (refused.status().as_u16(), param)
    };
    let whole = trip(creation(), &mut memory(), &mut memory(), |_| created(7)).sent();
    for name in [
        "servingNfId",
        "servingNetwork",
        "anType",
        "smContextStatusUri",
        "supi",
        "pduSessionId",
        "sNssai",
    ] {
        for wrong in [Value::Null, json!([])] {
            let mut body = whole.clone();
            body[name] = wrong;
            assert_eq!(param(PATH, &body), (400, Some(format!("/{name}"))));
        }
    }
    // A body without parts cannot have what it refers to.
    assert_eq!(param(PATH, &whole), (400, Some("/n1SmMsg".into())));
    let modify = format!("{PATH}/0000000000000009/modify");
    assert_eq!(
        param(&modify, &json!({ "release": true })),
        (400, Some("/release".into()))
    );
    assert_eq!(
        param(
            &modify,
            &json!({ "n2SmInfoType": "UE_CONTEXT_SUSPEND_REQ" })
        )
        .0,
        403
    );
    assert_eq!(param(&format!("{PATH}/nosuch/modify"), &json!({})).0, 404);
    assert_eq!(
        param(&format!("{PATH}/0000000000000009/retrieve"), &json!({})).0,
        404
    );
    // An AMF that tells where the UE is.
    assert_eq!(param(&modify, &json!({ "ueLocation": {} })).0, 204);
    let get = request(Method::GET, PATH, &json!({}));
    assert_eq!(
        asks(&get, &mut memory()).expect_err("refused").status(),
        405
    );
    let status = "/namf-callback/v1/smContextStatus/imsi-001010000000001/5";
    assert_eq!(
        param(status, &json!({})),
        (400, Some("/statusInfo/resourceStatus".into()))
    );
    let body = json!({ "statusInfo": { "resourceStatus": "RELEASED" } });
    assert_eq!(param(status, &body).0, 404);
}

/// PDU_RES_NTY_REL: the gNB has released the session of itself.
#[test]
fn a_session_that_the_gnb_released_is_deactivated() {
    let path = format!("{PATH}/0000000000000009/modify");
    let body = json!({ "n2SmInfoType": "PDU_RES_NTY_REL" });
    let asked = asks(&request(Method::POST, &path, &body), &mut memory()).expect("asked");
    let Message::UpdateSmContext(asked) = *asked else {
        panic!("{asked:?}");
    };
    assert_eq!(asked.change, SmChange::Deactivate);
}

/// AMF of free5GC, whatever the Location was.
#[test]
fn a_context_is_found_by_the_name_that_free5gc_gives_it() {
    let path = format!("{PATH}/urn:uuid:0000000000000009/release");
    let mut smf = memory();
    let asked = asks(&request(Method::POST, &path, &json!({})), &mut smf).expect("asked");
    let context = 9.into();
    assert_eq!(*asked, ReleaseSmContext { context }.into());
    let counted = smf.deviations.all().find(|(_, count)| *count > 0);
    assert_eq!(counted, Some((Deviation::Location, 1)));
}
