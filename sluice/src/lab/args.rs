//! The arguments of `sluice lab`.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// `sluice lab`
#[derive(Clone, Debug, Args)]
pub struct LabArgs {
    /// What to do
    #[command(subcommand)]
    pub kind: LabKind,
}

/// What the lab does.
#[derive(Clone, Debug, Subcommand)]
pub enum LabKind {
    /// The experiments, and which of them can be run
    List(ListArgs),
    /// Runs experiments and writes results, plots and a report
    #[command(after_help = RUN_HELP)]
    Run(RunArgs),
    /// Makes the report anew from what was measured
    Report(ReportArgs),
    /// One placement of a-placement, which starts it
    #[command(hide = true)]
    Place(PlaceArgs),
}

/// `sluice lab list`
#[derive(Clone, Debug, Args)]
pub struct ListArgs {
    /// A folder with experiments of your own; those of the same name come in place of ours
    #[arg(long, value_name = "DIR")]
    pub plans: Option<PathBuf>,
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
}

/// `sluice lab run`
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// Names as `sluice lab list` has them, or all
    #[arg(required = true, value_name = "NAME")]
    pub names: Vec<String>,
    /// Few points, short repetitions, few sessions
    #[arg(long)]
    pub quick: bool,
    /// Where results go, and where those of an interrupted run are taken up
    #[arg(long, value_name = "DIR", default_value = "lab-results")]
    pub out: PathBuf,
    /// A folder with experiments of your own; those of the same name come in place of ours
    #[arg(long, value_name = "DIR")]
    pub plans: Option<PathBuf>,
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// CPUs of the two workers; otherwise the first two
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',')]
    pub cpus: Vec<u16>,
}

/// `sluice lab report`
#[derive(Clone, Debug, Args)]
pub struct ReportArgs {
    /// A folder that `sluice lab run --out` wrote
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
}

/// `sluice lab place`
#[derive(Clone, Debug, Args)]
pub struct PlaceArgs {
    /// CPUs of the workers
    #[arg(long, value_delimiter = ',', required = true)]
    pub cpus: Vec<u16>,
    /// Sessions
    #[arg(long)]
    pub sessions: u32,
    /// Octets of inner packets
    #[arg(long)]
    pub inner: usize,
    /// Packets have a PDU Session Container
    #[arg(long)]
    pub container: bool,
    /// Length of a repetition in seconds
    #[arg(long)]
    pub seconds: f64,
    /// Repetitions
    #[arg(long)]
    pub repeats: usize,
}

const RUN_HELP: &str = "\
Each point is kept as soon as it is measured. Ctrl-C ends the run; the same command takes it up again
and measures only what is missing. What was measured by another program, on another machine or of a
changed experiment is measured again. Progress goes to standard error.

DIR/report.html is the report (one file, no network), DIR/report.json the same for scripts; DIR/NAME has
result.json, result.csv and the plots as SVG and PNG.

Exit code 1: an expectation does not hold, or a point could not be measured; each is named.

Examples:
  sluice lab run all --quick --out /tmp/lab     to see that everything works
  sluice lab run all                            the real thing, on a quiet machine
  sluice lab run b-payload c-steering           some of them
  sluice lab run mine --plans my-experiments    your own (docs/lab.md)";
