//! Progress output on standard error: lines that stay, and on a terminal a table below them that is
//! drawn anew.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use sluice_host::terminal;

/// Up one line and to its beginning.
const UP: &str = "\x1b[1F";
const CLEAR_BELOW: &str = "\x1b[J";

/// Progress on the terminal or in the log; clones write to the same place.
#[derive(Clone, Debug)]
pub struct Screen {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    kind: Kind,
    started: Instant,
    /// Lines below the last line, on a terminal.
    table: Mutex<Vec<String>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Terminal,
    Lines,
    Silent,
}

impl Default for Screen {
    fn default() -> Self {
        Self::new()
    }
}

impl Screen {
    /// On standard error: a table that stays in place on a terminal, lines elsewhere.
    pub fn new() -> Self {
        Self::of(if stderr().is_terminal() {
            Kind::Terminal
        } else {
            Kind::Lines
        })
    }

    /// Shows nothing.
    pub fn silent() -> Self {
        Self::of(Kind::Silent)
    }

    fn of(kind: Kind) -> Self {
        Self {
            inner: Arc::new(Inner {
                kind,
                started: Instant::now(),
                table: Mutex::default(),
            }),
        }
    }

    /// Whether a table can be drawn anew.
    pub fn is_terminal(&self) -> bool {
        self.inner.kind == Kind::Terminal
    }

    /// Announces a step, with the time since the beginning.
    pub fn step(&self, what: &str) {
        let elapsed_s = self.inner.started.elapsed().as_secs_f32();
        self.say(&format!("[{elapsed_s:5.1} s] {what}"));
    }

    /// Writes a line that stays.
    pub fn say(&self, line: &str) {
        self.draw(Some(line), None);
    }

    /// Replaces the table.
    pub fn show(&self, table: Vec<String>) {
        self.draw(None, Some(table));
    }

    fn draw(&self, line: Option<&str>, new_table: Option<Vec<String>>) {
        let table = self.inner.table.lock();
        let mut table = table.unwrap_or_else(PoisonError::into_inner);
        let mut text = String::new();
        if self.is_terminal() && !table.is_empty() {
            text.push_str(&UP.repeat(table.len()));
            text.push_str(CLEAR_BELOW);
        }
        if let Some(new) = new_table {
            let (columns, rows) = terminal::size().unwrap_or((80, 24));
            *table = fitted(new, columns, rows);
        }
        for line in line.into_iter().chain(table.iter().map(String::as_str)) {
            text.push_str(line);
            text.push('\n');
        }
        if self.inner.kind == Kind::Silent {
            return;
        }
        // Nobody may be there to see it any more.
        let _ = stderr().write_all(text.as_bytes());
    }
}

/// The table as far as it fits: what wraps or scrolls away cannot be drawn over. The last line
/// stays, which speaks of all.
fn fitted(mut table: Vec<String>, columns: usize, rows: usize) -> Vec<String> {
    // One line for the cursor, one for what is said above.
    let room = rows.saturating_sub(2).max(3);
    if table.len() > room {
        let hidden = table.len() - room + 1;
        let from = room - 2;
        table.splice(from..from + hidden, [format!("  and {hidden} more")]);
    }
    for line in &mut table {
        let end = line.char_indices().nth(columns).map(|(at, _)| at);
        line.truncate(end.unwrap_or(line.len()));
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(lines: usize) -> Vec<String> {
        (0..lines).map(|line| format!("line {line}")).collect()
    }

    #[test]
    fn what_fits_is_shown_as_it_is() {
        assert_eq!(fitted(table(22), 80, 24), table(22));
        assert!(fitted(Vec::new(), 80, 24).is_empty());
    }

    #[test]
    fn a_table_that_is_too_high_keeps_its_head_and_its_last_line() {
        let shown = fitted(table(66), 80, 10);
        assert_eq!(shown.len(), 8);
        assert_eq!((shown[0].as_str(), shown[5].as_str()), ("line 0", "line 5"));
        assert_eq!(shown[6..], ["  and 59 more", "line 65"]);
        assert_eq!(fitted(table(66), 80, 0).len(), 3);
    }

    #[test]
    fn a_line_that_is_too_long_is_cut() {
        let shown = fitted(vec!["0123456789\u{e9}\u{e9}".to_owned()], 11, 24);
        assert_eq!(shown, ["0123456789\u{e9}"]);
    }
}
