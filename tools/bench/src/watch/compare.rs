//! Comparison of a run with earlier ones, for scripts and for people.

use super::history::{Kept, Series, different};
use super::verdict::{ALPHA, Contrast, MARGIN, Verdict, WORTH, adjust};
use crate::stats::Summary;
use serde::Serialize;
use serde_json::{Value, json};

/// Runs of one program that tell how far such runs lie apart.
const NOISE_RUNS: usize = 5;

#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Row {
    pub name: String,
    pub unit: String,
    /// The line of the run that it is compared with.
    pub line: Option<usize>,
    pub median_then: Option<f64>,
    pub median_now: Option<f64>,
    /// Why one of both cannot be trusted.
    pub disturbed: Option<String>,
    pub verdict: Verdict,
    /// Only where both runs have it and it was divided by a limit.
    #[serde(flatten)]
    pub contrast: Option<Contrast>,
}

/// All names of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    pub now: Kept,
    /// Runs with which its names are compared, the newest first.
    pub then: Vec<Kept>,
    pub rows: Vec<Row>,
    /// Earlier runs of this benchmark that cannot be compared with: how many, the last one's line and
    /// what differs there.
    pub others: Option<(usize, usize, String)>,
}

/// Which run to compare with.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum With {
    /// The last comparable one; for each name the last that nothing disturbed.
    Last,
    Line(usize),
    /// The last comparable one whose commit begins so.
    Commit(String),
}

impl With {
    /// A number is a line if the file has so many, or else the beginning of a commit.
    pub fn parse(text: Option<&str>, lines: usize) -> Self {
        match text.map(|text| (text, text.parse::<usize>())) {
            None => Self::Last,
            Some((_, Ok(line))) if line <= lines => Self::Line(line),
            Some((text, _)) => Self::Commit(text.to_owned()),
        }
    }
}

/// The run `now` beside those of `kept` before it. An error if the one asked for is not there, or not
/// comparable.
pub fn compare(kept: &[Kept], now: &Kept, with: &With) -> Result<Comparison, String> {
    let earlier = kept.iter().rev().filter(|k| k.line < now.line);
    let earlier = earlier.filter(|k| k.run.bench == now.run.bench);
    let (usable, others): (Vec<&Kept>, Vec<&Kept>) =
        earlier.partition(|k| obstacle(k, now).is_none());
    let chosen = chosen(kept, &usable, now, with)?;
    let each = now.run.series.iter();
    let mut rows: Vec<Row> = each.map(|new| row(&chosen, &usable, now, new)).collect();
    rows.extend(gone(&chosen, now));
    let mut judged: Vec<&mut Row> = rows.iter_mut().filter(|r| r.contrast.is_some()).collect();
    let ps: Vec<f64> = judged
        .iter()
        .filter_map(|r| Some(r.contrast.as_ref()?.p))
        .collect();
    for (row, p) in judged.iter_mut().zip(adjust(&ps)) {
        if let Some(contrast) = &mut row.contrast {
            row.verdict = contrast.judge(p, ps.len());
        }
    }
    let is_used = |k: &&Kept| rows.iter().any(|row| row.line == Some(k.line));
    Ok(Comparison {
        now: now.clone(),
        then: chosen.into_iter().filter(is_used).cloned().collect(),
        others: others.first().map(|last| {
            let why = obstacle(last, now).unwrap_or_default();
            (others.len(), last.line, why)
        }),
        rows,
    })
}

/// Why a run cannot be compared with.
fn obstacle(then: &Kept, now: &Kept) -> Option<String> {
    match &then.run.fault {
        Some(why) => Some(format!("it failed: {why}")),
        None => now.run.differs(&then.run),
    }
}

fn chosen<'a>(
    kept: &'a [Kept],
    usable: &[&'a Kept],
    now: &Kept,
    with: &With,
) -> Result<Vec<&'a Kept>, String> {
    match with {
        With::Last => Ok(usable.to_vec()),
        With::Line(line) => {
            let found = kept.iter().find(|k| k.line == *line);
            let found = found.ok_or_else(|| format!("line {line} of the history is no run"))?;
            match obstacle(found, now) {
                _ if found.line >= now.line => {
                    Err(format!("line {line} is not before line {}", now.line))
                }
                Some(why) => Err(format!("line {line} is not comparable: {why}")),
                None => Ok(vec![found]),
            }
        }
        With::Commit(commit) => {
            let found = usable.iter().find(|k| k.run.commit.starts_with(commit));
            let found = found.map(|found| vec![*found]);
            found.ok_or_else(|| {
                let bench = &now.run.bench;
                format!("no comparable run of bench {bench} has a commit that begins with {commit}")
            })
        }
    }
}

