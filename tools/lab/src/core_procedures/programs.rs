//! `sluice core` and `sluice ran` in a namespace, with their files.

use super::upf;
use crate::experiments::{Job, Problem};
use serde_json::Value;
use sluice_host::netns::Ns;
use sluice_host::process::Process;
use sluice_host::thread::pin;
use sluice_program::ask::ask_for;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Until a core is ready; it waits 10 s for its functions itself.
const READY_LIMIT: Duration = Duration::from_secs(30);
/// Longer than procedures take that have no answer.
const END_LIMIT: Duration = Duration::from_secs(40);
const LOOK: Duration = Duration::from_millis(10);
/// Functions that are registered at an NRF: AMF, AUSF, NSSF, PCF, SMF, UDM, UDR.
const FUNCTIONS: usize = 7;
/// Address of the AMF, the SMF and services.
const CORE: &str = "127.0.1.1";
const GNB: &str = "127.0.1.2";
const K: &str = "46464646464646464646464646464646";
const OPC: &str = "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";
/// First subscriber; the others follow.
const FIRST_IMSI: u64 = 1_010_000_000_001;

/// A core that runs until the value is dropped.
pub struct Core {
    process: Process,
}

impl Core {
    /// In this wiring, with so many subscribers; when it returns, the core is ready for UEs.
    pub fn start(
        (ns, folder): (&Ns, &Path),
        cpus: &[usize],
        (wiring, subscribers): (&str, u32),
        job: &Job<'_>,
    ) -> Result<Self, Problem> {
        let socket = folder.join("core.sock");
        let file = write(folder, "core.yaml", &config(&socket, wiring, subscribers))?;
        let log = folder.join("core.log");
        let mut command = command(ns, "sluice-core", &file)?;
        command.stdout(Stdio::null()).stderr(create(&log)?);
        let mut process = spawn(command, cpus)?;
        let end = Instant::now() + READY_LIMIT;
        while !is_ready(&socket) {
            job.go_on()?;
            let ended = process.status();
            if ended.is_some() || Instant::now() > end {
                let said = fs::read_to_string(&log).unwrap_or_default();
                let how = ended.map_or("is not ready".to_owned(), |s| format!("ended: {s}"));
                return Err(Problem::Failed(format!("the core {how}: {said}")));
            }
            std::thread::sleep(LOOK);
        }
        Ok(Self { process })
    }

    pub fn pid(&self) -> u32 {
        self.process.number()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.process.stop();
    }
}

/// Whether the UPF is associated and all functions are registered.
fn is_ready(socket: &Path) -> bool {
    let all = |cmd: &str, key: &str| -> Vec<Value> {
        let answer = ask_for(socket, cmd).ok();
        let list = answer.and_then(|answer| answer[key].as_array().cloned());
        list.unwrap_or_default()
    };
    let is_up = |upf: &Value| upf["associated"] == true;
    all("status", "upfs").iter().any(is_up) && all("nfs", "nfs").len() >= FUNCTIONS
}

/// gNB and UEs.
pub struct Ran<'a> {
    pub ns: &'a Ns,
    pub folder: &'a Path,
    pub cpus: &'a [usize],
    pub ues: u32,
}

impl Ran<'_> {
    /// All UEs at a time, each again and again, for so long; gives what `sluice ran` tells of procedures.
    pub fn cycle(&self, lasts: Duration, job: &Job<'_>) -> Result<Value, Problem> {
        let text = scenario(self.ues, lasts);
        let file = write(self.folder, "ran.yaml", &text)?;
        let [told, log] = ["ran.json", "ran.log"].map(|name| self.folder.join(name));
        let mut command = command(self.ns, "sluice-ran", &file)?;
        command.args(["--json", "--once"]);
        command.stdout(create(&told)?).stderr(create(&log)?);
        let mut process = spawn(command, self.cpus)?;
        let end = Instant::now() + lasts + END_LIMIT;
        let status = loop {
            if let Some(status) = process.status() {
                break status;
            }
            let why = job.go_on().err();
            let late = || Problem::Failed("sluice ran does not end".to_owned());
            if let Some(why) = why.or_else(|| (Instant::now() > end).then(late)) {
                process.stop();
                return Err(why);
            }
            std::thread::sleep(LOOK);
        };
        let text = fs::read_to_string(&told).unwrap_or_default();
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        match answer.get("procedures") {
            Some(procedures) => Ok(procedures.clone()),
            None => {
                let said = fs::read_to_string(&log).unwrap_or_default();
                Err(Problem::Failed(format!(
                    "sluice ran {status}: {text}{said}"
                )))
            }
        }
    }
}

