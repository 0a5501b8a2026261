//! Subscribers that are no part of the core: whatever they have said is kept, and they are told at the URIs that they gave.

use http::{Method, StatusCode};
use serde_json::Value;
use sluice_sbi::Problem;

use crate::body::{respond_empty, send};
use crate::calls::{ask_on, call};
use crate::exchange::{Consumer, Outgoing, Producer, Refusal, Response};
use crate::names::Memory;
use crate::problem::{problem_of, refuse, tell};
use crate::resources::{Collection, number_of};

/// Longest URI and longest text of a subscriber, in octets.
const URI_OCTETS: usize = 2_048;
const TEXT_OCTETS: usize = 256;

/// Subscriptions of a kind, by the path of their resources.
pub(crate) struct Subscribers(pub(crate) Collection);

impl Subscribers {
    fn key(&self, id: u64) -> String {
        format!("{} {id:016x}", self.0.0)
    }

    /// URI of a subscription.
    pub fn uri(&self, id: u64, memory: &Memory) -> String {
        self.0.uri(id, memory)
    }

    /// Keeps what a subscriber has said.
    pub fn keep(&self, id: u64, document: &Value, memory: &mut Memory) {
        memory.keep_subscriber(&self.key(id), &document.to_string());
    }

    /// Document that a subscriber has said; none of one that was forgotten.
    pub fn document(&self, id: u64, memory: &Memory) -> Option<Value> {
        serde_json::from_str(memory.subscriber(&self.key(id))?).ok()
    }

    /// The subscriber is told no more.
    pub fn forget(&self, id: u64, memory: &mut Memory) {
        memory.forget_subscriber(&self.key(id));
    }

    /// Number of a subscription in a path, and what its subscriber has said.
    ///
    /// # Errors
    /// There is none.
    pub fn find(&self, id: &str, memory: &Memory) -> Result<(u64, Value), Refusal> {
        let known = number_of(id).and_then(|id| Some((id, self.document(id, memory)?)));
        known.ok_or_else(|| not_found().into())
    }

    /// Ends a subscription.
    pub fn end<R: sluice_sbi::Request>(
        &'static self,
        id: &str,
        request: impl FnOnce(u64) -> R,
    ) -> Result<Producer, Refusal> {
        let id = number_of(id).ok_or_else(not_found)?;
        Ok(ask_on(request(id), move |answer, memory| {
            self.forget(id, memory);
            Producer::Done(match answer {
                Ok(_) => respond_empty(StatusCode::NO_CONTENT),
                Err(Problem::ContextNotFound) => not_found(),
                Err(problem) => tell(problem),
            })
        }))
    }

    /// Tells a subscriber at its URI; one that says that it does not know its subscription is forgotten.
    pub fn notify(&'static self, id: u64, uri: Option<&str>, body: &Value) -> Consumer {
        let outgoing = uri.and_then(|uri| notification(uri, body));
        let Some(outgoing) = outgoing else {
            return Consumer::Done(Problem::ContextNotFound.into());
        };
        call(outgoing, move |came, memory| {
            let response = &came.response;
            if response.status() == StatusCode::NOT_FOUND {
                self.forget(id, memory);
                return Err(Problem::ContextNotFound);
            }
            match response.status().is_success() {
                true => Ok(sluice_sbi::Done::ALL.into()),
                false => Err(problem_of(response)),
            }
        })
    }
}

/// Notification to a URI; none if it is no absolute one.
pub(crate) fn notification(uri: &str, body: &Value) -> Option<Outgoing> {
    send(Method::POST, "/", body).at(uri)
}

/// Response about a subscription that is not there.
pub(crate) fn not_found() -> Response {
    let detail = "there is no such subscription";
    refuse(StatusCode::NOT_FOUND, "SUBSCRIPTION_NOT_FOUND", detail)
}

/// URI at which a subscriber wants to hear.
pub(crate) fn uri(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| text.len() <= URI_OCTETS)?;
    let uri: http::Uri = text.parse().ok()?;
    uri.authority().and(uri.scheme()).map(|_| text.to_owned())
}

/// Text that a subscriber wants to hear again.
pub(crate) fn text(value: &Value) -> Option<String> {
    let text = value.as_str().filter(|text| text.len() <= TEXT_OCTETS)?;
    Some(text.to_owned())
}
