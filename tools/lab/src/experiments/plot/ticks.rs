//! Axis ticks.

const DECADE: f64 = 10.0;

/// An axis: what is seen of it, and where its numbers stand. All in the axis' own measure: that of
/// the values, or their logarithms.
#[derive(Clone, PartialEq, Debug)]
pub struct Scale {
    /// The left or lower end.
    pub from: f64,
    /// The right or upper end.
    pub to: f64,
    /// Where numbers stand.
    pub at: Vec<f64>,
    log: bool,
    /// From which value on numbers are written by thousands: one way for all of an axis.
    short_from: f64,
}

/// Where all numbers of an axis are below, none is written by thousands.
const LONG: f64 = 0.9995e4;
/// Values that stand at the axis themselves are written as they are, if they have no more digits.
const EXACT: f64 = 1e7;
/// Room beside the first and last places, by what is seen.
const ROOM: f64 = 0.025;

impl Scale {
    /// For these values; `most` numbers at the most. Logarithmic only where they reach over a decade,
    /// as a part of one has too few round numbers. Axes that are not begin at 0 if `from_zero` says
    /// so, and number whole values by whole numbers.
    pub fn of(values: &[f64], log: bool, from_zero: bool, most: usize) -> Self {
        let finite = || values.iter().copied().filter(|v| v.is_finite());
        let least = finite().reduce(f64::min).unwrap_or(0.0);
        let greatest = finite().reduce(f64::max).unwrap_or(1.0);
        if log && least > 0.0 && greatest >= DECADE * least {
            return Self::log(values, least, greatest, most);
        }
        let whole = finite().all(|value| value.fract() == 0.0);
        let least = if from_zero { least.min(0.0) } else { least };
        Self::linear(least, greatest, if whole { 1.0 } else { 0.0 }, most)
    }

    /// Where a value stands.
    pub fn place(&self, value: f64) -> f64 {
        match self.log {
            true => value.max(f64::MIN_POSITIVE).log10(),
            false => value,
        }
    }

    /// What is written at a place.
    pub fn label(&self, place: f64) -> String {
        let value = if self.log { 10_f64.powf(place) } else { place };
        label(value, self.short_from)
    }

    /// The same with room beside the first and the last place, so that marks do not lie on the frame.
    pub fn with_room(self) -> Self {
        // Logarithmic ones have it.
        let room = if self.log {
            0.0
        } else {
            ROOM * (self.to - self.from)
        };
        Self {
            from: self.from - room,
            to: self.to + room,
            ..self
        }
    }

