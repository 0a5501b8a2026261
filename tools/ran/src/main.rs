//! The program behind `sluice ran`.
#![forbid(unsafe_code)]

use clap::Parser;
use sluice_host::alloc::HugeAlloc;
use sluice_program::logging::Verbosity;
use sluice_ran::command::args::{RAN_EXAMPLES, RanArgs};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugeAlloc = HugeAlloc;

/// Emulated gNBs and UEs that attach, talk, move and go by a script, with checks
#[derive(Debug, Parser)]
#[command(name = "sluice-ran", bin_name = "sluice ran", version, after_help = RAN_EXAMPLES)]
struct Cli {
    #[command(flatten)]
    ran: RanArgs,
    #[command(flatten)]
    verbosity: Verbosity,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    sluice_ran::command::run(&cli.ran, cli.verbosity).into()
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
