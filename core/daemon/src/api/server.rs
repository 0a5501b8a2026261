//! HTTP of the management API: a thread of its own, with bounds on all that clients can take.
//!
//! The thread drives a runtime for itself. A question waits for its answer on one of few further threads,
//! as the control socket's clients do, so the core's loop knows no difference.

use super::access::{Access, CSRF_HEADER, Caller, Shown};
use super::assets::{self, response};
use super::events::{Recent, STREAMS_MAX, Stream};
use super::openapi;
use super::problem::{MEDIA_TYPE, Problem};
use super::readers::{self, Given};
use super::route::{Answer, BODY_MAX, By, EVENT_STREAM, JSON, Method, Own, Route};
use super::routes::ROUTES;
use super::users;
use crate::operators::request::{Ask, Request as Question};
use axum::Router;
use axum::body::{Body, HttpBody as _};
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request};
use axum::http::header::{
    ALLOW, AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, ORIGIN, RETRY_AFTER, SET_COOKIE,
    WWW_AUTHENTICATE,
};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Uri};
use axum::response::Response;
use axum::routing::{MethodFilter, on};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use sluice_program::control::Questions;
use sluice_program::lines::{self, Kind, Peer};
use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::{sleep, timeout};

/// Connections at one time; others wait in the kernel.
const CONNECTIONS_MAX: usize = 64;
/// Questions at one time: as many as threads wait for answers.
const ASKS_MAX: usize = 16;
/// Passwords that are hashed at one time: each takes 19 MiB.
const HASHES_MAX: usize = 2;
/// Imports at one time.
const IMPORTS_MAX: usize = 2;
/// How long a connection may be idle, and a request's head may take.
const HEAD_WITHIN: Duration = Duration::from_secs(10);
/// How long a body may take.
const BODY_WITHIN: Duration = Duration::from_secs(60);
/// Then a connection is closed whatever it does: no client keeps others away for long.
const CONNECTION_WITHIN: Duration = Duration::from_secs(600);
/// Longest head of a request.
const HEAD_MAX: usize = 16 << 10;
/// Threads for answers end when they have had nothing to do for so long.
const THREADS_REST: Duration = Duration::from_secs(10);
/// After a connection that could not be taken, most likely for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// The way into the core.
pub(crate) struct Server {
    access: Access,
    questions: Questions<Ask>,
    asks: Arc<Semaphore>,
    /// Long bodies at a time: they lie in memory, each several times.
    imports: Semaphore,
    hashes: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    recent: Recent,
    document: String,
}

impl Server {
    /// Serves those who come to `listener`, until the process ends.
    ///
    /// # Errors
    /// There is no room for a thread or its descriptors.
    pub fn start(
        listener: TcpListener,
        access: Access,
        questions: Questions<Ask>,
    ) -> io::Result<()> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(ASKS_MAX + HASHES_MAX)
            .thread_keep_alive(THREADS_REST)
            .thread_name("sluice-api")
            .build()?;
        let server = Arc::new(Self {
            access,
            questions,
            asks: Arc::new(Semaphore::new(ASKS_MAX)),
            imports: Semaphore::new(IMPORTS_MAX),
            hashes: Arc::new(Semaphore::new(HASHES_MAX)),
            streams: Arc::new(Semaphore::new(STREAMS_MAX)),
            recent: Recent::default(),
            document: openapi::document().to_string(),
        });
        let named = std::thread::Builder::new().name("sluice-api".to_owned());
        let serve = move || {
            if let Err(e) = runtime.block_on(accept(listener, &server)) {
                tracing::error!("the management API ends: {e}");
            }
        };
        named.spawn(serve).map(drop)
    }
}

