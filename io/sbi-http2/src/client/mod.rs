//! Client: a request that leaves, sent again where its peer did not process it, and redirected.

mod pool;
mod root;

use std::rc::Rc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use h2::RecvStream;
use http::header::{ACCEPT, LOCATION, USER_AGENT};
use http::{HeaderValue, StatusCode};
use sluice_services::{Request, Response};
use tokio::time::timeout_at;

pub(crate) use pool::Pool;
use pool::{Lent, Taken};
use root::Root;

use crate::failure::Failure;
use crate::headers;
use crate::inbox::Event;
use crate::parts::Parts;

/// Media types of responses (TS 29.500, 5.2.2.2).
const ACCEPTED: &str = "application/json, application/problem+json";

/// Request that leaves.
pub(crate) struct Call {
    pub(crate) id: u64,
    pub(crate) root: String,
    pub(crate) request: Request,
    pub(crate) until: Instant,
}

/// Why a request that was sent has no response.
enum Unanswered {
    /// The request may be sent again: the peer did not process it, or is gone before anything of the response came.
    Again(String),
    Failed(Failure),
}

/// Sends a request and tells the program its end.
pub(crate) async fn call(call: Call, parts: Rc<Parts>) {
    let Call {
        id,
        root,
        request,
        until,
    } = call;
    parts.tally.calls.add();
    let ended = timeout_at(until.into(), follow(&root, &request, until, &parts)).await;
    let event = match ended.unwrap_or(Err(Failure::Deadline)) {
        Ok(response) => Event::Response { id, response },
        Err(why) => {
            parts.tally.calls_failed.add();
            Event::Failed { id, why }
        }
    };
    parts.inbox.push(event);
}

/// Sends a request where it shall go, and where responses redirect it (TS 29.500, 6.10.9).
async fn follow(
    root: &str,
    request: &Request,
    until: Instant,
    parts: &Rc<Parts>,
) -> Result<Response, Failure> {
    let mut root = Root::read(root)?;
    let path = request
        .uri()
        .path_and_query()
        .map_or("/", |path| path.as_str());
    let mut path = format!("{}{path}", root.prefix);
    let mut left = parts.limits.redirects;
    loop {
        let response = send(&root, &path, request, until, parts).await?;
        let Some(location) = redirection(&response) else {
            return Ok(response);
        };
        let Some(less) = left.checked_sub(1) else {
            return Err(Failure::Redirects(parts.limits.redirects));
        };
        left = less;
        (root, path) = root.redirect(location)?;
        parts.tally.redirects.add();
    }
}

/// Place that the request shall go to instead.
fn redirection(response: &Response) -> Option<&str> {
    let statuses = [
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    let location = response.headers().get(LOCATION)?;
    let location = location.to_str().ok()?;
    statuses.contains(&response.status()).then_some(location)
}

async fn send(
    root: &Root,
    path: &str,
    request: &Request,
    until: Instant,
    parts: &Rc<Parts>,
) -> Result<Response, Failure> {
    let mut attempt = 1;
    loop {
        let lent = Pool::lend(root, parts).await?;
        match once(&lent, root, path, request, until, parts).await {
            Ok(response) => return Ok(response),
            Err(Unanswered::Failed(why)) => return Err(why),
            Err(Unanswered::Again(why)) => {
                lent.retire();
                if attempt >= parts.limits.attempts {
                    let to = root.to_string();
                    return Err(Failure::Lost { to, why });
                }
                attempt += 1;
                parts.tally.retries.add();
            }
        }
    }
}

/// Sends a request on a connection.
async fn once(
    lent: &Lent,
    root: &Root,
    path: &str,
    request: &Request,
    until: Instant,
    parts: &Parts,
) -> Result<Response, Unanswered> {
    let head = head(root, path, request, until, parts)?;
    let body = request.body().clone();
    let may_repeat = request.method().is_idempotent();
    // Before the connection starts, so that its first write has all of it.
    let sent = lent.send(head, body.is_empty());
    let (response, mut stream) = sent.map_err(|e| unanswered(root, &e, true))?;
    if !body.is_empty() {
        let sent = stream.send_data(body, true);
        sent.map_err(|e| unanswered(root, &e, may_repeat))?;
    }
    lent.start();
    let response = response.await;
    let response = response.map_err(|e| unanswered(root, &e, may_repeat))?;
    receive(response, root, parts)
        .await
        .map_err(Unanswered::Failed)
}

fn head(
    root: &Root,
    path: &str,
    request: &Request,
    until: Instant,
    parts: &Parts,
) -> Result<http::Request<()>, Unanswered> {
    let head = http::Request::builder()
        .method(request.method())
        .uri(format!("{}{path}", root.origin()))
        .body(());
    let mut head = head.map_err(|e| Unanswered::Failed(Failure::Request(e.to_string())))?;
    let all = head.headers_mut();
    all.clone_from(request.headers());
    headers::clean(all);
    all.entry(USER_AGENT).or_insert_with(|| parts.agent.clone());
    all.entry(ACCEPT)
        .or_insert(HeaderValue::from_static(ACCEPTED));
    let octets = request.body().len();
    if octets > 0 || headers::may_have_body(request.method()) {
        headers::set_length(all, octets);
    }
    headers::set_deadline(all, until.saturating_duration_since(Instant::now()));
    Ok(head)
}

async fn receive(
    response: http::Response<RecvStream>,
    root: &Root,
    parts: &Parts,
) -> Result<Response, Failure> {
    let (head, body) = response.into_parts();
    let body = read(body, root, parts).await?;
    Ok(Response::from_parts(head, body))
}

async fn read(mut body: RecvStream, root: &Root, parts: &Parts) -> Result<Bytes, Failure> {
    let (most, most_of_all) = (parts.limits.body_octets, parts.limits.response_octets);
    let (mut whole, mut taken) = (BytesMut::new(), Taken::new(&parts.pool));
    while let Some(part) = body.data().await {
        let part = part.map_err(|e| lost(root, &e))?;
        if whole.len() + part.len() > most {
            return Err(Failure::TooLong(most));
        }
        if !taken.add(part.len(), most_of_all) {
            return Err(Failure::Busy);
        }
        whole.extend_from_slice(&part);
        let _ = body.flow_control().release_capacity(part.len());
    }
    Ok(whole.freeze())
}

fn lost(root: &Root, why: &h2::Error) -> Failure {
    let (to, why) = (root.to_string(), why.to_string());
    Failure::Lost { to, why }
}

/// Meaning of an error before a response. Only these tell that the peer did not process the request (RFC 9113, 8.7): a
/// GOAWAY that leaves the stream out, and REFUSED_STREAM. Where a connection ends without them the peer may have processed
/// it: what changes nothing more the second time goes again (RFC 9110, 9.2.2).
fn unanswered(root: &Root, why: &h2::Error, may_repeat: bool) -> Unanswered {
    let is_refused = why.is_reset() && why.reason() == Some(h2::Reason::REFUSED_STREAM);
    let is_left_out = why.is_go_away() && why.is_remote();
    if is_refused || is_left_out || (why.is_io() && may_repeat) {
        Unanswered::Again(why.to_string())
    } else if why.is_remote() || why.is_library() || why.is_io() {
        Unanswered::Failed(lost(root, why))
    } else {
        Unanswered::Failed(Failure::Request(why.to_string()))
    }
}
