//! The arguments of `sluice bench`.

use clap::{Args, Subcommand};

/// `sluice bench`
#[derive(Clone, Debug, Args)]
pub struct BenchArgs {
    /// What is measured
    #[command(subcommand)]
    pub kind: BenchKind,
}

/// What can be measured.
#[derive(Clone, Debug, Subcommand)]
pub enum BenchKind {
    /// The packet path on one core, from memory to memory
    #[command(after_help = PATH_HELP)]
    Path(PathArgs),
}

/// `sluice bench path`
#[derive(Clone, Debug, Args)]
pub struct PathArgs {
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// How many sessions, one measurement for each number
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_values_t = [1_000, 1_000_000],
        value_parser = clap::value_parser!(u32).range(1..=4_000_000))]
    pub sessions: Vec<u32>,
    /// Repetitions; median, minimum and maximum are reported
    #[arg(long, value_name = "N", default_value = "7",
        value_parser = clap::value_parser!(u16).range(5..))]
    pub reps: u16,
    /// Length of one repetition in seconds
    #[arg(long, value_name = "S", default_value = "0.5", value_parser = seconds)]
    pub seconds: f64,
    /// Measure only results with this in their names, such as ul or path/dl
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub only: String,
    /// CPU to stay on; otherwise the kernel chooses
    #[arg(long, value_name = "CPU")]
    pub cpu: Option<u16>,
}

const PATH_HELP: &str = "\
Each repetition measures in turn the worker's loop of `sluice upf`, the limit (the cheapest loop
that could do the same work, src/bench/path/limit.rs) and the source alone. The figure to judge by
is ratio_to_limit, time per packet by that of the limit: 1 would be perfect. Sessions are
established over N4; every byte of every session's packets is compared before, and those of one
packet in 64 while the clock runs.

Huge pages are used where they are free; for a million sessions:
  sysctl vm.nr_hugepages=400

Examples:
  sluice bench path                             1,000 and 1,000,000 sessions, as a table
  sluice bench path --json --sessions 1000000   for scripts: results[]";

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(s) if (0.001..=600.0).contains(&s) => Ok(s),
        _ => Err("expected seconds from 0.001 to 600".to_owned()),
    }
}
