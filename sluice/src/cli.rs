//! The command line.
//!
//! A subcommand is one variant of [`Command`], its arguments one struct in [`args`], its work one
//! `run` function in a room of its own.

pub mod args;

use crate::bench::args::BenchArgs;
use crate::lab::args::{LAB_HELP, LabArgs};
use crate::load::args::{LOAD_EXAMPLES, LoadArgs};
use crate::logging::Verbosity;
use crate::ran::args::{RAN_EXAMPLES, RanArgs};
use crate::{bench, ctl, demo, lab, load, ran, upf};
use args::{BridgeArgs, CtlArgs, DemoArgs, UpfArgs};
use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// A 5G user plane (UPF) that drives your core at line rate
#[derive(Debug, Parser)]
#[command(name = "sluice", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// What `sluice` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The user plane function alone, driven by your SMF over N4
    #[command(after_help = args::UPF_EXAMPLES)]
    Upf(UpfArgs),
    /// Ask a running UPF
    #[command(after_help = args::CTL_EXAMPLES)]
    Ctl(CtlArgs),
    /// A UPF, an SMF and gNBs with UEs in namespaces of this machine, and real traffic
    #[command(after_help = args::DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Joins DPDK ports in pairs; the demo starts it for a UPF on memif
    #[command(hide = true)]
    Bridge(BridgeArgs),
    /// User-plane generator and sink, for this UPF or any other
    #[command(after_help = LOAD_EXAMPLES, args_override_self = true)]
    Load(Box<LoadArgs>),
    /// Emulated gNBs and UEs that attach, talk, move and go by a script, with checks
    #[command(after_help = RAN_EXAMPLES)]
    Ran(RanArgs),
    /// Figures, each beside the limit of this machine
    Bench(BenchArgs),
    /// The papers' experiments, repeated: theirs and ours side by side
    #[command(after_help = LAB_HELP)]
    Lab(LabArgs),
}

const EXIT_CODES: &str = "\
Results go to standard output (with --json: one JSON object and nothing else), logs to standard
error. SLUICE_LOG=info,sluice_n4=debug sets what is logged.

Exit codes:
  0  done, and all checks held
  1  a check failed
  2  wrong usage or configuration; the message names file, line, key and what was expected
  3  the environment lacks something; the message says what and how to get it";

impl Cli {
    /// The arguments of `sluice load`, if it was asked for.
    pub(crate) fn into_load(self) -> Option<LoadArgs> {
        match self.command {
            Command::Load(args) => Some(*args),
            _ => None,
        }
    }

    /// Does what was asked for.
    pub fn run(self) -> ExitCode {
        match self.command {
            Command::Upf(args) => upf::run(&args, self.verbosity),
            Command::Ctl(args) => ctl::run(&args),
            Command::Demo(args) => demo::run(&args),
            Command::Bridge(args) => demo::bridge::run(&args),
            Command::Load(args) => load::run(&args),
            Command::Ran(args) => ran::run(&args, self.verbosity),
            Command::Bench(args) => bench::run(&args),
            Command::Lab(args) => lab::run(&args),
        }
        .into()
    }
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
