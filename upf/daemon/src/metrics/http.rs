//! HTTP server of the metrics page.
//!
//! A connection has a thread of its own, a bounded request, and a time after which it is closed
//! whatever it does; there are few at a time. All of them are told the same page, which is made
//! anew only when it has grown old.

use super::snapshot::Snapshot;
use super::text::text;
use crate::lines::{self, Kind, Peer};
use httparse::{EMPTY_HEADER, Request, Status};
use sluice_datapath::ledger::WorkerStats;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Sender, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// A scraper sends a few hundred bytes; what is longer is no request of one.
const REQUEST_MAX: usize = 8_192;
/// Scrapers send ten headers or so.
const HEADERS_MAX: usize = 64;
/// From the connection's beginning to its end: Prometheus itself gives up after 10 s.
const CLIENT_WITHIN: Duration = Duration::from_secs(5);
/// Connections at one time: two Prometheus servers, a person, and room.
const CLIENTS_MAX: usize = 8;
/// How long the control core may take to copy its counters.
const SNAPSHOT_WITHIN: Duration = Duration::from_secs(2);
/// A page that is younger is told again: the control core is asked ten times a second at most.
const FRESH: Duration = Duration::from_millis(100);
/// After a connection that could not be taken, most likely for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

const PLAIN: &str = "text/plain; charset=utf-8";
const EXPOSITION: &str = "text/plain; version=0.0.4; charset=utf-8";

fn not_served(e: &io::Error) {
    if lines::permits(Peer::Local, Kind::Metrics) {
        tracing::debug!("metrics: {e}");
    }
}

/// What all connections share.
pub struct Server {
    asks: Mutex<Sender<SyncSender<Snapshot>>>,
    stats: Vec<Arc<WorkerStats>>,
    page: Mutex<Option<(Instant, Arc<str>)>>,
}

impl Server {
    /// Listens, and serves until the process ends.
    pub fn start(
        listen: SocketAddr,
        asks: Sender<SyncSender<Snapshot>>,
        stats: Vec<Arc<WorkerStats>>,
    ) -> io::Result<()> {
        let listener = TcpListener::bind(listen)?;
        let server = Arc::new(Self {
            asks: Mutex::new(asks),
            stats,
            page: Mutex::new(None),
        });
        let named = thread::Builder::new().name("sluice-metrics".to_owned());
        named.spawn(move || server.accept(&listener)).map(drop)
    }

    fn accept(self: Arc<Self>, listener: &TcpListener) {
        let clients = Arc::new(());
        loop {
            let taken = listener.accept().and_then(|(stream, _)| {
                let mut client = Client::new(stream);
                // One count is ours.
                if Arc::strong_count(&clients) > CLIENTS_MAX {
                    return client.answer(
                        "503 Service Unavailable",
                        PLAIN,
                        "too many clients\n",
                        true,
                    );
                }
                let (server, count) = (self.clone(), clients.clone());
                let thread = thread::Builder::new().name("sluice-metrics".to_owned());
                let served = thread.spawn(move || {
                    if let Err(e) = server.serve(&mut client) {
                        not_served(&e);
                    }
                    drop(count);
                });
                served.map(drop)
            });
            if let Err(e) = taken {
                not_served(&e);
                thread::sleep(ACCEPT_PAUSE);
            }
        }
    }

    /// One connection, one request.
    fn serve(&self, client: &mut Client) -> io::Result<()> {
        match client.request()? {
            HttpRequest::Metrics { body } => match self.page() {
                Some(page) => client.answer("200 OK", EXPOSITION, &page, body),
                None => {
                    let busy = "the UPF did not answer in time\n";
                    client.answer("503 Service Unavailable", PLAIN, busy, body)
                }
            },
            HttpRequest::Refused(status) => {
                let body = "metrics are at /metrics\n";
                client.answer(status, PLAIN, body, true)
            }
        }
    }

    /// The page, made anew if the last one is old. Others who ask meanwhile wait for it.
    fn page(&self) -> Option<Arc<str>> {
        let mut page = self.page.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((made, text)) = &*page
            && made.elapsed() < FRESH
        {
            return Some(text.clone());
        }
        let (answer, answered) = sync_channel(1);
        let asks = self.asks.lock().unwrap_or_else(PoisonError::into_inner);
        asks.send(answer).ok()?;
        let snapshot = answered.recv_timeout(SNAPSHOT_WITHIN).ok()?;
        let text: Arc<str> = text(&snapshot, &self.stats).into();
        *page = Some((Instant::now(), text.clone()));
        Some(text)
    }
}

