//! `sluice ctl`: client of the local socket of a running UPF or core.

mod core;
pub mod follow;
mod print;
mod session;
mod time;
mod trace;

use crate::cli::args::{CtlArgs, CtlQuery, Movable, Wanted, WhichSession};
use crate::exit::Exit;
use crate::subscribers;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the daemon may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// The request line of a query.
fn request(query: &CtlQuery) -> Value {
    let cmd = match query {
        CtlQuery::Session { which } | CtlQuery::Rules { which } => {
            return match which {
                WhichSession::Seid(seid) => json!({ "cmd": "session", "seid": seid.0 }),
                WhichSession::Ue(ue) => json!({ "cmd": "session", "ue": ue }),
            };
        }
        CtlQuery::Move { what, to } => {
            return match what {
                Movable::Shard(shard) => json!({ "cmd": "move", "shard": shard, "to": to }),
                Movable::Ue(ue) => json!({ "cmd": "move", "ue": ue, "to": to }),
            };
        }
        CtlQuery::Nat { public } => {
            return json!({ "cmd": "nat", "address": public.ip(), "port": public.port() });
        }
        CtlQuery::Core(query) => return core::request(query),
        CtlQuery::Trace(args) => return trace::request(args),
        CtlQuery::Scale { workers } => {
            return match workers {
                Wanted::Workers(n) => json!({ "cmd": "scale", "workers": n }),
                Wanted::Auto => json!({ "cmd": "scale" }),
            };
        }
        CtlQuery::Reload => "reload",
        CtlQuery::Status => "status",
        CtlQuery::Sessions => "sessions",
        CtlQuery::Drops => "drops",
        CtlQuery::Ports => "ports",
        CtlQuery::Workers => "workers",
        CtlQuery::Peers => "peers",
        CtlQuery::Counters => "counters",
        CtlQuery::Refusals => "refusals",
        CtlQuery::Applications => "applications",
        CtlQuery::Subscribers(_) | CtlQuery::Hnkey(_) => "none",
    };
    json!({ "cmd": cmd })
}

/// Why there is no answer.
#[derive(Debug)]
pub enum CtlError {
    /// Nobody answers on the socket.
    NotRunning(String, io::Error),
    /// The socket is another user's.
    Forbidden(String),
    /// The daemon refused.
    Refused(String),
    /// The answer is no JSON object.
    Garbled(String),
    /// A file cannot be written.
    File(PathBuf, io::Error),
}

impl CtlError {
    /// The daemon closed its side without a word.
    fn no_answer() -> Self {
        Self::Garbled("it ended without an answer".to_owned())
    }
}

impl std::error::Error for CtlError {}

impl std::fmt::Display for CtlError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotRunning(path, e) => write!(
                f,
                "nobody answers on {path} ({e}); is `sluice upf` (or `sluice core`) running, and is this the control_socket of its file?"
            ),
            Self::Forbidden(path) => {
                write!(
                    f,
                    "{path} belongs to another user: ask as the user of the daemon, or as root"
                )
            }
            Self::Refused(why) => f.write_str(why),
            Self::File(path, e) => write!(f, "{} cannot be written: {e}", path.display()),
            Self::Garbled(why) => write!(f, "the daemon's answer cannot be read: {why}"),
        }
    }
}

/// Asks and prints; with `--json` the daemon's object as it is.
pub fn run(args: &CtlArgs) -> Exit {
    if let CtlQuery::Trace(trace) = &args.query {
        return match trace::run(args.socket(), trace, args.json) {
            Ok(()) => Exit::Done,
            Err(e) => failed(&e),
        };
    }
    match &args.query {
        CtlQuery::Subscribers(what) => return subscribers::run(what, args.socket(), args.json),
        CtlQuery::Hnkey(what) => return subscribers::run_hnkey(what, args.socket(), args.json),
        _ => {}
    }
    match ask(args.socket(), &args.query) {
        Ok(answer) => {
            let text = match args.json {
                true => format!("{answer:#}"),
                false => print::text(&args.query, &answer, args.all),
            };
            // A closed pipe (`| head`) is the reader's choice.
            let _ = writeln!(io::stdout(), "{text}");
            Exit::Done
        }
        Err(e) => failed(&e),
    }
}

fn failed(e: &CtlError) -> Exit {
    eprintln!("sluice ctl: {e}");
    match e {
        CtlError::NotRunning(..) | CtlError::Forbidden(_) => Exit::Lacking,
        CtlError::Refused(_) | CtlError::Garbled(_) | CtlError::File(..) => Exit::Failed,
    }
}

/// Asks the daemon at `socket`; gives its object.
pub fn ask(socket: &Path, query: &CtlQuery) -> Result<Value, CtlError> {
    refused(exchange(socket, &request(query), ANSWER_WITHIN)?)
}

/// Sends a request and gives the answer, also if it is a refusal.
pub fn exchange(socket: &Path, request: &Value, within: Duration) -> Result<Value, CtlError> {
    let not_running = |e| not_running(socket, e);
    let mut stream = UnixStream::connect(socket).map_err(not_running)?;
    let timed = stream.set_read_timeout(Some(within));
    timed.map_err(not_running)?;
    put(&mut stream, request).map_err(not_running)?;
    let mut line = String::new();
    let read_line = BufReader::new(stream).read_line(&mut line);
    read_line.map_err(not_running)?;
    if line.is_empty() {
        return Err(CtlError::no_answer());
    }
    object(&line)
}

/// Sends the request line. A daemon that has no time for us closes its side without having read it, and
/// has said why.
fn put(stream: &mut UnixStream, request: &Value) -> io::Result<()> {
    match writeln!(stream, "{request}") {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        put => put,
    }
}

fn not_running(socket: &Path, e: io::Error) -> CtlError {
    let path = socket.display().to_string();
    match e.kind() {
        io::ErrorKind::PermissionDenied => CtlError::Forbidden(path),
        _ => CtlError::NotRunning(path, e),
    }
}

/// An object of the daemon, unless it is a refusal.
fn read(line: &str) -> Result<Value, CtlError> {
    refused(object(line)?)
}

fn object(line: &str) -> Result<Value, CtlError> {
    serde_json::from_str(line).map_err(|e| CtlError::Garbled(e.to_string()))
}

fn refused(answer: Value) -> Result<Value, CtlError> {
    match answer.get("error").and_then(Value::as_str) {
        Some(why) => Err(CtlError::Refused(why.to_owned())),
        None => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_by_one_who_did_not_listen_is_heard() {
        let (mut ours, mut theirs) = UnixStream::pair().unwrap();
        theirs
            .write_all(b"{\"error\":\"too many clients at one time\"}\n")
            .unwrap();
        drop(theirs);
        put(&mut ours, &json!({ "cmd": "status" })).unwrap();
        let mut line = String::new();
        BufReader::new(ours).read_line(&mut line).unwrap();
        let refused = read(&line).unwrap_err();
        assert_eq!(refused.to_string(), "too many clients at one time");
    }
}
