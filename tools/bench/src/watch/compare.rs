//! Comparison of a run with earlier ones.

use super::run::{Kept, different};
use super::series::Series;
use super::verdict::{ALPHA, Contrast, Verdict, adjust};
use crate::stats::Summary;

/// So many runs of one program tell how far such runs lie apart.
const NOISE_RUNS: usize = 5;

/// What is said of a name.
#[derive(Clone, PartialEq, Debug)]
pub enum Said {
    /// Both runs have it.
    Judged(Contrast, Verdict),
    /// Both have it, but it was not divided by a limit: the medians, then and now.
    Shown(Summary, Summary),
    /// No comparable run has it.
    New(Summary),
    /// The last comparable run with these arguments has it, this one has not.
    Gone(Summary),
}

/// One name.
#[derive(Clone, PartialEq, Debug)]
pub struct Row {
    /// The name.
    pub name: String,
    /// What the samples are.
    pub unit: String,
    /// The line of the run that it is compared with.
    pub line: Option<usize>,
    /// What is said.
    pub said: Said,
    /// Of a judged one: the probability with all names of the run taken together.
    pub p: f64,
    /// Why one of both cannot be trusted.
    pub disturbed: Option<String>,
}

/// All names of a run.
#[derive(Clone, PartialEq, Debug)]
pub struct Comparison {
    /// The run.
    pub now: Kept,
    /// Those with which its names are compared, the newest first.
    pub then: Vec<Kept>,
    /// Name by name.
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
    /// That of this line.
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

impl Comparison {
    /// Slower, and neither run was disturbed.
    pub fn slower(&self) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(|row| {
            matches!(row.said, Said::Judged(_, Verdict::Slower)) && row.disturbed.is_none()
        })
    }
}

/// The run `now` beside those of `kept` before it. An error if the one asked for is not there, or not
/// comparable.
pub fn compare(kept: &[Kept], now: &Kept, with: &With) -> Result<Comparison, String> {
    let earlier = kept.iter().rev().filter(|k| k.line < now.line);
    let earlier: Vec<&Kept> = earlier.filter(|k| k.run.bench == now.run.bench).collect();
    let (usable, others): (Vec<&Kept>, Vec<&Kept>) = earlier
        .into_iter()
        .partition(|k| obstacle(k, now).is_none());
    let chosen = chosen(kept, &usable, now, with)?;
    let mut rows = rows(&chosen, &usable, now);
    let judged = |row: &Row| matches!(row.said, Said::Judged(..));
    let names = rows.iter().filter(|row| judged(row)).count();
    let adjusted = adjust(
        &rows
            .iter()
            .filter(|r| judged(r))
            .map(|r| r.p)
            .collect::<Vec<_>>(),
    );
    for (row, p) in rows.iter_mut().filter(|r| judged(r)).zip(adjusted) {
        row.p = p;
        if let Said::Judged(contrast, verdict) = &mut row.said {
            *verdict = contrast.verdict(p, names);
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
    let failed = then
        .run
        .fault
        .as_ref()
        .map(|why| format!("it failed: {why}"));
    failed.or_else(|| now.run.differs(&then.run))
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

fn rows(chosen: &[&Kept], usable: &[&Kept], now: &Kept) -> Vec<Row> {
    let each = now.run.series.iter();
    let mut rows: Vec<Row> = each.map(|new| row(chosen, usable, now, new)).collect();
    let same = |k: &&&Kept| k.run.selection == now.run.selection;
    let last = chosen.iter().find(same).map(|k| (k.line, &k.run.series));
    let (line, series) = last.map_or((None, &[][..]), |(line, all)| (Some(line), &all[..]));
    for old in series
        .iter()
        .filter(|old| now.run.find(&old.name).is_none())
    {
        let said = Said::Gone(summary(old));
        rows.push(Row::plain(old, line, said));
    }
    rows
}

fn row(chosen: &[&Kept], usable: &[&Kept], now: &Kept, new: &Series) -> Row {
    let mut candidates = chosen.iter().filter_map(|k| like(k, new));
    let newest = candidates.next();
    let quiet = newest.into_iter().chain(candidates);
    let quiet = quiet.into_iter().find(|(_, old)| old.disturbed.is_none());
    let Some((line, old)) = quiet.or(newest).filter(|_| !new.samples.is_empty()) else {
        return Row::plain(new, None, Said::New(summary(new)));
    };
    let disturbed = match (&old.disturbed, &new.disturbed) {
        (_, Some(why)) => Some(why.clone()),
        (Some(why), None) => Some(format!("then: {why}")),
        (None, None) => None,
    };
    let mut row = match old.judged && new.judged {
        false => Row::plain(new, Some(line), Said::Shown(summary(old), summary(new))),
        true => {
            let programs = [&now.run.program, program(usable, line)];
            let noise = programs.map(|program| noise(usable, program, new));
            let contrast = Contrast::of(old, new, noise[0].max(noise[1]));
            let p = contrast.p;
            let said = Said::Judged(contrast, Verdict::NoDifference);
            Row {
                p,
                ..Row::plain(new, Some(line), said)
            }
        }
    };
    row.disturbed = disturbed;
    row
}

/// The figure of a run that can be compared with `new`, and the run's line.
fn like<'a>(then: &'a Kept, new: &Series) -> Option<(usize, &'a Series)> {
    let old = then.run.find(&new.name)?;
    let same = different(&old.conditions, &new.conditions).is_none() && old.unit == new.unit;
    (same && !old.samples.is_empty()).then_some((then.line, old))
}

impl Row {
    fn plain(series: &Series, line: Option<usize>, said: Said) -> Self {
        Self {
            name: series.name.clone(),
            unit: series.unit.clone(),
            line,
            said,
            p: 1.0,
            disturbed: series.disturbed.clone(),
        }
    }

    /// Whether chance is ruled out, for the better or the worse.
    pub fn differs(&self) -> bool {
        matches!(self.said, Said::Judged(..)) && self.p <= ALPHA
    }
}

fn program<'a>(usable: &[&'a Kept], line: usize) -> &'a str {
    let found = usable.iter().find(|k| k.line == line);
    found.map_or("", |k| &k.run.program)
}

fn summary(series: &Series) -> Summary {
    Summary::of(series.samples.iter().copied())
}

/// How far the medians of earlier, undisturbed runs of one program lie apart, as a share.
fn noise(usable: &[&Kept], program: &str, new: &Series) -> f64 {
    let of_program = usable.iter().filter(|k| k.run.program == program);
    let medians = of_program.filter_map(|k| {
        let (_, series) = like(k, new)?;
        let quiet = series.disturbed.is_none();
        quiet.then(|| summary(series).median)
    });
    let medians = Summary::of(medians.take(NOISE_RUNS));
    match medians.min > 0.0 {
        true => medians.max / medians.min - 1.0,
        false => 0.0,
    }
}
