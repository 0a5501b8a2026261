//! Network namespaces: named ones that this process owns, and work inside any of them.
//!
//! Names are `sluice-<pid>-<label>`, so that [`sweep`] can tell what a dead process left.

use std::fs::File;
use std::os::fd::AsFd as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use rustix::mount::{UnmountFlags, unmount};
use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::{HostError, tool};

const DIRECTORY: &str = "/run/netns";
const CURRENT: &str = "/proc/thread-self/ns/net";
const PREFIX: &str = "sluice-";

/// A handle to a network namespace; clones name the same one. It does not own the name.
#[derive(Clone, Debug)]
pub struct Ns {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// `None` for the namespace in which the process was when asked.
    name: Option<String>,
    file: File,
}

impl Ns {
    /// The namespace of the calling thread.
    pub fn current() -> Result<Self, HostError> {
        Self::open(None, CURRENT)
    }

    /// An existing namespace, as `ip netns list` names it.
    pub fn named(name: &str) -> Result<Self, HostError> {
        Self::open(Some(name.to_owned()), &format!("{DIRECTORY}/{name}"))
    }

    fn open(name: Option<String>, path: &str) -> Result<Self, HostError> {
        let file = File::open(path).map_err(HostError::os(format!("open namespace {path}")))?;
        Ok(Self {
            inner: Arc::new(Inner { name, file }),
        })
    }

    /// The name, unless it is the namespace in which the process was found.
    pub fn name(&self) -> Option<&str> {
        self.inner.name.as_deref()
    }

    /// The name, or words for the namespace that has none.
    pub fn describe(&self) -> &str {
        self.name().unwrap_or("the current namespace")
    }

    /// Runs `work` inside the namespace and waits for it: on a thread of its own, unless the
    /// caller is there already, which needs no privilege. Sockets and devices that it opens
    /// stay in that namespace, whoever uses them later. A panic of `work` goes on in the caller.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, HostError> {
        if self.is_current()? {
            return Ok(work());
        }
        let inside = || {
            let network = Some(LinkNameSpaceType::Network);
            move_into_link_name_space(self.inner.file.as_fd(), network)
                .map_err(HostError::os(format!("enter {}", self.describe())))?;
            Ok(work())
        };
        let outcome = std::thread::scope(|scope| scope.spawn(inside).join());
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }

    /// Whether the calling thread is in it.
    fn is_current(&self) -> Result<bool, HostError> {
        let ours = std::fs::metadata(CURRENT).map_err(HostError::os(format!("read {CURRENT}")))?;
        let its = self
            .inner
            .file
            .metadata()
            .map_err(HostError::os("read a namespace"))?;
        Ok((ours.dev(), ours.ino()) == (its.dev(), its.ino()))
    }

    /// A command that will run in the namespace. Its process id is that of `program` itself.
    pub fn command(&self, program: &str) -> Command {
        match self.name() {
            None => Command::new(program),
            Some(name) => {
                let mut command = Command::new("ip");
                command.args(["netns", "exec", name, program]);
                command
            }
        }
    }

    /// `ip`, working on the namespace.
    pub fn ip(&self) -> Command {
        let mut command = Command::new("ip");
        if let Some(name) = self.name() {
            command.args(["-n", name]);
        }
        command
    }

    /// Runs `ip` commands in one process; each line is a command without the word `ip`.
    pub fn ip_batch(&self, lines: &str) -> Result<(), HostError> {
        for (family, lines) in by_family(lines) {
            tool::run_with_input(self.ip().args(family).args(["-batch", "-"]), &lines)?;
        }
        Ok(())
    }

    /// The same, and goes on behind lines that fail: to take away what may have gone by itself.
    pub fn ip_batch_all(&self, lines: &str) -> Result<(), HostError> {
        for (family, lines) in by_family(lines) {
            tool::run_with_input(
                self.ip().args(family).args(["-force", "-batch", "-"]),
                &lines,
            )?;
        }
        Ok(())
    }
}

/// Lines for `ip`, which takes the address family for all of a batch, and those that begin with
/// `-6`, for `ip -6`.
fn by_family(lines: &str) -> Vec<(Option<&'static str>, String)> {
    let (mut any, mut ipv6) = (String::new(), String::new());
    for line in lines.lines() {
        let (to, line) = match line.strip_prefix("-6 ") {
            Some(line) => (&mut ipv6, line),
            None => (&mut any, line),
        };
        to.push_str(line);
        to.push('\n');
    }
    let batches = [(None, any), (Some("-6"), ipv6)];
    batches
        .into_iter()
        .filter(|(_, lines)| !lines.is_empty())
        .collect()
}

/// A namespace that this process made; it is deleted with the value.
#[derive(Debug)]
pub struct Netns {
    ns: Ns,
    name: String,
    deleted: bool,
}

