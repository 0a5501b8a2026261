//! Keys of runners: axes, held values and series, for plan checks.
//!
//! Plans are checked against `runners.yaml` when they are read, before anything is measured.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use crate::experiments::plan::{How, Series, Wrong, meant, unknown};
use crate::experiments::{Experiment, Scalar};
use serde::Deserialize;
use std::sync::LazyLock;

/// All runners.
static RUNNERS: LazyLock<Vec<Runner>> = LazyLock::new(|| {
    /// The other keys are anchors.
    #[derive(Deserialize)]
    struct File {
        runners: Vec<Runner>,
    }
    let file: Result<File, _> = serde_saphyr::from_str(include_str!("../../runners.yaml"));
    file.expect("a file of the house").runners
});

/// Runner, as plans name it.
#[derive(Deserialize)]
struct Runner {
    /// As plans name it.
    name: String,
    /// All that it looks at.
    keys: Vec<Key>,
    /// Of each pair one is needed, of those that are not needed by themselves.
    #[serde(default)]
    either: Vec<[String; 2]>,
    series: Vec<Given>,
    #[serde(default)]
    curves: Vec<String>,
}

/// A series: its name, its unit, and how it comes about.
type Given = (String, String, How);

/// Key of a runner.
#[derive(Deserialize)]
struct Key {
    name: String,
    takes: Allowed,
    #[serde(default)]
    needed: bool,
}

/// Values of a key.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Allowed {
    Names(Vec<String>),
    Numbers(Vec<f64>),
    /// From, and to.
    Number(f64, f64),
    /// The same without fractions.
    Whole(f64, f64),
    /// Any name.
    Word,
}

impl Allowed {
    fn has(&self, value: &Scalar) -> bool {
        match (self, value) {
            (Self::Names(names), Scalar::Text(text)) => names.contains(text),
            (Self::Numbers(numbers), Scalar::Number(number)) => numbers.contains(number),
            (Self::Number(from, to), Scalar::Number(n)) => (*from..=*to).contains(n),
            (Self::Whole(from, to), Scalar::Number(n)) => {
                n.fract() == 0.0 && (*from..=*to).contains(n)
            }
            (Self::Word, Scalar::Text(_)) => true,
            _ => false,
        }
    }

    /// In words.
    fn says(&self) -> String {
        match self {
            Self::Names(names) => one_of(names.iter().map(|name| quoted(name))),
            Self::Numbers(numbers) => one_of(numbers.iter().map(f64::to_string)),
            Self::Number(from, to) => format!("a number from {from} to {to}"),
            Self::Whole(from, to) => format!("a whole number from {from} to {to}"),
            Self::Word => "a word".to_owned(),
        }
    }

    /// The name that was meant, perhaps.
    fn meant(&self, value: &Scalar) -> Option<&str> {
        match (self, value) {
            (Self::Names(names), Scalar::Text(text)) => meant(text, &refs(names)),
            _ => None,
        }
    }
}

/// Checks keys, values and series of a plan; gives all series of its runner.
pub fn fits(experiment: &Experiment) -> Result<Vec<Series>, Wrong> {
    let runner = runner(experiment)?;
    for axis in &experiment.axes {
        let name = &axis.name;
        let key = runner.key(name, &["axes:", &format!("name: {name}")])?;
        for value in &axis.values {
            let shown = value.to_string();
            let near = ["axes:", &format!("name: {name}"), "values:", &shown];
            key.takes(value, &near)?;
        }
    }
    let held = [
        ("held:", &experiment.held),
        ("held_quick:", &experiment.held_quick),
    ];
    for (section, values) in held {
        for (name, value) in values {
            let near = [section, &format!("{name}:")];
            runner.key(name, &near)?.takes(value, &near)?;
            if experiment.axis(name).is_some() {
                let what = format!("'{name}' is an axis; it cannot be held as well");
                return Err(Wrong::at(&near, what));
            }
        }
    }
    runner.lacks(experiment)?;
    runner.measures(experiment)?;
    Ok(runner.gives())
}

fn runner(experiment: &Experiment) -> Result<&'static Runner, Wrong> {
    let asked = experiment.runner.as_deref().unwrap_or_default();
    let known: Vec<&str> = RUNNERS.iter().map(|runner| &runner.name[..]).collect();
    let found = RUNNERS.iter().find(|runner| runner.name == asked);
    found.ok_or_else(|| Wrong::at(&["runner:"], unknown("runner", asked, &known)))
}

