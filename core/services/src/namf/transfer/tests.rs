//! UE contexts between AMFs: both ways, refusals, and what other AMFs may tell.

use sluice_ids::{Dnn, Imeisv, Snssai, Supi};
use sluice_sbi::{Done, Message, MovedKeys, MovedSession, MovedSessions, Nf, Slot, UeContext};

use super::*;
use crate::exchange::To;
use crate::judge::faults;
use crate::tests::through::{asked, instance, memory, plmn, refusal, request, response, typed};

const UE: &str = "5g-guti-0010101004101020304";

fn guti() -> Guti {
    let guami = Guami {
        plmn: plmn(),
        amf: AmfId::from_octets([1, 0, 0x41]),
    };
    Guti {
        guami,
        tmsi: Tmsi([1, 2, 3, 4]),
    }
}

fn supi_of_ue() -> Supi {
    Supi::from_imsi("001010000000001").expect("digits")
}

fn keys(is_derived: bool) -> MovedKeys {
    let mut keys = MovedKeys::none().with_capability(&[0xf0, 0x70, 0xf0, 0x70]);
    keys.kamf = [0x5a; 32];
    keys.is_derived = is_derived;
    keys.ngksi = 3;
    (keys.ciphering, keys.integrity) = (2, 1);
    (keys.uplink, keys.downlink) = (0x0001_0203.into(), 7.into());
    keys
}

fn context(keys: Option<MovedKeys>, sessions: &[u8]) -> UeContext {
    let session = |session: &u8| MovedSession {
        session: *session,
        slice: Snssai::new(1, Some([1, 2, 3])),
        dnn: Dnn::new("internet").expect("a name"),
        context: u64::from(*session).into(),
    };
    let sessions: Vec<MovedSession> = sessions.iter().map(session).collect();
    UeContext {
        supi: supi_of_ue(),
        device: Imeisv::from_digits("3534900698733190").into(),
        keys: keys.into(),
        sessions: MovedSessions::new(&sessions),
    }
}

fn ask_for(reason: TransferReason, nas: &[u8]) -> TransferUeContext {
    TransferUeContext {
        ue: guti().into(),
        reason,
        nas: Container::new(nas).expect("short"),
    }
}

/// SearchResult with the AMF of before, and one of which the NRF says that it is worse.
fn found() -> Response {
    let service = json!({
        "serviceInstanceId": "1", "serviceName": "namf-comm", "scheme": "http",
        "nfServiceStatus": "REGISTERED", "apiPrefix": "/a",
        "ipEndPoints": [{ "ipv4Address": "127.0.0.2", "port": 7777 }],
    });
    let amf = |octet: u8, priority: u8| {
        json!({
            "nfInstanceId": instance(octet).to_string(), "nfType": "AMF", "nfStatus": "REGISTERED",
            "priority": priority, "nfServices": [service],
        })
    };
    let mut other = amf(9, 5);
    other["nfServices"][0]["ipEndPoints"][0]["ipv4Address"] = "127.0.0.9".into();
    response(
        200,
        &json!({ "validityPeriod": 60, "nfInstances": [other, amf(1, 0)] }),
    )
}

/// An AMF, and the one of before with what it is asked.
struct Two {
    new: Memory,
    old: Memory,
    lines: Vec<String>,
    asked: Vec<Message>,
}

impl Two {
    fn new() -> Self {
        Self {
            new: memory(7777),
            old: memory(8888),
            lines: Vec::new(),
            asked: Vec::new(),
        }
    }

