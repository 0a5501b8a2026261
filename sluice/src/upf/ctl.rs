//! The local socket of `sluice ctl`: one JSON request line for each connection, one object back.
//!
//! Each connection has a thread of its own, so that a client that says nothing keeps nobody
//! waiting; the control core answers between two turns, so what it tells is of one moment.

use super::lines::{self, Kind, Peer};
use serde::Deserialize;
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel,
};
use std::time::{Duration, Instant};

/// A request line is short; what is longer is no request.
const REQUEST_MAX: usize = 4_096;
/// How long the control core may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long a client may take to send its line, and to take a piece of its answer.
const CLIENT_WITHIN: Duration = Duration::from_secs(5);
/// Connections at one time: people and scripts need a few; more are a mistake.
const CLIENTS_MAX: usize = 32;
/// After a connection that could not be taken, most likely for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What can be asked.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(tag = "cmd", rename_all = "snake_case", deny_unknown_fields)]
pub enum Request {
    /// Version, uptime, ports, sessions in short.
    Status,
    /// All sessions, a line each.
    Sessions,
    /// One session with its rules and counters.
    Session {
        /// Its UP SEID.
        seid: Option<u64>,
        /// Or its UE's address.
        ue: Option<IpAddr>,
    },
    /// The packet ledger.
    Drops,
    /// Ports with their counters.
    Ports,
    /// Workers with their load.
    Workers,
    /// N4 associations, GTP-U peers, neighbours.
    Peers,
    /// Counters of N4 and of the control core.
    Counters,
    /// Requests that were refused, the newest, and all by cause.
    Refusals,
    /// Which UE has a public port.
    Nat {
        /// The public address.
        address: Ipv4Addr,
        /// The port.
        port: u16,
    },
    /// Move a shard, named by its number or by a UE of it.
    Move {
        /// Which.
        shard: Option<u16>,
        /// Or whose.
        ue: Option<IpAddr>,
        /// To which worker.
        to: u8,
    },
    /// Read upf.yaml again.
    Reload,
    /// Let so many workers work.
    Scale {
        /// How many; none: as the load asks for it.
        workers: Option<u8>,
    },
    /// Follow packets, and tell what becomes of each: one object a line, until one has `done`.
    Trace {
        /// Those of this UE.
        ue: Option<IpAddr>,
        /// Or of this peer.
        peer: Option<IpAddr>,
        /// Or of this address, whatever it is; with a TEID those of that tunnel.
        address: Option<IpAddr>,
        /// The tunnel's TEID.
        teid: Option<u32>,
        /// So many packets.
        count: Option<u64>,
        /// For so long.
        seconds: Option<u32>,
    },
}

/// Answers that wait for a client that is told of one packet after the other; each has up to 7 KB.
const TRACE_ANSWERS: usize = 1024;
/// How often such a client is looked after.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// A request and where its answer goes.
pub struct CtlRequest {
    /// The request.
    pub request: Request,
    answer: SyncSender<Value>,
    is_gone: Arc<AtomicBool>,
}

/// Who asked and stays to hear more.
pub struct Asker {
    answers: SyncSender<Value>,
    is_gone: Arc<AtomicBool>,
}

impl Asker {
    /// One more answer; it comes back if the client is too slow or gone.
    pub fn tell(&self, value: Value) -> Result<(), TrySendError<Value>> {
        self.answers.try_send(value)
    }

    /// True if the client hears no more, or wants to.
    pub fn is_gone(&self) -> bool {
        self.is_gone.load(Ordering::Relaxed)
    }

    /// The client is gone.
    pub fn leave(&self) {
        self.is_gone.store(true, Ordering::Relaxed);
    }
}

impl CtlRequest {
    /// More answers than one are to come.
    pub fn stay(self) -> Asker {
        Asker {
            answers: self.answer,
            is_gone: self.is_gone,
        }
    }

    /// Answers. A client that has gone away is no error.
    pub fn answer(self, value: Value) {
        let _ = self.answer.send(value);
    }
}

/// The socket. It is removed when this is dropped.
pub struct Ctl {
    path: PathBuf,
    requests: Receiver<CtlRequest>,
}

impl Ctl {
    /// Listens on `path`. A socket that nobody answers on is replaced.
    pub fn listen(path: &Path) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        make_room(path)?;
        let listener = UnixListener::bind(path)?;
        // Rules and subscribers' identities are nobody else's business.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let (sender, requests) = channel();
        std::thread::Builder::new()
            .name("sluice-ctl".to_owned())
            .spawn(move || serve(&listener, &sender))?;
        Ok(Self {
            path: path.to_owned(),
            requests,
        })
    }

    /// The next request, if there is one.
    pub fn next(&self) -> Option<CtlRequest> {
        self.requests.try_recv().ok()
    }
}

