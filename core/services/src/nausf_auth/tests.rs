use http::header::{CONTENT_TYPE, LOCATION};
use serde_json::json;
use sluice_sbi::{Nf, Resynchronisation};

use super::*;
use crate::tests::through::{
    Two, answered, asked, assert_members, bare, created, memory, network, nobody, refusal, request,
    response, supi,
};

const ROOT: &str = "http://127.0.0.1:8888/nausf-auth/v1/ue-authentications";

fn authenticate(wanted: bool) -> Authenticate {
    let resynchronisation = Resynchronisation {
        wanted,
        rand: [if wanted { 0xc5 } else { 0 }; 16],
        auts: [if wanted { 0x9e } else { 0 }; 14],
    };
    Authenticate {
        identity: identity("suci-0-001-01-0000-0-0-0000000001").expect("a SUCI"),
        network: network(),
        resynchronisation,
    }
}

fn aka(context: u64) -> Challenge {
    Challenge {
        context: context.into(),
        instance: 3,
        method: AuthMethod::FiveGAka,
        rand: [1; 16],
        autn: [2; 16],
        hxres_star: [3; 16],
        eap: Container::NONE,
    }
}

fn eap(context: u64) -> Challenge {
    Challenge {
        method: AuthMethod::EapAkaPrime,
        rand: [0; 16],
        autn: [0; 16],
        hxres_star: [0; 16],
        eap: Container::new(&[1, 2, 0, 5, 50]).expect("room"),
        ..aka(context)
    }
}

fn confirm_with(context: u64, is_null: bool) -> Confirm {
    Confirm {
        context: context.into(),
        instance: 0,
        res_star: [if is_null { 0 } else { 8 }; 16],
        is_null,
    }
}

#[test]
fn a_challenge_of_5g_aka_is_carried_and_confirmed() {
    for wanted in [false, true] {
        let mut two = Two::new();
        let answer = two.carry(authenticate(wanted), authenticate(wanted), aka(7));
        assert_eq!(answer, aka(7).into());
        let exchange = two.last();
        assert_eq!(exchange.line(), "POST /nausf-auth/v1/ue-authentications");
        assert_members(&exchange.sent(), &["/supiOrSuci", "/servingNetworkName"]);
        assert_members(&exchange.told(), &["/authType", "/5gAuthData", "/_links"]);
        let headers = exchange.response.headers();
        assert_eq!(headers[LOCATION], format!("{ROOT}/0000000000000007"));
        assert_eq!(headers[CONTENT_TYPE], "application/3gppHal+json");
    }
    let mut two = Two::new();
    for is_null in [false, true] {
        let request = confirm_with(7, is_null);
        let yes = Confirmed {
            supi: supi(),
            kseaf: [9; 32],
        };
        assert_eq!(two.carry(request, request, yes), yes.into());
        let line = "PUT /nausf-auth/v1/ue-authentications/0000000000000007/5g-aka-confirmation";
        assert_eq!(two.last().line(), line);
        for problem in [Problem::AuthenticationRejected, Problem::ContextNotFound] {
            assert_eq!(two.carry(request, request, problem), problem.into());
        }
    }
}

#[test]
fn an_exchange_of_eap_is_carried_to_its_end() {
    let mut two = Two::new();
    let answer = two.carry(authenticate(false), authenticate(false), eap(7));
    assert_eq!(answer, eap(7).into());
    assert_eq!(two.last().told()["5gAuthData"], "AQIABTI=");
    let step = EapResponse {
        context: 7.into(),
        instance: 0,
        eap: Container::new(&[2, 2, 0, 4]).expect("room"),
    };
    let outcome = |result, context: u64, supi, octet| EapOutcome {
        context: context.into(),
        result,
        supi,
        kseaf: [octet; 32],
        eap: Container::new(&[3, 2, 0, 4]).expect("room"),
    };
    let none = Supi::new_zeroed();
    for outcome in [
        outcome(AuthResult::Ongoing, 8, none, 0),
        outcome(AuthResult::Success, 0, supi(), 4),
        outcome(AuthResult::Failure, 0, none, 0),
    ] {
        assert_eq!(two.carry(step, step, outcome), outcome.into());
        assert_members(&two.last().told(), &["/eapPayload"]);
    }
    let line = "POST /nausf-auth/v1/ue-authentications/0000000000000007/eap-session";
    assert_eq!(two.last().line(), line);
}

