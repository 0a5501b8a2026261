//! Dispatch to programs: `sluice bench` becomes the program `sluice-bench` that lies beside this one.

use crate::exit::Exit;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Words that go to a program as they are.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ToolArgs {
    /// Arguments of the program; `--help` shows them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    pub rest: Vec<OsString>,
}

/// A program of Sluice: it lies beside the one that runs.
///
/// # Errors
/// The path of the running program cannot be found.
pub fn beside(name: &str) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.with_file_name(name))
}

/// Becomes the program `sluice-name`; returns only if that cannot be.
pub fn become_program(name: &str, verbose: u8, words: &[OsString]) -> Exit {
    let program = match beside(&format!("sluice-{name}")) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("sluice: the path of this program cannot be found: {error}");
            return Exit::Lacking;
        }
    };
    let error = Command::new(&program)
        .args((0..verbose).map(|_| "-v"))
        .args(words)
        .exec();
    let shown = program.display();
    match error.kind() {
        io::ErrorKind::NotFound => eprintln!(
            "sluice: `sluice {name}` is the program {shown}, which is not there; install it beside \
             sluice, or build it: scripts/build.sh release {name}"
        ),
        _ => eprintln!("sluice: {shown} cannot be started: {error}"),
    }
    Exit::Lacking
}