impl Drop for Ctl {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Takes away what an earlier UPF left at `path`; refuses what somebody else put there.
fn make_room(path: &Path) -> io::Result<()> {
    match std::fs::symlink_metadata(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
        Ok(there) if !there.file_type().is_socket() => {
            let why = "there is something that is no socket";
            return Err(io::Error::new(ErrorKind::AlreadyExists, why));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Ok(_) => {
            let why = "another UPF answers on this control socket";
            Err(io::Error::new(ErrorKind::AddrInUse, why))
        }
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(e) => Err(e),
    }
}

/// Never ends: the process does.
fn serve(listener: &UnixListener, requests: &Sender<CtlRequest>) {
    let clients = Arc::new(());
    loop {
        let taken = listener.accept().and_then(|(mut stream, _)| {
            stream.set_write_timeout(Some(CLIENT_WITHIN))?;
            // One count is ours.
            if Arc::strong_count(&clients) > CLIENTS_MAX {
                return say(&mut stream, &error("too many clients at one time"));
            }
            let (client, requests) = (clients.clone(), requests.clone());
            let thread = std::thread::Builder::new().name("sluice-ctl".to_owned());
            let served = thread.spawn(move || {
                if let Err(e) = answer(&mut stream, &requests) {
                    not_served(&e);
                }
                drop(client);
            });
            served.map(drop)
        });
        if let Err(e) = taken {
            not_served(&e);
            std::thread::sleep(ACCEPT_PAUSE);
        }
    }
}

fn not_served(e: &io::Error) {
    if lines::permits(Peer::Local, Kind::Control) {
        tracing::debug!("control socket: {e}");
    }
}

/// One connection.
fn answer(stream: &mut UnixStream, requests: &Sender<CtlRequest>) -> io::Result<()> {
    let line = read_line(stream)?;
    let value = match serde_json::from_slice::<Request>(&line) {
        Ok(request @ Request::Trace { .. }) => return accompany(stream, request, requests),
        Ok(request) => ask(request, requests),
        Err(e) => Some(error(&format!("request not understood: {e}"))),
    };
    match value {
        Some(value) => say(stream, &value),
        // The control core has ended, and the process is about to.
        None => Ok(()),
    }
}

/// What comes up to the end of the line, of the room or of the connection.
fn read_line(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let deadline = Instant::now() + CLIENT_WITHIN;
    let (mut line, mut chunk) = (Vec::new(), [0; 512]);
    while line.len() < REQUEST_MAX {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        let n = match stream.read(&mut chunk) {
            // With a timeout, the kernel does not go on waiting by itself.
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            read => read?,
        };
        line.extend_from_slice(&chunk[..n]);
        if n == 0 || line.contains(&b'\n') {
            break;
        }
    }
    Ok(line)
}

fn say(stream: &mut UnixStream, value: &Value) -> io::Result<()> {
    let mut text = value.to_string();
    text.push('\n');
    stream.write_all(text.as_bytes())
}

/// Tells a client one thing after the other, until there is no more, or the client closes its side.
fn accompany(
    stream: &mut UnixStream,
    request: Request,
    requests: &Sender<CtlRequest>,
) -> io::Result<()> {
    let (answer, answers) = sync_channel(TRACE_ANSWERS);
    let is_gone = Arc::new(AtomicBool::new(false));
    let asked = CtlRequest {
        request,
        answer,
        is_gone: is_gone.clone(),
    };
    if requests.send(asked).is_err() {
        return Ok(());
    }
    stream.set_read_timeout(Some(Duration::from_millis(1)))?;
    let mut look = Instant::now() + LOOK_AFTER;
    let told = loop {
        match answers.recv_timeout(LOOK_AFTER) {
            Ok(value) => {
                let is_last = ["done", "error"].iter().any(|key| value.get(key).is_some());
                let said = say(stream, &value);
                if is_last || said.is_err() {
                    break said;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break Ok(()),
        }
        if look <= Instant::now() {
            look = Instant::now() + LOOK_AFTER;
            if has_closed(stream) {
                // What is on its way still comes.
                is_gone.store(true, Ordering::Relaxed);
            }
        }
    };
    is_gone.store(true, Ordering::Relaxed);
    told
}

/// True if the client says no more.
fn has_closed(stream: &mut UnixStream) -> bool {
    match stream.read(&mut [0; 64]) {
        Ok(n) => n == 0,
        Err(e) => !matches!(
            e.kind(),
            ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
        ),
    }
}

fn ask(request: Request, requests: &Sender<CtlRequest>) -> Option<Value> {
    let (answer, answered) = sync_channel(1);
    let asked = CtlRequest {
        request,
        answer,
        is_gone: Arc::default(),
    };
    requests.send(asked).ok()?;
    Some(
        answered
            .recv_timeout(ANSWER_WITHIN)
            .unwrap_or_else(|_| error("the control core did not answer in time")),
    )
}

/// The form of every refusal.
pub fn error(what: &str) -> Value {
    serde_json::json!({ "error": what })
}
