//! tcpdump captures in a namespace: running when `start` returns, complete when `stop` returns.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::netns::Ns;
use crate::process::Process;
use crate::tool::ToolError;

/// tcpdump's own time to start and open the interface.
const START_LIMIT: Duration = Duration::from_secs(10);
/// Time to read what the kernel has buffered, and to write it.
const DRAIN_LIMIT: Duration = Duration::from_secs(20);
/// The kernel hands a block over when it is full or a second old; ask a little more often.
const DRAIN_INTERVAL: Duration = Duration::from_millis(50);
const ANSWER_LIMIT: Duration = Duration::from_secs(2);
/// Of the kernel's ring, in KiB.
const BUFFER_KIB: &str = "32768";
/// The longest frame of a jumbo interface; tcpdump's default would make the ring's frames
/// enormous.
const SNAP_BYTES: u16 = 9600;

/// A capture that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// tcpdump could not be started.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// tcpdump ended or said nothing instead of capturing.
    #[error("`{command}` does not capture: {said}")]
    NotCapturing {
        /// The command line.
        command: String,
        /// Output of the program.
        said: String,
    },
    /// tcpdump could not be brought to an orderly end, so the file may lack packets.
    #[error("`{command}` did not end in order: {said}")]
    NotStopped {
        /// The command line.
        command: String,
        /// Output of the program.
        said: String,
    },
}

/// tcpdump's count of a capture.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureCount {
    /// Packets in the file.
    pub captured: u64,
    /// Packets that passed the filter, in the file or not.
    pub received: u64,
    /// Packets that the kernel had no room for; if not 0, the file is incomplete.
    pub dropped: u64,
}

/// A running capture; dropping it without [`Capture::stop`] ends tcpdump and may lose the
/// last packets.
#[derive(Debug)]
pub struct Capture {
    process: Process,
    lines: Receiver<String>,
    path: PathBuf,
}

impl Capture {
    /// Captures what passes `interface` of `ns` both ways and matches `filter` (pcap-filter(7);
    /// empty: all) into the file `path`. When it returns, packets are being captured.
    pub fn start(
        ns: &Ns,
        interface: &str,
        filter: &str,
        path: &Path,
    ) -> Result<Self, CaptureError> {
        let mut command = Self::command(ns, interface, filter, SNAP_BYTES, path);
        command.stdout(Stdio::null());
        Self::spawn(&mut command, path)
    }

    pub(crate) fn command(
        ns: &Ns,
        interface: &str,
        filter: &str,
        snap_bytes: u16,
        path: &Path,
    ) -> Command {
        let mut command = ns.command("tcpdump");
        // As the same user, or it could not write into our directory.
        command.args(["-n", "-Z", "root", "-B", BUFFER_KIB]);
        command.args(["-s", &snap_bytes.to_string(), "-i", interface, "-w"]);
        command.arg(path).arg(filter);
        command
    }

