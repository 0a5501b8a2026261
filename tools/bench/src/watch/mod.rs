//! Regression detection. Runs are kept in a [file](history), a line each, and each run is
//! [compared](mod@compare) with the last one made under the same conditions: name by name, by the
//! ratio to the limit that each repetition measured beside it, with a [test](rank) that knows how
//! much is chance and a [margin](verdict) for what is no difference worth telling.

pub mod command;
pub mod compare;
pub mod history;
pub mod rank;
pub mod verdict;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use clap::Args;
use compare::{Comparison, With, compare};
use history::{History, Run, RunArguments, Series, append, open};
use serde_json::{Value, json};
use sluice_program::exit::Exit;
use std::collections::hash_map::DefaultHasher;
use std::fs::File;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};

/// Arguments of every benchmark that can be watched.
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
    pub json: Value,
    /// The results for people.
    pub table: String,
    /// Series that are stored and compared.
    pub series: Vec<Series>,
    /// Why the run failed although it came to its end.
    pub fault: Option<String>,
}

/// Why there are no figures.
pub enum Failed {
    /// The arguments do not go together.
    Usage(String),
    /// The environment lacks something.
    Lacking(String),
    /// The work could not be finished.
    Midway(String),
}

/// Measures, shows what came of it, and keeps and compares it if there is a history. That is opened before,
/// so that a file that cannot be written is told at once.
pub fn watched(
    args: &WatchArgs,
    asked: RunArguments,
    measure: impl FnOnce() -> Result<Measured, Failed>,
) -> Exit {
    let bench = asked.bench;
    let told = |why: &str, exit: Exit| {
        eprintln!("sluice bench {bench}: {why}");
        exit
    };
    let history = args.history.as_deref();
    let file = match history.map(|path| open(path).map_err(|why| cannot(path, &why))) {
        Some(Err(why)) => return told(&why, Exit::Usage),
        file => file.and_then(Result::ok),
    };
    let mut measured = match measure() {
        Ok(measured) => measured,
        Err(Failed::Usage(why)) => return told(&why, Exit::Usage),
        Err(Failed::Lacking(why)) => return told(&why, Exit::Lacking),
        Err(Failed::Midway(why)) => return told(&why, Exit::Failed),
    };
    let kept = match history.zip(file) {
        None => Ok(Exit::Done),
        Some((path, file)) => keep(path, file, asked, args, &mut measured),
    };
    match args.json {
        true => println!("{}", measured.json),
        false => print!("{}", measured.table),
    }
    match (measured.fault, kept) {
        (Some(why), _) => told(&why, Exit::Failed),
        (None, Ok(exit)) => exit,
        (None, Err(why)) => told(&why, Exit::Usage),
    }
}

/// Adds the run to the file, and what is said of it to what is shown. Figures that took minutes are
/// shown even if the comparison asked for is not possible.
fn keep(
    path: &Path,
    mut file: File,
    asked: RunArguments,
    args: &WatchArgs,
    measured: &mut Measured,
) -> Result<Exit, String> {
    let series = std::mem::take(&mut measured.series);
    let run = Run::now(asked, series, measured.fault.clone());
    let history = append(&mut file, &run).and_then(|()| History::read(path));
    let history = history.map_err(|why| cannot(path, &why))?;
    history.tell_damage(path);
    measured.json["history_damaged"] = json!(history.damaged);
    // Somebody else's may stand behind it already.
    let now = history
        .kept
        .iter()
        .rev()
        .find(|kept| kept.run.is_same(&run));
    let now = now.ok_or_else(|| format!("{}: the run is not there", path.display()))?;
    let with = With::parse(args.with.as_deref(), history.lines());
    let comparison = compare(&history.kept, now, &with)?;
    measured.json["comparison"] = comparison.to_json();
    measured.table += &format!("\n{}", comparison.to_table());
    Ok(exit(&[comparison], args.warn_only))
}

fn exit(compared: &[Comparison], warn_only: bool) -> Exit {
    match compared.iter().flat_map(Comparison::slower).next() {
        Some(_) if !warn_only => Exit::Failed,
        _ => Exit::Done,
    }
}

fn cannot(path: &Path, why: &std::io::Error) -> String {
    let path = path.display();
    format!("--history {path}: {why}; expected a file that can be written")
}

/// A hash for comparing, not for keeping secrets.
pub fn hash_of(bytes: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}
