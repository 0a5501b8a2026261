//! Children that never outlive their owner, ended by process id.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::tool::{ToolError, command_line};

const POLL_INTERVAL: Duration = Duration::from_millis(5);
const GRACE: Duration = Duration::from_millis(500);

/// Memory of this process that is resident, in bytes (proc(5), status); 0 where that is not told.
pub fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    kib.unwrap_or(0u64) * 1024
}

/// A running child process; dropping it ends it (SIGTERM, then SIGKILL) and reaps it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    command: String,
}

impl Process {
    /// Starts `command` in a process group of its own: Ctrl-C at the terminal is for its owner,
    /// which ends it when its turn comes.
    pub fn spawn(command: &mut Command) -> Result<Self, ToolError> {
        let line = command_line(command);
        command.process_group(0);
        match command.spawn() {
            Ok(child) => Ok(Self {
                child,
                command: line,
            }),
            Err(source) => Err(ToolError::Start {
                command: line,
                source,
            }),
        }
    }

    /// The command line.
    pub fn command(&self) -> &str {
        &self.command
    }

    /// The child, to reach its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, if it has.
    pub fn status(&mut self) -> Option<ExitStatus> {
        // The only error is that the child was never ours to wait for; it was.
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal, unless the child has ended (its id might belong to another by then).
    pub fn signal(&mut self, signal: Signal) {
        if self.status().is_some() {
            return;
        }
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            // Not reaped yet, so the id is still the child's; a failure means it just ended.
            let _ = kill_process(pid, signal);
        }
    }

    /// Asks for an orderly end (SIGINT).
    pub fn interrupt(&mut self) {
        self.signal(Signal::INT);
    }

    /// Asks for an orderly end as a service manager does (SIGTERM).
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Ends it without a chance to tidy up (SIGKILL), and reaps it.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        // SIGKILL cannot be refused, so this returns.
        let _ = self.child.wait();
    }

    /// Waits at most `timeout` for the end.
    pub fn wait(&mut self, timeout: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(status) = self.status() {
                return Some(status);
            }
            if Instant::now() >= deadline {
                return None;
            }
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Ends it: SIGTERM, and SIGKILL if that is not obeyed within half a second.
    pub fn stop(&mut self) {
        self.terminate();
        if self.wait(GRACE).is_none() {
            self.kill();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_is_touched_is_resident() {
        let before = resident_bytes();
        let touched = std::hint::black_box(vec![1u8; 32 << 20]);
        assert!(resident_bytes() > before + (16 << 20));
        drop(touched);
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let mut process = Process::spawn(Command::new("sleep").arg("60")).expect("sleep");
        let id = process.child().id();
        drop(process);
        assert!(!std::path::Path::new(&format!("/proc/{id}")).exists());
    }

    #[test]
    fn a_process_that_ends_by_itself_gives_its_status() {
        let mut process = Process::spawn(&mut Command::new("true")).expect("true");
        let status = process.wait(Duration::from_secs(10)).expect("ends");
        assert!(status.success());
        process.stop();
    }

    #[test]
    fn a_process_that_ignores_sigterm_is_killed() {
        let script = "trap '' TERM; echo; while :; do sleep 0.05; done";
        let mut command = Command::new("sh");
        command
            .args(["-c", script])
            .stdout(std::process::Stdio::piped());
        let mut process = Process::spawn(&mut command).expect("sh");
        let mut line = String::new();
        let stdout = process.child().stdout.take().expect("pipe");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("line");
        process.stop();
        assert!(!process.status().expect("ended").success());
    }
}
