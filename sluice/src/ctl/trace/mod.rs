//! `sluice ctl trace`: one line for each step of a traced packet, and a capture of the frames.

mod capture;
mod line;
mod subscriber;

use crate::cli::args::{Followable, TraceArgs};
use capture::Capture;
use serde_json::{Value, json};
use sluice_host::signal::Shutdown;
use sluice_program::ask::{AskError, not_running, put, read};
use sluice_program::control::UPF_SOCKET;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::net::Shutdown as Close;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// How often a signal is looked for.
const LOOK: Duration = Duration::from_millis(100);
/// How long the UPF may take to end a trace.
const END_WITHIN: Duration = Duration::from_secs(3);

/// The request line.
pub fn request(args: &TraceArgs) -> Value {
    let mut request = json!({ "cmd": "trace", "count": args.count, "seconds": args.seconds });
    match &args.what {
        // The core is asked of it.
        Followable::Subscriber(_) => {}
        Followable::Ue(ue) => request["ue"] = json!(ue),
        Followable::Peer(peer) => request["peer"] = json!(peer),
        Followable::Address(address) => request["address"] = json!(address),
        Followable::FTeid(address, teid) => {
            (request["address"], request["teid"]) = (json!(address), json!(teid));
        }
    }
    request
}

/// Follows until the UPF ends it, or a signal comes. With `as_json` each step is an object of a line.
pub fn run(socket: &Path, args: &TraceArgs, as_json: bool) -> Result<(), AskError> {
    if let Followable::Subscriber(imsi) = &args.what {
        let upf = args.upf_socket.as_deref();
        let upf = upf.unwrap_or(Path::new(UPF_SOCKET));
        return subscriber::run((socket, upf), imsi, args, as_json);
    }
    let mut capture = match &args.write {
        Some(path) => Some(Capture::create(path)?),
        None => None,
    };
    let broken = |e| not_running(socket, e);
    let mut stream = UnixStream::connect(socket).map_err(broken)?;
    // Without, Ctrl-C ends the program at once: what is written is whole.
    let shutdown = Shutdown::install().ok();
    put(&mut stream, &request(args)).map_err(broken)?;
    stream.set_read_timeout(Some(LOOK)).map_err(broken)?;
    let mut lines = BufReader::new(stream.try_clone().map_err(broken)?);
    let (mut line, mut ends, mut heard) = (String::new(), None, false);
    loop {
        if ends.is_none() && shutdown.as_ref().is_some_and(Shutdown::is_requested) {
            // The UPF says how it was, and closes its side, too.
            stream.shutdown(Close::Write).map_err(broken)?;
            ends = Some(Instant::now() + END_WITHIN);
        }
        match lines.read_line(&mut line) {
            Ok(0) if !heard && ends.is_none() => return Err(AskError::no_answer()),
            Ok(0) => return finish(capture),
            Ok(_) => heard = true,
            // What has come of the line stays.
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => match ends
            {
                Some(ends) if ends <= Instant::now() => return finish(capture),
                _ => continue,
            },
            Err(e) => return Err(broken(e)),
        }
        let step = read(&line)?;
        if let Some(capture) = &mut capture {
            capture.step(&step)?;
        }
        // A closed pipe (`| head`) is the reader's choice, and the end.
        if print(&step, &line, as_json).is_err() || step.get("done").is_some() {
            return finish(capture);
        }
        line.clear();
    }
}

fn finish(capture: Option<Capture>) -> Result<(), AskError> {
    capture.map_or(Ok(()), Capture::finish)
}

fn print(step: &Value, line: &str, as_json: bool) -> io::Result<()> {
    let mut out = io::stdout();
    match as_json {
        true => write!(out, "{line}")?,
        false => writeln!(out, "{}", line::text(step))?,
    }
    out.flush()
}
