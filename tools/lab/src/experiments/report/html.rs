//! HTML report: one file without external resources.

use super::{ReportInput, Run, State};
use crate::experiments::expect::{ExpectationResult, Verdict};
use crate::experiments::plan::How;
use crate::experiments::plot::{three_digits, with_unit};
use serde_json::Value;
use sluice_bench::stats::Summary;

/// Style sheet of the report, which is one file that needs no other.
const CSS: &str = include_str!("style.css");

pub fn html(run: &Run, all: &[ReportInput]) -> String {
    let experiments: String = all.iter().map(|told| experiment(run, told)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Sluice lab</title><style>{CSS}</style></head><body>\n<h1>Sluice lab: the papers' \
         experiments, repeated</h1>\n{}{}{experiments}</body></html>\n",
        heading(run, all),
        overview(all),
    )
}

fn heading(run: &Run, all: &[ReportInput]) -> String {
    let quick = match run.quick {
        true => {
            "<p class=\"warn\">This is a <b>quick</b> run: few repetitions, short ones, few \
             sessions. It shows that everything works, and roughly how schemes compare. Run without \
             <code>--quick</code> on a quiet machine for figures.</p>"
        }
        false => "",
    };
    let points: usize = all.iter().map(|told| told.points.len()).sum();
    let disturbed = match all.iter().map(ReportInput::disturbed).sum::<usize>() {
        0 => String::new(),
        n => format!(
            "<p class=\"warn\">{n} of {points} points were disturbed: something else had the CPUs \
             meanwhile. Read their figures by ratio at the most. When it is quiet, <code>--again disturbed</code> \
             measures them again.</p>"
        ),
    };
    let facts = run.machine.as_object().into_iter().flatten();
    let facts = facts.filter(|(_, value)| !value.is_null());
    let facts = facts.map(|(name, value)| match value {
        Value::String(text) => (name.replace('_', " "), escape(text)),
        other => (name.replace('_', " "), escape(&other.to_string())),
    });
    let made = [
        ("command", format!("<code>{}</code>", escape(&run.command))),
        ("when", escape(&run.date)),
        ("version", escape(&run.version)),
    ];
    let made = made.map(|(name, value)| (name.to_owned(), value));
    let row = |(name, value)| format!("<tr><th>{name}</th><td>{value}</td></tr>");
    let rows: String = facts.chain(made).map(row).collect();
    format!(
        "<p>Figures of the papers come from network cards and machines that are not here: what can \
         be compared is a ratio, scheme against scheme within one run. Each experiment says what \
         was really measured, what is modelled, and what ran in virtual time.</p>{quick}{disturbed}\
         <details open><summary>The machine, and how this was made</summary><table>{rows}</table></details>\n",
    )
}

fn overview(all: &[ReportInput]) -> String {
    let rows = all.iter().map(|told| {
        let name = &told.experiment.name;
        vec![
            format!("<a href=\"#{name}\">{name}</a>"),
            escape(&told.experiment.paper.system),
            escape(&told.experiment.title),
            outcome(told),
        ]
    });
    let heads = ["name", "system", "what", "expectations"];
    table("All experiments", heads, rows)
}

fn outcome(told: &ReportInput) -> String {
    let order = [
        ExpectationResult::Failed,
        ExpectationResult::FailedDisturbed,
        ExpectationResult::NotJudged,
        ExpectationResult::NotHere,
        ExpectationResult::Passed,
        ExpectationResult::PassedDisturbed,
    ];
    let counts = order.map(|outcome| (outcome, told.of_outcome(outcome).len()));
    let counts = counts.into_iter().filter(|(_, n)| *n > 0);
    let counted = counts.map(|(outcome, n)| said(outcome, &format!("{n} ")));
    let counted = counted.collect::<Vec<_>>().join(", ");
    match told.state {
        State::NotYet => span("notyet", "not yet"),
        State::Partly => format!("{}; {counted}", span("failed", "not all points measured")),
        State::Done => counted,
    }
}

/// An outcome, with words before it.
fn said(outcome: ExpectationResult, before: &str) -> String {
    let (class, word) = match outcome {
        ExpectationResult::Passed => ("passed", "passed"),
        ExpectationResult::PassedDisturbed => ("disturbed", "passed (disturbed)"),
        ExpectationResult::Failed => ("failed", "FAILED"),
        ExpectationResult::FailedDisturbed => ("notyet", "not judged (disturbed)"),
        ExpectationResult::NotJudged => ("notyet", "not judged"),
        ExpectationResult::NotHere => ("notyet", "not judged here"),
    };
    span(class, &format!("{before}{word}"))
}

