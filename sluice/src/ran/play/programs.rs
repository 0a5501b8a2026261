//! Real commands in the namespaces of UEs.

use std::collections::VecDeque;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_host::netns::Ns;
use sluice_host::process::Process;

use crate::ran::scenario::{Place, RunProgram};
use crate::ran::world::Ue;

/// Commands at the same time.
const AT_ONCE: usize = 16;
/// From one look at them to the next.
const LOOK: Duration = Duration::from_millis(10);
/// What is kept of what a command says.
const SAID_MAX_BYTES: u64 = 8 << 10;
/// Commands that failed, of which is told what they said.
const TOLD: usize = 3;

/// Where a command runs, and for whom.
struct Seat {
    name: String,
    ns: Ns,
    environment: Vec<(&'static str, String)>,
}

/// How commands ended.
#[derive(Debug, Default)]
pub struct Ended {
    /// By whom, with which code (`None`: a signal, the time, or not started), and what was said.
    all: Vec<(String, Option<i32>, String)>,
}

impl Ended {
    /// What was expected, what was seen, and whether it is as it should be.
    pub fn judge(&self, program: &RunProgram) -> (String, String, bool) {
        let good = self.good(program.exit).count();
        let expected = format!("exit {} of {}", program.exit, self.all.len());
        let mut seen = format!("{good} of {}", self.all.len());
        let wrong = self
            .all
            .iter()
            .find(|(_, code, _)| *code != Some(program.exit));
        if let Some((name, code, _)) = wrong {
            let code = code.map_or("no exit code".to_owned(), |code| format!("exit {code}"));
            seen.push_str(&format!("; {name}: {code}"));
        }
        (expected, seen, good == self.all.len())
    }

    /// What commands said that did not end as they should.
    pub fn complaints(&self, program: &RunProgram) -> Vec<String> {
        let wanted = Some(program.exit);
        let failed = self.all.iter().filter(|(_, code, _)| *code != wanted);
        let said = failed.take(TOLD).flat_map(|(name, _, said)| {
            let lines: Vec<_> = said.trim().lines().rev().take(5).collect();
            let lines = lines.into_iter().rev();
            lines.map(move |line| format!("{name}: {line}"))
        });
        said.collect()
    }

