//! Tokens that are asked for, kept and asked for anew.

use super::*;
use serde_json::json;
use sluice_services::body::respond;

fn waiting(id: u64, method: &str, path: &str) -> Waiting {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = method.parse().expect("a method");
    *request.uri_mut() = path.parse().expect("a URI");
    Waiting {
        id,
        root: "http://127.0.0.3:8000".to_owned(),
        request,
        until: Instant::now() + Duration::from_secs(5),
    }
}

fn sdm(id: u64) -> Waiting {
    waiting(id, "GET", "/nudm-sdm/v2/imsi-001010000000001/nssai")
}

fn answer(token: &str) -> Response {
    let body = json!({ "access_token": token, "token_type": "Bearer", "expires_in": 1_000 });
    respond(StatusCode::OK, &body)
}

fn shown(one: &Waiting) -> Option<&str> {
    one.request.headers().get(AUTHORIZATION)?.to_str().ok()
}

fn asked(step: Step) -> Key {
    match step {
        Step::Ask(key) | Step::LeaveAndAsk(_, key) => key,
        _ => panic!("no question"),
    }
}

#[test]
fn one_question_is_for_all_that_wait_and_the_token_is_kept() {
    let begun = Instant::now();
    let mut wallet = Wallet::new(begun);
    let key = asked(wallet.send(Nf::Amf, sdm(1), begun));
    assert!(matches!(wallet.send(Nf::Amf, sdm(2), begun), Step::Wait));
    // Another function, and another service, have their own.
    let ueau = waiting(
        3,
        "POST",
        "/nudm-ueau/v1/imsi-001010000000001/security-information",
    );
    assert!(matches!(wallet.send(Nf::Ausf, ueau, begun), Step::Ask(_)));
    let question = wallet.question(&key, NfInstance::of([1; 16]));
    let form = String::from_utf8_lossy(question.body()).into_owned();
    let expected = "grant_type=client_credentials&nfInstanceId=01010101-0101-8101-8101-010101010101\
                    &nfType=AMF&targetNfType=UDM&scope=nudm-sdm";
    assert_eq!((question.uri().path(), form.as_str()), (ENDPOINT, expected));
    let leave = wallet.heard(&key, Ok(&answer("one")), begun);
    let leave = leave.unwrap_or_else(|(_, why)| panic!("{why}"));
    let ids: Vec<u64> = leave.iter().map(|one| one.id).collect();
    assert_eq!(ids, [1, 2]);
    assert!(leave.iter().all(|one| shown(one) == Some("Bearer one")));
    let later = begun + Duration::from_secs(700);
    let Step::Leave(one) = wallet.send(Nf::Amf, sdm(4), later) else {
        panic!("the token is there");
    };
    assert_eq!(shown(&one), Some("Bearer one"));
    // Before its end another one is asked for, once.
    let late = begun + Duration::from_secs(800);
    let key = asked(wallet.send(Nf::Amf, sdm(5), late));
    assert!(matches!(wallet.send(Nf::Amf, sdm(6), late), Step::Leave(_)));
    let refused = respond(
        StatusCode::BAD_REQUEST,
        &json!({ "error": "invalid_client" }),
    );
    assert!(wallet.heard(&key, Ok(&refused), late).is_err());
    assert!(matches!(wallet.send(Nf::Amf, sdm(7), late), Step::Leave(_)));
    let over = begun + Duration::from_secs(951);
    assert!(matches!(wallet.send(Nf::Amf, sdm(8), over), Step::Ask(_)));
}

