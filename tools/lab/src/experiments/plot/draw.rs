//! SVG rendering of a figure.
//!
//! Labels stand outside of the curves: the title above, the legend at the right, moments of
//! timelines in a strip of their own.

use super::Blot;
use super::figure::{Figure, Panel};
use super::lines::{draw_bars, draw_curve, draw_legend, draw_marks, rows};
use super::ticks::Scale;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 960;
const TITLE: u32 = 44;
const PANEL: u32 = 318;
/// What a panel shows, in a line of its own above it: words of any length fit there.
const HEAD: u32 = 22;
pub(super) const STRIP: u32 = 20;
/// Between what stands at one panel's x and the next panel's words.
const APART: u32 = 12;
/// The font's size, and what a letter takes at the most, in pixels.
pub(super) const FONT: u32 = 13;
pub(super) const LETTER: u32 = 8;
const NUMBERS_X: usize = 12;
const NUMBERS_Y: usize = 6;
pub(super) const GREY: RGBColor = RGBColor(110, 110, 110);
pub(super) const LIGHT: RGBColor = RGBColor(225, 225, 225);
pub(super) type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// An axis with numbers where we want them.
pub(super) struct Axis {
    from: f64,
    to: f64,
    at: Vec<f64>,
}

impl Axis {
    fn of(scale: &Scale) -> Self {
        Self {
            from: scale.from,
            to: scale.to,
            at: scale.at.clone(),
        }
    }
}

impl Ranged for Axis {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (first, last): (i32, i32)) -> i32 {
        let share = (value - self.from) / (self.to - self.from);
        first + (share * f64::from(last - first)).round() as i32
    }

    fn key_points<H: KeyPointHint>(&self, hint: H) -> Vec<f64> {
        // Small steps between are drawn as nothing.
        if hint.weight().allow_light_points() {
            vec![]
        } else {
            self.at.clone()
        }
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.to
    }
}

/// Draws it.
pub fn svg(figure: &Figure) -> Result<String, Blot> {
    let mut text = String::new();
    let strip = STRIP * rows(figure);
    let height = TITLE + strip + PANEL * figure.panels.len() as u32;
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        all(&root, figure, strip).map_err(|why| Blot::Refused(why.to_string()))?;
        root.present()
            .map_err(|why| Blot::Refused(why.to_string()))?;
    }
    Ok(text)
}

pub(super) type Done = Result<(), Box<dyn std::error::Error>>;

fn all(root: &Area<'_>, figure: &Figure, strip: u32) -> Done {
    root.fill(&WHITE)?;
    let (title, rest) = root.split_vertically(TITLE);
    let bold = ("sans-serif", FONT + 4).into_font().style(FontStyle::Bold);
    let style = TextStyle::from(bold).pos(Pos::new(HPos::Left, VPos::Center));
    title.draw(&Text::new(
        figure.title.clone(),
        (16, TITLE as i32 / 2),
        style,
    ))?;
    let longest = figure.legend.iter().map(String::len).max().unwrap_or(0) as u32;
    let legend_width = if longest == 0 {
        16
    } else {
        50 + LETTER * longest
    };
    let (charts, legend) = rest.split_horizontally(WIDTH - legend_width.min(WIDTH / 3));
    let (marks, charts) = charts.split_vertically(strip);
    let xs = figure
        .panels
        .iter()
        .flat_map(|p| &p.curves)
        .flat_map(|c| &c.places);
    let xs: Vec<f64> = xs.map(|place| place.x).collect();
    let mut curves = figure.panels.iter().flat_map(|p| &p.curves);
    let has_dots = curves.any(|curve| curve.dots);
    let x = match figure.names.len() {
        0 if has_dots => Scale::of(&xs, figure.log_x, false, NUMBERS_X).with_room(),
        0 => Scale::of(&xs, figure.log_x, false, NUMBERS_X),
        _ => Scale::of(&[0.0, 1.0], false, true, 2),
    };
    let areas = charts.split_evenly((figure.panels.len(), 1));
    for (n, (area, panel)) in areas.iter().zip(&figure.panels).enumerate() {
        // Words for moments stand once, above the first panel.
        let words = (n == 0).then_some(&marks);
        one(area, words, figure, panel, &x)?;
    }
    draw_legend(&legend, figure)
}

fn one(
    area: &Area<'_>,
    strip: Option<&Area<'_>>,
    figure: &Figure,
    panel: &Panel,
    x: &Scale,
) -> Done {
    let ys = panel.curves.iter().flat_map(|c| &c.places);
    let ys: Vec<f64> = ys.flat_map(|place| [place.y.min, place.y.max]).collect();
    let y = Scale::of(&ys, panel.log_y, true, NUMBERS_Y);
    let names = figure.names.len() as f64;
    let along = match figure.names.is_empty() {
        true => Axis::of(x),
        false => Axis {
            from: 0.0,
            to: names,
            at: (0..figure.names.len()).map(|n| n as f64 + 0.5).collect(),
        },
    };
    let (head, area) = area.split_vertically(HEAD);
    let says = TextStyle::from(("sans-serif", FONT).into_font());
    let says = says.pos(Pos::new(HPos::Left, VPos::Center));
    let place = (16, HEAD as i32 / 2);
    head.draw(&Text::new(panel.y_says.clone(), place, says))?;
    let mut chart = ChartBuilder::on(&area)
        .margin_left(10)
        .margin_right(18)
        .margin_top(10)
        .margin_bottom(APART)
        .x_label_area_size(46)
        .y_label_area_size(58)
        .build_cartesian_2d(along, Axis::of(&y))?;
    let x_label = |at: &f64| match figure.names.get(*at as usize) {
        Some(name) if !figure.names.is_empty() => name.clone(),
        _ => x.label(*at),
    };
    let text = ("sans-serif", FONT).into_font();
    chart
        .configure_mesh()
        .light_line_style(WHITE)
        .bold_line_style(LIGHT)
        .axis_style(GREY)
        .x_desc(figure.x_says.clone())
        .x_label_formatter(&x_label)
        .y_label_formatter(&|at| y.label(*at))
        .label_style(text.clone())
        .axis_desc_style(text)
        .draw()?;
    draw_marks(&mut chart, strip, figure, (x, &y))?;
    for curve in &panel.curves {
        match figure.names.is_empty() {
            true => draw_curve(&mut chart, curve, figure.legend.len(), (x, &y))?,
            false => draw_bars(&mut chart, curve, figure.legend.len(), &y)?,
        }
    }
    Ok(())
}
