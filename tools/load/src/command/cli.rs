//! The command line of `sluice load`.

use super::args::{LOAD_EXAMPLES, LoadArgs};
use clap::Parser;
use sluice_program::logging::Verbosity;

/// User-plane generator and sink, for this UPF or any other
#[derive(Debug, Parser)]
#[command(
    name = "sluice-load",
    bin_name = "sluice load",
    version,
    after_help = LOAD_EXAMPLES,
    args_override_self = true
)]
pub struct Cli {
    /// Arguments of the run.
    #[command(flatten)]
    pub load: LoadArgs,
    #[command(flatten)]
    verbosity: Verbosity,
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
