//! A figure as SVG. Labels stand outside of the curves: the title above, the legend at the right,
//! moments of timelines in a strip of their own.

use super::Blot;
use super::figure::{Curve, Figure, Panel};
use super::ticks::Scale;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

const WIDTH: u32 = 960;
const TITLE: u32 = 44;
const PANEL: u32 = 306;
/// What a panel shows, in a line of its own above it: words of any length fit there.
const HEAD: u32 = 22;
const STRIP: u32 = 20;
/// The font's size, and what a letter takes at the most, in pixels.
const FONT: u32 = 13;
const LETTER: u32 = 8;
const NUMBERS_X: usize = 12;
const NUMBERS_Y: usize = 6;
const GREY: RGBColor = RGBColor(110, 110, 110);
const LIGHT: RGBColor = RGBColor(225, 225, 225);
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

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<Axis, Axis>>;

/// An axis with numbers where we want them.
struct Axis {
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
    let strip = STRIP * figure.marks.len().min(4) as u32;
    let height = TITLE + strip + PANEL * figure.panels.len() as u32;
    {
        let root = SVGBackend::with_string(&mut text, (WIDTH, height)).into_drawing_area();
        all(&root, figure, strip).map_err(|why| Blot::Refused(why.to_string()))?;
        root.present()
            .map_err(|why| Blot::Refused(why.to_string()))?;
    }
    Ok(text)
}

type Done = Result<(), Box<dyn std::error::Error>>;

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
    let x = match figure.names.len() {
        0 => Scale::of(&xs, figure.log_x, false, NUMBERS_X),
        _ => Scale::of(&[0.0, 1.0], false, true, 2),
    };
    let areas = charts.split_evenly((figure.panels.len(), 1));
    for (n, (area, panel)) in areas.iter().zip(&figure.panels).enumerate() {
        // Words for moments stand once, above the first panel.
        let words = (n == 0).then_some(&marks);
        one(area, words, figure, panel, &x)?;
    }
    draw_legend(&legend, figure, strip)
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
            true => draw_curve(&mut chart, curve, (x, &y))?,
            false => draw_bars(&mut chart, curve, figure.legend.len(), &y)?,
        }
    }
    Ok(())
}

fn colour(of: usize) -> RGBColor {
    COLOURS[of % COLOURS.len()]
}

fn draw_curve(chart: &mut Chart<'_, '_>, curve: &Curve, (x, y): (&Scale, &Scale)) -> Done {
    let colour = colour(curve.of);
    let place = |p: &super::Place| (x.place(p.x), y.place(p.y.median));
    chart.draw_series(LineSeries::new(
        curve.places.iter().map(place),
        colour.stroke_width(2),
    ))?;
    if curve.dots {
        let bar = |p: &super::Place| {
            let [low, middle, high] = [p.y.min, p.y.median, p.y.max].map(|v| y.place(v));
            ErrorBar::new_vertical(x.place(p.x), low, middle, high, colour.filled(), 8)
        };
        chart.draw_series(curve.places.iter().map(bar))?;
    }
    Ok(())
}

fn draw_bars(chart: &mut Chart<'_, '_>, curve: &Curve, all: usize, y: &Scale) -> Done {
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

/// A line through the panel for each moment, and its words in the strip above the first one.
fn draw_marks(
    chart: &mut Chart<'_, '_>,
    strip: Option<&Area<'_>>,
    figure: &Figure,
    (x, y): (&Scale, &Scale),
) -> Done {
    let seen = (x.from, x.to);
    for (n, mark) in figure.marks.iter().enumerate() {
        let at = x.place(mark.at);
        if !(seen.0..=seen.1).contains(&at) {
            continue;
        }
        let line = PathElement::new([(at, y.from), (at, y.to)], GREY.stroke_width(1));
        chart.draw_series([line])?;
        let Some(strip) = strip else {
            continue;
        };
        let pixel = chart.backend_coord(&(at, y.from)).0;
        // Towards the side where there is more room.
        let is_left = pixel < strip.dim_in_pixel().0 as i32 / 2;
        let (side, apart) = if is_left {
            (HPos::Left, 4)
        } else {
            (HPos::Right, -4)
        };
        let row = (n % 4) as i32 * STRIP as i32 + STRIP as i32 / 2;
        let style = TextStyle::from(("sans-serif", FONT - 1).into_font())
            .color(&GREY)
            .pos(Pos::new(side, VPos::Center));
        strip.draw(&Text::new(mark.says.clone(), (pixel + apart, row), style))?;
    }
    Ok(())
}

fn draw_legend(area: &Area<'_>, figure: &Figure, strip: u32) -> Done {
    let style = TextStyle::from(("sans-serif", FONT).into_font());
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    let named = figure
        .legend
        .iter()
        .enumerate()
        .filter(|(_, says)| !says.is_empty());
    for (n, says) in named {
        let y = (strip + 24) as i32 + 22 * n as i32;
        let line = [(8, y), (30, y)];
        area.draw(&PathElement::new(line, colour(n).stroke_width(4)))?;
        area.draw(&Text::new(says.clone(), (38, y), style.clone()))?;
    }
    Ok(())
}
