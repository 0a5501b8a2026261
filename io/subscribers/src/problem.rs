//! What is wrong with what an operator wrote: where, what, and what was expected.

use std::fmt;

use serde::Serialize;

/// Problems that are told of at a time; the others are counted.
pub const TOLD: usize = 20;

/// Characters of a wrong value that are repeated to its writer.
const SHOWN: usize = 40;

/// One thing that is wrong.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Problem {
    /// Line of a file, from 1; none of what came from no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// The subscriber, as far as it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imsi: Option<String>,
    /// The field, such as `slices[0].networks[1].ipv4`; empty for the whole.
    pub field: String,
    /// What is wrong with it; never a key.
    pub what: String,
    /// What should stand there.
    pub expected: String,
}

impl Problem {
    /// Of a field.
    pub fn new(
        field: impl Into<String>,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            line: None,
            imsi: None,
            field: field.into(),
            what: what.into(),
            expected: expected.into(),
        }
    }

    /// A wrong value, repeated as far as it is short.
    pub fn got(field: impl Into<String>, value: &str, expected: impl Into<String>) -> Self {
        Self::new(field, format!("got {}", shown(value)), expected)
    }

    /// The same, found in this line.
    #[must_use]
    pub fn at(mut self, line: u64) -> Self {
        self.line = self.line.or(Some(line));
        self
    }

    /// The same of this subscriber.
    #[must_use]
    pub fn of(mut self, imsi: &str) -> Self {
        self.imsi = self.imsi.or_else(|| Some(cut(imsi)));
        self
    }
}

impl fmt::Display for Problem {
    /// `line 7: imsi 001010000000001: k: 31 characters; expected 32 hexadecimal digits`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        if let Some(imsi) = &self.imsi {
            write!(f, "imsi {imsi}: ")?;
        }
        if !self.field.is_empty() {
            write!(f, "{}: ", self.field)?;
        }
        write!(f, "{}; expected {}", self.what, self.expected)
    }
}

/// A value between quotes, without control characters, and cut if it is long.
fn shown(value: &str) -> String {
    format!("'{}'", cut(value))
}

fn cut(value: &str) -> String {
    // What is behind the first characters is not shown in any case.
    let begin: String = value.chars().take(20 * SHOWN).collect();
    let begin = without_keys(&begin);
    let mut text: String = begin.chars().take(SHOWN).collect();
    if text.len() < begin.len() {
        text.push_str("...");
    }
    text.escape_debug().to_string()
}

/// Digits in a row that may be a key, or a good part of one; an IMSI has fewer.
const KEY_DIGITS: usize = 16;

/// A text in which whatever could be a key, in the wrong place, is only counted.
pub fn without_keys(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let digits = rest.bytes().take_while(u8::is_ascii_hexdigit).count();
        let length = match digits {
            0 => rest.chars().next().map_or(1, char::len_utf8),
            digits => digits,
        };
        let (begin, after) = rest.split_at(length);
        if digits >= KEY_DIGITS {
            shown.push_str(&format!("({digits} hexadecimal digits)"));
        } else {
            shown.push_str(begin);
        }
        rest = after;
    }
    shown
}

/// Lines of a text by offset, which only grows.
pub(crate) struct Lines<'t> {
    text: &'t [u8],
    until: usize,
    line: u64,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str) -> Self {
        Self {
            text: text.as_bytes(),
            until: 0,
            line: 1,
        }
    }

    /// The line of what begins at this offset, or behind line ends there.
    pub(crate) fn at(&mut self, offset: usize) -> u64 {
        let behind = self.text.get(offset..).unwrap_or_default();
        let ends = behind.iter().take_while(|c| matches!(c, b'\r' | b'\n'));
        let offset = offset + ends.count();
        let passed = self.text.get(self.until..offset).unwrap_or_default();
        self.line += passed.iter().filter(|c| **c == b'\n').count() as u64;
        self.until = self.until.max(offset);
        self.line
    }
}

/// Problems of one request: the first ones, and how many there are.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Problems {
    /// The first [`TOLD`].
    pub told: Vec<Problem>,
    /// All of them.
    pub number: u64,
}

impl Problems {
    /// One more.
    pub fn push(&mut self, problem: Problem) {
        self.number += 1;
        if self.told.len() < TOLD {
            self.told.push(problem);
        }
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.number == 0
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        let mut problems = Self::default();
        problems.push(problem);
        problems
    }
}

impl fmt::Display for Problems {
    /// A line each; the last one says how many more there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.told.iter().enumerate() {
            let separator = if at > 0 { "\n" } else { "" };
            write!(f, "{separator}{problem}")?;
        }
        match self.number - self.told.len() as u64 {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_says_where_what_and_what_was_expected() {
        let problem = Problem::got("arp", "1\u{1b}6", "a whole number from 1 to 15");
        let problem = problem.of("001010000000001").at(7);
        assert_eq!(
            problem.to_string(),
            "line 7: imsi 001010000000001: arp: got '1\\u{1b}6'; expected a whole number from 1 to 15"
        );
        let long = Problem::got("dnn", &"x".repeat(1000), "a name");
        assert!(long.to_string().len() < 100, "{long}");
    }

    #[test]
    fn what_may_be_a_key_is_counted_and_not_shown() {
        let key = "465b5ce8b199b49faa5f0a2ee238a6bc";
        assert_eq!(without_keys(key), "(32 hexadecimal digits)");
        assert_eq!(
            without_keys(&format!("é{key}é")),
            "é(32 hexadecimal digits)é"
        );
        assert_eq!(
            without_keys("imsi 001010000000001 face"),
            "imsi 001010000000001 face"
        );
        let far = format!("{}{key}", "-".repeat(30));
        let problem = Problem::got("dnn", &far, "a name").to_string();
        assert!(!problem.contains(&key[..8]), "{problem}");
    }

    #[test]
    fn problems_are_counted_and_only_the_first_are_told() {
        let mut problems = Problems::default();
        for at in 0..1000 {
            problems.push(Problem::new("imsi", "twice", "once").at(at));
        }
        assert_eq!((problems.told.len(), problems.number), (TOLD, 1000));
        assert!(problems.to_string().ends_with("\nand 980 more"));
    }
}
