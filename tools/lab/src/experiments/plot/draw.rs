//! SVG drawing of a figure.
//!
//! Labels stand outside of the curves: the title above, the legend at the right, moments of
//! timelines in a strip of their own.

use super::figure::{Curve, Figure, Panel};
use super::scale::Scale;
use std::fmt::Write;

const WIDTH: f64 = 960.0;
const TITLE: f64 = 44.0;
const PANEL: f64 = 318.0;
/// Height of a panel's title line.
const HEAD: f64 = 22.0;
/// A row of words for moments.
const STRIP: f64 = 20.0;
/// Moments whose words have a row each.
const ROWS: usize = 4;
/// From a panel's edges to its frame, where numbers stand at the left and below.
const LEFT: f64 = 68.0;
const RIGHT: f64 = 18.0;
const BELOW: f64 = 58.0;
/// Left margin of titles.
const MARGIN: f64 = 16.0;
/// The font's size, and what a letter takes at the most, in pixels.
const FONT: f64 = 13.0;
const LETTER: f64 = 8.0;
const NUMBERS_X: usize = 12;
const NUMBERS_Y: usize = 6;
/// Marks of curves at the same place stand so many pixels beside each other.
const BESIDE: f64 = 5.0;

/// Colours that people who see fewer of them can tell apart (Okabe and Ito).
const COLOURS: [&str; 8] = [
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00", "#000", "#8c8c3c",
];
/// Dash and gap in pixels of the first curve, the second, and so on: those drawn later let the earlier
/// ones be seen. The first is whole.
const DASHES: [&str; 4] = ["none", "10 7", "3 6", "16 12"];

type Place = (f64, f64);

fn colour(of: usize) -> &'static str {
    COLOURS[of % COLOURS.len()]
}

/// A thick line in the colour of a curve.
fn stroke(of: usize, width: u32) -> String {
    format!(
        "fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\"",
        colour(of)
    )
}

fn dashed(of: usize) -> String {
    let dashes = DASHES[of % DASHES.len()];
    format!("{} stroke-dasharray=\"{dashes}\"", stroke(of, 2))
}

fn filled(of: usize) -> String {
    format!("fill=\"{}\"", colour(of))
}

/// The corners of a curve's mark around its place: circle, triangle, square, diamond.
fn mark(of: usize, (x, y): Place) -> Vec<Place> {
    let around = |count: u32, turned: f64, far: f64| {
        let at = move |n: u32| {
            let angle = (turned + f64::from(n) / f64::from(count)) * std::f64::consts::TAU;
            (x + far * angle.cos(), y + far * angle.sin())
        };
        (0..count).map(at).collect()
    };
    match of % 4 {
        0 => around(16, 0.0, 4.5),
        1 => around(3, -0.25, 6.5),
        2 => around(4, 0.125, 6.0),
        _ => around(4, -0.25, 6.5),
    }
}

/// The text of the picture.
struct Svg(String);

impl Svg {
    fn shape(&mut self, kind: &str, points: &[Place], look: &str) {
        let points = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}"));
        let points = points.collect::<Vec<_>>().join(" ");
        let _ = writeln!(self.0, "<{kind} points=\"{points}\" {look}/>");
    }

    fn line(&mut self, points: &[Place], look: &str) {
        self.shape("polyline", points, look);
    }

    fn area(&mut self, corners: &[Place], look: &str) {
        self.shape("polygon", corners, look);
    }

    /// From the least to the greatest, with a stroke at each end.
    fn spread(&mut self, x: f64, [low, high]: [f64; 2], look: &str) {
        self.line(&[(x, low), (x, high)], look);
        for y in [low, high] {
            self.line(&[(x - 4.0, y), (x + 4.0, y)], look);
        }
    }

    /// Around the height of its place; it begins there, ends there, or has its middle there.
    fn text(&mut self, (x, y): Place, anchor: &str, words: &str) {
        self.words((x, y), anchor, "", words);
    }

    fn words(&mut self, (x, y): Place, anchor: &str, look: &str, words: &str) {
        let (y, words) = (y + 0.35 * FONT, crate::experiments::report::escape(words));
        let _ = writeln!(
            self.0,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {look}>{words}</text>"
        );
    }
}

