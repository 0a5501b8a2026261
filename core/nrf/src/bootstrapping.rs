//! Nnrf_Bootstrapping (TS 29.510, 6.4): where the services of the NRF are.

use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use serde_json::json;
use sluice_sbi::Nf;
use sluice_services::body::respond;
use sluice_services::nnrf::{DISCOVERY, INSTANCES};
use sluice_services::{Response, nnrf};

/// Path of the document.
pub(crate) const PATH: &str = "/bootstrapping";

/// Collection.
pub(crate) const SUBSCRIPTIONS: &str = "/nnrf-nfm/v1/subscriptions";

/// Type of a body with links (TS 29.501, 4.4.2).
pub(crate) const HAL_JSON: &str = "application/3gppHal+json";

/// BootstrappingInfo, with the services that `needs_token` says.
pub(crate) fn bootstrap(root: &str, needs_token: bool, validity_s: u32) -> Response {
    let link = |path: &str| json!({ "href": format!("{root}{path}") });
    let mut info = json!({
        "status": "OPERATIVE",
        "_links": {
            "self": link(PATH),
            "manage": link(INSTANCES),
            "subscribe": link(SUBSCRIPTIONS),
            "discover": link(DISCOVERY),
        },
    });
    let services = nnrf::served(Nf::Nrf).iter();
    info["oauth2Required"] = services
        .map(|(name, _)| ((*name).to_owned(), needs_token.into()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let mut response = respond(StatusCode::OK, &info);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(HAL_JSON));
    if let Ok(age) = HeaderValue::from_str(&format!("max-age={validity_s}")) {
        headers.insert(CACHE_CONTROL, age);
    }
    response
}
