//! The program behind `sluice load`.
#![forbid(unsafe_code)]

use clap::Parser;
use sluice_host::alloc::HugeAlloc;
use sluice_load::command::cli::Cli;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugeAlloc = HugeAlloc;

fn main() -> ExitCode {
    sluice_load::command::run(&Cli::parse().load).into()
}
