//! Round trips of calls for tests: a consumer's requests are handed to a producer, and its responses back. 3GPP's
//! descriptions judge each of them, where they are there.

use http::header::CONTENT_TYPE;
use http::{Method, StatusCode};
use serde_json::Value;
use sluice_sbi::{Message, Slot};

use crate::body::respond;
use crate::exchange::{Came, Consumer, Outgoing, Producer, Refusal, Request, Response, To};
use crate::judge;
use crate::multipart::Content;
use crate::names::Memory;
use crate::routes::{accept, begin};

/// Requests and responses of a call, and the messages at both ends.
pub(crate) struct Trip {
    /// Messages that the producer's function was asked.
    pub(crate) asked: Vec<Slot>,
    /// Answer to the consumer's function.
    pub(crate) answer: Slot,
    /// Requests, and where they went.
    pub(crate) requests: Vec<(To, Request)>,
    /// Responses.
    pub(crate) responses: Vec<Response>,
}

impl Trip {
    /// JSON of the only request.
    pub(crate) fn sent(&self) -> Value {
        assert_eq!(self.requests.len(), 1);
        Content::of(&self.requests[0].1).expect("JSON").json
    }

    /// JSON of the only response.
    pub(crate) fn came(&self) -> Value {
        assert_eq!(self.responses.len(), 1);
        Content::of_response(&self.responses[0]).json
    }

    /// Method and path of the only request.
    pub(crate) fn line(&self) -> String {
        assert_eq!(self.requests.len(), 1);
        let request = &self.requests[0].1;
        format!("{} {}", request.method(), request.uri())
    }

    /// Status of the only response.
    pub(crate) fn status(&self) -> StatusCode {
        assert_eq!(self.responses.len(), 1);
        self.responses[0].status()
    }
}

/// Carries a call from a consumer to a producer whose function answers with `answers`.
pub(crate) fn trip(
    message: impl Into<Message>,
    consumer: &mut Memory,
    producer: &mut Memory,
    mut answers: impl FnMut(&Message) -> Message,
) -> Trip {
    let mut asked = Vec::new();
    let serve = |request: &Request| {
        let mut step = accept(request, producer);
        loop {
            match step {
                Producer::Done(response) => return response,
                Producer::Ask(_, message, then) => {
                    let answer = answers(&message);
                    asked.push(message);
                    step = then(&answer, producer);
                }
            }
        }
    };
    let (answer, requests, responses) = carry(message, consumer, serve);
    let pairs = requests.iter().zip(&responses);
    let faults = pairs.flat_map(|((_, request), response)| judge::faults(request, response));
    assert_eq!(faults.collect::<Vec<_>>(), [""; 0]);
    Trip {
        asked,
        answer,
        requests,
        responses,
    }
}

/// Carries a call from a consumer to whoever answers its requests.
pub(crate) fn carry(
    message: impl Into<Message>,
    consumer: &mut Memory,
    mut serve: impl FnMut(&Request) -> Response,
) -> (Slot, Vec<(To, Request)>, Vec<Response>) {
    let (mut requests, mut responses) = (Vec::new(), Vec::new());
    let mut step = begin(&message.into(), consumer).expect("a service carries it");
    loop {
        match step {
            Consumer::Done(answer) => return (answer, requests, responses),
            Consumer::Tell(all) => {
                for Outgoing { to, request } in all {
                    responses.push(serve(&request));
                    requests.push((to, request));
                }
                return (sluice_sbi::Done::ALL.into(), requests, responses);
            }
            Consumer::Send(outgoing, then) => {
                let Outgoing { to, request } = *outgoing;
                let response = serve(&request);
                responses.push(response.clone());
                requests.push((to, request));
                step = then(Came { from: 0, response }, consumer);
            }
        }
    }
}

/// Request of another core with a JSON body.
pub(crate) fn request(method: Method, path: &str, body: &Value) -> Request {
    let response = respond(StatusCode::OK, body);
    let mut request = Request::new(response.into_body());
    *request.method_mut() = method;
    *request.uri_mut() = path.parse().expect("a path");
    let json = http::HeaderValue::from_static("application/json");
    request.headers_mut().insert(CONTENT_TYPE, json);
    request
}

/// Message that a request asks of a function.
pub(crate) fn asks(request: &Request, memory: &mut Memory) -> Result<Slot, Refusal> {
    match accept(request, memory) {
        Producer::Ask(_, message, _) => Ok(message),
        Producer::Done(response) => Err(response.into()),
    }
}

/// Whether a body has these members.
pub(crate) fn has(body: &Value, pointers: &[&str]) {
    for pointer in pointers {
        assert!(body.pointer(pointer).is_some(), "{pointer} in {body}");
    }
}
