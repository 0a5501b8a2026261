//! Connections to API roots: few for each, shared by its requests.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::SendStream;
use h2::client::{Builder, ResponseFuture, SendRequest};
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;

use super::root::Root;
use crate::failure::Failure;
use crate::limits::Limits;
use crate::parts::Parts;
use crate::wire::{Load, Wire};

/// Windows for responses (RFC 9113, 6.9.2).
const CONNECTION_WINDOW: u32 = 4 << 20;
const STREAM_WINDOW: u32 = 256 << 10;
/// Time in which frames of a stream that was given up may come.
const LATE: Duration = Duration::from_secs(30);

/// Connections by scheme, host and port.
#[derive(Default)]
pub(crate) struct Pool {
    entries: RefCell<HashMap<(bool, String, u16), Rc<Entry>>>,
    connections: Cell<usize>,
    /// Octets of responses that are being read.
    octets: Cell<usize>,
}

/// Octets of a response that is being read.
pub(super) struct Taken<'a>(&'a Pool, usize);

impl<'a> Taken<'a> {
    pub(super) fn new(pool: &'a Pool) -> Self {
        Self(pool, 0)
    }

    /// Adds octets, if all responses may have so many.
    pub(super) fn add(&mut self, octets: usize, most: usize) -> bool {
        let all = self.0.octets.get() + octets;
        if all <= most {
            self.0.octets.set(all);
            self.1 += octets;
        }
        all <= most
    }
}

impl Drop for Taken<'_> {
    fn drop(&mut self) {
        self.0.octets.update(|all| all - self.1);
    }
}

/// Connections to one root.
#[derive(Default)]
struct Entry {
    usable: RefCell<Vec<Rc<Connection>>>,
    /// Held by whoever connects, with the last failure: those who waited meanwhile have it too.
    connecting: Mutex<Option<(Instant, Failure)>>,
}

struct Connection {
    send: SendRequest<Bytes>,
    load: Rc<Cell<Load>>,
}

/// Connection for one request.
pub(super) struct Lent {
    entry: Rc<Entry>,
    connection: Rc<Connection>,
    /// Moves the octets of a new connection.
    drive: Cell<Option<Drive>>,
}

type Drive = Pin<Box<dyn Future<Output = ()>>>;

impl Pool {
    /// A connection to `root`: one with room, else a new one, else the one with the fewest requests.
    ///
    /// # Errors
    /// A new one is needed and does not come about.
    pub(super) async fn lend(root: &Root, parts: &Rc<Parts>) -> Result<Lent, Failure> {
        let (entry, asked) = (parts.pool.entry(root, &parts.limits), Instant::now());
        if let Some(lent) = entry.lend(&parts.limits) {
            return Ok(lent);
        }
        let mut failed = entry.connecting.lock().await;
        if let Some(lent) = entry.lend(&parts.limits) {
            return Ok(lent);
        }
        if let Some((_, why)) = failed.as_ref().filter(|(at, _)| *at >= asked) {
            return Err(why.clone());
        }
        let connected = connect(root, &entry, parts).await;
        if let Some(full) = entry.least().filter(|_| connected.is_err()) {
            return Ok(full);
        }
        *failed = connected
            .as_ref()
            .err()
            .map(|why| (Instant::now(), why.clone()));
        connected
    }

    fn entry(&self, root: &Root, limits: &Limits) -> Rc<Entry> {
        let mut entries = self.entries.borrow_mut();
        if entries.len() > 2 * limits.connections_out {
            entries.retain(|_, one| Rc::strong_count(one) > 1 || !one.usable.borrow().is_empty());
        }
        let key = (root.has_tls, root.host.clone(), root.port);
        Rc::clone(entries.entry(key).or_default())
    }
}

impl Entry {
    fn lend(self: &Rc<Self>, limits: &Limits) -> Option<Lent> {
        let mut usable = self.usable.borrow_mut();
        usable.retain(|one| one.is_usable());
        let least = usable.iter().min_by_key(|one| one.load.get().streams)?;
        let is_full = least.load.get().streams >= least.send.current_max_send_streams();
        if is_full && usable.len() < limits.connections_per_root {
            return None;
        }
        Some(Lent::new(self, Rc::clone(least), None))
    }

    /// The connection with the fewest requests.
    fn least(self: &Rc<Self>) -> Option<Lent> {
        let usable = self.usable.borrow();
        let least = usable.iter().min_by_key(|one| one.load.get().streams)?;
        Some(Lent::new(self, Rc::clone(least), None))
    }

    fn remove(&self, load: &Rc<Cell<Load>>) {
        let mut usable = self.usable.borrow_mut();
        usable.retain(|one| !Rc::ptr_eq(&one.load, load));
    }
}

