//! Curves, bars, moments and the legend of a plot.

use super::CurvePoint;
use super::draw::{Area, Chart, Done, FONT, GREY, LETTER, STRIP};
use super::figure::{Curve, Figure};
use super::ticks::Scale;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// Colours that people who see fewer of them can tell apart (Okabe and Ito).
const COLOURS: [RGBColor; 8] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(0, 0, 0),
    RGBColor(140, 140, 60),
];

/// Dash and gap in pixels of the first curve, the second, and so on: those drawn later let the earlier
/// ones be seen. The first is whole.
const DASHES: [Option<(u32, u32)>; 4] = [None, Some((10, 7)), Some((3, 6)), Some((16, 12))];
/// Marks of curves at the same place stand so many pixels beside each other.
const BESIDE: f64 = 5.0;

fn colour(of: usize) -> RGBColor {
    COLOURS[of % COLOURS.len()]
}

/// The corners of a curve's mark around its place, in pixels: circle, triangle, square, diamond.
fn corners(of: usize) -> Vec<(i32, i32)> {
    let around = |count: u32, first: f64, far: f64| {
        let at = move |n: u32| {
            let angle = first + f64::from(n) / f64::from(count) * std::f64::consts::TAU;
            let (sin, cos) = angle.sin_cos();
            ((far * cos).round() as i32, (far * sin).round() as i32)
        };
        (0..count).map(at).collect()
    };
    let (up, eighth) = (-std::f64::consts::FRAC_PI_2, std::f64::consts::FRAC_PI_4);
    match of % 4 {
        0 => around(16, 0.0, 4.5),
        1 => around(3, up, 6.5),
        2 => around(4, eighth, 6.0),
        _ => around(4, up, 6.5),
    }
}

/// A curve, one of `all`.
pub fn draw_curve(
    chart: &mut Chart<'_, '_>,
    curve: &Curve,
    all: usize,
    (x, y): (&Scale, &Scale),
) -> Done {
    let colour = colour(curve.of);
    let wide = f64::from(chart.plotting_area().dim_in_pixel().0.max(1));
    let beside = match curve.dots {
        true => BESIDE * (curve.of as f64 - (all as f64 - 1.0) / 2.0),
        false => 0.0,
    };
    let shift = beside * (x.to - x.from) / wide;
    let at = |p: &CurvePoint| x.place(p.x) + shift;
    let places = curve.places.iter().map(|p| (at(p), y.place(p.y.median)));
    let style = colour.stroke_width(2);
    match DASHES[curve.of % DASHES.len()] {
        None => drop(chart.draw_series(LineSeries::new(places.clone(), style))?),
        Some((dash, gap)) => {
            let line = DashedLineSeries::new(places.clone(), dash, gap, style);
            chart.draw_series(line)?;
        }
    }
    if curve.dots {
        let bar = |p: &CurvePoint| {
            let [low, middle, high] = [p.y.min, p.y.median, p.y.max].map(|v| y.place(v));
            ErrorBar::new_vertical(at(p), low, middle, high, colour.filled(), 8)
        };
        chart.draw_series(curve.places.iter().map(bar))?;
        let mark = |at| EmptyElement::at(at) + Polygon::new(corners(curve.of), colour.filled());
        chart.draw_series(places.map(mark))?;
    }
    Ok(())
}

/// Bars of one of `all` colours.
pub fn draw_bars(chart: &mut Chart<'_, '_>, curve: &Curve, all: usize, y: &Scale) -> Done {
    let colour = colour(curve.of);
    let width = 0.7 / all.max(1) as f64;
    for place in &curve.places {
        // In the middle of its share of the width.
        let left = place.x + 0.15 + width * (curve.of as f64 + 0.05);
        let [low, middle, high] = [place.y.min, place.y.median, place.y.max].map(|v| y.place(v));
        let corners = [(left, y.from), (left + 0.9 * width, middle)];
        let bar = Rectangle::new(corners, colour.mix(0.75).filled());
        chart.draw_series([bar])?;
        let spread =
            ErrorBar::new_vertical(left + 0.45 * width, low, middle, high, BLACK.filled(), 8);
        chart.draw_series([spread])?;
    }
    Ok(())
}

