//! The program behind `sluice lab`.
#![forbid(unsafe_code)]

use clap::Parser;
use sluice_host::alloc::HugeAlloc;
use sluice_lab::args::LabArgs;
use sluice_program::logging::Verbosity;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugeAlloc = HugeAlloc;

/// The papers' experiments, repeated: theirs and ours side by side
#[derive(Debug, Parser)]
#[command(name = "sluice-lab", bin_name = "sluice lab", version, after_help = include_str!("../help/lab.txt"))]
struct Cli {
    #[command(flatten)]
    lab: LabArgs,
    #[command(flatten)]
    _verbosity: Verbosity,
}

fn main() -> ExitCode {
    sluice_lab::run(&Cli::parse().lab).into()
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