    /// Answer to a call; the AMF of before answers so.
    fn call(&mut self, message: impl Into<Message>, answer: impl Into<Message>) -> Slot {
        let answer = answer.into();
        let mut step = crate::begin(&message.into(), &mut self.new).expect("a service");
        loop {
            let (outgoing, then) = match step {
                Consumer::Send(outgoing, then) => (*outgoing, then),
                Consumer::Done(answer) => return answer,
                Consumer::Tell(_) => panic!("an answer is waited for"),
            };
            let request = &outgoing.request;
            self.lines
                .push(format!("{} {}", request.method(), request.uri()));
            let response = match &outgoing.to {
                To::Nrf => found(),
                To::Root(root) => {
                    assert_eq!(root, "http://127.0.0.2:7777");
                    self.serve(request.clone(), answer)
                }
                To::Function => panic!("the AMF that is asked is of another core"),
            };
            step = then(Came { from: 0, response }, &mut self.new);
        }
    }

    fn serve(&mut self, mut request: Request, answer: Message) -> Response {
        let path = request.uri().path().strip_prefix("/a").expect("its prefix");
        *request.uri_mut() = path.parse().expect("a path");
        let asked_of = &mut self.asked;
        let response = asked(&request, &mut self.old, |nf, message| {
            assert_eq!(nf, Nf::Amf);
            asked_of.push(message);
            answer
        });
        assert_eq!(faults(&request, &response), [""; 0]);
        response
    }
}

#[test]
fn a_context_survives() {
    for (reason, keys) in [
        (TransferReason::InitialRegistration, Some(keys(false))),
        (TransferReason::Mobility, Some(keys(true))),
        (TransferReason::MobilityValidated, None),
    ] {
        let mut two = Two::new();
        let request = ask_for(reason, &[0x7e, 1, 0, 0, 0, 0, 3]);
        let told = context(keys, &[5, 6]);
        let answer = two.call(request, told);
        assert!(two.asked == [request.into()], "{reason:?}");
        let answer = answer.answer_to::<TransferUeContext>().expect("a context");
        assert!(answer.keys == told.keys && answer.device == told.device);
        assert_eq!(answer.supi, told.supi);
        // Contexts of SMFs are URIs between cores, and stand for them there.
        let (answered, told) = (answer.sessions.all(), told.sessions.all());
        for (one, of) in answered.iter().zip(told) {
            let number = one.context.get();
            let path = format!("/nsmf-pdusession/v1/sm-contexts/{:016x}", of.context.get());
            let uri = format!("http://127.0.0.1:8888{path}");
            assert_eq!(two.new.uri(number), Some(uri.as_str()));
            assert_eq!(
                (one.session, one.slice, one.dnn),
                (of.session, of.slice, of.dnn)
            );
        }
        assert_eq!(answered.len(), 2);
        assert!(two.lines[0].starts_with("GET /nnrf-disc/v1/nf-instances?target-nf-type=AMF&"));
        assert!(
            two.lines[0].contains("010041") && two.lines[0].ends_with("service-names=namf-comm")
        );
        assert_eq!(
            two.lines[1],
            format!("POST /a/namf-comm/v1/ue-contexts/{UE}/transfer")
        );
    }
}

#[test]
fn the_amf_of_before_hears_what_became_of_the_ue() {
    for is_transferred in [true, false] {
        let mut two = Two::new();
        let update = UpdateRegistration {
            ue: guti().into(),
            is_transferred,
            released: if is_transferred { 0b110_0000 } else { 0 }.into(),
        };
        let done = RegistrationUpdated { is_complete: true };
        // It has not told a context: nobody knows where it is.
        let unknown = two.call(update, done);
        assert_eq!(*unknown, Problem::ContextNotFound.into());
        two.call(ask_for(TransferReason::Mobility, &[1]), context(None, &[]));
        let answer = two.call(update, done);
        assert_eq!(*answer, done.into());
        assert!(two.asked.last() == Some(&update.into()));
        let line = format!("POST /a/namf-comm/v1/ue-contexts/{UE}/transfer-update");
        assert_eq!(two.lines.last(), Some(&line));
        // Once.
        assert_eq!(*two.call(update, done), Problem::ContextNotFound.into());
    }
}

