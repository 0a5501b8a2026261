//! Dispatch to the tools: `sluice bench` becomes the program `sluice-bench` that lies beside this one.
//!
//! The daemon knows none of them, so it carries neither their code nor what they are built from.

use crate::exit::Exit;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// What is handed to a tool as it is.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ToolArgs {
    /// Arguments of the tool; `--help` shows them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGUMENTS"
    )]
    pub rest: Vec<OsString>,
}

/// Where a program of Sluice lies: beside the one that runs.
///
/// # Errors
/// The path of the running program cannot be found.
pub fn beside(name: &str) -> io::Result<PathBuf> {
    let own = std::env::current_exe()?;
    Ok(own.with_file_name(name))
}

/// Becomes the tool; returns only if that cannot be.
pub fn become_tool(name: &str, verbose: u8, args: &ToolArgs) -> Exit {
    let program = match beside(&format!("sluice-{name}")) {
        Ok(program) => program,
        Err(error) => {
            eprintln!("sluice: the path of this program cannot be found: {error}");
            return Exit::Lacking;
        }
    };
    let error = Command::new(&program)
        .args((0..verbose).map(|_| "-v"))
        .args(&args.rest)
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