/// The SIM's word that is not its own is rejected; a SUCI that cannot be read is something else.
#[test]
fn problems_are_told() {
    let mut two = Two::new();
    for (wanted, problem) in [
        (true, Problem::AuthenticationRejected),
        (false, Problem::IdentityUnreadable),
        (false, Problem::UserNotFound),
        (false, Problem::ServingNetworkNotAuthorized),
        (false, Problem::Overload),
    ] {
        let request = authenticate(wanted);
        assert_eq!(two.carry(request, request, problem), problem.into());
    }
}

#[test]
fn wrong_requests_are_refused() {
    let mut memory = memory(8888);
    let collection = "/nausf-auth/v1/ue-authentications";
    let one = |part: &str| format!("{collection}/0000000000000007/{part}");
    let missing = (400, "MANDATORY_IE_MISSING".to_owned());
    let wrong = (400, "MANDATORY_IE_INCORRECT".to_owned());
    for (method, path, body, expected) in [
        ("POST", collection.to_owned(), json!({}), missing.clone()),
        (
            "POST",
            collection.to_owned(),
            json!({ "supiOrSuci": "imsi-001010000000001" }),
            missing.clone(),
        ),
        (
            "POST",
            collection.to_owned(),
            json!({ "supiOrSuci": 1 }),
            wrong.clone(),
        ),
        ("PUT", one(CONFIRMATION), json!({}), missing.clone()),
        (
            "PUT",
            one(CONFIRMATION),
            json!({ "resStar": "00" }),
            wrong.clone(),
        ),
        ("POST", one(EAP_SESSION), json!({}), missing),
        (
            "POST",
            one(EAP_SESSION),
            json!({ "eapPayload": "?" }),
            wrong,
        ),
        (
            "PUT",
            format!("{collection}/nosuch/{CONFIRMATION}"),
            json!({ "resStar": null }),
            (404, "CONTEXT_NOT_FOUND".to_owned()),
        ),
        (
            "GET",
            one(EAP_SESSION),
            json!(null),
            (405, "METHOD_NOT_ALLOWED".to_owned()),
        ),
        (
            "PUT",
            one("nosuch"),
            json!({}),
            (404, "RESOURCE_URI_STRUCTURE_NOT_FOUND".to_owned()),
        ),
    ] {
        let request = request(method, &path, &body);
        let response = asked(&request, &mut memory, nobody);
        assert_eq!(refusal(&response), expected, "{method} {path} {body}");
    }
}

/// Links in an array, and identities of contexts that are SUCIs (TS 29.509, 6.1.6.2.3 has objects).
#[test]
fn free5gc_is_understood() {
    let mut memory = memory(7777);
    let context = "http://127.0.0.9:8000/nausf-auth/v1/ue-authentications/suci-0-001-01-0-0-0-1";
    let href = format!("{context}/5g-aka-confirmation");
    let body = json!({
        "authType": "5G_AKA",
        "5gAuthData": { "rand": "01".repeat(16), "hxresStar": "03".repeat(16), "autn": "02".repeat(16) },
        "_links": { "5g-aka": [{ "href": href }] },
        "servingNetworkName": "5G:mnc001.mcc001.3gppnetwork.org",
    });
    let (answer, _) = answered(authenticate(false), &mut memory, &[created(context, &body)]);
    let Message::Challenge(challenge) = answer else {
        panic!("{answer}");
    };
    assert!(
        challenge
            == Challenge {
                context: challenge.context,
                ..aka(0)
            }
    );
    let request = confirm_with(challenge.context.get(), false);
    let failure = response(200, &json!({ "authResult": "AUTHENTICATION_FAILURE" }));
    let (answer, sent) = answered(request, &mut memory, &[failure]);
    assert_eq!(answer, Problem::AuthenticationRejected.into());
    assert_eq!(
        sent[0].to,
        crate::exchange::To::Root("http://127.0.0.9:8000".to_owned())
    );
    let path = "/nausf-auth/v1/ue-authentications/suci-0-001-01-0-0-0-1/5g-aka-confirmation";
    assert_eq!(sent[0].request.uri().path(), path);
    // It is confirmed once.
    let (answer, sent) = answered(request, &mut memory, &[]);
    assert_eq!((answer, sent.len()), (Problem::ContextNotFound.into(), 0));
    let links = memory
        .deviations
        .all()
        .find(|(one, _)| *one == Deviation::LinkArray);
    assert_eq!(links, Some((Deviation::LinkArray, 1)));
}

