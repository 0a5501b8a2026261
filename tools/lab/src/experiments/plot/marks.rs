//! Timeline events of a plot: vertical lines with labels.

use super::draw::{Area, Chart, Done, FONT, GREY, LETTER, STRIP};
use super::figure::Figure;
use super::ticks::Scale;
use plotters::element::DashedPathElement;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

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
