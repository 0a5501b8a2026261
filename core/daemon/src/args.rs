//! The arguments of `sluice core`.

use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// `sluice core`
#[derive(Clone, Debug, Args)]
pub struct CoreArgs {
    /// The configuration; docs/core.yaml explains every key
    #[arg(short, long, value_name = "FILE")]
    pub config: PathBuf,
    /// Check the file and what it needs of this machine, show what it amounts to, and end;
    /// `--check=file` leaves the machine out
    #[arg(
        long,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "machine"
    )]
    pub check: Option<CheckScope>,
    /// Write one JSON object to standard output (with --check)
    #[arg(long, requires = "check")]
    pub json: bool,
}

/// What `sluice core --check` looks at.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum CheckScope {
    /// The file, and whether this machine has what it names
    Machine,
    /// The file alone, as for another machine
    File,
}

/// Shown by `sluice core --help`.
pub const CORE_EXAMPLES: &str = "\
Examples:
  sluice core -c core.yaml                   runs until SIGTERM or Ctrl-C
  sluice core -c core.yaml --check           is the file right, and does this machine have all that it names?
  sluice core -c core.yaml --check=file      the file alone, as for another machine
  sluice core -c core.yaml --check --json    the same for scripts: ok, problems[], warnings[]
  sluice ctl ues                             who is registered, once it runs
  sluice ctl --core refusals                 who was refused, why, and what to do about it

The UPF is a program of its own, `sluice upf` or any other. A file that cannot be used ends with exit code 2,
what this machine lacks with 3, and with 4 what may be there in a while: a port that another program has still,
a server of contexts or subscribers that is away. All with one line for each problem:
  core.yaml:12: n2.listen: got 'amf'; expected an IP address";
