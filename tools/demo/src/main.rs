//! The program behind `sluice demo`.
#![forbid(unsafe_code)]

use clap::{Parser, Subcommand};
use sluice_demo::args::{BridgeArgs, DEMO_EXAMPLES, DemoArgs};
use sluice_host::alloc::HugeAlloc;
use sluice_program::logging::Verbosity;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugeAlloc = HugeAlloc;

/// A UPF, an SMF and gNBs with UEs in namespaces of this machine, and real traffic
#[derive(Debug, Parser)]
#[command(
    name = "sluice-demo",
    bin_name = "sluice demo",
    version,
    after_help = DEMO_EXAMPLES,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(flatten)]
    demo: DemoArgs,
    #[command(subcommand)]
    part: Option<Part>,
    #[command(flatten)]
    _verbosity: Verbosity,
}

#[derive(Debug, Subcommand)]
enum Part {
    /// Joins DPDK ports in pairs; the demo starts it for a UPF on memif
    #[command(hide = true)]
    Bridge(BridgeArgs),
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    match cli.part {
        None => sluice_demo::run(&cli.demo),
        Some(Part::Bridge(args)) => sluice_demo::bridge::run(&args),
    }
    .into()
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
