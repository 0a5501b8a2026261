//! Responses of the management API: headers that all have, and pages of the screen.

use axum::body::Body;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
};
use axum::http::{HeaderValue, Method, Request, StatusCode};
use axum::response::Response;
use sluice_web::assets::POLICY;

/// A response that browsers neither keep nor take for anything else than it is.
pub(super) fn response(status: u16, media_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or_default();
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_TYPE, media_type),
        (CACHE_CONTROL, "no-store"),
        (CONTENT_SECURITY_POLICY, POLICY),
        (REFERRER_POLICY, "same-origin"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// A page of the screen, if the path is that of one. Pages are open: what they show is not.
pub(super) fn page(request: &Request<Body>) -> Option<Response> {
    let is_look = matches!(*request.method(), Method::GET | Method::HEAD);
    let asset = sluice_web::asset(request.uri().path()).filter(|_| is_look)?;
    let body = match *request.method() {
        Method::HEAD => Body::empty(),
        _ => Body::from(asset.octets),
    };
    let mut page = response(200, asset.media_type, body);
    let kept = match asset.is_immutable {
        true => "public, max-age=31536000, immutable",
        false => "no-cache",
    };
    let headers = page.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(kept));
    Some(page)
}
