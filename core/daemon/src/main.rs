//! The program behind `sluice core`.
#![forbid(unsafe_code)]

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser, Subcommand};
use sluice_core_daemon::nf;
use sluice_program::args::{CORE_EXAMPLES, DaemonArgs, NF_EXAMPLES, NfArgs};
use sluice_program::logging::Verbosity;
use std::process::ExitCode;

/// The 5G core (AMF, SMF, AUSF, UDM, UDR, PCF, NRF, NSSF), towards gNBs by N2 and UPFs by N4
#[derive(Debug, Parser)]
#[command(name = "sluice-core", bin_name = "sluice core", version, after_help = CORE_EXAMPLES)]
#[command(args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(flatten)]
    core: Option<DaemonArgs>,
    #[command(subcommand)]
    program: Option<Program>,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Another program than the core.
#[derive(Debug, Subcommand)]
enum Program {
    /// Some functions of the core as a program of their own
    #[command(after_help = NF_EXAMPLES)]
    Nf(NfArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match (cli.program, cli.core) {
        (Some(Program::Nf(args)), _) => nf::run(&args, cli.verbosity),
        (None, Some(args)) => sluice_core_daemon::run(&args, cli.verbosity),
        (None, None) => Cli::command()
            .error(
                ErrorKind::MissingRequiredArgument,
                "--config FILE is missing",
            )
            .exit(),
    }
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