/// TS 29.518, 6.1.3.2.4.6: the causes of the operation.
#[test]
fn refusals_have_their_causes() {
    for (problem, status, cause) in [
        (Problem::IntegrityCheckFailed, 403, "INTEGRITY_CHECK_FAIL"),
        (Problem::ContextNotFound, 404, "CONTEXT_NOT_FOUND"),
    ] {
        let body = json!({ "reason": "MOBI_REG", "accessType": "3GPP_ACCESS" });
        let path = format!("/namf-comm/v1/ue-contexts/{UE}/transfer");
        let request = request("POST", &path, &body);
        let refused = asked(&request, &mut memory(8888), |_, _| problem.into());
        assert_eq!(refusal(&refused), (status, cause.to_owned()));
        let mut two = Two::new();
        let answer = two.call(ask_for(TransferReason::Mobility, &[1]), problem);
        assert_eq!(*answer, problem.into());
    }
}

#[test]
fn an_amf_that_is_not_there_is_not_reached() {
    let ask = ask_for(TransferReason::Mobility, &[1]);
    for nobody in [
        response(200, &json!({ "validityPeriod": 60, "nfInstances": [] })),
        response(404, &json!({})),
        response(503, &json!({})),
    ] {
        let mut memory = memory(7777);
        let Some(Consumer::Send(outgoing, then)) = crate::begin(&ask.into(), &mut memory) else {
            panic!("the NRF is asked");
        };
        assert_eq!(outgoing.to, To::Nrf);
        let came = Came {
            from: 0,
            response: nobody,
        };
        let Consumer::Done(answer) = then(came, &mut memory) else {
            panic!("nobody is asked");
        };
        assert_eq!(*answer, Problem::NotReached.into());
    }
    // Of a SUPI nobody knows the AMF.
    let of_supi = TransferUeContext {
        ue: supi_of_ue().into(),
        ..ask
    };
    let answer = Two::new().call(of_supi, Done::ALL);
    assert_eq!(*answer, Problem::ContextNotFound.into());
}

#[test]
fn what_is_wrong_is_refused_by_name() {
    let refused = |(method, path): (&str, &str), body: &Value| {
        let path = format!("/namf-comm/v1/ue-contexts/{path}");
        let request = request(method, &path, body);
        let nobody = |_, message: Message| panic!("{message} is asked");
        let response = asked(&request, &mut memory(8888), nobody);
        let told: Value = serde_json::from_slice(response.body()).expect("JSON");
        let param = told["invalidParams"][0]["param"].as_str();
        let cause = told["cause"].as_str().unwrap_or_default();
        (
            response.status().as_u16(),
            param.unwrap_or(cause).to_owned(),
        )
    };
    let transfer = format!("{UE}/transfer");
    let line = ("POST", transfer.as_str());
    let right = json!({ "reason": "INIT_REG", "accessType": "3GPP_ACCESS" });
    let with = |member: &str, value: Value| {
        let mut body = right.clone();
        body[member] = value;
        body
    };
    let is = |status: u16, what: &str| (status, what.to_owned());
    assert_eq!(refused(line, &json!({})), is(400, "/reason"));
    assert_eq!(
        refused(line, &with("reason", "X".into())),
        is(400, "/reason")
    );
    assert_eq!(
        refused(line, &with("accessType", 3.into())),
        is(400, "/accessType")
    );
    let other = with("accessType", "NON_3GPP_ACCESS".into());
    assert_eq!(refused(line, &other), is(404, "CONTEXT_NOT_FOUND"));
    let n1 = json!({ "n1MessageClass": "SM", "n1MessageContent": { "contentId": "1" } });
    assert_eq!(
        refused(line, &with("regRequest", n1)),
        is(400, "/regRequest/n1MessageClass")
    );
    let n1 = json!({ "n1MessageClass": "5GMM", "n1MessageContent": { "contentId": "1" } });
    assert_eq!(
        refused(line, &with("regRequest", n1)),
        is(400, "/regRequest/n1MessageContent")
    );
    for strange in [
        "imei-353490069873319",
        "5g-guti-1",
        "5g-guti-é010101004101020304",
    ] {
        let path = format!("{strange}/transfer");
        let path = path.replace('é', "%C3%A9");
        assert_eq!(
            refused(("POST", &path), &right),
            is(404, "CONTEXT_NOT_FOUND")
        );
    }
    assert_eq!(refused(("GET", &transfer), &Value::Null).0, 405);
    let update = format!("{UE}/transfer-update");
    let line = ("POST", update.as_str());
    assert_eq!(refused(line, &json!({})), is(400, "/transferStatus"));
    let body = json!({ "transferStatus": "TRANSFERRED", "toReleaseSessionList": [77] });
    assert_eq!(refused(line, &body), is(400, "/toReleaseSessionList"));
}