#[test]
fn a_refusal_fails_those_that_wait_by_name_and_operators_hear_of_it() {
    let begun = Instant::now();
    let mut wallet = Wallet::new(begun);
    let error = json!({ "error": "invalid_scope", "error_description": "no instance has it" });
    let refused = respond(StatusCode::BAD_REQUEST, &error);
    // Functions register meanwhile.
    let discovery = waiting(1, "GET", "/nnrf-disc/v1/nf-instances");
    let key = asked(wallet.send(Nf::Amf, discovery, begun));
    assert!(wallet.heard(&key, Ok(&refused), begun).is_err());
    assert!(wallet.take_refused().is_empty());
    let later = begun + BEGINS_WITHIN;
    for at in [later, later + AGAIN] {
        let key = asked(wallet.send(Nf::Amf, sdm(2), at));
        let Err((failed, why)) = wallet.heard(&key, Ok(&refused), at) else {
            panic!("a token");
        };
        assert_eq!(
            (failed[0].id, why.as_str()),
            (2, "invalid_scope: no instance has it")
        );
    }
    let told = wallet.take_refused();
    assert_eq!(told.len(), 1);
    let told = told[0].to_string();
    assert!(
        told.contains("Access token of AMF refused, invalid_scope"),
        "{told}"
    );
    let key = asked(wallet.send(Nf::Amf, sdm(3), later));
    let lost = wallet.heard(&key, Err("no answer in time".to_owned()), later);
    assert!(lost.is_err_and(|(_, why)| why == "no answer in time"));
    let key = asked(wallet.send(Nf::Amf, sdm(4), later));
    let empty = respond(StatusCode::OK, &json!({}));
    assert!(wallet.heard(&key, Ok(&empty), later).is_err());
    assert_eq!(wallet.counters().refused, 5);
}

#[test]
fn a_token_that_a_producer_does_not_take_is_forgotten_and_few_wait() {
    let now = Instant::now();
    let mut wallet = Wallet::new(now);
    let key = asked(wallet.send(Nf::Amf, sdm(0), now));
    assert!(wallet.heard(&key, Ok(&answer("one")), now).is_ok());
    let not_taken = respond(
        StatusCode::UNAUTHORIZED,
        &json!({ "detail": "no key has signed it" }),
    );
    wallet.rejected(Nf::Ausf, &not_taken, now);
    assert!(matches!(wallet.send(Nf::Amf, sdm(1), now), Step::Leave(_)));
    for _ in 0..2 {
        wallet.rejected(Nf::Amf, &not_taken, now);
    }
    let told = wallet.take_refused();
    assert_eq!(told.len(), 2);
    assert!(
        told[1].to_string().contains("no key has signed it"),
        "{told:?}"
    );
    assert!(matches!(wallet.send(Nf::Amf, sdm(2), now), Step::Ask(_)));
    for id in 1..WAITING as u64 {
        assert!(matches!(wallet.send(Nf::Amf, sdm(id), now), Step::Wait));
    }
    assert!(matches!(wallet.send(Nf::Amf, sdm(9), now), Step::Full(9)));
}

#[test]
fn registrations_callbacks_and_others_want_none() {
    for (method, path, service) in [
        ("GET", "/nudm-sdm/v2/imsi-1/nssai", Some("nudm-sdm")),
        (
            "POST",
            "/prefix/nsmf-pdusession/v1/sm-contexts",
            Some("nsmf-pdusession"),
        ),
        ("GET", "/nnrf-disc/v1/nf-instances", Some("nnrf-disc")),
        ("GET", "/nnrf-nfm/v1/nf-instances", Some("nnrf-nfm")),
        ("POST", "/nnrf-nfm/v1/subscriptions", Some("nnrf-nfm")),
        (
            "PUT",
            "/nnrf-nfm/v1/nf-instances/5ece6a3c-1b2a-4d5e-8f00-0123456789ab",
            None,
        ),
        (
            "PATCH",
            "/nnrf-nfm/v1/nf-instances/5ece6a3c-1b2a-4d5e-8f00-0123456789ab",
            None,
        ),
        ("POST", "/namf-callback/v1/imsi-1/n1-n2-failure", None),
        ("POST", "/oauth2/token", None),
        ("GET", "/", None),
        ("GET", "/bootstrapping", None),
    ] {
        let request = waiting(1, method, path).request;
        assert_eq!(service_of(&request).as_deref(), service, "{path}");
    }
}
