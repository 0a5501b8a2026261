//! Subscriptions of a carrier to who registers and leaves (Nnrf_NFManagement, TS 29.510, 5.2.2.5 to 5.2.2.7).

use http::header::LOCATION;
use http::{Method, StatusCode};
use serde_json::{Value, json};
use sluice_sbi::Nf;

use crate::body::{member, read, respond_empty, send, send_empty};
use crate::exchange::{Outgoing, Refusal, Request, Response};
use crate::names::Own;
use crate::problem::refuse_member;
use crate::route::{Route, not_allowed, unknown};

/// First segment of the path at which an NRF tells.
pub const STATUS: &str = "nf-status-callback";

/// POST of a subscription to instances of a type, for this consumer.
pub fn subscribe(target: Nf, consumer: Nf, own: &Own) -> Outgoing {
    let mut body = json!({
        "nfStatusNotificationUri": format!("{}/{STATUS}/v1/{target}", own.root),
        "reqNfType": consumer.to_string(),
        "subscrCond": { "nfType": target.to_string() },
        "reqNotifEvents": ["NF_REGISTERED", "NF_DEREGISTERED"],
    });
    if let Some(instance) = own.instances.get(&consumer) {
        body["reqNfInstanceId"] = instance.to_string().into();
    }
    send(Method::POST, "/nnrf-nfm/v1/subscriptions", &body)
}

/// Whether a subscription was made, and its URI if that is told.
pub fn subscribed(response: &Response) -> Option<Option<String>> {
    let location = response.headers().get(LOCATION);
    let uri = location
        .and_then(|uri| uri.to_str().ok())
        .map(str::to_owned);
    (response.status() == StatusCode::CREATED).then_some(uri)
}

/// DELETE of a subscription; none if its URI is not absolute.
pub fn unsubscribe(uri: &str) -> Option<Outgoing> {
    send_empty(Method::DELETE, "/").at(uri)
}

/// Type of the instance of which an NRF tells, and the response.
///
/// # Errors
/// A response that refuses the notification.
pub fn notified(request: &Request) -> Result<(Nf, Response), Refusal> {
    let route = Route::of(request).ok_or_else(unknown)?;
    let [kind] = route.parts()[..] else {
        return Err(unknown().into());
    };
    let mut all = Nf::ALL.into_iter();
    let nf = all.find(|nf| nf.to_string() == kind).ok_or_else(unknown)?;
    if route.method != Method::POST {
        return Err(not_allowed().into());
    }
    let body = read(request)?;
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let event = member(&body, "/event", "an event", text)?;
    member(&body, "/nfInstanceUri", "a URI", text)?;
    let known = ["NF_REGISTERED", "NF_DEREGISTERED", "NF_PROFILE_CHANGED"];
    if !known.contains(&event.as_str()) {
        return Err(refuse_member(false, "/event", &known.join(", ")).into());
    }
    Ok((nf, respond_empty(StatusCode::NO_CONTENT)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::respond;
    use crate::exchange::To;
    use crate::names::tests::memory;

    fn notification(path: &str, body: &Value) -> Request {
        send(Method::POST, path, body).request
    }

    #[test]
    fn a_subscription_names_the_type_and_where_it_is_told() {
        let outgoing = subscribe(Nf::Udm, Nf::Ausf, &memory().own);
        let body = read(&outgoing.request).expect("a body");
        assert_eq!(body["subscrCond"], json!({ "nfType": "UDM" }));
        let uri = body["nfStatusNotificationUri"].as_str().expect("a URI");
        assert_eq!(uri, "http://127.0.0.1:7777/nf-status-callback/v1/UDM");
        let told = json!({ "event": "NF_REGISTERED", "nfInstanceUri": "http://127.0.0.10/1" });
        let path = uri.trim_start_matches("http://127.0.0.1:7777");
        let (nf, response) = notified(&notification(path, &told)).expect("it is taken");
        assert_eq!((nf, response.status().as_u16()), (Nf::Udm, 204));
    }

    #[test]
    fn its_uri_is_where_it_ends() {
        let mut made = respond(StatusCode::CREATED, &json!({}));
        // free5GC tells none.
        assert_eq!(subscribed(&made), Some(None));
        let uri = "http://127.0.0.10:8000/nnrf-nfm/v1/subscriptions/7";
        let value = http::HeaderValue::from_static(uri);
        made.headers_mut().insert(LOCATION, value);
        assert_eq!(subscribed(&made), Some(Some(uri.to_owned())));
        let ended = unsubscribe(uri).expect("a URI");
        assert_eq!(ended.to, To::Root("http://127.0.0.10:8000".to_owned()));
        assert_eq!(ended.request.uri().path(), "/nnrf-nfm/v1/subscriptions/7");
        assert_eq!(
            subscribed(&respond(StatusCode::FORBIDDEN, &json!({}))),
            None
        );
    }

    #[test]
    fn other_notifications_are_refused() {
        let whole = json!({ "event": "NF_REGISTERED", "nfInstanceUri": "http://127.0.0.10/1" });
        for (path, body, status) in [
            (
                "/nf-status-callback/v1/UDM",
                json!({ "event": "NF_REGISTERED" }),
                400,
            ),
            (
                "/nf-status-callback/v1/UDM",
                json!({ "event": "GONE", "nfInstanceUri": "a" }),
                400,
            ),
            ("/nf-status-callback/v1/UPF", whole.clone(), 404),
            ("/nf-status-callback/v1/UDM/1", whole, 404),
        ] {
            let refused = notified(&notification(path, &body)).expect_err("a refusal");
            assert_eq!(refused.status().as_u16(), status, "{path} {body}");
        }
    }
}
