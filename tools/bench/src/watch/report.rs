//! Report of a comparison, as a table and as JSON.

use super::compare::{Comparison, Row, Said};
use super::run::{Damaged, Kept};
use super::verdict::{ALPHA, Contrast, MARGIN, Verdict, WORTH};
use crate::stats::Summary;
use serde_json::{Value, json};

/// For people.
pub fn to_table(comparison: &Comparison) -> String {
    let mut text = format!("{} beside earlier runs\n", name_of(&comparison.now));
    if let Some((count, line, why)) = &comparison.others {
        text += &format!("  {count} not comparable; that of line {line}, {why}\n");
    }
    if let Some(why) = &comparison.now.run.fault {
        text += &format!("  this run failed and will not be compared with: {why}\n");
    }
    for then in &comparison.then {
        let same = then.run.program == comparison.now.run.program;
        let same = if same { "; the same program" } else { "" };
        text += &format!("  with {}{same}\n", name_of(then));
    }
    let width = comparison.rows.iter().map(|row| row.name.len()).max();
    let width = width.unwrap_or(0).max(24);
    if !comparison.rows.is_empty() {
        text += &format!(
            "{:<width$} {:>5}{:>11}{:>11}  {:<28}{:>9}  \n",
            "", "line", "then", "now", "slower by (95 % interval)", "p"
        );
    }
    for row in &comparison.rows {
        text += &line(row, width);
    }
    text + &closing(comparison)
}

fn line(row: &Row, width: usize) -> String {
    let at = row.line.map_or("-".to_owned(), |line| line.to_string());
    let (then, now) = medians(&row.said);
    let [then, now] = [then, now].map(|m| m.map_or("-".to_owned(), |m| digits(m.median)));
    let (change, p) = match &row.said {
        Said::Judged(contrast, _) => (change(contrast), probability(row.p)),
        _ => Default::default(),
    };
    let said = said(row);
    let text = format!(
        "{:<width$} {at:>5}{then:>11}{now:>11}  {change:<28}{p:>9}  {said}",
        row.name
    );
    let disturbed = row.disturbed.as_ref();
    let disturbed = disturbed.map(|why| format!("\n  disturbed: {why}"));
    format!("{}{}\n", text.trim_end(), disturbed.unwrap_or_default())
}

fn medians(said: &Said) -> (Option<Summary>, Option<Summary>) {
    match said {
        Said::Judged(contrast, _) => (Some(contrast.old), Some(contrast.new)),
        Said::Shown(old, new) => (Some(*old), Some(*new)),
        Said::New(new) => (None, Some(*new)),
        Said::Gone(old) => (Some(*old), None),
    }
}

/// The verdict, in words.
fn said(row: &Row) -> String {
    match &row.said {
        Said::Judged(_, Verdict::Slower) => "SLOWER".to_owned(),
        Said::Judged(_, Verdict::Faster) => "faster".to_owned(),
        Said::Judged(_, Verdict::NoDifference) => "no difference shown".to_owned(),
        Said::Judged(_, Verdict::CannotTell(needed)) => match needed {
            Some(n) => format!("cannot tell: about {n} repetitions would"),
            None => "cannot tell: repetitions lie too far apart".to_owned(),
        },
        Said::Shown(..) => "shown, not judged: no limit beside it".to_owned(),
        Said::New(_) => "new".to_owned(),
        Said::Gone(_) => "gone: this run does not have it".to_owned(),
    }
}

/// What was slower, once more and by name, so that it stands last.
fn closing(comparison: &Comparison) -> String {
    if comparison.then.is_empty() {
        return "  no earlier run is comparable: the next one will be compared with this\n".into();
    }
    let is_judged = |row: &&Row| matches!(row.said, Said::Judged(..));
    let judged = comparison.rows.iter().filter(is_judged).count();
    let mut text = String::new();
    for row in &comparison.rows {
        let Said::Judged(contrast, Verdict::Slower) = &row.said else {
            continue;
        };
        let counts = match &row.disturbed {
            None => "slower",
            Some(_) => "slower, but disturbed, so it does not count",
        };
        text += &format!(
            "{counts}: {}: {} then, {} now ({}), by {}, p {}\n",
            row.name,
            digits(contrast.old.median),
            digits(contrast.new.median),
            row.unit,
            change(contrast),
            probability(row.p),
        );
    }
    match text.is_empty() {
        true => format!("none of {judged} judged names became slower\n"),
        false => text,
    }
}

