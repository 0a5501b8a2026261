//! Namf_Communication: calls that go both ways, and what other cores send and answer.

use sluice_ids::{Dnn, Snssai, Tac, Tai};
use sluice_sbi::{CreateSmContext, Done, SmContextCreated};

use super::*;
use crate::exchange::To;
use crate::judge::faults_of_type;
use crate::names::tests::memory;
use crate::tests::round_trip::{asks, carry, has, request, trip};

fn supi() -> Supi {
    Supi::from_imsi("001010000000001").expect("a SUPI")
}

fn octets(octets: &[u8]) -> Container {
    Container::new(octets).expect("room")
}

fn wake() -> TransferN1N2 {
    TransferN1N2 {
        supi: supi(),
        session: 5,
        skips_idle_ue: false,
        n1: Container::NONE,
        n2_kind: N2Sm::Setup,
        n2: octets(&[0, 0, 4]),
    }
}

fn answer(cause: TransferCause, retry_after_s: u16) -> Transferred {
    Transferred {
        cause,
        retry_after_s: retry_after_s.into(),
    }
}

#[test]
fn transfers_survive() {
    let initiated = answer(TransferCause::Initiated, 0);
    for n2_kind in [
        N2Sm::None,
        N2Sm::Setup,
        N2Sm::Release,
        N2Sm::Modify,
        N2Sm::PathSwitched,
        N2Sm::NotSwitched,
        N2Sm::HandoverRequest,
        N2Sm::HandoverCommand,
        N2Sm::ModifyConfirmed,
        N2Sm::NotModified,
    ] {
        let n2 = match n2_kind {
            N2Sm::None => Container::NONE,
            _ => octets(&[0, 0, 4]),
        };
        let message = TransferN1N2 {
            skips_idle_ue: n2_kind == N2Sm::Release,
            n1: octets(&[0x2e, 5, 0, 0xcb]),
            n2_kind,
            n2,
            ..wake()
        };
        let trip = trip(message, &mut memory(), &mut memory(), |_| initiated.into());
        assert!(*trip.asked[0] == message.into(), "{n2_kind:?}");
        assert_eq!(*trip.answer, initiated.into());
        let line = "POST /namf-comm/v1/ue-contexts/imsi-001010000000001/n1-n2-messages";
        assert_eq!(trip.line(), line);
        let sent = trip.sent();
        // N1MessageContainer and N2InfoContainer require these.
        has(
            &sent,
            &["/n1MessageContainer/n1MessageClass", "/pduSessionId"],
        );
        has(&sent, &["/n1MessageContainer/n1MessageContent/contentId"]);
        if n2_kind != N2Sm::None {
            has(&sent, &["/n2InfoContainer/n2InformationClass"]);
            has(&sent, &["/n2InfoContainer/smInfo/pduSessionId"]);
            has(
                &sent,
                &["/n2InfoContainer/smInfo/n2InfoContent/ngapData/contentId"],
            );
        }
    }
}

#[test]
fn causes_have_a_status() {
    for (cause, retry_after_s, status) in [
        (TransferCause::Initiated, 0, 200),
        (TransferCause::AttemptingToReachUe, 0, 202),
        (TransferCause::TemporaryReject, 2, 409),
        (TransferCause::TemporaryReject, 0, 409),
        (TransferCause::UeNotReachable, 600, 504),
        (TransferCause::UeNotReachable, 0, 504),
    ] {
        let answer = answer(cause, retry_after_s);
        let trip = trip(wake(), &mut memory(), &mut memory(), |_| answer.into());
        assert!(*trip.answer == answer.into(), "{cause}");
        assert_eq!(trip.status(), status);
        match status {
            200 | 202 => has(&trip.came(), &["/cause"]),
            _ => has(&trip.came(), &["/error/cause"]),
        }
    }
    for problem in [
        Problem::ContextNotFound,
        Problem::Timeout,
        Problem::Overload,
    ] {
        let failure = Message::from(problem);
        let trip = trip(wake(), &mut memory(), &mut memory(), |_| failure);
        assert_eq!(*trip.answer, failure);
    }
}

