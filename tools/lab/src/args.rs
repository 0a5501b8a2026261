//! The arguments of `sluice lab`.

use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

/// `sluice lab`
#[derive(Clone, Debug, Args)]
pub struct LabArgs {
    /// Command
    #[command(subcommand)]
    pub kind: LabKind,
}

/// Points to measure again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Again {
    /// Points that something else disturbed
    Disturbed,
}

/// Commands of the lab.
#[derive(Clone, Debug, Subcommand)]
pub enum LabKind {
    /// The experiments, and which of them can be run
    List(ListArgs),
    /// Runs experiments and writes results, plots and a report
    #[command(after_help = include_str!("../help/run.txt"))]
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
    /// Folder of results; an interrupted run continues there
    #[arg(long, value_name = "DIR", default_value = "lab-results")]
    pub out: PathBuf,
    /// A folder with experiments of your own; those of the same name come in place of ours
    #[arg(long, value_name = "DIR")]
    pub plans: Option<PathBuf>,
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// Measure points anew although they are there
    #[arg(long, value_name = "WHICH")]
    pub again: Option<Again>,
    /// CPUs of the two workers; otherwise the first two
    #[arg(long, value_name = "CPU,CPU", value_delimiter = ',')]
    pub cpus: Vec<u16>,
}

impl RunArgs {
    /// Arguments that measure the same again in the same place.
    pub fn again_as_typed(&self) -> String {
        let mut text = String::new();
        if let Some(plans) = &self.plans {
            text += &format!(" --plans {}", for_shell(&plans.display().to_string()));
        }
        if self.quick {
            text += " --quick";
        }
        text += &format!(" --out {}", for_shell(&self.out.display().to_string()));
        if !self.cpus.is_empty() {
            let cpus: Vec<String> = self.cpus.iter().map(u16::to_string).collect();
            text += &format!(" --cpus {}", cpus.join(","));
        }
        text
    }
}

/// A word that a shell takes as one.
fn for_shell(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
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
    /// The data network sees public addresses and ports
    #[arg(long)]
    pub translated: bool,
    /// Length of a repetition in seconds
    #[arg(long)]
    pub seconds: f64,
    /// Repetitions
    #[arg(long)]
    pub repeats: usize,
}