impl Netns {
    /// Makes `sluice-<pid>-<label>` with its loopback up. The label may have 1 to 32 letters,
    /// digits, '-' and '_'.
    pub fn create(label: &str) -> Result<Self, HostError> {
        check_label(label)?;
        let name = format!("{PREFIX}{}-{label}", std::process::id());
        tool::run(Command::new("ip").args(["netns", "add", &name]))?;
        let opened = Ns::named(&name).and_then(|ns| {
            ns.ip_batch("link set lo up\n")?;
            Ok(ns)
        });
        match opened {
            Ok(ns) => Ok(Self {
                ns,
                name,
                deleted: false,
            }),
            Err(error) => {
                delete_named(&name)?;
                Err(error)
            }
        }
    }

    /// The handle that the rest of this crate works with.
    pub fn ns(&self) -> &Ns {
        &self.ns
    }

    /// The full name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Deletes the name now; a second call does nothing. The kernel frees the namespace when
    /// the last socket, device handle and process in it is gone.
    pub fn delete(&mut self) -> Result<(), HostError> {
        if !std::mem::replace(&mut self.deleted, true) {
            delete_named(&self.name)?;
        }
        Ok(())
    }
}

impl std::ops::Deref for Netns {
    type Target = Ns;

    fn deref(&self) -> &Ns {
        &self.ns
    }
}

impl Drop for Netns {
    fn drop(&mut self) {
        // Nobody is left to tell; `sweep` tries again in the next run.
        let _ = self.delete();
    }
}

/// Deletes the namespaces of Sluice processes that are dead, ends the processes that these
/// left inside, and gives the names.
pub fn sweep() -> Result<Vec<String>, HostError> {
    let mut gone = Vec::new();
    for name in names()? {
        if owner(&name).is_some_and(|pid| !is_alive(pid)) {
            end_processes_in(&name)?;
            delete_named(&name)?;
            gone.push(name);
        }
    }
    Ok(gone)
}

/// Names of the namespaces that processes of Sluice made and that exist now.
pub fn names() -> Result<Vec<String>, HostError> {
    let entries = match std::fs::read_dir(DIRECTORY) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(HostError::os(format!("list {DIRECTORY}"))(error)),
    };
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    Ok(names.filter(|name| owner(name).is_some()).collect())
}

/// Deletes the name of a namespace of this process whose owner cannot, as the process ends.
pub fn forget(name: &str) -> Result<(), HostError> {
    match owner(name) {
        Some(pid) if pid == std::process::id() => delete_named(name),
        _ => Ok(()),
    }
}

fn check_label(label: &str) -> Result<(), HostError> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if (1..=32).contains(&label.len()) && label.chars().all(legal) {
        Ok(())
    } else {
        Err(HostError::NamespaceLabel(label.to_owned()))
    }
}

/// The process id in a name of ours.
fn owner(name: &str) -> Option<u32> {
    let (pid, label) = name.strip_prefix(PREFIX)?.split_once('-')?;
    check_label(label).ok()?;
    pid.parse().ok()
}

fn is_alive(pid: u32) -> bool {
    // A process that was killed and that nobody has reaped yet is still listed (proc(5), stat).
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    stat.is_ok_and(|stat| {
        stat.rsplit_once(") ")
            .is_some_and(|(_, rest)| !rest.starts_with('Z'))
    })
}

fn end_processes_in(name: &str) -> Result<(), HostError> {
    let pids = tool::run(Command::new("ip").args(["netns", "pids", name]))?;
    let pids = pids
        .split_whitespace()
        .filter_map(|word| word.parse().ok().and_then(Pid::from_raw));
    for pid in pids {
        // It may have ended since it was listed.
        let _ = kill_process(pid, Signal::KILL);
    }
    Ok(())
}

/// As `ip netns delete` does it, without starting a process for each of hundreds.
fn delete_named(name: &str) -> Result<(), HostError> {
    let path = Path::new(DIRECTORY).join(name);
    // It is no mount where the one who made it had mounts of his own; the file goes all the same.
    let _ = unmount(&path, UnmountFlags::DETACH);
    match std::fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(HostError::os(format!("delete {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_names_have_an_owner() {
        assert_eq!(owner("sluice-77-upf"), Some(77));
        assert_eq!(owner("sluice-77-gnb-a"), Some(77));
        assert_eq!(owner("sluice-x-upf"), None);
        assert_eq!(owner("sluice-77-"), None);
        assert_eq!(owner("other-77-upf"), None);
    }

    #[test]
    fn a_label_that_is_no_file_name_is_refused() {
        for label in ["", "a/b", "a b", "..", &"x".repeat(33)] {
            assert!(
                matches!(Netns::create(label), Err(HostError::NamespaceLabel(_))),
                "{label}"
            );
        }
    }
}
