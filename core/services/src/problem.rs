//! Problems as responses (ProblemDetails: TS 29.571, 5.2.4.1; causes of TS 29.500, 5.2.7.2, and of each service).

use bytes::Bytes;
use http::StatusCode;
use http::header::{CONTENT_TYPE, WWW_AUTHENTICATE};
use serde_json::{Value, json};
use sluice_sbi::Problem;

use crate::exchange::Response;

/// Type of the body of a problem.
pub const PROBLEM_JSON: &str = "application/problem+json";

/// Each problem with the status and the cause by which it is told. Of several with the same cause the first is understood.
const CAUSES: &[(Problem, StatusCode, &str)] = {
    use Problem as P;
    use StatusCode as S;
    &[
        (P::UserNotFound, S::NOT_FOUND, "USER_NOT_FOUND"),
        (
            P::IdentityUnreadable,
            S::FORBIDDEN,
            "AUTHENTICATION_REJECTED",
        ),
        (
            P::AuthenticationRejected,
            S::FORBIDDEN,
            "AUTHENTICATION_REJECTED",
        ),
        (P::ContextNotFound, S::NOT_FOUND, "CONTEXT_NOT_FOUND"),
        (P::Timeout, S::GATEWAY_TIMEOUT, "TIMED_OUT_REQUEST"),
        (P::Overload, S::SERVICE_UNAVAILABLE, "NF_CONGESTION"),
        (P::Protocol, S::BAD_REQUEST, "UNSPECIFIED_MSG_FAILURE"),
        (
            P::ServingNetworkNotAuthorized,
            S::FORBIDDEN,
            "SERVING_NETWORK_NOT_AUTHORIZED",
        ),
        (P::DnnNotSupported, S::FORBIDDEN, "DNN_NOT_SUPPORTED"),
        (P::ServiceNotAllowed, S::FORBIDDEN, "ROAMING_NOT_ALLOWED"),
        (P::NotAuthenticated, S::NOT_FOUND, "CONTEXT_NOT_FOUND"),
        (P::DiscoveryForbidden, S::FORBIDDEN, "UNAUTHORIZED"),
        (
            P::IntegrityCheckFailed,
            S::FORBIDDEN,
            "INTEGRITY_CHECK_FAIL",
        ),
        (P::NotReached, S::GATEWAY_TIMEOUT, "TARGET_NF_NOT_REACHABLE"),
        (
            P::QosNotAuthorized,
            S::FORBIDDEN,
            "REQUESTED_SERVICE_NOT_AUTHORIZED",
        ),
        (
            P::FiveQiNotAuthorized,
            S::FORBIDDEN,
            "REQUESTED_SERVICE_NOT_AUTHORIZED",
        ),
        (
            P::NoResources,
            S::INTERNAL_SERVER_ERROR,
            "INSUFFICIENT_RESOURCES",
        ),
    ]
};

/// Response that refuses: its status, the cause of the TS, and words for people.
pub fn refuse(status: StatusCode, cause: &str, detail: &str) -> Response {
    respond(
        status,
        &json!({
            "title": status.canonical_reason().unwrap_or_default(),
            "status": status.as_u16(),
            "detail": detail,
            "cause": cause,
        }),
    )
}

fn respond(status: StatusCode, problem: &Value) -> Response {
    let mut response = Response::new(Bytes::from(problem.to_string()));
    *response.status_mut() = status;
    let problem_json = http::HeaderValue::from_static(PROBLEM_JSON);
    response.headers_mut().insert(CONTENT_TYPE, problem_json);
    response
}

/// Response to a request that lacks a mandatory member, or has a wrong one (invalidParams names it, `/path/of/it`).
pub fn refuse_member(is_missing: bool, member: &str, expected: &str) -> Response {
    let cause = match is_missing {
        true => "MANDATORY_IE_MISSING",
        false => "MANDATORY_IE_INCORRECT",
    };
    let status = StatusCode::BAD_REQUEST;
    respond(
        status,
        &json!({
            "title": "Bad Request",
            "status": 400,
            "detail": format!("{member}: expected {expected}"),
            "cause": cause,
            "invalidParams": [{ "param": member, "reason": format!("expected {expected}") }],
        }),
    )
}

/// Response that tells a problem of a function.
pub fn tell(problem: Problem) -> Response {
    let mut all = CAUSES.iter();
    let found = all.find(|(one, ..)| *one == problem);
    let (status, cause) = found.map_or(
        (StatusCode::INTERNAL_SERVER_ERROR, "SYSTEM_FAILURE"),
        |(_, status, cause)| (*status, *cause),
    );
    refuse(status, cause, &problem.to_string())
}

/// Problem that a response tells: by its cause, where that is known, else by its status.
pub fn problem_of(response: &Response) -> Problem {
    // It does not take the access token, which says nothing of a subscriber.
    let is_challenged = response.headers().contains_key(WWW_AUTHENTICATE);
    if is_challenged || response.status() == StatusCode::UNAUTHORIZED {
        return Problem::NotReached;
    }
    let body: Option<Value> = serde_json::from_slice(response.body()).ok();
    let cause = body.as_ref().and_then(|body| body.get("cause")?.as_str());
    let mut all = CAUSES.iter();
    let known = cause.and_then(|cause| all.find(|(_, _, one)| *one == cause));
    if let Some((problem, ..)) = known {
        return *problem;
    }
    match response.status().as_u16() {
        403 => Problem::ServiceNotAllowed,
        404 => Problem::ContextNotFound,
        408 | 504 => Problem::Timeout,
        429 | 503 => Problem::Overload,
        _ => Problem::Protocol,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_that_is_told_is_understood() {
        for (problem, _, cause) in CAUSES {
            let mut first = CAUSES.iter();
            let first = first.find(|(_, _, one)| one == cause).expect("itself").0;
            assert_eq!(problem_of(&tell(*problem)), first);
        }
    }

    #[test]
    fn a_token_that_is_not_taken_says_nothing_of_a_subscriber() {
        for (status, challenge) in [
            (StatusCode::UNAUTHORIZED, None),
            (StatusCode::FORBIDDEN, Some("Bearer")),
        ] {
            let mut response = refuse(status, "UNAUTHORIZED", "no token");
            if let Some(text) = challenge {
                let value = http::HeaderValue::from_static(text);
                response.headers_mut().insert(WWW_AUTHENTICATE, value);
            }
            assert_eq!(problem_of(&response), Problem::NotReached, "{status}");
        }
    }

    #[test]
    fn a_member_is_refused_by_name() {
        let response = refuse_member(
            true,
            "/servingNetworkName",
            "5G:mnc001.mcc001.3gppnetwork.org",
        );
        let body: Value = serde_json::from_slice(response.body()).expect("JSON");
        assert_eq!(body["cause"], "MANDATORY_IE_MISSING");
        assert_eq!(body["invalidParams"][0]["param"], "/servingNetworkName");
        assert_eq!(response.headers()[CONTENT_TYPE], PROBLEM_JSON);
    }
}
