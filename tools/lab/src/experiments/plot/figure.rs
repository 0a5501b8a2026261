//! The figure model: curves, panels, axes.

use crate::experiments::plan::{Experiment, Kind, Plot};
use crate::experiments::point::{At, Mark, Scalar, covers};
use crate::experiments::store::Point;
use sluice_bench::stats::Summary;

#[derive(Clone, PartialEq, Debug)]
pub struct Figure {
    pub title: String,
    /// Below it, with the unit.
    pub x_says: String,
    /// Names along x instead of numbers.
    pub names: Vec<String>,
    pub log_x: bool,
    pub panels: Vec<Panel>,
    /// Names of the curves; a curve has the same index in each panel.
    pub legend: Vec<String>,
    /// Moments, if x is time.
    pub marks: Vec<Mark>,
}

/// One pair of axes.
#[derive(Clone, PartialEq, Debug)]
pub struct Panel {
    /// Above it, with the unit.
    pub y_says: String,
    pub log_y: bool,
    pub curves: Vec<Curve>,
}

/// A curve, or bars of one colour.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Which line of the legend.
    pub of: usize,
    pub places: Vec<CurvePoint>,
    /// Each place was measured, and has a dot and a bar from minimum to maximum.
    pub dots: bool,
}

/// A place of a curve.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CurvePoint {
    /// A number, or the place among the names.
    pub x: f64,
    pub y: Summary,
}

/// Figure of a plot for these points; none if there is nothing to show.
pub fn figure(experiment: &Experiment, plot: &Plot, points: &[Point]) -> Option<Figure> {
    let points: Vec<&Point> = points.iter().filter(|p| covers(&plot.at, &p.at)).collect();
    let legend = distinct(points.iter().map(|point| point.at_axes(&plot.by)));
    let values = points.iter().filter_map(|point| point.at.get(&plot.x));
    let names = match plot.kind {
        Kind::Bars => distinct(values.map(spaced)),
        _ => vec![],
    };
    let others = distinct(plot.theirs.iter().map(|one| one.name.as_str()));
    let panel = |(at, y): (usize, &String)| Panel {
        y_says: match experiment.series(y).filter(|_| !plot.kind.has_curves()) {
            Some(series) => with_unit(&series.says, &series.unit),
            None => plot.y_says.get(at).cloned().unwrap_or_default(),
        },
        log_y: plot.log_y,
        curves: (0..)
            .zip(&legend)
            .map(|(of, at)| Curve {
                of,
                places: places(plot, y, at, &points, &names),
                dots: !plot.kind.has_curves(),
            })
            .filter(|curve| !curve.places.is_empty())
            .collect(),
    };
    let panels = plot.y.iter().enumerate().map(|(at, y)| (y, panel((at, y))));
    let panels = panels.filter(|(_, p)| !p.curves.is_empty());
    let with_theirs = |(y, mut panel): (&String, Panel)| {
        let theirs = their_curves(plot, y, &others, legend.len());
        panel.curves.extend(theirs);
        panel
    };
    let panels: Vec<Panel> = panels.map(with_theirs).collect();
    let timed = points.iter().filter(|_| plot.kind == Kind::Timeline);
    let marks = timed.flat_map(|p| p.measured.marks.clone()).collect();
    let axis = experiment.axis(&plot.x);
    (!panels.is_empty()).then(|| Figure {
        title: plot.title.clone(),
        x_says: axis.map_or(plot.x.clone(), |axis| with_unit(&axis.says, &axis.unit)),
        names,
        log_x: plot.log_x,
        panels,
        legend: legend
            .iter()
            .map(|at| called(plot, at))
            .chain(others.iter().map(|name| (*name).to_owned()))
            .collect(),
        marks,
    })
}

/// Published curves of a panel; their names stand in the legend behind `ours`.
fn their_curves<'a>(
    plot: &'a Plot,
    y: &'a str,
    names: &'a [&str],
    ours: usize,
) -> impl Iterator<Item = Curve> + 'a {
    let of_panel = plot.theirs.iter().filter(move |one| one.y == y);
    of_panel.map(move |one| {
        let number = names.iter().position(|name| *name == one.name);
        let place = |[x, y]: &[f64; 2]| CurvePoint {
            x: *x,
            y: Summary::of([*y]),
        };
        Curve {
            of: ours + number.unwrap_or_default(),
            places: one.places.iter().map(place).collect(),
            dots: true,
        }
    })
}

/// Name of a curve: the values that distinguish it from the others.
fn called(plot: &Plot, at: &At) -> String {
    let says = plot.by.iter().filter_map(|axis| match at.get(axis)? {
        Scalar::Number(number) => Some(format!("{number} {}", axis.replace('_', " "))),
        text => Some(spaced(text)),
    });
    says.collect::<Vec<_>>().join(", ")
}

fn spaced(value: &Scalar) -> String {
    value.to_string().replace('_', " ")
}

/// Each once, in the order in which they come.
pub fn distinct<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut once: Vec<T> = vec![];
    for one in all {
        if !once.contains(&one) {
            once.push(one);
        }
    }
    once
}

fn places(plot: &Plot, y: &str, of: &At, points: &[&Point], names: &[String]) -> Vec<CurvePoint> {
    let mut places: Vec<CurvePoint> = vec![];
    for point in points.iter().filter(|point| covers(of, &point.at)) {
        if plot.kind.has_curves() {
            let curve = point.measured.curves.get(y).into_iter().flatten();
            places.extend(curve.map(|[x, y]| CurvePoint {
                x: *x,
                y: Summary::of([*y]),
            }));
            continue;
        }
        let value = point.at.get(&plot.x);
        let x = match plot.kind {
            Kind::Curves => value.and_then(Scalar::number),
            _ => {
                let name = value.map(spaced);
                let place = names.iter().position(|n| Some(n) == name.as_ref());
                place.map(|n| n as f64)
            }
        };
        let y = point.measured.series.get(y);
        places.extend(x.zip(y).map(|(x, y)| CurvePoint { x, y: *y }));
    }
    // What cannot stand on a logarithmic axis is left out.
    places.retain(|p| !(plot.log_x && p.x <= 0.0 || plot.log_y && p.y.min <= 0.0));
    places.sort_by(|a, b| a.x.total_cmp(&b.x));
    places
}

/// For people: what it is, and of which unit.
pub fn with_unit(says: &str, unit: &str) -> String {
    match unit {
        "" => says.to_owned(),
        unit => format!("{says} ({unit})"),
    }
}
