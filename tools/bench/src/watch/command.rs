//! `sluice bench compare`: comparison of stored runs.

use super::compare::{Comparison, With, compare};
use super::exit;
use super::history::{History, Kept};
use clap::Args;
use serde_json::{Value, json};
use sluice_program::exit::Exit;
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
    let cannot = |why: &str| format!("{}: {why}", path.display());
    if !path.exists() {
        return Err(cannot(
            "there is no such file; expected what --history wrote",
        ));
    }
    let history = History::read(path).map_err(|why| cannot(&why.to_string()))?;
    history.tell_damage(path);
    if history.kept.is_empty() {
        return Err(cannot("no line holds a run; expected what --history wrote"));
    }
    if args.list {
        return Ok((list(&history, args.json), Exit::Done));
    }
    let with = With::parse(args.with.as_deref(), history.lines());
    let looked_at = looked_at(&history, args.run)?.into_iter();
    let compared = looked_at.map(|now| compare(&history.kept, now, &with));
    let compared = compared.collect::<Result<Vec<_>, _>>()?;
    let text = match args.json {
        true => format!("{}\n", to_json(&compared, &history)),
        false => {
            let tables: Vec<String> = compared.iter().map(Comparison::to_table).collect();
            tables.join("\n")
        }
    };
    Ok((text, exit(&compared, args.warn_only)))
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
    let disturbed = |kept: &Kept| {
        let series = kept.run.series.iter();
        series.filter(|s| s.disturbed.is_some()).count()
    };
    if json {
        let each = history.kept.iter().map(|kept| {
            json!({
                "line": kept.line, "bench": kept.run.bench, "at": kept.run.at,
                "version": kept.run.version, "commit": kept.run.commit,
                "program": kept.run.program, "machine": kept.run.machine,
                "arguments": kept.run.conditions, "selection": kept.run.selection,
                "names": kept.run.series.len(), "disturbed": disturbed(kept),
                "fault": kept.run.fault,
            })
        });
        let runs = each.collect::<Value>();
        return format!(
            "{}\n",
            json!({ "runs": runs, "history_damaged": history.damaged })
        );
    }
    let line = |kept: &Kept| {
        let (names, disturbed) = (kept.run.series.len(), disturbed(kept));
        let fault = kept.run.fault.as_ref();
        let fault = fault
            .map(|why| format!(", failed: {why}"))
            .unwrap_or_default();
        format!("{kept}: {names} names, {disturbed} disturbed{fault}\n")
    };
    history.kept.iter().map(line).collect()
}

fn to_json(compared: &[Comparison], history: &History) -> Value {
    let slower = compared.iter().flat_map(Comparison::slower);
    json!({
        "slower": slower.map(|row| &row.name).collect::<Vec<_>>(),
        "comparisons": compared.iter().map(Comparison::to_json).collect::<Vec<_>>(),
        "history_damaged": history.damaged,
    })
}
