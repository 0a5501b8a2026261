//! What was said of each UE, for `sluice ctl flow`: the joined call flow of the newest procedures.

use crate::operators::answers::FlowLine;
use sluice_ids::Supi;
use sluice_program::lines::{self, Kind, Peer};
use sluice_sbi::Line;
use std::collections::{BTreeSet, VecDeque};
use std::time::{SystemTime, UNIX_EPOCH};

/// Lines that are kept: some thousand procedures, 16 MB as a rule.
const LINES: usize = 65_536;
/// Octets of a text that are kept: it may tell what a UE or a gNB has sent.
const TEXT_MAX: usize = 1024;

/// Takes away what is too long of a text, and says so.
pub(crate) fn cut(text: &mut String) {
    if text.len() > TEXT_MAX {
        text.truncate(text.floor_char_boundary(TEXT_MAX - 4));
        text.push_str(" ...");
        text.shrink_to_fit();
    }
}

/// The newest lines, oldest first, each with the time when it was said.
#[derive(Default)]
pub(crate) struct Flow {
    lines: VecDeque<(u64, Line)>,
}

impl Flow {
    /// One more; the oldest goes where there is no room.
    pub fn add(&mut self, mut line: Line) {
        cut(&mut line.what);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now_ms = now.map_or(0, |now| now.as_millis() as u64);
        self.add_at(now_ms, line);
    }

    fn add_at(&mut self, unix_ms: u64, line: Line) {
        if self.lines.len() >= LINES {
            self.lines.pop_front();
        }
        self.lines.push_back((unix_ms, line));
    }

    /// What was said of a subscriber: also before anybody knew that it was it.
    pub fn of(&self, supi: &Supi) -> Vec<FlowLine> {
        let its = self
            .lines
            .iter()
            .filter(|(_, line)| line.supi == Some(*supi));
        let numbers: BTreeSet<u64> = its.filter_map(|(_, line)| line.ue).collect();
        let is_its = |line: &Line| match line.supi {
            Some(of) => of == *supi,
            None => line.ue.is_some_and(|ue| numbers.contains(&ue)),
        };
        let lines = self.lines.iter().filter(|(_, line)| is_its(line));
        lines.map(|(unix_ms, line)| row(*unix_ms, line)).collect()
    }
}

fn row(unix_ms: u64, line: &Line) -> FlowLine {
    FlowLine {
        unix_ms,
        step: line.step.into(),
        from: line.from.into(),
        to: line.to.into(),
        what: line.what.clone(),
    }
}

/// News is of a gNB or a UPF as a whole; lines of UEs are for those who ask.
pub(crate) fn log(line: &Line) {
    let is_node = |name| matches!(name, "gNB" | "UPF");
    let is_of_node = is_node(line.from) || is_node(line.to);
    let is_news = is_of_node && line.supi.is_none() && line.ue.is_none();
    if !is_news {
        tracing::debug!(target: "sluice_flow", "{line}");
    } else if lines::permits(Peer::Local, Kind::Association) {
        tracing::info!("{} to {}: {}", line.from, line.to, line.what);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(what: &str, supi: Option<&str>, ue: Option<u64>) -> Line {
        Line {
            from: "UE",
            to: "AMF",
            what: what.to_owned(),
            step: "1",
            supi: supi.and_then(Supi::from_imsi),
            ue,
        }
    }

    #[test]
    fn what_was_said_before_the_ue_was_known_belongs_to_it() {
        let (one, other) = ("001010000000001", "001010000000002");
        let mut flow = Flow::default();
        flow.add_at(1, line("its request", None, Some(7)));
        flow.add_at(2, line("another's request", None, Some(8)));
        flow.add_at(3, line("its answer", Some(one), Some(7)));
        flow.add_at(4, line("of its SMF", Some(one), None));
        flow.add_at(5, line("another's answer", Some(other), Some(8)));
        flow.add_at(6, line("of a gNB", None, None));
        let said = flow.of(&Supi::from_imsi(one).unwrap());
        let what: Vec<_> = said.iter().map(|line| line.what.as_str()).collect();
        assert_eq!(what, ["its request", "its answer", "of its SMF"]);
        assert_eq!(said[2].unix_ms, 4);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let mut flow = Flow::default();
        flow.add(line(
            &"\u{e4}".repeat(100_000),
            Some("001010000000001"),
            None,
        ));
        let said = flow.of(&Supi::from_imsi("001010000000001").unwrap());
        let kept = said[0].what.as_str();
        assert!(
            kept.len() <= TEXT_MAX && kept.ends_with("\u{e4} ..."),
            "{}",
            kept.len()
        );
        let mut short = "short".to_owned();
        cut(&mut short);
        assert_eq!(short, "short");
    }

    #[test]
    fn the_oldest_lines_go() {
        let mut flow = Flow::default();
        for number in 0..LINES as u64 + 3 {
            flow.add_at(number, line("x", Some("001010000000001"), None));
        }
        let said = flow.of(&Supi::from_imsi("001010000000001").unwrap());
        assert_eq!((said.len(), said[0].unix_ms), (LINES, 3));
    }
}
