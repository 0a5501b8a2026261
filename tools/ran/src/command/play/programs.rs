//! Commands in the namespaces of UEs.

use std::collections::VecDeque;
use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluice_host::netns::Ns;
use sluice_host::process::Process;

use super::ended::{Ended, How, Said};
use crate::network::Ue;
use crate::scenario::{NetnsPlace, RunProgram};

/// Commands at the same time.
const AT_ONCE: usize = 16;
/// From one look at them to the next.
const LOOK: Duration = Duration::from_millis(10);
/// Largest part of a command's output that is kept.
const SAID_MAX_BYTES: u64 = 8 << 10;
/// Runs a command in a shell of its own. The pipe at descriptor 0, to which nobody writes, closes
/// when we die: then the process group dies, too. (A parent-death signal would reach the shell
/// alone, and came already when the thread ends that started it.)
const GUARD: &str = r#"exec 3<&0
{ read -r _ <&3; kill -KILL 0; } >/dev/null 2>&1 &
sh -c "$1" </dev/null 2>&1 3<&-
code=$?
kill $! && wait $! 2>/dev/null
exit $code"#;

/// Namespace and UE of a command.
struct Seat {
    name: String,
    ns: Ns,
    environment: Vec<(&'static str, String)>,
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
                all: vec![Said::not_started("the command".to_owned(), &error)],
            },
        });
    (stop, running)
}

fn seats(ues: &[Ue], program: &RunProgram) -> Result<VecDeque<Seat>, sluice_host::HostError> {
    let Some(wanted) = &program.ues else {
        let ns = match &program.namespace {
            NetnsPlace::Named(name) => Ns::named(name)?,
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
    let attached = attached.filter(|ue| ue.can_send());
    Ok(attached
        .map(|ue| Seat {
            name: ue.name(),
            ns: ue.ns.clone(),
            environment: environment(ue),
        })
        .collect())
}

/// Without IPv4, `$UE_ADDRESS` is the address of IPv6.
fn environment(ue: &Ue) -> Vec<(&'static str, String)> {
    let mut all = vec![("UE", ue.number.to_string()), ("UE_DEVICE", ue.device())];
    let ipv6 = ue.addresses.ipv6().map(|address| address.to_string());
    let ipv4 = ue.addresses.ipv4().map(|address| address.to_string());
    all.extend(ipv4.or(ipv6.clone()).map(|address| ("UE_ADDRESS", address)));
    all.extend(ipv6.map(|address| ("UE_ADDRESS6", address)));
    all
}

struct Running {
    name: String,
    process: Process,
    said: JoinHandle<String>,
    deadline: Instant,
    how: Option<How>,
}

impl Running {
    /// Looks how it has ended, or must now.
    fn look(&mut self, now: Instant) {
        self.how = match self.process.status() {
            Some(status) => Some(status.code().map_or(How::Signal, How::Code)),
            None => (now >= self.deadline).then_some(How::TimedOut),
        };
    }
}

fn run_all(mut seats: VecDeque<Seat>, program: &RunProgram, stop: &AtomicBool) -> Ended {
    let (mut ended, mut running) = (Ended::default(), Vec::new());
    loop {
        if stop.load(Ordering::Relaxed) {
            end_together(&mut running);
            return ended;
        }
        if seats.is_empty() && running.is_empty() {
            return ended;
        }
        while running.len() < AT_ONCE
            && let Some(seat) = seats.pop_front()
        {
            let name = seat.name.clone();
            match begin(seat, program) {
                Ok(begun) => running.push(begun),
                Err(error) => ended.all.push(Said::not_started(name, &error)),
            }
        }
        std::thread::sleep(LOOK);
        let now = Instant::now();
        running.iter_mut().for_each(|running| running.look(now));
        let over = running.extract_if(.., |running| running.how.is_some());
        let mut over: Vec<_> = over.collect();
        end_together(&mut over);
        ended.all.extend(over.into_iter().map(finish));
    }
}

/// Asks all for the end before the first one is waited for: they share the time that is given.
fn end_together(running: &mut [Running]) {
    for running in running {
        running.process.terminate();
    }
}

fn begin(seat: Seat, program: &RunProgram) -> Result<Running, sluice_host::tool::ToolError> {
    let mut command: Command = seat.ns.command("sh");
    // One pipe for output and errors, so that what was said keeps its order.
    command.args(["-c", GUARD, "sh", &program.command]);
    command.envs(seat.environment);
    command
        .stdin(Stdio::piped())
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
        how: None,
    })
}

