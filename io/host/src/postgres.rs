//! A PostgreSQL server for tests: its own, in a temporary folder, on a Unix socket there. It ends with whoever
//! started it, also if that is killed: a shell beside it waits for the end of its standard input.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::geteuid;

use crate::tool;

/// Users under which the server runs if we are root, which it refuses to be: the first that exists.
const USERS: [&str; 2] = ["postgres", "nobody"];
/// Folder of Debian's servers, by version.
const BINARIES: &str = "/usr/lib/postgresql";
/// The one role.
const ROLE: &str = "sluice";
/// How long a start may take on a busy machine.
const STARTS_WITHIN: Duration = Duration::from_secs(120);

/// `$1` is the folder; the rest is the server's command line.
const GUARD: &str = r#"
folder=$1; shift
pid=
end() { [ -z "$pid" ] || { kill -INT "$pid"; wait "$pid"; pid=; }; }
trap '' INT TERM HUP
while read -r word; do
    case $word in
    start) "$@" >>"$folder/log" 2>&1 & pid=$! ;;
    stop) end; echo ended ;;
    esac
done
end
rm -rf "$folder"
"#;

/// A server that runs, or that was stopped for a while.
pub struct Postgres {
    guard: Mutex<Child>,
    folder: PathBuf,
    binaries: PathBuf,
    databases: AtomicU32,
}

/// The folder of the newest server that is installed.
fn binaries() -> Option<PathBuf> {
    let versions = std::fs::read_dir(BINARIES).ok()?;
    let folders = versions.flatten().map(|version| version.path().join("bin"));
    let is_there = |folder: &PathBuf| folder.join("initdb").is_file();
    let version =
        |folder: &PathBuf| -> Option<u32> { folder.parent()?.file_name()?.to_str()?.parse().ok() };
    folders.filter(is_there).max_by_key(version)
}

/// First words of the server's command line: it runs as another user if we are root.
fn prefix() -> Result<Vec<String>, String> {
    if !geteuid().is_root() {
        return Ok(Vec::new());
    }
    let id = |flag: &str, user: &str| {
        let told = tool::run(Command::new("id").args([flag, user]));
        told.map(|text| text.trim().to_owned())
    };
    let user = USERS.iter().find_map(|user| {
        let ids = (id("-u", user).ok()?, id("-g", user).ok()?);
        Some(ids)
    });
    let (uid, gid) = user.ok_or("there is no user that is not root")?;
    let words = [
        "setpriv".to_owned(),
        format!("--reuid={uid}"),
        format!("--regid={gid}"),
        "--clear-groups".to_owned(),
        "--".to_owned(),
    ];
    Ok(words.into())
}

fn command(words: &[String]) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    command
}

impl Postgres {
    /// Starts a server in a new folder.
    ///
    /// # Errors
    /// Why there is none, in words that follow `skipped: `.
    pub fn start() -> Result<Self, String> {
        let binaries =
            binaries().ok_or("no PostgreSQL server is installed (Debian: postgresql)")?;
        let prefix = prefix()?;
        let folder = new_folder(&prefix)?;
        let made = Self::in_folder(&folder, binaries, &prefix);
        if made.is_err() {
            let _ = std::fs::remove_dir_all(&folder);
        }
        made
    }