pub fn svg(figure: &Figure) -> String {
    let strip = STRIP * rows(figure) as f64;
    let height = TITLE + strip + PANEL * figure.panels.len() as f64;
    let mut svg = Svg(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{WIDTH}\" height=\"{height}\" viewBox=\"0 0 \
         {WIDTH} {height}\" font-family=\"sans-serif\" font-size=\"{FONT}\">\n<rect width=\"100%\" \
         height=\"100%\" fill=\"#fff\"/>\n"
    ));
    let bold = "font-size=\"17\" font-weight=\"bold\"";
    svg.words((MARGIN, TITLE / 2.0), "start", bold, &figure.title);
    let longest = figure.legend.iter().map(String::len).max().unwrap_or(0);
    let legend_width = match longest {
        0 => MARGIN,
        longest => (50.0 + LETTER * longest as f64).min(WIDTH / 3.0),
    };
    let right = WIDTH - legend_width;
    let x = along(figure);
    for (n, panel) in figure.panels.iter().enumerate() {
        let top = TITLE + strip + PANEL * n as f64;
        svg.text((MARGIN, top + HEAD / 2.0), "start", &panel.y_says);
        let ys = panel.curves.iter().flat_map(|c| &c.places);
        let ys: Vec<f64> = ys.flat_map(|place| [place.y.min, place.y.max]).collect();
        let frame = Frame {
            x: &x,
            y: &Scale::of(&ys, panel.log_y, true, NUMBERS_Y),
            xs: [LEFT, right - RIGHT],
            ys: [top + HEAD + 10.0, top + PANEL - BELOW],
        };
        frame.axes(&mut svg, &figure.x_says);
        frame.marks(&mut svg, figure, n == 0);
        frame.curves(&mut svg, figure, panel);
    }
    legend(&mut svg, figure, (right, TITLE + strip));
    svg.0 + "</svg>\n"
}

/// The axis that all panels have.
fn along(figure: &Figure) -> Scale {
    if !figure.names.is_empty() {
        return Scale::of_names(&figure.names);
    }
    let curves = || figure.panels.iter().flat_map(|p| &p.curves);
    let places = curves().flat_map(|c| &c.places);
    let xs: Vec<f64> = places.map(|place| place.x).collect();
    let scale = Scale::of(&xs, figure.log_x, false, NUMBERS_X);
    match curves().any(|curve| curve.dots) {
        true => scale.with_room(),
        false => scale,
    }
}

/// One pair of axes, and where its edges are.
struct Frame<'a> {
    x: &'a Scale,
    y: &'a Scale,
    xs: [f64; 2],
    ys: [f64; 2],
}

