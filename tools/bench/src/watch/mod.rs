//! Regression detection. Runs are kept in a [file](mod@run), a line each, and each run is
//! [compared](mod@compare) with the last one made under the same conditions: name by name, by the
//! ratio to the limit that each repetition measured beside it, with a [test](rank) that knows how
//! much is chance and a [margin](verdict) for what is no difference worth telling.

pub mod command;
pub mod compare;
pub mod rank;
pub mod report;
pub mod run;
pub mod series;

use clap::Args;
use compare::{Comparison, With, compare};
use run::{History, Kept, Run, RunArguments};
use serde_json::Value;
use series::Series;
use sluice::exit::Exit;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
pub mod verdict;

/// What every benchmark that can be watched takes.
#[derive(Clone, Debug, Default, Args)]
pub struct WatchArgs {
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// Append the figures to this file and compare them with the last comparable run in it
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Compare with this run of the history instead: its line, or how its commit begins
    #[arg(long, value_name = "LINE|COMMIT", requires = "history")]
    pub with: Option<String>,
    /// A slowdown is told, but does not end with 1
    #[arg(long, requires = "history")]
    pub warn_only: bool,
}

/// The end of a benchmark.
pub struct Measured {
    /// One object.
    pub json: Value,
    /// The same for people.
    pub table: String,
    /// What is kept and compared.
    pub series: Vec<Series>,
    /// Why the run failed although it came to its end.
    pub fault: Option<String>,
}

/// Why there are no figures.
pub enum Failed {
    /// What was asked for does not go together.
    Usage(String),
    /// The environment lacks something.
    Lacking(String),
    /// The work could not be finished.
    Midway(String),
}

/// A history that is open for the next line.
pub struct Watch<'a> {
    args: &'a WatchArgs,
    history: Option<(&'a Path, File)>,
}

impl<'a> Watch<'a> {
    /// Before the measurement, so that a file that cannot be written is told at once.
    pub fn open(args: &'a WatchArgs) -> Result<Self, String> {
        let path = args.history.as_deref();
        let open = |path: &'a Path| match run::open(path) {
            Ok(file) => Ok((path, file)),
            Err(why) => Err(cannot(path, &why)),
        };
        Ok(Self {
            args,
            history: path.map(open).transpose()?,
        })
    }

    /// Shows what was measured, keeps it, and compares it.
    pub fn end(self, asked: RunArguments, mut measured: Measured) -> Exit {
        let bench = asked.bench;
        let fault = measured.fault.clone();
        let said = match self.history {
            None => Ok(Exit::Done),
            Some((path, file)) => {
                let run = Run::now(asked, std::mem::take(&mut measured.series), fault);
                kept(path, file, run, self.args, &mut measured)
            }
        };
        match self.args.json {
            true => println!("{}", measured.json),
            false => print!("{}", measured.table),
        }
        if let Some(why) = measured.fault {
            eprintln!("sluice bench {bench}: {why}");
            return Exit::Failed;
        }
        said.unwrap_or_else(|why| {
            eprintln!("sluice bench {bench}: {why}");
            Exit::Usage
        })
    }
}

/// Adds the run to the file, and what is said of it to what is shown. Figures that took minutes are
/// shown even if the comparison asked for is not possible.
fn kept(
    path: &Path,
    mut file: File,
    run: Run,
    args: &WatchArgs,
    measured: &mut Measured,
) -> Result<Exit, String> {
    let history = run::append(&mut file, &run).and_then(|()| run::read(path));
    let history = history.map_err(|why| cannot(path, &why))?;
    eprint!("{}", damaged(path, &history));
    measured.json["history_damaged"] = report::damaged_json(&history.damaged);
    // Somebody else's may stand behind it already.
    let ours = |kept: &&Kept| kept.run.is_same(&run);
    let now = history.kept.iter().rev().find(ours);
    let now = now.ok_or_else(|| format!("{}: the run is not there", path.display()))?;
    let comparison = compare(&history.kept, now, &with(args, &history))?;
    measured.json["comparison"] = report::to_json(&comparison);
    measured.table += &format!("\n{}", report::to_table(&comparison));
    Ok(exit(&comparison, args.warn_only))
}

fn with(args: &WatchArgs, history: &History) -> With {
    With::parse(args.with.as_deref(), lines(history))
}

/// How many lines the file has, at least.
fn lines(history: &History) -> usize {
    let kept = history.kept.last().map_or(0, |kept: &Kept| kept.line);
    kept.max(history.damaged.last().map_or(0, |damaged| damaged.line))
}

fn exit(comparison: &Comparison, warn_only: bool) -> Exit {
    match comparison.slower().next() {
        Some(_) if !warn_only => Exit::Failed,
        _ => Exit::Done,
    }
}

fn damaged(path: &Path, history: &History) -> String {
    report::damaged_lines(&path.display().to_string(), &history.damaged)
}

fn cannot(path: &Path, why: &std::io::Error) -> String {
    format!(
        "--history {}: {why}; expected a file that can be written",
        path.display()
    )
}

/// A hash for comparing, not for keeping secrets.
pub fn hash_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