/// Sessions are named by themselves, or with a cause (6.1.6.2.26).
#[test]
fn sessions_to_release_are_those_of_both_lists() {
    let body = json!({
        "transferStatus": "TRANSFERRED",
        "toReleaseSessionList": [5],
        "toReleaseSessionInfo": [
            { "releaseSessionList": [6, 7], "releaseCause": "REL_DUE_TO_SLICE_NOT_AVAILABLE" },
        ],
    });
    let path = format!("/namf-comm/v1/ue-contexts/{UE}/transfer-update");
    let request = typed(("POST", &path), "application/json", &body);
    let response = asked(&request, &mut memory(8888), |_, message| {
        let released = match message {
            Message::UpdateRegistration(update) => update.released.get(),
            other => panic!("{other}"),
        };
        assert_eq!(released, 0b1110_0000);
        RegistrationUpdated { is_complete: true }.into()
    });
    assert_eq!(faults(&request, &response), [""; 0]);
    assert_eq!(response.status(), 200);
}

/// Keys that are not those that the UE uses, or cannot be read, are none: the UE is authenticated.
#[test]
fn contexts_of_other_amfs_are_understood() {
    let told = |change: fn(&mut Value)| {
        let mut body = super::context::write(&context(Some(keys(false)), &[5]), &memory(8888));
        change(&mut body);
        super::context::read(&body, &mut memory(7777))
    };
    let has_keys = |change| told(change).expect("a context").keys.get().is_some();
    assert!(has_keys(|_| {}));
    for change in [
        |body: &mut Value| body["seafData"]["ngKsi"]["tsc"] = "MAPPED".into(),
        |body: &mut Value| body["seafData"]["keyAmfChangeInd"] = true.into(),
        |body: &mut Value| body["seafData"]["keyAmf"]["keyVal"] = "5a".into(),
        |body: &mut Value| body["mmContextList"][0]["accessType"] = "NON_3GPP_ACCESS".into(),
        |body: &mut Value| body["mmContextList"][0]["nasUplinkCount"] = (-1).into(),
        |body: &mut Value| body["mmContextList"] = Value::Null,
    ] {
        assert!(!has_keys(change));
    }
    // The capability alone, or with its length.
    for text in ["8HDwcA==", "BPBw8HA="] {
        let mut body = super::context::write(&context(Some(keys(false)), &[]), &memory(8888));
        body["mmContextList"][0]["ueSecurityCapability"] = text.into();
        let read = super::context::read(&body, &mut memory(7777)).expect("a context");
        let read = read.keys.get().map(|keys| keys.capability().to_vec());
        assert_eq!(read, Some(vec![0xf0, 0x70, 0xf0, 0x70]));
    }
    assert!(told(|body| body["supi"] = "nai-a@b".into()).is_none());
    let devices = told(|body| body["pei"] = "imei-353490069873319".into());
    assert_eq!(devices.expect("a context").device.get(), None);
    let sessions = told(|body| body["sessionContextList"][0]["pduSessionId"] = 99.into());
    assert_eq!(sessions.expect("a context").sessions.all(), []);
}
