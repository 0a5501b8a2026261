//! The program behind `sluice bench`.
#![forbid(unsafe_code)]

use clap::Parser;
use sluice_bench::args::BenchArgs;
use sluice_host::alloc::HugeAlloc;
use sluice_program::logging::Verbosity;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugeAlloc = HugeAlloc;

/// Figures, each beside the limit of this machine
#[derive(Debug, Parser)]
#[command(name = "sluice-bench", bin_name = "sluice bench", version)]
struct Cli {
    #[command(flatten)]
    bench: BenchArgs,
    #[command(flatten)]
    _verbosity: Verbosity,
}

fn main() -> ExitCode {
    sluice_bench::run(&Cli::parse().bench).into()
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