fn row(chosen: &[&Kept], usable: &[&Kept], now: &Kept, new: &Series) -> Row {
    let plain = Row {
        median_now: Some(median(new)),
        ..Row::of(new, Verdict::New)
    };
    let mut candidates = chosen.iter().filter_map(|k| Some((*k, like(k, new)?)));
    let newest = candidates.next();
    let mut all = newest.into_iter().chain(candidates);
    let quiet = all.find(|(_, old)| old.disturbed.is_none());
    let Some((then, old)) = quiet.or(newest).filter(|_| !new.samples.is_empty()) else {
        return plain;
    };
    let then_disturbed = old.disturbed.as_ref().map(|why| format!("then: {why}"));
    let contrast = (old.judged && new.judged).then(|| {
        let programs = [now, then].map(|k| noise(usable, &k.run.program, new));
        Contrast::of(old, new, programs[0].max(programs[1]))
    });
    Row {
        line: Some(then.line),
        median_then: Some(median(old)),
        disturbed: new.disturbed.clone().or(then_disturbed),
        verdict: Verdict::Shown,
        contrast,
        ..plain
    }
}

/// Names that the last run with the same selection has, and this one has not.
fn gone(chosen: &[&Kept], now: &Kept) -> Vec<Row> {
    let last = chosen.iter().find(|k| k.run.selection == now.run.selection);
    let missing = last.into_iter().flat_map(|last| {
        let old = last.run.series.iter();
        let old = old.filter(|old| now.run.find(&old.name).is_none());
        old.map(|old| Row {
            line: Some(last.line),
            median_then: Some(median(old)),
            ..Row::of(old, Verdict::Gone)
        })
    });
    missing.collect()
}

/// The figure of a run that can be compared with `new`.
fn like<'a>(then: &'a Kept, new: &Series) -> Option<&'a Series> {
    let old = then.run.find(&new.name)?;
    let same = different(&old.conditions, &new.conditions).is_none() && old.unit == new.unit;
    (same && !old.samples.is_empty()).then_some(old)
}

fn median(series: &Series) -> f64 {
    Summary::of(series.samples.iter().copied()).median
}

/// How far the medians of earlier, undisturbed runs of one program lie apart, as a share.
fn noise(usable: &[&Kept], program: &str, new: &Series) -> f64 {
    let of_program = usable.iter().filter(|k| k.run.program == program);
    let quiet = of_program
        .filter_map(|k| like(k, new))
        .filter(|series| series.disturbed.is_none());
    let medians = Summary::of(quiet.map(median).take(NOISE_RUNS));
    match medians.min > 0.0 {
        true => medians.max / medians.min - 1.0,
        false => 0.0,
    }
}

impl Row {
    fn of(series: &Series, verdict: Verdict) -> Self {
        Self {
            name: series.name.clone(),
            unit: series.unit.clone(),
            line: None,
            median_then: None,
            median_now: None,
            disturbed: series.disturbed.clone(),
            verdict,
            contrast: None,
        }
    }

    /// The verdict, in words.
    fn said(&self) -> String {
        let said = match self.verdict {
            Verdict::Slower => "SLOWER",
            Verdict::Faster => "faster",
            Verdict::NoDifference => "no difference shown",
            Verdict::CannotTell => {
                let needed = self.contrast.as_ref().and_then(|c| c.repetitions_needed?);
                return match needed {
                    Some(n) => format!("cannot tell: about {n} repetitions would"),
                    None => "cannot tell: repetitions lie too far apart".to_owned(),
                };
            }
            Verdict::Shown => "shown, not judged: no limit beside it",
            Verdict::New => "new",
            Verdict::Gone => "gone: this run does not have it",
        };
        said.to_owned()
    }

    fn line(&self, width: usize) -> String {
        let at = self.line.map_or("-".to_owned(), |line| line.to_string());
        let [then, now] = [self.median_then, self.median_now].map(digits);
        let judged = self.contrast.as_ref();
        let (change, p) = judged
            .map(|c| (change(c), probability(c.p)))
            .unwrap_or_default();
        let (name, said) = (&self.name, self.said());
        let text = format!("{name:<width$} {at:>5}{then:>11}{now:>11}  {change:<28}{p:>9}  {said}");
        let disturbed = self.disturbed.as_ref();
        let disturbed = disturbed.map(|why| format!("\n  disturbed: {why}"));
        format!("{}{}\n", text.trim_end(), disturbed.unwrap_or_default())
    }
}

