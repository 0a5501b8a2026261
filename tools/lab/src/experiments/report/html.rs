//! HTML report: one file without external resources.

use super::{ReportInput, Run, State};
use crate::experiments::expect::{ExpectationResult, Verdict};
use crate::experiments::plan::How;
use serde_json::Value;
use sluice_bench::stats::Summary;
use std::fmt::Write;

/// Style sheet of the report, which is one file that needs no other.
const CSS: &str = include_str!("style.css");

/// The whole page.
pub fn html(run: &Run, all: &[ReportInput]) -> String {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width\">\
         <title>Sluice lab</title><style>{CSS}</style></head><body>\n<h1>Sluice lab: the papers' \
         experiments, repeated</h1>\n"
    );
    page += &heading(run, all);
    page += &overview(all);
    for told in all {
        page += &experiment(run, told);
    }
    page + "</body></html>\n"
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
    let disturbed: usize = all.iter().map(ReportInput::disturbed).sum();
    let points: usize = all.iter().map(|told| told.points.len()).sum();
    let disturbed = match disturbed {
        0 => String::new(),
        n => format!(
            "<p class=\"warn\">{n} of {points} points were disturbed: something else had the CPUs \
             meanwhile. Read their figures by ratio at the most. When it is quiet, <code>--again disturbed</code> \
             measures them anew.</p>"
        ),
    };
    let facts = run.machine.as_object().into_iter().flatten();
    let facts: String = facts
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| {
            let value = match value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            format!(
                "<tr><th>{}</th><td>{}</td></tr>",
                escape(&name.replace('_', " ")),
                escape(&value)
            )
        })
        .collect();
    format!(
        "<p>Figures of the papers come from network cards and machines that are not here: what can \
         be compared is a ratio, scheme against scheme within one run. Each experiment says what \
         was really measured, what is modelled, and what ran in virtual time.</p>{quick}{disturbed}\
         <details open><summary>The machine, and how this was made</summary><table>{facts}\
         <tr><th>command</th><td><code>{}</code></td></tr><tr><th>when</th><td>{}</td></tr>\
         <tr><th>version</th><td>{}</td></tr></table></details>\n",
        escape(&run.command),
        escape(&run.date),
        escape(&run.version),
    )
}

fn overview(all: &[ReportInput]) -> String {
    let rows = all.iter().map(|told| {
        let plan = &told.experiment;
        format!(
            "<td><a href=\"#{0}\">{0}</a></td><td>{1}</td><td>{2}</td><td>{3}</td>",
            plan.name,
            escape(&plan.paper.system),
            escape(&plan.title),
            outcome(told),
        )
    });
    table(
        "All experiments",
        &["name", "system", "what", "expectations"],
        rows,
    )
}

fn outcome(told: &ReportInput) -> String {
    let of = |outcome| match told.of_outcome(outcome).len() {
        0 => None,
        n => Some(said(outcome, &format!("{n} "))),
    };
    let order = [
        ExpectationResult::Failed,
        ExpectationResult::NotJudged,
        ExpectationResult::NotHere,
        ExpectationResult::Passed,
        ExpectationResult::PassedDisturbed,
    ];
    let counted: Vec<String> = order.into_iter().filter_map(of).collect();
    let counted = counted.join(", ");
    match told.state {
        State::NotYet => "<span class=\"notyet\">not yet</span>".to_owned(),
        State::Partly => {
            format!("<span class=\"failed\">not all points measured</span>; {counted}")
        }
        State::Done => counted,
    }
}

/// An outcome, with words before it.
fn said(outcome: ExpectationResult, before: &str) -> String {
    let (class, word) = match outcome {
        ExpectationResult::Passed => ("passed", "passed"),
        ExpectationResult::PassedDisturbed => ("disturbed", "passed (disturbed)"),
        ExpectationResult::Failed => ("failed", "FAILED"),
        ExpectationResult::NotJudged => ("notyet", "not judged"),
        ExpectationResult::NotHere => ("notyet", "not judged here"),
    };
    format!("<span class=\"{class}\">{before}{word}</span>")
}

fn experiment(run: &Run, told: &ReportInput) -> String {
    let plan = &told.experiment;
    let mut page = format!(
        "<h2 id=\"{0}\">{0}: {1}</h2><p>{2} <small>({3}; system {4})</small></p><p>{5}</p>\n",
        plan.name,
        escape(&plan.title),
        escape(&plan.paper.reference),
        escape(&plan.paper.figure),
        escape(&plan.paper.system),
        outcome(told),
    );
    page += &list("What is measured, and what is not", &plan.how);
    page += &list("What cannot be done here", &plan.cannot);
    page += &list("Not measured", &told.failed);
    for (_, svg) in &told.plots {
        page += svg;
        page.push('\n');
    }
    page += &theirs(told);
    page += &verdicts(&told.verdicts);
    if told.state != State::NotYet {
        page += &held(told);
        page += &results(told);
        let _ = write!(
            page,
            "<p><small>Again: <code>{}</code> (measures what is missing; with <code>--again \
             disturbed</code> what was disturbed, with another <code>--out</code> everything)</small></p>",
            escape(&run.again(&plan.name))
        );
    }
    page
}

