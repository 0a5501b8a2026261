//! The local socket of `sluice ctl`: one JSON request line for each connection, one object back.
//!
//! Connections are served by a thread of their own; the control core answers between two turns,
//! so what it tells is of one moment.

use serde::Deserialize;
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::time::Duration;

/// A request line is short; what is longer is no request.
const REQUEST_MAX: u64 = 4_096;
/// How long the control core may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(10);
/// How long a client may take to send its line or to read its answer.
const CLIENT_WITHIN: Duration = Duration::from_secs(5);

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
        seid: u64,
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
}

/// A request and where its answer goes.
pub struct Asked {
    /// The request.
    pub request: Request,
    answer: SyncSender<Value>,
}

impl Asked {
    /// Answers. A client that has gone away is no error.
    pub fn answer(self, value: Value) {
        let _ = self.answer.send(value);
    }
}

/// The socket. It is removed when this is dropped.
pub struct Ctl {
    path: PathBuf,
    requests: Receiver<Asked>,
}

impl Ctl {
    /// Listens on `path`. A socket that nobody answers on is replaced.
    pub fn listen(path: &Path) -> io::Result<Self> {
        if let Some(dir) = path.parent() {
            std::fs::create_dir_all(dir)?;
        }
        match UnixStream::connect(path) {
            Ok(_) => {
                let why = "another UPF answers on this control socket";
                return Err(io::Error::new(io::ErrorKind::AddrInUse, why));
            }
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => std::fs::remove_file(path)?,
            Err(_) => {}
        }
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
    pub fn next(&self) -> Option<Asked> {
        self.requests.try_recv().ok()
    }
}

impl Drop for Ctl {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Ends when the control core has gone.
fn serve(listener: &UnixListener, requests: &Sender<Asked>) {
    for stream in listener.incoming() {
        match stream.map(|s| answer(s, requests)) {
            Ok(Ok(true)) => {}
            Ok(Ok(false)) => return,
            Ok(Err(e)) | Err(e) => tracing::debug!("control socket: {e}"),
        }
    }
}

/// One connection; false when nobody is left to ask.
fn answer(mut stream: UnixStream, requests: &Sender<Asked>) -> io::Result<bool> {
    stream.set_read_timeout(Some(CLIENT_WITHIN))?;
    stream.set_write_timeout(Some(CLIENT_WITHIN))?;
    let mut line = String::new();
    BufReader::new((&mut stream).take(REQUEST_MAX)).read_line(&mut line)?;
    let value = match serde_json::from_str::<Request>(&line) {
        Ok(request) => match ask(request, requests) {
            Some(value) => value,
            None => return Ok(false),
        },
        Err(e) => error(&format!("request not understood: {e}")),
    };
    let mut text = value.to_string();
    text.push('\n');
    stream.write_all(text.as_bytes())?;
    Ok(true)
}

fn ask(request: Request, requests: &Sender<Asked>) -> Option<Value> {
    let (answer, answered) = sync_channel(1);
    requests.send(Asked { request, answer }).ok()?;
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