impl Comparison {
    /// Slower, and neither run was disturbed.
    pub fn slower(&self) -> impl Iterator<Item = &Row> {
        let slower = |row: &&Row| row.verdict == Verdict::Slower && row.disturbed.is_none();
        self.rows.iter().filter(slower)
    }

    pub fn to_table(&self) -> String {
        let mut text = format!("{} beside earlier runs\n", self.now);
        if let Some((count, line, why)) = &self.others {
            text += &format!("  {count} not comparable; that of line {line}, {why}\n");
        }
        if let Some(why) = &self.now.run.fault {
            text += &format!("  this run failed and will not be compared with: {why}\n");
        }
        for then in &self.then {
            let same = then.run.program == self.now.run.program;
            let same = if same { "; the same program" } else { "" };
            text += &format!("  with {then}{same}\n");
        }
        let width = self.rows.iter().map(|row| row.name.len()).max();
        let width = width.unwrap_or(0).max(24);
        if !self.rows.is_empty() {
            let (head, p) = ("slower by (95 % interval)", "p");
            text += &format!(
                "{:<width$} {:>5}{:>11}{:>11}  {head:<28}{p:>9}  \n",
                "", "line", "then", "now"
            );
        }
        text.extend(self.rows.iter().map(|row| row.line(width)));
        text + &self.closing()
    }

    /// Slower names, once more, so that they stand last.
    fn closing(&self) -> String {
        if self.then.is_empty() {
            return "  no earlier run is comparable: the next one will be compared with this\n"
                .into();
        }
        let slower = self.rows.iter().filter(|r| r.verdict == Verdict::Slower);
        let told = slower.filter_map(|row| {
            let contrast = row.contrast.as_ref()?;
            let counts = match &row.disturbed {
                None => "slower",
                Some(_) => "slower, but disturbed, so it does not count",
            };
            let [then, now] = [row.median_then, row.median_now].map(digits);
            let (change, p) = (change(contrast), probability(contrast.p));
            let (name, unit) = (&row.name, &row.unit);
            Some(format!(
                "{counts}: {name}: {then} then, {now} now ({unit}), by {change}, p {p}\n"
            ))
        });
        let text: String = told.collect();
        let judged = self
            .rows
            .iter()
            .filter(|row| row.contrast.is_some())
            .count();
        match text.is_empty() {
            true => format!("none of {judged} judged names became slower\n"),
            false => text,
        }
    }

    pub fn to_json(&self) -> Value {
        let others = self.others.as_ref();
        let others = others.map(
            |(count, line, why)| json!({ "runs": count, "last_line": line, "last_because": why }),
        );
        json!({
            "run": run_json(&self.now),
            "compared_with": self.then.iter().map(run_json).collect::<Vec<_>>(),
            "not_comparable": others,
            "alpha": ALPHA,
            "margin_percent": MARGIN * 100.0,
            "worth_percent": WORTH * 100.0,
            "slower": self.slower().map(|row| &row.name).collect::<Vec<_>>(),
            "names": self.rows,
        })
    }
}

fn run_json(Kept { line, run }: &Kept) -> Value {
    json!({
        "line": line, "bench": run.bench, "at": run.at, "version": run.version,
        "commit": run.commit, "program": run.program, "fault": run.fault,
    })
}

fn change(contrast: &Contrast) -> String {
    let interval = contrast.interval_percent;
    let interval = interval.map(|[low, high]| format!(" ({low:+.1} to {high:+.1})"));
    let margin = contrast.margin_percent;
    let margin = (margin > MARGIN * 100.0).then(|| format!(" [{margin:.0}]"));
    let [interval, margin] = [interval, margin].map(Option::unwrap_or_default);
    format!("{:+.1} %{interval}{margin}", contrast.slower_by_percent)
}

fn digits(median: Option<f64>) -> String {
    match median {
        None => "-".to_owned(),
        Some(v) if v >= 1000.0 => format!("{v:.0}"),
        Some(v) if v >= 10.0 => format!("{v:.2}"),
        Some(v) => format!("{v:.4}"),
    }
}

fn probability(p: f64) -> String {
    match p {
        p if p >= 0.001 => format!("{p:.3}"),
        p => format!("{p:.0e}"),
    }
}
