//! CSV report: one line for each point and series.

use crate::experiments::plan::Experiment;
use crate::experiments::store::Point;

/// `axis,...,series,unit,how,min,median,max,repeats,disturbed`.
pub fn csv(experiment: &Experiment, points: &[Point]) -> String {
    let axes: Vec<&str> = experiment.axes.iter().map(|a| a.name.as_str()).collect();
    let mut head = axes.clone();
    head.extend([
        "series",
        "unit",
        "how",
        "min",
        "median",
        "max",
        "repeats",
        "disturbed",
    ]);
    let mut text = line(head.into_iter().map(str::to_owned));
    for point in points {
        let at = |axis: &&str| {
            point
                .at
                .get(*axis)
                .map(ToString::to_string)
                .unwrap_or_default()
        };
        for (name, summary) in &point.measured.series {
            let series = experiment.given(name);
            let mut cells: Vec<String> = axes.iter().map(at).collect();
            cells.push(name.clone());
            cells.push(series.map(|s| s.unit.clone()).unwrap_or_default());
            cells.push(series.map(|s| s.how.says().to_owned()).unwrap_or_default());
            let figures = [summary.min, summary.median, summary.max];
            cells.extend(figures.map(|figure| figure.to_string()));
            cells.push(summary.repeats.to_string());
            cells.push(point.measured.disturbed.clone().unwrap_or_default());
            text += &line(cells);
        }
    }
    text
}

/// RFC 4180: what has a comma, a quote or a line's end stands in quotes.
fn line(cells: impl IntoIterator<Item = String>) -> String {
    let quoted = cells
        .into_iter()
        .map(|cell| match cell.contains([',', '"', '\n']) {
            true => format!("\"{}\"", cell.replace('"', "\"\"")),
            false => cell,
        });
    quoted.collect::<Vec<_>>().join(",") + "\r\n"
}