/// Never ends: the process does.
async fn accept(listener: TcpListener, server: &Arc<Server>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (routes, connections) = (router(server), Arc::new(Semaphore::new(CONNECTIONS_MAX)));
    loop {
        let Ok(place) = connections.clone().acquire_owned().await else {
            return Ok(());
        };
        match listener.accept().await {
            Ok((stream, _)) => {
                tokio::spawn(connection(stream, routes.clone(), place));
            }
            Err(e) => {
                not_served(&e);
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}

async fn connection(stream: TcpStream, routes: Router, place: OwnedSemaphorePermit) {
    let served = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD_WITHIN)
        .max_buf_size(HEAD_MAX)
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(routes));
    if let Ok(Err(e)) = timeout(CONNECTION_WITHIN, served).await {
        not_served(&e);
    }
    drop(place);
}

fn not_served(why: &dyn std::fmt::Display) {
    if lines::permits(Peer::Local, Kind::Control) {
        tracing::debug!("management API: {why}");
    }
}

fn router(server: &Arc<Server>) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let server = Arc::clone(server);
        let serve = async move |path: Result<RawPathParams, RawPathParamsRejection>,
                                request: Request| {
            let path = path.map(|path| {
                let named = path.iter();
                named.map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
            });
            let path = path.map_err(|e| Problem::invalid(e.body_text()));
            let answered = server.serve(route, path, request).await;
            answered.unwrap_or_else(|problem| refused(&problem))
        };
        router = router.route(route.path, on(filter(route.method), serve));
    }
    let (for_method, for_path) = (Arc::clone(server), Arc::clone(server));
    let other_method = async move |request: Request| {
        let permitted = for_method.permit(&request);
        let problem = permitted.err().unwrap_or_else(|| {
            Problem::new("method", "this path has no such method; see /openapi.json")
        });
        let mut response = refused(&problem);
        let methods = methods_of(request.uri());
        if let Ok(methods) = HeaderValue::from_str(&methods) {
            response.headers_mut().insert(ALLOW, methods);
        }
        response
    };
    let other_path = async move |request: Request| {
        if let Some(page) = assets::page(&request) {
            return page;
        }
        let permitted = for_path.permit(&request);
        let problem = permitted.err().unwrap_or_else(|| {
            Problem::new("no_route", "there is nothing here; see /openapi.json")
        });
        refused(&problem)
    };
    router
        .method_not_allowed_fallback(other_method)
        .fallback(other_path)
}

fn filter(method: Method) -> MethodFilter {
    match method {
        Method::Get => MethodFilter::GET,
        Method::Post => MethodFilter::POST,
        Method::Put => MethodFilter::PUT,
        Method::Patch => MethodFilter::PATCH,
        Method::Delete => MethodFilter::DELETE,
    }
}

/// Methods that a path has.
fn methods_of(uri: &Uri) -> String {
    let is_same = |route: &&Route| {
        let (ours, theirs) = (route.path.split('/'), uri.path().split('/'));
        let fits = |(ours, theirs): (&str, &str)| ours == theirs || ours.starts_with('{');
        ours.clone().count() == theirs.clone().count() && ours.zip(theirs).all(fits)
    };
    let methods = ROUTES
        .iter()
        .filter(is_same)
        .map(|route| match route.method {
            Method::Get => "GET, HEAD",
            Method::Post => "POST",
            Method::Put => "PUT",
            Method::Patch => "PATCH",
            Method::Delete => "DELETE",
        });
    methods.collect::<Vec<_>>().join(", ")
}

impl Server {
    fn permit(&self, request: &Request) -> Result<(), Problem> {
        let shown = shown(request.headers(), request.uri(), false);
        self.access.permit(shown).map(drop)
    }

    /// Sender of a request; none of an operation that is open to everybody.
    fn caller(&self, route: &Route, parts: &Parts) -> Result<Option<Caller>, Problem> {
        let changes = route.method != Method::Get;
        let shown = shown(&parts.headers, &parts.uri, changes);
        let Some(least) = route.least() else {
            self.access.permit_page(shown)?;
            return match self.access.permit(shown) {
                Err(problem) if problem.reason == "forbidden" && !changes => Err(problem),
                permitted => Ok(permitted.ok()),
            };
        };
        let caller = self.access.permit(shown)?;
        caller.may(least)?;
        if let (Caller::User(browser, _), true) = (&caller, changes) {
            let (user, operation) = (&browser.user, route.operation);
            tracing::info!("management API: {user}: {operation} {}", parts.uri.path());
        }
        Ok(Some(caller))
    }