impl Frame<'_> {
    fn x(&self, place: f64) -> f64 {
        let [left, right] = self.xs;
        left + self.x.share(place) * (right - left)
    }

    fn y(&self, value: f64) -> f64 {
        let [top, bottom] = self.ys;
        bottom - self.y.share(self.y.place(value)) * (bottom - top)
    }

    fn axes(&self, svg: &mut Svg, x_says: &str) {
        let (light, grey) = ("stroke=\"#e1e1e1\"", "fill=\"none\" stroke=\"#6e6e6e\"");
        let ([left, right], [top, bottom]) = (self.xs, self.ys);
        for (at, label) in &self.x.labels {
            let x = self.x(*at);
            svg.line(&[(x, top), (x, bottom)], light);
            svg.text((x, bottom + 14.0), "middle", label);
        }
        for (at, label) in &self.y.labels {
            let y = bottom - self.y.share(*at) * (bottom - top);
            svg.line(&[(left, y), (right, y)], light);
            svg.text((left - 6.0, y), "end", label);
        }
        svg.line(&[(left, top), (left, bottom), (right, bottom)], grey);
        let middle = f64::midpoint(left, right);
        svg.text((middle, bottom + 36.0), "middle", x_says);
    }

    fn curves(&self, svg: &mut Svg, figure: &Figure, panel: &Panel) {
        for curve in &panel.curves {
            match figure.names.is_empty() {
                true => self.curve(svg, curve, figure.legend.len()),
                false => self.bars(svg, curve, figure.legend.len()),
            }
        }
    }

    /// One of `all`.
    fn curve(&self, svg: &mut Svg, curve: &Curve, all: usize) {
        let beside = match curve.dots {
            true => BESIDE * (curve.of as f64 - (all as f64 - 1.0) / 2.0),
            false => 0.0,
        };
        let places = curve.places.iter();
        let x = |at: f64| self.x(self.x.place(at)) + beside;
        let line: Vec<Place> = places
            .clone()
            .map(|p| (x(p.x), self.y(p.y.median)))
            .collect();
        svg.line(&line, &dashed(curve.of));
        for (at, place) in line.into_iter().zip(places).filter(|_| curve.dots) {
            let ends = [place.y.min, place.y.max].map(|y| self.y(y));
            svg.spread(at.0, ends, &stroke(curve.of, 1));
            svg.area(&mark(curve.of, at), &filled(curve.of));
        }
    }

    /// Bars of one of `all` colours.
    fn bars(&self, svg: &mut Svg, curve: &Curve, all: usize) {
        let width = 0.7 / all.max(1) as f64;
        let look = format!("{} fill-opacity=\"0.75\"", filled(curve.of));
        let bottom = self.ys[1];
        for place in &curve.places {
            // In the middle of its share of the width.
            let left = place.x + 0.15 + width * (curve.of as f64 + 0.05);
            let [from, middle, to] = [0.0, 0.45, 0.9].map(|share| self.x(left + share * width));
            let top = self.y(place.y.median);
            svg.area(
                &[(from, bottom), (from, top), (to, top), (to, bottom)],
                &look,
            );
            let ends = [place.y.min, place.y.max].map(|y| self.y(y));
            svg.spread(middle, ends, "stroke=\"#000\"");
        }
    }

    /// Lines for moments and, where it is asked for, words above the frame.
    fn marks(&self, svg: &mut Svg, figure: &Figure, with_words: bool) {
        let row = |n: usize| TITLE + STRIP * (n as f64 + 0.5);
        let (mut free, mut moments) = (f64::MIN, 0);
        let seen = |at: f64| (0.0..=1.0).contains(&self.x.share(self.x.place(at)));
        for mark in figure.marks.iter().filter(|mark| seen(mark.at)) {
            let x = self.x(self.x.place(mark.at));
            let line = self.ys.map(|y| (x, y));
            let look = match mark.is_step {
                true => "stroke=\"#999\" stroke-dasharray=\"2 5\"",
                false => "stroke=\"#6e6e6e\"",
            };
            svg.line(&line, look);
            let grey = "font-size=\"12\" fill=\"#6e6e6e\"";
            match mark.is_step {
                _ if !with_words => {}
                // Steps that come too soon are drawn and not named.
                true if x < free => {}
                true => {
                    svg.words((x + 3.0, row(rows(figure) - 1)), "start", grey, &mark.says);
                    free = x + 8.0 + LETTER * mark.says.len() as f64;
                }
                false => {
                    // Towards the side where there is more room.
                    let (beside, anchor) = match x < f64::midpoint(self.xs[0], self.xs[1]) {
                        true => (4.0, "start"),
                        false => (-4.0, "end"),
                    };
                    let at = (x + beside, row(moments % ROWS));
                    svg.words(at, anchor, grey, &mark.says);
                    moments += 1;
                }
            }
        }
    }
}

/// Rows of words above the panels: one for all steps, and one for each moment.
fn rows(figure: &Figure) -> usize {
    let steps = figure.marks.iter().filter(|mark| mark.is_step).count();
    let moments = figure.marks.len() - steps;
    steps.min(1) + moments.min(ROWS)
}

/// Draws the names of the curves.
fn legend(svg: &mut Svg, figure: &Figure, (left, top): Place) {
    let has_bars = !figure.names.is_empty();
    let mut curves = figure.panels.iter().flat_map(|p| &p.curves);
    let has_dots = !has_bars && curves.any(|curve| curve.dots);
    let named = figure.legend.iter().enumerate();
    for (n, says) in named.filter(|(_, says)| !says.is_empty()) {
        let y = top + 24.0 + 22.0 * n as f64;
        let look = if has_bars { stroke(n, 6) } else { dashed(n) };
        svg.line(&[(left + 4.0, y), (left + 34.0, y)], &look);
        if has_dots {
            svg.area(&mark(n, (left + 19.0, y)), &filled(n));
        }
        svg.text((left + 40.0, y), "start", says);
    }
}
