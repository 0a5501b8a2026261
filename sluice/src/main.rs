//! The `sluice` command.
#![forbid(unsafe_code)]

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    sluice::cli::Cli::parse().run()
}
