//! `sluice bench compare`: comparison of stored runs.

use super::compare::{Comparison, With, compare};
use super::run::{self, History, Kept};
use super::{damaged, exit, lines, report};
use clap::Args;
use serde_json::{Value, json};
use sluice::exit::Exit;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// `sluice bench compare`
#[derive(Clone, Debug, Args)]
pub struct CompareArgs {
    /// The history that `--history` or `make bench` wrote
    #[arg(value_name = "FILE")]
    pub history: PathBuf,
    /// Write one JSON object to standard output
    #[arg(long)]
    pub json: bool,
    /// The run that is looked at, by its line; otherwise the last one of each benchmark
    #[arg(long, value_name = "LINE")]
    pub run: Option<usize>,
    /// Compare with this run: its line, or how its commit begins; otherwise the last comparable one
    #[arg(long, value_name = "LINE|COMMIT")]
    pub with: Option<String>,
    /// A slowdown is told, but does not end with 1
    #[arg(long)]
    pub warn_only: bool,
    /// Only list the runs
    #[arg(long, conflicts_with_all = ["run", "with"])]
    pub list: bool,
}

/// Reads, compares, tells.
pub fn run(args: &CompareArgs) -> Exit {
    match told(args) {
        Ok((text, exit)) => {
            print!("{text}");
            exit
        }
        Err(why) => {
            eprintln!("sluice bench compare: {why}");
            Exit::Usage
        }
    }
}

fn told(args: &CompareArgs) -> Result<(String, Exit), String> {
    let path = &args.history;
    let cannot = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
    if !path.exists() {
        return Err(cannot(
            &"there is no such file; expected what --history wrote",
        ));
    }
    let history = run::read(path).map_err(|why| cannot(&why))?;
    eprint!("{}", damaged(path, &history));
    if history.kept.is_empty() {
        return Err(cannot(
            &"no line holds a run; expected what --history wrote",
        ));
    }
    if args.list {
        return Ok((list(&history, args.json), Exit::Done));
    }
    let with = With::parse(args.with.as_deref(), lines(&history));
    let compared: Result<Vec<Comparison>, String> = looked_at(&history, args.run)?
        .into_iter()
        .map(|now| compare(&history.kept, now, &with))
        .collect();
    let compared = compared?;
    let text = match args.json {
        true => format!("{}\n", all_json(&compared, &history)),
        false => compared
            .iter()
            .map(report::to_table)
            .collect::<Vec<_>>()
            .join("\n"),
    };
    let failed = compared
        .iter()
        .any(|c| exit(c, args.warn_only) == Exit::Failed);
    Ok((text, if failed { Exit::Failed } else { Exit::Done }))
}

/// That of a line, or the last of each benchmark.
fn looked_at(history: &History, line: Option<usize>) -> Result<Vec<&Kept>, String> {
    let Some(line) = line else {
        let each = history.kept.iter().map(|kept| (&kept.run.bench, kept));
        return Ok(each.collect::<BTreeMap<_, _>>().into_values().collect());
    };
    let found = history.kept.iter().find(|kept| kept.line == line);
    let found = found.ok_or_else(|| format!("--run {line}: that line is no run"))?;
    Ok(vec![found])
}

fn list(history: &History, json: bool) -> String {
    let run = |kept: &Kept| {
        let fault = kept.run.fault.as_ref();
        let disturbed = kept.run.series.iter().filter(|s| s.disturbed.is_some());
        (fault.cloned(), kept.run.series.len(), disturbed.count())
    };
    if json {
        let each = history.kept.iter().map(|kept| {
            let (fault, names, disturbed) = run(kept);
            json!({
                "line": kept.line, "bench": kept.run.bench, "at": kept.run.at,
                "version": kept.run.version, "commit": kept.run.commit,
                "program": kept.run.program, "machine": kept.run.machine,
                "arguments": kept.run.conditions, "selection": kept.run.selection,
                "names": names, "disturbed": disturbed, "fault": fault,
            })
        });
        let damaged = report::damaged_json(&history.damaged);
        let all = json!({ "runs": each.collect::<Value>(), "history_damaged": damaged });
        return format!("{all}\n");
    }
    let line = |kept: &Kept| {
        let (fault, names, disturbed) = run(kept);
        let fault = fault
            .map(|why| format!(", failed: {why}"))
            .unwrap_or_default();
        let name = report::name_of(kept);
        format!("{name}: {names} names, {disturbed} disturbed{fault}\n")
    };
    history.kept.iter().map(line).collect()
}

fn all_json(compared: &[Comparison], history: &History) -> Value {
    let slower = compared.iter().flat_map(Comparison::slower);
    json!({
        "slower": slower.map(|row| &row.name[..]).collect::<Vec<_>>(),
        "comparisons": compared.iter().map(report::to_json).collect::<Vec<_>>(),
        "history_damaged": report::damaged_json(&history.damaged),
    })
}
