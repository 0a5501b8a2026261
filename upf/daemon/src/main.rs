//! The program behind `sluice upf`.
#![forbid(unsafe_code)]

use clap::Parser;
use sluice_host::alloc::HugeAlloc;
use sluice_program::args::{DaemonArgs, UPF_EXAMPLES};
use sluice_program::logging::Verbosity;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugeAlloc = HugeAlloc;

/// The user plane function (UPF) alone, driven by your SMF over N4
#[derive(Debug, Parser)]
#[command(name = "sluice-upf", bin_name = "sluice upf", version, after_help = UPF_EXAMPLES)]
struct Cli {
    #[command(flatten)]
    upf: DaemonArgs,
    #[command(flatten)]
    verbosity: Verbosity,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    sluice_upf_daemon::run(&cli.upf, cli.verbosity).into()
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
