//! Axis scales, and where numbers stand on them.

/// An axis: what is seen of it, and where numbers or names stand. All in the axis' own measure: that of
/// the values, or their logarithms.
#[derive(Clone, PartialEq, Debug)]
pub struct Scale {
    from: f64,
    to: f64,
    pub labels: Vec<(f64, String)>,
    log: bool,
}

const DECADE: f64 = 10.0;
/// Limit below which an axis writes no number in thousands.
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

    /// Names, each in the middle of its share: the first from 0 to 1, the next from 1 to 2.
    pub fn of_names(names: &[String]) -> Self {
        let middles = (0..names.len()).map(|n| n as f64 + 0.5);
        Self {
            from: 0.0,
            to: names.len() as f64,
            labels: middles.zip(names.iter().cloned()).collect(),
            log: false,
        }
    }

    /// Position of a value.
    pub fn place(&self, value: f64) -> f64 {
        match self.log {
            true => value.max(f64::MIN_POSITIVE).log10(),
            false => value,
        }
    }

    /// How far that place is along the axis: 0 at its beginning, 1 at its end.
    pub fn share(&self, place: f64) -> f64 {
        (place - self.from) / (self.to - self.from)
    }

    /// The same with room beside the first and the last place, so that marks do not lie on the frame.
    pub fn with_room(mut self) -> Self {
        // Logarithmic ones have it.
        if !self.log {
            let room = ROOM * (self.to - self.from);
            (self.from, self.to) = (self.from - room, self.to + room);
        }
        self
    }

    fn linear(least: f64, greatest: f64, finest: f64, most: usize) -> Self {
        let span = match greatest - least {
            span if span > 0.0 => span,
            _ => greatest.abs().max(1.0),
        };
        let wide = span / most.max(2) as f64;
        let power = 10_f64.powf(wide.log10().floor());
        let round = [1.0, 2.0, 5.0, 10.0].map(|n| n * power);
        let step = round.into_iter().find(|step| *step >= wide * 0.999);
        let step = step.unwrap_or(wide).max(finest);
        let from = (least / step).floor() * step;
        let count = ((least + span - from) / step).ceil() as usize;
        let to = from + count as f64 * step;
        let short = short_from(to.abs().max(from.abs()));
        let at = (0..=count).map(|n| from + n as f64 * step);
        Self {
            from,
            to,
            labels: at.map(|at| (at, label(at, short))).collect(),
            log: false,
        }
    }

    fn log(values: &[f64], least: f64, greatest: f64, most: usize) -> Self {
        let (low, high) = (least.log10(), greatest.log10());
        let room = (0.04 * (high - low)).max(0.05);
        let (from, to) = (low - room, high + room);
        let mut own: Vec<f64> = values.iter().map(|v| v.log10()).collect();
        own.sort_by(f64::total_cmp);
        own.dedup_by(|a, b| (*a - *b).abs() < 1e-9);
        let gaps = own.windows(2).map(|w| w[1] - w[0]);
        let apart = gaps.fold(f64::INFINITY, f64::min);
        // The values themselves, if there are few of them and far enough apart to be read.
        let is_own = own.len() <= most && apart > (to - from) / (1.2 * most as f64);
        let (at, short) = match is_own {
            true if greatest < EXACT => (own, EXACT),
            true => (own, short_from(greatest)),
            false => (decades(from, to, most), short_from(greatest)),
        };
        let label = |at: f64| (at, label(10_f64.powf(at), short));
        Self {
            from,
            to,
            labels: at.into_iter().map(label).collect(),
            log: true,
        }
    }
}

/// From which value on numbers of an axis that reaches so far are written by thousands: one way for all.
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
    format!("{}{behind}", three_digits(value))
}

/// With the three digits that count, or all of a whole number.
pub fn three_digits(value: f64) -> String {
    let digits = match value.abs() {
        v if !(1e-9..100.0).contains(&v) => 0,
        v => (2 - v.log10().floor() as i32).clamp(0, 6) as usize,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
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

    fn labels(values: &[f64], log: bool) -> Vec<String> {
        let labels = Scale::of(values, log, true, 8).labels;
        labels.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn an_axis_writes_its_numbers_one_way() {
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
            let share = |v: f64| scale.share(scale.place(v));
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
            assert!((2..=10).contains(&scale.labels.len()), "{scale:?}");
            for value in values {
                let share = scale.share(scale.place(value));
                assert!((0.0..=1.0).contains(&share), "{value}: {scale:?}");
            }
        }
        assert_eq!(labels(&[64.0, 256.0, 1024.0], true), ["64", "256", "1024"]);
        let cores = Scale::of(&[1.0, 2.0, 4.0, 6.0], false, false, 12).labels;
        let cores: Vec<f64> = cores.into_iter().map(|(at, _)| at).collect();
        assert_eq!(cores, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let percent = Scale::of(&[72.0, 100.0], true, true, 8);
        assert_eq!((percent.from, percent.log), (0.0, false));
    }
}