    async fn serve(
        self: Arc<Self>,
        route: &'static Route,
        path: Result<Vec<(String, String)>, Problem>,
        request: Request,
    ) -> Result<Response, Problem> {
        let (parts, body) = request.into_parts();
        let caller = self.caller(route, &parts)?;
        let path = path?;
        let is_long = route.most_octets() > BODY_MAX;
        let import = is_long.then(|| self.imports.try_acquire());
        let _import = import.transpose().map_err(|_| {
            Problem::new(
                "busy",
                "as many imports are under way as are taken at a time",
            )
        })?;
        let octets = read(body, route.most_octets()).await?;
        let query = parts.uri.query().unwrap_or_default();
        let given = Given {
            path: &path,
            query,
            media_type: text(&parts.headers, CONTENT_TYPE),
            body: &octets,
        };
        let ask = route.read(&given)?;
        let By::Core(_) = route.by else {
            return Arc::clone(&self)
                .answer(route, caller, &parts, &given)
                .await;
        };
        drop(octets);
        let ask = ask.ok_or_else(|| Problem::new("failed", "nothing is asked"))?;
        let answer = self.ask(route, ask).await?;
        match Problem::of_answer(&answer) {
            Some(problem) => Err(problem),
            None => Ok(answered(route, query, &answer)),
        }
    }

    /// Answers what the core is not asked.
    async fn answer(
        self: Arc<Self>,
        route: &'static Route,
        caller: Option<Caller>,
        parts: &Parts,
        given: &Given<'_>,
    ) -> Result<Response, Problem> {
        let By::Own(own) = route.by else {
            return Err(Problem::new("failed", "the core is to be asked"));
        };
        match own {
            Own::Document => Ok(whole(200, JSON, self.document.clone())),
            Own::Events | Own::UeEvents => self.stream(route, own, caller, given),
            _ => self.users(route, own, caller, parts, given).await,
        }
    }

    /// A stream of events.
    fn stream(
        self: Arc<Self>,
        route: &'static Route,
        own: Own,
        caller: Option<Caller>,
        given: &Given<'_>,
    ) -> Result<Response, Problem> {
        let busy = |_| {
            Problem::new(
                "busy",
                "there are as many streams of events as there may be",
            )
        };
        let left = readers::events(given)?;
        let imsi = given.named("imsi");
        if own == Own::UeEvents {
            let known = crate::operators::request::subscriber(&imsi);
            known.map_err(|refused| {
                Problem::of_answer(&refused).unwrap_or_else(|| Problem::invalid("imsi"))
            })?;
        }
        let place = self.streams.clone().try_acquire_owned().map_err(busy)?;
        let cookie = match caller {
            Some(Caller::User(_, cookie)) => Some(cookie),
            _ => None,
        };
        let stream = Stream::new(self, route, imsi, cookie, left, place);
        Ok(response(200, EVENT_STREAM, stream.body(own)))
    }

    /// Users and sessions, on a thread that may hash.
    async fn users(
        self: Arc<Self>,
        route: &'static Route,
        own: Own,
        caller: Option<Caller>,
        parts: &Parts,
        given: &Given<'_>,
    ) -> Result<Response, Problem> {
        // A page that came by TLS, through a proxy, says so in its origin.
        let is_by_tls = text(&parts.headers, ORIGIN).is_some_and(|o| o.starts_with("https://"));
        let (path, body) = (given.path.to_vec(), given.body.to_vec());
        let failed = |_| Problem::new("busy", "the core ends");
        let place = self.hashes.clone().acquire_owned().await;
        let place = place.map_err(|_| Problem::new("busy", "the core ends"))?;
        let answered = spawn_blocking(move || {
            let given = Given {
                path: &path,
                query: "",
                media_type: Some(JSON),
                body: &body,
            };
            let answered = users::answer(own, &self.access, caller.as_ref(), is_by_tls, &given);
            drop(place);
            answered
        });
        let (answer, cookie) = answered.await.map_err(failed)??;
        let mut response = answered_object(route, &answer);
        if let Some(cookie) = cookie.and_then(|text| HeaderValue::from_str(&text).ok()) {
            response.headers_mut().insert(SET_COOKIE, cookie);
        }
        Ok(response)
    }

    /// Whether a browser is still logged in.
    pub(super) fn is_logged_in(&self, cookie: &str) -> bool {
        let door = self.access.door.as_ref();
        door.is_some_and(|door| door.is_logged_in(cookie, std::time::Instant::now()))
    }

    /// The core in short, as it was a second ago or later.
    pub(super) async fn recent_status(&self, route: &Route) -> Option<Value> {
        let ask = async { self.ask(route, Ask::Core(Question::Status)).await.ok() };
        let status = self.recent.get(ask).await?;
        status.get("error").is_none().then_some(status)
    }

