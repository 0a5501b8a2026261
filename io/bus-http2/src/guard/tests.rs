//! Tests of access: requests that are refused, and why.

use super::*;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use bytes::Bytes;
use rcgen::KeyPair;
use serde_json::{Value, json};
use sluice_ids::{AmfId, Guami, Plmn};
use sluice_sbi::NfInstance;
use sluice_sbi_keys::SigningKey;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use tempfile::TempDir;

const NOW: u64 = 1_795_910_400;
const NRF: &str = "1ece6a3c-1b2a-4d5e-8f00-0123456789ab";
const AMF: &str = "4ece6a3c-1b2a-4d5e-8f00-0123456789ab";
const SMF: &str = "5ece6a3c-1b2a-4d5e-8f00-0123456789ab";

/// A UDM of 001-01 whose identity is all sevens.
fn own() -> Own {
    let plmn = Plmn::new("001", "01").expect("a PLMN");
    let amf = AmfId::new(1, 1, 0).expect("an AMF");
    Own {
        root: "http://127.0.0.1:7777".to_owned(),
        guami: Guami { plmn, amf },
        plmn,
        slice: None,
        areas: Vec::new(),
        needs_tokens: true,
        instances: BTreeMap::from([(Nf::Udm, NfInstance::of([0x77; 16]))]),
    }
}

fn peer(instances: Option<&[&str]>) -> Peer {
    let names = instances.map(|all| all.iter().map(|one| (*one).to_owned()).collect());
    Peer {
        address: ([127, 0, 0, 9], 4_000).into(),
        instances: names,
    }
}

fn request(method: &str, path: &str, token: Option<&str>, body: &str) -> Request {
    let mut request = Request::new(Bytes::from(body.to_owned()));
    *request.method_mut() = method.parse().expect("a method");
    *request.uri_mut() = path.parse().expect("a URI");
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}")).expect("a header");
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    request
}

fn asks(guard: &mut Guard, request: &Request, peer: &Peer) -> Result<(), (u16, Option<String>)> {
    guard.check(request, peer, &own(), NOW).map_err(|response| {
        let header = response.headers().get(WWW_AUTHENTICATE);
        let header = header.map(|value| value.to_str().expect("text").to_owned());
        (response.status().as_u16(), header)
    })
}

/// A guard that wants tokens, and the key of its NRF.
fn guard() -> (Guard, SigningKey, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let [key, public] = ["token.key", "token.pem"].map(|name| folder.path().join(name));
    let pair = KeyPair::generate().expect("a key");
    fs::write(&key, pair.serialize_pem()).expect("a file");
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).expect("own file");
    fs::write(&public, pair.public_key_pem()).expect("a file");
    let mut guard = Guard::default();
    let verifier = Verifier::open(&public).expect("keys");
    guard.require(verifier, Issuer::One(NRF.to_owned()), vec![SMF.to_owned()]);
    let key = SigningKey::read(&key).expect("a key");
    (guard, key, folder)
}

