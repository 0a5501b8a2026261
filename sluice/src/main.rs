//! The `sluice` command.
#![forbid(unsafe_code)]

use clap::Parser;
use sluice_host::alloc::HugeAlloc;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugeAlloc = HugeAlloc;

fn main() -> ExitCode {
    sluice::cli::Cli::parse().run()
}
