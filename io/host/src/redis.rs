//! A Redis server for tests: its own, in a temporary folder, on a Unix socket there and a port of the loopback
//! interface. It ends with whoever started it, also if that is killed: a shell beside it waits for the end of its
//! standard input.

use std::io::Write as _;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::tool;

const SERVER: &str = "redis-server";
/// How long a start may take on a busy machine.
const STARTS_WITHIN: Duration = Duration::from_secs(120);

/// `$1` is the folder; the rest is the server's command line.
const GUARD: &str = r#"
folder=$1; shift
pid=
end() { [ -z "$pid" ] || { kill -CONT "$pid"; kill -KILL "$pid"; wait "$pid"; pid=; } 2>/dev/null; }
trap '' INT TERM HUP
while read -r word; do
    case $word in
    start) "$@" >>"$folder/log" 2>&1 & pid=$! ;;
    kill) end ;;
    pause) kill -STOP "$pid" ;;
    go_on) kill -CONT "$pid" ;;
    esac
done
end
rm -rf "$folder"
"#;

/// A server that runs, or that was killed.
pub struct Redis {
    guard: Mutex<Child>,
    folder: PathBuf,
    port: u16,
}

impl Redis {
    /// Starts a server in a new folder; it stores nothing on the disk.
    ///
    /// # Errors
    /// Why there is none, in words that follow `skipped: `.
    pub fn start() -> Result<Self, String> {
        Self::with(&[])
    }

    /// Starts a replica of a server, and waits until it has what that has.
    ///
    /// # Errors
    /// Why there is none.
    pub fn start_replica_of(primary: &Self) -> Result<Self, String> {
        let port = primary.port.to_string();
        // Without the pause in which a primary waits for more replicas.
        primary.cli(&["CONFIG", "SET", "repl-diskless-sync-delay", "0"])?;
        let replica = Self::with(&["--replicaof", "127.0.0.1", &port])?;
        let is_up = || replica.cli(&["INFO", "replication"]);
        replica.wait("does not follow its primary", || {
            is_up().is_ok_and(|told| told.contains("master_link_status:up"))
        })?;
        Ok(replica)
    }

    fn with(arguments: &[&str]) -> Result<Self, String> {
        if !tool::is_installed(SERVER) || !tool::is_installed("redis-cli") {
            return Err(format!("no {SERVER} is installed (Debian: redis-server)"));
        }
        // Sockets have short names: it lies in /tmp whatever TMPDIR says.
        let mut make = Command::new("mktemp");
        let made = tool::run(make.args(["-d", "/tmp/sluice-redis-XXXXXX"]));
        let folder = PathBuf::from(made.map_err(|error| error.to_string())?.trim());
        let shown = folder.display().to_string();
        let port = free_port()?;
        let guard = Command::new("sh")
            .args(["-c", GUARD, "guard", &shown, SERVER])
            .args(["--port", &port.to_string(), "--bind", "127.0.0.1"])
            .args(["--unixsocket", &format!("{shown}/socket"), "--dir", &shown])
            .args(["--save", "", "--appendonly", "no", "--daemonize", "no"])
            .args(arguments)
            .current_dir("/")
            .stdin(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let server = Self {
            guard: Mutex::new(guard),
            folder,
            port,
        };
        server.start_again()?;
        Ok(server)
    }

    fn tell(&self, word: &str) -> Result<(), String> {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = guard.stdin.as_mut().ok_or("the guard is gone")?;
        writeln!(pipe, "{word}").map_err(|error| error.to_string())
    }

    /// Kills the server, and with it all that it had.
    ///
    /// # Errors
    /// When it does not end.
    pub fn kill(&self) -> Result<(), String> {
        self.tell("kill")?;
        self.wait("does not end", || self.cli(&["PING"]).is_err())
    }

    /// Starts it again after it was killed, with nothing in it.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start_again(&self) -> Result<(), String> {
        self.tell("start")?;
        let is_there = || self.cli(&["PING"]).is_ok_and(|told| told.trim() == "PONG");
        self.wait("does not start", is_there)
    }

    /// Stops it: it answers nobody until [`go_on`](Self::go_on).
    ///
    /// # Errors
    /// When it does not stop.
    pub fn pause(&self) -> Result<(), String> {
        let told = self.cli(&["INFO", "server"])?;
        let pid = told
            .lines()
            .find_map(|line| line.strip_prefix("process_id:"))
            .ok_or("the server does not tell its process")?;
        let stat = format!("/proc/{}/stat", pid.trim());
        self.tell("pause")?;
        let is_stopped = || std::fs::read_to_string(&stat).is_ok_and(|stat| stat.contains(") T "));
        self.wait("does not stop", is_stopped)
    }

    /// Lets the server answer again.
    ///
    /// # Errors
    /// The guard is gone.
    pub fn go_on(&self) -> Result<(), String> {
        self.tell("go_on")
    }

    fn wait(&self, what: &str, is_done: impl Fn() -> bool) -> Result<(), String> {
        let until = Instant::now() + STARTS_WITHIN;
        while !is_done() {
            if Instant::now() > until {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(format!("the server {what}: {log}"));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Sends a command, and gives what redis-cli prints.
    ///
    /// # Errors
    /// What redis-cli says.
    pub fn cli(&self, words: &[&str]) -> Result<String, String> {
        let mut cli = Command::new("redis-cli");
        cli.arg("-e").arg("-s").arg(self.socket()).args(words);
        tool::run(&mut cli).map_err(|error| error.to_string())
    }

    /// Path of the server's socket.
    pub fn socket(&self) -> PathBuf {
        self.folder.join("socket")
    }

    /// URL of the server, by the socket.
    pub fn url(&self) -> String {
        format!("unix://{}", self.socket().display())
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        drop(guard.stdin.take());
        let _ = guard.wait();
    }
}

/// A port of the loopback interface that nobody has now.
fn free_port() -> Result<u16, String> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|one| one.local_addr());
    listener
        .map(|address| address.port())
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_runs_has_a_replica_and_leaves_nothing() {
        let server = match Redis::start() {
            Ok(server) => server,
            Err(why) => return eprintln!("skipped: {why}"),
        };
        let folder = server.folder.clone();
        server.cli(&["SET", "x", "7"]).unwrap();
        let replica = Redis::start_replica_of(&server).unwrap();
        assert_eq!(replica.cli(&["GET", "x"]).unwrap().trim(), "7");
        assert!(replica.cli(&["SET", "x", "8"]).is_err());
        server.kill().unwrap();
        server.start_again().unwrap();
        assert_eq!(server.cli(&["GET", "x"]).unwrap().trim(), "");
        drop((server, replica));
        assert!(!folder.exists());
    }
}