fn experiment(run: &Run, told: &ReportInput) -> String {
    let plan = &told.experiment;
    let [title, reference, figure, system] = [
        &plan.title,
        &plan.paper.reference,
        &plan.paper.figure,
        &plan.paper.system,
    ]
    .map(|text| escape(text));
    let mut page = format!(
        "<h2 id=\"{0}\">{0}: {title}</h2><p>{reference} <small>({figure}; system {system})</small></p>\
         <p>{1}</p>\n",
        plan.name,
        outcome(told),
    );
    page += &list("What is measured, and what is not", &plan.how);
    page += &list("What cannot be done here", &plan.cannot);
    page += &list("Not measured", &told.failed);
    page.extend(told.plots.iter().map(|(_, svg)| format!("{svg}\n")));
    let theirs = plan
        .theirs
        .iter()
        .map(|t| vec![escape(&t.says), escape(&t.value), small(&t.stands)]);
    page += &table("Theirs", ["what", "figure", "where"], theirs);
    let title = "Theirs, ours, and what is expected: ratios";
    let heads = ["what", "theirs", "ours", "expected", "", ""];
    page += &table(title, heads, told.verdicts.iter().map(verdict));
    if told.state == State::NotYet {
        return page;
    }
    let again = escape(&run.again(&plan.name));
    page + &held(told)
        + &results(told)
        + &format!(
            "<p><small>Again: <code>{again}</code> (measures what is missing; with <code>--again \
             disturbed</code> what was disturbed, with another <code>--out</code> everything)</small></p>"
        )
}

fn verdict(v: &Verdict) -> Vec<String> {
    vec![
        format!("{}<br>{}", escape(&v.says), small(&v.name)),
        escape(v.theirs.as_deref().unwrap_or("-")),
        v.ours.map_or("-".to_owned(), three_digits) + &change(v),
        escape(&v.expected),
        said(v.outcome, ""),
        small(&v.note),
    ]
}

/// As papers tell of ratios: `(-58 %)`.
fn change(v: &Verdict) -> String {
    let finite = v.change_percent.filter(|percent| percent.is_finite());
    finite.map_or(String::new(), |percent| {
        format!(" {}", small(&format!("({percent:+.0} %)")))
    })
}

fn held(told: &ReportInput) -> String {
    let quick = told.points.first().is_some_and(|point| point.made.quick);
    let held = told.experiment.held.keys().filter_map(|name| {
        let value = told.experiment.held(name, quick)?;
        Some(format!("{} {value}", name.replace('_', " ")))
    });
    let held = held.collect::<Vec<_>>().join("; ");
    match held.is_empty() {
        true => held,
        false => format!("<p>{}</p>", small(&format!("Held: {held}."))),
    }
}

fn results(told: &ReportInput) -> String {
    let plan = &told.experiment;
    let axes = plan
        .axes
        .iter()
        .map(|a| escape(&with_unit(&a.says, &a.unit)));
    let series = plan.series.iter().map(|s| {
        let class = match s.how {
            How::Measured => "tag",
            How::Modelled => "tag modelled",
            How::VirtualTime => "tag virtual",
        };
        let says = escape(&with_unit(&s.says, &s.unit));
        format!("{says}<br>{}", span(class, s.how.says()))
    });
    let heads: Vec<String> = axes.chain(series).chain(["disturbed".to_owned()]).collect();
    let rows = told.points.iter().map(|point| {
        let at = plan.axes.iter().map(|a| point.at.get(&a.name));
        let at = at.map(|value| escape(&value.map(ToString::to_string).unwrap_or_default()));
        let series = plan.series.iter();
        let figures = series.map(|s| {
            point
                .measured
                .series
                .get(&s.name)
                .map_or("-".into(), figure)
        });
        let disturbed = point.measured.disturbed.as_deref().unwrap_or("");
        at.chain(figures).chain([small(disturbed)]).collect()
    });
    let heads = heads.iter().map(String::as_str);
    format!(
        "<details><summary>All figures: median, and minimum to maximum of the repetitions</summary>\
         {}</details>",
        rows_under(heads, rows)
    )
}

fn figure(summary: &Summary) -> String {
    let [low, middle, high] = [summary.min, summary.median, summary.max].map(three_digits);
    match summary.repeats {
        1 => middle,
        _ => format!("{middle} {}", small(&format!("({low} to {high})"))),
    }
}

fn list(title: &str, lines: &[String]) -> String {
    let items = lines
        .iter()
        .map(|line| format!("<li>{}</li>", escape(line)));
    match lines.is_empty() {
        true => String::new(),
        false => format!("<h3>{title}</h3><ul>{}</ul>", items.collect::<String>()),
    }
}

/// A table of finished cells with a title, unless it has no rows.
fn table<const N: usize>(
    title: &str,
    heads: [&str; N],
    rows: impl ExactSizeIterator<Item = Vec<String>>,
) -> String {
    match rows.len() {
        0 => String::new(),
        _ => format!("<h3>{title}</h3>{}\n", rows_under(heads.into_iter(), rows)),
    }
}

/// Cells that begin with a digit are figures, and stand to the right.
fn rows_under<'a>(
    heads: impl Iterator<Item = &'a str>,
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let heads: String = heads.map(|head| format!("<th>{head}</th>")).collect();
    let cell = |cell: String| match cell.starts_with(|c: char| c.is_ascii_digit()) {
        true => format!("<td class=\"n\">{cell}</td>"),
        false => format!("<td>{cell}</td>"),
    };
    let row = |cells: Vec<String>| -> String { cells.into_iter().map(cell).collect() };
    let rows: String = rows
        .map(|cells| format!("<tr>{}</tr>", row(cells)))
        .collect();
    format!("<table><tr>{heads}</tr>{rows}</table>")
}

fn span(class: &str, words: &str) -> String {
    format!("<span class=\"{class}\">{words}</span>")
}

fn small(text: &str) -> String {
    format!("<small>{}</small>", escape(text))
}

/// As text of a page or a picture.
pub fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;").replace('"', "&quot;")
}