    fn good(&self, exit: i32) -> impl Iterator<Item = &(String, Option<i32>, String)> {
        self.all
            .iter()
            .filter(move |(_, code, _)| *code == Some(exit))
    }
}

/// Starts a command for each UE that it is meant for, on a thread that looks after them. The flag
/// ends them.
pub fn start(
    ues: &[Ue],
    program: &RunProgram,
) -> (Arc<AtomicBool>, std::io::Result<JoinHandle<Ended>>) {
    let seats = seats(ues, program);
    let stop = Arc::new(AtomicBool::new(false));
    let (its, program) = (Arc::clone(&stop), program.clone());
    let running = std::thread::Builder::new()
        .name("run".to_owned())
        .spawn(move || match seats {
            Ok(seats) => run_all(seats, &program, &its),
            Err(error) => Ended {
                all: vec![(program.command.clone(), None, error.to_string())],
            },
        });
    (stop, running)
}

fn seats(ues: &[Ue], program: &RunProgram) -> Result<VecDeque<Seat>, sluice_host::HostError> {
    let Some(wanted) = &program.ues else {
        let ns = match &program.namespace {
            Place::Named(name) => Ns::named(name)?,
            _ => Ns::current()?,
        };
        let name = ns.describe().to_owned();
        let environment = Vec::new();
        return Ok([Seat {
            name,
            ns,
            environment,
        }]
        .into());
    };
    let attached = wanted.iter().filter_map(|ue| ues.get(*ue));
    let attached = attached.filter(|ue| ue.served().is_some());
    Ok(attached
        .map(|ue| Seat {
            name: ue.name(),
            ns: ue.ns.clone(),
            environment: vec![
                ("UE", ue.number.to_string()),
                ("UE_ADDRESS", ue.address.to_string()),
                ("UE_DEVICE", ue.device()),
            ],
        })
        .collect())
}

struct Running {
    name: String,
    process: Process,
    said: JoinHandle<String>,
    deadline: Instant,
}

fn run_all(mut seats: VecDeque<Seat>, program: &RunProgram, stop: &AtomicBool) -> Ended {
    let (mut ended, mut running) = (Ended::default(), Vec::new());
    loop {
        let is_over = seats.is_empty() && running.is_empty();
        if is_over || stop.load(Ordering::Relaxed) {
            return ended;
        }
        while running.len() < AT_ONCE
            && let Some(seat) = seats.pop_front()
        {
            let name = seat.name.clone();
            match begin(seat, program) {
                Ok(begun) => running.push(begun),
                Err(error) => ended.all.push((name, None, error.to_string())),
            }
        }
        std::thread::sleep(LOOK);
        let now = Instant::now();
        let over = running.extract_if(.., |running: &mut Running| {
            running.process.status().is_some() || now >= running.deadline
        });
        ended.all.extend(over.map(finish));
    }
}

fn begin(seat: Seat, program: &RunProgram) -> Result<Running, sluice_host::tool::ToolError> {
    let mut command: Command = seat.ns.command("sh");
    // One pipe for both, so that what was said keeps its order.
    command.args(["-c", &format!("exec 2>&1\n{}", program.command)]);
    command.envs(seat.environment);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let mut process = Process::spawn(&mut command)?;
    let stdout = process.child().stdout.take();
    let said = std::thread::spawn(move || {
        let mut text = Vec::new();
        if let Some(mut pipe) = stdout {
            // What has come until a failure is all that there is to tell; the rest is let pass.
            let _ = pipe.by_ref().take(SAID_MAX_BYTES).read_to_end(&mut text);
            let _ = std::io::copy(&mut pipe, &mut std::io::sink());
        }
        String::from_utf8_lossy(&text).into_owned()
    });
    Ok(Running {
        name: seat.name,
        process,
        said,
        deadline: Instant::now() + program.timeout,
    })
}

fn finish(mut running: Running) -> (String, Option<i32>, String) {
    let status = running.process.status();
    let code = status.and_then(|status| status.code());
    let mut said = String::new();
    if status.is_none() {
        said.push_str("it took too long and was ended\n");
        running.process.stop();
    }
    // A grandchild may hold the pipe; what it says belongs to nobody any more.
    let end = Instant::now() + Duration::from_millis(500);
    while !running.said.is_finished() && Instant::now() < end {
        std::thread::sleep(LOOK);
    }
    if running.said.is_finished() {
        said.push_str(&running.said.join().unwrap_or_default());
    }
    (running.name, code, said)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(command: &str, timeout: Duration) -> RunProgram {
        RunProgram {
            command: command.to_owned(),
            ues: None,
            namespace: Place::Current,
            exit: 0,
            timeout,
            background: false,
        }
    }

    fn run(program: &RunProgram) -> Ended {
        let (_, running) = start(&[], program);
        running.expect("thread").join().expect("ends")
    }

    #[test]
    fn a_command_is_judged_by_its_code_and_heard() {
        let mut program = program("echo oops >&2; exit 3", Duration::from_secs(10));
        let ended = run(&program);
        let (expected, seen, pass) = ended.judge(&program);
        assert_eq!((expected.as_str(), pass), ("exit 0 of 1", false));
        assert!(seen.ends_with("exit 3"), "{seen}");
        assert!(ended.complaints(&program)[0].ends_with(": oops"));
        program.exit = 3;
        assert!(ended.judge(&program).2);
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended() {
        let program = program("exec sleep 60", Duration::from_millis(50));
        let ended = run(&program);
        assert!(!ended.judge(&program).2);
        assert!(ended.complaints(&program)[0].contains("took too long"));
    }
}