impl Connection {
    /// Whether it takes streams: it does not after a GOAWAY.
    fn is_usable(&self) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        !matches!(self.send.clone().poll_ready(&mut cx), Poll::Ready(Err(_)))
    }
}

impl Lent {
    fn new(entry: &Rc<Entry>, connection: Rc<Connection>, drive: Option<Drive>) -> Self {
        connection.load.update(Load::open);
        Self {
            entry: Rc::clone(entry),
            connection,
            drive: Cell::new(drive),
        }
    }

    pub(super) fn send(
        &self,
        head: http::Request<()>,
        is_whole: bool,
    ) -> Result<(ResponseFuture, SendStream<Bytes>), h2::Error> {
        self.connection.send.clone().send_request(head, is_whole)
    }

    /// Starts a new connection, with the request that was sent.
    pub(super) fn start(&self) {
        if let Some(drive) = self.drive.take() {
            tokio::task::spawn_local(drive);
        }
    }

    /// Takes the connection from further requests; those that it has may finish.
    pub(super) fn retire(&self) {
        self.entry.remove(&self.connection.load);
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        // A request that could not be sent leaves a new connection to others.
        self.start();
        self.connection.load.update(Load::close);
    }
}

async fn connect(root: &Root, entry: &Rc<Entry>, parts: &Rc<Parts>) -> Result<Lent, Failure> {
    if parts.pool.connections.get() >= parts.limits.connections_out {
        return Err(Failure::Busy);
    }
    let within = parts.limits.connect_within;
    let opened = timeout(within, open(root, entry, parts)).await;
    let late = || Err(format!("no connection within {} ms", within.as_millis()));
    let to = root.to_string();
    opened
        .unwrap_or_else(|_| late())
        .map_err(|why| Failure::Connect { to, why })
}

async fn open(root: &Root, entry: &Rc<Entry>, parts: &Rc<Parts>) -> Result<Lent, String> {
    let tls = match (&parts.tls, root.has_tls) {
        (Some(tls), true) => Some(tls.now(&parts.inbox, &parts.tally).client),
        (None, true) => return Err("no certificate is configured for TLS".to_owned()),
        (_, false) => None,
    };
    let tcp = TcpStream::connect((root.bare_host(), root.port)).await;
    let tcp = tcp.map_err(|e| e.to_string())?;
    let _ = tcp.set_nodelay(true);
    let Some(tls) = tls else {
        return speak(tcp, entry, parts).await;
    };
    let name = ServerName::try_from(root.bare_host().to_owned()).map_err(|e| e.to_string())?;
    let stream = TlsConnector::from(tls).connect(name, tcp).await;
    let stream = stream.map_err(|e| format!("TLS: {e}"))?;
    if stream.get_ref().1.alpn_protocol().is_none() {
        return Err("TLS: the peer does not say that it speaks HTTP/2".to_owned());
    }
    speak(stream, entry, parts).await
}

async fn speak<T: AsyncRead + AsyncWrite + Unpin + 'static>(
    stream: T,
    entry: &Rc<Entry>,
    parts: &Rc<Parts>,
) -> Result<Lent, String> {
    let wire = Wire::new(stream, Bytes::new(), true);
    let watch = wire.watch();
    let shaken = Builder::new()
        .enable_push(false)
        .initial_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(parts.limits.header_list_octets)
        // Answers to requests that were given up come late, and are no error.
        .max_concurrent_reset_streams(parts.limits.calls)
        .reset_stream_duration(LATE)
        .handshake(wire);
    let (send, mut connection) = shaken.await.map_err(|e: h2::Error| e.to_string())?;
    let load = Rc::new(Cell::<Load>::default());
    let place = Place::new(entry, &load, parts);
    let drive = async move {
        let (ping, load) = (connection.ping_pong(), &place.load);
        let over = watch.over(ping, &place.parts.limits, false, || load.get());
        tokio::select! {
            _ = connection => {}
            _ = over => {}
        }
    };
    let connection = Rc::new(Connection { send, load });
    entry.usable.borrow_mut().push(Rc::clone(&connection));
    parts.tally.connections_opened.add();
    Ok(Lent::new(entry, connection, Some(Box::pin(drive))))
}

/// Place of a connection among all; when it ends, nobody uses it any more.
struct Place {
    entry: Rc<Entry>,
    load: Rc<Cell<Load>>,
    parts: Rc<Parts>,
}

impl Place {
    fn new(entry: &Rc<Entry>, load: &Rc<Cell<Load>>, parts: &Rc<Parts>) -> Self {
        parts.pool.connections.update(|all| all + 1);
        Self {
            entry: Rc::clone(entry),
            load: Rc::clone(load),
            parts: Rc::clone(parts),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.parts.pool.connections.update(|all| all - 1);
        self.entry.remove(&self.load);
    }
}
