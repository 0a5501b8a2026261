//! The NRF by HTTP: what functions of other cores send, and what of it is found by messages and by requests.
#![allow(clippy::unwrap_used, reason = "a failed step is a failed test")]

mod bounds;
mod consumers;
mod discovery;
mod management;
mod subscriptions;
mod tokens;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Value, json};
use sluice_sbi::{CallId, Instant, Key, Message, NetworkFunction, Nf, Now, RequestId};
use sluice_services::{Request, Response};

use super::*;

pub(super) const AMF: &str = "11111111-1111-4111-8111-111111111111";
pub(super) const SMF: &str = "7d6a81ab-1233-4efa-ac85-386132f3da5f";
pub(super) const UDR: &str = "29570f50-eabf-41f1-8000-1f71120ee6d3";

pub(super) fn nrf() -> Nrf {
    let mut nrf = Nrf::new(Config {
        heart_beat_s: 10,
        validity_s: 60,
    });
    nrf.reached_at("http://127.0.0.10:7777/");
    nrf
}

pub(super) fn at(seconds: u64) -> Now {
    Now {
        instant: Instant(0).plus_ms(seconds * 1_000),
        unix_s: 1_795_910_400 + seconds,
    }
}

pub(super) fn request(method: &str, path: &str, body: &str) -> Request {
    let mut request = Request::new(Bytes::from(body.to_owned()));
    *request.method_mut() = method.parse().unwrap();
    *request.uri_mut() = path.parse().unwrap();
    request
}

pub(super) fn serve_at(nrf: &mut Nrf, now: Now, request: &Request) -> (StatusCode, Value) {
    let response = nrf.serve(now, request, &mut Vec::new());
    (response.status(), body(&response))
}

pub(super) fn serve(nrf: &mut Nrf, method: &str, path: &str, body: &Value) -> (StatusCode, Value) {
    serve_at(nrf, at(0), &request(method, path, &body.to_string()))
}

pub(super) fn body(response: &Response) -> Value {
    serde_json::from_slice(response.body()).unwrap_or_default()
}

pub(super) fn get(nrf: &mut Nrf, path: &str) -> (StatusCode, Value) {
    serve_at(nrf, at(0), &request("GET", path, ""))
}

pub(super) fn instance_path(id: &str) -> String {
    format!("/nnrf-nfm/v1/nf-instances/{id}")
}

pub(super) fn put(nrf: &mut Nrf, profile: &Value) -> (StatusCode, Value) {
    let id = profile["nfInstanceId"].as_str().unwrap();
    serve(nrf, "PUT", &instance_path(id), profile)
}

/// SMF as free5GC registers it: no heart-beats, no load, the whole root as the prefix.
pub(super) fn free5gc_smf() -> Value {
    json!({
        "nfInstanceId": SMF,
        "nfType": "SMF",
        "nfStatus": "REGISTERED",
        "plmnList": [{ "mcc": "001", "mnc": "01" }],
        "sNssais": [{ "sst": 1, "sd": "010203" }, { "sst": 1, "sd": "112233" }],
        "ipv4Addresses": ["127.0.0.2"],
        "locality": "area1",
        "smfInfo": {
            "sNssaiSmfInfoList": [
                { "sNssai": { "sst": 1, "sd": "010203" }, "dnnSmfInfoList": [{ "dnn": "internet" }] },
                { "sNssai": { "sst": 1, "sd": "112233" }, "dnnSmfInfoList": [{ "dnn": "ims" }] },
            ],
        },
        "nfServices": [{
            "serviceInstanceId": "0",
            "serviceName": "nsmf-pdusession",
            "versions": [{ "apiVersionInUri": "v1", "apiFullVersion": "1.0.0" }],
            "scheme": "http",
            "nfServiceStatus": "REGISTERED",
            "ipEndPoints": [{ "ipv4Address": "127.0.0.2", "transport": "TCP", "port": 8000 }],
            "apiPrefix": "http://127.0.0.2:8000",
        }],
    })
}

/// UDR as Open5GS registers it: a map of services, and whom they are for.
pub(super) fn open5gs_udr() -> Value {
    json!({
        "nfInstanceId": UDR,
        "nfType": "UDR",
        "nfStatus": "REGISTERED",
        "ipv4Addresses": ["127.0.0.20"],
        "allowedNfTypes": ["SCP", "PCF", "UDM"],
        "priority": 0,
        "capacity": 100,
        "load": 0,
        "nfServiceList": {
            "29578552-eabf-41f1-8000-1f71120ee6d3": {
                "serviceInstanceId": "29578552-eabf-41f1-8000-1f71120ee6d3",
                "serviceName": "nudr-dr",
                "versions": [{ "apiVersionInUri": "v1", "apiFullVersion": "1.0.0" }],
                "scheme": "http",
                "nfServiceStatus": "REGISTERED",
                "ipEndPoints": [{ "ipv4Address": "127.0.0.20", "port": 7777 }],
                "allowedNfTypes": ["PCF", "UDM"],
                "priority": 0,
            },
        },
        "nfProfileChangesSupportInd": true,
    })
}

/// SCP of Open5GS: a type that none of our functions has.
pub(super) fn open5gs_scp(id: &str) -> Value {
    json!({
        "nfInstanceId": id,
        "nfType": "SCP",
        "nfStatus": "REGISTERED",
        "ipv4Addresses": ["127.0.0.200"],
        "scpInfo": { "scpPorts": { "http": 7777 } },
    })
}

/// Answer to a message.
pub(super) fn ask(nrf: &mut Nrf, now: Now, message: impl Into<Message>) -> Message {
    let (slot, generation) = (0, 0);
    let id = RequestId {
        from: Nf::Amf.into(),
        call: CallId(Key { slot, generation }),
    };
    let message = message.into().into();
    let mut effects = Vec::new();
    nrf.handle(now, Input::Request { id, message }, &mut effects);
    match effects.as_slice() {
        [Effect::Answer { message, .. }] => **message,
        other => panic!("no answer, but {} effects", other.len()),
    }
}
