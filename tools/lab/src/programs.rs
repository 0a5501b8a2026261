//! Programs of Sluice that a runner starts: where they are, on which CPUs, and with which files.

pub mod cpu;

use crate::experiments::{Job, Problem};
use sluice_host::netns::Ns;
use sluice_host::process::Process;
use sluice_host::thread::pin;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Until a program is ready; a core waits 10 s for its functions itself.
const READY_LIMIT: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

/// A program beside this one, in a namespace or in that of this process.
pub fn command(ns: Option<&Ns>, program: &str) -> Result<Command, Problem> {
    let path = sluice_program::tool::beside(program).map_err(|e| Problem::Failed(e.to_string()))?;
    if !path.is_file() {
        let (path, name) = (path.display(), program.trim_start_matches("sluice-"));
        let what = format!("{path} is missing: build it with scripts/build.sh release {name}");
        return Err(Problem::Lacking(what));
    }
    let mut command = match ns {
        Some(ns) => ns.command(&path.to_string_lossy()),
        None => Command::new(&path),
    };
    command.env_remove("SLUICE_LOG").stdin(Stdio::null());
    Ok(command)
}

/// Starts it on these CPUs: a program has those of the thread that starts it.
pub fn spawn(mut command: Command, cpus: &[usize]) -> Result<Process, Problem> {
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

/// Waits until programs are ready; why not, with what `said` gives, if one of them ends or it takes too long.
pub fn until_ready(
    processes: &mut [Process],
    job: &Job<'_>,
    is_ready: impl Fn() -> bool,
    said: impl Fn() -> String,
) -> Result<(), Problem> {
    let end = Instant::now() + READY_LIMIT;
    while !is_ready() {
        job.go_on()?;
        let ended = processes.iter_mut().find_map(Process::status);
        if ended.is_some() || Instant::now() > end {
            let how = ended.map_or("is not ready".to_owned(), |s| format!("ended: {s}"));
            return Err(Problem::Failed(format!("a program {how}\n{}", said())));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}

/// Waits until a program has ended, within `limit`.
pub fn until_ended(
    process: &mut Process,
    limit: Duration,
    job: &Job<'_>,
) -> Result<ExitStatus, Problem> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = process.status() {
            return Ok(status);
        }
        let late = || Problem::Failed(format!("{} does not end", process.command()));
        let why = job.go_on().err();
        if let Some(why) = why.or_else(|| (Instant::now() > end).then(late)) {
            process.stop();
            return Err(why);
        }
        std::thread::sleep(LOOK);
    }
}

pub fn create(path: &Path) -> Result<File, Problem> {
    let failed = |e| Problem::Failed(format!("{}: {e}", path.display()));
    File::create(path).map_err(failed)
}

/// Writes a file for its owner alone: some have keys.
pub fn write(folder: &Path, name: &str, text: &str) -> Result<PathBuf, Problem> {
    let path = folder.join(name);
    let written = fs::write(&path, text);
    let mode = fs::Permissions::from_mode(0o600);
    let closed = written.and_then(|()| fs::set_permissions(&path, mode));
    closed.map_err(|e| Problem::Failed(format!("{}: {e}", path.display())))?;
    Ok(path)
}
