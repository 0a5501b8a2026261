//! The daemon, and `sluice ctl` beside it.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use sluice::cli::args::CtlQuery;
use sluice::ctl;
use sluice_host::process::Process;

use super::{Config, Lab, SOON, eventually};

/// The program.
pub const SLUICE: &str = env!("CARGO_BIN_EXE_sluice");

/// A running `sluice upf`; it ends with the value.
pub struct Daemon {
    pub process: Process,
    pub socket: PathBuf,
    log: PathBuf,
}

/// How a command ended and what it said.
#[derive(Debug)]
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Daemon {
    /// Starts it; when this returns, it answers on its control socket.
    pub fn start(lab: &Lab, config: &Config) -> Self {
        Self::start_as(lab, "upf", config)
    }

    /// The same under another name, as a second one beside the first.
    pub fn start_as(lab: &Lab, name: &str, config: &Config) -> Self {
        let mut daemon = Self::spawn(lab, name, config);
        eventually("the daemon answers", || {
            if let Some(status) = daemon.process.status() {
                panic!("the daemon ended with {status}:\n{}", daemon.log());
            }
            ctl::ask(&daemon.socket, &CtlQuery::Status).is_ok()
        });
        daemon
    }

    /// Starts it and does not wait.
    pub fn spawn(lab: &Lab, name: &str, config: &Config) -> Self {
        let socket = lab.path(&format!("{name}.sock"));
        Self::spawn_text(lab, name, &config.text(&socket), socket)
    }

    /// The same with a file's text.
    pub fn spawn_text(lab: &Lab, name: &str, text: &str, socket: PathBuf) -> Self {
        let file = lab.path(&format!("{name}.yaml"));
        std::fs::write(&file, text).unwrap();
        let log = lab.path(&format!("{name}.log"));
        let mut command = lab.upf.command(SLUICE);
        command
            .args(["upf", "-c"])
            .arg(&file)
            .env_remove("SLUICE_LOG");
        let err = File::create(&log).unwrap();
        let out = err.try_clone().unwrap();
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        Self {
            process: Process::spawn(&mut command).unwrap(),
            socket,
            log,
        }
    }

    /// All that it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap()
    }

    /// Asks it in this process.
    pub fn ask(&self, query: &CtlQuery) -> Value {
        ctl::ask(&self.socket, query).unwrap_or_else(|e| panic!("{e}\n{}", self.log()))
    }

    /// The packet ledger, which must balance.
    pub fn ledger(&self) -> Value {
        let ledger = self.ask(&CtlQuery::Drops)["ledger"].take();
        assert_eq!(ledger["balances"], true, "{ledger:#}");
        ledger
    }

    /// Packets dropped for a reason.
    pub fn dropped(&self, reason: &str) -> u64 {
        self.ledger()["dropped"][reason].as_u64().unwrap_or(0)
    }

    /// `sluice ctl` with these arguments.
    pub fn ctl(&self, arguments: &[&str]) -> Said {
        ctl_at(&self.socket, arguments)
    }

    /// Waits for its end; gives the exit code and how long it took.
    pub fn wait(&mut self) -> (Option<i32>, Duration) {
        let began = Instant::now();
        let Some(status) = self.process.wait(SOON) else {
            panic!("still there:\n{}", self.log());
        };
        (status.code(), began.elapsed())
    }
}

/// `sluice ctl` for the daemon at `socket`.
pub fn ctl_at(socket: &Path, arguments: &[&str]) -> Said {
    let mut command = Command::new(SLUICE);
    command
        .args(["ctl", "--socket"])
        .arg(socket)
        .args(arguments);
    let output = command.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    Said {
        code: output.status.code(),
        out: text(output.stdout),
        err: text(output.stderr),
    }
}
