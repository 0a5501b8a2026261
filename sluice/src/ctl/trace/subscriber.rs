//! `sluice ctl trace IMSI`: N1, N2 and N4 from the core, and the UE's packets on N3 and N6 from the UPF.

use super::super::core;
use super::capture::Capture;
use super::line;
use crate::cli::args::TraceArgs;
use serde_json::{Value, json};
use sluice_host::signal::Shutdown;
use sluice_program::ask::{AskError, exchange, not_running, put, read, refused};
use sluice_program::follow::Follower;
use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// From one question to the core to the next.
const EACH: Duration = Duration::from_millis(100);
const ANSWER_WITHIN: Duration = Duration::from_secs(15);
/// Packets of the UE between two questions to the core.
const PACKETS: usize = 1000;

/// State of a trace and its outputs.
struct Trace<'a> {
    core: &'a Path,
    imsi: &'a str,
    capture: Option<Capture>,
    as_json: bool,
    /// Lines of the ladder that were there before, or are told.
    told: usize,
    packets: Option<Packets>,
    /// Sessions whose packets are followed.
    sessions: BTreeSet<Seids>,
    /// Packets that the UPF has told of before `packets`, and that it has told of there.
    seen: (u64, u64),
}

/// The SEIDs of a session at its UPF and at the core: an address may be another UE's when the session is over.
type Seids = (u64, u64);

/// Follows until its end is asked for, by a signal or by `args`.
pub fn run(
    (core, upf): (&Path, &Path),
    imsi: &str,
    args: &TraceArgs,
    as_json: bool,
) -> Result<(), AskError> {
    let capture = args.write.as_deref().map(Capture::create_with_messages);
    let mut trace = Trace {
        core,
        imsi,
        capture: capture.transpose()?,
        as_json,
        told: 0,
        packets: None,
        sessions: BTreeSet::new(),
        seen: (0, 0),
    };
    let follower = Follower::new(core, Some(imsi.to_owned()));
    let shutdown = Shutdown::install().ok();
    let is_over = || shutdown.as_ref().is_some_and(Shutdown::is_requested);
    // What was said before is no part of it.
    follower.take(false)?;
    trace.told = trace.ladder()?.len();
    let end = args
        .seconds
        .map(|s| Instant::now() + Duration::from_secs(s.into()));
    loop {
        let is_last = is_over()
            || end.is_some_and(|end| Instant::now() >= end)
            || args.count.is_some_and(|count| trace.seen() >= count);
        let (messages, lost) = follower.take(is_last)?;
        for message in &messages {
            if let Some(capture) = &mut trace.capture {
                capture.message(message)?;
            }
        }
        // A closed pipe (`| head`) is the reader's choice, and the end.
        let is_heard = trace.tell().is_ok() && trace.tell_packets(upf)?;
        if is_last || !is_heard {
            if lost > 0 {
                eprintln!(
                    "sluice ctl: the core has lost {lost} messages, as it was not asked in time"
                );
            }
            if !is_last {
                follower.take(true)?;
            }
            return trace.capture.map_or(Ok(()), Capture::finish);
        }
        std::thread::sleep(EACH);
    }
}

