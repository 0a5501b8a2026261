//! Resources of a collection: numbers of our own producers stand in their URIs, other URIs are kept under a number.

use http::Method;
use serde_json::{Value, json};
use sluice_sbi::{Message, Problem};

use crate::body::{respond_empty, send_empty};
use crate::deviations::Deviation;
use crate::exchange::{Outgoing, Producer, Response};
use crate::multipart::Content;
use crate::names::Memory;
use crate::problem::{problem_of, tell};

/// Collection of a service, by its path.
pub(crate) struct Collection(pub(crate) &'static str);

impl Collection {
    /// URI of a resource of ours.
    pub(crate) fn uri(&self, number: u64, memory: &Memory) -> String {
        format!("{}{}/{number:016x}", memory.own.root, self.0)
    }

    /// Number of a resource: that in a URI of ours, or one that stands for it.
    pub(crate) fn number(&self, uri: &str, memory: &mut Memory) -> u64 {
        let own = || {
            let (_, path) = uri.split_once(self.0)?;
            number_of(path.strip_prefix('/')?.split('/').next()?)
        };
        own().unwrap_or_else(|| memory.keep(uri))
    }

    /// Request to a resource, or to `under` it; none of one whose URI was forgotten.
    pub(crate) fn request(
        &self,
        method: Method,
        number: u64,
        under: &str,
        memory: &Memory,
    ) -> Option<Outgoing> {
        if !Memory::is_handle(number) {
            let path = format!("{}/{number:016x}{under}", self.0);
            return Some(send_empty(method, &path));
        }
        let uri = format!("{}{under}", memory.uri(number)?.trim_end_matches('/'));
        match uri.starts_with('/') {
            true => Some(send_empty(method, &uri)),
            false => send_empty(method, &uri).at(&uri),
        }
    }
}

/// Number of a resource of our own producers.
pub(crate) fn number_of(id: &str) -> Option<u64> {
    let is_right = id.len() == 16 && id.bytes().all(|c| c.is_ascii_hexdigit());
    let number = u64::from_str_radix(id, 16).ok().filter(|_| is_right)?;
    (!Memory::is_handle(number)).then_some(number)
}

/// Location of a resource that was created.
pub(crate) fn location(response: &Response) -> Option<&str> {
    response
        .headers()
        .get(http::header::LOCATION)?
        .to_str()
        .ok()
}

/// Body of a response; free5GC has some inside of a member `jsonData`.
pub(crate) fn content(response: &Response, memory: &mut Memory) -> Content {
    let mut content = Content::of_response(response);
    if let Some(inner) = content.json.get_mut("jsonData").map(Value::take) {
        memory.deviations.count(Deviation::JsonData);
        content.json = inner;
    }
    content
}

/// Problem that a response tells, be it in a member `error` (SmContextCreateError and others).
pub(crate) fn problem_in(response: &Response, content: &Content) -> Problem {
    let Some(error) = content.json.get("error") else {
        return problem_of(response);
    };
    let mut inner = Response::new(error.to_string().into());
    *inner.status_mut() = response.status();
    problem_of(&inner)
}

/// ProblemDetails of a problem, inside of a member `error`.
pub(crate) fn error(response: &Response) -> Value {
    let problem: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    json!({ "error": problem })
}

/// Response to a request that is answered by `Done`.
pub(crate) fn done(answer: &Message) -> Producer {
    Producer::Done(match answer {
        Message::Done(_) => respond_empty(http::StatusCode::NO_CONTENT),
        Message::Failure(failure) => tell(failure.problem),
        _ => tell(Problem::Protocol),
    })
}
