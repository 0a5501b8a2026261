//! The figure model: curves, panels, axes.

use crate::experiments::plan::{Experiment, Kind, Plot};
use crate::experiments::point::{At, Mark, Scalar};
use crate::experiments::store::Point;
use sluice_bench::stats::Summary;

/// A picture.
#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    /// Above it.
    pub title: String,
    /// Below it, with the unit.
    pub x_says: String,
    /// Names along x instead of numbers.
    pub names: Vec<String>,
    /// Logarithmic x.
    pub log_x: bool,
    /// One below the other.
    pub panels: Vec<Panel>,
    /// What the curves are called; a curve has the same place in each panel.
    pub legend: Vec<String>,
    /// Moments, if x is time.
    pub marks: Vec<Mark>,
}

/// One pair of axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// Beside it, with the unit.
    pub y_says: String,
    /// Logarithmic y.
    pub log_y: bool,
    /// What is in it.
    pub curves: Vec<Curve>,
}

/// A curve, or bars of one colour.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Which line of the legend.
    pub of: usize,
    /// From left to right.
    pub places: Vec<CurvePoint>,
    /// Each place was measured, and has a dot and a bar from minimum to maximum.
    pub dots: bool,
}

/// A place of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvePoint {
    /// A number, or the place among the names.
    pub x: f64,
    /// What came out.
    pub y: Summary,
}

/// What a plot shows of these points; none if there is nothing to be shown.
pub fn figure(experiment: &Experiment, plot: &Plot, points: &[Point]) -> Option<Figure> {
    let fits = |point: &&Point| plot.at.iter().all(|(a, v)| point.at.get(a) == Some(v));
    let points: Vec<&Point> = points.iter().filter(fits).collect();
    let legend = legend(plot, &points);
    let of_time = matches!(plot.kind, Kind::Timeline | Kind::Distribution);
    let axis = experiment.axis(&plot.x);
    let names = match plot.kind {
        Kind::Bars => names(plot, &points),
        _ => vec![],
    };
    let panel = |(at, y): (usize, &String)| Panel {
        y_says: match of_time {
            true => plot.y_says.get(at).cloned().unwrap_or_default(),
            false => experiment
                .series(y)
                .map(|s| with_unit(&s.says, &s.unit))
                .unwrap_or_default(),
        },
        log_y: plot.log_y,
        curves: (0..legend.len())
            .map(|of| Curve {
                of,
                places: places(plot, y, &legend[of].0, &points, &names),
                dots: !of_time,
            })
            .filter(|curve| !curve.places.is_empty())
            .collect(),
    };
    let panels = plot.y.iter().enumerate().map(panel);
    let panels: Vec<Panel> = panels.filter(|p| !p.curves.is_empty()).collect();
    let marks = match plot.kind {
        Kind::Timeline => points
            .iter()
            .flat_map(|p| p.measured.marks.clone())
            .collect(),
        _ => vec![],
    };
    (!panels.is_empty()).then(|| Figure {
        title: plot.title.clone(),
        x_says: axis.map_or(plot.x.clone(), |axis| with_unit(&axis.says, &axis.unit)),
        names,
        log_x: plot.log_x,
        panels,
        legend: legend.into_iter().map(|(_, says)| says).collect(),
        marks,
    })
}

/// The combinations of the axes that tell curves apart, and what they are called.
fn legend(plot: &Plot, points: &[&Point]) -> Vec<(At, String)> {
    let mut all: Vec<(At, String)> = vec![];
    for point in points {
        let of = |axis: &String| Some((axis.clone(), point.at.get(axis)?.clone()));
        let at: At = plot.by.iter().filter_map(of).collect();
        let says = plot.by.iter().filter_map(|axis| match at.get(axis)? {
            Scalar::Number(number) => Some(format!("{number} {}", axis.replace('_', " "))),
            Scalar::Text(text) => Some(text.replace('_', " ")),
        });
        let says = says.collect::<Vec<_>>().join(", ");
        if !all.iter().any(|(known, _)| *known == at) {
            all.push((at, says));
        }
    }
    all
}

fn names(plot: &Plot, points: &[&Point]) -> Vec<String> {
    let mut names: Vec<String> = vec![];
    for value in points.iter().filter_map(|point| point.at.get(&plot.x)) {
        let name = value.to_string().replace('_', " ");
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn places(plot: &Plot, y: &str, of: &At, points: &[&Point], names: &[String]) -> Vec<CurvePoint> {
    let is_of = |point: &&&Point| of.iter().all(|(a, v)| point.at.get(a) == Some(v));
    let mut places: Vec<CurvePoint> = vec![];
    for point in points.iter().filter(is_of) {
        match plot.kind {
            Kind::Timeline | Kind::Distribution => {
                let curve = point.measured.curves.get(y).into_iter().flatten();
                places.extend(curve.map(|[x, y]| CurvePoint {
                    x: *x,
                    y: Summary::of([*y]),
                }));
            }
            Kind::Curves | Kind::Bars => {
                let value = point.at.get(&plot.x);
                let name = || value.map(|v| v.to_string().replace('_', " "));
                let x = match plot.kind {
                    Kind::Curves => value.and_then(Scalar::number),
                    _ => names
                        .iter()
                        .position(|n| Some(n) == name().as_ref())
                        .map(|n| n as f64),
                };
                if let (Some(x), Some(y)) = (x, point.measured.series.get(y)) {
                    places.push(CurvePoint { x, y: *y });
                }
            }
        }
    }
    // What cannot stand on a logarithmic axis is left out.
    places.retain(|p| !(plot.log_x && p.x <= 0.0 || plot.log_y && p.y.min <= 0.0));
    places.sort_by(|a, b| a.x.total_cmp(&b.x));
    places
}

fn with_unit(says: &str, unit: &str) -> String {
    match unit {
        "" => says.to_owned(),
        unit => format!("{says} ({unit})"),
    }
}