impl Trace<'_> {
    fn ask(&self, what: &str) -> Result<Value, AskError> {
        let request = json!({ "cmd": what, "imsi": self.imsi });
        refused(exchange(self.core, &request, ANSWER_WITHIN)?)
    }

    fn ladder(&self) -> Result<Vec<Value>, AskError> {
        let answer = self.ask("flow")?;
        Ok(answer["lines"].as_array().cloned().unwrap_or_default())
    }

    /// New lines of the ladder.
    fn tell(&mut self) -> io::Result<()> {
        let lines = self.ladder().map_err(|e| io::Error::other(e.to_string()))?;
        // The core forgets the oldest.
        let from = self.told.min(lines.len());
        for line in &lines[from..] {
            self.print(line, ladder_line(line))?;
        }
        self.told = lines.len();
        Ok(())
    }

    fn seen(&self) -> u64 {
        self.seen.0 + self.seen.1
    }

    /// Prints packets of the UE; returns false once nobody reads the output.
    fn tell_packets(&mut self, upf: &Path) -> Result<bool, AskError> {
        let sessions = self.sessions()?;
        if sessions != self.sessions {
            // The UPF ends what it follows when nobody listens, and begins anew with the sessions that there are now.
            self.packets = None;
            self.sessions = sessions;
        }
        if self.packets.is_none() && !self.sessions.is_empty() {
            self.seen = (self.seen(), 0);
            self.packets = Packets::follow(upf, &self.sessions);
        }
        for _ in 0..PACKETS {
            let Some(packets) = &mut self.packets else {
                return Ok(true);
            };
            let Some(step) = packets.next()? else {
                return Ok(true);
            };
            if step.get("done").is_some() {
                // Its sessions are over, or the UPF has not ended the trace before yet: it is asked again.
                self.packets = None;
                return Ok(true);
            }
            if let Some(capture) = &mut self.capture {
                capture.step(&step)?;
            }
            self.seen.1 = self.seen.1.max(step["packet"].as_u64().unwrap_or(0));
            if step.get("ports").is_none() && self.print(&step, line::text(&step)).is_err() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The UE's sessions that a UPF has.
    fn sessions(&self) -> Result<BTreeSet<Seids>, AskError> {
        let ue = match self.ask("ue") {
            Ok(answer) => answer,
            // It is not registered now.
            Err(AskError::Refused(_)) => return Ok(BTreeSet::new()),
            Err(e) => return Err(e),
        };
        let sessions = ue["ue"]["sessions"].as_array();
        let seids = |session: &Value| Some((seid(&session["upf_seid"])?, seid(&session["seid"])?));
        Ok(sessions.into_iter().flatten().filter_map(seids).collect())
    }

    fn print(&self, object: &Value, text: String) -> io::Result<()> {
        let mut out = io::stdout();
        match self.as_json {
            true => writeln!(out, "{object}")?,
            false => writeln!(out, "{text}")?,
        }
        out.flush()
    }
}

/// As the core shows it: `0x1f`.
fn seid(shown: &Value) -> Option<u64> {
    let digits = shown.as_str()?.strip_prefix("0x")?;
    u64::from_str_radix(digits, 16).ok()
}

fn ladder_line(line: &Value) -> String {
    let [step, from, to, what] =
        ["step", "from", "to", "what"].map(|key| line[key].as_str().unwrap_or_default());
    format!(
        "{}  {step:<5} {from:<4} -> {to:<4}  {what}",
        core::when(line)
    )
}

/// Packets of a UE that the UPF reports.
struct Packets {
    lines: BufReader<UnixStream>,
    line: String,
    socket: std::path::PathBuf,
}

impl Packets {
    /// None if the UPF is not here.
    fn follow(socket: &Path, sessions: &BTreeSet<Seids>) -> Option<Self> {
        let mut stream = UnixStream::connect(socket).ok()?;
        put(
            &mut stream,
            &json!({ "cmd": "trace", "sessions": sessions }),
        )
        .ok()?;
        stream
            .set_read_timeout(Some(Duration::from_millis(10)))
            .ok()?;
        Some(Self {
            lines: BufReader::new(stream),
            line: String::new(),
            socket: socket.to_owned(),
        })
    }

    /// The next step; none if there is none now.
    fn next(&mut self) -> Result<Option<Value>, AskError> {
        match self.lines.read_line(&mut self.line) {
            Ok(0) => Ok(Some(json!({ "done": {} }))),
            Ok(_) => {
                let step = read(&self.line);
                self.line.clear();
                match step {
                    Ok(step) => Ok(Some(step)),
                    // The UPF is traced by others.
                    Err(AskError::Refused(_)) => Ok(Some(json!({ "done": {} }))),
                    Err(e) => Err(e),
                }
            }
            // What has come of the line stays.
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Ok(None),
            Err(e) => Err(not_running(&self.socket, e)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seids_are_read_as_the_core_shows_them() {
        assert_eq!(seid(&json!("0x80000000001f")), Some(0x8000_0000_001f));
        assert_eq!(seid(&json!(null)), None);
        assert_eq!(seid(&json!("31")), None);
    }

    #[test]
    fn messages_and_packets_have_one_form_of_time() {
        let message =
            json!({ "unix_ms": 3_723_004, "step": "1", "from": "UE", "to": "AMF", "what": "x" });
        let packet = json!({ "packet": 1, "time": "3723.004000999", "came": "x", "worker": 0, "verdict": "y" });
        assert!(ladder_line(&message).starts_with("01:02:03.004000  "));
        assert!(line::text(&packet).starts_with("#1 01:02:03.004000 "));
    }
}
