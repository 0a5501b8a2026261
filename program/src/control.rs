//! The local socket of `sluice ctl`: one JSON request line for each connection, one object back.
//!
//! Each connection has a thread of its own, so that a client that says nothing keeps nobody
//! waiting; the daemon answers between two turns, so what it tells is of one moment.

use crate::lines::{self, Kind, Peer};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, Sender, SyncSender, TrySendError, channel, sync_channel,
};
use std::time::{Duration, Instant};

/// How long a client may take to send its line, and to take a piece of its answer.
const CLIENT_WITHIN: Duration = Duration::from_secs(5);
/// Connections at one time: people and scripts need a few; more are a mistake.
const CLIENTS_MAX: usize = 32;
/// After a connection that could not be taken, most likely for lack of descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Default control socket of the UPF.
pub const UPF_SOCKET: &str = "/run/sluice/upf.sock";
/// Default control socket of the core.
pub const CORE_SOCKET: &str = "/run/sluice/core.sock";

/// Question to a daemon: the object of a request line.
pub trait Question: DeserializeOwned + Send + 'static {
    /// A request line is short; what is longer is no request.
    const REQUEST_MAX: usize = 4_096;
    /// How long the daemon may take to answer.
    const ANSWER_WITHIN: Duration = Duration::from_secs(10);

    /// Whether there are answers until one has `done`, rather than one.
    fn has_many_answers(&self) -> bool {
        false
    }
}

/// Called when a question waits.
type Wake = dyn Fn() + Send + Sync;

/// Answers that wait for a client that is told of one packet after the other; each has up to 7 KB.
const TRACE_ANSWERS: usize = 1024;
/// How often such a client is looked after.
const LOOK_AFTER: Duration = Duration::from_millis(100);

/// A request and where its answer goes.
pub struct Asked<Q> {
    /// The request.
    pub request: Q,
    answer: SyncSender<Value>,
    is_gone: Arc<AtomicBool>,
}

/// Client that stays connected for further answers.
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

impl<Q> Asked<Q> {
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
pub struct Socket<Q> {
    path: PathBuf,
    requests: Receiver<Asked<Q>>,
    questions: Questions<Q>,
}

impl<Q: Question> Socket<Q> {
    /// Listens on `path`. A socket that nobody answers on is replaced. `wake` is called for each
    /// request, by another thread.
    ///
    /// # Errors
    /// The kernel's reason, or who is there already.
    pub fn listen(path: &Path, wake: impl Fn() + Send + Sync + 'static) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        make_room(path)?;
        let listener = UnixListener::bind(path)?;
        // Rules and subscribers' identities are nobody else's business.
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
        let (sender, requests) = channel();
        let questions = Questions {
            sender,
            wake: Arc::new(wake),
        };
        let of_clients = questions.clone();
        std::thread::Builder::new()
            .name("sluice-ctl".to_owned())
            .spawn(move || serve(&listener, &of_clients))?;
        Ok(Self {
            path: path.to_owned(),
            requests,
            questions,
        })
    }

    /// The way to the same answers for another door of the daemon.
    pub fn questions(&self) -> Questions<Q> {
        self.questions.clone()
    }

    /// The next request, if there is one.
    pub fn next(&self) -> Option<Asked<Q>> {
        self.requests.try_recv().ok()
    }
}

impl<Q> Drop for Socket<Q> {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Queue of questions, from clients of the socket and from other sources.
pub struct Questions<Q> {
    sender: Sender<Asked<Q>>,
    wake: Arc<Wake>,
}

impl<Q> Clone for Questions<Q> {
    fn clone(&self) -> Self {
        Self {
            sender: self.sender.clone(),
            wake: Arc::clone(&self.wake),
        }
    }
}

impl<Q: Question> Questions<Q> {
    /// Asks, and waits for the answer. None if the daemon has ended, and the process is about to.
    pub fn ask(&self, request: Q) -> Option<Value> {
        let (answer, answered) = sync_channel(1);
        let asked = Asked {
            request,
            answer,
            is_gone: Arc::default(),
        };
        self.put(asked)?;
        Some(
            answered
                .recv_timeout(Q::ANSWER_WITHIN)
                .unwrap_or_else(|_| refusal("timeout", "the daemon did not answer in time")),
        )
    }
}

impl<Q> Questions<Q> {
    /// None if the daemon has ended, and the process is about to.
    fn put(&self, asked: Asked<Q>) -> Option<()> {
        self.sender.send(asked).ok()?;
        (self.wake)();
        Some(())
    }
}

/// Takes away what an earlier daemon left at `path`; refuses what somebody else put there.
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
            let why = "another daemon answers on this control socket";
            Err(io::Error::new(ErrorKind::AddrInUse, why))
        }
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => std::fs::remove_file(path),
        Err(e) => Err(e),
    }
}

/// Never ends: the process does.
fn serve<Q: Question>(listener: &UnixListener, requests: &Questions<Q>) {
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
fn answer<Q: Question>(stream: &mut UnixStream, requests: &Questions<Q>) -> io::Result<()> {
    let line = read_line(stream, Q::REQUEST_MAX)?;
    let value = match serde_json::from_slice::<Q>(&line) {
        Ok(request) if request.has_many_answers() => {
            return accompany(stream, request, requests);
        }
        Ok(request) => requests.ask(request),
        Err(e) => Some(error(&format!("request not understood: {e}"))),
    };
    match value {
        Some(value) => say(stream, &value),
        // The daemon has ended, and the process is about to.
        None => Ok(()),
    }
}

/// Reads up to the end of the line, of the buffer or of the connection.
fn read_line(stream: &mut UnixStream, most: usize) -> io::Result<Vec<u8>> {
    let mut deadline = Instant::now() + CLIENT_WITHIN;
    let (mut line, mut chunk) = (Vec::new(), [0; 16_384]);
    while line.len() < most {
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
        if n == 0 || chunk[..n].contains(&b'\n') {
            break;
        }
        // Who sends a lot has the more time, as long as it goes on.
        if n == chunk.len() {
            deadline = Instant::now() + CLIENT_WITHIN;
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
fn accompany<Q>(stream: &mut UnixStream, request: Q, requests: &Questions<Q>) -> io::Result<()> {
    let (answer, answers) = sync_channel(TRACE_ANSWERS);
    let is_gone = Arc::new(AtomicBool::new(false));
    let asked = Asked {
        request,
        answer,
        is_gone: is_gone.clone(),
    };
    if requests.put(asked).is_none() {
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

/// The form of every refusal.
pub fn error(what: &str) -> Value {
    serde_json::json!({ "error": what })
}

/// A refusal with a word that programs tell its reason by.
pub fn refusal(reason: &str, what: &str) -> Value {
    serde_json::json!({ "error": what, "reason": reason })
}
