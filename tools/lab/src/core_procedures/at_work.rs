//! A core, its UPF, and gNBs with UEs at work in their places.

use super::files::{self, Activity, CoreFile};
use super::place::{FUNCTIONS, Place};
use super::relay::Relay;
use super::upf::{N4, Upf};
use crate::experiments::{Job, Problem};
use crate::programs::{command, create, spawn, until_ended, until_ready, write};
use serde_json::Value;
use sluice_host::process::Process;
use sluice_program::ask::ask_for;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// Until functions have found each other.
const FIND_LIMIT: Duration = Duration::from_secs(30);
/// Longer than procedures take that have no answer.
const END_LIMIT: Duration = Duration::from_secs(40);
/// Functions that are registered at an NRF: all but the NRF itself.
const REGISTERED: usize = FUNCTIONS.len() - 1;
/// Lines of a log that a failure shows.
const LAST_LINES: usize = 5;
/// Address of a UPF that a relay stands before.
const FAR_UPF: Ipv4Addr = Ipv4Addr::new(127, 0, 1, 4);

/// Namespaces and files of an experiment, and CPUs of its programs.
pub struct Room<'a> {
    pub place: &'a Place,
    pub folder: &'a Path,
    pub core_cpus: &'a [usize],
    pub rest_cpus: &'a [usize],
}

impl Room<'_> {
    /// Starts a program with this file, as what it is called by.
    fn start(
        &self,
        program: &str,
        arguments: &[&str],
        (file, name): (&Path, &str),
    ) -> Result<Process, Problem> {
        let mut command = command(Some(self.place.of(name)?), program)?;
        command.args(arguments).arg(file).stdout(Stdio::null());
        command.stderr(create(&self.log_of(name))?);
        let cpus = match name {
            "upf" => self.rest_cpus,
            _ => self.core_cpus,
        };
        spawn(command, cpus)
    }

    fn log_of(&self, name: &str) -> PathBuf {
        self.folder.join(format!("{name}.log"))
    }

    /// Last words of all programs.
    fn said(&self) -> String {
        let names = FUNCTIONS.into_iter().chain(["core", "upf", "ran"]);
        let said = names.filter_map(|name| {
            let text = fs::read_to_string(self.log_of(name)).ok()?;
            let lines: Vec<&str> = text.lines().collect();
            let last = lines.iter().skip(lines.len().saturating_sub(LAST_LINES));
            let last: Vec<String> = last.map(|line| format!("{name}: {line}\n")).collect();
            Some(last.concat())
        });
        said.collect()
    }
}

/// Programs of a core, which run until the value is dropped.
pub struct Core(Vec<Process>);

impl Core {
    /// With one place for all it is ready for UEs when this returns; functions with places of their own may need a moment
    /// more until they have found each other.
    pub fn start(room: &Room<'_>, config: &CoreFile<'_>, job: &Job<'_>) -> Result<Self, Problem> {
        let socket = room.folder.join("core.sock");
        let text = config.text(&socket, room.place);
        let file = write(room.folder, "core.yaml", &text)?;
        let mut core = Self(Vec::new());
        if room.place.is_apart() {
            for name in FUNCTIONS {
                let arguments = ["nf", name, "--alone", "-c"];
                core.0
                    .push(room.start("sluice-core", &arguments, (&file, name))?);
            }
            return Ok(core);
        }
        core.0
            .push(room.start("sluice-core", &["-c"], (&file, "core"))?);
        until_ready(&mut core.0, job, || is_core_ready(&socket), || room.said())?;
        Ok(core)
    }

    pub fn pids(&self) -> Vec<u32> {
        self.0.iter().map(Process::number).collect()
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Process::stop);
    }
}

/// Whether the UPF is associated and all functions are registered.
fn is_core_ready(socket: &Path) -> bool {
    let all = |cmd: &str, key: &str| -> Vec<Value> {
        let answer = ask_for(socket, cmd).ok();
        let list = answer.and_then(|answer| answer[key].as_array().cloned());
        list.unwrap_or_default()
    };
    let is_up = |upf: &Value| upf["associated"] == true;
    all("status", "upfs").iter().any(is_up) && all("nfs", "nfs").len() >= REGISTERED
}

/// A UPF, which ends with the value.
pub struct UpfAtWork {
    /// `sluice upf`, or a thread that answers on N4, perhaps behind a relay.
    program: Option<Process>,
    _relay: Option<Relay>,
    _thread: Option<Upf>,
}

