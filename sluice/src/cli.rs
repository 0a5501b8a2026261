//! The command line.
//!
//! A subcommand is one variant of [`Command`]. Questions to daemons have their arguments in [`args`] and their work in a
//! `run` function; daemons and tools are programs of their own, which get their words ([`sluice_program::tool`]).

pub mod args;
pub mod core_args;
mod pages;
pub mod subscribers;
pub mod users;

use crate::certificates::{self, CertificatesArgs};
use crate::{ctl, reference};
use args::{CompletionArgs, CtlArgs, ManArgs, ReferenceArgs};
use clap::{Parser, Subcommand};
use sluice_program::args::{CORE_EXAMPLES, DaemonArgs, NF_EXAMPLES, NfArgs, UPF_EXAMPLES};
use sluice_program::logging::Verbosity;
use sluice_program::tool::{ToolArgs, become_program};
use std::process::ExitCode;

/// A 5G user plane function (UPF) and a 5G core: N1, N2, N3, N4, N6, N9
#[derive(Debug, Parser)]
#[command(name = "sluice", version, after_help = EXIT_CODES, disable_help_subcommand = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// Subcommands of `sluice`.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The user plane function alone, driven by your SMF over N4
    #[command(after_help = UPF_EXAMPLES)]
    Upf(DaemonArgs),
    /// Ask a running UPF or core
    #[command(after_help = args::CTL_EXAMPLES)]
    Ctl(CtlArgs),
    /// The 5G core (AMF, SMF, AUSF, UDM, UDR, PCF, NRF, NSSF), towards gNBs by N2 and UPFs by N4
    #[command(after_help = CORE_EXAMPLES)]
    Core(DaemonArgs),
    /// Some functions of the core as a program of their own
    #[command(after_help = NF_EXAMPLES)]
    Nf(NfArgs),
    /// A laboratory's authority and certificates for services over TLS
    #[command(after_help = certificates::EXAMPLES)]
    Certificates(CertificatesArgs),
    /// Both in one process: the core and a UPF, with N4 between them over rings
    #[command(disable_help_flag = true)]
    Box(ToolArgs),
    /// Print a reference page: drop reasons, causes of refusals, metrics, N4, ctl
    Reference(ReferenceArgs),
    /// Completion for a shell: source <(sluice completion bash)
    Completion(CompletionArgs),
    /// Manual pages
    Man(ManArgs),
    /// A UPF, an SMF and gNBs with UEs in namespaces of this machine, and real traffic
    #[command(disable_help_flag = true)]
    Demo(ToolArgs),
    /// User-plane generator and sink, for this UPF or any other
    #[command(disable_help_flag = true)]
    Load(ToolArgs),
    /// Emulated gNBs and UEs that attach, talk, move and go by a script, with checks
    #[command(disable_help_flag = true)]
    Ran(ToolArgs),
    /// Figures, each beside the limit of this machine
    #[command(disable_help_flag = true)]
    Bench(ToolArgs),
    /// The papers' experiments, repeated: theirs and ours side by side
    #[command(disable_help_flag = true)]
    Lab(ToolArgs),
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
    /// Does what was asked for.
    pub fn run(self) -> ExitCode {
        let verbose = self.verbosity.count();
        match self.command {
            Command::Upf(args) => become_program("upf", verbose, &args.words()),
            Command::Ctl(args) => ctl::run(&args),
            Command::Core(args) => become_program("core", verbose, &args.words()),
            Command::Nf(args) => become_program("core", verbose, &args.words()),
            Command::Certificates(args) => certificates::run(&args),
            Command::Box(args) => become_program("box", verbose, &args.rest),
            Command::Reference(args) => reference::run(args),
            Command::Completion(args) => pages::completion(args),
            Command::Man(args) => pages::man(&args),
            Command::Demo(args) => become_program("demo", verbose, &args.rest),
            Command::Load(args) => become_program("load", verbose, &args.rest),
            Command::Ran(args) => become_program("ran", verbose, &args.rest),
            Command::Bench(args) => become_program("bench", verbose, &args.rest),
            Command::Lab(args) => become_program("lab", verbose, &args.rest),
        }
        .into()
    }
}

#[cfg(test)]
impl Cli {
    /// Arguments of `ctl`, if it is `ctl`.
    fn question(self) -> Option<CtlArgs> {
        match self.command {
            Command::Ctl(args) => Some(args),
            _ => None,
        }
    }

    /// Asks.
    pub(crate) fn ctl(self) -> Option<sluice_program::exit::Exit> {
        self.question().map(|args| ctl::run(&args))
    }

    /// Command for subscribers, if it is one.
    pub(crate) fn subscribers(&self) -> Option<&subscribers::SubscribersCommand> {
        match &self.command {
            Command::Ctl(CtlArgs {
                query: args::CtlQuery::Subscribers(args),
                ..
            }) => Some(&args.what),
            _ => None,
        }
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