    /// Runs tcpdump; it captures when this returns.
    pub(crate) fn spawn(command: &mut Command, path: &Path) -> Result<Self, CaptureError> {
        command.stdin(Stdio::null()).stderr(Stdio::piped());
        let mut process = Process::spawn(command)?;
        let lines = stderr_lines(&mut process);
        let mut this = Self {
            process,
            lines,
            path: path.to_owned(),
        };
        this.wait_until_listening()?;
        Ok(this)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The pipe to tcpdump's standard output, if there is one and nobody has taken it.
    pub(crate) fn stdout(&mut self) -> Option<ChildStdout> {
        self.process.child().stdout.take()
    }

    pub(crate) fn describe(&self) -> &str {
        self.process.command()
    }

    /// Ends the capture when everything that the kernel has seen stands in the file.
    pub fn stop(mut self) -> Result<CaptureCount, CaptureError> {
        self.drain()?;
        self.process.interrupt();
        let mut said = Vec::new();
        let count = self.read_count(&mut said);
        let ended = self
            .process
            .wait(DRAIN_LIMIT)
            .is_some_and(|status| status.success());
        match count {
            Some(count) if ended => Ok(count),
            _ => Err(self.not_stopped(&said)),
        }
    }

    fn wait_until_listening(&mut self) -> Result<(), CaptureError> {
        let deadline = Instant::now() + START_LIMIT;
        let mut said = Vec::new();
        while let Ok(line) = self.next_line(deadline) {
            // Written after the socket is open and the filter is set.
            if line.contains("listening on") {
                return Ok(());
            }
            said.push(line);
        }
        let command = self.process.command().to_owned();
        Err(CaptureError::NotCapturing {
            command,
            said: said.join("; "),
        })
    }

    /// Waits until tcpdump has written as many packets as its socket has received.
    fn drain(&mut self) -> Result<(), CaptureError> {
        let deadline = Instant::now() + DRAIN_LIMIT;
        let mut said = Vec::new();
        // Only what had arrived at the first asking: the interface may stay busy.
        let mut target = None;
        while Instant::now() < deadline {
            self.process.signal(Signal::USR1);
            let Some(count) = self.read_count(&mut said) else {
                break;
            };
            let target = *target.get_or_insert(count.received);
            if count.captured + count.dropped >= target {
                return Ok(());
            }
            std::thread::sleep(DRAIN_INTERVAL);
        }
        Err(self.not_stopped(&said))
    }

    /// Reads the lines "N packets captured", "N packets received by filter" and "N packets
    /// dropped by kernel", which come in this order on SIGUSR1 and at the end.
    fn read_count(&mut self, said: &mut Vec<String>) -> Option<CaptureCount> {
        let deadline = Instant::now() + ANSWER_LIMIT;
        let mut count = CaptureCount::default();
        loop {
            let line = self.next_line(deadline).ok()?;
            match parse_count(&line) {
                Some((number, "captured")) => count.captured = number,
                Some((number, "received")) => count.received = number,
                Some((number, "dropped")) => {
                    count.dropped = number;
                    return Some(count);
                }
                _ => said.push(line),
            }
        }
    }

    fn next_line(&self, deadline: Instant) -> Result<String, RecvTimeoutError> {
        self.lines
            .recv_timeout(deadline.saturating_duration_since(Instant::now()))
    }

    fn not_stopped(&self, said: &[String]) -> CaptureError {
        let command = self.process.command().to_owned();
        CaptureError::NotStopped {
            command,
            said: said.join("; "),
        }
    }
}

/// "12 packets captured" -> (12, "captured").
fn parse_count(line: &str) -> Option<(u64, &str)> {
    let line = line.trim().trim_start_matches("tcpdump: ");
    // On SIGUSR1 the three stand in one line, parted by commas; `stderr_lines` has split it.
    let (number, rest) = line.split_once(' ')?;
    let (noun, rest) = rest.split_once(' ')?;
    let verb = rest.split(' ').next()?;
    matches!(noun, "packet" | "packets").then_some((number.parse().ok()?, verb))
}

/// Reads standard error on a thread of its own, which ends with the process.
fn stderr_lines(process: &mut Process) -> Receiver<String> {
    let (sender, lines) = channel();
    if let Some(stderr) = process.child().stderr.take() {
        std::thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            // "listening on veth, link-type EN10MB (Ethernet), ..." loses nothing by this.
            let parts = lines.flat_map(|l| l.split(", ").map(str::to_owned).collect::<Vec<_>>());
            for part in parts {
                if sender.send(part).is_err() {
                    break;
                }
            }
        });
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_both_numbers() {
        assert_eq!(parse_count("12 packets captured"), Some((12, "captured")));
        assert_eq!(
            parse_count("tcpdump: 1 packet received by filter"),
            Some((1, "received"))
        );
        assert_eq!(
            parse_count("0 packets dropped by kernel"),
            Some((0, "dropped"))
        );
        assert_eq!(
            parse_count("0 packets dropped by interface"),
            Some((0, "dropped"))
        );
        assert_eq!(parse_count("listening on lo"), None);
    }
}