    /// What the core says.
    pub(super) async fn ask(&self, route: &Route, ask: Ask) -> Result<Value, Problem> {
        let busy = |_| {
            Problem::new(
                "busy",
                "the core has as many questions as it takes at a time",
            )
        };
        let place = self.asks.clone().try_acquire_owned().map_err(busy)?;
        let questions = self.questions.clone();
        let waits = spawn_blocking(move || {
            let answer = questions.ask(ask);
            drop(place);
            answer
        });
        let slow = "the core did not answer in time; what was asked for may be done all the same";
        let answer = timeout(route.within, waits).await;
        let answer = answer.map_err(|_| Problem::new("timeout", slow))?;
        let ends = || Problem::new("busy", "the core ends");
        answer.ok().flatten().ok_or_else(ends)
    }
}

/// All of a body, if it is not too long and comes in time.
async fn read(body: Body, most: usize) -> Result<Vec<u8>, Problem> {
    let too_large = || Problem::new("too_large", format!("the body has more than {most} octets"));
    // Who says before how long it is need not send it.
    if body.size_hint().lower() > most as u64 {
        return Err(too_large());
    }
    let collected = timeout(BODY_WITHIN, Limited::new(body, most).collect()).await;
    let within_s = BODY_WITHIN.as_secs();
    let slow = |_| Problem::new("slow", format!("the body took longer than {within_s} s"));
    let collected =
        collected
            .map_err(slow)?
            .map_err(|e| match e.downcast_ref::<LengthLimitError>() {
                Some(_) => too_large(),
                None => Problem::invalid(format!("the body cannot be read: {e}")),
            })?;
    Ok(collected.to_bytes().to_vec())
}

/// Parts of a request that tell its sender.
fn shown<'r>(headers: &'r HeaderMap, uri: &'r Uri, changes: bool) -> Shown<'r> {
    let host = text(headers, HOST);
    Shown {
        authorization: text(headers, AUTHORIZATION),
        // Of a target with an authority, that counts (RFC 9112, 3.2.2).
        host: uri.authority().map(|authority| authority.as_str()).or(host),
        // One that cannot be read is none of ours.
        origin: headers
            .get(ORIGIN)
            .map(|origin| origin.to_str().unwrap_or_default()),
        cookie: text(headers, COOKIE),
        csrf: text(headers, HeaderName::from_static(CSRF_HEADER)),
        changes,
    }
}

fn text(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    headers.get(name)?.to_str().ok()
}

fn answered(route: &Route, query: &str, answer: &Value) -> Response {
    let Answer::Text(media_types) = route.answer else {
        return answered_object(route, answer);
    };
    let body = answer["text"].as_str().unwrap_or_default().to_owned();
    let mut query = form_urlencoded::parse(query.as_bytes());
    let wants_json = query.any(|(name, value)| name == "format" && value == "json");
    let fits = |one: &&&str| one.ends_with("json") == wants_json;
    let media_type = media_types.iter().find(fits).or(media_types.first());
    whole(200, media_type.copied().unwrap_or_default(), body)
}

fn answered_object(route: &Route, answer: &Value) -> Response {
    let status = match route.answer {
        Answer::Object(status, _) => status,
        _ => 200,
    };
    whole(status, JSON, answer.to_string())
}

fn refused(problem: &Problem) -> Response {
    let (status, _) = problem.status();
    let mut response = whole(status, MEDIA_TYPE, problem.to_json().to_string());
    let headers = response.headers_mut();
    match problem.reason {
        "unauthorized" => {
            let scheme = HeaderValue::from_static("Bearer realm=\"sluice\"");
            headers.insert(WWW_AUTHENTICATE, scheme);
        }
        "busy" => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        _ => {}
    }
    response
}

fn whole(status: u16, media_type: &'static str, body: String) -> Response {
    response(status, media_type, Body::from(body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_of_a_path_are_those_of_its_routes() {
        let of = |path: &'static str| methods_of(&Uri::from_static(path));
        assert_eq!(of("/v1/subscribers"), "GET, HEAD, POST");
        assert_eq!(of("/v1/ues/001010000000001"), "GET, HEAD, DELETE");
        assert_eq!(of("/metrics?x=y"), "GET, HEAD");
        assert_eq!(of("/v2"), "");
    }
}