impl Runner {
    fn key(&self, name: &str, near: &[&str]) -> Result<&Key, Wrong> {
        let found = self.keys.iter().find(|key| key.name == name);
        found.ok_or_else(|| {
            let known: Vec<&str> = self.keys.iter().map(|key| &key.name[..]).collect();
            let what = unknown("key", name, &known);
            Wrong::at(near, format!("runner '{}': {what}", self.name))
        })
    }

    /// Checks that each required key is an axis or a fixed value.
    fn lacks(&self, experiment: &Experiment) -> Result<(), Wrong> {
        let has = |name: &str| !values(experiment, name).is_empty();
        let wrong = |what: String| {
            let what = format!("runner '{}' {what}", self.name);
            Err(Wrong::at(&["runner:"], what))
        };
        let mut needed = self.keys.iter().filter(|key| key.needed);
        if let Some(Key { name, takes, .. }) = needed.find(|key| !has(&key.name)) {
            let says = takes.says();
            return wrong(format!(
                "needs '{name}' ({says}), as an axis or under `held`"
            ));
        }
        let mut either = self.either.iter();
        if let Some([one, other]) = either.find(|pair| !pair.iter().any(|name| has(name))) {
            return wrong(format!(
                "needs '{one}' or '{other}', as an axis or under `held`"
            ));
        }
        if self.either.is_empty() {
            return Ok(());
        }
        if has("traffic") && has("payload_bytes") {
            return wrong("takes 'traffic' or 'payload_bytes', not both".to_owned());
        }
        // A direction says all of the share, but for `both`.
        let directions = values(experiment, "direction");
        let both = directions.is_empty() || directions.iter().any(|d| d.text() == Some("both"));
        match (both, has("uplink_percent")) {
            (true, false) => wrong("needs 'uplink_percent' where 'direction' is both".to_owned()),
            (false, true) => {
                wrong("looks at 'uplink_percent' only where 'direction' is both".to_owned())
            }
            _ => Ok(()),
        }
    }

    /// Series and curves that are asked for and that it does not have.
    fn measures(&self, experiment: &Experiment) -> Result<(), Wrong> {
        let known: Vec<&str> = self.series.iter().map(|given| &given.0[..]).collect();
        for series in &experiment.series {
            let name = format!("name: {}", series.name);
            let near = ["series:", &name];
            let wrong = |what| Err(Wrong::at(&near, format!("runner '{}': {what}", self.name)));
            let Some((.., how)) = self.series.iter().find(|given| given.0 == series.name) else {
                return wrong(unknown("series", &series.name, &known));
            };
            if *how != series.how {
                let (name, says) = (&series.name, how.says().replace(' ', "_"));
                return wrong(format!("'{name}': expected how: {says}"));
            }
        }
        let plots = experiment.plots.iter();
        for plot in plots.filter(|plot| plot.kind.has_curves()) {
            let lost = plot.y.iter().find(|y| !self.curves.contains(y));
            if let Some(y) = lost {
                let what = unknown("curve", y, &refs(&self.curves));
                let what = format!("plot '{}': runner '{}': {what}", plot.name, self.name);
                let name = format!("name: {}", plot.name);
                return Err(Wrong::at(&["plots:", &name], what));
            }
        }
        Ok(())
    }

    fn gives(&self) -> Vec<Series> {
        let series = |(name, unit, how): &Given| Series {
            name: name.clone(),
            says: name.replace('_', " "),
            unit: unit.clone(),
            how: *how,
        };
        self.series.iter().map(series).collect()
    }
}

impl Key {
    fn takes(&self, value: &Scalar, near: &[&str]) -> Result<(), Wrong> {
        if self.takes.has(value) {
            return Ok(());
        }
        let name = &self.name;
        let meant = match self.takes.meant(value) {
            Some(meant) => format!(" (did you mean {}?)", quoted(meant)),
            None => String::new(),
        };
        let (got, expected) = (quoted(&value.to_string()), self.takes.says());
        let what = format!("{name}: got {got}{meant}; expected {expected}");
        Err(Wrong::at(near, what))
    }
}

/// Full values of a key, on its axis or fixed.
fn values<'e>(experiment: &'e Experiment, name: &str) -> Vec<&'e Scalar> {
    let held = experiment.held.get(name);
    let axis = experiment.axis(name).map(|axis| axis.values.iter());
    axis.into_iter().flatten().chain(held).collect()
}

fn refs(names: &[String]) -> Vec<&str> {
    names.iter().map(String::as_str).collect()
}

/// As it has to be written: numbers and plain words as they are.
fn quoted(text: &str) -> String {
    match text.contains([' ', '\'']) {
        true => format!("\"{text}\""),
        false => format!("'{text}'"),
    }
}

fn one_of(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    match &all[..] {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}
