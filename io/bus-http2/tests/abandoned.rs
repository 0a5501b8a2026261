//! A policy that is created for an AMF which waits no more is deleted again.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::time::{Duration, Instant as Clock};

use http::{HeaderMap, Method};
use sluice_bus::{Envelope, Event, Kind, Transport as _};
use sluice_bus_http2::{Directory, Services};
use sluice_ids::{AmfId, Guami, Plmn};
use sluice_sbi::{AmPolicy, DeleteAmPolicy, Instant, Message, Nf, Place};
use sluice_sbi_http2::{Config, Event as Happened, Failure, Http, Limits};
use sluice_services::{Memory, Own, Request};

/// For whatever is waited for, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long the AMF waits: not until the PCF answers.
const AMF_WAITS: Duration = Duration::from_millis(100);

fn http() -> Http {
    let config = Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        agent: "PCF".to_owned(),
        limits: Limits::default(),
        tls: None,
    };
    Http::start(config).unwrap()
}

/// Services of a PCF, and their API root.
fn pcf() -> (Services, String) {
    let http = http();
    let root = format!("http://{}", http.address());
    let plmn = Plmn::new("001", "01").unwrap();
    let memory = Memory::new(Own {
        root: root.clone(),
        guami: Guami {
            plmn,
            amf: AmfId::new(1, 1, 0).unwrap(),
        },
        plmn,
        slice: None,
        areas: Vec::new(),
        needs_tokens: false,
        instances: BTreeMap::new(),
    });
    let directory = Directory::new("http://127.0.0.1:9", &BTreeMap::new(), Clock::now());
    let own = vec![Place::from(Nf::Pcf)];
    let services = Services::new(http, memory, directory, own).unwrap();
    (services, root)
}

fn create() -> Request {
    let body = r#"{"notificationUri":"http://127.0.0.1:9/a","suppFeat":"0","supi":"imsi-001010000000001"}"#;
    let mut request = Request::new(body.into());
    *request.method_mut() = Method::POST;
    *request.uri_mut() = "/npcf-am-policy-control/v1/policies".parse().unwrap();
    let json = "application/json".parse().unwrap();
    *request.headers_mut() = HeaderMap::from_iter([(http::header::CONTENT_TYPE, json)]);
    request
}

/// The next request that the PCF gets.
fn next(services: &mut Services) -> Envelope {
    let until = Clock::now() + PATIENCE;
    loop {
        match services.receive() {
            Some(Event::Came(envelope)) if envelope.to.nf == Nf::Pcf => return envelope,
            _ => std::thread::sleep(Duration::from_millis(1)),
        }
        assert!(Clock::now() < until, "the PCF is not asked");
    }
}

fn answer(services: &mut Services, asked: &Envelope, message: impl Into<Message>) {
    let message: Message = message.into();
    let reply = Envelope {
        from: asked.to,
        to: asked.from,
        call: asked.call,
        kind: Kind::Reply,
        load: 0,
        deadline: Instant(0),
        message: message.into(),
    };
    assert!(services.send(reply).is_ok());
}

#[test]
fn a_policy_that_nobody_hears_of_is_deleted_again() {
    let (mut services, root) = pcf();
    let mut amf = http();
    amf.call(1, &root, create(), Clock::now() + AMF_WAITS);
    let asked = next(&mut services);
    assert!(matches!(&*asked.message, Message::CreateAmPolicy(_)));
    let until = Clock::now() + PATIENCE;
    let failed = loop {
        match amf.next() {
            Some(Happened::Failed { why, .. }) => break why,
            Some(other) => panic!("{other:?}"),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
        // The server hears that the stream is reset.
        services.receive();
        assert!(Clock::now() < until, "the AMF waits on");
    };
    assert_eq!(failed, Failure::Deadline);
    // The PCF looks once a second whose time is over, if it has not heard of the reset before.
    std::thread::sleep(Duration::from_millis(1_100));
    assert!(services.receive().is_none());
    let (policy, rfsp) = (7.into(), 0.into());
    answer(&mut services, &asked, AmPolicy { policy, rfsp });
    let undone = next(&mut services);
    assert_eq!(*undone.message, DeleteAmPolicy { policy }.into());
    // Its answer is nobody's.
    answer(&mut services, &undone, sluice_sbi::Done::ALL);
    assert!(services.receive().is_none());
}

#[test]
fn a_policy_that_its_amf_hears_of_stays() {
    let (mut services, root) = pcf();
    let mut amf = http();
    amf.call(1, &root, create(), Clock::now() + PATIENCE);
    let asked = next(&mut services);
    let (policy, rfsp) = (7.into(), 0.into());
    answer(&mut services, &asked, AmPolicy { policy, rfsp });
    let until = Clock::now() + PATIENCE;
    let response = loop {
        match amf.next() {
            Some(Happened::Response { response, .. }) => break response,
            Some(other) => panic!("{other:?}"),
            None => std::thread::sleep(Duration::from_millis(1)),
        }
        assert!(services.receive().is_none());
        assert!(Clock::now() < until, "no response");
    };
    assert_eq!(response.status(), 201);
    assert!(services.receive().is_none());
}
