//! Child processes that never outlive their owner: each has a process group, which is ended as a
//! whole.

use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};

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

/// A running child process with what it has started in its process group; dropping it ends them
/// (SIGTERM, then SIGKILL) and reaps it. What has left the group (setsid(2)) is on its own.
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

    /// Number of the process.
    pub fn number(&self) -> u32 {
        self.child.id()
    }

    /// The child, to reach its pipes.
    pub fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// How it ended, if it has. What it left running in its group is ended with it.
    pub fn status(&mut self) -> Option<ExitStatus> {
        match self.stage() {
            ChildState::Running => return None,
            ChildState::Ended => self.signal_group(Signal::KILL),
            ChildState::Reaped => {}
        }
        // The only error is that the child was never ours to wait for; it was.
        self.child.try_wait().ok().flatten()
    }

    /// Sends a signal to it and to what it has started, unless it has ended.
    pub fn signal(&mut self, signal: Signal) {
        if self.status().is_none() {
            self.signal_group(signal);
        }
    }

    fn stage(&self) -> ChildState {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match self.id().map(|id| waitid(WaitId::Pid(id), options)) {
            Some(Ok(None)) => ChildState::Running,
            Some(Ok(Some(_))) => ChildState::Ended,
            Some(Err(_)) | None => ChildState::Reaped,
        }
    }

    /// Only while the child is not reaped.
    fn signal_group(&self, signal: Signal) {
        if let Some(id) = self.id() {
            // A failure means that all have ended.
            let _ = kill_process_group(id, signal);
        }
    }

    fn id(&self) -> Option<Pid> {
        i32::try_from(self.child.id()).ok().and_then(Pid::from_raw)
    }

    /// Asks for an orderly end (SIGINT).
    pub fn interrupt(&mut self) {
        self.signal(Signal::INT);
    }

    /// Asks for an orderly end as a service manager does (SIGTERM).
    pub fn terminate(&mut self) {
        self.signal(Signal::TERM);
    }

    /// Ends it and its group without a chance to tidy up (SIGKILL), and reaps it.
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

    /// Ends it and its group: SIGTERM, and SIGKILL for those that have not obeyed within half a
    /// second.
    pub fn stop(&mut self) {
        if self.status().is_some() {
            return;
        }
        self.signal_group(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        // Not with `status`: what it has started gets its time to tidy up, too.
        while !self.is_all_over() && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        self.kill();
    }

    fn is_all_over(&self) -> bool {
        self.stage() != ChildState::Running && !has_members(self.child.id())
    }
}

/// How far a child is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ChildState {
    Running,
    /// Until it is reaped, the kernel gives its number to nobody else, neither as a process nor as
    /// a group.
    Ended,
    Reaped,
}

/// Whether anything in a process group runs (proc(5), stat: the name in brackets, the state, the
/// parent, the group).
fn has_members(group: u32) -> bool {
    let is_member = |stat: &str| {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut words = rest.split_whitespace();
        let (state, its) = (words.next()?, words.nth(1)?);
        Some(!matches!(state, "Z" | "X") && its.parse() == Ok(group))
    };
    let Ok(processes) = std::fs::read_dir("/proc") else {
        return false;
    };
    let stats = processes.flatten().map(|entry| entry.path().join("stat"));
    // A process that has ended since it was listed has no such file.
    let mut stats = stats.filter_map(|path| std::fs::read_to_string(path).ok());
    stats.any(|stat| is_member(&stat).unwrap_or(false))
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

    /// A shell that has started a `sleep`, whose number it tells; then it does the rest.
    fn with_child(rest: &str) -> (Process, u32) {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("sleep 60 >&2 & echo $!; {rest}")])
            .stdout(std::process::Stdio::piped());
        let mut process = Process::spawn(&mut command).expect("sh");
        let stdout = process.child().stdout.take().expect("pipe");
        let mut line = String::new();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).expect("line");
        (process, line.trim().parse().expect("a number"))
    }

    /// Whether it ends soon; whoever inherits it may take time to reap it.
    fn ends(pid: u32) -> bool {
        let runs = || {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let state = stat.rsplit_once(") ").map(|(_, rest)| rest.to_owned());
            state.is_some_and(|state| !state.starts_with(['Z', 'X']))
        };
        let deadline = Instant::now() + Duration::from_secs(10);
        while runs() && Instant::now() < deadline {
            std::thread::sleep(POLL_INTERVAL);
        }
        !runs()
    }

    #[test]
    fn what_a_process_has_started_ends_with_it_however_that_ends() {
        let (process, child) = with_child("wait");
        drop(process);
        assert!(ends(child), "stopped");
        let (mut process, child) = with_child("wait");
        process.kill();
        assert!(ends(child), "killed");
        let (mut process, child) = with_child("exit 3");
        let status = process.wait(Duration::from_secs(10)).expect("ends");
        assert_eq!(status.code(), Some(3));
        assert!(ends(child), "ended by itself");
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