fn list(title: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let lines: String = lines
        .iter()
        .map(|line| format!("<li>{}</li>", escape(line)))
        .collect();
    format!("<h3>{title}</h3><ul>{lines}</ul>")
}

/// A table with a title, unless it has no rows.
fn table(title: &str, heads: &[&str], rows: impl Iterator<Item = String>) -> String {
    let rows: String = rows.map(|cells| format!("<tr>{cells}</tr>")).collect();
    let heads: String = heads
        .iter()
        .map(|head| format!("<th>{head}</th>"))
        .collect();
    match rows.is_empty() {
        true => rows,
        false => format!("<h3>{title}</h3><table><tr>{heads}</tr>{rows}</table>\n"),
    }
}

fn theirs(told: &ReportInput) -> String {
    let rows = told.experiment.theirs.iter().map(|t| {
        let [says, value, stands] = [&t.says, &t.value, &t.stands].map(|cell| escape(cell));
        format!("<td>{says}</td><td>{value}</td><td><small>{stands}</small></td>")
    });
    table("Theirs", &["what", "figure", "where"], rows)
}

fn verdicts(all: &[Verdict]) -> String {
    let rows = all.iter().map(|v| {
        let ours = v.ours.map_or("-".to_owned(), number);
        format!(
            "<td>{}<br><small>{}</small></td><td class=\"n\">{}</td><td class=\"n\">{ours}</td>\
             <td class=\"n\">{}</td><td>{}</td><td><small>{}</small></td>",
            escape(&v.says),
            escape(&v.name),
            escape(v.theirs.as_deref().unwrap_or("-")),
            escape(&v.expected),
            said(v.outcome, ""),
            escape(&v.note),
        )
    });
    let title = "Theirs, ours, and what is expected: ratios";
    table(title, &["what", "theirs", "ours", "expected", "", ""], rows)
}

fn held(told: &ReportInput) -> String {
    let quick = told.points.first().is_some_and(|point| point.made.quick);
    let held = told.experiment.held.keys().filter_map(|name| {
        let value = told.experiment.held(name, quick)?;
        Some(format!("{} {value}", escape(&name.replace('_', " "))))
    });
    let held = held.collect::<Vec<_>>().join("; ");
    match held.is_empty() {
        true => held,
        false => format!("<p><small>Held: {held}.</small></p>"),
    }
}

fn results(told: &ReportInput) -> String {
    let plan = &told.experiment;
    let axes: String = plan
        .axes
        .iter()
        .map(|a| format!("<th>{}</th>", with_unit(&a.says, &a.unit)))
        .collect();
    let series: String = plan
        .series
        .iter()
        .map(|s| {
            let class = match s.how {
                How::Measured => "",
                How::Modelled => " modelled",
                How::VirtualTime => " virtual",
            };
            let says = with_unit(&s.says, &s.unit);
            format!(
                "<th>{says}<br><span class=\"tag{class}\">{}</span></th>",
                s.how.says()
            )
        })
        .collect();
    let rows: String = told
        .points
        .iter()
        .map(|point| {
            let at = |name: &String| {
                point
                    .at
                    .get(name)
                    .map(ToString::to_string)
                    .unwrap_or_default()
            };
            let at = plan
                .axes
                .iter()
                .map(|a| format!("<td>{}</td>", escape(&at(&a.name))));
            let figure = |name: &String| {
                point
                    .measured
                    .series
                    .get(name)
                    .map_or("-".to_owned(), figure)
            };
            let figures = plan
                .series
                .iter()
                .map(|s| format!("<td class=\"n\">{}</td>", figure(&s.name)));
            let disturbed = point.measured.disturbed.as_deref().unwrap_or("");
            let all: String = at.chain(figures).collect();
            format!(
                "<tr>{all}<td><small>{}</small></td></tr>",
                escape(disturbed)
            )
        })
        .collect();
    format!(
        "<details><summary>All figures: median, and minimum to maximum of the repetitions</summary>\
         <table><tr>{axes}{series}<th>disturbed</th></tr>{rows}</table></details>"
    )
}

fn with_unit(says: &str, unit: &str) -> String {
    match unit {
        "" => escape(says),
        unit => format!("{} ({})", escape(says), escape(unit)),
    }
}

fn figure(summary: &Summary) -> String {
    match summary.repeats {
        1 => number(summary.median),
        _ => format!(
            "{} <small>({} to {})</small>",
            number(summary.median),
            number(summary.min),
            number(summary.max)
        ),
    }
}

/// Three digits that count.
fn number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = (2 - value.abs().log10().floor() as i32).clamp(0, 6) as usize;
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}