/// 5.2.2.3.1.2 and 5.2.2.3.2: the UE is paged and does not answer.
#[test]
fn a_ue_that_does_not_answer_is_told_of_where_the_smf_asked() {
    let (mut smf, mut amf) = (memory(), memory());
    smf.own.root = "http://127.0.0.2:7777".into();
    let paged = answer(TransferCause::AttemptingToReachUe, 0);
    let sent = trip(wake(), &mut smf, &mut amf, |_| paged.into());
    let uri =
        "http://127.0.0.1:7777/namf-comm/v1/ue-contexts/imsi-001010000000001/n1-n2-messages/5";
    assert_eq!(sent.responses[0].headers()[http::header::LOCATION], uri);
    for (retry_after_s, to) in [
        (30, To::Root("http://127.0.0.2:7777".into())),
        (0, To::Function),
    ] {
        let notice = NotifyTransferFailure {
            supi: supi(),
            session: 5,
            retry_after_s: retry_after_s.into(),
        };
        let told = trip(notice, &mut amf, &mut smf, |_| Done::ALL.into());
        assert_eq!(*told.asked[0], notice.into());
        assert_eq!(*told.answer, Done::ALL.into());
        assert_eq!(told.requests[0].0, to);
        assert_eq!(
            told.line(),
            "POST /nsmf-callback/v1/n1n2-failure/imsi-001010000000001/5"
        );
        assert_eq!(told.sent()["n1n2MsgDataUri"], uri);
        assert_eq!(told.sent()["cause"], "UE_NOT_RESPONDING");
        let body = told.requests[0].1.body();
        let file = "TS29518_Namf_Communication.yaml";
        let faults = faults_of_type(body, file, "N1N2MsgTxfrFailureNotification");
        assert_eq!(faults, [""; 0]);
        assert_eq!(told.status(), StatusCode::NO_CONTENT);
    }
}

/// free5GC's AMF takes the slice from each N2 message of a setup (N2SmInformation: 6.1.6.2.26).
#[test]
fn a_transfer_tells_the_slice_of_the_session() {
    let (mut amf, mut smf) = (memory(), memory());
    let creation = CreateSmContext {
        supi: supi(),
        session: 5,
        slice: Snssai::new(1, Some([1, 2, 3])),
        dnn: Dnn::new("internet").expect("a name"),
        area: Tai {
            plmn: amf.own.plmn,
            tac: Tac([0, 0, 1]),
        },
        n1: octets(&[0x2e]),
    };
    let created = SmContextCreated {
        created: true,
        context: 7.into(),
        n1: Container::NONE,
    };
    trip(creation, &mut amf, &mut smf, |_| created.into());
    let initiated = answer(TransferCause::Initiated, 0);
    let trip = trip(wake(), &mut smf, &mut amf, |_| initiated.into());
    let slice = &trip.sent()["n2InfoContainer"]["smInfo"]["sNssai"];
    assert_eq!(*slice, json!({ "sst": 1, "sd": "010203" }));
}

/// SMF of Open5GS, with a boundary of its kind.
#[test]
fn a_transfer_of_open5gs_is_read() {
    let body = b"--=-Qo+k4==\r\nContent-Type: application/json\r\n\r\n\
        {\"n1MessageContainer\":{\"n1MessageClass\":\"SM\",\"n1MessageContent\":{\"contentId\":\"5gnas-sm\"}},\
        \"n2InfoContainer\":{\"n2InformationClass\":\"SM\",\"smInfo\":{\"pduSessionId\":5,\"n2InfoContent\":\
        {\"ngapIeType\":\"PDU_RES_SETUP_REQ\",\"ngapData\":{\"contentId\":\"ngap-sm\"}}}},\"pduSessionId\":5}\r\n\
        --=-Qo+k4==\r\nContent-Id: 5gnas-sm\r\nContent-Type: application/vnd.3gpp.5gnas\r\n\r\n\x2e\x05\r\n\
        --=-Qo+k4==\r\nContent-Id: ngap-sm\r\nContent-Type: application/vnd.3gpp.ngap\r\n\r\n\x00\x00\x04\r\n\
        --=-Qo+k4==--\r\n";
    let path = "/namf-comm/v1/ue-contexts/imsi-001010000000001/n1-n2-messages";
    let mut request = request(Method::POST, path, &json!({}));
    *request.body_mut() = body[..].into();
    let kind = "multipart/related; boundary=\"=-Qo+k4==\""
        .parse()
        .expect("a header");
    let headers = request.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, kind);
    let asked = asks(&request, &mut memory()).expect("asked");
    let expected = TransferN1N2 {
        n1: octets(&[0x2e, 5]),
        ..wake()
    };
    assert_eq!(*asked, expected.into());
}

