//! Route of a request: its service, version, path and query, decoded; and refusals of those that nobody serves.

use http::header::USER_AGENT;
use http::{Method, StatusCode};

use crate::exchange::{Request, Response};
use crate::problem::refuse;

/// Response to a path that nobody serves (TS 29.500, 5.2.7.2).
pub fn unknown() -> Response {
    let (cause, detail) = (
        "RESOURCE_URI_STRUCTURE_NOT_FOUND",
        "nothing is served at this path",
    );
    refuse(StatusCode::NOT_FOUND, cause, detail)
}

/// Response to a method that is not for this path.
pub fn not_allowed() -> Response {
    let detail = "this method is not for this path";
    refuse(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", detail)
}

/// Path and query of a request, decoded.
pub struct Route {
    /// Method.
    pub method: Method,
    /// Name of the service, `nausf-auth`.
    pub service: String,
    /// Version of its API, `v1`.
    pub version: String,
    /// Segments after the version.
    pub segments: Vec<String>,
    /// Query parameters, in their order.
    pub query: Vec<(String, String)>,
    /// Whether a function of free5GC asks: all of them have this user agent.
    pub is_of_free5gc: bool,
}

/// User agent of free5GC's functions.
const FREE5GC: &str = "OpenAPI-Generator/1.0.0/go";

impl Route {
    /// Of a request; none if its path has no service and version, or is not UTF-8.
    pub fn of(request: &Request) -> Option<Self> {
        let path = request.uri().path().strip_prefix('/')?;
        let mut segments = path.split('/').map(decoded);
        let (service, version) = (segments.next()??, segments.next()??);
        let segments: Option<Vec<String>> = segments.collect();
        let query = request.uri().query().unwrap_or_default();
        let agent = request.headers().get(USER_AGENT);
        Some(Self {
            is_of_free5gc: agent.is_some_and(|agent| agent == FREE5GC),
            method: request.method().clone(),
            service,
            version,
            segments: segments?,
            query: form_urlencoded::parse(query.as_bytes())
                .into_owned()
                .collect(),
        })
    }

    /// Segments, to be matched.
    pub fn parts(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// Value of a query parameter.
    pub fn query(&self, name: &str) -> Option<&str> {
        let mut all = self.query.iter();
        all.find(|(one, _)| one == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Segment of a path, percent-decoded (RFC 3986, 2.1); a plus stands for itself.
fn decoded(segment: &str) -> Option<String> {
    let mut octets = Vec::new();
    let mut rest = segment.bytes();
    while let Some(octet) = rest.next() {
        octets.push(match octet {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                (digit()? << 4 | digit()?) as u8
            }
            other => other,
        });
    }
    String::from_utf8(octets).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;

    #[test]
    fn a_path_is_decoded() {
        let mut request = Request::new(Bytes::new());
        *request.uri_mut() =
            "/nudm-sdm/v2/imsi%2D001/sm-data?single-nssai=%7B%22sst%22%3A1%7D&dnn=a+b"
                .parse()
                .expect("a URI");
        let route = Route::of(&request).expect("a route");
        assert_eq!(
            (route.service.as_str(), route.version.as_str()),
            ("nudm-sdm", "v2")
        );
        assert_eq!(route.parts(), ["imsi-001", "sm-data"]);
        assert_eq!(route.query("single-nssai"), Some("{\"sst\":1}"));
        assert_eq!(decoded("a%2"), None);
        assert_eq!(decoded("a%ff"), None);
        assert_eq!(decoded("a+b").as_deref(), Some("a+b"));
    }
}