/// A program beside this one, in the namespace.
fn command(ns: &Ns, program: &str, file: &Path) -> Result<Command, Problem> {
    let path = sluice_program::tool::beside(program).map_err(|e| Problem::Failed(e.to_string()))?;
    if !path.is_file() {
        let path = path.display();
        let what = format!("{path} is missing: build it with scripts/build.sh release core ran");
        return Err(Problem::Lacking(what));
    }
    let mut command = ns.command(&path.to_string_lossy());
    command.arg("-c").arg(file).env_remove("SLUICE_LOG");
    command.stdin(Stdio::null());
    Ok(command)
}

/// Starts it on these CPUs: a program has those of the thread that starts it.
fn spawn(mut command: Command, cpus: &[usize]) -> Result<Process, Problem> {
    let failed = |error: &dyn std::fmt::Display| Problem::Failed(error.to_string());
    std::thread::scope(|scope| {
        let starting = scope.spawn(|| {
            pin(cpus).map_err(|e| failed(&e))?;
            Process::spawn(&mut command).map_err(|e| failed(&e))
        });
        let ended = |_| Problem::Failed("a thread has ended early".to_owned());
        starting.join().map_err(ended)?
    })
}

fn create(path: &Path) -> Result<File, Problem> {
    let failed = |e| Problem::Failed(format!("{}: {e}", path.display()));
    File::create(path).map_err(failed)
}

/// Writes a file for its owner alone: it has keys.
fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, Problem> {
    let path = folder.join(name);
    let written = fs::write(&path, text);
    let mode = fs::Permissions::from_mode(0o600);
    let closed = written.and_then(|()| fs::set_permissions(&path, mode));
    closed.map_err(|e| Problem::Failed(format!("{}: {e}", path.display())))?;
    Ok(path)
}

fn config(socket: &Path, wiring: &str, subscribers: u32) -> String {
    let sbi = match wiring {
        // Nobody else is in the namespace.
        "http2" => format!("sbi: {{listen: {CORE}:7777, cleartext: true}}\n"),
        _ => String::new(),
    };
    let subscriber = |number: u64| {
        let imsi = FIRST_IMSI + number;
        format!("  - {{imsi: '{imsi:015}', k: {K}, opc: {OPC}, networks: {{name: internet}}}}\n")
    };
    let subscribers: String = (0..u64::from(subscribers)).map(subscriber).collect();
    format!(
        "# Written by `sluice lab`.\n\
         control_socket: {socket}\n\
         wiring: {{transport: {wiring}}}\n{sbi}\
         plmns: {{plmn: 001-01, slices: 1}}\n\
         tracking_areas: {{tac: 1}}\n\
         n2: {{listen: {CORE}, over: udp, gnbs: {GNB}}}\n\
         n4: {{listen: {CORE}}}\n\
         upfs: {{n4: {upf}}}\n\
         data_networks: {{name: internet}}\n\
         subscribers:\n{subscribers}",
        socket = socket.display(),
        upf = upf::ADDRESS,
    )
}

fn scenario(ues: u32, lasts: Duration) -> String {
    format!(
        "# Written by `sluice lab`.\n\
         gnbs: {{count: 1, n3: {GNB}, n2: {{amf: {CORE}, plmn: '00101', over: udp}}}}\n\
         ues:\n\
         \x20 count: {ues}\n\
         \x20 imsi: '{FIRST_IMSI:015}'\n\
         \x20 sim: {{k: {K}, opc: {OPC}, devices: false, sessions: {{dnn: internet, type: ipv4}}}}\n\
         steps:\n\
         \x20 - cycle: {{at_once: {ues}, procedures: [establish], for: {ms}ms}}\n",
        ms = lasts.as_millis(),
    )
}