/// What a client wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum HttpRequest {
    /// The metrics, or only what stands before them.
    Metrics { body: bool },
    /// Something else; the status line says what.
    Refused(&'static str),
}

/// A connection with the time that it has left.
struct Client {
    stream: TcpStream,
    until: Instant,
}

impl Client {
    fn new(stream: TcpStream) -> Self {
        let until = Instant::now() + CLIENT_WITHIN;
        Self { stream, until }
    }

    fn left(&self) -> io::Result<Duration> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        Ok(left)
    }

    fn request(&mut self) -> io::Result<HttpRequest> {
        let (mut request, mut chunk) = (Vec::new(), [0; 1024]);
        loop {
            self.stream.set_read_timeout(Some(self.left()?))?;
            let n = match self.stream.read(&mut chunk) {
                // With a timeout, the kernel does not go on waiting by itself.
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                read => read?,
            };
            if n == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            request.extend_from_slice(&chunk[..n]);
            if let Some(asked) = parse(&request) {
                return Ok(asked);
            }
        }
    }

    fn answer(&mut self, status: &str, kind: &str, text: &str, body: bool) -> io::Result<()> {
        let mut answer = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            text.len()
        );
        if body {
            answer.push_str(text);
        }
        let mut rest = answer.as_bytes();
        while !rest.is_empty() {
            self.stream.set_write_timeout(Some(self.left()?))?;
            let n = match self.stream.write(rest) {
                Err(e) if e.kind() == ErrorKind::Interrupted => continue,
                written => written?,
            };
            rest = rest.get(n..).unwrap_or_default();
        }
        // What the client says behind its request must not reset what it is still reading.
        self.stream.shutdown(Shutdown::Write)
    }
}

/// What a whole request asks for; none while there is more to come.
fn parse(bytes: &[u8]) -> Option<HttpRequest> {
    let mut headers = [EMPTY_HEADER; HEADERS_MAX];
    let mut request = Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Complete(_)) => {}
        Ok(Status::Partial) if bytes.len() < REQUEST_MAX => return None,
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => {
            return Some(HttpRequest::Refused("431 Request Header Fields Too Large"));
        }
        Err(_) => return Some(HttpRequest::Refused("400 Bad Request")),
    }
    let path = request.path.unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    Some(match (request.method.unwrap_or_default(), path) {
        ("GET", "/metrics") => HttpRequest::Metrics { body: true },
        ("HEAD", "/metrics") => HttpRequest::Metrics { body: false },
        ("GET" | "HEAD", _) => HttpRequest::Refused("404 Not Found"),
        _ => HttpRequest::Refused("405 Method Not Allowed"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_told_apart() {
        let whole = |line: &str| format!("{line} HTTP/1.1\r\nHost: x\r\n\r\n");
        for (line, asked) in [
            ("GET /metrics", HttpRequest::Metrics { body: true }),
            ("GET /metrics?a=b", HttpRequest::Metrics { body: true }),
            ("HEAD /metrics", HttpRequest::Metrics { body: false }),
            ("GET /", HttpRequest::Refused("404 Not Found")),
            (
                "POST /metrics",
                HttpRequest::Refused("405 Method Not Allowed"),
            ),
        ] {
            let request = whole(line);
            assert_eq!(parse(request.as_bytes()), Some(asked), "{line}");
            for len in 0..request.len() {
                assert_eq!(
                    parse(&request.as_bytes()[..len]),
                    None,
                    "{line}, {len} bytes"
                );
            }
        }
        assert_eq!(
            parse(b"\x16\x03\x01\x02\x00"),
            Some(HttpRequest::Refused("400 Bad Request"))
        );
        let endless = [
            b"GET /metrics HTTP/1.1\r\nX: ".to_vec(),
            vec![b'a'; REQUEST_MAX],
        ]
        .concat();
        let too_large = HttpRequest::Refused("431 Request Header Fields Too Large");
        assert_eq!(parse(&endless), Some(too_large));
        let many = format!(
            "GET /metrics HTTP/1.1\r\n{}",
            "A: b\r\n".repeat(HEADERS_MAX + 1)
        );
        assert_eq!(parse(many.as_bytes()), Some(too_large));
    }
}