    fn linear(least: f64, greatest: f64, finest: f64, most: usize) -> Self {
        let span = match greatest - least {
            span if span > 0.0 => span,
            _ => greatest.abs().max(1.0),
        };
        let wide = span / most.max(2) as f64;
        let power = 10_f64.powf(wide.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .map(|n| n * power)
            .into_iter()
            .find(|step| *step >= wide * 0.999)
            .unwrap_or(wide)
            .max(finest);
        let first = (least / step).floor() * step;
        let count = ((least + span - first) / step).ceil() as usize;
        let at: Vec<f64> = (0..=count).map(|n| first + n as f64 * step).collect();
        let to = first + count as f64 * step;
        Self {
            from: first,
            to,
            at,
            log: false,
            short_from: short_from(to.abs().max(first.abs())),
        }
    }

    fn log(values: &[f64], least: f64, greatest: f64, most: usize) -> Self {
        let (low, high) = (least.log10(), greatest.log10());
        let room = (0.04 * (high - low)).max(0.05);
        let (from, to) = (low - room, high + room);
        let mut own: Vec<f64> = values.iter().map(|v| v.log10()).collect();
        own.sort_by(f64::total_cmp);
        own.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        let apart = own
            .windows(2)
            .map(|w| w[1] - w[0])
            .fold(f64::INFINITY, f64::min);
        // The values themselves, if there are few of them and far enough apart to be read.
        let is_own = own.len() <= most && apart > (to - from) / (1.2 * most as f64);
        let (at, short_from) = match is_own {
            true if greatest < EXACT => (own, EXACT),
            true => (own, short_from(greatest)),
            false => (decades(from, to, most), short_from(greatest)),
        };
        Self {
            from,
            to,
            at,
            log: true,
            short_from,
        }
    }
}

/// For an axis that reaches so far.
fn short_from(greatest: f64) -> f64 {
    if greatest < LONG { LONG } else { 0.9995e3 }
}

fn decades(from: f64, to: f64, most: usize) -> Vec<f64> {
    let of = |within: &[f64]| -> Vec<f64> {
        let decades = from.floor() as i32..=to.ceil() as i32;
        let all = decades.flat_map(|d| within.iter().map(move |w| f64::from(d) + w.log10()));
        all.filter(|at| (from..=to).contains(at)).collect()
    };
    let fine = of(&[1.0, 2.0, 5.0]);
    match fine.len() <= most {
        true => fine,
        false => of(&[1.0]),
    }
}

/// A number with as few digits as it needs, and k, M, G behind those from `short_from` on.
fn label(value: f64, short_from: f64) -> String {
    let (value, behind) = match value.abs() {
        v if v < short_from => (value, ""),
        v if v >= 0.9995e9 => (value / 1e9, "G"),
        v if v >= 0.9995e6 => (value / 1e6, "M"),
        _ => (value / 1e3, "k"),
    };
    let digits = match value.abs() {
        v if !(1e-9..100.0).contains(&v) => 0,
        v if v >= 10.0 => 1,
        v if v >= 1.0 => 2,
        v => (2 - v.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let text = format!("{value:.digits$}");
    let text = match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => &text,
    };
    format!("{text}{behind}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_exact() {
        let wanted = [
            (0.0, "0"),
            (64.0, "64"),
            (1518.0, "1518"),
            (65_536.0, "65.5k"),
            (100_000.0, "100k"),
            (2.5, "2.5"),
            (0.05, "0.05"),
            (0.002, "0.002"),
            (-1.5, "-1.5"),
            (1e6, "1M"),
        ];
        for (value, text) in wanted {
            assert_eq!(label(value, LONG), text);
        }
    }

    #[test]
    fn an_axis_writes_its_numbers_one_way() {
        let labels = |values: &[f64], log| {
            let scale = Scale::of(values, log, true, 8);
            let at = scale.at.iter();
            at.map(|at| scale.label(*at)).collect::<Vec<_>>()
        };
        assert_eq!(labels(&[4096.0, 65_536.0], true), ["4096", "65536"]);
        assert_eq!(
            labels(&[1000.0, 10_000.0, 50_000.0], true),
            ["1000", "10000", "50000"]
        );
        assert_eq!(
            labels(&[5e3, 1e4, 2e4], false)[..4],
            ["0", "5k", "10k", "15k"]
        );
        assert_eq!(labels(&[1e3, 8e3], false)[..3], ["0", "1000", "2000"]);
        let decades: Vec<f64> = (0..40).map(|n| 900.0 * 1.2_f64.powi(n)).collect();
        assert_eq!(labels(&decades, true), ["1k", "10k", "100k", "1M"]);
    }

    #[test]
    fn there_is_room_beside_the_first_and_the_last_place() {
        for (values, log) in [(vec![0.5, 2.25], false), (vec![64.0, 1024.0], true)] {
            let scale = Scale::of(&values, log, false, 12).with_room();
            let share = |v: f64| (scale.place(v) - scale.from) / (scale.to - scale.from);
            assert!(
                share(values[0]) > 0.015 && share(values[1]) < 0.985,
                "{scale:?}"
            );
        }
    }

    #[test]
    fn axes_hold_their_values_and_not_too_many_numbers() {
        for (values, log) in [
            (vec![3.0, 17.0], false),
            (vec![64.0, 128.0, 256.0, 512.0, 1024.0], true),
            (vec![0.001, 900.0], true),
            (vec![5.0, 5.0], false),
            (vec![], false),
        ] {
            let scale = Scale::of(&values, log, true, 8);
            assert!(scale.at.len() <= 10 && scale.at.len() >= 2, "{scale:?}");
            for value in values {
                let at = scale.place(value);
                assert!((scale.from..=scale.to).contains(&at), "{value}: {scale:?}");
            }
        }
        let own = Scale::of(&[64.0, 256.0, 1024.0], true, false, 8);
        let labels: Vec<String> = own.at.iter().map(|at| own.label(*at)).collect();
        assert_eq!(labels, ["64", "256", "1024"]);
        let cores = Scale::of(&[1.0, 2.0, 4.0, 6.0], false, false, 12);
        assert_eq!(cores.at, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let percent = Scale::of(&[72.0, 100.0], true, true, 8);
        assert_eq!((percent.from, percent.log), (0.0, false));
    }
}
