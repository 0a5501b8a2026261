//! Checks of the demo: expected and found.

use std::fmt::Display;

use serde::Serialize;

use sluice_program::screen::Screen;

#[derive(Clone, Debug, Serialize)]
pub(super) struct Check {
    pub(super) name: String,
    pub(super) expected: String,
    pub(super) got: String,
    pub(super) pass: bool,
}

/// All that were looked at so far; each is shown as it is made.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(super) struct Checks {
    all: Vec<Check>,
    #[serde(skip)]
    screen: Screen,
}

impl Checks {
    pub(super) fn new(screen: Screen) -> Self {
        Self {
            all: Vec::new(),
            screen,
        }
    }

    /// Both must be the same.
    pub(super) fn equal<T: Display + PartialEq>(
        &mut self,
        name: impl Into<String>,
        expected: T,
        got: T,
    ) {
        let pass = expected == got;
        self.add(name.into(), expected.to_string(), got.to_string(), pass);
    }

    /// `got` must be at least `expected`.
    pub(super) fn at_least(
        &mut self,
        name: impl Into<String>,
        expected: f64,
        got: f64,
        unit: &str,
    ) {
        let text = |value: f64| format!("{value:.1} {unit}");
        let expectation = format!("at least {}", text(expected));
        self.add(name.into(), expectation, text(got), got >= expected);
    }

    /// A judgement that the caller has made.
    pub(super) fn holds(
        &mut self,
        name: impl Into<String>,
        expected: impl Into<String>,
        got: impl Into<String>,
        pass: bool,
    ) {
        self.add(name.into(), expected.into(), got.into(), pass);
    }

    pub(super) fn passed(&self) -> usize {
        self.all.iter().filter(|check| check.pass).count()
    }

    pub(super) fn failed(&self) -> usize {
        self.all.len() - self.passed()
    }

    pub(super) fn failures(&self) -> impl Iterator<Item = &Check> {
        self.all.iter().filter(|check| !check.pass)
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    /// Failed checks from number `from` on.
    pub(super) fn failures_from(&self, from: usize) -> Vec<Check> {
        let late = self.all.iter().skip(from);
        late.filter(|check| !check.pass).cloned().collect()
    }

    /// Forgets all but the first `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        self.all.truncate(len);
    }

    fn add(&mut self, name: String, expected: String, got: String, pass: bool) {
        let line = if pass {
            format!("  ok      {name}: {got}")
        } else {
            format!("  FAILED  {name}: expected {expected}, got {got}")
        };
        self.screen.say(&line);
        self.all.push(Check {
            name,
            expected,
            got,
            pass,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passes_and_failures_are_counted() {
        let mut checks = Checks::new(Screen::silent());
        checks.equal("same", 1, 1);
        checks.equal("different", 1, 2);
        checks.at_least("rate", 50.0, 49.9, "Mbit/s");
        checks.at_least("rate", 50.0, 50.0, "Mbit/s");
        checks.holds("judged", "yes", "no", false);
        assert_eq!((checks.passed(), checks.failed()), (2, 3));
        let got: Vec<_> = checks.failures().map(|check| check.got.as_str()).collect();
        assert_eq!(got, ["2", "49.9 Mbit/s", "no"]);
    }
}
