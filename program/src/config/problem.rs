//! Configuration errors, all of a file at once.

use core::fmt;
use std::path::{Path, PathBuf};

/// One thing that is wrong, or worth a warning.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// Line, from 1; 0 for the file as a whole.
    pub line: u32,
    /// The key, such as `ports[0].mtu`.
    pub key: String,
    /// The fault.
    pub what: String,
    /// Expected value.
    pub expected: String,
}

/// A file that cannot be used. Its text has one line for each problem:
/// `FILE:LINE: KEY: PROBLEM; expected ...`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refused {
    /// The file.
    pub file: PathBuf,
    /// Problems by line; never empty.
    pub problems: Vec<Problem>,
}

/// A key that was looked for, whether it was there or not.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct KnownKey {
    /// Path of the key, such as `ports[].mtu`.
    pub path: String,
    /// Default, if it is always the same.
    pub default: Option<&'static str>,
}

/// Results of reading a file.
#[derive(Debug, Default)]
pub struct Report {
    problems: Vec<Problem>,
    warnings: Vec<Problem>,
    known_keys: Vec<KnownKey>,
}

impl Report {
    /// Notes a problem.
    pub fn problem(
        &mut self,
        line: u32,
        key: impl Into<String>,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.problems.push(Problem {
            line,
            key: key.into(),
            what: what.into(),
            expected: expected.into(),
        });
    }

    /// Notes something that works but may not be meant.
    pub fn warning(
        &mut self,
        line: u32,
        key: impl Into<String>,
        what: impl Into<String>,
        expected: impl Into<String>,
    ) {
        self.warnings.push(Problem {
            line,
            key: key.into(),
            what: what.into(),
            expected: expected.into(),
        });
    }

    /// Notes that a key was looked for.
    pub fn known(&mut self, path: String, default: Option<&'static str>) {
        self.known_keys.push(KnownKey { path, default });
    }

    /// Whether all of a section could be read. What depends on a section that could not be is
    /// not checked: it would only be blamed for the first problem once more.
    pub fn is_clean(&self, section: &str) -> bool {
        let inside = |key: &str| {
            key.strip_prefix(section)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        !self.problems.iter().any(|problem| inside(&problem.key))
    }

    /// Problems, warnings and keys, each in order and once.
    pub fn finish(mut self) -> (Vec<Problem>, Vec<Problem>, Vec<KnownKey>) {
        self.problems.sort();
        self.problems.dedup();
        self.warnings.sort();
        self.warnings.dedup();
        self.known_keys.sort();
        self.known_keys.dedup();
        (self.problems, self.warnings, self.known_keys)
    }
}

impl Problem {
    /// With the file that it is in front.
    pub fn in_file<'a>(&'a self, file: &'a Path) -> impl fmt::Display + 'a {
        InFile {
            file,
            problem: self,
        }
    }
}

struct InFile<'a> {
    file: &'a Path,
    problem: &'a Problem,
}

impl fmt::Display for InFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Problem {
            line,
            key,
            what,
            expected,
        } = self.problem;
        write!(f, "{}:", self.file.display())?;
        if *line > 0 {
            write!(f, "{line}:")?;
        }
        if !key.is_empty() {
            write!(f, " {key}:")?;
        }
        write!(f, " {what}; expected {expected}")
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, problem) in self.problems.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            problem.in_file(&self.file).fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_is_clean_unless_a_problem_lies_inside_it() {
        let mut report = Report::default();
        report.problem(1, "ports[0].mtu", "got 'x'", "a number");
        assert!(!report.is_clean("ports"));
        assert!(report.is_clean("port"));
        assert!(report.is_clean("interfaces"));
    }
}
