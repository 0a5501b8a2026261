//! The demo's UPF process: `sluice upf` in its namespace, and its control socket.

pub(super) mod config;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_host::netns::Ns;

use super::child::{Daemon, Stop};
use super::error::DemoError;
use super::workdir::WorkDir;
use crate::args::Driver;
use sluice_program::ask::ask_for;

pub(super) use self::config::Addresses;

const START_LIMIT: Duration = Duration::from_secs(20);

/// The running UPF; it ends with the value.
#[derive(Debug)]
pub(super) struct Upf {
    pub(super) daemon: Daemon,
    pub(super) ctl: Ctl,
}

impl Upf {
    /// Starts it in `ns`; when it returns, the UPF answers on its control socket.
    pub(super) fn start(
        ns: &Ns,
        work: &WorkDir,
        driver: Driver,
        addresses: Addresses,
        stop: &Stop,
    ) -> Result<Self, DemoError> {
        let socket = work.join("upf.ctl");
        let text = config::text(driver, addresses, work, &socket);
        let config = work.write("upf.yaml", text.as_bytes())?;
        let program = sluice_program::tool::beside("sluice-upf")
            .map_err(DemoError::io("find this program"))?;
        let mut command = ns.command(&program.to_string_lossy());
        command.arg("-c").arg(config);
        let daemon = Daemon::start("the UPF", command, work.join("upf.log"))?;
        let mut this = Self {
            daemon,
            ctl: Ctl { socket },
        };
        stop.wait_until("the UPF answers", START_LIMIT, || {
            this.daemon.check_alive()?;
            Ok(ask_for(&this.ctl.socket, "status").is_ok())
        })
        .and_then(|()| {
            stop.wait_until("the UPF's links are up", START_LIMIT, || {
                this.daemon.check_alive()?;
                Ok(this.ctl.ports()?.iter().all(|port| port.link == "up"))
            })
        })
        .map_err(|error| this.with_log(error))?;
        Ok(this)
    }

    fn with_log(&self, error: DemoError) -> DemoError {
        match error {
            DemoError::TooLate { what, limit } => DemoError::TooLate {
                what: format!("{what} (log: {})", self.daemon.log_tail(20).join("\n")),
                limit,
            },
            error => error,
        }
    }
}

/// Asks the UPF; clones ask the same one.
#[derive(Clone, Debug)]
pub(super) struct Ctl {
    socket: PathBuf,
}

/// Ledger of the UPF: the end of every packet.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Ledger {
    pub(super) received: u64,
    pub(super) transmitted: u64,
    pub(super) dropped: BTreeMap<String, u64>,
    pub(super) balances: bool,
}

/// A worker's load.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct WorkerLoad {
    pub(super) id: u32,
    /// Part of the time in which it did something else than wait, 0 to 1.
    #[serde(default)]
    pub(super) busy_share: f64,
    #[serde(default)]
    pub(super) packets: u64,
}

/// A port's counters.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct PortCounters {
    pub(super) name: String,
    /// "up" if it carries packets.
    #[serde(default)]
    pub(super) link: String,
    #[serde(default)]
    pub(super) rx_packets: u64,
    #[serde(default)]
    pub(super) tx_packets: u64,
    /// Packets that the kernel, or a device, had no room for until the UPF would take them.
    #[serde(default)]
    pub(super) rx_missed: u64,
    #[serde(default)]
    pub(super) rx_errors: u64,
    #[serde(default)]
    pub(super) rx_no_buffer: u64,
    #[serde(default)]
    pub(super) tx_errors: u64,
}

impl PortCounters {
    /// Packets that the UPF could not take or send.
    pub(super) fn failed(&self) -> u64 {
        self.rx_errors + self.rx_no_buffer + self.tx_errors
    }
}

impl Ctl {
    pub(super) fn ledger(&self) -> Result<Ledger, DemoError> {
        self.part("drops", "ledger")
    }

    pub(super) fn workers(&self) -> Result<Vec<WorkerLoad>, DemoError> {
        self.part("workers", "workers")
    }

    pub(super) fn ports(&self) -> Result<Vec<PortCounters>, DemoError> {
        self.part("ports", "ports")
    }

    /// The part `key` of the answer.
    fn part<T: for<'de> Deserialize<'de>>(&self, query: &str, key: &str) -> Result<T, DemoError> {
        let mut answer = ask_for(&self.socket, query)?;
        let part = answer.get_mut(key).map(Value::take).unwrap_or_default();
        serde_json::from_value(part).map_err(|error| {
            DemoError::answer(format!("the UPF, asked for its {key},"), error.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead as _, BufReader, Write as _};
    use std::os::unix::net::UnixListener;

    /// A UPF that gives `answer` to the next request, and the request.
    fn answering(name: &str, answer: &'static str) -> (Ctl, std::thread::JoinHandle<String>) {
        let socket = std::env::temp_dir().join(format!("sluice-ctl-{name}-{}", std::process::id()));
        let _ = std::fs::remove_file(&socket);
        let listener = UnixListener::bind(&socket).expect("bind");
        let ctl = Ctl { socket };
        let path = ctl.socket.clone();
        let thread = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().expect("accept");
            let mut line = String::new();
            BufReader::new(&stream).read_line(&mut line).expect("line");
            stream.write_all(answer.as_bytes()).expect("answer");
            std::fs::remove_file(path).expect("remove");
            line
        });
        (ctl, thread)
    }

    #[test]
    fn the_ledger_is_asked_for_and_read() {
        let (ctl, upf) = answering(
            "ledger",
            r#"{"ledger":{"received":5,"transmitted":3,"dropped":{"NoSession":2},"balances":true}}"#,
        );
        let ledger = ctl.ledger().expect("ledger");
        assert_eq!(
            (ledger.dropped.get("NoSession"), ledger.balances),
            (Some(&2), true)
        );
        assert_eq!(upf.join().expect("asked"), "{\"cmd\":\"drops\"}\n");
    }

    #[test]
    fn a_refusal_is_an_error_with_its_words() {
        let (ctl, upf) = answering("refusal", r#"{"error":"not now"}"#);
        let error = ctl.workers().expect_err("refused");
        assert!(error.to_string().contains("not now"), "{error}");
        upf.join().expect("asked");
    }
}