#[test]
fn an_exchange_of_eap_with_free5gc_goes_on_at_the_same_uri() {
    let mut memory = memory(7777);
    let context = "http://127.0.0.9:8000/nausf-auth/v1/ue-authentications/suci-0-001-01-0-0-0-2";
    let body = json!({
        "authType": "EAP_AKA_PRIME",
        "5gAuthData": "AQIABTI=",
        "_links": { "eap-session": [{ "href": format!("{context}/eap-session") }] },
    });
    let (answer, _) = answered(authenticate(false), &mut memory, &[created(context, &body)]);
    let Message::Challenge(challenge) = answer else {
        panic!("{answer}");
    };
    let step = EapResponse {
        context: challenge.context,
        instance: 3,
        eap: Container::new(&[2, 2, 0, 4]).expect("room"),
    };
    let ongoing = response(200, &json!({ "eapPayload": "AQIABTI=" }));
    let (answer, _) = answered(step, &mut memory, &[ongoing]);
    let Message::EapOutcome(outcome) = answer else {
        panic!("{answer}");
    };
    assert_eq!(outcome.context, challenge.context);
    // Members of a success are empty strings.
    let failure = json!({
        "eapPayload": "BLoABA==", "authResult": "AUTHENTICATION_FAILURE", "kSeaf": "", "supi": "",
    });
    let (answer, sent) = answered(step, &mut memory, &[response(200, &failure)]);
    let Message::EapOutcome(outcome) = answer else {
        panic!("{answer}");
    };
    assert_eq!(outcome.result, AuthResult::Failure);
    let path = "/nausf-auth/v1/ue-authentications/suci-0-001-01-0-0-0-2/eap-session";
    assert_eq!(sent[0].request.uri().path(), path);
    let (answer, _) = answered(step, &mut memory, &[]);
    assert_eq!(answer, Problem::ContextNotFound.into());
}

/// A wrong RES* and a wrong AUTS are 400 without a cause; identities of contexts are small numbers.
#[test]
fn open5gs_is_understood() {
    let mut memory = memory(7777);
    let context = "http://127.0.0.11:7777/nausf-auth/v1/ue-authentications/2";
    let body = json!({
        "authType": "5G_AKA",
        "5gAuthData": { "rand": "01".repeat(16), "hxresStar": "03".repeat(16), "autn": "02".repeat(16) },
    });
    // Without links, the URI follows from the Location.
    let (answer, _) = answered(authenticate(false), &mut memory, &[created(context, &body)]);
    let Message::Challenge(challenge) = answer else {
        panic!("{answer}");
    };
    let request = confirm_with(challenge.context.get(), false);
    let (answer, sent) = answered(request, &mut memory, &[bare(400)]);
    assert_eq!(answer, Problem::AuthenticationRejected.into());
    let path = "/nausf-auth/v1/ue-authentications/2/5g-aka-confirmation";
    assert_eq!(sent[0].request.uri().path(), path);
    let (answer, _) = answered(authenticate(true), &mut memory, &[bare(400)]);
    assert_eq!(answer, Problem::AuthenticationRejected.into());
    let (answer, _) = answered(authenticate(false), &mut memory, &[bare(404)]);
    assert_eq!(answer, Problem::UserNotFound.into());
}

#[test]
fn the_ausf_is_asked() {
    let mut two = Two::new();
    two.call(authenticate(false), |nf, _| {
        assert_eq!(nf, Nf::Ausf);
        aka(1).into()
    });
}
