//! Programs in a namespace.
//!
//! Either way the demo's own end is heard while they run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sluice_host::process::Process;

use super::error::DemoError;

const POLL_INTERVAL: Duration = Duration::from_millis(20);

const END_LIMIT: Duration = Duration::from_secs(10);

/// Whether the demo shall end.
#[derive(Clone, Debug)]
pub(super) struct Stop(pub(super) Arc<AtomicBool>);

impl Stop {
    pub(super) fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Goes on in spite of the wish.
    pub(super) fn forget(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// An error if the demo shall end.
    pub(super) fn check(&self) -> Result<(), DemoError> {
        if self.is_requested() {
            Err(DemoError::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Asks again and again until `condition` holds, for at most `limit`.
    pub(super) fn wait_until(
        &self,
        what: &str,
        limit: Duration,
        mut condition: impl FnMut() -> Result<bool, DemoError>,
    ) -> Result<(), DemoError> {
        let deadline = Instant::now() + limit;
        while !condition()? {
            self.check()?;
            if Instant::now() >= deadline {
                let what = format!("{what}: did not happen");
                return Err(DemoError::TooLate { what, limit });
            }
            std::thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }
}

/// How a program ended, and what it said.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) command: String,
    pub(super) status: ExitStatus,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Ended {
    /// Standard output, if the program succeeded.
    pub(super) fn success(self) -> Result<String, DemoError> {
        if self.status.success() {
            return Ok(self.stdout);
        }
        Err(DemoError::Ended {
            program: format!("`{}`", self.command),
            status: self.status.to_string(),
            said: format!("{} {}", self.stdout.trim(), self.stderr.trim()),
        })
    }
}

/// Runs `command` to its end, at most for `limit` and not beyond the demo's own.
pub(super) fn run(command: &mut Command, limit: Duration, stop: &Stop) -> Result<Ended, DemoError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut process = Process::spawn(command)?;
    let (stdout, stderr) = (process.child().stdout.take(), process.child().stderr.take());
    std::thread::scope(|scope| {
        let stdout = scope.spawn(|| read_all(stdout));
        let stderr = scope.spawn(|| read_all(stderr));
        let what = format!("`{}`: has not ended", process.command());
        let mut status = None;
        let waited = stop.wait_until(&what, limit, || {
            status = process.status();
            Ok(status.is_some())
        });
        // The readers end with the program.
        process.stop();
        let (stdout, stderr) = (stdout.join(), stderr.join());
        waited?;
        let status = status.ok_or(DemoError::TooLate { what, limit })?;
        Ok(Ended {
            command: process.command().to_owned(),
            status,
            stdout: stdout.unwrap_or_default(),
            stderr: stderr.unwrap_or_default(),
        })
    })
}

/// A program of ours that goes on until the value is dropped, and its log.
#[derive(Debug)]
pub(super) struct Daemon {
    name: &'static str,
    process: Process,
    log: PathBuf,
}

impl Daemon {
    pub(super) fn start(
        name: &'static str,
        mut command: Command,
        log: PathBuf,
    ) -> Result<Self, DemoError> {
        let process = start(&mut command, &log)?;
        Ok(Self { name, process, log })
    }

    /// An error if it has ended.
    pub(super) fn check_alive(&mut self) -> Result<(), DemoError> {
        match self.process.status() {
            None => Ok(()),
            Some(status) => Err(DemoError::Ended {
                program: self.name.to_owned(),
                status: status.to_string(),
                said: format!("\n{}", self.log_tail(20).join("\n")),
            }),
        }
    }

    pub(super) fn log_tail(&self, lines: usize) -> Vec<String> {
        tail(&self.log, lines)
    }

    /// Asks for an orderly end; gives how it ended.
    pub(super) fn stop(&mut self) -> String {
        self.process.interrupt();
        match self.process.wait(END_LIMIT) {
            Some(status) => status.to_string(),
            None => format!("still there after {END_LIMIT:?}"),
        }
    }
}

/// Starts `command`, which goes on until its value is dropped; what it says goes to the file
/// `log`.
pub(super) fn start(command: &mut Command, log: &Path) -> Result<Process, DemoError> {
    let opening = || DemoError::io(format!("write {}", log.display()));
    let out = File::create(log).map_err(opening())?;
    let err = out.try_clone().map_err(opening())?;
    command.stdin(Stdio::null()).stdout(out).stderr(err);
    Ok(Process::spawn(command)?)
}

/// The last lines of a log.
pub(super) fn tail(log: &Path, lines: usize) -> Vec<String> {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let all: Vec<_> = text.lines().collect();
    let from = all.len().saturating_sub(lines);
    all.iter()
        .skip(from)
        .map(|line| (*line).to_owned())
        .collect()
}

fn read_all(pipe: Option<impl Read>) -> String {
    let mut bytes = Vec::new();
    if let Some(mut pipe) = pipe {
        // What has come until a failure is all that there is to show.
        let _ = pipe.read_to_end(&mut bytes);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn running() -> Stop {
        Stop(Arc::default())
    }

    fn sh(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_program_is_heard_on_both_channels() {
        let mut command = sh("echo out; echo err >&2; exit 3");
        let ended = run(&mut command, Duration::from_secs(10), &running()).expect("runs");
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("out\n", "err\n")
        );
        assert_eq!(ended.status.code(), Some(3));
        let error = ended.success().expect_err("status 3");
        assert!(error.to_string().contains("out err"), "{error}");
    }

    #[test]
    fn a_program_that_lasts_too_long_is_ended() {
        let limit = Duration::from_millis(100);
        let error = run(&mut sh("exec sleep 60"), limit, &running()).expect_err("too late");
        assert!(matches!(error, DemoError::TooLate { .. }), "{error}");
    }

    #[test]
    fn the_end_of_the_demo_ends_its_programs() {
        let stop = running();
        stop.0.store(true, Ordering::Relaxed);
        let limit = Duration::from_secs(60);
        let error = run(&mut sh("exec sleep 60"), limit, &stop).expect_err("interrupted");
        assert!(error.is_interruption(), "{error}");
    }

    #[test]
    fn a_tail_is_the_end_of_a_log() {
        let log = std::env::temp_dir().join(format!("sluice-tail-{}", std::process::id()));
        std::fs::write(&log, "a\nb\nc\n").expect("log");
        assert_eq!(tail(&log, 2), ["b", "c"]);
        assert_eq!(tail(&log, 9), ["a", "b", "c"]);
        std::fs::remove_file(&log).expect("remove");
        assert!(tail(&log, 2).is_empty());
    }
}
