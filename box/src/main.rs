//! The program behind `sluice box`: the 5G core and a UPF in one process.
//!
//! Both are the daemons that `sluice core` and `sluice upf` are, each with its file, its control socket and
//! its threads. Only N4 between them differs: PFCP messages go over rings, not through the kernel.
#![forbid(unsafe_code)]

mod addresses;
mod run;

use clap::Parser;
use sluice_host::alloc::HugeAlloc;
use sluice_program::args::CheckScope;
use sluice_program::logging::Verbosity;
use std::path::PathBuf;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: HugeAlloc = HugeAlloc;

/// The 5G core and a UPF in one process, with N4 between them over rings
#[derive(Debug, Parser)]
#[command(name = "sluice-box", bin_name = "sluice box", version, after_help = EXAMPLES)]
struct Cli {
    /// The core's configuration; docs/core.yaml explains every key
    #[arg(short, long, value_name = "FILE")]
    core: PathBuf,
    /// The UPF's configuration; docs/upf.yaml explains every key
    #[arg(short, long, value_name = "FILE")]
    upf: PathBuf,
    /// Check both files, that they name each other, and what they need of this machine, and end;
    /// `--check=file` leaves the machine out
    #[arg(
        long,
        value_name = "WHAT",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "machine"
    )]
    check: Option<CheckScope>,
    #[command(flatten)]
    verbosity: Verbosity,
}

const EXAMPLES: &str = "\
Examples:
  sluice box -c core.yaml -u upf.yaml            runs until SIGTERM or Ctrl-C
  sluice box -c core.yaml -u upf.yaml --check    are the files right, and does this machine have what they name?
  sluice ctl ues; sluice ctl sessions            each of both has its control socket, as when it runs alone

The files are those of `sluice core` and `sluice upf`. One of upfs[].n4 in core.yaml has to be one of n4.listen in
upf.yaml: to that UPF, PFCP goes over rings; to all others, and from other SMFs, by UDP as always. The
filter of the log is that of upf.yaml. The core ends first, and then the UPF.";

fn main() -> ExitCode {
    run::run(&Cli::parse()).into()
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