/// What the curves are called, at the right.
pub fn draw_legend(area: &Area<'_>, figure: &Figure) -> Done {
    let style = TextStyle::from(("sans-serif", FONT).into_font());
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    let has_bars = !figure.names.is_empty();
    let mut curves = figure.panels.iter().flat_map(|p| &p.curves);
    let has_marks = !has_bars && curves.any(|curve| curve.dots);
    let named = figure
        .legend
        .iter()
        .enumerate()
        .filter(|(_, says)| !says.is_empty());
    for (n, says) in named {
        let y = (STRIP * rows(figure) + 24) as i32 + 22 * n as i32;
        let line = [(4, y), (34, y)];
        let thick = colour(n).stroke_width(if has_bars { 6 } else { 2 });
        match DASHES[n % DASHES.len()].filter(|_| !has_bars) {
            None => area.draw(&PathElement::new(line, thick))?,
            Some((dash, gap)) => area.draw(&DashedPathElement::new(line, dash, gap, thick))?,
        }
        if has_marks {
            let around = corners(n).into_iter().map(|(dx, dy)| (19 + dx, y + dy));
            area.draw(&Polygon::new(
                around.collect::<Vec<_>>(),
                colour(n).filled(),
            ))?;
        }
        area.draw(&Text::new(says.clone(), (40, y), style.clone()))?;
    }
    Ok(())
}

/// Moments whose words have a row each.
const ROWS: usize = 4;

/// Rows of words above the panels: one for all steps, and one for each moment.
pub fn rows(figure: &Figure) -> u32 {
    let steps = figure.marks.iter().filter(|mark| mark.is_step).count();
    let moments = figure.marks.len() - steps;
    (steps.min(1) + moments.min(ROWS)) as u32
}

/// Lines and, if there is a strip, words.
pub fn draw_marks(
    chart: &mut Chart<'_, '_>,
    strip: Option<&Area<'_>>,
    figure: &Figure,
    (x, y): (&Scale, &Scale),
) -> Done {
    let is_seen = |at: f64| (x.from..=x.to).contains(&at);
    let mut free = i32::MIN;
    let mut moments = 0;
    for mark in figure.marks.iter().filter(|mark| is_seen(x.place(mark.at))) {
        let at = x.place(mark.at);
        let line = [(at, y.from), (at, y.to)];
        match mark.is_step {
            true => {
                let light = GREY.mix(0.7).stroke_width(1);
                chart.draw_series([DashedPathElement::new(line, 2, 5, light)])?;
            }
            false => {
                chart.draw_series([PathElement::new(line, GREY.stroke_width(1))])?;
            }
        }
        let Some(strip) = strip else {
            continue;
        };
        let pixel = chart.backend_coord(&(at, y.from)).0;
        if !mark.is_step {
            let row = moments % ROWS;
            moments += 1;
            moment(strip, &mark.says, pixel, row)?;
            continue;
        }
        // Steps that come too soon are drawn and not named.
        if pixel >= free {
            let row = rows(figure) as i32 * STRIP as i32 - STRIP as i32 / 2;
            words(strip, &mark.says, (pixel + 3, row), HPos::Left)?;
            free = pixel + 8 + LETTER as i32 * mark.says.len() as i32;
        }
    }
    Ok(())
}

fn moment(strip: &Area<'_>, says: &str, pixel: i32, row: usize) -> Done {
    let row = row as i32 * STRIP as i32 + STRIP as i32 / 2;
    // Towards the side where there is more room.
    match pixel < strip.dim_in_pixel().0 as i32 / 2 {
        true => words(strip, says, (pixel + 4, row), HPos::Left),
        false => words(strip, says, (pixel - 4, row), HPos::Right),
    }
}

fn words(strip: &Area<'_>, says: &str, place: (i32, i32), side: HPos) -> Done {
    let style = TextStyle::from(("sans-serif", FONT - 1).into_font())
        .color(&GREY)
        .pos(Pos::new(side, VPos::Center));
    strip.draw(&Text::new(says.to_owned(), place, style))?;
    Ok(())
}
