//! Request that came: read whole, given to the program, and answered.

use std::future::poll_fn;
use std::rc::Rc;
use std::time::{Instant, SystemTime};

use bytes::{Bytes, BytesMut};
use h2::server::SendResponse;
use h2::{Reason, RecvStream, SendStream};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, Method, StatusCode};
use sluice_services::Response;
use tokio::time::timeout;

use super::connection::Link;
use crate::headers;
use crate::inbox::Event;
use crate::peers::StreamPlace;

/// Why a request is not given to the program.
enum Refused {
    /// Answered so.
    Answer(StatusCode, &'static str),
    /// The stream is reset, so the request may come again.
    Stream,
    /// The peer reset the stream.
    Reset,
    /// The connection ended.
    Gone,
}

/// Serves a stream to its end.
pub(super) async fn serve(
    request: http::Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    link: Rc<Link>,
) {
    let tally = &link.parts.tally;
    tally.requests.add();
    let Some(place) = link.place.open(&link.parts.limits) else {
        tally.streams_refused.add();
        respond.send_reset(Reason::REFUSED_STREAM);
        return;
    };
    let is_head = request.method() == Method::HEAD;
    let response = match answer(request, &mut respond, &place, &link).await {
        Ok(response) => response,
        Err(Refused::Answer(status, why)) => refusal(status, why),
        Err(Refused::Stream) => {
            respond.send_reset(Reason::REFUSED_STREAM);
            return;
        }
        Err(Refused::Gone) => return,
        Err(Refused::Reset) => {
            tally.resets.add();
            if !link.place.reset(&link.parts.limits) {
                link.too_much.notify_one();
            }
            return;
        }
    };
    send(response, is_head, &mut respond, &link).await;
}

/// The program's answer.
async fn answer(
    request: http::Request<RecvStream>,
    respond: &mut SendResponse<Bytes>,
    place: &StreamPlace,
    link: &Link,
) -> Result<Response, Refused> {
    let (limits, tally) = (&link.parts.limits, &link.parts.tally);
    let until = headers::deadline(request.headers(), Instant::now(), SystemTime::now());
    let (head, body) = request.into_parts();
    let body = timeout(limits.half_open, read(body, place, link)).await;
    let body = body.unwrap_or_else(|_| {
        tally.bodies_late.add();
        let why = "the body did not end in time";
        Err(Refused::Answer(StatusCode::REQUEST_TIMEOUT, why))
    })?;
    let Some((exchange, answer)) = link.parts.answers.open(limits.exchanges) else {
        tally.requests_refused.add();
        let why = "too many requests have no answer yet";
        return Err(Refused::Answer(StatusCode::SERVICE_UNAVAILABLE, why));
    };
    link.parts.inbox.push(Event::Request {
        exchange,
        peer: link.peer.clone(),
        request: http::Request::from_parts(head, body),
        until,
    });
    tokio::select! {
        given = answer => given.map_err(|_| {
            let why = "this function ends";
            Refused::Answer(StatusCode::SERVICE_UNAVAILABLE, why)
        }),
        gone = poll_fn(|cx| respond.poll_reset(cx)) => {
            tally.abandoned.add();
            link.parts.answers.close(exchange);
            link.parts.inbox.abandon(exchange);
            Err(gone.map_or_else(|e| gone_by(&e), |_| Refused::Reset))
        }
    }
}

async fn read(mut body: RecvStream, place: &StreamPlace, link: &Link) -> Result<Bytes, Refused> {
    let (limits, tally) = (&link.parts.limits, &link.parts.tally);
    let mut whole = BytesMut::new();
    while let Some(part) = body.data().await {
        let part = part.map_err(|e| gone_by(&e))?;
        if whole.len() + part.len() > limits.body_octets {
            tally.bodies_too_long.add();
            let why = "the body is longer than this function takes";
            return Err(Refused::Answer(StatusCode::PAYLOAD_TOO_LARGE, why));
        }
        if !place.take(part.len(), limits) {
            tally.octets_refused.add();
            return Err(Refused::Stream);
        }
        whole.extend_from_slice(&part);
        let _ = body.flow_control().release_capacity(part.len());
    }
    Ok(whole.freeze())
}

fn gone_by(why: &h2::Error) -> Refused {
    if why.is_reset() {
        Refused::Reset
    } else {
        Refused::Gone
    }
}

/// Problem details (TS 29.500, 5.2.7.2) of what never reached the program.
fn refusal(status: StatusCode, why: &str) -> Response {
    let code = status.as_u16();
    let text = format!(r#"{{"status":{code},"detail":"{why}"}}"#);
    let mut response = Response::new(Bytes::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    let problem = HeaderValue::from_static("application/problem+json");
    headers.insert(CONTENT_TYPE, problem);
    if status == StatusCode::SERVICE_UNAVAILABLE {
        headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    response
}

/// Octets of an answer that the peer has not taken.
struct Untaken<'a>(&'a Link, usize);

impl<'a> Untaken<'a> {
    fn new(link: &'a Link, octets: usize) -> Self {
        link.answers.update(|all| all + octets);
        Self(link, octets)
    }
}

impl Drop for Untaken<'_> {
    fn drop(&mut self) {
        self.0.answers.update(|all| all - self.1);
    }
}

async fn send(response: Response, is_head: bool, respond: &mut SendResponse<Bytes>, link: &Link) {
    let (limits, tally) = (&link.parts.limits, &link.parts.tally);
    let (mut head, body) = response.into_parts();
    headers::clean(&mut head.headers);
    if head.status != StatusCode::NO_CONTENT && !(is_head && body.is_empty()) {
        headers::set_length(&mut head.headers, body.len());
    }
    let is_whole = body.is_empty() || is_head;
    let _untaken = Untaken::new(link, body.len());
    if link.answers.get() > limits.answer_octets.max(body.len()) {
        tally.answers_not_read.add();
        respond.send_reset(Reason::ENHANCE_YOUR_CALM);
        return;
    }
    let head = http::Response::from_parts(head, ());
    let Ok(mut stream) = respond.send_response(head, is_whole) else {
        respond.send_reset(Reason::INTERNAL_ERROR);
        return;
    };
    if is_whole {
        return;
    }
    let sent = timeout(limits.answer_within, send_body(&mut stream, body)).await;
    if sent.is_err() {
        tally.answers_late.add();
        stream.send_reset(Reason::CANCEL);
    }
}

/// Sends a body as the peer's windows open. Nothing more is done if the peer or the connection goes.
async fn send_body(stream: &mut SendStream<Bytes>, mut body: Bytes) {
    while !body.is_empty() {
        stream.reserve_capacity(body.len());
        let Some(Ok(octets)) = poll_fn(|cx| stream.poll_capacity(cx)).await else {
            return;
        };
        let part = body.split_to(octets.min(body.len()));
        if stream.send_data(part, body.is_empty()).is_err() {
            return;
        }
    }
}