fn change(contrast: &Contrast) -> String {
    let percent = |share: f64| format!("{:+.1}", share * 100.0);
    let interval = contrast
        .interval
        .map(|(low, high)| format!(" ({} to {})", percent(low), percent(high)));
    let wide = contrast.margin > MARGIN;
    let margin = wide.then(|| format!(" [{:.0}]", contrast.margin * 100.0));
    let [interval, margin] = [interval, margin].map(Option::unwrap_or_default);
    format!("{} %{interval}{margin}", percent(contrast.change))
}

fn digits(value: f64) -> String {
    match value {
        v if v >= 1000.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.2}"),
        v => format!("{v:.4}"),
    }
}

fn probability(p: f64) -> String {
    match p {
        p if p >= 0.001 => format!("{p:.3}"),
        p => format!("{p:.0e}"),
    }
}

/// Line, time and sources of a run.
pub fn name_of(kept: &Kept) -> String {
    let run = &kept.run;
    let (line, bench, at, source) = (kept.line, &run.bench, &run.at, run.source());
    format!("bench {bench}, line {line}, {at}, {} {source}", run.version)
}

/// For scripts.
pub fn to_json(comparison: &Comparison) -> Value {
    let slower: Vec<&str> = comparison.slower().map(|row| &row.name[..]).collect();
    let others = comparison.others.as_ref();
    let others = others
        .map(|(count, line, why)| json!({ "runs": count, "last_line": line, "last_because": why }));
    json!({
        "run": run_json(&comparison.now),
        "compared_with": comparison.then.iter().map(run_json).collect::<Vec<_>>(),
        "not_comparable": others,
        "alpha": ALPHA,
        "margin_percent": MARGIN * 100.0,
        "worth_percent": WORTH * 100.0,
        "slower": slower,
        "names": comparison.rows.iter().map(row_json).collect::<Vec<_>>(),
    })
}

fn run_json(kept: &Kept) -> Value {
    let run = &kept.run;
    json!({
        "line": kept.line,
        "bench": run.bench,
        "at": run.at,
        "version": run.version,
        "commit": run.commit,
        "program": run.program,
        "fault": run.fault,
    })
}

fn row_json(row: &Row) -> Value {
    let (then, now) = medians(&row.said);
    let mut value = json!({
        "name": row.name,
        "unit": row.unit,
        "line": row.line,
        "median_then": then.map(|s| s.median),
        "median_now": now.map(|s| s.median),
        "disturbed": row.disturbed,
    });
    value["verdict"] = json!(match &row.said {
        Said::Judged(_, Verdict::Slower) => "slower",
        Said::Judged(_, Verdict::Faster) => "faster",
        Said::Judged(_, Verdict::NoDifference) => "no difference shown",
        Said::Judged(_, Verdict::CannotTell(_)) => "cannot tell",
        Said::Shown(..) => "shown",
        Said::New(_) => "new",
        Said::Gone(_) => "gone",
    });
    if let Said::Judged(contrast, verdict) = &row.said {
        let percent = |share: f64| share * 100.0;
        value["ratio"] = json!(contrast.ratio());
        value["slower_by_percent"] = json!(percent(contrast.change));
        let interval = contrast.interval;
        value["interval_percent"] =
            json!(interval.map(|(low, high)| [percent(low), percent(high)]));
        value["margin_percent"] = json!(percent(contrast.margin));
        value["p"] = json!(row.p);
        value["p_alone"] = json!(contrast.p);
        if let Verdict::CannotTell(needed) = verdict {
            value["repetitions_needed"] = json!(needed);
        }
    }
    value
}

/// Lines that could not be read, for people.
pub fn damaged_lines(path: &str, damaged: &[Damaged]) -> String {
    let line = |d: &Damaged| format!("{path}:{}: skipped: {}\n", d.line, d.why);
    damaged.iter().map(line).collect()
}

/// The same for scripts.
pub fn damaged_json(damaged: &[Damaged]) -> Value {
    let each = damaged.iter();
    let each = each.map(|d| json!({ "line": d.line, "skipped_because": d.why }));
    each.collect()
}