impl UpfAtWork {
    /// One with packets, whose ports are links.
    pub fn with_packets(room: &Room<'_>, job: &Job<'_>) -> Result<Self, Problem> {
        let socket = room.folder.join("upf.sock");
        let text = files::upf(&socket, &room.place.addresses);
        let file = write(room.folder, "upf.yaml", &text)?;
        let process = room.start("sluice-upf", &["-c"], (&file, "upf"))?;
        let mut upf = Self {
            program: Some(process),
            _relay: None,
            _thread: None,
        };
        let is_ready = || ask_for(&socket, "status").is_ok();
        let its = upf.program.as_mut_slice();
        until_ready(its, job, is_ready, || room.said())?;
        Ok(upf)
    }

    /// One that only answers on N4; each way to it takes `distance`.
    pub fn without_packets(room: &Room<'_>, distance: Duration) -> Result<Self, Problem> {
        let (ns, told) = (room.place.of("upf")?, room.place.addresses.upf);
        let is_near = distance.is_zero();
        let own = if is_near { told } else { FAR_UPF };
        let thread = Upf::start(ns, N4 { own, told }, room.rest_cpus.to_vec())?;
        let relay = (!is_near).then(|| Relay::start(ns, told, own, distance));
        Ok(Self {
            program: None,
            _relay: relay.transpose()?,
            _thread: Some(thread),
        })
    }
}

impl Drop for UpfAtWork {
    fn drop(&mut self) {
        if let Some(program) = &mut self.program {
            program.stop();
        }
    }
}

/// gNB and UEs.
pub struct Ran<'a> {
    pub room: &'a Room<'a>,
    pub ues: u32,
    pub activity: Activity,
}

impl Ran<'_> {
    /// All UEs at a time, each again and again, for so long; gives what `sluice ran` tells of procedures.
    pub fn cycle(&self, lasts: Duration, job: &Job<'_>) -> Result<Value, Problem> {
        let data = match self.activity {
            Activity::Sessions => None,
            Activity::Mobility => self.room.place.of("data")?.name(),
        };
        let process = self.begin(&files::cycle(self.ues, lasts, data))?;
        self.end(process, lasts + END_LIMIT, job)
    }

    /// Begins these steps.
    pub fn begin(&self, steps: &str) -> Result<Process, Problem> {
        let place = self.room.place;
        // It cannot be in a namespace itself where it has to find others by their names.
        let (ns, name) = match self.activity {
            Activity::Sessions => (Some(place.of("ran")?), None),
            Activity::Mobility => (None, place.of("ran")?.name()),
        };
        let text = files::scenario(&place.addresses, self.ues, name, steps);
        let file = write(self.room.folder, "ran.yaml", &text)?;
        let mut command = command(ns, "sluice-ran")?;
        command.arg("-c").arg(file).args(["--json", "--once"]);
        command.stdout(create(&self.told())?);
        command.stderr(create(&self.room.log_of("ran"))?);
        spawn(command, self.room.rest_cpus)
    }

    /// Report of procedures when all steps are done.
    pub fn end(
        &self,
        mut process: Process,
        limit: Duration,
        job: &Job<'_>,
    ) -> Result<Value, Problem> {
        let status = until_ended(&mut process, limit, job)?;
        let text = fs::read_to_string(self.told()).unwrap_or_default();
        let answer: Value = serde_json::from_str(&text).unwrap_or_default();
        match answer.get("procedures") {
            Some(procedures) => Ok(procedures.clone()),
            None => {
                let said = self.room.said();
                Err(Problem::Failed(format!(
                    "sluice ran {status}: {text}\n{said}"
                )))
            }
        }
    }

    fn told(&self) -> PathBuf {
        self.room.folder.join("ran.json")
    }

    /// The same until it is done without a failure: functions have found each other, and connections are made.
    pub fn warm_up(&self, lasts: Duration, job: &Job<'_>) -> Result<(), Problem> {
        let end = Instant::now() + FIND_LIMIT;
        loop {
            let why = match self.cycle(lasts, job) {
                Ok(told) if failures(&told).is_empty() => return Ok(()),
                Ok(told) => format!("{}\n{}", failures(&told), self.room.said()),
                Err(Problem::Failed(why)) => why,
                Err(other) => return Err(other),
            };
            if Instant::now() > end {
                return Err(Problem::Failed(why));
            }
        }
    }
}

/// Procedures that were not done, with reasons.
pub fn failures(told: &Value) -> String {
    let rows = told.as_object().into_iter().flatten();
    let failed = rows.filter(|(_, row)| {
        let number = |key: &str| row[key].as_u64().unwrap_or_default();
        number("refused") + number("timed_out") + number("lost") > 0
    });
    let failed = failed.map(|(name, row)| format!("{name} has failed: {}", row["reasons"]));
    failed.collect::<Vec<_>>().join("; ")
}