/// Token of the AMF for the UDM, with other claims.
fn token(key: &SigningKey, other: &[(&str, Value)]) -> String {
    let mut claims = json!({
        "iss": NRF, "sub": AMF, "aud": "UDM", "scope": "nudm-sdm nudm-uecm", "exp": NOW + 100,
    });
    for (name, value) in other {
        claims[*name] = value.clone();
    }
    let text = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", text(&json!({ "alg": "ES256" })), text(&claims));
    let signature = key.sign(signed.as_bytes()).expect("a signature");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

const SDM: &str = "/nudm-sdm/v2/imsi-001010000000001/nssai";

#[test]
fn a_service_wants_a_token_for_it_of_the_peer() {
    let (mut guard, key, _folder) = guard();
    let amf = peer(Some(&[AMF]));
    let get = |token: &str| request("GET", SDM, Some(token), "");
    let right = token(&key, &[]);
    for _ in 0..3 {
        assert_eq!(asks(&mut guard, &get(&right), &amf), Ok(()));
    }
    let counters = guard.counters();
    assert_eq!((counters.verified, counters.known), (1, 2));
    let own = NfInstance::of([0x77; 16]).to_string();
    let of_own = token(&key, &[("aud", json!([AMF, own.to_uppercase()]))]);
    assert_eq!(asks(&mut guard, &get(&of_own), &amf), Ok(()));
    // Nobody shows a certificate in clear text, and a relay shows its own.
    assert_eq!(asks(&mut guard, &get(&right), &peer(None)), Ok(()));
    assert_eq!(asks(&mut guard, &get(&right), &peer(Some(&[SMF]))), Ok(()));
    let (status, header) =
        asks(&mut guard, &request("GET", SDM, None, ""), &amf).expect_err("none");
    assert_eq!(
        (status, header.as_deref()),
        (401, Some("Bearer realm=\"nudm-sdm\""))
    );
    for (other, status, error) in [
        (
            ("exp", json!(NOW - 60)),
            401,
            Some("error=\"invalid_token\""),
        ),
        (("iss", json!(AMF)), 401, Some("error=\"invalid_token\"")),
        (("aud", json!("UDR")), 401, Some("error=\"invalid_token\"")),
        (("aud", json!([AMF])), 401, Some("error=\"invalid_token\"")),
        (
            ("producerPlmnId", json!({ "mcc": "001", "mnc": "02" })),
            401,
            Some("error=\"invalid_token\""),
        ),
        (
            ("scope", json!("nudm-uecm")),
            403,
            Some("error=\"insufficient_scope\", scope=\"nudm-sdm\""),
        ),
        (("sub", json!(NRF)), 403, None),
    ] {
        let wrong = token(&key, std::slice::from_ref(&other));
        let (got, header) = asks(&mut guard, &get(&wrong), &amf).expect_err("refused");
        assert_eq!(got, status, "{other:?}");
        let is_told =
            error.is_none_or(|error| header.as_ref().is_some_and(|it| it.contains(error)));
        assert!(is_told && header.is_some() == error.is_some(), "{header:?}");
    }
    let counters = guard.counters();
    let Counters {
        missing,
        invalid,
        issuer,
        audience,
        scope,
        subject,
        instance,
        ..
    } = counters;
    assert_eq!(
        [missing, invalid, issuer, audience, scope, subject, instance],
        [1, 1, 1, 3, 1, 1, 0]
    );
}

/// free5GC's NRF gives tokens for a type without the type.
#[test]
fn a_token_without_an_audience_is_taken_where_the_operator_wants_it() {
    let (mut guard, key, _folder) = guard();
    let amf = peer(Some(&[AMF]));
    let get = |token: &str| request("GET", SDM, Some(token), "");
    let of_nobody = token(&key, &[("aud", json!(""))]);
    let refused = asks(&mut guard, &get(&of_nobody), &amf);
    assert_eq!(refused.expect_err("an empty audience").0, 401);
    guard.take_empty_audience();
    assert_eq!(asks(&mut guard, &get(&of_nobody), &amf), Ok(()));
    for (wrong, status) in [
        (("aud", json!("UDR")), 401),
        (("scope", json!("nudm-uecm")), 403),
    ] {
        let wrong = token(&key, &[("aud", json!("")), wrong]);
        let refused = asks(&mut guard, &get(&wrong), &amf);
        assert_eq!(refused.expect_err("wrong").0, status);
    }
}

#[test]
fn callbacks_and_the_beginnings_of_the_nrf_want_none() {
    let (mut guard, _key, _folder) = guard();
    let amf = peer(Some(&[AMF]));
    for (method, path) in [
        (
            "POST",
            "/namf-callback/v1/imsi-001010000000001/sm-contexts/1",
        ),
        ("POST", "/nsmf-callback/v1/sm-policies/7/update"),
        ("GET", "/bootstrapping"),
        ("GET", "/"),
    ] {
        assert_eq!(
            asks(&mut guard, &request(method, path, None, ""), &amf),
            Ok(())
        );
    }
    for path in [
        "/nnrf-disc/v1/nf-instances",
        "/nnrf-nfm/v1/nf-instances",
        "/nudm%2Dsdm/v2/a",
    ] {
        let refused = asks(&mut guard, &request("GET", path, None, ""), &amf);
        assert_eq!(refused.expect_err(path).0, 401);
    }
}

#[test]
fn nobody_speaks_for_an_instance_that_the_certificate_does_not_name() {
    let (mut with_tokens, _key, _folder) = guard();
    let mut without = Guard::default();
    let form = |id: &str| format!("grant_type=client_credentials&nfInstanceId={id}");
    for guard in [&mut with_tokens, &mut without] {
        let amf = peer(Some(&[NRF, AMF]));
        for (method, path, body) in [
            (
                "PUT",
                format!("/nnrf-nfm/v1/nf-instances/{}", AMF.to_uppercase()),
                String::new(),
            ),
            (
                "DELETE",
                format!("/nnrf-nfm/v1/nf-instances/{AMF}"),
                String::new(),
            ),
            ("POST", "/oauth2/token".to_owned(), form(AMF)),
            // The NRF itself refuses who does not say its name.
            (
                "POST",
                "/oauth2/token".to_owned(),
                "grant_type=client_credentials".to_owned(),
            ),
        ] {
            let request = request(method, &path, None, &body);
            assert_eq!(asks(guard, &request, &amf), Ok(()), "{path}");
        }
        let other = "6ece6a3c-1b2a-4d5e-8f00-0123456789ab";
        for (method, path, body) in [
            (
                "PUT",
                format!("/nnrf-nfm/v1/nf-instances/{other}"),
                String::new(),
            ),
            (
                "PATCH",
                format!("/nnrf%2Dnfm/v1/nf%2Dinstances/{other}"),
                String::new(),
            ),
            ("POST", "/oauth2/token".to_owned(), form(other)),
        ] {
            let request = request(method, &path, None, &body);
            assert_eq!(asks(guard, &request, &amf), Err((403, None)), "{path}");
            assert_eq!(asks(guard, &request, &peer(None)), Ok(()), "{path}");
        }
        assert_eq!(guard.counters().instance, 3);
    }
    // A certificate without a name holds for all where tokens are not wanted, else for none.
    let put = request("PUT", &format!("/nnrf-nfm/v1/nf-instances/{AMF}"), None, "");
    assert_eq!(asks(&mut without, &put, &peer(Some(&[]))), Ok(()));
    assert_eq!(
        asks(&mut with_tokens, &put, &peer(Some(&[]))),
        Err((403, None))
    );
}

#[test]
fn a_challenge_is_a_header_whatever_was_asked() {
    let (mut guard, _key, _folder) = guard();
    let get = request("GET", "/n%22%C3%A9-x/v1/a", None, "");
    let (status, header) = asks(&mut guard, &get, &peer(None)).expect_err("refused");
    assert_eq!(
        (status, header.as_deref()),
        (401, Some("Bearer realm=\"n-x\""))
    );
}

#[test]
fn operators_hear_once_of_each_peer_and_reason() {
    let (mut guard, key, _folder) = guard();
    let (amf, get) = (peer(Some(&[AMF])), request("GET", SDM, None, ""));
    let wrong = token(&key, &[("scope", json!("nudm-uecm"))]);
    let wrong = request("GET", SDM, Some(&wrong), "");
    for request in [&get, &get, &wrong, &wrong] {
        asks(&mut guard, request, &amf).expect_err("refused");
    }
    let told: Vec<String> = guard
        .take_refused()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(
        told[0].starts_with(&format!(
            "Service request of {AMF} at 127.0.0.9 refused, 401"
        )),
        "{told:?}"
    );
    assert!(
        told[1].contains("403 insufficient_scope") && told[1].contains(SDM),
        "{told:?}"
    );
    assert!(guard.take_refused().is_empty());
}