#[test]
fn answers_of_other_amfs_are_understood() {
    let answer_to = |status: u16, body: Value| {
        let (answer, ..) = carry(wake(), &mut memory(), |_| {
            respond(StatusCode::from_u16(status).expect("a status"), &body)
        });
        *answer
    };
    let error = |cause: &str| json!({ "error": { "status": 0, "cause": cause } });
    let not_reachable = |s| Message::from(answer(TransferCause::UeNotReachable, s));
    assert_eq!(answer_to(504, error("UE_NOT_REACHABLE")), not_reachable(0));
    let mut body = error("UE_NOT_REACHABLE");
    body["errInfo"] = json!({ "maxWaitingTime": 70_000 });
    assert_eq!(answer_to(504, body), not_reachable(u16::MAX));
    let body = json!({ "cause": "N1_MSG_NOT_TRANSFERRED" });
    assert_eq!(answer_to(200, body), not_reachable(0));
    let ongoing = Message::from(answer(TransferCause::TemporaryReject, 0));
    assert_eq!(
        answer_to(409, error("TEMPORARY_REJECT_HANDOVER_ONGOING")),
        ongoing
    );
    assert_eq!(
        answer_to(404, error("CONTEXT_NOT_FOUND")),
        Problem::ContextNotFound.into()
    );
    let gateway = json!({ "cause": "TARGET_NF_NOT_REACHABLE" });
    assert_eq!(answer_to(504, gateway), Problem::NotReached.into());
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let param = |path: &str, body: &Value| {
        let request = request(Method::POST, path, body);
        let refused = asks(&request, &mut memory()).expect_err("refused");
        let body: Value = serde_json::from_slice(refused.body()).expect("JSON");
        let param = body["invalidParams"][0]["param"].as_str();
        param.unwrap_or_default().to_owned()
    };
    let path = "/namf-comm/v1/ue-contexts/imsi-001010000000001/n1-n2-messages";
    let n1 = |class| json!({ "n1MessageContainer": { "n1MessageClass": class } });
    assert_eq!(
        param(path, &n1("LPP")),
        "/n1MessageContainer/n1MessageClass"
    );
    assert_eq!(param(path, &n1("SM")), "/pduSessionId");
    assert_eq!(
        param(path, &json!({ "pduSessionId": 5 })),
        "/n1MessageContainer"
    );
    let info = json!({ "n2InfoContent": { "ngapIeType": "NRPPA_PDU" } });
    let body = json!({ "n2InfoContainer": { "n2InformationClass": "SM", "smInfo": info } });
    assert_eq!(
        param(path, &body),
        "/n2InfoContainer/smInfo/n2InfoContent/ngapIeType"
    );
    let failure = "/nsmf-callback/v1/n1n2-failure/imsi-001010000000001/5";
    assert_eq!(param(failure, &json!({})), "/cause");
    let unknown = request(
        Method::POST,
        "/namf-comm/v1/ue-contexts/5g-guti-1/n1-n2-messages",
        &json!({}),
    );
    assert_eq!(
        asks(&unknown, &mut memory()).expect_err("refused").status(),
        404
    );
    let get = request(Method::GET, path, &json!({}));
    assert_eq!(
        asks(&get, &mut memory()).expect_err("refused").status(),
        405
    );
}