fn finish(mut running: Running) -> Said {
    running.process.stop();
    // Who has left the group may hold the pipe; what he says belongs to nobody any more.
    let end = Instant::now() + Duration::from_millis(500);
    while !running.said.is_finished() && Instant::now() < end {
        std::thread::sleep(LOOK);
    }
    let mut text = String::new();
    if running.said.is_finished() {
        text = running.said.join().unwrap_or_default();
    }
    Said {
        name: running.name,
        how: running.how.unwrap_or(How::TimedOut),
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(command: &str, timeout: Duration) -> RunProgram {
        RunProgram {
            command: command.to_owned(),
            ues: None,
            namespace: NetnsPlace::Current,
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
        assert_eq!((expected.as_str(), pass), ("exit 0: 1 of 1", false));
        assert!(
            seen.starts_with("0 of 1;") && seen.ends_with("exit 3"),
            "{seen}"
        );
        assert!(ended.complaints(&program)[0].ends_with(": oops"));
        program.exit = 3;
        assert!(ended.judge(&program).2);
    }

    #[test]
    fn a_command_that_takes_too_long_is_ended_with_what_it_has_started() {
        let program = program("sleep 60 & echo $!; wait", Duration::from_secs(1));
        let ended = run(&program);
        let (_, seen, pass) = ended.judge(&program);
        assert!(
            !pass && seen.ends_with(": ended after 1s, its timeout"),
            "{seen}"
        );
        assert_gone(&ended.all[0].text);
    }

    #[test]
    fn a_command_that_is_stopped_is_ended_with_what_it_has_started() {
        let program = program("sleep 60 & echo $! >$FILE; wait", Duration::from_secs(60));
        let directory = tempfile::tempdir().expect("directory");
        let file = directory.path().join("pid");
        let command = program
            .command
            .replace("$FILE", &file.display().to_string());
        let program = RunProgram { command, ..program };
        let (stop, running) = start(&[], &program);
        let told = || std::fs::read_to_string(&file).unwrap_or_default();
        let deadline = Instant::now() + Duration::from_secs(10);
        while !told().ends_with('\n') && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        stop.store(true, Ordering::Relaxed);
        drop(running.expect("thread").join().expect("ends"));
        assert_gone(&told());
    }

    #[test]
    fn what_a_command_leaves_in_the_background_does_not_outlive_it() {
        let program = program("sleep 60 & echo $!", Duration::from_secs(10));
        let ended = run(&program);
        assert!(ended.judge(&program).2);
        assert_gone(&ended.all[0].text);
    }

    #[test]
    fn a_command_for_ues_of_which_none_is_attached_is_no_success() {
        let ues = Some(Vec::new());
        let program = program("true", Duration::from_secs(10));
        let program = RunProgram { ues, ..program };
        let (_, seen, pass) = run(&program).judge(&program);
        assert_eq!(
            (seen.as_str(), pass),
            ("none of these UEs is attached", false)
        );
    }

    /// Whoever inherits a process may take time to reap it.
    fn assert_gone(pid: &str) {
        let pid: u32 = pid.trim().parse().expect("a number");
        let stat = || std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let is_gone = |stat: String| stat.is_empty() || stat.contains(") Z ");
        let deadline = Instant::now() + Duration::from_secs(10);
        while !is_gone(stat()) && Instant::now() < deadline {
            std::thread::sleep(LOOK);
        }
        assert!(is_gone(stat()), "{}", stat());
    }
}