    fn in_folder(folder: &Path, binaries: PathBuf, prefix: &[String]) -> Result<Self, String> {
        let data = folder.join("data");
        let at = |name: &str| binaries.join(name).display().to_string();
        let data = data.display().to_string();
        let initdb = [
            at("initdb"),
            format!("--pgdata={data}"),
            "--auth=trust".to_owned(),
            format!("--username={ROLE}"),
            "--no-sync".to_owned(),
            "--encoding=UTF8".to_owned(),
            "--locale=C".to_owned(),
        ];
        let words: Vec<String> = prefix.iter().cloned().chain(initdb).collect();
        tool::run(command(&words).current_dir("/")).map_err(|error| error.to_string())?;
        let server = [
            at("postgres"),
            "-D".to_owned(),
            data,
            "-k".to_owned(),
            folder.display().to_string(),
            "-c".to_owned(),
            "listen_addresses=".to_owned(),
            "-c".to_owned(),
            "fsync=off".to_owned(),
        ];
        let mut words = vec!["sh".to_owned(), "-c".to_owned(), GUARD.to_owned()];
        words.extend(["guard".to_owned(), folder.display().to_string()]);
        words.extend(prefix.iter().cloned().chain(server));
        let guard = command(&words)
            .current_dir("/")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| error.to_string())?;
        let server = Self {
            guard: Mutex::new(guard),
            folder: folder.to_owned(),
            binaries,
            databases: AtomicU32::new(0),
        };
        server.go_on()?;
        Ok(server)
    }

    fn tell(&self, word: &str) -> Result<(), String> {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        let pipe = guard.stdin.as_mut().ok_or("the guard is gone")?;
        writeln!(pipe, "{word}").map_err(|error| error.to_string())
    }

    /// Ends the server; connections are closed by it.
    ///
    /// # Errors
    /// When it does not end.
    pub fn stop(&self) -> Result<(), String> {
        self.tell("stop")?;
        self.wait(|| !self.answers(), "does not end")
    }

    /// Starts it again, with what it had.
    ///
    /// # Errors
    /// When it does not start.
    pub fn go_on(&self) -> Result<(), String> {
        self.tell("start")?;
        self.wait(|| self.answers(), "does not start")
    }

    fn wait(&self, is_done: impl Fn() -> bool, what: &str) -> Result<(), String> {
        let until = Instant::now() + STARTS_WITHIN;
        while !is_done() {
            if Instant::now() > until {
                let log = std::fs::read_to_string(self.folder.join("log")).unwrap_or_default();
                return Err(format!("the server {what}: {log}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    fn answers(&self) -> bool {
        self.sql("postgres", "SELECT 1").is_ok()
    }

    /// Runs statements in a database, and gives what they print.
    ///
    /// # Errors
    /// What psql says.
    pub fn sql(&self, database: &str, statements: &str) -> Result<String, String> {
        let mut psql = Command::new(self.binaries.join("psql"));
        psql.args(["-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", ROLE]);
        psql.args(["-d", database, "-c", statements]);
        psql.arg("-h").arg(&self.folder);
        tool::run(&mut psql).map_err(|error| error.to_string())
    }

    /// Makes an empty database; its name.
    ///
    /// # Errors
    /// What psql says.
    pub fn new_database(&self) -> Result<String, String> {
        let name = format!("test_{}", self.databases.fetch_add(1, Ordering::Relaxed));
        self.sql("postgres", &format!("CREATE DATABASE {name}"))?;
        Ok(name)
    }

    /// The connection string of a database.
    pub fn url(&self, database: &str) -> String {
        format!(
            "postgresql:///{database}?host={}&user={ROLE}",
            self.folder.display()
        )
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        let mut guard = self.guard.lock().unwrap_or_else(PoisonError::into_inner);
        drop(guard.stdin.take());
        let _ = guard.wait();
    }
}

/// A folder that the server's user owns. Sockets have short names: it lies in /tmp whatever TMPDIR says.
fn new_folder(prefix: &[String]) -> Result<PathBuf, String> {
    let make = ["mktemp", "-d", "/tmp/sluice-postgres-XXXXXX"].map(str::to_owned);
    let words: Vec<String> = prefix.iter().cloned().chain(make).collect();
    let told = tool::run(command(&words).current_dir("/")).map_err(|error| error.to_string())?;
    Ok(PathBuf::from(told.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_runs_stops_goes_on_and_leaves_nothing() {
        let server = match Postgres::start() {
            Ok(server) => server,
            Err(why) => return eprintln!("skipped: {why}"),
        };
        let folder = server.folder.clone();
        let database = server.new_database().unwrap();
        let make = "CREATE TABLE one (x BIGINT); INSERT INTO one VALUES (7)";
        server.sql(&database, make).unwrap();
        server.stop().unwrap();
        assert!(server.sql(&database, "SELECT x FROM one").is_err());
        server.go_on().unwrap();
        let told = server.sql(&database, "SELECT x FROM one").unwrap();
        assert_eq!(told.trim(), "7");
        assert!(
            server
                .url(&database)
                .starts_with("postgresql:///test_0?host=/tmp/")
        );
        drop(server);
        assert!(!folder.exists());
    }
}
