//! Routes: which service a message or a request is of.

use http::{Method, StatusCode};
use sluice_sbi::Message;

use crate::exchange::{Consumer, Producer, Request, Response};
use crate::names::Memory;
use crate::problem::refuse;
use crate::{namf, nausf_auth, nnssf, npcf, nsmf, nudm, nudr};

/// Begins a call; none of a message that no service carries.
pub fn begin(message: &Message, memory: &mut Memory) -> Option<Consumer> {
    nausf_auth::begin(message, memory)
        .or_else(|| namf::begin(message, memory))
        .or_else(|| nnssf::begin(message, memory))
        .or_else(|| npcf::begin(message, memory))
        .or_else(|| nsmf::begin(message, memory))
        .or_else(|| nudm::begin(message, memory))
        .or_else(|| nudr::begin(message, memory))
}

/// Begins with a request of another function.
pub fn accept(request: &Request, memory: &mut Memory) -> Producer {
    let Some(route) = Route::of(request) else {
        return Producer::Done(unknown());
    };
    match route.service.as_str() {
        namf::SERVICE => namf::accept(&route, request),
        "namf-callback" if nsmf::is_status(&route) => nsmf::accept_status(&route, request, memory),
        nausf_auth::SERVICE => nausf_auth::accept(&route, request, memory),
        nnssf::SERVICE => nnssf::accept(&route, memory),
        npcf::access::SERVICE => npcf::access::accept(&route, request, memory),
        nsmf::SERVICE => nsmf::accept(&route, request, memory),
        "nsmf-callback" if namf::is_failure(&route) => namf::accept_failure(&route, request),
        nudm::UEAU => nudm::ueau::accept(&route, request, memory),
        nudm::SDM => nudm::sdm::accept(&route, request, memory),
        nudm::UECM => nudm::uecm::accept(&route, request, memory),
        nudm::AMF_CALLBACK | nudm::SMF_CALLBACK => nudm::callbacks::accept(&route, request),
        nudr::SERVICE => nudr::accept(&route, request, memory),
        nudr::UDM_CALLBACK => nudr::changes::accept_callback(&route, request),
        _ => Producer::Done(unknown()),
    }
}

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
}

impl Route {
    /// Of a request; none if its path has no service and version, or is not UTF-8.
    pub fn of(request: &Request) -> Option<Self> {
        let path = request.uri().path().strip_prefix('/')?;
        let mut segments = path.split('/').map(decoded);
        let (service, version) = (segments.next()??, segments.next()??);
        let segments: Option<Vec<String>> = segments.collect();
        let query = request.uri().query().unwrap_or_default();
        Some(Self {
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
