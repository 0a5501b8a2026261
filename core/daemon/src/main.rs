//! The program behind `sluice core`.
#![forbid(unsafe_code)]

use clap::Parser;
use sluice_program::args::{CORE_EXAMPLES, DaemonArgs};
use sluice_program::logging::Verbosity;
use std::process::ExitCode;

/// The 5G core (AMF, SMF, AUSF, UDM, UDR, PCF, NRF, NSSF), towards gNBs by N2 and UPFs by N4
#[derive(Debug, Parser)]
#[command(name = "sluice-core", bin_name = "sluice core", version, after_help = CORE_EXAMPLES)]
struct Cli {
    #[command(flatten)]
    core: DaemonArgs,
    #[command(flatten)]
    verbosity: Verbosity,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    sluice_core_daemon::run(&cli.core, cli.verbosity).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
