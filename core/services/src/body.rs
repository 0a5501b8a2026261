//! Bodies: JSON that is written, and read with its members by name.

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderValue, Method, StatusCode};
use serde_json::Value;

use crate::exchange::{Outgoing, Refusal, Request, Response, To};
use crate::problem::{refuse, refuse_member};

/// Type of a body.
pub const JSON: &str = "application/json";

/// Request with a JSON body to the function that the call names; `path` begins with the service, `/nausf-auth/v1/...`.
pub fn send(method: Method, path: &str, body: &Value) -> Outgoing {
    with_json(send_empty(method, path), body)
}

/// The same request with a JSON body.
pub fn with_json(mut outgoing: Outgoing, body: &Value) -> Outgoing {
    let json = HeaderValue::from_static(JSON);
    outgoing.request.headers_mut().insert(CONTENT_TYPE, json);
    *outgoing.request.body_mut() = Bytes::from(body.to_string());
    outgoing
}

/// The same without a body. A path that is no URI cannot come from our own identifiers; one that does all the same goes to
/// the root, where nobody serves it.
pub fn send_empty(method: Method, path: &str) -> Outgoing {
    let mut request = Request::new(Bytes::new());
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().unwrap_or_default();
    Outgoing {
        to: To::Function,
        request,
    }
}

impl Outgoing {
    /// The same to an absolute URI, of a resource or of a callback that another one gave; none if that is not one.
    pub fn at(mut self, uri: &str) -> Option<Self> {
        let parsed: http::Uri = uri.parse().ok()?;
        let root = format!("{}://{}", parsed.scheme_str()?, parsed.authority()?);
        *self.request.uri_mut() = parsed.path_and_query()?.as_str().parse().ok()?;
        self.to = To::Root(root);
        Some(self)
    }
}

/// Response with a JSON body.
pub fn respond(status: StatusCode, body: &Value) -> Response {
    let mut response = Response::new(Bytes::from(body.to_string()));
    *response.status_mut() = status;
    let json = HeaderValue::from_static(JSON);
    response.headers_mut().insert(CONTENT_TYPE, json);
    response
}

/// Response without a body.
pub fn respond_empty(status: StatusCode) -> Response {
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = status;
    response
}

/// The same with the URI of the resource that was created.
pub fn with_location(mut response: Response, uri: &str) -> Response {
    if let Ok(uri) = HeaderValue::from_str(uri) {
        response.headers_mut().insert(LOCATION, uri);
    }
    response
}

/// Body of a request.
///
/// # Errors
/// A response that refuses it: it is no JSON object.
pub fn read(request: &Request) -> Result<Value, Refusal> {
    let parsed = serde_json::from_slice::<Value>(request.body());
    let detail = match parsed {
        Ok(value) if value.is_object() || value.is_array() => return Ok(value),
        Ok(_) => "the body is no JSON object".to_owned(),
        Err(e) => format!("the body is no JSON: {e}"),
    };
    let status = StatusCode::BAD_REQUEST;
    Err(refuse(status, "INVALID_MSG_FORMAT", &detail).into())
}

/// Body of a response; null if it has none, or none that is JSON.
pub fn read_response(response: &Response) -> Value {
    serde_json::from_slice(response.body()).unwrap_or_default()
}

/// Mandatory member at a pointer (RFC 6901), as `read` takes it.
///
/// # Errors
/// A response that refuses the request by the member's name: it is missing, or not `expected`.
pub fn member<T>(
    body: &Value,
    pointer: &str,
    expected: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<T, Refusal> {
    let value = body.pointer(pointer).filter(|value| !value.is_null());
    let value = value.ok_or_else(|| refuse_member(true, pointer, expected))?;
    read(value).ok_or_else(|| refuse_member(false, pointer, expected).into())
}

/// Optional member at a pointer; none if it is absent or null.
///
/// # Errors
/// As [`member`], of one that is there.
pub fn optional<T>(
    body: &Value,
    pointer: &str,
    expected: &str,
    read: impl FnOnce(&Value) -> Option<T>,
) -> Result<Option<T>, Refusal> {
    match body.pointer(pointer) {
        None | Some(Value::Null) => Ok(None),
        Some(_) => member(body, pointer, expected, read).map(Some),
    }
}
