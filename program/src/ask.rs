//! Client of the control sockets: one JSON request line, one object back.

use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long the daemon may take to answer.
const ANSWER_WITHIN: Duration = Duration::from_secs(15);

/// Why there is no answer.
#[derive(Debug)]
pub enum AskError {
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

impl AskError {
    /// The daemon closed its side without a word.
    pub fn no_answer() -> Self {
        Self::Garbled("it ended without an answer".to_owned())
    }
}

impl std::error::Error for AskError {}

impl std::fmt::Display for AskError {
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

/// Asks the daemon at `socket`; gives its object.
///
/// # Errors
/// The daemon refuses, or does not answer.
pub fn ask(socket: &Path, request: &Value) -> Result<Value, AskError> {
    refused(exchange(socket, request, ANSWER_WITHIN)?)
}

/// [`ask`] by the question's name alone.
///
/// # Errors
/// As [`ask`].
pub fn ask_for(socket: &Path, cmd: &str) -> Result<Value, AskError> {
    ask(socket, &json!({ "cmd": cmd }))
}

/// Sends a request and gives the answer, also if it is a refusal.
///
/// # Errors
/// Nobody answers, or no object.
pub fn exchange(socket: &Path, request: &Value, within: Duration) -> Result<Value, AskError> {
    let not_running = |e| not_running(socket, e);
    let mut stream = UnixStream::connect(socket).map_err(not_running)?;
    let timed = stream.set_read_timeout(Some(within));
    timed.map_err(not_running)?;
    put(&mut stream, request).map_err(not_running)?;
    let mut line = String::new();
    let read_line = BufReader::new(stream).read_line(&mut line);
    read_line.map_err(not_running)?;
    if line.is_empty() {
        return Err(AskError::no_answer());
    }
    object(&line)
}

/// Sends the request line. A daemon that has no time for us closes its side without having read it, and
/// has said why.
///
/// # Errors
/// The connection is broken.
pub fn put(stream: &mut UnixStream, request: &Value) -> io::Result<()> {
    match writeln!(stream, "{request}") {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        put => put,
    }
}

/// Why nobody answers at `socket`.
pub fn not_running(socket: &Path, e: io::Error) -> AskError {
    let path = socket.display().to_string();
    match e.kind() {
        io::ErrorKind::PermissionDenied => AskError::Forbidden(path),
        _ => AskError::NotRunning(path, e),
    }
}

/// An object of the daemon, unless it is a refusal.
///
/// # Errors
/// The daemon refuses, or the line is no object.
pub fn read(line: &str) -> Result<Value, AskError> {
    refused(object(line)?)
}

fn object(line: &str) -> Result<Value, AskError> {
    serde_json::from_str(line).map_err(|e| AskError::Garbled(e.to_string()))
}

/// An answer, unless it is a refusal.
///
/// # Errors
/// The refusal.
pub fn refused(answer: Value) -> Result<Value, AskError> {
    match answer.get("error").and_then(Value::as_str) {
        Some(why) => Err(AskError::Refused(why.to_owned())),
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
